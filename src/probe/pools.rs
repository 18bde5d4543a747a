//! The rows of one probe at one table size: those that are read and those that are changed, and which of their ids have to be known.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::{Pool, ProbeTable, Shared};
use crate::key::mix::Stream;
use crate::plan::probe_kind::ProbeKind;
use crate::targets::{Failure, FailureKind};

/// Rows of a table without an index that finds one, up to which rows are looked up by going through it.
pub const SCANNED_ROWS_MOST: u64 = 10_000;
/// What the values are chosen by that updates set.
const SALT: &str = "probe values";

/// The rows of a probe at one table size.
pub struct Pools {
    /// Rows that are read.
    pub reads: Pool,
    /// Rows that are changed.
    pub changes: Pool,
    /// The ids of the rows that are read are known to count without a gap.
    pub follow: bool,
    /// Values that were read are not compared: no column tells which row an id is.
    pub unchecked: bool,
    /// Whether the rows that are read need their ids looked up.
    pub look_up_reads: bool,
    /// Whether those that are changed do.
    pub look_up_changes: bool,
}

impl Pools {
    /// The rows for a table of so many rows whose highest AUTO_INCREMENT value is known.
    ///
    /// # Errors
    /// Ids have to be looked up and nothing finds them.
    pub fn new(
        seed: u64,
        subject: &ProbeTable,
        kind: ProbeKind,
        (rows, max_id): (u64, Option<u64>),
        ops: Option<u64>,
        turn: u64,
    ) -> Result<Self, Failure> {
        let times = |each: u64| ops.map(|ops| ops.saturating_mul(each));
        let counted = subject.generated_key(0).is_none();
        let without_gap = counted && max_id == Some(rows);
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
            pool = pool.bounded(times(kind.reads()));
        }
        let reads = if unchecked { pool.unchecked() } else { pool };
        let changes = Pool::new(seed, "probe changes", turn, rows).bounded(times(kind.changes()));
        let follow = counted && enough;
        Ok(Self { reads, changes, follow, unchecked, look_up_reads, look_up_changes })
    }

    /// Rows whose ids have to be looked up: those that are read, then those that are changed.
    pub fn looked_up(&self, subject: &ProbeTable) -> Vec<u64> {
        let rows = |pool: &Pool, wanted: bool| {
            let length = if wanted { pool.length().unwrap_or(0) } else { 0 };
            (0..length).map(|index| pool.row(index)).collect::<Vec<u64>>()
        };
        debug_assert!(subject.generated_key(0).is_none() || !(self.look_up_reads || self.look_up_changes));
        let mut all = rows(&self.reads, self.look_up_reads);
        all.extend(rows(&self.changes, self.look_up_changes));
        all
    }

    /// With the ids of the rows that [`Self::looked_up`] gave.
    #[must_use]
    pub fn with_ids(mut self, mut ids: Vec<u64>) -> Self {
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

    /// What the connections of an iteration share.
    pub fn shared(self, subject: &Arc<ProbeTable>, table_rows: u64, seed: u64) -> Shared {
        Shared {
            table: Arc::clone(subject),
            reads: self.reads,
            changes: self.changes,
            table_rows,
            inserted: AtomicU64::new(0),
            salt: Stream::new(seed, SALT),
        }
    }
}
