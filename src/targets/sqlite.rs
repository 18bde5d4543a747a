//! Embedded SQLite: a fresh file for every curve, one connection that loads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rusqlite::limits::Limit;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, InterruptHandle, OpenFlags};

use super::sqlite_lock::{self, LockWaits};
use super::sqlite_status::{self, SharedConnection};
use super::{
    Accepted, CANDIDATES, Canceller, Failure, FailureKind, Limits, Purpose, Reading, RowSet, Rows, ServerProcess,
    Session, Table, TableFacts, TableOrder, TableSize, Target, Verdict,
};
use crate::engine::Counters;
use crate::error::Error;
use crate::plan::counters::CounterChoice;
use crate::plan::{Cell, CurvePlan, Flush};
use crate::record::run::TargetRecord;
use crate::rows::{Lookup, Value};
use crate::schema::{self, Definition, Dialect, IndexColumn, ReportedIndex, SqliteColumn, sqlite_columns};
use crate::targets::body::Body;

/// Page cache of a loading connection, KiB: what SQLite's `cache_size` takes as a negative number.
const CACHE_KIB: i64 = 16 * 1024;
/// Prepared statements that a connection keeps: those of a probe, and those that load.
const KEPT_STATEMENTS: usize = 32;

/// Embedded SQLite.
#[derive(Debug)]
pub struct SqliteTarget {
    path: Option<PathBuf>,
    /// Whether the plan has more than one curve here, so that a path given by the user gets a number.
    numbered: bool,
    /// The run that goes on here, whose own files are no strangers.
    run_id: Option<String>,
    /// Whether tables are tried in memory and no file is made.
    in_memory: bool,
}

impl SqliteTarget {
    /// Files below the run's directory, or at `path`.
    pub fn new(path: Option<PathBuf>, numbered: bool) -> Self {
        Self { path, numbered, run_id: None, in_memory: false }
    }

    /// The same for a run that goes on.
    #[must_use]
    pub fn of_run(self, run_id: Option<&str>) -> Self {
        Self { run_id: run_id.map(str::to_owned), ..self }
    }

    /// The same for a look: what is tried is tried in memory.
    #[must_use]
    pub fn in_memory(self) -> Self {
        Self { in_memory: true, ..self }
    }

    /// Whether a file is what this run left of a curve before anything of it was recorded.
    fn is_leftover(&self, path: &Path) -> bool {
        let Some(run_id) = &self.run_id else { return false };
        // Writable, because a file whose writer was killed wants to be recovered.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let only_ours = "SELECT COUNT(*) = COUNT(tbl_name GLOB ?1 OR NULL) FROM sqlite_schema";
        let tables = format!("rowcliff_{run_id}_*");
        Connection::open_with_flags(path, flags)
            .and_then(|conn| conn.query_row(only_ours, [tables], |row| row.get::<_, bool>(0)))
            .unwrap_or(false)
    }

    fn file(&self, order_directory: &Path, number: usize) -> PathBuf {
        match &self.path {
            None => order_directory.join(format!("curve-{number}.sqlite")),
            Some(path) if !self.numbered => path.clone(),
            Some(path) => {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let name = match path.extension() {
                    Some(extension) => format!("{stem}-{number}.{}", extension.to_string_lossy()),
                    None => format!("{stem}-{number}"),
                };
                path.with_file_name(name)
            }
        }
    }
}

impl Target for SqliteTarget {
    fn describe(&mut self) -> Result<TargetRecord, Error> {
        Ok(TargetRecord {
            flavour: "sqlite".into(),
            version: rusqlite::version().into(),
            variables: BTreeMap::new(),
            notes: Vec::new(),
        })
    }

    fn judge(&mut self, curve: &CurvePlan) -> Result<Verdict, Error> {
        if self.path.is_some() {
            let file = self.file(Path::new(""), curve.number);
            if file.exists() && !self.is_leftover(&file) {
                return Ok(Verdict::Prevented { why: exists(&file) });
            }
        }
        Ok(Verdict::runs())
    }

    fn open(&mut self, order: &TableOrder<'_>) -> Result<Box<dyn Table>, Failure> {
        if self.in_memory {
            // Both connections of a table see it under one name, and it is gone with the last of them.
            let name = format!("file:{}?mode=memory&cache=shared", order.table);
            return Ok(Box::new(SqliteTable::create(PathBuf::from(name), order)?));
        }
        let path = self.file(order.directory, order.curve.number);
        if order.purpose == Purpose::GoOn {
            return Ok(Box::new(SqliteTable::reopen(path, order)?));
        }
        if path.exists() {
            if !self.is_leftover(&path) {
                return Err(Failure::fatal(exists(&path)));
            }
            remove(&path);
        }
        let table = SqliteTable::create(path.clone(), order);
        if table.is_err() {
            remove(&path);
        }
        Ok(Box::new(table?))
    }

    fn finish(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

fn quote_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The file of the side table of a curve.
fn side_file(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-control");
    PathBuf::from(name)
}

fn exists(file: &Path) -> String {
    format!(
        "{} is there; rowcliff loads a fresh file and never one that it finds: remove it or name another",
        file.display()
    )
}

fn gone(message: String) -> Failure {
    Failure { kind: FailureKind::Gone, code: None, message }
}

fn remove(path: &Path) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let _ = std::fs::remove_file(PathBuf::from(name));
    }
}

/// Removes the file that a curve of an unfinished run left behind. Gives what was done, as a sentence.
pub fn clean(path: Option<&Path>, directory: &Path, plan: &crate::plan::Plan, index: usize) -> String {
    let curve = &plan.curves[index];
    let numbered = plan.shares_target(curve.cell.target);
    let file = SqliteTarget::new(path.map(Path::to_owned), numbered).file(directory, curve.number);
    let side = side_file(&file);
    let files: Vec<PathBuf> = [file.clone(), side].into_iter().filter(|file| file.exists()).collect();
    if files.is_empty() {
        return format!("{} is gone already", file.display());
    }
    files.iter().for_each(|file| remove(file));
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    format!("{} {} removed", names.join(" and "), if names.len() == 1 { "is" } else { "are" })
}

/// The table of one curve, in its own file.
struct SqliteTable {
    path: PathBuf,
    pragmas: Vec<(String, String)>,
    /// Stays open beside the loading connection, so that closing that one is not the last close of the file, which
    /// would do the whole checkpoint unseen. It holds no lock while it is idle.
    control: Connection,
    /// The loading connections, whose figures are read between batches.
    loading: Vec<Weak<Mutex<Connection>>>,
    counters: Counters,
    lock_waits: LockWaits,
    facts: TableFacts,
}

impl SqliteTable {
    fn create(path: PathBuf, order: &TableOrder<'_>) -> Result<Self, Failure> {
        let cell = &order.curve.cell;
        let mut pragmas = pragmas(cell);
        // A database in memory has a journal of its own kind.
        pragmas.retain(|(name, _)| name != "journal_mode" || !is_in_memory(&path));
        let control = open(&path, &pragmas)?;
        let name = quote_identifier(order.table);
        for sql in order.statements(Dialect::Sqlite, &name, &format!("\"{}_id2\"", order.table), "")? {
            // One statement, whatever it looks like.
            control
                .execute(&sql, [])
                .map_err(|error| Failure { message: format!("CREATE TABLE: {error}"), ..failure(error) })?;
        }
        Self::described(path, pragmas, control, order)
    }

    /// The table of a curve that goes on.
    fn reopen(path: PathBuf, order: &TableOrder<'_>) -> Result<Self, Failure> {
        if !path.exists() {
            return Err(gone(format!("the file {} is not there any more", path.display())));
        }
        let pragmas = pragmas(&order.curve.cell);
        let control = open(&path, &pragmas)?;
        let there: bool = control
            .query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1)", [order.table], |row| row.get(0))
            .map_err(failure)?;
        if !there {
            return Err(gone(format!("the table {} is not in {}", order.table, path.display())));
        }
        Self::described(path, pragmas, control, order)
    }

    fn described(
        path: PathBuf,
        pragmas: Vec<(String, String)>,
        control: Connection,
        order: &TableOrder<'_>,
    ) -> Result<Self, Failure> {
        let cell = &order.curve.cell;
        let name = quote_identifier(order.table);
        let statements = made_by(&control, order.table).map_err(failure)?;
        let mut columns = columns(&control, order.table)?;
        Definition::parse(statements.first().map_or("", String::as_str)).mark(&mut columns);
        let variables = read_back(&control, cell)?;
        let word = |name: &str| variables.get(name).cloned().unwrap_or_default();
        let flush_in_force = format!("synchronous={} journal_mode={}", word("synchronous"), word("journal_mode"));
        for (name, value) in &pragmas {
            check_pragma(name, value, &word(name))?;
        }
        let limit =
            |limit: Limit| control.limit(limit).ok().and_then(|value| u64::try_from(value).ok()).unwrap_or(u64::MAX);
        let limits = Limits {
            statement_bytes: limit(Limit::SQLITE_LIMIT_SQL_LENGTH),
            placeholders: limit(Limit::SQLITE_LIMIT_VARIABLE_NUMBER),
            ..Limits::default()
        };
        let facts = TableFacts {
            quoted_name: name,
            create_table: statements.join(";\n"),
            dialect: Dialect::Sqlite,
            columns,
            flush_in_force,
            variables,
            limits,
            notes: Vec::new(),
            data_directory: path.parent().map(Path::to_owned),
            sample_notes: Vec::new(),
            is_fresh: order.purpose != Purpose::GoOn,
        };
        let counters = cell.engine_entry.counters.clone();
        Ok(Self { path, pragmas, control, loading: Vec::new(), counters, lock_waits: LockWaits::default(), facts })
    }
}

/// The statements that made a table and its indexes. An index that SQLite made itself has none.
fn made_by(control: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut query = control.prepare(
        "SELECT sql FROM sqlite_schema WHERE tbl_name = ?1 AND sql IS NOT NULL ORDER BY type = 'table' DESC, rowid",
    )?;
    query.query_map([table], |row| row.get(0))?.collect()
}

/// What a cell wants of a connection, in the order in which it has to be said.
fn pragmas(cell: &Cell) -> Vec<(String, String)> {
    let mut list: Vec<(String, String)> =
        vec![("journal_mode".into(), "WAL".into()), ("cache_size".into(), format!("-{CACHE_KIB}"))];
    let mut set = |name: &str, value: &str| {
        list.retain(|(known, _)| known != name);
        list.push((name.to_owned(), value.to_owned()));
    };
    if !matches!(cell.flush, Flush::Level(_) | Flush::Named(_)) {
        // SQLite has no setting that was there before us: as it comes here is NORMAL, which is safe in WAL mode.
        set("synchronous", "NORMAL");
    }
    cell.variables().iter().for_each(|(name, value)| set(name, value));
    // The page size can only be set before the journal mode writes the first page.
    list.sort_by_key(|(name, _)| name != "page_size");
    list
}

/// Whether it is the name of a database in memory.
fn is_in_memory(path: &Path) -> bool {
    path.to_str().is_some_and(|name| name.starts_with("file:") && name.ends_with("?mode=memory&cache=shared"))
}

fn open(path: &Path, pragmas: &[(String, String)]) -> Result<Connection, Failure> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if is_in_memory(path) {
        flags |= OpenFlags::SQLITE_OPEN_URI;
    }
    let conn = Connection::open_with_flags(path, flags)
        .map_err(|error| Failure { message: format!("{}: {error}", path.display()), ..failure(error) })?;
    for (name, value) in pragmas {
        // Some answer with a row and some do not.
        conn.pragma_update_and_check(None, name, value, |_| Ok(())).or_else(|error| match error {
            rusqlite::Error::QueryReturnedNoRows => Ok(()),
            other => Err(Failure { message: format!("PRAGMA {name}={value}: {other}"), ..failure(other) }),
        })?;
    }
    Ok(conn)
}

fn read_back(conn: &Connection, cell: &Cell) -> Result<BTreeMap<String, String>, Failure> {
    let mut names: Vec<String> = ["synchronous", "journal_mode", "cache_size", "page_size"].map(str::to_owned).to_vec();
    names.extend(cell.engine_entry.record.iter().cloned());
    if let Flush::Named(pairs) = &cell.flush {
        names.extend(pairs.iter().map(|(name, _)| name.clone()));
    }
    names.extend(cell.settings.iter().map(|(name, _)| name.clone()));
    let mut found = BTreeMap::new();
    for name in names {
        let value = conn.pragma_query_value(None, &name, |row| {
            Ok(match row.get_ref(0)? {
                ValueRef::Integer(number) => number.to_string(),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                other => format!("{other:?}"),
            })
        });
        match value {
            Ok(value) if name == "synchronous" => {
                let word = match value.as_str() {
                    "0" => "OFF",
                    "1" => "NORMAL",
                    "2" => "FULL",
                    "3" => "EXTRA",
                    other => other,
                };
                found.insert(name, word.to_owned());
            }
            Ok(value) => {
                found.insert(name, value);
            }
            // A pragma that cannot be read is not known, and stays out.
            Err(rusqlite::Error::QueryReturnedNoRows) => {}
            Err(error) => return Err(failure(error)),
        }
    }
    Ok(found)
}

/// SQLite takes an unknown pragma or value in silence: only reading back tells.
fn check_pragma(name: &str, asked: &str, read: &str) -> Result<(), Failure> {
    if read.is_empty() {
        return Err(Failure::fatal(format!("SQLite knows no pragma {name}")));
    }
    let synchronous = ["OFF", "NORMAL", "FULL", "EXTRA"];
    let asked_word = match asked.parse::<usize>() {
        Ok(number) if name == "synchronous" => synchronous.get(number).copied().unwrap_or(asked),
        _ => asked,
    };
    if super::mysql::globals::same_value(read, asked_word) {
        Ok(())
    } else {
        Err(Failure::fatal(format!(
            "PRAGMA {name}={asked} left it at {read}: the curve is not run under a wrong label"
        )))
    }
}

fn columns(conn: &Connection, table: &str) -> Result<Vec<schema::Column>, Failure> {
    let references = references(conn, table).map_err(failure)?;
    let all = |sql: &str, read: &dyn Fn(&rusqlite::Row<'_>) -> rusqlite::Result<SqliteColumn>| {
        conn.prepare(sql)?.query_map([table], |row| read(row))?.collect::<rusqlite::Result<Vec<_>>>()
    };
    let mut columns =
        all("SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(?1)", &|row| {
            Ok(SqliteColumn {
                name: row.get(0)?,
                declared_type: row.get(1)?,
                not_null: row.get(2)?,
                default_value: row.get(3)?,
                primary_key_place: row.get(4)?,
                hidden: row.get(5)?,
                referenced_table: None,
            })
        })
        .map_err(failure)?;
    for column in &mut columns {
        column.referenced_table = references.get(&column.name.to_ascii_lowercase()).cloned();
    }
    let without_rowid: bool =
        conn.query_row("SELECT wr FROM pragma_table_list(?1)", [table], |row| row.get(0)).map_err(failure)?;
    Ok(sqlite_columns(&columns, &indexes(conn, table).map_err(failure)?, without_rowid))
}

fn indexes(conn: &Connection, table: &str) -> rusqlite::Result<Vec<ReportedIndex>> {
    let mut statement = conn.prepare("SELECT name, \"unique\", origin FROM pragma_index_list(?1)")?;
    let mut found: Vec<ReportedIndex> = statement
        .query_map([table], |row| {
            let origin: String = row.get(2)?;
            Ok(ReportedIndex { name: row.get(0)?, unique: row.get(1)?, primary: origin == "pk", columns: Vec::new() })
        })?
        .collect::<rusqlite::Result<_>>()?;
    for index in &mut found {
        // An index that belongs to a constraint has no text of its own, and one of a table without a rowid no entry.
        let text = "SELECT max(sql) FROM sqlite_schema WHERE name = ?1";
        let sql: Option<String> = conn.query_row(text, [&index.name], |row| row.get(0))?;
        let parts = schema::index_parts(&sql.unwrap_or_default());
        let mut statement = conn.prepare("SELECT name, seqno FROM pragma_index_info(?1) ORDER BY seqno")?;
        index.columns = statement
            .query_map([&index.name], |row| {
                let (name, place): (Option<String>, i64) = (row.get(0)?, row.get(1)?);
                let expression = if name.is_none() { parts.get(place as usize).cloned() } else { None };
                Ok(IndexColumn { name, prefix: None, expression })
            })?
            .collect::<rusqlite::Result<_>>()?;
    }
    Ok(found)
}

/// Columns whose values must exist in another table, in lower case, with that table. Left out are those of a foreign key in which
/// another column may be NULL, which makes the key hold whatever the others are.
fn references(conn: &Connection, table: &str) -> rusqlite::Result<BTreeMap<String, String>> {
    let sql = "SELECT f.\"from\", f.\"table\", c.\"notnull\" AND EXISTS (SELECT 1 FROM pragma_foreign_key_list(?1) AS o \
               JOIN pragma_table_xinfo(?1) AS n ON n.name = o.\"from\" COLLATE NOCASE WHERE o.id = f.id AND NOT n.\"notnull\" AND n.pk = 0) \
               FROM pragma_foreign_key_list(?1) AS f JOIN pragma_table_xinfo(?1) AS c ON c.name = f.\"from\" COLLATE NOCASE";
    let mut statement = conn.prepare(sql)?;
    let found = statement
        .query_map([table], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, bool>(2)?)))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(found
        .into_iter()
        .filter(|(.., held)| !held)
        .map(|(column, table, _)| (column.to_ascii_lowercase(), table))
        .collect())
}

impl Table for SqliteTable {
    fn facts(&self) -> &TableFacts {
        &self.facts
    }

    fn connect(&mut self) -> Result<Box<dyn Session>, Failure> {
        let mut conn = open(&self.path, &self.pragmas)?;
        sqlite_lock::wait_and_count(&mut conn).map_err(failure)?;
        let interrupt = Arc::new(conn.get_interrupt_handle());
        let conn = Arc::new(Mutex::new(conn));
        self.loading.retain(|conn| conn.strong_count() > 0);
        self.loading.push(Arc::downgrade(&conn));
        Ok(Box::new(SqliteSession { conn, interrupt, asked: Vec::new(), lock_waits: self.lock_waits.clone() }))
    }

    fn lock_waited(&self) -> Duration {
        self.lock_waits.so_far()
    }

    fn canceller(&self) -> Box<dyn Canceller> {
        Box::new(SqliteCanceller(Arc::new(self.control.get_interrupt_handle())))
    }

    fn count(&mut self) -> Result<Option<u64>, Failure> {
        let sql = format!("SELECT COUNT(*) FROM {}", self.facts.quoted_name);
        let count: i64 = self.control.query_row(&sql, [], |row| row.get(0)).map_err(failure)?;
        Ok(u64::try_from(count).ok())
    }

    fn fetch(&mut self, columns: &[String], lookups: &[Lookup]) -> Result<Vec<Vec<Vec<Value>>>, Failure> {
        let list: Vec<String> = columns.iter().map(|column| quote_identifier(column)).collect();
        let mut found = Vec::with_capacity(lookups.len());
        for lookup in lookups {
            let conditions: Vec<String> =
                lookup.columns.iter().map(|(column, _)| format!("{} = ?", quote_identifier(column))).collect();
            let sql = format!(
                "SELECT {} FROM {} WHERE {} LIMIT {CANDIDATES}",
                list.join(","),
                self.facts.quoted_name,
                conditions.join(" AND ")
            );
            let mut statement = self.control.prepare_cached(&sql).map_err(failure)?;
            let values = rusqlite::params_from_iter(lookup.columns.iter().map(|(_, value)| value));
            let rows: rusqlite::Result<Vec<Vec<Value>>> = statement
                .query_map(values, |row| (0..list.len()).map(|index| Ok(from_sqlite(row.get_ref(index)?))).collect())
                .and_then(Iterator::collect);
            found.push(rows.map_err(failure)?);
        }
        Ok(found)
    }

    fn last_rows(&mut self, columns: &[String], rows: u64, _of: u64) -> Result<Vec<Vec<Value>>, Failure> {
        let list: Vec<String> = columns.iter().map(|column| quote_identifier(column)).collect();
        // A table without a rowid has a key, and is not asked.
        let sql = format!("SELECT {} FROM {} ORDER BY rowid DESC LIMIT {rows}", list.join(","), self.facts.quoted_name);
        let mut statement = self.control.prepare(&sql).map_err(failure)?;
        let found: rusqlite::Result<Vec<Vec<Value>>> = statement
            .query_map([], |row| (0..list.len()).map(|index| Ok(from_sqlite(row.get_ref(index)?))).collect())
            .and_then(Iterator::collect);
        found.map_err(failure)
    }

    fn max_id(&mut self) -> Result<Option<u64>, Failure> {
        let Some(column) = self.facts.auto_increment() else { return Ok(None) };
        let sql = format!("SELECT MAX({}) FROM {}", quote_identifier(&column.name), self.facts.quoted_name);
        let id: Option<i64> = self.control.query_row(&sql, [], |row| row.get(0)).map_err(failure)?;
        Ok(id.and_then(|id| u64::try_from(id).ok()))
    }

    fn count_of(&mut self, rows: RowSet<'_>) -> Result<u64, Failure> {
        if let RowSet::Any = rows {
            let sql = format!("SELECT EXISTS (SELECT 1 FROM {})", self.facts.quoted_name);
            return Ok(u64::from(self.control.query_row(&sql, [], |row| row.get::<_, bool>(0)).map_err(failure)?));
        }
        let mut counted = 0;
        for condition in conditions(&self.facts, rows) {
            let sql = format!("SELECT COUNT(*) FROM {} WHERE {condition}", self.facts.quoted_name);
            let count: i64 = self.control.query_row(&sql, [], |row| row.get(0)).map_err(failure)?;
            counted += u64::try_from(count).unwrap_or(0);
        }
        Ok(counted)
    }

    fn remove(&mut self, rows: RowSet<'_>) -> Result<u64, Failure> {
        let mut removed = 0;
        for condition in conditions(&self.facts, rows) {
            let sql = format!("DELETE FROM {} WHERE {condition}", self.facts.quoted_name);
            removed += self.control.execute(&sql, []).map_err(failure)? as u64;
        }
        Ok(removed)
    }

    fn end_sessions(&mut self, _: &[u64]) -> Result<(), Failure> {
        // A connection in this process is gone when it is dropped, and a process takes its connections with it.
        Ok(())
    }

    fn closing_work(&mut self) -> Result<Option<String>, Failure> {
        if self.facts.variables.get("journal_mode").is_none_or(|mode| mode != "wal") {
            return Ok(None);
        }
        let (busy, pages): (i64, i64) = self
            .control
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .map_err(failure)?;
        Ok(Some(match (busy, pages) {
            (0, _) => "WAL checkpoint (TRUNCATE)".into(),
            _ => "WAL checkpoint was held up by another reader of the file".into(),
        }))
    }

    fn counters(&mut self, choice: CounterChoice) -> Reading {
        sqlite_status::read(&self.loading, &self.path, &self.counters, choice)
    }

    fn server_process(&mut self) -> ServerProcess {
        ServerProcess::Embedded
    }

    fn size(&mut self) -> TableSize {
        // The file is behind by what still stands in the WAL. One file with data and index: telling them apart takes a scan.
        let pragma = |name: &str| self.control.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).ok();
        let bytes = pragma("page_count").zip(pragma("page_size")).and_then(|(pages, bytes)| pages.checked_mul(bytes));
        TableSize { data_bytes: bytes.and_then(|bytes| u64::try_from(bytes).ok()), index_bytes: None }
    }

    fn side(&mut self, order: &TableOrder<'_>) -> Result<Box<dyn Table>, Failure> {
        // A file of its own, as every table has here, beside that of the curve.
        let path = side_file(&self.path);
        if path.exists() {
            return Err(Failure::fatal(exists(&path)));
        }
        let table = SqliteTable::create(path.clone(), order);
        if table.is_err() {
            remove(&path);
        }
        Ok(Box::new(table?))
    }

    fn close(&mut self, keep: bool) -> Result<(), Failure> {
        if keep {
            return Ok(());
        }
        // The file is ours alone and fresh: it goes as a whole. An open handle keeps no name.
        remove(&self.path);
        if self.path.exists() {
            return Err(Failure::fatal(format!("{} could not be removed", self.path.display())));
        }
        Ok(())
    }
}

/// The conditions of the statements that together find a set of rows.
fn conditions(facts: &TableFacts, rows: RowSet<'_>) -> Vec<String> {
    match rows {
        RowSet::Any => vec!["true".into()],
        RowSet::Ids { above, up_to } => facts
            .auto_increment()
            .map(|column| {
                let name = quote_identifier(&column.name);
                let end = up_to.map_or_else(String::new, |up_to| format!(" AND {name} <= {up_to}"));
                format!("{name} > {above}{end}")
            })
            .into_iter()
            .collect(),
        // Few terms in one statement: SQLite's parser has a limit on the depth of an expression.
        RowSet::Found(lookups) => lookups
            .chunks(100)
            .map(|group| {
                let words: Vec<String> =
                    group.iter().map(|lookup| format!("({})", lookup.condition(quote_identifier))).collect();
                words.join(" OR ")
            })
            .collect(),
    }
}

struct SqliteSession {
    conn: SharedConnection,
    interrupt: Arc<InterruptHandle>,
    /// Statements that are asked, by their number.
    asked: Vec<String>,
    lock_waits: LockWaits,
}

impl SqliteSession {
    fn insert(&self, body: &mut Body) -> Result<Accepted, Failure> {
        let changes = match body {
            Body::Text(sql) => self.conn().execute(sql, []).map_err(failure)?,
            Body::Values { sql, values } => {
                let conn = self.conn();
                let mut statement = conn.prepare_cached(sql).map_err(failure)?;
                for (index, value) in values.iter().enumerate() {
                    statement.raw_bind_parameter(index + 1, value).map_err(failure)?;
                }
                statement.raw_execute().map_err(failure)?
            }
            Body::Params { .. } | Body::Bulk { .. } | Body::File { .. } => {
                return Err(Failure::fatal("this method is for servers of the MySQL family"));
            }
        };
        Ok(Accepted { rows: changes as u64, note: None })
    }

    /// Nobody else holds it while a batch is on its way.
    fn conn(&self) -> MutexGuard<'_, Connection> {
        self.conn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct SqliteCanceller(Arc<InterruptHandle>);

impl Canceller for SqliteCanceller {
    fn cancel(&self) {
        self.0.interrupt();
    }
}

impl Session for SqliteSession {
    fn canceller(&self) -> Box<dyn Canceller> {
        Box::new(SqliteCanceller(Arc::clone(&self.interrupt)))
    }

    fn id(&self) -> Option<u64> {
        None
    }

    fn begin(&mut self) -> Result<(), Failure> {
        self.lock_waits.around(|| self.conn().execute_batch("BEGIN").map_err(failure))
    }

    fn send(&mut self, body: &mut Body) -> Result<Accepted, Failure> {
        self.lock_waits.around(|| self.insert(body))
    }

    fn prepare(&mut self, sql: &str) -> Result<usize, Failure> {
        self.conn().prepare(sql).map_err(failure)?;
        self.asked.push(sql.to_owned());
        self.conn().set_prepared_statement_cache_capacity(KEPT_STATEMENTS);
        Ok(self.asked.len() - 1)
    }

    fn ask(&mut self, statement: usize, values: &[Value], rows: &mut Rows) -> Result<u64, Failure> {
        let sql = self.asked.get(statement).ok_or_else(|| Failure::fatal("no statement of this number"))?;
        take(&self.conn(), sql, values, rows)
    }

    fn ask_text(&mut self, sql: &str, rows: &mut Rows) -> Result<u64, Failure> {
        take(&self.conn(), sql, &[], rows)
    }

    fn forget(&mut self) -> Result<(), Failure> {
        self.asked.clear();
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.lock_waits.around(|| self.conn().execute_batch("COMMIT").map_err(failure))
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        if self.conn().is_autocommit() {
            // SQLite takes a transaction back by itself when an interrupt ends a write.
            return Ok(());
        }
        self.conn().execute_batch("ROLLBACK").map_err(failure)
    }
}

/// Runs a statement and takes its rows. Gives the number of rows it changed.
fn take(conn: &Connection, sql: &str, values: &[Value], rows: &mut Rows) -> Result<u64, Failure> {
    let mut statement = conn.prepare_cached(sql).map_err(failure)?;
    for (index, value) in values.iter().enumerate() {
        statement.raw_bind_parameter(index + 1, value).map_err(failure)?;
    }
    let columns = statement.column_count();
    rows.begin(columns);
    if columns == 0 {
        return Ok(statement.raw_execute().map_err(failure)? as u64);
    }
    let mut answer = statement.raw_query();
    while let Some(row) = answer.next().map_err(failure)? {
        for column in 0..columns {
            rows.push(from_sqlite(row.get_ref(column).map_err(failure)?));
        }
    }
    Ok(0)
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Self::Int(number) => ToSqlOutput::Borrowed(ValueRef::Integer(*number)),
            // SQLite's integers are signed; what is larger is stored as a real, as SQLite does with such a literal.
            Self::UInt(number) => match i64::try_from(*number) {
                Ok(number) => ToSqlOutput::Borrowed(ValueRef::Integer(number)),
                Err(_) => ToSqlOutput::Borrowed(ValueRef::Real(*number as f64)),
            },
            Self::Real(number) => ToSqlOutput::Borrowed(ValueRef::Real(*number)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text)),
            Self::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        })
    }
}

fn from_sqlite(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(text.into()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.into()),
    }
}

fn failure(error: rusqlite::Error) -> Failure {
    let code = error.sqlite_error().map(|error| i64::from(error.extended_code));
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => FailureKind::Retry,
        Some(ErrorCode::DiskFull | ErrorCode::TooBig) => FailureKind::Full,
        Some(ErrorCode::OperationInterrupted) => FailureKind::Cancelled,
        _ => FailureKind::Fatal,
    };
    Failure { kind, code, message: error.to_string() }
}
