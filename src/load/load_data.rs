//! `load-data`: LOAD DATA LOCAL INFILE, fed from memory by the driver's handler. No file is written.

use std::ops::Range;

use super::Loader;
use crate::targets::body::Body;

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
