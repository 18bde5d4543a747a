//! From the places of a plan to targets.

use std::path::Path;
use std::sync::Arc;

use super::Target;
use super::mysql::{Access, Mode, MysqlTarget};
use super::scratch::{AskedToEnd, ScratchTarget};
use super::sqlite::SqliteTarget;
use crate::error::Error;
use crate::plan::{Place, Plan, Protection, Secret};

/// What is needed to open the targets of a plan.
pub struct Opening<'a> {
    pub plan: &'a Plan,
    /// The password of each target.
    pub secrets: &'a [Secret],
    /// How connections are protected.
    pub protection: &'a Protection,
    /// Whether anything may be changed.
    pub mode: Mode,
    pub directory: &'a Path,
    /// The run that goes on, if one does.
    pub run_id: Option<&'a str>,
    /// Whether somebody waits for rowcliff to end: starting a server takes seconds.
    pub asked_to_end: AskedToEnd,
}

/// One target for each place of the plan, in its order. Nothing is connected yet.
///
/// # Errors
/// A place cannot be used on this machine.
pub fn open(opening: &Opening<'_>) -> Result<Vec<Box<dyn Target>>, Error> {
    let Opening { plan, secrets, protection, mode, directory, run_id, asked_to_end } = opening;
    plan.targets
        .iter()
        .enumerate()
        .map(|(index, spec)| {
            let target: Box<dyn Target> = match &spec.place {
                Place::Sqlite { path } => {
                    let target = SqliteTarget::new(path.clone(), plan.shares_target(index)).of_run(*run_id);
                    Box::new(if *mode == Mode::ReadsOnly { target.in_memory() } else { target })
                }
                Place::Server(place) => {
                    let secret = secrets.get(index).cloned().unwrap_or_default();
                    let access = Access::new(place.clone(), secret).protected(protection);
                    let access = access.without_binlog(plan.care.skip_binlog);
                    Box::new(MysqlTarget::external(&spec.label, access, *mode, directory).of_plan(plan))
                }
                Place::Scratch { binary } => {
                    Box::new(ScratchTarget::new(index, binary.clone(), plan, directory, Arc::clone(asked_to_end)))
                }
            };
            Ok(target)
        })
        .collect()
}
