//! The options of `plot` and `report`.

// The doc comments here are the help text of the program: their brackets are no links.
#![allow(rustdoc::broken_intra_doc_links)]

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::foreign::ForeignArgs;

/// The options of `plot`.
#[derive(Debug, Args)]
pub struct PlotArgs {
    /// Directories of runs, or files of samples
    #[arg(value_name = "RUN_DIR|CSV", required = true)]
    pub runs: Vec<PathBuf>,

    /// Directory for the pictures, or a file NAME.svg or NAME.png for one picture; the first run's own directory when it is left out
    #[arg(long, short, value_name = "FILE|DIR", value_parser = crate::cli::parse_new_path)]
    pub out: Option<PathBuf>,

    /// File formats, as a comma list. svg, or what the name of the file says
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    pub format: Vec<Format>,

    /// Which pictures, as a comma list. seconds,rate, and probes where there are any
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    pub what: Vec<What>,

    /// What the horizontal axis counts
    #[arg(long, value_name = "AXIS", value_enum, default_value_t = Against::Rows)]
    pub against: Against,

    /// Logarithmic vertical axis
    #[arg(long)]
    pub log: bool,

    /// Width and height in pixels
    #[arg(long, value_name = "WxH", value_parser = parse_size, default_value = "1200x700")]
    pub size: (u32, u32),

    /// Colours
    #[arg(long, value_name = "THEME", value_enum, default_value_t = ThemeWord::Light)]
    pub theme: ThemeWord,

    /// Title of the pictures
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,

    /// Small multiples: one plot for each engine, key or flush setting
    #[arg(long, value_name = "BY", value_enum, default_value_t = FacetWord::None)]
    pub facet: FacetWord,

    /// Only curves whose name has this in it; * stands for anything, case does not matter. Repeatable: any of them
    #[arg(long, value_name = "PATTERN")]
    pub only: Vec<String>,

    /// Draw the running median of N batches, the batches themselves as light dots
    #[arg(long, value_name = "off|N", value_parser = parse_smooth, default_value = "off")]
    pub smooth: Smooth,

    /// How files of other programs are read.
    #[command(flatten)]
    pub foreign: ForeignArgs,
}

/// The options of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Directories of runs, or files of samples
    #[arg(value_name = "RUN_DIR|CSV", required = true)]
    pub runs: Vec<PathBuf>,

    /// The file to write. report.html in the first run's own directory
    #[arg(long, short, value_name = "FILE", value_parser = crate::cli::parse_new_path)]
    pub out: Option<PathBuf>,

    /// Title of the report
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,

    /// Only curves whose name has this in it; * stands for anything, case does not matter. Repeatable: any of them
    #[arg(long, value_name = "PATTERN")]
    pub only: Vec<String>,

    /// How files of other programs are read.
    #[command(flatten)]
    pub foreign: ForeignArgs,
}

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Scalable.
    Svg,
    /// Pixels.
    Png,
}

/// A picture, or all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// Seconds per batch
    Seconds,
    /// Inserts per second
    Rate,
    /// Statement latency: p50, p99, longest
    Latency,
    /// Inserts per second inside batches
    Inside,
    /// Pages read per row
    Counters,
    /// Bytes written per row
    Bytes,
    /// Speed at the end relative to the best, engine by setting
    Heat,
    /// Operations per second of the probes, over table size and over connections
    Probes,
    /// Every picture for which there are figures
    All,
}

/// What the horizontal axis counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Against {
    /// Rows in the table
    Rows,
    /// Bytes of the table
    Bytes,
    /// Time spent loading
    Time,
}

/// Colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ThemeWord {
    /// For paper
    Light,
    /// For screens
    Dark,
}

/// What small multiples differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FacetWord {
    /// Storage engines
    Engine,
    /// Primary keys
    Key,
    /// Flush settings
    Flush,
    /// One plot
    None,
}

/// Batches of a running median, if there is to be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Smooth(pub Option<usize>);

fn parse_size(text: &str) -> Result<(u32, u32), String> {
    let problem = || format!("{text:?} is not a size; write it as 1200x700");
    let (width, height) = text.split_once(['x', 'X']).ok_or_else(problem)?;
    let side = |text: &str| text.trim().parse::<u32>().map_err(|_| problem());
    let (width, height) = (side(width)?, side(height)?);
    match (480..=20_000).contains(&width) && (300..=20_000).contains(&height) {
        true => Ok((width, height)),
        false => Err("a picture has from 480x300 to 20000x20000 pixels".into()),
    }
}

fn parse_smooth(text: &str) -> Result<Smooth, String> {
    match text {
        "off" => Ok(Smooth(None)),
        number => match number.parse::<usize>() {
            Ok(batches) if batches >= 2 => Ok(Smooth(Some(batches))),
            Ok(_) => Err("a running median needs at least 2 batches; off draws the batches themselves".into()),
            Err(_) => Err(format!("{text:?} is neither off nor a number of batches")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_pixels_that_have_room_for_a_plot() {
        assert_eq!(parse_size("1200x700"), Ok((1200, 700)));
        for text in ["1200", "x", "1200x", "10x10", "99999x700", "1200x-700", "axb"] {
            assert!(parse_size(text).is_err(), "{text} was taken");
        }
    }

    #[test]
    fn smoothing_is_off_or_a_number_of_batches() {
        assert_eq!(parse_smooth("off"), Ok(Smooth(None)));
        assert_eq!(parse_smooth("5"), Ok(Smooth(Some(5))));
        assert!(parse_smooth("1").is_err() && parse_smooth("on").is_err());
    }
}
