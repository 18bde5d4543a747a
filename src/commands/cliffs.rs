//! `rowcliff cliffs`: the shape of each curve and its cliffs, in words and numbers, from the files alone.

use super::Output;
use super::slowdown::Gate;
use crate::cli::reading::CliffsArgs;
use crate::error::{Error, exit};
use crate::render::cliffs::{self, AllCounted};
use crate::render::counted;
use crate::render::input::{self, Input};

/// Prints the readings.
///
/// # Errors
/// A path is no run's, or its files cannot be read.
pub fn run(args: &CliffsArgs) -> Result<Output, Error> {
    let mut input = input::load_with(&args.runs, &args.foreign.options())?;
    if let Some(axis) = &input.other_x {
        let next = "a cliff is one of table sizes; name the column of rows in the table with --x COLUMN";
        return Err(Error::file(&args.runs[0], format!("{axis:?} is not the size of the table"), next));
    }
    let counted = all_counted(&mut input);
    let judged = cliffs::judge_all(&input, &counted, args.cliff_factor);
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

/// The counters of every run there is. A file of them that cannot be read is a problem of the input, and no error.
pub(super) fn all_counted(input: &mut Input) -> AllCounted {
    let mut all = AllCounted::new();
    for run in input.runs.iter().filter(|run| run.path.is_dir()) {
        match counted::counters(&run.path) {
            Ok(found) => {
                all.extend(found.into_iter().map(|(curve, counted)| ((run.label.clone(), curve), counted)));
            }
            Err(error) => {
                input.problems.push(format!(
                    "{}: {error}; no counter is evidence",
                    run.path.join(crate::record::detail::COUNTERS_FILE).display()
                ));
            }
        }
    }
    all
}
