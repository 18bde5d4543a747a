//! The commands, one file each: from what was typed to what is printed. They read and decide; `main` prints.

pub mod check;
pub mod clean;
pub mod cliffs;
pub mod compare;
pub mod engines;
pub mod expected;
pub mod forecast;
pub mod plot;
pub mod published;
pub mod refresh;
pub mod report;
pub mod restore;
pub mod resume;
pub mod run;
pub mod show;
pub mod slowdown;
pub mod status;

use crate::error::exit;

/// What a command has to say at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    pub stdout: String,
    /// Everything else, a line each.
    pub stderr: Vec<String>,
    pub exit: u8,
}

impl Output {
    /// Results and nothing else.
    pub fn results(stdout: String) -> Self {
        Self { stdout, stderr: Vec::new(), exit: exit::OK }
    }
}
