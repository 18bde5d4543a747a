//! `rowcliff check`: connects, reads, and says what `run` with the same options would do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Output;
use super::expected::{self, Like};
use crate::cli::{CheckArgs, RunArgs};
use crate::error::{Error, exit};
use crate::plan::{self, Circumstances, CurvePlan, Place, Plan, Resolved};
use crate::reading::names::record_names;
use crate::record::{CurveRecord, run::TargetRecord};
use crate::render::progress;
use crate::render::table::{Align, Table};
use crate::render::tables::{self, TableOf};
use crate::rows::{IndexOrder, wish};
use crate::run::disk::{self, Space};
use crate::run::rehearsal::{self, Trial};
use crate::run::{Interrupt, SystemClock, Warden, mark, new_curve_record, new_run_id, table_name, verify};
use crate::schema::{Definition, Dialect};
use crate::targets::mysql::Mode;
use crate::targets::registry::{self, Opening};
use crate::targets::{Purpose, TableFacts, TableOrder, Target, Verdict};
use crate::units::{grouped, human_bytes, human_rows};

/// Prints the plan. Without `--try`: no DDL, no SET.
///
/// # Errors
/// Wrong usage, or no target can be reached.
pub fn run(args: &CheckArgs) -> Result<Output, Error> {
    if args.print_plan { print_plan(&args.run) } else { check(args) }
}

/// The plan file that repeats the command line, of a plan that makes sense.
fn print_plan(args: &RunArgs) -> Result<Output, Error> {
    // Nothing is connected to, so that nobody needs to be asked.
    let mut args = args.clone();
    args.access.ask_password = false;
    plan::of_args(&args, None)?;
    let printed = plan::print::plan_file(&args.said)?;
    Ok(Output { stdout: printed.toml, stderr: printed.notes, exit: exit::OK })
}

fn check(args: &CheckArgs) -> Result<Output, Error> {
    // Before anything is connected to: a wrong path is found at once.
    let like = args.like.as_deref().map(Like::read).transpose()?;
    let (args, try_out) = (&args.run, args.try_out);
    let ask: plan::AskTarget<'_> = &crate::targets::definition::read;
    let resolved = plan::of_args_with(
        args,
        super::run::remembered_part(args),
        Circumstances { ask: Some(ask), ..Circumstances::default() },
    )?;
    if let Some(nothing) = super::run::nothing_to_do(&resolved.plan) {
        return Ok(Output { stdout: format!("{nothing}\n"), stderr: resolved.notes, exit: exit::OK });
    }
    let here = args.out.clone().unwrap_or_else(|| "rowcliff-runs".into());
    let run_id = new_run_id();
    let folder = if try_out { Some(Folder::create(&run_id)?) } else { None };
    let interrupt = if try_out { super::run::signals()? } else { Interrupt::default() };
    let folder = folder.as_ref();
    let looked = look(&Look { resolved: &resolved, here: &here, run_id, interrupt, folder, like: like.as_ref() })?;
    let exit = if looked.runnable == 0 { exit::FAILED } else { exit::OK };
    Ok(Output { stdout: looked.stdout, stderr: resolved.notes, exit })
}

/// Where a trial keeps what a run keeps in its directory.
struct Folder(PathBuf);

impl Folder {
    fn create(run_id: &str) -> Result<Self, Error> {
        let path = std::env::temp_dir().join(format!("rowcliff-check-{run_id}"));
        std::fs::create_dir(&path)
            .map_err(|error| Error::file(&path, error, "--try keeps its files there; set TMPDIR"))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What could not be put back on a server stays here, for `rowcliff restore`.
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// What a look at a plan needs.
struct Look<'a> {
    resolved: &'a Resolved,
    /// Where the run would be recorded.
    here: &'a Path,
    run_id: String,
    interrupt: Interrupt,
    /// Where trials keep their files, where they are made.
    folder: Option<&'a Folder>,
    /// An earlier run that tells how long curves take.
    like: Option<&'a Like<'a>>,
}

struct Looked {
    stdout: String,
    runnable: usize,
}

/// What is known of a curve.
enum Found {
    Runs {
        notes: Vec<String>,
        bytes: Option<u64>,
    },
    /// What only a trial can tell, in words.
    Open {
        untold: Vec<String>,
        notes: Vec<String>,
        bytes: Option<u64>,
    },
    Skipped {
        why: String,
    },
}

fn look(look: &Look<'_>) -> Result<Looked, Error> {
    let plan = &look.resolved.plan;
    let mode = if look.folder.is_some() { Mode::MayChange } else { Mode::ReadsOnly };
    let signals = look.interrupt.clone();
    let opening = Opening {
        plan,
        secrets: &look.resolved.secrets,
        protection: &look.resolved.protection,
        mode,
        directory: look.folder.map_or(look.here, |folder| &folder.0),
        run_id: None,
        asked_to_end: Arc::new(move || signals.is_asked()),
    };
    let mut targets = registry::open(&opening)?;
    let mut stdout = String::new();
    let described = describe(plan, &mut targets, &mut stdout)?;
    let found = judge_all(look, &mut targets, &described);
    let mut unrestored = Vec::new();
    for target in &mut targets {
        target.trials_done();
        unrestored.extend(target.finish().err());
    }
    let found = found?;
    if let Some(error) = unrestored.pop() {
        return Err(error);
    }
    let records: Vec<CurveRecord> = plan.curves.iter().map(new_curve_record).collect();
    let names = record_names(&records);
    stdout.push_str(&printed(plan, &names, &found));
    stdout.push_str(&totals(plan, &found, look.here));
    let runnable: Vec<(&CurvePlan, &CurveRecord, &str)> = plan
        .curves
        .iter()
        .zip(&records)
        .zip(&names)
        .zip(&found)
        .filter(|(_, found)| matches!(found, Found::Runs { .. }))
        .map(|(((curve, record), name), _)| (curve, record, name.as_str()))
        .collect();
    stdout.extend(expected::lines(look.like, plan, &runnable).into_iter().map(|line| line + "\n"));
    Ok(Looked { stdout, runnable: runnable.len() })
}

/// What the targets say of themselves; why one does not answer, unless none does.
type Described = Vec<Result<TargetRecord, String>>;

fn describe(plan: &Plan, targets: &mut [Box<dyn Target>], stdout: &mut String) -> Result<Described, Error> {
    let mut described = Vec::new();
    let mut last = None;
    for (spec, target) in plan.targets.iter().zip(targets) {
        described.push(match target.describe() {
            Ok(facts) => {
                stdout.push_str(&format!("target {}: {} {}\n", spec.label, facts.flavour, facts.version));
                facts.notes.iter().for_each(|note| stdout.push_str(&format!("  {note}\n")));
                Ok(facts)
            }
            Err(error) => {
                let why = error.to_string();
                last.get_or_insert(error);
                Err(why)
            }
        });
    }
    match last {
        Some(error) if described.iter().all(Result::is_err) => Err(error),
        _ => Ok(described),
    }
}

/// The tables as they would be made, of the curves that are not skipped.
fn tables_of(plan: &Plan, names: &[String], found: &[Found]) -> String {
    let of_curve = |((curve, name), found): ((&CurvePlan, &String), &Found)| {
        let (Found::Runs { bytes, .. } | Found::Open { bytes, .. }) = found else { return None };
        Some(TableOf {
            name: name.clone(),
            engine: curve.cell.engine.clone(),
            layout: plan.layout(curve)?,
            has_indexes: true,
            row_bytes: bytes.map(|bytes| bytes as f64 / curve.sizes.rows as f64),
        })
    };
    let tables: Vec<TableOf> = plan.curves.iter().zip(names).zip(found).filter_map(of_curve).collect();
    tables::text(&tables, true)
}

fn judge_all(look: &Look<'_>, targets: &mut [Box<dyn Target>], described: &Described) -> Result<Vec<Found>, Error> {
    let plan = &look.resolved.plan;
    let mut found: Vec<Found> = Vec::new();
    let mut kept_bytes = 0_u64;
    // The verdicts are printed at the end.
    let mut reporter = progress::reporter(progress::Style::Silent);
    let mut warden = Warden::new(&plan.stop, Arc::new(SystemClock::new()), look.interrupt.clone());
    for curve in &plan.curves {
        let index = curve.cell.target;
        let unreachable = described[index].as_ref().err();
        let target = targets[index].as_mut();
        let is_tried = look.folder.is_some() || matches!(plan.targets[index].place, Place::Sqlite { .. });
        let this = if is_tried {
            let mut trial = Trial {
                plan,
                run_id: &look.run_id,
                directory: look.folder.map_or(look.here, |folder| &folder.0),
                data_home: look.here,
                kept_bytes,
                warden: &mut warden,
                reporter: reporter.as_mut(),
            };
            let tried = trial.cell(curve, target, unreachable)?;
            let verdict = foreseen(plan, curve, tried.verdict);
            of_verdict(verdict, Vec::new(), tried.estimated_bytes)
        } else {
            let data = described[index].as_ref().ok().and_then(|facts| facts.variables.get("datadir"));
            let is_local = matches!(&plan.targets[index].place, Place::Server(place) if place.socket.is_some());
            let data = data.map(PathBuf::from).filter(|path| is_local && path.is_dir());
            match foreseen(plan, curve, rehearsal::judge(plan, curve, target, unreachable)?) {
                Verdict::Runs { notes } => read_only(look, curve, notes, data, kept_bytes),
                other => of_verdict(other, Vec::new(), None),
            }
        };
        if let (true, Found::Runs { bytes, .. } | Found::Open { bytes, .. }) = (plan.keep, &this) {
            kept_bytes = kept_bytes.saturating_add(bytes.unwrap_or(0));
        }
        found.push(this);
    }
    Ok(found)
}

/// With what `--fill` makes of rowcliff's own tables.
fn foreseen(plan: &Plan, curve: &CurvePlan, verdict: Verdict) -> Verdict {
    let Verdict::Runs { mut notes } = verdict else { return verdict };
    let is_sqlite = matches!(plan.targets[curve.cell.target].place, Place::Sqlite { .. });
    match verify::foreseen(plan, curve, if is_sqlite { Dialect::Sqlite } else { Dialect::Mysql }) {
        Ok(note) => {
            notes.extend(note);
            Verdict::Runs { notes }
        }
        Err(why) => Verdict::Prevented { why },
    }
}

fn of_verdict(verdict: Verdict, untold: Vec<String>, bytes: Option<u64>) -> Found {
    match verdict {
        Verdict::Runs { notes } if untold.is_empty() => Found::Runs { notes, bytes },
        Verdict::Runs { notes } => Found::Open { untold, notes, bytes },
        Verdict::Unable { why } | Verdict::Prevented { why } => Found::Skipped { why },
    }
}

/// A curve on a server where nothing may be made: its table is read from its definition, and judged by what judges it in a run.
fn read_only(look: &Look<'_>, curve: &CurvePlan, notes: Vec<String>, data: Option<PathBuf>, kept_bytes: u64) -> Found {
    let plan = &look.resolved.plan;
    let (table, mark) = (table_name(&look.run_id, curve.number), mark(&look.run_id, curve.number));
    let order = TableOrder {
        curve,
        table: &table,
        mark: &mark,
        schema: plan.schema_text(curve.cell.target),
        directory: look.here,
        purpose: Purpose::Trial,
    };
    let described = match disk::described(&order, Dialect::Mysql) {
        Ok(described) => described,
        Err(failure) => return Found::Skipped { why: failure.to_string() },
    };
    let mut facts = TableFacts::new(table.clone(), Dialect::Mysql);
    facts.columns = described.expected_columns();
    Definition::parse(&described.template).mark(&mut facts.columns);
    facts.create_table.clone_from(&described.template);
    facts.is_fresh = true;
    let is_pasted = plan.schema.as_ref().is_some_and(|schema| !schema.is_named());
    let untold = if is_pasted { described.untold() } else { Vec::new() };
    if let Err(why) = verify::row_source(plan, curve, &facts)
        && untold.is_empty()
    {
        return Found::Skipped { why };
    }
    let estimate = disk::of_columns(plan, curve, &described, &facts);
    let home = disk::home(plan, curve.cell.target, data, look.here);
    let space = home.map(|home| Space::of(&home).without(kept_bytes));
    let verdict = match disk::verdict(&plan.stop, curve, estimate, space.as_ref()) {
        Verdict::Runs { notes: more } => Verdict::Runs { notes: notes.into_iter().chain(more).collect() },
        other => other,
    };
    of_verdict(verdict, untold, estimate.map(|estimate| estimate.bytes))
}

/// The table of the curves that would run, remarks, and why the others would not.
fn printed(plan: &Plan, names: &[String], found: &[Found]) -> String {
    let mut table = Table::new(&[
        ("curve", Align::Left),
        ("batches", Align::Right),
        ("rows", Align::Right),
        ("statement", Align::Right),
        ("commit", Align::Right),
        ("about", Align::Right),
    ]);
    let mut text = String::new();
    let mut is_empty = true;
    // Curves that share a reason share a line, in the order of the plan.
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    let mut give = |reason: String, name| match reasons.iter_mut().find(|(other, _)| *other == reason) {
        Some((_, names)) => names.push(name),
        None => reasons.push((reason, vec![name])),
    };
    let mut remarks = String::new();
    for ((curve, name), found) in plan.curves.iter().zip(names).zip(found) {
        match found {
            Found::Runs { notes, bytes } | Found::Open { notes, bytes, .. } => {
                is_empty = false;
                table.row(row(name, curve, *bytes));
                notes.iter().for_each(|note| remarks.push_str(&format!("{name}: {note}\n")));
            }
            Found::Skipped { .. } => {}
        }
        match found {
            Found::Open { untold, .. } => give(format!("not tried: {}", untold.join(", ")), name.as_str()),
            Found::Skipped { why } => give(format!("skipped: {why}"), name.as_str()),
            Found::Runs { .. } => {}
        }
    }
    if !is_empty {
        text.push('\n');
        text.push_str(&table.render());
        text.push_str(&tables_of(plan, names, found));
    }
    text.push_str(&remarks);
    for (reason, names) in reasons {
        let (word, why) = reason.split_once(": ").unwrap_or(("", &reason));
        let next = if word == "not tried" { "; --try makes the table and tells" } else { "" };
        text.push_str(&format!("{word}: {}: {why}{next}\n", names.join(", ")));
    }
    text
}

fn row(name: &str, curve: &CurvePlan, bytes: Option<u64>) -> Vec<String> {
    let sizes = curve.sizes;
    vec![
        name.to_owned(),
        format!("{} x {}", grouped(sizes.batches()), human_rows(sizes.batch_rows)),
        human_rows(sizes.rows),
        human_rows(sizes.statement_rows),
        human_rows(sizes.commit_rows),
        bytes.map_or_else(|| "-".to_owned(), human_bytes),
    ]
}

fn totals(plan: &Plan, found: &[Found], here: &Path) -> String {
    let curves: Vec<(&CurvePlan, Option<u64>)> = plan
        .curves
        .iter()
        .zip(found)
        .filter_map(|(curve, found)| match found {
            Found::Runs { bytes, .. } => Some((curve, *bytes)),
            _ => None,
        })
        .collect();
    let sizes = curves.iter().filter_map(|(_, bytes)| *bytes);
    let (disk, how) = if plan.keep {
        (sizes.fold(0, u64::saturating_add), "all tables are kept")
    } else {
        (sizes.max().unwrap_or(0), "one table at a time")
    };
    let batches: u64 = curves.iter().map(|(curve, _)| curve.sizes.batches()).sum();
    let rows = curves.iter().fold(0_u64, |sum, (curve, _)| sum.saturating_add(curve.sizes.rows));
    let open = found.iter().filter(|found| matches!(found, Found::Open { .. })).count();
    let mut text = String::from("\n");
    if let Some(shard) = &plan.shard {
        text.push_str(&format!(
            "shard {shard}: {} of the {} curves of the plan, which has {} cells\n",
            plan.curves.len(),
            shard.plan_curves,
            shard.plan_cells
        ));
    }
    text.push_str(&format!(
        "{} of {} curves would run{}: {} batches, {} rows in all, about {} of disk at a time ({how}; an estimate)\n",
        curves.len(),
        plan.curves.len(),
        if open > 0 { format!(" ({open} not tried)") } else { String::new() },
        grouped(batches),
        human_rows(rows),
        human_bytes(disk),
    ));
    if plan.schema.is_some() || plan.index_order != IndexOrder::Ascending || !plan.fill.is_empty() {
        let words = format!("index order {} {}", plan.index_order.name(), wish::words(&plan.fill));
        text.push_str(&format!("values: {}\n", words.trim_end()));
    }
    if let Some(probe) = plan.probe.as_ref().filter(|_| !curves.is_empty()) {
        text.push_str(&format!("probes: {}\n", probe.describe()));
    }
    text.push_str(&free_space(plan, here));
    text
}

/// What is free where the run would keep its files.
fn free_space(plan: &Plan, here: &Path) -> String {
    let mut places: BTreeMap<PathBuf, &str> = BTreeMap::from([(here.to_owned(), "where the run would be recorded")]);
    for index in 0..plan.targets.len() {
        if let Some(home) = disk::home(plan, index, None, here) {
            places.entry(home).or_insert("where tables would be");
        }
    }
    places
        .into_iter()
        .filter_map(|(place, what)| {
            let free = Space::of(&place).free?;
            Some(format!("free {what} ({}): {}\n", place.display(), human_bytes(free)))
        })
        .collect()
}
