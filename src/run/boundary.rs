//! Boundaries: the state of a table after a whole batch, and the way back to it.
//!
//! A lost connection leaves the fate of a COMMIT unknown, and an engine without transactions keeps what a failed statement
//! had done so far. Then the table is taken back to its last boundary and the batch is sent again. Resume uses the
//! same way back.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::rows::{Lookup, RowSource, split_range};
use crate::targets::{Failure, RowSet, Table};

/// Rows whose keys stand in one statement.
const KEYS_AT_ONCE: u64 = 500;

/// A table after a whole batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Boundary {
    /// Rows in it.
    pub table_rows: u64,
    /// The highest AUTO_INCREMENT value in it, where it has such a column.
    pub max_id: Option<u64>,
}

impl Boundary {
    /// Reads the boundary of a table that holds `table_rows` rows and is not being loaded.
    ///
    /// # Errors
    /// What the target said.
    pub fn read(table: &mut dyn Table, table_rows: u64) -> Result<Self, Failure> {
        Ok(Self { table_rows, max_id: table.max_id()? })
    }
}

/// Whether the AUTO_INCREMENT values of a table tell the rows of one batch from those of the next. On several endpoints they
/// do not: each hands out its own, and one that is slower hands out lower ones later.
pub fn has_boundary_ids(table: &dyn Table) -> bool {
    table.facts().auto_increment().is_some() && table.ids_ascend()
}

/// Removes every row that came after `boundary`, of those that `beyond` may have brought. Gives their number.
///
/// # Errors
/// What the target said, or that this table has no way to find the rows.
pub fn take_back(
    table: &mut dyn Table,
    source: &RowSource,
    boundary: Boundary,
    beyond: Range<u64>,
) -> Result<u64, Failure> {
    if has_boundary_ids(table) {
        return table.remove(RowSet::Ids { above: boundary.max_id.unwrap_or(0), up_to: None });
    }
    by_keys(source, beyond, |lookups| table.remove(RowSet::Found(lookups)))
}

/// Removes the rows that were added behind `boundary` one after the other, of which `beyond` may be far too many: it ends where no more
/// are found.
///
/// # Errors
/// As [`take_back`].
pub fn take_back_growing(
    table: &mut dyn Table,
    source: &RowSource,
    boundary: Boundary,
    beyond: Range<u64>,
) -> Result<u64, Failure> {
    if has_boundary_ids(table) {
        return take_back(table, source, boundary, beyond);
    }
    let mut removed = 0;
    // Several connections add rows side by side, so that a few may be missing before the last one.
    for rows in split_range(beyond, 20 * KEYS_AT_ONCE) {
        match take_back(table, source, boundary, rows)? {
            0 => break,
            some => removed += some,
        }
    }
    Ok(removed)
}

/// How many rows of the batch between two boundaries are there.
///
/// # Errors
/// What the target said, or that this table has no way to find the rows.
pub fn rows_between(
    table: &mut dyn Table,
    source: &RowSource,
    before: Boundary,
    after: Boundary,
) -> Result<u64, Failure> {
    if has_boundary_ids(table) {
        return match after.max_id {
            Some(max_id) => table.count_of(RowSet::Ids { above: before.max_id.unwrap_or(0), up_to: Some(max_id) }),
            None => Ok(0),
        };
    }
    by_keys(source, before.table_rows..after.table_rows, |lookups| table.count_of(RowSet::Found(lookups)))
}

/// The sum of what `call` gives for all rows, a few keys at a time.
fn by_keys(
    source: &RowSource,
    rows: Range<u64>,
    mut call: impl FnMut(&[Lookup]) -> Result<u64, Failure>,
) -> Result<u64, Failure> {
    let mut sum = 0;
    for rows in split_range(rows, KEYS_AT_ONCE) {
        let lookups: Option<Vec<Lookup>> = rows.map(|row| source.find_by(row).filter(|lookup| lookup.unique)).collect();
        let lookups = lookups.ok_or_else(|| {
            Failure::fatal(
                "no unique column of this table finds a row again, so it cannot be taken back to its last whole batch",
            )
        })?;
        sum += call(&lookups)?;
    }
    Ok(sum)
}
