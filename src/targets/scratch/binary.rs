//! The server binary: where it is, what it is, and what it can do, asked from itself without starting a server.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::options;
use super::process::Process;
use crate::engine::Engine;
use crate::error::Error;
use crate::plan::ScratchPlan;
use crate::targets::mysql::Flavour;
use crate::targets::mysql::privileges::version_numbers;

/// Names of the server, the one that says what it is first.
const NAMES: &[&str] = &["mariadbd", "mysqld"];
/// Clients, and the servers that are meant by their names.
const CLIENTS: &[(&str, &str)] = &[("mariadb", "mariadbd"), ("mysql", "mysqld")];
/// Where servers are installed beside what `PATH` names: an ordinary user's often has no sbin.
const PLACES: &[&str] = &["/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin", "/usr/local/bin"];

#[derive(Debug, Clone)]
pub struct Binary {
    pub path: PathBuf,
    pub flavour: Flavour,
    /// Its version, as it says.
    pub version: String,
    /// Its options and their values, with underscores; empty when it does not tell.
    options: BTreeMap<String, String>,
    /// All words that it takes, with underscores: those that have no value to list as well.
    words: BTreeSet<String>,
    /// Why it does not tell, if it does not.
    silence: Option<String>,
}

/// Whether the library of an engine has to be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Library {
    /// The engine is built in, or its entry names none.
    NotNeeded,
    /// It is to be loaded.
    Load(String),
    /// It is not there.
    Missing(String),
}

impl Binary {
    /// Finds the binary of a target and asks it what it is.
    ///
    /// # Errors
    /// There is none, or it is no server: with what helps.
    pub fn find(label: &str, given: Option<&Path>, plan: &ScratchPlan) -> Result<Self, Error> {
        let path = match given {
            Some(path) => given_path(label, path)?,
            None => search().ok_or_else(|| {
                Error::target(
                    label,
                    format!("neither {} is in PATH or in {}", NAMES.join(" nor "), PLACES.join(", ")),
                    "install a server, or name its binary as in --target scratch:/opt/mysql/bin/mysqld",
                )
            })?,
        };
        let text = ask(&path, &["--no-defaults".to_owned(), "--version".to_owned()]).map_err(|cause| {
            Error::target(label, cause, "name a server binary, as in --target scratch:/usr/sbin/mariadbd")
        })?;
        if let Some(server) = client_of(&text) {
            return Err(Error::target(
                label,
                format!("{} is a client and no server", path.display()),
                server_beside(&path, server),
            ));
        }
        let Some(version) = version(&text) else {
            return Err(Error::target(
                label,
                format!("{} says no version of a server: {:?}", path.display(), text.trim()),
                "name the server itself (mariadbd or mysqld), not a client",
            ));
        };
        let flavour = if text.to_ascii_lowercase().contains("mariadb") { Flavour::MariaDb } else { Flavour::MySql };
        // Asked with the user's options: plugin_dir may be among them. What does not fit is for the start to report.
        let mut words = vec![options::first(plan)];
        // Before 5.7 a server that is root answers nothing until it is told that this is meant.
        words.extend(options::as_root());
        words.extend(plan.options.iter().map(|(name, value)| options::loose(name, value)));
        words.extend(["--verbose".to_owned(), "--help".to_owned()]);
        let help = ask(&path, &words);
        Ok(Self::of_help(path, flavour, version, help))
    }

    /// A server that answered `--verbose --help` with this, or failed to.
    pub(super) fn of_help(path: PathBuf, flavour: Flavour, version: String, help: Result<String, String>) -> Self {
        let (text, silence) = match help {
            Ok(text) => (text, None),
            Err(why) => (String::new(), Some(why)),
        };
        Self { path, flavour, version, options: variables(&text), words: option_words(&text), silence }
    }

    /// What a reader should know where it does not tell what it knows.
    pub fn note(&self) -> Option<String> {
        let why = self.silence.as_ref()?;
        Some(format!(
            "its options are not known, so that only starting it tells whether it takes those that are given: {why}"
        ))
    }

    /// Whether it knows an option; `None` when it did not tell.
    pub fn knows(&self, option: &str) -> Option<bool> {
        (!self.options.is_empty()).then(|| self.options.contains_key(option))
    }

    /// Whether it takes an option that a user wrote, which may be a beginning that is one option's alone, or have a word like
    /// `skip_` before it; `None` when it did not tell.
    pub fn takes(&self, option: &str) -> Option<bool> {
        if self.words.is_empty() {
            return None;
        }
        // A cache with a name of its own, as in `hot.key_buffer_size`.
        let name = option.rsplit_once('.').map_or(option, |(_, name)| name);
        let bare = ["skip_", "disable_", "enable_", "maximum_"].iter().find_map(|prefix| name.strip_prefix(prefix));
        let is_taken = |name: &str| self.words.iter().chain(self.options.keys()).any(|word| word.starts_with(name));
        Some(is_taken(name) || bare.is_some_and(is_taken))
    }

    /// Its version as numbers that compare.
    pub fn numbers(&self) -> (u32, u32, u32) {
        version_numbers(&self.version)
    }

    /// What has to be loaded for an engine.
    pub fn library(&self, engine: &Engine) -> Library {
        let Some(plugin) = &engine.plugin else { return Library::NotNeeded };
        let directory = self.options.get("plugin_dir").map(PathBuf::from).unwrap_or_default();
        if directory.join(format!("{plugin}.so")).is_file() {
            return Library::Load(plugin.clone());
        }
        // An engine that is built in has a switch of its name.
        let built_in = self.options.contains_key(&engine.name.to_ascii_lowercase());
        if built_in || self.options.is_empty() {
            return Library::NotNeeded;
        }
        let package = match self.flavour {
            Flavour::MariaDb => {
                format!(
                    "; where MariaDB still has it, a package like mariadb-plugin-{} brings it",
                    plugin.trim_start_matches("ha_")
                )
            }
            Flavour::MySql => String::new(),
        };
        Library::Missing(format!(
            "this server has no engine {}: there is no {plugin}.so in {}{package}",
            engine.name,
            directory.display()
        ))
    }

    /// The program that makes the data directory of this server, with the prefix that it belongs to; `None` when the
    /// server does it itself.
    ///
    /// # Errors
    /// It is not there.
    pub fn initialiser(&self) -> Result<Option<(PathBuf, Option<PathBuf>)>, String> {
        let names: &[&str] = match self.flavour {
            Flavour::MariaDb => &["mariadb-install-db", "mysql_install_db"],
            // Before 5.7 MySQL had a script too.
            // One that did not tell is judged by its version.
            Flavour::MySql if self.knows("initialize_insecure") != Some(true) && self.numbers() < (5, 7, 0) => {
                &["mysql_install_db"]
            }
            Flavour::MySql => return Ok(None),
        };
        let real = std::fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        for home in [self.path.parent(), real.parent()].into_iter().flatten() {
            let prefix = home.parent();
            let beside = [Some(home.to_owned()), prefix.map(|p| p.join("bin")), prefix.map(|p| p.join("scripts"))];
            for name in names {
                if let Some(found) = beside.iter().flatten().map(|place| place.join(name)).find(|path| path.is_file()) {
                    return Ok(Some((found, prefix.map(Path::to_owned))));
                }
            }
        }
        let path = self.path.display();
        if self.flavour == Flavour::MySql {
            // What stands in PATH under this name is MariaDB's as a rule.
            return Err(format!(
                "{} is not near {path}, and without it no data directory can be made; give the path of a server that is \
                 installed with its scripts (PREFIX/bin or PREFIX/scripts)",
                names[0]
            ));
        }
        if let Some(found) = names.iter().find_map(|name| in_path(name)) {
            return Ok(Some((found, None)));
        }
        Err(format!(
            "{} is neither near {path} nor in PATH, and without it no data directory can be made; install it (Debian: \
             mariadb-server-core) or put it into PATH",
            names[0]
        ))
    }
}

fn search() -> Option<PathBuf> {
    NAMES.iter().find_map(|name| installed(name))
}

/// A word without a slash is the name of an installed server; a file in the current directory is `./NAME`, or the last resort.
fn given_path(label: &str, given: &Path) -> Result<PathBuf, Error> {
    let absolute = || std::path::absolute(given).unwrap_or_else(|_| given.to_owned());
    let Some(name) = given.to_str().filter(|name| !name.contains('/')) else { return Ok(absolute()) };
    let name = CLIENTS.iter().find(|(client, _)| *client == name).map_or(name, |(_, server)| server);
    match installed(name) {
        // Debian's MariaDB is called mysqld as well: beside mariadbd it would be measured twice.
        Some(found) => match other_server(&found, name) {
            None => Ok(found),
            Some(other) => Err(Error::target(
                label,
                format!("{} is {other} under another name", found.display()),
                "name the server by its path, as in --target scratch:/opt/mysql/bin/mysqld",
            )),
        },
        None if absolute().is_file() => Ok(absolute()),
        None => Err(Error::target(
            label,
            format!("{name} is neither in PATH nor in {}", PLACES.join(", ")),
            "install it, or name the server by its path, as in --target scratch:/opt/mysql/bin/mysqld",
        )),
    }
}

/// The server that is meant by a client, by what the client prints: its name is the first word.
fn client_of(version: &str) -> Option<&'static str> {
    let program = version.split_whitespace().next()?.rsplit('/').next()?;
    CLIENTS.iter().find(|(client, _)| *client == program).map(|(_, server)| *server)
}

/// What to type instead of the path of a client.
fn server_beside(client: &Path, server: &str) -> String {
    let beside = client.parent().map(|folder| [folder.join(server), folder.join("../sbin").join(server)]);
    let found = beside.into_iter().flatten().find(|path| path.is_file()).or_else(|| installed(server));
    let found = found.map(|path| std::fs::canonicalize(&path).unwrap_or(path));
    match found {
        Some(path) => format!("name the server, as in --target scratch:{}", path.display()),
        None => format!("name the server, {server}"),
    }
}

/// The server that a file is a link to, where that has another name.
fn other_server(path: &Path, name: &str) -> Option<String> {
    let real = std::fs::canonicalize(path).ok()?;
    let real = real.file_name()?.to_str()?;
    (real != name && NAMES.contains(&real)).then(|| real.to_owned())
}

fn installed(name: &str) -> Option<PathBuf> {
    in_path(name).or_else(|| PLACES.iter().map(|place| Path::new(place).join(name)).find(|path| path.is_file()))
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|place| place.is_absolute())
        .map(|place| place.join(name))
        .find(|file| file.is_file())
}

/// What a server prints when it is asked something.
fn ask(path: &Path, words: &[String]) -> Result<String, String> {
    let mut command = Command::new(path);
    command.args(words).stdin(Stdio::null());
    let output = Process::output(command).map_err(|error| format!("{} cannot be started: {error}", path.display()))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        let last = error.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        return Err(format!("{} {} failed ({}): {last}", path.display(), words.join(" "), output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `mysqld  Ver 10.11.6-MariaDB for ...`: the word after `Ver`.
fn version(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let place = words.iter().position(|word| *word == "Ver")?;
    words.get(place + 1).filter(|word| word.starts_with(|c: char| c.is_ascii_digit())).map(|word| (*word).to_owned())
}

/// The options in the list of `--verbose --help`: `  -P, --port=#  Port number`, `  --plugin-load-add=name`.
fn option_words(text: &str) -> BTreeSet<String> {
    text.lines()
        .take_while(|line| !line.starts_with("----"))
        .filter_map(|line| {
            let line = line.strip_prefix("  ")?;
            let line = line
                .strip_prefix('-')
                .filter(|rest| !rest.starts_with('-'))
                .map_or(line, |rest| rest.split_once(", ").map_or(rest, |(_, long)| long));
            let word = line.strip_prefix("--")?;
            let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').unwrap_or(word.len());
            (end > 0).then(|| word[..end].replace('-', "_"))
        })
        .collect()
}

/// The table at the end of `--verbose --help`: a name, spaces, a value.
fn variables(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .skip_while(|line| !line.starts_with("----"))
        .skip(1)
        .take_while(|line| !line.trim().is_empty())
        .map(|line| {
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            (name.replace('-', "_"), value.trim().to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_servers_print() {
        let mariadb = "/usr/sbin/mariadbd  Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n";
        assert_eq!(version(mariadb).as_deref(), Some("10.11.6-MariaDB-0+deb12u1"));
        assert_eq!(version("/opt/mysqld  Ver 9.7.0 for Linux on x86_64").as_deref(), Some("9.7.0"));
        assert_eq!(version("ls (GNU coreutils) 9.1"), None);
    }

    const HELP: &str = "/opt/mysqld  Ver 5.1.38 for linux on x86_64\n\nUsage: mysqld [OPTIONS]\n\n\
        The following options may be given as the first argument:\n--print-defaults        Print the program argument list and exit\n\
        \x20 -?, --help          Display this help and exit.\n  -P, --port=#        Port number\n\
        \x20 --plugin-load=name  Optional colon-separated list of plugins to load\n                      --not-an-option\n\
        \x20 --innodb_buffer_pool_size=#\n\n\
        Variables (--variable-name=value)\nand boolean options {FALSE|TRUE}  Value (after reading options)\n\
        --------------------------------- -----------------------------\nport  3306\nplugin-dir  /opt/lib/plugin\n\nTo see what\n";

    fn binary(version: &str, help: Result<&str, &str>) -> Binary {
        let help = help.map(str::to_owned).map_err(str::to_owned);
        Binary::of_help("/opt/none/mysqld".into(), Flavour::MySql, version.into(), help)
    }

    #[test]
    fn every_option_of_the_help_is_known_however_it_is_written() {
        let binary = binary("5.1.38", Ok(HELP));
        let words: Vec<&str> = binary.words.iter().map(String::as_str).collect();
        assert_eq!(words, ["help", "innodb_buffer_pool_size", "plugin_load", "port"]);
        for option in
            ["plugin_load", "port", "innodb_buffer_pool", "skip_innodb_buffer_pool_size", "hot.innodb_buffer_pool_size"]
        {
            assert_eq!(binary.takes(option), Some(true), "{option}");
        }
        assert_eq!(binary.takes("plugin_load_add"), Some(false));
        assert_eq!(binary.takes("rocksdb_bulk_load"), Some(false));
        assert_eq!(binary.note(), None);
    }

    #[test]
    fn a_server_that_does_not_tell_is_judged_by_its_version_and_that_is_said() {
        let silent = |version: &str| binary(version, Err("mysqld failed: please consult the Knowledge Base"));
        // A script makes the data directory before 5.7, and there is none here.
        for version in ["5.1.38", "5.5.20", "5.6.51-log"] {
            let why = silent(version).initialiser().unwrap_err();
            assert!(why.contains("mysql_install_db") && !why.contains("Debian"), "{why}");
        }
        for version in ["5.7.44", "8.0.36", "9.7.0"] {
            assert_eq!(silent(version).initialiser(), Ok(None), "{version}");
        }
        assert_eq!(silent("5.1.38").takes("anything"), None);
        assert!(silent("5.1.38").note().unwrap().contains("Knowledge Base"));
    }

    #[test]
    fn a_name_is_an_installed_server_and_not_another_one_s_link() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        std::fs::write(place("mariadbd"), "").unwrap();
        std::os::unix::fs::symlink(place("mariadbd"), place("mysqld")).unwrap();
        assert_eq!(other_server(&place("mysqld"), "mysqld").as_deref(), Some("mariadbd"));
        assert_eq!(other_server(&place("mariadbd"), "mariadbd"), None);
        // A path says which file is meant, whatever it is called.
        assert_eq!(given_path("l", &place("mysqld")).unwrap(), place("mysqld"));
        let error = given_path("scratch:no-such-server", Path::new("no-such-server")).unwrap_err().to_string();
        assert!(error.contains("no-such-server is neither in PATH nor in") && error.contains("by its path"), "{error}");
    }

    #[test]
    fn a_client_is_told_from_its_server() {
        let prints = [
            ("mariadb  Ver 15.1 Distrib 10.11.19-MariaDB, for debian-linux-gnu (x86_64)", Some("mariadbd")),
            ("/usr/bin/mysql  Ver 14.14 Distrib 5.7.44, for Linux (x86_64)", Some("mysqld")),
            ("mysql  Ver 9.7.4 for Linux on x86_64 ((Debian))", Some("mysqld")),
            ("mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)", None),
            ("/opt/mysql/bin/mysqld  Ver 5.1.73 for unknown-linux-gnu on x86_64 (Source distribution)", None),
            ("", None),
        ];
        for (text, server) in prints {
            assert_eq!(client_of(text), server, "{text}");
        }
        let folder = tempfile::tempdir().unwrap();
        let server = folder.path().canonicalize().unwrap().join("mysqld");
        std::fs::write(&server, "").unwrap();
        let next = server_beside(&folder.path().join("mysql"), "mysqld");
        assert_eq!(next, format!("name the server, as in --target scratch:{}", server.display()));
    }

    #[test]
    fn the_table_of_variables_is_read() {
        let help = "Usage\n\n  --archive[=name]  x\n\nVariables (--variable-name=value)\nand boolean options\n\
                    ------------------- -----\nplugin-dir   /usr/lib/mysql/plugin/\nsocket\narchive  ON\n\nTo see what\n";
        let variables = variables(help);
        assert_eq!(variables.get("plugin_dir").map(String::as_str), Some("/usr/lib/mysql/plugin/"));
        assert_eq!(variables.get("socket").map(String::as_str), Some(""));
        assert_eq!(variables.len(), 3);
    }
}
