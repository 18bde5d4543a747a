//! Which pictures there are, and what goes into each.

use std::collections::BTreeSet;

use super::cliffs;
use super::facets::{self, Facet};
use super::heat;
use super::palette::{Theme, looks};
use super::plot::{Guide, Mark, MarkKind, Picture, PlotError, PlotSpec, Point, Series, draw_svg};
use super::probes;
use super::scale::Quantity;
use super::show::version;
use super::within;
use crate::analyse::cliffs::{CLIFF_FACTOR, glance, read};
use crate::analyse::{Cell, Cliff, Confidence, MedianPoint, Reading, cells, sentences};
use crate::reading::cache::cache_of;
use crate::reading::figures::Across;
use crate::reading::figures::{BatchFigures, figures, place_at, rows_at_bytes, smoothed};
use crate::reading::input::Input;
use crate::reading::names::{Named, common_words, short_names};
use crate::record::{Outcome, Sample};
use crate::units::{grouped, human_bytes, human_rows};

/// A picture of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureKind {
    /// What a batch costs.
    SecondsPerBatch,
    /// How fast rows go in.
    InsertsPerSecond,
    /// How long statements take.
    Latency,
    /// How fast rows go in second by second.
    InsideBatches,
    /// Pages read for a row.
    ReadsPerRow,
    /// Bytes written for a row.
    BytesPerRow,
    /// End speeds of all cells relative to the best.
    EndSpeeds,
    /// Operations per second of probes over the size of the table.
    Probes,
    /// Operations per second of probes over connections.
    ProbeConnections,
}

impl PictureKind {
    /// Every picture.
    pub const ALL: [Self; 9] = [
        Self::SecondsPerBatch,
        Self::InsertsPerSecond,
        Self::Latency,
        Self::InsideBatches,
        Self::ReadsPerRow,
        Self::BytesPerRow,
        Self::EndSpeeds,
        Self::Probes,
        Self::ProbeConnections,
    ];

    /// The two of the batches that are drawn unless others are asked for.
    pub const USUAL: [Self; 2] = [Self::SecondsPerBatch, Self::InsertsPerSecond];

    /// Those that are drawn unless others are asked for: those of probes too, where there are probes.
    pub fn usual(input: &Input) -> Vec<Self> {
        Self::USUAL.into_iter().chain(Self::of_probes(input)).collect()
    }

    /// The pictures for which there are probes.
    pub fn of_probes(input: &Input) -> Vec<Self> {
        let mut kinds = Vec::new();
        if input.has_probes() {
            kinds.push(Self::Probes);
            if probes::picture::has_connections(input) {
                kinds.push(Self::ProbeConnections);
            }
        }
        kinds
    }

    /// Name of the picture's file, without its ending.
    pub fn file_stem(self) -> &'static str {
        match self {
            Self::SecondsPerBatch => "seconds-per-batch",
            Self::InsertsPerSecond => "inserts-per-second",
            Self::Latency => "statement-latency",
            Self::InsideBatches => "inside-batches",
            Self::ReadsPerRow => "reads-per-row",
            Self::BytesPerRow => "bytes-per-row",
            Self::EndSpeeds => "end-speeds",
            Self::Probes => "probes",
            Self::ProbeConnections => "probes-by-connections",
        }
    }

    /// Its title, unless another one is asked for.
    pub fn title(self, table_grows: bool) -> &'static str {
        match self {
            Self::SecondsPerBatch if !table_grows => "Seconds per million rows",
            Self::InsertsPerSecond if !table_grows => "Inserts per second",
            Self::SecondsPerBatch => "Seconds per batch as the table grows",
            Self::InsertsPerSecond => "Inserts per second as the table grows",
            Self::Latency => "Statement latency as the table grows",
            Self::InsideBatches => "Inserts per second inside batches",
            Self::ReadsPerRow => "Pages read per row as the table grows",
            Self::BytesPerRow => "Bytes written per row as the table grows",
            Self::EndSpeeds => "Speed at the end, relative to the best",
            Self::Probes if !table_grows => "Operations per second",
            Self::Probes => "Operations per second as the table grows",
            Self::ProbeConnections => "Operations per second by connections",
        }
    }

    /// The figure of a batch that it shows, and what is drawn lightly beside it; not a number where that is not known.
    pub fn figure(self, batch: &BatchFigures, per_batch: bool) -> f64 {
        match self {
            Self::SecondsPerBatch if per_batch => Some(batch.seconds),
            Self::SecondsPerBatch => batch.seconds_per_million(),
            Self::InsertsPerSecond | Self::InsideBatches | Self::EndSpeeds => batch.inserts_per_sec(),
            Self::Latency => batch.p99_us.map(|micros| micros / 1000.0),
            Self::ReadsPerRow => batch.reads_per_row,
            Self::BytesPerRow => batch.written_per_row,
            Self::Probes | Self::ProbeConnections => None,
        }
        .unwrap_or(f64::NAN)
    }
}

/// How pictures are wanted.
#[derive(Debug, Clone)]
pub struct PictureOptions {
    /// Logarithmic vertical axis.
    pub log: bool,
    pub width: u32,
    pub height: u32,
    pub theme: Theme,
    /// Title; without one, the picture's own.
    pub title: Option<String>,
    /// Line below the title; without one: versions, what all curves share, sizes.
    pub subtitle: Option<String>,
    /// What the horizontal axis counts.
    pub across: Across,
    /// Small multiples, one for each value of this.
    pub facet: Option<Facet>,
    /// Batches of the running median that is drawn instead of the batches themselves.
    pub smooth: Option<usize>,
}

impl Default for PictureOptions {
    fn default() -> Self {
        Self {
            log: false,
            width: 1200,
            height: 700,
            theme: Theme::light(),
            title: None,
            subtitle: None,
            across: Across::Rows,
            facet: None,
            smooth: None,
        }
    }
}

/// Draws one picture of all curves that have samples: a line for each cell, the median of its repeats.
///
/// # Errors
/// As [`draw_svg`].
pub fn picture(kind: PictureKind, input: &Input, options: &PictureOptions) -> Result<Picture, PlotError> {
    match kind {
        PictureKind::Probes => return probes::picture::over_sizes(input, options),
        PictureKind::ProbeConnections => return probes::picture::over_connections(input, options),
        _ => {}
    }
    let measured: Vec<_> = input.curves.iter().filter(|curve| !curve.samples.is_empty()).cloned().collect();
    let cells = cells(&measured);
    let named: Vec<Named<'_>> = cells.iter().map(Named::from).collect();
    let sizes = batch_sizes(&cells);
    let mut spec = PlotSpec {
        title: options.title.clone().unwrap_or_else(|| kind.title(input.other_x.is_none()).to_owned()),
        subtitle: options.subtitle.clone().unwrap_or_else(|| subtitle(input, &cells, &named)),
        x_title: input.other_x.clone(),
        log: options.log,
        across: options.across,
        width: options.width,
        height: options.height,
        theme: options.theme.clone(),
        ..PlotSpec::default()
    };
    if kind == PictureKind::EndSpeeds {
        spec.notes = notes(input, &cells, &[], kind, options);
        return heat::draw(&spec, input, &cells);
    }
    (spec.quantity, spec.y_title) = vertical(kind, &sizes);
    // Rows of a batch are not known where a file has something else than sizes.
    let per_batch = sizes.len() == 1 && input.other_x.is_none();
    if kind == PictureKind::SecondsPerBatch && input.other_x.is_some() {
        spec.y_title = "seconds per million rows".to_owned();
    }
    let mut problems = Vec::new();
    let seconds = match kind {
        PictureKind::InsideBatches => within::load(input, &mut problems),
        _ => within::Seconds::new(),
    };
    let drawing = Drawing { kind, input, options, per_batch, seconds };
    let known: Vec<Vec<BatchFigures>> = cells.iter().map(|cell| figures(input, &cell.curves)).collect();
    let series: Vec<Series> = cells
        .iter()
        .zip(&known)
        .zip(short_names(&named))
        .zip(looks(&named))
        .map(|(((cell, known), name), look)| Series { name, look, ..drawing.series(cell, known) })
        .collect();
    spec.notes = notes(input, &cells, &series, kind, options);
    if options.facet.is_none() && kind != PictureKind::InsideBatches {
        spec.guides = guides(input, &cells, &known, &short_names(&named), options.across);
    }
    if series.iter().all(|one| one.points.iter().all(|point| point.y.is_nan() || point.x.is_nan()))
        && !series.is_empty()
    {
        let why = nothing_known(kind, options.across).to_owned();
        return Err(PlotError::Nothing { why });
    }
    let mut drawn = match options.facet {
        Some(facet) => facets::draw(&spec, &facets::panels(facet, &named, series)),
        None => draw_svg(&spec, &series),
    }?;
    drawn.left_out.extend(problems);
    Ok(drawn)
}

/// Why a picture is empty although there are batches.
fn nothing_known(kind: PictureKind, across: Across) -> &'static str {
    match (kind, across) {
        (PictureKind::Latency, _) => "no batch has a statement latency",
        (PictureKind::InsideBatches, _) => "seconds.csv has no second of a batch",
        (PictureKind::ReadsPerRow, _) => "no counter says how many pages were read (see run --counters)",
        (PictureKind::BytesPerRow, _) => {
            "no batch says how many bytes the server wrote (its process could not be read)"
        }
        (_, Across::Bytes) => "no batch says how large the table was",
        _ => "no batch has a figure",
    }
}

/// What the vertical axis counts, and its title.
pub(super) fn vertical(kind: PictureKind, sizes: &BTreeSet<u64>) -> (Quantity, String) {
    match kind {
        PictureKind::SecondsPerBatch => match sizes.first() {
            Some(rows) if sizes.len() == 1 => {
                (Quantity::Seconds, format!("seconds per batch of {} rows", grouped(*rows)))
            }
            _ => (Quantity::Seconds, "seconds per million rows, since batches differ in size".to_owned()),
        },
        PictureKind::InsertsPerSecond | PictureKind::EndSpeeds => (Quantity::Rate, "inserts per second".to_owned()),
        PictureKind::InsideBatches => (Quantity::Rate, "inserts per second, second by second".to_owned()),
        PictureKind::Latency => (Quantity::Plain, "milliseconds of a statement".to_owned()),
        PictureKind::ReadsPerRow => (Quantity::Plain, "pages read per row".to_owned()),
        PictureKind::BytesPerRow => (Quantity::Plain, "bytes written per row".to_owned()),
        PictureKind::Probes | PictureKind::ProbeConnections => (Quantity::Rate, "operations per second".to_owned()),
    }
}

/// The sizes of all batches. More than one and seconds per batch cannot be compared.
pub(super) fn batch_sizes(cells: &[Cell<'_>]) -> BTreeSet<u64> {
    let curves = cells.iter().flat_map(|cell| &cell.curves);
    curves.flat_map(|curve| &curve.samples).map(|sample| sample.rows).collect()
}

/// The figure of a batch that a kind of picture draws; of a latency the median, where no batch has a 99th percentile.
pub(super) fn figure_of(kind: PictureKind, known: &[BatchFigures], per_batch: bool) -> impl Fn(&BatchFigures) -> f64 {
    let median = kind == PictureKind::Latency && !has_p99(known);
    move |batch| match batch.p50_us.filter(|_| median) {
        Some(micros) => micros / 1000.0,
        None => kind.figure(batch, per_batch),
    }
}

/// Whether the batches have statements enough for a 99th percentile.
fn has_p99(known: &[BatchFigures]) -> bool {
    known.iter().any(|batch| batch.p99_us.is_some())
}

/// What the lines of a picture are made from.
struct Drawing<'a> {
    kind: PictureKind,
    input: &'a Input,
    options: &'a PictureOptions,
    per_batch: bool,
    seconds: within::Seconds,
}

impl Drawing<'_> {
    /// The line of a cell, without name and looks.
    fn series(&self, cell: &Cell<'_>, known: &[BatchFigures]) -> Series {
        let across = self.options.across;
        let mut marks = marks(cell, self.input);
        for mark in &mut marks {
            mark.x = place_at(known, across, mark.x).unwrap_or(f64::NAN);
        }
        marks.retain(|mark| mark.x.is_finite());
        let points = match self.kind {
            PictureKind::InsideBatches => self.inside(cell, known),
            _ => self.points(known, figure_of(self.kind, known, self.per_batch)),
        };
        let (points, raw) = match self.options.smooth {
            Some(window) => {
                let values: Vec<f64> = points.iter().map(|point| point.y).collect();
                let smooth = smoothed(&values, window);
                (points.iter().zip(smooth).map(|(point, y)| Point { y, ..*point }).collect(), points)
            }
            None => (points, Vec::new()),
        };
        Series { points, raw, repeats: self.beside(cell, known), marks, ..Series::default() }
    }

    fn points(&self, known: &[BatchFigures], figure: impl Fn(&BatchFigures) -> f64) -> Vec<Point> {
        let across = self.options.across;
        known.iter().map(|batch| Point { batch: batch.batch, x: batch.across(across), y: figure(batch) }).collect()
    }

    /// A latency in milliseconds.
    fn latency(&self, known: &[BatchFigures], figure: fn(&BatchFigures) -> Option<f64>) -> Vec<Point> {
        self.points(known, |batch| figure(batch).map_or(f64::NAN, |micros| micros / 1000.0))
    }

    /// Second by second: of a cell with repeats the first one, since seconds have no median.
    fn inside(&self, cell: &Cell<'_>, known: &[BatchFigures]) -> Vec<Point> {
        let Some(curve) = cell.curves.first() else { return Vec::new() };
        let lines = self.seconds.get(&(curve.run.clone(), curve.name.clone()));
        lines.map_or_else(Vec::new, |lines| within::points(curve, known, self.options.across, lines))
    }

    /// What is drawn lightly beside the line: the repeats, or the other latencies.
    fn beside(&self, cell: &Cell<'_>, known: &[BatchFigures]) -> Vec<Vec<Point>> {
        match self.kind {
            PictureKind::Latency => {
                // Where the strong line is the median, the light one that would be the median is empty.
                let median = if has_p99(known) { self.latency(known, |batch| batch.p50_us) } else { Vec::new() };
                vec![median, self.latency(known, |batch| batch.max_us)]
            }
            PictureKind::InsideBatches => Vec::new(),
            _ if cell.curves.len() < 2 => Vec::new(),
            _ => cell
                .curves
                .iter()
                .map(|curve| {
                    self.points(&figures(self.input, &[curve]), |batch| self.kind.figure(batch, self.per_batch))
                })
                .collect(),
        }
    }
}

/// More lines than this are one stretch from the first to the last.
const GUIDES: usize = 4;

/// Where tables pass their caches, as far as sizes are known: thin lines, or a stretch where there would be too many.
pub(super) fn guides(
    input: &Input,
    cells: &[Cell<'_>],
    known: &[Vec<BatchFigures>],
    names: &[String],
    across: Across,
) -> Vec<Guide> {
    let mut found: Vec<(f64, u64, &String)> = cells
        .iter()
        .zip(known)
        .zip(names)
        .filter_map(|((cell, known), name)| {
            let curve = cell.curves.first()?;
            let cache = cache_of(input, curve)?;
            // What holds indexes only is passed by them, and not by the table.
            if cache.only_indexes {
                let passed = curve.samples.iter().find(|sample| sample.index_bytes > Some(cache.bytes))?;
                return Some((place_at(known, across, passed.table_rows as f64)?, cache.bytes, name));
            }
            let rows = rows_at_bytes(known, cache.bytes as f64)?;
            let x = if across == Across::Bytes { cache.bytes as f64 } else { place_at(known, across, rows)? };
            Some((x, cache.bytes, name))
        })
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(first), Some(last)) = (found.first().copied(), found.last().copied()) else { return Vec::new() };
    let near = (last.0 * 0.02).max(f64::MIN_POSITIVE);
    // Close together they are one line.
    let groups: Vec<&[(f64, u64, &String)]> = found.chunk_by(|a, b| b.0 - a.0 <= near).collect();
    if groups.len() > GUIDES {
        return vec![Guide { from: first.0, to: last.0, text: "tables pass their caches".into() }];
    }
    let text = |group: &[(f64, u64, &String)]| match (groups.len(), group) {
        (1, [(_, bytes, _), ..]) => format!("table passes its cache ({})", human_bytes(*bytes)),
        (_, [(_, _, name)]) => format!("{name} passes its cache"),
        (_, [(_, _, name), rest @ ..]) => format!("{name} and {} more pass their caches", rest.len()),
        (_, []) => String::new(),
    };
    groups.iter().map(|group| Guide { from: group[0].0, to: group[0].0, text: text(group) }).collect()
}

/// Signs where repeats of a cell were ended early or resumed.
pub(super) fn marks(cell: &Cell<'_>, input: &Input) -> Vec<Mark> {
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
    marks.extend(cliff_marks(cell, input));
    marks
}

fn is_running(cell: &Cell<'_>, input: &Input) -> bool {
    cell.curves.iter().any(|curve| matches!(input.outcome_of(curve), Some(Outcome::Running)))
}

/// What is read from the line of a cell, the median of its repeats.
///
/// While the curve still grows it is only glanced at: the verdict comes when it has ended.
fn reading(cell: &Cell<'_>, input: &Input) -> Reading {
    match cell.curves.as_slice() {
        _ if is_running(cell, input) => glance_at(cell),
        [one] => cliffs::read(input, one, CLIFF_FACTOR),
        _ => read(&line(cell), CLIFF_FACTOR),
    }
}

fn glance_at(cell: &Cell<'_>) -> Reading {
    match cell.curves.as_slice() {
        [one] => glance(&one.samples, CLIFF_FACTOR),
        _ => glance(&line(cell), CLIFF_FACTOR),
    }
}

/// The median of the repeats of a cell, as samples.
fn line(cell: &Cell<'_>) -> Vec<Sample> {
    let of_point = |point: MedianPoint| Sample {
        batch: point.batch,
        rows: point.rows,
        table_rows: point.table_rows,
        seconds: point.seconds,
        ..Sample::default()
    };
    cell.median().into_iter().map(of_point).collect()
}

/// Signs where the line of a cell fell off a cliff.
fn cliff_marks(cell: &Cell<'_>, input: &Input) -> Vec<Mark> {
    let mark = |cliff: &Cliff| Mark {
        x: (cliff.onset_from_rows as f64 + cliff.onset_to_rows as f64) / 2.0,
        kind: MarkKind::Cliff,
        text: sentences::cliff_label(cliff),
    };
    // What is not sure enough for a script is not sure enough for a sign that stands there for good.
    let is_sure = |cliff: &&Cliff| is_running(cell, input) || cliff.confidence >= Confidence::Medium;
    reading(cell, input).cliffs.iter().filter(is_sure).map(mark).collect()
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

/// The versions of the targets of all runs.
pub(super) fn versions(input: &Input) -> String {
    let mut versions: Vec<String> = Vec::new();
    for target in input.runs.iter().filter_map(|run| run.record.as_ref()).flat_map(|record| record.targets.values()) {
        let version = version(&target.flavour, &target.version);
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    versions.join(", ")
}

/// Whether a run was made with a debug build.
pub(super) fn made_with_debug(input: &Input) -> bool {
    input.runs.iter().filter_map(|run| run.record.as_ref()).any(|record| record.build_profile == "debug")
}

/// `mariadb 10.11.6 · innodb, flush 1, insert, 8 connections · batches of 100k rows · median of 3 repeats`.
fn subtitle(input: &Input, cells: &[Cell<'_>], named: &[Named<'_>]) -> String {
    let mut parts = vec![versions(input), common_words(named).join(", ")];
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
    let mut values: Vec<String> = input.runs.iter().filter_map(|run| run.record.as_ref()?.values_note()).collect();
    values.dedup();
    parts.extend(values);
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

/// Which lines have a comb of slow batches, where their batches are drawn and not a running median of them.
fn rhythms(cells: &[Cell<'_>], drawn: &[Series], kind: PictureKind, options: &PictureOptions) -> Vec<String> {
    let is_of_speed = matches!(kind, PictureKind::SecondsPerBatch | PictureKind::InsertsPerSecond);
    if !is_of_speed || options.smooth.is_some() {
        return Vec::new();
    }
    let found: Vec<String> = cells
        .iter()
        .zip(drawn)
        .filter_map(|(cell, line)| Some(format!("{}: {}.", line.name, glance_at(cell).rhythm?.sentence())))
        .collect();
    match found.len() {
        0..=2 => found,
        more => vec![format!("{more} lines have a rhythm of slow batches: see `rowcliff cliffs`.")],
    }
}

fn notes(
    input: &Input,
    cells: &[Cell<'_>],
    drawn: &[Series],
    kind: PictureKind,
    options: &PictureOptions,
) -> Vec<String> {
    let mut notes = Vec::new();
    let repeated = cells.iter().any(|cell| cell.curves.len() > 1);
    match kind {
        PictureKind::Latency => {
            notes.push(
                "Strong lines: the 99th percentile, or the median where batches have fewer than 100 statements; light lines: the \
                 median below, the longest statement of the batch above."
                    .to_owned(),
            );
        }
        PictureKind::InsideBatches if repeated => notes.push("Of repeats the first one is shown.".to_owned()),
        PictureKind::InsideBatches | PictureKind::EndSpeeds => {}
        _ if repeated => {
            notes.push("Strong lines are medians of the repeats, light lines the single repeats.".to_owned());
        }
        _ => {}
    }
    if let Some(window) = options.smooth.filter(|_| kind != PictureKind::EndSpeeds) {
        notes.push(format!("Lines are running medians of {window} batches, light dots the batches themselves."));
    }
    let resumed = cells.iter().flat_map(|cell| &cell.curves).flat_map(|curve| &curve.samples);
    if kind != PictureKind::EndSpeeds && resumed.into_iter().any(|sample| sample.has_note("resumed")) {
        notes.push("A triangle marks where a curve was resumed.".to_owned());
    }
    if drawn.iter().flat_map(|line| &line.marks).any(|mark| mark.kind == MarkKind::Cliff) {
        notes.push(
            "A ring on a line marks where it fell off a cliff; evidence, not proof, of a cause: see `rowcliff cliffs`."
                .to_owned(),
        );
    }
    if input.other_x.is_none() {
        notes.extend(rhythms(cells, drawn, kind, options));
    }
    if made_with_debug(input) {
        notes.push("Made with a debug build: these figures are not to be published.".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::{RunSamples, group};
    use crate::reading::input::LoadedRun;
    use crate::record::Sample;
    use crate::record::test_support::run_record;
    use crate::render::test_support::{elements, of, texts};

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
        let mut all = samples("u", "uuid4:binary16", 1, 100_000, &INNODB_UUID);
        all.extend(samples("a", "autoinc", 1, 100_000, &[0.4; 20]));
        let text = svg(PictureKind::SecondsPerBatch, all);
        assert!(text.contains("seconds per batch of 100,000 rows"));
        assert!(text.contains("innodb, insert, 8 connections · batches of 100k rows"));
        assert!(text.contains("\nuuid4\n") && text.contains("\nautoinc\n"));
    }

    #[test]
    fn unequal_batches_are_shown_per_million_rows() {
        let mut all = samples("u", "uuid4:binary16", 1, 100_000, &INNODB_UUID);
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

    /// One curve with sizes, in a run whose plan names a cache of 9,000,000 bytes; it was stopped at its end.
    fn with_cache() -> Input {
        let mut samples = samples("u", "uuid4", 1, 100_000, &INNODB_UUID);
        for sample in &mut samples {
            sample.data_bytes = Some(sample.batch * 2_000_000);
        }
        let mut record = run_record(&["u"]);
        record.plan = serde_json::json!({ "curves": [{ "cell": {
            "engine_entry": { "cache": { "variable": "pool" } }, "cache_bytes": 1,
        } }] });
        record.curves[0].variables.insert("pool".into(), "9000000".into());
        record.curves[0].outcome = Outcome::Stopped { rule: "--min-rate".into(), figures: "f".into() };
        let run = LoadedRun { label: "r".into(), path: "r".into(), record: Some(record) };
        Input { runs: vec![run], ..input(samples) }
    }

    #[test]
    fn the_size_where_the_table_passes_its_cache_has_a_line_at_its_place() {
        let input = with_cache();
        // 9,000,000 bytes are reached in the middle of batch 5: at 450,000 of 1,500,000 rows, and at 9/30 of the bytes.
        let elapsed = |batches: usize| INNODB_UUID[..batches].iter().sum::<f64>();
        let share = (elapsed(4) + elapsed(5)) / 2.0 / elapsed(15);
        for (across, part) in [(Across::Rows, 0.3), (Across::Bytes, 0.3), (Across::Seconds, share)] {
            let options = PictureOptions { across, ..PictureOptions::default() };
            let found = elements(&picture(PictureKind::SecondsPerBatch, &input, &options).unwrap().svg);
            let line = of(&found, "guides", "polyline")[0].points();
            let grid = of(&found, "frame", "polyline")[0].points();
            let expected = grid[0].0 + part * (grid[1].0 - grid[0].0);
            assert!((line[0].0 - expected).abs() < 0.2, "{across:?} {line:?} {expected}");
            assert_eq!(texts(&found, "guides"), ["table passes its cache (8.6 MiB)"]);
            // The sign of the stop stands at the end of the line, whatever the axis.
            let end = *of(&found, "curve", "polyline")[0].points().last().unwrap();
            let ring = of(&found, "markers", "circle").into_iter().find(|one| one.get("fill") == "none").unwrap();
            let pixel = |name: &str| ring.get(name).parse::<f64>().unwrap() / 10.0;
            assert_eq!((pixel("cx"), pixel("cy")), end, "{across:?}");
        }
    }

    #[test]
    fn latency_has_its_median_and_its_longest_lightly_beside_it() {
        let (mut all, mut few) =
            (samples("u", "uuid4", 1, 100_000, &[1.0; 9]), samples("u", "uuid4", 1, 100_000, &[1.0; 9]));
        for sample in &mut all {
            (sample.p50_us, sample.p99_us, sample.max_us) = (Some(1000), Some(2000), Some(4000));
        }
        let found = elements(&svg(PictureKind::Latency, all));
        let height = |group: &str, index: usize| of(&found, group, "polyline")[index].points()[0].1;
        let (median, p99, longest) = (height("repeats", 0), height("curve", 0), height("repeats", 1));
        assert!(longest < p99 && p99 < median, "{longest} {p99} {median}");
        // Of few statements there is a median and a longest, and no 99th percentile, whatever an older run wrote.
        for sample in &mut few {
            (sample.statements, sample.p50_us, sample.p99_us, sample.max_us) =
                (Some(99), Some(1000), Some(2000), Some(4000));
        }
        let found = elements(&svg(PictureKind::Latency, few));
        let (strong, light) = (of(&found, "curve", "polyline"), of(&found, "repeats", "polyline"));
        let heights = (strong[0].points()[0].1, light[0].points()[0].1);
        let axis = of(&found, "frame", "polyline")[0].points()[0].1;
        assert_eq!((strong.len(), light.len()), (1, 1));
        assert!((heights.1 - axis).abs() > 3.9 * (heights.0 - axis).abs(), "{heights:?} {axis}");
        let nothing =
            picture(PictureKind::Latency, &input(samples("u", "k", 1, 10, &[1.0])), &PictureOptions::default());
        assert!(nothing.unwrap_err().to_string().contains("no batch has a statement latency"));
    }

    #[test]
    fn a_smoothed_line_has_its_batches_as_dots() {
        let options = PictureOptions { smooth: Some(3), ..PictureOptions::default() };
        let all = samples("u", "uuid4", 1, 100_000, &[1.0, 1.0, 9.0, 1.0, 1.0]);
        let found = elements(&picture(PictureKind::SecondsPerBatch, &input(all), &options).unwrap().svg);
        assert_eq!(of(&found, "repeats", "circle").len(), 5);
        let points = of(&found, "curve", "polyline")[0].points();
        assert!(points.iter().all(|point| point.1 == points[0].1), "{points:?}");
    }

    #[test]
    fn pictures_have_the_colours_of_their_theme() {
        let options = PictureOptions { theme: Theme::dark(), ..PictureOptions::default() };
        let all = input(samples("u", "uuid4", 1, 100_000, &[1.0; 5]));
        let dark = picture(PictureKind::SecondsPerBatch, &all, &options).unwrap();
        assert!(dark.svg.contains("fill=\"#14171A\"") && !dark.svg.contains("#FFFFFF"));
        let png = tiny_skia::Pixmap::decode_png(&dark.png().unwrap()).unwrap();
        let corner = png.pixel(2, 2).unwrap();
        assert_eq!((corner.red(), corner.green(), corner.blue()), (0x14, 0x17, 0x1A));
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
