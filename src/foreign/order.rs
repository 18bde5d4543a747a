//! Lines of one column in the order of sizes: what cannot be a measurement is left out, repeats at one size become their median.

use super::number::Cell;
use super::series::{Figures, Request};
use super::{Cumulative, Refused, Unit};
use crate::analyse::median;
use crate::record::store::Problem;

/// Faster than any memory: a counter that wrapped, not a load.
pub const IMPOSSIBLE_ROWS_PER_SECOND: f64 = 1e12;
/// Thirty years: a time of the day, not the duration of a batch.
const IMPOSSIBLE_SECONDS: f64 = 1e9;
/// So many lines behind the last size are another run, not lines out of order.
const ANOTHER_RUN: usize = 3;

/// One line: its number, its place, its figure where it has a usable one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The line's number in the file, from 1.
    pub line: u64,
    /// Its place on the horizontal axis.
    pub x: f64,
    /// Its figure; `None` where it is no measurement.
    pub y: Option<f64>,
}

/// Says that a line is left out, and why.
pub fn left_out(request: &Request<'_>, line: u64, why: String, out: &mut Figures) {
    let why = format!("{}: {why}; left out", request.column);
    out.problems.push(Problem { file: request.file.to_owned(), line, why });
}

/// Figures that can be measurements, and places that are numbers. A line with a place but without a usable figure stays as a point
/// without one, so that the next batch does not get its rows.
pub fn usable(mut cells: Vec<(u64, Option<Cell>, Cell)>, request: &Request<'_>, out: &mut Figures) -> Vec<Point> {
    end_of_run(&mut cells, request, out);
    let mut points = Vec::with_capacity(cells.len());
    for (at, (line, x, y)) in cells.into_iter().enumerate() {
        let x = match x {
            None => Ok((at + 1) as f64),
            Some(Cell::Number(x)) if (0.0..9e15).contains(&x) => Ok(x),
            Some(Cell::Number(x)) => Err(format!("{x} is no size")),
            Some(Cell::Empty) => Err("the line has no size".into()),
            Some(Cell::Text(text)) => Err(format!("{text:?} is no size")),
        };
        let x = match x {
            Ok(x) => x,
            Err(why) => {
                left_out(request, line, why, out);
                continue;
            }
        };
        let y = figure(&y, request.unit).map_err(|why| left_out(request, line, why, out)).ok();
        points.push(Point { line, x, y });
    }
    points
}

/// Zeros from some line on to the end are no intervals without rows: the run was over.
fn end_of_run(cells: &mut Vec<(u64, Option<Cell>, Cell)>, request: &Request<'_>, out: &mut Figures) {
    let is_zero = |cell: &Cell| matches!(cell, Cell::Number(y) if *y == 0.0);
    let zeros = cells.iter().rev().take_while(|(_, _, y)| is_zero(y)).count();
    let end = cells.len() - zeros;
    if zeros < 2 || end == 0 {
        return;
    }
    let (line, x, _) = &cells[end - 1];
    let place = match x {
        Some(Cell::Number(x)) => format!("{x} (line {line})"),
        _ => format!("line {line}"),
    };
    let (file, column) = (request.file.display(), request.column);
    out.notes.push(format!("{file}: {column}: the run ended at {place}; the {zeros} zeros after it are left out"));
    cells.truncate(end);
}

fn figure(cell: &Cell, unit: Unit) -> Result<f64, String> {
    let rate = unit == Unit::RowsPerSecond;
    let what = if rate { "speed" } else { "duration" };
    let y = match cell {
        Cell::Empty => return Err("no figure".into()),
        Cell::Text(text) => return Err(format!("{text:?} is no number")),
        Cell::Number(y) => *y,
    };
    let seconds = y * unit.seconds();
    match () {
        () if !y.is_finite() || y < 0.0 => Err(format!("{y} is no {what}")),
        () if y == 0.0 && rate => Err("no rows in this interval, so a row has no duration".into()),
        () if y == 0.0 => Err("0 is too short to be a duration".into()),
        () if rate && y > IMPOSSIBLE_ROWS_PER_SECOND => Err(format!("{y} rows/s is impossible")),
        () if !rate && seconds > IMPOSSIBLE_SECONDS => {
            Err(format!("{seconds} s is no duration of a batch (a time of the day?)"))
        }
        () => Ok(seconds),
    }
}

/// Lines in the order of sizes. A file that goes down throughout is read from its end; lines of one size with several figures are
/// repeats, and their median is used; any other line that is not beyond the last one is left out.
///
/// # Errors
/// The sizes begin again: two runs stand in one file, and nothing tells which line is of which.
pub fn ordered(mut points: Vec<Point>, request: &Request<'_>, out: &mut Figures) -> Result<Vec<Point>, Refused> {
    let falls = points.windows(2).all(|pair| pair[1].x <= pair[0].x);
    if falls && points.last().map(|point| point.x) < points.first().map(|point| point.x) {
        out.notes.push(format!("{}: the sizes go down from line to line; read from the end", request.file.display()));
        points.reverse();
    }
    // Of totals and of times, and of intervals whose sizes are totals, a second line of one size is no second measurement.
    let is_repeatable = matches!(request.cumulative, None | Some(Cumulative::No | Cumulative::Fresh))
        && !request.meaning.is_total
        && !request.is_interval
        && !matches!(request.axis, super::series::Axis::Time { .. });
    let mut kept: Vec<(Point, Vec<Point>)> = Vec::with_capacity(points.len());
    let mut behind: Vec<(Point, Point)> = Vec::new();
    for point in points {
        let last = kept.last().map(|(last, _)| *last);
        match (last, kept.binary_search_by(|(other, _)| other.x.total_cmp(&point.x))) {
            (_, Ok(at)) => kept[at].1.push(point),
            (Some(last), Err(_)) if point.x < last.x => behind.push((point, last)),
            _ => kept.push((point, Vec::new())),
        }
    }
    begins_again(request, &kept, &behind, is_repeatable)?;
    for (point, last) in behind {
        let why = format!("{} is out of order after {} in line {}", point.x, last.x, last.line);
        left_out(request, point.line, why, out);
    }
    let (mut sizes, mut most) = (0, 0);
    let mut ordered = Vec::with_capacity(kept.len());
    for (first, others) in kept {
        let figures: Vec<f64> = std::iter::once(first).chain(others.iter().copied()).filter_map(|one| one.y).collect();
        if is_repeatable && figures.iter().any(|y| *y != figures[0]) {
            (sizes, most) = (sizes + 1, most.max(figures.len()));
            ordered.push(Point { y: median(&figures), ..first });
            continue;
        }
        for other in &others {
            left_out(request, other.line, format!("{} stood in line {} too", other.x, first.line), out);
        }
        let y = first.y.or_else(|| figures.first().copied());
        ordered.push(Point { y, ..first });
    }
    if sizes > 0 {
        let (file, column) = (request.file.display(), request.column);
        let tells = if request.offered.is_empty() {
            String::new()
        } else {
            format!("; --series COLUMN tells runs apart ({})", request.offered.join(", "))
        };
        out.notes.push(format!(
            "{file}: {column}: {sizes} sizes have several figures (up to {most}): repeats, of which the median is used{tells}"
        ));
    }
    Ok(ordered)
}

/// Whether the lines behind the last size are a run of their own.
fn begins_again(
    request: &Request<'_>,
    kept: &[(Point, Vec<Point>)],
    behind: &[(Point, Point)],
    is_repeatable: bool,
) -> Result<(), Refused> {
    if let ([(first, others)], true) = (kept, request.is_interval)
        && others.len() >= ANOTHER_RUN
    {
        let cause = format!("the table keeps its size of {} rows in all lines: it is no curve over the size", first.x);
        return Err(Refused::new(request.file, cause, "name the column of the rows inserted so far with --x COLUMN"));
    }
    let again = kept.iter().flat_map(|(first, others)| others.iter().map(move |other| (first, other)));
    let other_figures: Vec<&Point> = again
        .filter(|(first, other)| first.y.is_some() && first.y != other.y && other.y.is_some())
        .map(|(_, other)| other)
        .collect();
    let distinct = kept.iter().filter(|(_, others)| !others.is_empty()).count();
    let from = match () {
        () if behind.len() >= ANOTHER_RUN => behind[0].0,
        () if !is_repeatable
            && !request.is_interval
            && distinct >= ANOTHER_RUN
            && other_figures.len() >= ANOTHER_RUN =>
        {
            *other_figures[0]
        }
        () => return Ok(()),
    };
    let next = if request.offered.is_empty() {
        "give each run in a file of its own".to_owned()
    } else {
        format!(
            "give each run in a file of its own, or --series with the column that tells them apart ({})",
            request.offered.join(", ")
        )
    };
    let cause = format!("it goes back to {} here: several runs stand in this file", from.x);
    Err(Refused { line: Some(from.line), ..Refused::new(request.file, cause, next) })
}
