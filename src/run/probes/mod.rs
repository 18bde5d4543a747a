//! Probes at a boundary: which are to run, each of its iterations timed and recorded, and the table put back.
//!
//! They run outside every timed section, over the connections that load and, where more are asked for, some beside them. What
//! they change is put back from the generator, which knows every row; that it has to be is in the journal before the first
//! change, so that a run which goes on after a kill does it too.
//!
//! - `trial`: whether each probe can be run at all.
//! - `asking`: what the crew does for it, over its connections.
//! - `undo`: putting the table back.

mod asking;
mod trial;
mod undo;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use asking::Limits;
use trial::probe_table;
pub use trial::try_all;
pub use undo::put_back_unfinished;
use undo::{INSERTED_ROWS_MOST, put_back, put_back_shared, remember, remove_inserted, with_ids};

use super::boundary::Boundary;
use super::curve::Ready;
use super::journal::Line;
use super::loading::{Guard, reconnect, silent, wake};
use super::warden::How;
use super::{Event, Runner};
use crate::error::Error;
use crate::plan::probe_kind::ProbeKind;
use crate::plan::{CurvePlan, ProbePlan};
use crate::probe::{Pools, ProbeTable};
use crate::record::{CurveRecord, Outcome, ProbeLine, STATEMENTS_OF_P99, probe};
use crate::targets::{Failure, FailureKind, Table};

/// How often an iteration is done again after a connection was lost.
const MAX_ATTEMPTS_AGAIN: u32 = 3;

/// What is done at one boundary: an entry of the list for each line of `probes.csv`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Task {
    kind: ProbeKind,
    connections: u32,
    ops: Option<u64>,
    iteration: u32,
}

impl Task {
    /// The one that a recorded line is of. An iteration that a time limits has no number of operations of its own.
    fn of(line: &ProbeLine, plan: &ProbePlan) -> Option<Self> {
        let kind = line.probe.parse().ok()?;
        let ops = match plan.seconds {
            None => Some(line.ops),
            // Which of the limits ended it is not in the line: one list entry is all that there is.
            Some(_) if plan.ops.len() == 1 => plan.ops[0],
            Some(_) => plan.ops.iter().copied().flatten().find(|&ops| ops == line.ops).map(Some)?,
        };
        Some(Self { kind, connections: line.connections, ops, iteration: line.iteration })
    }
}

/// A boundary at which probes run.
pub struct Point<'a> {
    pub plan: &'a CurvePlan,
    pub table: &'a mut dyn Table,
    /// Its rows and connections.
    pub ready: &'a mut Ready,
    /// Where the table stands.
    pub boundary: Boundary,
    /// The batch that was the last one.
    pub batch: u64,
}

/// Why probes ended before they were through.
enum Stop {
    Failed(Failure),
    Cancelled,
    Unsaved(Error),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Unsaved(error)
    }
}

/// Runs what is to be run at a boundary and is not recorded yet. Gives what becomes of the curve when it cannot go on.
///
/// # Errors
/// Results cannot be saved.
pub fn run(
    runner: &mut Runner<'_>,
    entry: &mut CurveRecord,
    mut point: Point<'_>,
    guard: &mut Guard<'_>,
) -> Result<Option<Outcome>, Error> {
    let Some(plan) = runner.plan.probe.clone() else { return Ok(None) };
    let subject = match probe_table(runner.plan, Arc::clone(&point.ready.source), point.table.facts()) {
        Ok(subject) => Arc::new(subject),
        // Said at the trial already.
        Err(_) => return Ok(None),
    };
    let done = recorded(runner, &point, &plan)?;
    let kinds: Vec<ProbeKind> =
        plan.probes.iter().copied().filter(|kind| !entry.probes_left_out.contains_key(kind.word())).collect();
    let several = point.plan.cell.engine_entry.can.several_connections;
    for kind in kinds {
        for &connections in &plan.connections(point.plan.cell.connections, several) {
            for &ops in &plan.ops {
                let task = |iteration| Task { kind, connections, ops, iteration };
                let open: Vec<u32> =
                    (1..=plan.iterations).filter(|&iteration| !done.contains(&task(iteration))).collect();
                if open.is_empty() {
                    continue;
                }
                let group = Group { kind, connections, ops, plan: &plan, subject: &subject };
                match group.run(runner, entry, &mut point, guard, open) {
                    Ok(()) => {}
                    Err(Stop::Failed(failure)) if failure.kind == FailureKind::Unable => {
                        let note = format!("the probe {kind} is left out: {failure}");
                        runner.reporter.report(&Event::Note(&format!("{}: {note}", entry.curve)));
                        entry.probes_left_out.insert(kind.word().to_owned(), failure.to_string());
                        break;
                    }
                    Err(Stop::Failed(failure)) => return Ok(Some(runner.warden.outcome(&failure))),
                    Err(Stop::Cancelled) => {
                        if runner.warden.is_silent() {
                            return Ok(Some(runner.warden.outcome(&silent(&runner.plan.stop))));
                        }
                        if guard.silent {
                            let failure = silent(&runner.plan.stop);
                            runner.warden.silent(failure.message.clone());
                            return Ok(Some(super::curve::failed(&failure)));
                        }
                        let Some(firing) = guard.firing.take() else { return Ok(Some(Outcome::Interrupted)) };
                        return Ok(Some(Outcome::Stopped { rule: firing.rule, figures: firing.figures }));
                    }
                    Err(Stop::Unsaved(error)) => return Err(error),
                }
            }
        }
    }
    Ok(None)
}

/// What is recorded of a boundary already.
fn recorded(runner: &Runner<'_>, point: &Point<'_>, plan: &ProbePlan) -> Result<HashSet<Task>, Error> {
    if runner.past.is_none() {
        return Ok(HashSet::new());
    }
    let path = runner.directory.path();
    let lines =
        probe::read_probes(path).map_err(|error| Error::file(path, error, "the probes say what is done already"))?;
    let here = |line: &&ProbeLine| line.curve == point.plan.name && line.batch == point.batch;
    Ok(lines.lines.iter().filter(here).filter_map(|line| Task::of(line, plan)).collect())
}

/// Why probes end after a failure of work that was waited for: a limit that ended it is told as one that ends an iteration.
fn stop_of(runner: &mut Runner<'_>, guard: &mut Guard<'_>, failure: Failure) -> Stop {
    match runner.warden.take_rule() {
        Some(firing) => {
            guard.firing = Some(firing);
            Stop::Cancelled
        }
        None => Stop::Failed(failure),
    }
}

/// The iterations of one probe with one number of connections and one size.
struct Group<'a> {
    kind: ProbeKind,
    connections: u32,
    ops: Option<u64>,
    plan: &'a ProbePlan,
    subject: &'a Arc<ProbeTable>,
}

impl Group<'_> {
    fn run(
        &self,
        runner: &mut Runner<'_>,
        entry: &mut CurveRecord,
        point: &mut Point<'_>,
        guard: &mut Guard<'_>,
        open: Vec<u32>,
    ) -> Result<(), Stop> {
        let warmup = self.plan.warmup.then_some(0);
        let mut again = 0;
        // Whether the table has, or may have, something to be put back.
        let mut changed = false;
        let mut left: Vec<u32> = warmup.into_iter().chain(open).collect();
        while let Some(&iteration) = left.first() {
            // With fixed keys all iterations have the same rows, which are looked up and put back once.
            let together = if self.plan.fresh_keys { 1 } else { left.len() };
            let result = self.iterations(runner, entry, point, guard, &mut changed, &mut left, together);
            match result {
                Ok(()) => {}
                Err(Stop::Failed(failure))
                    if failure.kind == FailureKind::Lost
                        && again < MAX_ATTEMPTS_AGAIN
                        && !runner.interrupt.is_asked() =>
                {
                    again += 1;
                    runner.reporter.report(&Event::Note(&format!(
                        "{failure}; the table is put back and the probe {} is done again ({again} of {MAX_ATTEMPTS_AGAIN})",
                        self.kind
                    )));
                    self.recover(runner, point, guard, std::mem::take(&mut changed), (iteration, How::Work))?;
                }
                // The table is to be whole where a rule ends the curve; after a signal resume sees to it.
                Err(Stop::Cancelled) if guard.firing.is_some() => {
                    guard.heeds_rules = false;
                    guard.until = runner.warden.farewell();
                    let changed = std::mem::take(&mut changed);
                    if let Err(left) = self.recover(runner, point, guard, changed, (iteration, How::Closing)) {
                        self.leave(runner, entry, left)?;
                    }
                    return Err(Stop::Cancelled);
                }
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    /// The set of rows that an iteration asks for.
    fn turn(&self, batch: u64, iteration: u32) -> u64 {
        if self.plan.fresh_keys { batch * 1_000_000 + u64::from(iteration) + 1 } else { 0 }
    }

    fn pools(&self, runner: &Runner<'_>, point: &Point<'_>, iteration: u32) -> Result<Pools, Failure> {
        let turn = self.turn(point.batch, iteration);
        Pools::new(
            runner.plan.seed,
            self.subject,
            self.kind,
            (point.boundary.table_rows, point.boundary.max_id),
            self.ops,
            turn,
        )
    }

    /// Connections that were idle are open, or opened anew.
    fn wake(&self, runner: &mut Runner<'_>, point: &mut Point<'_>, guard: &mut Guard<'_>) -> Result<(), Stop> {
        wake(runner, point.plan, point.table, point.ready).map_err(|failure| stop_of(runner, guard, failure))
    }

    /// The table is left with what this probe changed: the rule has ended the curve, and nothing more is measured in it.
    fn leave(&self, runner: &mut Runner<'_>, entry: &mut CurveRecord, left: Stop) -> Result<(), Stop> {
        let why = match left {
            Stop::Unsaved(error) => return Err(Stop::Unsaved(error)),
            Stop::Failed(failure) => failure.to_string(),
            Stop::Cancelled => "there was no time left".into(),
        };
        let note = format!("what the probe {} changed is not put back: {why}", self.kind);
        runner.reporter.report(&Event::Note(&format!("{}: {note}", entry.curve)));
        entry.notes.push(note);
        Ok(())
    }

    /// New connections, and a table as it was.
    fn recover(
        &self,
        runner: &mut Runner<'_>,
        point: &mut Point<'_>,
        guard: &mut Guard<'_>,
        changed: bool,
        (iteration, how): (u32, How),
    ) -> Result<(), Stop> {
        let first = point.boundary.table_rows;
        let back = (first..first, point.boundary, how);
        reconnect(runner, point.plan, point.table, point.ready, back)?;
        if !changed {
            return Ok(());
        }
        if self.kind.inserts() {
            remove_inserted(runner, point, (first, self.ops.unwrap_or(INSERTED_ROWS_MOST)), how)?;
        }
        if self.kind.updates() {
            let pools = self.pools(runner, point, iteration)?;
            put_back(runner, point, self.subject, self.kind, pools, guard)?;
        }
        runner.directory.note(&Line::ProbeDone { curve: point.plan.number, batch: point.batch })?;
        Ok(())
    }

    /// Some iterations with the same rows: they are taken off `left` as they are recorded.
    #[allow(clippy::too_many_arguments)]
    fn iterations(
        &self,
        runner: &mut Runner<'_>,
        entry: &mut CurveRecord,
        point: &mut Point<'_>,
        guard: &mut Guard<'_>,
        changed: &mut bool,
        left: &mut Vec<u32>,
        together: usize,
    ) -> Result<(), Stop> {
        let Some(&first) = left.first() else { return Ok(()) };
        self.wake(runner, point, guard)?;
        let pools = self.pools(runner, point, first)?;
        let (follow, unchecked) = (pools.follow, pools.unchecked);
        let looked_up = pools.look_up_reads || pools.look_up_changes;
        let pools = with_ids(point, self.subject, pools, guard)?;
        let changes = self.kind.updates() || self.kind.inserts();
        if changes {
            remember(runner.directory.path(), &pools)?;
            runner.directory.note(&Line::Probe {
                curve: point.plan.number,
                batch: point.batch,
                table_rows: point.boundary.table_rows,
                probe: self.kind.word().to_owned(),
                ops: self.ops,
                turn: self.turn(point.batch, first),
            })?;
            *changed = true;
        }
        let mut shared = pools.shared(self.subject, point.boundary.table_rows, runner.plan.seed);
        let salt = shared.salt;
        let connections = self.connections as usize;
        let table = &mut *point.table;
        let operations =
            asking::prepare_all(&point.ready.crew, connections, self.subject, (self.kind, follow), &mut || {
                guard.watch(table, Duration::ZERO, 0)
            })?;
        let Some(mut operations) = operations else { return Err(Stop::Cancelled) };
        let limits =
            Limits { ops: self.ops, time: self.plan.seconds.and_then(|limit| Duration::try_from_secs_f64(limit).ok()) };
        let mut begun = 0;
        for _ in 0..together {
            let Some(&iteration) = left.first() else { break };
            shared.salt = salt.fork(u64::from(iteration));
            shared.inserted = AtomicU64::new(0);
            // What was put back after the iteration before may have taken long.
            self.wake(runner, point, guard)?;
            let now = Arc::new(shared);
            let table = &mut *point.table;
            let measured = asking::iterate(&point.ready.crew, &runner.clock, operations, &now, limits, &mut |done| {
                guard.watch(table, Duration::ZERO, done)
            });
            if measured.cancelled {
                return Err(Stop::Cancelled);
            }
            if let Some(failure) = measured.failure {
                return Err(Stop::Failed(failure));
            }
            operations = measured.operations;
            begun = begun.max(measured.begun);
            shared = Arc::try_unwrap(now).map_err(|_| Failure::fatal("a connection did not come back"))?;
            if self.kind.inserts() {
                let inserted = shared.inserted.load(Ordering::Relaxed);
                let removed = remove_inserted(runner, point, (shared.table_rows, inserted), How::Work);
                removed.map_err(|failure| stop_of(runner, guard, failure))?;
            }
            left.remove(0);
            // The pass that warms up is recorded nowhere.
            if iteration == 0 {
                continue;
            }
            let seconds = measured.seconds.as_secs_f64();
            let (ops, latency) = (measured.ops, &measured.latency);
            let quantile = |q: f64| (!latency.is_empty()).then(|| latency.value_at_quantile(q));
            let longest = u64::try_from(measured.longest.as_micros()).unwrap_or(u64::MAX);
            let notes =
                [(measured.ended_by_time, probe::TIMED), (looked_up, probe::LOOKED_UP), (unchecked, probe::UNCHECKED)];
            let notes: Vec<&str> = notes.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
            let line = ProbeLine {
                curve: entry.curve.clone(),
                batch: point.batch,
                table_rows: point.boundary.table_rows,
                probe: self.kind.word().to_owned(),
                connections: self.connections,
                iteration,
                ops,
                seconds,
                ops_per_sec: (seconds > 0.0).then(|| (ops as f64 / seconds * 1e3).round() / 1e3),
                p50_us: quantile(0.5),
                // Of fewer it would be one of the longest, and no quantile.
                p99_us: quantile(0.99).filter(|_| latency.len() >= STATEMENTS_OF_P99),
                max_us: (!latency.is_empty()).then_some(longest),
                errors: measured.errors,
                notes: notes.join(" "),
            };
            runner.directory.append_probe(&line)?;
            runner.reporter.report(&Event::Probe { line: &line });
        }
        let table = &mut *point.table;
        asking::end_all(&point.ready.crew, operations, self.subject, &mut || guard.watch(table, Duration::ZERO, 0))?;
        if self.kind.updates() {
            put_back_shared(point, self.kind, &Arc::new(shared), begun, guard)?;
        }
        if changes {
            runner.directory.note(&Line::ProbeDone { curve: point.plan.number, batch: point.batch })?;
            *changed = false;
        }
        Ok(())
    }
}
