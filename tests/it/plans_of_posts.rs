//! The plans of the four posts, run small on real servers, and their published figures beside such a run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;

use rowcliff::error::exit;
use rowcliff::record::probe::read_probes;
use rowcliff::record::{CurveRecord, Outcome, ProbeLine};
use serde_json::Value;

use crate::support::servers::{Family, binary};
use crate::support::{record, rowcliff, run, samples, stderr, stdout, text};

fn root(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path).display().to_string()
}

fn code(output: &Output) -> u8 {
    u8::try_from(output.status.code().expect("ended by itself")).unwrap()
}

/// Runs a plan into `out`.
fn run_plan(home: &Path, plan: &str, words: &[&str]) {
    let path = root(&format!("schemas/plans/{plan}.toml"));
    let output = run(home, &[&["run", "--plan", &path, "--out", "out", "--quiet"][..], words].concat());
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
}

fn scratch(binary: &Path) -> String {
    format!("scratch:{}", binary.display())
}

/// The curves of the run by their outcome, after a look at each of them.
fn loaded_and_skipped(home: &Path) -> (Vec<CurveRecord>, Vec<CurveRecord>) {
    let record = record(&home.join("out"));
    assert!(record.scale_note().is_some_and(|note| note.contains("probe operations")), "{:?}", record.plan["scale"]);
    let (loaded, skipped): (Vec<_>, Vec<_>) =
        record.curves.into_iter().partition(|curve| curve.outcome == Outcome::Completed);
    for curve in &skipped {
        match &curve.outcome {
            Outcome::Skipped { why, .. } => assert!(!why.is_empty(), "{}", curve.curve),
            other => panic!("{}: {other:?}", curve.curve),
        }
    }
    (loaded, skipped)
}

fn why(curve: &CurveRecord) -> &str {
    match &curve.outcome {
        Outcome::Skipped { why, .. } => why,
        _ => "",
    }
}

fn probe_lines(home: &Path) -> Vec<ProbeLine> {
    let found = read_probes(&home.join("out")).unwrap();
    assert_eq!(found.problems, []);
    found.lines
}

/// Whether a note of the curve says that a probe is left out, and why.
fn is_left_out(curve: &CurveRecord, probe: &str) -> bool {
    let words = format!("the probe {probe} is left out: ");
    curve.notes.iter().any(|note| note.strip_prefix(&words).is_some_and(|why| !why.is_empty()))
}

/// Every combination of the plan has a line for each of its curves, with all of its operations, but for probes that are left out
/// with a reason.
fn assert_all_probed(home: &Path, curves: &[CurveRecord], table_rows: u64) {
    let plan = record(&home.join("out")).plan;
    let probe = &plan["probe"];
    let list = |name: &str| probe[name].as_array().unwrap().clone();
    let mut expected = BTreeSet::new();
    for curve in curves {
        let probes = list("probes").into_iter().filter(|word| !is_left_out(curve, word.as_str().unwrap()));
        for word in probes {
            for connections in list("connections") {
                for ops in list("ops") {
                    for iteration in 1..=probe["iterations"].as_u64().unwrap() {
                        let word = word.as_str().unwrap().to_owned();
                        let (connections, ops) = (connections.as_u64().unwrap(), ops.as_u64().unwrap());
                        expected.insert((curve.curve.clone(), word, connections, ops, iteration));
                    }
                }
            }
        }
    }
    let lines = probe_lines(home);
    let found: BTreeSet<_> = lines
        .iter()
        .map(|line| {
            let iteration = u64::from(line.iteration);
            (line.curve.clone(), line.probe.clone(), u64::from(line.connections), line.ops, iteration)
        })
        .collect();
    assert_eq!(found, expected);
    assert_eq!(lines.len(), expected.len(), "a line twice");
    for line in &lines {
        assert_eq!(line.table_rows, table_rows, "{line:?}");
        assert!(line.seconds > 0.0 && line.ops_per_sec.is_some_and(|rate| rate > 0.0), "{line:?}");
    }
    // A line that is read has a number of errors; there is none where nobody else writes the same rows.
    let alone = lines.iter().filter(|line| line.connections == 1);
    assert!(alone.clone().all(|line| line.errors == 0), "{:?}", alone.collect::<Vec<_>>());
}

fn pbxt(family: Family, plan: &str, flushes: usize) {
    let Some(binary) = binary(family) else { return };
    let home = tempfile::tempdir().unwrap();
    // 300 batches of 2 rows, with a cache and a log that fit anywhere.
    let (target, small) = (scratch(&binary), "loose_innodb_log_file_size=16M");
    let words = ["--target", &target, "--scale", "0.000002", "--cache", "16M", "--server-option", small];
    run_plan(home.path(), plan, &[&words[..], &["--counters", "none", "--settle", "0"]].concat());
    let (loaded, skipped) = loaded_and_skipped(home.path());
    assert_eq!((loaded.len(), skipped.len()), (flushes, flushes));
    for curve in &loaded {
        assert_eq!((curve.engine.as_str(), curve.connections, curve.statement_rows), ("innodb", 8, 1));
        assert_eq!((curve.batches, curve.table_rows), (300, 600), "{}", curve.curve);
    }
    assert!(skipped.iter().all(|curve| curve.engine == "pbxt" && why(curve).contains("PBXT")), "{skipped:?}");
}

#[test]
fn pbxt_autoinc_on_mariadb() {
    pbxt(Family::MariaDb, "pbxt-autoinc", 2);
}

#[test]
fn pbxt_uuid_on_mysql() {
    pbxt(Family::MySql, "pbxt-uuid", 3);
}

/// The load of mysqlslap; gives the home for what else is to be seen in it.
fn slap(family: Family) -> Option<tempfile::TempDir> {
    let binary = binary(family)?;
    let home = tempfile::tempdir().unwrap();
    let target = scratch(&binary);
    let words = ["--target", &target, "--scale", "0.02", "--cache", "16M", "--settle", "0"];
    run_plan(home.path(), "soliddb-slap", &words);
    let (loaded, skipped) = loaded_and_skipped(home.path());
    assert_eq!((loaded.len(), skipped.len()), (1, 1));
    assert_eq!((loaded[0].table_rows, skipped[0].engine.as_str()), (2, "soliddb"));
    let table = loaded[0].create_table.as_deref().unwrap();
    for column in ["intcol2", "`charcol3` varchar(128)", "AUTO_INCREMENT", "PRIMARY KEY (`id`)"] {
        assert!(table.contains(column), "no {column} in {table}");
    }
    Some(home)
}

#[test]
fn soliddb_slap_on_mariadb_and_its_published_figures() {
    let Some(home) = slap(Family::MariaDb) else { return };
    let (loaded, _) = loaded_and_skipped(home.path());
    assert_all_probed(home.path(), &loaded, 2);
    let published = root("plots/published/soliddb.csv");
    let output = run(home.path(), &["compare", &published, "out"]);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    assert!(stderr(&output).contains("machine, server and version differ"), "{}", text(&output));
    assert!(stderr(&output).contains("scaled by 0.02"), "{}", text(&output));
    let words = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("WARNING: machine, server and version differ"), "{}", text(&output));
    let rows = stdout(&output).lines().filter(|line| line.starts_with("mixed ") || line.starts_with("insert ")).count();
    assert_eq!(rows, 35, "{}", text(&output));
    // A run with itself: the same probes, as fast.
    let json = run(home.path(), &["compare", "out", "out", "--json"]);
    assert_eq!(code(&json), exit::OK, "{}", text(&json));
    let json: Value = serde_json::from_str(&stdout(&json)).unwrap();
    let probes = json["cells"][0]["probes"].as_array().unwrap();
    assert_eq!(probes.len(), 2 * 5 * 2);
    assert!(probes.iter().all(|probe| probe["ratio"] == 1.0 && probe["ratio_least"].as_f64() <= Some(1.0)));
}

#[test]
fn soliddb_slap_on_mysql() {
    let Some(home) = slap(Family::MySql) else { return };
    let (loaded, _) = loaded_and_skipped(home.path());
    assert_all_probed(home.path(), &loaded, 2);
}

#[test]
fn innodb_plugin_oltp_on_two_servers_found_by_name() {
    let Some(mariadb) = binary(Family::MariaDb) else { return };
    let mysql = binary(Family::MySql);
    let home = tempfile::tempdir().unwrap();
    // MySQL's own place first: beside MariaDB, mysqld is often another name of it.
    let folder = |binary: &PathBuf| binary.parent().unwrap().to_owned();
    let places = mysql.iter().map(folder).chain([folder(&mariadb)]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(places.chain(std::env::split_paths(&path))).unwrap();
    let plan = root("schemas/plans/innodb-plugin-oltp.toml");
    let more: &[&str] = if mysql.is_some() { &[] } else { &["--target", "scratch:mariadbd"] };
    let words = ["run", "--plan", &plan, "--out", "out", "--quiet", "--scale", "0.0001", "--settle", "0"];
    let output = rowcliff(home.path()).args(words).args(more).env("PATH", path).output().unwrap();
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    let (loaded, skipped) = loaded_and_skipped(home.path());
    assert_eq!((loaded.len(), skipped.len()), (if mysql.is_some() { 2 } else { 1 }, 0));
    assert!(samples(&home.path().join("out")).iter().all(|sample| sample.rows == 100));
    let flavours: BTreeSet<String> =
        record(&home.path().join("out")).targets.values().map(|target| target.flavour.clone()).collect();
    assert_eq!(flavours.len(), loaded.len(), "{flavours:?}");
    assert_all_probed(home.path(), &loaded, 1000);
    let published = root("plots/published/innodb-plugin.csv");
    let json = run(home.path(), &["compare", &published, "out", "--json"]);
    assert_eq!(code(&json), exit::OK, "{}", text(&json));
    let json: Value = serde_json::from_str(&stdout(&json)).unwrap();
    assert_eq!(json["pairs"].as_array().unwrap().len(), 6 * loaded.len());
}

#[test]
fn a_server_that_is_not_installed_is_skipped_with_the_reason() {
    let Some(binary) = binary(Family::MariaDb) else { return };
    let home = tempfile::tempdir().unwrap();
    let target = scratch(&binary);
    let targets = ["--target", &target, "--target", "scratch:no-such-server", "--engine", "innodb", "--key", "autoinc"];
    let sizes = ["--rows", "2M", "--scale", "0.001", "--out", "out", "--quiet", "--settle", "0"];
    let output = run(home.path(), &[&["run"][..], &targets, &sizes].concat());
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    let (loaded, skipped) = loaded_and_skipped(home.path());
    assert_eq!((loaded.len(), skipped.len()), (1, 1));
    assert!(why(&skipped[0]).contains("no-such-server is neither in PATH"), "{skipped:?}");
}

fn kvs(family: Family) -> Option<tempfile::TempDir> {
    let binary = binary(family)?;
    let home = tempfile::tempdir().unwrap();
    // 105 batches of 2 rows, and 2 reads an iteration.
    let target = scratch(&binary);
    let words = ["--target", &target, "--scale", "0.000002", "--cache", "16M", "--counters", "none", "--settle", "0"];
    run_plan(home.path(), "kvs-reads", &words);
    Some(home)
}

#[test]
fn kvs_reads_on_mariadb_with_and_without_the_query_cache() {
    let Some(home) = kvs(Family::MariaDb) else { return };
    let (loaded, skipped) = loaded_and_skipped(home.path());
    assert_eq!((loaded.len(), skipped.len()), (4, 2));
    assert!(skipped.iter().all(|curve| curve.engine == "ndb"), "{skipped:?}");
    for curve in &loaded {
        assert_eq!((curve.batches, curve.table_rows), (105, 210), "{}", curve.curve);
        let expected = if curve.settings.ends_with("as-is") { "OFF" } else { "ON" };
        assert_eq!(curve.variables.get("query_cache_type").map(String::as_str), Some(expected), "{}", curve.curve);
    }
    assert_all_probed(home.path(), &loaded, 210);
    assert!(!loaded.iter().any(|curve| is_left_out(curve, "select-pk") || is_left_out(curve, "handler-pk")));
}

#[test]
fn kvs_reads_on_mysql_which_has_no_query_cache() {
    let Some(home) = kvs(Family::MySql) else { return };
    let (loaded, skipped) = loaded_and_skipped(home.path());
    assert!(loaded.iter().all(|curve| curve.settings.ends_with("query_cache_size=as-is")), "{loaded:?}");
    assert_eq!((loaded.len(), skipped.len()), (2, 4));
    let cached = skipped.iter().filter(|curve| curve.engine != "ndb");
    assert!(cached.clone().all(|curve| why(curve).contains("query_cache_size")), "{skipped:?}");
    assert_eq!(cached.count(), 2);
    // What MySQL cannot do with HANDLER is left out with its reason.
    assert!(!loaded.iter().any(|curve| is_left_out(curve, "select-pk")), "{loaded:?}");
    assert_all_probed(home.path(), &loaded, 210);
}

#[test]
fn published_figures_of_a_load_stand_beside_the_median_batch_of_any_run() {
    let home = tempfile::tempdir().unwrap();
    let words =
        ["run", "--key", "autoinc,uuid1:char32", "--rows", "4k", "--batch-rows", "1k", "--out", "lite", "--quiet"];
    let output = run(home.path(), &words);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    let published = root("plots/published/pbxt.csv");
    let output = run(home.path(), &["compare", &published, "lite", "--json"]);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let pairs = json["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 4, "two lines of each key");
    let per_second = pairs[0]["run_per_sec"].as_f64().unwrap();
    let mut rates: Vec<f64> = samples(&home.path().join("lite"))
        .iter()
        .filter(|sample| sample.key == "autoinc")
        .map(|sample| sample.rows as f64 / sample.seconds)
        .collect();
    rates.sort_by(f64::total_cmp);
    assert!((rates[1]..=rates[2]).contains(&per_second), "{per_second} is not in the middle of {rates:?}");
    assert!((pairs[0]["ratio"].as_f64().unwrap() - per_second / 60_000.0).abs() < 1e-6);
    assert_eq!(pairs[2]["ratio"], Value::Null, "the post prints no figure for it");
    assert!(stderr(&output).contains("machine, server and version differ"), "{}", text(&output));
    // The order matters, and what has nothing in common is said.
    for words in [["compare", "lite", &published], ["compare", &published, &published]] {
        let output = run(home.path(), &words);
        assert_eq!(code(&output), exit::FAILED, "{}", text(&output));
        assert!(stderr(&output).contains("RUN_DIR"), "{}", text(&output));
    }
    let output = run(home.path(), &["compare", &root("plots/published/kvs.csv"), "lite"]);
    assert_eq!(code(&output), exit::FAILED, "{}", text(&output));
    assert!(stderr(&output).contains("no probe or key in common"), "{}", text(&output));
}

#[test]
fn a_scaled_run_says_so_everywhere() {
    let home = tempfile::tempdir().unwrap();
    let words = ["run", "--rows", "1M", "--batch-rows", "100k", "--scale", "0.01", "--key", "autoinc", "--out", "out"];
    let output = run(home.path(), &words);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    assert!(
        stderr(&output).contains("scaled by 0.01: rows, batch rows, probe operations and the clock of UUIDs"),
        "{}",
        text(&output)
    );
    let lines = samples(&home.path().join("out"));
    assert_eq!((lines.len(), lines[9].table_rows), (10, 10_000));
    assert_eq!(record(&home.path().join("out")).plan["scale"], 0.01);
    let shown = run(home.path(), &["show", "out"]);
    assert!(stdout(&shown).contains("scaled by 0.01"), "{}", text(&shown));
    let report = std::fs::read_to_string(home.path().join("out/report.html")).unwrap();
    assert!(report.contains("scaled by 0.01"));
    for (words, expected) in [
        (["run", "--scale", "0"], "must be more than 0"),
        (["run", "--scale", "-1"], "must be more than 0"),
        (["run", "--scale", "1k"], "0.001 or 2"),
        (["run", "--scale-cache", "--rows=1k"], "--scale"),
    ] {
        let output = run(home.path(), &words);
        assert_eq!(code(&output), exit::USAGE, "{}", text(&output));
        assert!(stderr(&output).contains(expected), "{}", text(&output));
    }
}
