//! Whether this process was stopped, or the wall clock set back, while something was measured.
//!
//! A thread beats ten times a second. Nothing but a process that stands still (SIGSTOP, a debugger, a suspended machine, a host without any
//! CPU to give) keeps it from that for seconds, and whatever was timed meanwhile is no cost of the target.

use std::sync::{Mutex, PoisonError, Weak};
use std::time::Duration;

/// How often the thread beats.
const BEAT: Duration = Duration::from_millis(100);
/// A silence that no busy machine makes.
const STOPPED: Duration = Duration::from_secs(2);
/// A clock that is disciplined is moved by less between two beats.
const SET_BACK: Duration = Duration::from_secs(1);

/// What happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Disturbances {
    /// How long the process stood still, all together.
    pub stopped: Duration,
    /// By how much the wall clock went back, all together.
    pub set_back: Duration,
}

/// Two clocks read together.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Since the machine started, the time in which it was suspended included.
    pub elapsed: Duration,
    /// The wall clock, since 1970.
    pub wall: Duration,
}

impl Moment {
    pub fn now() -> Self {
        #[cfg(target_os = "linux")]
        let elapsed = rustix::time::ClockId::Boottime;
        #[cfg(not(target_os = "linux"))]
        let elapsed = rustix::time::ClockId::Monotonic;
        Self { elapsed: read(elapsed), wall: read(rustix::time::ClockId::Realtime) }
    }
}

fn read(clock: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The beats so far.
#[derive(Debug, Default)]
pub struct Pulse {
    last: Option<Moment>,
    seen: Disturbances,
}

impl Pulse {
    /// One beat. Gives what happened up to it.
    pub fn beat(&mut self, now: Moment) -> Disturbances {
        if let Some(last) = self.last.replace(now) {
            let apart = now.elapsed.saturating_sub(last.elapsed);
            if apart > STOPPED {
                self.seen.stopped += apart;
            }
            let back = (last.wall + apart).saturating_sub(now.wall);
            if back > SET_BACK {
                self.seen.set_back += back;
            }
        }
        self.seen
    }
}

/// Beats until the pulse is not used any more. Where no thread can be had, only the readers beat, and nothing is found that they do not see.
pub fn beat_while_used(pulse: Weak<Mutex<Pulse>>) {
    let beats = move || {
        while let Some(pulse) = pulse.upgrade() {
            pulse.lock().unwrap_or_else(PoisonError::into_inner).beat(Moment::now());
            drop(pulse);
            std::thread::sleep(BEAT);
        }
    };
    let _ = std::thread::Builder::new().name("pulse".into()).spawn(beats);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(elapsed_ms: u64, wall_ms: u64) -> Moment {
        Moment { elapsed: Duration::from_millis(elapsed_ms), wall: Duration::from_millis(wall_ms) }
    }

    #[test]
    fn a_process_that_stood_still_and_a_clock_that_went_back_are_found() {
        let mut pulse = Pulse::default();
        assert_eq!(pulse.beat(at(0, 100_000)), Disturbances::default());
        // Late, as on a busy machine; and a wall clock that is slewed.
        assert_eq!(pulse.beat(at(1_500, 101_000)), Disturbances::default());
        let stopped = pulse.beat(at(11_500, 111_000));
        assert_eq!(stopped, Disturbances { stopped: Duration::from_secs(10), set_back: Duration::ZERO });
        // An hour back; a clock set forward is no harm to a label.
        assert_eq!(pulse.beat(at(11_600, 111_100 - 60_000)).set_back, Duration::from_secs(60));
        assert_eq!(pulse.beat(at(11_700, 9_000_000)).set_back, Duration::from_secs(60));
    }
}
