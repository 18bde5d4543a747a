//! Slumps: stretches of slow batches between quicker ones, and what stands at the end of a curve.

use super::median;
use super::noise::step_deviation;

/// The cost above the level from which on a slump begins ...
const ENTERED: f64 = 1.5;
/// ... and up to which it is over.
const LEFT: f64 = 1.25;
/// Batches of a slump; a single one is a spike.
const SHORTEST: usize = 2;
/// Batches on either side that a slump is measured against.
const BESIDE: usize = 5;
/// Fewer batches than this have no level to slump from.
const FEWEST: usize = 8;
/// Deviations of a median of the slump's batches by which it must stand out.
const DEVIATIONS: f64 = 4.0;
/// An unfinished slump this many times as long as any before it, and ...
const LONGER: usize = 3;
/// ... at least one in so many batches of the curve, is a fall like any other.
const PART: usize = 3;

/// A stretch at another level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    pub from: usize,
    /// The place after its last one.
    pub to: usize,
    /// Its log cost above that of the batches beside it.
    pub height: f64,
    /// Its median log cost.
    pub log: f64,
}

/// What a curve did besides its course.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Slumps {
    /// Those that are over, at least one batch of the level after each.
    pub over: Vec<Stretch>,
    /// One that goes on at the end, at a level that was left before.
    pub again: Option<Stretch>,
    /// Whether the last slump was left with the very last batch.
    pub last_is_back: bool,
}

impl Slumps {
    /// Finds them in log costs ordered by table size.
    pub fn find(logs: &[f64]) -> Self {
        let mut found = Self::default();
        let Some(level) = level(logs) else { return found };
        let deviation = step_deviation(logs).unwrap_or(0.0);
        let mut open = None;
        for (from, to) in runs(logs, level) {
            let Some(stretch) = measured(logs, from, to, deviation) else { continue };
            match to == logs.len() {
                true => open = Some(stretch),
                false => found.over.push(stretch),
            }
        }
        found.last_is_back = found.over.last().is_some_and(|last| last.to + 1 == logs.len());
        found.again = open.filter(|open| found.was_left_before(open, logs.len()));
        found
    }

    fn was_left_before(&self, open: &Stretch, count: usize) -> bool {
        let length = open.to - open.from;
        let longest = self.over.iter().map(|slump| slump.to - slump.from).max().unwrap_or(0);
        let is_fall = length > LONGER * longest && length * PART >= count;
        !is_fall && self.over.iter().any(|slump| slump.log >= open.log - ENTERED.ln())
    }

    /// Whether the curve ends in the middle of something.
    pub fn is_open(&self) -> bool {
        self.again.is_some() || self.last_is_back
    }

    /// How often the cost went up.
    pub fn count(&self) -> usize {
        self.over.len() + usize::from(self.again.is_some())
    }

    /// Whether a place lies in one of them.
    pub fn holds(&self, place: usize) -> bool {
        self.over.iter().chain(&self.again).any(|slump| (slump.from..slump.to).contains(&place))
    }
}

/// The level of a curve that is quick more often than not, or was at first.
fn level(logs: &[f64]) -> Option<f64> {
    if logs.len() < FEWEST {
        return None;
    }
    Some(median(logs)?.min(median(&logs[..logs.len() / 3])?))
}

/// From a place that enters to the last one before the curve is back: batches on the way back are none of the slump.
fn runs(logs: &[f64], level: f64) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut from = None;
    for (at, log) in logs.iter().enumerate() {
        match from {
            None if log - level >= ENTERED.ln() => from = Some(at),
            Some(start) if log - level <= LEFT.ln() => {
                let slow = (start..at).rev().find(|&at| logs[at] - level >= ENTERED.ln()).unwrap_or(start);
                found.push((start, slow + 1));
                from = None;
            }
            _ => {}
        }
    }
    found.extend(from.map(|start| (start, logs.len())));
    found
}

/// A run that is long enough and stands out from the batches beside it.
fn measured(logs: &[f64], from: usize, to: usize, deviation: f64) -> Option<Stretch> {
    let (length, log) = (to - from, median(&logs[from..to])?);
    if length < SHORTEST || from < SHORTEST {
        return None;
    }
    let before = median(&logs[from.saturating_sub(BESIDE)..from])?;
    let after = median(&logs[to..(to + BESIDE).min(logs.len())]).unwrap_or(before);
    let height = log - before.max(after);
    let least = ENTERED.ln().max(DEVIATIONS * deviation / (length as f64).sqrt());
    (height >= least).then_some(Stretch { from, to, height: log - (before + after) / 2.0, log })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(pieces: &[(f64, usize)]) -> Vec<f64> {
        pieces.iter().flat_map(|&(rate, count)| std::iter::repeat_n((1e6 / rate).ln(), count)).collect()
    }

    fn over(pieces: &[(f64, usize)]) -> Vec<(usize, usize)> {
        Slumps::find(&logs(pieces)).over.iter().map(|slump| (slump.from, slump.to)).collect()
    }

    #[test]
    fn every_slump_is_found_with_its_true_ends() {
        for first in 2..=18 {
            for back in [2, 5, 8] {
                let found = over(&[(1e5, 18), (3e4, first), (1e5, 14), (3e4, 9), (1e5, back)]);
                assert_eq!(found, [(18, 18 + first), (32 + first, 41 + first)], "{first} {back}");
            }
        }
    }

    #[test]
    fn one_that_goes_on_is_told_from_one_that_is_left_with_the_last_batch() {
        for first in 2..=18 {
            let found = Slumps::find(&logs(&[(1e5, 18), (3e4, first), (1e5, 14), (3e4, 9)]));
            assert_eq!(found.again.map(|again| (again.from, again.to)), Some((32 + first, 41 + first)), "{first}");
            assert!(found.is_open() && !found.last_is_back);
            let found = Slumps::find(&logs(&[(1e5, 18), (3e4, first), (1e5, 14), (3e4, 9), (1e5, 1)]));
            assert!(found.last_is_back && found.again.is_none() && found.over.len() == 2, "{first}");
        }
        assert!(Slumps::find(&logs(&[(1e5, 30), (4e4, 3), (1e5, 1)])).last_is_back);
        assert!(Slumps::find(&logs(&[(1e5, 30), (4e4, 10), (1e5, 1)])).last_is_back);
    }

    #[test]
    fn a_fall_is_no_slump() {
        assert_eq!(Slumps::find(&logs(&[(1e5, 20), (3e4, 20)])), Slumps::default());
        // Deeper than what came back, or much longer: that level was never left.
        assert_eq!(Slumps::find(&logs(&[(1e5, 18), (6e4, 4), (1e5, 14), (1.5e4, 9)])).again, None);
        assert_eq!(Slumps::find(&logs(&[(1e5, 18), (3e4, 2), (1e5, 14), (3e4, 30)])).again, None);
        let line: Vec<f64> = (1..40).map(|at| f64::from(at).ln()).collect();
        assert_eq!(Slumps::find(&line), Slumps::default());
    }
}
