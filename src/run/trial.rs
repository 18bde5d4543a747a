//! The trial of a cell before anything is timed: one statement is sent and read back, and each probe is run on what it brought.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{constraint, curve, probes, trial_values, verify};
use crate::engine::Engine;
use crate::load::Encode;
use crate::plan::{CurvePlan, Plan};
use crate::rows::{RowSource, Value};
use crate::schema::Dialect;
use crate::targets::answer::Rows;
use crate::targets::{Failure, FailureKind, Session, Table};

/// Rows of the statement.
const TRIAL_ROWS: u64 = 10;

/// Sends one short statement over one connection, reads its rows back, and runs each probe on them. Gives the probes that cannot be run
/// here, with the reason.
///
/// # Errors
/// What the target said, which column cannot be filled, or that the rows that were accepted are not there.
pub fn try_statement(
    whole: &Plan,
    plan: &CurvePlan,
    table: &mut dyn Table,
) -> Result<BTreeMap<String, String>, Failure> {
    let source = Arc::new(verify::row_source(whole, plan, table.facts()).map_err(Failure::fatal)?);
    let loader = curve::loader(plan, table, &source);
    let fitted = loader.fit(plan.sizes, plan.cell.connections, table.facts().limits, whole.window_bytes)?;
    let rows = fitted.statement_rows.min(TRIAL_ROWS);
    let mut session = table.connect()?;
    let sent = session.send(&mut loader.encode(0..rows)).and_then(|accepted| match accepted.rows {
        all if all == rows => seen_by_its_own(session.as_mut(), whole, table, rows),
        some => Err(Failure::fatal(format!("a statement of {rows} rows was sent and {some} were accepted"))),
    });
    let engine = &plan.cell.engine_entry;
    let switches = switches_on(session.as_mut(), engine, table);
    // Before the rows are read over another connection: there is never more than one at a trial.
    drop(session);
    let found = sent.and_then(|()| read_back(whole, table, &source, rows));
    found.map_err(|failure| blamed(constraint::named(failure, table.facts()), &switches))?;
    let left_out = probes::try_all(whole, plan, table, &source, rows)?;
    trial_values::try_all(&loader, &source, plan, table, rows)?;
    Ok(left_out)
}

/// Whether the connection that sent rows sees them itself, while it is still open: a load never closes it before its end.
fn seen_by_its_own(session: &mut dyn Session, whole: &Plan, table: &dyn Table, rows: u64) -> Result<(), Failure> {
    if !table.facts().limits.keeps_rows {
        return Ok(());
    }
    let mut answer = Rows::default();
    // Whole rows: a count may be answered by an index that has what the table has not.
    let sql = format!("SELECT * FROM {} LIMIT {}", table.facts().quoted_name, rows + 1);
    let asked = session.ask_text(&sql, &mut answer);
    match asked {
        Ok(_) => {}
        // Nothing can be asked over such a session.
        Err(failure) if failure.kind == FailureKind::Unable => return Ok(()),
        // Nothing will be read at the end either.
        Err(failure) if whole.verify_rows.is_none() && failure.code.is_some() => return Ok(()),
        Err(failure) => return Err(reading(failure)),
    }
    match answer.len() as u64 {
        seen if seen == rows => Ok(()),
        seen => Err(not_there(rows, seen)),
    }
}

/// Counts the rows and compares them, as it will be done at the end of the curve.
fn read_back(whole: &Plan, table: &mut dyn Table, source: &RowSource, rows: u64) -> Result<(), Failure> {
    // Where no index finds a row, a handful of them is counted only.
    let compared = if source.find_by(0).is_some() { whole.verify_rows.unwrap_or(0).min(rows) } else { 0 };
    let found = match verify::table(table, source, rows, compared, rows, whole.seed) {
        Err(failure) if whole.verify_rows.is_none() && failure.code.is_some() => return Ok(()),
        found => found.map_err(reading)?,
    };
    if let Some(counted) = found.counted_rows.filter(|&counted| counted != rows) {
        return Err(not_there(rows, counted));
    }
    match found.difference() {
        Some(difference) => Err(Failure::fatal(format!("the rows of a trial were read back: {difference}"))),
        None => Ok(()),
    }
}

fn not_there(sent: u64, found: u64) -> Failure {
    Failure::fatal(format!("{sent} rows of a trial were accepted, and {found} of them can be read back"))
}

fn reading(failure: Failure) -> Failure {
    Failure {
        message: format!("the rows of a trial were accepted and cannot be read back: {}", failure.message),
        ..failure
    }
}

/// The switches of the engine that are on for a session, with their values and what becomes of rows.
fn switches_on(session: &mut dyn Session, engine: &Engine, table: &dyn Table) -> Vec<(String, String, String)> {
    let mut on = Vec::new();
    for switch in &engine.hides_rows {
        // As the session has it, which may differ from what the server gives to others (init_connect).
        let mut answer = Rows::default();
        let name = &switch.variable;
        let own = (table.facts().dialect == Dialect::Mysql)
            .then(|| session.ask_text(&format!("SHOW SESSION VARIABLES LIKE '{name}'"), &mut answer).ok())
            .flatten()
            .and_then(|_| text(answer.first()?.get(1)?));
        let value = own.or_else(|| table.facts().variables.get(name).cloned()).unwrap_or_default();
        if ["ON", "1"].iter().any(|word| value.eq_ignore_ascii_case(word)) {
            on.push((name.clone(), value, switch.why.clone()));
        }
    }
    on
}

/// The failure with the switches that explain it.
fn blamed(mut failure: Failure, switches: &[(String, String, String)]) -> Failure {
    for (name, value, why) in switches {
        failure.message.push_str(&format!("; {name}={value} here, under which {why}: set it to 0"));
    }
    failure
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Text(bytes) | Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Value::Int(number) => Some(number.to_string()),
        Value::UInt(number) => Some(number.to_string()),
        Value::Null | Value::Real(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_that_is_on_is_named_with_the_next_step() {
        let switch = ("rocksdb_bulk_load".to_owned(), "ON".to_owned(), "rows stay out".to_owned());
        let message = blamed(not_there(10, 0), &[switch]).message;
        assert_eq!(
            message,
            "10 rows of a trial were accepted, and 0 of them can be read back; rocksdb_bulk_load=ON here, under which rows stay \
             out: set it to 0"
        );
        assert_eq!(blamed(not_there(10, 9), &[]).message, not_there(10, 9).message);
    }
}
