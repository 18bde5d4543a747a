//! What probes found: iterations put together, and how far a probe fell while the table grew.

use super::median;
use crate::record::ProbeLine;
use crate::record::probe::TIMED;

/// What was run: iterations that agree in it can be put together, and be followed from table size to table size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeLoad {
    pub probe: String,
    /// Connections that shared the operations.
    pub connections: u32,
    /// Operations of an iteration; `None` where a time ended it, since then they are a result.
    pub ops: Option<u64>,
}

impl ProbeLoad {
    /// The load of an iteration.
    pub fn of(line: &ProbeLine) -> Self {
        let ops = (!line.has_note(TIMED)).then_some(line.ops);
        Self { probe: line.probe.clone(), connections: line.connections, ops }
    }
}

/// The iterations of one load at one size of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeSummary {
    /// Full name of the curve.
    pub curve: String,
    /// Rows in the table.
    pub table_rows: u64,
    pub load: ProbeLoad,
    pub iterations: u32,
    /// Operations of all iterations.
    pub ops: u64,
    /// Seconds of all iterations.
    pub seconds: f64,
    pub min_seconds: f64,
    pub max_seconds: f64,
    /// Operations per second of the slowest and of the fastest iteration; `None` where an iteration took no time.
    pub rates: Option<(f64, f64)>,
    /// The median over the iterations of their medians, microseconds.
    pub p50_us: Option<u64>,
    /// The worst 99th percentile of an iteration, microseconds.
    pub p99_us: Option<u64>,
    /// The slowest operation, microseconds.
    pub max_us: Option<u64>,
    /// Transactions that had to be done again.
    pub errors: u64,
    /// The words that stand at any of the iterations.
    pub notes: Vec<String>,
}

impl ProbeSummary {
    /// Mean seconds of an iteration.
    pub fn average_seconds(&self) -> f64 {
        self.seconds / f64::from(self.iterations.max(1))
    }

    /// All operations over all seconds; `None` where no time passed.
    pub fn ops_per_sec(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.ops as f64 / self.seconds)
    }

    /// Operations of an iteration: those it had to do, or the mean of those it came to in its time.
    pub fn ops_each(&self) -> u64 {
        self.load.ops.unwrap_or_else(|| self.ops / u64::from(self.iterations.max(1)))
    }

    fn of(lines: &[&ProbeLine]) -> Option<Self> {
        let first = lines.first()?;
        let seconds = || lines.iter().map(|line| line.seconds);
        let rate = |line: &&ProbeLine| (line.seconds > 0.0).then(|| line.ops as f64 / line.seconds);
        let rates: Option<Vec<f64>> = lines.iter().map(rate).collect();
        let medians: Vec<f64> = lines.iter().filter_map(|line| line.p50_us).map(|micros| micros as f64).collect();
        let mut notes: Vec<String> = Vec::new();
        for word in lines.iter().flat_map(|line| line.notes.split_whitespace()) {
            if !notes.iter().any(|other| other == word) {
                notes.push(word.to_owned());
            }
        }
        Some(Self {
            curve: first.curve.clone(),
            table_rows: first.table_rows,
            load: ProbeLoad::of(first),
            iterations: lines.len() as u32,
            ops: lines.iter().map(|line| line.ops).fold(0, u64::saturating_add),
            seconds: seconds().sum(),
            min_seconds: seconds().fold(f64::INFINITY, f64::min),
            max_seconds: seconds().fold(0.0, f64::max),
            rates: rates.map(|rates| {
                (rates.iter().copied().fold(f64::INFINITY, f64::min), rates.iter().copied().fold(0.0, f64::max))
            }),
            p50_us: median(&medians).map(|micros| micros.round() as u64),
            p99_us: lines.iter().filter_map(|line| line.p99_us).max(),
            max_us: lines.iter().filter_map(|line| line.max_us).max(),
            errors: lines.iter().map(|line| line.errors).fold(0, u64::saturating_add),
            notes,
        })
    }
}

/// Puts iterations together that agree in curve, size of the table and load. By size of the table; loads in the order in which they first
/// ran.
///
/// Seconds that are no time (negative, not a number) are the caller's to leave out.
pub fn summaries<'a>(lines: impl IntoIterator<Item = &'a ProbeLine>) -> Vec<ProbeSummary> {
    let mut groups: Vec<(&str, u64, ProbeLoad, Vec<&ProbeLine>)> = Vec::new();
    for line in lines {
        let load = ProbeLoad::of(line);
        // The iterations of a load come one after the other as a rule: the last group is asked first.
        let found = groups
            .iter()
            .rposition(|(curve, rows, of, _)| *rows == line.table_rows && *curve == line.curve && *of == load);
        match found {
            Some(at) => groups[at].3.push(line),
            None => groups.push((&line.curve, line.table_rows, load, vec![line])),
        }
    }
    let mut out: Vec<ProbeSummary> = groups.iter().filter_map(|(.., lines)| ProbeSummary::of(lines)).collect();
    // Stable: what ran first stays first.
    out.sort_by_key(|summary| summary.table_rows);
    out
}

/// How many times fewer operations per second the largest table gave than the smallest, with both summaries; `None` with one size only, or
/// where a rate is not known. `summaries` are of one load, by size of the table.
pub fn fall(summaries: &[ProbeSummary]) -> Option<(f64, &ProbeSummary, &ProbeSummary)> {
    let (first, last) = (summaries.first()?, summaries.last()?);
    let factor = first.ops_per_sec()? / last.ops_per_sec()?;
    (first.table_rows < last.table_rows && factor.is_finite()).then_some((factor, first, last))
}

/// Whether two rates differ by more than the iterations behind them: no iteration of the slower one was as fast as one of the faster.
/// Single iterations have nothing to say about that, and count as told apart.
pub fn told_apart(faster: &ProbeSummary, slower: &ProbeSummary) -> bool {
    match (faster.rates, slower.rates) {
        (Some((slowest, _)), Some((_, fastest))) if faster.iterations > 1 && slower.iterations > 1 => slowest > fastest,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(rows: u64, iteration: u32, ops: u64, seconds: f64) -> ProbeLine {
        ProbeLine {
            curve: "c".into(),
            batch: rows / 100,
            table_rows: rows,
            probe: "select-pk".into(),
            connections: 8,
            iteration,
            ops,
            seconds,
            ops_per_sec: (seconds > 0.0).then(|| ops as f64 / seconds),
            p50_us: Some(100 * u64::from(iteration)),
            p99_us: Some(1000 - u64::from(iteration)),
            max_us: None,
            errors: 1,
            notes: "looked-up".into(),
        }
    }

    #[test]
    fn iterations_of_one_load_at_one_size_are_one_summary() {
        let lines =
            [line(200, 1, 1000, 0.5), line(100, 1, 1000, 0.2), line(100, 2, 1000, 0.4), line(100, 3, 1000, 0.3)];
        let found = summaries(&lines);
        assert_eq!(found.len(), 2);
        let first = &found[0];
        assert_eq!((first.table_rows, first.iterations, first.ops, first.ops_each()), (100, 3, 3000, 1000));
        assert_eq!((first.min_seconds, first.max_seconds), (0.2, 0.4));
        assert!((first.average_seconds() - 0.3).abs() < 1e-12);
        assert!((first.ops_per_sec().unwrap() - 3000.0 / 0.9).abs() < 1e-6);
        assert_eq!(first.rates, Some((2500.0, 5000.0)));
        assert_eq!((first.p50_us, first.p99_us, first.max_us, first.errors), (Some(200), Some(999), None, 3));
        assert_eq!(first.notes, ["looked-up"]);
        let (factor, ..) = fall(&found).unwrap();
        assert!((factor - (3000.0 / 0.9) / 2000.0).abs() < 1e-9, "{factor}");
        assert_eq!(fall(&found[..1]), None);
        assert!(told_apart(first, &found[1]));
        let scattered = summaries(&[line(300, 1, 1000, 0.38), line(300, 2, 1000, 2.0)]);
        assert!(!told_apart(first, &scattered[0]));
    }

    #[test]
    fn operations_tell_loads_apart_unless_a_time_ended_them() {
        let numbers = summaries(&[line(100, 1, 1000, 0.2), line(100, 1, 5000, 0.9)]);
        assert_eq!(numbers.iter().map(ProbeSummary::ops_each).collect::<Vec<_>>(), [1000, 5000]);
        let mut timed = [line(100, 1, 1000, 2.0), line(100, 2, 1501, 2.0)];
        timed.iter_mut().for_each(|line| line.notes = "looked-up timed".into());
        let found = summaries(&timed);
        assert_eq!((found.len(), found[0].load.ops, found[0].ops, found[0].ops_each()), (1, None, 2501, 1250));
        assert_eq!(found[0].notes, ["looked-up", "timed"]);
        let mut other = line(100, 1, 1000, 0.2);
        other.connections = 1;
        assert_eq!(summaries(&[line(100, 1, 1000, 0.2), other]).len(), 2);
    }

    #[test]
    fn no_time_is_no_rate() {
        let found = summaries(&[line(100, 1, 1000, 0.0), line(200, 1, 1000, 1.0), line(200, 2, 1000, 0.0)]);
        assert_eq!((found[0].ops_per_sec(), found[0].rates), (None, None));
        assert_eq!((found[1].ops_per_sec(), found[1].rates), (Some(2000.0), None));
        assert_eq!(fall(&found), None);
        assert!(summaries(&[]).is_empty());
    }
}
