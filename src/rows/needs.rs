//! What the values of each column have to be like, so that every unique index can take the rows.

use std::collections::BTreeMap;

use crate::schema::{Column, ColumnType};

use super::plan::{has_prefix, is_always_null, is_left_out};
use super::shape::shape;
use super::wish::{Wish, Wishes};
use super::{RowOptions, RowsError};

/// What the values of a column have to be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Anything that fits.
    Any,
    /// Spread over the index in the order asked for; they may come again.
    Spread,
    /// So many different numbers.
    Distinct {
        values: u64,
        /// The rows in a row that share one.
        divisor: u64,
    },
}

/// A column as a part of a unique index.
#[derive(Debug, Clone, Copy)]
struct Member {
    place: usize,
    /// Whether the index sees what an expression makes of the column, and not the column itself.
    through: bool,
}

/// Works out what each column needs.
///
/// # Errors
/// A unique index that cannot have so many different entries, with its columns.
pub(super) fn needs(
    columns: &[Column],
    options: &RowOptions,
    wishes: &Wishes,
    key_column: Option<usize>,
) -> Result<Vec<Need>, RowsError> {
    let mut work = Work {
        columns,
        options,
        wishes,
        needs: columns.iter().map(|column| if column.indexed { Need::Spread } else { Need::Any }).collect(),
        // Columns that are unique by themselves: any index with one of them is.
        settled: (0..columns.len())
            .map(|place| is_settled(&columns[place], key_column == Some(place), wishes))
            .collect(),
    };
    // Indexes on one column leave no choice, so they come first.
    let mut indexes: Vec<(String, Vec<Member>)> = members(columns).into_iter().collect();
    indexes.sort_by_key(|(_, members)| members.len());
    for (index, members) in indexes {
        work.index(&index, &members)?;
    }
    Ok(work.needs)
}

fn is_settled(column: &Column, is_key: bool, wishes: &Wishes) -> bool {
    let is_uuid = column.data_type == ColumnType::Uuid && !has_prefix(column);
    // Rows with NULL never meet in a unique index.
    column.auto_increment || is_key || is_uuid && !wishes.contains_key(&column.name) || is_always_null(column)
}

/// The columns of every unique index. In place of one that the server computes stand those it is made of.
fn members(columns: &[Column]) -> BTreeMap<String, Vec<Member>> {
    let mut indexes: BTreeMap<String, Vec<Member>> = BTreeMap::new();
    for (place, column) in columns.iter().enumerate() {
        for index in &column.unique_indexes {
            let members = indexes.entry(index.name.clone()).or_default();
            let mut places = vec![place];
            let through = column.generated || index.expression.is_some();
            if column.generated {
                places = sources(columns, place, 0);
            }
            for place in places {
                match members.iter_mut().find(|member| member.place == place) {
                    Some(member) => member.through &= through,
                    None => members.push(Member { place, through }),
                }
            }
        }
    }
    indexes
}

/// The columns of which a generated one is made in the end.
fn sources(columns: &[Column], place: usize, depth: usize) -> Vec<usize> {
    let mut found = Vec::new();
    for name in &columns[place].made_of {
        let Some(source) = columns.iter().position(|column| column.name.eq_ignore_ascii_case(name)) else { continue };
        match columns[source].generated {
            // Generated columns are not made of themselves; a limit all the same.
            true if depth < columns.len() => found.extend(sources(columns, source, depth + 1)),
            true => {}
            false => found.push(source),
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

struct Work<'a> {
    columns: &'a [Column],
    options: &'a RowOptions,
    wishes: &'a Wishes,
    needs: Vec<Need>,
    settled: Vec<bool>,
}

impl Work<'_> {
    fn rows(&self) -> u64 {
        self.options.rows.max(1)
    }

    fn index(&mut self, index: &str, members: &[Member]) -> Result<(), RowsError> {
        if members.iter().any(|member| self.settled[member.place] && !member.through) {
            return Ok(());
        }
        let open: Vec<Member> = members.iter().copied().filter(|member| self.is_open(member.place)).collect();
        let mut capacities = Vec::with_capacity(open.len());
        for member in &open {
            capacities.push((*member, self.capacity(member.place)?));
        }
        let rows = self.rows();
        let has_room = |(_, values): &&(Member, u128)| *values >= u128::from(rows);
        if let Some((member, _)) = capacities.iter().filter(has_room).find(|(member, _)| !member.through) {
            self.settle(member.place);
            return Ok(());
        }
        // What an expression makes of a column nobody knows: each one that can is distinct, and the trial has the last word.
        let through: Vec<usize> = capacities.iter().filter(has_room).map(|(member, _)| member.place).collect();
        through.iter().for_each(|&place| self.settle(place));
        let is_computed = members.iter().any(|member| member.through);
        if !through.is_empty() || is_computed && open.is_empty() {
            return Ok(());
        }
        // No column has room alone: together they count like the digits of a number, the last one fastest, so that
        // the key ascends.
        let mut divisor = 1_u64;
        for &(member, values) in capacities.iter().rev() {
            let values = u64::try_from(values).unwrap_or(u64::MAX);
            self.needs[member.place] = Need::Distinct { values, divisor };
            divisor = divisor.saturating_mul(values);
        }
        if divisor < rows && !(is_computed && self.may_be_null(members)) {
            return Err(self.too_many(index, members, divisor));
        }
        Ok(())
    }

    /// Whether the values of a column are still to be decided.
    fn is_open(&self, place: usize) -> bool {
        let column = &self.columns[place];
        let wish = self.wish(place);
        !is_left_out(column)
            && !self.settled[place]
            && column.period.is_none()
            && wish.zipf.is_none()
            && !matches!(self.needs[place], Need::Distinct { .. })
    }

    fn wish(&self, place: usize) -> Wish {
        self.wishes.get(&self.columns[place].name).copied().unwrap_or_default()
    }

    fn settle(&mut self, place: usize) {
        self.needs[place] = Need::Distinct { values: self.rows(), divisor: 1 };
        self.settled[place] = true;
    }

    /// How many different values a column can have, as asked for.
    fn capacity(&self, place: usize) -> Result<u128, RowsError> {
        let need = Need::Distinct { values: self.rows(), divisor: 1 };
        let wish = self.wish(place);
        let plain = Wish { distinct: None, length: wish.length, ..Wish::default() };
        let values = shape(&self.columns[place], need, plain, self.options)?.values();
        Ok(wish.distinct.map_or(values, |distinct| values.min(u128::from(distinct))))
    }

    /// Whether the entry of an index may be NULL, of which there can be any number.
    fn may_be_null(&self, members: &[Member]) -> bool {
        let computed = self.columns.iter().filter_map(|column| column.expression.as_deref());
        let parts = self.columns.iter().flat_map(|c| &c.unique_indexes).filter_map(|index| index.expression.as_deref());
        let mut words = computed.chain(parts).flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
        members.iter().any(|member| self.columns[member.place].nullable)
            || words.any(|word| ["null", "case", "nullif"].iter().any(|known| word.eq_ignore_ascii_case(known)))
    }

    fn too_many(&self, index: &str, members: &[Member], rows_max: u64) -> RowsError {
        let name = |member: &Member| self.columns[member.place].name.as_str();
        let rows = self.rows();
        let asked = members.iter().find(|member| {
            let wish = self.wish(member.place);
            wish.distinct.is_some() || wish.zipf.is_some()
        });
        if let Some(member) = asked {
            let column = name(member).to_owned();
            return RowsError::FillUnique { column, index: index.into(), rows, rows_max };
        }
        let columns: Vec<&str> = members.iter().map(name).collect();
        RowsError::TooManyRows { index: index.into(), columns: columns.join(", "), rows, rows_max }
    }
}
