//! Cells as numbers. Which sign stands before the decimals never depends on the locale: the file tells, or the user.

use std::path::Path;

use super::table::Table;
use super::{Decimal, Refused};

#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A number, finite or not.
    Number(f64),
    Empty,
    /// Something else.
    Text(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// One cell for each line of the table.
    pub cells: Vec<Cell>,
}

/// What a cell says about the decimal sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// Nothing: no sign at all, or no number.
    None,
    /// It can only be read with this sign.
    Sure(Decimal),
    /// `1,234`: a decimal comma or a thousands separator.
    DoubtfulComma,
    /// `1.234`: an ordinary number, unless the file has decimal commas.
    PlainPoint,
}

/// The decimal sign that the cells of these columns prove, if they all prove the same. Other columns may hold anything: versions,
/// addresses, dates.
pub fn decimal_of_columns(table: &Table, columns: &[usize]) -> Option<Decimal> {
    let cells = table.lines.iter().flat_map(|line| columns.iter().filter_map(|&at| line.cells.get(at)));
    let mut found = cells.filter_map(|cell| match evidence(&ungrouped(cell)) {
        Evidence::Sure(decimal) => Some(decimal),
        _ => None,
    });
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// Reads a column. With `decimal` the sign is known; the other sign may then only separate thousands.
///
/// # Errors
/// A cell can be read in two ways.
pub fn column(table: &Table, at: usize, decimal: Option<Decimal>, file: &Path) -> Result<Column, Refused> {
    let mut cells = Vec::with_capacity(table.lines.len());
    for line in &table.lines {
        let text = ungrouped(line.cells.get(at).map_or("", String::as_str));
        let text = text.as_str();
        let doubt = match (evidence(text), decimal) {
            (Evidence::DoubtfulComma, None) => true,
            // The file's commas are decimal, this point separates thousands or is a slip. Only a given sign settles it.
            (Evidence::PlainPoint, Some(Decimal::Comma)) => !table.decimal_given,
            (Evidence::DoubtfulComma, Some(Decimal::Point)) => !table.decimal_given,
            _ => false,
        };
        if doubt {
            let next = "say which sign stands before the decimals with --decimal , or --decimal .";
            let cause = format!("{text:?} can be read in two ways, with decimals or with thousands");
            return Err(Refused::new(file, cause, next).at(line.number, &table.header[at]));
        }
        cells.push(cell(text, decimal.unwrap_or(Decimal::Point)));
    }
    Ok(Column { cells })
}

/// Whether the text is a number in some way of writing.
pub fn looks_like_number(text: &str) -> bool {
    let text = ungrouped(text);
    !matches!(cell(&text, Decimal::Point), Cell::Text(_)) || !matches!(cell(&text, Decimal::Comma), Cell::Text(_))
}

/// The text without the signs that only ever separate thousands (spaces of all widths, apostrophes, low lines), where each group
/// has three digits.
fn ungrouped(text: &str) -> String {
    let separates = |c: char| matches!(c, ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}' | '\'' | '\u{2019}' | '_');
    let text = text.trim();
    let whole = text.split(['.', ',']).next().unwrap_or(text);
    let mut groups = whole.trim_start_matches(['+', '-']).split(separates);
    let digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups.next().is_some_and(|group| (1..=3).contains(&group.len()) && digits(group));
    if !first || !groups.all(|group| group.len() == 3 && digits(group)) {
        return text.to_owned();
    }
    text.replacen(separates, "", whole.len())
}

fn evidence(text: &str) -> Evidence {
    let text = text.trim();
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text).trim_start_matches(['+', '-']);
    if mantissa.is_empty() || !mantissa.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ',') {
        return Evidence::None;
    }
    let (points, commas) = (mantissa.matches('.').count(), mantissa.matches(',').count());
    let last = mantissa.rfind(['.', ',']);
    let decimals = last.map_or(0, |at| mantissa.len() - at - 1);
    let whole = last.map_or(mantissa, |at| &mantissa[..at]);
    let one = |comma: bool| if comma { Decimal::Comma } else { Decimal::Point };
    match (points, commas) {
        (0, 0) => Evidence::None,
        // 1.234,56: the last one is the decimal sign.
        (1.., 1..) => Evidence::Sure(one(mantissa.as_bytes().get(last.unwrap_or(0)) == Some(&b','))),
        // 1,234,567: a decimal sign stands once.
        (0, 2..) => Evidence::Sure(Decimal::Point),
        (2.., 0) => Evidence::Sure(Decimal::Comma),
        // 5,01 and 0,123 and 1234,567: no thousands are written so.
        (0, 1) if decimals != 3 || whole.len() > 3 || whole.is_empty() || whole.starts_with('0') => {
            Evidence::Sure(Decimal::Comma)
        }
        (0, 1) => Evidence::DoubtfulComma,
        (1, 0) if decimals != 3 || whole.len() > 3 || whole.is_empty() || whole.starts_with('0') => {
            Evidence::Sure(Decimal::Point)
        }
        (1, 0) => Evidence::PlainPoint,
    }
}

fn cell(text: &str, decimal: Decimal) -> Cell {
    if text.is_empty() {
        return Cell::Empty;
    }
    let (sign, thousands) = match decimal {
        Decimal::Point => ('.', ','),
        Decimal::Comma => (',', '.'),
    };
    let whole = text.split(['e', 'E', sign]).next().unwrap_or(text);
    let grouped = whole.contains(thousands);
    let well_grouped = || {
        let mut groups = whole.trim_start_matches(['+', '-']).split(thousands);
        let first = groups.next().is_some_and(|group| (1..=3).contains(&group.len()));
        first && groups.all(|group| group.len() == 3)
    };
    let rest_is_clean = !text[whole.len()..].contains(thousands);
    if !rest_is_clean || (grouped && !well_grouped()) {
        return Cell::Text(text.to_owned());
    }
    let plain: String = text.chars().filter(|c| *c != thousands).map(|c| if c == sign { '.' } else { c }).collect();
    plain.parse().map_or_else(|_| Cell::Text(text.to_owned()), Cell::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_is_proved_or_doubtful() {
        for (text, expected) in [
            ("5,01", Evidence::Sure(Decimal::Comma)),
            ("0,123", Evidence::Sure(Decimal::Comma)),
            ("1.234,56", Evidence::Sure(Decimal::Comma)),
            ("1,234.56", Evidence::Sure(Decimal::Point)),
            ("1,234,567", Evidence::Sure(Decimal::Point)),
            ("1,234", Evidence::DoubtfulComma),
            ("-1,234", Evidence::DoubtfulComma),
            ("1.234", Evidence::PlainPoint),
            ("4.260000E+07", Evidence::Sure(Decimal::Point)),
            ("12", Evidence::None),
            ("NaN", Evidence::None),
            ("a,b", Evidence::None),
        ] {
            assert_eq!(evidence(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_read_with_the_sign_that_is_in_force() {
        let number = |text, decimal| match cell(text, decimal) {
            Cell::Number(number) => Some(number),
            _ => None,
        };
        assert_eq!(number("1.234,56", Decimal::Comma), Some(1234.56));
        assert_eq!(number("1,234", Decimal::Comma), Some(1.234));
        assert_eq!(number("1,234", Decimal::Point), Some(1234.0));
        assert_eq!(number("12,34", Decimal::Point), None, "no thousands are written so");
        assert_eq!(number("4.260000E+06", Decimal::Point), Some(4_260_000.0));
        assert_eq!(number("1.5.2", Decimal::Point), None);
        assert!(number("NaN", Decimal::Point).is_some_and(f64::is_nan));
        assert_eq!(cell("", Decimal::Point), Cell::Empty);
    }
}
