//! What a server is started with.

use std::path::Path;

use super::binary::{Binary, Library};
use crate::plan::{Cell, ScratchPlan};
use crate::targets::mysql::Flavour;

/// Connections that every server takes by default.
const DEFAULT_CONNECTIONS: u32 = 100;

/// What differs between the servers of a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Libraries to load.
    pub plugins: Vec<String>,
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
    pub data: &'a Path,
    /// Temporary files.
    pub tmp: &'a Path,
    pub socket: &'a Path,
    /// File of the process id.
    pub pid: &'a Path,
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
        words.push("--loose-mysqlx=OFF".to_owned());
        words.extend(no_file_access(binary.numbers()).map(str::to_owned));
    }
    if wanted.connections >= DEFAULT_CONNECTIONS {
        words.push(format!("--max-connections={}", wanted.connections + 10));
    }
    let (of_plugins, options) = plugins(binary, plan, wanted);
    words.extend(of_plugins);
    let set = options.into_iter().chain(&wanted.variables);
    words.extend(set.map(|(name, value)| format!("--{}={value}", name.replace('_', "-"))));
    words
}

/// Keeps files out of the server's reach where it can be told so: NULL is a path to servers before these, which do not start
/// when it is not there.
fn no_file_access(version: (u32, u32, u32)) -> Option<&'static str> {
    let knows_null = match (version.0, version.1) {
        (5, 5) => version.2 >= 53,
        (5, 6) => version.2 >= 34,
        (5, 7) => version.2 >= 6,
        (5, _) => false,
        (major, _) => major >= 8,
    };
    knows_null.then_some("--secure-file-priv=NULL")
}

/// The words that load libraries, and the options that are left for others. A server without `--plugin-load-add` has one list,
/// which the last word decides: what the user wants loaded stands in it too.
fn plugins<'a>(binary: &Binary, plan: &'a ScratchPlan, wanted: &Wanted) -> (Vec<String>, Vec<&'a (String, String)>) {
    let file = |plugin: &String| if plugin.contains('.') { plugin.clone() } else { format!("{plugin}.so") };
    let adds = binary.takes("plugin_load_add").unwrap_or_else(|| match binary.flavour {
        Flavour::MariaDb => binary.numbers() >= (10, 0, 1),
        Flavour::MySql => binary.numbers() >= (5, 6, 3),
    });
    if adds || wanted.plugins.is_empty() {
        let words = wanted.plugins.iter().map(|plugin| format!("--plugin-load-add={}", file(plugin))).collect();
        return (words, plan.options.iter().collect());
    }
    let is_list = |(name, _): &&(String, String)| name.trim_start_matches("loose_") == "plugin_load";
    let (lists, others): (Vec<_>, Vec<_>) = plan.options.iter().partition(is_list);
    let mut list: Vec<String> = lists.last().map(|(_, value)| value.clone()).into_iter().collect();
    list.extend(wanted.plugins.iter().map(file).filter(|file| !lists.iter().any(|(_, value)| value.contains(file))));
    (vec![format!("--plugin-load={}", list.join(";"))], others)
}

/// As root a server wants to be told that it is meant. It stays root: a change of user would lose the request to end with
/// rowcliff.
pub fn as_root() -> Option<String> {
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

    fn start(version: &str, help: &str, options: &[(&str, &str)], wanted: &Wanted) -> Vec<String> {
        let flavour = if version.contains("MariaDB") { Flavour::MariaDb } else { Flavour::MySql };
        let binary = Binary::of_help("/opt/mysqld".into(), flavour, version.into(), Ok(help.into()));
        let options = options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let plan = ScratchPlan { options, ..ScratchPlan::default() };
        let place = Path::new("/d");
        for_start(&binary, &plan, &Places { data: place, tmp: place, socket: place, pid: place, log: place }, wanted)
    }

    /// The beginning of what `--verbose --help` prints, with the options that matter.
    const HELP_5_1: &str =
        "mysqld  Ver 5.1.38\n\n  --plugin-load=name  Optional colon-separated list of plugins to load\n";
    const HELP_NEW: &str = "mysqld\n\n  --plugin-load=name\n  --plugin-load-add=name\n";

    #[test]
    fn libraries_are_loaded_by_the_option_that_the_server_has() {
        let plugins = |version: &str, help: &str, options: &[(&str, &str)]| {
            let words = start(version, help, options, &wanted(&["libpbxt"], &[]));
            words.into_iter().filter(|word| word.contains("plugin")).collect::<Vec<_>>()
        };
        assert_eq!(plugins("5.1.38", HELP_5_1, &[]), ["--plugin-load=libpbxt.so"]);
        assert_eq!(plugins("5.1.38", "", &[]), ["--plugin-load=libpbxt.so"], "by its version, where it does not tell");
        assert_eq!(
            plugins("5.1.38", HELP_5_1, &[("plugin_load", "innodb=ha_innodb_plugin.so")]),
            ["--plugin-load=innodb=ha_innodb_plugin.so;libpbxt.so"]
        );
        assert_eq!(plugins("5.1.38", HELP_5_1, &[("plugin_load", "libpbxt.so")]), ["--plugin-load=libpbxt.so"]);
        for (version, help) in [("9.7.0", HELP_NEW), ("5.6.3", ""), ("10.11.6-MariaDB", "")] {
            assert_eq!(plugins(version, help, &[]), ["--plugin-load-add=libpbxt.so"], "{version}");
        }
        assert_eq!(
            plugins("9.7.0", HELP_NEW, &[("plugin_load", "a.so")]),
            ["--plugin-load-add=libpbxt.so", "--plugin-load=a.so"]
        );
        assert_eq!(plugins("5.5.68-MariaDB", "", &[]), ["--plugin-load=libpbxt.so"]);
        let built_in = start("5.1.38", HELP_5_1, &[("plugin_load", "a.so")], &wanted(&[], &[]));
        assert!(built_in.contains(&"--plugin-load=a.so".to_owned()), "{built_in:?}");
    }

    #[test]
    fn files_are_out_of_reach_where_the_server_can_be_told() {
        let is_told =
            |version: &str| start(version, "", &[], &wanted(&[], &[])).contains(&"--secure-file-priv=NULL".to_owned());
        for version in ["5.5.53-log", "5.6.34", "5.7.6", "5.7.44", "8.0.36", "9.7.0"] {
            assert!(is_told(version), "{version}");
        }
        for version in ["5.1.38", "5.5.20", "5.5.52", "5.6.33", "5.7.5-m15", "10.11.6-MariaDB"] {
            assert!(!is_told(version), "{version}");
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
