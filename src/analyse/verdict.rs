//! The verdict: the word for a curve that holds when the noise of its batches is drawn anew, and how often it does.
//!
//! A curve is one draw of what its batches could have cost. So it is read again as 200 copies: its course, which is a running median
//! and not the description that won, because that would confirm itself; the residuals about it, drawn anew in blocks (Künsch,
//! "The jackknife and the bootstrap for general stationary observations", Annals of Statistics 17, 1989); and a slow wave, which is what a
//! running median takes for the course where the batches are correlated. Single slow batches and slumps stay where they are.
//! The most frequent word is the verdict and its share the confidence. The seed is fixed: a file always has the same verdict.

use std::f64::consts::PI;
use std::sync::{Mutex, PoisonError};

use super::cliffs::{judge, judge_as};
use super::median;
use super::noise::{robust_deviation, step_deviation};
use super::reading::{Certainty, Confidence, Onset, Place, Reading};
use super::resample::{Rng, blocks};
use super::sentences;
use super::shape::Shape;

/// Copies of a curve.
pub const COPIES: usize = 200;
/// The share of the copies from which on the confidence is high ...
pub const HIGH: f64 = 0.95;
pub const MEDIUM: f64 = 0.8;
/// Neighbours on each side of the running median.
const BESIDE: usize = 3;
/// Batches that are drawn together.
const BLOCK: usize = 3;
/// The deviation of a slow wave, as a multiple of that from batch to batch.
const WAVE: f64 = 0.7;
/// By so many batches' worth the deviation is taken to be larger than it seems: a few batches do not show how restless they are.
const UNKNOWN: f64 = 10.0;
/// Drawn residuals are at most so many times the measured ones.
const MOST_SCALE: f64 = 3.0;
/// Copies of longer curves are read by the medians of neighbours.
const LONG: usize = 400;
/// Fewer batches than this allow medium at most: over noise that goes on from batch to batch they look like a shape now and then, and
/// their copies like them.
const FEW: usize = 24;
const SEED: u64 = 0x636c_6966;

/// What a verdict depends on.
type Asked = (Vec<Place>, usize, Option<f64>, f64);

/// Verdicts that were asked for: a run's end, its pictures and its report ask for the same.
static GIVEN: Mutex<Vec<(Asked, Reading)>> = Mutex::new(Vec::new());
/// Verdicts that are kept.
const KEPT: usize = 256;

/// Reads a curve from its points, which are ordered by table size, and says how sure that is.
pub fn verdict(places: &[Place], left_out: usize, baseline: Option<f64>, cliff_factor: f64) -> Reading {
    let asked: Asked = (places.to_vec(), left_out, baseline, cliff_factor);
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, reading)) = given.iter().find(|(other, _)| *other == asked) {
        return reading.clone();
    }
    drop(given);
    let reading = worked_out(places, left_out, baseline, cliff_factor);
    given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    if given.len() == KEPT {
        given.remove(0);
    }
    given.push((asked, reading.clone()));
    reading
}

fn worked_out(places: &[Place], left_out: usize, baseline: Option<f64>, cliff_factor: f64) -> Reading {
    let own = judge(places, left_out, baseline, cliff_factor);
    if own.shape == Shape::TooShort {
        return own;
    }
    let votes = Votes::of(places, &own, cliff_factor);
    let Some(first) = votes.0.first() else { return own };
    // A word that not even half of the copies have is no better than the one that the curve itself has.
    let other_word = first.shape != own.shape && first.count * 2 >= COPIES && !own.is_open();
    let mut reading = match other_word {
        // What is said of the curve is said of its own batches, never of a copy's.
        true => Some(judge_as(places, left_out, baseline, cliff_factor, Some(first.shape)))
            .filter(|other| other.shape == first.shape)
            .unwrap_or(own),
        false => own,
    };
    let most = if places.len() < FEW { Confidence::Medium } else { Confidence::High };
    let mut certainty = votes.certainty(&reading);
    certainty.confidence = certainty.confidence.min(most);
    let of_cliff = confidence_of(certainty.cliff_share).min(most);
    for cliff in &mut reading.cliffs {
        cliff.confidence = cliff.confidence.min(of_cliff);
        cliff.why.insert(0, sentences::share_with_a_cliff(certainty.cliff_share));
    }
    reading.certainty = Some(certainty);
    if reading.is_open() {
        reading.doubt(Confidence::Low, sentences::OPEN.to_owned());
    }
    reading
}

fn confidence_of(share: f64) -> Confidence {
    match share {
        share if share >= HIGH => Confidence::High,
        share if share >= MEDIUM => Confidence::Medium,
        _ => Confidence::Low,
    }
}

/// What the copies of a curve are taken for, the most frequent word first.
struct Votes(Vec<Vote>);

struct Vote {
    shape: Shape,
    count: usize,
    cliffs: usize,
    onsets: Vec<Onset>,
}

impl Votes {
    fn of(places: &[Place], own: &Reading, cliff_factor: f64) -> Self {
        let mut copies = Copies::new(places, own);
        let mut votes: Vec<Vote> = Vec::new();
        for _ in 0..COPIES {
            let read = judge(&copies.next(), 0, None, cliff_factor);
            let shape = match read.shape {
                Shape::Flat if copies.is_without_spikes && !own.spikes.is_empty() => Shape::Spike,
                shape => shape,
            };
            let at = votes.iter().position(|vote| vote.shape == shape).unwrap_or_else(|| {
                votes.push(Vote { shape, count: 0, cliffs: 0, onsets: Vec::new() });
                votes.len() - 1
            });
            votes[at].count += 1;
            votes[at].cliffs += usize::from(!read.cliffs.is_empty());
            votes[at].onsets.extend(read.onset);
        }
        // Of words that are as frequent, the curve's own.
        votes.sort_by_key(|vote| (std::cmp::Reverse(vote.count), vote.shape != own.shape));
        Self(votes)
    }

    fn certainty(&self, reading: &Reading) -> Certainty {
        let part = |count: usize| count as f64 / COPIES as f64;
        let cliff_share = part(self.0.iter().map(|vote| vote.cliffs).sum());
        let share = self.0.iter().find(|vote| vote.shape == reading.shape).map_or(0.0, |vote| part(vote.count));
        let other = self.0.iter().find(|vote| vote.shape != reading.shape);
        // A script sees whether there is a cliff: what the copies do not agree on there is not sure, whatever their word.
        let of_exit = if cliff_share >= MEDIUM { cliff_share } else { 1.0 - cliff_share };
        Certainty {
            confidence: confidence_of(share.min(of_exit)),
            share,
            cliff_share,
            other: other.map(|vote| (vote.shape, part(vote.count), vote.onset())),
            doubts: Vec::new(),
        }
    }
}

impl Vote {
    /// The middle of its onsets, where most of its copies have one.
    fn onset(&self) -> Option<Onset> {
        let rows = |of: fn(&Onset) -> u64| {
            let mut sorted: Vec<u64> = self.onsets.iter().map(of).collect();
            sorted.sort_unstable();
            sorted.get(sorted.len() / 2).copied()
        };
        let is_usual = self.onsets.len() * 2 > self.count;
        let onset = Onset { from_rows: rows(|onset| onset.from_rows)?, to_rows: rows(|onset| onset.to_rows)? };
        is_usual.then_some(onset)
    }
}

/// Copies of a curve, one after the other.
struct Copies {
    places: Vec<Place>,
    course: Vec<f64>,
    residuals: Vec<f64>,
    scale: f64,
    wave: f64,
    is_without_spikes: bool,
    rng: Rng,
    drawn: Vec<usize>,
}

impl Copies {
    fn new(places: &[Place], own: &Reading) -> Self {
        let is_spike = |place: &Place| own.spikes.iter().any(|spike| spike.batch == place.batch);
        let in_slump = |place: &Place| {
            let mut slumps = own.slumps.iter().chain(&own.slow_again);
            slumps.any(|slump| (slump.first_batch..=slump.last_batch).contains(&place.batch))
        };
        let is_without_spikes = places.len() > LONG;
        let mut places = places.to_vec();
        places.retain(|place| !is_without_spikes || !is_spike(place));
        let logs: Vec<f64> = places.iter().map(|place| place.seconds_per_million.ln()).collect();
        let steady = |place: &Place| !is_spike(place) && !in_slump(place);
        let steady: Vec<usize> = (0..places.len()).filter(|&at| steady(&places[at])).collect();
        let steady_logs: Vec<f64> = steady.iter().map(|&at| logs[at]).collect();
        let smooth = running_median(&steady_logs);
        let mut course = logs;
        steady.iter().zip(&smooth).for_each(|(&at, &log)| course[at] = log);
        // The ends have no neighbours on one side, and so no residual.
        let inner = 1..steady.len().saturating_sub(1).max(1);
        let residuals: Vec<f64> =
            steady_logs.iter().zip(&smooth).map(|(log, smooth)| log - smooth).collect::<Vec<_>>()[inner].to_vec();
        let step = step_deviation(&steady_logs).unwrap_or(0.0);
        let wanted = step * (1.0 + UNKNOWN / places.len() as f64);
        let have = robust_deviation(&residuals).unwrap_or(0.0);
        let scale = if have > 0.0 { (wanted / have).clamp(1.0, MOST_SCALE) } else { 1.0 };
        let (rng, drawn) = (Rng::new(SEED), Vec::new());
        Self { places, course, residuals, scale, wave: WAVE * step, is_without_spikes, rng, drawn }
    }

    fn next(&mut self) -> Vec<Place> {
        let count = self.places.len();
        let (line, bow) = (self.wave * self.rng.normal(), self.wave * self.rng.normal());
        if !self.residuals.is_empty() {
            blocks(self.residuals.len().max(count), BLOCK, &mut self.rng, &mut self.drawn);
        }
        let copy = self.places.iter().zip(&self.course).enumerate().map(|(at, (place, course))| {
            let angle = PI * (at as f64 + 0.5) / count as f64;
            let noise =
                self.drawn.get(at).map_or(0.0, |&drawn| self.scale * self.residuals[drawn % self.residuals.len()]);
            let log = course + noise + line * angle.cos() + bow * (2.0 * angle).cos();
            Place { seconds_per_million: log.exp(), ..*place }
        });
        thinned(copy.collect())
    }
}

/// Medians of neighbours of a long curve, so that it is read in time.
fn thinned(places: Vec<Place>) -> Vec<Place> {
    let each = places.len().div_ceil(LONG);
    if each < 2 {
        return places;
    }
    let middle = |chunk: &[Place]| {
        let costs: Vec<f64> = chunk.iter().map(|place| place.seconds_per_million).collect();
        Place { seconds_per_million: median(&costs).unwrap_or(0.0), ..chunk[chunk.len() - 1] }
    };
    places.chunks(each).map(middle).collect()
}

/// The median of each value and its neighbours; near the ends, of as many on both sides as there are.
fn running_median(values: &[f64]) -> Vec<f64> {
    (0..values.len())
        .map(|at| {
            let beside = BESIDE.min(at).min(values.len() - 1 - at);
            median(&values[at - beside..=at + beside]).unwrap_or(values[at])
        })
        .collect()
}
