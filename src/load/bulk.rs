//! `bulk`: MariaDB's COM_STMT_BULK_EXECUTE, one statement of one row sent with many rows in one packet.

use std::ops::Range;

use super::Loader;
use super::prepared::{DriverValues, row_of_placeholders};
use crate::targets::body::Body;

pub(super) fn encode(loader: &Loader, rows: Range<u64>) -> Body {
    let columns = loader.source.insert_columns().len();
    let sql = loader.text_of(1, || format!("{}{}", loader.head, row_of_placeholders(columns)));
    let rows = rows
        .map(|row| {
            let mut values = DriverValues(Vec::with_capacity(columns));
            loader.source.emit_range(row..row + 1, &mut values);
            values.0
        })
        .collect();
    Body::Bulk { sql, rows }
}
