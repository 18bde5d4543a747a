//! How restless a curve is, and how much its points say.

use super::median;

/// From the median of absolute deviations to a standard deviation, for normal noise.
const MAD_TO_DEVIATION: f64 = 1.4826;
/// Beyond this the correlation of a short series cannot be told from a trend.
const MOST_CORRELATION: f64 = 0.8;

/// Standard deviation from the median of the absolute deviations from the median: half of the values may be wild.
///
/// Source: Rousseeuw and Croux, "Alternatives to the Median Absolute Deviation", JASA 88 (1993). `None` of nothing.
pub fn robust_deviation(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let deviations: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    median(&deviations).map(|deviation| MAD_TO_DEVIATION * deviation)
}

/// Standard deviation from one value to the next, which a step or a slope in the series does not raise.
///
/// Source: the difference-based estimate of von Neumann and others, Annals of Mathematical Statistics 12 (1941), with the median
/// in place of the mean. `None` of fewer than two values.
pub fn step_deviation(values: &[f64]) -> Option<f64> {
    let steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    median(&steps).map(|step| MAD_TO_DEVIATION * step / std::f64::consts::SQRT_2)
}

/// Correlation of each residual with the next one, from 0 to 0.8.
///
/// Residuals beyond three deviations are drawn in, so that one wild batch decides nothing, and the estimate is raised by what
/// a short series loses: its expectation is about rho - (1 + 4 rho) / n (Marriott and Pope, Biometrika 41, 1954).
pub fn autocorrelation(residuals: &[f64]) -> f64 {
    let count = residuals.len() as f64;
    let Some(deviation) = robust_deviation(residuals).filter(|deviation| *deviation > 0.0) else { return 0.0 };
    let drawn: Vec<f64> = residuals.iter().map(|value| value.clamp(-3.0 * deviation, 3.0 * deviation)).collect();
    let all: f64 = drawn.iter().map(|value| value * value).sum();
    let pairs: f64 = drawn.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let raw = pairs / all;
    // A few points always look correlated or not by chance: what cannot be told from nothing counts as nothing.
    if raw < 1.0 / count.sqrt() {
        return 0.0;
    }
    (raw + (1.0 + 4.0 * raw) / count).clamp(0.0, MOST_CORRELATION)
}

/// How many independent points say as much as `count` points with this correlation from one to the next.
///
/// Source: Bayley and Hammersley, "The effective number of independent observations in an autocorrelated time series",
/// Supplement to the JRSS 8 (1946), for a first-order process.
pub fn effective_points(count: usize, correlation: f64) -> f64 {
    let count = count as f64;
    (count * (1.0 - correlation) / (1.0 + correlation)).clamp(count.min(3.0), count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wild_values_and_steps_do_not_raise_the_deviation() {
        let mut values: Vec<f64> = (0..40).map(|index| if index % 2 == 0 { 1.0 } else { 1.1 }).collect();
        let quiet = robust_deviation(&values).unwrap();
        values[7] = 90.0;
        assert!((robust_deviation(&values).unwrap() - quiet).abs() < 1e-9);
        let stepped: Vec<f64> = (0..40).map(|index| f64::from(index / 20) * 5.0 + f64::from(index % 2) * 0.1).collect();
        assert!((step_deviation(&stepped).unwrap() - 1.4826 * 0.1 / 2.0_f64.sqrt()).abs() < 1e-9);
        assert_eq!(robust_deviation(&[]), None);
        assert_eq!(step_deviation(&[1.0]), None);
    }

    #[test]
    fn slow_waves_are_correlated_and_alternation_is_not() {
        let waves: Vec<f64> = (0..100).map(|index| (f64::from(index) / 8.0).sin()).collect();
        assert!(autocorrelation(&waves) > 0.75);
        let alternating: Vec<f64> = (0..100).map(|index| f64::from(index % 2) - 0.5).collect();
        assert_eq!(autocorrelation(&alternating), 0.0);
        assert_eq!(autocorrelation(&[0.0; 9]), 0.0);
    }

    #[test]
    fn correlated_points_count_for_fewer() {
        assert_eq!(effective_points(100, 0.0), 100.0);
        assert!((effective_points(90, 0.8) - 10.0).abs() < 1e-9);
        assert_eq!(effective_points(12, 0.9), 3.0);
        assert_eq!(effective_points(2, 0.9), 2.0);
    }
}
