//! What a user may do, read from SHOW GRANTS as far as that says it. What it does not say is found by trying.

use std::collections::BTreeSet;

use super::control::{Control, Flavour};
use crate::targets::Failure;

/// Variables that MariaDB keeps under a privilege of their own since 10.5; everything else global is SUPER's.
const MARIADB_BINLOG: &[&str] = &[
    "binlog_annotate_row_events",
    "binlog_cache_size",
    "binlog_checksum",
    "binlog_commit_wait_count",
    "binlog_commit_wait_usec",
    "binlog_direct_non_transactional_updates",
    "binlog_expire_logs_seconds",
    "binlog_file_cache_size",
    "binlog_format",
    "binlog_row_image",
    "binlog_row_metadata",
    "binlog_stmt_cache_size",
    "expire_logs_days",
    "log_bin_compress",
    "log_bin_compress_min_len",
    "log_bin_trust_function_creators",
    "max_binlog_cache_size",
    "max_binlog_size",
    "max_binlog_stmt_cache_size",
    "sql_log_bin",
    "sync_binlog",
];
const MARIADB_CONNECTION: &[&str] = &[
    "connect_timeout",
    "extra_max_connections",
    "init_connect",
    "max_connect_errors",
    "max_connections",
    "max_password_errors",
    "slow_launch_time",
];

/// The privileges of a user, those of its active roles included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    scopes: Vec<Scope>,
    /// Taken back from a global grant for single databases (MySQL's partial revokes).
    revoked: Vec<Scope>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Scope {
    /// A pattern with `%` and `_`; `None` is every database.
    database: Option<String>,
    privileges: BTreeSet<String>,
}

impl Scope {
    fn covers(&self, privilege: &str) -> bool {
        self.privileges.contains(privilege)
            || self.privileges.contains("ALL PRIVILEGES")
            || self.privileges.contains("ALL")
    }
}

impl Grants {
    /// Asks the server.
    ///
    /// # Errors
    /// The server does not tell.
    pub fn read(control: &mut Control) -> Result<Self, Failure> {
        let mut sql = "SHOW GRANTS FOR CURRENT_USER()".to_owned();
        if control.flavour == Flavour::MySql {
            // Roles are there since 8.0; what they give shows only when they are named.
            let roles: Option<String> = control.first("SELECT CURRENT_ROLE()").unwrap_or_default();
            if let Some(roles) = roles.filter(|roles| !roles.is_empty() && roles != "NONE") {
                sql = format!("{sql} USING {roles}");
            }
        } else {
            // This form adds what the current role gives.
            sql = "SHOW GRANTS".into();
        }
        let lines: Vec<String> = control.rows(&sql)?;
        Ok(Self::parse(&lines))
    }

    /// Reads the lines of SHOW GRANTS.
    pub fn parse(lines: &[String]) -> Self {
        let mut grants = Self::default();
        for line in lines {
            let (list, rest) = if let Some(rest) = line.strip_prefix("GRANT ") {
                (&mut grants.scopes, rest)
            } else if let Some(rest) = line.strip_prefix("REVOKE ") {
                (&mut grants.revoked, rest)
            } else {
                continue;
            };
            // A granted role has no ON.
            let Some((privileges, rest)) = rest.split_once(" ON ") else { continue };
            let Some(database) = scope(rest) else { continue };
            let privileges = words(privileges);
            list.push(Scope { database, privileges });
        }
        grants
    }

    /// Whether a privilege holds for every table of a database.
    pub fn on_database(&self, privilege: &str, database: &str) -> bool {
        let matches = |scope: &Scope| {
            scope.covers(privilege) && scope.database.as_deref().is_some_and(|pattern| like(pattern, database))
        };
        let globally = self.globally(privilege) && !self.revoked.iter().any(matches);
        globally || self.scopes.iter().any(matches)
    }

    /// Whether a privilege holds for the whole server.
    pub fn globally(&self, privilege: &str) -> bool {
        self.scopes.iter().any(|scope| scope.database.is_none() && scope.covers(privilege))
    }

    /// Whether one of several privileges holds for the whole server.
    pub fn any_globally(&self, privileges: &[&str]) -> bool {
        privileges.iter().any(|privilege| self.globally(privilege))
    }
}

/// The privileges of a list. Those on single columns are none on the table and are left out.
fn words(list: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut word = String::new();
    let mut depth = 0;
    let mut on_columns = false;
    for c in list.chars().chain([',']) {
        match c {
            '(' => (depth, on_columns) = (depth + 1, true),
            ')' => depth -= 1,
            ',' if depth == 0 => {
                let whole = std::mem::take(&mut word);
                if !std::mem::take(&mut on_columns) {
                    words.insert(whole.trim().to_owned());
                }
            }
            c => word.push(c),
        }
    }
    words
}

/// The database of `*.* TO ...` or `` `db`.* TO ... ``; nothing for single tables, routines and proxies.
fn scope(text: &str) -> Option<Option<String>> {
    if text.starts_with("*.* ") {
        return Some(None);
    }
    let mut name = String::new();
    let mut rest = text.strip_prefix('`')?.chars();
    loop {
        match rest.next()? {
            '`' => match rest.next()? {
                '`' => name.push('`'),
                '.' => break,
                _ => return None,
            },
            c => name.push(c),
        }
    }
    rest.as_str().starts_with("* ").then_some(Some(name))
}

/// The pattern of a grant: `%` and `_` stand for characters unless a backslash stands before them.
fn like(pattern: &str, text: &str) -> bool {
    let mut rest = pattern.chars();
    match rest.next() {
        None => text.is_empty(),
        Some('%') => {
            let pattern = rest.as_str();
            text.char_indices().map(|(at, _)| at).chain([text.len()]).any(|at| like(pattern, &text[at..]))
        }
        first => {
            let wanted = match first {
                Some('\\') => rest.next(),
                Some('_') => None,
                other => other,
            };
            let mut characters = text.chars();
            match (characters.next(), wanted) {
                (None, _) => false,
                (Some(c), Some(wanted)) if c != wanted => false,
                _ => like(rest.as_str(), characters.as_str()),
            }
        }
    }
}

/// The three numbers that a version begins with: `5.1.38-log`, `10.11.6-MariaDB`. What is missing is 0.
pub fn version_numbers(version: &str) -> (u32, u32, u32) {
    let mut numbers = version.split('.').map(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    });
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// The privileges of which one is needed to set a global variable.
pub fn to_set_global(flavour: Flavour, version: &str, variable: &str) -> Vec<&'static str> {
    let version = version_numbers(version);
    match flavour {
        Flavour::MySql if version >= (8, 0, 0) => vec!["SYSTEM_VARIABLES_ADMIN", "SUPER"],
        Flavour::MariaDb if version >= (10, 5, 0) && MARIADB_BINLOG.contains(&variable) => {
            vec!["BINLOG ADMIN", "SUPER"]
        }
        Flavour::MariaDb if version >= (10, 5, 0) && MARIADB_CONNECTION.contains(&variable) => {
            vec!["CONNECTION ADMIN", "SUPER"]
        }
        _ => vec!["SUPER"],
    }
}

/// The privileges of which one lets a session write while `read_only` is on.
pub fn to_write_read_only(flavour: Flavour, version: &str) -> Vec<&'static str> {
    let version = version_numbers(version);
    match flavour {
        Flavour::MySql if version >= (8, 0, 0) => vec!["CONNECTION_ADMIN", "SUPER"],
        Flavour::MariaDb if version >= (10, 11, 0) => vec!["READ_ONLY ADMIN", "READ ONLY ADMIN"],
        Flavour::MariaDb if version >= (10, 5, 0) => vec!["READ_ONLY ADMIN", "READ ONLY ADMIN", "SUPER"],
        _ => vec!["SUPER"],
    }
}

/// The privileges of which one is needed to keep a session out of the binary log.
pub fn to_skip_binlog(flavour: Flavour, version: &str) -> Vec<&'static str> {
    let version = version_numbers(version);
    match flavour {
        Flavour::MySql if version >= (8, 0, 0) => vec!["SESSION_VARIABLES_ADMIN", "SYSTEM_VARIABLES_ADMIN", "SUPER"],
        Flavour::MariaDb if version >= (10, 5, 0) => vec!["BINLOG ADMIN", "SUPER"],
        _ => vec!["SUPER"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(lines: &[&str]) -> Grants {
        Grants::parse(&lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn grants_of_both_flavours_are_read() {
        let root = grants(&[
            "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION",
            "GRANT PROXY ON ''@'%' TO 'root'@'localhost' WITH GRANT OPTION",
        ]);
        assert!(root.globally("SUPER") && root.on_database("DROP", "anything"));
        let user = grants(&[
            "GRANT USAGE ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*A'",
            "GRANT SELECT, INSERT, CREATE ON `te\\_st%`.* TO `u`@`%`",
            "GRANT DROP ON `te_st`.`one` TO `u`@`%`",
            "GRANT SELECT (a, b), DELETE ON `other`.* TO `u`@`%`",
            "GRANT `role`@`%` TO `u`@`%`",
            "SET DEFAULT ROLE `x` FOR `u`@`%`",
        ]);
        assert!(user.on_database("INSERT", "te_st") && user.on_database("INSERT", "te_st_2"));
        assert!(!user.on_database("INSERT", "teXst") && !user.on_database("DROP", "te_st"));
        assert!(user.on_database("DELETE", "other") && !user.on_database("SELECT", "other"));
        assert!(!user.globally("SUPER"));
        let admin = grants(&[
            "GRANT SELECT, INSERT, PROCESS ON *.* TO `a`@`%`",
            "GRANT BACKUP_ADMIN,SYSTEM_VARIABLES_ADMIN ON *.* TO `a`@`%`",
            "REVOKE INSERT ON `mine`.* FROM `a`@`%`",
        ]);
        assert!(admin.on_database("SELECT", "mine") && !admin.on_database("INSERT", "mine"));
    }

    #[test]
    fn dynamic_privileges_of_mysql_are_listed_without_a_space() {
        let admin = grants(&["GRANT BACKUP_ADMIN,SYSTEM_VARIABLES_ADMIN ON *.* TO `a`@`%`"]);
        assert!(admin.globally("SYSTEM_VARIABLES_ADMIN"));
    }

    #[test]
    fn what_a_variable_needs_depends_on_the_server() {
        let needs = |flavour, version, name| to_set_global(flavour, version, name).join(" ");
        assert_eq!(needs(Flavour::MySql, "9.7.0", "sync_binlog"), "SYSTEM_VARIABLES_ADMIN SUPER");
        assert_eq!(needs(Flavour::MySql, "5.7.44-log", "sync_binlog"), "SUPER");
        assert_eq!(needs(Flavour::MariaDb, "10.11.14-MariaDB", "sync_binlog"), "BINLOG ADMIN SUPER");
        assert_eq!(needs(Flavour::MariaDb, "10.11.14-MariaDB", "innodb_flush_log_at_trx_commit"), "SUPER");
        assert_eq!(needs(Flavour::MariaDb, "10.4.1-MariaDB", "sync_binlog"), "SUPER");
    }
}
