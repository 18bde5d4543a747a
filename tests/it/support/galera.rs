//! A Galera cluster of two nodes on loopback, each with everything of its own in a private folder.

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use super::servers::{Family, binary};

/// How long two nodes may take to find each other and to copy an empty database.
const SYNC_LIMIT: Duration = Duration::from_secs(90);

/// Galera's library, where `tests/run.sh` found or installed it with what a state transfer needs; otherwise `None` with a line
/// that says what is left out. Where the script promised it, its absence is a failure.
fn provider() -> Option<PathBuf> {
    if let Some(value) = std::env::var_os("ROWCLIFF_TEST_GALERA").filter(|value| !value.is_empty()) {
        return Some(value.into());
    }
    let required = std::env::var("ROWCLIFF_TEST_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|word| word == "galera"),
        "ROWCLIFF_TEST_GALERA is not set, and galera is required"
    );
    let _ = writeln!(std::io::stderr(), "left out: no Galera (ROWCLIFF_TEST_GALERA is not set; run tests/run.sh)");
    None
}

/// Ports that were free a moment ago, no two the same.
fn free_ports<const N: usize>() -> [u16; N] {
    let held = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|listener| listener.local_addr().unwrap().port())
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim() == "0"
}

/// One node. Killed when it is dropped, also when a test panics.
pub struct Node {
    pub port: u16,
    pub socket: PathBuf,
    log: PathBuf,
    child: Child,
}

impl Node {
    /// A connection as root.
    pub fn connect(&self) -> Conn {
        self.try_connect().expect("the node answers")
    }

    fn try_connect(&self) -> mysql::Result<Conn> {
        let socket = self.socket.display().to_string();
        Conn::new(OptsBuilder::new().user(Some("root")).socket(Some(socket)).db_name(Some("test")))
    }

    /// As a node of a machine that loses its power.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// It is there and does nothing any more.
    pub fn stop(&self) {
        let stopped = Command::new("kill").args(["-STOP", &self.child.id().to_string()]).status().unwrap();
        assert!(stopped.success());
    }

    /// A status value, empty where it cannot be had.
    pub fn status(&self, name: &str) -> String {
        let Ok(mut conn) = self.try_connect() else { return String::new() };
        let row: Option<(String, String)> =
            conn.query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'")).ok().flatten();
        row.map(|(_, value)| value).unwrap_or_default()
    }

    fn await_synced(&mut self, size: &str) {
        let deadline = Instant::now() + SYNC_LIMIT;
        while self.status("wsrep_local_state") != "4" || self.status("wsrep_cluster_size") != size {
            let ended = self.child.try_wait().unwrap();
            assert!(
                ended.is_none() && Instant::now() < deadline,
                "a node is not synced ({ended:?}):\n{}",
                std::fs::read_to_string(&self.log).unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Two nodes that are one cluster. The first one weighs more, so that it goes on without the second.
pub struct Galera {
    pub nodes: [Node; 2],
    // Removed last.
    _directory: tempfile::TempDir,
}

impl Galera {
    /// Starts both, with `options` each.
    pub fn start(options: &[&str]) -> Option<Self> {
        let (provider, server) = (provider()?, binary(Family::MariaDb)?);
        let directory = tempfile::Builder::new().prefix("rc").tempdir_in("/tmp").unwrap();
        let ports: [u16; 8] = free_ports();
        let [one, two]: [[u16; 4]; 2] = [ports[..4].try_into().unwrap(), ports[4..].try_into().unwrap()];
        let start = |name: &str, ports: [u16; 4], weight: u32, peer: String| {
            launch(&server, &provider, &directory.path().join(name), ports, weight, &peer, options)
        };
        // As root the nodes run as another user: the state transfer's own daemon would drop to nobody.
        for name in ["a", "b"] {
            prepare(&directory.path().join(name));
        }
        if is_root() {
            let owned = Command::new("chown").args(["-R", "mysql"]).arg(directory.path()).status().unwrap();
            assert!(owned.success());
        }
        let mut first = start("a", one, 2, String::new());
        first.await_synced("1");
        let mut second = start("b", two, 1, format!("127.0.0.1:{}", one[1]));
        second.await_synced("2");
        first.await_synced("2");
        Some(Self { nodes: [first, second], _directory: directory })
    }

    /// Both endpoints, over TCP.
    pub fn target(&self) -> String {
        let [one, two] = &self.nodes;
        format!("mysql://root@127.0.0.1:{},127.0.0.1:{}/test", one.port, two.port)
    }

    /// Both endpoints, over their sockets.
    pub fn socket_target(&self) -> String {
        let [one, two] = &self.nodes;
        format!("mysql://root@localhost/test?socket={},{}", one.socket.display(), two.socket.display())
    }
}

fn prepare(directory: &Path) {
    std::fs::create_dir(directory).unwrap();
    std::fs::write(directory.join("init.sql"), "CREATE DATABASE IF NOT EXISTS test;\n").unwrap();
    let output = Command::new("mariadb-install-db")
        .env("TMPDIR", directory)
        .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
        .arg(format!("--datadir={}", directory.join("d").display()))
        .arg(format!("--tmpdir={}", directory.display()))
        .output()
        .expect("mariadb-install-db starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// `ports`: of the server, of the group, of incremental and of whole state transfers.
fn launch(
    server: &Path,
    provider: &Path,
    directory: &Path,
    ports: [u16; 4],
    weight: u32,
    peer: &str,
    options: &[&str],
) -> Node {
    let [port, group, incremental, whole] = ports;
    let (socket, log) = (directory.join("s"), directory.join("log.err"));
    let mut command = Command::new(server);
    command.args([
        "--no-defaults",
        "--bind-address=127.0.0.1",
        "--local-infile=1",
        "--innodb-flush-log-at-trx-commit=0",
    ]);
    if is_root() {
        command.arg("--user=mysql");
    }
    for (name, file) in
        [("datadir", "d"), ("tmpdir", ""), ("socket", "s"), ("log-error", "log.err"), ("init-file", "init.sql")]
    {
        command.arg(format!("--{name}={}", directory.join(file).display()));
    }
    command.args(["--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--wsrep-on=ON", "--wsrep-sst-method=rsync"]);
    command.args([
        format!("--port={port}"),
        format!("--wsrep-provider={}", provider.display()),
        format!("--wsrep-cluster-name={}", directory.parent().unwrap().file_name().unwrap().to_string_lossy()),
        format!("--wsrep-cluster-address=gcomm://{peer}"),
        format!("--wsrep-node-address=127.0.0.1:{group}"),
        format!("--wsrep-sst-receive-address=127.0.0.1:{whole}"),
        format!(
            "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{group};ist.recv_addr=127.0.0.1:{incremental};\
             pc.weight={weight};gcache.size=32M"
        ),
    ]);
    let child = command
        .args(options)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Node { port, socket, log, child }
}
