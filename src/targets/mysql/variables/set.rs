//! The variables that are set at log-in, and setting them.

use std::collections::BTreeMap;

use mysql::Conn;
use mysql::prelude::Queryable;

use super::{Named, RECORDED, refused};
use crate::targets::mysql::errors::failure;
use crate::targets::mysql::globals::same_value;
use crate::targets::{Failure, FailureKind};

/// What a variable has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Exactly(&'static str),
    /// These words, in any order.
    Words(&'static str),
    /// This number or a larger one, which then stays.
    AtLeast(u64),
}

/// A variable that is set at log-in.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub name: &'static str,
    /// What it is set to.
    pub need: Need,
    /// Whether rows would be lost, altered or not seen otherwise: a loading session without it is refused, and so is a cell that
    /// names another value. Of the others a named value stays.
    pub must: bool,
    /// What depends on it.
    pub why: &'static str,
}

const fn must(name: &'static str, need: Need, why: &'static str) -> Setting {
    Setting { name, need, must: true, why }
}

const fn may(name: &'static str, need: Need, why: &'static str) -> Setting {
    Setting { name, need, must: false, why }
}

/// No limit, where 0 would be one.
const ALL: Need = Need::Exactly("18446744073709551615");
/// No limit, where 0 is none.
const NONE: Need = Need::Exactly("0");
const ON: Need = Need::Exactly("ON");
const OFF: Need = Need::Exactly("OFF");

/// Set at log-in, where the server has it: a meaning depends on each of these. The order is that of the statement: setting
/// `max_join_size` switches `sql_big_selects` off.
pub const SET: &[Setting] = &[
    must("max_join_size", ALL, "reads of the table and of information_schema would be refused"),
    must("sql_big_selects", ON, "reads of the table and of information_schema would be refused"),
    must(
        "sql_select_limit",
        ALL,
        "columns, engines, warnings and rows beyond it would not be seen: columns not seen would be left empty",
    ),
    must("autocommit", ON, "a statement outside BEGIN and COMMIT would never be committed"),
    // CHAIN begins a transaction that nobody commits; RELEASE ends the connection.
    must("completion_type", Need::Exactly("NO_CHAIN"), "a COMMIT would be more than a COMMIT"),
    must(
        "time_zone",
        Need::Exactly("+00:00"),
        "a TIMESTAMP would be another moment, or one that daylight saving takes away",
    ),
    // Strict, so that a value that does not fit is an error and never a shorter value; no engine is silently replaced; the
    // quotes and backslashes of statements mean what they mean.
    must(
        "sql_mode",
        Need::Words("STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO"),
        "values that do not fit would be cut, engines replaced and zeros counted",
    ),
    must("max_statement_time", NONE, "a count or a batch would be ended by the server; limits are rowcliff's own"),
    must("max_execution_time", NONE, "a count would be ended by the server; limits are rowcliff's own"),
    // 64 is MariaDB's own default. Under 0 a warning is counted and never told.
    must("max_error_count", Need::AtLeast(64), "warnings that fail a batch could not be read"),
    may("sql_notes", ON, "notes are recorded"),
    must("sql_quote_show_create", ON, "names in the definition of the table could not be told from words"),
    must("sql_auto_is_null", OFF, "WHERE column IS NULL would find the row that was inserted last"),
    must("sql_safe_updates", OFF, "rows of a batch that is taken back are found by more than a key"),
    must("sql_if_exists", OFF, "a table that is not there would be dropped without a word"),
    must("system_versioning_asof", Need::Exactly("DEFAULT"), "a versioned table would be read as it was once"),
    must(
        "show_gipk_in_create_table_and_information_schema",
        ON,
        "a key that the server adds to a table would not be seen",
    ),
    may("show_create_table_verbosity", OFF, "the definition of a table is read as far as it was written"),
    may(
        "lc_messages",
        Need::Exactly("en_US"),
        "which column or constraint refused a row is read from the server's words",
    ),
    may("tmp_disk_table_size", ALL, "information_schema is read through temporary tables"),
    may("wait_timeout", Need::AtLeast(31_536_000), "loading connections are idle while rows are made and probes run"),
    may("idle_transaction_timeout", NONE, "a transaction waits while the rows of its next statement are made"),
    may("idle_write_transaction_timeout", NONE, "a transaction waits while the rows of its next statement are made"),
    may("idle_readonly_transaction_timeout", NONE, "a transaction waits while the rows of its next statement are made"),
    may("net_read_timeout", Need::AtLeast(600), "a statement may wait for rows that are still being made"),
    may("net_write_timeout", Need::AtLeast(600), "an answer may wait for a client that is busy"),
    // RSU makes a table on one node alone, and the first row of it takes the others out of the cluster.
    may("wsrep_osu_method", Need::Exactly("TOI"), "a table has to be made on every node of its cluster"),
];

impl Need {
    /// Whether a value is what is needed.
    pub fn is_met_by(self, now: &str) -> bool {
        match self {
            Self::Exactly(value) => same_value(now, value),
            Self::Words(list) => words(now) == words(list),
            Self::AtLeast(least) => now.parse::<f64>().is_ok_and(|now| now >= least as f64),
        }
    }

    /// The value as it is set.
    fn sql(self) -> String {
        match self {
            Self::Exactly(value) if value.bytes().all(|byte| byte.is_ascii_digit()) => value.to_owned(),
            Self::Exactly(value @ ("ON" | "OFF" | "DEFAULT")) => value.to_owned(),
            Self::Exactly(value) | Self::Words(value) => format!("'{value}'"),
            Self::AtLeast(least) => least.to_string(),
        }
    }

    /// The value in words.
    pub fn words(self) -> String {
        match self {
            Self::Exactly(value) | Self::Words(value) => value.to_owned(),
            Self::AtLeast(least) => format!("{least} or more"),
        }
    }
}

fn words(list: &str) -> Vec<String> {
    let mut all: Vec<String> = list.split(',').map(|word| word.trim().to_ascii_uppercase()).collect();
    all.sort();
    all
}

/// Session variables by name, in lower case.
type Values = BTreeMap<String, String>;

fn read(conn: &mut Conn, names: &[&str]) -> Result<Values, Failure> {
    let list: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let sql = format!("SHOW SESSION VARIABLES WHERE Variable_name IN ({})", list.join(","));
    let rows: Vec<(String, Option<String>)> = conn.query(sql).map_err(failure)?;
    Ok(rows.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value.unwrap_or_default())).collect())
}

/// Puts a session into the state that everything is asked and sent in. What this user may not set stays: a loading session
/// refuses it ([`prepare_loading`]), and any other does what it can.
///
/// # Errors
/// The connection is lost, or the server does not tell what it has.
pub fn prepare(conn: &mut Conn) -> Result<(), Failure> {
    set_all(conn, &Named::default()).map(|_| ())
}

/// Puts a loading session into the state that every curve is measured in, reads it back, and gives what it then has of the
/// variables that are recorded and of those that are named.
///
/// # Errors
/// The session has not what it has to have, or not what was named: which variable, and why.
pub fn prepare_loading(conn: &mut Conn, named: &Named) -> Result<Values, Failure> {
    let mut refusals = set_all(conn, named)?;
    let mut names: Vec<&str> = SET.iter().map(|setting| setting.name).chain(RECORDED.iter().copied()).collect();
    names.extend(super::REFUSED.iter().map(|(name, ..)| *name));
    names.extend(named.names());
    let now = read(conn, &names)?;
    if let Some(why) = refused(|name| now.get(name).map(String::as_str)) {
        return Err(Failure::fatal(why));
    }
    for setting in SET.iter().filter(|setting| setting.must) {
        if let Some(value) = now.get(setting.name).filter(|value| !setting.need.is_met_by(value)) {
            let said = refusals.remove(setting.name).map(|said| format!(" ({said})")).unwrap_or_default();
            return Err(Failure::fatal(format!(
                "{} is {value} in the loading sessions and has to be {}: {}; SET SESSION did not change it{said}",
                setting.name,
                setting.need.words(),
                setting.why
            )));
        }
    }
    named.are_in_force(&now)?;
    let told = RECORDED.iter().copied().chain(named.names());
    Ok(told.filter_map(|name| Some((name.to_owned(), now.get(name)?.clone()))).collect())
}

/// Sets what differs and is not named. Gives what was refused, by variable.
fn set_all(conn: &mut Conn, named: &Named) -> Result<BTreeMap<&'static str, String>, Failure> {
    // Before anything is read: under a limit the variables themselves are not all shown. Every server has these.
    let (first, rest) = SET.split_at(3);
    let mut refusals = BTreeMap::new();
    apply(conn, &first.iter().collect::<Vec<_>>(), &mut refusals)?;
    let now = read(conn, &rest.iter().map(|setting| setting.name).collect::<Vec<_>>())?;
    let differs = |setting: &&Setting| {
        let there = now.get(setting.name).is_some_and(|value| !setting.need.is_met_by(value));
        there && !named.has(setting.name)
    };
    let wanted: Vec<&Setting> = rest.iter().filter(differs).collect();
    apply(conn, &wanted, &mut refusals)?;
    Ok(refusals)
}

/// Sets variables in one statement, or one by one where the server refuses one of them.
fn apply(
    conn: &mut Conn,
    wanted: &[&'static Setting],
    refusals: &mut BTreeMap<&'static str, String>,
) -> Result<(), Failure> {
    let sql = |settings: &[&Setting]| {
        let words: Vec<String> =
            settings.iter().map(|setting| format!("{}={}", setting.name, setting.need.sql())).collect();
        format!("SET SESSION {}", words.join(", "))
    };
    if wanted.is_empty() {
        return Ok(());
    }
    match conn.query_drop(sql(wanted)).map_err(failure) {
        Ok(()) => return Ok(()),
        Err(lost) if lost.kind == FailureKind::Lost => return Err(lost),
        Err(_) => {}
    }
    for setting in wanted {
        match conn.query_drop(sql(&[setting])).map_err(failure) {
            Err(lost) if lost.kind == FailureKind::Lost => return Err(lost),
            Err(said) => drop(refusals.insert(setting.name, said.to_string())),
            Ok(()) => {}
        }
    }
    Ok(())
}

/// Lets a session that may not set anything see whole answers all the same. On most servers nothing is limited and nothing is
/// set; elsewhere this is the only way to read, and it changes nothing but the session itself.
///
/// # Errors
/// The connection is lost.
pub fn read_whole(conn: &mut Conn) -> Result<(), Failure> {
    let limits: Option<(u64, u64)> =
        conn.query_first("SELECT @@SESSION.sql_select_limit, @@SESSION.sql_big_selects LIMIT 1").map_err(failure)?;
    match limits {
        Some((u64::MAX, 1)) => Ok(()),
        _ => apply(conn, &SET.iter().take(3).collect::<Vec<_>>(), &mut BTreeMap::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_from_each_other_as_servers_write_them() {
        assert!(ON.is_met_by("1") && ON.is_met_by("ON") && !ON.is_met_by("OFF"));
        assert!(ALL.is_met_by("18446744073709551615") && !ALL.is_met_by("12"));
        assert!(NONE.is_met_by("0.000000") && !NONE.is_met_by("0.5"));
        assert!(Need::AtLeast(64).is_met_by("1024") && !Need::AtLeast(64).is_met_by("0"));
        let mode = SET.iter().find(|setting| setting.name == "sql_mode").unwrap().need;
        assert!(mode.is_met_by("NO_AUTO_VALUE_ON_ZERO,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION"));
        assert!(!mode.is_met_by("STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO,ANSI_QUOTES"));
    }

    #[test]
    fn what_limits_every_answer_is_set_first() {
        let first: Vec<&str> = SET.iter().take(3).map(|setting| setting.name).collect();
        assert_eq!(first, ["max_join_size", "sql_big_selects", "sql_select_limit"]);
    }

    #[test]
    fn values_are_written_as_the_server_takes_them() {
        let sql = |name: &str| SET.iter().find(|setting| setting.name == name).unwrap().need.sql();
        assert_eq!(sql("time_zone"), "'+00:00'");
        assert_eq!(sql("autocommit"), "ON");
        assert_eq!(sql("wait_timeout"), "31536000");
        assert_eq!(sql("system_versioning_asof"), "DEFAULT");
    }
}
