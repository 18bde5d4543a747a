//! `rowcliff status`: where runs stand, from their files alone.

use std::path::Path;

use super::Output;
use crate::cli::lifecycle::StatusArgs;
use crate::error::{Error, exit};
use crate::observe::environment;
use crate::record::store;
use crate::render::status::{self, Seen, Status};

/// Reads the files of runs and says where each stands. Nothing is locked or changed.
///
/// # Errors
/// It is no run's directory. Of several directories, the others are shown all the same.
pub fn run(args: &StatusArgs) -> Result<Output, Error> {
    let mut output = Output::default();
    let mut found = Vec::new();
    for directory in &args.runs {
        match read(directory) {
            Ok(status) => found.push(status),
            Err(error) if args.runs.len() == 1 => return Err(error),
            Err(error) => {
                output.stderr.push(error.to_string());
                output.exit = exit::FAILED;
            }
        }
    }
    output.stdout = match found.as_slice() {
        [only] if args.json && args.runs.len() == 1 => only.json(),
        several if args.json => status::json_of(several),
        several => several.iter().map(Status::text).collect::<Vec<_>>().join("\n"),
    };
    Ok(output)
}

fn read(directory: &Path) -> Result<Status, Error> {
    let next = "name the directory of a run";
    let record = store::read_run(directory).map_err(|error| Error::file(directory, error, next))?;
    let path = directory.join(store::BATCHES_FILE);
    let samples = store::read_batches(&path).map(|read| read.samples).unwrap_or_default();
    let written = [path, directory.join(store::RUN_FILE)]
        .iter()
        .filter_map(|path| std::fs::metadata(path).ok()?.modified().ok()?.elapsed().ok())
        .min();
    let seen = Seen {
        is_locked: store::is_being_written(directory),
        host: environment::host(),
        seconds_since_written: written.map(|age| age.as_secs_f64()),
        silent_seconds: silence(directory),
        ended_because: crate::run::last_word::of(&record.run_id),
    };
    Ok(Status::of(directory, &record, &samples, &seen))
}

/// How long the target has acknowledged nothing.
fn silence(run: &Path) -> Option<f64> {
    let since: jiff::Timestamp = std::fs::read_to_string(run.join(store::SILENCE_FILE)).ok()?.trim().parse().ok()?;
    Some(jiff::Timestamp::now().duration_since(since).as_secs_f64().max(0.0))
}
