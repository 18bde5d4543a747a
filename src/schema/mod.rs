//! Tables: the DDL templates of `schemas/`, and columns as the database itself reports them.
//!
//! Pure functions of strings. Who runs the queries hands in what came back ([`ReportedColumn`], [`SqliteColumn`],
//! [`ReportedIndex`]) and gets [`Column`]s, which say what a value for them may be.

mod built_in;
mod column;
mod definition;
mod layout;
mod lex;
mod named;
pub mod pasted;
mod reported;
pub(crate) mod template;
mod tokens;

pub use built_in::{BuiltIn, KeyKind, TEMPLATES, Template, Variant, template};
pub use column::{Column, ColumnType, UniqueIndex, default_columns};
pub use definition::{Check, Definition, Partitioning, Period, index_parts, names_in};
pub use layout::Layout;
pub use named::{NAMED, NamedTable, named, table_names};
pub use reported::{IndexColumn, ReportedColumn, ReportedIndex, SqliteColumn, mysql_columns, sqlite_columns};
pub use template::{SchemaError, TemplateValues, key_type, render, render_statements};

/// Whose SQL a table is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    Mysql,
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
