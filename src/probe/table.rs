//! What a table allows a probe to ask, and whether what it answers is what the generator made.

use std::sync::Arc;

use crate::engine::Engine;
use crate::plan::probe_kind::ProbeKind;
use crate::rows::{ID2_VALUES, RowSource, Value};
use crate::schema::{Column, ColumnType, Dialect};
use crate::targets::TableFacts;

/// Rows of a range.
pub const RANGE_ROWS: u64 = 100;
/// Rows that a look-up by an index that is not unique reads.
pub const ALIKE_MOST: usize = 64;

/// What a column of the table is to a probe.
#[derive(Debug, Clone, Copy)]
enum Slot {
    /// A value of the row, by its place among those of an INSERT.
    Sent(usize),
    /// The key that the server counts.
    Key,
    /// Something the server computes.
    Other,
}

/// A table with what probes need of it.
#[derive(Debug)]
pub struct ProbeTable {
    source: Arc<RowSource>,
    dialect: Dialect,
    name: String,
    /// The primary key's column, quoted.
    key: String,
    /// Its place among the values of a row; `None` where the server counts it.
    key_place: Option<usize>,
    /// Place of the column with a secondary index, and whether its values tell rows apart.
    secondary: Option<(usize, bool)>,
    /// Place of the column that updates change: it is in no index.
    changed: Option<usize>,
    /// Place of the text that transactions read and change; the changed column where there is no text.
    text: Option<usize>,
    /// Place of the number that transactions add up, and change as an indexed column where it has an index.
    number: Option<usize>,
    /// Place of the column by which a row of rowcliff's own tables is known: its value tells which row it is.
    counted: Option<usize>,
    /// Names of the columns of a row as the statements want them.
    columns: Vec<String>,
    /// What HANDLER gives: every column in the table's own order.
    in_table: Vec<Slot>,
}

impl ProbeTable {
    /// Looks at a table. `own`: it is one of rowcliff's, whose second index ascends with the rows.
    ///
    /// # Errors
    /// Why nothing can be asked of it.
    pub fn new(source: Arc<RowSource>, facts: &TableFacts, own: bool) -> Result<Self, String> {
        let quote = |name: &str| match facts.dialect {
            Dialect::Mysql => format!("`{}`", name.replace('`', "``")),
            Dialect::Sqlite => format!("\"{}\"", name.replace('"', "\"\"")),
        };
        let keys: Vec<&Column> = facts.columns.iter().filter(|column| column.in_primary_key).collect();
        let [key] = keys.as_slice() else {
            return Err(match keys.len() {
                0 => "the table has no primary key".into(),
                more => format!("the primary key has {more} columns, and probes know those of one"),
            });
        };
        let sent: Vec<&Column> = source
            .insert_columns()
            .iter()
            .filter_map(|name| facts.columns.iter().find(|column| column.name == *name))
            .collect();
        let place = |wanted: &dyn Fn(&Column) -> bool| sent.iter().position(|column| wanted(column));
        let key_place = place(&|column| column.name == key.name);
        if key_place.is_none() && !key.auto_increment {
            return Err(format!("the server computes the primary key {}, so no row of it is known", key.name));
        }
        let named = |name: &str| place(&|column: &Column| column.name == name);
        let counted = match key.auto_increment {
            _ if !own => None,
            true => named("id2"),
            // The UUID table of the PBXT post counts its rows in `id`.
            false => named("id").filter(|&at| Some(at) != key_place).or(named("id2")),
        };
        let free = |column: &Column| !column.indexed && !column.in_primary_key && column.unique_indexes.is_empty();
        let is_int = |column: &Column| matches!(column.data_type, ColumnType::Int { .. });
        let is_text =
            |column: &Column| matches!(column.data_type, ColumnType::Char | ColumnType::Varchar | ColumnType::Text);
        let last = |wanted: &dyn Fn(&Column) -> bool| {
            sent.iter().rposition(|column| free(column) && wanted(column)).filter(|&at| Some(at) != counted)
        };
        let changed = last(&is_int).or_else(|| last(&|_| true));
        let text = place(&|column| free(column) && is_text(column)).or(changed);
        let secondary = place(&|column| column.indexed && !column.in_primary_key);
        let by_index = secondary.filter(|&at| is_int(sent[at]) && sent[at].unique_indexes.is_empty());
        let number = by_index.or_else(|| last(&is_int));
        let tells = |at: usize| {
            source
                .find_by(0)
                .is_some_and(|found| found.unique && found.columns.len() == 1 && found.columns[0].0 == sent[at].name)
                || sent[at].unique
                || source.is_distinct(&sent[at].name)
        };
        let slot = |column: &Column| match named(&column.name) {
            Some(place) => Slot::Sent(place),
            None if column.name == key.name => Slot::Key,
            None => Slot::Other,
        };
        let in_table = facts.columns.iter().map(slot).collect();
        Ok(Self {
            dialect: facts.dialect,
            name: facts.quoted_name.clone(),
            key: quote(&key.name),
            key_place,
            secondary: secondary.map(|at| (at, tells(at))),
            changed,
            text,
            number,
            counted,
            columns: source.insert_columns().iter().map(|name| quote(name)).collect(),
            in_table,
            source,
        })
    }

    /// Why a probe cannot be run here; `None` when it can.
    pub fn unable(&self, kind: ProbeKind, engine: &Engine) -> Option<String> {
        use ProbeKind::{
            HandlerPk, Insert, Mixed, Oltp, RangePk, SelectPk, SelectSecondary, UpdatePk, UpdateSecondary,
        };
        let can = &engine.can;
        if !can.keeps_rows {
            return Some(format!("{} keeps no row that could be read or changed", engine.name));
        }
        if (kind.updates() || kind.inserts()) && !can.delete {
            return Some(format!("{} cannot change or delete rows, so the table could not be put back", engine.name));
        }
        let ordered = || {
            (!can.ordered_key).then(|| {
                format!("the keys of {} are in no order, so a range of them reads the whole table", engine.name)
            })
        };
        let free = || {
            self.changed
                .is_none()
                .then(|| "each column of the table is in an index, so there is none to change".to_owned())
        };
        let secondary = || self.secondary.is_none().then(|| "the table has no secondary index".to_owned());
        match kind {
            SelectPk => None,
            SelectSecondary => secondary(),
            RangePk => ordered(),
            HandlerPk => {
                (self.dialect == Dialect::Sqlite).then(|| "HANDLER is a statement of MySQL and MariaDB".into())
            }
            UpdatePk => free(),
            UpdateSecondary => secondary().or_else(free).or_else(|| {
                (!self.secondary.is_some_and(|(_, tells)| tells)).then(|| {
                    "several rows may share a value of the secondary index, and one row is to be changed".into()
                })
            }),
            Insert | Mixed => (self.key_place.is_some() && self.is_scanned())
                .then(|| "no unique column finds inserted rows again to remove them".into()),
            Oltp if !can.transactions => Some(format!("{} has no transactions", engine.name)),
            Oltp => ordered().or_else(free),
        }
    }

    /// The rows' generator.
    pub fn source(&self) -> &RowSource {
        &self.source
    }

    /// The primary key of a row; `None` where the server counts it.
    pub fn generated_key(&self, row: u64) -> Option<Value> {
        self.key_place.map(|place| self.values(row).swap_remove(place))
    }

    /// The values of a row, in the order of the columns of an INSERT.
    pub fn values(&self, row: u64) -> Vec<Value> {
        self.source.values(row..row + 1)
    }

    /// Whether ids that count without a gap are enough to know the rows: the answer tells which row it is.
    pub fn tells_row(&self) -> bool {
        self.key_place.is_none() && self.counted.is_some()
    }

    /// Whether no index finds a row by what the generator knows of it.
    pub fn is_scanned(&self) -> bool {
        self.source.find_by(0).is_none_or(|found| !found.unique)
    }

    /// The value by which a row is found through the secondary index.
    pub fn secondary_value(&self, row: u64) -> Option<Value> {
        self.secondary.map(|(place, _)| self.values(row).swap_remove(place))
    }

    /// A value for a column other than the row's own: what the generator gives to one of the next rows. `salt` makes repeated
    /// changes differ from each other.
    pub fn other_value(&self, row: u64, place: usize, salt: u64) -> Value {
        let own = self.values(row).swap_remove(place);
        let first = row + 1 + salt % 1000;
        let other = (first..first + 50).map(|row| self.values(row).swap_remove(place)).find(|value| *value != own);
        other.unwrap_or(own)
    }

    /// Places of the columns that a probe changes.
    pub fn changed_places(&self, kind: ProbeKind) -> Vec<usize> {
        let list = match kind {
            ProbeKind::UpdatePk | ProbeKind::UpdateSecondary => vec![self.changed],
            ProbeKind::Oltp => vec![self.number.or(self.changed), self.text],
            _ => Vec::new(),
        };
        let mut places: Vec<usize> = list.into_iter().flatten().collect();
        places.dedup();
        places
    }

    /// What is wrong with a row that was read whole (with the key in front where the server counts it); `None` when it is what
    /// the generator made.
    pub fn difference(&self, key: &Value, row: Option<u64>, table_rows: u64, got: &[Value]) -> Option<String> {
        let (id, values) = match self.key_place {
            Some(_) => (None, got),
            None => (got.first(), got.get(1..).unwrap_or(&[])),
        };
        if values.len() != self.columns.len() {
            return Some(format!("a row has {} values where {} were asked for", values.len(), self.columns.len()));
        }
        if let Some(wrong) = id.and_then(|_| self.other_id(key, got)) {
            return Some(wrong);
        }
        if let Some(row) = row {
            return self.source.difference(row, values);
        }
        let told = |place: usize| self.source.row_of(&self.source.insert_columns()[place], number(&values[place])?);
        let Some(first) = self.counted.and_then(told) else {
            return Some("nothing tells which row it is".into());
        };
        let mut candidates = (first..table_rows).step_by(ID2_VALUES as usize);
        let mut wrong = format!("row {first} is beyond the {table_rows} rows of the table");
        candidates
            .all(|row| {
                self.source.difference(row, values).is_some_and(|difference| {
                    wrong = difference;
                    true
                })
            })
            .then_some(wrong)
    }

    /// What is wrong with a row of which only the id is known; `None` when nothing is.
    pub fn other_id(&self, key: &Value, got: &[Value]) -> Option<String> {
        let id = got.first()?;
        (number(id) != number(key))
            .then(|| format!("the row with {}={} was asked for and {} came", self.key, key.literal(), id.literal()))
    }

    /// Whether each row of a range can be checked and not only the first one.
    pub fn knows_every_row(&self) -> bool {
        self.counted.is_some()
    }

    /// The key of a row that was read whole.
    pub fn key_of<'a>(&self, got: &'a [Value]) -> Option<&'a Value> {
        got.get(self.key_place.unwrap_or(0))
    }

    /// A row as HANDLER gives it, in the order of a SELECT of ours.
    pub fn from_handler(&self, got: &[Value]) -> Vec<Value> {
        let mut values = vec![Value::Null; self.columns.len()];
        let mut key = None;
        for (value, slot) in got.iter().zip(&self.in_table) {
            match slot {
                Slot::Sent(place) => values[*place] = value.clone(),
                Slot::Key => key = Some(value.clone()),
                Slot::Other => {}
            }
        }
        key.into_iter().chain(values).collect()
    }

    /// What a row read whole has for columns.
    fn list(&self) -> String {
        let list = self.columns.join(", ");
        match self.key_place {
            Some(_) => list,
            None => format!("{}, {list}", self.key),
        }
    }

    /// One row by key.
    pub fn select_by_key(&self) -> String {
        format!("SELECT {} FROM {} WHERE {} = ?", self.list(), self.name, self.key)
    }

    /// Rows by the secondary index.
    pub fn select_by_secondary(&self) -> Option<String> {
        let (place, _) = self.secondary?;
        let column = &self.columns[place];
        Some(format!("SELECT {} FROM {} WHERE {column} = ? LIMIT {ALIKE_MOST}", self.list(), self.name))
    }

    /// Rows in the order of the key from one on. `follow`: ids without a gap, so that two of them bound a range.
    fn range(&self, what: &str, follow: bool, more: &str) -> String {
        match follow {
            true => format!("SELECT {what} FROM {} WHERE {} BETWEEN ? AND ?{more}", self.name, self.key),
            false if more.is_empty() && !what.contains('(') => self.first_rows(what),
            // Among random keys only their order bounds a range.
            false => format!("SELECT {what} FROM ({}) AS r{more}", self.first_rows("*")),
        }
    }

    fn first_rows(&self, what: &str) -> String {
        format!("SELECT {what} FROM {} WHERE {key} >= ? ORDER BY {key} LIMIT {RANGE_ROWS}", self.name, key = self.key)
    }

    /// A range of whole rows.
    pub fn select_range(&self, follow: bool) -> String {
        match follow {
            true => format!("{} ORDER BY {}", self.range(&self.list(), true, ""), self.key),
            false => self.first_rows(&self.list()),
        }
    }

    /// The row that HANDLER finds by key, with a place for the key.
    pub fn handler_read(&self) -> String {
        format!("HANDLER {} READ `PRIMARY` = (?)", self.name)
    }

    /// Opens and closes the table for HANDLER.
    pub fn handler(&self, word: &str) -> String {
        format!("HANDLER {} {word}", self.name)
    }

    /// Changes columns of a row found by its key.
    pub fn update_by_key(&self, places: &[usize]) -> String {
        let list: Vec<String> = places.iter().map(|&place| format!("{} = ?", self.columns[place])).collect();
        format!("UPDATE {} SET {} WHERE {} = ?", self.name, list.join(", "), self.key)
    }

    /// Changes the free column of a row found by the secondary index.
    pub fn update_by_secondary(&self) -> Option<String> {
        let ((by, _), changed) = (self.secondary?, self.changed?);
        Some(format!("UPDATE {} SET {} = ? WHERE {} = ?", self.name, self.columns[changed], self.columns[by]))
    }

    /// Inserts a row; `with_key`: its id too, where the server counts it.
    pub fn insert(&self, with_key: bool) -> String {
        let mut columns = self.columns.clone();
        if with_key && self.key_place.is_none() {
            columns.insert(0, self.key.clone());
        }
        let places = vec!["?"; columns.len()].join(", ");
        format!("INSERT INTO {} ({}) VALUES ({places})", self.name, columns.join(", "))
    }

    /// Deletes a row by key.
    pub fn delete(&self) -> String {
        format!("DELETE FROM {} WHERE {} = ?", self.name, self.key)
    }

    /// The id of a row: found by an index or, with `scan`, by all its values. What is asked with are the [`Self::id_values`].
    pub fn select_id(&self, scan: bool) -> String {
        let same = match self.dialect {
            _ if !scan => "=",
            // NULL too.
            Dialect::Mysql => "<=>",
            Dialect::Sqlite => "IS",
        };
        let terms: Vec<String> =
            self.id_places(scan).into_iter().map(|place| format!("{} {same} ?", self.columns[place])).collect();
        format!("SELECT {} FROM {} WHERE {}", self.key, self.name, terms.join(" AND "))
    }

    /// The values by which [`Self::select_id`] finds a row.
    pub fn id_values(&self, row: u64, scan: bool) -> Vec<Value> {
        let values = self.values(row);
        self.id_places(scan).into_iter().map(|place| values[place].clone()).collect()
    }

    fn id_places(&self, scan: bool) -> Vec<usize> {
        let names = self.source.insert_columns();
        match self.source.find_by(0).filter(|_| !scan) {
            None => (0..names.len()).collect(),
            Some(found) => {
                let place = |name: &String| names.iter().position(|known| known == name);
                found.columns.iter().filter_map(|(name, _)| place(name)).collect()
            }
        }
    }

    /// The statements of the transaction, in the order of [`super::operation`].
    pub fn transaction(&self, follow: bool) -> Option<Vec<String>> {
        let text = &self.columns[self.text?];
        let number =
            self.number.map_or_else(|| format!("COUNT({text})"), |place| format!("SUM({})", self.columns[place]));
        let places = self.changed_places(ProbeKind::Oltp);
        let (&first, &last) = (places.first()?, places.last()?);
        let order = format!(" ORDER BY {text}");
        Some(vec![
            format!("SELECT {text} FROM {} WHERE {} = ?", self.name, self.key),
            self.range(text, follow, ""),
            self.range(&number, follow, ""),
            self.range(text, follow, &order),
            self.range(&format!("DISTINCT {text}"), follow, &order),
            self.update_by_key(&[first]),
            self.update_by_key(&[last]),
            self.delete(),
            self.insert(true),
        ])
    }
}

/// An id, however the driver gives it.
pub fn number(value: &Value) -> Option<u64> {
    match value {
        Value::UInt(number) => Some(*number),
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::Text(bytes) | Value::Bytes(bytes) => std::str::from_utf8(bytes).ok()?.parse().ok(),
        Value::Null | Value::Real(_) => None,
    }
}
