//! What the rows as a whole promise, over the default tables and over tables of every type.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::key::{FAMILIES, STORAGES, Storage};
use crate::schema::{
    BuiltIn, ColumnType, IndexColumn, ReportedIndex, SqliteColumn, TemplateValues, UniqueIndex, Variant,
    default_columns, key_type, render, sqlite_columns, template,
};

fn options(key: &str) -> RowOptions {
    RowOptions {
        key: key.parse().unwrap(),
        seed: 1,
        index_order: IndexOrder::Ascending,
        uuid_rate: 60_000,
        payload_bytes: None,
        rows: 34_000_000_000,
        table: TableKind::Own,
        dialect: Dialect::Mysql,
        edition: EDITION,
    }
}

fn own(options: &RowOptions) -> RowSource {
    RowSource::new(&default_columns(options.dialect, options.key, Variant::Standard), options).unwrap()
}

fn user(columns: &[Column], key: &str, rows: u64) -> Result<RowSource, RowsError> {
    RowSource::new(columns, &RowOptions { table: TableKind::User, rows, ..options(key) })
}

/// Every key with every storage.
fn all_keys() -> Vec<Key> {
    let uuids = FAMILIES.iter().flat_map(|family| STORAGES.map(|storage| Key::uuid(family.family, storage.storage)));
    uuids.flatten().chain([Key::AUTOINC]).collect()
}

fn in_key(mut column: Column) -> Column {
    column.in_primary_key = true;
    column.indexed = true;
    column.unique = true;
    column.unique_indexes = vec![UniqueIndex { name: "PRIMARY".into(), prefix: None, expression: None }];
    column
}

fn int(name: &str, bits: u8) -> Column {
    Column::plain(name, ColumnType::Int { bits, unsigned: false }, "int")
}

fn number(value: &Value) -> i128 {
    match value {
        Value::Int(number) => i128::from(*number),
        Value::UInt(number) => i128::from(*number),
        other => panic!("{other:?} is no integer"),
    }
}

#[test]
fn the_default_tables_in_words() {
    let source = own(&options("autoinc"));
    assert_eq!(source.insert_columns(), ["id2", "id3", "mail"]);
    assert_eq!(source.insert_text("INSERT INTO t (id2,id3,mail) VALUES ", 0..2).matches("),(").count(), 1);
    let beside_the_key = source.values(7..8);
    assert_eq!(beside_the_key[0], Value::Int(7));
    assert!(matches!(&beside_the_key[2], Value::Text(mail) if mail.contains(&b'@')));
    for key in all_keys().into_iter().filter(|key| !key.is_autoinc()) {
        let source = own(&RowOptions { key, ..options("autoinc") });
        assert_eq!(source.insert_columns(), ["id", "id2", "id3", "mail"]);
        let values = source.values(7..8);
        let length = match &values[0] {
            Value::Text(id) | Value::Bytes(id) => id.len() as u64,
            other => panic!("{other:?}"),
        };
        assert_eq!(Some(length), key.storage().map(Storage::wire_bytes), "{key}");
        // Whatever the key, the rest of a row is the same.
        assert_eq!(values[1..], beside_the_key[..], "{key}");
    }
}

#[test]
fn addresses_have_24_to_40_bytes() {
    let source = own(&options("uuid4"));
    let mut lengths = HashSet::new();
    for row in 0..5_000 {
        let Value::Text(mail) = source.expected(row)[3].1.clone() else { panic!("an address is text") };
        assert!((24..=40).contains(&mail.len()), "{mail:?}");
        let text = std::str::from_utf8(&mail).unwrap();
        let (name, domain) = text.split_once('@').unwrap();
        assert!(!name.is_empty() && domain.contains("example."), "{text}");
        assert!(text.bytes().all(|byte| byte.is_ascii_lowercase() || b"234567@.".contains(&byte)), "{text}");
        lengths.insert(mail.len());
    }
    assert_eq!(lengths.len(), 17);
}

#[test]
fn about_one_in_eight_is_null() {
    let source = own(&options("autoinc"));
    let nulls = source.values(0..80_000).iter().filter(|value| **value == Value::Null).count();
    assert!((9_500..10_500).contains(&nulls), "{nulls}");
}

#[test]
fn id2_ascends_or_is_shuffled_and_wraps_at_2_31() {
    let ascending = own(&options("autoinc"));
    let shuffled = own(&RowOptions { index_order: IndexOrder::Random, ..options("autoinc") });
    let id2 = |source: &RowSource, row| number(&source.expected(row)[0].1);
    assert_eq!(id2(&ascending, 0), 0);
    assert_eq!(id2(&ascending, ID2_VALUES - 1), i128::from(i32::MAX));
    for source in [&ascending, &shuffled] {
        assert_eq!(id2(source, ID2_VALUES), id2(source, 0));
        assert_eq!(id2(source, 34_000_000_000), id2(source, 34_000_000_000 % ID2_VALUES));
        let start = 33_999_950_000_u64;
        let seen: HashSet<i128> = (start..start + 100_000).map(|row| id2(source, row)).collect();
        assert_eq!(seen.len(), 100_000);
        assert!(seen.iter().all(|value| (0..=i128::from(i32::MAX)).contains(value)));
    }
    let ascents = (0..10_000).filter(|&row| id2(&shuffled, row + 1) > id2(&shuffled, row)).count();
    assert!((4_700..5_300).contains(&ascents), "{ascents}");
}

#[test]
fn keys_are_sent_whole_in_every_storage() {
    for key in all_keys() {
        let Some(storage) = key.storage() else { continue };
        let source = own(&RowOptions { key, ..options("uuid4") });
        for row in [0, 1, 34_000_000_000 - 1] {
            let value = source.expected(row)[0].1.clone();
            let length = match &value {
                Value::Text(text) => {
                    assert!(text.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-'), "{key}: {value:?}");
                    text.len()
                }
                Value::Bytes(bytes) => bytes.len(),
                other => panic!("{key}: {other:?}"),
            };
            assert_eq!(length as u64, storage.wire_bytes(), "{key}");
        }
    }
}

#[test]
fn a_key_that_ends_in_a_space_keeps_it() {
    let source = own(&options("uuid4:binary16"));
    let key = |row| match source.expected(row)[0].1.clone() {
        Value::Bytes(bytes) => bytes,
        other => panic!("{other:?}"),
    };
    for last in [b' ', 0, b'\\', b'\n', b'\t', b'\''] {
        let row = (0..100_000).find(|&row| key(row)[15] == last).unwrap();
        let bytes = key(row);
        assert_eq!(bytes.len(), 16);
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let sql = source.insert_text("", row..row + 1);
        assert!(sql.starts_with(&format!("(x'{hex}',")), "{sql}");
        let line = source.tsv(row..row + 1);
        let field = line.split(|byte| *byte == b'\t').next().unwrap();
        let mut unescaped = Vec::new();
        let mut rest = field.iter();
        while let Some(byte) = rest.next() {
            unescaped.push(match (byte, byte == &b'\\') {
                (_, true) => match rest.next().unwrap() {
                    b'0' => 0,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    other => *other,
                },
                (byte, false) => *byte,
            });
        }
        assert_eq!(unescaped, bytes.to_vec());
        let trimmed = Value::Bytes(bytes[..15].into());
        assert!(source.compare("id", &Value::Bytes(bytes.clone()), &Value::Bytes(bytes.clone())));
        assert!(!source.compare("id", &Value::Bytes(bytes), &trimmed), "a cut key has to be seen");
    }
}

#[test]
fn threads_do_not_change_rows() {
    for key in ["autoinc", "uuid4:char32", "uuid7:binary16"] {
        let source = own(&options(key));
        let start = 33_999_990_000_u64;
        let all = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let ranges = split_range(start..start + 20_000, 700);
            pool.install(|| parallel_map(ranges, |rows| (source.insert_text("", rows.clone()), source.tsv(rows))))
        };
        let one = all(1);
        assert_eq!(one.len(), 29);
        for threads in [2, 8] {
            assert_eq!(one, all(threads), "{key} on {threads} threads");
        }
        let lines: Vec<u8> = one.iter().flat_map(|(_, lines)| lines.clone()).collect();
        assert_eq!(lines, source.tsv(start..start + 20_000), "{key} in one piece");
    }
}

#[test]
fn rows_are_found_again() {
    let source = own(&options("uuid4"));
    let lookup = source.find_by(9).unwrap();
    assert!(lookup.unique);
    assert_eq!(lookup.columns, [("id".to_owned(), source.expected(9)[0].1.clone())]);
    let source = own(&RowOptions { rows: ID2_VALUES, ..options("autoinc") });
    assert_eq!(source.find_by(9).unwrap(), Lookup { columns: vec![("id2".into(), Value::Int(9))], unique: true });
    let source = own(&RowOptions { rows: ID2_VALUES + 1, ..options("autoinc") });
    assert!(!source.find_by(9).unwrap().unique, "id2 has wrapped");
    let columns = default_columns(Dialect::Mysql, Key::AUTOINC, Variant::NoIndex);
    assert_eq!(RowSource::new(&columns, &options("autoinc")).unwrap().find_by(9), None);
}

/// One column of every type, in no index.
fn zoo() -> Vec<Column> {
    let members = |list: &[&str]| list.iter().map(|&member| member.to_owned()).collect::<Vec<_>>();
    let sized =
        |name: &str, data_type, length| Column { max_length: Some(length), ..Column::plain(name, data_type, name) };
    let mut columns = vec![
        Column::plain("bool", ColumnType::Bool, "tinyint(1)"),
        Column::plain("bit", ColumnType::Bit { bits: 12 }, "bit(12)"),
        Column::plain("decimal", ColumnType::Decimal { precision: 20, scale: 6 }, "decimal(20,6)"),
        Column::plain("scale", ColumnType::Decimal { precision: 65, scale: 38 }, "decimal(65,38)"),
        Column::plain("float", ColumnType::Float { digits: None }, "float"),
        Column::plain("float73", ColumnType::Float { digits: Some((7, 3)) }, "float(7,3)"),
        Column::plain("double", ColumnType::Double { digits: None }, "double"),
        Column::plain("double308", ColumnType::Double { digits: Some((30, 28)) }, "double(30,28)"),
        Column::plain("date", ColumnType::Date, "date"),
        Column::plain("time", ColumnType::Time { fraction: 2 }, "time(2)"),
        Column::plain("datetime", ColumnType::DateTime { fraction: 6 }, "datetime(6)"),
        Column::plain("timestamp", ColumnType::Timestamp { fraction: 0 }, "timestamp"),
        Column::plain("year", ColumnType::Year, "year"),
        sized("char", ColumnType::Char, 10),
        sized("empty", ColumnType::Char, 0),
        sized("varchar", ColumnType::Varchar, 255),
        sized("text", ColumnType::Text, 65_535),
        sized("binary", ColumnType::Binary, 16),
        sized("varbinary", ColumnType::Varbinary, 3),
        sized("blob", ColumnType::Blob, 65_535),
        Column::plain("json", ColumnType::Json, "json"),
        Column::plain("enum", ColumnType::Enum { members: members(&["small", "it's", "größe", "LARGE"]) }, "enum(...)"),
        Column::plain("set", ColumnType::Set { members: members(&["a", "b", "c"]) }, "set('a','b','c')"),
        Column::plain("uuid", ColumnType::Uuid, "uuid"),
        Column::plain("inet4", ColumnType::Inet4, "inet4"),
        Column::plain("inet6", ColumnType::Inet6, "inet6"),
    ];
    for bits in [8, 16, 24, 32, 64] {
        columns.push(int(&format!("int{bits}"), bits));
        columns.push(Column::plain(&format!("uint{bits}"), ColumnType::Int { bits, unsigned: true }, "unsigned"));
    }
    columns
}

/// The values of a row by column.
fn by_name(source: &RowSource, row: u64) -> std::collections::HashMap<&str, Value> {
    source.expected(row).into_iter().collect()
}

fn text(value: &Value) -> &str {
    match value {
        Value::Text(text) => std::str::from_utf8(text).unwrap(),
        other => panic!("{other:?} is no text"),
    }
}

#[test]
fn values_fit_their_types() {
    let columns = zoo();
    let source = user(&columns, "autoinc", 1_000_000).unwrap();
    for row in (0..2_000).chain(34_000_000_000..34_000_000_500) {
        let values = by_name(&source, row);
        for bits in [8_u32, 16, 24, 32, 64] {
            assert!((0..1_i128 << (bits - 1)).contains(&number(&values[format!("int{bits}").as_str()])));
            assert!((0..1_i128 << bits).contains(&number(&values[format!("uint{bits}").as_str()])));
        }
        assert!((0..2).contains(&number(&values["bool"])));
        assert!((0..1 << 12).contains(&number(&values["bit"])));
        let (whole, fraction) = text(&values["decimal"]).split_once('.').unwrap();
        assert!(whole.len() <= 14 && fraction.len() == 6, "{values:?}");
        assert_eq!(text(&values["scale"]).len(), 40);
        assert!(matches!(values["float73"], Value::Real(real) if (0.0..10_000.0).contains(&real)));
        assert!(matches!(values["double308"], Value::Real(real) if (0.0..100.0).contains(&real)));
        for (name, format) in
            [("date", "%Y-%m-%d"), ("datetime", "%Y-%m-%d %H:%M:%S%.6f"), ("timestamp", "%Y-%m-%d %H:%M:%S")]
        {
            let day = jiff::civil::Date::strptime(format, text(&values[name])).unwrap();
            assert!((2000..=2024).contains(&day.year()), "{name}: {day}");
        }
        assert!(jiff::civil::Time::strptime("%H:%M:%S%.2f", text(&values["time"])).is_ok(), "{values:?}");
        assert!((2000..=2024).contains(&number(&values["year"])));
        assert!((5..=10).contains(&text(&values["char"]).len()));
        assert_eq!(text(&values["empty"]), "");
        assert!((24..=64).contains(&text(&values["varchar"]).len()));
        assert!(matches!(&values["binary"], Value::Bytes(bytes) if bytes.len() == 16));
        assert!(matches!(&values["varbinary"], Value::Bytes(bytes) if (2..=3).contains(&bytes.len())));
        assert!(serde_json::from_str::<serde_json::Value>(text(&values["json"])).is_ok());
        assert!((1..=4).contains(&number(&values["enum"])), "members that need escapes go by their numbers");
        assert!(text(&values["set"]).split(',').all(|member| ["", "a", "b", "c"].contains(&member)));
        assert!(uuid::Uuid::parse_str(text(&values["uuid"])).is_ok());
        assert!(text(&values["inet4"]).parse::<std::net::Ipv4Addr>().is_ok());
        assert!(text(&values["inet6"]).parse::<std::net::Ipv6Addr>().is_ok());
        for (name, value) in &values {
            assert!(source.compare(name, value, value), "{name} is not like itself: {value:?}");
            assert!(!source.compare(name, value, &Value::Null));
        }
    }
}

#[test]
fn values_vary_from_row_to_row() {
    let columns = zoo();
    let source = user(&columns, "autoinc", 1_000_000).unwrap();
    for (name, _) in source.expected(0).iter().filter(|(name, _)| *name != "empty") {
        let seen: HashSet<String> = (0..50).map(|row| format!("{:?}", by_name(&source, row)[name])).collect();
        assert!(seen.len() > 1, "{name} is always {seen:?}");
    }
}

#[test]
fn a_payload_sets_the_length_of_free_text_and_bytes() {
    let columns = zoo();
    let with = |payload_bytes| {
        let options = RowOptions { table: TableKind::User, payload_bytes, rows: 1_000, ..options("autoinc") };
        RowSource::new(&columns, &options).unwrap()
    };
    let source = with(Some(1_000));
    assert!(source.takes_payload());
    let values = by_name(&source, 3);
    let length = |name: &str| match &values[name] {
        Value::Text(bytes) | Value::Bytes(bytes) => bytes.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!([length("text"), length("blob")], [1_000, 1_000]);
    assert_eq!([length("varchar"), length("char"), length("varbinary"), length("binary")], [255, 10, 3, 16]);
    let own_uuid = |bytes| {
        let options = RowOptions { payload_bytes: Some(bytes), ..options("uuid4") };
        RowSource::new(&default_columns(Dialect::Mysql, options.key, Variant::Varchar), &options)
    };
    assert!(matches!(&own_uuid(60).unwrap().expected(5)[3].1, Value::Text(mail) if mail.len() == 60));
    let message = own_uuid(61).unwrap_err().to_string();
    assert!(message.contains("column mail") && message.contains("61") && message.contains("60"), "{message}");
    assert!(own(&options("autoinc")).takes_payload() && own(&options("uuid4")).takes_payload());
    assert!(!RowSource::new(&before(Key::AUTOINC), &options("autoinc")).unwrap().takes_payload());
}

#[test]
fn what_the_server_fills_is_left_out() {
    let mut id = in_key(int("id", 64));
    id.auto_increment = true;
    let mut computed = int("computed", 32);
    computed.generated = true;
    let source = user(&[id.clone(), int("a", 32), computed.clone()], "autoinc", 10).unwrap();
    assert_eq!(source.insert_columns(), ["a"]);
    assert_eq!(user(&[id, computed], "autoinc", 10).unwrap_err(), RowsError::NothingToFill);
}

#[test]
fn columns_that_cannot_be_filled_are_named() {
    let refused = |column: Column| user(&[column], "autoinc", 10).unwrap_err().to_string();
    let message = refused(Column::plain("area", ColumnType::Other, "polygon"));
    assert!(message.starts_with("column area (polygon) cannot be filled:"), "{message}");
    let mut child = int("parent_id", 32);
    child.references = Some("parents".into());
    assert!(refused(child).contains("must exist in parents"));
    let options = RowOptions { rows: u64::MAX, uuid_rate: 1, ..options("uuid7") };
    let columns = default_columns(Dialect::Mysql, options.key, Variant::Standard);
    assert!(matches!(RowSource::new(&columns, &options), Err(RowsError::KeyRows { .. })));
}

/// A column that a unique index covers alone, of every type that can be one, and how many rows it takes.
fn unique_columns() -> Vec<(Column, u64)> {
    let sized = |data_type, length| Column { max_length: Some(length), ..Column::plain("c", data_type, "t") };
    let plain = |data_type| Column::plain("c", data_type, "t");
    let prefixed = |mut column: Column, prefix| {
        column.unique_indexes = vec![UniqueIndex { name: "PRIMARY".into(), prefix: Some(prefix), expression: None }];
        column.unique = true;
        column.indexed = true;
        column
    };
    let members = |count: u8| (b'a'..b'a' + count).map(|member| char::from(member).to_string()).collect();
    vec![
        (in_key(plain(ColumnType::Bool)), 256),
        (in_key(int("c", 8)), 256),
        (in_key(plain(ColumnType::Int { bits: 16, unsigned: true })), 65_536),
        (in_key(plain(ColumnType::Bit { bits: 9 })), 512),
        (in_key(plain(ColumnType::Decimal { precision: 4, scale: 2 })), 10_000),
        (in_key(plain(ColumnType::Float { digits: Some((3, 1)) })), 1_000),
        (in_key(plain(ColumnType::Double { digits: Some((4, 4)) })), 10_000),
        (in_key(plain(ColumnType::Year)), 255),
        (in_key(sized(ColumnType::Char, 2)), 900),
        (in_key(sized(ColumnType::Varchar, 3)), 27_000),
        (prefixed(sized(ColumnType::Text, 65_535), 2), 900),
        (in_key(sized(ColumnType::Binary, 1)), 256),
        (in_key(sized(ColumnType::Varbinary, 2)), 65_536),
        (prefixed(sized(ColumnType::Blob, 65_535), 1), 256),
        (in_key(plain(ColumnType::Enum { members: members(5) })), 5),
        (in_key(plain(ColumnType::Set { members: members(6) })), 64),
    ]
}

#[test]
fn unique_columns_take_as_many_rows_as_their_type_has_values() {
    for (column, rows_max) in unique_columns() {
        for index_order in [IndexOrder::Ascending, IndexOrder::Random] {
            let options = |rows| RowOptions { table: TableKind::User, rows, index_order, ..options("autoinc") };
            let source = RowSource::new(std::slice::from_ref(&column), &options(rows_max)).unwrap();
            let prefix = column.unique_indexes[0].prefix.unwrap_or(u64::MAX) as usize;
            let seen: HashSet<String> = source
                .values(0..rows_max)
                .into_iter()
                .map(|value| match value {
                    Value::Text(bytes) | Value::Bytes(bytes) => format!("{:?}", &bytes[..bytes.len().min(prefix)]),
                    value => format!("{value:?}"),
                })
                .collect();
            assert_eq!(seen.len() as u64, rows_max, "{column:?}");
            let message =
                RowSource::new(std::slice::from_ref(&column), &options(rows_max + 1)).unwrap_err().to_string();
            assert!(message.contains(&format!("room for {rows_max} rows")), "{message}");
            assert!(message.contains(&(rows_max + 1).to_string()) && message.contains("PRIMARY on c"), "{message}");
        }
    }
}

#[test]
fn wide_unique_types_take_34_billion_rows() {
    let sized = |data_type, length| Column { max_length: Some(length), ..Column::plain("c", data_type, "t") };
    for column in [
        int("c", 64),
        sized(ColumnType::Char, 32),
        sized(ColumnType::Binary, 16),
        Column::plain("c", ColumnType::DateTime { fraction: 0 }, "datetime"),
        Column::plain("c", ColumnType::Timestamp { fraction: 6 }, "timestamp(6)"),
        Column::plain("c", ColumnType::Decimal { precision: 12, scale: 0 }, "decimal(12,0)"),
        Column::plain("c", ColumnType::Double { digits: None }, "double"),
        Column::plain("c", ColumnType::Uuid, "uuid"),
        Column::plain("c", ColumnType::Inet6, "inet6"),
    ] {
        for index_order in [IndexOrder::Ascending, IndexOrder::Random] {
            let options = RowOptions { table: TableKind::User, index_order, ..options("autoinc") };
            let source = RowSource::new(&[in_key(column.clone())], &options).unwrap();
            let start = 33_999_950_000;
            let values = source.values(start..start + 50_000);
            let seen: HashSet<String> = values.iter().map(|value| format!("{value:?}")).collect();
            assert_eq!(seen.len(), 50_000, "{column:?}");
            assert!(source.find_by(7).is_none_or(|lookup| lookup.unique));
        }
    }
    let small = user(&[in_key(int("c", 32))], "autoinc", 34_000_000_000).unwrap_err().to_string();
    assert!(small.contains("room for 4294967296 rows, and 34000000000 are asked for"), "{small}");
}

#[test]
fn an_integer_key_is_the_row_index() {
    let source = user(&[in_key(int("id", 64)), int("a", 32)], "autoinc", 1_000).unwrap();
    assert_eq!(source.expected(999)[0], ("id", Value::Int(999)));
    assert_eq!(source.find_by(999).unwrap().columns, [("id".to_owned(), Value::Int(999))]);
    // The positive half of a TINYINT ends at 127.
    let source = user(&[in_key(int("id", 8)), int("a", 32)], "autoinc", 200).unwrap();
    assert_eq!(source.expected(0)[0].1, Value::Int(-128));
    assert_eq!(source.expected(199)[0].1, Value::Int(71));
}

fn in_index(mut column: Column, name: &str, first: bool) -> Column {
    column.unique_indexes.push(UniqueIndex { name: name.into(), prefix: None, expression: None });
    column.in_primary_key |= name == "PRIMARY";
    column.indexed |= first;
    column
}

#[test]
fn a_partition_column_may_be_in_the_key() {
    let mut id = Column::plain("id", ColumnType::Binary, "binary(16)");
    id.max_length = Some(16);
    let day = Column::plain("d", ColumnType::Date, "date");
    let columns = [in_index(id, "PRIMARY", true), in_index(day, "PRIMARY", false)];
    let source = user(&columns, "uuid4:binary16", 34_000_000_000).unwrap();
    let values = source.expected(3);
    assert!(matches!(&values[0].1, Value::Bytes(key) if key.len() == 16));
    assert!(text(&values[1].1) < "2025", "below the bound of the usual last partition");
    assert_eq!(source.find_by(3).unwrap().columns.len(), 2);
    // Without a UUID one of the columns has to be unique.
    let columns = [in_index(int("id", 64), "PRIMARY", true), in_index(int("shard", 8), "PRIMARY", false)];
    let source = user(&columns, "autoinc", 1_000_000).unwrap();
    let seen: HashSet<String> = (0..10_000).map(|row| format!("{:?}", source.expected(row)[0])).collect();
    assert_eq!(seen.len(), 10_000);
}

#[test]
fn a_key_of_small_columns_counts_through_all_of_them() {
    let columns = ["a", "b", "c"].map(|name| in_index(int(name, 8), "PRIMARY", name == "a"));
    for index_order in [IndexOrder::Ascending, IndexOrder::Random] {
        let options = RowOptions { table: TableKind::User, rows: 100_000, index_order, ..options("autoinc") };
        let source = RowSource::new(&columns, &options).unwrap();
        let keys: Vec<Vec<i128>> =
            (0..100_000).map(|row| source.expected(row).iter().map(|(_, value)| number(value)).collect()).collect();
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 100_000);
        assert!(keys.is_sorted(), "the index order is that of secondary indexes");
    }
    let message = user(&columns, "autoinc", (1 << 24) + 1).unwrap_err().to_string();
    assert!(message.contains("PRIMARY on a, b, c has room for 16777216 rows"), "{message}");
}

#[test]
fn keys_have_no_null_and_other_columns_some() {
    let nullable = |mut column: Column| {
        column.nullable = true;
        column
    };
    let mut indexed = int("i", 32);
    indexed.indexed = true;
    let columns = [
        in_key(nullable(int("k", 64))),
        nullable(in_index(int("u", 64), "u", true)),
        nullable(indexed),
        nullable(int("n", 32)),
    ];
    let source = user(&columns, "autoinc", 10_000).unwrap();
    let mut nulls = [0; 4];
    for row in 0..10_000 {
        for (count, (_, value)) in nulls.iter_mut().zip(source.expected(row)) {
            *count += u32::from(value == Value::Null);
        }
    }
    assert_eq!(nulls[..3], [0, 0, 0]);
    assert!((1_000..1_500).contains(&nulls[3]), "{nulls:?}");
}

#[test]
fn typical_rows_are_at_least_half_of_the_bound() {
    for key in all_keys() {
        let source = own(&RowOptions { key, rows: 300_000_000, ..options("autoinc") });
        let bound = source.max_row_bytes();
        let rows = 200_000_000..200_001_000_u64;
        let insert_text = source.insert_text("", rows.clone()).len() as u64;
        let tsv = source.tsv(rows.clone()).len() as u64;
        let values: u64 = source.values(rows).iter().map(memory_bytes).sum();
        for (what, bytes, bound) in
            [("text", insert_text, bound.insert_text), ("lines", tsv, bound.tsv), ("values", values, bound.values)]
        {
            assert!(bytes <= 1_000 * bound && 2 * bytes >= 1_000 * bound, "{key} {what}: {bytes} of 1000 x {bound}");
        }
    }
}

fn memory_bytes(value: &Value) -> u64 {
    let owned = match value {
        Value::Text(bytes) | Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    (size_of::<Value>() + owned) as u64
}

proptest! {
    #[test]
    fn no_row_is_longer_than_the_bound(
        seed: u64,
        row in 0_u64..40_000_000_000,
        payload_bytes in proptest::option::of(0_u64..5_000),
        random: bool,
        nullable: bool,
        indexed: bool,
    ) {
        let index_order = if random { IndexOrder::Random } else { IndexOrder::Ascending };
        let options = RowOptions { seed, payload_bytes, index_order, rows: row + 1, ..options("autoinc") };
        let mut sources = Vec::new();
        for mut column in zoo() {
            column.nullable = nullable;
            column.indexed = indexed;
            sources.push(RowSource::new(&[column], &RowOptions { table: TableKind::User, ..options }).unwrap());
        }
        for key in all_keys() {
            sources.push(own(&RowOptions { key, ..options }));
        }
        for source in sources {
            let bound = source.max_row_bytes();
            // Two rows, for the comma between them; the last one has none.
            let insert_text = source.insert_text("", row..row + 1).len() as u64 + 1;
            prop_assert!(insert_text <= bound.insert_text, "{:?}: {insert_text}", source.insert_columns());
            let tsv = source.tsv(row..row + 1).len() as u64;
            prop_assert!(tsv <= bound.tsv, "{:?}: {tsv}", source.insert_columns());
            let values: u64 = source.values(row..row + 1).iter().map(memory_bytes).sum();
            prop_assert!(values <= bound.values, "{:?}: {values}", source.insert_columns());
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_rows(seed: u64, row in 0_u64..1 << 40) {
        let columns = zoo();
        let rows = |seed| {
            let options = RowOptions { seed, table: TableKind::User, ..options("autoinc") };
            RowSource::new(&columns, &options).unwrap().insert_text("", row..row + 2)
        };
        prop_assert_eq!(rows(seed), rows(seed));
        prop_assert_ne!(rows(seed), rows(seed ^ 1));
    }
}

/// What SQLite reports of table `t`.
fn sqlite_reported(connection: &rusqlite::Connection) -> Vec<Column> {
    let mut statement = connection
        .prepare("SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo('t')")
        .unwrap();
    let reported: Vec<SqliteColumn> = statement
        .query_map([], |row| {
            Ok(SqliteColumn {
                name: row.get(0)?,
                declared_type: row.get(1)?,
                not_null: row.get(2)?,
                default_value: row.get(3)?,
                primary_key_place: row.get(4)?,
                hidden: row.get(5)?,
                referenced_table: None,
            })
        })
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let mut statement = connection.prepare("SELECT name, \"unique\", origin FROM pragma_index_list('t')").unwrap();
    let mut indexes: Vec<ReportedIndex> = statement
        .query_map([], |row| {
            Ok(ReportedIndex {
                name: row.get(0)?,
                unique: row.get(1)?,
                primary: row.get::<_, String>(2)? == "pk",
                columns: Vec::new(),
            })
        })
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for index in &mut indexes {
        let mut statement = connection.prepare("SELECT name FROM pragma_index_info(?1)").unwrap();
        let names = statement.query_map([&index.name], |row| row.get(0)).unwrap();
        index.columns = names.map(|name| IndexColumn { name: name.unwrap(), prefix: None, expression: None }).collect();
    }
    let without_rowid: bool =
        connection.query_row("SELECT wr FROM pragma_table_list('t')", [], |row| row.get(0)).unwrap();
    sqlite_columns(&reported, &indexes, without_rowid)
}

fn from_sqlite(value: rusqlite::types::ValueRef<'_>) -> Value {
    match value {
        rusqlite::types::ValueRef::Null => Value::Null,
        rusqlite::types::ValueRef::Integer(number) => Value::Int(number),
        rusqlite::types::ValueRef::Real(number) => Value::Real(number),
        rusqlite::types::ValueRef::Text(text) => Value::Text(text.into()),
        rusqlite::types::ValueRef::Blob(bytes) => Value::Bytes(bytes.into()),
    }
}

/// Loads rows into a table of SQLite as text and reads each of them back.
fn load_and_compare(create_table: &str, options: &RowOptions) {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch(create_table).unwrap();
    let source = RowSource::new(&sqlite_reported(&connection), options).unwrap();
    let names = source.insert_columns().join(", ");
    let prefix = format!("INSERT INTO t ({names}) VALUES ");
    for rows in split_range(0..options.rows, 100) {
        connection.execute_batch(&source.insert_text(&prefix, rows)).unwrap();
    }
    let count: i64 = connection.query_row("SELECT COUNT(*) FROM t", [], |row| row.get(0)).unwrap();
    assert_eq!(count, options.rows as i64);
    for row in 0..options.rows {
        let lookup = source.find_by(row).unwrap();
        let query = format!("SELECT {names} FROM t WHERE {}", lookup.condition(|name| format!("\"{name}\"")));
        let mut statement = connection.prepare(&query).unwrap();
        let mut found = statement.query([]).unwrap();
        let got = found.next().unwrap().unwrap_or_else(|| panic!("{query} finds nothing"));
        for (place, (name, expected)) in source.expected(row).into_iter().enumerate() {
            let got = from_sqlite(got.get_ref(place).unwrap());
            assert!(source.compare(name, &expected, &got), "row {row}, {name}: {got:?} is not {expected:?}");
        }
        assert!(!lookup.unique || found.next().unwrap().is_none(), "{query} finds two rows");
    }
}

#[test]
fn sqlite_gives_own_tables_back() {
    for key in all_keys() {
        let key_type = key.storage().map(|storage| key_type(Dialect::Sqlite, storage));
        // A storage that SQLite has no type for.
        if key_type == Some(None) {
            continue;
        }
        let values = TemplateValues {
            dialect: Dialect::Sqlite,
            table: "t",
            index: "t_id2",
            key_type: key_type.flatten(),
            options: "",
        };
        let sql = render(template(BuiltIn::One, Dialect::Sqlite, key, Variant::Standard).text, &values).unwrap();
        load_and_compare(&sql, &RowOptions { key, rows: 500, dialect: Dialect::Sqlite, ..options("autoinc") });
    }
}

#[test]
fn sqlite_gives_tables_of_every_type_back() {
    let sql = "CREATE TABLE t (
        id INTEGER PRIMARY KEY, n INT UNIQUE, small SMALLINT NOT NULL, big BIGINT UNSIGNED, flag BOOLEAN, d DECIMAL(12,4),
        num NUMERIC, r REAL, f FLOAT, dp DOUBLE PRECISION, day DATE, t TIME, dt DATETIME, ts TIMESTAMP, y YEAR,
        c CHAR(8), v VARCHAR(20), txt TEXT, untyped, b BLOB, bin BINARY(16), j JSON, u UUID, other STRING,
        doubled INT GENERATED ALWAYS AS (n * 2) STORED, UNIQUE (c, y))";
    let options = RowOptions { rows: 500, table: TableKind::User, dialect: Dialect::Sqlite, ..options("autoinc") };
    load_and_compare(sql, &options);
    load_and_compare(sql, &RowOptions { index_order: IndexOrder::Random, payload_bytes: Some(300), ..options });
    let strict = "CREATE TABLE t (k TEXT, p INT, r REAL, b BLOB, a ANY, PRIMARY KEY (k, p)) STRICT, WITHOUT ROWID";
    load_and_compare(strict, &options);
    load_and_compare(strict, &RowOptions { key: "uuid7:char36".parse().unwrap(), ..options });
}

/// The columns of the tables of the PBXT post, which were the default ones once.
fn before(key: Key) -> Vec<Column> {
    let mut columns = default_columns(Dialect::Mysql, key, Variant::Standard);
    let mail = columns.pop().unwrap();
    if key.is_autoinc() {
        return columns;
    }
    columns[0].name = "uid".into();
    columns.truncate(1);
    columns.extend([int("id", 32), int("id2", 32), mail]);
    columns
}

#[test]
fn the_row_of_a_number_is_the_one_that_has_it() {
    for index_order in [IndexOrder::Ascending, IndexOrder::Random] {
        let source = own(&RowOptions { index_order, ..options("uuid4") });
        for row in [0, 1, 77, 1 << 20, ID2_VALUES - 1] {
            let expected = source.expected(row);
            assert_eq!(source.row_of("id2", number(&expected[1].1) as u64), Some(row), "{index_order:?}");
        }
        assert_eq!(source.row_of("id3", 5), None, "rows share it");
        assert!(!source.is_distinct("id2"), "id2 has wrapped: there are more rows than numbers");
        let fewer = own(&RowOptions { index_order, rows: ID2_VALUES, ..options("uuid4") });
        assert!(fewer.is_distinct("id2") && !fewer.is_distinct("id3") && !fewer.is_distinct("mail"));
        assert_eq!(source.row_of("mail", 5), None);
    }
}

#[test]
fn the_rows_of_recorded_runs_forever() {
    // Runs that were begun before there was one table for every key go on with the tables and the rows that they have.
    let line = |key: &str| {
        let options = options(key);
        RowSource::new(&before(options.key), &options).unwrap().insert_text("", 33_999_999_999..34_000_000_000)
    };
    assert_eq!(
        ["autoinc", "uuid1:char32", "uuid4:char32", "uuid6:binary16", "uuid7:char36"].map(line),
        [
            "(1787745279,880600322)",
            "('5fa75a04ccfa11ef803f1b1817904cc1',1787745279,1787745279,'zymvmhssdwuq@mail.example.com')",
            "('7dbb111e0e3843cfb0bdab3163db7bf0',1787745279,1787745279,'zymvmhssdwuq@mail.example.com')",
            "(x'1efccfa5fa756a04803f1b1817904cc1',1787745279,1787745279,'zymvmhssdwuq@mail.example.com')",
            "('019440ed-e106-708e-bbc3-edb4fc6d4e2f',1787745279,1787745279,'zymvmhssdwuq@mail.example.com')",
        ]
    );
}

#[test]
fn the_same_row_forever() {
    // A resumed run inserts what the interrupted one would have. If this test fails, the runs that an earlier version
    // has started cannot be resumed: say so in the change log.
    let line = |key: &str| own(&options(key)).insert_text("", 33_999_999_999..34_000_000_000);
    let lines = ["autoinc", "uuid1", "uuid4:char32", "uuid6:binary16", "uuid7:char36"].map(line);
    assert_eq!(
        lines,
        [
            "(1787745279,880600322,'zymvmhssdwuq@mail.example.com')",
            "(x'5fa75a04ccfa11ef803f1b1817904cc1',1787745279,880600322,'zymvmhssdwuq@mail.example.com')",
            "('7dbb111e0e3843cfb0bdab3163db7bf0',1787745279,880600322,'zymvmhssdwuq@mail.example.com')",
            "(x'1efccfa5fa756a04803f1b1817904cc1',1787745279,880600322,'zymvmhssdwuq@mail.example.com')",
            "('019440ed-e106-708e-bbc3-edb4fc6d4e2f',1787745279,880600322,'zymvmhssdwuq@mail.example.com')",
        ]
    );
}
