//! Which pictures there are, and what goes into each.

use std::collections::BTreeSet;

use super::input::Input;
use super::names::{Named, common_words, short_names};
use super::palette::{Theme, looks};
use super::plot::{Mark, MarkKind, Picture, PlotError, PlotSpec, Point, Series, draw_svg};
use super::scale::Quantity;
use super::show::version;
use crate::analyse::cliffs::{CLIFF_FACTOR, read};
use crate::analyse::{Cell, Cliff, MedianPoint, cells};
use crate::record::{Outcome, Sample};
use crate::units::{grouped, human_rows};

/// A picture of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureKind {
    /// What a batch costs.
    SecondsPerBatch,
    /// How fast rows go in.
    InsertsPerSecond,
}

impl PictureKind {
    /// Every picture.
    pub const ALL: [Self; 2] = [Self::SecondsPerBatch, Self::InsertsPerSecond];

    /// Name of the picture's file, without its ending.
    pub fn file_stem(self) -> &'static str {
        match self {
            Self::SecondsPerBatch => "seconds-per-batch",
            Self::InsertsPerSecond => "inserts-per-second",
        }
    }

    fn title(self, table_grows: bool) -> &'static str {
        match (self, table_grows) {
            (Self::SecondsPerBatch, true) => "Seconds per batch as the table grows",
            (Self::InsertsPerSecond, true) => "Inserts per second as the table grows",
            (Self::SecondsPerBatch, false) => "Seconds per million rows",
            (Self::InsertsPerSecond, false) => "Inserts per second",
        }
    }
}

/// How pictures are wanted.
#[derive(Debug, Clone)]
pub struct PictureOptions {
    /// Logarithmic vertical axis.
    pub log: bool,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Colours.
    pub theme: Theme,
    /// Title; without one, the picture's own.
    pub title: Option<String>,
    /// Line below the title; without one: versions, what all curves share, sizes.
    pub subtitle: Option<String>,
}

impl Default for PictureOptions {
    fn default() -> Self {
        Self { log: false, width: 1200, height: 700, theme: Theme::light(), title: None, subtitle: None }
    }
}

/// Draws one picture of all curves that have samples: a line for each cell, the median of its repeats.
///
/// # Errors
/// As [`draw_svg`].
pub fn picture(kind: PictureKind, input: &Input, options: &PictureOptions) -> Result<Picture, PlotError> {
    let measured: Vec<_> = input.curves.iter().filter(|curve| !curve.samples.is_empty()).cloned().collect();
    let cells = cells(&measured);
    let named: Vec<Named<'_>> = cells.iter().map(Named::from).collect();
    let sizes = batch_sizes(&cells);
    // Rows of a batch are not known where a file has something else than sizes.
    let per_batch = sizes.len() == 1 && input.other_x.is_none();
    let series: Vec<Series> = cells
        .iter()
        .zip(short_names(&named))
        .zip(looks(&named))
        .map(|((cell, name), look)| Series {
            name,
            look,
            points: points(&cell.median(), kind, per_batch),
            repeats: repeats(cell, kind, per_batch),
            marks: marks(cell, input),
        })
        .collect();
    let (quantity, y_title) = match (kind, sizes.first()) {
        (PictureKind::InsertsPerSecond, _) => (Quantity::Rate, "inserts per second".to_owned()),
        (PictureKind::SecondsPerBatch, Some(rows)) if per_batch => {
            (Quantity::Seconds, format!("seconds per batch of {} rows", grouped(*rows)))
        }
        (PictureKind::SecondsPerBatch, _) if input.other_x.is_some() => {
            (Quantity::Seconds, "seconds per million rows".to_owned())
        }
        (PictureKind::SecondsPerBatch, _) => {
            (Quantity::Seconds, "seconds per million rows, since batches differ in size".to_owned())
        }
    };
    let spec = PlotSpec {
        title: options.title.clone().unwrap_or_else(|| kind.title(input.other_x.is_none()).to_owned()),
        subtitle: options.subtitle.clone().unwrap_or_else(|| subtitle(input, &cells, &named)),
        x_title: input.other_x.clone(),
        y_title,
        quantity,
        log: options.log,
        width: options.width,
        height: options.height,
        theme: options.theme.clone(),
        notes: notes(input, &cells),
    };
    draw_svg(&spec, &series)
}

/// The sizes of all batches. More than one and seconds per batch cannot be compared.
fn batch_sizes(cells: &[Cell<'_>]) -> BTreeSet<u64> {
    let curves = cells.iter().flat_map(|cell| &cell.curves);
    curves.flat_map(|curve| &curve.samples).map(|sample| sample.rows).collect()
}

fn points(median: &[MedianPoint], kind: PictureKind, per_batch: bool) -> Vec<Point> {
    median
        .iter()
        .map(|point| {
            let figure = match kind {
                PictureKind::SecondsPerBatch if per_batch => Some(point.seconds),
                PictureKind::SecondsPerBatch => point.seconds_per_million(),
                PictureKind::InsertsPerSecond => point.inserts_per_sec(),
            };
            Point { batch: point.batch, x: point.table_rows as f64, y: figure.unwrap_or(f64::NAN) }
        })
        .collect()
}

fn repeats(cell: &Cell<'_>, kind: PictureKind, per_batch: bool) -> Vec<Vec<Point>> {
    if cell.curves.len() < 2 {
        return Vec::new();
    }
    let alone = cell.curves.iter().map(|curve| Cell { curves: vec![*curve], ..cell.clone() });
    alone.map(|one| points(&one.median(), kind, per_batch)).collect()
}

/// Signs where repeats of a cell were ended early or resumed.
fn marks(cell: &Cell<'_>, input: &Input) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    for curve in &cell.curves {
        for sample in curve.samples.iter().filter(|sample| sample.has_note("resumed")) {
            marks.push(Mark { x: sample.table_rows as f64, kind: MarkKind::Resume, text: String::new() });
        }
        let Some((kind, text)) = input.outcome_of(curve).and_then(ending) else { continue };
        let at = human_rows(curve.table_rows());
        let text = format!("{text} at {at} rows");
        marks.push(Mark { x: curve.table_rows() as f64, kind, text });
    }
    marks.dedup();
    marks.extend(cliff_marks(cell));
    marks
}

/// Signs where the line of a cell, the median of its repeats, fell off a cliff.
fn cliff_marks(cell: &Cell<'_>) -> Vec<Mark> {
    let reading = match cell.curves.as_slice() {
        [one] => read(&one.samples, CLIFF_FACTOR),
        _ => {
            let of_point = |point: MedianPoint| Sample {
                batch: point.batch,
                rows: point.rows,
                table_rows: point.table_rows,
                seconds: point.seconds,
                ..Sample::default()
            };
            read(&cell.median().into_iter().map(of_point).collect::<Vec<_>>(), CLIFF_FACTOR)
        }
    };
    let mark = |cliff: &Cliff| Mark {
        x: (cliff.onset_from_rows as f64 + cliff.onset_to_rows as f64) / 2.0,
        kind: MarkKind::Cliff,
        text: format!(
            "{:.1}x slower from {} to {} rows on",
            cliff.factor(),
            human_rows(cliff.onset_from_rows),
            human_rows(cliff.onset_to_rows)
        ),
    };
    reading.cliffs.iter().map(mark).collect()
}

/// The sign and the words for a curve that did not complete.
fn ending(outcome: &Outcome) -> Option<(MarkKind, String)> {
    match outcome {
        Outcome::Stopped { rule, .. } => Some((MarkKind::Stop, format!("stopped by {rule}"))),
        Outcome::Full { .. } => Some((MarkKind::Full, "table full".into())),
        Outcome::Failed { .. } => Some((MarkKind::Failed, "failed".into())),
        Outcome::Interrupted => Some((MarkKind::Interrupted, "interrupted".into())),
        Outcome::NotStarted | Outcome::Running | Outcome::Completed | Outcome::Skipped { .. } => None,
    }
}

/// `mariadb 10.11.6 · innodb, flush 1, insert, 8 connections · batches of 100k rows · median of 3 repeats`.
fn subtitle(input: &Input, cells: &[Cell<'_>], named: &[Named<'_>]) -> String {
    let mut versions: Vec<String> = Vec::new();
    for target in input.runs.iter().filter_map(|run| run.record.as_ref()).flat_map(|record| record.targets.values()) {
        let version = version(&target.flavour, &target.version);
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    let mut parts = vec![versions.join(", "), common_words(named).join(", ")];
    let sizes: Vec<String> = batch_sizes(cells).into_iter().map(human_rows).collect();
    match sizes.len() {
        _ if input.other_x.is_some() => {}
        0 => {}
        1..=3 => parts.push(format!("batches of {} rows", sizes.join(", "))),
        more => parts.push(format!("batches of {more} sizes")),
    }
    let repeats = cells.iter().map(|cell| cell.curves.len()).max().unwrap_or(1);
    if repeats > 1 {
        parts.push(format!("median of {repeats} repeats"));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

fn notes(input: &Input, cells: &[Cell<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    if cells.iter().any(|cell| cell.curves.len() > 1) {
        notes.push("Strong lines are medians of the repeats, light lines the single repeats.".to_owned());
    }
    let resumed = cells.iter().flat_map(|cell| &cell.curves).flat_map(|curve| &curve.samples);
    if resumed.into_iter().any(|sample| sample.has_note("resumed")) {
        notes.push("A triangle marks where a curve was resumed.".to_owned());
    }
    if cells.iter().any(|cell| !cliff_marks(cell).is_empty()) {
        notes.push(
            "A ring on a line marks where it fell off a cliff; evidence, not proof, of a cause: see `rowcliff cliffs`."
                .to_owned(),
        );
    }
    if input.runs.iter().filter_map(|run| run.record.as_ref()).any(|record| record.build_profile == "debug") {
        notes.push("Made with a debug build: these figures are not to be published.".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::{RunSamples, group};

    /// Seconds for 100,000 rows each, measured for this project: InnoDB of MariaDB 10.11 with a buffer pool of 64 MiB
    /// and random keys. A plateau, a cliff between 300,000 and 500,000 rows, a higher level.
    const INNODB_UUID: [f64; 15] = [
        0.3653, 0.3734, 0.4092, 0.7544, 1.9002, 2.6034, 2.9648, 3.1736, 4.3218, 4.7266, 4.4905, 3.9518, 4.0743, 4.1659,
        4.1446,
    ];

    fn samples(curve: &str, key: &str, repeat: u32, rows: u64, seconds: &[f64]) -> Vec<Sample> {
        (1..)
            .zip(seconds)
            .map(|(batch, &seconds)| Sample {
                curve: curve.into(),
                engine: "innodb".into(),
                key: key.into(),
                method: "insert".into(),
                connections: 8,
                repeat,
                batch,
                rows,
                table_rows: batch * rows,
                seconds,
                ..Sample::default()
            })
            .collect()
    }

    fn input(samples: Vec<Sample>) -> Input {
        Input { curves: group(&[RunSamples { run: "r".into(), samples }]).curves, ..Input::default() }
    }

    fn svg(kind: PictureKind, samples: Vec<Sample>) -> String {
        picture(kind, &input(samples), &PictureOptions::default()).unwrap().svg
    }

    #[test]
    fn equal_batches_are_shown_in_seconds_as_recorded() {
        let mut all = samples("u", "uuid4:char32", 1, 100_000, &INNODB_UUID);
        all.extend(samples("a", "autoinc", 1, 100_000, &[0.4; 20]));
        let text = svg(PictureKind::SecondsPerBatch, all);
        assert!(text.contains("seconds per batch of 100,000 rows"));
        assert!(text.contains("innodb, insert, 8 connections · batches of 100k rows"));
        assert!(text.contains("\nuuid4\n") && text.contains("\nautoinc\n"));
    }

    #[test]
    fn unequal_batches_are_shown_per_million_rows() {
        let mut all = samples("u", "uuid4:char32", 1, 100_000, &INNODB_UUID);
        all.extend(samples("a", "autoinc", 1, 250_000, &[1.0; 10]));
        let text = svg(PictureKind::SecondsPerBatch, all.clone());
        assert!(text.contains("seconds per million rows, since batches differ in size"));
        assert!(svg(PictureKind::InsertsPerSecond, all).contains("inserts per second"));
    }

    #[test]
    fn repeats_are_one_line_and_their_median_is_said() {
        let all: Vec<Sample> =
            (1..=3).flat_map(|repeat| samples(&format!("u{repeat}"), "uuid4", repeat, 100_000, &INNODB_UUID)).collect();
        let text = svg(PictureKind::SecondsPerBatch, all);
        assert_eq!(text.matches("<g class=\"curve\">").count(), 1);
        assert!(text.contains("median of 3 repeats"));
    }

    #[test]
    fn a_batch_without_a_rate_is_a_gap_that_is_said() {
        let found = input(samples("u", "uuid4", 1, 100_000, &[1.0, 0.0, 1.0, 1.1]));
        let found = picture(PictureKind::InsertsPerSecond, &found, &PictureOptions::default()).unwrap();
        assert_eq!(found.left_out, ["innodb uuid4: batch 2 without a figure left out"]);
        let nothing = picture(PictureKind::SecondsPerBatch, &input(vec![]), &PictureOptions::default());
        assert!(matches!(nothing, Err(PlotError::Nothing { .. })));
    }
}
