//! What `forecast` says, for people and as JSON.

use serde::Serialize;

use crate::analyse::forecast::{Forecast, Growth, Model};
use crate::units::{grouped, human_rate, human_rows, human_seconds};

/// Version of the shape of `forecast --json`.
const SHAPE: u32 = 1;

/// What is known of one curve at the size that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Reckoned {
    /// The curve has been there.
    Measured {
        /// What the batch took.
        seconds: f64,
        /// The size after it.
        table_rows: u64,
        /// Its rows.
        rows: u64,
    },
    Forecast {
        /// At the size.
        forecast: Forecast,
        /// What it was made with.
        model: Model,
        /// The size at which the table will pass the cache, where no batch has seen that.
        unseen_cache_rows: Option<u64>,
    },
    /// None.
    Refused { why: String },
}

/// The answer for one curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub name: String,
    pub reckoned: Reckoned,
}

/// The answers for all curves.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecasts {
    /// The size that was asked for.
    pub at_rows: u64,
    /// One for each curve with a batch.
    pub answers: Vec<Answer>,
}

impl Forecasts {
    /// How many curves have an answer.
    pub fn made(&self) -> usize {
        self.answers.iter().filter(|answer| !matches!(answer.reckoned, Reckoned::Refused { .. })).count()
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut out = format!("at {} rows in the table\n", grouped(self.at_rows));
        for Answer { name, reckoned } in &self.answers {
            out.push_str(&format!("\n{name}\n"));
            for line in lines(reckoned) {
                out.push_str(&format!("  {line}\n"));
            }
        }
        out
    }

    /// One JSON object, with a line end.
    pub fn json(&self) -> String {
        let shape = Json { v: SHAPE, at_rows: self.at_rows, curves: self.answers.iter().map(JsonCurve::of).collect() };
        let mut text = serde_json::to_string_pretty(&shape).unwrap_or_default();
        text.push('\n');
        text
    }
}

fn lines(reckoned: &Reckoned) -> Vec<String> {
    match reckoned {
        Reckoned::Refused { why } => vec![format!("no forecast: {why}")],
        Reckoned::Measured { seconds, table_rows, rows } => vec![format!(
            "measured: the batch up to {} rows took {} ({} rows/s)",
            human_rows(*table_rows),
            human_seconds(*seconds),
            human_rate(*rows as f64 / seconds)
        )],
        Reckoned::Forecast { forecast, model, unseen_cache_rows } => {
            let rate = |seconds: f64| human_rate(model.batch_rows as f64 / seconds);
            let mut lines = vec![
                format!(
                    "a batch of {} rows takes {} to {} (80% range; {} to {} rows/s), most likely {}",
                    human_rows(model.batch_rows),
                    human_seconds(forecast.low_seconds),
                    human_seconds(forecast.high_seconds),
                    rate(forecast.high_seconds),
                    rate(forecast.low_seconds),
                    human_seconds(forecast.seconds)
                ),
                format!(
                    "model: {}, fitted on {} batches up to {} rows",
                    model_words(model),
                    model.batches,
                    human_rows(model.table_rows)
                ),
                format!(
                    "error: its own last quarter, forecast from the first three, was wrong by {:.1}% in the median",
                    model.error * 100.0
                ),
            ];
            if let Some(rows) = unseen_cache_rows {
                lines.push(format!(
                    "caution: the table passes its cache at about {} rows; no batch tells what a row costs beyond it, and it may be many times more",
                    human_rows(*rows)
                ));
            }
            lines
        }
    }
}

fn model_words(model: &Model) -> String {
    let (fit, words) = (&model.best, model.best.growth.words());
    match fit.growth {
        // The first batches are a little faster than the rest: nothing that deserves the name.
        Growth::OutgrownCache if fit.added_cost < fit.memory_cost / 2.0 => "nearly constant cost".to_owned(),
        Growth::OutgrownCache => format!("{words} (about {} rows fit)", human_rate(fit.shape_rows)),
        Growth::Constant => format!("{words} cost"),
        _ => words.to_owned(),
    }
}

#[derive(Serialize)]
struct Json<'a> {
    v: u32,
    at_rows: u64,
    curves: Vec<JsonCurve<'a>>,
}

#[derive(Serialize)]
struct JsonCurve<'a> {
    name: &'a str,
    /// `forecast`, `measured` or `refused`.
    answer: &'static str,
    refused: Option<&'a str>,
    batch_rows: Option<u64>,
    seconds_low: Option<f64>,
    seconds: Option<f64>,
    seconds_high: Option<f64>,
    /// `constant`, `linear`, `saturating` or `outgrown-cache`.
    model: Option<&'static str>,
    cache_rows: Option<f64>,
    median_error: Option<f64>,
    batches: Option<usize>,
    unseen_cache_rows: Option<u64>,
}

impl<'a> JsonCurve<'a> {
    fn of(answer: &'a Answer) -> Self {
        let mut out = Self {
            name: &answer.name,
            answer: "refused",
            refused: None,
            batch_rows: None,
            seconds_low: None,
            seconds: None,
            seconds_high: None,
            model: None,
            cache_rows: None,
            median_error: None,
            batches: None,
            unseen_cache_rows: None,
        };
        match &answer.reckoned {
            Reckoned::Refused { why } => out.refused = Some(why),
            Reckoned::Measured { seconds, rows, .. } => {
                (out.answer, out.seconds, out.batch_rows) = ("measured", Some(*seconds), Some(*rows));
            }
            Reckoned::Forecast { forecast, model, unseen_cache_rows } => {
                out.answer = "forecast";
                out.batch_rows = Some(model.batch_rows);
                out.seconds_low = Some(forecast.low_seconds);
                out.seconds = Some(forecast.seconds);
                out.seconds_high = Some(forecast.high_seconds);
                out.model = Some(model.best.growth.id());
                out.cache_rows = Some(model.best.shape_rows).filter(|_| model.best.growth == Growth::OutgrownCache);
                out.median_error = Some(model.error);
                out.batches = Some(model.batches);
                out.unseen_cache_rows = *unseen_cache_rows;
            }
        }
        out
    }
}
