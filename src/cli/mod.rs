//! The words a user may type. Nothing here has a side effect; what the words mean is [`crate::plan`]'s business.

// The doc comments here are the help text of the program: their brackets are no links.
#![allow(rustdoc::broken_intra_doc_links)]

pub mod access;
pub mod foreign;
pub mod hints;
pub mod lifecycle;
pub mod plot;
pub mod probe;
pub mod reading;
pub mod reckon;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use access::{AccessArgs, ReplicationArgs};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use foreign::ForeignArgs;
use lifecycle::{ProgressArgs, ResumeArgs, StatusArgs};
use plot::{PlotArgs, ReportArgs};
use probe::ProbeArgs;
use reading::CliffsArgs;
use reckon::{CompareArgs, ForecastArgs};

use crate::rows::wish::{self, Wish};
use crate::units;

/// A bulk-insert scaling profiler: loads a table in equal batches, times every batch, and shows what a batch costs
/// as the table grows.
#[derive(Debug, Parser)]
#[command(name = "rowcliff", version, max_term_width = 110, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load the tables of a matrix and time every batch
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Connect, read only, and print what `run` with the same options would do
    Check(Box<CheckArgs>),
    /// Go on with a run that was interrupted, killed or failed
    Resume(ResumeArgs),
    /// Say where a run stands, from its files, at any time
    Status(StatusArgs),
    /// Print the curves of one or several runs as tables
    Show(ShowArgs),
    /// Draw the curves of one or several runs
    Plot(PlotArgs),
    /// Write everything about one or several runs into one HTML file, to hand on
    Report(ReportArgs),
    /// Say what shape each curve has, and whether it fell off a cliff
    Cliffs(CliffsArgs),
    /// Compare two runs cell by cell: exit 4 when the second is slower for certain
    #[command(after_help = COMPARE_CODES)]
    Compare(CompareArgs),
    /// Say what a batch will cost at a table size that a run has not reached
    Forecast(ForecastArgs),
    /// Drop what an interrupted or failed run left behind
    Clean(CleanArgs),
    /// Put back global variables that a killed run left changed
    Restore(RestoreArgs),
    /// List the storage engines rowcliff knows, and what a server has of them
    Engines(EnginesArgs),
}

impl Command {
    /// Whether everything on stderr is to be JSON.
    pub fn speaks_json(&self) -> bool {
        match self {
            Self::Run(args) => args.progress.word() == Progress::Json,
            Self::Check(args) => args.run.progress.word() == Progress::Json,
            Self::Resume(args) => args.progress.word() == Progress::Json,
            _ => false,
        }
    }
}

const RUN_EXAMPLES: &str = "\
Examples:
  rowcliff run
      embedded SQLite, both keys, within a minute
  rowcliff run --target 'mysql://root@localhost/test?socket=/run/mysqld/mysqld.sock' \\
      --engine innodb,myisam --key autoinc,uuid4 --flush 0,1,2 --rows 300M
  rowcliff run --target scratch --engine innodb,rocksdb --cache 1G --rows 100M
      servers of rowcliff's own, fresh for every curve
  rowcliff run --target scratch --vary innodb_buffer_pool_size=64M,256M,1G --rows 50M
      a cache study
  rowcliff run --plan plan.toml --shard slurm --out shard-$SLURM_ARRAY_TASK_ID
      one part of a matrix, in an array job (`rowcliff check --print-plan` writes plan.toml)

Exit codes: 0 done, 1 something failed, 2 wrong usage, 3 a stop rule ended a curve or a table was full,
5 --fail-on-cliff found a cliff, 130 interrupted.";

const COMPARE_CODES: &str = "\
Exit codes: 0 no regression, 1 nothing could be compared, 2 wrong usage, 4 a regression: the whole interval of the speed ratio \
lies below 1 - tolerance.";

/// Batches after which the plots are drawn anew while a run goes on.
pub const DEFAULT_PLOTS_EVERY: u32 = 10;

/// The options of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Print the plan file that repeats this command line, and connect to nothing
    #[arg(long)]
    pub print_plan: bool,

    /// Forecast how long each curve will take from the curve of the same target, engine, key, flush, settings, method and
    /// connections in an earlier run
    #[arg(long, value_name = "RUN_DIR", conflicts_with = "print_plan")]
    pub like: Option<PathBuf>,

    /// Make the trial that `run` makes: a table of its own, some rows, and all of it taken back
    #[arg(long = "try", conflicts_with = "print_plan")]
    pub try_out: bool,

    /// What would be run.
    #[command(flatten)]
    pub run: RunArgs,
}

/// The options of `run` and `check`.
///
/// What can be said here can be said in a plan file, under the same name: [`crate::plan::file`] makes words of the file and
/// has them parsed by this definition. Options that belong to one invocation are listed there.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// A plan in a TOML file, whose keys are the options here, as in rows = "300M"; an option on the command line comes before
    /// the file
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,

    /// Options of the --plan to leave out, as a comma list (cache,server-option)
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "plan")]
    pub without: Vec<String>,

    /// Run one of N parts of the plan, by cells: I/N with I from 1, or slurm (the task of an array job)
    #[arg(long, value_name = "I/N", value_parser = ShardWord::parse)]
    pub shard: Option<ShardWord>,

    /// Run the plan small (0.001) or large: multiplies rows, batch rows, --uuid-rate, and operations and table sizes of probes, each
    /// at least 1, and nothing else
    #[arg(long, value_name = "F", value_parser = parse_factor, allow_negative_numbers = true)]
    pub scale: Option<f64>,

    /// Multiply the --cache too
    #[arg(long, requires = "scale")]
    pub scale_cache: bool,

    /// Where rows go: sqlite[:PATH], scratch[:MYSQLD] (a private server, fresh for every curve; by path, or by name in PATH), mysql://USER@HOST:PORT/DB or
    /// mysql://USER@localhost/DB?socket=PATH. Several endpoints of one cluster have commas between: HOST:PORT,HOST:PORT.
    /// Repeatable
    #[arg(long, value_name = "TARGET", default_value = "sqlite")]
    pub target: Vec<String>,

    /// Storage engines of a server, as a comma list
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub engine: Vec<String>,

    /// Primary keys, as a comma list: autoinc, uuid1, uuid4, uuid6, uuid7; a UUID with its storage as in uuid4:char32 (binary16 unless said); of a table
    /// of your own (--schema), unless they are given, those that its primary key holds, else own, which is the key it has
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "autoinc,uuid4")]
    pub key: Vec<String>,

    /// Flush settings, as a comma list: 0, 1, 2 (as innodb_flush_log_at_trx_commit), as-is, or NAME=VALUE[+NAME=VALUE]
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "as-is")]
    pub flush: Vec<String>,

    /// The same cache for every engine, through the variable that the engine table names
    #[arg(long, value_name = "BYTES", value_parser = units::parse_bytes, allow_negative_numbers = true)]
    pub cache: Option<u64>,

    /// A server variable (SQLite: a pragma) and the values to compare, as in innodb_buffer_pool_size=64M,1G; as-is leaves it alone. Repeatable
    #[arg(long, value_name = "NAME=LIST")]
    pub vary: Vec<String>,

    /// An option for the servers that rowcliff starts. Repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub server_option: Vec<String>,

    /// An option file for the servers that rowcliff starts, the only one that they read
    #[arg(long, value_name = "FILE")]
    pub server_config: Option<PathBuf>,

    /// Where the servers that rowcliff starts keep their data. Below the run's directory
    #[arg(long, value_name = "DIR")]
    pub scratch_dir: Option<PathBuf>,

    /// A TOML file that adds engines to the engine table, or overrides them
    #[arg(long, value_name = "FILE")]
    pub engine_file: Option<PathBuf>,

    /// The most to wait, before a curve, for what the last one left a server to do; 0 does not wait
    #[arg(long, value_name = "DURATION", value_parser = parse_wait, default_value = "5m", allow_negative_numbers = true)]
    pub settle: Duration,

    /// How rows travel, as a comma list
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "insert")]
    pub method: Vec<String>,

    /// Rows of the whole table (300M is 300,000,000); rounded up to whole batches. SQLite: 1M
    #[arg(long, value_name = "ROWS", value_parser = units::parse_rows, allow_negative_numbers = true)]
    pub rows: Option<u64>,

    /// Rows of one batch, which is what is timed. 1M; SQLite: 50k
    #[arg(long, value_name = "ROWS", value_parser = units::parse_rows, allow_negative_numbers = true)]
    pub batch_rows: Option<u64>,

    /// Rows of one statement. 1000
    #[arg(long, value_name = "ROWS", value_parser = units::parse_rows, allow_negative_numbers = true)]
    pub statement_rows: Option<u64>,

    /// Rows of one transaction. The statement; SQLite: the batch
    #[arg(long, value_name = "ROWS", value_parser = units::parse_rows, allow_negative_numbers = true)]
    pub commit_rows: Option<u64>,

    /// Loading connections, as a comma list. 8; engines that take one only (SQLite, ARCHIVE): 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_count, allow_negative_numbers = true)]
    pub connections: Vec<u32>,

    /// Repeats of every cell, interleaved
    #[arg(long, value_name = "N", value_parser = parse_count, default_value = "1", allow_negative_numbers = true)]
    pub repeat: u32,

    /// In which order the values of secondary indexes come. In a table of your own random, in the tables of rowcliff ascending, which shows
    /// the key alone
    #[arg(long, value_name = "ORDER", value_enum)]
    pub index_order: Option<IndexOrder>,

    /// What a column holds: distinct:N values, zipf:S (some of them more often than others), null:SHARE, ascending, random, length:N..M, as in
    /// status=distinct:5,zipf:1.1. It comes before --index-order. Repeatable
    #[arg(long, value_name = "COLUMN=WORD,...", value_parser = wish::parse)]
    pub fill: Vec<(String, Wish)>,

    /// Seed of all row values: the same seed gives the same rows
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Rows per second at which the clock of time-based UUIDs runs
    #[arg(long, value_name = "RATE", value_parser = units::parse_rows, default_value = "60000", allow_negative_numbers = true)]
    pub uuid_rate: u64,

    /// Another table: a file with its definition, as pasted from SHOW CREATE TABLE, a dump or SQLite's .schema, of which only the CREATE TABLE
    /// and its CREATE INDEX are taken; table:shop.orders for one on the target, which is read; or slap (what mysqlslap makes), sbtest
    /// (what sysbench's OLTP test makes), pbxt-autoinc or pbxt-uuid (those of the PBXT post). {key} stands for the definition of the
    /// key column, {key_type} for its type. A file of such a name is meant with ./slap
    #[arg(long, value_name = "FILE|NAME|table:NAME")]
    pub schema: Option<PathBuf>,

    /// The table that is meant, where --schema has several
    #[arg(long, value_name = "NAME")]
    pub schema_table: Option<String>,

    /// Length of text and binary values in a table of your own
    #[arg(long, value_name = "BYTES", value_parser = units::parse_bytes, allow_negative_numbers = true)]
    pub payload_bytes: Option<u64>,

    /// Rows fetched and compared at the end of each curve
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub verify_rows: u64,

    /// Leave out the count and the comparison at the end of each curve
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, hide_possible_values = true, value_name = "BOOL", action = ArgAction::Set)]
    pub no_verify: bool,

    /// Memory for encoded rows
    #[arg(long, value_name = "BYTES", value_parser = units::parse_bytes, default_value = "256M", allow_negative_numbers = true)]
    pub window_bytes: u64,

    /// Which counters of the server are read after each batch, for counters.csv
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Counters::Default)]
    pub counters: Counters,

    /// What is run between the batches.
    #[command(flatten)]
    pub probe: ProbeArgs,

    /// When to stop early
    #[command(flatten)]
    pub stop: StopArgs,

    /// Directory of the run; it must be new or empty. rowcliff-runs/UTC-DATE-TIME
    #[arg(long, value_name = "DIR", value_parser = parse_new_path)]
    pub out: Option<PathBuf>,

    /// Go on with the run in --out when there is one, for schedulers that repeat a command
    #[arg(long = "continue", requires = "out")]
    pub go_on: bool,

    /// Draw the plots anew every N batches while the run goes on; 0 draws them at its end only
    #[arg(long, value_name = "N", default_value_t = DEFAULT_PLOTS_EVERY)]
    pub plots_every: u32,

    /// Keep the tables of completed curves
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, hide_possible_values = true, value_name = "BOOL", action = ArgAction::Set)]
    pub keep: bool,

    /// Exit 1 when the environment prevents a cell (a privilege, a plugin, a server)
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, hide_possible_values = true, value_name = "BOOL", action = ArgAction::Set)]
    pub strict: bool,

    /// When a curve is complete or was stopped, load one batch into a fresh table under the same settings: it tells whether the
    /// table's size or the environment made the curve slow
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, hide_possible_values = true, value_name = "BOOL", action = ArgAction::Set)]
    pub control_batch: bool,

    /// Exit 5 when a curve has a cliff and nothing worse happened
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, hide_possible_values = true, value_name = "BOOL", action = ArgAction::Set)]
    pub fail_on_cliff: bool,

    /// Exit 5 when a curve is certainly more than F times slower at its end than its baseline and nothing worse happened
    #[arg(long, value_name = "F", value_parser = reading::parse_slowdown, allow_negative_numbers = true)]
    pub fail_on_slowdown: Option<f64>,

    /// How progress is shown.
    #[command(flatten)]
    pub progress: ProgressArgs,

    /// How to log in.
    #[command(flatten)]
    pub access: AccessArgs,

    /// What may be done to replicas.
    #[command(flatten)]
    pub replication: ReplicationArgs,

    /// What was said of a plan, word by word.
    #[arg(skip)]
    pub said: Said,
}

/// The options of a plan that were given, on the command line or in a plan file, before they were parsed.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// The plan file.
    pub file: Option<PathBuf>,
    /// The options, in the order of their definition.
    pub options: Vec<SaidOption>,
    /// What of the plan file is about nothing here, as sentences.
    pub passed_over: Vec<String>,
}

/// One option that was given.
#[derive(Debug, Clone)]
pub struct SaidOption {
    /// The long flag without its dashes.
    pub name: String,
    /// Its values.
    pub values: Vec<OsString>,
    /// Its line in the plan file; `None` when it stood on the command line.
    pub line: Option<usize>,
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Progress {
    /// Bars on a terminal, plain lines elsewhere.
    Auto,
    /// Bars (plain lines where stderr is no terminal).
    Bar,
    /// One plain line for each batch.
    Plain,
    /// One JSON object for each event.
    Json,
    /// Nothing but errors.
    None,
}

/// Which part of a plan is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardWord {
    /// A part by its number.
    Part {
        /// From 1.
        number: u32,
        /// How many there are.
        parts: u32,
    },
    /// The task of a Slurm array job, from the environment.
    Slurm,
}

impl ShardWord {
    fn parse(text: &str) -> Result<Self, String> {
        let problem = || format!("{text:?} is neither I/N, as in 1/4, nor slurm");
        if text == "slurm" {
            return Ok(Self::Slurm);
        }
        let (number, parts) = text.split_once('/').ok_or_else(problem)?;
        // Digits and nothing else: +1/4 is a slip.
        let whole = |digits: &str| match digits.bytes().all(|byte| byte.is_ascii_digit()) {
            true => digits.parse::<u32>().map_err(|_| problem()),
            false => Err(problem()),
        };
        let (number, parts) = (whole(number)?, whole(parts)?);
        match (number, parts) {
            (_, 0) => Err("there has to be at least one part, as in 1/1".into()),
            (0, _) => Err(format!("parts are counted from 1: 1/{parts} to {parts}/{parts}")),
            _ if number > parts => Err(format!("there is no part {number} of {parts}: 1/{parts} to {parts}/{parts}")),
            _ => Ok(Self::Part { number, parts }),
        }
    }
}

/// When a curve ends early.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Stop rules")]
pub struct StopArgs {
    /// Stop a curve whose batches are slower than R rows/s, --stop-after of them in a row
    #[arg(long, value_name = "R", value_parser = parse_positive, allow_negative_numbers = true)]
    pub min_rate: Option<f64>,

    /// Stop a curve whose batches take more than F times the baseline, --stop-after of them in a row
    #[arg(long, value_name = "F", value_parser = parse_positive, allow_negative_numbers = true)]
    pub max_slowdown: Option<f64>,

    /// Batches in a row that make a curve too slow
    #[arg(long, value_name = "N", value_parser = parse_count, default_value = "3", allow_negative_numbers = true)]
    pub stop_after: u32,

    /// Stop a curve at once when a batch takes longer, the batch in flight too (10, 90s, 30m)
    #[arg(long, value_name = "S", value_parser = units::parse_duration, allow_negative_numbers = true)]
    pub max_batch_seconds: Option<Duration>,

    /// Stop a curve after this time (30m, 12h, 2d)
    #[arg(long, value_name = "D", value_parser = units::parse_duration, allow_negative_numbers = true)]
    pub max_duration: Option<Duration>,

    /// Stop the run after this time
    #[arg(long, value_name = "D", value_parser = units::parse_duration, allow_negative_numbers = true)]
    pub max_run_duration: Option<Duration>,

    /// Stop a curve whose table is larger
    #[arg(long, value_name = "BYTES", value_parser = units::parse_bytes, allow_negative_numbers = true)]
    pub max_table_bytes: Option<u64>,

    /// Stop when less space is left on the disks of the database (when it is local) and of the run. A twentieth of the disk
    #[arg(long, value_name = "BYTES", value_parser = units::parse_bytes, allow_negative_numbers = true)]
    pub min_free_disk: Option<u64>,

    /// Start a curve although its table will need more than what is free (an estimate from its columns and indexes)
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, hide_possible_values = true, value_name = "BOOL", action = ArgAction::Set)]
    pub no_disk_check: bool,

    /// Ask the server whether it is still there after this time without an acknowledgement
    #[arg(long, value_name = "D", value_parser = units::parse_duration, default_value = "1h", allow_negative_numbers = true)]
    pub stall_timeout: Duration,

    /// What a stop ends
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = OnStop::Curve)]
    pub on_stop: OnStop,
}

/// What a stop ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnStop {
    /// The curve; the next one runs.
    Curve,
    /// The run; what is left is not started.
    Run,
}

/// Which counters are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Counters {
    /// Those that the engine table names, and figures of the machine.
    Default,
    /// Every global status value too.
    All,
    /// None.
    None,
}

/// In which order the secondary index is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IndexOrder {
    /// In the order of the rows.
    Ascending,
    /// Shuffled.
    Random,
}

/// The options of `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Directories of runs, or CSV files of other programs
    #[arg(value_name = "RUN_DIR|CSV", required = true)]
    pub runs: Vec<PathBuf>,
    /// Every batch, not a selection
    #[arg(long)]
    pub all: bool,
    /// Every column, not a selection
    #[arg(long)]
    pub wide: bool,
    /// The batches as CSV, every one of them
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    pub csv: bool,
    /// The batches as JSON, every one of them
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// The tables of batches as Markdown
    #[arg(long)]
    pub markdown: bool,
    /// What the probes between the batches found, instead of the batches
    #[arg(long, conflicts_with = "wide")]
    pub probes: bool,
    /// The probes in the words of another program: mysqlslap's CSV lines (engine, load, average, minimum and maximum seconds, clients,
    /// queries per client), at the last table size
    #[arg(long = "as", value_name = "PROGRAM", value_enum, conflicts_with_all = ["csv", "json", "markdown", "all", "wide"])]
    pub in_words_of: Option<OtherProgram>,
    /// The table size of the lines of --as: the first that has so many rows
    #[arg(long, value_name = "ROWS", value_parser = units::parse_rows, allow_negative_numbers = true, requires = "in_words_of")]
    pub probe_at: Option<u64>,

    /// How files of other programs are read.
    #[command(flatten)]
    pub foreign: ForeignArgs,
}

/// A program whose lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OtherProgram {
    /// The load emulation client of MySQL.
    Mysqlslap,
}

/// The options of `clean`.
#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Directories of the runs
    #[arg(value_name = "RUN_DIR", required = true)]
    pub runs: Vec<PathBuf>,

    /// How to log in.
    #[command(flatten)]
    pub access: AccessArgs,
}

/// The options of `restore`.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The server, as for `run`. Without one, the servers that this user's runs left changed are listed, and it is asked
    #[arg(long, value_name = "TARGET")]
    pub target: Vec<String>,

    /// Every server that a run of this user left changed, without being asked
    #[arg(long, conflicts_with = "target")]
    pub all: bool,

    /// How to log in.
    #[command(flatten)]
    pub access: AccessArgs,
}

/// The options of `engines`.
#[derive(Debug, Args)]
pub struct EnginesArgs {
    /// Print the table as TOML, laid out as --engine-file takes it
    #[arg(long, conflicts_with = "target")]
    pub toml: bool,

    /// A server, as for `run`: what it has of the table, and why the rest is not there
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,

    /// How to log in.
    #[command(flatten)]
    pub access: AccessArgs,
}

fn parse_positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        Ok(_) => Err("must be more than 0".into()),
        Err(_) => match units::parse_rows(text) {
            Ok(number) => Ok(number as f64),
            Err(_) => Err(format!("{text:?} is not a number; write it as 5000, 5k or 1.5")),
        },
    }
}

/// A factor: a plain number, since 1k times as much is a slip.
fn parse_factor(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor > 0.0 => Ok(factor),
        Ok(_) => Err("must be more than 0".into()),
        Err(_) => Err(format!("{text:?} is not a number; write it as 0.001 or 2")),
    }
}

/// A file or directory to be made. Its name stands in messages and records, so it must not be a mistyped login.
pub(crate) fn parse_new_path(text: &str) -> Result<PathBuf, String> {
    match crate::secret::mask(text) == text {
        true => Ok(text.into()),
        false => {
            Err("this looks like the URL of a server with a password; write ./NAME for a file of that name".into())
        }
    }
}

fn parse_count(text: &str) -> Result<u32, String> {
    let count = units::parse_rows(text)?;
    u32::try_from(count).map_err(|_| format!("{text} is too large; the most is {}", u32::MAX))
}

/// A duration, or 0 for none.
fn parse_wait(text: &str) -> Result<Duration, String> {
    if text.trim() == "0" { Ok(Duration::ZERO) } else { units::parse_duration(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_shard_is_a_part_that_exists() {
        assert_eq!(ShardWord::parse("4/4"), Ok(ShardWord::Part { number: 4, parts: 4 }));
        assert_eq!(ShardWord::parse("slurm"), Ok(ShardWord::Slurm));
        for text in
            ["0/4", "5/4", "x", "1/0", "1", "/", "1/", "/4", "-1/4", "+1/4", "1/4/2", "1/99999999999", " 1/4", ""]
        {
            assert!(ShardWord::parse(text).is_err(), "{text:?} was taken");
        }
    }
}
