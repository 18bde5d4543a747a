use super::*;
use crate::analyse::{Labels, cliffs};
use crate::record::run::ControlBatch;

/// Twenty batches of 100,000 rows: 0.4 s each, and 2 s from batch 9 on.
fn curve() -> Curve {
    let samples = (1..=20)
        .map(|batch| Sample {
            batch,
            rows: 100_000,
            table_rows: batch * 100_000,
            seconds: if batch < 9 { 0.4 } else { 2.0 },
            data_bytes: Some((batch * 10) << 20),
            index_bytes: Some(0),
            ..Sample::default()
        })
        .collect();
    Curve {
        name: "u".into(),
        run: "r".into(),
        labels: Labels { engine: "innodb".into(), ..Labels::default() },
        repeat: 1,
        samples,
    }
}

fn found(curve: &Curve, record: Option<&CurveRecord>, counted: Option<&Counted>) -> Vec<(&'static str, String)> {
    let reading = cliffs::read(&curve.samples, 1.5);
    let [cliff] = reading.cliffs.as_slice() else { panic!("{reading:?}") };
    assert_eq!(cliff.onset_batch, 9);
    told(evidence(curve, record, counted, None, cliff))
}

fn told(found: Vec<Evidence>) -> Vec<(&'static str, String)> {
    found.into_iter().map(|found| (found.what, found.sentence)).collect()
}

/// With an InnoDB buffer pool of so many MiB.
fn with_cache(curve: &Curve, mebibytes: u64, only_indexes: bool) -> Vec<(&'static str, String)> {
    let reading = cliffs::read(&curve.samples, 1.5);
    let cache = Cache { variable: "innodb_buffer_pool_size".into(), bytes: mebibytes << 20, only_indexes };
    told(evidence(curve, None, None, Some(&cache), &reading.cliffs[0]))
}

fn counter(name: &str, value: impl Fn(u64) -> f64) -> (String, BTreeMap<u64, f64>) {
    (name.to_owned(), (1..=20).map(|batch| (batch, value(batch))).collect())
}

#[test]
fn what_is_not_known_is_not_mentioned() {
    assert_eq!(found(&curve(), None, None), []);
}

#[test]
fn reads_per_row_move_with_it_and_steady_counters_do_not() {
    let counted: Counted = [
        counter("Innodb_buffer_pool_reads", |batch| if batch < 9 { 3.0 } else { 80_000.0 }),
        counter("Innodb_os_log_fsyncs", |_| 800.0),
        counter("Innodb_pages_written", |batch| if batch < 9 { 1000.0 } else { 90_000.0 }),
        counter("Handler_write", |_| 100_000.0),
        counter("host.device_busy_share", |batch| if batch < 9 { 0.05 } else { 0.95 }),
        counter("host.device_read_bytes", |batch| if batch < 9 { 0.0 } else { 9e8 }),
        counter("Innodb_checkpoint_age@end", |batch| if batch < 9 { 1e3 } else { 9e8 }),
    ]
    .into();
    let found = found(&curve(), None, Some(&counted));
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[0].1, "pages read per row (Innodb_buffer_pool_reads) moved with it: from about 0 to 0.800");
    assert_eq!(found[1].0, "device-busy-share");
    assert!(found[1].1.ends_with("moved with it: from 0.0500 to 0.950"), "{found:?}");
    assert!(found[2].1.starts_with("Innodb_pages_written per row moved with it"), "{found:?}");
}

#[test]
fn the_cache_is_named_when_the_table_outgrew_it_there() {
    // 64 MiB are passed with batch 7, 512 MiB never.
    let near = with_cache(&curve(), 64, false);
    assert_eq!(near[0].0, "table-passed-cache");
    assert_eq!(near[0].1, "the table outgrew innodb_buffer_pool_size (64 MiB) by 700k rows, which moved with it");
    let never = with_cache(&curve(), 512, false);
    assert_eq!(never[0].1, "the table stayed smaller than innodb_buffer_pool_size (512 MiB)");
    let long_ago = with_cache(&curve(), 16, false);
    assert!(long_ago[0].1.contains("5.62 times as large as"), "{long_ago:?}");
    // The indexes alone never outgrow what holds nothing else.
    let indexes = with_cache(&curve(), 64, true);
    assert!(indexes.is_empty() || indexes[0].1.contains("stayed smaller"), "{indexes:?}");
}

#[test]
fn notes_stalls_and_bytes_are_seen() {
    let mut curve = curve();
    for sample in &mut curve.samples {
        let after = sample.batch >= 9;
        sample.stall_seconds = Some(if after { 1.0 } else { 0.0 });
        sample.read_bytes = Some(if after { 90_000_000 } else { 0 });
        sample.written_bytes = Some(70_000_000);
        sample.notes = if after { "cpu-full".into() } else { String::new() };
        sample.started_at = format!("2026-11-30T00:{:02}:00Z", sample.batch);
        sample.seconds += 0.0;
        sample.encode_seconds = Some(58.0);
    }
    let words: Vec<&str> = found(&curve, None, None).into_iter().map(|(what, _)| what).collect();
    assert_eq!(words, ["read-bytes-per-row", "stall-share", "cpu-full"]);
}

#[test]
fn a_lost_endpoint_is_seen_and_what_one_endpoint_counts_is_no_figure_of_the_whole() {
    let mut curve = curve();
    for sample in curve.samples.iter_mut().filter(|sample| sample.batch >= 9) {
        sample.notes = "fewer-endpoints".into();
    }
    let rises = |batch| if batch < 9 { 1000.0 } else { 90_000.0 };
    let counted: Counted = [counter("b:3306/Innodb_pages_written", rises)].into();
    let found = found(&curve, None, Some(&counted));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "fewer-endpoints");
}

#[test]
fn interruptions_at_the_onset_are_seen() {
    let mut curve = curve();
    curve.samples[8].notes = "resumed".into();
    for sample in &mut curve.samples {
        let hours = if sample.batch < 9 { 1 } else { 3 };
        sample.started_at = format!("2026-11-30T0{hours}:00:{:02}Z", sample.batch);
    }
    let mut cliff = cliffs::read(&super::super::evidence::tests::curve().samples, 1.5).cliffs.remove(0);
    cliff.onset_batch = 9;
    let found = evidence(&curve, None, None, None, &cliff);
    let words: Vec<&str> = found.iter().map(|found| found.what).collect();
    assert_eq!(words, ["resumed", "pause"], "{found:?}");
    assert!(found[1].sentence.starts_with("there was a pause of 2h00m before batch 9"), "{found:?}");
}

#[test]
fn a_control_batch_or_another_repeat_tells_size_from_time() {
    assert!(not_told_apart(None, false).unwrap().contains("--control-batch"));
    assert_eq!(not_told_apart(None, true), None);
    let record = CurveRecord {
        control_batch: Some(ControlBatch { rows: 10, seconds: Some(1.0), ..ControlBatch::default() }),
        ..CurveRecord::default()
    };
    assert_eq!(not_told_apart(Some(&record), false), None);
}

#[test]
fn the_time_that_a_probe_of_the_run_took_is_no_pause() {
    let mut curve = curve();
    let mut at = jiff::Timestamp::UNIX_EPOCH;
    for sample in &mut curve.samples {
        // Twelve seconds before batch 9 that its encoding does not explain.
        at += jiff::SignedDuration::from_secs(if sample.batch == 9 { 12 } else { 0 });
        sample.started_at = at.to_string();
        at += jiff::SignedDuration::from_secs_f64(sample.seconds);
    }
    let pauses = |curve: &Curve| found(curve, None, None).iter().filter(|found| found.0 == "pause").count();
    assert_eq!(pauses(&curve), 1);
    curve.samples[8].notes = "after-probe".into();
    assert_eq!(pauses(&curve), 0);
}

#[test]
fn what_moved_with_the_slow_batches_of_a_rhythm_is_named() {
    let mut curve = curve();
    for sample in &mut curve.samples {
        let is_slow = sample.batch % 3 == 0;
        sample.seconds = if is_slow { 0.7 } else { 0.4 };
        sample.written_bytes = Some(if is_slow { 40_000_000 } else { 10_000_000 });
    }
    let reading = cliffs::read(&curve.samples, 1.5);
    let rhythm = reading.rhythm.as_ref().unwrap();
    let counted = Counted::from([
        counter("checkpoints", |batch| if batch % 3 == 0 { 900.0 } else { 1.0 }),
        counter("other", |_| 500.0),
    ]);
    let found = of_rhythm(&curve, None, Some(&counted), rhythm);
    let words: Vec<(&str, Option<f64>, Option<f64>)> =
        found.iter().map(|found| (found.what, found.before, found.after)).collect();
    assert_eq!(
        words,
        [("written-bytes-per-row", Some(100.0), Some(400.0)), ("counter", Some(0.000_01), Some(0.009))],
        "{found:?}"
    );
    assert!(found[1].sentence.starts_with("checkpoints per row"), "{found:?}");
    assert_eq!(of_rhythm(&curve, None, None, rhythm).len(), 1);
}
