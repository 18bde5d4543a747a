//! SIGINT, SIGTERM and SIGHUP: the first asks the run to end in good order, the second leaves at once.

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
        for signal in [SIGINT, SIGTERM, SIGHUP] {
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
