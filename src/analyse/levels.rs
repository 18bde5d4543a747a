//! The levels of a curve: its segments, and what they say when they are read from left to right.

use super::noise::step_deviation;
use super::segments::segments;
use super::{cliffs::FLAT, cliffs::STEEP, median};

/// Figures that one more segment fits: where it begins, and its level.
const PARAMETERS_EACH: usize = 2;
/// A change of level from which on it counts as up or down.
const CHANGE: f64 = 1.25;
/// A change from which on up and down again is a tooth.
const TOOTH: f64 = 1.5;
/// No change of level is so dear that half as much again for three batches could not pay for it.
const MOST_PENALTY: f64 = 1.2;

/// The levels of a curve, in log cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    /// First place of each segment.
    pub starts: Vec<usize>,
    /// Median of each segment.
    pub heights: Vec<f64>,
    /// What each place lies above its level.
    pub residuals: Vec<f64>,
    /// Mean absolute deviation from the levels.
    pub deviation: f64,
}

/// A stretch at another level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Episode {
    pub from: usize,
    /// The place after its last one.
    pub to: usize,
    /// Its cost divided by that before.
    pub factor: f64,
}

/// Cuts a curve into levels. `inflation` is how many batches say as much as one independent point.
///
/// Segments have three batches; two, where all segments of two differ from their neighbours by three times or more.
pub fn cut(logs: &[f64], inflation: f64) -> Levels {
    let spread = (0.8 * step_deviation(logs).unwrap_or(0.0)).max(0.01);
    let penalty = (spread * (logs.len().max(2) as f64).ln() * 1.5 * inflation).min(MOST_PENALTY);
    // Only next to a change of three times may a segment of two stand, and most curves have none.
    let steep = logs.windows(2).any(|pair| (pair[1] - pair[0]).abs() >= STEEP.ln() / 2.0);
    let short = steep.then(|| Levels::of(logs, segments(logs, penalty, 2))).filter(Levels::twos_are_steep);
    short.unwrap_or_else(|| Levels::of(logs, segments(logs, penalty, 3)))
}

impl Levels {
    fn of(logs: &[f64], starts: Vec<usize>) -> Self {
        let mut levels = Self { starts, heights: Vec::new(), residuals: Vec::new(), deviation: 0.0 };
        levels.measure(logs);
        levels.merge(logs);
        levels
    }

    fn measure(&mut self, logs: &[f64]) {
        self.heights =
            (0..self.starts.len()).map(|at| median(&logs[self.range(at, logs.len())]).unwrap_or(0.0)).collect();
        self.residuals = (0..self.starts.len())
            .flat_map(|at| logs[self.range(at, logs.len())].iter().map(move |log| (at, *log)))
            .map(|(at, log)| log - self.heights[at])
            .collect();
        self.deviation = self.residuals.iter().map(|value| value.abs()).sum::<f64>() / logs.len().max(1) as f64;
    }

    /// Neighbours that hardly differ are one level.
    fn merge(&mut self, logs: &[f64]) {
        loop {
            let steps = self.heights.windows(2).map(|pair| (pair[1] - pair[0]).abs()).enumerate();
            let Some((at, _)) = steps.filter(|&(_, step)| step < FLAT.ln()).min_by(|a, b| a.1.total_cmp(&b.1)) else {
                return;
            };
            self.starts.remove(at + 1);
            self.measure(logs);
        }
    }

    fn range(&self, at: usize, count: usize) -> std::ops::Range<usize> {
        self.starts[at]..self.starts.get(at + 1).copied().unwrap_or(count)
    }

    fn length(&self, at: usize) -> usize {
        self.range(at, self.residuals.len()).len()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Figures that were fitted.
    pub fn parameters(&self) -> usize {
        PARAMETERS_EACH * self.count() - 1
    }

    fn twos_are_steep(&self) -> bool {
        (0..self.count()).filter(|&at| self.length(at) == 2).all(|at| {
            let other = |index: Option<usize>| index.and_then(|index| self.heights.get(index));
            let neighbours = [other(at.checked_sub(1)), other(Some(at + 1))];
            neighbours.into_iter().flatten().all(|height| (height - self.heights[at]).abs() >= STEEP.ln())
        })
    }

    fn changes(&self) -> Vec<f64> {
        self.heights.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// A stretch that was slower by 1.5 times or more and is over.
    pub fn recovered(&self) -> Option<Episode> {
        let (first, last) = (*self.heights.first()?, *self.heights.last()?);
        let highest = (0..self.count()).max_by(|&a, &b| self.heights[a].total_cmp(&self.heights[b]))?;
        let peak = self.heights[highest] - first;
        if highest == 0
            || highest + 1 == self.count()
            || peak < 1.5_f64.ln()
            || last - first > CHANGE.ln().min(peak / 2.0)
        {
            return None;
        }
        let is_up = |at: usize| self.heights[at] - first >= CHANGE.ln();
        let from = (0..=highest).rev().take_while(|&at| is_up(at)).last()?;
        let to = (highest..self.count()).take_while(|&at| is_up(at)).last()? + 1;
        Some(Episode { from: self.starts[from], to: self.starts[to], factor: peak.exp() })
    }

    /// The first place of the fall: of the largest rise, and of the rises before it that belong to the same staircase.
    pub fn onset(&self) -> Option<usize> {
        let changes = self.changes();
        let largest = (0..changes.len()).max_by(|&a, &b| changes[a].total_cmp(&changes[b]))?;
        if changes[largest] < FLAT.ln() {
            return None;
        }
        let first = (0..=largest).rev().take_while(|&at| changes[at] >= CHANGE.ln() || at == largest).last()?;
        Some(self.starts[first + 1])
    }
}

/// How often the cost goes up by 1.5 times or more and comes back, and by how much, when it does so again and again.
///
/// The turning points of the medians of three neighbours are taken, and turns smaller than 1.5 times or three deviations from one
/// batch to the next are none. A curve whose last third is that much slower than its first is no sawtooth, whatever it did on the way.
pub fn sawtooth(logs: &[f64]) -> Option<(usize, f64)> {
    let least = TOOTH.ln().max(3.0 * step_deviation(logs).unwrap_or(0.0));
    let third = logs.len() / 3;
    let (start, end) = (median(&logs[..third])?, median(&logs[logs.len() - third..])?);
    if (end - start).abs() >= TOOTH.ln() {
        return None;
    }
    let smooth: Vec<f64> = logs.windows(3).filter_map(median).collect();
    let (mut ups, mut downs) = (Vec::new(), 0);
    // The extreme since the last turn, and which way the curve goes from that turn on.
    let (mut low, mut high) = (*smooth.first()?, *smooth.first()?);
    let mut rising: Option<bool> = None;
    for &log in &smooth {
        low = low.min(log);
        high = high.max(log);
        if rising != Some(true) && log - low >= least {
            rising = Some(true);
            high = log;
            ups.push(low);
        } else if rising != Some(false) && high - log >= least {
            if let (Some(true), Some(up)) = (rising, ups.last_mut()) {
                *up = high - *up;
                downs += 1;
            }
            rising = Some(false);
            low = log;
        }
    }
    (downs >= 2).then(|| (downs, median(&ups[..downs]).unwrap_or(0.0).exp()))
}
