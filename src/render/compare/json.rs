//! A comparison as one JSON object. What is not known is null.

use serde::Serialize;

use super::{Comparison, Pair, SideCurve};
use crate::analyse::compare::{SideFigures, Speed};
use crate::analyse::probe_rates::ProbePair;
use crate::analyse::settings::Difference;

/// Version of the shape of `compare --json`.
const SHAPE: u32 = 1;

impl Comparison {
    /// One JSON object, with a line end.
    pub fn json(&self) -> String {
        let sides = [("BASE", &self.only_base), ("NEW", &self.only_new)];
        let of_pairs = self.pairs.iter().flat_map(|pair| [("BASE", &pair.base_curves), ("NEW", &pair.new_curves)]);
        let alone = sides.into_iter().flat_map(|(side, cells)| cells.iter().map(move |cell| (side, &cell.curves)));
        let left_out = of_pairs.chain(alone).flat_map(|(side, curves)| {
            curves
                .iter()
                .filter(|curve| curve.standing.fault.is_some())
                .map(move |curve| JsonLeftOut { side, curve: JsonCurve::of(curve) })
        });
        let shape = Json {
            v: SHAPE,
            base: &self.base,
            new: &self.new,
            tolerance: self.tolerance,
            regressions: self.regressions(),
            inconclusive: self.inconclusive(),
            partners_left_out: self.partners_left_out(),
            cells: self.pairs.iter().map(|pair| self.json_cell(pair)).collect(),
            only_base: self.only_base.iter().map(|cell| cell.name.as_str()).collect(),
            only_new: self.only_new.iter().map(|cell| cell.name.as_str()).collect(),
            left_out: left_out.collect(),
        };
        let mut text = serde_json::to_string_pretty(&shape).unwrap_or_default();
        text.push('\n');
        text
    }

    fn json_cell<'a>(&self, pair: &'a Pair) -> JsonCell<'a> {
        let speed = pair.speed.as_ref().ok();
        let short = pair.too_short.as_ref();
        let rates = speed
            .map(|speed| (speed.base_rows_per_second, speed.new_rows_per_second))
            .or_else(|| short.map(|short| (short.base_rows_per_second, short.new_rows_per_second)));
        let needed = self.needed(pair);
        JsonCell {
            name: &pair.name,
            not_compared: pair.speed.as_ref().err().map(String::as_str),
            too_short: short.is_some(),
            speed_ratio: speed.map(|speed| speed.ratio),
            speed_ratio_low: speed.map(|speed| speed.low),
            speed_ratio_high: speed.map(|speed| speed.high),
            contains_run_spread: speed.map(|speed| speed.has_run_spread),
            is_regression: self.is_regression(pair),
            is_inconclusive: self.is_inconclusive(pair),
            smallest_found_ratio: speed.map(|speed| speed.smallest_found(self.tolerance)),
            batches_needed_estimate: needed.filter(|needed| !needed.are_repeats).map(|needed| needed.needed),
            repeats_needed_estimate: needed.filter(|needed| needed.are_repeats).map(|needed| needed.needed),
            from_rows: speed.map(|speed| speed.from_rows).or(short.map(|short| short.from_rows)),
            to_rows: speed.map(|speed| speed.to_rows).or(short.map(|short| short.to_rows)),
            sizes: speed.map(|speed| speed.sizes).or(short.map(|short| short.sizes)),
            block_batches: speed.map(|speed: &Speed| speed.block),
            keep_no_row: pair.keep_no_row,
            tables_differ: pair.has_other_table().then(|| JsonTables { base: &pair.tables.0, new: &pair.tables.1 }),
            base: JsonSide::of(rates.map(|rates| rates.0), pair.base.as_ref(), &pair.base_curves),
            new: JsonSide::of(rates.map(|rates| rates.1), pair.new.as_ref(), &pair.new_curves),
            probes: pair.probes.iter().map(JsonProbe::of).collect(),
            settings_that_differ: pair.differences.as_ref().map(|differences| {
                let one = |one: &'a Difference| JsonDifference {
                    name: &one.name,
                    base: known(&one.base),
                    new: known(&one.new),
                };
                differences.iter().map(one).collect()
            }),
        }
    }
}

fn known(value: &str) -> Option<&str> {
    Some(value).filter(|value| !value.is_empty())
}

#[derive(Serialize)]
struct JsonTables<'a> {
    base: &'a [String],
    new: &'a [String],
}

#[derive(Serialize)]
struct Json<'a> {
    v: u32,
    base: &'a str,
    new: &'a str,
    tolerance: f64,
    regressions: usize,
    inconclusive: usize,
    partners_left_out: usize,
    cells: Vec<JsonCell<'a>>,
    only_base: Vec<&'a str>,
    only_new: Vec<&'a str>,
    left_out: Vec<JsonLeftOut<'a>>,
}

#[derive(Serialize)]
struct JsonCell<'a> {
    name: &'a str,
    not_compared: Option<&'a str>,
    too_short: bool,
    speed_ratio: Option<f64>,
    speed_ratio_low: Option<f64>,
    speed_ratio_high: Option<f64>,
    contains_run_spread: Option<bool>,
    is_regression: bool,
    is_inconclusive: bool,
    smallest_found_ratio: Option<f64>,
    batches_needed_estimate: Option<u64>,
    repeats_needed_estimate: Option<u64>,
    from_rows: Option<u64>,
    to_rows: Option<u64>,
    sizes: Option<usize>,
    block_batches: Option<usize>,
    keep_no_row: bool,
    tables_differ: Option<JsonTables<'a>>,
    base: JsonSide<'a>,
    new: JsonSide<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    probes: Vec<JsonProbe<'a>>,
    settings_that_differ: Option<Vec<JsonDifference<'a>>>,
}

#[derive(Serialize)]
struct JsonProbe<'a> {
    probe: &'a str,
    table_rows: u64,
    connections: u32,
    ops: Option<u64>,
    base_ops_per_sec: f64,
    new_ops_per_sec: f64,
    ratio: f64,
    ratio_least: Option<f64>,
    ratio_largest: Option<f64>,
}

impl<'a> JsonProbe<'a> {
    fn of(pair: &'a ProbePair) -> Self {
        Self {
            probe: &pair.base.probe,
            table_rows: pair.base.table_rows,
            connections: pair.base.connections,
            ops: pair.base.ops,
            base_ops_per_sec: pair.base.ops_per_sec,
            new_ops_per_sec: pair.new.ops_per_sec,
            ratio: pair.ratio(),
            ratio_least: pair.range().map(|range| range.0),
            ratio_largest: pair.range().map(|range| range.1),
        }
    }
}

#[derive(Serialize)]
struct JsonSide<'a> {
    /// Curves that were compared.
    repeats: usize,
    /// What became of all its curves; null where that is not recorded, or not the same.
    outcome: Option<&'a str>,
    /// Whether all that were compared were verified; null where that is not known of one of them.
    verified: Option<bool>,
    inserts_per_sec: Option<f64>,
    end_inserts_per_sec: Option<f64>,
    slowdown: Option<f64>,
    p99_us: Option<f64>,
    table_bytes_per_row: Option<f64>,
    written_bytes_per_row: Option<f64>,
    cliff_from_rows: Option<u64>,
    cliff_to_rows: Option<u64>,
    curves: Vec<JsonCurve<'a>>,
}

impl<'a> JsonSide<'a> {
    fn of(inserts_per_sec: Option<f64>, side: Option<&SideFigures>, curves: &'a [SideCurve]) -> Self {
        let good: Vec<&SideCurve> = curves.iter().filter(|curve| curve.standing.fault.is_none()).collect();
        // Of what was compared, where something was.
        let told: Vec<&SideCurve> = if good.is_empty() { curves.iter().collect() } else { good.clone() };
        let first = told.first().and_then(|curve| curve.standing.outcome);
        let verified: Option<Vec<bool>> = told.iter().map(|curve| curve.standing.verified).collect();
        Self {
            repeats: good.len(),
            outcome: first.filter(|word| told.iter().all(|curve| curve.standing.outcome == Some(word))),
            verified: verified.map(|all| all.into_iter().all(|one| one)),
            inserts_per_sec,
            end_inserts_per_sec: side.and_then(|side| side.end_rows_per_second),
            slowdown: side.and_then(|side| side.slowdown),
            p99_us: side.and_then(|side| side.p99_us),
            table_bytes_per_row: side.and_then(|side| side.table_bytes_per_row),
            written_bytes_per_row: side.and_then(|side| side.written_bytes_per_row),
            cliff_from_rows: side.and_then(|side| side.onset).map(|onset| onset.from_rows),
            cliff_to_rows: side.and_then(|side| side.onset).map(|onset| onset.to_rows),
            curves: curves.iter().map(JsonCurve::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct JsonCurve<'a> {
    run: &'a str,
    curve: &'a str,
    repeat: u32,
    batches: usize,
    outcome: Option<&'a str>,
    verified: Option<bool>,
    not_verified: Option<&'a str>,
    left_out: Option<&'a str>,
}

impl<'a> JsonCurve<'a> {
    fn of(curve: &'a SideCurve) -> Self {
        Self {
            run: &curve.run,
            curve: &curve.curve,
            repeat: curve.repeat,
            batches: curve.batches,
            outcome: curve.standing.outcome,
            verified: curve.standing.verified,
            not_verified: curve.standing.not_verified.as_deref(),
            left_out: curve.standing.fault.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct JsonLeftOut<'a> {
    side: &'static str,
    #[serde(flatten)]
    curve: JsonCurve<'a>,
}

#[derive(Serialize)]
struct JsonDifference<'a> {
    name: &'a str,
    base: Option<&'a str>,
    new: Option<&'a str>,
}
