//! Whether a value that was read back is the one that was sent.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::schema::ColumnType;

use super::value::Value;

/// A `FLOAT` keeps 24 bits, and servers print six digits of it.
const FLOAT_TOLERANCE: f64 = 1e-5;
/// Two roundings of the last bit: SQLite reads decimal digits with its own routine.
const DOUBLE_TOLERANCE: f64 = 5e-16;

/// Whether `got`, read back from a column of this type, is `expected`.
///
/// Text and bytes are not told apart (drivers cannot), and numbers may come back as their text, as they do without
/// prepared statements. Beyond that everything is strict except `FLOAT`, the last bit of `DOUBLE`, and spellings of
/// the same decimal, date, document or address.
pub fn same_value(data_type: &ColumnType, expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Null, Value::Null) => return true,
        (Value::Null, _) | (_, Value::Null) => return false,
        _ => {}
    }
    match data_type {
        ColumnType::Bool | ColumnType::Int { .. } | ColumnType::Year => equal_some(integer(expected), integer(got)),
        ColumnType::Bit { .. } => equal_some(bits(expected), bits(got)),
        ColumnType::Float { .. } => is_near(expected, got, FLOAT_TOLERANCE),
        ColumnType::Double { .. } => is_near(expected, got, DOUBLE_TOLERANCE),
        ColumnType::Decimal { .. } => same_decimal(expected, got),
        ColumnType::Date | ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => {
            equal_some(moment(expected), moment(got))
        }
        ColumnType::Time { .. } => equal_some(time_of(expected), time_of(got)),
        ColumnType::Json => same_bytes(expected, got) || equal_some(document(expected), document(got)),
        ColumnType::Uuid => match (bytes_of(expected), bytes_of(got)) {
            (Some(expected), Some(got)) => expected.eq_ignore_ascii_case(got),
            _ => false,
        },
        ColumnType::Inet4 => equal_some(parsed::<Ipv4Addr>(expected), parsed(got)),
        ColumnType::Inet6 => equal_some(parsed::<Ipv6Addr>(expected), parsed(got)),
        ColumnType::Enum { members } => same_bytes(expected, got) || same_member(members, expected, got),
        ColumnType::Set { members } => same_bytes(expected, got) || same_members(members, expected, got),
        ColumnType::Char
        | ColumnType::Varchar
        | ColumnType::Text
        | ColumnType::Binary
        | ColumnType::Varbinary
        | ColumnType::Blob
        | ColumnType::Point { .. }
        | ColumnType::Other => same_bytes(expected, got),
    }
}

/// A member as a session that speaks latin1 reads it: what that has no character for is a question mark.
fn as_latin1(member: &str) -> Vec<u8> {
    member.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
}

/// Whether bytes are what was expected; a question mark stands for any.
fn reads_as(expected: &[u8], got: &[u8]) -> bool {
    expected.len() == got.len() && expected.iter().zip(got).all(|(expected, got)| *expected == b'?' || expected == got)
}

/// Whether two values are one member, as its number or as its text.
fn same_member(members: &[String], expected: &Value, got: &Value) -> bool {
    let by_text = |text: &[u8]| members.iter().position(|member| member.as_bytes() == text).map(|at| at as i128 + 1);
    let number = match expected {
        Value::Text(text) => by_text(text),
        other => integer(other),
    };
    let Some(number) = number else { return false };
    if let Value::Int(_) | Value::UInt(_) = got {
        return integer(got) == Some(number);
    }
    let member = usize::try_from(number - 1).ok().and_then(|place| members.get(place));
    member.zip(bytes_of(got)).is_some_and(|(member, got)| member.as_bytes() == got || reads_as(&as_latin1(member), got))
}

/// Whether two values are the same members, as bits or as their texts.
fn same_members(members: &[String], expected: &Value, got: &Value) -> bool {
    let chosen = |bits: i128| members.iter().enumerate().filter(move |(bit, _)| bits >> bit & 1 == 1);
    let is_text_of = |bits: i128, text: &[u8]| {
        let in_utf8 = chosen(bits).map(|(_, member)| member.as_bytes()).collect::<Vec<_>>().join(&b',');
        let in_latin1 = chosen(bits).map(|(_, member)| as_latin1(member)).collect::<Vec<_>>().join(&b',');
        in_utf8 == text || reads_as(&in_latin1, text)
    };
    match (expected, got) {
        (Value::Int(_) | Value::UInt(_), Value::Int(_) | Value::UInt(_)) => integer(expected) == integer(got),
        (Value::Text(text), _) => integer(got).is_some_and(|bits| is_text_of(bits, text)),
        _ => integer(expected).zip(bytes_of(got)).is_some_and(|(bits, got)| is_text_of(bits, got)),
    }
}

/// Equal, and both known.
fn equal_some<T: PartialEq>(expected: Option<T>, got: Option<T>) -> bool {
    expected.is_some() && expected == got
}

fn bytes_of(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Text(bytes) | Value::Bytes(bytes) => Some(bytes),
        Value::Null | Value::Int(_) | Value::UInt(_) | Value::Real(_) => None,
    }
}

fn text_of(value: &Value) -> Option<&str> {
    bytes_of(value).and_then(|bytes| std::str::from_utf8(bytes).ok())
}

fn parsed<T: std::str::FromStr>(value: &Value) -> Option<T> {
    text_of(value)?.parse().ok()
}

fn same_bytes(expected: &Value, got: &Value) -> bool {
    equal_some(bytes_of(expected), bytes_of(got))
}

fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::UInt(number) => Some(i128::from(*number)),
        Value::Text(_) | Value::Bytes(_) => parsed(value),
        Value::Real(_) | Value::Null => None,
    }
}

fn bits(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::UInt(number) => Some(*number),
        Value::Text(bytes) | Value::Bytes(bytes) if bytes.len() <= 8 => {
            Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
        }
        _ => None,
    }
}

fn real(value: &Value) -> Option<f64> {
    match value {
        Value::Real(number) => Some(*number),
        Value::Int(number) => Some(*number as f64),
        Value::UInt(number) => Some(*number as f64),
        Value::Text(_) | Value::Bytes(_) => parsed(value),
        Value::Null => None,
    }
}

fn is_near(expected: &Value, got: &Value, tolerance: f64) -> bool {
    match (real(expected), real(got)) {
        (Some(expected), Some(got)) => (expected - got).abs() <= tolerance * expected.abs().max(got.abs()),
        _ => false,
    }
}

/// Sign, digits before the point without zeros in front, digits after it without zeros behind.
fn decimal(text: &str) -> Option<(bool, &str, &str)> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = !(whole.is_empty() && fraction.is_empty()) && all_digits(whole) && all_digits(fraction);
    is_number.then(|| (negative, whole.trim_start_matches('0'), fraction.trim_end_matches('0')))
}

fn same_decimal(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        // SQLite stores a decimal as the number nearest to it.
        (_, Value::Real(_)) => is_near(expected, got, DOUBLE_TOLERANCE),
        (_, Value::Int(number)) => same_decimal(expected, &Value::Text(number.to_string().into_bytes().into())),
        _ => equal_some(text_of(expected).and_then(decimal), text_of(got).and_then(decimal)),
    }
}

/// A day as its text, and microseconds of the day, which a bare date has none of.
fn moment(value: &Value) -> Option<(&str, u64)> {
    let text = text_of(value)?;
    match text.split_once([' ', 'T']) {
        Some((day, time)) => Some((day, microseconds(time)?)),
        None => Some((text, 0)),
    }
}

fn time_of(value: &Value) -> Option<u64> {
    microseconds(text_of(value)?)
}

fn microseconds(time: &str) -> Option<u64> {
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut seconds = 0_u64;
    for part in clock.splitn(3, ':') {
        seconds = seconds.checked_mul(60)?.checked_add(part.parse().ok()?)?;
    }
    if clock.matches(':').count() != 2 || fraction.len() > 6 {
        return None;
    }
    let micros: u64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    Some(seconds * 1_000_000 + micros * 10_u64.pow(6 - fraction.len() as u32))
}

fn document(value: &Value) -> Option<serde_json::Value> {
    serde_json::from_slice(bytes_of(value)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.as_bytes().into())
    }

    fn bytes(bytes: &[u8]) -> Value {
        Value::Bytes(bytes.into())
    }

    #[test]
    fn integers_are_equal_whatever_carries_them() {
        let int = ColumnType::Int { bits: 64, unsigned: true };
        assert!(same_value(&int, &Value::Int(5), &Value::UInt(5)));
        assert!(same_value(&int, &Value::UInt(u64::MAX), &bytes(b"18446744073709551615")));
        assert!(!same_value(&int, &Value::UInt(u64::MAX), &Value::Int(-1)));
        assert!(!same_value(&int, &Value::Int(5), &Value::Real(5.0)));
        assert!(!same_value(&int, &Value::Int(5), &text("x")));
    }

    #[test]
    fn null_is_only_null() {
        let int = ColumnType::Int { bits: 32, unsigned: false };
        assert!(same_value(&int, &Value::Null, &Value::Null));
        assert!(!same_value(&int, &Value::Null, &Value::Int(0)));
        assert!(!same_value(&int, &Value::Int(0), &Value::Null));
    }

    #[test]
    fn bytes_are_compared_to_the_last_one() {
        let key = b"\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xAA\xBB\xCC\xDD\xEE\x20";
        assert!(same_value(&ColumnType::Binary, &bytes(key), &Value::Text(key.as_slice().into())));
        assert!(!same_value(&ColumnType::Binary, &bytes(key), &bytes(&key[..15])), "a trimmed 0x20 is a difference");
        assert!(!same_value(&ColumnType::Char, &text("ab"), &text("AB")));
        assert!(!same_value(&ColumnType::Char, &text("ab"), &text("ab ")));
        assert!(!same_value(&ColumnType::Blob, &bytes(b"5"), &Value::Int(5)));
    }

    #[test]
    fn only_lossy_types_are_forgiving() {
        let float = ColumnType::Float { digits: None };
        let double = ColumnType::Double { digits: None };
        let stored = f64::from(1234.56_f32);
        assert!(same_value(&float, &Value::Real(1234.56), &Value::Real(stored)));
        assert!(same_value(&float, &Value::Real(1234.56), &bytes(b"1234.56")));
        assert!(!same_value(&float, &Value::Real(1234.56), &Value::Real(1234.66)));
        assert!(!same_value(&double, &Value::Real(1234.56), &Value::Real(stored)));
        assert!(same_value(&double, &Value::Real(1234.56), &bytes(b"1234.56")));
        assert!(same_value(&double, &Value::Real(0.0), &Value::Real(0.0)));
    }

    #[test]
    fn decimals_are_equal_as_numbers() {
        let decimal = ColumnType::Decimal { precision: 10, scale: 2 };
        assert!(same_value(&decimal, &text("5.50"), &bytes(b"5.5")));
        assert!(same_value(&decimal, &text("0.05"), &text(".05")));
        assert!(same_value(&decimal, &text("7.00"), &Value::Int(7)));
        assert!(same_value(&decimal, &text("0.00"), &Value::Int(0)));
        assert!(same_value(&decimal, &text("123.45"), &Value::Real(123.45)));
        assert!(!same_value(&decimal, &text("123.45"), &text("123.46")));
        assert!(!same_value(&decimal, &text("123.45"), &text("-123.45")));
        assert!(!same_value(&decimal, &text("123.45"), &text("abc")));
    }

    #[test]
    fn moments_are_equal_with_and_without_their_zeros() {
        let moment = ColumnType::DateTime { fraction: 3 };
        assert!(same_value(&moment, &text("2024-01-02 03:04:05.600"), &text("2024-01-02 03:04:05.6")));
        assert!(same_value(&moment, &text("2024-01-02 03:04:05"), &text("2024-01-02T03:04:05.000000")));
        assert!(!same_value(&moment, &text("2024-01-02 03:04:05.600"), &text("2024-01-02 03:04:05")));
        assert!(same_value(&ColumnType::Date, &text("2024-01-02"), &text("2024-01-02 00:00:00")));
        assert!(!same_value(&ColumnType::Date, &text("2024-01-02"), &text("2024-01-03")));
        let time = ColumnType::Time { fraction: 0 };
        assert!(same_value(&time, &text("838:59:59"), &text("838:59:59.000000")));
        assert!(!same_value(&time, &text("01:02:03"), &text("01:02")));
    }

    #[test]
    fn bits_documents_and_addresses() {
        assert!(same_value(&ColumnType::Bit { bits: 12 }, &bytes(&[0x0F, 0xFF]), &Value::UInt(4_095)));
        assert!(!same_value(&ColumnType::Bit { bits: 12 }, &bytes(&[0x0F, 0xFF]), &bytes(&[0xFF])));
        assert!(same_value(&ColumnType::Json, &text("{\"n\": 1, \"t\": \"a\"}"), &text("{\"t\":\"a\",\"n\":1}")));
        assert!(!same_value(&ColumnType::Json, &text("{\"n\": 1}"), &text("{\"n\": 2}")));
        assert!(same_value(&ColumnType::Inet6, &text("2001:1000::1"), &text("2001:1000:0:0:0:0:0:1")));
        assert!(!same_value(&ColumnType::Inet4, &text("10.0.0.1"), &text("10.0.0.2")));
        assert!(same_value(&ColumnType::Uuid, &text("0a"), &text("0A")));
    }
}
