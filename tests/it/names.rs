//! Names of any script: of a database, a user, a column and an index, in every command that meets them.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use rowcliff::error::exit;
use rowcliff::record::Outcome;

use crate::support::servers::{Family, shared};
use crate::support::{record, rowcliff, run, samples, stdout, text};

const TABLE: &str = "CREATE TABLE {table} (
  `имя` BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `größe` INT NOT NULL,
  `очень_длинное_имя_столбца_из_более_чем_тридцати_трёх_букв` INT,
  `數據` BINARY(16) NOT NULL,
  `sorte` ENUM('klein','groß','测试') NOT NULL,
  `名` VARCHAR(40) NOT NULL,
  KEY `указатель` (`größe`), KEY `ключ€` (`名`)
) {options}";
const UUID_TABLE: &str =
    "CREATE TABLE {table} (`ключ` BINARY(16) NOT NULL PRIMARY KEY, `größe` INT NOT NULL, KEY `名` (`größe`)) {options}";

/// A database of a test's own on the shared server, and a user who may do everything in it.
struct Own {
    home: tempfile::TempDir,
    conn: Conn,
    database: String,
    target: String,
}

impl Own {
    fn new(family: Family, database: &str, in_url: &str, user: &str) -> Option<Self> {
        let socket: PathBuf = shared(family)?;
        let options = OptsBuilder::new().user(Some("root")).socket(Some(socket.display().to_string()));
        let mut conn = Conn::new(options).unwrap();
        conn.query_drop("SET NAMES utf8mb4").unwrap();
        conn.query_drop(format!("CREATE DATABASE `{database}`")).unwrap();
        conn.query_drop(format!("CREATE USER '{user}'@'localhost' IDENTIFIED BY 'geheim'")).unwrap();
        conn.query_drop(format!("GRANT ALL ON `{database}`.* TO '{user}'@'localhost'")).unwrap();
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("t.sql"), TABLE).unwrap();
        std::fs::write(home.path().join("u.sql"), UUID_TABLE).unwrap();
        let target = format!("mysql://{user}@localhost/{in_url}?socket={}", socket.display());
        Some(Self { home, conn, database: database.into(), target })
    }

    fn words<'a>(&'a self, command: &'a str, words: &[&'a str]) -> Vec<&'a str> {
        let first = [command, "--target", &self.target, "--batch-rows", "1k", "--connections", "2"];
        [&first[..], words].concat()
    }

    /// Runs a command with the password that its user has.
    fn run(&self, words: &[&str]) -> std::process::Output {
        rowcliff(self.home.path()).env("ROWCLIFF_PASSWORD", "geheim").args(words).output().unwrap()
    }

    fn tables(&mut self) -> Vec<String> {
        self.conn.query(format!("SHOW TABLES FROM `{}`", self.database)).unwrap()
    }

    fn end(mut self, user: &str) {
        assert_eq!(self.tables(), Vec::<String>::new(), "{}", self.database);
        self.conn.query_drop(format!("DROP DATABASE `{}`", self.database)).unwrap();
        self.conn.query_drop(format!("DROP USER '{user}'@'localhost'")).unwrap();
    }
}

/// Databases, as they are called and as a URL may spell them.
fn every_command_knows_a_database_of_any_name(family: Family) {
    let databases =
        [("größe", "größe"), ("база", "%D0%B1%D0%B0%D0%B7%D0%B0"), ("測試€", "測試€"), ("a/b c-d", "a%2Fb%20c-d")];
    for (place, (database, in_url)) in databases.into_iter().enumerate() {
        let user = format!("юзер{place}");
        let Some(mut own) = Own::new(family, database, in_url, &user) else { return };
        let checked = own.run(&own.words("check", &["--key", "autoinc,uuid4", "--rows", "2k"]));
        assert!(stdout(&checked).contains("2 of 2 curves would run"), "{}", text(&checked));
        let ran =
            own.run(&own.words("run", &["--key", "autoinc,uuid4", "--rows", "2k", "--keep", "--out", "r", "--quiet"]));
        assert_eq!(ran.status.code(), Some(i32::from(exit::OK)), "{}", text(&ran));
        let curves = record(&own.home.path().join("r")).curves;
        assert!(curves.iter().all(|curve| curve.outcome == Outcome::Completed), "{curves:?}");
        assert!(samples(&own.home.path().join("r")).iter().all(|sample| sample.data_bytes > Some(0)), "{database}");
        assert_eq!(own.tables().len(), 2, "they are kept");
        let cleaned = own.run(&["clean", "r"]);
        assert_eq!(stdout(&cleaned).matches("is dropped").count(), 2, "{}", text(&cleaned));
        own.end(&user);
    }
}

fn columns_and_indexes_of_any_name_are_loaded_by_every_method(family: Family) {
    let user = "пользователь";
    let Some(mut own) = Own::new(family, "столбцы", "столбцы", user) else { return };
    for (key, schema) in [("autoinc", "t.sql"), ("uuid4", "u.sql")] {
        let out = format!("{key}-out");
        let ran = own.run(&own.words(
            "run",
            &[
                "--key",
                key,
                "--schema",
                schema,
                "--method",
                "insert,prepared,bulk,load-data",
                "--rows",
                "2k",
                "--probe",
                "select-pk,range-pk",
                "--probe-seconds",
                "0.05",
                "--keep",
                "--out",
                &out,
                "--quiet",
            ],
        ));
        assert_eq!(ran.status.code(), Some(i32::from(exit::OK)), "{}", text(&ran));
        for curve in record(&own.home.path().join(&out)).curves {
            if matches!(curve.outcome, Outcome::Skipped { environment: false, .. }) && curve.method == "bulk" {
                continue;
            }
            assert_eq!(curve.outcome, Outcome::Completed, "{}", curve.curve);
            let verification = curve.verification.unwrap();
            assert!(verification.compared_rows > 0 && verification.wrong_rows == 0, "{verification:?}");
        }
    }
    // The names are those of the file, and not what their bytes are in another character set.
    let names: Vec<String> = own
        .conn
        .query("SELECT DISTINCT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'столбцы' AND COLUMN_NAME IN ('имя','größe','名','ключ','數據')")
        .unwrap();
    assert_eq!(names.len(), 5, "{names:?}");
    let cleaned = own.run(&["clean", "autoinc-out", "uuid4-out", "nowhere"]);
    assert_eq!(cleaned.status.code(), Some(i32::from(exit::FAILED)), "one is no run: {}", text(&cleaned));
    assert!(stdout(&cleaned).contains("autoinc-out: table") && stdout(&cleaned).contains("uuid4-out: table"));
    own.end(user);
}

fn an_interrupted_load_of_such_a_table_goes_on(family: Family) {
    let user = "κατ";
    let Some(own) = Own::new(family, "συνέχεια", "συνέχεια", user) else { return };
    let words = own.words(
        "run",
        &["--key", "autoinc", "--schema", "t.sql", "--rows", "200k", "--statement-rows", "10", "--out", "r"],
    );
    let mut child = rowcliff(own.home.path())
        .env("ROWCLIFF_PASSWORD", "geheim")
        .args(&words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let batches = own.home.path().join("r/batches.csv");
    let deadline = Instant::now() + Duration::from_secs(60);
    while std::fs::read_to_string(&batches).map_or(0, |text| text.lines().count()) < 3 {
        assert!(Instant::now() < deadline, "no batch within a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::process::Command::new("kill").arg("-KILL").arg(child.id().to_string()).status().unwrap();
    child.wait().unwrap();
    let resumed = own.run(&["resume", "r", "--quiet"]);
    assert_eq!(resumed.status.code(), Some(i32::from(exit::OK)), "{}", text(&resumed));
    let curve = record(&own.home.path().join("r")).curves.remove(0);
    assert_eq!(curve.outcome, Outcome::Completed);
    assert_eq!(curve.verification.unwrap().counted_rows, Some(200_000));
    own.end(user);
}

fn clean_finds_the_table_of_a_trial_that_nothing_recorded(family: Family) {
    let user = "проба";
    let Some(mut own) = Own::new(family, "проба", "проба", user) else { return };
    let ran = own.run(&own.words("run", &["--engine", "tokudb", "--key", "autoinc", "--rows", "1k", "--out", "r"]));
    let record = record(&own.home.path().join("r"));
    assert!(matches!(record.curves[0].outcome, Outcome::Skipped { environment: true, .. }), "{}", text(&ran));
    let id = record.run_id;
    for (number, mark) in [(1, 1), (2, 12)] {
        own.conn
            .query_drop(format!(
                "CREATE TABLE `проба`.rowcliff_{id}_{number} (a INT) COMMENT='rowcliff run={id} curve={mark}'"
            ))
            .unwrap();
    }
    let cleaned = own.run(&["clean", "r"]);
    assert_eq!(cleaned.status.code(), Some(i32::from(exit::OK)), "{}", text(&cleaned));
    assert!(stdout(&cleaned).contains(&format!("table rowcliff_{id}_1 is dropped")), "{}", text(&cleaned));
    assert_eq!(own.tables(), [format!("rowcliff_{id}_2")], "the mark of no curve of this run");
    own.conn.query_drop(format!("DROP TABLE `проба`.rowcliff_{id}_2")).unwrap();
    own.end(user);
}

macro_rules! on_both {
    ($($test:ident,)*) => {
        mod on_mariadb { $(#[test] fn $test() { super::$test(super::Family::MariaDb); })* }
        mod on_mysql { $(#[test] fn $test() { super::$test(super::Family::MySql); })* }
    };
}

on_both!(
    every_command_knows_a_database_of_any_name,
    columns_and_indexes_of_any_name_are_loaded_by_every_method,
    an_interrupted_load_of_such_a_table_goes_on,
    clean_finds_the_table_of_a_trial_that_nothing_recorded,
);

#[test]
fn sqlite_takes_columns_of_any_name() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(
        home.path().join("s.sql"),
        "CREATE TABLE {table} (`имя` INTEGER PRIMARY KEY, `größe` INT NOT NULL, `名` TEXT NOT NULL)",
    )
    .unwrap();
    let words = ["run", "--target", "sqlite:größe.db", "--key", "autoinc", "--schema", "s.sql", "--rows", "2k"];
    let ran = run(home.path(), &[&words[..], &["--batch-rows", "1k", "--out", "выход", "--quiet"]].concat());
    assert_eq!(ran.status.code(), Some(i32::from(exit::OK)), "{}", text(&ran));
    assert_eq!(record(&home.path().join("выход")).curves[0].outcome, Outcome::Completed);
}
