//! `--scale`: a plan run small, or large.

use super::{ProbePlan, ProbeWhen};
use crate::cli;
use crate::error::Error;
use crate::record::run::scale_note;
use crate::units;

/// By how much the sizes of a plan are multiplied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    factor: f64,
    cache: bool,
}

impl Scale {
    /// What was asked for; `None` where the plan is run as it is.
    ///
    /// # Errors
    /// There is no cache to scale.
    pub fn of_args(args: &cli::RunArgs) -> Result<Option<Self>, Error> {
        if args.scale_cache && args.cache.is_none() {
            return Err(Error::usage(
                "--scale-cache",
                "there is no cache to scale: neither the plan nor the command line gives one",
                "give the cache at its full size with --cache, or leave --scale-cache out",
            ));
        }
        Ok(args.scale.map(|factor| Self { factor, cache: args.scale_cache }))
    }

    pub fn factor(self) -> f64 {
        self.factor
    }

    /// Whether the cache is multiplied too.
    pub fn scales_cache(self) -> bool {
        self.cache
    }

    /// A number of rows or operations: rounded, at least 1.
    pub fn count(self, count: u64) -> u64 {
        units::times(count, self.factor)
    }

    /// The clock of UUIDs: a table of a thousandth of the rows is to see as much of its time pass. A uuid1 that wraps five times in
    /// the whole plan would ascend throughout otherwise.
    pub fn uuid_rate(self, rate: u64) -> u64 {
        self.count(rate)
    }

    /// The cache of every engine.
    pub fn cache(self, bytes: Option<u64>) -> Option<u64> {
        if self.cache { bytes.map(|bytes| self.count(bytes)) } else { bytes }
    }

    /// Scales the operations of the probes, and the table sizes at which they run: by as much as a batch of `batch_rows` was, so
    /// that they run after the same batches.
    pub fn probes(self, plan: &mut ProbePlan, batch_rows: u64) {
        for ops in plan.ops.iter_mut().flatten() {
            *ops = self.count(*ops);
        }
        // Two numbers may have become one.
        let mut seen = Vec::new();
        plan.ops.retain(|ops| {
            let is_new = !seen.contains(ops);
            seen.push(*ops);
            is_new
        });
        if let ProbeWhen::At(sizes) = &mut plan.when {
            let batch = self.count(batch_rows);
            for rows in sizes.iter_mut() {
                let scaled = u128::from(*rows) * u128::from(batch) / u128::from(batch_rows.max(1));
                *rows = u64::try_from(scaled).unwrap_or(u64::MAX).max(1);
            }
            sizes.dedup();
        }
    }

    /// What a reader has to know of it.
    pub fn note(self, cache: Option<u64>) -> String {
        let note = scale_note(self.factor, self.cache, true);
        match cache.filter(|_| !self.cache) {
            Some(bytes) => {
                format!("{note} (the cache of {} stays; --scale-cache scales it too)", units::human_bytes(bytes))
            }
            None => note,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::probe_kind::ProbeKind;

    const THOUSANDTH: Scale = Scale { factor: 0.001, cache: false };

    fn probes(when: ProbeWhen, ops: &[u64]) -> ProbePlan {
        ProbePlan {
            probes: vec![ProbeKind::SelectPk],
            when,
            connections: vec![8],
            iterations: 10,
            ops: ops.iter().copied().map(Some).collect(),
            seconds: Some(900.0),
            fresh_keys: false,
            warmup: false,
        }
    }

    #[test]
    fn counts_are_rounded_and_never_nothing() {
        assert_eq!([105_000_000, 1_500, 1_400, 1, 0].map(|rows| THOUSANDTH.count(rows)), [105_000, 2, 1, 1, 1]);
        assert_eq!(Scale { factor: 2.5, cache: false }.count(1_000), 2_500);
        assert_eq!(THOUSANDTH.cache(Some(1 << 30)), Some(1 << 30));
        assert_eq!(Scale { cache: true, ..THOUSANDTH }.cache(Some(20_000_000)), Some(20_000));
    }

    #[test]
    fn the_clock_of_uuids_keeps_its_share_of_the_rows() {
        let seconds = |rows: u64, rate: u64| rows as f64 / rate as f64;
        for scale in [THOUSANDTH, Scale { factor: 0.02, cache: false }, Scale { factor: 1.0, cache: false }] {
            let (rows, rate) = (800_000_000, 60_000);
            assert_eq!(seconds(scale.count(rows), scale.uuid_rate(rate)), seconds(rows, rate));
        }
        assert_eq!(THOUSANDTH.uuid_rate(3), 1);
    }

    #[test]
    fn probes_run_after_the_same_batches_with_fewer_operations() {
        let mut plan = probes(ProbeWhen::At(vec![1_000_000, 105_000_000]), &[1_000, 10_000, 400]);
        THOUSANDTH.probes(&mut plan, 1_000_000);
        assert_eq!(plan.when, ProbeWhen::At(vec![1_000, 105_000]));
        assert_eq!(plan.ops, [Some(1), Some(10)]);
        assert_eq!((plan.connections.as_slice(), plan.iterations, plan.seconds), ([8].as_slice(), 10, Some(900.0)));
        // A batch of one row at the least: sizes keep their batch.
        let mut plan = probes(ProbeWhen::At(vec![105_000_000]), &[7]);
        Scale { factor: 1e-9, cache: false }.probes(&mut plan, 1_000_000);
        assert_eq!(plan.when, ProbeWhen::At(vec![105]));
        let mut timed = probes(ProbeWhen::Every(3), &[]);
        timed.ops = vec![None];
        THOUSANDTH.probes(&mut timed, 1_000_000);
        assert_eq!((timed.when, timed.ops), (ProbeWhen::Every(3), vec![None]));
    }
}
