//! The clock of the time-based UUIDs: it advances as if rows came at a given rate, from a fixed instant.

use super::Family;
use super::KeyError;

/// 100-nanosecond ticks from 1582-10-15, the start of the Gregorian calendar, to 1970-01-01 (RFC 9562, section 5.1).
pub const GREGORIAN_TO_UNIX_TICKS: u64 = 0x01B2_1DD2_1381_4000;

/// Ticks of a second in UUIDs of version 1 and 6.
pub const GREGORIAN_TICKS_PER_SECOND: u64 = 10_000_000;

/// Ticks of a second in UUIDs of version 7.
pub const UNIX_TICKS_PER_SECOND: u64 = 1_000;

/// 2025-01-01T00:00:00Z in Gregorian ticks.
const NEW_YEAR_2025: u64 = 1_735_689_600 * GREGORIAN_TICKS_PER_SECOND + GREGORIAN_TO_UNIX_TICKS;

/// The time of row 0 in Gregorian ticks: the last multiple of 2^32 ticks before 2025-01-01T00:00:00Z
/// (2024-12-31T23:57:32Z and a fraction).
///
/// The low 32 bits are zero there, so that the time of a version 1 UUID starts a whole period (429.5 s) before it
/// wraps for the first time. It is fixed because a resumed run, and a run of next year, insert the same rows.
pub const EPOCH_GREGORIAN_TICKS: u64 = NEW_YEAR_2025 & !0xFFFF_FFFF;

/// The time of row 0 in Unix milliseconds: the same instant, rounded down.
pub const EPOCH_UNIX_MILLIS: u64 = (EPOCH_GREGORIAN_TICKS - GREGORIAN_TO_UNIX_TICKS) / 10_000;

/// A tick, and the place of a row among the rows of the same tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// Ticks since the first one; the epoch is not in it.
    pub elapsed: u64,
    /// 0 for the first row of the tick.
    pub tie: u64,
}

/// Turns row indexes into ticks at a fixed rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    ticks_per_second: u64,
    rows_per_second: u64,
}

impl Clock {
    /// A clock with `ticks_per_second` under rows that come at `rows_per_second`, of which one tick may hold `ties_max`.
    ///
    /// # Errors
    /// A rate of 0, or one that puts more rows into a tick than the counter bits of `family` can tell apart.
    pub fn new(family: Family, ticks_per_second: u64, rows_per_second: u64, ties_max: u64) -> Result<Self, KeyError> {
        if rows_per_second == 0 {
            return Err(KeyError::RateZero);
        }
        if rows_per_second.div_ceil(ticks_per_second) > ties_max {
            let rate_max = ties_max.saturating_mul(ticks_per_second);
            return Err(KeyError::RateTooHigh { family, rate: rows_per_second, rate_max });
        }
        Ok(Self { ticks_per_second, rows_per_second })
    }

    /// The most rows that share one tick.
    pub fn ties(&self) -> u64 {
        self.rows_per_second.div_ceil(self.ticks_per_second)
    }

    /// The tick of `row`: `floor(row * ticks_per_second / rows_per_second)`, and the place of the row in it.
    #[inline]
    pub fn at(&self, row: u64) -> Tick {
        // The product needs 128 bits from about 10^12 rows on; below that 64 bits divide several times faster.
        let elapsed = match row.checked_mul(self.ticks_per_second) {
            Some(product) => product / self.rows_per_second,
            None => (u128::from(row) * u128::from(self.ticks_per_second) / u128::from(self.rows_per_second)) as u64,
        };
        // Below one row a tick there is nothing to tell apart.
        let tie = if self.rows_per_second <= self.ticks_per_second { 0 } else { row - self.first_row(elapsed) };
        Tick { elapsed, tie }
    }

    /// The first row of the tick `elapsed`, saturating at the end of 64 bits.
    pub fn first_row(&self, elapsed: u64) -> u64 {
        let product = u128::from(elapsed) * u128::from(self.rows_per_second);
        u64::try_from(product.div_ceil(u128::from(self.ticks_per_second))).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_epoch_is_where_the_documentation_says() {
        assert_eq!(EPOCH_GREGORIAN_TICKS % (1 << 32), 0);
        const { assert!(NEW_YEAR_2025 - EPOCH_GREGORIAN_TICKS < 1 << 32) };
        // 2024-12-31T23:57:32Z.
        assert_eq!(EPOCH_UNIX_MILLIS / 1000, 1_735_689_600 - 148);
    }

    #[test]
    fn ties_count_the_rows_of_a_tick() {
        let clock = Clock::new(Family::Uuid7, 1_000, 60_000, 1 << 41).unwrap();
        assert_eq!(clock.ties(), 60);
        assert_eq!(clock.at(0), Tick { elapsed: 0, tie: 0 });
        assert_eq!(clock.at(59), Tick { elapsed: 0, tie: 59 });
        assert_eq!(clock.at(60), Tick { elapsed: 1, tie: 0 });
        // 34 billion rows at this rate are six and a half days.
        assert_eq!(clock.at(34_000_000_000), Tick { elapsed: 566_666_666, tie: 40 });
    }

    proptest! {
        #[test]
        fn ticks_never_go_back_and_ties_stay_in_bounds(row in 0_u64..1 << 50, rate in 1_u64..1 << 40, fast: bool) {
            let ticks_per_second = if fast { GREGORIAN_TICKS_PER_SECOND } else { UNIX_TICKS_PER_SECOND };
            let clock = Clock::new(Family::Uuid7, ticks_per_second, rate, 1 << 41).unwrap();
            let (here, next) = (clock.at(row), clock.at(row + 1));
            prop_assert!(here.tie < clock.ties());
            prop_assert!((here.elapsed, here.tie) < (next.elapsed, next.tie));
            prop_assert_eq!(clock.first_row(here.elapsed) + here.tie, row);
        }
    }
}
