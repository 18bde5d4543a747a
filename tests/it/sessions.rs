//! Sessions on servers that others set up: whatever a server gives to a log-in, rows are exact or the cell is refused by name.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use rowcliff::error::exit;
use rowcliff::record::{CurveRecord, Outcome};
use rowcliff::targets::mysql::variables::{LEFT, REFUSED, SET};

use crate::support::servers::{Family, OwnServer, binary, global};
use crate::support::{record, rowcliff, run, stderr, stdout, text};

/// Twenty columns: a limit on what a session sees cuts some of them off.
fn schema(home: &Path) {
    let columns: Vec<String> = (1..20).map(|number| format!("c{number:02} INT NULL")).collect();
    let text =
        format!("CREATE TABLE {{table}} (id BIGINT AUTO_INCREMENT PRIMARY KEY, {}) {{options}}", columns.join(", "));
    std::fs::write(home.join("twenty.sql"), text).unwrap();
}

const LOAD: &[&str] = &[
    "--key",
    "autoinc",
    "--schema",
    "twenty.sql",
    "--rows",
    "3k",
    "--batch-rows",
    "1k",
    "--statement-rows",
    "100",
    "--connections",
    "2",
    "--probe",
    "select-pk,range-pk",
    "--probe-ops",
    "20",
    "--keep",
    "--quiet",
];

/// A connection that no hostile value disturbs.
fn connect(server: &OwnServer) -> Conn {
    let mut conn = server.connect();
    conn.query_drop(
        "SET SESSION max_join_size=18446744073709551615, sql_big_selects=1, sql_select_limit=18446744073709551615, \
         sql_mode='', completion_type=0, autocommit=1",
    )
    .unwrap();
    conn
}

/// What the table of a curve holds, without what the server counted.
fn contents(conn: &mut Conn, curve: &CurveRecord) -> (u64, String) {
    let columns: Vec<String> = (1..20).map(|number| format!("IFNULL(c{number:02}, 'null')")).collect();
    let table = curve.table.as_ref().unwrap();
    let sql = format!("SELECT COUNT(*), CAST(SUM(CRC32(CONCAT_WS(',', {}))) AS CHAR) FROM {table}", columns.join(","));
    conn.query_first(sql).unwrap().unwrap()
}

/// A load into `out`, with its record.
fn load(home: &Path, server: &OwnServer, out: &str, more: &[&str]) -> (Option<i32>, CurveRecord, String) {
    let target = server.target();
    let words = ["run", "--target", &target, "--out", out];
    let output = run(home, &[&words[..], LOAD, more].concat());
    let curve = record(&home.join(out)).curves.remove(0);
    (output.status.code(), curve, text(&output))
}

/// Values under which something would be lost, of every variable that is set at log-in.
const HOSTILE: &[(&str, &str)] = &[
    ("max_join_size", "1"),
    ("sql_big_selects", "0"),
    ("sql_select_limit", "3"),
    ("sql_select_limit", "12"),
    ("autocommit", "0"),
    ("completion_type", "'CHAIN'"),
    ("completion_type", "'RELEASE'"),
    ("time_zone", "'+13:00'"),
    ("sql_mode", "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'"),
    ("max_statement_time", "0.001"),
    ("max_execution_time", "1"),
    ("max_error_count", "0"),
    ("sql_notes", "0"),
    ("sql_quote_show_create", "0"),
    ("sql_auto_is_null", "1"),
    ("sql_safe_updates", "1"),
    ("sql_if_exists", "1"),
    ("system_versioning_asof", "'2001-01-01 00:00:00'"),
    ("show_gipk_in_create_table_and_information_schema", "0"),
    ("show_create_table_verbosity", "1"),
    ("lc_messages", "'de_DE'"),
    ("tmp_disk_table_size", "1024"),
    ("wait_timeout", "1"),
    ("idle_transaction_timeout", "1"),
    ("idle_write_transaction_timeout", "1"),
    ("idle_readonly_transaction_timeout", "1"),
    ("net_read_timeout", "1"),
    ("net_write_timeout", "1"),
    ("wsrep_osu_method", "RSU"),
];

/// The hostile values that this server has a variable for.
fn hostile(conn: &mut Conn) -> Vec<(&'static str, &'static str)> {
    HOSTILE.iter().copied().filter(|(name, _)| !global(conn, name).is_empty()).collect()
}

fn walk(family: Family) {
    let Some(server) = OwnServer::start(family, &[]) else { return };
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    schema(home);
    let mut conn = connect(&server);
    let (code, reference, said) = load(home, &server, "reference", &[]);
    assert_eq!(code, Some(i32::from(exit::OK)), "{said}");
    let expected = contents(&mut conn, &reference);
    for (index, (name, value)) in hostile(&mut conn).into_iter().enumerate() {
        conn.query_drop(format!("SET GLOBAL {name}={value}")).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (code, curve, said) = load(home, &server, &format!("r{index}"), &[]);
        conn.query_drop(format!("SET GLOBAL {name}=DEFAULT")).unwrap();
        assert_eq!(code, Some(i32::from(exit::OK)), "{name}={value}: {said}");
        let verification = curve.verification.as_ref().unwrap();
        assert!(verification.is_right() && verification.compared_rows > 0, "{name}={value}: {verification:?}");
        assert_eq!(contents(&mut conn, &curve), expected, "{name}={value}");
        let probed = std::fs::read_to_string(home.join(format!("r{index}/probes.csv"))).unwrap();
        assert!(probed.lines().count() > 2, "{name}={value}: {probed}");
    }
}

#[test]
fn whatever_mariadb_gives_to_a_log_in_rows_are_exact() {
    walk(Family::MariaDb);
}

#[test]
fn whatever_mysql_gives_to_a_log_in_rows_are_exact() {
    walk(Family::MySql);
}

#[test]
fn hostile_values_are_told_of_every_variable_that_is_set() {
    let told: Vec<&str> = HOSTILE.iter().map(|(name, _)| *name).collect();
    let untold: Vec<&str> = SET.iter().map(|setting| setting.name).filter(|name| !told.contains(name)).collect();
    assert_eq!(untold, Vec::<&str>::new());
}

/// A variable that is left as it is, with the value to go back to and those to try.
struct Tried {
    name: String,
    values: Vec<String>,
}

/// The variables that a server lets be set for everybody and that rowcliff leaves as they are, each with its lowest, its highest
/// and its other values.
fn left(conn: &mut Conn, family: Family) -> Vec<Tried> {
    let list = match family {
        Family::MariaDb => {
            "SELECT LOWER(VARIABLE_NAME), GLOBAL_VALUE, NUMERIC_MIN_VALUE, NUMERIC_MAX_VALUE, ENUM_VALUE_LIST \
             FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_SCOPE = 'SESSION' AND READ_ONLY = 'NO' ORDER BY 1"
        }
        Family::MySql => {
            "SELECT VARIABLE_NAME, VARIABLE_VALUE, MIN_VALUE, MAX_VALUE, NULL FROM performance_schema.variables_metadata \
             JOIN performance_schema.global_variables USING (VARIABLE_NAME) WHERE VARIABLE_SCOPE = 'SESSION' ORDER BY 1"
        }
    };
    type Told = (String, Option<String>, Option<String>, Option<String>, Option<String>);
    let told: Vec<Told> = conn.query(list).unwrap();
    let is_left = |name: &str| LEFT.iter().any(|left| left.names.contains(&name));
    let number = |text: &Option<String>| text.clone().filter(|text| text.parse::<f64>().is_ok());
    let tried = told.into_iter().filter(|(name, ..)| is_left(name)).map(|(name, now, low, high, words)| {
        let now = now.unwrap_or_default();
        let values = match (number(&low), number(&high), words) {
            _ if now == "ON" => vec!["0".into()],
            _ if now == "OFF" => vec!["1".into()],
            (Some(low), Some(high), _) if low != high => vec![low, high],
            (.., Some(words)) => words.split(',').map(|word| format!("'{word}'")).collect(),
            _ => Vec::new(),
        };
        Tried { name, values }
    });
    tried.collect()
}

/// Loads under a handful of values at once: rows are exact, or one of the variables is named as what prevents it, and the others are
/// tried without it. Gives how many were named.
fn under(server: &OwnServer, home: &Path, group: &[(String, String)], expected: &(u64, String)) -> usize {
    let mut conn = connect(server);
    let mut group = group.to_vec();
    let mut named = 0;
    loop {
        // Values that this server does not take are left out.
        group.retain(|(name, value)| conn.query_drop(format!("SET GLOBAL {name}={value}")).is_ok());
        let _ = std::fs::remove_dir_all(home.join("left"));
        let target = server.target();
        let output = run(home, &[&["run", "--target", &target, "--out", "left"], LOAD].concat());
        let said = text(&output);
        for (name, _) in &group {
            conn.query_drop(format!("SET GLOBAL {name}=DEFAULT")).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        if output.status.success() {
            let curve = record(&home.join("left")).curves.remove(0);
            assert!(curve.verification.as_ref().unwrap().is_right(), "{group:?}: {said}");
            assert_eq!(contents(&mut conn, &curve), *expected, "{group:?}");
            conn.query_drop(format!("DROP TABLE {}", curve.table.unwrap())).unwrap();
            return named;
        }
        let whole = said.replace(['\n', '-'], "_").replace(' ', "");
        let blamed = group.iter().position(|(name, _)| whole.contains(name.as_str()));
        let Some(blamed) = blamed else { panic!("none of {group:?} is named: {said}") };
        group.remove(blamed);
        named += 1;
    }
}

/// Every variable that is left as it is, at its ends: a dozen at a time.
fn walk_the_rest(family: Family) {
    let options: &[&str] = if family == Family::MariaDb { &["--plugin-load-add=ha_rocksdb"] } else { &[] };
    let Some(server) = OwnServer::start(family, options) else { return };
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    schema(home);
    let mut conn = connect(&server);
    let (code, reference, said) = load(home, &server, "reference", &[]);
    assert_eq!(code, Some(i32::from(exit::OK)), "{said}");
    let expected = contents(&mut conn, &reference);
    let all = left(&mut conn, family);
    let rounds = all.iter().map(|tried| tried.values.len()).max().unwrap_or(0);
    let (mut tried, mut named) = (0, 0);
    for round in 0..rounds {
        let pairs = all.iter().filter_map(|one| Some((one.name.clone(), one.values.get(round)?.clone())));
        for group in pairs.collect::<Vec<_>>().chunks(12) {
            tried += group.len();
            named += under(&server, home, group, &expected);
        }
    }
    assert!(tried > 100 && named < tried / 10, "{named} of {tried} values were refused");
}

#[test]
fn whatever_else_mariadb_has_rows_are_exact_or_it_is_named() {
    walk_the_rest(Family::MariaDb);
}

#[test]
fn whatever_else_mysql_has_rows_are_exact_or_it_is_named() {
    walk_the_rest(Family::MySql);
}

#[test]
fn a_server_that_answers_nothing_is_told_why() {
    let Some(server) = OwnServer::start(Family::MariaDb, &[]) else { return };
    let home = tempfile::tempdir().unwrap();
    connect(&server).query_drop("SET GLOBAL sql_select_limit=0").unwrap();
    let output = run(home.path(), &["run", "--target", &server.target(), "--rows", "2k", "--batch-rows", "1k"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)), "{}", text(&output));
    assert!(stderr(&output).contains("SET GLOBAL sql_select_limit=DEFAULT"), "{}", text(&output));
}

/// A run that is interrupted, and gone on with on a server that has become hostile meanwhile.
fn resumed(family: Family) {
    let Some(server) = OwnServer::start(family, &[]) else { return };
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    schema(home);
    let mut conn = connect(&server);
    let target = server.target();
    let words = ["run", "--target", &target, "--key", "autoinc", "--schema", "twenty.sql", "--keep", "--quiet"];
    let sizes = ["--rows", "60k", "--batch-rows", "2k", "--statement-rows", "20", "--connections", "2"];
    let whole = [&words[..], &sizes].concat();
    assert!(run(home, &[&whole[..], &["--out", "whole"]].concat()).status.success());
    let expected = contents(&mut conn, &record(&home.join("whole")).curves[0]);
    let begun = rowcliff(home).args(&whole).args(["--out", "r"]).stderr(Stdio::null()).stdout(Stdio::null()).spawn();
    let mut begun = begun.unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while std::fs::read_to_string(home.join("r/batches.csv")).map_or(0, |text| text.lines().count()) < 4 {
        assert!(Instant::now() < deadline, "no batch within a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
    begun.kill().unwrap();
    begun.wait().unwrap();
    for (name, value) in hostile(&mut conn) {
        conn.query_drop(format!("SET GLOBAL {name}={value}")).unwrap();
    }
    let gone_on = run(home, &["resume", "r", "--quiet"]);
    assert_eq!(gone_on.status.code(), Some(i32::from(exit::OK)), "{}", text(&gone_on));
    let curve = record(&home.join("r")).curves.remove(0);
    assert!(curve.verification.as_ref().unwrap().is_right(), "{curve:?}");
    assert_eq!(contents(&mut conn, &curve), expected);
    let cleaned = run(home, &["clean", "r"]);
    assert!(cleaned.status.success(), "{}", text(&cleaned));
}

#[test]
fn a_run_is_gone_on_with_whatever_mariadb_gives_to_a_log_in() {
    resumed(Family::MariaDb);
}

#[test]
fn a_run_is_gone_on_with_whatever_mysql_gives_to_a_log_in() {
    resumed(Family::MySql);
}

#[test]
fn a_server_whose_transactions_are_read_only_is_refused_and_not_overruled() {
    for (family, name) in [(Family::MariaDb, "tx_read_only"), (Family::MySql, "transaction_read_only")] {
        let Some(server) = OwnServer::start(family, &[]) else { continue };
        let home = tempfile::tempdir().unwrap();
        schema(home.path());
        connect(&server).query_drop(format!("SET GLOBAL {name}=1")).unwrap();
        let (code, curve, said) = load(home.path(), &server, "r", &[]);
        assert_eq!(code, Some(i32::from(exit::FAILED)), "{said}");
        let Outcome::Skipped { why, environment: true } = &curve.outcome else { panic!("{said}") };
        assert!(why.starts_with(&format!("{name} is ON: ")) && why.contains("replica"), "{why}");
        let checked = run(home.path(), &["check", "--target", &server.target(), "--rows", "3k"]);
        assert!(stdout(&checked).contains(&format!("{name} is ON")), "{}", text(&checked));
    }
}

/// Every session variable of a server has been decided on: set, refused, or left with a reason.
fn decided(family: Family, version: &str) {
    let options: &[&str] = if family == Family::MariaDb { &["--plugin-load-add=ha_rocksdb"] } else { &[] };
    let Some(server) = OwnServer::start(family, options) else { return };
    let mut conn = connect(&server);
    let found: String = conn.query_first("SELECT VERSION()").unwrap().unwrap();
    let list = match family {
        Family::MariaDb => {
            "SELECT LOWER(VARIABLE_NAME) FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_SCOPE LIKE 'SESSION%'"
        }
        Family::MySql => {
            "SELECT LOWER(VARIABLE_NAME) FROM performance_schema.variables_metadata WHERE VARIABLE_SCOPE LIKE 'SESSION%'"
        }
    };
    let there: Vec<String> = conn.query(list).unwrap();
    assert!(there.len() > 150, "{}", there.len());
    let mut known: Vec<&str> = SET.iter().map(|setting| setting.name).collect();
    known.extend(REFUSED.iter().map(|(name, ..)| *name));
    known.extend(LEFT.iter().flat_map(|left| left.names.iter().copied()));
    let unknown: Vec<&String> = there.iter().filter(|name| !known.contains(&name.as_str())).collect();
    // Another version has others, which is for whoever takes it up to look at.
    if found.starts_with(version) {
        assert_eq!(unknown, Vec::<&String>::new());
    } else {
        eprintln!("{found} has session variables that {version} has not: {unknown:?}");
    }
}

#[test]
fn every_session_variable_of_mariadb_has_been_decided_on() {
    decided(Family::MariaDb, "10.11.");
}

#[test]
fn every_session_variable_of_mysql_has_been_decided_on() {
    decided(Family::MySql, "9.7.");
}

#[test]
fn check_sees_the_whole_server_through_a_limit() {
    for family in [Family::MariaDb, Family::MySql] {
        let Some(server) = OwnServer::start(family, &[]) else { continue };
        let home = tempfile::tempdir().unwrap();
        connect(&server).query_drop("SET GLOBAL sql_select_limit=3").unwrap();
        connect(&server).query_drop("SET GLOBAL max_join_size=1").unwrap();
        let words = ["check", "--target", &server.target(), "--engine", "innodb,myisam,memory", "--rows", "3k"];
        let checked = run(home.path(), &words);
        assert_eq!(checked.status.code(), Some(i32::from(exit::OK)), "{}", text(&checked));
        assert!(!stdout(&checked).contains("skipped"), "{}", text(&checked));
    }
}

#[test]
fn what_a_user_may_not_set_is_refused_by_name() {
    // MySQL keeps max_error_count to those who may set session variables.
    let Some(server) = OwnServer::start(Family::MySql, &[]) else { return };
    let home = tempfile::tempdir().unwrap();
    let mut conn = connect(&server);
    for sql in ["CREATE USER u@localhost", "GRANT ALL ON test.* TO u@localhost", "SET GLOBAL max_error_count=0"] {
        conn.query_drop(sql).unwrap();
    }
    let target = server.target().replace("root@", "u@");
    let words = ["run", "--target", &target, "--key", "autoinc", "--rows", "2k", "--batch-rows", "1k", "--out", "r"];
    let output = run(home.path(), &words);
    let curve = record(&home.path().join("r")).curves.remove(0);
    let Outcome::Skipped { why, environment: true } = &curve.outcome else { panic!("{}", text(&output)) };
    assert!(why.contains("max_error_count is 0 in the loading sessions and has to be 64 or more"), "{why}");
    assert_eq!(conn.query_first::<String, _>("SHOW TABLES").unwrap(), None);
}

#[test]
fn a_named_variable_is_never_set_over() {
    let Some(server) = OwnServer::start(Family::MariaDb, &[]) else { return };
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    schema(home);
    let (code, curve, said) = load(home, &server, "own", &[]);
    assert_eq!(code, Some(i32::from(exit::OK)), "{said}");
    assert_eq!(curve.variables["unique_checks"], "ON");
    assert_eq!(curve.variables["tx_isolation"], "REPEATABLE-READ");
    assert!(!curve.variables.contains_key("wait_timeout"));
    // As a loading session has it, which sets it to a year otherwise.
    let (code, curve, said) = load(home, &server, "varied", &["--vary", "wait_timeout=7777"]);
    assert_eq!(code, Some(i32::from(exit::OK)), "{said}");
    assert_eq!(curve.variables["wait_timeout"], "7777");
    // Where a load needs another value, the label would be wrong.
    for word in ["sql_select_limit=12", "completion_type=CHAIN", "tx_read_only=1", "max_statement_time=0.5"] {
        let out = word.split('=').next().unwrap();
        let (code, curve, said) = load(home, &server, out, &["--vary", word]);
        assert_eq!(code, Some(i32::from(exit::FAILED)), "{said}");
        let Outcome::Skipped { why, environment: false } = &curve.outcome else { panic!("{said}") };
        assert!(why.starts_with(&format!("--vary names {word}")), "{why}");
        assert_ne!(global(&mut connect(&server), out), word.split('=').nth(1).unwrap());
    }
}

#[test]
fn a_session_that_differs_from_what_was_named_is_refused() {
    let Some(server) = OwnServer::start(Family::MariaDb, &["--init-connect=SET SESSION unique_checks=0"]) else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let mut conn = connect(&server);
    for sql in ["CREATE USER u@localhost", "GRANT ALL ON test.* TO u@localhost"] {
        conn.query_drop(sql).unwrap();
    }
    let target = server.target().replace("root@", "u@");
    let words = ["run", "--target", &target, "--key", "autoinc", "--rows", "2k", "--batch-rows", "1k", "--quiet"];
    // It is on, so nothing has to be set; each session switches it off.
    let output = run(home.path(), &[&words[..], &["--vary", "unique_checks=1", "--out", "r"]].concat());
    let curve = record(&home.path().join("r")).curves.remove(0);
    let Outcome::Skipped { why, environment: true } = &curve.outcome else { panic!("{}", text(&output)) };
    assert!(why.contains("unique_checks is ON on this server (--vary) and OFF in a loading session"), "{why}");
    // Not named, it is what is measured, and recorded as the session has it.
    let output = run(home.path(), &[&words[..], &["--out", "left"]].concat());
    assert_eq!(output.status.code(), Some(i32::from(exit::OK)), "{}", text(&output));
    assert_eq!(record(&home.path().join("left")).curves[0].variables["unique_checks"], "OFF");
}

#[test]
fn options_of_scratch_servers_are_named_too() {
    for family in [Family::MariaDb, Family::MySql] {
        let Some(binary) = binary(family) else { continue };
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let target = format!("scratch:{}", binary.display());
        let words = ["run", "--target", &target, "--key", "autoinc", "--rows", "2k", "--batch-rows", "1k", "--quiet"];
        let start = |out: &str, more: &[&str]| {
            let output = run(home, &[&words[..], &["--out", out], more].concat());
            (record(&home.join(out)).curves.remove(0), stderr(&output))
        };
        let (curve, said) = start("option", &["--server-option", "completion_type=CHAIN"]);
        let Outcome::Skipped { why, environment: false } = &curve.outcome else { panic!("{said}") };
        assert!(why.starts_with("--server-option names completion_type=CHAIN"), "{why}");
        std::fs::write(home.join("kept.cnf"), "[mysqld]\nwait-timeout=7777\n").unwrap();
        let (curve, said) = start("kept", &["--server-config", "kept.cnf"]);
        assert_eq!(curve.outcome, Outcome::Completed, "{said}");
        assert_eq!(curve.variables["wait_timeout"], "7777");
        std::fs::write(home.join("limit.cnf"), "[mysqld]\ncompletion-type=CHAIN\n").unwrap();
        let (curve, said) = start("limit", &["--server-config", "limit.cnf"]);
        let Outcome::Skipped { why, .. } = &curve.outcome else { panic!("{said}") };
        assert!(why.contains("--server-config names completion_type=CHAIN"), "{why}");
    }
}
