//! `load-data`: LOAD DATA LOCAL INFILE, fed from memory by the driver's handler. No file is written.

use std::ops::Range;

use super::{Body, Loader, Method, MethodEntry};

/// The method in listings.
pub const ENTRY: MethodEntry =
    MethodEntry { method: Method::LoadData, name: "load-data", summary: "LOAD DATA LOCAL INFILE from memory" };

/// Several statements for each connection, so that idle connections find work, and each as long as possible.
pub(super) fn default_statement_rows(batch_rows: u64, connections: u32) -> u64 {
    (batch_rows / (8 * u64::from(connections.max(1)))).max(1)
}

pub(super) fn head(quoted_table: &str, columns: &str) -> String {
    // The file is pure ASCII but for raw bytes. latin1 has a character for each of them, and unlike `binary` it is
    // converted to what a text column holds.
    format!(
        "LOAD DATA LOCAL INFILE 'rowcliff' INTO TABLE {quoted_table} CHARACTER SET latin1 \
         FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' ({columns})"
    )
}

pub(super) fn encode(loader: &Loader, rows: Range<u64>) -> Body {
    Body::File { sql: loader.text_of(0, || loader.head.clone()), bytes: loader.source.tsv(rows) }
}
