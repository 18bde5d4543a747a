//! Going on with a run that something ended: a kill, a crash, a full disk, an interrupt.
//!
//! What is known comes from the run's own files; what is true is asked of the table. It is brought to a boundary that
//! both agree on, and the load goes on from there with the same rows, since a row is a function of its index.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::boundary::{Boundary, has_boundary_ids, rows_between, take_back};
use super::journal::{Line, Told};
use super::warden::How;
use super::{Event, Runner};
use crate::error::Error;
use crate::plan::{CurvePlan, Place, Plan};
use crate::record::run::Resumption;
use crate::record::{CurveRecord, RunRecord, Sample, store};
use crate::rows::RowSource;
use crate::targets::{Failure, FailureKind, RowSet, Table};
use crate::units::grouped;

/// What an earlier rowcliff left of a run.
#[derive(Debug, Clone)]
pub struct Past {
    pub record: RunRecord,
    /// Whether a curve whose table is gone is loaded again from its first row, wherever the table was.
    pub start_again: bool,
    /// The samples of each curve, from the first batch as far as none is missing.
    samples: BTreeMap<String, Vec<Sample>>,
}

impl Past {
    /// Reads the files of a run. Gives what was left out, as sentences.
    ///
    /// # Errors
    /// They cannot be read, or are not this program's.
    pub fn read(directory: &Path, start_again: bool) -> Result<(Self, Vec<String>), Error> {
        let next = "name the directory of a run";
        let record = store::read_run(directory).map_err(|error| Error::file(directory, error, next))?;
        let path = directory.join(store::BATCHES_FILE);
        let read = match std::fs::metadata(&path) {
            // Ended before the first header was written.
            Ok(facts) if facts.len() == 0 => store::Samples::default(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => store::Samples::default(),
            _ => match store::read_batches(&path) {
                // The header itself was cut: no line came after it.
                Err(error) if error.kind() == std::io::ErrorKind::InvalidData && is_one_cut_line(&path) => {
                    store::Samples::default()
                }
                other => {
                    other.map_err(|error| Error::file(&path, error, "only its own samples can be gone on from"))?
                }
            },
        };
        let notes = read.problems.iter().map(ToString::to_string).collect();
        let mut samples: BTreeMap<String, Vec<Sample>> = BTreeMap::new();
        for sample in read.samples {
            let known = samples.entry(sample.curve.clone()).or_default();
            if sample.batch == known.len() as u64 + 1 {
                known.push(sample);
            }
        }
        Ok((Self { record, start_again, samples }, notes))
    }

    /// The samples of a curve.
    pub fn samples(&self, curve: &str) -> &[Sample] {
        self.samples.get(curve).map_or(&[], Vec::as_slice)
    }

    /// Whether a curve of the plan has something left to do.
    pub fn is_open(&self, curve: &CurveRecord) -> bool {
        curve.is_open(self.record.state)
    }

    /// Whether a curve may have left a table behind.
    pub fn left_table(&self, curve: &str) -> bool {
        self.record.curves.iter().any(|entry| entry.curve == curve && self.is_open(entry) && entry.table.is_some())
    }

    /// The time that the samples of a curve account for: limits of time go on from there.
    pub fn spent(&self, curve: &str) -> Duration {
        let seconds: f64 = self.samples(curve).iter().map(|s| s.seconds + s.gap_seconds.unwrap_or(0.0)).sum();
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    }

    /// The same for the whole run.
    pub fn spent_in_run(&self) -> Duration {
        self.samples.keys().map(|curve| self.spent(curve)).sum()
    }
}

fn is_one_cut_line(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|text| !text.contains(&b'\n'))
}

/// What helps a curve whose table is gone, and nothing else does.
pub const START_AGAIN: &str = "`rowcliff resume` with --start-again loads this curve from its first row";

/// Where a curve begins.
#[derive(Debug, Default)]
pub struct Start {
    /// The table as it is.
    pub boundary: Boundary,
    /// The samples there are.
    pub samples: Vec<Sample>,
    /// What the next sample is marked with.
    pub word: Option<&'static str>,
}

/// What became known of a table that was left behind.
struct Found {
    boundary: Boundary,
    /// Whole batches in it.
    batches: u64,
    /// Rows of recorded batches that are not there.
    lost_rows: u64,
    /// Rows beyond the boundary that were removed.
    removed_rows: u64,
}

/// Brings the table of a curve to the last boundary that is recorded and whole.
///
/// # Errors
/// The inner one: the curve cannot go on. The outer one: results cannot be saved.
pub fn bring_back(
    runner: &mut Runner<'_>,
    entry: &mut CurveRecord,
    plan: &CurvePlan,
    table: &mut dyn Table,
    source: &RowSource,
) -> Result<Result<Start, Failure>, Error> {
    let Some(past) = &runner.past else { return Ok(Ok(Start::default())) };
    let mut samples = past.samples(&plan.name).to_vec();
    let path = runner.directory.path().to_owned();
    let told = Told::read(&path, plan.number)
        .map_err(|error| Error::file(path, error, "the journal says where the curve goes on"))?;
    let what = ("bringing the table to its boundary", How::Work);
    let sessions = runner.warden.on_table(runner.reporter, table, what, |table| own_sessions(plan.number, table));
    match sessions {
        Ok(line) => runner.directory.note(&line)?,
        Err(failure) => return Ok(Err(failure)),
    }
    let recorded = samples.len() as u64;
    let found = runner.warden.on_table(runner.reporter, table, what, |table| {
        end_orphans(table, &told)?;
        look(table, source, plan, &told, recorded)
    });
    let found = match found {
        Ok(found) => found,
        Err(failure) => return Ok(Err(failure)),
    };
    samples.truncate(usize::try_from(found.batches).unwrap_or(usize::MAX));
    if found.batches < recorded {
        runner.directory.lose_beyond(&plan.name, found.batches)?;
    }
    runner.directory.drop_details_beyond(&plan.name, found.batches)?;
    runner.directory.note(&Line::BackTo { curve: plan.number, batch: found.batches })?;
    if found.batches > 0 && told.boundary(found.batches).is_none() {
        let line = Line::Boundary { curve: plan.number, batch: found.batches, boundary: found.boundary };
        runner.directory.note(&line)?;
    }
    let resumption = Resumption {
        at: runner.clock.wall(),
        from_batch: found.batches + 1,
        removed_rows: found.removed_rows,
        lost_rows: found.lost_rows,
        lost_batches: recorded - found.batches,
        started_again: false,
    };
    let mut words = words(entry, &resumption, found.boundary.table_rows);
    if resumption.removed_rows > 0 && table.facts().definition().is_versioned {
        let history =
            "the table is system-versioned: the rows that were removed stay in it as history, and take their space";
        words.push_str(&format!("; {history}"));
        entry.notes.push(format!("{} removed rows: {history}", grouped(resumption.removed_rows)));
    }
    runner.reporter.report(&Event::Note(&words));
    entry.resumptions.push(resumption);
    Ok(Ok(Start { boundary: found.boundary, samples, word: Some("resumed") }))
}

/// What happened, in words.
fn words(entry: &CurveRecord, resumption: &Resumption, table_rows: u64) -> String {
    let mut text = format!("resumed at {} rows", grouped(table_rows));
    if resumption.removed_rows > 0 {
        text.push_str(&format!(", {} rows beyond them were removed", grouped(resumption.removed_rows)));
    }
    if resumption.lost_batches > 0 {
        let flush = match entry.flush_in_force.as_str() {
            "" => String::new(),
            words => format!(" ({words})"),
        };
        text.push_str(&format!(
            "; LOST AFTER ACKNOWLEDGEMENT{flush}: {} rows of {} recorded batches, whose lines are in {}",
            grouped(resumption.lost_rows),
            resumption.lost_batches,
            store::LOST_FILE
        ));
    }
    text
}

/// The line that lets a later resume end the sessions over which this one changes the table.
pub fn own_sessions(curve: usize, table: &mut dyn Table) -> Result<Line, Failure> {
    let own = table.own_sessions()?;
    Ok(Line::sessions(curve, table.server_sessions(&own)?))
}

/// Ends what the sessions of a killed rowcliff still do: a statement goes on for seconds without its client.
fn end_orphans(table: &mut dyn Table, told: &Told) -> Result<(), Failure> {
    let orphans = table.left_sessions(&told.sessions())?;
    table.end_sessions(&orphans)
}

fn no_boundary(batch: u64) -> Failure {
    let message = format!(
        "the journal has no boundary of batch {batch}, so what came after it cannot be told from what came before; start the \
         run again in another directory"
    );
    Failure { kind: FailureKind::Broken, code: None, message }
}

/// Whether a table from which nothing can be deleted is at its last boundary.
fn at_boundary(table: &mut dyn Table, plan: &CurvePlan, recorded: u64) -> Result<(), Failure> {
    let expected = recorded * plan.sizes.batch_rows;
    match table.count()? {
        Some(rows) if rows == expected => Ok(()),
        rows => Err(Failure {
            kind: FailureKind::Gone,
            code: None,
            message: format!(
                "the table holds {} rows where {} are recorded, and {} cannot delete rows, so it cannot be brought back to \
                 its last boundary",
                rows.map_or_else(|| "an unknown number of".into(), grouped),
                grouped(expected),
                plan.cell.engine_entry.name
            ),
        }),
    }
}

/// Finds the newest boundary that is recorded and whole, and takes the table back to it.
fn look(
    table: &mut dyn Table,
    source: &RowSource,
    plan: &CurvePlan,
    told: &Told,
    recorded: u64,
) -> Result<Found, Failure> {
    let batch_rows = plan.sizes.batch_rows;
    let whole = |batches: u64| Found {
        boundary: told.boundary(batches).unwrap_or(Boundary { table_rows: batches * batch_rows, max_id: None }),
        batches,
        lost_rows: 0,
        removed_rows: 0,
    };
    if !table.facts().limits.keeps_rows {
        return Ok(whole(recorded));
    }
    if !plan.cell.engine_entry.can.delete {
        return at_boundary(table, plan, recorded).map(|()| whole(recorded));
    }
    let mut lost_rows = 0;
    let mut batches = recorded;
    let is_empty = table.count_of(RowSet::Any)? == 0;
    if is_empty {
        (lost_rows, batches) = (recorded * batch_rows, 0);
    }
    let needs_ids = has_boundary_ids(table);
    let mut unread = None;
    while batches > 0 {
        let there = match (told.boundary(batches - 1), told.boundary(batches)) {
            (Some(before), Some(after)) => rows_between(table, source, before, after)?,
            // Keys tell without a journal; a counted column does not.
            _ if !needs_ids => rows_between(table, source, whole(batches - 1).boundary, whole(batches).boundary)?,
            (Some(before), None) if batches == recorded && told.highest_batch() < batches => {
                let now = Boundary::read(table, batches * batch_rows)?;
                let there = rows_between(table, source, before, now)?;
                if there > batch_rows {
                    return Err(no_boundary(batches));
                }
                unread = Some(now);
                there
            }
            _ => return Err(no_boundary(batches)),
        };
        if there >= batch_rows {
            break;
        }
        unread = None;
        lost_rows += batch_rows - there;
        batches -= 1;
    }
    if let Some(boundary) = unread {
        return Ok(Found { boundary, ..whole(batches) });
    }
    let found = whole(batches);
    if is_empty {
        return Ok(Found { lost_rows, ..found });
    }
    let last = told.highest_batch().max(recorded).saturating_add(1).min(plan.sizes.batches());
    let beyond = batches * batch_rows..last * batch_rows;
    let removed_rows =
        if needs_ids || !beyond.is_empty() { take_back(table, source, found.boundary, beyond)? } else { 0 };
    Ok(Found { lost_rows, removed_rows, ..found })
}

/// Whether a curve whose table is gone is loaded again from its first row: one on a file or server of rowcliff's own is,
/// one on a server somebody else runs only when that is asked for, since somebody else may have dropped it.
pub fn may_start_again(plan: &Plan, curve: &CurvePlan, past: &Past) -> bool {
    past.start_again
        || past.samples(&curve.name).is_empty()
        || !matches!(plan.targets[curve.cell.target].place, Place::Server(_))
}

/// Writes down that a curve starts again, and why.
///
/// # Errors
/// It could not be saved.
pub fn start_again(
    runner: &mut Runner<'_>,
    entry: &mut CurveRecord,
    plan: &CurvePlan,
    why: &str,
) -> Result<Start, Error> {
    let recorded = runner.past.as_ref().map_or(0, |past| past.samples(&plan.name).len() as u64);
    runner.directory.drop_details_beyond(&plan.name, 0)?;
    runner.directory.note(&Line::BackTo { curve: plan.number, batch: 0 })?;
    if recorded == 0 {
        return Ok(Start::default());
    }
    runner.directory.lose_beyond(&plan.name, 0)?;
    let note = format!(
        "{why}: the curve starts again from its first row, and the lines of its {recorded} batches are in {}",
        store::LOST_FILE
    );
    runner.reporter.report(&Event::Note(&format!("{}: {note}", entry.curve)));
    entry.notes.push(note);
    entry.resumptions.push(Resumption {
        at: runner.clock.wall(),
        from_batch: 1,
        removed_rows: 0,
        lost_rows: recorded * plan.sizes.batch_rows,
        lost_batches: recorded,
        started_again: true,
    });
    Ok(Start { word: Some("restarted"), ..Start::default() })
}
