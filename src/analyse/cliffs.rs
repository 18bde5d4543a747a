//! The decision: what shape a curve has, and whether it fell off a cliff.
//!
//! All on the logarithm of seconds per million rows over the table size, robust and deterministic:
//!
//! 1. Batches that paid for more than their own rows stay out ([`places`]), a rhythm is taken out ([`rhythm`](super::rhythm)), single
//!    slow batches are put aside ([`spikes`](super::spikes)).
//! 2. The curve is described in three ways: gradually ([`gradual`](super::fits::gradual)), by an onset
//!    ([`with_onset`](super::fits::with_onset)) and by levels
//!    ([`segments`](super::segments)). The description with the lowest score wins: `2 n ln(mean absolute deviation) + k ln n`, which is the
//!    criterion of Schwarz ("Estimating the dimension of a model", Annals of Statistics 6, 1978) for Laplace noise, with the
//!    effective number of points as `n` and the number of fitted figures as `k`. What is not gradual has to win by
//!    [`MARGIN`] (the "positive evidence" of Kass and Raftery, "Bayes factors", JASA 90, 1995).
//! 3. A cliff needs more than a good fit: a level start, and a slowdown that lasts.

use super::case::{Case, Decided};
use super::factor::Factor;
use super::noise::robust_deviation;
use super::reading::{Place, Reading, Slump};
use super::rhythm::rhythm;
use super::shape::Shape;
use super::slumps::{Slumps, Stretch};
use super::spikes::spikes;
use super::two_levels::two_levels;
use super::verdict::verdict;
use super::{Baseline, baseline, median, sentences};
use crate::record::Sample;

/// The slowdown from which on a lasting fall is a cliff, unless another is asked for.
pub const CLIFF_FACTOR: f64 = 1.5;
/// Changes below this are no changes.
pub const FLAT: f64 = 1.15;
/// Fewer batches than this say little.
pub const ENOUGH: usize = 12;
/// A fall by this much is seen in fewer batches, too.
pub const STEEP: f64 = 3.0;
/// How much better than a gradual change a bend or steps must describe the curve.
pub const MARGIN: f64 = 2.0;
/// Scatter from which on it is a finding in itself.
pub const STRONG_SCATTER: f64 = 0.12;

/// Reads one curve, and says how sure that is.
///
/// `cliff_factor` is the lasting slowdown that makes a cliff. The order of the samples does not matter.
pub fn read(samples: &[Sample], cliff_factor: f64) -> Reading {
    read_by(verdict, samples, cliff_factor)
}

/// The same at one glance, without copies: for pictures of a curve that still grows, while nothing may slow its load.
pub fn glance(samples: &[Sample], cliff_factor: f64) -> Reading {
    read_by(judge, samples, cliff_factor)
}

/// Reads points: how many batches were left out, the baseline and the factor of a cliff go with them.
type Judge = fn(&[Place], usize, Option<f64>, f64) -> Reading;

fn read_by(judge: Judge, samples: &[Sample], cliff_factor: f64) -> Reading {
    let baseline = baseline(samples);
    let places = places(samples, baseline.as_ref());
    let rhythm = rhythm(&places);
    let factor = Factor::with(samples, &places, baseline.as_ref(), rhythm.as_ref());
    let left_out = samples.len() - places.len();
    let rest = rhythm.as_ref().map_or_else(|| places.clone(), |rhythm| rhythm.without(&places));
    judge(&rest, left_out, factor.baseline_seconds_per_million, cliff_factor).with(factor, rhythm)
}

/// The batches that take part, ordered by table size.
///
/// Batches that were resumed or retried paid for more than their own rows, and those without rows or without a measurable time
/// have no cost. A slow first batch is left out when the baseline leaves it out.
pub fn places(samples: &[Sample], baseline: Option<&Baseline>) -> Vec<Place> {
    let slow_first = baseline.is_some_and(|found| found.first_left_out);
    let mut places: Vec<Place> = samples
        .iter()
        .filter(|sample| sample.counts_for_baseline() && !(slow_first && sample.batch == 1))
        .filter_map(|sample| {
            let cost = sample.seconds_per_million().filter(|cost| cost.is_finite() && *cost > 0.0)?;
            Some(Place { batch: sample.batch, table_rows: sample.table_rows, seconds_per_million: cost })
        })
        .collect();
    places.sort_by_key(|place| (place.table_rows, place.batch));
    places
}

/// Reads a curve once from its points, which are ordered by table size.
pub fn judge(places: &[Place], left_out: usize, baseline: Option<f64>, cliff_factor: f64) -> Reading {
    judge_as(places, left_out, baseline, cliff_factor, None).with_levels(two_levels(places))
}

/// The same, as a certain shape where it can be described so.
pub(super) fn judge_as(
    places: &[Place],
    left_out: usize,
    baseline: Option<f64>,
    cliff_factor: f64,
    shape: Option<Shape>,
) -> Reading {
    let end = &places[places.len().saturating_sub(3)..];
    let end: Vec<f64> = end.iter().map(|place| place.seconds_per_million).collect();
    let mut reading = Reading {
        batches: places.len(),
        left_out,
        end_rows: places.last().map_or(0, |place| place.table_rows),
        baseline_seconds_per_million: baseline,
        end_seconds_per_million: median(&end),
        ..Reading::default()
    };
    if places.len() < 4 {
        return too_short(reading, places);
    }
    let logs: Vec<f64> = places.iter().map(|place| place.seconds_per_million.ln()).collect();
    let slumps = Slumps::find(&logs);
    let outside: Vec<Place> =
        places.iter().enumerate().filter(|&(at, _)| !slumps.holds(at)).map(|(_, place)| *place).collect();
    let is_outside = |batch: u64| outside.iter().any(|place| place.batch == batch);
    reading.spikes = spikes(places).into_iter().filter(|spike| is_outside(spike.batch)).collect();
    let is_spike = |place: &&Place| reading.spikes.iter().any(|spike| spike.batch == place.batch);
    let kept: Vec<Place> = outside.iter().filter(|place| !is_spike(place)).copied().collect();
    let case = Case::new(&kept, cliff_factor);
    reading.effective_points = Some(case.effective);
    let decided = shape.and_then(|shape| case.decide_as(shape)).unwrap_or_else(|| case.decide());
    reading.scatter = Some(robust_deviation(&decided.residuals).unwrap_or(0.0));
    let is_few = kept.len() < ENOUGH && !decided.cliff.as_ref().is_some_and(|cliff| cliff.factor() >= STEEP);
    if is_few && places.len() - reading.spikes.len() < ENOUGH {
        let mut reading = too_short(reading, places);
        reading.remarks.extend(first_alone_is_fast(&reading, places));
        return reading;
    }
    reading.half_rows = half_rows(&kept);
    take(&mut reading, decided, &slumps, places);
    reading.remarks.extend(first_alone_is_fast(&reading, places));
    if reading.shape == Shape::Flat && !reading.spikes.is_empty() {
        reading.shape = Shape::Spike;
    }
    reading
}

/// Takes over what was decided of the batches outside the slumps, and the slumps.
fn take(reading: &mut Reading, decided: Decided, slumps: &Slumps, places: &[Place]) {
    let of = |stretch: &Stretch| Slump {
        from_rows: stretch.from.checked_sub(1).map_or(0, |before| places[before].table_rows),
        to_rows: places[stretch.to - 1].table_rows,
        first_batch: places[stretch.from].batch,
        last_batch: places[stretch.to - 1].batch,
        batches: stretch.to - stretch.from,
        factor: stretch.height.exp(),
    };
    reading.slumps = slumps.over.iter().map(of).collect();
    reading.slow_again = slumps.again.as_ref().map(of);
    reading.last_is_back = slumps.last_is_back;
    reading.remarks = decided.remarks;
    reading.onset = decided.onset;
    // A slump that came back says more of the curve than a rest that hardly changes, and no fall is sure that may come back as well.
    let rest_falls = decided.cliff.is_some() && !slumps.is_open();
    reading.shape = match slumps.count() {
        0 => decided.shape,
        _ if rest_falls || decided.shape == Shape::Gradual && !slumps.is_open() && is_steep(reading) => decided.shape,
        1 => Shape::Recovered,
        _ => Shape::Sawtooth,
    };
    if reading.shape == decided.shape && !(reading.shape == Shape::Sawtooth && slumps.count() > 0) {
        reading.cliffs = decided.cliff.into_iter().collect();
    } else {
        reading.remarks.clear();
        reading.onset = None;
    }
}

/// Whether the curve ends slower by as much as a slump begins with.
fn is_steep(reading: &Reading) -> bool {
    let ends = reading.end_seconds_per_million.zip(reading.baseline_seconds_per_million);
    ends.is_some_and(|(end, baseline)| end >= CLIFF_FACTOR * baseline)
}

/// The table size by which half of a loss of speed is over: the first batch from which on, in medians of three, the curve is
/// slower than the middle between its first speed and its last.
fn half_rows(places: &[Place]) -> Option<u64> {
    let speeds: Vec<f64> = places.iter().map(|place| 1e6 / place.seconds_per_million).collect();
    let smooth: Vec<f64> = speeds.windows(3).filter_map(median).collect();
    let (first, last) = (smooth.iter().take(8).copied().fold(0.0, f64::max), *smooth.last()?);
    let middle = f64::midpoint(first, last);
    let held = smooth.iter().rposition(|&speed| speed > middle)?;
    (first > last).then(|| places.get(held + 2).map(|place| place.table_rows)).flatten()
}

/// One batch is no plateau, but a first batch that is three times as fast as all that follow may be the end of one.
fn first_alone_is_fast(reading: &Reading, places: &[Place]) -> Option<String> {
    let (first, next) = (places.first().filter(|place| place.batch == 1)?, places.get(1..4)?);
    let least = next.iter().map(|place| place.seconds_per_million).fold(f64::INFINITY, f64::min);
    let factor = least / first.seconds_per_million;
    (reading.cliffs.is_empty() && factor >= STEEP).then(|| sentences::first_was_fast(factor))
}

fn too_short(reading: Reading, places: &[Place]) -> Reading {
    let costs = || places.iter().map(|place| place.seconds_per_million);
    let (least, most) = (costs().fold(f64::INFINITY, f64::min), costs().fold(0.0, f64::max));
    Reading { shape: Shape::TooShort, remarks: vec![sentences::too_short(places.len(), most / least)], ..reading }
}
