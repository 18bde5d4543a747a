//! One curve: open the table, load batch after batch, do the closing work, verify, close.

use std::sync::Arc;
use std::time::Duration;

use super::batch::{self, Cut, Measured};
use super::patience::patiently;
use super::workers::{Crew, Watch};
use super::{Event, Runner, mark, table_name, verify};
use crate::error::Error;
use crate::load::{Encode, Fitted, Loader};
use crate::plan::{CurvePlan, Plan};
use crate::record::{CurveRecord, Outcome, RunRecord, Sample};
use crate::rows::RowSource;
use crate::schema::Dialect;
use crate::target::{Failure, FailureKind, Session, Table, TableOrder};
use crate::units::human_seconds;

/// How long a cancelled statement may take to come back before its connection is given up.
const GRACE: Duration = Duration::from_secs(6);
/// How long a DROP TABLE and what belongs to it may take.
pub const CLOSE_LIMIT: Duration = Duration::from_secs(600);
/// Rows of the statement with which a cell is tried.
const TRIAL_ROWS: u64 = 10;
/// How often the control connection is used so that it stays open.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Runs the curve at `index` of the plan, and writes what became of it into the record.
///
/// # Errors
/// Results cannot be saved. What goes wrong in the curve itself is its outcome.
pub fn run(runner: &mut Runner<'_>, record: &mut RunRecord, index: usize) -> Result<(), Error> {
    let plan = &runner.plan.curves[index];
    let table = table_name(&runner.run_id, plan.number);
    let entry = &mut record.curves[index];
    entry.outcome = Outcome::Running;
    entry.started_at = Some(runner.clock.wall());
    entry.table = Some(table.clone());
    runner.directory.save(record)?;
    let entry = &mut record.curves[index];
    runner.reporter.report(&Event::CurveStarted { curve: entry, batches: plan.sizes.batches() });

    let mark = mark(&runner.run_id, plan.number);
    let directory = runner.directory.path().to_owned();
    let order = TableOrder {
        curve: plan,
        table: &table,
        mark: &mark,
        schema: runner.plan.schema.as_ref().map(|schema| schema.text.as_str()),
        directory: &directory,
        rehearsal: false,
    };
    settle(runner, &mut record.curves[index], plan.cell.target);
    let opened = runner.targets[plan.cell.target].open(&order);
    let ended = match opened {
        Ok(table) => load_table(runner, record, index, table),
        Err(failure) => {
            record.curves[index].table = None;
            record.curves[index].outcome = failed(&failure);
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
) -> Result<(), Error> {
    let plan = &runner.plan.curves[index];
    let loaded = match prepare(runner, plan, table.as_mut()) {
        Ok(mut ready) => {
            describe(&mut record.curves[index], table.as_ref(), &ready.fitted);
            runner.directory.save(record)?;
            for note in &ready.fitted.notes {
                runner.reporter.report(&Event::Note(note));
            }
            let result = load_batches(runner, &mut record.curves[index], plan, table.as_mut(), &mut ready);
            let Ready { crew, source, .. } = ready;
            crew.dismiss(GRACE);
            let entry = &mut record.curves[index];
            match result {
                Ok(outcome) => {
                    entry.outcome = outcome;
                    finish(runner, entry, table.as_mut(), &source);
                    Ok(())
                }
                Err(error) => {
                    entry.outcome = Outcome::Failed { code: None, message: error.to_string() };
                    Err(error)
                }
            }
        }
        Err(failure) => {
            record.curves[index].outcome = failed(&failure);
            Ok(())
        }
    };
    let entry = &mut record.curves[index];
    let keep = runner.plan.keep
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

fn loader(plan: &CurvePlan, table: &dyn Table, source: &Arc<RowSource>) -> Loader {
    let in_process = table.facts().dialect == Dialect::Sqlite;
    Loader::new(plan.cell.method, &table.facts().quoted_name, in_process, Arc::clone(source))
}

/// Sends one short statement over one connection: what a cell is tried with before anything is timed.
///
/// # Errors
/// What the target said, or which column cannot be filled.
pub fn try_statement(whole: &Plan, plan: &CurvePlan, table: &mut dyn Table) -> Result<(), Failure> {
    let source = Arc::new(verify::row_source(whole, plan, table.facts()).map_err(Failure::fatal)?);
    let loader = loader(plan, table, &source);
    let fitted = loader.fit(plan.sizes, plan.cell.connections, table.facts().limits, whole.window_bytes)?;
    let rows = fitted.statement_rows.min(TRIAL_ROWS);
    let mut session = table.connect()?;
    let accepted = session.send(&mut loader.encode(0..rows))?;
    if accepted.rows != rows {
        return Err(Failure::fatal(format!("a statement of {rows} rows was sent and {} were accepted", accepted.rows)));
    }
    Ok(())
}

/// What a curve needs beside its table.
struct Ready {
    source: Arc<RowSource>,
    encoder: Arc<dyn Encode>,
    fitted: Fitted,
    crew: Crew,
}

fn prepare(runner: &Runner<'_>, plan: &CurvePlan, table: &mut dyn Table) -> Result<Ready, Failure> {
    let source = Arc::new(verify::row_source(runner.plan, plan, table.facts()).map_err(Failure::fatal)?);
    let loader = loader(plan, table, &source);
    let fitted = loader.fit(plan.sizes, plan.cell.connections, table.facts().limits, runner.plan.window_bytes)?;
    let encoder: Arc<dyn Encode> = Arc::new(loader);
    let mut sessions: Vec<Box<dyn Session>> = Vec::new();
    for _ in 0..plan.cell.connections {
        sessions.push(table.connect()?);
    }
    let crew = Crew::start(sessions, &encoder, &runner.clock);
    Ok(Ready { source, encoder, fitted, crew })
}

fn describe(entry: &mut CurveRecord, table: &dyn Table, fitted: &Fitted) {
    let facts = table.facts();
    entry.create_table = Some(facts.create_table.clone());
    entry.flush_in_force = facts.flush_in_force.clone();
    entry.variables = facts.variables.clone();
    entry.statement_rows = fitted.statement_rows;
    entry.commit_rows = fitted.commit_rows;
    for note in facts.notes.iter().chain(&fitted.notes) {
        if !entry.notes.contains(note) {
            entry.notes.push(note.clone());
        }
    }
}

fn load_batches(
    runner: &mut Runner<'_>,
    entry: &mut CurveRecord,
    plan: &CurvePlan,
    table: &mut dyn Table,
    ready: &mut Ready,
) -> Result<Outcome, Error> {
    let sizes = plan.sizes;
    let cut = Cut {
        statement_rows: ready.fitted.statement_rows,
        commit_rows: ready.fitted.commit_rows,
        window_rows: ready.fitted.window_rows,
        connections: u64::from(plan.cell.connections),
    };
    let sample_notes = table.facts().sample_notes.clone();
    let mut samples: Vec<Sample> = Vec::new();
    let mut last_end = None;
    let mut kept_alive = runner.clock.now();
    for batch in 1..=sizes.batches() {
        if runner.interrupt.is_asked() {
            return Ok(Outcome::Interrupted);
        }
        let rows = (batch - 1) * sizes.batch_rows..batch * sizes.batch_rows;
        let interrupt = runner.interrupt.clone();
        let clock = Arc::clone(&runner.clock);
        let measured = batch::load(rows, cut, &ready.crew, &ready.encoder, &runner.clock, last_end, GRACE, &mut |_| {
            if clock.now().saturating_sub(kept_alive) > KEEP_ALIVE {
                table.keep_alive();
                kept_alive = clock.now();
            }
            if interrupt.is_asked() { Watch::Cancel } else { Watch::Wait }
        });
        if let Some(outcome) = unfinished(&measured, runner, table) {
            return Ok(outcome);
        }
        last_end = Some(measured.ended);
        if clock.now().saturating_sub(kept_alive) > KEEP_ALIVE {
            table.keep_alive();
            kept_alive = clock.now();
        }
        let sample = sample(entry, batch, &sizes, &measured, &sample_notes);
        if let Some(note) = &measured.note {
            let note = format!("the server noted: {note}");
            if !entry.notes.contains(&note) {
                entry.notes.push(note);
            }
        }
        runner.directory.append(&sample)?;
        entry.batches = batch;
        entry.table_rows = sample.table_rows;
        entry.load_seconds += sample.seconds;
        samples.push(sample);
        if let Some(sample) = samples.last() {
            runner.reporter.report(&Event::Batch { sample, samples: &samples, batches: sizes.batches() });
        }
    }
    Ok(Outcome::Completed)
}

/// What becomes of a curve whose batch is not whole.
fn unfinished(measured: &Measured, runner: &Runner<'_>, table: &mut dyn Table) -> Option<Outcome> {
    if measured.cancelled || runner.interrupt.is_asked() && measured.failure.is_some() {
        return Some(Outcome::Interrupted);
    }
    let failure = measured.failure.as_ref()?;
    if failure.kind == FailureKind::Full {
        return Some(match table.count() {
            Ok(Some(rows)) => Outcome::Full { rows, message: failure.to_string() },
            Ok(None) => failed(failure),
            Err(count) => failed(&Failure::fatal(format!("{failure}; and the rows could not be counted: {count}"))),
        });
    }
    Some(failed(failure))
}

fn failed(failure: &Failure) -> Outcome {
    Outcome::Failed { code: failure.code, message: failure.message.clone() }
}

fn sample(
    entry: &CurveRecord,
    batch: u64,
    sizes: &crate::plan::Sizes,
    measured: &Measured,
    notes: &[String],
) -> Sample {
    let seconds = measured.sending.as_secs_f64();
    let mut words: Vec<&str> = Vec::new();
    if batch == 1 {
        words.push("first");
    }
    words.extend(notes.iter().map(String::as_str));
    let quantile = |q: f64| (!measured.latency.is_empty()).then(|| measured.latency.value_at_quantile(q));
    Sample {
        curve: entry.curve.clone(),
        target: entry.target.clone(),
        engine: entry.engine.clone(),
        key: entry.key.clone(),
        flush: entry.flush.clone(),
        flush_in_force: entry.flush_in_force.clone(),
        settings: entry.settings.clone(),
        method: entry.method.clone(),
        connections: entry.connections,
        statement_rows: entry.statement_rows,
        commit_rows: entry.commit_rows,
        repeat: entry.repeat,
        batch,
        table_rows: batch * sizes.batch_rows,
        rows: measured.rows,
        seconds,
        // Three decimals: finer than any clock here, and no more digits than a reader wants.
        inserts_per_sec: (seconds > 0.0).then(|| (measured.rows as f64 / seconds * 1e3).round() / 1e3),
        started_at: measured.started_at.clone(),
        encode_seconds: Some(measured.encoding.as_secs_f64()),
        gap_seconds: measured.gap.map(|gap| gap.as_secs_f64()),
        statements: Some(measured.statements),
        retries: Some(measured.retries),
        p50_us: quantile(0.5),
        p99_us: quantile(0.99),
        p999_us: quantile(0.999),
        max_us: (measured.statements > 0).then(|| u64::try_from(measured.longest.as_micros()).unwrap_or(u64::MAX)),
        client_cpu_seconds: measured.client_cpu.map(|cpu| cpu.as_secs_f64()),
        notes: words.join(" "),
        ..Sample::default()
    }
}

/// The end of a curve that loaded something: closing work, count, comparison.
fn finish(runner: &Runner<'_>, entry: &mut CurveRecord, table: &mut dyn Table, source: &RowSource) {
    if !matches!(entry.outcome, Outcome::Completed | Outcome::Stopped { .. }) {
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
    let checked = patiently(table, &runner.interrupt, None, "the verification", |table| {
        verify::table(table, source, rows, verify_rows, seed)
    });
    match checked {
        Ok(verification) => {
            if let Some(message) = verify::problem(&verification) {
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
