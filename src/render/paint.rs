//! Puts a picture on a page: frame, axes, lines, markers, signs, names, each where the layout says.

use plotters::style::{Color, RGBAColor, RGBColor};

use super::layout::{Entry, Layout, MARGIN, MARK_LINE, SMALL_SIZE, SUBTITLE_SIZE, SWATCH, TEXT_SIZE, TITLE_SIZE, Tie};
use super::palette::{DASH_PATTERNS, DASHES, MARKERS};
use super::plot::{Mark, MarkKind, PlotSpec, Point, Series, figure};
use super::scale::Quantity;
use super::sheet::{At, Font, Group, Layer, Page, Side};
use super::text::{bold_width, fitted, width};

/// Width of the lines of curves.
const LINE_WIDTH: f64 = 2.2;
/// Half the width of the ends of a bar.
const BAR_END: f64 = 4.5;
/// Markers closer together than this would hide the line, unless they are few.
const MARKER_SPACING: f64 = 14.0;
/// A curve of no more points than this shows each, if they are at least half as far apart.
const FEW_POINTS: usize = 20;
/// Beyond so many curves each has fewer markers.
const MANY_CURVES: f64 = 10.0;
/// Then one is drawn about every so many pixels.
const SPARSE_MARKERS: f64 = 64.0;

/// Rows of words lie this far apart.
const ROW_OF_WORDS: f64 = TEXT_SIZE + 3.0;

/// Where words stand that others are not to be written over.
#[derive(Debug, Clone, Copy)]
struct Words {
    left: f64,
    right: f64,
    y: f64,
}

impl Words {
    fn hides(&self, other: &Self) -> bool {
        self.left < other.right + 3.0 && other.left < self.right + 3.0 && (self.y - other.y).abs() < ROW_OF_WORDS
    }
}

/// A picture that is being drawn.
pub struct Painter<'a> {
    /// What was asked for.
    pub spec: &'a PlotSpec,
    /// Title of the horizontal axis.
    pub x_title: &'a str,
    pub series: &'a [Series],
    pub layout: &'a Layout,
}

impl Painter<'_> {
    /// Draws everything.
    pub fn paint(&self) -> Page {
        let mut page = Page::new(self.spec.width, self.spec.height, &self.spec.title);
        page.layer(&Group { class: "frame", ..Group::default() }, |layer| {
            self.sheet(layer);
            self.axes(layer, true, true);
            let middle = (self.layout.left + self.layout.right) / 2.0;
            layer.text(
                self.x_title,
                (middle, self.layout.bottom + 40.0),
                Side::Middle,
                self.font(TEXT_SIZE, self.spec.theme.ink),
            );
        });
        self.guides(&mut page);
        self.curves(&mut page);
        self.names(&mut page);
        page
    }

    /// The curves with their markers and signs.
    pub fn curves(&self, page: &mut Page) {
        for one in self.series.iter().filter(|one| !one.repeats.is_empty() || !one.raw.is_empty()) {
            page.layer(&Group { class: "repeats", ..Group::default() }, |layer| self.repeats(layer, one));
        }
        for one in self.series.iter().filter(|one| !one.ranges.is_empty()) {
            page.layer(&Group { class: "ranges", ..Group::default() }, |layer| self.ranges(layer, one));
        }
        for one in self.series {
            let dash = DASH_PATTERNS[one.look.dash % DASHES];
            let group = Group { class: "curve", title: Some(&one.name), dash };
            page.layer(&group, |layer| self.curve(layer, one));
        }
        let mut written = Vec::new();
        for (index, one) in self.series.iter().enumerate() {
            let group = Group { class: "markers", title: Some(&one.name), ..Group::default() };
            page.layer(&group, |layer| self.markers(layer, index, one, &mut written));
        }
    }

    /// The names of the curves, where the layout has put them.
    pub fn names(&self, page: &mut Page) {
        for entry in &self.layout.entries {
            let one = &self.series[entry.series];
            let dash = DASH_PATTERNS[one.look.dash % DASHES];
            if matches!(entry.tie, Tie::Swatch | Tie::Leader { swatch: true }) {
                page.layer(&Group { class: "swatch", dash, ..Group::default() }, |layer| self.swatch(layer, entry));
            }
            let group = Group { class: "name", title: Some(&one.name), ..Group::default() };
            page.layer(&group, |layer| self.name(layer, entry));
        }
    }

    /// Thin lines at places of the horizontal axis, the words beside their upper ends.
    fn guides(&self, page: &mut Page) {
        let (theme, place) = (&self.spec.theme, self.layout);
        let across = |x: f64| {
            let inside = x.is_finite() && (place.x.min..=place.x.max).contains(&x);
            place.x.fraction(x).filter(|_| inside).map(|part| place.left + part * (place.right - place.left))
        };
        let guides: Vec<(f64, f64, &str)> = self
            .spec
            .guides
            .iter()
            .filter_map(|guide| Some((across(guide.from)?, across(guide.to)?, guide.text.as_str())))
            .collect();
        if guides.is_empty() {
            return;
        }
        page.layer(&Group { class: "guides", dash: &[3.0, 3.0], ..Group::default() }, |layer| {
            let mut written: Vec<f64> = Vec::new();
            for &(from, to, text) in &guides {
                if to - from > 1.0 {
                    layer.rectangle((from, place.top), (to, place.bottom), theme.muted.mix(0.08));
                }
                layer.line(&[(from, place.top - 4.0), (from, place.bottom)], theme.muted.mix(0.8), 1.0);
                let wide = width(text, SMALL_SIZE);
                let (x, side) =
                    if to + 6.0 + wide < place.right { (to + 5.0, Side::Start) } else { (from - 5.0, Side::End) };
                // Words that would lie on others stand a row below them.
                let begin = if side == Side::Start { x } else { x - wide };
                let row = written.iter().position(|end| begin > *end).unwrap_or(written.len());
                written.resize(written.len().max(row + 1), f64::MIN);
                written[row] = begin + wide + 8.0;
                let y = place.top - 1.0 + row as f64 * (SMALL_SIZE + 3.0);
                layer.text(text, (x, y), side, self.font(SMALL_SIZE, theme.muted));
            }
        });
    }

    fn font(&self, size: f64, colour: RGBColor) -> Font {
        Font { size, bold: false, colour }
    }

    fn colour(&self, one: &Series) -> RGBColor {
        self.spec.theme.families[one.look.family % self.spec.theme.families.len()]
    }

    /// What stands outside the plot: background, titles, notes.
    pub fn sheet(&self, layer: &mut Layer) {
        let (theme, place) = (&self.spec.theme, self.layout);
        let (page_width, page_height) = (f64::from(self.spec.width), f64::from(self.spec.height));
        layer.rectangle((0.0, 0.0), (page_width, page_height), theme.background.to_rgba());
        self.titles(layer);
        let mut y = page_height - 24.0 - 16.0 * (place.notes.len() as f64 - 1.0);
        for note in &place.notes {
            layer.text(note, (MARGIN, y), Side::Start, self.font(SMALL_SIZE, theme.muted));
            y += 16.0;
        }
    }

    /// Axes and grid; the figures at the axes where they are wanted.
    pub fn axes(&self, layer: &mut Layer, left_figures: bool, lower_figures: bool) {
        let (theme, place) = (&self.spec.theme, self.layout);
        for tick in &place.y.ticks {
            let Some(up) = place.y.fraction(tick.value) else { continue };
            let y = place.bottom - up * (place.bottom - place.top);
            layer.line(&[(place.left, y), (place.right, y)], theme.grid.to_rgba(), 1.0);
            if left_figures {
                layer.text(&tick.label, (place.left - 9.0, y), Side::End, self.font(TEXT_SIZE, theme.muted));
            }
        }
        let widest = place.x.ticks.iter().map(|tick| width(&tick.label, TEXT_SIZE)).fold(1.0, f64::max) + 14.0;
        let room = ((place.right - place.left) / widest).max(1.0);
        let every = ((place.x.ticks.len() as f64 / room).ceil() as usize).max(1);
        for (index, tick) in place.x.ticks.iter().enumerate() {
            let Some(across) = place.x.fraction(tick.value) else { continue };
            let x = place.left + across * (place.right - place.left);
            layer.line(&[(x, place.top), (x, place.bottom)], theme.grid.to_rgba(), 1.0);
            layer.line(&[(x, place.bottom), (x, place.bottom + 5.0)], theme.axis.to_rgba(), 1.0);
            if lower_figures && index % every == 0 {
                layer.text(&tick.label, (x, place.bottom + 17.0), Side::Middle, self.font(TEXT_SIZE, theme.muted));
            }
        }
        layer.line(&[(place.left, place.bottom), (place.right, place.bottom)], theme.axis.to_rgba(), 1.2);
    }

    fn titles(&self, layer: &mut Layer) {
        let (theme, place) = (&self.spec.theme, self.layout);
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
        self.layout.at(point)
    }

    fn repeats(&self, layer: &mut Layer, one: &Series) {
        let colour = self.colour(one).mix(0.3);
        for at in one.raw.iter().filter_map(|point| self.at(*point)) {
            layer.disc(at, 2.4, self.colour(one).mix(0.45));
        }
        for piece in one.repeats.iter().flat_map(|repeat| self.layout.pieces(repeat)) {
            self.piece(layer, &piece, colour, 1.1);
        }
    }

    /// Bars with short ends. One of less than a pixel would be nothing but its ends, and is left out.
    fn ranges(&self, layer: &mut Layer, one: &Series) {
        let colour = self.colour(one).mix(0.6);
        for [low, high] in one.ranges.iter().filter_map(|range| self.layout.bar(range)) {
            if low.1 - high.1 >= 1.0 {
                layer.line(&[low, high], colour, 1.3);
                for (x, y) in [low, high] {
                    layer.line(&[(x - BAR_END, y), (x + BAR_END, y)], colour, 1.3);
                }
            }
        }
    }

    fn curve(&self, layer: &mut Layer, one: &Series) {
        for piece in self.layout.pieces(&one.points) {
            self.piece(layer, &piece, self.colour(one).to_rgba(), LINE_WIDTH);
        }
    }

    fn piece(&self, layer: &mut Layer, piece: &[At], colour: RGBAColor, line_width: f64) {
        match piece {
            [] => {}
            // A single batch between two gaps has no line: it is a dot.
            [only] => layer.disc(*only, line_width * 1.2, colour),
            _ => layer.line(piece, colour, line_width),
        }
    }

    /// Markers so far apart that they do not hide the line, shifted from curve to curve so that they do not hide each other.
    fn markers(&self, layer: &mut Layer, index: usize, one: &Series, written: &mut Vec<Words>) {
        let colour = self.colour(one);
        let points: Vec<At> = one.points.iter().filter_map(|point| self.at(*point)).collect();
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
        let spacing = (last.0 - first.0) / (points.len() as f64 - 1.0).max(1.0);
        let needed = if points.len() <= FEW_POINTS { MARKER_SPACING / 2.0 } else { MARKER_SPACING };
        let dense = spacing < needed;
        // The markers of very many curves would cover each other's lines.
        let sparse = SPARSE_MARKERS * (self.series.len() as f64 / MANY_CURVES).max(1.0);
        let every = if dense { ((sparse / spacing.max(0.01)).ceil() as usize).max(1) } else { 1 };
        let shift = if dense { index * every / self.series.len().max(1) } else { 0 };
        // A line of few points has at least one marker.
        let shift = shift.min(points.len().saturating_sub(1));
        // A smoothed line has its batches as dots already: its marker stands at its end only.
        let (shift, every) = if one.raw.is_empty() { (shift, every) } else { (points.len() - 1, 1) };
        for at in points.iter().skip(shift).step_by(every) {
            self.marker(layer, *at, one.look.marker, colour);
        }
        // What lies beyond the axis is drawn at its upper edge, under an arrow.
        let beyond: Vec<&Point> = one.points.iter().filter(|point| point.y > self.layout.y.max).collect();
        for point in &beyond {
            let Some((x, y)) = self.at(**point) else { continue };
            layer.polygon(&[(x - 5.0, y - 5.0), (x, y - 13.0), (x + 5.0, y - 5.0)], colour.to_rgba());
            let value = figure(point.y, self.spec.quantity);
            let wide = width(&value, SMALL_SIZE);
            let (x, left, side) = match x + 9.0 + wide < self.layout.right {
                true => (x + 9.0, x + 9.0, Side::Start),
                false => (x - 9.0, x - 9.0 - wide, Side::End),
            };
            // Where values would hide each other, the notes list them.
            let words = Words { left, right: left + wide, y: y - 9.0 };
            if !written.iter().any(|other| other.hides(&words)) {
                layer.text(&value, (x, words.y), side, self.font(SMALL_SIZE, colour));
                written.push(words);
            }
        }
        for mark in &one.marks {
            if mark.kind == MarkKind::Cliff {
                self.cliff(layer, one, mark, written);
            } else if let Some(at) = self.place_of(one, mark.x) {
                self.sign(layer, at, mark.kind, colour);
            }
        }
    }

    /// The sign of a cliff stands on the line at its table size, between two points if need be, and its factor beside it.
    fn cliff(&self, layer: &mut Layer, one: &Series, mark: &Mark, written: &mut Vec<Words>) {
        let Some(at) = self.on_line(one, mark.x) else { return };
        self.sign(layer, at, mark.kind, self.colour(one));
        let factor = mark.text.split(' ').next().unwrap_or_default();
        // Above the line there is room: to the left of a cost that rises, to the right of a rate that falls.
        let sides = match self.spec.quantity {
            Quantity::Rate => [Side::Start, Side::End],
            Quantity::Seconds | Quantity::Plain => [Side::End, Side::Start],
        };
        let wide = width(factor, TEXT_SIZE);
        // Rows from the place above the line outwards, on both sides; factors of other lines are not written over.
        let rows = [0.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0, 5.0, -5.0, 6.0, -6.0, 7.0, -7.0, 8.0];
        let places = rows.into_iter().flat_map(|row| sides.map(|side| (row, side))).map(|(row, side)| {
            let x = if side == Side::Start { at.0 + 10.0 } else { at.0 - 10.0 };
            let left = if side == Side::Start { x } else { x - wide };
            let y = at.1 - 12.0 + row * ROW_OF_WORDS;
            (x, y, side, Words { left, right: left + wide, y })
        });
        let inside = |words: &Words| {
            words.left > self.layout.left && words.y > self.layout.top && words.y < self.layout.bottom - 4.0
        };
        let free: Vec<_> =
            places.filter(|(.., words)| inside(words) && !written.iter().any(|other| other.hides(words))).collect();
        // A place that no line crosses, where there is one.
        let clear = free.iter().find(|(.., words)| !self.crosses(words)).or(free.first());
        if let Some(&(x, y, side, words)) = clear {
            layer.text(factor, (x, y), side, self.font(TEXT_SIZE, self.colour(one)));
            written.push(words);
        }
    }

    /// Whether a line goes through these words.
    fn crosses(&self, words: &Words) -> bool {
        let half = ROW_OF_WORDS / 2.0;
        let within = |(x, y): At| x > words.left - 4.0 && x < words.right + 4.0 && (y - words.y).abs() < half + 2.0;
        self.series.iter().any(|one| {
            let places: Vec<At> = one.points.iter().filter_map(|point| self.at(*point)).collect();
            places.windows(2).any(|pair| {
                let (from, to) = (pair[0], pair[1]);
                let beside = from.0.max(to.0) < words.left - 4.0 || from.0.min(to.0) > words.right + 4.0;
                let steps = ((to.0 - from.0).hypot(to.1 - from.1) / 4.0).ceil().max(1.0);
                !beside
                    && (0..=steps as u32)
                        .map(|step| f64::from(step) / steps)
                        .any(|share| within((from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))))
            })
        })
    }

    /// The place on the curve's line at this table size.
    fn on_line(&self, one: &Series, x: f64) -> Option<At> {
        let mut points: Vec<Point> = one.points.iter().copied().filter(|point| point.y.is_finite()).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let next = points.partition_point(|point| point.x < x);
        let (after, before) = (points.get(next).or(points.last())?, points[next.saturating_sub(1)]);
        let (from, to) = (self.at(before)?, self.at(*after)?);
        let share = if after.x > before.x { ((x - before.x) / (after.x - before.x)).clamp(0.0, 1.0) } else { 0.0 };
        Some((from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1)))
    }

    /// The curve's point at `x`, or its last one before; the repeats are asked too, since one may have gone on alone.
    fn place_of(&self, one: &Series, x: f64) -> Option<At> {
        let candidates = [&one.points].into_iter().chain(&one.repeats).flatten();
        let before = candidates.clone().filter(|point| point.x <= x).max_by(|a, b| a.x.total_cmp(&b.x));
        before.or_else(|| candidates.min_by(|a, b| a.x.total_cmp(&b.x))).and_then(|point| self.at(*point))
    }

    fn marker(&self, layer: &mut Layer, (x, y): At, marker: usize, colour: RGBColor) {
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

    fn sign(&self, layer: &mut Layer, (x, y): At, kind: MarkKind, colour: RGBColor) {
        let (solid, background) = (colour.to_rgba(), self.spec.theme.background.to_rgba());
        let cross = |layer: &mut Layer, arm: f64| {
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
            MarkKind::Cliff => {
                layer.line(&[(x, y - 9.0), (x, y + 9.0)], background, 5.0);
                layer.line(&[(x, y - 7.5), (x, y + 7.5)], solid, 1.6);
                layer.disc((x, y), 5.5, background);
                layer.ring((x, y), 4.5, solid, 1.8);
            }
            MarkKind::Resume => {
                layer.polygon(&[(x - 7.5, y - 11.0), (x + 11.5, y), (x - 7.5, y + 11.0)], background);
                layer.polygon(&[(x - 5.0, y - 7.0), (x + 7.5, y), (x - 5.0, y + 7.0)], solid);
            }
        }
    }

    /// The piece of line in front of a listed name.
    fn swatch(&self, layer: &mut Layer, entry: &Entry) {
        let colour = self.colour(&self.series[entry.series]);
        let right = entry.left - 8.0;
        layer.line(&[(right - SWATCH, entry.y), (right, entry.y)], colour.to_rgba(), LINE_WIDTH);
    }

    fn name(&self, layer: &mut Layer, entry: &Entry) {
        let theme = &self.spec.theme;
        let one = &self.series[entry.series];
        let colour = self.colour(one);
        let has_swatch = matches!(entry.tie, Tie::Swatch | Tie::Leader { swatch: true });
        if has_swatch {
            self.marker(layer, (entry.left - 8.0 - SWATCH / 2.0, entry.y), one.look.marker, colour);
        }
        if matches!(entry.tie, Tie::Leader { .. })
            && let Some(end) = one.points.last().and_then(|point| self.at(*point))
        {
            let to = if has_swatch { entry.left - 10.0 - SWATCH } else { entry.left - 5.0 };
            layer.line(&[(end.0 + 7.0, end.1), (to, entry.y)], colour.mix(0.6), 1.0);
        }
        layer.text(&entry.name, (entry.left, entry.y), Side::Start, self.font(self.layout.name_size, theme.ink));
        let mut y = entry.y + 16.0;
        for (kind, text) in &entry.marks {
            // At the end of its line the sign is already there.
            let indent = if entry.tie == Tie::Swatch { 17.0 } else { 0.0 };
            if entry.tie == Tie::Swatch {
                self.sign(layer, (entry.left + 6.0, y), *kind, colour);
            }
            layer.text(text, (entry.left + indent, y), Side::Start, self.font(SMALL_SIZE, theme.muted));
            y += MARK_LINE;
        }
        let is_last = self.layout.entries.last().is_some_and(|last| last.series == entry.series);
        if is_last && self.layout.unnamed > 0 {
            let more = format!("... and {} more curves", self.layout.unnamed);
            layer.text(&more, (entry.left, y + 3.0), Side::Start, self.font(SMALL_SIZE, theme.muted));
        }
    }
}
