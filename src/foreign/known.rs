//! Formats that are known without being described: what sysbench, mysqlslap, iibench and the loaders of tsbs print, and those of
//! [`loaders`].
//!
//! Sources: sysbench's `sysbench.report_default` and `sysbench.report_csv` (and the interval line of version 0.5), the `--csv` option
//! in the manual of mysqlslap, the legend that iibench prints, the header that tsbs loaders print.

use super::loaders;
use super::table::{Line, Table};
use super::{Cumulative, ForeignOptions, Unit};

/// As `x`: there is no column, lines are counted.
pub const LINES: &str = "\u{0}lines";

/// A file of a known format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its lines of data.
    pub table: Table,
    /// What it means, completed by what the user said.
    pub options: ForeignOptions,
    /// What it was taken for, for people.
    pub note: String,
}

/// Recognises a known format by its first lines of data. What the user says comes before what is known.
pub fn recognise(text: &str, said: &ForeignOptions) -> Option<Known> {
    if said.delimiter.is_some() {
        return None;
    }
    let tables = [
        sysbench_lines,
        sysbench_csv,
        mysqlslap,
        iibench,
        iibench_today,
        tsbs,
        loaders::ycsb,
        loaders::go_ycsb,
        loaders::parallel_copy,
        loaders::pgbench,
    ];
    let mut known = tables.into_iter().find_map(|table| table(text))?;
    let own = known.options;
    known.options = ForeignOptions {
        x: said.x.clone().or(own.x),
        y: if said.y.is_empty() { own.y } else { said.y.clone() },
        unit: said.unit.or(own.unit.filter(|_| said.y.is_empty())),
        // Of other columns than the known ones their names tell.
        cumulative: said.cumulative.or(own.cumulative.filter(|_| said.y.is_empty())),
        ..said.clone()
    };
    known.table.decimal_given = true;
    known.options.decimal = said.decimal.or(Some(super::Decimal::Point));
    Some(known)
}

/// A table of a known format; `None` without lines.
pub fn known(header: &[&str], lines: Vec<Line>, (x, y, unit): (&str, &str, Unit), note: &str) -> Option<Known> {
    if lines.is_empty() {
        return None;
    }
    let table = Table { header: header.iter().map(|name| (*name).to_owned()).collect(), lines, decimal_given: true };
    let options = ForeignOptions {
        x: Some(x.to_owned()),
        y: vec![y.to_owned()],
        unit: Some(unit),
        cumulative: Some(Cumulative::No),
        ..ForeignOptions::default()
    };
    Some(Known { table, options, note: note.to_owned() })
}

/// Lines that are not empty, with their numbers.
pub fn numbered(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty())
}

/// Whether it is written as programs write numbers.
pub fn is_number(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok()
}

/// Time, rows and transactions of an interval.
pub const SYSBENCH_HEADER: [&str; 3] = ["time", "writes/s", "tps"];

const SYSBENCH_NOTE: &str = "sysbench's intervals: rows are taken as one for each write, and the table as empty at the start \
     (--rows-per-batch N when a write has N rows); its size is the sum over the intervals";

/// `[ 10s ] thds: 8 tps: 1391.20 qps: 1391.20 (r/w/o: 0.00/1391.20/0.00) lat (ms,95%): 8.13 err/s: 0.00 reconn/s: 0.00`,
/// or `[  10s] threads: 8, tps: 1391.20, reads/s: 0.00, writes/s: 1391.20, response time: 8.13ms (95%)`.
fn sysbench_lines(text: &str) -> Option<Known> {
    let lines = numbered(text).filter_map(|(number, line)| {
        let (seconds, rest) = line.trim().strip_prefix('[')?.split_once("s")?;
        let rest = rest.trim_start().strip_prefix(']')?;
        let tps = rest.split_once("tps:")?.1.split_whitespace().next()?.trim_end_matches(',');
        let writes = match rest.split_once("writes/s:") {
            Some((_, writes)) => writes.split_whitespace().next()?.trim_end_matches(','),
            None => rest.split_once("(r/w/o:").and_then(|(_, kinds)| kinds.trim().split('/').nth(1)).unwrap_or(tps),
        };
        let cells = [seconds.trim(), writes, tps].map(str::to_owned).to_vec();
        is_number(&cells[0]).then_some(Line { number, cells })
    });
    known(&SYSBENCH_HEADER, lines.collect(), ("time", "writes/s", Unit::RowsPerSecond), SYSBENCH_NOTE)
}

/// Ten figures without a header: time, threads, tps, qps, reads, writes, other, latency, errors, reconnects.
fn sysbench_csv(text: &str) -> Option<Known> {
    let header = ["time", "threads", "tps", "qps", "reads/s", "writes/s", "other/s", "latency_ms", "err/s", "reconn/s"];
    let lines: Vec<Line> = numbered(text)
        .filter_map(|(number, line)| {
            let cells: Vec<String> = line.split(',').map(|cell| cell.trim().to_owned()).collect();
            (cells.len() == header.len() && cells.iter().all(|cell| is_number(cell))).then_some(Line { number, cells })
        })
        .collect();
    // qps is the sum of its parts: no other file of ten figures has that by chance in its first line.
    let figures: Vec<f64> = lines.first()?.cells.iter().filter_map(|cell| cell.parse().ok()).collect();
    let sum: f64 = figures.get(4..7)?.iter().sum();
    let first_is_data = numbered(text)
        .next()
        .is_some_and(|(number, line)| Some(number) == lines.first().map(|line| line.number) || !line.contains(','));
    if !first_is_data || (figures[3] - sum).abs() > 0.05 + figures[3].abs() * 1e-3 {
        return None;
    }
    known(&header, lines, ("time", "writes/s", Unit::RowsPerSecond), SYSBENCH_NOTE)
}

/// Seven fields without a header: engine, load type, average, minimum and maximum seconds, clients, queries of each.
fn mysqlslap(text: &str) -> Option<Known> {
    let header = ["engine", "load", "seconds", "seconds_min", "seconds_max", "clients", "queries_per_client"];
    let fields = |line: &str| -> Option<Vec<String>> {
        let cells: Vec<String> = line.split(',').map(|cell| cell.trim().to_owned()).collect();
        let load = ["mixed", "write", "read", "key", "update"].contains(&cells.get(1)?.as_str());
        // A trailing comma stands in some versions.
        (load && (7..=8).contains(&cells.len()) && cells[2..7].iter().all(|cell| is_number(cell))).then_some(cells)
    };
    let lines: Vec<Line> = numbered(text)
        .filter_map(|(number, line)| fields(line).map(|cells| Line { number, cells: cells[..7].to_vec() }))
        .collect();
    let note = "mysqlslap's CSV: each line is taken as one batch into the same table, its time as the average of its iterations";
    known(&header, lines, (LINES, "seconds", Unit::Seconds), note)
}

/// `#rows #seconds cum_ips table_size last_ips ...` and its relatives, separated by white space.
fn iibench(text: &str) -> Option<Known> {
    let (at, header) = numbered(text).find_map(|(number, line)| {
        let names: Vec<&str> = line.split_whitespace().map(|word| word.trim_start_matches('#')).collect();
        let rate = names.iter().any(|name| ["last_ips", "int_ips", "i_ips"].contains(name));
        let rows = names.iter().any(|name| ["rows", "table_size", "tot_inserts"].contains(name));
        (rate && rows && !line.contains(',')).then_some((number, names))
    })?;
    let lines = numbered(text).filter(|&(number, _)| number > at).filter_map(|(number, line)| {
        // Some versions print more figures than names.
        let cells: Vec<String> = line.split_whitespace().take(header.len()).map(str::to_owned).collect();
        cells.first().is_some_and(|cell| is_number(cell)).then_some(Line { number, cells })
    });
    let lines: Vec<Line> = lines.filter(|line| line.cells.len() == header.len()).collect();
    let x = ["table_size", "rows", "tot_inserts"].into_iter().find(|name| header.contains(name))?;
    let y = ["last_ips", "int_ips", "i_ips"].into_iter().find(|name| header.contains(name))?;
    let note = format!("iibench's table: {x} is the size of the table, {y} the speed of each interval");
    known(&header, lines, (x, y, Unit::RowsPerSecond), &note)
}

/// `i_sec t_sec i_ips t_ips ... t_ins t_del ...`: the size is what was inserted less what was deleted, `t_` are totals.
fn iibench_today(text: &str) -> Option<Known> {
    let (at, mut header) = numbered(text).find_map(|(number, line)| {
        let names: Vec<&str> = line.split_whitespace().map(|word| word.trim_start_matches('#')).collect();
        (["i_ips", "t_ins", "t_del"].iter().all(|name| names.contains(name)) && !line.contains(','))
            .then_some((number, names))
    })?;
    let place = |wanted| header.iter().position(|name| *name == wanted);
    let (inserted, deleted) = (place("t_ins")?, place("t_del")?);
    let lines: Vec<Line> = numbered(text)
        .filter(|&(number, _)| number > at)
        .filter_map(|(number, line)| {
            let mut cells: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let figures = cells.len() == header.len() && cells.iter().all(|cell| is_number(cell));
            let count = |at: usize| cells.get(at)?.parse::<i64>().ok();
            let size = count(inserted)?.checked_sub(count(deleted)?)?;
            cells.push(size.to_string());
            figures.then_some(Line { number, cells })
        })
        .collect();
    header.push(IIBENCH_SIZE);
    let note = "iibench's table: t_ins less t_del is the size of the table, i_ips the speed of each interval";
    known(&header, lines, (IIBENCH_SIZE, "i_ips", Unit::RowsPerSecond), note)
}

const IIBENCH_SIZE: &str = "t_ins - t_del";

/// `time,per. metric/s,metric total,overall metric/s,per. row/s,row total,overall row/s`.
fn tsbs(text: &str) -> Option<Known> {
    let (at, header) = numbered(text).find_map(|(number, line)| {
        let names: Vec<&str> = line.split(',').map(str::trim).collect();
        (names.contains(&"per. row/s") && names.contains(&"row total")).then_some((number, names))
    })?;
    let lines = numbered(text).filter(|&(number, _)| number > at).filter_map(|(number, line)| {
        let cells: Vec<String> = line.split(',').map(|cell| cell.trim().to_owned()).collect();
        (cells.len() == header.len() && cells.iter().any(|cell| is_number(cell))).then_some(Line { number, cells })
    });
    let note = "tsbs' output: row total is the size of the table, per. row/s the speed of each interval";
    known(&header, lines.collect(), ("row total", "per. row/s", Unit::RowsPerSecond), note)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Known> {
        recognise(text, &ForeignOptions::default())
    }

    #[test]
    fn sysbench_prints_two_kinds_of_interval_lines() {
        let new = "sysbench 1.0.20\nThreads started!\n\n\
            [ 10s ] thds: 8 tps: 1391.20 qps: 2782.40 (r/w/o: 0.00/1391.20/1391.20) lat (ms,95%): 8.13 err/s: 0.00 reconn/s: 0.00\n\
            [ 20s ] thds: 8 tps: 1200.00 qps: 2400.00 (r/w/o: 0.00/1200.00/1200.00) lat (ms,95%): 8.13 err/s: 0.00 reconn/s: 0.00\n";
        let old = "[  10s] threads: 8, tps: 1391.20, reads/s: 0.00, writes/s: 1391.20, response time: 8.13ms (95%)\n";
        assert_eq!(
            of(new).unwrap().table.lines[0],
            Line { number: 4, cells: ["10", "1391.20", "1391.20"].map(str::to_owned).to_vec() }
        );
        assert_eq!(of(old).unwrap().table.lines[0].cells, ["10", "1391.20", "1391.20"]);
    }

    #[test]
    fn csv_without_a_header_is_known_by_its_figures() {
        let sysbench =
            "10,8,1391.20,2782.40,0.00,1391.20,1391.20,8.13,0.00,0.00\n20,8,1.0,2.0,0.0,1.0,1.0,8.1,0.0,0.0\n";
        assert_eq!(of(sysbench).unwrap().options.y, ["writes/s"]);
        let slap = "innodb,write,0.123,0.100,0.150,8,125\n,mixed,0.200,0.100,0.250,8,125\n";
        let known = of(slap).unwrap();
        assert_eq!((known.table.lines.len(), known.options.x.as_deref()), (2, Some(LINES)));
        assert_eq!(of("1,2,3,4,5,6,7,8,9,10\n"), None);
        assert_eq!(of("a,b\n1,2\n"), None);
    }

    #[test]
    fn tables_of_iibench_and_tsbs_are_known_by_their_headers() {
        let iibench = "#rows #seconds cum_ips table_size last_ips #queries cum_qps last_qps\n\
            1000000 895 1118 1000000 1118 5990 5990 7 7\n2000000 1897 1054 2000000 998 53488 47498 28 47\nDone\n";
        let known = of(iibench).unwrap();
        assert_eq!((known.options.x.as_deref(), known.table.lines.len()), (Some("table_size"), 2));
        let mongo = "tot_inserts\telap_secs\tcum_ips\tint_ips\tcum_qry_avg\tint_qry_avg\n100\t1\t100\t100\t0\t0\n";
        assert_eq!(of(mongo).unwrap().options.y, ["int_ips"]);
        let tsbs = "time,per. metric/s,metric total,overall metric/s,per. row/s,row total,overall row/s\n\
            1653323346,4259278.42,4.26E+07,4259278.42,425927.84,4.26E+06,425927.84\n\nSummary:\nloaded 1 metrics\n";
        assert_eq!(of(tsbs).unwrap().table.lines.len(), 1);
    }

    #[test]
    fn what_is_said_comes_before_what_is_known() {
        let tsbs = "time,per. metric/s,row total,per. row/s,overall row/s\n1,2,3,4,5\n";
        let said = ForeignOptions { y: vec!["overall row/s".into()], ..ForeignOptions::default() };
        assert_eq!(recognise(tsbs, &said).unwrap().options.y, ["overall row/s"]);
    }
}
