//! `own`: the key of a table of one's own, filled as its columns say.

use super::{Family, FamilyEntry};

/// The registry line of `own`.
pub const ENTRY: FamilyEntry = FamilyEntry {
    family: Family::Own,
    name: "own",
    summary: "the key that a table of your own has (--schema)",
    build: None,
};
