//! How long a curve will still take, from the batches it has.

use super::forecast::Model;
use crate::record::Sample;

/// Batches whose mean counts as the speed of now.
const RECENT_BATCHES: usize = 3;
/// Batches whose gaps tell the next ones.
const GAP_BATCHES: usize = 20;

/// A time that something will still take.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Left {
    /// The least, in seconds.
    pub low: f64,
    /// The most, if the trend goes on.
    pub high: f64,
    /// Whether it may take longer than `high`: there is no figure yet for a part of it, or nothing shows where the trend ends.
    pub open: bool,
}

impl Left {
    /// Two times, one after the other.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { low: self.low + other.low, high: self.high + other.high, open: self.open || other.open }
    }
}

/// What a curve of `batches` batches will still take with `probes` further probes between them. `None` where it has no batch yet.
pub fn left(samples: &[Sample], batches: u64, probes: u64) -> Option<Left> {
    let todo = batches.saturating_sub(samples.last()?.batch);
    let loading = match time_left(samples, batches) {
        _ if todo == 0 => Left::default(),
        Some((low, high)) => Left { low, high, open: high > low && Model::of(samples, None).is_err() },
        None => {
            // One or two batches: what they took is known, and not where it goes.
            let low = samples.iter().map(wall).sum::<f64>() / samples.len() as f64 * todo as f64;
            Left { low, high: low, open: true }
        }
    };
    Some(loading.plus(probing(samples, probes)))
}

/// What further probes will take: as long as those before them.
fn probing(samples: &[Sample], probes: u64) -> Left {
    if probes == 0 {
        return Left::default();
    }
    let apart = |is_after: bool| {
        let gaps = samples.iter().filter(|sample| sample.has_note("after-probe") == is_after);
        super::median(&gaps.filter_map(|sample| sample.gap_seconds).collect::<Vec<_>>())
    };
    match apart(true) {
        Some(gap) => {
            let each = (gap - apart(false).unwrap_or(0.0)).max(0.0) * probes as f64;
            Left { low: each, high: each, open: false }
        }
        None => Left { open: true, ..Left::default() },
    }
}

/// What a batch takes with the gap before it. A probe in the gap is counted on its own.
fn wall(sample: &Sample) -> f64 {
    sample.seconds + sample.gap_seconds.filter(|_| !sample.has_note("after-probe")).unwrap_or(0.0)
}

/// The seconds that the batches to come of a curve of `batches` batches will take, as a range. Gaps are in it, probes are not.
///
/// It is what [`Model`] forecasts of them, where that does not refuse; else it goes from the speed of the last batches
/// to, where the curve is getting slower, the speed it would have if it went on getting slower at the pace of its second
/// half. It is never less than the last batches imply. `None` while there are too few samples, or nothing is left.
pub fn time_left(samples: &[Sample], batches: u64) -> Option<(f64, f64)> {
    let left = batches.checked_sub(samples.last()?.batch)?;
    if left == 0 || samples.len() < RECENT_BATCHES {
        return None;
    }
    let mean = |part: &[Sample]| part.iter().map(wall).sum::<f64>() / part.len() as f64;
    let least = mean(&samples[samples.len() - RECENT_BATCHES..]) * left as f64;
    if let Ok(model) = Model::of(samples, None) {
        let usual = samples.iter().rev().filter(|sample| !sample.has_note("after-probe"));
        let gaps = usual.take(GAP_BATCHES).filter_map(|sample| sample.gap_seconds).collect::<Vec<_>>();
        let gaps = super::median(&gaps).unwrap_or(0.0) * left as f64;
        let (low, high) = model.seconds_of_next(left);
        return Some(((low + gaps).max(least), (high + gaps).max(least)));
    }
    let half = samples.len() / 2;
    let (first, second) = (mean(&samples[..half.max(1)]), mean(&samples[half..]));
    let per_batch = ((second - first) / half.max(1) as f64).max(0.0);
    Some((least, least + per_batch * (left as f64) * (left as f64 + 1.0) / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(seconds: &[f64]) -> Vec<Sample> {
        let numbered = seconds.iter().zip(1..);
        numbered.map(|(&seconds, batch)| Sample { batch, seconds, ..Sample::default() }).collect()
    }

    #[test]
    fn an_even_curve_has_one_answer_and_a_slowing_one_a_range() {
        assert_eq!(time_left(&samples(&[2.0; 4]), 10), Some((12.0, 12.0)));
        // The second half is 2 s a batch slower than the first, two batches on: one second a batch.
        assert_eq!(time_left(&samples(&[1.0, 1.0, 3.0, 3.0]), 6), Some((7.0 / 3.0 * 2.0, 7.0 / 3.0 * 2.0 + 3.0)));
    }

    #[test]
    fn a_long_curve_is_forecast() {
        // A curve whose growth slows down: the straight line of the simple reckoning would be far off.
        let cost = |batch: u64| 1.0 + 9.0 * (1.0 - 10.0 / batch as f64).max(0.0);
        let numbered = (1..=60).map(|batch| Sample {
            batch,
            rows: 1000,
            table_rows: batch * 1000,
            seconds: cost(batch),
            gap_seconds: Some(0.5),
            ..Sample::default()
        });
        let truth: f64 = (61..=600).map(|batch| cost(batch) + 0.5).sum();
        let (low, high) = time_left(&numbered.collect::<Vec<_>>(), 600).unwrap();
        assert!(low < truth && truth < high && high < 1.3 * low, "{low} {truth} {high}");
    }

    #[test]
    fn too_little_to_tell_is_said() {
        assert_eq!(time_left(&[], 10), None);
        assert_eq!(time_left(&samples(&[1.0, 1.0]), 10), None);
        assert_eq!(time_left(&samples(&[1.0; 5]), 5), None);
        assert_eq!(time_left(&samples(&[1.0; 5]), 4), None);
    }

    #[test]
    fn it_is_never_less_than_the_last_batches_imply() {
        // Level for 60 batches, and three that are ten times slower: no fit follows so soon.
        let cost = |batch: u64| if batch > 60 { 10.0 } else { 1.0 };
        let numbered = (1..=63).map(|batch| Sample {
            batch,
            rows: 1000,
            table_rows: batch * 1000,
            seconds: cost(batch),
            ..Sample::default()
        });
        let samples: Vec<Sample> = numbered.collect();
        assert!(time_left(&samples, 163).unwrap().0 >= 1000.0);
        assert!(left(&samples, 163, 0).unwrap().low >= 1000.0);
    }

    #[test]
    fn what_has_no_figure_yet_leaves_it_open() {
        assert_eq!(left(&[], 10, 0), None);
        assert_eq!(left(&samples(&[2.0]), 10, 0), Some(Left { low: 18.0, high: 18.0, open: true }));
        assert_eq!(left(&samples(&[2.0; 4]), 10, 0), Some(Left { low: 12.0, high: 12.0, open: false }));
        assert!(left(&samples(&[1.0, 1.0, 3.0, 3.0]), 6, 0).unwrap().open);
        assert_eq!(left(&samples(&[2.0; 4]), 4, 0), Some(Left::default()));
    }

    #[test]
    fn probes_to_come_are_part_of_it_and_those_before_are_no_cost_of_a_batch() {
        let mut probed = samples(&[2.0; 4]);
        assert!(left(&probed, 10, 3).unwrap().open);
        probed[2].notes = "after-probe".into();
        probed[2].gap_seconds = Some(30.0);
        assert_eq!(left(&probed, 10, 3), Some(Left { low: 102.0, high: 102.0, open: false }));
    }
}
