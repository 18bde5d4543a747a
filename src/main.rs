//! Parse, dispatch, print, exit.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use rowcliff::cli::{Cli, Command, hints};
use rowcliff::commands::{
    Output, check, clean, cliffs, compare, engines, forecast, plot, report, restore, resume, run, show, status,
};
use rowcliff::error::exit;
use rowcliff::hand_over::Words;
use rowcliff::plan::file;
use rowcliff::render::events;
use rowcliff::units::printable;

fn main() -> ExitCode {
    // First of all: it may start the program anew.
    let words = Words::of_process();
    // What clap says of a wrong word quotes it, so it says it of the masked ones.
    let cli = Cli::try_parse_from(&words.real)
        .unwrap_or_else(|_| Cli::try_parse_from(&words.shown).unwrap_or_else(|error| hints::explained(error).exit()));
    let json = cli.command.speaks_json();
    let result = file::complete(cli, &words.real).and_then(|cli| match &cli.command {
        Command::Run(args) => run::run(args, &words.shown),
        Command::Check(args) => check::run(args),
        Command::Resume(args) => resume::run(args, &words.shown),
        Command::Status(args) => status::run(args),
        Command::Show(args) => show::run(args),
        Command::Plot(args) => plot::run(args),
        Command::Report(args) => report::run(args),
        Command::Cliffs(args) => cliffs::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Forecast(args) => forecast::run(args),
        Command::Clean(args) => clean::run(args),
        Command::Restore(args) => restore::run(args),
        Command::Engines(args) => engines::run(args),
    });
    let mut output = result.unwrap_or_else(|error| Output {
        stdout: String::new(),
        stderr: vec![format!("error: {error}")],
        exit: error.exit_code(),
    });
    // In front, because what a command says last stands last.
    output.stderr.splice(0..0, words.problem.clone());
    if json {
        output.stderr = events::closing(&output.stderr, output.exit);
    }
    output.stderr.iter_mut().for_each(|line| *line = words.hide(line));
    output.stdout = words.hide(&output.stdout);
    print(&output)
}

/// A reader that went away (`| head`) is no error of ours, and must not turn a good result into a bad exit code.
fn print(output: &Output) -> ExitCode {
    let mut stdout = std::io::stdout().lock();
    // A file gets what there is; a terminal would obey it.
    let text = if stdout.is_terminal() { printable(&output.stdout, true) } else { output.stdout.as_str().into() };
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    let mut stderr = std::io::stderr().lock();
    for line in &output.stderr {
        let _ = writeln!(stderr, "{}", printable(line, true));
    }
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let _ = writeln!(stderr, "error: the results could not be printed: {error}");
            ExitCode::from(output.exit.max(exit::FAILED))
        }
        _ => ExitCode::from(output.exit),
    }
}
