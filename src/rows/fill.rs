//! One column of a row: which number it gets, and how that number is written in the column's type.

use std::sync::Arc;

use crate::key::mix::Stream;
use crate::key::{Storage, UuidSource, hex};

use super::date::{DAY_SECONDS, push_date, push_padded, push_time};
use super::picker::Picker;
use super::value::ValueSink;

/// Of each eight rows about one has NULL in a column that allows it.
const NULL_ONE_IN: u64 = 8;

/// Digits of unique text. Beside digits only letters that are told apart by every collation: some take v for w, or
/// i for y, and l and o are left out for people.
const DIGITS: &[u8; 30] = b"0123456789abcdefghjkmnpqrstuxz";

/// Symbols of text without a meaning, 32 so that five bits choose one.
const SYMBOLS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Symbols that one 64-bit number gives.
const SYMBOLS_OF_A_NUMBER: usize = 12;

/// The shortest address without a payload.
pub(super) const MAIL_BYTES_MIN: u64 = 24;
/// The longest address without a payload.
pub(super) const MAIL_BYTES_MAX: u64 = 40;

/// Where addresses end. All are reserved for documentation (RFC 2606): nobody gets mail if a table leaks.
const DOMAINS: [&[u8]; 4] = [b"@example.com", b"@example.net", b"@example.org", b"@mail.example.com"];

/// The most digits of unique text: 30^13 is the largest power below 2^64.
pub(super) const TEXT_DIGITS_MAX: u64 = 13;

/// The numbers that `digits` digits of unique text can tell apart, less one.
pub(super) fn text_last(digits: u64) -> u64 {
    (DIGITS.len() as u64).pow(digits.min(TEXT_DIGITS_MAX) as u32) - 1
}

/// Bytes of a value of varying length, chosen evenly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Length {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Length {
    pub(super) fn exactly(bytes: u64) -> Self {
        Self { min: bytes, max: bytes }
    }

    #[inline]
    fn of(self, row_stream: Stream) -> usize {
        if self.min == self.max {
            return self.min as usize;
        }
        (self.min + row_stream.up_to(u64::MAX, self.max - self.min)) as usize
    }
}

/// Writes a number in the type of a column.
#[derive(Debug, Clone)]
pub(super) enum Printer {
    /// `min` plus the number.
    Signed {
        min: i64,
    },
    Unsigned,
    /// The number with a point before its last `scale` digits.
    Decimal {
        scale: u8,
    },
    /// The number over `10^decimals`.
    Real {
        decimals: u8,
    },
    /// Days after a first one.
    Date {
        first_day: i64,
    },
    /// A time of day in units of the fraction.
    Time {
        fraction: u8,
    },
    /// Units of the fraction after the start of a first day.
    DateTime {
        first_day: i64,
        fraction: u8,
    },
    /// A first number plus the number: a year, the number of a member of an ENUM, the bits of a SET.
    From {
        first: u64,
    },
    /// `digits` digits that tell the number, then text without a meaning.
    Text {
        digits: u8,
        length: Length,
    },
    /// `digits` bytes that tell the number, then bytes without a meaning.
    Bytes {
        digits: u8,
        length: Length,
    },
    /// The number, as the bits of a column of so many bytes.
    Bit {
        bytes: u8,
    },
    /// A document with the number and a text.
    Json {
        length: Length,
    },
    /// The member of that number.
    Member {
        members: Vec<Box<[u8]>>,
    },
    /// The members whose bits are set.
    Members {
        members: Vec<Box<[u8]>>,
    },
    /// An IPv4 address.
    Inet4,
    /// An IPv6 address of which no group is zero, so that there is one way to write it.
    Inet6,
    /// A point, in the form in which servers store geometries.
    Point {
        srid: u32,
    },
}

/// How the value of a column comes about.
#[derive(Debug, Clone)]
pub(super) enum Fill {
    /// The UUID of the row, or of a number.
    Uuid { source: Arc<dyn UuidSource>, storage: Storage, picker: Option<Picker> },
    /// A mail address, of the row or of a number.
    Mail { stream: Stream, length: Length, picker: Option<Picker> },
    /// A number, written in the column's type. What stands beside the number in it follows the row, unless `repeats`: then equal
    /// numbers make equal values.
    Number { picker: Picker, printer: Printer, filler: Stream, repeats: bool },
    /// NULL in every row.
    Null,
}

/// Which rows have NULL.
#[derive(Debug, Clone, Copy)]
pub(super) enum Nulls {
    /// About one of eight.
    Some(Stream),
    /// Those whose number is below the bound: a share of all numbers.
    Below(Stream, u64),
}

impl Nulls {
    #[inline]
    fn is_null(self, row: u64) -> bool {
        match self {
            Self::Some(stream) => stream.at(row).is_multiple_of(NULL_ONE_IN),
            Self::Below(stream, bound) => stream.at(row) < bound,
        }
    }
}

/// One column of the INSERT.
#[derive(Debug, Clone)]
pub(super) struct Field {
    /// Its place among the columns of the table.
    pub(super) column: usize,
    /// What decides on NULL, where NULL comes.
    pub(super) nulls: Option<Nulls>,
    /// How its value comes about.
    pub(super) fill: Fill,
}

/// The most bytes of a value, before it is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Widest {
    /// Characters of a number.
    Number(u64),
    /// Bytes of text.
    Text(u64),
    /// Raw bytes.
    Bytes(u64),
    /// A number, which are raw bytes to LOAD DATA.
    Bits { characters: u64, bytes: u64 },
}

impl Field {
    #[inline]
    pub(super) fn emit(&self, row: u64, scratch: &mut Vec<u8>, sink: &mut impl ValueSink) {
        if let Some(nulls) = self.nulls
            && nulls.is_null(row)
        {
            return sink.null();
        }
        match &self.fill {
            Fill::Null => sink.null(),
            Fill::Uuid { source, storage, picker } => {
                let uuid = source.uuid(picked(picker.as_ref(), row));
                match storage {
                    Storage::Char32 => sink.text(&hex::simple(uuid.as_bytes())),
                    Storage::Char36 | Storage::Native => sink.text(&hex::hyphenated(uuid.as_bytes())),
                    Storage::Binary16 => sink.bytes(uuid.as_bytes()),
                }
            }
            Fill::Mail { stream, length, picker } => {
                emit_mail(stream.fork(picked(picker.as_ref(), row)), *length, scratch, sink);
            }
            Fill::Number { picker, printer, filler, repeats } => {
                let number = picker.pick(row);
                printer.emit(number, *filler, if *repeats { number } else { row }, scratch, sink);
            }
        }
    }

    /// How its numbers come, where it has numbers.
    pub(super) fn picker(&self) -> Option<&Picker> {
        match &self.fill {
            Fill::Uuid { picker, .. } | Fill::Mail { picker, .. } => picker.as_ref(),
            Fill::Number { picker, .. } => Some(picker),
            Fill::Null => None,
        }
    }

    /// The most bytes of the value in a table of `rows` rows.
    pub(super) fn widest(&self, rows: u64) -> Widest {
        match &self.fill {
            Fill::Null => Widest::Number(4),
            Fill::Uuid { storage: Storage::Binary16, .. } => Widest::Bytes(16),
            Fill::Uuid { storage, .. } => Widest::Text(storage.wire_bytes()),
            Fill::Mail { length, .. } => Widest::Text(length.max),
            Fill::Number { picker, printer, .. } => printer.widest(picker.largest(rows)),
        }
    }
}

fn picked(picker: Option<&Picker>, row: u64) -> u64 {
    picker.map_or(row, |picker| picker.pick(row))
}

fn emit_mail(row_stream: Stream, length: Length, scratch: &mut Vec<u8>, sink: &mut impl ValueSink) {
    let choice = row_stream.at(u64::MAX - 1);
    let domain = DOMAINS[(choice % DOMAINS.len() as u64) as usize];
    let bytes = length.of(row_stream);
    scratch.clear();
    push_symbols(scratch, row_stream, bytes.saturating_sub(domain.len()));
    scratch.extend_from_slice(domain);
    sink.text(scratch);
}

/// Appends `count` symbols without a meaning.
#[inline]
fn push_symbols(out: &mut Vec<u8>, row_stream: Stream, count: usize) {
    let mut left = count;
    let mut chunk = 0;
    while left > 0 {
        let mut bits = row_stream.at(chunk);
        let mut symbols = [0; SYMBOLS_OF_A_NUMBER];
        for symbol in &mut symbols {
            *symbol = SYMBOLS[(bits & 31) as usize];
            bits >>= 5;
        }
        let taken = left.min(SYMBOLS_OF_A_NUMBER);
        out.extend_from_slice(&symbols[..taken]);
        left -= taken;
        chunk += 1;
    }
}

/// Appends `count` bytes without a meaning.
fn push_random_bytes(out: &mut Vec<u8>, row_stream: Stream, count: usize) {
    let mut left = count;
    let mut chunk = 0;
    while left > 0 {
        let bytes = row_stream.at(chunk).to_be_bytes();
        let taken = left.min(bytes.len());
        out.extend_from_slice(&bytes[..taken]);
        left -= taken;
        chunk += 1;
    }
}

impl Printer {
    #[inline]
    fn emit(&self, number: u64, filler: Stream, row: u64, scratch: &mut Vec<u8>, sink: &mut impl ValueSink) {
        match self {
            Self::Signed { min } => sink.int(min.wrapping_add_unsigned(number)),
            Self::Unsigned => sink.uint(number),
            Self::Real { decimals } => sink.real(number as f64 / 10_f64.powi(i32::from(*decimals))),
            Self::From { first } => sink.uint(first + number),
            Self::Bit { bytes } => sink.bits(number, *bytes),
            Self::Member { members } => match members.get(number as usize) {
                Some(member) => sink.text(member),
                // The number is below the count of members; a missing value would shift those behind it.
                None => sink.null(),
            },
            Self::Bytes { digits, length } => {
                scratch.clear();
                scratch.extend_from_slice(&number.to_be_bytes()[8 - usize::from(*digits)..]);
                let row_stream = filler.fork(row);
                let bytes = length.of(row_stream);
                push_random_bytes(scratch, row_stream, bytes - usize::from(*digits));
                sink.bytes(scratch);
            }
            Self::Point { srid } => {
                scratch.clear();
                push_point(scratch, *srid, number);
                sink.bytes(scratch);
            }
            _ => {
                scratch.clear();
                self.write(number, filler, row, scratch);
                sink.text(scratch);
            }
        }
    }

    /// Appends the value of the types that are sent as text.
    fn write(&self, number: u64, filler: Stream, row: u64, out: &mut Vec<u8>) {
        match self {
            Self::Text { digits, length } => {
                push_digits(out, number, usize::from(*digits));
                let row_stream = filler.fork(row);
                let bytes = length.of(row_stream);
                push_symbols(out, row_stream, bytes - usize::from(*digits));
            }
            Self::Decimal { scale } => {
                push_padded(out, number, usize::from(*scale) + 1);
                if *scale > 0 {
                    let point = out.len() - usize::from(*scale);
                    out.insert(point, b'.');
                }
            }
            Self::Date { first_day } => push_date(out, first_day + number as i64),
            Self::Time { fraction } => push_time(out, number, *fraction),
            Self::DateTime { first_day, fraction } => {
                let day_units = DAY_SECONDS as u64 * 10_u64.pow(u32::from(*fraction));
                push_date(out, first_day + (number / day_units) as i64);
                out.push(b' ');
                push_time(out, number % day_units, *fraction);
            }
            Self::Json { length } => {
                // As MySQL prints it: a space after each colon and comma, the shorter name first.
                out.extend_from_slice(b"{\"n\": ");
                push_padded(out, number, 1);
                out.extend_from_slice(b", \"text\": \"");
                let row_stream = filler.fork(row);
                push_symbols(out, row_stream, length.of(row_stream));
                out.extend_from_slice(b"\"}");
            }
            Self::Members { members } => {
                for (bit, member) in members.iter().enumerate() {
                    if number >> bit & 1 == 1 {
                        if !out.is_empty() {
                            out.push(b',');
                        }
                        out.extend_from_slice(member);
                    }
                }
            }
            Self::Inet4 => {
                for (place, byte) in (number as u32).to_be_bytes().into_iter().enumerate() {
                    if place > 0 {
                        out.push(b'.');
                    }
                    push_padded(out, u64::from(byte), 1);
                }
            }
            Self::Inet6 => {
                out.extend_from_slice(b"2001");
                let tail = filler.at(row);
                // Six groups of twelve bits carry the number, the seventh is free.
                for group in 0..7 {
                    let shift = 60 - 12 * group;
                    let bits = if group < 6 { number.checked_shr(shift as u32).unwrap_or(0) } else { tail };
                    let digits = (0x1000 | (bits & 0x0FFF) as u16).to_be_bytes();
                    out.push(b':');
                    out.extend_from_slice(&hex::digits(digits[0]));
                    out.extend_from_slice(&hex::digits(digits[1]));
                }
            }
            // The others are no text and have been sent before this is asked.
            Self::Signed { .. }
            | Self::Unsigned
            | Self::Real { .. }
            | Self::From { .. }
            | Self::Point { .. }
            | Self::Bit { .. }
            | Self::Bytes { .. }
            | Self::Member { .. } => {}
        }
    }

    fn widest(&self, largest: u64) -> Widest {
        let digits = |number: u64| u64::from(number.checked_ilog10().unwrap_or(0)) + 1;
        let fraction_bytes = |fraction: u8| if fraction > 0 { 1 + u64::from(fraction) } else { 0 };
        match self {
            Self::Signed { min } => {
                let last = min.wrapping_add_unsigned(largest);
                let characters = |value: i64| digits(value.unsigned_abs()) + u64::from(value < 0);
                Widest::Number(characters(*min).max(characters(last)))
            }
            Self::Unsigned => Widest::Number(digits(largest)),
            // 17 digits tell any two numbers apart, and zeros may stand between the point and them.
            Self::Real { decimals } => Widest::Number(digits(largest).max(17) + 2 + u64::from(*decimals)),
            Self::Decimal { scale } => Widest::Text(digits(largest).max(u64::from(*scale) + 1) + 1),
            Self::Date { .. } => Widest::Text(10),
            Self::Time { fraction } => Widest::Text(9 + fraction_bytes(*fraction)),
            Self::DateTime { fraction, .. } => Widest::Text(19 + fraction_bytes(*fraction)),
            Self::From { first } => Widest::Number(digits(first.saturating_add(largest))),
            Self::Point { .. } => Widest::Bytes(POINT_BYTES),
            Self::Text { length, .. } => Widest::Text(length.max),
            Self::Bytes { length, .. } => Widest::Bytes(length.max),
            Self::Bit { bytes } => Widest::Bits { characters: digits(largest), bytes: u64::from(*bytes) },
            Self::Json { length } => Widest::Text(19 + digits(largest) + length.max),
            Self::Member { members } => {
                Widest::Text(members.iter().map(|member| member.len() as u64).max().unwrap_or(0))
            }
            Self::Members { members } => Widest::Text(members.iter().map(|member| member.len() as u64 + 1).sum()),
            Self::Inet4 => Widest::Text(15),
            Self::Inet6 => Widest::Text(39),
        }
    }
}

/// Bytes of a point as servers store it.
const POINT_BYTES: u64 = 25;

/// Appends a point on the map, a place of its own for each number: the reference system, then well-known binary. Longitude comes
/// from the upper half of the number, so that the points of small numbers lie side by side, and latitude from the lower.
fn push_point(out: &mut Vec<u8>, srid: u32, number: u64) {
    let share = |half: u64| half as f64 / (1_u64 << 32) as f64;
    let (x, y) = (180.0 - 360.0 * share(number >> 32), 90.0 - 180.0 * share(number & u64::from(u32::MAX)));
    out.extend_from_slice(&srid.to_le_bytes());
    // Little-endian, a point.
    out.extend_from_slice(&[1, 1, 0, 0, 0]);
    out.extend_from_slice(&x.to_le_bytes());
    out.extend_from_slice(&y.to_le_bytes());
}

/// Appends `count` digits of `number`, the highest first, so that text ascends where numbers do.
fn push_digits(out: &mut Vec<u8>, mut number: u64, count: usize) {
    let start = out.len();
    out.resize(start + count, b'0');
    for digit in out[start..].iter_mut().rev() {
        *digit = DIGITS[(number % DIGITS.len() as u64) as usize];
        number /= DIGITS.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(printer: &Printer, number: u64) -> String {
        let mut out = Vec::new();
        printer.write(number, Stream::new(1, "test"), 5, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_take_the_form_of_the_type() {
        assert_eq!(written(&Printer::Decimal { scale: 2 }, 5), "0.05");
        assert_eq!(written(&Printer::Decimal { scale: 2 }, 12_345), "123.45");
        assert_eq!(written(&Printer::Decimal { scale: 0 }, 12_345), "12345");
        assert_eq!(written(&Printer::Decimal { scale: 30 }, 12), "0.000000000000000000000000000012");
        assert_eq!(written(&Printer::Date { first_day: 0 }, 31), "1970-02-01");
        assert_eq!(written(&Printer::DateTime { first_day: 0, fraction: 3 }, 86_400_001), "1970-01-02 00:00:00.001");
        assert_eq!(written(&Printer::Inet4, 0x0A00_01FF), "10.0.1.255");
        assert_eq!(written(&Printer::Text { digits: 3, length: Length::exactly(3) }, 30), "010");
    }

    #[test]
    fn an_ipv6_address_has_one_spelling() {
        for number in [0, 1, 0xFFFF, u64::MAX] {
            let text = written(&Printer::Inet6, number);
            assert_eq!(text.parse::<std::net::Ipv6Addr>().unwrap().to_string(), text);
        }
        assert!(written(&Printer::Inet6, 1 << 60) > written(&Printer::Inet6, (1 << 60) - 1));
    }

    #[test]
    fn the_digits_of_unique_text_are_distinct_and_ascend() {
        assert!(DIGITS.is_sorted_by(|a, b| a < b));
        assert_eq!(text_last(1), 29);
        assert_eq!(text_last(2), 899);
        assert_eq!(text_last(99), text_last(13));
        let text = |number| written(&Printer::Text { digits: 13, length: Length::exactly(13) }, number);
        assert!(text(text_last(13)) > text(text_last(13) - 1));
        assert_eq!(text(text_last(13)), "z".repeat(13));
    }

    #[test]
    fn json_is_written_as_mysql_prints_it() {
        let text = written(&Printer::Json { length: Length::exactly(4) }, 7);
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(parsed["n"], 7);
        assert_eq!(parsed["text"].as_str().unwrap().len(), 4);
        assert!(text.starts_with("{\"n\": 7, \"text\": \""));
    }

    #[test]
    fn members_are_joined_in_their_order() {
        let members = [b"a".as_slice(), b"b", b"c"].map(Into::into).to_vec();
        assert_eq!(written(&Printer::Members { members: members.clone() }, 0b101), "a,c");
        assert_eq!(written(&Printer::Members { members }, 0), "");
    }
}
