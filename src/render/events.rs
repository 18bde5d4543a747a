//! Progress for machines: one JSON object for each event, on a line of its own.
//!
//! Every line has `v`, the version of this shape (1), `event`, and `at`, the wall clock (UTC, RFC 3339). A reader passes over
//! events and fields that it does not know; a change that it could not pass over raises `v`. A figure that is not known is
//! null, never 0. `curve` is the full name, unique in the run and the same as in `batches.csv`; `name` is the short one that
//! people see. With `--progress json` nothing else is written to stderr; only a command line that cannot be parsed is refused in
//! plain words.
//!
//! | event | fields |
//! |---|---|
//! | `run-started` | `run` (id), `directory`, `program_version`, `curves` (that will be loaded), `skipped`, `shard` (`number`, `parts`, `plan_cells`, `plan_curves`, or null) |
//! | `skipped` | `curve`, `name`, `why`, `environment` (whether the environment prevents it, not the engine) |
//! | `note` | `text`, `curve`, `target` (null where it is about the run) |
//! | `curve-started` | `curve`, `name`, `target`, `engine`, `key`, `flush`, `settings`, `method`, `connections`, `repeat`, `batches` |
//! | `batch` | `curve`, `name`, `batch`, `batches`, `slowdown` (against the baseline, once it is known), `seconds_left` and `run_seconds_left` (`low`, `high`, `at_least`: whether it may take longer than `high`), `run_batches`, `run_batches_planned` (of all curves, from the start of the run), `sample` (the line of `batches.csv`, by column) |
//! | `probe` | `curve`, `name`, `probe` (the line of `probes.csv`, by column) |
//! | `stop` | `curve`, `name`, `rule` (the flag), `figures` (what made it fire) |
//! | `curve-finished` | `curve`, `name`, `outcome` (`state` and what belongs to it, as in `run.json`), `batches`, `table_rows`, `load_seconds` |
//! | `run-finished` | `run`, `directory` (null where the run could not start), `state` (`finished`, `interrupted`, `failed`), `outcomes` (curves by state) |
//! | `error` | `text`: why the command failed |
//! | `exit` | `code`; always the last line |

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use super::left::{LeftLine, RunLeft};
use super::progress::{Names, waiting_words};
use crate::analyse::{Baseline, baseline};
use crate::record::event::{Event, Reporter};
use crate::record::{CurveRecord, Outcome, ProbeLine, RunRecord, RunState, Sample};

/// The version of the shape.
pub const VERSION: u32 = 1;

#[derive(Serialize)]
struct Line<'a> {
    v: u32,
    #[serde(flatten)]
    what: What<'a>,
    at: String,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum What<'a> {
    RunStarted {
        run: &'a str,
        directory: String,
        program_version: &'a str,
        curves: usize,
        skipped: usize,
        shard: Option<&'a serde_json::Value>,
    },
    Skipped {
        curve: &'a str,
        name: &'a str,
        why: &'a str,
        environment: bool,
    },
    Note {
        text: &'a str,
        curve: Option<&'a str>,
        target: Option<&'a str>,
    },
    CurveStarted {
        curve: &'a str,
        name: &'a str,
        target: &'a str,
        engine: &'a str,
        key: &'a str,
        flush: &'a str,
        settings: &'a str,
        method: &'a str,
        connections: u32,
        repeat: u32,
        batches: u64,
    },
    Batch {
        curve: &'a str,
        name: &'a str,
        batch: u64,
        batches: u64,
        slowdown: Option<f64>,
        seconds_left: LeftLine,
        run_seconds_left: LeftLine,
        run_batches: u64,
        run_batches_planned: u64,
        sample: &'a Sample,
    },
    Probe {
        curve: &'a str,
        name: &'a str,
        probe: &'a ProbeLine,
    },
    Stop {
        curve: &'a str,
        name: &'a str,
        rule: &'a str,
        figures: &'a str,
    },
    CurveFinished {
        curve: &'a str,
        name: &'a str,
        outcome: &'a Outcome,
        batches: u64,
        table_rows: u64,
        load_seconds: f64,
    },
    RunFinished {
        run: &'a str,
        directory: Option<String>,
        state: RunState,
        outcomes: BTreeMap<String, u64>,
    },
    Error {
        text: &'a str,
    },
    Exit {
        code: u8,
    },
}

impl What<'_> {
    /// The line, without its end.
    fn line(self) -> String {
        let line = Line { v: VERSION, what: self, at: jiff::Timestamp::now().to_string() };
        // Plain data: what could fail is a map with keys that are no strings, and there is none.
        let text = serde_json::to_string(&line).unwrap_or_default();
        // JSON may carry DEL and the control characters above it raw.
        crate::units::printable(&text, false).into_owned()
    }
}

/// Writes the events of a run.
pub struct JsonLines<W> {
    out: W,
    names: Names,
    left: RunLeft,
    /// Known once the run has started.
    directory: Option<String>,
}

impl<W: Write> JsonLines<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, names: Names::default(), left: RunLeft::default(), directory: None }
    }

    fn write(&mut self, what: What<'_>) {
        let line = format!("{}\n", what.line());
        // In one write, so that no line of another process comes between; a reader that went away ends no run.
        let _ = self.out.write_all(line.as_bytes()).and_then(|()| self.out.flush());
    }

    fn started(&mut self, record: &RunRecord, directory: &std::path::Path) {
        self.names = Names::of(record);
        self.left = RunLeft::of(record);
        self.directory = Some(directory.display().to_string());
        let skipped = record.curves.iter().filter(|curve| matches!(curve.outcome, Outcome::Skipped { .. })).count();
        self.write(What::RunStarted {
            run: &record.run_id,
            directory: directory.display().to_string(),
            program_version: &record.program_version,
            curves: record.curves.len() - skipped,
            skipped,
            shard: record.plan.get("shard").filter(|shard| !shard.is_null()),
        });
        for (label, target) in &record.targets {
            for text in &target.notes {
                self.write(What::Note { text, curve: None, target: Some(label) });
            }
        }
        for curve in &record.curves {
            let name = self.names.short(curve).to_owned();
            if let Outcome::Skipped { why, environment } = &curve.outcome {
                self.write(What::Skipped { curve: &curve.curve, name: &name, why, environment: *environment });
                continue;
            }
            for text in &curve.notes {
                self.write(What::Note { text, curve: Some(&curve.curve), target: None });
            }
        }
    }

    /// An iteration of a probe.
    pub fn probe(&mut self, line: &ProbeLine) {
        let name = self.names.of_full(&line.curve).to_owned();
        self.write(What::Probe { curve: &line.curve, name: &name, probe: line });
    }

    fn ended(&mut self, curve: &CurveRecord) {
        self.left.end(&curve.curve);
        let name = self.names.short(curve).to_owned();
        if let Outcome::Stopped { rule, figures } = &curve.outcome {
            self.write(What::Stop { curve: &curve.curve, name: &name, rule, figures });
        }
        self.write(What::CurveFinished {
            curve: &curve.curve,
            name: &name,
            outcome: &curve.outcome,
            batches: curve.batches,
            table_rows: curve.table_rows,
            load_seconds: curve.load_seconds,
        });
    }
}

impl<W: Write> Reporter for JsonLines<W> {
    fn report(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { record, directory } => self.started(record, directory),
            Event::Note(text) => self.write(What::Note { text, curve: None, target: None }),
            Event::Waiting { what, waited, doing } => {
                let text = &waiting_words(what, *waited, *doing);
                self.write(What::Note { text, curve: None, target: None });
            }
            Event::CurveStarted { curve, batches } => {
                let name = self.names.short(curve).to_owned();
                self.write(What::CurveStarted {
                    curve: &curve.curve,
                    name: &name,
                    target: &curve.target,
                    engine: &curve.engine,
                    key: &curve.key,
                    flush: &curve.flush,
                    settings: &curve.settings,
                    method: &curve.method,
                    connections: curve.connections,
                    repeat: curve.repeat,
                    batches: *batches,
                });
            }
            Event::Batch { sample, samples, batches } => {
                let name = self.names.of_full(&sample.curve).to_owned();
                self.left.take(&sample.curve, samples);
                let (run_batches, run_batches_planned) = self.left.batches();
                self.write(What::Batch {
                    seconds_left: self.left.of_curve(&sample.curve).into(),
                    run_seconds_left: Some(self.left.of_run()).into(),
                    run_batches,
                    run_batches_planned,
                    curve: &sample.curve,
                    name: &name,
                    batch: sample.batch,
                    batches: *batches,
                    slowdown: slowdown(sample, samples),
                    sample,
                });
            }
            Event::Probe { line } => self.probe(line),
            Event::CurveEnded { curve } => self.ended(curve),
            Event::Finished { record } => {
                let directory = self.directory.clone();
                let outcomes = outcomes(record);
                self.write(What::RunFinished { run: &record.run_id, directory, state: record.state, outcomes });
            }
        }
    }
}

/// What a command has to say at its end, as lines of the same shape.
pub fn closing(lines: &[String], exit: u8) -> Vec<String> {
    let line = |text: &String| match text.strip_prefix("error: ") {
        Some(text) => What::Error { text }.line(),
        None => What::Note { text, curve: None, target: None }.line(),
    };
    lines.iter().map(line).chain(std::iter::once_with(|| What::Exit { code: exit }.line())).collect()
}

fn slowdown(sample: &Sample, samples: &[Sample]) -> Option<f64> {
    // The first ten batches are all a baseline looks at.
    let early = &samples[..samples.len().min(20)];
    Baseline::slowdown(&baseline(early)?, sample)
}

/// Curves by the word of their outcome.
fn outcomes(record: &RunRecord) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for curve in &record.curves {
        let word = serde_json::to_value(&curve.outcome).ok();
        let word = word.as_ref().and_then(|outcome| outcome.get("state")).and_then(|state| state.as_str());
        *counts.entry(word.unwrap_or("unknown").to_owned()).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_an_object_with_a_version() {
        let mut out = Vec::new();
        let mut reporter = JsonLines::new(&mut out);
        reporter.report(&Event::Note("a \"word\"\nand a line"));
        let mut curve = CurveRecord { curve: "c".into(), ..CurveRecord::default() };
        curve.outcome = Outcome::Stopped { rule: "--min-rate 5".into(), figures: "3 rows/s".into() };
        reporter.report(&Event::CurveEnded { curve: &curve });
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let events: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
        assert_eq!(events, ["note", "stop", "curve-finished"]);
        assert!(lines.iter().all(|line| line["v"] == 1 && line["at"].is_string()));
        assert_eq!(lines[0]["text"], "a \"word\"\nand a line");
        assert_eq!(lines[2]["outcome"]["state"], "stopped");
    }

    #[test]
    fn an_iteration_of_a_probe_is_its_line_by_column() {
        let mut out = Vec::new();
        let line = ProbeLine { curve: "c".into(), probe: "oltp".into(), iteration: 2, ops: 9, ..ProbeLine::default() };
        JsonLines::new(&mut out).probe(&line);
        let found: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(
            (&found["v"], &found["event"], &found["curve"], &found["name"]),
            (&1.into(), &"probe".into(), &"c".into(), &"c".into())
        );
        assert_eq!((&found["probe"]["probe"], &found["probe"]["ops"]), (&"oltp".into(), &9.into()));
        assert!(found["probe"]["p99_us"].is_null() && found["at"].is_string());
    }

    #[test]
    fn the_end_of_a_command_is_lines_of_the_same_shape() {
        let lines = closing(&["error: --rows: no".into(), "table t is kept".into()], 2);
        let lines: Vec<serde_json::Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&lines[0]["event"], &lines[0]["text"]), (&"error".into(), &"--rows: no".into()));
        assert_eq!(lines[1]["event"], "note");
        assert_eq!((&lines[2]["event"], &lines[2]["code"]), (&"exit".into(), &2.into()));
    }

    #[test]
    fn a_reader_that_went_away_ends_nothing() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        JsonLines::new(Closed).report(&Event::Note("nobody listens"));
    }
}
