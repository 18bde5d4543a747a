//! SQL cut into words, quoted names, strings and symbols: as much as telling code from quotes and comments takes.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A bare word or number.
    Word,
    /// A name in quotes.
    Quoted,
    Text,
    /// One character of anything else.
    Symbol,
}

/// A piece of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: Kind,
    /// As it is written, with its quotes.
    pub text: &'a str,
    pub at: usize,
    /// Parentheses around it; those of a parenthesis itself are not counted.
    pub depth: u32,
}

impl Token<'_> {
    /// Whether it is this word, in any case.
    pub fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it is this symbol.
    pub fn is_symbol(&self, symbol: char) -> bool {
        self.kind == Kind::Symbol && self.text.starts_with(symbol)
    }
}

/// The tokens of `sql`. The code in MySQL's `/*!50100 ... */` counts, other comments do not.
pub fn tokens(sql: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut at, mut depth) = (0, 0_u32);
    while let Some(c) = sql[at..].chars().next() {
        let rest = &sql[at..];
        if let Some(bytes) = passed_over(rest, c) {
            at += bytes;
            continue;
        }
        let (kind, bytes) = match c {
            '\'' => (Kind::Text, quoted_bytes(rest, c)),
            '"' | '`' => (Kind::Quoted, quoted_bytes(rest, c)),
            // SQLite takes the brackets of others for quotes.
            '[' => (Kind::Quoted, rest.find(']').map_or(rest.len(), |end| end + 1)),
            _ if is_of_word(c) => (Kind::Word, rest.find(|c| !is_of_word(c)).unwrap_or(rest.len())),
            _ => (Kind::Symbol, c.len_utf8()),
        };
        if c == ')' {
            depth = depth.saturating_sub(1);
        }
        found.push(Token { kind, text: &rest[..bytes], at, depth });
        if c == '(' {
            depth += 1;
        }
        at += bytes;
    }
    found
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// Bytes of white space and comments.
fn passed_over(rest: &str, c: char) -> Option<usize> {
    if c.is_whitespace() {
        return Some(c.len_utf8());
    }
    if rest.starts_with("--") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if let Some(code) = rest.strip_prefix("/*!").or_else(|| rest.strip_prefix("/*M!")) {
        let digits = code.find(|c: char| !c.is_ascii_digit()).unwrap_or(code.len());
        return Some(rest.len() - code.len() + digits);
    }
    if rest.starts_with("/*") {
        return Some(rest.find("*/").map_or(rest.len(), |end| end + 2));
    }
    rest.starts_with("*/").then_some(2)
}

/// Bytes up to the closing quote and with it. A doubled quote is a part of what is quoted.
fn quoted_bytes(rest: &str, quote: char) -> usize {
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && quote == '\'' {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return at + 1;
        }
    }
    rest.len()
}

/// A name without its quotes.
pub fn unquoted(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some('[') => text.trim_start_matches('[').trim_end_matches(']').to_owned(),
        Some(quote @ ('"' | '`')) => {
            let inner = chars.as_str();
            let inner = inner.strip_suffix(quote).unwrap_or(inner);
            inner.replace(&format!("{quote}{quote}"), &quote.to_string())
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_comments_are_told_from_code() {
        let texts = |sql| tokens(sql).iter().map(|token| token.text).collect::<Vec<_>>();
        assert_eq!(texts("a 'it''s' `b``c` \"d\" [e f]"), ["a", "'it''s'", "`b``c`", "\"d\"", "[e f]"]);
        assert_eq!(texts("a -- b\nc /* d */ e /*!50100 f */"), ["a", "c", "e", "f"]);
        assert_eq!(texts("'\\'' x"), ["'\\''", "x"]);
        let depths: Vec<u32> = tokens("a(b(c))d").iter().map(|token| token.depth).collect();
        assert_eq!(depths, [0, 0, 1, 1, 2, 1, 0, 0]);
        assert_eq!(unquoted("`b``c`"), "b`c");
        assert_eq!(unquoted("größe"), "größe");
    }
}
