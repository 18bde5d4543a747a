//! What is said of a curve: every sentence about its course, for all that prints, draws or exports one.
//!
//! The order is the same everywhere: the factor first, then the shape with where it happens, then how sure that is. A factor stands
//! there once; a cliff is two speeds.

use super::cliffs::{FLAT, STRONG_SCATTER};
use super::reading::{Cliff, Onset, Reading, Slump, Spike};
use super::rhythm::Rhythm;
use super::shape::Shape;
use super::verdict::MEDIUM;
use crate::units::{human_rate, human_rows};

/// A remark: few batches before the fall.
pub const EARLY: &str = "the fall began in the first batches";
/// Why a curve that ends in the middle of something is not sure.
pub const OPEN: &str = "it ends in the middle of a change; more rows would show what follows";
/// Spikes and slumps that are named one by one.
const NAMED: usize = 5;
/// A factor up to this is none that has to be explained: see [`FLAT`], rounded.
const EXPLAINED: f64 = 1.16;

/// `1.22`, `5.5`, `40`.
pub fn times(factor: f64) -> String {
    match factor {
        factor if factor < 2.0 => format!("{factor:.2}"),
        factor if factor < 20.0 => format!("{factor:.1}"),
        factor => format!("{factor:.0}"),
    }
}

/// `5.5 times slower at 1M rows than its baseline`; `None` of a curve without a baseline.
pub fn factor(reading: &Reading) -> Option<String> {
    let slowdown = reading.slowdown()?;
    let rows = human_rows(reading.end_rows);
    Some(match slowdown {
        slower if slower >= 1.005 => format!("{} times slower at {rows} rows than its baseline", times(slower)),
        same if same > 1.0 / 1.005 => format!("as fast at {rows} rows as its baseline"),
        faster => format!("{} times faster at {rows} rows than its baseline", times(1.0 / faster)),
    })
}

/// Everything about a curve in one line.
pub fn in_short(reading: &Reading) -> String {
    let mut words: Vec<String> = factor(reading).into_iter().collect();
    words.push(course(reading));
    words.extend(reading.rhythm.as_ref().map(Rhythm::sentence));
    words.extend(slumps(reading));
    words.extend(reading.remarks.iter().cloned());
    words.extend(spikes_in_short(&reading.spikes));
    words.extend(sureness(reading));
    words.join("; ")
}

/// `step, cliff between 300k and 310k rows, from 120k to 45k rows/s`, or the shape, where it happens, and that there is no cliff.
pub fn course(reading: &Reading) -> String {
    let named = named(reading);
    match reading.cliffs.as_slice() {
        [] => format!("{named}{}", no_cliff_words(reading)),
        cliffs => {
            let cliffs: Vec<String> = cliffs.iter().map(|cliff| format!("cliff {}", cliff_words(cliff))).collect();
            format!("{named}, {}", cliffs.join("; "))
        }
    }
}

/// The shape, and the other one where most copies do not agree: `gradual, or a bend between 150k and 250k rows`.
fn named(reading: &Reading) -> String {
    let word = match reading.shape {
        Shape::Gradual if falls_at_first(reading) => "falls at once, and less and less".to_owned(),
        shape => shape.word().to_owned(),
    };
    match other(reading) {
        Some((shape, onset)) => {
            let article = if shape == Shape::Step || shape == Shape::Bend { "a " } else { "" };
            let onset = onset.map_or(String::new(), |onset| format!(" {}", between(onset)));
            format!("{word}, or {article}{shape}{onset}")
        }
        None => word,
    }
}

/// The second reading, where the first one is not that of most copies.
fn other(reading: &Reading) -> Option<(Shape, Option<Onset>)> {
    let certainty = reading.certainty.as_ref().filter(|certainty| certainty.share < MEDIUM)?;
    let (shape, _, onset) = certainty.other?;
    (!reading.is_open()).then_some((shape, onset))
}

fn no_cliff_words(reading: &Reading) -> String {
    let slowdown = reading.slowdown().unwrap_or(1.0);
    match reading.shape {
        Shape::TooShort => ", no cliff".to_owned(),
        Shape::Flat | Shape::Spike if slowdown.max(1.0 / slowdown) > EXPLAINED => {
            let (slowdown, scatter) = (times(slowdown.max(1.0 / slowdown)), reading.scatter.unwrap_or(0.0));
            let is_within = 2.5 * scatter >= slowdown.parse().map_or(0.0, f64::ln);
            match (is_within, reading.spikes.is_empty()) {
                (true, _) => {
                    format!(", no cliff: {slowdown} times, within the {:.0}% scatter of its batches", scatter * 100.0)
                }
                (_, false) => {
                    format!(", no cliff: {slowdown} times with its single slow batches, and level without them")
                }
                _ => format!(
                    ", no cliff: {slowdown} times between its ends, and no trend through its batches leads there"
                ),
            }
        }
        Shape::Gradual if slowdown > FLAT => {
            let before = if other(reading).is_some() { "" } else { ", no level before it" };
            let half = reading
                .half_rows
                .map_or(String::new(), |rows| format!(", half of the fall by {} rows", human_rows(rows)));
            format!("{before}{half}, no cliff")
        }
        Shape::Gradual if slowdown < 1.0 / FLAT => ", getting faster, no cliff".to_owned(),
        _ => ", no cliff".to_owned(),
    }
}

/// Whether a curve without a level before its fall has done most of it in the first part of its table.
fn falls_at_first(reading: &Reading) -> bool {
    let is_early = |rows: u64| rows.saturating_mul(8) <= reading.end_rows;
    reading.slowdown().is_some_and(|slowdown| slowdown > FLAT) && reading.half_rows.is_some_and(is_early)
}

fn between(onset: Onset) -> String {
    format!("between {} and {} rows", human_rows(onset.from_rows), human_rows(onset.to_rows))
}

/// `between 300k and 310k rows, from 120k to 45k rows/s and still falling`.
pub fn cliff_words(cliff: &Cliff) -> String {
    let onset = Onset { from_rows: cliff.onset_from_rows, to_rows: cliff.onset_to_rows };
    format!(
        "{}, {}{}",
        between(onset),
        speeds(cliff.before_seconds_per_million, cliff.after_seconds_per_million),
        if cliff.still_falling { " and still falling" } else { "" }
    )
}

/// Beside its sign in a picture, whose axis has the speeds. Its first word stands at the sign itself.
pub fn cliff_label(cliff: &Cliff) -> String {
    format!("cliff from {} to {} rows on", human_rows(cliff.onset_from_rows), human_rows(cliff.onset_to_rows))
}

fn speeds(before: f64, after: f64) -> String {
    format!("from {} to {} rows/s", human_rate(1e6 / before), human_rate(1e6 / after))
}

/// The slumps, one by one, and what stands at the end.
fn slumps(reading: &Reading) -> Vec<String> {
    let mut words = Vec::new();
    if !reading.slumps.is_empty() {
        let named: Vec<String> = reading.slumps.iter().take(NAMED).map(slump_words).collect();
        let more = reading.slumps.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        words.push(format!("slow {}{more}, and back", named.join(", ")));
    }
    if let Some(again) = &reading.slow_again {
        let earlier = reading.slumps.iter().max_by(|a, b| a.factor.total_cmp(&b.factor));
        let as_at = earlier.map_or(String::new(), |slump| {
            format!(", as at {}-{} rows", human_rows(slump.from_rows), human_rows(slump.to_rows))
        });
        words.push(format!(
            "slow again from {} rows on ({} batches at {} times the cost){as_at}",
            human_rows(again.from_rows),
            again.batches,
            times(again.factor)
        ));
    }
    if reading.last_is_back {
        words.push("the last batch is back at the level: one batch does not show that it stays there".to_owned());
    }
    words
}

fn slump_words(slump: &Slump) -> String {
    format!(
        "between {} and {} rows ({} batches at {} times the cost)",
        human_rows(slump.from_rows),
        human_rows(slump.to_rows),
        slump.batches,
        times(slump.factor)
    )
}

/// `confidence medium`, with what lowers it; nothing of a curve that was not judged.
pub fn sureness(reading: &Reading) -> Option<String> {
    let certainty = reading.certainty.as_ref()?;
    let of_cliff = reading.cliffs.first().map(|cliff| cliff.confidence);
    let word = of_cliff.unwrap_or(certainty.confidence).word();
    let doubts = match certainty.doubts.as_slice() {
        [] => String::new(),
        doubts => format!(" ({})", doubts.join("; ")),
    };
    Some(format!("confidence {word}{doubts}"))
}

/// How the confidence comes about, in one sentence.
pub fn why_sure(reading: &Reading) -> Option<String> {
    let certainty = reading.certainty.as_ref()?;
    let percent = |share: f64| format!("{:.0}%", share * 100.0);
    let mut words = format!(
        "{} of the copies of the curve with its noise drawn anew are read as {}",
        percent(certainty.share),
        reading.shape
    );
    if let Some((shape, share, onset)) = certainty.other.filter(|other| other.1 >= 0.05) {
        let onset = onset.map_or(String::new(), |onset| format!(" {}", between(onset)));
        words.push_str(&format!(", {} as {shape}{onset}", percent(share)));
    }
    Some(words)
}

fn spikes_in_short(spikes: &[Spike]) -> Option<String> {
    match spikes {
        [] => None,
        [one] => Some(format!("batch {} alone cost {} times its neighbours", one.batch, times(one.factor))),
        many => Some(format!("{} single batches cost 1.5 times their neighbours or more", many.len())),
    }
}

/// Single slow batches, one by one.
pub fn spikes(spikes: &[Spike]) -> Option<String> {
    let one = |spike: &Spike| {
        format!("batch {} at {} rows ({} times)", spike.batch, human_rows(spike.table_rows), times(spike.factor))
    };
    let named: Vec<String> = spikes.iter().take(NAMED).map(one).collect();
    let more = spikes.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    (!spikes.is_empty()).then(|| format!("single slow batches: {}{more}", named.join(", ")))
}

/// What the slumps are in sentences of their own, for those who read one curve.
pub fn slump_sentences(reading: &Reading) -> Vec<String> {
    slumps(reading)
}

/// `autoinc (13%)`, where the batches of a curve scatter so much that it is a finding in itself.
pub fn restless(name: &str, reading: &Reading) -> Option<String> {
    let scatter = reading.scatter.filter(|scatter| *scatter >= STRONG_SCATTER)?;
    (reading.shape != Shape::TooShort).then(|| format!("{name} ({:.0}%)", scatter * 100.0))
}

/// The sentence for all restless curves together.
pub fn strong_scatter(curves: &[String]) -> Option<String> {
    (!curves.is_empty()).then(|| {
        format!(
            "strong scatter: from batch to batch the cost differs without an order in it, which is a finding of its own: {}",
            curves.join(", ")
        )
    })
}

// What the description of a curve adds.

/// A sawtooth that no slump stands for.
pub(super) fn teeth(teeth: usize, height: f64) -> String {
    format!("the cost goes up {teeth} times, to about {} times the level below, and comes back", times(height))
}

/// A stretch at a higher level.
pub(super) fn came_back(from_rows: u64, to_rows: u64, factor: f64) -> String {
    let (from, to) = (human_rows(from_rows), human_rows(to_rows));
    format!("between {from} and {to} rows the cost was {} times that before, and it came back", times(factor))
}

/// A bend or a step that is no cliff: where, how far, and why not.
pub(super) fn no_cliff(
    onset: Onset,
    costs: (f64, f64),
    factor: f64,
    (slow, after, last): (usize, usize, usize),
) -> String {
    let why = match costs.1 / costs.0 < factor {
        _ if last > 0 && slow < 3 => format!(
            "only {slow} of the {after} batches after it {} {factor} times slower: too few to be sure that it lasts; load \
             more rows to see",
            if slow == 1 { "is" } else { "are" }
        ),
        true => format!("less than the {factor} times of a cliff"),
        false => format!("and only {slow} of the {after} batches after it are {factor} times slower: it does not last"),
    };
    format!("{} the speed goes {}, {why}", between(onset), speeds(costs.0, costs.1))
}

/// Why a fall is no gradual change.
pub(super) fn gradual_leaves(ratio: f64) -> String {
    format!("a gradual change would leave {ratio:.1} times the deviation")
}

/// What there is before a fall.
pub(super) fn before_it(batches: usize, early: bool) -> String {
    match early {
        true => format!("only {batches} batches before it"),
        false => format!("{batches} batches before it, level within their scatter"),
    }
}

/// What there is after a fall.
pub(super) fn after_it(slow: usize, after: usize, last: usize, factor: f64) -> String {
    let end = match last {
        0 => "the last one is not",
        1 => "the last one among them",
        _ => "",
    };
    let end = if last > 1 { format!("all of the last {last} among them") } else { end.to_owned() };
    format!("{slow} of the {after} batches after it are at least {factor} times slower, {end}")
}

/// How many copies of a curve fall, too.
pub(super) fn share_with_a_cliff(share: f64) -> String {
    format!("{:.0}% of the copies of the curve with its noise drawn anew fall, too", share * 100.0)
}

/// A first batch that none of the next comes near.
pub(super) fn first_was_fast(factor: f64) -> String {
    format!(
        "batch 1 was {factor:.1} times as fast as any of the next three: a fall may have begun before its end; smaller batches \
         would show it"
    )
}

/// A curve that is too short.
pub(super) fn too_short(batches: usize, apart: f64) -> String {
    match batches {
        0 => "no batch with a usable figure".to_owned(),
        1 => "one batch shows no course".to_owned(),
        count => format!(
            "{count} batches within {apart:.2} times of each other: they prove little, and nothing about larger tables"
        ),
    }
}
