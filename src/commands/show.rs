//! `rowcliff show`: the curves of one or several runs as tables, from the files alone.

use super::Output;
use crate::cli::ShowArgs;
use crate::error::Error;
use crate::render::show::ShowOptions;
use crate::render::{export, input, show};

/// Prints the tables.
///
/// # Errors
/// A directory is no run's, or its files cannot be read.
pub fn run(args: &ShowArgs) -> Result<Output, Error> {
    let input = input::load_with(&args.runs, &args.foreign.options())?;
    let stdout = if args.csv {
        export::csv(&input, args.wide)
    } else if args.json {
        export::json(&input, args.wide)
    } else {
        show::show(&input, ShowOptions { all: args.all, wide: args.wide, markdown: args.markdown })
    };
    Ok(Output { stdout, stderr: input.problems, exit: crate::error::exit::OK })
}
