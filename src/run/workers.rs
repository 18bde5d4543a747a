//! The crew of a curve: one thread for each loading connection, alive as long as the curve.
//!
//! A batch, or a window of it, is a list of [`Piece`]s. Idle workers take pieces from a shared counter; a piece that
//! continues a transaction is pinned to the worker that holds it. The workers read the clock at their last
//! acknowledgement, so what the coordinating thread does meanwhile (watching, waiting) is in no figure.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::clock::Clock;
use super::seconds::{Acknowledged, Section};
use crate::load::Encode;
use crate::targets::body::Statement;
use crate::targets::{Canceller, Failure, FailureKind, Session};

/// How often a transaction is sent again after a deadlock or a lock wait.
const MAX_RETRIES: u64 = 5;

/// What one worker sends without stopping: a transaction, or a part of one.
#[derive(Debug)]
pub struct Piece {
    /// The worker that has to take it; `None` when any may.
    pub worker: Option<usize>,
    /// Whether its one statement is a transaction of its own, without BEGIN and COMMIT.
    pub autocommit: bool,
    /// Whether BEGIN comes first.
    pub begin: bool,
    /// Whether COMMIT comes last.
    pub commit: bool,
    /// First row of the whole transaction, where sending again starts.
    pub transaction_start: u64,
    pub statements: Vec<Statement>,
}

/// What all workers send in one timed section.
#[derive(Debug)]
pub struct Window {
    pieces: Vec<Mutex<Option<Piece>>>,
    next: AtomicUsize,
    abort: AtomicBool,
    /// Where it stands in its batch, known when it is sent.
    section: Section,
}

impl Window {
    /// Pieces in the order in which they should be taken.
    pub fn new(pieces: Vec<Piece>) -> Self {
        Self {
            pieces: pieces.into_iter().map(|piece| Mutex::new(Some(piece))).collect(),
            next: AtomicUsize::new(0),
            abort: AtomicBool::new(false),
            section: Section::default(),
        }
    }

    /// The same, with its place in the batch.
    #[must_use]
    pub fn at(self, section: Section) -> Self {
        Self { section, ..self }
    }

    fn take(&self, index: usize, worker: usize) -> Option<Piece> {
        let mut slot = self.pieces[index].lock().unwrap_or_else(PoisonError::into_inner);
        if slot.as_ref().is_some_and(|piece| piece.worker.is_none_or(|pinned| pinned == worker)) {
            slot.take()
        } else {
            None
        }
    }
}

/// What one worker did in one timed section.
#[derive(Debug)]
pub struct Share {
    /// When it had its last acknowledgement.
    pub finished: Duration,
    /// Rows that the target accepted.
    pub rows: u64,
    /// Statements that carried rows.
    pub statements: u64,
    /// Transactions sent again.
    pub retries: u64,
    /// Time spent inside calls to the target.
    pub waited: Duration,
    /// CPU time of the worker's own thread, where the system tells: what it did not wait for.
    pub worked: Option<Duration>,
    /// When rows were acknowledged.
    pub acknowledged: Acknowledged,
    /// Statement latency, microseconds, to three digits.
    pub latency: Histogram<u64>,
    /// The longest statement, exact.
    pub longest: Duration,
    /// The first Note of the server.
    pub note: Option<String>,
    /// Why it stopped early.
    pub failure: Option<Failure>,
    /// What it sent, handed back so that memory is given up outside the timed section.
    spent: Vec<Piece>,
}

struct Done {
    share: Share,
}

/// Something to be done over the session of a worker, by its own thread.
type Task = Box<dyn FnOnce(&mut dyn Session) + Send>;

/// The same, with a result.
pub type Job<T> = Box<dyn FnOnce(&mut dyn Session) -> T + Send>;

/// What a worker is told.
enum Order {
    /// Take pieces of a window and send them.
    Load(Arc<Window>),
    /// Something else over the same session.
    Do(Task),
}

struct Worker {
    orders: Sender<Order>,
    canceller: Box<dyn Canceller>,
    thread: JoinHandle<()>,
    id: Option<u64>,
}

/// The workers of a curve.
pub struct Crew {
    workers: Vec<Worker>,
    /// How many of them load; the others only ask.
    loaders: usize,
    /// Statements acknowledged so far, by all workers: what a watchdog sees of the progress.
    acknowledged: Arc<AtomicU64>,
    done: Receiver<Done>,
}

/// What the coordinating thread decides while a window is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// Go on.
    Wait,
    /// End it.
    Cancel,
}

impl Crew {
    /// Starts one thread for each session, of which the first `loaders` load.
    pub fn start(
        sessions: Vec<Box<dyn Session>>,
        loaders: usize,
        encoder: &Arc<dyn Encode>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let (done_sender, done) = channel();
        let acknowledged = Arc::new(AtomicU64::new(0));
        let workers = sessions
            .into_iter()
            .enumerate()
            .map(|(index, session)| {
                let (orders, inbox) = channel::<Order>();
                let canceller = session.canceller();
                let id = session.id();
                let mut hand = Hand {
                    index,
                    session,
                    encoder: Arc::clone(encoder),
                    clock: Arc::clone(clock),
                    in_transaction: false,
                    acknowledged: Arc::clone(&acknowledged),
                    portions: Arc::default(),
                };
                hand.listen();
                let done = done_sender.clone();
                let thread = std::thread::spawn(move || {
                    for order in inbox {
                        let window = match order {
                            Order::Load(window) => window,
                            Order::Do(task) => {
                                task(hand.session.as_mut());
                                continue;
                            }
                        };
                        let share = hand.work(&window);
                        // Before the answer: the coordinator may take the window apart once all have answered.
                        drop(window);
                        if done.send(Done { share }).is_err() {
                            break;
                        }
                    }
                });
                Worker { orders, canceller, thread, id }
            })
            .collect();
        Self { workers, loaders, acknowledged, done }
    }

    /// No workers.
    pub fn empty() -> Self {
        Self { workers: Vec::new(), loaders: 0, acknowledged: Arc::default(), done: channel().1 }
    }

    /// Number of connections, those that only ask among them.
    pub fn len(&self) -> usize {
        self.workers.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.workers.is_empty()
    }

    /// Number of workers that load.
    pub fn loaders(&self) -> usize {
        self.loaders
    }

    /// The ids by which the server knows the sessions.
    pub fn session_ids(&self) -> Vec<u64> {
        self.workers.iter().filter_map(|worker| worker.id).collect()
    }

    /// Has the first workers do something over their sessions, one task each, and waits until all are done or `watch`, which is
    /// asked several times a second, ends them: then the statements in flight are ended and `abort` is set.
    ///
    /// Gives what the tasks gave, in the order of the workers; `None` for one that did not come back within `grace`.
    pub fn each<T: Send + 'static>(
        &self,
        tasks: Vec<Job<T>>,
        grace: Duration,
        abort: &AtomicBool,
        watch: &mut dyn FnMut() -> Watch,
    ) -> Vec<Option<T>> {
        let (sender, results) = channel::<(usize, T)>();
        let mut open = 0;
        let mut given: Vec<Option<T>> = Vec::new();
        for (index, (worker, task)) in self.workers.iter().zip(tasks).enumerate() {
            let sender = sender.clone();
            let order = Order::Do(Box::new(move |session| {
                let result = task(session);
                // Nobody waits any more for one that comes too late.
                let _ = sender.send((index, result));
            }));
            open += usize::from(worker.orders.send(order).is_ok());
            given.push(None);
        }
        drop(sender);
        let end = || {
            abort.store(true, Ordering::SeqCst);
            self.cancel();
        };
        await_all(&results, open, grace, watch, &end, &mut |(index, result)| given[index] = Some(result));
        given
    }

    /// Releases the workers that load on a window and waits for the last one. `watch` is asked several times a second whether to
    /// go on waiting; after [`Watch::Cancel`] the statements in flight are ended.
    ///
    /// A worker that does not come back within `grace` after that counts as lost.
    pub fn send(&self, window: Window, grace: Duration, watch: &mut dyn FnMut(u64) -> Watch) -> Vec<Share> {
        let window = Arc::new(window);
        for worker in &self.workers[..self.loaders] {
            // A worker whose thread is gone is found below, by its missing answer.
            let _ = worker.orders.send(Order::Load(Arc::clone(&window)));
        }
        let mut shares = Vec::with_capacity(self.loaders);
        let end = || {
            window.abort.store(true, Ordering::SeqCst);
            for worker in &self.workers[..self.loaders] {
                worker.canceller.cancel();
            }
        };
        let mut watch = || watch(self.acknowledged.load(Ordering::Relaxed));
        await_all(&self.done, self.loaders, grace, &mut watch, &end, &mut |done| {
            let mut share = done.share;
            share.spent.clear();
            shares.push(share);
        });
        shares
    }

    /// Has every worker make sure that its connection is open. Gives whether one was opened anew.
    ///
    /// # Errors
    /// The target gives no sign of life, or `watch` ended the waiting.
    pub fn wake(&mut self, grace: Duration, watch: &mut dyn FnMut() -> Watch) -> Result<bool, Failure> {
        type Woken = (Result<bool, Failure>, Option<u64>);
        let job = |_: &Worker| -> Job<Woken> { Box::new(|session| (session.wake(), session.id())) };
        let jobs = self.workers.iter().map(job).collect();
        let woken = self.each(jobs, grace, &AtomicBool::new(false), watch);
        let mut anew = false;
        for (worker, woken) in self.workers.iter_mut().zip(woken) {
            let (result, id) = woken.ok_or_else(|| Failure::fatal("a connection did not come back"))?;
            anew |= result?;
            worker.id = id;
        }
        Ok(anew)
    }

    /// Ends whatever the workers are doing.
    pub fn cancel(&self) {
        for worker in &self.workers {
            worker.canceller.cancel();
        }
    }

    /// Closes the connections. A thread that is stuck in a read is left to itself after `grace`: its socket is closed
    /// and the process is about to end or to go on with other connections.
    pub fn dismiss(self, grace: Duration) {
        let Self { workers, done, .. } = self;
        drop(done);
        let mut threads = Vec::new();
        for worker in workers {
            drop(worker.orders);
            threads.push((worker.thread, worker.canceller));
        }
        let deadline = std::time::Instant::now() + grace;
        for (thread, canceller) in threads {
            while !thread.is_finished() && std::time::Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(2));
            }
            if thread.is_finished() {
                let _ = thread.join();
            } else {
                canceller.cancel();
            }
        }
    }
}

/// Takes so many answers as they come. `watch` is asked several times a second whether to go on waiting; when it says no, `end` is
/// called once, and what is not there `grace` after that is not waited for.
fn await_all<T>(
    answers: &Receiver<T>,
    wanted: usize,
    grace: Duration,
    watch: &mut dyn FnMut() -> Watch,
    end: &dyn Fn(),
    take: &mut dyn FnMut(T),
) {
    let mut open = wanted;
    let mut ended_at: Option<std::time::Instant> = None;
    while open > 0 {
        match answers.recv_timeout(Duration::from_millis(50)) {
            Ok(answer) => {
                take(answer);
                open -= 1;
            }
            Err(RecvTimeoutError::Timeout) => match ended_at {
                None if watch() == Watch::Cancel => {
                    end();
                    ended_at = Some(std::time::Instant::now());
                }
                Some(since) if since.elapsed() > grace => return,
                _ => {}
            },
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// What a worker's thread owns.
struct Hand {
    index: usize,
    session: Box<dyn Session>,
    encoder: Arc<dyn Encode>,
    clock: Arc<dyn Clock>,
    in_transaction: bool,
    acknowledged: Arc<AtomicU64>,
    /// Of the body on its way: when how many of its bytes had gone.
    portions: Arc<Mutex<Vec<(Duration, u64)>>>,
}

impl Hand {
    /// Has the session tell how bodies go that travel in portions.
    fn listen(&mut self) {
        let (portions, clock) = (Arc::clone(&self.portions), Arc::clone(&self.clock));
        self.session.tell_progress(Box::new(move |bytes| {
            portions.lock().unwrap_or_else(PoisonError::into_inner).push((clock.now(), bytes));
        }));
    }

    fn work(&mut self, window: &Window) -> Share {
        let cpu = self.clock.thread_cpu();
        let mut share = self.take_what_there_is(window);
        share.worked = cpu.zip(self.clock.thread_cpu()).map(|(before, after)| after.saturating_sub(before));
        share
    }

    fn take_what_there_is(&mut self, window: &Window) -> Share {
        let mut share = Share {
            finished: self.clock.now(),
            rows: 0,
            statements: 0,
            retries: 0,
            waited: Duration::ZERO,
            worked: None,
            acknowledged: Acknowledged::new(window.section),
            latency: new_histogram(),
            longest: Duration::ZERO,
            note: None,
            failure: None,
            spent: Vec::new(),
        };
        // Pinned pieces first: they belong to a transaction that this worker holds open.
        for index in 0..window.pieces.len() {
            let pinned = window.pieces[index]
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .as_ref()
                .and_then(|piece| piece.worker);
            if pinned == Some(self.index) && !self.take_and_send(window, index, &mut share) {
                return share;
            }
        }
        loop {
            let index = window.next.fetch_add(1, Ordering::Relaxed);
            if index >= window.pieces.len() || !self.take_and_send(window, index, &mut share) {
                return share;
            }
        }
    }

    /// `false` when the worker has to stop.
    fn take_and_send(&mut self, window: &Window, index: usize, share: &mut Share) -> bool {
        if window.abort.load(Ordering::Relaxed) {
            return false;
        }
        let Some(mut piece) = window.take(index, self.index) else { return true };
        let result = self.send_piece(&mut piece, window, share);
        share.finished = self.clock.now();
        share.spent.push(piece);
        match result {
            Ok(()) => true,
            Err(failure) => {
                window.abort.store(true, Ordering::SeqCst);
                share.failure = Some(failure);
                false
            }
        }
    }

    fn send_piece(&mut self, piece: &mut Piece, window: &Window, share: &mut Share) -> Result<(), Failure> {
        let mut attempt = 0;
        loop {
            let before = (share.rows, share.statements);
            share.acknowledged.begin_piece();
            match self.try_piece(piece, attempt > 0, window, share) {
                Ok(()) => return Ok(()),
                Err(failure)
                    if failure.kind == FailureKind::Retry
                        && attempt < MAX_RETRIES
                        && !window.abort.load(Ordering::Relaxed) =>
                {
                    // Rows of this transaction that earlier windows counted are sent again, not counted again.
                    (share.rows, share.statements) = before;
                    share.acknowledged.undo();
                    self.session.rollback()?;
                    self.in_transaction = false;
                    attempt += 1;
                    share.retries += 1;
                }
                Err(failure) => {
                    if self.in_transaction {
                        // The failure is what counts; a rollback that fails as well is what closing the connection does.
                        let _ = self.session.rollback();
                        self.in_transaction = false;
                    }
                    return Err(failure);
                }
            }
        }
    }

    fn try_piece(&mut self, piece: &mut Piece, again: bool, window: &Window, share: &mut Share) -> Result<(), Failure> {
        let first_row = piece.statements.first().map_or(piece.transaction_start, |statement| statement.rows.start);
        if piece.begin || again && !piece.autocommit {
            let started = self.clock.now();
            self.session.begin()?;
            share.waited += self.clock.now().saturating_sub(started);
            self.in_transaction = true;
        }
        if again && piece.transaction_start < first_row {
            // The part that earlier windows carried went with the rollback.
            let rows_each = piece.statements.first().map_or(1, |s| s.rows.end - s.rows.start).max(1);
            let mut start = piece.transaction_start;
            while start < first_row {
                let end = first_row.min(start + rows_each);
                let mut statement = Statement { body: self.encoder.encode(start..end), rows: start..end };
                self.send_statement(&mut statement, share)?;
                share.rows -= end - start;
                share.acknowledged.uncount(end - start);
                share.statements -= 1;
                start = end;
            }
        }
        for statement in &mut piece.statements {
            if window.abort.load(Ordering::Relaxed) {
                return Err(Failure { kind: FailureKind::Cancelled, code: None, message: "ended from outside".into() });
            }
            self.send_statement(statement, share)?;
        }
        if piece.commit && self.in_transaction {
            let started = self.clock.now();
            let result = self.session.commit();
            let answered = self.clock.now();
            share.waited += answered.saturating_sub(started);
            result?;
            share.acknowledged.answer(answered);
            self.in_transaction = false;
        }
        Ok(())
    }

    fn send_statement(&mut self, statement: &mut Statement, share: &mut Share) -> Result<(), Failure> {
        if statement.body.is_spent() {
            statement.body = self.encoder.encode(statement.rows.clone());
        }
        let bytes = statement.body.portioned_bytes();
        let started = self.clock.now();
        let result = self.session.send(&mut statement.body);
        let answered = self.clock.now();
        let took = answered.saturating_sub(started);
        share.waited += took;
        let portions = match bytes {
            0 => Vec::new(),
            _ => std::mem::take(&mut *self.portions.lock().unwrap_or_else(PoisonError::into_inner)),
        };
        let accepted = result?;
        record_latency(&mut share.latency, took);
        share.longest = share.longest.max(took);
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
        let sent = row_count(&statement.rows);
        if accepted.rows != sent {
            let message = format!(
                "a statement carried {sent} rows and the target accepted {}: rows {}..{} are not all there",
                accepted.rows, statement.rows.start, statement.rows.end
            );
            return Err(Failure { kind: FailureKind::Broken, code: None, message });
        }
        share.rows += accepted.rows;
        share.acknowledged.answer(answered);
        share.acknowledged.portions(&portions, bytes, answered, accepted.rows);
        share.statements += 1;
        if share.note.is_none() {
            share.note = accepted.note;
        }
        Ok(())
    }
}

fn row_count(rows: &Range<u64>) -> u64 {
    rows.end - rows.start
}

/// Three significant digits; it grows as needed, so that a statement of ten minutes is not cut off.
#[allow(clippy::expect_used)]
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new(3).expect("3 significant digits are within what a histogram takes")
}

/// Adds a duration to a histogram of microseconds.
pub fn record_latency(latency: &mut Histogram<u64>, took: Duration) {
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    // An auto-resizing histogram refuses nothing below 2^63.
    let _ = latency.record(micros.max(1));
}
