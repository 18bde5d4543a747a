//! Axes: finite, ordered, never empty ranges, and ticks in steps of 1, 2 or 5.
//!
//! Everything is computed here and nothing is left to a plotting library, which may hang on an empty or reversed range.

use crate::reading::figures::Across;
use crate::units;

/// A mark on an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    pub value: f64,
    /// What is written there.
    pub label: String,
}

/// An axis of a picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Value at the left or lower end.
    pub min: f64,
    /// Value at the right or upper end; more than `min`.
    pub max: f64,
    /// Logarithmic: then `min` is more than 0.
    pub log: bool,
    /// Ticks, ascending, within the range.
    pub ticks: Vec<Tick>,
}

impl Axis {
    /// Where `value` lies: 0 at `min`, 1 at `max`, held between them. `None` for what has no place on this axis.
    pub fn fraction(&self, value: f64) -> Option<f64> {
        if !self.has_place(value) {
            return None;
        }
        let along = |value: f64| if self.log { value.ln() } else { value };
        let (min, max) = (along(self.min), along(self.max));
        Some(((along(value) - min) / (max - min)).clamp(0.0, 1.0))
    }

    /// Whether `value` can be drawn on this axis at all: finite, and more than zero on a logarithmic one.
    pub fn has_place(&self, value: f64) -> bool {
        value.is_finite() && (!self.log || value > 0.0)
    }
}

/// What the figures of an axis are, which decides how its ticks are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Plain decimals: `0.5`, `20`.
    Seconds,
    /// Scaled: `50k`, `1.5M`.
    Rate,
    /// Plain decimals of something that is not seconds.
    Plain,
}

/// The horizontal axis and its title. `None` when no value is finite.
pub fn across(kind: Across, values: impl Iterator<Item = f64>) -> Option<(Axis, String)> {
    const BYTES: [(f64, &str); 5] =
        [(1.0, "bytes"), (1024.0, "KiB"), (1_048_576.0, "MiB"), (1_073_741_824.0, "GiB"), (1_099_511_627_776.0, "TiB")];
    const SECONDS: [(f64, &str); 4] = [(1.0, "seconds"), (60.0, "minutes"), (3600.0, "hours"), (86_400.0, "days")];
    match kind {
        Across::Rows => rows(values).map(|(axis, unit)| {
            (axis, if unit.is_empty() { "rows in the table".into() } else { format!("rows in the table ({unit})") })
        }),
        Across::Bytes => in_units(values, &BYTES).map(|(axis, unit)| (axis, format!("size of the table ({unit})"))),
        Across::Seconds => {
            in_units(values, &SECONDS).map(|(axis, unit)| (axis, format!("time spent loading ({unit})")))
        }
    }
}

/// Counts that lie this far apart, the last from the first, have a logarithmic axis.
const WIDE_COUNTS: f64 = 8.0;
/// A tick nearer to the one before it than this part of the axis has no room.
const CLOSE_TICKS: f64 = 0.03;

/// An axis for a few counts above zero (of connections), each of them a tick. `None` when there are none.
pub fn counts(values: impl Iterator<Item = f64>) -> Option<Axis> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite() && *value > 0.0).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let (low, high) = (*values.first()?, *values.last()?);
    let log = high / low >= WIDE_COUNTS;
    // The first point stands a little right of the edge.
    let min = if log { low * (low / high).powf(CLOSE_TICKS) } else { 0.0 };
    let axis = Axis { min, max: high, log, ticks: Vec::new() };
    let mut ticks: Vec<Tick> = Vec::new();
    // From the last one, which is there whatever else has room.
    for value in values.into_iter().rev() {
        let place = |value: f64| axis.fraction(value).unwrap_or(0.0);
        if ticks.last().is_none_or(|after| place(after.value) - place(value) >= CLOSE_TICKS) {
            ticks.push(Tick { value, label: decimals(value, 1.0) });
        }
    }
    ticks.reverse();
    Some(Axis { ticks, ..axis })
}

/// An axis from zero to the end of the data, in the largest unit of which there are at least two.
fn in_units(values: impl Iterator<Item = f64>, units: &[(f64, &'static str)]) -> Option<(Axis, &'static str)> {
    let (low, high) = extent(values.filter(|value| value.is_finite()))?;
    let (min, max) = (low.min(0.0), if high > 0.0 { high } else { 1.0 });
    let (unit, word) = units.iter().copied().rfind(|(unit, _)| max >= 2.0 * unit).unwrap_or(units[0]);
    let step = nice_step((max - min) / unit / 7.0);
    let ticks = steps(min / unit, max / unit, step)
        .map(|value| Tick { value: value * unit, label: decimals(value, step) })
        .collect();
    Some((Axis { min, max, log: false, ticks }, word))
}

/// An axis for values from zero up. `None` when no value is finite.
pub fn from_zero(values: impl Iterator<Item = f64>, quantity: Quantity) -> Option<Axis> {
    let (min, max) = extent(values.filter(|value| value.is_finite()))?;
    let max = if max > 0.0 { max } else { 1.0 };
    let low = min.min(0.0);
    let step = nice_step((max - low) / 6.0);
    // The next step, or a little above the data where that would leave much of the plot empty.
    let top = f64::min((max * 1.01 / step).ceil() * step, max * 1.06);
    let bottom = (low / step).floor() * step;
    let ticks =
        steps(bottom, top, step).map(|value| Tick { value, label: label(value, step, top, quantity) }).collect();
    Some(Axis { min: bottom, max: top, log: false, ticks })
}

/// A logarithmic axis for the values above zero. `None` when there are none.
pub fn logarithmic(values: impl Iterator<Item = f64>, quantity: Quantity) -> Option<Axis> {
    let (low, high) = extent(values.filter(|value| value.is_finite() && *value > 0.0))?;
    // Far from what anybody measures; beyond it powers of ten leave the numbers that f64 has.
    let (low, high) = (low.clamp(1e-100, 1e100), high.clamp(1e-100, 1e100));
    // Equal values would have no range at all: they get half an order of magnitude around them.
    let (low, high) = if high / low < 1.5 { (low / 1.8, high * 1.8) } else { (low / 1.02, high * 1.02) };
    let decades = (high / low).log10();
    let mantissas: &[f64] = match decades {
        d if d <= 1.0 => &[1.0, 2.0, 3.0, 5.0, 7.0],
        d if d <= 3.5 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let exponents = low.log10().floor() as i32 - 1..=high.log10().ceil() as i32 + 1;
    let every = ((decades / 8.0).ceil() as usize).max(1);
    let grid: Vec<f64> = if mantissas.len() == 1 {
        exponents.step_by(every).map(|exponent| 10_f64.powi(exponent)).collect()
    } else {
        exponents.flat_map(|exponent| mantissas.iter().map(move |m| tidy(m * 10_f64.powi(exponent)))).collect()
    };
    // The next tick, or a little beyond the data where that would leave much of the plot empty.
    let min = grid.iter().copied().rfind(|tick| *tick <= low).unwrap_or(low).max(low / 1.25);
    let max = grid.iter().copied().find(|tick| *tick >= high).unwrap_or(high).min(high * 1.25);
    let ticks = grid
        .into_iter()
        .filter(|tick| (min..=max).contains(tick))
        .map(|value| Tick { value, label: log_label(value, quantity) })
        .collect();
    Some(Axis { min, max, log: true, ticks })
}

/// An axis for rows in the table, and its unit as a word for the title: nothing, `thousands`, `millions`, `billions`.
///
/// It starts at zero unless the data lie far from it (part of a huge table), and ends with the data. `None` when no value is finite.
pub fn rows(values: impl Iterator<Item = f64>) -> Option<(Axis, &'static str)> {
    let (low, high) = extent(values.filter(|value| value.is_finite()))?;
    let high = if high > 0.0 { high } else { 1.0 };
    let far = low > high / 2.0 && high - low > high * 1e-12;
    let (min, max) = if far { (low - (high - low) * 0.02, high) } else { (low.min(0.0), high) };
    // A table has no half rows: a step below 1 would number the same row twice.
    let step = nice_step((max - min) / 7.0).max(1.0);
    let values: Vec<f64> = steps(min, max, step).collect();
    const UNITS: [(f64, &str); 4] = [(1.0, ""), (1e3, "thousands"), (1e6, "millions"), (1e9, "billions")];
    let written =
        |scale: f64| -> Vec<String> { values.iter().map(|value| decimals(value / scale, step / scale)).collect() };
    let longest = |labels: &[String]| labels.iter().map(String::len).max().unwrap_or(0);
    let (scale, unit) = UNITS
        .into_iter()
        .min_by_key(|(scale, _)| (longest(&written(*scale)), decimal_places(step / scale)))
        .unwrap_or(UNITS[0]);
    let ticks = values.iter().zip(written(scale)).map(|(&value, label)| Tick { value, label }).collect();
    Some((Axis { min, max, log: false, ticks }, unit))
}

fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |extent, value| match extent {
        None => Some((value, value)),
        Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
    })
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `wanted`.
fn nice_step(wanted: f64) -> f64 {
    let wanted = if wanted.is_finite() { wanted.clamp(1e-100, 1e100) } else { 1.0 };
    let power = 10_f64.powi(wanted.log10().floor() as i32);
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= wanted * (1.0 - 1e-9));
    tidy(step.unwrap_or(10.0 * power))
}

/// Removes what binary fractions leave behind: 0.30000000000000004 becomes 0.3.
fn tidy(value: f64) -> f64 {
    format!("{value:.12e}").parse().unwrap_or(value)
}

/// Multiples of `step` within the range: at most a hundred, whatever the range.
fn steps(min: f64, max: f64, step: f64) -> impl Iterator<Item = f64> {
    let first = (min / step - 1e-9).ceil();
    let count = ((max / step + 1e-9).floor() - first).clamp(0.0, 100.0) as u32;
    (0..=count)
        .map(move |index| tidy((first + f64::from(index)) * step))
        .filter(move |value| *value <= max * (1.0 + 1e-9))
}

fn decimal_places(step: f64) -> usize {
    (-step.log10() - 1e-9).ceil().clamp(0.0, 15.0) as usize
}

/// `value` with as many decimals as `step` needs, whole numbers in groups of three; zero is always `0`.
fn decimals(value: f64, step: f64) -> String {
    let places = decimal_places(step);
    if value == 0.0 {
        "0".into()
    } else if places == 0 && (0.0..1e15).contains(&value) {
        units::grouped(value.round() as u64)
    } else {
        let text = format!("{value:.places$}");
        match text.split_once('.') {
            // Five digits and more are read in groups.
            Some((whole, fraction)) if whole.len() > 4 => match whole.parse() {
                Ok(whole) => format!("{}.{fraction}", units::grouped(whole)),
                Err(_) => text,
            },
            _ => text,
        }
    }
}

fn label(value: f64, step: f64, top: f64, quantity: Quantity) -> String {
    let (scale, unit) = match (quantity, top) {
        (Quantity::Seconds | Quantity::Plain, _) => (1.0, ""),
        (Quantity::Rate, top) if top >= 1e9 => (1e9, "G"),
        (Quantity::Rate, top) if top >= 1e6 => (1e6, "M"),
        (Quantity::Rate, top) if top >= 2e3 => (1e3, "k"),
        (Quantity::Rate, _) => (1.0, ""),
    };
    if value == 0.0 { "0".into() } else { format!("{}{unit}", decimals(value / scale, step / scale)) }
}

fn log_label(value: f64, quantity: Quantity) -> String {
    if !(1e-6..1e12).contains(&value) {
        return format!("{value:e}");
    }
    if quantity == Quantity::Rate && value >= 1e3 {
        return units::human_rows(value.round() as u64);
    }
    decimals(value, 10_f64.powf(value.log10().floor()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    fn check(axis: &Axis) {
        assert!(axis.min.is_finite() && axis.max.is_finite() && axis.min < axis.max, "{axis:?}");
        assert!(!axis.ticks.is_empty() && axis.ticks.len() < 100, "{axis:?}");
        let unique: std::collections::HashSet<&str> = labels(axis).into_iter().collect();
        assert_eq!(unique.len(), axis.ticks.len(), "{axis:?}");
        assert!(axis.ticks.windows(2).all(|pair| pair[0].value < pair[1].value), "{axis:?}");
    }

    #[test]
    fn seconds_start_at_zero_in_steps_of_1_2_5() {
        let axis = from_zero([0.3, 4.1].into_iter(), Quantity::Seconds).unwrap();
        assert_eq!(labels(&axis), ["0", "1", "2", "3", "4"]);
        let axis = from_zero([0.31, 0.62].into_iter(), Quantity::Seconds).unwrap();
        assert_eq!(labels(&axis), ["0", "0.2", "0.4", "0.6"]);
        let axis = from_zero([0.79].into_iter(), Quantity::Seconds).unwrap();
        assert_eq!((axis.max, axis.fraction(0.4)), (0.8, Some(0.5)));
    }

    #[test]
    fn rates_are_scaled() {
        let axis = from_zero([47_000.0, 270_000.0].into_iter(), Quantity::Rate).unwrap();
        assert_eq!(labels(&axis), ["0", "50k", "100k", "150k", "200k", "250k"]);
        let axis = from_zero([2_300_000.0].into_iter(), Quantity::Rate).unwrap();
        assert_eq!(labels(&axis), ["0", "0.5M", "1.0M", "1.5M", "2.0M"]);
        assert_eq!(labels(&logarithmic([900.0, 52_000.0].into_iter(), Quantity::Rate).unwrap()).last(), Some(&"50k"));
    }

    #[test]
    fn logarithmic_axes_hold_all_values_above_zero() {
        let axis = logarithmic([0.3, 4.1, 0.0, -1.0, f64::NAN].into_iter(), Quantity::Seconds).unwrap();
        assert_eq!(labels(&axis), ["0.5", "1", "2", "5"]);
        assert!((0.23..0.3).contains(&axis.min) && axis.max == 5.0, "{axis:?}");
        let half = (axis.min * axis.max).sqrt();
        assert!((axis.fraction(half).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(axis.fraction(0.0), None);
        assert!(logarithmic([0.0, -1.0].into_iter(), Quantity::Seconds).is_none());
        let axis = logarithmic([0.001, 7000.0].into_iter(), Quantity::Seconds).unwrap();
        assert_eq!(labels(&axis), ["0.001", "0.01", "0.1", "1", "10", "100", "1,000"]);
    }

    #[test]
    fn rows_have_the_unit_with_the_shortest_labels() {
        let unit = |values: &[f64]| {
            let (axis, unit) = rows(values.iter().copied()).unwrap();
            check(&axis);
            (labels(&axis).last().unwrap().to_string(), unit)
        };
        assert_eq!(unit(&[1e5, 2.5e6]), ("2.5".into(), "millions"));
        assert_eq!(unit(&[1e6, 3e8]), ("300".into(), "millions"));
        assert_eq!(unit(&[1e6, 3.4e10]), ("30".into(), "billions"));
        assert_eq!(unit(&[5e4, 1e6]), ("1.0".into(), "millions"));
        assert_eq!(unit(&[100.0, 900.0]), ("800".into(), ""));
        assert_eq!(unit(&[1000.0, 50_000.0]), ("50".into(), "thousands"));
        assert_eq!(unit(&[1.0]), ("1".into(), ""));
        // Part of a huge table: the labels must still differ.
        assert_eq!(unit(&[33_999_000_000.0, 34_009_000_000.0]).1, "millions");
    }

    #[test]
    fn sizes_and_times_have_the_largest_unit_that_is_there_twice() {
        let found = |kind, values: &[f64]| {
            let (axis, title) = across(kind, values.iter().copied()).unwrap();
            check(&axis);
            (labels(&axis).last().unwrap().to_string(), title)
        };
        assert_eq!(
            found(Across::Bytes, &[1e5, 3.0 * 1_073_741_824.0]),
            ("3.0".into(), "size of the table (GiB)".into())
        );
        assert_eq!(found(Across::Bytes, &[700.0]), ("700".into(), "size of the table (bytes)".into()));
        assert_eq!(found(Across::Seconds, &[1.0, 600.0]), ("10".into(), "time spent loading (minutes)".into()));
        assert_eq!(found(Across::Seconds, &[90.0]).1, "time spent loading (seconds)");
        assert_eq!(found(Across::Rows, &[1e6, 3.4e10]).1, "rows in the table (billions)");
        assert_eq!(across(Across::Seconds, [f64::NAN].into_iter()), None);
    }

    #[test]
    fn counts_are_ticks_where_they_have_room() {
        let axis = counts([25.0, 1.0, 100.0, 50.0, 200.0, 1.0].into_iter()).unwrap();
        check(&axis);
        assert_eq!((labels(&axis), axis.log, axis.max), (vec!["1", "25", "50", "100", "200"], true, 200.0));
        assert!(axis.fraction(1.0).is_some_and(|first| (0.02..0.04).contains(&first)));
        let axis = counts([1.0, 2.0, 4.0].into_iter()).unwrap();
        assert_eq!((labels(&axis), axis.log, axis.min), (vec!["1", "2", "4"], false, 0.0));
        let near = counts((90..=110).map(f64::from)).unwrap();
        check(&near);
        assert!(near.ticks.len() < 21 && labels(&near).last() == Some(&"110"), "{near:?}");
        check(&counts(std::iter::once(8.0)).unwrap());
        assert_eq!(counts([0.0, f64::NAN].into_iter()), None);
    }

    #[test]
    fn no_range_is_empty_reversed_or_endless() {
        let odd = [0.0, -1.0, 1.0, 1e-300, 1e300, f64::MAX, f64::MIN_POSITIVE, 5e-324, 1e9, 34e9 + 1.0];
        for &a in &odd {
            for &b in &odd {
                for quantity in [Quantity::Seconds, Quantity::Rate] {
                    let axis = from_zero([a, b].into_iter(), quantity).unwrap();
                    assert!(axis.min < axis.max && axis.ticks.len() <= 101, "{a} {b} {axis:?}");
                    if let Some(axis) = logarithmic([a, b].into_iter(), quantity) {
                        assert!(axis.min < axis.max && axis.ticks.len() <= 101, "{a} {b} {axis:?}");
                        assert!(axis.fraction(1.0).is_some_and(f64::is_finite));
                    }
                }
                for kind in [Across::Rows, Across::Bytes, Across::Seconds] {
                    let (axis, _) = across(kind, [a, b].into_iter()).unwrap();
                    assert!(axis.min < axis.max && axis.ticks.len() <= 101, "{a} {b} {axis:?}");
                }
            }
        }
        assert!(from_zero([f64::NAN, f64::INFINITY].into_iter(), Quantity::Seconds).is_none());
        assert!(rows(std::iter::empty()).is_none());
    }

    #[test]
    fn usual_axes_have_unique_ascending_labels() {
        for exponent in -4..9 {
            for mantissa in [1.0, 1.3, 2.0, 2.7, 4.9, 7.7, 9.99] {
                let value = mantissa * 10_f64.powi(exponent);
                for other in [value, value / 2.0, value / 13.0, value / 1000.0] {
                    for quantity in [Quantity::Seconds, Quantity::Rate] {
                        check(&from_zero([value, other].into_iter(), quantity).unwrap());
                        check(&logarithmic([value, other].into_iter(), quantity).unwrap());
                    }
                }
            }
        }
    }
}
