//! The batches of a curve: each is sent, checked and recorded; a batch whose fate is unknown is taken back and sent again.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batch::{self, Batch, Cut, Measured};
use super::boundary::{Boundary, take_back};
use super::curve::{GRACE, Ready, failed};
use super::journal::Told;
use super::probes::{self, Point};
use super::resume;
use super::stop::{Firing, InFlight};
use super::warden::How;
use super::workers::{Crew, Watch};
use super::{Clock, Disturbances, Event, Interrupt, Runner, constraint};
use crate::error::Error;
use crate::observe::Observer;
use crate::observe::environment::disk_space;
use crate::plan::stop::StopRules;
use crate::plan::{CurvePlan, Sizes};
use crate::record::run::PartialBatch;
use crate::record::{CurveRecord, Outcome, STATEMENTS_OF_P99, Sample};
use crate::targets::{Failure, FailureKind, Table};
use crate::units::human_seconds;

/// What is waited for between batches.
pub(super) const READING: &str = "reading the counters and the size of the table";
const AWAKE: &str = "a sign of life of the connections";
/// How long a target may acknowledge nothing before that is reported.
const SILENCE: Duration = Duration::from_secs(60);
/// How often the control connection is used so that it stays open.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// How often a batch is taken back to its boundary and sent again.
const MAX_ATTEMPTS_AGAIN: u32 = 3;
/// How long a server that went away may take to come back.
const RECONNECT_LIMIT: Duration = Duration::from_secs(30);

/// How a curve that has been loading ends.
pub struct Ended {
    /// What becomes of it.
    pub outcome: Outcome,
    /// Whether the target answered to the last. One that did not is asked for nothing more.
    pub silent: bool,
    /// Whether a row of this load breaks what the table asks of it: it would do so again.
    pub cannot_go_on: bool,
}

impl From<Outcome> for Ended {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, silent: false, cannot_go_on: false }
    }
}

/// How a curve ends whose work between batches failed, or was ended.
pub(super) fn ended(runner: &Runner<'_>, failure: &Failure) -> Ended {
    Ended { silent: runner.warden.is_silent(), ..runner.warden.outcome(failure).into() }
}

/// What probes moved belongs to no batch.
pub(super) fn pass_over(
    runner: &mut Runner<'_>,
    observer: &mut Observer,
    table: &mut dyn Table,
) -> Result<(), Failure> {
    let now = runner.clock.now();
    runner.warden.on_table(runner.reporter, table, (READING, How::Work), |table| {
        observer.pass_over(table, now);
        Ok(())
    })
}

/// Makes sure before the clock starts that every connection is open: what was cut while it was idle is opened anew, and stands in the
/// journal before it changes anything.
///
/// # Errors
/// The target gives no sign of life, or everything is to end.
pub fn wake(
    runner: &mut Runner<'_>,
    plan: &CurvePlan,
    table: &mut dyn Table,
    ready: &mut Ready,
) -> Result<(), Failure> {
    runner.warden.on_table(runner.reporter, table, (AWAKE, How::Work), |table| table.wake())?;
    let warden = &mut runner.warden;
    let mut watch = || if warden.over().is_some() { Watch::Cancel } else { Watch::Wait };
    let anew = ready.crew.wake(GRACE, &mut watch);
    let ids = ready.crew.session_ids();
    let line = match anew {
        Ok(false) => return Ok(()),
        Ok(true) => runner.warden.on_table(runner.reporter, table, (AWAKE, How::Work), |table| {
            Ok(super::curve::sessions_line(plan, table, ids))
        }),
        Err(lost) => runner.warden.on_table(runner.reporter, table, (AWAKE, How::Work), |table| {
            let is_there = table.is_alive();
            Err(if is_there { lost } else { Failure::fatal(format!("server silent: {lost}")) })
        }),
    };
    let saved = line.and_then(|line| runner.directory.note(&line).map_err(|error| Failure::fatal(error.to_string())));
    saved.inspect_err(|failure| {
        if failure.message.starts_with("server silent") {
            runner.warden.silent(failure.message.clone());
        }
    })
}

/// The words for what happened to this process while a batch was sent.
pub(super) fn disturbed(before: Disturbances, after: Disturbances) -> Vec<&'static str> {
    let paused = (after.stopped > before.stopped).then_some("paused");
    paused.into_iter().chain((after.set_back > before.set_back).then_some("clock-back")).collect()
}

pub(super) fn probes_run_after(runner: &Runner<'_>, batch: u64, sizes: Sizes) -> bool {
    runner.plan.probe.as_ref().is_some_and(|probe| probe.runs_after(batch, sizes))
}

/// What is left to be done of the probes where a curve goes on: changes are put back, and those that are missing run.
pub(super) fn probe_anew(
    runner: &mut Runner<'_>,
    entry: &mut CurveRecord,
    mut point: Point<'_>,
    guard: &mut Guard<'_>,
) -> Result<Option<Outcome>, Error> {
    let path = runner.directory.path().to_owned();
    let told = Told::read(&path, point.plan.number)
        .map_err(|error| Error::file(path, error, "the journal says what a probe left changed"))?;
    if let Some(open) = told.unfinished_probe()
        && let Err(failure) = probes::put_back_unfinished(runner, &mut point, open, guard)?
    {
        return Ok(Some(if runner.interrupt.is_asked() { Outcome::Interrupted } else { failed(&failure) }));
    }
    let due = probes_run_after(runner, point.batch, point.plan.sizes);
    if due { probes::run(runner, entry, point, guard) } else { Ok(None) }
}

/// The boundary after a batch. An engine that cannot delete is not taken back, and some of these would read the whole
/// table for it.
pub(super) fn read_boundary(table: &mut dyn Table, plan: &CurvePlan, table_rows: u64) -> Result<Boundary, Failure> {
    if !plan.cell.engine_entry.can.delete {
        return Ok(Boundary { table_rows, max_id: None });
    }
    Boundary::read(table, table_rows).or_else(|failure| match failure.kind {
        // The control connection was closed: it is opened again with the next use.
        FailureKind::Lost => Boundary::read(table, table_rows),
        _ => Err(failure),
    })
}

/// One batch and everything that is needed to send it.
pub(super) struct Job<'a> {
    pub plan: &'a CurvePlan,
    pub table: &'a mut dyn Table,
    pub ready: &'a mut Ready,
    pub rows: Range<u64>,
    pub boundary: Boundary,
    pub last_end: Option<Duration>,
    pub observer: &'a Observer,
}

/// A batch that did not become whole.
pub(super) struct Unfinished {
    pub ended: Ended,
    pub partial: Option<PartialBatch>,
}

impl From<Outcome> for Unfinished {
    fn from(outcome: Outcome) -> Self {
        Self { ended: outcome.into(), partial: None }
    }
}

/// What watches the batch in flight.
pub struct Guard<'a> {
    rules: &'a StopRules,
    /// Whether a stop rule may end what is watched: what a stop has to put right again may take its time.
    pub heeds_rules: bool,
    clock: Arc<dyn Clock>,
    interrupt: Interrupt,
    /// How long the curve and the run had been going on at a time.
    spent: (Duration, Duration),
    since: Duration,
    /// When something that heeds no rule is ended all the same.
    pub until: Option<Duration>,
    /// Directories whose disks must not fill up.
    disks: Vec<PathBuf>,
    disk_seen: Option<Duration>,
    disk: Option<(u64, u64)>,
    last_asked: Duration,
    last_progress: (u64, Duration),
    /// The rule that ended what was watched.
    pub firing: Option<Firing>,
    /// Whether the target gave no sign of life.
    pub silent: bool,
    /// When a silence was reported last.
    told: Option<Duration>,
}

impl<'a> Guard<'a> {
    pub(super) fn new(runner: &Runner<'_>, rules: &'a StopRules, data: Option<PathBuf>) -> Self {
        let now = runner.clock.now();
        let mut disks = vec![runner.directory.path().to_owned()];
        disks.extend(data);
        Self {
            rules,
            heeds_rules: true,
            clock: Arc::clone(&runner.clock),
            interrupt: runner.interrupt.clone(),
            spent: runner.warden.spent(),
            since: now,
            until: None,
            disks,
            disk_seen: None,
            disk: None,
            last_asked: now,
            last_progress: (0, now),
            firing: None,
            silent: false,
            told: None,
        }
    }

    /// How long nothing has been acknowledged, where that is to be reported now: after a minute, and again whenever it has doubled.
    fn silence_to_tell(&mut self) -> Option<Duration> {
        let silent = self.clock.now().saturating_sub(self.last_progress.1);
        if silent < SILENCE {
            self.told = None;
        }
        if silent < SILENCE.max(self.told.unwrap_or_default() * 2) {
            return None;
        }
        self.told = Some(silent);
        Some(silent)
    }

    /// Decides whether the batch in flight goes on: `spent` is its time so far, `acknowledged` its statements.
    pub fn watch(&mut self, table: &mut dyn Table, spent: Duration, acknowledged: u64) -> Watch {
        let now = self.clock.now();
        if self.interrupt.is_asked() || self.until.is_some_and(|until| now > until) {
            return Watch::Cancel;
        }
        if self.disk_seen.is_none_or(|seen| now.saturating_sub(seen) > Duration::from_secs(1)) {
            self.disk_seen = Some(now);
            self.disk = fullest(&self.disks);
        }
        let state = InFlight {
            batch: spent,
            curve: self.spent.0 + now.saturating_sub(self.since),
            run: self.spent.1 + now.saturating_sub(self.since),
            disk: self.disk,
        };
        if let Some(firing) = self.rules.in_flight(state).filter(|_| self.heeds_rules) {
            self.firing = Some(firing);
            return Watch::Cancel;
        }
        if acknowledged != self.last_progress.0 {
            self.last_progress = (acknowledged, now);
        }
        let stalled = now.saturating_sub(self.last_progress.1);
        let asked = now.saturating_sub(self.last_asked);
        let timeout = Duration::from_secs_f64(self.rules.stall_timeout_seconds);
        if asked > KEEP_ALIVE || stalled > timeout && asked > timeout.min(KEEP_ALIVE) {
            self.last_asked = now;
            // Between two timeouts a silence only costs the keep-alive; after one it ends the curve.
            if !table.is_alive() && stalled > timeout {
                self.silent = true;
                return Watch::Cancel;
            }
        }
        Watch::Wait
    }
}

/// The disk with the smallest share of free space: what is free, and how large it is.
fn fullest(directories: &[PathBuf]) -> Option<(u64, u64)> {
    let share = |(free, size): &(u64, u64)| *free as f64 / (*size).max(1) as f64;
    directories.iter().filter_map(|path| disk_space(path)).min_by(|a, b| share(a).total_cmp(&share(b)))
}

/// Sends one batch until it is whole. Gives what was measured of the attempt that succeeded, and how many came before
/// it; or what becomes of the curve.
pub(super) fn send(
    runner: &mut Runner<'_>,
    job: &mut Job<'_>,
    guard: &mut Guard<'_>,
) -> Result<(Measured, u32), Unfinished> {
    let fitted = &job.ready.fitted;
    let cut = Cut {
        statement_rows: fitted.statement_rows,
        commit_rows: fitted.commit_rows,
        window_rows: fitted.window_rows,
        connections: u64::from(job.plan.cell.connections),
    };
    let mut again = 0;
    let mut retries = 0;
    loop {
        let this = Batch {
            rows: job.rows.clone(),
            cut,
            crew: &job.ready.crew,
            encoder: &job.ready.encoder,
            clock: &runner.clock,
            server_cpu: &|| job.observer.server_cpu(),
            last_end: job.last_end,
            grace: GRACE,
        };
        let table = &mut *job.table;
        let (reporter, directory) = (&mut *runner.reporter, &runner.directory);
        let mut told = false;
        let mut measured = batch::load(this, &mut |spent, acknowledged| {
            let decision = guard.watch(table, spent, acknowledged);
            if let Some(silent) = guard.silence_to_tell() {
                told = true;
                reporter.report(&Event::Note(&silence_words(silent, guard.rules)));
                directory.tell_silence(silent);
            } else if told && guard.told.is_none() {
                told = false;
                directory.end_silence();
            }
            decision
        });
        if told {
            runner.directory.end_silence();
        }
        let partial = || {
            let seconds = measured.sending.as_secs_f64();
            Some(PartialBatch { batch: 0, rows: measured.rows, seconds })
        };
        if measured.cancelled || runner.interrupt.is_asked() && measured.failure.is_some() {
            let outcome = match guard.firing.take() {
                Some(Firing { rule, figures }) => Outcome::Stopped { rule, figures },
                None if guard.silent => failed(&silent(guard.rules)),
                None => Outcome::Interrupted,
            };
            let ended = Ended { silent: guard.silent || !job.table.is_alive(), cannot_go_on: false, outcome };
            return Err(Unfinished { ended, partial: partial() });
        }
        retries += measured.retries;
        let Some(failure) = &measured.failure else {
            measured.retries = retries;
            return Ok((measured, again));
        };
        let unknown = failure.kind == FailureKind::Lost
            || failure.kind == FailureKind::Retry && !job.table.facts().limits.transactional;
        if !unknown || again >= MAX_ATTEMPTS_AGAIN {
            let failure = constraint::named(failure.clone(), job.table.facts());
            let cannot_go_on = failure.kind == FailureKind::Broken;
            let ended = Ended { cannot_go_on, ..ended_by(&failure, job.table).into() };
            return Err(Unfinished { ended, partial: partial() });
        }
        again += 1;
        retries += 1;
        runner.reporter.report(&Event::Note(&format!(
            "{failure}; the batch is taken back to {} rows and sent again ({again} of {MAX_ATTEMPTS_AGAIN})",
            job.boundary.table_rows
        )));
        let back = (job.rows.clone(), job.boundary, How::Work);
        reconnect(runner, job.plan, job.table, job.ready, back).map_err(|second| {
            let message = match second.kind {
                FailureKind::Cancelled => second.message.clone(),
                _ => format!("{failure}; then: {second}"),
            };
            Unfinished { ended: self::ended(runner, &Failure { message, ..second }), partial: None }
        })?;
    }
}

fn silence_words(silent: Duration, rules: &StopRules) -> String {
    format!(
        "the target has acknowledged nothing for {}; after {} (--stall-timeout) it is asked whether it is still there",
        human_seconds(silent.as_secs_f64()),
        human_seconds(rules.stall_timeout_seconds)
    )
}

/// Why a target that gave no sign of life is given up.
pub fn silent(rules: &StopRules) -> Failure {
    Failure::fatal(format!(
        "server silent: no acknowledgement for {} (--stall-timeout) and no answer on the control connection",
        human_seconds(rules.stall_timeout_seconds)
    ))
}

/// New connections, and a table that is at its boundary: `rows` are those that may be beyond it.
///
/// # Errors
/// The target's.
pub fn reconnect(
    runner: &mut Runner<'_>,
    plan: &CurvePlan,
    table: &mut dyn Table,
    ready: &mut Ready,
    (rows, boundary, how): (Range<u64>, Boundary, How),
) -> Result<(), Failure> {
    let unsaved = |error: Error| Failure::fatal(error.to_string());
    let what = ("taking the table back", how);
    let orphans = ready.crew.session_ids();
    // Before another connection is opened: there is never more than one beside those asked for.
    std::mem::replace(&mut ready.crew, Crew::empty()).dismiss(GRACE);
    let source = Arc::clone(&ready.source);
    let deadline = Instant::now() + RECONNECT_LIMIT;
    loop {
        let own =
            runner.warden.on_table(runner.reporter, table, what, |table| resume::own_sessions(plan.number, table));
        let result = own.and_then(|line| {
            runner.directory.note(&line).map_err(unsaved)?;
            // A statement of a connection that is gone goes on for a while: it must not insert behind our back.
            runner.warden.on_table(runner.reporter, table, what, |table| {
                table.end_sessions(&orphans)?;
                take_back(table, &source, boundary, rows.clone())
            })
        });
        match result {
            Err(failure) if failure.kind == FailureKind::Lost && how == How::Work && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(500));
            }
            Err(failure) => return Err(failure),
            Ok(_) => break,
        }
    }
    let (crew, line) = super::curve::connect(runner, plan, table, (plan.cell.sessions(), how), &ready.encoder)?;
    ready.crew = crew;
    for news in table.news() {
        runner.reporter.report(&Event::Note(&news));
    }
    runner.directory.note(&line).map_err(unsaved)
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

pub(super) fn sample(
    entry: &CurveRecord,
    batch: u64,
    batch_rows: u64,
    measured: &Measured,
    words: &[String],
) -> Sample {
    let seconds = measured.sending.as_secs_f64();
    // Of fewer statements than this, the quantile is another name for the longest one.
    let quantile =
        |q: f64, least: u64| (measured.latency.len() >= least).then(|| measured.latency.value_at_quantile(q));
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
        p50_us: quantile(0.5, 1),
        p99_us: quantile(0.99, STATEMENTS_OF_P99),
        p999_us: quantile(0.999, 1000),
        max_us: (measured.statements > 0).then(|| u64::try_from(measured.longest.as_micros()).unwrap_or(u64::MAX)),
        client_cpu_seconds: measured.client_cpu.map(|cpu| cpu.as_secs_f64()),
        notes: words.join(" "),
        ..Sample::default()
    }
}
