//! What would spoil a long run, said before it starts: a cache of the default size, a busy machine. (That
//! it is a debug build is said at the start of every run, and stands in its record.)

use crate::plan::{CurvePlan, Place, Plan};
use crate::record::{Environment, RunRecord};
use crate::units::human_bytes;

/// From so many rows on a run is long enough to be worth a warning.
const LONG_RUN_ROWS: u64 = 10_000_000;
/// Share of the cores that may be busy before the run starts.
const BUSY: f64 = 0.5;
/// Sizes that caches have when nobody sets them, on the servers of this family.
const DEFAULT_CACHES: [(&str, &[u64]); 4] = [
    ("innodb_buffer_pool_size", &[128 << 20, 8 << 20]),
    ("rocksdb_block_cache_size", &[512 << 20]),
    ("aria_pagecache_buffer_size", &[128 << 20]),
    ("key_buffer_size", &[128 << 20, 8 << 20]),
];

/// Everything that a person should hear before the first curve, as sentences.
pub fn warnings(plan: &Plan, record: &RunRecord) -> Vec<String> {
    let curves: Vec<&CurvePlan> = plan
        .curves
        .iter()
        .zip(&record.curves)
        .filter(|(_, entry)| !matches!(entry.outcome, crate::record::Outcome::Skipped { .. }))
        .map(|(curve, _)| curve)
        .collect();
    let mut out = Vec::new();
    let rows: u64 = curves.iter().map(|curve| curve.sizes.rows).fold(0, u64::saturating_add);
    if rows < LONG_RUN_ROWS {
        return out;
    }
    out.extend(busy(&record.environment));
    out.extend(slow_governor(&record.environment));
    out.extend(default_caches(plan, &curves, record));
    out
}

fn busy(environment: &Environment) -> Option<String> {
    let (load, cores) = (environment.load_average_1m?, environment.cpu_cores?);
    (load > BUSY * cores as f64).then(|| {
        format!("the machine is busy already: load average {load:.2} on {cores} cores; the figures will show that too")
    })
}

fn slow_governor(environment: &Environment) -> Option<String> {
    let governor = environment.cpu_governor.as_deref().filter(|word| *word != "performance")?;
    Some(format!("the CPU governor is {governor}: figures swing with the frequency; performance keeps it steady"))
}

/// Curves whose cache has the size that it has when nobody sets it.
fn default_caches(plan: &Plan, curves: &[&CurvePlan], record: &RunRecord) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for curve in curves {
        let cell = &curve.cell;
        let Some(cache) = cell.engine_entry.cache.as_ref() else { continue };
        let Some((_, defaults)) = DEFAULT_CACHES.iter().find(|(name, _)| *name == cache.variable) else { continue };
        let is_scratch = matches!(plan.targets[cell.target].place, Place::Scratch { .. });
        let asked = cell.variables().iter().any(|(name, _)| *name == cache.variable)
            || is_scratch && plan.scratch.options.iter().any(|(name, _)| name.replace('-', "_") == cache.variable)
            || is_scratch && plan.scratch.config.is_some();
        let in_force = record.targets.get(&cell.target_label).and_then(|target| target.variables.get(&cache.variable));
        let bytes = in_force.and_then(|value| value.parse::<u64>().ok());
        let is_default = match (asked, bytes) {
            (true, _) => false,
            (false, Some(bytes)) => defaults.contains(&bytes),
            (false, None) => is_scratch,
        };
        let size = bytes.map_or_else(String::new, |bytes| format!(" ({})", human_bytes(bytes)));
        let line = format!(
            "{} on {} has a cache of the default size{size}: {} decides how large a table it holds; --cache sets it",
            cell.engine_entry.name, cell.target_label, cache.variable
        );
        if is_default && !out.contains(&line) {
            out.push(line);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_named_and_an_idle_one_is_not() {
        let environment = |load| Environment { load_average_1m: load, cpu_cores: Some(4), ..Environment::default() };
        assert!(busy(&environment(Some(2.5))).unwrap().contains("2.50 on 4 cores"));
        assert_eq!(busy(&environment(Some(1.9))), None);
        assert_eq!(busy(&environment(None)), None);
    }
}
