//! `insert`: one multi-row INSERT, as text.

use std::ops::Range;

use super::Loader;
use crate::targets::body::Body;

pub(super) fn encode(loader: &Loader, rows: Range<u64>) -> Body {
    Body::Text(loader.source.insert_text(&loader.head, rows))
}
