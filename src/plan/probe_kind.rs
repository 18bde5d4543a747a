//! The probes, by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Selects by key of one transaction.
pub const POINT_SELECTS: u64 = 10;
/// Ranges of one transaction: simple, sum, order, distinct.
pub const RANGES: u64 = 4;
/// Rows that one transaction reads.
pub const TRANSACTION_READS: u64 = POINT_SELECTS + RANGES;
/// Rows that one transaction changes: two are updated, one is deleted and inserted again.
pub const TRANSACTION_CHANGES: u64 = 3;

/// A short read or write load that runs between batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeKind {
    /// One row by primary key, every column read and checked.
    SelectPk,
    /// The same by a secondary index.
    SelectSecondary,
    /// 100 rows in the order of the primary key.
    RangePk,
    /// One row by primary key through HANDLER ... READ.
    HandlerPk,
    /// One column of one row changed, found by primary key.
    UpdatePk,
    /// The same, found by a secondary index.
    UpdateSecondary,
    /// One row inserted: the write load of mysqlslap.
    Insert,
    /// Inserts and selects by primary key, half and half: the mixed load of mysqlslap.
    Mixed,
    /// The transaction of sysbench's OLTP read-write test.
    Oltp,
}

impl ProbeKind {
    /// Every probe.
    pub const ALL: [Self; 9] = [
        Self::SelectPk,
        Self::SelectSecondary,
        Self::RangePk,
        Self::HandlerPk,
        Self::UpdatePk,
        Self::UpdateSecondary,
        Self::Insert,
        Self::Mixed,
        Self::Oltp,
    ];

    /// The word a user types.
    pub fn word(self) -> &'static str {
        match self {
            Self::SelectPk => "select-pk",
            Self::SelectSecondary => "select-secondary",
            Self::RangePk => "range-pk",
            Self::HandlerPk => "handler-pk",
            Self::UpdatePk => "update-pk",
            Self::UpdateSecondary => "update-secondary",
            Self::Insert => "insert",
            Self::Mixed => "mixed",
            Self::Oltp => "oltp",
        }
    }

    /// What mysqlslap calls the load (`--auto-generate-sql-load-type`); itself where it has none.
    pub fn slap_word(self) -> &'static str {
        match self {
            Self::SelectPk => "key",
            Self::UpdatePk => "update",
            Self::Insert => "write",
            other => other.word(),
        }
    }

    /// Whether it changes rows, and needs them put back.
    pub fn updates(self) -> bool {
        matches!(self, Self::UpdatePk | Self::UpdateSecondary | Self::Oltp)
    }

    /// Rows that one operation changes, at most.
    pub fn changes(self) -> u64 {
        if self == Self::Oltp { TRANSACTION_CHANGES } else { 1 }
    }

    /// Rows that one operation reads.
    pub fn reads(self) -> u64 {
        if self == Self::Oltp { TRANSACTION_READS } else { 1 }
    }

    /// Whether it adds rows, and needs them removed.
    pub fn inserts(self) -> bool {
        matches!(self, Self::Insert | Self::Mixed)
    }
}

impl fmt::Display for ProbeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for ProbeKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|probe| probe.word() == text).ok_or_else(|| {
            let words: Vec<&str> = Self::ALL.into_iter().map(Self::word).collect();
            format!("{text:?} is no probe; there are {}", words.join(", "))
        })
    }
}
