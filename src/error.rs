//! What can go wrong, one variant for each kind, with the flag or file, the cause and the next step as fields.

use std::path::{Path, PathBuf};

/// Exit codes. Where several hold, the first of these counts: 130, 1, 3, 5 (a cliff was found), 4, 6, 2, 0 (see
/// [`crate::run::Summary::exit_code`]).
pub mod exit {
    /// Everything asked for was done.
    pub const OK: u8 = 0;
    /// Something failed: a curve, a verification, a restore, or nothing could run.
    pub const FAILED: u8 = 1;
    pub const USAGE: u8 = 2;
    /// A stop rule ended a curve, or a table was full.
    pub const STOPPED: u8 = 3;
    /// `compare` found a regression.
    pub const REGRESSION: u8 = 4;
    /// `--fail-on-cliff` found a cliff.
    pub const CLIFF: u8 = 5;
    /// `compare --fail-if-inconclusive` could not tell.
    pub const INCONCLUSIVE: u8 = 6;
    /// Ended by a signal.
    pub const INTERRUPTED: u8 = 130;
}

/// An error that ends a command. Errors that end one curve only are [`crate::targets::Failure`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A flag's value makes no sense.
    #[error("{flag}: {cause}\n  {next}")]
    Usage {
        /// The flag, as typed.
        flag: String,
        /// What is wrong with it.
        cause: String,
        next: String,
    },
    /// A target cannot be reached or cannot be used at all.
    #[error("target {target}: {cause}\n  {next}")]
    Target {
        /// Its label, without secrets.
        target: String,
        /// What was said, with the server's own code and text.
        cause: String,
        next: String,
    },
    /// A file or directory cannot be used.
    #[error("{path}: {cause}\n  {next}", path = path.display())]
    File { path: PathBuf, cause: String, next: String },
    /// A run that is to be shown cannot be read.
    #[error("{0}")]
    Input(String),
    /// A run ended with an error, and what it changed on a server could not be put back. The latter stands last.
    #[error("{first}\nerror: {unrestored}")]
    Unrestored {
        /// What ended the run.
        first: Box<Error>,
        /// What could not be put back.
        unrestored: String,
    },
    /// Results could not be saved.
    #[error("{path}: a result could not be saved: {cause}\n  what was recorded before it is whole; free space there, then `rowcliff resume` goes on", path = path.display())]
    Results { path: PathBuf, cause: String },
}

impl Error {
    /// Wrong usage of `flag`.
    pub fn usage(flag: impl Into<String>, cause: impl Into<String>, next: impl Into<String>) -> Self {
        Self::Usage { flag: flag.into(), cause: cause.into(), next: next.into() }
    }

    /// A target that cannot be used.
    pub fn target(target: impl Into<String>, cause: impl Into<String>, next: impl Into<String>) -> Self {
        Self::Target { target: target.into(), cause: cause.into(), next: next.into() }
    }

    /// A file that cannot be used.
    pub fn file(path: impl AsRef<Path>, cause: impl ToString, next: impl Into<String>) -> Self {
        Self::File { path: path.as_ref().to_owned(), cause: cause.to_string(), next: next.into() }
    }

    /// The exit code of the program when it ends with this error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage { .. } => exit::USAGE,
            Self::Target { .. }
            | Self::File { .. }
            | Self::Input(_)
            | Self::Results { .. }
            | Self::Unrestored { .. } => exit::FAILED,
        }
    }
}
