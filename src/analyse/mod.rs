//! Pure functions of stored samples: numbers in, numbers out, no file, clock or database.

pub mod baseline;
mod case;
pub mod cliffs;
pub mod compare;
pub mod control;
pub mod curves;
pub mod doubts;
pub mod evidence;
pub mod factor;
pub mod fits;
pub mod forecast;
pub mod levels;
pub mod noise;
pub mod power;
pub mod probe_rates;
pub mod probes;
pub mod published;
pub mod reading;
pub mod resample;
pub mod rhythm;
pub mod segments;
pub mod sentences;
pub mod settings;
pub mod shape;
pub mod slumps;
pub mod spikes;
pub mod standing;
pub mod time_left;
pub mod two_levels;
pub mod verdict;

pub use baseline::{Baseline, BaselineTracker, baseline};
pub use curves::{Cell, Curve, Grouped, Labels, MedianPoint, RunSamples, cells, group};
pub use factor::Factor;
pub use probes::{ProbeLoad, ProbeSummary};
pub use reading::{Cliff, Confidence, Reading, Spike};
pub use rhythm::Rhythm;
pub use shape::Shape;
pub use standing::Standing;
pub use time_left::{Left, as_before, left, time_left};

/// The median; the mean of the two in the middle when their number is even. `None` of nothing.
///
/// Values that are not numbers have no place in an order: the caller leaves them out.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        len if len % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}
