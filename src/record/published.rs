//! Figures that somebody published, as `plots/published/` keeps them: a line for each.

use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::detail::{self, Lines};

/// The first line of such a file.
pub const PUBLISHED_HEADER: &str = "source,machine,server_version,engine,key,settings,table_rows,probe,connections,ops,iterations,\
seconds_avg,seconds_min,seconds_max,ops_per_sec,inserts_per_sec,notes";

/// One published figure. What its source does not say is empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PublishedLine {
    /// Where it was published.
    pub source: String,
    pub machine: String,
    /// Version of the server.
    pub server_version: String,
    pub engine: String,
    pub key: String,
    /// Settings, in the words of the source.
    pub settings: String,
    /// Rows in the table.
    pub table_rows: Option<u64>,
    /// The probe's word; empty for a bulk insert.
    pub probe: String,
    pub connections: Option<u32>,
    /// Operations of an iteration.
    pub ops: Option<u64>,
    pub iterations: Option<u32>,
    /// Mean seconds of an iteration.
    pub seconds_avg: Option<f64>,
    pub seconds_min: Option<f64>,
    pub seconds_max: Option<f64>,
    /// Operations per second.
    pub ops_per_sec: Option<f64>,
    /// Rows inserted per second.
    pub inserts_per_sec: Option<f64>,
    /// How the figure is to be read.
    pub notes: String,
}

impl PublishedLine {
    /// Whether it is a bulk insert and no probe.
    pub fn is_load(&self) -> bool {
        self.probe.is_empty()
    }

    /// Operations per second: as published, or from operations and mean seconds.
    pub fn rate(&self) -> Option<f64> {
        let derived = || Some(self.ops? as f64 / self.seconds_avg.filter(|seconds| *seconds > 0.0)?);
        match self.is_load() {
            true => self.inserts_per_sec,
            false => self.ops_per_sec.or_else(derived),
        }
    }
}

/// Whether a file begins as a file of published figures does.
pub fn is_published(path: &Path) -> bool {
    let mut start = Vec::new();
    let file = std::fs::File::open(path).ok().filter(|_| path.is_file());
    file.is_some_and(|file| {
        let length = PUBLISHED_HEADER.len() as u64;
        file.take(length).read_to_end(&mut start).is_ok() && start == PUBLISHED_HEADER.as_bytes()
    })
}

/// Reads a file of published figures.
///
/// # Errors
/// The file cannot be read.
pub fn read_published(path: &Path) -> io::Result<Lines<PublishedLine>> {
    detail::read(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> Vec<PublishedLine> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("plots/published").join(name);
        assert!(is_published(&path), "{name}");
        let Lines { lines, problems } = read_published(&path).unwrap();
        assert_eq!(problems, []);
        assert!(lines.iter().all(|line| !line.source.is_empty() && !line.engine.is_empty()), "{name}");
        lines
    }

    #[test]
    fn the_files_hold_what_the_posts_print() {
        let soliddb = file("soliddb.csv");
        assert_eq!(soliddb.len(), 35);
        let find = |probe: &str, connections: u32, ops: u64| {
            let is_it = |line: &&PublishedLine| {
                line.probe == probe && line.connections == Some(connections) && line.ops == Some(ops)
            };
            soliddb.iter().filter(is_it).collect::<Vec<_>>()
        };
        let [slow] = find("insert", 200, 10_000)[..] else { panic!("one line") };
        assert_eq!((slow.seconds_avg, slow.seconds_min, slow.seconds_max), (Some(5.784), Some(4.630), Some(6.733)));
        assert!((slow.rate().unwrap() - 1728.9).abs() < 0.1);
        let seconds: Vec<Option<f64>> = find("mixed", 1, 1_000).iter().map(|line| line.seconds_avg).collect();
        assert_eq!(seconds, [0.364, 0.371, 0.336, 0.315].map(Some));
        let sum: f64 = soliddb.iter().filter_map(|line| line.seconds_avg).sum();
        assert!((sum - 58.312).abs() < 0.0005, "{sum}");
        assert!(soliddb.iter().all(|line| line.iterations == Some(10) && line.table_rows.is_none()));

        let rates = |name: &str| -> Vec<Option<f64>> { file(name).iter().map(PublishedLine::rate).collect() };
        assert_eq!(rates("innodb-plugin.csv"), [176.32, 332.82, 334.47, 325.75, 742.80, 736.40].map(Some));
        assert_eq!(rates("kvs.csv"), [110_000.0, 39_000.0, 32_000.0, 34_000.0].map(Some));
        assert_eq!(rates("pbxt.csv"), [Some(60_000.0), Some(16_000.0), None, None]);
        assert_eq!(file("pbxt.csv")[2].table_rows, Some(16_000_000));
    }

    #[test]
    fn other_files_are_not_taken_for_published_ones() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.csv");
        std::fs::write(&path, "rows,seconds\n1,2\n").unwrap();
        assert!(!is_published(&path) && !is_published(directory.path()) && !is_published(Path::new("/nowhere")));
        std::fs::write(&path, format!("{PUBLISHED_HEADER}\r\n")).unwrap();
        assert!(is_published(&path));
    }
}
