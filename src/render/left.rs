//! What a run will still take, as a whole: batches of all curves, probes that are still to come, curves that have not begun.

use crate::analyse::{Left, left};
use crate::plan::{ProbePlan, Sizes};
use crate::record::{CurveRecord, Outcome, RunRecord, RunState, Sample};
use crate::units::human_seconds;

/// Beyond this a figure in days tells nobody anything.
const NO_END_SECONDS: f64 = 365.0 * 86_400.0;

/// A time that is still to pass, in words.
pub fn words(left: Left) -> String {
    let (low, high) = (human_seconds(left.low), human_seconds(left.high));
    if left.low > NO_END_SECONDS {
        "no end in sight at this speed".into()
    } else if left.open && left.low <= 0.0 {
        "unknown yet".into()
    } else if left.open {
        format!("at least {low}")
    } else if left.high > NO_END_SECONDS {
        format!("{low} or more")
    } else if left.high > left.low * 1.1 {
        format!("{low} to {high}")
    } else {
        format!("about {high}")
    }
}

/// A time that is still to pass, for scripts.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct LeftLine {
    /// The least, in seconds.
    low: Option<f64>,
    /// The most, if the trend goes on.
    high: Option<f64>,
    /// Whether it may take longer than that.
    at_least: bool,
}

impl From<Option<Left>> for LeftLine {
    fn from(left: Option<Left>) -> Self {
        let known = left.filter(|left| left.low > 0.0 || !left.open);
        Self {
            low: known.map(|left| left.low),
            high: known.map(|left| left.high),
            at_least: left.is_none_or(|left| left.open),
        }
    }
}

/// One curve of the run.
#[derive(Debug)]
struct Part {
    curve: String,
    /// Its labels without the repeat: a repeat takes what those before it took.
    cell: CurveRecord,
    sizes: Option<Sizes>,
    batches: u64,
    is_over: bool,
    left: Option<Left>,
    /// Seconds of all its batches and gaps, once it is whole.
    whole_seconds: Option<f64>,
}

/// Where all curves of a run stand.
#[derive(Debug, Default)]
pub struct RunLeft {
    parts: Vec<Part>,
    probes: Option<ProbePlan>,
}

impl RunLeft {
    /// From the record of a run; the samples that there are come with [`Self::take`].
    pub fn of(record: &RunRecord) -> Self {
        let field = |value: Option<&serde_json::Value>| value.filter(|value| !value.is_null()).cloned();
        let probes = field(record.plan.get("probe")).and_then(|probe| serde_json::from_value(probe).ok());
        let sizes = |index: usize| {
            let sizes = field(record.plan.get("curves")?.get(index)?.get("sizes"))?;
            serde_json::from_value::<Sizes>(sizes).ok().filter(|sizes| sizes.batch_rows > 0)
        };
        let parts = record.curves.iter().enumerate().map(|(index, curve)| Part {
            curve: curve.curve.clone(),
            cell: cell(curve),
            sizes: sizes(index),
            batches: curve.batches,
            is_over: is_over(&curve.outcome, record),
            left: None,
            whole_seconds: None,
        });
        Self { parts: parts.collect(), probes }
    }

    /// Takes the samples of a curve.
    pub fn take(&mut self, curve: &str, samples: &[Sample]) {
        let probes = self.probes.clone();
        let (Some(part), Some(last)) = (self.part(curve), samples.last()) else { return };
        part.batches = last.batch;
        let Some(sizes) = part.sizes else { return };
        let runs_after = |batch: &u64| probes.as_ref().is_some_and(|probe| probe.runs_after(*batch, sizes));
        let to_come = (last.batch..=sizes.batches()).filter(runs_after).count() as u64;
        part.left = left(samples, sizes.batches(), to_come);
        if last.batch >= sizes.batches() {
            let seconds = |sample: &Sample| sample.seconds + sample.gap_seconds.unwrap_or(0.0);
            part.whole_seconds = Some(samples.iter().map(seconds).sum());
        }
    }

    /// A curve has ended.
    pub fn end(&mut self, curve: &str) {
        if let Some(part) = self.part(curve) {
            part.is_over = true;
        }
    }

    /// Batches that are recorded, and all that are recorded or still to come.
    pub fn batches(&self) -> (u64, u64) {
        let planned = |part: &Part| match part.sizes {
            Some(sizes) if !part.is_over => sizes.batches().max(part.batches),
            _ => part.batches,
        };
        (self.parts.iter().map(|part| part.batches).sum(), self.parts.iter().map(planned).sum())
    }

    /// What one curve will still take; `None` where it has no batch yet.
    pub fn of_curve(&self, curve: &str) -> Option<Left> {
        self.parts.iter().find(|part| part.curve == curve)?.left
    }

    /// What the run will still take.
    pub fn of_run(&self) -> Left {
        let unknown = Left { open: true, ..Left::default() };
        let open = self.parts.iter().filter(|part| !part.is_over);
        open.map(|part| part.left.or_else(|| self.as_its_repeats(part)).unwrap_or(unknown))
            .fold(Left::default(), Left::plus)
    }

    /// What a curve without a batch will take, where the same cell was loaded before.
    fn as_its_repeats(&self, part: &Part) -> Option<Left> {
        let before = self.parts.iter().filter(|other| other.cell == part.cell && other.sizes == part.sizes);
        let seconds: Vec<f64> = before.filter_map(|other| other.whole_seconds).collect();
        let low = seconds.iter().copied().reduce(f64::min)?;
        Some(Left { low, high: seconds.iter().copied().fold(low, f64::max), open: false })
    }

    fn part(&mut self, curve: &str) -> Option<&mut Part> {
        self.parts.iter_mut().find(|part| part.curve == curve)
    }
}

/// The labels that repeats share.
fn cell(curve: &CurveRecord) -> CurveRecord {
    CurveRecord {
        target: curve.target.clone(),
        engine: curve.engine.clone(),
        key: curve.key.clone(),
        flush: curve.flush.clone(),
        settings: curve.settings.clone(),
        method: curve.method.clone(),
        connections: curve.connections,
        ..CurveRecord::default()
    }
}

/// Whether nothing more of a curve is loaded, by this process or by one that goes on with the run.
fn is_over(outcome: &Outcome, record: &RunRecord) -> bool {
    match outcome {
        Outcome::Running | Outcome::Interrupted => false,
        Outcome::NotStarted => record.state == RunState::Finished,
        // A run that goes on loads it again.
        Outcome::Failed { .. } => record.state != RunState::Running || record.resumed_by.is_empty(),
        Outcome::Completed | Outcome::Stopped { .. } | Outcome::Full { .. } | Outcome::Skipped { .. } => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Environment;

    fn run(curves: &[(&str, u32)]) -> RunRecord {
        let entry = |&(key, repeat): &(&str, u32)| CurveRecord {
            curve: format!("{key}#{repeat}"),
            key: key.into(),
            repeat,
            ..CurveRecord::default()
        };
        let sizes =
            serde_json::json!({"sizes": {"rows": 100, "batch_rows": 10, "statement_rows": 1, "commit_rows": 1}});
        RunRecord {
            format_version: 1,
            program_version: "1".into(),
            build_profile: "release".into(),
            run_id: "id".into(),
            command_line: Vec::new(),
            started_at: "then".into(),
            finished_at: None,
            state: RunState::Running,
            process_id: None,
            resumed_by: Vec::new(),
            plan: serde_json::json!({"curves": vec![sizes; curves.len()]}),
            environment: Environment::default(),
            targets: std::collections::BTreeMap::new(),
            curves: curves.iter().map(entry).collect(),
        }
    }

    fn samples(batches: u64) -> Vec<Sample> {
        (1..=batches).map(|batch| Sample { batch, rows: 10, seconds: 2.0, ..Sample::default() }).collect()
    }

    #[test]
    fn a_cell_without_a_batch_leaves_the_run_open_and_a_repeat_takes_what_it_took() {
        let mut run_left = RunLeft::of(&run(&[("a", 1), ("b", 1), ("a", 2)]));
        assert_eq!((words(run_left.of_run()), run_left.batches()), ("unknown yet".into(), (0, 30)));
        run_left.take("a#1", &samples(4));
        assert_eq!((run_left.of_run(), run_left.batches()), (Left { low: 12.0, high: 12.0, open: true }, (4, 30)));
        run_left.take("a#1", &samples(10));
        run_left.end("a#1");
        // The other repeat takes 20 s; of b nothing is known.
        assert_eq!(run_left.of_run(), Left { low: 20.0, high: 20.0, open: true });
        run_left.take("b#1", &samples(5));
        assert_eq!((run_left.of_run(), run_left.batches()), (Left { low: 30.0, high: 30.0, open: false }, (15, 30)));
        // One that is stopped early takes no more batches.
        run_left.end("b#1");
        assert_eq!((run_left.of_run().low, run_left.batches()), (20.0, (15, 25)));
    }

    #[test]
    fn a_run_that_goes_on_counts_from_the_start() {
        let mut record = run(&[("a", 1), ("b", 1)]);
        record.curves[0].batches = 10;
        record.curves[0].outcome = Outcome::Completed;
        let mut run_left = RunLeft::of(&record);
        assert_eq!(run_left.batches(), (10, 20));
        run_left.take("b#1", &samples(7));
        assert_eq!(run_left.batches(), (17, 20));
    }

    #[test]
    fn a_time_is_said_as_surely_as_it_is_known() {
        let said = |low, high, open| words(Left { low, high, open });
        assert_eq!(said(12.0, 12.0, false), "about 12.0 s");
        assert_eq!(said(12.0, 40.0, false), "12.0 s to 40.0 s");
        assert_eq!(said(12.0, 40.0, true), "at least 12.0 s");
        assert_eq!(said(5.2e9, 6e9, false), "no end in sight at this speed");
        assert_eq!(said(12.0, 5.2e9, false), "12.0 s or more");
    }
}
