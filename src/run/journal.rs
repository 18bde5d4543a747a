//! The journal: what resume needs beside the samples. One JSON line for each boundary, written before the sample of its
//! batch, so that every sample on disk has its boundary on disk too.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::boundary::Boundary;

/// Name of the journal in a run directory.
pub const JOURNAL_FILE: &str = "journal";

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Number of the curve in the plan.
    pub curve: usize,
    /// The batch that is whole; 0 when the table was just created.
    pub batch: u64,
    /// The table after it.
    pub boundary: Boundary,
    /// The server's ids of the loading connections.
    pub sessions: Vec<u64>,
}

/// Appends to the journal.
#[derive(Debug)]
pub struct Journal {
    file: File,
}

impl Journal {
    /// Opens it, and creates it where it is missing.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn open(directory: &Path) -> io::Result<Self> {
        Ok(Self { file: OpenOptions::new().create(true).append(true).open(directory.join(JOURNAL_FILE))? })
    }

    /// Appends a line, with one write, synced.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn append(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line).map_err(io::Error::other)?;
        text.push(b'\n');
        self.file.write_all(&text)?;
        self.file.sync_data()
    }
}

/// The lines of a journal, as far as they are whole: a line that was being written when something died is left out.
///
/// # Errors
/// The file is there and cannot be read.
pub fn read(directory: &Path) -> io::Result<Vec<Line>> {
    match std::fs::read_to_string(directory.join(JOURNAL_FILE)) {
        Ok(text) => Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The boundary after a batch of a curve, from the newest line that tells.
pub fn boundary_of(lines: &[Line], curve: usize, batch: u64) -> Option<Boundary> {
    lines.iter().rev().find(|line| line.curve == curve && line.batch == batch).map(|line| line.boundary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_line_is_left_out_and_the_newest_line_counts() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(read(directory.path()).unwrap(), []);
        let line = |batch, max_id| Line {
            curve: 2,
            batch,
            boundary: Boundary { table_rows: batch * 10, max_id },
            sessions: vec![7, 8],
        };
        let written = [line(0, None), line(1, Some(10)), line(1, Some(14)), line(2, Some(20))];
        for line in &written {
            Journal::open(directory.path()).unwrap().append(line).unwrap();
        }
        assert_eq!(read(directory.path()).unwrap(), written);
        assert_eq!(boundary_of(&written, 2, 1), Some(Boundary { table_rows: 10, max_id: Some(14) }));
        assert_eq!(boundary_of(&written, 1, 1), None);
        let path = directory.path().join(JOURNAL_FILE);
        let text = std::fs::read(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 3]).unwrap();
        assert_eq!(read(directory.path()).unwrap(), written[..3]);
    }
}
