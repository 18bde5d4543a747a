//! Processes that rowcliff starts and owns: they end with it, and nothing else is ever sent a signal.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

use super::parent_death::end_with_parent;

/// How often a process is looked at.
const PAUSE: Duration = Duration::from_millis(10);

/// A process of our own, with a process group of its own: a Ctrl-C at the terminal is for rowcliff to answer.
#[derive(Debug)]
pub struct Process {
    child: Child,
    reaped: bool,
}

impl Process {
    /// Starts it. It reads nothing.
    ///
    /// # Errors
    /// The system cannot start it.
    pub fn start(mut command: Command) -> io::Result<Self> {
        command.stdin(Stdio::null()).process_group(0);
        end_with_parent(&mut command);
        Ok(Self { child: spawn(command)?, reaped: false })
    }

    /// Starts it, and gives what it printed once it has ended.
    ///
    /// # Errors
    /// The system cannot start it.
    pub fn output(mut command: Command) -> io::Result<Output> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        end_with_parent(&mut command);
        spawn(command)?.wait_with_output()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()).ok()?)
    }

    /// Whether it has ended. Its id stays ours until it is reaped, so that a signal can never reach a stranger.
    pub fn has_ended(&self) -> bool {
        let Some(pid) = self.pid().filter(|_| !self.reaped) else { return true };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
    }

    /// Waits until it has ended by itself, at most until `give_up` says so. Whether it has.
    pub fn wait_until(&self, give_up: &mut dyn FnMut(Duration) -> bool) -> bool {
        let started = Instant::now();
        while !self.has_ended() {
            if give_up(started.elapsed()) {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
        true
    }

    /// Asks it to end in good order.
    pub fn ask_to_end(&self) {
        if let Some(pid) = self.pid().filter(|_| !self.reaped) {
            // It may have ended already, which is what is wanted.
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// Ends it, if it still runs, with everything in its group, and says how it ended.
    pub fn end(&mut self) -> String {
        if !self.reaped {
            if let Some(group) = self.pid() {
                let _ = kill_process_group(group, Signal::KILL);
            }
            self.reaped = true;
        }
        self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

type Order = (Command, SyncSender<io::Result<Child>>);

/// Starts a process from the one thread that starts them all and never ends: the kernel takes the end of the thread
/// that made a child for the end of the parent.
fn spawn(command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();
    let gone = || io::Error::other("the thread that starts servers is gone");
    let spawner = SPAWNER.get_or_init(|| {
        let (orders, received) = channel::<Order>();
        std::thread::spawn(move || {
            for (mut command, answer) in received {
                // Whoever asked may have gone meanwhile; then the child is not wanted.
                if let Err(unwanted) = answer.send(command.spawn())
                    && let Ok(mut child) = unwanted.0
                {
                    let _ = child.kill();
                    let _ = child.wait();
                }
            }
        });
        Mutex::new(orders)
    });
    let (answer, answered) = sync_channel(1);
    let orders = spawner.lock().unwrap_or_else(PoisonError::into_inner).clone();
    orders.send((command, answer)).map_err(|_| gone())?;
    answered.recv().map_err(|_| gone())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_process_and_its_group_end_and_the_status_is_told() {
        let mut process = Process::start(shell("sleep 60 & exec sleep 60")).unwrap();
        assert!(!process.has_ended());
        assert!(!process.wait_until(&mut |waited| waited > Duration::from_millis(50)));
        assert!(process.end().contains('9'));
        assert!(process.has_ended());
        let process = Process::start(shell("exit 3")).unwrap();
        assert!(process.wait_until(&mut |waited| waited > Duration::from_secs(20)));
    }

    #[test]
    fn output_is_collected_and_a_missing_program_is_an_error() {
        let output = Process::output(shell("echo a; echo b >&2; exit 3")).unwrap();
        assert_eq!(
            (output.stdout.as_slice(), output.stderr.as_slice(), output.status.code()),
            (&b"a\n"[..], &b"b\n"[..], Some(3))
        );
        assert!(Process::output(Command::new("/nonexistent/mysqld")).is_err());
    }
}
