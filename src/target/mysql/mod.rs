//! Servers of the MySQL family: MariaDB, MySQL and what speaks their protocol.

pub mod columns;
pub mod connect;
pub mod control;
pub mod errors;
pub mod globals;
pub mod session;
pub mod settings;
pub mod settle;
pub mod socket;
pub mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub use connect::{Access, SslMode};
pub use control::{Flavour, SharedControl};

use control::{Control, escape, lock, quote_identifier};
use globals::Globals;
use table::{Closing, MysqlTable, Work};

use super::engines::Engine;
use super::{Failure, Limits, Settled, Table, TableFacts, TableOrder, Target, Verdict};
use crate::error::Error;
use crate::load::Method;
use crate::plan::{Cell, CurvePlan, Flush};
use crate::record::run::TargetRecord;
use crate::schema::Dialect;

/// Variables of the server itself that decide how fast a load is.
const SERVER_VARIABLES: &[&str] = &[
    "version_comment",
    "log_bin",
    "sync_binlog",
    "binlog_format",
    "max_allowed_packet",
    "local_infile",
    "sql_mode",
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
    "innodb_redo_log_capacity",
    "innodb_flush_method",
    "innodb_doublewrite",
    "innodb_flush_log_at_trx_commit",
    "rocksdb_block_cache_size",
    "aria_pagecache_buffer_size",
    "key_buffer_size",
    "max_connections",
    "read_only",
    "super_read_only",
    "innodb_read_only",
    "auto_increment_increment",
    "wsrep_on",
    "datadir",
];

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
    control: Option<SharedControl>,
    closing: Closing,
    /// The engines that curves have loaded so far: what they may still be busy with.
    loaded: Vec<Engine>,
}

impl MysqlTarget {
    /// A server somebody else runs. Nothing is opened yet.
    pub fn external(label: &str, access: Access, mode: Mode, run_directory: &Path) -> Self {
        Self {
            label: label.to_owned(),
            access,
            mode,
            run_directory: run_directory.to_owned(),
            control: None,
            closing: Closing::Export,
            loaded: Vec::new(),
        }
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

    fn variable(&mut self, name: &str) -> Result<Option<String>, Error> {
        let control = self.control()?;
        let value = lock(&control).variable(name);
        value.map_err(|failure| self.error(&failure))
    }
}

impl Target for MysqlTarget {
    fn describe(&mut self) -> Result<TargetRecord, Error> {
        let control = self.control()?;
        let mut notes = Vec::new();
        if self.mode == Mode::MayChange {
            notes = globals::restore_leftovers(&control).map_err(|failure| self.error(&failure))?;
            for note in &mut notes {
                note.insert_str(0, "put back what an earlier run left changed: ");
            }
        }
        let mut control = lock(&control);
        let variables = control.variables(SERVER_VARIABLES.iter().copied()).map_err(|failure| self.error(&failure))?;
        let is_on = |name: &str| variables.get(name).is_some_and(|value| is_on(value));
        if is_on("read_only") {
            notes.push("read_only is ON: is this a replica?".into());
        }
        if is_on("log_bin") {
            let sync = variables.get("sync_binlog").map_or("unknown", String::as_str);
            notes.push(format!("the binary log is on (sync_binlog={sync}): it is part of what every commit costs"));
        }
        Ok(TargetRecord { flavour: control.flavour.word().into(), version: control.version.clone(), variables, notes })
    }

    fn judge(&mut self, curve: &CurvePlan) -> Result<Verdict, Error> {
        let cell = &curve.cell;
        let control = self.control()?;
        let flavour = lock(&control).flavour;
        if let Some(why) = unable(cell, flavour) {
            return Ok(Verdict::Unable { why });
        }
        let prevented = |why: String| Ok(Verdict::Prevented { why });
        for name in ["super_read_only", "innodb_read_only"] {
            if self.variable(name)?.is_some_and(|value| is_on(&value)) {
                return prevented(format!("{name} is ON: this server takes no writes (a replica?); load its primary"));
            }
        }
        let engines = lock(&control).named_rows("SHOW ENGINES").map_err(|failure| self.error(&failure))?;
        if let Some(why) = engine_missing(&cell.engine_entry, &engines) {
            return prevented(why);
        }
        for (name, _) in cell.variables() {
            if self.variable(&name)?.is_none() {
                return prevented(format!("this server has no variable {name}"));
            }
        }
        if let Some(variable) = needs_restart(cell) {
            return prevented(format!(
                "{variable} counts only when the server starts: use --target scratch, or start the server with it and leave \
                 it as it is here"
            ));
        }
        if cell.method == Method::LoadData && self.variable("local_infile")?.is_some_and(|value| !is_on(&value)) {
            return prevented("local_infile is OFF; switch it on at the server: SET GLOBAL local_infile=1".into());
        }
        if let Some(most) = self.variable("max_connections")?.and_then(|value| value.parse::<u64>().ok())
            && most < u64::from(cell.connections) + 1
        {
            return prevented(format!(
                "{} loading connections and one for control are more than max_connections={most}; give fewer with --connections",
                cell.connections
            ));
        }
        Ok(Verdict::runs())
    }

    fn open(&mut self, order: &TableOrder<'_>) -> Result<Box<dyn Table>, Failure> {
        let control = self.control().map_err(|error| Failure::fatal(error.to_string()))?;
        let cell = &order.curve.cell;
        let mut globals = Globals::new(Arc::clone(&control), &self.run_directory);
        // When anything fails from here on, dropping `globals` puts back what was changed.
        let mut notes = Vec::new();
        for (name, value) in cell.variables() {
            notes.extend(globals.set(&name, &value)?);
        }
        let mut table = create_table(&control, order, globals, self.closing)?;
        table.facts.notes.extend(notes);
        if !order.rehearsal && !self.loaded.contains(&cell.engine_entry) {
            self.loaded.push(cell.engine_entry.clone());
        }
        Ok(Box::new(table))
    }

    fn settle(&mut self, limit: Duration, asked_to_end: &dyn Fn() -> bool) -> Option<Settled> {
        if limit.is_zero() || self.loaded.is_empty() {
            return None;
        }
        // A server that cannot be reached is for the curve to find.
        let control = self.control().ok()?;
        let flavour = lock(&control).flavour;
        settle::wait(&control, &settle::idle(&self.loaded, flavour), limit, settle::PAUSE, asked_to_end)
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.control = None;
        Ok(())
    }
}

fn is_on(value: &str) -> bool {
    globals::same_value(value, "ON")
}

/// What no server of this flavour can do.
pub(crate) fn unable(cell: &Cell, flavour: Flavour) -> Option<String> {
    if cell.method == Method::Bulk && flavour == Flavour::MySql {
        return Some("bulk is MariaDB's COM_STMT_BULK_EXECUTE; MySQL has no such command, and one round trip a row would be another load".into());
    }
    if cell.key.storage() == Some(crate::key::Storage::Native) && flavour == Flavour::MySql {
        return Some("the UUID type is MariaDB's; use binary16 on MySQL".into());
    }
    None
}

/// Why a server cannot make tables of an engine, from what SHOW ENGINES said.
pub(crate) fn engine_missing(engine: &Engine, offered: &[BTreeMap<String, Option<String>>]) -> Option<String> {
    let entry = offered
        .iter()
        .find(|row| row.get("engine").cloned().flatten().is_some_and(|name| name.eq_ignore_ascii_case(&engine.name)));
    let plugin = engine.plugin.as_ref().map_or_else(String::new, |plugin| {
        format!("; it comes with the plugin {plugin} (INSTALL SONAME '{plugin}' on MariaDB)")
    });
    match entry {
        None => Some(format!("this server has no engine {}{plugin}", engine.name)),
        Some(row) => match row.get("support").cloned().flatten().unwrap_or_default().to_ascii_uppercase().as_str() {
            "YES" | "DEFAULT" => None,
            "DISABLED" => Some(format!("the engine {} is there and switched off on this server", engine.name)),
            _ => Some(format!("this server was built without the engine {}{plugin}", engine.name)),
        },
    }
}

/// A variable of the cell that the engine table knows to count only when the server starts.
fn needs_restart(cell: &Cell) -> Option<&str> {
    let engine = &cell.engine_entry;
    let knob = engine.flush.as_ref().filter(|knob| !knob.dynamic && matches!(cell.flush, Flush::Level(_)));
    let cache = engine.cache.as_ref().filter(|cache| !cache.dynamic && cell.cache_bytes.is_some());
    knob.map(|knob| knob.variable.as_str()).or(cache.map(|cache| cache.variable.as_str()))
}

/// Creates the table of a curve on a server that has the settings of its cell in force.
///
/// # Errors
/// What the server said; nothing is left behind.
pub(crate) fn create_table(
    control: &SharedControl,
    order: &TableOrder<'_>,
    globals: Globals,
    closing: Closing,
) -> Result<MysqlTable, Failure> {
    create(control, order)?;
    let facts = facts(control, order);
    let quoted_name = quote_identifier(order.table);
    let facts = facts.inspect_err(|_| {
        let _ = lock(control).execute_patiently(&format!("DROP TABLE {quoted_name}"));
    })?;
    Ok(MysqlTable {
        control: Arc::clone(control),
        name: order.table.to_owned(),
        facts,
        globals,
        work: Work::new(),
        closing,
    })
}

fn create(control: &SharedControl, order: &TableOrder<'_>) -> Result<(), Failure> {
    let cell = &order.curve.cell;
    let engine = &cell.engine_entry;
    let options = format!("ENGINE={} {} COMMENT='{}'", engine.name, engine.options, escape(order.mark));
    let name = quote_identifier(order.table);
    let index = quote_identifier(&format!("{}_id2", order.table));
    for sql in order.statements(Dialect::Mysql, &name, &index, &options)? {
        lock(control).execute_patiently(&sql).map_err(|mut refused| {
            if refused.code == Some(1050) {
                refused.message = format!("table {} is there and is not this run's; it is left alone", order.table);
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
    let columns = columns::read(&mut control, &database, order.table)?;
    let mut names: Vec<&str> = SERVER_VARIABLES.to_vec();
    names.extend(engine.record.iter().map(String::as_str));
    names.extend(engine.flush.iter().map(|knob| knob.variable.as_str()));
    names.extend(engine.cache.iter().map(|cache| cache.variable.as_str()));
    let asked = cell.variables();
    names.extend(asked.iter().map(|(name, _)| name.as_str()));
    let variables = control.variables(names)?;
    let (flush_in_force, sample_notes) = durability(cell, &variables);
    let variables_datadir = variables.get("datadir").map(PathBuf::from).filter(|path| is_local && path.is_dir());
    let packet = variables.get("max_allowed_packet").and_then(|value| value.parse().ok()).unwrap_or(1 << 20);
    Ok(TableFacts {
        quoted_name,
        create_table,
        dialect: Dialect::Mysql,
        columns,
        flush_in_force,
        variables,
        limits: Limits {
            statement_bytes: packet,
            placeholders: 65_535,
            transactional: engine.can.transactions,
            keeps_rows: engine.can.keeps_rows,
            ..Limits::default()
        },
        notes: engine.notes.clone(),
        // A server on a Unix socket has its files on this machine, unless it sits in a container of its own.
        data_directory: variables_datadir,
        sample_notes,
    })
}

/// Durability in force: the knob, what was asked for by name, and the binary log.
fn durability(cell: &Cell, variables: &BTreeMap<String, String>) -> (String, Vec<String>) {
    let mut names: Vec<String> = cell.engine_entry.flush.iter().map(|knob| knob.variable.clone()).collect();
    if let Flush::Named(pairs) = &cell.flush {
        names.extend(pairs.iter().map(|(name, _)| name.clone()));
    }
    let log_is_on = variables.get("log_bin").is_some_and(|value| is_on(value));
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

/// Drops the tables of a run that still bear its mark, on the server behind `access`. Gives what was done, as sentences.
///
/// # Errors
/// The server cannot be reached, or a table cannot be dropped.
pub fn clean(access: Access, tables: &[(String, String)]) -> Result<Vec<String>, Failure> {
    let mut control = Control::open(access)?;
    let mut done = Vec::new();
    let database = control.access().place.database.clone();
    for (table, mark) in tables {
        let comment: Option<String> = control.first(&format!(
            "SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{}' AND TABLE_NAME = '{}'",
            escape(&database),
            escape(table)
        ))?;
        match comment {
            None => done.push(format!("table {table} is gone already")),
            Some(comment) if !comment.contains(mark.as_str()) => {
                done.push(format!("table {table} does not bear this run's mark and is left alone"));
            }
            Some(_) => {
                control.execute_patiently(&format!("DROP TABLE {}", quote_identifier(table))).map_err(
                    |mut refused| {
                        let holders = if refused.code == Some(1205) { control.lock_holders(table) } else { None };
                        let who =
                            holders.map_or_else(String::new, |holders| format!("; its metadata lock is {holders}"));
                        refused.message = format!("table {table} could not be dropped: {}{who}", refused.message);
                        refused
                    },
                )?;
                done.push(format!("table {table} is dropped"));
            }
        }
    }
    Ok(done)
}
