//! What must hold on every server of the MySQL family, written once and run on each.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use rowcliff::error::exit;
use rowcliff::record::{Outcome, RunState};

use super::servers::{Family, OwnServer, connect, global, shared, target};
use super::{record, rowcliff, run, samples, stderr, text};

/// Makes the tests of this module for a family.
macro_rules! tests {
    ($family:expr) => {
        $crate::support::external::tests!($family;
            engines_keys_and_flush_settings_are_loaded_and_restored,
            every_method_loads_the_same_rows,
            every_key_and_storage_is_stored_as_it_was_sent,
            an_interrupt_in_the_middle_restores_and_keeps_the_table_for_clean,
            a_foreign_table_of_the_same_name_survives,
            an_unknown_engine_and_a_wrong_password_are_named,
            an_engine_that_is_missing_is_never_replaced,
            statements_stay_below_max_allowed_packet,
            no_connection_is_left_and_none_too_many_is_opened,
            rows_that_a_trigger_discards_are_found,
            a_table_that_no_index_searches_is_compared_by_its_last_rows,
            check_changes_nothing,
            a_server_that_stops_answering_ends_the_curve_within_fifteen_seconds,
            a_table_of_every_common_type_is_filled_and_compared,
            what_cannot_be_filled_is_refused_by_name,
            a_killed_connection_takes_the_batch_back,
            a_lock_wait_sends_its_transaction_again,
            a_control_batch_leaves_no_table_and_clean_finds_one_that_was_left,
        );
    };
    ($family:expr; $($name:ident,)*) => {
        $(#[test]
        fn $name() {
            $crate::support::external::$name($family);
        })*
    };
}
pub(crate) use tests;

struct Place {
    home: tempfile::TempDir,
    socket: PathBuf,
    target: String,
}

fn place(family: Family) -> Option<Place> {
    let socket = shared(family)?;
    Some(Place { home: tempfile::tempdir().unwrap(), target: target(&socket), socket })
}

impl Place {
    fn run(&self, words: &[&str]) -> std::process::Output {
        let all: Vec<&str> =
            ["run", "--target", &self.target, "--out", "r"].into_iter().chain(words.iter().copied()).collect();
        run(self.home.path(), &all)
    }

    fn finished(&self, words: &[&str]) -> PathBuf {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
        self.home.path().join("r")
    }
}

pub fn engines_keys_and_flush_settings_are_loaded_and_restored(family: Family) {
    // A server of its own: other tests must not see, or change, the flush setting meanwhile.
    let Some(server) = OwnServer::start(family, &["--innodb-flush-log-at-trx-commit=2"]) else { return };
    let home = tempfile::tempdir().unwrap();
    let output = run(
        home.path(),
        &[
            "run",
            "--target",
            &server.target(),
            "--engine",
            "innodb,myisam",
            "--key",
            "autoinc,uuid4",
            "--flush",
            "0,1,2,as-is",
            "--rows",
            "4k",
            "--batch-rows",
            "2k",
            "--statement-rows",
            "100",
            "--connections",
            "4",
            "--keep",
            "--out",
            "r",
        ],
    );
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    let run_directory = home.path().join("r");
    let record = record(&run_directory);
    // MyISAM has no knob: one curve for each key.
    assert_eq!(record.curves.len(), 2 * 4 + 2);
    let knob = |flush: &str| match flush {
        "as-is" => "innodb_flush_log_at_trx_commit=2".to_owned(),
        level => format!("innodb_flush_log_at_trx_commit={level}"),
    };
    let lines = samples(&run_directory);
    let mut conn = server.connect();
    for curve in &record.curves {
        assert_eq!(curve.outcome, Outcome::Completed, "{}", curve.curve);
        if curve.engine == "innodb" {
            assert_eq!(curve.flush_in_force, knob(&curve.flush));
        } else {
            assert_eq!((curve.flush.as_str(), curve.flush_in_force.as_str()), ("none", ""));
        }
        let table = curve.table.as_ref().unwrap();
        let count: u64 = conn.query_first(format!("SELECT COUNT(*) FROM {table}")).unwrap().unwrap();
        let last = lines.iter().rfind(|line| line.curve == curve.curve).unwrap();
        assert_eq!((count, last.table_rows), (4000, 4000), "{}", curve.curve);
        let verification = curve.verification.as_ref().unwrap();
        assert_eq!(
            (verification.counted_rows, verification.compared_rows, verification.wrong_rows),
            (Some(4000), 1000, 0)
        );
        let create = curve.create_table.as_ref().unwrap();
        assert!(
            create.contains(&format!("ENGINE={}", if curve.engine == "innodb" { "InnoDB" } else { "MyISAM" })),
            "{create}"
        );
        assert!(create.contains(&format!("rowcliff run={}", record.run_id)), "{create}");
    }
    assert_eq!(global(&mut conn, "innodb_flush_log_at_trx_commit"), "2", "restored");
    assert!(!run_directory.join("globals.json").exists());
    let facts = record.targets.values().next().unwrap();
    assert_eq!(facts.flavour, family.word());
    assert!(facts.variables.contains_key("innodb_buffer_pool_size"));
}

pub fn every_method_loads_the_same_rows(family: Family) {
    let Some(place) = place(family) else { return };
    let run_directory = place.finished(&[
        "--key",
        "autoinc,uuid4",
        "--method",
        "insert,prepared,bulk,load-data",
        "--rows",
        "6k",
        "--batch-rows",
        "3k",
        "--statement-rows",
        "250",
        "--commit-rows",
        "1k",
        "--connections",
        "3",
        "--keep",
    ]);
    let record = record(&run_directory);
    let mut conn = connect(&place.socket);
    let mut sums = std::collections::BTreeMap::new();
    for curve in &record.curves {
        if curve.method == "bulk" && family == Family::MySql {
            let Outcome::Skipped { why, environment: false } = &curve.outcome else { panic!("{:?}", curve.outcome) };
            assert!(why.contains("COM_STMT_BULK_EXECUTE"), "{why}");
            continue;
        }
        assert_eq!(curve.outcome, Outcome::Completed, "{}", curve.curve);
        let table = curve.table.as_ref().unwrap();
        let columns = if curve.key == "autoinc" {
            "id2, IFNULL(id3, 'null'), mail"
        } else {
            "id, id2, IFNULL(id3, 'null'), mail"
        };
        let sum: (u64, u64) = conn
            .query_first(format!(
                "SELECT COUNT(*), CAST(SUM(CRC32(CONCAT_WS(',', {columns}))) AS UNSIGNED) FROM {table}"
            ))
            .unwrap()
            .unwrap();
        assert_eq!(sum.0, 6000);
        assert_eq!(*sums.entry(curve.key.clone()).or_insert(sum), sum, "{}", curve.curve);
        assert_eq!((curve.statement_rows, curve.commit_rows), (250, 1000));
        conn.query_drop(format!("DROP TABLE {table}")).unwrap();
    }
    assert_eq!(sums.len(), 2);
}

pub fn every_key_and_storage_is_stored_as_it_was_sent(family: Family) {
    let Some(place) = place(family) else { return };
    let keys = "uuid1:char32,uuid4:char36,uuid6:binary16,uuid7:binary16,uuid7:native,uuid4:native,uuid4:binary16";
    let run_directory = place.finished(&[
        "--key",
        keys,
        "--method",
        "insert,prepared,load-data",
        "--rows",
        "2k",
        "--batch-rows",
        "1k",
        "--connections",
        "2",
        "--keep",
    ]);
    let mut conn = connect(&place.socket);
    for curve in record(&run_directory).curves {
        if curve.key.ends_with("native") && family == Family::MySql {
            assert!(matches!(curve.outcome, Outcome::Skipped { environment: false, .. }), "{:?}", curve.outcome);
            continue;
        }
        assert_eq!(curve.outcome, Outcome::Completed, "{}", curve.curve);
        let table = curve.table.as_ref().unwrap();
        let (distinct, least, most): (u64, u64, u64) = conn
            .query_first(format!("SELECT COUNT(DISTINCT id), MIN(LENGTH(id)), MAX(LENGTH(id)) FROM {table}"))
            .unwrap()
            .unwrap();
        let length = if curve.key.ends_with("char32") {
            32
        } else if curve.key.ends_with("binary16") {
            16
        } else {
            36
        };
        assert_eq!((distinct, least, most), (2000, length, length), "{}", curve.curve);
        conn.query_drop(format!("DROP TABLE {table}")).unwrap();
    }
}

pub fn an_interrupt_in_the_middle_restores_and_keeps_the_table_for_clean(family: Family) {
    let Some(server) = OwnServer::start(family, &[]) else { return };
    let home = tempfile::tempdir().unwrap();
    let mut child = rowcliff(home.path())
        .args([
            "run",
            "--target",
            &server.target(),
            "--key",
            "uuid4",
            "--flush",
            "2",
            "--rows",
            "1G",
            "--no-disk-check",
            "--batch-rows",
            "5k",
        ])
        .args(["--connections", "2", "--out", "r"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let run_directory = home.path().join("r");
    let mut conn = server.connect();
    let deadline = Instant::now() + Duration::from_secs(60);
    while std::fs::read_to_string(run_directory.join("batches.csv")).map_or(0, |text| text.lines().count()) < 4 {
        assert!(Instant::now() < deadline, "no batch within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(global(&mut conn, "innodb_flush_log_at_trx_commit"), "2");
    assert!(run_directory.join("globals.json").exists(), "what is to be put back is on disk while it is changed");
    let asked = Instant::now();
    std::process::Command::new("kill").arg("-INT").arg(child.id().to_string()).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(i32::from(exit::INTERRUPTED)));
    assert!(asked.elapsed() < Duration::from_secs(10));
    assert_eq!(global(&mut conn, "innodb_flush_log_at_trx_commit"), "1", "restored");
    let record = record(&run_directory);
    assert_eq!(record.state, RunState::Interrupted);
    assert_eq!(record.curves[0].outcome, Outcome::Interrupted);
    let table = record.curves[0].table.clone().unwrap();
    let count: u64 = conn.query_first(format!("SELECT COUNT(*) FROM {table}")).unwrap().unwrap();
    let lines = samples(&run_directory);
    assert!(count >= lines.last().unwrap().table_rows, "{count} rows, {} recorded", lines.last().unwrap().table_rows);
    let cleaned = run(home.path(), &["clean", "r"]);
    assert_eq!(cleaned.status.code(), Some(i32::from(exit::OK)), "{}", text(&cleaned));
    let left: Vec<String> = conn.query("SHOW TABLES LIKE 'rowcliff%'").unwrap();
    assert_eq!(left, Vec::<String>::new());
}

pub fn a_foreign_table_of_the_same_name_survives(family: Family) {
    let Some(server) = OwnServer::start(family, &[]) else { return };
    let home = tempfile::tempdir().unwrap();
    // A run whose table was replaced by somebody else's under the same name.
    let output = run(
        home.path(),
        &[
            "run",
            "--target",
            &server.target(),
            "--key",
            "autoinc",
            "--rows",
            "2k",
            "--batch-rows",
            "1k",
            "--keep",
            "--out",
            "r",
        ],
    );
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    let table = record(&home.path().join("r")).curves[0].table.clone().unwrap();
    let mut conn = server.connect();
    conn.query_drop(format!("DROP TABLE {table}")).unwrap();
    conn.query_drop(format!("CREATE TABLE {table} (a INT) COMMENT='mine'")).unwrap();
    conn.query_drop(format!("INSERT INTO {table} VALUES (1),(2),(3)")).unwrap();
    let cleaned = run(home.path(), &["clean", "r"]);
    assert!(text(&cleaned).contains("left alone"), "{}", text(&cleaned));
    let count: u64 = conn.query_first(format!("SELECT COUNT(*) FROM {table}")).unwrap().unwrap();
    assert_eq!(count, 3);
}

pub fn an_unknown_engine_and_a_wrong_password_are_named(family: Family) {
    let Some(place) = place(family) else { return };
    let output = place.run(&["--engine", "tokudb,sphinx", "--rows", "1k", "--batch-rows", "1k"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&output));
    for word in ["TokuDB", "sphinx", "no engine"] {
        assert!(text(&output).contains(word), "{word}: {}", text(&output));
    }
    let wrong = place.target.replace("root@", "nobody_here:sesame-street@");
    let output = run(place.home.path(), &["run", "--target", &wrong, "--rows", "1k", "--out", "s"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&output));
    assert!(stderr(&output).contains("nobody_here") && stderr(&output).contains("password"), "{}", text(&output));
    assert!(!text(&output).contains("sesame-street"), "{}", text(&output));
}

pub fn an_engine_that_is_missing_is_never_replaced(family: Family) {
    let Some(server) = OwnServer::start(family, &["--sql-mode="]) else { return };
    let home = tempfile::tempdir().unwrap();
    let output = run(
        home.path(),
        &[
            "run",
            "--target",
            &server.target(),
            "--engine",
            "tokudb,innodb",
            "--key",
            "autoinc",
            "--rows",
            "1k",
            "--batch-rows",
            "1k",
            "--out",
            "r",
        ],
    );
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    let curves = record(&home.path().join("r")).curves;
    assert!(matches!(curves[0].outcome, Outcome::Skipped { environment: true, .. }), "{:?}", curves[0].outcome);
    assert_eq!(curves[1].outcome, Outcome::Completed);
    assert!(samples(&home.path().join("r")).iter().all(|line| line.engine == "innodb"));
}

pub fn statements_stay_below_max_allowed_packet(family: Family) {
    let Some(server) = OwnServer::start(family, &["--max-allowed-packet=1M"]) else { return };
    let home = tempfile::tempdir().unwrap();
    let schema =
        "CREATE TABLE {table} (id BIGINT AUTO_INCREMENT PRIMARY KEY, payload VARCHAR(2000) NOT NULL) {options}";
    std::fs::write(home.path().join("wide.sql"), schema).unwrap();
    for payload in ["100", "997", "2000"] {
        let output = run(
            home.path(),
            &[
                "run",
                "--target",
                &server.target(),
                "--schema",
                "wide.sql",
                "--payload-bytes",
                payload,
                "--method",
                "insert,prepared",
                "--key",
                "autoinc",
                "--rows",
                "30k",
                "--batch-rows",
                "30k",
                "--statement-rows",
                "30k",
                "--connections",
                "1",
                "--out",
                payload,
            ],
        );
        assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
        assert!(stderr(&output).contains("max_allowed_packet=1048576"), "{}", text(&output));
        for line in samples(&home.path().join(payload)) {
            let bytes: u64 = line.statement_rows * (payload.parse::<u64>().unwrap() + 5);
            assert!(bytes < 1 << 20 && bytes > 1 << 19, "{} rows of {payload} bytes", line.statement_rows);
        }
    }
}

pub fn no_connection_is_left_and_none_too_many_is_opened(family: Family) {
    let Some(server) = OwnServer::start(family, &["--max-connections=10"]) else { return };
    let home = tempfile::tempdir().unwrap();
    let mut conn = server.connect();
    let words = |connections: &'static str, out: &'static str| {
        vec!["run", "--rows", "4k", "--batch-rows", "2k", "--connections", connections, "--out", out]
            .into_iter()
            .map(str::to_owned)
            .chain(["--target".to_owned(), server.target()])
            .collect::<Vec<_>>()
    };
    let output = rowcliff(home.path()).args(words("8", "r")).output().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    let (_, most): (String, u64) = conn.query_first("SHOW GLOBAL STATUS LIKE 'Max_used_connections'").unwrap().unwrap();
    // Eight that load, one for control, and this one.
    assert!(most <= 10, "{most} connections");
    let left: Vec<(u64, String)> =
        conn.query("SELECT ID, USER FROM information_schema.PROCESSLIST WHERE COMMAND = 'Sleep'").unwrap();
    assert!(left.len() <= 1, "{left:?}");
    let output = rowcliff(home.path()).args(words("64", "s")).output().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&output));
    assert!(
        text(&output).contains("max_connections=10") && text(&output).contains("--connections"),
        "{}",
        text(&output)
    );
}

pub fn rows_that_a_trigger_discards_are_found(family: Family) {
    let Some(server) = OwnServer::start(family, &[]) else { return };
    let home = tempfile::tempdir().unwrap();
    // A trigger that turns every value into another one: accepted rows are right, values are not.
    let mut conn = server.connect();
    let child = rowcliff(home.path())
        .args(["run", "--target", &server.target(), "--key", "autoinc", "--rows", "40k", "--batch-rows", "1k"])
        .args(["--connections", "1", "--statement-rows", "10", "--out", "r"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        assert!(Instant::now() < deadline, "the table did not appear");
        let table: Option<String> = conn.query_first("SHOW TABLES LIKE 'rowcliff%'").unwrap();
        let begun =
            std::fs::read_to_string(home.path().join("r/batches.csv")).is_ok_and(|text| text.lines().count() > 1);
        if let Some(table) = table.filter(|_| begun) {
            conn.query_drop(format!("CREATE TRIGGER spoil BEFORE INSERT ON {table} FOR EACH ROW SET NEW.id3 = 4711"))
                .unwrap();
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)));
    let Outcome::Failed { message, .. } = &record(&home.path().join("r")).curves[0].outcome else { panic!() };
    assert!(message.contains("compared rows") && message.contains("id3"), "{message}");
    // More rows do not mend that.
    super::assert_cannot_go_on(home.path(), &stderr(&output), "does not hold what was sent");
}

pub fn a_table_that_no_index_searches_is_compared_by_its_last_rows(family: Family) {
    let Some(place) = place(family) else { return };
    let home = place.home.path();
    let counted =
        "CREATE TABLE {table} (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, a INT NOT NULL, b VARCHAR(30)) {options}";
    let heap = "CREATE TABLE {table} (a INT NOT NULL, b VARCHAR(30), c DATETIME(3)) {options}";
    let nullable = "CREATE TABLE {table} (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, a INT, b DOUBLE) {options}";
    let cases = [
        (counted, "innodb", "autoinc"),
        (heap, "innodb", "own"),
        (heap, "myisam", "own"),
        (nullable, "innodb", "autoinc"),
    ];
    for (schema, engine, key) in cases {
        std::fs::write(home.join("own.sql"), schema).unwrap();
        let run_directory = place.finished(&[
            "--engine",
            engine,
            "--key",
            key,
            "--schema",
            "own.sql",
            "--rows",
            "6k",
            "--batch-rows",
            "2k",
            "--connections",
            "4",
            "--statement-rows",
            "50",
            "--keep",
        ]);
        let record = record(&run_directory);
        let verification = record.curves[0].verification.clone().unwrap();
        assert_eq!((verification.compared_rows, verification.wrong_rows), (1000, 0), "{engine} {verification:?}");
        assert!(verification.compared.unwrap().contains("rows that came last"));
        connect(&place.socket).query_drop(format!("DROP TABLE {}", record.curves[0].table.as_ref().unwrap())).unwrap();
        std::fs::remove_dir_all(run_directory).unwrap();
    }
    // A value that another session changes is found.
    let words: Vec<&str> = vec![
        "run",
        "--target",
        &place.target,
        "--out",
        "s",
        "--key",
        "autoinc",
        "--schema",
        "own.sql",
        "--rows",
        "60k",
        "--batch-rows",
        "2k",
        "--connections",
        "4",
        "--statement-rows",
        "20",
    ];
    std::fs::write(home.join("own.sql"), counted).unwrap();
    let mut child = rowcliff(home).args(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while std::fs::read_to_string(home.join("s/batches.csv")).map_or(0, |text| text.lines().count()) < 2 {
        assert!(Instant::now() < deadline, "no batch within a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
    let table = record(&home.join("s")).curves[0].table.clone().unwrap();
    connect(&place.socket)
        .query_drop(format!("CREATE TRIGGER {table}_spoil BEFORE INSERT ON {table} FOR EACH ROW SET NEW.b = 'other'"))
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(i32::from(exit::FAILED)));
    let Outcome::Failed { message, .. } = &record(&home.join("s")).curves[0].outcome else { panic!() };
    assert!(message.contains("1000 of 1000 compared rows") && message.contains("other"), "{message}");
    assert!(run(home, &["clean", "s"]).status.success());
}

pub fn check_changes_nothing(family: Family) {
    let Some(server) = OwnServer::start(family, &[]) else { return };
    let home = tempfile::tempdir().unwrap();
    let before = told(&server);
    assert!(before.iter().any(|(name, _)| name == "Com_set_option"));
    let words = [
        "check",
        "--target",
        &server.target(),
        "--engine",
        "innodb,myisam,csv",
        "--flush",
        "0,1,2",
        "--rows",
        "300M",
        "--no-disk-check",
    ];
    let output = run(home.path(), &words);
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    let out = super::stdout(&output);
    for expected in ["300 x 1M", "300M", "skipped: ", "CSV", "of disk"] {
        assert!(out.contains(expected), "no {expected:?}: {out}");
    }
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    // The server's own account of what it was told: nothing was created, changed or set, not even in a session.
    assert_eq!(told(&server), before);
}

/// How often a server was told to change something.
fn told(server: &OwnServer) -> Vec<(String, u64)> {
    const WRITES: [&str; 10] =
        ["set_option", "create", "drop", "alter", "insert", "update", "delete", "lock", "flush", "grant"];
    let all: Vec<(String, u64)> = server.connect().query("SHOW GLOBAL STATUS LIKE 'Com\\_%'").unwrap();
    let is_write = |name: &str| WRITES.iter().any(|word| name.trim_start_matches("Com_").starts_with(word));
    all.into_iter().filter(|(name, _)| is_write(name)).collect()
}

/// Starts a run in the background and gives its table once `batches` of it are recorded.
fn going(server: &OwnServer, home: &Path, words: &[&str], batches: usize) -> (std::process::Child, String) {
    let child = rowcliff(home)
        .args(["run", "--target", &server.target(), "--out", "r"])
        .args(words)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while std::fs::read_to_string(home.join("r/batches.csv")).map_or(0, |text| text.lines().count()) < batches + 1 {
        assert!(Instant::now() < deadline, "no batch within a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
    (child, server.connect().query_first("SHOW TABLES LIKE 'rowcliff%'").unwrap().unwrap())
}

pub fn a_killed_connection_takes_the_batch_back(family: Family) {
    let Some(server) = OwnServer::start(family, &[]) else { return };
    for (engine, key) in
        [("innodb", "autoinc"), ("innodb", "uuid4"), ("myisam", "uuid4:binary16"), ("myisam", "autoinc")]
    {
        let home = tempfile::tempdir().unwrap();
        let (child, table) = going(
            &server,
            home.path(),
            &[
                "--engine",
                engine,
                "--key",
                key,
                "--rows",
                "80k",
                "--batch-rows",
                "20k",
                "--statement-rows",
                "100",
                "--connections",
                "3",
                "--keep",
            ],
            1,
        );
        let mut conn = server.connect();
        let sql = "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'INSERT INTO `rowcliff%' LIMIT 1";
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            assert!(Instant::now() < deadline, "no statement was seen");
            if let Some(id) = conn.query_first::<u64, _>(sql).unwrap() {
                conn.query_drop(format!("KILL {id}")).unwrap();
                break;
            }
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{engine} {key}: {}", text(&output));
        let lines = samples(&home.path().join("r"));
        assert_eq!(lines.iter().map(|line| line.table_rows).collect::<Vec<_>>(), [20_000, 40_000, 60_000, 80_000]);
        assert_eq!(lines.iter().filter(|line| line.has_note("retried")).count(), 1, "{engine} {key}");
        let column = if key == "autoinc" { "id2" } else { "id" };
        let counts: (u64, u64) =
            conn.query_first(format!("SELECT COUNT(*), COUNT(DISTINCT {column}) FROM {table}")).unwrap().unwrap();
        assert_eq!(counts, (80_000, 80_000), "{engine} {key}");
        conn.query_drop(format!("DROP TABLE {table}")).unwrap();
    }
}

pub fn a_lock_wait_sends_its_transaction_again(family: Family) {
    let Some(server) = OwnServer::start(family, &["--innodb-lock-wait-timeout=1"]) else { return };
    let home = tempfile::tempdir().unwrap();
    let (child, table) = going(
        &server,
        home.path(),
        &[
            "--key",
            "autoinc",
            "--rows",
            // The load is still going on when the lock below is had, also on a fast machine.
            "300k",
            "--batch-rows",
            "20k",
            "--statement-rows",
            "100",
            "--commit-rows",
            "500",
            "--connections",
            "2",
        ],
        1,
    );
    let mut conn = server.connect();
    // Holds the end of the index for longer than one lock wait.
    conn.query_drop("BEGIN").unwrap();
    conn.query_drop(format!("SELECT COUNT(*) FROM {table} FORCE INDEX (id2) WHERE id2 >= 0 FOR UPDATE")).unwrap();
    std::thread::sleep(Duration::from_millis(1600));
    conn.query_drop("ROLLBACK").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    let lines = samples(&home.path().join("r"));
    assert!(lines.iter().map(|line| line.retries.unwrap()).sum::<u64>() >= 1, "{lines:?}");
    assert_eq!(lines.last().unwrap().table_rows, 300_000);
}

/// Types that both families have.
const EVERY_TYPE: &str = "CREATE TABLE {table} (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  t TINYINT, tu TINYINT UNSIGNED NOT NULL, s SMALLINT, m MEDIUMINT, i INT UNSIGNED NOT NULL, b BIGINT, n BIGINT NOT NULL,
  d DECIMAL(20,6), d0 DECIMAL(5,0) NOT NULL, f FLOAT, g DOUBLE NOT NULL,
  da DATE, ti TIME(3), dt DATETIME(6) NOT NULL, ts TIMESTAMP NULL, y YEAR,
  c CHAR(20) NOT NULL, v VARCHAR(300) CHARACTER SET utf8mb4, tt TINYTEXT, te TEXT NOT NULL, lt LONGTEXT,
  bi BINARY(12), vb VARBINARY(40) NOT NULL, bl BLOB,
  e ENUM('a','b','it''s') NOT NULL, se SET('x','y','z'), bo BOOLEAN NOT NULL, bt BIT(13), j JSON,
  gen BIGINT AS (CHAR_LENGTH(te)) STORED,
  UNIQUE KEY (n), KEY (s, da), KEY (v(10)), UNIQUE KEY (c)
)";

pub fn a_table_of_every_common_type_is_filled_and_compared(family: Family) {
    let Some(place) = place(family) else { return };
    let more = if family == Family::MariaDb { ", u UUID NOT NULL, i4 INET4, i6 INET6" } else { "" };
    let schema = EVERY_TYPE.replace(",\n  gen", &format!("{more},\n  gen"));
    std::fs::write(place.home.path().join("every.sql"), schema).unwrap();
    let partitioned = "CREATE TABLE {table} (id BINARY(16) NOT NULL, d DATE NOT NULL, x INT, PRIMARY KEY (id, d)) {options} \
        PARTITION BY RANGE (YEAR(d)) (PARTITION p0 VALUES LESS THAN (2012), PARTITION p1 VALUES LESS THAN MAXVALUE)";
    std::fs::write(place.home.path().join("parts.sql"), partitioned).unwrap();
    for (schema, key, order) in [
        ("every.sql", "autoinc", "ascending"),
        ("every.sql", "autoinc", "random"),
        ("parts.sql", "uuid4:binary16", "ascending"),
    ] {
        let run_directory = place.finished(&[
            "--schema",
            schema,
            "--key",
            key,
            "--index-order",
            order,
            "--method",
            "insert,prepared,load-data",
            "--rows",
            "2k",
            "--batch-rows",
            "1k",
            "--statement-rows",
            "100",
            "--connections",
            "2",
            "--payload-bytes",
            "60",
        ]);
        for curve in record(&run_directory).curves {
            assert_eq!(curve.outcome, Outcome::Completed, "{schema} {}", curve.curve);
            let verification = curve.verification.unwrap();
            assert_eq!((verification.compared_rows, verification.wrong_rows), (1000, 0), "{schema} {}", curve.curve);
        }
        std::fs::remove_dir_all(run_directory).unwrap();
    }
}

pub fn what_cannot_be_filled_is_refused_by_name(family: Family) {
    let Some(place) = place(family) else { return };
    let cases = [
        ("CREATE TABLE {table} (id TINYINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT)", ["tinyint", "300"]),
        (
            "CREATE TABLE {table} (id BIGINT AUTO_INCREMENT PRIMARY KEY, place LINESTRING NOT NULL)",
            ["place", "linestring"],
        ),
        (
            "CREATE TABLE {table} (id BIGINT AUTO_INCREMENT PRIMARY KEY, small TINYINT UNSIGNED NOT NULL UNIQUE)",
            ["small", "256"],
        ),
        (
            "CREATE TABLE {table} (id BINARY(16) PRIMARY KEY, d DATE NOT NULL) {options} PARTITION BY RANGE (YEAR(d)) (PARTITION a VALUES LESS THAN (2030))",
            ["1503", "PRIMARY KEY"],
        ),
        ("CREATE TABLE {table} (id BIGINT AUTO_INCREMENT PRIMARY KEY, t TEXT {what})", ["{what}", "--schema"]),
    ];
    for (schema, expected) in cases {
        std::fs::write(place.home.path().join("own.sql"), schema).unwrap();
        let output = place.run(&["--schema", "own.sql", "--rows", "300", "--batch-rows", "300"]);
        let expected_code = if schema.contains("{what}") { exit::USAGE } else { exit::FAILED };
        assert_eq!(output.status.code(), Some(i32::from(expected_code)), "{schema}: {}", text(&output));
        for word in expected {
            assert!(
                text(&output).to_lowercase().contains(&word.to_lowercase()),
                "{schema}: no {word:?}: {}",
                text(&output)
            );
        }
        let _ = std::fs::remove_dir_all(place.home.path().join("r"));
    }
    // One row fewer than the type has room for is taken.
    std::fs::write(
        place.home.path().join("own.sql"),
        "CREATE TABLE {table} (id TINYINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, v INT)",
    )
    .unwrap();
    place.finished(&["--schema", "own.sql", "--key", "autoinc", "--rows", "255", "--batch-rows", "255"]);
}

/// Sends a signal to a process of our own.
fn signal(id: u32, name: &str) {
    assert!(std::process::Command::new("kill").arg(format!("-{name}")).arg(id.to_string()).status().unwrap().success());
}

pub fn a_server_that_stops_answering_ends_the_curve_within_fifteen_seconds(family: Family) {
    let Some(server) = OwnServer::start(family, &[]) else { return };
    let home = tempfile::tempdir().unwrap();
    let words = [
        "--key",
        "autoinc,uuid4",
        "--rows",
        "1G",
        "--no-disk-check",
        "--batch-rows",
        "50k",
        // Long enough that it is a batch that the stop falls into.
        "--statement-rows",
        "100",
        "--connections",
        "2",
        "--max-batch-seconds",
        "10",
        "--on-stop",
        "run",
    ];
    let (mut child, table) = going(&server, home.path(), &words, 3);
    signal(server.id(), "STOP");
    let stopped = Instant::now();
    let status = child.wait().unwrap();
    let took = stopped.elapsed();
    signal(server.id(), "CONT");
    let found = record(&home.path().join("r"));
    assert_eq!(status.code(), Some(i32::from(exit::STOPPED)), "{:?}", found.curves[0].outcome);
    assert!(took > Duration::from_secs(9) && took < Duration::from_secs(16), "{took:?}");
    let record = record(&home.path().join("r"));
    let Outcome::Stopped { rule, .. } = &record.curves[0].outcome else { panic!("{:?}", record.curves[0].outcome) };
    assert_eq!(rule, "--max-batch-seconds 10");
    assert_eq!(record.curves[1].outcome, Outcome::NotStarted);
    assert!(record.curves[0].partial.is_some());
    assert_eq!(record.curves[0].table.as_deref(), Some(table.as_str()), "what could not be dropped is named");
    let cleaned = run(home.path(), &["clean", "r"]);
    assert_eq!(cleaned.status.code(), Some(i32::from(exit::OK)), "{}", text(&cleaned));
}

pub fn a_control_batch_leaves_no_table_and_clean_finds_one_that_was_left(family: Family) {
    let Some(place) = place(family) else { return };
    let words =
        ["--key", "uuid4", "--rows", "4k", "--batch-rows", "2k", "--connections", "2", "--control-batch", "--keep"];
    let directory = place.finished(&words);
    let mut found = record(&directory);
    let control = found.curves[0].control_batch.clone().unwrap();
    assert_eq!((control.rows, control.table, control.problem), (2000, None, None));
    assert!(control.seconds.is_some());
    let table = found.curves[0].table.clone().unwrap();
    let side = format!("{table}_control");
    let mut conn = connect(&place.socket);
    let mut tables = |like: &str| -> Vec<String> { conn.query(format!("SHOW TABLES LIKE '{like}%'")).unwrap() };
    assert_eq!(tables(&table), [table.as_str()]);
    // As a kill in the middle of the control batch leaves it: the same definition, the same mark.
    connect(&place.socket).query_drop(format!("CREATE TABLE {side} LIKE {table}")).unwrap();
    found.curves[0].control_batch.as_mut().unwrap().table = Some(side);
    rowcliff::record::store::write_run(&directory, &found).unwrap();
    let output = run(place.home.path(), &["clean", "r"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(tables(&table), Vec::<String>::new());
}
