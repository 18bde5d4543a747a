//! One line of `batches.csv`: what was measured for one batch of one curve.

use serde::{Deserialize, Serialize};

/// Of fewer statements a 99th percentile is another name for the longest one, and is not known.
pub const STATEMENTS_OF_P99: u64 = 100;

/// What was measured for one batch, with the labels of its curve.
///
/// The order of the fields is the header of `batches.csv` and is final. A figure that is not known is `None`
/// and an empty cell, never 0. Units stand last in the names; `table_rows` is the size of the table *after*
/// the batch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Full name of the curve, unique in its run.
    pub curve: String,
    /// The target's label, without any secret.
    pub target: String,
    /// Storage engine, as in the engine table.
    pub engine: String,
    /// Primary key, as in `uuid4:char32`.
    pub key: String,
    /// Flush setting asked for: `0`, `1`, `2`, `as-is`, `none`, or `NAME=VALUE`.
    pub flush: String,
    /// What the server read back, as `name=value` words separated by one space.
    pub flush_in_force: String,
    /// Varied settings, as `name=value` words separated by one space.
    pub settings: String,
    pub method: String,
    pub connections: u32,
    /// Rows of one statement, as really used.
    pub statement_rows: u64,
    /// Rows of one transaction, as really used.
    pub commit_rows: u64,
    /// Repeat of the cell, from 1.
    pub repeat: u32,
    /// Batch of the curve, from 1.
    pub batch: u64,
    /// Rows in the table after this batch.
    pub table_rows: u64,
    /// Rows of this batch that the target accepted.
    pub rows: u64,
    /// The timed section, in seconds.
    pub seconds: f64,
    /// `rows / seconds`; empty when the seconds are too short to divide by.
    pub inserts_per_sec: Option<f64>,
    /// Wall clock at the start of the timed section, UTC, RFC 3339. A label, never a measure.
    pub started_at: String,
    /// Generating and encoding rows, outside the timed section.
    pub encode_seconds: Option<f64>,
    /// From the end of the last timed section to the start of this one, encoding included.
    pub gap_seconds: Option<f64>,
    /// Statements that carried rows.
    pub statements: Option<u64>,
    /// Transactions sent again after a deadlock or a lock wait; a batch that was taken back and sent again counts as one.
    pub retries: Option<u64>,
    /// Seconds without an acknowledgement beyond the usual time of a statement.
    pub stall_seconds: Option<f64>,
    /// Median statement latency, microseconds.
    pub p50_us: Option<u64>,
    /// 99th percentile of statement latency, microseconds; of 100 statements and more.
    pub p99_us: Option<u64>,
    /// 99.9th percentile of statement latency, microseconds; of 1,000 statements and more.
    pub p999_us: Option<u64>,
    /// Longest statement, microseconds.
    pub max_us: Option<u64>,
    /// CPU seconds of rowcliff inside the timed section.
    pub client_cpu_seconds: Option<f64>,
    /// CPU seconds of the server process inside the timed section.
    pub server_cpu_seconds: Option<f64>,
    /// Bytes the server process read from its device.
    pub read_bytes: Option<u64>,
    /// Bytes the server process wrote to its device.
    pub written_bytes: Option<u64>,
    /// Size of the table's data after the batch.
    pub data_bytes: Option<u64>,
    /// Size of the table's secondary indexes after the batch.
    pub index_bytes: Option<u64>,
    /// Words separated by one space: `first`, `resumed`, `retried`, ...
    pub notes: String,
}

impl Sample {
    /// Bytes of the table with its indexes. Where only data is known, that is all of it.
    pub fn table_bytes(&self) -> Option<u64> {
        Some(self.data_bytes? + self.index_bytes.unwrap_or(0))
    }

    /// Whether `word` is one of the notes.
    pub fn has_note(&self, word: &str) -> bool {
        self.notes.split_whitespace().any(|note| note == word)
    }

    /// Seconds per million rows: the one figure in which batches of any size can be compared.
    ///
    /// `None` for a batch without rows.
    pub fn seconds_per_million(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.seconds * 1e6 / self.rows as f64)
    }

    /// Whether the sample may take part in a baseline or a fit: a batch that was resumed or sent again paid
    /// for more than its own rows, and the seconds of one during which rowcliff stood still are no one's cost.
    pub fn counts_for_baseline(&self) -> bool {
        !["resumed", "retried", "paused"].into_iter().any(|word| self.has_note(word))
    }
}
