//! A table of one's own, as it is pasted: what is taken of it, what is refused and in which words, and what `check` promises of it.

use std::path::Path;

use mysql::prelude::Queryable;
use rowcliff::error::exit;
use rowcliff::record::{CurveRecord, Outcome};

use crate::support::servers::{Family, OwnServer};
use crate::support::{record, run, stdout, text};

const DUMPS: [(&str, &str); 6] = [
    ("orders", "own"),
    ("posts", "own"),
    ("rentals", "own"),
    ("events", "uuid4:native"),
    ("ledger", "own"),
    ("logs", "own"),
];

const SMALL: [&str; 6] = ["--rows", "3k", "--batch-rows", "1k", "--connections", "2"];

fn dump(name: &str) -> String {
    format!("{}/tests/data/dumps/{name}.sql", env!("CARGO_MANIFEST_DIR"))
}

fn words<'a>(first: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    first.iter().chain(more).copied().collect()
}

/// Runs and gives the curves; every one has to be whole and compared.
fn loaded(home: &Path, words: &[&str]) -> Vec<CurveRecord> {
    let out = home.join("r");
    let _ = std::fs::remove_dir_all(&out);
    let mut all = vec!["run", "--out", "r"];
    all.extend(words);
    let output = run(home, &all);
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{words:?}: {}", text(&output));
    let curves = record(&out).curves;
    for curve in &curves {
        assert_eq!(curve.outcome, Outcome::Completed, "{}", curve.curve);
        let verification = curve.verification.as_ref().unwrap();
        assert_eq!((verification.compared_rows, verification.wrong_rows), (1000, 0), "{}", curve.curve);
    }
    curves
}

#[test]
fn dumps_of_public_shapes_load_unchanged() {
    let Some(server) = OwnServer::start(Family::MariaDb, &[]) else { return };
    let home = tempfile::tempdir().unwrap();
    for (name, key) in DUMPS {
        let (target, dump) = (server.target(), dump(name));
        let given = words(&["--target", &target, "--schema", &dump], &SMALL);
        let checked = run(home.path(), &words(&["check", "--try"], &given));
        assert_eq!(checked.status.code(), Some(i32::from(exit::OK)), "{name}: {}", text(&checked));
        assert!(stdout(&checked).contains("1 of 1 curves would run"), "{name}: {}", stdout(&checked));
        let curves = loaded(home.path(), &given);
        assert_eq!(curves.len(), 1, "{name}");
        assert_eq!((curves[0].key.as_str(), curves[0].settings.as_str()), (key, &*format!("schema={name}")));
        let left: Vec<String> = server.connect().query("SHOW TABLES LIKE 'rowcliff%'").unwrap();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn nothing_of_a_dump_but_its_table_is_executed() {
    let Some(server) = OwnServer::start(Family::MariaDb, &[]) else { return };
    let home = tempfile::tempdir().unwrap();
    let database: String = server.connect().query_first("SELECT DATABASE()").unwrap().unwrap_or_else(|| "test".into());
    let victim = "CREATE TABLE victim (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, x INT, CONSTRAINT one CHECK (x > 0 OR x <= 0), \
        CONSTRAINT two FOREIGN KEY (x) REFERENCES victim (id)) COMMENT 'it''s; DROP TABLE victim'";
    server.connect().query_drop(format!("USE `{database}`")).unwrap();
    server.connect().query_drop(victim).unwrap();
    server.connect().query_drop("INSERT INTO victim (x) VALUES (NULL)").unwrap();
    let dump = format!(
        "\u{FEFF}/*!40101 SET GLOBAL max_connections=77 */;\r\nDROP TABLE IF EXISTS `victim`;\r\n{victim};\r\nDELETE FROM victim;\r\n\
         DELIMITER ;;\r\n/*!50003 CREATE*/ /*!50003 TRIGGER t BEFORE INSERT ON victim FOR EACH ROW BEGIN SET NEW.x = 1; END */;;\r\nDELIMITER ;\r\n"
    );
    std::fs::write(home.path().join("victim.sql"), dump).unwrap();
    let target = server.target();
    let given = words(&["--target", &target, "--schema", "victim.sql", "--key", "autoinc"], &SMALL);
    let curves = loaded(home.path(), &given);
    let made = curves[0].create_table.clone().unwrap();
    assert!(made.contains("_1_one`") && made.contains("_2_two`") && !made.contains("`victim`"), "{made}");
    let rows: Option<u64> = server.connect().query_first("SELECT COUNT(*) FROM victim").unwrap();
    assert_eq!(rows, Some(1));
    let connections: Option<u64> = server.connect().query_first("SELECT @@GLOBAL.max_connections").unwrap();
    assert_ne!(connections, Some(77));
    // The same definition from where it is.
    let given = words(&["--target", &target, "--schema", "table:victim"], &SMALL);
    assert_eq!(loaded(home.path(), &given)[0].settings, "schema=victim");
    let missing = run(home.path(), &words(&["check", "--target", &target, "--schema", "table:nobody"], &SMALL));
    assert_eq!(missing.status.code(), Some(i32::from(exit::USAGE)), "{}", text(&missing));
    assert!(text(&missing).contains("table:nobody") && text(&missing).contains("1146"), "{}", text(&missing));
}

#[test]
fn check_names_what_only_a_trial_tells_and_a_trial_tells_it() {
    let Some(server) = OwnServer::start(Family::MariaDb, &[]) else { return };
    let home = tempfile::tempdir().unwrap();
    let (target, dump) = (server.target(), dump("ledger"));
    let given = words(&["check", "--target", &target, "--schema", &dump], &SMALL);
    let looked = run(home.path(), &given);
    assert!(stdout(&looked).contains("not tried: "), "{}", text(&looked));
    assert!(stdout(&looked).contains("1 CHECK constraint, 1 generated column; --try"), "{}", text(&looked));
    assert!(stdout(&looked).contains("0 of 1 curves would run (1 not tried)"), "{}", text(&looked));
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    let impossible = "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL, CHECK (v < 0 AND v > 0))";
    std::fs::write(home.path().join("t.sql"), impossible).unwrap();
    let given = words(&["--target", &target, "--schema", "t.sql"], &SMALL);
    let tried = run(home.path(), &words(&["check", "--try"], &given));
    assert_eq!(tried.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&tried));
    let ran = run(home.path(), &words(&["run", "--out", "r"], &given));
    assert_eq!(ran.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&ran));
}

/// Constraints have names of their own in a database: each run's copy is called otherwise, and is the same table.
#[test]
fn two_runs_of_a_pasted_table_have_one_table() {
    let Some(server) = OwnServer::start(Family::MariaDb, &[]) else { return };
    let home = tempfile::tempdir().unwrap();
    let sql = "CREATE TABLE nodes (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, parent INT NULL, v INT NOT NULL, KEY (parent), \
               CONSTRAINT v_small CHECK (v >= 0), CONSTRAINT up FOREIGN KEY (parent) REFERENCES nodes (id))";
    std::fs::write(home.path().join("t.sql"), sql).unwrap();
    let target = server.target();
    for out in ["a", "b"] {
        let output = run(home.path(), &words(&["run", "--target", &target, "--schema", "t.sql", "--out", out], &SMALL));
        assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    }
    let compared = stdout(&run(home.path(), &["compare", "a", "b"]));
    assert!(compared.contains("innodb own") && !compared.contains("DIFFERENT TABLES"), "{compared}");
    let looked = stdout(&run(home.path(), &words(&["check", "--target", &target, "--schema", "t.sql"], &SMALL)));
    assert!(looked.contains("CONSTRAINT v_small CHECK") && looked.contains("REFERENCES itself (id)"), "{looked}");
}

#[test]
fn every_form_of_a_definition_makes_the_same_curve() {
    let home = tempfile::tempdir().unwrap();
    let plain = "CREATE TABLE orders (\n  id INTEGER PRIMARY KEY,\n  name TEXT NOT NULL, [group] TEXT\n)";
    let stars = "*".repeat(27);
    let forms = [
        plain.to_owned(),
        format!("{plain};\r\nCREATE INDEX by_name ON orders (name);\r\n").replace('\n', "\r\n"),
        format!("\u{FEFF}{plain}"),
        format!("{stars} 1. row {stars}\n       Table: orders\nCreate Table: {plain}\n1 row in set (0.001 sec)\n"),
        format!("orders\t{}\n", plain.replace('\n', "\\n")),
        format!(
            "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n{plain};\nINSERT INTO orders VALUES (1, 'a', 'b');\nCOMMIT;\n"
        ),
        plain.replace("orders", "{table}"),
    ];
    for form in forms {
        std::fs::write(home.path().join("orders.sql"), &form).unwrap();
        let curves = loaded(home.path(), &["--schema", "orders.sql", "--rows", "3k", "--batch-rows", "1k"]);
        assert_eq!(curves.len(), 1, "{form}");
        assert_eq!((curves[0].key.as_str(), curves[0].settings.as_str()), ("own", "schema=orders"), "{form}");
    }
}

#[test]
fn keys_that_a_table_cannot_take_are_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    let asked = |schema: &str, more: &[&str]| {
        std::fs::write(home.path().join("t.sql"), schema).unwrap();
        run(home.path(), &words(&["check", "--schema", "t.sql", "--rows", "3k", "--batch-rows", "1k"], more))
    };
    let natural = "CREATE TABLE t (shop INT, no INT, v TEXT, PRIMARY KEY (shop, no))";
    let output = asked(natural, &["--key", "uuid4,autoinc,own"]);
    assert!(stdout(&output).contains("holds no UUID of this kind: shop is INT, no is INT"), "{}", text(&output));
    assert!(
        stdout(&output).contains("no column that the database counts: shop is INT, no is INT"),
        "{}",
        text(&output)
    );
    assert!(stdout(&output).contains("1 of 3 curves would run"), "{}", text(&output));
    let output = asked("CREATE TABLE t (id TEXT PRIMARY KEY, v INT)", &["--key", "uuid1,uuid7"]);
    assert!(stdout(&output).contains("2 of 2 curves would run"), "{}", text(&output));
    let output = asked("CREATE TABLE {table} (id {key}, v INT, PRIMARY KEY (id))", &[]);
    assert!(stdout(&output).contains("2 of 2 curves would run"), "{}", text(&output));
    for (schema, more, expected) in [
        (
            "CREATE TABLE a (x INT); CREATE TABLE b (y INT)",
            &[][..],
            "2 tables in it (a, b); choose one with --schema-table",
        ),
        ("CREATE TABLE a (x INT)", &["--schema-table", "c"], "there is no table c in it; it has a"),
        ("CREATE TABLE a AS SELECT 1", &[], "AS SELECT"),
        ("CREATE TABLE a LIKE b", &[], "LIKE b"),
        ("DROP TABLE a", &[], "no CREATE TABLE"),
        ("CREATE TABLE a (x {what})", &[], "{what} is not a placeholder"),
    ] {
        let output = asked(schema, more);
        assert_eq!(output.status.code(), Some(i32::from(exit::USAGE)), "{schema}: {}", text(&output));
        assert!(text(&output).contains(expected), "{schema}: {}", text(&output));
    }
    let output = run(home.path(), &["check", "--target", "scratch", "--schema", "table:shop.orders", "--rows", "1k"]);
    assert!(text(&output).contains("mysqldump --no-data shop orders > orders.sql"), "{}", text(&output));
    assert_eq!(output.status.code(), Some(i32::from(exit::USAGE)));
}

#[test]
fn a_table_of_a_sqlite_file_is_read_and_never_touched() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("app.db");
    let app = rusqlite::Connection::open(&file).unwrap();
    app.execute_batch("CREATE TABLE notes (id INTEGER PRIMARY KEY, t TEXT); CREATE INDEX by_t ON notes (t); INSERT INTO notes VALUES (1, 'x')")
        .unwrap();
    drop(app);
    let before = std::fs::read(&file).unwrap();
    let given = ["--target", "sqlite:app.db", "--schema", "table:notes", "--rows", "3k", "--batch-rows", "1k"];
    assert_eq!(loaded(home.path(), &given)[0].settings, "schema=notes");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 2, "app.db and r");
}

#[test]
fn a_table_that_is_larger_than_the_disk_is_refused_with_both_figures() {
    let home = tempfile::tempdir().unwrap();
    let huge = |more: &[&str]| run(home.path(), &words(&["check", "--rows", "1000G", "--key", "autoinc"], more));
    let output = huge(&[]);
    assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&output));
    assert!(
        stdout(&output).contains("rows will need about") && stdout(&output).contains("are free in"),
        "{}",
        text(&output)
    );
    assert!(stdout(&output).contains("--no-disk-check"), "{}", text(&output));
    let output = huge(&["--no-disk-check"]);
    assert!(stdout(&output).contains("1 of 1 curves would run"), "{}", text(&output));
    assert!(stdout(&output).contains("--min-free-disk stops the curve"), "{}", text(&output));
    let output = huge(&["--max-table-bytes", "10M"]);
    assert!(stdout(&output).contains("1 of 1 curves would run"), "{}", text(&output));
    let output = huge(&["--max-table-bytes", "900T"]);
    assert!(
        stdout(&output).contains("will need about") || stdout(&output).contains("--max-table-bytes lets"),
        "{}",
        text(&output)
    );
    // No batch is loaded, no file is left.
    let output = run(home.path(), &["run", "--rows", "1000G", "--key", "autoinc", "--out", "r"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&output));
    assert!(
        matches!(&record(&home.path().join("r")).curves[0].outcome, Outcome::Skipped { why, .. } if why.contains("free in"))
    );
    assert!(!home.path().join("r/curve-1.sqlite").exists());
}
