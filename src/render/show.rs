//! What `show` prints, and the table at the end of a run: plain text of at most about a hundred columns.

use std::collections::BTreeSet;

use super::cliffs;
use super::closing::{self, Closing};
use super::columns::{self, Row, UNKNOWN, factor};
use super::table::{Align, Table};
use super::tables;
use super::text::{fitted_columns, text_columns, wrapped};
use crate::analyse::Curve;
use crate::analyse::cliffs::CLIFF_FACTOR;
use crate::reading::counted::Moved;
use crate::reading::input::{Input, LoadedRun};
use crate::reading::names::{Named, short_names};
use crate::record::{Outcome, RunRecord, RunState, Sample};
use crate::units::{grouped, human_bytes, human_rate, human_rows, human_seconds};

/// Columns of text that output keeps to.
const WIDTH: usize = 100;
/// Lines of the table of a long curve unless all are asked for.
const LINES: usize = 20;
/// A curve of up to this many batches is not long: leaving out a few lines would save nothing.
const WHOLE: usize = 25;
/// Columns of a curve's name in the summary.
const NAME_COLUMNS: usize = 52;

/// What `show` is to print.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShowOptions {
    /// Every batch, instead of about twenty for each curve.
    pub all: bool,
    /// Every column, instead of those that people compare.
    pub wide: bool,
    /// The tables of batches as Markdown.
    pub markdown: bool,
}

/// Everything about the runs: settings in force, each curve's batches, the summary, what did not complete.
pub fn show(input: &Input, options: ShowOptions) -> String {
    let mut parts = vec![settings(input), tables::text(&tables::of_input(input), false)];
    let names = curve_names(input);
    let judged = cliffs::judge_all(input, CLIFF_FACTOR);
    for (curve, name) in input.curves.iter().zip(&names) {
        if let Some(one) = judged.iter().find(|one| std::ptr::eq(one.curve, curve)) {
            let moved = |sample: &Sample| input.moved_of(curve, sample);
            let between = if options.markdown { "\n\n" } else { "\n" };
            let table = batches(curve, options, &moved);
            let table = match options.markdown {
                true => table,
                false => cliffs::drawn_into(&table, &one.reading),
            };
            let closing = Closing::of(input, curve).filter(|_| options.wide && !options.markdown);
            let closing = closing.map_or_else(String::new, |closing| format!("{}\n", closing.sentence()));
            parts.push(format!("{}{between}{table}{closing}", heading(name, curve)));
        }
    }
    if input.curves.iter().any(|curve| !curve.samples.is_empty()) {
        parts.push(legend());
    }
    parts.push(summary(input));
    parts.push(cliffs::lines(&judged));
    if input.has_probes() {
        parts.push("Probes ran between the batches: show --probes has what they found.\n".into());
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// What the columns of the tables of batches mean, as far as their titles do not say it.
fn legend() -> String {
    paragraph(
        "inserts/s: this batch; mean/s: all batches up to it; slowdown: against the baseline; p99 ms: statement latency; \
         reads/row: pages read because no cache held them; bytes/row: written by the server process to its device; -: not known.",
        "",
    )
}

/// The table over all curves, what its columns mean, and why curves did not complete: what a run prints at its end.
pub fn summary(input: &Input) -> String {
    let names = curve_names(input);
    let mut table = Table::new(&[
        ("curve", Align::Left),
        ("rows", Align::Right),
        ("start rows/s", Align::Right),
        ("end rows/s", Align::Right),
        ("slowdown", Align::Right),
        ("load time", Align::Right),
        ("outcome", Align::Left),
    ]);
    for (curve, name) in input.curves.iter().zip(&names) {
        table.row(summary_row(curve, name, input.outcome_of(curve)));
    }
    let mut out = table.render();
    if input.curves.iter().any(|curve| !curve.samples.is_empty()) {
        out.push_str(&paragraph(
            "start rows/s: rows per second while the table was small (the best median of three batches in a row among the \
             first ten); end rows/s: median of the last three batches; slowdown: start rows/s divided by end rows/s (where every k-th batch \
             is slow, both are means over whole periods); load time: sum of the timed batches.",
            "",
        ));
    }
    out.extend(closing::sentence(input).map(|line| paragraph(&line, "")));
    let reasons: String = input
        .curves
        .iter()
        .zip(&names)
        .filter_map(|(curve, name)| {
            let reason = input.outcome_of(curve).and_then(reason).or_else(|| input.standing_of(curve).remark())?;
            Some(paragraph(&format!("{name}: {reason}"), "  "))
        })
        .collect();
    if !reasons.is_empty() {
        out.push('\n');
        out.push_str(&reasons);
    }
    out
}

/// The runs' targets with versions and the variables in force: defaults differ between engines, so they stand above the figures.
pub fn settings(input: &Input) -> String {
    let mut out = String::new();
    for run in &input.runs {
        run_settings(run, input.runs.len() > 1, &mut out);
    }
    out
}

fn run_settings(run: &LoadedRun, named: bool, out: &mut String) {
    if named {
        out.push_str(&format!("run {}\n", run.label));
    }
    let Some(record) = &run.record else { return };
    match record.state {
        RunState::Finished => {}
        RunState::Running => out.push_str("the run has not ended, or could not say so\n"),
        RunState::Interrupted => out.push_str("the run was interrupted\n"),
        RunState::Failed => out.push_str("the run failed\n"),
    }
    if record.build_profile == "debug" {
        out.push_str("made with a debug build: these figures are not to be published\n");
    }
    out.extend(record.scale_note().map(|note| format!("{note}\n")));
    out.extend(record.values_note().map(|note| paragraph(&format!("values: {note}"), "")));
    for (label, target) in &record.targets {
        out.push_str(&paragraph(&format!("{label}: {}", version(&target.flavour, &target.version)), ""));
        let variables: Vec<String> =
            target.variables.iter().map(|(name, value)| format!("{name}={}", value.replace(' ', "\u{a0}"))).collect();
        if !variables.is_empty() {
            out.push_str(&paragraph(&format!("in force: {}", variables.join(" ")), "  "));
        }
        for note in &target.notes {
            out.push_str(&paragraph(note, "  "));
        }
    }
}

/// What makes engines fast or slow beside the settings of a curve, and differs by default from engine to engine.
const DEFAULTS: &[&str] = &[
    "innodb_buffer_pool_size",
    "rocksdb_block_cache_size",
    "aria_pagecache_buffer_size",
    "key_buffer_size",
    "tokudb_cache_size",
    "max_heap_table_size",
    "innodb_log_file_size",
    "innodb_redo_log_capacity",
    "innodb_flush_method",
    "innodb_doublewrite",
    "log_bin",
    "sync_binlog",
];

/// For each target the defaults in force while its curves ran, as far as they were the same for all of them: caches, redo
/// size, flush method, doublewrite, binary log.
pub fn defaults_in_force(record: &RunRecord) -> String {
    let mut out = String::new();
    for label in record.targets.keys() {
        let curves: Vec<_> = record.curves.iter().filter(|curve| curve.target == *label).collect();
        let words: Vec<String> = DEFAULTS
            .iter()
            .filter_map(|name| {
                let mut values: Vec<&String> = curves.iter().filter_map(|curve| curve.variables.get(*name)).collect();
                values.dedup();
                let [value] = values.as_slice() else { return None };
                let bytes =
                    value.parse::<u64>().ok().filter(|_| name.ends_with("_size") || name.ends_with("_capacity"));
                let value = bytes.map_or_else(|| (*value).clone(), human_bytes);
                Some(format!("{name}={}", value.replace(' ', "\u{a0}")))
            })
            .collect();
        if !words.is_empty() {
            out.push_str(&paragraph(&format!("{label} in force: {}", words.join(" ")), ""));
        }
    }
    out
}

/// `mariadb 10.11.6`; a version that names its flavour already stands alone.
pub fn version(flavour: &str, version: &str) -> String {
    if version.to_lowercase().contains(&flavour.to_lowercase()) {
        version.to_owned()
    } else {
        format!("{flavour} {version}").trim().to_owned()
    }
}

/// The short name of every curve of the input.
pub fn curve_names(input: &Input) -> Vec<String> {
    short_names(&input.curves.iter().map(Named::from).collect::<Vec<_>>())
}

/// The line above a curve's batches: its name and its labels in full.
pub(super) fn heading(name: &str, curve: &Curve) -> String {
    let labels = &curve.labels;
    let flush = match (labels.flush.as_str(), labels.flush_in_force.as_str()) {
        ("" | "none", _) => String::new(),
        (flush, "") => format!("flush {flush}"),
        (flush, in_force) => format!("flush {flush} ({in_force})"),
    };
    // A file of another program does not tell.
    let known = |count: u64, what: &str| if count == 0 { String::new() } else { format!("{} {what}", grouped(count)) };
    let connections = if labels.connections == 1 { "connection" } else { "connections" };
    let words = [
        labels.target.clone(),
        labels.engine.clone(),
        labels.key.clone(),
        flush,
        labels.settings.clone(),
        labels.method.clone(),
        known(u64::from(labels.connections), connections),
        known(labels.statement_rows, "rows/statement"),
        known(labels.commit_rows, "rows/commit"),
    ];
    let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
    // A file of another program has one name and nothing else.
    if words == [name] {
        return name.to_owned();
    }
    let mut out = format!("{name}\n");
    // "8 connections" stays on one line.
    let words: Vec<String> = words.iter().map(|word| word.replace(' ', "\u{a0}")).collect();
    out.push_str(&paragraph(&words.join(", "), "  "));
    out.trim_end().to_owned()
}

/// The table of a curve's batches, thinned unless all are asked for. `moved` gives what the counters of a batch say.
pub fn batches(curve: &Curve, options: ShowOptions, moved: &dyn Fn(&Sample) -> Moved) -> String {
    let chosen = if options.all { (0..curve.samples.len()).collect() } else { thinned(&curve.samples) };
    let columns = columns::for_people(options.wide);
    let titles: Vec<(&str, Align)> = columns.iter().map(|column| (column.title(), column.align())).collect();
    let mut table = Table::new(&titles);
    for (index, row) in rows(curve, moved).iter().enumerate() {
        if chosen.contains(&index) {
            table.row(columns.iter().map(|column| column.text(row)).collect());
        }
    }
    let mut out = if options.markdown { table.render_markdown() } else { table.render() };
    let left_out = curve.samples.len() - chosen.len();
    if left_out > 0 {
        let before = if options.markdown { "\n" } else { "" };
        let text = format!("{before}… {} of {} batches left out; --all shows them …\n", left_out, curve.samples.len());
        out.push_str(&text);
    }
    out
}

/// Every batch of a curve with what its line is made of.
pub fn rows<'a>(curve: &'a Curve, moved: &dyn Fn(&Sample) -> Moved) -> Vec<Row<'a>> {
    let (baseline, places) = (curve.baseline(), decimal_places(&curve.samples));
    let (mut rows, mut seconds) = (0_u64, 0.0);
    let line = |sample: &'a Sample| {
        rows += sample.rows;
        seconds += sample.seconds;
        let mean = (seconds > 0.0).then(|| rows as f64 / seconds);
        Row { curve, sample, mean, baseline, moved: moved(sample), places }
    };
    curve.samples.iter().map(line).collect()
}

/// Which batches stand for all: the first three, the last three, the slowest, and steps of equal size between them.
fn thinned(samples: &[Sample]) -> BTreeSet<usize> {
    let count = samples.len();
    if count <= WHOLE {
        return (0..count).collect();
    }
    let mut chosen: BTreeSet<usize> = (0..3).chain(count - 3..count).collect();
    chosen.extend((0..count).max_by(|&a, &b| samples[a].seconds.total_cmp(&samples[b].seconds)));
    let between = LINES - chosen.len();
    for step in 1..=between {
        chosen.insert(2 + step * (count - 5) / (between + 1));
    }
    chosen
}

/// Decimals that give the quickest batch of a curve three significant digits, the same for all its lines.
fn decimal_places(samples: &[Sample]) -> usize {
    let quickest =
        samples.iter().map(|sample| sample.seconds).filter(|seconds| *seconds > 0.0).fold(f64::MAX, f64::min);
    (2.0 - quickest.log10().floor()).clamp(1.0, 6.0) as usize
}

fn summary_row(curve: &Curve, name: &str, outcome: Option<&Outcome>) -> Vec<String> {
    let rate = |cost: Option<f64>| cost.map_or(UNKNOWN.into(), |cost| human_rate(1e6 / cost));
    let found = curve.factor();
    let measured = !curve.samples.is_empty();
    let or_unknown = |text: String| if measured { text } else { UNKNOWN.into() };
    vec![
        fitted_columns(name, NAME_COLUMNS),
        or_unknown(human_rows(curve.table_rows())),
        rate(found.baseline_seconds_per_million),
        rate(found.end_seconds_per_million),
        factor(found.value),
        or_unknown(human_seconds(curve.load_seconds())),
        outcome.map_or(UNKNOWN, outcome_word).into(),
    ]
}

/// The outcome in a word or two.
pub fn outcome_word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::NotStarted => "not started",
        Outcome::Running => "not ended",
        Outcome::Completed => "completed",
        Outcome::Stopped { .. } => "stopped",
        Outcome::Full { .. } => "full",
        Outcome::Skipped { .. } => "skipped",
        Outcome::Failed { .. } => "failed",
        Outcome::Interrupted => "interrupted",
    }
}

/// Why a curve did not complete, where there is more to say than the word.
pub fn reason(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Stopped { rule, figures } => Some(format!("stopped by {rule}: {figures}")),
        Outcome::Full { rows, message } => Some(format!("full at {} rows: {message}", grouped(*rows))),
        Outcome::Skipped { why, .. } => Some(format!("skipped: {why}")),
        Outcome::Failed { code: Some(code), message } => Some(format!("failed: {message} (code {code})")),
        Outcome::Failed { code: None, message } => Some(format!("failed: {message}")),
        Outcome::NotStarted | Outcome::Running | Outcome::Completed | Outcome::Interrupted => None,
    }
}

/// Text broken into lines, the second and later ones indented deeper. No-break spaces hold words together and become spaces.
pub fn paragraph(text: &str, indent: &str) -> String {
    let limit = (WIDTH - indent.len() - 2) as f64;
    let mut out = String::new();
    for (index, line) in wrapped(text, limit, |line| text_columns(line) as f64).iter().enumerate() {
        let deeper = if index > 0 && !indent.is_empty() { "  " } else { "" };
        out.push_str(&format!("{indent}{deeper}{}\n", line.replace('\u{a0}', " ")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::{Labels, RunSamples, group};

    fn samples(curve: &str, key: &str, seconds: &[f64]) -> Vec<Sample> {
        (1..)
            .zip(seconds)
            .map(|(batch, &seconds)| Sample {
                curve: curve.into(),
                target: "db".into(),
                engine: "innodb".into(),
                key: key.into(),
                flush: "1".into(),
                flush_in_force: "innodb_flush_log_at_trx_commit=1".into(),
                method: "insert".into(),
                connections: 8,
                statement_rows: 1000,
                commit_rows: 1000,
                repeat: 1,
                batch,
                table_rows: batch * 100_000,
                rows: 100_000,
                seconds,
                notes: if batch == 1 { "first".into() } else { String::new() },
                ..Sample::default()
            })
            .collect()
    }

    fn input(samples: Vec<Sample>) -> Input {
        let curves = group(&[RunSamples { run: "r".into(), samples }]).curves;
        Input { curves, ..Input::default() }
    }

    #[test]
    fn a_curve_is_a_table_of_its_batches() {
        let input = input(samples("a", "autoinc", &[0.4, 0.5, 0.4, 2.0]));
        let text = batches(&input.curves[0], ShowOptions::default(), &|_| Moved::default());
        let expected = "\
batch  rows in table  seconds  inserts/s   mean/s  slowdown  p99 ms  reads/row  bytes/row  notes
    1           100k    0.400    250,000  250,000     1.00x       -          -          -  first
    2           200k    0.500    200,000  222,222     1.25x       -          -          -
    3           300k    0.400    250,000  230,769     1.00x       -          -          -
    4           400k    2.000     50,000  121,212     5.00x       -          -          -
";
        assert_eq!(text, expected);
    }

    #[test]
    fn long_curves_are_thinned_and_it_is_said() {
        let mut seconds = vec![1.0; 300];
        seconds[123] = 99.0;
        let input = input(samples("a", "autoinc", &seconds));
        let text = batches(&input.curves[0], ShowOptions::default(), &|_| Moved::default());
        assert_eq!(text.lines().count(), LINES + 2, "{text}");
        assert!(text.contains("… 280 of 300 batches left out"), "{text}");
        for batch in [1, 2, 3, 124, 298, 299, 300] {
            assert!(text.lines().any(|line| line.trim_start().starts_with(&format!("{batch} "))), "{batch}: {text}");
        }
        assert_eq!(
            batches(&input.curves[0], ShowOptions { all: true, ..ShowOptions::default() }, &|_| Moved::default())
                .lines()
                .count(),
            301
        );
        for count in 1..60 {
            let samples = samples("a", "autoinc", &vec![1.0; count]);
            let lines = thinned(&samples).len();
            assert!(lines == if count <= WHOLE { count } else { LINES }, "{count}: {lines}");
        }
    }

    #[test]
    fn the_summary_shows_first_and_last_speed() {
        let mut all = samples("a", "autoinc", &[0.4, 0.4, 0.4, 0.4]);
        all.extend(samples("u", "uuid4:binary16", &[0.4, 0.4, 0.4, 2.0, 2.1, 1.9]));
        let text = summary(&input(all));
        let expected = "\
curve    rows  start rows/s  end rows/s  slowdown  load time  outcome
autoinc  400k          250k        250k     1.00x     1.60 s  -
uuid4    600k          250k       50.0k     5.00x     7.20 s  -
";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.lines().all(|line| text_columns(line) <= WIDTH), "{text}");
    }

    #[test]
    fn unknown_figures_are_a_dash() {
        let mut input = input(samples("a", "autoinc", &[0.4, 0.0]));
        let text = batches(&input.curves[0], ShowOptions::default(), &|_| Moved::default());
        assert_eq!(
            text.lines().nth(2).unwrap().split_whitespace().collect::<Vec<_>>(),
            ["2", "200k", "0.000", "-", "500,000", "-", "-", "-", "-"]
        );
        input.curves[0].samples.clear();
        let row = summary(&input);
        assert_eq!(
            row.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>(),
            ["innodb", "autoinc", "-", "-", "-", "-", "-", "-"]
        );
    }

    #[test]
    fn reasons_are_listed_below_the_table() {
        use crate::record::CurveRecord;
        use crate::record::test_support::run_record;
        let curve = |name: &str, key: &str, outcome| CurveRecord {
            curve: name.into(),
            engine: "innodb".into(),
            key: key.into(),
            flush: "1".into(),
            method: "insert".into(),
            connections: 8,
            repeat: 1,
            outcome,
            ..CurveRecord::default()
        };
        let outcomes = vec![
            curve(
                "a",
                "autoinc",
                Outcome::Stopped { rule: "--max-slowdown 5".into(), figures: "5.2x for 3 batches".into() },
            ),
            curve("u", "uuid4", Outcome::Skipped { why: "no such engine ".repeat(12), environment: false }),
            curve("f", "uuid7", Outcome::Failed { code: Some(1114), message: "The table is full".into() }),
        ];
        let target = crate::record::run::TargetRecord {
            flavour: "mariadb".into(),
            version: "10.11.6-MariaDB".into(),
            variables: (0..12).map(|index| (format!("innodb_variable_{index}"), "64M".into())).collect(),
            notes: vec![],
        };
        let record = RunRecord { targets: [("db".to_owned(), target)].into(), curves: outcomes, ..run_record(&[]) };
        let run = LoadedRun { label: "r".into(), path: "r".into(), record: Some(record) };
        let samples = crate::record::store::Samples { samples: samples("a", "autoinc", &[0.4; 3]), problems: vec![] };
        let text = show(&crate::reading::input::assemble([(run, samples)], vec![]), ShowOptions::default());
        assert!(text.starts_with("db: 10.11.6-MariaDB\n  in force: innodb_variable_0=64M"), "{text}");
        assert!(text.contains("  autoinc: stopped by --max-slowdown 5: 5.2x for 3 batches\n"), "{text}");
        assert!(text.contains("  uuid7: failed: The table is full (code 1114)\n"), "{text}");
        assert!(text.lines().all(|line| text_columns(line) <= WIDTH && !line.ends_with(' ')), "{text}");
    }

    #[test]
    fn headings_name_everything() {
        let input = input(samples("a", "autoinc", &[0.4]));
        let labels = Labels { flush: "none".into(), connections: 1, ..input.curves[0].labels.clone() };
        let curve = Curve { labels, ..input.curves[0].clone() };
        assert_eq!(
            heading("autoinc", &curve),
            "autoinc\n  db, innodb, autoinc, insert, 1 connection, 1,000 rows/statement, 1,000 rows/commit"
        );
        assert!(heading("x", &input.curves[0]).contains("flush 1 (innodb_flush_log_at_trx_commit=1)"));
    }
}
