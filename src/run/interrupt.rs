//! SIGINT, SIGTERM and SIGHUP: the first asks the run to end in good order, the second leaves at once.
//!
//! One that was ignored when the program started stays ignored: `nohup` and `trap '' HUP` mean it, and so does a shell that
//! ignores SIGINT for its background jobs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::exit;

/// Whether somebody asked the run to end.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// One that nothing has asked yet and that no signal reaches: for tests and for commands without a load.
    pub fn new() -> Self {
        Self::default()
    }

    /// Listens to the signals that end a program.
    ///
    /// # Errors
    /// The system does not take the handlers.
    pub fn from_signals() -> io::Result<Self> {
        let interrupt = Self::new();
        let ignored = ignored_signals();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if is_in(ignored, signal) {
                continue;
            }
            // The order counts: at the second signal the flag is already up, and this leaves at once.
            signal_hook::flag::register_conditional_shutdown(
                signal,
                i32::from(exit::INTERRUPTED),
                Arc::clone(&interrupt.asked),
            )?;
            signal_hook::flag::register_usize(signal, Arc::clone(&interrupt.signal), signal as usize)?;
            signal_hook::flag::register(signal, Arc::clone(&interrupt.asked))?;
        }
        Ok(interrupt)
    }

    /// Asks, as a signal would.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::SeqCst);
    }

    /// Whether the run was asked to end.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// The name of the signal, for the record.
    pub fn signal_name(&self) -> &'static str {
        match self.signal.load(Ordering::SeqCst) as i32 {
            SIGINT => "SIGINT",
            SIGTERM => "SIGTERM",
            SIGHUP => "SIGHUP",
            _ => "request",
        }
    }
}

/// The signals that this process ignores, as the kernel keeps them: signal 1 is the lowest bit.
#[cfg(target_os = "linux")]
fn ignored_signals() -> u64 {
    // Where the kernel does not tell, none counts as ignored: Ctrl-C has to work.
    procfs::process::Process::myself().and_then(|own| own.status()).map_or(0, |status| status.sigign)
}

#[cfg(not(target_os = "linux"))]
fn ignored_signals() -> u64 {
    0
}

fn is_in(set: u64, signal: i32) -> bool {
    u32::try_from(signal - 1).is_ok_and(|bit| set.checked_shr(bit).unwrap_or(0) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_bits_from_one_on() {
        // SigIgn of a process under nohup.
        assert!(is_in(0x1, SIGHUP));
        assert!(!is_in(0x1, SIGINT) && !is_in(0x1, SIGTERM));
        assert!(is_in(0x4002, SIGINT) && is_in(0x4002, SIGTERM) && !is_in(0x4002, SIGHUP));
        assert!(!is_in(u64::MAX, 0) && !is_in(u64::MAX, 65));
    }
}
