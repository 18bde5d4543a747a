//! What columns hold, and what a table asks of its values: on real servers.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use rowcliff::record::{CurveRecord, Outcome};

use crate::support::schemas::{Database, check_promised, made_up};
use crate::support::servers::{Family, connect, shared, target};
use crate::support::{record, rowcliff, run, stdout, text};

const METHODS: [&str; 4] = ["insert", "prepared", "bulk", "load-data"];

struct Loads<'a> {
    home: &'a Path,
    target: String,
    socket: PathBuf,
}

impl Loads<'_> {
    fn curves(&self, schema: &str, more: &[&str]) -> Vec<CurveRecord> {
        std::fs::write(self.home.join("t.sql"), schema).unwrap();
        let _ = std::fs::remove_dir_all(self.home.join("out"));
        let words = [
            "run",
            "--target",
            &self.target,
            "--schema",
            "t.sql",
            "--rows",
            "4000",
            "--batch-rows",
            "1000",
            "--connections",
            "2",
            "--out",
            "out",
            "--quiet",
            "--plots-every",
            "0",
            "--settle",
            "0",
        ];
        // A table that counts nothing has its own key.
        let key: &[&str] = if schema.contains("AUTO_INCREMENT") { &["--key", "autoinc"] } else { &[] };
        let output = run(self.home, &[&words[..], key, more].concat());
        assert!(self.home.join("out/run.json").exists(), "{}", text(&output));
        let record = record(&self.home.join("out"));
        let tables = format!("SHOW TABLES LIKE 'rowcliff\\_{}%'", record.run_id.replace('_', "\\_"));
        let left: Vec<String> = connect(&self.socket).query(tables).unwrap();
        assert!(left.is_empty(), "{left:?}: {:?}", record.curves);
        record.curves
    }

    /// What `check --try` says of the schema that was loaded last.
    fn check(&self, schema: &str, method: &str) -> String {
        let key: &[&str] = if schema.contains("AUTO_INCREMENT") { &["--key", "autoinc"] } else { &[] };
        let words = ["check", "--try", "--target", &self.target, "--schema", "t.sql", "--rows", "4000", method];
        let words = [&words[..], &["--batch-rows", "1000", "--connections", "2"], key].concat();
        stdout(&run(self.home, &words))
    }

    fn load(&self, schema: &str, more: &[&str]) {
        for curve in self.curves(schema, more) {
            if matches!(curve.outcome, Outcome::Skipped { environment: false, .. }) && curve.method == "bulk" {
                continue;
            }
            assert_eq!(curve.outcome, Outcome::Completed, "{} {schema}", curve.method);
            let verification = curve.verification.unwrap();
            assert!(verification.compared_rows > 0 && verification.wrong_rows == 0, "{schema}: {verification:?}");
        }
    }

    fn refuse(&self, schema: &str, more: &[&str], parts: &[&str]) {
        for curve in self.curves(schema, more) {
            let Outcome::Skipped { why, .. } = &curve.outcome else { panic!("{schema}: {:?}", curve.outcome) };
            assert!(parts.iter().all(|part| why.contains(part)), "{why}");
        }
    }
}

fn on(family: Family, test: impl Fn(&Loads<'_>)) {
    let Some(socket) = shared(family) else { return };
    let home = tempfile::tempdir().unwrap();
    test(&Loads { home: home.path(), target: target(&socket), socket });
}

const ID: &str = "CREATE TABLE {table} (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,";

fn what_a_table_asks_is_met_or_named(family: Family) {
    on(family, |loads| {
        let all = format!("--method={}", METHODS.join(","));
        for table in [
            "v INT NOT NULL, twice BIGINT AS (v * 2) STORED, UNIQUE KEY (twice)) {options}",
            "deleted TINYINT NOT NULL, name VARCHAR(30) NOT NULL, live VARCHAR(30) AS (IF(deleted = 0, name, NULL)) STORED, UNIQUE KEY (live)) {options}",
            "mail VARCHAR(60) NOT NULL, l VARCHAR(60) AS (LOWER(mail)) VIRTUAL, UNIQUE KEY (l)) {options}",
            "parent BIGINT, v INT NOT NULL, KEY (v), FOREIGN KEY (parent) REFERENCES {table} (id)) {options}",
            // No index: the last rows are found by the column that tells most of them apart, which the server may write otherwise.
            "n INT NOT NULL, at DATETIME(3) NOT NULL, took TIME(2) NOT NULL, price DECIMAL(12, 4) NOT NULL) {options}",
            "p POINT NOT NULL, g GEOMETRY, SPATIAL KEY (p)) {options}",
            "e ENUM('größe','база','測試') NOT NULL, s SET('été','b','it''s') NOT NULL, m ENUM('a','ß') NOT NULL, KEY (e)) {options}",
        ] {
            loads.load(&format!("{ID} {table}"), &[&all]);
        }
        for (table, parts) in [
            (
                "state VARCHAR(16) NOT NULL CHECK (state IN ('open', 'closed'))) {options}",
                ["column state: CHECK", "drop the check"],
            ),
            (
                "v INT NOT NULL, KEY (v), CONSTRAINT v_small CHECK (v < 2500)) {options}",
                ["column v: CHECK v_small", "--fill v=distinct:N"],
            ),
            (
                "v INT NOT NULL, m TINYINT AS (v * 2) STORED, KEY (v)) {options}",
                ["column m (tinyint", "--fill v=distinct:N"],
            ),
            (
                "v INT NOT NULL, m INT AS (v MOD 100) STORED, UNIQUE KEY u (m)) {options}",
                ["column v: unique index u on (", "drop the index"],
            ),
            (
                "v INT NOT NULL) {options} PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (1000), PARTITION b VALUES LESS THAN (2600))",
                ["below 2600", "MAXVALUE"],
            ),
            (
                "v INT NOT NULL) AUTO_INCREMENT=9223372036854775000 {options}",
                ["AUTO_INCREMENT=9223372036854775000", "fewer --rows"],
            ),
            (
                "v INT NOT NULL) {options} PARTITION BY RANGE (id DIV 10) (PARTITION a VALUES LESS THAN (390))",
                ["column id: PARTITION BY RANGE", "MAXVALUE"],
            ),
        ] {
            loads.refuse(&format!("{ID} {table}"), &[], &parts);
        }
        let by_year = "CREATE TABLE {table} (id BIGINT NOT NULL, d DATE NOT NULL, PRIMARY KEY (id, d), KEY (d)) {options} PARTITION BY RANGE (YEAR(d)) (PARTITION a VALUES LESS THAN (2010))";
        loads.refuse(by_year, &[], &["column d: PARTITION BY RANGE", "MAXVALUE"]);
    });
}

#[test]
fn mariadb_takes_or_names_everything() {
    what_a_table_asks_is_met_or_named(Family::MariaDb);
    on(Family::MariaDb, |loads| {
        let periods = "CREATE TABLE {table} (room INT NOT NULL, s DATE NOT NULL, e DATE NOT NULL, PERIOD FOR p (s, e), UNIQUE (room, p WITHOUT OVERLAPS)) {options}";
        loads.load(periods, &[]);
        let period =
            format!("{ID} s DATETIME NOT NULL, e DATETIME NOT NULL, KEY (s), PERIOD FOR p (s, e)) {{options}}");
        loads.load(&period, &[]);
        let json = format!("{ID} doc JSON NOT NULL, CONSTRAINT j CHECK (JSON_EXISTS(doc, '$.user'))) {{options}}");
        loads.refuse(&json, &[], &["column doc: CHECK j", "drop the check"]);
    });
}

#[test]
fn mysql_takes_or_names_everything() {
    what_a_table_asks_is_met_or_named(Family::MySql);
    on(Family::MySql, |loads| {
        loads.load(&format!("{ID} name VARCHAR(40) NOT NULL, UNIQUE KEY u ((LOWER(name)))) {{options}}"), &[]);
        loads.refuse(
            &format!("{ID} v INT NOT NULL, UNIQUE KEY u ((v MOD 100))) {{options}}"),
            &[],
            &["column v: unique index u on"],
        );
        loads.load(&format!("{ID} p POINT NOT NULL SRID 4326, SPATIAL KEY (p)) {{options}}"), &[]);
    });
}

#[test]
fn every_method_fills_as_was_asked() {
    for family in [Family::MariaDb, Family::MySql] {
        on(family, |loads| {
            let schema = format!(
                "{ID} kind INT NOT NULL, hot VARCHAR(20) NOT NULL, note TEXT, u CHAR(9) NOT NULL, KEY (hot), UNIQUE KEY (u)) {{options}}"
            );
            let method = format!("--method={}", METHODS.join(","));
            let fill = [
                "--fill",
                "kind=distinct:7",
                "--fill",
                "hot=distinct:50,zipf:1.2",
                "--fill",
                "note=length:5..9,null:0.5",
            ];
            loads.load(&schema, &[&[method.as_str()][..], &fill].concat());
        });
    }
}

#[test]
fn made_up_tables_are_loaded_or_refused_by_name() {
    for (family, sql) in [(Family::MariaDb, Database::MariaDb), (Family::MySql, Database::MySql)] {
        on(family, |loads| {
            let mut loaded = 0;
            for seed in 100..116 {
                let schema = made_up(seed, sql);
                let method = format!("--method={}", METHODS[seed as usize % 4]);
                for curve in loads.curves(&schema, &[&method]) {
                    check_promised(&loads.check(&schema, &method), &curve.outcome);
                    match &curve.outcome {
                        Outcome::Completed => {
                            let verification = curve.verification.unwrap();
                            assert!(
                                verification.compared_rows > 0 && verification.wrong_rows == 0,
                                "{schema}: {verification:?}"
                            );
                            loaded += 1;
                        }
                        Outcome::Skipped { why, .. } => {
                            assert!(
                                ["column", "unique index", "bulk is"].iter().any(|word| why.contains(word)),
                                "{schema}: {why}"
                            );
                        }
                        other => panic!("{schema}: {other:?}"),
                    }
                }
            }
            assert!(loaded >= 4, "{loaded} loaded");
        });
    }
}

#[test]
fn a_killed_load_goes_on_with_what_was_asked_for_and_history_is_told_of() {
    on(Family::MariaDb, |loads| {
        let schema = format!(
            "{ID} kind INT NOT NULL, hot VARCHAR(20) NOT NULL, note TEXT, KEY (hot), KEY (kind)) {{options}} WITH SYSTEM VERSIONING"
        );
        std::fs::write(loads.home.join("v.sql"), schema).unwrap();
        let words = [
            "run",
            "--target",
            &loads.target,
            "--key",
            "autoinc",
            "--schema",
            "v.sql",
            "--rows",
            "60k",
            "--batch-rows",
            "20k",
            "--statement-rows",
            "50",
            "--connections",
            "2",
            "--out",
            "killed",
            "--quiet",
            "--plots-every",
            "0",
            "--fill",
            "hot=distinct:50,zipf:1.2",
            "--fill",
            "note=length:5..9,null:0.5",
            "--fill",
            "kind=distinct:5000,random",
        ];
        let mut child = rowcliff(loads.home).args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let directory = loads.home.join("killed");
        let deadline = Instant::now() + Duration::from_secs(60);
        while std::fs::read_to_string(directory.join("batches.csv")).unwrap_or_default().lines().count() < 2 {
            assert!(Instant::now() < deadline, "no batch within a minute");
            std::thread::sleep(Duration::from_millis(5));
        }
        // Into the second batch.
        std::thread::sleep(Duration::from_millis(150));
        child.kill().unwrap();
        child.wait().unwrap();
        let output = run(loads.home, &["resume", "killed"]);
        let said = text(&output);
        let curve = record(&directory).curves.remove(0);
        assert_eq!(curve.outcome, Outcome::Completed, "{said}");
        let verification = curve.verification.unwrap();
        assert_eq!(
            (verification.counted_rows, verification.compared_rows, verification.wrong_rows),
            (Some(60_000), 1000, 0)
        );
        let removed: u64 = curve.resumptions.iter().map(|resumption| resumption.removed_rows).sum();
        assert_eq!(said.contains("stay in it as history"), removed > 0, "{said}");
    });
}
