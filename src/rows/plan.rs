//! Which column gets which values: decided once, before the first row.

use std::collections::BTreeMap;

use crate::key::Storage;
use crate::key::mix::{Bijection, Stream};
use crate::key::uuid4::Uuid4;
use crate::schema::{Column, ColumnType, Dialect};

use super::date::{DAY_1000, DAY_2000, DAY_2025, DAY_2038, DAY_10000, DAY_SECONDS};
use super::fill::{Field, Fill, Length, MAIL_BYTES_MAX, MAIL_BYTES_MIN, Picker, Printer, TEXT_DIGITS_MAX, text_last};
use super::value::is_plain_text;
use super::{ID2_VALUES, IndexOrder, RowOptions, RowSource, RowsError, TableKind};

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

/// What the values of a column have to be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Anything that fits.
    Any,
    /// Spread over the index in the order asked for; they may come again.
    Spread,
    /// So many different numbers.
    Distinct { values: u64, divisor: u64 },
}

/// A range of numbers and how they are written.
struct Shape {
    last: u64,
    printer: Printer,
}

pub(super) fn plan(columns: &[Column], options: &RowOptions) -> Result<RowSource, RowsError> {
    let key_column = key_column(columns, options)?;
    let needs = needs(columns, options, key_column.as_ref())?;
    let mut fields = Vec::new();
    let mut takes_payload = false;
    for (place, column) in columns.iter().enumerate() {
        if is_left_out(column) {
            continue;
        }
        let fill = match &key_column {
            Some((at, fill)) if *at == place => fill.clone(),
            _ => column_fill(column, needs[place], options)?,
        };
        takes_payload |= match &fill {
            Fill::Mail { .. } => true,
            Fill::Number { printer: Printer::Text { .. } | Printer::Bytes { .. } | Printer::Json { .. }, .. } => {
                is_free(column) && column.data_type != ColumnType::Binary
            }
            _ => false,
        };
        let takes_null = column.nullable && is_free(column) && options.table != TableKind::Named;
        let nulls = takes_null.then(|| stream(options, column, "null"));
        fields.push(Field { column: place, nulls, fill });
    }
    if fields.is_empty() {
        return Err(RowsError::NothingToFill);
    }
    let names = fields.iter().map(|field| columns[field.column].name.clone()).collect();
    let lookup = lookup(columns, &fields, options);
    Ok(RowSource { columns: columns.to_vec(), fields, names, lookup, takes_payload, rows: options.rows })
}

/// The server fills it, and an INSERT that names it fails or changes what is measured.
fn is_left_out(column: &Column) -> bool {
    column.auto_increment || column.generated
}

/// In no index: NULL and any length are welcome.
fn is_free(column: &Column) -> bool {
    !column.indexed && !column.in_primary_key && column.unique_indexes.is_empty()
}

fn stream(options: &RowOptions, column: &Column, purpose: &str) -> Stream {
    Stream::new(options.seed, &format!("{} {purpose}", column.name))
}

fn refuse(column: &Column, why: impl Into<String>) -> RowsError {
    RowsError::Column { column: column.name.clone(), column_type: column.column_type_text.clone(), why: why.into() }
}

/// The column that gets the UUID, and how.
fn key_column(columns: &[Column], options: &RowOptions) -> Result<Option<(usize, Fill)>, RowsError> {
    let key = options.key;
    let Some(storage) = key.storage() else { return Ok(None) };
    let Some(source) = key.source(options.seed, options.uuid_rate)? else { return Ok(None) };
    if options.rows > source.rows_max() {
        return Err(RowsError::KeyRows { key, rows: options.rows, rows_max: source.rows_max() });
    }
    let candidates = || columns.iter().enumerate().filter(|(_, column)| column.in_primary_key && !is_left_out(column));
    let fitting = candidates().find(|(_, column)| holds(column, storage, options.dialect));
    match fitting {
        Some((_, column)) if has_prefix(column) => {
            Err(refuse(column, "only a prefix of it is in the unique index, and UUIDs may share their beginning"))
        }
        Some((place, _)) => Ok(Some((place, Fill::Uuid { source, storage }))),
        None => {
            let found: Vec<String> =
                candidates().map(|(_, column)| format!("{} is {}", column.name, column.column_type_text)).collect();
            let why = if found.is_empty() { "the table has none that is sent".into() } else { found.join(", ") };
            Err(RowsError::KeyColumn { key, why })
        }
    }
}

/// Whether a column keeps a UUID in this storage whole: not cut, not padded, not trimmed.
fn holds(column: &Column, storage: Storage, dialect: Dialect) -> bool {
    let fits = column.max_length.is_none_or(|longest| longest >= storage.wire_bytes());
    match (storage, &column.data_type) {
        (Storage::Char32 | Storage::Char36, ColumnType::Char | ColumnType::Varchar | ColumnType::Text) => fits,
        // A declared type UUID has numeric affinity on SQLite: dashes keep the text from being taken for a number.
        (Storage::Char36, ColumnType::Uuid) => dialect == Dialect::Sqlite,
        // BINARY(20) would pad it with zeros.
        (Storage::Binary16, ColumnType::Binary) => column.max_length.is_none_or(|length| length == 16),
        (Storage::Binary16, ColumnType::Varbinary | ColumnType::Blob) => fits,
        (Storage::Native, ColumnType::Uuid) => dialect == Dialect::Mysql,
        _ => false,
    }
}

fn has_prefix(column: &Column) -> bool {
    column.unique_indexes.iter().any(|index| index.prefix.is_some())
}

/// What each column's values have to be like, so that every unique index can take the rows.
fn needs(columns: &[Column], options: &RowOptions, key_column: Option<&(usize, Fill)>) -> Result<Vec<Need>, RowsError> {
    let rows = options.rows.max(1);
    let mut needs: Vec<Need> =
        columns.iter().map(|column| if column.indexed { Need::Spread } else { Need::Any }).collect();
    // Columns that are unique by themselves: any index with one of them is.
    let mut settled: Vec<bool> = columns
        .iter()
        .enumerate()
        .map(|(place, column)| {
            column.auto_increment
                || key_column.is_some_and(|(at, _)| *at == place)
                || (column.data_type == ColumnType::Uuid && !has_prefix(column))
        })
        .collect();
    let mut indexes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, column) in columns.iter().enumerate() {
        for index in &column.unique_indexes {
            indexes.entry(&index.name).or_default().push(place);
        }
    }
    // Indexes on one column leave no choice, so they come first.
    let mut ordered: Vec<(&str, Vec<usize>)> = indexes.into_iter().collect();
    ordered.sort_by_key(|(_, members)| members.len());
    for (index, members) in ordered {
        if members.iter().any(|&place| settled[place]) {
            continue;
        }
        let whole = Need::Distinct { values: rows, divisor: 1 };
        let open: Vec<usize> = members
            .iter()
            .copied()
            .filter(|&place| !is_left_out(&columns[place]) && !matches!(needs[place], Need::Distinct { .. }))
            .collect();
        let mut capacities = Vec::with_capacity(open.len());
        for &place in &open {
            capacities.push((place, values_of(&shape(&columns[place], whole, options)?)));
        }
        if let Some(&(place, _)) = capacities.iter().find(|(_, values)| *values >= u128::from(rows)) {
            needs[place] = whole;
            settled[place] = true;
            continue;
        }
        // No column has room alone: together they count like the digits of a number, the last one fastest, so that
        // the key ascends.
        let mut divisor = 1_u64;
        for &(place, values) in capacities.iter().rev() {
            let values = u64::try_from(values).unwrap_or(u64::MAX);
            needs[place] = Need::Distinct { values, divisor };
            divisor = divisor.saturating_mul(values);
        }
        if divisor < rows || open.is_empty() {
            let names: Vec<&str> = members.iter().map(|&place| columns[place].name.as_str()).collect();
            let rows_max = if open.is_empty() { 1 } else { divisor };
            return Err(RowsError::TooManyRows { index: index.into(), columns: names.join(", "), rows, rows_max });
        }
    }
    Ok(needs)
}

fn values_of(shape: &Shape) -> u128 {
    u128::from(shape.last) + 1
}

fn column_fill(column: &Column, need: Need, options: &RowOptions) -> Result<Fill, RowsError> {
    if options.table == TableKind::Own
        && let Some(fill) = own_fill(column, options)?
    {
        return Ok(fill);
    }
    if let Some(table) = &column.references {
        return Err(refuse(
            column,
            format!("its values must exist in {table}; drop the foreign key for the measurement"),
        ));
    }
    let filler = stream(options, column, "filler");
    if column.data_type == ColumnType::Uuid {
        // Random and unique by construction; the column's name keeps it from repeating the primary key.
        let source = Uuid4::new(filler.at(0));
        return Ok(Fill::Uuid { source: std::sync::Arc::new(source), storage: Storage::Native });
    }
    let Shape { last, printer } = shape(column, need, options)?;
    let label = format!("{} order", column.name);
    let picker = match (need, options.index_order) {
        (Need::Any, _) => Picker::Random { stream: stream(options, column, "value"), last },
        (Need::Spread, IndexOrder::Ascending) => Picker::Sequence { divisor: 1, last },
        (Need::Spread, IndexOrder::Random) => {
            Picker::Shuffled { divisor: 1, bijection: Bijection::new(options.seed, &label, last) }
        }
        (Need::Distinct { divisor, .. }, IndexOrder::Ascending) => Picker::Sequence { divisor, last },
        (Need::Distinct { divisor, .. }, IndexOrder::Random) => {
            Picker::Shuffled { divisor, bijection: Bijection::new(options.seed, &label, last) }
        }
    };
    Ok(Fill::Number { picker, printer, filler })
}

/// The columns of rowcliff's own tables that have a meaning of their own.
fn own_fill(column: &Column, options: &RowOptions) -> Result<Option<Fill>, RowsError> {
    let last = ID2_VALUES - 1;
    let filler = stream(options, column, "filler");
    let number = |picker| Fill::Number { picker, printer: Printer::Signed { min: 0 }, filler };
    Ok(match (column.name.as_str(), options.index_order) {
        ("id", _) | ("id2", IndexOrder::Ascending) => Some(number(Picker::Sequence { divisor: 1, last })),
        ("id2", IndexOrder::Random) => {
            Some(number(Picker::Shuffled { divisor: 1, bijection: Bijection::new(options.seed, "id2 order", last) }))
        }
        ("id3", _) => Some(number(Picker::Random { stream: stream(options, column, "value"), last })),
        ("mail", _) => {
            let length = match options.payload_bytes {
                None => Length { min: MAIL_BYTES_MIN, max: MAIL_BYTES_MAX },
                Some(bytes) => Length::exactly(bytes.max(MAIL_BYTES_MIN)),
            };
            if let Some(longest) = column.max_length.filter(|&longest| longest < length.max) {
                let why = format!("a payload of {} bytes does not fit into {longest}", length.max);
                return Err(refuse(column, why));
            }
            Some(Fill::Mail { stream: stream(options, column, "value"), length })
        }
        _ => None,
    })
}

/// The numbers that a column has room for, wide enough for what is needed where the type allows it.
fn shape(column: &Column, need: Need, options: &RowOptions) -> Result<Shape, RowsError> {
    let wanted = match need {
        Need::Distinct { values, .. } => values,
        Need::Any | Need::Spread => 0,
    };
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
        ColumnType::Date => Ok(date_shape(wanted)),
        ColumnType::Time { fraction } => {
            // A time of day, unless so many are needed that TIME's own range has to do.
            let day = units(DAY_SECONDS, *fraction);
            let longest = units(839 * 3_600 - 1, *fraction) - (units(1, *fraction) - 1);
            let values = if wanted <= day { day } else { longest };
            shape(values - 1, Printer::Time { fraction: *fraction })
        }
        ColumnType::DateTime { fraction } => Ok(moment_shape(wanted, *fraction, DAY_1000, DAY_10000)),
        ColumnType::Timestamp { fraction } => Ok(moment_shape(wanted, *fraction, 1, DAY_2038)),
        ColumnType::Year if wanted <= 25 => shape(24, Printer::Year { first: 2000 }),
        ColumnType::Year => shape(254, Printer::Year { first: 1901 }),
        ColumnType::Char | ColumnType::Varchar | ColumnType::Text => text_shape(column, need, options),
        ColumnType::Binary | ColumnType::Varbinary | ColumnType::Blob => bytes_shape(column, need, options),
        ColumnType::Json if has_prefix(column) => Err(refuse(column, "a prefix of a document is not unique")),
        ColumnType::Json => {
            let length = match options.payload_bytes {
                Some(bytes) => Length::exactly(bytes),
                None => Length { min: LENGTH_MIN, max: LENGTH_MAX },
            };
            shape((1 << 53) - 1, Printer::Json { length })
        }
        ColumnType::Enum { members } => {
            let members = usable_members(column, members)?;
            shape(members.len() as u64 - 1, Printer::Member { members })
        }
        ColumnType::Set { members } => {
            let mut members = usable_members(column, members)?;
            members.truncate(64);
            shape(last_of_bits(members.len() as u8), Printer::Members { members })
        }
        ColumnType::Inet4 => shape(u64::from(u32::MAX), Printer::Inet4),
        ColumnType::Inet6 => shape(u64::MAX, Printer::Inet6),
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

/// The lengths of a value of at most `longest`, of which `digits` are taken.
fn length(column: &Column, longest: Option<u64>, digits: u64, options: &RowOptions) -> Length {
    let whole = longest.filter(|_| options.table == TableKind::Named);
    let longest = longest.unwrap_or(u64::MAX);
    match options.payload_bytes.or(whole) {
        Some(bytes) if is_free(column) => Length::exactly(bytes.min(longest)),
        _ => {
            let max = longest.min(LENGTH_MAX);
            Length { min: LENGTH_MIN.min(max.div_ceil(2)).max(digits), max }
        }
    }
}

fn text_shape(column: &Column, need: Need, options: &RowOptions) -> Result<Shape, RowsError> {
    let longest = characters_max(column);
    let digits = match need {
        Need::Any => 0,
        Need::Spread | Need::Distinct { .. } => indexed_length(column, longest).min(TEXT_DIGITS_MAX),
    };
    let printer = Printer::Text { digits: digits as u8, length: length(column, longest, digits, options) };
    Ok(Shape { last: text_last(digits), printer })
}

fn bytes_shape(column: &Column, need: Need, options: &RowOptions) -> Result<Shape, RowsError> {
    let longest = column.max_length;
    let digits = match need {
        Need::Any => 0,
        Need::Spread | Need::Distinct { .. } => indexed_length(column, longest).min(8),
    };
    let length = match (&column.data_type, longest) {
        // BINARY is always as long as it was declared: what is shorter comes back padded.
        (ColumnType::Binary, Some(bytes)) => Length::exactly(bytes),
        _ => length(column, longest, digits, options),
    };
    Ok(Shape { last: last_of_bits(8 * digits as u8), printer: Printer::Bytes { digits: digits as u8, length } })
}

/// The members that can be sent without an escape; there are nearly always some.
fn usable_members(column: &Column, members: &[String]) -> Result<Vec<Box<[u8]>>, RowsError> {
    let usable: Vec<Box<[u8]>> = members
        .iter()
        .map(|member| member.as_bytes())
        .filter(|member| is_plain_text(member) && !member.ends_with(b" "))
        .map(Into::into)
        .collect();
    if usable.is_empty() {
        return Err(refuse(column, "none of its members is plain ASCII without quotes and backslashes"));
    }
    Ok(usable)
}

/// The fields by which a row is found again, and whether they name one row.
fn lookup(columns: &[Column], fields: &[Field], options: &RowOptions) -> Option<(Vec<usize>, bool)> {
    let column = |field: &Field| &columns[field.column];
    let comparable = |field: &&Field| {
        !matches!(column(field).data_type, ColumnType::Float { .. } | ColumnType::Double { .. } | ColumnType::Json)
    };
    let place =
        |wanted: &dyn Fn(&Column) -> bool| fields.iter().position(|field| comparable(&field) && wanted(column(field)));
    if let Some(field) =
        place(&|column| column.unique && column.in_primary_key).or_else(|| place(&|column| column.unique))
    {
        return Some((vec![field], true));
    }
    // A key of several columns, if all of them are sent.
    let key_columns = columns.iter().filter(|column| column.in_primary_key).count();
    let of_key: Vec<usize> =
        (0..fields.len()).filter(|&at| column(&fields[at]).in_primary_key && comparable(&&fields[at])).collect();
    if key_columns > 0 && of_key.len() == key_columns {
        return Some((of_key, true));
    }
    let field = place(&|column| column.indexed)?;
    let unique = match &fields[field].fill {
        Fill::Uuid { .. } => true,
        Fill::Mail { .. } => false,
        Fill::Number { picker, .. } => picker.is_distinct(options.rows),
    };
    Some((vec![field], unique))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;

    #[test]
    fn ranges_grow_only_where_they_must() {
        assert_eq!(values_of(&int_shape(8, false, 128)), 128);
        assert_eq!(values_of(&int_shape(8, false, 129)), 256);
        assert_eq!(values_of(&int_shape(64, false, u64::MAX)), 1 << 64);
        assert_eq!(values_of(&int_shape(64, true, 1)), 1 << 64);
        assert_eq!(values_of(&date_shape(9_132)), 9_132);
        assert_eq!(values_of(&date_shape(9_133)), 2_921_940);
        assert_eq!(values_of(&date_shape(u64::MAX)), 3_287_182);
    }

    #[test]
    fn a_uuid_column_keeps_the_key_whole() {
        let column = |data_type: ColumnType, max_length| Column { max_length, ..Column::plain("k", data_type, "") };
        let holds = |storage, data_type, length| holds(&column(data_type, length), storage, Dialect::Mysql);
        assert!(holds(Storage::Char32, ColumnType::Char, Some(32)));
        assert!(!holds(Storage::Char36, ColumnType::Char, Some(32)), "36 characters would be cut to 32");
        assert!(holds(Storage::Binary16, ColumnType::Binary, Some(16)));
        assert!(!holds(Storage::Binary16, ColumnType::Binary, Some(20)), "it would be padded");
        assert!(!holds(Storage::Binary16, ColumnType::Char, Some(16)), "trailing 0x20 would be trimmed");
        assert!(holds(Storage::Binary16, ColumnType::Varbinary, Some(16)));
        assert!(holds(Storage::Native, ColumnType::Uuid, None));
        assert!(!holds(Storage::Char32, ColumnType::Uuid, None));
    }

    #[test]
    fn keys_are_named_in_the_refusal() {
        let key: Key = "uuid4:binary16".parse().unwrap();
        let mut column = Column::plain("id", ColumnType::Char, "char(16)");
        column.max_length = Some(16);
        column.in_primary_key = true;
        let options = RowOptions {
            key,
            seed: 1,
            index_order: IndexOrder::Ascending,
            uuid_rate: 60_000,
            payload_bytes: None,
            rows: 10,
            table: TableKind::User,
            dialect: Dialect::Mysql,
        };
        let message = plan(&[column], &options).unwrap_err().to_string();
        assert!(message.contains("uuid4:binary16") && message.contains("id is char(16)"), "{message}");
    }
}
