//! What a run will do: the validated list of curves, made once from what the user typed and never changed.

pub mod counters;
pub mod endpoint;
pub mod file;
pub mod flush;
pub mod login;
pub mod matrix;
pub mod method;
pub mod option_file;
pub mod own_table;
pub mod place;
pub mod print;
pub mod probe;
pub mod probe_kind;
pub mod scale;
pub mod settings;
pub mod shard;
pub mod stop;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use endpoint::Endpoint;
pub use flush::Flush;
pub use login::{Login, Protection};
pub use matrix::{Resolved, resolve, resolve_with};
pub use place::{Place, Secret, ServerPlace, TargetSpec};
pub use probe::{ProbePlan, ProbeWhen};
pub use scale::Scale;
pub use shard::Shard;

use crate::cli::RunArgs;
use crate::engine::{Engine, EngineTable};
use crate::error::Error;
use crate::key::Key;
use crate::plan::counters::CounterChoice;
use crate::plan::method::Method;
use crate::plan::stop::StopRules;
use crate::rows::{IndexOrder, TableKind, Wishes};
use crate::schema::{self, BuiltIn, Dialect, Layout, Template, TemplateValues};

/// A run, resolved: no default is left open, no flag is seen below.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    /// Where rows go.
    pub targets: Vec<TargetSpec>,
    /// Every curve in the order of execution, the impossible ones too.
    pub curves: Vec<CurvePlan>,
    /// Seed of all row values.
    pub seed: u64,
    /// Rows per second of the clock of time-based UUIDs.
    pub uuid_rate: u64,
    /// In which order the secondary index is filled.
    pub index_order: IndexOrder,
    /// What is to be in some of the columns.
    #[serde(default, skip_serializing_if = "Wishes::is_empty")]
    pub fill: Wishes,
    /// The rules by which the values are chosen: a run goes on under those that it was begun with.
    #[serde(default)]
    pub edition: u32,
    /// Another table than the default one.
    pub schema: Option<SchemaFile>,
    /// Length of text values in the user's own table.
    pub payload_bytes: Option<u64>,
    /// Rows fetched and compared at the end of a curve; `None` leaves out the count too.
    pub verify_rows: Option<u64>,
    /// Memory for encoded rows.
    pub window_bytes: u64,
    /// When a curve ends early.
    #[serde(default)]
    pub stop: StopRules,
    /// How the servers that rowcliff owns are started.
    pub scratch: ScratchPlan,
    /// The most to wait between curves for what a server still has to do.
    pub settle_seconds: f64,
    /// Which counters are read after each batch.
    #[serde(default)]
    pub counters: CounterChoice,
    /// Whether tables of completed curves stay.
    pub keep: bool,
    /// Whether a cell that the environment prevents makes the run a failure.
    pub strict: bool,
    /// Whether each curve that ends by itself has a control batch.
    #[serde(default)]
    pub control_batch: bool,
    /// Whether a cliff in a curve is an exit code of its own.
    #[serde(default)]
    pub fail_on_cliff: bool,
    /// The factor above which a slowdown at the end of a curve is an exit code of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_on_slowdown: Option<f64>,
    /// What is run between the batches.
    #[serde(default)]
    pub probe: Option<ProbePlan>,
    /// By how much rows, batch rows and operations of probes were multiplied: they stand here as multiplied.
    #[serde(default)]
    pub scale: Option<f64>,
    /// Whether the cache was multiplied too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scale_cache: bool,
    /// Whether the clock of UUIDs was scaled too, as it was not always.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scale_uuid_rate: bool,
    /// What the user allows on a server that is not ours.
    #[serde(default)]
    pub care: Care,
    /// Which part of a larger plan this is.
    #[serde(default)]
    pub shard: Option<Shard>,
}

/// Asks a target, with its password and how it is protected, for the definition of a table.
pub type AskTarget<'a> = &'a dyn Fn(&TargetSpec, &Secret, &Protection, &str) -> Result<String, Error>;

/// What decides, beside the words themselves, what the words of a command line mean.
#[derive(Clone, Copy)]
pub struct Circumstances<'a> {
    /// Who asks a target for the definition of a table; without it that is not known.
    pub ask: Option<AskTarget<'a>>,
    /// The tables of the run: a run that goes on keeps those that it was begun with.
    pub tables: BuiltIn,
}

impl Default for Circumstances<'_> {
    fn default() -> Self {
        Self { ask: None, tables: BuiltIn::One }
    }
}

/// From the words to the plan: the engine table, the matrix, and the part of it that was asked for.
///
/// `remembered` is the part, and how many there are, that the run in `--out` was begun with, where it is gone on with.
///
/// # Errors
/// As [`resolve`]; what was said in a plan file is named with its line.
pub fn of_args(args: &RunArgs, remembered: Option<(u32, u32)>) -> Result<Resolved, Error> {
    of_args_with(args, remembered, Circumstances::default())
}

/// The same in the circumstances of a run.
///
/// # Errors
/// As [`of_args`], and what the target said.
pub fn of_args_with(
    args: &RunArgs,
    remembered: Option<(u32, u32)>,
    circumstances: Circumstances<'_>,
) -> Result<Resolved, Error> {
    let make = || {
        let mut resolved = resolve_with(args, &EngineTable::with_file(args.engine_file.as_deref())?, circumstances)?;
        if let Some(word) = args.shard {
            let (number, parts) = shard::asked(word, remembered, |name| std::env::var(name).ok())?;
            shard::cut(&mut resolved, number, parts);
        }
        Ok(resolved)
    };
    make().map_err(|error| file::located(error, &args.said))
}

impl Plan {
    /// The CREATE TABLE template of `--schema` in the words of a target.
    pub fn schema_text(&self, target: usize) -> Option<&str> {
        let schema = self.schema.as_ref()?;
        let is_sqlite = matches!(self.targets.get(target)?.place, Place::Sqlite { .. });
        Some(schema.sqlite_text.as_deref().filter(|_| is_sqlite).unwrap_or(&schema.text))
    }

    /// The columns and indexes of a curve's table as its template has them; `None` where it cannot be filled in.
    pub fn layout(&self, curve: &CurvePlan) -> Option<Layout> {
        let cell = &curve.cell;
        let dialect = match self.targets.get(cell.target)?.place {
            Place::Sqlite { .. } => Dialect::Sqlite,
            _ => Dialect::Mysql,
        };
        let template = self.schema_text(cell.target).unwrap_or(cell.template(dialect).text);
        let key_type = cell.key.storage().and_then(|storage| schema::key_type(dialect, storage));
        let values = TemplateValues { dialect, table: "`t`", index: "`i`", key_type, options: "" };
        Layout::of(&schema::render(template, &values).ok()?)
    }

    /// What the engine of a cell has different in the default table.
    pub fn table_note(&self, cell: &Cell) -> Option<String> {
        let is_server =
            self.targets.get(cell.target).is_some_and(|target| !matches!(target.place, Place::Sqlite { .. }));
        if self.schema.is_some() || !is_server {
            return None;
        }
        let difference = cell.template(Dialect::Mysql).difference;
        (!difference.is_empty()).then(|| format!("the table of {} differs: {difference}", cell.engine_entry.name))
    }

    /// Whose values the rows have.
    pub fn table_kind(&self) -> TableKind {
        match &self.schema {
            None => TableKind::Own,
            Some(schema) if schema.is_named() && schema::named(&schema.path).is_some_and(|table| table.is_own) => {
                TableKind::Own
            }
            Some(schema) if schema.is_named() => TableKind::Named,
            Some(_) => TableKind::User,
        }
    }

    /// Whether other curves, here or in another part of the plan, have the same target, or the definition of the table is there: what
    /// is stored must not meet.
    pub fn shares_target(&self, target: usize) -> bool {
        self.shard.is_some()
            || self.schema.as_ref().is_some_and(|schema| schema.path.starts_with(own_table::ON_TARGET))
            || self.curves.iter().filter(|curve| curve.cell.target == target).count() > 1
    }
}

/// What the user allows on a server that is not ours, and what its sessions leave alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Care {
    /// Attached replicas may receive the rows.
    pub allow_replication: bool,
    /// The run's sessions do not write the binary log.
    pub skip_binlog: bool,
}

/// How the servers of scratch targets are started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScratchPlan {
    /// Options for all of them.
    pub options: Vec<(String, String)>,
    /// The only option file that they read.
    pub config: Option<PathBuf>,
    /// Where their data is; below the run's directory when it is left out.
    pub directory: Option<PathBuf>,
}

/// A CREATE TABLE template: the user's, or a table that comes with rowcliff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaFile {
    /// Where it was read, or the name of the table.
    pub path: String,
    /// Its text, so that a run can be repeated without the file.
    pub text: String,
    /// The same table in SQLite's words, where it comes with rowcliff: a user's text is for one kind of database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sqlite_text: Option<String>,
    /// The name of the table where it was pasted from, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Whether it was taken out of a user's text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_pasted: bool,
}

impl SchemaFile {
    /// Whether it comes with rowcliff.
    pub fn is_named(&self) -> bool {
        self.sqlite_text.is_some() && !self.is_pasted
    }
}

/// One repeat of one cell, with its sizes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CurvePlan {
    /// Number in the plan, from 1.
    pub number: usize,
    /// Full name, unique in the run.
    pub name: String,
    pub cell: Cell,
    /// Repeat, from 1.
    pub repeat: u32,
    /// How much is loaded, and in which portions.
    pub sizes: Sizes,
    /// Why it cannot be run, if the plan knows already.
    pub unable: Option<String>,
}

impl CurvePlan {
    /// An estimate of its table: rows times the bytes of a row in the engine's files, from the engine table.
    pub fn estimated_bytes(&self) -> u64 {
        let row = self.cell.engine_entry.row_bytes;
        let bytes = if self.cell.key.is_autoinc() { row.autoinc } else { row.uuid };
        self.sizes.rows.saturating_mul(bytes)
    }
}

/// One combination of the matrix.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cell {
    /// Index into [`Plan::targets`].
    pub target: usize,
    /// Label of the target.
    pub target_label: String,
    /// Canonical word of the engine.
    pub engine: String,
    /// What the engine table says of it.
    pub engine_entry: Engine,
    /// Which tables stand where the plan names no schema.
    #[serde(default)]
    pub tables: BuiltIn,
    pub key: Key,
    /// The flush setting asked for.
    pub flush: Flush,
    /// How rows travel.
    pub method: Method,
    pub connections: u32,
    /// The most connections that a probe uses; 0 without probes.
    #[serde(default)]
    pub probe_connections: u32,
    /// Varied settings, in the order of the flags.
    pub settings: Vec<(String, String)>,
    /// The name of the table, where it is not the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The cache that every engine is to have.
    pub cache_bytes: Option<u64>,
}

impl CurvePlan {
    /// The name of its cell: what all repeats share.
    pub fn cell_name(&self) -> &str {
        self.name.rsplit_once(" r").map_or(self.name.as_str(), |(cell, _)| cell)
    }
}

impl Cell {
    /// Connections that are opened beside the one for control: those that load are among those that probe.
    pub fn sessions(&self) -> u32 {
        self.connections.max(self.probe_connections)
    }

    /// The varied settings as one label.
    pub fn settings_label(&self) -> String {
        let table = self.schema.iter().map(|name| format!("schema={name}"));
        let words: Vec<String> =
            table.chain(self.settings.iter().map(|(name, value)| format!("{name}={value}"))).collect();
        words.join(" ")
    }

    /// The server variables (pragmas on SQLite) that the cell wants, with their values: flush, cache, varied settings.
    pub fn variables(&self) -> Vec<(String, String)> {
        let mut wanted = match (&self.flush, &self.engine_entry.flush) {
            (Flush::Level(level), Some(knob)) => {
                vec![(knob.variable.clone(), knob.values[usize::from(*level)].clone())]
            }
            (Flush::Named(pairs), _) => pairs.clone(),
            _ => Vec::new(),
        };
        if let (Some(bytes), Some(cache)) = (self.cache_bytes, &self.engine_entry.cache) {
            wanted.push((cache.variable.clone(), cache.unit.value(bytes)));
        }
        wanted.extend(self.settings.iter().filter(|(_, value)| value != settings::AS_IS).cloned());
        wanted
    }

    /// The template of its table where the plan names no schema.
    pub fn template(&self, dialect: Dialect) -> &'static Template {
        schema::template(self.tables, dialect, self.key, self.engine_entry.table)
    }

    /// What resuming cannot do for this engine.
    pub fn resume_note(&self) -> Option<String> {
        let can = &self.engine_entry.can;
        (can.keeps_rows && !can.delete).then(|| {
            format!(
                "{} cannot delete rows: a curve that is ended in the middle of a batch cannot be brought back to its last \
                 boundary, and resuming starts it again from its first row",
                self.engine_entry.name
            )
        })
    }

    /// What `--cache` cannot do for this engine.
    pub fn cache_note(&self) -> Option<String> {
        (self.cache_bytes.is_some() && self.engine_entry.cache.is_none()).then(|| {
            format!(
                "--cache has nothing to size here: {} has no cache of its own, and what it writes to files goes through \
                 the page cache of the operating system",
                self.engine_entry.name
            )
        })
    }
}

/// The sizes of a curve. `statement_rows` and `commit_rows` are what was asked for; what is really used may be lower
/// and is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Rows of the whole curve: whole batches.
    pub rows: u64,
    /// Rows of one batch.
    pub batch_rows: u64,
    /// Rows of one statement.
    pub statement_rows: u64,
    /// Rows of one transaction.
    pub commit_rows: u64,
}

impl Sizes {
    pub fn batches(&self) -> u64 {
        self.rows / self.batch_rows
    }
}
