//! Resampling of series whose neighbours are alike: a random number generator with a fixed seed, and blocks.

/// splitmix64 (Steele, Lea and Flood 2014): the same seed gives the same numbers everywhere.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// A generator that starts at `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// A number from 0 to `count` - 1. `count` must not be 0.
    pub fn below(&mut self, count: usize) -> usize {
        // The bias is below 2^-32 for the counts of this program.
        ((u128::from(self.bits()) * count as u128) >> 64) as usize
    }

    /// From 0 to below 1.
    pub fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number of the standard normal distribution (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let (one, two) = (1.0 - self.share(), self.share());
        (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * two).cos()
    }
}

/// Autocorrelation at lag 1, with the bias of short series taken out (Marriott and Pope 1954: it is about -(1 + 4r) / n).
pub fn autocorrelation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if values.len() < 4 || variance <= f64::EPSILON * mean * mean {
        return 0.0;
    }
    let r = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / variance;
    (r + (1.0 + 4.0 * r) / n).clamp(-0.95, 0.95)
}

/// How long blocks have to be so that a resample varies as the series does.
///
/// The variance of a mean by a block bootstrap (Künsch 1989) is that of a Bartlett kernel as wide as the blocks, and the best width
/// of that kernel for a first-order autoregression is that of Andrews (1991): 1.1447 (4 r² n / ((1 - r)² (1 + r)²))^(1/3). At most a
/// third of the series.
pub fn block_length(values: &[f64]) -> usize {
    let r = autocorrelation(values);
    if r <= 0.0 {
        return 1;
    }
    let alpha = 4.0 * r * r / ((1.0 - r) * (1.0 + r)).powi(2);
    let length = (1.1447 * (alpha * values.len() as f64).cbrt()).ceil() as usize;
    length.clamp(1, (values.len() / 3).max(1))
}

/// Indexes 0 to `count` - 1 drawn in blocks of `length`, going on from the start at the end (Politis and Romano 1992).
pub fn blocks(count: usize, length: usize, rng: &mut Rng, out: &mut Vec<usize>) {
    out.clear();
    while out.len() < count {
        let start = rng.below(count);
        let more = length.min(count - out.len());
        out.extend((start..start + more).map(|at| at % count));
    }
}

/// The 97.5% quantile of Student's t (Cornish and Fisher's expansion, good to 1% from 3 degrees of freedom on).
pub fn student(degrees: f64) -> f64 {
    let (z, v) = (1.959_964_f64, degrees.max(1.0));
    z + (z.powi(3) + z) / (4.0 * v)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * v * v)
        + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * v.powi(3))
}

/// The value below which a share of the sorted values lies, between two of them by their distance.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = share.clamp(0.0, 1.0) * last as f64;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    Some(sorted[low] + (sorted[high] - sorted[low]) * (place - low as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_grow_with_autocorrelation() {
        let mut rng = Rng::new(1);
        let white: Vec<f64> = (0..200).map(|_| rng.normal()).collect();
        let mut last = 0.0;
        let slow: Vec<f64> = (0..200)
            .map(|_| {
                last = 0.8 * last + rng.normal();
                last
            })
            .collect();
        assert!(autocorrelation(&white).abs() < 0.2 && (autocorrelation(&slow) - 0.8).abs() < 0.15);
        assert!(block_length(&white) <= 3 && (8..=40).contains(&block_length(&slow)));
        assert_eq!(block_length(&[5.0; 30]), 1);
        let mut indexes = Vec::new();
        blocks(7, 3, &mut rng, &mut indexes);
        assert!(indexes.len() == 7 && indexes[1] == (indexes[0] + 1) % 7);
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (degrees, expected) in [(3.0, 3.182), (5.0, 2.571), (10.0, 2.228), (30.0, 2.042)] {
            assert!((student(degrees) / expected - 1.0).abs() < 0.02, "{degrees}: {}", student(degrees));
        }
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 0.25), Some(1.5));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
