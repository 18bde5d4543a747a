//! Several endpoints of one cluster: a control connection to each, which never moves to another one, and what can be said of
//! them together before anything is changed.
//!
//! The control connection of the target itself is one more: it is at the first endpoint that answers and moves when that
//! one is gone. So every endpoint gets its share of the loading connections and at most two more.

mod figures;
mod member;
pub mod session;
pub mod table;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::connect::Access;
use super::control::{Control, SharedControl, lock};
use super::preflight::Preflight;
use super::{globals, settle};
use crate::engine::Pending;
use crate::plan::{Care, CurvePlan};
use crate::targets::{Failure, Purpose, Settled, TableOrder, Verdict};

/// How long a node that answers and is not ready is waited for: a cluster that has lost a node decides for some seconds who is
/// left of it.
const READY_LIMIT: Duration = Duration::from_secs(20);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// Variables in which the servers of one cluster differ.
const OWN_VARIABLES: &[&str] = &["datadir"];

#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Host and port, or the socket.
    pub name: String,
    /// How to log in there.
    pub access: Access,
    /// Its control connection, or why there is none.
    pub control: Result<SharedControl, String>,
    preflight: Option<Preflight>,
}

impl Endpoint {
    /// An endpoint whose control connection is open.
    pub fn of(name: &str, access: &Access, control: &SharedControl) -> Self {
        Self { name: name.to_owned(), access: access.clone(), control: Ok(Arc::clone(control)), preflight: None }
    }

    /// Opens the control connection where there is none that works.
    fn reach(&mut self) {
        if let Ok(control) = &self.control
            && answers(control)
        {
            return;
        }
        let opened = Control::open(self.access.clone());
        self.control = opened.map(|control| Arc::new(Mutex::new(control))).map_err(|failure| failure.to_string());
    }
}

/// The endpoints of one target.
#[derive(Debug)]
pub struct Cluster {
    endpoints: Vec<Endpoint>,
}

impl Cluster {
    /// The endpoints that `access` names, where it names several. Nothing is opened yet.
    pub fn of(access: &Access) -> Option<Self> {
        if !access.place.is_cluster() {
            return None;
        }
        let endpoint = |access: Access| Endpoint {
            name: access.place.name(),
            access,
            control: Err("it was not tried yet".into()),
            preflight: None,
        };
        Some(Self { endpoints: access.endpoints().into_iter().map(endpoint).collect() })
    }

    /// The endpoints, each looked at again.
    pub fn reached(&mut self) -> &[Endpoint] {
        self.endpoints.iter_mut().for_each(Endpoint::reach);
        &self.endpoints
    }

    /// The control connections that there are.
    pub fn controls(&self) -> Vec<SharedControl> {
        self.endpoints.iter().filter_map(|endpoint| endpoint.control.clone().ok()).collect()
    }

    /// Why a curve is not begun, where an endpoint does not answer: on fewer servers it would not be what its label says.
    pub fn missing(&self) -> Option<String> {
        let (endpoint, why) =
            self.endpoints.iter().find_map(|endpoint| Some((endpoint, endpoint.control.as_ref().err()?)))?;
        Some(format!(
            "endpoint {}: {why}; a curve is begun on all of its endpoints: start that server, or leave it out of --target",
            endpoint.name
        ))
    }

    /// Reads what each endpoint says of itself.
    ///
    /// # Errors
    /// What a server said, with its name.
    pub fn read(&mut self, care: Care, schema: Option<&str>) -> Result<(), Failure> {
        let count = u64::try_from(self.endpoints.len()).unwrap_or(1);
        for endpoint in &mut self.endpoints {
            if let (Ok(control), None) = (&endpoint.control, &endpoint.preflight) {
                let read = Preflight::read(&mut lock(control), care, schema.map(str::to_owned));
                let read = read.map_err(|failure| session::named(failure, &endpoint.name))?;
                endpoint.preflight = Some(read.shared_by(count));
            }
        }
        Ok(())
    }

    /// Whether a curve can be run at every endpoint.
    pub fn judge(&self, curve: &CurvePlan) -> Verdict {
        if let Some(why) = self.missing() {
            return Verdict::Prevented { why };
        }
        let preflights = || self.endpoints.iter().filter_map(|endpoint| Some((endpoint, endpoint.preflight.as_ref()?)));
        for (name, wanted) in curve.cell.variables() {
            for (endpoint, preflight) in preflights() {
                if let Some(why) = other_value(&endpoint.name, &name, &wanted, preflight.variable(&name)) {
                    return Verdict::Prevented { why };
                }
            }
        }
        let mut first = None;
        for (endpoint, preflight) in preflights() {
            match preflight.judge(curve) {
                Verdict::Prevented { why } => {
                    return Verdict::Prevented { why: format!("endpoint {}: {why}", endpoint.name) };
                }
                other => {
                    first.get_or_insert(other);
                }
            }
        }
        first.unwrap_or_else(Verdict::runs)
    }

    /// The endpoints as they were seen last.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Makes sure before a table is made that every endpoint is there and has what its cell wants; a curve that goes on makes do
    /// with those that are there. `control`, the target's own connection, stays away from the others.
    ///
    /// # Errors
    /// One is not there, or has something else.
    pub fn prepare(&mut self, control: &SharedControl, order: &TableOrder<'_>) -> Result<(), Failure> {
        self.reached();
        if let Some(why) = self.missing().filter(|_| order.purpose != Purpose::GoOn) {
            return Err(Failure::fatal(why));
        }
        let there = self.endpoints.iter().filter(|endpoint| endpoint.control.is_ok());
        lock(control).stay_at(there.map(|endpoint| endpoint.access.clone()).collect());
        self.confirm(&order.curve.cell.variables())
    }

    /// Waits, at every endpoint, for what earlier curves left it to do.
    pub fn settle(&self, idle: &[Pending], limit: Duration, asked_to_end: &dyn Fn() -> bool) -> Option<Settled> {
        let started = Instant::now();
        let mut all: Option<Settled> = None;
        for endpoint in &self.endpoints {
            let Ok(control) = &endpoint.control else { continue };
            let left = limit.saturating_sub(started.elapsed());
            if let Some(here) = settle::wait(control, idle, left, settle::PAUSE, asked_to_end) {
                let what = format!("{} at {}", here.what, endpoint.name);
                let gave_up = here.gave_up.map(|left| format!("{left} at {}", endpoint.name));
                all = Some(match all {
                    None => Settled { what, gave_up },
                    Some(before) => Settled {
                        what: format!("{}, {what}", before.what),
                        gave_up: match (before.gave_up, gave_up) {
                            (Some(before), Some(here)) => Some(format!("{before}, {here}")),
                            (before, here) => before.or(here),
                        },
                    },
                });
            }
        }
        all
    }

    /// Whether every endpoint has what a cell wants: nothing is set.
    fn confirm(&self, variables: &[(String, String)]) -> Result<(), Failure> {
        for endpoint in &self.endpoints {
            let Ok(control) = &endpoint.control else { continue };
            for (name, wanted) in variables {
                let now = lock(control).variable(name)?;
                if let Some(why) = other_value(&endpoint.name, name, wanted, now.as_deref()) {
                    return Err(Failure::fatal(why));
                }
            }
        }
        Ok(())
    }

    /// What a reader should know of the servers together.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!(
            "{} endpoints share the loading connections: {}",
            self.endpoints.len(),
            self.endpoints.iter().map(|endpoint| endpoint.name.as_str()).collect::<Vec<_>>().join(", ")
        )];
        let mut first: Option<(String, String)> = None;
        let mut seen: Vec<(String, String)> = Vec::new();
        for endpoint in &self.endpoints {
            let control = match &endpoint.control {
                Ok(control) => control,
                Err(why) => {
                    notes.push(format!("endpoint {}: {why}", endpoint.name));
                    continue;
                }
            };
            let mut control = lock(control);
            let what = format!("{} {}", control.flavour.word(), control.version);
            match &first {
                Some((name, other)) if *other != what => {
                    notes.push(format!("the endpoints are not alike: {name} is {other}, {} is {what}", endpoint.name));
                }
                Some(_) => {}
                None => first = Some((endpoint.name.clone(), what)),
            }
            let Ok(identity) = globals::identity(&mut control) else { continue };
            match seen.iter().find(|(known, _)| *known == identity) {
                Some((_, name)) => notes.push(format!("{} and {name} are two ways to one server", endpoint.name)),
                None => seen.push((identity, endpoint.name.clone())),
            }
        }
        notes
    }
}

/// Why a cell is not run at an endpoint that has another value of a variable. Settings of a cluster belong to each of its
/// servers; setting them on all and putting them back on all, also after a kill, is not offered.
fn other_value(endpoint: &str, name: &str, wanted: &str, now: Option<&str>) -> Option<String> {
    let now = match now {
        None => "no such variable".to_owned(),
        Some(now) if globals::same_value(now, wanted) => return None,
        Some(now) => now.to_owned(),
    };
    Some(format!(
        "{name}={wanted} was asked for and endpoint {endpoint} has {now}: with several endpoints no global variable is set; \
         set it on every server yourself, or give --flush as-is and no --cache or --vary"
    ))
}

/// Whether a server answers; its connection is opened again where it was lost.
pub fn answers(control: &SharedControl) -> bool {
    let mut control = lock(control);
    control.ping() || control.ping()
}

/// Why a server cannot be loaded, if it does not answer or does not become ready. `hurry` ends the waiting.
pub fn not_ready(control: &SharedControl, is_galera: bool, hurry: &dyn Fn() -> bool) -> Option<String> {
    let deadline = Instant::now() + READY_LIMIT;
    loop {
        if !answers(control) {
            return Some("it does not answer".into());
        }
        if !is_galera {
            return None;
        }
        // One that lends its state to another node takes rows all the same.
        let state = not_synced(&mut lock(control), false)?;
        if hurry() || Instant::now() > deadline {
            return Some(state);
        }
        std::thread::sleep(LOOK);
    }
}

/// Why a Galera node takes no rows, if it does not; asked only of a server whose `wsrep_on` is ON. With `in_full` one that takes
/// rows and has other things to do counts as well.
pub fn not_synced(control: &mut Control, in_full: bool) -> Option<String> {
    let names = ["wsrep_ready", "wsrep_local_state", "wsrep_local_state_comment", "wsrep_cluster_status"];
    let list = names.map(|name| format!("'{name}'")).join(",");
    let rows: Vec<(String, String)> =
        control.rows(&format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({list})")).ok()?;
    let value = |wanted: &str| rows.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, v)| v.as_str());
    let is_synced = value("wsrep_local_state").is_none_or(|state| state == "4");
    if value("wsrep_ready").is_none_or(|ready| ready.eq_ignore_ascii_case("ON")) && (is_synced || !in_full) {
        return None;
    }
    let shown = |name| value(name).unwrap_or("unknown").to_owned();
    Some(format!(
        "this Galera node is not synced (wsrep_ready={}, wsrep_local_state_comment={}, wsrep_cluster_status={})",
        shown("wsrep_ready"),
        shown("wsrep_local_state_comment"),
        shown("wsrep_cluster_status")
    ))
}
