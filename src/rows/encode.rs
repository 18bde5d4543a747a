//! Rows as they travel: the text of a multi-row INSERT, and the lines of LOAD DATA.

use std::io::Write;

use crate::key::hex;

use super::value::{ValueSink, is_plain_text};

/// The text of one multi-row INSERT: `PREFIX(1,'abc',NULL,x'00ff'),(...)`.
///
/// The text is read the same way by MySQL, MariaDB and SQLite, whatever their SQL mode: it has no escapes, strings
/// stand in single quotes, and bytes are hex literals of the standard.
#[derive(Debug)]
pub struct SqlText {
    out: Vec<u8>,
    rows: u64,
}

impl SqlText {
    /// A statement that starts with `prefix`, as in `INSERT INTO t (a, b) VALUES `, with room for `capacity` bytes.
    pub fn new(prefix: &str, capacity: usize) -> Self {
        let mut out = Vec::with_capacity(capacity.max(prefix.len()));
        out.extend_from_slice(prefix.as_bytes());
        Self { out, rows: 0 }
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    pub fn finish(mut self) -> String {
        if self.rows > 0 {
            // The comma after the last row.
            self.out.pop();
        }
        // Everything pushed is ASCII beside the prefix, which was a string; the check costs a pass at memory speed.
        String::from_utf8(self.out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

impl ValueSink for SqlText {
    // Every value brings a comma with it, and the end of the row turns the last one into the parenthesis.

    #[inline]
    fn begin_row(&mut self) {
        self.out.push(b'(');
    }

    #[inline]
    fn end_row(&mut self) {
        if let Some(comma) = self.out.last_mut() {
            *comma = b')';
        }
        self.out.push(b',');
        self.rows += 1;
    }

    #[inline]
    fn null(&mut self) {
        self.out.extend_from_slice(b"NULL,");
    }

    #[inline]
    fn int(&mut self, value: i64) {
        self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        self.out.push(b',');
    }

    #[inline]
    fn uint(&mut self, value: u64) {
        self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        self.out.push(b',');
    }

    fn real(&mut self, value: f64) {
        push_real(&mut self.out, value);
        self.out.push(b',');
    }

    #[inline]
    fn text(&mut self, value: &[u8]) {
        debug_assert!(is_plain_text(value), "{value:?} would need an escape");
        self.out.push(b'\'');
        self.out.extend_from_slice(value);
        self.out.extend_from_slice(b"',");
    }

    fn bytes(&mut self, value: &[u8]) {
        self.out.extend_from_slice(b"x'");
        for byte in value {
            self.out.extend_from_slice(&hex::digits(*byte));
        }
        self.out.extend_from_slice(b"',");
    }
}

/// The lines of LOAD DATA: `FIELDS TERMINATED BY '\t' ESCAPED BY '\\' LINES TERMINATED BY '\n'`, the server's own
/// defaults.
///
/// The file's character set has to be one that takes any byte, `CHARACTER SET latin1`: with `binary` MySQL refuses
/// JSON, with utf8 it refuses raw bytes.
#[derive(Debug, Default)]
pub struct Tsv {
    out: Vec<u8>,
    rows: u64,
}

impl Tsv {
    /// Room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { out: Vec::with_capacity(capacity), rows: 0 }
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    pub fn finish(self) -> Vec<u8> {
        self.out
    }
}

impl ValueSink for Tsv {
    #[inline]
    fn end_row(&mut self) {
        if let Some(tab) = self.out.last_mut() {
            *tab = b'\n';
        }
        self.rows += 1;
    }

    #[inline]
    fn null(&mut self) {
        self.out.extend_from_slice(b"\\N\t");
    }

    #[inline]
    fn int(&mut self, value: i64) {
        self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        self.out.push(b'\t');
    }

    #[inline]
    fn uint(&mut self, value: u64) {
        self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        self.out.push(b'\t');
    }

    fn real(&mut self, value: f64) {
        push_real(&mut self.out, value);
        self.out.push(b'\t');
    }

    #[inline]
    fn text(&mut self, value: &[u8]) {
        debug_assert!(is_plain_text(value), "{value:?} would need an escape");
        self.out.extend_from_slice(value);
        self.out.push(b'\t');
    }

    fn bytes(&mut self, value: &[u8]) {
        for byte in value {
            match byte {
                b'\\' => self.out.extend_from_slice(b"\\\\"),
                b'\t' => self.out.extend_from_slice(b"\\t"),
                b'\n' => self.out.extend_from_slice(b"\\n"),
                // A carriage return is data here, but an editor or a proxy may think otherwise.
                b'\r' => self.out.extend_from_slice(b"\\r"),
                0 => self.out.extend_from_slice(b"\\0"),
                byte => self.out.push(*byte),
            }
        }
        self.out.push(b'\t');
    }

    fn bits(&mut self, value: u64, bytes: u8) {
        self.bytes(&value.to_be_bytes()[8 - usize::from(bytes.min(8))..]);
    }
}

/// The shortest decimal digits that give the same number back, never in scientific notation.
fn push_real(out: &mut Vec<u8>, value: f64) {
    debug_assert!(value.is_finite());
    // Writing into a vector cannot fail.
    let _ = write!(out, "{value}");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one_of_each(sink: &mut impl ValueSink) {
        sink.begin_row();
        sink.null();
        sink.int(i64::MIN);
        sink.uint(u64::MAX);
        sink.real(0.1);
        sink.text(b"abc");
        sink.bytes(&[0, 0xFF, b'\'', b' ']);
        sink.end_row();
        sink.begin_row();
        sink.text(b"");
        sink.bytes(b"");
        sink.end_row();
    }

    #[test]
    fn the_text_of_an_insert() {
        let mut sql = SqlText::new("INSERT INTO t VALUES ", 64);
        one_of_each(&mut sql);
        assert_eq!(sql.rows(), 2);
        assert_eq!(
            sql.finish(),
            "INSERT INTO t VALUES (NULL,-9223372036854775808,18446744073709551615,0.1,'abc',x'00ff2720'),('',x'')"
        );
        assert_eq!(SqlText::new("SELECT 'é'", 0).finish(), "SELECT 'é'");
    }

    #[test]
    fn the_lines_of_load_data() {
        let mut tsv = Tsv::with_capacity(64);
        one_of_each(&mut tsv);
        assert_eq!(tsv.rows(), 2);
        assert_eq!(
            tsv.finish(),
            [b"\\N\t-9223372036854775808\t18446744073709551615\t0.1\tabc\t\\0\xFF' \n".as_slice(), b"\t\n"].concat()
        );
    }

    /// What a server does with a field of LOAD DATA.
    fn unescape(field: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut bytes = field.iter();
        while let Some(byte) = bytes.next() {
            if *byte != b'\\' {
                out.push(*byte);
                continue;
            }
            out.push(match bytes.next() {
                Some(b't') => b'\t',
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b'0') => 0,
                Some(other) => *other,
                None => panic!("a lone backslash at the end of {field:?}"),
            });
        }
        out
    }

    proptest! {
        #[test]
        fn any_bytes_survive_load_data(fields: Vec<Vec<u8>>) {
            prop_assume!(!fields.is_empty());
            let mut tsv = Tsv::default();
            tsv.begin_row();
            fields.iter().for_each(|field| tsv.bytes(field));
            tsv.end_row();
            let line = tsv.finish();
            let (end, line) = line.split_last().unwrap();
            prop_assert_eq!(*end, b'\n');
            prop_assert!(!line.contains(&b'\n'));
            let read: Vec<Vec<u8>> = line.split(|byte| *byte == b'\t').map(unescape).collect();
            prop_assert_eq!(read, fields);
        }

        #[test]
        fn floats_round_trip(value in proptest::num::f64::NORMAL | proptest::num::f64::ZERO) {
            let mut out = Vec::new();
            push_real(&mut out, value);
            let text = String::from_utf8(out).unwrap();
            prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits());
            prop_assert!(!text.contains('e'));
        }
    }
}
