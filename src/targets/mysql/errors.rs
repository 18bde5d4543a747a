//! What a server's error means for a load, and what helps.

use std::io::ErrorKind;

use super::account;
use crate::targets::{Failure, FailureKind};

/// What is done about the codes that a load meets, with the next step where there is one.
const CODES: &[(u16, FailureKind, &str)] = &[
    (1205, FailureKind::Retry, ""),
    (1213, FailureKind::Retry, ""),
    (1021, FailureKind::Full, "the server's disk is full"),
    (
        1114,
        FailureKind::Full,
        "a MEMORY table ends at max_heap_table_size, other engines at the end of their disk or tablespace",
    ),
    (1038, FailureKind::Fatal, "raise sort_buffer_size at the server: rows are read back in the order of their key"),
    (
        1030,
        FailureKind::Fatal,
        "see the server's error log; an engine whose disk was full can refuse everything until the server is restarted",
    ),
    (1053, FailureKind::Lost, "the server is shutting down"),
    (2006, FailureKind::Lost, ""),
    (2013, FailureKind::Lost, ""),
    (1927, FailureKind::Lost, ""),
    (1317, FailureKind::Cancelled, ""),
    (
        1969,
        FailureKind::Fatal,
        "max_statement_time is set on this server; raise it, or give fewer rows with --statement-rows",
    ),
    (3024, FailureKind::Fatal, "max_execution_time is set on this server"),
    (1044, FailureKind::Fatal, "grant the user CREATE, DROP, SELECT, INSERT and DELETE on this database"),
    (
        1045,
        FailureKind::Fatal,
        "check user and password; a password comes from --password-file, ROWCLIFF_PASSWORD or MYSQL_PWD, an option file or the prompt",
    ),
    (1049, FailureKind::Fatal, "name a database that is there; rowcliff creates tables and no database"),
    (1142, FailureKind::Fatal, "grant the user CREATE, DROP, SELECT, INSERT and DELETE on this database"),
    (
        1698,
        FailureKind::Fatal,
        "this user logs in by another plugin (unix_socket or auth_socket): use a user with a password, or the system user of that name",
    ),
    (
        1153,
        FailureKind::Fatal,
        "the statement is larger than max_allowed_packet; give fewer rows with --statement-rows",
    ),
    (1167, FailureKind::Fatal, "AUTO_INCREMENT has reached the end of its type"),
    (1467, FailureKind::Fatal, "AUTO_INCREMENT has reached the end of its type, or the engine cannot give a value"),
    (167, FailureKind::Fatal, "AUTO_INCREMENT has reached the end of its type"),
    (1290, FailureKind::Fatal, "the server is read-only (a replica?): load its primary, or switch read_only off there"),
    (1792, FailureKind::Fatal, "the transaction is read-only: is this a replica?"),
    (1836, FailureKind::Fatal, "the server is read-only (innodb_read_only): load its primary"),
    (1286, FailureKind::Fatal, "this server has no such engine; `rowcliff engines --target ...` lists what it has"),
    (1227, FailureKind::Fatal, "the privilege named here is missing"),
    (1148, FailureKind::Fatal, "switch it on at the server: SET GLOBAL local_infile=1"),
    (3948, FailureKind::Fatal, "switch it on at the server: SET GLOBAL local_infile=1"),
    (4166, FailureKind::Fatal, "switch it on at the server: SET GLOBAL local_infile=1"),
    (
        1197,
        FailureKind::Fatal,
        "the transaction is larger than max_binlog_cache_size; give fewer rows with --commit-rows",
    ),
    (1031, FailureKind::Unable, ""),
    (1069, FailureKind::Unable, ""),
    (1071, FailureKind::Unable, ""),
    (1163, FailureKind::Unable, ""),
    (1178, FailureKind::Unable, ""),
    (3750, FailureKind::Fatal, "sql_require_primary_key is on: write PRIMARY KEY into the CREATE TABLE of --schema"),
    (1173, FailureKind::Fatal, "innodb_force_primary_key is on: write PRIMARY KEY into the CREATE TABLE of --schema"),
    (1503, FailureKind::Fatal, "take the partition column into the primary key of --schema, or use PARTITION BY KEY"),
    (
        1005,
        FailureKind::Fatal,
        "where it speaks of a foreign key: drop it from --schema for the measurement, or create the table it refers to",
    ),
    (
        1824,
        FailureKind::Fatal,
        "drop the foreign key from --schema for the measurement, or create the table it refers to",
    ),
    (
        3159,
        FailureKind::Fatal,
        "this server takes only encrypted connections (require_secure_transport): use --ssl-mode required",
    ),
    (
        1180,
        FailureKind::Fatal,
        "the COMMIT was refused; on Galera wsrep_max_ws_rows and wsrep_max_ws_size limit a transaction: give fewer rows with --commit-rows",
    ),
    (
        1296,
        FailureKind::Fatal,
        "on MyRocks rocksdb_max_row_locks limits the rows of a transaction: give fewer with --commit-rows",
    ),
    (3161, FailureKind::Fatal, "see disabled_storage_engines of this server"),
    (
        1062,
        FailureKind::Fatal,
        "the table holds this key already: was it loaded before, or is the key column too short?",
    ),
    (1040, FailureKind::Fatal, "max_connections is reached: give fewer with --connections"),
    (1203, FailureKind::Fatal, "max_user_connections is reached: give fewer with --connections"),
    (1226, FailureKind::Fatal, ""),
    (1461, FailureKind::Fatal, account::FEWER_PREPARED),
];

/// An error of the driver in words, without the name that the driver has for its kind.
pub fn cause(error: &mysql::Error) -> String {
    match error {
        mysql::Error::IoError(error) => error.to_string(),
        mysql::Error::CodecError(error) => error.to_string(),
        mysql::Error::MySqlError(error) => error.to_string(),
        mysql::Error::DriverError(error) => error.to_string(),
        mysql::Error::UrlError(error) => error.to_string(),
        mysql::Error::TlsError(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// What an error of the driver means.
pub fn failure(error: mysql::Error) -> Failure {
    match error {
        mysql::Error::MySqlError(server) => {
            let known = CODES.iter().find(|(code, ..)| *code == server.code);
            let kind = known.map_or(FailureKind::Fatal, |(_, kind, _)| *kind);
            let next = known.map_or("", |(.., next)| *next);
            let mut message = server.message;
            // Galera answers with the code for everything else.
            if server.code == 1105
                && ["wsrep", "writeset", "write set"].iter().any(|word| message.to_lowercase().contains(word))
            {
                message.push_str(
                    " (wsrep_max_ws_rows and wsrep_max_ws_size limit a transaction: give fewer rows with --commit-rows)",
                );
            }
            // The code names an option, and only some of them are about reading.
            let is_memory = server.code == 1290 && message.contains("mem-used");
            let next = if is_memory { "raise max_session_mem_used there: it guards the server's memory" } else { next };
            // What a Galera node says to everything while it is outside its cluster or has not caught up.
            let is_outside = server.code == 1047 && message.contains("WSREP")
                || message.contains("Not connected to Primary Component");
            let kind = if is_outside { FailureKind::Lost } else { kind };
            let next = if is_outside { "this Galera node is outside its cluster" } else { next };
            let next = if server.code == 1226 { account::exceeded(&message) } else { next };
            if !next.is_empty() {
                message = format!("{message} ({next})");
            }
            Failure { kind, code: Some(i64::from(server.code)), message }
        }
        mysql::Error::IoError(error) if is_late(&error) => late(),
        mysql::Error::IoError(error) => lost(&error.to_string()),
        mysql::Error::CodecError(error) if error.to_string().contains("max_allowed_packet") => Failure::fatal(
            "a statement or a row is larger than max_allowed_packet of this server: raise it there, or give fewer rows with \
             --statement-rows",
        ),
        mysql::Error::CodecError(error)
            if std::error::Error::source(&error)
                .and_then(|cause| cause.downcast_ref::<std::io::Error>())
                .is_some_and(is_late) =>
        {
            late()
        }
        mysql::Error::CodecError(error) => lost(&error.to_string()),
        mysql::Error::DriverError(error) => {
            let message = error.to_string();
            // The driver reports a server that closed while a packet was awaited as its own error.
            if matches!(error, mysql::DriverError::Timeout | mysql::DriverError::PacketOutOfSync) {
                return lost(&message);
            }
            Failure { kind: FailureKind::Fatal, code: None, message }
        }
        other => Failure { kind: FailureKind::Fatal, code: None, message: cause(&other) },
    }
}

fn is_late(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn late() -> Failure {
    let message = "the server did not answer in time; is it stopped or overloaded?".into();
    Failure { kind: FailureKind::Lost, code: None, message }
}

/// Who cut a connection is not known at the client's end: it is one of these.
fn lost(cause: &str) -> Failure {
    let message = format!(
        "the connection to the server was lost: {cause} (the server ended it, or a proxy or balancer in between did, which cut what is \
         idle or has been open for long)"
    );
    Failure { kind: FailureKind::Lost, code: None, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_bears_the_driver_s_name_of_an_error() {
        let refused = || std::io::Error::new(std::io::ErrorKind::ConnectionRefused, "Connection refused");
        let address =
            ("127.0.0.1:1".to_owned(), "Connection refused".to_owned(), std::io::ErrorKind::ConnectionRefused);
        let server = mysql::error::MySqlError { state: "HY000".into(), message: "no".into(), code: 1 };
        for error in [
            mysql::Error::IoError(refused()),
            mysql::Error::MySqlError(server),
            mysql::Error::DriverError(mysql::DriverError::CouldNotConnect(Some(address))),
            mysql::Error::DriverError(mysql::DriverError::UnexpectedPacket),
            mysql::Error::UrlError(mysql::UrlError::UnknownParameter("x".into())),
        ] {
            for words in [cause(&error), failure(error).to_string()] {
                assert!(!words.contains("Error {") && !words.is_empty(), "{words}");
            }
        }
    }

    #[test]
    fn a_connection_that_was_cut_names_a_proxy_and_no_error_log() {
        for kind in [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe, ErrorKind::UnexpectedEof] {
            let failure = failure(mysql::Error::IoError(std::io::Error::from(kind)));
            assert_eq!(failure.kind, FailureKind::Lost);
            assert!(failure.message.contains("a proxy or balancer"), "{failure}");
            assert!(!failure.message.contains("error log"), "{failure}");
        }
        // A server that gave no answer in time was not cut off.
        let late = failure(mysql::Error::IoError(std::io::Error::from(ErrorKind::TimedOut)));
        assert!(!late.message.contains("proxy"), "{late}");
    }

    #[test]
    fn no_code_stands_in_the_table_twice() {
        let mut codes: Vec<u16> = CODES.iter().map(|(code, ..)| *code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), CODES.len());
    }
}
