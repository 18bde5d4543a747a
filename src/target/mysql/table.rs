//! The table of one curve on a server of the MySQL family.

use std::sync::{Arc, Mutex, PoisonError};

use mysql::prelude::Queryable;
use mysql::{Conn, Params, Row};

use super::connect::prepare_session;
use super::control::{SharedControl, lock, quote_identifier};
use super::errors::failure;
use super::globals::Globals;
use super::session::{MysqlCanceller, MysqlSession};
use super::socket::SocketHandle;
use crate::load::prepared::to_mysql;
use crate::rows::{Lookup, Value};
use crate::target::{CANDIDATES, Canceller, Failure, Session, Table, TableFacts};

/// The table of one curve.
pub struct MysqlTable {
    pub(super) control: SharedControl,
    pub(super) name: String,
    pub(super) facts: TableFacts,
    pub(super) globals: Globals,
    pub(super) work: Work,
    /// What the closing work is here.
    pub(super) closing: Closing,
}

/// The closing work of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// FLUSH TABLES ... FOR EXPORT with our own table's name, where the engine can: on a server that is not ours.
    Export,
    /// FLUSH TABLES with our own table's name.
    Flush,
}

/// The session that does something long at the moment, by its id, and its socket.
type Current = Arc<Mutex<Option<(u64, Arc<SocketHandle>)>>>;

/// A connection for what may take long (count, look-ups, drop). It is open only while no loading connection is, so that
/// never more than the connections asked for plus one are open, and another thread can end what it does.
pub(super) struct Work {
    open: Option<(Conn, Arc<SocketHandle>)>,
    current: Current,
}

impl Work {
    pub(super) fn new() -> Self {
        Self { open: None, current: Arc::new(Mutex::new(None)) }
    }

    fn conn(&mut self, control: &SharedControl) -> Result<&mut Conn, Failure> {
        if self.open.is_none() {
            let access = lock(control).access().clone();
            let (mut conn, socket) = access.connect()?;
            prepare_session(&mut conn)?;
            let _ = conn.query_drop("SET SESSION lock_wait_timeout=10");
            let socket = Arc::new(socket);
            *self.current.lock().unwrap_or_else(PoisonError::into_inner) =
                Some((u64::from(conn.connection_id()), Arc::clone(&socket)));
            self.open = Some((conn, socket));
        }
        match &mut self.open {
            Some((conn, _)) => Ok(conn),
            None => Err(Failure::fatal("no connection")),
        }
    }

    fn close(&mut self) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.open = None;
    }

    fn run<T>(
        &mut self,
        control: &SharedControl,
        call: impl FnOnce(&mut Conn) -> mysql::Result<T>,
    ) -> Result<T, Failure> {
        let result = call(self.conn(control)?).map_err(failure);
        if result.as_ref().is_err_and(|failure| failure.kind == crate::target::FailureKind::Lost) {
            self.close();
        }
        result
    }
}

/// Ends what the work connection does, if it does anything.
struct WorkCanceller {
    current: Current,
    control: SharedControl,
}

impl Canceller for WorkCanceller {
    fn cancel(&self) {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((id, socket)) = current {
            MysqlCanceller::new(id, socket, Arc::clone(&self.control)).cancel();
        }
    }
}

impl Table for MysqlTable {
    fn facts(&self) -> &TableFacts {
        &self.facts
    }

    fn connect(&mut self) -> Result<Box<dyn Session>, Failure> {
        self.work.close();
        let access = lock(&self.control).access().clone();
        let (mut conn, socket) = access.connect()?;
        prepare_session(&mut conn)?;
        Ok(Box::new(MysqlSession::new(conn, socket, Arc::clone(&self.control))))
    }

    fn canceller(&self) -> Box<dyn Canceller> {
        Box::new(WorkCanceller { current: Arc::clone(&self.work.current), control: Arc::clone(&self.control) })
    }

    fn count(&mut self) -> Result<Option<u64>, Failure> {
        if !self.facts.limits.keeps_rows {
            return Ok(None);
        }
        let sql = format!("SELECT COUNT(*) FROM {}", self.facts.quoted_name);
        self.work.run(&self.control, |conn| conn.query_first::<u64, _>(&sql))
    }

    fn fetch(&mut self, columns: &[String], lookups: &[Lookup]) -> Result<Vec<Vec<Vec<Value>>>, Failure> {
        let list: Vec<String> = columns.iter().map(|column| quote_identifier(column)).collect();
        let list = list.join(",");
        let Some(first) = lookups.first() else { return Ok(Vec::new()) };
        let conditions: Vec<String> =
            first.columns.iter().map(|(column, _)| format!("{} = ?", quote_identifier(column))).collect();
        let sql = format!(
            "SELECT {list} FROM {} WHERE {} LIMIT {CANDIDATES}",
            self.facts.quoted_name,
            conditions.join(" AND ")
        );
        // One execution for each row, prepared once: what comes back belongs to the row that was asked for, whatever
        // the collation of the key thinks of its order.
        self.work.run(&self.control, |conn| {
            let statement = conn.prep(&sql)?;
            let mut found = Vec::with_capacity(lookups.len());
            for lookup in lookups {
                let values = lookup.columns.iter().map(|(_, value)| to_mysql(value)).collect();
                let rows: Vec<Row> = conn.exec(&statement, Params::Positional(values))?;
                found.push(rows.into_iter().map(|row| row.unwrap().into_iter().map(from_mysql).collect()).collect());
            }
            Ok(found)
        })
    }

    fn closing_work(&mut self) -> Result<Option<String>, Failure> {
        if self.closing == Closing::Export {
            let sql = format!("FLUSH TABLES {} FOR EXPORT", self.facts.quoted_name);
            let result = self.work.run(&self.control, |conn| {
                conn.query_drop(&sql)?;
                conn.query_drop("UNLOCK TABLES")
            });
            match result {
                Ok(()) => return Ok(Some("FLUSH TABLES ... FOR EXPORT".into())),
                // 1031: this engine cannot. Plain FLUSH TABLES with our own table's name closes it and writes out what
                // the engine holds back.
                Err(refused) if refused.code == Some(1031) => {}
                // The RELOAD privilege is missing.
                Err(refused) if refused.code == Some(1227) => return Ok(None),
                Err(other) => return Err(other),
            }
        }
        let sql = format!("FLUSH TABLES {}", self.facts.quoted_name);
        self.work.run(&self.control, |conn| conn.query_drop(&sql))?;
        Ok(Some("FLUSH TABLES".into()))
    }

    fn keep_alive(&mut self) {
        lock(&self.control).ping();
    }

    fn close(&mut self, keep: bool) -> Result<(), Failure> {
        let dropped = if keep { Ok(()) } else { self.drop_table() };
        self.work.close();
        let restored = self.globals.restore();
        dropped?;
        restored.map(|_| ())
    }
}

impl MysqlTable {
    /// The control connection.
    pub fn control(&self) -> SharedControl {
        Arc::clone(&self.control)
    }

    /// Adds what a reader should know.
    pub fn note(&mut self, note: String) {
        self.facts.notes.push(note);
    }

    fn drop_table(&mut self) -> Result<(), Failure> {
        let sql = format!("DROP TABLE {}", self.facts.quoted_name);
        let name = self.name.clone();
        self.work.run(&self.control, |conn| conn.query_drop(&sql)).map_err(|mut refused| {
            let holders = if refused.code == Some(1205) { lock(&self.control).lock_holders(&name) } else { None };
            let who = holders.map_or_else(String::new, |holders| format!("; its metadata lock is {holders}"));
            refused.message =
                format!("table {name} could not be dropped: {}{who}; `rowcliff clean` drops it later", refused.message);
            refused
        })
    }
}

/// A value as the driver gives it, in our own terms.
fn from_mysql(value: mysql::Value) -> Value {
    match value {
        mysql::Value::NULL => Value::Null,
        mysql::Value::Int(number) => Value::Int(number),
        mysql::Value::UInt(number) => Value::UInt(number),
        mysql::Value::Float(number) => Value::Real(f64::from(number)),
        mysql::Value::Double(number) => Value::Real(number),
        mysql::Value::Bytes(bytes) => Value::Bytes(bytes.into()),
        other => Value::Text(other.as_sql(true).trim_matches('\'').as_bytes().into()),
    }
}
