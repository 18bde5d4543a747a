//! Probes at a boundary: which are to run, each of its iterations timed and recorded, and the table put back.
//!
//! They run outside every timed section, over the connections that load and, where more are asked for, some beside them. What
//! they change is put back from the generator, which knows every row; that it has to be is in the journal before the first
//! change, so that a run which goes on after a kill does it too.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::asking::{self, Limits};
use super::boundary::Boundary;
use super::curve::Ready;
use super::journal::Line;
use super::loading::{Guard, reconnect};
use super::{Event, Runner, boundary, patience};
use crate::error::Error;
use crate::key::mix::Stream;
use crate::plan::{CurvePlan, Plan, ProbePlan};
use crate::probe::operation::{TRANSACTION_CHANGES, TRANSACTION_READS};
use crate::probe::{Operation, Pool, ProbeKind, ProbeTable, Restore, Shared};
use crate::record::{CurveRecord, Outcome, ProbeLine, probe};
use crate::rows::RowSource;
use crate::target::{Failure, FailureKind, Session, Table, TableFacts};

/// How often an iteration is done again after a connection was lost.
const MAX_ATTEMPTS_AGAIN: u32 = 3;
/// Rows of a table without an index that finds one, up to which rows are looked up by going through it.
const SCANNED_ROWS_MOST: u64 = 10_000;
/// Operations with which a probe is tried.
const TRIAL_OPS: u64 = 2;
/// What the values are chosen by that updates set.
const SALT: &str = "probe values";
/// Rows that an unfinished probe without a limit of operations may have inserted: its removal stops earlier, where no more are found.
const INSERTED_ROWS_MOST: u64 = 100_000_000;

/// The table of a curve as probes see it.
///
/// # Errors
/// Why nothing can be asked of it.
fn probe_table(whole: &Plan, source: Arc<RowSource>, facts: &TableFacts) -> Result<ProbeTable, String> {
    let own = whole.schema.is_none() && whole.index_order == crate::rows::IndexOrder::Ascending
        || whole.schema.is_none() && facts.auto_increment().is_none();
    ProbeTable::new(source, facts, own)
}

/// Tries every probe of a plan once, on a table of `rows` rows that is dropped afterwards. Gives those that cannot be run here, with
/// the reason.
///
/// # Errors
/// A probe read something wrong.
pub fn try_all(
    whole: &Plan,
    plan: &CurvePlan,
    table: &mut dyn Table,
    source: &Arc<RowSource>,
    rows: u64,
) -> Result<BTreeMap<String, String>, Failure> {
    let mut left_out = BTreeMap::new();
    let Some(probes) = &whole.probe else { return Ok(left_out) };
    let all = |why: String| probes.probes.iter().map(|kind| (kind.word().to_owned(), why.clone())).collect();
    let subject = match probe_table(whole, Arc::clone(source), table.facts()) {
        Ok(subject) => Arc::new(subject),
        Err(why) => return Ok(all(why)),
    };
    let boundary = Boundary::read(table, rows)?;
    for &kind in &probes.probes {
        if let Some(why) = subject.unable(kind, &plan.cell.engine_entry) {
            left_out.insert(kind.word().to_owned(), why);
            continue;
        }
        let mut session = table.connect()?;
        let tried = try_one(session.as_mut(), whole.seed, &subject, kind, boundary);
        // Before another connection is opened, or rows are removed over another one.
        drop(session);
        match tried {
            Err(failure) if failure.code.is_some() || failure.kind == FailureKind::Unable => {
                left_out.insert(kind.word().to_owned(), failure.to_string());
            }
            other => other?,
        }
        if kind.inserts() {
            boundary::take_back_growing(table, source, boundary, rows..rows + TRIAL_OPS)?;
        }
    }
    Ok(left_out)
}

fn try_one(
    session: &mut dyn Session,
    seed: u64,
    subject: &Arc<ProbeTable>,
    kind: ProbeKind,
    boundary: Boundary,
) -> Result<(), Failure> {
    let mut pools = Pools::new(seed, subject, kind, boundary, Some(TRIAL_OPS), 0)?;
    let rows = pools.looked_up(subject);
    if !rows.is_empty() {
        let ids = asking::look_up(session, subject, &rows, subject.is_scanned())?;
        pools = pools.with_ids(ids);
    }
    let follow = pools.follow;
    let shared = pools.shared(subject, boundary.table_rows, Stream::new(seed, SALT));
    let mut operation = Operation::prepare(session, subject, kind, follow)?;
    for number in 0..TRIAL_OPS {
        if let Err(failure) = operation.run(session, &shared, number) {
            // The failure is what counts.
            let _ = session.rollback();
            let _ = operation.end(session, subject);
            return Err(failure);
        }
    }
    operation.end(session, subject)?;
    if kind.updates() {
        let mut restore = Restore::prepare(session, subject, kind)?;
        for index in 0..shared.changes.length().unwrap_or(0) {
            restore.row(session, &shared, index)?;
        }
        session.forget()?;
    }
    Ok(())
}

/// The rows of a probe at one table size.
struct Pools {
    reads: Pool,
    changes: Pool,
    /// The ids of the rows that are read are known to count without a gap.
    follow: bool,
    /// Values that were read are not compared: no column tells which row an id is.
    unchecked: bool,
    /// Whether the rows that are read need their ids looked up.
    look_up_reads: bool,
    /// Whether those that are changed do.
    look_up_changes: bool,
}

impl Pools {
    /// # Errors
    /// Ids have to be looked up and nothing finds them.
    fn new(
        seed: u64,
        subject: &ProbeTable,
        kind: ProbeKind,
        boundary: Boundary,
        ops: Option<u64>,
        turn: u64,
    ) -> Result<Self, Failure> {
        let (reads, changes) = match kind {
            ProbeKind::Oltp => (TRANSACTION_READS, TRANSACTION_CHANGES),
            _ => (1, 1),
        };
        let times = |each: u64| ops.map(|ops| ops.saturating_mul(each));
        let rows = boundary.table_rows;
        let counted = subject.generated_key(0).is_none();
        let without_gap = counted && boundary.max_id == Some(rows);
        let found = !subject.is_scanned() || rows <= SCANNED_ROWS_MOST;
        let changes_rows = kind.updates() && kind != ProbeKind::UpdateSecondary;
        let reads_by_key = !matches!(
            kind,
            ProbeKind::SelectSecondary | ProbeKind::Insert | ProbeKind::UpdatePk | ProbeKind::UpdateSecondary
        );
        // Transactions do not compare what they read, which others may be changing.
        let unchecked = without_gap && !subject.tells_row() && !found && kind != ProbeKind::Oltp;
        let enough = without_gap && (subject.tells_row() || kind == ProbeKind::Oltp || unchecked);
        let look_up_reads = counted && reads_by_key && !enough;
        let look_up_changes = counted && changes_rows;
        if (look_up_reads || look_up_changes) && !found {
            return Err(Failure {
                kind: FailureKind::Unable,
                code: None,
                message: "no unique column finds a row again, so its id is not known".into(),
            });
        }
        let mut pool = Pool::new(seed, "probe rows", turn, rows);
        if look_up_reads {
            pool = pool.bounded(times(reads));
        }
        let reads = if unchecked { pool.unchecked() } else { pool };
        let changes = Pool::new(seed, "probe changes", turn, rows).bounded(times(changes));
        let follow = counted && enough;
        Ok(Self { reads, changes, follow, unchecked, look_up_reads, look_up_changes })
    }

    /// Rows whose ids have to be looked up: those that are read, then those that are changed.
    fn looked_up(&self, subject: &ProbeTable) -> Vec<u64> {
        let rows = |pool: &Pool, wanted: bool| {
            let length = if wanted { pool.length().unwrap_or(0) } else { 0 };
            (0..length).map(|index| pool.row(index)).collect::<Vec<u64>>()
        };
        debug_assert!(subject.generated_key(0).is_none() || !(self.look_up_reads || self.look_up_changes));
        let mut all = rows(&self.reads, self.look_up_reads);
        all.extend(rows(&self.changes, self.look_up_changes));
        all
    }

    fn with_ids(mut self, mut ids: Vec<u64>) -> Self {
        if self.look_up_reads {
            let rest = ids.split_off((self.reads.length().unwrap_or(0) as usize).min(ids.len()));
            self.reads = self.reads.with_ids(ids);
            ids = rest;
        }
        if self.look_up_changes {
            self.changes = self.changes.with_ids(ids);
        }
        self
    }

    fn shared(self, subject: &Arc<ProbeTable>, table_rows: u64, salt: Stream) -> Shared {
        Shared {
            table: Arc::clone(subject),
            reads: self.reads,
            changes: self.changes,
            table_rows,
            inserted: AtomicU64::new(0),
            salt,
        }
    }
}

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
    /// The curve.
    pub plan: &'a CurvePlan,
    /// Its table.
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
                    Err(Stop::Failed(_)) if runner.interrupt.is_asked() => return Ok(Some(Outcome::Interrupted)),
                    Err(Stop::Failed(failure)) => return Ok(Some(super::curve::failed(&failure))),
                    Err(Stop::Cancelled) => {
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

/// Puts back what a probe that something ended has changed.
///
/// # Errors
/// The inner one: the target's. The outer one: results cannot be saved.
pub fn put_back_unfinished(
    runner: &mut Runner<'_>,
    point: &mut Point<'_>,
    open: &Line,
    guard: &mut Guard<'_>,
) -> Result<Result<(), Failure>, Error> {
    let Line::Probe { table_rows, probe, ops, turn, .. } = open else { return Ok(Ok(())) };
    let Ok(kind) = probe.parse::<ProbeKind>() else { return Ok(Ok(())) };
    let Ok(subject) = probe_table(runner.plan, Arc::clone(&point.ready.source), point.table.facts()) else {
        return Ok(Ok(()));
    };
    let subject = Arc::new(subject);
    // The pools are those of the table as it was; rows that were lost since are looked for and not found.
    let there = Boundary { table_rows: *table_rows, max_id: None };
    let result = (|| {
        if kind.inserts() && point.boundary.table_rows == *table_rows {
            return remove_inserted(runner, point, ops.unwrap_or(INSERTED_ROWS_MOST));
        }
        if !kind.updates() || point.boundary.table_rows == 0 {
            return Ok(());
        }
        let pools = Pools::new(runner.plan.seed, &subject, kind, there, *ops, *turn)?;
        put_back(runner, point, &subject, kind, pools, true, guard).map_err(|stop| match stop {
            Stop::Failed(failure) => failure,
            _ => Failure { kind: FailureKind::Cancelled, code: None, message: "interrupted".into() },
        })
    })();
    if result.is_ok() {
        runner.directory.note(&Line::ProbeDone { curve: point.plan.number, batch: point.batch })?;
        runner.reporter.report(&Event::Note(&format!("what an unfinished probe {kind} had changed is put back")));
    }
    Ok(result)
}

/// Removes the rows that an inserting probe has added.
fn remove_inserted(runner: &Runner<'_>, point: &mut Point<'_>, most: u64) -> Result<(), Failure> {
    let first = point.boundary.table_rows;
    let (source, before) = (Arc::clone(&point.ready.source), point.boundary);
    patience::patiently(point.table, &runner.interrupt, None, "removing the rows of a probe", move |table| {
        boundary::take_back_growing(table, &source, before, first..first.saturating_add(most))
    })
    .map(|_| ())
}

/// Looks up the ids that the pools need, over all connections.
fn with_ids(
    point: &mut Point<'_>,
    subject: &Arc<ProbeTable>,
    pools: Pools,
    may_miss: bool,
    guard: &mut Guard<'_>,
) -> Result<Pools, Stop> {
    let rows = pools.looked_up(subject);
    if rows.is_empty() {
        return Ok(pools);
    }
    let scan = subject.is_scanned();
    let crew = &point.ready.crew;
    let table = &mut *point.table;
    let ids =
        asking::look_up_all(crew, subject, rows, scan, may_miss, &mut |done| guard.watch(table, Duration::ZERO, done));
    match ids {
        Ok(Some(ids)) => Ok(pools.with_ids(ids)),
        Ok(None) => Err(Stop::Cancelled),
        Err(failure) => Err(Stop::Failed(failure)),
    }
}

/// Puts back the columns that a probe has changed.
fn put_back(
    runner: &Runner<'_>,
    point: &mut Point<'_>,
    subject: &Arc<ProbeTable>,
    kind: ProbeKind,
    pools: Pools,
    may_miss: bool,
    guard: &mut Guard<'_>,
) -> Result<(), Stop> {
    let pools = with_ids(point, subject, pools, may_miss, guard)?;
    let salt = Stream::new(runner.plan.seed, SALT);
    let shared = Arc::new(pools.shared(subject, point.boundary.table_rows, salt));
    put_back_shared(point, kind, &shared, guard)
}

fn put_back_shared(
    point: &mut Point<'_>,
    kind: ProbeKind,
    shared: &Arc<Shared>,
    guard: &mut Guard<'_>,
) -> Result<(), Stop> {
    let in_transaction = point.plan.cell.engine_entry.can.transactions;
    let table = &mut *point.table;
    let ended = asking::put_back_all(&point.ready.crew, kind, shared, in_transaction, &mut |done| {
        guard.watch(table, Duration::ZERO, done)
    });
    match ended {
        Ok(true) => Ok(()),
        Ok(false) => Err(Stop::Cancelled),
        Err(failure) => Err(Stop::Failed(failure)),
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
        entry: &CurveRecord,
        point: &mut Point<'_>,
        guard: &mut Guard<'_>,
        open: Vec<u32>,
    ) -> Result<(), Stop> {
        let warmup = self.plan.warmup.then_some(0);
        let mut again = 0;
        let mut left: Vec<u32> = warmup.into_iter().chain(open).collect();
        while let Some(&iteration) = left.first() {
            // With fixed keys all iterations have the same rows, which are looked up and put back once.
            let together = if self.plan.fresh_keys { 1 } else { left.len() };
            let result = self.iterations(runner, entry, point, guard, iteration, &mut left, together);
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
                    self.recover(runner, point, guard, iteration)?;
                }
                // The table is to be whole where a rule ends the curve; after a signal resume sees to it.
                Err(Stop::Cancelled) if guard.firing.is_some() => {
                    guard.heeds_rules = false;
                    self.recover(runner, point, guard, iteration)?;
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
        Pools::new(runner.plan.seed, self.subject, self.kind, point.boundary, self.ops, turn)
    }

    /// New connections, and a table as it was.
    fn recover(
        &self,
        runner: &mut Runner<'_>,
        point: &mut Point<'_>,
        guard: &mut Guard<'_>,
        iteration: u32,
    ) -> Result<(), Stop> {
        let first = point.boundary.table_rows;
        reconnect(runner, point.plan, point.table, point.ready, first..first, point.boundary)?;
        if self.kind.inserts() {
            remove_inserted(runner, point, self.ops.unwrap_or(INSERTED_ROWS_MOST))?;
        }
        if self.kind.updates() {
            let pools = self.pools(runner, point, iteration)?;
            put_back(runner, point, self.subject, self.kind, pools, false, guard)?;
        }
        runner.directory.note(&Line::ProbeDone { curve: point.plan.number, batch: point.batch })?;
        Ok(())
    }

    /// Some iterations with the same rows: they are taken off `left` as they are recorded.
    #[allow(clippy::too_many_arguments)]
    fn iterations(
        &self,
        runner: &mut Runner<'_>,
        entry: &CurveRecord,
        point: &mut Point<'_>,
        guard: &mut Guard<'_>,
        first: u32,
        left: &mut Vec<u32>,
        together: usize,
    ) -> Result<(), Stop> {
        let pools = self.pools(runner, point, first)?;
        let (follow, unchecked) = (pools.follow, pools.unchecked);
        let looked_up = pools.look_up_reads || pools.look_up_changes;
        let pools = with_ids(point, self.subject, pools, false, guard)?;
        let changes = self.kind.updates() || self.kind.inserts();
        if changes {
            runner.directory.note(&Line::Probe {
                curve: point.plan.number,
                batch: point.batch,
                table_rows: point.boundary.table_rows,
                probe: self.kind.word().to_owned(),
                ops: self.ops,
                turn: self.turn(point.batch, first),
            })?;
        }
        let salt = Stream::new(runner.plan.seed, SALT);
        let mut shared = pools.shared(self.subject, point.boundary.table_rows, salt);
        let connections = self.connections as usize;
        let mut operations = asking::prepare_all(&point.ready.crew, connections, self.subject, self.kind, follow)?;
        let limits =
            Limits { ops: self.ops, time: self.plan.seconds.and_then(|limit| Duration::try_from_secs_f64(limit).ok()) };
        for _ in 0..together {
            let Some(&iteration) = left.first() else { break };
            shared.salt = salt.fork(u64::from(iteration));
            shared.inserted = AtomicU64::new(0);
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
            shared = Arc::try_unwrap(now).map_err(|_| Failure::fatal("a connection did not come back"))?;
            if self.kind.inserts() {
                let inserted = shared.inserted.load(Ordering::Relaxed);
                remove_inserted(runner, point, inserted)?;
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
            let notes = [(measured.ended_by_time, probe::TIMED), (looked_up, "looked-up"), (unchecked, "unchecked")];
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
                p99_us: quantile(0.99),
                max_us: (!latency.is_empty()).then_some(longest),
                errors: measured.errors,
                notes: notes.join(" "),
            };
            runner.directory.append_probe(&line)?;
            runner.reporter.report(&Event::Probe { line: &line });
        }
        asking::end_all(&point.ready.crew, operations, self.subject)?;
        if self.kind.updates() {
            put_back_shared(point, self.kind, &Arc::new(shared), guard)?;
        }
        if changes {
            runner.directory.note(&Line::ProbeDone { curve: point.plan.number, batch: point.batch })?;
        }
        Ok(())
    }
}
