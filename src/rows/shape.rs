//! How many different values a column has room for, and how they are written.

use crate::schema::{Column, ColumnType, Dialect};

use super::date::{DAY_1000, DAY_2000, DAY_2012, DAY_2025, DAY_2038, DAY_10000, DAY_SECONDS};
use super::fill::{Length, Printer, TEXT_DIGITS_MAX, text_last};
use super::needs::Need;
use super::plan::{fill, has_prefix, is_free, refuse};
use super::value::is_plain_text;
use super::wish::Wish;
use super::{RowOptions, RowsError, TableKind};

/// The longest text or bytes without a payload: a table should not grow by what nobody asked for.
const LENGTH_MAX: u64 = 64;
/// The shortest, where the column has room for more.
const LENGTH_MIN: u64 = 24;
/// Decimal digits that 64 bits hold.
const DECIMAL_DIGITS_MAX: u8 = 18;
/// Digits that survive a `DOUBLE`, and SQLite's NUMERIC, which turns into one.
const DOUBLE_DIGITS_MAX: u8 = 15;
/// Digits that survive a `FLOAT` as it is printed.
const FLOAT_DIGITS_MAX: u8 = 6;

/// A range of numbers and how they are written.
pub(super) struct Shape {
    pub(super) last: u64,
    pub(super) printer: Printer,
}

impl Shape {
    /// How many different values it has.
    pub(super) fn values(&self) -> u128 {
        u128::from(self.last) + 1
    }
}

/// The numbers that a column has room for, wide enough for what is needed where the type allows it.
pub(super) fn shape(column: &Column, need: Need, wish: Wish, options: &RowOptions) -> Result<Shape, RowsError> {
    let wanted = match need {
        Need::Distinct { values, .. } => values,
        Need::Any | Need::Spread => 0,
    };
    let wanted = wanted.max(wish.distinct.unwrap_or(0));
    if wish.length.is_some() && !has_length(column) {
        return Err(fill(column, format!("a {} has no length to choose", column.column_type_text)));
    }
    let shape = |last, printer| Ok(Shape { last, printer });
    match &column.data_type {
        ColumnType::Bool if wanted <= 2 => shape(1, Printer::Signed { min: 0 }),
        ColumnType::Bool => Ok(int_shape(8, false, wanted)),
        ColumnType::Int { bits, unsigned } => Ok(int_shape(*bits, *unsigned, wanted)),
        ColumnType::Bit { bits } => shape(last_of_bits(*bits), Printer::Bit { bytes: bits.div_ceil(8) }),
        ColumnType::Decimal { precision, scale } => {
            let most = if options.dialect == Dialect::Sqlite { DOUBLE_DIGITS_MAX } else { DECIMAL_DIGITS_MAX };
            shape(last_of_digits((*precision).min(most)), Printer::Decimal { scale: *scale })
        }
        ColumnType::Float { digits } => Ok(match digits {
            Some((precision, scale)) => real_shape((*precision).min(FLOAT_DIGITS_MAX), *scale),
            None if wanted > 1_000_000 => Shape { last: (1 << 24) - 1, printer: Printer::Real { decimals: 0 } },
            None => real_shape(FLOAT_DIGITS_MAX, 2),
        }),
        ColumnType::Double { digits } => Ok(match digits {
            Some((precision, scale)) => real_shape((*precision).min(DOUBLE_DIGITS_MAX), *scale),
            None if wanted > 1_000_000_000_000 => Shape { last: (1 << 53) - 1, printer: Printer::Real { decimals: 0 } },
            None => real_shape(12, 3),
        }),
        ColumnType::Date => Ok(match column.period {
            None => date_shape(wanted),
            Some(ends) => {
                let (first_day, end_day) = days_of_period(ends);
                Shape { last: (end_day - first_day) as u64 - 1, printer: Printer::Date { first_day } }
            }
        }),
        ColumnType::Time { fraction } => {
            // A time of day, unless so many are needed that TIME's own range has to do.
            let day = units(DAY_SECONDS, *fraction);
            let longest = units(839 * 3_600 - 1, *fraction) - (units(1, *fraction) - 1);
            let values = if wanted <= day { day } else { longest };
            shape(values - 1, Printer::Time { fraction: *fraction })
        }
        ColumnType::DateTime { fraction } | ColumnType::Timestamp { fraction } if column.period.is_some() => {
            let (first_day, end_day) = days_of_period(column.period == Some(true));
            let values = units((end_day - first_day) * DAY_SECONDS, *fraction);
            shape(values - 1, Printer::DateTime { first_day, fraction: *fraction })
        }
        ColumnType::DateTime { fraction } => Ok(moment_shape(wanted, *fraction, DAY_1000, DAY_10000)),
        ColumnType::Timestamp { fraction } => Ok(moment_shape(wanted, *fraction, 1, DAY_2038)),
        ColumnType::Year if wanted <= 25 => shape(24, Printer::From { first: 2000 }),
        ColumnType::Year => shape(254, Printer::From { first: 1901 }),
        ColumnType::Char | ColumnType::Varchar | ColumnType::Text => text_shape(column, need, wish, options),
        ColumnType::Binary | ColumnType::Varbinary | ColumnType::Blob => bytes_shape(column, need, wish, options),
        ColumnType::Json if has_prefix(column) => Err(refuse(column, "a prefix of a document is not unique")),
        ColumnType::Json => {
            let length = match (wish.length, options.payload_bytes) {
                (Some((min, max)), _) => Length { min, max },
                (None, Some(bytes)) => Length::exactly(bytes),
                (None, None) => Length { min: LENGTH_MIN, max: LENGTH_MAX },
            };
            shape((1 << 53) - 1, Printer::Json { length })
        }
        ColumnType::Enum { members } => Ok(enum_shape(members, options)),
        ColumnType::Set { members } => Ok(set_shape(members, options)),
        ColumnType::Inet4 => shape(u64::from(u32::MAX), Printer::Inet4),
        ColumnType::Inet6 => shape(u64::MAX, Printer::Inet6),
        ColumnType::Point { srid } => shape(u64::MAX, Printer::Point { srid: *srid }),
        ColumnType::Uuid => Err(refuse(column, "only a prefix of it is in the unique index")),
        ColumnType::Other => {
            Err(refuse(column, "rowcliff has no values for this type; leave the column out of the schema"))
        }
    }
}

fn last_of_bits(bits: u8) -> u64 {
    if bits == 0 { 0 } else { u64::MAX >> (64 - u32::from(bits.min(64))) }
}

fn last_of_digits(digits: u8) -> u64 {
    10_u64.pow(u32::from(digits.min(DECIMAL_DIGITS_MAX))) - 1
}

/// `seconds` in units of `10^-fraction` seconds.
fn units(seconds: i64, fraction: u8) -> u64 {
    seconds as u64 * 10_u64.pow(u32::from(fraction))
}

/// Numbers from 0 on, and negative ones only where the positive half is too small.
fn int_shape(bits: u8, unsigned: bool, wanted: u64) -> Shape {
    if unsigned {
        return Shape { last: last_of_bits(bits), printer: Printer::Unsigned };
    }
    let positive = last_of_bits(bits - 1);
    if wanted.saturating_sub(1) <= positive {
        Shape { last: positive, printer: Printer::Signed { min: 0 } }
    } else {
        Shape { last: last_of_bits(bits), printer: Printer::Signed { min: -1 - positive as i64 } }
    }
}

fn real_shape(digits: u8, decimals: u8) -> Shape {
    Shape { last: last_of_digits(digits), printer: Printer::Real { decimals } }
}

/// The days of 2000 to 2024, which partitions by range usually cover; more where more are needed.
fn date_shape(wanted: u64) -> Shape {
    let (first_day, end_day) = match wanted {
        0..=9_132 => (DAY_2000, DAY_2025),
        _ if wanted <= (DAY_10000 - DAY_2000) as u64 => (DAY_2000, DAY_10000),
        _ => (DAY_1000, DAY_10000),
    };
    Shape { last: (end_day - first_day) as u64 - 1, printer: Printer::Date { first_day } }
}

/// The moments of 2000 to 2024; more, up to the range of the type, where more are needed.
fn moment_shape(wanted: u64, fraction: u8, first: i64, end: i64) -> Shape {
    let values = |first_day, end_day| units((end_day - first_day) * DAY_SECONDS, fraction);
    let (first_day, end_day) = [(DAY_2000, DAY_2025), (DAY_2000, end)]
        .into_iter()
        .find(|&(first_day, end_day)| wanted <= values(first_day, end_day))
        .unwrap_or((first, end));
    Shape { last: values(first_day, end_day) - 1, printer: Printer::DateTime { first_day, fraction } }
}

/// The characters that a text column takes; rowcliff's text has one byte for each in most character sets.
fn characters_max(column: &Column) -> Option<u64> {
    let charset = column.charset.as_deref().unwrap_or("");
    let bytes_of_character = match charset {
        _ if charset.starts_with("utf16") || charset.starts_with("ucs2") => 2,
        _ if charset.starts_with("utf32") => 4,
        _ => 1,
    };
    // The limit of TEXT is in bytes, that of CHAR and VARCHAR in characters.
    let divisor = if column.data_type == ColumnType::Text { bytes_of_character } else { 1 };
    column.max_length.map(|longest| longest / divisor)
}

/// The part of a value that every unique index of its column sees.
fn indexed_length(column: &Column, longest: Option<u64>) -> u64 {
    let prefixes = column.unique_indexes.iter().filter_map(|index| index.prefix);
    prefixes.chain(longest).min().unwrap_or(u64::MAX)
}

/// Whether a length can be chosen for the values of a column.
fn has_length(column: &Column) -> bool {
    use ColumnType::{Binary, Blob, Char, Json, Text, Varbinary, Varchar};
    matches!(column.data_type, Char | Varchar | Text | Binary | Varbinary | Blob | Json)
}

/// The lengths of a value of at most `longest`, of which `digits` are taken.
fn length(
    column: &Column,
    longest: Option<u64>,
    digits: u64,
    wish: Wish,
    options: &RowOptions,
) -> Result<Length, RowsError> {
    let whole = longest.filter(|_| options.table == TableKind::Named);
    let longest = longest.unwrap_or(u64::MAX);
    if let Some((min, max)) = wish.length {
        if max > longest {
            return Err(fill(
                column,
                format!("length:{min}..{max} goes beyond the {longest} of a {}", column.column_type_text),
            ));
        }
        if min < digits {
            let cause = format!(
                "length:{min}..{max} is too short: {digits} tell its values apart; give length:{digits}..{}",
                max.max(digits)
            );
            return Err(fill(column, cause));
        }
        return Ok(Length { min, max });
    }
    Ok(match options.payload_bytes.or(whole) {
        Some(bytes) if is_free(column) => Length::exactly(bytes.min(longest).max(digits)),
        _ => {
            let max = longest.min(LENGTH_MAX);
            Length { min: LENGTH_MIN.min(max.div_ceil(2)).max(digits), max }
        }
    })
}

/// The digits in a base that `values` different values need.
fn digits_of(values: u64, base: u64) -> u64 {
    let (mut digits, mut room) = (1, base);
    while room < values {
        room = room.saturating_mul(base);
        digits += 1;
    }
    digits
}

/// The digits by which values are told apart: as many as fit, unless so many values are asked for.
fn digits(need: Need, wish: Wish, base: u64, most: u64) -> u64 {
    match (need, wish.distinct) {
        (_, Some(values)) => digits_of(values, base).min(most),
        (Need::Any, None) => 0,
        (Need::Spread | Need::Distinct { .. }, None) => {
            // A length that was asked for leaves as much room as its shortest value has.
            wish.length.map_or(most, |(min, _)| most.min(min.max(1)))
        }
    }
}

fn text_shape(column: &Column, need: Need, wish: Wish, options: &RowOptions) -> Result<Shape, RowsError> {
    let longest = characters_max(column);
    let digits = digits(need, wish, 30, indexed_length(column, longest).min(TEXT_DIGITS_MAX));
    let printer = Printer::Text { digits: digits as u8, length: length(column, longest, digits, wish, options)? };
    Ok(Shape { last: text_last(digits), printer })
}

fn bytes_shape(column: &Column, need: Need, wish: Wish, options: &RowOptions) -> Result<Shape, RowsError> {
    let longest = column.max_length;
    let digits = digits(need, wish, 256, indexed_length(column, longest).min(8));
    let length = match (&column.data_type, longest) {
        // BINARY is always as long as it was declared: what is shorter comes back padded.
        (ColumnType::Binary, Some(bytes)) => match wish.length {
            Some((min, max)) if (min, max) != (bytes, bytes) => {
                return Err(fill(
                    column,
                    format!("a {} is always as long as it was declared", column.column_type_text),
                ));
            }
            _ => Length::exactly(bytes),
        },
        _ => length(column, longest, digits, wish, options)?,
    };
    Ok(Shape { last: last_of_bits(8 * digits as u8), printer: Printer::Bytes { digits: digits as u8, length } })
}

/// The days in which an application-time period starts, or ends: every start lies before every end.
fn days_of_period(ends: bool) -> (i64, i64) {
    if ends { (DAY_2012, DAY_2025) } else { (DAY_2000, DAY_2012) }
}

/// The members that can be sent as text without an escape.
fn plain_members(members: &[String]) -> Vec<Box<[u8]>> {
    let is_plain = |member: &&[u8]| is_plain_text(member) && !member.ends_with(b" ");
    members.iter().map(|member| member.as_bytes()).filter(is_plain).map(Into::into).collect()
}

/// Whether members are sent by their numbers, which know no escape and no character set: where one of them is not plain ASCII.
fn by_number(plain: usize, members: &[String], options: &RowOptions) -> bool {
    // Runs that were begun by an earlier version leave such members out where there are others, and go on so.
    plain < members.len() && (options.edition > 0 || plain == 0)
}

fn enum_shape(members: &[String], options: &RowOptions) -> Shape {
    let plain = plain_members(members);
    if by_number(plain.len(), members, options) {
        // LOAD DATA sends the number as text, which a member that reads like it would take for itself.
        let number = |text: &String| text.parse::<u64>().ok();
        let mixed_up = members.iter().filter_map(number).min().unwrap_or(u64::MAX);
        let count = (members.len() as u64).min(mixed_up.saturating_sub(1)).max(1);
        return Shape { last: count - 1, printer: Printer::From { first: 1 } };
    }
    Shape { last: plain.len().saturating_sub(1) as u64, printer: Printer::Member { members: plain } }
}

fn set_shape(members: &[String], options: &RowOptions) -> Shape {
    let mut plain = plain_members(members);
    if by_number(plain.len(), members, options) {
        return Shape { last: last_of_bits(members.len().min(64) as u8), printer: Printer::From { first: 0 } };
    }
    plain.truncate(64);
    Shape { last: last_of_bits(plain.len() as u8), printer: Printer::Members { members: plain } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_grow_only_where_they_must() {
        assert_eq!(int_shape(8, false, 128).values(), 128);
        assert_eq!(int_shape(8, false, 129).values(), 256);
        assert_eq!(int_shape(64, false, u64::MAX).values(), 1 << 64);
        assert_eq!(int_shape(64, true, 1).values(), 1 << 64);
        assert_eq!(date_shape(9_132).values(), 9_132);
        assert_eq!(date_shape(9_133).values(), 2_921_940);
        assert_eq!(date_shape(u64::MAX).values(), 3_287_182);
    }
}
