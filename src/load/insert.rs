//! `insert`: one multi-row INSERT, as text.

use std::ops::Range;

use super::{Body, Loader, Method, MethodEntry};
use crate::rows::SqlText;

/// The method in listings.
pub const ENTRY: MethodEntry =
    MethodEntry { method: Method::Insert, name: "insert", summary: "one multi-row INSERT text statement" };

pub(super) fn encode(loader: &Loader, rows: Range<u64>) -> Body {
    let most = usize::try_from(loader.source.max_row_bytes().sql_text.saturating_mul(rows.end - rows.start)).unwrap_or(0);
    let mut sql = SqlText::new(&loader.head, loader.head.len() + most);
    loader.source.emit_all(rows, &mut sql);
    Body::Text(sql.finish())
}
