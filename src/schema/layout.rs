//! The columns and indexes of a table, read from its definition: for people, and to tell whether two tables are the same.

use super::template::pasted_name;

/// A table without its name, engine and options. Words are as the database prints them, except for what servers print
/// differently of the same table: quotes, display widths, names of indexes, a collation that is the character set's own. What a copy
/// is called in one database, and its constraints after it, is no part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// The definitions of the columns of the primary key, and whether SQLite keeps the rows in its tree.
    pub key: Vec<String>,
    /// Those of the other columns.
    pub columns: Vec<String>,
    /// Indexes and constraints, the primary key first.
    pub indexes: Vec<String>,
}

impl Layout {
    /// Of the statements that make a table: CREATE TABLE, and CREATE INDEX where there are some. `None` where the text has no
    /// list of columns.
    pub fn of(sql: &str) -> Option<Self> {
        let (body, rest) = in_parentheses(sql)?;
        let head = cleaned(sql.split('(').next().unwrap_or_default());
        let own = head.rsplit([' ', '.']).next().unwrap_or_default();
        let (mut columns, mut indexes) = (Vec::new(), Vec::new());
        for entry in split(body, ',')
            .iter()
            .map(|entry| without_own_name(&cleaned(entry), own))
            .filter(|entry| !entry.is_empty())
        {
            match is_index(&entry) {
                true => indexes.push(without_name(&entry)),
                false => columns.push(without_defaults(&entry)),
            }
        }
        let statements = split(rest, ';');
        for statement in statements.iter().skip(1) {
            let Some((columns, _)) = in_parentheses(statement) else { continue };
            let unique = statement.trim_start().to_ascii_uppercase().starts_with("CREATE UNIQUE");
            indexes.push(format!("{}KEY ({})", if unique { "UNIQUE " } else { "" }, cleaned(columns)));
        }
        let names = key_names(&columns, &indexes);
        let is_key = |column: &String| names.iter().any(|name| name.eq_ignore_ascii_case(first_word(column)));
        let (mut key, columns): (Vec<String>, Vec<String>) = columns.into_iter().partition(is_key);
        if statements.first().is_some_and(|options| options.to_ascii_uppercase().contains("WITHOUT ROWID")) {
            key.push("WITHOUT ROWID".into());
        }
        indexes.sort_by_key(|index| !index.starts_with("PRIMARY"));
        Some(Self { key, columns, indexes })
    }

    /// All but the columns of the key, in one line.
    pub fn beside_the_key(&self) -> String {
        let parts = [self.columns.join(", "), self.indexes.join(", ")];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    }

    /// What two tables do not have in common, as lines of the first and of the second. Columns of the key are left out where
    /// the keys are not meant to be the same, and indexes where one of the two does not tell them.
    pub fn apart(&self, other: &Self, with_key: bool, with_indexes: bool) -> (Vec<String>, Vec<String>) {
        let lines = |layout: &Self| -> Vec<String> {
            let key = layout.key.iter().filter(|_| with_key);
            let indexes = layout.indexes.iter().filter(|_| with_indexes);
            key.chain(&layout.columns).chain(indexes).cloned().collect()
        };
        let (here, there) = (lines(self), lines(other));
        let only = |one: &[String], other: &[String]| {
            one.iter().filter(|line| !other.iter().any(|known| known.eq_ignore_ascii_case(line))).cloned().collect()
        };
        (only(&here, &there), only(&there, &here))
    }
}

/// The text in the first parentheses and what follows them. Quotes are respected.
fn in_parentheses(sql: &str) -> Option<(&str, &str)> {
    let (mut depth, mut from, mut quote) = (0_usize, 0, None);
    for (at, byte) in sql.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) => quote = Some(open).filter(|open| *open != byte),
            (None, b'\'' | b'"' | b'`') => quote = Some(byte),
            (None, b'(') => {
                depth += 1;
                if depth == 1 {
                    from = at + 1;
                }
            }
            (None, b')') if depth == 1 => return Some((&sql[from..at], &sql[at + 1..])),
            (None, b')') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// The parts between a character that stands outside quotes and parentheses.
fn split(sql: &str, by: char) -> Vec<&str> {
    let (mut depth, mut from, mut quote, mut parts) = (0_usize, 0, None, Vec::new());
    for (at, c) in sql.char_indices() {
        match (quote, c) {
            (Some(open), _) => quote = Some(open).filter(|open| *open != c),
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, _) if c == by && depth == 0 => {
                parts.push(&sql[from..at]);
                from = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&sql[from..]);
    parts
}

/// One space between words, and no quotes around names.
fn cleaned(text: &str) -> String {
    let bare: String = text.chars().filter(|c| !matches!(c, '`' | '"')).collect();
    bare.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// With the names that constraints have where they were copied from, and without that of the table.
fn without_own_name(entry: &str, own: &str) -> String {
    let mut before = "";
    let words = entry.split(' ').map(|word| {
        let after = std::mem::replace(&mut before, word);
        let behind = word.strip_prefix(own).filter(|behind| behind.is_empty() || behind.starts_with('('));
        match behind {
            _ if after.eq_ignore_ascii_case("CONSTRAINT") => pasted_name(own, word).to_owned(),
            Some(behind) if after.eq_ignore_ascii_case("REFERENCES") => format!("itself{behind}"),
            _ => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn first_word(text: &str) -> &str {
    text.split([' ', '(']).next().unwrap_or(text)
}

fn is_index(entry: &str) -> bool {
    const WORDS: [&str; 10] =
        ["PRIMARY", "KEY", "INDEX", "UNIQUE", "FULLTEXT", "SPATIAL", "CONSTRAINT", "FOREIGN", "CHECK", "PERIOD"];
    // A column may be called `key`; its type follows, and no parenthesis or name with one.
    let is_listed = WORDS.iter().any(|word| first_word(entry).eq_ignore_ascii_case(word));
    is_listed && entry.contains('(')
}

/// `KEY (a)` of `KEY name (a)`: names of indexes differ from run to run where a database has one name space for them.
fn without_name(entry: &str) -> String {
    let Some((words, columns)) = entry.split_once('(') else { return entry.to_owned() };
    let upper = words.to_ascii_uppercase();
    let kind = ["PRIMARY KEY", "UNIQUE KEY", "UNIQUE INDEX", "FULLTEXT KEY", "SPATIAL KEY", "KEY", "INDEX", "UNIQUE"]
        .into_iter()
        .find(|kind| upper.starts_with(kind));
    kind.map_or_else(|| entry.to_owned(), |kind| format!("{} ({columns}", kind.replace("INDEX", "KEY")))
}

/// Without what one server prints and another one does not.
fn without_defaults(column: &str) -> String {
    let mut out = column.to_owned();
    for (word, by) in [(" COLLATE latin1_swedish_ci", ""), (" DEFAULT NULL", ""), (" COLLATE uca1400_ai_ci", "")] {
        out = out.replace(word, by);
    }
    for kind in ["tinyint", "smallint", "mediumint", "bigint", "int"] {
        let Some(at) = out.find(&format!(" {kind}(")) else { continue };
        let open = at + 1 + kind.len();
        if let Some(close) = out[open..].find(')') {
            out.replace_range(open..=open + close, "");
        }
    }
    out
}

/// The names of the columns of the primary key.
fn key_names(columns: &[String], indexes: &[String]) -> Vec<String> {
    let inline = columns.iter().filter(|column| column.to_ascii_uppercase().contains("PRIMARY KEY"));
    let listed = indexes.iter().find_map(|index| index.strip_prefix("PRIMARY KEY ("));
    let names = listed.map(|rest| rest.split(')').next().unwrap_or(rest)).into_iter().flat_map(|list| list.split(','));
    inline.map(|column| first_word(column).to_owned()).chain(names.map(|name| name.trim().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARIADB: &str = "CREATE TABLE `rowcliff_1_1` (\n  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,\n  `id2` int(11) NOT NULL,\n  \
                           `id3` int(11) DEFAULT NULL,\n  `mail` text CHARACTER SET latin1 COLLATE latin1_swedish_ci NOT NULL,\n  \
                           PRIMARY KEY (`id`),\n  KEY `id2` (`id2`)\n) ENGINE=InnoDB COMMENT='run; (1), x'";
    const MYSQL: &str = "CREATE TABLE `rowcliff_2_7` (\n  `id` bigint unsigned NOT NULL AUTO_INCREMENT,\n  `id2` int NOT NULL,\n  `id3` int \
                         DEFAULT NULL,\n  `mail` text CHARACTER SET latin1 NOT NULL,\n  PRIMARY KEY (`id`),\n  KEY `id2` (`id2`)\n) ENGINE=MyISAM";

    #[test]
    fn copies_of_one_table_in_two_runs_are_one_table() {
        let copy = |name: &str| {
            Layout::of(&format!(
                "CREATE TABLE `{name}` (\n  `id` int NOT NULL,\n  `total` int NOT NULL,\n  `parent` int DEFAULT NULL,\n  \
                 PRIMARY KEY (`id`),\n  KEY `p` (`parent`),\n  CONSTRAINT `{name}_1_pos` CHECK (`total` >= 0),\n  \
                 CONSTRAINT `{name}_2_up` FOREIGN KEY (`parent`) REFERENCES `{name}` (`id`)\n) ENGINE=InnoDB"
            ))
            .unwrap()
        };
        assert_eq!(copy("rowcliff_20261201114324_899a_1"), copy("rowcliff_20261201120000_1234_3"));
        assert_eq!(
            copy("t").indexes[2..],
            ["CONSTRAINT pos CHECK (total >= 0)", "CONSTRAINT up FOREIGN KEY (parent) REFERENCES itself (id)"]
        );
    }

    #[test]
    fn the_same_table_is_the_same_on_every_server() {
        let (one, other) = (Layout::of(MARIADB).unwrap(), Layout::of(MYSQL).unwrap());
        assert_eq!(one, other);
        assert_eq!(one.key, ["id bigint unsigned NOT NULL AUTO_INCREMENT"]);
        assert_eq!(
            one.beside_the_key(),
            "id2 int NOT NULL, id3 int, mail text CHARACTER SET latin1 NOT NULL; PRIMARY KEY (id), KEY (id2)"
        );
        assert_eq!(one.apart(&other, true, true), (vec![], vec![]));
    }

    #[test]
    fn sqlite_has_its_indexes_in_statements_of_their_own() {
        let sql = "CREATE TABLE \"t\" (\n  id BLOB NOT NULL,\n  id2 INTEGER NOT NULL,\n  PRIMARY KEY (id)\n) WITHOUT ROWID;\n\
                   CREATE INDEX \"t_id2\" ON \"t\" (id2)";
        let layout = Layout::of(sql).unwrap();
        assert_eq!(layout.key, ["id BLOB NOT NULL", "WITHOUT ROWID"]);
        assert_eq!(layout.indexes, ["PRIMARY KEY (id)", "KEY (id2)"]);
        let inline = Layout::of("CREATE TABLE t (id INTEGER PRIMARY KEY, b TEXT)").unwrap();
        assert_eq!((inline.key, inline.columns), (vec!["id INTEGER PRIMARY KEY".into()], vec!["b TEXT".to_owned()]));
    }

    #[test]
    fn what_two_tables_do_not_share_is_listed() {
        let other =
            "CREATE TABLE `x` (`id` binary(16) NOT NULL, `id2` int NOT NULL, `c` decimal(10,2), PRIMARY KEY (`id`))";
        let (one, other) = (Layout::of(MARIADB).unwrap(), Layout::of(other).unwrap());
        let (here, there) = one.apart(&other, true, true);
        assert_eq!(
            here,
            [
                "id bigint unsigned NOT NULL AUTO_INCREMENT",
                "id3 int",
                "mail text CHARACTER SET latin1 NOT NULL",
                "KEY (id2)"
            ]
        );
        assert_eq!(there, ["id binary(16) NOT NULL", "c decimal(10,2)"]);
        assert_eq!(one.apart(&other, false, false).1, ["c decimal(10,2)"]);
        assert_eq!(Layout::of("nonsense"), None);
    }

    #[test]
    fn quotes_and_parentheses_are_kept_together() {
        let sql = "CREATE TABLE `a` (`k` enum('a,b',')') NOT NULL, `key` int, `v` varchar(9) DEFAULT 'x', CHECK (`v` > '(' ))";
        let layout = Layout::of(sql).unwrap();
        assert_eq!(layout.columns, ["k enum('a,b',')') NOT NULL", "key int", "v varchar(9) DEFAULT 'x'"]);
        assert_eq!(layout.indexes, ["CHECK (v > '(' )"]);
    }
}
