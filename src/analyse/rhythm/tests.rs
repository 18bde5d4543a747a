use super::*;

/// Places of a million rows at these costs, from batch 1 on.
fn places(costs: &[f64]) -> Vec<Place> {
    let numbered = (1..).zip(costs);
    numbered
        .map(|(batch, &seconds_per_million)| Place { batch, table_rows: batch * 1_000_000, seconds_per_million })
        .collect()
}

/// Costs around 1 that differ by up to 2%, the slow ones `factor` times that.
fn comb(count: u64, factor: f64, is_slow: impl Fn(u64) -> bool) -> Vec<f64> {
    (1..=count)
        .map(|batch| {
            let noise = 1.0 + 0.02 * ((batch * 7919 % 13) as f64 / 6.0 - 1.0);
            noise * if is_slow(batch) { factor } else { 1.0 }
        })
        .collect()
}

fn found(costs: &[f64]) -> Option<(u64, Vec<u64>)> {
    rhythm(&places(costs)).map(|found| (found.period, found.phases))
}

#[test]
fn every_period_is_found_with_one_slow_batch_and_with_two() {
    for period in 2..=10_u64 {
        for first in 0..period {
            let one = comb(period * 4, 1.5, |batch| batch % period == first);
            assert_eq!(found(&one), Some((period, vec![first])), "{period} {first}");
            for second in first + 1..period {
                let is_two = period > 2 && !(period % 2 == 0 && second - first == period / 2);
                let two = comb(period * 4, 1.5, |batch| [first, second].contains(&(batch % period)));
                let expected = match is_two {
                    true => Some((period, vec![first, second])),
                    // Two at equal distances are one in half the period; both of two are no rhythm.
                    false => (period > 2).then(|| (period / 2, vec![first])),
                };
                assert_eq!(found(&two), expected, "{period} {first} {second}");
            }
        }
    }
}

#[test]
fn the_curve_of_the_default_run_has_one() {
    let seconds = [
        16.63, 17.04, 27.94, 16.59, 15.74, 26.66, 15.31, 15.36, 26.16, 15.97, 15.55, 25.25, 15.13, 14.20, 25.44, 15.78,
        14.61, 25.28, 15.21, 14.53,
    ];
    let found = rhythm(&places(&seconds)).unwrap();
    assert_eq!((found.period, found.phases.as_slice()), (3, &[0][..]));
    assert_eq!(found.sentence(), "every 3rd batch costs 1.7 times the others");
    let rest = found.without(&places(&seconds));
    let costs = rest.iter().map(|place| place.seconds_per_million);
    assert!(costs.clone().fold(0.0, f64::max) / costs.fold(f64::INFINITY, f64::min) < 1.25);
}

#[test]
fn growth_a_step_and_missing_batches_do_not_hide_it() {
    let growing: Vec<f64> = comb(40, 1.5, |batch| batch % 4 == 1)
        .iter()
        .zip(1..)
        .map(|(cost, at)| cost * (1.0 + f64::from(at) / 8.0))
        .collect();
    assert_eq!(found(&growing), Some((4, vec![1])));
    let stepped: Vec<f64> = comb(30, 1.6, |batch| batch % 3 == 0)
        .iter()
        .zip(1..)
        .map(|(cost, at)| if at > 14 { cost * 4.0 } else { *cost })
        .collect();
    assert_eq!(found(&stepped), Some((3, vec![0])));
    // A rhythm is one of batch numbers: batches that are left out do not shift it.
    let mut kept = places(&comb(40, 1.5, |batch| batch % 5 == 2));
    kept.retain(|place| ![3, 9, 10, 17, 26].contains(&place.batch));
    assert_eq!(rhythm(&kept).map(|found| (found.period, found.phases)), Some((5, vec![2])));
}

#[test]
fn one_that_begins_later_or_ends_early_says_where() {
    let later = rhythm(&places(&comb(40, 1.5, |batch| batch % 3 == 0 && batch > 20))).unwrap();
    assert_eq!((later.period, later.from_batch, later.from_the_start()), (3, 21, false));
    assert_eq!(later.sentence(), "every 3rd batch costs 1.5 times the others, from 20M rows on");
    let early = rhythm(&places(&comb(40, 1.5, |batch| batch % 2 == 0 && batch <= 20))).unwrap();
    assert_eq!(early.sentence(), "every other batch costs 1.5 times the others, up to 20M rows");
    let two = rhythm(&places(&comb(40, 2.0, |batch| batch % 5 < 2))).unwrap();
    assert_eq!(two.sentence(), "2 of every 5 batches cost 2.0 times the others");
}

#[test]
fn what_is_small_short_or_without_a_fixed_period_is_none() {
    assert_eq!(found(&comb(40, 1.25, |batch| batch % 3 == 0)), None);
    assert_eq!(found(&comb(11, 1.5, |batch| batch % 3 == 0)), None);
    assert_eq!(found(&comb(60, 1.5, |batch| batch % 12 == 0)), None);
    assert_eq!(found(&comb(40, 1.5, |batch| [3, 5, 10, 12, 19, 22, 23, 29, 36, 38].contains(&batch))), None);
    assert_eq!(found(&comb(40, 3.0, |batch| batch > 20)), None);
    let teeth: Vec<f64> = (0..40).map(|at| 1.0 + 1.5 * f64::from(at % 8) / 8.0).collect();
    assert_eq!(found(&teeth), None);
    assert_eq!(found(&[1.0; 40]), None);
    assert_eq!(found(&[]), None);
}

#[test]
fn the_height_follows_a_curve_that_grows_while_the_extra_stays_the_same() {
    let costs: Vec<f64> = (1..=40).map(|at| 1.0 + f64::from(at) / 10.0 + if at % 3 == 0 { 1.5 } else { 0.0 }).collect();
    let found = rhythm(&places(&costs)).unwrap();
    let rest = found.without(&places(&costs));
    for (place, at) in rest.iter().zip(1..) {
        let expected = 1.0 + f64::from(at) / 10.0;
        assert!((place.seconds_per_million / expected).ln().abs() < 0.2, "{place:?} {expected}");
    }
}
