//! Tables of other load generators, which `--schema` knows by name.

/// A table that comes with rowcliff beside its own two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedTable {
    /// What the user types.
    pub name: &'static str,
    /// Its template for MySQL and MariaDB.
    pub mysql: &'static str,
    /// Its template for SQLite.
    pub sqlite: &'static str,
}

/// All of them. Each has an AUTO_INCREMENT key of its own.
pub const NAMED: [NamedTable; 2] = [
    NamedTable {
        name: "slap",
        mysql: include_str!("../../schemas/mysql/slap.sql"),
        sqlite: include_str!("../../schemas/sqlite/slap.sql"),
    },
    NamedTable {
        name: "sbtest",
        mysql: include_str!("../../schemas/mysql/sbtest.sql"),
        sqlite: include_str!("../../schemas/sqlite/sbtest.sql"),
    },
];

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
                key_type: None,
                options: "ENGINE=InnoDB",
            };
            let mysql = render_statements(table.mysql, &values).unwrap();
            assert_eq!(mysql.len(), 1, "{mysql:?}");
            assert!(mysql[0].contains("AUTO_INCREMENT") && mysql[0].ends_with(") ENGINE=InnoDB"), "{}", mysql[0]);
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
