//! The load methods, by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// One multi-row INSERT text statement.
    Insert,
    /// One multi-row prepared statement.
    Prepared,
    Bulk,
    /// LOAD DATA LOCAL INFILE from memory.
    LoadData,
}

/// What help and listings say of a method.
#[derive(Debug, Clone, Copy)]
pub struct MethodEntry {
    pub method: Method,
    /// The word a user types.
    pub name: &'static str,
    pub summary: &'static str,
}

pub const METHODS: [MethodEntry; 4] = [
    MethodEntry { method: Method::Insert, name: "insert", summary: "one multi-row INSERT text statement" },
    MethodEntry { method: Method::Prepared, name: "prepared", summary: "one multi-row prepared statement" },
    MethodEntry { method: Method::Bulk, name: "bulk", summary: "MariaDB's bulk command, one packet a statement" },
    MethodEntry { method: Method::LoadData, name: "load-data", summary: "LOAD DATA LOCAL INFILE from memory" },
];

impl Method {
    /// The word a user types.
    pub fn name(self) -> &'static str {
        METHODS.iter().find(|entry| entry.method == self).map_or("?", |entry| entry.name)
    }

    /// Rows of one statement when nothing is asked for.
    pub fn default_statement_rows(self, batch_rows: u64, connections: u32) -> u64 {
        match self {
            Self::LoadData => statement_rows_of_files(batch_rows, connections),
            _ => 1000.min(batch_rows),
        }
    }

    /// Why SQLite cannot do it, if it cannot.
    pub fn unable(self, is_sqlite: bool) -> Option<String> {
        (is_sqlite && matches!(self, Self::Bulk | Self::LoadData))
            .then(|| format!("SQLite has no {self}; it takes insert and prepared"))
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known: Vec<&str> = METHODS.iter().map(|entry| entry.name).collect();
        METHODS
            .iter()
            .find(|entry| entry.name == text)
            .map(|entry| entry.method)
            .ok_or_else(|| format!("{text:?} is not a method; known are {}", known.join(", ")))
    }
}

/// Several statements for each connection, so that idle connections find work, and each as long as possible.
fn statement_rows_of_files(batch_rows: u64, connections: u32) -> u64 {
    (batch_rows / (8 * u64::from(connections.max(1)))).max(1)
}
