//! How often the reading of a curve is right: synthetic families with a known truth, by noise and length.
//!
//!     cargo bench --bench cliffs            the table, some minutes
//!     cargo bench --bench cliffs -- quick   few series for each cell
//!
//! A cell of a family that falls is "found/near": the share with a cliff, and with an onset where it is (within 2 batches of a
//! step, within 15% of the table size of a bend). A cell of one that does not is the share of false cliffs, with the most
//! frequent shape. At 5% and 40 or more batches `tests/it/reading.rs` keeps bounds.
#![allow(clippy::print_stdout, missing_docs)]

#[path = "../tests/it/support/families.rs"]
mod families;

#[path = "../tests/it/support/combs.rs"]
mod combs;
#[path = "cliffs_tables/rhythms.rs"]
mod rhythms;

use std::collections::BTreeMap;
use std::time::Instant;

use families::{FAMILIES, Family, NOISES, Numbers, is_near, series};
use rowcliff::analyse::cliffs::{CLIFF_FACTOR, read};

fn main() {
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
    let long: Vec<_> = (0..20).map(|_| series(&mut numbers, Family::Saturating, 1000, NOISES[1], 0.05)).collect();
    let start = Instant::now();
    long.iter().for_each(|known| {
        std::hint::black_box(read(&known.samples, CLIFF_FACTOR));
    });
    println!("20 curves of 1000 batches are judged in {:.3} s", start.elapsed().as_secs_f64());
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
        let reading = read(&known.samples, CLIFF_FACTOR);
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
