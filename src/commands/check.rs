//! `rowcliff check`: connects, reads, and says what `run` with the same options would do.

use std::path::Path;
use std::sync::Arc;

use super::Output;
use super::expected::{self, Like};
use crate::cli::{CheckArgs, RunArgs};
use crate::error::{Error, exit};
use crate::observe::environment;
use crate::plan::{self, CurvePlan, Place, Plan};
use crate::record::CurveRecord;
use crate::render::names::record_names;
use crate::render::table::{Align, Table};
use crate::render::tables::{self, TableOf};
use crate::rows::{IndexOrder, wish};
use crate::run::{new_curve_record, verify};
use crate::schema::Dialect;
use crate::target::mysql::Mode;
use crate::target::registry::{self, Opening};
use crate::target::{Target, Verdict};
use crate::units::{grouped, human_bytes, human_rows};

/// Prints the plan. No DDL, no SET.
///
/// # Errors
/// Wrong usage, or no target can be reached.
pub fn run(args: &CheckArgs) -> Result<Output, Error> {
    if args.print_plan { print_plan(&args.run) } else { check(&args.run, args.like.as_deref()) }
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

fn check(args: &RunArgs, like: Option<&Path>) -> Result<Output, Error> {
    // Before anything is connected to: a wrong path is found at once.
    let like = like.map(Like::read).transpose()?;
    let resolved = plan::of_args(args, super::run::remembered_part(args))?;
    if let Some(nothing) = super::run::nothing_to_do(&resolved.plan) {
        return Ok(Output { stdout: format!("{nothing}\n"), stderr: resolved.notes, exit: exit::OK });
    }
    let plan = &resolved.plan;
    let here = args.out.clone().unwrap_or_else(|| "rowcliff-runs".into());
    let opening = Opening {
        plan,
        secrets: &resolved.secrets,
        protection: &resolved.protection,
        mode: Mode::ReadsOnly,
        directory: &here,
        run_id: None,
        asked_to_end: Arc::new(|| false),
    };
    let mut targets = registry::open(&opening)?;
    let mut stdout = String::new();
    let unreachable = describe(plan, &mut targets, &mut stdout)?;
    let records: Vec<CurveRecord> = plan.curves.iter().map(new_curve_record).collect();
    let names = record_names(&records);
    let mut judged = Judged::default();
    for ((curve, record), name) in plan.curves.iter().zip(&records).zip(&names) {
        let verdict = match &unreachable[curve.cell.target] {
            Some(error) => Verdict::Prevented { why: error.to_string() },
            None => verdict(plan, curve, &mut targets)?,
        };
        judged.take((curve, record, name), verdict);
    }
    stdout.push_str(&judged.text(plan));
    let runnable: Vec<&CurvePlan> = judged.runnable.iter().map(|(curve, ..)| *curve).collect();
    stdout.push_str(&totals(plan, &runnable, &here));
    stdout.extend(expected::lines(like.as_ref(), &plan.stop, &judged.runnable).into_iter().map(|line| line + "\n"));
    for target in &mut targets {
        target.finish()?;
    }
    let exit = if runnable.is_empty() { exit::FAILED } else { exit::OK };
    Ok(Output { stdout, stderr: resolved.notes, exit })
}

/// Asks every target what it is, and gives why one cannot be reached, in their order. An error when none can.
fn describe(plan: &Plan, targets: &mut [Box<dyn Target>], stdout: &mut String) -> Result<Vec<Option<Error>>, Error> {
    let mut unreachable = Vec::new();
    for (spec, target) in plan.targets.iter().zip(targets) {
        match target.describe() {
            Ok(facts) => {
                stdout.push_str(&format!("target {}: {} {}\n", spec.label, facts.flavour, facts.version));
                for note in facts.notes {
                    stdout.push_str(&format!("  {note}\n"));
                }
                unreachable.push(None);
            }
            Err(error) => unreachable.push(Some(error)),
        }
    }
    if unreachable.iter().all(Option::is_some)
        && let Some(error) = unreachable.iter_mut().find_map(Option::take)
    {
        return Err(error);
    }
    Ok(unreachable)
}

/// The curves of a plan by whether they can run.
#[derive(Default)]
struct Judged<'a> {
    runnable: Vec<(&'a CurvePlan, &'a CurveRecord, &'a str)>,
    /// Names by the reason.
    skipped: Vec<(String, Vec<&'a str>)>,
    remarks: Vec<String>,
}

impl<'a> Judged<'a> {
    fn take(&mut self, (curve, record, name): (&'a CurvePlan, &'a CurveRecord, &'a str), verdict: Verdict) {
        match verdict {
            Verdict::Runs { notes } => {
                self.runnable.push((curve, record, name));
                self.remarks.extend(notes.into_iter().map(|note| format!("{name}: {note}\n")));
            }
            Verdict::Unable { why } | Verdict::Prevented { why } => {
                match self.skipped.iter_mut().find(|(other, _)| *other == why) {
                    Some((_, names)) => names.push(name),
                    None => self.skipped.push((why, vec![name])),
                }
            }
        }
    }

    fn text(&self, plan: &Plan) -> String {
        let mut table = Table::new(&[
            ("curve", Align::Left),
            ("batches", Align::Right),
            ("rows", Align::Right),
            ("statement", Align::Right),
            ("commit", Align::Right),
            ("about", Align::Right),
        ]);
        for (curve, _, name) in &self.runnable {
            table.row(row(name, curve));
        }
        let mut text = if self.runnable.is_empty() { String::new() } else { format!("\n{}", table.render()) };
        text.push_str(&self.tables(plan));
        text.extend(self.remarks.iter().map(String::as_str));
        for (why, names) in &self.skipped {
            text.push_str(&format!("skipped: {}: {why}\n", names.join(", ")));
        }
        text
    }

    /// The tables as they would be made. Bytes are those of the engine table, and known of the default table alone.
    fn tables(&self, plan: &Plan) -> String {
        let of_curve = |(curve, _, name): &(&CurvePlan, &CurveRecord, &str)| {
            let row_bytes = plan.schema.is_none().then(|| curve.estimated_bytes() as f64 / curve.sizes.rows as f64);
            Some(TableOf {
                name: (*name).to_owned(),
                engine: curve.cell.engine.clone(),
                layout: plan.layout(curve)?,
                has_indexes: true,
                row_bytes: row_bytes.filter(|bytes| *bytes > 0.0),
            })
        };
        tables::text(&self.runnable.iter().filter_map(of_curve).collect::<Vec<_>>(), true)
    }
}

fn verdict(plan: &Plan, curve: &CurvePlan, targets: &mut [Box<dyn Target>]) -> Result<Verdict, Error> {
    let is_sqlite = matches!(plan.targets[curve.cell.target].place, Place::Sqlite { .. });
    let dialect = if is_sqlite { Dialect::Sqlite } else { Dialect::Mysql };
    match &curve.unable {
        Some(why) => Ok(Verdict::Unable { why: why.clone() }),
        None => Ok(match targets[curve.cell.target].judge(curve)? {
            Verdict::Runs { mut notes } => {
                notes.extend(plan.table_note(&curve.cell));
                notes.extend(curve.cell.cache_note());
                match verify::foreseen(plan, curve, dialect) {
                    Ok(note) => notes.extend(note),
                    Err(why) => return Ok(Verdict::Prevented { why }),
                }
                Verdict::Runs { notes }
            }
            other => other,
        }),
    }
}

fn row(name: &str, curve: &CurvePlan) -> Vec<String> {
    let sizes = curve.sizes;
    vec![
        name.to_owned(),
        format!("{} x {}", grouped(sizes.batches()), human_rows(sizes.batch_rows)),
        human_rows(sizes.rows),
        human_rows(sizes.statement_rows),
        human_rows(sizes.commit_rows),
        human_bytes(curve.estimated_bytes()),
    ]
}

fn totals(plan: &Plan, runnable: &[&CurvePlan], here: &Path) -> String {
    let sizes = runnable.iter().map(|curve| curve.estimated_bytes());
    let (disk, how) = if plan.keep {
        (sizes.fold(0, u64::saturating_add), "all tables are kept")
    } else {
        (sizes.max().unwrap_or(0), "one table at a time")
    };
    let batches: u64 = runnable.iter().map(|curve| curve.sizes.batches()).sum();
    let rows = runnable.iter().fold(0_u64, |sum, curve| sum.saturating_add(curve.sizes.rows));
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
        "{} of {} curves would run: {} batches, {} rows in all, about {} of disk at a time ({how}; an estimate)\n",
        runnable.len(),
        plan.curves.len(),
        grouped(batches),
        human_rows(rows),
        human_bytes(disk),
    ));
    if plan.schema.is_some() || plan.index_order != IndexOrder::Ascending || !plan.fill.is_empty() {
        let words = format!("index order {} {}", plan.index_order.name(), wish::words(&plan.fill));
        text.push_str(&format!("values: {}\n", words.trim_end()));
    }
    if let Some(probe) = plan.probe.as_ref().filter(|_| !runnable.is_empty()) {
        text.push_str(&format!("probes: {}\n", probe.describe()));
    }
    let existing =
        here.ancestors().find(|path| path.exists() && !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Some(free) = environment::free_bytes(existing) {
        text.push_str(&format!("free where the run would be recorded ({}): {}\n", here.display(), human_bytes(free)));
    }
    text
}
