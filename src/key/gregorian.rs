//! What `uuid1` and `uuid6` share: ticks of 100 ns, a clock sequence and a node.

use super::clock::{Clock, EPOCH_GREGORIAN_TICKS, GREGORIAN_TICKS_PER_SECOND};
use super::mix::Stream;
use super::{Family, KeyError};

/// Rows that one tick may hold: the values of the 14 bits of the clock sequence.
pub const TIES_MAX: u64 = 1 << 14;
/// Bits of the time.
const TIME_BITS: u32 = 60;

/// Time, clock sequence and node of a row.
#[derive(Debug, Clone, Copy)]
pub struct Gregorian {
    clock: Clock,
    sequence_start: u64,
    node: [u8; 6],
}

impl Gregorian {
    /// The fields for `seed`, under rows that come at `rows_per_second`.
    ///
    /// # Errors
    /// A rate of 0, or one that overflows the clock sequence of a tick.
    pub fn new(family: Family, seed: u64, rows_per_second: u64) -> Result<Self, KeyError> {
        let clock = Clock::new(family, GREGORIAN_TICKS_PER_SECOND, rows_per_second, TIES_MAX)?;
        let stream = Stream::new(seed, "uuid node");
        let random = stream.at(0).to_be_bytes();
        let mut node = [random[0], random[1], random[2], random[3], random[4], random[5]];
        // RFC 9562, section 6.10: a node that is not a network card's address has the multicast bit set.
        node[0] |= 1;
        // As on a real server the sequence is one random number, as long as no two rows share a tick; where they do,
        // it starts low enough to count them without wrapping.
        let sequence_start = stream.up_to(1, TIES_MAX - clock.ties());
        Ok(Self { clock, sequence_start, node })
    }

    /// Ticks since 1582-10-15 and the clock sequence of `row`.
    #[inline]
    pub fn at(&self, row: u64) -> (u64, u16) {
        let tick = self.clock.at(row);
        (EPOCH_GREGORIAN_TICKS.wrapping_add(tick.elapsed), (self.sequence_start + tick.tie) as u16)
    }

    /// The node: random, with the multicast bit set.
    #[inline]
    pub fn node(&self) -> [u8; 6] {
        self.node
    }

    /// Rows until the 60 bits of the time are used up.
    pub fn rows_max(&self) -> u64 {
        self.clock.first_row((1 << TIME_BITS) - EPOCH_GREGORIAN_TICKS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_comes_from_the_seed_and_is_nobodys_address() {
        let one = Gregorian::new(Family::Uuid1, 1, 60_000).unwrap();
        assert_eq!(one.node(), Gregorian::new(Family::Uuid6, 1, 60_000).unwrap().node());
        assert_ne!(one.node(), Gregorian::new(Family::Uuid1, 2, 60_000).unwrap().node());
        for seed in 0..100 {
            assert_eq!(Gregorian::new(Family::Uuid1, seed, 1).unwrap().node()[0] & 1, 1);
        }
    }

    #[test]
    fn the_clock_sequence_has_room_for_every_tie() {
        for seed in 0..50 {
            let full = Gregorian::new(Family::Uuid1, seed, TIES_MAX * GREGORIAN_TICKS_PER_SECOND).unwrap();
            assert_eq!(full.at(TIES_MAX - 1), (EPOCH_GREGORIAN_TICKS, 16_383));
            assert_eq!(full.at(TIES_MAX), (EPOCH_GREGORIAN_TICKS + 1, 0));
        }
    }
}
