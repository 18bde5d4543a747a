//! What `compare` says: directions in words, figures side by side, and every setting that differs. The same as JSON.

use serde::Serialize;

use super::table::{Align, Table};
use super::text::{text_columns, wrapped};
use crate::analyse::compare::{Onset, SideFigures, Speed};
use crate::analyse::probe_rates::ProbePair;
use crate::analyse::settings::Difference;
use crate::units::{human_bytes, human_rate, human_rows, human_seconds, significant};

/// Version of the shape of `compare --json`.
const SHAPE: u32 = 1;
/// Columns of text that output keeps to.
const WIDTH: f64 = 100.0;

/// What the table of probes says, and what it does not.
const PROBES_SAY: &str = "probes: operations of all iterations by their seconds; iterations: the least and the largest ratio that single \
                          iterations give, where both sides have several. No verdict is drawn from probes.";

/// A cell of BASE beside its cell of NEW.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// What both are called, or the two names.
    pub name: String,
    /// The speeds; why they cannot be compared.
    pub speed: Result<Speed, String>,
    /// BASE's figures; `None` when the speeds cannot be compared.
    pub base: Option<SideFigures>,
    /// NEW's.
    pub new: Option<SideFigures>,
    /// What both measured between the batches.
    pub probes: Vec<ProbePair>,
    /// Settings that differ; `None` where one of them does not tell how it was made.
    pub differences: Option<Vec<Difference>>,
}

/// All of a comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// What BASE is called.
    pub base: String,
    /// What NEW is called.
    pub new: String,
    /// How much slower is no regression.
    pub tolerance: f64,
    /// Whether cliffs were looked for.
    pub compares_onsets: bool,
    /// The cells that both have.
    pub pairs: Vec<Pair>,
    /// Cells of BASE alone.
    pub only_base: Vec<String>,
    /// Cells of NEW alone.
    pub only_new: Vec<String>,
}

impl Comparison {
    /// How many cells are slower for certain.
    pub fn regressions(&self) -> usize {
        self.pairs.iter().filter(|pair| self.is_regression(pair)).count()
    }

    /// Whether probes were compared.
    pub fn has_probes(&self) -> bool {
        self.pairs.iter().any(|pair| !pair.probes.is_empty())
    }

    fn is_regression(&self, pair: &Pair) -> bool {
        pair.speed.as_ref().is_ok_and(|speed| speed.is_regression(self.tolerance))
    }

    /// How many cells could be compared.
    pub fn compared(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.speed.is_ok()).count()
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut out = format!("BASE  {}\nNEW   {}\n", self.base, self.new);
        for pair in &self.pairs {
            out.push('\n');
            out.push_str(&self.pair(pair));
        }
        for (side, names) in [("BASE", &self.only_base), ("NEW", &self.only_new)] {
            if !names.is_empty() {
                out.push_str(&format!("\nin {side} only: {}\n", names.join("; ")));
            }
        }
        if self.has_probes() {
            out.push('\n');
            out.push_str(&super::show::paragraph(PROBES_SAY, ""));
        }
        let verdict = match (self.regressions(), self.compared()) {
            (0, 0) => "no load could be compared".to_owned(),
            (0, compared) => format!("no regression in {compared} of {compared} comparisons"),
            (found, compared) => format!("REGRESSION in {found} of {compared} comparisons"),
        };
        out.push_str(&format!(
            "\n{verdict} (a regression: the whole interval lies below {} of BASE's speed)\n",
            significant(1.0 - self.tolerance)
        ));
        out
    }

    fn pair(&self, pair: &Pair) -> String {
        let mut out = format!("{}\n", pair.name);
        let mut say = |text: &str| out.push_str(&indented(text));
        match &pair.speed {
            Err(why) => say(&format!("not compared: {why}")),
            Ok(speed) => {
                let mark = if self.is_regression(pair) { "REGRESSION: " } else { "" };
                say(&format!("{mark}{}", direction(speed)));
                say(&format!(
                    "at {} to {} rows in the table, {} sizes; 95% interval of NEW's speed as a multiple of BASE's: {} to {}{}",
                    human_rows(speed.from_rows),
                    human_rows(speed.to_rows),
                    speed.sizes,
                    multiple(speed.low),
                    multiple(speed.high),
                    if speed.has_run_spread {
                        ""
                    } else {
                        "; without repeats on both sides it does not contain run-to-run spread (--repeat 3 measures it)"
                    }
                ));
                if let (Some(base), Some(new)) = (&pair.base, &pair.new) {
                    out.push_str(&side_by_side(speed, base, new, self.compares_onsets));
                }
            }
        }
        out.push_str(&probes(&pair.probes));
        out.push_str(&settings(pair.differences.as_deref()));
        out
    }

    /// One JSON object, with a line end.
    pub fn json(&self) -> String {
        let shape = Json {
            v: SHAPE,
            base: &self.base,
            new: &self.new,
            tolerance: self.tolerance,
            regressions: self.regressions(),
            cells: self.pairs.iter().map(|pair| self.json_cell(pair)).collect(),
            only_base: &self.only_base,
            only_new: &self.only_new,
        };
        let mut text = serde_json::to_string_pretty(&shape).unwrap_or_default();
        text.push('\n');
        text
    }

    fn json_cell<'a>(&self, pair: &'a Pair) -> JsonCell<'a> {
        let speed = pair.speed.as_ref().ok();
        JsonCell {
            name: &pair.name,
            not_compared: pair.speed.as_ref().err().map(String::as_str),
            speed_ratio: speed.map(|speed| speed.ratio),
            speed_ratio_low: speed.map(|speed| speed.low),
            speed_ratio_high: speed.map(|speed| speed.high),
            contains_run_spread: speed.map(|speed| speed.has_run_spread),
            is_regression: self.is_regression(pair),
            from_rows: speed.map(|speed| speed.from_rows),
            to_rows: speed.map(|speed| speed.to_rows),
            sizes: speed.map(|speed| speed.sizes),
            block_batches: speed.map(|speed| speed.block),
            base: speed.zip(pair.base.as_ref()).map(|(speed, side)| JsonSide::of(speed.base_rows_per_second, side)),
            new: speed.zip(pair.new.as_ref()).map(|(speed, side)| JsonSide::of(speed.new_rows_per_second, side)),
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

/// `NEW is 1.54 times as fast as BASE`, and what that is for a row.
fn direction(speed: &Speed) -> String {
    let Speed { ratio, .. } = *speed;
    let (fast, slow, factor) = if ratio >= 1.0 { ("NEW", "BASE", ratio) } else { ("BASE", "NEW", 1.0 / ratio) };
    if !speed.differs() {
        return format!("no difference that is certain: {fast} is {} times as fast as {slow}", multiple(factor));
    }
    let percent = |share: f64| format!("{:.0}%", share.abs() * 100.0);
    let row = if ratio >= 1.0 {
        format!("a row takes {} less time than in BASE", percent(1.0 - 1.0 / ratio))
    } else {
        format!("a row takes {} more time than in BASE", percent(1.0 / ratio - 1.0))
    };
    format!("{fast} is {} times as fast as {slow}: in NEW {row}", multiple(factor))
}

fn multiple(factor: f64) -> String {
    if factor < 0.995 { significant(factor) } else { format!("{factor:.2}") }
}

fn side_by_side(speed: &Speed, base: &SideFigures, new: &SideFigures, onsets: bool) -> String {
    let mut table = Table::new(&[
        ("  figure", Align::Left),
        ("BASE", Align::Right),
        ("NEW", Align::Right),
        ("NEW / BASE", Align::Right),
    ]);
    let mut row = |name: &str, figures: [Option<f64>; 2], written: &dyn Fn(f64) -> String| {
        let [base, new] = figures;
        if base.is_none() && new.is_none() {
            return;
        }
        let ratio = base.zip(new).filter(|(base, _)| *base > 0.0).map(|(base, new)| multiple(new / base));
        let words = |figure: Option<f64>| figure.map_or_else(|| "-".into(), written);
        table.row(vec![format!("  {name}"), words(base), words(new), ratio.unwrap_or_else(|| "-".into())]);
    };
    let rate = |rate: f64| human_rate(rate);
    row("rows/s, median", [Some(speed.base_rows_per_second), Some(speed.new_rows_per_second)], &rate);
    row("rows/s, last common sizes", [base.end_rows_per_second, new.end_rows_per_second], &rate);
    row("statement latency p99", [base.p99_us, new.p99_us], &|us| human_seconds(us / 1e6));
    row("table bytes per row", [base.table_bytes_per_row, new.table_bytes_per_row], &|bytes| {
        human_bytes(bytes.round() as u64)
    });
    row("bytes written per row", [base.written_bytes_per_row, new.written_bytes_per_row], &|bytes| {
        human_bytes(bytes.round() as u64)
    });
    if onsets {
        let words = |onset: Option<Onset>| {
            onset.map_or_else(
                || "none".into(),
                |onset| format!("{}-{}", human_rows(onset.from_rows), human_rows(onset.to_rows)),
            )
        };
        table.row(vec!["  cliff begins, rows".into(), words(base.onset), words(new.onset)]);
    }
    if base.repeats > 1 || new.repeats > 1 {
        table.row(vec!["  repeats".into(), base.repeats.to_string(), new.repeats.to_string()]);
    }
    table.render()
}

fn probes(pairs: &[ProbePair]) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        ("  probe", Align::Left),
        ("table rows", Align::Right),
        ("connections", Align::Right),
        ("ops", Align::Right),
        ("BASE ops/s", Align::Right),
        ("NEW ops/s", Align::Right),
        ("NEW / BASE", Align::Right),
        ("iterations", Align::Right),
    ]);
    for pair in pairs {
        let range = pair.range().map(|(low, high)| format!("{} to {}", multiple(low), multiple(high)));
        table.row(vec![
            format!("  {}", pair.base.probe),
            human_rows(pair.base.table_rows),
            pair.base.connections.to_string(),
            pair.base.ops.map_or_else(|| "timed".into(), human_rows),
            human_rate(pair.base.ops_per_sec),
            human_rate(pair.new.ops_per_sec),
            multiple(pair.ratio()),
            range.unwrap_or_default(),
        ]);
    }
    table.render()
}

fn settings(differences: Option<&[Difference]>) -> String {
    let Some(differences) = differences else { return indented("nothing is recorded of the settings of both") };
    let mut out = String::new();
    let words = |value: &str| if value.is_empty() { "-".to_owned() } else { value.to_owned() };
    match differences.len() {
        0 => return indented("no recorded setting differs"),
        1 => out.push_str(&indented("one setting differs:")),
        count => out.push_str(&indented(&format!(
            "WARNING: {count} settings differ, so that the difference in speed can be credited to none of them alone:"
        ))),
    }
    for one in differences {
        out.push_str(&indented(&format!("  {}: {} -> {}", one.name, words(&one.base), words(&one.new))));
    }
    out
}

fn indented(text: &str) -> String {
    let space = "  ".len() + text.len() - text.trim_start().len();
    let lines = wrapped(text.trim_start(), WIDTH - space as f64, |line| text_columns(line) as f64);
    lines.iter().map(|line| format!("{}{line}\n", " ".repeat(space))).collect()
}

fn known(value: &str) -> Option<&str> {
    Some(value).filter(|value| !value.is_empty())
}

#[derive(Serialize)]
struct Json<'a> {
    v: u32,
    base: &'a str,
    new: &'a str,
    tolerance: f64,
    regressions: usize,
    cells: Vec<JsonCell<'a>>,
    only_base: &'a [String],
    only_new: &'a [String],
}

#[derive(Serialize)]
struct JsonCell<'a> {
    name: &'a str,
    not_compared: Option<&'a str>,
    speed_ratio: Option<f64>,
    speed_ratio_low: Option<f64>,
    speed_ratio_high: Option<f64>,
    contains_run_spread: Option<bool>,
    is_regression: bool,
    from_rows: Option<u64>,
    to_rows: Option<u64>,
    sizes: Option<usize>,
    block_batches: Option<usize>,
    base: Option<JsonSide>,
    new: Option<JsonSide>,
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
struct JsonSide {
    repeats: usize,
    inserts_per_sec: f64,
    end_inserts_per_sec: Option<f64>,
    p99_us: Option<f64>,
    table_bytes_per_row: Option<f64>,
    written_bytes_per_row: Option<f64>,
    cliff_from_rows: Option<u64>,
    cliff_to_rows: Option<u64>,
}

impl JsonSide {
    fn of(inserts_per_sec: f64, side: &SideFigures) -> Self {
        Self {
            repeats: side.repeats,
            inserts_per_sec,
            end_inserts_per_sec: side.end_rows_per_second,
            p99_us: side.p99_us,
            table_bytes_per_row: side.table_bytes_per_row,
            written_bytes_per_row: side.written_bytes_per_row,
            cliff_from_rows: side.onset.map(|onset| onset.from_rows),
            cliff_to_rows: side.onset.map(|onset| onset.to_rows),
        }
    }
}

#[derive(Serialize)]
struct JsonDifference<'a> {
    name: &'a str,
    base: Option<&'a str>,
    new: Option<&'a str>,
}
