//! A curve while its batches are loaded: encode, send, check, record, ask.

use std::time::Duration;

use super::batch::Measured;
use super::boundary::Boundary;
use super::curve::Ready;
use super::journal::Line;
use super::loading::{
    Ended, Guard, Job, READING, disturbed, ended, pass_over, probe_anew, probes_run_after, read_boundary, sample, send,
    wake,
};
use super::moved::{Detail, complete};
use super::probes::{self, Point};
use super::resume::Start;
use super::stop::{Firing, Judge};
use super::warden::How;
use super::{Runner, disk, endpoints};
use crate::error::Error;
use crate::observe::Observer;
use crate::plan::CurvePlan;
use crate::plan::stop::StopRules;
use crate::record::event::Event;
use crate::record::run::PartialBatch;
use crate::record::{CurveRecord, Outcome, Sample};
use crate::targets::{Failure, Table};

/// Loads every batch of a curve that is not recorded yet.
///
/// # Errors
/// Results cannot be saved. Whatever else ends the curve is its outcome.
pub fn load_batches(
    runner: &mut Runner<'_>,
    entry: &mut CurveRecord,
    plan: &CurvePlan,
    table: &mut dyn Table,
    ready: &mut Ready,
    start: Start,
) -> Result<Ended, Error> {
    let rules = runner.plan.stop.clone();
    let observer = match observe(runner, table) {
        Ok(observer) => observer,
        Err(failure) => return Ok(ended(runner, &failure)),
    };
    let begin = start.samples.len() as u64 + 1;
    let mut run = CurveRun {
        runner,
        entry,
        plan,
        table,
        ready,
        judge: Judge::new(&rules),
        rules: &rules,
        observer,
        disk_watch: disk::Watch::default(),
        samples: start.samples,
        boundary: start.boundary,
        begin,
        word: start.word,
        last_end: None,
        is_after_probe: false,
    };
    run.take_up();
    if let Some(ended) = run.finish_probes()? {
        return Ok(ended);
    }
    for batch in begin..=plan.sizes.batches() {
        if let Some(ended) = run.batch(batch)? {
            return Ok(ended);
        }
    }
    Ok(Outcome::Completed.into())
}

/// Begins to watch what the server and the machine do.
fn observe(runner: &mut Runner<'_>, table: &mut dyn Table) -> Result<Observer, Failure> {
    let core_limit = runner.environment.cgroup_cpu_cores;
    let data = table.facts().data_directory.clone();
    let (counters, now) = (runner.plan.counters, runner.clock.now());
    runner.warden.on_table(runner.reporter, table, (READING, How::Work), |table| {
        Ok(Observer::start(table, counters, data, core_limit, now))
    })
}

/// What the loop of a curve works with.
struct CurveRun<'c, 'r> {
    runner: &'c mut Runner<'r>,
    entry: &'c mut CurveRecord,
    plan: &'c CurvePlan,
    table: &'c mut dyn Table,
    ready: &'c mut Ready,
    rules: &'c StopRules,
    judge: Judge<'c>,
    observer: Observer,
    disk_watch: disk::Watch,
    samples: Vec<Sample>,
    boundary: Boundary,
    /// The first batch that is loaded now.
    begin: u64,
    /// What its sample is marked with.
    word: Option<&'static str>,
    /// When the last timed section ended.
    last_end: Option<Duration>,
    is_after_probe: bool,
}

impl<'c> CurveRun<'c, '_> {
    /// Takes up what earlier processes recorded of the curve.
    fn take_up(&mut self) {
        for sample in &self.samples {
            // What fired then was acted on then.
            let _ = self.judge.batch(sample);
        }
        self.entry.batches = self.samples.len() as u64;
        self.entry.table_rows = self.boundary.table_rows;
        self.entry.load_seconds = self.samples.iter().map(|sample| sample.seconds).sum();
        self.entry.partial = None;
        let note = self.observer.note();
        self.note_once(note);
    }

    fn note_once(&mut self, note: Option<String>) {
        self.entry.notes.extend(note.filter(|note| !self.entry.notes.contains(note)));
    }

    /// What an earlier process left to be done of the probes after the last recorded batch.
    fn finish_probes(&mut self) -> Result<Option<Ended>, Error> {
        if self.runner.past.is_none() || self.runner.plan.probe.is_none() {
            return Ok(None);
        }
        let batch = self.begin - 1;
        let mut guard = self.guard();
        let point = Point { plan: self.plan, table: self.table, ready: self.ready, boundary: self.boundary, batch };
        let outcome = probe_anew(self.runner, self.entry, point, &mut guard)?;
        let is_after_probe = probes_run_after(self.runner, batch, self.plan.sizes);
        Ok(self.after_probes(outcome, is_after_probe))
    }

    /// One batch. What ends the curve with it is given.
    fn batch(&mut self, batch: u64) -> Result<Option<Ended>, Error> {
        if self.runner.interrupt.is_asked() {
            return Ok(Some(Outcome::Interrupted.into()));
        }
        if let Err(failure) = wake(self.runner, self.plan, self.table, self.ready) {
            return Ok(Some(ended(self.runner, &failure)));
        }
        let (measured, words) = match self.send(batch) {
            Ok(sent) => sent,
            Err(ended) => return Ok(Some(ended)),
        };
        match self.record(batch, &measured, &words)? {
            None => self.probe(batch),
            ended => Ok(ended),
        }
    }

    fn guard(&self) -> Guard<'c> {
        Guard::new(self.runner, self.rules, self.table.facts().data_directory.clone())
    }

    /// Encodes, sends and checks the rows of a batch. Gives the words for what happened meanwhile.
    fn send(&mut self, batch: u64) -> Result<(Measured, Vec<String>), Ended> {
        let sizes = self.plan.sizes;
        let mut guard = self.guard();
        let (before, lock_before) = (self.runner.clock.disturbances(), self.table.lock_waited());
        let mut job = Job {
            plan: self.plan,
            table: self.table,
            ready: self.ready,
            rows: (batch - 1) * sizes.batch_rows..batch * sizes.batch_rows,
            boundary: self.boundary,
            last_end: self.last_end,
            observer: &self.observer,
        };
        let (measured, again) = send(self.runner, &mut job, &mut guard).map_err(|unfinished| {
            self.entry.partial = unfinished.partial.map(|partial| PartialBatch { batch, ..partial });
            unfinished.ended
        })?;
        endpoints::note(self.entry, self.table, &*self.runner.clock);
        self.last_end = Some(measured.ended);
        let mut words: Vec<&str> = Vec::new();
        words.extend((batch == 1).then_some("first"));
        words.extend(self.word.filter(|_| batch == self.begin));
        words.extend((again > 0).then_some("retried"));
        words.extend(disturbed(before, self.runner.clock.disturbances()));
        words.extend((self.table.lock_waited() > lock_before).then_some("lock-waited"));
        words.extend(std::mem::take(&mut self.is_after_probe).then_some("after-probe"));
        words.extend(endpoints::word(self.entry));
        words.extend(self.table.facts().sample_notes.iter().map(String::as_str));
        let words = words.into_iter().map(str::to_owned).collect();
        Ok((measured, words))
    }

    /// Saves a batch with what else moved. What ends the curve with it is given.
    fn record(&mut self, batch: u64, measured: &Measured, words: &[String]) -> Result<Option<Ended>, Error> {
        let (plan, core_limit) = (self.plan, self.runner.environment.cgroup_cpu_cores);
        let mut sample = sample(self.entry, batch, plan.sizes.batch_rows, measured, words);
        let now = self.runner.clock.now();
        let (before, observer) = (self.samples.last(), &mut self.observer);
        let read = self.runner.warden.on_table(self.runner.reporter, self.table, (READING, How::Work), |table| {
            let detail = complete(&mut sample, measured, before, observer, table, core_limit, now);
            Ok((detail, read_boundary(table, plan, sample.table_rows)))
        });
        // What could not be read is missing; the batch is whole.
        let (detail, after) = read.unwrap_or_else(|ended| (Detail::default(), Err(ended)));
        self.note_once(measured.note.as_ref().map(|note| format!("the server noted: {note}")));
        if let Ok(boundary) = &after {
            self.runner.directory.note(&Line::Boundary { curve: plan.number, batch, boundary: *boundary })?;
        }
        self.runner.directory.append_detail(&detail)?;
        self.runner.directory.append(&sample)?;
        self.entry.batches = batch;
        self.entry.table_rows = sample.table_rows;
        self.entry.load_seconds += sample.seconds;
        let firing = self.judge.batch(&sample);
        self.samples.push(sample);
        self.tell();
        // A rule that fires on the last batch has nothing left to stop.
        if let Some(Firing { rule, figures }) = firing.filter(|_| batch < plan.sizes.batches()) {
            return Ok(Some(Outcome::Stopped { rule, figures }.into()));
        }
        Ok(match after {
            Ok(boundary) => {
                self.boundary = boundary;
                None
            }
            Err(failure) => Some(ended(self.runner, &failure)),
        })
    }

    /// Tells of the newest sample, and of what it says of the disk.
    fn tell(&mut self) {
        let (samples, batches) = (&self.samples, self.plan.sizes.batches());
        if let Some(sample) = samples.last() {
            self.runner.reporter.report(&Event::Batch { sample, samples, batches });
        }
        let place = self.table.facts().data_directory.clone();
        let place = place.unwrap_or_else(|| self.runner.directory.path().to_owned());
        if let Some(note) = self.disk_watch.after_batch(samples, self.plan, &place) {
            self.runner.reporter.report(&Event::Note(&format!("{}: {note}", self.entry.curve)));
            self.entry.notes.push(note);
        }
    }

    /// Runs the probes that are due after a batch.
    fn probe(&mut self, batch: u64) -> Result<Option<Ended>, Error> {
        if !probes_run_after(self.runner, batch, self.plan.sizes) {
            return Ok(None);
        }
        let mut guard = self.guard();
        let point = Point { plan: self.plan, table: self.table, ready: self.ready, boundary: self.boundary, batch };
        let outcome = probes::run(self.runner, self.entry, point, &mut guard)?;
        Ok(self.after_probes(outcome, true))
    }

    /// What probes moved belongs to no batch.
    fn after_probes(&mut self, outcome: Option<Outcome>, is_after_probe: bool) -> Option<Ended> {
        if let Some(outcome) = outcome {
            return Some(Ended { silent: self.runner.warden.is_silent(), ..outcome.into() });
        }
        if let Err(failure) = pass_over(self.runner, &mut self.observer, self.table) {
            return Some(ended(self.runner, &failure));
        }
        self.is_after_probe = is_after_probe;
        None
    }
}
