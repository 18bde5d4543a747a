//! What a batch will cost at a table size that has not been reached.

use super::resample::quantile;
use super::{Curve, median};
use crate::record::Sample;

/// Fewer batches are not enough to see how a cost grows.
pub const LEAST_BATCHES: usize = 20;
/// A forecast whose own past was wrong by more, in the median, is not made.
pub const MOST_ERROR: f64 = 0.15;
/// Points that a curve is fitted on at most: neighbours are put together, so that a fit is cheap after each batch too.
const POINTS: usize = 60;
/// A richer kind of growth has to be better than a simpler one by this much of its error, and by this much at all.
const BETTER: (f64, f64) = (0.9, 0.002);
/// Kinds of growth whose held-out error is within this factor of the best one's (and this much at all) might be right too.
const PLAUSIBLE: (f64, f64) = (1.5, 0.02);
/// What the third quarter (predicted from the first half) and the last one (from the first three) count for.
const FOLD_WEIGHTS: [f64; 2] = [1.0 / 3.0, 2.0 / 3.0];
/// The 80% range leaves out a tenth at each end, of batches to come; those that were fitted lie closer by about this much.
const TAIL: f64 = 0.07;
/// No range is narrower on either side: no batch is that even.
const LEAST_SPREAD: f64 = 0.01;

/// How a cost grows with the size of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// It does not.
    Constant,
    /// a + b n.
    Linear,
    /// a + b n / (n + c): growth that slows down.
    Saturating,
    /// a + b (1 - c / n) beyond n = c: a B-tree under random keys that has outgrown its cache. c rows of it fit, a row costs a while its
    /// page is cached, and b more when it is not, which is the case for a share 1 - c / n of the pages.
    OutgrownCache,
}

impl Growth {
    /// From simple to rich.
    const ALL: [Self; 4] = [Self::Constant, Self::Linear, Self::OutgrownCache, Self::Saturating];

    pub fn words(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Linear => "linear growth",
            Self::Saturating => "growth that slows down",
            Self::OutgrownCache => "B-tree that has outgrown its cache",
        }
    }

    /// For scripts.
    pub fn id(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Linear => "linear",
            Self::Saturating => "saturating",
            Self::OutgrownCache => "outgrown-cache",
        }
    }

    fn shape(self, n: f64, c: f64) -> f64 {
        match self {
            Self::Constant => 0.0,
            Self::Linear => n,
            Self::Saturating => n / (n + c),
            Self::OutgrownCache => (1.0 - c / n).max(0.0),
        }
    }
}

/// A fitted growth: seconds per million rows against rows in the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    pub growth: Growth,
    /// Cost of a row in memory.
    pub memory_cost: f64,
    /// What comes on top, in full or for each row of the table.
    pub added_cost: f64,
    /// The size that shapes it: rows that fit the cache, or rows at half of the growth. 0 where there is none.
    pub shape_rows: f64,
}

impl Fit {
    /// Seconds per million rows at a table size.
    pub fn cost(&self, table_rows: f64) -> f64 {
        self.memory_cost + self.added_cost * self.growth.shape(table_rows, self.shape_rows)
    }
}

/// A forecast at one table size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// Lower end of the 80% range.
    pub low_seconds: f64,
    pub seconds: f64,
    /// Upper end.
    pub high_seconds: f64,
}

/// Why there is no forecast.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NoForecast {
    #[error("{batches} batches can be fitted, and {LEAST_BATCHES} are the least")]
    TooFew {
        /// Batches that can be fitted.
        batches: usize,
    },
    /// Its own past could not be forecast.
    #[error("its own last quarter, forecast from the first three, was wrong by {:.0}% in the median, and 15% is the most", error * 100.0)]
    TooWrong { error: f64 },
}

/// A model of a curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    pub best: Fit,
    /// Everything that might be right, the best first.
    plausible: Vec<Fit>,
    /// Logarithms of measured by fitted cost: the 10% and the 90% quantile.
    spread: (f64, f64),
    /// How far the last quarter lay from its prediction, as the median of logarithms: what a forecast goes wrong by when the table grows
    /// by a third.
    drift: f64,
    /// Median error of the last quarter, predicted from the first three.
    pub error: f64,
    /// Batches it was fitted on.
    pub batches: usize,
    /// Rows of a batch.
    pub batch_rows: u64,
    /// Rows in the table after the last batch.
    pub table_rows: u64,
}

impl Model {
    /// Fits a curve. `cache_rows`: how many rows fit the cache, where that is known; it is tried beside the size that fits best.
    ///
    /// The kind of growth is the one that predicts the third and the last quarter of the batches best from those before them (evaluation on
    /// a rolling origin, as in Hyndman and Athanasopoulos, "Forecasting", section 5.10); it is then fitted on all. Fits are least squares of relative errors with
    /// Huber's weights (1964). The stated error is honest: the first three quarters choose their kind among themselves, without the
    /// quarter that they are judged by.
    ///
    /// # Errors
    /// There are too few batches, or the stated error is too large.
    pub fn of(samples: &[Sample], cache_rows: Option<f64>) -> Result<Self, NoForecast> {
        let all = points(samples);
        if all.len() < LEAST_BATCHES {
            return Err(NoForecast::TooFew { batches: all.len() });
        }
        let cut = all.len() * 3 / 4;
        let earlier = choose(&all[..cut], cache_rows);
        let error = held_out(&earlier[0], &all[cut..]);
        if error.is_nan() || error > MOST_ERROR {
            return Err(NoForecast::TooWrong { error });
        }
        let plausible = choose(&all, cache_rows);
        let spread = spread(&all, &plausible[0], &earlier[0]);
        let last = samples.last();
        Ok(Self {
            best: plausible[0],
            plausible,
            spread,
            drift: drift(&all[cut..], &earlier[0]),
            error,
            batches: all.len(),
            batch_rows: last.map_or(0, |sample| sample.rows),
            table_rows: last.map_or(0, |sample| sample.table_rows),
        })
    }

    /// Seconds of a batch that fills the table up to `table_rows`, as an 80% range: the range of the kinds of growth that might be right,
    /// widened by how far batches lay from the fit and from what was predicted of them, and by what the prediction of the last quarter was
    /// wrong for each further third that the table grows.
    pub fn at(&self, table_rows: f64) -> Forecast {
        let scale = self.batch_rows as f64 / 1e6;
        let middle = table_rows - self.batch_rows as f64 / 2.0;
        let costs: Vec<f64> = self.plausible.iter().map(|fit| fit.cost(middle)).collect();
        let low = costs.iter().copied().fold(f64::MAX, f64::min);
        let high = costs.iter().copied().fold(0.0, f64::max);
        let thirds = (table_rows / self.table_rows.max(1) as f64).ln() / (4.0_f64 / 3.0).ln();
        let drift = self.drift * (thirds - 1.0).max(0.0);
        Forecast {
            low_seconds: low * (self.spread.0 - drift).exp() * scale,
            seconds: self.best.cost(middle) * scale,
            high_seconds: high * (self.spread.1 + drift).exp() * scale,
        }
    }

    /// Seconds that the next `batches` batches will take together: the lower and the upper end.
    pub fn seconds_of_next(&self, batches: u64) -> (f64, f64) {
        // Sizes at which the sum is taken: a curve of a million batches is as smooth between them.
        let steps = batches.min(200);
        let each = batches as f64 / steps.max(1) as f64;
        let at = |step: u64| self.table_rows as f64 + self.batch_rows as f64 * each * (step as f64 + 0.5);
        (0..steps)
            .map(|step| self.at(at(step) + self.batch_rows as f64 / 2.0))
            .fold((0.0, 0.0), |sum, one| (sum.0 + one.low_seconds * each, sum.1 + one.high_seconds * each))
    }
}

/// How many rows fit a cache, from the size of the table when it was last known.
pub fn cache_rows(curve: &Curve, cache_bytes: u64) -> Option<f64> {
    let known = |sample: &&Sample| sample.data_bytes.is_some_and(|bytes| bytes > 0) && sample.table_rows > 0;
    let last = curve.samples.iter().rev().find(known)?;
    let bytes = last.table_bytes()? as f64;
    Some(cache_bytes as f64 * last.table_rows as f64 / bytes)
}

/// Sizes in the middle of each batch, and costs. A first batch that is much slower than the next three is none of a curve's growth.
fn points(samples: &[Sample]) -> Vec<(f64, f64)> {
    let usable = samples.iter().filter(|sample| sample.counts_for_baseline());
    let mut out: Vec<(f64, f64)> = usable
        .filter_map(|sample| Some((sample.table_rows as f64 - sample.rows as f64 / 2.0, sample.seconds_per_million()?)))
        .filter(|&(size, cost)| size > 0.0 && cost.is_finite() && cost > 0.0)
        .collect();
    out.sort_by(|a, b| a.0.total_cmp(&b.0));
    if out.len() > 4 {
        let next: Vec<f64> = out[1..4].iter().map(|point| point.1).collect();
        if median(&next).is_some_and(|next| out[0].1 > super::baseline::SLOW_FIRST * next) {
            out.remove(0);
        }
    }
    out
}

/// Neighbours put together until at most [`POINTS`] are left: the mean of sizes and the median of costs.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let each = points.len().div_ceil(POINTS);
    points
        .chunks(each.max(1))
        .filter_map(|chunk| {
            let size = chunk.iter().map(|point| point.0).sum::<f64>() / chunk.len() as f64;
            Some((size, median(&chunk.iter().map(|point| point.1).collect::<Vec<_>>())?))
        })
        .collect()
}

/// All kinds of growth that might be right, fitted on all points, the best first. Never empty.
fn choose(points: &[(f64, f64)], cache_rows: Option<f64>) -> Vec<Fit> {
    let (half, cut) = (points.len() / 2, points.len() * 3 / 4);
    // Two parts that were held out: one quarter alone is a handful of batches in a short curve.
    let folds = [(thinned(&points[..half]), &points[half..cut]), (thinned(&points[..cut]), &points[cut..])];
    let error = |growth, size| -> f64 {
        let errors = folds.iter().map(|(first, rest)| held_out(&fit(first, growth, size), rest));
        errors.zip(FOLD_WEIGHTS).map(|(error, weight)| error * weight).sum()
    };
    let candidates = Growth::ALL.map(|growth| (growth, None));
    let known = cache_rows.map(|rows| (Growth::OutgrownCache, Some(rows)));
    let judged: Vec<(Growth, Option<f64>, f64)> =
        candidates.into_iter().chain(known).map(|(growth, size)| (growth, size, error(growth, size))).collect();
    let mut best = judged[0];
    for &one in &judged[1..] {
        if one.2 < best.2 * BETTER.0 && one.2 < best.2 - BETTER.1 {
            best = one;
        }
    }
    let all = thinned(points);
    let mut out = vec![fit(&all, best.0, best.1)];
    let others = judged.iter().filter(|one| **one != best && one.2 <= best.2 * PLAUSIBLE.0 + PLAUSIBLE.1);
    out.extend(others.map(|&(growth, size, _)| fit(&all, growth, size)));
    out
}

/// The median of how far costs lie from the fit.
fn held_out(fit: &Fit, points: &[(f64, f64)]) -> f64 {
    let errors: Vec<f64> = points.iter().map(|&(size, cost)| (fit.cost(size) / cost - 1.0).abs()).collect();
    median(&errors).unwrap_or(f64::NAN)
}

/// Quantiles of measured by fitted: of the later half by the fit on all, and of the last quarter by the fit that had not seen it.
fn spread(points: &[(f64, f64)], fit: &Fit, earlier: &Fit) -> (f64, f64) {
    let (half, cut) = (points.len() / 2, points.len() * 3 / 4);
    let log = |fit: &Fit, &(size, cost): &(f64, f64)| (cost / fit.cost(size)).ln();
    let mut logs: Vec<f64> = points[half..].iter().map(|point| log(fit, point)).collect();
    logs.extend(points[cut..].iter().map(|point| log(earlier, point)));
    logs.sort_by(f64::total_cmp);
    let end = |share| quantile(&logs, share).unwrap_or(0.0);
    (end(TAIL).min(-LEAST_SPREAD), end(1.0 - TAIL).max(LEAST_SPREAD))
}

fn drift(points: &[(f64, f64)], earlier: &Fit) -> f64 {
    let logs: Vec<f64> = points.iter().map(|&(size, cost)| (cost / earlier.cost(size)).ln()).collect();
    median(&logs).map_or(0.0, f64::abs)
}

/// Fits one kind of growth; `size` is the cache where it is known.
fn fit(points: &[(f64, f64)], growth: Growth, size: Option<f64>) -> Fit {
    let (first, last) = (points.first().map_or(1.0, |point| point.0), points.last().map_or(1.0, |point| point.0));
    let (low, high) = match (growth, size) {
        (Growth::Constant | Growth::Linear, _) => return linear_in(points, growth, 0.0).0,
        (_, Some(size)) => return linear_in(points, growth, size).0,
        (Growth::OutgrownCache, None) => (first * 0.5, last * 0.98),
        (Growth::Saturating, None) => (first, last * 4.0),
    };
    // The size that fits best, on ever finer geometric grids.
    let (mut low, mut high) = (low.max(1.0).ln(), high.max(2.0).ln());
    let mut best: Option<(Fit, f64)> = None;
    for steps in [24_u32, 10, 10] {
        let width = (high - low) / f64::from(steps);
        for step in 0..=steps {
            let one = linear_in(points, growth, (low + width * f64::from(step)).exp());
            if best.is_none_or(|best| one.1 < best.1) {
                best = Some(one);
            }
        }
        let center = best.map_or(low, |best| best.0.shape_rows.ln());
        (low, high) = (center - width, center + width);
    }
    best.map_or_else(|| linear_in(points, Growth::Constant, 0.0).0, |best| best.0)
}

/// The fit of a and b for one shape, and its loss: the mean of absolute relative errors.
fn linear_in(points: &[(f64, f64)], growth: Growth, size: f64) -> (Fit, f64) {
    let shapes: Vec<f64> = points.iter().map(|point| growth.shape(point.0, size)).collect();
    let mut weights = vec![1.0; points.len()];
    if points.is_empty() {
        return (Fit { growth, memory_cost: f64::NAN, added_cost: 0.0, shape_rows: size }, f64::NAN);
    }
    let mut found = (f64::NAN, 0.0);
    for _ in 0..4 {
        found = weighted(points, &shapes, &weights, growth == Growth::Constant);
        let errors: Vec<f64> = points
            .iter()
            .zip(&shapes)
            .map(|(point, shape)| ((found.0 + found.1 * shape) / point.1 - 1.0).abs())
            .collect();
        let mut order = errors.clone();
        let (_, &mut middle, _) = order.select_nth_unstable_by(errors.len() / 2, f64::total_cmp);
        // Huber: what lies beyond 1.345 standard deviations (from the median absolute deviation) counts less.
        let limit = 1.345 * 1.4826 * middle.max(1e-6);
        weights = errors.iter().map(|error| if *error > limit { limit / error } else { 1.0 }).collect();
    }
    let fit = Fit { growth, memory_cost: found.0, added_cost: found.1, shape_rows: size };
    let loss = points.iter().map(|&(size, cost)| (fit.cost(size) / cost - 1.0).abs()).sum::<f64>()
        / points.len().max(1) as f64;
    (fit, loss)
}

/// Least squares of relative errors: a > 0 and b >= 0, since nothing here makes rows cheaper as a table grows.
fn weighted(points: &[(f64, f64)], shapes: &[f64], weights: &[f64], constant: bool) -> (f64, f64) {
    let (mut s, mut sx, mut sxx, mut sy, mut sxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for ((&(_, y), &x), &weight) in points.iter().zip(shapes).zip(weights) {
        let weight = weight / (y * y);
        s += weight;
        sx += weight * x;
        sxx += weight * x * x;
        sy += weight * y;
        sxy += weight * x * y;
    }
    let determinant = s * sxx - sx * sx;
    if constant || determinant <= 1e-12 * s * sxx {
        return (sy / s, 0.0);
    }
    let (a, b) = ((sy * sxx - sxy * sx) / determinant, (sxy * s - sy * sx) / determinant);
    match (a > 0.0, b > 0.0) {
        (true, true) => (a, b),
        (false, _) if sxx > 0.0 && sxy > 0.0 => (0.0, sxy / sxx),
        _ => (sy / s, 0.0),
    }
}

#[cfg(test)]
#[path = "forecast_tests.rs"]
mod tests;
