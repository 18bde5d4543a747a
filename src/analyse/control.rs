//! What a control batch says: one batch into a fresh side table, under the settings of a curve that has just ended.

use crate::record::run::ControlBatch;

/// A slowdown of the curve below this leaves nothing to explain.
const NOTHING: f64 = 1.5;

/// What the control batch speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlVerdict {
    /// As fast as the curve was at first: the size of the table made it slow.
    TableSize,
    /// As slow as the curve at its end: the environment, or the state of the server, made it slow.
    Environment,
    /// Between the two: both may have a part.
    Both,
    /// The curve was not slow at its end, and the fresh table is not either.
    NothingToExplain,
    /// Slower than the curve ever was.
    Changed,
    /// The first batch of the curve was as slow as its end: what a fresh table costs says nothing about its size.
    Unclear,
}

impl ControlVerdict {
    /// The word for machines.
    pub fn word(self) -> &'static str {
        match self {
            Self::TableSize => "table-size",
            Self::Environment => "environment",
            Self::Both => "both",
            Self::NothingToExplain => "nothing-to-explain",
            Self::Changed => "changed",
            Self::Unclear => "unclear",
        }
    }

    /// What it means, in a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::TableSize => {
                "a fresh table is fast under the same settings: the slowdown goes with the size of the table"
            }
            Self::Environment => {
                "a fresh table is slow, too: the slowdown lies in the environment or the state of the server, not in the size of \
                 the table"
            }
            Self::Both => {
                "a fresh table is slower than the curve was at first, and faster than it is now: both may have a part"
            }
            Self::NothingToExplain => {
                "the curve was not slow at its end, and a fresh table is as it was: nothing to explain"
            }
            Self::Changed => {
                "a fresh table is slower than the curve was at first and at its end: something else than the size of the table has \
                 changed"
            }
            Self::Unclear => {
                "the curve's own first batch was as slow as its end, so a fresh table cannot tell one from the other"
            }
        }
    }
}

/// Seconds per million rows of a control batch; `None` where it did not come to its end.
pub fn control_cost(control: &ControlBatch) -> Option<f64> {
    let seconds = control.seconds.filter(|seconds| *seconds > 0.0)?;
    (control.rows > 0).then(|| seconds * 1e6 / control.rows as f64)
}

/// Compares the cost of a control batch with the baseline, the first batch (where it has a usable figure) and the end level of its
/// curve, all in seconds per million rows.
///
/// A fresh table pays for being fresh (a new file, an empty cache), as the curve did with its own first batch: it is measured
/// against the slower one of baseline and first batch. On a scale of factors, the lowest third of the way from there to the end
/// level counts as fast, the highest as slow.
pub fn control_verdict(control: f64, baseline: f64, first: Option<f64>, end: f64) -> ControlVerdict {
    let fresh = first.map_or(baseline, |first| first.max(baseline));
    if control >= NOTHING * fresh.max(end) {
        return ControlVerdict::Changed;
    }
    if end < NOTHING * baseline {
        return ControlVerdict::NothingToExplain;
    }
    if end < NOTHING * fresh {
        return ControlVerdict::Unclear;
    }
    match (control / fresh).ln() / (end / fresh).ln() {
        share if share <= 1.0 / 3.0 => ControlVerdict::TableSize,
        share if share >= 2.0 / 3.0 => ControlVerdict::Environment,
        _ => ControlVerdict::Both,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_is_table_size_and_slow_is_environment() {
        use ControlVerdict::{Both, Changed, Environment, NothingToExplain, TableSize, Unclear};
        assert_eq!(control_verdict(5.2, 5.0, None, 20.0), TableSize);
        assert_eq!(control_verdict(19.0, 5.0, None, 20.0), Environment);
        assert_eq!(control_verdict(10.0, 5.0, None, 20.0), Both);
        assert_eq!(control_verdict(5.5, 5.0, None, 5.2), NothingToExplain);
        assert_eq!(control_verdict(50.0, 5.0, None, 5.2), Changed);
        // A first batch that was slow for being the first makes a control batch of the same cost a fast one.
        assert_eq!(control_verdict(9.0, 5.0, Some(9.0), 40.0), TableSize);
        assert_eq!(control_verdict(9.0, 5.0, Some(9.0), 5.0), NothingToExplain);
        assert_eq!(control_verdict(15.0, 5.0, Some(18.0), 20.0), Unclear);
    }

    #[test]
    fn a_control_batch_that_failed_has_no_cost() {
        let done = ControlBatch { rows: 500_000, seconds: Some(2.0), ..ControlBatch::default() };
        assert_eq!(control_cost(&done), Some(4.0));
        assert_eq!(control_cost(&ControlBatch { rows: 500_000, seconds: None, ..done }), None);
    }
}
