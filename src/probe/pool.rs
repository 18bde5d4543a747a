//! Which rows a probe asks for: random ones, the same for each seed, table size, engine and iteration.

use std::sync::Arc;

use super::table::ProbeTable;
use crate::key::mix::Stream;
use crate::rows::Value;

/// The most rows that a pool of known rows holds: of those that are changed, and of those whose ids have to be looked up.
pub const POOL_ROWS_MOST: u64 = 1_000_000;
/// Rows of such a pool when the number of operations is not known beforehand.
const POOL_ROWS_TIMED: u64 = 100_000;

/// Rows at random places of a table.
#[derive(Debug, Clone)]
pub struct Pool {
    stream: Stream,
    table_rows: u64,
    /// After how many the same rows come again.
    length: Option<u64>,
    /// The AUTO_INCREMENT values of the rows, where they had to be looked up.
    ids: Option<Arc<Vec<u64>>>,
    /// Whether what is read is left unchecked, since nothing tells which row an id is.
    unchecked: bool,
}

/// A row that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub key: Value,
    /// Its place among the rows of the load; where only an id is known, the answer tells.
    pub row: Option<u64>,
    /// Rows from it to the end in the order of the ids, where they have no gap.
    pub follow: Option<u64>,
}

impl Pool {
    /// Rows of a table of `table_rows` rows. `turn` is another set of rows.
    pub fn new(seed: u64, label: &str, turn: u64, table_rows: u64) -> Self {
        let stream = Stream::new(seed, label);
        let stream = if turn == 0 { stream } else { stream.fork(turn) };
        Self { stream, table_rows, length: None, ids: None, unchecked: false }
    }

    /// With as many different rows as `asked` operations need, within reason.
    #[must_use]
    pub fn bounded(self, asked: Option<u64>) -> Self {
        let length = asked.map_or(POOL_ROWS_TIMED, |asked| asked.clamp(1, POOL_ROWS_MOST));
        Self { length: Some(length), ..self }
    }

    /// With rows of which only the id is compared.
    #[must_use]
    pub fn unchecked(self) -> Self {
        Self { unchecked: true, ..self }
    }

    /// Whether only ids are compared.
    pub fn is_unchecked(&self) -> bool {
        self.unchecked
    }

    /// With the ids of its rows.
    #[must_use]
    pub fn with_ids(self, ids: Vec<u64>) -> Self {
        Self { ids: Some(Arc::new(ids)), ..self }
    }

    /// The ids of its rows, where they had to be looked up.
    pub fn ids(&self) -> Option<&[u64]> {
        self.ids.as_deref().map(Vec::as_slice)
    }

    /// Rows after which they come again.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// The place of a row of the pool in the table.
    pub fn row(&self, index: u64) -> u64 {
        self.stream.up_to(self.within(index), self.table_rows.saturating_sub(1))
    }

    /// What is asked for at an index.
    pub fn asked(&self, table: &ProbeTable, index: u64) -> Asked {
        let row = self.row(index);
        if let Some(key) = table.generated_key(row) {
            return Asked { key, row: Some(row), follow: None };
        }
        match &self.ids {
            Some(ids) => {
                let id = ids.get(self.within(index) as usize).copied().unwrap_or_default();
                Asked { key: Value::UInt(id), row: Some(row), follow: None }
            }
            // The ids count from 1 without a gap: each of them is there, whichever row has it.
            None => Asked { key: Value::UInt(row + 1), row: None, follow: Some(self.table_rows - row) },
        }
    }

    fn within(&self, index: u64) -> u64 {
        self.length.map_or(index, |length| index % length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_rows_come_for_the_same_seed_and_others_for_another_turn() {
        let rows = |pool: &Pool, count: u64| (0..count).map(|index| pool.row(index)).collect::<Vec<_>>();
        let pool = Pool::new(7, "keys", 0, 1000);
        assert_eq!(rows(&pool, 50), rows(&Pool::new(7, "keys", 0, 1000), 50));
        assert_ne!(rows(&pool, 50), rows(&Pool::new(7, "keys", 1, 1000), 50));
        assert_ne!(rows(&pool, 50), rows(&Pool::new(8, "keys", 0, 1000), 50));
        assert!(rows(&pool, 5000).iter().all(|&row| row < 1000));
        let bounded = pool.bounded(Some(10));
        assert_eq!(rows(&bounded, 20)[..10], rows(&bounded, 20)[10..]);
    }
}
