//! A text of SQL cut into its statements.

use crate::schema::Dialect;
use crate::schema::lex::{Kind, Lexer, Token};

/// What is created over several statements of its own.
const COMPOUND: [&str; 5] = ["TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "PACKAGE"];
/// Words in which it is said, counted from CREATE.
const HEAD_WORDS: usize = 12;

/// One statement: its tokens, without the comments that no server reads.
#[derive(Debug, Clone, Default)]
pub struct Statement<'a> {
    /// What it is made of; nothing in it is blank.
    pub tokens: Vec<Token<'a>>,
}

impl Statement<'_> {
    /// Whether the word at a place is this one.
    pub fn is(&self, place: usize, word: &str) -> bool {
        self.tokens.get(place).is_some_and(|token| token.is(word))
    }

    /// The word by which it is counted; of one that only some servers execute, its first within.
    pub fn verb(&self) -> String {
        let mut tokens = &self.tokens[..];
        // What mariadb-dump puts first is for its client alone, and has no end of its own.
        if tokens.first().is_some_and(|token| token.text.starts_with("/*M!999999"))
            && let Some(close) = tokens.iter().position(|token| token.kind == Kind::CodeClose)
        {
            tokens = &tokens[close + 1..];
        }
        let mut words = tokens.iter().filter(|token| token.kind == Kind::Word);
        words.next().map_or_else(|| "other".to_owned(), |token| token.text.to_ascii_uppercase())
    }

    /// Whether its end is not clear.
    pub fn is_unclear(&self) -> bool {
        self.tokens.last().is_some_and(|token| token.kind == Kind::Unclear)
    }

    fn is_compound(&self) -> bool {
        let mut words = self.tokens.iter().filter(|token| token.kind == Kind::Word).take(HEAD_WORDS);
        words.next().is_some_and(|first| first.is("CREATE"))
            && !words.clone().next().is_some_and(|second| second.is("TABLE"))
            && words.any(|token| COMPOUND.iter().any(|word| token.is(word)))
    }
}

/// The statements of a text. What mysql's client does itself (DELIMITER, `\G`) and SQLite's (`.mode`) is none.
pub fn statements(text: &str, dialect: Dialect) -> Vec<Statement<'_>> {
    let mut lexer = Lexer::new(text, dialect);
    let mut statements = Vec::new();
    let mut current = Current::default();
    loop {
        if current.statement.tokens.is_empty() && client_command(&mut lexer, dialect) {
            continue;
        }
        let Some(token) = lexer.next() else { break };
        let ends = token.kind == Kind::Delimiter && !(token.text == ";" && current.is_within());
        // `\G` and `\g` of the client.
        let backslash = dialect == Dialect::Mysql && token.is_mark('\\');
        let sends = backslash && lexer.rest().starts_with(['G', 'g']);
        if sends {
            lexer.next();
        }
        if ends || sends {
            statements.push(std::mem::take(&mut current).statement);
        } else if !token.is_blank() {
            current.push(token);
        }
    }
    statements.push(current.statement);
    statements.retain(|statement| !statement.tokens.is_empty());
    statements
}

/// Passes over a line that is for the client, at the beginning of a statement.
fn client_command<'a>(lexer: &mut Lexer<'a>, dialect: Dialect) -> bool {
    let rest = lexer.rest();
    match dialect {
        Dialect::Mysql => {
            let word = "delimiter";
            let is_command = rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
                && rest[word.len()..].starts_with([' ', '\t']);
            if is_command {
                let line: &'a str = lexer.take_line();
                if let Some(delimiter) = line[word.len()..].split_whitespace().next() {
                    lexer.set_delimiter(delimiter);
                }
            }
            is_command
        }
        Dialect::Sqlite => {
            let is_command = rest.starts_with('.');
            if is_command {
                lexer.take_line();
            }
            is_command
        }
    }
}

/// The statement that is being read, and how deep it is within blocks.
#[derive(Debug, Default)]
struct Current<'a> {
    statement: Statement<'a>,
    depth: usize,
    /// The last word was END.
    after_end: bool,
}

impl<'a> Current<'a> {
    /// Whether a semicolon ends a statement of a block, not the whole.
    fn is_within(&self) -> bool {
        self.depth > 0 && self.statement.is_compound()
    }

    fn push(&mut self, token: Token<'a>) {
        let after_end = std::mem::replace(&mut self.after_end, token.is("END"));
        if after_end && ["IF", "LOOP", "WHILE", "REPEAT"].iter().any(|word| token.is(word)) {
            // END IF closes what was not counted.
            self.depth += 1;
        } else if token.is("BEGIN") || token.is("CASE") && !after_end {
            self.depth += 1;
        } else if token.is("END") {
            self.depth = self.depth.saturating_sub(1);
        }
        self.statement.tokens.push(token);
    }
}
