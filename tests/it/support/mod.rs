//! What the areas share: the binary, directories, CSV, servers, and a fake target with a fake clock.

pub mod combs;
pub mod external;
pub mod fake;
pub mod families;
pub mod galera;
pub mod proxy;
pub mod schemas;
pub mod servers;
pub mod webdriver;

use std::path::Path;
use std::process::{Command, Output};

use rowcliff::record::store::{self, Samples};
use rowcliff::record::{RunRecord, Sample};

/// The program under test, with a state directory and a home of its own and no password from outside, and with the signals
/// that end it as they are by default: the tests themselves may run with some of them ignored.
pub fn rowcliff(home: &Path) -> Command {
    let mut command = Command::new("/usr/bin/env");
    command.args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_rowcliff")]);
    at_home(command, home)
}

/// The same, started by other words: `nohup`, a shell.
pub fn rowcliff_by(words: &[&str], home: &Path) -> Command {
    let mut command = Command::new("/usr/bin/env");
    command.args(["--default-signal=HUP,INT,TERM"]).args(words).arg(env!("CARGO_BIN_EXE_rowcliff"));
    at_home(command, home)
}

fn at_home(mut command: Command, home: &Path) -> Command {
    command
        .env("XDG_STATE_HOME", home.join("state"))
        .env("HOME", home)
        .env_remove("MYSQL_PWD")
        .env_remove("ROWCLIFF_PASSWORD")
        .current_dir(home);
    command
}

/// Runs the program with words.
pub fn run(home: &Path, words: &[&str]) -> Output {
    rowcliff(home).args(words).output().expect("the binary starts")
}

/// Output as text, both streams, for messages of failed assertions.
pub fn text(output: &Output) -> String {
    format!(
        "exit {:?}\n--- stdout\n{}--- stderr\n{}",
        output.status.code(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// What went to stderr.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What went to stdout.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The samples of a run, all of them readable.
pub fn samples(run: &Path) -> Vec<Sample> {
    let Samples { samples, problems } = store::read_batches(&run.join(store::BATCHES_FILE)).unwrap();
    assert_eq!(problems, []);
    samples
}

/// The record of a run.
pub fn record(run: &Path) -> RunRecord {
    store::read_run(run).unwrap()
}

/// That what a run in `r` said at its end, its status and `resume` recommend nothing that ends as it did, and say what helps.
pub fn assert_cannot_go_on(home: &Path, said: &str, why: &str) {
    // A table that is somebody else's by now is nothing that clean would drop.
    let is_ours = !said.contains("does not bear this run's mark");
    assert!(said.contains("rowcliff clean") == is_ours && !said.contains("rowcliff resume"), "{said}");
    assert!(said.contains("cannot be gone on with") && said.contains(why), "{said}");
    let status = run(home, &["status", "r"]);
    assert!(!stdout(&status).contains("rowcliff resume"), "{}", text(&status));
    let resumed = run(home, &["resume", "r"]);
    assert_eq!(resumed.status.code(), Some(1), "{}", text(&resumed));
    let said = stderr(&resumed);
    assert!(
        said.contains("nothing to resume") && said.contains("cannot be gone on with") && said.contains(why),
        "{said}"
    );
}
