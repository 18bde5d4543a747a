//! Columns and indexes as a CREATE TABLE names them, before any database has seen it.

use crate::key::Storage;
use crate::schema::Dialect;
use crate::schema::lex::{Kind, Token};

/// A column of a pasted table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastedColumn {
    pub name: String,
    /// The name of its type in lower case, without what is in parentheses.
    pub type_name: String,
    /// What is in the parentheses of the type.
    pub arguments: Vec<String>,
    /// The type as it is written.
    pub type_text: String,
    /// NOT NULL, or a part of the primary key.
    pub not_null: bool,
    /// Whether the database counts it.
    pub auto_increment: bool,
    /// Whether the database computes it.
    pub generated: bool,
    /// Whether it has a default other than NULL.
    pub has_default: bool,
    /// The character set or collation that it names.
    pub charset: Option<String>,
    /// Whether a check makes it one of JSON.
    pub is_json: bool,
    /// Whether it names the key by a placeholder.
    pub is_placeholder: bool,
}

/// An index of a pasted table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastedIndex {
    /// Its name; may be empty.
    pub name: String,
    /// Whether it refuses equal values.
    pub unique: bool,
    /// Whether it is the primary key.
    pub primary: bool,
    /// Its parts: the column, or `None` for an expression, and the length of a prefix.
    pub parts: Vec<(Option<String>, Option<u64>)>,
}

/// What stands between two commas of a CREATE TABLE.
#[derive(Debug)]
pub(super) enum Item {
    Column(Box<PastedColumn>, Vec<PastedIndex>),
    Index(PastedIndex),
    Other,
}

/// Words that end the type of a column.
const AFTER_TYPE: [&str; 26] = [
    "NOT",
    "NULL",
    "DEFAULT",
    "AUTO_INCREMENT",
    "AUTOINCREMENT",
    "PRIMARY",
    "UNIQUE",
    "KEY",
    "COMMENT",
    "CHECK",
    "REFERENCES",
    "CONSTRAINT",
    "GENERATED",
    "AS",
    "CHARACTER",
    "CHARSET",
    "COLLATE",
    "ON",
    "INVISIBLE",
    "VISIBLE",
    "STORAGE",
    "COLUMN_FORMAT",
    "WITHOUT",
    "WITH",
    "COMPRESSED",
    "SRID",
];

impl Item {
    pub(super) fn read(tokens: &[Token<'_>], dialect: Dialect) -> Self {
        let is = |place: usize, word: &str| tokens.get(place).is_some_and(|token| token.is(word));
        let mut at = 0;
        if is(0, "CONSTRAINT") {
            let unnamed = ["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"].iter().any(|word| is(1, word));
            at = if unnamed { 1 } else { 2 };
        }
        // SQLite's users call a column `key`; there it is no reserved word.
        let mysql = dialect == Dialect::Mysql;
        let plain = mysql && (is(at, "KEY") || is(at, "INDEX") || is(at, "FULLTEXT") || is(at, "SPATIAL"));
        let primary = is(at, "PRIMARY");
        if primary || plain || is(at, "UNIQUE") {
            let open = tokens.iter().position(|token| token.is_mark('(')).unwrap_or(tokens.len());
            let label = tokens[at..open].iter().rev().find(|token| token.kind == Kind::Quoted || !is_keyword(token));
            let name = label.map(Token::name).unwrap_or_default();
            return Self::Index(PastedIndex::read(&name, primary || is(at, "UNIQUE"), primary, &tokens[open..]));
        }
        if at > 0 || is(0, "FOREIGN") || is(0, "CHECK") || is(0, "PERIOD") && is(1, "FOR") {
            return Self::Other;
        }
        match tokens.first() {
            Some(first) if matches!(first.kind, Kind::Word | Kind::Quoted) => {
                let (column, indexes) = column(tokens, dialect);
                Self::Column(Box::new(column), indexes)
            }
            _ => Self::Other,
        }
    }
}

fn is_keyword(token: &Token<'_>) -> bool {
    ["PRIMARY", "UNIQUE", "KEY", "INDEX", "FULLTEXT", "SPATIAL", "USING", "BTREE", "HASH", "CLUSTERED"]
        .iter()
        .any(|word| token.is(word))
        || token.kind != Kind::Word
}

fn column(tokens: &[Token<'_>], dialect: Dialect) -> (PastedColumn, Vec<PastedIndex>) {
    let mut column = PastedColumn { name: tokens[0].name(), ..PastedColumn::default() };
    let is_end = |token: &Token<'_>| AFTER_TYPE.iter().any(|word| token.is(word));
    // CHARACTER VARYING is a type, CHARACTER SET is not.
    let ends = |(place, token): (usize, &Token<'_>)| is_end(token) && !(place == 0 && token.is("CHARACTER"));
    let end = tokens[1..].iter().enumerate().position(ends).map_or(tokens.len(), |at| at + 1);
    column.read_type(&tokens[1..end]);
    let rest = &tokens[end..];
    let has = |word: &str| top_level(rest).any(|token| token.is(word));
    let pair = |first: &str, second: &str| {
        let words: Vec<&Token<'_>> = top_level(rest).collect();
        words.windows(2).any(|pair| pair[0].is(first) && pair[1].is(second))
    };
    column.is_json = rest.iter().any(|token| token.is("json_valid"));
    let is_serial = column.type_name == "serial";
    // MySQL takes KEY alone for PRIMARY KEY.
    let primary = pair("PRIMARY", "KEY") || dialect == Dialect::Mysql && has("KEY") && !has("UNIQUE");
    column.auto_increment = has("AUTO_INCREMENT") || is_serial;
    column.generated = has("AS") || has("GENERATED");
    column.not_null = pair("NOT", "NULL") || primary || is_serial;
    column.has_default = has("DEFAULT") && !pair("DEFAULT", "NULL");
    let after = |word: &str| {
        let words: Vec<&Token<'_>> = top_level(rest).collect();
        let at = words.iter().position(|token| token.is(word))?;
        words.get(at + 1).map(|token| token.name())
    };
    column.charset = after("SET").or_else(|| after("CHARSET")).or_else(|| after("COLLATE"));
    let mut indexes = Vec::new();
    if primary || has("UNIQUE") || is_serial {
        let parts = vec![(Some(column.name.clone()), None)];
        let name = if primary { "PRIMARY".to_owned() } else { column.name.clone() };
        indexes.push(PastedIndex { name, unique: true, primary, parts });
    }
    (column, indexes)
}

/// The tokens outside parentheses.
fn top_level<'s, 'a>(tokens: &'s [Token<'a>]) -> impl Iterator<Item = &'s Token<'a>> {
    let mut depth = 0_i64;
    tokens.iter().filter(move |token| {
        depth += token.nesting();
        depth == 0 && !token.is_mark(')')
    })
}

impl PastedColumn {
    fn read_type(&mut self, tokens: &[Token<'_>]) {
        let mut depth = 0_i64;
        let mut words: Vec<String> = Vec::new();
        for token in tokens {
            depth += token.nesting();
            self.is_placeholder |= token.kind == Kind::Placeholder;
            let is_mark = token.kind == Kind::Punctuation;
            match depth {
                0 if !is_mark => words.push(token.name().to_ascii_lowercase()),
                1 if !is_mark => self.arguments.push(token.name()),
                _ => {}
            }
            let glued = is_mark || self.type_text.is_empty() || self.type_text.ends_with(['(', ',']);
            if !glued {
                self.type_text.push(' ');
            }
            self.type_text.push_str(token.text);
        }
        words.retain(|word| !matches!(word.as_str(), "unsigned" | "signed" | "zerofill"));
        self.type_name = words.join(" ");
    }

    /// The first number in the parentheses of its type.
    pub fn length(&self) -> Option<u64> {
        self.arguments.first()?.parse().ok()
    }

    /// The storages in which it keeps a UUID whole, the one that people mean by such a column first.
    pub fn uuid_storages(&self, dialect: Dialect) -> Vec<Storage> {
        let length = self.length();
        let at_least = |bytes: u64| length.is_none_or(|length| length >= bytes);
        let mut storages = Vec::new();
        let is_text = match dialect {
            Dialect::Mysql => matches!(
                self.type_name.as_str(),
                "char"
                    | "character"
                    | "nchar"
                    | "varchar"
                    | "character varying"
                    | "nvarchar"
                    | "tinytext"
                    | "text"
                    | "mediumtext"
                    | "longtext"
            ),
            Dialect::Sqlite => ["char", "text", "clob"].iter().any(|word| self.type_name.contains(word)),
        };
        // CHAR without a length holds one character.
        let is_one = dialect == Dialect::Mysql && length.is_none() && !self.type_name.ends_with("text");
        if is_text && !is_one {
            storages.extend(at_least(36).then_some(Storage::Char36));
            storages.extend(at_least(32).then_some(Storage::Char32));
        }
        match (self.type_name.as_str(), dialect) {
            ("binary", _) if length == Some(16) || dialect == Dialect::Sqlite && length.is_none() => {
                storages.push(Storage::Binary16);
            }
            ("varbinary" | "blob" | "tinyblob" | "mediumblob" | "longblob", _) if at_least(16) => {
                storages.push(Storage::Binary16);
            }
            ("", Dialect::Sqlite) => storages.push(Storage::Binary16),
            ("uuid", Dialect::Mysql) => storages.push(Storage::Native),
            ("uuid", Dialect::Sqlite) => storages.push(Storage::Char36),
            _ => {}
        }
        storages
    }
}

impl PastedIndex {
    pub(super) fn read(name: &str, unique: bool, primary: bool, tokens: &[Token<'_>]) -> Self {
        let mut parts = Vec::new();
        let mut depth = 0_i64;
        let mut part: Vec<&Token<'_>> = Vec::new();
        for token in tokens {
            let before = depth;
            depth += token.nesting();
            if before == 0 && depth == 1 {
                continue;
            }
            let ends = before == 1 && (depth == 0 || token.is_mark(','));
            if ends {
                parts.push(index_part(&std::mem::take(&mut part)));
            } else if before > 0 {
                part.push(token);
            }
            if before == 1 && depth == 0 {
                break;
            }
        }
        let name = if primary { "PRIMARY" } else { name };
        Self { name: name.to_owned(), unique, primary, parts }
    }
}

/// A column, with the length of its prefix; an expression has no name.
fn index_part(tokens: &[&Token<'_>]) -> (Option<String>, Option<u64>) {
    let is_order = |token: &Token<'_>| ["ASC", "DESC", "COLLATE"].iter().any(|word| token.is(word));
    match tokens {
        [name] => (Some(name.name()), None),
        [name, order, ..] if is_order(order) => (Some(name.name()), None),
        [name, open, length, close, ..] if open.is_mark('(') && close.is_mark(')') => match length.text.parse() {
            Ok(length) => (Some(name.name()), Some(length)),
            Err(_) => (None, None),
        },
        _ => (None, None),
    }
}
