//! What came out, in sentences: which curve holds its speed, which falls, from which size of the table on, and how far.

use crate::analyse::{Curve, Factor, Reading, sentences as words};
use crate::reading::input::Input;
use crate::render::cliffs::Judged;
use crate::units::human_rate;

/// A curve that is slower than this many times at its end has fallen.
const FALLEN: f64 = 1.5;
/// More curves that are in no ranking are counted.
const NAMED: usize = 8;
/// Shorter curves are not judged.
const LEAST_BATCHES: usize = 4;

/// Rows per second at the two ends of a curve, as far as they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Speeds {
    pub first: Option<f64>,
    /// The last three batches.
    pub last: Option<f64>,
    /// How many times slower the end is.
    slowdown: Option<f64>,
}

impl Speeds {
    pub fn of(factor: &Factor) -> Self {
        let rate = |cost: Option<f64>| cost.map(|cost| 1e6 / cost);
        Self {
            first: rate(factor.baseline_seconds_per_million),
            last: rate(factor.end_seconds_per_million),
            slowdown: factor.value,
        }
    }

    /// How many times slower the end is.
    pub fn slowdown(&self) -> Option<f64> {
        self.slowdown
    }
}

/// A curve, what is read from it, and its speeds.
struct Measured<'a> {
    curve: &'a Curve,
    name: &'a str,
    reading: &'a Reading,
    speeds: Speeds,
}

impl Measured<'_> {
    /// How many times slower the end is, of a curve that is long enough to be judged.
    fn slowdown(&self) -> Option<f64> {
        self.speeds.slowdown().filter(|_| self.curve.samples.len() >= LEAST_BATCHES)
    }
}

/// The sentences, the most important first.
pub fn sentences(input: &Input, judged: &[Judged<'_>]) -> Vec<String> {
    let measured: Vec<Measured<'_>> = judged
        .iter()
        .map(|one| Measured {
            curve: one.curve,
            name: &one.name,
            reading: &one.reading,
            speeds: Speeds::of(&one.reading.factor),
        })
        .collect();
    if measured.is_empty() {
        return vec!["Nothing was measured.".into()];
    }
    let mut out = Vec::new();
    let of = |test: fn(f64) -> bool| -> Vec<&Measured<'_>> {
        measured.iter().filter(|one| one.slowdown().is_some_and(test)).collect()
    };
    let (mut falling, holding) = (of(|slowdown| slowdown >= FALLEN), of(|slowdown| slowdown < FALLEN));
    falling.sort_by(|a, b| b.slowdown().unwrap_or(0.0).total_cmp(&a.slowdown().unwrap_or(0.0)));
    out.extend(falling.iter().take(8).map(|one| falls(one)));
    if falling.len() > 8 {
        out.push(format!("{} more curves fall; the table has them.", falling.len() - 8));
    }
    out.extend(holding.iter().take(if holding.len() <= 4 { 4 } else { 0 }).map(|one| holds(one)));
    if holding.len() > 4 {
        let shown: Vec<&str> = holding.iter().take(6).map(|one| one.name).collect();
        let more = if holding.len() > 6 { format!(" and {} more", holding.len() - 6) } else { String::new() };
        out.push(format!(
            "{} curves hold their speed (less than {FALLEN} times slower at the end): {}{more}.",
            holding.len(),
            shown.join(", ")
        ));
    }
    let short = measured.len() - falling.len() - holding.len();
    if short > 0 {
        out.push(match short {
            1 => "1 curve is too short to judge.".into(),
            more => format!("{more} curves are too short to judge."),
        });
    }
    out.extend(fastest(input, &measured));
    out
}

/// The fastest of those that may be ranked, and why the others may not.
fn fastest(input: &Input, measured: &[Measured<'_>]) -> Vec<String> {
    let mut out = Vec::new();
    if measured.len() < 2 {
        return out;
    }
    let (ranked, others): (Vec<_>, Vec<_>) = measured
        .iter()
        .map(|one| (one, input.standing_of(one.curve)))
        .partition(|(_, standing)| standing.unranked().is_none());
    let last = |speeds: &Speeds| speeds.last.unwrap_or(0.0);
    // Nothing is the fastest of one.
    if ranked.len() > 1
        && let Some((Measured { name, speeds, .. }, standing)) =
            ranked.iter().rev().max_by(|a, b| last(&a.0.speeds).total_cmp(&last(&b.0.speeds)))
        && let Some(last) = speeds.last
    {
        let doubt = if standing.verified == Some(false) { " (not verified)" } else { "" };
        out.push(format!("Fastest at its end: {name}, {} rows/s{doubt}.", human_rate(last)));
    }
    let why = others.iter().filter_map(|(one, standing)| Some(format!("{} ({})", one.name, standing.unranked()?)));
    let why: Vec<String> = why.collect();
    if !why.is_empty() {
        let more = if why.len() > NAMED { format!("; and {} more", why.len() - NAMED) } else { String::new() };
        out.push(format!("In no ranking: {}{more}.", why[..why.len().min(NAMED)].join("; ")));
    }
    out
}

fn falls(one: &Measured<'_>) -> String {
    let rate = |rate: Option<f64>| rate.map_or_else(|| "-".into(), human_rate);
    // A cliff states its own two speeds.
    let speeds = match one.reading.cliffs.as_slice() {
        [] => format!(" from {} to {} rows/s", rate(one.speeds.first), rate(one.speeds.last)),
        _ => String::new(),
    };
    format!("{} falls{speeds}: {}.", one.name, words::in_short(one.reading))
}

fn holds(one: &Measured<'_>) -> String {
    let last = one.speeds.last.map_or_else(|| "-".into(), human_rate);
    format!("{} holds, with {last} rows/s at its end: {}.", one.name, words::in_short(one.reading))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::cliffs::CLIFF_FACTOR;
    use crate::analyse::{RunSamples, group};
    use crate::record::Sample;
    use crate::render::cliffs::judge_all;

    fn input(curves: &[(&str, Vec<f64>)]) -> Input {
        let samples = curves
            .iter()
            .flat_map(|(key, seconds)| {
                (1..).zip(seconds).map(|(batch, &seconds)| Sample {
                    curve: (*key).into(),
                    engine: "innodb".into(),
                    key: (*key).into(),
                    batch,
                    rows: 100_000,
                    table_rows: batch * 100_000,
                    seconds,
                    ..Sample::default()
                })
            })
            .collect();
        Input { curves: group(&[RunSamples { run: "r".into(), samples }]).curves, ..Input::default() }
    }

    fn said(input: &Input) -> Vec<String> {
        sentences(input, &judge_all(input, CLIFF_FACTOR))
    }

    #[test]
    fn it_says_which_falls_where_and_how_far_and_which_holds() {
        let fall = [vec![1.0; 5], vec![10.0; 5]].concat();
        assert_eq!(
            said(&input(&[("autoinc", vec![1.0; 10]), ("uuid4", fall), ("uuid7", vec![1.0; 2])])),
            [
                "uuid4 falls: 10.0 times slower at 1M rows than its baseline; step, cliff between 500k and 600k rows, from 100k to 10.0k rows/s; confidence medium.",
                "autoinc holds, with 100k rows/s at its end: as fast at 1M rows as its baseline; too short to judge, no cliff; 10 batches within 1.00 times of each other: they prove little, and nothing about larger tables.",
                "1 curve is too short to judge.",
                "Fastest at its end: autoinc, 100k rows/s.",
                "In no ranking: uuid7 (only 2 batches).",
            ]
        );
    }

    #[test]
    fn a_load_that_failed_or_kept_nothing_is_never_the_fastest() {
        let mut found = input(&[("autoinc", vec![1.0; 10]), ("uuid4", vec![0.1; 10]), ("uuid7", vec![2.0; 10])]);
        let mut record = crate::record::test_support::run_record(&["autoinc", "uuid4", "uuid7"]);
        record.curves[1].outcome = crate::record::Outcome::Failed { code: None, message: "no rows".into() };
        found.runs.push(crate::reading::input::LoadedRun { label: "r".into(), path: "r".into(), record: Some(record) });
        let ranking = |input: &Input| {
            let is_of = |line: &String| line.starts_with("Fastest") || line.starts_with("In no ranking");
            said(input).into_iter().filter(is_of).collect::<Vec<_>>()
        };
        let fastest = "Fastest at its end: autoinc, 100k rows/s (not verified).";
        assert_eq!(ranking(&found), [fastest, "In no ranking: uuid4 (failed: no rows)."]);
        let curves = &mut found.runs[0].record.as_mut().unwrap().curves;
        curves[1].outcome = crate::record::Outcome::Completed;
        curves[1].keeps_rows = Some(false);
        assert_eq!(ranking(&found), [fastest, "In no ranking: uuid4 (its engine keeps no row)."]);
        let curves = &mut found.runs[0].record.as_mut().unwrap().curves;
        curves[2].outcome = crate::record::Outcome::Interrupted;
        assert_eq!(ranking(&found).len(), 1, "one alone is not the fastest");
    }

    #[test]
    fn many_curves_are_counted() {
        let names: Vec<String> = (0..20).map(|index| format!("k{index}")).collect();
        let holding: Vec<(&str, Vec<f64>)> = names.iter().map(|name| (name.as_str(), vec![1.0; 6])).collect();
        let found = said(&input(&holding));
        assert!(found[0].starts_with("20 curves hold") && found[0].contains("and 14 more"), "{found:?}");
        let falling: Vec<(&str, Vec<f64>)> =
            names.iter().map(|name| (name.as_str(), vec![1.0, 1.0, 1.0, 4.0, 4.0, 4.0])).collect();
        let found = said(&input(&falling));
        assert_eq!(found[8], "12 more curves fall; the table has them.");
    }
}
