//! Scratch servers: private servers of the MySQL family that rowcliff makes, starts, stops and removes itself.
//!
//! Every curve gets a fresh data directory and a server started with the settings of its cell, so that no curve pays for
//! another's unfinished work and settings that count only at the start can be compared. The trials before the first
//! timing share a few servers. Everything between the server's start and its end is what [`super::mysql`] does with
//! any server.

mod binary;
mod folder;
mod options;
mod parent_death;
mod process;
mod server;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use server::AskedToEnd;

use binary::{Binary, Library};
use options::Wanted;
use server::{Server, ServerOrder};
use table::ScratchTable;

use super::mysql::control::lock;
use super::mysql::globals::Globals;
use super::mysql::leash::Leash;
use super::mysql::table::Closing;
use super::mysql::variables::{self, Named};
use super::mysql::{self, Flavour, SharedControl, settings};
use super::{Failure, Purpose, Reins, Table, TableOrder, Target, Verdict};
use crate::engine::Engine;
use crate::error::Error;
use crate::plan::{CurvePlan, Plan, ScratchPlan};
use crate::record::run::TargetRecord;

/// Below the run's directory: data of servers, and their error logs.
pub const FOLDER: &str = "scratch";

/// Servers of our own.
pub struct ScratchTarget {
    label: String,
    given: Option<PathBuf>,
    plan: ScratchPlan,
    keep: bool,
    run_directory: PathBuf,
    asked_to_end: AskedToEnd,
    leash: Leash,
    /// The curves of this target.
    curves: Vec<CurvePlan>,
    binary: Option<Binary>,
    /// What the servers of the trials are started with, and which of them serves a curve.
    trials: Vec<Wanted>,
    trial_of: BTreeMap<usize, usize>,
    trial: Option<(Wanted, Server)>,
    /// Servers of trials that did not start: their cells are tried one by one.
    refused: Vec<Wanted>,
}

impl ScratchTarget {
    /// Nothing is looked at and nothing is started yet.
    pub fn new(
        index: usize,
        given: Option<PathBuf>,
        plan: &Plan,
        run_directory: &Path,
        asked_to_end: AskedToEnd,
    ) -> Self {
        let leash = Leash::default();
        let ours = leash.clone();
        let asked_to_end: AskedToEnd = Arc::new(move || asked_to_end() || ours.is_pulled());
        let curves = plan.curves.iter().filter(|curve| curve.cell.target == index && curve.unable.is_none());
        Self {
            label: plan.targets[index].label.clone(),
            given,
            plan: plan.scratch.clone(),
            keep: plan.keep,
            run_directory: run_directory.to_owned(),
            asked_to_end,
            leash,
            curves: curves.cloned().collect(),
            binary: None,
            trials: Vec::new(),
            trial_of: BTreeMap::new(),
            trial: None,
            refused: Vec::new(),
        }
    }

    fn binary(&mut self) -> Result<&Binary, Error> {
        let binary = match self.binary.take() {
            Some(binary) => binary,
            None => {
                let binary = Binary::find(&self.label, self.given.as_deref(), &self.plan)?;
                self.group_trials(&binary);
                binary
            }
        };
        Ok(self.binary.insert(binary))
    }

    /// Puts cells whose settings do not contradict each other together, so that a large matrix is tried on a few servers.
    fn group_trials(&mut self, binary: &Binary) {
        for curve in &self.curves {
            if !matches!(judge(binary, &self.plan, curve), Verdict::Runs { .. }) {
                continue;
            }
            let wanted = Wanted::of(&curve.cell, binary);
            let group = self.trials.iter_mut().position(|trial| trial.merge(&wanted)).unwrap_or_else(|| {
                self.trials.push(wanted);
                self.trials.len() - 1
            });
            self.trial_of.insert(curve.number, group);
        }
    }

    fn logs(&self) -> PathBuf {
        self.run_directory.join(FOLDER)
    }

    fn start(&mut self, wanted: &Wanted, name: &str, mark: &str, purpose: Purpose) -> Result<Server, Failure> {
        let logs = self.logs();
        let base = self.plan.directory.clone().unwrap_or_else(|| logs.clone());
        let asked_to_end = Arc::clone(&self.asked_to_end);
        let (plan, leash) = (self.plan.clone(), self.leash.clone());
        let binary = self.binary().map_err(|error| Failure::fatal(error.to_string()))?;
        Server::start(&ServerOrder {
            binary,
            plan: &plan,
            wanted,
            base: &base,
            name,
            mark,
            logs: &logs,
            asked_to_end: &asked_to_end,
            leash: &leash,
            purpose,
        })
    }

    /// The server on which a cell is tried.
    fn trial_control(&mut self, order: &TableOrder<'_>) -> Result<SharedControl, Failure> {
        let binary = self.binary().map_err(|error| Failure::fatal(error.to_string()))?;
        let own = Wanted { connections: 0, ..Wanted::of(&order.curve.cell, binary) };
        if let Some((wanted, server)) = &self.trial
            && wanted.covers(&own)
            && server.runs()
        {
            return Ok(Arc::clone(server.control()));
        }
        self.trials_done();
        let name = format!("{}_trial", order.table);
        let shared = self.trial_of.get(&order.curve.number).map(|&group| self.trials[group].clone());
        let shared = shared.filter(|wanted| *wanted != own && !self.refused.contains(wanted));
        if let Some(wanted) = shared {
            match self.start(&wanted, &name, order.mark, order.purpose) {
                Ok(server) => return Ok(self.keep_trial(wanted, server)),
                Err(failure) if (self.asked_to_end)() => return Err(failure),
                Err(_) => {
                    // One of its cells is to blame. Tried alone, that one will say why.
                    self.refused.push(wanted);
                    let _ = std::fs::remove_file(self.logs().join(format!("{name}.err")));
                }
            }
        }
        let server = self.start(&own, &name, order.mark, order.purpose)?;
        Ok(self.keep_trial(own, server))
    }

    fn keep_trial(&mut self, wanted: Wanted, server: Server) -> SharedControl {
        let control = Arc::clone(server.control());
        self.trial = Some((wanted, server));
        control
    }

    fn open_on_its_own(&mut self, order: &TableOrder<'_>) -> Result<Box<dyn Table>, Failure> {
        let cell = &order.curve.cell;
        let binary = self.binary().map_err(|error| Failure::fatal(error.to_string()))?;
        let wanted = Wanted::of(cell, binary);
        let server = self.start(&wanted, order.table, order.mark, order.purpose)?;
        let control = Arc::clone(server.control());
        let created = self.create(&control, order, Closing::Flush);
        match created {
            Ok(mut inner) => {
                if self.keep {
                    inner.note(format!("the data of the server is kept in {}", server.folder().display()));
                }
                let hurry = Arc::clone(server.hurry());
                let checkpoint = cell.engine_entry.checkpoint.clone();
                Ok(Box::new(ScratchTable { inner, server: Some(server), checkpoint, hurry }))
            }
            // What other rows there are is for somebody else to decide.
            Err(failure) if order.purpose == Purpose::GoOn => server.end().and(Err(failure)),
            Err(failure) => {
                server.discard_keeping_log();
                Err(failure)
            }
        }
    }

    fn create(
        &self,
        control: &SharedControl,
        order: &TableOrder<'_>,
        closing: Closing,
    ) -> Result<mysql::table::MysqlTable, Failure> {
        let cell = &order.curve.cell;
        server::offers(control, &cell.engine_entry)?;
        let notes = settings::confirm(control, &cell.variables())?;
        let mut named = Named::of(cell).started_with(&self.plan, &mut lock(control));
        named.read(&mut lock(control))?;
        let globals = Globals::shared(Arc::clone(control), &self.run_directory);
        let mut table = mysql::create_table(control, order, globals, closing, named)?;
        table.look_at_session(order)?;
        notes.into_iter().for_each(|note| table.note(note));
        Ok(table)
    }
}

impl Target for ScratchTarget {
    fn describe(&mut self) -> Result<TargetRecord, Error> {
        let binary = self.binary()?;
        Ok(TargetRecord {
            flavour: binary.flavour.word().into(),
            version: binary.version.clone(),
            variables: BTreeMap::new(),
            notes: std::iter::once(format!("a private server for each curve, started from {}", binary.path.display()))
                .chain(binary.note())
                .collect(),
        })
    }

    fn judge(&mut self, curve: &CurvePlan) -> Result<Verdict, Error> {
        let options = &self.plan.options;
        let asked = options
            .iter()
            .find_map(|(name, value)| variables::conflict(name.trim_start_matches("loose_"), value, "--server-option"));
        if let Some(why) = asked {
            return Ok(Verdict::Unable { why });
        }
        let plan = self.plan.clone();
        Ok(judge(self.binary()?, &plan, curve))
    }

    fn reins(&self) -> Arc<dyn Reins> {
        Arc::new(self.leash.clone())
    }

    fn trial_group(&self, curve: &CurvePlan) -> usize {
        self.trial_of.get(&curve.number).copied().unwrap_or(0)
    }

    fn open(&mut self, order: &TableOrder<'_>) -> Result<Box<dyn Table>, Failure> {
        if order.purpose != Purpose::Trial {
            self.trials_done();
            return self.open_on_its_own(order);
        }
        let control = self.trial_control(order)?;
        Ok(Box::new(self.create(&control, order, Closing::Flush)?))
    }

    fn trials_done(&mut self) {
        if let Some((_, server)) = self.trial.take() {
            // What is left behind is below the run's directory, and `rowcliff clean` removes it.
            let _ = server.discard();
        }
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.trials_done();
        // Goes only when nothing was kept in it.
        let _ = std::fs::remove_dir(self.logs());
        Ok(())
    }
}

/// What the binary says of a curve. No server is started for it.
fn judge(binary: &Binary, plan: &ScratchPlan, curve: &CurvePlan) -> Verdict {
    let cell = &curve.cell;
    if let Some(why) = mysql::unable(cell, binary.flavour) {
        return Verdict::Unable { why };
    }
    if let Err(why) = binary.initialiser() {
        return Verdict::Prevented { why };
    }
    let engine = &cell.engine_entry;
    let library = binary.library(engine);
    if let Some(why) = unknown_option(binary, plan, engine, &library) {
        return Verdict::Prevented { why };
    }
    match library {
        Library::Missing(why) => return Verdict::Prevented { why },
        // Its variables are known only once it is loaded.
        Library::Load(_) => return Verdict::runs(),
        Library::NotNeeded => {}
    }
    let word = match binary.flavour {
        Flavour::MariaDb => "MariaDB",
        Flavour::MySql => "MySQL",
    };
    if let Some(cache) = &engine.cache
        && binary.knows(&cache.variable) == Some(false)
    {
        return Verdict::Prevented {
            why: format!("this {word} has no engine {}: it knows no {}", engine.name, cache.variable),
        };
    }
    for (name, _) in cell.variables() {
        if binary.knows(&name) == Some(false) {
            return Verdict::Prevented { why: format!("this {word} has no variable {name}") };
        }
    }
    Verdict::runs()
}

/// An option of `--server-option` that the server of a cell would not start with: it is known to no part of the server, or to a
/// library that only the cells of another engine load.
fn unknown_option(binary: &Binary, plan: &ScratchPlan, engine: &Engine, library: &Library) -> Option<String> {
    let loads_more = |(name, _): &(String, String)| name.trim_start_matches("loose_").starts_with("plugin_load");
    if plan.config.is_some() || plan.options.iter().any(loads_more) {
        // What else is loaded then, only the server knows.
        return None;
    }
    let is_own = |name: &str| matches!(library, Library::Load(_)) && engine.owns_variable(name);
    let (name, value) = plan
        .options
        .iter()
        .find(|(name, _)| !name.starts_with("loose_") && !is_own(name) && binary.takes(name) == Some(false))?;
    Some(format!(
        "--server-option {name}={value}: a server for {} has no {name}, and would not start with it; leave it out, or write \
         loose_{name}={value}, which servers without it pass over",
        engine.name
    ))
}

/// Removes the data that servers of a run left behind. Gives what was done, as sentences.
///
/// # Errors
/// Something could not be removed.
pub fn clean(plan: &Plan, run_id: &str, directory: &Path) -> Result<Vec<String>, String> {
    let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let own = directory.join(FOLDER);
    let mut done = Vec::new();
    for base in [plan.scratch.directory.as_ref(), Some(&own)].into_iter().flatten() {
        let removed = folder::remove_marked(base, &format!("run={run_id}")).map_err(|error| error.to_string())?;
        done.extend(removed.iter().map(|path| format!("{} is removed", path.display())));
    }
    let _ = std::fs::remove_dir(own);
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineTable;

    #[test]
    fn an_option_that_a_server_would_not_start_with_is_named_before_it_starts() {
        let help = "mysqld\n\n  --innodb-io-capacity=#\n  --plugin-load-add=name\n";
        let binary = Binary::of_help("/x".into(), Flavour::MariaDb, "10.11.6-MariaDB".into(), Ok(help.into()));
        let engines = EngineTable::built_in();
        let unknown = |engine: &str, options: &[(&str, &str)], library: Library| {
            let options = options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
            let plan = ScratchPlan { options, ..ScratchPlan::default() };
            unknown_option(&binary, &plan, &engines.resolve(engine).1, &library)
        };
        let loaded = || Library::Load("ha_rocksdb".into());
        let why =
            unknown("innodb", &[("innodb_io_capacity", "9"), ("rocksdb_bulk_load", "1")], Library::NotNeeded).unwrap();
        assert!(
            why.contains("--server-option rocksdb_bulk_load=1") && why.contains("loose_rocksdb_bulk_load=1"),
            "{why}"
        );
        assert!(why.contains("InnoDB"), "{why}");
        assert_eq!(unknown("rocksdb", &[("rocksdb_bulk_load", "1")], loaded()), None, "known once it is loaded");
        assert!(unknown("rocksdb", &[("inodb_io_capacity", "1")], loaded()).is_some());
        assert_eq!(unknown("innodb", &[("loose_rocksdb_bulk_load", "1")], Library::NotNeeded), None);
        let loads = [("plugin_load_add", "ha_rocksdb"), ("rocksdb_bulk_load", "1")];
        assert_eq!(unknown("innodb", &loads, Library::NotNeeded), None, "somebody else loads it");
    }
}
