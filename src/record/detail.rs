//! What goes beside the samples: `counters.csv` (what else moved) and `seconds.csv` (rows second by second).
//!
//! Both are written before the line of their batch in `batches.csv`, so that a batch which is recorded has its details. A
//! run that died in between has details of a batch that is not recorded: [`drop_lines_beyond`] takes them out.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};

use super::probe::PROBES_FILE;
use super::store::{Problem, replace_file};

/// Name of the file of counters in a run directory.
pub const COUNTERS_FILE: &str = "counters.csv";
/// Name of the file of seconds in a run directory.
pub const SECONDS_FILE: &str = "seconds.csv";
/// Ends the name of a counter whose figure is not a change but its value at the end of the batch.
pub const AT_END: &str = "@end";

/// Stands between the name of an endpoint and that of a counter, where a target has several endpoints: `HOST:PORT/counter`. The
/// name without an endpoint is the sum over all of them.
pub const OF_ENDPOINT: char = '/';

/// One line of `counters.csv`: how far a counter moved from the end of the batch before to the end of this one.
///
/// A name that ends with `@end` is a level (dirty pages, memory available), and the figure is its value at the end of the
/// batch. `host.*` are figures of the machine. `host.device_busy_share` is a share of the time, from 0 to 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CounterLine {
    /// Full name of the curve, as in `batches.csv`.
    pub curve: String,
    /// Batch of the curve.
    pub batch: u64,
    /// The counter, in lower case.
    pub counter: String,
    /// How far it moved; empty where it went backwards (somebody reset it, or the server started anew).
    #[serde(serialize_with = "plain")]
    pub delta: Option<f64>,
}

/// One line of `seconds.csv`: rows acknowledged in one second of a batch's timed section.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondLine {
    /// Full name of the curve, as in `batches.csv`.
    pub curve: String,
    /// Batch of the curve.
    pub batch: u64,
    /// Second of the timed section, from 1: second 2 is what came after 1 s and not after 2 s.
    pub second: u64,
    /// Rows acknowledged in it. The seconds of a batch add up to its rows.
    pub rows: u64,
}

/// Whole numbers without a decimal point: counters are counts as a rule.
fn plain<S: Serializer>(figure: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    match figure {
        // Beyond 2^53 neighbours are more than 1 apart, and the decimal form is as good as any.
        Some(whole) if whole.fract() == 0.0 && whole.abs() < 9.0e15 => to.serialize_i64(*whole as i64),
        Some(other) => to.serialize_f64(*other),
        None => to.serialize_none(),
    }
}

/// The whole lines of one of the two files, with what had to be left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Lines<T> {
    /// The lines in the order of the file.
    pub lines: Vec<T>,
    /// Lines that were left out.
    pub problems: Vec<Problem>,
}

/// Reads `counters.csv`; a run that has none (an older one, or one without counters) has no lines.
///
/// # Errors
/// The file is there and cannot be read.
pub fn read_counters(directory: &Path) -> io::Result<Lines<CounterLine>> {
    read(&directory.join(COUNTERS_FILE))
}

/// Reads `seconds.csv`; a run that has none has no lines.
///
/// # Errors
/// The file is there and cannot be read.
pub fn read_seconds(directory: &Path) -> io::Result<Lines<SecondLine>> {
    read(&directory.join(SECONDS_FILE))
}

pub(super) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Lines<T>> {
    let mut out = Lines { lines: Vec::new(), problems: Vec::new() };
    let mut text = Vec::new();
    match File::open(path) {
        Ok(mut file) => file.read_to_end(&mut text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(out),
        Err(error) => return Err(error),
    };
    let whole = whole_lines(&text);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(&text[..whole]);
    for line in reader.deserialize::<T>() {
        match line {
            Ok(line) => out.lines.push(line),
            Err(error) => {
                let line = error.position().map_or(0, csv::Position::line);
                out.problems.push(Problem { file: path.to_owned(), line, why: format!("{error}; left out") });
            }
        }
    }
    if whole < text.len() {
        let line = text[..whole].iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
        let why = "the last line is cut (no line end); left out".to_owned();
        out.problems.push(Problem { file: path.to_owned(), line, why });
    }
    Ok(out)
}

/// Where the last whole line ends. A cut number is still a number, so that a line without its end is none.
fn whole_lines(text: &[u8]) -> usize {
    text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)
}

/// Takes out of `counters.csv`, `seconds.csv` and `probes.csv` what belongs to batches that are not recorded: `is_recorded` is asked
/// with the full name of a curve and a batch. A cut last line goes too, so that the next one is not appended to it.
/// Gives the number of lines taken out. A file of which nothing goes is left as it is.
///
/// # Errors
/// Whatever the file system says; the files are then as before, or the first of them is done.
pub fn drop_lines_beyond(directory: &Path, is_recorded: &dyn Fn(&str, u64) -> bool) -> io::Result<u64> {
    let mut dropped = 0;
    for name in [COUNTERS_FILE, SECONDS_FILE, PROBES_FILE] {
        dropped += drop_lines(&directory.join(name), is_recorded)?;
    }
    Ok(dropped)
}

fn drop_lines(path: &PathBuf, is_recorded: &dyn Fn(&str, u64) -> bool) -> io::Result<u64> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let whole = whole_lines(&text);
    let mut dropped = u64::from(whole < text.len());
    let mut kept = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
    let reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&text[..whole]);
    for (index, line) in reader.into_records().enumerate() {
        let line = line.map_err(io::Error::other)?;
        let batch = line.get(1).and_then(|batch| batch.parse::<u64>().ok());
        let stays = match (index, line.get(0), batch) {
            (0, ..) => true,
            (_, Some(curve), Some(batch)) => is_recorded(curve, batch),
            _ => false,
        };
        if stays {
            kept.write_record(&line).map_err(io::Error::other)?;
        } else {
            dropped += 1;
        }
    }
    if dropped > 0 {
        let bytes = kept.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
        replace_file(path, &bytes)?;
    }
    Ok(dropped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::store::CsvAppender;

    fn counter(batch: u64, delta: Option<f64>) -> CounterLine {
        CounterLine { curve: "a, \"b\"".into(), batch, counter: "innodb_pages_read".into(), delta }
    }

    #[test]
    fn counters_are_whole_numbers_where_they_are_and_unknown_is_empty() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(COUNTERS_FILE);
        let lines = vec![counter(1, Some(12.0)), counter(1, None), counter(2, Some(0.25)), counter(2, Some(-3.0))];
        let mut file = CsvAppender::open(&path).unwrap();
        file.append_all(&lines[..2]).unwrap();
        file.append_all(&lines[2..]).unwrap();
        file.append_all::<CounterLine>(&[]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "curve,batch,counter,delta\n\"a, \"\"b\"\"\",1,innodb_pages_read,12\n\"a, \"\"b\"\"\",1,innodb_pages_read,\n\
             \"a, \"\"b\"\"\",2,innodb_pages_read,0.25\n\"a, \"\"b\"\"\",2,innodb_pages_read,-3\n"
        );
        assert_eq!(read_counters(directory.path()).unwrap(), Lines { lines, problems: vec![] });
    }

    #[test]
    fn a_run_without_the_files_has_no_lines() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(read_counters(directory.path()).unwrap(), Lines { lines: vec![], problems: vec![] });
        assert_eq!(read_seconds(directory.path()).unwrap(), Lines { lines: vec![], problems: vec![] });
        assert_eq!(drop_lines_beyond(directory.path(), &|_, _| false).unwrap(), 0);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn lines_of_batches_that_are_not_recorded_go_and_a_cut_line_too() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(SECONDS_FILE);
        let line = |batch, second| SecondLine { curve: "c".into(), batch, second, rows: 7 };
        CsvAppender::open(&path).unwrap().append_all(&[line(1, 1), line(1, 2), line(2, 1), line(3, 1)]).unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 2]).unwrap();
        assert_eq!(read_seconds(directory.path()).unwrap().problems.len(), 1);
        let recorded = |curve: &str, batch: u64| curve == "c" && batch <= 1;
        assert_eq!(drop_lines_beyond(directory.path(), &recorded).unwrap(), 2);
        let left = read_seconds(directory.path()).unwrap();
        assert_eq!((left.lines, left.problems), (vec![line(1, 1), line(1, 2)], vec![]));
        assert_eq!(drop_lines_beyond(directory.path(), &recorded).unwrap(), 0);
        // What comes next is appended after whole lines.
        CsvAppender::open(&path).unwrap().append(&line(2, 1)).unwrap();
        assert_eq!(read_seconds(directory.path()).unwrap().lines.len(), 3);
    }
}
