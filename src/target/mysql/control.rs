//! The control connection of a target: everything but the loading goes over it, and nothing on it waits for long.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mysql::prelude::{FromRow, Queryable};
use mysql::{Conn, Row};

use super::connect::{Access, prepare_session};
use super::errors::failure;
use super::socket::SocketHandle;
use crate::target::{Failure, FailureKind};

/// Limit of a usual call.
const USUAL: Duration = Duration::from_secs(5);
/// Limit of KILL: a server that does not answer it is left by closing the sockets.
const BRIEF: Duration = Duration::from_secs(2);
/// How long a control connection that got no answer is not tried again: whoever ends a run has ten seconds for all of it.
const SILENCE: Duration = Duration::from_secs(3);
/// Limit of DDL and of settings, which may have to wait for a busy disk.
const PATIENT: Duration = Duration::from_secs(60);
/// The server's own limit for the metadata lock of DDL, in seconds: an idle session that read the table must not
/// hold us for the default of a day or a year.
const LOCK_WAIT_SECONDS: u32 = 10;

/// Which family of servers it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// MariaDB.
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

/// The control connection.
#[derive(Debug)]
pub struct Control {
    access: Access,
    conn: Conn,
    socket: SocketHandle,
    /// Since when it is broken: it did not answer, and is opened again before the next use.
    broken: Option<Instant>,
    /// Which family.
    pub flavour: Flavour,
    /// Version as the server prints it.
    pub version: String,
}

/// The control connection as it is shared between target, table and cancellers.
pub type SharedControl = Arc<Mutex<Control>>;

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
        let (conn, socket) = open_connection(&access)?;
        let mut control = Self { access, conn, socket, broken: None, flavour: Flavour::MySql, version: String::new() };
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

    /// Its own connection id.
    pub fn id(&self) -> u32 {
        self.conn.connection_id()
    }

    fn call<T>(&mut self, limit: Duration, call: impl FnOnce(&mut Conn) -> mysql::Result<T>) -> Result<T, Failure> {
        if let Some(since) = self.broken {
            if since.elapsed() < SILENCE {
                return Err(Failure {
                    kind: FailureKind::Lost,
                    code: None,
                    message: "the server did not answer a moment ago".into(),
                });
            }
            let (conn, socket) = open_connection(&self.access).inspect_err(|_| self.broken = Some(Instant::now()))?;
            (self.conn, self.socket, self.broken) = (conn, socket, None);
        }
        self.socket.set_timeout(Some(limit));
        let result = call(&mut self.conn).map_err(failure);
        match result {
            Err(failure) if failure.kind == FailureKind::Lost => {
                // A driver that lost its place in the conversation cannot go on, even if the server can.
                self.broken = Some(Instant::now());
                self.socket.shutdown();
                Err(failure)
            }
            other => other,
        }
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

    /// One global variable.
    ///
    /// # Errors
    /// What the server said.
    pub fn variable(&mut self, name: &str) -> Result<Option<String>, Failure> {
        Ok(self.variables([name])?.remove(&name.to_ascii_lowercase()))
    }

    /// Ends the running statement of a session. Errors mean that there is nothing left to end, or that the server does
    /// not answer; the caller closes the socket either way.
    pub fn kill(&mut self, id: u64) {
        if self.broken.is_some() {
            // The server was silent a moment ago: another five seconds for each session would be too many.
            return;
        }
        let _ = self.call(BRIEF, |conn| conn.query_drop(format!("KILL QUERY {id}")));
    }

    /// Whether the server answers a ping.
    pub fn ping(&mut self) -> bool {
        self.call(USUAL, Conn::ping).is_ok()
    }

    /// Who holds a metadata lock on a table, in words, as far as this user may see it.
    pub fn lock_holders(&mut self, table: &str) -> Option<String> {
        let own = self.id();
        let from_schema = self.named_rows(&format!(
            "SELECT DISTINCT t.PROCESSLIST_ID AS id FROM performance_schema.metadata_locks m \
             JOIN performance_schema.threads t ON t.THREAD_ID = m.OWNER_THREAD_ID \
             WHERE m.OBJECT_NAME = '{}' AND m.LOCK_STATUS = 'GRANTED' AND t.PROCESSLIST_ID <> {own}",
            escape(table)
        ));
        let ids: Vec<String> = match from_schema {
            Ok(rows) if !rows.is_empty() => rows.into_iter().filter_map(|mut row| row.remove("id").flatten()).collect(),
            _ => Vec::new(),
        };
        if !ids.is_empty() {
            return Some(format!("held by session {}", ids.join(", ")));
        }
        let rows = self.named_rows("SHOW FULL PROCESSLIST").ok()?;
        let others: Vec<String> = rows
            .into_iter()
            .filter(|row| row.get("id").cloned().flatten().as_deref() != Some(own.to_string().as_str()))
            .filter(|row| row.get("command").cloned().flatten().is_some_and(|command| command != "Daemon"))
            .map(|row| {
                let word = |name: &str| row.get(name).cloned().flatten().unwrap_or_default();
                format!(
                    "{} (user {}, {} for {} s)",
                    word("id"),
                    word("user"),
                    word("command").to_lowercase(),
                    word("time")
                )
            })
            .collect();
        (!others.is_empty()).then(|| format!("held by one of the sessions {}", others.join(", ")))
    }
}

fn open_connection(access: &Access) -> Result<(Conn, SocketHandle), Failure> {
    let (mut conn, socket) = access.connect()?;
    socket.set_timeout(Some(USUAL));
    prepare_session(&mut conn)?;
    // Absent before 5.5: then DDL waits as long as that server does.
    let _ = conn.query_drop(format!("SET SESSION lock_wait_timeout={LOCK_WAIT_SECONDS}"));
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

/// Quotes an identifier.
pub fn quote_identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
