//! What pictures and reports show of a batch: the median of the repeats, figure by figure.

use std::collections::BTreeMap;

use super::input::Input;
use crate::analyse::{Curve, median};
use crate::record::{STATEMENTS_OF_P99, Sample};

/// What the horizontal axis counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Across {
    /// Rows in the table.
    #[default]
    Rows,
    /// Bytes of the table.
    Bytes,
    /// Seconds.
    Seconds,
}

/// The figures of one batch of a cell. What is not known is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BatchFigures {
    pub batch: u64,
    /// Rows in the table after it.
    pub table_rows: u64,
    /// Rows of the batch.
    pub rows: u64,
    /// Seconds of the batch.
    pub seconds: f64,
    /// Sum of the timed sections up to its end.
    pub elapsed_seconds: f64,
    /// Data and indexes of the table after it.
    pub table_bytes: Option<f64>,
    /// Median statement latency, microseconds.
    pub p50_us: Option<f64>,
    /// 99th percentile of statement latency, microseconds.
    pub p99_us: Option<f64>,
    /// Longest statement, microseconds.
    pub max_us: Option<f64>,
    /// Pages read for a row.
    pub reads_per_row: Option<f64>,
    /// Bytes written for a row.
    pub written_per_row: Option<f64>,
}

impl BatchFigures {
    /// Seconds per million rows; `None` for a batch without rows.
    pub fn seconds_per_million(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.seconds * 1e6 / self.rows as f64)
    }

    /// Rows per second; `None` when the seconds are too short to divide by.
    pub fn inserts_per_sec(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.rows as f64 / self.seconds)
    }

    /// Its place on a horizontal axis; not a number where that is not known.
    pub fn across(&self, across: Across) -> f64 {
        match across {
            Across::Rows => self.table_rows as f64,
            Across::Bytes => self.table_bytes.unwrap_or(f64::NAN),
            Across::Seconds => self.elapsed_seconds,
        }
    }
}

/// The figures of the repeats of a cell, or of a single curve, ordered by batch.
pub fn figures(input: &Input, curves: &[&Curve]) -> Vec<BatchFigures> {
    let mut batches: BTreeMap<u64, Vec<BatchFigures>> = BTreeMap::new();
    for curve in curves {
        let mut elapsed = 0.0;
        for sample in &curve.samples {
            elapsed += sample.seconds;
            batches.entry(sample.batch).or_default().push(of_sample(input, curve, sample, elapsed));
        }
    }
    batches.into_values().filter_map(|repeats| middle(&repeats)).collect()
}

fn of_sample(input: &Input, curve: &Curve, sample: &Sample, elapsed_seconds: f64) -> BatchFigures {
    let per_row = |figure: f64| (sample.rows > 0).then(|| figure / sample.rows as f64);
    BatchFigures {
        batch: sample.batch,
        table_rows: sample.table_rows,
        rows: sample.rows,
        seconds: sample.seconds,
        elapsed_seconds,
        table_bytes: sample.table_bytes().map(|bytes| bytes as f64),
        p50_us: sample.p50_us.map(|micros| micros as f64),
        // Runs of older versions have one of any number of statements.
        p99_us: sample
            .p99_us
            .filter(|_| sample.statements.is_none_or(|count| count >= STATEMENTS_OF_P99))
            .map(|micros| micros as f64),
        max_us: sample.max_us.map(|micros| micros as f64),
        reads_per_row: input.moved_of(curve, sample).reads.and_then(per_row),
        written_per_row: sample.written_bytes.map(|bytes| bytes as f64).and_then(per_row),
    }
}

/// The median of each figure over the repeats that have it.
fn middle(repeats: &[BatchFigures]) -> Option<BatchFigures> {
    let [first, ..] = repeats else { return None };
    if repeats.len() == 1 {
        return Some(*first);
    }
    let of = |figure: fn(&BatchFigures) -> Option<f64>| {
        let known: Vec<f64> = repeats.iter().filter_map(figure).filter(|value| value.is_finite()).collect();
        median(&known)
    };
    // Repeats have equal batches; should one differ in rows, its seconds are scaled to the rows of the first.
    let scaled = |one: &BatchFigures| match one.rows {
        rows if rows == first.rows || rows == 0 => one.seconds,
        rows => one.seconds * first.rows as f64 / rows as f64,
    };
    let seconds: Vec<f64> = repeats.iter().map(scaled).filter(|seconds| seconds.is_finite()).collect();
    Some(BatchFigures {
        seconds: median(&seconds).unwrap_or(f64::NAN),
        elapsed_seconds: of(|one| Some(one.elapsed_seconds)).unwrap_or(f64::NAN),
        table_bytes: of(|one| one.table_bytes),
        p50_us: of(|one| one.p50_us),
        p99_us: of(|one| one.p99_us),
        max_us: of(|one| one.max_us),
        reads_per_row: of(|one| one.reads_per_row),
        written_per_row: of(|one| one.written_per_row),
        ..*first
    })
}

/// Where the table of a cell stands on a horizontal axis when it has so many rows: between batches along a straight line.
///
/// Before the first batch and after the last it is the first or the last; `None` where nothing is known.
pub fn place_at(figures: &[BatchFigures], across: Across, table_rows: f64) -> Option<f64> {
    if across == Across::Rows {
        return Some(table_rows);
    }
    let known = figures.iter().map(|one| (one.table_rows as f64, one.across(across))).filter(|(_, x)| x.is_finite());
    let (mut before, mut after) = (None, None);
    for (rows, x) in known {
        if rows <= table_rows {
            before = Some((rows, x));
        } else if after.is_none() {
            after = Some((rows, x));
        }
    }
    match (before, after) {
        (Some((from, low)), Some((to, high))) => Some(low + (high - low) * (table_rows - from) / (to - from)),
        (Some((_, x)), None) | (None, Some((_, x))) => Some(x),
        (None, None) => None,
    }
}

/// The rows at which the table grows beyond `bytes`; `None` where it does not, or its size is not known.
pub fn rows_at_bytes(figures: &[BatchFigures], bytes: f64) -> Option<f64> {
    let known: Vec<(f64, f64)> =
        figures.iter().filter_map(|one| Some((one.table_rows as f64, one.table_bytes?))).collect();
    let beyond = known.iter().position(|&(_, size)| size > bytes)?;
    let (to, high) = known[beyond];
    let (from, low) = if beyond == 0 { (0.0, 0.0) } else { known[beyond - 1] };
    Some(from + (to - from) * ((bytes - low) / (high - low)).clamp(0.0, 1.0))
}

/// A median over as many batches at each end as are there, `window` of them in all: what `--smooth` draws.
pub fn smoothed(values: &[f64], window: usize) -> Vec<f64> {
    let half = window / 2;
    (0..values.len())
        .map(|at| {
            // As far to one side as to the other, so that the ends of a slope stay where they are.
            let reach = half.min(at).min(values.len() - 1 - at);
            let near: Vec<f64> =
                values[at - reach..=at + reach].iter().copied().filter(|value| value.is_finite()).collect();
            if values[at].is_finite() { median(&near).unwrap_or(values[at]) } else { values[at] }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::{RunSamples, group};

    fn sample(repeat: u32, batch: u64, seconds: f64, data: Option<u64>) -> Sample {
        Sample {
            curve: format!("c{repeat}"),
            repeat,
            batch,
            rows: 100,
            table_rows: batch * 100,
            seconds,
            data_bytes: data,
            index_bytes: data.map(|bytes| bytes / 2),
            written_bytes: Some(5000),
            p99_us: (repeat == 1).then_some(700),
            ..Sample::default()
        }
    }

    fn found(samples: Vec<Sample>) -> Vec<BatchFigures> {
        let curves = group(&[RunSamples { run: "r".into(), samples }]).curves;
        figures(&Input::default(), &curves.iter().collect::<Vec<_>>())
    }

    #[test]
    fn each_figure_is_the_median_of_the_repeats_that_have_it() {
        let all = found(vec![
            sample(1, 1, 1.0, Some(1000)),
            sample(2, 1, 3.0, None),
            sample(3, 1, 2.0, Some(2000)),
            sample(1, 2, 5.0, None),
        ]);
        assert_eq!((all[0].seconds, all[0].table_bytes, all[0].p99_us), (2.0, Some(2250.0), Some(700.0)));
        assert_eq!((all[1].seconds, all[1].elapsed_seconds, all[1].table_bytes), (5.0, 6.0, None));
        assert_eq!((all[0].written_per_row, all[0].reads_per_row), (Some(50.0), None));
        assert_eq!((all[1].inserts_per_sec(), all[1].seconds_per_million()), (Some(20.0), Some(50_000.0)));
        assert!(all[1].across(Across::Bytes).is_nan());
    }

    #[test]
    fn a_place_in_rows_is_a_place_on_any_axis() {
        let all = found((1..=4).map(|batch| sample(1, batch, batch as f64, Some(batch * 1000))).collect());
        assert_eq!(place_at(&all, Across::Rows, 250.0), Some(250.0));
        assert_eq!(place_at(&all, Across::Seconds, 250.0), Some(4.5));
        assert_eq!(place_at(&all, Across::Seconds, 9000.0), Some(10.0));
        assert_eq!(place_at(&all, Across::Bytes, 0.0), Some(1500.0));
        assert_eq!(place_at(&[], Across::Bytes, 0.0), None);
        assert_eq!(rows_at_bytes(&all, 2250.0), Some(150.0));
        assert_eq!(rows_at_bytes(&all, 750.0), Some(50.0));
        assert_eq!(rows_at_bytes(&all, 6000.0), None);
    }

    #[test]
    fn smoothing_takes_out_a_spike_and_keeps_a_step_and_the_ends() {
        let spike = [1.0, 1.0, 9.0, 1.0, 1.0];
        assert_eq!(smoothed(&spike, 3), [1.0; 5]);
        let step = [1.0, 1.0, 1.0, 5.0, 5.0, 5.0];
        assert_eq!(smoothed(&step, 5), step);
        assert_eq!(smoothed(&[1.0, 2.0, 3.0, 4.0], 9), [1.0, 2.0, 3.0, 4.0]);
        assert!(smoothed(&[1.0, f64::NAN, 1.0], 3)[1].is_nan());
        assert!(smoothed(&[], 3).is_empty());
    }
}
