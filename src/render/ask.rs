//! A question that only a person can answer.

use std::io::{BufRead, IsTerminal, Write};

/// Asks on the terminal. `None` where nobody can be asked: stdin or stderr is none.
pub fn yes(lines: &[String], question: &str) -> Option<bool> {
    let (stdin, mut stderr) = (std::io::stdin(), std::io::stderr());
    if !stdin.is_terminal() || !stderr.is_terminal() {
        return None;
    }
    for line in lines {
        writeln!(stderr, "{line}").ok()?;
    }
    write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush()).ok()?;
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer).ok()?;
    Some(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
