//! `--fail-on-slowdown`: what the factors of the curves come to for a script.

use crate::analyse::factor::LEAST_JUDGED;
use crate::error::exit;
use crate::render::cliffs::Judged;

/// What became of the curves that were held against a factor.
#[derive(Debug, Default, PartialEq)]
pub struct Gate {
    /// What there is to say, a line each.
    pub lines: Vec<String>,
    /// Whether a curve is certainly slower at its end than that many times its baseline.
    pub is_slower: bool,
    /// Whether a curve is too short to be judged.
    pub is_open: bool,
}

impl Gate {
    /// Holds the curves against `bar`, where one was given.
    pub fn of(judged: &[Judged<'_>], bar: Option<f64>) -> Self {
        let mut gate = Self::default();
        let Some(bar) = bar else { return gate };
        for one in judged {
            let factor = &one.reading.factor;
            let (Some(value), Some((low, high))) = (factor.value, factor.interval) else {
                gate.is_open = true;
                gate.lines.push(format!(
                    "{}: not judged by --fail-on-slowdown {bar}: it takes {LEAST_JUDGED} usable batches, and there are {}; smaller \
                     batches or more rows give more",
                    one.name, factor.batches
                ));
                continue;
            };
            if factor.is_above(bar) == Some(true) {
                gate.is_slower = true;
                gate.lines.push(format!(
                    "{}: {value:.2} times slower at its end than its baseline (90% interval {low:.2} to {high:.2}): above \
                     --fail-on-slowdown {bar}",
                    one.name
                ));
            }
        }
        gate
    }

    /// The exit code of a command that would end with `exit`: whatever went wrong, or was stopped, comes first. With `strict`, a curve
    /// that cannot be judged is a failure.
    pub fn exit(&self, exit: u8, strict: bool) -> u8 {
        match exit {
            exit::OK | exit::STOPPED | exit::CLIFF if strict && self.is_open => exit::FAILED,
            exit::OK if self.is_slower => exit::CLIFF,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_and_stops_come_first_and_strict_makes_an_open_curve_one() {
        let gate = |is_slower, is_open| Gate { lines: Vec::new(), is_slower, is_open };
        assert_eq!(gate(true, false).exit(exit::OK, true), exit::CLIFF);
        for first in [exit::INTERRUPTED, exit::FAILED, exit::STOPPED] {
            assert_eq!(gate(true, true).exit(first, false), first);
        }
        assert_eq!(gate(false, true).exit(exit::OK, false), exit::OK);
        assert_eq!(gate(true, true).exit(exit::OK, false), exit::CLIFF);
        assert_eq!(gate(true, true).exit(exit::OK, true), exit::FAILED);
        assert_eq!(gate(true, true).exit(exit::INTERRUPTED, true), exit::INTERRUPTED);
        assert_eq!(gate(false, false).exit(exit::STOPPED, true), exit::STOPPED);
    }
}
