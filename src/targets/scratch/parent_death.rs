//! The one thing that keeps a server from outliving a rowcliff that was killed: the kernel is asked to end it.

use std::process::Command;

/// Asks the kernel to kill the program that `command` starts as soon as the thread that starts it is gone.
///
/// The request survives exec, so a wrapper script that ends in `exec` hands it on to the server. It is lost when the
/// program changes its user, which is why servers are started as the user they run as.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub fn end_with_parent(command: &mut Command) {
    use std::os::unix::process::CommandExt;

    use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

    let parent = getpid();
    let in_child = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // A parent that died before the request was made would never be noticed.
        if getppid() == Some(parent) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec the closure makes two system calls and looks at their results. It allocates nothing,
    // takes no lock and touches no memory of another thread.
    unsafe {
        command.pre_exec(in_child);
    }
}

/// Other systems have no such request: there a server outlives a rowcliff that was killed with SIGKILL.
#[cfg(not(target_os = "linux"))]
pub fn end_with_parent(_: &mut Command) {}
