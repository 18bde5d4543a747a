//! The decision: what shape a curve has, and whether it fell off a cliff.
//!
//! All on the logarithm of seconds per million rows over the table size, robust and deterministic:
//!
//! 1. Batches that paid for more than their own rows stay out ([`places`]), a rhythm is taken out ([`rhythm`](super::rhythm)), single
//!    slow batches are put aside ([`spikes`](super::spikes)).
//! 2. The curve is described in three ways: gradually ([`fits::gradual`]), by an onset ([`fits::with_onset`]) and by levels
//!    ([`segments`](super::segments)). The description with the lowest score wins: `2 n ln(mean absolute deviation) + k ln n`, which is the
//!    criterion of Schwarz ("Estimating the dimension of a model", Annals of Statistics 6, 1978) for Laplace noise, with the
//!    effective number of points as `n` and the number of fitted figures as `k`. What is not gradual has to win by
//!    [`MARGIN`] (the "positive evidence" of Kass and Raftery, "Bayes factors", JASA 90, 1995).
//! 3. A cliff needs more than a good fit: a level start, and a slowdown that lasts.

use super::factor::Factor;
use super::fits::{self, Fit};
use super::levels::{self, Levels};
use super::noise::{autocorrelation, effective_points, robust_deviation};
use super::reading::{Cliff, Confidence, Place, Reading};
use super::rhythm::rhythm;
use super::shape::Shape;
use super::spikes::spikes;
use super::two_levels::two_levels;
use super::{Baseline, baseline, median};
use crate::record::Sample;
use crate::units::human_rows;

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
/// Deviations below this are all the same: nobody measures a batch better.
const FINEST: f64 = 0.01;
/// An onset below this share of the table is near the start ...
const EARLY_SHARE: f64 = 0.25;
/// ... and a gradual change must leave this many times the deviation for it to count.
const EARLY_RATIO: f64 = 1.35;
/// Batches before a fall, up to which it began in the first batches.
const FIRST_BATCHES: usize = 4;

/// Reads one curve.
///
/// `cliff_factor` is the lasting slowdown that makes a cliff. The order of the samples does not matter.
pub fn read(samples: &[Sample], cliff_factor: f64) -> Reading {
    let baseline = baseline(samples);
    let places = places(samples, baseline.as_ref());
    let rhythm = rhythm(&places);
    let factor = Factor::with(samples, &places, baseline.as_ref(), rhythm.as_ref());
    let left_out = samples.len() - places.len();
    let rest = rhythm.as_ref().map_or_else(|| places.clone(), |rhythm| rhythm.without(&places));
    let judged = judge(&rest, left_out, factor.baseline_seconds_per_million, cliff_factor);
    judged.with(factor, rhythm, two_levels(&rest))
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

/// Reads a curve from its points, which are ordered by table size.
pub fn judge(places: &[Place], left_out: usize, baseline: Option<f64>, cliff_factor: f64) -> Reading {
    let end = &places[places.len().saturating_sub(3)..];
    let end: Vec<f64> = end.iter().map(|place| place.seconds_per_million).collect();
    let mut reading = Reading {
        shape: Shape::TooShort,
        batches: places.len(),
        left_out,
        factor: Factor::default(),
        rhythm: None,
        baseline_seconds_per_million: baseline,
        end_seconds_per_million: median(&end),
        scatter: None,
        effective_points: None,
        cliffs: Vec::new(),
        spikes: Vec::new(),
        remarks: Vec::new(),
    };
    if places.len() < 4 {
        return too_short(reading, places);
    }
    reading.spikes = spikes(places);
    let kept: Vec<Place> =
        places.iter().filter(|place| !reading.spikes.iter().any(|spike| spike.batch == place.batch)).copied().collect();
    let case = Case::new(&kept, cliff_factor);
    reading.effective_points = Some(case.effective);
    let decided = case.decide();
    reading.scatter = Some(robust_deviation(&decided.residuals).unwrap_or(0.0));
    reading.shape = decided.shape;
    reading.remarks = decided.remarks;
    reading.cliffs = decided.cliff.into_iter().collect();
    if kept.len() < ENOUGH && !reading.cliffs.iter().any(|cliff| cliff.factor() >= STEEP) {
        reading.cliffs.clear();
        reading.remarks.clear();
        let mut reading = too_short(reading, places);
        let first = first_alone_is_fast(&reading, places);
        reading.remarks.extend(first);
        return reading;
    }
    let first = first_alone_is_fast(&reading, places);
    reading.remarks.extend(first);
    if reading.shape == Shape::Flat && !reading.spikes.is_empty() {
        reading.shape = Shape::Spike;
    }
    if let Some(scatter) = reading.scatter.filter(|scatter| *scatter >= STRONG_SCATTER) {
        reading.remarks.push(format!(
            "strong scatter: the batches differ by {:.0}% from one to the next without an order in it, which is a finding of \
             its own",
            scatter * 100.0
        ));
    }
    reading
}

/// One batch is no plateau, but a first batch that is three times as fast as all that follow may be the end of one.
fn first_alone_is_fast(reading: &Reading, places: &[Place]) -> Option<String> {
    let (first, next) = (places.first().filter(|place| place.batch == 1)?, places.get(1..4)?);
    let least = next.iter().map(|place| place.seconds_per_million).fold(f64::INFINITY, f64::min);
    let factor = least / first.seconds_per_million;
    (reading.cliffs.is_empty() && factor >= STEEP).then(|| {
        format!(
            "batch 1 was {factor:.1} times as fast as any of the next three: a fall may have begun before its end; smaller batches \
             would show it"
        )
    })
}

fn too_short(mut reading: Reading, places: &[Place]) -> Reading {
    reading.shape = Shape::TooShort;
    let costs = || places.iter().map(|place| place.seconds_per_million);
    let (least, most) = (costs().fold(f64::INFINITY, f64::min), costs().fold(0.0, f64::max));
    reading.remarks.push(match places.len() {
        0 => "no batch with a usable figure".to_owned(),
        1 => "one batch shows no course".to_owned(),
        count => format!(
            "{count} batches within {:.2} times of each other: they prove little, and nothing about larger tables",
            most / least
        ),
    });
    reading
}

/// A curve on the table, described in every way.
struct Case<'a> {
    places: &'a [Place],
    logs: Vec<f64>,
    factor: f64,
    effective: f64,
    simple: Fit,
    constant: Fit,
    onset: Option<fits::OnsetFit>,
    levels: Levels,
}

struct Decided {
    shape: Shape,
    cliff: Option<Cliff>,
    remarks: Vec<String>,
    residuals: Vec<f64>,
}

/// Where a fall begins: the first place of it, and the table sizes around.
#[derive(Clone, Copy)]
struct Onset {
    first: usize,
    from_rows: u64,
    to_rows: u64,
}

impl<'a> Case<'a> {
    fn new(places: &'a [Place], factor: f64) -> Self {
        let logs: Vec<f64> = places.iter().map(|place| place.seconds_per_million.ln()).collect();
        let largest = places.last().map_or(1, |place| place.table_rows.max(1)) as f64;
        let points: Vec<(f64, f64)> =
            places.iter().zip(&logs).map(|(place, &log)| (place.table_rows as f64 / largest, log)).collect();
        let count = logs.len();
        let constant = fits::constant(&points);
        let gradual = fits::gradual(&points);
        let onsets = fits::with_onset(&points);
        let first_levels = levels::cut(&logs, 1.0);
        // The correlation is that of what the best description leaves over, found before it is known how much to trust one.
        let all = count as f64;
        let with_levels = (&first_levels.residuals, score(first_levels.deviation, first_levels.parameters(), all));
        let smooth = [&constant].into_iter().chain(&gradual).chain(onsets.iter().map(|onset| &onset.fit));
        let best = smooth
            .map(|fit| (&fit.residuals, score(fit.deviation, fit.form.parameters(), all)))
            .chain([with_levels])
            .min_by(|a, b| a.1.total_cmp(&b.1));
        let correlation = best.map_or(0.0, |(residuals, _)| autocorrelation(residuals));
        let effective = effective_points(count, correlation);
        let levels = match effective < all {
            true => levels::cut(&logs, all / effective),
            false => first_levels.clone(),
        };
        let better = |a: &Fit, b: &Fit| {
            let of = |fit: &Fit| score(fit.deviation, fit.form.parameters(), effective);
            of(a).total_cmp(&of(b))
        };
        let simple = [constant.clone()].into_iter().chain(gradual).min_by(better).unwrap_or_else(|| constant.clone());
        let onset = onsets.into_iter().min_by(|a, b| better(&a.fit, &b.fit));
        Self { places, logs, factor, effective, simple, constant, onset, levels }
    }

    fn decide(&self) -> Decided {
        let of = |fit: &Fit| score(fit.deviation, fit.form.parameters(), self.effective);
        let simple = of(&self.simple);
        let onset = self.onset.as_ref().map_or(f64::INFINITY, |onset| of(&onset.fit));
        let levels = score(self.levels.deviation, self.levels.parameters(), self.effective);
        if let Some((teeth, height)) = levels::sawtooth(&self.logs) {
            let remark =
                format!("the cost goes up {teeth} times, to about {height:.1} times the level below, and comes back");
            let residuals = self.constant.residuals.clone();
            return Decided { shape: Shape::Sawtooth, cliff: None, remarks: vec![remark], residuals };
        }
        let bar = simple - MARGIN;
        if levels < bar && levels < onset && self.levels.count() > 1 {
            return self.stepwise(simple - levels);
        }
        match &self.onset {
            Some(found) if onset < bar && self.is_no_slope(found) => self.bent(found, simple - onset),
            _ => self.gradual(Vec::new()),
        }
    }

    /// Near the start a line and a bend are nearly the same: there, a bend has to fit much better to be one.
    fn is_no_slope(&self, found: &fits::OnsetFit) -> bool {
        let ratio = self.simple.deviation.max(FINEST) / found.fit.deviation.max(FINEST);
        found.onset >= EARLY_SHARE || ratio >= EARLY_RATIO
    }

    /// Flat or gradual.
    fn gradual(&self, mut remarks: Vec<String>) -> Decided {
        let fit = &self.simple;
        let change = self.change(fit);
        let scatter = robust_deviation(&fit.residuals).unwrap_or(0.0);
        let moved = change.ln().abs();
        if moved < FLAT.ln().max(2.5 * scatter) {
            if moved >= FLAT.ln() {
                remarks.push(format!(
                    "it ends a little {}, by {:.2} times, which is within the scatter of its batches",
                    if change > 1.0 { "slower" } else { "faster" },
                    change.max(1.0 / change)
                ));
            }
            let residuals = self.constant.residuals.clone();
            return Decided { shape: Shape::Flat, cliff: None, remarks, residuals };
        }
        remarks.insert(
            0,
            match change > 1.0 {
                true => {
                    format!("the cost grows {change:.2} times from the first batches to the last, by little each time")
                }
                false => {
                    format!("the curve gets faster: the cost goes down to {change:.2} times that of the first batches")
                }
            },
        );
        Decided { shape: Shape::Gradual, cliff: None, remarks, residuals: fit.residuals.clone() }
    }

    /// The fitted cost at the last place divided by that at the first, and never beyond what was measured.
    fn change(&self, fit: &Fit) -> f64 {
        let (Some(first), Some(last)) = (fit.residuals.first(), fit.residuals.last()) else { return 1.0 };
        let fitted = |log: Option<&f64>, residual: &f64| log.copied().unwrap_or(0.0) - residual;
        let fitted = fitted(self.logs.last(), last) - fitted(self.logs.first(), first);
        let (least, most) =
            self.logs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), log| (a.min(*log), b.max(*log)));
        fitted.clamp(least - most, most - least).exp()
    }

    fn bent(&self, found: &fits::OnsetFit, margin: f64) -> Decided {
        let largest = self.places.last().map_or(1, |place| place.table_rows.max(1)) as f64;
        let rows = |share: f64| share * largest;
        // Onsets that fit nearly as well: twice the log likelihood within 4 of the best, about 95%.
        let least = found.profile.iter().map(|&(_, deviation)| deviation).fold(f64::INFINITY, f64::min).max(FINEST);
        let near = |deviation: f64| 2.0 * self.effective * (deviation.max(FINEST) / least).ln() <= 4.0;
        let shares = || found.profile.iter().filter(|&&(_, deviation)| near(deviation)).map(|&(share, _)| share);
        let (from, to) = (shares().fold(found.onset, f64::min), shares().fold(found.onset, f64::max));
        let first = self.places.partition_point(|place| place.table_rows as f64 <= rows(found.onset));
        let below = |share: f64| {
            let at = self.places.partition_point(|place| place.table_rows as f64 <= rows(share) + 0.5);
            self.places[at.saturating_sub(1)].table_rows
        };
        let at_or_above = |share: f64| {
            let at = self.places.partition_point(|place| place.table_rows as f64 + 0.5 < rows(share));
            self.places[at.min(self.places.len() - 1)].table_rows
        };
        let first = first.clamp(1, self.places.len() - 1);
        // Batches before it that already stand out belong to the doubt, too.
        let spread = 1.5 * robust_deviation(&found.fit.residuals).unwrap_or(0.0).max(FINEST);
        let level = self.level_before(first);
        let stands_out = |at: &usize| self.logs[*at] - level > spread;
        let doubtful = (1..first).rev().take_while(stands_out).take(3).count();
        let onset = Onset {
            first,
            from_rows: below(from).min(self.places[first - 1 - doubtful].table_rows),
            to_rows: at_or_above(to).max(self.places[first].table_rows),
        };
        self.fallen(Shape::Bend, onset, margin, &found.fit.residuals)
    }

    fn stepwise(&self, margin: f64) -> Decided {
        let residuals = &self.levels.residuals;
        let without_cliff =
            |shape, remark: String| Decided { shape, cliff: None, remarks: vec![remark], residuals: residuals.clone() };
        if let Some(episode) = self.levels.recovered() {
            let (from, to) = (self.places[episode.from].table_rows, self.places[episode.to - 1].table_rows);
            let (from, to, factor) = (human_rows(from), human_rows(to), episode.factor);
            return without_cliff(
                Shape::Recovered,
                format!("between {from} and {to} rows the cost was {factor:.2} times that before, and it came back"),
            );
        }
        let Some(change) = self.levels.onset() else {
            return self.gradual(Vec::new());
        };
        // A segment begins where the sum of deviations is least, which may be a batch off: the fall begins with the first batch
        // that leaves the level before.
        let before = self.level_before(change);
        let bar = (3.0 * robust_deviation(residuals).unwrap_or(0.0)).clamp(FLAT.ln(), 0.25);
        let mut first = change;
        while first > 2 && self.logs[first - 1] - before > bar {
            first -= 1;
        }
        while first < (change + 2).min(self.logs.len() - 1) && self.logs[first] - before <= bar {
            first += 1;
        }
        let onset =
            Onset { first, from_rows: self.places[first - 1].table_rows, to_rows: self.places[first].table_rows };
        self.fallen(Shape::Step, onset, margin, residuals)
    }

    fn level_before(&self, first: usize) -> f64 {
        median(&self.logs[..first]).unwrap_or(0.0)
    }

    /// A bend or a step that has been found: whether it is one, and a cliff.
    fn fallen(&self, shape: Shape, onset: Onset, margin: f64, residuals: &[f64]) -> Decided {
        let first = onset.first;
        let (before, after) = (&self.logs[..first], &self.logs[first..]);
        let level = self.level_before(first);
        let end = median(&self.logs[self.logs.len().saturating_sub(3)..]).unwrap_or(level);
        let fallen = (end - level).exp();
        let steep = fallen >= STEEP;
        let decided = |cliff, remarks| Decided { shape, cliff, remarks, residuals: residuals.to_vec() };
        let scatter = robust_deviation(residuals).unwrap_or(0.0);
        let level_slope = FLAT.ln().max(0.25 * fallen.ln()) + 1.5 * scatter;
        // Not level before: a slope that gets steeper, or no start at all.
        if before.len() < if steep { 2 } else { 3 } || self.slope_before(first).ln() >= level_slope {
            return self.gradual(Vec::new());
        }
        if fallen < FLAT {
            return self.gradual(Vec::new());
        }
        let bar = level + self.factor.ln();
        let second_half = median(&after[after.len() / 2..]).unwrap_or(level);
        let slow = after.iter().filter(|&&log| log >= bar).count();
        let run = self.logs.iter().rev().take_while(|&&log| log >= bar).count();
        let lasting = second_half >= bar && end >= bar && slow >= if steep { 2 } else { 3 };
        let at = format!("between {} and {} rows", human_rows(onset.from_rows), human_rows(onset.to_rows));
        if !lasting {
            let remark = match run >= 1 && slow < 3 {
                true => format!(
                    "the cost rises {at}, and only {slow} of the batches after it are at least {} times slower: \
                     too few to be sure that it lasts; load more rows to see",
                    self.factor
                ),
                false => format!(
                    "the cost rises {at}, {fallen:.2} times so far, which is no lasting slowdown of {} times",
                    self.factor
                ),
            };
            return decided(None, vec![remark]);
        }
        let (confidence, mut why) = self.confidence(before.len(), slow, margin, fallen);
        let early = before.len() <= FIRST_BATCHES;
        let mut remarks = Vec::new();
        if early {
            remarks.push("the fall began in the first batches".to_owned());
            why.push(format!("only {} batches before it", before.len()));
        } else {
            why.push(format!("{} batches before it, level within their scatter", before.len()));
        }
        why.push(format!(
            "{slow} of the {} batches after it are at least {} times slower, {} the last {run}",
            after.len(),
            self.factor,
            if run == 1 { "among them" } else { "all of" },
        ));
        let quarter = &after[after.len() - (after.len() / 4).max(1)..];
        let quarter_before = &after[after.len() / 2..after.len() - quarter.len()];
        let still_falling = after.len() >= 8
            && median(quarter)
                .zip(median(quarter_before))
                .is_some_and(|(last, before)| last - before > (fallen.ln() * 0.08).max(0.05));
        let cliff = Cliff {
            shape,
            onset_from_rows: onset.from_rows,
            onset_to_rows: onset.to_rows,
            onset_batch: self.places[first].batch,
            before_seconds_per_million: level.exp(),
            after_seconds_per_million: end.exp(),
            still_falling,
            early,
            confidence,
            why,
        };
        decided(Some(cliff), remarks)
    }

    /// How much the cost changes before a fall, by a line through the places there.
    fn slope_before(&self, first: usize) -> f64 {
        let logs = &self.logs[..first];
        if first < 12 {
            // Theil and Sen: the median of the slopes of all pairs.
            let pairs = (0..first).flat_map(|a| (a + 1..first).map(move |b| (a, b)));
            let slopes: Vec<f64> = pairs.map(|(a, b)| (logs[b] - logs[a]) / (b - a) as f64).collect();
            return (median(&slopes).unwrap_or(0.0) * (first - 1) as f64).exp();
        }
        // The medians of the first and the last third: a line that a wild batch does not turn.
        let third = (first / 3).max(2);
        let (start, end) = (median(&self.logs[..third]), median(&self.logs[first - third..first]));
        let middle_to_middle = (first - third) as f64 / first as f64;
        start.zip(end).map_or(1.0, |(start, end)| ((end - start) / middle_to_middle).exp())
    }

    fn confidence(&self, before: usize, slow: usize, margin: f64, fallen: f64) -> (Confidence, Vec<String>) {
        let ratio = self.simple.deviation.max(FINEST)
            / self
                .levels
                .deviation
                .min(self.onset.as_ref().map_or(f64::INFINITY, |onset| onset.fit.deviation))
                .max(FINEST);
        let why = vec![format!("a gradual change would leave {ratio:.1} times the deviation")];
        let steep = fallen >= STEEP;
        let few = before < 3
            || slow < 3
            || !steep && margin < 1.5 * MARGIN
            || self.logs.len() < ENOUGH && fallen < 2.0 * STEEP;
        let many = before >= 4 && slow >= 6 && margin >= 20.0 && fallen >= 1.2 * self.factor;
        let confidence = match (few, many) {
            (true, _) => Confidence::Low,
            (_, true) => Confidence::High,
            _ => Confidence::Medium,
        };
        (confidence, why)
    }
}

/// See the module's documentation. The lower, the better.
fn score(deviation: f64, parameters: usize, effective: f64) -> f64 {
    2.0 * effective * deviation.max(FINEST).ln() + parameters as f64 * effective.max(2.0).ln()
}
