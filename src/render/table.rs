//! Plain text tables: columns as wide as they need to be, numbers at the right, no lines and no colour.

use super::text::text_columns;

/// Where the cells of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// A table that is being filled.
#[derive(Debug, Clone, Default)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(columns: &[(&str, Align)]) -> Self {
        let columns = columns.iter().map(|&(title, align)| (title.to_owned(), align)).collect();
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row; cells that are missing are empty, cells beyond the columns are left out.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The same as a table of Markdown.
    pub fn render_markdown(&self) -> String {
        let escaped = |text: &str| text.replace('|', "\\|");
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut out = line(self.columns.iter().map(|(title, _)| escaped(title)).collect());
        let rule = |align: &Align| if *align == Align::Right { "---:".to_owned() } else { "---".to_owned() };
        out.push_str(&line(self.columns.iter().map(|(_, align)| rule(align)).collect()));
        for row in &self.rows {
            let cell = |column: usize| escaped(row.get(column).map_or("", String::as_str));
            out.push_str(&line((0..self.columns.len()).map(cell).collect()));
        }
        out
    }

    /// The text, every line with its line end and without spaces before it. A column that is empty in every row is left out.
    pub fn render(&self) -> String {
        let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
        let shown: Vec<usize> = (0..self.columns.len())
            .filter(|&column| self.rows.is_empty() || self.rows.iter().any(|row| !cell(row, column).is_empty()))
            .collect();
        let titles: Vec<String> = self.columns.iter().map(|(title, _)| title.clone()).collect();
        let lines: Vec<&[String]> =
            [titles.as_slice()].into_iter().chain(self.rows.iter().map(Vec::as_slice)).collect();
        let widths: Vec<usize> = shown
            .iter()
            .map(|&column| lines.iter().map(|line| text_columns(&cell(line, column))).max().unwrap_or(0))
            .collect();
        let mut out = String::new();
        for line in lines {
            let cells: Vec<String> = shown
                .iter()
                .zip(&widths)
                .map(|(&column, &width)| padded(&cell(line, column), width, self.columns[column].1))
                .collect();
            out.push_str(cells.join("  ").trim_end());
            out.push('\n');
        }
        out
    }
}

fn padded(text: &str, width: usize, align: Align) -> String {
    let space = " ".repeat(width.saturating_sub(text_columns(text)));
    match align {
        Align::Left => format!("{text}{space}"),
        Align::Right => format!("{space}{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_at_the_right_and_lines_have_no_tail() {
        let mut table = Table::new(&[("curve", Align::Left), ("rows", Align::Right), ("notes", Align::Left)]);
        table.row(vec!["uuid4".into(), "1.25M".into(), "first".into()]);
        table.row(vec!["日本".into(), "9".into()]);
        assert_eq!(table.render(), "curve   rows  notes\nuuid4  1.25M  first\n日本       9\n");
    }

    #[test]
    fn markdown_has_a_rule_and_escapes_bars() {
        let mut table = Table::new(&[("curve", Align::Left), ("rows", Align::Right)]);
        table.row(vec!["a|b".into(), "1".into()]);
        assert_eq!(table.render_markdown(), "| curve | rows |\n| --- | ---: |\n| a\\|b | 1 |\n");
    }

    #[test]
    fn a_column_without_a_word_is_left_out() {
        let mut table = Table::new(&[("curve", Align::Left), ("notes", Align::Left), ("rows", Align::Right)]);
        table.row(vec!["a".into(), String::new(), "1".into()]);
        assert_eq!(table.render(), "curve  rows\na         1\n");
    }
}
