//! Files that rowcliff did not write: situations of others, each with the right reading.

use std::path::{Path, PathBuf};

use rowcliff::error::exit;
use rowcliff::foreign::{Cumulative, Decimal, Foreign, ForeignOptions, Refused, Unit, read};
use rowcliff::record::Sample;

use crate::support::{run, stderr, stdout, text};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign").join(name)
}

fn of_file(name: &str, options: &ForeignOptions) -> Result<Foreign, Refused> {
    read(&std::fs::read(data(name)).unwrap(), Path::new(name), options)
}

fn of(content: &str, options: &ForeignOptions) -> Result<Foreign, Refused> {
    read(content.as_bytes(), Path::new("f.csv"), options)
}

fn x(column: &str) -> ForeignOptions {
    ForeignOptions { x: Some(column.into()), ..ForeignOptions::default() }
}

fn curve<'a>(read: &'a Foreign, name: &str) -> Vec<&'a Sample> {
    read.samples.iter().filter(|sample| sample.curve == name).collect()
}

/// Table size, rows, seconds.
fn figures(read: &Foreign) -> Vec<(u64, u64, f64)> {
    read.samples.iter().map(|sample| (sample.table_rows, sample.rows, (sample.seconds * 1e6).round() / 1e6)).collect()
}

fn lines(read: &Foreign) -> Vec<u64> {
    read.problems.iter().map(|problem| problem.line).collect()
}

#[test]
fn c01_units_stand_in_the_names_of_columns() {
    let read = of_file("c01_pg_serial_v4_ms_per_million.csv", &x("Count")).unwrap();
    let (serial, uuid) = (curve(&read, "Serial(ms)"), curve(&read, "UUIDv4(ms)"));
    assert_eq!((serial.len(), uuid.len(), read.problems.len()), (30, 30, 0));
    assert_eq!((uuid[29].table_rows, uuid[29].rows, uuid[29].seconds), (30_000_000, 1_000_000, 30.133));
    assert_eq!((uuid[0].batch, uuid[29].batch), (1, 30));
    let named = ForeignOptions { y: vec!["Serial(ms),UUIDv4(ms)".into()], ..x("Count") };
    assert_eq!(of_file("c01_pg_serial_v4_ms_per_million.csv", &named).unwrap().samples, read.samples);
    // The name of the horizontal column tells nothing, so it has to be said.
    let refused = of_file("c01_pg_serial_v4_ms_per_million.csv", &ForeignOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("--x") && refused.contains("\"Count\""), "{refused}");
}

#[test]
fn c03_intervals_are_read_and_not_the_means_since_the_start() {
    let read = of_file("c03_tsbs_load_10s.csv", &ForeignOptions::default()).unwrap();
    assert_eq!((read.samples.len(), read.problems.len()), (16, 0));
    assert!(read.notes[0].contains("tsbs"), "{:?}", read.notes);
    let (first, seventh) = (&read.samples[0], &read.samples[6]);
    assert_eq!((first.table_rows, first.rows), (4_260_000, 4_260_000));
    // 29.0M rows: the interval is at 0.70 of the plateau, the mean since the start still at 0.94.
    assert_eq!((seventh.table_rows, seventh.rows), (29_000_000, 3_090_000));
    assert!((seventh.inserts_per_sec.unwrap() - 308_997.52).abs() < 1.0);
    let named = ForeignOptions { y: vec!["per. row/s".into()], ..x("row total") };
    assert_eq!(of_file("c03_tsbs_load_10s.csv", &named).unwrap().samples, read.samples);
    // The mean column, when it is asked for, is known as one by its name, and taken apart.
    let means = ForeignOptions { y: vec!["overall row/s".into()], ..x("row total") };
    let means = of_file("c03_tsbs_load_10s.csv", &means).unwrap();
    assert!(means.notes.iter().any(|note| note.contains("mean since the start")), "{:?}", means.notes);
    let rate = means.samples[6].inserts_per_sec.unwrap();
    assert!((rate / 308_997.52 - 1.0).abs() < 0.01, "{rate}");
}

#[test]
fn c06_batches_without_rows_need_their_rows() {
    let refused = of_file("c06_creep.csv", &ForeignOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("--rows-per-batch") && refused.contains("--x"), "{refused}");
    let refused = of_file("c06_creep.csv", &x("batch")).unwrap_err().to_string();
    assert!(refused.contains("\"batch\" counts batches") && refused.contains("--rows-per-batch"), "{refused}");
    let rows = ForeignOptions { rows_per_batch: Some(2000), ..ForeignOptions::default() };
    let read = of_file("c06_creep.csv", &rows).unwrap();
    assert_eq!(read.samples.len(), 28);
    assert_eq!(figures(&read)[27], (56_000, 2000, 2.38));
}

#[test]
fn c08_sizes_before_the_batch_and_seconds_per_ten_thousand() {
    let read = of_file("c08_sqlite_linear.csv", &ForeignOptions::default()).unwrap();
    let figures = figures(&read);
    assert_eq!(figures.len(), 12);
    assert_eq!(figures[0], (10_000, 10_000, 0.568));
    assert_eq!(figures[11], (510_000, 10_000, 37.149));
    // The gap is said, and has its room.
    assert!(read.notes.iter().any(|note| note.contains("100000 to 500000")), "{:?}", read.notes);
    assert_eq!((read.samples[10].batch, read.samples[11].batch), (11, 51));
}

#[test]
fn c10_an_axis_that_is_not_the_size_of_the_table_is_called_by_its_name() {
    let file = "c10_sqlite_batchsize_semicolon.csv";
    let columns = ["default", "sync=off", "sync=off & journal=off & lock=excl"].map(str::to_owned).to_vec();
    let options = ForeignOptions { y: columns.clone(), unit: Some(Unit::RowsPerSecond), ..x("rows_per_commit") };
    let read = of_file(file, &options).unwrap();
    assert_eq!((read.samples.len(), read.other_x.as_deref()), (48, Some("rows_per_commit")));
    assert!((curve(&read, &columns[2])[0].inserts_per_sec.unwrap() - 640_252.46).abs() < 1.0);
    let refused = of_file(file, &ForeignOptions { unit: None, ..options }).unwrap_err().to_string();
    assert!(refused.contains("--unit"), "{refused}");
    assert!(of_file(file, &ForeignOptions::default()).unwrap_err().to_string().contains("--x"));

    let home = tempfile::tempdir().unwrap();
    let path = data(file);
    let words = ["plot", path.to_str().unwrap(), "--x", "rows_per_commit", "--unit", "rows/s", "--out", "p", "--y"];
    let output = run(home.path(), &[&words[..], &["sync=off & journal=off & lock=excl"], &["--y", "default"]].concat());
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    let svg = std::fs::read_to_string(home.path().join("p/inserts-per-second.svg")).unwrap();
    assert!(svg.contains("sync=off &amp; journal=off &amp; lock=excl") && svg.contains("rows_per_commit"));
    assert!(!svg.contains("rows in the table"));
    let mut reader = quick_xml::Reader::from_str(&svg);
    while !matches!(reader.read_event().unwrap(), quick_xml::events::Event::Eof) {}
}

#[test]
fn c13_and_real_engines_need_nothing_said() {
    let read = of_file("c13_flat.csv", &ForeignOptions::default()).unwrap();
    assert_eq!(figures(&read)[4], (500_000, 100_000, 1.67));
    // A column called series tells curves apart.
    let read =
        of_file("real_engines.csv", &ForeignOptions { cumulative: Some(Cumulative::No), ..ForeignOptions::default() })
            .unwrap();
    assert_eq!(curve(&read, "mariadb-innodb uuid f=1").len(), 15);
    assert_eq!(curve(&read, "pbxt autoinc p=0")[39].table_rows, 10_000_000);
}

#[test]
fn c15_totals_are_never_taken_for_batches_in_silence() {
    let file = "c15_cumulative.csv";
    let refused = of_file(file, &x("records")).unwrap_err();
    assert!(refused.line.is_some() && refused.column.as_deref() == Some("perf[sec]"), "{refused:?}");
    assert!(refused.to_string().contains("--cumulative"), "{refused}");
    // Totals that go down are not of one load.
    let said = |cumulative| ForeignOptions { cumulative: Some(cumulative), ..x("records") };
    let read = of_file(file, &said(Cumulative::Totals)).unwrap();
    assert!(read.notes.iter().any(|note| note.contains("fresh table")), "{:?}", read.notes);
    let rates: Vec<f64> = read.samples.iter().map(|sample| sample.inserts_per_sec.unwrap()).collect();
    assert!(rates.iter().all(|rate| (460.0..600.0).contains(rate)), "{rates:?}");
    let read = of_file(file, &said(Cumulative::No)).unwrap();
    assert_eq!(read.samples[0].seconds, 0.889043);
    // Running totals of one load: the differences.
    let running = "rows_total,seconds\n1000,1.0\n2000,2.0\n3000,4.0\n4000,8.0\n";
    assert!(of(running, &ForeignOptions::default()).unwrap_err().to_string().contains("--cumulative"));
    let totals = ForeignOptions { cumulative: Some(Cumulative::Totals), ..ForeignOptions::default() };
    let read = of(running, &totals).unwrap();
    assert_eq!(figures(&read).iter().map(|figure| figure.2).collect::<Vec<_>>(), [1.0, 1.0, 2.0, 4.0]);
    let named = of(
        "rows_total,elapsed seconds total\n1000,1.0\n2000,2.0\n3000,4.0\n",
        &ForeignOptions { y: vec!["elapsed seconds total".into()], ..ForeignOptions::default() },
    );
    assert_eq!(named.unwrap().samples[2].seconds, 2.0);
}

#[test]
fn c21_impossible_speeds_are_listed_and_left_out() {
    let content = "elapsed_s,rows_per_s\n9,1391.20\n10,1388.75\n11,18446842801212211200.00\n12,1385.03\n";
    let read = of(content, &x("elapsed_s")).unwrap();
    assert_eq!((read.samples.len(), lines(&read)), (3, vec![4]));
    assert!(read.problems[0].why.contains("impossible"), "{:?}", read.problems);
    assert!(read.samples.iter().all(|sample| sample.inserts_per_sec.unwrap() < 2000.0));
    let fast = of("rows_total,seconds\n1000,1\n2000,1e-12\n3000,1\n", &ForeignOptions::default()).unwrap();
    assert_eq!((fast.samples.len(), lines(&fast)), (2, vec![3]));
}

#[test]
fn c48_sizes_beyond_32_bits() {
    let read =
        of("rows_total,seconds\n33999000000,5\n34000000000,6\n34001000000,5\n", &ForeignOptions::default()).unwrap();
    assert_eq!(
        figures(&read),
        [(33_999_000_000, 1_000_000, 5.0), (34_000_000_000, 1_000_000, 6.0), (34_001_000_000, 1_000_000, 5.0)]
    );
    assert_eq!(read.samples[0].batch, 1);
}

#[test]
fn c53_a_header_again_and_lines_again_are_listed() {
    let once = std::fs::read_to_string(data("c13_flat.csv")).unwrap();
    let read = of(&format!("{once}{once}"), &ForeignOptions::default()).unwrap();
    assert_eq!(read.samples.len(), 6);
    assert_eq!(lines(&read), [8, 9, 10, 11, 12, 13, 14]);
    assert!(read.problems[0].why.contains("header"));
    let other = of(&format!("{once}a,b\n1,2\n"), &ForeignOptions::default()).unwrap_err();
    assert_eq!(other.line, Some(8));
}

#[test]
fn c54_the_sign_before_decimals_is_seen_or_asked_for() {
    let said = ForeignOptions { y: vec!["3".into()], unit: Some(Unit::Seconds), ..x("2") };
    for content in [
        "1;1000000;5,01\n2;2000000;5,02\n",
        "1,1000000,\"5,01\"\n2,2000000,\"5,02\"\n",
        "1\t1000000\t5.01\n2\t2000000\t5.02\n",
    ] {
        let read = of(content, &said).unwrap();
        assert_eq!(figures(&read), [(1_000_000, 1_000_000, 5.01), (2_000_000, 1_000_000, 5.02)], "{content}");
    }
    let groups =
        of("rows_total;seconds\n1.000.000;1.234,56\n2.000.000;1.235,00\n", &ForeignOptions::default()).unwrap();
    assert_eq!(figures(&groups)[0], (1_000_000, 1_000_000, 1234.56));
    let doubtful = "rows_total;seconds\n1000000;1,234\n2000000;1,235\n";
    let refused = of(doubtful, &ForeignOptions::default()).unwrap_err();
    assert_eq!((refused.line, refused.column.as_deref()), (Some(2), Some("seconds")));
    assert!(refused.to_string().contains("--decimal"), "{refused}");
    for (decimal, seconds) in [(Decimal::Comma, 1.234), (Decimal::Point, 1234.0)] {
        let given = ForeignOptions { decimal: Some(decimal), ..ForeignOptions::default() };
        assert_eq!(of(doubtful, &given).unwrap().samples[0].seconds, seconds);
    }
    // A point in a file of decimal commas is as doubtful.
    let refused = of("rows_total;seconds\n1000000;5,01\n2000000;1.235\n", &ForeignOptions::default()).unwrap_err();
    assert_eq!(refused.line, Some(3));
    let refused = of("a;b,c;rows_total,x\n1;2,3;4,5\n", &ForeignOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("--delimiter"), "{refused}");
}

#[test]
fn c57_what_is_no_measurement_is_listed_line_by_line() {
    let seconds = ["5.0", "NaN", "5.1", "inf", "0.000", "-1", "", "5.2"];
    let content: String = (1..).zip(seconds).map(|(at, second)| format!("{at}000,{second}\n")).collect();
    let read = of(&format!("rows_total,seconds\n{content}9000,5."), &ForeignOptions::default()).unwrap();
    assert_eq!(figures(&read), [(1000, 1000, 5.0), (3000, 1000, 5.1), (8000, 1000, 5.2)]);
    assert_eq!(lines(&read), [3, 5, 6, 7, 8, 10]);
    let batches: Vec<u64> = read.samples.iter().map(|sample| sample.batch).collect();
    assert_eq!(batches, [1, 3, 8], "a gap stays one");
    let nothing = of("rows_total,seconds\n1000,NaN\n2000,0\n", &ForeignOptions::default()).unwrap_err().to_string();
    assert!(nothing.contains("f.csv:2:") && nothing.contains("f.csv:3:"), "{nothing}");
}

#[test]
fn lines_out_of_order_and_gaps_are_said() {
    let content = "rows_total,seconds\n1000,5\n2000,5\n5000,5\n4000,6\n6000,5\n6000,5\n7000,5\n8000,5\n";
    let read = of(content, &ForeignOptions::default()).unwrap();
    assert_eq!(lines(&read), [5, 7]);
    assert_eq!(figures(&read)[2], (5000, 1000, 5.0), "a batch is not as large as the gap before it");
    assert!(read.notes.iter().any(|note| note.contains("2000 to 5000")), "{:?}", read.notes);
    let down = of("rows_total,seconds\n3000,3\n2000,2\n1000,2\n", &ForeignOptions::default()).unwrap();
    assert_eq!(figures(&down).iter().map(|figure| figure.0).collect::<Vec<_>>(), [1000, 2000, 3000]);
    assert!(down.notes.iter().any(|note| note.contains("go down")));
}

#[test]
fn known_formats_need_no_description() {
    let sysbench = "Threads started!\n\
        [ 1s ] thds: 8 tps: 1000.00 qps: 1000.00 (r/w/o: 0.00/1000.00/0.00) lat (ms,95%): 8.13 err/s: 0.00 reconn/s: 0.00\n\
        [ 2s ] thds: 8 tps: 500.00 qps: 500.00 (r/w/o: 0.00/500.00/0.00) lat (ms,95%): 9.13 err/s: 0.00 reconn/s: 0.00\n";
    let read = of(sysbench, &ForeignOptions::default()).unwrap();
    assert_eq!(figures(&read), [(1000, 1000, 1.0), (1500, 500, 1.0)]);
    let ten = ForeignOptions { rows_per_batch: Some(10), ..ForeignOptions::default() };
    assert_eq!(figures(&of(sysbench, &ten).unwrap())[1], (15_000, 5000, 1.0));
    let csv =
        "1,8,1000.00,1000.00,0.00,1000.00,0.00,8.13,0.00,0.00\n2,8,500.00,500.00,0.00,500.00,0.00,8.1,0.00,0.00\n";
    assert_eq!(figures(&of(csv, &ForeignOptions::default()).unwrap()), figures(&read));
    let slap = "innodb,write,0.123,0.100,0.150,8,125\ninnodb,write,0.000,0.000,0.000,8,125\ninnodb,write,0.200,0.1,0.2,8,125\n";
    assert!(of(slap, &ForeignOptions::default()).unwrap_err().to_string().contains("--rows-per-batch"));
    let rows = ForeignOptions { rows_per_batch: Some(1000), ..ForeignOptions::default() };
    let read = of(slap, &rows).unwrap();
    assert_eq!((figures(&read), lines(&read)), (vec![(1000, 1000, 0.123), (3000, 1000, 0.2)], vec![2]));
    let iibench = "#rows #seconds #total_seconds cum_ips table_size last_ips #queries cum_qps last_qps\n\
        1000000 895 895 1118 1000000 1000 5990 5990 7 7\n2000000 1002 1897 1054 2000000 500 53488 47498 28 47\n";
    assert_eq!(figures(&of(iibench, &ForeignOptions::default()).unwrap())[1], (2_000_000, 1_000_000, 2000.0));
}

proptest::proptest! {
    /// Whatever a file holds: an answer or a refusal, and no sample that is no measurement.
    #[test]
    fn no_file_breaks_the_reader(
        content in "(rows_total|time|batch|Count)[,;](seconds|ms|rows/s|per. row/s|x)\n([0-9.,;Ninfae\"+ -]{0,12}[,;][0-9.,eNaif-]{0,9}\n){0,12}",
        odd in "[0-9,;.\n\"a-z\\[\\]:/ -]{0,120}",
        cumulative in 0..4_usize,
        rows in proptest::option::of(1..100_000_u64),
    ) {
        let how = [None, Some(Cumulative::No), Some(Cumulative::Totals), Some(Cumulative::Fresh)][cumulative];
        let said = ForeignOptions { cumulative: how, rows_per_batch: rows, ..ForeignOptions::default() };
        for options in [said.clone(), ForeignOptions { x: Some("1".into()), y: vec!["2".into()], unit: Some(Unit::Milliseconds), ..said }] {
            for content in [&content, &odd] {
                if let Ok(read) = of(content, &options) {
                    proptest::prop_assert!(!read.samples.is_empty());
                    for sample in &read.samples {
                        proptest::prop_assert!(sample.seconds > 0.0 && sample.seconds.is_finite() && sample.rows > 0, "{sample:?}");
                        proptest::prop_assert!(sample.inserts_per_sec.is_some_and(|rate| rate <= 1e12), "{sample:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn show_reads_them_and_says_how() {
    let home = tempfile::tempdir().unwrap();
    let path = data("c01_pg_serial_v4_ms_per_million.csv");
    let output = run(home.path(), &["show", path.to_str().unwrap(), "--x", "Count", "--y", "UUIDv4(ms)"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    let out = stdout(&output);
    assert!(out.contains("UUIDv4(ms)") && out.contains("30M") && !out.contains("0 connections"), "{out}");
    let bad = home.path().join("bad.csv");
    std::fs::write(&bad, "rows_total,seconds\n1000,NaN\n").unwrap();
    for words in [vec!["show", "bad.csv"], vec!["plot", "bad.csv"], vec!["show", "bad.csv", "--y", "rows"]] {
        let output = run(home.path(), &words);
        assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&output));
        assert!(stderr(&output).contains("bad.csv"), "{}", text(&output));
    }
    assert!(!home.path().join("inserts-per-second.svg").exists());
    std::fs::write(&bad, "rows_total,seconds\n1000,1\n2000,NaN\n3000,1\n").unwrap();
    let output = run(home.path(), &["show", "bad.csv"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    assert!(stderr(&output).contains("bad.csv:3:"), "{}", text(&output));
    let output = run(home.path(), &["show", "bad.csv", "--decimal", "x"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::USAGE)), "{}", text(&output));
}
