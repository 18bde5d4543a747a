//! How long a curve will still take, from the batches it has.

use super::forecast::{LEAST_BATCHES, Model, NoForecast};
use super::resample::quantile;
use crate::record::Sample;

/// Fewer batches tell nothing of those to come. As many in a row that are slower than all recent ones before them are a new level.
const LEVEL_BATCHES: usize = 3;
/// Batches that tell the speed of now, and by how much it scatters.
const RECENT_BATCHES: usize = 10;
/// Which of the recent batches, by their cost, those to come are at least and at most like.
const CHEAP: f64 = 0.1;
const DEAR: f64 = 0.9;
/// A curve that has more than this many times its batches before it may still go anywhere, while there are too few to forecast it.
const FAR: u64 = 2;
/// Batches whose gaps tell the next ones.
const GAP_BATCHES: usize = 20;

/// A time that something will still take.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Left {
    /// The least, in seconds.
    pub low: f64,
    /// The most, if the trend goes on.
    pub high: f64,
    /// Whether it may take longer than `high`: there is no figure yet for a part of it, or nothing shows where the trend ends.
    pub open: bool,
}

impl Left {
    /// Two times, one after the other.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { low: self.low + other.low, high: self.high + other.high, open: self.open || other.open }
    }
}

/// What a curve of `batches` batches will still take with `probes` further probes between them. `None` where it has no batch yet.
pub fn left(samples: &[Sample], batches: u64, probes: u64) -> Option<Left> {
    let todo = batches.saturating_sub(samples.last()?.batch);
    let loading = match time_left(samples, batches) {
        _ if todo == 0 => Left::default(),
        Some((low, high)) => Left { low, high, open: is_open(samples, todo) },
        None => {
            // One or two batches: what they took is known, and not where it goes.
            let low = samples.iter().map(wall).fold(f64::MAX, f64::min) * todo as f64;
            Left { low, high: low, open: true }
        }
    };
    Some(loading.plus(probing(samples, probes)))
}

/// Whether nothing shows where the cost goes: it is not forecast, and it grows, or most of the curve is still to come.
fn is_open(samples: &[Sample], todo: u64) -> bool {
    match Model::of(samples, None) {
        Ok(_) => false,
        Err(NoForecast::TooFew { .. }) if samples.len() < LEAST_BATCHES && todo > FAR * samples.len() as u64 => true,
        Err(_) => growth(samples) > 0.0,
    }
}

/// By how much a batch costs more than the one before it, from the first to the second half; 0 where that is within the scatter.
fn growth(samples: &[Sample]) -> f64 {
    let half = samples.len() / 2;
    let (first, second) = (walls(&samples[..half]), walls(&samples[half..]));
    let middles = quantile(&first, 0.5).zip(quantile(&second, 0.5));
    let is_beyond_scatter = quantile(&first, 0.75).zip(middles).is_some_and(|(upper, (_, middle))| middle > upper);
    let grown = middles.filter(|_| is_beyond_scatter).map_or(0.0, |(first, second)| second - first);
    grown / half.max(1) as f64
}

/// What the cheaper and what the dearer ones of the last batches take. Of batches that are all slower than those before them the
/// cheapest counts: the level they were on is left.
fn recent(samples: &[Sample]) -> Option<(f64, f64)> {
    let last = &samples[samples.len().saturating_sub(RECENT_BATCHES)..];
    let (before, newest) = last.split_at(last.len().saturating_sub(LEVEL_BATCHES));
    let (all, before, newest) = (walls(last), walls(before), walls(newest));
    let is_new_level = last.len() == RECENT_BATCHES && before.last() < newest.first();
    let low = if is_new_level { newest.first().copied() } else { quantile(&all, CHEAP) };
    low.zip(quantile(if is_new_level { &newest } else { &all }, DEAR))
}

/// What batches take, in order of it.
fn walls(samples: &[Sample]) -> Vec<f64> {
    let mut walls: Vec<f64> = samples.iter().map(wall).collect();
    walls.sort_by(f64::total_cmp);
    walls
}

/// What further probes will take: as long as those before them.
fn probing(samples: &[Sample], probes: u64) -> Left {
    if probes == 0 {
        return Left::default();
    }
    let apart = |is_after: bool| {
        let gaps = samples.iter().filter(|sample| sample.has_note("after-probe") == is_after);
        super::median(&gaps.filter_map(|sample| sample.gap_seconds).collect::<Vec<_>>())
    };
    match apart(true) {
        Some(gap) => {
            let each = (gap - apart(false).unwrap_or(0.0)).max(0.0) * probes as f64;
            Left { low: each, high: each, open: false }
        }
        None => Left { open: true, ..Left::default() },
    }
}

/// What a batch takes with the gap before it. A probe in the gap is counted on its own.
fn wall(sample: &Sample) -> f64 {
    sample.seconds + sample.gap_seconds.filter(|_| !sample.has_note("after-probe")).unwrap_or(0.0)
}

/// The seconds that the batches to come of a curve of `batches` batches will take, as a range. Gaps are in it, probes are not.
///
/// It is what [`Model`] forecasts of them, where that does not refuse; else it goes from what the cheaper ones of the last batches
/// take to what the dearer ones do, and on, where the curve is getting slower beyond its scatter, to what it would take if it went on
/// getting slower at the pace of its second half. It is never less than the last batches imply. `None` while there are too few samples, or
/// nothing is left.
pub fn time_left(samples: &[Sample], batches: u64) -> Option<(f64, f64)> {
    let left = batches.checked_sub(samples.last()?.batch)?;
    if left == 0 || samples.len() < LEVEL_BATCHES {
        return None;
    }
    let (cheap, dear) = recent(samples)?;
    let least = cheap * left as f64;
    if let Ok(model) = Model::of(samples, None) {
        let gaps = usual_gap(samples) * left as f64;
        let (low, high) = model.seconds_of_next(left);
        let (low, high) = (low + gaps, high + gaps);
        // Where the last batches are dearer than what is forecast, they may stay so.
        let most = if least > low { dear * left as f64 } else { high };
        return Some((low.max(least), high.max(most)));
    }
    let grown = growth(samples) * (left as f64) * (left as f64 + 1.0) / 2.0;
    Some((least, dear * left as f64 + grown))
}

/// The gap before a batch, as it usually is without a probe in it.
fn usual_gap(samples: &[Sample]) -> f64 {
    let usual = samples.iter().rev().filter(|sample| !sample.has_note("after-probe"));
    let gaps: Vec<f64> = usual.take(GAP_BATCHES).filter_map(|sample| sample.gap_seconds).collect();
    super::median(&gaps).unwrap_or(0.0)
}

/// What loading a table up to `rows` rows takes if it goes as an earlier curve went, as a range: what was measured up to there, and
/// what [`Model`] forecasts beyond. Gaps are in it, probes are not.
///
/// # Errors
/// The earlier curve is shorter, and its batches cannot be forecast.
pub fn as_before(earlier: &[Sample], rows: u64) -> Result<(f64, f64), NoForecast> {
    let Some(last) = earlier.last() else { return Err(NoForecast::TooFew { batches: 0 }) };
    // Of a batch that goes beyond, the share up to there.
    let share = |sample: &Sample| {
        let begin = sample.table_rows.saturating_sub(sample.rows);
        (rows.saturating_sub(begin) as f64 / sample.rows.max(1) as f64).min(1.0)
    };
    let measured: f64 = earlier.iter().map(|sample| wall(sample) * share(sample)).sum();
    if last.table_rows >= rows {
        return Ok((measured, measured));
    }
    let model = Model::of(earlier, None)?;
    let more = (rows - last.table_rows).div_ceil(last.rows.max(1));
    let (low, high) = model.seconds_of_next(more);
    let gaps = usual_gap(earlier) * more as f64;
    Ok((measured + low + gaps, measured + high + gaps))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(seconds: &[f64]) -> Vec<Sample> {
        let numbered = seconds.iter().zip(1..);
        numbered.map(|(&seconds, batch)| Sample { batch, seconds, ..Sample::default() }).collect()
    }

    #[test]
    fn an_even_curve_has_one_answer_and_a_slowing_one_a_range() {
        assert_eq!(time_left(&samples(&[2.0; 4]), 10), Some((12.0, 12.0)));
        // The second half is 2 s a batch slower than the first, two batches on: one second a batch.
        assert_eq!(time_left(&samples(&[1.0, 1.0, 3.0, 3.0]), 6), Some((2.0, 6.0 + 3.0)));
    }

    #[test]
    fn a_long_curve_is_forecast() {
        // A curve whose growth slows down: the straight line of the simple reckoning would be far off.
        let cost = |batch: u64| 1.0 + 9.0 * (1.0 - 10.0 / batch as f64).max(0.0);
        let numbered = (1..=60).map(|batch| Sample {
            batch,
            rows: 1000,
            table_rows: batch * 1000,
            seconds: cost(batch),
            gap_seconds: Some(0.5),
            ..Sample::default()
        });
        let truth: f64 = (61..=600).map(|batch| cost(batch) + 0.5).sum();
        let (low, high) = time_left(&numbered.collect::<Vec<_>>(), 600).unwrap();
        assert!(low < truth && truth < high && high < 1.3 * low, "{low} {truth} {high}");
    }

    #[test]
    fn too_little_to_tell_is_said() {
        assert_eq!(time_left(&[], 10), None);
        assert_eq!(time_left(&samples(&[1.0, 1.0]), 10), None);
        assert_eq!(time_left(&samples(&[1.0; 5]), 5), None);
        assert_eq!(time_left(&samples(&[1.0; 5]), 4), None);
    }

    #[test]
    fn it_is_never_less_than_the_last_batches_imply() {
        // Level for 60 batches, and three that are ten times slower: no fit follows so soon.
        let cost = |batch: u64| if batch > 60 { 10.0 } else { 1.0 };
        let numbered = (1..=63).map(|batch| Sample {
            batch,
            rows: 1000,
            table_rows: batch * 1000,
            seconds: cost(batch),
            ..Sample::default()
        });
        let samples: Vec<Sample> = numbered.collect();
        assert!(time_left(&samples, 163).unwrap().0 >= 1000.0);
        assert!(left(&samples, 163, 0).unwrap().low >= 1000.0);
    }

    #[test]
    fn what_has_no_figure_yet_leaves_it_open() {
        assert_eq!(left(&[], 10, 0), None);
        assert_eq!(left(&samples(&[2.0]), 10, 0), Some(Left { low: 18.0, high: 18.0, open: true }));
        assert_eq!(left(&samples(&[2.0; 4]), 10, 0), Some(Left { low: 12.0, high: 12.0, open: false }));
        assert!(left(&samples(&[1.0, 1.0, 3.0, 3.0]), 6, 0).unwrap().open);
        assert_eq!(left(&samples(&[2.0; 4]), 4, 0), Some(Left::default()));
    }

    #[test]
    fn probes_to_come_are_part_of_it_and_those_before_are_no_cost_of_a_batch() {
        let mut probed = samples(&[2.0; 4]);
        assert!(left(&probed, 10, 3).unwrap().open);
        probed[2].notes = "after-probe".into();
        probed[2].gap_seconds = Some(30.0);
        assert_eq!(left(&probed, 10, 3), Some(Left { low: 102.0, high: 102.0, open: false }));
    }

    /// Flat, with a scatter of half of it and more in some batches: the same for each seed.
    fn noisy(count: u64, seed: u64) -> Vec<f64> {
        let draw = |n: u64| crate::key::mix::finalise(seed.wrapping_mul(1000) + n) as f64 / u64::MAX as f64;
        (0..count).map(|n| 1.0 + draw(n) + if draw(n + 500) > 0.9 { 2.0 } else { 0.0 }).collect()
    }

    #[test]
    fn the_low_end_holds_for_a_noisy_flat_curve_and_the_range_is_as_wide_as_its_scatter() {
        let (mut held, mut within, mut said) = (0, 0, 0);
        for seed in 1..=40 {
            let all = noisy(60, seed);
            for seen in [6, 12, 19, 30] {
                let truth: f64 = all[seen..].iter().sum();
                let found = left(&samples(&all[..seen]), 60, 0).unwrap();
                held += usize::from(found.low <= truth);
                within += usize::from(found.low <= truth && truth <= found.high);
                said += 1;
                // A forecast knows more than the scatter of ten batches.
                assert!(seen >= 20 || found.open || found.high > found.low * 1.1, "{seed} {seen}: {found:?}");
            }
        }
        assert!(held * 100 >= said * 97, "{held} of {said}");
        assert!(within * 100 >= said * 85, "{within} of {said}");
    }

    #[test]
    fn most_of_a_curve_to_come_leaves_it_open() {
        assert!(left(&samples(&[2.0; 4]), 40, 0).unwrap().open);
        assert!(!left(&samples(&[2.0; 15]), 40, 0).unwrap().open);
    }

    #[test]
    fn an_earlier_curve_tells_up_to_its_end_and_a_forecast_beyond() {
        let numbered = |count| {
            (1..=count).map(|batch| Sample {
                batch,
                rows: 1000,
                table_rows: batch * 1000,
                seconds: 2.0,
                gap_seconds: Some(0.5),
                ..Sample::default()
            })
        };
        let earlier: Vec<Sample> = numbered(30).collect();
        assert_eq!(as_before(&earlier, 20_000), Ok((50.0, 50.0)));
        assert_eq!(as_before(&earlier, 20_500), Ok((51.25, 51.25)));
        let (low, high) = as_before(&earlier, 60_000).unwrap();
        assert!(low < 150.0 && 150.0 < high && high < 160.0, "{low} {high}");
        assert_eq!(as_before(&earlier[..5], 60_000), Err(NoForecast::TooFew { batches: 5 }));
        assert_eq!(as_before(&[], 60_000), Err(NoForecast::TooFew { batches: 0 }));
    }
}
