//! A loading connection to one endpoint of a cluster: it counts what the endpoint did and names it in its failures.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::member::{apart, number};
use crate::rows::Value;
use crate::targets::body::Body;
use crate::targets::mysql::session::MysqlSession;
use crate::targets::{Accepted, Canceller, Failure, FailureKind, Progress, Rows, Session};

/// What one endpoint did for a curve, over all of its loading connections.
#[derive(Debug, Default)]
pub struct Tally {
    open: AtomicU32,
    most_open: AtomicU32,
    statements: AtomicU64,
    rows: AtomicU64,
    errors: AtomicU64,
    first_error: Mutex<Option<String>>,
}

/// A tally as it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counted {
    /// The most connections that were open at once.
    pub connections: u32,
    /// Statements that were acknowledged.
    pub statements: u64,
    /// Rows that were acknowledged.
    pub rows: u64,
    /// Answers that were errors.
    pub errors: u64,
    /// The first of them.
    pub first_error: Option<String>,
}

impl Tally {
    /// As it stands.
    pub fn counted(&self) -> Counted {
        Counted {
            connections: self.most_open.load(Ordering::Relaxed),
            statements: self.statements.load(Ordering::Relaxed),
            rows: self.rows.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            first_error: self.first_error.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    fn opened(&self) {
        let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_open.fetch_max(open, Ordering::Relaxed);
    }

    fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    fn error(&self, failure: &Failure) {
        self.errors.fetch_add(1, Ordering::Relaxed);
        let mut first = self.first_error.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| failure.to_string());
    }
}

pub struct MemberSession {
    inner: MysqlSession,
    /// Its number among the sessions of the table.
    number: u64,
    name: String,
    tally: Arc<Tally>,
}

impl MemberSession {
    /// Takes a connection to the endpoint `name`.
    pub fn new(inner: MysqlSession, number: u64, name: &str, tally: &Arc<Tally>) -> Self {
        tally.opened();
        Self { inner, number, name: name.to_owned(), tally: Arc::clone(tally) }
    }

    fn told<T>(&self, result: Result<T, Failure>) -> Result<T, Failure> {
        result.map_err(|failure| {
            if failure.kind != FailureKind::Cancelled {
                self.tally.error(&failure);
            }
            named(failure, &self.name)
        })
    }
}

/// A failure with the endpoint at which it happened.
pub fn named(failure: Failure, name: &str) -> Failure {
    Failure { message: format!("{name}: {}", failure.message), ..failure }
}

impl Drop for MemberSession {
    fn drop(&mut self) {
        self.tally.closed();
    }
}

impl Session for MemberSession {
    fn canceller(&self) -> Box<dyn Canceller> {
        self.inner.canceller()
    }

    fn id(&self) -> Option<u64> {
        Some(self.number)
    }

    fn wake(&mut self) -> Result<bool, Failure> {
        let result = self.inner.wake();
        let anew = self.told(result)?;
        self.number = number(apart(self.number).0, self.inner.id().unwrap_or_default());
        Ok(anew)
    }

    fn begin(&mut self) -> Result<(), Failure> {
        let result = self.inner.begin();
        self.told(result)
    }

    fn send(&mut self, body: &mut Body) -> Result<Accepted, Failure> {
        let result = self.inner.send(body);
        let accepted = self.told(result)?;
        self.tally.statements.fetch_add(1, Ordering::Relaxed);
        self.tally.rows.fetch_add(accepted.rows, Ordering::Relaxed);
        Ok(accepted)
    }

    fn catch_up(&mut self) -> Result<(), Failure> {
        let result = self.inner.wait_for_members();
        self.told(result)
    }

    fn prepare(&mut self, sql: &str) -> Result<usize, Failure> {
        let result = self.inner.prepare(sql);
        self.told(result)
    }

    fn ask(&mut self, statement: usize, values: &[Value], rows: &mut Rows) -> Result<u64, Failure> {
        let result = self.inner.ask(statement, values, rows);
        self.told(result)
    }

    fn ask_text(&mut self, sql: &str, rows: &mut Rows) -> Result<u64, Failure> {
        let result = self.inner.ask_text(sql, rows);
        self.told(result)
    }

    fn forget(&mut self) -> Result<(), Failure> {
        let result = self.inner.forget();
        self.told(result)
    }

    fn tell_progress(&mut self, progress: Progress) {
        self.inner.tell_progress(progress);
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let result = self.inner.commit();
        self.told(result)
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        let result = self.inner.rollback();
        self.told(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_keeps_the_most_connections_and_the_first_error() {
        let tally = Tally::default();
        tally.opened();
        tally.opened();
        tally.closed();
        tally.opened();
        tally.error(&Failure::fatal("one"));
        tally.error(&Failure::fatal("two"));
        let counted = tally.counted();
        assert_eq!((counted.connections, counted.errors), (2, 2));
        assert_eq!(counted.first_error.as_deref(), Some("one"));
        assert_eq!(named(Failure::fatal("gone"), "b:1").message, "b:1: gone");
    }
}
