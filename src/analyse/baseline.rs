//! The baseline of a curve: what a million rows cost while the table was small.
//!
//! One definition for everything that says "slower than at first": stop rules, progress, `show`, cliffs.

use super::median;
use crate::record::Sample;

/// Only these first batches can set a baseline: later the table is no longer small.
pub const BASELINE_BATCHES: u64 = 10;
/// Batches whose median is taken, so that one lucky batch sets nothing.
pub const WINDOW: usize = 3;
/// Batch 1 is left out when it is more than this many times slower than the median of the next three.
pub const SLOW_FIRST: f64 = 1.5;

/// The speed that later batches are measured against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Baseline {
    /// Seconds per million rows: the median of the three batches.
    pub seconds_per_million: f64,
    /// The first of the three batches.
    pub first_batch: u64,
    /// The last of the three batches.
    pub last_batch: u64,
    /// Whether batch 1 was left out because it was much slower than the three after it.
    pub first_left_out: bool,
}

impl Baseline {
    /// The same speed as rows per second.
    pub fn rows_per_second(&self) -> f64 {
        1e6 / self.seconds_per_million
    }

    /// How many times slower than the baseline the sample is (below 1: faster). `None` for a batch without rows.
    pub fn slowdown(&self, sample: &Sample) -> Option<f64> {
        sample.seconds_per_million().map(|cost| cost / self.seconds_per_million)
    }
}

/// Finds the baseline of a curve while it grows: push each sample as it comes and ask after each.
///
/// The baseline is the lowest median seconds per million rows of three consecutive batches among the first ten.
///
/// - Samples noted `resumed` or `retried` paid for more than their own rows, batches without rows or without a
///   measurable time have no cost, and a batch less than half as large as the largest of the ten is a remainder
///   and not a whole batch. These stay out, and "consecutive" means: one after the other among those that are left.
/// - Batch 1 is left out when it costs more than 1.5 times the median of the next three.
/// - The baseline is known from the third such batch on. Then it is not known yet whether batch 1 is slow, and it does not
///   matter: the median of three with a slow batch 1 is the slower of the other two, and once the fourth batch has
///   come, the window without batch 1 is never higher. So the figure only ever falls while the first ten
///   batches come, and stands after them.
#[derive(Debug, Clone, Default)]
pub struct BaselineTracker {
    /// Batch, rows, seconds per million rows; at most ten, ordered by batch.
    early: Vec<(u64, u64, f64)>,
    current: Option<Baseline>,
}

impl BaselineTracker {
    /// Takes a sample and gives the baseline as it is known now. After the first ten batches this costs nothing.
    ///
    /// A batch that is pushed again replaces what was pushed before.
    pub fn push(&mut self, sample: &Sample) -> Option<Baseline> {
        if (1..=BASELINE_BATCHES).contains(&sample.batch) {
            self.early.retain(|&(batch, ..)| batch != sample.batch);
            let cost = sample.seconds_per_million().filter(|cost| cost.is_finite() && *cost > 0.0);
            if let Some(cost) = cost.filter(|_| sample.counts_for_baseline()) {
                let place = self.early.partition_point(|&(batch, ..)| batch < sample.batch);
                self.early.insert(place, (sample.batch, sample.rows, cost));
            }
            self.current = lowest_window(&self.early);
        }
        self.current
    }

    /// The baseline as it is known now.
    pub fn current(&self) -> Option<Baseline> {
        self.current
    }
}

/// The baseline of the samples of one curve, in any order.
pub fn baseline(samples: &[Sample]) -> Option<Baseline> {
    let mut tracker = BaselineTracker::default();
    for sample in samples {
        tracker.push(sample);
    }
    tracker.current()
}

/// The lowest median of three consecutive whole batches, from (batch, rows, seconds per million rows) ordered by batch.
pub(super) fn lowest_window(early: &[(u64, u64, f64)]) -> Option<Baseline> {
    let largest = early.iter().map(|&(_, rows, _)| rows).max()?;
    let whole: Vec<(u64, f64)> = early
        .iter()
        .filter(|&&(_, rows, _)| rows >= largest.div_ceil(2))
        .map(|&(batch, _, cost)| (batch, cost))
        .collect();
    let first_left_out = first_is_slow(&whole);
    let candidates = if first_left_out { &whole[1..] } else { &whole[..] };
    let mut lowest: Option<Baseline> = None;
    for window in candidates.windows(WINDOW) {
        let costs: Vec<f64> = window.iter().map(|&(_, cost)| cost).collect();
        let Some(cost) = median(&costs) else { continue };
        if lowest.is_none_or(|so_far| cost < so_far.seconds_per_million) {
            lowest = Some(Baseline {
                seconds_per_million: cost,
                first_batch: window[0].0,
                last_batch: window[WINDOW - 1].0,
                first_left_out,
            });
        }
    }
    lowest
}

/// Only batch 1 can be slow for being the first (an empty cache, a new file); a slow batch 2 is a slow batch.
fn first_is_slow(whole: &[(u64, f64)]) -> bool {
    let Some(((1, first), next)) = whole.split_first().map(|(&first, rest)| (first, rest)) else { return false };
    let next: Vec<f64> = next.iter().take(WINDOW).map(|&(_, cost)| cost).collect();
    next.len() == WINDOW && median(&next).is_some_and(|cost| first > SLOW_FIRST * cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches of a million rows, so that the seconds are the seconds per million.
    fn series(seconds: &[f64]) -> Vec<Sample> {
        (1..)
            .zip(seconds)
            .map(|(batch, &seconds)| Sample {
                batch,
                rows: 1_000_000,
                table_rows: batch * 1_000_000,
                seconds,
                ..Sample::default()
            })
            .collect()
    }

    fn cost(samples: &[Sample]) -> Option<f64> {
        baseline(samples).map(|found| found.seconds_per_million)
    }

    #[test]
    fn it_is_the_lowest_median_of_three() {
        // Medians of three: 5, 4, 4, 4, 6, 7 - and the lucky 1 sets nothing.
        let found = baseline(&series(&[5.0, 5.0, 4.0, 4.0, 1.0, 6.0, 7.0, 8.0])).unwrap();
        assert_eq!(found.seconds_per_million, 4.0);
        assert_eq!((found.first_batch, found.last_batch), (2, 4));
        assert!(!found.first_left_out);
        assert_eq!(found.rows_per_second(), 250_000.0);
    }

    #[test]
    fn it_is_known_from_the_third_batch_on() {
        assert_eq!(cost(&series(&[5.0, 5.0])), None);
        assert_eq!(cost(&series(&[5.0, 5.1, 5.2])), Some(5.1));
        // Batch 1 is slow: the slower of the two others stands until batch 4 tells.
        assert_eq!(cost(&series(&[50.0, 5.0, 5.2])), Some(5.2));
        assert_eq!(cost(&series(&[50.0, 5.0, 5.2, 5.1])), Some(5.1));
    }

    #[test]
    fn a_slow_first_batch_is_left_out_and_said() {
        let found = baseline(&series(&[7.6, 5.0, 5.2, 5.1, 9.0])).unwrap();
        // The median of the next three is 5.1: 1.5 times that is 7.65.
        assert!(!found.first_left_out);
        let found = baseline(&series(&[7.7, 5.0, 5.2, 5.1, 9.0])).unwrap();
        assert!(found.first_left_out);
        assert_eq!((found.first_batch, found.last_batch), (2, 4));
        assert_eq!(found.seconds_per_million, 5.1);
    }

    #[test]
    fn only_the_first_ten_count() {
        let mut seconds = vec![5.0; 10];
        seconds.extend([1.0; 20]);
        assert_eq!(cost(&series(&seconds)), Some(5.0));
        // A table that warms up: the last window of the ten.
        let warming: Vec<f64> = (0..20).map(|batch| 30.0 - f64::from(batch)).collect();
        assert_eq!(cost(&series(&warming)), Some(22.0));
    }

    #[test]
    fn resumed_and_retried_batches_stay_out() {
        let mut samples = series(&[5.0, 1.0, 5.2, 1.0, 5.1, 5.3]);
        samples[1].notes = "resumed".into();
        samples[3].notes = "client-bound retried".into();
        let found = baseline(&samples).unwrap();
        assert_eq!(found.seconds_per_million, 5.1);
        assert_eq!((found.first_batch, found.last_batch), (1, 5));
    }

    #[test]
    fn remainders_and_batches_without_a_time_stay_out() {
        let mut samples = series(&[5.0, 0.0, 5.2, 0.1, 5.1]);
        samples[3].rows = 10_000; // 10 s per million: a remainder
        samples.push(Sample { batch: 6, rows: 0, seconds: 1.0, ..Sample::default() });
        assert_eq!(cost(&samples), Some(5.1));
    }

    #[test]
    fn batches_of_any_size_compare() {
        let mut samples = series(&[0.5, 0.51, 0.52]);
        for sample in &mut samples {
            sample.rows = 100_000;
        }
        let found = baseline(&samples).unwrap();
        assert!((found.seconds_per_million - 5.1).abs() < 1e-9);
        let slow = Sample { batch: 9, rows: 1_000_000, seconds: 51.0, ..Sample::default() };
        assert!((found.slowdown(&slow).unwrap() - 10.0).abs() < 1e-9);
        assert_eq!(found.slowdown(&Sample::default()), None);
    }

    #[test]
    fn asking_after_each_batch_gives_what_asking_at_the_end_gives_and_never_rises() {
        let samples = series(&[9.0, 5.0, 6.0, 5.5, 4.0, 4.1, 4.2, 8.0, 9.0, 10.0, 3.0, 3.0, 3.0]);
        let mut tracker = BaselineTracker::default();
        let mut last = f64::INFINITY;
        for (index, sample) in samples.iter().enumerate() {
            let now = tracker.push(sample);
            assert_eq!(now, baseline(&samples[..=index]));
            if let Some(now) = now {
                assert!(now.seconds_per_million <= last);
                last = now.seconds_per_million;
            }
        }
        assert_eq!(last, 4.1);
    }

    #[test]
    fn order_does_not_matter_and_the_later_line_of_a_batch_wins() {
        let mut samples = series(&[5.0, 5.1, 5.2, 5.3]);
        samples.reverse();
        assert_eq!(cost(&samples), Some(5.1));
        samples.push(Sample { batch: 1, rows: 1_000_000, seconds: 5.15, ..Sample::default() });
        assert_eq!(cost(&samples), Some(5.15));
    }
}
