//! `rowcliff compare`: two runs side by side, from the files alone.

use super::plot::keep_only;
use super::{Output, published};
use crate::analyse::cliffs::CLIFF_FACTOR;
use crate::analyse::compare::{Candidate, Onset, figures, matching, speed, too_short};
use crate::analyse::probe_rates::{probe_pairs, probe_rates};
use crate::analyse::settings::{Settings, differences};
use crate::analyse::{Cell, Curve, cells};
use crate::cli::reckon::CompareArgs;
use crate::error::{Error, exit};
use crate::reading::input::{self, Input};
use crate::reading::names::{Named, short_names};
use crate::render::cliffs;
use crate::render::compare::{Alone, Comparison, Pair, SideCurve};
use crate::render::tables;

/// Compares. Ends with 1 where a cell finds only a partner that failed or was verified wrongly, with 4 where NEW is slower for
/// certain, and, where that was asked for, with 6 where it cannot tell.
///
/// # Errors
/// A path is no run and no file that can be read, its horizontal axis is not the size of the table, or nothing can be compared.
pub fn run(args: &CompareArgs) -> Result<Output, Error> {
    if published::is_meant(args) {
        return published::run(args);
    }
    let options = args.foreign.options();
    let mut base = input::load_with(std::slice::from_ref(&args.base), &options)?;
    let mut new = input::load_with(std::slice::from_ref(&args.new), &options)?;
    keep_only(&mut base, &args.only)?;
    keep_only(&mut new, &args.only)?;
    for (path, input) in [(&args.base, &base), (&args.new, &new)] {
        if let Some(axis) = &input.other_x {
            let next = "runs are compared at equal table sizes; name the column of rows in the table with --x COLUMN";
            return Err(Error::file(path, format!("{axis:?} is not the size of the table"), next));
        }
    }
    let comparison = compare(&base, &new, args);
    let mut stderr = [base.problems, new.problems].concat();
    if let Some(error) = failed(&comparison, args) {
        if comparison.pairs.is_empty() {
            return Err(error);
        }
        stderr.push(format!("error: {error}"));
    }
    let stdout = if args.json { comparison.json() } else { comparison.text() };
    Ok(Output { stdout, stderr, exit: exit_code(&comparison, args) })
}

/// The first of 1, 4 and 6 that holds.
fn exit_code(comparison: &Comparison, args: &CompareArgs) -> u8 {
    if failed(comparison, args).is_some() {
        exit::FAILED
    } else if comparison.regressions() > 0 {
        exit::REGRESSION
    } else if args.fail_if_inconclusive && comparison.inconclusive() > 0 {
        exit::INCONCLUSIVE
    } else {
        exit::OK
    }
}

/// Why there is no comparison, or not the one that was asked for.
fn failed(comparison: &Comparison, args: &CompareArgs) -> Option<Error> {
    let left_out: Vec<&str> =
        comparison.pairs.iter().filter(|pair| pair.is_left_out).map(|pair| pair.name.as_str()).collect();
    let nothing = comparison.compared() + comparison.too_short() == 0 && !comparison.has_probes();
    if !nothing && left_out.is_empty() {
        return None;
    }
    let cause = if nothing {
        let why = comparison.pairs.iter().find_map(|pair| pair.speed.as_ref().err().cloned());
        let why = why.unwrap_or_else(|| "no cell of one has a cell of the same key in the other".into());
        format!("nothing can be compared with {}: {why}", args.base.display())
    } else {
        format!("a load that failed or was verified wrongly is the only partner for {}", left_out.join("; "))
    };
    Some(Error::file(&args.new, cause, "see `rowcliff show` for what each of them holds"))
}

/// One side of a comparison.
struct Side<'a> {
    input: &'a Input,
    cells: Vec<Cell<'a>>,
    names: Vec<String>,
}

impl<'a> Side<'a> {
    fn of(input: &'a Input, curves: &'a [Curve]) -> Self {
        let cells = cells(curves);
        let names = short_names(&cells.iter().map(Named::from).collect::<Vec<_>>());
        Self { input, cells, names }
    }

    /// The curves of a side: those that measured something, and those that failed before they did, since their partners are not
    /// without one.
    fn curves(input: &Input) -> Vec<Curve> {
        let is_told = |curve: &&Curve| !curve.samples.is_empty() || input.standing_of(curve).fault.is_some();
        input.curves.iter().filter(is_told).cloned().collect()
    }

    fn candidates(&self) -> Vec<Candidate<'_>> {
        let of = |cell: &Cell<'a>| Candidate {
            labels: cell.labels,
            is_faulty: self.good(cell).is_empty(),
            keeps_no_row: cell.curves.iter().any(|curve| self.input.standing_of(curve).keeps_no_row),
        };
        self.cells.iter().map(of).collect()
    }

    /// The curves of a cell that may be compared.
    fn good(&self, cell: &Cell<'a>) -> Vec<&'a Curve> {
        cell.curves.iter().copied().filter(|curve| self.input.standing_of(curve).fault.is_none()).collect()
    }

    fn told(&self, cell: &Cell<'a>) -> Vec<SideCurve> {
        let of = |curve: &&Curve| SideCurve {
            run: curve.run.clone(),
            curve: curve.name.clone(),
            repeat: curve.repeat,
            batches: curve.samples.len(),
            standing: self.input.standing_of(curve),
        };
        cell.curves.iter().map(of).collect()
    }

    fn alone(&self, is_paired: &dyn Fn(usize) -> bool) -> Vec<Alone> {
        let cells = self.cells.iter().zip(&self.names).enumerate().filter(|(at, _)| !is_paired(*at));
        cells.map(|(_, (cell, name))| Alone { name: name.clone(), curves: self.told(cell) }).collect()
    }

    fn settings(&self, curves: &[&Curve]) -> Settings {
        let Some(curve) = curves.first() else { return Settings::default() };
        let run = self.input.runs.iter().find(|run| run.label == curve.run).and_then(|run| run.record.as_ref());
        Settings::of(curve, run, self.input.record_of(curve))
    }
}

fn compare(base: &Input, new: &Input, args: &CompareArgs) -> Comparison {
    let (base_curves, new_curves) = (Side::curves(base), Side::curves(new));
    let (base, new) = (Side::of(base, &base_curves), Side::of(new, &new_curves));
    let found = matching(&base.candidates(), &new.candidates());
    Comparison {
        base: args.base.display().to_string(),
        new: args.new.display().to_string(),
        tolerance: args.tolerance,
        compares_onsets: true,
        only_base: base.alone(&|at| found.iter().any(|pair| pair.0 == at)),
        only_new: new.alone(&|at| found.iter().any(|pair| pair.1 == at)),
        pairs: found.iter().map(|&(b, n)| pair((&base, b), (&new, n))).collect(),
    }
}

fn pair((base, b): (&Side<'_>, usize), (new, n): (&Side<'_>, usize)) -> Pair {
    let (base_cell, new_cell) = (&base.cells[b], &new.cells[n]);
    let (base_curves, new_curves) = (base.told(base_cell), new.told(new_cell));
    let (base_good, new_good) = (base.good(base_cell), new.good(new_cell));
    let (faulty, mixed) = (fault(&base_curves, &new_curves), one_keeps_no_row(&base_curves, &new_curves));
    let speed = match faulty.clone().or(mixed.clone()) {
        Some(why) => Err(why),
        None => speed(&base_good, &new_good),
    };
    let apart = faulty.is_some() || mixed.is_some();
    let short = if apart || speed.is_ok() { None } else { too_short(&base_good, &new_good) };
    let sizes = match (&speed, &short) {
        (Ok(speed), _) => Some((speed.from_rows, speed.to_rows)),
        (Err(_), short) => short.map(|short| (short.from_rows, short.to_rows)),
    };
    let figures_of = |side: &Side<'_>, curves: &[&Curve]| {
        sizes.map(|sizes| figures(curves, sizes, Some(&|curve: &Curve| onset(side.input, curve))))
    };
    let rates =
        |side: &Side<'_>, curves: &[&Curve]| probe_rates(curves.iter().flat_map(|curve| side.input.probes_of(curve)));
    let (base_settings, new_settings) = (base.settings(&base_good), new.settings(&new_good));
    let recorded = base_settings.are_recorded() && new_settings.are_recorded();
    Pair {
        name: match (&base.names[b], &new.names[n]) {
            (one, other) if one == other => one.clone(),
            (one, other) => format!("{one} -> {other}"),
        },
        base: figures_of(base, &base_good),
        new: figures_of(new, &new_good),
        tables: tables_apart((base, &base_good), (new, &new_good)),
        differences: recorded.then(|| differences(&base_settings, &new_settings)),
        probes: if apart { Vec::new() } else { probe_pairs(&rates(base, &base_good), &rates(new, &new_good)) },
        too_short: short,
        is_left_out: faulty.is_some(),
        keep_no_row: keep_no_row(&base_curves) && keep_no_row(&new_curves),
        base_curves,
        new_curves,
        speed,
    }
}

/// What the tables of two cells do not have in common, as far as both are recorded. Keys that are called differently are meant
/// to differ.
fn tables_apart(base: (&Side<'_>, &[&Curve]), new: (&Side<'_>, &[&Curve])) -> (Vec<String>, Vec<String>) {
    let table = |(side, curves): (&Side<'_>, &[&Curve])| {
        let record = curves.iter().find_map(|curve| side.input.record_of(curve))?;
        let run = side.input.runs.iter().find(|run| Some(&run.label) == curves.first().map(|curve| &curve.run));
        let tells = tables::tells_indexes(run.and_then(|run| run.record.as_ref()), record.create_table.as_deref()?);
        Some((tables::layout_of(record)?, tells))
    };
    let key = |curves: &[&Curve]| curves.first().map(|curve| curve.labels.key.clone());
    match (table(base), table(new)) {
        (Some((one, tells)), Some((other, also))) => one.apart(&other, key(base.1) == key(new.1), tells && also),
        _ => (Vec::new(), Vec::new()),
    }
}

/// Why one side is left out as a whole.
fn fault(base: &[SideCurve], new: &[SideCurve]) -> Option<String> {
    let of = |side: &str, curves: &[SideCurve]| {
        let faults: Option<Vec<&str>> = curves.iter().map(|curve| curve.standing.fault.as_deref()).collect();
        faults.as_deref().and_then(<[&str]>::first).map(|fault| format!("{side}: {fault}"))
    };
    match (of("BASE", base), of("NEW", new)) {
        (Some(base), Some(new)) => Some(format!("{base}; {new}")),
        (one, other) => one.or(other),
    }
}

fn keep_no_row(curves: &[SideCurve]) -> bool {
    curves.iter().any(|curve| curve.standing.keeps_no_row)
}

fn one_keeps_no_row(base: &[SideCurve], new: &[SideCurve]) -> Option<String> {
    let why = |side: &str| format!("the engine of {side} keeps no row, so that its speed is that of no load");
    match (keep_no_row(base), keep_no_row(new)) {
        (true, false) => Some(why("BASE")),
        (false, true) => Some(why("NEW")),
        _ => None,
    }
}

/// Where the first cliff of a curve begins; one of low confidence has no place that could have moved.
fn onset(input: &Input, curve: &Curve) -> Option<Onset> {
    let reading = cliffs::read(input, curve, CLIFF_FACTOR);
    reading
        .cliffs
        .first()
        .filter(|_| reading.has_cliff())
        .map(|cliff| Onset { from_rows: cliff.onset_from_rows, to_rows: cliff.onset_to_rows })
}
