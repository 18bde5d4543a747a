//! The clock of a measurement. Only `run` reads it, so a test can bring its own and a batch takes what the test says.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::pulse::{Disturbances, Moment, Pulse, beat_while_used};

/// Reads the time.
pub trait Clock: Send + Sync {
    /// Monotonic time since some fixed point: for durations.
    fn now(&self) -> Duration;

    /// CPU time of this process so far, where the system tells.
    fn cpu(&self) -> Option<Duration>;

    /// CPU time of the calling thread so far, where the system tells.
    fn thread_cpu(&self) -> Option<Duration> {
        None
    }

    /// Wall clock, UTC, RFC 3339: a label, never a measure.
    fn wall(&self) -> String;

    /// What happened to this process, and to the wall clock, since the clock was made.
    fn disturbances(&self) -> Disturbances {
        Disturbances::default()
    }
}

#[derive(Debug)]
pub struct SystemClock {
    origin: Instant,
    pulse: Arc<Mutex<Pulse>>,
}

impl SystemClock {
    /// Starts at zero.
    pub fn new() -> Self {
        let pulse = Arc::new(Mutex::new(Pulse::default()));
        beat_while_used(Arc::downgrade(&pulse));
        Self { origin: Instant::now(), pulse }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    fn cpu(&self) -> Option<Duration> {
        cpu_time(rustix::time::ClockId::ProcessCPUTime)
    }

    fn thread_cpu(&self) -> Option<Duration> {
        cpu_time(rustix::time::ClockId::ThreadCPUTime)
    }

    fn wall(&self) -> String {
        wall_now()
    }

    fn disturbances(&self) -> Disturbances {
        // A beat of its own: the thread may not have been scheduled yet since the process was woken.
        self.pulse.lock().unwrap_or_else(PoisonError::into_inner).beat(Moment::now())
    }
}

fn cpu_time(clock: rustix::time::ClockId) -> Option<Duration> {
    let time = rustix::time::clock_gettime(clock);
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

/// The wall clock now, UTC, RFC 3339 with milliseconds.
pub fn wall_now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}
