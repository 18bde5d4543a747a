//! What was measured, as plain data: the sample of a batch, the outcome of a curve, the record of a run.
//!
//! Names and numbers only. Nothing here knows a database, a flag or a clock, so that a file from last year
//! can be read by everything that analyses and draws.

pub mod detail;
pub mod event;
pub mod probe;
pub mod published;
pub mod run;
pub mod sample;
pub mod store;
#[cfg(test)]
pub(crate) mod test_support;

pub use detail::{CounterLine, SecondLine};
pub use probe::ProbeLine;
pub use published::PublishedLine;
pub use run::{CurveRecord, Environment, Outcome, RunRecord, RunState, Verification};
pub use sample::{STATEMENTS_OF_P99, Sample};
