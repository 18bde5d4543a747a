//! The comparison against series whose truth is known.

use super::*;
use crate::analyse::cells;

/// Seconds of a batch at a size, before noise.
type Shape = fn(f64) -> f64;

/// A curve of batches of 1000 rows with AR(1) noise of logarithms.
fn curve(shape: Shape, batches: usize, noise: f64, rho: f64, seed: u64) -> Curve {
    let mut rng = Rng::new(seed);
    let mut state = rng.normal();
    let seconds: Vec<f64> = (1..=batches)
        .map(|batch| {
            state = rho * state + (1.0 - rho * rho).sqrt() * rng.normal();
            shape(batch as f64 / batches as f64) * (noise * state).exp()
        })
        .collect();
    of_seconds(&seconds)
}

fn of_seconds(seconds: &[f64]) -> Curve {
    let sample = |(at, &seconds): (usize, &f64)| Sample {
        batch: at as u64 + 1,
        table_rows: (at as u64 + 1) * 1000,
        rows: 1000,
        seconds,
        ..Sample::default()
    };
    Curve {
        name: "c".into(),
        run: "r".into(),
        labels: Labels::default(),
        repeat: 1,
        samples: seconds.iter().enumerate().map(sample).collect(),
    }
}

fn half(curve: &Curve, odd: bool) -> Curve {
    let samples = curve.samples.iter().filter(|sample| (sample.batch % 2 == 1) == odd).cloned().collect();
    Curve { samples, ..curve.clone() }
}

fn candidates(curves: &[Curve]) -> Vec<Candidate<'_>> {
    let of = |labels| Candidate { labels, is_faulty: false, keeps_no_row: false };
    cells(curves).iter().map(|cell| of(cell.labels)).collect()
}

const SHAPES: [Shape; 4] =
    [|_| 1.0, |at| 1.0 + 4.0 * at, |at| if at < 0.5 { 1.0 } else { 5.0 }, |at| 1.0 + 9.0 * (1.0 - 0.3 / at).max(0.0)];

#[test]
fn c24_says_who_is_faster_and_by_how_much() {
    let constant = |rate: f64| of_seconds(&[1000.0 / rate; 10]);
    let speed = speed(&[&constant(20_576.0)], &[&constant(31_746.0)]).unwrap();
    assert!((speed.ratio - 1.543).abs() < 0.001 && (speed.low - speed.ratio).abs() < 1e-9, "{speed:?}");
    assert!(!speed.is_regression(0.1) && !speed.has_run_spread && speed.differs());
    let slower = super::speed(&[&constant(31_746.0)], &[&constant(20_576.0)]).unwrap();
    assert!((slower.ratio - 0.648).abs() < 0.001 && slower.is_regression(0.1));
}

/// At noise of 5 and 15%, white and with rho 0.8, in flat curves, slopes, steps and B-trees: what is the same never alarms.
#[test]
fn odd_against_even_and_repeat_against_repeat_do_not_alarm() {
    let (mut tried, mut alarms, mut outside) = (0, 0, 0);
    for shape in SHAPES {
        for (noise, rho) in [(0.05, 0.0), (0.05, 0.8), (0.15, 0.0), (0.15, 0.8)] {
            for seed in 0..25 {
                let one = curve(shape, 40, noise, rho, 1000 + seed);
                let two = curve(shape, 40, noise, rho, 5000 + seed);
                let pairs = [(one.clone(), two), (half(&one, true), half(&one, false))];
                for (base, new) in &pairs {
                    let speed = speed(&[base], &[new]).unwrap();
                    tried += 1;
                    alarms += usize::from(speed.is_regression(0.1));
                    outside += usize::from(speed.differs());
                }
            }
        }
    }
    println!("{tried} comparisons of the same: {alarms} alarms, {outside} intervals without 1");
    assert!(alarms <= tried / 200, "{alarms} alarms in {tried}");
    assert!(outside <= tried / 8, "{outside} intervals without 1 in {tried}");
}

#[test]
fn a_real_slowdown_alarms() {
    let mut found = 0;
    for seed in 0..50 {
        for shape in SHAPES {
            let base = curve(shape, 40, 0.05, 0.6, 100 + seed);
            let mut new = curve(shape, 40, 0.05, 0.6, 900 + seed);
            new.samples.iter_mut().for_each(|sample| sample.seconds *= 1.4);
            let speed = speed(&[&base], &[&new]).unwrap();
            found += usize::from(speed.is_regression(0.1));
        }
    }
    assert!(found >= 180, "{found} of 200");
}

#[test]
fn repeats_bring_their_spread_into_the_interval() {
    let scaled = |factor: f64, seed| {
        let mut curve = curve(SHAPES[0], 40, 0.02, 0.0, seed);
        curve.samples.iter_mut().for_each(|sample| sample.seconds *= factor);
        curve
    };
    let base = [scaled(1.0, 1), scaled(1.3, 2), scaled(0.8, 3)];
    let new = [scaled(1.2, 4), scaled(1.5, 5), scaled(1.0, 6)];
    let all = speed(&base.iter().collect::<Vec<_>>(), &new.iter().collect::<Vec<_>>()).unwrap();
    let alone = speed(&[&base[0]], &[&new[0]]).unwrap();
    assert!(all.has_run_spread && !alone.has_run_spread);
    assert!(all.high / all.low > 1.3 && alone.high / alone.low < 1.1, "{all:?} {alone:?}");
    assert!(alone.is_regression(0.1) && !all.is_regression(0.1), "runs that differ by 60% prove nothing");
    // The same files give the same answer.
    assert_eq!(alone, speed(&[&base[0]], &[&new[0]]).unwrap());
}

#[test]
fn only_common_sizes_are_compared() {
    let long = curve(SHAPES[2], 100, 0.01, 0.0, 1);
    let short = Curve { samples: long.samples[..40].to_vec(), ..long.clone() };
    let speed = speed(&[&long], &[&short]).unwrap();
    assert_eq!((speed.from_rows, speed.to_rows, speed.sizes), (1000, 40_000, 40));
    assert!((speed.ratio - 1.0).abs() < 1e-9);
    let far = Curve { samples: long.samples[60..].to_vec(), ..long.clone() };
    assert!(super::speed(&[&short], &[&far]).unwrap_err().contains("in common"));
    // Batches of another size: costs are those of a million rows.
    let mut large = of_seconds(&[10.0; 4]);
    for sample in &mut large.samples {
        (sample.rows, sample.table_rows) = (10_000, sample.table_rows * 10);
    }
    let both = super::speed(&[&of_seconds(&[1.0; 40])], &[&large]).unwrap();
    assert!((both.ratio - 1.0).abs() < 1e-9, "{both:?}");
}

#[test]
fn cells_are_matched_by_what_they_share() {
    let curves = |rows: &[(&str, &str, &str)]| -> Vec<Curve> {
        let labels = |(engine, key, flush): &(&str, &str, &str)| Labels {
            engine: (*engine).into(),
            key: (*key).into(),
            flush: (*flush).into(),
            ..Labels::default()
        };
        rows.iter().map(|row| Curve { labels: labels(row), ..of_seconds(&[1.0]) }).collect()
    };
    let base = curves(&[("innodb", "autoinc", "1"), ("innodb", "uuid4", "1"), ("innodb", "uuid4", "2")]);
    let new = curves(&[("innodb", "uuid4", "2"), ("rocksdb", "autoinc", "1"), ("innodb", "uuid1", "1")]);
    let matched = |base: &[Curve], new: &[Curve]| matching(&candidates(base), &candidates(new));
    assert_eq!(matched(&base, &new), [(0, 1), (2, 0)]);
    let one = curves(&[("innodb", "autoinc", "1")]);
    let other = curves(&[("innodb", "uuid4", "1")]);
    assert_eq!(matched(&one, &other), [(0, 0)]);
    // A cell that failed keeps its partner from another one; where several fit as well, one that did not fail comes first.
    let (one, two) =
        (curves(&[("innodb", "uuid4", "1"), ("innodb", "uuid4", "2")]), curves(&[("innodb", "uuid4", "1")]));
    let mut all = candidates(&one);
    all[0].is_faulty = true;
    assert_eq!(matching(&candidates(&two), &all), [(0, 0)]);
    let three = curves(&[("innodb", "uuid4", "0")]);
    assert_eq!(matching(&candidates(&three), &all), [(0, 1)]);
    // What keeps no row belongs to what keeps none.
    all[1].keeps_no_row = true;
    all[0].is_faulty = false;
    assert_eq!(matching(&candidates(&three), &all), [(0, 0)]);
}

#[test]
fn what_is_not_known_is_none() {
    let curve = of_seconds(&[1.0; 5]);
    let speed = speed(&[&curve], &[&curve]).unwrap();
    let found = figures(&[&curve], (speed.from_rows, speed.to_rows), None);
    assert_eq!((found.p99_us, found.table_bytes_per_row, found.onset), (None, None, None));
    assert_eq!(found.end_rows_per_second, Some(1000.0));
    let onset = |_: &Curve| Some(Onset { from_rows: 1, to_rows: 2 });
    assert_eq!(
        figures(&[&curve], (speed.from_rows, speed.to_rows), Some(&onset)).onset,
        Some(Onset { from_rows: 1, to_rows: 2 })
    );
}
