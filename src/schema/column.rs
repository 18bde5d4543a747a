//! A column: what a value for it may be, and which indexes it is in.

use crate::key::{Key, Storage};

use super::{Dialect, Variant};

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnType {
    /// `TINYINT(1)` and `BOOLEAN`.
    Bool,
    /// An integer of any size.
    Int {
        /// Bits in use: 8, 16, 24, 32, 64; 63 for an unsigned 64-bit integer on SQLite, which has none.
        bits: u8,
        /// Without negative numbers.
        unsigned: bool,
    },
    /// `BIT(n)`.
    Bit {
        /// 1 to 64.
        bits: u8,
    },
    /// `DECIMAL(precision, scale)`.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// Four bytes; lossy, since six digits are all that a server prints.
    Float {
        /// Precision and scale, where the declaration has them.
        digits: Option<(u8, u8)>,
    },
    /// Eight bytes.
    Double {
        /// Precision and scale, where the declaration has them.
        digits: Option<(u8, u8)>,
    },
    Date,
    /// A time of day.
    Time {
        /// Digits after the second.
        fraction: u8,
    },
    /// A day and a time.
    DateTime {
        /// Digits after the second.
        fraction: u8,
    },
    /// A moment from 1970 to 2038.
    Timestamp {
        /// Digits after the second.
        fraction: u8,
    },
    /// A year of four digits.
    Year,
    /// `CHAR(n)`: trailing spaces are lost.
    Char,
    /// `VARCHAR(n)`.
    Varchar,
    /// `TINYTEXT` to `LONGTEXT`.
    Text,
    /// `BINARY(n)`: padded with zero bytes.
    Binary,
    /// `VARBINARY(n)`.
    Varbinary,
    /// `TINYBLOB` to `LONGBLOB`.
    Blob,
    Json,
    /// One of the members.
    Enum {
        /// The members, in the order of their declaration.
        members: Vec<String>,
    },
    /// Any of the members.
    Set {
        /// The members, in the order of their declaration.
        members: Vec<String>,
    },
    Uuid,
    /// MariaDB's IPv4 address.
    Inet4,
    /// MariaDB's IPv6 address.
    Inet6,
    /// `POINT`, and `GEOMETRY`, which takes one.
    Point {
        /// The spatial reference system that the column wants.
        srid: u32,
    },
    /// A type that rowcliff has no values for.
    Other,
}

/// A unique index that a column takes part in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UniqueIndex {
    /// The name of the index.
    pub name: String,
    /// Characters or bytes of the column that count, where the index has a prefix of it only.
    pub prefix: Option<u64>,
    /// The expression of the index in which the column stands, where it is not a part by itself.
    pub expression: Option<String>,
}

/// A column, as the database reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub data_type: ColumnType,
    /// The type as the database prints it, as in `int(10) unsigned`: for messages.
    pub column_type_text: String,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// Whether the server counts it (AUTO_INCREMENT; on SQLite the alias of the rowid).
    pub auto_increment: bool,
    /// Whether the server computes it.
    pub generated: bool,
    /// Whether it has a default other than NULL.
    pub has_default: bool,
    /// Character set, where it has one.
    pub charset: Option<String>,
    /// The longest value, in characters for `CHAR` and `VARCHAR` and in bytes for the others; `None` where the
    /// database sets no limit of its own.
    pub max_length: Option<u64>,
    /// Whether it is a part of the primary key.
    pub in_primary_key: bool,
    /// Whether it is the only column of a unique index (the primary key is one).
    pub unique: bool,
    /// Whether it is the first column of an index, so that a row can be found by it.
    pub indexed: bool,
    /// The unique indexes it takes part in.
    pub unique_indexes: Vec<UniqueIndex>,
    /// The foreign key's table, where the value must exist in another one.
    pub references: Option<String>,
    /// The expression, where the server computes it.
    pub expression: Option<String>,
    /// The columns that the expression names.
    pub made_of: Vec<String>,
    /// Whether a check, a generated column, a partition or a period depends on its value.
    pub constrained: bool,
    /// Whether an application-time period ends in it (`true`) or starts in it (`false`).
    pub period: Option<bool>,
}

impl Column {
    /// A column that is in no index, NOT NULL, without default.
    pub fn plain(name: &str, data_type: ColumnType, column_type_text: &str) -> Self {
        Self {
            name: name.into(),
            data_type,
            column_type_text: column_type_text.into(),
            nullable: false,
            auto_increment: false,
            generated: false,
            has_default: false,
            charset: None,
            max_length: None,
            in_primary_key: false,
            unique: false,
            indexed: false,
            unique_indexes: Vec::new(),
            references: None,
            expression: None,
            made_of: Vec::new(),
            constrained: false,
            period: None,
        }
    }

    /// The same column as the whole primary key.
    fn primary(mut self) -> Self {
        self.in_primary_key = true;
        self.unique = true;
        self.indexed = true;
        self.unique_indexes = vec![UniqueIndex { name: "PRIMARY".into(), prefix: None, expression: None }];
        self
    }
}

/// The columns of the default table for `key`, without asking a database: for tests, benchmarks and estimates.
pub fn default_columns(dialect: Dialect, key: Key, variant: Variant) -> Vec<Column> {
    let int = |name: &str| match dialect {
        Dialect::Mysql => Column::plain(name, ColumnType::Int { bits: 32, unsigned: false }, "int(11)"),
        Dialect::Sqlite => Column::plain(name, ColumnType::Int { bits: 64, unsigned: false }, "INTEGER"),
    };
    let mut id2 = int("id2");
    id2.indexed = variant != Variant::NoIndex;
    let mut id3 = int("id3");
    id3.nullable = true;
    let mut mail = match (dialect, variant) {
        (Dialect::Mysql, Variant::Varchar) => Column::plain("mail", ColumnType::Varchar, "varchar(60)"),
        (Dialect::Mysql, _) => Column::plain("mail", ColumnType::Text, "text"),
        (Dialect::Sqlite, _) => Column::plain("mail", ColumnType::Text, "TEXT"),
    };
    if dialect == Dialect::Mysql {
        mail.charset = Some("latin1".into());
        mail.max_length = Some(if variant == Variant::Varchar { 60 } else { 65_535 });
    }
    vec![key_column(dialect, key), id2, id3, mail]
}

fn key_column(dialect: Dialect, key: Key) -> Column {
    let Some(storage) = key.storage() else {
        let mut id = match dialect {
            Dialect::Mysql => Column::plain("id", ColumnType::Int { bits: 64, unsigned: true }, "bigint(20) unsigned"),
            Dialect::Sqlite => Column::plain("id", ColumnType::Int { bits: 64, unsigned: false }, "INTEGER"),
        }
        .primary();
        id.auto_increment = true;
        return id;
    };
    let (data_type, text) = match (dialect, storage) {
        (Dialect::Sqlite, Storage::Binary16) => (ColumnType::Blob, "BLOB"),
        (Dialect::Sqlite, _) => (ColumnType::Text, "TEXT"),
        (Dialect::Mysql, Storage::Char32) => (ColumnType::Char, "char(32)"),
        (Dialect::Mysql, Storage::Char36) => (ColumnType::Char, "char(36)"),
        (Dialect::Mysql, Storage::Binary16) => (ColumnType::Binary, "binary(16)"),
        (Dialect::Mysql, Storage::Native) => (ColumnType::Uuid, "uuid"),
    };
    let mut id = Column::plain("id", data_type, text).primary();
    if dialect == Dialect::Mysql {
        id.max_length = matches!(id.data_type, ColumnType::Char | ColumnType::Binary).then_some(storage.wire_bytes());
        id.charset = (id.data_type == ColumnType::Char).then(|| "latin1".into());
    }
    id
}
