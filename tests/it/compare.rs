//! `compare` and `forecast`, from outside: words, exit codes, JSON, and what they say of runs and of files of others.

use std::fmt::Write;
use std::path::Path;

use rowcliff::error::exit;
use rowcliff::record::ProbeLine;
use rowcliff::record::probe::PROBES_FILE;
use rowcliff::record::store::CsvAppender;
use serde_json::Value;

use crate::support::{run, samples, stderr, stdout, text};

fn code(output: &std::process::Output) -> u8 {
    u8::try_from(output.status.code().expect("ended by itself")).unwrap()
}

/// A file of 100,000 rows a batch, in seconds of each.
fn file(home: &Path, name: &str, batches: u64, seconds: impl Fn(u64) -> f64) {
    let mut content = "rows_total,batch_seconds\n".to_owned();
    for batch in 1..=batches {
        writeln!(content, "{},{:.6}", batch * 100_000, seconds(batch)).unwrap();
    }
    std::fs::write(home.join(name), content).unwrap();
}

/// Up to 1% up and down, without a pattern.
fn jitter(batch: u64) -> f64 {
    1.0 + ((batch * 7919 % 101) as f64 - 50.0) / 5000.0
}

#[test]
fn c24_the_direction_and_the_base_of_every_figure_are_said() {
    let home = tempfile::tempdir().unwrap();
    file(home.path(), "a.csv", 12, |_| 100_000.0 / 31_746.0);
    file(home.path(), "b.csv", 12, |_| 100_000.0 / 20_576.0);
    let slower = run(home.path(), &["compare", "a.csv", "b.csv"]);
    assert_eq!(code(&slower), exit::REGRESSION, "{}", text(&slower));
    let out = stdout(&slower);
    for words in [
        "BASE is 1.54 times as fast as NEW",
        "54% more time than in BASE",
        "REGRESSION",
        "31.7k",
        "20.6k",
        "run-to-run spread",
        "nothing is recorded",
    ] {
        assert!(out.contains(words), "no {words:?} in {out}");
    }
    let faster = run(home.path(), &["compare", "b.csv", "a.csv"]);
    assert_eq!(code(&faster), exit::OK, "{}", text(&faster));
    assert!(stdout(&faster).contains("NEW is 1.54 times as fast as BASE"), "{}", text(&faster));
    // What is allowed is for the user to say.
    let allowed = run(home.path(), &["compare", "a.csv", "b.csv", "--tolerance", "40%"]);
    assert_eq!(code(&allowed), exit::OK, "{}", text(&allowed));
    let json = run(home.path(), &["compare", "a.csv", "b.csv", "--json"]);
    assert_eq!(code(&json), exit::REGRESSION);
    let value: Value = serde_json::from_str(&stdout(&json)).unwrap();
    assert_eq!((&value["v"], &value["regressions"]), (&Value::from(1), &Value::from(1)));
    let cell = &value["cells"][0];
    assert!((cell["speed_ratio"].as_f64().unwrap() - 0.648).abs() < 0.001);
    assert_eq!((&cell["contains_run_spread"], &cell["base"]["p99_us"]), (&Value::from(false), &Value::Null));
    assert_eq!(cell["settings_that_differ"], Value::Null);
}

#[test]
fn what_is_the_same_is_no_regression_and_what_cannot_be_compared_is_said() {
    let home = tempfile::tempdir().unwrap();
    file(home.path(), "a.csv", 30, |batch| 5.0 * jitter(batch));
    file(home.path(), "b.csv", 30, |batch| 5.0 * jitter(batch + 17));
    let output = run(home.path(), &["compare", "a.csv", "b.csv"]);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    assert!(stdout(&output).contains("no regression in 1 of 1"), "{}", text(&output));
    let far: String = (500..510).map(|batch| format!("{},5\n", batch * 100_000)).collect();
    std::fs::write(home.path().join("far.csv"), format!("rows_total,batch_seconds\n{far}")).unwrap();
    for (words, expected) in [
        (vec!["compare", "a.csv", "far.csv"], "no table size in common"),
        (vec!["compare", "a.csv", "nowhere"], "nowhere"),
        (vec!["compare", "a.csv", "b.csv", "--x", "batch_seconds", "--y", "rows_total"], "--unit"),
    ] {
        let output = run(home.path(), &words);
        assert_eq!(code(&output), exit::FAILED, "{}", text(&output));
        assert!(stderr(&output).contains(expected), "{}", text(&output));
    }
    let wrong = run(home.path(), &["compare", "a.csv", "b.csv", "--tolerance", "10"]);
    assert_eq!(code(&wrong), exit::USAGE, "{}", text(&wrong));
    // An axis that is not the size of the table.
    std::fs::write(home.path().join("c.csv"), "rows_per_commit;rows/s\n1000;5\n2000;6\n3000;7\n").unwrap();
    let output = run(home.path(), &["compare", "c.csv", "c.csv", "--x", "rows_per_commit"]);
    assert_eq!(code(&output), exit::FAILED, "{}", text(&output));
    assert!(stderr(&output).contains("not the size of the table"), "{}", text(&output));
}

#[test]
fn c20_runs_are_compared_cell_by_cell_and_every_setting_that_differs_is_named() {
    let home = tempfile::tempdir().unwrap();
    let load = |out: &str, more: &[&str]| {
        let words = ["run", "--rows", "12k", "--batch-rows", "1k", "--repeat", "2", "--quiet", "--out", out];
        let output = run(home.path(), &[&words[..], more].concat());
        assert_eq!(code(&output), exit::OK, "{}", text(&output));
    };
    load("a", &["--statement-rows", "500"]);
    load("b", &["--statement-rows", "100", "--seed", "7", "--key", "autoinc"]);
    let output = run(home.path(), &["compare", "a", "b", "--tolerance", "99%"]);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    let out = stdout(&output);
    for words in
        ["WARNING: 2 settings differ", "statement rows: 500 -> 100", "seed: 1 -> 7", "in BASE only: uuid4", "repeats"]
    {
        assert!(out.contains(words), "no {words:?} in {out}");
    }
    assert!(!out.contains("run-to-run spread"), "{out}");
    let same = run(home.path(), &["compare", "a", "a"]);
    assert_eq!(code(&same), exit::OK, "{}", text(&same));
    assert!(stdout(&same).contains("no recorded setting differs"), "{}", text(&same));
}

#[test]
fn a_forecast_says_its_range_its_model_and_its_error() {
    let home = tempfile::tempdir().unwrap();
    let cost = |batch: u64| (0.4 + 4.0 * (1.0 - 15.0 / batch as f64).max(0.0)) * jitter(batch);
    file(home.path(), "tree.csv", 60, cost);
    let output = run(home.path(), &["forecast", "tree.csv", "--at", "30M"]);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    let out = stdout(&output);
    for words in ["30,000,000 rows", "80% range", "outgrown its cache (about 1.4", "last quarter"] {
        assert!(out.contains(words), "no {words:?} in {out}");
    }
    let json = run(home.path(), &["forecast", "tree.csv", "--at", "30M", "--json"]);
    let value: Value = serde_json::from_str(&stdout(&json)).unwrap();
    let (curve, truth) = (&value["curves"][0], cost(300) / jitter(300));
    let figure = |name: &str| curve[name].as_f64().unwrap();
    assert!(figure("seconds_low") < truth && truth < figure("seconds_high"), "{value} {truth}");
    assert!(figure("seconds_high") < 1.2 * figure("seconds_low") && figure("median_error") < 0.05, "{value}");
    assert_eq!((&value["v"], &curve["model"]), (&Value::from(1), &Value::from("outgrown-cache")));
    let measured = run(home.path(), &["forecast", "tree.csv", "--at", "1M"]);
    assert!(stdout(&measured).contains("measured"), "{}", text(&measured));
}

#[test]
fn a_forecast_that_would_be_a_guess_is_refused() {
    let home = tempfile::tempdir().unwrap();
    file(home.path(), "few.csv", 19, |_| 5.0);
    file(home.path(), "late.csv", 40, |batch| if batch <= 32 { 5.0 } else { 25.0 });
    for (name, words) in [("few.csv", "20 are the least"), ("late.csv", "15% is the most")] {
        let output = run(home.path(), &["forecast", name, "--at", "1G"]);
        assert_eq!(code(&output), exit::FAILED, "{}", text(&output));
        assert!(stdout(&output).contains(words), "{}", text(&output));
    }
}

#[test]
fn one_curve_of_several_can_be_asked_for() {
    let home = tempfile::tempdir().unwrap();
    let lines: String = (1..=40)
        .map(|batch| {
            let late = if batch <= 32 { 5.0 } else { 25.0 };
            format!("{},{},{}\n", batch * 1_000_000, 5.0 * jitter(batch), late * jitter(batch))
        })
        .collect();
    std::fs::write(home.path().join("wide.csv"), format!("size,flat(s),late(s)\n{lines}")).unwrap();
    let words = |words: &[&str]| run(home.path(), words);
    // Nothing can be said of one of the two, and both were asked for.
    let both = words(&["forecast", "wide.csv", "--x", "size", "--at", "1G"]);
    assert_eq!(code(&both), exit::FAILED, "{}", text(&both));
    let flat = words(&["forecast", "wide.csv", "--x", "size", "--at", "1G", "--only", "flat"]);
    assert_eq!(code(&flat), exit::OK, "{}", text(&flat));
    assert!(!stdout(&flat).contains("late"), "{}", text(&flat));
    let compared = words(&["compare", "wide.csv", "wide.csv", "--x", "size", "--only", "flat"]);
    assert_eq!(code(&compared), exit::OK, "{}", text(&compared));
    assert!(stdout(&compared).contains("flat") && !stdout(&compared).contains("late"), "{}", text(&compared));
    let none = words(&["compare", "wide.csv", "wide.csv", "--x", "size", "--only", "steep"]);
    assert_eq!(code(&none), exit::USAGE, "{}", text(&none));
    let reported = words(&["report", "wide.csv", "--x", "size", "--out", "r.html"]);
    assert_eq!(code(&reported), exit::OK, "{}", text(&reported));
    let page = std::fs::read_to_string(home.path().join("r.html")).unwrap();
    assert!(page.contains("flat") && page.contains("late"));
}

/// A run on SQLite, with two iterations of a probe over each number of connections, so many times as fast as one that does 1000
/// operations in a second.
fn probed_run(home: &Path, name: &str, speed: f64) {
    let words = ["run", "--key", "autoinc", "--rows", "4k", "--batch-rows", "1k", "--out", name, "--quiet"];
    let output = run(home, &words);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    let curve = samples(&home.join(name))[0].curve.clone();
    let line = |connections: u32, iteration: u32| {
        // The second iteration takes twice as long.
        let seconds = f64::from(iteration) / speed;
        ProbeLine {
            curve: curve.clone(),
            batch: 4,
            table_rows: 4000,
            probe: "mixed".into(),
            connections,
            iteration,
            ops: 1000,
            seconds,
            ops_per_sec: Some(1000.0 / seconds),
            ..ProbeLine::default()
        }
    };
    let mut file = CsvAppender::open(&home.join(name).join(PROBES_FILE)).unwrap();
    file.append_all(&[line(1, 1), line(1, 2), line(25, 1), line(25, 2)]).unwrap();
}

#[test]
fn probes_of_two_runs_stand_side_by_side_without_a_verdict() {
    let home = tempfile::tempdir().unwrap();
    probed_run(home.path(), "a", 1.0);
    probed_run(home.path(), "b", 0.25);
    // Loads of four small batches differ by chance; the probes are four times slower, and that is no regression.
    let words = ["compare", "a", "b", "--tolerance", "99%"];
    let output = run(home.path(), &words);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    let rows: Vec<Vec<String>> = stdout(&output)
        .lines()
        .filter(|line| line.starts_with("  mixed"))
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect();
    let expected = |connections: &str| {
        ["mixed", "4k", connections, "1k", "667", "167", "0.250", "0.125", "to", "0.500"].map(str::to_owned).to_vec()
    };
    assert_eq!(rows, [expected("1"), expected("25")], "{}", text(&output));
    assert!(stdout(&output).contains("No verdict is drawn from probes"), "{}", text(&output));
    let json = run(home.path(), &[&words[..], &["--json"]].concat());
    let json: Value = serde_json::from_str(&stdout(&json)).unwrap();
    let probe = &json["cells"][0]["probes"][1];
    assert_eq!((&probe["connections"], &probe["ratio"]), (&Value::from(25), &Value::from(0.25)));
    assert_eq!((&probe["ratio_least"], &probe["ratio_largest"]), (&Value::from(0.125), &Value::from(0.5)));
}

#[test]
fn published_probes_stand_beside_those_of_a_run() {
    let home = tempfile::tempdir().unwrap();
    probed_run(home.path(), "a", 2.0);
    let published = format!("{}/plots/published/soliddb.csv", env!("CARGO_MANIFEST_DIR"));
    let output = run(home.path(), &["compare", &published, "a"]);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    let out = stdout(&output);
    // Two mixed loads of 1000 queries with each cache, for each number of connections.
    let rows: Vec<&str> = out.lines().filter(|line| line.starts_with("mixed")).collect();
    assert_eq!(rows.len(), 8, "{}", text(&output));
    let first: Vec<&str> = rows[0].split_whitespace().collect();
    // 1000 queries in 0.364 s; here 2000 in 1.5 s.
    let expected = "mixed 1 1k soliddb cache_size=256M 2.75k 0.364 s sqlite autoinc 4k 1.33k 0.750 s 0.485";
    assert_eq!(first.join(" "), expected);
    let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "the run has nothing beside: mixed c50 1k ops",
        "insert c200 10k ops",
        "WARNING: machine, server and version differ",
    ] {
        assert!(flat.contains(part), "no {part:?} in {out}");
    }
    assert!(stderr(&output).contains("5.0.51 (solidDB)"), "{}", text(&output));
    let json = run(home.path(), &["compare", &published, "a", "--json"]);
    assert_eq!(code(&json), exit::OK, "{}", text(&json));
    let json: Value = serde_json::from_str(&stdout(&json)).unwrap();
    assert_eq!((json["pairs"].as_array().unwrap().len(), json["only_published"].as_array().unwrap().len()), (8, 27));
}
