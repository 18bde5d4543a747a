//! `rowcliff resume`, and `rowcliff run --continue`: goes on with a run that something ended.

use std::path::Path;

use super::Output;
use super::run::{Job, execute, style, with_cliff};
use super::slowdown::Gate;
use crate::analyse::cliffs::CLIFF_FACTOR;
use crate::cli::lifecycle::ResumeArgs;
use crate::cli::{DEFAULT_PLOTS_EVERY, RunArgs};
use crate::error::Error;
use crate::plan::{self, AskTarget, Circumstances, Login, Place, Plan, Protection, Secret};
use crate::reading::input;
use crate::record::event::{Event, Reporter};
use crate::record::{RunRecord, store};
use crate::render::{cliffs, progress};
use crate::run::{Past, RunDirectory, Summary};
use crate::schema::BuiltIn;

/// Goes on with a run.
///
/// # Errors
/// It is no run's directory, another rowcliff writes it, another version of rowcliff wrote it, or nothing could be reached.
pub fn run(args: &ResumeArgs, command_line: &[String]) -> Result<Output, Error> {
    let record = read(&args.run)?;
    let plan = plan_of(&args.run, &record)?;
    let login = Login::read(&args.access)?;
    let mut reporter = progress::reporter(style(args.progress.word()));
    login.notes.iter().for_each(|note| reporter.report(&Event::Note(note)));
    let secrets: Result<Vec<Secret>, Error> = plan
        .targets
        .iter()
        .map(|target| match &target.place {
            Place::Server(place) => login.secret(Secret::default(), place),
            _ => Ok(Secret::default()),
        })
        .collect();
    let words = Words {
        plan: &plan,
        secrets: &secrets?,
        protection: &login.protection,
        start_again: args.start_again,
        command_line,
        plots_every: DEFAULT_PLOTS_EVERY,
        fail_on_slowdown: args.fail_on_slowdown.or(plan.fail_on_slowdown),
    };
    go_on(&args.run, &words, reporter.as_mut())
}

/// What a run goes on with beside its own files.
pub struct Words<'a> {
    pub plan: &'a Plan,
    /// The password of each target.
    pub secrets: &'a [Secret],
    /// How connections are protected.
    pub protection: &'a Protection,
    /// Whether curves whose table is gone start again.
    pub start_again: bool,
    /// As typed, secrets masked.
    pub command_line: &'a [String],
    /// Batches after which the plots are drawn anew.
    pub plots_every: u32,
    /// The factor above which a slowdown is an exit code of its own.
    pub fail_on_slowdown: Option<f64>,
}

/// Goes on with the run in `directory`, whose plan has been made sure of.
///
/// # Errors
/// As [`run`].
pub fn go_on(directory: &Path, words: &Words<'_>, reporter: &mut dyn Reporter) -> Result<Output, Error> {
    let (opened, cut) = RunDirectory::reopen(directory)?;
    let (past, notes) = Past::read(directory, words.start_again)?;
    for note in cut.iter().chain(&notes) {
        reporter.report(&Event::Note(note));
    }
    if !past.record.curves.iter().any(|curve| past.is_open(curve)) {
        let summary = Summary { record: past.record, errors: Vec::new(), strict: words.plan.strict };
        let line = format!("nothing to resume: every curve of {} has ended", directory.display());
        let mut exit = summary.exit_code();
        let mut stderr = vec![line];
        stderr.extend(summary.record.curves.iter().filter_map(super::run::cannot_go_on));
        if words.plan.fail_on_cliff || words.fail_on_slowdown.is_some() {
            let input = input::load(&[directory.to_owned()])?;
            let judged = cliffs::judge_all(&input, CLIFF_FACTOR);
            let gate = Gate::of(&judged, words.fail_on_slowdown);
            exit =
                gate.exit(with_cliff(exit, words.plan.fail_on_cliff && cliffs::any_cliff(&judged)), words.plan.strict);
            stderr.extend(gate.lines);
        }
        return Ok(Output { stdout: String::new(), stderr, exit });
    }
    execute(Job {
        plan: words.plan,
        secrets: words.secrets,
        protection: words.protection,
        directory: opened,
        past: Some(past),
        reporter,
        command_line: words.command_line,
        plots_every: words.plots_every,
        fail_on_slowdown: words.fail_on_slowdown,
    })
}

fn plan_of(directory: &Path, record: &RunRecord) -> Result<Plan, Error> {
    serde_json::from_value(record.plan.clone())
        .map_err(|error| Error::file(directory, error, "the plan in run.json is what a run goes on with"))
}

/// Reads the record of a run that is to go on.
fn read(directory: &Path) -> Result<RunRecord, Error> {
    let record =
        store::read_run(directory).map_err(|error| Error::file(directory, error, "name the directory of a run"))?;
    let this = env!("CARGO_PKG_VERSION");
    if record.program_version != this {
        return Err(Error::file(
            directory,
            format!("this run was written by rowcliff {}, and this is {this}", record.program_version),
            "another version may make other rows: resume with that one, or start the run again in another directory",
        ));
    }
    Ok(record)
}

/// The plan of the run in `directory`, if it is the one that a command line describes. The words have the meaning that they
/// had when the run was begun.
///
/// # Errors
/// It is another: with what differs.
pub fn same_plan(directory: &Path, args: &RunArgs, ask: AskTarget<'_>) -> Result<Plan, Error> {
    let record = read(directory)?;
    let recorded = plan_of(directory, &record)?;
    let tables = recorded.curves.first().map_or(BuiltIn::One, |curve| curve.cell.tables);
    // Nothing is connected to, so that nobody is asked a second time.
    let mut args = args.clone();
    args.access.ask_password = false;
    let mut asked =
        plan::of_args_with(&args, super::run::remembered_part(&args), Circumstances { ask: Some(ask), tables })?.plan;
    if asked.edition != recorded.edition {
        // The rules of then, with the index order that was the only one unless it was said.
        asked.edition = recorded.edition;
        asked.index_order = args.index_order.map_or(recorded.index_order, |_| asked.index_order);
    }
    let mut found = Vec::new();
    differences("", &comparable(&recorded), &comparable(&asked), &mut found);
    if found.is_empty() {
        return Ok(recorded);
    }
    let more = found.len().saturating_sub(SHOWN);
    let mut text = found[..found.len().min(SHOWN)].join("; ");
    if more > 0 {
        text.push_str(&format!("; and {more} more"));
    }
    Err(Error::usage(
        "--continue",
        format!("the run in {} was asked for something else: {text}", directory.display()),
        "`rowcliff resume` goes on with what is there; give another --out for something else",
    ))
}

/// A plan without what the engine table only says of an engine: it decides nothing of the rows and their load.
fn comparable(plan: &Plan) -> serde_json::Value {
    let mut value = serde_json::to_value(plan).unwrap_or_default();
    for curve in value["curves"].as_array_mut().into_iter().flatten() {
        if let Some(entry) = curve["cell"]["engine_entry"].as_object_mut() {
            entry.retain(|name, _| !["row_bytes", "layout", "notes", "tested", "unable"].contains(&name.as_str()));
        }
    }
    value
}

/// How many differences a message names.
const SHOWN: usize = 3;

/// What differs between two plans, as `path: there, here`.
fn differences(path: &str, there: &serde_json::Value, here: &serde_json::Value, found: &mut Vec<String>) {
    use serde_json::Value;
    match (there, here) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                differences(&path, &a[key.as_str()], &b[key.as_str()], found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}[{index}]"), a, b, found);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            found.push(format!("{path}: {} of them there, {} here", a.len(), b.len()));
        }
        (a, b) if a != b => found.push(format!("{path}: {a} there, {b} here")),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differences_are_named_by_their_place() {
        let mut found = Vec::new();
        differences(
            "",
            &json!({"seed": 1, "curves": [{"sizes": {"rows": 10}}], "keep": false, "list": [1]}),
            &json!({"seed": 1, "curves": [{"sizes": {"rows": 20}}], "keep": false, "list": [1, 2]}),
            &mut found,
        );
        assert_eq!(found, ["curves[0].sizes.rows: 10 there, 20 here", "list: 1 of them there, 2 here"]);
    }
}
