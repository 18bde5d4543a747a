//! Rows: values as a pure function of (seed, row index), and their encodings.
//!
//! [`RowSource`] is built once for a cell from the columns that the database reports; it refuses by name what it
//! cannot fill. After that any row can be emitted on any thread into a [`ValueSink`]: [`SqlText`], [`Tsv`] or
//! [`Values`]. Nothing is stored, so a resumed run sends the same rows, and a row that was sent can be asked for
//! again when the table is checked.

mod compare;
mod date;
mod encode;
mod fill;
pub mod footprint;
mod needs;
mod parallel;
mod picker;
mod plan;
mod shape;
mod value;
pub mod wish;
mod zipf;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::key::{Key, KeyError};
use crate::schema::{Column, Dialect};

pub use compare::same_value;
pub use encode::{SqlText, Tsv};
pub use parallel::{parallel_map, split_range, use_cores};
pub use value::{Value, ValueSink, Values};
pub use wish::{Wish, Wishes};

use fill::{Field, Fill, Printer, Widest};

/// Values of `id` and `id2` of rowcliff's own tables: the numbers of an INT that are not negative. Row indexes beyond
/// them wrap.
pub const ID2_VALUES: u64 = 1 << 31;

/// Rows that a look-up by a column that is not unique looks at. `id2` comes again every 2^31 rows.
pub const CANDIDATES: usize = 64;

/// The order in which the values of indexed columns come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IndexOrder {
    /// As the rows: the curve shows the key and nothing else.
    #[default]
    Ascending,
    /// Shuffled: what a random secondary index costs.
    Random,
}

impl IndexOrder {
    /// The word a user types.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ascending => "ascending",
            Self::Random => "random",
        }
    }
}

/// Whose table it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum TableKind {
    /// One of rowcliff's own templates, whose columns have meanings.
    #[default]
    Own,
    /// A user's schema: values follow the types and indexes of the columns.
    User,
    /// The table of another load generator: as a user's, with texts that fill their columns and without NULL.
    Named,
}

/// What the rows of a cell depend on, beside the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowOptions {
    pub key: Key,
    /// Same seed, same rows.
    pub seed: u64,
    /// The order of indexed values.
    pub index_order: IndexOrder,
    /// Rows per second by which the clock of time-based UUIDs advances.
    pub uuid_rate: u64,
    /// Bytes of each text or binary value that is not a key; `None` for moderate lengths that vary.
    pub payload_bytes: Option<u64>,
    /// Rows that the table may come to hold: ranges of unique columns are checked against it.
    pub rows: u64,
    /// Whose table it is.
    pub table: TableKind,
    /// Whose SQL it is in.
    pub dialect: Dialect,
    /// The rules by which values are chosen, [`EDITION`]; lower where a run was begun under earlier ones.
    pub edition: u32,
}

/// The rules by which values are chosen today. In edition 0 primary keys follow the index order, and members of ENUM and SET that are not
/// plain ASCII are left out where there are others.
pub const EDITION: u32 = 1;

/// Why a table cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowsError {
    #[error(transparent)]
    Key(#[from] KeyError),
    /// No primary key column takes the UUID.
    #[error("no primary key column can hold {key}: {why}")]
    KeyColumn {
        /// The key asked for.
        key: Key,
        /// What there is instead.
        why: String,
    },
    /// The time or the bits of the UUIDs end before the rows do.
    #[error("{key} at this UUID rate has {rows_max} different keys in order, and {rows} rows are asked for")]
    KeyRows {
        key: Key,
        /// Rows asked for.
        rows: u64,
        /// Rows there can be.
        rows_max: u64,
    },
    /// A column for which there are no values.
    #[error("column {column} ({column_type}) cannot be filled: {why}")]
    Column {
        column: String,
        /// Its type as the database prints it.
        column_type: String,
        why: String,
    },
    /// A unique index that has fewer values than there are rows.
    #[error("unique index {index} on {columns} has room for {rows_max} rows, and {rows} are asked for")]
    TooManyRows {
        index: String,
        columns: String,
        /// Rows asked for.
        rows: u64,
        /// Rows there can be.
        rows_max: u64,
    },
    /// `--fill` asks for what a column cannot hold.
    #[error("--fill {column}: {cause}")]
    Fill {
        column: String,
        /// Why not.
        cause: String,
    },
    /// `--fill` leaves a unique index fewer values than there are rows.
    #[error(
        "--fill {column}: the unique index {index} would have {rows_max} different entries, and {rows} rows are asked for; leave it out, or give the column as many values"
    )]
    FillUnique {
        column: String,
        index: String,
        /// Rows asked for.
        rows: u64,
        /// Entries there can be.
        rows_max: u64,
    },
    /// Nothing to send.
    #[error("the table has no column to fill: the server makes every value itself")]
    NothingToFill,
}

/// Upper bounds of one row, by encoding, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowBytes {
    /// In the text of an INSERT, with the comma that follows.
    pub insert_text: u64,
    /// As a line of LOAD DATA.
    pub tsv: u64,
    /// As [`Value`]s in memory, with what they own on the heap.
    pub values: u64,
}

/// How a row is found again.
#[derive(Debug, Clone, PartialEq)]
pub struct Lookup {
    /// Columns and the values they must equal.
    pub columns: Vec<(String, Value)>,
    /// Whether that is one row; otherwise it is a few, and one of them is the row.
    pub unique: bool,
}

impl Lookup {
    /// The condition of a WHERE clause, with literals; `quote` makes an identifier of a column's name.
    ///
    /// Literals, because bytes bound as a parameter are not found on MySQL 9: it takes them for text in the
    /// connection's character set and converts them before it compares.
    pub fn condition(&self, quote: impl Fn(&str) -> String) -> String {
        let equal = |(name, value): &(String, Value)| format!("{} = {}", quote(name), value.literal());
        self.columns.iter().map(equal).collect::<Vec<_>>().join(" AND ")
    }
}

/// Memory that emitting needs and that lives longer than a row, so that no row allocates.
#[derive(Debug, Default)]
pub struct Scratch {
    buffer: Vec<u8>,
}

/// The rows of one cell.
#[derive(Debug, Clone)]
pub struct RowSource {
    columns: Vec<Column>,
    fields: Vec<Field>,
    names: Vec<String>,
    lookup: Option<(Vec<usize>, bool)>,
    takes_payload: bool,
    rows: u64,
}

impl RowSource {
    /// The rows for a table with these columns.
    ///
    /// # Errors
    /// A column that cannot be filled, by name and with the reason, and unique columns with fewer values than rows.
    pub fn new(columns: &[Column], options: &RowOptions) -> Result<Self, RowsError> {
        plan::plan(columns, options, &Wishes::new())
    }

    /// The same, with what is to be in some of the columns.
    ///
    /// # Errors
    /// Also what a column cannot hold.
    pub fn with_wishes(columns: &[Column], options: &RowOptions, wishes: &Wishes) -> Result<Self, RowsError> {
        plan::plan(columns, options, wishes)
    }

    /// The rows with which a table of `rows` rows is tried: the first and the last, for each column on which something depends those with its smallest
    /// and its largest value, and `others` of the rest, spread in groups.
    pub fn trial_rows(&self, rows: u64, others: u64, group: u64) -> Vec<Range<u64>> {
        let rows = rows.max(1);
        let mut wanted = std::collections::BTreeSet::from([0, rows - 1]);
        let constrained = self.fields.iter().filter(|field| self.columns[field.column].constrained);
        wanted.extend(constrained.filter_map(fill::Field::picker).flat_map(|picker| picker.extremes(rows)));
        let groups = others.div_ceil(group.max(1)).max(1);
        for number in 0..groups {
            let start = (u128::from(rows) * u128::from(number) / u128::from(groups)) as u64;
            wanted.extend((start..start.saturating_add(group)).take_while(|&row| row < rows));
        }
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for row in wanted {
            match ranges.last_mut().filter(|range| range.end == row && range.end - range.start < group) {
                Some(range) => range.end = row + 1,
                None => ranges.push(row..row + 1),
            }
        }
        ranges
    }

    /// The columns of the INSERT, unquoted: all that the server does not fill by itself.
    pub fn insert_columns(&self) -> &[String] {
        &self.names
    }

    /// Emits the values of one row, counted from 0.
    #[inline]
    pub fn emit(&self, row: u64, scratch: &mut Scratch, sink: &mut impl ValueSink) {
        sink.begin_row();
        for field in &self.fields {
            field.emit(row, &mut scratch.buffer, sink);
        }
        sink.end_row();
    }

    /// Emits the values of a range of rows.
    pub fn emit_range(&self, rows: Range<u64>, sink: &mut impl ValueSink) {
        let mut scratch = Scratch::default();
        for row in rows {
            self.emit(row, &mut scratch, sink);
        }
    }

    /// The text of one INSERT with a range of rows, after `prefix` (`INSERT INTO t (a, b) VALUES `).
    pub fn insert_text(&self, prefix: &str, rows: Range<u64>) -> String {
        let count = rows.end.saturating_sub(rows.start);
        let bytes = self.max_row_bytes().insert_text.saturating_mul(count);
        let mut sql = SqlText::new(prefix, prefix.len() + capacity(bytes));
        self.emit_range(rows, &mut sql);
        sql.finish()
    }

    /// The lines of LOAD DATA with a range of rows.
    pub fn tsv(&self, rows: Range<u64>) -> Vec<u8> {
        let count = rows.end.saturating_sub(rows.start);
        let mut tsv = Tsv::with_capacity(capacity(self.max_row_bytes().tsv.saturating_mul(count)));
        self.emit_range(rows, &mut tsv);
        tsv.finish()
    }

    /// The values of a range of rows, one after the other.
    pub fn values(&self, rows: Range<u64>) -> Vec<Value> {
        let count = rows.end.saturating_sub(rows.start);
        let mut values = Values::with_capacity(capacity(count.saturating_mul(self.fields.len() as u64)));
        self.emit_range(rows, &mut values);
        values.into_vec()
    }

    /// Upper bounds of one row by encoding: what sizes statements under `max_allowed_packet` and windows under the
    /// limit of memory.
    pub fn max_row_bytes(&self) -> RowBytes {
        // Each value has a separator behind it, and an INSERT has two parentheses for each row.
        let mut bytes = RowBytes { insert_text: 2, tsv: 0, values: 0 };
        for field in &self.fields {
            let (insert_text, tsv, heap) = match field.widest(self.rows) {
                Widest::Number(characters) => (characters, characters, 0),
                Widest::Text(length) => (length + 2, length, heap_bytes(length)),
                // Two digits a byte within x''; each byte may need a backslash.
                Widest::Bytes(length) => (2 * length + 3, 2 * length, heap_bytes(length)),
                Widest::Bits { characters, bytes } => (characters, 2 * bytes, 0),
            };
            let has_null = field.nulls.is_some() || matches!(field.fill, fill::Fill::Null);
            let (null_text, null_tsv) = if has_null { (4, 2) } else { (0, 0) };
            bytes.insert_text += insert_text.max(null_text) + 1;
            bytes.tsv += tsv.max(null_tsv) + 1;
            bytes.values += size_of::<Value>() as u64 + heap;
        }
        bytes
    }

    /// Whether `payload_bytes` changes anything: a table without free text or bytes has nothing to make longer.
    pub fn takes_payload(&self) -> bool {
        self.takes_payload
    }

    /// How a row is found again: by its UUID, by `id2`, by another indexed column; `None` where no index helps.
    pub fn find_by(&self, row: u64) -> Option<Lookup> {
        let (fields, unique) = self.lookup.as_ref()?;
        let expected = self.expected_values(row);
        let columns = fields.iter().map(|&field| (self.names[field].clone(), expected[field].clone())).collect();
        Some(Lookup { columns, unique: *unique })
    }

    /// The first row that has a number in the column of a name: the inverse of what fills it. `None` where that tells no row.
    pub fn row_of(&self, column: &str, number: u64) -> Option<u64> {
        let place = self.names.iter().position(|name| name == column)?;
        match &self.fields[place].fill {
            Fill::Number { picker, .. } => picker.row_of(number),
            _ => None,
        }
    }

    /// Whether each row has an integer of its own in the column of a name.
    pub fn is_distinct(&self, column: &str) -> bool {
        let place = self.names.iter().position(|name| name == column);
        place.is_some_and(|place| match &self.fields[place].fill {
            Fill::Number { picker, printer: Printer::Signed { .. } | Printer::Unsigned, .. } => {
                picker.is_distinct(self.rows)
            }
            _ => false,
        })
    }

    /// The values that a row must have, in the order of [`RowSource::insert_columns`].
    pub fn expected(&self, row: u64) -> Vec<(&str, Value)> {
        self.names.iter().map(String::as_str).zip(self.expected_values(row)).collect()
    }

    /// Whether what was read back from a column is what was sent. Strict, except where the column's type is lossy
    /// or the database prints the same value differently.
    pub fn compare(&self, column: &str, expected: &Value, got: &Value) -> bool {
        match self.columns.iter().find(|known| known.name.eq_ignore_ascii_case(column)) {
            Some(known) => same_value(&known.data_type, expected, got),
            None => false,
        }
    }

    /// What tells values that were read back, in the order of [`RowSource::insert_columns`], from the row that was sent; `None`
    /// when they are it.
    pub fn difference(&self, row: u64, got: &[Value]) -> Option<String> {
        let expected = self.expected_values(row);
        let types = self.fields.iter().map(|field| &self.columns[field.column].data_type);
        let place =
            types.zip(expected.iter().zip(got)).position(|(kind, (expected, got))| !same_value(kind, expected, got));
        if got.len() != expected.len() {
            return Some(format!("row {row}: {} values were sent and there are {}", expected.len(), got.len()));
        }
        let place = place?;
        Some(format!(
            "row {row}: {} was sent as {} and is {}",
            self.names[place],
            expected[place].literal(),
            got[place].literal()
        ))
    }

    fn expected_values(&self, row: u64) -> Vec<Value> {
        let mut values = Values::with_capacity(self.fields.len());
        self.emit(row, &mut Scratch::default(), &mut values);
        values.into_vec()
    }
}

/// A capacity to start with: right for statements, and no reason to reserve gigabytes for a large payload.
fn capacity(bytes: u64) -> usize {
    const MOST: u64 = 64 << 20;
    bytes.min(MOST) as usize
}

/// What a box of `length` bytes takes from the usual allocators: eight bytes of their own, in steps of sixteen.
fn heap_bytes(length: u64) -> u64 {
    (length + 8).next_multiple_of(16).max(32)
}

#[cfg(test)]
mod tests;
