//! Rhythms with a known truth, laid on the series of the other families.

use super::families::{Family, Known, Noise, Numbers, series};

/// Which batches of a series are slow, and how much.
#[derive(Debug, Clone, PartialEq)]
pub struct Teeth {
    pub period: u64,
    /// Remainders of the batch numbers.
    pub phases: Vec<u64>,
    /// The rhythm begins after this batch.
    pub after: u64,
    pub factor: f64,
}

impl Teeth {
    /// Teeth of a random period that fits at least four times into the series, one slow batch in each or two.
    pub fn drawn(numbers: &mut Numbers, count: u64, factor: f64) -> Self {
        let below = |numbers: &mut Numbers, end: u64| (numbers.share() * end as f64) as u64;
        let period = 2 + below(numbers, 9.min(count / 4 - 1));
        let first = below(numbers, period);
        let mut phases = vec![first];
        if period > 2 && numbers.share() < 0.5 {
            phases.push((first + 1 + below(numbers, period - 1)) % period);
            phases.sort_unstable();
            // At equal distances they are one in half the period.
            if 2 * (phases[1] - phases[0]) == period {
                phases.pop();
            }
        }
        let room = count - 4 * period;
        let after = if numbers.share() < 0.5 { 0 } else { below(numbers, room / 2 + 1) };
        Self { period, phases, after, factor }
    }

    pub fn is_slow(&self, batch: u64) -> bool {
        batch > self.after && self.phases.contains(&(batch % self.period))
    }
}

/// A series of a family with these teeth.
pub fn with_teeth(
    numbers: &mut Numbers,
    family: Family,
    count: usize,
    noise: Noise,
    level: f64,
    teeth: &Teeth,
) -> Known {
    let mut known = series(numbers, family, count, noise, level);
    for sample in known.samples.iter_mut().filter(|sample| teeth.is_slow(sample.batch)) {
        sample.seconds *= teeth.factor;
    }
    known
}
