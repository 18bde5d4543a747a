//! What `show`, `plot` and `report` make of `probes.csv`, from outside.

use std::path::Path;

use rowcliff::error::exit;
use rowcliff::record::probe::PROBES_FILE;
use rowcliff::record::store::{BATCHES_FILE, CsvAppender};
use rowcliff::record::{ProbeLine, Sample};

use crate::support::{run, stderr, stdout, text};

/// A run of ten batches with these probes: batch, probe, connections, iteration, seconds.
fn write(home: &Path, probes: &[(u64, &str, u32, u32, f64)]) {
    std::fs::create_dir_all(home).unwrap();
    let sample = |batch: u64| Sample {
        curve: "aria autoinc".into(),
        engine: "aria".into(),
        key: "autoinc".into(),
        connections: 4,
        batch,
        rows: 100_000,
        table_rows: batch * 100_000,
        seconds: 1.0,
        ..Sample::default()
    };
    CsvAppender::open(&home.join(BATCHES_FILE)).unwrap().append_all(&(1..=10).map(sample).collect::<Vec<_>>()).unwrap();
    let line = |&(batch, probe, connections, iteration, seconds): &(u64, &str, u32, u32, f64)| ProbeLine {
        curve: "aria autoinc".into(),
        batch,
        table_rows: batch * 100_000,
        probe: probe.into(),
        connections,
        iteration,
        ops: 1000,
        seconds,
        ops_per_sec: (seconds > 0.0).then(|| 1000.0 / seconds),
        ..ProbeLine::default()
    };
    let lines: Vec<ProbeLine> = probes.iter().map(line).collect();
    CsvAppender::open(&home.join(PROBES_FILE)).unwrap().append_all(&lines).unwrap();
}

fn good(home: &Path, words: &[&str]) -> String {
    let output = run(home, words);
    assert!(output.status.success(), "{words:?}: {}", text(&output));
    stdout(&output)
}

#[test]
fn probes_are_shown_in_every_form() {
    let home = tempfile::tempdir().unwrap();
    let all = [
        (5, "mixed", 1, 1, 0.3),
        (5, "mixed", 1, 2, 0.5),
        (10, "mixed", 1, 1, 0.371),
        (10, "mixed", 1, 2, 0.247),
        (10, "mixed", 50, 1, 0.0004),
        (10, "select-pk", 1, 1, 0.02),
    ];
    write(home.path(), &all);
    let table = good(home.path(), &["show", "--probes", "."]);
    assert!(table.contains("aria autoinc") && table.contains("0.309  0.247  0.371     3236.25"), "{table}");
    assert!(table.contains("Less than 1.5x slower at the largest table than at the smallest: mixed c1."), "{table}");
    assert!(good(home.path(), &["show", "."]).contains("show --probes has what they found"));
    let csv = good(home.path(), &["show", "--probes", "--csv", "."]);
    assert_eq!(csv.lines().count(), 5, "{csv}");
    let json: serde_json::Value =
        serde_json::from_str(&good(home.path(), &["show", "--probes", "--json", "."])).unwrap();
    assert!(
        (json[1]["ops_per_sec"].as_f64().unwrap() - 3236.246).abs() < 0.001 && json[1]["p99_us"].is_null(),
        "{json}"
    );
    assert!(good(home.path(), &["show", "--probes", "--markdown", "."]).contains("| 1M | select-pk | 1 |"));

    let slap = run(home.path(), &["show", "--as", "mysqlslap", "."]);
    assert_eq!(
        stdout(&slap),
        "aria,mixed,0.309,0.247,0.371,1,1000\naria,mixed,0.000,0.000,0.000,50,20\naria,key,0.020,0.020,0.020,1,1000\n"
    );
    assert!(stderr(&slap).contains("these are of 1M rows, without 500k rows"), "{}", text(&slap));
    let first = good(home.path(), &["show", "--as", "mysqlslap", "--probe-at", "100k", "."]);
    assert_eq!(first, "aria,mixed,0.400,0.300,0.500,1,1000\n");
    let beyond = run(home.path(), &["show", "--as", "mysqlslap", "--probe-at", "5M", "."]);
    assert_eq!((beyond.status.code(), stdout(&beyond).as_str()), (Some(i32::from(exit::FAILED)), ""));
    assert!(stderr(&beyond).contains("no probe ran at 5M rows or more"), "{}", text(&beyond));
}

#[test]
fn a_run_without_probes_says_how_to_get_some() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), &[]);
    for words in
        [&["show", "--probes", "."][..], &["show", "--as", "mysqlslap", "."], &["plot", "--what", "probes", "."]]
    {
        let output = run(home.path(), words);
        assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{words:?}: {}", text(&output));
        assert!(stderr(&output).contains("run --probe"), "{}", text(&output));
        assert_eq!(stdout(&output), "");
    }
    assert_eq!(good(home.path(), &["plot", "."]).lines().count(), 2);
    let report = good(home.path(), &["report", "."]);
    assert!(!std::fs::read_to_string(home.path().join(report.trim())).unwrap().contains("id=\"probes\""));
}

#[test]
fn pictures_of_probes_are_drawn_where_there_are_probes() {
    let home = tempfile::tempdir().unwrap();
    let one = home.path().join("one");
    write(&one, &[(5, "oltp", 4, 1, 1.0), (10, "oltp", 4, 1, 2.0)]);
    let stems = |out: &str| {
        let mut stems: Vec<String> = out.lines().map(|line| line.rsplit('/').next().unwrap().to_owned()).collect();
        stems.sort();
        stems
    };
    let usual = ["inserts-per-second.svg", "probes.svg", "seconds-per-batch.svg"];
    assert_eq!(stems(&good(home.path(), &["plot", "one"])), usual);
    assert_eq!(stems(&good(home.path(), &["plot", "one", "--what", "probes"])), ["probes.svg"]);
    assert_eq!(stems(&good(home.path(), &["plot", "one", "--what", "rate"])), ["inserts-per-second.svg"]);
    let several = home.path().join("several");
    write(
        &several,
        &[(5, "oltp", 4, 1, 1.0), (10, "oltp", 4, 1, 2.0), (10, "oltp", 64, 1, 1.5), (10, "oltp", 1, 1, 0.0)],
    );
    let both = ["probes-by-connections.png", "probes.png"];
    assert_eq!(stems(&good(home.path(), &["plot", "several", "--what", "probes", "--format", "png"])), both);
    assert_eq!(good(home.path(), &["plot", "several", "--what", "probes", "-o", "x.svg"]), "x.svg\n");
    assert!(stems(&good(home.path(), &["plot", "several", "--what", "all"])).contains(&"probes.svg".to_owned()));
    let svg = std::fs::read_to_string(home.path().join("x.svg")).unwrap();
    assert!(
        svg.contains("Operations per second as the table grows") && svg.contains("\noltp\n") || svg.contains("\nc64\n")
    );
    let report = good(home.path(), &["report", "several"]);
    let html = std::fs::read_to_string(home.path().join(report.trim())).unwrap();
    assert!(html.contains("id=\"probes\"") && html.contains("Operations per second by connections"), "{html}");
}
