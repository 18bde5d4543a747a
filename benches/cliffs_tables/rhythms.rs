//! How often rhythms are found where there are some, and where there are none.

use rowcliff::analyse::baseline;
use rowcliff::analyse::cliffs::places;
use rowcliff::analyse::rhythm::{Rhythm, rhythm};
use rowcliff::record::Sample;

use super::combs::{Teeth, with_teeth};
use super::families::{FAMILIES, Family, NOISES, Noise, Numbers, series};

/// Prints the tables: the share of the rhythms that are found with their period and phases, by family and noise, and how many
/// rhythms are found in series that have none.
pub fn print(runs: usize) {
    println!("\nrhythms found, of {runs} each (Independent, Correlated(0.6), Correlated(0.8), HeavyTailed)");
    for factor in [1.4, 1.5, 2.0] {
        for family in
            [Family::Flat, Family::Slope, Family::Step(2.0), Family::Bend(2.0), Family::Saturating, Family::Spiky]
        {
            for (count, level) in [(20, 0.05), (40, 0.05), (100, 0.05), (40, 0.1)] {
                let shares = NOISES.map(|noise| found((family, noise), (count, level), factor, runs));
                let shares: Vec<String> = shares.iter().map(|share| format!("{:.0}%", share * 100.0)).collect();
                println!(
                    "{factor:<5}{:<14}{count:>4} batches {:>4.0}%  {}",
                    format!("{family:?}"),
                    level * 100.0,
                    shares.join(" ")
                );
            }
        }
    }
    println!("\nrhythms found where there are none, of {} each", runs * NOISES.len());
    for (count, level) in [(20, 0.05), (40, 0.05), (100, 0.05), (20, 0.1), (40, 0.1), (40, 0.15)] {
        let of = |family| NOISES.into_iter().map(|noise| wrong((family, noise), (count, level), runs)).sum::<usize>();
        let words: Vec<String> = FAMILIES.into_iter().map(|family| format!("{family:?} {}", of(family))).collect();
        println!("{count:>4} batches {:>4.0}%  {}", level * 100.0, words.join(", "));
    }
}

fn read(samples: &[Sample]) -> Option<Rhythm> {
    rhythm(&places(samples, baseline(samples).as_ref()))
}

fn found((family, noise): (Family, Noise), (count, level): (usize, f64), factor: f64, runs: usize) -> f64 {
    let mut numbers = Numbers(5);
    let hits = (0..runs).filter(|_| {
        let teeth = Teeth::drawn(&mut numbers, count as u64, factor);
        let known = with_teeth(&mut numbers, family, count, noise, level, &teeth);
        read(&known.samples).is_some_and(|found| found.period == teeth.period && found.phases == teeth.phases)
    });
    hits.count() as f64 / runs as f64
}

fn wrong((family, noise): (Family, Noise), (count, level): (usize, f64), runs: usize) -> usize {
    let mut numbers = Numbers(31 + count as u64);
    (0..runs).filter(|_| read(&series(&mut numbers, family, count, noise, level).samples).is_some()).count()
}
