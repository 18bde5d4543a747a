//! What can be said of a cell by reading alone: `check` says it, and `run` says it before anything is changed or timed.

use std::collections::BTreeMap;

use super::account::{self, HourlyLimits};
use super::control::{Control, Flavour, named_global_status, word};
use super::globals::same_value;
use super::offer::Offer;
use super::privileges::{self, Grants, version_numbers};
use super::{cluster, is_on, unable, variables};
use crate::engine::{CacheVariable, Engine};
use crate::key::Storage;
use crate::plan::login::SslMode;
use crate::plan::method::Method;
use crate::plan::{Care, Cell, CurvePlan, Flush};
use crate::schema::BuiltIn;
use crate::targets::Failure;
use crate::targets::Verdict;
use crate::units::{grouped, human_bytes};

/// What a run does to its tables: without one of these it would fail late, or leave a table that it cannot drop.
const NEEDED: [&str; 4] = ["CREATE", "DROP", "SELECT", "INSERT"];

/// What a server says of itself, read once for a run.
#[derive(Debug, Clone)]
pub struct Preflight {
    flavour: Flavour,
    version: String,
    user: String,
    database: String,
    care: Care,
    /// The user's own CREATE TABLE template.
    schema: Option<String>,
    variables: BTreeMap<String, String>,
    offer: Offer,
    /// `None` where the server does not show them: then trying tells.
    grants: Option<Grants>,
    replicas: Replicas,
    /// Connections of this user that the server allows, 0 for any number.
    user_connections: u64,
    /// What this user may do in an hour.
    hourly: HourlyLimits,
    /// Prepared statements that are in use.
    prepared: u64,
    /// Whether the certificate has to bear the name of the host.
    checks_host: bool,
    /// Open at the time, ours included.
    open_connections: u64,
    /// Servers that share the loading connections.
    servers: u64,
    /// Why this node of a Galera cluster takes no rows, if it does not.
    not_synced: Option<String>,
}

/// The replicas of a server, as far as they can be seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replicas {
    /// Where they are.
    pub seen: Vec<String>,
    /// What this user would need to see them, if it may not.
    pub hidden: Option<String>,
}

impl Preflight {
    /// Reads everything. Nothing is changed.
    ///
    /// # Errors
    /// What the server said.
    pub fn read(control: &mut Control, care: Care, schema: Option<String>) -> Result<Self, Failure> {
        let variables = control.all_variables()?;
        let place = control.access().place.clone();
        let grants = Grants::read(control).ok();
        let logs = variables.get("log_bin").is_some_and(|value| is_on(value));
        let replicas = if logs { Replicas::read(control, grants.as_ref()) } else { Replicas::default() };
        let user: Option<String> = control.first("SELECT CURRENT_USER()")?;
        Ok(Self {
            flavour: control.flavour,
            version: control.version.clone(),
            user: user.as_deref().map_or_else(|| format!("'{}'", place.user), quoted_account),
            database: place.database,
            care,
            schema,
            offer: Offer::read(control)?,
            grants,
            replicas,
            user_connections: control.first("SELECT @@SESSION.max_user_connections").ok().flatten().unwrap_or(0),
            hourly: HourlyLimits::read(control),
            checks_host: control.access().ssl_mode == SslMode::VerifyIdentity
                && control.access().place.socket.is_none(),
            prepared: named_global_status(control, "Prepared_stmt_count").unwrap_or(0),
            open_connections: named_global_status(control, "Threads_connected").unwrap_or(1),
            servers: 1,
            not_synced: if variables.get("wsrep_on").is_some_and(|value| is_on(value)) {
                cluster::not_synced(control, true)
            } else {
                None
            },
            variables,
        })
    }

    /// The same, where so many servers share the loading connections.
    #[must_use]
    pub fn shared_by(self, servers: u64) -> Self {
        Self { servers, ..self }
    }

    /// A global variable as it was read.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(&name.to_ascii_lowercase()).map(String::as_str)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.variables.get(name)?.parse().ok()
    }

    fn on(&self, name: &str) -> bool {
        self.variables.get(name).is_some_and(|value| is_on(value))
    }

    /// Notes for the record of the server.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.takes_writes_from_all() {
            notes.push("read_only is on: is this a replica?".into());
        }
        if self.on("log_bin") && self.care.skip_binlog {
            notes.push("the binary log is on and this run's sessions do not write it (--skip-binlog)".into());
        } else if self.on("log_bin") {
            let sync = self.variables.get("sync_binlog").map_or("unknown", String::as_str);
            notes.push(format!("the binary log is on (sync_binlog={sync}): it is part of what every commit costs"));
            if !self.replicas.seen.is_empty() {
                notes.push(format!("replicas are attached: {}", self.replicas.seen.join(", ")));
            } else if let Some(privilege) = &self.replicas.hidden {
                notes.push(format!("whether replicas are attached cannot be seen without {privilege}"));
            }
        }
        if self.on("wsrep_on") {
            let step = self.number("auto_increment_increment").unwrap_or(1);
            notes.push(format!(
                "Galera: every commit is certified by the cluster; auto_increment_increment={step}, so keys have gaps"
            ));
        }
        if self.grants.as_ref().is_some_and(|grants| !grants.globally("PROCESS")) {
            notes.push(
                "without the PROCESS privilege other sessions cannot be seen, such as one that holds a lock".into(),
            );
        }
        notes
    }

    fn takes_writes_from_all(&self) -> bool {
        self.variables.get("read_only").is_none_or(|value| is_off(value))
    }

    /// Whether a curve can be run.
    pub fn judge(&self, curve: &CurvePlan) -> Verdict {
        let cell = &curve.cell;
        if let Some(why) = unable(cell, self.flavour) {
            return Verdict::Unable { why };
        }
        let prevented = self
            .not_synced
            .clone()
            .or_else(|| self.read_only())
            .or_else(|| self.offer.missing(&cell.engine_entry))
            .or_else(|| self.privileges())
            .or_else(|| self.replicas())
            .or_else(|| self.settings(cell))
            .or_else(|| self.bulk_without_host(cell))
            .or_else(|| self.connections(cell))
            .or_else(|| self.hourly.refuse(curve, &self.user, self.servers))
            .or_else(|| {
                let most = self.number("max_prepared_stmt_count")?;
                account::too_few_prepared(curve, most, self.prepared, self.servers)
            })
            .or_else(|| key_demanded(&cell.engine_entry, self.schema.as_deref()?, &self.variables));
        if let Some(why) = prevented {
            return Verdict::Prevented { why };
        }
        if cell.method == Method::LoadData && self.variables.get("local_infile").is_some_and(|value| !is_on(value)) {
            let why = format!(
                "local_infile is OFF on this server; switch it on with SET GLOBAL local_infile=1, which needs {}",
                privileges::to_set_global(self.flavour, &self.version, "local_infile").join(" or ")
            );
            return Verdict::Prevented { why };
        }
        let notes = [self.memory(curve), self.binary_log(curve), self.hourly.note(curve)];
        Verdict::Runs { notes: notes.into_iter().flatten().collect() }
    }

    fn read_only(&self) -> Option<String> {
        for name in ["super_read_only", "innodb_read_only"] {
            if self.on(name) {
                return Some(format!("{name} is ON: this server takes no writes (a replica?); load its primary"));
            }
        }
        if let Some(why) = variables::refused(|name| self.variables.get(name).map(String::as_str)) {
            return Some(why);
        }
        let past = privileges::to_write_read_only(self.flavour, &self.version);
        let stopped = self.grants.as_ref().is_some_and(|grants| !grants.any_globally(&past));
        (!self.takes_writes_from_all() && stopped).then(|| {
            format!(
                "read_only is on (a replica?) and user {} has no privilege to write all the same ({}); load the primary, or \
                 SET GLOBAL read_only=0 here",
                self.user,
                past.join(" or ")
            )
        })
    }

    fn privileges(&self) -> Option<String> {
        let grants = self.grants.as_ref()?;
        let lacks: Vec<&str> =
            NEEDED.into_iter().filter(|privilege| !grants.on_database(privilege, &self.database)).collect();
        let database = self.database.replace('`', "``");
        (!lacks.is_empty()).then(|| {
            format!(
                "user {} lacks {} on database {}: GRANT {} ON `{database}`.* TO {}",
                self.user,
                lacks.join(", "),
                self.database,
                NEEDED.join(", "),
                self.user
            )
        })
    }

    fn replicas(&self) -> Option<String> {
        if self.care.skip_binlog {
            let needs = privileges::to_skip_binlog(self.flavour, &self.version);
            return self.grants.as_ref().filter(|grants| !grants.any_globally(&needs)).map(|_| {
                format!(
                    "--skip-binlog: SET SESSION sql_log_bin=0 needs {}, which user {} has not",
                    needs.join(" or "),
                    self.user
                )
            });
        }
        (!self.replicas.seen.is_empty() && !self.care.allow_replication).then(|| {
            format!(
                "replicas are attached ({}) and would receive every row: give --allow-replication to load them too, or \
                 --skip-binlog to keep the rows out of the binary log",
                self.replicas.seen.join(", ")
            )
        })
    }

    fn settings(&self, cell: &Cell) -> Option<String> {
        if let Some(variable) = needs_restart(cell, self.flavour, &self.version) {
            return Some(format!(
                "{variable} counts only when the server starts: use --target scratch, or start the server with it and leave \
                 it as it is here"
            ));
        }
        for (name, value) in cell.variables() {
            let Some(now) = self.variables.get(&name.to_ascii_lowercase()) else {
                return Some(format!("this server has no variable {name}"));
            };
            let needs = privileges::to_set_global(self.flavour, &self.version, &name);
            let lacks = self.grants.as_ref().is_some_and(|grants| !grants.any_globally(&needs));
            if !same_value(now, &value) && lacks {
                return Some(format!(
                    "SET GLOBAL {name}={value} needs {}, which user {} has not ({name} is {now}): grant it, or use --flush as-is \
                     (managed services often keep it to themselves)",
                    needs.join(" or "),
                    self.user
                ));
            }
        }
        None
    }

    /// See [`super::relay`].
    fn bulk_without_host(&self, cell: &Cell) -> Option<String> {
        (cell.method == Method::Bulk && self.checks_host).then(|| {
            "--method bulk cannot be had with --ssl-mode verify-identity: its log-in goes through a relay on this machine, behind which \
             the driver has no host's name to compare with the certificate; use --ssl-mode verify-ca"
                .into()
        })
    }

    fn connections(&self, cell: &Cell) -> Option<String> {
        let here = u64::from(cell.sessions()).div_ceil(self.servers.max(1));
        // Of a cluster the control connection of the target itself may be here as well.
        let control = if self.servers > 1 { 2 } else { 1 };
        let wanted = here + control;
        let too_many = |limit: String| {
            let control = if control == 1 { "one" } else { "two" };
            let (what, flag) = match cell.probe_connections > cell.connections {
                false => ("loading connections", "--connections"),
                true => ("connections for probes", "--probe-connections"),
            };
            format!("{here} {what} and {control} for control are more than {limit}; give fewer with {flag}")
        };
        if self.user_connections > 0 && wanted > self.user_connections {
            return Some(too_many(format!("max_user_connections={} of user {}", self.user_connections, self.user)));
        }
        let most = self.number("max_connections").filter(|&most| most > 0)?;
        let others = self.open_connections.saturating_sub(1);
        if wanted > most {
            return Some(too_many(format!("max_connections={most}")));
        }
        (wanted + others > most).then(|| {
            too_many(format!("max_connections={most} leaves beside {others} connections that are open already"))
        })
    }

    /// How many rows fit into a MEMORY table, where that is fewer than were asked for.
    fn memory(&self, curve: &CurvePlan) -> Option<String> {
        let engine = &curve.cell.engine_entry;
        // What a row of another table takes is only known once it is there.
        if !engine.name.eq_ignore_ascii_case("memory") || self.schema.is_some() {
            return None;
        }
        let most = self.number("max_heap_table_size")?;
        let row = memory_row_bytes(curve.cell.tables, curve.cell.key.storage());
        let fit = most / row;
        (fit < curve.sizes.rows).then(|| {
            format!(
                "about {} of {} rows fit into max_heap_table_size={most} ({row} bytes each): the curve \
                 ends there as full",
                grouped(fit),
                grouped(curve.sizes.rows)
            )
        })
    }

    fn binary_log(&self, curve: &CurvePlan) -> Option<String> {
        if !self.on("log_bin") || self.care.skip_binlog {
            return None;
        }
        let format = self.variables.get("binlog_format").map_or("ROW", String::as_str);
        let bytes =
            logged_row_bytes(curve.cell.tables, format, curve.cell.key.storage()).saturating_mul(curve.sizes.rows);
        Some(format!(
            "the binary log grows by about {} (binlog_format={format}; an estimate for the default table)",
            human_bytes(bytes)
        ))
    }
}

impl Replicas {
    fn read(control: &mut Control, grants: Option<&Grants>) -> Self {
        let listed = control.named_rows("SHOW REPLICAS").or_else(|_| control.named_rows("SHOW SLAVE HOSTS"));
        let may_list = listed.is_ok();
        let mut seen: Vec<String> = listed
            .unwrap_or_default()
            .iter()
            .map(|row| match word(row, "host") {
                host if host.is_empty() => format!("server id {}", word(row, "server_id")),
                host => format!("{host}:{}", word(row, "port")),
            })
            .collect();
        if seen.is_empty() {
            // One that does not report itself still reads the log over a session.
            let sessions = control.named_rows("SHOW PROCESSLIST").unwrap_or_default();
            seen = sessions
                .iter()
                .filter(|row| word(row, "command").starts_with("Binlog Dump"))
                .map(|row| word(row, "host"))
                .collect();
        }
        let may_see = may_list || grants.is_none_or(|grants| grants.globally("PROCESS"));
        let privilege = match control.flavour {
            Flavour::MariaDb => "REPLICATION MASTER ADMIN or PROCESS",
            Flavour::MySql => "REPLICATION SLAVE or PROCESS",
        };
        Self { seen, hidden: (!may_see).then(|| privilege.to_owned()) }
    }
}

/// A variable of the cell that the engine table knows to count only when the server starts.
fn needs_restart<'a>(cell: &'a Cell, flavour: Flavour, version: &str) -> Option<&'a str> {
    let engine = &cell.engine_entry;
    let is_fixed = |cache: &CacheVariable| {
        let since = cache.dynamic_since.as_ref().map(|since| match flavour {
            Flavour::MariaDb => since.mariadb.as_str(),
            Flavour::MySql => since.mysql.as_str(),
        });
        !cache.dynamic || since.is_some_and(|since| version_numbers(version) < version_numbers(since))
    };
    let knob = engine.flush.as_ref().filter(|knob| !knob.dynamic && matches!(cell.flush, Flush::Level(_)));
    let cache = engine.cache.as_ref().filter(|cache| is_fixed(cache) && cell.cache_bytes.is_some());
    knob.map(|knob| knob.variable.as_str()).or(cache.map(|cache| cache.variable.as_str()))
}

/// `user@host` of CURRENT_USER(), quoted as GRANT wants it.
fn quoted_account(account: &str) -> String {
    let (user, host) = account.rsplit_once('@').unwrap_or((account, "%"));
    format!("'{}'@'{}'", user.replace('\'', "''"), host.replace('\'', "''"))
}

fn is_off(value: &str) -> bool {
    same_value(value, "OFF")
}

/// Bytes of a row of the default table in a MEMORY table, as the engine reckons: the record with its deletion mark,
/// rounded up to 8, and three words for each (hash) index.
fn memory_row_bytes(tables: BuiltIn, key: Option<Storage>) -> u64 {
    const HASH_ENTRY: u64 = 24;
    /// `mail` is VARCHAR(60) and takes its full width.
    const MAIL: u64 = 61;
    let key_bytes = match key {
        None => 8,
        Some(Storage::Char32) => 32,
        Some(Storage::Char36) => 36,
        Some(Storage::Binary16 | Storage::Native) => 16,
    };
    // The bits of NULL, the key, two numbers.
    let numbers = 1 + key_bytes + 4 + 4;
    let (record, indexes) = match (tables, key) {
        (BuiltIn::One, _) => (numbers + MAIL, 2),
        (BuiltIn::Pair, None) => (numbers, 2),
        (BuiltIn::Pair, Some(_)) => (numbers + MAIL, 1),
    };
    (record + 1_u64).next_multiple_of(8) + indexes * HASH_ENTRY
}

/// Bytes of a row of the default table in the binary log: of its image, or of the text of its statement.
fn logged_row_bytes(tables: BuiltIn, format: &str, key: Option<Storage>) -> u64 {
    let is_image = format.eq_ignore_ascii_case("row");
    // The table of `autoinc` had no address once; it has 32 bytes on average.
    let mail = match (tables, key) {
        (BuiltIn::Pair, None) => 0,
        _ if is_image => 34,
        _ => 35,
    };
    let (numbers, key) = match (is_image, key) {
        (true, None) => (10, 8),
        (true, Some(Storage::Native)) => (10, 16),
        (true, Some(storage)) => (10, 1 + storage.wire_bytes()),
        (false, None) => (24, 0),
        // Bytes are written as two digits each.
        (false, Some(Storage::Binary16)) => (24, 36),
        (false, Some(storage)) => (24, 3 + storage.wire_bytes()),
    };
    numbers + mail + key
}

/// Whether a key of its own stands in a CREATE TABLE template; servers may demand one.
fn has_primary_key(template: &str) -> bool {
    let words: Vec<String> = template
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_uppercase)
        .collect();
    words.windows(2).any(|pair| pair[0] == "PRIMARY" && pair[1] == "KEY")
}

/// What a server that demands primary keys says to a template without one.
fn key_demanded(engine: &Engine, template: &str, variables: &BTreeMap<String, String>) -> Option<String> {
    let demands = |name: &str| variables.get(name).is_some_and(|value| is_on(value));
    let by = if demands("sql_require_primary_key") {
        "sql_require_primary_key"
    } else if demands("innodb_force_primary_key") && engine.name.eq_ignore_ascii_case("innodb") {
        "innodb_force_primary_key"
    } else {
        return None;
    };
    (!has_primary_key(template)).then(|| {
        format!("{by} is ON: this server takes no table without a primary key; write PRIMARY KEY into the CREATE TABLE of --schema")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_primary_key_is_found_in_a_template_however_it_is_written() {
        assert!(has_primary_key("CREATE TABLE {table} (id INT\nprimary   key)"));
        assert!(has_primary_key("CREATE TABLE {table} (id INT, PRIMARY KEY(id))"));
        assert!(!has_primary_key("CREATE TABLE {table} (id INT, KEY (id)) -- no primary"));
    }

    #[test]
    fn a_cache_is_fixed_on_servers_before_it_could_be_set() {
        let words: Vec<String> = [
            "rowcliff",
            "run",
            "--target",
            "mysql://me@h/d",
            "--rows",
            "1M",
            "--key",
            "autoinc",
            "--engine",
            "innodb,aria,rocksdb",
            "--cache",
            "64M",
        ]
        .map(str::to_owned)
        .to_vec();
        let cli = <crate::cli::Cli as clap::Parser>::try_parse_from(&words).unwrap();
        let crate::cli::Command::Run(args) = cli.command else { panic!("run was typed") };
        let curves = crate::plan::of_args(&args, None).unwrap().plan.curves;
        let fixed = |at: usize, flavour, version| needs_restart(&curves[at].cell, flavour, version);
        for version in ["5.1.38", "5.5.20-log", "5.6.51", "5.7.4-m14"] {
            assert_eq!(fixed(0, Flavour::MySql, version), Some("innodb_buffer_pool_size"), "{version}");
        }
        for (flavour, version) in [
            (Flavour::MySql, "5.7.5-m15"),
            (Flavour::MySql, "9.7.0"),
            (Flavour::MariaDb, "10.2.2-MariaDB"),
            (Flavour::MariaDb, "11.4.1-MariaDB"),
        ] {
            assert_eq!(fixed(0, flavour, version), None, "{version}");
            assert_eq!(fixed(1, flavour, version), Some("aria_pagecache_buffer_size"));
            assert_eq!(fixed(2, flavour, version), None);
        }
        assert_eq!(fixed(0, Flavour::MariaDb, "10.1.48-MariaDB"), Some("innodb_buffer_pool_size"));
    }

    #[test]
    fn accounts_are_quoted_for_grant() {
        assert_eq!(quoted_account("me@10.0.0.%"), "'me'@'10.0.0.%'");
        assert_eq!(quoted_account("o'x@h"), "'o''x'@'h'");
    }

    #[test]
    fn rows_of_memory_tables_are_reckoned_as_the_engine_does() {
        assert_eq!(memory_row_bytes(BuiltIn::Pair, None), 24 + 48);
        assert_eq!(memory_row_bytes(BuiltIn::Pair, Some(Storage::Char32)), 104 + 24);
        assert_eq!(memory_row_bytes(BuiltIn::Pair, Some(Storage::Binary16)), 88 + 24);
        assert_eq!(memory_row_bytes(BuiltIn::One, None), 80 + 48);
        assert_eq!(memory_row_bytes(BuiltIn::One, Some(Storage::Binary16)), 88 + 48);
    }
}
