//! The whole loop on a fake target with a fake clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rowcliff::error::exit;
use rowcliff::plan::Sizes;
use rowcliff::plan::stop::StopRules;
use rowcliff::record::{Outcome, RunState};
use rowcliff::run::Interrupt;
use rowcliff::targets::FailureKind;

use crate::support::fake::{Behaviour, FakeClosing, FakeResult, FakeRun, failure};
use crate::support::{record, samples};

fn steady(micros: u64) -> Arc<Behaviour> {
    Arc::new(move |_, rows| (Duration::from_micros(micros), Ok(rows)))
}

#[test]
fn a_cliff_is_measured_where_it_is() {
    let directory = tempfile::tempdir().unwrap();
    // Ten statements a batch: 10 ms each up to 10,000 rows, 100 ms each after that.
    let behaviour: Arc<Behaviour> =
        Arc::new(|before, rows| (Duration::from_millis(if before < 10_000 { 10 } else { 100 }), Ok(rows)));
    let result = FakeRun::default().run(directory.path(), &["autoinc"], behaviour);
    let summary = result.summary.unwrap();
    assert_eq!(summary.exit_code(), exit::OK);
    let samples = samples(directory.path());
    let seconds: Vec<f64> = samples.iter().map(|sample| sample.seconds).collect();
    let expected: Vec<f64> = (1..=20).map(|batch| if batch <= 10 { 0.1 } else { 1.0 }).collect();
    assert_eq!(seconds, expected);
    assert_eq!(samples[9].inserts_per_sec, Some(10_000.0));
    assert_eq!(samples[10].inserts_per_sec, Some(1000.0));
    assert_eq!(
        samples.iter().map(|sample| sample.table_rows).collect::<Vec<_>>(),
        (1..=20).map(|b| b * 1000).collect::<Vec<u64>>()
    );
    assert_eq!(samples[0].notes, "first");
    assert_eq!(samples[10].p50_us.map(|micros| micros / 1000), Some(100));
    assert_eq!(samples[10].max_us, Some(100_000));
    let curve = &record(directory.path()).curves[0];
    assert_eq!(curve.outcome, Outcome::Completed);
    // The closing work is timed on its own and is in no batch.
    assert_eq!(curve.closing_seconds, Some(7.0));
    assert!((curve.load_seconds - 11.0).abs() < 1e-9);
}

#[test]
fn a_gap_is_known_from_the_second_batch_on_and_unknown_figures_are_empty() {
    let directory = tempfile::tempdir().unwrap();
    let _ = FakeRun::default().run(directory.path(), &["autoinc"], steady(10)).summary.unwrap();
    let samples = samples(directory.path());
    assert_eq!(samples[0].gap_seconds, None);
    assert_eq!(samples[1].gap_seconds, Some(0.0));
    assert_eq!(samples[1].server_cpu_seconds, None);
    let text = std::fs::read_to_string(directory.path().join("batches.csv")).unwrap();
    assert!(text.lines().nth(2).unwrap().contains(",,,,,"), "{text}");
}

#[test]
fn an_error_in_batch_3_ends_the_curve_and_the_next_one_runs() {
    let directory = tempfile::tempdir().unwrap();
    let statements = AtomicU64::new(0);
    let behaviour: Arc<Behaviour> = Arc::new(move |_, rows| {
        let answer = if statements.fetch_add(1, Ordering::SeqCst) == 25 {
            Err(failure(FailureKind::Fatal, "out of luck"))
        } else {
            Ok(rows)
        };
        (Duration::from_millis(1), answer)
    });
    let result = FakeRun::default().run(directory.path(), &["autoinc", "uuid4"], behaviour);
    let summary = result.summary.unwrap();
    assert_eq!(summary.exit_code(), exit::FAILED);
    let record = record(directory.path());
    assert_eq!(record.curves[0].outcome, Outcome::Failed { code: Some(4711), message: "out of luck".into() });
    assert_eq!((record.curves[0].batches, record.curves[0].table_rows), (2, 2000));
    assert!(record.curves[0].table.is_some(), "the table of a failed curve is kept");
    assert_eq!(record.curves[1].outcome, Outcome::Completed);
    assert_eq!(record.curves[1].table, None);
    assert_eq!(samples(directory.path()).len(), 2 + 20);
    assert_eq!(result.seen.lock().unwrap().kept, [true, false]);
}

#[test]
fn an_interrupt_keeps_what_is_finished_and_counts_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let fake = FakeRun::default();
    let interrupt = fake.interrupt.clone();
    let behaviour: Arc<Behaviour> = Arc::new(move |before, rows| {
        if before >= 4500 {
            interrupt.ask();
        }
        (Duration::from_millis(1), Ok(rows))
    });
    let result = fake.run(directory.path(), &["autoinc", "uuid4"], behaviour);
    assert_eq!(result.summary.unwrap().exit_code(), exit::INTERRUPTED);
    let record = record(directory.path());
    assert_eq!(record.state, RunState::Interrupted);
    assert_eq!(record.curves[0].outcome, Outcome::Interrupted);
    assert_eq!(record.curves[1].outcome, Outcome::NotStarted);
    let lines = samples(directory.path());
    assert!(lines.len() == 4 || lines.len() == 5, "{} batches", lines.len());
    assert_eq!(lines.len() as u64, record.curves[0].batches);
    let seen = result.seen.lock().unwrap();
    assert_eq!((seen.kept.as_slice(), seen.finished), ([true].as_slice(), 1));
}

#[test]
fn rows_that_were_not_accepted_are_an_error_and_never_a_statistic() {
    let directory = tempfile::tempdir().unwrap();
    let behaviour: Arc<Behaviour> =
        Arc::new(|before, rows| (Duration::from_millis(1), Ok(if before == 1500 { rows - 1 } else { rows })));
    let result = FakeRun::default().run(directory.path(), &["autoinc"], behaviour);
    assert_eq!(result.summary.unwrap().exit_code(), exit::FAILED);
    let Outcome::Failed { message, .. } = &record(directory.path()).curves[0].outcome else { panic!() };
    assert!(message.contains("100") && message.contains("99"), "{message}");
    assert_eq!(samples(directory.path()).len(), 1);
}

#[test]
fn a_target_that_stores_nothing_is_found_in_the_trial_and_nothing_is_loaded() {
    for (fake, word) in [
        // A count of nothing, and rows that cannot be read: the fake target keeps a count and no values.
        (FakeRun { trial_keeps: false, ..FakeRun::default() }, "0 of them can be read back"),
        (FakeRun { trial_keeps: false, verify_rows: None, ..FakeRun::default() }, "0 of them can be read back"),
        (FakeRun { verify_rows: Some(10), ..FakeRun::default() }, "keeps no values"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let result = fake.run(directory.path(), &["autoinc"], steady(10));
        assert_eq!(result.summary.unwrap().exit_code(), exit::FAILED);
        let outcome = &record(directory.path()).curves[0].outcome;
        let Outcome::Skipped { why, environment: true } = outcome else { panic!("{outcome:?}") };
        assert!(why.contains(word), "{why}");
        assert_eq!(result.seen.lock().unwrap().statements, 0);
    }
}

#[test]
fn rows_that_are_gone_at_the_end_are_found_by_the_count() {
    let directory = tempfile::tempdir().unwrap();
    let fake = FakeRun { lost: 3, ..FakeRun::default() };
    let result = fake.run(directory.path(), &["autoinc"], steady(10));
    assert_eq!(result.summary.unwrap().exit_code(), exit::FAILED);
    let curve = &record(directory.path()).curves[0];
    let Outcome::Failed { message, .. } = &curve.outcome else { panic!("{:?}", curve.outcome) };
    assert!(message.contains("20,000 rows and 19,997 were counted"), "{message}");
    assert_eq!(curve.keeps_rows, Some(true));
    // Without the check it stands as what it is: not verified.
    let unchecked = tempfile::tempdir().unwrap();
    let fake = FakeRun { lost: 3, verify_rows: None, ..FakeRun::default() };
    assert_eq!(fake.run(unchecked.path(), &["autoinc"], steady(10)).summary.unwrap().exit_code(), exit::OK);
    let curve = &record(unchecked.path()).curves[0];
    assert_eq!((&curve.outcome, &curve.verification), (&Outcome::Completed, &None));
}

#[test]
fn a_deadlock_sends_its_transaction_again_from_the_first_row() {
    let directory = tempfile::tempdir().unwrap();
    let calls = AtomicU64::new(0);
    // Transactions of 500 rows in statements of 100; the third statement of the second transaction deadlocks, twice.
    let behaviour: Arc<Behaviour> = Arc::new(move |_, rows| {
        let call = calls.fetch_add(1, Ordering::SeqCst);
        let answer = if call == 7 || call == 10 { Err(failure(FailureKind::Retry, "deadlock")) } else { Ok(rows) };
        (Duration::from_millis(1), answer)
    });
    let sizes = Sizes { rows: 3000, batch_rows: 1000, statement_rows: 100, commit_rows: 500 };
    let result = FakeRun { sizes, ..FakeRun::default() }.run(directory.path(), &["autoinc"], behaviour);
    assert_eq!(result.summary.unwrap().exit_code(), exit::OK);
    let samples = samples(directory.path());
    assert_eq!(samples.iter().map(|sample| sample.retries.unwrap()).collect::<Vec<_>>(), [2, 0, 0]);
    assert_eq!(samples[0].rows, 1000);
    // What the deadlocks cost is in the batch that met them.
    assert!(samples[0].seconds > samples[1].seconds);
    let seen = result.seen.lock().unwrap();
    assert_eq!((seen.rows, seen.rolled_back), (3000, 400));
}

#[test]
fn a_deadlock_that_does_not_end_ends_the_curve() {
    let directory = tempfile::tempdir().unwrap();
    let behaviour: Arc<Behaviour> = Arc::new(|before, rows| {
        let answer = if before >= 1000 { Err(failure(FailureKind::Retry, "deadlock")) } else { Ok(rows) };
        (Duration::from_millis(1), answer)
    });
    let result = FakeRun::default().run(directory.path(), &["autoinc"], behaviour);
    assert_eq!(result.summary.unwrap().exit_code(), exit::FAILED);
    assert_eq!(samples(directory.path()).len(), 1);
}

#[test]
fn batches_larger_than_the_memory_for_them_are_sent_in_windows() {
    for (commit_rows, connections) in [(100, 3), (1000, 1), (500, 2)] {
        let directory = tempfile::tempdir().unwrap();
        let sizes = Sizes { rows: 4000, batch_rows: 1000, statement_rows: 100, commit_rows };
        let fake = FakeRun { sizes, connections, window_bytes: 40_000, ..FakeRun::default() };
        let result = fake.run(directory.path(), &["uuid4"], steady(1000));
        assert_eq!(result.summary.unwrap().exit_code(), exit::OK);
        let samples = samples(directory.path());
        assert_eq!(samples.len(), 4);
        for sample in &samples {
            assert_eq!(
                (sample.rows, sample.statements),
                (1000, Some(10)),
                "commit {commit_rows}, {connections} connections"
            );
        }
        assert_eq!(result.seen.lock().unwrap().rows, 4000);
    }
}

#[test]
fn repeats_are_interleaved() {
    let directory = tempfile::tempdir().unwrap();
    let fake = FakeRun { repeat: 2, ..FakeRun::default() };
    let result = fake.run(directory.path(), &["autoinc", "uuid4"], steady(10));
    assert_eq!(result.summary.unwrap().exit_code(), exit::OK);
    let mut order: Vec<(String, u32)> = samples(directory.path()).into_iter().map(|s| (s.key, s.repeat)).collect();
    order.dedup();
    let expected = [("autoinc", 1), ("uuid4:binary16", 1), ("autoinc", 2), ("uuid4:binary16", 2)];
    assert_eq!(order, expected.map(|(key, repeat)| (key.to_owned(), repeat)));
}

#[test]
fn a_lost_connection_takes_the_batch_back_to_its_boundary() {
    let directory = tempfile::tempdir().unwrap();
    let calls = AtomicU64::new(0);
    let behaviour: Arc<Behaviour> = Arc::new(move |_, rows| {
        let lost = calls.fetch_add(1, Ordering::SeqCst) == 25;
        (Duration::from_millis(1), if lost { Err(failure(FailureKind::Lost, "gone away")) } else { Ok(rows) })
    });
    let result = FakeRun::default().run(directory.path(), &["autoinc"], behaviour);
    assert_eq!(result.summary.unwrap().exit_code(), exit::OK);
    let samples = samples(directory.path());
    assert_eq!(samples.len(), 20);
    let marked: Vec<u64> =
        samples.iter().filter(|sample| sample.has_note("retried")).map(|sample| sample.batch).collect();
    assert_eq!(marked, [3]);
    // Its seconds are those of the attempt that succeeded.
    assert_eq!(samples[2].seconds, samples[1].seconds);
    assert!(!samples[2].counts_for_baseline());
    // The batch that was taken back counts as one.
    assert_eq!((samples[1].retries, samples[2].retries), (Some(0), Some(1)));
    let seen = result.seen.lock().unwrap();
    assert_eq!((seen.rows, seen.taken_back.as_slice()), (20_000, [500].as_slice()));
    assert!(
        result.events.iter().any(|event| event.contains("gone away") && event.contains("2000")),
        "{:?}",
        result.events
    );
}

#[test]
fn a_connection_that_is_lost_every_time_ends_the_curve() {
    let directory = tempfile::tempdir().unwrap();
    let behaviour: Arc<Behaviour> = Arc::new(|before, rows| {
        let answer = if before >= 2500 { Err(failure(FailureKind::Lost, "gone away")) } else { Ok(rows) };
        (Duration::from_millis(1), answer)
    });
    let result = FakeRun::default().run(directory.path(), &["autoinc"], behaviour);
    assert_eq!(result.summary.unwrap().exit_code(), exit::FAILED);
    assert_eq!(samples(directory.path()).len(), 2);
    assert_eq!(result.seen.lock().unwrap().taken_back, [500, 500, 500]);
}

fn stopping(stop: StopRules) -> FakeRun {
    FakeRun { stop, ..FakeRun::default() }
}

#[test]
fn a_stop_rule_ends_its_curve_with_its_figures_and_the_next_one_runs() {
    let directory = tempfile::tempdir().unwrap();
    let behaviour: Arc<Behaviour> =
        Arc::new(|before, rows| (Duration::from_millis(if before < 10_000 { 10 } else { 100 }), Ok(rows)));
    let stop = StopRules { max_slowdown: Some(5.0), stop_after: 2, ..StopRules::default() };
    let result = stopping(stop).run(directory.path(), &["autoinc", "uuid4"], behaviour);
    assert_eq!(result.summary.unwrap().exit_code(), exit::STOPPED);
    let record = record(directory.path());
    for curve in &record.curves {
        let Outcome::Stopped { rule, figures } = &curve.outcome else { panic!("{:?}", curve.outcome) };
        assert_eq!(rule, "--max-slowdown 5");
        assert!(figures.contains("10.00 times") && figures.contains("batch 12"), "{figures}");
        assert_eq!((curve.batches, curve.table_rows, &curve.partial), (12, 12_000, &None));
        assert!(curve.verification.is_some(), "a stopped curve is counted like a completed one");
    }
    assert_eq!(result.seen.lock().unwrap().kept, [false, false]);
}

#[test]
fn a_stop_may_end_the_whole_run() {
    let directory = tempfile::tempdir().unwrap();
    let stop = StopRules { min_rate: Some(1e9), stop_after: 1, stop_ends_run: true, ..StopRules::default() };
    let result = stopping(stop).run(directory.path(), &["autoinc", "uuid4"], steady(10));
    assert_eq!(result.summary.unwrap().exit_code(), exit::STOPPED);
    let record = record(directory.path());
    assert!(matches!(record.curves[0].outcome, Outcome::Stopped { .. }));
    assert_eq!(record.curves[1].outcome, Outcome::NotStarted);
}

#[test]
fn the_batch_in_flight_is_judged_and_is_in_no_curve() {
    let directory = tempfile::tempdir().unwrap();
    // From the third batch on a statement takes 20 seconds of the clock, and enough real time to be looked at.
    let behaviour: Arc<Behaviour> = Arc::new(|before, rows| {
        if before < 2000 {
            return (Duration::from_millis(10), Ok(rows));
        }
        std::thread::sleep(Duration::from_millis(80));
        (Duration::from_secs(20), Ok(rows))
    });
    let stop = StopRules { max_batch_seconds: Some(30.0), ..StopRules::default() };
    let result = stopping(stop).run(directory.path(), &["autoinc"], behaviour);
    assert_eq!(result.summary.unwrap().exit_code(), exit::STOPPED);
    let curve = &record(directory.path()).curves[0];
    let Outcome::Stopped { rule, .. } = &curve.outcome else { panic!("{:?}", curve.outcome) };
    assert_eq!(rule, "--max-batch-seconds 30");
    assert_eq!(curve.batches, 2);
    let partial = curve.partial.as_ref().unwrap();
    assert_eq!(partial.batch, 3);
    assert!(partial.rows < 1000 && partial.seconds > 30.0, "{partial:?}");
    assert_eq!(samples(directory.path()).len(), 2);
}

#[test]
fn a_minute_without_an_acknowledgement_is_said_and_left_for_status_until_there_is_one() {
    let directory = tempfile::tempdir().unwrap();
    let fake = FakeRun::default();
    let clock = Arc::clone(&fake.clock);
    let told = directory.path().join("silent-since");
    let waited = Arc::new(AtomicU64::new(0));
    let (path, seconds) = (told.clone(), Arc::clone(&waited));
    let behaviour: Arc<Behaviour> = Arc::new(move |before, rows| {
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        while before == 5500 && !path.exists() && std::time::Instant::now() < deadline {
            clock.advance(Duration::from_secs(1));
            seconds.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(20));
        }
        (Duration::from_millis(1), Ok(rows))
    });
    let result = fake.run(directory.path(), &["autoinc"], behaviour);
    assert_eq!(result.summary.unwrap().exit_code(), exit::OK);
    assert!(waited.load(Ordering::SeqCst) >= 60, "said too soon");
    assert!(!told.exists());
    let notes: Vec<&String> = result.events.iter().filter(|event| event.contains("acknowledged nothing")).collect();
    assert_eq!(notes.len(), 1, "{:?}", result.events);
}

/// A run of 2,000 rows whose closing work takes so many seconds.
fn closing(stop: StopRules, closing: FakeClosing) -> (FakeResult, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let interrupt = closing.interrupt.clone().unwrap_or_default();
    let sizes = Sizes { rows: 2000, batch_rows: 1000, statement_rows: 100, commit_rows: 100 };
    let fake = FakeRun { sizes, stop, closing: Arc::new(closing), interrupt, ..FakeRun::default() };
    let result = fake.run(directory.path(), &["autoinc"], steady(1000));
    (result, directory)
}

fn rules(max_duration: Option<f64>, stall_timeout: f64) -> StopRules {
    StopRules { max_duration_seconds: max_duration, stall_timeout_seconds: stall_timeout, ..StopRules::default() }
}

#[test]
fn a_limit_that_ends_the_closing_work_keeps_the_batches_and_stops_the_curve() {
    let (result, directory) =
        closing(rules(Some(30.0), 3600.0), FakeClosing { seconds: 900, answers: true, ..FakeClosing::default() });
    let summary = result.summary.unwrap();
    assert_eq!(summary.exit_code(), exit::STOPPED);
    let curve = &summary.record.curves[0];
    let Outcome::Stopped { rule, figures } = &curve.outcome else { panic!("{:?}", curve.outcome) };
    assert_eq!(rule, "--max-duration 30");
    assert!(figures.contains("the closing work was ended"), "{figures}");
    assert_eq!((curve.batches, samples(directory.path()).len()), (2, 2));
    assert_eq!((&curve.verification, curve.closing_seconds), (&None, None));
    assert!(curve.notes.iter().any(|note| note.starts_with("not verified")), "{:?}", curve.notes);
    assert_eq!(result.seen.lock().unwrap().kept, [false], "its table is dropped");
}

#[test]
fn a_server_that_is_silent_in_the_closing_work_fails_the_curve_and_keeps_the_table() {
    for stop in [rules(Some(30.0), 3600.0), rules(None, 30.0)] {
        let (result, _directory) =
            closing(stop, FakeClosing { seconds: 900, answers: false, ..FakeClosing::default() });
        let summary = result.summary.unwrap();
        assert_eq!(summary.exit_code(), exit::FAILED);
        let curve = &summary.record.curves[0];
        let Outcome::Failed { message, .. } = &curve.outcome else { panic!("{:?}", curve.outcome) };
        assert!(message.contains("server silent") && message.contains("closing work"), "{message}");
        assert_eq!((curve.batches, curve.table.is_some()), (2, true));
        assert_eq!(result.seen.lock().unwrap().kept, [true]);
    }
}

#[test]
fn long_work_on_a_server_that_answers_goes_on_and_is_told() {
    let (result, _directory) =
        closing(rules(None, 30.0), FakeClosing { seconds: 300, answers: true, ..FakeClosing::default() });
    let summary = result.summary.unwrap();
    assert_eq!(summary.exit_code(), exit::OK);
    assert!(summary.record.curves[0].closing_seconds.unwrap() >= 300.0);
    let told = result.events.iter().filter(|event| *event == "waiting for the closing work").count();
    assert!((1..=6).contains(&told), "each time it has doubled: {:?}", result.events);
}

#[test]
fn a_signal_ends_the_closing_work() {
    let interrupt = Some(Interrupt::new());
    let (result, _directory) =
        closing(rules(None, 3600.0), FakeClosing { seconds: 900, answers: true, interrupt, ..FakeClosing::default() });
    let summary = result.summary.unwrap();
    assert_eq!(summary.exit_code(), exit::INTERRUPTED);
    assert_eq!((&summary.record.curves[0].outcome, summary.record.curves[0].batches), (&Outcome::Interrupted, 2));
    assert_eq!(result.seen.lock().unwrap().kept, [true]);
}
