//! What a comparison could not have seen.

use super::compare::Speed;

/// An interval that ends this near to the limit is brought away from it by no number of batches that anybody loads.
const NEAREST: f64 = 1e-3;

/// How many batches or repeats would have told: an estimate, because the width of an interval falls with the square root of their
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needed {
    /// Whether repeats are counted, and not batches.
    pub are_repeats: bool,
    /// How many there were: repeats of the side with fewer, or table sizes.
    pub had: usize,
    /// How many it would take.
    pub needed: u64,
}

impl Speed {
    /// The largest speed of NEW, as a multiple of BASE's, that would have been a regression for certain: with an interval as wide
    /// as the one found, and wholly below 1 - `tolerance`.
    pub fn smallest_found(&self, tolerance: f64) -> f64 {
        (1.0 - tolerance) * self.ratio / self.high
    }

    /// Whether the interval neither proves a slowdown beyond the tolerance nor rules it out.
    ///
    /// For two that are alike this means that the smallest slowdown that would have been found lies further below the limit than
    /// the tolerance. It asks for the interval itself, and not for its width alone, since a NEW that is three times as fast is no
    /// slower however wide the interval, and one that is 9% slower may be 12% slower however narrow it is.
    pub fn is_inconclusive(&self, tolerance: f64) -> bool {
        !self.is_regression(tolerance) && self.low < 1.0 - tolerance
    }

    /// How many batches or repeats it would take, where this was inconclusive; `repeats` had the side with fewer of them. `None`
    /// where no number would do.
    pub fn needed(&self, tolerance: f64, repeats: usize) -> Option<Needed> {
        if !self.is_inconclusive(tolerance) {
            return None;
        }
        let half = (self.high / self.ratio).ln().max((self.ratio / self.low).ln());
        let allowed = -(1.0 - tolerance).ln();
        // A narrow one lies about the limit: it has to come away from it.
        let wanted = if half > allowed { allowed } else { (self.ratio.ln() + allowed).abs() };
        if !half.is_finite() || wanted < NEAREST {
            return None;
        }
        let had = if self.has_run_spread { repeats } else { self.sizes };
        let needed = (had as f64 * (half / wanted).powi(2)).ceil().max(had as f64 + 1.0);
        Some(Needed { are_repeats: self.has_run_spread, had, needed: needed as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speed(ratio: f64, low: f64, high: f64) -> Speed {
        Speed {
            ratio,
            low,
            high,
            base_rows_per_second: 1.0,
            new_rows_per_second: 1.0,
            from_rows: 1,
            to_rows: 10,
            sizes: 10,
            block: 1,
            has_run_spread: false,
        }
    }

    #[test]
    fn the_smallest_difference_is_the_one_whose_interval_lies_below_the_limit() {
        let wide = speed(1.0, 1.0 / 1.5, 1.5);
        let smallest = wide.smallest_found(0.1);
        assert!((smallest - 0.6).abs() < 1e-12);
        let there = speed(smallest, smallest / 1.5, smallest * 1.5 - 1e-9);
        assert!(there.is_regression(0.1) && !speed(0.61, 0.61 / 1.5, 0.61 * 1.5).is_regression(0.1));
        // Without any scatter it is the tolerance itself.
        assert!((speed(2.0, 2.0, 2.0).smallest_found(0.1) - 0.9).abs() < 1e-12);
    }

    #[test]
    fn only_what_the_interval_leaves_open_is_inconclusive() {
        assert!(speed(1.0, 0.7, 1.4).is_inconclusive(0.1));
        assert!(speed(0.92, 0.88, 0.97).is_inconclusive(0.1), "it may be 12% slower");
        assert!(!speed(1.0, 0.95, 1.05).is_inconclusive(0.1));
        assert!(!speed(1.5, 1.1, 2.0).is_inconclusive(0.1), "it is faster for certain");
        assert!(!speed(0.6, 0.5, 0.7).is_inconclusive(0.1), "it is slower for certain");
    }

    #[test]
    fn no_interval_is_a_regression_and_inconclusive_at_once() {
        for low in 1..40 {
            for high in low..40 {
                for tolerance in [0.0, 0.05, 0.1, 0.5] {
                    let (low, high) = (f64::from(low) / 20.0, f64::from(high) / 20.0);
                    let one = speed((low * high).sqrt(), low, high);
                    assert!(!(one.is_regression(tolerance) && one.is_inconclusive(tolerance)), "{one:?}");
                }
            }
        }
    }

    #[test]
    fn four_times_the_batches_halve_the_width() {
        let twice = speed(1.0, 0.9 * 0.9, 1.0 / (0.9 * 0.9));
        assert_eq!(twice.needed(0.1, 1), Some(Needed { are_repeats: false, had: 10, needed: 40 }));
        let repeats = Speed { has_run_spread: true, ..twice };
        assert_eq!(repeats.needed(0.1, 3), Some(Needed { are_repeats: true, had: 3, needed: 12 }));
        // No number makes two that are alike certain to differ by nothing.
        assert_eq!(speed(1.0, 0.9, 1.1).needed(0.0, 1), None);
        assert_eq!(speed(1.0, 0.95, 1.05).needed(0.1, 1), None);
    }
}
