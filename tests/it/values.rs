//! What columns hold, and what a table asks of its values: on SQLite, which needs no server.

use std::path::Path;

use rowcliff::record::{CurveRecord, Outcome};

use crate::support::schemas::{Database, check_promised, made_up};
use crate::support::{record, run, stdout, text};

fn load(home: &Path, schema: &str, more: &[&str]) -> CurveRecord {
    std::fs::write(home.join("t.sql"), schema).unwrap();
    let _ = std::fs::remove_dir_all(home.join("out"));
    let words = [
        "run",
        "--key",
        "autoinc",
        "--schema",
        "t.sql",
        "--rows",
        "4000",
        "--batch-rows",
        "1000",
        "--out",
        "out",
        "--quiet",
        "--plots-every",
        "0",
    ];
    let output = run(home, &[&words[..], more].concat());
    assert!(home.join("out/run.json").exists(), "{}", text(&output));
    record(&home.join("out")).curves.remove(0)
}

/// It loads, and what is in it is what was sent.
fn loads(home: &Path, schema: &str, more: &[&str]) -> CurveRecord {
    let curve = load(home, schema, more);
    assert_eq!(curve.outcome, Outcome::Completed, "{schema}");
    let verification = curve.verification.clone().unwrap();
    assert!(verification.compared_rows > 0 && verification.wrong_rows == 0, "{verification:?}");
    curve
}

/// It is refused before the first row, in these words.
fn refused(home: &Path, schema: &str, more: &[&str], parts: &[&str]) {
    let curve = load(home, schema, more);
    let Outcome::Skipped { why, .. } = &curve.outcome else { panic!("{schema}: {:?}", curve.outcome) };
    assert!(parts.iter().all(|part| why.contains(part)), "{why}");
}

fn query<T: rusqlite::types::FromSql>(home: &Path, sql: &str) -> T {
    let file = std::fs::read_dir(home.join("out")).unwrap().flatten().map(|entry| entry.path());
    let file = file.into_iter().find(|path| path.extension().is_some_and(|end| end == "sqlite")).unwrap();
    let conn = rusqlite::Connection::open(file).unwrap();
    let table: String =
        conn.query_row("SELECT name FROM sqlite_schema WHERE type = 'table'", [], |row| row.get(0)).unwrap();
    conn.query_row(&sql.replace("{t}", &format!("\"{table}\"")), [], |row| row.get(0)).unwrap()
}

#[test]
fn secondary_indexes_are_random_in_a_table_of_ones_own() {
    let home = tempfile::tempdir().unwrap();
    let schema =
        "CREATE TABLE {table} (id INTEGER PRIMARY KEY, v INT NOT NULL, w TEXT); CREATE INDEX {index} ON {table} (v)";
    let rises = "SELECT COUNT(*) FROM {t} AS a JOIN {t} AS b ON b.id = a.id + 1 WHERE b.v > a.v";
    loads(home.path(), schema, &["--keep"]);
    let rising: i64 = query(home.path(), rises);
    assert!((1_800..2_200).contains(&rising), "{rising} of 3999");
    let shown = stdout(&run(home.path(), &["show", "out"]));
    assert!(shown.contains("values: index order random"), "{shown}");
    loads(home.path(), schema, &["--keep", "--index-order", "ascending"]);
    assert_eq!(query::<i64>(home.path(), rises), 3_999);
    let shown = stdout(&run(home.path(), &["show", "out"]));
    assert!(shown.contains("values: index order ascending"), "{shown}");
}

#[test]
fn columns_hold_what_was_asked_for() {
    let home = tempfile::tempdir().unwrap();
    let schema = "CREATE TABLE {table} (id INTEGER PRIMARY KEY, kind INT NOT NULL, hot VARCHAR(20) NOT NULL, note TEXT, n INT, s INT NOT NULL); CREATE INDEX {index} ON {table} (kind)";
    let fill = [
        "--fill",
        "kind=distinct:7",
        "--fill",
        "hot=distinct:50,zipf:1.2",
        "--fill",
        "note=length:5..9,null:0",
        "--fill",
        "n=null:0.5",
        "--fill",
        "s=ascending",
        "--keep",
    ];
    let curve = loads(home.path(), schema, &fill);
    assert!(curve.notes.iter().any(|note| note.contains("verification counts the rows")), "{:?}", curve.notes);
    assert_eq!(query::<i64>(home.path(), "SELECT COUNT(DISTINCT kind) FROM {t}"), 7);
    assert_eq!(query::<i64>(home.path(), "SELECT COUNT(DISTINCT hot) FROM {t}"), 50);
    let most: i64 = query(home.path(), "SELECT MAX(c) FROM (SELECT COUNT(*) AS c FROM {t} GROUP BY hot)");
    // 1 / sum of k^-1.2 for 50 values is 0.301.
    assert!((1_100..1_310).contains(&most), "{most} of 4000");
    assert_eq!(
        query::<i64>(home.path(), "SELECT COUNT(*) FROM {t} WHERE length(note) NOT BETWEEN 5 AND 9 OR note IS NULL"),
        0
    );
    let nulls: i64 = query(home.path(), "SELECT COUNT(*) FROM {t} WHERE n IS NULL");
    assert!((1_850..2_150).contains(&nulls), "{nulls} of 4000");
    assert_eq!(query::<i64>(home.path(), "SELECT COUNT(*) FROM {t} WHERE s <> id - 1"), 0);
    let shown = stdout(&run(home.path(), &["show", "out"]));
    assert!(shown.contains("hot=distinct:50,zipf:1.2"), "{shown}");
}

#[test]
fn what_cannot_be_filled_so_is_refused_before_the_first_row() {
    let home = tempfile::tempdir().unwrap();
    let schema = "CREATE TABLE {table} (id INTEGER PRIMARY KEY, v TINYINT NOT NULL, w VARCHAR(10) UNIQUE, g INT AS (v + 1) STORED, d DATE)";
    for (fill, parts) in [
        ("x=null:0", ["--fill x: ", "it has v, w, d"]),
        ("g=null:0", ["--fill g: ", "computes it"]),
        ("id=distinct:5", ["--fill id: ", "counts it by itself"]),
        ("v=null:0.5", ["--fill v: ", "NOT NULL"]),
        ("w=distinct:100", ["--fill w: ", "4000 rows"]),
        ("w=length:5..11", ["--fill w: ", "beyond the 10"]),
        ("v=distinct:1000", ["--fill v: ", "room for 256"]),
        ("d=length:3", ["--fill d: ", "no length"]),
    ] {
        refused(home.path(), schema, &["--fill", fill], &parts);
    }
    for fill in ["v=zipf:1.1", "v=distinct:9,distinct:8", "v=sorted"] {
        let output = run(home.path(), &["run", "--fill", fill]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    }
}

#[test]
fn a_plan_file_has_a_table_of_columns() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("p.toml"), "key = [\"autoinc\"]\nrows = 2000\nbatch-rows = 1000\n[fill]\nid2 = \"distinct:9,random\"\nid3 = [\"null:0.25\", \"distinct:3\"]\n").unwrap();
    let printed = stdout(&run(home.path(), &["check", "--plan", "p.toml", "--print-plan"]));
    assert!(
        printed.contains("fill = { \"id2\" = \"distinct:9,random\", \"id3\" = \"null:0.25,distinct:3\" }"),
        "{printed}"
    );
    std::fs::write(home.path().join("q.toml"), &printed).unwrap();
    assert_eq!(stdout(&run(home.path(), &["check", "--plan", "q.toml", "--print-plan"])), printed);
    let checked = stdout(&run(home.path(), &["check", "--plan", "p.toml"]));
    assert!(checked.contains("values: index order ascending id2=distinct:9,random"), "{checked}");
    assert!(checked.contains("verification counts the rows"), "{checked}");
    std::fs::write(home.path().join("bad.toml"), "rows = 5\n[fill]\nid2 = \"zipf:1\"\n").unwrap();
    let output = run(home.path(), &["check", "--plan", "bad.toml"]);
    assert!(output.status.code() == Some(2) && text(&output).contains("bad.toml:2"), "{}", text(&output));
}

#[test]
fn what_a_table_asks_of_its_values_is_met_or_named() {
    let home = tempfile::tempdir().unwrap();
    let id = "CREATE TABLE {table} (id INTEGER PRIMARY KEY,";
    for table in [
        "v INTEGER NOT NULL, twice INTEGER AS (v * 2) STORED, UNIQUE (twice))",
        "deleted TINYINT NOT NULL, name TEXT NOT NULL, live TEXT AS (CASE WHEN deleted = 0 THEN name END) STORED, UNIQUE (live))",
        "name VARCHAR(4) NOT NULL); CREATE UNIQUE INDEX {index} ON {table} (lower(name))",
        "v INT NOT NULL CHECK (v >= 0), w TEXT CHECK (length(w) < 100))",
        "parent INT REFERENCES {table} (id), v INT)",
        "a INT NOT NULL, parent INT, v INT, UNIQUE (v, id), FOREIGN KEY (a, parent) REFERENCES {table} (v, id))",
    ] {
        loads(home.path(), &format!("{id} {table}"), &[]);
    }
    for (table, parts) in [
        (
            "state TEXT NOT NULL CHECK (state IN ('open', 'closed')))",
            ["column state: CHECK (state IN ('open', 'closed'))", "drop the check"],
        ),
        (
            "v INT NOT NULL, CONSTRAINT small CHECK (v < 2500)); CREATE INDEX {index} ON {table} (v)",
            ["column v: CHECK small (v < 2500)", "--fill v=distinct:N"],
        ),
        ("v INT NOT NULL, m INT AS (v % 100) STORED UNIQUE)", ["column v: unique index", "on (v % 100)"]),
        (
            "v INT NOT NULL); CREATE UNIQUE INDEX {index} ON {table} (v % 100)",
            ["column v: unique index", "on (v % 100)"],
        ),
        ("parent INT NOT NULL REFERENCES {table} (id))", ["column parent", "drop the foreign key"]),
    ] {
        refused(home.path(), &format!("{id} {table}"), &[], &parts);
    }
    // A check that only later rows break, with values that ascend; and the change that helps.
    let later = format!("{id} v INT NOT NULL, CHECK (v < 2500)); CREATE INDEX {{index}} ON {{table}} (v)");
    refused(home.path(), &later, &["--index-order", "ascending"], &["column v: CHECK (v < 2500)"]);
    loads(home.path(), &later, &["--fill", "v=distinct:2500"]);
}

#[test]
fn made_up_tables_are_loaded_or_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    let (mut loaded, mut named) = (0, 0);
    for seed in 0..24 {
        let schema = made_up(seed, Database::Sqlite);
        let more: &[&str] = if seed % 3 == 0 { &["--method", "prepared"] } else { &[] };
        let curve = load(home.path(), &schema, more);
        let check =
            ["check", "--try", "--key", "autoinc", "--schema", "t.sql", "--rows", "4000", "--batch-rows", "1000"];
        check_promised(&stdout(&run(home.path(), &[&check[..], more].concat())), &curve.outcome);
        match &curve.outcome {
            Outcome::Completed => {
                let verification = curve.verification.unwrap();
                assert!(verification.compared_rows > 0 && verification.wrong_rows == 0, "{schema}: {verification:?}");
                loaded += 1;
            }
            Outcome::Skipped { why, .. } => {
                assert!(why.contains("column") || why.contains("unique index"), "{schema}: {why}");
                named += 1;
            }
            other => panic!("{schema}: {other:?}"),
        }
    }
    assert!(loaded >= 8 && named >= 3, "{loaded} loaded, {named} refused");
}

#[test]
fn what_breaks_at_a_later_row_is_named_and_not_offered_to_resume() {
    let home = tempfile::tempdir().unwrap();
    // Row 25 is none of those that the trial sends.
    let schema = "CREATE TABLE {table} (id INTEGER PRIMARY KEY, v INT NOT NULL CHECK (v <> 25))";
    std::fs::write(home.path().join("t.sql"), schema).unwrap();
    let words = [
        "run",
        "--key",
        "autoinc",
        "--schema",
        "t.sql",
        "--rows",
        "4000",
        "--batch-rows",
        "1000",
        "--fill",
        "v=ascending",
    ];
    let output = run(home.path(), &[&words[..], &["--out", "out"]].concat());
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("rowcliff clean") && !said.contains("rowcliff resume"), "{said}");
    let curve = record(&home.path().join("out")).curves.remove(0);
    let Outcome::Failed { message, .. } = &curve.outcome else { panic!("{:?}", curve.outcome) };
    assert!(message.contains("column v: CHECK (v <> 25)"), "{message}");
    assert!(curve.cannot_go_on);
}
