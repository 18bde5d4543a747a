//! `probes.csv`: what the probes between the batches measured, a line for each iteration.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::detail::{self, Lines};

/// Name of the file of probes in a run directory.
pub const PROBES_FILE: &str = "probes.csv";

/// The note of an iteration that a time ended and not a number of operations.
pub const TIMED: &str = "timed";

/// The note of an iteration whose rows' ids were looked up beforehand.
pub const LOOKED_UP: &str = "looked-up";

/// The note of an iteration that compared ids and no other values.
pub const UNCHECKED: &str = "unchecked";

/// One iteration of a probe: a number of operations over some connections, at one table size.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeLine {
    /// Full name of the curve, as in `batches.csv`.
    pub curve: String,
    /// The batch after which it ran.
    pub batch: u64,
    /// Rows in the table.
    pub table_rows: u64,
    /// The probe's word, as in `--probe`.
    pub probe: String,
    /// Connections that shared the operations.
    pub connections: u32,
    /// The iteration, from 1.
    pub iteration: u32,
    /// Operations done, over all connections: rows read or changed, transactions of `oltp`.
    pub ops: u64,
    /// From the release of the connections to the last answer.
    pub seconds: f64,
    /// `ops` / `seconds`; empty where no time passed.
    pub ops_per_sec: Option<f64>,
    /// Median of an operation, microseconds; empty where there was none.
    pub p50_us: Option<u64>,
    /// 99th percentile of an operation, microseconds.
    pub p99_us: Option<u64>,
    /// The slowest operation, microseconds.
    pub max_us: Option<u64>,
    /// Transactions that a deadlock or a lock wait ended and that were done again.
    pub errors: u64,
    /// Words, separated by one space: `timed`, `looked-up`, ...
    pub notes: String,
}

impl ProbeLine {
    /// Whether a word stands in the notes.
    pub fn has_note(&self, word: &str) -> bool {
        self.notes.split(' ').any(|note| note == word)
    }
}

/// Reads `probes.csv`; a run that has none has no lines.
///
/// # Errors
/// The file is there and cannot be read.
pub fn read_probes(directory: &Path) -> io::Result<Lines<ProbeLine>> {
    detail::read(&directory.join(PROBES_FILE))
}
