//! A picture of curves over the size of the table, as SVG.
//!
//! [`draw_svg`] is given points and words and returns text. It decides where things stand; [`super::scale`] decides the
//! axes and [`super::palette`] the looks. Text never lies over data: names stand at the right of the plot.

use plotters::style::{Color, RGBAColor, RGBColor};

use super::palette::{DASH_PATTERNS, DASHES, Look, MARKERS, Theme};
use super::scale::{self, Axis, Quantity};
use super::sheet::{At, Font, Group, Layer, Page, Side};
use super::text::{bold_width, fitted, width, wrapped};

/// What a picture is to show.
#[derive(Debug, Clone)]
pub struct PlotSpec {
    /// Title.
    pub title: String,
    /// What was measured: target and version, sizes.
    pub subtitle: String,
    /// Title of the vertical axis.
    pub y_title: String,
    /// What the vertical axis counts.
    pub quantity: Quantity,
    /// Logarithmic vertical axis.
    pub log: bool,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Colours.
    pub theme: Theme,
    /// Notes below the plot.
    pub notes: Vec<String>,
}

impl Default for PlotSpec {
    fn default() -> Self {
        Self {
            title: String::new(),
            subtitle: String::new(),
            y_title: String::new(),
            quantity: Quantity::Seconds,
            log: false,
            width: 1200,
            height: 700,
            theme: Theme::light(),
            notes: Vec::new(),
        }
    }
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The batch: where one is missing the line is broken.
    pub batch: u64,
    /// Rows in the table.
    pub x: f64,
    /// The figure.
    pub y: f64,
}

/// What a mark says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkKind {
    /// A stop rule ended the curve here.
    Stop,
    /// The table was full.
    Full,
    /// The curve ended with an error.
    Failed,
    /// The curve was interrupted.
    Interrupted,
    /// The curve went on here after an interruption.
    Resume,
}

/// A sign on a curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Rows in the table: the sign stands on the curve's point there, or on the last one before.
    pub x: f64,
    /// Which sign.
    pub kind: MarkKind,
    /// What stands below the curve's name; nothing when empty.
    pub text: String,
}

/// A line of the picture.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// How it looks.
    pub look: Look,
    /// Its points, in any order.
    pub points: Vec<Point>,
    /// The single repeats, drawn lightly when there are two or more.
    pub repeats: Vec<Vec<Point>>,
    /// Signs on it.
    pub marks: Vec<Mark>,
}

/// A finished picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// The document.
    pub svg: String,
    /// What could not be drawn, a sentence each.
    pub left_out: Vec<String>,
}

/// Why there is no picture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlotError {
    /// Not a single point can be drawn.
    #[error("nothing to draw: {why}")]
    Nothing {
        /// Why not.
        why: String,
    },
    /// The picture has no room for a plot.
    #[error("{width}x{height} pixels are too few for a picture; give at least {MIN_WIDTH}x{MIN_HEIGHT}")]
    TooSmall {
        /// Width asked for.
        width: u32,
        /// Height asked for.
        height: u32,
    },
    /// The drawing library failed.
    #[error("the picture cannot be drawn: {0}")]
    Drawing(String),
}

const MIN_WIDTH: u32 = 480;
const MIN_HEIGHT: u32 = 300;
/// Beyond this, whole pixels of plotters in tenths would not fit its integers.
const MAX_SIDE: u32 = 20_000;

const MARGIN: f64 = 28.0;
const TITLE_SIZE: f64 = 21.0;
const SUBTITLE_SIZE: f64 = 13.0;
const TEXT_SIZE: f64 = 13.0;
const SMALL_SIZE: f64 = 11.0;
const LINE_WIDTH: f64 = 2.2;
/// Length of the piece of line in front of a name.
const SWATCH: f64 = 34.0;
/// Markers closer together than this would hide the line.
const MARKER_SPACING: f64 = 16.0;
/// A name further than this from the end of its line is not read as belonging to it.
const MAX_SHIFT: f64 = 56.0;

/// Draws `series` as SVG.
///
/// # Errors
/// There is not a single point to draw, the size has no room for a plot, or the drawing library fails.
pub fn draw_svg(spec: &PlotSpec, series: &[Series]) -> Result<Picture, PlotError> {
    if spec.width < MIN_WIDTH || spec.height < MIN_HEIGHT || spec.width.max(spec.height) > MAX_SIDE {
        return Err(PlotError::TooSmall { width: spec.width, height: spec.height });
    }
    let mut left_out = Vec::new();
    let series: Vec<Series> = series.iter().map(|series| drawable(series, spec.log, &mut left_out)).collect();
    let series: Vec<Series> = series.into_iter().filter(|series| !series.points.is_empty()).collect();
    let all = || series.iter().flat_map(|one| one.points.iter().chain(one.repeats.iter().flatten()));
    let y = if spec.log {
        scale::logarithmic(all().map(|point| point.y), spec.quantity)
    } else {
        scale::from_zero(all().map(|point| point.y), spec.quantity)
    };
    let (Some((x, rows_unit)), Some(y)) = (scale::rows(all().map(|point| point.x)), y) else {
        let why = if left_out.is_empty() { "there are no measured batches".to_owned() } else { left_out.join("; ") };
        return Err(PlotError::Nothing { why });
    };
    let layout = Layout::new(spec, &x, &y, &series, &left_out);
    let svg = Drawing { spec, x, y, rows_unit, series: &series, layout }.draw().map_err(PlotError::Drawing)?;
    Ok(Picture { svg, left_out })
}

/// The series with its points in order and without those that have no place; what is left out is said.
fn drawable(series: &Series, log: bool, left_out: &mut Vec<String>) -> Series {
    let has_place = |point: &Point| point.x.is_finite() && point.y.is_finite() && (!log || point.y > 0.0);
    let tidy = |points: &[Point]| {
        let mut points: Vec<Point> = points.iter().copied().filter(has_place).collect();
        points.sort_by(|a, b| a.batch.cmp(&b.batch).then(a.x.total_cmp(&b.x)));
        points
    };
    let count = |wanted: &dyn Fn(&Point) -> bool| {
        let batches: Vec<u64> = series.points.iter().filter(|point| wanted(point)).map(|point| point.batch).collect();
        (!batches.is_empty()).then(|| listed(&batches))
    };
    if let Some(batches) = count(&|point| !point.x.is_finite() || !point.y.is_finite()) {
        left_out.push(format!("{}: {batches} without a figure left out", series.name));
    }
    if let Some(batches) = count(&|point| point.x.is_finite() && point.y.is_finite() && !has_place(point)) {
        left_out.push(format!("{}: {batches} at or below zero left out of the logarithmic axis", series.name));
    }
    Series {
        points: tidy(&series.points),
        repeats: series.repeats.iter().map(|repeat| tidy(repeat)).filter(|repeat| !repeat.is_empty()).collect(),
        ..series.clone()
    }
}

/// `batch 3`, `batches 3, 5`, `17 batches (3, 5, 7 ...)`.
fn listed(batches: &[u64]) -> String {
    let numbers = |batches: &[u64]| batches.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    match batches.len() {
        1 => format!("batch {}", batches[0]),
        2..=6 => format!("batches {}", numbers(batches)),
        more => format!("{more} batches ({} ...)", numbers(&batches[..3])),
    }
}

/// Where the parts of a picture stand, in pixels.
#[derive(Debug)]
struct Layout {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    subtitle: Vec<String>,
    notes: Vec<String>,
    /// Left end of the names' column.
    names_left: f64,
    names_width: f64,
    entries: Vec<Entry>,
    /// Curves whose names have no room.
    unnamed: usize,
}

/// A name beside the plot.
#[derive(Debug, Clone)]
struct Entry {
    /// Index of the series.
    series: usize,
    /// Height of the middle of the name.
    y: f64,
    name: String,
    /// Lines below the name, each with the sign it explains.
    marks: Vec<(MarkKind, String)>,
    /// Whether it stands at the end of its line.
    direct: bool,
}

impl Layout {
    fn new(spec: &PlotSpec, x: &Axis, y: &Axis, series: &[Series], left_out: &[String]) -> Self {
        let (page_width, page_height) = (f64::from(spec.width), f64::from(spec.height));
        let inner = page_width - 2.0 * MARGIN;
        let mut subtitle = wrapped(&spec.subtitle, inner, |line| width(line, SUBTITLE_SIZE));
        subtitle.truncate(3);
        let subtitle: Vec<String> = subtitle.iter().map(|line| fitted(line, SUBTITLE_SIZE, inner)).collect();
        let mut notes: Vec<String> = spec
            .notes
            .iter()
            .chain(left_out)
            .flat_map(|note| wrapped(note, inner, |line| width(line, SMALL_SIZE)))
            .map(|line| fitted(&line, SMALL_SIZE, inner))
            .collect();
        if notes.len() > 4 {
            let more = notes.len() - 3;
            notes.truncate(3);
            notes.push(format!("... and {more} more lines"));
        }

        let widest = |labels: &mut dyn Iterator<Item = f64>| labels.fold(0.0, f64::max);
        let y_labels = widest(&mut y.ticks.iter().map(|tick| width(&tick.label, TEXT_SIZE)));
        let mark_width = |mark: &Mark| if mark.text.is_empty() { 0.0 } else { 16.0 + width(&mark.text, SMALL_SIZE) };
        let names =
            widest(&mut series.iter().flat_map(|one| {
                one.marks.iter().map(mark_width).chain([width(&one.name, TEXT_SIZE)]).collect::<Vec<_>>()
            }));
        let names_width = names.min(page_width * 0.3).ceil();

        let left = MARGIN + y_labels.ceil() + 10.0;
        let names_left = page_width - MARGIN - names_width;
        let right = names_left - 8.0 - SWATCH - 18.0;
        let title_bottom = 30.0 + TITLE_SIZE / 2.0;
        let top = title_bottom + 6.0 + 18.0 * subtitle.len() as f64 + 44.0;
        let bottom = page_height - 24.0 - 52.0 - 16.0 * notes.len() as f64;
        let mut layout = Self {
            left,
            right,
            top,
            bottom,
            subtitle,
            notes,
            names_left,
            names_width,
            entries: Vec::new(),
            unnamed: 0,
        };
        layout.place_names(x, y, series);
        layout
    }

    fn at(&self, x: &Axis, y: &Axis, point: Point) -> Option<At> {
        let across = x.fraction(point.x)?;
        let up = y.fraction(point.y)?;
        Some((self.left + across * (self.right - self.left), self.bottom - up * (self.bottom - self.top)))
    }

    /// Names at the ends of their lines where all fit there, otherwise a list at the right in the order of the ends.
    fn place_names(&mut self, x: &Axis, y: &Axis, series: &[Series]) {
        let mut entries: Vec<(Entry, At)> = Vec::new();
        for (index, one) in series.iter().enumerate() {
            let Some(end) = one.points.last().and_then(|point| self.at(x, y, *point)) else { continue };
            let marks = one.marks.iter().filter(|mark| !mark.text.is_empty());
            let marks =
                marks.map(|mark| (mark.kind, fitted(&mark.text, SMALL_SIZE, self.names_width - 16.0))).collect();
            let name = fitted(&one.name, TEXT_SIZE, self.names_width);
            entries.push((Entry { series: index, y: end.1, name, marks, direct: true }, end));
        }
        entries.sort_by(|(_, a), (_, b)| a.1.total_cmp(&b.1));
        let height = self.bottom - self.top;
        let all: f64 = entries.iter().map(|(entry, _)| entry.height()).sum();
        if all > height {
            // A name matters more than why its curve stopped.
            for (entry, _) in &mut entries {
                entry.marks.clear();
            }
        }
        let wanted: Vec<f64> = entries.iter().map(|(_, end)| end.1).collect();
        let heights: Vec<f64> = entries.iter().map(|(entry, _)| entry.height()).collect();
        let placed = spread(&wanted, &heights, self.top - 8.0, self.bottom + 8.0);
        let near_the_edge = |end: &At| end.0 > self.left + 0.94 * (self.right - self.left);
        let direct = placed.as_ref().filter(|placed| {
            entries.iter().zip(*placed).all(|((_, end), y)| near_the_edge(end) && (end.1 - y).abs() <= MAX_SHIFT)
        });
        match direct {
            Some(placed) => {
                for ((entry, _), y) in entries.iter_mut().zip(placed) {
                    entry.y = *y;
                }
            }
            None => {
                let room = ((height + 16.0) / Entry::LINE) as usize;
                if entries.len() > room {
                    self.unnamed = entries.len() - (room - 1);
                    entries.truncate(room - 1);
                }
                let mut y = self.top;
                for (entry, _) in &mut entries {
                    (entry.y, entry.direct) = (y, false);
                    y += entry.height();
                }
            }
        }
        self.entries = entries.into_iter().map(|(entry, _)| entry).collect();
    }
}

impl Entry {
    const LINE: f64 = 19.0;
    const MARK_LINE: f64 = 15.0;

    fn height(&self) -> f64 {
        Self::LINE + Self::MARK_LINE * self.marks.len() as f64
    }
}

/// Places labels of given heights as near as they can stand to the wanted heights without overlap, in the given order.
///
/// `wanted` is ascending; a place is the middle of a label's first line. `None` when they do not fit.
fn spread(wanted: &[f64], heights: &[f64], low: f64, high: f64) -> Option<Vec<f64>> {
    let total: f64 = heights.iter().sum();
    if total > high - low {
        return None;
    }
    // Blocks of labels that touch; each stands where its labels want to be on average.
    struct Block {
        first: usize,
        height: f64,
        top: f64,
    }
    let settle = |first: usize, end: usize, height: f64| {
        let mut offset = 0.0;
        let mut sum = 0.0;
        for index in first..end {
            sum += wanted[index] - Entry::LINE / 2.0 - offset;
            offset += heights[index];
        }
        (sum / (end - first) as f64).clamp(low, high - height)
    };
    let mut blocks: Vec<Block> = Vec::new();
    for (index, &own) in heights.iter().enumerate() {
        let mut block = Block { first: index, height: own, top: settle(index, index + 1, own) };
        while let Some(before) = blocks.pop_if(|before| before.top + before.height > block.top) {
            let height = before.height + block.height;
            block = Block { first: before.first, height, top: settle(before.first, index + 1, height) };
        }
        blocks.push(block);
    }
    let mut places = Vec::with_capacity(wanted.len());
    for (position, block) in blocks.iter().enumerate() {
        let end = blocks.get(position + 1).map_or(wanted.len(), |next| next.first);
        let mut top = block.top;
        for height in &heights[block.first..end] {
            places.push(top + Entry::LINE / 2.0);
            top += height;
        }
    }
    Some(places)
}

struct Drawing<'a> {
    spec: &'a PlotSpec,
    x: Axis,
    y: Axis,
    rows_unit: &'static str,
    series: &'a [Series],
    layout: Layout,
}

impl Drawing<'_> {
    fn draw(&self) -> Result<String, String> {
        let mut page = Page::new(self.spec.width, self.spec.height);
        page.layer(&Group { class: "frame", ..Group::default() }, |layer| self.frame(layer))?;
        for one in self.series.iter().filter(|one| one.repeats.len() > 1) {
            page.layer(&Group { class: "repeats", ..Group::default() }, |layer| self.repeats(layer, one))?;
        }
        for one in self.series {
            let dash = DASH_PATTERNS[one.look.dash % DASHES];
            let group = Group { class: "curve", title: Some(&one.name), dash };
            page.layer(&group, |layer| self.curve(layer, one))?;
        }
        for (index, one) in self.series.iter().enumerate() {
            let group = Group { class: "markers", title: Some(&one.name), ..Group::default() };
            page.layer(&group, |layer| self.markers(layer, index, one))?;
        }
        for entry in &self.layout.entries {
            let one = &self.series[entry.series];
            let dash = DASH_PATTERNS[one.look.dash % DASHES];
            page.layer(&Group { class: "swatch", dash, ..Group::default() }, |layer| self.swatch(layer, entry))?;
            let group = Group { class: "name", title: Some(&one.name), ..Group::default() };
            page.layer(&group, |layer| self.name(layer, entry))?;
        }
        Ok(page.finish(&self.spec.title))
    }

    fn font(&self, size: f64, colour: RGBColor) -> Font {
        Font { size, bold: false, colour }
    }

    fn colour(&self, one: &Series) -> RGBColor {
        self.spec.theme.families[one.look.family % self.spec.theme.families.len()]
    }

    /// Everything but the curves: background, titles, axes, grid, notes.
    fn frame(&self, layer: &mut Layer<'_>) {
        let (theme, place) = (&self.spec.theme, &self.layout);
        let (page_width, page_height) = (f64::from(self.spec.width), f64::from(self.spec.height));
        layer.rectangle((0.0, 0.0), (page_width, page_height), theme.background.to_rgba());
        self.titles(layer);
        for tick in &self.y.ticks {
            let Some(up) = self.y.fraction(tick.value) else { continue };
            let y = place.bottom - up * (place.bottom - place.top);
            layer.line(&[(place.left, y), (place.right, y)], theme.grid.to_rgba(), 1.0);
            layer.text(&tick.label, (place.left - 9.0, y), Side::End, self.font(TEXT_SIZE, theme.muted));
        }
        for tick in &self.x.ticks {
            let Some(across) = self.x.fraction(tick.value) else { continue };
            let x = place.left + across * (place.right - place.left);
            layer.line(&[(x, place.top), (x, place.bottom)], theme.grid.to_rgba(), 1.0);
            layer.line(&[(x, place.bottom), (x, place.bottom + 5.0)], theme.axis.to_rgba(), 1.0);
            layer.text(&tick.label, (x, place.bottom + 17.0), Side::Middle, self.font(TEXT_SIZE, theme.muted));
        }
        layer.line(&[(place.left, place.bottom), (place.right, place.bottom)], theme.axis.to_rgba(), 1.2);
        let x_title = match self.rows_unit {
            "" => "rows in the table".to_owned(),
            unit => format!("rows in the table ({unit})"),
        };
        let middle = (place.left + place.right) / 2.0;
        layer.text(&x_title, (middle, place.bottom + 40.0), Side::Middle, self.font(TEXT_SIZE, theme.ink));
        let mut y = page_height - 24.0 - 16.0 * (place.notes.len() as f64 - 1.0);
        for note in &place.notes {
            layer.text(note, (MARGIN, y), Side::Start, self.font(SMALL_SIZE, theme.muted));
            y += 16.0;
        }
    }

    fn titles(&self, layer: &mut Layer<'_>) {
        let (theme, place) = (&self.spec.theme, &self.layout);
        let inner = f64::from(self.spec.width) - 2.0 * MARGIN;
        // A long title gets smaller before it is cut.
        let size = (TITLE_SIZE * inner / bold_width(&self.spec.title, TITLE_SIZE).max(1.0)).clamp(14.0, TITLE_SIZE);
        let title = fitted(&self.spec.title, size, inner / bold_width("a", 1.0) * width("a", 1.0));
        layer.text(&title, (MARGIN, 34.0), Side::Start, Font { bold: true, ..self.font(size, theme.ink) });
        let mut y = 60.0;
        for line in &place.subtitle {
            layer.text(line, (MARGIN, y), Side::Start, self.font(SUBTITLE_SIZE, theme.muted));
            y += 18.0;
        }
        let scale = if self.spec.log { ", logarithmic" } else { "" };
        let y_title = format!("{}{scale}", self.spec.y_title);
        let y_title = fitted(&y_title, TEXT_SIZE, inner);
        layer.text(&y_title, (MARGIN, place.top - 22.0), Side::Start, self.font(TEXT_SIZE, theme.ink));
    }

    fn at(&self, point: Point) -> Option<At> {
        self.layout.at(&self.x, &self.y, point)
    }

    /// The points in pixels, cut where a batch is missing.
    fn pieces(&self, points: &[Point]) -> Vec<Vec<At>> {
        points
            .chunk_by(|a, b| b.batch - a.batch <= 1)
            .map(|piece| piece.iter().filter_map(|point| self.at(*point)).collect())
            .collect()
    }

    fn repeats(&self, layer: &mut Layer<'_>, one: &Series) {
        let colour = self.colour(one).mix(0.3);
        for piece in one.repeats.iter().flat_map(|repeat| self.pieces(repeat)) {
            self.piece(layer, &piece, colour, 1.1);
        }
    }

    fn curve(&self, layer: &mut Layer<'_>, one: &Series) {
        for piece in self.pieces(&one.points) {
            self.piece(layer, &piece, self.colour(one).to_rgba(), LINE_WIDTH);
        }
    }

    fn piece(&self, layer: &mut Layer<'_>, piece: &[At], colour: RGBAColor, line_width: f64) {
        match piece {
            [] => {}
            // A single batch between two gaps has no line: it is a dot.
            [only] => layer.disc(*only, line_width * 1.2, colour),
            _ => layer.line(piece, colour, line_width),
        }
    }

    /// Markers so far apart that they do not hide the line, shifted from curve to curve so that they do not hide each other.
    fn markers(&self, layer: &mut Layer<'_>, index: usize, one: &Series) {
        let colour = self.colour(one);
        let points: Vec<At> = one.points.iter().filter_map(|point| self.at(*point)).collect();
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
        let spacing = (last.0 - first.0) / (points.len() as f64 - 1.0).max(1.0);
        let dense = spacing < MARKER_SPACING;
        let every = if dense { ((4.0 * MARKER_SPACING / spacing.max(0.01)).ceil() as usize).max(1) } else { 1 };
        let shift = if dense { index * every / self.series.len().max(1) } else { 0 };
        for at in points.iter().skip(shift).step_by(every) {
            self.marker(layer, *at, one.look.marker, colour);
        }
        for mark in &one.marks {
            if let Some(at) = self.place_of(one, mark.x) {
                self.sign(layer, at, mark.kind, colour);
            }
        }
    }

    /// The curve's point at `x`, or its last one before; the repeats are asked too, since one may have gone on alone.
    fn place_of(&self, one: &Series, x: f64) -> Option<At> {
        let candidates = [&one.points].into_iter().chain(&one.repeats).flatten();
        let before = candidates.clone().filter(|point| point.x <= x).max_by(|a, b| a.x.total_cmp(&b.x));
        before.or_else(|| candidates.min_by(|a, b| a.x.total_cmp(&b.x))).and_then(|point| self.at(*point))
    }

    fn marker(&self, layer: &mut Layer<'_>, (x, y): At, marker: usize, colour: RGBColor) {
        let solid = colour.to_rgba();
        let background = self.spec.theme.background.to_rgba();
        let scaled = |shape: &[At], size: f64| -> Vec<At> {
            shape.iter().map(|(dx, dy)| (x + dx * size, y + dy * size)).collect()
        };
        const SQUARE: [At; 4] = [(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)];
        const UP: [At; 3] = [(0.0, -1.15), (1.05, 0.75), (-1.05, 0.75)];
        const DOWN: [At; 3] = [(0.0, 1.15), (1.05, -0.75), (-1.05, -0.75)];
        const DIAMOND: [At; 4] = [(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)];
        let size = 4.0;
        match marker % MARKERS {
            0 => layer.disc((x, y), 3.6, solid),
            1 => layer.polygon(&scaled(&SQUARE, size), solid),
            2 => layer.polygon(&scaled(&UP, size), solid),
            3 => layer.polygon(&scaled(&DIAMOND, size), solid),
            4 => layer.polygon(&scaled(&DOWN, size), solid),
            5 => {
                layer.disc((x, y), 4.4, solid);
                layer.disc((x, y), 2.4, background);
            }
            6 => {
                layer.polygon(&scaled(&SQUARE, size * 1.15), solid);
                layer.polygon(&scaled(&SQUARE, size * 0.6), background);
            }
            _ => {
                layer.polygon(&scaled(&DIAMOND, size * 1.2), solid);
                layer.polygon(&scaled(&DIAMOND, size * 0.55), background);
            }
        }
    }

    fn sign(&self, layer: &mut Layer<'_>, (x, y): At, kind: MarkKind, colour: RGBColor) {
        let (solid, background) = (colour.to_rgba(), self.spec.theme.background.to_rgba());
        let cross = |layer: &mut Layer<'_>, arm: f64| {
            layer.line(&[(x - arm, y - arm), (x + arm, y + arm)], solid, 2.0);
            layer.line(&[(x - arm, y + arm), (x + arm, y - arm)], solid, 2.0);
        };
        match kind {
            MarkKind::Stop => {
                layer.disc((x, y), 7.5, background);
                layer.ring((x, y), 6.5, solid, 1.8);
                cross(layer, 2.9);
            }
            MarkKind::Failed => {
                layer.disc((x, y), 7.5, background);
                cross(layer, 5.0);
            }
            MarkKind::Full => {
                layer.rectangle((x - 2.5, y - 9.0), (x + 2.5, y + 9.0), background);
                layer.line(&[(x, y - 8.0), (x, y + 8.0)], solid, 2.6);
            }
            MarkKind::Interrupted => {
                layer.disc((x, y), 7.5, background);
                layer.line(&[(x - 2.5, y - 5.5), (x - 2.5, y + 5.5)], solid, 2.2);
                layer.line(&[(x + 2.5, y - 5.5), (x + 2.5, y + 5.5)], solid, 2.2);
            }
            MarkKind::Resume => {
                layer.polygon(&[(x - 5.5, y - 8.0), (x + 8.5, y), (x - 5.5, y + 8.0)], background);
                layer.polygon(&[(x - 4.0, y - 5.5), (x + 6.0, y), (x - 4.0, y + 5.5)], solid);
            }
        }
    }

    /// The piece of line in front of a name; at the end of a line it begins at the line's last point.
    fn swatch(&self, layer: &mut Layer<'_>, entry: &Entry) {
        let one = &self.series[entry.series];
        let colour = self.colour(one);
        let left = self.layout.names_left - 8.0 - SWATCH;
        let right = self.layout.names_left - 8.0;
        layer.line(&[(left, entry.y), (right, entry.y)], colour.to_rgba(), LINE_WIDTH);
    }

    fn name(&self, layer: &mut Layer<'_>, entry: &Entry) {
        let theme = &self.spec.theme;
        let one = &self.series[entry.series];
        let place = &self.layout;
        let left = place.names_left - 8.0 - SWATCH;
        if entry.direct
            && let Some(end) = one.points.last().and_then(|point| self.at(*point))
        {
            layer.line(&[end, (left - 2.0, entry.y)], self.colour(one).mix(0.45), 1.0);
        }
        self.marker(layer, (left + SWATCH / 2.0, entry.y), one.look.marker, self.colour(one));
        layer.text(&entry.name, (place.names_left, entry.y), Side::Start, self.font(TEXT_SIZE, theme.ink));
        let mut y = entry.y + 16.0;
        for (kind, text) in &entry.marks {
            self.sign(layer, (place.names_left + 6.0, y), *kind, self.colour(one));
            layer.text(text, (place.names_left + 17.0, y), Side::Start, self.font(SMALL_SIZE, theme.muted));
            y += Entry::MARK_LINE;
        }
        let is_last = place.entries.last().is_some_and(|last| last.series == entry.series);
        if is_last && place.unnamed > 0 {
            let more = format!("... and {} more curves", place.unnamed);
            layer.text(&more, (place.names_left, y + 3.0), Side::Start, self.font(SMALL_SIZE, theme.muted));
        }
    }
}
