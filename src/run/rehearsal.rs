//! The trial of a cell, before anything is timed: what the target says of it, then its table with a few rows, all of it taken back.
//!
//! `run` and `check` judge a cell here and nowhere else.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::stop::Firing;
use super::warden::{How, Warden};
use super::{Reporter, disk, mark, table_name, trial};
use crate::error::Error;
use crate::plan::{CurvePlan, Plan};
use crate::targets::{Failure, FailureKind, Purpose, TableOrder, Target, Verdict};

/// What every trial of a run needs.
pub struct Trial<'a> {
    pub plan: &'a Plan,
    /// The run, which names its tables.
    pub run_id: &'a str,
    pub directory: &'a Path,
    /// Where tables that are no server's will be: the run's directory, also where the trial is made elsewhere.
    pub data_home: &'a Path,
    /// Bytes of the tables that will be kept beside this one.
    pub kept_bytes: u64,
    pub warden: &'a mut Warden,
    /// Who is told what is waited for.
    pub reporter: &'a mut dyn Reporter,
}

/// What became of a trial.
#[derive(Debug, Clone)]
pub struct Tried {
    /// Whether the cell can be run.
    pub verdict: Verdict,
    /// Probes that cannot be run, with the reason.
    pub left_out: BTreeMap<String, String>,
    /// The disk that its table will take; `None` where that is not known.
    pub estimated_bytes: Option<u64>,
    /// The limit that ended it.
    pub stopped: Option<Firing>,
    /// The table that it may have left behind.
    pub left: Option<String>,
}

impl From<Verdict> for Tried {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, left_out: BTreeMap::new(), estimated_bytes: None, stopped: None, left: None }
    }
}

/// What can be said of a cell by reading alone.
///
/// # Errors
/// The target cannot be reached.
pub fn judge(
    plan: &Plan,
    curve: &CurvePlan,
    target: &mut dyn Target,
    unreachable: Option<&String>,
) -> Result<Verdict, Error> {
    match settled(curve, unreachable) {
        Some(verdict) => Ok(verdict),
        None => Ok(noted(plan, curve, target.judge(curve)?)),
    }
}

/// What is known without asking the target.
fn settled(curve: &CurvePlan, unreachable: Option<&String>) -> Option<Verdict> {
    let unable = curve.unable.as_ref().map(|why| Verdict::Unable { why: why.clone() });
    unable.or_else(|| unreachable.map(|why| Verdict::Prevented { why: why.clone() }))
}

/// With what the plan has to say of the cell.
fn noted(plan: &Plan, curve: &CurvePlan, verdict: Verdict) -> Verdict {
    let Verdict::Runs { mut notes } = verdict else { return verdict };
    notes.extend(plan.table_note(&curve.cell));
    notes.extend(curve.cell.cache_note());
    notes.extend(curve.cell.resume_note());
    Verdict::Runs { notes }
}

impl Trial<'_> {
    /// Judges a cell, and tries it where nothing speaks against it.
    ///
    /// # Errors
    /// The target cannot be reached.
    pub fn cell(
        &mut self,
        curve: &CurvePlan,
        target: &mut dyn Target,
        unreachable: Option<&String>,
    ) -> Result<Tried, Error> {
        if let Some(verdict) = settled(curve, unreachable) {
            return Ok(verdict.into());
        }
        self.warden.begin(target.reins(), Duration::ZERO);
        let what = format!("the trial of {}", curve.name);
        let judged = self.warden.wait(self.reporter, (&what, How::Work), || Ok(target.judge(curve)));
        let tried = match judged {
            Err(ended) => verdict(&ended).into(),
            Ok(judged) => match noted(self.plan, curve, judged?) {
                Verdict::Runs { notes } => {
                    let tried = self.rehearse(curve, target, &what);
                    Tried { verdict: with_notes(tried.verdict, notes), ..tried }
                }
                other => other.into(),
            },
        };
        let stopped = self.warden.take_rule();
        self.warden.finish();
        Ok(Tried { stopped, ..tried })
    }

    /// Tries a cell for real: the settings are set and read back, the table is created, one statement is sent and
    /// read back, all of it is taken back.
    fn rehearse(&mut self, curve: &CurvePlan, target: &mut dyn Target, what: &str) -> Tried {
        let table = table_name(self.run_id, curve.number);
        let mark = mark(self.run_id, curve.number);
        let order = TableOrder {
            curve,
            table: &table,
            mark: &mark,
            schema: self.plan.schema_text(curve.cell.target),
            directory: self.directory,
            purpose: Purpose::Trial,
        };
        let opened = self.warden.wait(self.reporter, (what, How::Work), || target.open(&order));
        let mut opened = match opened {
            Ok(opened) => opened,
            Err(failure) => {
                // Ended in the middle, it may have been made.
                let left = matches!(failure.kind, FailureKind::Cancelled | FailureKind::Lost).then_some(table);
                return Tried { left, ..verdict(&failure).into() };
            }
        };
        let estimate = disk::estimate(self.plan, &order, opened.facts());
        let place = opened.facts().data_directory.clone();
        let plan = self.plan;
        let tried = self.warden.on_table(self.reporter, opened.as_mut(), (what, How::Work), |table| {
            trial::try_statement(plan, curve, table)
        });
        let close = ("closing the table of a trial", How::Closing);
        // One that does not answer is asked for nothing that could wait.
        let keep = self.warden.is_silent();
        let closed = self.warden.on_table(self.reporter, opened.as_mut(), close, |table| table.close(keep));
        let left = (keep || closed.is_err()).then_some(table);
        match tried.and_then(|left_out| closed.map(|()| left_out)) {
            Ok(left_out) => {
                let home = disk::home(plan, curve.cell.target, place, self.data_home);
                let space = home.map(|home| disk::Space::of(&home).without(self.kept_bytes));
                let verdict = disk::verdict(&plan.stop, curve, estimate, space.as_ref());
                Tried { left_out, estimated_bytes: estimate.map(|estimate| estimate.bytes), left, ..verdict.into() }
            }
            Err(failure) => Tried { left, ..verdict(&failure).into() },
        }
    }
}

/// Whether a failure at the trial of a cell lies in the engine or in the environment.
fn verdict(failure: &Failure) -> Verdict {
    match failure.kind {
        FailureKind::Unable => Verdict::Unable { why: failure.to_string() },
        _ => Verdict::Prevented { why: failure.to_string() },
    }
}

fn with_notes(verdict: Verdict, mut first: Vec<String>) -> Verdict {
    match verdict {
        Verdict::Runs { notes } => {
            first.extend(notes);
            Verdict::Runs { notes: first }
        }
        other => other,
    }
}
