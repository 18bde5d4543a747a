//! What the crew asks between batches: the iterations of a probe, look-ups of ids, changes put back.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::plan::probe_kind::ProbeKind;
use crate::probe::table::number;
use crate::probe::{Operation, ProbeTable, Restore, Shared};
use crate::run::clock::Clock;
use crate::run::curve::GRACE;
use crate::run::workers::{Crew, Job, Watch, new_histogram, record_latency};
use crate::targets::{Failure, FailureKind, Rows, Session};

/// How often an operation is done again that a deadlock or a lock wait ended.
const MAX_RETRIES: u32 = 20;
/// Rows that are put back in one transaction.
const PUT_BACK_AT_ONCE: usize = 200;

/// What ends an iteration.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Operations over all connections.
    pub ops: Option<u64>,
    /// Time since the release of the connections.
    pub time: Option<Duration>,
}

/// What was measured of an iteration.
pub struct Iteration {
    /// Operations done.
    pub ops: u64,
    /// Operations begun, from the first number on.
    pub begun: u64,
    /// From the release of the connections to the last answer.
    pub seconds: Duration,
    /// Latency of an operation, microseconds.
    pub latency: Histogram<u64>,
    pub longest: Duration,
    /// Operations that were done again.
    pub errors: u64,
    /// Whether the time ended it.
    pub ended_by_time: bool,
    /// Why it is not whole.
    pub failure: Option<Failure>,
    /// Whether somebody outside ended it.
    pub cancelled: bool,
    /// The statements, for the next one.
    pub operations: Vec<Operation>,
}

/// What one connection did.
struct Worked {
    operation: Operation,
    started: Duration,
    finished: Duration,
    ops: u64,
    errors: u64,
    latency: Histogram<u64>,
    longest: Duration,
    ended_by_time: bool,
    failure: Option<Failure>,
}

/// Has the crew do jobs that may fail. `None` when `watch` ended them.
fn all<T: Send + 'static>(
    crew: &Crew,
    jobs: Vec<Job<Result<T, Failure>>>,
    abort: &AtomicBool,
    watch: &mut dyn FnMut() -> Watch,
) -> Result<Option<Vec<T>>, Failure> {
    let wanted = jobs.len();
    let mut cancelled = false;
    let given = crew.each(jobs, GRACE, abort, &mut || {
        let decision = watch();
        cancelled |= decision == Watch::Cancel;
        decision
    });
    if cancelled {
        return Ok(None);
    }
    let results: Vec<Result<T, Failure>> = given.into_iter().flatten().collect();
    if results.len() < wanted {
        return Err(not_back(wanted - results.len()));
    }
    results.into_iter().collect::<Result<Vec<T>, Failure>>().map(Some)
}

fn not_back(connections: usize) -> Failure {
    Failure::fatal(format!("{connections} connections did not come back"))
}

/// Makes the statements of a probe ready on so many connections. `None` when `watch` ended it.
///
/// # Errors
/// What the target said.
pub fn prepare_all(
    crew: &Crew,
    connections: usize,
    table: &Arc<ProbeTable>,
    (kind, follow): (ProbeKind, bool),
    watch: &mut dyn FnMut() -> Watch,
) -> Result<Option<Vec<Operation>>, Failure> {
    let job = |_| -> Job<Result<Operation, Failure>> {
        let table = Arc::clone(table);
        Box::new(move |session| {
            session.catch_up()?;
            Operation::prepare(session, &table, kind, follow)
        })
    };
    all(crew, (0..connections).map(job).collect(), &AtomicBool::new(false), watch)
}

/// Gives the statements up again.
///
/// # Errors
/// What the target said.
pub fn end_all(
    crew: &Crew,
    operations: Vec<Operation>,
    table: &Arc<ProbeTable>,
    watch: &mut dyn FnMut() -> Watch,
) -> Result<(), Failure> {
    let job = |operation: Operation| -> Job<Result<(), Failure>> {
        let table = Arc::clone(table);
        Box::new(move |session| operation.end(session, &table))
    };
    all(crew, operations.into_iter().map(job).collect(), &AtomicBool::new(false), watch).map(|_| ())
}

/// Runs one iteration: all connections are released together and take operations from a shared counter. `watch` is given the
/// operations done so far.
pub fn iterate(
    crew: &Crew,
    clock: &Arc<dyn Clock>,
    operations: Vec<Operation>,
    shared: &Arc<Shared>,
    limits: Limits,
    watch: &mut dyn FnMut(u64) -> Watch,
) -> Iteration {
    let connections = operations.len();
    let release = Arc::new(Barrier::new(connections));
    let next = Arc::new(AtomicU64::new(0));
    let done = Arc::new(AtomicU64::new(0));
    let abort = Arc::new(AtomicBool::new(false));
    let job = |operation: Operation| -> Job<Worked> {
        let mut hand = Hand {
            clock: Arc::clone(clock),
            shared: Arc::clone(shared),
            next: Arc::clone(&next),
            done: Arc::clone(&done),
            abort: Arc::clone(&abort),
            limits,
        };
        let release = Arc::clone(&release);
        Box::new(move |session| {
            release.wait();
            hand.work(session, operation)
        })
    };
    let jobs: Vec<Job<Worked>> = operations.into_iter().map(job).collect();
    let mut cancelled = false;
    let given = crew.each(jobs, GRACE, &abort, &mut || {
        let decision = watch(done.load(Ordering::Relaxed));
        cancelled |= decision == Watch::Cancel;
        decision
    });
    let mut iteration = Iteration {
        ops: 0,
        begun: limits.ops.unwrap_or(u64::MAX).min(next.load(Ordering::Relaxed)),
        seconds: Duration::ZERO,
        latency: new_histogram(),
        longest: Duration::ZERO,
        errors: 0,
        ended_by_time: false,
        failure: None,
        cancelled,
        operations: Vec::new(),
    };
    let (mut started, mut finished) = (None, Duration::ZERO);
    for worked in given.into_iter().flatten() {
        started = Some(started.map_or(worked.started, |known: Duration| known.min(worked.started)));
        finished = finished.max(worked.finished);
        iteration.ops += worked.ops;
        iteration.errors += worked.errors;
        iteration.longest = iteration.longest.max(worked.longest);
        // Both histograms grow as needed, so that adding cannot fail.
        let _ = iteration.latency.add(&worked.latency);
        iteration.ended_by_time |= worked.ended_by_time;
        iteration.failure = worse(iteration.failure.take(), worked.failure);
        iteration.operations.push(worked.operation);
    }
    iteration.seconds = finished.saturating_sub(started.unwrap_or(finished));
    if iteration.operations.len() < connections && iteration.failure.is_none() {
        iteration.failure = Some(not_back(connections - iteration.operations.len()));
    }
    iteration
}

/// What was wrong is more than that a connection was told to stop or went away.
fn worse(first: Option<Failure>, second: Option<Failure>) -> Option<Failure> {
    let is_own = |failure: &Failure| !matches!(failure.kind, FailureKind::Cancelled | FailureKind::Lost);
    match (first, second) {
        (Some(first), Some(second)) if !is_own(&first) && is_own(&second) => Some(second),
        (Some(first), _) => Some(first),
        (None, second) => second,
    }
}

/// What a connection's thread has for an iteration.
struct Hand {
    clock: Arc<dyn Clock>,
    shared: Arc<Shared>,
    next: Arc<AtomicU64>,
    done: Arc<AtomicU64>,
    abort: Arc<AtomicBool>,
    limits: Limits,
}

impl Hand {
    fn work(&mut self, session: &mut dyn Session, operation: Operation) -> Worked {
        let started = self.clock.now();
        let mut worked = Worked {
            operation,
            started,
            finished: started,
            ops: 0,
            errors: 0,
            latency: new_histogram(),
            longest: Duration::ZERO,
            ended_by_time: false,
            failure: None,
        };
        while !self.abort.load(Ordering::Relaxed) {
            if self.limits.time.is_some_and(|time| worked.finished.saturating_sub(started) >= time) {
                worked.ended_by_time = true;
                break;
            }
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if self.limits.ops.is_some_and(|ops| number >= ops) {
                break;
            }
            if let Err(failure) = self.one(session, number, &mut worked) {
                self.abort.store(true, Ordering::SeqCst);
                worked.failure = Some(failure);
                break;
            }
        }
        worked
    }

    fn one(&mut self, session: &mut dyn Session, number: u64, worked: &mut Worked) -> Result<(), Failure> {
        let begun = worked.finished;
        let mut again = 0;
        loop {
            match worked.operation.run(session, &self.shared, number) {
                Ok(()) => break,
                Err(failure) if failure.kind == FailureKind::Retry && again < MAX_RETRIES => {
                    again += 1;
                    worked.errors += 1;
                    session.rollback()?;
                }
                Err(failure) => {
                    // The failure is what counts; what was open ends with the connection at the latest.
                    let _ = session.rollback();
                    return Err(failure);
                }
            }
        }
        worked.finished = self.clock.now();
        let took = worked.finished.saturating_sub(begun);
        record_latency(&mut worked.latency, took);
        worked.longest = worked.longest.max(took);
        worked.ops += 1;
        self.done.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// The ids of rows, over one connection, as far as `go_on`, which is asked after each of them, says yes.
///
/// # Errors
/// What the target said; a row that is not there.
pub fn look_up(
    session: &mut dyn Session,
    table: &ProbeTable,
    rows: impl Iterator<Item = u64>,
    go_on: &dyn Fn() -> bool,
) -> Result<Vec<u64>, Failure> {
    let scan = table.is_scanned();
    let statement = session.prepare(&table.select_id(scan))?;
    let mut found = Rows::default();
    let mut ids = Vec::new();
    for row in rows {
        session.ask(statement, &table.id_values(row, scan), &mut found)?;
        let id = found.first().and_then(|got| number(&got[0]));
        ids.push(
            id.ok_or_else(|| Failure::fatal(format!("row {row} is not found by its values, so its id is not known")))?,
        );
        if !go_on() {
            break;
        }
    }
    session.forget()?;
    Ok(ids)
}

/// The ids of rows, over all connections. `None` when `watch` ended it.
///
/// # Errors
/// As [`look_up`].
pub fn look_up_all(
    crew: &Crew,
    table: &Arc<ProbeTable>,
    rows: Vec<u64>,
    watch: &mut dyn FnMut(u64) -> Watch,
) -> Result<Option<Vec<u64>>, Failure> {
    let workers = crew.len().max(1);
    let abort = Arc::new(AtomicBool::new(false));
    let done = Arc::new(AtomicU64::new(0));
    let rows = Arc::new(rows);
    let job = |first: usize| -> Job<Result<Vec<u64>, Failure>> {
        let (table, rows) = (Arc::clone(table), Arc::clone(&rows));
        let (abort, done) = (Arc::clone(&abort), Arc::clone(&done));
        Box::new(move |session| {
            session.catch_up()?;
            look_up(session, &table, rows.iter().copied().skip(first).step_by(workers), &|| {
                done.fetch_add(1, Ordering::Relaxed);
                !abort.load(Ordering::Relaxed)
            })
        })
    };
    let jobs = (0..workers).map(job).collect();
    let Some(parts) = all(crew, jobs, &abort, &mut || watch(done.load(Ordering::Relaxed)))? else { return Ok(None) };
    let mut ids = vec![0; rows.len()];
    for (first, part) in parts.into_iter().enumerate() {
        for (place, id) in part.into_iter().enumerate() {
            ids[first + place * workers] = id;
        }
    }
    Ok(Some(ids))
}

/// Puts back what a probe changed in the first `rows` of its pool, over all connections. `false` when `watch` ended it.
///
/// # Errors
/// What the target said.
pub fn put_back_all(
    crew: &Crew,
    kind: ProbeKind,
    shared: &Arc<Shared>,
    rows: u64,
    in_transactions: bool,
    watch: &mut dyn FnMut(u64) -> Watch,
) -> Result<bool, Failure> {
    let workers = crew.len().max(1);
    // Each row once and in order, so that no two connections want the same one.
    let mut rows: Vec<(u64, u64)> = (0..rows).map(|index| (shared.changes.row(index), index)).collect();
    rows.sort_unstable();
    rows.dedup_by_key(|(row, _)| *row);
    let indexes: Arc<Vec<u64>> = Arc::new(rows.into_iter().map(|(_, index)| index).collect());
    let abort = Arc::new(AtomicBool::new(false));
    let done = Arc::new(AtomicU64::new(0));
    let job = |worker: usize| -> Job<Result<(), Failure>> {
        let shared = Arc::clone(shared);
        let (abort, done, indexes) = (Arc::clone(&abort), Arc::clone(&done), Arc::clone(&indexes));
        Box::new(move |session| {
            session.catch_up()?;
            let mut restore = Restore::prepare(session, &shared.table, kind)?;
            let own = &indexes[indexes.len() * worker / workers..indexes.len() * (worker + 1) / workers];
            for part in own.chunks(PUT_BACK_AT_ONCE) {
                if abort.load(Ordering::Relaxed) {
                    break;
                }
                let mut again = 0;
                loop {
                    match put_back(session, &mut restore, &shared, part, in_transactions) {
                        Err(failure) if failure.kind == FailureKind::Retry && again < MAX_RETRIES => {
                            session.rollback()?;
                            again += 1;
                        }
                        other => break other?,
                    }
                }
                done.fetch_add(part.len() as u64, Ordering::Relaxed);
            }
            session.forget()
        })
    };
    let jobs = (0..workers).map(job).collect();
    let ended = all(crew, jobs, &abort, &mut || watch(done.load(Ordering::Relaxed)))?;
    Ok(ended.is_some())
}

fn put_back(
    session: &mut dyn Session,
    restore: &mut Restore,
    shared: &Shared,
    indexes: &[u64],
    in_transaction: bool,
) -> Result<(), Failure> {
    if in_transaction {
        session.begin()?;
    }
    for &index in indexes {
        restore.row(session, shared, index)?;
    }
    if in_transaction { session.commit() } else { Ok(()) }
}
