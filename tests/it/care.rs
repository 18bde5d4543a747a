//! Servers that are not ours: logging in, what is found before anything is timed, and leaving everything as it was.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use rowcliff::record::{Outcome, RunRecord};

use crate::support::servers::{Family, OwnServer, connect, global, shared, target};
use crate::support::{record, rowcliff, run, stderr, stdout, text};

const BOTH: [Family; 2] = [Family::MariaDb, Family::MySql];
/// A password with everything that URLs, option files and shells care about.
const SECRET: &str = "s3:cr@t/#\"x\\ y%";
/// The same in a URL.
const SECRET_IN_URL: &str = "s3%3Acr%40t%2F%23%22x%5C%20y%25";
const KNOB: &str = "innodb_flush_log_at_trx_commit";
const SMALL: [&str; 8] = ["--rows", "2000", "--batch-rows", "1000", "--connections", "1", "--key", "autoinc"];

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server that listens on 127.0.0.1 too.
fn tcp_server(family: Family, options: &[&str]) -> Option<(OwnServer, u16)> {
    let port = free_port();
    let port_option = format!("--port={port}");
    let mut all = vec![port_option.as_str(), "--bind-address=127.0.0.1"];
    all.extend(options);
    Some((OwnServer::start(family, &all)?, port))
}

fn execute(server: &OwnServer, statements: &[&str]) {
    let mut conn = server.connect();
    for sql in statements {
        conn.query_drop(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// A run into `home/out`, small unless the words say otherwise.
fn run_small(home: &Path, target: &str, more: &[&str]) -> Output {
    // Options that come again would be refused: those of the caller stand in place of ours.
    let mut list = vec!["run", "--target", target, "--out", "out"];
    for pair in SMALL.chunks(2) {
        if !more.contains(&pair[0]) {
            list.extend(pair);
        }
    }
    list.extend(more);
    run(home, &list)
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn user_target(socket: &Path, user: &str) -> String {
    format!("mysql://{user}@localhost/test?socket={}", socket.display())
}

fn skip_reason(record: &RunRecord, curve: usize) -> String {
    match &record.curves[curve].outcome {
        Outcome::Skipped { why, environment: true } => why.clone(),
        other => panic!("not skipped by the environment: {other:?}"),
    }
}

/// Every file below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

/// A run that goes on until it is ended, with its first batch done.
fn long_run(home: &Path, target: &str, more: &[&str]) -> Child {
    let mut list = vec!["run", "--target", target, "--out", "out", "--rows", "500M", "--batch-rows", "5000"];
    list.extend(["--connections", "1", "--key", "autoinc"]);
    list.extend(more);
    let child =
        rowcliff(home).args(&list).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let batches = home.join("out/batches.csv");
    let deadline = Instant::now() + Duration::from_secs(60);
    while std::fs::read_to_string(&batches).unwrap_or_default().lines().count() < 3 {
        assert!(Instant::now() < deadline, "no batch within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status().unwrap();
    assert!(status.success());
}

/// The server's own curve tables that are left.
fn tables(server: &OwnServer) -> Vec<String> {
    server.connect().query("SHOW TABLES FROM test LIKE 'rowcliff%'").unwrap()
}

// ------------------------------------------------------------------------------------------------- logging in

fn secret_user(server: &OwnServer) {
    let quoted = SECRET.replace('\\', "\\\\").replace('\'', "\\'");
    execute(server, &[&format!("CREATE USER 'me'@'%' IDENTIFIED BY '{quoted}'"), "GRANT ALL ON *.* TO 'me'@'%'"]);
}

#[test]
fn a_password_comes_from_everywhere_it_may() {
    for family in BOTH {
        let Some((server, port)) = tcp_server(family, &[]) else { return };
        secret_user(&server);
        let home = home();
        let write = |name: &str, content: &str| {
            let path = home.path().join(name);
            std::fs::write(&path, content).unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
            path.display().to_string()
        };
        let url = format!("mysql://me@127.0.0.1:{port}/test");
        let check = |command: &mut Command, target: &str, more: &[&str], what: &str, right: bool| {
            let output = command.args(["engines", "--target", target]).args(more).output().unwrap();
            assert_eq!(output.status.success(), right, "{what}: {}", text(&output));
            assert!(!text(&output).contains(SECRET) && !text(&output).contains(SECRET_IN_URL), "{}", text(&output));
            text(&output)
        };
        let with = |name: &str, value: &str| {
            let mut command = rowcliff(home.path());
            command.env(name, value);
            command
        };
        let in_url = format!("mysql://me:{SECRET_IN_URL}@127.0.0.1:{port}/test");
        check(&mut rowcliff(home.path()), &in_url, &[], "URL", true);
        let refused = check(&mut rowcliff(home.path()), &url, &[], "none", false);
        assert!(refused.contains("--password-file") && refused.contains("1045"), "{refused}");
        let file = write("password", &format!("{SECRET}\n"));
        check(&mut rowcliff(home.path()), &url, &["--password-file", &file], "file", true);
        check(&mut with("ROWCLIFF_PASSWORD", SECRET), &url, &[], "ROWCLIFF_PASSWORD", true);
        check(&mut with("MYSQL_PWD", SECRET), &url, &[], "MYSQL_PWD", true);
        check(with("MYSQL_PWD", SECRET).env("ROWCLIFF_PASSWORD", "no"), &url, &[], "both", false);
        check(&mut with("MYSQL_PWD", "no"), &url, &["--password-file", &file], "file before environment", true);
        check(&mut with("MYSQL_PWD", SECRET), &url.replace("me@", "me:no@"), &[], "URL before environment", false);
        // Quoted as an option file wants it.
        let quoted = format!("\"{}\"", SECRET.replace('\\', "\\\\").replace('"', "\\\""));
        let named = write("options.cnf", &format!("[client]\npassword={quoted} # a comment\n[mysqld]\npassword=no\n"));
        check(&mut rowcliff(home.path()), &url, &["--defaults-file", &named], "option file", true);
        let own = format!("[client]\nuser=me\nhost=127.0.0.1\nport={port}\n[rowcliff]\npassword={quoted}\n");
        write(".my.cnf", &own);
        check(&mut rowcliff(home.path()), "mysql:///test", &[], "~/.my.cnf completes the URL", true);
        // One that is asked for on the terminal, where there is none.
        let nobody = check(&mut rowcliff(home.path()), &url, &["--ask-password"], "no terminal", false);
        assert!(nobody.contains("not a terminal"), "{nobody}");
    }
}

#[test]
fn a_password_is_asked_for_on_a_terminal() {
    let Some((server, port)) = tcp_server(Family::MariaDb, &[]) else { return };
    execute(&server, &["CREATE USER me@'%' IDENTIFIED BY 'typed-in'", "GRANT ALL ON *.* TO me@'%'"]);
    let home = home();
    let program =
        format!("{} engines --target mysql://me@127.0.0.1:{port}/test --ask-password", env!("CARGO_BIN_EXE_rowcliff"));
    let mut child = Command::new("script")
        .args(["-qec", &program, "/dev/null"])
        .env("HOME", home.path())
        .env_remove("MYSQL_PWD")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script (util-linux) is there");
    std::thread::sleep(Duration::from_millis(1000));
    use std::io::Write;
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"typed-in\n").unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let shown = stdout(&output);
    assert!(shown.contains(&format!("Password for mysql://me@127.0.0.1:{port}/test")), "{shown}");
    assert!(shown.contains("innodb") && !shown.contains("typed-in"), "{shown}");
}

#[test]
fn the_secret_is_in_no_file_no_message_and_no_process_list() {
    for family in BOTH {
        let Some((server, port)) = tcp_server(family, &[]) else { return };
        secret_user(&server);
        let home = home();
        let url = format!("mysql://me:{SECRET_IN_URL}@127.0.0.1:{port}/test");
        let mut child = long_run(home.path(), &url, &["--flush", "0"]);
        let process = PathBuf::from(format!("/proc/{}", child.id()));
        let command_line = std::fs::read(process.join("cmdline")).unwrap();
        assert!(holds(&command_line, "mysql://me:***@127.0.0.1"), "{}", String::from_utf8_lossy(&command_line));
        let environment = std::fs::read(process.join("environ")).unwrap();
        for bytes in [&command_line, &environment] {
            for secret in [SECRET, SECRET_IN_URL] {
                assert!(!holds(bytes, secret), "{}", String::from_utf8_lossy(bytes));
            }
        }
        // The name by which people find the process stays.
        assert_eq!(std::fs::read_to_string(process.join("comm")).unwrap().trim(), "rowcliff");
        // The state file of the changed global is there now, and looked at too.
        let on_disk = files(home.path());
        assert!(on_disk.iter().any(|path| path.ends_with("out/globals.json")), "{on_disk:?}");
        signal(&child, "INT");
        let _ = child.wait().unwrap();
        let output = child.wait_with_output().unwrap();
        let mut places: Vec<(String, Vec<u8>)> = vec![("output".into(), text(&output).into_bytes())];
        // Everything that can fail with the URL in hand, and everything that reads the run.
        let bad = url.replace("%25@", "%25x@");
        let lists: [&[&str]; 8] = [
            &["run", "--target", &bad, "--rows", "1k"],
            &["check", "--target", &bad, "--rows", "1k"],
            &["run", &url],
            &["run", "--target", &format!("{url}/more"), "--rows", "1k"],
            &["run", "--target", &format!("{url}?tls=1"), "--rows", "1k"],
            &["restore", "--target", &bad],
            &["show", "out"],
            &["clean", "out", "--password-file", "/nonexistent"],
        ];
        for list in lists {
            let output = run(home.path(), list);
            places.push((format!("{list:?}"), text(&output).into_bytes()));
        }
        for path in on_disk.into_iter().chain(files(home.path())) {
            if let Ok(bytes) = std::fs::read(&path) {
                places.push((path.display().to_string(), bytes));
            }
        }
        for (place, bytes) in places {
            for secret in [SECRET, SECRET_IN_URL] {
                assert!(!holds(&bytes, secret), "{place}:\n{}", String::from_utf8_lossy(&bytes));
            }
        }
        let output = rowcliff(home.path()).args(["clean", "out"]).env("MYSQL_PWD", SECRET).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        assert_eq!(tables(&server), Vec::<String>::new());
    }
}

#[test]
fn tls_is_used_where_it_is_asked_for_and_said() {
    let Some((server, port)) = tcp_server(Family::MySql, &[]) else { return };
    execute(&server, &["CREATE USER me@'%' IDENTIFIED BY 'pw'", "GRANT ALL ON *.* TO me@'%'"]);
    let url = format!("mysql://me:pw@127.0.0.1:{port}/test");
    let ca = server.data.join("ca.pem").display().to_string();
    let attempt = |more: &[&str]| {
        let home = home();
        let output = run_small(home.path(), &url, more);
        let notes = output
            .status
            .success()
            .then(|| record(&home.path().join("out")).targets.into_values().next().unwrap().notes.join("\n"));
        (output, notes.unwrap_or_default())
    };
    for more in
        [&["--ssl-mode", "required"][..], &[], &["--ssl-mode", "verify-ca", "--ssl-ca", &ca], &["--ssl-ca", &ca]]
    {
        let (output, notes) = attempt(more);
        assert!(output.status.success(), "{more:?}: {}", text(&output));
        assert!(notes.contains("connections are encrypted (TLS_"), "{more:?}: {notes}");
    }
    let (output, notes) = attempt(&["--ssl-mode", "disabled"]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(notes.contains("connections are not encrypted"), "{notes}");
    // The certificate that MySQL makes for itself bears no host name.
    let (output, _) = attempt(&["--ssl-mode", "verify-identity", "--ssl-ca", &ca]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("TLS") && stderr(&output).contains("--ssl-mode"), "{}", text(&output));
    // Signed by somebody else.
    let other = server.data.join("client-cert.pem").display().to_string();
    let (output, _) = attempt(&["--ssl-mode", "verify-ca", "--ssl-ca", &other]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(stderr(&output).contains("--ssl-ca"), "{}", text(&output));
    let (output, _) = attempt(&["--ssl-mode", "verify-ca", "--ssl-ca", "/nonexistent.pem"]);
    assert!(stderr(&output).contains("/nonexistent.pem"), "{}", text(&output));
}

#[test]
fn a_server_without_tls_says_which_option_helps() {
    let Some((server, port)) = tcp_server(Family::MariaDb, &[]) else { return };
    execute(&server, &["CREATE USER me@'%' IDENTIFIED BY 'pw'", "GRANT ALL ON *.* TO me@'%'"]);
    let url = format!("mysql://me:pw@127.0.0.1:{port}/test");
    let home = home();
    let output = run(home.path(), &["engines", "--target", &url, "--ssl-mode", "required"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("offers no TLS") && stderr(&output).contains("--ssl-mode preferred"),
        "{}",
        text(&output)
    );
    let output = run(home.path(), &["engines", "--target", &url]);
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn caching_sha2_over_plain_tcp_works_on_a_fresh_server() {
    let Some((server, port)) = tcp_server(Family::MySql, &["--tls-version="]) else { return };
    execute(
        &server,
        &[
            "CREATE USER b@'%' IDENTIFIED WITH caching_sha2_password BY 'x'",
            "GRANT ALL ON *.* TO b@'%'",
            "FLUSH PRIVILEGES",
        ],
    );
    let url = format!("mysql://b:x@127.0.0.1:{port}/test");
    let home = home();
    // Twice: the second time the server has the password cached.
    for _ in 0..2 {
        let output = run(home.path(), &["engines", "--target", &url, "--ssl-mode", "disabled"]);
        assert!(output.status.success(), "{}", text(&output));
    }
    let output = run(home.path(), &["engines", "--target", &url.replace(":x@", ":y@"), "--ssl-mode", "disabled"]);
    assert!(stderr(&output).contains("1045") && stderr(&output).contains("user b"), "{}", text(&output));
}

#[test]
fn caching_sha2_without_tls_and_without_a_key_names_the_option() {
    let Some((server, port)) = tcp_server(Family::MySql, &[]) else { return };
    execute(&server, &["CREATE USER b@'%' IDENTIFIED WITH caching_sha2_password BY 'x'", "GRANT ALL ON *.* TO b@'%'"]);
    for key in ["private_key.pem", "public_key.pem"] {
        std::fs::remove_file(server.data.join(key)).unwrap();
    }
    let port_option = format!("--port={port}");
    let server = server.restart(&[
        &port_option,
        "--bind-address=127.0.0.1",
        "--tls-version=",
        "--caching-sha2-password-auto-generate-rsa-keys=OFF",
        "--loose-sha256-password-auto-generate-rsa-keys=OFF",
    ]);
    let home = home();
    let url = format!("mysql://b:x@127.0.0.1:{port}/test");
    let output = run(home.path(), &["engines", "--target", &url, "--ssl-mode", "disabled"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let said = stderr(&output);
    assert!(said.contains("caching_sha2_password") && said.contains("--ssl-mode required"), "{said}");
    assert!(said.contains("user b"), "{said}");
    drop(server);
}

#[test]
fn a_server_that_takes_only_encrypted_connections_names_the_option() {
    let Some((server, port)) = tcp_server(Family::MySql, &["--require-secure-transport=ON"]) else { return };
    execute(&server, &["CREATE USER b@'%' IDENTIFIED BY 'x'", "GRANT ALL ON *.* TO b@'%'"]);
    let home = home();
    let url = format!("mysql://b:x@127.0.0.1:{port}/test");
    let output = run(home.path(), &["engines", "--target", &url, "--ssl-mode", "disabled"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--ssl-mode required"), "{}", text(&output));
    let output = run(home.path(), &["engines", "--target", &url]);
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn ed25519_of_mariadb_works() {
    let Some((server, port)) = tcp_server(Family::MariaDb, &["--plugin-load-add=auth_ed25519"]) else { return };
    execute(&server, &["CREATE USER e@'%' IDENTIFIED VIA ed25519 USING PASSWORD('x')", "GRANT ALL ON *.* TO e@'%'"]);
    let home = home();
    let output = run_small(home.path(), &format!("mysql://e:x@127.0.0.1:{port}/test"), &[]);
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn tcp_stays_tcp() {
    // The crate would move a connection to 127.0.0.1 onto the server's socket.
    for family in BOTH {
        let Some((server, port)) = tcp_server(family, &[]) else { return };
        execute(&server, &["CREATE USER t@'127.0.0.1' IDENTIFIED BY 'x'", "GRANT ALL ON *.* TO t@'127.0.0.1'"]);
        let home = home();
        let output = run(home.path(), &["engines", "--target", &format!("mysql://t:x@127.0.0.1:{port}/test")]);
        assert!(output.status.success(), "{}", text(&output));
    }
}

// --------------------------------------------------------------------------------- found before anything is timed

#[test]
fn a_read_only_server_is_named() {
    for family in BOTH {
        let Some(server) = OwnServer::start(family, &[]) else { return };
        execute(&server, &["CREATE USER u@localhost", "GRANT ALL ON test.* TO u@localhost", "SET GLOBAL read_only=1"]);
        let url = user_target(&server.socket, "u");
        let home = home();
        let mut check = vec!["check", "--target", &url];
        check.extend(SMALL);
        let output = run(home.path(), &check);
        assert_eq!(output.status.code(), Some(1));
        assert!(
            stdout(&output).contains("read_only is on") && stdout(&output).contains("replica"),
            "{}",
            text(&output)
        );
        let output = run_small(home.path(), &url, &[]);
        assert_eq!(output.status.code(), Some(1));
        assert!(
            skip_reason(&record(&home.path().join("out")), 0).contains("SET GLOBAL read_only=0"),
            "{}",
            text(&output)
        );
        // root may write all the same, and the record says what the server is.
        std::fs::remove_dir_all(home.path().join("out")).unwrap();
        let output = run_small(home.path(), &server.target(), &[]);
        assert!(output.status.success(), "{}", text(&output));
        assert!(
            text(&output).contains("read_only is on")
                || record(&home.path().join("out")).targets[&server.target()]
                    .notes
                    .iter()
                    .any(|note| note.contains("read_only is on"))
        );
        if family == Family::MySql {
            execute(&server, &["SET GLOBAL super_read_only=1"]);
            std::fs::remove_dir_all(home.path().join("out")).unwrap();
            let output = run_small(home.path(), &server.target(), &[]);
            assert_eq!(output.status.code(), Some(1));
            assert!(skip_reason(&record(&home.path().join("out")), 0).contains("super_read_only is ON"));
        }
    }
}

#[test]
fn a_server_that_turns_read_only_ends_the_curve_and_keeps_what_is_there() {
    for family in BOTH {
        let Some(server) = OwnServer::start(family, &[]) else { return };
        execute(&server, &["CREATE USER u@localhost", "GRANT ALL ON test.* TO u@localhost"]);
        let home = home();
        let child = long_run(home.path(), &user_target(&server.socket, "u"), &[]);
        execute(&server, &["SET GLOBAL read_only=1"]);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        let record = record(&home.path().join("out"));
        let Outcome::Failed { code, message } = &record.curves[0].outcome else { panic!("{}", text(&output)) };
        assert_eq!(*code, Some(1290));
        assert!(message.contains("read-only"), "{message}");
        assert!(record.curves[0].batches >= 2);
        execute(&server, &["SET GLOBAL read_only=0"]);
    }
}

#[test]
fn missing_privileges_are_named_with_the_statement_that_helps() {
    for family in BOTH {
        let Some(server) = OwnServer::start(family, &[]) else { return };
        // Could create, and could never drop.
        execute(
            &server,
            &["CREATE USER 'o''x'@localhost", "GRANT SELECT, INSERT, CREATE ON test.* TO 'o''x'@localhost"],
        );
        let url = user_target(&server.socket, "o'x");
        let home = home();
        let output = run_small(home.path(), &url, &[]);
        assert_eq!(output.status.code(), Some(1));
        let why = skip_reason(&record(&home.path().join("out")), 0);
        assert!(why.contains("lacks DROP on database test"), "{why}");
        let (_, grant) = why.split_once(": ").unwrap();
        assert_eq!(tables(&server), Vec::<String>::new());
        // What it says helps.
        execute(&server, &[grant]);
        std::fs::remove_dir_all(home.path().join("out")).unwrap();
        let output = run_small(home.path(), &url, &[]);
        assert!(output.status.success(), "{}", text(&output));
        let notes = record(&home.path().join("out")).targets[&user_target(&server.socket, "o'x")].notes.join("\n");
        assert!(notes.contains("PROCESS"), "{notes}");
        assert!(record(&home.path().join("out")).curves[0].notes.join("\n").contains("RELOAD"));
        // By way of a role.
        let default = match family {
            Family::MariaDb => "SET DEFAULT ROLE loader FOR v@localhost",
            Family::MySql => "SET DEFAULT ROLE loader TO v@localhost",
        };
        let grant = "GRANT SELECT, INSERT, CREATE, DROP ON test.* TO loader";
        execute(
            &server,
            &["CREATE USER v@localhost", "CREATE ROLE loader", grant, "GRANT loader TO v@localhost", default],
        );
        std::fs::remove_dir_all(home.path().join("out")).unwrap();
        let output = run_small(home.path(), &user_target(&server.socket, "v"), &[]);
        assert!(output.status.success(), "{}", text(&output));
    }
}

#[test]
fn a_flush_setting_that_cannot_be_set_skips_its_cells_and_the_others_run() {
    for family in BOTH {
        let Some(server) = OwnServer::start(family, &["--innodb-flush-log-at-trx-commit=2"]) else { return };
        execute(&server, &["CREATE USER u@localhost", "GRANT ALL ON test.* TO u@localhost"]);
        let home = home();
        let output = run_small(home.path(), &user_target(&server.socket, "u"), &["--flush", "0,1,2,as-is"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        let record = record(&home.path().join("out"));
        let privilege = if family == Family::MySql { "SYSTEM_VARIABLES_ADMIN" } else { "SUPER" };
        for curve in [0, 1] {
            let why = skip_reason(&record, curve);
            assert!(why.contains(privilege) && why.contains("--flush as-is"), "{why}");
        }
        for curve in [2, 3] {
            assert_eq!(record.curves[curve].outcome, Outcome::Completed);
            assert_eq!(record.curves[curve].flush_in_force, format!("{KNOB}=2"));
        }
        assert!(
            stderr(&output).lines().last().unwrap().contains("2 curves could not be run here"),
            "{}",
            text(&output)
        );
        std::fs::remove_dir_all(home.path().join("out")).unwrap();
        let output = run_small(home.path(), &user_target(&server.socket, "u"), &["--flush", "0,2", "--strict"]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    }
}

#[test]
fn local_infile_off_is_named_with_the_statement() {
    for family in BOTH {
        let Some(server) = OwnServer::start(family, &[]) else { return };
        execute(&server, &["SET GLOBAL local_infile=0"]);
        let home = home();
        let output = run_small(home.path(), &server.target(), &["--method", "load-data,insert"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        let record = record(&home.path().join("out"));
        assert!(skip_reason(&record, 0).contains("SET GLOBAL local_infile=1"));
        assert_eq!(record.curves[1].outcome, Outcome::Completed);
    }
}

#[test]
fn a_server_that_demands_primary_keys_gets_them() {
    for family in BOTH {
        let Some(server) = OwnServer::start(family, &[]) else { return };
        let variable = if family == Family::MySql { "sql_require_primary_key" } else { "innodb_force_primary_key" };
        execute(&server, &[&format!("SET GLOBAL {variable}=ON")]);
        let home = home();
        let output = run_small(home.path(), &server.target(), &["--key", "autoinc,uuid4,uuid7:binary16"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        std::fs::remove_dir_all(home.path().join("out")).unwrap();
        std::fs::write(home.path().join("bare.sql"), "CREATE TABLE {table} (a INT NOT NULL, b INT) {options}").unwrap();
        let output = run_small(home.path(), &server.target(), &["--schema", "bare.sql", "--key", "own"]);
        assert_eq!(output.status.code(), Some(1));
        let why = skip_reason(&record(&home.path().join("out")), 0);
        assert!(why.contains(variable) && why.contains("PRIMARY KEY"), "{why}");
    }
}

#[test]
fn limits_on_connections_are_named() {
    for family in BOTH {
        let Some(server) = OwnServer::start(family, &["--max-connections=12"]) else { return };
        execute(
            &server,
            &["CREATE USER u@localhost WITH MAX_USER_CONNECTIONS 4", "GRANT ALL ON test.* TO u@localhost"],
        );
        let home = home();
        let url = user_target(&server.socket, "u");
        let output = run_small(home.path(), &url, &["--connections", "3,4"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        let first = record(&home.path().join("out"));
        assert_eq!(first.curves[0].outcome, Outcome::Completed);
        let why = skip_reason(&first, 1);
        assert!(why.contains("max_user_connections=4") && why.contains("--connections"), "{why}");
        std::fs::remove_dir_all(home.path().join("out")).unwrap();
        let others: Vec<_> = (0..6).map(|_| server.connect()).collect();
        let output = run_small(home.path(), &server.target(), &["--connections", "2,8,20"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        let second = record(&home.path().join("out"));
        assert_eq!(second.curves[0].outcome, Outcome::Completed);
        assert!(skip_reason(&second, 1).contains("open already"), "{}", skip_reason(&second, 1));
        assert!(skip_reason(&second, 2).contains("max_connections=12"));
        drop(others);
    }
}

// ------------------------------------------------------------------------------------ binary log and replicas

fn binlog_server(family: Family) -> Option<(OwnServer, u16)> {
    tcp_server(family, &["--log-bin=binlog", "--server-id=1", "--sync-binlog=1"])
}

/// Where the binary log ends.
fn binlog_position(server: &OwnServer) -> (String, u64) {
    let mut conn = server.connect();
    let row: mysql::Row = match conn.query_first("SHOW BINARY LOG STATUS") {
        Ok(Some(row)) => row,
        _ => conn.query_first("SHOW MASTER STATUS").unwrap().unwrap(),
    };
    (row.get(0).unwrap(), row.get(1).unwrap())
}

#[test]
fn the_binary_log_is_reckoned_with_and_can_be_left_alone() {
    for family in BOTH {
        let Some((server, _)) = binlog_server(family) else { return };
        let home = home();
        let url = server.target();
        let mut check = vec!["check", "--target", &url];
        check.extend(["--rows", "100M", "--no-disk-check", "--key", "autoinc"]);
        let output = run(home.path(), &check);
        let growth = match family {
            Family::MariaDb => "the binary log grows by about 5.5 GiB (binlog_format=MIXED",
            Family::MySql => "the binary log grows by about 4.8 GiB (binlog_format=ROW",
        };
        assert!(stdout(&output).contains(growth), "{}", text(&output));
        assert!(stdout(&output).contains("sync_binlog=1"), "{}", text(&output));
        let before = binlog_position(&server);
        let output = run_small(home.path(), &url, &["--flush", "2"]);
        assert!(output.status.success(), "{}", text(&output));
        let record_of = |home: &Path| record(&home.join("out"));
        let curve = &record_of(home.path()).curves[0];
        assert!(curve.flush_in_force.contains("sync_binlog=1"), "{}", curve.flush_in_force);
        let csv = std::fs::read_to_string(home.path().join("out/batches.csv")).unwrap();
        assert!(csv.contains("binlog-synced"), "{csv}");
        let after = binlog_position(&server);
        assert!(after.1 > before.1 + 2000 * 45, "{before:?} {after:?}");
        std::fs::remove_dir_all(home.path().join("out")).unwrap();
        let output = run_small(home.path(), &url, &["--flush", "as-is", "--skip-binlog", "--keep"]);
        assert!(output.status.success(), "{}", text(&output));
        let record = record_of(home.path());
        assert_eq!(record.curves[0].flush_in_force, format!("{KNOB}=1"));
        assert!(record.targets[&url].notes.join("\n").contains("--skip-binlog"));
        let output = run(home.path(), &["clean", "out"]);
        assert!(output.status.success(), "{}", text(&output));
        assert_eq!(tables(&server), Vec::<String>::new());
        // Neither the rows nor the table nor its end went into the log: a replica that lacks the table would stop at DROP.
        assert_eq!(binlog_position(&server), after);
        execute(&server, &["CREATE USER u@localhost", "GRANT ALL ON test.* TO u@localhost"]);
        std::fs::remove_dir_all(home.path().join("out")).unwrap();
        let output = run_small(home.path(), &user_target(&server.socket, "u"), &["--skip-binlog"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output).contains("sql_log_bin=0"), "{}", text(&output));
    }
}

#[test]
fn attached_replicas_are_asked_about() {
    for family in BOTH {
        let Some((server, port)) = binlog_server(family) else { return };
        execute(&server, &["CREATE USER r@'127.0.0.1' IDENTIFIED BY 'x'", "GRANT ALL ON *.* TO r@'127.0.0.1'"]);
        let Some(replica) = OwnServer::start(family, &["--log-bin=binlog", "--server-id=2", "--report-port=4711"])
        else {
            return;
        };
        match family {
            Family::MariaDb => execute(
                &replica,
                &[
                    &format!(
                        "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='r', MASTER_PASSWORD='x'"
                    ),
                    "START SLAVE",
                ],
            ),
            Family::MySql => execute(
                &replica,
                &[
                    &format!(
                        "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='r', \
                         SOURCE_PASSWORD='x', GET_SOURCE_PUBLIC_KEY=1"
                    ),
                    "START REPLICA",
                ],
            ),
        }
        let status = |name: &str| -> String {
            let mut conn = replica.connect();
            let rows: Vec<mysql::Row> =
                conn.query("SHOW REPLICA STATUS").or_else(|_| conn.query("SHOW SLAVE STATUS")).unwrap();
            let row = rows.first().unwrap();
            let column = row.columns_ref().iter().position(|column| column.name_str().ends_with(name)).unwrap();
            row.get::<Option<String>, _>(column).unwrap().unwrap_or_default()
        };
        let wait = |what: &str, done: &dyn Fn() -> bool| {
            let deadline = Instant::now() + Duration::from_secs(30);
            while !done() {
                assert!(Instant::now() < deadline, "{what}: {}", status("Last_SQL_Error"));
                std::thread::sleep(Duration::from_millis(100));
            }
        };
        wait("the replica does not read", &|| status("IO_Running") == "Yes");
        let home = home();
        let output = run_small(home.path(), &server.target(), &[]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        let why = skip_reason(&record(&home.path().join("out")), 0);
        assert!(why.contains("--allow-replication") && why.contains("--skip-binlog"), "{why}");
        std::fs::remove_dir_all(home.path().join("out")).unwrap();
        let output = run_small(home.path(), &server.target(), &["--skip-binlog", "--keep"]);
        assert!(output.status.success(), "{}", text(&output));
        assert_eq!(tables(&server).len(), 1);
        let output = run(home.path(), &["clean", "out"]);
        assert!(output.status.success(), "{}", text(&output));
        std::fs::remove_dir_all(home.path().join("out")).unwrap();
        let output = run_small(home.path(), &server.target(), &["--allow-replication", "--keep"]);
        assert!(output.status.success(), "{}", text(&output));
        // Only the last table reached the replica, with its rows, and nothing stopped it.
        wait("the replica does not get the rows", &|| {
            let tables = tables(&replica);
            let mut conn = replica.connect();
            tables.len() == 1
                && tables == self::tables(&server)
                && conn.query_first::<u64, _>(format!("SELECT COUNT(*) FROM {}", tables[0])).unwrap() == Some(2000)
        });
        assert_eq!((status("SQL_Running"), status("IO_Running")), ("Yes".into(), "Yes".into()));
    }
}

// --------------------------------------------------------------------------------------------- locks and tables

#[test]
fn a_table_that_is_held_names_table_and_session() {
    let threads: Vec<_> = BOTH.into_iter().map(|family| std::thread::spawn(move || held(family))).collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn held(family: Family) {
    let Some(socket) = shared(family) else { return };
    let home = home();
    let output = run_small(home.path(), &target(&socket), &["--keep"]);
    assert!(output.status.success(), "{}", text(&output));
    let table = record(&home.path().join("out")).curves[0].table.clone().unwrap();
    let mut holder = connect(&socket);
    let id = holder.connection_id();
    holder.query_drop("BEGIN").unwrap();
    let _: Vec<mysql::Row> = holder.query(format!("SELECT * FROM {table} LIMIT 1")).unwrap();
    let started = Instant::now();
    let output = run(home.path(), &["clean", "out"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(started.elapsed() < Duration::from_secs(25), "{:?}", started.elapsed());
    let said = text(&output);
    assert!(said.contains(&table) && said.contains("metadata lock"), "{said}");
    assert!(said.contains(&format!("session {id}")), "session {id}: {said}");
    holder.query_drop("ROLLBACK").unwrap();
    let output = run(home.path(), &["clean", "out"]);
    assert!(output.status.success(), "{}", text(&output));
    let left: Vec<String> = holder.query(format!("SHOW TABLES LIKE '{table}'")).unwrap();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn clean_leaves_a_table_without_the_mark_alone() {
    for family in BOTH {
        let Some(socket) = shared(family) else { return };
        let home = home();
        let output = run_small(home.path(), &target(&socket), &["--keep"]);
        assert!(output.status.success(), "{}", text(&output));
        let own = record(&home.path().join("out")).curves[0].table.clone().unwrap();
        let path = home.path().join("out/run.json");
        let text_of = std::fs::read_to_string(&path).unwrap();
        let mut conn = connect(&socket);
        // A table of ours whose mark somebody took away is not ours any more.
        conn.query_drop(format!("ALTER TABLE {own} COMMENT='now theirs'")).unwrap();
        let output = run(home.path(), &["clean", "out"]);
        assert!(stdout(&output).contains("left alone"), "{}", text(&output));
        let left: Vec<String> = conn.query(format!("SHOW TABLES LIKE '{own}'")).unwrap();
        assert_eq!(left.len(), 1);
        let foreign = format!("foreign_{}", std::process::id());
        conn.query_drop(format!("CREATE TABLE {foreign} (a INT) COMMENT='mine'")).unwrap();
        conn.query_drop(format!("INSERT INTO {foreign} VALUES (1),(2),(3)")).unwrap();
        std::fs::write(&path, text_of.replace(&format!("\"{own}\""), &format!("\"{foreign}\""))).unwrap();
        let output = run(home.path(), &["clean", "out"]);
        assert!(stdout(&output).contains("left alone"), "{}", text(&output));
        let rows: Option<u64> = conn.query_first(format!("SELECT COUNT(*) FROM {foreign}")).unwrap();
        assert_eq!(rows, Some(3));
        conn.query_drop(format!("DROP TABLE {own}, {foreign}")).unwrap();
    }
}

#[test]
fn a_table_of_the_run_that_lost_its_mark_meanwhile_is_not_dropped() {
    let Some(server) = OwnServer::start(Family::MariaDb, &[]) else { return };
    let home = home();
    let child = long_run(home.path(), &server.target(), &["--no-verify"]);
    let table = tables(&server).pop().unwrap();
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output));
    assert_eq!(tables(&server), std::slice::from_ref(&table));
    execute(&server, &[&format!("ALTER TABLE {table} COMMENT=''")]);
    let output = run(home.path(), &["clean", "out"]);
    assert!(stdout(&output).contains("left alone"), "{}", text(&output));
    assert_eq!(tables(&server), [table]);
}

#[test]
fn an_engine_is_never_replaced() {
    for family in BOTH {
        let Some(server) = OwnServer::start(family, &[]) else { return };
        execute(&server, &["SET GLOBAL sql_mode=''"]);
        let home = home();
        let output = run_small(home.path(), &server.target(), &["--engine", "tokudb,innodb"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        let first = record(&home.path().join("out"));
        assert!(skip_reason(&first, 0).contains("no engine TokuDB"));
        assert!(first.curves[1].create_table.as_ref().unwrap().contains("ENGINE=InnoDB"));
        std::fs::remove_dir_all(home.path().join("out")).unwrap();
        let (setting, name) = match family {
            Family::MariaDb => ("SET GLOBAL enforce_storage_engine=Aria", "enforce_storage_engine=Aria"),
            Family::MySql => continue,
        };
        execute(&server, &[setting]);
        let output = run_small(home.path(), &server.target(), &["--engine", "innodb,aria"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        let second = record(&home.path().join("out"));
        assert!(skip_reason(&second, 0).contains(name));
        assert_eq!(second.curves[1].outcome, Outcome::Completed);
    }
}

#[test]
fn a_disabled_engine_of_mysql_is_named() {
    let Some(server) = OwnServer::start(Family::MySql, &["--disabled-storage-engines=MyISAM,ARCHIVE"]) else { return };
    let home = home();
    let output = run_small(home.path(), &server.target(), &["--engine", "myisam,innodb"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(skip_reason(&record(&home.path().join("out")), 0).contains("disabled_storage_engines"));
}

#[test]
fn a_uuid_that_does_not_fit_is_an_error_on_a_server_that_would_cut_it() {
    for family in BOTH {
        let Some(server) = OwnServer::start(family, &["--sql-mode="]) else { return };
        let home = home();
        let schema = "CREATE TABLE {table} (uid CHAR(20) CHARACTER SET latin1 PRIMARY KEY, id INT NOT NULL, id2 INT NOT NULL, \
                      mail VARCHAR(60) CHARACTER SET latin1 NOT NULL) {options}";
        std::fs::write(home.path().join("short.sql"), schema).unwrap();
        let output = run_small(home.path(), &server.target(), &["--schema", "short.sql", "--key", "uuid4:char36"]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert_eq!(tables(&server), Vec::<String>::new());
        // Whatever the words: no row was cut and counted.
        let record = record(&home.path().join("out"));
        assert_eq!(record.curves[0].batches, 0);
        assert!(matches!(record.curves[0].outcome, Outcome::Skipped { .. } | Outcome::Failed { .. }), "{record:?}");
    }
}

#[test]
fn raw_bytes_come_back_whole() {
    for family in BOTH {
        let Some(socket) = shared(family) else { return };
        let home = home();
        let output = run_small(home.path(), &target(&socket), &["--key", "uuid4:binary16", "--verify-rows", "2000"]);
        assert!(output.status.success(), "{}", text(&output));
        let verification = record(&home.path().join("out")).curves[0].verification.clone().unwrap();
        assert_eq!((verification.wrong_rows, verification.counted_rows), (0, Some(2000)));
        assert!(verification.compared_rows >= 1000, "{verification:?}");
    }
}

#[test]
fn a_memory_table_is_full_at_the_rows_that_were_foretold_and_the_others_run() {
    for family in BOTH {
        let Some(server) = OwnServer::start(family, &["--max-heap-table-size=1M"]) else { return };
        let home = home();
        let more = ["--engine", "memory,innodb", "--key", "autoinc,uuid4", "--rows", "40000", "--batch-rows", "20000"];
        let output = run_small(home.path(), &server.target(), &more);
        assert_eq!(output.status.code(), Some(3), "{}", text(&output));
        let record = record(&home.path().join("out"));
        for (curve, foretold) in [(0, 1 << 20) /* bytes */, (1, 1 << 20)]
            .map(|(curve, bytes)| (curve, bytes / if curve == 0 { 128 } else { 136 }))
        {
            let Outcome::Full { rows, message } = &record.curves[curve].outcome else {
                panic!("{:?}", record.curves[curve].outcome)
            };
            assert!(message.contains("1114"), "{message}");
            let note = record.curves[curve].notes.join("\n");
            let words = format!("about {} of 40,000 rows fit", rowcliff::units::grouped(foretold));
            assert!(note.contains(&words), "{note}");
            assert!(stderr(&output).contains(&words), "{}", text(&output));
            let ratio = *rows as f64 / foretold as f64;
            assert!((0.8..1.25).contains(&ratio), "full at {rows}, foretold {foretold}");
        }
        assert_eq!(record.curves[2].outcome, Outcome::Completed);
        assert_eq!(record.curves[3].outcome, Outcome::Completed);
        assert_eq!(tables(&server), Vec::<String>::new());
    }
}

#[test]
fn partitions_need_their_column_in_the_key_and_are_recorded() {
    for family in BOTH {
        let Some(socket) = shared(family) else { return };
        let home = home();
        let template = |key: &str| {
            format!(
                "CREATE TABLE {{table}} (id BIGINT NOT NULL AUTO_INCREMENT, d INT NOT NULL, PRIMARY KEY ({key})) {{options}} \
                 PARTITION BY HASH (d) PARTITIONS 3"
            )
        };
        std::fs::write(home.path().join("bad.sql"), template("id")).unwrap();
        let output = run_small(home.path(), &target(&socket), &["--schema", "bad.sql"]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        let why = skip_reason(&record(&home.path().join("out")), 0);
        assert!(why.contains("1503") && why.contains("PRIMARY KEY") && why.contains("--schema"), "{why}");
        std::fs::remove_dir_all(home.path().join("out")).unwrap();
        std::fs::write(home.path().join("good.sql"), template("id, d")).unwrap();
        let output = run_small(home.path(), &target(&socket), &["--schema", "good.sql"]);
        assert!(output.status.success(), "{}", text(&output));
        let created = record(&home.path().join("out")).curves[0].create_table.clone().unwrap();
        assert!(created.contains("PARTITIONS 3"), "{created}");
    }
}

#[test]
fn row_locks_of_myrocks_limit_a_transaction() {
    let Some(server) = OwnServer::start(Family::MariaDb, &["--plugin-load-add=ha_rocksdb"]) else { return };
    // Not at the start: with so few the server cannot write its own statistics there.
    execute(&server, &["SET GLOBAL rocksdb_max_row_locks=700"]);
    let home = home();
    let more = ["--engine", "rocksdb", "--commit-rows", "2000", "--rows", "8000", "--batch-rows", "4000"];
    let output = run_small(home.path(), &server.target(), &more);
    assert!(output.status.success(), "{}", text(&output));
    let curve = &record(&home.path().join("out")).curves[0];
    assert_eq!(curve.commit_rows, 350);
    assert!(curve.notes.join("\n").contains("rocksdb_max_row_locks"), "{:?}", curve.notes);
}

#[test]
fn the_cache_of_the_binary_log_limits_a_transaction() {
    for family in BOTH {
        let options =
            ["--log-bin=binlog", "--server-id=1", "--max-binlog-cache-size=65536", "--binlog-cache-size=32768"];
        let Some(server) = OwnServer::start(family, &options) else { return };
        let home = home();
        let more = ["--commit-rows", "20000", "--rows", "40000", "--batch-rows", "20000"];
        let output = run_small(home.path(), &server.target(), &more);
        assert!(output.status.success(), "{}", text(&output));
        let curve = &record(&home.path().join("out")).curves[0];
        assert!(curve.notes.join("\n").contains("max_binlog_cache_size"), "{:?}", curve.notes);
    }
}

#[test]
fn galera_limits_a_transaction() {
    const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";
    if !Path::new(PROVIDER).exists() {
        eprintln!("left out: galera-4 is not installed");
        return;
    }
    let (base, options) = (free_port(), |base: u16| {
        [
            "--wsrep-on=ON".to_owned(),
            format!("--wsrep-provider={PROVIDER}"),
            "--wsrep-cluster-address=gcomm://".into(),
            "--wsrep-node-address=127.0.0.1".into(),
            format!(
                "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{base};ist.recv_addr=127.0.0.1:{}",
                base + 1
            ),
            "--binlog-format=ROW".into(),
            "--innodb-autoinc-lock-mode=2".into(),
            "--wsrep-max-ws-rows=1500".into(),
            "--wsrep-max-ws-size=262144".into(),
        ]
    });
    let list = options(base);
    let Some((server, _)) = tcp_server(Family::MariaDb, &list.each_ref().map(String::as_str)) else { return };
    let deadline = Instant::now() + Duration::from_secs(30);
    let status =
        || -> Option<(String, String)> { server.connect().query_first("SHOW STATUS LIKE 'wsrep_ready'").unwrap() };
    while status().is_none_or(|(_, value)| value != "ON") {
        assert!(Instant::now() < deadline, "the node does not get ready");
        std::thread::sleep(Duration::from_millis(200));
    }
    let home = home();
    let more = ["--commit-rows", "10000", "--rows", "40000", "--batch-rows", "20000", "--key", "autoinc,uuid4"];
    let output = run_small(home.path(), &server.target(), &more);
    assert!(output.status.success(), "{}", text(&output));
    let record = record(&home.path().join("out"));
    for curve in &record.curves {
        assert!(curve.commit_rows <= 1500, "{}", curve.commit_rows);
        assert!(curve.notes.join("\n").contains("wsrep_max_ws_"), "{:?}", curve.notes);
        assert_eq!(curve.variables.get("wsrep_on").map(String::as_str), Some("ON"));
    }
    assert!(record.targets[&server.target()].notes.join("\n").contains("Galera"));
}

// ------------------------------------------------------------------------------------------------------- globals

fn knob(server: &OwnServer) -> String {
    global(&mut server.connect(), KNOB)
}

fn state_files(home: &Path) -> usize {
    std::fs::read_dir(home.join("state/rowcliff")).map_or(0, |entries| {
        entries.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|end| end == "json")).count()
    })
}

#[test]
fn globals_are_put_back_however_a_run_ends() {
    for family in BOTH {
        let Some(server) = OwnServer::start(family, &[]) else { return };
        let home = home();
        let output = run_small(home.path(), &server.target(), &["--flush", "0,2"]);
        assert!(output.status.success(), "{}", text(&output));
        assert_eq!((knob(&server).as_str(), state_files(home.path())), ("1", 0));
        for name in ["INT", "TERM", "HUP"] {
            let _ = std::fs::remove_dir_all(home.path().join("out"));
            let child = long_run(home.path(), &server.target(), &["--flush", "2"]);
            assert_eq!((knob(&server).as_str(), state_files(home.path())), ("2", 1), "{name}");
            signal(&child, name);
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(130), "{name}: {}", text(&output));
            assert_eq!((knob(&server).as_str(), state_files(home.path())), ("1", 0), "{name}");
        }
        // An error of the run itself: the table is taken away under it.
        let _ = std::fs::remove_dir_all(home.path().join("out"));
        let child = long_run(home.path(), &server.target(), &["--flush", "0"]);
        let table = record(&home.path().join("out")).curves[0].table.clone().unwrap();
        execute(&server, &[&format!("DROP TABLE {table}")]);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert_eq!((knob(&server).as_str(), state_files(home.path())), ("1", 0));
    }
}

#[test]
fn after_kill_9_the_next_run_or_restore_puts_back() {
    for family in BOTH {
        let Some(server) = OwnServer::start(family, &[]) else { return };
        let home = home();
        let killed = |more: &[&str]| {
            let _ = std::fs::remove_dir_all(home.path().join("out"));
            let mut child = long_run(home.path(), &server.target(), more);
            child.kill().unwrap();
            child.wait().unwrap();
            // The server needs a moment to see that the client is gone.
            std::thread::sleep(Duration::from_millis(500));
            assert_eq!((knob(&server).as_str(), state_files(home.path())), ("2", 1));
        };
        // `check` says it and changes nothing.
        killed(&["--flush", "2"]);
        let url = server.target();
        let mut check = vec!["check", "--target", &url];
        check.extend(SMALL);
        let output = run(home.path(), &check);
        assert!(stdout(&output).contains(&format!("left {KNOB} at 2 (it was 1)")), "{}", text(&output));
        assert_eq!(knob(&server), "2");
        // The next run puts it back first, and measures under its own label.
        let output =
            rowcliff(home.path()).args(["run", "--target", &url, "--out", "next"]).args(SMALL).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        let next = record(&home.path().join("next"));
        assert_eq!(next.curves[0].flush_in_force, format!("{KNOB}=1"));
        assert!(next.targets[&url].notes.join("\n").contains(&format!("{KNOB} is 1 again")), "{:?}", next.targets);
        assert_eq!((knob(&server).as_str(), state_files(home.path())), ("1", 0));
        // restore, without being told where.
        killed(&["--flush", "2"]);
        // Nobody typed the server's name, and nobody can be asked.
        let output = run(home.path(), &["restore"]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(stderr(&output).contains("--all") && stderr(&output).contains(KNOB), "{}", text(&output));
        let output = run(home.path(), &["restore", "--all"]);
        assert!(output.status.success(), "{}", text(&output));
        assert!(stdout(&output).contains(&format!("{KNOB} is 1 again")), "{}", text(&output));
        assert_eq!((knob(&server).as_str(), state_files(home.path())), ("1", 0));
        let output = run(home.path(), &["restore", "--all"]);
        assert!(stdout(&output).contains("no run left anything"), "{}", text(&output));
        // restore with a target; clean of a run.
        killed(&["--flush", "2"]);
        let output = run(home.path(), &["restore", "--target", &url]);
        assert!(output.status.success() && knob(&server) == "1", "{}", text(&output));
        killed(&["--flush", "2"]);
        let output = run(home.path(), &["clean", "out"]);
        assert!(output.status.success() && knob(&server) == "1", "{}", text(&output));
        assert_eq!(state_files(home.path()), 0);
        // Not when somebody else decided meanwhile.
        killed(&["--flush", "2"]);
        execute(&server, &[&format!("SET GLOBAL {KNOB}=0")]);
        let output = run(home.path(), &["restore", "--all"]);
        assert!(output.status.success(), "{}", text(&output));
        assert!(stdout(&output).contains("left at 0: somebody else"), "{}", text(&output));
        assert_eq!((knob(&server).as_str(), state_files(home.path())), ("0", 0));
    }
}

#[test]
fn a_value_that_somebody_else_set_meanwhile_stays_and_the_curve_is_not_trusted() {
    let Some(server) = OwnServer::start(Family::MariaDb, &[]) else { return };
    let home = home();
    let child = long_run(home.path(), &server.target(), &["--flush", "2"]);
    execute(&server, &[&format!("SET GLOBAL {KNOB}=0")]);
    signal(&child, "TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!((knob(&server).as_str(), state_files(home.path())), ("0", 0), "{}", text(&output));
    let notes = record(&home.path().join("out")).curves[0].notes.join("\n");
    assert!(notes.contains("somebody else changed it") && notes.contains("not measured under its label"), "{notes}");
}

#[test]
fn nothing_is_put_back_on_a_server_that_was_started_anew() {
    for family in BOTH {
        // Started with the very value that the run set: it equals, and is not ours.
        let Some(server) = OwnServer::start(family, &[]) else { return };
        let home = home();
        let mut child = long_run(home.path(), &server.target(), &["--flush", "2"]);
        child.kill().unwrap();
        child.wait().unwrap();
        std::thread::sleep(Duration::from_secs(6));
        let server = server.restart(&[&format!("--{}=2", KNOB.replace('_', "-"))]);
        assert_eq!(knob(&server), "2");
        let output = run(home.path(), &["restore", "--all"]);
        assert!(output.status.success(), "{}", text(&output));
        assert!(stdout(&output).contains("left at 2: the server was started anew"), "{}", text(&output));
        assert_eq!((knob(&server).as_str(), state_files(home.path())), ("2", 0));
    }
}

#[test]
fn a_second_run_that_changes_globals_is_refused() {
    for family in BOTH {
        let Some(server) = OwnServer::start(family, &[]) else { return };
        let (first_home, second_home) = (home(), home());
        let child = long_run(first_home.path(), &server.target(), &["--flush", "2"]);
        // From another machine: no state file and no lock of a directory tells of the first.
        let output = run_small(second_home.path(), &server.target(), &["--flush", "0"]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        let why = skip_reason(&record(&second_home.path().join("out")), 0);
        assert!(
            why.contains("another rowcliff run") && why.contains("session") && why.contains("--flush as-is"),
            "{why}"
        );
        assert_eq!(knob(&server), "2");
        // By the same user: restore leaves a run that is at work alone.
        let output = run(first_home.path(), &["restore", "--all"]);
        assert!(stdout(&output).contains("is at work"), "{}", text(&output));
        assert_eq!(knob(&server), "2");
        // One that changes nothing may run.
        std::fs::remove_dir_all(second_home.path().join("out")).unwrap();
        let output = run_small(second_home.path(), &server.target(), &[]);
        assert!(output.status.success(), "{}", text(&output));
        signal(&child, "INT");
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
        assert_eq!(knob(&server), "1");
    }
}

#[test]
fn variables_of_every_type_are_set_and_put_back_as_they_were_written() {
    for family in BOTH {
        let options =
            ["--concurrent-insert=2", "--innodb-max-dirty-pages-pct=80.5", "--key-buffer-size=24M", "--init-connect="];
        let Some(server) = OwnServer::start(family, &options) else { return };
        // A string that looks like a number, a size and a switch, as somebody may have left it.
        execute(&server, &["SET GLOBAL init_connect='1'"]);
        let changes = [
            ("concurrent_insert", "NEVER", "ALWAYS"),
            ("innodb_max_dirty_pages_pct", "50", "80.500000"),
            ("key_buffer_size", "32M", "25165824"),
            ("innodb_adaptive_hash_index", "on", "OFF"),
            ("delay_key_write", "all", "ON"),
            ("init_connect", "64M", "1"),
        ];
        execute(&server, &["SET GLOBAL innodb_adaptive_hash_index=OFF"]);
        let flush: Vec<String> = changes.iter().map(|(name, value, _)| format!("{name}={value}")).collect();
        let home = home();
        let mut child = long_run(home.path(), &server.target(), &["--flush", &flush.join("+")]);
        let mut conn = server.connect();
        let in_force = ["NEVER", "50.000000", "33554432", "ON", "ALL"];
        for ((name, ..), value) in changes.iter().zip(in_force) {
            assert_eq!(global(&mut conn, name), value, "{name}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        let output = run(home.path(), &["restore", "--all"]);
        assert!(output.status.success(), "{}", text(&output));
        for (name, _, original) in changes {
            assert_eq!(global(&mut conn, name), original, "{name}: {}", text(&output));
        }
        // One that cannot be set while the server runs, one that is not there, one with a value that is none.
        let more = ["--flush", "innodb_page_size=8192,no_such_thing=1,concurrent_insert=sometimes,as-is"];
        let _ = std::fs::remove_dir_all(home.path().join("out"));
        let output = run_small(home.path(), &server.target(), &more);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        let record = record(&home.path().join("out"));
        assert!(skip_reason(&record, 0).contains("when the server starts"), "{}", skip_reason(&record, 0));
        assert!(skip_reason(&record, 1).contains("no variable no_such_thing"));
        assert!(skip_reason(&record, 2).contains("concurrent_insert=sometimes"));
        assert_eq!(record.curves[3].outcome, Outcome::Completed);
        assert_eq!(state_files(home.path()), 0);
    }
}

#[test]
fn two_ways_to_one_server_in_one_run_do_not_refuse_each_other() {
    let Some((server, port)) = tcp_server(Family::MariaDb, &[]) else { return };
    execute(&server, &["CREATE USER r@'127.0.0.1' IDENTIFIED BY 'x'", "GRANT ALL ON *.* TO r@'127.0.0.1'"]);
    let home = home();
    let tcp = format!("mysql://r:x@127.0.0.1:{port}/test");
    let output = run_small(home.path(), &server.target(), &["--target", &tcp, "--flush", "0,2"]);
    assert!(output.status.success(), "{}", text(&output));
    let record = record(&home.path().join("out"));
    assert_eq!(record.curves.len(), 4);
    assert!(record.curves.iter().all(|curve| curve.outcome == Outcome::Completed), "{}", text(&output));
    assert_eq!(knob(&server), "1");
}

#[test]
fn nothing_is_changed_when_the_old_value_cannot_be_saved() {
    let Some(server) = OwnServer::start(Family::MariaDb, &[]) else { return };
    let home = home();
    std::fs::write(home.path().join("state"), "a file").unwrap();
    let output = run_small(home.path(), &server.target(), &["--flush", "2"]);
    assert_eq!(output.status.code(), Some(1));
    let why = skip_reason(&record(&home.path().join("out")), 0);
    assert!(why.contains("XDG_STATE_HOME") && why.contains("nothing is changed"), "{why}");
    assert_eq!(knob(&server), "1");
}

#[test]
fn a_restore_that_fails_is_the_last_line_and_stays_saved() {
    for family in BOTH {
        let Some(server) = OwnServer::start(family, &[]) else { return };
        let privilege = if family == Family::MySql { "SYSTEM_VARIABLES_ADMIN" } else { "SUPER" };
        execute(
            &server,
            &[
                "CREATE USER u@localhost",
                "GRANT ALL ON test.* TO u@localhost",
                &format!("GRANT {privilege} ON *.* TO u@localhost"),
            ],
        );
        let home = home();
        let url = user_target(&server.socket, "u");
        let more = ["--flush", "2", "--rows", "60000", "--batch-rows", "500", "--no-verify"];
        let mut list = vec!["run", "--target", &url, "--out", "out", "--connections", "1", "--key", "autoinc"];
        list.extend(more);
        let child = rowcliff(home.path()).args(&list).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while std::fs::read_to_string(home.path().join("out/batches.csv")).unwrap_or_default().lines().count() < 3 {
            assert!(Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(20));
        }
        execute(&server, &[&format!("REVOKE {privilege} ON *.* FROM u@localhost")]);
        // A session of MariaDB keeps the privileges it began with, so it has to begin anew: the control connection.
        let ids: Vec<u32> = server
            .connect()
            .query("SELECT ID FROM information_schema.PROCESSLIST WHERE USER='u' AND COMMAND='Sleep' AND TIME_MS >= 0")
            .unwrap_or_else(|_| {
                server
                    .connect()
                    .query("SELECT ID FROM information_schema.PROCESSLIST WHERE USER='u' AND COMMAND='Sleep'")
                    .unwrap()
            });
        let held: Option<u32> = server.connect().query_first("SELECT IS_USED_LOCK('rowcliff.globals')").unwrap();
        assert!(held.is_some(), "{ids:?}");
        execute(&server, &[&format!("KILL {}", held.unwrap())]);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        let said = stderr(&output);
        let last: Vec<&str> = said.lines().rev().take(2).collect();
        let last = format!("{} {}", last[1], last[0]);
        assert!(last.contains(&format!("SET GLOBAL {KNOB}=1")) && last.contains("rowcliff restore"), "{said}");
        assert_eq!((knob(&server).as_str(), state_files(home.path())), ("2", 1));
        let output = run(home.path(), &["restore", "--all"]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert!(stderr(&output).lines().last().unwrap().contains(&format!("SET GLOBAL {KNOB}=1")), "{}", text(&output));
        execute(&server, &[&format!("GRANT {privilege} ON *.* TO u@localhost")]);
        let output = run(home.path(), &["restore", "--all"]);
        assert!(output.status.success() && knob(&server) == "1", "{}", text(&output));
    }
}

#[test]
fn restore_does_not_touch_another_server_and_says_what_is_left() {
    let Some(server) = OwnServer::start(Family::MariaDb, &[]) else { return };
    let home = home();
    let mut child = long_run(home.path(), &server.target(), &["--flush", "2"]);
    child.kill().unwrap();
    child.wait().unwrap();
    drop(server);
    let output = run(home.path(), &["restore", "--all"]);
    assert_eq!(output.status.code(), Some(1));
    let last = stderr(&output).lines().last().unwrap().to_owned();
    assert!(last.contains("no server answers") && last.contains("remove"), "{last}");
    assert_eq!(state_files(home.path()), 1);
}

// ------------------------------------------------------------------------------------------ records and listings

#[test]
fn the_record_says_what_was_in_force() {
    for family in BOTH {
        let Some(socket) = shared(family) else { return };
        let home = home();
        let output = run_small(home.path(), &target(&socket), &["--engine", "innodb,myisam"]);
        assert!(output.status.success(), "{}", text(&output));
        let record = record(&home.path().join("out"));
        let facts = &record.targets[&target(&socket)];
        assert_eq!(facts.flavour, family.word());
        assert!(facts.version.starts_with(|c: char| c.is_ascii_digit()), "{}", facts.version);
        let redo = match family {
            Family::MariaDb => "innodb_log_file_size",
            Family::MySql => "innodb_redo_log_capacity",
        };
        let names = [
            "version_comment",
            "log_bin",
            "sync_binlog",
            "innodb_doublewrite",
            "innodb_flush_method",
            "innodb_buffer_pool_size",
            "key_buffer_size",
            "max_allowed_packet",
            redo,
        ];
        for name in names {
            assert!(facts.variables.contains_key(name), "{name} of the server: {:?}", facts.variables);
            assert!(record.curves[0].variables.contains_key(name), "{name} of the curve");
        }
        let mut conn = connect(&socket);
        for name in ["innodb_buffer_pool_size", "innodb_doublewrite", "innodb_flush_method"] {
            assert_eq!(record.curves[0].variables[name], global(&mut conn, name), "{name}");
        }
        assert!(record.curves[1].variables.contains_key("concurrent_insert"));
        assert!(record.curves[0].create_table.as_ref().unwrap().contains("ENGINE=InnoDB"));
        assert!(record.curves[0].create_table.as_ref().unwrap().contains("COMMENT='rowcliff run="));
    }
}

#[test]
fn engines_lists_the_table_and_what_a_server_has() {
    let home = home();
    let output = run(home.path(), &["engines"]);
    assert!(output.status.success());
    for word in ["innodb", "myrocks", "soliddb_durability_level=1/3/2*", "tokudb", "tested on"] {
        assert!(stdout(&output).contains(word), "{word}: {}", text(&output));
    }
    let output = run(home.path(), &["engines", "--toml"]);
    let parsed: toml::Table = stdout(&output).parse().unwrap();
    assert!(parsed.contains_key("rocksdb"));
    for family in BOTH {
        let Some(socket) = shared(family) else { return };
        let output = run(home.path(), &["engines", "--target", &target(&socket)]);
        assert!(output.status.success(), "{}", text(&output));
        let line = |word: &str| stdout(&output).lines().find(|line| line.starts_with(word)).unwrap().to_owned();
        assert!(line("innodb").contains("yes"));
        assert!(line("tokudb").contains("no") && line("tokudb").contains("ha_tokudb"), "{}", line("tokudb"));
        assert!(line("csv").contains("AUTO_INCREMENT"));
    }
    let output = run(home.path(), &["engines", "--target", "sqlite"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
}

#[test]
fn hourly_limits_of_an_account_are_known_before_the_start_and_named_when_they_strike() {
    for family in BOTH {
        let Some(server) = OwnServer::start(family, &[]) else { return };
        execute(&server, &["CREATE USER u@localhost", "GRANT ALL ON test.* TO u@localhost"]);
        let home = home();
        let url = user_target(&server.socket, "u");
        let load = |limits: &str, more: &[&str]| {
            execute(&server, &[&format!("ALTER USER u@localhost WITH {limits}"), "FLUSH USER_RESOURCES"]);
            let _ = std::fs::remove_dir_all(home.path().join("out"));
            let output = run_small(home.path(), &url, more);
            (record(&home.path().join("out")), text(&output))
        };
        let none = "MAX_QUERIES_PER_HOUR 0 MAX_UPDATES_PER_HOUR 0 MAX_CONNECTIONS_PER_HOUR 0";
        for (limit, name, helps) in [
            ("MAX_QUERIES_PER_HOUR 150", "max_queries_per_hour=150", "--statement-rows"),
            ("MAX_UPDATES_PER_HOUR 150", "max_updates_per_hour=150", "--statement-rows"),
            ("MAX_CONNECTIONS_PER_HOUR 5", "max_connections_per_hour=5", "another account"),
        ] {
            let why = skip_reason(&load(&format!("{none} {limit}"), &["--statement-rows", "10"]).0, 0);
            assert!(why.contains(name) && why.contains(helps) && why.contains("at least"), "{why}");
        }
        // Known and enough: said, and run.
        let (enough, said) = load(&format!("{none} MAX_QUERIES_PER_HOUR 5000"), &["--statement-rows", "100"]);
        assert_eq!(enough.curves[0].outcome, Outcome::Completed, "{said}");
        assert!(enough.curves[0].notes.iter().any(|note| note.contains("20 of the 5,000 statements")), "{said}");
        // Lowered while the load goes on, so that it strikes in the middle.
        execute(&server, &[&format!("ALTER USER u@localhost WITH {none}"), "FLUSH USER_RESOURCES"]);
        let _ = std::fs::remove_dir_all(home.path().join("out"));
        let mut child = long_run(home.path(), &url, &["--statement-rows", "100"]);
        execute(&server, &["ALTER USER u@localhost WITH MAX_QUERIES_PER_HOUR 100"]);
        // A session keeps the limit that it logged in with; the next ones have the new one.
        let mut conn = server.connect();
        let ids: Vec<u64> = conn.query("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'u'").unwrap();
        ids.iter().for_each(|id| drop(conn.query_drop(format!("KILL {id}"))));
        child.wait().unwrap();
        let said = format!("{:?}", record(&home.path().join("out")).curves[0].outcome);
        let resource = if family == Family::MariaDb { "max_queries_per_hour" } else { "max_questions" };
        assert!(said.contains(resource) && said.contains("fewer and larger statements"), "{said}");
    }
}

#[test]
fn prepared_statements_that_a_server_does_not_keep_are_known_before_the_start_and_named_when_they_strike() {
    for family in BOTH {
        let Some(server) = OwnServer::start(family, &[]) else { return };
        let home = home();
        let load = |limit: u32, more: &[&str]| {
            execute(&server, &[&format!("SET GLOBAL max_prepared_stmt_count={limit}")]);
            let _ = std::fs::remove_dir_all(home.path().join("out"));
            let output = run_small(home.path(), &server.target(), more);
            (record(&home.path().join("out")), text(&output))
        };
        for (limit, connections) in [(0, "1"), (1, "2"), (7, "8")] {
            let (record, said) = load(limit, &["--method", "prepared", "--connections", connections]);
            assert!(matches!(record.curves[0].outcome, Outcome::Skipped { environment: true, .. }), "{said}");
            let why = skip_reason(&record, 0);
            assert!(
                why.contains(&format!("max_prepared_stmt_count={limit}")) && why.contains("--method insert"),
                "{why}"
            );
        }
        // Exactly as many as are needed.
        let (enough, said) = load(2, &["--method", "prepared", "--connections", "2"]);
        assert_eq!(enough.curves[0].outcome, Outcome::Completed, "{said}");
        // Another session has one of two.
        let mut other = server.connect();
        let _held = other.prep("SELECT 1").unwrap();
        let why = skip_reason(&load(2, &["--method", "prepared", "--connections", "2"]).0, 0);
        assert!(why.contains("of which 1 are in use"), "{why}");
        let (insert, said) = load(2, &["--method", "insert", "--connections", "2"]);
        assert_eq!(insert.curves[0].outcome, Outcome::Completed, "{said}");
    }
}

#[test]
fn another_session_that_takes_the_last_prepared_statement_is_named() {
    for family in BOTH {
        let Some(server) = OwnServer::start(family, &[]) else { return };
        let home = home();
        execute(&server, &["SET GLOBAL max_prepared_stmt_count=2"]);
        // The load has one of the two. The other is for the probe after the fortieth batch, and gone by then.
        let words = ["--method", "prepared", "--probe", "select-pk", "--probe-every", "40", "--probe-connections", "1"];
        let mut child = long_run(home.path(), &server.target(), &[&words[..], &["--probe-ops", "5"]].concat());
        let mut other = server.connect();
        let held: Vec<_> = (0..2).filter_map(|number| other.prep(format!("SELECT {number}")).ok()).collect();
        assert!(!held.is_empty());
        let deadline = Instant::now() + Duration::from_secs(60);
        while child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "it goes on without its statement");
            std::thread::sleep(Duration::from_millis(20));
        }
        let said = format!("{:?}", record(&home.path().join("out")).curves[0].outcome);
        assert!(said.contains("1461") || said.contains("max_prepared_stmt_count"), "{said}");
        assert!(said.contains("raise max_prepared_stmt_count at the server"), "{said}");
    }
}

/// A certificate for this machine and its key; `None` with a line where there is no openssl.
fn certificate(directory: &Path) -> Option<(String, String)> {
    let (cert, key) =
        (directory.join("cert.pem").display().to_string(), directory.join("key.pem").display().to_string());
    let names = "subjectAltName=DNS:localhost,IP:127.0.0.1";
    let words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"];
    let made = Command::new("openssl")
        .args(words)
        .args(["-addext", names, "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", &key, "-out", &cert])
        .stderr(Stdio::null())
        .status();
    match made {
        Ok(status) if status.success() => Some((cert, key)),
        other => {
            eprintln!("left out: no certificate could be made with openssl ({other:?})");
            None
        }
    }
}

#[test]
fn every_method_loads_over_tcp_with_tls() {
    for family in BOTH {
        let home = home();
        let Some((cert, key)) = certificate(home.path()) else { return };
        let (with_cert, with_key) = (format!("--ssl-cert={cert}"), format!("--ssl-key={key}"));
        let Some((server, port)) = tcp_server(family, &[&with_cert, &with_key]) else { return };
        // The server itself sees to it that no connection goes without.
        let create = "CREATE USER me@'%' IDENTIFIED BY 'pw' REQUIRE SSL";
        execute(&server, &[create, "GRANT ALL ON test.* TO me@'%'"]);
        let url = format!("mysql://me:pw@localhost:{port}/test");
        let methods = ["--method", "insert,prepared,bulk,load-data", "--key", "uuid4", "--connections", "3"];
        let probes = ["--probe", "select-pk", "--probe-ops", "20", "--keep"];
        for tls in [&[][..], &["--ssl-mode", "required"], &["--ssl-mode", "verify-ca", "--ssl-ca", &cert]] {
            let _ = std::fs::remove_dir_all(home.path().join("out"));
            let output = run_small(home.path(), &url, &[&methods[..], &probes, tls].concat());
            assert!(output.status.success(), "{tls:?}: {}", text(&output));
            let record = record(&home.path().join("out"));
            let notes = record.targets.values().next().unwrap().notes.join("\n");
            assert!(notes.contains("connections are encrypted (TLS_"), "{notes}");
            let mut conn = server.connect();
            let mut sums = std::collections::BTreeMap::new();
            for curve in &record.curves {
                if curve.method == "bulk" && family == Family::MySql {
                    assert!(
                        matches!(curve.outcome, Outcome::Skipped { environment: false, .. }),
                        "{:?}",
                        curve.outcome
                    );
                    continue;
                }
                assert_eq!(curve.outcome, Outcome::Completed, "{}", curve.curve);
                let table = curve.table.as_ref().unwrap();
                let sum: (u64, u64) = conn
                    .query_first(format!(
                        "SELECT COUNT(*), CAST(SUM(CRC32(CONCAT_WS(',', id2, IFNULL(id3, 'null'), mail))) AS UNSIGNED) FROM {table}"
                    ))
                    .unwrap()
                    .unwrap();
                assert_eq!(*sums.entry(curve.key.clone()).or_insert(sum), sum, "{}", curve.curve);
                conn.query_drop(format!("DROP TABLE {table}")).unwrap();
            }
        }
        if family == Family::MariaDb {
            let _ = std::fs::remove_dir_all(home.path().join("out"));
            let name = ["--ssl-mode", "verify-identity", "--ssl-ca", &cert, "--method", "insert,bulk"];
            let output = run_small(home.path(), &url, &name);
            let record = record(&home.path().join("out"));
            assert_eq!(record.curves[0].outcome, Outcome::Completed, "{}", text(&output));
            let why = skip_reason(&record, 1);
            assert!(why.contains("--ssl-mode verify-ca") && why.contains("verify-identity"), "{why}");
        }
    }
}

#[test]
fn a_bulk_load_over_tls_is_taken_back_and_ended_as_any_other() {
    let home = home();
    let Some((cert, key)) = certificate(home.path()) else { return };
    let (with_cert, with_key) = (format!("--ssl-cert={cert}"), format!("--ssl-key={key}"));
    let Some((server, port)) = tcp_server(Family::MariaDb, &[&with_cert, &with_key]) else { return };
    execute(&server, &["CREATE USER me@'%' IDENTIFIED BY 'pw' REQUIRE SSL", "GRANT ALL ON test.* TO me@'%'"]);
    let url = format!("mysql://me:pw@127.0.0.1:{port}/test");
    let mut child = long_run(home.path(), &url, &["--method", "bulk"]);
    let batches = || std::fs::read_to_string(home.path().join("out/batches.csv")).unwrap().lines().count();
    let mut conn = server.connect();
    let loading = "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'me' AND INFO LIKE 'INSERT%' LIMIT 1";
    let deadline = Instant::now() + Duration::from_secs(60);
    let id = loop {
        assert!(Instant::now() < deadline, "no statement was seen");
        if let Some(id) = conn.query_first::<u64, _>(loading).unwrap() {
            break id;
        }
    };
    conn.query_drop(format!("KILL {id}")).unwrap();
    let before = batches();
    while batches() < before + 3 {
        assert!(Instant::now() < deadline, "it does not go on");
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let record = record(&home.path().join("out"));
    assert_eq!(record.curves[0].outcome, Outcome::Interrupted);
    let table = record.curves[0].table.as_ref().unwrap();
    let count: u64 = conn.query_first(format!("SELECT COUNT(*) FROM {table}")).unwrap().unwrap();
    // Whole batches, and what was accepted of the one that was ended.
    let boundary = record.curves[0].table_rows;
    assert!((boundary..=boundary + 5000).contains(&count), "{count} rows, {boundary} recorded");
}

#[test]
fn resume_is_not_recommended_where_the_same_rows_would_end_it_again() {
    // At a few values in the middle, where no trial looks.
    let all_but_one: Vec<String> = (0..800).filter(|&value| value != 469).map(|value: u32| value.to_string()).collect();
    let hole = format!(
        "KEY (id)) {{options}} PARTITION BY LIST (v DIV 5) (PARTITION p0 VALUES IN ({}))",
        all_but_one.join(",")
    );
    let tables = [
        ("g TINYINT AS (IF(v = 1777, 500, 1)) STORED, PRIMARY KEY (id)) {options}", "1264"),
        (&hole, "1526"),
        ("PRIMARY KEY (id), CHECK (v <> 2222)) {options}", "2222"),
    ];
    for family in BOTH {
        let Some(server) = OwnServer::start(family, &[]) else { return };
        for (table, named) in tables {
            let home = home();
            let schema = format!("CREATE TABLE {{table}} (id BIGINT AUTO_INCREMENT, v INT NOT NULL, {table}");
            std::fs::write(home.path().join("t.sql"), schema).unwrap();
            let target = server.target();
            let words = ["run", "--target", &target, "--out", "r", "--key", "autoinc", "--schema", "t.sql", "--quiet"];
            let sizes = ["--rows", "4k", "--batch-rows", "500", "--connections", "2", "--fill", "v=ascending"];
            let output = run(home.path(), &[&words[..], &sizes].concat());
            assert_eq!(output.status.code(), Some(1), "{table}: {}", text(&output));
            let curve = record(&home.path().join("r")).curves.remove(0);
            let Outcome::Failed { code, message } = &curve.outcome else { panic!("{table}: {:?}", curve.outcome) };
            assert!(message.contains(named) || *code == named.parse().ok(), "{code:?} {message}");
            assert!(curve.batches > 0, "{table}");
            crate::support::assert_cannot_go_on(home.path(), &stderr(&output), "it would end at the same place");
            assert!(run(home.path(), &["clean", "r"]).status.success());
        }
    }
}

#[test]
fn resume_is_recommended_once_where_rows_that_were_acknowledged_are_gone() {
    let Some(server) = OwnServer::start(Family::MariaDb, &[]) else { return };
    let home = home();
    let words = ["run", "--out", "r", "--key", "autoinc", "--rows", "200k", "--batch-rows", "5k", "--connections", "1"];
    let target = server.target();
    let child = rowcliff(home.path())
        .args(words)
        .args(["--target", &target, "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut conn = server.connect();
    let deadline = Instant::now() + Duration::from_secs(60);
    while std::fs::read_to_string(home.path().join("r/batches.csv")).map_or(0, |text| text.lines().count()) < 5 {
        assert!(Instant::now() < deadline, "no batch within a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
    let table: String = conn.query_first("SHOW TABLES LIKE 'rowcliff%'").unwrap().unwrap();
    conn.query_drop(format!("DELETE FROM {table} WHERE id <= 5000")).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = stderr(&output);
    assert!(said.contains("rowcliff resume") && !said.contains("cannot be gone on with"), "{said}");
    // The batches after the rows are whole, so that going on finds the same. Now it is called that.
    let again = run(home.path(), &["resume", "r", "--quiet"]);
    assert_eq!(again.status.code(), Some(1), "{}", text(&again));
    crate::support::assert_cannot_go_on(home.path(), &stderr(&again), "does not hold what was sent");
}
