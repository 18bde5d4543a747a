//! How long a curve will still take, from the batches it has.

use crate::record::Sample;

/// Batches whose mean counts as the speed of now.
const RECENT_BATCHES: usize = 3;

/// The seconds that `batches` whole batches of a curve will still take, as a range: from the speed of the last batches
/// to, where the curve is getting slower, the speed it would have if it went on getting slower at the pace of its second
/// half. Gaps are in it. `None` while there are too few samples, or nothing is left.
pub fn time_left(samples: &[Sample], batches: u64) -> Option<(f64, f64)> {
    let left = batches.checked_sub(samples.last()?.batch)?;
    if left == 0 || samples.len() < RECENT_BATCHES {
        return None;
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
    fn too_little_to_tell_is_said() {
        assert_eq!(time_left(&[], 10), None);
        assert_eq!(time_left(&samples(&[1.0, 1.0]), 10), None);
        assert_eq!(time_left(&samples(&[1.0; 5]), 5), None);
        assert_eq!(time_left(&samples(&[1.0; 5]), 4), None);
    }
}
