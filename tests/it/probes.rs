//! Probes between batches: every one of them on every engine, the table as it was afterwards, also after kills.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use rowcliff::error::exit;
use rowcliff::record::probe::read_probes;
use rowcliff::record::{Outcome, ProbeLine};

use crate::support::servers::{Family, OwnServer, connect, shared, target};
use crate::support::{record, rowcliff, run, samples, stderr, text};

const ALL: &str = "select-pk,select-secondary,range-pk,handler-pk,update-pk,update-secondary,insert,mixed,oltp";

fn probes(directory: &Path) -> Vec<ProbeLine> {
    let read = read_probes(directory).unwrap();
    assert_eq!(read.problems, []);
    read.lines
}

/// A run that has to end well.
fn finished(home: &Path, words: &[&str]) -> PathBuf {
    let output = run(home, &[&["run", "--keep", "--quiet", "--out"], words].concat());
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    home.join(words[0])
}

fn words_of(lines: &[ProbeLine], curve: &str) -> BTreeSet<String> {
    lines.iter().filter(|line| line.curve == curve).map(|line| line.probe.clone()).collect()
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Every row of a table of SQLite.
fn sqlite_rows(directory: &Path, number: usize) -> Vec<String> {
    let database = rusqlite::Connection::open(directory.join(format!("curve-{number}.sqlite"))).unwrap();
    let table = record(directory).curves[number - 1].table.clone().unwrap();
    let columns: Vec<String> = database
        .prepare(&format!("SELECT * FROM \"{table}\""))
        .unwrap()
        .column_names()
        .map(|name| format!("quote(\"{name}\")"))
        .collect();
    let mut rows: Vec<String> = database
        .prepare(&format!("SELECT {} FROM \"{table}\"", columns.join("||','||")))
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    rows.sort();
    rows
}

#[test]
fn sqlite_is_as_it_was_after_every_probe() {
    let home = tempfile::tempdir().unwrap();
    let load = ["--rows", "20k", "--batch-rows", "2k"];
    let plain = finished(home.path(), &[&["plain"], &load[..]].concat());
    #[rustfmt::skip]
    let asked = ["--probe", ALL, "--probe-every", "4", "--probe-iterations", "2", "--probe-ops", "50", "--probe-warmup"];
    let probed = finished(home.path(), &[&["probed"], &load[..], &asked].concat());
    for number in [1, 2] {
        assert_eq!(sqlite_rows(&probed, number), sqlite_rows(&plain, number), "curve {number}");
    }
    let (lines, record) = (probes(&probed), record(&probed));
    let [autoinc, uuid] = [&record.curves[0], &record.curves[1]];
    assert_eq!(autoinc.probes_left_out.keys().collect::<Vec<_>>(), ["handler-pk"]);
    assert_eq!(uuid.probes_left_out.keys().collect::<Vec<_>>(), ["handler-pk"]);
    assert_eq!((words_of(&lines, &autoinc.curve).len(), words_of(&lines, &uuid.curve).len()), (8, 8));
    // After batches 4, 8 and 10, twice each.
    assert_eq!(lines.len(), 3 * 2 * (8 + 8));
    for line in &lines {
        assert_eq!((line.ops, line.connections, line.errors), (50, 1, 0), "{line:?}");
        assert_eq!(line.table_rows, line.batch * 2000);
        assert!(matches!(line.batch, 4 | 8 | 10) && matches!(line.iteration, 1 | 2));
        // A quantile of a hundred needs a hundred.
        assert!(line.p50_us.is_some() && line.p99_us.is_none() && line.max_us.is_some(), "{line:?}");
        let rate = line.ops_per_sec.unwrap();
        assert!((rate * line.seconds / 50.0 - 1.0).abs() < 1e-3, "{line:?}");
    }
    for sample in samples(&probed) {
        assert_eq!(sample.has_note("after-probe"), matches!(sample.batch, 5 | 9), "batch {}", sample.batch);
    }
}

#[test]
fn a_wrong_row_makes_the_probe_and_the_curve_fail() {
    let Some(server) = OwnServer::start(Family::MariaDb, &[]) else { return };
    for (probe, key) in
        [("select-pk", "autoinc"), ("range-pk", "uuid4"), ("select-secondary", "autoinc"), ("handler-pk", "uuid4")]
    {
        let home = tempfile::tempdir().unwrap();
        let target = server.target();
        #[rustfmt::skip]
        let child = rowcliff(home.path())
            .args([
                "run", "--out", "r", "--quiet", "--target", &target, "--key", key, "--rows", "60k", "--batch-rows", "1k",
                "--probe", probe, "--probe-at", "60k", "--probe-ops", "2000", "--no-verify",
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let directory = home.path().join("r");
        let deadline = Instant::now() + Duration::from_secs(60);
        while samples_so_far(&directory) < 2 {
            assert!(Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(5));
        }
        // Somebody changes what was loaded.
        let table = record(&directory).curves[0].table.clone().unwrap();
        let column = if key == "autoinc" { "id3" } else { "mail" };
        let mut conn = server.connect();
        let sql = format!("UPDATE {table} SET {column} = 7 LIMIT 1500");
        // The load has locks of its own meanwhile.
        while let Err(refused) = conn.query_drop(&sql) {
            assert!(Instant::now() < deadline, "{refused}");
        }
        assert_eq!({ child }.wait().unwrap().code(), Some(i32::from(exit::FAILED)), "{probe}");
        let Outcome::Failed { message, .. } = &record(&directory).curves[0].outcome else { panic!("{probe}") };
        assert!(message.contains(&format!("the probe {probe} read something wrong")), "{message}");
        assert!(message.contains(&format!("{column} was sent as")), "{message}");
        assert_eq!(probes(&directory), []);
    }
}

/// The checksum of the table of each curve, by engine and key.
fn checksums(socket: &Path, directory: &Path) -> Vec<(String, u64, u64)> {
    let mut conn = connect(socket);
    let mut found = Vec::new();
    for curve in record(directory).curves {
        let Some(table) = curve.table else { continue };
        // Ids that inserted rows had are not given again, so that those of later rows differ.
        let columns = if curve.key == "autoinc" { "id2, id3, mail" } else { "id, id2, id3, mail" };
        let sql = format!("SELECT SUM(CRC32(CONCAT_WS('|', {columns}))) FROM {table}");
        let sum: u64 = conn.query_first(sql).unwrap().unwrap();
        let rows: u64 = conn.query_first(format!("SELECT COUNT(*) FROM {table}")).unwrap().unwrap();
        conn.query_drop(format!("DROP TABLE {table}")).unwrap();
        found.push((format!("{} {}", curve.engine, curve.key), rows, sum));
    }
    found
}

/// Every engine, one loading connection so that ids are the same in both runs, and several that probe.
fn engines(family: Family, list: &str) {
    let Some(socket) = shared(family) else { return };
    let home = tempfile::tempdir().unwrap();
    let target = target(&socket);
    #[rustfmt::skip]
    let load = [
        "--target", &target, "--engine", list, "--rows", "4k", "--batch-rows", "1k", "--connections", "1", "--settle", "0",
    ];
    let plain = finished(home.path(), &[&["plain"], &load[..]].concat());
    #[rustfmt::skip]
    let asked = ["--probe", ALL, "--probe-at", "1k,3k", "--probe-connections", "1,4", "--probe-ops", "20", "--probe-keys", "fresh"];
    let probed = finished(home.path(), &[&["probed"], &load[..], &asked].concat());
    let record = record(&probed);
    let lines = probes(&probed);
    for curve in &record.curves {
        assert_eq!(curve.outcome, Outcome::Completed, "{}", curve.curve);
        let mut expected = set(&ALL.split(',').collect::<Vec<_>>());
        let gone: &[&str] = match curve.engine.as_str() {
            "innodb" => &[],
            "rocksdb" => &["handler-pk"],
            // Its keys are in a hash, by which HANDLER reads in MariaDB only.
            "memory" if family == Family::MySql => &["range-pk", "handler-pk", "oltp"],
            "memory" => &["range-pk", "oltp"],
            "archive" => {
                &["select-secondary", "handler-pk", "update-pk", "update-secondary", "insert", "mixed", "oltp"]
            }
            "blackhole" => &ALL.split(',').collect::<Vec<_>>()[..],
            _ => &["oltp"],
        };
        for word in gone {
            expected.remove(*word);
        }
        let found = words_of(&lines, &curve.curve);
        assert_eq!(found, expected, "{}: {:?}", curve.curve, curve.probes_left_out);
        for line in lines.iter().filter(|line| line.curve == curve.curve) {
            assert_eq!(line.ops, 20, "{line:?}");
            assert!(matches!(line.batch, 1 | 3), "{line:?}");
        }
    }
    assert_eq!(checksums(&socket, &probed), checksums(&socket, &plain));
}

#[test]
fn every_engine_of_mariadb_is_as_it_was() {
    engines(Family::MariaDb, "innodb,myisam,aria,memory,rocksdb");
}

#[test]
fn every_engine_of_mysql_is_as_it_was() {
    engines(Family::MySql, "innodb,myisam,memory");
}

#[test]
fn probes_over_tcp_ask_the_same() {
    // Past the driver goes what travels over a Unix socket; here the driver asks.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let options = [&format!("--port={port}")[..], "--bind-address=127.0.0.1"];
    let Some(_server) = OwnServer::start(Family::MariaDb, &options) else { return };
    let home = tempfile::tempdir().unwrap();
    let target = format!("mysql://root@127.0.0.1:{port}/test");
    #[rustfmt::skip]
    let words = [
        "r", "--target", &target, "--ssl-mode", "disabled", "--rows", "4k", "--batch-rows", "2k", "--probe", ALL, "--probe-every", "1", "--probe-ops", "40",
    ];
    let directory = finished(home.path(), &words);
    assert_eq!(probes(&directory).len(), 2 * (9 + 9));
}

#[test]
fn the_most_connections_are_those_of_load_or_probe_and_one() {
    let Some(server) = OwnServer::start(Family::MariaDb, &["--max-connections=30"]) else { return };
    let home = tempfile::tempdir().unwrap();
    let target = server.target();
    #[rustfmt::skip]
    let words = [
        "--target", &target, "--key", "uuid4", "--rows", "2k", "--batch-rows", "1k", "--connections", "3",
        "--probe", "select-pk,mixed", "--probe-every", "1", "--probe-connections", "1,12", "--probe-ops", "48",
    ];
    let directory = finished(home.path(), &[&["r"], &words[..]].concat());
    let used: (String, u64) =
        server.connect().query_first("SHOW GLOBAL STATUS LIKE 'Max_used_connections'").unwrap().unwrap();
    assert!(used.1 <= 13 + 1, "{} connections (one is this test's)", used.1);
    assert_eq!(probes(&directory).iter().map(|line| line.connections).collect::<BTreeSet<_>>(), [1, 12].into());
    let refused =
        run(home.path(), &[&["run", "--out", "s", "--quiet"], &words[..], &["--probe-connections", "200"]].concat());
    assert_eq!(refused.status.code(), Some(i32::from(exit::FAILED)));
    assert!(text(&refused).contains("--probe-connections"), "{}", text(&refused));
}

/// A run whose probes change the table is killed in the middle of them and gone on with.
fn killed(family: Family, key: &str, probe: &str, ops: &str) {
    let Some(server) = OwnServer::start(family, &["--innodb-flush-log-at-trx-commit=2"]) else { return };
    let home = tempfile::tempdir().unwrap();
    let target = server.target();
    #[rustfmt::skip]
    let load = ["--target", &target, "--key", key, "--rows", "6k", "--batch-rows", "2k", "--connections", "1"];
    let plain = finished(home.path(), &[&["plain"], &load[..]].concat());
    #[rustfmt::skip]
    let asked = ["--probe", probe, "--probe-every", "1", "--probe-ops", ops, "--probe-iterations", "2", "--probe-connections", "3"];
    let mut child = rowcliff(home.path())
        .args([&["run", "--keep", "--quiet", "--out", "r"], &load[..], &asked].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let directory = home.path().join("r");
    let deadline = Instant::now() + Duration::from_secs(60);
    let begun =
        |path: &Path| std::fs::read_to_string(path.join("journal")).is_ok_and(|text| text.contains("\"probe\""));
    while !begun(&directory) {
        assert!(Instant::now() < deadline && child.try_wait().unwrap().is_none(), "no probe began");
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(60));
    child.kill().unwrap();
    child.wait().unwrap();
    let output = run(home.path(), &["resume", "r"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    assert!(stderr(&output).contains("is put back"), "{}", text(&output));
    // Each iteration once, after each batch.
    let lines: Vec<(u64, u32)> = probes(&directory).iter().map(|line| (line.batch, line.iteration)).collect();
    assert_eq!(lines, (1..=3).flat_map(|batch| (1..=2).map(move |iteration| (batch, iteration))).collect::<Vec<_>>());
    assert_eq!(checksums(&server.socket, &directory), checksums(&server.socket, &plain), "{key} {probe}");
}

#[test]
fn a_kill_in_the_middle_of_a_probe_leaves_nothing_behind() {
    killed(Family::MariaDb, "autoinc", "oltp", "300");
    killed(Family::MariaDb, "uuid4", "mixed", "2000");
    killed(Family::MariaDb, "uuid4", "update-pk", "2000");
    killed(Family::MySql, "uuid4", "oltp", "300");
    killed(Family::MariaDb, "autoinc", "insert", "2000");
}

#[test]
fn a_resumed_sample_is_after_a_probe_only_where_one_ran() {
    for (at, marked) in [("4k", 3), ("360k", 181)] {
        let home = tempfile::tempdir().unwrap();
        #[rustfmt::skip]
        let words = [
            "run", "--quiet", "--out", "r", "--key", "uuid4,uuid7", "--rows", "400k", "--batch-rows", "2k",
            "--probe", "select-pk", "--probe-at", at, "--probe-ops", "10",
        ];
        let child = rowcliff(home.path()).args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let directory = home.path().join("r");
        let deadline = Instant::now() + Duration::from_secs(60);
        while samples_so_far(&directory) < 6 {
            assert!(Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(1));
        }
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert_eq!({ child }.wait().unwrap().code(), Some(i32::from(exit::INTERRUPTED)));
        let before = samples(&directory).len() as u64;
        assert!((6..180).contains(&before), "{before} batches before the interrupt");
        let output = run(home.path(), &["resume", "r"]);
        assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
        let lines = samples(&directory);
        let of = |key: &str| {
            let own = lines.iter().filter(|line| line.key.starts_with(key) && line.has_note("after-probe"));
            own.map(|line| line.batch).collect::<Vec<u64>>()
        };
        assert_eq!((of("uuid4"), of("uuid7")), (vec![marked], vec![marked]), "--probe-at {at}");
        let resumed: Vec<&str> =
            lines.iter().filter(|line| line.has_note("resumed")).map(|line| line.notes.as_str()).collect();
        assert_eq!(resumed, ["resumed"]);
    }
}

#[test]
fn a_time_ends_an_iteration_and_an_interrupt_ends_the_run() {
    let home = tempfile::tempdir().unwrap();
    #[rustfmt::skip]
    let words = [
        "r", "--key", "uuid4", "--rows", "2k", "--batch-rows", "1k", "--probe", "select-pk", "--probe-at", "2k",
        "--probe-seconds", "0.2s",
    ];
    let directory = finished(home.path(), &words);
    let lines = probes(&directory);
    assert_eq!(lines.len(), 1);
    assert!(lines[0].has_note("timed") && lines[0].seconds >= 0.2 && lines[0].ops > 100, "{:?}", lines[0]);

    let mut long = words.to_vec();
    (long[0], *long.last_mut().unwrap()) = ("s", "1h");
    let child = rowcliff(home.path())
        .args([&["run", "--quiet", "--out"], &long[..]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while samples_so_far(&home.path().join("s")) < 2 {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(100));
    let asked = Instant::now();
    std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let status = { child }.wait().unwrap();
    assert_eq!(status.code(), Some(i32::from(exit::INTERRUPTED)));
    assert!(asked.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_killed_connection_has_the_probe_done_again() {
    for family in [Family::MariaDb, Family::MySql] {
        let Some(server) = OwnServer::start(family, &["--innodb-flush-log-at-trx-commit=2"]) else { continue };
        let home = tempfile::tempdir().unwrap();
        let target = server.target();
        #[rustfmt::skip]
        let load = ["--target", &target, "--key", "autoinc", "--rows", "4k", "--batch-rows", "2k", "--connections", "1"];
        let plain = finished(home.path(), &[&["plain"], &load[..]].concat());
        #[rustfmt::skip]
        let asked = ["--probe", "oltp", "--probe-at", "2k", "--probe-ops", "1500", "--probe-connections", "3"];
        let said = std::fs::File::create(home.path().join("said")).unwrap();
        let child = rowcliff(home.path())
            .args([&["run", "--keep", "--progress", "plain", "--out", "r"], &load[..], &asked].concat())
            .stdout(Stdio::null())
            .stderr(said)
            .spawn()
            .unwrap();
        let directory = home.path().join("r");
        let deadline = Instant::now() + Duration::from_secs(60);
        let begun = || std::fs::read_to_string(directory.join("journal")).is_ok_and(|text| text.contains("\"probe\""));
        while !begun() {
            assert!(Instant::now() < deadline, "no probe began");
            std::thread::sleep(Duration::from_millis(2));
        }
        let mut conn = server.connect();
        // One that is in the middle of a transaction: those for control are asleep.
        let busy =
            "SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND = 'Execute' AND ID <> CONNECTION_ID() LIMIT 1";
        let id: u64 = loop {
            if let Some(id) = conn.query_first(busy).unwrap() {
                break id;
            }
            assert!(Instant::now() < deadline, "no connection is at work");
        };
        conn.query_drop(format!("KILL {id}")).unwrap();
        let status = { child }.wait().unwrap();
        let said = std::fs::read_to_string(home.path().join("said")).unwrap();
        assert_eq!(status.code(), Some(i32::from(exit::OK)), "{said}");
        assert!(said.contains("the table is put back and the probe oltp is done again (1 of 3)"), "{said}");
        let lines = probes(&directory);
        assert_eq!((lines.len(), lines[0].ops), (1, 1500));
        assert_eq!(checksums(&server.socket, &directory), checksums(&server.socket, &plain));
    }
}

#[test]
fn a_rule_that_ends_a_probe_leaves_a_whole_table() {
    let server = OwnServer::start(Family::MariaDb, &["--innodb-flush-log-at-trx-commit=2"]);
    let target = server.as_ref().map_or_else(|| "sqlite".to_owned(), OwnServer::target);
    for (target, key) in [("sqlite", "uuid4"), (target.as_str(), "autoinc")] {
        let home = tempfile::tempdir().unwrap();
        #[rustfmt::skip]
        let words = [
            "run", "--out", "r", "--quiet", "--target", target, "--key", key, "--rows", "4k", "--batch-rows", "2k",
            "--probe", "oltp", "--probe-at", "2k", "--probe-seconds", "1h", "--max-duration", "1s",
        ];
        let output = run(home.path(), &words);
        assert_eq!(output.status.code(), Some(i32::from(exit::STOPPED)), "{}", text(&output));
        let curve = record(&home.path().join("r")).curves[0].clone();
        assert!(
            matches!(&curve.outcome, Outcome::Stopped { rule, .. } if rule.contains("--max-duration")),
            "{:?}",
            curve.outcome
        );
        let verification = curve.verification.unwrap();
        assert_eq!(
            (verification.counted_rows, verification.compared_rows, verification.wrong_rows),
            (Some(2000), 1000, 0)
        );
        assert_eq!(probes(&home.path().join("r")), []);
    }
}

fn samples_so_far(directory: &Path) -> usize {
    std::fs::read_to_string(directory.join("batches.csv")).map_or(0, |text| text.lines().count().saturating_sub(1))
}

#[test]
fn words_that_make_no_sense_are_named() {
    let home = tempfile::tempdir().unwrap();
    for (words, expected) in [
        (&["--probe", "select-pq"][..], "select-secondary"),
        (&["--probe-every", "2"], "--probe"),
        (&["--probe", "oltp", "--probe-every", "2", "--probe-at", "1M"], "--probe-at"),
        (&["--probe", "oltp", "--probe-ops", "0"], "--probe-ops"),
    ] {
        let output = run(home.path(), &[&["run", "--rows", "1k"], words].concat());
        assert_eq!(output.status.code(), Some(i32::from(exit::USAGE)), "{words:?}: {}", text(&output));
        assert!(stderr(&output).contains(expected), "{words:?}: {}", text(&output));
    }
}
