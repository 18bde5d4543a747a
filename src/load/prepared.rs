//! `prepared`: one multi-row prepared statement, values in binary.
//!
//! The values are made outside the clock; the driver packs them inside it, which is client CPU and is shown as such.

use std::ops::Range;

use super::Loader;
use crate::rows::ValueSink;
use crate::targets::body::Body;

pub(super) fn encode(loader: &Loader, rows: Range<u64>) -> Body {
    let count = rows.end - rows.start;
    let columns = loader.source.insert_columns().len();
    let sql = loader.text_of(count, || {
        let one = row_of_placeholders(columns);
        let mut sql = String::with_capacity(loader.head.len() + (one.len() + 1) * count as usize);
        sql.push_str(&loader.head);
        for row in 0..count {
            if row > 0 {
                sql.push(',');
            }
            sql.push_str(&one);
        }
        sql
    });
    if loader.in_process {
        Body::Values { sql, values: loader.source.values(rows) }
    } else {
        let mut values = DriverValues(Vec::with_capacity(columns * count as usize));
        loader.source.emit_range(rows, &mut values);
        Body::Params { sql, values: values.0 }
    }
}

pub(super) fn row_of_placeholders(columns: usize) -> String {
    let mut text = String::from("(");
    for column in 0..columns {
        text.push_str(if column == 0 { "?" } else { ",?" });
    }
    text.push(')');
    text
}

/// Values as the driver takes them.
pub(super) struct DriverValues(pub Vec<mysql::Value>);

impl ValueSink for DriverValues {
    fn null(&mut self) {
        self.0.push(mysql::Value::NULL);
    }
    fn int(&mut self, value: i64) {
        self.0.push(mysql::Value::Int(value));
    }
    fn uint(&mut self, value: u64) {
        self.0.push(mysql::Value::UInt(value));
    }
    fn real(&mut self, value: f64) {
        self.0.push(mysql::Value::Double(value));
    }
    fn text(&mut self, value: &[u8]) {
        self.0.push(mysql::Value::Bytes(value.to_vec()));
    }
    fn bytes(&mut self, value: &[u8]) {
        self.0.push(mysql::Value::Bytes(value.to_vec()));
    }
}
