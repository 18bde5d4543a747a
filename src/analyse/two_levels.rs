//! Two levels: batches that cost one of two amounts and come to each again and again, without a period, or with more slow ones in it
//! than a [`rhythm`](super::rhythm) has.

use super::median;
use super::noise::robust_deviation;
use super::reading::Place;
use super::rhythm::{LEAST_FACTOR, LONGEST};

/// Batches of each level, at least: a share of all, and a number.
const LEAST: (f64, usize) = (0.2, 5);
/// Deviations within a level that lie between the two, at least: halves of one level are 2 apart.
const APART: f64 = 5.0;
/// Changes from one level to the other, at least: a share of those that a random order would have, and a number. A slump has two.
const CHANGES: (f64, usize) = (0.6, 5);
/// Share of the batches that are on the same level as the one a period before, from which on the period is one.
const ORDERED: f64 = 0.95;

/// What the batches cost, when it is one of two amounts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoLevels {
    /// Batches on the upper level.
    pub slow: usize,
    pub batches: usize,
    /// The upper level as a multiple of the lower one.
    pub factor: f64,
    /// Batches after which they come again in the same order.
    pub period: Option<usize>,
}

impl TwoLevels {
    /// `two levels, in no order: 14 of 40 batches cost 1.6 times the others`.
    pub fn sentence(&self) -> String {
        let order = self.period.map_or("in no order".to_owned(), |period| format!("the same every {period} batches"));
        format!(
            "two levels, {order}: {} of {} batches cost {:.1} times the others",
            self.slow, self.batches, self.factor
        )
    }
}

/// The two levels of a curve; `None` where its batches have one, go from one to another for good, or take turns only a few times.
pub fn two_levels(places: &[Place]) -> Option<TwoLevels> {
    let logs: Vec<f64> = places.iter().map(|place| place.seconds_per_million.ln()).collect();
    let (low, high) = split(&logs)?;
    let apart = median(&high)? - median(&low)?;
    let deviation = robust_deviation(&low)?.max(robust_deviation(&high)?);
    if apart < LEAST_FACTOR.ln() || apart < APART * deviation {
        return None;
    }
    let bar = high[0];
    let is_slow: Vec<bool> = logs.iter().map(|&log| log >= bar).collect();
    let changes = is_slow.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let period = period(&is_slow);
    // A wave that is longer than a rhythm is a sawtooth.
    if period.is_some_and(|period| period as u64 > LONGEST) {
        return None;
    }
    let share = high.len() as f64 / logs.len() as f64;
    let at_random = 2.0 * logs.len() as f64 * share * (1.0 - share);
    (changes >= CHANGES.1 && changes as f64 >= CHANGES.0 * at_random).then_some(TwoLevels {
        slow: high.len(),
        batches: logs.len(),
        factor: apart.exp(),
        period,
    })
}

/// The shortest distance at which the levels repeat.
fn period(is_slow: &[bool]) -> Option<usize> {
    let count = is_slow.len();
    (2..=count / 3).find(|&apart| {
        let same = is_slow.iter().zip(&is_slow[apart..]).filter(|(a, b)| a == b).count();
        same as f64 >= ORDERED * (count - apart) as f64
    })
}

/// The values in two parts, each sorted, so that they differ least within the parts (Otsu, IEEE Transactions on Systems, Man, and
/// Cybernetics 9, 1979).
fn split(logs: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
    let mut sorted = logs.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let least = ((LEAST.0 * count as f64).ceil() as usize).max(LEAST.1);
    let total: f64 = sorted.iter().sum();
    let mut below: f64 = sorted.iter().take(least).sum();
    let mut best: Option<(f64, usize)> = None;
    let last = count.checked_sub(least)?;
    for (at, value) in sorted.iter().enumerate().take(last + 1).skip(least) {
        let (left, right) = (at as f64, (count - at) as f64);
        let between = left * right * (below / left - (total - below) / right).powi(2);
        if best.is_none_or(|(most, _)| between > most) {
            best = Some((between, at));
        }
        below += value;
    }
    let high = sorted.split_off(best?.1);
    Some((sorted, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(costs: impl IntoIterator<Item = f64>) -> Vec<Place> {
        let numbered = (1..).zip(costs);
        numbered
            .map(|(batch, seconds_per_million)| Place { batch, table_rows: batch * 1000, seconds_per_million })
            .collect()
    }

    fn found(is_slow: impl Fn(u64) -> bool) -> Option<TwoLevels> {
        let noise = |batch: u64| 1.0 + 0.03 * ((batch * 7919 % 13) as f64 / 6.0 - 1.0);
        two_levels(&places((1..=40).map(|batch| noise(batch) * if is_slow(batch) { 1.6 } else { 1.0 })))
    }

    #[test]
    fn levels_that_take_turns_without_a_period_are_found_and_counted() {
        let slow = [2, 3, 7, 12, 13, 14, 20, 22, 27, 31, 32, 38];
        let levels = found(|batch| slow.contains(&batch)).unwrap();
        assert_eq!((levels.slow, levels.batches), (12, 40));
        assert!((levels.factor - 1.6).abs() < 0.05, "{levels:?}");
        assert_eq!(levels.period, None);
        assert_eq!(levels.sentence(), "two levels, in no order: 12 of 40 batches cost 1.6 times the others");
    }

    #[test]
    fn more_slow_ones_than_a_rhythm_has_are_two_levels_and_a_longer_wave_is_not() {
        let levels = found(|batch| [0, 2, 3].contains(&(batch % 5))).unwrap();
        assert_eq!(
            levels.sentence(),
            "two levels, the same every 5 batches: 24 of 40 batches cost 1.6 times the others"
        );
        assert_eq!(found(|batch| [0, 3, 7].contains(&(batch % 12))), None);
    }

    #[test]
    fn a_fall_a_slump_two_slumps_and_one_level_are_none() {
        assert_eq!(found(|batch| batch > 20), None);
        assert_eq!(found(|batch| (10..20).contains(&batch)), None);
        assert_eq!(found(|batch| (5..15).contains(&batch) || (25..33).contains(&batch)), None);
        assert_eq!(found(|_| false), None);
        assert_eq!(two_levels(&places((0..40).map(|batch| 1.05_f64.powi(batch)))), None);
        assert_eq!(two_levels(&[]), None);
        assert_eq!(two_levels(&places([1.0, 2.0, 1.0, 2.0])), None);
    }
}
