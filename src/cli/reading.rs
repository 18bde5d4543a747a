//! The words of the commands that read curves.

use std::path::PathBuf;

use clap::Args;

use super::foreign::ForeignArgs;
use crate::analyse::cliffs::CLIFF_FACTOR;

/// The options of `cliffs`.
#[derive(Debug, Args)]
pub struct CliffsArgs {
    /// Directories of runs, or files like their batches.csv
    #[arg(value_name = "RUN_DIR|CSV", required = true)]
    pub runs: Vec<PathBuf>,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,

    /// Exit 5 when there is a cliff
    #[arg(long)]
    pub fail_on_cliff: bool,

    /// Exit 5 when a curve is certainly more than F times slower at its end than its baseline
    #[arg(long, value_name = "F", value_parser = parse_slowdown, allow_negative_numbers = true)]
    pub fail_on_slowdown: Option<f64>,

    /// The lasting slowdown that makes a cliff
    #[arg(long, value_name = "F", value_parser = parse_factor, default_value_t = CLIFF_FACTOR, allow_negative_numbers = true)]
    pub cliff_factor: f64,

    /// How files of other programs are read.
    #[command(flatten)]
    pub foreign: ForeignArgs,
}

/// A factor of `--fail-on-slowdown`.
pub(super) fn parse_slowdown(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor > 1.0 => Ok(factor),
        Ok(_) => Err("must be above 1, which is a curve as fast at its end as at first".into()),
        Err(_) => Err(format!("{text:?} is not a number; write it as 1.5 or 3")),
    }
}

fn parse_factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor >= 1.15 => Ok(factor),
        Ok(_) => Err("must be at least 1.15: smaller changes count as flat".into()),
        Err(_) => Err(format!("{text:?} is not a number; write it as 1.5 or 3")),
    }
}
