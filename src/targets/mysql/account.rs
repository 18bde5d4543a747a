//! What an account may do in an hour, and how many prepared statements a server keeps: known before the first batch, and
//! compared with what a curve will send.

use super::control::{Control, named_global_status};
use crate::plan::method::Method;
use crate::plan::{CurvePlan, Sizes};
use crate::targets::Failure;
use crate::units::grouped;

/// Statements that a curve sends beside those of its load, at the least: log-in, trial, reading back. Seen on MariaDB 10.11 and
/// MySQL 9.7 with one connection: 100, and 209 where the statements of the trial count as well.
const STATEMENTS_BESIDE: u64 = 90;
/// The same for each loading connection.
const STATEMENTS_OF_LOG_IN: u64 = 6;
/// Connections that a curve makes one after the other beside the loading ones: control, trial, reading back. Seen: 8.
const CONNECTIONS_BESIDE: u64 = 5;

/// What an account may do in an hour; `None` for as much as it likes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HourlyLimits {
    /// Statements of any kind.
    pub queries: Option<u64>,
    /// Statements that change something.
    pub updates: Option<u64>,
    pub connections: Option<u64>,
}

impl HourlyLimits {
    /// Reads those of the account that is logged in, as far as the server tells. Nothing of the answer is kept but the numbers: it
    /// holds the hash of the password.
    pub fn read(control: &mut Control) -> Self {
        // MariaDB before 10.2 and MySQL before 5.7 tell them with the grants.
        let told = ["SHOW CREATE USER CURRENT_USER()", "SHOW GRANTS FOR CURRENT_USER()"];
        let limits = told.iter().map(|sql| Self::parse(&control.rows::<String>(sql).unwrap_or_default().join("\n")));
        limits.into_iter().find(|limits| *limits != Self::default()).unwrap_or_default()
    }

    fn parse(text: &str) -> Self {
        let plain = without_quoted(text);
        let words: Vec<&str> = plain.split_whitespace().collect();
        let after = |word: &str| {
            let at = words.iter().position(|known| known.eq_ignore_ascii_case(word))?;
            words.get(at + 1)?.parse::<u64>().ok().filter(|&limit| limit > 0)
        };
        Self {
            queries: after("MAX_QUERIES_PER_HOUR"),
            updates: after("MAX_UPDATES_PER_HOUR"),
            connections: after("MAX_CONNECTIONS_PER_HOUR"),
        }
    }

    /// Why a curve is not begun with them: it would end in the middle. `user` is the account, `servers` share the load.
    pub fn refuse(&self, curve: &CurvePlan, user: &str, servers: u64) -> Option<String> {
        let loading = text_statements(curve.cell.method, curve.sizes).div_ceil(servers.max(1));
        let sessions = u64::from(curve.cell.sessions()).div_ceil(servers.max(1));
        let all = loading + STATEMENTS_BESIDE + STATEMENTS_OF_LOG_IN * sessions;
        let too_many = |name: &str, limit: u64, needed: u64, what: &str, help: &str| {
            let (needed, limit) = (grouped(needed), grouped(limit));
            format!("{name}={limit} of user {user}: this curve takes at least {needed} {what}; {help}")
        };
        if let Some(limit) = self.queries.filter(|&limit| all > limit) {
            return Some(too_many("max_queries_per_hour", limit, all, "statements", FEWER_STATEMENTS));
        }
        if let Some(limit) = self.updates.filter(|&limit| loading > limit) {
            return Some(too_many("max_updates_per_hour", limit, loading, "statements that insert", FEWER_STATEMENTS));
        }
        let connections = sessions + CONNECTIONS_BESIDE;
        let limit = self.connections.filter(|&limit| connections > limit)?;
        Some(too_many("max_connections_per_hour", limit, connections, "log-ins", FEWER_LOG_INS))
    }

    /// What a reader should know of a curve that is begun.
    pub fn note(&self, curve: &CurvePlan) -> Option<String> {
        let loading = text_statements(curve.cell.method, curve.sizes);
        let limit = self.queries.into_iter().chain(self.updates).min().filter(|_| loading > 0)?;
        Some(format!(
            "the load of this curve takes {} of the {} statements that this user may send in an hour, which all curves of the \
             hour share",
            grouped(loading),
            grouped(limit)
        ))
    }
}

/// A text without what stands in quotes: names and hashes may hold any word.
fn without_quoted(text: &str) -> String {
    let mut quote = None;
    let mut plain = String::new();
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '`' | '"') => quote = Some(c),
            None => plain.push(c),
        }
    }
    plain
}

/// What helps against a limit on statements.
pub const FEWER_STATEMENTS: &str = "send fewer and larger statements with --statement-rows, use --method load-data or prepared, or \
                                    another account; ALTER USER ... WITH MAX_QUERIES_PER_HOUR 0 MAX_UPDATES_PER_HOUR 0 lifts it";
/// What helps against a limit on log-ins.
pub const FEWER_LOG_INS: &str = "give fewer --connections or fewer curves in one run, or use another account; ALTER USER ... WITH \
                                 MAX_CONNECTIONS_PER_HOUR 0 lifts it";
/// What helps against the limit on prepared statements.
pub const FEWER_PREPARED: &str = "raise max_prepared_stmt_count at the server, or give fewer --connections (--probe-connections), or \
                                  --method insert or load-data, which prepare none";

/// Statements of a load that count against an hourly limit: those that are sent as text. Executions of prepared statements are not
/// counted (seen on MariaDB 10.11 and MySQL 9.7).
fn text_statements(method: Method, sizes: Sizes) -> u64 {
    let (statements, transactions) = of_batch(sizes);
    let begins = if sizes.commit_rows > sizes.statement_rows { 2 * transactions } else { 0 };
    let rows = if matches!(method, Method::Prepared | Method::Bulk) { 0 } else { statements };
    (rows + begins) * sizes.batches()
}

/// Statements and transactions of a batch.
fn of_batch(sizes: Sizes) -> (u64, u64) {
    let (whole, rest) = (sizes.batch_rows / sizes.commit_rows.max(1), sizes.batch_rows % sizes.commit_rows.max(1));
    let in_rows = |rows: u64| rows.div_ceil(sizes.statement_rows.max(1));
    (whole * in_rows(sizes.commit_rows) + in_rows(rest), whole + u64::from(rest > 0))
}

/// Prepared statements that a loading connection keeps: one for each number of rows that a statement has.
fn kept(method: Method, sizes: Sizes) -> u64 {
    match method {
        Method::Insert | Method::LoadData => 0,
        Method::Bulk => 1,
        Method::Prepared => {
            let statement = sizes.statement_rows.max(1);
            let rest = sizes.batch_rows % sizes.commit_rows.max(1);
            let mut rows = vec![sizes.commit_rows % statement, rest % statement];
            if sizes.commit_rows.min(sizes.batch_rows) >= statement || rest >= statement {
                rows.push(statement);
            }
            rows.retain(|&rows| rows > 0);
            rows.sort_unstable();
            rows.dedup();
            rows.len() as u64
        }
    }
}

/// Why the server keeps too few prepared statements for a curve. `limit` is `max_prepared_stmt_count`, `used` what others have.
pub fn too_few_prepared(curve: &CurvePlan, limit: u64, used: u64, servers: u64) -> Option<String> {
    let cell = &curve.cell;
    let loading = u64::from(cell.connections) * kept(cell.method, curve.sizes);
    // The statements of the load stay while probes have theirs. Rows are read back by one at a time.
    let needed = (loading + u64::from(cell.probe_connections)).div_ceil(servers.max(1)).max(1);
    (needed + used > limit).then(|| {
        let others = if used > 0 { format!(" of which {} are in use", grouped(used)) } else { String::new() };
        let what = match (loading, cell.probe_connections) {
            (0, 0) => "reading rows back takes 1".to_owned(),
            _ => format!("{} connections take {}", cell.sessions(), grouped(needed)),
        };
        format!("max_prepared_stmt_count={limit} on this server,{others} and {what}: {FEWER_PREPARED}")
    })
}

/// The same, asked now: what was set for the cell is in force.
///
/// # Errors
/// They are too few.
pub fn prepared_statements_fit(control: &mut Control, curve: &CurvePlan) -> Result<(), Failure> {
    let limit = control.variable("max_prepared_stmt_count")?.and_then(|value| value.parse().ok());
    let used = named_global_status(control, "Prepared_stmt_count").unwrap_or(0);
    // Endpoints that share the connections have been looked at one by one.
    let servers = 1 + control.endpoints_elsewhere();
    match limit.and_then(|limit| too_few_prepared(curve, limit, used, servers)) {
        Some(why) => Err(Failure::fatal(why)),
        None => Ok(()),
    }
}

/// What to do about error 1226, by the resource that it names.
pub fn exceeded(message: &str) -> &'static str {
    let names = |word: &str| message.contains(word);
    if names("max_queries_per_hour") || names("max_questions") || names("max_updates") {
        FEWER_STATEMENTS
    } else if names("max_connections_per_hour") {
        FEWER_LOG_INS
    } else {
        "a limit of this user is reached: give fewer connections with --connections"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(batch_rows: u64, commit_rows: u64, statement_rows: u64) -> Sizes {
        Sizes { rows: 2 * batch_rows, batch_rows, statement_rows, commit_rows }
    }

    #[test]
    fn limits_are_read_from_what_both_servers_print_and_from_old_grants() {
        let mariadb = "CREATE USER `u`@`localhost` IDENTIFIED BY PASSWORD '*A MAX_QUERIES_PER_HOUR 1' WITH MAX_QUERIES_PER_HOUR 150 MAX_CONNECTIONS_PER_HOUR 7";
        assert_eq!(
            HourlyLimits::parse(mariadb),
            HourlyLimits { queries: Some(150), updates: None, connections: Some(7) }
        );
        let mysql = "CREATE USER `u`@`localhost` IDENTIFIED WITH 'caching_sha2_password' REQUIRE NONE WITH MAX_UPDATES_PER_HOUR 5 PASSWORD EXPIRE DEFAULT ATTRIBUTE '{}'";
        assert_eq!(HourlyLimits::parse(mysql).updates, Some(5));
        let old = "GRANT USAGE ON *.* TO 'u'@'localhost' WITH MAX_QUERIES_PER_HOUR 20";
        assert_eq!(HourlyLimits::parse(old).queries, Some(20));
        assert_eq!(HourlyLimits::parse("CREATE USER `MAX_QUERIES_PER_HOUR 3`@`%`"), HourlyLimits::default());
    }

    #[test]
    fn statements_are_counted_as_the_load_sends_them() {
        // 10 statements of 100 rows in each of 2 batches, each a transaction of its own.
        assert_eq!(text_statements(Method::Insert, sizes(1000, 100, 100)), 20);
        // Transactions of 300 rows: 3+3+3+1 statements and four pairs of BEGIN and COMMIT.
        assert_eq!(text_statements(Method::Insert, sizes(1000, 300, 100)), 2 * (10 + 8));
        assert_eq!(text_statements(Method::Prepared, sizes(1000, 300, 100)), 2 * 8);
        assert_eq!(text_statements(Method::Bulk, sizes(1000, 100, 100)), 0);
        assert_eq!(text_statements(Method::LoadData, sizes(1000, 250, 250)), 8);
    }

    #[test]
    fn prepared_statements_are_as_many_as_there_are_numbers_of_rows() {
        assert_eq!(kept(Method::Prepared, sizes(1000, 100, 100)), 1);
        assert_eq!(kept(Method::Prepared, sizes(1000, 250, 100)), 2);
        // 250: 100, 100, 50; and the last of a batch: 30.
        assert_eq!(kept(Method::Prepared, sizes(1030, 250, 100)), 3);
        assert_eq!(kept(Method::Prepared, sizes(50, 100, 100)), 1);
        assert_eq!((kept(Method::Bulk, sizes(9, 9, 9)), kept(Method::Insert, sizes(9, 9, 9))), (1, 0));
    }

    #[test]
    fn the_resource_of_error_1226_decides_the_advice() {
        let said =
            |resource: &str| exceeded(&format!("User 'u' has exceeded the '{resource}' resource (current value: 1)"));
        for resource in ["max_queries_per_hour", "max_questions", "max_updates_per_hour", "max_updates"] {
            assert_eq!(said(resource), FEWER_STATEMENTS);
        }
        assert_eq!(said("max_connections_per_hour"), FEWER_LOG_INS);
        assert!(said("max_user_connections").contains("--connections"));
    }
}
