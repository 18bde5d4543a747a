//! `rowcliff run`: plan, targets, run, pictures, table.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::plot::Pictures;
use super::refresh::Refreshing;
use super::slowdown::Gate;
use super::{Output, resume};
use crate::analyse::cliffs::CLIFF_FACTOR;
use crate::cli::{Progress, RunArgs};
use crate::error::{Error, exit};
use crate::observe::environment;
use crate::plan::{self, Circumstances, Place, Plan, Protection, Secret, Shard, TargetSpec};
use crate::record::event::{Event, Reporter};
use crate::record::store::{RUN_FILE, read_run};
use crate::record::{CurveRecord, Outcome, RunRecord, RunState};
use crate::render::cliffs;
use crate::render::pictures::PictureOptions;
use crate::render::progress;
use crate::run::resume::START_AGAIN;
use crate::run::{Clock, Interrupt, Past, RunDirectory, Runner, Summary, SystemClock, Warden};
use crate::targets::NOT_MARKED;
use crate::targets::mysql::Mode;
use crate::targets::registry::{self, Opening};

/// Runs the matrix.
///
/// # Errors
/// Wrong usage, nothing could be reached, or results could not be saved.
pub fn run(args: &RunArgs, command_line: &[String]) -> Result<Output, Error> {
    let ask: plan::AskTarget<'_> = &crate::targets::definition::read;
    let resolved =
        plan::of_args_with(args, remembered_part(args), Circumstances { ask: Some(ask), ..Circumstances::default() })?;
    if let Some(nothing) = nothing_to_do(&resolved.plan) {
        return Ok(Output { stdout: format!("{nothing}\n"), stderr: resolved.notes, exit: exit::OK });
    }
    let mut reporter = progress::reporter(style(args.progress.word()));
    for note in &resolved.notes {
        reporter.report(&Event::Note(note));
    }
    let out = out_directory(args, &resolved.plan);
    if args.go_on && out.join(RUN_FILE).exists() {
        let words = resume::Words {
            plan: &resume::same_plan(&out, args, ask)?,
            secrets: &resolved.secrets,
            protection: &resolved.protection,
            start_again: false,
            command_line,
            plots_every: args.plots_every,
            fail_on_slowdown: resolved.plan.fail_on_slowdown,
        };
        return resume::go_on(&out, &words, reporter.as_mut());
    }
    execute(Job {
        plan: &resolved.plan,
        secrets: &resolved.secrets,
        protection: &resolved.protection,
        directory: RunDirectory::create(&out)?,
        past: None,
        reporter: reporter.as_mut(),
        command_line,
        plots_every: args.plots_every,
        fail_on_slowdown: resolved.plan.fail_on_slowdown,
    })
}

/// A run that can begin, or go on.
pub(super) struct Job<'a> {
    /// What is to be done.
    pub plan: &'a Plan,
    /// The password of each target.
    pub secrets: &'a [Secret],
    /// How connections are protected.
    pub protection: &'a Protection,
    /// Where it is recorded.
    pub directory: RunDirectory,
    /// What an earlier process left of it.
    pub past: Option<Past>,
    pub reporter: &'a mut dyn Reporter,
    /// As typed, secrets masked.
    pub command_line: &'a [String],
    /// Batches after which the plots are drawn anew; 0: at the end only.
    pub plots_every: u32,
    /// The factor above which a slowdown is an exit code of its own.
    pub fail_on_slowdown: Option<f64>,
}

/// Runs what there is to run, draws it, and says what came of it.
///
/// # Errors
/// Nothing could be reached, or results could not be saved.
pub(super) fn execute(job: Job<'_>) -> Result<Output, Error> {
    let Job { plan, secrets, protection, directory, past, reporter, command_line, plots_every, fail_on_slowdown } = job;
    let interrupt = signals()?;
    let path = directory.path().to_owned();
    let signals = interrupt.clone();
    let opening = Opening {
        plan,
        secrets,
        protection,
        mode: Mode::MayChange,
        directory: &path,
        run_id: past.as_ref().map(|past| past.record.run_id.as_str()),
        asked_to_end: Arc::new(move || signals.is_asked()),
    };
    let targets = registry::open(&opening)?;
    let mut environment = environment::observe(&data_directory(plan, &path));
    environment.encode_threads = Some(crate::rows::use_cores(environment.cgroup_cpu_cores) as u64);
    let mut refreshing = Refreshing::new(reporter, &path, plots_every);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let runner = Runner {
        plan,
        targets,
        warden: Warden::new(&plan.stop, Arc::clone(&clock), interrupt.clone()),
        clock,
        started: std::time::Duration::ZERO,
        interrupt,
        environment,
        directory,
        reporter: &mut refreshing,
        command_line: command_line.to_vec(),
        run_id: past.as_ref().map_or_else(crate::run::new_run_id, |past| past.record.run_id.clone()),
        past: past.map(Arc::new),
        left_out: std::collections::BTreeMap::new(),
    };
    let summary = runner.execute()?;
    Ok(closing(&summary, &path, plan, fail_on_slowdown))
}

/// What Ctrl-C and the signals that end a process ask for.
///
/// # Errors
/// The system refuses handlers.
pub(super) fn signals() -> Result<Interrupt, Error> {
    Interrupt::from_signals()
        .map_err(|error| Error::usage("signals", error.to_string(), "the system refuses signal handlers"))
}

/// Where data is written, when that is on this machine: its file system is part of the result.
fn data_directory(plan: &Plan, run_directory: &Path) -> PathBuf {
    let named = plan.scratch.directory.as_deref().unwrap_or(run_directory);
    // Not made yet: the file system of what it will be made in.
    named.ancestors().find(|path| path.exists()).unwrap_or(run_directory).to_owned()
}

pub(super) fn style(word: Progress) -> progress::Style {
    match word {
        Progress::Auto => progress::Style::Auto,
        Progress::Bar => progress::Style::Bar,
        Progress::Plain => progress::Style::Plain,
        Progress::Json => progress::Style::Json,
        Progress::None => progress::Style::Silent,
    }
}

/// What to say where a part of a plan has no curve.
pub fn nothing_to_do(plan: &Plan) -> Option<String> {
    let shard = plan.shard.as_ref().filter(|_| plan.curves.is_empty())?;
    Some(format!(
        "shard {shard} has nothing to do: the plan has {} cells, and all that can run are in other shards",
        shard.plan_cells
    ))
}

/// The part of a larger plan that the run in `--out` was begun with, where it is gone on with.
pub(super) fn remembered_part(args: &RunArgs) -> Option<(u32, u32)> {
    let directory = args.out.as_ref().filter(|_| args.go_on)?;
    let plan = read_run(directory).ok()?.plan;
    let shard: Shard = serde_json::from_value(plan.get("shard")?.clone()).ok()?;
    Some((shard.number, shard.parts))
}

fn out_directory(args: &RunArgs, plan: &Plan) -> PathBuf {
    args.out.clone().unwrap_or_else(|| {
        let now = jiff::Timestamp::now();
        let stamp: String = now.to_string().chars().take(19).map(|c| if c == ':' { '-' } else { c }).collect();
        // The tasks of an array start in the same second.
        let part = plan.shard.map_or_else(String::new, |shard| format!("-shard-{}-of-{}", shard.number, shard.parts));
        PathBuf::from("rowcliff-runs").join(format!("{stamp}{part}"))
    })
}

/// The table, the paths of what was written, and what has to be said at the end.
fn closing(summary: &Summary, directory: &Path, plan: &Plan, fail_on_slowdown: Option<f64>) -> Output {
    let mut stdout = String::new();
    let mut stderr = Vec::new();
    let mut has_cliff = false;
    let mut gate = Gate::default();
    match crate::reading::input::load(&[directory.to_owned()]) {
        Ok(input) => {
            if compares_engines(plan) {
                let text = crate::render::show::defaults_in_force(&summary.record);
                stdout.push_str(&text);
                if !text.is_empty() {
                    stdout.push('\n');
                }
            }
            stdout.push_str(&crate::render::show::summary(&input));
            stdout.push('\n');
            let judged = cliffs::judge_all(&input, CLIFF_FACTOR);
            has_cliff = cliffs::any_cliff(&judged);
            gate = Gate::of(&judged, fail_on_slowdown);
            if !judged.is_empty() {
                stdout.push_str(&cliffs::lines(&judged));
                stdout.push('\n');
            }
            let found = crate::render::probes::section::sentences(&input);
            if !found.is_empty() {
                found.iter().for_each(|line| stdout.push_str(&crate::render::show::paragraph(line, "")));
                stdout.push('\n');
            }
            if input.curves.iter().any(|curve| !curve.samples.is_empty()) {
                match super::plot::draw_all(&input, &Pictures::usual(directory, &input), &PictureOptions::default()) {
                    Ok(drawn) => {
                        drawn.paths.iter().for_each(|path| stdout.push_str(&format!("plot     {}\n", path.display())))
                    }
                    Err(error) => stderr.push(error.to_string()),
                }
            }
            let report = directory.join(super::report::REPORT_FILE);
            match super::report::write(&input, &report, &super::report::parts(&input, &judged)) {
                Ok(()) => stdout.push_str(&format!("report   {}\n", report.display())),
                Err(error) => stderr.push(error.to_string()),
            }
        }
        Err(error) => stderr.push(error.to_string()),
    }
    stdout.push_str(&format!("samples  {}\n", directory.join(crate::record::store::BATCHES_FILE).display()));
    stdout.push_str(&format!("record   {}\n", directory.join(crate::record::store::RUN_FILE).display()));
    stderr.extend(last_words(&summary.record, directory, plan));
    stderr.extend(summary.errors.iter().cloned());
    stderr.append(&mut gate.lines);
    let exit = with_cliff(summary.exit_code(), has_cliff && plan.fail_on_cliff);
    let exit = gate.exit(exit, plan.strict);
    Output { stdout, stderr, exit }
}

/// The exit code when a cliff is one of its own: whatever went wrong, or was stopped, comes first.
pub(super) fn with_cliff(exit: u8, is_cliff: bool) -> u8 {
    if exit == exit::OK && is_cliff { exit::CLIFF } else { exit }
}

/// Whether several engines are compared, each with the cache that it has by default.
fn compares_engines(plan: &Plan) -> bool {
    let mut cells = plan.curves.iter().map(|curve| &curve.cell);
    let first = cells.next().map(|cell| &cell.engine);
    cells.any(|cell| Some(&cell.engine) != first && cell.cache_bytes.is_none())
}

/// What helps a curve that going on would end again; `None` for one that may go on.
pub(super) fn cannot_go_on(curve: &CurveRecord) -> Option<String> {
    let wrong = curve.verification.as_ref().is_some_and(|found| !found.is_right());
    let why = if wrong {
        "its table does not hold what was sent, and more rows do not mend that: find what changes or removes them (a trigger, another \
         client)"
    } else {
        "it would end at the same place: change the table, or what its message names"
    };
    let is_so = matches!(curve.outcome, Outcome::Failed { .. }) && curve.cannot_go_on;
    is_so.then(|| format!("{} cannot be gone on with: {why}, drop the table and load it anew", curve.curve))
}

/// What was left out or left behind, and what to do about it.
fn last_words(record: &RunRecord, directory: &Path, plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    let prevented = record
        .curves
        .iter()
        .filter(|curve| matches!(curve.outcome, Outcome::Skipped { environment: true, .. }))
        .count();
    if prevented > 0 {
        lines.push(format!(
            "{prevented} curves could not be run here; `rowcliff show {}` has the reasons",
            directory.display()
        ));
    }
    if !plan.keep {
        let kept: Vec<_> = record.curves.iter().filter(|curve| curve.table.is_some()).collect();
        for curve in &kept {
            let rows = crate::units::grouped(curve.table_rows);
            let table = curve.table.as_deref().unwrap_or_default();
            let is_scratch =
                |spec: &&TargetSpec| matches!(spec.place, Place::Scratch { .. }) && spec.label == curve.target;
            let place = curve.variables.get("datadir").filter(|_| plan.targets.iter().any(|spec| is_scratch(&spec)));
            let place = place.map_or_else(String::new, |data| format!(", in {data}"));
            lines.push(format!("table {table} of {} is kept, with {rows} recorded rows{place}", curve.curve));
        }
        let is_open = |curve: &&CurveRecord| {
            matches!(curve.outcome, Outcome::Interrupted | Outcome::Failed { .. }) && !curve.cannot_go_on
        };
        lines.extend(kept.iter().filter_map(|curve| cannot_go_on(curve)));
        let needs_start = |curve: &&&CurveRecord| matches!(&curve.outcome, Outcome::Failed { message, .. } if message.contains(START_AGAIN));
        let (from_start, further): (Vec<&&CurveRecord>, Vec<&&CurveRecord>) =
            kept.iter().filter(|curve| is_open(curve)).partition(needs_start);
        if record.state == RunState::Interrupted || !further.is_empty() {
            lines.push(format!("go on with: rowcliff resume {}", directory.display()));
        } else if !from_start.is_empty() {
            lines.push(format!("load it anew with: rowcliff resume --start-again {}", directory.display()));
        }
        let is_foreign = |curve: &CurveRecord| matches!(&curve.outcome, Outcome::Failed { message, .. } if message.contains(NOT_MARKED));
        if kept.iter().any(|curve| !is_foreign(curve)) {
            lines.push(format!("drop it with: rowcliff clean {}", directory.display()));
        }
    }
    for curve in &record.curves {
        if let Some(side) = curve.control_batch.as_ref().and_then(|control| control.table.as_ref()) {
            lines.push(format!(
                "the side table {side} is left behind; drop it with: rowcliff clean {}",
                directory.display()
            ));
        }
    }
    if record.state == RunState::Interrupted {
        lines.push("interrupted: finished batches are saved, the batch in flight is not counted".into());
    }
    lines
}
