//! The values of a load, tried before anything is timed: the rows that are the first to break what the table asks of them.

use std::ops::Range;

use super::constraint;
use crate::load::{Encode, Loader};
use crate::plan::CurvePlan;
use crate::rows::RowSource;
use crate::schema::Dialect;
use crate::targets::body::Body;
use crate::targets::{Failure, Session, Table};

/// Rows that are sent beside the first, the last, and those with the smallest and the largest values.
const OTHER_ROWS: u64 = 1_000;
/// The most bytes of these.
const OTHER_BYTES: u64 = 16 << 20;

/// Sends rows from all over the load into the table of a trial, which holds the first `there` already.
///
/// # Errors
/// What the target said, with column and constraint where a row broke one.
pub fn try_all(
    loader: &Loader,
    source: &RowSource,
    plan: &CurvePlan,
    table: &mut dyn Table,
    there: u64,
) -> Result<(), Failure> {
    let mut session = table.connect()?;
    let tried = try_values(session.as_mut(), loader, source, plan, table, there);
    tried.map_err(|failure| constraint::named(failure, table.facts()))
}

fn send(session: &mut dyn Session, loader: &Loader, rows: Range<u64>) -> Result<(), Failure> {
    let sent = rows.end - rows.start;
    let accepted = session.send(&mut loader.encode(rows))?;
    if accepted.rows == sent {
        return Ok(());
    }
    Err(Failure::fatal(format!("a statement of {sent} rows was sent and {} were accepted", accepted.rows)))
}

/// Sends rows from all over the load, in one transaction where the target takes one of this size. Those up to `there` are there already.
fn try_values(
    session: &mut dyn Session,
    loader: &Loader,
    source: &RowSource,
    plan: &CurvePlan,
    table: &dyn Table,
    there: u64,
) -> Result<(), Failure> {
    let limits = table.facts().limits;
    let row_bytes = source.max_row_bytes().insert_text.max(1);
    let most = limits.transaction_rows.min(limits.transaction_bytes / row_bytes).max(1);
    let last = plan.sizes.rows.saturating_sub(1);
    let by_id = numbered(source, table, last).filter(|_| last >= there);
    let mut in_transaction = 0;
    session.begin()?;
    // Small statements leave gaps in what is counted (LOAD DATA), which must not end a type that the load itself just fits into.
    let has_room = constraint::spare_ids(table.facts(), plan.sizes.rows) >= 10 * OTHER_ROWS;
    let others = if has_room { OTHER_ROWS.min(OTHER_BYTES / row_bytes) } else { 0 };
    for rows in source.trial_rows(plan.sizes.rows, others, there) {
        let end = if by_id.is_some() && rows.end > last { last } else { rows.end };
        let rows = rows.start.max(there)..end;
        if rows.is_empty() {
            continue;
        }
        if in_transaction + (rows.end - rows.start) > most {
            session.commit()?;
            session.begin()?;
            in_transaction = 0;
        }
        in_transaction += rows.end - rows.start;
        send(session, loader, rows)?;
    }
    if let Some(sql) = by_id {
        session.send(&mut Body::Text(sql))?;
    }
    // Not a rollback: what is checked at the end of a transaction is checked then.
    session.commit()
}

/// The INSERT of the last row with the value that the database will have counted to, where something of the table depends on that: a
/// partition, a generated column, a check.
fn numbered(source: &RowSource, table: &dyn Table, last: u64) -> Option<String> {
    let facts = table.facts();
    let column = facts.auto_increment().filter(|column| column.constrained)?;
    let id = constraint::last_id(facts, &facts.definition(), last.saturating_add(1));
    let quote = |name: &str| match facts.dialect {
        Dialect::Mysql => format!("`{}`", name.replace('`', "``")),
        Dialect::Sqlite => format!("\"{}\"", name.replace('"', "\"\"")),
    };
    let (mut names, mut values) = (vec![quote(&column.name)], vec![id.to_string()]);
    for (name, value) in source.expected(last) {
        names.push(quote(name));
        values.push(value.literal());
    }
    Some(format!("INSERT INTO {} ({}) VALUES ({})", facts.quoted_name, names.join(","), values.join(",")))
}
