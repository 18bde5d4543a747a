//! The columns of a table, read back from information_schema.

use std::collections::BTreeMap;

use super::control::{Control, escape};
use crate::schema::{Column, IndexColumn, ReportedColumn, ReportedIndex, mysql_columns};
use crate::targets::Failure;

type NamedRow = BTreeMap<String, Option<String>>;

/// Columns and indexes as this server reports them. All columns of information_schema are asked for and picked by
/// name, so that servers with fewer of them work as well.
///
/// # Errors
/// What the server said.
pub fn read(control: &mut Control, database: &str, table: &str) -> Result<Vec<Column>, Failure> {
    let place = format!("TABLE_SCHEMA = '{}' AND TABLE_NAME = '{}'", escape(database), escape(table));
    let rows = control
        .named_rows(&format!("SELECT * FROM information_schema.COLUMNS WHERE {place} ORDER BY ORDINAL_POSITION"))?;
    // One row, which nothing cuts: a column that was not read would be left empty, and the table called right.
    let count = format!("SELECT COUNT(*) FROM information_schema.COLUMNS WHERE {place}");
    let counted = control.first::<usize>(&count)?.unwrap_or_default();
    if counted != rows.len() {
        return Err(Failure::fatal(format!(
            "the server showed {} of the {counted} columns of {table}: the table cannot be filled and verified (is \
             sql_select_limit set behind this connection, by a proxy?)",
            rows.len()
        )));
    }
    let statistics = control.named_rows(&format!(
        "SELECT * FROM information_schema.STATISTICS WHERE {place} ORDER BY INDEX_NAME, SEQ_IN_INDEX"
    ))?;
    let references = control.named_rows(&format!(
        "SELECT COLUMN_NAME, REFERENCED_TABLE_NAME, CONSTRAINT_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE {place} AND REFERENCED_TABLE_NAME IS NOT NULL"
    ))?;
    // MariaDB marks a JSON column by a check on it. Older servers have no such table.
    let checks = control
        .named_rows(&format!(
            "SELECT * FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = '{}'{}",
            escape(database),
            if control.flavour == super::Flavour::MariaDb {
                format!(" AND TABLE_NAME = '{}'", escape(table))
            } else {
                " AND 1 = 0".into()
            }
        ))
        .unwrap_or_default();
    let references = held_by_values(references, &rows);
    let reported: Vec<ReportedColumn> = rows.iter().map(|row| column(row, &references, &checks)).collect();
    Ok(mysql_columns(&reported, &indexes(&statistics)))
}

fn word(row: &NamedRow, name: &str) -> Option<String> {
    row.get(name).cloned().flatten()
}

/// Without the columns of a foreign key in which another column may be NULL, which makes the key hold whatever they are.
fn held_by_values(references: Vec<NamedRow>, columns: &[NamedRow]) -> Vec<NamedRow> {
    let is_nullable = |entry: &NamedRow| {
        let name = word(entry, "column_name");
        columns.iter().any(|row| word(row, "column_name") == name && word(row, "is_nullable").as_deref() == Some("YES"))
    };
    let with_null: Vec<Option<String>> =
        references.iter().filter(|entry| is_nullable(entry)).map(|entry| word(entry, "constraint_name")).collect();
    let is_free = |entry: &NamedRow| !is_nullable(entry) && with_null.contains(&word(entry, "constraint_name"));
    references.into_iter().filter(|entry| !is_free(entry)).collect()
}

fn number(row: &NamedRow, name: &str) -> Option<u64> {
    word(row, name)?.parse().ok()
}

fn column(row: &NamedRow, references: &[NamedRow], checks: &[NamedRow]) -> ReportedColumn {
    let name = word(row, "column_name").unwrap_or_default();
    let of_column = |list: &[NamedRow], key: &str, value: &str| {
        list.iter()
            .find(|entry| word(entry, key).is_some_and(|other| other == name))
            .and_then(|entry| word(entry, value))
    };
    ReportedColumn {
        data_type: word(row, "data_type").unwrap_or_default(),
        column_type: word(row, "column_type").unwrap_or_default(),
        is_nullable: word(row, "is_nullable").unwrap_or_default(),
        column_default: word(row, "column_default"),
        character_maximum_length: number(row, "character_maximum_length"),
        numeric_precision: number(row, "numeric_precision"),
        numeric_scale: number(row, "numeric_scale"),
        datetime_precision: number(row, "datetime_precision"),
        character_set_name: word(row, "character_set_name"),
        extra: word(row, "extra").unwrap_or_default(),
        generation_expression: word(row, "generation_expression"),
        check_clause: of_column(checks, "constraint_name", "check_clause"),
        referenced_table: of_column(references, "column_name", "referenced_table_name"),
        srs_id: word(row, "srs_id").and_then(|value| value.parse().ok()),
        name,
    }
}

fn indexes(rows: &[NamedRow]) -> Vec<ReportedIndex> {
    let mut indexes: Vec<ReportedIndex> = Vec::new();
    for row in rows {
        let name = word(row, "index_name").unwrap_or_default();
        let part = IndexColumn {
            name: word(row, "column_name"),
            prefix: number(row, "sub_part"),
            expression: word(row, "expression"),
        };
        match indexes.last_mut().filter(|index| index.name == name) {
            Some(index) => index.columns.push(part),
            None => indexes.push(ReportedIndex {
                unique: word(row, "non_unique").is_some_and(|value| value == "0"),
                primary: name == "PRIMARY",
                columns: vec![part],
                name,
            }),
        }
    }
    indexes
}
