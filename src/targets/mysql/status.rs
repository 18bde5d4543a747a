//! What a server counts: global status values and a few queries, over the control connection, between batches.
//!
//! Everything here is a reading of counters that the server keeps anyway (a few milliseconds with every status value). Nothing
//! opens a table or walks a list of pages.

use std::collections::BTreeMap;

use super::control::{Control, Flavour, escape};
use super::settle;
use crate::engine::{Counters, Pending};
use crate::plan::counters::CounterChoice;
use crate::targets::reading::{Figure, Reading};

/// What a server counts whatever the engine. MariaDB counts the bytes of its binary log; MySQL only lists the files.
const OF_SERVERS: &[&str] = &["binlog_bytes_written"];

/// Ends of the names of status values that go up and down, for `--counters all`, where nobody has looked at each. A value
/// that is not named here and goes down is recorded as empty.
const LEVEL_ENDS: &[&str] = &[
    "_pages_data",
    "_pages_dirty",
    "_pages_free",
    "_pages_misc",
    "_pages_old",
    "_pages_total",
    "_bytes_data",
    "_bytes_dirty",
    "_blocks_used",
    "_blocks_unused",
    "_blocks_not_flushed",
    "_blocks_warm",
    "_page_size",
    "_segment_size",
    "_free_list",
    "_ibuf_size",
    "_checkpoint_age",
    "_checkpoint_max_age",
    "_history_list_length",
    "_current_waits",
    "_time_avg",
    "_time_max",
    "_wait_time",
    "_pending_fsyncs",
    "_pending_reads",
    "_pending_writes",
    "_logical_size",
    "_physical_size",
    "_capacity_resized",
    "_num_open_files",
    "_memtable_total",
    "_memtable_unflushed",
    "_cache_usage",
    "_row_lock_time_max",
    "_items_count",
    "_instances",
];

/// The same, as whole names.
const LEVEL_NAMES: &[&str] = &[
    "max_memory_used",
    "max_used_connections",
    "memory_used",
    "memory_used_initial",
    "open_files",
    "open_streams",
    "open_table_definitions",
    "open_tables",
    "prepared_stmt_count",
    "qcache_free_blocks",
    "qcache_free_memory",
    "qcache_queries_in_cache",
    "qcache_total_blocks",
    "replica_open_temp_tables",
    "slave_open_temp_tables",
    "slaves_connected",
    "ssl_session_cache_size",
    "ssl_used_session_cache_entries",
    "threads_cached",
    "threads_connected",
    "threads_running",
    "innodb_master_thread_idle_loops_pending",
    "innodb_undo_tablespaces_total",
    "innodb_undo_tablespaces_active",
    "tc_log_max_pages_used",
    "ongoing_anonymous_transaction_count",
];

/// Reads what the engine counts, and the server. What cannot be read is left out: a load does not fail for a counter.
pub fn read(control: &mut Control, engine: &Counters, choice: CounterChoice, logged: bool) -> Reading {
    let mut reading = Reading::new();
    if choice == CounterChoice::None {
        return reading;
    }
    let levels: Vec<String> = engine.levels.iter().map(|name| name.to_ascii_lowercase()).collect();
    let is_named = |name: &str, list: &[String]| list.iter().any(|known| known.eq_ignore_ascii_case(name));
    for (name, value) in status(control, engine, choice) {
        let level = is_named(&name, &levels) || !is_named(&name, &engine.totals) && is_level(&name);
        reading.insert(name, if level { Figure::Level(value) } else { Figure::Total(value) });
    }
    for query in &engine.queries {
        let asked =
            Pending { what: String::new(), query: query.query.clone(), flavour: query.flavour.clone(), at_most: 0.0 };
        if settle::is_for(&asked, control.flavour)
            && let Some(value) = settle::left(control, &asked)
        {
            let figure = if query.level { Figure::Level(value) } else { Figure::Total(value) };
            reading.insert(query.name.to_ascii_lowercase(), figure);
        }
    }
    if !logged {
        reading.remove("binlog_bytes_written");
    } else if control.flavour == Flavour::MySql
        && let Some(bytes) = binlog_bytes(control)
    {
        reading.insert("binlog_bytes_written".into(), Figure::Total(bytes));
    }
    reading
}

/// Global status values that are numbers, by name in lower case.
fn status(control: &mut Control, engine: &Counters, choice: CounterChoice) -> BTreeMap<String, f64> {
    let mut sql = String::from("SHOW GLOBAL STATUS");
    if choice == CounterChoice::Default {
        let names = engine.totals.iter().chain(&engine.levels).map(String::as_str).chain(OF_SERVERS.iter().copied());
        let list: Vec<String> = names.map(|name| format!("'{}'", escape(name))).collect();
        sql.push_str(&format!(" WHERE Variable_name IN ({})", list.join(",")));
    }
    let rows: Vec<(String, Option<String>)> = control.rows(&sql).unwrap_or_default();
    rows.into_iter()
        .filter_map(|(name, value)| {
            let value = value?.trim().parse::<f64>().ok().filter(|value| value.is_finite())?;
            Some((name.to_ascii_lowercase(), value))
        })
        .collect()
}

fn is_level(name: &str) -> bool {
    LEVEL_NAMES.contains(&name) || LEVEL_ENDS.iter().any(|end| name.ends_with(end))
}

/// Bytes in the binary log's files. Less than before after a purge, which the caller takes for unknown.
fn binlog_bytes(control: &mut Control) -> Option<f64> {
    let files = control.named_rows("SHOW BINARY LOGS").ok()?;
    let sizes = files.iter().map(|file| file.get("file_size").cloned().flatten()?.parse::<f64>().ok());
    sizes.sum::<Option<f64>>().filter(|_| !files.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_told_from_totals_by_name() {
        for name in ["innodb_buffer_pool_pages_dirty", "key_blocks_unused", "threads_running", "innodb_checkpoint_age"]
        {
            assert!(is_level(name), "{name}");
        }
        for name in
            ["innodb_buffer_pool_reads", "innodb_pages_read", "key_reads", "uptime", "innodb_dblwr_pages_written"]
        {
            assert!(!is_level(name), "{name}");
        }
    }
}
