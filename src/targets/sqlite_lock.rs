//! How long SQLite waited for a lock that another process holds.
//!
//! A curve is loaded over one connection, and no other of its own holds a lock meanwhile. So whoever is waited for is somebody else.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::Connection;

/// How long one attempt waits; then the transaction is sent again.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the lock is tried.
const NAP: Duration = Duration::from_millis(10);

thread_local! {
    /// What the statement that this thread runs has waited so far. SQLite's handler is a plain function and is called on that thread.
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Has a connection wait, and count what it waits.
pub(super) fn wait_and_count(conn: &mut Connection) -> rusqlite::Result<()> {
    conn.busy_handler(Some(busy))
}

fn busy(tries: i32) -> bool {
    if NAP * u32::try_from(tries).unwrap_or(0) >= PATIENCE {
        return false;
    }
    let started = std::time::Instant::now();
    std::thread::sleep(NAP);
    WAITED.set(WAITED.get() + started.elapsed());
    true
}

/// What all connections to a table have waited.
#[derive(Debug, Clone, Default)]
pub(super) struct LockWaits(Arc<AtomicU64>);

impl LockWaits {
    /// Runs `call` and adds what it waits.
    pub(super) fn around<T>(&self, call: impl FnOnce() -> T) -> T {
        WAITED.set(Duration::ZERO);
        let result = call();
        self.0.fetch_add(u64::try_from(WAITED.take().as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        result
    }

    /// All of it so far.
    pub(super) fn so_far(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }
}
