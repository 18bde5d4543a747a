//! What is read from a curve: its shape, levels and cliffs, with how sure it is and why.

use super::factor::Factor;
use super::rhythm::Rhythm;
use super::shape::Shape;
use super::two_levels::TwoLevels;

/// A point of a curve that takes part in the reading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// The batch.
    pub batch: u64,
    /// Rows in the table after it.
    pub table_rows: u64,
    /// Seconds per million rows, above 0.
    pub seconds_per_million: f64,
}

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// It may be chance, or over soon: more batches would tell.
    Low,
    /// Likely.
    Medium,
    /// Nothing else describes the curve nearly as well.
    High,
}

impl Confidence {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// A lasting drop in insert speed at some table size.
#[derive(Debug, Clone, PartialEq)]
pub struct Cliff {
    /// Bend or step.
    pub shape: Shape,
    /// The onset lies above this table size ...
    pub onset_from_rows: u64,
    /// ... and below this one.
    pub onset_to_rows: u64,
    /// The first batch of the fall, as far as one batch can be named.
    pub onset_batch: u64,
    /// Seconds per million rows before it.
    pub before_seconds_per_million: f64,
    /// Seconds per million rows at the end.
    pub after_seconds_per_million: f64,
    /// Whether the speed still falls at the end of the curve.
    pub still_falling: bool,
    /// Whether there are only a few batches before it: the fall began in the first batches.
    pub early: bool,
    /// How sure it is.
    pub confidence: Confidence,
    /// Why, a sentence part each.
    pub why: Vec<String>,
}

impl Cliff {
    /// How many times slower the end is than before.
    pub fn factor(&self) -> f64 {
        self.after_seconds_per_million / self.before_seconds_per_million
    }
}

/// A single batch that costs far more than those around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spike {
    /// The batch.
    pub batch: u64,
    /// Rows in the table after it.
    pub table_rows: u64,
    /// Its cost divided by the median of its neighbours'.
    pub factor: f64,
}

/// What is read from one curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Its shape.
    pub shape: Shape,
    /// Batches that took part.
    pub batches: usize,
    /// Batches that did not: resumed, retried, without a usable figure, or a slow first one.
    pub left_out: usize,
    /// How many times slower the end is than the baseline.
    pub factor: Factor,
    /// Every k-th batch is slow. The shape is that of the curve without it.
    pub rhythm: Option<Rhythm>,
    /// The baseline, seconds per million rows.
    pub baseline_seconds_per_million: Option<f64>,
    /// The end level, seconds per million rows: the median of the last three batches, or their mean over whole periods of a rhythm.
    pub end_seconds_per_million: Option<f64>,
    /// Standard deviation of the batches around the shape, as a share of their cost.
    pub scatter: Option<f64>,
    /// Independent points that say as much as the batches.
    pub effective_points: Option<f64>,
    /// Its cliffs, in the order of the table size.
    pub cliffs: Vec<Cliff>,
    /// Its spikes.
    pub spikes: Vec<Spike>,
    /// What else there is to say, a sentence each.
    pub remarks: Vec<String>,
}

impl Reading {
    /// The same with the factor of the curve and its rhythm, which are found before the shape is, and with its two levels: a curve that
    /// goes to and fro between them is neither flat nor recovered, and does not rise by and by as the teeth of a saw do.
    pub fn with(self, factor: Factor, rhythm: Option<Rhythm>, levels: Option<TwoLevels>) -> Self {
        let hides_levels = matches!(self.shape, Shape::Flat | Shape::Spike | Shape::Recovered | Shape::Sawtooth);
        let levels = levels.filter(|_| hides_levels);
        let shape = if levels.is_some() { Shape::TwoLevels } else { self.shape };
        // Spikes, a way back and a scatter without an order are what the levels looked like to who did not see them.
        let spikes = if levels.is_some() { Vec::new() } else { self.spikes };
        let remarks = levels.map_or(self.remarks, |levels| vec![levels.sentence()]);
        Self {
            shape,
            spikes,
            remarks,
            baseline_seconds_per_million: factor.baseline_seconds_per_million,
            end_seconds_per_million: factor.end_seconds_per_million,
            factor,
            rhythm,
            ..self
        }
    }

    /// The end level divided by the baseline.
    pub fn slowdown(&self) -> Option<f64> {
        self.factor.value
    }
}
