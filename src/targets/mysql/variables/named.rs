//! Variables that the user named, by `--vary`, `--flush`, `--cache`, `--server-option` or `--server-config`.
//!
//! They are what is compared: no session sets them over. Where rowcliff needs another value the cell is skipped, and a loading
//! session that has another value than the server (`init_connect`) is refused.

use std::collections::BTreeMap;
use std::path::Path;

use super::{REFUSED, left, set};
use crate::plan::{Cell, ScratchPlan};
use crate::targets::Failure;
use crate::targets::mysql::control::{Control, Flavour};
use crate::targets::mysql::globals::same_value;

/// Names with the flag that names them, and what the server has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named(Vec<(String, &'static str, Option<String>)>);

/// Why a cell that asks for this cannot be run, where it cannot.
pub fn conflict(name: &str, value: &str, flag: &str) -> Option<String> {
    if let Some((_, wanted, _)) = REFUSED.iter().find(|(known, ..)| *known == name) {
        return (!same_value(value, wanted)).then(|| {
            format!("{flag} names {name}={value}: no row could be written (leave it out, or make it {wanted})")
        });
    }
    if left::SPOKEN.contains(&name) {
        return Some(format!("{flag} names {name}, which every session sets for the characters of its own statements"));
    }
    let setting = set::SET.iter().find(|setting| setting.name == name && setting.must)?;
    (!setting.need.is_met_by(value))
        .then(|| format!("{flag} names {name}={value}, and a load needs {}: {}", setting.need.words(), setting.why))
}

/// The same for all that a cell asks for.
pub fn conflict_of(cell: &Cell) -> Option<String> {
    cell.variables().iter().find_map(|(name, value)| conflict(name, value, flag_of(cell, name)))
}

fn flag_of(cell: &Cell, name: &str) -> &'static str {
    let varied = cell.settings.iter().any(|(known, _)| known == name);
    let cache = cell.engine_entry.cache.as_ref().is_some_and(|cache| cache.variable == name);
    match (varied, cache && cell.cache_bytes.is_some()) {
        (true, _) => "--vary",
        (false, true) => "--cache",
        (false, false) => "--flush",
    }
}

impl Named {
    /// What a cell names. One that is varied and left alone here is named too: its label says that it is as it was.
    pub fn of(cell: &Cell) -> Self {
        let mut named = Self::default();
        for (name, _) in cell.variables().iter().chain(&cell.settings) {
            named.add(name, flag_of(cell, name));
        }
        named
    }

    /// With what the servers of scratch targets are started with.
    #[must_use]
    pub fn started_with(mut self, plan: &ScratchPlan, control: &mut Control) -> Self {
        for (name, _) in &plan.options {
            self.add(name, "--server-option");
        }
        if let Some(file) = &plan.config {
            // The server knows of files that this one includes; MySQL forgets it of what a session has set since.
            let names = of_config(control).into_iter().chain(names_in(file));
            names.for_each(|name| self.add(&name, "--server-config"));
        }
        self
    }

    fn add(&mut self, name: &str, flag: &'static str) {
        let name = name.trim_start_matches("loose_").to_ascii_lowercase();
        if !self.has(&name) {
            self.0.push((name, flag, None));
        }
    }

    /// Whether a variable is named.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, ..)| known == name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, ..)| name.as_str())
    }

    /// Reads what the server has, which a new session begins with.
    ///
    /// # Errors
    /// What the server said, or that one of them has a value under which nothing can be loaded.
    pub fn read(&mut self, control: &mut Control) -> Result<(), Failure> {
        let values = control.variables(self.0.iter().map(|(name, ..)| name.as_str()))?;
        for (name, flag, value) in &mut self.0 {
            *value = values.get(name).cloned();
            if let Some(why) = value.as_ref().and_then(|value| conflict(name, value, flag)) {
                return Err(Failure::fatal(why));
            }
        }
        Ok(())
    }

    /// Whether a session has them as the server has.
    ///
    /// # Errors
    /// One of them differs.
    pub fn are_in_force(&self, session: &BTreeMap<String, String>) -> Result<(), Failure> {
        for (name, flag, value) in &self.0 {
            if let (Some(value), Some(now)) = (value, session.get(name))
                && now != value
            {
                return Err(Failure::fatal(format!(
                    "{name} is {value} on this server ({flag}) and {now} in a loading session: something sets it at log-in \
                     (init_connect?), and the curve is not run under a wrong label"
                )));
            }
        }
        Ok(())
    }
}

/// Variables that the server took from an option file, by its own account.
fn of_config(control: &mut Control) -> Vec<String> {
    let sql = match control.flavour {
        Flavour::MariaDb => {
            "SELECT LOWER(VARIABLE_NAME) FROM information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE_ORIGIN = 'CONFIG'"
        }
        Flavour::MySql => {
            "SELECT LOWER(VARIABLE_NAME) FROM performance_schema.variables_info \
             WHERE VARIABLE_SOURCE IN ('GLOBAL', 'SERVER', 'EXPLICIT', 'EXTRA', 'USER', 'LOGIN')"
        }
    };
    // Older servers do not tell.
    control.rows(sql).unwrap_or_default()
}

/// The names in an option file.
fn names_in(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';', '[', '!']));
    let names = lines.map(|line| line.split('=').next().unwrap_or_default().trim().replace('-', "_"));
    names.filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_load_needs_otherwise_is_a_conflict() {
        let why = conflict("sql_select_limit", "12", "--vary").unwrap();
        assert!(why.starts_with("--vary names sql_select_limit=12, and a load needs 18446744073709551615: "), "{why}");
        assert!(conflict("tx_read_only", "1", "--vary").unwrap().contains("no row could be written"));
        assert!(conflict("completion_type", "CHAIN", "--flush").is_some());
        assert!(conflict("character_set_client", "utf8mb4", "--vary").is_some());
        for (name, value) in [("completion_type", "NO_CHAIN"), ("wait_timeout", "5"), ("unique_checks", "0")] {
            assert_eq!(conflict(name, value, "--vary"), None, "{name}={value}");
        }
    }

    #[test]
    fn a_session_that_differs_from_its_server_is_refused() {
        let named = Named(vec![("rocksdb_bulk_load_size".into(), "--vary", Some("5".into()))]);
        let session = |value: &str| BTreeMap::from([("rocksdb_bulk_load_size".to_owned(), value.to_owned())]);
        assert!(named.are_in_force(&session("5")).is_ok());
        assert!(named.are_in_force(&BTreeMap::new()).is_ok());
        let refused = named.are_in_force(&session("6")).unwrap_err().message;
        assert!(refused.contains("--vary") && refused.contains("init_connect"), "{refused}");
    }

    #[test]
    fn names_of_an_option_file_are_those_of_variables() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "# x\n[mysqld]\nwait-timeout = 5\nskip-log-bin\n!include other\n\n").unwrap();
        assert_eq!(names_in(file.path()), ["wait_timeout", "skip_log_bin"]);
    }
}
