//! DDL templates: rowcliff's own and a user's, which go through the same function.

use crate::key::Storage;

use super::Dialect;
use super::lex::{Kind, Lexer};

/// The type of a UUID key's column; `None` where the dialect has none for this storage.
///
/// Text keys name a character set of one byte and a binary collation: with utf8mb4 the server would reserve four
/// bytes for each digit, and a case-insensitive collation would be measured with every comparison.
pub fn key_type(dialect: Dialect, storage: Storage) -> Option<&'static str> {
    match (dialect, storage) {
        (Dialect::Mysql, Storage::Char32) => Some("CHAR(32) CHARACTER SET latin1 COLLATE latin1_bin"),
        (Dialect::Mysql, Storage::Char36) => Some("CHAR(36) CHARACTER SET latin1 COLLATE latin1_bin"),
        (Dialect::Mysql, Storage::Binary16) => Some("BINARY(16)"),
        (Dialect::Mysql, Storage::Native) => Some("UUID"),
        (Dialect::Sqlite, Storage::Char32 | Storage::Char36) => Some("TEXT"),
        (Dialect::Sqlite, Storage::Binary16) => Some("BLOB"),
        (Dialect::Sqlite, Storage::Native) => None,
    }
}

/// The type of a key that the database counts: 64 bits, so that no run reaches its end.
fn counted_type(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Mysql => "BIGINT UNSIGNED",
        // What makes a column the rowid itself.
        Dialect::Sqlite => "INTEGER",
    }
}

/// What the placeholders of a template stand for.
#[derive(Debug, Clone, Copy)]
pub struct TemplateValues<'a> {
    /// How quotes and comments are read.
    pub dialect: Dialect,
    /// `{table}`: the table's name, already quoted.
    pub table: &'a str,
    /// `{index}`: the name of an index that is made by a statement of its own, already quoted. SQLite's indexes have
    /// one name space in a database, so it has to follow the table's name.
    pub index: &'a str,
    /// `{key_type}`: the type of the key column ([`key_type`]); `None` for `autoinc`. `{key}` is the whole definition of
    /// the column, for `autoinc` too.
    pub key_type: Option<&'a str>,
    /// `{options}`: what follows the closing parenthesis, as in `ENGINE=InnoDB COMMENT='...'`; may be empty.
    pub options: &'a str,
}

/// Why a template cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// A placeholder that means nothing.
    #[error("{{{name}}} is not a placeholder; known are {{table}}, {{index}}, {{key}}, {{key_type}} and {{options}}")]
    UnknownPlaceholder { name: String },
    /// `{key_type}` where the key has no type of its own.
    #[error("{{key_type}} is the type of a UUID key, and the key of this cell is not one; {{key}} stands for any key")]
    NoKeyType,
    /// A quote or a comment whose end is not clear.
    #[error("{statement} has a quote or a comment that does not end, or ends where servers differ")]
    Unclear { statement: String },
    /// Not exactly one CREATE TABLE.
    #[error("a schema has exactly one CREATE TABLE, and this one has {count}")]
    CreateTables {
        /// How many it has.
        count: usize,
    },
    /// A statement without the table's name.
    #[error("{statement} does not name {{table}}, which stands for the name of the run's own table")]
    TableNotNamed { statement: String },
    /// A statement that a schema may not have.
    #[error("{statement} cannot be part of a schema: {why}")]
    Refused { statement: String, why: &'static str },
}

/// Fills a template in; statements are separated by `;` and a line break.
///
/// # Errors
/// See [`render_statements`].
pub fn render(template: &str, values: &TemplateValues<'_>) -> Result<String, SchemaError> {
    Ok(render_statements(template, values)?.join(";\n"))
}

/// Fills a template in and gives its statements one by one: CREATE TABLE, and CREATE INDEX where an index is made
/// on its own.
///
/// Placeholders in quotes and comments are left alone, and comments are dropped (not the `/*! */` of MySQL, which is
/// code). Where `{options}` is missing, the options go to the end of CREATE TABLE, or before its PARTITION BY.
///
/// # Errors
/// A placeholder that means nothing, not exactly one CREATE TABLE, a statement without `{table}`, and statements that
/// would touch something other than the run's own table.
pub fn render_statements(template: &str, values: &TemplateValues<'_>) -> Result<Vec<String>, SchemaError> {
    let statements = statements(template, values)?;
    let mut rendered = Vec::with_capacity(statements.len());
    let mut create_tables = 0;
    for statement in statements {
        create_tables += usize::from(statement.kind()? == Makes::CreateTable);
        if !statement.names_table {
            return Err(SchemaError::TableNotNamed { statement: statement.head() });
        }
        rendered.push(statement.with_options(values.options)?);
    }
    if create_tables != 1 {
        return Err(SchemaError::CreateTables { count: create_tables });
    }
    Ok(rendered)
}

#[derive(Debug, PartialEq, Eq)]
enum Makes {
    CreateTable,
    CreateIndex,
}

/// A statement, filled in, and the words that stand outside quotes and parentheses.
#[derive(Debug, Default)]
struct Statement {
    sql: String,
    words: Vec<(String, usize)>,
    depth: u32,
    names_table: bool,
    names_options: bool,
    /// Where the comment began that is being read and that a server executes.
    code: Option<usize>,
}

impl Statement {
    /// The first words, for messages.
    fn head(&self) -> String {
        let mut head: Vec<&str> = self.sql.split_ascii_whitespace().take(4).collect();
        if self.sql.split_ascii_whitespace().count() > 4 {
            head.push("...");
        }
        format!("{:?}", head.join(" "))
    }

    fn word(&self, place: usize) -> &str {
        self.words.get(place).map_or("", |(word, _)| word)
    }

    fn kind(&self) -> Result<Makes, SchemaError> {
        let refuse = |why| Err(SchemaError::Refused { statement: self.head(), why });
        match (self.word(0), self.word(1), self.word(2)) {
            ("CREATE", "TABLE", "IF") => refuse("a table that is already there would be taken for a fresh one"),
            ("CREATE", "TABLE", _) => Ok(Makes::CreateTable),
            ("CREATE", "OR", "REPLACE") => refuse("it would drop a table that the run did not make"),
            ("CREATE", "TEMPORARY" | "TEMP", _) => refuse("the loading connections would not see the table"),
            ("CREATE", "INDEX", _) | ("CREATE", "UNIQUE" | "FULLTEXT" | "SPATIAL", "INDEX") => Ok(Makes::CreateIndex),
            _ => refuse("only CREATE TABLE and CREATE INDEX are"),
        }
    }

    fn with_options(self, options: &str) -> Result<String, SchemaError> {
        let is_table = self.kind()? == Makes::CreateTable;
        let mut sql = self.sql;
        if is_table && !self.names_options && !options.is_empty() {
            let partition =
                self.words.windows(2).find(|pair| pair[0].0 == "PARTITION" && pair[1].0 == "BY").map(|pair| pair[0].1);
            match partition {
                Some(at) => sql.insert_str(at, &format!("{options} ")),
                None => {
                    sql.truncate(sql.trim_end().len());
                    sql.push(' ');
                    sql.push_str(options);
                }
            }
        }
        Ok(sql.trim().to_owned())
    }

    fn push_word(&mut self, word: &str) {
        if self.depth == 0 {
            // What is put before a word goes before the comment that it stands in.
            self.words.push((word.to_ascii_uppercase(), self.code.unwrap_or(self.sql.len())));
        }
        self.sql.push_str(word);
    }
}

/// The statements of a template, filled in.
fn statements(template: &str, values: &TemplateValues<'_>) -> Result<Vec<Statement>, SchemaError> {
    let mut statements = Vec::new();
    let mut current = Statement::default();
    for token in Lexer::new(template, values.dialect) {
        match token.kind {
            Kind::Comment => current.sql.push(' '),
            Kind::Delimiter => statements.push(std::mem::take(&mut current)),
            Kind::Placeholder => fill_in(&token.text[1..token.text.len() - 1], values, &mut current)?,
            Kind::Word => current.push_word(token.text),
            Kind::CodeOpen => {
                current.code = Some(current.sql.len());
                current.sql.push_str(token.text);
            }
            Kind::CodeClose => {
                current.code = None;
                current.sql.push_str(token.text);
            }
            Kind::Punctuation => {
                match token.text {
                    "(" => current.depth += 1,
                    ")" => current.depth = current.depth.saturating_sub(1),
                    _ => {}
                }
                current.sql.push_str(token.text);
            }
            Kind::Unclear => return Err(SchemaError::Unclear { statement: current.head() }),
            Kind::Space | Kind::Quoted => current.sql.push_str(token.text),
        }
    }
    statements.push(current);
    // The comment at the end of a file, and the space after the last semicolon, are no statements.
    statements.retain(|statement| !statement.sql.trim().is_empty());
    Ok(statements)
}

fn fill_in(name: &str, values: &TemplateValues<'_>, statement: &mut Statement) -> Result<(), SchemaError> {
    let with_suffix;
    let value = match name {
        "table" => {
            statement.names_table = true;
            values.table
        }
        "index" => values.index,
        "key" => {
            with_suffix = key_column(values.dialect, values.key_type);
            &with_suffix
        }
        "key_type" => values.key_type.ok_or(SchemaError::NoKeyType)?,
        "options" => {
            statement.names_options = true;
            values.options
        }
        _ => match name.strip_prefix("name_") {
            Some(suffix) => {
                with_suffix = suffixed(values.table, suffix);
                &with_suffix
            }
            None => return Err(SchemaError::UnknownPlaceholder { name: name.into() }),
        },
    };
    statement.sql.push_str(value);
    Ok(())
}

/// The whole definition of a key column, without PRIMARY KEY.
fn key_column(dialect: Dialect, key_type: Option<&str>) -> String {
    match (key_type, dialect) {
        (Some(key_type), _) => format!("{key_type} NOT NULL"),
        (None, Dialect::Mysql) => format!("{} NOT NULL AUTO_INCREMENT", counted_type(dialect)),
        // As the primary key of a table with a rowid it is the rowid, which SQLite counts.
        (None, Dialect::Sqlite) => format!("{} NOT NULL", counted_type(dialect)),
    }
}

/// The table's quoted name with more to it, so that it is as unique as that one. MySQL's names have 64 characters.
fn suffixed(table: &str, suffix: &str) -> String {
    let mut chars = table.chars();
    let quote = chars.next_back().unwrap_or_default();
    let mut name = format!("{}_{suffix}", chars.as_str());
    let longest = name.char_indices().nth(65).map_or(name.len(), |(at, _)| at);
    name.truncate(longest);
    name.push(quote);
    name
}

/// The name that a constraint has in the text it was pasted from: a copy's is that of its table with a number and the old one
/// behind it.
pub fn pasted_name<'a>(quoted_table: &str, name: &'a str) -> &'a str {
    let table = quoted_table.trim_matches(['`', '"']);
    let behind = name.strip_prefix(table).and_then(|rest| rest.strip_prefix('_')).and_then(|rest| rest.split_once('_'));
    match behind {
        Some((number, old)) if !old.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => old,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_constraint_is_called_what_its_text_calls_it() {
        let copied = suffixed("`rowcliff_x_1`", "12_v_small");
        assert_eq!(pasted_name("`rowcliff_x_1`", copied.trim_matches('`')), "v_small");
        for own in ["v_small", "rowcliff_x_1", "rowcliff_x_1_", "rowcliff_x_1_small", "rowcliff_x_1_1_"] {
            assert_eq!(pasted_name("`rowcliff_x_1`", own), own);
        }
    }

    const VALUES: TemplateValues<'_> = TemplateValues {
        dialect: Dialect::Mysql,
        table: "`rowcliff_x`",
        index: "`rowcliff_x_id2`",
        key_type: Some("BINARY(16)"),
        options: "ENGINE=InnoDB",
    };

    fn fill(template: &str) -> Result<String, SchemaError> {
        render(template, &VALUES)
    }

    #[test]
    fn key_types_are_what_keeps_a_uuid_whole() {
        for storage in crate::key::STORAGES.map(|entry| entry.storage) {
            let text = key_type(Dialect::Mysql, storage).unwrap();
            // Raw bytes in CHAR lose trailing 0x20; utf8mb4 quadruples the key.
            assert_eq!(text.starts_with("BINARY(16)"), storage == Storage::Binary16);
            assert_eq!(text.contains("latin1_bin"), text.starts_with("CHAR("));
        }
        assert_eq!(key_type(Dialect::Sqlite, Storage::Native), None);
    }

    #[test]
    fn options_go_where_they_belong() {
        assert_eq!(fill("CREATE TABLE {table} (a INT)").unwrap(), "CREATE TABLE `rowcliff_x` (a INT) ENGINE=InnoDB");
        assert_eq!(fill("create table {table} (a INT);\n").unwrap(), "create table `rowcliff_x` (a INT) ENGINE=InnoDB");
        assert_eq!(
            fill("CREATE TABLE {table} (a INT) {options} ROW_FORMAT=DYNAMIC").unwrap(),
            "CREATE TABLE `rowcliff_x` (a INT) ENGINE=InnoDB ROW_FORMAT=DYNAMIC"
        );
        assert_eq!(
            fill("CREATE TABLE {table} (d DATE, PRIMARY KEY (d))\nPARTITION BY RANGE (YEAR(d)) (PARTITION a VALUES LESS THAN (2030))")
                .unwrap(),
            "CREATE TABLE `rowcliff_x` (d DATE, PRIMARY KEY (d))\nENGINE=InnoDB PARTITION BY RANGE (YEAR(d)) (PARTITION a VALUES LESS THAN (2030))"
        );
        let bare = TemplateValues { options: "", ..VALUES };
        assert_eq!(render("CREATE TABLE {table} (a INT)", &bare).unwrap(), "CREATE TABLE `rowcliff_x` (a INT)");
    }

    #[test]
    fn quotes_and_comments_are_not_touched() {
        let sql =
            fill("CREATE TABLE {table} (a JSON DEFAULT '{}', b INT COMMENT 'it\\'s {table}; {x}', `{y}` INT)").unwrap();
        assert!(sql.contains("'{}'") && sql.contains("'it\\'s {table}; {x}'") && sql.contains("`{y}`"), "{sql}");
        let sql =
            fill("-- {nonsense}; CREATE TABLE\n# {more}\nCREATE TABLE {table} (a INT /* {z} */ /*!50100 DEFAULT 1 */)")
                .unwrap();
        assert!(!sql.contains("nonsense") && !sql.contains("more") && !sql.contains("{z}"), "{sql}");
        assert!(sql.contains("/*!50100 DEFAULT 1 */"), "{sql}");
        assert!(fill("-- {table}\nCREATE TABLE t (a INT)").is_err(), "a comment does not name the table");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message = |template: &str| fill(template).unwrap_err().to_string();
        assert!(message("CREATE TABLE {table} (a {type})").contains("{type} is not a placeholder"));
        assert!(message("CREATE TABLE t (a INT)").contains("{table}"));
        assert!(message("").contains("exactly one CREATE TABLE, and this one has 0"));
        assert!(message("CREATE TABLE {table} (a INT); CREATE TABLE {table} (b INT)").contains("has 2"));
        assert!(message("DROP TABLE {table}").contains("only CREATE TABLE and CREATE INDEX"));
        assert!(message("CREATE TABLE IF NOT EXISTS {table} (a INT)").contains("fresh"));
        assert!(message("CREATE OR REPLACE TABLE {table} (a INT)").contains("drop a table"));
        assert!(message("CREATE TEMPORARY TABLE {table} (a INT)").contains("would not see"));
        assert!(message("CREATE TABLE {table} (a INT); CREATE INDEX i ON other (a)").contains("does not name {table}"));
        let autoinc = TemplateValues { key_type: None, ..VALUES };
        assert_eq!(render("CREATE TABLE {table} (a {key_type})", &autoinc), Err(SchemaError::NoKeyType));
    }

    #[test]
    fn the_key_is_a_whole_column_definition() {
        let of = |dialect, key_type| {
            render("CREATE TABLE {table} (a {key})", &TemplateValues { dialect, key_type, options: "", ..VALUES })
                .unwrap()
        };
        assert!(of(Dialect::Mysql, None).ends_with("(a BIGINT UNSIGNED NOT NULL AUTO_INCREMENT)"));
        assert!(of(Dialect::Mysql, Some("BINARY(16)")).ends_with("(a BINARY(16) NOT NULL)"));
        assert!(of(Dialect::Sqlite, None).ends_with("(a INTEGER NOT NULL)"));
        assert!(of(Dialect::Sqlite, Some("BLOB")).ends_with("(a BLOB NOT NULL)"));
    }

    #[test]
    fn an_index_of_its_own_is_a_second_statement() {
        let statements =
            render_statements("CREATE TABLE {table} (a INT);\nCREATE UNIQUE INDEX {index} ON {table} (a);", &VALUES)
                .unwrap();
        assert_eq!(
            statements,
            [
                "CREATE TABLE `rowcliff_x` (a INT) ENGINE=InnoDB",
                "CREATE UNIQUE INDEX `rowcliff_x_id2` ON `rowcliff_x` (a)"
            ]
        );
    }
}
