//! One CREATE TABLE: its name, and the template that a run's own table is made from.

use crate::schema::Dialect;
use crate::schema::lex::{Kind, Token};

use super::column::{Item, PastedColumn, PastedIndex};
use super::split::Statement;

/// Letters of a name that its replacement keeps.
const KEPT_LETTERS: usize = 24;

/// A CREATE TABLE that was pasted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastedTable {
    /// The database it is said to be in.
    pub database: Option<String>,
    /// Its name; `None` where `{table}` stands for it.
    pub name: Option<String>,
    /// The statement with placeholders.
    pub template: String,
    /// Its columns in their order.
    pub columns: Vec<PastedColumn>,
    /// Its indexes, those of single columns too; the primary key is one.
    pub indexes: Vec<PastedIndex>,
    pub checks: usize,
    /// Foreign keys, by the tables they refer to.
    pub references: Vec<String>,
    /// Whether it has partitions.
    pub has_partitions: bool,
    /// Whether its primary key is its only tree (SQLite).
    pub without_rowid: bool,
    /// The engine that it names.
    pub engine: Option<String>,
    /// Placeholders in it, without `{table}`.
    pub placeholders: Vec<String>,
    /// Names that were replaced so far.
    renamed: usize,
}

/// Why a CREATE TABLE cannot be taken.
pub type Refusal = String;

/// Where the name of the table stands in a CREATE TABLE.
struct Head {
    /// The first token after CREATE TABLE [IF NOT EXISTS].
    name: usize,
    /// The first after the name.
    after: usize,
    is_temporary: bool,
}

/// Leaves out what a statement has before it that only some servers execute.
pub fn without_leading_code<'s, 'a>(statement: &'s Statement<'a>) -> &'s [Token<'a>] {
    let mut tokens = &statement.tokens[..];
    while tokens.first().is_some_and(|token| token.kind == Kind::CodeOpen) {
        let Some(close) = tokens.iter().position(|token| token.kind == Kind::CodeClose) else { return &[] };
        tokens = &tokens[close + 1..];
    }
    tokens
}

fn head(tokens: &[Token<'_>]) -> Option<Head> {
    let is = |place: usize, word: &str| tokens.get(place).is_some_and(|token| token.is(word));
    if !is(0, "CREATE") {
        return None;
    }
    let mut at = behind(tokens, 1, &["OR", "REPLACE"]);
    let is_temporary = is(at, "TEMPORARY") || is(at, "TEMP");
    at += usize::from(is_temporary);
    if !is(at, "TABLE") {
        return None;
    }
    at = behind(tokens, at + 1, &["IF", "NOT", "EXISTS"]);
    let after = after_name(tokens, at)?;
    Some(Head { name: at, after, is_temporary })
}

/// The place behind words that may stand at a place, or that place.
fn behind(tokens: &[Token<'_>], at: usize, words: &[&str]) -> usize {
    let are_there = (at..).zip(words).all(|(place, word)| tokens.get(place).is_some_and(|token| token.is(word)));
    if are_there { at + words.len() } else { at }
}

/// The place after a name, which may have its database before it.
fn after_name(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let is_name = |place: usize| {
        tokens
            .get(place)
            .is_some_and(|token| matches!(token.kind, Kind::Word | Kind::Quoted) || token.text == "{table}")
    };
    if !is_name(at) {
        return None;
    }
    let qualified = tokens.get(at + 1).is_some_and(|token| token.is_mark('.')) && is_name(at + 2);
    Some(if qualified { at + 3 } else { at + 1 })
}

/// Whether a statement creates a table that is not SQLite's own; its database and name.
pub fn created(statement: &Statement<'_>) -> Option<(Option<String>, Option<String>)> {
    let tokens = without_leading_code(statement);
    let head = head(tokens)?;
    let name = &tokens[head.after - 1];
    let database = (head.after - head.name == 3).then(|| tokens[head.name].name());
    let name = (name.kind != Kind::Placeholder).then(|| name.name());
    let is_internal = name.as_ref().is_some_and(|name| name.to_ascii_lowercase().starts_with("sqlite_"));
    (!is_internal).then_some((database, name))
}

/// Reads a statement of which [`created`] gave a name.
///
/// # Errors
/// It is not a definition of its own, or its end is not clear.
pub fn read(text: &str, statement: &Statement<'_>, dialect: Dialect) -> Result<PastedTable, Refusal> {
    let tokens = without_leading_code(statement);
    let Some(head) = head(tokens) else { return Err("is no CREATE TABLE".into()) };
    let (database, name) = created(statement).unwrap_or_default();
    let shown = name.as_ref().map_or_else(|| "{table}".to_owned(), Clone::clone);
    refuse_what_is_no_definition(tokens, &head, &shown, statement.is_unclear())?;
    let mut table = PastedTable { database, name, ..PastedTable::default() };
    let mut edits = Edits { text, at: tokens[head.after - 1].end(), out: "CREATE TABLE {table}".into() };
    table.replace_names(&tokens[head.after..], dialect, &mut edits);
    let end = tokens.last().map_or(edits.at, Token::end);
    table.template = edits.finish(end);
    let rest = &tokens[head.after..];
    table.read_body(rest, dialect);
    let placeholders = rest.iter().filter(|token| token.kind == Kind::Placeholder && token.text != "{table}");
    table.placeholders = placeholders.map(|token| token.text.to_owned()).collect();
    Ok(table)
}

fn refuse_what_is_no_definition(
    tokens: &[Token<'_>],
    head: &Head,
    shown: &str,
    is_unclear: bool,
) -> Result<(), Refusal> {
    if head.is_temporary {
        return Err(format!("CREATE TEMPORARY TABLE {shown}: the loading connections would not see such a table"));
    }
    if is_unclear {
        return Err(format!(
            "CREATE TABLE {shown}: a quote or a comment in it does not end, or ends where servers differ"
        ));
    }
    let rest = &tokens[head.after..];
    let other = |place: usize| rest.get(place).map_or_else(String::new, Token::name);
    let in_parentheses = rest.first().is_some_and(|token| token.is_mark('('));
    let like = [0, 1].into_iter().find(|&at| rest.get(at).is_some_and(|token| token.is("LIKE")));
    if let Some(at) = like.filter(|&at| at == 0 || in_parentheses) {
        return Err(format!(
            "CREATE TABLE {shown} LIKE {}: that is no definition; give the CREATE TABLE that SHOW CREATE TABLE {} prints",
            other(at + 1),
            other(at + 1)
        ));
    }
    let mut depth = 0_i64;
    for token in rest {
        depth += token.nesting();
        if depth == 0 && (token.is("AS") || token.is("SELECT")) {
            return Err(format!(
                "CREATE TABLE {shown} ... {}: a table made by a query has its rows before the load; give its columns",
                if token.is("AS") { "AS SELECT" } else { "SELECT" }
            ));
        }
    }
    if !in_parentheses {
        return Err(format!("CREATE TABLE {shown} has no columns in parentheses"));
    }
    Ok(())
}

/// A text that is copied but for what is replaced.
struct Edits<'a> {
    text: &'a str,
    at: usize,
    out: String,
}

impl Edits<'_> {
    fn replace(&mut self, from: usize, to: usize, with: &str) {
        self.out.push_str(&self.text[self.at..from]);
        self.out.push_str(with);
        self.at = to;
    }

    fn finish(mut self, end: usize) -> String {
        self.out.push_str(&self.text[self.at..end]);
        self.out
    }
}

impl PastedTable {
    /// The columns of its primary key, in the order of the key.
    pub fn primary_key(&self) -> Vec<&PastedColumn> {
        let parts = self.indexes.iter().filter(|index| index.primary).flat_map(|index| &index.parts);
        parts
            .filter_map(|(name, _)| {
                let name = name.as_ref()?;
                self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))
            })
            .collect()
    }

    /// Whether the database counts one of its columns.
    pub fn is_counted(&self, dialect: Dialect) -> bool {
        let is_rowid = dialect == Dialect::Sqlite
            && matches!(self.primary_key()[..], [only] if only.type_name == "integer")
            && !self.without_rowid;
        is_rowid || self.columns.iter().any(|column| column.auto_increment)
    }

    /// Whether a name means this table.
    pub fn is_named(&self, name: &str) -> bool {
        self.name.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(name))
    }

    /// A placeholder for a name that has to be unique in a database.
    fn fresh_name(&mut self, old: &str) -> String {
        self.renamed += 1;
        let kept: String = old.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(KEPT_LETTERS).collect();
        format!("{{name_{}_{kept}}}", self.renamed)
    }

    /// The names of foreign keys and checks, which have one name space in a database, and the table where it refers to itself.
    fn replace_names(&mut self, tokens: &[Token<'_>], dialect: Dialect, edits: &mut Edits<'_>) {
        let is = |place: usize, word: &str| tokens.get(place).is_some_and(|token| token.is(word));
        for (place, token) in tokens.iter().enumerate() {
            let follows = |place: usize| ["FOREIGN", "CHECK", "REFERENCES"].iter().any(|word| is(place, word));
            if token.is("CONSTRAINT") && dialect == Dialect::Mysql && follows(place + 2) && !follows(place + 1) {
                let name = &tokens[place + 1];
                let fresh = self.fresh_name(&name.name());
                edits.replace(name.at, name.end(), &fresh);
            }
            if token.is("REFERENCES")
                && let Some(after) = after_name(tokens, place + 1)
            {
                let name = tokens[after - 1].name();
                let has_database = after - place == 4;
                let same_place = !has_database || self.database == Some(tokens[place + 1].name());
                if self.is_named(&name) && same_place {
                    edits.replace(tokens[place + 1].at, tokens[after - 1].end(), "{table}");
                }
                self.references.push(name);
            }
        }
    }

    fn read_body(&mut self, tokens: &[Token<'_>], dialect: Dialect) {
        let (items, options) = items(tokens);
        for item in &items {
            self.take(Item::read(item, dialect));
        }
        // MariaDB's word for a column of JSON.
        let is_json = |place: usize| tokens.get(place + 2).is_some_and(|token| token.is("json_valid"));
        let checks = tokens.iter().enumerate().filter(|(place, token)| token.is("CHECK") && !is_json(*place));
        self.checks += checks.count();
        let mut depth = 0_i64;
        for (place, token) in options.iter().enumerate() {
            depth += token.nesting();
            let next = |ahead: usize| options.get(place + ahead);
            self.without_rowid |= token.is("WITHOUT") && next(1).is_some_and(|next| next.is("ROWID"));
            self.has_partitions |= token.is("PARTITION") && next(1).is_some_and(|next| next.is("BY"));
            if depth == 0 && token.is("ENGINE") && self.engine.is_none() {
                let is_equals = next(1).is_some_and(|token| token.is_mark('='));
                self.engine = next(1 + usize::from(is_equals)).map(Token::name);
            }
        }
    }

    fn take(&mut self, item: Item) {
        match item {
            Item::Column(column, indexes) => {
                self.columns.push(*column);
                self.indexes.extend(indexes);
            }
            Item::Index(index) => self.indexes.push(index),
            Item::Other => {}
        }
    }

    /// An index that a statement of its own makes.
    pub fn add_index(&mut self, text: &str, statement: &Statement<'_>, dialect: Dialect) {
        let tokens = &statement.tokens[..];
        let Some((name, target)) = index_places(tokens) else { return };
        let first = tokens[0].at;
        let Some(after) = after_name(tokens, target) else { return };
        let mut edits = Edits { text, at: first, out: String::new() };
        if let Some(if_at) = tokens[..name].iter().position(|token| token.is("IF")) {
            // A run's own table has no index yet.
            edits.replace(tokens[if_at].at, tokens[name].at, "");
        }
        if dialect == Dialect::Sqlite && tokens[name].kind != Kind::Placeholder {
            let old = tokens[after_name(tokens, name).unwrap_or(name + 1) - 1].name();
            let fresh = self.fresh_name(&old);
            let end = tokens[after_name(tokens, name).unwrap_or(name + 1) - 1].end();
            edits.replace(tokens[name].at, end, &fresh);
        }
        edits.replace(tokens[target].at, tokens[after - 1].end(), "{table}");
        let sql = edits.finish(tokens.last().map_or(0, Token::end));
        self.template.push_str(";\n");
        self.template.push_str(&sql);
        let is_unique = tokens.get(1).is_some_and(|token| token.is("UNIQUE"));
        self.indexes.push(PastedIndex::read(&tokens[name].name(), is_unique, false, &tokens[after..]));
    }
}

/// Where name and table stand in a CREATE INDEX.
fn index_places(tokens: &[Token<'_>]) -> Option<(usize, usize)> {
    let is = |place: usize, word: &str| tokens.get(place).is_some_and(|token| token.is(word));
    if !is(0, "CREATE") {
        return None;
    }
    let mut at = behind(tokens, 1, &["OR", "REPLACE"]);
    at += usize::from(["UNIQUE", "FULLTEXT", "SPATIAL"].iter().any(|word| is(at, word)));
    if !is(at, "INDEX") {
        return None;
    }
    at = behind(tokens, at + 1, &["IF", "NOT", "EXISTS"]);
    let on = tokens.iter().skip(at + 1).position(|token| token.is("ON"))? + at + 1;
    (on + 1 < tokens.len()).then_some((at, on + 1))
}

/// The table for which a statement makes an index.
pub fn indexed(statement: &Statement<'_>) -> Option<String> {
    let (_, target) = index_places(&statement.tokens)?;
    let after = after_name(&statement.tokens, target)?;
    Some(statement.tokens[after - 1].name())
}

/// The items between the parentheses, and what follows them. What only some servers execute counts as said.
fn items<'s, 'a>(tokens: &'s [Token<'a>]) -> (Vec<Vec<Token<'a>>>, &'s [Token<'a>]) {
    let mut items = vec![Vec::new()];
    let mut depth = 0_i64;
    for (place, token) in tokens.iter().enumerate() {
        let opens = token.is_mark('(');
        depth += token.nesting();
        if depth == 0 {
            return (items, &tokens[place + 1..]);
        }
        if depth == 1 && token.is_mark(',') {
            items.push(Vec::new());
            continue;
        }
        let is_item = depth > 1 || !opens;
        let is_bracket = matches!(token.kind, Kind::CodeOpen | Kind::CodeClose);
        if let Some(item) = items.last_mut().filter(|_| is_item && !is_bracket) {
            item.push(*token);
        }
    }
    (items, &[])
}
