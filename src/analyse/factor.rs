//! The one factor of a curve: how many times slower it is at its end than at first, and how sure that is.
//!
//! The median of its last three usable batches over its [baseline](mod@super::baseline). Where every k-th batch is slow
//! ([`rhythm`](super::rhythm)), both are means over whole periods instead: a median of three of them would be that of the slow or of
//! the fast ones, as the curve happens to end.

use super::baseline::{BASELINE_BATCHES, WINDOW, baseline, lowest_window};
use super::cliffs::places;
use super::noise::robust_deviation;
use super::reading::Place;
use super::resample::{Rng, block_length, blocks, quantile};
use super::rhythm::{Rhythm, rhythm};
use super::{Baseline, median};
use crate::record::Sample;

/// A factor of fewer batches would compare three with the same three.
pub const LEAST_BATCHES: usize = WINDOW + 1;
/// An interval of fewer batches is none: the baseline and the end have no batch in common from here on.
pub const LEAST_JUDGED: usize = 2 * WINDOW;
/// Drawn series behind an interval.
const DRAWS: usize = 999;
/// The seed, fixed so that a file always has the same interval.
const SEED: u64 = 0x00FA_C708;
/// Neighbours on each side of the running median that residuals are taken from: a fifth of the batches, within these bounds. A short
/// reach would follow noise that goes on from one batch to the next and so leave it out of the interval; a long one cuts corners.
const REACH: (usize, usize) = (2, 8);
/// Residuals are scaled by this at most: where a running median follows every batch of a slope, nothing is left to be scaled.
const MOST_SCALE: f64 = 2.0;
/// The shares of the drawn series between whose factors 90% lie.
const QUANTILES: (f64, f64) = (0.05, 0.95);

/// What a million rows cost at the two ends of a curve, and how they compare. What cannot be known is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Factor {
    /// Seconds per million rows at first.
    pub baseline_seconds_per_million: Option<f64>,
    /// Seconds per million rows at the end.
    pub end_seconds_per_million: Option<f64>,
    /// The second divided by the first, from four usable batches on.
    pub value: Option<f64>,
    /// Its 90% interval, from six usable batches on.
    pub interval: Option<(f64, f64)>,
    pub batches: usize,
}

impl Factor {
    /// The factor of a curve's samples, in any order.
    pub fn of(samples: &[Sample]) -> Self {
        let baseline = baseline(samples);
        let places = places(samples, baseline.as_ref());
        let rhythm = rhythm(&places);
        Self::with(samples, &places, baseline.as_ref(), rhythm.as_ref())
    }

    /// The same where baseline, places and rhythm are known already.
    pub fn with(samples: &[Sample], places: &[Place], baseline: Option<&Baseline>, rhythm: Option<&Rhythm>) -> Self {
        let ends = Ends { whole: whole(samples, places), places, rhythm };
        let costs: Vec<f64> = places.iter().map(|place| place.seconds_per_million).collect();
        let first = ends.first(&costs).or_else(|| baseline.map(|found| found.seconds_per_million));
        let last = ends.last(&costs);
        let value = first.zip(last).map(|(first, last)| last / first);
        let value = value.filter(|_| places.len() >= LEAST_BATCHES);
        Self {
            baseline_seconds_per_million: first,
            end_seconds_per_million: last,
            value,
            interval: value.filter(|_| places.len() >= LEAST_JUDGED).and_then(|value| ends.interval(value)),
            batches: places.len(),
        }
    }

    /// Whether the curve is certainly slower at its end than `bar` times its baseline; `None` where it is too short to be judged.
    pub fn is_above(&self, bar: f64) -> Option<bool> {
        self.interval.map(|(low, _)| low > bar)
    }
}

/// For each place, whether it is a whole batch and no remainder, which counts for no baseline.
fn whole(samples: &[Sample], places: &[Place]) -> Vec<bool> {
    let rows: std::collections::HashMap<u64, u64> = samples.iter().map(|sample| (sample.batch, sample.rows)).collect();
    let rows: Vec<u64> = places.iter().map(|place| rows.get(&place.batch).copied().unwrap_or(0)).collect();
    let early = || places.iter().zip(&rows).filter(|(place, _)| place.batch <= BASELINE_BATCHES);
    let largest = early().map(|(_, &rows)| rows).max().unwrap_or(0);
    rows.iter().map(|&rows| rows >= largest.div_ceil(2)).collect()
}

/// The two ends of a curve, at its own costs or at drawn ones.
struct Ends<'a> {
    whole: Vec<bool>,
    places: &'a [Place],
    rhythm: Option<&'a Rhythm>,
}

impl Ends<'_> {
    /// The cost at first.
    fn first(&self, costs: &[f64]) -> Option<f64> {
        let whole = (0..costs.len()).filter(|&at| self.whole[at]);
        if let Some(rhythm) = self.rhythm.filter(|rhythm| rhythm.from_the_start()) {
            let whole: Vec<usize> = whole.collect();
            let windows = (0..whole.len()).map_while(|from| mean(rhythm, self.places, costs, whole[from..].iter()));
            let found: Vec<(u64, f64)> = windows.collect();
            let early = found.iter().filter(|(last, _)| *last <= BASELINE_BATCHES);
            let lowest = early.map(|&(_, cost)| cost).min_by(f64::total_cmp);
            return lowest.or_else(|| found.first().map(|&(_, cost)| cost));
        }
        // Rows are all alike here: remainders are out.
        let early: Vec<(u64, u64, f64)> = whole
            .filter(|&at| (1..=BASELINE_BATCHES).contains(&self.places[at].batch))
            .map(|at| (self.places[at].batch, 1, costs[at]))
            .collect();
        lowest_window(&early).map(|found| found.seconds_per_million)
    }

    /// The cost at the end.
    fn last(&self, costs: &[f64]) -> Option<f64> {
        let rhythm = self.rhythm.filter(|rhythm| rhythm.to_the_end());
        let places: Vec<usize> = (0..costs.len()).rev().collect();
        rhythm
            .and_then(|rhythm| mean(rhythm, self.places, costs, places.iter()))
            .map(|(_, cost)| cost)
            .or_else(|| median(&costs[costs.len().saturating_sub(WINDOW)..]))
    }

    /// The basic bootstrap interval (Davison and Hinkley, "Bootstrap Methods and their Application", 1997, section 5.2): what the
    /// factors of drawn series differ by from that of the series they are drawn about is what the measured one may differ by from the
    /// truth. It takes out that the lowest of several baselines is a little too low.
    ///
    /// Series are drawn about a running median of the curve without its rhythm, with its residuals in circular blocks (Politis and
    /// Romano 1992), scaled to the deviation from batch to batch, because a running median follows a part of the noise.
    ///
    /// At 5% noise it holds the truth in about 85% of flat curves and 90% of steps where each batch is slow or fast for itself, and in
    /// fewer (down to half of short curves) where noise goes on over several batches: three batches cannot tell it from a change.
    fn interval(&self, value: f64) -> Option<(f64, f64)> {
        let heights: Vec<f64> = self
            .places
            .iter()
            .map(|place| self.rhythm.map_or(1.0, |rhythm| 1.0 / rhythm.taken_out_of(place.batch, 1.0)))
            .collect();
        let logs: Vec<f64> =
            self.places.iter().zip(&heights).map(|(place, height)| (place.seconds_per_million / height).ln()).collect();
        let reach = (logs.len() / 5).clamp(REACH.0, REACH.1);
        let smooth: Vec<f64> = (0..logs.len())
            .map(|at| {
                // As far to one side as to the other, so that the ends of a slope stay where they are.
                let reach = reach.min(at).min(logs.len() - 1 - at);
                median(&logs[at - reach..=at + reach]).unwrap_or(logs[at])
            })
            .collect();
        let residuals = residuals(&logs, &smooth);
        let factor = |costs: &[f64]| Some(self.last(costs)? / self.first(costs)?);
        let costs: Vec<f64> = smooth.iter().zip(&heights).map(|(log, height)| log.exp() * height).collect();
        let centre = factor(&costs)?.ln();
        let length = block_length(&residuals);
        let (mut rng, mut drawn, mut costs) = (Rng::new(SEED), Vec::new(), costs);
        let mut differences: Vec<f64> = Vec::with_capacity(DRAWS);
        for _ in 0..DRAWS {
            blocks(logs.len(), length, &mut rng, &mut drawn);
            for (at, cost) in costs.iter_mut().enumerate() {
                *cost = (smooth[at] + residuals[drawn[at]]).exp() * heights[at];
            }
            differences.extend(factor(&costs).map(|factor| factor.ln() - centre).filter(|log| log.is_finite()));
        }
        differences.sort_by(f64::total_cmp);
        let (low, high) = (quantile(&differences, QUANTILES.1)?, quantile(&differences, QUANTILES.0)?);
        Some(((value.ln() - low).exp().min(value), (value.ln() - high).exp().max(value)))
    }
}

/// What lies above and below the running median, as wide as the batches differ from the line between their neighbours, which a slope
/// does not raise (Gasser, Sroka and Jennen-Steinmetz, "Residual variance and residual pattern in nonlinear regression", Biometrika 73,
/// 1986; here with a median).
fn residuals(logs: &[f64], smooth: &[f64]) -> Vec<f64> {
    let residuals: Vec<f64> = logs.iter().zip(smooth).map(|(log, smooth)| log - smooth).collect();
    let bent = |values: &[f64]| {
        let bends: Vec<f64> = values.windows(3).map(|three| three[1] - (three[0] + three[2]) / 2.0).collect();
        robust_deviation(&bends).filter(|deviation| *deviation > 0.0)
    };
    let scale = bent(logs).zip(bent(&residuals)).map_or(1.0, |(wanted, there)| (wanted / there).clamp(1.0, MOST_SCALE));
    let middle = median(&residuals).unwrap_or(0.0);
    residuals.iter().map(|residual| (residual - middle) * scale).collect()
}

/// The mean of whole periods of three batches and more, from the first of these places on until every phase has been seen often
/// enough, with the last batch of it; `None` where there are not so many. Of a phase that comes once more, because a batch of another
/// one is missing, it is the mean that counts.
fn mean<'a>(
    rhythm: &Rhythm,
    places: &[Place],
    costs: &[f64],
    order: impl Iterator<Item = &'a usize>,
) -> Option<(u64, f64)> {
    let period = rhythm.period as usize;
    let times = WINDOW.div_ceil(period);
    let mut sums = vec![(0.0, 0_usize); period];
    for &at in order {
        let sum = &mut sums[(places[at].batch % rhythm.period) as usize];
        *sum = (sum.0 + costs[at], sum.1 + 1);
        if sums.iter().all(|&(_, count)| count >= times) {
            let of_phases: f64 = sums.iter().map(|&(sum, count)| sum / count as f64).sum();
            return Some((places[at].batch, of_phases / period as f64));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(costs: &[f64]) -> Vec<Sample> {
        let numbered = (1..).zip(costs);
        numbered
            .map(|(batch, &seconds)| Sample {
                batch,
                rows: 1_000_000,
                table_rows: batch * 1_000_000,
                seconds,
                ..Sample::default()
            })
            .collect()
    }

    fn value(costs: &[f64]) -> Option<f64> {
        Factor::of(&samples(costs)).value
    }

    #[test]
    fn it_is_the_median_of_the_last_three_over_the_baseline() {
        let found = Factor::of(&samples(&[5.0, 5.1, 5.2, 5.3, 9.0, 12.0, 10.0, 30.0]));
        assert_eq!((found.baseline_seconds_per_million, found.end_seconds_per_million), (Some(5.1), Some(12.0)));
        assert_eq!((found.value, found.batches), (Some(12.0 / 5.1), 8));
        let (low, high) = found.interval.unwrap();
        assert!(low <= 12.0 / 5.1 && high >= 12.0 / 5.1, "{low} {high}");
    }

    #[test]
    fn what_cannot_be_known_is_not_there() {
        assert_eq!(Factor::of(&[]), Factor::default());
        let three = Factor::of(&samples(&[5.0, 5.1, 5.2]));
        assert_eq!((three.baseline_seconds_per_million, three.value), (Some(5.1), None));
        let five = Factor::of(&samples(&[5.0, 5.1, 5.2, 9.0, 9.0]));
        assert_eq!((five.value, five.interval, five.is_above(1.1)), (Some(9.0 / 5.1), None, None));
        assert!(Factor::of(&samples(&[5.0; 6])).interval.is_some());
    }

    #[test]
    fn batches_that_paid_for_more_than_their_rows_are_not_the_end() {
        let mut all = samples(&[5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 50.0, 60.0]);
        all[6].notes = "resumed".into();
        all[7].notes = "retried".into();
        assert_eq!(Factor::of(&all).value, Some(1.0));
    }

    #[test]
    fn with_a_rhythm_both_ends_are_means_over_whole_periods() {
        for (period, count) in [(2, 24), (3, 24), (3, 25), (3, 26), (5, 33), (10, 47)] {
            let comb: Vec<f64> = (1..=count).map(|batch| if batch % period == 0 { 1.8 } else { 1.0 }).collect();
            let found = Factor::of(&samples(&comb));
            let mean = 1.0 + 0.8 / f64::from(period);
            let near = |cost: Option<f64>| (cost.unwrap() - mean).abs() < 1e-9;
            assert!(
                near(found.baseline_seconds_per_million) && near(found.end_seconds_per_million),
                "{period} {count}"
            );
            assert!((found.value.unwrap() - 1.0).abs() < 1e-9);
        }
        // A batch that is missing shifts nothing, and a comb that begins later makes the end slower.
        let mut holes = samples(&(1..=24).map(|batch| if batch % 3 == 0 { 1.8 } else { 1.0 }).collect::<Vec<_>>());
        holes.retain(|sample| ![2, 9, 23].contains(&sample.batch));
        assert!((Factor::of(&holes).value.unwrap() - 1.0).abs() < 1e-9);
        let later: Vec<f64> = (1..=40).map(|batch| if batch > 20 && batch % 2 == 0 { 3.0 } else { 1.0 }).collect();
        assert_eq!(value(&later), Some(2.0));
    }

    #[test]
    fn the_interval_is_narrow_where_the_batches_agree_and_always_the_same() {
        let quiet = samples(&[[1.0, 1.01, 0.99, 1.0].repeat(5), [2.0, 2.02, 1.98, 2.0].repeat(5)].concat());
        let found = Factor::of(&quiet);
        assert_eq!(found, Factor::of(&quiet));
        let (low, high) = found.interval.unwrap();
        assert!(low > 1.9 && high < 2.1, "{low} {high}");
        assert_eq!((found.is_above(1.9), found.is_above(2.1)), (Some(true), Some(false)));
        let restless = samples(&[[1.0, 1.3, 0.8, 1.1].repeat(5), [2.0, 2.6, 1.6, 2.2].repeat(5)].concat());
        let (wide_low, wide_high) = Factor::of(&restless).interval.unwrap();
        assert!(wide_low < low && wide_high > high, "{wide_low} {wide_high}");
    }
}
