//! One curve: open the table, load batch after batch, do the closing work, verify, close.

use std::sync::Arc;
use std::time::Duration;

use super::curve_run::load_batches;
use super::journal::Line;
use super::resume::{self, Past, Start};
use super::warden::How;
use super::workers::Crew;
use super::{Event, Runner, control_batch, endpoints, mark, table_name, verify};
use crate::error::Error;
use crate::load::{Encode, Fitted, Loader};
use crate::plan::CurvePlan;
use crate::record::{CurveRecord, Outcome, RunRecord};
use crate::rows::RowSource;
use crate::schema::Dialect;
use crate::targets::{Failure, FailureKind, Purpose, ServerSessions, Session, Table, TableOrder};
use crate::units::human_seconds;

/// How long a cancelled statement may take to come back before its connection is given up.
pub const GRACE: Duration = Duration::from_secs(6);

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

    let before = runner.past.as_ref().map_or(Duration::ZERO, |past| past.spent(&plan.name));
    runner.warden.begin(runner.targets[plan.cell.target].reins(), before);
    settle(runner, &mut record.curves[index], plan.cell.target);
    let ended = match open(runner, &mut record.curves[index], plan)? {
        Ok(Opened { table, start }) => load_table(runner, record, index, table, start),
        Err(failure) => {
            fail(&mut record.curves[index], &failure);
            record.curves[index].outcome = runner.warden.outcome(&failure);
            Ok(())
        }
    };
    runner.warden.finish();
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
        let found = match open_on(runner, plan, &order) {
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
    Ok(match open_on(runner, plan, &order) {
        Ok(table) => Ok(Opened { table, start }),
        Err(failure) => {
            // Ended in the middle, it may have been made.
            if !matches!(failure.kind, FailureKind::Cancelled | FailureKind::Lost) {
                entry.table = None;
            }
            Err(failure)
        }
    })
}

fn open_on(runner: &mut Runner<'_>, plan: &CurvePlan, order: &TableOrder<'_>) -> Result<Box<dyn Table>, Failure> {
    let target = &mut runner.targets[plan.cell.target];
    let what = format!("opening the table of {}", plan.name);
    runner.warden.wait(runner.reporter, (&what, How::Work), || target.open(order))
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
    let close = ("closing the table", How::Closing);
    let closed = runner.warden.on_table(runner.reporter, table.as_mut(), close, |table| table.close(!drop));
    Ok(brought.and_then(|_| closed.map(|()| None)))
}

/// Waits until the target has done what the curves before left it to do, so that this one does not pay for it.
fn settle(runner: &mut Runner<'_>, entry: &mut CurveRecord, target: usize) {
    let limit = Duration::from_secs_f64(runner.plan.settle_seconds);
    let started = runner.clock.now();
    let interrupt = runner.interrupt.clone();
    let target = &mut runner.targets[target];
    let what = ("what earlier curves left the server to do", How::Work);
    let settled = runner.warden.wait(runner.reporter, what, || Ok(target.settle(limit, &|| interrupt.is_asked())));
    let settled = match settled {
        Ok(settled) => settled,
        // The next step finds that everything is to end.
        Err(ended) => return entry.notes.push(ended.to_string()),
    };
    let Some(settled) = settled else { return };
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
    let loaded = match prepare(runner, plan, table.as_mut(), plan.cell.sessions()) {
        Ok((ready, line)) => load(runner, record, index, table.as_mut(), (ready, line), start),
        Err(failure) => {
            fail(&mut record.curves[index], &failure);
            record.curves[index].outcome = runner.warden.outcome(&failure);
            Ok(())
        }
    };
    close(runner, &mut record.curves[index], plan, table.as_mut())?;
    loaded
}

fn load(
    runner: &mut Runner<'_>,
    record: &mut RunRecord,
    index: usize,
    table: &mut dyn Table,
    (mut ready, line): (Ready, Line),
    start: Start,
) -> Result<(), Error> {
    let plan = &runner.plan.curves[index];
    runner.directory.note(&line)?;
    describe(&mut record.curves[index], table, &ready.fitted);
    runner.directory.save(record)?;
    let note = verify::note(&ready.source).filter(|_| runner.plan.verify_rows.is_some_and(|rows| rows > 0));
    let entry = &mut record.curves[index];
    entry.notes.extend(note.filter(|note| table.facts().limits.keeps_rows && !entry.notes.contains(note)));
    for note in &ready.fitted.notes {
        runner.reporter.report(&Event::Note(note));
    }
    let result = load_batches(runner, &mut record.curves[index], plan, table, &mut ready, start);
    let Ready { crew, source, .. } = ready;
    crew.dismiss(GRACE);
    endpoints::note(&mut record.curves[index], table, &*runner.clock);
    let entry = &mut record.curves[index];
    let ended = match result {
        Ok(ended) => ended,
        Err(error) => {
            entry.outcome = Outcome::Failed { code: None, message: error.to_string() };
            return Err(error);
        }
    };
    entry.outcome = ended.outcome;
    entry.cannot_go_on = ended.cannot_go_on;
    if ended.silent {
        if !runner.warden.is_silent() {
            runner.warden.silent("the server gave no sign of life when the load was ended".into());
        }
        return Ok(());
    }
    let controlled = control_batch::run(runner, record, index, table);
    finish(runner, plan, &mut record.curves[index], table, &source);
    controlled
}

/// Drops the table of a curve that has come to its end, or leaves it, and puts back what was set for it.
fn close(
    runner: &mut Runner<'_>,
    entry: &mut CurveRecord,
    plan: &CurvePlan,
    table: &mut dyn Table,
) -> Result<(), Error> {
    // A target that does not answer is asked for nothing that could wait: `clean` drops the table later.
    let keep = runner.plan.keep
        || runner.warden.is_silent()
        || !matches!(entry.outcome, Outcome::Completed | Outcome::Stopped { .. } | Outcome::Full { .. });
    if !keep {
        // A DROP may wait long beyond the end of rowcliff, and is then ended by `clean`.
        let own = runner.warden.on_table(runner.reporter, table, ("closing the table", How::Closing), |table| {
            let is_any = !table.own_sessions()?.is_empty();
            is_any.then(|| resume::own_sessions(plan.number, table)).transpose()
        });
        if let Ok(Some(line)) = own {
            runner.directory.note(&line)?;
        }
    }
    let what = if keep { "closing the table" } else { "dropping the table" };
    let closed = runner.warden.on_table(runner.reporter, table, (what, How::Closing), |table| table.close(keep));
    match closed {
        Ok(()) if !keep => entry.table = None,
        Ok(()) => {}
        Err(failure) => {
            let note = format!("{what}: {failure}");
            runner.reporter.report(&Event::Note(&format!("{}: {note}", entry.curve)));
            entry.notes.push(note);
            if matches!(entry.outcome, Outcome::Completed) || runner.warden.is_silent() && !keep {
                entry.outcome = runner.warden.outcome(&failure);
            }
        }
    }
    Ok(())
}

pub(super) fn loader(plan: &CurvePlan, table: &dyn Table, source: &Arc<RowSource>) -> Loader {
    let in_process = table.facts().dialect == Dialect::Sqlite;
    Loader::new(plan.cell.method, &table.facts().quoted_name, in_process, Arc::clone(source))
}

/// What a curve needs beside its table.
pub struct Ready {
    /// Its rows.
    pub source: Arc<RowSource>,
    pub encoder: Arc<dyn Encode>,
    /// The sizes really used.
    pub fitted: Fitted,
    pub crew: Crew,
}

/// Opens the connections of a curve: `connections` of them, of which those of its cell load. Gives the line of the journal that names
/// their sessions as well.
pub(super) fn prepare(
    runner: &mut Runner<'_>,
    plan: &CurvePlan,
    table: &mut dyn Table,
    connections: u32,
) -> Result<(Ready, Line), Failure> {
    let source = Arc::new(verify::row_source(runner.plan, plan, table.facts()).map_err(Failure::fatal)?);
    let loader = loader(plan, table, &source);
    let fitted = loader.fit(plan.sizes, plan.cell.connections, table.facts().limits, runner.plan.window_bytes)?;
    let encoder: Arc<dyn Encode> = Arc::new(loader);
    let (crew, line) = connect(runner, plan, table, (connections, How::Work), &encoder)?;
    Ok((Ready { source, encoder, fitted, crew }, line))
}

/// Opens so many connections, with the line of the journal that names their sessions.
pub(super) fn connect(
    runner: &mut Runner<'_>,
    plan: &CurvePlan,
    table: &mut dyn Table,
    (connections, how): (u32, How),
    encoder: &Arc<dyn Encode>,
) -> Result<(Crew, Line), Failure> {
    let clock = &runner.clock;
    runner.warden.on_table(runner.reporter, table, ("opening the loading connections", how), |table| {
        let sessions: Result<Vec<Box<dyn Session>>, Failure> = (0..connections).map(|_| table.connect()).collect();
        let crew = Crew::start(sessions?, plan.cell.connections as usize, encoder, clock);
        let line = sessions_line(plan, table, crew.session_ids());
        Ok((crew, line))
    })
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
pub fn sessions_line(plan: &CurvePlan, table: &mut dyn Table, ids: Vec<u64>) -> Line {
    // Without the server's start the numbers tell nothing, and nothing will be ended.
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
fn finish(
    runner: &mut Runner<'_>,
    plan: &CurvePlan,
    entry: &mut CurveRecord,
    table: &mut dyn Table,
    source: &RowSource,
) {
    if !matches!(entry.outcome, Outcome::Completed | Outcome::Stopped { .. }) {
        return;
    }
    if runner.warden.is_silent() {
        return cut_short(runner, entry, &Failure::fatal("the server is silent"));
    }
    if let Some(partial) = &entry.partial {
        // Part of a batch is in the table: neither its size nor a checkpoint of it says anything.
        entry.notes.push(format!("not verified: batch {} was in flight", partial.batch));
        return;
    }
    let started = runner.clock.now();
    let what = ("the closing work", How::Finishing);
    match runner.warden.on_table(runner.reporter, table, what, |table| table.closing_work()) {
        Ok(Some(what)) => {
            entry.closing_seconds = Some(runner.clock.now().saturating_sub(started).as_secs_f64());
            entry.notes.push(format!("closing work: {what}"));
        }
        Ok(None) => {}
        Err(failure) if failure.kind == FailureKind::Cancelled => return cut_short(runner, entry, &failure),
        Err(failure) => entry.notes.push(format!("closing work: {failure}")),
    }
    let Some(verify_rows) = runner.plan.verify_rows else { return };
    let rows = entry.table_rows;
    let seed = runner.plan.seed;
    let batch_rows = plan.sizes.batch_rows;
    let what = ("the verification", How::Finishing);
    let checked = runner.warden.on_table(runner.reporter, table, what, |table| {
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
        Err(failure) if failure.kind == FailureKind::Cancelled => cut_short(runner, entry, &failure),
        Err(failure) => {
            entry.outcome =
                Outcome::Failed { code: failure.code, message: format!("verification: {}", failure.message) };
        }
    }
}

/// What was measured stands; the table was not made sure of.
fn cut_short(runner: &mut Runner<'_>, entry: &mut CurveRecord, failure: &Failure) {
    let note = format!("not verified: {failure}");
    runner.reporter.report(&Event::Note(&format!("{}: {note}", entry.curve)));
    entry.notes.push(note);
    entry.outcome = match (&entry.outcome, runner.warden.outcome(failure)) {
        // What stopped it first is told too.
        (Outcome::Stopped { rule: first, figures: before }, Outcome::Stopped { rule, figures }) if *first != rule => {
            Outcome::Stopped { rule, figures: format!("{figures}; before that {first}: {before}") }
        }
        (_, outcome) => outcome,
    };
}
