//! `uuid7`: Unix milliseconds first, then a counter, then random bits.

use std::sync::Arc;

use uuid::{Builder, Uuid};

use super::clock::{Clock, EPOCH_UNIX_MILLIS, UNIX_TICKS_PER_SECOND};
use super::mix::Stream;
use super::{Family, FamilyEntry, KeyError, UuidSource};

/// The registry line of `uuid7`.
pub const ENTRY: FamilyEntry = FamilyEntry {
    family: Family::Uuid7,
    name: "uuid7",
    summary: "time-ordered: Unix milliseconds, a counter, random bits",
    build: Some(build),
};

/// Bits of the counter: the 12 of `rand_a` and the first 30 of `rand_b`, as in RFC 9562, section 6.2, method 1.
const COUNTER_BITS: u32 = 42;
/// The counter starts anywhere in its lower half, so the upper half is room for the rows of one tick.
const TIES_MAX: u64 = 1 << (COUNTER_BITS - 1);
/// Bits of the time.
const TIME_BITS: u32 = 48;

/// UUIDs of version 7.
///
/// The counter of a tick starts at a random number and counts its rows, so that the keys ascend strictly; the last
/// 32 bits are random.
#[derive(Debug, Clone, Copy)]
pub struct Uuid7 {
    clock: Clock,
    counter_start: Stream,
    tail: Stream,
}

impl Uuid7 {
    /// The UUIDs of `seed`, under rows that come at `rows_per_second`.
    ///
    /// # Errors
    /// A rate of 0, or one that overflows the counter of a millisecond.
    pub fn new(seed: u64, rows_per_second: u64) -> Result<Self, KeyError> {
        Ok(Self {
            clock: Clock::new(Family::Uuid7, UNIX_TICKS_PER_SECOND, rows_per_second, TIES_MAX)?,
            counter_start: Stream::new(seed, "uuid7 counter"),
            tail: Stream::new(seed, "uuid7 tail"),
        })
    }
}

impl UuidSource for Uuid7 {
    #[inline]
    fn uuid(&self, row: u64) -> Uuid {
        let tick = self.clock.at(row);
        let counter = (self.counter_start.at(tick.elapsed) & (TIES_MAX - 1)) + tick.tie;
        let tail = self.tail.at(row).to_be_bytes();
        // The builder puts the version over the upper half of byte 0 and the variant over two bits of byte 2.
        let bytes = [
            (counter >> 38) as u8,
            (counter >> 30) as u8,
            (counter >> 24) as u8 & 0x3F,
            (counter >> 16) as u8,
            (counter >> 8) as u8,
            counter as u8,
            tail[0],
            tail[1],
            tail[2],
            tail[3],
        ];
        Builder::from_unix_timestamp_millis(EPOCH_UNIX_MILLIS.wrapping_add(tick.elapsed), &bytes).into_uuid()
    }

    fn rows_max(&self) -> u64 {
        self.clock.first_row((1 << TIME_BITS) - EPOCH_UNIX_MILLIS)
    }
}

fn build(seed: u64, rows_per_second: u64) -> Result<Arc<dyn UuidSource>, KeyError> {
    Ok(Arc::new(Uuid7::new(seed, rows_per_second)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::{Variant, Version};

    use super::super::hex;
    use super::*;

    proptest! {
        #[test]
        fn keys_ascend_as_bytes_and_as_text(
            seed: u64,
            row in 0_u64..1 << 40,
            distance in 1_u64..1_000,
            rate in 1_u64..1_000_000_000_000,
        ) {
            let source = Uuid7::new(seed, rate).unwrap();
            let (low, high) = (source.uuid(row), source.uuid(row + distance));
            prop_assert!(low.as_bytes() < high.as_bytes());
            prop_assert!(hex::simple(low.as_bytes()) < hex::simple(high.as_bytes()));
            prop_assert!(hex::hyphenated(low.as_bytes()) < hex::hyphenated(high.as_bytes()));
            prop_assert_eq!(low.get_version(), Some(Version::SortRand));
            prop_assert_eq!(low.get_variant(), Variant::RFC4122);
        }
    }

    #[test]
    fn a_long_sequence_ascends_at_every_step() {
        for rate in [1, 999, 1_000, 60_000, 50_000_000] {
            let source = Uuid7::new(5, rate).unwrap();
            let start = 34_000_000_000_u64;
            assert!(
                (start..start + 50_000).map(|row| source.uuid(row)).is_sorted_by(|a, b| a < b),
                "not ascending at {rate} rows/s"
            );
        }
    }

    #[test]
    fn the_time_is_what_the_rate_says() {
        let source = Uuid7::new(5, 60_000).unwrap();
        let (seconds, nanos) = source.uuid(60_000 * 3_600 + 90).get_timestamp().unwrap().to_unix();
        let millis = seconds * 1_000 + u64::from(nanos) / 1_000_000;
        assert_eq!(millis, EPOCH_UNIX_MILLIS + 3_600_001);
    }

    #[test]
    fn a_rate_beyond_the_counter_is_refused_with_figures() {
        let most = TIES_MAX * UNIX_TICKS_PER_SECOND;
        assert!(Uuid7::new(0, most).is_ok());
        let message = Uuid7::new(0, most + 1).unwrap_err().to_string();
        assert!(message.contains("uuid7") && message.contains(&most.to_string()), "{message}");
        assert!(matches!(Uuid7::new(0, 0), Err(KeyError::RateZero)));
    }

    #[test]
    fn the_limit_of_rows_is_where_the_time_ends() {
        let source = Uuid7::new(5, 1).unwrap();
        let last = source.rows_max() - 1;
        assert!(source.uuid(last) > source.uuid(last - 1));
        assert!(source.uuid(last + 1) < source.uuid(last), "48 bits of milliseconds have wrapped");
    }
}
