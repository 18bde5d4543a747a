//! `rowcliff status`: where a run stands, from its files alone.

use super::Output;
use crate::cli::lifecycle::StatusArgs;
use crate::error::Error;
use crate::observe::environment;
use crate::record::store;
use crate::render::status::{Seen, Status};

/// Reads the files of a run and says where it stands. Nothing is locked or changed.
///
/// # Errors
/// It is no run's directory.
pub fn run(args: &StatusArgs) -> Result<Output, Error> {
    let next = "name the directory of a run";
    let record = store::read_run(&args.run).map_err(|error| Error::file(&args.run, error, next))?;
    let path = args.run.join(store::BATCHES_FILE);
    let samples = store::read_batches(&path).map(|read| read.samples).unwrap_or_default();
    let written = [path, args.run.join(store::RUN_FILE)]
        .iter()
        .filter_map(|path| std::fs::metadata(path).ok()?.modified().ok()?.elapsed().ok())
        .min();
    let seen = Seen {
        is_locked: store::is_being_written(&args.run),
        host: environment::host(),
        seconds_since_written: written.map(|age| age.as_secs_f64()),
        silent_seconds: silence(&args.run),
        ended_because: crate::run::last_word::of(&record.run_id),
    };
    let status = Status::of(&args.run, &record, &samples, &seen);
    Ok(Output::results(if args.json { status.json() } else { status.text() }))
}

/// How long the target has acknowledged nothing.
fn silence(run: &std::path::Path) -> Option<f64> {
    let since: jiff::Timestamp = std::fs::read_to_string(run.join(store::SILENCE_FILE)).ok()?.trim().parse().ok()?;
    Some(jiff::Timestamp::now().duration_since(since).as_secs_f64().max(0.0))
}
