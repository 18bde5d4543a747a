//! What happens in a run, as it happens, and who is told.

use std::time::Duration;

use super::{CurveRecord, ProbeLine, RunRecord, Sample};

/// What happens in a run, as it happens.
#[derive(Debug)]
pub enum Event<'a> {
    /// The plan is made and the matrix has been tried.
    Started {
        /// The record as it stands.
        record: &'a RunRecord,
        /// Where it is kept.
        directory: &'a std::path::Path,
    },
    /// Something a person should know, as a sentence.
    Note(&'a str),
    CurveStarted {
        curve: &'a CurveRecord,
        /// Batches it is to have.
        batches: u64,
    },
    /// A batch has been measured and saved.
    Batch {
        sample: &'a Sample,
        /// All samples of the curve so far, this one included.
        samples: &'a [Sample],
        /// Batches the curve is to have.
        batches: u64,
    },
    /// An iteration of a probe has been measured and saved.
    Probe { line: &'a ProbeLine },
    /// Something between batches takes its time.
    Waiting {
        /// What is waited for.
        what: &'a str,
        /// How long it has been.
        waited: Duration,
        /// What the target says it is doing, where it says that.
        doing: Option<&'a str>,
    },
    /// A curve has ended.
    CurveEnded { curve: &'a CurveRecord },
    /// The run has ended.
    Finished {
        /// The record as saved.
        record: &'a RunRecord,
    },
}

/// Takes the events of a run.
pub trait Reporter {
    fn report(&mut self, event: &Event<'_>);
}
