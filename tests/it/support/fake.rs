//! A target that stores nothing and a clock that the test moves: the whole pipeline in milliseconds.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rowcliff::engine::EngineTable;
use rowcliff::error::Error;
use rowcliff::key::Key;
use rowcliff::plan::counters::CounterChoice;
use rowcliff::plan::method::Method;
use rowcliff::plan::stop::StopRules;
use rowcliff::plan::{Cell, CurvePlan, Flush, Place, Plan, ScratchPlan, Sizes, TargetSpec};
use rowcliff::record::Environment;
use rowcliff::record::event::{Event, Reporter};
use rowcliff::record::run::TargetRecord;
use rowcliff::rows::{IndexOrder, Lookup, Value};
use rowcliff::run::{Clock, Interrupt, RunDirectory, Runner, Summary};
use rowcliff::schema::{BuiltIn, Dialect, Variant, default_columns};
use rowcliff::targets::body::Body;
use rowcliff::targets::{
    Accepted, Canceller, Failure, FailureKind, Figure, Limits, Purpose, Reading, Reins, RowSet, Session, Table,
    TableFacts, TableOrder, TableSize, Target, Verdict,
};

/// Time that only moves when a statement is sent.
#[derive(Debug, Default)]
pub struct FakeClock {
    micros: AtomicU64,
    /// CPU time of the threads that send: the fake client's own work.
    worked: AtomicU64,
}

impl FakeClock {
    pub fn advance(&self, by: Duration) {
        self.micros.fetch_add(by.as_micros() as u64, Ordering::SeqCst);
    }

    /// Time passes in which the client works.
    pub fn work(&self, by: Duration) {
        self.worked.fetch_add(by.as_micros() as u64, Ordering::SeqCst);
        self.advance(by);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::SeqCst))
    }

    fn cpu(&self) -> Option<Duration> {
        None
    }

    fn thread_cpu(&self) -> Option<Duration> {
        Some(Duration::from_micros(self.worked.load(Ordering::SeqCst)))
    }

    fn wall(&self) -> String {
        format!("fake+{}us", self.micros.load(Ordering::SeqCst))
    }
}

/// What a statement meets: it is given the rows already in the table and the rows of the statement, and says how long
/// it takes and what the target answers.
pub type Behaviour = dyn Fn(u64, u64) -> (Duration, Result<u64, Failure>) + Send + Sync;

/// What the fake target has seen.
#[derive(Debug, Default)]
pub struct Seen {
    pub rows: u64,
    pub statements: u64,
    pub opened: u64,
    pub kept: Vec<bool>,
    pub finished: u64,
    /// Rows of transactions that were rolled back.
    pub rolled_back: u64,
    /// Rows that each way back to a boundary removed.
    pub taken_back: Vec<u64>,
}

/// What the closing work of a table is like.
#[derive(Debug, Default)]
pub struct FakeClosing {
    /// How long it takes, unless it is ended.
    pub seconds: u64,
    /// Whether the target gives a sign of life meanwhile.
    pub answers: bool,
    /// Who asks the run to end in the middle of it.
    pub interrupt: Option<Interrupt>,
    pub pulled: AtomicBool,
}

impl FakeClosing {
    pub fn new(seconds: u64, answers: bool) -> Arc<Self> {
        Arc::new(Self { seconds, answers, ..Self::default() })
    }

    /// Takes its time, five seconds of it between two looks of whoever waits.
    fn work(&self, clock: &FakeClock) -> Result<Option<String>, Failure> {
        for second in 0..self.seconds / 5 {
            clock.advance(Duration::from_secs(5));
            std::thread::sleep(Duration::from_millis(30));
            if second == 2 {
                self.interrupt.iter().for_each(Interrupt::ask);
            }
            if self.pulled.load(Ordering::SeqCst) {
                return Err(failure(FailureKind::Lost, "the connection is gone"));
            }
        }
        Ok(Some("fake checkpoint".into()))
    }
}

/// The hold on a fake target.
struct FakeReins(Arc<FakeClosing>);

impl Reins for FakeReins {
    fn pull(&self) {
        self.0.pulled.store(true, Ordering::SeqCst);
    }

    fn loosen(&self, _: bool) {
        self.0.pulled.store(false, Ordering::SeqCst);
    }

    fn answers(&self, _: Duration) -> Option<bool> {
        Some(self.0.answers)
    }
}

pub struct FakeTarget {
    pub clock: Arc<FakeClock>,
    pub behaviour: Arc<Behaviour>,
    pub seen: Arc<Mutex<Seen>>,
    /// What the client itself does for each statement.
    pub client_work: Duration,
    /// Whether the rows of a trial are there when they are counted.
    pub trial_keeps: bool,
    /// Rows that are gone when the load is counted.
    pub lost: u64,
    pub closing: Arc<FakeClosing>,
}

impl Target for FakeTarget {
    fn describe(&mut self) -> Result<TargetRecord, Error> {
        Ok(TargetRecord { flavour: "fake".into(), version: "1".into(), ..TargetRecord::default() })
    }

    fn judge(&mut self, _: &CurvePlan) -> Result<Verdict, Error> {
        Ok(Verdict::runs())
    }

    fn reins(&self) -> Arc<dyn Reins> {
        Arc::new(FakeReins(Arc::clone(&self.closing)))
    }

    fn open(&mut self, order: &TableOrder<'_>) -> Result<Box<dyn Table>, Failure> {
        let mut seen = self.seen.lock().unwrap();
        if order.purpose != Purpose::GoOn {
            seen.rows = 0;
        }
        seen.opened += u64::from(order.purpose != Purpose::Trial);
        let facts = TableFacts {
            columns: default_columns(Dialect::Mysql, order.curve.cell.key, Variant::Standard),
            flush_in_force: "fake=1".into(),
            limits: Limits { statement_bytes: 1 << 24, ..Limits::default() },
            ..TableFacts::new("`t`".into(), Dialect::Mysql)
        };
        Ok(Box::new(FakeTable {
            facts,
            clock: Arc::clone(&self.clock),
            behaviour: Arc::clone(&self.behaviour),
            seen: Arc::clone(&self.seen),
            rehearsal: order.purpose == Purpose::Trial,
            trial_keeps: self.trial_keeps,
            lost: if order.purpose == Purpose::Trial { 0 } else { self.lost },
            client_work: self.client_work,
            closing: Arc::clone(&self.closing),
        }))
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.seen.lock().unwrap().finished += 1;
        Ok(())
    }
}

struct FakeTable {
    facts: TableFacts,
    clock: Arc<FakeClock>,
    behaviour: Arc<Behaviour>,
    seen: Arc<Mutex<Seen>>,
    rehearsal: bool,
    trial_keeps: bool,
    lost: u64,
    client_work: Duration,
    closing: Arc<FakeClosing>,
}

impl Table for FakeTable {
    fn facts(&self) -> &TableFacts {
        &self.facts
    }

    fn connect(&mut self) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(FakeSession {
            clock: Arc::clone(&self.clock),
            behaviour: Arc::clone(&self.behaviour),
            seen: Arc::clone(&self.seen),
            rehearsal: self.rehearsal,
            trial_keeps: self.trial_keeps,
            client_work: self.client_work,
            open_rows: None,
        }))
    }

    fn canceller(&self) -> Box<dyn Canceller> {
        Box::new(NoCanceller)
    }

    fn count(&mut self) -> Result<Option<u64>, Failure> {
        Ok(Some(self.seen.lock().unwrap().rows - self.lost))
    }

    fn fetch(&mut self, _: &[String], _: &[Lookup]) -> Result<Vec<Vec<Vec<Value>>>, Failure> {
        Err(Failure::fatal("the fake target keeps no values"))
    }

    fn last_rows(&mut self, _: &[String], _: u64, _: u64) -> Result<Vec<Vec<Value>>, Failure> {
        Err(Failure::fatal("the fake target keeps no values"))
    }

    fn max_id(&mut self) -> Result<Option<u64>, Failure> {
        let rows = self.seen.lock().unwrap().rows;
        Ok((self.facts.auto_increment().is_some() && rows > 0).then_some(rows))
    }

    fn count_of(&mut self, rows: RowSet<'_>) -> Result<u64, Failure> {
        let there = self.seen.lock().unwrap().rows;
        match rows {
            RowSet::Any => Ok(there.min(1)),
            RowSet::Ids { above, up_to } => Ok(there.min(up_to.unwrap_or(there)).saturating_sub(above)),
            RowSet::Found(_) => Err(Failure::fatal("the fake target keeps no keys")),
        }
    }

    fn remove(&mut self, rows: RowSet<'_>) -> Result<u64, Failure> {
        let RowSet::Ids { above, up_to: None } = rows else {
            return Err(Failure::fatal("the fake target keeps no keys"));
        };
        let mut seen = self.seen.lock().unwrap();
        let removed = seen.rows.saturating_sub(above);
        seen.rows -= removed;
        seen.taken_back.push(removed);
        Ok(removed)
    }

    fn end_sessions(&mut self, _: &[u64]) -> Result<(), Failure> {
        Ok(())
    }

    fn counters(&mut self, choice: CounterChoice) -> Reading {
        let rows = self.seen.lock().unwrap().rows as f64;
        let all = [
            // One page for four rows, and a count that somebody resets in the middle.
            ("innodb_pages_read", Figure::Total(rows / 4.0)),
            ("reset", Figure::Total(if rows < 3000.0 { rows } else { rows - 2500.0 })),
            ("dirty", Figure::Level(7.0)),
        ];
        match choice {
            CounterChoice::None => Reading::new(),
            _ => all.into_iter().map(|(name, figure)| (name.to_owned(), figure)).collect(),
        }
    }

    fn size(&mut self) -> TableSize {
        TableSize { data_bytes: Some(self.seen.lock().unwrap().rows * 100), index_bytes: None }
    }

    fn closing_work(&mut self) -> Result<Option<String>, Failure> {
        if self.closing.seconds > 0 {
            return self.closing.work(&self.clock);
        }
        self.clock.advance(Duration::from_secs(7));
        Ok(Some("fake checkpoint".into()))
    }

    fn close(&mut self, keep: bool) -> Result<(), Failure> {
        if !self.rehearsal {
            self.seen.lock().unwrap().kept.push(keep);
        }
        Ok(())
    }
}

struct NoCanceller;

impl Canceller for NoCanceller {
    fn cancel(&self) {}
}

struct FakeSession {
    clock: Arc<FakeClock>,
    behaviour: Arc<Behaviour>,
    seen: Arc<Mutex<Seen>>,
    rehearsal: bool,
    trial_keeps: bool,
    client_work: Duration,
    open_rows: Option<u64>,
}

impl Session for FakeSession {
    fn canceller(&self) -> Box<dyn Canceller> {
        Box::new(NoCanceller)
    }

    fn id(&self) -> Option<u64> {
        None
    }

    fn begin(&mut self) -> Result<(), Failure> {
        self.open_rows = Some(0);
        Ok(())
    }

    fn send(&mut self, body: &mut Body) -> Result<Accepted, Failure> {
        let Body::Text(sql) = body else { panic!("the fake target takes text") };
        let rows = sql.matches("),(").count() as u64 + 1;
        if self.rehearsal {
            self.seen.lock().unwrap().rows += if self.trial_keeps { rows } else { 0 };
            return Ok(Accepted { rows, note: None });
        }
        let before = self.seen.lock().unwrap().rows;
        let (took, answer) = (self.behaviour)(before, rows);
        self.clock.work(self.client_work);
        self.clock.advance(took);
        let accepted = answer?;
        let mut seen = self.seen.lock().unwrap();
        seen.rows += accepted;
        seen.statements += 1;
        if let Some(open) = &mut self.open_rows {
            *open += accepted;
        }
        Ok(Accepted { rows: accepted, note: None })
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.open_rows = None;
        Ok(())
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        let mut seen = self.seen.lock().unwrap();
        let open = self.open_rows.take().unwrap_or(0);
        seen.rows -= open;
        seen.rolled_back += open;
        Ok(())
    }
}

/// What a fake run is made of.
pub struct FakeRun {
    pub sizes: Sizes,
    pub connections: u32,
    pub repeat: u32,
    pub verify_rows: Option<u64>,
    pub window_bytes: u64,
    pub stop: StopRules,
    pub interrupt: Interrupt,
    pub counters: CounterChoice,
    pub client_work: Duration,
    pub trial_keeps: bool,
    pub lost: u64,
    pub clock: Arc<FakeClock>,
    pub closing: Arc<FakeClosing>,
}

impl Default for FakeRun {
    fn default() -> Self {
        Self {
            sizes: Sizes { rows: 20_000, batch_rows: 1000, statement_rows: 100, commit_rows: 100 },
            connections: 1,
            repeat: 1,
            verify_rows: Some(0),
            window_bytes: 1 << 20,
            stop: StopRules::default(),
            interrupt: Interrupt::new(),
            counters: CounterChoice::Default,
            client_work: Duration::ZERO,
            trial_keeps: true,
            lost: 0,
            clock: Arc::default(),
            closing: FakeClosing::new(0, true),
        }
    }
}

/// What came of it.
pub struct FakeResult {
    pub summary: Result<Summary, Error>,
    pub seen: Arc<Mutex<Seen>>,
    pub events: Vec<String>,
}

impl FakeRun {
    /// Runs one cell for each key of `keys` into `directory`.
    pub fn run(self, directory: &Path, keys: &[&str], behaviour: Arc<Behaviour>) -> FakeResult {
        let clock = self.clock;
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (engine, engine_entry) = EngineTable::built_in().resolve("innodb");
        let mut curves = Vec::new();
        for repeat in 1..=self.repeat {
            for key in keys {
                let key: Key = key.parse().unwrap();
                let number = curves.len() + 1;
                curves.push(CurvePlan {
                    number,
                    name: format!("fake innodb {key} flush=as-is insert c{} r{repeat}", self.connections),
                    cell: Cell {
                        target: 0,
                        target_label: "fake".into(),
                        engine: engine.clone(),
                        engine_entry: engine_entry.clone(),
                        tables: BuiltIn::One,
                        key,
                        flush: Flush::AsIs,
                        method: Method::Insert,
                        connections: self.connections,
                        schema: None,
                        settings: Vec::new(),
                        cache_bytes: None,
                        probe_connections: 0,
                    },
                    repeat,
                    sizes: self.sizes,
                    unable: None,
                });
            }
        }
        let plan = Plan {
            targets: vec![TargetSpec { label: "fake".into(), place: Place::Sqlite { path: None } }],
            curves,
            seed: 1,
            uuid_rate: 60_000,
            index_order: IndexOrder::Ascending,
            fill: rowcliff::rows::Wishes::new(),
            edition: rowcliff::rows::EDITION,
            schema: None,
            payload_bytes: None,
            verify_rows: self.verify_rows,
            window_bytes: self.window_bytes,
            stop: self.stop,
            scratch: ScratchPlan::default(),
            settle_seconds: 0.0,
            counters: self.counters,
            keep: false,
            strict: false,
            control_batch: false,
            fail_on_cliff: false,
            fail_on_slowdown: None,
            probe: None,
            scale: None,
            scale_cache: false,
            scale_uuid_rate: false,
            care: rowcliff::plan::Care::default(),
            shard: None,
        };
        let target = FakeTarget {
            clock: Arc::clone(&clock),
            behaviour,
            seen: Arc::clone(&seen),
            client_work: self.client_work,
            trial_keeps: self.trial_keeps,
            lost: self.lost,
            closing: self.closing,
        };
        let mut events = Events::default();
        let runner = Runner {
            plan: &plan,
            targets: vec![Box::new(target)],
            warden: rowcliff::run::Warden::new(
                &plan.stop,
                Arc::clone(&clock) as Arc<dyn Clock>,
                self.interrupt.clone(),
            ),
            clock,
            interrupt: self.interrupt,
            directory: RunDirectory::create(directory).unwrap(),
            reporter: &mut events,
            environment: Environment::default(),
            command_line: Vec::new(),
            run_id: "fake".into(),
            started: Duration::ZERO,
            past: None,
            left_out: std::collections::BTreeMap::new(),
        };
        let summary = runner.execute();
        FakeResult { summary, seen, events: events.0 }
    }
}

#[derive(Default)]
struct Events(Vec<String>);

impl Reporter for Events {
    fn report(&mut self, event: &Event<'_>) {
        self.0.push(match event {
            Event::Started { .. } => "started".into(),
            Event::Note(text) => format!("note {text}"),
            Event::Waiting { what, .. } => format!("waiting for {what}"),
            Event::CurveStarted { .. } => "curve started".into(),
            Event::Batch { sample, .. } => format!("batch {}", sample.batch),
            Event::Probe { line } => format!("probe {}", line.probe),
            Event::CurveEnded { .. } => "curve ended".into(),
            Event::Finished { .. } => "finished".into(),
        });
    }
}

/// A failure of the target's.
pub fn failure(kind: FailureKind, message: &str) -> Failure {
    Failure { kind, code: Some(4711), message: message.into() }
}
