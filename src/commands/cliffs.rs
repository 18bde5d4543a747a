//! `rowcliff cliffs`: the shape of each curve and its cliffs, in words and numbers, from the files alone.

use super::Output;
use super::slowdown::Gate;
use crate::cli::reading::CliffsArgs;
use crate::error::{Error, exit};
use crate::reading::input;
use crate::render::cliffs;

/// Prints the readings.
///
/// # Errors
/// A path is no run's, or its files cannot be read.
pub fn run(args: &CliffsArgs) -> Result<Output, Error> {
    let input = input::load_with(&args.runs, &args.foreign.options())?;
    if let Some(axis) = &input.other_x {
        let next = "a cliff is one of table sizes; name the column of rows in the table with --x COLUMN";
        return Err(Error::file(&args.runs[0], format!("{axis:?} is not the size of the table"), next));
    }
    let judged = cliffs::judge_all(&input, args.cliff_factor);
    let found = cliffs::any_cliff(&judged);
    let mut stderr = input.problems.clone();
    let exit = match judged.is_empty() {
        true => {
            stderr.push(
                "error: there is no batch to judge; see `rowcliff show` for what became of the curves".to_owned(),
            );
            exit::FAILED
        }
        false if found && args.fail_on_cliff => exit::CLIFF,
        false => exit::OK,
    };
    let gate = Gate::of(&judged, args.fail_on_slowdown);
    let exit = gate.exit(exit, false);
    stderr.extend(gate.lines);
    let stdout = match args.json {
        true => format!("{:#}\n", cliffs::document(&judged, args.cliff_factor)),
        false => cliffs::text(&judged),
    };
    Ok(Output { stdout, stderr, exit })
}
