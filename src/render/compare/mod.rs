//! What `compare` says: directions in words, figures side by side, and every setting that differs. The same as JSON.

mod json;
mod sureness;

use super::table::{Align, Table};
use super::text::{text_columns, wrapped};
use crate::analyse::Standing;
use crate::analyse::compare::{Onset, SideFigures, Speed, TooShort};
use crate::analyse::probe_rates::ProbePair;
use crate::analyse::settings::Difference;
use crate::units::{human_bytes, human_rate, human_rows, human_seconds, significant};

/// Columns of text that output keeps to.
const WIDTH: f64 = 100.0;

/// What the table of probes says, and what it does not.
const PROBES_SAY: &str = "probes: operations of all iterations by their seconds; iterations: the least and the largest ratio that single \
                          iterations give, where both sides have several. No verdict is drawn from probes.";

/// A curve of one side, and how far it can be trusted.
#[derive(Debug, Clone, PartialEq)]
pub struct SideCurve {
    pub run: String,
    pub curve: String,
    pub repeat: u32,
    pub batches: usize,
    /// What became of it. A curve with a fault is left out of the comparison.
    pub standing: Standing,
}

/// A cell of BASE beside its cell of NEW.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// What both are called, or the two names.
    pub name: String,
    /// The speeds; why they cannot be compared.
    pub speed: Result<Speed, String>,
    /// Both speeds, where that is because they have too few table sizes in common.
    pub too_short: Option<TooShort>,
    /// Whether that is because one of them is left out as a whole.
    pub is_left_out: bool,
    /// Whether both keep no row.
    pub keep_no_row: bool,
    /// BASE's figures; `None` when the speeds cannot be compared.
    pub base: Option<SideFigures>,
    pub new: Option<SideFigures>,
    /// BASE's curves, those that are left out too.
    pub base_curves: Vec<SideCurve>,
    pub new_curves: Vec<SideCurve>,
    /// What is in the table of BASE alone, and in that of NEW alone. No verdict is drawn from the speeds of different tables.
    pub tables: (Vec<String>, Vec<String>),
    /// What both measured between the batches.
    pub probes: Vec<ProbePair>,
    /// Settings that differ; `None` where one of them does not tell how it was made.
    pub differences: Option<Vec<Difference>>,
}

/// A cell that only one side has.
#[derive(Debug, Clone, PartialEq)]
pub struct Alone {
    /// What it is called.
    pub name: String,
    pub curves: Vec<SideCurve>,
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
    pub only_base: Vec<Alone>,
    /// Cells of NEW alone.
    pub only_new: Vec<Alone>,
}

impl Pair {
    /// Whether the rows went into different tables.
    pub fn has_other_table(&self) -> bool {
        !(self.tables.0.is_empty() && self.tables.1.is_empty())
    }
}

impl Comparison {
    /// How many cells are slower for certain.
    pub fn regressions(&self) -> usize {
        self.pairs.iter().filter(|pair| self.is_regression(pair)).count()
    }

    /// How many cells may be slower or not: the comparison cannot tell.
    pub fn inconclusive(&self) -> usize {
        self.pairs.iter().filter(|pair| self.is_inconclusive(pair)).count()
    }

    /// How many cells find only a partner that failed or was verified wrongly.
    pub fn partners_left_out(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.is_left_out).count()
    }

    /// How many cells were loaded into different tables.
    pub fn other_tables(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.has_other_table()).count()
    }

    /// How many cells have too few table sizes in common.
    pub fn too_short(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.too_short.is_some()).count()
    }

    /// Whether probes were compared.
    pub fn has_probes(&self) -> bool {
        self.pairs.iter().any(|pair| !pair.probes.is_empty())
    }

    fn is_regression(&self, pair: &Pair) -> bool {
        !pair.has_other_table() && pair.speed.as_ref().is_ok_and(|speed| speed.is_regression(self.tolerance))
    }

    fn is_inconclusive(&self, pair: &Pair) -> bool {
        let is_open = |speed: &Speed| speed.is_inconclusive(self.tolerance);
        !pair.has_other_table() && (pair.too_short.is_some() || pair.speed.as_ref().is_ok_and(is_open))
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
        for (side, cells) in [("BASE", &self.only_base), ("NEW", &self.only_new)] {
            if !cells.is_empty() {
                let names: Vec<String> = cells.iter().map(Alone::words).collect();
                out.push_str(&format!("\nin {side} only: {}\n", names.join("; ")));
            }
        }
        if self.has_probes() {
            out.push('\n');
            out.push_str(&super::show::paragraph(PROBES_SAY, ""));
        }
        out.push_str(&format!(
            "\n{} (a regression: the whole interval lies below {} of BASE's speed)\n",
            self.verdict(),
            significant(1.0 - self.tolerance)
        ));
        out
    }

    fn pair(&self, pair: &Pair) -> String {
        let mut out = format!("{}\n", pair.name);
        let mut say = |text: &str| out.push_str(&indented(text));
        sureness::other_tables(pair).iter().for_each(|text| say(text));
        match (&pair.speed, &pair.too_short) {
            (Ok(speed), _) => {
                let mark = if self.is_regression(pair) { "REGRESSION: " } else { "" };
                say(&format!("{mark}{}", direction(speed)));
                say(&interval(speed));
                if !self.is_regression(pair) && !pair.has_other_table() {
                    say(&self.could_not_see(pair, speed));
                }
            }
            (Err(_), Some(short)) => say(&sureness::too_short(short)),
            (Err(why), None) => say(&format!("not compared: {why}")),
        }
        if pair.keep_no_row {
            say(sureness::NO_ROW_IS_KEPT);
        }
        for (side, curves) in [("BASE", &pair.base_curves), ("NEW", &pair.new_curves)] {
            sureness::left_out(side, curves).iter().for_each(|text| say(text));
        }
        if !pair.is_left_out {
            sureness::not_verified(pair).iter().for_each(|text| say(text));
        }
        let rates = match (&pair.speed, &pair.too_short) {
            (Ok(speed), _) => Some([speed.base_rows_per_second, speed.new_rows_per_second]),
            (Err(_), short) => short.map(|short| [short.base_rows_per_second, short.new_rows_per_second]),
        };
        if let (Some(rates), Some(base), Some(new)) = (rates, &pair.base, &pair.new) {
            out.push_str(&side_by_side(rates, base, new, self.compares_onsets));
        }
        out.push_str(&probes(&pair.probes));
        if !pair.is_left_out {
            out.push_str(&settings(pair.differences.as_deref()));
        }
        out
    }
}

impl Alone {
    fn words(&self) -> String {
        let faults: Option<Vec<&str>> = self.curves.iter().map(|curve| curve.standing.fault.as_deref()).collect();
        match faults.as_deref() {
            Some([fault, ..]) => format!("{} ({fault})", self.name),
            _ => self.name.clone(),
        }
    }
}

/// The sizes at which both were taken, and the interval.
fn interval(speed: &Speed) -> String {
    format!(
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
    )
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

fn side_by_side(rates: [f64; 2], base: &SideFigures, new: &SideFigures, onsets: bool) -> String {
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
    row("rows/s, median", rates.map(Some), &rate);
    row("rows/s, last common sizes", [base.end_rows_per_second, new.end_rows_per_second], &rate);
    row("slowdown, end of its curve", [base.slowdown, new.slowdown], &|slowdown| format!("{slowdown:.2}x"));
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
