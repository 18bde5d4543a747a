//! `rowcliff show`: the curves of one or several runs as tables, from the files alone.

use super::Output;
use crate::cli::{OtherProgram, ShowArgs};
use crate::error::{Error, exit};
use crate::reading::input;
use crate::reading::input::Input;
use crate::render::probes::{section, slap, table};
use crate::render::show::ShowOptions;
use crate::render::{export, show};

/// Prints the tables.
///
/// # Errors
/// A directory is no run's, or its files cannot be read.
pub fn run(args: &ShowArgs) -> Result<Output, Error> {
    let input = input::load_with(&args.runs, &args.foreign.options())?;
    if args.probes || args.in_words_of.is_some() {
        return Ok(of_probes(args, input));
    }
    let stdout = if args.csv {
        export::csv(&input, args.wide)
    } else if args.json {
        export::json(&input, args.wide)
    } else {
        show::show(&input, ShowOptions { all: args.all, wide: args.wide, markdown: args.markdown })
    };
    Ok(Output { stdout, stderr: input.problems, exit: exit::OK })
}

/// What the probes found, for people or for another program.
fn of_probes(args: &ShowArgs, input: Input) -> Output {
    let mut stderr = input.problems.clone();
    if !input.has_probes() {
        stderr.push(
            "error: no probe ran here; measure some with `rowcliff run --probe LIST` (see rowcliff run --help)"
                .to_owned(),
        );
        return Output { stdout: String::new(), stderr, exit: exit::FAILED };
    }
    let options = ShowOptions { all: args.all, wide: args.wide, markdown: args.markdown };
    let stdout = match args.in_words_of {
        Some(OtherProgram::Mysqlslap) => {
            let found = slap::lines(&input, args.probe_at);
            stderr.extend(found.notes);
            found.lines
        }
        None if args.csv => table::csv(&input),
        None if args.json => table::json(&input),
        None => {
            let sentences: String = section::sentences(&input).iter().map(|line| show::paragraph(line, "")).collect();
            format!("{}\n{sentences}", table::text(&input, options))
        }
    };
    let exit = if stdout.is_empty() { exit::FAILED } else { exit::OK };
    Output { stdout, stderr, exit }
}
