//! `insert`: one multi-row INSERT, as text.

use std::ops::Range;

use super::{Body, Loader, Method, MethodEntry};

/// The method in listings.
pub const ENTRY: MethodEntry =
    MethodEntry { method: Method::Insert, name: "insert", summary: "one multi-row INSERT text statement" };

pub(super) fn encode(loader: &Loader, rows: Range<u64>) -> Body {
    Body::Text(loader.source.insert_text(&loader.head, rows))
}
