//! Smooth forms of a curve: what a million rows cost as a function of the size of the table.
//!
//! Every form is fitted to the logarithm of the cost by least absolute deviations, so that a factor of two counts the same
//! upwards and downwards and single wild batches decide nothing. Points stand at their table size, never at their number.

use super::median;

/// A curve of more points is fitted by the medians of neighbours first, and measured against all points in the end.
const SEARCHED_POINTS: usize = 200;
/// Places that are tried for an onset, before the search goes on around the best.
const ONSETS: usize = 28;

/// A form of a curve. `x` is the table size as a share of the largest one; the cost is `a` times the form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Form {
    /// `1`.
    Constant,
    /// `1 + r x^p`: a line in seconds with p = 1, a little less or more than a line with 1/2 and 2.
    Power(f64),
    /// `exp(r x)`: a line in log seconds.
    Exponential,
    /// `1 + r (x - onset)` after the onset, and `1` before: flat, then rising as a line in seconds.
    Bend {
        /// Share of the largest table size.
        onset: f64,
    },
    /// `1 + r (1 - onset / x)` after the onset, and `1` before: what a B-tree costs whose pages are picked at random, and of
    /// which a part as large as the onset is cached.
    Saturating {
        /// Share of the largest table size.
        onset: f64,
    },
}

impl Form {
    /// Figures that the fit has chosen, the level `a` included.
    pub fn parameters(self) -> usize {
        match self {
            Self::Constant => 1,
            Self::Power(_) | Self::Exponential => 2,
            Self::Bend { .. } | Self::Saturating { .. } => 3,
        }
    }

    /// What `r` multiplies.
    fn basis(self, x: f64) -> f64 {
        match self {
            Self::Constant => 0.0,
            Self::Power(power) => x.powf(power),
            Self::Exponential => x,
            Self::Bend { onset } => (x - onset).max(0.0),
            Self::Saturating { onset } if x > onset => 1.0 - onset / x,
            Self::Saturating { .. } => 0.0,
        }
    }

    fn log_of(self, rise: f64, basis: f64) -> f64 {
        match self {
            Self::Exponential => rise * basis,
            _ => (1.0 + rise * basis).max(1e-6).ln(),
        }
    }

    /// The `r` with which the cost at the end is `factor` times that at the start.
    fn rise_to(self, factor: f64, end: f64) -> f64 {
        match self {
            Self::Exponential => factor.ln() / end,
            _ => (factor - 1.0) / end,
        }
    }
}

/// A form with its figures, as fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    pub form: Form,
    /// Logarithm of the cost where the form is 1.
    pub log_level: f64,
    /// Cost at the last point divided by the cost where the form is 1.
    pub end_factor: f64,
    /// Mean absolute deviation of the logarithms.
    pub deviation: f64,
    /// What each point lies above the form, in log cost.
    pub residuals: Vec<f64>,
}

/// Points of a curve: table size as a share of the largest, and log cost; ordered by table size.
pub type Points = [(f64, f64)];

/// Cost at the end divided by the cost at the start: what is tried first.
const RISES: [f64; 13] = [1.05, 1.15, 1.3, 1.5, 1.75, 2.1, 2.7, 3.6, 5.0, 8.0, 14.0, 30.0, 90.0];
const FALLS: [f64; 5] = [0.95, 0.85, 0.7, 0.5, 0.25];

/// Fits the forms without an onset. The best one is the first with the least deviation.
pub fn gradual(points: &Points) -> Vec<Fit> {
    let searched = thinned(points);
    [Form::Power(1.0), Form::Exponential, Form::Power(0.5)]
        .into_iter()
        .map(|form| {
            let (_, factor) = best_factor(&searched, form, (&RISES, &FALLS), f64::INFINITY);
            finish(points, form, factor)
        })
        .collect()
}

pub fn constant(points: &Points) -> Fit {
    finish(points, Form::Constant, 1.0)
}

/// A form with an onset, fitted, and the onsets that fit nearly as well.
#[derive(Debug, Clone, PartialEq)]
pub struct OnsetFit {
    pub fit: Fit,
    /// Its onset, as a share of the largest table size.
    pub onset: f64,
    /// Onset and mean absolute deviation of every onset that was tried.
    pub profile: Vec<(f64, f64)>,
}

/// Fits the forms with an onset, each over all places where two points at least come before it and two after. Nothing for
/// fewer than five points.
pub fn with_onset(points: &Points) -> Vec<OnsetFit> {
    let searched = thinned(points);
    if searched.len() < 5 {
        return Vec::new();
    }
    let bend: fn(f64) -> Form = |onset| Form::Bend { onset };
    let saturating: fn(f64) -> Form = |onset| Form::Saturating { onset };
    [bend, saturating].into_iter().map(|form| best_onset(points, &searched, form)).collect()
}

fn best_onset(points: &Points, searched: &Points, form: fn(f64) -> Form) -> OnsetFit {
    let last = searched.len() - 3;
    let places = |from: usize, to: usize, most: usize| {
        let step = (to - from).div_ceil(most).max(1);
        (from..=to).step_by(step)
    };
    // Onset, deviation, end factor, place.
    let mut tried: Vec<(f64, f64, f64, usize)> = Vec::new();
    let mut best = f64::INFINITY;
    let mut attempt = |onset: f64, place: usize| {
        let (deviation, factor) = best_factor(searched, form(onset), (&RISES, &[]), 1.5 * best);
        tried.push((onset, deviation, factor, place));
        best = best.min(deviation);
        tried
            .iter()
            .copied()
            .reduce(|best, other| if other.1 < best.1 { other } else { best })
            .unwrap_or((onset, deviation, factor, place))
    };
    let mut found = attempt(searched[1].0, 1);
    for place in places(1, last, ONSETS) {
        found = attempt(searched[place].0, place);
    }
    // Around the best: every point there, and the middles between them.
    let step = (last - 1).div_ceil(ONSETS).max(1);
    let (from, to) = (found.3.saturating_sub(step).max(1), (found.3 + step).min(last));
    for place in places(from, to, 12) {
        attempt(searched[place].0, place);
        found = attempt((searched[place].0 + searched[place + 1].0) / 2.0, place);
    }
    let mut profile: Vec<(f64, f64)> = tried.iter().map(|&(onset, deviation, ..)| (onset, deviation)).collect();
    profile.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (onset, _, factor, _) = found;
    OnsetFit { fit: finish(points, form(onset), factor), onset, profile }
}

/// The end factor with the least deviation: the best of `factors` (rises, falls), then ever smaller steps around it, unless that is
/// not promising.
fn best_factor(points: &Points, form: Form, factors: (&[f64], &[f64]), promising: f64) -> (f64, f64) {
    let bases: Vec<f64> = points.iter().map(|&(x, _)| form.basis(x)).collect();
    let end = bases.last().copied().unwrap_or(0.0);
    let mut shifted = Vec::with_capacity(points.len());
    let mut deviation = |factor: f64| {
        let rise = form.rise_to(factor, end);
        shifted.clear();
        shifted.extend(points.iter().zip(&bases).map(|(&(_, y), &basis)| y - form.log_of(rise, basis)));
        deviation_from_median(&mut shifted)
    };
    let mut best = (deviation(1.0), 1.0);
    for ways in [factors.0, factors.1] {
        // From no change on outwards, until it has become worse three times.
        let mut worse = 0;
        for &factor in ways {
            let found = deviation(factor);
            if found < best.0 {
                best = (found, factor);
                worse = 0;
            } else {
                worse += 1;
            }
            if worse == 3 {
                break;
            }
        }
    }
    if best.0 > promising {
        return best;
    }
    let mut step = 0.15_f64;
    while step > 0.005 {
        let centre: f64 = best.1;
        for factor in [centre * (-step).exp(), centre * step.exp()] {
            let found = deviation(factor);
            if found < best.0 {
                best = (found, factor);
            }
        }
        step /= 2.0;
    }
    best
}

/// Mean absolute deviation from the median. The order of the values is lost.
fn deviation_from_median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    let (_, &mut median, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    values.iter().map(|value| (value - median).abs()).sum::<f64>() / values.len() as f64
}

fn finish(points: &Points, form: Form, end_factor: f64) -> Fit {
    let end = points.last().map_or(0.0, |&(x, _)| form.basis(x));
    let rise = if end > 0.0 { form.rise_to(end_factor, end) } else { 0.0 };
    let above: Vec<f64> = points.iter().map(|&(x, y)| y - form.log_of(rise, form.basis(x))).collect();
    let log_level = median(&above).unwrap_or(0.0);
    let residuals: Vec<f64> = above.iter().map(|value| value - log_level).collect();
    let deviation = residuals.iter().map(|value| value.abs()).sum::<f64>() / residuals.len().max(1) as f64;
    Fit { form, log_level, end_factor, deviation, residuals }
}

/// Medians of neighbours, so that at most [`SEARCHED_POINTS`] are left.
fn thinned(points: &Points) -> Vec<(f64, f64)> {
    let each = points.len().div_ceil(SEARCHED_POINTS).max(1);
    points
        .chunks(each)
        .map(|chunk| {
            let xs: Vec<f64> = chunk.iter().map(|&(x, _)| x).collect();
            let ys: Vec<f64> = chunk.iter().map(|&(_, y)| y).collect();
            (median(&xs).unwrap_or(0.0), median(&ys).unwrap_or(0.0))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(count: usize, cost: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (1..=count).map(|index| index as f64 / count as f64).map(|x| (x, cost(x).ln())).collect()
    }

    #[test]
    fn every_form_finds_itself() {
        let line = points(30, |x| 5.0 + 10.0 * x);
        let found = &gradual(&line)[0];
        assert!(found.deviation < 3e-3 && (found.end_factor - 3.0).abs() < 0.05, "{found:?}");
        let exponential = points(30, |x| 5.0 * (0.7 * x).exp());
        assert!(gradual(&exponential)[1].deviation < 3e-3);
        let falling = points(30, |x| 10.0 - 6.0 * x);
        assert!(gradual(&falling)[0].deviation < 5e-3);
        assert!(constant(&points(9, |_| 3.0)).deviation < 1e-12);
    }

    #[test]
    fn onsets_are_found_between_points_and_in_long_curves() {
        for count in [30, 1000] {
            let bend = points(count, |x| 5.0 * (1.0 + 4.0 * (x - 0.4_f64).max(0.0)));
            let found = &with_onset(&bend)[0];
            assert!((found.onset - 0.4).abs() < 0.04 && found.fit.deviation < 0.02, "{} {:?}", count, found.onset);
            let tree = points(count, |x| 5.0 * (1.0 + 9.0 * (1.0 - 0.3 / x).max(0.0)));
            let found = &with_onset(&tree)[1];
            assert!((found.onset - 0.3).abs() < 0.03 && found.fit.deviation < 0.02, "{} {:?}", count, found.onset);
            assert!((found.fit.end_factor - 7.3).abs() < 0.3, "{}", found.fit.end_factor);
        }
        assert!(with_onset(&points(4, |_| 1.0)).is_empty());
    }

    #[test]
    fn points_stand_at_their_table_size() {
        // The same line with points that come ever closer: by number it would be no line.
        let line: Vec<(f64, f64)> =
            (1..=20).map(|index| f64::from(index).sqrt() / 20.0_f64.sqrt()).map(|x| (x, (1.0 + x).ln())).collect();
        assert!(gradual(&line)[0].deviation < 3e-3);
    }
}
