//! Files of other programs, second collection: status lines of loaders, repeats, columns that count, and what is no table.

use std::path::Path;

use proptest::prelude::*;
use rowcliff::foreign::{Cumulative, Foreign, ForeignOptions, Refused, Unit, read};

fn of_bytes(content: &[u8], options: &ForeignOptions) -> Result<Foreign, Refused> {
    read(content, Path::new("f.csv"), options)
}

fn of(content: &str, options: &ForeignOptions) -> Result<Foreign, Refused> {
    of_bytes(content.as_bytes(), options)
}

fn plain(content: &str) -> Result<Foreign, Refused> {
    of(content, &ForeignOptions::default())
}

fn of_file(name: &str, options: &ForeignOptions) -> Result<Foreign, Refused> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign").join(name);
    of_bytes(&std::fs::read(path).unwrap(), options)
}

fn said(x: &str, y: &str, rows: Option<u64>) -> ForeignOptions {
    let y = if y.is_empty() { vec![] } else { vec![y.to_owned()] };
    ForeignOptions { x: Some(x.into()), y, rows_per_batch: rows, ..ForeignOptions::default() }
}

/// Table size, rows, rows per second.
fn speeds(read: &Foreign) -> Vec<(u64, u64, u64)> {
    let speed = |seconds: f64, rows: u64| (rows as f64 / seconds).round() as u64;
    read.samples.iter().map(|one| (one.table_rows, one.rows, speed(one.seconds, one.rows))).collect()
}

fn curves(read: &Foreign) -> Vec<&str> {
    let mut names: Vec<&str> = read.samples.iter().map(|sample| sample.curve.as_str()).collect();
    names.dedup();
    names
}

#[test]
fn t01_the_iibench_of_today_has_its_size_in_two_columns_and_its_totals_are_no_figures() {
    let read = of_file("t01_iibench_today.tsv", &ForeignOptions::default()).unwrap();
    let found = speeds(&read);
    assert_eq!((curves(&read), found.len(), read.problems.len()), (vec!["i_ips"], 24, 0));
    assert_eq!((found[0], found[23].0, found[23].2), ((612_200, 612_200, 61_220), 11_059_500, 9050));
    // By the inserts alone, only what is of an interval is drawn.
    let read = of_file("t01_iibench_today.tsv", &said("t_ins", "", None)).unwrap();
    assert_eq!(curves(&read), ["i_ips"]);
    let text = "i_sec t_sec i_ips t_ips t_ins t_del\n10 10 5 5 100 20\n10 20 6 5 300 60\n";
    assert_eq!(speeds(&plain(text).unwrap()), [(80, 80, 5), (240, 160, 6)]);
    // As a CSV file, where nothing is known but the names.
    let comma = text.replace(' ', ",");
    let read = of(&comma, &said("t_ins", "", None)).unwrap();
    assert_eq!(curves(&read).iter().filter(|name| name.starts_with("t_")).count(), 0);
    // A table that is emptied as fast as it is filled has no curve over its size.
    let kept = format!("i_sec t_sec i_ips t_ips t_ins t_del\n{}", "10 10 5 5 100 20\n10 10 6 5 200 120\n".repeat(4));
    assert!(plain(&kept).unwrap_err().to_string().contains("keeps its size"));
}

#[test]
fn t03_what_counts_batches_is_known_by_its_figures() {
    let read = of_file("t03_copy_hourly.csv", &said("hour", "seconds_full", Some(1_038_240))).unwrap();
    let sizes: Vec<u64> = read.samples.iter().map(|sample| sample.table_rows).collect();
    assert_eq!((sizes.len(), sizes[0], sizes[39]), (40, 1_038_240, 41_529_600));
    let refused = of_file("t03_copy_hourly.csv", &said("hour", "seconds_full", None)).unwrap_err().to_string();
    assert!(refused.contains("--rows-per-batch"), "{refused}");
    let million = ForeignOptions { rows_per_batch: Some(1_000_000), ..ForeignOptions::default() };
    let read = of_file("t03_batch_from_zero.csv", &million).unwrap();
    assert_eq!((read.samples[0].table_rows, read.samples[19].table_rows), (1_000_000, 20_000_000));
    for name in ["batch_id", "chunk", "file", "day", "step", "run", "index", "id", "seq", "part", "load_nr", "was auch"]
    {
        for first in [0, 1] {
            let lines: String = (first..first + 8).map(|at| format!("{at},5.0{at}\n")).collect();
            let read = of(&format!("{name},seconds\n{lines}"), &said(name, "seconds", Some(1_000_000))).unwrap();
            let sizes: Vec<u64> = read.samples.iter().map(|sample| sample.table_rows / 1_000_000).collect();
            assert_eq!(sizes, (1..=8).collect::<Vec<u64>>(), "{name} from {first}");
        }
    }
    // Sizes that contradict what was said.
    let lines: String = (1..9).map(|at| format!("{at}000,5.0{at}\n")).collect();
    let refused = of(&format!("rows_total,seconds\n{lines}"), &million).unwrap_err().to_string();
    assert!(refused.contains("lie 1000 apart"), "{refused}");
    // Lines that leave out batches do not.
    let lines: String = (1..9).map(|at| format!("{at}000000,5.0{at}\n")).collect();
    let tenth = ForeignOptions { rows_per_batch: Some(100_000), ..ForeignOptions::default() };
    assert_eq!(of(&format!("rows_total,seconds\n{lines}"), &tenth).unwrap().samples[3].rows, 100_000);
}

#[test]
fn t04_several_figures_of_one_size_are_repeats() {
    let no = ForeignOptions { cumulative: Some(Cumulative::No), ..ForeignOptions::default() };
    let read = of_file("t04_three_runs_appended.csv", &no).unwrap();
    assert_eq!((read.samples.len(), read.problems.len()), (14, 0));
    assert!(read.samples.iter().take(7).all(|sample| sample.seconds == 4.0), "{:?}", speeds(&read));
    assert!(read.notes.iter().any(|note| note.contains("14 sizes") && note.contains("median")), "{:?}", read.notes);
    // `method` tells curves apart as `series` does, and the other column of words is offered.
    let read = of_file("t04_insert_repeats.csv", &said("num_rows", "seconds", None)).unwrap();
    assert_eq!(read.problems.len(), 0);
    assert!(
        read.notes.iter().any(|note| note.contains("--series") && note.contains("\"table_type\"")),
        "{:?}",
        read.notes
    );
    let both =
        ForeignOptions { series: vec!["method".into(), "table_type".into()], ..said("num_rows", "seconds", None) };
    assert!(
        curves(&of_file("t04_insert_repeats.csv", &both).unwrap()).iter().any(|name| name.starts_with("pandas hyper"))
    );
    for name in ["engine", "method", "run"] {
        let text = format!("{name},rows_total,seconds\n1,1000,5\n1,2000,6\n2,1000,7\n2,2000,8\n");
        assert_eq!(curves(&plain(&text).unwrap()), [format!("{name} 1"), format!("{name} 2")]);
    }
    // Identical lines are repeated lines; totals that begin again are two runs.
    let twice = plain("rows_total,seconds\n1000,5\n2000,6\n2000,6\n").unwrap();
    assert_eq!((twice.samples.len(), twice.problems[0].line), (2, 4));
    let totals = "rows_total,total seconds\n10,1\n20,2\n30,3\n10,2\n20,4\n30,6\n";
    let refused = of(totals, &said("rows_total", "total seconds", None)).unwrap_err().to_string();
    assert!(refused.contains("f.csv:5") && refused.contains("several runs"), "{refused}");
}

#[test]
fn t05_status_lines_have_total_rows_and_an_interval() {
    let read = of_file("t05_ycsb_status.log", &ForeignOptions::default()).unwrap();
    let found = speeds(&read);
    assert_eq!((found[1].0, found[1].1, found[1].2), (938_677, 36_662, 3666));
    // The mean since the start is no speed: 210,629 rows in the second ten seconds.
    let read = of_file("t05_go_ycsb.log", &ForeignOptions::default()).unwrap();
    assert_eq!(speeds(&read), [(301_782, 301_782, 30_178), (512_411, 210_629, 21_063), (565_454, 53_043, 5304)]);
    let read = of_file("t02_parallel_copy.log", &ForeignOptions::default()).unwrap();
    let found = speeds(&read);
    assert_eq!((found.len(), found[1], found[53].2), (54, (3_750_000, 1_640_000, 163_997), 205_001));
    let pgbench = "pgbench (15)\nprogress: 10.0 s, 100.0 tps, lat 5.7 ms stddev 1\nprogress: 20.0 s, 50.0 tps, lat 9 ms stddev 1\n";
    let rows = ForeignOptions { rows_per_batch: Some(10), ..ForeignOptions::default() };
    assert_eq!(speeds(&of(pgbench, &rows).unwrap()), [(10_000, 10_000, 1000), (15_000, 5000, 500)]);
}

#[test]
fn a_log_that_is_not_known_is_called_that() {
    let tpcc = "MEASURING START.\n\n  10, trx: 12920, 95%: 9.483, 99%: 18.738, max_rt: 213.169, 12919|98.778, 1292|101.096\n\
        \x20 20, trx: 12666, 95%: 7.074, 99%: 15.578, max_rt: 53.733, 12668|50.420, 1267|35.846\n";
    let hammer =
        "Vuser 1:RUNNING\nVuser 1:Loading Item - 10000\nVuser 1:Loading Item - 20000\nVuser 1:Loading Item - 30000\n";
    let ycsb_reads = "2019-08-17 16:49:18:664 10 sec: 100 operations; 10 current ops/sec; [READ: Count=5]\n".repeat(4);
    let slap = "Benchmark\n\tAverage number of seconds to run all queries: 0.123 seconds\n\tMinimum number of seconds: 0.1 seconds\n";
    for log in [tpcc, hammer, &ycsb_reads, slap] {
        let refused = plain(log).unwrap_err().to_string();
        assert!(refused.contains("this is a log, not a table of figures") && refused.contains("sysbench"), "{refused}");
        assert!(!refused.contains("columns are"), "{refused}");
    }
    assert!(plain("{\"rows\": [1, 2]}\n").unwrap_err().to_string().contains("no table"));
    assert!(
        of_bytes(b"SQLite format 3\0a,b\n", &ForeignOptions::default()).unwrap_err().to_string().contains("no text")
    );
}

#[test]
fn files_of_spreadsheets_are_read() {
    let commas = "rows_total\tseconds\tversion\n1.000.000\t5,01\t8.0.36\n2.000.000\t5,13\t8.0.36\n";
    let expected = [(1_000_000, 1_000_000, 199_601), (2_000_000, 1_000_000, 194_932)];
    let utf16: Vec<u8> = [0xFEFF_u16].into_iter().chain(commas.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let forms = [
        commas.as_bytes().to_vec(),
        utf16,
        format!("sep=;\r\n{}", commas.replace('\t', ";").replace('\n', "\r\n")).into_bytes(),
        format!("\u{feff}{}", commas.replace('.', "\u{a0}")).into_bytes(),
        commas.replace('.', "'").into_bytes(),
        commas.replace('\n', "\r").into_bytes(),
    ];
    for form in forms {
        assert_eq!(
            speeds(&of_bytes(&form, &ForeignOptions::default()).unwrap()),
            expected,
            "{:?}",
            String::from_utf8_lossy(&form)
        );
    }
    assert!(plain("rows_total\tseconds\n1000000\t1,234\n2000000\t1,235\n").is_err(), "in two ways");
    // Sizes in thousands and millions, by the name of their column.
    for (name, size) in [("rows_total (k)", 1000), ("rows (millions)", 1_000_000), ("rows in table [M]", 1_000_000)] {
        let read = of(&format!("{name},seconds\n1,5.0\n2,5.1\n3,5.3\n"), &said(name, "seconds", None)).unwrap();
        assert_eq!(
            read.samples.iter().map(|one| (one.table_rows, one.rows)).collect::<Vec<_>>(),
            [1, 2, 3].map(|at| (at * size, size))
        );
    }
    // Not every speed is one of rows.
    assert_eq!(
        curves(&plain("rows_total,rows/s,MB/s,reads/s,krows/s\n1000,5,6,7,8\n2000,5,6,7,8\n").unwrap()),
        ["rows/s"]
    );
}

#[test]
fn a_last_line_without_its_end_is_used_when_what_is_needed_is_whole() {
    let read = plain("rows_total,seconds,note\n1000,5.0,a\n2000,6.0,b").unwrap();
    assert_eq!((read.samples.len(), read.problems.len()), (2, 0));
    for cut in ["rows_total,note,seconds\n1000,a,5.0\n2000,b,6.0", "rows_total,seconds,note\n1000,5.0,a\n2000,6."] {
        let read = plain(cut).unwrap();
        assert_eq!((read.samples.len(), read.problems[0].line), (1, 3), "{cut}");
        assert!(read.problems[0].why.contains("cut"));
    }
}

#[test]
fn times_are_no_rows_and_zeros_at_the_end_no_stall() {
    for name in ["seconds", "elapsed", "t", "ts", "uptime_ms", "hours"] {
        let text = format!("{name},rows_per_s\n10,500\n20,400\n30,300\n");
        let read = of(&text, &said(name, "rows_per_s", None)).unwrap();
        assert!(read.samples[0].table_rows != 10, "{name}: {:?}", speeds(&read));
        let text = format!("{name},batch_ms\n10,500\n20,400\n30,300\n");
        assert!(of(&text, &said(name, "batch_ms", None)).unwrap_err().to_string().contains("is a time"), "{name}");
    }
    let epoch = "when,batch_ms\n1653323346,500\n1653323356,400\n1653323366,300\n";
    assert!(of(epoch, &said("when", "batch_ms", None)).unwrap_err().to_string().contains("is a time"));
    let dates = "when,batch_ms\n2024-01-01 10:00:00,500\n2024-01-01 10:00:10,400\n";
    assert!(of(dates, &said("when", "batch_ms", None)).unwrap_err().to_string().contains("holds times"));
    let read = plain("rows_total,rows/s\n1000,500\n2000,400\n2000,0\n2000,0\n2000,0\n").unwrap();
    assert_eq!((read.samples.len(), read.problems.len()), (2, 0));
    assert!(read.notes.iter().any(|note| note.contains("the run ended at 2000")), "{:?}", read.notes);
    let seconds = plain("rows_total,seconds\n1000,5\n2000,1653323346\n3000,6\n").unwrap();
    assert_eq!((seconds.samples.len(), seconds.problems[0].line), (2, 3));
    for (unit, seconds) in [(Unit::Minutes, 120.0), (Unit::Hours, 7200.0), (Unit::Microseconds, 2e-6)] {
        let unit = ForeignOptions { unit: Some(unit), ..said("rows_total", "took", None) };
        assert_eq!(of("rows_total,took\n1000,2\n2000,2.5\n", &unit).unwrap().samples[0].seconds, seconds);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = of_bytes(&bytes, &ForeignOptions::default());
    }

    #[test]
    fn no_file_of_figures_makes_it_panic(
        text in "(rows_total|batch|time|t_ins|series|run)[,;\t](seconds|ms|rows/s|total)(\r?\n|\n)([0-9]{1,7}[,;\t][-0-9.,eNa ]{0,8}[\n,]){0,20}[0-9,;]{0,5}",
        rows in proptest::option::of(1_u64..2_000_000),
        x in proptest::option::of("1|2"),
    ) {
        let _ = of(&text, &ForeignOptions { rows_per_batch: rows, x, ..ForeignOptions::default() });
    }

    /// Of a file without repeats, each figure stands in the file, in its place.
    #[test]
    fn every_figure_stands_in_the_file(
        figures in proptest::collection::vec(1_u32..1_000_000, 3..30),
        sign in proptest::sample::select(vec![',', ';', '\t', '|']),
    ) {
        let mut text = format!("rows_total{sign}batch_ms\n");
        for (at, figure) in (1..).zip(&figures) {
            text += &format!("{}{sign}{figure}\n", at * 1000);
        }
        let read = plain(&text).unwrap();
        let found: Vec<(u64, u32)> =
            read.samples.iter().map(|sample| (sample.table_rows, (sample.seconds * 1e3).round() as u32)).collect();
        let expected: Vec<(u64, u32)> = (1..).zip(&figures).map(|(at, figure)| (at * 1000, *figure)).collect();
        prop_assert_eq!(found, expected);
    }
}
