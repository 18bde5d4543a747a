//! The journal: what resume needs beside the samples. One JSON line each, in the order in which things happened; the
//! boundary of a batch is written before its sample, so that every sample on disk has its boundary on disk too.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::boundary::Boundary;
use crate::targets::ServerSessions;

/// Name of the journal in a run directory.
pub const JOURNAL_FILE: &str = "journal";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Line {
    /// A batch is whole.
    Boundary {
        /// Number of the curve in the plan.
        curve: usize,
        /// The batch; 0 for the table before the first one.
        batch: u64,
        /// The table after it.
        boundary: Boundary,
    },
    /// Sessions were opened that change the table.
    Sessions {
        /// Number of the curve in the plan.
        curve: usize,
        /// When the server was started, by its own clock: after a restart the numbers come again.
        server_started_at: Option<i64>,
        /// The server's numbers of the sessions.
        ids: Vec<u64>,
        /// Where the sessions are on several endpoints of a cluster: all of them, and the two fields above are empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        endpoints: Vec<ServerSessions>,
    },
    /// The rows beyond `batch` have been removed, and the lines above this one count no more: the curve goes on from there.
    BackTo {
        /// Number of the curve in the plan.
        curve: usize,
        /// The last batch that is whole.
        batch: u64,
    },
    /// A probe begins that changes the table.
    Probe {
        /// Number of the curve in the plan.
        curve: usize,
        /// The batch after which it runs.
        batch: u64,
        /// Rows in the table.
        table_rows: u64,
        probe: String,
        /// Operations of an iteration, where they are limited.
        ops: Option<u64>,
        /// Which set of rows it asks for.
        turn: u64,
    },
    /// What it changed has been put back.
    ProbeDone {
        /// Number of the curve in the plan.
        curve: usize,
        /// The batch after which it ran.
        batch: u64,
    },
}

impl Line {
    /// Sessions that were opened, on one server or on the endpoints of a cluster.
    pub fn sessions(curve: usize, mut servers: Vec<ServerSessions>) -> Self {
        match servers.as_mut_slice() {
            [ServerSessions { endpoint: None, server_started_at, ids }] => Self::Sessions {
                curve,
                server_started_at: *server_started_at,
                ids: std::mem::take(ids),
                endpoints: Vec::new(),
            },
            _ => Self::Sessions { curve, server_started_at: None, ids: Vec::new(), endpoints: servers },
        }
    }

    fn curve(&self) -> usize {
        match self {
            Self::Boundary { curve, .. }
            | Self::Sessions { curve, .. }
            | Self::BackTo { curve, .. }
            | Self::Probe { curve, .. }
            | Self::ProbeDone { curve, .. } => *curve,
        }
    }
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
        let path = directory.join(JOURNAL_FILE);
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        // A line that something cut must not swallow the next one.
        if std::fs::read(&path)?.last().is_some_and(|&byte| byte != b'\n') {
            file.write_all(b"\n")?;
        }
        Ok(Self { file })
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

/// What the journal tells of one curve.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    lines: Vec<Line>,
}

impl Told {
    /// Reads the journal of a run, as far as its lines are whole: one that was being written when something died is left
    /// out.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn read(directory: &Path, curve: usize) -> io::Result<Self> {
        let text = match std::fs::read_to_string(directory.join(JOURNAL_FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            other => other?,
        };
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        Ok(Self { lines: lines.filter(|line| line.curve() == curve).collect() })
    }

    /// The boundary after a batch, if it was written and still counts.
    pub fn boundary(&self, wanted: u64) -> Option<Boundary> {
        if wanted == 0 {
            return Some(Boundary::default());
        }
        for line in self.lines.iter().rev() {
            match line {
                Line::Boundary { batch, boundary, .. } if *batch == wanted => return Some(*boundary),
                // What stands above was undone.
                Line::BackTo { batch, .. } if *batch < wanted => return None,
                _ => {}
            }
        }
        None
    }

    /// The highest batch that was whole: the one after it is the last that can have left rows behind.
    pub fn highest_batch(&self) -> u64 {
        self.lines.iter().fold(0, |highest, line| match line {
            Line::Boundary { batch, .. } => highest.max(*batch),
            Line::BackTo { batch, .. } => *batch,
            Line::Sessions { .. } | Line::Probe { .. } | Line::ProbeDone { .. } => highest,
        })
    }

    /// The probe whose changes were not put back.
    pub fn unfinished_probe(&self) -> Option<&Line> {
        let is_probe = |line: &&Line| matches!(line, Line::Probe { .. } | Line::ProbeDone { .. });
        self.lines.iter().rfind(is_probe).filter(|line| matches!(line, Line::Probe { .. }))
    }

    /// All sessions, by server.
    pub fn sessions(&self) -> Vec<ServerSessions> {
        let of_line = |line: &Line| match line {
            Line::Sessions { endpoints, .. } if !endpoints.is_empty() => endpoints.clone(),
            Line::Sessions { server_started_at, ids, .. } => {
                vec![ServerSessions { endpoint: None, server_started_at: *server_started_at, ids: ids.clone() }]
            }
            _ => Vec::new(),
        };
        self.lines.iter().flat_map(of_line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_unfinished_until_its_changes_are_put_back() {
        let directory = tempfile::tempdir().unwrap();
        let probe = Line::Probe { curve: 1, batch: 3, table_rows: 30, probe: "oltp".into(), ops: Some(5), turn: 0 };
        let read = || Told::read(directory.path(), 1).unwrap();
        assert_eq!(read().unfinished_probe(), None);
        Journal::open(directory.path()).unwrap().append(&probe).unwrap();
        assert_eq!(read().unfinished_probe(), Some(&probe));
        // Going back to a boundary takes no rows away that the probe may have changed.
        Journal::open(directory.path()).unwrap().append(&Line::BackTo { curve: 1, batch: 2 }).unwrap();
        assert_eq!(read().unfinished_probe(), Some(&probe));
        Journal::open(directory.path()).unwrap().append(&Line::ProbeDone { curve: 1, batch: 3 }).unwrap();
        assert_eq!(read().unfinished_probe(), None);
        assert_eq!(read().highest_batch(), 2);
    }

    #[test]
    fn the_newest_line_counts_a_cut_one_does_not_and_what_was_undone_is_unknown() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Told::read(directory.path(), 2).unwrap(), Told::default());
        let at = |batch: u64, max_id| Boundary { table_rows: batch * 10, max_id };
        let boundary = |batch, max_id| Line::Boundary { curve: 2, batch, boundary: at(batch, max_id) };
        let on_one = ServerSessions { endpoint: None, server_started_at: Some(5), ids: vec![7, 8] };
        let sessions = Line::sessions(2, vec![on_one.clone()]);
        let other = Line::Boundary { curve: 1, batch: 9, boundary: at(9, None) };
        for line in [&sessions, &boundary(1, Some(10)), &boundary(1, Some(14)), &other, &boundary(2, Some(20))] {
            Journal::open(directory.path()).unwrap().append(line).unwrap();
        }
        let told = Told::read(directory.path(), 2).unwrap();
        assert_eq!(told.boundary(0), Some(Boundary::default()));
        assert_eq!(told.boundary(1), Some(at(1, Some(14))));
        assert_eq!(told.boundary(2), Some(at(2, Some(20))));
        assert_eq!(told.boundary(3), None);
        assert_eq!(told.highest_batch(), 2);
        assert_eq!(told.sessions(), [on_one]);

        let path = directory.path().join(JOURNAL_FILE);
        let text = std::fs::read(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 3]).unwrap();
        assert_eq!(Told::read(directory.path(), 2).unwrap().boundary(2), None);

        Journal::open(directory.path()).unwrap().append(&Line::BackTo { curve: 2, batch: 0 }).unwrap();
        let told = Told::read(directory.path(), 2).unwrap();
        assert_eq!(told.boundary(1), None, "it was undone");
        assert_eq!(told.highest_batch(), 0, "its rows were removed");
    }

    #[test]
    fn sessions_of_one_server_are_written_as_before_and_those_of_several_by_endpoint() {
        let directory = tempfile::tempdir().unwrap();
        let old = r#"{"what":"sessions","curve":1,"server_started_at":5,"ids":[7,8]}"#;
        let on_one = ServerSessions { endpoint: None, server_started_at: Some(5), ids: vec![7, 8] };
        assert_eq!(serde_json::to_string(&Line::sessions(1, vec![on_one.clone()])).unwrap(), old);
        let at =
            |name: &str, id| ServerSessions { endpoint: Some(name.into()), server_started_at: Some(9), ids: vec![id] };
        let mut journal = Journal::open(directory.path()).unwrap();
        journal.append(&Line::sessions(1, vec![on_one.clone()])).unwrap();
        journal.append(&Line::sessions(1, vec![at("a:1", 7), at("b:2", 7)])).unwrap();
        assert_eq!(Told::read(directory.path(), 1).unwrap().sessions(), [on_one, at("a:1", 7), at("b:2", 7)]);
    }
}
