//! The private servers that `tests/run.sh` starts, and servers of a test's own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

/// A family of servers under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    MariaDb,
    MySql,
}

impl Family {
    pub fn word(self) -> &'static str {
        match self {
            Self::MariaDb => "mariadb",
            Self::MySql => "mysql",
        }
    }

    fn variable(self, what: &str) -> String {
        match (self, what) {
            (Self::MariaDb, "socket") => "ROWCLIFF_TEST_MARIADB_SOCKET".into(),
            (Self::MySql, "socket") => "ROWCLIFF_TEST_MYSQL_SOCKET".into(),
            (Self::MariaDb, _) => "ROWCLIFF_TEST_MARIADBD".into(),
            (Self::MySql, _) => "ROWCLIFF_TEST_MYSQLD".into(),
        }
    }
}

/// A value of `tests/run.sh`, or `None` with a line that says what is left out. Where the script promised the server,
/// its absence is a failure.
fn promised(family: Family, what: &str) -> Option<PathBuf> {
    let name = family.variable(what);
    if let Some(value) = std::env::var_os(&name).filter(|value| !value.is_empty()) {
        return Some(value.into());
    }
    let required = std::env::var("ROWCLIFF_TEST_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|word| word == family.word()),
        "{name} is not set, and {} is required",
        family.word()
    );
    // Past the capture of the test harness, which would swallow it.
    let _ = writeln!(std::io::stderr(), "left out: no {} server ({name} is not set; run tests/run.sh)", family.word());
    None
}

/// The socket of the shared server.
pub fn shared(family: Family) -> Option<PathBuf> {
    promised(family, "socket")
}

/// The server binary.
pub fn binary(family: Family) -> Option<PathBuf> {
    promised(family, "binary")
}

/// A connection as root.
pub fn connect(socket: &Path) -> Conn {
    let options =
        OptsBuilder::new().user(Some("root")).socket(Some(socket.display().to_string())).db_name(Some("test"));
    Conn::new(options).expect("the test server answers")
}

/// The target of a socket.
pub fn target(socket: &Path) -> String {
    format!("mysql://root@localhost/test?socket={}", socket.display())
}

/// A global variable, as text.
pub fn global(conn: &mut Conn, name: &str) -> String {
    let row: Option<(String, String)> = conn.query_first(format!("SHOW GLOBAL VARIABLES LIKE '{name}'")).unwrap();
    row.map(|(_, value)| value).unwrap_or_default()
}

/// A server that one test owns: for settings, stops and kills that would disturb others.
pub struct OwnServer {
    pub socket: PathBuf,
    pub data: PathBuf,
    family: Family,
    child: Child,
    // Removed last.
    directory: tempfile::TempDir,
}

impl OwnServer {
    /// Initialises a data directory and starts a server on it.
    pub fn start(family: Family, options: &[&str]) -> Option<Self> {
        Self::start_in(family, Path::new("/tmp"), options)
    }

    /// The same with its data below `base`.
    pub fn start_in(family: Family, base: &Path, options: &[&str]) -> Option<Self> {
        let binary = binary(family)?;
        let directory = tempfile::Builder::new().prefix("rc").tempdir_in(base).unwrap();
        let data = directory.path().join("d");
        let socket = directory.path().join("s");
        let init = directory.path().join("init.sql");
        std::fs::write(&init, "CREATE DATABASE IF NOT EXISTS test;\n").unwrap();
        let initialised = match family {
            // Temporary tables bear the process id, which servers in other containers on the same /tmp may have too.
            Family::MariaDb => Command::new("mariadb-install-db")
                .env("TMPDIR", directory.path())
                .args(["--no-defaults", "--user=root", "--auth-root-authentication-method=normal", "--skip-test-db"])
                .arg(format!("--datadir={}", data.display()))
                .arg(format!("--tmpdir={}", directory.path().display()))
                // What is written now already.
                .args(options.iter().filter(|option| option.contains("log-file-size")))
                .output(),
            Family::MySql => Command::new(&binary)
                .args(["--no-defaults", "--initialize-insecure", "--user=root"])
                .arg(format!("--datadir={}", data.display()))
                .output(),
        }
        .expect("the initialiser starts");
        assert!(initialised.status.success(), "{}", String::from_utf8_lossy(&initialised.stderr));
        let child = launch(family, &binary, directory.path(), options);
        let server = Self { socket, data, family, child, directory };
        server.wait();
        Some(server)
    }

    /// Ends it without ceremony and starts it again on its data, with other options.
    pub fn restart(self, options: &[&str]) -> Self {
        self.restart_with(options, || {})
    }

    /// The same, with something to be done while it is down.
    pub fn restart_with(mut self, options: &[&str], while_down: impl FnOnce()) -> Self {
        let _ = self.child.kill();
        let _ = self.child.wait();
        while_down();
        let binary = binary(self.family).expect("it was there before");
        self.child = launch(self.family, &binary, self.directory.path(), options);
        self.wait();
        self
    }

    fn wait(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let options = OptsBuilder::new()
                .user(Some("root"))
                .socket(Some(self.socket.display().to_string()))
                .db_name(Some("test"));
            if Conn::new(options).is_ok() {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "the server did not start:\n{}",
                std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// A connection as root.
    pub fn connect(&self) -> Conn {
        connect(&self.socket)
    }

    /// Its target.
    pub fn target(&self) -> String {
        target(&self.socket)
    }
}

/// Starts a server on the data in `directory`.
fn launch(family: Family, binary: &Path, directory: &Path, options: &[&str]) -> Child {
    let mut command = Command::new(binary);
    command.args(["--no-defaults", "--user=root", "--local-infile=1"]);
    // A tmpdir of its own: MariaDB removes what looks like its own temporary tables there when it starts, and would take
    // those of its neighbours.
    for (name, file) in
        [("datadir", "d"), ("tmpdir", ""), ("socket", "s"), ("log-error", "log"), ("init-file", "init.sql")]
    {
        command.arg(format!("--{name}={}", directory.join(file).display()));
    }
    if !options.iter().any(|option| option.starts_with("--log-bin")) {
        command.arg("--skip-log-bin");
    }
    if !options.iter().any(|option| option.starts_with("--port")) {
        command.arg("--skip-networking");
    }
    if family == Family::MySql {
        command.args(["--mysqlx=OFF", "--secure-file-priv=NULL"]);
    }
    command.args(options).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // Nothing in it is worth an orderly end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
