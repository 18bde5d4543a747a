//! Rhythms: every k-th batch is slow, as when every third one carries a checkpoint.
//!
//! A rhythm is a period of 2 to 10 batches in which one or two are slow, again and again. It is looked for by batch number and
//! not by place in the list, so that batches that were left out do not shift it. Each batch is set against its nearest neighbours
//! that are not among the slow ones of the period that is tried: that takes out slopes, bends and steps, and a comb does not raise
//! the bar it is measured by. All on the logarithm of the cost, with medians, so that a few wild batches decide nothing.

use super::median;
use super::noise::robust_deviation;
use super::reading::Place;

/// The longest period. Longer waves are a sawtooth.
pub const LONGEST: u64 = 10;
/// The least that the slow batches cost, as a multiple of the others.
pub const LEAST_FACTOR: f64 = 1.3;
/// Periods that a rhythm needs.
pub const LEAST_PERIODS: usize = 4;
/// The part of the curve that it needs, one in so many batches: in a long curve, four batches align by chance.
const LEAST_PART: usize = 8;
/// A longer period than the shortest one that fits has to cover so many times as many batches.
const MUCH_MORE: f64 = 1.5;
/// Neighbours on each side that a batch is set against.
const NEIGHBOURS: usize = 2;
/// Share of the other batches that may stand out, too, and how many may in any case.
const MOST_WILD: (f64, usize) = (0.15, 2);
/// Standard errors by which the slow batches have to lie above the others: noise alone makes teeth, too.
const CERTAIN: f64 = 5.0;
/// Batches of the same phase whose median is the height of a slow one: heights may change as the table grows.
const HEIGHTS: usize = 5;

/// A fixed period in which one or two batches are slow.
#[derive(Debug, Clone, PartialEq)]
pub struct Rhythm {
    /// Batches from one slow one to the same of the next period.
    pub period: u64,
    /// The remainders of the numbers of the slow batches when divided by the period.
    pub phases: Vec<u64>,
    /// The first slow batch.
    pub from_batch: u64,
    /// The last slow batch.
    pub to_batch: u64,
    /// The batch with which the curve begins, of those that were judged.
    first_of_curve: u64,
    /// The batch with which the curve ends, of those that were judged.
    last_of_curve: u64,
    /// Rows in the table after the batch before the first slow one.
    pub from_rows: u64,
    /// Rows in the table after the last slow batch.
    pub to_rows: u64,
    /// What slow batches cost, as a multiple of the others: the median.
    pub factor: f64,
    /// The slow batches with their height in log cost.
    heights: Vec<(u64, f64)>,
}

impl Rhythm {
    pub fn slow_batches(&self) -> impl Iterator<Item = u64> {
        self.heights.iter().map(|&(batch, _)| batch)
    }

    /// Whether the batch is a slow one of the rhythm.
    pub fn is_slow(&self, batch: u64) -> bool {
        self.height(batch).is_some()
    }

    /// Whether the rhythm was going on when the batch was loaded.
    pub fn covers(&self, batch: u64) -> bool {
        batch + self.period > self.from_batch && batch < self.to_batch + self.period
    }

    /// Whether it begins with the curve.
    pub fn from_the_start(&self) -> bool {
        self.covers(self.first_of_curve)
    }

    /// Whether it still goes on at the end of the curve.
    pub fn to_the_end(&self) -> bool {
        self.covers(self.last_of_curve)
    }

    fn height(&self, batch: u64) -> Option<f64> {
        let at = self.heights.binary_search_by_key(&batch, |&(slow, _)| slow).ok()?;
        Some(self.heights[at].1)
    }

    /// The cost that a batch would have had without the rhythm.
    pub fn taken_out_of(&self, batch: u64, cost: f64) -> f64 {
        cost / self.height(batch).map_or(1.0, f64::exp)
    }

    /// The same places without the rhythm: what the shape of a curve is judged on.
    pub fn without(&self, places: &[Place]) -> Vec<Place> {
        let flattened = |place: &Place| Place {
            seconds_per_million: self.taken_out_of(place.batch, place.seconds_per_million),
            ..*place
        };
        places.iter().map(flattened).collect()
    }

    /// `every 3rd batch costs 1.7 times the others`, with where it begins and ends when that is not where the curve does.
    pub fn sentence(&self) -> String {
        let which = match (self.phases.len() as u64, self.period) {
            (1, 2) => "every other batch".to_owned(),
            (1, period) => format!("every {period}{} batch", ending(period)),
            (slow, period) => format!("{slow} of every {period} batches"),
        };
        let verb = if self.phases.len() == 1 { "costs" } else { "cost" };
        let others = if self.period as usize - self.phases.len() == 1 && self.period > 2 { "other" } else { "others" };
        let rows = crate::units::human_rows;
        let part = match (self.from_the_start(), self.to_the_end()) {
            (true, true) => String::new(),
            (false, true) => format!(", from {} rows on", rows(self.from_rows)),
            (true, false) => format!(", up to {} rows", rows(self.to_rows)),
            (false, false) => format!(", between {} and {} rows", rows(self.from_rows), rows(self.to_rows)),
        };
        format!("{which} {verb} {:.1} times the {others}{part}", self.factor)
    }
}

fn ending(number: u64) -> &'static str {
    match number {
        2 => "nd",
        3 => "rd",
        _ => "th",
    }
}

/// The rhythm of a curve, from its places in the order of their batches; `None` where there is none.
///
/// The shortest period that fits is the period: one of 3 is not one of 6.
pub fn rhythm(places: &[Place]) -> Option<Rhythm> {
    if places.len() < 2 * LEAST_PERIODS || !places.windows(2).all(|pair| pair[0].batch < pair[1].batch) {
        return None;
    }
    let points: Vec<(u64, f64)> = places.iter().map(|place| (place.batch, place.seconds_per_million.ln())).collect();
    let mut best: Option<Found> = None;
    for period in 2..=LONGEST {
        let of_period = choices(period).filter_map(|phases| Comb::new(&points, period, phases).longest());
        let Some(found) = of_period.max_by(|a, b| {
            (a.covered, a.height).partial_cmp(&(b.covered, b.height)).unwrap_or(std::cmp::Ordering::Equal)
        }) else {
            continue;
        };
        if best.as_ref().is_none_or(|best| found.covered as f64 >= MUCH_MORE * best.covered as f64) {
            best = Some(found);
        }
    }
    best.map(|found| found.told(places))
}

/// The phases that may be slow: each alone, and each two that leave another one.
fn choices(period: u64) -> impl Iterator<Item = Vec<u64>> {
    let pairs = (0..period).flat_map(move |a| (a + 1..period).map(move |b| vec![a, b])).filter(move |_| period > 2);
    (0..period).map(|a| vec![a]).chain(pairs)
}

/// A period and its slow phases, tried on a series.
struct Comb<'a> {
    points: &'a [(u64, f64)],
    period: u64,
    phases: Vec<u64>,
    /// What each batch lies above its neighbours that are not slow; not a number where it has none.
    above: Vec<f64>,
    /// Standard deviation of that, of the batches that are not slow.
    deviation: f64,
}

/// What a batch is set against: the levels of the nearest others on its left and on its right.
struct Around {
    own: f64,
    left: Option<f64>,
    right: Option<f64>,
    both: Option<f64>,
}

impl Around {
    fn of(points: &[(u64, f64)], at: usize, others: &[usize]) -> Self {
        let before = others.partition_point(|&other| other < at);
        let after = others.partition_point(|&other| other <= at);
        let logs = |near: &[usize]| near.iter().map(|&other| points[other].1).collect::<Vec<f64>>();
        let left = logs(&others[before.saturating_sub(NEIGHBOURS)..before]);
        let right = logs(&others[after..(after + NEIGHBOURS).min(others.len())]);
        let both = [left.as_slice(), right.as_slice()].concat();
        Self { own: points[at].1, left: median(&left), right: median(&right), both: median(&both) }
    }

    /// How far the batch lies above them. Where they differ as much as a rhythm does, that of the side by which it is nearer to what
    /// is expected.
    fn above(&self, expected: Option<f64>) -> f64 {
        let over = |level: f64| self.own - level;
        let sides = self.left.zip(self.right).filter(|(left, right)| (left - right).abs() > LEAST_FACTOR.ln());
        match (sides, expected, self.both) {
            (Some((left, right)), Some(expected), _) => {
                let far = |above: f64| (above - expected).abs();
                if far(over(left)) < far(over(right)) { over(left) } else { over(right) }
            }
            (_, _, Some(both)) => over(both),
            _ => f64::NAN,
        }
    }
}

/// A rhythm that fits.
struct Found {
    period: u64,
    phases: Vec<u64>,
    /// Places of the slow batches, with what each lies above its neighbours.
    slow: Vec<(usize, f64)>,
    height: f64,
    /// Batches from the first slow one to the last, and the rest of that period.
    covered: u64,
}

impl<'a> Comb<'a> {
    fn new(points: &'a [(u64, f64)], period: u64, phases: Vec<u64>) -> Self {
        let mut comb = Self { points, period, phases, above: Vec::new(), deviation: 0.0 };
        let (slow, others): (Vec<usize>, Vec<usize>) = (0..points.len()).partition(|&at| comb.is_slow(at));
        let around: Vec<Around> = (0..points.len()).map(|at| Around::of(points, at, &others)).collect();
        comb.above = around.iter().map(|around| around.above(None)).collect();
        let usual: Vec<f64> = slow.iter().map(|&at| comb.above[at]).filter(|above| above.is_finite()).collect();
        let usual = median(&usual).unwrap_or(0.0);
        // Where the curve itself goes from one level to another, a batch belongs to one of the two.
        let expected = |at: usize| if comb.is_slow(at) { usual } else { 0.0 };
        comb.above = (0..points.len()).map(|at| around[at].above(Some(expected(at)))).collect();
        let of_others: Vec<f64> = others.iter().map(|&at| comb.above[at]).filter(|above| above.is_finite()).collect();
        comb.deviation = robust_deviation(&of_others).unwrap_or(0.0);
        comb
    }

    fn is_slow(&self, at: usize) -> bool {
        self.phases.contains(&(self.points[at].0 % self.period))
    }

    /// The longest stretch in which nearly every slow phase is slow and nearly nothing else is.
    fn longest(&self) -> Option<Found> {
        let slow: Vec<(usize, f64)> = (0..self.points.len())
            .filter(|&at| self.is_slow(at) && self.above[at].is_finite())
            .map(|at| (at, self.above[at]))
            .collect();
        let slow = stretch(&slow, LEAST_FACTOR.ln() / 2.0);
        let height = median(&slow.iter().map(|&(_, above)| above).collect::<Vec<_>>())?;
        let covered = self.points[slow.last()?.0].0 - self.points[slow.first()?.0].0 + self.period;
        let is_long = covered as usize * LEAST_PART >= self.points.len();
        let is_certain = height >= CERTAIN * self.deviation / (slow.len() as f64).sqrt();
        (height >= LEAST_FACTOR.ln()
            && is_long
            && is_certain
            && self.slow_are_slow(slow, height)
            && self.others_are_not(slow, height))
        .then(|| Found { period: self.period, phases: self.phases.clone(), slow: slow.to_vec(), height, covered })
    }

    /// Four of each phase at least, and of many one in eight may be missing.
    fn slow_are_slow(&self, slow: &[(usize, f64)], height: f64) -> bool {
        self.phases.iter().all(|&phase| {
            let of_phase = || slow.iter().filter(|&&(at, _)| self.points[at].0 % self.period == phase);
            let hits = of_phase().filter(|&&(_, above)| above >= height / 2.0).count();
            let missing = of_phase().count() - hits;
            hits >= LEAST_PERIODS && missing <= (hits / 8).max(1)
        })
    }

    /// The other phases lie on one level, and hardly one of their batches is far from it: a tooth that rises by and by does.
    fn others_are_not(&self, slow: &[(usize, f64)], height: f64) -> bool {
        let ends = slow.first().zip(slow.last()).map(|(first, last)| (self.points[first.0].0, self.points[last.0].0));
        let Some((first, last)) = ends else { return false };
        let inside = |at: &usize| {
            let batch = self.points[*at].0;
            batch + self.period > first && batch < last + self.period && !self.is_slow(*at)
        };
        let others: Vec<(u64, f64)> = (0..self.points.len())
            .filter(inside)
            .filter(|&at| self.above[at].is_finite())
            .map(|at| (self.points[at].0 % self.period, self.above[at]))
            .collect();
        let wild = others.iter().filter(|&&(_, above)| above.abs() > height / 2.0).count();
        let allowed = (MOST_WILD.0 * others.len() as f64).max(MOST_WILD.1 as f64);
        wild as f64 <= allowed
            && (0..self.period).filter(|phase| !self.phases.contains(phase)).all(|phase| {
                let of_phase: Vec<f64> =
                    others.iter().filter(|&&(other, _)| other == phase).map(|&(_, above)| above).collect();
                median(&of_phase).is_none_or(|above| above.abs() <= height / 2.0)
            })
    }
}

/// The stretch of slow phases with the most hits, where a miss takes back what three hits have given.
fn stretch(slow: &[(usize, f64)], bar: f64) -> &[(usize, f64)] {
    let (mut best, mut best_score) = (0..0, 0_i64);
    let (mut start, mut score) = (0, 0_i64);
    for (index, &(_, above)) in slow.iter().enumerate() {
        score += if above >= bar { 1 } else { -3 };
        if score <= 0 {
            (start, score) = (index + 1, 0);
        } else if score > best_score {
            (best, best_score) = (start..index + 1, score);
        }
    }
    &slow[best]
}

impl Found {
    fn told(self, places: &[Place]) -> Rhythm {
        let batch = |at: usize| places[at].batch;
        let (first, last) = (self.slow[0].0, self.slow[self.slow.len() - 1].0);
        let heights = (0..self.slow.len()).map(|index| (batch(self.slow[index].0), self.near_height(index, places)));
        Rhythm {
            period: self.period,
            from_batch: batch(first),
            to_batch: batch(last),
            first_of_curve: batch(0),
            last_of_curve: batch(places.len() - 1),
            from_rows: first.checked_sub(1).map_or(0, |before| places[before].table_rows),
            to_rows: places[last].table_rows,
            factor: self.height.exp(),
            heights: heights.collect(),
            phases: self.phases,
        }
    }

    /// The height of a slow batch: the median of it and the nearest ones of its phase.
    fn near_height(&self, index: usize, places: &[Place]) -> f64 {
        let phase = |at: usize| places[at].batch % self.period;
        let same: Vec<(usize, f64)> =
            self.slow.iter().filter(|&&(at, _)| phase(at) == phase(self.slow[index].0)).copied().collect();
        let own = same.partition_point(|&(at, _)| at < self.slow[index].0);
        let from = own.saturating_sub(HEIGHTS / 2).min(same.len().saturating_sub(HEIGHTS));
        let near: Vec<f64> = same[from..(from + HEIGHTS).min(same.len())].iter().map(|&(_, above)| above).collect();
        median(&near).unwrap_or(self.height)
    }
}

#[cfg(test)]
mod tests;
