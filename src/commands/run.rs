//! `rowcliff run`: plan, targets, run, pictures, table.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Output;
use crate::cli::{Progress, RunArgs};
use crate::error::{Error, exit};
use crate::observe::environment;
use crate::plan::{self, Place, Plan, TargetSpec};
use crate::record::{Outcome, RunRecord, RunState};
use crate::render::pictures::PictureOptions;
use crate::render::progress;
use crate::run::{Event, Interrupt, RunDirectory, Runner, Summary, SystemClock};
use crate::target::mysql::Mode;
use crate::target::registry::{self, Opening};

/// Runs the matrix.
///
/// # Errors
/// Wrong usage, nothing could be reached, or results could not be saved.
pub fn run(args: &RunArgs, command_line: &[String]) -> Result<Output, Error> {
    let interrupt = Interrupt::from_signals()
        .map_err(|error| Error::usage("signals", error.to_string(), "the system refuses signal handlers"))?;
    let resolved = plan::of_args(args)?;
    if let Some(nothing) = nothing_to_do(&resolved.plan) {
        return Ok(Output { stdout: format!("{nothing}\n"), stderr: resolved.notes, exit: exit::OK });
    }
    let mut reporter = progress::reporter(style(args.progress()));
    for note in &resolved.notes {
        reporter.report(&Event::Note(note));
    }
    let directory = RunDirectory::create(&out_directory(args, &resolved.plan))?;
    let path = directory.path().to_owned();
    let signals = interrupt.clone();
    let opening = Opening {
        plan: &resolved.plan,
        secrets: &resolved.secrets,
        protection: &resolved.protection,
        mode: Mode::MayChange,
        directory: &path,
        asked_to_end: Arc::new(move || signals.is_asked()),
    };
    let targets = registry::open(&opening)?;
    let mut environment = environment::observe(&data_directory(&resolved.plan, &path));
    environment.encode_threads = Some(crate::rows::use_cores(environment.cgroup_cpu_cores) as u64);
    let runner = Runner {
        plan: &resolved.plan,
        targets,
        clock: Arc::new(SystemClock::new()),
        started: std::time::Duration::ZERO,
        interrupt,
        environment,
        directory,
        reporter: reporter.as_mut(),
        command_line: command_line.to_vec(),
        run_id: crate::run::new_run_id(),
    };
    let summary = runner.execute()?;
    Ok(closing(&summary, &path, &resolved.plan))
}

/// Where data is written, when that is on this machine: its file system is part of the result.
fn data_directory(plan: &Plan, run_directory: &Path) -> PathBuf {
    let named = plan.scratch.directory.as_deref().unwrap_or(run_directory);
    // Not made yet: the file system of what it will be made in.
    named.ancestors().find(|path| path.exists()).unwrap_or(run_directory).to_owned()
}

fn style(word: Progress) -> progress::Style {
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
fn closing(summary: &Summary, directory: &Path, plan: &Plan) -> Output {
    let mut stdout = String::new();
    let mut stderr = Vec::new();
    match crate::render::input::load(&[directory.to_owned()]) {
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
            if input.curves.iter().any(|curve| !curve.samples.is_empty()) {
                match super::plot::draw_all(&input, directory, &PictureOptions::default()) {
                    Ok(drawn) => {
                        drawn.paths.iter().for_each(|path| stdout.push_str(&format!("plot     {}\n", path.display())))
                    }
                    Err(error) => stderr.push(error.to_string()),
                }
            }
        }
        Err(error) => stderr.push(error.to_string()),
    }
    stdout.push_str(&format!("samples  {}\n", directory.join(crate::record::store::BATCHES_FILE).display()));
    stdout.push_str(&format!("record   {}\n", directory.join(crate::record::store::RUN_FILE).display()));
    stderr.extend(last_words(&summary.record, directory, plan));
    stderr.extend(summary.errors.iter().cloned());
    Output { stdout, stderr, exit: summary.exit_code() }
}

/// Whether several engines are compared, each with the cache that it has by default.
fn compares_engines(plan: &Plan) -> bool {
    let mut cells = plan.curves.iter().map(|curve| &curve.cell);
    let first = cells.next().map(|cell| &cell.engine);
    cells.any(|cell| Some(&cell.engine) != first && cell.cache_bytes.is_none())
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
        if !kept.is_empty() {
            lines.push(format!("drop it with: rowcliff clean {}", directory.display()));
        }
    }
    if record.state == RunState::Interrupted {
        lines.push("interrupted: finished batches are saved, the batch in flight is not counted".into());
    }
    lines
}
