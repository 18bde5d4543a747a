//! What holds every connection of a target from outside: whoever waits for the server on any of them is freed by one pull.
//!
//! A call on a connection that hangs on a pulled leash fails, and so does every attempt to open another one, until the leash is
//! loosened. So a step that opens, asks and closes several connections needs no knowledge of what may end it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use mysql::Conn;

use super::connect::Access;
use super::socket::SocketHandle;
use crate::targets::{Failure, FailureKind, Reins};

/// Limit of any one answer while somebody waits for rowcliff to end: what a live server answers at once it still does.
const HURRIED: Duration = Duration::from_secs(2);
/// How soon a pull is noticed by whoever waits for a log-in.
const LOOK: Duration = Duration::from_millis(20);

/// The leash of a target. Its copies are the same leash.
#[derive(Clone, Default)]
pub struct Leash(Arc<State>);

#[derive(Default)]
struct State {
    pulled: AtomicBool,
    hurried: AtomicBool,
    held: Mutex<Vec<Weak<SocketHandle>>>,
    /// Where the last connection was opened: where a sign of life is asked for.
    last: Mutex<Option<Access>>,
}

impl fmt::Debug for Leash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leash").field("pulled", &self.is_pulled()).finish_non_exhaustive()
    }
}

fn taken<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Leash {
    /// Whether everything is to end.
    pub fn is_pulled(&self) -> bool {
        self.0.pulled.load(Ordering::SeqCst)
    }

    /// Whether somebody waits for rowcliff to end.
    pub fn is_hurried(&self) -> bool {
        self.0.hurried.load(Ordering::SeqCst)
    }

    /// Fails once it was pulled.
    ///
    /// # Errors
    /// [`FailureKind::Cancelled`].
    pub fn allow(&self) -> Result<(), Failure> {
        if !self.is_pulled() {
            return Ok(());
        }
        Err(Failure { kind: FailureKind::Cancelled, code: None, message: "ended from outside".into() })
    }

    /// A limit, or less of it while somebody waits for rowcliff to end.
    pub fn limit(&self, usual: Duration) -> Duration {
        if self.is_hurried() { usual.min(HURRIED) } else { usual }
    }

    /// Takes a connection that was just opened.
    pub fn hold(&self, socket: &Arc<SocketHandle>, access: &Access) {
        let mut held = taken(&self.0.held);
        held.retain(|socket| socket.strong_count() > 0);
        held.push(Arc::downgrade(socket));
        drop(held);
        // Without this leash, which would hold itself.
        *taken(&self.0.last) = Some(Access { leash: Self::default(), ..access.clone() });
        if self.is_pulled() {
            socket.shutdown();
        }
    }

    /// Logs in; a pull ends the waiting, and what is opened after it is closed again.
    ///
    /// # Errors
    /// The driver's, or that it was pulled.
    pub fn open(
        &self,
        connect: impl FnOnce() -> mysql::Result<Conn> + Send + 'static,
    ) -> Result<mysql::Result<Conn>, Failure> {
        self.allow()?;
        let (sender, opened) = sync_channel(1);
        // A log-in cannot be interrupted, only left to itself: it ends with its own limit.
        let log_in = move || {
            let _ = sender.send(connect());
        };
        let thread = std::thread::Builder::new().name("log-in".into()).spawn(log_in);
        thread.map_err(|error| Failure::fatal(format!("no thread can be started: {error}")))?;
        loop {
            match opened.recv_timeout(LOOK) {
                Ok(conn) => return Ok(conn),
                Err(RecvTimeoutError::Timeout) => self.allow()?,
                Err(RecvTimeoutError::Disconnected) => return Err(Failure::fatal("the log-in panicked")),
            }
        }
    }
}

impl Reins for Leash {
    fn pull(&self) {
        self.0.pulled.store(true, Ordering::SeqCst);
        for socket in taken(&self.0.held).drain(..).filter_map(|socket| socket.upgrade()) {
            socket.shutdown();
        }
    }

    fn loosen(&self, hurried: bool) {
        self.0.hurried.store(hurried, Ordering::SeqCst);
        self.0.pulled.store(false, Ordering::SeqCst);
    }

    fn answers(&self, limit: Duration) -> Option<bool> {
        let access = taken(&self.0.last).clone()?;
        Some(access.answers(limit))
    }
}
