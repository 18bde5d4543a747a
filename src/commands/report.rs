//! `rowcliff report`: everything about one or several runs in one file, from the files alone.

use std::path::{Path, PathBuf};

use super::Output;
use super::plot::keep_only;
use crate::analyse::cliffs::CLIFF_FACTOR;
use crate::cli::plot::ReportArgs;
use crate::error::{Error, exit};
use crate::reading::input::{self, Input};
use crate::record::store::replace_file;
use crate::render::cliffs::{self, Judged};
use crate::render::probes;
use crate::render::report::{ReportOptions, answer, report};

/// Name of the report in a run's directory.
pub const REPORT_FILE: &str = "report.html";

/// Writes the report and prints its path.
///
/// # Errors
/// A directory is no run's, or the report cannot be written.
pub fn run(args: &ReportArgs) -> Result<Output, Error> {
    let mut input = input::load_with(&args.runs, &args.foreign.options())?;
    if let Some(axis) = &input.other_x {
        let next = "a report is about table sizes: name the column of rows in the table with --x COLUMN, or draw a picture with \
                    `rowcliff plot`";
        return Err(Error::file(&args.runs[0], format!("{axis:?} is not the size of the table"), next));
    }
    keep_only(&mut input, &args.only)?;
    let beside = |path: &PathBuf| if path.is_dir() { path.join(REPORT_FILE) } else { path.with_file_name(REPORT_FILE) };
    let path = args.out.clone().or_else(|| args.runs.first().map(beside)).unwrap_or_else(|| REPORT_FILE.into());
    let path = if path.is_dir() { path.join(REPORT_FILE) } else { path };
    let judged = cliffs::judge_all(&input, CLIFF_FACTOR);
    let options = ReportOptions { title: args.title.clone(), ..parts(&input, &judged) };
    write(&input, &path, &options)?;
    Ok(Output { stdout: format!("{}\n", path.display()), stderr: input.problems, exit: exit::OK })
}

/// The usual report, with what is read from its curves and what its probes found.
pub(super) fn parts(input: &Input, judged: &[Judged<'_>]) -> ReportOptions {
    let cliffs = (!judged.is_empty()).then(|| cliffs::section(judged));
    let answer = answer::sentences(input, judged);
    ReportOptions { answer, cliffs, probes: probes::section::section(input), ..ReportOptions::default() }
}

/// Writes the report; an old one is whole until the new one is.
///
/// # Errors
/// The file cannot be written.
pub fn write(input: &Input, path: &Path, options: &ReportOptions) -> Result<(), Error> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    directory
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| replace_file(path, report(input, options).as_bytes()))
        .map_err(|error| Error::file(path, error, "name a file that can be written with --out"))
}
