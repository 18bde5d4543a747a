//! How many bytes of disk a table takes, reckoned from its columns, its indexes and a sample of its rows.
//!
//! What an engine adds to a value (headers of records and pages, the space that splits of pages leave) is reckoned as the engines'
//! own manuals describe their formats; the shares of full pages are measured.

use serde::{Deserialize, Serialize};

use super::{RowSource, Value};
use crate::schema::{Column, ColumnType, ReportedIndex};

/// Rows that are looked at.
const SAMPLE_ROWS: u64 = 500;

/// Consecutive rows that tell whether an index is filled in order.
const ORDER_ROWS: u64 = 100;

/// How an engine lays a table out in its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// Pages of 16 KiB, the table within its primary key.
    Innodb,
    /// Rows one after the other, indexes in blocks of their own.
    Myisam,
    /// Rows in pages of 8 KiB.
    Aria,
    /// Pages of 4 KiB in one file.
    Sqlite,
}

/// How a table is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filling {
    /// Rows.
    pub rows: u64,
    /// Whether one statement after the other adds rows, so that ascending keys come in their order.
    pub one_writer: bool,
    /// Whether it is a table of SQLite that has no rowid.
    pub without_rowid: bool,
}

/// Bytes of a table and its indexes, for one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Footprint {
    /// Of the table itself.
    pub data: f64,
    /// Of all other indexes.
    pub indexes: f64,
    /// What the files of a table have that rows do not fill: extents that are made ahead.
    pub ahead_bytes: u64,
}

impl Footprint {
    /// Bytes of so many rows.
    pub fn bytes(self, rows: u64) -> u64 {
        (((self.data + self.indexes) * rows as f64) as u64).saturating_add(self.ahead_bytes)
    }
}

/// What a column takes on average.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    bytes: f64,
    is_varying: bool,
    is_nullable: bool,
    null_share: f64,
    /// Whether the values of consecutive rows ascend.
    ascends: bool,
}

/// Reckons the footprint of a table that is filled with rows of `source`.
pub fn footprint(
    layout: Layout,
    columns: &[Column],
    indexes: &[ReportedIndex],
    source: &RowSource,
    filling: Filling,
) -> Footprint {
    let parts = parts(layout, columns, source, filling.rows);
    let of = |index: &ReportedIndex| -> Vec<Part> {
        let part = |column: &crate::schema::IndexColumn| {
            let name = column.name.as_ref();
            let at = columns.iter().position(|other| name.is_some_and(|name| other.name.eq_ignore_ascii_case(name)));
            let part = at.map_or(Part { bytes: 8.0, ..Part::default() }, |at| parts[at]);
            Part { bytes: column.prefix.map_or(part.bytes, |prefix| part.bytes.min(prefix as f64)), ..part }
        };
        index.columns.iter().map(part).collect()
    };
    let primary = indexes.iter().find(|index| index.primary).map(&of);
    let others: Vec<Vec<Part>> = indexes.iter().filter(|index| !index.primary).map(of).collect();
    match layout {
        Layout::Innodb => innodb(&parts, primary.as_deref(), &others, filling.one_writer),
        Layout::Myisam => rows_apart(&parts, primary.as_deref(), &others, MYISAM),
        Layout::Aria => rows_apart(&parts, primary.as_deref(), &others, ARIA),
        Layout::Sqlite => sqlite(&parts, primary.as_deref(), &others, columns, filling.without_rowid),
    }
}

fn parts(layout: Layout, columns: &[Column], source: &RowSource, rows: u64) -> Vec<Part> {
    let names = source.insert_columns();
    let of = |row: u64| -> Vec<Value> { source.expected(row).into_iter().map(|(_, value)| value).collect() };
    let step = (rows / SAMPLE_ROWS).max(1);
    // All over the table, since numbers grow with it; and the first ones, which tell in what order they come.
    let spread: Vec<Vec<Value>> = (0..SAMPLE_ROWS.min(rows.max(1))).map(|sample| of(sample * step)).collect();
    let first: Vec<Vec<Value>> = (0..ORDER_ROWS.min(rows.max(1))).map(of).collect();
    let part = |column: &Column| {
        let place = names.iter().position(|name| *name == column.name);
        let (values, ordered) = (column_of(&spread, place), column_of(&first, place));
        let nulls = values.iter().filter(|value| matches!(value, Value::Null)).count();
        let total: f64 = values.iter().map(|value| stored(layout, column, value)).sum();
        // What the server fills itself: a number that it counts, or a value that is computed.
        let (bytes, null_share) = match values.len() {
            0 => (stored(layout, column, &Value::Int(i64::from(u32::MAX))), 0.0),
            count => (total / count as f64, nulls as f64 / count as f64),
        };
        let pairs = ordered.windows(2);
        let rising = pairs.clone().filter(|pair| !is_above(pair[0], pair[1])).count();
        Part {
            bytes,
            is_varying: is_varying(column),
            is_nullable: column.nullable,
            null_share,
            ascends: column.auto_increment || rising * 20 >= pairs.len() * 19,
        }
    };
    columns.iter().map(part).collect()
}

/// The values of a column; none of one that is not sent.
fn column_of(rows: &[Vec<Value>], place: Option<usize>) -> Vec<&Value> {
    place.map_or_else(Vec::new, |place| rows.iter().map(|row| &row[place]).collect())
}

fn is_above(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => left > right,
        (Value::UInt(left), Value::UInt(right)) => left > right,
        (Value::Real(left), Value::Real(right)) => left > right,
        (Value::Text(left), Value::Text(right)) | (Value::Bytes(left), Value::Bytes(right)) => left > right,
        _ => false,
    }
}

fn is_varying(column: &Column) -> bool {
    matches!(
        column.data_type,
        ColumnType::Varchar
            | ColumnType::Text
            | ColumnType::Varbinary
            | ColumnType::Blob
            | ColumnType::Json
            | ColumnType::Other
    )
}

/// Bytes of a value itself.
fn stored(layout: Layout, column: &Column, value: &Value) -> f64 {
    let length = match value {
        Value::Null => return 0.0,
        Value::Text(text) => text.len() as f64,
        Value::Bytes(bytes) => bytes.len() as f64,
        _ => 0.0,
    };
    if layout == Layout::Sqlite {
        return sqlite_value(value);
    }
    let fraction = |digits: u8| f64::from(digits.div_ceil(2));
    match &column.data_type {
        ColumnType::Bool | ColumnType::Year => 1.0,
        ColumnType::Int { bits, .. } | ColumnType::Bit { bits } => f64::from(bits.div_ceil(8)),
        ColumnType::Decimal { precision, scale } => decimal(precision.saturating_sub(*scale)) + decimal(*scale),
        ColumnType::Float { .. } | ColumnType::Inet4 => 4.0,
        ColumnType::Double { .. } => 8.0,
        ColumnType::Date => 3.0,
        ColumnType::Time { fraction: digits } => 3.0 + fraction(*digits),
        ColumnType::DateTime { fraction: digits } => 5.0 + fraction(*digits),
        ColumnType::Timestamp { fraction: digits } => 4.0 + fraction(*digits),
        // Padded to its length.
        ColumnType::Char | ColumnType::Binary => column.max_length.map_or(length, |most| length.max(most as f64)),
        ColumnType::Enum { members } => {
            if members.len() > 255 {
                2.0
            } else {
                1.0
            }
        }
        ColumnType::Set { members } => members.len().div_ceil(8).next_power_of_two() as f64,
        ColumnType::Uuid | ColumnType::Inet6 => 16.0,
        _ => length,
    }
}

/// Nine digits in four bytes, and what is left in as few as it needs.
fn decimal(digits: u8) -> f64 {
    f64::from(digits / 9 * 4 + [0, 1, 1, 2, 2, 3, 3, 4, 4][usize::from(digits % 9)])
}

fn sqlite_value(value: &Value) -> f64 {
    match value {
        Value::Null => 0.0,
        Value::Int(number) => match number.unsigned_abs() {
            0..=1 => 0.0,
            2..=0x7F => 1.0,
            0x80..=0x7FFF => 2.0,
            0x8000..=0x7F_FFFF => 3.0,
            0x80_0000..=0x7FFF_FFFF => 4.0,
            0x8000_0000..=0x7FFF_FFFF_FFFF => 6.0,
            _ => 8.0,
        },
        Value::UInt(number) => sqlite_value(&Value::Int(i64::try_from(*number).unwrap_or(i64::MAX))),
        Value::Real(_) => 8.0,
        Value::Text(text) => text.len() as f64,
        Value::Bytes(bytes) => bytes.len() as f64,
    }
}

fn sum(parts: &[Part]) -> f64 {
    parts.iter().map(|part| part.bytes).sum()
}

/// A byte of length for each value that varies, two from 128 bytes on.
fn lengths(parts: &[Part]) -> f64 {
    let varying = parts.iter().filter(|part| part.is_varying);
    varying.map(|part| (1.0 - part.null_share) * if part.bytes > 127.0 { 2.0 } else { 1.0 }).sum()
}

fn null_bytes(parts: &[Part]) -> f64 {
    parts.iter().filter(|part| part.is_nullable).count().div_ceil(8) as f64
}

/// Whether an index is filled from its left to its right: the first part decides, unless it comes again and again.
fn ascends(index: &[Part]) -> bool {
    index.first().is_some_and(|part| part.ascends)
}

fn innodb(parts: &[Part], primary: Option<&[Part]>, others: &[Vec<Part>], one_writer: bool) -> Footprint {
    const HEADER: f64 = 5.0;
    const TRANSACTION: f64 = 13.0;
    // A slot of the page's directory for each four to eight records.
    const SLOT: f64 = 0.4;
    const USABLE: f64 = 16_384.0 / 16_252.0;
    let full = |is_ascending: bool| match (is_ascending, one_writer) {
        (true, true) => 15.0 / 16.0,
        (true, false) => SHARED_FULL,
        (false, _) => RANDOM_FULL,
    };
    let key = primary.map_or(6.0, sum);
    let hidden = if primary.is_some() { 0.0 } else { 6.0 };
    let record = HEADER + TRANSACTION + SLOT + hidden + null_bytes(parts) + lengths(parts) + sum(parts);
    let data = record * USABLE / full(primary.is_none_or(ascends));
    let key_lengths = primary.map_or(0.0, lengths);
    let entry = |index: &Vec<Part>| {
        let record = HEADER + SLOT + null_bytes(index) + lengths(index) + sum(index) + key + key_lengths;
        record * USABLE / full(ascends(index))
    };
    Footprint { data, indexes: others.iter().map(entry).sum(), ahead_bytes: INNODB_AHEAD }
}

/// InnoDB makes a file larger by four extents at a time, and gives each index whole ones.
const INNODB_AHEAD: u64 = 8 << 20;

/// The share of an InnoDB page that is in use where rows come in at random places (measured with a million rows).
const RANDOM_FULL: f64 = 0.63;

/// The same where several connections each add a range of ascending keys, between those of the others: pages are split in their
/// middle.
const SHARED_FULL: f64 = 0.60;

/// How an engine keeps rows apart from its indexes.
struct Apart {
    /// Of a row whose columns all have one length.
    fixed_header: f64,
    /// Of another row.
    varying_header: f64,
    /// A row begins at a multiple of it.
    align: f64,
    /// The least that a row takes.
    least: f64,
    /// Of a pointer to a row, in an index.
    pointer: f64,
    /// Share of a page or block in use, by data, ascending and random indexes.
    full: (f64, f64, f64),
}

const MYISAM: Apart =
    Apart { fixed_header: 1.0, varying_header: 4.0, align: 4.0, least: 7.0, pointer: 6.0, full: (1.0, 0.98, 0.73) };
// A page keeps room that a bitmap of eight levels of fullness does not see: short rows pay for it.
const ARIA: Apart =
    Apart { fixed_header: 14.0, varying_header: 13.0, align: 1.0, least: 42.0, pointer: 5.0, full: (0.97, 0.81, 0.59) };

fn rows_apart(parts: &[Part], primary: Option<&[Part]>, others: &[Vec<Part>], how: Apart) -> Footprint {
    let is_fixed = parts.iter().all(|part| !part.is_varying);
    let nulls = null_bytes(parts);
    // NULL takes the place of a value.
    let widths: f64 = parts.iter().map(|part| part.bytes / (1.0 - part.null_share).max(0.01)).sum();
    let record = if is_fixed {
        how.fixed_header + nulls.max(1.0) - 1.0 + widths
    } else {
        let record = how.varying_header + nulls + lengths(parts) + sum(parts);
        (record / how.align).ceil() * how.align
    };
    let entry = |index: &[Part]| {
        let nulls = index.iter().filter(|part| part.is_nullable).count() as f64;
        let record = how.pointer + nulls + lengths(index) + sum(index);
        record / if ascends(index) { how.full.1 } else { how.full.2 }
    };
    let indexes = primary.map_or(0.0, entry) + others.iter().map(|index| entry(index)).sum::<f64>();
    Footprint { data: record.max(how.least) / how.full.0, indexes, ahead_bytes: 0 }
}

fn sqlite(
    parts: &[Part],
    primary: Option<&[Part]>,
    others: &[Vec<Part>],
    columns: &[Column],
    without_rowid: bool,
) -> Footprint {
    // The length of the record, two bytes that point to it, the rowid, and the size of the header.
    const CELL: f64 = 1.0 + 2.0;
    const ROWID: f64 = 3.0;
    let types = |parts: &[Part]| {
        1.0 + parts.iter().map(|part| if part.is_varying && part.bytes > 57.0 { 2.0 } else { 1.0 }).sum::<f64>()
    };
    // The alias of the rowid is stored as NULL.
    let alias: f64 =
        columns.iter().zip(parts).filter(|(column, _)| column.auto_increment).map(|(_, part)| part.bytes).sum();
    let rowid = if without_rowid { 0.0 } else { ROWID };
    let record = CELL + rowid + types(parts) + sum(parts) - alias;
    // Rows that are appended fill their pages; any other tree shares rows out between neighbours, in whatever order they come.
    let full = |is_ascending: bool| if is_ascending { 0.90 } else { 0.88 };
    let data = record / if without_rowid { full(primary.is_some_and(ascends)) } else { 0.985 };
    let key = if without_rowid { primary.map_or(0.0, sum) } else { ROWID };
    let entry = |index: &[Part]| (CELL + types(index) + 1.0 + sum(index) + key) / full(ascends(index));
    let own_tree = primary.filter(|_| !without_rowid && !columns.iter().any(|column| column.auto_increment));
    let indexes = own_tree.map_or(0.0, entry) + others.iter().map(|index| entry(index)).sum::<f64>();
    Footprint { data, indexes, ahead_bytes: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use crate::rows::{EDITION, IndexOrder, RowOptions, TableKind};
    use crate::schema::Dialect;
    use crate::schema::pasted::pasted;

    const NARROW: &str = "CREATE TABLE t (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, id2 INT NOT NULL, id3 INT NULL, PRIMARY KEY (id), KEY id2 (id2))";
    const UUID: &str = "CREATE TABLE t (uid CHAR(32) CHARACTER SET latin1 NOT NULL, id INT NOT NULL, id2 INT NOT NULL, mail VARCHAR(64) NOT NULL, \
        PRIMARY KEY (uid))";
    const WIDE: &str = "CREATE TABLE t (id bigint(20) unsigned NOT NULL AUTO_INCREMENT, order_no char(12) NOT NULL, customer_id int(10) unsigned NOT NULL, \
        status enum('new','paid','sent','returned') NOT NULL, total decimal(12,2) NOT NULL, currency char(3) NOT NULL, note varchar(255) DEFAULT \
        NULL, created_at datetime NOT NULL, updated_at timestamp NULL DEFAULT NULL, PRIMARY KEY (id), UNIQUE KEY (order_no), KEY (customer_id, \
        created_at), KEY (status))";

    fn options(key: &str, order: IndexOrder, rows: u64) -> RowOptions {
        RowOptions {
            key: key.parse::<Key>().unwrap(),
            seed: 1,
            index_order: order,
            uuid_rate: 60_000,
            payload_bytes: None,
            rows,
            table: TableKind::User,
            dialect: Dialect::Mysql,
            edition: EDITION,
        }
    }

    fn per_row(layout: Layout, text: &str, key: &str, order: IndexOrder, rows: u64, one_writer: bool) -> f64 {
        let table = pasted(text, Dialect::Mysql, None).unwrap().table;
        let columns = table.expected_columns();
        let source = RowSource::new(&columns, &options(key, order, rows)).unwrap();
        let filling = Filling { rows, one_writer, without_rowid: false };
        footprint(layout, &columns, &table.reported_indexes(), &source, filling).bytes(rows) as f64 / rows as f64
    }

    /// Bytes of a row as the files of MariaDB 10.11 had them.
    #[test]
    fn tables_of_servers_are_reckoned_near_what_was_measured() {
        use IndexOrder::{Ascending, Random};
        const K: u64 = 1_000;
        for (layout, text, key, order, rows, one_writer, measured) in [
            (Layout::Innodb, NARROW, "autoinc", Ascending, 1_000 * K, true, 67.1),
            (Layout::Innodb, NARROW, "autoinc", Ascending, 1_000 * K, false, 109.1),
            (Layout::Innodb, UUID, "uuid4:char32", Ascending, 1_000 * K, false, 172.0),
            (Layout::Innodb, WIDE, "autoinc", Random, 1_000 * K, true, 213.9),
            (Layout::Innodb, WIDE, "autoinc", Random, 1_000 * K, false, 247.5),
            (Layout::Innodb, WIDE, "autoinc", Ascending, 300 * K, true, 209.7),
            (Layout::Myisam, NARROW, "autoinc", Ascending, 300 * K, false, 42.9),
            (Layout::Myisam, UUID, "uuid4:char32", Ascending, 300 * K, false, 144.2),
            (Layout::Myisam, WIDE, "autoinc", Random, 300 * K, false, 155.5),
            (Layout::Aria, NARROW, "autoinc", Ascending, 300 * K, false, 70.4),
            (Layout::Aria, UUID, "uuid4:char32", Ascending, 300 * K, false, 164.7),
            (Layout::Aria, WIDE, "autoinc", Random, 300 * K, false, 189.4),
        ] {
            let reckoned = per_row(layout, text, key, order, rows, one_writer);
            assert!((reckoned / measured - 1.0).abs() < 0.15, "{layout:?} {text}: {reckoned:.1}, measured {measured}");
        }
    }
}
