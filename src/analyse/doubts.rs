//! What the machine did that makes a cliff less sure: only where it differs between the batches before the fall and those after it.

use super::evidence::Counted;
use super::reading::{Cliff, Confidence};
use super::{Curve, median};
use crate::record::Sample;

/// The busy CPU seconds of the whole machine while a batch ran.
const HOST_CPU: &str = "host.cpu_seconds";
/// The CPU seconds that the host of a virtual machine gave to others while a batch ran.
const STOLEN_CPU: &str = "host.stolen_cpu_seconds";
/// A share of one CPU that is stolen more after a fall than before it, from which on it may be its cause.
const STOLEN_CPUS: f64 = 0.1;
/// CPUs that other programs take more of after a fall than before it, from which on they may be its cause.
const OTHER_CPUS: f64 = 0.5;
/// The notes that tell of the machine, with the most that may be said beside them and the words.
const MARKS: [(&str, Confidence, &str); 3] = [
    ("paused", Confidence::Low, "rowcliff itself was stopped for a while (paused)"),
    ("client-bound", Confidence::Low, "the client was the limit (client-bound)"),
    ("cpu-full", Confidence::Medium, "the processors were full (cpu-full)"),
];

/// What lowers the confidence of a cliff, with the most that it leaves.
///
/// `load` is the load average before the run, and the number of cores.
pub fn doubts(
    curve: &Curve,
    counted: Option<&Counted>,
    load: Option<(f64, u64)>,
    cliff: &Cliff,
) -> Vec<(Confidence, String)> {
    let Some(at) = curve.samples.iter().position(|sample| sample.batch == cliff.onset_batch) else { return Vec::new() };
    let (before, after) = curve.samples.split_at(at);
    let mut found: Vec<(Confidence, String)> = MARKS
        .iter()
        .filter(|(word, ..)| share(after, word) >= 0.5 && share(before, word) < 0.25)
        .map(|(word, most, words)| {
            let (before, after) = (100.0 * share(before, word), 100.0 * share(after, word));
            (*most, format!("{words} in {before:.0}% of the batches before the fall and in {after:.0}% after it"))
        })
        .collect();
    found.extend(counted.and_then(|counted| other_programs(curve, before, after, counted.get(HOST_CPU)?)));
    found.extend(counted.and_then(|counted| stolen(before, after, counted.get(STOLEN_CPU)?)));
    found.extend(load.filter(|&(load, cores)| load > cores as f64).map(|(load, cores)| {
        (Confidence::Medium, format!("the load average was {load:.1} on {cores} cores before the run"))
    }));
    found
}

fn share(samples: &[Sample], word: &str) -> f64 {
    let noted = samples.iter().filter(|sample| sample.has_note(word)).count();
    noted as f64 / samples.len().max(1) as f64
}

/// CPUs that the host took away: the median of the batches on each side.
fn stolen(
    before: &[Sample],
    after: &[Sample],
    of_batch: &std::collections::BTreeMap<u64, f64>,
) -> Option<(Confidence, String)> {
    let share = |sample: &Sample| {
        let seconds = sample.seconds + sample.gap_seconds.unwrap_or(0.0);
        of_batch.get(&sample.batch).filter(|_| seconds > 0.0).map(|stolen| stolen / seconds)
    };
    let usual = |samples: &[Sample]| median(&samples.iter().filter_map(share).collect::<Vec<_>>());
    let (before, after) = (usual(before)?, usual(after)?);
    (after - before >= STOLEN_CPUS).then(|| {
        let words = format!(
            "the host of this virtual machine took CPU time away (steal): {before:.1} CPUs before the fall and {after:.1} after it"
        );
        (Confidence::Low, words)
    })
}

/// CPUs that neither the server nor rowcliff used: the median of the batches on each side.
fn other_programs(
    curve: &Curve,
    before: &[Sample],
    after: &[Sample],
    host: &std::collections::BTreeMap<u64, f64>,
) -> Option<(Confidence, String)> {
    let in_process = curve.labels.engine == "sqlite";
    let others = |sample: &Sample| {
        // A server whose CPU is not known is one of the other programs, or is on another machine.
        let server = if in_process { 0.0 } else { sample.server_cpu_seconds? };
        let own = server + sample.client_cpu_seconds?;
        // The machine is read before and after the batch, the gap before it included.
        let seconds = sample.seconds + sample.gap_seconds.unwrap_or(0.0);
        (seconds > 0.0).then(|| (host.get(&sample.batch).copied().unwrap_or(own) - own).max(0.0) / seconds)
    };
    let usual = |samples: &[Sample]| median(&samples.iter().filter_map(others).collect::<Vec<_>>());
    let (before, after) = (usual(before)?, usual(after)?);
    (after - before >= OTHER_CPUS).then(|| {
        let words =
            format!("other programs used the CPUs: {before:.1} of them before the fall and {after:.1} after it");
        (Confidence::Low, words)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::analyse::cliffs::{CLIFF_FACTOR, glance};
    use crate::analyse::{Labels, Reading};

    fn curve(notes: impl Fn(u64) -> &'static str) -> (Curve, Reading) {
        let samples: Vec<Sample> = (1..=30)
            .map(|batch| Sample {
                batch,
                rows: 100_000,
                table_rows: batch * 100_000,
                seconds: if batch <= 15 { 1.0 } else { 3.0 } + 0.01 * (batch % 3) as f64,
                client_cpu_seconds: Some(0.1),
                server_cpu_seconds: Some(0.5),
                notes: notes(batch).into(),
                ..Sample::default()
            })
            .collect();
        let reading = glance(&samples, CLIFF_FACTOR);
        assert_eq!(reading.cliffs.len(), 1);
        let labels = Labels { engine: "innodb".into(), ..Labels::default() };
        (Curve { name: "c".into(), run: "r".into(), labels, repeat: 1, samples }, reading)
    }

    #[test]
    fn a_mark_counts_only_where_it_differs_between_before_and_after() {
        let (after, reading) = curve(|batch| if batch > 15 { "client-bound" } else { "" });
        let found = doubts(&after, None, None, &reading.cliffs[0]);
        assert_eq!(found.iter().map(|(most, _)| *most).collect::<Vec<_>>(), [Confidence::Low]);
        assert!(found[0].1.contains("0% of the batches before the fall and in 100% after it"), "{found:?}");
        let (always, reading) = curve(|_| "client-bound cpu-full");
        assert_eq!(doubts(&always, None, None, &reading.cliffs[0]), []);
        let (full, reading) = curve(|batch| if batch > 15 { "cpu-full" } else { "" });
        assert_eq!(doubts(&full, None, None, &reading.cliffs[0])[0].0, Confidence::Medium);
    }

    #[test]
    fn other_programs_on_the_cpus_make_a_cliff_unsure() {
        let (curve, reading) = curve(|_| "");
        let host = |busy: fn(u64) -> f64| -> Counted {
            let of_batch = (1..=30).map(|batch| (batch, busy(batch))).collect::<BTreeMap<u64, f64>>();
            BTreeMap::from([(HOST_CPU.to_owned(), of_batch)])
        };
        let busy = host(|batch| if batch <= 15 { 0.6 } else { 5.9 });
        let found = doubts(&curve, Some(&busy), None, &reading.cliffs[0]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, Confidence::Low);
        assert!(found[0].1.contains("other programs used the CPUs"), "{found:?}");
        // The server's own work is no other program's.
        let quiet = host(|batch| if batch <= 15 { 0.6 } else { 0.7 });
        assert_eq!(doubts(&curve, Some(&quiet), None, &reading.cliffs[0]), []);
    }

    #[test]
    fn cpu_time_that_the_host_took_away_makes_a_cliff_unsure() {
        let (curve, reading) = curve(|_| "");
        let stolen = |after: f64| -> Counted {
            let of_batch = (1..=30).map(|batch| (batch, if batch <= 15 { 0.01 } else { after }));
            BTreeMap::from([(STOLEN_CPU.to_owned(), of_batch.collect())])
        };
        let found = doubts(&curve, Some(&stolen(1.5)), None, &reading.cliffs[0]);
        assert_eq!(found.iter().map(|(most, _)| *most).collect::<Vec<_>>(), [Confidence::Low]);
        assert!(found[0].1.contains("(steal): 0.0 CPUs before the fall and 0.5 after it"), "{found:?}");
        assert_eq!(doubts(&curve, Some(&stolen(0.05)), None, &reading.cliffs[0]), []);
    }

    #[test]
    fn a_load_above_the_cores_at_the_start_allows_medium_at_most() {
        let (curve, reading) = curve(|_| "");
        let found = doubts(&curve, None, Some((3.0, 2)), &reading.cliffs[0]);
        assert!(found[0].0 == Confidence::Medium && found[0].1.contains("3.0 on 2 cores"), "{found:?}");
        assert_eq!(doubts(&curve, None, Some((1.5, 2)), &reading.cliffs[0]), []);
    }
}
