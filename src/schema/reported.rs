//! From what a database reports of its columns and indexes to [`Column`]s.

use super::definition::names_in;
use super::{Column, ColumnType, UniqueIndex};

/// A line of `information_schema.COLUMNS` of MySQL or MariaDB. What the server does not have stays at its default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportedColumn {
    /// `COLUMN_NAME`.
    pub name: String,
    /// `DATA_TYPE`, as in `int`.
    pub data_type: String,
    /// `COLUMN_TYPE`, as in `int(10) unsigned`.
    pub column_type: String,
    /// `IS_NULLABLE`: `YES` or `NO`.
    pub is_nullable: String,
    /// `COLUMN_DEFAULT`.
    pub column_default: Option<String>,
    /// `CHARACTER_MAXIMUM_LENGTH`.
    pub character_maximum_length: Option<u64>,
    /// `NUMERIC_PRECISION`.
    pub numeric_precision: Option<u64>,
    /// `NUMERIC_SCALE`.
    pub numeric_scale: Option<u64>,
    /// `DATETIME_PRECISION`.
    pub datetime_precision: Option<u64>,
    /// `CHARACTER_SET_NAME`.
    pub character_set_name: Option<String>,
    /// `EXTRA`, as in `auto_increment` or `STORED GENERATED`.
    pub extra: String,
    /// `GENERATION_EXPRESSION`; MySQL has an empty string where there is none.
    pub generation_expression: Option<String>,
    /// The column's check (`information_schema.CHECK_CONSTRAINTS`): MariaDB marks a JSON column with `json_valid`.
    pub check_clause: Option<String>,
    /// `REFERENCED_TABLE_NAME` of `information_schema.KEY_COLUMN_USAGE`.
    pub referenced_table: Option<String>,
    /// `SRS_ID` of a spatial column; MySQL.
    pub srs_id: Option<u32>,
}

/// A line of SQLite's `PRAGMA table_xinfo`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SqliteColumn {
    /// `name`.
    pub name: String,
    /// `type`, as it was declared.
    pub declared_type: String,
    /// `notnull`.
    pub not_null: bool,
    /// `dflt_value`.
    pub default_value: Option<String>,
    /// `pk`: the place in the primary key from 1, or 0.
    pub primary_key_place: u32,
    /// `hidden`: 2 and 3 are generated columns, 1 is hidden by a virtual table.
    pub hidden: u32,
    /// `table` of `PRAGMA foreign_key_list`.
    pub referenced_table: Option<String>,
}

/// An index, from `information_schema.STATISTICS` or SQLite's `PRAGMA index_list` and `index_info`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportedIndex {
    pub name: String,
    /// Whether it refuses equal values.
    pub unique: bool,
    /// Whether it is the primary key.
    pub primary: bool,
    /// Its columns in order.
    pub columns: Vec<IndexColumn>,
}

/// A column of an index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexColumn {
    /// The column; `None` for an expression.
    pub name: Option<String>,
    /// `SUB_PART`: how much of the column is indexed, where it is not all.
    pub prefix: Option<u64>,
    /// The text of the expression, where it is one.
    pub expression: Option<String>,
}

/// Columns of MySQL and MariaDB, in the order given.
pub fn mysql_columns(reported: &[ReportedColumn], indexes: &[ReportedIndex]) -> Vec<Column> {
    let mut columns: Vec<Column> = reported.iter().map(mysql_column).collect();
    mark_indexes(&mut columns, indexes);
    columns
}

/// Columns of SQLite, in the order given. `without_rowid` tells whether the table is one (`PRAGMA table_list`, `wr`).
pub fn sqlite_columns(reported: &[SqliteColumn], indexes: &[ReportedIndex], without_rowid: bool) -> Vec<Column> {
    let mut key: Vec<&SqliteColumn> = reported.iter().filter(|column| column.primary_key_place > 0).collect();
    key.sort_by_key(|column| column.primary_key_place);
    // An INTEGER PRIMARY KEY is the rowid itself and has no index of its own to be listed.
    let rowid_alias = match key[..] {
        [only] if !without_rowid && only.declared_type.eq_ignore_ascii_case("integer") => Some(only.name.clone()),
        _ => None,
    };
    let mut columns: Vec<Column> =
        reported.iter().map(|column| sqlite_column(column, rowid_alias.as_deref())).collect();
    if !key.is_empty() && !indexes.iter().any(|index| index.primary) {
        let named =
            |column: &&SqliteColumn| IndexColumn { name: Some(column.name.clone()), prefix: None, expression: None };
        let columns_of_key = key.iter().map(named).collect();
        let primary = ReportedIndex { name: "PRIMARY".into(), unique: true, primary: true, columns: columns_of_key };
        mark_indexes(&mut columns, &[primary]);
    }
    mark_indexes(&mut columns, indexes);
    columns
}

fn mark_indexes(columns: &mut [Column], indexes: &[ReportedIndex]) {
    for index in indexes {
        for (place, part) in index.columns.iter().enumerate() {
            if let Some(expression) = part.expression.as_deref().filter(|_| index.unique) {
                mark_expression(columns, &index.name, expression);
            }
            // The names of columns are case-insensitive on every database here.
            let Some(name) = &part.name else { continue };
            let Some(column) = columns.iter_mut().find(|column| column.name.eq_ignore_ascii_case(name)) else {
                continue;
            };
            column.indexed |= place == 0;
            column.in_primary_key |= index.primary;
            if index.unique || index.primary {
                column.unique |= index.columns.len() == 1;
                column.unique_indexes.push(UniqueIndex {
                    name: index.name.clone(),
                    prefix: part.prefix,
                    expression: None,
                });
            }
        }
    }
}

/// The columns of which the expression of a unique index is made.
fn mark_expression(columns: &mut [Column], index: &str, expression: &str) {
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    for name in names_in(expression, &names) {
        if let Some(column) = columns.iter_mut().find(|column| column.name == name) {
            let (name, expression) = (index.to_owned(), Some(expression.to_owned()));
            column.constrained = true;
            column.unique_indexes.push(UniqueIndex { name, prefix: None, expression });
        }
    }
}

fn mysql_column(reported: &ReportedColumn) -> Column {
    let declared = Declared::parse(&reported.column_type);
    let data_type = if reported.data_type.is_empty() { &declared.name } else { &reported.data_type };
    let data_type = data_type.trim().to_ascii_lowercase();
    let json_check =
        reported.check_clause.as_deref().is_some_and(|check| check.to_ascii_lowercase().contains("json_valid"));
    let fraction = declared.number(0).or(reported.datetime_precision).unwrap_or(0).min(6) as u8;
    let precision = declared.number(0).or(reported.numeric_precision);
    let scale = declared.number(1).or(reported.numeric_scale).unwrap_or(0);
    let max_length = reported.character_maximum_length;
    let column_type = match data_type.as_str() {
        "tinyint" if declared.number(0) == Some(1) && !declared.unsigned => ColumnType::Bool,
        "decimal" | "numeric" => {
            ColumnType::Decimal { precision: precision.unwrap_or(10).min(65) as u8, scale: scale.min(38) as u8 }
        }
        "float" => ColumnType::Float { digits: declared.digits() },
        "double" | "real" => ColumnType::Double { digits: declared.digits() },
        "bit" => ColumnType::Bit { bits: precision.unwrap_or(1).clamp(1, 64) as u8 },
        "date" => ColumnType::Date,
        "time" => ColumnType::Time { fraction },
        "datetime" => ColumnType::DateTime { fraction },
        "timestamp" => ColumnType::Timestamp { fraction },
        "year" if declared.number(0) != Some(2) => ColumnType::Year,
        "char" => ColumnType::Char,
        "varchar" => ColumnType::Varchar,
        // MariaDB's JSON is a LONGTEXT with a check.
        "longtext" if json_check => ColumnType::Json,
        "tinytext" | "text" | "mediumtext" | "longtext" => ColumnType::Text,
        "binary" => ColumnType::Binary,
        "varbinary" => ColumnType::Varbinary,
        "tinyblob" | "blob" | "mediumblob" | "longblob" => ColumnType::Blob,
        "json" => ColumnType::Json,
        "enum" => ColumnType::Enum { members: declared.members },
        "set" => ColumnType::Set { members: declared.members },
        "uuid" => ColumnType::Uuid,
        "inet4" => ColumnType::Inet4,
        "inet6" => ColumnType::Inet6,
        "point" | "geometry" => ColumnType::Point { srid: reported.srs_id.unwrap_or(0) },
        name => match int_bits(name) {
            Some(bits) => ColumnType::Int { bits, unsigned: declared.unsigned },
            None => ColumnType::Other,
        },
    };
    let extra = reported.extra.to_ascii_uppercase();
    let extra_words = || extra.split_ascii_whitespace();
    let expression = reported.generation_expression.as_deref().is_some_and(|text| !text.trim().is_empty());
    Column {
        name: reported.name.clone(),
        data_type: column_type,
        column_type_text: reported.column_type.clone(),
        nullable: reported.is_nullable.eq_ignore_ascii_case("yes"),
        auto_increment: extra_words().any(|word| word == "AUTO_INCREMENT"),
        // MySQL says DEFAULT_GENERATED, one word, for a default that is an expression: such a column takes values.
        generated: expression || extra_words().any(|word| matches!(word, "GENERATED" | "VIRTUAL" | "PERSISTENT")),
        // MariaDB reports the default NULL as the word.
        has_default: reported.column_default.as_deref().is_some_and(|text| !text.eq_ignore_ascii_case("null")),
        charset: reported.character_set_name.clone(),
        max_length,
        in_primary_key: false,
        unique: false,
        indexed: false,
        unique_indexes: Vec::new(),
        references: reported.referenced_table.clone(),
        expression: None,
        made_of: Vec::new(),
        constrained: false,
        period: None,
    }
}

fn int_bits(name: &str) -> Option<u8> {
    match name {
        "tinyint" => Some(8),
        "smallint" => Some(16),
        "mediumint" => Some(24),
        "int" | "integer" => Some(32),
        "bigint" => Some(64),
        _ => None,
    }
}

fn sqlite_column(reported: &SqliteColumn, rowid_alias: Option<&str>) -> Column {
    let declared = Declared::parse(&reported.declared_type);
    let is_key = reported.primary_key_place > 0;
    let data_type = sqlite_type(&declared);
    let sized = matches!(
        data_type,
        ColumnType::Char | ColumnType::Varchar | ColumnType::Text | ColumnType::Binary | ColumnType::Varbinary
    );
    Column {
        name: reported.name.clone(),
        max_length: if sized { declared.number(0) } else { None },
        data_type,
        column_type_text: reported.declared_type.clone(),
        // SQLite lets NULL into most primary keys; nobody wants to measure that.
        nullable: !reported.not_null && !is_key,
        auto_increment: rowid_alias == Some(reported.name.as_str()),
        generated: reported.hidden != 0,
        has_default: reported.default_value.as_deref().is_some_and(|text| !text.eq_ignore_ascii_case("null")),
        charset: None,
        in_primary_key: false,
        unique: false,
        indexed: false,
        unique_indexes: Vec::new(),
        references: reported.referenced_table.clone(),
        expression: None,
        made_of: Vec::new(),
        constrained: false,
        period: None,
    }
}

/// A declared type of SQLite: names that other databases have first, then SQLite's own rules of affinity.
fn sqlite_type(declared: &Declared) -> ColumnType {
    let name = declared.name.as_str();
    let numeric = || ColumnType::Decimal {
        precision: declared.number(0).unwrap_or(10).min(15) as u8,
        scale: declared.number(1).unwrap_or(0).min(15) as u8,
    };
    match name {
        "bool" | "boolean" => ColumnType::Bool,
        "date" => ColumnType::Date,
        "time" => ColumnType::Time { fraction: declared.number(0).unwrap_or(0).min(6) as u8 },
        "datetime" => ColumnType::DateTime { fraction: declared.number(0).unwrap_or(0).min(6) as u8 },
        "timestamp" => ColumnType::Timestamp { fraction: declared.number(0).unwrap_or(0).min(6) as u8 },
        "year" => ColumnType::Year,
        "decimal" | "numeric" => numeric(),
        "json" => ColumnType::Json,
        "uuid" => ColumnType::Uuid,
        "binary" => ColumnType::Binary,
        "varbinary" => ColumnType::Varbinary,
        "char" | "character" | "nchar" => ColumnType::Char,
        _ if name.contains("int") => {
            // SQLite's integers have 64 bits whatever they are called, but a name that says less is honoured.
            let bits = match name {
                "tinyint" => 8,
                "smallint" => 16,
                "mediumint" => 24,
                _ if declared.unsigned => 63,
                _ => 64,
            };
            ColumnType::Int { bits, unsigned: declared.unsigned }
        }
        _ if name.contains("char") => ColumnType::Varchar,
        _ if name.contains("clob") || name.contains("text") => ColumnType::Text,
        _ if name.is_empty() || name.contains("blob") => ColumnType::Blob,
        _ if name.contains("real") || name.contains("floa") || name.contains("doub") => {
            ColumnType::Double { digits: None }
        }
        // Numeric affinity: integers are stored as they are given.
        _ => ColumnType::Int { bits: 64, unsigned: false },
    }
}

/// A type as it was declared: `decimal(10,2) unsigned`, `enum('a','b')`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Declared {
    name: String,
    numbers: Vec<u64>,
    members: Vec<String>,
    unsigned: bool,
}

impl Declared {
    fn parse(text: &str) -> Self {
        let text = text.trim();
        let open = text.find('(').unwrap_or(text.len());
        let (inside, rest) = inside_parentheses(text.get(open + 1..).unwrap_or(""));
        let parts = split_members(inside);
        let words = format!("{} {rest}", &text[..open]).to_ascii_lowercase();
        let is_attribute = |word: &&str| matches!(*word, "unsigned" | "signed" | "zerofill");
        let name: Vec<&str> = words.split_ascii_whitespace().filter(|word| !is_attribute(word)).collect();
        Self {
            name: name.join(" "),
            numbers: parts.iter().map_while(|part| part.trim().parse().ok()).collect(),
            members: parts.iter().filter_map(|part| unquote(part.trim())).collect(),
            unsigned: words.split_ascii_whitespace().any(|word| word == "unsigned"),
        }
    }

    fn number(&self, place: usize) -> Option<u64> {
        self.numbers.get(place).copied()
    }

    /// Precision and scale when both are there: `float(24)` only chooses a size.
    fn digits(&self) -> Option<(u8, u8)> {
        match self.numbers[..] {
            [precision, scale] => Some((precision.min(255) as u8, scale.min(30) as u8)),
            _ => None,
        }
    }
}

/// What stands before the closing parenthesis, and what after it; parentheses within quotes do not count.
fn inside_parentheses(text: &str) -> (&str, &str) {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            ')' if !quoted => return (&text[..at], &text[at + 1..]),
            _ => {}
        }
    }
    (text, "")
}

/// Splits at commas outside quotes. A doubled quote closes and opens again, which comes to the same.
fn split_members(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut quoted) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            ',' if !quoted => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn unquote(text: &str) -> Option<String> {
    Some(text.strip_prefix('\'')?.strip_suffix('\'')?.replace("''", "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mysql(data_type: &str, column_type: &str) -> ReportedColumn {
        ReportedColumn {
            name: "c".into(),
            data_type: data_type.into(),
            column_type: column_type.into(),
            is_nullable: "NO".into(),
            ..Default::default()
        }
    }

    fn mysql_type(data_type: &str, column_type: &str) -> ColumnType {
        mysql_columns(&[mysql(data_type, column_type)], &[]).remove(0).data_type
    }

    fn sqlite_declared(declared_type: &str) -> Column {
        let column = SqliteColumn { name: "c".into(), declared_type: declared_type.into(), ..Default::default() };
        sqlite_columns(&[column], &[], false).remove(0)
    }

    #[test]
    fn both_spellings_of_integers() {
        // MySQL 8.0.19 and later print no display width, MariaDB does.
        for (data_type, text, bits, unsigned) in [
            ("tinyint", "tinyint(4)", 8, false),
            ("tinyint", "tinyint", 8, false),
            ("tinyint", "tinyint(3) unsigned", 8, true),
            ("tinyint", "tinyint(1) unsigned", 8, true),
            ("smallint", "smallint(6)", 16, false),
            ("mediumint", "mediumint(8) unsigned zerofill", 24, true),
            ("int", "int(10) unsigned", 32, true),
            ("int", "int unsigned", 32, true),
            ("int", "int", 32, false),
            ("bigint", "bigint(20) unsigned", 64, true),
        ] {
            assert_eq!(mysql_type(data_type, text), ColumnType::Int { bits, unsigned }, "{text}");
        }
        assert_eq!(mysql_type("tinyint", "tinyint(1)"), ColumnType::Bool);
    }

    #[test]
    fn numbers_with_digits() {
        assert_eq!(mysql_type("decimal", "decimal(20,6)"), ColumnType::Decimal { precision: 20, scale: 6 });
        assert_eq!(mysql_type("decimal", "decimal(5,0) unsigned"), ColumnType::Decimal { precision: 5, scale: 0 });
        assert_eq!(mysql_type("float", "float"), ColumnType::Float { digits: None });
        assert_eq!(mysql_type("float", "float(7,3)"), ColumnType::Float { digits: Some((7, 3)) });
        assert_eq!(mysql_type("double", "double(10,2) unsigned"), ColumnType::Double { digits: Some((10, 2)) });
        assert_eq!(mysql_type("bit", "bit(12)"), ColumnType::Bit { bits: 12 });
        let reported =
            ReportedColumn { numeric_precision: Some(9), numeric_scale: Some(3), ..mysql("decimal", "decimal") };
        assert_eq!(
            mysql_columns(&[reported], &[])[0].data_type,
            ColumnType::Decimal { precision: 9, scale: 3 },
            "the figures stand in when the text has none"
        );
    }

    #[test]
    fn times_with_fractions() {
        assert_eq!(mysql_type("datetime", "datetime(6)"), ColumnType::DateTime { fraction: 6 });
        assert_eq!(mysql_type("datetime", "datetime"), ColumnType::DateTime { fraction: 0 });
        assert_eq!(mysql_type("timestamp", "timestamp(3)"), ColumnType::Timestamp { fraction: 3 });
        assert_eq!(mysql_type("time", "time(1)"), ColumnType::Time { fraction: 1 });
        assert_eq!(mysql_type("year", "year(4)"), ColumnType::Year);
        assert_eq!(mysql_type("year", "year"), ColumnType::Year);
        assert_eq!(mysql_type("year", "year(2)"), ColumnType::Other);
    }

    #[test]
    fn members_keep_commas_quotes_and_parentheses() {
        let members = |list: &[&str]| list.iter().map(|&member| member.to_owned()).collect::<Vec<_>>();
        assert_eq!(
            mysql_type("enum", "enum('a','it''s','x,y','(p)','Größe','')"),
            ColumnType::Enum { members: members(&["a", "it's", "x,y", "(p)", "Größe", ""]) }
        );
        assert_eq!(mysql_type("set", "set('READ','write')"), ColumnType::Set { members: members(&["READ", "write"]) });
    }

    #[test]
    fn json_is_longtext_with_a_check_on_mariadb() {
        assert_eq!(mysql_type("json", "json"), ColumnType::Json);
        assert_eq!(mysql_type("longtext", "longtext"), ColumnType::Text);
        let checked = ReportedColumn { check_clause: Some("json_valid(`c`)".into()), ..mysql("longtext", "longtext") };
        assert_eq!(mysql_columns(&[checked], &[])[0].data_type, ColumnType::Json);
    }

    #[test]
    fn types_of_mariadb_alone_and_types_of_nobody() {
        assert_eq!(mysql_type("uuid", "uuid"), ColumnType::Uuid);
        assert_eq!(mysql_type("inet4", "inet4"), ColumnType::Inet4);
        assert_eq!(mysql_type("inet6", "inet6"), ColumnType::Inet6);
        for name in ["multipolygon", "linestring", "vector"] {
            assert_eq!(mysql_type(name, name), ColumnType::Other, "{name}");
        }
    }

    #[test]
    fn extra_tells_what_the_server_fills() {
        let column = |extra: &str, expression: Option<&str>| {
            let reported = ReportedColumn {
                extra: extra.into(),
                generation_expression: expression.map(Into::into),
                ..mysql("int", "int")
            };
            mysql_columns(&[reported], &[]).remove(0)
        };
        assert!(column("auto_increment", Some("")).auto_increment);
        assert!(!column("auto_increment", Some("")).generated);
        for extra in ["STORED GENERATED", "VIRTUAL GENERATED", "VIRTUAL", "PERSISTENT", "STORED GENERATED INVISIBLE"] {
            assert!(column(extra, None).generated, "{extra}");
        }
        assert!(column("", Some("`a` + 1")).generated);
        for extra in ["DEFAULT_GENERATED", "DEFAULT_GENERATED on update CURRENT_TIMESTAMP", "INVISIBLE", ""] {
            assert!(!column(extra, Some("")).generated, "{extra}");
        }
    }

    #[test]
    fn defaults_and_nullability() {
        let reported =
            ReportedColumn { is_nullable: "YES".into(), column_default: Some("NULL".into()), ..mysql("int", "int") };
        let column = mysql_columns(&[reported], &[]).remove(0);
        assert!(column.nullable && !column.has_default);
        let reported = ReportedColumn { column_default: Some("0".into()), ..mysql("int", "int") };
        let column = mysql_columns(&[reported], &[]).remove(0);
        assert!(!column.nullable && column.has_default);
    }

    #[test]
    fn indexes_mark_their_columns() {
        let named = |name: &str| ReportedColumn { name: name.into(), ..mysql("int", "int") };
        let part = |name: &str| IndexColumn { name: Some(name.into()), prefix: None, expression: None };
        let primary =
            ReportedIndex { name: "PRIMARY".into(), unique: true, primary: true, columns: vec![part("a"), part("b")] };
        let unique = ReportedIndex {
            name: "u".into(),
            unique: true,
            columns: vec![IndexColumn { name: Some("C".into()), prefix: Some(10), expression: None }],
            ..Default::default()
        };
        let second =
            ReportedIndex { name: "s".into(), columns: vec![part("d"), IndexColumn::default()], ..Default::default() };
        let columns = mysql_columns(&["a", "b", "c", "d", "e"].map(named), &[primary, unique, second]);
        let flags: Vec<_> = columns.iter().map(|c| (c.in_primary_key, c.unique, c.indexed)).collect();
        assert_eq!(
            flags,
            [
                (true, false, true),
                (true, false, false),
                (false, true, true),
                (false, false, true),
                (false, false, false)
            ]
        );
        assert_eq!(columns[2].unique_indexes, [UniqueIndex { name: "u".into(), prefix: Some(10), expression: None }]);
        assert_eq!(columns[1].unique_indexes[0].name, "PRIMARY");
    }

    #[test]
    fn sqlite_types_follow_names_then_affinity() {
        for (text, data_type) in [
            ("INTEGER", ColumnType::Int { bits: 64, unsigned: false }),
            ("INT", ColumnType::Int { bits: 64, unsigned: false }),
            ("TINYINT", ColumnType::Int { bits: 8, unsigned: false }),
            ("UNSIGNED BIG INT", ColumnType::Int { bits: 63, unsigned: true }),
            ("CHARACTER VARYING(9)", ColumnType::Varchar),
            ("DOUBLE PRECISION", ColumnType::Double { digits: None }),
            ("BIGINT UNSIGNED", ColumnType::Int { bits: 63, unsigned: true }),
            ("VARCHAR(20)", ColumnType::Varchar),
            ("CHAR(32)", ColumnType::Char),
            ("TEXT", ColumnType::Text),
            ("BLOB", ColumnType::Blob),
            ("", ColumnType::Blob),
            ("REAL", ColumnType::Double { digits: None }),
            ("FLOAT", ColumnType::Double { digits: None }),
            ("DECIMAL(10,2)", ColumnType::Decimal { precision: 10, scale: 2 }),
            ("BOOLEAN", ColumnType::Bool),
            ("DATETIME", ColumnType::DateTime { fraction: 0 }),
            ("STRING", ColumnType::Int { bits: 64, unsigned: false }),
        ] {
            assert_eq!(sqlite_declared(text).data_type, data_type, "{text}");
        }
        assert_eq!(sqlite_declared("VARCHAR(20)").max_length, Some(20));
        assert_eq!(sqlite_declared("TEXT").max_length, None);
    }

    #[test]
    fn the_rowid_is_counted_by_sqlite() {
        let key = |declared_type: &str| SqliteColumn {
            name: "id".into(),
            declared_type: declared_type.into(),
            primary_key_place: 1,
            ..Default::default()
        };
        let columns = sqlite_columns(&[key("INTEGER")], &[], false);
        assert!(columns[0].auto_increment && columns[0].unique && columns[0].in_primary_key && !columns[0].nullable);
        assert!(!sqlite_columns(&[key("INTEGER")], &[], true)[0].auto_increment, "WITHOUT ROWID has no rowid");
        assert!(!sqlite_columns(&[key("INT")], &[], false)[0].auto_increment, "only INTEGER is the rowid");
        let second = SqliteColumn { name: "b".into(), primary_key_place: 2, ..key("INTEGER") };
        let columns = sqlite_columns(&[key("INTEGER"), second], &[], false);
        assert!(columns.iter().all(|column| !column.auto_increment && !column.unique && column.in_primary_key));
    }

    #[test]
    fn sqlite_generated_columns_are_hidden() {
        for (hidden, generated) in [(0, false), (1, true), (2, true), (3, true)] {
            let column = SqliteColumn { name: "c".into(), declared_type: "INT".into(), hidden, ..Default::default() };
            assert_eq!(sqlite_columns(&[column], &[], false)[0].generated, generated);
        }
    }
}
