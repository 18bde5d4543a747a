//! The words for files that rowcliff did not write, shared by every command that reads curves.

use clap::{Args, ValueEnum};

use crate::foreign::{Cumulative, Decimal, ForeignOptions, Unit};
use crate::units;

/// How a CSV file of another program is to be read. For runs of rowcliff none of it is needed.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Files of other programs")]
pub struct ForeignArgs {
    /// Column of the rows in the table (or of batch numbers, with --rows-per-batch), by its name or number
    #[arg(long, value_name = "COLUMN")]
    pub x: Option<String>,

    /// Column of figures, by its name or number. Repeatable. All columns whose names tell a unit
    #[arg(long, value_name = "COLUMN")]
    pub y: Vec<String>,

    /// Column that tells curves apart, by its name or number. Repeatable. Columns called series or curve, or engine, method and run
    #[arg(long, value_name = "COLUMN")]
    pub series: Vec<String>,

    /// What the figures are. What the column's name tells, as in Serial(ms)
    #[arg(long, value_name = "UNIT", value_enum)]
    pub unit: Option<UnitWord>,

    /// Rows of each batch, where no column tells
    #[arg(long, value_name = "N", value_parser = units::parse_rows, allow_negative_numbers = true)]
    pub rows_per_batch: Option<u64>,

    /// The figures are totals, not of each batch: running (since the start of one load) or fresh (each line a table of its own);
    /// without a value, what the figures allow
    #[arg(long, value_name = "HOW", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "yes")]
    pub cumulative: Option<CumulativeWord>,

    /// What stands between columns: one sign, or tab. Seen by itself
    #[arg(long, value_name = "SIGN", value_parser = parse_delimiter)]
    pub delimiter: Option<char>,

    /// The sign before the decimals: . or , (or point, comma). Seen by itself
    #[arg(long, value_name = "SIGN", value_parser = parse_decimal)]
    pub decimal: Option<Decimal>,
}

/// What figures are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UnitWord {
    /// Microseconds of a batch.
    Us,
    /// Milliseconds of a batch.
    Ms,
    /// Seconds of a batch.
    S,
    /// Minutes of a batch.
    Min,
    /// Hours of a batch.
    H,
    /// Rows per second.
    #[value(name = "rows/s")]
    RowsPerSecond,
}

/// Whether figures are totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CumulativeWord {
    /// Totals; which kind, the figures tell.
    #[value(alias = "true")]
    Yes,
    /// Each figure is of its own batch.
    #[value(alias = "false")]
    No,
    /// Totals since the start of one load.
    Running,
    /// Each line is the whole load of a table of its own.
    Fresh,
}

impl ForeignArgs {
    /// What was said, without words of the command line.
    pub fn options(&self) -> ForeignOptions {
        ForeignOptions {
            x: self.x.clone(),
            y: self.y.clone(),
            series: self.series.clone(),
            unit: self.unit.map(|unit| match unit {
                UnitWord::Us => Unit::Microseconds,
                UnitWord::Min => Unit::Minutes,
                UnitWord::H => Unit::Hours,
                UnitWord::Ms => Unit::Milliseconds,
                UnitWord::S => Unit::Seconds,
                UnitWord::RowsPerSecond => Unit::RowsPerSecond,
            }),
            rows_per_batch: self.rows_per_batch,
            cumulative: self.cumulative.map(|how| match how {
                CumulativeWord::Yes => Cumulative::Totals,
                CumulativeWord::No => Cumulative::No,
                CumulativeWord::Running => Cumulative::Running,
                CumulativeWord::Fresh => Cumulative::Fresh,
            }),
            delimiter: self.delimiter,
            decimal: self.decimal,
        }
    }
}

fn parse_delimiter(text: &str) -> Result<char, String> {
    let mut signs = text.chars();
    match (text, signs.next(), signs.next()) {
        ("tab" | "\\t", ..) => Ok('\t'),
        (_, Some(sign), None) if sign.is_ascii() && !sign.is_ascii_alphanumeric() && sign != '"' && sign != '\n' => {
            Ok(sign)
        }
        _ => Err(format!("{text:?} is not one sign; write it as ';' or tab")),
    }
}

fn parse_decimal(text: &str) -> Result<Decimal, String> {
    match text {
        "." | "point" => Ok(Decimal::Point),
        "," | "comma" => Ok(Decimal::Comma),
        _ => Err(format!("{text:?} is neither . nor ,")),
    }
}
