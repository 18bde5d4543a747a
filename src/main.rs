//! Parse, dispatch, print, exit.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;
use rowcliff::cli::{Cli, Command};
use rowcliff::commands::{Output, check, clean, plot, run, show};
use rowcliff::error::exit;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let command_line: Vec<String> = std::env::args().collect();
    let result = match &cli.command {
        Command::Run(args) => run::run(args, &command_line),
        Command::Check(args) => check::run(args),
        Command::Show(args) => show::run(args),
        Command::Plot(args) => plot::run(args),
        Command::Clean(args) => clean::run(args),
    };
    let output = result.unwrap_or_else(|error| Output {
        stdout: String::new(),
        stderr: vec![format!("error: {error}")],
        exit: error.exit_code(),
    });
    print(&output)
}

/// A reader that went away (`| head`) is no error of ours, and must not turn a good result into a bad exit code.
fn print(output: &Output) -> ExitCode {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(output.stdout.as_bytes()).and_then(|()| stdout.flush());
    let mut stderr = std::io::stderr().lock();
    for line in &output.stderr {
        let _ = writeln!(stderr, "{line}");
    }
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let _ = writeln!(stderr, "error: the results could not be printed: {error}");
            ExitCode::from(output.exit.max(exit::FAILED))
        }
        _ => ExitCode::from(output.exit),
    }
}
