//! Series with a known truth: shapes, noise, and a generator of numbers that gives the same ones every time.

use rowcliff::record::Sample;

/// SplitMix64 (Steele, Lea and Flood, 2014), with what is made of it.
pub struct Numbers(pub u64);

impl Numbers {
    /// Between 0 and 1, without both.
    pub fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        ((mixed >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Between two numbers.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    /// Standard normal (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.share().ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}

/// Noise in the logarithm of the cost, of standard deviation 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// Normal, each batch for itself.
    Independent,
    /// Normal, a first-order process with this correlation from one batch to the next.
    Correlated(f64),
    /// Student's t with 3 degrees of freedom: wild batches now and then.
    HeavyTailed,
}

/// All noises of the tables.
pub const NOISES: [Noise; 4] = [Noise::Independent, Noise::Correlated(0.6), Noise::Correlated(0.8), Noise::HeavyTailed];

/// A shape with a known truth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Family {
    /// Level.
    Flat,
    /// From the first batch on 1.2 to 5 times up, as a line in seconds or in log seconds.
    Slope,
    /// Level, with one batch in 25 alone at 1.8 to 6 times.
    Spiky,
    /// 2.5 times up over 8 to 16 batches, down at once, again and again.
    Sawtooth,
    /// One step up by this factor, at a quarter to three quarters of the table.
    Step(f64),
    /// Level up to three to six tenths of the table, then a line in seconds up to this factor.
    Bend(f64),
    /// Level up to two to six tenths of the table, then 1 - c/x up to 3 to 8 times.
    Saturating,
}

/// All families of the tables.
pub const FAMILIES: [Family; 7] = [
    Family::Flat,
    Family::Slope,
    Family::Spiky,
    Family::Sawtooth,
    Family::Step(2.0),
    Family::Bend(2.0),
    Family::Saturating,
];

/// Rows of a batch of every series.
pub const ROWS: u64 = 100_000;

/// A series, and the table size at which its cliff begins, where it has one.
pub struct Known {
    pub samples: Vec<Sample>,
    pub onset_rows: Option<f64>,
}

/// What every batch of a series costs before noise is added, and where its cliff begins.
pub struct Truth {
    pub costs: Vec<f64>,
    pub onset_rows: Option<f64>,
}

/// One series of a family.
pub fn series(numbers: &mut Numbers, family: Family, count: usize, noise: Noise, level: f64) -> Known {
    let truth = truth(numbers, family, count);
    Known { samples: copy(numbers, &truth, noise, level), onset_rows: truth.onset_rows }
}

/// One truth of a family.
pub fn truth(numbers: &mut Numbers, family: Family, count: usize) -> Truth {
    let is_line = numbers.share() < 0.5;
    let (end, high) = (numbers.between(1.2, 5.0), numbers.between(3.0, 8.0));
    let period = numbers.between(8.0, 16.0).round();
    let onset = match family {
        Family::Step(_) => (numbers.between(0.25, 0.75) * count as f64).round() / count as f64,
        Family::Bend(_) => numbers.between(0.3, 0.6),
        _ => numbers.between(0.2, 0.6),
    };
    let mut cost = |index: usize| {
        let x = (index + 1) as f64 / count as f64;
        match family {
            Family::Flat => 1.0,
            Family::Slope if is_line => 1.0 + (end - 1.0) * x,
            Family::Slope => end.powf(x),
            Family::Spiky if index > 1 && index + 2 < count && numbers.share() < 0.04 => numbers.between(1.8, 6.0),
            Family::Spiky => 1.0,
            Family::Sawtooth => 1.0 + 1.5 * (index as f64 % period) / period,
            Family::Step(factor) if x > onset + 1e-9 => factor,
            Family::Step(_) => 1.0,
            Family::Bend(factor) => 1.0 + (factor - 1.0) * (x - onset).max(0.0) / (1.0 - onset),
            Family::Saturating => 1.0 + (high - 1.0) / (1.0 - onset) * (1.0 - onset / x).max(0.0),
        }
    };
    let costs = (0..count).map(&mut cost).collect();
    let falls = matches!(family, Family::Step(_) | Family::Bend(_) | Family::Saturating);
    Truth { costs, onset_rows: falls.then_some(onset * (count as u64 * ROWS) as f64) }
}

/// A truth measured once: its costs with noise drawn anew.
pub fn copy(numbers: &mut Numbers, truth: &Truth, noise: Noise, level: f64) -> Vec<Sample> {
    let mut before = numbers.normal();
    let mut drawn = || match noise {
        Noise::Independent => numbers.normal(),
        Noise::Correlated(rho) => {
            before = rho * before + (1.0 - rho * rho).sqrt() * numbers.normal();
            before
        }
        Noise::HeavyTailed => {
            let squares: f64 = (0..3).map(|_| numbers.normal().powi(2)).sum();
            // Of variance 3 by itself.
            numbers.normal() / (squares / 3.0).sqrt() / 3.0_f64.sqrt()
        }
    };
    let sample = |(batch, cost): (u64, &f64)| Sample {
        curve: "known".into(),
        batch,
        rows: ROWS,
        table_rows: batch * ROWS,
        seconds: 0.5 * cost * (level * drawn()).exp(),
        ..Sample::default()
    };
    (1..).zip(&truth.costs).map(sample).collect()
}

/// Whether an interval of table sizes is right: within two batches of a step, within 15% of the table size of a bend.
pub fn is_near(family: Family, known: &Known, from_rows: u64, to_rows: u64) -> bool {
    let Some(truth) = known.onset_rows else { return false };
    let middle = (from_rows + to_rows) as f64 / 2.0;
    let largest = known.samples.last().map_or(0, |sample| sample.table_rows) as f64;
    let allowed = if matches!(family, Family::Step(_)) { 2.0 * ROWS as f64 } else { 0.15 * largest };
    (middle - truth).abs() <= allowed
}
