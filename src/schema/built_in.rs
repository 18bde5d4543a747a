//! The tables that a run loads unless `--schema` names another one.

use serde::{Deserialize, Serialize};

use crate::key::{Key, Storage};

use super::Dialect;

/// What an engine needs to have different in the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    #[default]
    Standard,
    /// No index beside the key (ARCHIVE).
    NoIndex,
    /// No TEXT (MEMORY).
    Varchar,
}

/// Which tables stand where no schema is named. A run keeps those that it was begun with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BuiltIn {
    /// The two tables of the PBXT post, one for `autoinc` and another one for UUIDs. Records made then name no tables.
    #[default]
    Pair,
    /// One table for every key.
    One,
}

impl BuiltIn {
    /// The storage of a UUID key whose word names none.
    pub fn default_storage(self) -> Storage {
        match self {
            Self::Pair => Storage::Char32,
            Self::One => Storage::Binary16,
        }
    }
}

/// The keys that a template is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    Any,
    /// `autoinc` alone.
    Autoinc,
    Uuid,
}

impl KeyKind {
    /// Whether a key is one of them.
    pub fn takes(self, key: Key) -> bool {
        match self {
            Self::Any => true,
            Self::Autoinc => key.is_autoinc(),
            Self::Uuid => key.family().is_uuid(),
        }
    }
}

/// One file of `schemas/`.
#[derive(Debug, Clone, Copy)]
pub struct Template {
    /// To which tables it belongs.
    pub tables: BuiltIn,
    /// Whose SQL it is.
    pub dialect: Dialect,
    /// The keys it is for.
    pub keys: KeyKind,
    /// What it is for.
    pub variant: Variant,
    /// Its path in the source tree.
    pub file: &'static str,
    /// What differs from the standard table, to be printed and recorded; empty for the standard one.
    pub difference: &'static str,
    pub text: &'static str,
}

/// A template with its text, as one line of the registry.
macro_rules! file {
    ($tables:ident, $dialect:ident, $keys:ident, $variant:ident, $file:literal, $difference:literal) => {
        Template {
            tables: BuiltIn::$tables,
            dialect: Dialect::$dialect,
            keys: KeyKind::$keys,
            variant: Variant::$variant,
            file: concat!("schemas/", $file),
            difference: $difference,
            text: include_str!(concat!("../../schemas/", $file)),
        }
    };
}

/// Every template that comes with rowcliff, those of `--schema` by name aside.
pub const TEMPLATES: [Template; 11] = [
    file!(One, Mysql, Any, Standard, "mysql/default.sql", ""),
    file!(One, Mysql, Any, NoIndex, "mysql/default-noindex.sql", "id2 has no index"),
    file!(One, Mysql, Any, Varchar, "mysql/default-varchar.sql", "mail is VARCHAR(60)"),
    file!(One, Sqlite, Autoinc, Standard, "sqlite/default.sql", ""),
    file!(One, Sqlite, Uuid, Standard, "sqlite/default-uuid.sql", ""),
    file!(Pair, Mysql, Autoinc, Standard, "mysql/pbxt-autoinc.sql", ""),
    file!(Pair, Mysql, Autoinc, NoIndex, "mysql/pbxt-autoinc-noindex.sql", "id2 has no index"),
    file!(Pair, Mysql, Uuid, Standard, "mysql/pbxt-uuid.sql", ""),
    file!(Pair, Mysql, Uuid, Varchar, "mysql/pbxt-uuid-varchar.sql", "mail is VARCHAR(60)"),
    file!(Pair, Sqlite, Autoinc, Standard, "sqlite/pbxt-autoinc.sql", ""),
    file!(Pair, Sqlite, Uuid, Standard, "sqlite/pbxt-uuid.sql", ""),
];

/// The template for a key: the variant's own where there is one, else the standard table.
pub fn template(tables: BuiltIn, dialect: Dialect, key: Key, variant: Variant) -> &'static Template {
    let fits = |entry: &&Template| entry.tables == tables && entry.dialect == dialect && entry.keys.takes(key);
    let find = |variant| TEMPLATES.iter().filter(fits).find(|entry| entry.variant == variant);
    // The registry has a standard table for each dialect and key; a test holds it to that.
    find(variant).or_else(|| find(Variant::Standard)).unwrap_or(&TEMPLATES[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{TemplateValues, key_type, render, render_statements};

    const VALUES: TemplateValues<'_> = TemplateValues {
        dialect: Dialect::Mysql,
        table: "`rowcliff_x`",
        index: "`rowcliff_x_id2`",
        key_type: Some("BINARY(16)"),
        options: "ENGINE=InnoDB",
    };

    fn keys() -> Vec<Key> {
        ["autoinc", "uuid1", "uuid4:char36", "uuid7:binary16"].iter().map(|word| word.parse().unwrap()).collect()
    }

    #[test]
    fn every_key_has_a_table_in_every_dialect_and_variant() {
        for tables in [BuiltIn::Pair, BuiltIn::One] {
            for dialect in [Dialect::Mysql, Dialect::Sqlite] {
                for key in keys() {
                    for variant in [Variant::Standard, Variant::NoIndex, Variant::Varchar] {
                        let entry = template(tables, dialect, key, variant);
                        assert_eq!((entry.tables, entry.dialect), (tables, dialect));
                        assert!(entry.keys.takes(key));
                        assert!(entry.variant == variant || entry.variant == Variant::Standard);
                        assert_eq!(entry.difference.is_empty(), entry.variant == Variant::Standard);
                    }
                }
            }
        }
        for key in keys() {
            let memory = template(BuiltIn::One, Dialect::Mysql, key, Variant::Varchar);
            assert_eq!(memory.file, "schemas/mysql/default-varchar.sql");
        }
    }

    #[test]
    fn own_templates_can_be_filled_in() {
        for entry in TEMPLATES {
            let options = if entry.dialect == Dialect::Mysql { "ENGINE=Aria" } else { "" };
            let key_type = VALUES.key_type.filter(|_| entry.keys != KeyKind::Autoinc);
            let values = TemplateValues { dialect: entry.dialect, options, key_type, ..VALUES };
            let statements = render_statements(entry.text, &values).unwrap();
            assert!(statements[0].starts_with("CREATE TABLE `rowcliff_x` ("), "{}: {}", entry.file, statements[0]);
            assert_eq!(statements[0].contains("BINARY(16)"), entry.keys != KeyKind::Autoinc, "{}", entry.file);
            assert!(entry.dialect == Dialect::Sqlite || statements[0].ends_with(") ENGINE=Aria"), "{}", statements[0]);
            assert!(statements.iter().all(|sql| !sql.contains("--") && !sql.contains('{')), "{statements:?}");
        }
    }

    /// The columns of a table as it is made for a key, without the first one, and its indexes.
    fn beside_the_key(dialect: Dialect, key: Key, variant: Variant) -> Vec<String> {
        let key_type = key.storage().and_then(|storage| key_type(dialect, storage));
        let values = TemplateValues { dialect, key_type, options: "", ..VALUES };
        let sql = render(template(BuiltIn::One, dialect, key, variant).text, &values).unwrap();
        let lines: Vec<String> = sql.replace(" WITHOUT ROWID", "").lines().map(str::to_owned).collect();
        assert!(lines[1].starts_with("  id "), "{sql}");
        lines.into_iter().enumerate().filter(|(at, _)| *at != 1).map(|(_, line)| line).collect()
    }

    #[test]
    fn only_the_key_column_differs_from_key_to_key() {
        for (dialect, variant) in [
            (Dialect::Mysql, Variant::Standard),
            (Dialect::Mysql, Variant::NoIndex),
            (Dialect::Mysql, Variant::Varchar),
            (Dialect::Sqlite, Variant::Standard),
        ] {
            let autoinc = beside_the_key(dialect, Key::AUTOINC, variant);
            assert_eq!(autoinc.len(), if variant == Variant::NoIndex { 6 } else { 7 }, "{autoinc:?}");
            for key in keys() {
                assert_eq!(beside_the_key(dialect, key, variant), autoinc, "{dialect:?} {key}");
            }
        }
    }

    #[test]
    fn sqlite_takes_its_own_templates() {
        for (tables, key) in
            [BuiltIn::Pair, BuiltIn::One].iter().flat_map(|&tables| keys().into_iter().map(move |key| (tables, key)))
        {
            let values = TemplateValues {
                dialect: Dialect::Sqlite,
                key_type: key.storage().and_then(|storage| key_type(Dialect::Sqlite, storage)),
                options: "",
                table: "\"rowcliff_x\"",
                index: "\"rowcliff_x_id2\"",
            };
            let sql = render(template(tables, Dialect::Sqlite, key, Variant::Standard).text, &values).unwrap();
            let connection = rusqlite::Connection::open_in_memory().unwrap();
            connection.execute_batch(&sql).unwrap();
            let indexes: i64 = connection
                .query_row("SELECT COUNT(*) FROM sqlite_master WHERE type = 'index' AND name LIKE '%id2'", [], |row| {
                    row.get(0)
                })
                .unwrap();
            assert_eq!(indexes == 1, tables == BuiltIn::One || key == Key::AUTOINC, "{key}");
            // The rowid is the key of `autoinc`, and a UUID is the key of its own tree.
            assert_eq!(sql.contains("WITHOUT ROWID"), key.family().is_uuid(), "{sql}");
        }
    }
}
