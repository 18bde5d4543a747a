//! What the pictures of a report are drawn from: the lines of all cells, as JSON.

use serde_json::{Value, json};

use crate::analyse::{Cell, cells};
use crate::reading::figures::{BatchFigures, figures};
use crate::reading::input::Input;
use crate::reading::names::{Named, short_names};
use crate::render::palette::looks;
use crate::render::pictures::{PictureKind, batch_sizes, figure_of, marks, vertical};
use crate::render::probes;

/// A line of more batches than this keeps the cheapest and the dearest of each stretch.
const BATCHES: usize = 2000;

/// The pictures of the report for which there are figures, with the title of the vertical axis.
pub fn kinds(input: &Input) -> Vec<(PictureKind, String)> {
    let measured: Vec<_> = input.curves.iter().filter(|curve| !curve.samples.is_empty()).cloned().collect();
    let cells = cells(&measured);
    let sizes = batch_sizes(&cells);
    let known: Vec<Vec<BatchFigures>> = cells.iter().map(|cell| figures(input, &cell.curves)).collect();
    [
        PictureKind::InsertsPerSecond,
        PictureKind::SecondsPerBatch,
        PictureKind::Latency,
        PictureKind::ReadsPerRow,
        PictureKind::BytesPerRow,
    ]
    .into_iter()
    .filter(|&kind| {
        known.iter().any(|known| known.iter().map(figure_of(kind, known, sizes.len() == 1)).any(f64::is_finite))
    })
    .map(|kind| (kind, vertical(kind, &sizes).1))
    .collect()
}

/// The name of a picture's figures in the data.
fn id(kind: PictureKind) -> &'static str {
    match kind {
        PictureKind::SecondsPerBatch => "seconds",
        PictureKind::Latency => "latency",
        PictureKind::ReadsPerRow => "reads",
        PictureKind::BytesPerRow => "written",
        PictureKind::InsertsPerSecond | PictureKind::InsideBatches | PictureKind::EndSpeeds => "rate",
        PictureKind::Probes | PictureKind::ProbeConnections => "ops",
    }
}

fn unit(kind: PictureKind, per_batch: bool) -> &'static str {
    match kind {
        PictureKind::SecondsPerBatch if per_batch => "s",
        PictureKind::SecondsPerBatch => "s per million rows",
        PictureKind::Latency => "ms",
        PictureKind::ReadsPerRow => "pages per row",
        PictureKind::BytesPerRow => "bytes per row",
        PictureKind::InsertsPerSecond | PictureKind::InsideBatches | PictureKind::EndSpeeds => "rows/s",
        PictureKind::Probes | PictureKind::ProbeConnections => "ops/s",
    }
}

/// Everything the script needs.
pub fn json(input: &Input) -> String {
    let measured: Vec<_> = input.curves.iter().filter(|curve| !curve.samples.is_empty()).cloned().collect();
    let cells = cells(&measured);
    let named: Vec<Named<'_>> = cells.iter().map(Named::from).collect();
    let per_batch = batch_sizes(&cells).len() == 1;
    let kinds: Vec<PictureKind> = kinds(input).into_iter().map(|(kind, _)| kind).collect();
    let curves: Vec<Value> = cells
        .iter()
        .zip(short_names(&named))
        .zip(looks(&named))
        .map(|((cell, name), look)| {
            let mut curve = json!({ "name": crate::render::text::fitted_columns(&name, 300), "family": look.family, "dash": look.dash, "marker": look.marker });
            let all = figures(input, &cell.curves);
            let kept = thinned(&all);
            let list = |of: &dyn Fn(&BatchFigures) -> Value| kept.iter().map(of).collect::<Vec<_>>();
            // Otherwise a missing batch breaks the line.
            curve["thinned"] = (kept.len() < all.len()).into();
            curve["batch"] = list(&|batch| batch.batch.into()).into();
            curve["rows"] = list(&|batch| batch.table_rows.into()).into();
            curve["bytes"] = list(&|batch| number(batch.table_bytes)).into();
            curve["time"] = list(&|batch| number(Some(batch.elapsed_seconds))).into();
            for &kind in &kinds {
                let figure = figure_of(kind, &all, per_batch);
                curve[id(kind)] = list(&|batch| number(Some(figure(batch)))).into();
            }
            curve["marks"] = signs(cell, input);
            curve
        })
        .collect();
    let mut kinds: Vec<Value> = kinds
        .into_iter()
        .map(|kind| {
            let rate = kind == PictureKind::InsertsPerSecond;
            json!({ "id": id(kind), "title": kind.title(true), "rate": rate, "unit": unit(kind, per_batch) })
        })
        .collect();
    kinds.extend(probes::data::kinds(input, &cells));
    json!({ "kinds": kinds, "curves": curves }).to_string()
}

fn signs(cell: &Cell<'_>, input: &Input) -> Value {
    let signs = marks(cell, input)
        .into_iter()
        .map(|mark| json!({ "rows": mark.x, "kind": format!("{:?}", mark.kind).to_lowercase(), "text": mark.text }));
    signs.collect::<Vec<_>>().into()
}

/// Six digits are more than a screen shows; what is no number is null.
pub(in crate::render) fn number(value: Option<f64>) -> Value {
    let rounded = value.filter(|value| value.is_finite()).and_then(|value| format!("{value:.5e}").parse::<f64>().ok());
    match rounded {
        Some(whole) if whole.fract() == 0.0 && whole.abs() < 9e15 => Value::from(whole as i64),
        Some(other) => Value::from(other),
        None => Value::Null,
    }
}

fn thinned(all: &[BatchFigures]) -> Vec<BatchFigures> {
    if all.len() <= BATCHES {
        return all.to_vec();
    }
    let stretch = (all.len() * 2).div_ceil(BATCHES);
    all.chunks(stretch)
        .flat_map(|chunk| {
            let lowest = chunk.iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
            let highest = chunk.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds));
            let mut ends: Vec<BatchFigures> = lowest.into_iter().chain(highest).copied().collect();
            ends.sort_by_key(|batch| batch.batch);
            ends.dedup();
            ends
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::{RunSamples, group};
    use crate::record::Sample;

    fn input(batches: u64) -> Input {
        let samples = (1..=batches)
            .map(|batch| Sample {
                curve: "a".into(),
                engine: "innodb".into(),
                key: "uuid4".into(),
                batch,
                rows: 1000,
                table_rows: batch * 1000,
                seconds: if batch == 2 { 0.0 } else { 0.5 },
                written_bytes: Some(123_456),
                ..Sample::default()
            })
            .collect();
        Input { curves: group(&[RunSamples { run: "r".into(), samples }]).curves, ..Input::default() }
    }

    #[test]
    fn of_few_statements_the_median_is_the_latency() {
        let mut input = input(3);
        for sample in &mut input.curves[0].samples {
            (sample.statements, sample.p50_us, sample.p99_us) = (Some(10), Some(1500), Some(9000));
        }
        assert!(kinds(&input).iter().any(|(kind, _)| *kind == PictureKind::Latency));
        let found: Value = serde_json::from_str(&json(&input)).unwrap();
        assert_eq!(found["curves"][0]["latency"], json!([1.5, 1.5, 1.5]));
    }

    #[test]
    fn figures_are_lists_and_unknown_is_null() {
        let found: Value = serde_json::from_str(&json(&input(3))).unwrap();
        let curve = &found["curves"][0];
        assert_eq!(curve["batch"], json!([1, 2, 3]));
        assert_eq!(curve["rate"], json!([2000, null, 2000]));
        assert_eq!(curve["seconds"], json!([0.5, 0, 0.5]));
        assert_eq!(curve["written"], json!([123.456, 123.456, 123.456]));
        assert_eq!(curve["bytes"], json!([null, null, null]));
        let ids: Vec<&str> = found["kinds"].as_array().unwrap().iter().filter_map(|kind| kind["id"].as_str()).collect();
        assert_eq!(ids, ["rate", "seconds", "written"]);
    }

    #[test]
    fn a_line_of_very_many_batches_does_not_make_the_file_grow() {
        let found: Value = serde_json::from_str(&json(&input(50_000))).unwrap();
        let rows = found["curves"][0]["rows"].as_array().unwrap();
        assert!(rows.len() <= BATCHES, "{}", rows.len());
        assert_eq!(found["curves"][0]["thinned"], json!(true));
        assert_eq!(
            found["curves"][0]["batch"][rows.len() - 1].as_u64().map(|batch| batch * 1000),
            rows[rows.len() - 1].as_u64()
        );
        assert_eq!(
            found["curves"][0]["seconds"].as_array().unwrap().iter().filter(|value| **value == json!(0)).count(),
            1
        );
    }
}
