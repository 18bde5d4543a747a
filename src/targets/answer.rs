//! What a statement answered with.

use crate::rows::Value;

/// Rows that came back, value after value, so that a row needs no memory of its own.
#[derive(Debug, Default)]
pub struct Rows {
    values: Vec<Value>,
    columns: usize,
}

impl Rows {
    /// Forgets what was there, for rows of so many columns.
    pub fn begin(&mut self, columns: usize) {
        self.values.clear();
        self.columns = columns;
    }

    /// The next value of the current row.
    pub fn push(&mut self, value: Value) {
        self.values.push(value);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.columns).unwrap_or(0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The rows in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = &[Value]> {
        self.values.chunks_exact(self.columns.max(1))
    }

    /// The first row.
    pub fn first(&self) -> Option<&[Value]> {
        self.iter().next()
    }
}
