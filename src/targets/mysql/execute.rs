//! The bytes of a prepared statement that is executed, and of the rows that answer it: the binary protocol.
//!
//! Source of the formats: "COM_STMT_EXECUTE" and "Binary resultset row" of the MariaDB and MySQL protocol manuals.

use super::wire::number;
use crate::rows::Value;
use crate::targets::answer::Rows;

const EXECUTE: u8 = 0x17;

/// Types of values and columns.
mod code {
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
}

/// UNSIGNED_FLAG among the flags of a column.
const UNSIGNED: u16 = 32;

/// How the values of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coding {
    code: u8,
    unsigned: bool,
}

impl Coding {
    /// Of a column as the driver knows it.
    pub fn of(column: &mysql::Column) -> Self {
        let unsigned = column.flags().contains(mysql::consts::ColumnFlags::UNSIGNED_FLAG);
        Self { code: column.column_type() as u8, unsigned }
    }

    /// Of the packet that describes a column; `None` when it is none.
    pub fn read(mut packet: &[u8]) -> Option<Self> {
        // Catalogue, schema, table, original table, name, original name.
        for _ in 0..6 {
            text(&mut packet)?;
        }
        // The length of what follows: character set (2), width (4), type (1), flags (2).
        let (_, rest) = packet.split_first()?;
        let [_, _, _, _, _, _, code, low, high, ..] = *rest else { return None };
        Some(Self { code, unsigned: u16::from_le_bytes([low, high]) & UNSIGNED != 0 })
    }
}

/// The request that executes a statement with values for its parameters.
///
/// Text travels as text in the character set of the connection and raw bytes as a BLOB, which no server converts.
pub fn request(statement: u32, values: &[Value], out: &mut Vec<u8>) {
    out.clear();
    out.push(EXECUTE);
    out.extend_from_slice(&statement.to_le_bytes());
    // No cursor; one execution.
    out.extend_from_slice(&[0, 1, 0, 0, 0]);
    if values.is_empty() {
        return;
    }
    let nulls = out.len();
    out.resize(nulls + values.len().div_ceil(8), 0);
    for (place, value) in values.iter().enumerate() {
        if *value == Value::Null {
            out[nulls + place / 8] |= 1 << (place % 8);
        }
    }
    // The types follow.
    out.push(1);
    for value in values {
        out.extend_from_slice(&match value {
            Value::Null => [code::NULL, 0],
            Value::Int(_) => [code::LONGLONG, 0],
            Value::UInt(_) => [code::LONGLONG, 0x80],
            Value::Real(_) => [code::DOUBLE, 0],
            Value::Text(_) => [code::VAR_STRING, 0],
            Value::Bytes(_) => [code::BLOB, 0],
        });
    }
    for value in values {
        match value {
            Value::Null => {}
            Value::Int(number) => out.extend_from_slice(&number.to_le_bytes()),
            Value::UInt(number) => out.extend_from_slice(&number.to_le_bytes()),
            Value::Real(number) => out.extend_from_slice(&number.to_le_bytes()),
            Value::Text(bytes) | Value::Bytes(bytes) => {
                push_length(bytes.len() as u64, out);
                out.extend_from_slice(bytes);
            }
        }
    }
}

fn push_length(length: u64, out: &mut Vec<u8>) {
    let bytes = length.to_le_bytes();
    match length {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => out.extend_from_slice(&[0xfc, bytes[0], bytes[1]]),
        0x1_0000..=0xff_ffff => out.extend_from_slice(&[0xfd, bytes[0], bytes[1], bytes[2]]),
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Takes one row apart, whose packet begins behind its first byte. `None` when it is not what the columns say.
pub fn row(packet: &[u8], columns: &[Coding], rows: &mut Rows) -> Option<()> {
    // The first two bits of the bitmap belong to nothing.
    let (nulls, mut packet) = packet.split_at_checked((columns.len() + 2).div_ceil(8))?;
    for (place, column) in columns.iter().enumerate() {
        let bit = place + 2;
        let value = match nulls[bit / 8] >> (bit % 8) & 1 {
            1 => Value::Null,
            _ => value(&mut packet, *column)?,
        };
        rows.push(value);
    }
    packet.is_empty().then_some(())
}

fn value(packet: &mut &[u8], column: Coding) -> Option<Value> {
    let whole = |signed: i64, unsigned: u64| match column.unsigned {
        true => Value::UInt(unsigned),
        false => Value::Int(signed),
    };
    Some(match column.code {
        code::TINY => {
            let [byte] = take(packet)?;
            whole(i64::from(byte as i8), u64::from(byte))
        }
        code::SHORT | code::YEAR => {
            let bytes = take(packet)?;
            whole(i64::from(i16::from_le_bytes(bytes)), u64::from(u16::from_le_bytes(bytes)))
        }
        code::LONG | code::INT24 => {
            let bytes = take(packet)?;
            whole(i64::from(i32::from_le_bytes(bytes)), u64::from(u32::from_le_bytes(bytes)))
        }
        code::LONGLONG => {
            let bytes = take(packet)?;
            whole(i64::from_le_bytes(bytes), u64::from_le_bytes(bytes))
        }
        code::FLOAT => Value::Real(f64::from(f32::from_le_bytes(take(packet)?))),
        code::DOUBLE => Value::Real(f64::from_le_bytes(take(packet)?)),
        code::DATE | code::DATETIME | code::TIMESTAMP => moment(counted(packet)?, column.code)?,
        code::TIME => time(counted(packet)?)?,
        _ => Value::Bytes(text(packet)?.into()),
    })
}

/// A day with or without a time of day.
fn moment(bytes: &[u8], code: u8) -> Option<Value> {
    let (day, rest) = match *bytes {
        [] => ([0, 0, 0, 0], &[][..]),
        [a, b, c, d, ref rest @ ..] => ([a, b, c, d], rest),
        _ => return None,
    };
    let (hour, minute, second, micros) = match *rest {
        [] => (0, 0, 0, 0),
        [hour, minute, second] => (hour, minute, second, 0),
        [hour, minute, second, a, b, c, d] => (hour, minute, second, u32::from_le_bytes([a, b, c, d])),
        _ => return None,
    };
    let mut text = format!("{:04}-{:02}-{:02}", u16::from_le_bytes([day[0], day[1]]), day[2], day[3]);
    if code != code::DATE {
        text.push_str(&format!(" {hour:02}:{minute:02}:{second:02}.{micros:06}"));
    }
    Some(Value::Text(text.into_bytes().into()))
}

fn time(bytes: &[u8]) -> Option<Value> {
    let (negative, hours, minute, second, micros) = match *bytes {
        [] => (false, 0, 0, 0, 0),
        [negative, a, b, c, d, hour, minute, second, ref rest @ ..] => {
            let micros = match *rest {
                [] => 0,
                [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
                _ => return None,
            };
            (negative != 0, u32::from_le_bytes([a, b, c, d]) * 24 + u32::from(hour), minute, second, micros)
        }
        _ => return None,
    };
    let sign = if negative { "-" } else { "" };
    let text = format!("{sign}{hours:02}:{minute:02}:{second:02}.{micros:06}");
    Some(Value::Text(text.into_bytes().into()))
}

fn take<const BYTES: usize>(packet: &mut &[u8]) -> Option<[u8; BYTES]> {
    let (bytes, rest) = packet.split_first_chunk::<BYTES>()?;
    *packet = rest;
    Some(*bytes)
}

/// Bytes behind one byte that counts them.
fn counted<'a>(packet: &mut &'a [u8]) -> Option<&'a [u8]> {
    let [length] = take(packet)?;
    let (bytes, rest) = packet.split_at_checked(usize::from(length))?;
    *packet = rest;
    Some(bytes)
}

/// Bytes behind their length.
fn text<'a>(packet: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(number(packet)?).ok()?;
    let (bytes, rest) = packet.split_at_checked(length)?;
    *packet = rest;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(code: u8, unsigned: bool) -> Coding {
        Coding { code, unsigned }
    }

    #[test]
    fn a_request_has_nulls_types_and_values() {
        let mut out = Vec::new();
        let values = [Value::UInt(7), Value::Null, Value::Text(b"ab"[..].into()), Value::Bytes([0][..].into())];
        request(0x0102_0304, &values, &mut out);
        let types = [8, 0x80, 6, 0, 253, 0, 252, 0];
        let expected =
            [&[0x17, 4, 3, 2, 1, 0, 1, 0, 0, 0, 0b10, 1][..], &types, &7_u64.to_le_bytes(), &[2, b'a', b'b', 1, 0]];
        assert_eq!(out, expected.concat());
        request(1, &[], &mut out);
        assert_eq!(out, [0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0]);
        request(1, &[Value::Text(vec![b'x'; 70_000].into())], &mut out);
        assert_eq!(out[14..18], [0xfd, 0x70, 0x11, 1]);
    }

    #[test]
    fn rows_of_every_type_are_read() {
        let columns = [
            column(code::TINY, false),
            column(code::SHORT, true),
            column(code::LONG, false),
            column(code::LONGLONG, true),
            column(code::DOUBLE, false),
            column(code::VAR_STRING, false),
            column(code::DATETIME, false),
            column(code::TIME, false),
            column(code::LONG, false),
        ];
        let mut packet = vec![0, 0b100];
        packet.push(0xff);
        packet.extend([0xff, 0xff]);
        packet.extend((-5_i32).to_le_bytes());
        packet.extend(u64::MAX.to_le_bytes());
        packet.extend(0.5_f64.to_le_bytes());
        packet.extend([3, b'a', b'b', b'c']);
        packet.extend([7, 0xea, 7, 11, 30, 1, 2, 3]);
        packet.extend([8, 1, 1, 0, 0, 0, 2, 3, 4]);
        let mut rows = Rows::default();
        rows.begin(columns.len());
        row(&packet, &columns, &mut rows).unwrap();
        let text = |text: &str| Value::Text(text.as_bytes().into());
        assert_eq!(
            rows.first().unwrap(),
            [
                Value::Int(-1),
                Value::UInt(0xffff),
                Value::Int(-5),
                Value::UInt(u64::MAX),
                Value::Real(0.5),
                Value::Bytes(b"abc"[..].into()),
                text("2026-11-30 01:02:03.000000"),
                text("-26:03:04.000000"),
                Value::Null
            ]
        );
        for cut in 0..packet.len() {
            rows.begin(columns.len());
            assert_eq!(row(&packet[..cut], &columns, &mut rows), None, "{cut} bytes");
        }
    }
}
