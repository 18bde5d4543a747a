//! Whether each probe can be run on a table at all: tried at the trial of a cell, so that it is known in the first seconds.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::asking;
use crate::plan::probe_kind::ProbeKind;
use crate::plan::{CurvePlan, Plan};
use crate::probe::{Operation, Pools, ProbeTable, Restore};
use crate::rows::{IndexOrder, RowSource, TableKind};
use crate::run::boundary::{self, Boundary};
use crate::targets::{Failure, FailureKind, Session, Table, TableFacts};

/// Operations with which a probe is tried.
const TRIAL_OPS: u64 = 2;

/// The table of a curve as probes see it.
///
/// # Errors
/// Why nothing can be asked of it.
pub(super) fn probe_table(whole: &Plan, source: Arc<RowSource>, facts: &TableFacts) -> Result<ProbeTable, String> {
    let ascends = whole.index_order == IndexOrder::Ascending || facts.auto_increment().is_none();
    let own = whole.table_kind() == TableKind::Own && ascends;
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
    let mut pools = Pools::new(seed, subject, kind, (boundary.table_rows, boundary.max_id), Some(TRIAL_OPS), 0)?;
    let rows = pools.looked_up(subject);
    if !rows.is_empty() {
        let ids = asking::look_up(session, subject, rows.into_iter(), &|| true)?;
        pools = pools.with_ids(ids);
    }
    let follow = pools.follow;
    let shared = pools.shared(subject, boundary.table_rows, seed);
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
