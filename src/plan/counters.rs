//! Which counters are read.

use serde::{Deserialize, Serialize};

/// Which counters are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CounterChoice {
    /// Those that the engine table names, and figures of the machine.
    #[default]
    Default,
    /// Every global status value that is a number as well.
    All,
    /// None: `counters.csv` is not written.
    None,
}
