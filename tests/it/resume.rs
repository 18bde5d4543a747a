//! Going on after kills, crashes and full disks: at the end of every story the table holds each row once.
//!
//! `ROWCLIFF_TEST_KILLS` sets how often each story of the torture is killed (3 where it is not set).

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use rowcliff::error::exit;
use rowcliff::record::{Outcome, Sample};

use crate::support::servers::{Family, OwnServer, binary, connect, shared, target};
use crate::support::{record, rowcliff, run, samples, stderr, stdout, text};

fn kills() -> u32 {
    std::env::var("ROWCLIFF_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

/// Moments that differ from test to test and are the same each time.
struct Moments(u64);

impl Moments {
    fn new(story: &str) -> Self {
        Self(
            story
                .bytes()
                .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)),
        )
    }

    fn next(&mut self, low: u64, high: u64) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_millis(low + (self.0 >> 33) % (high - low))
    }
}

fn start(home: &Path, words: &[&str]) -> Child {
    let said = std::fs::File::create(home.join("said")).unwrap();
    rowcliff(home).args(words).stdout(Stdio::null()).stderr(said).spawn().unwrap()
}

/// Waits until a run has this many samples.
fn await_batches(directory: &Path, batches: usize) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let text = std::fs::read_to_string(directory.join("batches.csv")).unwrap_or_default();
        if text.lines().count() > batches {
            return;
        }
        assert!(Instant::now() < deadline, "no {batches} batches within a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// `table_rows` rises by exactly one batch a line, in every curve.
fn assert_steps(lines: &[Sample], batch_rows: u64) {
    let mut last = std::collections::BTreeMap::new();
    for line in lines {
        let before = last.insert(line.curve.clone(), line.table_rows).unwrap_or(0);
        assert_eq!(line.table_rows, before + batch_rows, "{} batch {}", line.curve, line.batch);
        assert_eq!((line.rows, line.batch * batch_rows), (batch_rows, line.table_rows));
    }
}

/// The end of a story: completed, verified, each row once.
fn assert_exact(directory: &Path, rows: u64, batch_rows: u64) {
    let record = record(directory);
    for curve in &record.curves {
        assert_eq!(curve.outcome, Outcome::Completed, "{}", curve.curve);
        let verification = curve.verification.as_ref().unwrap();
        assert_eq!(
            (verification.counted_rows, verification.compared_rows, verification.wrong_rows),
            (Some(rows), 1000.min(rows), 0),
            "{}",
            curve.curve
        );
        assert_eq!(curve.batches * batch_rows, rows);
    }
    let lines = samples(directory);
    assert_eq!(lines.len() as u64, record.curves.len() as u64 * rows / batch_rows);
    assert_steps(&lines, batch_rows);
}

/// Rows of a story: as many as keep it going until its last kill, and for some time after that.
fn rows(for_each_kill: u64) -> u64 {
    for_each_kill * u64::from(kills())
}

/// A run that is killed again and again and gone on with. Gives how often it really was killed.
fn torture(story: &str, home: &Path, words: &[&str], (low, high): (u64, u64)) -> u32 {
    let mut moments = Moments::new(story);
    let mut killed = 0;
    let mut words: Vec<&str> = [&["run", "--out", "r", "--keep", "--quiet"], words].concat();
    for _ in 0..kills() {
        let mut child = start(home, &words);
        std::thread::sleep(moments.next(low, high));
        if let Some(status) = child.try_wait().unwrap() {
            let said = std::fs::read_to_string(home.join("said")).unwrap();
            assert!(status.success(), "{story}: after {killed} kills it ended by itself with {status}: {said}");
            if killed == 0 {
                // Done before it could be killed: there is nothing to go on with.
                return 0;
            }
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        killed += 1;
        // Killed before there was anything to go on with: the command is simply repeated.
        if home.join("r/run.json").exists() {
            words = vec!["resume", "r", "--quiet"];
        } else {
            let _ = std::fs::remove_dir_all(home.join("r"));
        }
    }
    let output = run(home, &words);
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{story}: {}", text(&output));
    assert!(!home.join("r/lost.csv").exists(), "{story}: nothing that was acknowledged is lost by killing the client");
    eprintln!("{story}: killed {killed} times, exact");
    killed
}

/// Every row once, by the server's own count: `id2` is a bijection of the row index.
fn assert_distinct(socket: &Path, directory: &Path, rows: u64) {
    let mut conn = connect(socket);
    for curve in record(directory).curves {
        let table = curve.table.unwrap();
        let counted: (u64, u64) =
            conn.query_first(format!("SELECT COUNT(*), COUNT(DISTINCT id2) FROM {table}")).unwrap().unwrap();
        assert_eq!(counted, (rows, rows), "{}", curve.curve);
        conn.query_drop(format!("DROP TABLE {table}")).unwrap();
    }
}

fn torture_engine(family: Family, engine: &str, options: &[&str]) {
    let Some(server) = OwnServer::start(family, options) else { return };
    let (target, rows) = (server.target(), rows(40_000));
    let all = rows.to_string();
    for key in ["autoinc", "uuid4"] {
        for connections in ["1", "4"] {
            #[rustfmt::skip]
            let words = [
                "--target", &target, "--engine", engine, "--key", key, "--connections", connections,
                "--rows", &all, "--batch-rows", "4k", "--statement-rows", "100",
            ];
            let (mut killed, mut within) = (0, (150, 900));
            // A machine that is done before the first kill is killed earlier.
            while killed == 0 {
                assert!(within.1 > 5, "{engine} {key} {connections}: the load is too short to be killed");
                let home = tempfile::tempdir().unwrap();
                killed = torture(&format!("{engine} {key} {connections}"), home.path(), &words, within);
                assert_exact(&home.path().join("r"), rows, 4000);
                assert_distinct(&server.socket, &home.path().join("r"), rows);
                within = (within.0 / 2, within.1 / 2);
            }
        }
    }
}

#[test]
fn innodb_is_exact_after_kills() {
    torture_engine(Family::MariaDb, "innodb", &["--innodb-flush-log-at-trx-commit=2"]);
}

#[test]
fn innodb_of_mysql_is_exact_after_kills() {
    torture_engine(Family::MySql, "innodb", &["--innodb-flush-log-at-trx-commit=2"]);
}

#[test]
fn myisam_is_exact_after_kills() {
    torture_engine(Family::MariaDb, "myisam", &[]);
}

#[test]
fn rocksdb_is_exact_after_kills() {
    torture_engine(Family::MariaDb, "rocksdb", &["--plugin-load-add=ha_rocksdb"]);
}

#[test]
fn sqlite_is_exact_after_kills() {
    for key in ["autoinc", "uuid4"] {
        let home = tempfile::tempdir().unwrap();
        let rows = rows(100_000);
        let words = ["--key", key, "--rows", &rows.to_string(), "--batch-rows", "10k"];
        torture(&format!("sqlite {key}"), home.path(), &words, (60, 500));
        assert_exact(&home.path().join("r"), rows, 10_000);
        let database = rusqlite::Connection::open(home.path().join("r/curve-1.sqlite")).unwrap();
        let table = record(&home.path().join("r")).curves[0].table.clone().unwrap();
        let counted: (i64, i64) = database
            .query_row(&format!("SELECT COUNT(*), COUNT(DISTINCT id2) FROM \"{table}\""), [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        assert_eq!(counted, (rows as i64, rows as i64));
    }
}

/// A statement of a killed client goes on for as long as it takes: resumed at once, it must not insert behind our back.
#[test]
fn a_statement_that_outlives_its_client_is_ended_before_the_load_goes_on() {
    for family in [Family::MariaDb, Family::MySql] {
        let Some(server) = OwnServer::start(family, &["--innodb-flush-log-at-trx-commit=2"]) else { continue };
        for (engine, key) in [("innodb", "uuid4"), ("innodb", "autoinc"), ("myisam", "uuid4")] {
            let home = tempfile::tempdir().unwrap();
            let target = server.target();
            #[rustfmt::skip]
            let words = [
                "--target", &target, "--engine", engine, "--key", key, "--connections", "2",
                "--rows", "320k", "--batch-rows", "80k", "--statement-rows", "40k",
            ];
            torture(&format!("{family:?} {engine} {key} long"), home.path(), &words, (300, 1500));
            assert_exact(&home.path().join("r"), 320_000, 80_000);
            assert_distinct(&server.socket, &home.path().join("r"), 320_000);
        }
    }
}

/// Kills server and client in the middle, starts the server again, and goes on. Gives the rows that were lost.
fn crash(family: Family, flush: &str, key: &str, options: &[&str]) -> Option<u64> {
    let server = OwnServer::start(family, options)?;
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("r");
    let target = server.target();
    #[rustfmt::skip]
    let words = [
        "run", "--target", &target, "--out", "r", "--key", key, "--flush", flush, "--keep", "--quiet",
        "--rows", "100k", "--batch-rows", "2k", "--connections", "4", "--statement-rows", "50",
    ];
    let mut child = start(home.path(), &words);
    await_batches(&directory, 12);
    let server = server.restart_with(options, || {
        child.kill().unwrap();
        child.wait().unwrap();
    });
    let acknowledged = samples(&directory).len() as u64;
    let output = run(home.path(), &["resume", "r"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    assert_exact(&directory, 100_000, 2000);
    assert_distinct(&server.socket, &directory, 100_000);
    let resumption = record(&directory).curves[0].resumptions[0].clone();
    let lost = std::fs::read_to_string(directory.join("lost.csv")).map_or(0, |text| text.lines().count() as u64 - 1);
    assert_eq!(lost, resumption.lost_batches, "{}", text(&output));
    assert_eq!(resumption.from_batch, acknowledged - lost + 1);
    assert_eq!(lost > 0, stderr(&output).contains("LOST AFTER ACKNOWLEDGEMENT"), "{}", text(&output));
    assert!(resumption.lost_rows <= lost * 2000 && (lost == 0 || resumption.lost_rows > 0));
    let lines = samples(&directory);
    let marked: Vec<u64> = lines.iter().filter(|line| line.has_note("resumed")).map(|line| line.batch).collect();
    assert_eq!(marked, [resumption.from_batch]);
    Some(resumption.lost_rows)
}

#[test]
fn a_server_that_is_killed_loses_nothing_under_flush_1_and_2() {
    // Written at every commit: the process can die, the system has it.
    for (family, flush, key) in [
        (Family::MariaDb, "1", "uuid4"),
        (Family::MariaDb, "2", "autoinc"),
        (Family::MySql, "1", "autoinc"),
        (Family::MySql, "2", "uuid4"),
    ] {
        if let Some(lost) = crash(family, flush, key, &[]) {
            assert_eq!(lost, 0, "{family:?} {flush}");
        }
    }
}

#[test]
fn what_a_killed_server_lost_under_flush_0_is_said_and_loaded_again() {
    // The log stays in memory until somebody asks for it: this makes sure that there is something to lose.
    let lazy = ["--innodb-flush-log-at-timeout=2700", "--innodb-log-buffer-size=64M"];
    for (family, key) in [(Family::MariaDb, "uuid4"), (Family::MariaDb, "autoinc"), (Family::MySql, "uuid4")] {
        if let Some(lost) = crash(family, "0", key, &lazy) {
            assert!(lost > 0, "{family:?} {key}: nothing was lost, so nothing was shown");
        }
    }
}

#[test]
fn a_memory_table_that_a_restart_emptied_is_loaded_again_from_its_first_row() {
    let Some(server) = OwnServer::start(Family::MariaDb, &[]) else { return };
    let home = tempfile::tempdir().unwrap();
    let target = server.target();
    #[rustfmt::skip]
    let words = [
        "run", "--target", &target, "--out", "r", "--engine", "memory", "--keep", "--quiet", "--key", "autoinc",
        "--rows", "60k", "--batch-rows", "1k", "--statement-rows", "10",
    ];
    let mut child = start(home.path(), &words);
    await_batches(&home.path().join("r"), 3);
    let _server = server.restart_with(&[], || {
        child.kill().unwrap();
        child.wait().unwrap();
    });
    let output = run(home.path(), &["resume", "r"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    assert!(stderr(&output).contains("LOST AFTER ACKNOWLEDGEMENT"), "{}", text(&output));
    assert_exact(&home.path().join("r"), 60_000, 1000);
}

/// A small run on SQLite, interrupted after some batches.
fn interrupted(home: &Path, more: &[&str]) -> PathBuf {
    #[rustfmt::skip]
    let mut words = vec!["run", "--out", "r", "--quiet", "--key", "uuid4", "--rows", "300k", "--batch-rows", "2k"];
    words.extend(more);
    let child = start(home, &words);
    await_batches(&home.join("r"), 3);
    kill(&child, "INT");
    let status = { child }.wait().unwrap();
    assert_eq!(status.code(), Some(i32::from(exit::INTERRUPTED)));
    home.join("r")
}

fn kill(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn an_interrupted_run_says_how_to_go_on_and_goes_on_where_it_was() {
    let home = tempfile::tempdir().unwrap();
    let directory = interrupted(home.path(), &[]);
    let before = samples(&directory);
    let status = stdout(&run(home.path(), &["status", "r"]));
    assert!(status.contains("interrupted; rowcliff resume r goes on with it"), "{status}");
    let output = run(home.path(), &["resume", "r"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    assert_exact(&directory, 300_000, 2000);
    assert_eq!(samples(&directory)[..before.len()], before[..], "what was measured stays as it was");
    let record = record(&directory);
    assert_eq!(record.resumed_by.len(), 1);
    assert_eq!(record.curves[0].resumptions[0].from_batch, before.len() as u64 + 1);

    // And once more: there is nothing left to do, which is no error.
    let output = run(home.path(), &["resume", "r"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    assert!(stderr(&output).contains("nothing to resume"), "{}", text(&output));
}

/// Ended while the boundary of a batch was being read, a run has recorded the batch and not its boundary.
#[test]
fn a_batch_whose_boundary_was_not_read_any_more_is_gone_on_from_or_loaded_again() {
    let Some(server) = OwnServer::start(Family::MariaDb, &[]) else { return };
    for (engine, lost) in [("innodb", false), ("myisam", false), ("innodb", true)] {
        let home = tempfile::tempdir().unwrap();
        let (directory, target) = (home.path().join("r"), server.target());
        #[rustfmt::skip]
        let words = [
            "run", "--target", &target, "--out", "r", "--key", "autoinc", "--engine", engine, "--keep", "--quiet",
            "--rows", "100k", "--batch-rows", "2k", "--connections", "2", "--statement-rows", "50",
        ];
        let mut child = start(home.path(), &words);
        await_batches(&directory, 3);
        assert!(Command::new("kill").arg("-INT").arg(child.id().to_string()).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(i32::from(exit::INTERRUPTED)));
        let recorded = samples(&directory).len() as u64;
        let journal = std::fs::read_to_string(directory.join("journal")).unwrap();
        let is_newest = |line: &&str| line.contains("\"boundary\"") && line.contains(&format!("\"batch\":{recorded},"));
        let kept: Vec<&str> = journal.lines().filter(|line| !is_newest(line)).collect();
        assert_eq!(kept.iter().filter(|line| line.contains("\"boundary\"")).count() as u64, recorded - 1, "{journal}");
        std::fs::write(directory.join("journal"), kept.join("\n") + "\n").unwrap();
        let table = record(&directory).curves[0].table.clone().unwrap();
        if lost {
            connect(&server.socket).query_drop(format!("DELETE FROM {table} ORDER BY id DESC LIMIT 5")).unwrap();
        }
        let output = run(home.path(), &["resume", "r", "--quiet"]);
        assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{engine}: {}", text(&output));
        assert_exact(&directory, 100_000, 2000);
        assert_distinct(&server.socket, &directory, 100_000);
        let from = record(&directory).curves[0].resumptions[0].from_batch;
        assert_eq!(from, if lost { recorded } else { recorded + 1 }, "{engine}");
    }
}

#[test]
fn a_command_with_continue_can_be_repeated_until_it_is_done() {
    let home = tempfile::tempdir().unwrap();
    let directory = interrupted(home.path(), &["--continue"]);
    #[rustfmt::skip]
    let words =
        ["run", "--out", "r", "--quiet", "--key", "uuid4", "--rows", "300k", "--batch-rows", "2k", "--continue"];
    let mut others = words.to_vec();
    others[7] = "400k";
    let output = run(home.path(), &others);
    assert_eq!(output.status.code(), Some(i32::from(exit::USAGE)), "{}", text(&output));
    assert!(stderr(&output).contains("curves[0].sizes.rows: 300000 there, 400000 here"), "{}", text(&output));
    for _ in 0..2 {
        let output = run(home.path(), &words);
        assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    }
    assert_exact(&directory, 300_000, 2000);
    let output = run(home.path(), &words[..words.len() - 1]);
    assert_eq!(output.status.code(), Some(i32::from(exit::USAGE)), "without the word it is another run's directory");
}

#[test]
fn what_cannot_be_resumed_says_why() {
    let home = tempfile::tempdir().unwrap();
    let output = run(home.path(), &["resume", "nowhere"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&output));
    assert!(stderr(&output).contains("name the directory of a run"), "{}", text(&output));

    let directory = interrupted(home.path(), &[]);
    let path = directory.join("run.json");
    let whole = std::fs::read_to_string(&path).unwrap();
    let this = env!("CARGO_PKG_VERSION");
    std::fs::write(&path, whole.replace(&format!("\"program_version\": \"{this}\""), "\"program_version\": \"0.0.1\""))
        .unwrap();
    let output = run(home.path(), &["resume", "r"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&output));
    assert!(stderr(&output).contains(&format!("written by rowcliff 0.0.1, and this is {this}")), "{}", text(&output));
    std::fs::write(&path, whole).unwrap();

    // While somebody else writes it.
    let lock = std::fs::File::options().write(true).open(directory.join("lock")).unwrap();
    lock.try_lock().unwrap();
    let output = run(home.path(), &["resume", "r"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&output));
    assert!(stderr(&output).contains("a rowcliff is writing this run"), "{}", text(&output));
    assert!(stdout(&run(home.path(), &["status", "r"])).contains(", running"));
    drop(lock);

    // Its file is gone: that is our own, so the curve starts again, and says so.
    std::fs::remove_file(directory.join("curve-1.sqlite")).unwrap();
    let output = run(home.path(), &["resume", "r"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    assert!(stderr(&output).contains("the curve starts again from its first row"), "{}", text(&output));
    assert_exact(&directory, 300_000, 2000);
    assert!(samples(&directory)[0].has_note("restarted"));
    assert!(record(&directory).curves[0].resumptions[0].started_again);
}

#[test]
fn a_table_that_is_not_the_runs_any_more_is_not_offered_to_resume_again() {
    let Some(socket) = shared(Family::MariaDb) else { return };
    let home = tempfile::tempdir().unwrap();
    let target = target(&socket);
    let directory = interrupted(home.path(), &["--target", &target, "--statement-rows", "20"]);
    let table = record(&directory).curves[0].table.clone().unwrap();
    connect(&socket).query_drop(format!("ALTER TABLE {table} COMMENT='somebody else''s'")).unwrap();
    let output = run(home.path(), &["resume", "r"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&output));
    assert!(text(&output).contains("does not bear this run's mark any more"), "{}", text(&output));
    crate::support::assert_cannot_go_on(home.path(), &stderr(&output), "change the table, or what its message names");
    assert!(!stderr(&output).contains("rowcliff clean"), "clean would leave it alone: {}", text(&output));
    connect(&socket).query_drop(format!("DROP TABLE {table}")).unwrap();
}

#[test]
fn a_table_that_somebody_dropped_is_not_loaded_again_in_silence() {
    let Some(socket) = shared(Family::MariaDb) else { return };
    let home = tempfile::tempdir().unwrap();
    let target = target(&socket);
    let directory = interrupted(home.path(), &["--target", &target, "--statement-rows", "20"]);
    let table = record(&directory).curves[0].table.clone().unwrap();
    connect(&socket).query_drop(format!("DROP TABLE {table}")).unwrap();
    let before = samples(&directory);
    let output = run(home.path(), &["resume", "r"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&output));
    let said = text(&output);
    assert!(said.contains(&format!("table {table} is not there any more")) && said.contains("--start-again"), "{said}");
    let last = "load it anew with: rowcliff resume --start-again ";
    assert!(stderr(&output).contains(last) && !stderr(&output).contains("go on with:"), "{}", text(&output));
    assert_eq!(samples(&directory), before);
    let output = run(home.path(), &["resume", "r", "--start-again"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    assert_exact(&directory, 300_000, 2000);
    let lost = std::fs::read_to_string(directory.join("lost.csv")).unwrap();
    assert_eq!(lost.lines().count(), before.len() + 1);
}

#[test]
fn a_scratch_server_is_started_again_on_its_data_and_anew_where_that_is_gone() {
    for family in [Family::MariaDb, Family::MySql] {
        let Some(binary) = binary(family) else { continue };
        let home = tempfile::tempdir().unwrap();
        let target = format!("scratch:{}", binary.display());
        #[rustfmt::skip]
        let words = [
            "run", "--target", &target, "--out", "r", "--quiet", "--key", "autoinc,uuid4", "--rows", "60k",
            "--batch-rows", "2k", "--statement-rows", "50",
        ];
        let directory = home.path().join("r");
        for (batches, data_goes) in [(4, false), (34, true)] {
            let first = batches == 4;
            let mut child = if first { start(home.path(), &words) } else { start(home.path(), &["resume", "r"]) };
            await_batches(&directory, batches);
            child.kill().unwrap();
            child.wait().unwrap();
            if data_goes {
                std::thread::sleep(Duration::from_secs(2));
                std::fs::remove_dir_all(directory.join("scratch")).unwrap();
            }
        }
        let output = run(home.path(), &["resume", "r"]);
        assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
        assert!(stderr(&output).contains("starts again"), "{}", text(&output));
        assert_exact(&directory, 60_000, 2000);
        assert!(!directory.join("scratch").exists(), "nothing is left behind");
    }
}

/// A full disk under the results: what was printed is saved, the run says what happened, and goes on when there is room.
#[test]
fn results_that_cannot_be_saved_end_the_run_and_it_goes_on_later() {
    let Some(socket) = shared(Family::MariaDb) else { return };
    let home = tempfile::tempdir().unwrap();
    let target = target(&socket);
    // The limit of file sizes stands for a full disk: the same write fails.
    let script = format!(
        "trap '' XFSZ; ulimit -f 64; exec {} run --target '{target}' --out r --key uuid4 --rows 300k --batch-rows 2k",
        env!("CARGO_BIN_EXE_rowcliff")
    );
    let mut command = rowcliff(home.path());
    let environment: Vec<_> =
        command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
    command = Command::new("bash");
    for (name, value) in environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.current_dir(home.path()).args(["-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&output));
    let said = stderr(&output);
    assert!(said.contains("a result could not be saved") && said.contains("rowcliff resume"), "{said}");
    let printed = said.lines().filter(|line| line.starts_with("batch ")).count();
    let directory = home.path().join("r");
    let saved = rowcliff::record::store::read_batches(&directory.join("batches.csv")).unwrap().samples.len();
    assert_eq!(saved, printed, "no sample that was printed is missing, and none is there that was not");
    assert!(saved > 5);
    let output = run(home.path(), &["resume", "r"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    assert_exact(&directory, 300_000, 2000);
}

/// Killed while a cell is being tried: what the trial left behind is the run's own, and in nobody's way.
#[test]
fn a_run_that_was_killed_in_its_trial_begins_as_if_nothing_had_been() {
    let Some(socket) = shared(Family::MariaDb) else { return };
    let home = tempfile::tempdir().unwrap();
    let server = target(&socket);
    for (number, place) in [&server, "sqlite", "sqlite:own.db"].into_iter().enumerate() {
        let out = format!("r{number}");
        #[rustfmt::skip]
        let words = ["run", "--target", place, "--out", &out, "--key", "uuid4", "--rows", "20k", "--batch-rows", "2k"];
        assert!(run(home.path(), &[&words[..], &["--keep"]].concat()).status.success());
        // As it was in the middle of the trial: the table is there, and nothing of the curve is recorded.
        let directory = home.path().join(&out);
        let mut record = record(&directory);
        record.state = rowcliff::record::RunState::Running;
        record.finished_at = None;
        let table = record.curves[0].table.take();
        record.curves[0] = rowcliff::record::CurveRecord {
            outcome: Outcome::NotStarted,
            table: None,
            batches: 0,
            table_rows: 0,
            verification: None,
            ..record.curves[0].clone()
        };
        rowcliff::record::store::write_run(&directory, &record).unwrap();
        for name in ["batches.csv", "journal", "counters.csv", "seconds.csv"] {
            let _ = std::fs::remove_file(directory.join(name));
        }
        let output = run(home.path(), &["resume", &out]);
        assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{place}: {}", text(&output));
        assert_exact(&directory, 20_000, 2000);
        assert_eq!(self::record(&directory).curves[0].table, table, "under the same name");
        assert!(run(home.path(), &["clean", &out]).status.success());
    }
    // A table of that name that is somebody else's stays: nothing of this run is in it.
    std::fs::write(home.path().join("other.db"), "").unwrap();
    rusqlite::Connection::open(home.path().join("other.db")).unwrap().execute_batch("CREATE TABLE theirs (a)").unwrap();
    let output =
        run(home.path(), &["run", "--target", "sqlite:other.db", "--key", "uuid4", "--rows", "2k", "--out", "x"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&output));
}

/// The file of samples may end anywhere: a cut number is never a value, and the end is exact all the same.
#[test]
fn samples_cut_at_every_byte_of_their_last_two_lines_are_shown_drawn_and_resumed() {
    let home = tempfile::tempdir().unwrap();
    #[rustfmt::skip]
    let words = ["run", "--out", "r", "--quiet", "--keep", "--key", "uuid4", "--rows", "400", "--batch-rows", "100"];
    assert!(run(home.path(), &words).status.success());
    let directory = home.path().join("r");
    let record_path = directory.join("run.json");
    // As if it had been killed after its last batch.
    let text_of_run = std::fs::read_to_string(&record_path).unwrap();
    let text_of_run = text_of_run
        .replace("\"state\": \"completed\"", "\"state\": \"running\"")
        .replace("\"state\": \"finished\"", "\"state\": \"running\"");
    let batches = std::fs::read(directory.join("batches.csv")).unwrap();
    let ends: Vec<usize> =
        batches.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    let whole = samples(&directory);
    for cut in ends[2]..batches.len() {
        let fresh = home.path().join("c");
        let _ = std::fs::remove_dir_all(&fresh);
        std::fs::create_dir(&fresh).unwrap();
        for name in ["curve-1.sqlite", "journal", "lock"] {
            std::fs::copy(directory.join(name), fresh.join(name)).unwrap();
        }
        std::fs::write(fresh.join("run.json"), &text_of_run).unwrap();
        std::fs::write(fresh.join("batches.csv"), &batches[..cut]).unwrap();
        // Reading is the same code for every command; the process itself is tried at some of the cuts.
        let read = rowcliff::record::store::read_batches(&fresh.join("batches.csv")).unwrap();
        let kept = ends.iter().filter(|&&end| end <= cut).count() - 1;
        assert_eq!(read.samples, whole[..kept], "cut at {cut}");
        assert_eq!(read.problems.is_empty(), ends.contains(&cut), "cut at {cut}");
        if cut % 8 == 0 || ends.iter().any(|&end| cut.abs_diff(end) <= 2) {
            for words in [&["show", "c"][..], &["plot", "c"]] {
                let output = run(home.path(), words);
                assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "cut at {cut}: {}", text(&output));
                assert_eq!(stderr(&output).contains("cut"), !ends.contains(&cut), "{}", text(&output));
            }
            let output = run(home.path(), &["resume", "c"]);
            assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "cut at {cut}: {}", text(&output));
            assert_eq!(stderr(&output).contains("was cut and is dropped"), !ends.contains(&cut), "{}", text(&output));
            assert_exact(&fresh, 400, 100);
            assert_eq!(samples(&fresh)[..kept], whole[..kept]);
        }
    }
}

/// ARCHIVE cannot delete: a curve of it that ended in the middle of a batch is not brought back, and says so in time.
#[test]
fn an_engine_that_cannot_delete_says_so_at_the_start_and_starts_again_when_it_is_told_to() {
    let Some(server) = OwnServer::start(Family::MariaDb, &["--plugin-load-add=ha_archive"]) else { return };
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("r");
    let target = server.target();
    #[rustfmt::skip]
    let words = [
        "run", "--target", &target, "--out", "r", "--engine", "archive", "--key", "autoinc",
        "--rows", "60k", "--batch-rows", "2k", "--statement-rows", "10",
    ];
    let mut command = rowcliff(home.path());
    let mut child = command.args(words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    await_batches(&directory, 4);
    // In the middle of a batch: a statement of ten rows takes far less than a batch of two hundred.
    std::thread::sleep(Duration::from_millis(30));
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(stderr(&output).contains("ARCHIVE cannot delete rows"), "{}", text(&output));
    let table = record(&directory).curves[0].table.clone().unwrap();
    let there: u64 = server.connect().query_first(format!("SELECT COUNT(*) FROM {table}")).unwrap().unwrap();
    let recorded = samples(&directory).len() as u64 * 2000;
    let output = run(home.path(), &["resume", "r"]);
    if there == recorded {
        // Killed exactly at a boundary: then nothing is in the way.
        assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    } else {
        assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&output));
        assert!(stderr(&output).contains("cannot delete rows") && stderr(&output).contains("--start-again"));
        let output = run(home.path(), &["resume", "r", "--start-again"]);
        assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    }
    assert_exact(&directory, 60_000, 2000);
}
