//! What came out, in sentences: which curve holds its speed, which falls, from which size of the table on, and how far.

use crate::analyse::cliffs::{self, CLIFF_FACTOR};
use crate::analyse::{Curve, sentences as words};
use crate::render::input::Input;
use crate::render::show::curve_names;
use crate::units::{human_rate, human_rows, significant};

/// A curve that is slower than this many times at its end has fallen.
const FALLEN: f64 = 1.5;
/// More curves that are in no ranking are counted.
const NAMED: usize = 8;
/// Shorter curves are not judged.
const LEAST_BATCHES: usize = 4;

/// Rows per second at the two ends of a curve, as far as they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Speeds {
    /// The baseline.
    pub first: Option<f64>,
    /// The last three batches.
    pub last: Option<f64>,
    /// How many times slower the end is.
    slowdown: Option<f64>,
}

impl Speeds {
    /// The speeds of a curve.
    pub fn of(curve: &Curve) -> Self {
        let factor = curve.factor();
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

/// The sentences, the most important first.
pub fn sentences(input: &Input) -> Vec<String> {
    let names = curve_names(input);
    let measured: Vec<(&Curve, &String, Speeds)> = input
        .curves
        .iter()
        .zip(&names)
        .filter(|(curve, _)| !curve.samples.is_empty())
        .map(|(curve, name)| (curve, name, Speeds::of(curve)))
        .collect();
    if measured.is_empty() {
        return vec!["Nothing was measured.".into()];
    }
    let mut out = Vec::new();
    let judged = |one: &&(&Curve, &String, Speeds)| one.0.samples.len() >= LEAST_BATCHES && one.2.slowdown().is_some();
    let mut falling: Vec<(&Curve, &String, Speeds)> =
        measured.iter().filter(judged).filter(|one| one.2.slowdown() >= Some(FALLEN)).copied().collect();
    falling.sort_by(|a, b| b.2.slowdown().unwrap_or(0.0).total_cmp(&a.2.slowdown().unwrap_or(0.0)));
    let holding: Vec<(&Curve, &String, Speeds)> =
        measured.iter().filter(judged).filter(|one| one.2.slowdown() < Some(FALLEN)).copied().collect();
    for (curve, name, speeds) in falling.iter().take(8) {
        out.push(falls(curve, name, *speeds));
    }
    if falling.len() > 8 {
        out.push(format!("{} more curves fall; the table has them.", falling.len() - 8));
    }
    for (curve, name, speeds) in holding.iter().take(if holding.len() <= 4 { 4 } else { 0 }) {
        let last = speeds.last.map_or_else(|| "-".into(), human_rate);
        let rows = human_rows(curve.table_rows());
        out.push(format!("{name} holds: {last} rows/s at {rows} rows, {}.", change(speeds.slowdown().unwrap_or(1.0))));
    }
    if holding.len() > 4 {
        let shown: Vec<&str> = holding.iter().take(6).map(|one| one.1.as_str()).collect();
        let more = if holding.len() > 6 { format!(" and {} more", holding.len() - 6) } else { String::new() };
        out.push(format!(
            "{} curves hold their speed (less than {FALLEN}x slower at the end): {}{more}.",
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
fn fastest(input: &Input, measured: &[(&Curve, &String, Speeds)]) -> Vec<String> {
    let mut out = Vec::new();
    if measured.len() < 2 {
        return out;
    }
    let (ranked, others): (Vec<_>, Vec<_>) = measured
        .iter()
        .map(|one| (one, input.standing_of(one.0)))
        .partition(|(_, standing)| standing.unranked().is_none());
    let last = |speeds: &Speeds| speeds.last.unwrap_or(0.0);
    // Nothing is the fastest of one.
    if ranked.len() > 1
        && let Some(((_, name, speeds), standing)) =
            ranked.iter().rev().max_by(|a, b| last(&a.0.2).total_cmp(&last(&b.0.2)))
        && let Some(last) = speeds.last
    {
        let doubt = if standing.verified == Some(false) { " (not verified)" } else { "" };
        out.push(format!("Fastest at its end: {name}, {} rows/s{doubt}.", human_rate(last)));
    }
    let why = others.iter().filter_map(|((_, name, _), standing)| Some(format!("{name} ({})", standing.unranked()?)));
    let why: Vec<String> = why.collect();
    if !why.is_empty() {
        let more = if why.len() > NAMED { format!("; and {} more", why.len() - NAMED) } else { String::new() };
        out.push(format!("In no ranking: {}{more}.", why[..why.len().min(NAMED)].join("; ")));
    }
    out
}

fn falls(curve: &Curve, name: &str, speeds: Speeds) -> String {
    let rate = |rate: Option<f64>| rate.map_or_else(|| "-".into(), human_rate);
    let reading = cliffs::read(&curve.samples, CLIFF_FACTOR);
    let from = match reading.cliffs.first().filter(|_| reading.has_cliff()) {
        Some(cliff) => format!(
            "; the cliff is between {} and {} rows",
            human_rows(cliff.onset_from_rows),
            human_rows(cliff.onset_to_rows)
        ),
        None => format!("; {}", words::course(&reading)),
    };
    format!(
        "{name} falls {}x: from {} to {} rows/s at {} rows{from}.",
        significant(speeds.slowdown().unwrap_or(1.0)),
        rate(speeds.first),
        rate(speeds.last),
        human_rows(curve.table_rows())
    )
}

fn change(slowdown: f64) -> String {
    let percent = (1.0 / slowdown - 1.0) * 100.0;
    match percent.round() as i64 {
        0 => "as at the start".into(),
        percent if percent > 0 => format!("{percent}% faster than at the start"),
        percent => format!("{}% slower than at the start", -percent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::{RunSamples, group};
    use crate::record::Sample;

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

    #[test]
    fn it_says_which_falls_where_and_how_far_and_which_holds() {
        let fall = [vec![1.0; 5], vec![10.0; 5]].concat();
        assert_eq!(
            sentences(&input(&[("autoinc", vec![1.0; 10]), ("uuid4", fall), ("uuid7", vec![1.0; 2])])),
            [
                "uuid4 falls 10.0x: from 100k to 10.0k rows/s at 1M rows; the cliff is between 500k and 600k rows.",
                "autoinc holds: 100k rows/s at 1M rows, as at the start.",
                "1 curve is too short to judge.",
                "Fastest at its end: autoinc, 100k rows/s.",
                "In no ranking: uuid7 (only 2 batches).",
            ]
        );
    }

    #[test]
    fn a_load_that_failed_or_kept_nothing_is_never_the_fastest() {
        let mut found = input(&[("autoinc", vec![1.0; 10]), ("uuid4", vec![0.1; 10]), ("uuid7", vec![2.0; 10])]);
        let mut record = crate::render::test_support::run_record(&["autoinc", "uuid4", "uuid7"]);
        record.curves[1].outcome = crate::record::Outcome::Failed { code: None, message: "no rows".into() };
        found.runs.push(crate::render::input::LoadedRun { label: "r".into(), path: "r".into(), record: Some(record) });
        let ranking = |input: &Input| {
            let is_of = |line: &String| line.starts_with("Fastest") || line.starts_with("In no ranking");
            sentences(input).into_iter().filter(is_of).collect::<Vec<_>>()
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
        let found = sentences(&input(&holding));
        assert!(found[0].starts_with("20 curves hold") && found[0].contains("and 14 more"), "{found:?}");
        let falling: Vec<(&str, Vec<f64>)> =
            names.iter().map(|name| (name.as_str(), vec![1.0, 1.0, 1.0, 4.0, 4.0, 4.0])).collect();
        let found = sentences(&input(&falling));
        assert_eq!(found[8], "12 more curves fall; the table has them.");
    }
}
