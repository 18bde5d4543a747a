//! The lines of the pictures of probes, as JSON for the script of the report.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::picture::{by_connections, far_apart, size_of_connections};
use super::{ProbeSeries, lines, probed, styled};
use crate::analyse::{Cell, ProbeLoad, ProbeSummary, cells};
use crate::reading::figures::Across;
use crate::reading::figures::{BatchFigures, figures, place_at};
use crate::reading::input::Input;
use crate::reading::names::Named;
use crate::render::palette::Look;
use crate::render::pictures::PictureKind;
use crate::render::report::data::number;
use crate::units::human_rows;

/// The pictures, in the order of [`PictureKind::of_probes`]. A line tells with `of` which of the curves of the report (`shown`) it belongs
/// to, so that it can be switched off with it.
pub fn kinds(input: &Input, shown: &[Cell<'_>]) -> Vec<Value> {
    let probed = probed(input);
    let cells = cells(&probed);
    let found = lines(input, &cells);
    let of: Vec<Option<usize>> = cells
        .iter()
        .map(|cell| shown.iter().position(|other| other.run == cell.run && other.labels == cell.labels))
        .collect();
    let mut out = Vec::new();
    if !found.is_empty() {
        let known: Vec<Vec<BatchFigures>> = cells.iter().map(|cell| figures(input, &cell.curves)).collect();
        let lines: Vec<Value> =
            found.iter().map(|line| over_sizes(line, &found, &known[line.cell], of[line.cell])).collect();
        let log = far_apart(found.iter().map(|line| rates(&line.sizes)));
        out.push(kind(PictureKind::Probes, log, Value::Null, lines));
    }
    let by_connections = by_connections(&found);
    if let Some(size) = size_of_connections(&by_connections) {
        let here: Vec<(usize, ProbeLoad, Vec<ProbeSummary>)> = by_connections
            .into_iter()
            .map(|(cell, load, all)| {
                (cell, load, all.into_iter().filter(|one| one.table_rows == size).collect::<Vec<_>>())
            })
            .filter(|(.., all)| !all.is_empty())
            .collect();
        let named: Vec<Named<'_>> = cells.iter().map(Named::from).collect();
        let keys: Vec<(usize, ProbeLoad)> = here.iter().map(|(cell, load, _)| (*cell, load.clone())).collect();
        let counts: BTreeSet<u32> = here.iter().flat_map(|(.., all)| all).map(|one| one.load.connections).collect();
        let log = far_apart(here.iter().map(|(.., all)| rates(all)));
        let lines = here.iter().zip(styled(&named, &keys)).map(|((cell, _, all), (name, look))| {
            let all: Vec<(u64, &ProbeSummary)> = (1..)
                .zip(&counts)
                .filter_map(|(place, count)| Some((place, all.iter().find(|one| one.load.connections == *count)?)))
                .collect();
            line(&name, look, of[*cell], &all)
        });
        let lines = lines.collect();
        out.push(kind(PictureKind::ProbeConnections, log, "connections".into(), lines));
    }
    out
}

/// What stands below the titles of the pictures, in the same order: what the vertical axis counts, and at which size of the table.
pub fn captions(input: &Input) -> Vec<(PictureKind, String)> {
    let probed = probed(input);
    let found = lines(input, &cells(&probed));
    let size = size_of_connections(&by_connections(&found));
    let several = found.iter().flat_map(|line| &line.sizes).any(|one| one.iterations > 1);
    let caption = |(kind, drawn): (PictureKind, Value)| {
        let scale = if drawn["log"] == true { ", logarithmic" } else { "" };
        let place = match (kind, size) {
            (PictureKind::ProbeConnections, Some(rows)) => format!(", at {} rows", human_rows(rows)),
            _ => String::new(),
        };
        let bars = if several { "; bars go from the slowest to the fastest iteration" } else { "" };
        (kind, format!("operations per second{scale}{place}{bars}"))
    };
    PictureKind::of_probes(input).into_iter().zip(kinds(input, &[])).map(caption).collect()
}

fn kind(kind: PictureKind, log: bool, against: Value, lines: Vec<Value>) -> Value {
    json!({
        "id": "ops", "title": kind.title(true), "rate": true, "unit": "ops/s", "log": log, "whole": true, "against": against, "lines": lines,
    })
}

fn rates(all: &[ProbeSummary]) -> Vec<f64> {
    all.iter().filter_map(ProbeSummary::ops_per_sec).collect()
}

fn over_sizes(one: &ProbeSeries, all: &[ProbeSeries], known: &[BatchFigures], of: Option<usize>) -> Value {
    let of_cell = all.iter().filter(|other| other.cell == one.cell);
    let sizes: BTreeSet<u64> = of_cell.flat_map(|other| &other.sizes).map(|size| size.table_rows).collect();
    let found: Vec<(u64, &ProbeSummary)> = (1..)
        .zip(&sizes)
        .filter_map(|(place, rows)| Some((place, one.sizes.iter().find(|size| size.table_rows == *rows)?)))
        .collect();
    let mut out = line(&one.name, one.look, of, &found);
    for (name, across) in [("bytes", Across::Bytes), ("time", Across::Seconds)] {
        let places = found.iter().map(|(_, size)| number(place_at(known, across, size.table_rows as f64)));
        out[name] = places.collect::<Vec<_>>().into();
    }
    out
}

fn line(name: &str, look: Look, of: Option<usize>, found: &[(u64, &ProbeSummary)]) -> Value {
    let list = |of: &dyn Fn(&ProbeSummary) -> Value| found.iter().map(|(_, one)| of(one)).collect::<Vec<_>>();
    let bar = |high: bool| {
        move |one: &ProbeSummary| {
            let rates = one.rates.filter(|_| one.iterations > 1);
            number(rates.map(|(slowest, fastest)| if high { fastest } else { slowest }))
        }
    };
    json!({
        "name": crate::render::text::fitted_columns(name, 300), "family": look.family, "dash": look.dash, "marker": look.marker, "of": of,
        "thinned": false, "marks": [],
        "batch": found.iter().map(|(place, _)| *place).collect::<Vec<_>>(),
        "rows": list(&|one| one.table_rows.into()),
        "connections": list(&|one| one.load.connections.into()),
        "iterations": list(&|one| one.iterations.into()),
        "ops": list(&|one| number(one.ops_per_sec())),
        "low": list(&bar(false)),
        "high": list(&bar(true)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::test_input::{input, line};
    use super::*;

    #[test]
    fn lines_belong_to_curves_and_have_their_bars() {
        let mut all = Vec::new();
        for (at, seconds) in [(1, 0.1), (10, 0.4)] {
            for connections in [1, 8] {
                all.push(line("b", at, "oltp", connections, 1, seconds));
                all.push(line("b", at, "oltp", connections, 2, seconds * 1.5));
            }
        }
        let input = input(&["a", "b"], all);
        let found = kinds(&input, &cells(&input.curves));
        assert_eq!(
            (found.len(), found[0]["log"].clone(), found[0]["lines"].as_array().unwrap().len()),
            (2, json!(false), 2)
        );
        let first = &found[0]["lines"][0];
        assert_eq!(
            (&first["of"], &first["rows"], &first["ops"]),
            (&json!(1), &json!([100_000, 1_000_000]), &json!([8000, 2000]))
        );
        assert_eq!((&first["low"], &first["high"]), (&json!([6666.67, 1666.67]), &json!([10_000, 2500])));
        assert_eq!((&first["bytes"], &first["time"]), (&json!([9_000_000, 90_000_000]), &json!([1, 10])));
        assert_eq!(found[1]["against"], "connections");
        assert_eq!(found[1]["lines"][0]["connections"], json!([1, 8]));
        assert_eq!(found[1]["lines"][0]["rows"], json!([1_000_000, 1_000_000]));
        let bars = "; bars go from the slowest to the fastest iteration";
        assert_eq!(captions(&input)[0].1, format!("operations per second{bars}"));
        assert_eq!(captions(&input)[1].1, format!("operations per second, at 1M rows{bars}"));
        assert!(kinds(&Input::default(), &[]).is_empty());
    }
}
