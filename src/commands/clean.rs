//! `rowcliff clean`: drops what interrupted or failed runs left behind, and nothing else.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::Output;
use crate::cli::CleanArgs;
use crate::error::{Error, exit};
use crate::plan::stop::StopRules;
use crate::plan::{Login, Place, Plan, Secret};
use crate::record::{CurveRecord, Outcome, RunRecord, RunState, store};
use crate::render::progress;
use crate::run::journal::{JOURNAL_FILE, Told};
use crate::run::warden::How;
use crate::run::{Interrupt, RunDirectory, SystemClock, Warden, mark, table_name};
use crate::schema::Definition;
use crate::targets::mysql;
use crate::targets::mysql::Access;
use crate::targets::scratch;
use crate::targets::{Failure, ServerSessions};

/// Drops the tables that bear the marks of these runs.
///
/// # Errors
/// It is no run's directory, a rowcliff is writing it, or something could not be dropped. Of several directories, the others
/// are cleaned all the same.
pub fn run(args: &CleanArgs) -> Result<Output, Error> {
    let login = Login::read(&args.access)?;
    let mut output = Output { stderr: login.notes.clone(), ..Output::default() };
    for directory in &args.runs {
        match clean(directory, &login) {
            Ok(cleaned) => {
                let of_run = if args.runs.len() > 1 { format!("{}: ", directory.display()) } else { String::new() };
                output.stdout.extend(cleaned.lines.iter().map(|line| format!("{of_run}{line}\n")));
                output.exit = output.exit.max(if cleaned.failed { exit::FAILED } else { exit::OK });
            }
            Err(error) if args.runs.len() == 1 => return Err(error),
            Err(error) => {
                output.stderr.push(error.to_string());
                output.exit = exit::FAILED;
            }
        }
    }
    Ok(output)
}

/// What was done for one run.
#[derive(Default)]
struct Cleaned {
    lines: Vec<String>,
    failed: bool,
}

fn clean(directory: &Path, login: &Login) -> Result<Cleaned, Error> {
    let next = "name the directory of a run";
    let mut record = store::read_run(directory).map_err(|error| Error::file(directory, error, next))?;
    let _lock = RunDirectory::lock(directory)?;
    let plan: Plan =
        serde_json::from_value(record.plan.clone()).map_err(|error| Error::file(directory, error, next))?;
    let mut cleaned = Cleaned::default();
    if plan.targets.iter().any(|spec| matches!(spec.place, Place::Scratch { .. })) {
        match scratch::clean(&plan, &record.run_id, directory) {
            Ok(done) => cleaned.lines.extend(done),
            Err(why) => {
                cleaned.failed = true;
                cleaned.lines.push(format!("scratch: {why}; remove it by hand"));
            }
        }
    }
    let scratch_failed = cleaned.failed;
    for (target, curves) in to_look_at(&plan, &record, directory) {
        if scratch_failed && matches!(plan.targets[target].place, Place::Scratch { .. }) {
            continue;
        }
        let done = match &plan.targets[target].place {
            Place::Server(_) => on_server(&plan, &record, directory, login, target, &curves)?,
            Place::Sqlite { path } => Ok(curves
                .iter()
                .map(|&index| crate::targets::sqlite::clean(path.as_deref(), directory, &plan, index))
                .collect()),
            Place::Scratch { .. } => Ok(Vec::new()),
        };
        match done {
            Ok(done) => {
                cleaned.lines.extend(done);
                forget_tables(&mut record, &curves, &mut cleaned.lines);
            }
            Err(why) => {
                cleaned.failed = true;
                cleaned.lines.push(format!("{}: {why}", plan.targets[target].label));
            }
        }
    }
    if cleaned.lines.is_empty() {
        cleaned.lines.push("the run left no table behind".to_owned());
    }
    if !cleaned.failed {
        run_never_began(directory, &mut record)?;
    }
    store::write_run(directory, &record)
        .map_err(|error| Error::file(directory, error, "check that it can be written"))?;
    Ok(cleaned)
}

/// A run without a batch has nothing left that goes on: its directory is free for another one.
fn run_never_began(directory: &Path, record: &mut RunRecord) -> Result<(), Error> {
    let has_samples = record.curves.iter().any(|curve| curve.batches > 0)
        || store::read_batches(&directory.join(store::BATCHES_FILE)).is_ok_and(|read| !read.samples.is_empty());
    if has_samples {
        return Ok(());
    }
    if record.state == RunState::Running {
        record.state = RunState::Interrupted;
    }
    let journal = directory.join(JOURNAL_FILE);
    std::fs::write(&journal, "").map_err(|error| Error::file(&journal, error, "check that it can be written"))
}

/// The side table of a control batch, where it may still be there.
fn side_table(curve: &CurveRecord) -> Option<String> {
    curve.control_batch.as_ref()?.table.clone()
}

/// The targets that may hold something of the run, each with the curves that are known to have left a table there.
fn to_look_at(plan: &Plan, record: &RunRecord, directory: &Path) -> BTreeMap<usize, Vec<usize>> {
    let mut by_target: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, curve) in plan.curves.iter().enumerate() {
        let Some(recorded) = record.curves.get(index) else { continue };
        if recorded.table.is_some() || side_table(recorded).is_some() {
            by_target.entry(curve.cell.target).or_default().push(index);
        } else if may_have_left_a_trial(&recorded.outcome)
            && matches!(plan.targets[curve.cell.target].place, Place::Server(_))
        {
            by_target.entry(curve.cell.target).or_default();
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
    by_target
}

/// Whether a table of the trial may still be there: no record names it, since it lives for a moment.
fn may_have_left_a_trial(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Completed | Outcome::Stopped { .. } | Outcome::Full { .. } => false,
        Outcome::Skipped { environment, .. } => *environment,
        _ => true,
    }
}

/// Cleans a server somebody else runs. Gives what was done, or why it could not be.
fn on_server(
    plan: &Plan,
    record: &RunRecord,
    directory: &Path,
    login: &Login,
    target: usize,
    curves: &[usize],
) -> Result<Result<Vec<String>, String>, Error> {
    let Place::Server(place) = &plan.targets[target].place else { return Ok(Ok(Vec::new())) };
    let tables: Vec<(String, String)> = curves
        .iter()
        .flat_map(|&index| {
            let curve = &record.curves[index];
            let mark = mark(&record.run_id, plan.curves[index].number);
            let names = curve.table.clone().into_iter().chain(side_table(curve));
            names.map(move |table| (table, mark.clone())).collect::<Vec<_>>()
        })
        .collect();
    // A table that the binary log does not know must not be dropped in it: that would stop the replicas.
    let access = Access::of_login(login, place, Secret::default())?.without_binlog(plan.care.skip_binlog);
    let is_owed = !tables.is_empty() || directory.join(mysql::globals::GLOBALS_FILE).exists();
    let told: Vec<ServerSessions> = curves
        .iter()
        .filter_map(|&index| Told::read(directory, plan.curves[index].number).ok())
        .flat_map(|told| told.sessions())
        .collect();
    // Those of a trial are called like the curve's own.
    let of_trials = plan.curves.iter().filter(|curve| curve.cell.target == target);
    let of_trials: Vec<(String, String)> =
        of_trials.map(|curve| (table_name(&record.run_id, curve.number), mark(&record.run_id, curve.number))).collect();
    let marks: Vec<String> = of_trials.iter().map(|(_, mark)| mark.clone()).collect();
    let all: Vec<(String, String)> = tables.iter().chain(&of_trials).cloned().collect();
    let what = format!("cleaning {}", plan.targets[target].label);
    let watched = mysql::Cleaning::of(&access, &all);
    let leash = access.leash.clone();
    let cleaned = watching(&what, &watched, leash, || mysql::clean(access, &tables, &marks, &told, directory));
    Ok(match cleaned {
        // Nothing is known to be there: a server that is gone owes nothing, and that it was not looked at is said.
        Err(failure) if !is_owed => Ok(vec![format!(
            "{}: the run recorded no table there, and whether its trial left one was not looked at: {failure}",
            plan.targets[target].label
        )]),
        other => other.map_err(|failure| failure.to_string()),
    })
}

/// Does something at a server that may wait, and says what is waited for.
fn watching<T: Send>(
    what: &str,
    watched: &mysql::Cleaning,
    leash: mysql::leash::Leash,
    call: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let mut reporter = progress::reporter(progress::Style::Plain);
    let mut warden = Warden::new(&StopRules::default(), Arc::new(SystemClock::new()), Interrupt::new());
    warden.begin(Arc::new(leash), Duration::ZERO);
    warden.watched(reporter.as_mut(), (what, How::Closing), watched, call)
}

/// Takes what was dropped out of the record.
fn forget_tables(record: &mut RunRecord, curves: &[usize], lines: &mut Vec<String>) {
    let definition = |index: &usize| record.curves[*index].create_table.as_deref().unwrap_or_default();
    if curves.iter().any(|index| Definition::parse(definition(index)).is_versioned) {
        lines.push("a system-versioned table keeps removed rows as history: they went with it".into());
    }
    for &index in curves {
        record.curves[index].table = None;
        if let Some(control) = &mut record.curves[index].control_batch {
            control.table = None;
        }
    }
}
