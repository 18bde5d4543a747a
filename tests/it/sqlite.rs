//! The embedded target, end to end.

use std::path::Path;

use rowcliff::error::exit;
use rowcliff::record::{Outcome, RunState};

use crate::support::{record, rowcliff, run, samples, stderr, stdout, text};

fn finished(home: &Path, words: &[&str]) {
    let output = run(home, words);
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
}

fn open(path: &Path) -> rusqlite::Connection {
    assert!(path.exists(), "{} is not there", path.display());
    rusqlite::Connection::open(path).unwrap()
}

#[test]
fn both_keys_are_loaded_counted_and_compared() {
    let home = tempfile::tempdir().unwrap();
    finished(home.path(), &["run", "--rows", "30k", "--batch-rows", "10k", "--out", "r", "--keep"]);
    let run_directory = home.path().join("r");
    let lines = samples(&run_directory);
    assert_eq!(lines.len(), 6);
    let record = record(&run_directory);
    assert_eq!(record.state, RunState::Finished);
    for (index, key) in ["autoinc", "uuid4:binary16"].iter().enumerate() {
        let curve = &record.curves[index];
        assert_eq!((curve.key.as_str(), &curve.outcome), (*key, &Outcome::Completed));
        let verification = curve.verification.as_ref().unwrap();
        assert_eq!(
            (verification.counted_rows, verification.compared_rows, verification.wrong_rows),
            (Some(30_000), 1000, 0)
        );
        assert_eq!(curve.flush_in_force, "synchronous=NORMAL journal_mode=wal");
        assert!(curve.closing_seconds.is_some());
        let conn = open(&run_directory.join(format!("curve-{}.sqlite", index + 1)));
        let table = curve.table.as_ref().unwrap();
        let count: i64 = conn.query_row(&format!("SELECT COUNT(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        assert_eq!(count as u64, lines.iter().rfind(|line| line.key == *key).unwrap().table_rows);
    }
    let conn = open(&run_directory.join("curve-2.sqlite"));
    let table = record.curves[1].table.as_ref().unwrap();
    let (distinct, shortest, longest): (i64, i64, i64) = conn
        .query_row(&format!("SELECT COUNT(DISTINCT id), MIN(LENGTH(id)), MAX(LENGTH(id)) FROM {table}"), [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .unwrap();
    assert_eq!((distinct, shortest, longest), (30_000, 16, 16));
}

#[test]
fn the_same_seed_gives_the_same_rows_and_another_seed_others() {
    let home = tempfile::tempdir().unwrap();
    let sum = |out: &str, seed: &str, threads: &str| {
        let mut command = crate::support::rowcliff(home.path());
        command.env("RAYON_NUM_THREADS", threads).args([
            "run",
            "--rows",
            "5k",
            "--batch-rows",
            "1k",
            "--key",
            "uuid4",
            "--seed",
            seed,
            "--keep",
            "--out",
            out,
        ]);
        assert!(command.output().unwrap().status.success());
        let directory = home.path().join(out);
        let table = record(&directory).curves[0].table.clone().unwrap();
        let conn = open(&directory.join("curve-1.sqlite"));
        let sql = format!(
            "SELECT group_concat(hex(id) || id2 || ifnull(id3, 'null') || mail) FROM (SELECT * FROM {table} ORDER BY id)"
        );
        conn.query_row(&sql, [], |row| row.get::<_, String>(0)).unwrap()
    };
    let first = sum("a", "7", "1");
    assert_eq!(first, sum("b", "7", "4"));
    assert_ne!(first, sum("c", "8", "4"));
}

#[test]
fn flush_settings_are_pragmas_and_are_read_back() {
    let home = tempfile::tempdir().unwrap();
    finished(
        home.path(),
        &[
            "run",
            "--rows",
            "2k",
            "--batch-rows",
            "1k",
            "--key",
            "autoinc",
            "--flush",
            "0,1,2,synchronous=EXTRA",
            "--out",
            "r",
        ],
    );
    let in_force: Vec<String> =
        record(&home.path().join("r")).curves.iter().map(|c| c.flush_in_force.clone()).collect();
    let expected = ["OFF", "FULL", "NORMAL", "EXTRA"].map(|word| format!("synchronous={word} journal_mode=wal"));
    assert_eq!(in_force, expected);
}

#[test]
fn a_pragma_that_does_not_exist_skips_its_curve_and_not_the_others() {
    let home = tempfile::tempdir().unwrap();
    let words = ["run", "--rows", "2k", "--batch-rows", "1k", "--key", "autoinc", "--flush", "turbo=1,2", "--out", "r"];
    finished(home.path(), &words);
    let curves = record(&home.path().join("r")).curves;
    let Outcome::Skipped { why, environment: true } = &curves[0].outcome else { panic!("{:?}", curves[0].outcome) };
    assert!(why.contains("turbo"), "{why}");
    assert_eq!(curves[1].outcome, Outcome::Completed);
    let strict: Vec<&str> =
        words.iter().map(|word| if *word == "r" { "s" } else { word }).chain(["--strict"]).collect();
    assert_eq!(run(home.path(), &strict).status.code(), Some(i32::from(exit::FAILED)));
}

#[test]
fn completed_tables_are_removed_unless_kept() {
    let home = tempfile::tempdir().unwrap();
    finished(home.path(), &["run", "--rows", "2k", "--batch-rows", "1k", "--out", "r"]);
    let files: Vec<String> = std::fs::read_dir(home.path().join("r"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("sqlite"))
        .collect();
    assert_eq!(files, Vec::<String>::new());
}

#[test]
fn a_file_that_is_there_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("mine.db");
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3);").unwrap();
    drop(conn);
    for key in ["autoinc", "uuid4"] {
        let output =
            run(home.path(), &["run", "--target", "sqlite:mine.db", "--key", key, "--rows", "2k", "--out", key]);
        assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&output));
        assert!(
            stdout(&output).contains("mine.db is there") || stderr(&output).contains("mine.db is there"),
            "{}",
            text(&output)
        );
    }
    let count: i64 = open(&path).query_row("SELECT COUNT(*) FROM t", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 3);
    // A fresh path works, and with two curves each has a file of its own.
    finished(
        home.path(),
        &["run", "--target", "sqlite:new.db", "--rows", "2k", "--batch-rows", "1k", "--keep", "--out", "two"],
    );
    assert!(home.path().join("new-1.db").exists() && home.path().join("new-2.db").exists());
}

#[test]
fn prepared_statements_stay_below_the_placeholders_that_sqlite_has() {
    let home = tempfile::tempdir().unwrap();
    let output = run(
        home.path(),
        &[
            "run",
            "--rows",
            "60k",
            "--batch-rows",
            "20k",
            "--statement-rows",
            "20k",
            "--method",
            "prepared,insert",
            "--key",
            "uuid4",
            "--out",
            "r",
        ],
    );
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    let lines = samples(&home.path().join("r"));
    // 32,766 placeholders, four columns.
    assert_eq!((lines[0].method.as_str(), lines[0].statement_rows), ("prepared", 8191));
    assert!(stderr(&output).contains("8,191"), "{}", text(&output));
    assert_eq!((lines[3].method.as_str(), lines[3].statement_rows), ("insert", 20_000));
}

#[test]
fn transactions_may_be_smaller_or_larger_than_what_fits_into_memory() {
    for (commit, window) in [("1k", "1M"), ("20k", "1M"), ("100", "256M")] {
        let home = tempfile::tempdir().unwrap();
        finished(
            home.path(),
            &[
                "run",
                "--rows",
                "60k",
                "--batch-rows",
                "20k",
                "--commit-rows",
                commit,
                "--statement-rows",
                "100",
                "--window-bytes",
                window,
                "--key",
                "uuid4",
                "--out",
                "r",
            ],
        );
        let lines = samples(&home.path().join("r"));
        assert_eq!(
            lines.iter().map(|line| (line.rows, line.statements)).collect::<Vec<_>>(),
            vec![(20_000, Some(200)); 3]
        );
    }
}

#[test]
fn a_schema_of_ones_own_is_filled_and_compared() {
    let home = tempfile::tempdir().unwrap();
    let schema =
        "CREATE TABLE {table} (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL, tag BLOB, n INTEGER UNIQUE)";
    std::fs::write(home.path().join("own.sql"), schema).unwrap();
    finished(
        home.path(),
        &[
            "run",
            "--schema",
            "own.sql",
            "--key",
            "autoinc",
            "--rows",
            "4k",
            "--batch-rows",
            "1k",
            "--payload-bytes",
            "200",
            "--out",
            "r",
        ],
    );
    let curve = &record(&home.path().join("r")).curves[0];
    assert_eq!(curve.outcome, Outcome::Completed);
    assert_eq!(curve.verification.as_ref().unwrap().compared_rows, 1000);
    std::fs::write(home.path().join("none.sql"), "CREATE TABLE t (id INTEGER PRIMARY KEY)").unwrap();
    let output = run(home.path(), &["run", "--schema", "none.sql", "--rows", "4k", "--out", "s"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&output));
    assert!(text(&output).contains("no column"), "{}", text(&output));
}

/// A load of many batches in work, in `home`, with its first batches recorded.
fn loading(home: &Path) -> std::process::Child {
    let words =
        "run --key autoinc --rows 40M --batch-rows 40k --min-free-disk 1M --out r -q --target sqlite:t.db --no-verify";
    let child = rowcliff(home).args(words.split(' ')).spawn().unwrap();
    wait_for_batches(home, 3);
    child
}

fn wait_for_batches(home: &Path, batches: usize) {
    let path = home.join("r/batches.csv");
    let written = || std::fs::read_to_string(&path).map_or(0, |text| text.lines().count().saturating_sub(1));
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while written() < batches {
        assert!(std::time::Instant::now() < deadline, "no {batches} batches after a minute");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn signal(child: &std::process::Child, word: &str) {
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args([word, &id]).status().unwrap().success());
}

/// Ends a load and gives the batches that have a note, and all of them.
fn noted(home: &Path, mut child: std::process::Child, word: &str) -> (Vec<rowcliff::record::Sample>, usize) {
    let before = samples(&home.join("r")).len();
    wait_for_batches(home, before + 3);
    signal(&child, "-INT");
    child.wait().unwrap();
    let all = samples(&home.join("r"));
    (all.iter().filter(|sample| sample.has_note(word)).cloned().collect(), all.len())
}

#[test]
fn a_rowcliff_that_was_stopped_marks_the_batch() {
    let home = tempfile::tempdir().unwrap();
    let child = loading(home.path());
    signal(&child, "-STOP");
    std::thread::sleep(std::time::Duration::from_millis(3000));
    signal(&child, "-CONT");
    let (paused, all) = noted(home.path(), child, "paused");
    // It stood still in one batch, or between two.
    assert!(paused.len() <= 1 && all > 5, "{paused:?}");
    assert!(paused.iter().all(|sample| !sample.counts_for_baseline()));
    let gap = |sample: &rowcliff::record::Sample| sample.gap_seconds.unwrap_or(0.0) > 2.0;
    let between = samples(&home.path().join("r")).iter().any(gap);
    assert!(paused.len() == 1 || between, "nothing tells of the three seconds");
}

#[test]
fn a_lock_of_another_process_that_is_waited_for_marks_the_batch() {
    let home = tempfile::tempdir().unwrap();
    let child = loading(home.path());
    let other = open(&home.path().join("t.db"));
    other.busy_timeout(std::time::Duration::from_secs(30)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    other.execute_batch("ROLLBACK").unwrap();
    let (waited, all) = noted(home.path(), child, "lock-waited");
    assert!(!waited.is_empty() && waited.len() < all, "{} of {all}", waited.len());
}

#[test]
fn check_forecasts_a_plan_from_an_earlier_run_or_says_what_bounds_it() {
    let home = tempfile::tempdir().unwrap();
    let sizes = ["--rows", "30k", "--batch-rows", "1k", "--key"];
    finished(home.path(), &[&["run", "--out", "r"], &sizes[..], &["autoinc,uuid4"]].concat());
    let check = |words: &[&str]| stdout(&run(home.path(), &[&["check"], words].concat()));
    let keys = "autoinc,uuid4,uuid7";
    let same = check(&[&sizes[..], &[keys, "--like", "r"]].concat());
    assert!(same.contains("time to load, as in r:\n"), "{same}");
    let measured = same.lines().filter(|line| line.contains("about") && line.contains("as measured up to 30k rows"));
    assert_eq!(measured.count(), 2, "{same}");
    let none = same.lines().find(|line| line.starts_with("  uuid7")).unwrap();
    assert!(none.contains("unknown") && none.contains("r has no batch of such a curve"), "{same}");
    assert!(same.lines().any(|line| line.starts_with("  all 3: at least")), "{same}");
    assert!(!same.contains("other values"), "{same}");
    std::fs::write(
        home.path().join("t.sql"),
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT NOT NULL); CREATE INDEX x ON t (a)",
    )
    .unwrap();
    let own = ["--rows", "30k", "--batch-rows", "1k", "--schema", "t.sql"];
    finished(home.path(), &[&["run", "--out", "own"], &own[..]].concat());
    let ascending = check(&[&own[..], &["--index-order", "ascending", "--like", "own"]].concat());
    assert!(ascending.contains("other values then") && ascending.contains("index order random; now"), "{ascending}");
    // Five batches are not enough to forecast what comes after them.
    finished(home.path(), &["run", "--rows", "5k", "--batch-rows", "1k", "--key", "autoinc", "--out", "short"]);
    let short = check(&["--rows", "30k", "--batch-rows", "1k", "--key", "autoinc", "--like", "short"]);
    assert!(
        short.contains("autoinc: unknown: it had 5k rows then") || short.contains("cannot be forecast (5 batches"),
        "{short}"
    );

    let bounded = check(&[&sizes[..], &[keys, "--max-duration", "1h"]].concat());
    assert!(bounded.contains("at most 3h00m (--max-duration 1h00m x 3 curves)"), "{bounded}");
    let unknown = check(&[&sizes[..], &[keys]].concat());
    assert!(unknown.contains("cannot be known") && unknown.contains("--like RUN_DIR"), "{unknown}");
    let wrong = run(home.path(), &[&["check"], &sizes[..], &[keys, "--like", "nowhere"]].concat());
    assert!(!wrong.status.success() && stderr(&wrong).contains("nowhere"), "{}", text(&wrong));
}

/// A file system of its own, taken away again.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    /// None where mounting is not permitted.
    fn mount(path: std::path::PathBuf, size: &str) -> Option<Self> {
        std::fs::create_dir(&path).unwrap();
        let option = format!("size={size}");
        let words = ["-t", "tmpfs", "-o", &option, "tmpfs"];
        let output = std::process::Command::new("mount").args(words).arg(&path).output().ok()?;
        output.status.success().then_some(Self(path))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_run_whose_own_disk_was_full_says_so_in_status() {
    let home = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(home.path().join("small"), "300k") else {
        eprintln!("SKIPPED: a file system cannot be mounted here");
        return;
    };
    let words = "run --key autoinc --rows 100k --batch-rows 10 --min-free-disk 1 --no-verify --target sqlite:t.db --out small/r -q";
    let output = run(home.path(), &words.split(' ').collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&output));
    let status = run(home.path(), &["status", "small/r"]);
    let said = stdout(&status);
    assert!(said.contains("failed") && said.contains("No space left on device"), "{}", text(&status));
    assert!(!said.contains("without a word") && !said.contains("killed"), "{said}");
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&run(home.path(), &["status", "small/r", "--json"]))).unwrap();
    assert_eq!(json["state"], "failed");
    drop(disk);
}
