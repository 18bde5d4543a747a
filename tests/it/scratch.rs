//! Servers that rowcliff starts, and the settings that every kind of target takes by name.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use rowcliff::engine::EngineTable;
use rowcliff::record::{CurveRecord, Outcome};

use crate::support::servers::{Family, OwnServer, binary, global};
use crate::support::{record, rowcliff, run, samples, stderr, stdout, text};

const TINY: [&str; 6] = ["--rows", "2k", "--batch-rows", "1k", "--connections", "2"];

fn target(binary: &Path) -> String {
    format!("scratch:{}", binary.display())
}

/// Words of a small run on scratch servers.
fn words<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["run", "--target", target, "--out", "out", "--quiet"];
    words.extend(TINY);
    words.extend(more);
    words
}

/// Processes that have something below `directory` on their command line.
fn processes(directory: &Path) -> Vec<String> {
    let needle = directory.display().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(&needle) {
            found.push(format!("{} {line}", entry.file_name().display()));
        }
    }
    found
}

fn wait_for(what: &str, limit: Duration, mut ready: impl FnMut() -> bool) {
    let started = Instant::now();
    while !ready() {
        assert!(started.elapsed() < limit, "{what} did not come within {limit:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn entries(directory: &Path) -> Vec<String> {
    let Ok(list) = fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> = list.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Nothing of a server is left: no process, no data, no log, no socket.
fn assert_clean(home: &Path) {
    assert_eq!(processes(home), Vec::<String>::new());
    assert_eq!(entries(&home.join("out/scratch")), Vec::<String>::new());
}

fn curve<'a>(curves: &'a [CurveRecord], words: &[&str]) -> &'a CurveRecord {
    curves
        .iter()
        .find(|curve| words.iter().all(|word| format!(" {} ", curve.curve).contains(&format!(" {word} "))))
        .unwrap_or_else(|| panic!("no curve with {words:?}"))
}

/// A program in place of a server, which passes everything on to the real one.
fn wrapper(directory: &Path, script: &str) -> PathBuf {
    let path = directory.join("wrapped");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Every entry of the engine table: those that were tried on this family load both tables, the others say why not.
fn walk_the_engine_table(family: Family, tried: &str) {
    let Some(binary) = binary(family) else { return };
    let home = tempfile::tempdir().unwrap();
    let table = EngineTable::built_in();
    let engines: Vec<&str> = table.iter().map(|(word, _)| word).filter(|word| *word != "sqlite").collect();
    let target = target(&binary);
    // Connections are left to what the engines can, and several statements are on their way at once.
    let list = engines.join(",");
    let words = ["run", "--target", &target, "--engine", &list, "--key", "autoinc,uuid4", "--out", "out", "--quiet"];
    let sizes = ["--rows", "2k", "--batch-rows", "1k", "--statement-rows", "100"];
    let output = run(home.path(), &[&words[..], &sizes].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let record = record(&home.path().join("out"));
    assert_eq!(record.curves.len(), 2 * engines.len());
    for curve in &record.curves {
        let entry = table.resolve(&curve.engine).1;
        let can = entry.can.uuid_keys || curve.key == "autoinc";
        match &curve.outcome {
            Outcome::Completed => {
                assert!(can && curve.create_table.as_ref().is_some_and(|sql| sql.contains(&entry.name)), "{curve:?}");
                assert_eq!(curve.table_rows, 2000);
                assert_eq!(curve.connections, if entry.can.several_connections { 8 } else { 1 });
                assert_eq!(curve.table, None, "the table of {} is taken for kept", curve.curve);
                assert!(curve.notes.iter().any(|note| note.starts_with("closing work")), "{curve:?}");
                let verified = curve.verification.as_ref().unwrap();
                assert!(verified.counted_rows == Some(2000) || !entry.can.keeps_rows, "{curve:?}");
            }
            Outcome::Skipped { why, .. } => {
                let tried_here = entry.tested.iter().any(|place| place == tried);
                assert!(!(tried_here && can), "{} was skipped: {why}", curve.curve);
                assert!(!why.is_empty());
            }
            other => panic!("{}: {other:?}", curve.curve),
        }
    }
    let facts = record.targets.values().next().unwrap();
    assert_eq!(facts.flavour, family.word());
    assert!(facts.version.starts_with(|c: char| c.is_ascii_digit()), "{facts:?}");
    assert!(samples(&home.path().join("out")).iter().all(|sample| sample.target == target));
    assert_clean(home.path());
}

#[test]
fn every_engine_of_the_table_on_mariadb() {
    walk_the_engine_table(Family::MariaDb, "MariaDB 10.11");
}

#[test]
fn every_engine_of_the_table_on_mysql() {
    walk_the_engine_table(Family::MySql, "MySQL 9.7");
}

#[test]
fn flush_cache_and_varied_settings_are_in_force_and_recorded() {
    let Some(real) = binary(Family::MariaDb) else { return };
    let home = tempfile::tempdir().unwrap();
    let calls = home.path().join("calls");
    let script = format!("echo \"$@\" >> {}\nexec {} \"$@\"", calls.display(), real.display());
    let target = target(&wrapper(home.path(), &script));
    let more = [
        "--engine",
        "innodb,rocksdb,myisam,memory",
        "--key",
        "uuid4",
        "--flush",
        "0,2",
        "--cache",
        "64M",
        "--vary",
        "max_heap_table_size=8M,32M",
        "--server-option",
        "innodb_log_file_size=20M",
    ];
    let output = run(home.path(), &words(&target, &more));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let record = record(&home.path().join("out"));
    assert_eq!(record.curves.len(), 2 * (2 + 2 + 1 + 1));
    for curve in &record.curves {
        let value = |name: &str| curve.variables.get(name).map(String::as_str).unwrap_or_default();
        assert_eq!(curve.outcome, Outcome::Completed, "{}", curve.curve);
        let flush = |variable: &str| assert_eq!(curve.flush_in_force, format!("{variable}={}", curve.flush));
        let size = (64 << 20).to_string();
        match curve.engine.as_str() {
            "innodb" => {
                flush("innodb_flush_log_at_trx_commit");
                assert_eq!(value("innodb_buffer_pool_size"), size);
            }
            "rocksdb" => {
                flush("rocksdb_flush_log_at_trx_commit");
                assert_eq!(value("rocksdb_block_cache_size"), size);
            }
            "myisam" => assert_eq!(value("key_buffer_size"), size),
            _ => assert!(curve.notes.iter().any(|note| note.contains("--cache has nothing to size")), "{curve:?}"),
        }
        let varied = if curve.settings.ends_with("=8M") { 8 << 20 } else { 32 << 20 };
        assert_eq!(value("max_heap_table_size"), varied.to_string());
        assert_eq!(value("innodb_log_file_size"), (20 << 20).to_string());
        assert_eq!(value("log_bin"), "OFF");
    }
    // A server for each curve, and one for each combination of settings that contradict each other.
    let calls = fs::read_to_string(calls).unwrap();
    let starts = calls.lines().filter(|line| line.contains("--skip-networking")).count();
    assert_eq!(starts, record.curves.len() + 2 * 2, "{calls}");
    assert_clean(home.path());
}

#[test]
fn a_cell_whose_setting_the_server_refuses_or_changes_is_skipped_and_the_others_run() {
    let Some(binary) = binary(Family::MariaDb) else { return };
    let home = tempfile::tempdir().unwrap();
    let target = target(&binary);
    // One is refused at the start, one is out of range and quietly changed, one is good.
    let more = [
        "--engine",
        "innodb",
        "--key",
        "autoinc",
        "--vary",
        "innodb_page_size=5k,8k",
        "--vary",
        "innodb_io_capacity=1,300",
    ];
    let output = run(home.path(), &words(&target, &more));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let record = record(&home.path().join("out"));
    let why = |words: &[&str]| match &curve(&record.curves, words).outcome {
        Outcome::Skipped { why, environment: true } => why.clone(),
        other => panic!("{words:?}: {other:?}"),
    };
    let changed = why(&["innodb_page_size=8k", "innodb_io_capacity=1"]);
    assert!(changed.contains("innodb_io_capacity=1 was asked for and the server then had 100"), "{changed}");
    let refused = why(&["innodb_page_size=5k", "innodb_io_capacity=300"]);
    assert!(refused.contains("error log ends with") && refused.contains("Invalid page size=5120"), "{refused}");
    assert_eq!(curve(&record.curves, &["innodb_page_size=8k", "innodb_io_capacity=300"]).outcome, Outcome::Completed);
    assert_eq!(processes(home.path()), Vec::<String>::new());
}

#[test]
fn a_start_that_fails_quotes_the_error_log_and_keeps_it() {
    for family in [Family::MariaDb, Family::MySql] {
        let Some(binary) = binary(family) else { continue };
        let home = tempfile::tempdir().unwrap();
        let target = target(&binary);
        std::fs::write(home.path().join("my.cnf"), "[mysqld]\nno_such_option=1\n").unwrap();
        let more = ["--engine", "innodb", "--key", "autoinc", "--server-config", "my.cnf"];
        let output = run(home.path(), &words(&target, &more));
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        // MySQL says so when it makes the data directory already.
        let Outcome::Skipped { why, environment: true } = &record(&home.path().join("out")).curves[0].outcome else {
            panic!("{}", text(&output))
        };
        assert!(why.contains("unknown variable 'no_such_option=1'"), "{why}");
        let left = entries(&home.path().join("out/scratch"));
        assert!(matches!(left.as_slice(), [log] if log.ends_with(".err")), "{left:?}");
        assert_eq!(processes(home.path()), Vec::<String>::new());
    }
}

#[test]
fn an_option_that_a_server_does_not_know_skips_its_cells_by_name_before_a_server_starts() {
    let Some(binary) = binary(Family::MariaDb) else { return };
    let home = tempfile::tempdir().unwrap();
    let target = target(&binary);
    for (option, other) in
        [("no_such_option=1", false), ("rocksdb_bulk_load=1", false), ("loose_no_such_option=1", true)]
    {
        let more = ["--engine", "innodb", "--key", "autoinc", "--server-option", option];
        let output = run(home.path(), &words(&target, &more));
        let curve = record(&home.path().join("out")).curves.remove(0);
        match curve.outcome {
            Outcome::Completed if other => {}
            Outcome::Skipped { why, environment: true } if !other => {
                assert!(why.contains(&format!("--server-option {option}")) && why.contains("loose_"), "{why}");
                assert_eq!(entries(&home.path().join("out/scratch")), Vec::<String>::new(), "no server was started");
            }
            outcome => panic!("{option}: {outcome:?}: {}", text(&output)),
        }
        std::fs::remove_dir_all(home.path().join("out")).unwrap();
    }
}

/// A run that does not end by itself soon, once its second batch is recorded.
fn long_run(home: &Path, binary: &Path) -> Child {
    let target = target(binary);
    let words = [
        "--engine",
        "innodb",
        "--key",
        "uuid4",
        "--rows",
        "1G",
        "--no-disk-check",
        "--batch-rows",
        "5k",
        "--connections",
        "2",
    ];
    let child = rowcliff(home)
        .args(["run", "--target", &target, "--out", "out", "--quiet"])
        .args(words)
        .stdout(Stdio::null())
        .stderr(fs::File::create(home.join("stderr")).unwrap())
        .spawn()
        .unwrap();
    let lines = || fs::read_to_string(home.join("out/batches.csv")).unwrap_or_default().lines().count();
    wait_for("the second batch", Duration::from_secs(120), || lines() > 2);
    assert!(!processes(&home.join("out/scratch")).is_empty());
    child
}

fn send(child: &Child, signal: rustix::process::Signal) {
    let id = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(id, signal).unwrap();
}

#[test]
fn no_server_outlives_a_killed_rowcliff() {
    for family in [Family::MariaDb, Family::MySql] {
        let Some(binary) = binary(family) else { continue };
        let home = tempfile::tempdir().unwrap();
        // The directory is so deep that the socket has to be elsewhere.
        let deep = home.path().join("d".repeat(60)).join("e".repeat(40));
        fs::create_dir_all(&deep).unwrap();
        let mut child = long_run(&deep, &binary);
        child.kill().unwrap();
        child.wait().unwrap();
        wait_for("the end of the server", Duration::from_secs(1), || processes(&deep).is_empty());
        // What it left is found and removed, the socket's own folder too.
        let folder = fs::read_dir(deep.join("out/scratch")).unwrap().flatten().find(|entry| entry.path().is_dir());
        let folder = folder.unwrap().path();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        let sockets = PathBuf::from(fs::read_to_string(folder.join("socket-folder")).unwrap());
        assert!(sockets.exists());
        let output = run(&deep, &["clean", "out"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        assert!(!folder.exists() && !sockets.exists(), "{}", text(&output));
    }
}

#[test]
fn an_interrupt_ends_the_server_in_good_order_and_keeps_its_data() {
    let Some(binary) = binary(Family::MariaDb) else { return };
    let home = tempfile::tempdir().unwrap();
    let mut child = long_run(home.path(), &binary);
    let asked = Instant::now();
    send(&child, rustix::process::Signal::INT);
    let status = child.wait().unwrap();
    assert!(asked.elapsed() < Duration::from_secs(10), "ending took {:?}", asked.elapsed());
    assert_eq!(status.code(), Some(130));
    assert_eq!(processes(home.path()), Vec::<String>::new());
    let record = record(&home.path().join("out"));
    let entry = &record.curves[0];
    assert_eq!(entry.outcome, Outcome::Interrupted);
    let table = entry.table.clone().unwrap();
    let data = home.path().join("out/scratch").join(&table).join("data");
    assert!(data.join("ibdata1").exists());
    let said = fs::read_to_string(home.path().join("stderr")).unwrap();
    assert!(said.contains(&data.display().to_string()) && said.contains("rowcliff clean"), "{said}");
    assert!(home.path().join("out/scratch").join(format!("{table}.err")).exists());
    let output = run(home.path(), &["clean", "out"]);
    assert!(stdout(&output).contains("is removed") && !data.exists(), "{}", text(&output));
}

#[test]
fn a_server_that_dies_under_a_curve_fails_it_and_the_next_curve_has_its_own() {
    let Some(binary) = binary(Family::MariaDb) else { return };
    let home = tempfile::tempdir().unwrap();
    let target = target(&binary);
    let more = ["--engine", "innodb", "--key", "autoinc,uuid4", "--no-verify"];
    let longer = |word: &'static str| match word {
        "2k" => "400k",
        "1k" => "4k",
        other => other,
    };
    let sizes = TINY.map(longer);
    let mut words = vec!["run", "--target", &target, "--out", "out", "--quiet"];
    words.extend(sizes);
    words.extend(more);
    let mut child = rowcliff(home.path()).args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let lines = || fs::read_to_string(home.path().join("out/batches.csv")).unwrap_or_default().lines().count();
    wait_for("the second batch", Duration::from_secs(120), || lines() > 2);
    let server = processes(&home.path().join("out/scratch"));
    let [server] = server.as_slice() else { panic!("{server:?}") };
    let id = rustix::process::Pid::from_raw(server.split(' ').next().unwrap().parse().unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let record = record(&home.path().join("out"));
    assert!(matches!(record.curves[0].outcome, Outcome::Failed { .. }), "{:?}", record.curves[0]);
    let said = record.curves[0].notes.iter().find(|note| note.contains("ended by itself"));
    assert!(said.is_some_and(|note| note.contains(".err")), "{:?}", record.curves[0]);
    assert_eq!(record.curves[1].outcome, Outcome::Completed);
    assert_eq!(processes(home.path()), Vec::<String>::new());
}

#[test]
fn an_interrupt_while_a_server_starts_ends_at_once() {
    let Some(real) = binary(Family::MariaDb) else { return };
    let home = tempfile::tempdir().unwrap();
    // A server that takes its time.
    let script = format!("case \"$*\" in *--skip-networking*) exec sleep 300;; esac\nexec {} \"$@\"", real.display());
    let target = target(&wrapper(home.path(), &script));
    let mut child = rowcliff(home.path())
        .args(words(&target, &["--engine", "innodb", "--key", "autoinc"]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let scratch = home.path().join("out/scratch");
    let prepared = || entries(&scratch).iter().any(|name| scratch.join(name).join("data/mysql").exists());
    wait_for("a data directory", Duration::from_secs(60), prepared);
    let asked = Instant::now();
    send(&child, rustix::process::Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(asked.elapsed() < Duration::from_secs(10), "ending took {:?}", asked.elapsed());
    assert_eq!(processes(home.path()), Vec::<String>::new());
}

#[test]
fn check_starts_no_server() {
    let Some(real) = binary(Family::MariaDb) else { return };
    let home = tempfile::tempdir().unwrap();
    let calls = home.path().join("calls");
    let target =
        target(&wrapper(home.path(), &format!("echo \"$@\" >> {}\nexec {} \"$@\"", calls.display(), real.display())));
    let more = ["--engine", "innodb,rocksdb,tokudb,archive", "--key", "autoinc,uuid7:native"];
    let mut words = words(&target, &more);
    words[0] = "check";
    let output = run(home.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let calls = fs::read_to_string(calls).unwrap();
    assert!(calls.lines().all(|line| line.ends_with("--version") || line.ends_with("--help")), "{calls}");
    let text = stdout(&output);
    assert!(text.contains("mariadb 10.") && text.contains("ha_tokudb.so") && text.contains("4 of 8 curves"), "{text}");
    assert!(!home.path().join("out").exists());
}

#[test]
fn a_wrapper_that_would_leave_its_server_behind_is_refused() {
    let Some(real) = binary(Family::MariaDb) else { return };
    let home = tempfile::tempdir().unwrap();
    let target = target(&wrapper(home.path(), &format!("{} \"$@\"\nexit $?", real.display())));
    let output = run(home.path(), &words(&target, &["--engine", "innodb", "--key", "autoinc"]));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(stdout(&output).replace("\n    ", " ").contains("let the script end with exec"), "{}", text(&output));
    assert_eq!(processes(home.path()), Vec::<String>::new());
}

#[test]
fn what_is_missing_on_the_machine_is_named() {
    let home = tempfile::tempdir().unwrap();
    let output = run(home.path(), &words("scratch:/nonexistent/mysqld", &["--key", "autoinc"]));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(stderr(&output).contains("/nonexistent/mysqld cannot be started"), "{}", text(&output));

    let Some(real) = binary(Family::MariaDb) else { return };
    fs::remove_dir_all(home.path().join("out")).unwrap();
    let bare = wrapper(home.path(), &format!("exec {} \"$@\"", real.display()));
    let output =
        rowcliff(home.path()).env("PATH", "/nonexistent").args(words(&target(&bare), &["--key", "autoinc"])).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(stdout(&output).contains("mariadb-install-db is neither near"), "{}", text(&output));
}

#[test]
fn kept_data_and_a_place_of_its_own() {
    let Some(binary) = binary(Family::MySql) else { return };
    let home = tempfile::tempdir().unwrap();
    let elsewhere = home.path().join("elsewhere");
    let config = home.path().join("my.cnf");
    // A file that was written for another server must not lead this one there.
    fs::write(&config, "[mysqld]\ndatadir=/nonexistent\nport=1\nsocket=/nonexistent/s\nkey_buffer_size=20M\n").unwrap();
    let target = target(&binary);
    let more = [
        "--engine",
        "innodb,myisam",
        "--key",
        "autoinc",
        "--keep",
        "--scratch-dir",
        "elsewhere",
        "--server-config",
        "my.cnf",
    ];
    let output = run(home.path(), &words(&target, &more));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let record = record(&home.path().join("out"));
    for curve in &record.curves {
        assert_eq!(curve.variables["key_buffer_size"], (20 << 20).to_string());
        let folder = elsewhere.join(curve.table.as_ref().unwrap());
        let files = entries(&folder.join("data/rowcliff"));
        assert!(files.iter().any(|name| name.ends_with(".ibd") || name.ends_with(".MYD")), "{files:?}");
        assert!(curve.notes.iter().any(|note| note.contains(&folder.display().to_string())), "{curve:?}");
    }
    assert_eq!(entries(&elsewhere).len(), 2);
    assert_eq!(processes(home.path()), Vec::<String>::new());
    let output = run(home.path(), &["clean", "out"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(entries(&elsewhere), Vec::<String>::new());
}

#[test]
fn options_that_make_no_sense_are_refused_before_anything_starts() {
    let home = tempfile::tempdir().unwrap();
    for (words, expected) in [
        (&["--server-option", "a=1"][..], "there is no server to start"),
        (&["--target", "scratch", "--rows", "1k", "--server-option", "datadir=/var/lib/mysql"][..], "set by rowcliff"),
        (&["--target", "scratch", "--rows", "1k", "--server-option", "log_bin=/x/y"][..], "stays with its data"),
        (&["--target", "scratch", "--rows", "1k", "--server-option", "fast"][..], "is not NAME=VALUE"),
        (&["--vary", "cache_size"][..], "list of values"),
        (&["--cache", "8M", "--vary", "cache_size=-100,-200"][..], "more than once"),
        (
            &[
                "--target",
                "scratch",
                "--rows",
                "1k",
                "--flush",
                "1",
                "--server-option",
                "innodb-flush-log-at-trx-commit=2",
            ][..],
            "is also set by --flush",
        ),
        (&["--engine-file", "missing.toml"][..], "missing.toml"),
    ] {
        let mut all = vec!["run"];
        all.extend(words);
        let output = run(home.path(), &all);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{}", text(&output));
        assert!(stderr(&output).contains(expected), "{expected}: {}", text(&output));
        assert!(!home.path().join("rowcliff-runs").exists());
    }
}

#[test]
fn an_engine_of_the_users_own_table() {
    let Some(binary) = binary(Family::MariaDb) else { return };
    let home = tempfile::tempdir().unwrap();
    let entry = "[innodb-compressed]\nname = \"InnoDB\"\noptions = \"ROW_FORMAT=COMPRESSED\"\n";
    fs::write(home.path().join("mine.toml"), entry).unwrap();
    let target = target(&binary);
    let more = ["--engine", "innodb-compressed", "--key", "autoinc", "--engine-file", "mine.toml"];
    let output = run(home.path(), &words(&target, &more));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let record = record(&home.path().join("out"));
    assert!(
        record.curves[0].create_table.as_ref().unwrap().contains("ROW_FORMAT=COMPRESSED"),
        "{:?}",
        record.curves[0]
    );
}

#[test]
fn cache_and_varied_pragmas_of_sqlite() {
    let home = tempfile::tempdir().unwrap();
    let words =
        ["run", "--rows", "2k", "--batch-rows", "1k", "--key", "autoinc", "--cache", "8M", "--out", "out", "--quiet"];
    let mut all = words.to_vec();
    all.extend(["--vary", "page_size=4096,16384"]);
    let output = run(home.path(), &all);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let record = record(&home.path().join("out"));
    assert_eq!(record.curves.len(), 2);
    for curve in &record.curves {
        assert_eq!(curve.variables["cache_size"], "-8192");
        assert_eq!(format!("page_size={}", curve.variables["page_size"]), curve.settings);
    }
    assert!(samples(&home.path().join("out")).iter().all(|sample| sample.settings.starts_with("page_size=")));
}

#[test]
fn on_a_server_that_is_not_ours_settings_are_put_back_and_purge_is_waited_for() {
    let Some(server) = OwnServer::start(Family::MariaDb, &[]) else { return };
    let home = tempfile::tempdir().unwrap();
    let mut conn = server.connect();
    let before = [global(&mut conn, "innodb_io_capacity"), global(&mut conn, "key_buffer_size")];
    // Purge cannot go on below a transaction that still reads the old rows.
    let mut reader = server.connect();
    conn.query_drop("CREATE TABLE other (a INT) ENGINE=InnoDB").unwrap();
    conn.query_drop("INSERT INTO other VALUES (0)").unwrap();
    reader.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT").unwrap();
    reader.query_drop("SELECT * FROM other").unwrap();
    for _ in 0..300 {
        conn.query_drop("UPDATE other SET a = a + 1").unwrap();
    }
    let target = server.target();
    let more = ["--engine", "innodb", "--key", "autoinc", "--vary", "innodb_io_capacity=300,400", "--settle", "1s"];
    let output = run(home.path(), &words(&target, &more));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let record = record(&home.path().join("out"));
    for curve in &record.curves {
        assert_eq!(format!("innodb_io_capacity={}", curve.variables["innodb_io_capacity"]), curve.settings);
    }
    assert_eq!(record.curves[0].settle_seconds, None, "there was no curve before the first");
    assert!(record.curves[1].settle_seconds.unwrap() >= 1.0);
    let note = record.curves[1].notes.iter().find(|note| note.contains("gave up")).unwrap();
    assert!(note.contains("purge") && note.contains("still at"), "{note}");
    drop(reader);

    fs::remove_dir_all(home.path().join("out")).unwrap();
    let more = ["--engine", "myisam,aria", "--key", "autoinc", "--cache", "32M"];
    let output = run(home.path(), &words(&target, &more));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let record = crate::support::record(&home.path().join("out"));
    assert_eq!(record.curves[0].variables["key_buffer_size"], (32 << 20).to_string());
    let Outcome::Skipped { why, environment: true } = &record.curves[1].outcome else {
        panic!("{:?}", record.curves[1])
    };
    assert!(why.contains("aria_pagecache_buffer_size counts only when the server starts"), "{why}");
    assert_eq!([global(&mut conn, "innodb_io_capacity"), global(&mut conn, "key_buffer_size")], before);
}

#[test]
fn a_control_batch_goes_to_the_server_of_its_curve() {
    let Some(binary) = binary(Family::MariaDb) else { return };
    let home = tempfile::tempdir().unwrap();
    let target = target(&binary);
    let output = run(home.path(), &words(&target, &["--key", "uuid4", "--engine", "innodb", "--control-batch"]));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let curve = record(&home.path().join("out")).curves.remove(0);
    let control = curve.control_batch.unwrap();
    assert_eq!((control.rows, control.table, control.problem), (1000, None, None));
    assert!(control.seconds.is_some() && curve.outcome == Outcome::Completed);
    assert_clean(home.path());
}
