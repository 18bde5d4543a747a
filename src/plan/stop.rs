//! When going on with a curve is pointless, or not wanted.

use serde::{Deserialize, Serialize};

/// The rules of a run. Everything is off by default but the stall timeout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StopRules {
    /// Rows per second below which a batch is too slow.
    pub min_rate: Option<f64>,
    /// Times the baseline above which a batch is too slow.
    pub max_slowdown: Option<f64>,
    /// How many batches in a row have to be too slow.
    pub stop_after: u32,
    /// Seconds of one batch.
    pub max_batch_seconds: Option<f64>,
    /// Seconds of one curve, its gaps included.
    pub max_duration_seconds: Option<f64>,
    /// Seconds of the run.
    pub max_run_duration_seconds: Option<f64>,
    /// Size of the table.
    pub max_table_bytes: Option<u64>,
    /// Free space that has to be left; `None`: one twentieth of the file system.
    pub min_free_disk_bytes: Option<u64>,
    /// Seconds without an acknowledgement after which the server is asked whether it is still there.
    pub stall_timeout_seconds: f64,
    /// Whether a stop ends the whole run.
    pub stop_ends_run: bool,
    /// Whether a curve starts although its estimate exceeds what is free.
    #[serde(default)]
    pub no_disk_check: bool,
}

impl Default for StopRules {
    fn default() -> Self {
        Self {
            min_rate: None,
            max_slowdown: None,
            stop_after: 3,
            max_batch_seconds: None,
            max_duration_seconds: None,
            max_run_duration_seconds: None,
            max_table_bytes: None,
            min_free_disk_bytes: None,
            stall_timeout_seconds: 3600.0,
            stop_ends_run: false,
            no_disk_check: false,
        }
    }
}
