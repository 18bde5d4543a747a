//! The table of one curve on a server of the MySQL family.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use mysql::prelude::Queryable;
use mysql::{Conn, Params, Row};

use super::connect::{prepare_session, speak_utf8, wait_for_members};
use super::control::{IDLE, LOCK_WAIT_SECONDS, SIGN_OF_LIFE, SharedControl, lock, lock_soon, quote_identifier};
use super::errors::failure;
use super::globals::{Globals, SharedGlobals, lock_globals};
use super::place::AskTablespaces;
use super::session::MysqlSession;
use super::socket::SocketHandle;
use super::variables::Named;
use super::{bears_mark, is_lock_wait, is_on, locked, orphans, place, status};
use crate::engine::Counters;
use crate::plan::ServerPlace;
use crate::plan::counters::CounterChoice;
use crate::plan::method::Method;
use crate::rows::{Lookup, Value};
use crate::schema::ColumnType;
use crate::targets::{
    CANDIDATES, Canceller, Failure, NOT_MARKED, Reading, RowSet, ServerProcess, Session, Table, TableFacts, TableOrder,
    TableSize,
};

/// Rows of one DELETE.
const DELETE_ROWS: u64 = 20_000;

/// The table of one curve.
pub struct MysqlTable {
    pub(super) control: SharedControl,
    pub(super) name: String,
    pub(super) mark: String,
    pub(super) facts: TableFacts,
    pub(super) globals: SharedGlobals,
    /// What its engine counts.
    pub(super) engine_counters: Counters,
    /// Where the size of its table is asked for.
    pub(super) ask_tablespaces: AskTablespaces,
    pub(super) work: Work,
    /// What the closing work is here.
    pub(super) closing: Closing,
    /// Variables that no session sets over.
    pub(super) named: Named,
    /// How its rows travel.
    pub(super) method: Method,
    /// Whether it was closed: what was changed has been put back then.
    pub(super) closed: bool,
    /// The loading sessions that were opened for it.
    pub(super) opened: Vec<u64>,
}

/// The closing work of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// FLUSH TABLES ... FOR EXPORT with our own table's name, where the engine can: on a server that is not ours.
    Export,
    /// FLUSH TABLES with our own table's name.
    Flush,
}

/// A connection for what may take long (count, look-ups, drop). It is open only while no loading connection is, so that
/// never more than the connections asked for plus one are open, and another thread can end what it does.
pub(super) struct Work {
    open: Option<(Conn, Arc<SocketHandle>)>,
    current: Current,
    /// Whether its server, a member of a cluster, may lack what was committed at another one.
    behind: bool,
    /// When it was used last.
    used: Instant,
    /// Whether the columns of the table have names that only UTF-8 can write.
    pub(super) speaks_utf8: bool,
}

/// Which session the work connection is and on which server, while it is open.
type Current = Arc<Mutex<Option<(u64, Arc<SocketHandle>, ServerPlace)>>>;

impl Work {
    pub(super) fn new() -> Self {
        let current = Arc::new(Mutex::new(None));
        Self { open: None, current, behind: false, used: Instant::now(), speaks_utf8: false }
    }

    /// Rows may have been committed at other members of its cluster since it was used last.
    pub(super) fn fall_behind(&mut self) {
        self.behind = self.open.is_some();
    }

    /// What ends its statement from another thread.
    pub(super) fn canceller(&self, control: &SharedControl) -> Box<dyn Canceller> {
        Box::new(WorkCanceller { current: Arc::clone(&self.current), control: Arc::clone(control) })
    }

    fn conn(&mut self, control: &SharedControl) -> Result<&mut Conn, Failure> {
        if self.open.is_none() {
            let access = lock(control).access().clone();
            let (mut conn, socket) = access.connect()?;
            prepare_session(&mut conn)?;
            if self.speaks_utf8 {
                speak_utf8(&mut conn)?;
            }
            self.used = Instant::now();
            let _ = conn.query_drop(format!("SET SESSION lock_wait_timeout={LOCK_WAIT_SECONDS}"));
            self.behind = access.is_member;
            *self.current.lock().unwrap_or_else(PoisonError::into_inner) =
                Some((u64::from(conn.connection_id()), Arc::clone(&socket), access.place));
            self.open = Some((conn, socket));
        }
        match &mut self.open {
            Some((conn, _)) => Ok(conn),
            None => Err(Failure::fatal("no connection")),
        }
    }

    pub(super) fn close(&mut self) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.open = None;
    }

    pub(super) fn run<T>(
        &mut self,
        control: &SharedControl,
        call: impl FnOnce(&mut Conn) -> mysql::Result<T>,
    ) -> Result<T, Failure> {
        self.look();
        self.conn(control)?;
        let behind = std::mem::take(&mut self.behind);
        let conn = self.conn(control)?;
        let there = if behind { wait_for_members(conn) } else { Ok(()) };
        let is_there = there.is_ok();
        let result = there.and_then(|()| call(conn).map_err(failure));
        self.behind = !is_there;
        self.used = Instant::now();
        if result.as_ref().is_err_and(|failure| failure.kind == crate::targets::FailureKind::Lost) {
            self.close();
            // Freed by whoever holds the leash: the server is not to blame.
            lock(control).access().leash.allow()?;
        }
        result
    }

    /// Closes it where it was idle and gives no sign of life: the next use opens it again.
    fn look(&mut self) {
        let Some((conn, socket)) = &mut self.open else { return };
        if self.used.elapsed() <= IDLE {
            return;
        }
        socket.set_timeout(Some(SIGN_OF_LIFE));
        let is_there = conn.ping().is_ok();
        socket.set_timeout(None);
        if !is_there {
            self.close();
        }
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
        let Some((id, socket, place)) = current else { return };
        if let Some(mut control) = lock_soon(&self.control)
            // A control connection that has moved to another endpoint would end somebody else's statement there.
            && control.access().place == place
        {
            control.kill(id);
        }
        socket.shutdown();
    }

    fn doing(&self) -> Option<String> {
        let (id, _, place) = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let mut control = lock_soon(&self.control)?;
        if control.access().place == place { control.state_of(id) } else { None }
    }
}

impl Table for MysqlTable {
    fn facts(&self) -> &TableFacts {
        &self.facts
    }

    fn connect(&mut self) -> Result<Box<dyn Session>, Failure> {
        self.work.close();
        let access = lock(&self.control).access().clone().loading_by(self.method);
        let session = MysqlSession::open(access, &self.named, &self.facts, Arc::clone(&self.control))?;
        self.opened.extend(session.id());
        Ok(Box::new(session))
    }

    fn canceller(&self) -> Box<dyn Canceller> {
        self.work.canceller(&self.control)
    }

    fn count(&mut self) -> Result<Option<u64>, Failure> {
        if !self.facts.limits.keeps_rows {
            return Ok(None);
        }
        let sql = format!("SELECT COUNT(*) FROM {}", self.facts.quoted_name);
        self.work.run(&self.control, |conn| conn.query_first::<u64, _>(&sql))
    }

    fn fetch(&mut self, columns: &[String], lookups: &[Lookup]) -> Result<Vec<Vec<Vec<Value>>>, Failure> {
        let list = self.selected(columns).join(",");
        // One statement for each row: what comes back belongs to the row that was asked for, whatever the collation of
        // the key thinks of its order. Literals, since bytes bound as parameters would be read in the connection's
        // character set.
        let sql = |lookup: &Lookup| {
            let condition = lookup.condition(quote_identifier);
            format!("SELECT {list} FROM {} WHERE {condition} LIMIT {CANDIDATES}", self.facts.quoted_name)
        };
        let statements: Vec<String> = lookups.iter().map(sql).collect();
        self.work.run(&self.control, |conn| {
            let mut found = Vec::with_capacity(statements.len());
            for sql in statements {
                // The binary protocol, which keeps numbers numbers.
                let rows = read_binary(conn, &sql)?;
                found.push(rows.into_iter().map(|row| row.unwrap().into_iter().map(from_mysql).collect()).collect());
            }
            Ok(found)
        })
    }

    fn last_rows(&mut self, columns: &[String], rows: u64, of: u64) -> Result<Vec<Vec<Value>>, Failure> {
        let list = self.selected(columns);
        let order = match self.facts.auto_increment() {
            Some(column) => format!("ORDER BY {} DESC LIMIT {rows}", quote_identifier(&column.name)),
            // Without a key a table is read in the order in which it was filled.
            None => format!("LIMIT {rows} OFFSET {}", of.saturating_sub(rows)),
        };
        let sql = format!("SELECT {} FROM {} {order}", list.join(","), self.facts.quoted_name);
        self.work.run(&self.control, |conn| {
            let rows = read_binary(conn, &sql)?;
            Ok(rows.into_iter().map(|row| row.unwrap().into_iter().map(from_mysql).collect()).collect())
        })
    }

    fn max_id(&mut self) -> Result<Option<u64>, Failure> {
        let Some(column) = self.facts.auto_increment() else { return Ok(None) };
        if !self.facts.limits.keeps_rows {
            return Ok(None);
        }
        let sql = format!("SELECT MAX({}) FROM {}", quote_identifier(&column.name), self.facts.quoted_name);
        lock(&self.control).first(&sql)
    }

    fn count_of(&mut self, rows: RowSet<'_>) -> Result<u64, Failure> {
        let table = &self.facts.quoted_name;
        let sql = match self.condition(rows) {
            None => return Ok(0),
            Some(_) if matches!(rows, RowSet::Any) => {
                format!("SELECT COUNT(*) FROM (SELECT 1 FROM {table} LIMIT 1) AS one")
            }
            Some(condition) => format!("SELECT COUNT(*) FROM {table} WHERE {condition}"),
        };
        Ok(self.work.run(&self.control, |conn| conn.query_first::<u64, _>(&sql))?.unwrap_or(0))
    }

    fn remove(&mut self, rows: RowSet<'_>) -> Result<u64, Failure> {
        match self.condition(rows) {
            Some(condition) => self.delete(&condition),
            None => Ok(0),
        }
    }

    fn server_started_at(&mut self) -> Result<Option<i64>, Failure> {
        super::globals::server_started_at(&mut lock(&self.control)).map(Some)
    }

    fn own_sessions(&mut self) -> Result<Vec<u64>, Failure> {
        let work = u64::from(self.work.conn(&self.control)?.connection_id());
        Ok(vec![work, u64::from(lock(&self.control).id())])
    }

    fn end_sessions(&mut self, ids: &[u64]) -> Result<(), Failure> {
        if ids.is_empty() {
            return Ok(());
        }
        // Never our own, should a number have come again.
        let own = self.own_sessions()?;
        orphans::end(&self.control, ids, &own)
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
                // Plain FLUSH TABLES with our own table's name closes it and writes out what the engine holds back.
                Err(refused) if lacks_export(refused.code) => {}
                Err(refused) if matches!(refused.code, Some(1227 | 1044 | 1142)) => {
                    return Err(Failure::fatal(
                        "left out: FLUSH TABLES ... FOR EXPORT needs the privileges RELOAD and LOCK TABLES",
                    ));
                }
                Err(other) => return Err(other),
            }
        }
        let sql = format!("FLUSH TABLES {}", self.facts.quoted_name);
        self.work.run(&self.control, |conn| conn.query_drop(&sql))?;
        Ok(Some("FLUSH TABLES".into()))
    }

    fn counters(&mut self, choice: CounterChoice) -> Reading {
        let mut control = lock(&self.control);
        let logged = self.facts.variables.get("log_bin").is_some_and(|value| is_on(value));
        let logged = logged && !control.access().skip_binlog;
        status::read(&mut control, &self.engine_counters, choice, logged)
    }

    fn server_process(&mut self) -> ServerProcess {
        place::process(&mut lock(&self.control))
    }

    fn size(&mut self) -> TableSize {
        if !self.facts.limits.keeps_rows {
            return TableSize::default();
        }
        let data = self.facts.data_directory.as_deref();
        place::size(&mut lock(&self.control), data, &self.name, &mut self.ask_tablespaces)
    }

    fn wake(&mut self) -> Result<(), Failure> {
        lock(&self.control).wake()
    }

    fn is_alive(&mut self) -> bool {
        let alive = lock(&self.control).ping();
        if alive {
            // The lock of the globals goes with a connection that was lost and opened again.
            lock_globals(&self.globals).keep_lock();
        }
        alive
    }

    fn side(&mut self, order: &TableOrder<'_>) -> Result<Box<dyn Table>, Failure> {
        Ok(Box::new(self.side_table(order)?))
    }

    fn close(&mut self, keep: bool) -> Result<(), Failure> {
        self.closed = true;
        let dropped = if keep { Ok(()) } else { self.drop_table() };
        self.work.close();
        let restored = lock_globals(&self.globals).restore();
        dropped?;
        // A restore that failed is tried again at the end of the run; a setting that somebody else changed meanwhile
        // means that the curve was not measured under its label.
        match restored?.foreign.as_slice() {
            [] => Ok(()),
            foreign => Err(Failure::fatal(format!(
                "{}; the curve was not measured under its label all the time",
                foreign.join("; ")
            ))),
        }
    }
}

impl MysqlTable {
    pub fn control(&self) -> SharedControl {
        Arc::clone(&self.control)
    }

    /// Makes a second table beside it.
    pub(super) fn side_table(&mut self, order: &TableOrder<'_>) -> Result<Self, Failure> {
        // Never more connections than were asked for plus one.
        self.work.close();
        // Nothing is set for it, so nothing is put back when it is closed.
        let globals = Globals::shared(Arc::clone(&self.control), order.directory);
        super::create_table(&self.control, order, globals, self.closing, self.named.clone())
    }

    /// Columns as they are read back. Members of ENUM and SET that are not plain ASCII come as their numbers, since a session that
    /// speaks latin1 has no characters for most of them.
    fn selected(&self, columns: &[String]) -> Vec<String> {
        let is_numbered = |name: &String| {
            let column = self.facts.columns.iter().find(|column| column.name == *name);
            matches!(
                column.map(|column| &column.data_type),
                Some(ColumnType::Enum { members } | ColumnType::Set { members })
                    if !members.iter().all(|member| member.is_ascii())
            )
        };
        let select = |name: &String| match is_numbered(name) {
            true => format!("CAST({} AS UNSIGNED)", quote_identifier(name)),
            false => quote_identifier(name),
        };
        columns.iter().map(select).collect()
    }

    /// Adds what a reader should know.
    pub fn note(&mut self, note: String) {
        self.facts.notes.push(note);
    }

    /// What finds a set of rows; `None` when nothing can.
    fn condition(&self, rows: RowSet<'_>) -> Option<String> {
        Some(match rows {
            RowSet::Any => "TRUE".into(),
            RowSet::Ids { above, up_to } => {
                let name = quote_identifier(&self.facts.auto_increment()?.name);
                let end = up_to.map_or_else(String::new, |up_to| format!(" AND {name} <= {up_to}"));
                format!("{name} > {above}{end}")
            }
            RowSet::Found([]) => return None,
            RowSet::Found(lookups) => any_of(lookups),
        })
    }

    /// Removes rows in portions, so that no transaction grows beyond what the server takes.
    fn delete(&mut self, condition: &str) -> Result<u64, Failure> {
        // What limits a transaction that inserts rows limits one that deletes them (wsrep_max_ws_rows).
        let mut rows = DELETE_ROWS.min(self.facts.limits.transaction_rows).max(1);
        let mut removed = 0;
        loop {
            let sql = format!("DELETE FROM {} WHERE {condition} LIMIT {rows}", self.facts.quoted_name);
            let portion = self.work.run(&self.control, |conn| {
                conn.query_drop(&sql)?;
                Ok(conn.affected_rows())
            });
            match portion {
                // How many bytes a row takes in it only trying tells (wsrep_max_ws_size).
                Err(refused) if matches!(refused.code, Some(1105 | 1180)) && rows > 1 => rows /= 2,
                other => {
                    let portion = other?;
                    removed += portion;
                    if portion < rows {
                        return Ok(removed);
                    }
                }
            }
        }
    }

    /// Who holds the table: it may be a loading session of our own that waits for the server.
    fn held(&self, name: &str, refused: Failure) -> Failure {
        let mut control = lock(&self.control);
        let ours = orphans::alive(&mut control, &self.opened).unwrap_or_default();
        let Some(&first) = ours.first() else { return locked(&mut control, name, refused) };
        for id in ours {
            // Gone meanwhile is what is wanted.
            let _ = control.execute(&format!("KILL {id}"));
        }
        Failure { message: orphans::still_there(&mut control, first), ..refused }
    }

    fn drop_table(&mut self) -> Result<(), Failure> {
        let later = "`rowcliff clean` drops it later";
        let marked = bears_mark(&mut lock(&self.control), &self.name, &self.mark)?;
        if marked == Some(false) {
            return Err(Failure::fatal(format!("table {} {NOT_MARKED}", self.name)));
        }
        let sql = format!("DROP TABLE {}", self.facts.quoted_name);
        let name = self.name.clone();
        self.work.run(&self.control, |conn| conn.query_drop(&sql)).map_err(|mut refused| {
            if is_lock_wait(&refused) {
                refused = self.held(&name, refused);
            }
            refused.message = format!("table {name} could not be dropped: {}; {later}", refused.message);
            refused
        })
    }
}

impl Drop for MysqlTable {
    fn drop(&mut self) {
        // Left without a close when the run ended in an error of its own: the table stays, the globals do not.
        if !self.closed {
            let _ = lock_globals(&self.globals).restore();
        }
    }
}

/// Whether an answer to FLUSH TABLES ... FOR EXPORT means that there is no such thing: 1031 where the engine cannot, 1064 where
/// the server does not know the statement (before MySQL 5.6 and MariaDB 10.0).
fn lacks_export(code: Option<i64>) -> bool {
    matches!(code, Some(1031 | 1064))
}

/// What finds the rows of all look-ups. One list for a column where that is all: servers search it, and where their statistics
/// are old and they read the whole index they would compare each row with each of hundreds of conditions.
fn any_of(lookups: &[Lookup]) -> String {
    let one = |lookup: &Lookup| match lookup.columns.as_slice() {
        [(name, value)] => Some((name.clone(), value.literal())),
        _ => None,
    };
    let list: Vec<(String, String)> = lookups.iter().filter_map(one).collect();
    match list.first() {
        Some((name, _)) if list.len() == lookups.len() && list.iter().all(|(other, _)| other == name) => {
            let values: Vec<&str> = list.iter().map(|(_, value)| value.as_str()).collect();
            format!("{} IN ({})", quote_identifier(name), values.join(","))
        }
        _ => {
            let words: Vec<String> =
                lookups.iter().map(|lookup| format!("({})", lookup.condition(quote_identifier))).collect();
            words.join(" OR ")
        }
    }
}

/// Rows over the binary protocol. The statement is closed again: the driver keeps what it has no room to remember, and a thousand
/// look-ups would be a thousand of `max_prepared_stmt_count`.
fn read_binary(conn: &mut Conn, sql: &str) -> mysql::Result<Vec<Row>> {
    let statement = conn.prep(sql)?;
    let rows = conn.exec(&statement, Params::Empty);
    conn.close(statement)?;
    rows
}

/// A value as the driver gives it, in our own terms.
pub(super) fn from_mysql(value: mysql::Value) -> Value {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_export_flushes_instead_and_one_that_forbids_it_says_so() {
        assert!(lacks_export(Some(1031)) && lacks_export(Some(1064)));
        assert!(!lacks_export(Some(1227)) && !lacks_export(Some(1205)) && !lacks_export(None));
    }

    #[test]
    fn rows_of_one_column_are_found_by_a_list_and_others_one_by_one() {
        let by = |columns: &[(&str, i64)]| Lookup {
            columns: columns.iter().map(|&(name, value)| (name.to_owned(), Value::Int(value))).collect(),
            unique: true,
        };
        assert_eq!(any_of(&[by(&[("id2", 5)]), by(&[("id2", 6)])]), "`id2` IN (5,6)");
        let pairs = any_of(&[by(&[("a", 1), ("b", 2)]), by(&[("a", 1), ("b", 3)])]);
        assert_eq!(pairs, "(`a` = 1 AND `b` = 2) OR (`a` = 1 AND `b` = 3)");
    }
}
