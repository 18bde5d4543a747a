//! Forecasts of curves whose later part is known.

use super::*;
use crate::analyse::resample::Rng;
use crate::foreign::{Cumulative, ForeignOptions, read};

/// Cost against table size.
type Kind = fn(f64) -> f64;

fn of_costs(costs: impl Fn(f64) -> f64, batches: u64, noise: f64, seed: u64) -> Vec<Sample> {
    let mut rng = Rng::new(seed);
    (1..=batches)
        .map(|batch| Sample {
            batch,
            table_rows: batch * 100_000,
            rows: 100_000,
            seconds: costs(batch as f64 * 1e5 - 5e4) * 0.1 * (noise * rng.normal()).exp(),
            ..Sample::default()
        })
        .collect()
}

/// 4 s a million rows in memory, 40 more when nothing is cached, and 1.5M rows fit the cache.
fn tree(n: f64) -> f64 {
    4.0 + 40.0 * (1.0 - 1.5e6 / n).max(0.0)
}

fn series(name: &str) -> Vec<Sample> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/foreign/real_engines.csv");
    let options = ForeignOptions { cumulative: Some(Cumulative::No), ..ForeignOptions::default() };
    let read = read(&std::fs::read(path).unwrap(), std::path::Path::new(path), &options).unwrap();
    read.samples.into_iter().filter(|sample| sample.curve == name).collect()
}

#[test]
fn a_tree_that_outgrew_its_cache_is_known_and_forecast() {
    let model = Model::of(&of_costs(tree, 60, 0.03, 1), None).unwrap();
    assert_eq!(model.best.growth, Growth::OutgrownCache);
    assert!((model.best.shape_rows / 1.5e6 - 1.0).abs() < 0.1, "{:?}", model.best);
    assert!(model.error < 0.05);
    let (there, truth) = (model.at(20e6), tree(20e6 - 5e4) * 0.1);
    assert!(there.low_seconds < truth && truth < there.high_seconds, "{there:?} {truth}");
    assert!((there.seconds / truth - 1.0).abs() < 0.1 && there.high_seconds < 1.6 * there.low_seconds, "{there:?}");
}

/// Of 200 forecasts of a batch, at 1.3 and 3 times the size, about 80% come true; and no forecast claims far more than that.
#[test]
fn eight_of_ten_forecasts_come_true() {
    let kinds: [(&str, Kind); 4] = [
        ("tree", tree),
        ("flat", |_| 5.0),
        ("line", |n| 5.0 + n * 1e-6),
        ("saturating", |n| 4.0 + 20.0 * n / (n + 4e6)),
    ];
    for (name, kind) in kinds {
        let (mut made, mut inside, mut width) = (0, 0, 0.0);
        for seed in 0..50 {
            let all = of_costs(kind, 180, 0.05, 77 + seed);
            let Ok(model) = Model::of(&all[..60], None) else { continue };
            for at in [78, 180] {
                let (found, truth) = (model.at(at as f64 * 1e5), all[at - 1].seconds);
                made += 1;
                inside += usize::from((found.low_seconds..found.high_seconds).contains(&truth));
                width += (found.high_seconds / found.low_seconds).ln();
            }
        }
        println!("{name}: {inside} of {made} inside, mean width {:.2}", width / f64::from(made));
        assert!(made >= 90, "{name}: {made} made");
        assert!(inside * 10 >= made as usize * 7, "{name}: {inside} of {made}");
        assert!(width / f64::from(made) < 0.6, "{name}");
    }
}

#[test]
fn what_cannot_be_forecast_is_refused() {
    assert_eq!(Model::of(&of_costs(tree, 19, 0.0, 1), None), Err(NoForecast::TooFew { batches: 19 }));
    // The cliff lies in the last quarter: nothing before it tells.
    let late = of_costs(|n| if n < 3.3e6 { 4.0 } else { 20.0 }, 40, 0.02, 1);
    let refused = Model::of(&late, None).unwrap_err();
    assert!(matches!(refused, NoForecast::TooWrong { error } if error > 0.5), "{refused}");
    assert!(refused.to_string().contains("15%"));
    // Scatter beyond any forecast.
    assert!(Model::of(&of_costs(|_| 5.0, 60, 0.6, 3), None).is_err());
}

#[test]
fn a_cache_that_is_known_is_tried() {
    let samples = of_costs(tree, 40, 0.05, 9);
    let known = Model::of(&samples, Some(1.5e6)).unwrap();
    let truth = tree(20e6) * 0.1;
    assert!((known.at(20e6).seconds / truth - 1.0).abs() < 0.15, "{:?} {truth}", known.at(20e6));
    let mut samples = samples;
    samples.iter_mut().for_each(|sample| sample.data_bytes = Some(sample.table_rows * 100));
    let curve = Curve { name: "c".into(), run: "r".into(), labels: Default::default(), repeat: 1, samples };
    assert_eq!(cache_rows(&curve, 150_000_000), Some(1.5e6));
}

/// Real engines: the first 60% forecast the end, where there is enough of them.
#[test]
fn real_curves_are_forecast_or_refused() {
    for name in ["mariadb-innodb autoinc f=0", "innodb-plugin autoinc i=2"] {
        let all = series(name);
        let model = Model::of(&all[..25], None).unwrap();
        assert!(model.error < 0.15, "{name}: {}", model.error);
        let truth = median(&all[35..].iter().map(|sample| sample.seconds).collect::<Vec<_>>()).unwrap();
        let found = model.at(all[39].table_rows as f64);
        println!("{name}: {found:?} {truth} {:?}", model.best);
        assert!((found.seconds / truth - 1.0).abs() < 0.2, "{name}: {found:?} {truth}");
    }
    for name in ["mariadb-rocksdb uuid f=0", "mariadb-rocksdb uuid f=1", "pbxt uuid p=1", "pbxt uuid p=2"] {
        let all = series(name);
        assert_eq!(all.len(), 25);
        match Model::of(&all[..20], None) {
            Err(refused) => println!("{name}: {refused}"),
            Ok(model) => {
                let found = model.at(all[24].table_rows as f64);
                let truth = median(&all[22..].iter().map(|sample| sample.seconds).collect::<Vec<_>>()).unwrap();
                println!("{name}: {found:?} {truth} {:?} {}", model.best, model.error);
                assert!(
                    (found.low_seconds * 0.9..found.high_seconds * 1.1).contains(&truth),
                    "{name}: {found:?} {truth}"
                );
            }
        }
        println!("{name} whole: {:?}", Model::of(&all, None).map(|model| (model.best, model.error)));
    }
    // 15 batches with a cliff are too few.
    assert!(matches!(Model::of(&series("mariadb-innodb uuid f=1"), None), Err(NoForecast::TooFew { .. })));
}

/// It is made after every batch of a run.
#[test]
fn a_forecast_is_cheap() {
    let samples = of_costs(tree, 3000, 0.05, 1);
    let start = std::time::Instant::now();
    for _ in 0..10 {
        Model::of(&samples, None).unwrap().seconds_of_next(1_000_000);
    }
    let each = start.elapsed() / 10;
    println!("{each:?} each");
    assert!(each < std::time::Duration::from_millis(500), "{each:?}");
}

#[test]
fn the_next_batches_add_up() {
    let model = Model::of(&of_costs(|_| 10.0, 40, 0.0, 1), None).unwrap();
    let (low, high) = model.seconds_of_next(1000);
    assert!(low < 1000.0 && 1000.0 < high && high < 1050.0, "{low} {high}");
}
