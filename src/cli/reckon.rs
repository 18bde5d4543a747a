//! The words for commands that reckon with stored curves: `compare` and `forecast`.

use std::path::PathBuf;

use clap::Args;

use super::foreign::ForeignArgs;
use crate::units;

/// The options of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The run, CSV file of another program, or file of published figures (plots/published/), that the other is measured against
    #[arg(value_name = "BASE")]
    pub base: PathBuf,

    /// The run or CSV file that is compared with it
    #[arg(value_name = "NEW")]
    pub new: PathBuf,

    /// Only curves whose name has this in it; * stands for anything, case does not matter. Repeatable: any of them
    #[arg(long, value_name = "PATTERN")]
    pub only: Vec<String>,

    /// How much slower NEW may be, as 10% or 0.1
    #[arg(long, value_name = "SHARE", value_parser = parse_share, default_value = "10%", allow_negative_numbers = true)]
    pub tolerance: f64,

    /// Exit 6 when a comparison cannot tell whether NEW is slower by more than that (exit 4 comes first)
    #[arg(long)]
    pub fail_if_inconclusive: bool,

    /// One JSON object on stdout
    #[arg(long)]
    pub json: bool,

    /// How files of other programs are read.
    #[command(flatten)]
    pub foreign: ForeignArgs,
}

/// The options of `forecast`.
#[derive(Debug, Args)]
pub struct ForecastArgs {
    /// Directory of the run, or a CSV file of another program
    #[arg(value_name = "RUN_DIR|CSV")]
    pub run: PathBuf,

    /// Only curves whose name has this in it; * stands for anything, case does not matter. Repeatable: any of them
    #[arg(long, value_name = "PATTERN")]
    pub only: Vec<String>,

    /// The table size to forecast (300M is 300,000,000)
    #[arg(long, value_name = "ROWS", value_parser = units::parse_rows, allow_negative_numbers = true)]
    pub at: u64,

    /// One JSON object on stdout
    #[arg(long)]
    pub json: bool,

    /// How files of other programs are read.
    #[command(flatten)]
    pub foreign: ForeignArgs,
}

fn parse_share(text: &str) -> Result<f64, String> {
    let problem = || format!("{text:?} is no share; write it as 10% or 0.1");
    let (number, scale) = text.trim().strip_suffix('%').map_or((text.trim(), 1.0), |number| (number.trim(), 100.0));
    let share = number.parse::<f64>().map_err(|_| problem())? / scale;
    if share.is_finite() && (0.0..1.0).contains(&share) {
        Ok(share)
    } else {
        Err("must be from 0% to below 100%".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percent_or_plain() {
        assert_eq!((parse_share("10%"), parse_share("0.25"), parse_share("0")), (Ok(0.1), Ok(0.25), Ok(0.0)));
        for text in ["10", "-1%", "100%", "x", "%", "NaN"] {
            assert!(parse_share(text).is_err(), "{text:?} was taken");
        }
    }
}
