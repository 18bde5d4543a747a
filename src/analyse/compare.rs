//! Two runs side by side: matching cells, and how fast one is as a multiple of the other, with what is not known of it.

use super::resample::{Rng, block_length, blocks, quantile, student};
use super::{Curve, Labels, median};
use crate::record::Sample;

/// Resamples of an interval.
const RESAMPLES: usize = 2000;
/// Table sizes that both sides must have measured.
pub const LEAST_SIZES: usize = 3;
/// Batches whose median is the level at the end.
const END_BATCHES: usize = 3;
/// Every interval starts its random numbers here: the same files give the same answer.
const SEED: u64 = 0x0C11_FF00;

/// Where a cliff begins, as an interval of table sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Onset {
    /// The last size before the fall.
    pub from_rows: u64,
    /// The first size in it.
    pub to_rows: u64,
}

/// What finds the cliff of a curve. `None` of it: cliffs are not compared.
pub type OnsetOf<'a> = Option<&'a dyn Fn(&Curve) -> Option<Onset>>;

/// The speed of NEW as a multiple of BASE's, over the table sizes that both have.
#[derive(Debug, Clone, PartialEq)]
pub struct Speed {
    /// How many times as fast NEW is: BASE's median cost divided by NEW's.
    pub ratio: f64,
    /// Lower end of the 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Rows per second of BASE, from the median cost.
    pub base_rows_per_second: f64,
    /// Rows per second of NEW.
    pub new_rows_per_second: f64,
    /// The smallest common table size.
    pub from_rows: u64,
    pub to_rows: u64,
    /// Table sizes that were compared.
    pub sizes: usize,
    /// Batches of one block of the resampling.
    pub block: usize,
    /// Whether both sides have repeats, so that the interval has run-to-run spread in it.
    pub has_run_spread: bool,
}

impl Speed {
    /// Whether NEW is slower for certain: the whole interval lies below 1 - `tolerance`.
    pub fn is_regression(&self, tolerance: f64) -> bool {
        self.high < 1.0 - tolerance
    }

    /// Whether the interval says that the two differ at all.
    pub fn differs(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }
}

/// Both speeds where the table sizes that both have are too few for a verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TooShort {
    /// Table sizes in common.
    pub sizes: usize,
    pub from_rows: u64,
    pub to_rows: u64,
    /// Rows per second of BASE there, from the median cost.
    pub base_rows_per_second: f64,
    /// Rows per second of NEW.
    pub new_rows_per_second: f64,
}

/// Figures of one side, over the common table sizes. What is not known is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SideFigures {
    pub repeats: usize,
    /// Rows per second over the last common sizes.
    pub end_rows_per_second: Option<f64>,
    /// How many times slower the curves are at their end than their baseline, each over all of its own sizes.
    pub slowdown: Option<f64>,
    /// Median of the batches' 99th percentiles of statement latency, microseconds.
    pub p99_us: Option<f64>,
    /// Bytes of data and indexes for each row at the last common size.
    pub table_bytes_per_row: Option<f64>,
    /// Bytes written to the device for each row.
    pub written_bytes_per_row: Option<f64>,
    /// Where the cliff begins, where cliffs are compared and there is one.
    pub onset: Option<Onset>,
}

/// Compares the repeats of one cell with those of another.
///
/// The cost of a batch is its seconds per million rows, so that batches of any size can be compared. Both sides are taken at the same
/// table sizes (those of the side with fewer of them; costs in between by a straight line of logarithms), repeats by their median.
/// The interval is that of a block bootstrap (Künsch 1989; Politis and Romano 1992) in which the same batches are drawn for both
/// sides, because both costs depend on the table size; repeats are drawn too (Davison and Hinkley 1997, section 3.8). Intervals of
/// few blocks or few repeats are widened as Student's t is.
///
/// # Errors
/// A sentence: why they cannot be compared.
pub fn speed(base: &[&Curve], new: &[&Curve]) -> Result<Speed, String> {
    let (base, new) = (costs(base), costs(new));
    let sizes = common_sizes(&base, &new)?;
    if sizes.len() < LEAST_SIZES {
        return Err(format!(
            "they have {} table sizes in common, and {LEAST_SIZES} are the least that is compared",
            sizes.len()
        ));
    }
    let (base, new) = (at_sizes(&base, &sizes), at_sizes(&new, &sizes));
    let (base_costs, new_costs) = (of_repeats(&base, None), of_repeats(&new, None));
    let (base_level, new_level) = (middle(&mut base_costs.clone()), middle(&mut new_costs.clone()));
    let ratio = base_level / new_level;
    let logs: Vec<f64> = base_costs.iter().zip(&new_costs).map(|(base, new)| (base / new).ln()).collect();
    let block = block_length(&logs);
    let (low, high) = interval(&base, &new, ratio, block);
    Ok(Speed {
        ratio,
        low,
        high,
        base_rows_per_second: 1e6 / base_level,
        new_rows_per_second: 1e6 / new_level,
        from_rows: sizes.first().map_or(0, |size| *size as u64),
        to_rows: sizes.last().map_or(0, |size| *size as u64),
        sizes: sizes.len(),
        block,
        has_run_spread: base.len() > 1 && new.len() > 1,
    })
}

/// Both speeds where there is a table size that both have, and fewer than a verdict needs.
pub fn too_short(base: &[&Curve], new: &[&Curve]) -> Option<TooShort> {
    let (base, new) = (costs(base), costs(new));
    let sizes = common_sizes(&base, &new).ok().filter(|sizes| sizes.len() < LEAST_SIZES)?;
    let level = |side: &[Costs]| 1e6 / middle(&mut of_repeats(&at_sizes(side, &sizes), None));
    Some(TooShort {
        sizes: sizes.len(),
        from_rows: sizes.first().map_or(0, |size| *size as u64),
        to_rows: sizes.last().map_or(0, |size| *size as u64),
        base_rows_per_second: level(&base),
        new_rows_per_second: level(&new),
    })
}

/// The other figures of one side over the table sizes from `from_rows` to `to_rows`.
pub fn figures(curves: &[&Curve], (from_rows, to_rows): (u64, u64), onset: OnsetOf<'_>) -> SideFigures {
    let common = |sample: &&Sample| (from_rows..=to_rows).contains(&sample.table_rows);
    let of_curves = |figure: &dyn Fn(&[&Sample]) -> Option<f64>| {
        let found: Vec<f64> = curves
            .iter()
            .filter_map(|curve| figure(&curve.samples.iter().filter(common).collect::<Vec<_>>()))
            .collect();
        median(&found)
    };
    let end = |samples: &[&Sample]| {
        let costs: Vec<f64> = samples.iter().rev().take(END_BATCHES).filter_map(|sample| cost(sample)).collect();
        median(&costs).map(|cost| 1e6 / cost)
    };
    let p99 = |samples: &[&Sample]| {
        median(&samples.iter().filter_map(|sample| Some(sample.p99_us? as f64)).collect::<Vec<_>>())
    };
    let table_bytes = |samples: &[&Sample]| {
        let last = samples.iter().rev().find(|sample| sample.data_bytes.is_some() && sample.table_rows > 0)?;
        Some(last.table_bytes()? as f64 / last.table_rows as f64)
    };
    let written = |samples: &[&Sample]| {
        let known = samples.iter().filter_map(|sample| Some((sample.written_bytes? as f64, sample.rows as f64)));
        let (bytes, rows) = known.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (rows > 0.0).then(|| bytes / rows)
    };
    SideFigures {
        repeats: curves.len(),
        end_rows_per_second: of_curves(&end),
        slowdown: median(&curves.iter().filter_map(|curve| curve.factor().value).collect::<Vec<_>>()),
        p99_us: of_curves(&p99),
        table_bytes_per_row: of_curves(&table_bytes),
        written_bytes_per_row: of_curves(&written),
        onset: onset.and_then(|onset| curves.iter().find_map(|curve| onset(curve))),
    }
}

/// A cell as a partner of another one.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    pub labels: &'a Labels,
    /// Whether none of its curves may be compared. It is matched all the same, so that another cell does not take its place.
    pub is_faulty: bool,
    /// Whether its engine keeps no row: it is matched with another one that keeps none.
    pub keeps_no_row: bool,
}

/// Which cell belongs to which: those whose labels differ in the fewest places, the earliest first. Cells of different keys, and
/// cells that keep rows with cells that keep none, are compared only where each side has one cell.
pub fn matching(base: &[Candidate<'_>], new: &[Candidate<'_>]) -> Vec<(usize, usize)> {
    let alone = base.len() == 1 && new.len() == 1;
    let mut pairs: Vec<(usize, bool, usize, usize)> = Vec::new();
    for (b, base) in base.iter().enumerate() {
        for (n, new) in new.iter().enumerate() {
            // A file of another program has no keys: its columns are told by name.
            let same_key = match base.labels.key.as_str() {
                "" => base.labels.engine == new.labels.engine,
                key => key == new.labels.key,
            };
            if alone || same_key && base.keeps_no_row == new.keeps_no_row {
                pairs.push((distance(base.labels, new.labels), base.is_faulty || new.is_faulty, b, n));
            }
        }
    }
    pairs.sort_unstable();
    let mut out: Vec<(usize, usize)> = Vec::new();
    for (_, _, b, n) in pairs {
        if out.iter().all(|&(other_b, other_n)| other_b != b && other_n != n) {
            out.push((b, n));
        }
    }
    out.sort_unstable();
    out
}

/// In how many places labels differ.
fn distance(a: &Labels, b: &Labels) -> usize {
    [
        a.target != b.target,
        a.engine != b.engine,
        a.key != b.key,
        a.flush != b.flush,
        a.flush_in_force != b.flush_in_force,
        a.settings != b.settings,
        a.method != b.method,
        a.connections != b.connections,
        a.statement_rows != b.statement_rows,
        a.commit_rows != b.commit_rows,
    ]
    .into_iter()
    .filter(|differs| *differs)
    .count()
}

/// A cost that can be compared: of a batch that paid for its own rows only.
fn cost(sample: &Sample) -> Option<f64> {
    let usable = |cost: &f64| cost.is_finite() && *cost > 0.0 && sample.counts_for_baseline();
    sample.seconds_per_million().filter(usable)
}

/// Table sizes and logarithms of costs of one curve.
struct Costs(Vec<(f64, f64)>);

impl Costs {
    /// The cost at a size that lies between those of the curve.
    fn at(&self, size: f64) -> f64 {
        let after = self.0.partition_point(|&(other, _)| other < size).min(self.0.len() - 1);
        let (right, high) = self.0[after];
        let (left, low) = self.0[after.saturating_sub(1)];
        let share = if right > left { ((size - left) / (right - left)).clamp(0.0, 1.0) } else { 1.0 };
        (low + (high - low) * share).exp()
    }
}

fn costs(curves: &[&Curve]) -> Vec<Costs> {
    let of = |curve: &&Curve| {
        let known = curve.samples.iter().filter_map(|sample| Some((sample.table_rows as f64, cost(sample)?.ln())));
        let mut points: Vec<(f64, f64)> = known.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Costs(points)
    };
    curves.iter().map(of).filter(|costs| !costs.0.is_empty()).collect()
}

/// The costs of each curve at the sizes.
fn at_sizes(side: &[Costs], sizes: &[f64]) -> Vec<Vec<f64>> {
    side.iter().map(|curve| sizes.iter().map(|&size| curve.at(size)).collect()).collect()
}

/// The sizes at which all curves of both sides can be taken.
fn common_sizes(base: &[Costs], new: &[Costs]) -> Result<Vec<f64>, String> {
    let all = || base.iter().chain(new);
    if base.is_empty() || new.is_empty() {
        return Err(format!("{} has no batch", if base.is_empty() { "BASE" } else { "NEW" }));
    }
    let low = all().map(|curve| curve.0[0].0).fold(0.0, f64::max);
    let high = all().map(|curve| curve.0[curve.0.len() - 1].0).fold(f64::MAX, f64::min);
    let within = |curve: &Costs| -> Vec<f64> {
        curve.0.iter().map(|point| point.0).filter(|size| (low..=high).contains(size)).collect()
    };
    let sizes = all().map(within).min_by_key(Vec::len).unwrap_or_default();
    match sizes.len() {
        0 => Err("they have no table size in common".into()),
        _ => Ok(sizes),
    }
}

/// The median of the repeats at each size; of those drawn, where some are.
fn of_repeats(repeats: &[Vec<f64>], drawn: Option<&[usize]>) -> Vec<f64> {
    let one = |repeat: usize| repeats[repeat].as_slice();
    let chosen: Vec<&[f64]> = match drawn {
        Some(drawn) => drawn.iter().map(|&repeat| one(repeat)).collect(),
        None => (0..repeats.len()).map(one).collect(),
    };
    match chosen.as_slice() {
        [only] => only.to_vec(),
        several => {
            let sizes = several.first().map_or(0, |first| first.len());
            (0..sizes).map(|size| middle(&mut several.iter().map(|repeat| repeat[size]).collect::<Vec<_>>())).collect()
        }
    }
}

/// The median, of values that may be put into another order.
fn middle(values: &mut [f64]) -> f64 {
    let count = values.len();
    if count == 0 {
        return f64::NAN;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(count / 2, f64::total_cmp);
    if count % 2 == 1 {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::MIN, f64::max);
    (lower + upper) / 2.0
}

fn interval(base: &[Vec<f64>], new: &[Vec<f64>], ratio: f64, block: usize) -> (f64, f64) {
    let sizes = base[0].len();
    let mut rng = Rng::new(SEED);
    let mut indexes = Vec::with_capacity(sizes);
    let mut logs: Vec<f64> = Vec::with_capacity(RESAMPLES);
    let whole = (of_repeats(base, None), of_repeats(new, None));
    for _ in 0..RESAMPLES {
        blocks(sizes, block, &mut rng, &mut indexes);
        let mut draw = |repeats: &[Vec<f64>], whole: &Vec<f64>| -> f64 {
            let mut drawn: Vec<f64> = if repeats.len() > 1 {
                let chosen: Vec<usize> = (0..repeats.len()).map(|_| rng.below(repeats.len())).collect();
                let costs = of_repeats(repeats, Some(&chosen));
                indexes.iter().map(|&at| costs[at]).collect()
            } else {
                indexes.iter().map(|&at| whole[at]).collect()
            };
            middle(&mut drawn)
        };
        logs.push((draw(base, &whole.0) / draw(new, &whole.1)).ln());
    }
    logs.sort_by(f64::total_cmp);
    let wider = widening(sizes, block).max(repeat_widening(base.len(), new.len()));
    let center = ratio.ln();
    let end = |share: f64| quantile(&logs, share).map_or(ratio, |log| (center + (log - center) * wider).exp());
    (end(0.025).min(ratio), end(0.975).max(ratio))
}

/// A resample of n blocks varies by (n - 1) / n less than the series, and its quantiles are those of a normal distribution.
fn widening(sizes: usize, block: usize) -> f64 {
    let count = (sizes as f64 / block as f64).max(2.0);
    (count / (count - 1.0)).sqrt() * student(count - 1.0) / student(1e9)
}

fn repeat_widening(base: usize, new: usize) -> f64 {
    let fewest = base.min(new) as f64;
    if fewest < 2.0 {
        return 1.0;
    }
    (fewest / (fewest - 1.0)).sqrt() * student((base + new - 2) as f64) / student(1e9)
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
