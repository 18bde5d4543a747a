//! What the horizontal column is, by its name and by its figures.

use std::path::Path;

use super::Refused;
use super::meaning::Meaning;
use super::number::Cell;
use super::series::Axis;

/// Seconds since 1970, from 2001 to 2042.
const EPOCH: std::ops::Range<f64> = 1e9..2.3e9;
/// The lines of a load stand no further apart than a day.
const DAY: f64 = 86_400.0;

/// What the horizontal column is.
///
/// # Errors
/// It counts lines and nobody said how many rows a batch has, or it holds times that are no numbers.
pub fn of(
    name: &str,
    cells: &[&Cell],
    rows_per_batch: Option<u64>,
    is_known: bool,
    file: &Path,
) -> Result<Axis, Refused> {
    let meaning = Meaning::of(name);
    let numbers: Vec<f64> =
        cells.iter().filter_map(|cell| if let Cell::Number(x) = cell { Some(*x) } else { None }).collect();
    let owned = || name.to_owned();
    if let Some(seconds) = clock(&meaning, &numbers) {
        return Ok(Axis::Time { name: owned(), seconds });
    }
    let is_text = |cell: &&&Cell| matches!(cell, Cell::Text(text) if is_clock(text));
    if !cells.is_empty() && cells.iter().filter(is_text).count() * 2 > cells.len() {
        let cause = "it holds times, not the size of the table";
        return Err(Refused::new(file, cause, "name the column of rows in the table with --x COLUMN").of_column(name));
    }
    if meaning.is_batch_number() {
        return Ok(Axis::Batches(owned()));
    }
    if meaning.is_setting {
        return Ok(Axis::Other(owned()));
    }
    let rows = Axis::Rows { name: owned(), before: meaning.is_before };
    if is_known || meaning.scale > 1.0 || !moves_by_one(&numbers) {
        return Ok(rows);
    }
    match rows_per_batch {
        Some(1) => Ok(rows),
        Some(_) if !meaning.is_table_size() => Ok(Axis::Batches(owned())),
        said => {
            let cause = match said {
                Some(said) => format!("it moves by 1 from line to line, and --rows-per-batch says {said} rows"),
                None => "it moves by 1 from line to line: it counts batches, not rows".to_owned(),
            };
            let next = "say how many rows a batch has with --rows-per-batch N (1 when each line is one row), or name the column of rows in \
                        the table with --x COLUMN";
            Err(Refused::new(file, cause, next).of_column(name))
        }
    }
}

/// Seconds of one in the column, when it is a time.
fn clock(meaning: &Meaning, numbers: &[f64]) -> Option<f64> {
    let unit = meaning.unit.filter(|unit| *unit != super::Unit::RowsPerSecond && meaning.per_rows.is_none());
    let first = numbers.first().copied().unwrap_or(0.0);
    let within = |scale: f64| {
        let steps = || numbers.windows(2).map(|pair| (pair[1] - pair[0]) * scale);
        EPOCH.contains(&(first * scale)) && numbers.len() > 1 && steps().all(|step| (0.0..=DAY).contains(&step))
    };
    match () {
        () if (meaning.is_time_of_day || unit.is_some()) && within(1e-3) => Some(1e-3),
        () if unit.is_some() => unit.map(super::Unit::seconds),
        () if meaning.is_time_of_day => Some(1.0),
        () if meaning.is_of_rows() => None,
        () if within(1.0) => Some(1.0),
        () if within(1e-3) => Some(1e-3),
        () => None,
    }
}

/// `10:00:00`, `2024-01-01 10:00`, `2024-01-01T10:00:00Z`, `01.02.2024`.
fn is_clock(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let signs = text.chars().filter(|c| matches!(c, ':' | '-' | '/' | '.')).count();
    let rest = text.chars().all(|c| c.is_ascii_digit() || ":-/. TZ+,".contains(c));
    digits >= 3 && signs >= 1 && rest
}

/// Whole numbers, most of them one apart.
fn moves_by_one(numbers: &[f64]) -> bool {
    let steps: Vec<f64> = numbers.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step != 0.0).collect();
    let ones = steps.iter().filter(|step| step.abs() == 1.0).count();
    steps.len() >= 2 && ones * 10 >= steps.len() * 6
}
