//! One value of a row, and whoever takes values in.

/// A value as it is bound to a prepared statement, or read back.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A floating-point number.
    Real(f64),
    /// Text, ASCII where rowcliff made it.
    Text(Box<[u8]>),
    /// Raw bytes.
    Bytes(Box<[u8]>),
}

/// Takes the values of rows in, one after the other, in the order of [`RowSource::insert_columns`].
///
/// [`RowSource::insert_columns`]: super::RowSource::insert_columns
pub trait ValueSink {
    /// A row starts.
    fn begin_row(&mut self) {}
    /// A row has ended.
    fn end_row(&mut self) {}
    /// NULL.
    fn null(&mut self);
    /// A signed integer.
    fn int(&mut self, value: i64);
    /// An unsigned integer.
    fn uint(&mut self, value: u64);
    /// A floating-point number, always finite.
    fn real(&mut self, value: f64);
    /// Printable ASCII without quotes and backslashes, so that no dialect needs an escape.
    fn text(&mut self, value: &[u8]);
    /// Raw bytes of any value.
    fn bytes(&mut self, value: &[u8]);
}

/// Whether `text` keeps what [`ValueSink::text`] promises.
pub(super) fn is_plain_text(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'\'' | b'\\'))
}

/// Keeps the values themselves, row after row: for prepared statements and for comparison.
#[derive(Debug, Default)]
pub struct Values {
    values: Vec<Value>,
}

impl Values {
    /// Room for `values` values.
    pub fn with_capacity(values: usize) -> Self {
        Self { values: Vec::with_capacity(values) }
    }

    /// The values so far.
    pub fn as_slice(&self) -> &[Value] {
        &self.values
    }

    /// The values, as many for each row as there are columns.
    pub fn into_vec(self) -> Vec<Value> {
        self.values
    }

    /// Forgets the values and keeps their room.
    pub fn clear(&mut self) {
        self.values.clear();
    }
}

impl ValueSink for Values {
    fn null(&mut self) {
        self.values.push(Value::Null);
    }

    fn int(&mut self, value: i64) {
        self.values.push(Value::Int(value));
    }

    fn uint(&mut self, value: u64) {
        self.values.push(Value::UInt(value));
    }

    fn real(&mut self, value: f64) {
        self.values.push(Value::Real(value));
    }

    fn text(&mut self, value: &[u8]) {
        debug_assert!(is_plain_text(value), "{value:?} would need an escape");
        self.values.push(Value::Text(value.into()));
    }

    fn bytes(&mut self, value: &[u8]) {
        self.values.push(Value::Bytes(value.into()));
    }
}
