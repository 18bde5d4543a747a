//! What limits statements and transactions of a table, from the variables of its server.

use std::collections::BTreeMap;

use super::is_on;
use crate::engine::Engine;
use crate::targets::Limits;

/// Variables that limit a transaction; they are read with the table's facts.
pub const LIMIT_VARIABLES: &[&str] = &[
    "max_binlog_cache_size",
    "max_binlog_stmt_cache_size",
    "rocksdb_max_row_locks",
    "rocksdb_write_batch_max_bytes",
    "wsrep_on",
    "wsrep_max_ws_rows",
    "wsrep_max_ws_size",
];

/// Locks that MyRocks counts for a row: seen on MariaDB 10.11, 2 with a primary key, and one more for each further unique
/// key, of which a user's table may have some.
const ROW_LOCKS: (u64, u64) = (2, 4);

/// What the server says limits a table of `engine`. `logged` is whether the session writes the binary log, `own` whether
/// the table is one of the built-in ones.
pub fn limits(engine: &Engine, variables: &BTreeMap<String, String>, logged: bool, own: bool) -> Limits {
    let number = |name: &str| variables.get(name).and_then(|value| value.parse::<u64>().ok()).filter(|&most| most > 0);
    let mut limits = Limits {
        statement_bytes: number("max_allowed_packet").unwrap_or(1 << 20),
        placeholders: 65_535,
        transactional: engine.can.transactions,
        keeps_rows: engine.can.keeps_rows,
        ..Limits::default()
    };
    let mut rows = |name: &'static str, counted: u64| {
        let most = number(name).map(|most| (most / counted).max(1));
        if let Some(most) = most.filter(|&most| most < limits.transaction_rows) {
            (limits.transaction_rows, limits.transaction_rows_by) = (most, name);
        }
    };
    // What is counted is not what is sent: keys, row headers and both images of a row come on top. Half is safe.
    let mut bytes = Vec::new();
    if engine.name.eq_ignore_ascii_case("rocksdb") {
        rows("rocksdb_max_row_locks", if own { ROW_LOCKS.0 } else { ROW_LOCKS.1 });
        bytes.push("rocksdb_write_batch_max_bytes");
    }
    if variables.get("wsrep_on").is_some_and(|value| is_on(value)) {
        rows("wsrep_max_ws_rows", 1);
        bytes.push("wsrep_max_ws_size");
    }
    if logged {
        bytes.push(if engine.can.transactions { "max_binlog_cache_size" } else { "max_binlog_stmt_cache_size" });
    }
    for name in bytes {
        if let Some(most) = number(name).map(|most| most / 2).filter(|&most| most < limits.transaction_bytes) {
            (limits.transaction_bytes, limits.transaction_bytes_by) = (most, name);
        }
    }
    limits
}

/// The narrower of two servers' limits: what both take.
pub fn narrower(one: Limits, other: Limits) -> Limits {
    let rows = if other.transaction_rows < one.transaction_rows { other } else { one };
    let bytes = if other.transaction_bytes < one.transaction_bytes { other } else { one };
    Limits {
        statement_bytes: one.statement_bytes.min(other.statement_bytes),
        placeholders: one.placeholders.min(other.placeholders),
        transaction_rows: rows.transaction_rows,
        transaction_rows_by: rows.transaction_rows_by,
        transaction_bytes: bytes.transaction_bytes,
        transaction_bytes_by: bytes.transaction_bytes_by,
        transactional: one.transactional && other.transactional,
        keeps_rows: one.keeps_rows && other.keeps_rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineTable;

    fn of(engine: &str, logged: bool, variables: &[(&str, &str)]) -> Limits {
        let (_, engine) = EngineTable::built_in().resolve(engine);
        let variables = variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        limits(&engine, &variables, logged, true)
    }

    #[test]
    fn galera_limits_a_transaction_in_rows_and_bytes() {
        let galera = [("wsrep_on", "ON"), ("wsrep_max_ws_rows", "5000"), ("wsrep_max_ws_size", "1048576")];
        let found = of("innodb", false, &galera);
        assert_eq!((found.transaction_rows, found.transaction_rows_by), (5000, "wsrep_max_ws_rows"));
        assert_eq!((found.transaction_bytes, found.transaction_bytes_by), (1 << 19, "wsrep_max_ws_size"));
        let off = [("wsrep_on", "OFF"), ("wsrep_max_ws_rows", "5000"), ("wsrep_max_ws_size", "1048576")];
        assert_eq!(of("innodb", false, &off).transaction_rows, u64::MAX);
        // 0 is no limit.
        assert_eq!(of("innodb", false, &[("wsrep_on", "ON"), ("wsrep_max_ws_rows", "0")]).transaction_rows, u64::MAX);
    }

    #[test]
    fn of_two_servers_the_narrower_limits_count_each_with_its_variable() {
        let galera = |rows: &'static str, bytes: &'static str| {
            of("innodb", false, &[("wsrep_on", "ON"), ("wsrep_max_ws_rows", rows), ("wsrep_max_ws_size", bytes)])
        };
        let both = narrower(galera("5000", "1000"), galera("0", "500"));
        assert_eq!((both.transaction_rows, both.transaction_rows_by), (5000, "wsrep_max_ws_rows"));
        assert_eq!((both.transaction_bytes, both.transaction_bytes_by), (250, "wsrep_max_ws_size"));
    }

    #[test]
    fn row_locks_limit_myrocks_and_the_log_cache_whatever_is_logged() {
        let variables = [("rocksdb_max_row_locks", "1000"), ("max_binlog_cache_size", "1000000")];
        assert_eq!(of("rocksdb", true, &variables).transaction_rows, 500);
        assert_eq!(of("innodb", true, &variables).transaction_rows, u64::MAX);
        assert_eq!(of("innodb", true, &variables).transaction_bytes, 500_000);
        assert_eq!(of("innodb", false, &variables).transaction_bytes, u64::MAX);
    }
}
