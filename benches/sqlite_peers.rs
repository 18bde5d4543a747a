//! What rowcliff costs on SQLite: its own program with `--method prepared` against the shortest way there is, INSERT ...
//! SELECT from a recursive query inside the same library, with the same table, pragmas and one transaction a batch.
//! Alternating runs (A B A B ...), medians. Read the ratios, not the figures: machines are shared and noisy.
//!
//! `cargo bench --bench sqlite_peers [-- PAIRS BATCHES]`   defaults: 5 pairs, 10 batches of 50,000 rows

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use rowcliff::analyse::median;
use rowcliff::key::Key;
use rowcliff::record::store::read_batches;
use rowcliff::schema::{BuiltIn, Dialect, TemplateValues, Variant, key_type, render_statements, template};
use rusqlite::Connection;

const BATCH: u64 = 50_000;

fn main() {
    let numbers: Vec<u64> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let pairs = numbers.first().copied().unwrap_or(5);
    let batches = numbers.get(1).copied().unwrap_or(10);
    println!(
        "SQLite {}, {batches} batches of {BATCH} rows, {pairs} alternating pairs, medians of rows/s\n",
        rusqlite::version()
    );
    println!("| key | method | rowcliff | INSERT ... SELECT | ratio |\n|---|---|---|---|---|");
    // The rows of a curve, and the same shapes made by SQLite itself.
    for (key, select) in [
        (
            "autoinc",
            "(id2, id3, mail) SELECT n, abs(random()) % 2147483648, lower(hex(randomblob(9))) || '@mail.example.com' FROM rows",
        ),
        (
            "uuid4",
            "(id, id2, id3, mail) SELECT randomblob(16), n, abs(random()) % 2147483648, lower(hex(randomblob(9))) || '@mail.example.com' FROM rows",
        ),
    ] {
        for method in ["prepared", "insert"] {
            let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..pairs {
                let directory = tempfile::tempdir().unwrap();
                let a = rowcliff(directory.path(), key, method, batches);
                let b = inside(&directory.path().join("t.sqlite"), key.parse().unwrap(), select, batches);
                ours.push(a);
                theirs.push(b);
                ratios.push(a / b);
            }
            println!(
                "| {key} | {method} | {:.0} | {:.0} | {:.3} |",
                median(&ours).unwrap(),
                median(&theirs).unwrap(),
                median(&ratios).unwrap()
            );
        }
    }
}

/// Rows per second of the program's timed sections.
fn rowcliff(directory: &Path, key: &str, method: &str, batches: u64) -> f64 {
    let out = directory.join("run");
    let output = Command::new(env!("CARGO_BIN_EXE_rowcliff"))
        .args(["run", "--key", key, "--method", method, "--no-verify", "--quiet", "--out"])
        .arg(&out)
        .args(["--batch-rows", &BATCH.to_string(), "--rows", &(BATCH * batches).to_string()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let samples = read_batches(&out.join("batches.csv")).unwrap().samples;
    samples.iter().map(|sample| sample.rows as f64).sum::<f64>() / samples.iter().map(|s| s.seconds).sum::<f64>()
}

/// Rows per second of SQLite's own rows, a transaction for each batch.
fn inside(path: &Path, key: Key, select: &str, batches: u64) -> f64 {
    let conn = Connection::open(path).unwrap();
    for (name, value) in [("journal_mode", "WAL"), ("synchronous", "NORMAL"), ("cache_size", "-16384")] {
        conn.pragma_update(None, name, value).unwrap();
    }
    let key_type = key.storage().and_then(|storage| key_type(Dialect::Sqlite, storage));
    let values = TemplateValues { dialect: Dialect::Sqlite, table: "t", index: "t_id2", key_type, options: "" };
    for sql in render_statements(template(BuiltIn::One, Dialect::Sqlite, key, Variant::Standard).text, &values).unwrap()
    {
        conn.execute_batch(&sql).unwrap();
    }
    let started = Instant::now();
    for batch in 0..batches {
        let (first, last) = (batch * BATCH, (batch + 1) * BATCH - 1);
        let sql = format!(
            "WITH RECURSIVE rows (n) AS (VALUES ({first}) UNION ALL SELECT n + 1 FROM rows WHERE n < {last}) INSERT INTO t "
        );
        // WITH stands in front of INSERT.
        conn.execute_batch(&format!("{sql}{select}")).unwrap();
    }
    (BATCH * batches) as f64 / started.elapsed().as_secs_f64()
}
