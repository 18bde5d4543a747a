//! `rowcliff clean`: drops what an interrupted or failed run left behind, and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::Output;
use crate::cli::CleanArgs;
use crate::error::{Error, exit};
use crate::plan::stop::StopRules;
use crate::plan::{Login, Place, Plan, Secret};
use crate::record::{CurveRecord, store};
use crate::render::progress;
use crate::run::journal::Told;
use crate::run::warden::How;
use crate::run::{Interrupt, RunDirectory, SystemClock, Warden, mark};
use crate::schema::Definition;
use crate::target::ServerSessions;
use crate::target::mysql;
use crate::target::mysql::Access;
use crate::target::scratch;

/// The side table of a control batch, where it may still be there.
fn side_table(curve: &CurveRecord) -> Option<String> {
    curve.control_batch.as_ref()?.table.clone()
}

/// Drops the tables that bear the run's mark.
///
/// # Errors
/// It is no run's directory, a rowcliff is writing it, or something could not be dropped.
pub fn run(args: &CleanArgs) -> Result<Output, Error> {
    let directory = &args.run;
    let next = "name the directory of a run";
    let mut record = store::read_run(directory).map_err(|error| Error::file(directory, error, next))?;
    let _lock = RunDirectory::lock(directory)?;
    let plan: Plan =
        serde_json::from_value(record.plan.clone()).map_err(|error| Error::file(directory, error, next))?;
    let login = Login::read(&args.access)?;
    let mut reporter = progress::reporter(progress::Style::Plain);
    let mut warden = Warden::new(&StopRules::default(), Arc::new(SystemClock::new()), Interrupt::new());
    let mut lines = Vec::new();
    let mut failed = false;
    let mut by_target: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, curve) in plan.curves.iter().enumerate() {
        if record.curves.get(index).is_some_and(|curve| curve.table.is_some() || side_table(curve).is_some()) {
            by_target.entry(curve.cell.target).or_default().push(index);
        }
    }
    if directory.join(mysql::globals::GLOBALS_FILE).exists() {
        // Settings are to be put back, on a server that may hold no table of the run any more.
        for (index, spec) in plan.targets.iter().enumerate() {
            if matches!(spec.place, Place::Server(_)) {
                by_target.entry(index).or_default();
            }
        }
    }
    let has_scratch = plan.targets.iter().any(|spec| matches!(spec.place, Place::Scratch { .. }));
    if has_scratch {
        match scratch::clean(&plan, &record.run_id, directory) {
            Ok(done) => lines.extend(done),
            Err(why) => {
                failed = true;
                lines.push(format!("scratch: {why}; remove it by hand"));
            }
        }
    }
    if by_target.is_empty() && lines.is_empty() {
        lines.push("the run left no table behind".to_owned());
    }
    for (target, curves) in by_target {
        let spec = &plan.targets[target];
        let tables: Vec<(String, String)> = curves
            .iter()
            .flat_map(|&index| {
                let curve = &record.curves[index];
                let mark = mark(&record.run_id, plan.curves[index].number);
                let names = curve.table.clone().into_iter().chain(side_table(curve));
                names.map(move |table| (table, mark.clone())).collect::<Vec<_>>()
            })
            .collect();
        let result = match &spec.place {
            Place::Server(place) => {
                // A table that the binary log does not know must not be dropped in it: that would stop the replicas.
                let access = Access::of_login(&login, place, Secret::default())?.without_binlog(plan.care.skip_binlog);
                let told: Vec<ServerSessions> = curves
                    .iter()
                    .filter_map(|&index| Told::read(directory, plan.curves[index].number).ok())
                    .flat_map(|told| told.sessions())
                    .collect();
                let (what, watched) = (format!("cleaning {}", spec.label), mysql::Cleaning::of(&access, &tables));
                warden.begin(Arc::new(access.leash.clone()), Duration::ZERO);
                let cleaned = warden.watched(reporter.as_mut(), (&what, How::Closing), &watched, || {
                    mysql::clean(access, &tables, &told, directory)
                });
                cleaned.map_err(|failure| failure.to_string())
            }
            Place::Sqlite { path } => Ok(curves
                .iter()
                .map(|&index| crate::target::sqlite::clean(path.as_deref(), directory, &plan, index))
                .collect()),
            Place::Scratch { .. } if failed => continue,
            Place::Scratch { .. } => Ok(Vec::new()),
        };
        match result {
            Ok(done) => {
                lines.extend(done);
                let definition = |index: &usize| record.curves[*index].create_table.as_deref().unwrap_or_default();
                if curves.iter().any(|index| Definition::parse(definition(index)).is_versioned) {
                    lines.push("a system-versioned table keeps removed rows as history: they went with it".into());
                }
                for index in curves {
                    record.curves[index].table = None;
                    if let Some(control) = &mut record.curves[index].control_batch {
                        control.table = None;
                    }
                }
            }
            Err(why) => {
                failed = true;
                lines.push(format!("{}: {why}", spec.label));
            }
        }
    }
    store::write_run(directory, &record)
        .map_err(|error| Error::file(directory, error, "check that it can be written"))?;
    let text = lines.iter().map(|line| format!("{line}\n")).collect();
    Ok(Output { stdout: text, stderr: login.notes, exit: if failed { exit::FAILED } else { exit::OK } })
}
