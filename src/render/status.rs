//! Where a run stands: what `rowcliff status` says, for people and for scripts.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::left::{self, LeftLine, RunLeft};
use super::show::outcome_word;
use crate::analyse::{Factor, Left};
use crate::reading::names::record_names;
use crate::record::{CurveRecord, Outcome, RunRecord, RunState, Sample};
use crate::units::{grouped, human_rate, human_seconds};

/// Version of the shape of `status --json`.
const SHAPE: u32 = 1;

/// What was seen beside the files of a run.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Whether somebody holds the run's lock.
    pub is_locked: bool,
    /// The machine that looks.
    pub host: Option<String>,
    /// How long ago something was written.
    pub seconds_since_written: Option<f64>,
    /// Since when the target has acknowledged nothing, in seconds, where the run says so.
    pub silent_seconds: Option<f64>,
    /// What the state directory says of its end.
    pub ended_because: Option<String>,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// Version of this shape.
    pub v: u32,
    pub run_id: String,
    /// Its directory, as it was named.
    pub directory: String,
    /// `running`, `finished`, `interrupted`, `failed`, `died` (it ended without a word) or `unknown` (it is written on another
    /// machine, and whether it still is cannot be seen from here).
    pub state: &'static str,
    /// Whether `rowcliff resume` has something to do.
    #[serde(skip)]
    can_go_on: bool,
    /// Where it runs, or ran.
    pub host: Option<String>,
    /// The process that writes it, or wrote it last.
    pub process_id: Option<u32>,
    /// Start, UTC.
    pub started_at: String,
    /// End, UTC.
    pub finished_at: Option<String>,
    /// How long ago something was written.
    pub seconds_since_written: Option<f64>,
    /// Curves by what became of them.
    pub curves: BTreeMap<&'static str, u64>,
    /// The curve that is being loaded, or was when the run ended.
    pub current: Option<Current>,
    /// Batches of all curves that are recorded.
    pub run_batches: u64,
    /// The same with those that are still to come.
    pub run_batches_planned: u64,
    /// What the whole run will still take; null where nothing is to come.
    pub run_seconds_left: Option<LeftLine>,
    #[serde(skip)]
    run_left: Option<Left>,
    /// How long the target has acknowledged nothing, where that is a minute and more.
    pub silent_seconds: Option<f64>,
    /// The error that ended the run, as the state directory of the user tells it: its own directory may have been full.
    pub ended_because: Option<String>,
}

/// The curve in work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Current {
    pub curve: String,
    /// Its name as far as it tells it from the others.
    #[serde(skip)]
    pub short_name: String,
    /// Its number, from 1.
    pub number: usize,
    /// Curves of the run.
    pub of: usize,
    /// Start, UTC.
    pub started_at: Option<String>,
    pub batches: u64,
    /// Batches it is to have; `None` when the plan does not tell.
    pub batches_planned: Option<u64>,
    /// Rows in the table after the last whole batch.
    pub table_rows: u64,
    /// Speed of the last batch.
    pub inserts_per_sec: Option<f64>,
    /// How many times slower the last three batches are than the baseline; see [`Factor`].
    pub slowdown: Option<f64>,
    /// The least that the curve will still take.
    pub seconds_left_low: Option<f64>,
    /// The most, if it goes on getting slower as it does.
    pub seconds_left_high: Option<f64>,
    /// Whether it may take longer than that.
    pub seconds_left_at_least: bool,
    #[serde(skip)]
    left: Option<Left>,
}

/// Several runs as one array.
pub fn json_of(several: &[Status]) -> String {
    let mut text = serde_json::to_string_pretty(several).unwrap_or_default();
    text.push('\n');
    text
}

impl Status {
    /// From the files of a run, and what else was seen.
    pub fn of(directory: &Path, record: &RunRecord, samples: &[Sample], seen: &Seen) -> Self {
        let elsewhere = match (&record.environment.host, &seen.host) {
            (Some(there), Some(here)) => there != here,
            _ => false,
        };
        let state = match record.state {
            _ if seen.is_locked => "running",
            RunState::Finished => "finished",
            RunState::Interrupted => "interrupted",
            RunState::Failed => "failed",
            // Its own directory could not take the end of it any more.
            RunState::Running if seen.ended_because.is_some() => "failed",
            RunState::Running if elsewhere => "unknown",
            RunState::Running => "died",
        };
        let mut curves: BTreeMap<&'static str, u64> = BTreeMap::new();
        for curve in &record.curves {
            *curves.entry(word(&curve.outcome)).or_default() += 1;
        }
        let mut all = RunLeft::of(record);
        for curve in &record.curves {
            let own: Vec<Sample> = samples.iter().filter(|sample| sample.curve == curve.curve).cloned().collect();
            all.take(&curve.curve, &own);
        }
        let silent_seconds = seen.silent_seconds.filter(|_| state == "running");
        // What has been waited for in vain is a part of what the next batch takes.
        let waited = silent_seconds.map(|low| Left { low, high: low, open: true });
        let longer = |left: Left| waited.map_or(left, |waited| left.plus(waited));
        let (run_batches, run_batches_planned) = all.batches();
        let run_left = (run_batches < run_batches_planned).then(|| longer(all.of_run()));
        Self {
            run_batches,
            run_batches_planned,
            run_seconds_left: run_left.map(|left| Some(left).into()),
            run_left,
            silent_seconds,
            ended_because: seen.ended_because.clone().filter(|_| state == "failed"),
            can_go_on: record.curves.is_empty() || record.curves.iter().any(|curve| curve.is_open(record.state)),
            v: SHAPE,
            run_id: record.run_id.clone(),
            directory: directory.display().to_string(),
            state,
            host: record.environment.host.clone(),
            process_id: record.process_id,
            started_at: record.started_at.clone(),
            finished_at: record.finished_at.clone(),
            seconds_since_written: seen.seconds_since_written,
            curves,
            current: current(record, samples, |curve| all.of_curve(curve).map(longer)),
        }
    }

    /// One JSON object, with a line end.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    pub fn text(&self) -> String {
        let mut lines = vec![format!("run      {}, {}", self.run_id, self.state_words())];
        let host = self.host.as_deref().unwrap_or("an unknown machine");
        let process = self.process_id.map_or_else(String::new, |id| format!(", process {id}"));
        lines.push(format!("where    {} on {host}{process}", self.directory));
        let end = self.finished_at.as_ref().map_or_else(String::new, |end| format!(", ended {end}"));
        lines.push(format!("since    {}{end}", self.started_at));
        let written = self.seconds_since_written.map_or_else(|| "-".into(), human_seconds);
        lines.push(format!("written  {written} ago"));
        let counts: Vec<String> = self.curves.iter().map(|(word, count)| format!("{count} {word}")).collect();
        lines.push(format!("curves   {}", counts.join(", ")));
        if let Some(current) = &self.current {
            lines.extend(current.lines());
        }
        if let Some(left) = self.run_left {
            let batches = format!("{} of {} batches", grouped(self.run_batches), grouped(self.run_batches_planned));
            lines.push(format!("all      {batches}; left: {}", left::words(left)));
        }
        if let Some(silent) = self.silent_seconds {
            lines.push(format!("silent   the target has acknowledged nothing for {}", human_seconds(silent)));
        }
        if let Some(why) = &self.ended_because {
            lines.push(format!("ended    {why}"));
        }
        lines.into_iter().map(|line| line + "\n").collect()
    }

    fn state_words(&self) -> String {
        match self.state {
            "died" | "interrupted" | "failed" if !self.can_go_on => {
                format!("{}; no curve of it can be gone on with: rowcliff show {} says why", self.state, self.directory)
            }
            "died" => format!(
                "ended without a word (killed, or the machine went down); rowcliff resume {} goes on with it",
                self.directory
            ),
            "unknown" => {
                "whether it still runs cannot be seen from this machine: see when something was written".into()
            }
            "interrupted" | "failed" => format!("{}; rowcliff resume {} goes on with it", self.state, self.directory),
            other => other.into(),
        }
    }
}

impl Current {
    fn lines(&self) -> Vec<String> {
        let planned = self.batches_planned.map_or_else(String::new, |planned| format!(" of {}", grouped(planned)));
        let mut figures =
            vec![format!("batch {}{planned}", grouped(self.batches)), format!("{} rows", grouped(self.table_rows))];
        figures.extend(self.inserts_per_sec.map(|rate| format!("{} rows/s", human_rate(rate))));
        figures.extend(self.slowdown.map(|slowdown| format!("{slowdown:.2} times the cost of its baseline")));
        let mut lines = vec![
            format!("curve    {} of {}: {}", self.number, self.of, self.short_name),
            format!("         {}", figures.join(", ")),
        ];
        lines.extend(self.started_at.as_ref().map(|since| format!("         since {since}")));
        if let Some(left) = self.left.filter(|left| left.high > 0.0 || left.open) {
            lines.push(format!("left     {} for this curve", left::words(left)));
        }
        lines
    }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Running => "running",
        other => outcome_word(other),
    }
}

fn current(record: &RunRecord, samples: &[Sample], left: impl Fn(&str) -> Option<Left>) -> Option<Current> {
    let is_current = |curve: &CurveRecord| matches!(curve.outcome, Outcome::Running | Outcome::Interrupted);
    let index = record.curves.iter().position(is_current)?;
    let curve = &record.curves[index];
    let own: Vec<Sample> = samples.iter().filter(|sample| sample.curve == curve.curve).cloned().collect();
    let last = own.last();
    let planned = planned_batches(record, index);
    let left = left(&curve.curve);
    Some(Current {
        curve: curve.curve.clone(),
        short_name: record_names(&record.curves).into_iter().nth(index).unwrap_or_default(),
        number: index + 1,
        of: record.curves.len(),
        started_at: curve.started_at.clone(),
        batches: last.map_or(0, |last| last.batch),
        batches_planned: planned,
        table_rows: last.map_or(0, |last| last.table_rows),
        inserts_per_sec: last.and_then(|last| last.inserts_per_sec),
        slowdown: Factor::of(&own).value,
        seconds_left_low: left.map(|left| left.low),
        seconds_left_high: left.map(|left| left.high),
        seconds_left_at_least: left.is_some_and(|left| left.open),
        left,
    })
}

fn planned_batches(record: &RunRecord, index: usize) -> Option<u64> {
    let sizes = record.plan.get("curves")?.get(index)?.get("sizes")?;
    let figure = |name: &str| sizes.get(name).and_then(serde_json::Value::as_u64);
    figure("rows")?.checked_div(figure("batch_rows")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Environment;

    fn run(state: RunState) -> RunRecord {
        let curve = |name: &str, outcome| CurveRecord { curve: name.into(), outcome, ..CurveRecord::default() };
        RunRecord {
            format_version: 1,
            program_version: "1".into(),
            build_profile: "release".into(),
            run_id: "id".into(),
            command_line: Vec::new(),
            started_at: "then".into(),
            finished_at: None,
            state,
            process_id: Some(7),
            resumed_by: Vec::new(),
            plan: serde_json::json!({"curves": [{}, {"sizes": {"rows": 100, "batch_rows": 10, "statement_rows": 1, "commit_rows": 1}}]}),
            environment: Environment { host: Some("there".into()), ..Environment::default() },
            targets: BTreeMap::new(),
            curves: vec![curve("a", Outcome::Completed), curve("b", Outcome::Running)],
        }
    }

    fn samples() -> Vec<Sample> {
        let sample = |batch| Sample {
            curve: "b".into(),
            batch,
            rows: 10,
            table_rows: batch * 10,
            seconds: 2.0,
            inserts_per_sec: Some(5.0),
            ..Sample::default()
        };
        (1..=4).map(sample).collect()
    }

    fn status(state: RunState, is_locked: bool, host: &str) -> Status {
        let seen = Seen { is_locked, host: Some(host.into()), seconds_since_written: Some(3.0), ..Seen::default() };
        Status::of(Path::new("dir"), &run(state), &samples(), &seen)
    }

    #[test]
    fn the_state_is_what_the_lock_and_the_record_say_together() {
        assert_eq!(status(RunState::Running, true, "there").state, "running");
        assert_eq!(status(RunState::Running, false, "there").state, "died");
        assert_eq!(status(RunState::Running, false, "here").state, "unknown");
        assert_eq!(status(RunState::Finished, false, "here").state, "finished");
        // A finished run that is being gone on with.
        assert_eq!(status(RunState::Failed, true, "there").state, "running");
    }

    #[test]
    fn a_run_whose_directory_could_not_take_its_end_did_not_end_without_a_word() {
        let why = Some("batches.csv: No space left on device".to_owned());
        let of = |is_locked| {
            let seen = Seen { is_locked, host: Some("there".into()), ended_because: why.clone(), ..Seen::default() };
            Status::of(Path::new("dir"), &run(RunState::Running), &samples(), &seen)
        };
        assert_eq!((of(false).state, &of(false).ended_because), ("failed", &why));
        assert!(
            of(false).text().contains("ended    batches.csv: No space left") && !of(false).text().contains("killed")
        );
        // It is being gone on with.
        assert_eq!((of(true).state, of(true).ended_because), ("running", None));
    }

    #[test]
    fn the_curve_in_work_has_its_figures_and_the_time_it_will_take() {
        let current = status(RunState::Running, true, "there").current.unwrap();
        assert_eq!((current.number, current.of, current.batches, current.batches_planned), (2, 2, 4, Some(10)));
        assert_eq!((current.table_rows, current.slowdown), (40, Some(1.0)));
        assert_eq!((current.seconds_left_low, current.seconds_left_high), (Some(12.0), Some(12.0)));
    }

    #[test]
    fn what_is_not_known_is_null_for_scripts() {
        let seen = Seen::default();
        let status = Status::of(Path::new("dir"), &run(RunState::Running), &[], &seen);
        let value: serde_json::Value = serde_json::from_str(&status.json()).unwrap();
        assert_eq!(value["v"], 1);
        assert_eq!(value["seconds_since_written"], serde_json::Value::Null);
        assert_eq!(value["current"]["inserts_per_sec"], serde_json::Value::Null);
        assert_eq!(value["current"]["batches"], 0);
        assert_eq!(value["curves"]["completed"], 1);
    }
}
