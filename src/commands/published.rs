//! `rowcliff compare PUBLISHED RUN_DIR`: figures that somebody published beside those of a run.

use super::Output;
use crate::analyse::Curve;
use crate::analyse::probe_rates::probe_rates;
use crate::analyse::published::{Measured, beside};
use crate::cli::reckon::CompareArgs;
use crate::error::{Error, exit};
use crate::reading::input;
use crate::reading::names::{Named, short_names};
use crate::record::RunRecord;
use crate::record::published::{is_published, read_published};
use crate::render::published::PublishedComparison;
use crate::render::show::version;

/// Whether one of the two is a file of published figures.
pub fn is_meant(args: &CompareArgs) -> bool {
    is_published(&args.base) || is_published(&args.new)
}

/// Sets them side by side. Ends with 0 whatever it finds: on another machine there is no regression.
///
/// # Errors
/// The other side is no run, or it measured nothing of what was published.
pub fn run(args: &CompareArgs) -> Result<Output, Error> {
    let next = "give the file first and a run second, as in rowcliff compare plots/published/soliddb.csv RUN_DIR";
    if is_published(&args.new) || !args.new.is_dir() {
        return Err(Error::file(&args.new, "published figures are compared with the directory of a run", next));
    }
    let published = read_published(&args.base).map_err(|error| Error::file(&args.base, error, next))?;
    let input = input::load(std::slice::from_ref(&args.new))?;
    let record = input.runs.first().and_then(|run| run.record.as_ref());
    let measured_ones = || input.curves.iter().filter(|curve| !curve.samples.is_empty());
    let fault = |curve: &Curve| input.standing_of(curve).fault;
    let curves: Vec<_> = measured_ones().filter(|curve| fault(curve).is_none()).collect();
    let faulty = measured_ones().filter_map(|curve| Some(format!("left out: {}, {}", curve.name, fault(curve)?)));
    let left_out: Vec<String> = faulty.collect();
    let names = short_names(&curves.iter().map(|curve| Named::from(*curve)).collect::<Vec<_>>());
    let rates: Vec<_> = curves.iter().map(|curve| probe_rates(input.probes_of(curve))).collect();
    let measured: Vec<Measured<'_>> =
        curves.iter().zip(&names).zip(&rates).map(|((curve, name), probes)| Measured { name, curve, probes }).collect();
    let scale = record.and_then(|record| record.plan["scale"].as_f64());
    let comparison = PublishedComparison {
        file: args.base.display().to_string(),
        run: args.new.display().to_string(),
        beside: beside(&published.lines, &measured, scale),
        lines: published.lines,
        machine: record.map(machine).unwrap_or_default(),
        servers: record.map(servers).unwrap_or_default(),
        scaled: record.and_then(RunRecord::scale_note),
    };
    if comparison.beside.is_empty() {
        let mut cause = format!("it measured nothing of what is in {}: no probe or key in common", args.base.display());
        left_out.iter().for_each(|one| cause.push_str(&format!("; {one}")));
        return Err(Error::file(&args.new, cause, "run the plan of schemas/plans/ that belongs to the file"));
    }
    let problems = published.problems.iter().map(ToString::to_string);
    let warning = format!("warning: {}", comparison.warning());
    let stderr = input.problems.iter().cloned().chain(problems).chain(left_out).chain([warning]).collect();
    let stdout = if args.json { comparison.json() } else { comparison.text() };
    Ok(Output { stdout, stderr, exit: exit::OK })
}

fn machine(record: &RunRecord) -> String {
    let machine = &record.environment;
    let cores = machine.cpu_cores.map(|cores| format!("{cores} cores"));
    let memory = machine.memory_bytes.map(crate::units::human_bytes);
    [machine.cpu_model.clone(), cores, memory].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn servers(record: &RunRecord) -> Vec<String> {
    // A target that was not there has no version.
    let known = record.targets.values().filter(|target| !target.version.is_empty());
    let mut out: Vec<String> = known.map(|target| version(&target.flavour, &target.version)).collect();
    out.dedup();
    out
}
