//! One server of our own: a fresh data directory, a process on it, and its end.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::binary::Binary;
use super::folder::Folder;
use super::options::{self, Places, Wanted};
use super::process::Process;
use crate::plan::ScratchPlan;
use crate::targets::mysql::Access;
use crate::targets::mysql::control::{Control, SharedControl, lock};
use crate::targets::mysql::leash::Leash;
use crate::targets::mysql::offer::Offer;
use crate::targets::{Failure, FailureKind, Purpose};
use crate::units::human_seconds;

/// How long making a data directory, and starting a server, may take.
const START_LIMIT: Duration = Duration::from_secs(300);
/// How long a server may take to end in good order: as long as it needs to write out a large cache.
const END_LIMIT: Duration = Duration::from_secs(1800);
/// The same when somebody is waiting for rowcliff to end. The server recovers at its next start.
const HURRIED_END_LIMIT: Duration = Duration::from_secs(3);
/// How long the server of a killed rowcliff may take to be gone.
const PREDECESSOR_LIMIT: Duration = Duration::from_secs(60);
/// The database that the tables are made in.
const DATABASE: &str = "rowcliff";
/// Lines of the error log that a message quotes.
const QUOTED_LINES: usize = 5;
/// How much of the error log is looked at.
const LOG_TAIL_BYTES: usize = 64 << 10;

/// Whether somebody waits for rowcliff to end.
pub type AskedToEnd = Arc<dyn Fn() -> bool + Send + Sync>;

/// What is to be started.
#[derive(Clone, Copy)]
pub struct ServerOrder<'a> {
    pub binary: &'a Binary,
    /// What all servers of the run have in common.
    pub plan: &'a ScratchPlan,
    /// What this one is to have.
    pub wanted: &'a Wanted,
    /// Where its folder is to be.
    pub base: &'a Path,
    /// The name of its folder and of its error log.
    pub name: &'a str,
    pub mark: &'a str,
    /// Where error logs go.
    pub logs: &'a Path,
    /// Whether somebody waits for rowcliff to end.
    pub asked_to_end: &'a AskedToEnd,
    /// What connections to it hang on.
    pub leash: &'a Leash,
    /// Whether its data is there already.
    pub purpose: Purpose,
}

pub struct Server {
    folder: Folder,
    log: PathBuf,
    process: Process,
    control: SharedControl,
    leash: Leash,
    /// Set when nobody has time for an orderly end.
    hurry: Arc<AtomicBool>,
    /// Set when folder and process are taken care of.
    ended: bool,
}

impl Server {
    /// Makes a data directory, or takes the one of a curve that goes on, starts a server on it and waits until it answers.
    ///
    /// # Errors
    /// What the server said last; its error log stays, and the data that was there before. Everything else is gone.
    pub fn start(order: &ServerOrder<'_>) -> Result<Self, Failure> {
        let at = |what: &str, path: &Path, error: std::io::Error| {
            Failure::fatal(format!("{what} {}: {error}; --scratch-dir names another place", path.display()))
        };
        std::fs::create_dir_all(order.logs).map_err(|error| at("the folder of error logs", order.logs, error))?;
        let log = order.logs.join(format!("{}.err", order.name));
        let place = order.base.join(order.name);
        let goes_on = order.purpose == Purpose::GoOn;
        if !goes_on && let Ok(leftover) = Folder::find(&place, order.mark) {
            // This curve's own, of a rowcliff that was killed before anything of it was recorded.
            await_predecessor(order, &leftover)?;
            leftover.remove().map_err(|error| at("what an earlier rowcliff left in", &place, error))?;
        }
        let folder = match goes_on {
            true => Folder::find(&place, order.mark),
            false => Folder::create(order.base, order.name, order.mark),
        };
        let folder = match folder {
            Err(error) if goes_on && error.kind() == std::io::ErrorKind::NotFound => {
                let message = format!("the data of its server, {}, is not there any more", place.display());
                return Err(Failure { kind: FailureKind::Gone, code: None, message });
            }
            other => other.map_err(|error| at("the folder of a server", &place, error))?,
        };
        let ready = match goes_on {
            true => await_predecessor(order, &folder),
            false => initialise(order, &folder, &log),
        };
        let started = ready.and_then(|()| launch(order, &folder, &log));
        match started {
            Ok((process, control)) => {
                let hurry = Arc::new(AtomicBool::new(false));
                let leash = order.leash.clone();
                Ok(Self { folder, log, process, control, leash, hurry, ended: false })
            }
            Err(failure) => {
                // The process is gone with `launch`. What cannot be removed is not what went wrong.
                if goes_on {
                    folder.leave();
                } else {
                    let _ = folder.remove();
                }
                Err(failure)
            }
        }
    }

    pub fn control(&self) -> &SharedControl {
        &self.control
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Setting it shortens the end.
    pub fn hurry(&self) -> &Arc<AtomicBool> {
        &self.hurry
    }

    /// Whether it still runs.
    pub fn runs(&self) -> bool {
        !self.process.has_ended()
    }

    /// Ends it and removes all that it wrote: nothing in it is worth an orderly end.
    ///
    /// # Errors
    /// Something could not be removed.
    pub fn discard(mut self) -> Result<(), Failure> {
        self.process.end();
        self.ended = true;
        let _ = std::fs::remove_file(&self.log);
        self.folder.remove().map_err(|error| {
            let folder = self.folder.path().display();
            Failure::fatal(format!("the data of the server could not be removed: {folder}: {error}; remove it by hand"))
        })
    }

    /// Ends it because something failed: its error log stays, its data does not.
    pub fn discard_keeping_log(mut self) {
        self.process.end();
        self.ended = true;
        let _ = self.folder.remove();
    }

    /// Ends it in good order and keeps its data and its error log.
    ///
    /// # Errors
    /// It had ended by itself: with what its error log says.
    pub fn end(mut self) -> Result<(), Failure> {
        if self.process.has_ended() {
            let status = self.process.end();
            self.ended = true;
            self.folder.leave();
            let (said, whole) = (quote(&self.log), whole_log(&self.log));
            return Err(Failure::fatal(format!("the server had ended by itself ({status}): {said}; {whole}")));
        }
        self.process.ask_to_end();
        let mut hurried: Option<Duration> = None;
        self.process.wait_until(&mut |waited| {
            if self.hurry.load(Ordering::SeqCst) || self.leash.is_hurried() {
                hurried.get_or_insert(waited);
            }
            waited > END_LIMIT || hurried.is_some_and(|since| waited.saturating_sub(since) > HURRIED_END_LIMIT)
        });
        self.process.end();
        self.ended = true;
        self.folder.leave();
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Left without an end when a run fails on its own account: the data stays for whoever goes on with it.
        if !self.ended {
            self.process.end();
            self.folder.leave();
        }
    }
}

/// Waits until the server that a killed rowcliff left behind on the same data is gone: the system ends it, not at once.
fn await_predecessor(order: &ServerOrder<'_>, folder: &Folder) -> Result<(), Failure> {
    let data = folder.data();
    let Some(pid) = std::fs::read_to_string(folder.pid()).ok().and_then(|text| text.trim().parse::<u32>().ok()) else {
        return Ok(());
    };
    let since = std::time::Instant::now();
    while runs_on(pid, &data) {
        if since.elapsed() > PREDECESSOR_LIMIT || (order.asked_to_end)() {
            return Err(Failure::fatal(format!(
                "a server (process {pid}) still runs on {}; end it, then resume again",
                data.display()
            )));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = std::fs::remove_file(folder.pid());
    Ok(())
}

/// Whether a process is a server on this data directory, by its command line.
fn runs_on(pid: u32, data: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|&byte| byte == 0).any(|word| word.ends_with(data.as_os_str().as_bytes()))
}

/// Makes the data directory.
fn initialise(order: &ServerOrder<'_>, folder: &Folder, log: &Path) -> Result<(), Failure> {
    let script = order.binary.initialiser().map_err(Failure::fatal)?;
    let prefix = script.as_ref().map(|(_, prefix)| prefix.as_deref());
    let program = script.as_ref().map_or(&order.binary.path, |(path, _)| path);
    let mut command = Command::new(program);
    command.args(options::for_initialise(order.binary, order.plan, &folder.data(), prefix, order.wanted));
    command.env("TMPDIR", folder.tmp());
    let process = start(command, log)?;
    let in_time = process.wait_until(&mut |waited| waited > START_LIMIT || (order.asked_to_end)());
    if !in_time {
        return Err(not_in_time(order, "making a data directory", log));
    }
    let mut process = process;
    let status = process.end();
    if status != SUCCESS {
        return Err(Failure::fatal(format!(
            "{} could not make a data directory ({status}): {}; {}",
            program.display(),
            quote(log),
            whole_log(log)
        )));
    }
    Ok(())
}

/// How the system prints the status of a process that is content.
const SUCCESS: &str = "exit status: 0";

/// Starts the server and waits until it answers.
fn launch(order: &ServerOrder<'_>, folder: &Folder, log: &Path) -> Result<(Process, SharedControl), Failure> {
    let (data, tmp, socket, pid) = (folder.data(), folder.tmp(), folder.socket(), folder.pid());
    let places = Places { data: &data, tmp: &tmp, socket: &socket, pid: &pid, log };
    let mut command = Command::new(&order.binary.path);
    command.args(options::for_start(order.binary, order.plan, &places, order.wanted));
    let mut process = start(command, log)?;
    let first = Access::of_socket(socket.clone(), "mysql").on(order.leash);
    let mut control = None;
    let ended = process.wait_until(&mut |waited| {
        if socket.exists() {
            control = Control::open(first.clone()).ok();
        }
        control.is_some() || waited > START_LIMIT || (order.asked_to_end)()
    });
    if ended {
        let status = process.end();
        return Err(Failure::fatal(format!("the server did not start ({status}): {}; {}", quote(log), whole_log(log))));
    }
    let Some(mut control) = control else { return Err(not_in_time(order, "starting the server", log)) };
    is_our_own(&process, &pid, order.binary)?;
    control.execute(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"))?;
    let control = Control::open(Access::of_socket(socket, DATABASE).on(order.leash))?;
    Ok((process, Arc::new(Mutex::new(control))))
}

/// The process that was started has to be the server itself: a wrapper that waits for it would die alone when rowcliff is
/// killed.
fn is_our_own(process: &Process, pid_file: &Path, binary: &Binary) -> Result<(), Failure> {
    let text = std::fs::read_to_string(pid_file).unwrap_or_default();
    match text.trim().parse::<u32>() {
        Ok(pid) if pid != process.id() => Err(Failure::fatal(format!(
            "{} starts the server as another process, which would outlive a killed rowcliff; let the script end with \
             exec, or name the server itself",
            binary.path.display()
        ))),
        _ => Ok(()),
    }
}

fn start(mut command: Command, log: &Path) -> Result<Process, Failure> {
    let program = command.get_program().to_owned();
    let open = || File::options().create(true).append(true).open(log);
    let streams = open().and_then(|out| Ok((out, open()?)));
    let (out, error) = streams.map_err(|error| Failure::fatal(format!("{}: {error}", log.display())))?;
    command.stdout(Stdio::from(out)).stderr(Stdio::from(error));
    Process::start(command)
        .map_err(|error| Failure::fatal(format!("{} cannot be started: {error}", Path::new(&program).display())))
}

fn not_in_time(order: &ServerOrder<'_>, what: &str, log: &Path) -> Failure {
    if (order.asked_to_end)() {
        return Failure { kind: FailureKind::Cancelled, code: None, message: format!("{what}: interrupted") };
    }
    let limit = human_seconds(START_LIMIT.as_secs_f64());
    Failure::fatal(format!("{what} was given up after {limit}: {}; {}", quote(log), whole_log(log)))
}

fn whole_log(log: &Path) -> String {
    format!("the whole log is {}", log.display())
}

/// The last errors of a log, or its last lines when it has none.
pub fn quote(log: &Path) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let tail = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(LOG_TAIL_BYTES)..]).into_owned();
    let lines: Vec<&str> = tail.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut errors: Vec<&str> = Vec::new();
    for line in &lines {
        if let Some((_, error)) = line.split_once("[ERROR]") {
            let error = error.trim();
            if !errors.contains(&error) && !error.ends_with("Aborting") {
                errors.push(error);
            }
        }
    }
    if errors.is_empty() {
        errors = lines.iter().copied().filter(|line| tells(line)).collect();
    }
    let chosen = if errors.is_empty() { lines } else { errors };
    if chosen.is_empty() {
        return "its error log is empty".into();
    }
    let quoted = &chosen[chosen.len().saturating_sub(QUOTED_LINES)..];
    format!("its error log ends with: {}", quoted.join(" | "))
}

/// Whether a line of a script that makes a data directory says what went wrong: most of what it prints at its end is advice that
/// it always prints.
fn tells(line: &str) -> bool {
    let words = [
        "trap",
        "fault",
        "core dumped",
        "fatal",
        "error",
        "cannot",
        "can't",
        "no such file",
        "denied",
        "killed",
        "aborted",
        "unknown",
    ];
    let line = line.to_lowercase();
    let is_advice = [
        "examine the logs",
        "please check",
        "please consult",
        "you can try",
        "error log",
        "e-mail",
        "mailing list",
        "if this",
    ];
    words.iter().any(|word| line.contains(word)) && !is_advice.iter().any(|word| line.contains(word))
}

/// Whether the server offers an engine.
///
/// # Errors
/// It does not, or cannot be asked.
pub fn offers(control: &SharedControl, engine: &crate::engine::Engine) -> Result<(), Failure> {
    Offer::read(&mut lock(control))?.missing(engine).map_or(Ok(()), |why| Err(Failure::fatal(why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_quoted_before_anything_else() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("x.err");
        assert_eq!(quote(&log), "its error log is empty");
        std::fs::write(&log, "one\ntwo\n").unwrap();
        assert_eq!(quote(&log), "its error log ends with: one | two");
        // As mysql_install_db of 5.5 ends.
        let script = "Installing MySQL system tables...\n./bin/mysql_install_db: line 431: 4711 Trace/breakpoint trap (core dumped) nohup mysqld\n\n\
            Installation of system tables failed!  Examine the logs in\n/d for more information.\n\nYou can try to start the mysqld daemon \
            with:\n\n    shell> mysqld --skip-grant &\n\nand use the command line tool mysql\n\nThe latest information about mysql_install_db \
            is available at the\nMySQL manual section on problems, or on our mailing list.\n";
        std::fs::write(&log, script).unwrap();
        assert_eq!(
            quote(&log),
            "its error log ends with: ./bin/mysql_install_db: line 431: 4711 Trace/breakpoint trap (core dumped) nohup mysqld"
        );
        std::fs::write(
            &log,
            "2026-01-01 0 [Note] starts\n2026-01-01 0 [ERROR] unknown variable 'a=1'\n0 [ERROR] Aborting\n[Note] bye\n",
        )
        .unwrap();
        assert_eq!(quote(&log), "its error log ends with: unknown variable 'a=1'");
    }
}
