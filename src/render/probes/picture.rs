//! Two pictures of what probes found: operations per second over the size of the table, and over connections.

use std::collections::BTreeSet;

use super::{ProbeSeries, lines, probed, styled};
use crate::analyse::{Cell, ProbeLoad, ProbeSummary, cells};
use crate::reading::figures::Across;
use crate::reading::figures::{BatchFigures, figures, place_at};
use crate::reading::input::Input;
use crate::reading::names::{Named, common_words_of_table, short_names};
use crate::render::facets::{self, Panels};
use crate::render::pictures::{PictureKind, PictureOptions, guides, made_with_debug, versions};
use crate::render::plot::{Picture, PlotError, PlotSpec, Point, Range, Series, draw_svg};
use crate::render::scale::{self, Axis, Quantity};
use crate::units::{grouped, human_rows};

/// Lines whose highest points differ more than this are drawn on a logarithmic axis: the slow ones would lie on the ground.
const APART: f64 = 10.0;

/// Operations per second over the size of the table, a line for each cell and load.
///
/// # Errors
/// As [`draw_svg`]; there are no probes.
pub fn over_sizes(input: &Input, options: &PictureOptions) -> Result<Picture, PlotError> {
    let probed = probed(input);
    let cells = cells(&probed);
    let found = lines(input, &cells);
    if found.is_empty() {
        return Err(PlotError::Nothing { why: "no probe ran (see run --probe)".into() });
    }
    let known: Vec<Vec<BatchFigures>> = cells.iter().map(|cell| figures(input, &cell.curves)).collect();
    let series: Vec<Series> =
        found.iter().map(|line| series(line, &found, &known[line.cell], options.across)).collect();
    if series.iter().all(|one| one.points.is_empty()) {
        let why = match options.across {
            Across::Bytes => "no batch says how large the table was",
            _ => "no probe has operations per second",
        };
        return Err(PlotError::Nothing { why: why.into() });
    }
    let all: Vec<&ProbeSummary> = found.iter().flat_map(|line| &line.sizes).collect();
    let mut spec = spec(PictureKind::Probes, input, options, &cells, &all);
    spec.across = options.across;
    spec.x_title.clone_from(&input.other_x);
    if options.facet.is_none() {
        let names = short_names(&cells.iter().map(Named::from).collect::<Vec<_>>());
        spec.guides = guides(input, &cells, &known, &names, options.across);
    }
    let keys: Vec<(usize, ProbeLoad)> = found.iter().map(|line| (line.cell, line.load.clone())).collect();
    let mut series = series;
    if let Some(rows) = only(all.iter().map(|one| one.table_rows)) {
        side_by_side(&mut series, rows, &mut spec);
    }
    drawn(spec, series, &cells, &keys, options)
}

/// At one size of the table there is no course: points over each other on one vertical line become points beside each other.
fn side_by_side(series: &mut [Series], rows: u64, spec: &mut PlotSpec) {
    if series.len() < 2 {
        return;
    }
    for (place, one) in (1_u32..).zip(&mut *series) {
        one.points.iter_mut().for_each(|point| point.x = f64::from(place));
        one.ranges.iter_mut().for_each(|range| range.x = f64::from(place));
    }
    let max = (series.len() + 1) as f64;
    spec.x_axis = Some((
        Axis { min: 0.0, max, log: false, ticks: Vec::new() },
        format!("side by side, each at {} rows in the table", human_rows(rows)),
    ));
    spec.guides.clear();
    spec.title = spec.title.replace(" as the table grows", "");
}

/// Operations per second over connections, at the largest table at which a probe ran over several numbers of them.
///
/// # Errors
/// As [`draw_svg`]; no probe ran over several numbers of connections.
pub fn over_connections(input: &Input, options: &PictureOptions) -> Result<Picture, PlotError> {
    let probed = probed(input);
    let cells = cells(&probed);
    let found = by_connections(&lines(input, &cells));
    let Some(size) = size_of_connections(&found) else {
        let why = "no probe ran over several numbers of connections (see run --probe-connections)";
        return Err(PlotError::Nothing { why: why.into() });
    };
    let (shown, without): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(.., all)| all.iter().any(|one| one.table_rows == size));
    let counts: BTreeSet<u32> = at_size(&shown, size).map(|one| one.load.connections).collect();
    let keys: Vec<(usize, ProbeLoad)> = shown.iter().map(|(cell, load, _)| (*cell, load.clone())).collect();
    let named: Vec<Named<'_>> = cells.iter().map(Named::from).collect();
    let series = shown.iter().zip(styled(&named, &keys)).map(|((.., all), (name, look))| {
        let mut one = Series { name, look, ..Series::default() };
        for (place, count) in (1..).zip(&counts) {
            let here = |other: &&ProbeSummary| other.table_rows == size && other.load.connections == *count;
            if let Some(summary) = all.iter().find(here) {
                push(&mut one, place, f64::from(*count), summary);
            }
        }
        one
    });
    let series: Vec<Series> = series.collect();
    let all: Vec<&ProbeSummary> = at_size(&shown, size).collect();
    let mut spec = spec(PictureKind::ProbeConnections, input, options, &cells, &all);
    spec.subtitle =
        options.subtitle.clone().unwrap_or_else(|| format!("{} · at {} rows", spec.subtitle, human_rows(size)));
    let axis = scale::counts(counts.iter().map(|&count| f64::from(count)));
    spec.x_axis = axis.map(|axis| {
        let title = if axis.log { "connections, logarithmic" } else { "connections" };
        (axis, title.to_owned())
    });
    if !without.is_empty() {
        let names = short_names(&named);
        let mut missing: Vec<&str> = without.iter().map(|(cell, ..)| names[*cell].as_str()).collect();
        missing.dedup();
        spec.notes.push(format!("Not run at this size: {}.", missing.join(", ")));
    }
    drawn(spec, series, &cells, &keys, options)
}

/// Whether a probe ran over several numbers of connections at one size of the table.
pub fn has_connections(input: &Input) -> bool {
    let probed = probed(input);
    size_of_connections(&by_connections(&lines(input, &cells(&probed)))).is_some()
}

/// A cell, a load whose connections mean nothing, and what was found with any of them.
pub(super) type OverConnections = (usize, ProbeLoad, Vec<ProbeSummary>);

/// Puts the lines together that differ in connections only.
pub(super) fn by_connections(lines: &[ProbeSeries]) -> Vec<OverConnections> {
    let mut out: Vec<OverConnections> = Vec::new();
    for line in lines {
        let load = ProbeLoad { connections: 0, ..line.load.clone() };
        match out.iter_mut().find(|(cell, other, _)| *cell == line.cell && *other == load) {
            Some((.., all)) => all.extend(line.sizes.iter().cloned()),
            None => out.push((line.cell, load, line.sizes.clone())),
        }
    }
    out
}

/// The largest table at which one of these ran over several numbers of connections.
pub(super) fn size_of_connections(found: &[OverConnections]) -> Option<u64> {
    let sizes = found.iter().filter_map(|(.., all)| {
        let several = |rows: u64| {
            let counts = all.iter().filter(|one| one.table_rows == rows).map(|one| one.load.connections);
            counts.collect::<BTreeSet<_>>().len() > 1
        };
        all.iter().map(|one| one.table_rows).filter(|&rows| several(rows)).max()
    });
    sizes.max()
}

fn at_size(found: &[OverConnections], size: u64) -> impl Iterator<Item = &ProbeSummary> {
    found.iter().flat_map(|(.., all)| all).filter(move |one| one.table_rows == size)
}

/// The line of a load. Where its cell has other probes at a size and it has none, the line is broken.
fn series(line: &ProbeSeries, all: &[ProbeSeries], known: &[BatchFigures], across: Across) -> Series {
    let of_cell = all.iter().filter(|other| other.cell == line.cell);
    let sizes: BTreeSet<u64> = of_cell.flat_map(|other| &other.sizes).map(|one| one.table_rows).collect();
    let mut out = Series { name: line.name.clone(), look: line.look, ..Series::default() };
    for (place, rows) in (1..).zip(&sizes) {
        if let Some(summary) = line.sizes.iter().find(|one| one.table_rows == *rows)
            && let Some(x) = place_at(known, across, *rows as f64)
        {
            push(&mut out, place, x, summary);
        }
    }
    out
}

fn push(series: &mut Series, place: u64, x: f64, summary: &ProbeSummary) {
    let Some(y) = summary.ops_per_sec().filter(|rate| rate.is_finite()) else { return };
    series.points.push(Point { batch: place, x, y });
    if summary.iterations > 1
        && let Some((low, high)) = summary.rates
    {
        series.ranges.push(Range { x, low, high });
    }
}

/// What both pictures have in common.
fn spec(
    kind: PictureKind,
    input: &Input,
    options: &PictureOptions,
    cells: &[Cell<'_>],
    all: &[&ProbeSummary],
) -> PlotSpec {
    let named: Vec<Named<'_>> = cells.iter().map(Named::from).collect();
    let mut notes = Vec::new();
    if all.iter().any(|one| one.iterations > 1) {
        let repeats = if cells.iter().any(|cell| cell.curves.len() > 1) { ", of all repeats" } else { "" };
        notes.push(format!(
            "Points: all operations over all seconds; bars: from the slowest to the fastest iteration{repeats}."
        ));
    }
    let counts: BTreeSet<u32> = all.iter().map(|one| one.load.connections).collect();
    if kind == PictureKind::Probes && counts.len() > 1 {
        notes.push("c: connections that shared the operations.".to_owned());
    }
    if made_with_debug(input) {
        notes.push("Made with a debug build: these figures are not to be published.".to_owned());
    }
    PlotSpec {
        title: options.title.clone().unwrap_or_else(|| kind.title(input.other_x.is_none()).to_owned()),
        subtitle: options.subtitle.clone().unwrap_or_else(|| subtitle(input, &named, all)),
        y_title: "operations per second".to_owned(),
        quantity: Quantity::Rate,
        log: options.log,
        width: options.width,
        height: options.height,
        theme: options.theme.clone(),
        whole: true,
        notes,
        ..PlotSpec::default()
    }
}

/// `mariadb 10.11.6 · innodb, uuid4 · select-pk, 8 connections · 1,000 operations an iteration, 3 iterations`: what all lines share.
fn subtitle(input: &Input, named: &[Named<'_>], all: &[&ProbeSummary]) -> String {
    let loads: Vec<&ProbeLoad> = all.iter().map(|one| &one.load).collect();
    let mut load = Vec::new();
    if let Some(probe) = only(loads.iter().map(|load| &load.probe)) {
        load.push(probe.clone());
    }
    if let Some(count) = only(loads.iter().map(|load| load.connections)) {
        load.push(if count == 1 { "1 connection".into() } else { format!("{} connections", grouped(count.into())) });
    }
    let mut sizes = Vec::new();
    if let Some(Some(ops)) = only(loads.iter().map(|load| load.ops)) {
        sizes.push(format!("{} operations an iteration", grouped(ops)));
    }
    if let Some(count) = only(all.iter().map(|one| one.iterations)).filter(|count| *count > 1) {
        sizes.push(format!("{count} iterations"));
    }
    let mut parts = vec![versions(input), common_words_of_table(named).join(", "), load.join(", "), sizes.join(", ")];
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

/// The value that all have.
fn only<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// Whether some of the lines would lie on the ground of a linear axis.
pub(super) fn far_apart<'a>(series: impl Iterator<Item = Vec<f64>> + 'a) -> bool {
    let highest: Vec<f64> =
        series.map(|rates| rates.into_iter().fold(0.0, f64::max)).filter(|rate| *rate > 0.0).collect();
    let (low, high) =
        highest.iter().fold((f64::INFINITY, 0.0), |(low, high), &rate| (f64::min(low, rate), f64::max(high, rate)));
    high > APART * low
}

/// Draws the lines, all in one plot or in small multiples.
fn drawn(
    mut spec: PlotSpec,
    mut series: Vec<Series>,
    cells: &[Cell<'_>],
    keys: &[(usize, ProbeLoad)],
    options: &PictureOptions,
) -> Result<Picture, PlotError> {
    spec.log = spec.log || far_apart(series.iter().map(|one| one.points.iter().map(|point| point.y).collect()));
    let mut left_out = Vec::new();
    if spec.log {
        for one in &mut series {
            let before = one.points.len();
            one.points.retain(|point| point.y > 0.0);
            one.ranges.retain(|range| range.low > 0.0);
            if one.points.len() < before {
                left_out.push(format!("{}: where nothing was done there is no point on a logarithmic axis", one.name));
            }
        }
    }
    spec.notes.extend(left_out.iter().cloned());
    let mut picture = match options.facet {
        None => draw_svg(&spec, &series)?,
        Some(facet) => {
            let named: Vec<Named<'_>> = cells.iter().map(Named::from).collect();
            let (rests, of_cell) = facets::rests(facet, &named);
            let rest_named: Vec<Named<'_>> =
                rests.iter().map(|(labels, run)| Named { labels, repeat: None, run }).collect();
            let in_panel: Vec<(usize, ProbeLoad)> =
                keys.iter().map(|(cell, load)| (of_cell[*cell], load.clone())).collect();
            let mut distinct: Vec<(usize, ProbeLoad)> = Vec::new();
            for key in &in_panel {
                if !distinct.contains(key) {
                    distinct.push(key.clone());
                }
            }
            let legend = styled(&rest_named, &distinct);
            let mut panels: Vec<(String, Vec<Series>)> = Vec::new();
            for ((key, (cell, _)), line) in in_panel.iter().zip(keys).zip(series) {
                let at = distinct.iter().position(|other| other == key).unwrap_or(0);
                let line = Series { look: legend[at].1, ..line };
                facets::put(&mut panels, facet.value(named[*cell].labels), line);
            }
            facets::draw(&spec, &Panels { panels, legend })?
        }
    };
    picture.left_out.extend(left_out);
    Ok(picture)
}

#[cfg(test)]
mod tests {
    use super::super::test_input::{input, line};
    use super::*;
    use crate::render::facets::Facet;
    use crate::render::test_support::{Element, elements, of, texts};

    fn drawn(input: &Input) -> Vec<Element> {
        elements(&over_sizes(input, &PictureOptions::default()).unwrap().svg)
    }

    #[test]
    fn points_are_all_operations_over_all_seconds_and_bars_the_iterations() {
        // 20,000 and 5,000 operations per second, with a mean of 8,000; then 4,000 each.
        let all = [(5, 1, 0.05), (5, 2, 0.2), (10, 1, 0.25), (10, 2, 0.25)]
            .map(|(at, iteration, seconds)| line("a", at, "oltp", 1, iteration, seconds));
        let found = drawn(&input(&["a"], all.to_vec()));
        let points = of(&found, "curve", "polyline")[0].points();
        let bars: Vec<Vec<(f64, f64)>> = of(&found, "ranges", "polyline").iter().map(|line| line.points()).collect();
        // A bar and its two ends; iterations that agree have none.
        assert_eq!(bars.len(), 3, "{bars:?}");
        let zero = of(&found, "frame", "polyline")[0].points()[0].1;
        let share = |y: f64| (zero - y) / (zero - bars[0][1].1);
        for (y, expected) in [(bars[0][0].1, 5.0), (bars[0][1].1, 20.0), (points[0].1, 8.0), (points[1].1, 4.0)] {
            assert!((share(y) - expected / 20.0).abs() < 0.001, "{expected}: {points:?} {bars:?}");
        }
        assert_eq!(bars[0][0].0, points[0].0);
        let frame = texts(&found, "frame");
        assert!(frame.iter().any(|text| text.starts_with("Points: all operations over all seconds")), "{frame:?}");
        assert!(
            frame.iter().any(|text| text.contains("oltp, 1 connection · 1,000 operations an iteration, 2 iterations"))
        );
    }

    #[test]
    fn at_one_size_of_the_table_points_stand_beside_each_other() {
        let all = ["a", "b", "c"].map(|curve| line(curve, 5, "select-pk", 1, 1, 0.05)).to_vec();
        let picture = over_sizes(&input(&["a", "b", "c"], all), &PictureOptions::default()).unwrap();
        let found = elements(&picture.svg);
        let mut places: Vec<i64> = of(&found, "curve", "circle")
            .iter()
            .map(|circle| circle.get("cx").parse::<f64>().unwrap().round() as i64)
            .collect();
        places.dedup();
        assert_eq!(places.len(), 3, "{places:?}");
        let words = texts(&found, "frame");
        assert!(words.iter().any(|text| text == "side by side, each at 500k rows in the table"), "{words:?}");
        assert!(!words.iter().any(|text| text.contains("as the table grows")), "{words:?}");
    }

    #[test]
    fn a_size_that_a_probe_has_not_and_another_has_is_a_gap() {
        let mut all: Vec<_> = [2, 4, 6, 8, 10].map(|at| line("a", at, "insert", 1, 1, 0.1)).to_vec();
        all.extend([2, 4, 8, 10].map(|at| line("a", at, "oltp", 1, 1, 0.2)));
        let found = drawn(&input(&["a"], all));
        let lengths: Vec<usize> = of(&found, "curve", "polyline").iter().map(|line| line.points().len()).collect();
        assert_eq!(lengths, [5, 2, 2]);
        assert_eq!(texts(&found, "name"), ["insert", "oltp"]);
    }

    #[test]
    fn slow_probes_do_not_lie_on_the_ground_and_nothing_done_is_said() {
        let near: Vec<_> = [1, 5]
            .iter()
            .flat_map(|&at| [line("a", at, "insert", 1, 1, 0.1), line("a", at, "oltp", 1, 1, 0.9)])
            .collect();
        let title =
            |found: &[Element]| texts(found, "frame").iter().any(|text| text == "operations per second, logarithmic");
        assert!(!title(&drawn(&input(&["a"], near.clone()))));
        let mut far = near;
        far.extend([line("a", 1, "mixed", 1, 1, 30.0), line("a", 5, "mixed", 1, 1, 31.0)]);
        far[0].ops = 0;
        far[0].notes = "timed".into();
        far[2].notes = "timed".into();
        let picture = over_sizes(&input(&["a"], far), &PictureOptions::default()).unwrap();
        assert!(title(&elements(&picture.svg)));
        assert_eq!(picture.left_out.len(), 1, "{:?}", picture.left_out);
        assert!(picture.left_out[0].starts_with("insert") && picture.left_out[0].contains("nothing was done"));
    }

    #[test]
    fn odd_figures_stay_on_the_page() {
        let odd = [vec![0.1], vec![0.0, 0.0], vec![1e-300, 1e300], vec![f64::MIN_POSITIVE, 1.0], vec![5.0; 10]];
        for seconds in odd {
            let all = (1..).zip(&seconds).map(|(at, &seconds)| line("a", at, "select-pk", 1, 1, seconds)).collect();
            let input = input(&["a"], all);
            for log in [false, true] {
                let options = PictureOptions { log, ..PictureOptions::default() };
                match over_sizes(&input, &options) {
                    Ok(picture) => {
                        for line in of(&elements(&picture.svg), "curve", "polyline") {
                            let inside =
                                |&(x, y): &(f64, f64)| (0.0..=1200.0).contains(&x) && (0.0..=700.0).contains(&y);
                            assert!(line.points().iter().all(inside), "{seconds:?}");
                        }
                        assert!(!picture.png().unwrap().is_empty());
                    }
                    Err(error) => {
                        assert!(matches!(error, PlotError::Nothing { .. }) && seconds == [0.0, 0.0], "{error}")
                    }
                }
            }
        }
        let none = over_sizes(&input(&["a"], vec![]), &PictureOptions::default()).unwrap_err();
        assert!(none.to_string().contains("run --probe"), "{none}");
    }

    #[test]
    fn connections_are_drawn_at_the_largest_table_that_has_several() {
        let mut all = Vec::new();
        for (curve, largest) in [("a", 8), ("b", 5)] {
            for at in [5, largest] {
                all.extend([1, 8, 64].map(|count| line(curve, at, "mixed", count, 1, 0.1 / f64::from(count))));
            }
            all.push(line(curve, 10, "mixed", 8, 1, 0.1));
        }
        let input = input(&["a", "b"], all);
        assert!(has_connections(&input));
        let picture = over_connections(&input, &PictureOptions::default()).unwrap();
        let found = elements(&picture.svg);
        let lines = of(&found, "curve", "polyline");
        assert_eq!((lines.len(), lines[0].points().len()), (1, 3));
        let frame = texts(&found, "frame");
        for words in ["connections, logarithmic", "1", "8", "64", "Not run at this size: b."] {
            assert!(frame.iter().any(|text| text == words), "{words}: {frame:?}");
        }
        assert!(frame.iter().any(|text| text.ends_with("at 800k rows")), "{frame:?}");
        // Each point stands at its tick.
        let ticks: Vec<f64> = of(&found, "frame", "text")
            .iter()
            .filter(|text| ["1", "8", "64"].contains(&text.text.trim()))
            .map(|text| text.get("x").parse::<f64>().unwrap() / 10.0)
            .collect();
        for (tick, point) in ticks.iter().zip(lines[0].points()) {
            assert!((tick - point.0).abs() < 0.2, "{ticks:?}");
        }
        let one = super::super::test_input::input(
            &["a"],
            vec![line("a", 1, "mixed", 1, 1, 0.1), line("a", 2, "mixed", 8, 1, 0.1)],
        );
        assert!(!has_connections(&one));
        let error = over_connections(&one, &PictureOptions::default()).unwrap_err();
        assert!(error.to_string().contains("--probe-connections"), "{error}");
    }

    #[test]
    fn small_multiples_have_the_probes_in_their_legend() {
        let all: Vec<_> = ["a", "b"]
            .iter()
            .flat_map(|curve| ["insert", "oltp"].map(|probe| [1, 5].map(|at| line(curve, at, probe, 1, 1, 0.1))))
            .flatten()
            .collect();
        let input = input(&["a", "b"], all);
        let options = PictureOptions { facet: Some(Facet::Key), ..PictureOptions::default() };
        let found = elements(&over_sizes(&input, &options).unwrap().svg);
        assert_eq!(texts(&found, "panel"), ["a", "b"]);
        assert_eq!(texts(&found, "name"), ["insert", "oltp"]);
        let lines = of(&found, "curve", "polyline");
        assert_eq!(lines.len(), 4);
        assert!(lines[0].get("stroke") == lines[2].get("stroke") && lines[0].get("stroke") != lines[1].get("stroke"));
        // Against the size in bytes, which is nine million for each batch.
        let bytes = PictureOptions { across: Across::Bytes, ..PictureOptions::default() };
        let found = elements(&over_sizes(&input, &bytes).unwrap().svg);
        assert!(texts(&found, "frame").iter().any(|text| text == "size of the table (MiB)"));
    }
}
