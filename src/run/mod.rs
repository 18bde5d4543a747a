//! The run: every curve of a plan, one after the other, each batch encoded, timed, checked, recorded.
//!
//! Nothing here prints; what happens goes to a [`Reporter`] as [`Event`]s.

pub mod batch;
pub mod boundary;
pub mod clock;
pub mod constraint;
pub mod control_batch;
pub mod curve;
mod curve_run;
pub mod directory;
pub mod disk;
pub mod endpoints;
pub mod failed_start;
pub mod interrupt;
pub mod journal;
pub mod last_word;
pub mod loading;
pub mod moved;
pub mod probes;
pub mod pulse;
pub mod rehearsal;
pub mod resume;
pub mod seconds;
pub mod stop;
pub mod trial;
pub mod trial_values;
pub mod verify;
pub mod warden;
pub mod workers;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub use clock::{Clock, SystemClock};
pub use directory::RunDirectory;
pub use interrupt::Interrupt;
pub use pulse::Disturbances;
pub use resume::Past;
use warden::How;
pub use warden::Warden;

use crate::error::{Error, exit};
use crate::observe::{advice, environment};
use crate::plan::{CurvePlan, Plan};
use crate::record::event::{Event, Reporter};
use crate::record::run::{FORMAT_VERSION, ResumedBy, TargetRecord};
use crate::record::{CurveRecord, Environment, Outcome, RunRecord, RunState};
use crate::targets::{Target, Verdict};
use rehearsal::Tried;
use stop::Firing;

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The record as saved last.
    pub record: RunRecord,
    /// Errors beside the curves' own: a restore that failed.
    pub errors: Vec<String>,
    /// Whether a cell that the environment prevented counts as a failure.
    pub strict: bool,
}

impl Summary {
    /// The exit code, by precedence: interrupted, failed, stopped, done. What is read from the curves
    /// (`--fail-on-cliff`) comes after all of them.
    pub fn exit_code(&self) -> u8 {
        let outcomes = || self.record.curves.iter().map(|curve| &curve.outcome);
        let any = |test: fn(&Outcome) -> bool| outcomes().any(test);
        if self.record.state == RunState::Interrupted {
            return exit::INTERRUPTED;
        }
        let nothing_ran = outcomes().all(|outcome| matches!(outcome, Outcome::Skipped { .. }));
        let prevented = any(|outcome| matches!(outcome, Outcome::Skipped { environment: true, .. }));
        if !self.errors.is_empty()
            || self.record.state == RunState::Failed
            || nothing_ran
            || self.strict && prevented
            || any(|outcome| matches!(outcome, Outcome::Failed { .. }))
        {
            return exit::FAILED;
        }
        if any(|outcome| matches!(outcome, Outcome::Stopped { .. } | Outcome::Full { .. })) {
            return exit::STOPPED;
        }
        exit::OK
    }
}

/// What a run works with.
pub struct Runner<'a> {
    /// What is to be done.
    pub plan: &'a Plan,
    /// The targets, in the order of the plan.
    pub targets: Vec<Box<dyn Target>>,
    /// The clock of the measurement.
    pub clock: Arc<dyn Clock>,
    /// Whether somebody asked to end.
    pub interrupt: Interrupt,
    /// Where it is recorded.
    pub directory: RunDirectory,
    pub reporter: &'a mut dyn Reporter,
    pub environment: Environment,
    /// The command line, secrets masked.
    pub command_line: Vec<String>,
    /// Marks the tables.
    pub run_id: String,
    /// The clock at the start of the run.
    pub started: Duration,
    /// What watches over work between batches.
    pub warden: Warden,
    /// What an earlier process left of it, when this one goes on.
    pub past: Option<Arc<Past>>,
    /// Probes that the trial of a cell has shown to be impossible, with the reason, by the name of the cell.
    pub left_out: BTreeMap<String, BTreeMap<String, String>>,
}

impl Runner<'_> {
    /// Runs the plan to its end, or to what ends it.
    ///
    /// # Errors
    /// No target can be reached, or results cannot be saved. What was recorded before stays whole.
    pub fn execute(mut self) -> Result<Summary, Error> {
        let mut record = match &self.past {
            Some(past) => self.old_record(past),
            None => self.new_record(),
        };
        last_word::forget(&self.run_id);
        self.warden
            .begin_run(self.started, self.past.as_ref().map_or_else(Default::default, |past| past.spent_in_run()));
        let result = self.run_plan(&mut record);
        // Whatever happened, what was changed is put back before anything else can fail.
        let mut errors = Vec::new();
        for index in 0..self.targets.len() {
            errors.extend(self.finish_target(index));
        }
        record.finished_at = Some(self.clock.wall());
        record.state = match &result {
            Err(_) => RunState::Failed,
            Ok(()) if self.interrupt.is_asked() => RunState::Interrupted,
            Ok(()) => RunState::Finished,
        };
        let saved = self.directory.save(&record);
        self.reporter.report(&Event::Finished { record: &record });
        if let Err(first) = result.and(saved) {
            last_word::leave_why_it_failed(&self.run_id, &first.to_string());
            return Err(match errors.is_empty() {
                true => first,
                false => Error::Unrestored { first: Box::new(first), unrestored: errors.join("\n") },
            });
        }
        Ok(Summary { record, errors, strict: self.plan.strict })
    }

    fn new_record(&self) -> RunRecord {
        RunRecord {
            format_version: FORMAT_VERSION,
            program_version: env!("CARGO_PKG_VERSION").into(),
            build_profile: if cfg!(debug_assertions) { "debug" } else { "release" }.into(),
            run_id: self.run_id.clone(),
            command_line: self.command_line.clone(),
            started_at: self.clock.wall(),
            finished_at: None,
            state: RunState::Running,
            process_id: Some(std::process::id()),
            resumed_by: Vec::new(),
            plan: serde_json::to_value(self.plan).unwrap_or_default(),
            environment: self.environment.clone(),
            targets: BTreeMap::new(),
            curves: self.plan.curves.iter().map(new_curve_record).collect(),
        }
    }

    /// The record of a run that goes on.
    fn old_record(&self, past: &Past) -> RunRecord {
        let mut record = past.record.clone();
        record.state = RunState::Running;
        record.finished_at = None;
        record.process_id = Some(std::process::id());
        record.resumed_by.push(ResumedBy { at: self.clock.wall(), command_line: self.command_line.clone() });
        for curve in record.curves.iter_mut().filter(|curve| past.is_open(curve)) {
            let was_tried_only = matches!(curve.outcome, Outcome::Skipped { .. });
            if curve.table.is_some() && !was_tried_only {
                continue;
            }
            // Tried again as if for the first time: what was missing may be there now.
            curve.outcome = Outcome::NotStarted;
        }
        record
    }

    /// Whether a curve has something left to do.
    fn is_open(&self, curve: &CurveRecord) -> bool {
        self.past.as_ref().is_none_or(|past| {
            past.record.curves.iter().any(|before| before.curve == curve.curve && past.is_open(before))
        })
    }

    fn run_plan(&mut self, record: &mut RunRecord) -> Result<(), Error> {
        self.directory.save(record)?;
        let unreachable = self.describe_targets(record)?;
        self.try_matrix(record, &unreachable)?;
        self.survey(record);
        self.directory.save(record)?;
        self.reporter.report(&Event::Started { record, directory: self.directory.path() });
        for index in 0..self.plan.curves.len() {
            if self.warden.over().is_some() {
                break;
            }
            let entry = &record.curves[index];
            let is_decided = matches!(entry.outcome, Outcome::Skipped { .. } | Outcome::Stopped { .. });
            if is_decided || !self.is_open(entry) {
                continue;
            }
            curve::run(self, record, index)?;
            let stopped = matches!(record.curves[index].outcome, Outcome::Stopped { .. });
            if stopped && self.stop_ends_run(&record.curves[index]) {
                break;
            }
        }
        Ok(())
    }

    /// Looks at where the data will be, and says what would spoil the run.
    fn survey(&mut self, record: &mut RunRecord) {
        environment::survey(&mut record.environment, self.plan, &record.targets, self.directory.path());
        for warning in advice::warnings(self.plan, record) {
            self.reporter.report(&Event::Note(&warning));
            if !record.environment.notes.contains(&warning) {
                record.environment.notes.push(warning);
            }
        }
    }

    /// Whether a curve that a rule stopped is the last one.
    fn stop_ends_run(&self, curve: &CurveRecord) -> bool {
        let run_is_over =
            matches!(&curve.outcome, Outcome::Stopped { rule, .. } if rule.starts_with("--max-run-duration"));
        self.plan.stop.stop_ends_run || run_is_over
    }

    /// Asks every target what it is. Gives the reasons of those that do not answer, unless none does.
    fn describe_targets(&mut self, record: &mut RunRecord) -> Result<BTreeMap<usize, String>, Error> {
        let mut unreachable = BTreeMap::new();
        let mut last_error = None;
        for (index, target) in self.targets.iter_mut().enumerate() {
            let label = self.plan.targets[index].label.clone();
            self.warden.begin(target.reins(), Duration::ZERO);
            let what = format!("reaching {label}");
            let described = self.warden.wait(self.reporter, (&what, How::Work), || Ok(target.describe()));
            let next = "rowcliff check with the same options only connects and reads";
            match described.unwrap_or_else(|ended| Err(Error::target(&label, ended.to_string(), next))) {
                Ok(facts) => {
                    record.targets.insert(label, facts);
                }
                Err(error) => {
                    unreachable.insert(index, error.to_string());
                    last_error = Some(error);
                    record.targets.insert(label, TargetRecord::default());
                }
            }
        }
        match last_error {
            // Whoever asked the run to end knows why nothing was reached.
            Some(error) if unreachable.len() == self.targets.len() && !self.interrupt.is_asked() => Err(error),
            _ => Ok(unreachable),
        }
    }

    /// Tries every cell once before anything is timed, so that an impossible one is known in the first seconds.
    fn try_matrix(&mut self, record: &mut RunRecord, unreachable: &BTreeMap<usize, String>) -> Result<(), Error> {
        let mut verdicts: BTreeMap<String, Tried> = BTreeMap::new();
        let mut kept_bytes = 0;
        for index in self.trial_order() {
            if self.interrupt.is_asked() {
                break;
            }
            // A curve that had begun has passed its trial.
            if record.curves[index].outcome != Outcome::NotStarted {
                continue;
            }
            let curve = &self.plan.curves[index];
            // All repeats of a cell share one trial.
            let identity = curve.cell_name().to_owned();
            let tried = match verdicts.get(&identity) {
                Some(tried) => tried.clone(),
                None => {
                    let mut trial = rehearsal::Trial {
                        plan: self.plan,
                        run_id: &self.run_id,
                        directory: self.directory.path(),
                        data_home: self.directory.path(),
                        kept_bytes,
                        warden: &mut self.warden,
                        reporter: &mut *self.reporter,
                    };
                    let target = self.targets[curve.cell.target].as_mut();
                    let tried = trial.cell(curve, target, unreachable.get(&curve.cell.target))?;
                    if !tried.left_out.is_empty() {
                        self.left_out.insert(identity.clone(), tried.left_out.clone());
                    }
                    if self.plan.keep {
                        kept_bytes = kept_bytes.saturating_add(tried.estimated_bytes.unwrap_or(0));
                    }
                    verdicts.insert(identity.clone(), tried.clone());
                    // One trial's table has one name.
                    record.curves[index].table.clone_from(&tried.left);
                    tried
                }
            };
            let entry = &mut record.curves[index];
            if let Some(Firing { rule, figures }) = tried.stopped {
                entry.outcome = Outcome::Stopped { rule, figures };
                continue;
            }
            if let Some(left_out) = self.left_out.get(&identity) {
                entry.probes_left_out.clone_from(left_out);
                entry.notes.extend(left_out.iter().map(|(probe, why)| format!("the probe {probe} is left out: {why}")));
            }
            match tried.verdict {
                Verdict::Runs { notes } => entry.notes.extend(notes),
                Verdict::Unable { why } => entry.outcome = Outcome::Skipped { why, environment: false },
                Verdict::Prevented { why } => entry.outcome = Outcome::Skipped { why, environment: true },
            }
        }
        for target in &mut self.targets {
            target.trials_done();
        }
        Ok(())
    }

    /// The curves in an order in which those that can share a trial's server come one after the other.
    fn trial_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.plan.curves.len()).collect();
        order.sort_by_key(|&index| {
            let curve = &self.plan.curves[index];
            (curve.cell.target, self.targets[curve.cell.target].trial_group(curve))
        });
        order
    }

    /// Puts back what was changed on a target, and ends what was started for it. Gives what went wrong.
    fn finish_target(&mut self, index: usize) -> Option<String> {
        let target = &mut self.targets[index];
        self.warden.hold(target.reins());
        let what = format!("putting {} back as it was", self.plan.targets[index].label);
        let finished = self.warden.wait(self.reporter, (&what, How::Closing), || Ok(target.finish()));
        match finished {
            Ok(finished) => finished.err().map(|error| error.to_string()),
            Err(ended) => Some(format!("{ended}; what is left is put back by `rowcliff restore`")),
        }
    }
}

/// The name of a curve's table: safe in an identifier, short enough for every server.
pub fn table_name(run_id: &str, number: usize) -> String {
    format!("rowcliff_{run_id}_{number}")
}

/// The mark in a table's comment, by which rowcliff knows its own.
pub fn mark(run_id: &str, number: usize) -> String {
    format!("rowcliff run={run_id} curve={number}")
}

/// A run's id: sortable by time, unique on a server, safe in an identifier.
pub fn new_run_id() -> String {
    let now = jiff::Timestamp::now();
    let stamp: String = now.to_string().chars().filter(char::is_ascii_digit).take(14).collect();
    // Two runs that start in one second on one server differ by process and nanosecond.
    let salt = (now.as_nanosecond() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(std::process::id());
    format!("{stamp}_{:04x}", salt >> 48)
}

/// The record of a curve before anything is known but its plan.
pub fn new_curve_record(curve: &CurvePlan) -> CurveRecord {
    let cell = &curve.cell;
    CurveRecord {
        curve: curve.name.clone(),
        target: cell.target_label.clone(),
        engine: cell.engine.clone(),
        key: cell.key.to_string(),
        flush: cell.flush.to_string(),
        settings: cell.settings_label(),
        method: cell.method.to_string(),
        connections: cell.connections,
        statement_rows: curve.sizes.statement_rows,
        commit_rows: curve.sizes.commit_rows,
        repeat: curve.repeat,
        counter_roles: cell.engine_entry.counters.roles(),
        ..CurveRecord::default()
    }
}
