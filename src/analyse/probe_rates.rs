//! The iterations of a probe taken together: operations per second, and how far single iterations lie apart.

use super::probes::{ProbeSummary, summaries};
use crate::record::ProbeLine;

/// Iterations of one probe over one number of connections at one table size.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeRate {
    pub probe: String,
    /// Rows in the table.
    pub table_rows: u64,
    pub connections: u32,
    /// Operations of an iteration; `None` where time ended them.
    pub ops: Option<u64>,
    pub iterations: usize,
    /// Mean seconds of an iteration.
    pub seconds_avg: f64,
    /// Operations of all iterations by their seconds.
    pub ops_per_sec: f64,
    pub least_per_sec: f64,
    pub most_per_sec: f64,
}

impl ProbeRate {
    fn of(summary: &ProbeSummary) -> Option<Self> {
        let (least_per_sec, most_per_sec) = summary.rates?;
        Some(Self {
            probe: summary.load.probe.clone(),
            table_rows: summary.table_rows,
            connections: summary.load.connections,
            ops: summary.load.ops,
            iterations: summary.iterations as usize,
            seconds_avg: summary.average_seconds(),
            ops_per_sec: summary.ops_per_sec()?,
            least_per_sec,
            most_per_sec,
        })
    }

    /// Whether two are of the same thing.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.probe, self.table_rows, self.connections, self.ops)
            == (&other.probe, other.table_rows, other.connections, other.ops)
    }
}

/// The rates of the lines of some curves (the repeats of a cell), by size of the table.
pub fn probe_rates<'a>(lines: impl IntoIterator<Item = &'a ProbeLine>) -> Vec<ProbeRate> {
    // An iteration that took no time, or did nothing, has no rate.
    let usable = |line: &&ProbeLine| line.seconds > 0.0 && line.ops > 0;
    // Repeats are iterations of one thing, whatever their curves are called.
    let together: Vec<ProbeLine> =
        lines.into_iter().filter(usable).map(|line| ProbeLine { curve: String::new(), ..line.clone() }).collect();
    summaries(&together).iter().filter_map(ProbeRate::of).collect()
}

/// The same thing measured on two sides.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbePair {
    pub base: ProbeRate,
    pub new: ProbeRate,
}

impl ProbePair {
    /// NEW's operations per second as a multiple of BASE's.
    pub fn ratio(&self) -> f64 {
        self.new.ops_per_sec / self.base.ops_per_sec
    }

    /// The least and the largest ratio that single iterations give; `None` where a side has one iteration only.
    pub fn range(&self) -> Option<(f64, f64)> {
        (self.base.iterations > 1 && self.new.iterations > 1)
            .then(|| (self.new.least_per_sec / self.base.most_per_sec, self.new.most_per_sec / self.base.least_per_sec))
    }
}

/// What both sides measured, in the order of BASE.
pub fn probe_pairs(base: &[ProbeRate], new: &[ProbeRate]) -> Vec<ProbePair> {
    base.iter()
        .filter_map(|base| {
            let new = new.iter().find(|new| base.is_same(new))?;
            Some(ProbePair { base: base.clone(), new: new.clone() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(curve: &str, iteration: u32, ops: u64, seconds: f64, notes: &str) -> ProbeLine {
        ProbeLine {
            curve: curve.into(),
            table_rows: 1000,
            probe: "select-pk".into(),
            connections: 8,
            iteration,
            ops,
            seconds,
            notes: notes.into(),
            ..ProbeLine::default()
        }
    }

    #[test]
    fn iterations_are_taken_together_by_size_connections_and_operations() {
        let lines = [
            line("a", 1, 100, 1.0, ""),
            line("a", 2, 100, 4.0, "warm"),
            line("a", 1, 200, 1.0, ""),
            line("a", 1, 700, 7.0, "timed"),
            line("a", 2, 900, 7.0, "timed"),
            line("a", 3, 0, 0.0, ""),
        ];
        let rates = probe_rates(&lines);
        let found: Vec<(Option<u64>, usize)> = rates.iter().map(|rate| (rate.ops, rate.iterations)).collect();
        assert_eq!(found, [(Some(100), 2), (Some(200), 1), (None, 2)]);
        assert_eq!((rates[0].ops_per_sec, rates[0].seconds_avg), (40.0, 2.5));
        assert_eq!((rates[0].least_per_sec, rates[0].most_per_sec), (25.0, 100.0));
        assert_eq!(rates[2].ops_per_sec, 1600.0 / 14.0);
    }

    #[test]
    fn pairs_are_of_the_same_thing_and_have_a_range_where_both_were_repeated() {
        let base = probe_rates(&[line("a", 1, 100, 1.0, ""), line("a", 2, 100, 2.0, "")]);
        let new = probe_rates(&[line("b", 1, 100, 0.5, ""), line("b", 1, 300, 1.0, "")]);
        let pairs = probe_pairs(&base, &new);
        assert_eq!(pairs.len(), 1);
        assert!((pairs[0].ratio() - 3.0).abs() < 1e-9);
        assert_eq!(pairs[0].range(), None);
        let again = ProbePair { base: base[0].clone(), new: base[0].clone() };
        assert_eq!(again.range(), Some((0.5, 2.0)));
    }
}
