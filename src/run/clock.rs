//! The clock of a measurement. Only `run` reads it, so a test can bring its own and a batch takes what the test says.

use std::time::{Duration, Instant};

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
}

/// The real one.
#[derive(Debug)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// Starts at zero.
    pub fn new() -> Self {
        Self { origin: Instant::now() }
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
}

fn cpu_time(clock: rustix::time::ClockId) -> Option<Duration> {
    let time = rustix::time::clock_gettime(clock);
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

/// The wall clock now, UTC, RFC 3339 with milliseconds.
pub fn wall_now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}
