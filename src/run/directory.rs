//! The directory of a run: created once, locked while it is written, saved so that every moment of it can be read.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::failed_start;
use super::journal::{self, Journal, Line};
use super::moved::Detail;
use crate::error::Error;
use crate::record::detail;
use crate::record::probe;
pub use crate::record::store::LOCK_FILE;
use crate::record::store::{self, CsvAppender};
use crate::record::{ProbeLine, RunRecord, Sample};

/// What helps when a file of a run cannot be used.
const CHECK: &str = "check that the directory can be written";

/// The files of a run that is going on.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    batches: CsvAppender,
    journal: Journal,
    /// What goes beside the samples; each is made with its first line.
    counters: Option<CsvAppender>,
    seconds: Option<CsvAppender>,
    probes: Option<CsvAppender>,
    /// The system lets go of the lock when the process ends, however it ends.
    _lock: File,
}

impl RunDirectory {
    /// Makes the directory of a new run and opens its files, so that a bad path fails before anything is measured. The directory
    /// of a run that never began is taken again.
    ///
    /// # Errors
    /// It is there and not empty, cannot be written, or another rowcliff holds it.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let next = "give another directory with --out";
        match std::fs::read_dir(path) {
            Ok(mut entries) => {
                if entries.next().is_some() {
                    return Self::take_again(path);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                std::fs::create_dir_all(path).map_err(|error| Error::file(path, error, next))?;
            }
            Err(error) => return Err(Error::file(path, error, next)),
        }
        let lock_path = path.join(LOCK_FILE);
        File::create(&lock_path).map_err(|error| Error::file(&lock_path, error, CHECK))?;
        Self::open(path, Self::lock(path)?)
    }

    /// Takes the directory of a run that never began, under its lock.
    fn take_again(path: &Path) -> Result<Self, Error> {
        let refused = |cause: &str, next: String| {
            let cause = format!("the directory is there and not empty; {cause}");
            Err(Error::usage(format!("--out {}", path.display()), cause, next))
        };
        if !path.join(LOCK_FILE).exists() {
            let next = "give another directory with --out".into();
            return refused("a run never writes into another one", next);
        }
        let lock = Self::lock(path)?;
        if let Some(left) = failed_start::holds(path) {
            let next = format!(
                "go on with it with --continue, drop what it left with `rowcliff clean {}`, or give another directory with --out",
                path.display()
            );
            return refused(&left, next);
        }
        failed_start::remove(path).map_err(|error| Error::file(path, error, CHECK))?;
        Self::open(path, lock)
    }

    /// Takes the directory of a run that is to go on, and says what was dropped. A last line of `batches.csv` that something cut is dropped from the
    /// file: appended to, it would become another number.
    ///
    /// # Errors
    /// It is no run's directory, cannot be written, or another rowcliff holds it.
    pub fn reopen(path: &Path) -> Result<(Self, Option<String>), Error> {
        let lock = Self::lock(path)?;
        let batches_path = path.join(store::BATCHES_FILE);
        let cut = || -> io::Result<bool> {
            let text = match std::fs::read(&batches_path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                other => other?,
            };
            let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
            if whole < text.len() {
                store::replace_file(&batches_path, &text[..whole])?;
            }
            Ok(whole < text.len())
        };
        let cut = cut().map_err(|error| Error::file(&batches_path, error, CHECK))?;
        let note = cut.then(|| format!("{}: the last line was cut and is dropped", batches_path.display()));
        Ok((Self::open(path, lock)?, note))
    }

    fn open(path: &Path, lock: File) -> Result<Self, Error> {
        let batches_path = path.join(store::BATCHES_FILE);
        let batches = CsvAppender::open(&batches_path).map_err(|error| Error::file(&batches_path, error, CHECK))?;
        let journal_path = path.join(journal::JOURNAL_FILE);
        let journal = Journal::open(path).map_err(|error| Error::file(&journal_path, error, CHECK))?;
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        // A process that was killed in a silence left it.
        let _ = std::fs::remove_file(path.join(store::SILENCE_FILE));
        Ok(Self { path, batches, journal, counters: None, seconds: None, probes: None, _lock: lock })
    }

    /// Takes the lock of a run that is there, for a command that changes what the run left behind.
    ///
    /// # Errors
    /// It is no run's directory, or a rowcliff is writing it.
    pub fn lock(path: &Path) -> Result<File, Error> {
        let lock_path = path.join(LOCK_FILE);
        let lock = File::options()
            .write(true)
            .open(&lock_path)
            .map_err(|error| Error::file(&lock_path, error, "name the directory of a run"))?;
        lock.try_lock()
            .map_err(|_| Error::file(path, "a rowcliff is writing this run", "wait for it, or end it with SIGINT"))?;
        Ok(lock)
    }

    /// Whether a rowcliff is writing the run right now.
    pub fn is_being_written(path: &Path) -> bool {
        store::is_being_written(path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves a file for `status` that says since when nothing was acknowledged. It is no result: a disk that does not take it ends nothing.
    pub fn tell_silence(&self, silent: std::time::Duration) {
        let since = jiff::Timestamp::now() - jiff::SignedDuration::try_from(silent).unwrap_or_default();
        let _ = std::fs::write(self.path.join(store::SILENCE_FILE), since.to_string());
    }

    /// Something was acknowledged again.
    pub fn end_silence(&self) {
        let _ = std::fs::remove_file(self.path.join(store::SILENCE_FILE));
    }

    /// Appends what goes beside a sample, synced. It comes before the sample, so that a recorded batch has its details.
    ///
    /// # Errors
    /// It could not be saved.
    pub fn append_detail(&mut self, detail: &Detail) -> Result<(), Error> {
        append_to(&mut self.counters, self.path.join(detail::COUNTERS_FILE), &detail.counters)?;
        append_to(&mut self.seconds, self.path.join(detail::SECONDS_FILE), &detail.seconds)
    }

    /// Appends an iteration of a probe, synced.
    ///
    /// # Errors
    /// It could not be saved.
    pub fn append_probe(&mut self, line: &ProbeLine) -> Result<(), Error> {
        append_to(&mut self.probes, self.path.join(probe::PROBES_FILE), std::slice::from_ref(line))
    }

    /// Takes out of `counters.csv`, `seconds.csv` and `probes.csv` what belongs to batches of a curve beyond `batches`: a run that goes on
    /// loads them again.
    ///
    /// # Errors
    /// It could not be saved.
    pub fn drop_details_beyond(&mut self, curve: &str, batches: u64) -> Result<(), Error> {
        // The files are replaced: what is open would append to the old ones.
        (self.counters, self.seconds, self.probes) = (None, None, None);
        detail::drop_lines_beyond(&self.path, &|name, batch| name != curve || batch <= batches)
            .map(|_| ())
            .map_err(|error| Error::Results { path: self.path.clone(), cause: error.to_string() })
    }

    /// Appends a sample, synced.
    ///
    /// # Errors
    /// It could not be saved: a result that is not on disk is not a result.
    pub fn append(&mut self, sample: &Sample) -> Result<(), Error> {
        self.batches
            .append(sample)
            .map_err(|error| Error::Results { path: self.batches.path().to_owned(), cause: error.to_string() })
    }

    /// Writes down what resume needs, synced.
    ///
    /// # Errors
    /// It could not be saved.
    pub fn note(&mut self, line: &Line) -> Result<(), Error> {
        self.journal
            .append(line)
            .map_err(|error| Error::Results { path: self.path.join(journal::JOURNAL_FILE), cause: error.to_string() })
    }

    /// Moves the samples of a curve beyond `batches` to `lost.csv`: what they measured is not in the table any more.
    ///
    /// # Errors
    /// It could not be saved.
    pub fn lose_beyond(&mut self, curve: &str, batches: u64) -> Result<(), Error> {
        let path = self.path.join(store::BATCHES_FILE);
        let moved = store::move_lost(&self.path, |sample| sample.curve == curve && sample.batch > batches)
            .and_then(|()| CsvAppender::open(&path));
        self.batches = moved.map_err(|error| Error::Results { path, cause: error.to_string() })?;
        Ok(())
    }

    /// Replaces `run.json`.
    ///
    /// # Errors
    /// It could not be saved.
    pub fn save(&self, record: &RunRecord) -> Result<(), Error> {
        store::write_run(&self.path, record)
            .map_err(|error| Error::Results { path: self.path.join(store::RUN_FILE), cause: error.to_string() })
    }
}

fn append_to<T: Serialize>(file: &mut Option<CsvAppender>, path: PathBuf, lines: &[T]) -> Result<(), Error> {
    if lines.is_empty() {
        return Ok(());
    }
    let failed = |error: io::Error| Error::Results { path: path.clone(), cause: error.to_string() };
    let appender = match file.take() {
        Some(appender) => appender,
        None => CsvAppender::open(&path).map_err(failed)?,
    };
    file.insert(appender).append_all(lines).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SecondLine;

    #[test]
    fn a_silence_that_a_killed_process_left_behind_is_over_when_the_run_goes_on() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("r");
        let directory = RunDirectory::create(&path).unwrap();
        directory.tell_silence(std::time::Duration::from_secs(90));
        drop(directory);
        assert!(path.join(store::SILENCE_FILE).exists());
        let _directory = RunDirectory::reopen(&path).unwrap();
        assert!(!path.join(store::SILENCE_FILE).exists());
    }

    #[test]
    fn details_of_a_batch_that_is_loaded_again_stand_once() {
        let home = tempfile::tempdir().unwrap();
        let mut directory = RunDirectory::create(&home.path().join("r")).unwrap();
        let line = |curve: &str, batch| SecondLine { curve: curve.into(), batch, second: 1, rows: 5 };
        let detail = |curve: &str, batch| Detail { seconds: vec![line(curve, batch)], ..Detail::default() };
        for (curve, batch) in [("a", 1), ("b", 1), ("b", 2), ("b", 3)] {
            directory.append_detail(&detail(curve, batch)).unwrap();
        }
        directory.drop_details_beyond("b", 1).unwrap();
        directory.append_detail(&detail("b", 2)).unwrap();
        let left = detail::read_seconds(directory.path()).unwrap();
        assert_eq!((left.lines, left.problems), (vec![line("a", 1), line("b", 1), line("b", 2)], vec![]));
    }
}
