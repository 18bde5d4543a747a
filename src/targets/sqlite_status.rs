//! SQLite's own figures of a connection, which only its C interface tells.

use std::os::raw::c_int;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rusqlite::{Connection, ffi};

use super::reading::{Figure, Reading};
use crate::engine::Counters;
use crate::plan::counters::CounterChoice;

/// A loading connection, shared between its session and the table that reads its figures between batches.
pub type SharedConnection = Arc<Mutex<Connection>>;

/// What there is to read, and whether it goes up and down.
const FIGURES: [(&str, c_int, bool); 7] = [
    ("sqlite_cache_hit", ffi::SQLITE_DBSTATUS_CACHE_HIT, false),
    ("sqlite_cache_miss", ffi::SQLITE_DBSTATUS_CACHE_MISS, false),
    ("sqlite_cache_write", ffi::SQLITE_DBSTATUS_CACHE_WRITE, false),
    ("sqlite_cache_spill", ffi::SQLITE_DBSTATUS_CACHE_SPILL, false),
    ("sqlite_cache_used_bytes", ffi::SQLITE_DBSTATUS_CACHE_USED, true),
    ("sqlite_schema_used_bytes", ffi::SQLITE_DBSTATUS_SCHEMA_USED, true),
    ("sqlite_statements_used_bytes", ffi::SQLITE_DBSTATUS_STMT_USED, true),
];

/// The figures of all loading connections together, and the size of the WAL.
pub fn read(connections: &[Weak<Mutex<Connection>>], file: &Path, wanted: &Counters, choice: CounterChoice) -> Reading {
    let is_wanted = |name: &str| {
        choice == CounterChoice::All || wanted.totals.iter().chain(&wanted.levels).any(|known| known == name)
    };
    let mut reading = Reading::new();
    if choice == CounterChoice::None {
        return reading;
    }
    let open: Vec<SharedConnection> = connections.iter().filter_map(Weak::upgrade).collect();
    for (name, what, level) in FIGURES.into_iter().filter(|(name, ..)| is_wanted(name)) {
        let sum: Option<f64> = open
            .iter()
            .map(|conn| status(&conn.lock().unwrap_or_else(PoisonError::into_inner), what).map(|value| value as f64))
            .sum();
        if let Some(sum) = sum.filter(|_| !open.is_empty()) {
            reading.insert(name.into(), if level { Figure::Level(sum) } else { Figure::Total(sum) });
        }
    }
    let wal = "sqlite_wal_bytes";
    if is_wanted(wal)
        && let Some(bytes) = wal_bytes(file)
    {
        reading.insert(wal.into(), Figure::Level(bytes as f64));
    }
    reading
}

fn wal_bytes(file: &Path) -> Option<u64> {
    let mut name = file.as_os_str().to_owned();
    name.push("-wal");
    Some(std::fs::metadata(Path::new(&name)).ok()?.len())
}

#[allow(unsafe_code)]
fn status(conn: &Connection, what: c_int) -> Option<i64> {
    let (mut current, mut highest): (c_int, c_int) = (0, 0);
    // SAFETY: the handle is open for as long as `conn` is borrowed, nobody else uses it meanwhile (it is behind a lock),
    // and both pointers are to live integers.
    let code = unsafe { ffi::sqlite3_db_status(conn.handle(), what, &mut current, &mut highest, 0) };
    // The counts are 32 bits wide in this call: one that has wrapped is lower than before, and the caller takes that for unknown.
    (code == ffi::SQLITE_OK).then_some(i64::from(current))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineTable;

    #[test]
    fn a_cache_that_is_too_small_misses_and_spills() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("t.sqlite");
        let conn = Connection::open(&file).unwrap();
        conn.execute_batch("PRAGMA journal_mode=WAL; PRAGMA cache_size=10; CREATE TABLE t (a BLOB);").unwrap();
        let conn = Arc::new(Mutex::new(conn));
        let (_, engine) = EngineTable::built_in().resolve("sqlite");
        let figures = |choice| read(&[Arc::downgrade(&conn)], &file, &engine.counters, choice);
        let before = figures(CounterChoice::Default);
        conn.lock()
            .unwrap()
            .execute_batch(
                "INSERT INTO t SELECT randomblob(3000) FROM (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c \
                 LIMIT 500) SELECT x FROM c); SELECT count(*), sum(length(a)) FROM t;",
            )
            .unwrap();
        let after = figures(CounterChoice::Default);
        let total = |reading: &Reading, name: &str| match reading[name] {
            Figure::Total(value) => value,
            Figure::Level(_) => panic!("{name} is a count"),
        };
        for name in ["sqlite_cache_miss", "sqlite_cache_write", "sqlite_cache_spill"] {
            assert!(total(&after, name) > total(&before, name) + 100.0, "{name}: {before:?} {after:?}");
        }
        assert!(matches!(after["sqlite_wal_bytes"], Figure::Level(bytes) if bytes > 1e6), "{after:?}");
        assert!(figures(CounterChoice::All).len() > after.len());
        assert!(figures(CounterChoice::None).is_empty());
        // A connection that is gone has no figures.
        drop(conn);
        assert!(
            !read(&[Weak::new()], &file, &engine.counters, CounterChoice::Default).contains_key("sqlite_cache_miss")
        );
    }
}
