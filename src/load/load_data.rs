//! `load-data`: LOAD DATA LOCAL INFILE, fed from memory by the driver's handler. No file is written.

use std::ops::Range;

use super::{Body, Loader, Method, MethodEntry};
use crate::rows::{RowSource, Tsv};

/// The method in listings.
pub const ENTRY: MethodEntry =
    MethodEntry { method: Method::LoadData, name: "load-data", summary: "LOAD DATA LOCAL INFILE from memory" };

/// Several statements for each connection, so that idle connections find work, and each as long as possible.
pub(super) fn default_statement_rows(batch_rows: u64, connections: u32) -> u64 {
    (batch_rows / (8 * u64::from(connections.max(1)))).max(1)
}

pub(super) fn head(quoted_table: &str, source: &RowSource, columns: &str) -> String {
    // The file is pure ASCII but for raw bytes, which `binary` leaves alone.
    let _ = source;
    format!(
        "LOAD DATA LOCAL INFILE 'rowcliff' INTO TABLE {quoted_table} CHARACTER SET binary \
         FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' ({columns})"
    )
}

pub(super) fn encode(loader: &Loader, rows: Range<u64>) -> Body {
    let most = usize::try_from(loader.source.max_row_bytes().tsv.saturating_mul(rows.end - rows.start)).unwrap_or(0);
    let mut file = Tsv::with_capacity(most);
    loader.source.emit_all(rows, &mut file);
    Body::File { sql: loader.text_of(0, || loader.head.clone()), bytes: file.finish() }
}
