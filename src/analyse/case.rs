//! A curve on the table, described in every way, and which description is the best: see [`cliffs`](super::cliffs).

use super::cliffs::{ENOUGH, FLAT, MARGIN, STEEP};
use super::fits::{self, Fit};
use super::levels::{self, Levels};
use super::median;
use super::noise::{autocorrelation, effective_points, robust_deviation};
use super::reading::{Cliff, Confidence, Onset, Place};
use super::sentences;
use super::shape::Shape;

/// Deviations below this are all the same: nobody measures a batch better.
const FINEST: f64 = 0.01;
/// An onset below this share of the table is near the start ...
const EARLY_SHARE: f64 = 0.25;
/// ... and a gradual change must leave this many times the deviation for it to count.
const EARLY_RATIO: f64 = 1.35;
/// Batches before a fall, up to which it began in the first batches.
const FIRST_BATCHES: usize = 4;
/// Deviations within which a change is one of the scatter.
const WITHIN: f64 = 2.5;
/// The ends of a flat curve are no further apart, unless its scatter explains it.
const APART: f64 = 1.3;
/// Batches among which the quickest three are looked for.
const AT_FIRST: usize = 10;

/// A curve on the table, described in every way.
pub(super) struct Case<'a> {
    places: &'a [Place],
    logs: Vec<f64>,
    factor: f64,
    /// Independent points that say as much as the batches.
    pub(super) effective: f64,
    simple: Fit,
    constant: Fit,
    onset: Option<fits::OnsetFit>,
    levels: Levels,
}

/// What a curve is, with what there is to say of it.
pub(super) struct Decided {
    pub(super) shape: Shape,
    pub(super) cliff: Option<Cliff>,
    pub(super) onset: Option<Onset>,
    pub(super) remarks: Vec<String>,
    pub(super) residuals: Vec<f64>,
}

/// Where a fall begins: the first place of it, and the table sizes around.
#[derive(Clone, Copy)]
struct Fall {
    first: usize,
    onset: Onset,
}

impl Fall {
    fn new(first: usize, from_rows: u64, to_rows: u64) -> Self {
        Self { first, onset: Onset { from_rows, to_rows } }
    }
}

impl<'a> Case<'a> {
    pub(super) fn new(places: &'a [Place], factor: f64) -> Self {
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

    pub(super) fn decide(&self) -> Decided {
        let of = |fit: &Fit| score(fit.deviation, fit.form.parameters(), self.effective);
        let simple = of(&self.simple);
        let onset = self.onset.as_ref().map_or(f64::INFINITY, |onset| of(&onset.fit));
        let levels = score(self.levels.deviation, self.levels.parameters(), self.effective);
        if let Some((teeth, height)) = levels::sawtooth(&self.logs) {
            return self.as_constant(Shape::Sawtooth, vec![sentences::teeth(teeth, height)]);
        }
        let bar = simple - MARGIN;
        if levels < bar && levels < onset && self.levels.count() > 1 {
            return self.stepwise(simple - levels);
        }
        match &self.onset {
            Some(found) if onset < bar && self.is_no_slope(found) => self.bent(found, simple - onset),
            _ => self.gradual(),
        }
    }

    /// The curve as this shape, where it can be described so.
    pub(super) fn decide_as(&self, shape: Shape) -> Option<Decided> {
        let decided = match shape {
            Shape::Step | Shape::Recovered => self.stepwise(MARGIN),
            Shape::Bend => self.bent(self.onset.as_ref()?, MARGIN),
            Shape::Flat | Shape::Spike => self.as_constant(Shape::Flat, Vec::new()),
            Shape::Gradual => self.sloping(),
            Shape::Sawtooth | Shape::TwoLevels | Shape::TooShort => return None,
        };
        let is_it = decided.shape == shape || shape == Shape::Spike && decided.shape == Shape::Flat;
        is_it.then_some(decided)
    }

    fn as_constant(&self, shape: Shape, remarks: Vec<String>) -> Decided {
        Decided { shape, cliff: None, onset: None, remarks, residuals: self.constant.residuals.clone() }
    }

    fn sloping(&self) -> Decided {
        let residuals = self.simple.residuals.clone();
        Decided { shape: Shape::Gradual, cliff: None, onset: None, remarks: Vec::new(), residuals }
    }

    /// Near the start a line and a bend are nearly the same: there, a bend has to fit much better to be one.
    fn is_no_slope(&self, found: &fits::OnsetFit) -> bool {
        let ratio = self.simple.deviation.max(FINEST) / found.fit.deviation.max(FINEST);
        found.onset >= EARLY_SHARE || ratio >= EARLY_RATIO
    }

    fn gradual(&self) -> Decided {
        let fit = &self.simple;
        let scatter = robust_deviation(&fit.residuals).unwrap_or(0.0);
        let within = FLAT.ln().max(WITHIN * scatter);
        // A curve whose ends are further apart than its scatter explains is not flat, wherever the line through it goes.
        match self.change(fit).ln().abs() < within && self.ends_apart() < within.max(APART.ln()) {
            true => self.as_constant(Shape::Flat, Vec::new()),
            false => self.sloping(),
        }
    }

    /// The median of the last three batches above that of the quickest three in a row at first, in log cost.
    fn ends_apart(&self) -> f64 {
        let first = &self.logs[..self.logs.len().min(AT_FIRST)];
        let quickest = first.windows(3).filter_map(median).fold(f64::INFINITY, f64::min);
        let end = median(&self.logs[self.logs.len().saturating_sub(3)..]).unwrap_or(quickest);
        if quickest.is_finite() { end - quickest } else { 0.0 }
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
        let from_rows = below(from).min(self.places[first - 1 - doubtful].table_rows);
        let to_rows = at_or_above(to).max(self.places[first].table_rows);
        self.fallen(Shape::Bend, Fall::new(first, from_rows, to_rows), margin, &found.fit.residuals)
    }

    fn stepwise(&self, margin: f64) -> Decided {
        let residuals = &self.levels.residuals;
        if let Some(episode) = self.levels.recovered() {
            let rows = |place: usize| place.checked_sub(1).map_or(0, |at| self.places[at].table_rows);
            let remark = sentences::came_back(rows(episode.from), rows(episode.to), episode.factor);
            let (remarks, residuals) = (vec![remark], residuals.clone());
            return Decided { shape: Shape::Recovered, cliff: None, onset: None, remarks, residuals };
        }
        let Some(change) = self.levels.onset() else {
            return self.gradual();
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
        let fall = Fall::new(first, self.places[first - 1].table_rows, self.places[first].table_rows);
        self.fallen(Shape::Step, fall, margin, residuals)
    }

    fn level_before(&self, first: usize) -> f64 {
        median(&self.logs[..first]).unwrap_or(0.0)
    }

    /// A bend or a step that has been found: whether it is one, and a cliff.
    fn fallen(&self, shape: Shape, fall: Fall, margin: f64, residuals: &[f64]) -> Decided {
        let first = fall.first;
        let (before, after) = (&self.logs[..first], &self.logs[first..]);
        let level = self.level_before(first);
        let end = median(&self.logs[self.logs.len().saturating_sub(3)..]).unwrap_or(level);
        let fallen = (end - level).exp();
        let steep = fallen >= STEEP;
        let scatter = robust_deviation(residuals).unwrap_or(0.0);
        let level_slope = FLAT.ln().max(0.25 * fallen.ln()) + 1.5 * scatter;
        // Not level before: a slope that gets steeper, or no start at all.
        let is_level = before.len() >= if steep { 2 } else { 3 } && self.slope_before(first).ln() < level_slope;
        if !is_level || fallen < FLAT {
            return self.gradual();
        }
        let bar = level + self.factor.ln();
        let slow = after.iter().filter(|&&log| log >= bar).count();
        let second_half = median(&after[after.len() / 2..]).unwrap_or(level);
        let lasting = second_half >= bar && end >= bar && slow >= if steep { 2 } else { 3 };
        let mut decided =
            Decided { shape, cliff: None, onset: Some(fall.onset), remarks: Vec::new(), residuals: residuals.to_vec() };
        if !lasting {
            let costs = (level.exp(), end.exp());
            let last = after.iter().rev().take_while(|&&log| log >= bar).count();
            decided.remarks.push(sentences::no_cliff(fall.onset, costs, self.factor, (slow, after.len(), last)));
            return decided;
        }
        let early = before.len() <= FIRST_BATCHES;
        if early {
            decided.remarks.push(sentences::EARLY.to_owned());
        }
        decided.cliff = Some(Cliff {
            shape,
            onset_from_rows: fall.onset.from_rows,
            onset_to_rows: fall.onset.to_rows,
            onset_batch: self.places[first].batch,
            before_seconds_per_million: level.exp(),
            after_seconds_per_million: end.exp(),
            still_falling: still_falling(after, fallen),
            early,
            confidence: self.most_confidence(before.len(), slow, margin, fallen),
            why: self.why(before.len(), after, bar, early),
        });
        decided
    }

    fn why(&self, before: usize, after: &[f64], bar: f64, early: bool) -> Vec<String> {
        let best = self.onset.as_ref().map_or(f64::INFINITY, |onset| onset.fit.deviation).min(self.levels.deviation);
        let ratio = self.simple.deviation.max(FINEST) / best.max(FINEST);
        let slow = after.iter().filter(|&&log| log >= bar).count();
        let last = after.iter().rev().take_while(|&&log| log >= bar).count();
        vec![
            sentences::gradual_leaves(ratio),
            sentences::before_it(before, early),
            sentences::after_it(slow, after.len(), last, self.factor),
        ]
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

    /// The most that so few batches can say, however often a copy of the curve falls, too.
    fn most_confidence(&self, before: usize, slow: usize, margin: f64, fallen: f64) -> Confidence {
        let steep = fallen >= STEEP;
        let few =
            before < 3 || slow < 3 || !steep && margin < MARGIN || self.logs.len() < ENOUGH && fallen < 2.0 * STEEP;
        match (few, before >= 4 && slow >= 5) {
            (true, _) => Confidence::Low,
            (_, true) => Confidence::High,
            _ => Confidence::Medium,
        }
    }
}

/// Whether the last quarter of the batches after a fall is slower than the one before it.
fn still_falling(after: &[f64], fallen: f64) -> bool {
    let quarter = &after[after.len() - (after.len() / 4).max(1)..];
    let quarter_before = &after[after.len() / 2..after.len() - quarter.len()];
    let least = (fallen.ln() * 0.08).max(0.05);
    after.len() >= 8 && median(quarter).zip(median(quarter_before)).is_some_and(|(last, before)| last - before > least)
}

/// See the module's documentation. The lower, the better.
fn score(deviation: f64, parameters: usize, effective: f64) -> f64 {
    2.0 * effective * deviation.max(FINEST).ln() + parameters as f64 * effective.max(2.0).ln()
}
