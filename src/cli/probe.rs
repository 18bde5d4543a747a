//! The words about probes: what is run between the batches.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::parse_count;
use crate::units;

/// Short read and write loads at chosen table sizes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Probes")]
pub struct ProbeArgs {
    /// Loads to run between batches, as a comma list: select-pk, select-secondary, range-pk, handler-pk, update-pk,
    /// update-secondary, insert, mixed, oltp
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub probe: Vec<String>,

    /// Run them after every N batches, and after the last one. A tenth of the batches
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    pub probe_every: Option<u32>,

    /// Run them at these table sizes, as a comma list (1M,10M,100M), each at the first batch that reaches it
    #[arg(long, value_name = "ROWS", value_delimiter = ',', value_parser = units::parse_rows, allow_negative_numbers = true, conflicts_with = "probe_every")]
    pub probe_at: Vec<u64>,

    /// Connections that share the operations of an iteration, as a comma list. The loading ones
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_count, allow_negative_numbers = true)]
    pub probe_connections: Vec<u32>,

    /// Iterations of each probe
    #[arg(long, value_name = "N", value_parser = parse_count, default_value = "1", allow_negative_numbers = true)]
    pub probe_iterations: u32,

    /// Operations of an iteration, over all its connections, as a comma list. 1000; with --probe-seconds, no limit
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = units::parse_rows, allow_negative_numbers = true)]
    pub probe_ops: Vec<u64>,

    /// End an iteration after this time
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration, allow_negative_numbers = true)]
    pub probe_seconds: Option<Duration>,

    /// Which rows are asked for
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = ProbeKeys::Fixed)]
    pub probe_keys: ProbeKeys,

    /// Run each probe once, unrecorded, before its first iteration at a table size
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, hide_possible_values = true, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub probe_warmup: bool,
}

/// Which rows a probe asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProbeKeys {
    /// The same random ones for each engine and iteration, chosen by the seed.
    Fixed,
    /// Other ones for each iteration.
    Fresh,
}
