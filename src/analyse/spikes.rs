//! Single slow batches: what a curve is judged without.

use super::median;
use super::noise::step_deviation;
use super::reading::{Place, Spike};

/// Single batches that cost at least 1.5 times, and five deviations more than, the median of the three on each side, while their
/// neighbours do not. The first and the last batch cannot be told from a start or a fall.
pub fn spikes(places: &[Place]) -> Vec<Spike> {
    let logs: Vec<f64> = places.iter().map(|place| place.seconds_per_million.ln()).collect();
    let threshold = (5.0 * step_deviation(&logs).unwrap_or(0.0)).max(1.5_f64.ln());
    let above = |index: usize| {
        let around: Vec<f64> = (index.saturating_sub(3)..(index + 4).min(logs.len()))
            .filter(|&at| at != index)
            .map(|at| logs[at])
            .collect();
        logs[index] - median(&around).unwrap_or(logs[index])
    };
    let inner = 1..logs.len().saturating_sub(1);
    inner
        .filter(|&index| {
            let height = above(index);
            let sides = [logs[index - 1], logs[index + 1]];
            height > threshold && sides.iter().all(|side| logs[index] - side > height / 2.0)
        })
        .map(|index| Spike {
            batch: places[index].batch,
            table_rows: places[index].table_rows,
            factor: above(index).exp(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(costs: &[f64]) -> Vec<Place> {
        let numbered = (1..).zip(costs);
        numbered
            .map(|(batch, &seconds_per_million)| Place { batch, table_rows: batch * 1000, seconds_per_million })
            .collect()
    }

    fn found(costs: &[f64]) -> Vec<u64> {
        spikes(&places(costs)).iter().map(|spike| spike.batch).collect()
    }

    #[test]
    fn one_batch_between_quicker_ones_is_a_spike_and_a_fall_is_none() {
        assert_eq!(found(&[5.0, 5.1, 5.0, 9.0, 5.1, 5.0, 5.0]), [4]);
        assert_eq!(found(&[5.0, 5.1, 5.0, 5.1, 9.0, 9.1, 9.0, 9.1]), [0_u64; 0]);
        assert_eq!(found(&[5.0, 5.1, 5.0, 9.0, 9.1, 5.0, 5.1]), [0_u64; 0]);
        // The last batch may be the start of a fall, the first one that of the curve.
        assert_eq!(found(&[9.0, 5.1, 5.0, 5.0, 5.1, 5.0, 9.0]), [0_u64; 0]);
        assert_eq!(found(&[5.0, 5.1, 5.0, 7.0, 5.1, 5.0, 5.0]), [0_u64; 0]);
    }

    #[test]
    fn restless_curves_need_more() {
        assert_eq!(found(&[5.0, 8.0, 4.0, 9.0, 5.0, 7.0, 3.0, 8.0]), [0_u64; 0]);
    }
}
