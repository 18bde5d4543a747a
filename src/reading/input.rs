//! The runs to show, read from their directories.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::counted::{self, Moved};
use crate::analyse::evidence::Counted;
use crate::analyse::{Curve, Labels, RunSamples, Standing, group};
use crate::foreign::{self, ForeignOptions, Refused};
use crate::record::probe::{PROBES_FILE, read_probes};
use crate::record::store::{BATCHES_FILE, BATCHES_HEADER, RUN_FILE, Samples, read_batches, read_run};
use crate::record::{CurveRecord, Outcome, ProbeLine, RunRecord, Sample};

#[derive(Debug, Clone, PartialEq)]
pub struct LoadedRun {
    /// What the run is called: the name of its directory, or its path where two names are the same.
    pub label: String,
    /// Its directory (or its file of samples, where only that was given).
    pub path: PathBuf,
    /// Its record; `None` when it is missing or cannot be read.
    pub record: Option<RunRecord>,
}

/// Everything that is shown, from one or several runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Input {
    pub runs: Vec<LoadedRun>,
    /// Their curves, in the order of the plan; those that never ran have no samples.
    pub curves: Vec<Curve>,
    /// How far each counter moved with each batch, by run and curve.
    pub counted: HashMap<(String, String), Counted>,
    /// What the counters of each batch say, by run, curve and batch.
    pub moved: BTreeMap<(String, String, u64), Moved>,
    /// What probes measured, by run and curve, in the order of the file.
    pub probes: BTreeMap<(String, String), Vec<ProbeLine>>,
    /// What was left out or looks odd, for people (stderr).
    pub problems: Vec<String>,
    /// What the horizontal figures are, where a file of another program has something else than the size of the table: nothing
    /// may then be said about sizes.
    pub other_x: Option<String>,
}

/// Why a run cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// There is nothing of a run at this path.
    #[error(
        "{path}: no run here (neither {RUN_FILE} nor {BATCHES_FILE}); give a directory that `rowcliff run` wrote, or a CSV file"
    )]
    NoRun {
        /// The path that was given.
        path: PathBuf,
    },
    /// The file system or the file's content.
    #[error("{path}: {source}")]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// A file of another program that is not read.
    #[error(transparent)]
    Foreign(#[from] Refused),
}

impl From<InputError> for crate::error::Error {
    fn from(error: InputError) -> Self {
        Self::Input(error.to_string())
    }
}

/// Reads runs from their directories. A path to a `batches.csv` is taken too, and then there is no record.
///
/// A run whose record or samples are missing or damaged is shown as far as it goes, and the damage is listed.
///
/// # Errors
/// There is no run at a path, or neither its record nor its samples can be read.
pub fn load(paths: &[PathBuf]) -> Result<Input, InputError> {
    load_with(paths, &ForeignOptions::default())
}

/// As [`load`], and reads files of other programs as well, with what is said about them.
///
/// # Errors
/// As [`load`]; a file of another program can be read in two ways, or in none.
pub fn load_with(paths: &[PathBuf], options: &ForeignOptions) -> Result<Input, InputError> {
    let mut other_x = None;
    let mut foreign_files = 0;
    let mut parts = Vec::new();
    let mut problems = Vec::new();
    let mut seen: Vec<PathBuf> = Vec::new();
    for path in paths {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if seen.contains(&real) {
            problems.push(format!("{}: given twice; shown once", path.display()));
            continue;
        }
        seen.push(real.clone());
        let name =
            real.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        let (record, samples) = match is_foreign(path) {
            false => load_one(path, &mut problems)?,
            true => {
                foreign_files += 1;
                let (samples, x) = load_foreign(path, options, &mut problems)?;
                other_x = other_x.or(x);
                (None, samples)
            }
        };
        parts.push((name, path.clone(), record, samples));
    }
    if foreign_files == 0 && options.is_said() {
        problems
            .push("how columns are read was said, and no file of another program was given: it changes nothing".into());
    }
    // Two directories of the same name need their paths to be told apart.
    let names: Vec<String> = parts.iter().map(|(name, ..)| name.clone()).collect();
    let parts = parts.into_iter().map(|(name, path, record, samples)| {
        let ambiguous = names.iter().filter(|other| **other == name).count() > 1;
        let label = if ambiguous { path.display().to_string() } else { name };
        (LoadedRun { label, path, record }, samples)
    });
    let mut input = Input { other_x, ..assemble(parts, problems) };
    for index in 0..input.runs.len() {
        counted::add(&mut input, index);
        add_probes(&mut input, index);
    }
    Ok(input)
}

/// Adds what the probes of a run measured. A run without probes has none.
fn add_probes(input: &mut Input, index: usize) {
    let run = &input.runs[index];
    if !run.path.is_dir() {
        return;
    }
    let path = run.path.join(PROBES_FILE);
    let lines = match read_probes(&run.path) {
        Ok(lines) => lines,
        Err(error) => {
            input.problems.push(format!("{}: {error}; no probe is shown", path.display()));
            return;
        }
    };
    input.problems.extend(lines.problems.iter().map(ToString::to_string));
    let label = run.label.clone();
    let mut strange: BTreeMap<String, u64> = BTreeMap::new();
    let mut timeless = 0_u64;
    for line in lines.lines {
        if !input.curves.iter().any(|curve| curve.run == label && curve.name == line.curve) {
            *strange.entry(line.curve).or_default() += 1;
        } else if !line.seconds.is_finite() || line.seconds < 0.0 {
            timeless += 1;
        } else {
            input.probes.entry((label.clone(), line.curve.clone())).or_default().push(line);
        }
    }
    for (curve, count) in strange {
        input
            .problems
            .push(format!("{}: {count} lines of {curve:?}, which is no curve of the run; left out", path.display()));
    }
    if timeless > 0 {
        input.problems.push(format!("{}: {timeless} lines whose seconds are no time; left out", path.display()));
    }
}

/// A file whose first line is not the header of `batches.csv`.
fn is_foreign(path: &Path) -> bool {
    let header = BATCHES_HEADER.join(",");
    let mut start = Vec::new();
    let file = std::fs::File::open(path).ok().filter(|_| path.is_file());
    file.is_some_and(|file| {
        file.take(header.len() as u64).read_to_end(&mut start).is_ok() && start != header.as_bytes()
    })
}

fn load_foreign(
    path: &Path,
    options: &ForeignOptions,
    problems: &mut Vec<String>,
) -> Result<(Samples, Option<String>), InputError> {
    let text = std::fs::read(path).map_err(|source| InputError::Unreadable { path: path.to_owned(), source })?;
    let read = foreign::read(&text, path, options)?;
    problems.extend(read.notes);
    Ok((Samples { samples: read.samples, problems: read.problems }, read.other_x))
}

fn load_one(path: &Path, problems: &mut Vec<String>) -> Result<(Option<RunRecord>, Samples), InputError> {
    let unreadable = |path: PathBuf, source| InputError::Unreadable { path, source };
    if path.is_file() {
        let samples = read_batches(path).map_err(|source| unreadable(path.to_owned(), source))?;
        return Ok((None, samples));
    }
    let (run_file, batches_file) = (path.join(RUN_FILE), path.join(BATCHES_FILE));
    if !run_file.exists() && !batches_file.exists() {
        return Err(InputError::NoRun { path: path.to_owned() });
    }
    let record = match read_run(path) {
        Ok(record) => Some(record),
        Err(error) if batches_file.exists() => {
            problems.push(format!("{}: {error}; outcomes and settings are not shown", run_file.display()));
            None
        }
        Err(source) => return Err(unreadable(run_file, source)),
    };
    let samples = match read_batches(&batches_file) {
        Ok(samples) => samples,
        // A run that ended before its first batch has no file of samples, and nothing is wrong with that.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Samples::default(),
        Err(error) if record.is_some() => {
            problems.push(format!("{}: {error}; no batch is shown", batches_file.display()));
            Samples::default()
        }
        Err(source) => return Err(unreadable(batches_file, source)),
    };
    Ok((record, samples))
}

/// Puts runs and their samples together: what [`load`] does once the files are read.
pub fn assemble(runs: impl IntoIterator<Item = (LoadedRun, Samples)>, problems: Vec<String>) -> Input {
    let mut input = Input { problems, ..Input::default() };
    for (run, samples) in runs {
        input.problems.extend(samples.problems.iter().map(ToString::to_string));
        let grouped = group(&[RunSamples { run: run.label.clone(), samples: samples.samples }]);
        input.problems.extend(grouped.problems);
        let mut measured = grouped.curves;
        for record in run.record.iter().flat_map(|record| &record.curves) {
            let position = measured.iter().position(|curve| curve.name == record.curve);
            input.curves.push(position.map_or_else(|| unmeasured(record, &run.label), |at| measured.remove(at)));
        }
        input.curves.append(&mut measured);
        input.runs.push(run);
    }
    input
}

fn unmeasured(record: &CurveRecord, run: &str) -> Curve {
    Curve {
        name: record.curve.clone(),
        run: run.to_owned(),
        labels: Labels::from(record),
        repeat: record.repeat,
        samples: Vec::new(),
    }
}

impl Input {
    /// The record of a curve, where its run has one.
    pub fn record_of(&self, curve: &Curve) -> Option<&CurveRecord> {
        let run = self.runs.iter().find(|run| run.label == curve.run)?;
        run.record.as_ref()?.curves.iter().find(|record| record.curve == curve.name)
    }

    /// What the counters of a batch say.
    pub fn moved_of(&self, curve: &Curve, sample: &Sample) -> Moved {
        let key = (curve.run.clone(), curve.name.clone(), sample.batch);
        self.moved.get(&key).copied().unwrap_or_default()
    }

    /// What the probes of a curve measured, in the order in which they ran; nothing where there were none.
    pub fn probes_of(&self, curve: &Curve) -> &[ProbeLine] {
        self.probes.get(&(curve.run.clone(), curve.name.clone())).map_or(&[], Vec::as_slice)
    }

    /// Whether a curve that is shown has probes.
    pub fn has_probes(&self) -> bool {
        self.curves.iter().any(|curve| !self.probes_of(curve).is_empty())
    }

    /// How far a curve can be trusted.
    pub fn standing_of(&self, curve: &Curve) -> Standing {
        Standing::of(curve, self.record_of(curve))
    }

    /// What became of a curve.
    pub fn outcome_of(&self, curve: &Curve) -> Option<&Outcome> {
        self.record_of(curve).map(|record| &record.outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Sample;
    use crate::record::store::{CsvAppender, write_run};
    use crate::record::test_support::run_record as record;

    fn write_samples(directory: &Path, curve: &str, batches: u64) {
        let mut file = CsvAppender::open(&directory.join(BATCHES_FILE)).unwrap();
        for batch in 1..=batches {
            let sample = Sample { curve: curve.into(), batch, rows: 10, seconds: 1.0, ..Sample::default() };
            file.append(&sample).unwrap();
        }
    }

    #[test]
    fn curves_come_in_the_order_of_the_plan_the_unmeasured_too() {
        let directory = tempfile::tempdir().unwrap();
        write_run(directory.path(), &record(&["a", "b", "c"])).unwrap();
        write_samples(directory.path(), "c", 2);
        write_samples(directory.path(), "b", 1);
        let input = load(&[directory.path().to_owned()]).unwrap();
        let found: Vec<(&str, usize)> =
            input.curves.iter().map(|curve| (curve.name.as_str(), curve.samples.len())).collect();
        assert_eq!(found, [("a", 0), ("b", 1), ("c", 2)]);
        assert_eq!(input.problems, Vec::<String>::new());
        assert_eq!(input.outcome_of(&input.curves[1]), Some(&Outcome::Completed));
    }

    #[test]
    fn a_run_is_shown_as_far_as_it_goes() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(load(&[directory.path().to_owned()]), Err(InputError::NoRun { .. })));
        write_samples(directory.path(), "a", 2);
        let input = load(&[directory.path().to_owned()]).unwrap();
        assert_eq!(input.curves.len(), 1);
        assert!(input.problems[0].contains("run.json"), "{:?}", input.problems);
        let input = load(&[directory.path().join(BATCHES_FILE)]).unwrap();
        assert_eq!((input.curves.len(), input.problems.len()), (1, 0));
        std::fs::write(directory.path().join(RUN_FILE), "{").unwrap();
        assert_eq!(load(&[directory.path().to_owned()]).unwrap().curves.len(), 1);
        std::fs::remove_file(directory.path().join(BATCHES_FILE)).unwrap();
        assert!(matches!(load(&[directory.path().to_owned()]), Err(InputError::Unreadable { .. })));
        write_run(directory.path(), &record(&["a"])).unwrap();
        assert_eq!(load(&[directory.path().to_owned()]).unwrap().problems, Vec::<String>::new());
    }

    #[test]
    fn probes_belong_to_curves_of_the_run_and_what_does_not_is_said() {
        let directory = tempfile::tempdir().unwrap();
        write_run(directory.path(), &record(&["a", "b"])).unwrap();
        write_samples(directory.path(), "a", 1);
        let line = |curve: &str, iteration, seconds| ProbeLine {
            curve: curve.into(),
            batch: 1,
            table_rows: 10,
            probe: "select-pk".into(),
            connections: 1,
            iteration,
            ops: 5,
            seconds,
            ..ProbeLine::default()
        };
        let lines =
            [line("a", 1, 0.5), line("a", 2, 0.0), line("x, y", 1, 1.0), line("a", 3, f64::NAN), line("a", 4, -1.0)];
        CsvAppender::open(&directory.path().join(PROBES_FILE)).unwrap().append_all(&lines).unwrap();
        let input = load(&[directory.path().to_owned()]).unwrap();
        assert!(input.has_probes());
        assert_eq!(input.probes_of(&input.curves[0]), &lines[..2]);
        assert!(input.probes_of(&input.curves[1]).is_empty());
        assert_eq!(input.problems.len(), 2, "{:?}", input.problems);
        assert!(
            input.problems[0].contains("1 lines of \"x, y\"") && input.problems[1].contains("2 lines whose seconds")
        );
        // Cut lines and lines that are none are said with their numbers; a file of samples has no probes.
        std::fs::write(directory.path().join(PROBES_FILE), "curve,batch\na,one\na,2").unwrap();
        let input = load(&[directory.path().to_owned()]).unwrap();
        assert!(!input.has_probes() && input.problems.len() == 2, "{:?}", input.problems);
        assert!(input.problems[0].contains("probes.csv:2:"), "{:?}", input.problems);
        assert!(!load(&[directory.path().join(BATCHES_FILE)]).unwrap().has_probes());
    }

    #[test]
    fn directories_of_the_same_name_keep_their_paths() {
        let root = tempfile::tempdir().unwrap();
        let paths = ["x/run", "y/run", "z"].map(|path| root.path().join(path));
        for path in &paths {
            std::fs::create_dir_all(path).unwrap();
            write_run(path, &record(&["a"])).unwrap();
        }
        let input = load(&[paths.to_vec(), vec![root.path().join("x/../z")]].concat()).unwrap();
        let labels: Vec<&str> = input.runs.iter().map(|run| run.label.as_str()).collect();
        assert_eq!(labels, [paths[0].to_str().unwrap(), paths[1].to_str().unwrap(), "z"]);
        assert_eq!(input.problems.len(), 1);
    }
}
