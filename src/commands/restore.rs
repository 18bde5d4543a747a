//! `rowcliff restore`: puts back global variables that a run left changed when it was killed.

use std::path::PathBuf;

use super::Output;
use crate::cli::RestoreArgs;
use crate::error::{Error, exit};
use crate::plan::{Login, Place, Secret, ServerPlace, place};
use crate::render::ask;
use crate::targets::mysql::Access;
use crate::targets::mysql::globals::{self, SavedGlobals};

/// A server to look at, and the file that says there is something to put back.
struct Task {
    place: ServerPlace,
    secret: Secret,
    saved: Option<(PathBuf, SavedGlobals)>,
}

/// Puts back what is left, on the servers that are named or on every server that this user's runs left changed.
///
/// # Errors
/// Wrong usage.
pub fn run(args: &RestoreArgs) -> Result<Output, Error> {
    let login = Login::read(&args.access)?;
    let mut output = Output { stderr: login.notes.clone(), ..Output::default() };
    let tasks = tasks(args, &login)?;
    if tasks.is_empty() {
        output.stdout.push_str("no run left anything to be put back\n");
        return Ok(output);
    }
    if args.target.is_empty() && !args.all && !agreed(&tasks)? {
        output.stdout.push_str("nothing was changed\n");
        return Ok(output);
    }
    let mut failures = Vec::new();
    for task in tasks {
        let url = task.place.url();
        match put_back(&login, task) {
            Ok(done) if done.is_empty() => output.stdout.push_str(&format!("{url}: nothing is to be put back\n")),
            Ok(done) => done.iter().for_each(|line| output.stdout.push_str(&format!("{url}: {line}\n"))),
            Err(why) => failures.push(format!("{url}: {why}")),
        }
    }
    if !failures.is_empty() {
        output.exit = exit::FAILED;
        output.stderr.extend(failures);
    }
    Ok(output)
}

/// Whether the servers that were found are meant: nobody typed their names.
fn agreed(tasks: &[Task]) -> Result<bool, Error> {
    let lines: Vec<String> = tasks.iter().map(Task::line).collect();
    ask::yes(&lines, "Put these settings back?").ok_or_else(|| {
        Error::usage(
            "restore",
            format!("runs of this user left settings changed on\n  {}", lines.join("\n  ")),
            "give --all to put all of them back, or name one server with --target",
        )
    })
}

impl Task {
    /// The server, with what was changed there.
    fn line(&self) -> String {
        let changes = self.saved.iter().flat_map(|(_, saved)| &saved.changes);
        let names: Vec<String> =
            changes.map(|change| format!("{}={} (it was {})", change.name, change.set_to, change.original)).collect();
        format!("{}: {}", self.place.url(), names.join(", "))
    }
}

fn tasks(args: &RestoreArgs, login: &Login) -> Result<Vec<Task>, Error> {
    let named: Result<Vec<Vec<Task>>, Error> = args.target.iter().map(|word| named(word, login)).collect();
    let mut tasks: Vec<Task> = named?.into_iter().flatten().collect();
    if args.target.is_empty() {
        for (file, saved) in globals::leftovers() {
            // Written by rowcliff itself, so it is a server; anything else is left to be looked at by its user.
            if let Ok((Place::Server(place), secret)) = place::parse_with(&saved.url, &login.options) {
                tasks.push(Task { place, secret, saved: Some((file, saved)) });
            }
        }
    }
    Ok(tasks)
}

/// The servers that a word names: each endpoint of a cluster is one.
fn named(word: &str, login: &Login) -> Result<Vec<Task>, Error> {
    match place::parse_with(word, &login.options)? {
        (Place::Server(place), secret) => {
            let task = |place| Task { place, secret: secret.clone(), saved: None };
            Ok(place.endpoints().into_iter().map(task).collect())
        }
        _ => Err(Error::usage(
            "--target",
            "only a server that is not rowcliff's own can be left changed",
            "name it as mysql://USER@HOST:PORT/DB",
        )),
    }
}

fn put_back(login: &Login, task: Task) -> Result<Vec<String>, String> {
    let secret = login.secret(task.secret, &task.place).map_err(|error| error.to_string())?;
    let access = Access::new(task.place, secret).protected(&login.protection);
    let saved = task.saved.as_ref().map(|(_, saved)| saved);
    globals::restore_server(access, saved).map_err(|failure| match task.saved {
        Some((file, _)) => {
            format!("{failure}; if that server is gone for good, remove {}", file.display())
        }
        None => failure.to_string(),
    })
}
