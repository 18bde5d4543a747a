//! What makes a UUID table on SQLite slower as it grows: counts of pages, batch by batch, with the settings and the rows
//! of `rowcliff run`. Counts do not depend on how busy the machine is; the seconds beside them do.
//!
//! `cargo bench --bench sqlite_fall`

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::ops::Range;
use std::os::raw::c_int;
use std::path::Path;
use std::time::Instant;

use rowcliff::key::Key;
use rowcliff::rows::{IndexOrder, RowOptions, RowSource, TableKind};
use rowcliff::schema::{
    BuiltIn, Dialect, TemplateValues, Variant, default_columns, key_type, render_statements, template,
};
use rusqlite::{Connection, ffi};

const BATCH: u64 = 50_000;
const BATCHES: u64 = 20;

fn main() {
    for (key, cache_kib) in [("autoinc", 16_384), ("uuid4", 16_384), ("uuid4", 262_144)] {
        println!("\n{key}, page cache {} MiB", cache_kib / 1024);
        println!(
            "{:>9} {:>8} {:>10} {:>10} {:>10} {:>9} {:>9}",
            "rows", "seconds", "table MiB", "written/row", "misses/row", "spills", "WAL MiB"
        );
        let directory = tempfile::tempdir().unwrap();
        measure(&directory.path().join("t.sqlite"), key.parse().unwrap(), cache_kib);
    }
}

fn measure(path: &Path, key: Key, cache_kib: i64) {
    let conn = Connection::open(path).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    conn.pragma_update(None, "synchronous", "NORMAL").unwrap();
    conn.pragma_update(None, "cache_size", -cache_kib).unwrap();
    let values = TemplateValues {
        dialect: Dialect::Sqlite,
        table: "t",
        index: "t_id2",
        key_type: key.storage().and_then(|storage| key_type(Dialect::Sqlite, storage)),
        options: "",
    };
    for sql in render_statements(template(BuiltIn::One, Dialect::Sqlite, key, Variant::Standard).text, &values).unwrap()
    {
        conn.execute_batch(&sql).unwrap();
    }
    let options = RowOptions {
        key,
        seed: 1,
        index_order: IndexOrder::Ascending,
        uuid_rate: 60_000,
        payload_bytes: None,
        rows: BATCH * BATCHES,
        table: TableKind::Own,
        dialect: Dialect::Sqlite,
        edition: rowcliff::rows::EDITION,
    };
    let source = RowSource::new(&default_columns(Dialect::Sqlite, key, Variant::Standard), &options).unwrap();
    let prefix = format!("INSERT OR ROLLBACK INTO t ({}) VALUES ", source.insert_columns().join(","));
    for batch in 0..BATCHES {
        let before = Counters::read(&conn);
        let seconds = send(&conn, &source, &prefix, batch * BATCH..(batch + 1) * BATCH);
        let after = Counters::read(&conn);
        let pages: i64 = conn.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        let per_row = |after: i64, before: i64| (after - before) as f64 / BATCH as f64;
        let wal = std::fs::metadata(path.with_extension("sqlite-wal")).map_or(0, |file| file.len());
        println!(
            "{:>9} {:>8.3} {:>10.1} {:>11.3} {:>10.3} {:>9} {:>9.1}",
            (batch + 1) * BATCH,
            seconds,
            pages as f64 * 4096.0 / 1048576.0,
            per_row(after.written, before.written),
            per_row(after.misses, before.misses),
            after.spills - before.spills,
            wal as f64 / 1048576.0,
        );
    }
}

/// One transaction, as `rowcliff run` does it.
fn send(conn: &Connection, source: &RowSource, prefix: &str, rows: Range<u64>) -> f64 {
    let statements: Vec<String> = rows
        .clone()
        .step_by(1000)
        .map(|start| source.insert_text(prefix, start..(start + 1000).min(rows.end)))
        .collect();
    let started = Instant::now();
    conn.execute_batch("BEGIN").unwrap();
    for sql in &statements {
        conn.execute(sql, []).unwrap();
    }
    conn.execute_batch("COMMIT").unwrap();
    started.elapsed().as_secs_f64()
}

/// SQLite's own figures of a connection, since it was opened.
struct Counters {
    /// Pages written to the WAL.
    written: i64,
    /// Pages that were wanted and not in the cache.
    misses: i64,
    /// Dirty pages that had to leave the cache before their transaction was committed.
    spills: i64,
}

impl Counters {
    fn read(conn: &Connection) -> Self {
        Self {
            written: status(conn, ffi::SQLITE_DBSTATUS_CACHE_WRITE),
            misses: status(conn, ffi::SQLITE_DBSTATUS_CACHE_MISS),
            spills: status(conn, ffi::SQLITE_DBSTATUS_CACHE_SPILL),
        }
    }
}

#[allow(unsafe_code)]
fn status(conn: &Connection, what: c_int) -> i64 {
    let (mut current, mut highest) = (0, 0);
    // SAFETY: the handle is open for as long as `conn` is borrowed, and both pointers are to live integers.
    let code = unsafe { ffi::sqlite3_db_status(conn.handle(), what, &mut current, &mut highest, 0) };
    assert_eq!(code, ffi::SQLITE_OK);
    i64::from(current)
}
