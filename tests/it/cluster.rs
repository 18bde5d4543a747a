//! A cluster with several endpoints: the load is spread, an endpoint is lost, and the end is exact.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use rowcliff::record::detail::read_counters;
use rowcliff::record::{CurveRecord, Outcome};

use crate::support::galera::Galera;
use crate::support::servers::{Family, OwnServer};
use crate::support::{record, rowcliff, run, samples, stderr, stdout, text};

/// The end of a story: completed, each row once, compared, and counted through `endpoints` of the endpoints.
fn assert_exact(directory: &Path, rows: u64, endpoints: usize) -> Vec<CurveRecord> {
    let record = record(directory);
    for curve in &record.curves {
        assert_eq!(curve.outcome, Outcome::Completed, "{}: {:?}", curve.curve, curve.notes);
        let verification = curve.verification.as_ref().unwrap();
        assert_eq!((verification.counted_rows, verification.wrong_rows), (Some(rows), 0), "{}", curve.curve);
        assert!(verification.compared_rows > 0);
        let counted: Vec<u64> = curve.endpoints.iter().filter_map(|endpoint| endpoint.counted_rows).collect();
        assert_eq!(counted, vec![rows; endpoints], "{}", curve.curve);
    }
    let sum: u64 = samples(directory).iter().map(|sample| sample.rows).sum();
    assert_eq!(sum, rows * record.curves.len() as u64);
    record.curves
}

/// Every row once, by a node's own count: `id2` is a bijection of the row index.
fn assert_distinct(galera: &Galera, node: usize, curves: &[CurveRecord], rows: u64) {
    let mut conn = galera.nodes[node].connect();
    conn.query_drop("SET SESSION wsrep_sync_wait=15").unwrap();
    for curve in curves {
        let table = curve.table.as_ref().unwrap();
        let counted: (u64, u64) =
            conn.query_first(format!("SELECT COUNT(*), COUNT(DISTINCT id2) FROM {table}")).unwrap().unwrap();
        assert_eq!(counted, (rows, rows), "{}", curve.curve);
        conn.query_drop(format!("DROP TABLE {table}")).unwrap();
    }
}

/// A run in the background, which ends with its test at the latest.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(home: &Path, words: &[&str]) -> Running {
    let said = std::fs::File::create(home.join("said")).unwrap();
    Running(rowcliff(home).args(words).stdout(Stdio::null()).stderr(said).spawn().unwrap())
}

/// Waits until a run has this many samples, all curves together.
fn await_batches(home: &Path, batches: usize) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while std::fs::read_to_string(home.join("r/batches.csv")).unwrap_or_default().lines().count() <= batches {
        let said = || std::fs::read_to_string(home.join("said")).unwrap_or_default();
        assert!(Instant::now() < deadline, "no {batches} batches within a minute: {}", said());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn await_end(home: &Path, mut child: Running) {
    let deadline = Instant::now() + Duration::from_secs(240);
    loop {
        let said = || std::fs::read_to_string(home.join("said")).unwrap_or_default();
        match child.0.try_wait().unwrap() {
            Some(status) => return assert!(status.success(), "{status}: {}", said()),
            None if Instant::now() > deadline => panic!("it does not end: {}", said()),
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

#[test]
fn a_load_is_spread_over_both_nodes_and_counted_through_both() {
    let Some(galera) = Galera::start(&["--wsrep-max-ws-rows=1500"]) else { return };
    for (target, method) in [(galera.target(), "insert"), (galera.socket_target(), "load-data")] {
        let home = tempfile::tempdir().unwrap();
        #[rustfmt::skip]
        let words = [
            "run", "--target", &target, "--out", "r", "--key", "autoinc,uuid4", "--rows", "60000", "--batch-rows", "20000",
            "--connections", "4", "--commit-rows", "5000", "--method", method, "--keep", "--control-batch",
        ];
        let output = run(home.path(), &words);
        assert!(output.status.success(), "{}", text(&output));
        let directory = home.path().join("r");
        let curves = assert_exact(&directory, 60_000, 2);
        for curve in &curves {
            assert!(
                curve.commit_rows <= 1500 && curve.notes.join("\n").contains("wsrep_max_ws_rows"),
                "{:?}",
                curve.notes
            );
            let control = curve.control_batch.as_ref().unwrap();
            assert_eq!((control.rows, &control.problem), (20_000, &None));
            let spread: Vec<(u32, u64)> = curve.endpoints.iter().map(|e| (e.connections, e.errors)).collect();
            assert_eq!(spread, [(2, 0), (2, 0)]);
            assert_eq!(curve.endpoints.iter().map(|endpoint| endpoint.rows).sum::<u64>(), 60_000);
            assert!(curve.endpoints.iter().all(|endpoint| endpoint.rows > 0 && endpoint.lost_why.is_none()));
        }
        let names: Vec<&str> = curves[0].endpoints.iter().map(|endpoint| endpoint.name.as_str()).collect();
        assert!(target.contains(&names.join(",")), "{names:?}");
        // The counters of each, and their sum under the plain name.
        let lines = read_counters(&directory).unwrap().lines;
        let moved = |batch, counter: &str| {
            let line = lines.iter().find(|l| l.curve == curves[0].curve && l.batch == batch && l.counter == counter);
            line.and_then(|line| line.delta).unwrap_or_else(|| panic!("no {counter} of batch {batch}"))
        };
        for batch in 1..=3 {
            let of = |counter: &str| names.iter().map(|name| moved(batch, &format!("{name}/{counter}"))).sum::<f64>();
            assert_eq!(of("rowcliff_rows"), 20_000.0);
            assert_eq!(moved(batch, "rowcliff_rows"), 20_000.0);
            assert_eq!(of("innodb_os_log_written"), moved(batch, "innodb_os_log_written"));
            let log = |name: &str| moved(batch, &format!("{name}/innodb_os_log_written"));
            assert!(names.iter().all(|name| log(name) > 0.0), "every node writes every row");
        }
        // What is drawn and printed from such a run has the sums.
        let output = run(home.path(), &["cliffs", "r"]);
        assert!(output.status.success() && !stdout(&output).contains("/innodb"), "{}", text(&output));
        let facts = &record(&directory).targets[&target];
        let notes = facts.notes.join("\n");
        assert!(
            notes.contains("2 endpoints") && !notes.contains("not alike") && !notes.contains("two ways"),
            "{notes}"
        );
        assert_distinct(&galera, 1, &curves, 60_000);
    }
}

#[test]
fn a_node_is_killed_in_the_middle_and_the_end_is_exact_on_the_other() {
    let Some(mut galera) = Galera::start(&[]) else { return };
    let (home, target) = (tempfile::tempdir().unwrap(), galera.target());
    #[rustfmt::skip]
    let words = [
        "run", "--target", &target, "--out", "r", "--key", "autoinc", "--rows", "600000", "--batch-rows", "60000",
        "--connections", "4", "--keep",
    ];
    let child = start(home.path(), &words);
    await_batches(home.path(), 2);
    std::thread::sleep(Duration::from_millis(150));
    galera.nodes[1].kill();
    await_end(home.path(), child);
    let directory = home.path().join("r");
    let curves = assert_exact(&directory, 600_000, 1);
    let [one, two] = curves[0].endpoints.as_slice() else { panic!("{:?}", curves[0].endpoints) };
    assert_eq!((one.connections, two.connections, one.lost_why.as_ref()), (4, 2, None));
    assert!(two.lost_why.is_some() && two.lost_at.is_some() && two.errors > 0 && two.counted_rows.is_none(), "{two:?}");
    assert!(two.first_error.is_some());
    assert!(curves[0].notes.join("\n").contains(&format!("endpoint {} was lost", two.name)), "{:?}", curves[0].notes);
    let said = std::fs::read_to_string(home.path().join("said")).unwrap();
    assert!(said.contains(&format!("endpoint {} is lost", two.name)) && said.contains("sent again"), "{said}");
    let retried = samples(&directory).iter().filter(|sample| sample.has_note("retried")).count();
    assert_eq!(retried, 1, "{said}");
    // From that batch on the curve is not what its label says.
    let marked: Vec<bool> = samples(&directory).iter().map(|sample| sample.has_note("fewer-endpoints")).collect();
    let first = samples(&directory).iter().position(|sample| sample.has_note("retried")).unwrap();
    assert!(
        marked[first..].iter().all(|&marked| marked) && !marked[..first].iter().any(|&marked| marked),
        "{marked:?}"
    );
    assert_distinct(&galera, 0, &curves, 600_000);

    // A curve is not begun on fewer servers than its label names.
    let output =
        run(home.path(), &["run", "--target", &target, "--out", "next", "--rows", "1000", "--batch-rows", "1000"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(stderr(&output).contains(&two.name) || stdout(&output).contains(&two.name), "{}", text(&output));
}

#[test]
fn a_node_that_hangs_is_given_up() {
    let Some(galera) = Galera::start(&[]) else { return };
    let (home, target) = (tempfile::tempdir().unwrap(), galera.target());
    #[rustfmt::skip]
    let words = [
        "run", "--target", &target, "--out", "r", "--key", "uuid4", "--rows", "300000", "--batch-rows", "50000",
        "--connections", "4", "--keep", "--stall-timeout", "1s",
    ];
    let child = start(home.path(), &words);
    await_batches(home.path(), 2);
    galera.nodes[1].stop();
    await_end(home.path(), child);
    let curves = assert_exact(&home.path().join("r"), 300_000, 1);
    assert!(curves[0].endpoints[1].lost_why.is_some(), "{:?}", curves[0].endpoints);
    assert_distinct(&galera, 0, &curves, 300_000);
}

#[test]
fn a_killed_run_goes_on_over_both_nodes_and_is_exact() {
    let Some(galera) = Galera::start(&[]) else { return };
    let (home, target) = (tempfile::tempdir().unwrap(), galera.target());
    #[rustfmt::skip]
    let words = [
        "run", "--target", &target, "--out", "r", "--key", "autoinc,uuid4", "--rows", "300000", "--batch-rows", "50000",
        "--connections", "4", "--keep",
    ];
    let mut child = start(home.path(), &words);
    let mut removed = 0;
    // In the first curve, and in the second.
    for batches in [2, 8] {
        await_batches(home.path(), batches);
        std::thread::sleep(Duration::from_millis(150));
        assert!(child.0.try_wait().unwrap().is_none(), "it ended before it was killed");
        child.0.kill().unwrap();
        child.0.wait().unwrap();
        child = start(home.path(), &["resume", "r"]);
    }
    await_end(home.path(), child);
    let directory = home.path().join("r");
    let curves = assert_exact(&directory, 300_000, 2);
    for resumption in curves.iter().flat_map(|curve| &curve.resumptions) {
        assert_eq!((resumption.lost_rows, resumption.started_again), (0, false), "{resumption:?}");
        removed += resumption.removed_rows;
    }
    assert!(removed > 0, "nothing was in flight: {curves:?}");
    assert!(samples(&directory).iter().any(|sample| sample.has_note("resumed")));
    // The journal has the sessions of each endpoint by its name.
    let journal = std::fs::read_to_string(directory.join("journal")).unwrap();
    for node in &galera.nodes {
        assert!(journal.contains(&format!("\"endpoint\":\"127.0.0.1:{}\"", node.port)), "{journal}");
    }
    assert_distinct(&galera, 1, &curves, 300_000);
}

#[test]
fn servers_that_are_no_cluster_are_not_loaded_as_one() {
    let Some(one) = OwnServer::start(Family::MariaDb, &[]) else { return };
    let Some(two) = OwnServer::start(Family::MariaDb, &[]) else { return };
    let home = tempfile::tempdir().unwrap();
    let target = format!("mysql://root@localhost/test?socket={},{}", one.socket.display(), two.socket.display());
    let few = ["--rows", "1000", "--batch-rows", "1000", "--key", "autoinc", "--connections", "2"];
    let output = run(home.path(), &[&["run", "--target", &target, "--out", "r"][..], &few].concat());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let said = format!("{} does not see the table made through {}", two.socket.display(), one.socket.display());
    assert!(stderr(&output).contains(&said) && stderr(&output).contains("one cluster?"), "{}", text(&output));
    for server in [&one, &two] {
        let left: Vec<String> = server.connect().query("SHOW TABLES FROM test").unwrap();
        assert!(left.is_empty(), "{left:?}");
    }

    // Settings of several servers are not changed, and a value that both have needs no change.
    let flush = |value: &str| {
        let words = [&["check", "--target", &target, "--flush", value][..], &few].concat();
        stdout(&run(home.path(), &words))
    };
    assert!(flush("2").contains("with several endpoints no global variable is set"), "{}", flush("2"));
    assert!(!flush("1").contains("skipped"), "{}", flush("1"));
}

#[test]
fn probes_ask_both_nodes_and_leave_the_table_as_it_was() {
    let Some(galera) = Galera::start(&[]) else { return };
    let (home, target) = (tempfile::tempdir().unwrap(), galera.target());
    #[rustfmt::skip]
    let words = [
        "run", "--target", &target, "--out", "r", "--key", "autoinc,uuid4", "--rows", "6000", "--batch-rows", "2000",
        "--connections", "2", "--keep", "--probe", "select-pk,range-pk,update-pk,mixed,oltp", "--probe-every", "1",
        "--probe-connections", "4", "--probe-ops", "60",
    ];
    let output = run(home.path(), &words);
    assert!(output.status.success(), "{}", text(&output));
    let directory = home.path().join("r");
    let curves = assert_exact(&directory, 6000, 2);
    let lines = rowcliff::record::probe::read_probes(&directory).unwrap().lines;
    assert_eq!(lines.len(), 2 * 3 * 5);
    // Ids of two nodes leave gaps between them, so that they were looked up.
    let looked_up = |line: &&rowcliff::record::ProbeLine| line.has_note("looked-up");
    assert_eq!(lines.iter().filter(looked_up).count(), 3 * 5);
    assert!(curves.iter().all(|curve| curve.endpoints.iter().all(|endpoint| endpoint.connections == 2)));
    assert_distinct(&galera, 0, &curves, 6000);
}
