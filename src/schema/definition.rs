//! What the text of a CREATE TABLE tells beyond the columns: checks, expressions of generated columns, periods, partitions, where
//! AUTO_INCREMENT begins.
//!
//! The text is the database's own (SHOW CREATE TABLE, `sqlite_schema.sql`), read just far enough to find these. What is not
//! understood is left out: the trial of a cell, which sends rows, has the last word.

use super::Column;
use super::tokens::{Kind, Token, tokens, unquoted};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name, where it has one.
    pub name: Option<String>,
    /// The column in whose definition it stands.
    pub column: Option<String>,
    /// Its expression, without the outer parentheses.
    pub expression: String,
}

/// An application-time period: its start is before its end in every row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    pub name: String,
    /// The column where it starts.
    pub start: String,
    /// The column where it ends.
    pub end: String,
}

/// How a table is cut into partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partitioning {
    /// `RANGE`, `LIST`, `HASH`, `KEY` ...
    pub method: String,
    /// What the rows are cut by.
    pub expression: String,
    /// The last `LESS THAN`, where it is a number; `None` for MAXVALUE, and for anything else.
    pub last_bound: Option<i128>,
}

/// What a CREATE TABLE tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definition {
    /// The checks that are enforced.
    pub checks: Vec<Check>,
    /// Generated columns and their expressions.
    pub generated: Vec<(String, String)>,
    pub periods: Vec<Period>,
    /// Names of the unique indexes with WITHOUT OVERLAPS; empty names for those without one.
    pub without_overlaps: Vec<String>,
    /// The first value of the column that the database counts, where it is not 1.
    pub auto_increment: Option<u64>,
    pub partitioning: Option<Partitioning>,
    /// Whether rows that are removed stay in the table as history.
    pub is_versioned: bool,
}

impl Definition {
    /// Reads a CREATE TABLE statement.
    pub fn parse(sql: &str) -> Self {
        let all = tokens(sql);
        let mut found = Self::default();
        let Some(open) = all.iter().position(|token| token.is_symbol('(')) else { return found };
        let close = closing(&all, open);
        for item in split(&all[open + 1..close], open_depth(&all, open)) {
            found.item(sql, item);
        }
        found.options(sql, all.get(close + 1..).unwrap_or(&[]));
        found
    }

    /// Marks the columns with what their values have to obey.
    pub fn mark(&self, columns: &mut [Column]) {
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        for (name, expression) in &self.generated {
            let made_of = names_in(expression, &names);
            if let Some(column) = find(columns, name) {
                column.made_of = made_of.clone();
                column.expression = Some(expression.clone());
            }
            self.constrain(columns, &made_of);
        }
        for check in &self.checks {
            let mut named = names_in(&check.expression, &names);
            named.extend(check.column.clone());
            self.constrain(columns, &named);
        }
        if let Some(partitioning) = &self.partitioning {
            self.constrain(columns, &names_in(&partitioning.expression, &names));
        }
        for period in &self.periods {
            for (name, ends) in [(&period.start, false), (&period.end, true)] {
                if let Some(column) = find(columns, name) {
                    column.period = Some(ends);
                    column.constrained = true;
                }
            }
        }
    }

    fn constrain(&self, columns: &mut [Column], names: &[String]) {
        for name in names {
            if let Some(column) = find(columns, name) {
                column.constrained = true;
            }
        }
    }

    /// One definition between the commas: a column, a key, a constraint, a period.
    fn item(&mut self, sql: &str, item: &[Token<'_>]) {
        let Some(first) = item.first() else { return };
        let depth = first.depth;
        let is_table_level = first.kind == Kind::Word
            && ["CONSTRAINT", "CHECK", "PRIMARY", "UNIQUE", "KEY", "INDEX", "FULLTEXT", "SPATIAL", "FOREIGN", "PERIOD"]
                .iter()
                .any(|word| first.is_word(word));
        if is_table_level && first.is_word("PERIOD") {
            return self.period(item);
        }
        let column = (!is_table_level).then(|| unquoted(first.text));
        let mut name = None;
        for (at, token) in item.iter().enumerate() {
            if token.depth != depth {
                continue;
            }
            let opens = item.get(at + 1).is_some_and(|next| next.is_symbol('('));
            if token.is_word("CONSTRAINT") {
                name = item.get(at + 1).filter(|next| !next.is_word("CHECK")).map(|next| unquoted(next.text));
            } else if token.is_word("CHECK") && opens {
                let (expression, end) = inside(sql, item, at + 1);
                let rest = &item[end..];
                let is_off = rest.get(1).is_some_and(|word| word.is_word("NOT"))
                    && rest.get(2).is_some_and(|word| word.is_word("ENFORCED"));
                if !is_off {
                    self.checks.push(Check { name: name.take(), column: column.clone(), expression });
                }
            } else if token.is_word("AS") && opens {
                self.generated.extend(column.clone().map(|column| (column, inside(sql, item, at + 1).0)));
            }
        }
        if is_table_level && item.windows(2).any(|two| two[0].is_word("WITHOUT") && two[1].is_word("OVERLAPS")) {
            self.without_overlaps.push(index_name(item).unwrap_or_default());
        }
    }

    fn period(&mut self, item: &[Token<'_>]) {
        let names: Vec<String> = item
            .iter()
            .filter(|token| matches!(token.kind, Kind::Word | Kind::Quoted))
            .map(|token| unquoted(token.text))
            .collect();
        // PERIOD FOR name (start, end)
        if let [_, _, name, start, end] = &names[..]
            && !name.eq_ignore_ascii_case("system_time")
        {
            self.periods.push(Period { name: name.clone(), start: start.clone(), end: end.clone() });
        }
    }

    /// What stands behind the columns.
    fn options(&mut self, sql: &str, rest: &[Token<'_>]) {
        let words: Vec<&Token<'_>> = rest.iter().filter(|token| token.depth == 0).collect();
        for (at, token) in words.iter().enumerate() {
            let next = |ahead: usize| words.get(at + ahead);
            if token.is_word("AUTO_INCREMENT") {
                let value = next(1).filter(|token| !token.is_symbol('=')).or_else(|| next(2));
                self.auto_increment = value.and_then(|value| value.text.parse().ok()).filter(|&first| first > 1);
            }
            self.is_versioned |= token.is_word("SYSTEM") && next(1).is_some_and(|next| next.is_word("VERSIONING"));
        }
        self.partitioning = partitioning(sql, rest);
    }
}

fn find<'a>(columns: &'a mut [Column], name: &str) -> Option<&'a mut Column> {
    columns.iter_mut().find(|column| column.name.eq_ignore_ascii_case(name))
}

/// The columns that an expression names.
pub fn names_in(expression: &str, columns: &[String]) -> Vec<String> {
    let tokens = tokens(expression);
    let mut found: Vec<String> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let calls = token.kind == Kind::Word && tokens.get(at + 1).is_some_and(|next| next.is_symbol('('));
        if calls || !matches!(token.kind, Kind::Word | Kind::Quoted) {
            continue;
        }
        let name = unquoted(token.text);
        if let Some(column) = columns.iter().find(|column| column.eq_ignore_ascii_case(&name))
            && !found.contains(column)
        {
            found.push(column.clone());
        }
    }
    found
}

/// The parts of a CREATE INDEX of SQLite, in order: each the text of a column or an expression.
pub fn index_parts(sql: &str) -> Vec<String> {
    let all = tokens(sql);
    let Some(open) = all.iter().position(|token| token.is_symbol('(')) else { return Vec::new() };
    let close = closing(&all, open);
    split(&all[open + 1..close], open_depth(&all, open)).into_iter().filter_map(|part| text_of(sql, part)).collect()
}

/// The depth of what stands directly within an opening parenthesis.
fn open_depth(all: &[Token<'_>], open: usize) -> u32 {
    all.get(open).map_or(1, |token| token.depth + 1)
}

/// Where the parenthesis that opens at `open` closes, or the end.
fn closing(all: &[Token<'_>], open: usize) -> usize {
    let depth = all[open].depth;
    let is_it = |token: &Token<'_>| token.is_symbol(')') && token.depth == depth;
    all[open + 1..].iter().position(is_it).map_or(all.len(), |at| open + 1 + at)
}

/// Cuts at the commas of one depth.
fn split<'a, 'b>(list: &'b [Token<'a>], depth: u32) -> Vec<&'b [Token<'a>]> {
    list.split(|token| token.is_symbol(',') && token.depth == depth).collect()
}

fn text_of(sql: &str, part: &[Token<'_>]) -> Option<String> {
    let (first, last) = (part.first()?, part.last()?);
    Some(sql.get(first.at..last.at + last.text.len())?.to_owned())
}

/// What stands within the parenthesis that opens at `open`, and where it closes.
fn inside(sql: &str, item: &[Token<'_>], open: usize) -> (String, usize) {
    let close = closing(item, open);
    (text_of(sql, &item[open + 1..close]).unwrap_or_default(), close)
}

/// The name of the index or constraint that a table-level item defines.
fn index_name(item: &[Token<'_>]) -> Option<String> {
    if item[0].is_word("PRIMARY") {
        return Some("PRIMARY".into());
    }
    let open = item.iter().position(|token| token.is_symbol('('))?;
    let is_name = |token: &&Token<'_>| {
        token.kind == Kind::Quoted
            || token.kind == Kind::Word
                && !["UNIQUE", "KEY", "INDEX", "CONSTRAINT"].iter().any(|word| token.is_word(word))
    };
    item[..open].iter().rfind(is_name).map(|token| unquoted(token.text))
}

fn partitioning(sql: &str, rest: &[Token<'_>]) -> Option<Partitioning> {
    let by = rest.windows(2).position(|two| two[0].is_word("PARTITION") && two[1].is_word("BY"))?;
    let method = rest[by + 2..].iter().find(|token| !token.is_word("LINEAR"))?.text.to_ascii_uppercase();
    let open = by + rest[by..].iter().position(|token| token.is_symbol('('))?;
    let (expression, close) = inside(sql, rest, open);
    let mut last_bound = None;
    for (at, token) in rest.iter().enumerate().skip(close) {
        if !token.is_word("THAN") {
            continue;
        }
        let open = rest.get(at + 1).is_some_and(|next| next.is_symbol('('));
        let bound = if open { inside(sql, rest, at + 1).0 } else { String::new() };
        last_bound = bound.trim().parse().ok();
    }
    Some(Partitioning { method, expression, last_bound })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::ColumnType;

    const MARIADB: &str = "CREATE TABLE `rowcliff_1` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `state` varchar(16) NOT NULL CHECK (`state` in ('open',')closed')),
  `v` int(11) NOT NULL DEFAULT (1 + 2) COMMENT 'CHECK (x)',
  `twice` bigint(20) GENERATED ALWAYS AS (`v` * 2) STORED,
  `began` timestamp(6) GENERATED ALWAYS AS ROW START,
  `s` date NOT NULL,
  `e` date NOT NULL,
  PRIMARY KEY (`id`,`p` WITHOUT OVERLAPS),
  UNIQUE KEY `u` (`v`,`p` WITHOUT OVERLAPS),
  PERIOD FOR SYSTEM_TIME (`began`, `ended`),
  PERIOD FOR `p` (`s`, `e`),
  CONSTRAINT `v_small` CHECK (`v` < 2500 and lower(`state`) <> 'x')
) ENGINE=InnoDB AUTO_INCREMENT=2147482000 DEFAULT CHARSET=latin1 COMMENT='AUTO_INCREMENT=5' WITH SYSTEM VERSIONING
 PARTITION BY RANGE (year(`s`))
(PARTITION `a` VALUES LESS THAN (1000) ENGINE = InnoDB,
 PARTITION `b` VALUES LESS THAN (2600) ENGINE = InnoDB)";

    #[test]
    fn everything_is_found_in_a_table_of_mariadb() {
        let found = Definition::parse(MARIADB);
        let check = |name: Option<&str>, column: Option<&str>, expression: &str| Check {
            name: name.map(Into::into),
            column: column.map(Into::into),
            expression: expression.into(),
        };
        assert_eq!(
            found.checks,
            [
                check(None, Some("state"), "`state` in ('open',')closed')"),
                check(Some("v_small"), None, "`v` < 2500 and lower(`state`) <> 'x'"),
            ]
        );
        assert_eq!(found.generated, [("twice".into(), "`v` * 2".into())]);
        assert_eq!(found.periods, [Period { name: "p".into(), start: "s".into(), end: "e".into() }]);
        assert_eq!(found.without_overlaps, ["PRIMARY", "u"]);
        assert_eq!(found.auto_increment, Some(2_147_482_000));
        assert!(found.is_versioned);
        let partitioning = found.partitioning.unwrap();
        assert_eq!((partitioning.method.as_str(), partitioning.last_bound), ("RANGE", Some(2600)));
        assert_eq!(partitioning.expression, "year(`s`)");
    }

    #[test]
    fn mysql_hides_what_is_new_in_comments() {
        let sql = "CREATE TABLE `t` (\n  `id` int NOT NULL AUTO_INCREMENT,\n  `v` int /*!80023 INVISIBLE */,\n  \
                   CONSTRAINT `c` CHECK ((`v` < 5)) /*!80016 NOT ENFORCED */,\n  CONSTRAINT `d` CHECK ((`v` < 7))\n) \
                   ENGINE=InnoDB\n/*!50100 PARTITION BY RANGE (`id`)\n(PARTITION a VALUES LESS THAN (10),\n PARTITION b \
                   VALUES LESS THAN MAXVALUE ENGINE = InnoDB) */";
        let found = Definition::parse(sql);
        assert_eq!(found.checks.len(), 1, "{:?}", found.checks);
        assert_eq!(found.checks[0].name.as_deref(), Some("d"));
        let partitioning = found.partitioning.unwrap();
        assert_eq!((partitioning.expression.as_str(), partitioning.last_bound), ("`id`", None));
        assert_eq!(found.auto_increment, None);
    }

    #[test]
    fn sqlite_writes_it_as_it_was_typed() {
        let sql = "CREATE TABLE \"t\" (id INTEGER PRIMARY KEY, [a b] TEXT CHECK(length([a b])<9), v INT, -- CHECK (no)
            twice INT AS (v*2) STORED UNIQUE, \"check\" TEXT, CONSTRAINT c CHECK (v>0 AND \"check\" IS NOT NULL)) STRICT";
        let found = Definition::parse(sql);
        let expressions: Vec<&str> = found.checks.iter().map(|check| check.expression.as_str()).collect();
        assert_eq!(expressions, ["length([a b])<9", "v>0 AND \"check\" IS NOT NULL"]);
        assert_eq!(found.generated, [("twice".into(), "v*2".into())]);
        let columns = ["id", "a b", "v", "twice", "check", "length"].map(str::to_owned);
        assert_eq!(names_in(expressions[0], &columns), ["a b"]);
        assert_eq!(names_in(expressions[1], &columns), ["v", "check"]);
        assert_eq!(names_in("'v' || V", &columns), ["v"]);
        let parts = index_parts("CREATE UNIQUE INDEX \"i\" ON t (lower(name), substr(a, 1, 2) DESC, b) WHERE c > (0)");
        assert_eq!(parts, ["lower(name)", "substr(a, 1, 2) DESC", "b"]);
    }

    #[test]
    fn columns_are_marked() {
        let column = |name: &str| Column::plain(name, ColumnType::Int { bits: 32, unsigned: false }, "int");
        let mut columns = ["id", "state", "v", "twice", "s", "e", "free"].map(column);
        Definition::parse(MARIADB).mark(&mut columns);
        let constrained: Vec<&str> = columns.iter().filter(|c| c.constrained).map(|c| c.name.as_str()).collect();
        assert_eq!(constrained, ["state", "v", "s", "e"]);
        assert_eq!(columns[3].made_of, ["v"]);
        assert_eq!((columns[4].period, columns[5].period, columns[6].period), (Some(false), Some(true), None));
    }

    #[test]
    fn nonsense_is_no_panic() {
        for sql in
            ["", "CREATE TABLE t", "(", "CREATE TABLE t (", "(((", "a (b CHECK", "a (b AS (", "a (PERIOD)", "a (,)x='"]
        {
            let _ = Definition::parse(sql);
            let _ = index_parts(sql);
        }
    }
}
