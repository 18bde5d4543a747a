//! What is read from curves, for people and for machines.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::input::Input;
use super::report::Section;
use super::show::{curve_names, paragraph};
use crate::analyse::control::{ControlVerdict, control_cost, control_verdict};
use crate::analyse::evidence::{Counted, Evidence, evidence, not_told_apart, of_rhythm};
use crate::analyse::{Cliff, Curve, Reading, Rhythm, cliffs};
use crate::record::run::ControlBatch;
use crate::units::{human_rate, human_rows, human_seconds};

/// The version of the layout of the JSON.
pub const FORMAT_VERSION: u32 = 1;

/// Counters of the curves of the input, by run and curve.
pub type AllCounted = HashMap<(String, String), Counted>;

/// A curve with what is read from it.
#[derive(Debug, Clone)]
pub struct Judged<'a> {
    /// The curve.
    pub curve: &'a Curve,
    /// Its short name.
    pub name: String,
    /// What is read.
    pub reading: Reading,
    /// What moved with each cliff.
    pub evidence: Vec<Vec<Evidence>>,
    /// What is different in the slow batches of its rhythm.
    pub rhythm: Vec<Evidence>,
    /// Why table size cannot be told from what else grew.
    pub not_told_apart: Option<String>,
    /// The control batch, with what it says where it has a figure.
    pub control: Option<(ControlBatch, Option<ControlVerdict>)>,
}

/// Reads every curve of the input that has samples.
pub fn judge_all<'a>(input: &'a Input, counted: &AllCounted, cliff_factor: f64) -> Vec<Judged<'a>> {
    let names = curve_names(input);
    let read: Vec<(&Curve, String, Reading)> = input
        .curves
        .iter()
        .zip(names)
        .filter(|(curve, _)| !curve.samples.is_empty())
        .map(|(curve, name)| (curve, name, cliffs::read(&curve.samples, cliff_factor)))
        .collect();
    let agreeing: Vec<bool> = read.iter().map(|one| another_repeat_agrees(one, &read)).collect();
    read.into_iter()
        .zip(agreeing)
        .map(|((curve, name, reading), agrees)| {
            let record = input.record_of(curve);
            let counters = counted.get(&(curve.run.clone(), curve.name.clone()));
            let found = reading.cliffs.iter().map(|cliff| evidence(curve, record, counters, cliff)).collect();
            let rhythm = reading.rhythm.as_ref().map(|rhythm| of_rhythm(curve, record, counters, rhythm));
            let control = record.and_then(|record| record.control_batch.clone()).map(|control| {
                let verdict = control_cost(&control)
                    .zip(reading.baseline_seconds_per_million.zip(reading.end_seconds_per_million))
                    .map(|(cost, (baseline, end))| control_verdict(cost, baseline, first_cost(curve), end));
                (control, verdict)
            });
            let apart = (!reading.cliffs.is_empty()).then(|| not_told_apart(record, agrees)).flatten();
            Judged {
                curve,
                name,
                reading,
                evidence: found,
                rhythm: rhythm.unwrap_or_default(),
                not_told_apart: apart,
                control,
            }
        })
        .collect()
}

/// The cost of a curve's first batch, unless it paid for more than its own rows.
fn first_cost(curve: &Curve) -> Option<f64> {
    let first = curve.samples.first().filter(|sample| sample.batch == 1 && sample.counts_for_baseline())?;
    first.seconds_per_million().filter(|cost| cost.is_finite() && *cost > 0.0)
}

/// Whether another repeat of the same cell, loaded at another time, fell at the same table size.
fn another_repeat_agrees(one: &(&Curve, String, Reading), all: &[(&Curve, String, Reading)]) -> bool {
    let (curve, _, reading) = one;
    let Some(cliff) = reading.cliffs.first() else { return false };
    all.iter().any(|(other, _, theirs)| {
        let is_repeat = other.run == curve.run && other.labels == curve.labels && other.repeat != curve.repeat;
        is_repeat
            && theirs.cliffs.iter().any(|their| {
                their.onset_from_rows <= cliff.onset_to_rows && cliff.onset_from_rows <= their.onset_to_rows
            })
    })
}

/// Whether there is a cliff in any curve.
pub fn any_cliff(judged: &[Judged<'_>]) -> bool {
    judged.iter().any(|one| !one.reading.cliffs.is_empty())
}

/// A line for each curve: what a run says at its end.
pub fn lines(judged: &[Judged<'_>]) -> String {
    let mut out = String::new();
    for one in judged {
        out.push_str(&paragraph(&format!("{}: {}", one.name, in_short(&one.reading)), ""));
        if let Some(control) = &one.control {
            out.push_str(&paragraph(&control_words(control), "  "));
        }
    }
    out
}

/// The same with what moved with each cliff, for the report.
pub fn section(judged: &[Judged<'_>]) -> Section {
    let rows = judged.iter().map(|one| {
        let mut moved: Vec<String> = one.evidence.iter().flatten().map(|found| found.sentence.clone()).collect();
        moved.extend(rhythm_evidence(one));
        moved.extend(one.control.as_ref().map(control_words));
        vec![one.name.clone(), in_short(&one.reading), moved.join("; ")]
    });
    let mut paragraphs: Vec<String> = judged.iter().filter_map(|one| one.not_told_apart.clone()).collect();
    paragraphs.dedup();
    paragraphs.insert(0, "What moved with a fall is evidence, never proof, of its cause.".to_owned());
    let header = ["curve", "reading", "what moved with it"].map(str::to_owned).to_vec();
    Section { paragraphs, header, rows: rows.collect(), ..Section::default() }
}

/// Everything about every curve.
pub fn text(judged: &[Judged<'_>]) -> String {
    let parts: Vec<String> = judged.iter().map(one_text).collect();
    parts.join("\n")
}

fn one_text(one: &Judged<'_>) -> String {
    let reading = &one.reading;
    let mut out = format!("{}\n", one.name);
    let mut say = |text: &str| out.push_str(&paragraph(text, "  "));
    say(&format!("{}: {}", reading.shape, reading.shape.definition()));
    say(&levels(reading));
    if reading.cliffs.is_empty() {
        say("No cliff.");
    }
    for (cliff, evidence) in reading.cliffs.iter().zip(&one.evidence) {
        say(&format!("Cliff ({}) {}.", cliff.shape, cliff_words(cliff)));
        say(&format!("confidence {}: {}.", cliff.confidence.word(), cliff.why.join("; ")));
        for found in evidence {
            say(&format!(
                "moved with it: {}.",
                found.sentence.replace(" moved with it:", ":").replace(", which moved with it", "")
            ));
        }
    }
    if let Some(rhythm) = &reading.rhythm {
        say(&format!("{}.", capitalised(&rhythm.sentence())));
        rhythm_evidence(one).iter().for_each(|found| say(&format!("{}.", capitalised(found))));
    }
    for remark in &reading.remarks {
        say(&format!("{}.", capitalised(remark)));
    }
    if !reading.spikes.is_empty() {
        let spikes: Vec<String> = reading
            .spikes
            .iter()
            .take(5)
            .map(|spike| {
                format!("batch {} at {} rows ({:.1} times)", spike.batch, human_rows(spike.table_rows), spike.factor)
            })
            .collect();
        let more = reading.spikes.len().saturating_sub(5);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        say(&format!("Single slow batches: {}{more}.", spikes.join(", ")));
    }
    if let Some(sentence) = &one.not_told_apart {
        say(&format!("{}.", capitalised(sentence)));
    }
    if let Some(control) = &one.control {
        say(&format!("{}.", capitalised(&control_words(control))));
    }
    out
}

fn levels(reading: &Reading) -> String {
    let rate = |cost: Option<f64>| cost.map_or("-".to_owned(), |cost| format!("{} rows/s", human_rate(1e6 / cost)));
    let mut words = vec![
        format!("baseline {}", rate(reading.baseline_seconds_per_million)),
        format!("at the end {}", rate(reading.end_seconds_per_million)),
    ];
    words.extend(reading.slowdown().map(|slowdown| format!("{slowdown:.2} times the baseline's cost")));
    words.push(format!("{} batches", reading.batches));
    if reading.left_out > 0 {
        words.push(format!("{} left out (resumed, retried, without a figure, or a slow first one)", reading.left_out));
    }
    words.extend(reading.scatter.map(|scatter| format!("scatter {:.1}%", scatter * 100.0)));
    words.join(", ")
}

/// `step, cliff between 300k and 400k rows ...`, or the shape and that there is no cliff.
fn in_short(reading: &Reading) -> String {
    let mut words = match reading.cliffs.as_slice() {
        [] => format!("{}, no cliff", reading.shape),
        cliffs => {
            let cliffs: Vec<String> = cliffs
                .iter()
                .map(|cliff| format!("cliff {}, confidence {}", cliff_words(cliff), cliff.confidence.word()))
                .collect();
            format!("{}, {}", reading.shape, cliffs.join("; "))
        }
    };
    if let Some(rhythm) = &reading.rhythm {
        words.push_str(&format!("; {}", rhythm.sentence()));
    }
    for remark in &reading.remarks {
        words.push_str(&format!("; {remark}"));
    }
    match reading.spikes.as_slice() {
        [] => {}
        [one] => words.push_str(&format!("; batch {} alone was {:.1} times slower", one.batch, one.factor)),
        many => words.push_str(&format!("; {} single batches were slower by 1.5 times or more", many.len())),
    }
    words
}

fn cliff_words(cliff: &Cliff) -> String {
    let rate = |cost: f64| human_rate(1e6 / cost);
    format!(
        "between {} and {} rows, from {} to {} rows/s, {:.1} times slower{}",
        human_rows(cliff.onset_from_rows),
        human_rows(cliff.onset_to_rows),
        rate(cliff.before_seconds_per_million),
        rate(cliff.after_seconds_per_million),
        cliff.factor(),
        if cliff.still_falling { " and still falling" } else { "" }
    )
}

/// What is different in the slow batches of a rhythm, a sentence each.
fn rhythm_evidence(one: &Judged<'_>) -> Vec<String> {
    let sentence =
        |found: &Evidence| format!("with its slow batches, {}", found.sentence.replace(" moved with it:", ":"));
    one.rhythm.iter().map(sentence).collect()
}

fn control_words((control, verdict): &(ControlBatch, Option<ControlVerdict>)) -> String {
    let Some((cost, verdict)) = control_cost(control).zip(*verdict) else {
        let why = control.problem.as_deref().unwrap_or("it did not come to its end, or the curve has no baseline");
        return format!("control batch: no figure: {why}");
    };
    format!(
        "control batch: {} rows into a fresh table in {} ({} rows/s): {}",
        human_rows(control.rows),
        human_seconds(control.seconds.unwrap_or(0.0)),
        human_rate(1e6 / cost),
        verdict.sentence()
    )
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Puts a line into a table of batches where a curve fell: between the batches that the onset separates.
pub fn drawn_into(table: &str, reading: &Reading) -> String {
    let mut out = String::new();
    let mut cliffs = reading.cliffs.iter().peekable();
    let mut rhythm = reading.rhythm.as_ref();
    for line in table.lines() {
        let batch = line.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        while let Some(cliff) = cliffs.next_if(|cliff| batch.is_some_and(|batch| batch >= cliff.onset_batch)) {
            out.push_str(&paragraph(&format!("---- cliff {} ----", cliff_words(cliff)), ""));
        }
        if let Some(begun) = rhythm.take_if(|rhythm| batch.is_some_and(|batch| batch >= rhythm.from_batch)) {
            out.push_str(&paragraph(&format!("---- {} ----", begun.sentence()), ""));
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// All readings as one JSON document. What is not known is null.
pub fn document(judged: &[Judged<'_>], cliff_factor: f64) -> Value {
    json!({
        "format": "rowcliff-cliffs",
        "format_version": FORMAT_VERSION,
        "cliff_factor": cliff_factor,
        "any_cliff": any_cliff(judged),
        "curves": judged.iter().map(one_value).collect::<Vec<_>>(),
    })
}

fn one_value(one: &Judged<'_>) -> Value {
    let reading = &one.reading;
    let labels = &one.curve.labels;
    let rate = |cost: Option<f64>| cost.map(|cost| 1e6 / cost);
    let spikes = reading
        .spikes
        .iter()
        .map(|spike| json!({ "batch": spike.batch, "table_rows": spike.table_rows, "factor": spike.factor }));
    json!({
        "run": one.curve.run,
        "curve": one.curve.name,
        "target": labels.target,
        "engine": labels.engine,
        "key": labels.key,
        "flush": labels.flush,
        "settings": labels.settings,
        "method": labels.method,
        "connections": labels.connections,
        "repeat": one.curve.repeat,
        "shape": reading.shape.word(),
        "batches": reading.batches,
        "left_out_batches": reading.left_out,
        "baseline_seconds_per_million_rows": reading.baseline_seconds_per_million,
        "baseline_inserts_per_sec": rate(reading.baseline_seconds_per_million),
        "end_seconds_per_million_rows": reading.end_seconds_per_million,
        "end_inserts_per_sec": rate(reading.end_seconds_per_million),
        "slowdown": reading.slowdown(),
        "slowdown_low": reading.factor.interval.map(|(low, _)| low),
        "slowdown_high": reading.factor.interval.map(|(_, high)| high),
        "rhythm": reading.rhythm.as_ref().map(|rhythm| rhythm_value(rhythm, &one.rhythm)),
        "scatter": reading.scatter,
        "effective_points": reading.effective_points,
        "cliffs": reading.cliffs.iter().zip(&one.evidence).map(|(cliff, found)| cliff_value(cliff, found)).collect::<Vec<_>>(),
        "spikes": spikes.collect::<Vec<_>>(),
        "remarks": reading.remarks,
        "not_told_apart": one.not_told_apart,
        "control_batch": one.control.as_ref().map(|(control, verdict)| json!({
            "rows": control.rows,
            "seconds": control.seconds,
            "seconds_per_million_rows": control_cost(control),
            "started_at": control.started_at,
            "speaks_for": verdict.map(ControlVerdict::word),
            "problem": control.problem,
        })),
    })
}

fn rhythm_value(rhythm: &Rhythm, found: &[Evidence]) -> Value {
    json!({
        "period_batches": rhythm.period,
        "slow_batches_in_each": rhythm.phases.len(),
        "factor": rhythm.factor,
        "from_batch": rhythm.from_batch,
        "to_batch": rhythm.to_batch,
        "from_rows": rhythm.from_rows,
        "to_rows": rhythm.to_rows,
        "from_the_start": rhythm.from_the_start(),
        "to_the_end": rhythm.to_the_end(),
        "slow_batches": rhythm.slow_batches().collect::<Vec<_>>(),
        "sentence": rhythm.sentence(),
        "moved_with_it": found.iter().map(evidence_value).collect::<Vec<_>>(),
    })
}

fn evidence_value(found: &Evidence) -> Value {
    json!({ "what": found.what, "sentence": found.sentence, "before": found.before, "after": found.after })
}

fn cliff_value(cliff: &Cliff, found: &[Evidence]) -> Value {
    let evidence = found.iter().map(evidence_value);
    json!({
        "shape": cliff.shape.word(),
        "onset_from_rows": cliff.onset_from_rows,
        "onset_to_rows": cliff.onset_to_rows,
        "onset_batch": cliff.onset_batch,
        "before_seconds_per_million_rows": cliff.before_seconds_per_million,
        "before_inserts_per_sec": 1e6 / cliff.before_seconds_per_million,
        "after_seconds_per_million_rows": cliff.after_seconds_per_million,
        "after_inserts_per_sec": 1e6 / cliff.after_seconds_per_million,
        "factor": cliff.factor(),
        "still_falling": cliff.still_falling,
        "began_in_first_batches": cliff.early,
        "confidence": cliff.confidence.word(),
        "why": cliff.why,
        "moved_with_it": evidence.collect::<Vec<_>>(),
    })
}
