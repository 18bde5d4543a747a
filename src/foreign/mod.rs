//! Files that rowcliff did not write: any CSV, and the output of some loaders, read as samples.
//!
//! - [`table`]: the file as a header and lines of cells.
//! - [`text`]: the bytes of the file as lines.
//! - [`known`], [`loaders`]: formats that are known without being described.
//! - [`number`]: cells as numbers, whatever the decimal sign.
//! - [`meaning`]: what the name of a column says.
//! - [`order`]: the lines of a column in the order of sizes.
//! - [`series`]: one column of figures as samples.
//!
//! Two rules. What could be read in two ways is refused, with file, line, column and the flag that decides; it is never guessed in
//! silence. What cannot be a measurement is listed with its line and left out, and the rest is used.

mod axis;
pub mod known;
pub mod loaders;
pub mod meaning;
pub mod number;
pub mod order;
pub mod series;
pub mod table;
pub mod text;

use std::path::{Path, PathBuf};

use self::meaning::Meaning;
use self::number::{Cell, Column};
use self::series::{Axis, Figures, Request};
use self::table::Table;
use crate::record::Sample;
use crate::record::store::Problem;

/// What the figures of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    Minutes,
    Hours,
    /// Rows per second.
    RowsPerSecond,
}

impl Unit {
    /// Seconds of one; 1 for a speed, which is one for each second already.
    pub fn seconds(self) -> f64 {
        match self {
            Self::Microseconds => 1e-6,
            Self::Milliseconds => 1e-3,
            Self::Seconds | Self::RowsPerSecond => 1.0,
            Self::Minutes => 60.0,
            Self::Hours => 3600.0,
        }
    }
}

/// Whether the figures of a column add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cumulative {
    /// Each figure is of its own batch.
    No,
    /// Totals: running totals where they never go down, totals of fresh tables where they do.
    Totals,
    /// Totals since the start of one load.
    Running,
    /// Each line is the whole load of a table of its own, from empty to the line's size.
    Fresh,
}

/// The sign before the decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decimal {
    /// `5.01`.
    Point,
    /// `5,01`.
    Comma,
}

/// What is said about a file. Everything may be left out where the file itself tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForeignOptions {
    /// The column of table sizes, or of batch numbers.
    pub x: Option<String>,
    /// The columns of figures.
    pub y: Vec<String>,
    /// The columns that tell curves apart.
    pub series: Vec<String>,
    /// What the figures are.
    pub unit: Option<Unit>,
    /// Rows of each batch (of each event, for sysbench).
    pub rows_per_batch: Option<u64>,
    /// Whether the figures add up.
    pub cumulative: Option<Cumulative>,
    /// What stands between columns.
    pub delimiter: Option<char>,
    /// The sign before the decimals.
    pub decimal: Option<Decimal>,
}

impl ForeignOptions {
    /// Whether anything was said.
    pub fn is_said(&self) -> bool {
        *self != Self::default()
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Foreign {
    /// Its samples; the curve is called by its column.
    pub samples: Vec<Sample>,
    /// Lines that were left out.
    pub problems: Vec<Problem>,
    /// How it was read, as far as that was not said.
    pub notes: Vec<String>,
    /// The name of the horizontal column, where it is not the size of the table: then nothing may be said about table sizes.
    pub other_x: Option<String>,
}

/// A file that is not read, because it can be read in two ways or in none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {cause}\n  {next}", place = self.place())]
pub struct Refused {
    pub file: PathBuf,
    /// The line, from 1, where one line is to blame.
    pub line: Option<u64>,
    /// The column, where one column is to blame.
    pub column: Option<String>,
    pub cause: String,
    pub next: String,
}

impl Refused {
    fn new(file: &Path, cause: impl Into<String>, next: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, column: None, cause: cause.into(), next: next.into() }
    }

    fn at(mut self, line: u64, column: &str) -> Self {
        self.line = Some(line);
        self.column = Some(column.to_owned());
        self
    }

    fn of_column(mut self, column: &str) -> Self {
        self.column = Some(column.to_owned());
        self
    }

    fn place(&self) -> String {
        let line = self.line.map_or_else(String::new, |line| format!(":{line}"));
        let column = self.column.as_ref().map_or_else(String::new, |column| format!(": column {column:?}"));
        format!("{}{line}{column}", self.file.display())
    }
}

/// Reads a file that rowcliff did not write.
///
/// # Errors
/// It can be read in two ways, needs something that was not said, or has no usable line.
pub fn read(text: &[u8], file: &Path, options: &ForeignOptions) -> Result<Foreign, Refused> {
    let mut out = Foreign::default();
    let text = text::decoded(text, file)?;
    let text = text.trim_start_matches('\u{feff}');
    let (whole, tail) = whole_lines(text);
    let (mut table, options, is_interval) = opened((whole, tail), file, options, &mut out)?;
    let groups = match options.series.as_slice() {
        [] => table.group_columns(),
        named => named
            .iter()
            .map(|name| table.find(name).ok_or_else(|| missing(&table, file, "--series", name)))
            .collect::<Result<_, _>>()?,
    };
    let x = choose_x(&table, file, &options, &groups)?;
    let groups: Vec<usize> = groups.into_iter().filter(|at| Some(*at) != x).collect();
    let ys = choose_y(&table, file, &options, x, &groups)?;
    let needed: Vec<usize> = x.into_iter().chain(ys.iter().copied()).collect();
    if table.drop_cut(&[&needed[..], &groups].concat()).is_some() {
        cut(tail, whole, file, &mut out.problems);
    }
    let decimal = options.decimal.or_else(|| number::decimal_of_columns(&table, &needed));
    let x_column = x.map(|x| number::column(&table, x, decimal, file)).transpose()?;
    let offered = table.offered(&[&needed[..], &groups].concat());
    let mut refusals = Vec::new();
    for (name, lines) in table.groups(&groups) {
        for &y in &ys {
            let column = number::column(&table, y, decimal, file)?;
            let of = Reading { table: &table, file, options: &options, is_interval, offered: &offered };
            match of.one_curve((x, x_column.as_ref()), (y, &column), &lines, name.as_deref()) {
                Ok(figures) => merge(&mut out, figures),
                Err(refused) if refused.line.is_none() && refused.column.is_none() => refusals.push(refused),
                Err(refused) => return Err(refused),
            }
        }
    }
    match (out.samples.is_empty(), refusals) {
        (false, refusals) => {
            out.notes.extend(refusals.iter().map(|refused| format!("{}: {}", refused.place(), refused.cause)))
        }
        (true, refusals) => return Err(nothing(file, &out.problems, refusals)),
    }
    // Several columns often have the same bad line.
    out.problems.sort_by_key(|problem| problem.line);
    out.problems.dedup();
    out.notes.dedup();
    Ok(out)
}

/// The file as a table, what is to be read of it, and whether its format is known.
fn opened(
    (whole, tail): (&str, &str),
    file: &Path,
    options: &ForeignOptions,
    out: &mut Foreign,
) -> Result<(Table, ForeignOptions, bool), Refused> {
    if let Some(known) = known::recognise(whole, options) {
        out.notes.push(format!("{}: {}", file.display(), known.note));
        cut(tail, whole, file, &mut out.problems);
        return Ok((known.table, known.options, true));
    }
    if options.x.is_none() {
        text::refuse_log(whole, file)?;
    }
    let mut options = options.clone();
    let named = text::named_delimiter(whole);
    options.delimiter = options.delimiter.or(named);
    // An empty line in place of the named delimiter keeps the numbers of the others.
    let rest = if named.is_some() { whole.find('\n').map_or("", |at| &whole[at..]) } else { whole };
    Ok((table::read(rest, tail, file, &options, &mut out.problems)?, options, false))
}

/// The text up to its last line end, and what stands after it: a cut number is still a number.
fn whole_lines(text: &str) -> (&str, &str) {
    text.split_at(text.rfind('\n').map_or(0, |end| end + 1))
}

fn cut(tail: &str, whole: &str, file: &Path, problems: &mut Vec<Problem>) {
    if !tail.is_empty() {
        let line = whole.matches('\n').count() as u64 + 1;
        let why = "the last line is cut (no line end); left out".to_owned();
        problems.push(Problem { file: file.to_owned(), line, why });
    }
}

fn merge(out: &mut Foreign, figures: Figures) {
    out.samples.extend(figures.samples);
    out.problems.extend(figures.problems);
    out.notes.extend(figures.notes);
    out.other_x = out.other_x.take().or(figures.other_x);
}

fn nothing(file: &Path, problems: &[Problem], refusals: Vec<Refused>) -> Refused {
    if let Some(first) = refusals.into_iter().next() {
        return Refused { next: format!("{}{}", first.next, listed(problems)), ..first };
    }
    Refused::new(
        file,
        "no line of it can be used",
        format!("each line with a figure that is a measurement is read{}", listed(problems)),
    )
}

/// The lines that were left out, a line each: with an error they have no other place to be said.
fn listed(problems: &[Problem]) -> String {
    problems.iter().take(20).map(|problem| format!("\n  {problem}")).collect()
}

/// The column of sizes; `None` where lines are counted instead.
fn choose_x(table: &Table, file: &Path, options: &ForeignOptions, groups: &[usize]) -> Result<Option<usize>, Refused> {
    if let Some(wanted) = &options.x {
        if wanted == known::LINES {
            return Ok(None);
        }
        return table.find(wanted).map(Some).ok_or_else(|| missing(table, file, "--x", wanted));
    }
    let likely: Vec<usize> =
        table.columns().filter(|&at| !groups.contains(&at) && Meaning::of(&table.header[at]).is_table_size()).collect();
    let batches = || table.columns().find(|&at| Meaning::of(&table.header[at]).is_batch_number());
    match (likely.as_slice(), options.rows_per_batch) {
        ([one], _) => Ok(Some(*one)),
        ([], Some(_)) if batches().is_some() => Ok(batches()),
        ([], _) => {
            let times = "(a column of batch numbers needs --rows-per-batch N)";
            Err(Refused::new(
                file,
                format!("no column is known to be the size of the table; the columns are {}", table.names()),
                format!("name the column of rows in the table with --x COLUMN {times}"),
            ))
        }
        (several, _) => {
            let names: Vec<String> = several.iter().map(|&at| format!("{:?}", table.header[at])).collect();
            Err(Refused::new(
                file,
                format!("several columns may be the size of the table: {}", names.join(", ")),
                "say which with --x COLUMN",
            ))
        }
    }
}

/// The columns of figures: those named, or all whose names tell a unit and that are no running means.
fn choose_y(
    table: &Table,
    file: &Path,
    options: &ForeignOptions,
    x: Option<usize>,
    groups: &[usize],
) -> Result<Vec<usize>, Refused> {
    let mut out = Vec::new();
    for wanted in &options.y {
        if let Some(at) = table.find(wanted) {
            out.push(at);
            continue;
        }
        // A comma list is taken where it is no name of its own and each part is one.
        let parts: Option<Vec<usize>> = wanted.split(',').map(|part| table.find(part.trim())).collect();
        out.extend(parts.ok_or_else(|| missing(table, file, "--y", wanted))?);
    }
    if out.is_empty() {
        let with_unit = |at: &usize| {
            let meaning = Meaning::of(&table.header[*at]);
            meaning.unit.is_some() && !meaning.is_total && !meaning.is_time_of_day
        };
        out = table.columns().filter(|at| Some(*at) != x && !groups.contains(at)).filter(with_unit).collect();
    }
    if out.is_empty() {
        return Err(Refused::new(
            file,
            format!("no column's name tells a unit; the columns are {}", table.names()),
            "name the figures with --y COLUMN and what they are with --unit ms|s|min|h|rows/s",
        ));
    }
    Ok(out)
}

fn missing(table: &Table, file: &Path, flag: &str, wanted: &str) -> Refused {
    Refused::new(
        file,
        format!("{flag} {wanted}: there is no such column; the columns are {}", table.names()),
        format!("give {flag} one of these names, or the number of the column from 1"),
    )
}

/// What every curve of the file is read with.
struct Reading<'a> {
    table: &'a Table,
    file: &'a Path,
    options: &'a ForeignOptions,
    is_interval: bool,
    offered: &'a [String],
}

impl Reading<'_> {
    fn one_curve(
        &self,
        (x, x_column): (Option<usize>, Option<&Column>),
        (y, y_column): (usize, &Column),
        lines: &[usize],
        group: Option<&str>,
    ) -> Result<Figures, Refused> {
        let name = self.table.header[y].as_str();
        let meaning = Meaning::of(name);
        let unit = self.options.unit.or(meaning.unit).ok_or_else(|| {
            let next = "say what the figures are with --unit ms|s|min|h|rows/s";
            Refused::new(self.file, "its name tells no unit", next).of_column(name)
        })?;
        let axis = match (x, x_column) {
            (Some(x), Some(column)) => {
                let sizes: Vec<&Cell> = lines.iter().map(|&at| &column.cells[at]).collect();
                axis::of(&self.table.header[x], &sizes, self.options.rows_per_batch, self.is_interval, self.file)?
            }
            _ => Axis::Lines,
        };
        // `rows (millions)` counts rows as well as `rows` does.
        let scale = match (&axis, x) {
            (Axis::Rows { .. }, Some(x)) => Meaning::of(&self.table.header[x]).scale,
            _ => 1.0,
        };
        let request = Request {
            file: self.file,
            curve: group.map_or_else(
                || name.to_owned(),
                |group| if self.table.figures() > 1 { format!("{group} {name}") } else { group.to_owned() },
            ),
            column: name,
            axis,
            unit,
            meaning,
            rows_per_batch: self.options.rows_per_batch,
            cumulative: self.options.cumulative,
            is_interval: self.is_interval,
            offered: self.offered.to_vec(),
        };
        let points = lines.iter().map(|&at| {
            let x = x_column.map(|column| match &column.cells[at] {
                Cell::Number(size) => Cell::Number(size * scale),
                other => other.clone(),
            });
            (self.table.lines[at].number, x, y_column.cells[at].clone())
        });
        series::samples(&request, points.collect())
    }
}
