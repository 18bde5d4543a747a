//! How often the reading of a curve is right: synthetic families with a known truth, by noise and length.
//!
//!     cargo bench --bench cliffs            the table, some minutes
//!     cargo bench --bench cliffs -- quick   few series for each cell
//!
//! First, how much a confidence is worth: truths of every family, each measured three times; of the series read with high, medium
//! and low confidence their share, and how often another copy of the same truth gets the same word and exit code (at least 95% with
//! high, 80% with medium). Then single readings: a cell of a family that falls is "found/near": the share with a cliff, and with an onset where it is (within 2 batches of a
//! step, within 15% of the table size of a bend). A cell of one that does not is the share of false cliffs, with the most
//! frequent shape. At 5% and 40 or more batches `tests/it/reading.rs` keeps bounds.
#![allow(clippy::print_stdout)]

#[path = "../tests/it/support/families.rs"]
mod families;

#[path = "../tests/it/support/combs.rs"]
mod combs;
#[path = "cliffs_tables/rhythms.rs"]
mod rhythms;

use std::collections::BTreeMap;
use std::time::Instant;

use families::{FAMILIES, Family, NOISES, Numbers, Truth, copy, is_near, series, truth};
use rowcliff::analyse::cliffs::{CLIFF_FACTOR, glance, read};
use rowcliff::analyse::{Confidence, Shape};

fn main() {
    let quick = std::env::args().any(|word| word == "quick" || word == "--test");
    confidences(if quick { 1 } else { 12 });
    readings();
}

fn readings() {
    let quick = std::env::args().any(|word| word == "quick" || word == "--test");
    let runs = if quick { 10 } else { 100 };
    print!("{:<6}{:<9}{:<18}", "noise", "batches", "kind");
    FAMILIES.iter().for_each(|family| print!("{:<18}", format!("{family:?}")));
    println!();
    for level in [0.02, 0.05, 0.10, 0.15] {
        for count in [20, 40, 100, 300, 1000] {
            for noise in NOISES {
                print!("{:<6}{count:<9}{:<18}", format!("{:.0}%", level * 100.0), format!("{noise:?}"));
                let runs = if count > 100 { runs / 5 } else { runs };
                for family in FAMILIES {
                    print!("{:<18}", cell(family, count, level, noise, runs));
                }
                println!();
            }
        }
    }
    let mut numbers = Numbers(7);
    // Each curve once: a second question for the same one is answered from memory.
    let long: Vec<_> = (0..5).map(|_| series(&mut numbers, Family::Saturating, 1000, NOISES[1], 0.05)).collect();
    let start = Instant::now();
    long.iter().for_each(|known| {
        std::hint::black_box(read(&known.samples, CLIFF_FACTOR));
    });
    println!("5 verdicts on curves of 1000 batches take {:.3} s", start.elapsed().as_secs_f64());
    rhythms::print(runs);
}

fn cell(family: Family, count: usize, level: f64, noise: families::Noise, runs: usize) -> String {
    let mut numbers = Numbers(count as u64 * 1000 + (level * 1000.0) as u64);
    let (mut cliffs, mut near) = (0, 0);
    let mut shapes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut falls = false;
    for _ in 0..runs {
        let known = series(&mut numbers, family, count, noise, level);
        falls = known.onset_rows.is_some();
        let reading = glance(&known.samples, CLIFF_FACTOR);
        *shapes.entry(reading.shape.word()).or_default() += 1;
        if let Some(cliff) = reading.cliffs.first() {
            cliffs += 1;
            near += usize::from(is_near(family, &known, cliff.onset_from_rows, cliff.onset_to_rows));
        }
    }
    let percent = |part: usize| format!("{:.0}%", part as f64 * 100.0 / runs as f64);
    if falls {
        return format!("{}/{}", percent(cliffs), percent(near));
    }
    let usual = shapes.iter().max_by_key(|(_, times)| **times).map_or("", |(word, _)| *word);
    format!("{} {usual}", percent(cliffs))
}

/// Measurements of each truth.
const MEASURED: usize = 3;

/// How often the copies of a truth agree, by the confidence with which each is read.
fn confidences(truths: usize) {
    println!("{:<6}{:<9}{:<12}{:<8}{:<8}same word and exit code", "noise", "batches", "confidence", "series", "share");
    for level in [0.05, 0.10] {
        for count in [20, 40] {
            let mut numbers = Numbers(977 + count as u64 + (level * 1000.0) as u64);
            let mut tally = [(0_usize, 0_usize); 3];
            for noise in NOISES {
                for family in FAMILIES {
                    (0..truths).for_each(|_| {
                        let truth = truth(&mut numbers, family, count);
                        agreement(&mut numbers, &truth, noise, level, &mut tally);
                    });
                }
            }
            let all: usize = tally.iter().map(|(series, _)| series).sum();
            for confidence in [Confidence::High, Confidence::Medium, Confidence::Low] {
                let (series, alike) = tally[confidence as usize];
                let percent = |part: usize, of: usize| format!("{:.1}%", part as f64 * 100.0 / of.max(1) as f64);
                let alike = percent(alike, series * (MEASURED - 1));
                let share = percent(series, all);
                let noise = format!("{:.0}%", level * 100.0);
                println!("{noise:<6}{count:<9}{:<12}{series:<8}{share:<8}{alike}", confidence.word());
            }
        }
    }
}

fn agreement(
    numbers: &mut Numbers,
    truth: &Truth,
    noise: families::Noise,
    level: f64,
    tally: &mut [(usize, usize); 3],
) {
    let read: Vec<(Shape, bool, Confidence)> = (0..MEASURED)
        .map(|_| read(&copy(numbers, truth, noise, level), CLIFF_FACTOR))
        .map(|reading| (reading.shape, reading.has_cliff(), reading.confidence()))
        .collect();
    for (at, one) in read.iter().enumerate() {
        let others = read.iter().enumerate().filter(|(other, _)| *other != at);
        tally[one.2 as usize].0 += 1;
        tally[one.2 as usize].1 += others.filter(|(_, other)| (other.0, other.1) == (one.0, one.1)).count();
    }
}
