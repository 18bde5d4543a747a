//! The check at the end of a curve: one count, and rows at random indexes read back and compared value by value.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::constraint;
use crate::key::mix::Stream;
use crate::plan::{CurvePlan, Plan};
use crate::record::Verification;
use crate::record::run::KEEPS_NO_ROW;
use crate::rows::{RowOptions, RowSource, Value};
use crate::schema::{Dialect, default_columns};
use crate::targets::{Failure, Table, TableFacts};
use crate::units::grouped;

/// Counts the table and compares a sample of its rows with what was sent.
///
/// # Errors
/// What the target said.
pub fn table(
    table: &mut dyn Table,
    source: &RowSource,
    rows: u64,
    sample_rows: u64,
    last_batch_rows: u64,
    seed: u64,
) -> Result<Verification, Failure> {
    let mut verification = Verification { expected_rows: rows, ..Verification::default() };
    if !table.facts().limits.keeps_rows {
        verification.left_out = Some(KEEPS_NO_ROW.into());
        return Ok(verification);
    }
    verification.counted_rows = table.count()?;
    if rows == 0 || sample_rows == 0 {
        return Ok(verification);
    }
    let indexes = spread(rows, sample_rows, seed);
    let lookups: Option<Vec<_>> = indexes.iter().map(|&row| source.find_by(row)).collect();
    let Some(lookups) = lookups else {
        if !table.ids_ascend() {
            let why = "no index finds a row again, and over several endpoints nobody knows which rows came last";
            verification.left_out = Some(why.into());
            return Ok(verification);
        }
        // Not the rows of an earlier batch: which of them came last nobody knows.
        let last = sample_rows.min(last_batch_rows).min(rows);
        let found = table.last_rows(source.insert_columns(), last, rows)?;
        compare_last(source, rows - last_batch_rows.min(rows)..rows, last, &found, &mut verification);
        if verification.left_out.is_none() {
            verification.compared = Some("the rows that came last, since no index finds a row again".into());
        }
        return Ok(verification);
    };
    let columns = source.insert_columns();
    let found = table.fetch(columns, &lookups)?;
    for (&row, found) in indexes.iter().zip(&found) {
        verification.compared_rows += 1;
        let difference = difference(source, row, found);
        if let Some(difference) = difference {
            verification.wrong_rows += 1;
            verification.first_difference.get_or_insert(difference);
        }
    }
    Ok(verification)
}

/// What a reader should know of the comparison before the load, where it is not that of rows all over the table.
pub fn note(source: &RowSource) -> Option<String> {
    source.find_by(0).is_none().then(|| {
        "no indexed column tells rows apart: verification counts the rows and compares those with the highest ids, not rows all over the table"
            .into()
    })
}

/// The columns of a row that was sent, with their values.
type ExpectedRow<'a> = Vec<(&'a str, Value)>;

/// Finds each row that came last among the rows of the last batch, which several connections may have sent in any order.
fn compare_last(
    source: &RowSource,
    batch: Range<u64>,
    wanted: u64,
    found: &[Vec<Value>],
    verification: &mut Verification,
) {
    // Looked up by the column that tells most of them apart.
    let columns = source.insert_columns().len();
    let distinct = |column: usize| found.iter().filter_map(|values| word(&values[column])).collect::<HashSet<_>>();
    let Some(column) = (0..columns).max_by_key(|&column| distinct(column).len()) else { return };
    let words = distinct(column);
    if words.is_empty() && !found.is_empty() {
        verification.left_out =
            Some("no column of this table tells rows apart exactly, so rows were counted and not compared".into());
        return;
    }
    let mut sent: HashMap<Vec<u8>, Vec<ExpectedRow<'_>>> = HashMap::new();
    for row in batch {
        let expected = source.expected(row);
        if let Some(word) = word(&expected[column].1).filter(|word| words.contains(word)) {
            sent.entry(word).or_default().push(expected);
        }
    }
    for values in found {
        verification.compared_rows += 1;
        let candidates = word(&values[column]).and_then(|word| sent.get_mut(&word));
        let is_it = |expected: &ExpectedRow<'_>| {
            expected.iter().zip(values).all(|((column, expected), got)| source.compare(column, expected, got))
        };
        let matching = candidates.and_then(|list| list.iter().position(is_it).map(|at| list.swap_remove(at)));
        if matching.is_none() {
            verification.wrong_rows += 1;
            verification.first_difference.get_or_insert_with(|| {
                format!("one of the last rows is ({}), and no row like it was sent", shown(values))
            });
        }
    }
    let missing = wanted.saturating_sub(found.len() as u64);
    if missing > 0 {
        verification.wrong_rows += missing;
        verification.first_difference.get_or_insert_with(|| format!("{missing} of the last rows are not there"));
    }
}

/// Values for people: what reads like text as text.
fn shown(values: &[Value]) -> String {
    let words = values.iter().map(|value| match value {
        Value::Bytes(bytes) => Value::Text(bytes.clone()).literal(),
        other => other.literal(),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// A value by which rows are told apart; `None` where two databases may write the same value differently.
fn word(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Int(number) => Some(number.to_string().into_bytes()),
        Value::UInt(number) => Some(number.to_string().into_bytes()),
        Value::Text(bytes) | Value::Bytes(bytes) => Some(plain(bytes)),
        // No text that rowcliff makes begins with a zero byte.
        Value::Null => Some(b"\0NULL".to_vec()),
        Value::Real(_) => None,
    }
}

/// A text without what a database may write otherwise: zeros behind the point (`12:00:00.600000`), spaces (JSON), capitals (UUID). It only
/// finds candidates, which are compared exactly.
fn plain(text: &[u8]) -> Vec<u8> {
    let mut plain: Vec<u8> =
        text.iter().filter(|byte| !byte.is_ascii_whitespace()).map(u8::to_ascii_lowercase).collect();
    if plain.contains(&b'.') && plain.last().is_some_and(u8::is_ascii_digit) {
        while plain.last() == Some(&b'0') {
            plain.pop();
        }
        if plain.last() == Some(&b'.') {
            plain.pop();
        }
    }
    plain
}

/// What tells the candidates from the row that was sent; `None` when one of them is it.
fn difference(source: &RowSource, row: u64, candidates: &[Vec<Value>]) -> Option<String> {
    let expected = source.expected(row);
    let first_wrong = |values: &Vec<Value>| {
        expected
            .iter()
            .zip(values)
            .find(|((column, expected), got)| !source.compare(column, expected, got))
            .map(|((column, expected), got)| (*column, expected.clone(), got.clone()))
    };
    if candidates.iter().any(|values| values.len() == expected.len() && first_wrong(values).is_none()) {
        return None;
    }
    Some(match candidates.first().and_then(first_wrong) {
        None => format!("row {} is not there", grouped(row)),
        Some((column, sent, got)) => {
            format!("row {}: {column} was sent as {} and is {}", grouped(row), shown(&[sent]), shown(&[got]))
        }
    })
}

/// The first row, the last one, and rows in between, one at random in each of equal parts: a lost stretch is found
/// wherever it lies.
fn spread(rows: u64, wanted: u64, seed: u64) -> Vec<u64> {
    if wanted >= rows {
        return (0..rows).collect();
    }
    let mix = Stream::new(seed, "verification");
    let mut indexes: Vec<u64> = (0..wanted)
        .map(|part| {
            let start = (u128::from(rows) * u128::from(part) / u128::from(wanted)) as u64;
            let end = (u128::from(rows) * u128::from(part + 1) / u128::from(wanted)) as u64;
            start + mix.up_to(part, end - start - 1)
        })
        .collect();
    if let Some(first) = indexes.first_mut() {
        *first = 0;
    }
    if let Some(last) = indexes.last_mut() {
        *last = rows - 1;
    }
    indexes
}

/// The rows of a curve, from the columns that the database reported.
///
/// # Errors
/// A column that cannot be filled, by name, or an AUTO_INCREMENT column that would run over its type.
pub fn row_source(plan: &Plan, curve: &CurvePlan, facts: &TableFacts) -> Result<RowSource, String> {
    constraint::ids_fit(facts, curve.sizes.rows)?;
    let options = RowOptions {
        key: curve.cell.key,
        seed: plan.seed,
        index_order: plan.index_order,
        uuid_rate: plan.uuid_rate,
        payload_bytes: plan.payload_bytes,
        rows: curve.sizes.rows.saturating_add(inserted_beside(plan)),
        table: plan.table_kind(),
        dialect: facts.dialect,
        edition: plan.edition,
    };
    RowSource::with_wishes(&facts.columns, &options, &plan.fill).map_err(|error| error.to_string())
}

/// What can be told of the rows of a curve before its table is there: of rowcliff's own tables, whose columns are known. Gives what a
/// reader should know of the comparison.
///
/// # Errors
/// As [`row_source`].
pub fn foreseen(plan: &Plan, curve: &CurvePlan, dialect: Dialect) -> Result<Option<String>, String> {
    if plan.schema.is_some() || plan.fill.is_empty() {
        return Ok(None);
    }
    let cell = &curve.cell;
    let columns = default_columns(dialect, cell.key, cell.engine_entry.table);
    let facts = TableFacts { columns, ..TableFacts::new(String::new(), dialect) };
    let source = row_source(plan, curve, &facts)?;
    Ok(note(&source).filter(|_| plan.verify_rows.is_some_and(|rows| rows > 0) && cell.engine_entry.can.keeps_rows))
}

/// Rows that probes may insert beside those of the load: they must find room in every unique column too.
fn inserted_beside(plan: &Plan) -> u64 {
    let Some(probe) = plan.probe.as_ref().filter(|probe| probe.probes.iter().any(|kind| kind.inserts())) else {
        return 0;
    };
    // Without a limit of operations nobody knows: what a column has room for beyond this is said by the database.
    const UNKNOWN: u64 = 10_000_000;
    probe.ops.iter().map(|ops| ops.unwrap_or(UNKNOWN)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_database_writes_otherwise_is_found_all_the_same() {
        for (sent, got) in [
            ("2010-01-02 03:04:05.600", "2010-01-02 03:04:05.600000"),
            ("03:04:05.00", "03:04:05"),
            ("12.5000", "12.5"),
            ("{\"a\":1}", "{\"a\": 1}"),
            ("6ABC", "6abc"),
        ] {
            assert_eq!(plain(sent.as_bytes()), plain(got.as_bytes()), "{sent}");
        }
        assert_ne!(plain(b"100"), plain(b"1"));
    }

    #[test]
    fn the_sample_is_spread_over_the_whole_table() {
        let indexes = spread(34_000_000_000, 1000, 7);
        assert_eq!(indexes.len(), 1000);
        assert_eq!((indexes[0], indexes[999]), (0, 33_999_999_999));
        assert!(indexes.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(spread(3, 1000, 7), [0, 1, 2]);
    }

    #[test]
    fn a_wrong_count_and_a_wrong_row_are_problems() {
        let good = Verification { expected_rows: 5, counted_rows: Some(5), ..Verification::default() };
        assert_eq!(good.difference(), None);
        let short = Verification { counted_rows: Some(4), ..good.clone() };
        assert!(short.difference().unwrap().contains("4 were counted"));
        let wrong =
            Verification { wrong_rows: 1, compared_rows: 3, first_difference: Some("row 2: mail".into()), ..good };
        assert!(wrong.difference().unwrap().contains("row 2: mail"));
    }
}
