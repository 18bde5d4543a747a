//! How rows travel: one file for each method, and what they share.
//!
//! A [`Loader`] turns a range of rows into the body of one statement, outside the clock and on any thread. What the
//! target's limits leave of the sizes that were asked for is worked out once, before the first batch ([`Loader::fit`]).

pub mod bulk;
pub mod insert;
pub mod load_data;
pub mod prepared;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::plan::Sizes;
use crate::plan::method::Method;
use crate::rows::RowSource;
use crate::targets::body::Body;
use crate::targets::{Failure, FailureKind, Limits};
use crate::units::{grouped, human_bytes};

/// Room left below `max_allowed_packet`: the server counts the header of each packet and the command byte too, and a
/// statement that only just fits by the driver's count is answered by closing the connection.
const PACKET_HEADROOM: u64 = 16 * 1024;

/// Turns rows into the body of a statement.
pub trait Encode: Send + Sync {
    /// The body that carries `rows`.
    fn encode(&self, rows: Range<u64>) -> Body;
}

/// The encoder of a curve.
#[derive(Debug)]
pub struct Loader {
    method: Method,
    in_process: bool,
    source: Arc<RowSource>,
    /// `INSERT INTO t (a,b) VALUES `, or the LOAD DATA statement.
    head: String,
    /// Prepared statements by their number of rows: there are two or three sizes in a curve.
    texts: Mutex<HashMap<u64, Arc<str>>>,
}

/// What the target leaves of the sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    /// Rows of one statement.
    pub statement_rows: u64,
    /// Rows of one transaction.
    pub commit_rows: u64,
    /// Rows whose encoded form fits into the memory for it.
    pub window_rows: u64,
    /// What was lowered, and why.
    pub notes: Vec<String>,
}

impl Loader {
    /// The encoder for a table. `in_process` is for a database without a wire (SQLite).
    pub fn new(method: Method, quoted_table: &str, in_process: bool, source: Arc<RowSource>) -> Self {
        let quote = if in_process { '"' } else { '`' };
        let columns: Vec<String> = source
            .insert_columns()
            .iter()
            .map(|column| format!("{quote}{}{quote}", column.replace(quote, &format!("{quote}{quote}"))))
            .collect();
        let columns = columns.join(",");
        let head = match method {
            Method::LoadData => load_data::head(quoted_table, &columns),
            _ if in_process => format!("INSERT OR ROLLBACK INTO {quoted_table} ({columns}) VALUES "),
            _ => format!("INSERT INTO {quoted_table} ({columns}) VALUES "),
        };
        Self { method, in_process, source, head, texts: Mutex::new(HashMap::new()) }
    }

    /// What the target's limits leave of the sizes asked for.
    ///
    /// # Errors
    /// Not even one row fits into a statement.
    pub fn fit(&self, sizes: Sizes, connections: u32, limits: Limits, window_bytes: u64) -> Result<Fitted, Failure> {
        let mut notes = Vec::new();
        let row = self.source.max_row_bytes();
        // Text is never shorter than the binary form by more than a few bytes, which the headroom covers.
        let wire = row.insert_text;
        let mut statement_rows = sizes.statement_rows;
        // The rows of LOAD DATA travel in packets of their own size; only the statement itself obeys the limit.
        if self.method != Method::LoadData {
            let room = limits
                .statement_bytes
                .saturating_sub(self.head.len() as u64)
                .saturating_sub(PACKET_HEADROOM.min(limits.statement_bytes / 4));
            let most = room / wire.max(1);
            if most == 0 {
                return Err(Failure {
                    kind: FailureKind::Fatal,
                    code: None,
                    message: format!(
                        "one row can take {} and a statement no more than max_allowed_packet={}; raise max_allowed_packet at the server or give less with --payload-bytes",
                        human_bytes(wire),
                        limits.statement_bytes
                    ),
                });
            }
            lower(&mut statement_rows, most, &mut notes, |rows| {
                format!(
                    "statements carry {rows} rows: more would not stay under max_allowed_packet={}",
                    limits.statement_bytes
                )
            });
        }
        if self.method == Method::Prepared {
            let columns = self.source.insert_columns().len().max(1) as u64;
            lower(&mut statement_rows, (limits.placeholders / columns).max(1), &mut notes, |rows| {
                format!(
                    "statements carry {rows} rows: a prepared statement has at most {} placeholders here",
                    limits.placeholders
                )
            });
        }
        // A statement is never more than a transaction.
        let transaction = limits.transaction_rows.min((limits.transaction_bytes / wire.max(1)).max(1));
        let by = limits.transaction_by(transaction);
        lower(&mut statement_rows, transaction, &mut notes, |rows| {
            format!("statements carry {rows} rows: a transaction takes no more here{by}")
        });
        let connections = u64::from(connections.max(1));
        let in_memory = self.memory_of_row(row).max(1);
        lower(&mut statement_rows, (window_bytes / in_memory / connections).max(1), &mut notes, |rows| {
            format!(
                "statements carry {rows} rows: one for each connection has to fit into --window-bytes {}",
                human_bytes(window_bytes)
            )
        });
        let mut commit_rows = sizes.commit_rows.max(statement_rows);
        if sizes.commit_rows == sizes.statement_rows {
            // One statement was to be one transaction, and stays so.
            commit_rows = statement_rows;
        }
        lower(&mut commit_rows, transaction, &mut notes, |rows| {
            format!("transactions carry {rows} rows: larger ones are refused here{by}")
        });
        let window_rows = (window_bytes / in_memory).max(statement_rows * connections).min(sizes.batch_rows);
        Ok(Fitted { statement_rows, commit_rows, window_rows, notes })
    }

    fn memory_of_row(&self, row: crate::rows::RowBytes) -> u64 {
        match self.method {
            Method::Insert => row.insert_text,
            Method::LoadData => row.tsv,
            // Decoded values: the driver's own take more room than what they hold.
            Method::Prepared | Method::Bulk => row.values,
        }
    }

    fn text_of(&self, rows: u64, make: impl FnOnce() -> String) -> Arc<str> {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(texts.entry(rows).or_insert_with(|| make().into()))
    }
}

fn lower(rows: &mut u64, most: u64, notes: &mut Vec<String>, note: impl FnOnce(String) -> String) {
    if *rows > most {
        *rows = most;
        notes.push(note(grouped(most)));
    }
}

impl Encode for Loader {
    fn encode(&self, rows: Range<u64>) -> Body {
        match self.method {
            Method::Insert => insert::encode(self, rows),
            Method::Prepared => prepared::encode(self, rows),
            Method::Bulk => bulk::encode(self, rows),
            Method::LoadData => load_data::encode(self, rows),
        }
    }
}
