//! What else moved: counters, seconds, stalls, server CPU, marks, and the tables that show them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use clap::Parser;
use rowcliff::cli::{Cli, Command};
use rowcliff::engine::EngineTable;
use rowcliff::observe::advice;
use rowcliff::plan::Sizes;
use rowcliff::plan::counters::CounterChoice;
use rowcliff::plan::stop::StopRules;
use rowcliff::record::detail::{self, CounterLine};
use rowcliff::record::run::TargetRecord;
use rowcliff::record::{Environment, RunRecord, Sample};

use crate::support::fake::{Behaviour, FakeRun};
use crate::support::servers::{Family, OwnServer, binary};
use crate::support::{record, rowcliff, run, samples, stdout, text};

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn counters(run: &Path) -> Vec<CounterLine> {
    let read = detail::read_counters(run).unwrap();
    assert_eq!(read.problems, []);
    read.lines
}

/// Every batch's rows are the sum of its seconds, no second lies beyond its end, and no batch is without.
fn assert_seconds_add_up(run: &Path) {
    let read = detail::read_seconds(run).unwrap();
    assert_eq!(read.problems, []);
    let mut sums: BTreeMap<(String, u64), (u64, u64)> = BTreeMap::new();
    for line in read.lines {
        let (rows, seconds) = sums.entry((line.curve, line.batch)).or_default();
        *rows += line.rows;
        *seconds += 1;
        assert_eq!(line.second, *seconds, "a second is missing");
    }
    let samples = samples(run);
    assert_eq!(sums.len(), samples.len());
    for sample in samples {
        let (rows, seconds) = sums[&(sample.curve.clone(), sample.batch)];
        assert_eq!(rows, sample.rows, "batch {} of {}", sample.batch, sample.curve);
        assert_eq!(seconds, (sample.seconds.ceil() as u64).max(1), "batch {} of {}", sample.batch, sample.curve);
    }
}

// ------------------------------------------------------------------------------------------------ on the fake target

/// Ten statements of 100 rows a batch; `times` gives the milliseconds of each statement by its number, from 0.
fn timed(fake: FakeRun, directory: &Path, times: impl Fn(u64) -> u64 + Send + Sync + 'static) -> Vec<Sample> {
    let statements = AtomicU64::new(0);
    let behaviour: Arc<Behaviour> =
        Arc::new(move |_, rows| (ms(times(statements.fetch_add(1, Ordering::SeqCst))), Ok(rows)));
    let result = fake.run(directory, &["autoinc"], behaviour);
    assert_eq!(result.summary.unwrap().exit_code(), 0);
    samples(directory)
}

#[test]
fn percentiles_are_those_of_the_statements_and_ten_minutes_are_exact() {
    let directory = tempfile::tempdir().unwrap();
    let sizes = Sizes { rows: 2000, batch_rows: 1000, statement_rows: 1, commit_rows: 1 };
    let fake = FakeRun { sizes, ..FakeRun::default() };
    // Of a thousand statements 980 take 10 ms, 18 take 200 ms, one takes 30 s and one ten minutes.
    let samples = timed(fake, directory.path(), |statement| match statement % 1000 {
        0..980 => 10,
        980..998 => 200,
        998 => 30_000,
        _ => 600_000,
    });
    let near = |figure: Option<u64>, exact: u64| {
        let figure = figure.unwrap();
        assert!(figure.abs_diff(exact) * 1000 <= exact, "{figure} is not {exact}");
    };
    for sample in &samples {
        near(sample.p50_us, 10_000);
        near(sample.p99_us, 200_000);
        near(sample.p999_us, 30_000_000);
        assert_eq!(sample.max_us, Some(600_000_000));
    }
}

#[test]
fn a_percentile_needs_statements_enough() {
    for (statements, has) in [(99, [true, false, false]), (100, [true, true, false]), (1000, [true, true, true])] {
        let directory = tempfile::tempdir().unwrap();
        let sizes = Sizes { rows: 2 * statements, batch_rows: statements, statement_rows: 1, commit_rows: 1 };
        let samples = timed(FakeRun { sizes, ..FakeRun::default() }, directory.path(), |_| 10);
        assert_eq!(samples.len(), 2);
        for sample in samples {
            let known = [sample.p50_us, sample.p99_us, sample.p999_us].map(|figure| figure.is_some());
            assert_eq!((known, sample.max_us), (has, Some(10_000)), "{statements}");
        }
    }
}

#[test]
fn rows_stand_in_the_second_of_their_acknowledgement() {
    let directory = tempfile::tempdir().unwrap();
    let sizes = Sizes { rows: 2000, batch_rows: 1000, statement_rows: 100, commit_rows: 100 };
    let fake = FakeRun { sizes, window_bytes: 20_000, ..FakeRun::default() };
    // 0.3, 0.6, 0.9, 1.2 ... 2.7, 3.0 s; the windows of a batch are shorter than it.
    timed(fake, directory.path(), |_| 300);
    assert_seconds_add_up(directory.path());
    let lines = detail::read_seconds(directory.path()).unwrap().lines;
    let second: Vec<(u64, u64, u64)> = lines.iter().map(|line| (line.batch, line.second, line.rows)).collect();
    assert_eq!(second, [(1, 1, 300), (1, 2, 300), (1, 3, 400), (2, 1, 300), (2, 2, 300), (2, 3, 400)]);
}

#[test]
fn a_transaction_that_is_sent_again_counts_once() {
    let directory = tempfile::tempdir().unwrap();
    let calls = AtomicU64::new(0);
    let behaviour: Arc<Behaviour> = Arc::new(move |_, rows| {
        let failed = calls.fetch_add(1, Ordering::SeqCst) == 7;
        let retry = || crate::support::fake::failure(rowcliff::targets::FailureKind::Retry, "deadlock");
        (ms(400), if failed { Err(retry()) } else { Ok(rows) })
    });
    let sizes = Sizes { rows: 3000, batch_rows: 1000, statement_rows: 100, commit_rows: 1000 };
    // A transaction in several windows, and one in a single one.
    for window_bytes in [20_000, 1 << 20] {
        let directory = directory.path().join(window_bytes.to_string());
        let fake = FakeRun { sizes, window_bytes, ..FakeRun::default() };
        let result = fake.run(&directory, &["autoinc"], Arc::clone(&behaviour));
        assert_eq!(result.summary.unwrap().exit_code(), 0);
        let lines = detail::read_seconds(&directory).unwrap().lines;
        for batch in 1..=3 {
            let rows: u64 = lines.iter().filter(|line| line.batch == batch).map(|line| line.rows).sum();
            assert_eq!(rows, 1000, "batch {batch}, windows of {window_bytes}");
        }
    }
}

#[test]
fn a_silence_is_a_stall_beyond_the_usual_statement() {
    let directory = tempfile::tempdir().unwrap();
    // Ten statements a batch; the fifth of batch 3 waits three seconds more.
    let samples = timed(FakeRun::default(), directory.path(), |statement| if statement == 24 { 3050 } else { 50 });
    assert_eq!(samples[0].stall_seconds, None, "no batch came before");
    assert_eq!(samples[1].stall_seconds, Some(0.0));
    let stall = samples[2].stall_seconds.unwrap();
    assert!((stall - 3.0).abs() < 0.001, "{stall}");
    assert_eq!(samples[3].stall_seconds, Some(0.0));
}

#[test]
fn where_statements_take_over_a_second_nothing_is_said_of_stalls() {
    let directory = tempfile::tempdir().unwrap();
    let samples = timed(FakeRun::default(), directory.path(), |statement| if statement == 24 { 9000 } else { 1200 });
    assert!(samples.iter().all(|sample| sample.stall_seconds.is_none()));
}

#[test]
fn a_slow_client_is_marked_and_a_slow_server_is_not() {
    for (client, server, marked) in [(60, 40, true), (40, 60, false), (1, 5000, false), (50, 1, true)] {
        let directory = tempfile::tempdir().unwrap();
        let fake = FakeRun { client_work: ms(client), ..FakeRun::default() };
        let samples = timed(fake, directory.path(), move |_| server);
        assert!(
            samples.iter().all(|sample| sample.has_note("client-bound") == marked),
            "client {client} ms, server {server} ms: {:?}",
            samples[0].notes
        );
    }
}

#[test]
fn counters_are_what_moved_and_a_reset_is_empty() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path();
    timed(FakeRun::default(), &home.join("r"), |_| 10);
    let lines = counters(&home.join("r"));
    let of = |counter: &str| -> Vec<Option<f64>> {
        lines.iter().filter(|line| line.counter == counter).map(|line| line.delta).take(4).collect()
    };
    assert_eq!(of("innodb_pages_read"), [Some(250.0); 4]);
    assert_eq!(of("reset"), [Some(1000.0), Some(1000.0), None, Some(1000.0)]);
    assert_eq!(of("dirty@end"), [Some(7.0); 4]);
    // Of a target whose machine is not known the figures of this one would be a stranger's.
    assert!(!lines.iter().any(|line| line.counter.starts_with("host.")));
    assert!(record(&home.join("r")).curves[0].notes.iter().any(|note| note.contains("not found on this machine")));
    let shown = run(home, &["show", "r", "--csv"]);
    let mut reader = csv::Reader::from_reader(shown.stdout.as_slice());
    let column = reader.headers().unwrap().iter().position(|name| name == "reads_per_row").unwrap();
    let reads: Vec<String> = reader.records().map(|line| line.unwrap()[column].to_owned()).collect();
    assert_eq!(reads, vec!["0.25"; 20], "{}", text(&shown));
    // The rows are in the CSV file in any case; only the counters are left out.
    timed(FakeRun { counters: CounterChoice::None, ..FakeRun::default() }, &home.join("none"), |_| 10);
    assert!(!home.join("none").join(detail::COUNTERS_FILE).exists());
    assert_seconds_add_up(&home.join("none"));
}

#[test]
fn a_table_that_grows_too_large_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let stop = StopRules { max_table_bytes: Some(450_000), ..StopRules::default() };
    let behaviour: Arc<Behaviour> = Arc::new(|_, rows| (ms(1), Ok(rows)));
    let result = FakeRun { stop, ..FakeRun::default() }.run(directory.path(), &["autoinc"], behaviour);
    assert_eq!(result.summary.unwrap().exit_code(), rowcliff::error::exit::STOPPED);
    assert_eq!(samples(directory.path()).last().unwrap().data_bytes, Some(500_000));
}

#[test]
fn show_has_its_forms_and_an_older_run_is_shown_too() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path();
    timed(FakeRun::default(), &home.join("r"), |_| 10);
    let shown = |words: &[&str]| {
        let output = run(home, &[&["show", "r"], words].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        stdout(&output)
    };
    let table = shown(&[]);
    for title in ["rows in table", "seconds", "inserts/s", "mean/s", "slowdown", "p99 ms", "reads/row", "bytes/row"] {
        assert!(table.contains(title), "{title}: {table}");
    }
    let wide = shown(&["--wide"]);
    assert!(
        wide.contains("fsyncs/row") && wide.contains("server us/row") && wide.contains("table bytes/row"),
        "{wide}"
    );
    let json: serde_json::Value = serde_json::from_str(&shown(&["--json", "--wide"])).unwrap();
    assert_eq!(json["format_version"], 1);
    let curve = &json["curves"][0];
    assert_eq!(
        (&curve["key"], &curve["outcome"], &curve["verified"]),
        (&"autoinc".into(), &"completed".into(), &true.into())
    );
    let json = &curve["batches"];
    assert_eq!(json.as_array().unwrap().len(), 20);
    assert_eq!(json[3]["batch"], 4);
    assert_eq!(json[3]["reads_per_row"], 0.25);
    assert!(json[3]["server_cpu_seconds"].is_null());
    assert_eq!(json[3]["table_bytes_per_row"], 100.0);
    let markdown = shown(&["--markdown"]);
    assert!(markdown.contains("| batch | rows in table |") && markdown.contains("| ---: |"), "{markdown}");
    let refused = run(home, &["show", "r", "--csv", "--json"]);
    assert_eq!(refused.status.code(), Some(2));
    for file in [detail::COUNTERS_FILE, detail::SECONDS_FILE] {
        std::fs::remove_file(home.join("r").join(file)).unwrap();
    }
    let csv = shown(&["--csv"]);
    assert_eq!(csv.lines().count(), 21);
    assert!(csv.lines().nth(2).unwrap().contains(",,"), "{csv}");
}

// -------------------------------------------------------------------------------------------------- before a long run

/// What would be said before a run with these words, on a target whose buffer pool has `pool` bytes.
fn warned(words: &[&str], pool: &str, environment: Environment) -> Vec<String> {
    let all = ["rowcliff", "run"].into_iter().chain(words.iter().copied());
    let Command::Run(args) = Cli::try_parse_from(all).unwrap().command else { panic!("not a run") };
    let plan = rowcliff::plan::resolve(&args, &EngineTable::built_in()).unwrap().plan;
    let facts = TargetRecord {
        variables: [("innodb_buffer_pool_size".to_owned(), pool.to_owned())].into(),
        ..TargetRecord::default()
    };
    let record = RunRecord {
        format_version: 1,
        program_version: String::new(),
        build_profile: "release".into(),
        run_id: String::new(),
        command_line: Vec::new(),
        started_at: String::new(),
        finished_at: None,
        state: rowcliff::record::RunState::Running,
        process_id: None,
        resumed_by: Vec::new(),
        plan: serde_json::Value::Null,
        environment,
        targets: plan.targets.iter().map(|target| (target.label.clone(), facts.clone())).collect(),
        curves: plan.curves.iter().map(rowcliff::run::new_curve_record).collect(),
    };
    advice::warnings(&plan, &record)
}

#[test]
fn what_would_spoil_a_long_run_is_said_before_it() {
    let server = ["--target", "mysql://root@db.example/test", "--key", "uuid4"];
    let idle = || Environment { load_average_1m: Some(0.1), cpu_cores: Some(4), ..Environment::default() };
    let with = |more: &[&str], pool: &str| warned(&[&server[..], more].concat(), pool, idle());
    let default = with(&["--rows", "300M"], "134217728");
    assert!(default.len() == 1 && default[0].contains("innodb_buffer_pool_size") && default[0].contains("128 MiB"));
    assert_eq!(with(&["--rows", "300M"], "8589934592"), [""; 0]);
    assert_eq!(with(&["--rows", "300M", "--cache", "128M"], "134217728"), [""; 0]);
    assert_eq!(with(&["--rows", "1M"], "134217728"), [""; 0], "a short run is no matter");
    let busy = Environment { load_average_1m: Some(3.0), cpu_governor: Some("powersave".into()), ..idle() };
    let said = warned(&[&server[..], &["--rows", "300M"]].concat(), "8589934592", busy);
    assert!(said.len() == 2 && said[0].contains("load average 3.00") && said[1].contains("powersave"), "{said:?}");
}

// ------------------------------------------------------------------------------------------------ on the real ones

/// Runs and gives the run's directory.
fn finished(home: &Path, words: &[&str]) -> std::path::PathBuf {
    let output = run(home, &[&["run", "--out", "r", "--quiet"], words].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    home.join("r")
}

/// How far a counter moved in the second half of the curve whose name holds `word`.
fn late(run: &Path, word: &str, counter: &str) -> f64 {
    let batches = samples(run).into_iter().filter(|sample| sample.curve.contains(word)).map(|sample| sample.batch);
    let half = batches.max().unwrap() / 2;
    let lines = counters(run);
    let of_curve: Vec<&CounterLine> =
        lines.iter().filter(|line| line.curve.contains(word) && line.counter == counter).collect();
    assert!(!of_curve.is_empty(), "no {counter} of {word}");
    of_curve.iter().filter(|line| line.batch > half).map(|line| line.delta.unwrap()).sum()
}

/// A table that outgrows its cache has pages read again and again; one that fits has none.
fn outgrown(run: &Path, variable: &str, (small, large): (&str, &str), counter: &str, at_least: f64) {
    let (small, large) = (format!("{variable}={small}"), format!("{variable}={large}"));
    let (outgrown, fits) = (late(run, &small, counter), late(run, &large, counter));
    assert!(outgrown >= at_least, "{counter} with {small}: {outgrown}");
    // What is written anew (a file of sorted rows, a fresh index) is read once even when all of it fits.
    assert!(fits * 5.0 <= outgrown, "{counter} with {large}: {fits}, with {small}: {outgrown}");
}

#[test]
fn sqlite_misses_when_the_table_outgrows_the_cache() {
    let home = tempfile::tempdir().unwrap();
    let words = ["--key", "uuid4", "--rows", "60k", "--batch-rows", "5k", "--vary", "cache_size=-512,-65536"];
    let run = finished(home.path(), &words);
    outgrown(&run, "cache_size", ("-512", "-65536"), "sqlite_cache_miss", 10_000.0);
    outgrown(&run, "cache_size", ("-512", "-65536"), "sqlite_cache_spill", 5_000.0);
    assert_seconds_add_up(&run);
    for sample in samples(&run) {
        // The work is done in the client: its CPU time is that, and the file is data and index in one.
        assert_eq!((sample.server_cpu_seconds, sample.index_bytes), (None, None));
        assert!(sample.data_bytes.unwrap() > 20 * sample.table_rows);
        assert!(!sample.has_note("client-bound"));
        if cfg!(target_os = "linux") {
            assert!(sample.written_bytes.is_some() && sample.read_bytes.is_some());
        }
    }
    if cfg!(target_os = "linux") {
        assert!(late(&run, "cache_size=-512", "host.memory_available_bytes@end") > 1e6);
        assert!(late(&run, "cache_size=-512", "host.cpu_seconds") > 0.0);
    }
    let environment = record(&run).environment;
    let probe = environment.sync_probe.unwrap();
    assert!(probe.syncs > 0 && probe.median_us <= probe.p99_us, "{probe:?}");
    if cfg!(target_os = "linux") {
        assert!(environment.mount_options.is_some() && environment.load_average_1m.is_some(), "{environment:?}");
    }
}

/// A run on servers of its own, for every value of one variable.
fn varied(family: Family, home: &Path, engine: &str, vary: &str, more: &[&str]) -> Option<std::path::PathBuf> {
    let target = format!("scratch:{}", binary(family)?.display());
    let words = ["--target", &target, "--engine", engine, "--key", "uuid4", "--connections", "2", "--vary", vary];
    Some(finished(home, &[&words, more].concat()))
}

fn innodb_reads(family: Family) {
    let home = tempfile::tempdir().unwrap();
    let vary = "innodb_buffer_pool_size=8M,134217728";
    let sizes = ["--rows", "80k", "--batch-rows", "10k", "--flush", "1"];
    let Some(run) = varied(family, home.path(), "innodb", vary, &sizes) else { return };
    let values = ("8M", "134217728");
    outgrown(&run, "innodb_buffer_pool_size", values, "innodb_pages_read", 2000.0);
    outgrown(&run, "innodb_buffer_pool_size", values, "innodb_buffer_pool_reads", 2000.0);
    for word in [values.0, values.1] {
        assert!(late(&run, word, "innodb_buffer_pool_read_requests") > 40_000.0);
        assert!(late(&run, word, "innodb_os_log_written") > 1e6);
        // Flush 1: a sync for each commit of a thousand rows, but where two share one.
        assert!(late(&run, word, "innodb_data_fsyncs") >= 15.0);
        late(&run, word, "innodb_checkpoint_age@end");
        late(&run, word, "innodb_buffer_pool_pages_dirty@end");
        late(&run, word, "innodb_row_lock_waits");
    }
    assert_seconds_add_up(&run);
    for sample in samples(&run) {
        assert!(sample.server_cpu_seconds.is_some() && sample.written_bytes.is_some(), "{sample:?}");
        assert!(sample.data_bytes.unwrap() > 40 * sample.table_rows, "{sample:?}");
    }
    let shown = run_show(home.path());
    assert!(shown[1]["syncs_per_row"].as_f64().unwrap() > 0.0, "{}", shown[1]);
    assert!(shown[1]["server_cpu_us_per_row"].as_f64().unwrap() > 0.0, "{}", shown[1]);
}

fn run_show(home: &Path) -> serde_json::Value {
    let document: serde_json::Value =
        serde_json::from_str(&stdout(&run(home, &["show", "r", "--json", "--wide"]))).unwrap();
    document["curves"][0]["batches"].clone()
}

#[test]
fn innodb_reads_pages_when_the_table_outgrows_the_pool_on_mariadb() {
    innodb_reads(Family::MariaDb);
}

#[test]
fn innodb_reads_pages_when_the_table_outgrows_the_pool_on_mysql() {
    innodb_reads(Family::MySql);
}

#[test]
fn rocksdb_misses_blocks_when_the_table_outgrows_the_cache() {
    let home = tempfile::tempdir().unwrap();
    let small =
        "rocksdb_default_cf_options=write_buffer_size=512k;target_file_size_base=512k;max_bytes_for_level_base=1m";
    let more = ["--rows", "80k", "--batch-rows", "10k", "--server-option", small];
    let vary = "rocksdb_block_cache_size=64K,134217728";
    let Some(run) = varied(Family::MariaDb, home.path(), "rocksdb", vary, &more) else { return };
    outgrown(&run, "rocksdb_block_cache_size", ("64K", "134217728"), "rocksdb_block_cache_miss", 20_000.0);
    assert!(late(&run, "134217728", "rocksdb_flush_write_bytes") > 1e6);
    assert!(late(&run, "134217728", "rocksdb_compact_write_bytes") > 1e6);
    assert!(late(&run, "134217728", "rocksdb_stall_micros") >= 0.0);
    assert_seconds_add_up(&run);
}

#[test]
fn aria_and_myisam_read_blocks_when_the_index_outgrows_the_cache() {
    for (engine, variable, small, counter) in [
        ("myisam", "key_buffer_size", "64K", "key_reads"),
        ("aria", "aria_pagecache_buffer_size", "1M", "aria_pagecache_reads"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let vary = format!("{variable}={small},134217728");
        let sizes = ["--rows", "80k", "--batch-rows", "10k"];
        let Some(run) = varied(Family::MariaDb, home.path(), engine, &vary, &sizes) else { return };
        outgrown(&run, variable, (small, "134217728"), counter, 2000.0);
        for sample in samples(&run) {
            // Known apart, and what is still in the cache is counted.
            assert!(sample.data_bytes.unwrap() > 20 * sample.table_rows, "{sample:?}");
            assert!(sample.index_bytes.unwrap() > 10 * sample.table_rows, "{sample:?}");
        }
    }
}

#[test]
fn every_status_value_is_read_when_asked_for_and_reading_is_short() {
    for family in [Family::MariaDb, Family::MySql] {
        let Some(server) = OwnServer::start(family, &["--log-bin=binlog", "--server-id=1"]) else { continue };
        let home = tempfile::tempdir().unwrap();
        let words = ["--target", &server.target(), "--key", "autoinc", "--rows", "10k", "--batch-rows", "1k"];
        let run = finished(home.path(), &[&words[..], &["--counters", "all"]].concat());
        let lines = counters(&run);
        let names = lines.iter().filter(|line| line.batch == 1).count();
        assert!(names > 200, "{names}");
        let value = |name: &str, batch: u64| {
            lines.iter().find(|line| line.counter == name && line.batch == batch).and_then(|line| line.delta)
        };
        // Ten statements a batch, and 1000 rows of at least 20 bytes in the binary log.
        assert!(value("com_insert", 5).unwrap() >= 1.0);
        assert!(value("handler_write", 5).unwrap() >= 1000.0);
        assert!(value("binlog_bytes_written", 5).unwrap() > 10_000.0);
        assert!(value("threads_connected@end", 5).unwrap() >= 9.0);
        assert!(lines.iter().all(|line| line.delta.is_none_or(|delta| delta.abs() < 1e15)));
        let mut gaps: Vec<f64> =
            samples(&run).iter().filter_map(|sample| Some(sample.gap_seconds? - sample.encode_seconds?)).collect();
        gaps.sort_by(f64::total_cmp);
        eprintln!("{}: gaps without encoding, all counters: median {:.4} s", family.word(), gaps[gaps.len() / 2]);
        // Reading everything, the table's size, saving three files: seconds would be a scan.
        assert!(gaps[0] < 0.1, "{gaps:?}");
    }
}

#[test]
fn every_method_has_its_seconds() {
    for family in [Family::MariaDb, Family::MySql] {
        let Some(server) = OwnServer::start(family, &[]) else { continue };
        let home = tempfile::tempdir().unwrap();
        let words = ["--target", &server.target(), "--key", "uuid4", "--rows", "40k", "--batch-rows", "20k"];
        let method =
            if family == Family::MariaDb { "insert,prepared,bulk,load-data" } else { "insert,prepared,load-data" };
        let run = finished(home.path(), &[&words[..], &["--method", method]].concat());
        assert_seconds_add_up(&run);
        // One statement that takes more than a second: its rows are not all in its last second.
        let home = tempfile::tempdir().unwrap();
        let words = ["--target", &server.target(), "--key", "uuid4", "--method", "load-data", "--connections", "1"];
        let sizes = ["--rows", "200k", "--batch-rows", "200k", "--statement-rows", "200k"];
        let run = finished(home.path(), &[&words[..], &sizes].concat());
        assert_seconds_add_up(&run);
        let lines = detail::read_seconds(&run).unwrap().lines;
        eprintln!(
            "{}: load-data by seconds {:?}",
            family.word(),
            lines.iter().map(|line| line.rows).collect::<Vec<_>>()
        );
        if lines.len() > 2 {
            assert!(lines[0].rows > 0 && lines[1].rows > 0, "{lines:?}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_on_a_port_of_this_machine_is_found_too() {
    for family in [Family::MariaDb, Family::MySql] {
        // Free when it was asked for, which is enough for a test.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let port_option = format!("--port={port}");
        let Some(server) = OwnServer::start(family, &[&port_option, "--bind-address=127.0.0.1"]) else { continue };
        let home = tempfile::tempdir().unwrap();
        let target = format!("mysql://root@127.0.0.1:{port}/test");
        let words = ["--target", &target, "--key", "uuid4", "--rows", "40k", "--batch-rows", "20k"];
        let run = finished(home.path(), &words);
        for sample in samples(&run) {
            assert!(sample.server_cpu_seconds.is_some_and(|seconds| seconds > 0.0), "{sample:?}");
            // What InnoDB knows of its file, not what its statistics will know later.
            assert!(sample.data_bytes.unwrap() > 40 * sample.table_rows, "{sample:?}");
        }
        drop(server);
    }
}

/// CPU time of a process as the kernel tells it, read apart from rowcliff.
fn cpu_seconds(id: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    let words: Vec<&str> = after_name.split_whitespace().collect();
    let ticks: u64 = words[11].parse::<u64>().unwrap() + words[12].parse::<u64>().unwrap();
    ticks as f64 / 100.0
}

fn unix_now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64()
}

#[test]
#[cfg(target_os = "linux")]
fn server_cpu_agrees_with_an_independent_reading() {
    for family in [Family::MariaDb, Family::MySql] {
        let Some(server) = OwnServer::start(family, &["--innodb-flush-log-at-trx-commit=2"]) else { continue };
        let home = tempfile::tempdir().unwrap();
        let (over, id) = (Arc::new(AtomicBool::new(false)), server.id());
        let stop = Arc::clone(&over);
        let watcher = std::thread::spawn(move || {
            let mut seen = Vec::new();
            while !stop.load(Ordering::SeqCst) {
                seen.push((unix_now(), cpu_seconds(id)));
                std::thread::sleep(ms(5));
            }
            seen
        });
        let words = ["--target", &server.target(), "--key", "uuid4", "--rows", "300k", "--batch-rows", "100k"];
        let run = finished(home.path(), &words);
        over.store(true, Ordering::SeqCst);
        let seen = watcher.join().unwrap();
        let at = |time: f64| {
            let after = seen.iter().position(|(moment, _)| *moment >= time).unwrap();
            let ((t0, c0), (t1, c1)) = (seen[after - 1], seen[after]);
            c0 + (c1 - c0) * (time - t0) / (t1 - t0)
        };
        let (mut own, mut independent) = (0.0, 0.0);
        for sample in samples(&run) {
            let started: jiff::Timestamp = sample.started_at.parse().unwrap();
            let started = started.as_millisecond() as f64 / 1e3;
            own += sample.server_cpu_seconds.unwrap();
            independent += at(started + sample.seconds) - at(started);
        }
        eprintln!("{}: server CPU {own:.3} s, independently {independent:.3} s", family.word());
        assert!(own > 0.3 && (own / independent - 1.0).abs() < 0.1, "{own} against {independent}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_paused_server_shows_as_a_stall() {
    for family in [Family::MariaDb, Family::MySql] {
        let Some(server) = OwnServer::start(family, &["--innodb-flush-log-at-trx-commit=2"]) else { continue };
        let mut attempt = 0;
        loop {
            attempt += 1;
            let home = tempfile::tempdir().unwrap();
            let words = ["--target", &server.target(), "--key", "autoinc", "--rows", "600k", "--batch-rows", "100k"];
            let mut child = rowcliff(home.path())
                .args(["run", "--out", "r", "--quiet"])
                .args(words)
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            let batches = home.path().join("r/batches.csv");
            let started = Instant::now();
            while std::fs::read_to_string(&batches).unwrap_or_default().lines().count() < 4 {
                assert!(started.elapsed() < Duration::from_secs(100), "no three batches came");
                std::thread::sleep(ms(5));
            }
            std::thread::sleep(ms(150));
            let signal = |word: &str| {
                let id = server.id().to_string();
                assert!(std::process::Command::new("kill").args([word, &id]).status().unwrap().success());
            };
            signal("-STOP");
            std::thread::sleep(Duration::from_secs(3));
            signal("-CONT");
            assert!(child.wait().unwrap().success());
            let run = home.path().join("r");
            let samples = samples(&run);
            assert_seconds_add_up(&run);
            if samples.iter().any(|sample| sample.gap_seconds.is_some_and(|gap| gap > 1.0)) && attempt < 4 {
                // It was paused between two batches, where nothing waits for an acknowledgement.
                continue;
            }
            let stalls: Vec<f64> = samples.iter().filter_map(|sample| sample.stall_seconds).collect();
            let longest = stalls.iter().copied().fold(0.0, f64::max);
            eprintln!("{}: stalls {stalls:?}", family.word());
            assert!((2.8..4.0).contains(&longest), "{stalls:?}");
            break;
        }
    }
}
