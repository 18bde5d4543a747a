//! A table of one's own, as it was pasted: the output of SHOW CREATE TABLE in any form, a dump, a schema of SQLite.
//!
//! Of all that stands in the text only one CREATE TABLE is taken, and the CREATE INDEX statements for it, letter by letter but for
//! the names that a run's own table may not have. Nothing else of it ever reaches a database.

mod column;
mod forms;
mod report;
mod split;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::Dialect;
use super::lex::{Kind, Lexer};

pub use column::{PastedColumn, PastedIndex};
pub use forms::decode;
pub use table::PastedTable;

/// Placeholders that a text may have.
const PLACEHOLDERS: [&str; 5] = ["{table}", "{index}", "{key}", "{key_type}", "{options}"];

/// The table that was chosen of a text, and what else stood there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pasted {
    pub table: PastedTable,
    /// How many other statements there are, by their first word.
    pub left_out: BTreeMap<String, usize>,
    /// ALTER TABLE statements for the table, whose changes it lacks.
    pub alterations: usize,
}

impl Pasted {
    /// Statements that are left out, in words: `12 INSERT, 3 SET`.
    pub fn left_out_words(&self) -> Option<(usize, String)> {
        let count = self.left_out.values().sum();
        let mut kinds: Vec<(&String, &usize)> = self.left_out.iter().collect();
        kinds.sort_by_key(|(word, count)| (std::cmp::Reverse(**count), (*word).clone()));
        let words: Vec<String> = kinds.iter().map(|(word, count)| format!("{count} {word}")).collect();
        (count > 0).then(|| (count, words.join(", ")))
    }
}

/// Takes the one table of a text, or the one of several that is named.
///
/// # Errors
/// There is none, or more than one; it is no definition of its own; a placeholder means nothing. The cause is a sentence about
/// the text.
pub fn pasted(text: &str, dialect: Dialect, name: Option<&str>) -> Result<Pasted, String> {
    let sql = forms::unwrapped(text);
    let statements = split::statements(&sql, dialect);
    let chosen = choose(&statements, name)?;
    let mut table = table::read(&sql, &statements[chosen], dialect)?;
    let own = table.name.clone();
    let is_own = |name: &str| own.as_ref().map_or(name == "{table}", |own| own.eq_ignore_ascii_case(name));
    let mut left_out = BTreeMap::new();
    let mut alterations = 0;
    for (place, statement) in statements.iter().enumerate() {
        if place == chosen {
            continue;
        }
        if table::indexed(statement).is_some_and(|target| is_own(&target)) {
            if statement.is_unclear() {
                return Err("a CREATE INDEX has a quote or a comment that does not end".into());
            }
            table.add_index(&sql, statement, dialect);
            continue;
        }
        alterations += usize::from(alters(statement).is_some_and(|target| is_own(&target)));
        *left_out.entry(statement.verb()).or_default() += 1;
    }
    check_placeholders(&table.template, dialect)?;
    Ok(Pasted { table, left_out, alterations })
}

/// The parts of a name as it is typed: `shop.orders`, with quotes where a part has a dot in it.
pub fn names(text: &str) -> Vec<String> {
    let is_quoted = text.contains('`') || text.contains('"');
    if !is_quoted {
        return text.split('.').map(str::to_owned).collect();
    }
    Lexer::new(text, Dialect::Mysql)
        .filter(|token| matches!(token.kind, Kind::Word | Kind::Quoted))
        .map(|token| token.name())
        .collect()
}

/// The table that an ALTER TABLE changes; the clauses of mysqldump that switch keys off and on are comments.
fn alters(statement: &split::Statement<'_>) -> Option<String> {
    let after = (statement.is(0, "ALTER") && statement.is(1, "TABLE")).then_some(2)?;
    let tokens = &statement.tokens;
    let qualified = tokens.get(after + 1).is_some_and(|token| token.is_mark('.'));
    tokens.get(if qualified { after + 2 } else { after }).map(super::lex::Token::name)
}

fn choose(statements: &[split::Statement<'_>], name: Option<&str>) -> Result<usize, String> {
    let tables: Vec<(usize, Option<String>, String)> = statements
        .iter()
        .enumerate()
        .filter_map(|(place, statement)| {
            let (database, name) = table::created(statement)?;
            Some((place, database, name.unwrap_or_else(|| "{table}".into())))
        })
        .collect();
    let names: Vec<&str> = tables.iter().map(|(_, _, name)| name.as_str()).collect();
    let listed = names.join(", ");
    let Some(wanted) = name else {
        return match &tables[..] {
            [(place, ..)] => Ok(*place),
            [] => Err("there is no CREATE TABLE in it".into()),
            _ => Err(format!("there are {} tables in it ({listed}); choose one with --schema-table", tables.len())),
        };
    };
    let means = |database: &Option<String>, table: &str, same: fn(&str, &str) -> bool| {
        same(table, wanted) || database.as_ref().is_some_and(|database| same(&format!("{database}.{table}"), wanted))
    };
    let exact: fn(&str, &str) -> bool = |a, b| a == b;
    for same in [exact, |a, b| a.eq_ignore_ascii_case(b)] {
        let found: Vec<usize> = tables
            .iter()
            .filter(|(_, database, table)| means(database, table, same))
            .map(|(place, ..)| *place)
            .collect();
        match found[..] {
            [] => {}
            [place] => return Ok(place),
            _ => return Err(format!("there are {} tables called {wanted} in it; leave one of them", found.len())),
        }
    }
    Err(match names.len() {
        0 => "there is no CREATE TABLE in it".into(),
        _ => format!("there is no table {wanted} in it; it has {listed}"),
    })
}

/// A placeholder that means nothing is a slip, and better known before a database is reached.
fn check_placeholders(template: &str, dialect: Dialect) -> Result<(), String> {
    for token in Lexer::new(template, dialect).filter(|token| token.kind == Kind::Placeholder) {
        if !PLACEHOLDERS.contains(&token.text) && !token.text.starts_with("{name_") {
            return Err(format!("{} is not a placeholder; known are {}", token.text, PLACEHOLDERS.join(", ")));
        }
    }
    Ok(())
}
