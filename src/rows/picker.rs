//! Which number the row of a column gets: the row index itself, shuffled, drawn evenly, or drawn by Zipf's distribution.

use crate::key::mix::{Bijection, Stream};

use super::zipf::Zipf;

/// Numbers that are looked at for the smallest and the largest: what takes some hundredths of a second.
const LOOKED_AT: u64 = 1 << 21;

/// Chooses a number from 0 to a last one for a row.
#[derive(Debug, Clone)]
pub(super) enum Picker {
    /// The row index itself, divided by `divisor` and modulo `last` + 1.
    Sequence {
        divisor: u64,
        last: u64,
    },
    Shuffled {
        divisor: u64,
        bijection: Bijection,
    },
    /// Any number; rows may share it.
    Random {
        stream: Stream,
        last: u64,
    },
    /// Some numbers more often than others; which of them is shuffled, so that they do not stand side by side.
    Zipf {
        stream: Stream,
        zipf: Zipf,
        bijection: Bijection,
    },
}

impl Picker {
    #[inline]
    pub(super) fn pick(&self, row: u64) -> u64 {
        match self {
            Self::Sequence { divisor: 1, last } if row <= *last => row,
            Self::Sequence { divisor, last } => modulo(row / divisor, *last),
            Self::Shuffled { divisor: 1, bijection } => bijection.apply(row),
            Self::Shuffled { divisor, bijection } => bijection.apply(modulo(row / divisor, bijection.last())),
            Self::Random { stream, last } => stream.up_to(row, *last),
            Self::Zipf { stream, zipf, bijection } => bijection.apply(zipf.rank(stream.fork(row))),
        }
    }

    /// The first row that gets a number; `None` where numbers are not one to a row.
    pub(super) fn row_of(&self, number: u64) -> Option<u64> {
        match self {
            Self::Sequence { divisor: 1, last } => Some(number).filter(|number| number <= last),
            Self::Shuffled { divisor: 1, bijection } => {
                Some(number).filter(|number| *number <= bijection.last()).map(|number| bijection.invert(number))
            }
            _ => None,
        }
    }

    /// Whether `rows` rows get different numbers.
    pub(super) fn is_distinct(&self, rows: u64) -> bool {
        match self {
            Self::Sequence { divisor, last } => *divisor == 1 && rows.saturating_sub(1) <= *last,
            Self::Shuffled { divisor, bijection } => *divisor == 1 && rows.saturating_sub(1) <= bijection.last(),
            Self::Random { .. } | Self::Zipf { .. } => false,
        }
    }

    /// The most rows, of `rows`, that are expected to share a number.
    pub(super) fn rows_of_one(&self, rows: u64) -> u64 {
        // Those of one stretch, as often as it comes again.
        let counted = |last: u64, divisor: u64| {
            let cycle = last.saturating_add(1).saturating_mul(divisor);
            rows.div_ceil(cycle).saturating_mul(divisor).min(rows)
        };
        match self {
            Self::Sequence { divisor, last } => counted(*last, *divisor),
            Self::Shuffled { divisor, bijection } => counted(bijection.last(), *divisor),
            // They are spread unevenly: twice the mean, and a few.
            Self::Random { last, .. } => match counted(*last, 1) {
                1 if u128::from(rows) * u128::from(rows) < u128::from(*last) => 1,
                mean => 2 * mean + 8,
            },
            Self::Zipf { .. } => rows,
        }
    }

    /// The largest number that a table of `rows` rows may get to see.
    pub(super) fn largest(&self, rows: u64) -> u64 {
        match self {
            Self::Sequence { divisor, last } => (rows.saturating_sub(1) / divisor).min(*last),
            Self::Shuffled { bijection, .. } => bijection.last(),
            Self::Random { last, .. } => *last,
            Self::Zipf { zipf, .. } => zipf.last(),
        }
    }

    /// The rows, of the first `rows`, with the smallest and with the largest number: exactly where few rows or most numbers are in
    /// use, near them where finding out would take longer than the load.
    pub(super) fn extremes(&self, rows: u64) -> [u64; 2] {
        match self {
            Self::Sequence { divisor, last } => [0, last.saturating_mul(*divisor).min(rows.saturating_sub(1))],
            Self::Shuffled { divisor: 1, bijection } if bijection.last() / rows.max(1) < LOOKED_AT / 64 => {
                let within = |value: u64| Some(bijection.invert(value)).filter(|&row| row < rows);
                let last = bijection.last();
                let most = LOOKED_AT as usize;
                let least = (0..=last).take(most).find_map(within).unwrap_or(0);
                [least, (0..=last).rev().take(most).find_map(within).unwrap_or(0)]
            }
            _ => {
                let (mut least, mut most) = ((u64::MAX, 0), (0, 0));
                for row in 0..rows.min(LOOKED_AT) {
                    let number = self.pick(row);
                    least = least.min((number, row));
                    if number > most.0 {
                        most = (number, row);
                    }
                }
                [least.1, most.1]
            }
        }
    }
}

fn modulo(index: u64, last: u64) -> u64 {
    if index <= last { index } else { index % (last + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extremes_are_the_smallest_and_the_largest() {
        let shuffled = |last| Picker::Shuffled { divisor: 1, bijection: Bijection::new(7, "order", last) };
        let zipf = Picker::Zipf {
            stream: Stream::new(1, "z"),
            zipf: Zipf::new(99, 1.1),
            bijection: Bijection::new(1, "z", 99),
        };
        for picker in [
            Picker::Sequence { divisor: 1, last: 24 },
            Picker::Sequence { divisor: 10, last: 1 << 40 },
            shuffled(2_500),
            shuffled((1 << 31) - 1),
            shuffled(u64::MAX),
            Picker::Shuffled { divisor: 7, bijection: Bijection::new(7, "order", 300) },
            Picker::Random { stream: Stream::new(1, "r"), last: 1 << 50 },
            zipf,
        ] {
            let numbers: Vec<u64> = (0..4_000).map(|row| picker.pick(row)).collect();
            let [least, most] = picker.extremes(4_000);
            assert_eq!(numbers[least as usize], *numbers.iter().min().unwrap(), "{picker:?}");
            assert_eq!(numbers[most as usize], *numbers.iter().max().unwrap(), "{picker:?}");
        }
    }

    #[test]
    fn rows_of_one_number_are_not_more_than_expected() {
        let random = |last| Picker::Random { stream: Stream::new(1, "r"), last };
        for picker in [
            Picker::Sequence { divisor: 1, last: 99 },
            Picker::Sequence { divisor: 40, last: 9 },
            Picker::Shuffled { divisor: 1, bijection: Bijection::new(7, "order", 299) },
            random(99),
            random(9_999),
            random(1 << 40),
        ] {
            let mut counts = std::collections::HashMap::new();
            for row in 0..10_000 {
                *counts.entry(picker.pick(row)).or_insert(0_u64) += 1;
            }
            let most = counts.into_values().max().unwrap();
            assert!(most <= picker.rows_of_one(10_000), "{picker:?}: {most}");
            assert!(picker.rows_of_one(10_000) <= 2 * most + 12, "{picker:?}: {most}");
        }
    }
}
