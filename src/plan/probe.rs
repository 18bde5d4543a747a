//! What is run between the batches, resolved.

use serde::{Deserialize, Serialize};

use super::Sizes;
use crate::cli::probe::{ProbeArgs, ProbeKeys};
use crate::error::Error;
use crate::plan::probe_kind::ProbeKind;
use crate::units::{human_rows, human_seconds};

/// Operations of an iteration when nothing is said of them.
const DEFAULT_OPS: u64 = 1000;
/// Table sizes at which probes run when nothing is said of them.
const DEFAULT_POINTS: u64 = 10;

/// The probes of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbePlan {
    /// Which, in the order in which they run.
    pub probes: Vec<ProbeKind>,
    pub when: ProbeWhen,
    /// Connections that share the operations of an iteration; those that load where it is empty.
    pub connections: Vec<u32>,
    /// Iterations of each probe with each number of connections.
    pub iterations: u32,
    /// Operations of an iteration over all its connections, one size after the other; `None` has no limit but time.
    pub ops: Vec<Option<u64>>,
    /// The most an iteration may take.
    pub seconds: Option<f64>,
    /// Whether each iteration asks for other rows.
    pub fresh_keys: bool,
    /// Whether each probe runs once unrecorded before its first iteration.
    pub warmup: bool,
}

/// The table sizes at which probes run. By batches they run at the end of a curve too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeWhen {
    /// After every so many batches.
    Every(u64),
    /// Ten times in a curve.
    Tenths,
    /// At the first batch that reaches each of these sizes, ascending.
    At(Vec<u64>),
}

/// The first option about probes, where it decides nothing without one.
fn without_probes(args: &ProbeArgs) -> Option<&'static str> {
    let given = [
        ("--probe-every", args.probe_every.is_some()),
        ("--probe-at", !args.probe_at.is_empty()),
        ("--probe-connections", !args.probe_connections.is_empty()),
        ("--probe-ops", !args.probe_ops.is_empty()),
        ("--probe-seconds", args.probe_seconds.is_some()),
    ];
    given.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
}

impl ProbePlan {
    /// The plan of what was typed; `None` without probes.
    ///
    /// # Errors
    /// A word is no probe.
    pub fn of_args(args: &ProbeArgs) -> Result<Option<Self>, Error> {
        let mut probes: Vec<ProbeKind> = Vec::new();
        for word in &args.probe {
            let probe = word
                .trim()
                .parse()
                .map_err(|cause: String| Error::usage("--probe", cause, "see rowcliff run --help"))?;
            if !probes.contains(&probe) {
                probes.push(probe);
            }
        }
        if probes.is_empty() {
            // Not asked of the parser: a plan file may name the probes that typed options are about.
            return match without_probes(args) {
                Some(flag) => Err(Error::usage(
                    flag,
                    "there is no probe that it could be for",
                    "name probes with --probe, as in --probe select-pk,range-pk",
                )),
                None => Ok(None),
            };
        }
        let mut at = args.probe_at.clone();
        at.sort_unstable();
        at.dedup();
        let when = match args.probe_every {
            Some(batches) => ProbeWhen::Every(u64::from(batches)),
            None if at.is_empty() => ProbeWhen::Tenths,
            None => ProbeWhen::At(at),
        };
        let ops = match (args.probe_ops.as_slice(), args.probe_seconds) {
            ([], Some(_)) => vec![None],
            ([], None) => vec![Some(DEFAULT_OPS)],
            (list, _) => list.iter().copied().map(Some).collect(),
        };
        Ok(Some(Self {
            probes,
            when,
            connections: args.probe_connections.clone(),
            iterations: args.probe_iterations,
            ops,
            seconds: args.probe_seconds.map(|limit| limit.as_secs_f64()),
            fresh_keys: args.probe_keys == ProbeKeys::Fresh,
            warmup: args.probe_warmup,
        }))
    }

    /// Whether the probes run after a batch of a curve, the last one included.
    pub fn runs_after(&self, batch: u64, sizes: Sizes) -> bool {
        let batches = sizes.batches();
        let reached = |rows: &u64| rows.div_ceil(sizes.batch_rows).max(1) == batch;
        batch > 0
            && match &self.when {
                ProbeWhen::Every(each) => batch.is_multiple_of(*each) || batch == batches,
                ProbeWhen::Tenths => batch.is_multiple_of(batches.div_ceil(DEFAULT_POINTS)) || batch == batches,
                ProbeWhen::At(sizes) => sizes.iter().any(reached),
            }
    }

    /// What will be run, in words.
    pub fn describe(&self) -> String {
        let probes: Vec<&str> = self.probes.iter().map(|kind| kind.word()).collect();
        let rows = |list: &[u64]| list.iter().map(|&rows| human_rows(rows)).collect::<Vec<_>>().join(", ");
        let when = match &self.when {
            ProbeWhen::Every(1) => "after every batch".to_owned(),
            ProbeWhen::Every(batches) => format!("after every {batches} batches and the last"),
            ProbeWhen::Tenths => "ten times in a curve".to_owned(),
            ProbeWhen::At(sizes) => format!("at {} rows", rows(sizes)),
        };
        let connections: Vec<String> = self.connections.iter().map(ToString::to_string).collect();
        let over = match connections.as_slice() {
            [] => "the loading connections".to_owned(),
            list => format!("{} connections", list.join(", ")),
        };
        let limited: Vec<u64> = self.ops.iter().copied().flatten().collect();
        let ops = if limited.is_empty() { String::new() } else { format!(" of {} operations", rows(&limited)) };
        let seconds = self.seconds.map_or_else(String::new, |limit| format!(", each at most {}", human_seconds(limit)));
        let iterations = if self.iterations == 1 { "iteration" } else { "iterations" };
        format!("{} {when}, over {over}, {} {iterations}{ops}{seconds}", probes.join(", "), self.iterations)
    }

    /// The numbers of connections of a curve that is loaded over `loading`.
    pub fn connections(&self, loading: u32, several: bool) -> Vec<u32> {
        match (self.connections.as_slice(), several) {
            ([], _) => vec![loading],
            (_, false) => vec![1],
            (list, true) => list.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(when: ProbeWhen) -> ProbePlan {
        ProbePlan {
            probes: vec![ProbeKind::SelectPk],
            when,
            connections: Vec::new(),
            iterations: 1,
            ops: vec![Some(DEFAULT_OPS)],
            seconds: None,
            fresh_keys: false,
            warmup: false,
        }
    }

    fn batches(when: ProbeWhen, sizes: Sizes) -> Vec<u64> {
        (0..=sizes.batches()).filter(|&batch| plan(when.clone()).runs_after(batch, sizes)).collect()
    }

    #[test]
    fn a_plan_is_told_in_words() {
        let one = plan(ProbeWhen::Tenths);
        assert_eq!(
            one.describe(),
            "select-pk ten times in a curve, over the loading connections, 1 iteration of 1k operations"
        );
        let more = ProbePlan {
            probes: vec![ProbeKind::Mixed, ProbeKind::Oltp],
            connections: vec![1, 16],
            iterations: 10,
            ops: vec![None],
            seconds: Some(5.0),
            ..plan(ProbeWhen::At(vec![1_000_000, 10_000_000]))
        };
        assert_eq!(
            more.describe(),
            "mixed, oltp at 1M, 10M rows, over 1, 16 connections, 10 iterations, each at most 5.00 s"
        );
    }

    #[test]
    fn probes_run_where_they_were_asked_for() {
        let sizes = |rows, batch_rows| Sizes { rows, batch_rows, statement_rows: 1, commit_rows: 1 };
        assert_eq!(batches(ProbeWhen::Every(3), sizes(80, 10)), [3, 6, 8]);
        assert_eq!(batches(ProbeWhen::Tenths, sizes(10, 10)), [1]);
        assert_eq!(batches(ProbeWhen::Tenths, sizes(250, 10)), [3, 6, 9, 12, 15, 18, 21, 24, 25]);
        assert_eq!(batches(ProbeWhen::At(vec![1, 25, 30, 900]), sizes(80, 10)), [1, 3]);
    }
}
