//! `run.json`: what a run was asked for, where it ran, and what became of each curve.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::grouped;

/// The version of the layout of `run.json` and `batches.csv` that this program writes.
pub const FORMAT_VERSION: u32 = 1;

/// The whole of `run.json`, replaced by rename whenever it changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Layout version of the run's files.
    pub format_version: u32,
    /// Version of rowcliff that wrote it.
    pub program_version: String,
    /// `release` or `debug`: figures of a debug build are not to be published.
    pub build_profile: String,
    /// Marks the run's tables: short, unique, safe in an identifier.
    pub run_id: String,
    /// The command line as typed, secrets masked.
    pub command_line: Vec<String>,
    /// Start of the run, UTC, RFC 3339.
    pub started_at: String,
    /// End of the run, if it has ended.
    pub finished_at: Option<String>,
    /// Where the run stands.
    pub state: RunState,
    /// The process that writes it, or wrote it last.
    #[serde(default)]
    pub process_id: Option<u32>,
    /// The command lines that went on with it, secrets masked.
    #[serde(default)]
    pub resumed_by: Vec<ResumedBy>,
    /// The resolved plan, as `plan` wrote it: what resume needs to go on.
    pub plan: serde_json::Value,
    pub environment: Environment,
    /// Facts of each target, by label.
    pub targets: BTreeMap<String, TargetRecord>,
    /// Every curve of the plan, the skipped ones too, in the order of the plan.
    pub curves: Vec<CurveRecord>,
}

impl RunRecord {
    /// What a reader has to know of a run whose plan was scaled.
    pub fn scale_note(&self) -> Option<String> {
        let factor = self.plan["scale"].as_f64()?;
        let is_on = |name: &str| self.plan[name].as_bool().unwrap_or(false);
        Some(scale_note(factor, is_on("scale_cache"), is_on("scale_uuid_rate")))
    }
}

impl RunRecord {
    /// In which order secondary indexes were filled and what columns were to hold, in words: where it is not rowcliff's own table as it
    /// always is.
    pub fn values_note(&self) -> Option<String> {
        values_note(&self.plan)
    }
}

/// The same of a plan as it is recorded.
pub fn values_note(plan: &serde_json::Value) -> Option<String> {
    let order = plan["index_order"].as_str()?;
    let mut words = Vec::new();
    if !plan["schema"].is_null() || order != "ascending" {
        words.push(format!("index order {order}"));
    }
    for (column, wish) in plan["fill"].as_object().into_iter().flatten() {
        words.push(format!("{column}={}", wish.as_str().unwrap_or("?")));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

/// What was multiplied by `--scale`, in words.
pub fn scale_note(factor: f64, cache: bool, uuid_rate: bool) -> String {
    let mut parts = vec!["rows", "batch rows", "probe operations"];
    // Runs recorded before kept the clock of the whole plan.
    parts.extend(uuid_rate.then_some("the clock of UUIDs"));
    parts.extend(cache.then_some("the cache"));
    let last = parts.pop().unwrap_or_default();
    let what = format!("{} and {last}", parts.join(", "));
    format!("scaled by {factor}: {what} are the plan's times {factor}, and nothing else")
}

/// A later command that went on with a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResumedBy {
    /// When, UTC, RFC 3339.
    pub at: String,
    /// As typed, secrets masked.
    pub command_line: Vec<String>,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Going on, or ended without being able to say so (look at the lock of the directory).
    Running,
    /// Every curve has an outcome of its own.
    Finished,
    /// Ended by a signal.
    Interrupted,
    /// Ended by an error that is not one curve's.
    Failed,
}

/// The machine that rowcliff runs on. What could not be found out is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    pub host: Option<String>,
    /// Operating system and kernel release.
    pub kernel: Option<String>,
    pub cpu_model: Option<String>,
    /// Cores this process may use.
    pub cpu_cores: Option<u64>,
    pub memory_bytes: Option<u64>,
    /// Memory limit of the control group, where one is set.
    pub cgroup_memory_bytes: Option<u64>,
    /// CPU limit of the control group in cores, where one is set.
    pub cgroup_cpu_cores: Option<f64>,
    /// Threads that generate and encode rows.
    #[serde(default)]
    pub encode_threads: Option<u64>,
    /// File system type of the data directory, when it is local.
    pub file_system: Option<String>,
    /// Device of the data directory, when it is local.
    pub device: Option<String>,
    /// Free space there at the start.
    pub free_bytes: Option<u64>,
    /// Mount options of that file system.
    #[serde(default)]
    pub mount_options: Option<String>,
    /// Scheduler of the device.
    #[serde(default)]
    pub device_scheduler: Option<String>,
    /// Whether the device rotates.
    #[serde(default)]
    pub device_rotational: Option<bool>,
    /// How long a page takes there that is written over and synced.
    #[serde(default)]
    pub sync_probe: Option<SyncProbe>,
    /// Data directories of servers on this machine, by target.
    #[serde(default)]
    pub data_directories: BTreeMap<String, String>,
    /// What kind of virtual machine or container it is; `none` where nothing speaks for one.
    #[serde(default)]
    pub virtualisation: Option<String>,
    /// The rule by which the CPU's frequency is chosen.
    #[serde(default)]
    pub cpu_governor: Option<String>,
    /// Load average over the minute before the run.
    #[serde(default)]
    pub load_average_1m: Option<f64>,
    /// What a reader should know: figures that this system does not tell, what would spoil the run.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Latency of syncs, measured before the first curve.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncProbe {
    /// Median, microseconds.
    pub median_us: u64,
    /// 99th percentile, microseconds.
    pub p99_us: u64,
    /// How many were measured.
    pub syncs: u64,
}

/// What a target said of itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetRecord {
    /// `sqlite`, `mariadb`, `mysql`.
    pub flavour: String,
    /// Version as the server reports it.
    pub version: String,
    /// Variables worth recording, as read back.
    pub variables: BTreeMap<String, String>,
    /// What a reader should know beside the figures.
    pub notes: Vec<String>,
}

/// One curve of the plan and what became of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CurveRecord {
    /// Full name, as in `batches.csv`.
    pub curve: String,
    /// The labels of the curve, as in `batches.csv`.
    pub target: String,
    pub engine: String,
    pub key: String,
    /// Flush setting asked for.
    pub flush: String,
    /// Flush setting read back, once the curve has started.
    pub flush_in_force: String,
    pub settings: String,
    pub method: String,
    pub connections: u32,
    /// Rows of one statement, as really used.
    pub statement_rows: u64,
    /// Rows of one transaction, as really used.
    pub commit_rows: u64,
    /// Repeat, from 1.
    pub repeat: u32,
    /// The table, once it has been created.
    pub table: Option<String>,
    /// SHOW CREATE TABLE, as the server gave it.
    pub create_table: Option<String>,
    /// Variables read back for this curve.
    pub variables: BTreeMap<String, String>,
    /// What counters of `counters.csv` stand for, whatever the engine calls them: `reads` (pages read) and `syncs` (of files).
    #[serde(default)]
    pub counter_roles: BTreeMap<String, Vec<String>>,
    /// What became of it.
    pub outcome: Outcome,
    pub batches: u64,
    /// Rows in the table after the last recorded batch.
    pub table_rows: u64,
    /// The batch that was in flight when the curve ended, if there was one. It is in no curve.
    #[serde(default)]
    pub partial: Option<PartialBatch>,
    /// Whether its engine keeps what it accepts (BLACKHOLE does not); `None` where that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps_rows: Option<bool>,
    /// Sum of the timed sections.
    pub load_seconds: f64,
    /// Waiting before the first batch for what the curve before left behind.
    pub settle_seconds: Option<f64>,
    /// The closing work (checkpoint, FLUSH TABLES ... FOR EXPORT), timed on its own.
    pub closing_seconds: Option<f64>,
    /// The count and the rows read back at the end.
    pub verification: Option<Verification>,
    /// Start of the curve, UTC.
    pub started_at: Option<String>,
    /// End of the curve, UTC.
    pub finished_at: Option<String>,
    /// What a reader should know beside the figures.
    pub notes: Vec<String>,
    /// Probes that were asked for and cannot be run here, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub probes_left_out: BTreeMap<String, String>,
    /// Whether going on would end it again: at a row that breaks what the table asks of it, or with a table that does not hold what
    /// was sent.
    #[serde(default, alias = "breaks_constraint", skip_serializing_if = "std::ops::Not::not")]
    pub cannot_go_on: bool,
    /// Where it was gone on with after something had ended it.
    #[serde(default)]
    pub resumptions: Vec<Resumption>,
    /// The batch into a fresh table at its end, where one was asked for. It is in no curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_batch: Option<ControlBatch>,
    /// The endpoints over which it was loaded, where the target has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointRecord>,
}

/// One endpoint of a cluster, and what it did for a curve. The counts are those of the process that loaded last: what an
/// earlier one had counted went with it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EndpointRecord {
    /// Host and port, or the socket.
    pub name: String,
    /// The most loading connections that were open there at once.
    pub connections: u32,
    /// Statements that were acknowledged, those of batches that were taken back too.
    pub statements: u64,
    /// Rows that were acknowledged, those of batches that were taken back too.
    pub rows: u64,
    /// Answers that were errors, those of what was sent again too.
    pub errors: u64,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_error: Option<String>,
    /// Rows counted through it at the end.
    pub counted_rows: Option<u64>,
    /// When it was given up, UTC, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_why: Option<String>,
}

/// One batch into a fresh side table, under the settings of a curve that has ended: whether the server is still as fast as it was.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ControlBatch {
    /// Its table while it exists; `clean` drops one that was left behind.
    pub table: Option<String>,
    /// Rows that were accepted.
    pub rows: u64,
    /// Its timed section; `None` when it did not come to its end.
    pub seconds: Option<f64>,
    /// When it was loaded, UTC, RFC 3339.
    pub started_at: String,
    /// Why there is no figure, or what went wrong with its table.
    pub problem: Option<String>,
}

/// A curve that was gone on with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Resumption {
    /// When, UTC, RFC 3339.
    pub at: String,
    /// The first batch that was loaded after it.
    pub from_batch: u64,
    /// Rows of an unfinished batch that were removed.
    pub removed_rows: u64,
    /// Rows of recorded batches that were not in the table any more.
    pub lost_rows: u64,
    /// The recorded batches that had lost rows: their lines are in `lost.csv`.
    pub lost_batches: u64,
    /// The table itself was gone.
    pub started_again: bool,
}

/// A batch that was not finished.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PartialBatch {
    pub batch: u64,
    /// Rows of it that were acknowledged.
    pub rows: u64,
    /// How long it had been in its timed sections.
    pub seconds: f64,
}

impl CurveRecord {
    /// Whether `rowcliff resume` has something to do for it, in a run that ended as `state`.
    pub fn is_open(&self, state: RunState) -> bool {
        match &self.outcome {
            Outcome::Failed { .. } if self.cannot_go_on => false,
            Outcome::Running | Outcome::Interrupted | Outcome::Failed { .. } => true,
            // Left out on purpose when a stop ended the run.
            Outcome::NotStarted => state != RunState::Finished,
            Outcome::Skipped { environment, .. } => *environment && state != RunState::Finished,
            Outcome::Completed | Outcome::Stopped { .. } | Outcome::Full { .. } => false,
        }
    }
}

/// What became of a curve.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Outcome {
    /// Its turn has not come, or never came.
    #[default]
    NotStarted,
    Running,
    /// All batches are in, and verified unless that was switched off.
    Completed,
    /// A stop rule ended it.
    Stopped {
        /// The rule, by its flag.
        rule: String,
        /// The figures that made it fire.
        figures: String,
    },
    /// The table can take no more.
    Full {
        /// Rows counted on the target.
        rows: u64,
        /// What the target said.
        message: String,
    },
    /// The cell cannot be run here.
    Skipped {
        why: String,
        /// `true` when the environment prevents it (privilege, plugin, server), `false` when the engine
        /// cannot do it at all.
        environment: bool,
    },
    /// It ended with an error.
    Failed {
        /// The server's or the system's own code.
        code: Option<i64>,
        message: String,
    },
    /// A signal ended it.
    Interrupted,
}

impl Outcome {
    /// The outcome in one word, as `run.json` has it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NotStarted => "not-started",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Stopped { .. } => "stopped",
            Self::Full { .. } => "full",
            Self::Skipped { .. } => "skipped",
            Self::Failed { .. } => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The check at the end of a curve.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// Rows that should be there.
    pub expected_rows: u64,
    /// Rows the target counted.
    pub counted_rows: Option<u64>,
    /// Rows fetched and compared value by value.
    pub compared_rows: u64,
    /// How many of them differed or were missing.
    pub wrong_rows: u64,
    /// The first difference, in words.
    pub first_difference: Option<String>,
    /// Why a part was left out, if it was.
    pub left_out: Option<String>,
    /// Which rows were compared, where they are not rows at random indexes.
    #[serde(default)]
    pub compared: Option<String>,
}

/// What stands in [`Verification::left_out`] of an engine that keeps no row.
pub const KEEPS_NO_ROW: &str = "this engine keeps no row";

impl Verification {
    /// What differs from what was sent, in words; `None` when nothing was found to differ.
    pub fn difference(&self) -> Option<String> {
        if let Some(counted) = self.counted_rows.filter(|&counted| counted != self.expected_rows) {
            return Some(format!(
                "the table should hold {} rows and {} were counted",
                grouped(self.expected_rows),
                grouped(counted)
            ));
        }
        if self.wrong_rows == 0 && self.first_difference.is_none() {
            return None;
        }
        let first = self.first_difference.as_deref().unwrap_or("not recorded");
        Some(format!(
            "{} of {} compared rows are not what was sent; the first: {first}",
            self.wrong_rows, self.compared_rows
        ))
    }

    /// Whether the rows were counted and nothing differs.
    pub fn is_right(&self) -> bool {
        self.counted_rows == Some(self.expected_rows) && self.difference().is_none()
    }
}
