//! What is read from curves, for people and for machines.

use serde_json::{Value, json};

use super::report::Section;
use super::show::{curve_names, paragraph};
use crate::analyse::control::{ControlVerdict, control_cost, control_verdict};
use crate::analyse::doubts::doubts;
use crate::analyse::evidence::{Counted, Evidence, evidence, not_told_apart, of_rhythm};
use crate::analyse::reading::Slump;
use crate::analyse::{Cliff, Curve, Reading, Rhythm, Shape, cliffs, sentences};
use crate::reading::cache::cache_of;
use crate::reading::input::Input;
use crate::record::run::ControlBatch;
use crate::units::{human_rate, human_rows, human_seconds};

/// The version of the layout of the JSON.
pub const FORMAT_VERSION: u32 = 2;

/// A curve with what is read from it.
#[derive(Debug, Clone)]
pub struct Judged<'a> {
    pub curve: &'a Curve,
    pub name: String,
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
pub fn judge_all(input: &Input, cliff_factor: f64) -> Vec<Judged<'_>> {
    let names = curve_names(input);
    let read: Vec<(&Curve, String, Reading)> = input
        .curves
        .iter()
        .zip(names)
        .filter(|(curve, _)| !curve.samples.is_empty())
        .map(|(curve, name)| (curve, name, read(input, curve, cliff_factor)))
        .collect();
    let agreeing: Vec<bool> = read.iter().map(|one| another_repeat_agrees(one, &read)).collect();
    read.into_iter()
        .zip(agreeing)
        .map(|((curve, name, reading), agrees)| {
            let record = input.record_of(curve);
            let counters = counters_of(input, curve);
            let cache = cache_of(input, curve);
            let moved_with = |cliff| evidence(curve, record, counters, cache.as_ref(), cliff);
            let found = reading.cliffs.iter().map(moved_with).collect();
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

/// Reads one curve, with what its machine did: every command that says something of a curve reads it here.
pub fn read(input: &Input, curve: &Curve, cliff_factor: f64) -> Reading {
    let mut reading = cliffs::read(&curve.samples, cliff_factor);
    let (counters, load) = (counters_of(input, curve), load(input, curve));
    let unsure: Vec<_> = reading.cliffs.iter().flat_map(|cliff| doubts(curve, counters, load, cliff)).collect();
    unsure.into_iter().for_each(|(most, why)| reading.doubt(most, why));
    reading
}

fn counters_of<'a>(input: &'a Input, curve: &Curve) -> Option<&'a Counted> {
    input.counted.get(&(curve.run.clone(), curve.name.clone()))
}

/// The load average before the curve's run, and the cores of its machine.
fn load(input: &Input, curve: &Curve) -> Option<(f64, u64)> {
    let run = input.runs.iter().find(|run| run.label == curve.run)?.record.as_ref()?;
    Some((run.environment.load_average_1m?, run.environment.cpu_cores?))
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

/// Whether there is a cliff in any curve that a script may act on: of at least medium confidence.
pub fn any_cliff(judged: &[Judged<'_>]) -> bool {
    judged.iter().any(|one| one.reading.has_cliff())
}

/// Those with a cliff first: they are what a reader of a matrix looks for.
fn cliffs_first<'a, 'b>(judged: &'b [Judged<'a>]) -> Vec<&'b Judged<'a>> {
    let mut sorted: Vec<&Judged<'_>> = judged.iter().collect();
    sorted.sort_by_key(|one| (!one.reading.has_cliff(), one.reading.cliffs.is_empty()));
    sorted
}

/// Which curves scatter strongly, said once for all.
fn strong_scatter(judged: &[Judged<'_>]) -> Option<String> {
    let restless: Vec<String> = judged.iter().filter_map(|one| sentences::restless(&one.name, &one.reading)).collect();
    sentences::strong_scatter(&restless).map(|sentence| format!("{}.", capitalised(&sentence)))
}

/// A line for each curve: what a run says at its end.
pub fn lines(judged: &[Judged<'_>]) -> String {
    let mut out = String::new();
    for one in cliffs_first(judged) {
        out.push_str(&paragraph(&format!("{}: {}", one.name, sentences::in_short(&one.reading)), ""));
        if let Some(control) = &one.control {
            out.push_str(&paragraph(&control_words(control), "  "));
        }
    }
    out.extend(strong_scatter(judged).map(|sentence| paragraph(&sentence, "")));
    out
}

/// The same with what moved with each cliff, for the report.
pub fn section(judged: &[Judged<'_>]) -> Section {
    let rows = cliffs_first(judged).into_iter().map(|one| {
        let mut moved: Vec<String> = one.evidence.iter().flatten().map(|found| found.sentence.clone()).collect();
        moved.extend(rhythm_evidence(one));
        moved.extend(one.control.as_ref().map(control_words));
        vec![one.name.clone(), sentences::in_short(&one.reading), moved.join("; ")]
    });
    let mut paragraphs: Vec<String> = judged.iter().filter_map(|one| one.not_told_apart.clone()).collect();
    paragraphs.dedup();
    paragraphs.extend(strong_scatter(judged));
    paragraphs.insert(0, "What moved with a fall is evidence, never proof, of its cause.".to_owned());
    let header = ["curve", "reading", "what moved with it"].map(str::to_owned).to_vec();
    Section { paragraphs, header, rows: rows.collect(), ..Section::default() }
}

/// Everything about every curve.
pub fn text(judged: &[Judged<'_>]) -> String {
    let mut parts: Vec<String> = cliffs_first(judged).into_iter().map(one_text).collect();
    parts.extend(strong_scatter(judged).map(|sentence| paragraph(&sentence, "")));
    parts.join("\n")
}

fn one_text(one: &Judged<'_>) -> String {
    let reading = &one.reading;
    let mut out = format!("{}\n", one.name);
    let mut say = |text: &str| out.push_str(&paragraph(&format!("{}.", capitalised(text)), "  "));
    let factor = sentences::factor(reading).filter(|_| reading.shape != Shape::TooShort);
    let first: Vec<String> = factor.into_iter().chain([sentences::course(reading)]).collect();
    say(&first.join("; "));
    say(&levels(reading));
    let sure = sentences::sureness(reading).into_iter().chain(sentences::why_sure(reading));
    let sure: Vec<String> = sure.collect();
    if !sure.is_empty() {
        say(&sure.join(": "));
    }
    say(&format!("{}: {}", reading.shape, reading.shape.definition()));
    for (cliff, evidence) in reading.cliffs.iter().zip(&one.evidence) {
        say(&cliff.why.join("; "));
        for found in evidence {
            say(&format!(
                "moved with it: {}",
                found.sentence.replace(" moved with it:", ":").replace(", which moved with it", "")
            ));
        }
    }
    if let Some(rhythm) = &reading.rhythm {
        say(&rhythm.sentence());
        rhythm_evidence(one).iter().for_each(|found| say(found));
    }
    let remarks = sentences::slump_sentences(reading).into_iter().chain(reading.remarks.iter().cloned());
    remarks.chain(sentences::spikes(&reading.spikes)).for_each(|remark| say(&remark));
    if let Some(sentence) = &one.not_told_apart {
        say(sentence);
    }
    if let Some(control) = &one.control {
        say(&control_words(control));
    }
    out
}

fn levels(reading: &Reading) -> String {
    let rate = |cost: Option<f64>| cost.map_or("-".to_owned(), |cost| format!("{} rows/s", human_rate(1e6 / cost)));
    let mut words = vec![
        format!("baseline {}", rate(reading.baseline_seconds_per_million)),
        format!("at the end {}", rate(reading.end_seconds_per_million)),
    ];
    words.push(format!("{} batches", reading.batches));
    if reading.left_out > 0 {
        words.push(format!("{} left out (resumed, retried, without a figure, or a slow first one)", reading.left_out));
    }
    words.extend(reading.scatter.map(|scatter| format!("scatter {:.1}%", scatter * 100.0)));
    words.join(", ")
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
            out.push_str(&paragraph(&format!("---- cliff {} ----", sentences::cliff_words(cliff)), ""));
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
    let labels = &one.curve.labels;
    let mut value = json!({
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
    });
    if let (Value::Object(value), Value::Object(reading)) = (&mut value, reading_value(one)) {
        value.extend(reading);
    }
    value
}

/// What is read from a curve, in every document that has it.
pub fn reading_value(one: &Judged<'_>) -> Value {
    let reading = &one.reading;
    let rate = |cost: Option<f64>| cost.map(|cost| 1e6 / cost);
    let spikes = reading
        .spikes
        .iter()
        .map(|spike| json!({ "batch": spike.batch, "table_rows": spike.table_rows, "factor": spike.factor }));
    json!({
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
        "certainty": certainty_value(reading),
        "half_of_the_fall_by_rows": reading.half_rows.filter(|_| reading.shape == Shape::Gradual),
        "slumps": reading.slumps.iter().map(slump_value).collect::<Vec<_>>(),
        "slow_again": reading.slow_again.as_ref().map(slump_value),
        "last_batch_is_back": reading.last_is_back,
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

fn slump_value(slump: &Slump) -> Value {
    json!({
        "from_rows": slump.from_rows,
        "to_rows": slump.to_rows,
        "first_batch": slump.first_batch,
        "last_batch": slump.last_batch,
        "batches": slump.batches,
        "cost_factor": slump.factor,
    })
}

/// How sure the shape is; null of a curve that is too short.
fn certainty_value(reading: &Reading) -> Value {
    let Some(certainty) = &reading.certainty else { return Value::Null };
    let other = certainty.other.map(|(shape, share, onset)| {
        json!({
            "shape": shape.word(),
            "share": share,
            "onset_from_rows": onset.map(|onset| onset.from_rows),
            "onset_to_rows": onset.map(|onset| onset.to_rows),
        })
    });
    json!({
        "confidence": certainty.confidence.word(),
        "share": certainty.share,
        "cliff_share": certainty.cliff_share,
        "other": other,
        "doubts": certainty.doubts,
    })
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
        "still_falling": cliff.still_falling,
        "began_in_first_batches": cliff.early,
        "confidence": cliff.confidence.word(),
        "why": cliff.why,
        "moved_with_it": evidence.collect::<Vec<_>>(),
    })
}
