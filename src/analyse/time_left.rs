//! How long a curve will still take, from the batches it has.

use super::forecast::Model;
use crate::record::Sample;

/// Batches whose mean counts as the speed of now.
const RECENT_BATCHES: usize = 3;
/// Batches whose gaps tell the next ones.
const GAP_BATCHES: usize = 20;

/// The seconds that a curve of `batches` batches will still take, as a range. Gaps are in it.
///
/// It is what [`Model`] forecasts of the batches to come, where that does not refuse; else it goes from the speed of the last batches
/// to, where the curve is getting slower, the speed it would have if it went on getting slower at the pace of its second
/// half. `None` while there are too few samples, or nothing is left.
pub fn time_left(samples: &[Sample], batches: u64) -> Option<(f64, f64)> {
    let left = batches.checked_sub(samples.last()?.batch)?;
    if left == 0 || samples.len() < RECENT_BATCHES {
        return None;
    }
    if let Ok(model) = Model::of(samples, None) {
        let gaps = samples.iter().rev().take(GAP_BATCHES).filter_map(|sample| sample.gap_seconds).collect::<Vec<_>>();
        let gaps = super::median(&gaps).unwrap_or(0.0) * left as f64;
        let (low, high) = model.seconds_of_next(left);
        return Some((low + gaps, high + gaps));
    }
    let wall = |sample: &Sample| sample.seconds + sample.gap_seconds.unwrap_or(0.0);
    let mean = |part: &[Sample]| part.iter().map(wall).sum::<f64>() / part.len() as f64;
    let low = mean(&samples[samples.len() - RECENT_BATCHES..]) * left as f64;
    let half = samples.len() / 2;
    let (first, second) = (mean(&samples[..half.max(1)]), mean(&samples[half..]));
    let per_batch = ((second - first) / half.max(1) as f64).max(0.0);
    Some((low, low + per_batch * (left as f64) * (left as f64 + 1.0) / 2.0))
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
}
