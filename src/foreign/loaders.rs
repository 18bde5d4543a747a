//! Status lines that other loaders print: YCSB, go-ycsb, timescaledb-parallel-copy, pgbench.
//!
//! Sources: the status thread of YCSB's client, `measurement.Output` of go-ycsb, the report of timescaledb-parallel-copy, pgbench's
//! `--progress`.

use super::known::{Known, SYSBENCH_HEADER, is_number, known, numbered};
use super::table::Line;
use super::{Cumulative, Unit};

/// `2019-08-17 16:58:38:664 570 sec: 902015 operations; 3504.4 current ops/sec; ... [INSERT: Count=...]`, of a load only: in other
/// phases an operation is no row.
pub fn ycsb(text: &str) -> Option<Known> {
    let lines = numbered(text).filter(|(_, line)| line.contains(" sec: ") && line.contains(" operations;"));
    let lines: Vec<(u64, &str)> = lines.collect();
    if lines
        .iter()
        .any(|(_, line)| ["[READ", "[UPDATE", "[SCAN", "[READ-MODIFY"].iter().any(|kind| line.contains(kind)))
    {
        return None;
    }
    let cells = lines.into_iter().filter_map(|(number, line)| {
        let (before, after) = line.split_once(" sec: ")?;
        let seconds = before.split_whitespace().next_back()?;
        let rows = after.split_once(" operations;")?.0;
        // Printed with the decimal sign of the machine's language and without thousands.
        let speed = after.split_once(" current ops/sec")?.0.rsplit(' ').next()?.replace(',', ".");
        let cells = vec![seconds.to_owned(), rows.to_owned(), speed];
        cells.iter().all(|cell| is_number(cell)).then_some(Line { number, cells })
    });
    let note = "YCSB's status lines: operations are taken as rows, and the table as empty at the start; the speed is of each interval";
    known(
        &["seconds", "operations", "current ops/sec"],
        cells.collect(),
        ("operations", "current ops/sec", Unit::RowsPerSecond),
        note,
    )
}

/// `INSERT - Takes(s): 10.0, Count: 301782, OPS: 30173.7, ...`: all of it since the start, OPS as well.
pub fn go_ycsb(text: &str) -> Option<Known> {
    let cells = numbered(text).filter_map(|(number, line)| {
        let rest = line.split_once("INSERT - Takes(s): ").filter(|(before, _)| !before.ends_with('_'))?.1;
        let (seconds, rest) = rest.split_once(", Count: ")?;
        let cells = vec![seconds.to_owned(), rest.split_once(',')?.0.trim().to_owned()];
        cells.iter().all(|cell| is_number(cell)).then_some(Line { number, cells })
    });
    let note = "go-ycsb's lines: Count is taken as the rows in a table that was empty at the start, and its seconds are since the start (its OPS is a mean since the start and is not read)";
    let mut known = known(&["Takes(s)", "Count"], cells.collect(), ("Count", "Takes(s)", Unit::Seconds), note)?;
    known.options.cumulative = Some(Cumulative::Running);
    Some(known)
}

/// `at 1m10s, row rate 115006.20/sec (period), row rate 127428.29/sec (overall), 8.920000E+06 total rows`.
pub fn parallel_copy(text: &str) -> Option<Known> {
    let cells = numbered(text).filter_map(|(number, line)| {
        let (speed, rest) = line.split_once("row rate ")?.1.split_once("/sec (period)")?;
        let total = rest.split_once(" total rows")?.0.rsplit([' ', ',']).next()?;
        let cells = vec![total.to_owned(), speed.to_owned()];
        cells.iter().all(|cell| is_number(cell)).then_some(Line { number, cells })
    });
    let note = "timescaledb-parallel-copy's lines: its total rows are the size of the table, its period rate the speed of each interval";
    known(
        &["total rows", "row rate (period)"],
        cells.collect(),
        ("total rows", "row rate (period)", Unit::RowsPerSecond),
        note,
    )
}

/// `progress: 10.0 s, 1391.2 tps, lat 5.7 ms stddev 1.2`.
pub fn pgbench(text: &str) -> Option<Known> {
    let cells = numbered(text).filter_map(|(number, line)| {
        let (seconds, rest) = line.trim().strip_prefix("progress: ")?.split_once(" s, ")?;
        let tps = rest.split_once(" tps")?.0;
        let cells = vec![seconds.to_owned(), tps.to_owned(), tps.to_owned()];
        cells.iter().all(|cell| is_number(cell)).then_some(Line { number, cells })
    });
    let note = "pgbench's progress: rows are taken as one for each transaction, and the table as empty at the start \
         (--rows-per-batch N when a transaction has N rows); its size is the sum over the intervals";
    known(&SYSBENCH_HEADER, cells.collect(), ("time", "tps", Unit::RowsPerSecond), note)
}
