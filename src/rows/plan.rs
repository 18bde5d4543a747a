//! Which column gets which values: decided once, before the first row.

use crate::key::Storage;
use crate::key::mix::{Bijection, Stream};
use crate::key::uuid4::Uuid4;
use crate::schema::{Column, ColumnType, Dialect};

use super::fill::{Field, Fill, Length, MAIL_BYTES_MAX, MAIL_BYTES_MIN, Nulls, Printer};
use super::needs::{Need, needs};
use super::picker::Picker;
use super::shape::{Shape, shape};
use super::wish::{Wish, Wishes};
use super::zipf::Zipf;
use super::{ID2_VALUES, IndexOrder, RowOptions, RowSource, RowsError, TableKind};

/// Rows of one value that a look-up through an index may meet: a target looks at no more.
const SHARED_MAX: u64 = super::CANDIDATES as u64;

pub(super) fn plan(columns: &[Column], options: &RowOptions, wishes: &Wishes) -> Result<RowSource, RowsError> {
    refuse_wishes(columns, wishes)?;
    let key_column = key_column(columns, options)?;
    let needs = needs(columns, options, wishes, key_column.as_ref().map(|(place, _)| *place))?;
    let mut fields = Vec::new();
    let mut takes_payload = false;
    for (place, column) in columns.iter().enumerate() {
        if is_left_out(column) {
            continue;
        }
        let wish = wishes.get(&column.name).copied().unwrap_or_default();
        let fill = match &key_column {
            Some((at, fill)) if *at == place => fill.clone(),
            _ if wish.null == Some(1.0) || is_always_null(column) => Fill::Null,
            _ => column_fill(column, needs[place], wish, options)?,
        };
        takes_payload |= match &fill {
            Fill::Mail { .. } => true,
            Fill::Number { printer: Printer::Text { .. } | Printer::Bytes { .. } | Printer::Json { .. }, .. } => {
                is_free(column) && column.data_type != ColumnType::Binary && wish.length.is_none()
            }
            _ => false,
        };
        fields.push(Field { column: place, nulls: nulls(column, wish, options), fill });
    }
    if fields.is_empty() {
        return Err(RowsError::NothingToFill);
    }
    let names = fields.iter().map(|field| columns[field.column].name.clone()).collect();
    let lookup = lookup(columns, &fields, options);
    Ok(RowSource { columns: columns.to_vec(), fields, names, lookup, takes_payload, rows: options.rows })
}

/// Where NULL comes: as asked for, or in columns that are in no index.
fn nulls(column: &Column, wish: Wish, options: &RowOptions) -> Option<Nulls> {
    let stream = || stream(options, column, "null");
    match wish.null {
        Some(share) if share > 0.0 => Some(Nulls::Below(stream(), (share * (u64::MAX as f64 + 1.0)) as u64)),
        Some(_) => None,
        None => {
            (column.nullable && is_free(column) && options.table != TableKind::Named).then(|| Nulls::Some(stream()))
        }
    }
}

/// A foreign key would look its value up in another table, which nobody has filled; NULL is not looked up.
pub(super) fn is_always_null(column: &Column) -> bool {
    column.references.is_some() && column.nullable && !is_left_out(column)
}

/// What `--fill` may not say of a column.
fn refuse_wishes(columns: &[Column], wishes: &Wishes) -> Result<(), RowsError> {
    for (name, wish) in wishes {
        let Some(column) = columns.iter().find(|column| column.name == *name) else {
            let names: Vec<&str> =
                columns.iter().filter(|column| !is_left_out(column)).map(|column| column.name.as_str()).collect();
            let cause = format!("the table has no such column; it has {}", names.join(", "));
            return Err(RowsError::Fill { column: name.clone(), cause });
        };
        let cause = if column.auto_increment {
            "the database counts it by itself"
        } else if column.generated {
            "the database computes it; say what the columns hold that it is made of"
        } else if column.in_primary_key {
            "it is a part of the primary key, whose values follow --key and the row index"
        } else if wish.null.is_some_and(|share| share > 0.0) && !column.nullable {
            "it is NOT NULL; leave null out, or let the schema allow it"
        } else if column.references.is_some() && *wish != (Wish { null: Some(1.0), ..Wish::default() }) {
            "a foreign key looks its values up in another table; drop the foreign key for the measurement"
        } else {
            continue;
        };
        return Err(fill(column, cause));
    }
    Ok(())
}

/// A wish that cannot be met.
pub(super) fn fill(column: &Column, cause: impl Into<String>) -> RowsError {
    RowsError::Fill { column: column.name.clone(), cause: cause.into() }
}

/// The server fills it, and an INSERT that names it fails or changes what is measured.
pub(super) fn is_left_out(column: &Column) -> bool {
    column.auto_increment || column.generated
}

/// In no index: NULL and any length are welcome.
pub(super) fn is_free(column: &Column) -> bool {
    !column.indexed && !column.in_primary_key && column.unique_indexes.is_empty()
}

fn stream(options: &RowOptions, column: &Column, purpose: &str) -> Stream {
    Stream::new(options.seed, &format!("{} {purpose}", column.name))
}

pub(super) fn refuse(column: &Column, why: impl Into<String>) -> RowsError {
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
        Some((place, _)) => Ok(Some((place, Fill::Uuid { source, storage, picker: None }))),
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

pub(super) fn has_prefix(column: &Column) -> bool {
    column.unique_indexes.iter().any(|index| index.prefix.is_some())
}

fn column_fill(column: &Column, need: Need, wish: Wish, options: &RowOptions) -> Result<Fill, RowsError> {
    if options.table == TableKind::Own
        && let Some(fill) = own_fill(column, wish, options)?
    {
        return Ok(fill);
    }
    if let Some(table) = &column.references {
        let why =
            format!("its values must exist in {table}; drop the foreign key for the measurement, or let it be NULL");
        return Err(refuse(column, why));
    }
    let filler = stream(options, column, "filler");
    if column.data_type == ColumnType::Uuid {
        if wish.length.is_some() {
            return Err(fill(column, "a UUID has no length to choose"));
        }
        // Random and unique by construction; the column's name keeps it from repeating the primary key.
        let source = Uuid4::new(filler.at(0));
        let picker = wish.distinct.map(|values| picker(column, Need::Any, wish, values - 1, options));
        return Ok(Fill::Uuid { source: std::sync::Arc::new(source), storage: Storage::Native, picker });
    }
    // An order that was asked for needs values that have one.
    let need = if need == Need::Any && wish.order.is_some() { Need::Spread } else { need };
    let shape @ Shape { last, .. } = &shape(column, need, wish, options)?;
    let last = match wish.distinct {
        Some(values) if u128::from(values) > shape.values() => {
            let cause = format!("a {} has room for {} different values", column.column_type_text, shape.values());
            return Err(fill(column, cause));
        }
        Some(values) => values - 1,
        None => *last,
    };
    let picker = picker(column, need, wish, last, options);
    Ok(Fill::Number { picker, printer: shape.printer.clone(), filler, repeats: wish.distinct.is_some() })
}

/// The order in which the values of a column come.
fn order(column: &Column, wish: Wish, options: &RowOptions) -> IndexOrder {
    // Runs that were begun by an earlier version shuffle a primary key too.
    let is_key = column.in_primary_key && options.edition > 0;
    wish.order.unwrap_or(if is_key { IndexOrder::Ascending } else { options.index_order })
}

fn picker(column: &Column, need: Need, wish: Wish, last: u64, options: &RowOptions) -> Picker {
    let bijection = |last| Bijection::new(options.seed, &format!("{} order", column.name), last);
    let stream = || stream(options, column, "value");
    if let Some(exponent) = wish.zipf {
        return Picker::Zipf { stream: stream(), zipf: Zipf::new(last, exponent), bijection: bijection(last) };
    }
    let order = order(column, wish, options);
    match need {
        Need::Any => Picker::Random { stream: stream(), last },
        // Drawn evenly, as values that repeat come.
        Need::Spread if wish.distinct.is_some() && order == IndexOrder::Random => {
            Picker::Random { stream: stream(), last }
        }
        Need::Spread if order == IndexOrder::Ascending => Picker::Sequence { divisor: 1, last },
        Need::Spread => Picker::Shuffled { divisor: 1, bijection: bijection(last) },
        Need::Distinct { divisor, .. } if order == IndexOrder::Ascending => Picker::Sequence { divisor, last },
        Need::Distinct { divisor, .. } => Picker::Shuffled { divisor, bijection: bijection(last) },
    }
}

/// The columns of rowcliff's own tables that have a meaning of their own.
fn own_fill(column: &Column, wish: Wish, options: &RowOptions) -> Result<Option<Fill>, RowsError> {
    let need = match column.name.as_str() {
        "id" | "id2" => Need::Spread,
        "id3" | "mail" if wish.order.is_some() => Need::Spread,
        "id3" | "mail" => Need::Any,
        _ => return Ok(None),
    };
    if column.name == "mail" {
        return own_mail(column, need, wish, options).map(Some);
    }
    if wish.length.is_some() {
        return Err(fill(column, format!("a {} has no length to choose", column.column_type_text)));
    }
    let last = match wish.distinct {
        Some(values) if values > ID2_VALUES => {
            return Err(fill(column, format!("it has room for {ID2_VALUES} different values")));
        }
        Some(values) => values - 1,
        None => ID2_VALUES - 1,
    };
    // The index order is that of the one secondary index.
    let wish =
        if column.name == "id" { Wish { order: wish.order.or(Some(IndexOrder::Ascending)), ..wish } } else { wish };
    let picker = picker(column, need, wish, last, options);
    let (printer, filler) = (Printer::Signed { min: 0 }, stream(options, column, "filler"));
    Ok(Some(Fill::Number { picker, printer, filler, repeats: false }))
}

fn own_mail(column: &Column, need: Need, wish: Wish, options: &RowOptions) -> Result<Fill, RowsError> {
    let length = match (wish.length, options.payload_bytes) {
        (Some((min, max)), _) if min < MAIL_BYTES_MIN => {
            return Err(fill(
                column,
                format!("length:{min}..{max} is too short: an address has {MAIL_BYTES_MIN} at least"),
            ));
        }
        (Some((min, max)), _) => Length { min, max },
        (None, None) => Length { min: MAIL_BYTES_MIN, max: MAIL_BYTES_MAX },
        (None, Some(bytes)) => Length::exactly(bytes.max(MAIL_BYTES_MIN)),
    };
    if let Some(longest) = column.max_length.filter(|&longest| longest < length.max) {
        let why = format!("a payload of {} bytes does not fit into {longest}", length.max);
        return Err(if wish.length.is_some() { fill(column, why) } else { refuse(column, why) });
    }
    if wish.order.is_some() {
        return Err(fill(column, "addresses have no order to choose"));
    }
    let picker = wish.distinct.map(|values| picker(column, need, wish, values - 1, options));
    Ok(Fill::Mail { stream: stream(options, column, "value"), length, picker })
}

/// The fields by which a row is found again, and whether they name one row.
fn lookup(columns: &[Column], fields: &[Field], options: &RowOptions) -> Option<(Vec<usize>, bool)> {
    let column = |field: &Field| &columns[field.column];
    let comparable = |field: &Field| {
        use ColumnType::{Double, Float, Json, Point};
        !matches!(column(field).data_type, Float { .. } | Double { .. } | Json | Point { .. })
            && field.nulls.is_none()
            && !matches!(field.fill, Fill::Null)
    };
    let place =
        |wanted: &dyn Fn(&Column) -> bool| fields.iter().position(|field| comparable(field) && wanted(column(field)));
    if let Some(field) =
        place(&|column| column.unique && column.in_primary_key).or_else(|| place(&|column| column.unique))
    {
        return Some((vec![field], true));
    }
    // A key of several columns, if all of them are sent.
    let key_columns = columns.iter().filter(|column| column.in_primary_key).count();
    let of_key: Vec<usize> =
        (0..fields.len()).filter(|&at| column(&fields[at]).in_primary_key && comparable(&fields[at])).collect();
    if key_columns > 0 && of_key.len() == key_columns {
        return Some((of_key, true));
    }
    // The column of an index that tells the most rows apart.
    let shared = |field: &Field| match &field.fill {
        Fill::Uuid { picker: None, .. } => 1,
        Fill::Mail { picker: None, .. } => options.rows,
        _ => field.picker().map_or(options.rows, |picker| picker.rows_of_one(options.rows)),
    };
    let (place, field) = fields
        .iter()
        .enumerate()
        .filter(|(_, field)| comparable(field) && column(field).indexed)
        .min_by_key(|(_, field)| shared(field))
        .filter(|(_, field)| shared(field) <= SHARED_MAX)?;
    let unique = match &field.fill {
        Fill::Uuid { picker: None, .. } => true,
        Fill::Mail { .. } | Fill::Null => false,
        _ => field.picker().is_some_and(|picker| picker.is_distinct(options.rows)),
    };
    Some((vec![place], unique))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;

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
            edition: 1,
        };
        let message = plan(&[column], &options, &Wishes::new()).unwrap_err().to_string();
        assert!(message.contains("uuid4:binary16") && message.contains("id is char(16)"), "{message}");
    }
}
