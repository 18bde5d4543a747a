//! Work on a table that may take long, so that a signal or a limit ends it and nothing waits for ever.

use std::time::{Duration, Instant};

use super::Interrupt;
use crate::target::{Failure, FailureKind, Table};
use crate::units::human_seconds;

/// Runs `call` on another thread and ends it through the table's canceller when somebody asks the run to end, or when
/// it takes longer than `limit`.
///
/// # Errors
/// What the target said; [`FailureKind::Cancelled`] after an interrupt.
pub fn patiently<T: Send>(
    table: &mut dyn Table,
    interrupt: &Interrupt,
    limit: Option<Duration>,
    what: &str,
    call: impl FnOnce(&mut dyn Table) -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let canceller = table.canceller();
    let started = Instant::now();
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| call(table));
        let mut ended = None;
        while !worker.is_finished() {
            // Short at first: most calls are done at once, and the next curve waits for this one.
            let nap = if started.elapsed() < Duration::from_millis(100) { 1 } else { 50 };
            std::thread::sleep(Duration::from_millis(nap));
            if ended.is_none() {
                ended = if interrupt.is_asked() {
                    Some(Failure { kind: FailureKind::Cancelled, code: None, message: format!("{what}: interrupted") })
                } else if limit.is_some_and(|limit| started.elapsed() > limit) {
                    let limit = human_seconds(started.elapsed().as_secs_f64());
                    Some(Failure::fatal(format!("{what} was ended after {limit} without an answer")))
                } else {
                    None
                };
                if ended.is_some() {
                    canceller.cancel();
                }
            }
        }
        let result = worker.join().unwrap_or_else(|_| Err(Failure::fatal(format!("{what} panicked"))));
        match (ended, result) {
            // What the call says of itself, other than that it was ended, is the better answer.
            (Some(failure), Err(own)) if matches!(own.kind, FailureKind::Cancelled | FailureKind::Lost) => Err(failure),
            (_, result) => result,
        }
    })
}
