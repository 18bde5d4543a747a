//! What the rows as a whole promise, over the default tables and over tables of every type.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::key::{FAMILIES, STORAGES};
use crate::schema::{ColumnType, UniqueIndex, Variant, default_columns};

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
    column.unique_indexes = vec![UniqueIndex { name: "PRIMARY".into(), prefix: None }];
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
    assert_eq!(source.insert_columns(), ["id2", "id3"]);
    assert_eq!(source.insert_text("INSERT INTO t (id2,id3) VALUES ", 0..2).matches("),(").count(), 1);
    let source = own(&options("uuid4"));
    assert_eq!(source.insert_columns(), ["uid", "id", "id2", "mail"]);
    let values = source.values(7..8);
    assert!(matches!(&values[0], Value::Text(uid) if uid.len() == 32));
    assert_eq!(values[1..3], [Value::Int(7), Value::Int(7)]);
    assert!(matches!(&values[3], Value::Text(mail) if mail.contains(&b'@')));
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
        assert!(source.compare("uid", &Value::Bytes(bytes.clone()), &Value::Bytes(bytes.clone())));
        assert!(!source.compare("uid", &Value::Bytes(bytes), &trimmed), "a cut key has to be seen");
    }
}

#[test]
fn threads_do_not_change_rows() {
    for key in ["autoinc", "uuid4", "uuid7:binary16"] {
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
    assert_eq!(lookup.columns, [("uid".to_owned(), source.expected(9)[0].1.clone())]);
    let source = own(&RowOptions { rows: ID2_VALUES, ..options("autoinc") });
    assert_eq!(source.find_by(9).unwrap(), Lookup { columns: vec![("id2".into(), Value::Int(9))], unique: true });
    let source = own(&RowOptions { rows: ID2_VALUES + 1, ..options("autoinc") });
    assert!(!source.find_by(9).unwrap().unique, "id2 has wrapped");
    let columns = default_columns(Dialect::Mysql, Key::AUTOINC, Variant::NoIndex);
    assert_eq!(RowSource::new(&columns, &options("autoinc")).unwrap().find_by(9), None);
}
