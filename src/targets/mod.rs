//! Where rows go: the traits that a database implements, and what they hand around.
//!
//! A [`Target`] is one database. It opens a [`Table`] for each curve, and the table opens [`Session`]s, one for
//! each loading connection. Only a [`Canceller`] ends a statement before its time: the watchdog, Ctrl-C and
//! resume share it.

pub mod answer;
pub mod body;
pub mod definition;
pub mod mysql;
pub mod reading;
pub mod registry;
pub mod scratch;
pub mod sessions;
pub mod sqlite;
mod sqlite_lock;
pub mod sqlite_status;
pub mod state;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;
use crate::plan::counters::CounterChoice;
use crate::plan::{Cell, CurvePlan};
use crate::record::run::{EndpointRecord, TargetRecord};
pub use crate::rows::CANDIDATES;
use crate::rows::{Lookup, Value};
use crate::schema::{self, Column, Definition, Dialect, TemplateValues};
use crate::targets::body::Body;
pub use answer::Rows;
pub use reading::{Figure, Reading, ServerProcess, TableSize};
pub use sessions::ServerSessions;

/// What is said of a table that lost its mark meanwhile: it is somebody else's, and no command drops it.
pub const NOT_MARKED: &str = "does not bear this run's mark any more and is left alone";

pub trait Target: Send {
    /// Facts about it, as recorded. Reads only.
    ///
    /// # Errors
    /// It cannot be reached.
    fn describe(&mut self) -> Result<TargetRecord, Error>;

    /// What it can say about a curve without changing anything: the check of `check`, and the first of `run`.
    ///
    /// # Errors
    /// It cannot be reached.
    fn judge(&mut self, curve: &CurvePlan) -> Result<Verdict, Error>;

    /// Applies the settings of a curve and creates its table.
    ///
    /// # Errors
    /// What the target said; nothing of the curve is left behind.
    fn open(&mut self, order: &TableOrder<'_>) -> Result<Box<dyn Table>, Failure>;

    /// Cells of one group can share what a trial needs (a server that is started for it): they are tried one after the
    /// other.
    fn trial_group(&self, _curve: &CurvePlan) -> usize {
        0
    }

    /// The trials are over: what was started for them alone ends.
    fn trials_done(&mut self) {}

    /// What ends any call of this target, and of the tables it opened, from another thread.
    fn reins(&self) -> Arc<dyn Reins> {
        Arc::new(NoReins)
    }

    /// Waits, before a curve, for what the curves before it left the server to do, at most `limit`, and no longer than
    /// `asked_to_end` says no. `None` where there was nothing to wait for.
    fn settle(&mut self, _limit: Duration, _asked_to_end: &dyn Fn() -> bool) -> Option<Settled> {
        None
    }

    /// Ends everything the target itself started (a scratch server), and puts back what was changed.
    ///
    /// # Errors
    /// Something could not be put back: the message says what and how to do it by hand.
    fn finish(&mut self) -> Result<(), Error>;
}

/// The hold on a target from outside: whatever waits for the target, on whichever of its connections, is ended by one pull.
pub trait Reins: Send + Sync {
    /// Ends every call that waits for the target, and fails every further one until it is loosened.
    fn pull(&self);

    /// Lets the target be asked again. With `hurried`, what does not answer at once is not waited for.
    fn loosen(&self, hurried: bool);

    /// Whether the target gives a sign of life within `limit`, over a connection that nothing else uses. `None` where that cannot be asked.
    fn answers(&self, limit: std::time::Duration) -> Option<bool>;
}

/// The hold on a target whose calls always come back.
#[derive(Debug, Clone, Copy)]
pub struct NoReins;

impl Reins for NoReins {
    fn pull(&self) {}

    fn loosen(&self, _: bool) {}

    fn answers(&self, _: std::time::Duration) -> Option<bool> {
        None
    }
}

/// What became of waiting for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// What was waited for, in words.
    pub what: String,
    /// What is still to be done, when the waiting was given up.
    pub gave_up: Option<String>,
}

/// What a curve asks of a target.
#[derive(Debug, Clone, Copy)]
pub struct TableOrder<'a> {
    pub curve: &'a CurvePlan,
    /// The name of its table.
    pub table: &'a str,
    /// The mark that the table's comment carries where the database has comments.
    pub mark: &'a str,
    /// The user's own CREATE TABLE template.
    pub schema: Option<&'a str>,
    /// The run's directory: what a target keeps on disk itself goes below it.
    pub directory: &'a Path,
    /// What it is opened for.
    pub purpose: Purpose,
}

/// What a table is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The trial before the first timing, which may share a server with other trials.
    Trial,
    /// A curve that begins: the table is made.
    Load,
    /// A curve that goes on after something ended it: the table is there, or [`FailureKind::Gone`].
    GoOn,
}

impl TableOrder<'_> {
    /// The statements that make the table: the user's own template, or the one that engine and key want.
    ///
    /// # Errors
    /// The template cannot be used.
    pub fn statements(
        &self,
        dialect: Dialect,
        table: &str,
        index: &str,
        options: &str,
    ) -> Result<Vec<String>, Failure> {
        let cell = &self.curve.cell;
        let template = match self.schema {
            Some(text) => text,
            None => cell.template(dialect).text,
        };
        let key_type =
            match cell.key.storage() {
                None => None,
                Some(storage) => Some(schema::key_type(dialect, storage).ok_or_else(|| {
                    Failure::fatal(format!("{} has no type for the key {}", dialect.name(), cell.key))
                })?),
            };
        schema::render_statements(template, &TemplateValues { dialect, table, index, key_type, options })
            .map_err(|error| Failure::fatal(format!("--schema: {error}")))
    }
}

/// Whether a cell can be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It can; with what a reader should know.
    Runs {
        /// Sentences for the plan and the record.
        notes: Vec<String>,
    },
    /// The engine cannot do it at all, whatever the server.
    Unable { why: String },
    /// The environment prevents it: a privilege, a plugin, a server that is not there.
    Prevented {
        /// Why, with the next step.
        why: String,
    },
}

impl Verdict {
    /// It can be run and there is nothing to say.
    pub fn runs() -> Self {
        Self::Runs { notes: Vec::new() }
    }
}

/// What became known when a table was created.
#[derive(Debug, Clone)]
pub struct TableFacts {
    /// The table's name, quoted for statements.
    pub quoted_name: String,
    /// Its definition as the database prints it.
    pub create_table: String,
    /// Whose SQL it is in.
    pub dialect: Dialect,
    /// Its columns as the database reports them.
    pub columns: Vec<Column>,
    /// Durability as read back, `name=value` words.
    pub flush_in_force: String,
    /// Variables worth recording, as read back.
    pub variables: BTreeMap<String, String>,
    /// What limits a statement here.
    pub limits: Limits,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Where the database keeps its files, when that is on this machine.
    pub data_directory: Option<PathBuf>,
    /// Notes that every sample of the curve carries (`binlog-synced`).
    pub sample_notes: Vec<String>,
    /// Whether it was just made, so that its definition tells where its AUTO_INCREMENT begins.
    pub is_fresh: bool,
}

impl TableFacts {
    /// Facts of which only the name is known yet.
    pub fn new(quoted_name: String, dialect: Dialect) -> Self {
        Self {
            quoted_name,
            create_table: String::new(),
            dialect,
            columns: Vec::new(),
            flush_in_force: String::new(),
            variables: BTreeMap::new(),
            limits: Limits::default(),
            notes: Vec::new(),
            data_directory: None,
            sample_notes: Vec::new(),
            is_fresh: false,
        }
    }

    /// What its definition tells beyond the columns.
    pub fn definition(&self) -> Definition {
        Definition::parse(&self.create_table)
    }

    /// Whether the names of its columns are ASCII, which every session can write.
    pub fn has_ascii_names(&self) -> bool {
        self.quoted_name.is_ascii() && self.columns.iter().all(|column| column.name.is_ascii())
    }

    /// The column that the database counts by itself.
    pub fn auto_increment(&self) -> Option<&Column> {
        self.columns.iter().find(|column| column.auto_increment)
    }
}

/// What limits a statement and a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one statement.
    pub statement_bytes: u64,
    /// Placeholders of a prepared statement.
    pub placeholders: u64,
    /// Rows of one transaction.
    pub transaction_rows: u64,
    /// Bytes of one transaction.
    pub transaction_bytes: u64,
    /// The variable that sets `transaction_rows`.
    pub transaction_rows_by: &'static str,
    /// The variable that sets `transaction_bytes`.
    pub transaction_bytes_by: &'static str,
    /// Whether a failed transaction leaves nothing behind.
    pub transactional: bool,
    /// Whether rows that were accepted can be counted and read again (BLACKHOLE keeps none).
    pub keeps_rows: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            statement_bytes: u64::MAX,
            placeholders: u64::MAX,
            transaction_rows: u64::MAX,
            transaction_bytes: u64::MAX,
            transaction_rows_by: "",
            transaction_bytes_by: "",
            transactional: true,
            keeps_rows: true,
        }
    }
}

impl Limits {
    /// The variable that limits transactions to `rows`, for messages.
    pub fn transaction_by(&self, rows: u64) -> String {
        let by = if rows == self.transaction_rows { self.transaction_rows_by } else { self.transaction_bytes_by };
        if by.is_empty() { String::new() } else { format!(" ({by})") }
    }
}

/// The table of one curve.
pub trait Table: Send {
    /// What became known when it was created.
    fn facts(&self) -> &TableFacts;

    /// Opens one loading connection.
    ///
    /// # Errors
    /// What the target said.
    fn connect(&mut self) -> Result<Box<dyn Session>, Failure>;

    /// What can end the count, the closing work or the drop from another thread.
    fn canceller(&self) -> Box<dyn Canceller>;

    /// Counts the rows, once, at the end. `None` where the engine keeps none.
    ///
    /// # Errors
    /// What the target said.
    fn count(&mut self) -> Result<Option<u64>, Failure>;

    /// Fetches rows: for each lookup the values of `columns` of every row that matches (a few at most).
    ///
    /// # Errors
    /// What the target said.
    fn fetch(&mut self, columns: &[String], lookups: &[Lookup]) -> Result<Vec<Vec<Vec<Value>>>, Failure>;

    /// Fetches the values of `columns` of the `rows` rows that came last, in any order: of a table that holds `of` rows and has
    /// no index that finds a row.
    ///
    /// # Errors
    /// What the target said.
    fn last_rows(&mut self, columns: &[String], rows: u64, of: u64) -> Result<Vec<Vec<Value>>, Failure>;

    /// The highest value of the AUTO_INCREMENT column; `None` where the table has none, or no row.
    ///
    /// # Errors
    /// What the target said.
    fn max_id(&mut self) -> Result<Option<u64>, Failure>;

    /// How many rows of a set are there.
    ///
    /// # Errors
    /// What the target said.
    fn count_of(&mut self, rows: RowSet<'_>) -> Result<u64, Failure>;

    /// Removes the rows of a set. Gives their number.
    ///
    /// # Errors
    /// What the target said, or that the engine cannot delete.
    fn remove(&mut self, rows: RowSet<'_>) -> Result<u64, Failure>;

    /// When the server was started, by its own clock in seconds: the numbers of sessions come again after that. `None`
    /// where sessions end with this process.
    ///
    /// # Errors
    /// What the target said.
    fn server_started_at(&mut self) -> Result<Option<i64>, Failure> {
        Ok(None)
    }

    /// How long the loading connections have waited so far for a lock that another process holds, where that can be told from other waiting.
    fn lock_waited(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }

    /// The sessions over which rows are counted and removed, which a killed rowcliff leaves at work as it does the loading
    /// ones.
    ///
    /// # Errors
    /// What the target said.
    fn own_sessions(&mut self) -> Result<Vec<u64>, Failure> {
        Ok(Vec::new())
    }

    /// Which servers sessions are on, for the journal.
    ///
    /// # Errors
    /// What the target said.
    fn server_sessions(&mut self, ids: &[u64]) -> Result<Vec<ServerSessions>, Failure> {
        let server_started_at = self.server_started_at()?;
        Ok(vec![ServerSessions { endpoint: None, server_started_at, ids: ids.to_vec() }])
    }

    /// Which of the sessions that a journal tells of may still be there.
    ///
    /// # Errors
    /// What the target said.
    fn left_sessions(&mut self, told: &[ServerSessions]) -> Result<Vec<u64>, Failure> {
        let (started_at, own) = (self.server_started_at()?, self.own_sessions()?);
        Ok(told.iter().flat_map(|sessions| sessions.left(started_at, &own)).collect())
    }

    /// Ends sessions of this run that its client has left, and waits until they are gone: a server goes on with the
    /// statement of a client that is no longer there.
    ///
    /// # Errors
    /// What the target said, or that they do not go away.
    fn end_sessions(&mut self, ids: &[u64]) -> Result<(), Failure>;

    /// The closing work of the curve (a checkpoint): the caller times it. Says what it did; `None` when there is none.
    ///
    /// # Errors
    /// What the target said.
    fn closing_work(&mut self) -> Result<Option<String>, Failure>;

    /// Reads the counters of the target, between batches. Those that cannot be read are left out.
    fn counters(&mut self, _choice: CounterChoice) -> Reading {
        Reading::new()
    }

    /// The process that does the work, where it is on this machine.
    fn server_process(&mut self) -> ServerProcess {
        ServerProcess::Unknown
    }

    /// The size of the table, between batches.
    fn size(&mut self) -> TableSize {
        TableSize::default()
    }

    /// Whether a row that is inserted later has a higher AUTO_INCREMENT value: not where several servers count, each its own.
    fn ids_ascend(&self) -> bool {
        true
    }

    /// The endpoints of a cluster, with what became of each; empty where there is one server only.
    fn endpoints(&self) -> Vec<EndpointRecord> {
        Vec::new()
    }

    /// What became known since this was asked last and a person should hear at once.
    fn news(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Uses the control connection while a batch takes its time, so that it stays open, and says whether the target
    /// still answers.
    fn is_alive(&mut self) -> bool {
        true
    }

    /// Makes sure, outside the clock, that the connection is open over which everything but the rows goes, where it was idle.
    ///
    /// # Errors
    /// The target gives no sign of life, or another run has taken the settings over meanwhile.
    fn wake(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Makes a second, empty table beside it, under the settings that are in force for it, with no loading connection open. Closing
    /// it drops it and changes no setting.
    ///
    /// # Errors
    /// What the target said; nothing is left behind.
    fn side(&mut self, order: &TableOrder<'_>) -> Result<Box<dyn Table>, Failure> {
        let message = format!("there is no place for a side table {} here", order.table);
        Err(Failure { kind: FailureKind::Unable, code: None, message })
    }

    /// Drops the table, unless it is to be kept, and puts back the settings of the curve.
    ///
    /// # Errors
    /// What the target said. The settings are put back even when the table could not be dropped.
    fn close(&mut self, keep: bool) -> Result<(), Failure>;
}

/// Rows of a table, as they can be found again.
#[derive(Debug, Clone, Copy)]
pub enum RowSet<'a> {
    /// Those whose AUTO_INCREMENT value is above `above`, and not above `up_to` where that is given.
    Ids {
        /// The highest value that is left out.
        above: u64,
        /// The highest value that is in.
        up_to: Option<u64>,
    },
    /// Those that the look-ups find, each of which finds one at most.
    Found(&'a [Lookup]),
    /// Any one row: whether the table holds something.
    Any,
}

/// One loading connection. It lives as long as the curve and is used by one thread.
pub trait Session: Send {
    /// What can end its running statement from outside.
    fn canceller(&self) -> Box<dyn Canceller>;

    /// The number by which the table knows it: the server's own, where there is one server.
    fn id(&self) -> Option<u64>;

    /// Makes sure, outside the clock, that the connection is open, where it was idle: one that was cut meanwhile is opened anew, with
    /// everything that was made ready in it. Gives whether it was.
    ///
    /// # Errors
    /// The target gives no sign of life.
    fn wake(&mut self) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Starts a transaction of more than one statement.
    ///
    /// # Errors
    /// What the target said.
    fn begin(&mut self) -> Result<(), Failure>;

    /// Sends the rows of one statement and waits for the acknowledgement. Bodies that the driver consumes are
    /// left empty.
    ///
    /// # Errors
    /// What the target said.
    fn send(&mut self, body: &mut Body) -> Result<Accepted, Failure>;

    /// Waits until this session sees what other servers of its cluster have committed.
    ///
    /// # Errors
    /// What the target said.
    fn catch_up(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Makes a statement ready that is asked many times, with `?` for its values. Gives its number in this session.
    ///
    /// # Errors
    /// What the target said.
    fn prepare(&mut self, _sql: &str) -> Result<usize, Failure> {
        Err(Failure { kind: FailureKind::Unable, code: None, message: "nothing can be asked here".into() })
    }

    /// Asks a statement that was made ready. The rows that it answers with replace what is in `rows`; gives the number of those
    /// that it changed.
    ///
    /// # Errors
    /// What the target said.
    fn ask(&mut self, _statement: usize, _values: &[Value], _rows: &mut Rows) -> Result<u64, Failure> {
        Err(Failure { kind: FailureKind::Unable, code: None, message: "nothing can be asked here".into() })
    }

    /// Asks a statement by its text.
    ///
    /// # Errors
    /// What the target said.
    fn ask_text(&mut self, _sql: &str, _rows: &mut Rows) -> Result<u64, Failure> {
        Err(Failure { kind: FailureKind::Unable, code: None, message: "nothing can be asked here".into() })
    }

    /// Gives up the statements that were made ready; their numbers are no longer good.
    ///
    /// # Errors
    /// What the target said.
    fn forget(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Takes what is to be told of a body that travels in portions: after each, the bytes of it that have gone so far. A
    /// session that sends a body as a whole tells nothing.
    fn tell_progress(&mut self, _progress: Progress) {}

    /// Commits.
    ///
    /// # Errors
    /// What the target said. After a lost connection the fate of the transaction is unknown.
    fn commit(&mut self) -> Result<(), Failure>;

    /// Takes back the transaction.
    ///
    /// # Errors
    /// What the target said.
    fn rollback(&mut self) -> Result<(), Failure>;
}

/// Is told how many bytes of a body have gone.
pub type Progress = Box<dyn FnMut(u64) + Send>;

/// What the target said to one statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Rows it took.
    pub rows: u64,
    /// The first Note among its warnings.
    pub note: Option<String>,
}

/// Ends the running statement of one session from another thread.
pub trait Canceller: Send {
    /// Ends it, within seconds, whatever the server does: in the end by closing the connection.
    fn cancel(&self);

    /// What the target says the statement is doing, where that can be asked meanwhile.
    fn doing(&self) -> Option<String> {
        None
    }
}

/// Why a curve cannot go on, or a statement was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What can be done about it.
    pub kind: FailureKind,
    /// The server's own code.
    pub code: Option<i64>,
    /// The server's own text, or ours, with the next step.
    pub message: String,
}

/// What can be done about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// A deadlock or a lock wait: the transaction can be sent again.
    Retry,
    /// The connection is gone; the fate of what was in flight is unknown.
    Lost,
    /// The table, or the disk below it, can take no more.
    Full,
    /// It was ended from outside.
    Cancelled,
    /// The engine cannot do what was asked, on any server.
    Unable,
    /// The table of a curve that was to go on is not there any more.
    Gone,
    /// It would fail again in the same way: a row breaks what the table asks of it, or the table is not this run's any more.
    Broken,
    /// Something that sending again does not mend.
    Fatal,
}

impl Failure {
    /// A failure that sending again does not mend.
    pub fn fatal(message: impl Into<String>) -> Self {
        Self { kind: FailureKind::Fatal, code: None, message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "error {code}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Failure {}

/// The labels of a cell that a message needs to say which one it means.
pub fn cell_words(cell: &Cell) -> String {
    format!("{} {} flush {}", cell.engine, cell.key, cell.flush)
}
