//! Progress on stderr: two bars on a terminal, one plain line per batch elsewhere, or JSON where it is asked for.
//!
//! A closed pipe does not end a load: what cannot be written is dropped.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::events::JsonLines;
use super::left::{self, RunLeft};
use super::text::fitted_columns;
use crate::analyse::{Baseline, Left, baseline};
use crate::reading::names::record_names;
use crate::record::event::{Event, Reporter};
use crate::record::{CurveRecord, Outcome, ProbeLine, RunRecord, Sample};
use crate::units::{grouped, human_rate, human_rows, human_seconds, printable, significant};

/// The short names of a run's curves.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<String, String>);

impl Names {
    pub(super) fn of(record: &RunRecord) -> Self {
        let full = record.curves.iter().map(|curve| curve.curve.clone());
        Self(full.zip(record_names(&record.curves)).collect())
    }

    pub(super) fn short<'a>(&'a self, curve: &'a CurveRecord) -> &'a str {
        self.of_full(&curve.curve)
    }

    pub(super) fn of_full<'a>(&'a self, full: &'a str) -> &'a str {
        self.0.get(full).map_or(full, String::as_str)
    }
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Bars on a terminal that can draw them, plain lines elsewhere.
    Auto,
    /// Bars on any terminal.
    Bar,
    /// One plain line for each batch.
    Plain,
    /// One JSON object for each event.
    Json,
    Silent,
}

/// Chooses by what was asked for and by what stderr is.
pub fn reporter(style: Style) -> Box<dyn Reporter> {
    let is_terminal = std::io::stderr().is_terminal();
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    match style {
        Style::Silent => Box::new(Quiet),
        Style::Json => Box::new(JsonLines::new(std::io::stderr())),
        Style::Auto if is_terminal && !dumb => Box::new(Bars::new()),
        Style::Bar if is_terminal => Box::new(Bars::new()),
        Style::Auto | Style::Bar | Style::Plain => Box::new(Lines::default()),
    }
}

struct Quiet;

impl Reporter for Quiet {
    fn report(&mut self, _: &Event<'_>) {}
}

/// One plain line for each event: no escape code, no carriage return.
#[derive(Default)]
struct Lines {
    names: Names,
    left: RunLeft,
    curve_number: usize,
    curves: usize,
}

impl Lines {
    fn line(&self, text: &str) {
        let mut stderr = std::io::stderr().lock();
        // A reader that went away must not end a run of days.
        let _ = writeln!(stderr, "{}", printable(text, true));
    }
}

impl Reporter for Lines {
    fn report(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { record, directory } => {
                self.names = Names::of(record);
                self.left = RunLeft::of(record);
                self.curves = record.curves.iter().filter(|curve| !is_skipped(curve)).count();
                self.line(&format!("run {} in {}: {} curves", record.run_id, directory.display(), self.curves));
                for line in start_notes(record, &self.names) {
                    self.line(&line);
                }
            }
            Event::Note(text) => self.line(&format!("note: {text}")),
            Event::Waiting { what, waited, doing } => {
                self.line(&format!("note: {}", waiting_words(what, *waited, *doing)))
            }
            Event::CurveStarted { curve, batches } => {
                self.curve_number += 1;
                let name = self.names.short(curve);
                self.line(&format!("curve {} of {}: {name} ({batches} batches)", self.curve_number, self.curves));
            }
            Event::Batch { sample, samples, batches } => {
                self.left.take(&sample.curve, samples);
                let left = (self.left.of_curve(&sample.curve), self.left.of_run());
                self.line(&batch_line(sample, samples, *batches, left));
            }
            Event::Probe { line } => self.line(&probe_line_words(line)),
            Event::CurveEnded { curve } => {
                self.left.end(&curve.curve);
                self.line(&ended_line(self.names.short(curve), curve));
            }
            Event::Finished { .. } => {}
        }
    }
}

/// Two bars: the run and the curve.
struct Bars {
    names: Names,
    bars: MultiProgress,
    run: ProgressBar,
    curve: ProgressBar,
    left: RunLeft,
}

impl Bars {
    fn new() -> Self {
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        let run = bars.add(ProgressBar::new(0));
        let curve = bars.add(ProgressBar::new(0));
        // The widest part gives way on a narrow terminal: a line that wraps is not erased when the bars are drawn anew.
        run.set_style(style("run   {pos}/{len} {elapsed}  {wide_msg}"));
        curve.set_style(style("curve {pos}/{len}  {wide_msg}"));
        // A long batch must not look like a hang.
        run.enable_steady_tick(Duration::from_millis(500));
        Self { names: Names::default(), bars, run, curve, left: RunLeft::default() }
    }

    /// The batches of all curves, those of a run that goes on from its start.
    fn show_run(&self) {
        let (done, all) = self.left.batches();
        self.run.set_length(all);
        self.run.set_position(done);
        // What is cut off on a narrow terminal stands last.
        self.run.set_message(format!("left {}  {}", left::words(self.left.of_run()), drawn_bar(done, all)));
    }

    fn print(&self, text: &str) {
        let _ = self.bars.println(printable(text, true));
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Reporter for Bars {
    fn report(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { record, directory } => {
                self.names = Names::of(record);
                self.left = RunLeft::of(record);
                let curves: Vec<&CurveRecord> = record.curves.iter().filter(|curve| !is_skipped(curve)).collect();
                self.print(&format!("run {} in {}: {} curves", record.run_id, directory.display(), curves.len()));
                for line in start_notes(record, &self.names) {
                    self.print(&line);
                }
                self.show_run();
            }
            Event::Note(text) => self.print(&format!("note: {text}")),
            Event::Waiting { what, waited, doing } => {
                self.print(&format!("note: {}", waiting_words(what, *waited, *doing)))
            }
            Event::CurveStarted { curve, batches } => {
                self.curve.reset();
                self.curve.set_length(*batches);
                self.curve.set_message(self.names.short(curve).to_owned());
            }
            Event::Batch { sample, samples, batches } => {
                self.left.take(&sample.curve, samples);
                self.show_run();
                self.curve.set_length(*batches);
                self.curve.set_position(sample.batch);
                let left = self.left.of_curve(&sample.curve).map_or_else(String::new, curve_left);
                let words = bar_words(self.names.of_full(&sample.curve), sample, samples);
                self.curve.set_message(format!("{left}{words}  {}", drawn_bar(sample.batch, *batches)));
            }
            Event::Probe { line } => self.print(&probe_line_words(line)),
            Event::CurveEnded { curve } => {
                self.print(&ended_line(self.names.short(curve), curve));
                self.left.end(&curve.curve);
                self.show_run();
            }
            Event::Finished { .. } => {
                self.curve.finish_and_clear();
                self.run.finish_and_clear();
            }
        }
    }
}

/// What is waited for between batches.
pub(super) fn waiting_words(what: &str, waited: Duration, doing: Option<&str>) -> String {
    let doing = doing.map_or_else(String::new, |doing| format!("; the server says {doing:?}"));
    format!("waiting for {what}, {} so far{doing}", human_seconds(waited.as_secs_f64()))
}

/// What a curve will still take, in front of what gives way.
fn curve_left(left: Left) -> String {
    if left.high > 0.0 || left.open { format!("left {}  ", left::words(left)) } else { String::new() }
}

/// Ten places, filled as far as the work is done.
fn drawn_bar(done: u64, all: u64) -> String {
    let filled = (done.min(all) * 10 / all.max(1)) as usize;
    format!("{}{}", "█".repeat(filled), "░".repeat(10 - filled))
}

fn is_skipped(curve: &CurveRecord) -> bool {
    matches!(curve.outcome, Outcome::Skipped { .. })
}

fn start_notes(record: &RunRecord, names: &Names) -> Vec<String> {
    let mut lines = Vec::new();
    if record.build_profile != "release" {
        lines.push("note: this is a debug build; its figures are not to be published (cargo build --release)".into());
    }
    for (label, target) in &record.targets {
        for note in &target.notes {
            lines.push(format!("note: {label}: {note}"));
        }
    }
    // Several curves are often skipped for one reason.
    let mut skipped: Vec<(&String, Vec<&str>)> = Vec::new();
    for curve in &record.curves {
        if let Outcome::Skipped { why, .. } = &curve.outcome
            && curve.repeat == 1
        {
            let name = names.short(curve);
            match skipped.iter_mut().find(|(other, _)| *other == why) {
                Some((_, names)) => names.push(name),
                None => skipped.push((why, vec![name])),
            }
        }
    }
    for (why, names) in skipped {
        lines.push(format!("skipped: {}: {why}", names.join(", ")));
    }
    // What the trial before the first timing found: said once, under the first curve that it is true of.
    let mut said = std::collections::BTreeSet::new();
    for curve in record.curves.iter().filter(|curve| !is_skipped(curve)) {
        for note in curve.notes.iter().filter(|note| said.insert(*note)) {
            lines.push(format!("note: {}: {note}", names.short(curve)));
        }
    }
    lines
}

fn batch_line(sample: &Sample, samples: &[Sample], batches: u64, left: (Option<Left>, Left)) -> String {
    format!("batch {}/{batches}  {}", sample.batch, figures(sample, samples, left))
}

/// `probe select-pk c8 at 1M rows: 1000 ops in 0.021 s, 47.6k ops/s, p99 310 us`; the iteration from the second one on.
pub fn probe_line_words(line: &ProbeLine) -> String {
    let iteration = if line.iteration > 1 { format!(" #{}", line.iteration) } else { String::new() };
    let place =
        format!("probe {} c{} at {} rows{iteration}", line.probe, line.connections, human_rows(line.table_rows));
    let mut words = vec![format!("{} ops in {:.3} s", line.ops, line.seconds)];
    words.extend(line.ops_per_sec.map(|rate| format!("{} ops/s", human_rate(rate))));
    words.extend(line.p99_us.map(|micros| format!("p99 {}", micros_words(micros))));
    match line.errors {
        0 => {}
        1 => words.push("1 done again".into()),
        more => words.push(format!("{more} done again")),
    }
    format!("{place}: {}", words.join(", "))
}

/// `310 us`, `12.5 ms`, `3.10 s`.
fn micros_words(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} us"),
        1_000..1_000_000 => format!("{} ms", significant(micros as f64 / 1e3)),
        _ => human_seconds(micros as f64 / 1e6),
    }
}

/// What fits beside the bar of a curve, the most important first: the end is cut off on a narrow terminal.
fn bar_words(name: &str, sample: &Sample, samples: &[Sample]) -> String {
    let rate = sample.inserts_per_sec.map_or_else(|| "-".into(), |rate| format!("{}/s", human_rate(rate)));
    let slower = slowdown(sample, samples).map_or_else(String::new, |(_, slowdown)| format!(" {slowdown:.2}x slower"));
    format!("{}  {rate}{slower}  {} rows", fitted_columns(name, 24), human_rows(sample.table_rows))
}

/// The baseline, and the cost of a batch as a multiple of it.
fn slowdown(sample: &Sample, samples: &[Sample]) -> Option<(Baseline, f64)> {
    // The first ten batches are all a baseline looks at: the same cost at batch 300 as at batch 10.
    let baseline = baseline(&samples[..samples.len().min(20)])?;
    let slowdown = Baseline::slowdown(&baseline, sample)?;
    Some((baseline, slowdown))
}

/// Rows, seconds, speed now, speed of the baseline, slowdown, time left of the curve and of the run.
fn figures(sample: &Sample, samples: &[Sample], (curve, run): (Option<Left>, Left)) -> String {
    let mut words = vec![
        format!("{} rows", human_rows(sample.table_rows)),
        human_seconds(sample.seconds),
        sample.inserts_per_sec.map_or_else(|| "-".into(), |rate| format!("{} rows/s", human_rate(rate))),
    ];
    if let Some((baseline, slowdown)) = slowdown(sample, samples) {
        words.push(format!("baseline {} rows/s", human_rate(baseline.rows_per_second())));
        words.push(format!("slowdown {slowdown:.2}x"));
    }
    if let Some(curve) = curve.filter(|curve| curve.high > 0.0 || curve.open) {
        words.push(format!("left {}", left::words(curve)));
    }
    if curve != Some(run) {
        words.push(format!("run left {}", left::words(run)));
    }
    words.join("  ")
}

fn ended_line(name: &str, curve: &CurveRecord) -> String {
    let what = match &curve.outcome {
        Outcome::Completed => "completed".to_owned(),
        Outcome::Stopped { rule, figures } => format!("stopped by {rule}: {figures}"),
        Outcome::Full { rows, message } => format!("full at {} rows: {message}", grouped(*rows)),
        Outcome::Skipped { why, .. } => format!("skipped: {why}"),
        Outcome::Failed { code: Some(code), message } => format!("FAILED: error {code}: {message}"),
        Outcome::Failed { code: None, message } => format!("FAILED: {message}"),
        Outcome::Interrupted => "interrupted".to_owned(),
        Outcome::NotStarted => "not started".to_owned(),
        Outcome::Running => "running".to_owned(),
    };
    format!("{name}: {} rows in {}: {what}", grouped(curve.table_rows), human_seconds(curve.load_seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_filled_as_far_as_the_work_is_done() {
        assert_eq!(drawn_bar(0, 0), "░░░░░░░░░░");
        assert_eq!(drawn_bar(7, 20), "███░░░░░░░");
        assert_eq!(drawn_bar(30, 20), "██████████");
        let left = Left { low: 12.0, high: 40.0, open: false };
        // At 40 columns the time left stands whole before what is cut off.
        assert!("curve 12/100  ".len() + curve_left(left).len() <= 40, "{}", curve_left(left));
        assert_eq!(curve_left(Left::default()), "");
    }

    #[test]
    fn an_iteration_of_a_probe_is_one_plain_line() {
        let mut line = ProbeLine {
            curve: "c".into(),
            batch: 10,
            table_rows: 1_000_000,
            probe: "select-pk".into(),
            connections: 8,
            iteration: 1,
            ops: 1000,
            seconds: 0.021,
            ops_per_sec: Some(1000.0 / 0.021),
            p99_us: Some(310),
            ..ProbeLine::default()
        };
        assert_eq!(
            probe_line_words(&line),
            "probe select-pk c8 at 1M rows: 1000 ops in 0.021 s, 47.6k ops/s, p99 310 us"
        );
        (line.iteration, line.p99_us, line.errors) = (3, Some(12_500), 2);
        assert!(
            probe_line_words(&line).ends_with("rows #3: 1000 ops in 0.021 s, 47.6k ops/s, p99 12.5 ms, 2 done again")
        );
        // What is not known is not said.
        let none = ProbeLine { probe: "oltp".into(), connections: 1, table_rows: 5, ..ProbeLine::default() };
        assert_eq!(probe_line_words(&none), "probe oltp c1 at 5 rows: 0 ops in 0.000 s");
    }
}
