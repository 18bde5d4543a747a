//! Tables of other load generators and of posts, which `--schema` knows by name.

use super::KeyKind;
use crate::key::Key;

/// A table that comes with rowcliff beside the default one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedTable {
    /// What the user types.
    pub name: &'static str,
    /// The keys that it takes.
    pub keys: KeyKind,
    /// Whether its columns have the meaning that they have in the default table.
    pub is_own: bool,
    /// Its template for MySQL and MariaDB.
    pub mysql: &'static str,
    /// Its template for SQLite.
    pub sqlite: &'static str,
}

pub const NAMED: [NamedTable; 4] = [
    NamedTable {
        name: "slap",
        keys: KeyKind::Autoinc,
        is_own: false,
        mysql: include_str!("../../schemas/mysql/slap.sql"),
        sqlite: include_str!("../../schemas/sqlite/slap.sql"),
    },
    NamedTable {
        name: "sbtest",
        keys: KeyKind::Autoinc,
        is_own: false,
        mysql: include_str!("../../schemas/mysql/sbtest.sql"),
        sqlite: include_str!("../../schemas/sqlite/sbtest.sql"),
    },
    NamedTable {
        name: "pbxt-autoinc",
        keys: KeyKind::Autoinc,
        is_own: true,
        mysql: include_str!("../../schemas/mysql/pbxt-autoinc.sql"),
        sqlite: include_str!("../../schemas/sqlite/pbxt-autoinc.sql"),
    },
    NamedTable {
        name: "pbxt-uuid",
        keys: KeyKind::Uuid,
        is_own: true,
        mysql: include_str!("../../schemas/mysql/pbxt-uuid.sql"),
        sqlite: include_str!("../../schemas/sqlite/pbxt-uuid.sql"),
    },
];

impl NamedTable {
    /// Why a key cannot be had with it; `None` where it can.
    pub fn unable(&self, key: Key) -> Option<String> {
        let (has, next) = match self.keys {
            _ if self.keys.takes(key) => return None,
            KeyKind::Uuid => ("a UUID", "--key uuid1"),
            KeyKind::Autoinc | KeyKind::Any => ("an AUTO_INCREMENT", "--key autoinc"),
        };
        Some(format!("the table {} has {has} key of its own; give {next}", self.name))
    }
}

/// The names, for messages.
pub fn table_names() -> String {
    let names: Vec<&str> = NAMED.iter().map(|table| table.name).collect();
    names.join(", ")
}

/// The table of a name.
pub fn named(name: &str) -> Option<&'static NamedTable> {
    NAMED.iter().find(|table| table.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Dialect, TemplateValues, render_statements};

    #[test]
    fn every_named_table_can_be_filled_in_for_both_dialects() {
        for table in NAMED {
            let values = TemplateValues {
                dialect: Dialect::Mysql,
                table: "`t`",
                index: "`i`",
                key_type: (table.keys == KeyKind::Uuid).then_some("BINARY(16)"),
                options: "ENGINE=InnoDB",
            };
            let mysql = render_statements(table.mysql, &values).unwrap();
            assert_eq!(mysql.len(), 1, "{mysql:?}");
            assert_eq!(mysql[0].contains("AUTO_INCREMENT"), table.keys == KeyKind::Autoinc, "{}", mysql[0]);
            assert!(mysql[0].ends_with(") ENGINE=InnoDB"), "{}", mysql[0]);
            let values = TemplateValues { dialect: Dialect::Sqlite, options: "", ..values };
            let sqlite = render_statements(table.sqlite, &values).unwrap();
            let connection = rusqlite::Connection::open_in_memory().unwrap();
            connection.execute_batch(&sqlite.join(";\n")).unwrap();
            let columns = |sql: &str| sql.matches(",\n").count();
            let keys = mysql[0].matches("KEY").count();
            assert_eq!(columns(&mysql[0]) + 1 - keys, columns(&sqlite[0]) + 1, "{}", table.name);
        }
        assert!(named("slap").is_some() && named("./slap").is_none() && named("").is_none());
    }
}
