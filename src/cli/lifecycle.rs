//! The words for runs that are going on, or are to go on.

use std::path::PathBuf;

use clap::Args;

use super::Progress;
use super::access::AccessArgs;

/// The options of `resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// Directory of the run
    #[arg(value_name = "RUN_DIR")]
    pub run: PathBuf,

    /// Load curves whose table is gone from their first row, on a server somebody else runs too
    #[arg(long)]
    pub start_again: bool,

    /// Exit 5 when a curve is certainly more than F times slower at its end than its baseline and nothing worse happened (default:
    /// what the run was given)
    #[arg(long, value_name = "F", value_parser = super::reading::parse_slowdown, allow_negative_numbers = true)]
    pub fail_on_slowdown: Option<f64>,

    /// How progress is shown.
    #[command(flatten)]
    pub progress: ProgressArgs,

    /// How to log in.
    #[command(flatten)]
    pub access: AccessArgs,
}

/// How progress is shown: the same options for every command that loads.
#[derive(Debug, Clone, Copy, Args)]
pub struct ProgressArgs {
    /// How progress is shown on stderr
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Progress::Auto)]
    progress: Progress,

    /// Nothing on stderr but errors: --progress none
    #[arg(long, short, conflicts_with = "progress")]
    quiet: bool,
}

impl ProgressArgs {
    /// What was said, both options taken together.
    pub fn word(self) -> Progress {
        if self.quiet { Progress::None } else { self.progress }
    }
}

/// The options of `status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Directories of the runs
    #[arg(value_name = "RUN_DIR", required = true)]
    pub runs: Vec<PathBuf>,

    /// One JSON object on stdout; of several runs, an array of them
    #[arg(long)]
    pub json: bool,
}
