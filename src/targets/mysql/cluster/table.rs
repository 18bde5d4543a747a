//! The table of one curve on a cluster: it is any server's, and its loading connections are spread over the endpoints.
//!
//! An endpoint that is gone when a batch has to be taken back is given up for the rest of the curve: its connections go to
//! the others. It is used again when the run is resumed, or by the next curve.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::figures::{together, with_own_counts};
use super::member::{Member, apart, differences, number};
use super::session::{MemberSession, named};
use super::{Endpoint, LOOK, answers, not_ready};
use crate::engine::Counters;
use crate::plan::counters::CounterChoice;
use crate::record::run::EndpointRecord;
use crate::rows::{ID2_VALUES, Lookup, Value};
use crate::targets::mysql::connect::Access;
use crate::targets::mysql::control::{SharedControl, lock};
use crate::targets::mysql::session::MysqlSession;
use crate::targets::mysql::table::MysqlTable;
use crate::targets::mysql::{bears_mark, drop_marked, globals, is_on, limits, orphans, status};
use crate::targets::reading::{Reading, ServerProcess, TableSize};
use crate::targets::{
    Canceller, Failure, FailureKind, Purpose, RowSet, ServerSessions, Session, Table, TableFacts, TableOrder,
};
use crate::units::grouped;

/// How long a table that was made through one endpoint may take to be seen through another.
const SEEN_LIMIT: Duration = Duration::from_secs(5);
/// What Galera counts and no engine does.
const OF_GALERA: &[&str] = &["wsrep_flow_control_paused_ns", "wsrep_local_cert_failures", "wsrep_local_bf_aborts"];

/// The table of one curve.
pub struct ClusterTable {
    inner: MysqlTable,
    members: Vec<Member>,
    /// Where the next loading connection goes.
    next: usize,
    /// Whether a batch was taken back, or the curve gone on with: from then on endpoints may be missing.
    may_miss: bool,
    is_galera: bool,
    engine_counters: Counters,
    /// The endpoints whose counters were read last.
    read_last: Vec<usize>,
    news: Vec<String>,
    /// Set by whoever ends what the table is doing.
    hurry: Arc<AtomicBool>,
}

struct ClusterCanceller {
    all: Vec<Box<dyn Canceller>>,
    hurry: Arc<AtomicBool>,
}

impl Canceller for ClusterCanceller {
    fn cancel(&self) {
        self.hurry.store(true, Ordering::SeqCst);
        self.all.iter().for_each(|canceller| canceller.cancel());
    }

    fn doing(&self) -> Option<String> {
        self.all.iter().find_map(|canceller| canceller.doing())
    }
}

fn no_endpoint() -> Failure {
    Failure { kind: FailureKind::Lost, code: None, message: "no endpoint of the cluster is left".into() }
}

impl ClusterTable {
    /// Takes a table that was made or found through one endpoint, once it is seen through all that answer.
    ///
    /// # Errors
    /// An endpoint does not see it: a new table is dropped again.
    pub fn over(inner: MysqlTable, endpoints: &[Endpoint], order: &TableOrder<'_>) -> Result<Self, Failure> {
        let is_galera = inner.facts.variables.get("wsrep_on").is_some_and(|value| is_on(value));
        let mut engine_counters = inner.engine_counters.clone();
        if is_galera {
            engine_counters.totals.extend(OF_GALERA.iter().map(|&name| name.to_owned()));
        }
        let mut table = Self {
            inner,
            members: endpoints.iter().map(Member::new).collect(),
            next: 0,
            may_miss: order.purpose == Purpose::GoOn,
            is_galera,
            engine_counters,
            read_last: Vec::new(),
            news: Vec::new(),
            hurry: Arc::default(),
        };
        let rows = order.curve.sizes.rows;
        if order.curve.cell.key.is_autoinc() && rows > ID2_VALUES {
            table.inner.facts.notes.push(format!(
                "over several endpoints a batch is taken back by id2, whose values come again after {} rows: of more rows none \
                 can be",
                grouped(ID2_VALUES)
            ));
        }
        // Files of one node say nothing once the control connection is at another one.
        table.inner.facts.data_directory = None;
        let made = table.seen_everywhere(order).and_then(|()| table.compare_servers(order));
        if made.is_err() && order.purpose != Purpose::GoOn {
            let _ = drop_marked(&mut lock(&table.inner.control), order.table, order.mark);
        }
        made.map(|()| table)
    }

    fn seen_everywhere(&self, order: &TableOrder<'_>) -> Result<(), Failure> {
        let made_through = lock(&self.inner.control).access().place.name();
        let deadline = Instant::now() + SEEN_LIMIT;
        for (_, member, control) in self.active() {
            while bears_mark(&mut lock(control), order.table, order.mark)
                .map_err(|failure| named(failure, &member.name))?
                != Some(true)
            {
                if Instant::now() > deadline {
                    return Err(Failure::fatal(format!(
                        "{} does not see the table made through {made_through}; are they one cluster?",
                        member.name
                    )));
                }
                std::thread::sleep(LOOK);
            }
        }
        Ok(())
    }

    /// Takes the limits that all servers have in common, and notes where their variables differ.
    fn compare_servers(&mut self, order: &TableOrder<'_>) -> Result<(), Failure> {
        let engine = &order.curve.cell.engine_entry;
        let mut facts = self.inner.facts.clone();
        for (_, member, control) in self.active() {
            let names = facts.variables.keys().map(String::as_str).chain(limits::LIMIT_VARIABLES.iter().copied());
            let there = lock(control).variables(names).map_err(|failure| named(failure, &member.name))?;
            let logged = there.get("log_bin").is_some_and(|value| is_on(value)) && !member.access.skip_binlog;
            let narrow = limits::limits(engine, &there, logged, order.schema.is_none());
            facts.limits = limits::narrower(facts.limits, narrow);
            for (name, value) in differences(&facts.variables, &there) {
                facts.notes.push(format!("{name} is {value} at {}, and not as recorded", member.name));
            }
            // How far the counted column goes with each row: the widest step decides whether its type is large enough.
            let step = "auto_increment_increment";
            let number = |variables: &BTreeMap<String, String>| variables.get(step)?.parse::<u64>().ok();
            if let Some(wide) = number(&there).filter(|wide| Some(*wide) > number(&facts.variables)) {
                facts.variables.insert(step.into(), wide.to_string());
            }
        }
        self.inner.facts = facts;
        Ok(())
    }

    /// The endpoints that are in use.
    fn active(&self) -> impl Iterator<Item = (usize, &Member, &SharedControl)> {
        let members = self.members.iter().enumerate();
        members.filter_map(|(index, member)| Some((index, member, member.control()?)))
    }

    /// Gives an endpoint up.
    fn lose(&mut self, index: usize, why: String) {
        self.members[index].work.close();
        self.members[index].lost = Some(why.clone());
        let left: Vec<&str> = self.active().map(|(_, member, _)| member.name.as_str()).collect();
        let text = format!(
            "endpoint {} is lost: {why}; its connections go to {} for the rest of this curve",
            self.members[index].name,
            left.join(", ")
        );
        self.news.push(text);
        self.stay_at_active();
    }

    /// Keeps the control connection of the table away from endpoints that were given up.
    fn stay_at_active(&self) {
        let places: Vec<Access> = self.active().map(|(_, member, _)| member.access.clone()).collect();
        if !places.is_empty() {
            lock(&self.inner.control).stay_at(places);
        }
    }

    /// Looks at every endpoint again, and gives up those that are gone.
    ///
    /// # Errors
    /// None is left. Then all are tried again the next time: the last ones may come back.
    fn look_again(&mut self) -> Result<(), Failure> {
        let hurry = Arc::clone(&self.hurry);
        let is_galera = self.is_galera;
        let looked = |control| not_ready(control, is_galera, &|| hurry.load(Ordering::SeqCst));
        let gone: Vec<(usize, String)> =
            self.active().filter_map(|(index, _, control)| Some((index, looked(control)?))).collect();
        if gone.len() == self.active().count() {
            let each: Vec<String> =
                gone.iter().map(|(index, why)| format!("{}: {why}", self.members[*index].name)).collect();
            let message = format!("no endpoint of the cluster is left: {}", each.join("; "));
            return Err(Failure { message, ..no_endpoint() });
        }
        for (index, why) in gone {
            self.lose(index, why);
        }
        Ok(())
    }

    /// Runs a call of the table over one endpoint, and over another one when that is gone.
    fn on_one<T>(&mut self, call: impl Fn(&mut MysqlTable) -> Result<T, Failure>) -> Result<T, Failure> {
        // The control connection moves to an endpoint that answers, and the others go where it is.
        answers(&self.inner.control);
        match call(&mut self.inner) {
            Err(lost) if lost.kind == FailureKind::Lost && !self.hurry.load(Ordering::SeqCst) => {
                answers(&self.inner.control);
                call(&mut self.inner)
            }
            other => other,
        }
    }

    fn session_at(&mut self, index: usize) -> Result<MemberSession, Failure> {
        let member = &self.members[index];
        let Some(control) = member.control() else { return Err(no_endpoint()) };
        let access = member.access.clone().loading_by(self.inner.method);
        let session = MysqlSession::open(access, &self.inner.named, &self.inner.facts, Arc::clone(control))
            .map_err(|failure| named(failure, &member.name))?;
        let number = number(index, session.id().unwrap_or_default());
        let session = MemberSession::new(session, number, &member.name, &member.tally);
        self.members[index].cancellers.push(session.canceller());
        Ok(session)
    }

    /// The endpoint that comes next in turn.
    fn next_active(&mut self) -> Option<usize> {
        let count = self.members.len();
        let next =
            (self.next..self.next + count).map(|at| at % count).find(|&at| self.members[at].control().is_some())?;
        self.next = next + 1;
        Some(next)
    }

    /// The numbers of our own sessions at an endpoint.
    fn own_at(&mut self, index: usize) -> Vec<u64> {
        let mut own: Vec<u64> = self.members[index].control().map(|c| u64::from(lock(c).id())).into_iter().collect();
        // Opened again where it was lost: until then it has the number that it had elsewhere.
        answers(&self.inner.control);
        let here = lock(&self.inner.control).access().place == self.members[index].access.place;
        if here && let Ok(ids) = self.inner.own_sessions() {
            own.extend(ids);
        }
        own
    }
}

fn started_at(control: &SharedControl) -> Option<i64> {
    globals::server_started_at(&mut lock(control)).ok()
}

impl Table for ClusterTable {
    fn facts(&self) -> &TableFacts {
        self.inner.facts()
    }

    fn connect(&mut self) -> Result<Box<dyn Session>, Failure> {
        self.inner.work.close();
        self.members.iter_mut().for_each(|member| member.work.close());
        while let Some(index) = self.next_active() {
            match self.session_at(index) {
                Ok(session) => return Ok(Box::new(session)),
                Err(failure) if self.may_miss && self.active().count() > 1 => self.lose(index, failure.message),
                Err(failure) => return Err(failure),
            }
        }
        Err(no_endpoint())
    }

    fn canceller(&self) -> Box<dyn Canceller> {
        let mut all = vec![self.inner.canceller()];
        all.extend(self.active().map(|(_, member, control)| member.work.canceller(control)));
        Box::new(ClusterCanceller { all, hurry: Arc::clone(&self.hurry) })
    }

    /// Counts through every endpoint. Gives the first count; [`Table::endpoints`] has them all.
    fn count(&mut self) -> Result<Option<u64>, Failure> {
        if !self.inner.facts.limits.keeps_rows {
            return Ok(None);
        }
        let sql = format!("SELECT COUNT(*) FROM {}", self.inner.facts.quoted_name);
        let mut first = None;
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            let Some(control) = member.control().cloned() else { continue };
            let counted = member.work.run(&control, |conn| {
                use mysql::prelude::Queryable;
                conn.query_first::<u64, _>(&sql)
            });
            member.work.close();
            match counted {
                Ok(counted) => {
                    member.counted = counted;
                    first = first.or(counted);
                }
                Err(failure) if self.hurry.load(Ordering::SeqCst) => return Err(failure),
                Err(_) if !answers(&control) && self.active().count() > 1 => {
                    self.lose(index, "it does not answer, so the rows were not counted through it".into());
                }
                Err(failure) => return Err(named(failure, &self.members[index].name)),
            }
        }
        match first {
            Some(counted) => Ok(Some(counted)),
            None => Err(no_endpoint()),
        }
    }

    fn fetch(&mut self, columns: &[String], lookups: &[Lookup]) -> Result<Vec<Vec<Vec<Value>>>, Failure> {
        self.on_one(|table| table.fetch(columns, lookups))
    }

    fn last_rows(&mut self, columns: &[String], rows: u64, of: u64) -> Result<Vec<Vec<Value>>, Failure> {
        self.on_one(|table| table.last_rows(columns, rows, of))
    }

    /// None: it would be no boundary.
    fn max_id(&mut self) -> Result<Option<u64>, Failure> {
        Ok(None)
    }

    fn ids_ascend(&self) -> bool {
        false
    }

    fn count_of(&mut self, rows: RowSet<'_>) -> Result<u64, Failure> {
        self.on_one(|table| table.count_of(rows))
    }

    fn remove(&mut self, rows: RowSet<'_>) -> Result<u64, Failure> {
        self.on_one(|table| table.remove(rows))
    }

    fn own_sessions(&mut self) -> Result<Vec<u64>, Failure> {
        // The connection that removes rows is opened where the control connection is.
        let own = self.on_one(MysqlTable::own_sessions)?;
        let here = lock(&self.inner.control).access().place.clone();
        let index = self.members.iter().position(|member| member.access.place == here).unwrap_or(usize::MAX);
        Ok(own.into_iter().map(|id| number(index, id)).collect())
    }

    fn server_sessions(&mut self, ids: &[u64]) -> Result<Vec<ServerSessions>, Failure> {
        let of = |index| ids.iter().map(|&id| apart(id)).filter(move |(at, _)| *at == index).map(|(_, id)| id);
        let servers = self.active().map(|(index, member, control)| ServerSessions {
            endpoint: Some(member.name.clone()),
            server_started_at: started_at(control),
            ids: of(index).collect(),
        });
        Ok(servers.filter(|server| !server.ids.is_empty()).collect())
    }

    fn left_sessions(&mut self, told: &[ServerSessions]) -> Result<Vec<u64>, Failure> {
        let mut left = Vec::new();
        for index in 0..self.members.len() {
            // What was at an endpoint that is gone went with it.
            let Some(control) = self.members[index].control().cloned() else { continue };
            let (started_at, own) = (started_at(&control), self.own_at(index));
            let here = told.iter().filter(|told| told.endpoint.as_ref() == Some(&self.members[index].name));
            left.extend(here.flat_map(|told| told.left(started_at, &own)).map(|id| number(index, id)));
        }
        Ok(left)
    }

    fn end_sessions(&mut self, ids: &[u64]) -> Result<(), Failure> {
        self.may_miss = true;
        self.members.iter_mut().for_each(|member| member.cancellers.clear());
        self.look_again()?;
        for index in 0..self.members.len() {
            let Some(control) = self.members[index].control().cloned() else { continue };
            let here: Vec<u64> =
                ids.iter().map(|&id| apart(id)).filter(|(at, _)| *at == index).map(|(_, id)| id).collect();
            if !here.is_empty() {
                let own = self.own_at(index);
                orphans::end(&control, &here, &own).map_err(|failure| named(failure, &self.members[index].name))?;
            }
        }
        // What they committed to the last is to be seen by what comes next.
        self.inner.work.fall_behind();
        Ok(())
    }

    fn closing_work(&mut self) -> Result<Option<String>, Failure> {
        let done = self.on_one(MysqlTable::closing_work)?;
        let here = lock(&self.inner.control).access().place.name();
        Ok(done.map(|what| format!("{what} at {here}")))
    }

    fn counters(&mut self, choice: CounterChoice) -> Reading {
        if choice == CounterChoice::None {
            return Reading::new();
        }
        let mut readings = Vec::new();
        let mut read_now = Vec::new();
        for (index, member, control) in self.active() {
            let logged = logs(&self.inner, member);
            let read = status::read(&mut lock(control), &self.engine_counters, choice, logged);
            if !read.is_empty() {
                read_now.push(index);
            }
            readings.push((member.name.as_str(), with_own_counts(read, &member.tally.counted())));
        }
        let is_same = self.read_last.is_empty() || self.read_last == read_now;
        let reading = together(&readings, is_same);
        self.read_last = read_now;
        reading
    }

    /// One of several would pass for all.
    fn server_process(&mut self) -> ServerProcess {
        ServerProcess::Several
    }

    fn size(&mut self) -> TableSize {
        answers(&self.inner.control);
        self.inner.size()
    }

    /// Whether an endpoint answers. One that gives no sign of life twice in a row while another one does has its loading
    /// connections closed: that fails the batch, which is then sent again without it.
    fn is_alive(&mut self) -> bool {
        lock(&self.inner.control).ping();
        let silent: Vec<usize> =
            self.active().filter(|(_, _, control)| !lock(control).ping()).map(|(index, ..)| index).collect();
        let is_one_left = silent.len() < self.active().count();
        for (index, member) in self.members.iter_mut().enumerate() {
            member.silences = if silent.contains(&index) { member.silences + 1 } else { 0 };
            if is_one_left && member.silences > 1 {
                member.cancellers.drain(..).for_each(|canceller| canceller.cancel());
            }
        }
        is_one_left
    }

    fn endpoints(&self) -> Vec<EndpointRecord> {
        let record = |member: &Member| {
            let counted = member.tally.counted();
            EndpointRecord {
                name: member.name.clone(),
                connections: counted.connections,
                statements: counted.statements,
                rows: counted.rows,
                errors: counted.errors,
                first_error: counted.first_error,
                counted_rows: member.counted,
                lost_at: None,
                lost_why: member.lost.clone(),
            }
        };
        self.members.iter().map(record).collect()
    }

    fn news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// An endpoint that gives no sign of life is found by the batch, which is then sent again without it.
    fn wake(&mut self) -> Result<(), Failure> {
        match self.active().filter(|(_, _, control)| lock(control).ping()).count() {
            0 => Err(no_endpoint()),
            _ => Ok(()),
        }
    }

    fn side(&mut self, order: &TableOrder<'_>) -> Result<Box<dyn Table>, Failure> {
        self.members.iter_mut().for_each(|member| member.work.close());
        let side = self.on_one(|table| table.side_table(order))?;
        let endpoints: Vec<Endpoint> =
            self.active().map(|(_, member, control)| Endpoint::of(&member.name, &member.access, control)).collect();
        Ok(Box::new(Self::over(side, &endpoints, order)?))
    }

    fn close(&mut self, keep: bool) -> Result<(), Failure> {
        self.members.iter_mut().for_each(|member| member.work.close());
        self.on_one(|table| table.close(keep))
    }
}

/// Whether the loading sessions write the binary log.
fn logs(inner: &MysqlTable, member: &Member) -> bool {
    inner.facts.variables.get("log_bin").is_some_and(|value| is_on(value)) && !member.access.skip_binlog
}
