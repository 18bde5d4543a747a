//! How often rhythms are found where there are some, and where there are none.

use std::path::Path;

use rowcliff::analyse::cliffs::places;
use rowcliff::analyse::rhythm::{Rhythm, rhythm};
use rowcliff::analyse::{Factor, baseline};
use rowcliff::record::Sample;

use crate::support::combs::{Teeth, with_teeth};
use crate::support::families::{FAMILIES, Family, NOISES, Noise, Numbers, series};
use crate::support::{run, text};

fn read(samples: &[Sample]) -> Option<Rhythm> {
    rhythm(&places(samples, baseline(samples).as_ref()))
}

/// Share of the series in which the rhythm is found with its period and its phases.
fn found(seed: u64, count: usize, level: f64, factor: f64, family: Family) -> Vec<f64> {
    let share = |noise| {
        let mut numbers = Numbers(seed);
        let hits = (0..100).filter(|_| {
            let teeth = Teeth::drawn(&mut numbers, count as u64, factor);
            let known = with_teeth(&mut numbers, family, count, noise, level, &teeth);
            read(&known.samples).is_some_and(|found| found.period == teeth.period && found.phases == teeth.phases)
        });
        hits.count() as f64 / 100.0
    };
    NOISES.into_iter().map(share).collect()
}

#[test]
fn rhythms_of_one_and_a_half_times_are_found() {
    for family in [Family::Flat, Family::Slope, Family::Step(2.0), Family::Bend(2.0)] {
        let shares = found(90_210, 40, 0.05, 1.5, family);
        assert!(shares.iter().all(|share| *share >= 0.95), "{family:?}: {shares:?}");
    }
}

#[test]
fn hardly_any_series_without_a_rhythm_has_one() {
    for (count, level) in [(20, 0.05), (40, 0.05), (40, 0.1), (100, 0.05)] {
        let mut numbers = Numbers(31_337 + count as u64);
        let mut wrong = Vec::new();
        let mut all = 0;
        for family in FAMILIES {
            for noise in NOISES {
                for _ in 0..if count > 40 { 25 } else { 60 } {
                    all += 1;
                    let known = series(&mut numbers, family, count, noise, level);
                    wrong.extend(read(&known.samples).map(|found| (family, noise, found.sentence())));
                }
            }
        }
        assert!(wrong.len() * 200 <= all, "{count} batches, {level}: {} of {all}: {wrong:?}", wrong.len());
    }
}

/// Writes a file of another program: rows in the table and seconds.
fn file(home: &std::path::Path, seconds: &[f64]) -> std::path::PathBuf {
    let path = home.join("curve.csv");
    let lines: Vec<String> =
        (1..).zip(seconds).map(|(batch, seconds)| format!("{},{seconds}", batch * 50_000)).collect();
    std::fs::write(&path, format!("table_rows,seconds\n{}\n", lines.join("\n"))).unwrap();
    path
}

#[test]
fn t22_every_third_batch_is_slow_in_words_table_json_and_picture() {
    let home = tempfile::tempdir().unwrap();
    let csv = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/t22_rhythm.csv");
    let csv = csv.to_str().unwrap();
    let sentence = "every 3rd batch costs 1.7 times the others";
    let words = text(&run(home.path(), &["cliffs", csv]));
    assert!(words.to_lowercase().contains(sentence), "{words}");
    let table = text(&run(home.path(), &["show", csv]));
    assert!(table.contains(&format!("---- {sentence} ----")), "{table}");
    let json: serde_json::Value = serde_json::from_slice(&run(home.path(), &["cliffs", csv, "--json"]).stdout).unwrap();
    let rhythm = &json["curves"][0]["rhythm"];
    assert_eq!((&rhythm["period_batches"], &rhythm["sentence"]), (&3.into(), &sentence.into()));
    assert_eq!(rhythm["slow_batches"], serde_json::json!([3, 6, 9, 12, 15, 18]));
    assert_eq!(json["any_cliff"], false);
    let drawn = run(home.path(), &["plot", csv, "--what", "rate", "-o", "p.svg"]);
    assert!(drawn.status.success(), "{}", text(&drawn));
    assert!(std::fs::read_to_string(home.path().join("p.svg")).unwrap().contains(sentence));
}

#[test]
fn a_script_learns_of_a_slow_end_by_the_exit_code() {
    let home = tempfile::tempdir().unwrap();
    let slow: Vec<f64> = (0..20).map(|batch| 1.0 + 0.1 * f64::from(batch) + 0.15 * f64::from(batch % 2)).collect();
    let csv = file(home.path(), &slow);
    let of = |factor: &str| run(home.path(), &["cliffs", csv.to_str().unwrap(), "--fail-on-slowdown", factor]);
    let failing = of("2");
    assert_eq!(failing.status.code(), Some(5), "{}", text(&failing));
    assert!(text(&failing).contains("above --fail-on-slowdown 2"), "{}", text(&failing));
    assert_eq!(of("4").status.code(), Some(0));
    for wrong in ["1", "0.5", "-2", "nan", "inf", "slow"] {
        let refused = of(wrong);
        assert_eq!(refused.status.code(), Some(2), "{wrong}: {}", text(&refused));
    }
    let short = file(home.path(), &slow[..5]);
    let open = run(home.path(), &["cliffs", short.to_str().unwrap(), "--fail-on-slowdown", "2"]);
    assert_eq!(open.status.code(), Some(0), "{}", text(&open));
    assert!(text(&open).contains("not judged by --fail-on-slowdown 2"), "{}", text(&open));
}

#[test]
fn a_short_curve_fails_a_strict_run_that_asks_for_its_factor() {
    let home = tempfile::tempdir().unwrap();
    let words = ["run", "--rows", "8k", "--batch-rows", "2k", "--key", "autoinc", "--fail-on-slowdown", "5"];
    let open = run(home.path(), &[&words[..], &["--out", "a"]].concat());
    assert_eq!(open.status.code(), Some(0), "{}", text(&open));
    assert!(text(&open).contains("not judged"), "{}", text(&open));
    let strict = run(home.path(), &[&words[..], &["--strict", "--out", "b"]].concat());
    assert_eq!(strict.status.code(), Some(1), "{}", text(&strict));
    let again = run(home.path(), &["resume", "a", "--fail-on-slowdown", "3"]);
    assert!(text(&again).contains("not judged by --fail-on-slowdown 3"), "{}", text(&again));
}

#[test]
fn two_levels_in_no_order_are_called_that() {
    let slow = [2, 3, 7, 12, 13, 14, 20, 22, 27, 31, 32, 38];
    let costs: Vec<f64> = (1..=40_u32)
        .map(|batch| (if slow.contains(&batch) { 1.6 } else { 1.0 }) * (1.0 + f64::from(batch * 7919 % 13) / 200.0))
        .collect();
    let home = tempfile::tempdir().unwrap();
    let csv = file(home.path(), &costs);
    let words = text(&run(home.path(), &["cliffs", csv.to_str().unwrap()])).replace("\n    ", " ").to_lowercase();
    assert!(words.contains("two levels, in no order: 12 of 40 batches cost 1.6 times the others"), "{words}");
    assert!(!words.contains("flat") && !words.contains("recovered"), "{words}");
}

#[test]
fn the_interval_of_a_factor_holds_the_truth_about_as_often_as_it_says() {
    for noise in [Noise::Independent, Noise::HeavyTailed] {
        for (family, truth) in [(Family::Flat, 1.0), (Family::Step(2.0), 2.0)] {
            let mut numbers = Numbers(4_711);
            let holds = (0..150).filter(|_| {
                let known = series(&mut numbers, family, 40, noise, 0.05);
                let (low, high) = Factor::of(&known.samples).interval.unwrap();
                (low..=high).contains(&truth)
            });
            let share = holds.count() as f64 / 150.0;
            assert!((0.8..=0.97).contains(&share), "{family:?} {noise:?}: {share}");
        }
    }
}

#[test]
fn the_interval_of_a_slope_is_no_wider_than_its_noise_makes_it() {
    let mut numbers = Numbers(1_848);
    for count in [20, 40] {
        for family in [Family::Slope, Family::Saturating, Family::Bend(2.0)] {
            let mut lows: Vec<f64> = (0..100)
                .map(|_| Factor::of(&series(&mut numbers, family, count, Noise::Independent, 0.05).samples))
                .map(|found| found.interval.unwrap().0 / found.value.unwrap())
                .collect();
            lows.sort_by(f64::total_cmp);
            assert!(lows[10] > 0.75, "{family:?} {count}: {lows:?}");
        }
    }
}
