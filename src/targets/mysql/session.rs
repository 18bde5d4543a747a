//! One loading connection to a server of the MySQL family.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler, Params, Row, Statement};

use super::connect::{Access, speak, speak_utf8, wait_for_members};
use super::control::{IDLE, SIGN_OF_LIFE, SharedControl, lock_soon, named};
use super::errors::failure;
use super::execute::{self, Coding};
use super::socket::SocketHandle;
use super::table::from_mysql;
use super::variables::{Named, prepare_loading};
use super::wire::Wire;
use crate::rows::Value;
use crate::schema::{Column, ColumnType};
use crate::targets::body::Body;
use crate::targets::{Accepted, Canceller, Failure, FailureKind, Progress, Rows, Session, TableFacts};

/// Prepared statements kept for each connection: whole statements, the shorter last one of a transaction and of a batch.
const KEPT_STATEMENTS: usize = 8;

/// How much of a file goes to the server before its progress is told.
const PORTION_BYTES: usize = 64 << 10;

/// A statement that is asked many times.
struct Ready {
    sql: String,
    statement: Statement,
    /// How the values of its rows are coded, as the server said last.
    columns: Vec<Coding>,
}

/// Which session of the server a loading connection is at present, for whoever has to end its statement.
type Seat = Arc<Mutex<(u64, Arc<SocketHandle>)>>;

/// What a session speaks. Where all names are ASCII it is latin1 throughout, which costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speech {
    /// latin1, as a session is prepared.
    Latin1,
    /// UTF-8: any name can be written, and a raw key that is bound as a parameter is refused.
    Names,
    /// UTF-8 of which the server checks nothing: any byte may be bound, and a statement that the server prepares again by itself
    /// still finds its names. A JSON column refuses such a parameter.
    Bytes,
}

/// What statements with parameters are executed in, for a table some of whose names are not ASCII.
fn speech_of_parameters(columns: &[Column]) -> Speech {
    let has = |wanted: fn(&ColumnType) -> bool| columns.iter().any(|column| wanted(&column.data_type));
    let has_bytes = has(|kind| {
        matches!(
            kind,
            ColumnType::Binary
                | ColumnType::Varbinary
                | ColumnType::Blob
                | ColumnType::Bit { .. }
                | ColumnType::Point { .. }
                | ColumnType::Other
        )
    });
    // What reads text as text has to be told that it is text.
    let has_documents = has(|kind| matches!(kind, ColumnType::Json | ColumnType::Uuid));
    match (has_bytes, has_documents) {
        (false, _) => Speech::Names,
        (true, false) => Speech::Bytes,
        (true, true) => Speech::Latin1,
    }
}

pub struct MysqlSession {
    /// How to open it anew.
    access: Access,
    /// The variables that the cell names, which are left as the server has them.
    named: Named,
    conn: Conn,
    id: u64,
    seat: Seat,
    /// When the server answered last.
    used: Instant,
    /// The shorter way of text statements, over a plain Unix socket.
    wire: Option<Wire>,
    packet_bytes: usize,
    /// Whether every name in its statements is ASCII.
    has_ascii_names: bool,
    speech: Speech,
    speech_of_parameters: Speech,
    control: SharedControl,
    /// Prepared statements, by the address of their text: each text is made once for a curve.
    prepared: HashMap<usize, (Arc<str>, Statement)>,
    /// Those that are asked, by their number.
    ready: Vec<Ready>,
    /// A request on its way.
    request: Vec<u8>,
    /// What the local-infile handler sends next. Empty again once it has been asked for.
    infile: Arc<Mutex<Vec<u8>>>,
    /// Who is told how it goes.
    progress: Arc<Mutex<Option<Progress>>>,
}

impl MysqlSession {
    /// Opens it. `named`: the variables that the cell names; `facts`: of the table that it loads.
    ///
    /// # Errors
    /// See [`Access::connect`].
    pub fn open(access: Access, named: &Named, facts: &TableFacts, control: SharedControl) -> Result<Self, Failure> {
        let (mut conn, socket) = access.connect()?;
        speak(&mut conn)?;
        prepare_loading(&mut conn, named)?;
        let infile = Arc::new(Mutex::new(Vec::new()));
        let progress: Arc<Mutex<Option<Progress>>> = Arc::new(Mutex::new(None));
        feed_infile(&mut conn, &infile, &progress);
        let id = u64::from(conn.connection_id());
        Ok(Self {
            access,
            named: named.clone(),
            conn,
            id,
            wire: wire_over(&socket),
            seat: Arc::new(Mutex::new((id, socket))),
            used: Instant::now(),
            packet_bytes: usize::try_from(facts.limits.statement_bytes).unwrap_or(usize::MAX),
            has_ascii_names: facts.has_ascii_names(),
            speech: Speech::Latin1,
            speech_of_parameters: speech_of_parameters(&facts.columns),
            control,
            prepared: HashMap::new(),
            ready: Vec::new(),
            request: Vec::new(),
            infile,
            progress,
        })
    }

    /// Whether the server answers over this connection.
    fn gives_sign_of_life(&mut self) -> bool {
        let socket = Arc::clone(&self.seat.lock().unwrap_or_else(PoisonError::into_inner).1);
        socket.set_timeout(Some(self.access.leash.limit(SIGN_OF_LIFE)));
        let answered = self.conn.ping().is_ok();
        socket.set_timeout(None);
        answered
    }

    /// Takes a new connection in the place of one that is gone, with everything that was made ready in that one.
    fn renew(&mut self) -> Result<(), Failure> {
        let (mut conn, socket) = self.access.connect_within(SIGN_OF_LIFE)?;
        socket.set_timeout(Some(self.access.leash.limit(SIGN_OF_LIFE)));
        speak(&mut conn)?;
        prepare_loading(&mut conn, &self.named)?;
        feed_infile(&mut conn, &self.infile, &self.progress);
        self.speech = Speech::Latin1;
        if !self.has_ascii_names {
            speak_utf8(&mut conn)?;
            self.speech = Speech::Names;
        }
        for (sql, statement) in self.prepared.values_mut() {
            *statement = conn.prep(&**sql).map_err(failure)?;
        }
        for ready in &mut self.ready {
            ready.statement = conn.prep(&ready.sql).map_err(failure)?;
            ready.columns = ready.statement.columns().iter().map(Coding::of).collect();
        }
        socket.set_timeout(None);
        self.id = u64::from(conn.connection_id());
        self.wire = wire_over(&socket);
        *self.seat.lock().unwrap_or_else(PoisonError::into_inner) = (self.id, socket);
        self.conn = conn;
        Ok(())
    }

    /// Waits once for what the other members of its cluster have committed, and leaves the session as it was.
    ///
    /// # Errors
    /// What the server said.
    pub fn wait_for_members(&mut self) -> Result<(), Failure> {
        wait_for_members(&mut self.conn)?;
        // A server that is no member of a group does not know this one.
        let _ = self.conn.query_drop("SET SESSION group_replication_consistency=DEFAULT");
        Ok(())
    }

    /// Lets the session speak what its next statement needs. A load stays with one but for the first time that a statement
    /// is prepared.
    fn speak(&mut self, speech: Speech) -> Result<(), Failure> {
        if self.has_ascii_names || self.speech == speech {
            return Ok(());
        }
        match speech {
            Speech::Names => speak_utf8(&mut self.conn)?,
            Speech::Latin1 => self.conn.query_drop("SET NAMES latin1").map_err(failure)?,
            Speech::Bytes => {
                speak_utf8(&mut self.conn)?;
                self.conn.query_drop("SET character_set_client=binary").map_err(failure)?;
            }
        }
        self.speech = speech;
        Ok(())
    }

    fn statement(&mut self, sql: &Arc<str>) -> Result<Statement, Failure> {
        let address = Arc::as_ptr(sql).cast::<u8>() as usize;
        if let Some((_, statement)) = self.prepared.get(&address) {
            return Ok(statement.clone());
        }
        if self.prepared.len() >= KEPT_STATEMENTS {
            for (_, (_, statement)) in self.prepared.drain() {
                self.conn.close(statement).map_err(failure)?;
            }
        }
        self.speak(Speech::Names)?;
        let statement = self.conn.prep(&**sql).map_err(failure)?;
        self.prepared.insert(address, (Arc::clone(sql), statement.clone()));
        Ok(statement)
    }

    /// LOAD DATA LOCAL past the driver.
    fn send_file(&mut self, sql: &str, bytes: &[u8]) -> Result<Accepted, Failure> {
        let Some(wire) = &mut self.wire else { return Err(not_asked_for()) };
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = wire
            .query_with_file(sql, bytes, self.packet_bytes, &mut |gone| {
                if let Some(tell) = &mut *progress {
                    tell(gone);
                }
            })
            .map_err(failure)?;
        drop(progress);
        match answer {
            Some(answer) => self.accepted(answer.affected_rows, answer.warnings),
            None if bytes.is_empty() => Ok(Accepted::default()),
            None => Err(not_asked_for()),
        }
    }

    /// What the server took, and whether it warned.
    ///
    /// A Warning or an Error fails the batch, so what reading it costs is in no result. A Note is read for each statement
    /// that bears one: one short round trip.
    fn accepted(&mut self, rows: u64, warnings: u16) -> Result<Accepted, Failure> {
        self.used = Instant::now();
        if warnings == 0 {
            return Ok(Accepted { rows, note: None });
        }
        let told: Vec<Row> = self.conn.query("SHOW WARNINGS").map_err(failure)?;
        if told.is_empty() {
            return Err(Failure::fatal(format!(
                "the server counted {warnings} warnings and tells none of them (max_error_count?), so whether the rows are what was \
                 sent is not known"
            )));
        }
        let mut note = None;
        for warning in told.into_iter().map(named) {
            let word = |name: &str| warning.get(name).cloned().flatten().unwrap_or_default();
            if word("level").eq_ignore_ascii_case("note") {
                note.get_or_insert(word("message"));
            } else {
                return Err(Failure {
                    kind: FailureKind::Broken,
                    code: word("code").parse().ok(),
                    message: format!("the server warned, so the rows are not what was sent: {}", word("message")),
                });
            }
        }
        Ok(Accepted { rows, note })
    }
}

/// Has a connection send what is laid down for it when the server asks for a file.
fn feed_infile(conn: &mut Conn, infile: &Arc<Mutex<Vec<u8>>>, progress: &Arc<Mutex<Option<Progress>>>) {
    let (source, listener) = (Arc::clone(infile), Arc::clone(progress));
    conn.set_local_infile_handler(Some(LocalInfileHandler::new(move |_name, writer| {
        let bytes = std::mem::take(&mut *source.lock().unwrap_or_else(PoisonError::into_inner));
        let mut gone = 0;
        for portion in bytes.chunks(PORTION_BYTES) {
            writer.write_all(portion)?;
            gone += portion.len() as u64;
            if let Some(tell) = &mut *listener.lock().unwrap_or_else(PoisonError::into_inner) {
                tell(gone);
            }
        }
        Ok(())
    })));
}

/// The shorter way, where there is one.
fn wire_over(socket: &Arc<SocketHandle>) -> Option<Wire> {
    socket.is_unix().then(|| Wire::new(Arc::clone(socket)))
}

/// All rows of an answer.
fn take<P: mysql::prelude::Protocol>(
    answer: mysql::QueryResult<'_, '_, '_, P>,
    rows: &mut Rows,
) -> Result<u64, Failure> {
    let changed = answer.affected_rows();
    rows.begin(answer.columns().as_ref().len());
    for row in answer {
        row.map_err(failure)?.unwrap().into_iter().for_each(|value| rows.push(from_mysql(value)));
    }
    Ok(changed)
}

fn to_mysql(value: &Value) -> mysql::Value {
    match value {
        Value::Null => mysql::Value::NULL,
        Value::Int(number) => mysql::Value::Int(*number),
        Value::UInt(number) => mysql::Value::UInt(*number),
        Value::Real(number) => mysql::Value::Double(*number),
        Value::Text(bytes) | Value::Bytes(bytes) => mysql::Value::Bytes(bytes.to_vec()),
    }
}

fn not_asked_for() -> Failure {
    Failure::fatal("the server did not ask for the rows of LOAD DATA LOCAL")
}

impl Session for MysqlSession {
    fn canceller(&self) -> Box<dyn Canceller> {
        Box::new(MysqlCanceller { seat: Arc::clone(&self.seat), control: Arc::clone(&self.control) })
    }

    fn id(&self) -> Option<u64> {
        Some(self.id)
    }

    fn wake(&mut self) -> Result<bool, Failure> {
        if self.used.elapsed() <= IDLE {
            return Ok(false);
        }
        let is_there = self.gives_sign_of_life();
        if !is_there {
            self.renew()?;
        }
        self.used = Instant::now();
        Ok(!is_there)
    }

    fn begin(&mut self) -> Result<(), Failure> {
        self.conn.query_drop("BEGIN").map_err(failure)
    }

    fn send(&mut self, body: &mut Body) -> Result<Accepted, Failure> {
        if matches!(body, Body::Text(_) | Body::File { .. }) {
            self.speak(Speech::Names)?;
        }
        match body {
            Body::Text(sql) => match &mut self.wire {
                Some(wire) if Wire::takes(sql) => {
                    let answer = wire.query(sql).map_err(failure)?;
                    return self.accepted(answer.affected_rows, answer.warnings);
                }
                _ => self.conn.query_drop(sql).map_err(failure)?,
            },
            Body::Params { sql, values } => {
                let statement = self.statement(sql)?;
                self.speak(self.speech_of_parameters)?;
                self.conn.exec_drop(&statement, Params::Positional(std::mem::take(values))).map_err(failure)?;
            }
            Body::Bulk { sql, rows } => {
                let statement = self.statement(sql)?;
                self.speak(self.speech_of_parameters)?;
                self.conn.exec_batch(&statement, std::mem::take(rows)).map_err(failure)?;
            }
            Body::File { sql, bytes } if self.wire.is_some() => {
                let bytes = std::mem::take(bytes);
                return self.send_file(sql, &bytes);
            }
            Body::File { sql, bytes } => {
                *self.infile.lock().unwrap_or_else(PoisonError::into_inner) = std::mem::take(bytes);
                self.conn.query_drop(&**sql).map_err(failure)?;
                // Left over when the server did not ask for the file: it must not travel with the next statement.
                let left = std::mem::take(&mut *self.infile.lock().unwrap_or_else(PoisonError::into_inner));
                if !left.is_empty() {
                    return Err(not_asked_for());
                }
            }
            Body::Values { .. } => return Err(Failure::fatal("values bound in process are for SQLite")),
        }
        self.accepted(self.conn.affected_rows(), self.conn.warnings())
    }

    fn prepare(&mut self, sql: &str) -> Result<usize, Failure> {
        self.speak(Speech::Names)?;
        let statement = self.conn.prep(sql).map_err(failure)?;
        let columns = statement.columns().iter().map(Coding::of).collect();
        self.ready.push(Ready { sql: sql.to_owned(), statement, columns });
        Ok(self.ready.len() - 1)
    }

    fn ask(&mut self, statement: usize, values: &[Value], rows: &mut Rows) -> Result<u64, Failure> {
        self.used = Instant::now();
        self.speak(self.speech_of_parameters)?;
        let ready = self.ready.get_mut(statement).ok_or_else(|| Failure::fatal("no statement of this number"))?;
        if let Some(wire) = &mut self.wire {
            execute::request(ready.statement.id(), values, &mut self.request);
            return Ok(wire.execute(&self.request, &mut ready.columns, rows).map_err(failure)?.affected_rows);
        }
        let params = match values {
            [] => Params::Empty,
            values => Params::Positional(values.iter().map(to_mysql).collect()),
        };
        take(self.conn.exec_iter(&ready.statement, params).map_err(failure)?, rows)
    }

    fn ask_text(&mut self, sql: &str, rows: &mut Rows) -> Result<u64, Failure> {
        self.speak(Speech::Names)?;
        take(self.conn.query_iter(sql).map_err(failure)?, rows)
    }

    fn forget(&mut self) -> Result<(), Failure> {
        for ready in std::mem::take(&mut self.ready) {
            self.conn.close(ready.statement).map_err(failure)?;
        }
        Ok(())
    }

    fn tell_progress(&mut self, progress: Progress) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.conn.query_drop("COMMIT").map_err(failure)
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.conn.query_drop("ROLLBACK").map_err(failure)
    }
}

/// KILL QUERY on the control connection, then the socket is closed: a server that is stopped answers neither.
struct MysqlCanceller {
    seat: Seat,
    control: SharedControl,
}

impl Canceller for MysqlCanceller {
    fn cancel(&self) {
        let (id, socket) = self.seat.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(mut control) = lock_soon(&self.control) {
            control.kill(id);
        }
        socket.shutdown();
    }
}
