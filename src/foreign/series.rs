//! One column of figures as the samples of a curve.

use std::path::Path;

use super::meaning::Meaning;
use super::number::Cell;
use super::order::{IMPOSSIBLE_ROWS_PER_SECOND, Point, left_out, ordered, usable};
use super::{Cumulative, Refused, Unit};
use crate::record::Sample;
use crate::record::store::Problem;

/// A step this many times the usual one has batches missing.
const GAP: f64 = 1.5;
/// Totals of a steady load are a fixed cost for each row, within this factor.
const PROPORTIONAL: f64 = 1.5;
/// Rows that a batch is given where only its speed is known.
const NOMINAL_ROWS: u64 = 1_000_000;

/// What the horizontal column is.
#[derive(Debug, Clone, PartialEq)]
pub enum Axis {
    /// Rows in the table, after the batch or before it.
    Rows {
        /// Name of the column.
        name: String,
        before: bool,
    },
    /// Numbers of batches, by its name.
    Batches(String),
    /// Time: sizes are summed up from speeds.
    Time {
        /// Name of the column.
        name: String,
        /// Seconds of one in it.
        seconds: f64,
    },
    /// Something that is not the size of the table, by its name.
    Other(String),
    /// There is none: each line is the next batch.
    Lines,
}

/// What is to be read, and how.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    pub file: &'a Path,
    /// What the curve is to be called.
    pub curve: String,
    /// The column of figures.
    pub column: &'a str,
    pub axis: Axis,
    /// What the figures are.
    pub unit: Unit,
    /// What the column's name says.
    pub meaning: Meaning,
    /// Rows of each batch, where that was said.
    pub rows_per_batch: Option<u64>,
    /// Whether the figures add up, where that was said.
    pub cumulative: Option<Cumulative>,
    /// Each line is known to be an interval, and its size a total: a second line of one size is no repeat.
    pub is_interval: bool,
    /// Columns that may tell runs apart, by name.
    pub offered: Vec<String>,
}

/// The samples of one column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// Samples, in the order of sizes.
    pub samples: Vec<Sample>,
    /// Lines that were left out.
    pub problems: Vec<Problem>,
    /// How the column was read.
    pub notes: Vec<String>,
    /// The name of the horizontal column where it is not the size of the table.
    pub other_x: Option<String>,
}

/// Reads the samples of a column from cells of (line, horizontal, figure).
///
/// # Errors
/// The figures can be read in two ways, or something is missing that only the user knows.
pub fn samples(request: &Request<'_>, cells: Vec<(u64, Option<Cell>, Cell)>) -> Result<Figures, Refused> {
    let mut out = Figures::default();
    needs(request)?;
    let mut points = ordered(usable(cells, request, &mut out), request, &mut out)?;
    fits_rows_per_batch(request, &points)?;
    from_zero(request, &mut points);
    let cumulative = cumulative(request, &points, &mut out)?;
    if let Axis::Other(name) = &request.axis {
        out.other_x = Some(name.clone());
        out.notes.push(format!(
            "{}: {name:?} is not the size of the table, so nothing is said about sizes",
            request.file.display()
        ));
    }
    if matches!(request.axis, Axis::Time { .. }) && points.iter().any(|point| point.y.is_none()) {
        let file = request.file.display();
        out.notes.push(format!("{file}: the rows of lines that were left out are in no size after them"));
    }
    let steps = Steps::of(&points);
    let mut placed = Placed {
        request,
        steps,
        cumulative,
        table_rows: 0.0,
        first: points.first().map_or(0.0, |point| point.x),
        sequence: 0,
    };
    let mut before: Option<Point> = None;
    for (at, point) in points.iter().enumerate() {
        placed.sequence += 1;
        match placed.sample(before, *point, points.get(at + 1)) {
            Ok(Some(sample)) => out.samples.push(sample),
            Ok(None) => {}
            Err(why) => left_out(request, point.line, why, &mut out),
        }
        before = Some(*point);
    }
    // Two lines in one step: numbers by place would make one of them.
    if out.samples.windows(2).any(|pair| pair[0].batch >= pair[1].batch) {
        for (number, sample) in (1..).zip(&mut out.samples) {
            sample.batch = number;
        }
    }
    let missing = steps.gaps(&points);
    if !missing.is_empty() {
        out.notes.push(format!("{}: {}: no batch for {}", request.file.display(), request.column, missing.join(", ")));
    }
    Ok(out)
}

/// Batches that are counted from 0: the first one ends at one batch. A line of 0 without a figure marks the start.
fn from_zero(request: &Request<'_>, points: &mut [Point]) {
    let starts = points.first().is_some_and(|first| first.x == 0.0 && first.y.is_some());
    if matches!(request.axis, Axis::Batches(_)) && starts {
        points.iter_mut().for_each(|point| point.x += 1.0);
    }
}

/// Sizes lie as far apart as the rows of a batch that were said, or a whole number of them where lines leave out batches.
fn fits_rows_per_batch(request: &Request<'_>, points: &[Point]) -> Result<(), Refused> {
    let (Axis::Rows { name, .. }, Some(said)) = (&request.axis, request.rows_per_batch) else { return Ok(()) };
    let steps = Steps::of(points);
    let times = steps.usual / said as f64;
    if points.len() < 3 || !steps.regular || (times > 0.99 && (times - times.round()).abs() <= 0.01 * times) {
        return Ok(());
    }
    let cause = format!("the sizes lie {} apart, and --rows-per-batch says {said} rows", steps.usual);
    let next = "leave --rows-per-batch out, or name another column with --x COLUMN";
    Err(Refused::new(request.file, cause, next).of_column(name))
}

/// What no file can tell.
fn needs(request: &Request<'_>) -> Result<(), Refused> {
    let seconds = request.unit != Unit::RowsPerSecond;
    let refuse = |cause: String, next: &str| Err(Refused::new(request.file, cause, next));
    let rows_known = request.rows_per_batch.is_some() || request.meaning.per_rows.is_some();
    match &request.axis {
        Axis::Batches(name) if !rows_known => refuse(
            format!("{name:?} counts batches, and no column has rows"),
            "say how many rows a batch has with --rows-per-batch N, or name the column of rows in the table with --x COLUMN",
        ),
        Axis::Lines if request.rows_per_batch.is_none() => refuse(
            "it has neither rows nor the size of the table".into(),
            "say how many rows each line loaded with --rows-per-batch N",
        ),
        Axis::Time { name, .. } if seconds => refuse(
            format!("{name:?} is a time, not the size of the table"),
            "name the column of rows in the table with --x COLUMN",
        ),
        Axis::Other(name) if seconds && !rows_known => refuse(
            format!("{name:?} is not the size of the table, so the rows of a batch are not known"),
            "say how many rows a batch has with --rows-per-batch N",
        ),
        _ => Ok(()),
    }
}

/// Whether the figures are totals: said, told by the name, or not open to doubt.
fn cumulative(request: &Request<'_>, points: &[Point], out: &mut Figures) -> Result<Cumulative, Refused> {
    let known: Vec<(u64, f64, f64)> = points.iter().filter_map(|point| Some((point.line, point.x, point.y?))).collect();
    let is_rate = request.unit == Unit::RowsPerSecond;
    let never_down = known.windows(2).all(|pair| pair[0].2 <= pair[1].2);
    let mut say = |how: &str| out.notes.push(format!("{}: {}: {how}", request.file.display(), request.column));
    match request.cumulative {
        Some(Cumulative::Totals) if never_down || is_rate => {
            say(if is_rate { "read as means since the start" } else { "read as running totals" });
            return Ok(Cumulative::Running);
        }
        Some(Cumulative::Totals) => {
            say("the totals go down, so that each line is read as the load of a fresh table of its size");
            return Ok(Cumulative::Fresh);
        }
        Some(said) => return Ok(said),
        None => {}
    }
    if request.meaning.is_total {
        if never_down || is_rate {
            say(if is_rate {
                "a mean since the start by its name; read as such"
            } else {
                "running totals by its name"
            });
            return Ok(Cumulative::Running);
        }
        return Err(Refused::new(
            request.file,
            "by its name it is a total, and it goes down",
            "say --cumulative=fresh when each line is the load of a fresh table, --cumulative=no when each is of its own batch",
        )
        .of_column(request.column));
    }
    if is_rate || request.meaning.is_each || request.meaning.per_rows.is_some() || known.len() < 4 {
        return Ok(Cumulative::No);
    }
    let (first, last) = (known[0], known[known.len() - 1]);
    let grows = never_down && last.2 >= 2.0 * first.2;
    let costs: Vec<f64> = known.iter().filter(|(_, x, _)| *x > 0.0).map(|(_, x, y)| y / x).collect();
    let (low, high) = costs.iter().fold((f64::MAX, 0.0_f64), |(low, high), &cost| (low.min(cost), high.max(cost)));
    let proportional = last.1 >= 2.0 * first.1 && high <= PROPORTIONAL * low;
    if matches!(request.axis, Axis::Rows { .. } | Axis::Batches(_)) && (grows || proportional) {
        let why = if proportional { "in proportion to the size" } else { "from line to line" };
        return Err(Refused::new(
            request.file,
            format!("the figures grow {why}: they may be totals, or batches that get slower"),
            "say --cumulative for totals, --cumulative=no when each is of its own batch",
        )
        .at(known[1].0, request.column));
    }
    Ok(Cumulative::No)
}

/// How far the places of the lines lie apart.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Steps {
    usual: f64,
    /// Whether most are the same.
    regular: bool,
}

impl Steps {
    fn of(points: &[Point]) -> Self {
        let mut steps: Vec<f64> = points.windows(2).map(|pair| pair[1].x - pair[0].x).collect();
        steps.sort_by(f64::total_cmp);
        let Some(&usual) = steps.get(steps.len().saturating_sub(1) / 2) else {
            return Self { usual: 0.0, regular: false };
        };
        let same = steps.iter().filter(|step| (*step - usual).abs() <= usual * 0.01).count();
        Self { usual, regular: same * 10 >= steps.len() * 6 }
    }

    fn is_gap(&self, step: f64) -> bool {
        self.regular && step > GAP * self.usual
    }

    fn gaps(&self, points: &[Point]) -> Vec<String> {
        let wide = points.windows(2).filter(|pair| self.is_gap(pair[1].x - pair[0].x));
        wide.map(|pair| format!("{} to {} (lines {} to {})", pair[0].x, pair[1].x, pair[0].line, pair[1].line))
            .collect()
    }
}

/// Makes samples of points, one after the other.
struct Placed<'a, 'b> {
    request: &'b Request<'a>,
    steps: Steps,
    cumulative: Cumulative,
    /// Rows summed up so far, where sizes are not in the file.
    table_rows: f64,
    /// Where the first line is.
    first: f64,
    sequence: u64,
}

impl Placed<'_, '_> {
    /// `None` for a line that only marks a start.
    fn sample(&mut self, before: Option<Point>, point: Point, next: Option<&Point>) -> Result<Option<Sample>, String> {
        let step = self.step(before, point, next);
        let scale = self.request.rows_per_batch.unwrap_or(1) as f64;
        let own = self.request.rows_per_batch.or(self.request.meaning.per_rows);
        let Some(y) = point.y else {
            // Rows that went in unseen: the sizes after them are too small by a batch at the usual speed, unless rows are known.
            if matches!(self.request.axis, Axis::Lines) {
                self.table_rows += scale;
            }
            return Ok(None);
        };
        let is_rate = self.request.unit == Unit::RowsPerSecond;
        let (rows, seconds, table_rows) = match (&self.request.axis, self.cumulative) {
            (Axis::Time { seconds, .. }, _) => {
                let step = step * seconds;
                let rows = y * scale * step;
                self.table_rows += rows;
                (rows, step, self.table_rows)
            }
            (Axis::Other(_), _) => {
                let rows = own.unwrap_or(NOMINAL_ROWS) as f64;
                (rows, if is_rate { rows / y } else { self.seconds_of(y, rows) }, point.x)
            }
            (Axis::Lines, _) => {
                self.table_rows += scale;
                (scale, if is_rate { scale / y } else { y }, self.table_rows)
            }
            (_, Cumulative::Fresh) => (point.x, if is_rate { point.x / y } else { y }, point.x),
            (axis, Cumulative::Running) => {
                let factor = if matches!(axis, Axis::Batches(_)) { own.unwrap_or(1) as f64 } else { 1.0 };
                let total = |point: Point| point.y.map(|y| if is_rate { point.x * factor / y } else { y });
                let (start, rows) = match before {
                    Some(before) => (total(before), (point.x - before.x) * factor),
                    // A first line far from the start has no batch of its own.
                    None if point.x > GAP * self.reach(point, next) => (None, 0.0),
                    None => (Some(0.0), point.x * factor),
                };
                let (Some(start), Some(end)) = (start, total(point)) else { return Ok(None) };
                if end <= start {
                    return Err(format!("the total does not grow from {start} to {end}"));
                }
                (rows, end - start, point.x * factor)
            }
            (axis, Cumulative::No | Cumulative::Totals) => {
                let (rows, table_rows) = match axis {
                    Axis::Batches(_) => {
                        let rows = own.unwrap_or(1) as f64;
                        (rows, point.x * rows)
                    }
                    Axis::Rows { before: true, .. } => {
                        let rows = own.map_or(step, |rows| rows as f64);
                        (rows, point.x + rows)
                    }
                    _ => (own.map_or(step, |rows| rows as f64), point.x),
                };
                (rows, if is_rate { rows / y } else { self.seconds_of(y, rows) }, table_rows)
            }
        };
        if rows / seconds > IMPOSSIBLE_ROWS_PER_SECOND {
            return Err(format!("{rows} rows in {seconds} s is impossible"));
        }
        if rows.round() < 1.0 {
            return Err("a batch without rows".into());
        }
        Ok(Some(self.made(point, rows, seconds, table_rows)))
    }

    /// Seconds of `rows` rows, where the name says for how many rows the figure stands.
    fn seconds_of(&self, y: f64, rows: f64) -> f64 {
        self.request.meaning.per_rows.map_or(y, |per| y * rows / per as f64)
    }

    /// How far this point's batch reaches: to the point before it, or, where the file has sizes before the batch, to the next.
    fn step(&self, before: Option<Point>, point: Point, next: Option<&Point>) -> f64 {
        let usual = if self.steps.usual > 0.0 { self.steps.usual } else { point.x };
        let starts_before = matches!(self.request.axis, Axis::Rows { before: true, .. });
        let step = match (starts_before, before, next) {
            (true, _, Some(next)) => next.x - point.x,
            (true, _, None) => usual,
            (false, Some(before), _) => point.x - before.x,
            // From an empty table, unless the file begins in the middle of a load.
            (false, None, next) => {
                let reach = self.reach(point, next);
                if point.x > 0.0 && point.x <= GAP * reach { point.x } else { reach }
            }
        };
        if self.steps.is_gap(step) && !matches!(self.request.axis, Axis::Time { .. }) { usual } else { step }
    }

    /// How far a first line's batch can reach: as far as the usual one, or the next one where no size is usual.
    fn reach(&self, point: Point, next: Option<&Point>) -> f64 {
        match next {
            _ if self.steps.regular => self.steps.usual,
            Some(next) => next.x - point.x,
            None => point.x,
        }
    }

    fn made(&self, point: Point, rows: f64, seconds: f64, table_rows: f64) -> Sample {
        // Numbers that leave room for what is missing, so that a gap is seen as one.
        let number = if self.steps.regular && self.steps.usual > 0.0 && !matches!(self.request.axis, Axis::Lines) {
            ((point.x - self.first) / self.steps.usual).round() as u64 + 1
        } else {
            self.sequence
        };
        Sample {
            curve: self.request.curve.clone(),
            engine: self.request.curve.trim().to_owned(),
            repeat: 1,
            batch: number.max(1),
            table_rows: table_rows.round() as u64,
            rows: rows.round() as u64,
            seconds,
            inserts_per_sec: Some(rows.round() / seconds),
            ..Sample::default()
        }
    }
}
