//! Putting a table back to what it was before a probe.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::trial::probe_table;
use super::{Point, Stop, asking};
use crate::error::Error;
use crate::plan::probe_kind::ProbeKind;
use crate::probe::{Pools, ProbeTable, Shared};
use crate::record::event::Event;
use crate::record::store;
use crate::run::journal::Line;
use crate::run::loading::Guard;
use crate::run::warden::How;
use crate::run::{Runner, boundary};
use crate::targets::{Failure, FailureKind};

/// Name of the file of ids in a run directory: eight bytes each, the lowest first, while a probe changes rows.
const IDS_FILE: &str = "probe-ids";
/// Rows that an unfinished probe without a limit of operations may have inserted: its removal stops earlier, where no more are found.
pub(super) const INSERTED_ROWS_MOST: u64 = 100_000_000;

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
    // The pools are those of the table as it was; rows that were lost since are not made again.
    let result = (|| {
        if kind.inserts() {
            let rows = (*table_rows, ops.unwrap_or(INSERTED_ROWS_MOST));
            return remove_inserted(runner, point, rows, How::Work);
        }
        if !kind.updates() || point.boundary.table_rows == 0 {
            return Ok(());
        }
        let pools = Pools::new(runner.plan.seed, &subject, kind, (*table_rows, None), *ops, *turn)?;
        put_back(runner, point, &subject, kind, pools, guard).map_err(|stop| match stop {
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

/// Removes the rows that an inserting probe has added to a table of `first` rows.
pub(super) fn remove_inserted(
    runner: &mut Runner<'_>,
    point: &mut Point<'_>,
    (first, most): (u64, u64),
    how: How,
) -> Result<(), Failure> {
    let (source, before) = (Arc::clone(&point.ready.source), point.boundary);
    let what = ("removing the rows of a probe", how);
    runner
        .warden
        .on_table(runner.reporter, point.table, what, move |table| {
            boundary::take_back_growing(table, &source, before, first..first.saturating_add(most))
        })
        .map(|_| ())
}

/// Looks up the ids that the pools need, over all connections.
pub(super) fn with_ids(
    point: &mut Point<'_>,
    subject: &Arc<ProbeTable>,
    pools: Pools,
    guard: &mut Guard<'_>,
) -> Result<Pools, Stop> {
    let rows = pools.looked_up(subject);
    if rows.is_empty() {
        return Ok(pools);
    }
    let crew = &point.ready.crew;
    let table = &mut *point.table;
    let ids = asking::look_up_all(crew, subject, rows, &mut |done| guard.watch(table, Duration::ZERO, done));
    match ids {
        Ok(Some(ids)) => Ok(pools.with_ids(ids)),
        Ok(None) => Err(Stop::Cancelled),
        Err(failure) => Err(Stop::Failed(failure)),
    }
}

/// Writes down the ids of the rows that are going to be changed: what is changed may be what they are found by.
pub(super) fn remember(directory: &Path, pools: &Pools) -> Result<(), Error> {
    let path = directory.join(IDS_FILE);
    let saved = match pools.changes.ids() {
        None => match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
        Some(ids) => store::replace_file(&path, &ids.iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>()),
    };
    saved.map_err(|error| Error::Results { path, cause: error.to_string() })
}

fn remembered(directory: &Path) -> Result<Vec<u64>, Failure> {
    let path = directory.join(IDS_FILE);
    let bytes = std::fs::read(&path).map_err(|error| {
        let next =
            "the ids of the rows that a probe has changed are not known: start the run again in another directory";
        Failure::fatal(format!("{}: {error}; {next}", path.display()))
    })?;
    Ok(bytes.chunks_exact(8).filter_map(|id| Some(u64::from_le_bytes(*id.first_chunk()?))).collect())
}

/// Puts back the columns that a probe has changed, of which only the journal tells.
pub(super) fn put_back(
    runner: &Runner<'_>,
    point: &mut Point<'_>,
    subject: &Arc<ProbeTable>,
    kind: ProbeKind,
    pools: Pools,
    guard: &mut Guard<'_>,
) -> Result<(), Stop> {
    let pools = match pools.look_up_changes {
        true => Pools { changes: pools.changes.with_ids(remembered(runner.directory.path())?), ..pools },
        false => pools,
    };
    let shared = Arc::new(pools.shared(subject, point.boundary.table_rows, runner.plan.seed));
    put_back_shared(point, kind, &shared, u64::MAX, guard)
}

/// Puts back what the first `operations` of a probe have changed.
pub(super) fn put_back_shared(
    point: &mut Point<'_>,
    kind: ProbeKind,
    shared: &Arc<Shared>,
    operations: u64,
    guard: &mut Guard<'_>,
) -> Result<(), Stop> {
    let in_transaction = point.plan.cell.engine_entry.can.transactions;
    let table = &mut *point.table;
    let rows = shared.changes.length().unwrap_or(0).min(operations.saturating_mul(kind.changes()));
    let ended = asking::put_back_all(&point.ready.crew, kind, shared, rows, in_transaction, &mut |done| {
        guard.watch(table, Duration::ZERO, done)
    });
    match ended {
        Ok(true) => Ok(()),
        Ok(false) => Err(Stop::Cancelled),
        Err(failure) => Err(Stop::Failed(failure)),
    }
}
