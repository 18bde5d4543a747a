//! What a session sends.

use std::ops::Range;
use std::sync::Arc;

use crate::rows::Value;

/// The rows of one statement, ready to be sent.
#[derive(Debug)]
pub struct Statement {
    /// Which rows.
    pub rows: Range<u64>,
    pub body: Body,
}

/// What a session sends. Bodies that the driver consumes are empty afterwards ([`Body::is_spent`]).
#[derive(Debug)]
pub enum Body {
    /// SQL text with the values in it.
    Text(String),
    /// A prepared statement and its values, for SQLite.
    Values {
        sql: Arc<str>,
        /// Row after row.
        values: Vec<Value>,
    },
    /// A prepared statement and its values, for servers.
    Params {
        sql: Arc<str>,
        /// Row after row.
        values: Vec<mysql::Value>,
    },
    /// A prepared statement of one row and the rows to run it with.
    Bulk {
        sql: Arc<str>,
        /// The rows.
        rows: Vec<Vec<mysql::Value>>,
    },
    /// LOAD DATA LOCAL and its file.
    File { sql: Arc<str>, bytes: Vec<u8> },
}

impl Body {
    /// Whether the driver has taken what was in it.
    pub fn is_spent(&self) -> bool {
        match self {
            Self::Text(sql) => sql.is_empty(),
            Self::Values { values, .. } => values.is_empty(),
            Self::Params { values, .. } => values.is_empty(),
            Self::Bulk { rows, .. } => rows.is_empty(),
            Self::File { bytes, .. } => bytes.is_empty(),
        }
    }
}

impl Body {
    /// Bytes that travel in portions, of which a session tells as they go; 0 for a body that goes as a whole.
    pub fn portioned_bytes(&self) -> u64 {
        match self {
            Self::File { bytes, .. } => bytes.len() as u64,
            _ => 0,
        }
    }
}
