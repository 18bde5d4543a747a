//! One value of a row, and whoever takes values in.

use super::encode::SqlText;

/// A value as it is bound to a prepared statement, or read back.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    UInt(u64),
    Real(f64),
    /// Text, ASCII where rowcliff made it.
    Text(Box<[u8]>),
    /// Raw bytes.
    Bytes(Box<[u8]>),
}

impl Value {
    /// The value as a literal of SQL, the same for MySQL, MariaDB and SQLite.
    ///
    /// Text is written as it is where rowcliff made it; other text, which may hold quotes, as bytes.
    pub fn literal(&self) -> String {
        let mut sql = SqlText::new("", 0);
        sql.begin_row();
        match self {
            Self::Null => sql.null(),
            Self::Int(value) => sql.int(*value),
            Self::UInt(value) => sql.uint(*value),
            Self::Real(value) => sql.real(*value),
            Self::Text(text) if is_plain_text(text) => sql.text(text),
            Self::Text(bytes) | Self::Bytes(bytes) => sql.bytes(bytes),
        }
        sql.end_row();
        let row = sql.finish();
        row[1..row.len() - 1].to_owned()
    }
}

/// Takes the values of rows in, one after the other, in the order of [`RowSource::insert_columns`].
///
/// [`RowSource::insert_columns`]: super::RowSource::insert_columns
pub trait ValueSink {
    /// A row starts.
    fn begin_row(&mut self) {}
    /// A row has ended.
    fn end_row(&mut self) {}
    fn null(&mut self);
    fn int(&mut self, value: i64);
    fn uint(&mut self, value: u64);
    /// A floating-point number, always finite.
    fn real(&mut self, value: f64);
    /// Printable ASCII without quotes and backslashes, so that no dialect needs an escape.
    fn text(&mut self, value: &[u8]);
    /// Raw bytes of any value.
    fn bytes(&mut self, value: &[u8]);
    /// The value of a `BIT` column of so many bytes: a number, except to LOAD DATA, which takes digits for bytes.
    fn bits(&mut self, value: u64, _bytes: u8) {
        self.uint(value);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_need_no_escape() {
        assert_eq!(Value::Null.literal(), "NULL");
        assert_eq!(Value::UInt(u64::MAX).literal(), "18446744073709551615");
        assert_eq!(Value::Text(b"abc".as_slice().into()).literal(), "'abc'");
        assert_eq!(Value::Text(b"it's".as_slice().into()).literal(), "x'69742773'");
        assert_eq!(Value::Bytes([0, 0x20].into()).literal(), "x'0020'");
    }
}
