//! MariaDB as somebody else's server.

use mysql::prelude::Queryable;
use rowcliff::error::exit;
use rowcliff::record::Outcome;
use serde_json::Value;

use crate::support::servers::{Family, OwnServer};
use crate::support::{external, record, run, stdout, text};

external::tests!(Family::MariaDb);

#[test]
fn rows_that_bulk_loading_of_myrocks_hides_are_found_before_anything_is_timed() {
    let Some(server) = OwnServer::start(Family::MariaDb, &["--plugin-load-add=ha_rocksdb"]) else { return };
    let (home, mut conn) = (tempfile::tempdir().unwrap(), server.connect());
    let load = |out: &str| {
        let target = server.target();
        let words = ["run", "--target", &target, "--engine", "rocksdb", "--key", "autoinc,uuid4", "--connections", "2"];
        let sizes = ["--rows", "4k", "--batch-rows", "1k", "--quiet", "--out", out];
        let output = run(home.path(), &[&words[..], &sizes].concat());
        (output.status.code(), record(&home.path().join(out)).curves, text(&output))
    };
    for (out, unsorted) in [("sorted", 0), ("unsorted", 1)] {
        conn.query_drop("SET GLOBAL rocksdb_bulk_load=0").unwrap();
        conn.query_drop(format!("SET GLOBAL rocksdb_bulk_load_allow_unsorted={unsorted}")).unwrap();
        conn.query_drop("SET GLOBAL rocksdb_bulk_load=1").unwrap();
        let (code, curves, text) = load(out);
        assert_eq!(code, Some(i32::from(exit::FAILED)), "{text}");
        for curve in curves {
            let Outcome::Skipped { why, environment: true } = &curve.outcome else { panic!("{text}") };
            assert!(why.contains("rocksdb_bulk_load=ON"), "{why}");
            assert_eq!((curve.batches, &curve.started_at), (0, &None));
        }
    }
    conn.query_drop("SET GLOBAL rocksdb_bulk_load=0").unwrap();
    let (code, curves, text) = load("off");
    assert_eq!(code, Some(i32::from(exit::OK)), "{text}");
    assert!(curves.iter().all(|curve| curve.verification.as_ref().unwrap().is_right()), "{text}");
    // Nothing of the trials is left.
    let left: Vec<String> = conn.query("SHOW TABLES LIKE 'rowcliff%'").unwrap();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn an_engine_that_keeps_no_row_runs_and_is_never_the_fastest() {
    let Some(server) = OwnServer::start(Family::MariaDb, &["--plugin-load-add=ha_blackhole"]) else { return };
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let load = |engines: &str, out: &str| {
        let target = server.target();
        let words = ["run", "--target", &target, "--engine", engines, "--key", "autoinc", "--quiet", "--out", out];
        let output = run(home, &[&words[..], &["--rows", "8k", "--batch-rows", "1k", "--connections", "2"]].concat());
        assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
        stdout(&output)
    };
    let shown = load("blackhole,innodb,aria", "three");
    assert!(shown.contains("keeps no row"), "{shown}");
    load("blackhole", "one");
    load("innodb", "kept");
    let curves = record(&home.join("three")).curves;
    let kept: Vec<Option<bool>> = curves.iter().map(|curve| curve.keeps_rows).collect();
    assert_eq!(kept, [Some(false), Some(true), Some(true)]);
    let report = std::fs::read_to_string(home.join("three/report.html")).unwrap();
    assert!(report.contains("In no ranking: blackhole") && !report.contains("Fastest at its end: blackhole"));
    assert!(report.contains("Fastest at its end: "));
    let json: Value = serde_json::from_str(&stdout(&run(home, &["show", "three", "--json"]))).unwrap();
    let curve = &json["curves"][0];
    assert_eq!(
        (&curve["engine"], &curve["outcome"], &curve["verified"]),
        (&"blackhole".into(), &"completed".into(), &false.into())
    );
    assert!(curve["in_no_ranking"].as_str().unwrap().contains("keeps no row"), "{curve}");
    assert_eq!((&json["curves"][1]["verified"], &json["curves"][1]["in_no_ranking"]), (&true.into(), &Value::Null));
    let both = run(home, &["compare", "one", "one"]);
    assert_eq!(both.status.code(), Some(i32::from(exit::OK)), "{}", text(&both));
    assert!(stdout(&both).contains("both keep no row"), "{}", text(&both));
    for words in [["compare", "one", "kept"], ["compare", "kept", "one"]] {
        let mixed = run(home, &words);
        assert_eq!(mixed.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&mixed));
        assert!(!stdout(&mixed).contains("times as fast"), "{}", text(&mixed));
    }
}
