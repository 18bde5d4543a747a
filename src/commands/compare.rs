//! `rowcliff compare`: two runs side by side, from the files alone.

use super::{Output, published};
use crate::analyse::cliffs::{self, CLIFF_FACTOR};
use crate::analyse::compare::{Onset, OnsetOf, figures, matching, speed};
use crate::analyse::probe_rates::{probe_pairs, probe_rates};
use crate::analyse::settings::{Settings, differences};
use crate::analyse::{Cell, Curve, cells};
use crate::cli::reckon::CompareArgs;
use crate::error::{Error, exit};
use crate::render::compare::{Comparison, Pair};
use crate::render::input::{self, Input};
use crate::render::names::{Named, short_names};

/// Compares, and ends with 4 where NEW is slower for certain.
///
/// # Errors
/// A path is no run and no file that can be read, its horizontal axis is not the size of the table, or nothing can be compared.
pub fn run(args: &CompareArgs) -> Result<Output, Error> {
    if published::is_meant(args) {
        return published::run(args);
    }
    let options = args.foreign.options();
    let base = input::load_with(std::slice::from_ref(&args.base), &options)?;
    let new = input::load_with(std::slice::from_ref(&args.new), &options)?;
    for (path, input) in [(&args.base, &base), (&args.new, &new)] {
        if let Some(axis) = &input.other_x {
            let next = "runs are compared at equal table sizes; name the column of rows in the table with --x COLUMN";
            return Err(Error::file(path, format!("{axis:?} is not the size of the table"), next));
        }
    }
    let comparison = compare(&base, &new, args, Some(&onset));
    if comparison.compared() == 0 && !comparison.has_probes() {
        let why = comparison.pairs.iter().find_map(|pair| pair.speed.as_ref().err().cloned());
        let why = why.unwrap_or_else(|| "no cell of one has a cell of the same key in the other".into());
        let next = "see `rowcliff show` for what each of them holds";
        return Err(Error::file(
            &args.new,
            format!("nothing can be compared with {}: {why}", args.base.display()),
            next,
        ));
    }
    let exit = if comparison.regressions() > 0 { exit::REGRESSION } else { exit::OK };
    let stdout = if args.json { comparison.json() } else { comparison.text() };
    Ok(Output { stdout, stderr: base.problems.into_iter().chain(new.problems).collect(), exit })
}

fn compare(base: &Input, new: &Input, args: &CompareArgs, onset: OnsetOf<'_>) -> Comparison {
    let measured = |input: &Input| -> Vec<Curve> {
        input.curves.iter().filter(|curve| !curve.samples.is_empty()).cloned().collect()
    };
    let (base_curves, new_curves) = (measured(base), measured(new));
    let (base_cells, new_cells) = (cells(&base_curves), cells(&new_curves));
    let names = |cells: &[Cell<'_>]| short_names(&cells.iter().map(Named::from).collect::<Vec<_>>());
    let (base_names, new_names) = (names(&base_cells), names(&new_cells));
    let pairs = matching(&base_cells, &new_cells);
    let alone = |names: &[String], paired: &dyn Fn(usize) -> bool| -> Vec<String> {
        names.iter().enumerate().filter(|(at, _)| !paired(*at)).map(|(_, name)| name.clone()).collect()
    };
    Comparison {
        base: args.base.display().to_string(),
        new: args.new.display().to_string(),
        tolerance: args.tolerance,
        compares_onsets: onset.is_some(),
        only_base: alone(&base_names, &|at| pairs.iter().any(|pair| pair.0 == at)),
        only_new: alone(&new_names, &|at| pairs.iter().any(|pair| pair.1 == at)),
        pairs: pairs
            .iter()
            .map(|&(b, n)| {
                let (base_cell, new_cell) = (&base_cells[b], &new_cells[n]);
                let found = speed(&base_cell.curves, &new_cell.curves);
                let side = |cell: &Cell<'_>| found.as_ref().ok().map(|speed| figures(&cell.curves, speed, onset));
                let name = match (&base_names[b], &new_names[n]) {
                    (one, other) if one == other => one.clone(),
                    (one, other) => format!("{one} -> {other}"),
                };
                let (base_settings, new_settings) = (settings(base, base_cell), settings(new, new_cell));
                let rates = |input: &Input, cell: &Cell<'_>| {
                    probe_rates(cell.curves.iter().flat_map(|curve| input.probes_of(curve)))
                };
                let recorded = base_settings.are_recorded() && new_settings.are_recorded();
                Pair {
                    name,
                    base: side(base_cell),
                    new: side(new_cell),
                    differences: recorded.then(|| differences(&base_settings, &new_settings)),
                    probes: probe_pairs(&rates(base, base_cell), &rates(new, new_cell)),
                    speed: found,
                }
            })
            .collect(),
    }
}

/// Where the first cliff of a curve begins.
fn onset(curve: &Curve) -> Option<Onset> {
    let reading = cliffs::read(&curve.samples, CLIFF_FACTOR);
    reading.cliffs.first().map(|cliff| Onset { from_rows: cliff.onset_from_rows, to_rows: cliff.onset_to_rows })
}

fn settings(input: &Input, cell: &Cell<'_>) -> Settings {
    let Some(curve) = cell.curves.first() else { return Settings::default() };
    let run = input.runs.iter().find(|run| run.label == curve.run).and_then(|run| run.record.as_ref());
    Settings::of(curve, run, input.record_of(curve))
}
