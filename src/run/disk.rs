//! The disk that a curve will need: reckoned before it starts, corrected by what its first batches took.

use std::path::{Path, PathBuf};

use super::verify;
use crate::observe::environment::disk_space;
use crate::plan::method::Method;
use crate::plan::stop::StopRules;
use crate::plan::{CurvePlan, Place, Plan};
use crate::record::Sample;
use crate::rows::footprint::{Filling, footprint};
use crate::schema::pasted::{PastedTable, pasted};
use crate::schema::{Column, Dialect};
use crate::targets::{Failure, TableFacts, TableOrder, Verdict};
use crate::units::{grouped, human_bytes};

/// Batches after which what they took says more than what was reckoned.
const MEASURED_BATCHES: usize = 3;

/// What a table will take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Bytes of its files at its full size.
    pub bytes: u64,
    /// Whether the layout of the engine is known; of one that compresses, or that nobody knows, it is a guess.
    pub is_sure: bool,
}

/// The disk where a table will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    pub directory: PathBuf,
    /// Bytes that are free there.
    pub free: Option<u64>,
}

impl Space {
    /// A directory on this machine, which need not be there yet.
    pub fn of(directory: &Path) -> Self {
        let existing = directory.ancestors().find(|path| path.exists() && !path.as_os_str().is_empty());
        let free = disk_space(existing.unwrap_or(Path::new("."))).map(|(free, _)| free);
        Self { directory: directory.to_owned(), free }
    }

    /// The same with less space: what will be kept beside the table.
    #[must_use]
    pub fn without(self, bytes: u64) -> Self {
        Self { free: self.free.map(|free| free.saturating_sub(bytes)), ..self }
    }
}

/// Where the tables of a target will be, when that is on this machine. `data` is what a server says of itself.
pub fn home(plan: &Plan, target: usize, data: Option<PathBuf>, run_directory: &Path) -> Option<PathBuf> {
    match &plan.targets.get(target)?.place {
        Place::Server(_) => data,
        Place::Sqlite { path: Some(path) } => path.parent().map(Path::to_owned),
        Place::Sqlite { path: None } => Some(run_directory.to_owned()),
        Place::Scratch { .. } => Some(plan.scratch.directory.clone().unwrap_or_else(|| run_directory.to_owned())),
    }
}

/// The table of an order as it will be made, read without asking a database.
///
/// # Errors
/// Its template cannot be used.
pub fn described(order: &TableOrder<'_>, dialect: Dialect) -> Result<PastedTable, Failure> {
    let (table, options) = match dialect {
        Dialect::Mysql => (format!("`{}`", order.table), format!("ENGINE={}", order.curve.cell.engine_entry.name)),
        Dialect::Sqlite => (format!("\"{}\"", order.table), String::new()),
    };
    let sql = order.statements(dialect, &table, &table, &options)?.join(";\n");
    pasted(&sql, dialect, None).map(|found| found.table).map_err(|cause| Failure::fatal(format!("--schema: {cause}")))
}

/// Reckons the disk of a table that was made.
pub fn estimate(plan: &Plan, order: &TableOrder<'_>, facts: &TableFacts) -> Option<Estimate> {
    let table = described(order, facts.dialect).ok()?;
    of_columns(plan, order.curve, &table, facts)
}

/// Reckons the disk of a table whose columns are known.
pub fn of_columns(plan: &Plan, curve: &CurvePlan, table: &PastedTable, facts: &TableFacts) -> Option<Estimate> {
    let engine = &curve.cell.engine_entry;
    let Some(layout) = engine.layout else {
        let bytes = curve.estimated_bytes();
        return (bytes > 0).then_some(Estimate { bytes, is_sure: false });
    };
    let columns: &[Column] = &facts.columns;
    let source = verify::row_source(plan, curve, facts).ok()?;
    // LOAD DATA holds the lock of the counter for a whole statement, so that keys come in their order over any number of connections.
    let in_order = curve.cell.method == Method::LoadData && curve.cell.key.is_autoinc();
    let filling = Filling {
        rows: curve.sizes.rows,
        one_writer: curve.cell.connections == 1 || in_order,
        without_rowid: table.without_rowid,
    };
    let size = footprint(layout, columns, &table.reported_indexes(), &source, filling);
    Some(Estimate { bytes: size.bytes(curve.sizes.rows), is_sure: true })
}

/// Whether a curve may start where so much is free.
pub fn verdict(rules: &StopRules, curve: &CurvePlan, estimate: Option<Estimate>, space: Option<&Space>) -> Verdict {
    let (Some(estimate), Some(space)) = (estimate, space) else { return Verdict::runs() };
    let Some(free) = space.free else { return Verdict::runs() };
    let bound = rules.max_table_bytes.filter(|&most| most < estimate.bytes);
    let needed = bound.unwrap_or(estimate.bytes);
    if needed <= free {
        return Verdict::runs();
    }
    let rows = grouped(curve.sizes.rows);
    let figures = match bound {
        Some(most) => format!(
            "--max-table-bytes lets the table grow to {}, and {} are free in {}",
            human_bytes(most),
            human_bytes(free),
            space.directory.display()
        ),
        None => format!(
            "{rows} rows will need about {} of disk, and {} are free in {}",
            human_bytes(needed),
            human_bytes(free),
            space.directory.display()
        ),
    };
    if rules.no_disk_check || !estimate.is_sure {
        let why = if rules.no_disk_check { "--no-disk-check" } else { "a guess for this engine" };
        return Verdict::Runs {
            notes: vec![format!("{figures} ({why}); --min-free-disk stops the curve before the disk is full")],
        };
    }
    Verdict::Prevented {
        why: format!("{figures}: give fewer --rows, or --no-disk-check to load until --min-free-disk stops it"),
    }
}

/// What the batches of a curve say of the disk that the rest will need, once it is more than what is free.
#[derive(Debug, Default)]
pub struct Watch {
    is_said: bool,
}

impl Watch {
    /// Looks at the batches so far; the first that tells it tells it once.
    pub fn after_batch(&mut self, samples: &[Sample], curve: &CurvePlan, directory: &Path) -> Option<String> {
        if self.is_said || samples.len() < MEASURED_BATCHES {
            return None;
        }
        let needed = corrected(samples, curve.sizes.rows)?;
        let taken = samples.last()?.table_bytes()?;
        let free = disk_space(directory)?.0;
        if needed.saturating_sub(taken) <= free {
            return None;
        }
        self.is_said = true;
        Some(format!(
            "by its first {} batches the table grows to about {} with {} rows; it has {}, and {} are free: --min-free-disk will stop it",
            samples.len(),
            human_bytes(needed),
            grouped(curve.sizes.rows),
            human_bytes(taken),
            human_bytes(free)
        ))
    }
}

/// Bytes of the whole table, from what it took since its first batch.
pub fn corrected(samples: &[Sample], rows: u64) -> Option<u64> {
    let (first, last) = (samples.first()?, samples.last()?);
    let (from, to) = (first.table_bytes()?, last.table_bytes()?);
    let loaded = last.table_rows.checked_sub(first.table_rows).filter(|&rows| rows > 0)?;
    let left = rows.saturating_sub(last.table_rows);
    let each = to.saturating_sub(from) as f64 / loaded as f64;
    Some(to.saturating_add((each * left as f64) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(table_rows: u64, data_bytes: u64) -> Sample {
        Sample { table_rows, data_bytes: Some(data_bytes), index_bytes: Some(10), ..Sample::default() }
    }

    #[test]
    fn what_the_batches_took_corrects_the_estimate() {
        let samples = [sample(100, 5_000), sample(200, 6_000), sample(300, 7_000)];
        assert_eq!(corrected(&samples, 1_000), Some(7_010 + 700 * 10));
        assert_eq!(corrected(&samples, 300), Some(7_010));
        assert_eq!(corrected(&samples[..1], 1_000), None);
        assert_eq!(corrected(&[], 1_000), None);
    }
}
