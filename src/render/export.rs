//! The batches of runs for machines: CSV and JSON, every batch, plain numbers in fixed units.

use serde_json::Value;

use super::cliffs::{judge_all, reading_value};
use super::columns::for_machines;
use super::show::{reason, rows};
use crate::analyse::Curve;
use crate::analyse::cliffs::CLIFF_FACTOR;
use crate::reading::input::Input;
use crate::record::Sample;

/// A line for each batch, with a header. A figure that is not known is empty.
pub fn csv(input: &Input, wide: bool) -> String {
    let columns = for_machines(wide);
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory does not fail.
    let _ = writer.write_record(columns.iter().map(|column| column.name()));
    for curve in &input.curves {
        for row in rows(curve, &|sample: &Sample| input.moved_of(curve, sample)) {
            let _ = writer.write_record(columns.iter().map(|column| column.get(&row).csv()));
        }
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// The version of the layout of the JSON.
pub const FORMAT_VERSION: u32 = 1;

/// One document: every curve with its labels, its outcome, what is read from it and its batches, a line each. A figure that is not known is null.
pub fn json(input: &Input, wide: bool) -> String {
    let judged = judge_all(input, CLIFF_FACTOR);
    let reading_of = |curve: &Curve| judged.iter().find(|one| std::ptr::eq(one.curve, curve)).map(reading_value);
    let curves: Vec<String> =
        input.curves.iter().map(|curve| one_curve(input, curve, reading_of(curve).unwrap_or_default(), wide)).collect();
    let curves = if curves.is_empty() { String::new() } else { format!("\n{}\n", curves.join(",\n")) };
    format!("{{\"format\":\"rowcliff-show\",\"format_version\":{FORMAT_VERSION},\"curves\":[{curves}]}}\n")
}

fn one_curve(input: &Input, curve: &Curve, reading: Value, wide: bool) -> String {
    // What every batch of a curve has in common stands once, above them.
    let labels = labels(input, curve);
    let columns: Vec<_> =
        for_machines(wide).into_iter().filter(|column| labels.iter().all(|(name, _)| *name != column.name())).collect();
    let batches = rows(curve, &|sample: &Sample| input.moved_of(curve, sample)).into_iter().map(|row| {
        let fields = columns.iter().map(|column| (column.name(), column.get(&row).json()));
        format!("  {}", object(fields, ""))
    });
    let batches: Vec<String> = batches.collect();
    let batches = if batches.is_empty() { String::new() } else { format!("\n{}\n", batches.join(",\n")) };
    let head = labels.into_iter().chain([("reading", reading)]);
    object(head, &format!(",\"batches\":[{batches}]"))
}

fn labels(input: &Input, curve: &Curve) -> Vec<(&'static str, Value)> {
    let (labels, standing) = (&curve.labels, input.standing_of(curve));
    let word = |word: &str| if word.is_empty() { Value::Null } else { word.into() };
    let count = |count: u64| if count == 0 { Value::Null } else { count.into() };
    vec![
        ("run", curve.run.as_str().into()),
        ("curve", curve.name.as_str().into()),
        ("target", word(&labels.target)),
        ("engine", word(&labels.engine)),
        ("key", word(&labels.key)),
        ("flush", word(&labels.flush)),
        ("flush_in_force", word(&labels.flush_in_force)),
        ("settings", word(&labels.settings)),
        ("method", word(&labels.method)),
        ("connections", count(u64::from(labels.connections))),
        ("statement_rows", count(labels.statement_rows)),
        ("commit_rows", count(labels.commit_rows)),
        ("repeat", curve.repeat.into()),
        ("outcome", standing.outcome.map_or(Value::Null, Value::from)),
        ("reason", input.outcome_of(curve).and_then(reason).map_or(Value::Null, Value::from)),
        ("verified", standing.verified.map_or(Value::Null, Value::from)),
        ("not_verified", standing.not_verified.clone().map_or(Value::Null, Value::from)),
        ("in_no_ranking", standing.unranked().map_or(Value::Null, Value::from)),
    ]
}

/// An object in the order of its fields, with more of it as it is.
fn object(fields: impl Iterator<Item = (&'static str, Value)>, more: &str) -> String {
    let fields: Vec<String> = fields.map(|(name, value)| format!("{}:{value}", Value::from(name))).collect();
    format!("{{{}{more}}}", fields.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::{RunSamples, group};

    fn input() -> Input {
        let sample = |batch: u64, seconds| Sample {
            curve: "c, 1".into(),
            batch,
            rows: 100,
            table_rows: batch * 100,
            seconds,
            p99_us: (batch == 2).then_some(1500),
            ..Sample::default()
        };
        let samples = vec![sample(1, 0.5), sample(2, 0.0)];
        Input { curves: group(&[RunSamples { run: "r".into(), samples }]).curves, ..Input::default() }
    }

    #[test]
    fn unknown_is_empty_in_csv_and_null_in_json() {
        assert_eq!(
            csv(&input(), false),
            "run,curve,batch,table_rows,rows,seconds,inserts_per_sec,mean_inserts_per_sec,slowdown,p99_us,reads_per_row,\
             written_bytes_per_row,notes\n\
             r,\"c, 1\",1,100,100,0.5,200,200,,,,,\n\
             r,\"c, 1\",2,200,100,0,,400,,1500,,,\n"
        );
        let parsed: Value = serde_json::from_str(&json(&input(), true)).unwrap();
        assert_eq!((&parsed["format"], &parsed["format_version"]), (&"rowcliff-show".into(), &1.into()));
        let curve = &parsed["curves"][0];
        assert_eq!((&curve["curve"], &curve["in_no_ranking"]), (&"c, 1".into(), &"only 2 batches".into()));
        for unknown in ["outcome", "verified", "engine", "connections", "reason"] {
            assert_eq!(curve[unknown], Value::Null, "{unknown}");
        }
        let batches = curve["batches"].as_array().unwrap();
        assert_eq!((batches.len(), &batches[0]["inserts_per_sec"]), (2, &200.0.into()));
        assert!(batches[1]["inserts_per_sec"].is_null() && batches[0]["server_cpu_seconds"].is_null());
        assert_eq!((&batches[1]["p99_us"], batches[0].get("engine")), (&1500.into(), None));
        let empty: Value = serde_json::from_str(&json(&Input::default(), false)).unwrap();
        assert_eq!(empty["curves"], Value::Array(Vec::new()));
    }

    #[test]
    fn a_curve_is_read_here_as_in_every_other_document() {
        let sample = |batch: u64| Sample {
            curve: "c".into(),
            batch,
            rows: 100_000,
            table_rows: batch * 100_000,
            seconds: if batch.is_multiple_of(3) { 1.8 } else { 1.0 } + 0.01 * (batch % 7) as f64,
            ..Sample::default()
        };
        let samples = (1..=36).map(sample).collect();
        let input = Input { curves: group(&[RunSamples { run: "r".into(), samples }]).curves, ..Input::default() };
        let shown: Value = serde_json::from_str(&json(&input, false)).unwrap();
        let reading = shown["curves"][0]["reading"].as_object().unwrap();
        let told = crate::render::cliffs::document(&judge_all(&input, CLIFF_FACTOR), CLIFF_FACTOR).to_string();
        let told: Value = serde_json::from_str(&told).unwrap();
        for (name, value) in reading {
            assert_eq!(value, &told["curves"][0][name], "{name}");
        }
        assert_eq!(reading["rhythm"]["period_batches"], 3);
        assert!(reading["slowdown"].is_number() && reading["certainty"]["confidence"].is_string(), "{reading:?}");
    }
}
