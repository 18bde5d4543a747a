//! The bytes of a file as lines: what spreadsheets and editors put around them, and what is no table at all.

use std::borrow::Cow;
use std::path::Path;

use super::Refused;
use super::number::looks_like_number;

/// Formats that are known without being described, for messages.
const KNOWN: &str = "sysbench, mysqlslap --csv, iibench, tsbs, YCSB (its load phase), go-ycsb, timescaledb-parallel-copy and pgbench --progress";
/// So many lines tell what a file is.
const LOOKED_AT: usize = 200;

/// The text: UTF-8 or, with its mark, UTF-16; lines that end in carriage returns alone get line feeds.
///
/// # Errors
/// It is no text.
pub fn decoded<'a>(bytes: &'a [u8], file: &Path) -> Result<Cow<'a, str>, Refused> {
    let wide = |of: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| of([pair[0], pair[1]])).collect();
        Cow::Owned(String::from_utf16_lossy(&units))
    };
    let text = match bytes {
        [0xFF, 0xFE, ..] => wide(u16::from_le_bytes),
        [0xFE, 0xFF, ..] => wide(u16::from_be_bytes),
        _ if bytes.contains(&0) => {
            return Err(Refused::new(file, "it is no text (it has zero bytes)", "give a CSV file, in UTF-8"));
        }
        _ => String::from_utf8_lossy(bytes),
    };
    if text.contains('\r') && !text.contains('\n') {
        return Ok(Cow::Owned(text.replace('\r', "\n")));
    }
    Ok(text)
}

/// The delimiter of a first line `sep=;`, which spreadsheets write and read.
pub fn named_delimiter(text: &str) -> Option<char> {
    let mut signs = text.lines().next()?.trim_matches('"').strip_prefix("sep=")?.chars();
    let sign = signs.next()?;
    (signs.next().is_none() && sign.is_ascii() && !sign.is_ascii_alphanumeric()).then_some(sign)
}

/// Whether most lines are sentences with figures in them, not figures in columns.
///
/// # Errors
/// They are.
pub fn refuse_log(text: &str, file: &Path) -> Result<(), Refused> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).skip(1).take(LOOKED_AT).collect();
    let worded = lines.iter().filter(|line| is_worded(line)).count();
    let first = text.trim_start().chars().next();
    let cause = match () {
        () if matches!(first, Some('{' | '<')) => "this is no table of figures (JSON, XML or HTML?)",
        () if lines.is_empty() || worded * 2 <= lines.len() => return Ok(()),
        () => "this is a log, not a table of figures",
    };
    let next = format!("known are {KNOWN}; of others give a CSV file with a header and a line for each batch");
    Err(Refused::new(file, cause, next))
}

/// A line without a figure of its own in a column, or with one at most beside `trx: 12920`.
fn is_worded(line: &str) -> bool {
    let cells: Vec<&str> = line.split([',', ';', '\t', '|']).map(|cell| cell.trim().trim_matches('"')).collect();
    let figures = cells.iter().filter(|cell| !cell.is_empty() && looks_like_number(cell)).count();
    let labels = cells.iter().filter(|cell| {
        cell.match_indices([':', '=']).any(|(at, _)| {
            let label = cell[..at].trim_end().ends_with(|c: char| c.is_alphabetic() || matches!(c, '%' | ')'));
            label && cell[at + 1..].trim_start().starts_with(|c: char| c.is_ascii_digit())
        })
    });
    let labels = labels.count();
    let has_digits = line.contains(|c: char| c.is_ascii_digit());
    let spaced = line.split_whitespace().filter(|word| looks_like_number(word)).count();
    has_digits && (labels >= 2 || (figures <= 1 && labels == 1) || (figures == 0 && (spaced == 0 || cells.len() == 1)))
}
