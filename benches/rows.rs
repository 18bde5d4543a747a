//! What making rows costs: generation and encoding together, on one thread.
//!
//! `cargo bench --bench rows`; the figures are rows per second ("item/s"). `cargo test --benches` runs each once.

use divan::Bencher;
use divan::counter::ItemsCount;
use rowcliff::key::Key;
use rowcliff::rows::{IndexOrder, RowOptions, RowSource, TableKind};
use rowcliff::schema::{Dialect, Variant, default_columns};

const KEYS: [&str; 7] = ["autoinc", "uuid1", "uuid4", "uuid4:char36", "uuid4:binary16", "uuid6", "uuid7"];

/// Rows of one statement.
const ROWS: u64 = 1_000;
/// Where the statements start: far from row 0, where numbers have few digits.
const START: u64 = 1_000_000_000;

fn main() {
    divan::main();
}

fn source(key: &str, index_order: IndexOrder) -> RowSource {
    let Ok(key) = key.parse::<Key>() else { panic!("{key} is not a key") };
    let options = RowOptions {
        key,
        seed: 1,
        index_order,
        uuid_rate: 60_000,
        payload_bytes: None,
        rows: 34_000_000_000,
        table: TableKind::Own,
        dialect: Dialect::Mysql,
        edition: rowcliff::rows::EDITION,
    };
    let columns = default_columns(options.dialect, key, Variant::Standard);
    match RowSource::new(&columns, &options) {
        Ok(source) => source,
        Err(error) => panic!("{error}"),
    }
}

#[divan::bench(args = KEYS)]
fn insert_text(bencher: Bencher, key: &str) {
    let source = source(key, IndexOrder::Ascending);
    bencher.counter(ItemsCount::new(ROWS)).bench(|| source.insert_text("INSERT INTO t VALUES ", START..START + ROWS));
}

#[divan::bench]
fn insert_text_shuffled(bencher: Bencher) {
    let source = source("autoinc", IndexOrder::Random);
    bencher.counter(ItemsCount::new(ROWS)).bench(|| source.insert_text("INSERT INTO t VALUES ", START..START + ROWS));
}

#[divan::bench(args = KEYS)]
fn tsv(bencher: Bencher, key: &str) {
    let source = source(key, IndexOrder::Ascending);
    bencher.counter(ItemsCount::new(ROWS)).bench(|| source.tsv(START..START + ROWS));
}

#[divan::bench(args = KEYS)]
fn values(bencher: Bencher, key: &str) {
    let source = source(key, IndexOrder::Ascending);
    bencher.counter(ItemsCount::new(ROWS)).bench(|| source.values(START..START + ROWS));
}
