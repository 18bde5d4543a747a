//! Servers of the MySQL family: MariaDB, MySQL and what speaks their protocol.

pub mod account;
pub mod cluster;
pub mod columns;
pub mod connect;
pub mod control;
pub mod errors;
pub mod execute;
pub mod globals;
pub mod leash;
pub mod limits;
pub mod offer;
pub mod orphans;
pub mod place;
pub mod preflight;
pub mod privileges;
pub mod relay;
pub mod session;
pub mod settings;
pub mod settle;
pub mod socket;
pub mod status;
pub mod table;
pub mod variables;
pub mod wire;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub use connect::Access;
pub use control::{Flavour, SharedControl};

use cluster::Cluster;
use cluster::table::ClusterTable;
use control::{Control, escape, lock, quote_identifier};
use globals::{Globals, SharedGlobals, lock_globals};
use offer::Offer;
use preflight::Preflight;
use table::{Closing, MysqlTable, Work};
use variables::Named;

use super::NOT_MARKED;
use super::{
    Canceller, Failure, FailureKind, Purpose, Reins, ServerSessions, Settled, Table, TableFacts, TableOrder, Target,
    Verdict,
};
use crate::engine::Engine;
use crate::error::Error;
use crate::plan::method::Method;
use crate::plan::{Care, Cell, CurvePlan, Flush, Plan};
use crate::record::run::TargetRecord;
use crate::schema::{Definition, Dialect};

/// Variables of the server itself that decide how fast a load is.
const SERVER_VARIABLES: &[&str] = &[
    "version_comment",
    "version_compile_machine",
    "log_bin",
    "sync_binlog",
    "binlog_format",
    "binlog_row_image",
    "binlog_transaction_compression",
    "log_bin_compress",
    "max_allowed_packet",
    "local_infile",
    "query_cache_type",
    "query_cache_size",
    "sql_mode",
    "character_set_server",
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "innodb_log_buffer_size",
    "innodb_redo_log_capacity",
    "innodb_flush_method",
    // What MariaDB 11 has in place of innodb_flush_method.
    "innodb_data_file_buffering",
    "innodb_data_file_write_through",
    "innodb_log_file_buffering",
    "innodb_log_file_write_through",
    "innodb_doublewrite",
    "innodb_flush_log_at_trx_commit",
    "innodb_page_size",
    "rocksdb_block_cache_size",
    "aria_pagecache_buffer_size",
    "key_buffer_size",
    "max_heap_table_size",
    "max_connections",
    "read_only",
    "super_read_only",
    "innodb_read_only",
    "auto_increment_increment",
    "performance_schema",
    "wsrep_on",
    "datadir",
];

/// How long `clean` waits for the end of a session of its run: one that waits for a disk looks once a minute.
const CLEAN_LIMIT: Duration = Duration::from_secs(75);

/// Whether a command may change anything on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// `check`: connects and reads.
    ReadsOnly,
    /// `run`.
    MayChange,
}

/// A server of the MySQL family.
pub struct MysqlTarget {
    label: String,
    access: Access,
    mode: Mode,
    run_directory: PathBuf,
    care: Care,
    /// The user's own CREATE TABLE template.
    schema: Option<String>,
    control: Option<SharedControl>,
    /// Its endpoints, where several are named.
    cluster: Option<Cluster>,
    globals: Option<SharedGlobals>,
    preflight: Option<Preflight>,
    closing: Closing,
    /// The engines that curves have loaded so far: what they may still be busy with.
    loaded: Vec<Engine>,
}

impl MysqlTarget {
    /// A server somebody else runs. Nothing is opened yet.
    pub fn external(label: &str, access: Access, mode: Mode, run_directory: &Path) -> Self {
        let access = Access { reads_only: mode == Mode::ReadsOnly, ..access };
        Self {
            label: label.to_owned(),
            cluster: Cluster::of(&access),
            access,
            mode,
            run_directory: run_directory.to_owned(),
            care: Care::default(),
            schema: None,
            control: None,
            globals: None,
            preflight: None,
            closing: Closing::Export,
            loaded: Vec::new(),
        }
    }

    /// With what the plan allows, and the table it wants.
    #[must_use]
    pub fn of_plan(self, plan: &Plan) -> Self {
        Self { care: plan.care, schema: plan.schema.as_ref().map(|schema| schema.text.clone()), ..self }
    }

    /// The control connection, opened on first use.
    ///
    /// # Errors
    /// The server cannot be reached: with what helps.
    pub fn control(&mut self) -> Result<SharedControl, Error> {
        if let Some(control) = &self.control {
            return Ok(Arc::clone(control));
        }
        let control = Control::open(self.access.clone()).map_err(|failure| self.error(&failure))?;
        let control = Arc::new(Mutex::new(control));
        self.control = Some(Arc::clone(&control));
        Ok(control)
    }

    fn error(&self, failure: &Failure) -> Error {
        Error::target(&self.label, failure.to_string(), "rowcliff check with the same options only connects and reads")
    }

    /// What the server says of itself, read on first use.
    fn preflight(&mut self) -> Result<&Preflight, Error> {
        if self.preflight.is_none() {
            let control = self.control()?;
            let read = Preflight::read(&mut lock(&control), self.care, self.schema.clone());
            self.preflight = Some(read.map_err(|failure| self.error(&failure))?);
        }
        match &self.preflight {
            Some(preflight) => Ok(preflight),
            None => Err(self.error(&Failure::fatal("nothing was read"))),
        }
    }

    /// The changes of global variables, which outlive the curve that made them.
    fn globals(&mut self, control: &SharedControl) -> SharedGlobals {
        let directory = &self.run_directory;
        Arc::clone(self.globals.get_or_insert_with(|| Globals::shared(Arc::clone(control), directory)))
    }
}

impl Target for MysqlTarget {
    fn describe(&mut self) -> Result<TargetRecord, Error> {
        let control = self.control()?;
        let mut servers = vec![Arc::clone(&control)];
        if let Some(cluster) = &mut self.cluster {
            cluster.reached();
            servers = cluster.controls();
        }
        let mut notes = Vec::new();
        for server in servers {
            let left: Result<Vec<String>, Failure> = match self.mode {
                Mode::MayChange => globals::restore_leftovers(&server, &self.run_directory)
                    .map(|done| done.into_iter().map(|done| format!("an earlier run's settings: {done}")).collect()),
                Mode::ReadsOnly => globals::leftovers_of(&server),
            };
            notes.extend(left.map_err(|failure| self.error(&failure))?);
        }
        notes.extend(self.preflight()?.notes());
        notes.extend(self.cluster.iter().flat_map(Cluster::notes));
        let mut control = lock(&control);
        notes.extend(control.encryption_note());
        let variables = control.variables(SERVER_VARIABLES.iter().copied()).map_err(|failure| self.error(&failure))?;
        Ok(TargetRecord { flavour: control.flavour.word().into(), version: control.version.clone(), variables, notes })
    }

    fn judge(&mut self, curve: &CurvePlan) -> Result<Verdict, Error> {
        if let Some(cluster) = &mut self.cluster {
            let read = cluster.read(self.care, self.schema.as_deref());
            return match read {
                Ok(()) => Ok(cluster.judge(curve)),
                Err(failure) => Err(self.error(&failure)),
            };
        }
        Ok(self.preflight()?.judge(curve))
    }

    fn open(&mut self, order: &TableOrder<'_>) -> Result<Box<dyn Table>, Failure> {
        let control = self.control().map_err(|error| Failure::fatal(error.to_string()))?;
        let cell = &order.curve.cell;
        let globals = self.globals(&control);
        if lock_globals(&globals).is_pending() {
            // What an earlier curve could not put back: under it no other curve runs.
            lock_globals(&globals).restore()?;
        }
        let mut table = MysqlTable::planned(&control, order, globals, self.closing);
        // When anything fails from here on, dropping `table` puts back what was changed.
        let mut notes = Vec::new();
        match &mut self.cluster {
            Some(cluster) => cluster.prepare(&control, order)?,
            None => {
                for (name, value) in cell.variables() {
                    notes.extend(lock_globals(&table.globals).set(&name, &value)?);
                }
            }
        }
        table.named.read(&mut lock(&control))?;
        table.make_or_find(order)?;
        table.look_at_session(order)?;
        table.facts.notes.extend(notes);
        if order.purpose != Purpose::Trial && !self.loaded.contains(&cell.engine_entry) {
            self.loaded.push(cell.engine_entry.clone());
        }
        match &self.cluster {
            Some(cluster) => Ok(Box::new(ClusterTable::over(table, cluster.endpoints(), order)?)),
            None => Ok(Box::new(table)),
        }
    }

    fn reins(&self) -> Arc<dyn Reins> {
        Arc::new(self.access.leash.clone())
    }

    fn settle(&mut self, limit: Duration, asked_to_end: &dyn Fn() -> bool) -> Option<Settled> {
        if limit.is_zero() || self.loaded.is_empty() {
            return None;
        }
        // A server that cannot be reached is for the curve to find.
        let control = self.control().ok()?;
        let flavour = lock(&control).flavour;
        let idle = settle::idle(&self.loaded, flavour);
        let Some(cluster) = &self.cluster else {
            return settle::wait(&control, &idle, limit, settle::PAUSE, asked_to_end);
        };
        cluster.settle(&idle, limit, asked_to_end)
    }

    fn finish(&mut self) -> Result<(), Error> {
        // A last attempt at what could not be put back before.
        if let Some(control) = &self.control {
            lock(control).insist();
        }
        let restored = self.globals.take().map_or(Ok(()), |globals| lock_globals(&globals).restore().map(|_| ()));
        self.control = None;
        self.cluster = Cluster::of(&self.access);
        restored.map_err(|failure| {
            Error::target(&self.label, failure.to_string(), "it stays saved: `rowcliff restore` tries again")
        })
    }
}

fn is_on(value: &str) -> bool {
    globals::same_value(value, "ON")
}

/// What no server of this flavour can do.
pub(crate) fn unable(cell: &Cell, flavour: Flavour) -> Option<String> {
    if let Some(why) = variables::conflict_of(cell) {
        return Some(why);
    }
    if cell.method == Method::Bulk && flavour == Flavour::MySql {
        return Some("bulk is MariaDB's COM_STMT_BULK_EXECUTE; MySQL has no such command, and one round trip a row would be another load".into());
    }
    if cell.key.storage() == Some(crate::key::Storage::Native) && flavour == Flavour::MySql {
        return Some("the UUID type is MariaDB's; use binary16 on MySQL".into());
    }
    None
}

/// Creates the table of a curve, or finds it again, on a server that has the settings of its cell in force.
///
/// # Errors
/// What the server said; nothing is left behind.
pub(crate) fn create_table(
    control: &SharedControl,
    order: &TableOrder<'_>,
    globals: SharedGlobals,
    closing: Closing,
    named: Named,
) -> Result<MysqlTable, Failure> {
    let mut table = MysqlTable::planned(control, order, globals, closing);
    table.named = named;
    table.make_or_find(order)?;
    Ok(table)
}

impl MysqlTable {
    /// A table that is not there yet. Dropping it puts back what `globals` changed.
    fn planned(control: &SharedControl, order: &TableOrder<'_>, globals: SharedGlobals, closing: Closing) -> Self {
        Self {
            control: Arc::clone(control),
            name: order.table.to_owned(),
            mark: order.mark.to_owned(),
            facts: TableFacts::new(quote_identifier(order.table), Dialect::Mysql),
            globals,
            ask_tablespaces: place::AskTablespaces::of(&order.curve.cell.engine_entry.name),
            engine_counters: order.curve.cell.engine_entry.counters.clone(),
            work: Work::new(),
            closing,
            named: Named::of(&order.curve.cell),
            method: order.curve.cell.method,
            closed: false,
            opened: Vec::new(),
        }
    }

    fn make_or_find(&mut self, order: &TableOrder<'_>) -> Result<(), Failure> {
        if order.purpose == Purpose::GoOn {
            find(&mut lock(&self.control), order)?;
            self.know(facts(&self.control, order)?);
            return Ok(());
        }
        create(&self.control, order).inspect_err(|_| {
            let _ = drop_marked(&mut lock(&self.control), order.table, order.mark);
        })?;
        let facts = facts(&self.control, order).inspect_err(|_| {
            let _ = drop_marked(&mut lock(&self.control), order.table, order.mark);
        })?;
        self.know(facts);
        Ok(())
    }

    fn know(&mut self, facts: TableFacts) {
        self.work.speaks_utf8 = !facts.has_ascii_names();
        self.facts = facts;
    }

    /// Opens one loading connection to see that its session is what a load needs, and records what it leaves as it is. A new table
    /// goes again where it is not.
    pub(crate) fn look_at_session(&mut self, order: &TableOrder<'_>) -> Result<(), Failure> {
        let access = lock(&self.control).access().clone().loading_by(self.method);
        let look = || {
            // The socket is held as long: it is what a pull of the leash closes.
            let (mut conn, _socket) = access.connect()?;
            connect::speak(&mut conn)?;
            let left = variables::prepare_loading(&mut conn, &self.named)?;
            account::prepared_statements_fit(&mut lock(&self.control), order.curve)?;
            Ok(left)
        };
        match look() {
            Ok(left) => {
                self.facts.variables.extend(left);
                Ok(())
            }
            Err(refused) => {
                if order.purpose != Purpose::GoOn {
                    let _ = drop_marked(&mut lock(&self.control), order.table, order.mark);
                }
                Err(refused)
            }
        }
    }
}

/// Whether the table of a curve that goes on is there, and this run's.
fn find(control: &mut Control, order: &TableOrder<'_>) -> Result<(), Failure> {
    let (kind, message) = match bears_mark(control, order.table, order.mark)? {
        Some(true) => return Ok(()),
        Some(false) => (FailureKind::Broken, NOT_MARKED),
        None => (FailureKind::Gone, "is not there any more"),
    };
    Err(Failure { kind, code: None, message: format!("table {} {message}", order.table) })
}

fn create(control: &SharedControl, order: &TableOrder<'_>) -> Result<(), Failure> {
    let cell = &order.curve.cell;
    let engine = &cell.engine_entry;
    let options = format!("ENGINE={} {} COMMENT='{}'", engine.name, engine.options, escape(order.mark));
    let name = quote_identifier(order.table);
    let index = quote_identifier(&format!("{}_id2", order.table));
    for sql in order.statements(Dialect::Mysql, &name, &index, &options)? {
        let mut made = lock(control).execute_patiently(&sql);
        if made.as_ref().is_err_and(|refused| refused.code == Some(1050))
            && matches!(drop_marked(&mut lock(control), order.table, order.mark), Ok(Dropped::Dropped))
        {
            // This curve's own, of a rowcliff that was killed before anything of it was recorded.
            made = lock(control).execute_patiently(&sql);
        }
        made.map_err(|mut refused| {
            if refused.code == Some(1050) {
                refused.message = format!("table {} is there and is not this run's; it is left alone", order.table);
            } else if is_lock_wait(&refused) {
                refused = locked(&mut lock(control), order.table, refused);
            } else {
                refused.message = format!("CREATE TABLE: {}", refused.message);
            }
            refused
        })?;
    }
    Ok(())
}

/// Everything worth knowing of a table that was just created, read back from the server.
fn facts(control: &SharedControl, order: &TableOrder<'_>) -> Result<TableFacts, Failure> {
    let cell = &order.curve.cell;
    let engine = &cell.engine_entry;
    let mut control = lock(control);
    let is_local = control.access().place.socket.is_some();
    let database = control.access().place.database.clone();
    let made: Option<String> = control.first(&format!(
        "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{}' AND TABLE_NAME = '{}'",
        escape(&database),
        escape(order.table)
    ))?;
    let made = made.unwrap_or_default();
    if !made.eq_ignore_ascii_case(&engine.name) {
        return Err(Failure::fatal(format!(
            "asked for ENGINE={} and the server made a table of {made}; a curve under the wrong name is not run (enforce_storage_engine, or an engine that is switched off)",
            engine.name
        )));
    }
    let quoted_name = quote_identifier(order.table);
    let create_table = control
        .named_rows(&format!("SHOW CREATE TABLE {quoted_name}"))?
        .pop()
        .and_then(|mut row| row.remove("create table").flatten())
        .unwrap_or_default();
    let mut columns = columns::read(&mut control, &database, order.table)?;
    Definition::parse(&create_table).mark(&mut columns);
    let mut names: Vec<&str> = SERVER_VARIABLES.to_vec();
    names.extend(limits::LIMIT_VARIABLES);
    names.extend(engine.record.iter().map(String::as_str));
    names.extend(engine.flush.iter().map(|knob| knob.variable.as_str()));
    names.extend(engine.cache.iter().map(|cache| cache.variable.as_str()));
    let asked = cell.variables();
    names.extend(asked.iter().map(|(name, _)| name.as_str()));
    // One that is varied and left alone here has a value too.
    names.extend(cell.settings.iter().map(|(name, _)| name.as_str()));
    let variables = control.variables(names)?;
    let logged = variables.get("log_bin").is_some_and(|value| is_on(value)) && !control.access().skip_binlog;
    let (flush_in_force, sample_notes) = durability(cell, &variables, logged);
    let data_directory = variables.get("datadir").map(PathBuf::from).filter(|path| is_local && path.is_dir());
    Ok(TableFacts {
        quoted_name,
        create_table,
        dialect: Dialect::Mysql,
        columns,
        flush_in_force,
        limits: limits::limits(engine, &variables, logged, order.schema.is_none()),
        variables,
        notes: engine.notes.clone(),
        // A server on a Unix socket has its files on this machine, unless it sits in a container of its own.
        data_directory,
        sample_notes,
        is_fresh: order.purpose != Purpose::GoOn,
    })
}

/// Durability in force: the knob, what was asked for by name, and the binary log.
fn durability(cell: &Cell, variables: &BTreeMap<String, String>, log_is_on: bool) -> (String, Vec<String>) {
    let mut names: Vec<String> = cell.engine_entry.flush.iter().map(|knob| knob.variable.clone()).collect();
    if let Flush::Named(pairs) = &cell.flush {
        names.extend(pairs.iter().map(|(name, _)| name.clone()));
    }
    if log_is_on {
        names.push("sync_binlog".into());
    }
    let mut words: Vec<String> = Vec::new();
    for name in names {
        if let Some(value) = variables.get(&name) {
            let word = format!("{name}={value}");
            if !words.contains(&word) {
                words.push(word);
            }
        }
    }
    let synced = log_is_on
        && matches!(cell.flush, Flush::Level(0 | 2))
        && variables.get("sync_binlog").is_some_and(|value| value == "1");
    (words.join(" "), if synced { vec!["binlog-synced".into()] } else { Vec::new() })
}

/// Whether DDL gave up because a session holds the table.
fn is_lock_wait(failure: &Failure) -> bool {
    failure.code == Some(1205)
}

/// A metadata lock in words: which table, and who holds it.
fn locked(control: &mut Control, table: &str, failure: Failure) -> Failure {
    let database = control.access().place.database.clone();
    let holders = control.lock_holders(&database, table).unwrap_or_else(|| "held by another session".into());
    Failure {
        message: format!(
            "the metadata lock of table {table} was not to be had within {} s: it is {holders}; end that session or its transaction",
            control::LOCK_WAIT_SECONDS
        ),
        ..failure
    }
}

/// What became of a table that was to be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    Dropped,
    /// It was not there.
    Gone,
    /// It does not bear the mark and was not touched.
    Foreign,
}

fn drop_statement(table: &str) -> String {
    format!("DROP TABLE {}", quote_identifier(table))
}

/// Drops a table if it bears `mark`, and no other.
///
/// # Errors
/// What the server said; a metadata lock names table and session.
pub fn drop_marked(control: &mut Control, table: &str, mark: &str) -> Result<Dropped, Failure> {
    match bears_mark(control, table, mark)? {
        None => Ok(Dropped::Gone),
        Some(false) => Ok(Dropped::Foreign),
        Some(true) => {
            control.execute_patiently(&drop_statement(table)).map_err(|mut refused| {
                if is_lock_wait(&refused) {
                    refused = locked(control, table, refused);
                }
                refused.message = format!("table {table} could not be dropped: {}", refused.message);
                refused
            })?;
            Ok(Dropped::Dropped)
        }
    }
}

/// Whether a table bears a mark; `None` when it is not there.
fn bears_mark(control: &mut Control, table: &str, mark: &str) -> Result<Option<bool>, Failure> {
    let database = control.access().place.database.clone();
    let comment: Option<String> = control.first(&format!(
        "SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{}' AND TABLE_NAME = '{}'",
        escape(&database),
        escape(table)
    ))?;
    Ok(comment.map(|comment| is_marked(&comment, mark)))
}

/// Whether a comment holds a mark. It ends with the number of the curve: 1 is not 12.
fn is_marked(comment: &str, mark: &str) -> bool {
    comment.match_indices(mark).any(|(at, _)| !comment[at + mark.len()..].starts_with(|c: char| c.is_ascii_digit()))
}

/// Which engines the server behind `access` has. Reads only.
///
/// # Errors
/// The server cannot be reached.
pub fn offer(access: Access) -> Result<Offer, Failure> {
    Offer::read(&mut Control::open(access)?)
}

/// Drops the tables of a run that still bear its mark, on the server behind `access`, and puts back what the run left
/// changed. Sessions that its journal tells of and that are still there are ended first. Gives what was done, as sentences. Beside
/// the `tables` that are known, those that bear one of `marks` are dropped: a trial that was killed leaves one that nothing
/// recorded.
///
/// # Errors
/// The server cannot be reached, a table cannot be dropped, or a variable cannot be put back.
pub fn clean(
    access: Access,
    tables: &[(String, String)],
    marks: &[String],
    told: &[ServerSessions],
    run_directory: &Path,
) -> Result<Vec<String>, Failure> {
    let is_cluster = access.place.is_cluster();
    let control = Arc::new(Mutex::new(Control::open(access)?));
    let mut done = globals::restore_run(&control, run_directory)?;
    let (here, own, started_at) = {
        let mut control = lock(&control);
        (control.access().place.name(), u64::from(control.id()), globals::server_started_at(&mut control).ok())
    };
    // The same number at another endpoint is somebody else's.
    let is_here = |sessions: &&ServerSessions| match &sessions.endpoint {
        Some(endpoint) => *endpoint == here,
        None => !is_cluster,
    };
    let left: Vec<u64> = told.iter().filter(is_here).flat_map(|sessions| sessions.left(started_at, &[own])).collect();
    orphans::end_within(&control, &left, &[own], CLEAN_LIMIT)?;
    let mut control = lock(&control);
    let mut tables = tables.to_vec();
    for (table, mark) in marked_tables(&mut control, marks)? {
        if !tables.iter().any(|(known, _)| *known == table) {
            tables.push((table, mark));
        }
    }
    for (table, mark) in &tables {
        done.push(match drop_marked(&mut control, table, mark)? {
            Dropped::Dropped => format!("table {table} is dropped"),
            Dropped::Gone => format!("table {table} is gone already"),
            Dropped::Foreign => format!("table {table} does not bear this run's mark and is left alone"),
        });
    }
    Ok(done)
}

/// What `clean` is doing at a server, and its end, over a connection of its own.
pub struct Cleaning {
    access: Access,
    /// The statements that drop the tables of the run.
    drops: Vec<String>,
}

impl Cleaning {
    /// Of these tables at the server behind `access`.
    pub fn of(access: &Access, tables: &[(String, String)]) -> Self {
        // Another leash: what holds the connections that are watched would close this one too.
        let access = Access { leash: leash::Leash::default(), ..access.clone() };
        Self { access, drops: tables.iter().map(|(table, _)| drop_statement(table)).collect() }
    }

    /// The sessions that drop them, with what the server says of them.
    fn drops(&self) -> Option<(Control, Vec<(u64, String)>)> {
        let mut control = Control::open(self.access.clone()).ok()?;
        let sessions = control.sessions().ok()?;
        let ours = sessions.iter().filter(|row| self.drops.contains(&control::word(row, "info")));
        let rows = ours
            .filter_map(|row| Some((control::word(row, "id").parse().ok()?, control::word(row, "state"))))
            .collect();
        Some((control, rows))
    }
}

impl Canceller for Cleaning {
    fn cancel(&self) {
        let Some((mut control, drops)) = self.drops() else { return };
        drops.into_iter().for_each(|(id, _)| control.kill(id));
    }

    fn doing(&self) -> Option<String> {
        self.drops()?.1.into_iter().map(|(_, state)| state).find(|state| !state.is_empty())
    }
}

/// The tables of this database that bear one of these marks, each with its mark.
fn marked_tables(control: &mut Control, marks: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let database = control.access().place.database.clone();
    let rows: Vec<(String, String)> = control.rows(&format!(
        "SELECT TABLE_NAME, TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{}' \
         AND TABLE_NAME LIKE 'rowcliff\\_%' AND TABLE_COMMENT LIKE '%rowcliff run=%'",
        escape(&database)
    ))?;
    let mark_of = |comment: &str| marks.iter().find(|mark| is_marked(comment, mark)).cloned();
    Ok(rows.into_iter().filter_map(|(table, comment)| Some((table, mark_of(&comment)?))).collect())
}
