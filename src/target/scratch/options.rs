//! What a server is started with.

use std::path::Path;

use super::binary::{Binary, Library};
use crate::plan::{Cell, ScratchPlan};
use crate::target::mysql::Flavour;

/// Connections that every server takes by default.
const DEFAULT_CONNECTIONS: u32 = 100;

/// What differs between the servers of a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Libraries to load.
    pub plugins: Vec<String>,
    /// Variables to set.
    pub variables: Vec<(String, String)>,
    /// Connections beside the one for control.
    pub connections: u32,
}

impl Wanted {
    /// What a cell wants.
    pub fn of(cell: &Cell, binary: &Binary) -> Self {
        let plugins = match binary.library(&cell.engine_entry) {
            Library::Load(plugin) => vec![plugin],
            Library::NotNeeded | Library::Missing(_) => Vec::new(),
        };
        Self { plugins, variables: cell.variables(), connections: cell.sessions() }
    }

    /// Whether a server started with this serves `other` for a trial, which uses one connection.
    pub fn covers(&self, other: &Self) -> bool {
        other.plugins.iter().all(|plugin| self.plugins.contains(plugin))
            && other.variables.iter().all(|variable| self.variables.contains(variable))
    }

    /// Takes in what `other` wants, unless one variable would need two values. Whether it did.
    pub fn merge(&mut self, other: &Self) -> bool {
        let value = |name: &str| self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        if other.variables.iter().any(|(name, wanted)| value(name).is_some_and(|known| known != wanted)) {
            return false;
        }
        for plugin in &other.plugins {
            if !self.plugins.contains(plugin) {
                self.plugins.push(plugin.clone());
            }
        }
        for variable in &other.variables {
            if !self.variables.contains(variable) {
                self.variables.push(variable.clone());
            }
        }
        self.connections = self.connections.max(other.connections);
        true
    }
}

/// Where a server keeps its files.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// Data directory.
    pub data: &'a Path,
    /// Temporary files.
    pub tmp: &'a Path,
    /// Socket.
    pub socket: &'a Path,
    /// File of the process id.
    pub pid: &'a Path,
    /// Error log.
    pub log: &'a Path,
}

/// The first word, which has to be the first: no option file but the user's own.
pub fn first(plan: &ScratchPlan) -> String {
    match &plan.config {
        Some(file) => format!("--defaults-file={}", file.display()),
        None => "--no-defaults".into(),
    }
}

/// An option that a server without it passes over.
pub fn loose(name: &str, value: &str) -> String {
    format!("--loose-{}={value}", name.trim_start_matches("loose_"))
}

/// The words that make a data directory, for the server itself or for its script. All settings take part, since some of
/// them (innodb_page_size) are for good; those of engines that are not loaded yet are passed over.
pub fn for_initialise(
    binary: &Binary,
    plan: &ScratchPlan,
    data: &Path,
    prefix: Option<Option<&Path>>,
    wanted: &Wanted,
) -> Vec<String> {
    let mut words = vec![first(plan)];
    words.extend(as_root());
    words.push(format!("--datadir={}", data.display()));
    match prefix {
        None => words.push("--initialize-insecure".into()),
        Some(prefix) => {
            words.extend(prefix.map(|prefix| format!("--basedir={}", prefix.display())));
            if binary.flavour == Flavour::MariaDb {
                words.extend(["--auth-root-authentication-method=normal".to_owned(), "--skip-test-db".to_owned()]);
            }
        }
    }
    words.extend(plan.options.iter().chain(&wanted.variables).map(|(name, value)| loose(name, value)));
    words
}

/// The words that start a server. What comes later wins, so the cell's own settings come last.
pub fn for_start(binary: &Binary, plan: &ScratchPlan, places: &Places<'_>, wanted: &Wanted) -> Vec<String> {
    let mut words = vec![first(plan)];
    words.extend(as_root());
    for (name, path) in [
        ("datadir", places.data),
        ("tmpdir", places.tmp),
        ("socket", places.socket),
        ("pid-file", places.pid),
        ("log-error", places.log),
        // An option file that was written for another server must not lead this one to that one's files.
        ("loose-innodb-data-home-dir", places.data),
        ("loose-innodb-log-group-home-dir", places.data),
        ("loose-innodb-undo-directory", places.data),
        ("loose-aria-log-dir-path", places.data),
    ] {
        words.push(format!("--{name}={}", path.display()));
    }
    words.extend(["--skip-networking".to_owned(), "--local-infile=1".to_owned()]);
    if !asks_for_binary_log(plan) {
        words.push("--skip-log-bin".into());
    }
    if binary.flavour == Flavour::MySql {
        words.extend(["--loose-mysqlx=OFF".to_owned(), "--secure-file-priv=NULL".to_owned()]);
    }
    if wanted.connections >= DEFAULT_CONNECTIONS {
        words.push(format!("--max-connections={}", wanted.connections + 10));
    }
    words.extend(wanted.plugins.iter().map(|plugin| format!("--plugin-load-add={plugin}")));
    let set = plan.options.iter().chain(&wanted.variables);
    words.extend(set.map(|(name, value)| format!("--{}={value}", name.replace('_', "-"))));
    words
}

/// As root a server wants to be told that it is meant. It stays root: a change of user would lose the request to end with
/// rowcliff.
fn as_root() -> Option<String> {
    rustix::process::geteuid().is_root().then(|| "--user=root".into())
}

fn asks_for_binary_log(plan: &ScratchPlan) -> bool {
    let is_log = |name: &str| matches!(name.replace('-', "_").as_str(), "log_bin" | "loose_log_bin");
    let in_file = plan.config.as_ref().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    plan.options.iter().any(|(name, _)| is_log(name))
        || in_file.lines().any(|line| is_log(line.split('=').next().unwrap_or_default().trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(plugins: &[&str], variables: &[(&str, &str)]) -> Wanted {
        Wanted {
            plugins: plugins.iter().map(|plugin| (*plugin).to_owned()).collect(),
            variables: variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            connections: 1,
        }
    }

    #[test]
    fn what_does_not_contradict_shares_a_server() {
        let mut shared = wanted(&[], &[("innodb_flush", "1")]);
        assert!(shared.merge(&wanted(&["ha_rocksdb"], &[("rocksdb_flush", "1")])));
        assert!(shared.merge(&wanted(&["ha_archive"], &[])));
        assert!(!shared.merge(&wanted(&["ha_x"], &[("innodb_flush", "2")])));
        assert_eq!(shared.plugins, ["ha_rocksdb", "ha_archive"]);
        assert!(shared.covers(&wanted(&[], &[("innodb_flush", "1")])));
        assert!(!shared.covers(&wanted(&[], &[("innodb_flush", "2")])));
        assert!(!shared.covers(&wanted(&["ha_x"], &[])));
    }
}
