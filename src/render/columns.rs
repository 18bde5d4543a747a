//! The columns of a table of batches: one list for people and for machines, so that both show the same figures.
//!
//! People get scaled figures and a dash where a figure is not known; machines get plain numbers in fixed units, an empty
//! cell in CSV and null in JSON.

use super::table::Align;
use crate::analyse::{Baseline, Curve};
use crate::reading::counted::Moved;
use crate::record::Sample;
use crate::record::store::BATCHES_HEADER;
use crate::units::{grouped, human_rows, significant};

/// What stands in a table where a figure is not known.
pub const UNKNOWN: &str = "-";

/// One batch with all that its line is made of.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    pub curve: &'a Curve,
    pub sample: &'a Sample,
    /// Rows per second from the first batch to this one.
    pub mean: Option<f64>,
    pub baseline: Option<Baseline>,
    pub moved: Moved,
    /// Decimals of seconds, the same for all lines of a curve.
    pub places: usize,
}

impl Row<'_> {
    fn per_row(&self, figure: Option<f64>) -> Cell {
        let rows = self.sample.rows;
        figure.filter(|figure| figure.is_finite() && rows > 0).map_or(Cell::Unknown, |figure| {
            // Six decimals: one page in a million rows is still seen.
            Cell::Real((figure / rows as f64 * 1e6).round() / 1e6)
        })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Unknown,
    Whole(u64),
    /// Any number.
    Real(f64),
    Word(String),
}

impl Cell {
    /// A figure that is a number, or is not known.
    pub(super) fn real(figure: Option<f64>) -> Self {
        figure.filter(|figure| figure.is_finite()).map_or(Self::Unknown, Self::Real)
    }

    /// A count, or that it is not known.
    pub(super) fn whole(figure: Option<u64>) -> Self {
        figure.map_or(Self::Unknown, Self::Whole)
    }

    /// For CSV: nothing where nothing is known.
    pub fn csv(&self) -> String {
        match self {
            Self::Unknown => String::new(),
            Self::Whole(number) => number.to_string(),
            Self::Real(number) => number.to_string(),
            Self::Word(word) => word.clone(),
        }
    }

    /// For JSON: null where nothing is known.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Self::Unknown => serde_json::Value::Null,
            Self::Whole(number) => (*number).into(),
            Self::Real(number) => (*number).into(),
            Self::Word(word) => word.as_str().into(),
        }
    }
}

/// Who sees a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Always,
    /// Machines: people have it in the heading.
    Machines,
    /// Whoever asks for all.
    Wide,
}

#[derive(Clone, Copy)]
pub struct Column {
    /// Its name in CSV and JSON, with its unit.
    pub name: &'static str,
    /// Its title in a table.
    pub title: &'static str,
    /// Where its cells stand in a table.
    pub align: Align,
    seen: Seen,
    get: fn(&Row<'_>) -> Cell,
    text: fn(&Row<'_>, &Cell) -> String,
}

impl Column {
    const fn new(name: &'static str, title: &'static str, get: fn(&Row<'_>) -> Cell) -> Self {
        Self { name, title, align: Align::Right, seen: Seen::Always, get, text: plain }
    }

    const fn wide(self) -> Self {
        Self { seen: Seen::Wide, ..self }
    }

    const fn for_machines(self) -> Self {
        Self { seen: Seen::Machines, ..self }
    }

    const fn left(self) -> Self {
        Self { align: Align::Left, ..self }
    }

    const fn written(self, text: fn(&Row<'_>, &Cell) -> String) -> Self {
        Self { text, ..self }
    }

    /// The figure of a batch.
    pub fn get(&self, row: &Row<'_>) -> Cell {
        (self.get)(row)
    }

    /// The figure of a batch for people.
    pub fn text(&self, row: &Row<'_>) -> String {
        match self.get(row) {
            Cell::Unknown => UNKNOWN.into(),
            cell => (self.text)(row, &cell),
        }
    }
}

/// The columns that people compare.
const MAIN: &[Column] = &[
    Column::new("run", "run", |row| Cell::Word(row.curve.run.clone())).for_machines(),
    Column::new("curve", "curve", |row| Cell::Word(row.curve.name.clone())).for_machines(),
    Column::new("batch", "batch", |row| Cell::Whole(row.sample.batch)),
    Column::new("table_rows", "rows in table", |row| Cell::Whole(row.sample.table_rows))
        .written(|row, _| human_rows(row.sample.table_rows)),
    Column::new("rows", "rows", |row| Cell::Whole(row.sample.rows)).for_machines(),
    Column::new("seconds", "seconds", |row| Cell::Real(row.sample.seconds))
        .written(|row, _| format!("{:.*}", row.places, row.sample.seconds)),
    Column::new("inserts_per_sec", "inserts/s", |row| Cell::real(speed(row.sample))).written(rate),
    Column::new("mean_inserts_per_sec", "mean/s", |row| Cell::real(row.mean)).written(rate),
    Column::new("slowdown", "slowdown", |row| {
        Cell::real(row.baseline.and_then(|baseline| baseline.slowdown(row.sample)))
    })
    .written(|_, cell| factor(number(cell))),
    Column::new("p99_us", "p99 ms", |row| Cell::whole(row.sample.p99_us)).written(|_, cell| milliseconds(cell)),
    Column::new("reads_per_row", "reads/row", |row| row.per_row(row.moved.reads)),
    Column::new("written_bytes_per_row", "bytes/row", |row| {
        row.per_row(row.sample.written_bytes.map(|bytes| bytes as f64))
    }),
];

/// What stands between those and the notes when all are asked for.
const MORE: &[Column] = &[
    Column::new("syncs_per_row", "fsyncs/row", |row| row.per_row(row.moved.syncs)).wide(),
    Column::new("server_cpu_us_per_row", "server us/row", |row| {
        row.per_row(row.sample.server_cpu_seconds.map(|seconds| seconds * 1e6))
    })
    .wide(),
    Column::new("client_cpu_us_per_row", "client us/row", |row| {
        row.per_row(row.sample.client_cpu_seconds.map(|seconds| seconds * 1e6))
    })
    .wide(),
    Column::new("read_bytes_per_row", "read bytes/row", |row| {
        row.per_row(row.sample.read_bytes.map(|bytes| bytes as f64))
    })
    .wide(),
    Column::new("table_bytes_per_row", "table bytes/row", |row| table_bytes_per_row(row.sample)).wide(),
];

const NOTES: Column = Column::new("notes", "notes", |row| Cell::Word(row.sample.notes.clone())).left();

/// Columns of `batches.csv` that show in a table under a title of their own; the others that are asked for with all keep their
/// names.
const TITLES: &[(&str, &str)] = &[
    ("encode_seconds", "encode s"),
    ("gap_seconds", "gap s"),
    ("stall_seconds", "stall s"),
    ("p50_us", "p50 ms"),
    ("p999_us", "p99.9 ms"),
    ("max_us", "max ms"),
    ("client_cpu_seconds", "client s"),
    ("server_cpu_seconds", "server s"),
    ("read_bytes", "read bytes"),
    ("written_bytes", "written bytes"),
    ("data_bytes", "data bytes"),
    ("index_bytes", "index bytes"),
];

pub fn for_people(wide: bool) -> Vec<Shown> {
    let is_seen = |column: &&Column| column.seen == Seen::Always || wide && column.seen == Seen::Wide;
    let mut out: Vec<Shown> = MAIN.iter().chain(MORE).filter(is_seen).map(|column| Shown::Known(*column)).collect();
    if wide {
        let rest = BATCHES_HEADER.iter().filter(|name| TITLES.iter().any(|(known, _)| known == *name));
        out.extend(rest.chain(["statements", "retries"].iter()).map(|name| Shown::OfSample(name)));
    }
    out.push(Shown::Known(NOTES));
    out
}

pub fn for_machines(wide: bool) -> Vec<Shown> {
    let is_seen = |column: &&Column| column.seen != Seen::Wide || wide;
    let mut out: Vec<Shown> = MAIN.iter().chain(MORE).filter(is_seen).map(|column| Shown::Known(*column)).collect();
    if wide {
        let is_new =
            |name: &&&str| !MAIN.iter().chain(MORE).any(|column| column.name == **name) && **name != NOTES.name;
        out.extend(BATCHES_HEADER.iter().filter(is_new).map(|name| Shown::OfSample(name)));
    }
    out.push(Shown::Known(NOTES));
    out
}

/// A column that is shown.
#[derive(Clone, Copy)]
pub enum Shown {
    /// One of the list.
    Known(Column),
    /// A column of `batches.csv` as it is.
    OfSample(&'static str),
}

impl Shown {
    /// Its name in CSV and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Known(column) => column.name,
            Self::OfSample(name) => name,
        }
    }

    /// Its title in a table.
    pub fn title(&self) -> &'static str {
        match self {
            Self::Known(column) => column.title,
            Self::OfSample(name) => TITLES.iter().find(|(known, _)| known == name).map_or(name, |(_, title)| title),
        }
    }

    /// Where its cells stand in a table.
    pub fn align(&self) -> Align {
        match self {
            Self::Known(column) => column.align,
            Self::OfSample(_) => Align::Right,
        }
    }

    /// The figure of a batch.
    pub fn get(&self, row: &Row<'_>) -> Cell {
        match self {
            Self::Known(column) => column.get(row),
            Self::OfSample(name) => of_sample(row.sample, name),
        }
    }

    /// The figure of a batch for people.
    pub fn text(&self, row: &Row<'_>) -> String {
        match (self, self.get(row)) {
            (Self::Known(column), _) => column.text(row),
            (_, Cell::Unknown) => UNKNOWN.into(),
            (Self::OfSample(name), cell) if name.ends_with("_us") => milliseconds(&cell),
            (_, cell) => plain(row, &cell),
        }
    }
}

/// A column of the sample by its name, as the store writes it.
fn of_sample(sample: &Sample, name: &str) -> Cell {
    let value =
        serde_json::to_value(sample).ok().and_then(|mut value| value.get_mut(name).map(serde_json::Value::take));
    match value {
        Some(serde_json::Value::Number(number)) => {
            number.as_u64().map_or_else(|| Cell::real(number.as_f64()), Cell::Whole)
        }
        Some(serde_json::Value::String(word)) => Cell::Word(word),
        _ => Cell::Unknown,
    }
}

fn speed(sample: &Sample) -> Option<f64> {
    (sample.seconds > 0.0).then(|| sample.rows as f64 / sample.seconds)
}

fn table_bytes_per_row(sample: &Sample) -> Cell {
    let bytes = sample.table_bytes();
    let per_row = bytes.filter(|_| sample.table_rows > 0).map(|bytes| bytes as f64 / sample.table_rows as f64);
    Cell::real(per_row.map(|bytes| (bytes * 1e3).round() / 1e3))
}

fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Whole(number) => Some(*number as f64),
        Cell::Real(number) => Some(*number),
        Cell::Unknown | Cell::Word(_) => None,
    }
}

fn plain(_: &Row<'_>, cell: &Cell) -> String {
    match cell {
        Cell::Unknown => UNKNOWN.into(),
        Cell::Whole(number) => grouped(*number),
        Cell::Real(number) if number.abs() >= 1000.0 => grouped(number.round() as u64),
        Cell::Real(number) => significant(*number),
        Cell::Word(word) => word.clone(),
    }
}

/// Microseconds as milliseconds.
pub(super) fn milliseconds(cell: &Cell) -> String {
    match number(cell).map(|micros| micros / 1e3) {
        Some(milliseconds) if milliseconds >= 1000.0 => grouped(milliseconds.round() as u64),
        Some(milliseconds) => significant(milliseconds),
        None => UNKNOWN.into(),
    }
}

fn rate(_: &Row<'_>, cell: &Cell) -> String {
    match number(cell) {
        Some(rate) if rate < 100.0 => format!("{rate:.1}"),
        Some(rate) => grouped(rate.round() as u64),
        None => UNKNOWN.into(),
    }
}

/// A factor for people: `1.25x`.
pub fn factor(factor: Option<f64>) -> String {
    match factor {
        Some(factor) if factor.is_finite() && factor < 100.0 => format!("{factor:.2}x"),
        Some(factor) if factor.is_finite() => format!("{}x", grouped(factor.round() as u64)),
        _ => UNKNOWN.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::{RunSamples, group};

    fn with_row<T>(sample: Sample, moved: Moved, call: impl FnOnce(&Row<'_>) -> T) -> T {
        let curves = group(&[RunSamples { run: "r".into(), samples: vec![sample] }]).curves;
        let row =
            Row { curve: &curves[0], sample: &curves[0].samples[0], mean: None, baseline: None, moved, places: 3 };
        call(&row)
    }

    fn cell(row: &Row<'_>, name: &str) -> Cell {
        for_machines(true).iter().find(|column| column.name() == name).unwrap().get(row)
    }

    #[test]
    fn figures_per_row_are_derived_and_the_unknown_stays_unknown() {
        let sample = Sample {
            curve: "c".into(),
            rows: 1000,
            table_rows: 4000,
            seconds: 0.5,
            written_bytes: Some(64_000),
            data_bytes: Some(400_000),
            index_bytes: Some(40_000),
            server_cpu_seconds: Some(0.02),
            p99_us: Some(1500),
            ..Sample::default()
        };
        let moved = Moved { reads: Some(250.0), syncs: None };
        with_row(sample, moved, |row| {
            assert_eq!(cell(row, "reads_per_row"), Cell::Real(0.25));
            assert_eq!(cell(row, "written_bytes_per_row"), Cell::Real(64.0));
            assert_eq!(cell(row, "server_cpu_us_per_row"), Cell::Real(20.0));
            assert_eq!(cell(row, "table_bytes_per_row"), Cell::Real(110.0));
            for name in ["syncs_per_row", "read_bytes_per_row", "stall_seconds", "retries", "slowdown"] {
                assert_eq!(cell(row, name), Cell::Unknown, "{name}");
                assert_eq!((cell(row, name).csv().as_str(), cell(row, name).json()), ("", serde_json::Value::Null));
            }
            let texts: Vec<String> = for_people(false).iter().map(|column| column.text(row)).collect();
            assert_eq!(texts, ["0", "4k", "0.500", "2,000", "-", "-", "1.50", "0.250", "64.0", ""]);
        });
    }

    #[test]
    fn all_columns_of_the_samples_are_there_when_all_are_asked_for() {
        let names: Vec<&str> = for_machines(true).iter().map(Shown::name).collect();
        for name in BATCHES_HEADER {
            assert_eq!(names.iter().filter(|known| **known == name).count(), 1, "{name}");
        }
        assert!(for_machines(false).len() < names.len());
    }
}
