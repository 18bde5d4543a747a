//! The control connection of a target: everything but the loading goes over it, and nothing on it waits for long.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use mysql::prelude::{FromRow, Queryable};
use mysql::{Conn, Row};

use super::connect::{Access, CONNECT_LIMIT, prepare_session, speak_utf8};
use super::errors::failure;
use super::socket::SocketHandle;
use super::variables;
use crate::targets::{Failure, FailureKind};

/// Limit of a usual call.
const USUAL: Duration = Duration::from_secs(5);
/// Limit of KILL: a server that does not answer it is left by closing the sockets.
const BRIEF: Duration = Duration::from_secs(2);
/// How long a control connection that got no answer is not tried again: whoever ends a run has ten seconds for all of it.
const SILENCE: Duration = Duration::from_secs(3);
/// Limit of DDL and of settings, which may have to wait for a busy disk.
const PATIENT: Duration = Duration::from_secs(60);
/// How long a connection may be unused before it is asked for a sign of life: what stands between may cut one that is idle.
pub const IDLE: Duration = Duration::from_millis(500);
/// How long it may take to give it.
pub const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// The server's own limit for the metadata lock of DDL, in seconds: an idle session that read the table must not
/// hold us for the default of a day or a year.
pub const LOCK_WAIT_SECONDS: u32 = 10;

/// Which family of servers it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    MariaDb,
    /// MySQL and what calls itself so.
    MySql,
}

impl Flavour {
    /// As recorded.
    pub fn word(self) -> &'static str {
        match self {
            Self::MariaDb => "mariadb",
            Self::MySql => "mysql",
        }
    }
}

/// What is done on a connection that takes the place of a lost one, whose number it is given, before anything else is.
#[derive(Clone)]
pub struct Reopened(pub Arc<First>);

/// What is done first, given the number of the connection before.
type First = dyn Fn(&mut Control, u32) -> Result<(), Failure> + Send + Sync;

impl std::fmt::Debug for Reopened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reopened")
    }
}

#[derive(Debug)]
pub struct Control {
    access: Access,
    /// Where else it may go when its server is gone: the other endpoints of a cluster.
    elsewhere: Vec<Access>,
    conn: Conn,
    socket: Arc<SocketHandle>,
    /// When it was used last.
    used: Instant,
    /// Set when it was lost: it is opened again before the next use.
    broken: bool,
    /// Since when the server has not answered, if it was lost by that. A connection that was closed is opened again at
    /// once: the server is there, and what was changed on it is to be put back.
    silent: Option<Instant>,
    /// What a new connection does first.
    reopened: Option<Reopened>,
    /// Why nothing is asked here any more.
    given_up: Option<Failure>,
    pub flavour: Flavour,
    /// Version as the server prints it.
    pub version: String,
}

/// The control connection as it is shared between target, table and cancellers.
pub type SharedControl = Arc<Mutex<Control>>;

/// Locks the control connection unless another thread goes on using it: for whoever is in a hurry.
pub fn lock_soon(control: &SharedControl) -> Option<MutexGuard<'_, Control>> {
    const TRIES: u32 = 20;
    for _ in 0..TRIES {
        match control.try_lock() {
            Ok(control) => return Some(control),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    None
}

/// Locks the control connection, whatever became of the thread that held it last.
pub fn lock(control: &SharedControl) -> MutexGuard<'_, Control> {
    control.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Control {
    /// Opens it.
    ///
    /// # Errors
    /// See [`Access::connect`].
    pub fn open(access: Access) -> Result<Self, Failure> {
        let (access, elsewhere, conn, socket) = open_first(access.endpoints(), CONNECT_LIMIT)?;
        let (broken, silent, flavour, version) = (false, None, Flavour::MySql, String::new());
        let (used, reopened, given_up) = (Instant::now(), None, None);
        let mut control =
            Self { access, elsewhere, conn, socket, used, broken, silent, reopened, given_up, flavour, version };
        control.version = control.first::<String>("SELECT VERSION()")?.unwrap_or_default();
        let comment = control.first::<String>("SELECT @@version_comment")?.unwrap_or_default();
        let all = format!("{} {comment}", control.version).to_ascii_lowercase();
        if all.contains("mariadb") {
            control.flavour = Flavour::MariaDb;
        }
        Ok(control)
    }

    /// How to log in as it does.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// How many other endpoints it may go to.
    pub fn endpoints_elsewhere(&self) -> u64 {
        self.elsewhere.len() as u64
    }

    /// Its own connection id.
    pub fn id(&self) -> u32 {
        self.conn.connection_id()
    }

    /// The process at the other end of a Unix socket, as the kernel names it.
    pub fn peer_process(&self) -> Option<u32> {
        self.access.place.socket.as_ref()?;
        self.socket.peer_process()
    }

    fn call<T>(&mut self, limit: Duration, call: impl FnOnce(&mut Conn) -> mysql::Result<T>) -> Result<T, Failure> {
        self.access.leash.allow()?;
        if let Some(why) = &self.given_up {
            return Err(why.clone());
        }
        if !self.broken && self.used.elapsed() > IDLE {
            self.look(limit.min(SIGN_OF_LIFE));
        }
        if self.broken {
            let hurried = self.access.leash.is_hurried();
            if self.silent.is_some_and(|since| hurried || since.elapsed() < SILENCE) {
                return Err(Failure {
                    kind: FailureKind::Lost,
                    code: None,
                    message: "the server did not answer a moment ago".into(),
                });
            }
            self.reopen(CONNECT_LIMIT).inspect_err(|_| self.silent = Some(Instant::now()))?;
        }
        let limit = self.access.leash.limit(limit);
        self.socket.set_timeout(Some(limit));
        let asked = Instant::now();
        let result = call(&mut self.conn).map_err(failure);
        self.used = Instant::now();
        match result {
            Err(failure) if failure.kind == FailureKind::Lost => {
                // A driver that lost its place in the conversation cannot go on, even if the server can.
                self.broken = true;
                self.silent = (asked.elapsed() >= limit.mul_f64(0.9)).then(Instant::now);
                self.socket.shutdown();
                // Freed by whoever holds the leash: the server is not to blame.
                self.access.leash.allow()?;
                Err(failure)
            }
            other => other,
        }
    }

    /// Asks a connection that was idle for a sign of life: one that was cut meanwhile is opened again without anybody noticing.
    fn look(&mut self, limit: Duration) {
        let limit = self.access.leash.limit(limit);
        self.socket.set_timeout(Some(limit));
        let asked = Instant::now();
        if self.conn.ping().is_err() {
            self.broken = true;
            self.silent = (asked.elapsed() >= limit.mul_f64(0.9)).then(Instant::now);
            self.socket.shutdown();
        }
        self.used = Instant::now();
    }

    /// Has a connection that takes its place do something before anything else.
    pub fn when_reopened(&mut self, reopened: Reopened) {
        self.reopened = Some(reopened);
    }

    /// Opens it again, of a cluster at the first endpoint that answers.
    fn reopen(&mut self, limit: Duration) -> Result<(), Failure> {
        let before = self.id();
        let all = std::iter::once(&self.access).chain(&self.elsewhere).cloned().collect();
        let (access, elsewhere, conn, socket) = open_first(all, limit)?;
        (self.access, self.elsewhere, self.conn, self.socket) = (access, elsewhere, conn, socket);
        (self.broken, self.silent, self.used) = (false, None, Instant::now());
        if let Some(Reopened(first)) = self.reopened.clone() {
            first(self, before).inspect_err(|why| {
                if why.kind == FailureKind::Fatal {
                    self.given_up = Some(why.clone());
                }
            })?;
        }
        Ok(())
    }

    /// Uses only these endpoints from now on: where it is at another one it moves with its next use.
    pub fn stay_at(&mut self, endpoints: Vec<Access>) {
        let mut endpoints = endpoints;
        if let Some(here) = endpoints.iter().position(|access| access.place == self.access.place) {
            endpoints.remove(here);
        } else if !endpoints.is_empty() {
            self.access = endpoints.remove(0);
            (self.broken, self.silent) = (true, None);
            self.socket.shutdown();
        }
        self.elsewhere = endpoints;
    }

    /// Tries the server again with the next use even if it was silent a moment ago: for what must not be left undone.
    pub fn insist(&mut self) {
        self.silent = None;
    }

    /// Runs a statement without a result.
    ///
    /// # Errors
    /// What the server said.
    pub fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        self.call(USUAL, |conn| conn.query_drop(sql))
    }

    /// Runs DDL or a setting, which may take longer.
    ///
    /// # Errors
    /// What the server said; a metadata lock names the session that holds it, where that can be seen.
    pub fn execute_patiently(&mut self, sql: &str) -> Result<(), Failure> {
        self.call(PATIENT, |conn| conn.query_drop(sql))
    }

    /// The first column of the first row.
    ///
    /// # Errors
    /// What the server said.
    pub fn first<T: mysql::prelude::FromValue>(&mut self, sql: &str) -> Result<Option<T>, Failure> {
        let value: Option<mysql::Value> =
            self.call(USUAL, |conn| conn.query_first::<Row, _>(sql))?.and_then(|mut row| row.take(0));
        Ok(value.and_then(|value| mysql::from_value_opt::<Option<T>>(value).ok().flatten()))
    }

    /// All rows.
    ///
    /// # Errors
    /// What the server said.
    pub fn rows<T: FromRow>(&mut self, sql: &str) -> Result<Vec<T>, Failure> {
        self.call(USUAL, |conn| conn.query(sql))
    }

    /// All rows as maps from lower-case column names, for tables whose columns differ between versions.
    ///
    /// # Errors
    /// What the server said.
    pub fn named_rows(&mut self, sql: &str) -> Result<Vec<BTreeMap<String, Option<String>>>, Failure> {
        let rows: Vec<Row> = self.rows(sql)?;
        Ok(rows.into_iter().map(named).collect())
    }

    /// Global variables whose names are given, as far as the server has them.
    ///
    /// # Errors
    /// What the server said.
    pub fn variables<'a>(
        &mut self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<BTreeMap<String, String>, Failure> {
        let list: Vec<String> = names.into_iter().map(|name| format!("'{}'", escape(name))).collect();
        if list.is_empty() {
            return Ok(BTreeMap::new());
        }
        let rows: Vec<(String, String)> =
            self.rows(&format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})", list.join(",")))?;
        Ok(rows.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect())
    }

    /// Every global variable.
    ///
    /// # Errors
    /// What the server said.
    pub fn all_variables(&mut self) -> Result<BTreeMap<String, String>, Failure> {
        let rows: Vec<(String, Option<String>)> = self.rows("SHOW GLOBAL VARIABLES")?;
        Ok(rows.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value.unwrap_or_default())).collect())
    }

    /// One global variable.
    ///
    /// # Errors
    /// What the server said.
    pub fn variable(&mut self, name: &str) -> Result<Option<String>, Failure> {
        Ok(self.variables([name])?.remove(&name.to_ascii_lowercase()))
    }

    /// Whether what travels on this connection is encrypted, for the record. On a Unix socket nothing travels.
    pub fn encryption_note(&mut self) -> Option<String> {
        if self.access.place.socket.is_some() {
            return None;
        }
        let rows: Vec<(String, String)> = self.rows("SHOW SESSION STATUS LIKE 'Ssl_cipher'").ok()?;
        let cipher = rows.into_iter().next().map(|(_, cipher)| cipher).unwrap_or_default();
        Some(if cipher.is_empty() {
            "connections are not encrypted".into()
        } else {
            format!("connections are encrypted ({cipher}), which costs CPU time on both sides")
        })
    }

    /// Ends the running statement of a session. Errors mean that there is nothing left to end, or that the server does
    /// not answer; the caller closes the socket either way.
    pub fn kill(&mut self, id: u64) {
        if self.silent.is_some() {
            // The server was silent a moment ago: another five seconds for each session would be too many.
            return;
        }
        if self.broken && !self.elsewhere.is_empty() {
            // Opened again it may be at another server, where the number is somebody else's.
            return;
        }
        let _ = self.call(BRIEF, |conn| conn.query_drop(format!("KILL QUERY {id}")));
    }

    /// The sessions that this user may see. Not from the information schema, which makes a temporary table of them: on a full disk that
    /// waits too.
    ///
    /// # Errors
    /// What the server said.
    pub fn sessions(&mut self) -> Result<Vec<BTreeMap<String, Option<String>>>, Failure> {
        let rows: Vec<Row> = self.call(BRIEF, |conn| conn.query("SHOW FULL PROCESSLIST"))?;
        Ok(rows.into_iter().map(named).collect())
    }

    /// What a session is doing, in the server's own words.
    pub fn state_of(&mut self, id: u64) -> Option<String> {
        if self.broken {
            // Nobody who only wants to know waits for long.
            if self.silent.is_some_and(|since| since.elapsed() < SILENCE) {
                return None;
            }
            self.reopen(BRIEF).inspect_err(|_| self.silent = Some(Instant::now())).ok()?;
        }
        let sessions = self.sessions().ok()?;
        let row = sessions.iter().find(|row| word(row, "id") == id.to_string())?;
        Some(word(row, "state")).filter(|state| !state.is_empty())
    }

    /// Makes sure that it is open, where it was idle.
    ///
    /// # Errors
    /// The server gives no sign of life, or what has to be done on a new connection fails.
    pub fn wake(&mut self) -> Result<(), Failure> {
        self.call(SIGN_OF_LIFE, Conn::ping)
    }

    /// Whether the server answers a ping.
    pub fn ping(&mut self) -> bool {
        self.call(USUAL, Conn::ping).is_ok()
    }

    /// User, host and what it does, of another session, as far as this user may see it.
    pub fn session_words(&mut self, id: u32) -> Option<String> {
        let rows = self.named_rows("SHOW PROCESSLIST").ok()?;
        let row = rows.into_iter().find(|row| word(row, "id") == id.to_string())?;
        Some(format!(
            " (user {} from {}, {} for {} s)",
            word(&row, "user"),
            word(&row, "host"),
            word(&row, "command").to_lowercase(),
            word(&row, "time")
        ))
    }

    /// Who holds a metadata lock on a table, in words, as far as this user may see it: from the server's own list of these
    /// locks where it keeps one, else the sessions with an open transaction, else those that use the database.
    pub fn lock_holders(&mut self, database: &str, table: &str) -> Option<String> {
        let (schema, name) = (escape(database), escape(table));
        let lists = [
            format!(
                "SELECT DISTINCT t.PROCESSLIST_ID AS id FROM performance_schema.metadata_locks m \
                 JOIN performance_schema.threads t ON t.THREAD_ID = m.OWNER_THREAD_ID \
                 WHERE m.OBJECT_SCHEMA = '{schema}' AND m.OBJECT_NAME = '{name}' AND m.LOCK_STATUS = 'GRANTED'"
            ),
            // The plugin metadata_lock_info of MariaDB.
            format!(
                "SELECT DISTINCT THREAD_ID AS id FROM information_schema.METADATA_LOCK_INFO \
                 WHERE TABLE_SCHEMA = '{schema}' AND TABLE_NAME = '{name}'"
            ),
        ];
        for list in lists {
            let ids = self.other_sessions(&list);
            if !ids.is_empty() {
                return Some(format!("held by {}", self.sessions_words(&ids)));
            }
        }
        let open = self.other_sessions("SELECT trx_mysql_thread_id AS id FROM information_schema.INNODB_TRX");
        if !open.is_empty() {
            return Some(format!("probably held by {}, which has a transaction open", self.sessions_words(&open)));
        }
        let own = self.id().to_string();
        let rows = self.named_rows("SHOW PROCESSLIST").ok()?;
        let near: Vec<u32> = rows
            .iter()
            .filter(|row| word(row, "id") != own && word(row, "db") == database)
            .filter_map(|row| word(row, "id").parse().ok())
            .collect();
        if near.is_empty() {
            return Some("held by a session that this user may not see (the PROCESS privilege shows it)".into());
        }
        Some(format!("held by one of the sessions that use this database: {}", self.sessions_words(&near)))
    }

    fn other_sessions(&mut self, list: &str) -> Vec<u32> {
        let own = self.id();
        let rows = self.named_rows(list).unwrap_or_default();
        rows.iter().filter_map(|row| word(row, "id").parse().ok()).filter(|&id| id != own && id != 0).collect()
    }

    fn sessions_words(&mut self, ids: &[u32]) -> String {
        let words: Vec<String> =
            ids.iter().map(|&id| format!("session {id}{}", self.session_words(id).unwrap_or_default())).collect();
        words.join(", ")
    }
}

/// A counter of the server.
pub fn named_global_status(control: &mut Control, name: &str) -> Option<u64> {
    let rows: Vec<(String, String)> = control.rows(&format!("SHOW GLOBAL STATUS LIKE '{}'", escape(name))).ok()?;
    rows.first()?.1.parse().ok()
}

/// A cell of a named row; empty where it is absent or NULL.
pub fn word(row: &BTreeMap<String, Option<String>>, name: &str) -> String {
    row.get(name).cloned().flatten().unwrap_or_default()
}

/// Opens a connection at the first of these that answers. Gives it with the others.
fn open_first(
    mut list: Vec<Access>,
    limit: Duration,
) -> Result<(Access, Vec<Access>, Conn, Arc<SocketHandle>), Failure> {
    let mut refused = None;
    for at in 0..list.len() {
        match open_connection(&list[at], limit) {
            Ok((conn, socket)) => {
                let access = list.remove(at);
                return Ok((access, list, conn, socket));
            }
            Err(failure) => refused = refused.or(Some(failure)),
        }
    }
    Err(refused.unwrap_or_else(|| Failure::fatal("no endpoint is named")))
}

fn open_connection(access: &Access, limit: Duration) -> Result<(Conn, Arc<SocketHandle>), Failure> {
    let (mut conn, socket) = access.connect_within(limit)?;
    socket.set_timeout(Some(USUAL));
    if access.reads_only {
        variables::read_whole(&mut conn)?;
        return Ok((conn, socket));
    }
    prepare_session(&mut conn)?;
    // It names databases, tables and columns and reads their names, and no value of a row travels on it.
    speak_utf8(&mut conn)?;
    // Absent before 5.5: then DDL waits as long as that server does.
    let _ = conn.query_drop(format!("SET SESSION lock_wait_timeout={LOCK_WAIT_SECONDS}"));
    // MySQL shows sizes of tables from a cache that is up to a day old otherwise; others do not know the variable.
    let _ = conn.query_drop("SET SESSION information_schema_stats_expiry=0");
    Ok((conn, socket))
}

/// A row as a map from lower-case column names.
pub fn named(row: Row) -> BTreeMap<String, Option<String>> {
    let names: Vec<String> = row.columns_ref().iter().map(|column| column.name_str().to_ascii_lowercase()).collect();
    names.into_iter().zip(row.unwrap()).map(|(name, value)| (name, text(value))).collect()
}

fn text(value: mysql::Value) -> Option<String> {
    match value {
        mysql::Value::NULL => None,
        mysql::Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        mysql::Value::Int(number) => Some(number.to_string()),
        mysql::Value::UInt(number) => Some(number.to_string()),
        other => Some(other.as_sql(true).trim_matches('\'').to_owned()),
    }
}

/// Escapes a string for single quotes.
pub fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "''")
}

pub fn quote_identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
