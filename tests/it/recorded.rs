//! Runs of before there was one table for every key are read, compared and gone on with, with the tables that they were begun with.
//! `tests/data/recorded/README.md` says how the runs were made.

use std::path::Path;

use mysql::prelude::Queryable;
use rowcliff::error::exit;
use rowcliff::record::{CurveRecord, Outcome};

use crate::support::servers::{Family, OwnServer};
use crate::support::{record, run, samples, stderr, stdout, text};

const SQLITE: [&str; 4] = ["autoinc", "uuid4:char32", "uuid7:binary16", "uuid1:char36"];
/// What was typed, but for the directory.
const WORDS: [&str; 16] = [
    "--target",
    "sqlite",
    "--rows",
    "3000",
    "--batch-rows",
    "500",
    "--statement-rows",
    "1",
    "--commit-rows",
    "1",
    "--flush",
    "1",
    "--index-order",
    "random",
    "--out",
    "r",
];

fn code(output: &std::process::Output) -> u8 {
    u8::try_from(output.status.code().expect("ended by itself")).unwrap()
}

/// A recorded run in a directory of the test's own, with what differs from place to place replaced.
fn recorded(home: &Path, name: &str, replace: &[(&str, &str)]) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/recorded").join(name);
    let to = home.join("r");
    std::fs::create_dir(&to).unwrap();
    // An empty file, which is not kept.
    std::fs::write(to.join("lock"), "").unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let text = replace.iter().fold(text, |text, (from, by)| text.replace(from, by));
                std::fs::write(to, text).unwrap();
            }
            Err(_) => drop(std::fs::copy(&path, to).unwrap()),
        }
    }
}

/// Whether a curve is whole, in the table that it had then.
fn assert_whole_in_its_own_table(curve: &CurveRecord) {
    assert_eq!((&curve.outcome, curve.table_rows), (&Outcome::Completed, 3000), "{}", curve.curve);
    let verification = curve.verification.as_ref().unwrap();
    assert_eq!((verification.counted_rows, verification.wrong_rows), (Some(3000), 0), "{}", curve.curve);
    let sql = curve.create_table.as_ref().unwrap();
    assert_eq!(sql.contains("uid"), curve.key != "autoinc", "{sql}");
    assert_eq!(sql.contains("id3"), curve.key == "autoinc", "{sql}");
    assert_eq!(sql.contains("mail"), curve.key != "autoinc", "{sql}");
}

fn assert_gone_on(home: &Path) {
    let record = record(&home.join("r"));
    assert_eq!(record.curves.iter().map(|curve| curve.key.as_str()).collect::<Vec<_>>(), SQLITE);
    record.curves.iter().for_each(assert_whole_in_its_own_table);
    assert_eq!(record.curves[1].resumptions[0].from_batch, 4);
    assert!(record.curves[2].create_table.as_ref().unwrap().contains("uid BLOB"), "{record:?}");
    let batches = samples(&home.join("r"));
    assert_eq!(batches.iter().filter(|sample| sample.key == "uuid4:char32").count(), 6);
    assert!(batches.iter().any(|sample| sample.batch == 4 && sample.has_note("resumed")));
}

#[test]
fn a_run_on_sqlite_goes_on_with_the_tables_it_was_begun_with() {
    let home = tempfile::tempdir().unwrap();
    recorded(home.path(), "sqlite", &[]);
    let output = run(home.path(), &["resume", "r", "--progress", "plain"]);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    assert_gone_on(home.path());
}

#[test]
fn the_command_line_of_then_goes_on_with_it_in_its_meaning_of_then() {
    let home = tempfile::tempdir().unwrap();
    recorded(home.path(), "sqlite", &[]);
    let with = |keys: &str| run(home.path(), &[&["run", "--continue", "--quiet", "--key", keys], &WORDS[..]].concat());
    let output = with("autoinc,uuid4:binary16,uuid7:binary16,uuid1:char36");
    assert_eq!(code(&output), exit::USAGE, "{}", text(&output));
    assert!(stderr(&output).contains("uuid4:char32"), "{}", text(&output));
    // `uuid4` was CHAR(32).
    let output = with("autoinc,uuid4,uuid7:binary16,uuid1:char36");
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    assert_gone_on(home.path());
}

#[test]
fn a_run_of_then_is_read_and_compared_with_one_of_today() {
    let home = tempfile::tempdir().unwrap();
    recorded(home.path(), "sqlite", &[]);
    let shown = stdout(&run(home.path(), &["show", "r"]));
    assert!(shown.contains("uuid4:char32") && shown.contains("uid TEXT NOT NULL PRIMARY KEY"), "{shown}");
    assert!(shown.contains("further indexes are not recorded"), "{shown}");
    let words = ["run", "--quiet", "--key", "autoinc,uuid4:char32", "--out", "n"];
    let output = run(home.path(), &[&words[..], &WORDS[..14]].concat());
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    let compared = run(home.path(), &["compare", "r", "n", "--fail-if-inconclusive"]);
    let told = stdout(&compared);
    assert_eq!(code(&compared), exit::OK, "{}", text(&compared));
    assert_eq!(told.matches("DIFFERENT TABLES").count(), 2, "{told}");
    assert!(told.contains("in NEW only: ") && told.contains("mail TEXT NOT NULL"), "{told}");
    assert!(told.contains("2 of different tables, from which no verdict is drawn"), "{told}");
    let json = stdout(&run(home.path(), &["compare", "r", "n", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    for cell in json["cells"].as_array().unwrap() {
        assert_eq!((&cell["is_regression"], &cell["is_inconclusive"]), (&false.into(), &false.into()), "{cell}");
        assert!(!cell["tables_differ"]["new"].as_array().unwrap().is_empty(), "{cell}");
    }
    // The same table on both sides is none of it, however slow.
    let json = stdout(&run(home.path(), &["compare", "n", "n", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json["cells"].as_array().unwrap().iter().all(|cell| cell["tables_differ"].is_null()), "{json}");
}

#[test]
fn a_run_on_mariadb_goes_on_with_the_tables_it_was_begun_with() {
    let Some(server) = OwnServer::start(Family::MariaDb, &[]) else { return };
    let home = tempfile::tempdir().unwrap();
    let socket = server.socket.display().to_string();
    let (target, place) = (server.target(), "\"database\": \"test\"");
    let replace = [
        ("mysql://root@localhost/fix?socket=/tmp/recorded.sock", target.as_str()),
        ("/tmp/recorded.sock", &socket),
        ("\"database\": \"fix\"", place),
    ];
    recorded(home.path(), "mariadb", &replace);
    let mut conn = server.connect();
    let left = std::fs::read_to_string(home.path().join("r/left.sql")).unwrap();
    for statement in left.split(";\n").filter(|statement| !statement.trim().is_empty()) {
        conn.query_drop(statement).unwrap();
    }
    let output = run(home.path(), &["resume", "r", "--progress", "plain"]);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    let record = record(&home.path().join("r"));
    let keys: Vec<(&str, &str)> =
        record.curves.iter().map(|curve| (curve.engine.as_str(), curve.key.as_str())).collect();
    let expected =
        ["innodb", "memory"].map(|engine| ["uuid4:char32", "autoinc", "uuid7:binary16"].map(|key| (engine, key)));
    assert_eq!(keys, expected.concat());
    record.curves.iter().for_each(assert_whole_in_its_own_table);
    let resumed = &record.curves[1].resumptions[0];
    assert_eq!((resumed.from_batch, resumed.removed_rows, resumed.lost_rows), (4, 2, 0));
    assert!(record.curves[3].create_table.as_ref().unwrap().contains("varchar(60)"), "the variant of MEMORY");
    assert_eq!(conn.query::<String, _>("SHOW TABLES").unwrap(), Vec::<String>::new());
}
