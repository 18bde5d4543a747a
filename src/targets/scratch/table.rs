//! The table of one curve on a server of its own: the table is any server's, closing it ends the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::server::Server;
use crate::engine::Checkpoint;
use crate::plan::counters::CounterChoice;
use crate::rows::{Lookup, Value};
use crate::targets::mysql::control::lock;
use crate::targets::mysql::settle;
use crate::targets::mysql::table::MysqlTable;
use crate::targets::{
    Canceller, Failure, Reading, RowSet, ServerProcess, Session, Table, TableFacts, TableOrder, TableSize,
};

/// How long the closing work may take.
const CHECKPOINT_LIMIT: Duration = Duration::from_secs(3600);
/// How often it is looked at: what is timed should not end much later than the work.
const CHECKPOINT_PAUSE: Duration = Duration::from_millis(20);

/// The table of one curve, and the server it is alone on.
pub struct ScratchTable {
    pub(super) inner: MysqlTable,
    /// Given up when the table is closed.
    pub(super) server: Option<Server>,
    /// How its engine is made to write everything out.
    pub(super) checkpoint: Option<Checkpoint>,
    pub(super) hurry: Arc<AtomicBool>,
}

struct ScratchCanceller {
    inner: Box<dyn Canceller>,
    hurry: Arc<AtomicBool>,
}

impl Canceller for ScratchCanceller {
    fn cancel(&self) {
        self.hurry.store(true, Ordering::SeqCst);
        self.inner.cancel();
    }

    fn doing(&self) -> Option<String> {
        self.inner.doing()
    }
}

impl ScratchTable {
    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<Option<String>, Failure> {
        let control = self.inner.control();
        let mut taken: Vec<&str> = Vec::new();
        let mut refused = None;
        for sql in &checkpoint.statements {
            match lock(&control).execute_patiently(sql) {
                Ok(()) => taken.push(sql.trim_start_matches("SET GLOBAL ")),
                Err(failure) => refused = Some(failure),
            }
        }
        if let (true, Some(failure)) = (taken.is_empty(), refused) {
            return Err(failure);
        }
        let hurry = Arc::clone(&self.hurry);
        let pause = CHECKPOINT_PAUSE;
        let settled =
            settle::wait(&control, &checkpoint.pending, CHECKPOINT_LIMIT, pause, &|| hurry.load(Ordering::SeqCst));
        let mut text = format!("checkpoint ({})", taken.join(", "));
        if let Some(settled) = settled {
            text.push_str(&format!(", then waited for {}", settled.what));
            if let Some(left) = settled.gave_up {
                text.push_str(&format!(" and gave up: {left}"));
            }
        }
        Ok(Some(text))
    }
}

impl Table for ScratchTable {
    fn facts(&self) -> &TableFacts {
        self.inner.facts()
    }

    fn connect(&mut self) -> Result<Box<dyn Session>, Failure> {
        self.inner.connect()
    }

    fn canceller(&self) -> Box<dyn Canceller> {
        Box::new(ScratchCanceller { inner: self.inner.canceller(), hurry: Arc::clone(&self.hurry) })
    }

    fn count(&mut self) -> Result<Option<u64>, Failure> {
        self.inner.count()
    }

    fn fetch(&mut self, columns: &[String], lookups: &[Lookup]) -> Result<Vec<Vec<Vec<Value>>>, Failure> {
        self.inner.fetch(columns, lookups)
    }

    fn last_rows(&mut self, columns: &[String], rows: u64, of: u64) -> Result<Vec<Vec<Value>>, Failure> {
        self.inner.last_rows(columns, rows, of)
    }

    fn max_id(&mut self) -> Result<Option<u64>, Failure> {
        self.inner.max_id()
    }

    fn count_of(&mut self, rows: RowSet<'_>) -> Result<u64, Failure> {
        self.inner.count_of(rows)
    }

    fn remove(&mut self, rows: RowSet<'_>) -> Result<u64, Failure> {
        self.inner.remove(rows)
    }

    fn server_started_at(&mut self) -> Result<Option<i64>, Failure> {
        self.inner.server_started_at()
    }

    fn own_sessions(&mut self) -> Result<Vec<u64>, Failure> {
        self.inner.own_sessions()
    }

    fn end_sessions(&mut self, ids: &[u64]) -> Result<(), Failure> {
        self.inner.end_sessions(ids)
    }

    fn closing_work(&mut self) -> Result<Option<String>, Failure> {
        match self.checkpoint.clone() {
            Some(checkpoint) => self.checkpoint(&checkpoint),
            None => self.inner.closing_work(),
        }
    }

    fn counters(&mut self, choice: CounterChoice) -> Reading {
        self.inner.counters(choice)
    }

    fn server_process(&mut self) -> ServerProcess {
        self.server.as_ref().map_or(ServerProcess::Unknown, |server| ServerProcess::Local(server.id()))
    }

    fn size(&mut self) -> TableSize {
        self.inner.size()
    }

    fn is_alive(&mut self) -> bool {
        self.inner.is_alive()
    }

    fn wake(&mut self) -> Result<(), Failure> {
        self.inner.wake()
    }

    fn side(&mut self, order: &TableOrder<'_>) -> Result<Box<dyn Table>, Failure> {
        self.inner.side(order)
    }

    fn close(&mut self, keep: bool) -> Result<(), Failure> {
        // The table goes with the server, if it goes.
        let closed = self.inner.close(true);
        let Some(server) = self.server.take() else { return closed };
        if keep {
            return server.end().and(closed);
        }
        server.discard()
    }
}
