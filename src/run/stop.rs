//! Stop rules: when going on with a curve is pointless, or not wanted.
//!
//! Rules about speed need several batches in a row, because one slow batch is not a cliff. Hard limits act at once, on
//! the batch in flight too.

use std::time::Duration;

use crate::analyse::BaselineTracker;
use crate::plan::stop::StopRules;
use crate::record::Sample;
use crate::units::{human_bytes, human_rate, human_seconds};

/// A rule that fired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Firing {
    /// The rule as its flag, with its value.
    pub rule: String,
    /// The figures that made it fire.
    pub figures: String,
}

/// Where a curve stands while a batch is in flight.
#[derive(Debug, Clone, Copy, Default)]
pub struct InFlight {
    /// How long the batch has been in its timed sections.
    pub batch: Duration,
    /// How long the curve has been going on.
    pub curve: Duration,
    /// How long the run has been going on.
    pub run: Duration,
    /// Free space where it counts least, with the size of that file system.
    pub disk: Option<(u64, u64)>,
}

/// Judges one curve, batch by batch.
#[derive(Debug)]
pub struct Judge<'a> {
    rules: &'a StopRules,
    baseline: BaselineTracker,
    slow_by_rate: u32,
    slow_by_factor: u32,
}

impl<'a> Judge<'a> {
    /// Nothing seen yet.
    pub fn new(rules: &'a StopRules) -> Self {
        Self { rules, baseline: BaselineTracker::default(), slow_by_rate: 0, slow_by_factor: 0 }
    }

    /// Takes the next batch of the curve. Batches that were resumed or sent again paid for more than their own rows: they
    /// neither fire a rule nor break a row of slow ones.
    pub fn batch(&mut self, sample: &Sample) -> Option<Firing> {
        let baseline = self.baseline.push(sample);
        if sample.counts_for_baseline() {
            self.slow_by_rate = match (self.rules.min_rate, sample.inserts_per_sec) {
                (Some(least), Some(rate)) if rate < least => self.slow_by_rate + 1,
                _ => 0,
            };
            let slowdown = baseline.and_then(|baseline| baseline.slowdown(sample));
            self.slow_by_factor = match (self.rules.max_slowdown, slowdown) {
                (Some(most), Some(factor)) if factor > most => self.slow_by_factor + 1,
                _ => 0,
            };
            let after = self.rules.stop_after.max(1);
            if self.slow_by_rate >= after {
                return Some(Firing {
                    rule: format!("--min-rate {}", self.rules.min_rate.unwrap_or_default()),
                    figures: format!(
                        "{} rows/s in batch {}, the last of {after} in a row",
                        sample.inserts_per_sec.map_or_else(|| "-".into(), human_rate),
                        sample.batch
                    ),
                });
            }
            if self.slow_by_factor >= after {
                return Some(Firing {
                    rule: format!("--max-slowdown {}", self.rules.max_slowdown.unwrap_or_default()),
                    figures: format!(
                        "{:.2} times the seconds of the baseline in batch {}, the last of {after} in a row",
                        slowdown.unwrap_or_default(),
                        sample.batch
                    ),
                });
            }
        }
        match (self.rules.max_table_bytes, sample.table_bytes()) {
            (Some(most), Some(bytes)) if bytes > most => Some(Firing {
                rule: format!("--max-table-bytes {most}"),
                figures: format!("the table has {} after batch {}", human_bytes(bytes), sample.batch),
            }),
            _ => None,
        }
    }
}

impl StopRules {
    /// Judges the batch in flight by the hard limits.
    pub fn in_flight(&self, state: InFlight) -> Option<Firing> {
        let over = |limit: Option<f64>, spent: Duration, flag: &str, what: &str| {
            let limit = limit.filter(|limit| spent.as_secs_f64() > *limit)?;
            Some(Firing {
                rule: format!("{flag} {limit}"),
                figures: format!("{what} has taken {}", human_seconds(spent.as_secs_f64())),
            })
        };
        over(self.max_batch_seconds, state.batch, "--max-batch-seconds", "the batch in flight")
            .or_else(|| over(self.max_duration_seconds, state.curve, "--max-duration", "the curve"))
            .or_else(|| over(self.max_run_duration_seconds, state.run, "--max-run-duration", "the run"))
            .or_else(|| {
                let (free, size) = state.disk?;
                let least = self.min_free_disk_bytes.unwrap_or(size / 20);
                (free < least).then(|| Firing {
                    rule: format!("--min-free-disk {least}"),
                    figures: format!("{} are free, and {} have to be left", human_bytes(free), human_bytes(least)),
                })
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches of a thousand rows that take these seconds.
    fn fired(rules: &StopRules, seconds: &[f64]) -> Option<u64> {
        let mut judge = Judge::new(rules);
        for (index, &seconds) in seconds.iter().enumerate() {
            let batch = index as u64 + 1;
            let sample = Sample {
                batch,
                rows: 1000,
                table_rows: batch * 1000,
                seconds,
                inserts_per_sec: Some(1000.0 / seconds),
                ..Sample::default()
            };
            if judge.batch(&sample).is_some() {
                return Some(batch);
            }
        }
        None
    }

    fn slowdown(factor: f64, after: u32) -> StopRules {
        StopRules { max_slowdown: Some(factor), stop_after: after, ..StopRules::default() }
    }

    #[test]
    fn one_slow_batch_does_not_fire_and_three_in_a_row_do() {
        let rules = slowdown(3.0, 3);
        assert_eq!(fired(&rules, &[1.0, 1.0, 1.0, 9.0, 1.0, 9.0, 9.0, 1.0]), None);
        assert_eq!(fired(&rules, &[1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0]), Some(6));
        assert_eq!(fired(&slowdown(3.0, 1), &[1.0, 1.0, 1.0, 9.0]), Some(4));
        // Just at the threshold is not over it.
        assert_eq!(fired(&rules, &[1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 3.0]), None);
    }

    #[test]
    fn a_curve_that_recovers_is_left_alone() {
        assert_eq!(fired(&slowdown(3.0, 3), &[1.0, 1.0, 1.0, 9.0, 9.0, 1.1, 9.0, 9.0, 1.0]), None);
    }

    #[test]
    fn the_published_series_stop_where_they_should() {
        // C01, UUIDv4: milliseconds per million rows, 30 batches.
        let millis = [
            6102.0, 6278.0, 6799.0, 7766.0, 9121.0, 10437.0, 10454.0, 11610.0, 12366.0, 12190.0, 13229.0, 12515.0,
            14068.0, 15875.0, 14690.0, 15037.0, 15557.0, 18250.0, 18948.0, 21036.0, 22085.0, 22086.0,
        ];
        let seconds: Vec<f64> = millis.iter().map(|millis| millis / 1000.0).collect();
        assert_eq!(fired(&slowdown(3.0, 3), &seconds), Some(21));
        assert_eq!(fired(&slowdown(2.0, 3), &seconds), Some(15));
    }

    #[test]
    fn a_rate_is_judged_the_same_way() {
        let rules = StopRules { min_rate: Some(500.0), ..StopRules::default() };
        assert_eq!(fired(&rules, &[1.0, 2.1, 2.1, 1.0, 2.1, 2.1, 2.1]), Some(7));
        assert_eq!(fired(&rules, &[2.0, 2.0, 2.0, 2.0]), None);
    }

    #[test]
    fn batches_that_were_sent_again_neither_fire_nor_break_a_row() {
        let rules = slowdown(2.0, 2);
        let mut judge = Judge::new(&rules);
        let mut push = |batch: u64, seconds: f64, notes: &str| {
            let sample = Sample { batch, rows: 1000, seconds, notes: notes.into(), ..Sample::default() };
            judge.batch(&sample).is_some()
        };
        for batch in 1..=3 {
            assert!(!push(batch, 1.0, ""));
        }
        assert!(!push(4, 9.0, ""));
        assert!(!push(5, 1.0, "retried"));
        assert!(push(6, 9.0, ""));
    }

    #[test]
    fn hard_limits_act_on_the_batch_in_flight() {
        let rules = StopRules {
            max_batch_seconds: Some(10.0),
            max_duration_seconds: Some(100.0),
            max_run_duration_seconds: Some(1000.0),
            ..StopRules::default()
        };
        let seconds = |batch, curve, run| InFlight {
            batch: Duration::from_secs(batch),
            curve: Duration::from_secs(curve),
            run: Duration::from_secs(run),
            disk: None,
        };
        assert_eq!(rules.in_flight(seconds(10, 100, 1000)), None);
        assert_eq!(rules.in_flight(seconds(11, 20, 20)).unwrap().rule, "--max-batch-seconds 10");
        assert_eq!(rules.in_flight(seconds(1, 101, 200)).unwrap().rule, "--max-duration 100");
        assert_eq!(rules.in_flight(seconds(1, 50, 1001)).unwrap().rule, "--max-run-duration 1000");
        let disk = |free| InFlight { disk: Some((free, 1000)), ..InFlight::default() };
        assert_eq!(rules.in_flight(disk(50)), None);
        assert!(rules.in_flight(disk(49)).unwrap().figures.contains("free"));
    }

    #[test]
    fn a_table_that_grew_too_large_stops_the_curve() {
        let rules = StopRules { max_table_bytes: Some(1 << 20), ..StopRules::default() };
        let mut judge = Judge::new(&rules);
        let mut push = |data_bytes| judge.batch(&Sample { rows: 1, seconds: 1.0, data_bytes, ..Sample::default() });
        assert_eq!(push(Some(1 << 20)), None);
        assert_eq!(push(None), None);
        assert!(push(Some((1 << 20) + 1)).unwrap().rule.starts_with("--max-table-bytes"));
    }
}
