//! One operation of a probe over one connection: what is asked, and what the answer must be.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::pool::{Asked, Pool};
use super::table::{ALIKE_MOST, ProbeTable, RANGE_ROWS};
use crate::key::mix::Stream;
use crate::plan::probe_kind::ProbeKind;
use crate::plan::probe_kind::{POINT_SELECTS, RANGES, TRANSACTION_CHANGES, TRANSACTION_READS};
use crate::rows::Value;
use crate::targets::{Failure, FailureKind, Rows, Session};

/// What all connections of an iteration share.
#[derive(Debug)]
pub struct Shared {
    pub table: Arc<ProbeTable>,
    /// Rows that are read.
    pub reads: Pool,
    /// Rows that are changed, and put back afterwards.
    pub changes: Pool,
    /// Rows in the table before the probe.
    pub table_rows: u64,
    /// Rows inserted so far: they are the ones that come next in the load.
    pub inserted: AtomicU64,
    /// Makes the changes of each iteration differ from those before it.
    pub salt: Stream,
}

/// A probe on one connection, with its statements made ready.
#[derive(Debug)]
pub struct Operation {
    kind: ProbeKind,
    statements: Vec<usize>,
    /// HANDLER ... READ by its text, where the server does not make it ready.
    by_text: bool,
    rows: Rows,
}

fn statements(table: &ProbeTable, kind: ProbeKind, follow: bool) -> Option<Vec<String>> {
    let changed = table.changed_places(kind);
    Some(match kind {
        ProbeKind::SelectPk => vec![table.select_by_key()],
        ProbeKind::SelectSecondary => vec![table.select_by_secondary()?],
        ProbeKind::RangePk => vec![table.select_range(follow)],
        ProbeKind::HandlerPk => vec![table.handler_read()],
        ProbeKind::UpdatePk => vec![table.update_by_key(&changed), table.select_by_key()],
        ProbeKind::UpdateSecondary => vec![table.update_by_secondary()?, table.select_by_secondary()?],
        ProbeKind::Insert => vec![table.insert(false)],
        ProbeKind::Mixed => vec![table.insert(false), table.select_by_key()],
        ProbeKind::Oltp => table.transaction(follow)?,
    })
}

impl Operation {
    /// Makes the statements of a probe ready. `follow`: the keys count without a gap.
    ///
    /// # Errors
    /// What the target said.
    pub fn prepare(
        session: &mut dyn Session,
        table: &ProbeTable,
        kind: ProbeKind,
        follow: bool,
    ) -> Result<Self, Failure> {
        let texts = statements(table, kind, follow).ok_or_else(|| {
            let message = format!("the table has no column for the probe {kind}");
            Failure { kind: FailureKind::Unable, code: None, message }
        })?;
        let mut operation = Self { kind, statements: Vec::new(), by_text: false, rows: Rows::default() };
        if kind == ProbeKind::HandlerPk {
            session.ask_text(&table.handler("OPEN"), &mut operation.rows)?;
        }
        for text in &texts {
            match session.prepare(text) {
                Ok(statement) => operation.statements.push(statement),
                // MySQL makes no HANDLER ready (1295, 6413): then it is asked by its text.
                Err(refused) if kind == ProbeKind::HandlerPk && refused.code.is_some() => operation.by_text = true,
                Err(refused) => return Err(refused),
            }
        }
        Ok(operation)
    }

    /// Gives up what [`Self::prepare`] made.
    ///
    /// # Errors
    /// What the target said.
    pub fn end(mut self, session: &mut dyn Session, table: &ProbeTable) -> Result<(), Failure> {
        if self.kind == ProbeKind::HandlerPk {
            session.ask_text(&table.handler("CLOSE"), &mut self.rows)?;
        }
        session.forget()
    }

    /// Does the operation of a number, and checks what comes back.
    ///
    /// # Errors
    /// What the target said; a row that is not what the generator made, in words.
    pub fn run(&mut self, session: &mut dyn Session, shared: &Shared, number: u64) -> Result<(), Failure> {
        match self.kind {
            ProbeKind::SelectPk => self.select(session, shared, 0, number),
            ProbeKind::SelectSecondary => self.select_secondary(session, shared, number),
            ProbeKind::RangePk => self.range(session, shared, number),
            ProbeKind::HandlerPk => self.handler(session, shared, number),
            ProbeKind::UpdatePk | ProbeKind::UpdateSecondary => self.update(session, shared, number),
            ProbeKind::Insert => self.insert(session, shared),
            ProbeKind::Mixed if number.is_multiple_of(2) => self.insert(session, shared),
            ProbeKind::Mixed => self.select(session, shared, 1, number / 2),
            ProbeKind::Oltp => {
                session.begin()?;
                self.transaction(session, shared, number)?;
                session.commit()
            }
        }
    }

    fn ask(&mut self, session: &mut dyn Session, place: usize, values: &[Value]) -> Result<u64, Failure> {
        session.ask(self.statements[place], values, &mut self.rows)
    }

    fn select(&mut self, session: &mut dyn Session, shared: &Shared, place: usize, at: u64) -> Result<(), Failure> {
        let asked = shared.reads.asked(&shared.table, at);
        self.ask(session, place, std::slice::from_ref(&asked.key))?;
        self.check_one(shared, &asked)
    }

    fn check_one(&self, shared: &Shared, asked: &Asked) -> Result<(), Failure> {
        let Some(got) = self.rows.first().filter(|_| self.rows.len() == 1) else {
            return Err(self.wrong(&format!("{} rows have the key {}", self.rows.len(), asked.key.literal())));
        };
        self.check(shared, asked, got)
    }

    fn check(&self, shared: &Shared, asked: &Asked, got: &[Value]) -> Result<(), Failure> {
        let difference = match shared.reads.is_unchecked() {
            true => shared.table.other_id(&asked.key, got),
            false => shared.table.difference(&asked.key, asked.row, shared.table_rows, got),
        };
        difference.map_or(Ok(()), |difference| Err(self.wrong(&difference)))
    }

    fn select_secondary(&mut self, session: &mut dyn Session, shared: &Shared, at: u64) -> Result<(), Failure> {
        let row = shared.reads.row(at);
        let value = shared.table.secondary_value(row).unwrap_or(Value::Null);
        self.ask(session, 0, std::slice::from_ref(&value))?;
        // A value may be many rows', of which these are some.
        let all = self.rows.len() < ALIKE_MOST;
        let skip = usize::from(shared.table.generated_key(row).is_none());
        let difference = |got: &[Value]| shared.table.source().difference(row, got.get(skip..).unwrap_or(&[]));
        if all && !self.rows.iter().any(|got| difference(got).is_none()) {
            let why = self.rows.first().and_then(difference);
            let missing = || format!("row {row} is not among those with {} in the secondary index", value.literal());
            return Err(self.wrong(&why.unwrap_or_else(missing)));
        }
        Ok(())
    }

    fn range(&mut self, session: &mut dyn Session, shared: &Shared, at: u64) -> Result<(), Failure> {
        let asked = shared.reads.asked(&shared.table, at);
        let expected = self.ask_range(session, 0, &asked)?;
        let rows = self.rows.len() as u64;
        if expected.is_some_and(|expected| rows != expected) || rows == 0 || rows > RANGE_ROWS {
            return Err(self.wrong(&format!("{rows} rows came from the key {} on", asked.key.literal())));
        }
        for (place, got) in self.rows.iter().enumerate() {
            if place == 0 {
                self.check(shared, &asked, got)?;
                continue;
            }
            if !shared.table.knows_every_row() {
                break;
            }
            let difference = match shared.table.key_of(got) {
                None => Some("a row has no key".to_owned()),
                Some(key) => shared.table.difference(key, None, shared.table_rows, got),
            };
            if let Some(difference) = difference {
                return Err(self.wrong(&difference));
            }
        }
        Ok(())
    }

    /// Asks for a range that begins at a key. Gives how many rows there have to be, where that is known.
    fn ask_range(&mut self, session: &mut dyn Session, place: usize, asked: &Asked) -> Result<Option<u64>, Failure> {
        let Some(follow) = asked.follow else {
            self.ask(session, place, std::slice::from_ref(&asked.key))?;
            return Ok(None);
        };
        let first = super::table::number(&asked.key).unwrap_or_default();
        self.ask(session, place, &[Value::UInt(first), Value::UInt(first + RANGE_ROWS - 1)])?;
        Ok(Some(follow.min(RANGE_ROWS)))
    }

    fn handler(&mut self, session: &mut dyn Session, shared: &Shared, at: u64) -> Result<(), Failure> {
        let asked = shared.reads.asked(&shared.table, at);
        if self.by_text {
            let sql = shared.table.handler_read().replace('?', &asked.key.literal());
            session.ask_text(&sql, &mut self.rows)?;
        } else {
            self.ask(session, 0, std::slice::from_ref(&asked.key))?;
        }
        let Some(got) = self.rows.first().map(|got| shared.table.from_handler(got)) else {
            return Err(self.wrong(&format!("no row has the key {}", asked.key.literal())));
        };
        self.check(shared, &asked, &got)
    }

    fn update(&mut self, session: &mut dyn Session, shared: &Shared, at: u64) -> Result<(), Failure> {
        let row = shared.changes.row(at);
        let by = match self.kind {
            ProbeKind::UpdateSecondary => shared.table.secondary_value(row).unwrap_or(Value::Null),
            _ => shared.changes.asked(&shared.table, at).key,
        };
        let Some(place) = shared.table.changed_places(self.kind).first().copied() else { return Ok(()) };
        let value = shared.table.other_value(row, place, shared.salt.at(at));
        let changed = self.ask(session, 0, &[value, by.clone()])?;
        if changed == 0 {
            // Not changed: it had that value already, or it is not there.
            self.ask(session, 1, std::slice::from_ref(&by))?;
        }
        match (changed, self.rows.len()) {
            (1, _) | (0, 1) => Ok(()),
            (0, rows) => Err(self.wrong(&format!("{rows} rows were found by {} to be changed", by.literal()))),
            (more, _) => Err(self.wrong(&format!("{more} rows were changed where one was meant"))),
        }
    }

    fn insert(&mut self, session: &mut dyn Session, shared: &Shared) -> Result<(), Failure> {
        let row = shared.table_rows + shared.inserted.fetch_add(1, Ordering::Relaxed);
        match self.ask(session, 0, &shared.table.values(row))? {
            1 => Ok(()),
            other => Err(self.wrong(&format!("{other} rows were accepted where one was inserted"))),
        }
    }

    fn transaction(&mut self, session: &mut dyn Session, shared: &Shared, number: u64) -> Result<(), Failure> {
        let table = &shared.table;
        let reads = number * TRANSACTION_READS;
        for at in 0..POINT_SELECTS {
            let asked = shared.reads.asked(table, reads + at);
            self.ask(session, 0, std::slice::from_ref(&asked.key))?;
            if self.rows.len() != 1 {
                return Err(self.wrong(&format!("{} rows have the key {}", self.rows.len(), asked.key.literal())));
            }
        }
        for at in 0..RANGES {
            let asked = shared.reads.asked(table, reads + POINT_SELECTS + at);
            let expected = self.ask_range(session, 1 + at as usize, &asked)?;
            let rows = self.rows.len() as u64;
            // The sum is one row, and of equal texts one is left.
            let whole = matches!(at, 0 | 2);
            if rows == 0 || rows > RANGE_ROWS || expected.is_some_and(|expected| whole && rows != expected) {
                return Err(self.wrong(&format!("{rows} rows came from the key {} on", asked.key.literal())));
            }
        }
        let changes = number * TRANSACTION_CHANGES;
        let places = table.changed_places(self.kind);
        for (at, place) in [places.first(), places.last()].into_iter().flatten().enumerate() {
            let index = changes + at as u64;
            let key = shared.changes.asked(table, index).key;
            let value = table.other_value(shared.changes.row(index), *place, shared.salt.at(index));
            let changed = self.ask(session, 5 + at, &[value, key])?;
            if changed > 1 {
                return Err(self.wrong(&format!("{changed} rows were changed where one was meant")));
            }
        }
        let row = shared.changes.row(changes + 2);
        let key = shared.changes.asked(table, changes + 2).key;
        let deleted = self.ask(session, 7, std::slice::from_ref(&key))?;
        let mut values = table.values(row);
        if table.generated_key(row).is_none() {
            values.insert(0, key.clone());
        }
        let inserted = self.ask(session, 8, &values)?;
        if (deleted, inserted) != (1, 1) {
            let figures = format!("{deleted} rows were deleted and {inserted} inserted by the key {}", key.literal());
            return Err(self.wrong(&figures));
        }
        Ok(())
    }

    fn wrong(&self, what: &str) -> Failure {
        Failure::fatal(format!("the probe {} read something wrong: {what}", self.kind))
    }
}

/// Puts the columns that a probe changed back to what the generator made.
#[derive(Debug)]
pub struct Restore {
    statement: usize,
    /// Found by the secondary index, as the probe found it: then no id has to be known.
    by_secondary: bool,
    places: Vec<usize>,
    rows: Rows,
}

impl Restore {
    /// Makes the statement ready.
    ///
    /// # Errors
    /// What the target said.
    pub fn prepare(session: &mut dyn Session, table: &ProbeTable, kind: ProbeKind) -> Result<Self, Failure> {
        let places = table.changed_places(kind);
        let by_secondary = table.update_by_secondary().filter(|_| kind == ProbeKind::UpdateSecondary);
        let text = by_secondary.clone().unwrap_or_else(|| table.update_by_key(&places));
        let statement = session.prepare(&text)?;
        Ok(Self { statement, by_secondary: by_secondary.is_some(), places, rows: Rows::default() })
    }

    /// Puts one row of the pool back. A row that is not there is not made.
    ///
    /// # Errors
    /// What the target said.
    pub fn row(&mut self, session: &mut dyn Session, shared: &Shared, index: u64) -> Result<(), Failure> {
        let row = shared.changes.row(index);
        let own = shared.table.values(row);
        let mut values: Vec<Value> = self.places.iter().map(|&place| own[place].clone()).collect();
        values.push(match self.by_secondary {
            true => shared.table.secondary_value(row).unwrap_or(Value::Null),
            false => shared.changes.asked(&shared.table, index).key,
        });
        session.ask(self.statement, &values, &mut self.rows).map(|_| ())
    }
}
