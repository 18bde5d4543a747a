//! One curve: open the table, load batch after batch, do the closing work, verify, close.

use std::sync::Arc;
use std::time::Duration;

use super::journal::Line;
use super::loading::load_batches;
use super::patience::patiently;
use super::resume::{self, Past, Start};
use super::workers::Crew;
use super::{Event, Runner, control_batch, endpoints, mark, table_name, verify};
use crate::error::Error;
use crate::load::{Encode, Fitted, Loader};
use crate::plan::CurvePlan;
use crate::record::{CurveRecord, Outcome, RunRecord};
use crate::rows::RowSource;
use crate::schema::Dialect;
use crate::target::{Failure, FailureKind, Purpose, ServerSessions, Session, Table, TableOrder};
use crate::units::human_seconds;

/// How long a cancelled statement may take to come back before its connection is given up.
pub const GRACE: Duration = Duration::from_secs(6);
/// How long a DROP TABLE and what belongs to it may take.
pub const CLOSE_LIMIT: Duration = Duration::from_secs(600);

/// Runs the curve at `index` of the plan, and writes what became of it into the record.
///
/// # Errors
/// Results cannot be saved. What goes wrong in the curve itself is its outcome.
pub fn run(runner: &mut Runner<'_>, record: &mut RunRecord, index: usize) -> Result<(), Error> {
    let plan = &runner.plan.curves[index];
    let entry = &mut record.curves[index];
    entry.outcome = Outcome::Running;
    entry.finished_at = None;
    let begun = runner.past.as_ref().is_some_and(|past| past.left_table(&plan.name));
    if !begun {
        entry.started_at = Some(runner.clock.wall());
        entry.table = Some(table_name(&runner.run_id, plan.number));
    }
    runner.directory.save(record)?;
    let entry = &mut record.curves[index];
    runner.reporter.report(&Event::CurveStarted { curve: entry, batches: plan.sizes.batches() });

    settle(runner, &mut record.curves[index], plan.cell.target);
    let ended = match open(runner, &mut record.curves[index], plan)? {
        Ok(Opened { table, start }) => load_table(runner, record, index, table, start),
        Err(failure) => {
            fail(&mut record.curves[index], &failure);
            Ok(())
        }
    };
    let entry = &mut record.curves[index];
    entry.finished_at = Some(runner.clock.wall());
    ended?;
    runner.directory.save(record)?;
    runner.reporter.report(&Event::CurveEnded { curve: &record.curves[index] });
    Ok(())
}

/// A table that is ready to be loaded, and where the load begins.
struct Opened {
    table: Box<dyn Table>,
    start: Start,
}

/// Makes the table of a curve, or finds the one that an earlier rowcliff left behind and brings it to its last boundary.
///
/// The inner error is the curve's: its table stays known where there may be one.
fn open(runner: &mut Runner<'_>, entry: &mut CurveRecord, plan: &CurvePlan) -> Result<Result<Opened, Failure>, Error> {
    let (table, mark) = (table_name(&runner.run_id, plan.number), mark(&runner.run_id, plan.number));
    let directory = runner.directory.path().to_owned();
    let order = TableOrder {
        curve: plan,
        table: &table,
        mark: &mark,
        schema: runner.plan.schema_text(plan.cell.target),
        directory: &directory,
        purpose: Purpose::Load,
    };
    let mut start = Start::default();
    if let Some(past) = runner.past.clone().filter(|past| past.left_table(&plan.name)) {
        let order = TableOrder { purpose: Purpose::GoOn, ..order };
        let found = match runner.targets[plan.cell.target].open(&order) {
            Ok(table) => go_on(runner, entry, plan, table, &past)?,
            Err(failure) => Err(failure),
        };
        let gone = match found {
            Ok(Some(ready)) => return Ok(Ok(ready)),
            Ok(None) => "nothing of it was recorded".to_owned(),
            Err(failure) if past.samples(&plan.name).is_empty() => failure.message,
            Err(failure) if failure.kind == FailureKind::Gone => {
                if !resume::may_start_again(runner.plan, plan, &past) {
                    let message = format!("{}; {}", failure.message, resume::START_AGAIN);
                    return Ok(Err(Failure { message, ..failure }));
                }
                failure.message
            }
            Err(failure) => return Ok(Err(failure)),
        };
        start = resume::start_again(runner, entry, plan, &gone)?;
    }
    Ok(match runner.targets[plan.cell.target].open(&order) {
        Ok(table) => Ok(Opened { table, start }),
        Err(failure) => {
            entry.table = None;
            Err(failure)
        }
    })
}

/// A table that was left behind, brought to its boundary. `None` when it held nothing that was recorded, and is gone now.
fn go_on(
    runner: &mut Runner<'_>,
    entry: &mut CurveRecord,
    plan: &CurvePlan,
    mut table: Box<dyn Table>,
    past: &Past,
) -> Result<Result<Option<Opened>, Failure>, Error> {
    let source = verify::row_source(runner.plan, plan, table.facts()).map_err(Failure::fatal);
    let brought = match source {
        Ok(source) => resume::bring_back(runner, entry, plan, table.as_mut(), &source)?,
        Err(failure) => Err(failure),
    };
    let drop = match &brought {
        Ok(_) => past.samples(&plan.name).is_empty(),
        Err(failure) => failure.kind == FailureKind::Gone && resume::may_start_again(runner.plan, plan, past),
    };
    if brought.is_ok() && !drop {
        return Ok(brought.map(|start| Some(Opened { table, start })));
    }
    let closed = patiently(table.as_mut(), &runner.interrupt, Some(CLOSE_LIMIT), "closing the table", |table| {
        table.close(!drop)
    });
    Ok(brought.and_then(|_| closed.map(|()| None)))
}

/// Waits until the target has done what the curves before left it to do, so that this one does not pay for it.
fn settle(runner: &mut Runner<'_>, entry: &mut CurveRecord, target: usize) {
    let limit = Duration::from_secs_f64(runner.plan.settle_seconds);
    let started = runner.clock.now();
    let interrupt = runner.interrupt.clone();
    let Some(settled) = runner.targets[target].settle(limit, &|| interrupt.is_asked()) else { return };
    let seconds = runner.clock.now().saturating_sub(started).as_secs_f64();
    entry.settle_seconds = Some(seconds);
    let waited = format!("waited {} for {}", human_seconds(seconds), settled.what);
    entry.notes.push(match &settled.gave_up {
        None => waited,
        Some(left) => {
            let note = format!("{waited} and gave up: {left}; this curve shares the server with that");
            runner.reporter.report(&Event::Note(&format!("{}: {note}", entry.curve)));
            note
        }
    });
}

fn load_table(
    runner: &mut Runner<'_>,
    record: &mut RunRecord,
    index: usize,
    mut table: Box<dyn Table>,
    start: Start,
) -> Result<(), Error> {
    let plan = &runner.plan.curves[index];
    let mut silent = false;
    let loaded = match prepare(runner, plan, table.as_mut(), plan.cell.sessions()) {
        Ok(mut ready) => {
            let line = sessions(plan, table.as_mut(), &ready.crew);
            runner.directory.note(&line)?;
            describe(&mut record.curves[index], table.as_ref(), &ready.fitted);
            runner.directory.save(record)?;
            let note = verify::note(&ready.source).filter(|_| runner.plan.verify_rows.is_some_and(|rows| rows > 0));
            let entry = &mut record.curves[index];
            entry.notes.extend(note.filter(|note| table.facts().limits.keeps_rows && !entry.notes.contains(note)));
            for note in &ready.fitted.notes {
                runner.reporter.report(&Event::Note(note));
            }
            let result = load_batches(runner, &mut record.curves[index], plan, table.as_mut(), &mut ready, start);
            let Ready { crew, source, .. } = ready;
            crew.dismiss(GRACE);
            endpoints::note(&mut record.curves[index], table.as_ref(), &*runner.clock);
            let entry = &mut record.curves[index];
            match result {
                Ok(ended) => {
                    entry.outcome = ended.outcome;
                    silent = ended.silent;
                    entry.cannot_go_on = ended.cannot_go_on;
                    if silent {
                        Ok(())
                    } else {
                        let controlled = control_batch::run(runner, record, index, table.as_mut());
                        finish(runner, plan, &mut record.curves[index], table.as_mut(), &source);
                        controlled
                    }
                }
                Err(error) => {
                    entry.outcome = Outcome::Failed { code: None, message: error.to_string() };
                    Err(error)
                }
            }
        }
        Err(failure) => {
            fail(&mut record.curves[index], &failure);
            Ok(())
        }
    };
    let entry = &mut record.curves[index];
    // A target that does not answer is asked for nothing that could wait: `clean` drops the table later.
    let keep = runner.plan.keep
        || silent
        || !matches!(entry.outcome, Outcome::Completed | Outcome::Stopped { .. } | Outcome::Full { .. });
    let closed =
        patiently(table.as_mut(), &runner.interrupt, Some(CLOSE_LIMIT), "closing the table", |table| table.close(keep));
    if let Err(failure) = closed {
        entry.notes.push(format!("closing the table: {failure}"));
        if matches!(entry.outcome, Outcome::Completed) {
            entry.outcome = failed(&failure);
        }
    } else if !keep {
        entry.table = None;
    }
    loaded
}

pub(super) fn loader(plan: &CurvePlan, table: &dyn Table, source: &Arc<RowSource>) -> Loader {
    let in_process = table.facts().dialect == Dialect::Sqlite;
    Loader::new(plan.cell.method, &table.facts().quoted_name, in_process, Arc::clone(source))
}

/// What a curve needs beside its table.
pub struct Ready {
    /// Its rows.
    pub source: Arc<RowSource>,
    /// Their encoding.
    pub encoder: Arc<dyn Encode>,
    /// The sizes really used.
    pub fitted: Fitted,
    /// The loading connections.
    pub crew: Crew,
}

/// Opens the connections of a curve: `connections` of them, of which those of its cell load.
pub(super) fn prepare(
    runner: &Runner<'_>,
    plan: &CurvePlan,
    table: &mut dyn Table,
    connections: u32,
) -> Result<Ready, Failure> {
    let source = Arc::new(verify::row_source(runner.plan, plan, table.facts()).map_err(Failure::fatal)?);
    let loader = loader(plan, table, &source);
    let fitted = loader.fit(plan.sizes, plan.cell.connections, table.facts().limits, runner.plan.window_bytes)?;
    let encoder: Arc<dyn Encode> = Arc::new(loader);
    let mut sessions: Vec<Box<dyn Session>> = Vec::new();
    for _ in 0..connections {
        sessions.push(table.connect()?);
    }
    let crew = Crew::start(sessions, plan.cell.connections as usize, &encoder, &runner.clock);
    Ok(Ready { source, encoder, fitted, crew })
}

fn describe(entry: &mut CurveRecord, table: &dyn Table, fitted: &Fitted) {
    let facts = table.facts();
    entry.create_table = Some(facts.create_table.clone());
    entry.flush_in_force = facts.flush_in_force.clone();
    entry.keeps_rows = Some(facts.limits.keeps_rows);
    entry.variables = facts.variables.clone();
    entry.statement_rows = fitted.statement_rows;
    entry.commit_rows = fitted.commit_rows;
    for note in facts.notes.iter().chain(&fitted.notes) {
        if !entry.notes.contains(note) {
            entry.notes.push(note.clone());
        }
    }
}

/// The line of the journal by which a later resume finds these sessions.
pub fn sessions(plan: &CurvePlan, table: &mut dyn Table, crew: &Crew) -> Line {
    // Without the server's start the numbers tell nothing, and nothing will be ended.
    let ids = crew.session_ids();
    let unknown = |ids| vec![ServerSessions { endpoint: None, server_started_at: None, ids }];
    Line::sessions(plan.number, table.server_sessions(&ids).unwrap_or_else(|_| unknown(ids)))
}

/// Ends a curve with a failure.
fn fail(entry: &mut CurveRecord, failure: &Failure) {
    entry.outcome = failed(failure);
    entry.cannot_go_on = failure.kind == FailureKind::Broken;
}

/// A failure as an outcome.
pub fn failed(failure: &Failure) -> Outcome {
    Outcome::Failed { code: failure.code, message: failure.message.clone() }
}

/// The end of a curve that loaded something: closing work, count, comparison.
fn finish(runner: &Runner<'_>, plan: &CurvePlan, entry: &mut CurveRecord, table: &mut dyn Table, source: &RowSource) {
    if !matches!(entry.outcome, Outcome::Completed | Outcome::Stopped { .. }) {
        return;
    }
    if let Some(partial) = &entry.partial {
        // Part of a batch is in the table: neither its size nor a checkpoint of it says anything.
        entry.notes.push(format!("not verified: batch {} was in flight", partial.batch));
        return;
    }
    let started = runner.clock.now();
    match patiently(table, &runner.interrupt, None, "the closing work", |table| table.closing_work()) {
        Ok(Some(what)) => {
            entry.closing_seconds = Some(runner.clock.now().saturating_sub(started).as_secs_f64());
            entry.notes.push(format!("closing work: {what}"));
        }
        Ok(None) => {}
        Err(failure) => entry.notes.push(format!("closing work: {failure}")),
    }
    let Some(verify_rows) = runner.plan.verify_rows else { return };
    let rows = entry.table_rows;
    let seed = runner.plan.seed;
    let batch_rows = plan.sizes.batch_rows;
    let checked = patiently(table, &runner.interrupt, None, "the verification", |table| {
        verify::table(table, source, rows, verify_rows, batch_rows, seed)
    });
    match checked {
        Ok(verification) => {
            endpoints::note(entry, table, &*runner.clock);
            if let Some(message) = endpoints::problem(&entry.endpoints, rows).or_else(|| verification.difference()) {
                // Rows that are not what was sent stay so. Rows that are not there may be loaded again, once.
                let is_whole = verification.counted_rows == Some(rows);
                entry.cannot_go_on = is_whole || !entry.resumptions.is_empty();
                entry.outcome = Outcome::Failed { code: None, message };
            }
            entry.verification = Some(verification);
        }
        Err(failure) if failure.kind == FailureKind::Cancelled => entry.outcome = Outcome::Interrupted,
        Err(failure) => {
            entry.outcome =
                Outcome::Failed { code: failure.code, message: format!("verification: {}", failure.message) };
        }
    }
}
