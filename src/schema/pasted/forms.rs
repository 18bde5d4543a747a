//! The forms in which a client shows the definition of a table, unwrapped to SQL.

use std::borrow::Cow;

/// The text of a file that a client or an editor wrote: UTF-8, or UTF-16 with its mark, as some shells redirect it.
///
/// # Errors
/// It is neither.
pub fn decode(bytes: &[u8]) -> Result<String, &'static str> {
    let wide = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = rest.chunks(2).map(|pair| unit([pair[0], pair.get(1).copied().unwrap_or(0)]));
        char::decode_utf16(units).collect::<Result<String, _>>().map_err(|_| "its UTF-16 is broken")
    };
    let text = match bytes {
        [0xFF, 0xFE, rest @ ..] => wide(rest, u16::from_le_bytes)?,
        [0xFE, 0xFF, rest @ ..] => wide(rest, u16::from_be_bytes)?,
        _ => std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8; save it in that encoding")?.to_owned(),
    };
    Ok(text.trim_start_matches('\u{FEFF}').to_owned())
}

/// How a text shows a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Sql,
    /// `SHOW CREATE TABLE t\G`.
    Vertical,
    /// A line of `mysql -e`: the name, a tab, the statement.
    Tabs,
    /// The table that the interactive client draws.
    Boxed,
}

/// The SQL of a text. What is SQL already stays as it is.
pub fn unwrapped(text: &str) -> Cow<'_, str> {
    let text = without_preamble(text);
    match form(text) {
        Form::Sql => Cow::Borrowed(text),
        Form::Vertical => Cow::Owned(vertical(text)),
        Form::Tabs => Cow::Owned(tabs(text)),
        Form::Boxed => Cow::Owned(boxed(text)),
    }
}

/// Without the warnings and prompts that stand before what was asked for.
fn without_preamble(mut text: &str) -> &str {
    loop {
        let line = text.lines().next().unwrap_or("").trim();
        let is_warning = ["mysql: [", "mysqldump: [", "mariadb: ", "mariadb-dump: ", "WARNING: "]
            .iter()
            .any(|start| line.starts_with(start));
        // A prompt and what was typed: the answer follows in a form of its own.
        let is_prompt = prompt(line).is_some() && !line.to_ascii_uppercase().contains("CREATE TABLE `")
            || line.to_ascii_uppercase().starts_with("SHOW CREATE TABLE");
        if text.is_empty() || !(line.is_empty() || is_warning || is_prompt && form_of_rest(text) != Form::Sql) {
            return text;
        }
        text = after_line(text);
    }
}

fn after_line(text: &str) -> &str {
    text.find('\n').map_or("", |at| &text[at + 1..])
}

/// What stands behind the prompt of a client.
fn prompt(line: &str) -> Option<&str> {
    let (prompt, rest) = line.split_once("> ")?;
    let is_client =
        matches!(prompt, "mysql" | "sqlite") || prompt.starts_with("MariaDB [") || prompt.starts_with("MySQL ");
    is_client.then_some(rest)
}

/// The form of what follows the first line, blank lines left out.
fn form_of_rest(text: &str) -> Form {
    form(after_line(text).trim_start_matches(['\r', '\n']))
}

fn form(text: &str) -> Form {
    let first = text.lines().next().unwrap_or("");
    if is_row_header(first) {
        Form::Vertical
    } else if is_rule(first) {
        Form::Boxed
    } else if is_tab_header(first) || tab_line(first).is_some() {
        Form::Tabs
    } else {
        Form::Sql
    }
}

/// `*************************** 1. row ***************************`
fn is_row_header(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("***") && line.ends_with("***") && line.trim_matches('*').trim().ends_with("row")
}

/// `+-------+--------------+`
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() > 2 && line.starts_with("+-") && line.ends_with('+') && line.chars().all(|c| matches!(c, '+' | '-'))
}

/// `1 row in set (0.00 sec)`
fn is_count(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next().is_some_and(|word| word.parse::<u64>().is_ok())
        && matches!(words.next(), Some("row" | "rows"))
        && words.next() == Some("in")
}

fn vertical(text: &str) -> String {
    let mut sql = String::with_capacity(text.len());
    let mut is_body = false;
    for line in text.split_inclusive('\n') {
        if is_row_header(line) || is_count(line) {
            sql.push_str(";\n");
            is_body = false;
        } else if is_body {
            sql.push_str(line);
        } else if let Some((label, value)) = line.split_once(": ")
            && label.trim().to_ascii_lowercase().starts_with("create ")
        {
            is_body = true;
            sql.push_str(value);
        }
    }
    sql
}

fn is_tab_header(line: &str) -> bool {
    line.trim_end().eq_ignore_ascii_case("Table\tCreate Table")
}

/// The statement of `name<TAB>CREATE TABLE ...`.
fn tab_line(line: &str) -> Option<&str> {
    let (name, statement) = line.split_once('\t')?;
    let is_name = !name.trim().is_empty() && !name.contains(['(', ';', '\'', '"', '`']) && !name.starts_with("--");
    let starts = |word: &str| statement.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    (is_name && ["CREATE TABLE ", "CREATE TEMPORARY TABLE "].into_iter().any(starts)).then_some(statement)
}

fn tabs(text: &str) -> String {
    let mut sql = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if is_tab_header(line) {
            continue;
        }
        let Some(statement) = tab_line(line) else {
            // With --raw the line breaks of the definition are line breaks.
            sql.push_str(line);
            continue;
        };
        sql.push_str(";\n");
        // A definition breaks the line after its first parenthesis: where that is written out, all of it is.
        if statement.contains("(\\n") {
            sql.push_str(&unescaped(statement));
            sql.push_str(";\n");
        } else {
            sql.push_str(statement);
        }
    }
    sql
}

/// Takes back what the client's batch mode writes out.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, false) => plain.push(c),
            (_, true) => match chars.next() {
                Some('n') => plain.push('\n'),
                Some('t') => plain.push('\t'),
                Some('0') => plain.push('\0'),
                Some(other) => plain.push(other),
                None => plain.push('\\'),
            },
        }
    }
    plain
}

fn boxed(text: &str) -> String {
    let mut sql = String::with_capacity(text.len());
    let mut is_body = false;
    for line in text.split_inclusive('\n') {
        if is_rule(line) || !is_body && !line.starts_with('|') {
            is_body = false;
            continue;
        }
        let mut part = line;
        if !is_body {
            // The name stands in a cell of its own.
            let Some((_, cell)) = line[1..].split_once('|') else { continue };
            let is_header = cell.trim_end().trim_end_matches('|').trim().eq_ignore_ascii_case("Create Table");
            if is_header || !cell.trim_start().to_ascii_uppercase().starts_with("CREATE ") {
                continue;
            }
            sql.push_str(";\n");
            part = cell;
            is_body = true;
        }
        match part.trim_end().strip_suffix('|') {
            Some(last) => {
                sql.push_str(last);
                sql.push_str("\n;\n");
                is_body = false;
            }
            None => sql.push_str(part),
        }
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `x` char(3) COMMENT 'a\\nb'\n) ENGINE=InnoDB";

    fn statement(text: &str) -> String {
        let sql = unwrapped(text);
        sql.trim_matches(|c: char| c == ';' || c.is_whitespace()).to_owned()
    }

    #[test]
    fn every_form_gives_the_statement_itself() {
        let stars = "*".repeat(27);
        let vertical =
            format!("{stars} 1. row {stars}\n       Table: t\nCreate Table: {PLAIN}\n1 row in set (0,001 sec)\n\n");
        let escaped = PLAIN.replace('\\', "\\\\").replace('\n', "\\n");
        let rule = "+-------+-----------------+";
        for text in [
            PLAIN.to_owned(),
            format!("\n\n{PLAIN}"),
            vertical.clone(),
            format!("mysql> SHOW CREATE TABLE t\\G\n{vertical}"),
            vertical.replace('\n', "\r\n").replace("\r\n  ", "\n  ").replace("\r\n) ", "\n) "),
            format!("Table\tCreate Table\nt\t{escaped}\n"),
            format!("t\t{escaped}\n"),
            format!("mysql: [Warning] Using a password\nt\t{escaped}\n"),
            format!("Table\tCreate Table\nt\t{PLAIN}\n"),
            format!(
                "{rule}\n| Table | Create Table    |\n{rule}\n| t     | {PLAIN} |\n{rule}\n1 row in set (0.00 sec)\n"
            ),
            format!(
                "MariaDB [x]> show create table t;\n{rule}\n| Table | Create Table    |\n{rule}\n| t     | {PLAIN} |\n{rule}\n"
            ),
        ] {
            assert_eq!(statement(&text), PLAIN, "{text}");
        }
    }

    #[test]
    fn sql_stays_as_it_is() {
        for text in ["-- x\tCREATE TABLE t (a INT)", "INSERT INTO a VALUES ('b\tCREATE TABLE c (d INT)')", "* 1. row *"]
        {
            assert_eq!(unwrapped(text), text);
            assert!(matches!(unwrapped(text), Cow::Borrowed(_)));
        }
    }

    #[test]
    fn marks_and_wide_characters_are_read() {
        assert_eq!(decode(b"\xEF\xBB\xBFCREATE").unwrap(), "CREATE");
        let wide = |unit: fn(u16) -> [u8; 2]| "\u{FEFF}größe".encode_utf16().flat_map(unit).collect::<Vec<u8>>();
        assert_eq!(decode(&wide(u16::to_le_bytes)).unwrap(), "größe");
        assert_eq!(decode(&wide(u16::to_be_bytes)).unwrap(), "größe");
        assert!(decode(b"gr\xF6\xDFe").unwrap_err().contains("UTF-8"));
    }
}
