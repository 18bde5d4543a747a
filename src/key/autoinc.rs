//! `autoinc`: the server gives the key, so there is nothing to generate.

use super::{Family, FamilyEntry};

/// The registry line of `autoinc`.
pub const ENTRY: FamilyEntry = FamilyEntry {
    family: Family::Autoinc,
    name: "autoinc",
    summary: "the server counts (AUTO_INCREMENT; SQLite: the rowid)",
    build: None,
};
