//! The store: `batches.csv` and `run.json`, written so that every prefix of the file can be read again.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{RunRecord, Sample};

/// Name of the file of samples in a run directory.
pub const BATCHES_FILE: &str = "batches.csv";
/// Name of the record of a run in its directory.
pub const RUN_FILE: &str = "run.json";

/// Name of the file of samples whose rows a server lost after it had acknowledged them.
pub const LOST_FILE: &str = "lost.csv";

/// Since when the target of a run that goes on has acknowledged nothing; there only while that lasts.
pub const SILENCE_FILE: &str = "silent-since";
/// Held locked by the rowcliff that writes a run.
pub const LOCK_FILE: &str = "lock";

/// Whether a rowcliff is writing the run in `directory` right now.
pub fn is_being_written(directory: &Path) -> bool {
    File::options().write(true).open(directory.join(LOCK_FILE)).is_ok_and(|file| file.try_lock().is_err())
}

/// The final header of `batches.csv`.
pub const BATCHES_HEADER: [&str; 34] = [
    "curve",
    "target",
    "engine",
    "key",
    "flush",
    "flush_in_force",
    "settings",
    "method",
    "connections",
    "statement_rows",
    "commit_rows",
    "repeat",
    "batch",
    "table_rows",
    "rows",
    "seconds",
    "inserts_per_sec",
    "started_at",
    "encode_seconds",
    "gap_seconds",
    "statements",
    "retries",
    "stall_seconds",
    "p50_us",
    "p99_us",
    "p999_us",
    "max_us",
    "client_cpu_seconds",
    "server_cpu_seconds",
    "read_bytes",
    "written_bytes",
    "data_bytes",
    "index_bytes",
    "notes",
];

/// A line of a file that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub file: PathBuf,
    /// Line number, from 1.
    pub line: u64,
    /// Why it was left out.
    pub why: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.why)
    }
}

/// Appends typed lines to a CSV file: one write and one sync for each line, the header once in an empty file.
#[derive(Debug)]
pub struct CsvAppender {
    file: File,
    path: PathBuf,
    needs_header: bool,
}

impl CsvAppender {
    /// Opens `path` for appending and creates it where it is missing.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let needs_header = file.metadata()?.len() == 0;
        Ok(Self { file, path: path.to_owned(), needs_header })
    }

    /// The file it appends to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one line and syncs it to the device, so that what was printed is also on disk.
    ///
    /// # Errors
    /// Whatever the file system says; on a full disk the file may end in the middle of the line, which the
    /// reader takes for a cut line.
    pub fn append<T: Serialize>(&mut self, line: &T) -> io::Result<()> {
        self.append_all(std::slice::from_ref(line))
    }

    /// Appends several lines with one write and one sync; nothing of no lines.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub fn append_all<T: Serialize>(&mut self, lines: &[T]) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut writer = csv::WriterBuilder::new().has_headers(self.needs_header).from_writer(Vec::new());
        for line in lines {
            writer.serialize(line).map_err(io::Error::other)?;
        }
        let bytes = writer.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
        self.file.write_all(&bytes)?;
        self.file.sync_data()?;
        self.needs_header = false;
        Ok(())
    }
}

/// The samples of one file, with what had to be left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    /// Samples in the order of the file.
    pub samples: Vec<Sample>,
    /// Lines that were left out.
    pub problems: Vec<Problem>,
}

/// Reads `batches.csv` as far as it is whole.
///
/// A last line without its line end is a line that was being written when something died: it is left out and
/// said, since a cut number is still a number. A repeated identical header is left out and said.
///
/// # Errors
/// The file cannot be read, or its first line is not the header of `batches.csv`.
pub fn read_batches(path: &Path) -> io::Result<Samples> {
    let mut text = Vec::new();
    File::open(path)?.read_to_end(&mut text)?;
    parse_batches(&text, path)
}

/// What [`read_batches`] does, on bytes that are already there.
///
/// # Errors
/// As [`read_batches`].
pub fn parse_batches(text: &[u8], path: &Path) -> io::Result<Samples> {
    let mut out = Samples::default();
    let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&text[..whole]);
    let header = csv::StringRecord::from(BATCHES_HEADER.to_vec());
    let mut seen_header = false;
    for record in reader.records() {
        let line = |record: &csv::StringRecord| record.position().map_or(0, csv::Position::line);
        let mut problem = |line, why: String| out.problems.push(Problem { file: path.to_owned(), line, why });
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                problem(error.position().map_or(0, csv::Position::line), error.to_string());
                continue;
            }
        };
        if !seen_header {
            if record != header {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("{}: the first line is not the header of batches.csv", path.display()),
                ));
            }
            seen_header = true;
            continue;
        }
        if record == header {
            problem(line(&record), "the header stands here again; left out".into());
            continue;
        }
        if record.len() != header.len() {
            problem(line(&record), format!("{} columns instead of {}; left out", record.len(), header.len()));
            continue;
        }
        match record.deserialize::<Sample>(Some(&header)) {
            Ok(sample) => match impossible(&sample) {
                None => out.samples.push(sample),
                Some(why) => problem(line(&record), why),
            },
            Err(error) => problem(line(&record), format!("{error}; left out")),
        }
    }
    if whole < text.len() {
        let line = text[..whole].iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
        out.problems.push(Problem {
            file: path.to_owned(),
            line,
            why: "the last line is cut (no line end); left out".into(),
        });
    }
    Ok(out)
}

/// Moves samples from `batches.csv` to `lost.csv`, which has the same columns. A crash in between leaves them in both, never
/// in neither.
///
/// # Errors
/// Whatever the file system says.
pub fn move_lost(directory: &Path, is_lost: impl Fn(&Sample) -> bool) -> io::Result<()> {
    let path = directory.join(BATCHES_FILE);
    let (lost, kept): (Vec<Sample>, Vec<Sample>) = read_batches(&path)?.samples.into_iter().partition(is_lost);
    let mut file = CsvAppender::open(&directory.join(LOST_FILE))?;
    for sample in &lost {
        file.append(sample)?;
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    for sample in &kept {
        writer.serialize(sample).map_err(io::Error::other)?;
    }
    let bytes = writer.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
    replace_file(&path, &bytes)
}

/// Why a sample cannot be a measurement, if it cannot.
fn impossible(sample: &Sample) -> Option<String> {
    if !sample.seconds.is_finite() || sample.seconds < 0.0 {
        return Some(format!("seconds = {} is not a duration; left out", sample.seconds));
    }
    // Faster than any memory: a counter that wrapped, not a load (seen in the wild as 1.8e19 rows/s).
    if sample.seconds > 0.0 && sample.rows as f64 / sample.seconds > 1e12 {
        return Some(format!("{} rows in {} s is impossible; left out", sample.rows, sample.seconds));
    }
    None
}

/// Writes `bytes` to `path` by way of a temporary file in the same directory and a rename, synced, so that a
/// reader sees the old file or the new one and never a part.
///
/// # Errors
/// Whatever the file system says; the old file is then still there.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let temporary = path.with_file_name(name);
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    std::fs::rename(&temporary, path)
}

/// Writes `run.json`.
///
/// # Errors
/// Whatever the file system says.
pub fn write_run(directory: &Path, record: &RunRecord) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(record).map_err(io::Error::other)?;
    text.push(b'\n');
    replace_file(&directory.join(RUN_FILE), &text)
}

/// Reads `run.json`.
///
/// # Errors
/// The file cannot be read, is not a run record, or was written by a later format.
pub fn read_run(directory: &Path) -> io::Result<RunRecord> {
    let path = directory.join(RUN_FILE);
    let text = std::fs::read(&path)?;
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", path.display()));
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(|error| invalid(error.to_string()))?;
    let format = value.get("format_version").and_then(serde_json::Value::as_u64).unwrap_or(0);
    if format > u64::from(super::run::FORMAT_VERSION) {
        return Err(invalid(format!("format version {format} is newer than this program reads; use a newer rowcliff")));
    }
    serde_json::from_value(value).map_err(|error| invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(batch: u64) -> Sample {
        Sample {
            curve: "sqlite, \"a\"".into(),
            engine: "sqlite".into(),
            batch,
            table_rows: batch * 1000,
            rows: 1000,
            seconds: 0.123_456_789 * batch as f64,
            p50_us: Some(12),
            notes: "first".into(),
            ..Sample::default()
        }
    }

    fn written(batches: u64) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(BATCHES_FILE);
        for batch in 1..=batches {
            // Reopened for every line, as a resumed run does: the header must still come once.
            CsvAppender::open(&path).unwrap().append(&sample(batch)).unwrap();
        }
        (directory, path)
    }

    #[test]
    fn what_is_written_is_read_again() {
        let (_directory, path) = written(5);
        let read = read_batches(&path).unwrap();
        assert_eq!(read.samples, (1..=5).map(sample).collect::<Vec<_>>());
        assert_eq!(read.problems, []);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().next().unwrap(), BATCHES_HEADER.join(","));
        assert_eq!(text.matches("curve,target").count(), 1);
    }

    #[test]
    fn every_prefix_is_readable_and_never_invents_a_sample() {
        let (_directory, path) = written(3);
        let text = std::fs::read(&path).unwrap();
        let header_end = text.iter().position(|&byte| byte == b'\n').unwrap() + 1;
        for end in header_end..=text.len() {
            let read = parse_batches(&text[..end], &path).unwrap();
            let whole_lines = text[..end].iter().filter(|&&byte| byte == b'\n').count() - 1;
            assert_eq!(read.samples, (1..=whole_lines as u64).map(sample).collect::<Vec<_>>(), "cut at {end}");
            let cut = text[end - 1] != b'\n';
            assert_eq!(read.problems.len(), usize::from(cut), "cut at {end}");
        }
    }

    #[test]
    fn a_repeated_header_and_bad_lines_are_left_out_and_said() {
        let (_directory, path) = written(2);
        let text = std::fs::read_to_string(&path).unwrap();
        let twice = format!("{text}{text}");
        let read = parse_batches(twice.as_bytes(), &path).unwrap();
        assert_eq!(read.samples.len(), 4);
        assert_eq!(read.problems.len(), 1);
        assert_eq!(read.problems[0].line, 4);
        assert!(read.problems[0].why.contains("header"));

        for bad in ["NaN", "inf", "-1", "abc", "1e-300"] {
            let line = text.lines().nth(1).unwrap().replace("0.123456789", bad);
            assert!(line.contains(bad));
            let read = parse_batches(format!("{text}{line}\n").as_bytes(), &path).unwrap();
            assert_eq!(read.samples.len(), 2, "{bad} was taken for a duration");
            assert_eq!(read.problems.len(), 1);
            assert_eq!(read.problems[0].line, 4);
        }
    }

    #[test]
    fn another_file_is_not_taken_for_samples() {
        let error = parse_batches(b"a,b\n1,2\n", Path::new("x.csv")).unwrap_err();
        assert!(error.to_string().contains("x.csv"));
    }

    #[test]
    fn replacing_a_file_leaves_no_temporary_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.json");
        replace_file(&path, b"one").unwrap();
        replace_file(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
