//! The batches of a curve: each is sent, checked and recorded; a batch whose fate is unknown is taken back and sent again.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batch::{self, Batch, Cut, Measured};
use super::boundary::{Boundary, take_back};
use super::curve::{GRACE, Ready, failed};
use super::patience::patiently;
use super::workers::{Crew, Watch};
use super::{Event, Runner};
use crate::error::Error;
use crate::plan::CurvePlan;
use crate::record::{CurveRecord, Outcome, Sample};
use crate::target::{Failure, FailureKind, Session, Table};

/// How often the control connection is used so that it stays open.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// How often a batch is taken back to its boundary and sent again.
const MAX_ATTEMPTS_AGAIN: u32 = 3;
/// How long a server that went away may take to come back.
const RECONNECT_LIMIT: Duration = Duration::from_secs(30);

/// Loads every batch of a curve that is not recorded yet.
///
/// # Errors
/// Results cannot be saved. Whatever else ends the curve is its outcome.
pub fn load_batches(
    runner: &mut Runner<'_>,
    entry: &mut CurveRecord,
    plan: &CurvePlan,
    table: &mut dyn Table,
    ready: &mut Ready,
) -> Result<Outcome, Error> {
    let sizes = plan.sizes;
    let sample_notes = table.facts().sample_notes.clone();
    let mut samples: Vec<Sample> = Vec::new();
    let mut last_end = None;
    let mut boundary = match Boundary::read(table, 0) {
        Ok(boundary) => boundary,
        Err(failure) => return Ok(failed(&failure)),
    };
    for batch in 1..=sizes.batches() {
        if runner.interrupt.is_asked() {
            return Ok(Outcome::Interrupted);
        }
        let rows = (batch - 1) * sizes.batch_rows..batch * sizes.batch_rows;
        let (measured, again) = match send(runner, plan, table, ready, rows, boundary, last_end) {
            Ok(sent) => sent,
            Err(outcome) => return Ok(outcome),
        };
        last_end = Some(measured.ended);
        let mut words: Vec<&str> = Vec::new();
        words.extend((batch == 1).then_some("first"));
        words.extend((again > 0).then_some("retried"));
        words.extend(sample_notes.iter().map(String::as_str));
        let sample = sample(entry, batch, sizes.batch_rows, &measured, &words);
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
        boundary = match Boundary::read(table, entry.table_rows) {
            Ok(boundary) => boundary,
            Err(failure) => return Ok(failed(&failure)),
        };
    }
    Ok(Outcome::Completed)
}

/// Sends one batch until it is whole. Gives what was measured of the attempt that succeeded, and how many came before
/// it; or what becomes of the curve.
fn send(
    runner: &mut Runner<'_>,
    plan: &CurvePlan,
    table: &mut dyn Table,
    ready: &mut Ready,
    rows: Range<u64>,
    boundary: Boundary,
    last_end: Option<Duration>,
) -> Result<(Measured, u32), Outcome> {
    let cut = Cut {
        statement_rows: ready.fitted.statement_rows,
        commit_rows: ready.fitted.commit_rows,
        window_rows: ready.fitted.window_rows,
        connections: u64::from(plan.cell.connections),
    };
    let mut again = 0;
    loop {
        let this = Batch {
            rows: rows.clone(),
            cut,
            crew: &ready.crew,
            encoder: &ready.encoder,
            clock: &runner.clock,
            last_end,
            grace: GRACE,
        };
        let mut kept_alive = runner.clock.now();
        let (interrupt, clock) = (&runner.interrupt, &runner.clock);
        let measured = batch::load(this, &mut |_| {
            if clock.now().saturating_sub(kept_alive) > KEEP_ALIVE {
                table.keep_alive();
                kept_alive = clock.now();
            }
            if interrupt.is_asked() { Watch::Cancel } else { Watch::Wait }
        });
        let Some(failure) = measured.failure.as_ref().filter(|_| !measured.cancelled) else {
            return if measured.cancelled { Err(Outcome::Interrupted) } else { Ok((measured, again)) };
        };
        if runner.interrupt.is_asked() {
            return Err(Outcome::Interrupted);
        }
        let unknown = failure.kind == FailureKind::Lost
            || failure.kind == FailureKind::Retry && !table.facts().limits.transactional;
        if !unknown || again >= MAX_ATTEMPTS_AGAIN {
            return Err(ended_by(failure, table));
        }
        again += 1;
        runner.reporter.report(&Event::Note(&format!(
            "{failure}; the batch is taken back to {} rows and sent again ({again} of {MAX_ATTEMPTS_AGAIN})",
            boundary.table_rows
        )));
        start_again(runner, plan, table, ready, rows.clone(), boundary).map_err(|second| match second.kind {
            FailureKind::Cancelled => Outcome::Interrupted,
            _ => failed(&Failure { message: format!("{failure}; then: {second}"), ..second }),
        })?;
    }
}

/// New connections, and a table that is at its boundary.
fn start_again(
    runner: &Runner<'_>,
    plan: &CurvePlan,
    table: &mut dyn Table,
    ready: &mut Ready,
    rows: Range<u64>,
    boundary: Boundary,
) -> Result<(), Failure> {
    let orphans = ready.crew.session_ids();
    std::mem::replace(&mut ready.crew, Crew::empty()).dismiss(GRACE);
    let source = Arc::clone(&ready.source);
    let deadline = Instant::now() + RECONNECT_LIMIT;
    loop {
        let orphans = orphans.clone();
        let (source, rows) = (&source, rows.clone());
        // A statement of a connection that is gone goes on for a while: it must not insert behind our back.
        let result = patiently(table, &runner.interrupt, None, "taking the table back", move |table| {
            table.end_sessions(&orphans)?;
            take_back(table, source, boundary, rows)
        });
        match result {
            Err(failure) if failure.kind == FailureKind::Lost && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(500));
            }
            Err(failure) => return Err(failure),
            Ok(_) => break,
        }
    }
    let mut sessions: Vec<Box<dyn Session>> = Vec::new();
    for _ in 0..plan.cell.connections {
        sessions.push(table.connect()?);
    }
    ready.crew = Crew::start(sessions, &ready.encoder, &runner.clock);
    Ok(())
}

/// What becomes of a curve whose batch cannot be made whole.
fn ended_by(failure: &Failure, table: &mut dyn Table) -> Outcome {
    if failure.kind != FailureKind::Full {
        return failed(failure);
    }
    match table.count() {
        Ok(Some(rows)) => Outcome::Full { rows, message: failure.to_string() },
        Ok(None) => failed(failure),
        Err(count) => failed(&Failure::fatal(format!("{failure}; and the rows could not be counted: {count}"))),
    }
}

fn sample(entry: &CurveRecord, batch: u64, batch_rows: u64, measured: &Measured, words: &[&str]) -> Sample {
    let seconds = measured.sending.as_secs_f64();
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
        table_rows: batch * batch_rows,
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
