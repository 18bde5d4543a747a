//! What is read from a curve: its shape, levels and cliffs, with how sure it is and why.

use super::factor::Factor;
use super::rhythm::Rhythm;
use super::shape::Shape;
use super::two_levels::TwoLevels;

/// A point of a curve that takes part in the reading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
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
    Medium,
    /// Nothing else describes the curve nearly as well.
    High,
}

impl Confidence {
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Table sizes between which something begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Onset {
    /// It lies above this one ...
    pub from_rows: u64,
    /// ... and below this one.
    pub to_rows: u64,
}

/// A stretch of slow batches with quicker ones before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slump {
    /// Rows in the table before its first batch.
    pub from_rows: u64,
    /// Rows in the table after its last one.
    pub to_rows: u64,
    pub first_batch: u64,
    pub last_batch: u64,
    pub batches: usize,
    /// Its cost divided by that of the batches beside it.
    pub factor: f64,
}

/// How sure the word for a curve is: what became of its copies, see [`verdict`](super::verdict).
#[derive(Debug, Clone, PartialEq)]
pub struct Certainty {
    /// High from 95% of the copies on, medium from 80%, and lower where something else counts against it.
    pub confidence: Confidence,
    /// Share of the copies with the same word.
    pub share: f64,
    /// Share of the copies with a cliff.
    pub cliff_share: f64,
    /// The next most frequent word, its share, and where it begins, where it has an onset.
    pub other: Option<(Shape, f64, Option<Onset>)>,
    /// Why the confidence is lower than the share, a sentence part each.
    pub doubts: Vec<String>,
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
    pub batch: u64,
    /// Rows in the table after it.
    pub table_rows: u64,
    /// Its cost divided by the median of its neighbours'.
    pub factor: f64,
}

/// What is read from one curve.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    pub shape: Shape,
    /// Batches that took part.
    pub batches: usize,
    /// Batches that did not: resumed, retried, without a usable figure, or a slow first one.
    pub left_out: usize,
    /// How many times slower the end is than the baseline.
    pub factor: Factor,
    /// Every k-th batch is slow. The shape is that of the curve without it.
    pub rhythm: Option<Rhythm>,
    /// Rows in the table at the end.
    pub end_rows: u64,
    /// The baseline, seconds per million rows.
    pub baseline_seconds_per_million: Option<f64>,
    /// The end level, seconds per million rows: the median of the last three batches, or their mean over whole periods of a rhythm.
    pub end_seconds_per_million: Option<f64>,
    /// Standard deviation of the batches around the shape, as a share of their cost.
    pub scatter: Option<f64>,
    /// Independent points that say as much as the batches.
    pub effective_points: Option<f64>,
    /// How sure the shape is; `None` of a curve that is too short, or was read at a glance.
    pub certainty: Option<Certainty>,
    /// Where a bend or a step begins.
    pub onset: Option<Onset>,
    /// The table size by which half of its loss of speed is over.
    pub half_rows: Option<u64>,
    /// Slumps that are over, in the order of the table size.
    pub slumps: Vec<Slump>,
    /// A slump that goes on at the end, at a level that was left before.
    pub slow_again: Option<Slump>,
    /// Whether the last slump was left with the very last batch.
    pub last_is_back: bool,
    /// Its cliffs, in the order of the table size.
    pub cliffs: Vec<Cliff>,
    pub spikes: Vec<Spike>,
    /// What else there is to say, a sentence each.
    pub remarks: Vec<String>,
}

impl Reading {
    /// The same with the factor of the curve and its rhythm, which are found before the shape is.
    #[must_use]
    pub fn with(self, factor: Factor, rhythm: Option<Rhythm>) -> Self {
        Self {
            baseline_seconds_per_million: factor.baseline_seconds_per_million,
            end_seconds_per_million: factor.end_seconds_per_million,
            factor,
            rhythm,
            ..self
        }
    }

    /// The same with its two levels: a curve that goes to and fro between them is neither flat nor recovered, and does not rise by and
    /// by as the teeth of a saw do.
    #[must_use]
    pub fn with_levels(self, levels: Option<TwoLevels>) -> Self {
        let hides_levels = matches!(self.shape, Shape::Flat | Shape::Spike | Shape::Recovered | Shape::Sawtooth);
        let Some(levels) = levels.filter(|_| hides_levels) else { return self };
        // Spikes, slumps, a way back and a scatter without an order are what the levels looked like to who did not see them.
        Self {
            shape: Shape::TwoLevels,
            spikes: Vec::new(),
            slumps: Vec::new(),
            slow_again: None,
            last_is_back: false,
            remarks: vec![levels.sentence()],
            ..self
        }
    }

    /// The end level divided by the baseline.
    pub fn slowdown(&self) -> Option<f64> {
        self.factor.value
    }
}

impl Reading {
    /// Whether it ends in the middle of something, so that more batches would change what it says.
    pub fn is_open(&self) -> bool {
        self.slow_again.is_some() || self.last_is_back
    }

    /// The confidence of the shape; low where nothing is known.
    pub fn confidence(&self) -> Confidence {
        self.certainty.as_ref().map_or(Confidence::Low, |certainty| certainty.confidence)
    }

    /// Whether there is a cliff that a script may act on: of at least medium confidence.
    pub fn has_cliff(&self) -> bool {
        self.cliffs.iter().any(|cliff| cliff.confidence >= Confidence::Medium)
    }

    /// Lets nothing be surer than `most`, and keeps the reason.
    pub fn doubt(&mut self, most: Confidence, why: String) {
        for cliff in &mut self.cliffs {
            cliff.confidence = cliff.confidence.min(most);
        }
        if let Some(certainty) = &mut self.certainty {
            certainty.confidence = certainty.confidence.min(most);
            certainty.doubts.push(why);
        }
    }
}
