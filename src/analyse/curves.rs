//! Samples of one or several runs, sorted into curves, and curves into cells.

use std::collections::{BTreeMap, HashMap};

use super::baseline::{Baseline, baseline};
use super::factor::Factor;
use super::median;
use crate::record::{CurveRecord, Sample};

/// What a curve is called by: every label column except the repeat.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Labels {
    pub target: String,
    pub engine: String,
    /// Primary key, as in `uuid4:char32`.
    pub key: String,
    /// Flush setting asked for.
    pub flush: String,
    /// Flush setting read back, `name=value` words.
    pub flush_in_force: String,
    /// Varied settings, `name=value` words.
    pub settings: String,
    pub method: String,
    pub connections: u32,
    /// Rows of one statement.
    pub statement_rows: u64,
    /// Rows of one transaction.
    pub commit_rows: u64,
}

impl From<&Sample> for Labels {
    fn from(sample: &Sample) -> Self {
        Self {
            target: sample.target.clone(),
            engine: sample.engine.clone(),
            key: sample.key.clone(),
            flush: sample.flush.clone(),
            flush_in_force: sample.flush_in_force.clone(),
            settings: sample.settings.clone(),
            method: sample.method.clone(),
            connections: sample.connections,
            statement_rows: sample.statement_rows,
            commit_rows: sample.commit_rows,
        }
    }
}

impl From<&CurveRecord> for Labels {
    fn from(record: &CurveRecord) -> Self {
        Self {
            target: record.target.clone(),
            engine: record.engine.clone(),
            key: record.key.clone(),
            flush: record.flush.clone(),
            flush_in_force: record.flush_in_force.clone(),
            settings: record.settings.clone(),
            method: record.method.clone(),
            connections: record.connections,
            statement_rows: record.statement_rows,
            commit_rows: record.commit_rows,
        }
    }
}

/// The samples of one run, with the name the run is to be called by.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunSamples {
    /// Name of the run, usually that of its directory.
    pub run: String,
    /// Samples in the order of the file.
    pub samples: Vec<Sample>,
}

/// One repeat of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Full name, as in `batches.csv`.
    pub name: String,
    /// The run it belongs to.
    pub run: String,
    pub labels: Labels,
    /// Repeat of the cell, from 1.
    pub repeat: u32,
    /// Samples, one for each batch, ordered by batch. Batches may be missing.
    pub samples: Vec<Sample>,
}

impl Curve {
    pub fn baseline(&self) -> Option<Baseline> {
        baseline(&self.samples)
    }

    /// What it costs at first and at the end, and how they compare.
    pub fn factor(&self) -> Factor {
        Factor::of(&self.samples)
    }

    /// Rows in the table after the last sample.
    pub fn table_rows(&self) -> u64 {
        self.samples.last().map_or(0, |sample| sample.table_rows)
    }

    /// Sum of the timed sections.
    pub fn load_seconds(&self) -> f64 {
        self.samples.iter().map(|sample| sample.seconds).sum()
    }
}

/// Curves, with what had to be decided on the way.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Grouped {
    /// Curves in the order in which they first appear.
    pub curves: Vec<Curve>,
    /// What a reader should know: batches that came twice, labels that changed.
    pub problems: Vec<String>,
}

/// Sorts the samples of runs into curves.
///
/// A batch that comes twice (a file appended to itself, a batch loaded again after a resume) counts once: the
/// later line wins, and it is said. Curves of the same name in different runs are different curves.
pub fn group(runs: &[RunSamples]) -> Grouped {
    let mut out = Grouped::default();
    for run in runs {
        group_run(run, &mut out);
    }
    out
}

fn group_run(run: &RunSamples, out: &mut Grouped) {
    let mut order: Vec<&str> = Vec::new();
    let mut batches: HashMap<&str, BTreeMap<u64, &Sample>> = HashMap::new();
    let mut twice: HashMap<&str, u64> = HashMap::new();
    for sample in &run.samples {
        let of_curve = batches.entry(&sample.curve).or_insert_with(|| {
            order.push(&sample.curve);
            BTreeMap::new()
        });
        if of_curve.insert(sample.batch, sample).is_some() {
            *twice.entry(&sample.curve).or_default() += 1;
        }
    }
    for name in order {
        let Some(samples) = batches.get(name) else { continue };
        if let Some(count) = twice.get(name) {
            let (noun, verb) = if *count == 1 { ("line", "comes") } else { ("lines", "come") };
            out.problems.push(format!(
                "{}: {name}: {count} {noun} {verb} again for the same batch; the later one counts",
                run.run
            ));
        }
        let Some(first) = samples.values().next() else { continue };
        let labels = Labels::from(*first);
        if let Some(other) = samples.values().find(|sample| Labels::from(**sample) != labels) {
            out.problems.push(format!(
                "{}: {name}: the labels change at batch {}; the curve goes by those of batch {}",
                run.run, other.batch, first.batch
            ));
        }
        out.curves.push(Curve {
            name: name.to_owned(),
            run: run.run.clone(),
            labels,
            repeat: first.repeat,
            samples: samples.values().map(|sample| (*sample).clone()).collect(),
        });
    }
}

/// The repeats of one combination in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell<'a> {
    pub run: &'a str,
    /// The labels that all its curves share.
    pub labels: &'a Labels,
    /// Its curves, ordered by repeat.
    pub curves: Vec<&'a Curve>,
}

/// Puts curves with the same labels, the repeat aside, into one cell; in the order in which they first appear.
pub fn cells(curves: &[Curve]) -> Vec<Cell<'_>> {
    let mut out: Vec<Cell<'_>> = Vec::new();
    for curve in curves {
        match out.iter_mut().find(|cell| cell.run == curve.run && *cell.labels == curve.labels) {
            Some(cell) => cell.curves.push(curve),
            None => out.push(Cell { run: &curve.run, labels: &curve.labels, curves: vec![curve] }),
        }
    }
    for cell in &mut out {
        cell.curves.sort_by_key(|curve| curve.repeat);
    }
    out
}

/// A batch of a cell: the median of its repeats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MedianPoint {
    pub batch: u64,
    /// Rows in the table after it.
    pub table_rows: u64,
    /// Rows of the batch.
    pub rows: u64,
    /// Median seconds of the batch.
    pub seconds: f64,
    /// Repeats that have this batch: where one has stopped early, the median is that of the others.
    pub repeats: usize,
}

impl MedianPoint {
    /// Seconds per million rows; `None` for a batch without rows.
    pub fn seconds_per_million(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.seconds * 1e6 / self.rows as f64)
    }

    /// Rows per second; `None` when the seconds are too short to divide by.
    pub fn inserts_per_sec(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.rows as f64 / self.seconds)
    }
}

impl Cell<'_> {
    /// The median of the repeats, batch by batch. One repeat is its own median.
    ///
    /// Seconds that are no numbers are left out. Repeats have equal batches; should one differ in rows, its seconds are scaled to
    /// the rows of the first repeat.
    pub fn median(&self) -> Vec<MedianPoint> {
        let mut by_batch: BTreeMap<u64, Vec<&Sample>> = BTreeMap::new();
        for sample in self.curves.iter().flat_map(|curve| &curve.samples) {
            by_batch.entry(sample.batch).or_default().push(sample);
        }
        by_batch.into_iter().filter_map(|(batch, samples)| median_point(batch, &samples)).collect()
    }
}

fn median_point(batch: u64, samples: &[&Sample]) -> Option<MedianPoint> {
    let first = samples.first()?;
    let seconds: Vec<f64> = samples
        .iter()
        .map(|sample| match sample.rows {
            rows if rows == first.rows || rows == 0 => sample.seconds,
            rows => sample.seconds * first.rows as f64 / rows as f64,
        })
        .filter(|seconds| seconds.is_finite())
        .collect();
    let repeats = seconds.len();
    median(&seconds).map(|seconds| MedianPoint {
        batch,
        table_rows: first.table_rows,
        rows: first.rows,
        seconds,
        repeats,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(curve: &str, repeat: u32, batch: u64, seconds: f64) -> Sample {
        Sample {
            curve: curve.into(),
            engine: "innodb".into(),
            key: "uuid4:char32".into(),
            repeat,
            batch,
            rows: 1000,
            table_rows: batch * 1000,
            seconds,
            ..Sample::default()
        }
    }

    fn run(name: &str, samples: Vec<Sample>) -> RunSamples {
        RunSamples { run: name.into(), samples }
    }

    #[test]
    fn samples_are_sorted_into_curves_by_batch() {
        let grouped = group(&[run("r", vec![sample("b", 1, 2, 2.0), sample("a", 2, 1, 1.0), sample("b", 1, 1, 1.0)])]);
        assert_eq!(grouped.problems, Vec::<String>::new());
        let names: Vec<&str> = grouped.curves.iter().map(|curve| curve.name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        let batches: Vec<u64> = grouped.curves[0].samples.iter().map(|sample| sample.batch).collect();
        assert_eq!(batches, [1, 2]);
        assert_eq!(grouped.curves[0].table_rows(), 2000);
        assert_eq!(grouped.curves[0].load_seconds(), 3.0);
    }

    #[test]
    fn the_later_line_of_a_batch_wins_and_it_is_said() {
        let grouped = group(&[run("r", vec![sample("a", 1, 1, 1.0), sample("a", 1, 2, 2.0), sample("a", 1, 1, 9.0)])]);
        assert_eq!(grouped.curves[0].samples.len(), 2);
        assert_eq!(grouped.curves[0].samples[0].seconds, 9.0);
        assert_eq!(grouped.problems.len(), 1);
        assert!(grouped.problems[0].contains("1 line comes again"), "{}", grouped.problems[0]);
    }

    #[test]
    fn labels_that_change_are_said() {
        let mut changed = sample("a", 1, 2, 1.0);
        changed.engine = "aria".into();
        let grouped = group(&[run("r", vec![sample("a", 1, 1, 1.0), changed])]);
        assert_eq!(grouped.curves.len(), 1);
        assert_eq!(grouped.curves[0].labels.engine, "innodb");
        assert!(grouped.problems[0].contains("labels change at batch 2"));
    }

    #[test]
    fn the_same_name_in_two_runs_is_two_curves_and_two_cells() {
        let grouped = group(&[run("x", vec![sample("a", 1, 1, 1.0)]), run("y", vec![sample("a", 1, 1, 1.0)])]);
        assert_eq!(grouped.curves.len(), 2);
        assert_eq!(cells(&grouped.curves).len(), 2);
    }

    #[test]
    fn a_cell_is_the_median_of_its_repeats_batch_by_batch() {
        let mut samples = Vec::new();
        for (repeat, seconds) in [(3, [4.0, 9.0]), (1, [1.0, 2.0]), (2, [2.0, 3.0])] {
            for (batch, seconds) in (1..).zip(seconds) {
                samples.push(sample(&format!("a #{repeat}"), repeat, batch, seconds));
            }
        }
        // The first repeat went on alone.
        samples.push(sample("a #1", 1, 3, 7.0));
        let grouped = group(&[run("r", samples)]);
        let cells = cells(&grouped.curves);
        assert_eq!(cells.len(), 1);
        let repeats: Vec<u32> = cells[0].curves.iter().map(|curve| curve.repeat).collect();
        assert_eq!(repeats, [1, 2, 3]);
        let median = cells[0].median();
        let found: Vec<(u64, f64, usize)> =
            median.iter().map(|point| (point.batch, point.seconds, point.repeats)).collect();
        assert_eq!(found, [(1, 2.0, 3), (2, 3.0, 3), (3, 7.0, 1)]);
        assert_eq!(median[0].inserts_per_sec(), Some(500.0));
        assert_eq!(median[0].seconds_per_million(), Some(2000.0));
    }

    #[test]
    fn the_end_is_the_median_of_the_last_three() {
        let grouped = group(&[run(
            "r",
            [1.0, 1.0, 5.0, 100.0, 6.0]
                .iter()
                .zip(1..)
                .map(|(&seconds, batch)| sample("a", 1, batch, seconds))
                .collect(),
        )]);
        assert_eq!(grouped.curves[0].factor().end_seconds_per_million, Some(6000.0));
    }
}
