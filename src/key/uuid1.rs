//! `uuid1`: what MySQL's `UUID()` makes, with the low bits of the time first.

use std::sync::Arc;

use uuid::{Builder, Uuid};

use super::clock::{Clock, EPOCH_GREGORIAN_TICKS, GREGORIAN_TICKS_PER_SECOND};
use super::gregorian::Gregorian;
use super::{Family, FamilyEntry, KeyError, UuidSource};

/// The registry line of `uuid1`.
pub const ENTRY: FamilyEntry = FamilyEntry {
    family: Family::Uuid1,
    name: "uuid1",
    summary: "what UUID() of MySQL makes: the low bits of the time first, wrapping every 429.5 s",
    build: Some(build),
};

/// Ticks after which the first four bytes start again from zero: 429.4967296 s.
const PERIOD_TICKS: u64 = 1 << 32;

/// UUIDs of version 1.
#[derive(Debug, Clone, Copy)]
pub struct Uuid1(Gregorian);

impl Uuid1 {
    /// The UUIDs of `seed`, under rows that come at `rows_per_second`.
    ///
    /// # Errors
    /// A rate of 0, or one that overflows the clock sequence of a tick of 100 ns.
    pub fn new(seed: u64, rows_per_second: u64) -> Result<Self, KeyError> {
        Gregorian::new(Family::Uuid1, seed, rows_per_second).map(Self)
    }
}

impl UuidSource for Uuid1 {
    #[inline]
    fn uuid(&self, row: u64) -> Uuid {
        let (ticks, sequence) = self.0.at(row);
        Builder::from_gregorian_timestamp(ticks, sequence, &self.0.node()).into_uuid()
    }

    fn rows_max(&self) -> u64 {
        self.0.rows_max()
    }
}

/// The rows at which the first four bytes of a `uuid1` key start again from zero, the first of them first.
///
/// The keys ascend between two of these rows, and go back at each of them into what has been filled: row
/// 25,769,804 is the first at 60,000 rows/s, and the distance is the rows of 2^32 ticks of 100 ns.
///
/// # Errors
/// A rate that `uuid1` cannot have.
pub fn uuid1_wrap_rows(rows_per_second: u64) -> Result<impl Iterator<Item = u64>, KeyError> {
    // Row 0 stands at the start of a period.
    const { assert!(EPOCH_GREGORIAN_TICKS.is_multiple_of(PERIOD_TICKS)) };
    let clock = Clock::new(Family::Uuid1, GREGORIAN_TICKS_PER_SECOND, rows_per_second, super::gregorian::TIES_MAX)?;
    Ok((1..).map_while(|period: u64| period.checked_mul(PERIOD_TICKS)).map(move |ticks| clock.first_row(ticks)))
}

fn build(seed: u64, rows_per_second: u64) -> Result<Arc<dyn UuidSource>, KeyError> {
    Ok(Arc::new(Uuid1::new(seed, rows_per_second)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::{Variant, Version};

    use super::*;

    #[test]
    fn the_first_wrap_at_the_speed_of_the_post() {
        let rows: Vec<u64> = uuid1_wrap_rows(60_000).unwrap().take(3).collect();
        assert_eq!(rows, [25_769_804, 51_539_608, 77_309_412]);
    }

    proptest! {
        #[test]
        fn keys_go_back_exactly_at_the_computed_rows(seed: u64, rate in 1_u64..100_000_000_000, wrap in 0_usize..50) {
            let source = Uuid1::new(seed, rate).unwrap();
            let row = uuid1_wrap_rows(rate).unwrap().nth(wrap).unwrap();
            let key = |row| *source.uuid(row).as_bytes();
            prop_assert!(key(row) < key(row - 1), "row {} does not wrap", row);
            for near in (row.saturating_sub(500)..row - 1).chain(row..row + 500) {
                prop_assert!(key(near) < key(near + 1), "row {} wraps", near + 1);
            }
            prop_assert_eq!(source.uuid(row).get_version(), Some(Version::Mac));
            prop_assert_eq!(source.uuid(row).get_variant(), Variant::RFC4122);
        }
    }

    #[test]
    fn the_time_is_what_the_rate_says() {
        let source = Uuid1::new(5, 60_000).unwrap();
        let (ticks, _) = source.uuid(60_000 * 3_600).get_timestamp().unwrap().to_gregorian();
        assert_eq!(ticks, EPOCH_GREGORIAN_TICKS + 3_600 * GREGORIAN_TICKS_PER_SECOND);
    }

    #[test]
    fn rates_beyond_the_clock_sequence_are_refused_with_figures() {
        assert!(Uuid1::new(0, 163_840_000_000).is_ok());
        let message = Uuid1::new(0, 163_840_000_001).unwrap_err().to_string();
        assert!(message.contains("uuid1") && message.contains("163840000000"), "{message}");
        assert!(uuid1_wrap_rows(0).is_err());
    }
}
