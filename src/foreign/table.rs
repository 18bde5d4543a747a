//! A file as a header and lines of cells.

use std::path::Path;

use super::meaning::Meaning;
use super::number::looks_like_number;
use super::{ForeignOptions, Refused};
use crate::record::store::Problem;

/// One line of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Its cells, as many as the header has.
    pub cells: Vec<String>,
}

/// A header and lines of cells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Names of the columns.
    pub header: Vec<String>,
    /// Lines of data in the order of the file.
    pub lines: Vec<Line>,
    /// Whether the user said which sign stands before the decimals.
    pub decimal_given: bool,
}

impl Table {
    /// The indexes of all columns.
    pub fn columns(&self) -> std::ops::Range<usize> {
        0..self.header.len()
    }

    /// A column by its name, by its name without the white space around it, or by its number from 1.
    pub fn find(&self, wanted: &str) -> Option<usize> {
        let by = |same: &dyn Fn(&str) -> bool| self.header.iter().position(|name| same(name));
        by(&|name| name == wanted)
            .or_else(|| by(&|name| name.trim() == wanted.trim()))
            .or_else(|| wanted.parse::<usize>().ok()?.checked_sub(1).filter(|&at| at < self.header.len()))
    }

    /// The names, for messages.
    pub fn names(&self) -> String {
        self.header.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
    }

    /// The columns that tell the curves of a long file apart: those called `series` or `curve`, else those called `engine`, `method`
    /// or `run` that have several values and fewer of them than lines.
    pub fn group_columns(&self) -> Vec<usize> {
        let called = |names: &[&str]| -> Vec<usize> {
            self.columns().filter(|&at| names.contains(&self.header[at].trim().to_lowercase().as_str())).collect()
        };
        let series = called(&["series", "curve"]);
        if !series.is_empty() {
            return series;
        }
        let mut others = called(&["engine", "method", "run"]);
        others.retain(|&at| (2..self.lines.len()).contains(&self.values(at).len()));
        others
    }

    /// The values of a column.
    pub fn values(&self, column: usize) -> std::collections::BTreeSet<&str> {
        self.lines.iter().filter_map(|line| line.cells.get(column)).map(|cell| cell.trim()).collect()
    }

    /// How many columns have names that tell a unit.
    pub fn figures(&self) -> usize {
        self.header.iter().filter(|name| Meaning::of(name).unit.is_some()).count()
    }

    /// The lines of each curve, in order of appearance.
    pub fn groups(&self, columns: &[usize]) -> Vec<(Option<String>, Vec<usize>)> {
        if columns.is_empty() {
            return vec![(None, (0..self.lines.len()).collect())];
        }
        let mut out: Vec<(Option<String>, Vec<usize>)> = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            let words = columns.iter().filter_map(|&column| {
                let cell = line.cells.get(column)?;
                // A bare number says nothing as the name of a curve.
                Some(if looks_like_number(cell) {
                    format!("{} {cell}", self.header[column].trim())
                } else {
                    cell.clone()
                })
            });
            let name = Some(words.collect::<Vec<_>>().join(" "));
            match out.iter_mut().find(|(other, _)| *other == name) {
                Some((_, lines)) => lines.push(at),
                None => out.push((name, vec![at])),
            }
        }
        out
    }

    /// Columns of words or of settings with several values, other than these: they may tell runs apart.
    pub fn offered(&self, but: &[usize]) -> Vec<String> {
        let columns = self.columns().filter(|at| !but.contains(at)).filter(|&at| {
            let values = self.values(at);
            (2..=self.lines.len() / 2).contains(&values.len()) && !values.iter().all(|value| looks_like_number(value))
        });
        columns.map(|at| format!("{:?}", self.header[at])).collect()
    }

    /// Takes the last line as one that was cut: cells are missing that it may do without.
    fn fill(&mut self, cells: Vec<String>, number: u64) {
        let mut cells = cells;
        cells.resize(self.header.len(), CUT.to_owned());
        self.lines.push(Line { number, cells });
    }

    /// Leaves out a last line that was cut before the end of one of these columns; its number.
    pub fn drop_cut(&mut self, columns: &[usize]) -> Option<u64> {
        let cut = self
            .lines
            .last()
            .filter(|line| columns.iter().any(|&at| line.cells.get(at).is_some_and(|cell| cell == CUT)))?;
        let number = cut.number;
        self.lines.pop();
        Some(number)
    }
}

/// A cell that is missing because the file was cut.
const CUT: &str = "\u{0}cut";

const DELIMITERS: [char; 4] = [';', '\t', '|', ','];

/// Reads the text of a CSV file. A header that stands again is left out and said; lines of another width too.
///
/// # Errors
/// There is no line, or what stands between columns can be told in two ways.
pub fn read(
    text: &str,
    tail: &str,
    file: &Path,
    options: &ForeignOptions,
    problems: &mut Vec<Problem>,
) -> Result<Table, Refused> {
    let delimiter = match options.delimiter {
        Some(given) => given,
        None => delimiter(text, file)?,
    };
    let mut table = lines(text, delimiter, file, options, problems)?;
    add_tail(&mut table, tail, delimiter, text.matches('\n').count() as u64 + 1);
    Ok(table)
}

/// Adds a last line without line end, as far as a delimiter shows its cells to be whole.
fn add_tail(table: &mut Table, tail: &str, delimiter: char, number: u64) {
    let whole = tail.rfind(delimiter).filter(|_| !tail.contains('"')).map(|at| &tail[..at]);
    let cells: Vec<String> = whole.map_or_else(Vec::new, |whole| whole.split(delimiter).map(str::to_owned).collect());
    if !tail.is_empty() && cells.len() < table.header.len() {
        table.fill(cells, number);
    }
}

fn lines(
    text: &str,
    delimiter: char,
    file: &Path,
    options: &ForeignOptions,
    problems: &mut Vec<Problem>,
) -> Result<Table, Refused> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(u8::try_from(delimiter).unwrap_or(b','))
        .from_reader(text.as_bytes());
    let mut table = Table { decimal_given: options.decimal.is_some(), ..Table::default() };
    for record in reader.records() {
        let mut left_out = |line, why: String| problems.push(Problem { file: file.to_owned(), line, why });
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                left_out(error.position().map_or(0, csv::Position::line), format!("{error}; left out"));
                continue;
            }
        };
        let number = record.position().map_or(0, csv::Position::line);
        let cells: Vec<String> = record.iter().map(str::to_owned).collect();
        if table.header.is_empty() {
            let numbers = cells.iter().all(|cell| looks_like_number(cell));
            if !numbers {
                table.header = cells.iter().map(|cell| cell.trim().trim_start_matches('#').to_owned()).collect();
                continue;
            }
            table.header = (1..=cells.len()).map(|at| format!("column {at}")).collect();
        }
        let trimmed = |cells: &[String]| -> Vec<String> {
            cells.iter().map(|cell| cell.trim().trim_start_matches('#').to_owned()).collect()
        };
        match cells.len() {
            _ if trimmed(&cells) == table.header => left_out(number, "the header stands here again; left out".into()),
            len if len != table.header.len() => {
                left_out(number, format!("{len} columns instead of {}; left out", table.header.len()));
            }
            // A header in the middle: the lines after it may be of another kind, which nobody can tell from the figures.
            _ if cells.len() > 1 && cells.iter().all(|cell| !cell.trim().is_empty() && !looks_like_number(cell)) => {
                return Err(Refused {
                    line: Some(number),
                    ..Refused::new(
                        file,
                        format!("another header stands here: {}", cells.join(", ")),
                        "two files seem to have been put together; give them one by one",
                    )
                });
            }
            _ => table.lines.push(Line { number, cells }),
        }
    }
    if table.header.is_empty() {
        return Err(Refused::new(file, "it has no line", "give a file with a header and a line for each batch"));
    }
    Ok(table)
}

/// What stands between columns: the sign that cuts every one of the first lines into the same number of cells, more than one.
fn delimiter(text: &str, file: &Path) -> Result<char, Refused> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(20).collect();
    let widths = |sign: char| -> Option<(usize, usize)> {
        let counts: Vec<usize> = lines.iter().map(|line| cells_outside_quotes(line, sign)).collect();
        let first = *counts.first()?;
        let same = counts.iter().filter(|&&count| count == first).count();
        (first > 1).then_some((same, first))
    };
    let whole: Vec<(char, usize)> = DELIMITERS
        .iter()
        .filter_map(|&sign| widths(sign).filter(|&(same, _)| same == lines.len()).map(|(_, width)| (sign, width)))
        .collect();
    match whole.as_slice() {
        [] => {
            let best = DELIMITERS.iter().filter_map(|&sign| widths(sign).map(|width| (width.0, sign))).max();
            // One column and nothing to cut: the comma changes nothing.
            Ok(best.map_or(',', |(_, sign)| sign))
        }
        [(sign, _)] => Ok(*sign),
        // `1;1000000;5,01`: beside another sign the comma is a decimal sign, when it stands only between digits.
        several => {
            let others: Vec<char> = several.iter().map(|(sign, _)| *sign).filter(|sign| *sign != ',').collect();
            let comma_between_digits = lines.iter().skip(1).chain(lines.first()).all(|line| {
                line.match_indices(',').all(|(at, _)| {
                    let before = line[..at].chars().next_back().is_some_and(|c| c.is_ascii_digit());
                    before && line[at + 1..].chars().next().is_some_and(|c| c.is_ascii_digit())
                })
            });
            match others.as_slice() {
                [one] if several.len() == 1 || comma_between_digits => Ok(*one),
                _ => {
                    let signs: Vec<String> = several.iter().map(|(sign, _)| format!("{sign:?}")).collect();
                    Err(Refused {
                        line: Some(1),
                        ..Refused::new(
                            file,
                            format!("columns may be separated by {}", signs.join(" or by ")),
                            "say which with --delimiter",
                        )
                    })
                }
            }
        }
    }
}

fn cells_outside_quotes(line: &str, sign: char) -> usize {
    let mut quoted = false;
    1 + line
        .chars()
        .filter(|&c| {
            quoted ^= c == '"';
            c == sign && !quoted
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Table, Refused> {
        read(text, "", Path::new("f.csv"), &ForeignOptions::default(), &mut Vec::new())
    }

    #[test]
    fn the_delimiter_is_seen() {
        for text in ["a;b\n1;5,01\n", "a,b\n1,\"5,01\"\n", "a\tb\n1\t5,01\n", "a|b\n1|5,01\n"] {
            let table = of(text).unwrap();
            assert_eq!(table.header, ["a", "b"], "{text}");
            assert_eq!(table.lines[0].cells, ["1", "5,01"], "{text}");
        }
        assert_eq!(of("1;1000000;5,01\n").unwrap().header, ["column 1", "column 2", "column 3"]);
        let refused = of("a;b,c;d\n1;2,3;4\nx;2,y;4\n").unwrap_err();
        assert!(refused.to_string().contains("--delimiter"), "{refused}");
    }

    #[test]
    fn a_header_again_is_left_out_and_another_one_refused() {
        let mut problems = Vec::new();
        let text = "a,b\n1,2\na,b\n3,4\n5\n";
        let table = read(text, "", Path::new("f.csv"), &ForeignOptions::default(), &mut problems).unwrap();
        assert_eq!(table.lines.len(), 2);
        let lines: Vec<u64> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [3, 5]);
        let refused = of("a,b\n1,2\nc,d\n3,4\n").unwrap_err();
        assert_eq!(refused.line, Some(3));
    }

    #[test]
    fn columns_are_found_by_name_or_number() {
        let table = of("Count, perf[sec],\"a,b\"\n1,2,3\n").unwrap();
        assert_eq!(table.find("perf[sec]"), Some(1));
        assert_eq!(table.find("a,b"), Some(2));
        assert_eq!(table.find("3"), Some(2));
        assert_eq!((table.find("0"), table.find("4"), table.find("x")), (None, None, None));
    }
}
