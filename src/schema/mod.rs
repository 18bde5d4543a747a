//! Tables: the DDL templates of `schemas/`, and columns as the database itself reports them.
//!
//! Pure functions of strings. Who runs the queries hands in what came back ([`ReportedColumn`], [`SqliteColumn`],
//! [`ReportedIndex`]) and gets [`Column`]s, which say what a value for them may be.

mod column;
mod definition;
mod named;
mod reported;
mod template;
mod tokens;

pub use column::{Column, ColumnType, UniqueIndex, default_columns};
pub use definition::{Check, Definition, Partitioning, Period, index_parts, names_in};
pub use named::{NAMED, NamedTable, named};
pub use reported::{IndexColumn, ReportedColumn, ReportedIndex, SqliteColumn, mysql_columns, sqlite_columns};
pub use template::{
    SchemaError, TEMPLATES, Template, TemplateValues, Variant, key_type, render, render_statements, template,
};

/// Whose SQL a table is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// MySQL and MariaDB.
    Mysql,
    /// SQLite.
    Sqlite,
}

impl Dialect {
    /// The name of its folder in `schemas/`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Sqlite => "sqlite",
        }
    }
}
