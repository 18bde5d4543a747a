//! SQL, read just far enough to tell code from quotes and comments. Every byte of the text is in exactly one token.

use super::Dialect;

/// What a piece of SQL is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Space,
    /// A comment that no server reads.
    Comment,
    /// The opening of a comment whose content a server executes, with its version: `/*!50100`.
    CodeOpen,
    CodeClose,
    /// A keyword, a bare identifier or a number.
    Word,
    /// A string or a quoted identifier, with its quotes.
    Quoted,
    /// `{name}`.
    Placeholder,
    /// What ends a statement.
    Delimiter,
    /// Any other character.
    Punctuation,
    /// The rest of the text, from a quote or a comment whose end is not clear.
    Unclear,
}

/// A piece of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub at: usize,
}

impl Token<'_> {
    pub fn end(&self) -> usize {
        self.at + self.text.len()
    }

    /// Whether it is this keyword, which a quoted name never is.
    pub fn is(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it is this character.
    pub fn is_mark(&self, mark: char) -> bool {
        self.kind == Kind::Punctuation && self.text.starts_with(mark)
    }

    /// How it changes the depth within parentheses: 1 where it opens one, -1 where it closes one.
    pub fn nesting(&self) -> i64 {
        i64::from(self.is_mark('(')) - i64::from(self.is_mark(')'))
    }

    /// Whether a reader of SQL passes over it.
    pub fn is_blank(&self) -> bool {
        matches!(self.kind, Kind::Space | Kind::Comment)
    }

    /// The name that a bare or quoted identifier stands for.
    pub fn name(&self) -> String {
        let mut chars = self.text.chars();
        let close = match (self.kind, chars.next()) {
            (Kind::Quoted, Some('[')) => ']',
            (Kind::Quoted, Some(quote)) => quote,
            _ => return self.text.to_owned(),
        };
        let inner = chars.as_str();
        let inner = inner.strip_suffix(close).unwrap_or(inner);
        if close == ']' { inner.to_owned() } else { inner.replace(&format!("{close}{close}"), &close.to_string()) }
    }
}

/// Reads the tokens of a text.
#[derive(Debug, Clone)]
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
    dialect: Dialect,
    /// Inside a comment whose content is executed.
    in_code: bool,
    delimiter: &'a str,
}

impl<'a> Lexer<'a> {
    /// From the beginning of a text.
    pub fn new(text: &'a str, dialect: Dialect) -> Self {
        Self { text, at: 0, dialect, in_code: false, delimiter: ";" }
    }

    /// What ends a statement from here on.
    pub fn set_delimiter(&mut self, delimiter: &'a str) {
        self.delimiter = delimiter;
    }

    /// The text that was not read yet.
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Passes over the rest of a line and gives it.
    pub fn take_line(&mut self) -> &'a str {
        let rest = self.rest();
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        self.at += line.len();
        line
    }

    fn measure(&mut self) -> (Kind, usize) {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return (Kind::Space, 0) };
        if first.is_whitespace() {
            return (Kind::Space, rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len()));
        }
        if !self.in_code && rest.starts_with(self.delimiter) {
            return (Kind::Delimiter, self.delimiter.len());
        }
        if let Some(comment) = self.comment() {
            return comment;
        }
        if self.in_code && rest.starts_with("*/") {
            self.in_code = false;
            return (Kind::CodeClose, 2);
        }
        if matches!(first, '\'' | '"' | '`') || first == '[' && self.dialect == Dialect::Sqlite {
            return self.quoted(first);
        }
        if let Some(length) = placeholder(rest) {
            return (Kind::Placeholder, length);
        }
        if is_word(first) {
            let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
            // END$$: a delimiter may be made of what words are made of.
            let end = if self.in_code { None } else { word.find(self.delimiter) };
            return (Kind::Word, end.unwrap_or(word.len()));
        }
        (Kind::Punctuation, first.len_utf8())
    }

    fn comment(&mut self) -> Option<(Kind, usize)> {
        let rest = self.rest();
        let mysql = self.dialect == Dialect::Mysql;
        // MySQL wants white space after the dashes: `5--3` is a sum.
        let dashes = rest
            .strip_prefix("--")
            .is_some_and(|after| !mysql || after.chars().next().is_none_or(|c| c.is_whitespace() || c.is_control()));
        if dashes || mysql && rest.starts_with('#') {
            let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
            return Some(self.unless_unclear(Kind::Comment, line));
        }
        let inner = rest.strip_prefix("/*")?;
        if self.in_code {
            // Whether such a comment nests depends on the version of the server.
            return Some((Kind::Unclear, rest.len()));
        }
        if mysql && let Some(code) = inner.strip_prefix('!').or_else(|| inner.strip_prefix("M!")) {
            self.in_code = true;
            let digits = code.find(|c: char| !c.is_ascii_digit()).unwrap_or(code.len());
            return Some((Kind::CodeOpen, rest.len() - code.len() + digits));
        }
        Some(match inner.find("*/") {
            Some(end) => (Kind::Comment, end + 4),
            // SQLite takes the end of the text for the end of the comment.
            None if !mysql => (Kind::Comment, rest.len()),
            None => (Kind::Unclear, rest.len()),
        })
    }

    /// Bytes up to the closing quote and with it. A doubled quote does not end it.
    fn quoted(&self, quote: char) -> (Kind, usize) {
        let rest = self.rest();
        let backslash = self.dialect == Dialect::Mysql && quote != '`';
        let close = if quote == '[' { ']' } else { quote };
        let mut chars = rest.char_indices().skip(1).peekable();
        while let Some((at, c)) = chars.next() {
            if c == '\\' && backslash {
                chars.next();
            } else if c == close {
                if close != ']' && chars.next_if(|(_, next)| *next == close).is_some() {
                    continue;
                }
                return self.unless_unclear(Kind::Quoted, &rest[..at + close.len_utf8()]);
            }
        }
        (Kind::Unclear, rest.len())
    }

    /// A server that passes over a comment with its content ends it where one that executes it reads on.
    fn unless_unclear(&self, kind: Kind, text: &str) -> (Kind, usize) {
        if self.in_code && text.contains("*/") { (Kind::Unclear, self.rest().len()) } else { (kind, text.len()) }
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        if self.at == self.text.len() {
            return None;
        }
        let at = self.at;
        let (kind, length) = self.measure();
        self.at += length;
        Some(Token { kind, text: &self.text[at..self.at], at })
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$') || !c.is_ascii() && !c.is_whitespace()
}

/// Bytes of `{name}`.
fn placeholder(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix('{')?;
    let name = &after[..after.find('}')?];
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some(name.len() + 2)
}
