//! Where the parts of a picture stand.
//!
//! Names are what is hard: each stands at the end of its line where all of them fit there without touching data or
//! each other; otherwise all of them are listed at the right of the plot. They never lie over data.

use super::plot::{Mark, MarkKind, PlotSpec, Point, Range, Series};
use super::scale::Axis;
use super::sheet::At;
use super::text::{fitted, width, wrapped};

/// Space around everything.
pub const MARGIN: f64 = 28.0;
/// Size of the title.
pub const TITLE_SIZE: f64 = 22.0;
/// Size of the line below it.
pub const SUBTITLE_SIZE: f64 = 13.0;
/// Size of names and of what stands at the axes.
pub const TEXT_SIZE: f64 = 13.0;
pub const SMALL_SIZE: f64 = 11.0;
/// Length of the piece of line in front of a listed name.
pub const SWATCH: f64 = 34.0;
/// Height of a name.
const LINE: f64 = 19.0;
/// Height of a name where there are many.
const CLOSE_LINE: f64 = 13.0;
/// Height of a line below a name.
pub const MARK_LINE: f64 = 15.0;
/// Space between the plot and the names at the ends of lines, for the leaders.
const LEADER: f64 = 26.0;
/// A name further than this from the end of its line is not read as belonging to it.
const MAX_SHIFT: f64 = 56.0;
/// A name moved by no more than this still stands at the end of its line.
const UNMOVED: f64 = 5.0;
/// A line that ends this far along the plot has its name beside the plot, an earlier one inside it.
const EDGE: f64 = 0.94;

/// Where the parts of a picture stand, in pixels.
#[derive(Debug, Clone)]
pub struct Layout {
    pub x: Axis,
    pub y: Axis,
    /// Left edge of the plot.
    pub left: f64,
    /// Right edge of the plot.
    pub right: f64,
    /// Upper edge of the plot.
    pub top: f64,
    /// Lower edge of the plot.
    pub bottom: f64,
    /// The subtitle in lines.
    pub subtitle: Vec<String>,
    /// The notes in lines.
    pub notes: Vec<String>,
    pub entries: Vec<Entry>,
    /// Curves whose names have no room in the list.
    pub unnamed: usize,
    /// Size of the names.
    pub name_size: f64,
}

/// The name of a curve.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Index of the series.
    pub series: usize,
    /// The name, cut to its room.
    pub name: String,
    /// Lines below the name, each with the sign it explains.
    pub marks: Vec<(MarkKind, String)>,
    /// Left end of the name.
    pub left: f64,
    /// Height of the middle of the name.
    pub y: f64,
    /// How it is tied to its curve.
    pub tie: Tie,
}

/// How a name is tied to its curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tie {
    /// A piece of the line in front of the name.
    Swatch,
    /// A thin line from the end of the curve, and the piece of line where the name had to be moved.
    Leader {
        /// Whether there is a piece of line in front of the name.
        swatch: bool,
    },
    /// The name stands right there.
    Beside,
}

impl Layout {
    /// Decides where everything stands.
    pub fn new(spec: &PlotSpec, x: Axis, y: Axis, series: &[Series], remarks: &[String]) -> Self {
        let (page_width, page_height) = (f64::from(spec.width), f64::from(spec.height));
        let inner = page_width - 2.0 * MARGIN;
        let mut subtitle = wrapped(&spec.subtitle, inner, |line| width(line, SUBTITLE_SIZE));
        subtitle.truncate(3);
        let subtitle: Vec<String> = subtitle.iter().map(|line| fitted(line, SUBTITLE_SIZE, inner)).collect();
        let notes = note_lines(spec.notes.iter().chain(remarks), inner);
        let y_labels = y.ticks.iter().map(|tick| width(&tick.label, TEXT_SIZE)).fold(0.0, f64::max);
        let frame = Self {
            left: MARGIN + y_labels.ceil() + 10.0,
            right: page_width - MARGIN,
            top: 90.0 + 18.0 * subtitle.len() as f64,
            bottom: page_height - 76.0 - 16.0 * notes.len() as f64,
            x,
            y,
            subtitle,
            notes,
            entries: Vec::new(),
            unnamed: 0,
            name_size: TEXT_SIZE,
        };
        let widest = page_width * 0.3;
        frame.with_names_at_ends(series, widest).unwrap_or_else(|| frame.with_list(series, widest))
    }

    /// The pixel of a point. `None` for what has no place on the axes.
    pub fn at(&self, point: Point) -> Option<At> {
        let across = self.x.fraction(point.x)?;
        let up = self.y.fraction(point.y)?;
        Some((self.left + across * (self.right - self.left), self.bottom - up * (self.bottom - self.top)))
    }

    /// The lower and the upper end of a bar, as far as the axis goes.
    pub fn bar(&self, range: &Range) -> Option<[At; 2]> {
        let end = |y: f64| self.at(Point { batch: 0, x: range.x, y });
        Some([end(range.low)?, end(range.high)?])
    }

    /// The points in pixels, cut where a batch is missing.
    pub fn pieces(&self, points: &[Point]) -> Vec<Vec<At>> {
        points
            .chunk_by(|a, b| b.batch.saturating_sub(a.batch) <= 1)
            .map(|piece| thinned(piece.iter().filter_map(|point| self.at(*point)).collect()))
            .collect()
    }

    /// The layout with every name at the end of its line; `None` where that cannot be done for all.
    fn with_names_at_ends(&self, series: &[Series], widest: f64) -> Option<Self> {
        let ends_at_edge = |one: &Series| {
            one.points.last().and_then(|point| self.x.fraction(point.x)).is_some_and(|along| along >= EDGE)
        };
        let outside: Vec<usize> = (0..series.len()).filter(|&index| ends_at_edge(&series[index])).collect();
        let names_width = outside.iter().map(|&index| entry_width(&series[index], 0.0)).fold(0.0, f64::max);
        if names_width > widest {
            return None;
        }
        let beside = |swatch: bool| {
            let room = if swatch { LEADER + SWATCH + 8.0 } else { LEADER };
            let layout = Self { right: self.right - names_width.ceil() - room, ..self.clone() };
            layout.names_outside(series, &outside, room, swatch)
        };
        // Where names had to be moved from their lines, the leaders alone are hard to follow.
        let mut layout = match beside(false) {
            Some((layout, shift)) if shift <= UNMOVED => layout,
            _ => beside(true)?.0,
        };
        let lines: Vec<Vec<At>> = series
            .iter()
            .flat_map(|one| [&one.points].into_iter().chain(&one.repeats))
            .flat_map(|points| layout.pieces(points))
            .chain(series.iter().flat_map(|one| &one.ranges).filter_map(|range| layout.bar(range)).map(Vec::from))
            .collect();
        let mut taken: Vec<Box> = Vec::new();
        for index in (0..series.len()).filter(|index| !outside.contains(index)) {
            let (entry, room) = layout.name_inside(&series[index], index, &lines, &taken)?;
            taken.push(room);
            layout.entries.push(entry);
        }
        Some(layout)
    }

    /// Names beside the plot, spread so that they do not overlap and still are near their lines' ends; and how far
    /// one had to be moved.
    fn names_outside(mut self, series: &[Series], outside: &[usize], room: f64, swatch: bool) -> Option<(Self, f64)> {
        let mut ends: Vec<(usize, f64)> = Vec::new();
        for &index in outside {
            ends.push((index, self.at(*series[index].points.last()?)?.1));
        }
        ends.sort_by(|a, b| a.1.total_cmp(&b.1));
        let tie = Tie::Leader { swatch };
        let mut entries: Vec<Entry> =
            ends.iter().map(|&(index, _)| Entry::new(&series[index], index, f64::MAX, tie)).collect();
        let wanted: Vec<f64> = ends.iter().map(|end| end.1).collect();
        let heights: Vec<f64> = entries.iter().map(Entry::height).collect();
        let places = spread(&wanted, &heights, self.top - LINE / 2.0, self.bottom + LINE / 2.0)?;
        let mut farthest = 0.0;
        for ((entry, place), wanted) in entries.iter_mut().zip(places).zip(wanted) {
            farthest = f64::max(farthest, (place - wanted).abs());
            (entry.left, entry.y) = (self.right + room, place);
        }
        self.entries = entries;
        (farthest <= MAX_SHIFT).then_some((self, farthest))
    }

    /// A name right of the end of a line inside the plot, if there is a place without data.
    fn name_inside(&self, one: &Series, index: usize, lines: &[Vec<At>], taken: &[Box]) -> Option<(Entry, Box)> {
        let end = self.at(*one.points.last()?)?;
        let mut entry = Entry::new(one, index, f64::MAX, Tie::Beside);
        entry.left = end.0 + if one.marks.is_empty() { 10.0 } else { 14.0 };
        let (wide, high) = (entry_width(one, 0.0), entry.height());
        for shift in [0.0, -8.0, 8.0, -15.0, 15.0] {
            entry.y = end.1 + shift;
            let top = entry.y - LINE / 2.0;
            let room = Box { left: entry.left - 3.0, top, right: entry.left + wide + 3.0, bottom: top + high };
            let inside = room.right < self.right && room.top > self.top && room.bottom < self.bottom;
            let free = !lines.iter().any(|line| room.meets(line)) && !taken.iter().any(|other| room.overlaps(other));
            if inside && free {
                return Some((entry, room));
            }
        }
        None
    }

    /// The layout with the names in a list at the right, in the order of the ends of their lines.
    fn with_list(&self, series: &[Series], widest: f64) -> Self {
        let sign = 17.0;
        let names_width = series.iter().map(|one| entry_width(one, sign)).fold(0.0, f64::max).min(widest).ceil();
        let names_left = self.right - names_width;
        let mut layout = Self { right: names_left - 8.0 - SWATCH - 18.0, ..self.clone() };
        let mut order: Vec<(usize, f64)> = series
            .iter()
            .enumerate()
            .filter_map(|(index, one)| Some((index, layout.at(*one.points.last()?)?.1)))
            .collect();
        order.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut entries: Vec<Entry> =
            order.iter().map(|&(index, _)| Entry::new(&series[index], index, names_width, Tie::Swatch)).collect();
        let room = layout.bottom - layout.top + LINE;
        if entries.iter().map(Entry::height).sum::<f64>() > room {
            // A name matters more than why its curve stopped.
            entries.iter_mut().for_each(|entry| entry.marks.clear());
        }
        // Many names stand closer, in smaller letters.
        let closer = (entries.len() as f64) * LINE > room && entries.iter().all(|entry| entry.marks.is_empty());
        let line = if closer { CLOSE_LINE } else { LINE };
        layout.name_size = if closer { SMALL_SIZE } else { TEXT_SIZE };
        let lines = (room / line) as usize;
        if entries.len() > lines {
            layout.unnamed = entries.len() - lines.saturating_sub(1);
            entries.truncate(lines.saturating_sub(1));
        }
        let mut y = layout.top;
        for entry in &mut entries {
            (entry.left, entry.y) = (names_left, y);
            y += if closer { line } else { entry.height() };
        }
        layout.entries = entries;
        layout
    }
}

impl Entry {
    fn new(one: &Series, index: usize, widest: f64, tie: Tie) -> Self {
        let mut marks: Vec<(MarkKind, String)> = Vec::new();
        for mark in one.marks.iter().filter(|mark| !mark.text.is_empty()) {
            marks.push((mark.kind, fitted(&mark.text, SMALL_SIZE, widest - 17.0)));
        }
        Self { series: index, name: fitted(&one.name, TEXT_SIZE, widest), marks, left: 0.0, y: 0.0, tie }
    }

    fn height(&self) -> f64 {
        LINE + MARK_LINE * self.marks.len() as f64
    }
}

/// A line of more points than this has several to a pixel.
const MANY_POINTS: usize = 4000;

/// A line of very many points with the same looks and fewer points: of each quarter of a pixel the first point, the lowest, the highest
/// and the last. So a document does not grow with the run.
fn thinned(line: Vec<At>) -> Vec<At> {
    if line.len() <= MANY_POINTS {
        return line;
    }
    let column = |at: &At| (at.0 * 4.0).floor();
    line.chunk_by(|a, b| column(a) == column(b))
        .flat_map(|chunk| {
            let extreme = |sign: f64| {
                (0..chunk.len()).max_by(|&a, &b| (chunk[a].1 * sign).total_cmp(&(chunk[b].1 * sign))).unwrap_or(0)
            };
            let mut kept = vec![0, extreme(1.0), extreme(-1.0), chunk.len() - 1];
            kept.sort_unstable();
            kept.dedup();
            kept.into_iter().map(|index| chunk[index])
        })
        .collect()
}

/// The width of a name and the lines below it, which have a sign of this width before them.
fn entry_width(one: &Series, sign: f64) -> f64 {
    let mark_width = |mark: &Mark| if mark.text.is_empty() { 0.0 } else { sign + width(&mark.text, SMALL_SIZE) };
    one.marks.iter().map(mark_width).fold(width(&one.name, TEXT_SIZE), f64::max)
}

fn note_lines<'a>(notes: impl Iterator<Item = &'a String>, inner: f64) -> Vec<String> {
    let mut lines: Vec<String> = notes
        .flat_map(|note| wrapped(note, inner, |line| width(line, SMALL_SIZE)))
        .map(|line| fitted(&line, SMALL_SIZE, inner))
        .collect();
    if lines.len() > 4 {
        let more = lines.len() - 3;
        lines.truncate(3);
        lines.push(format!("... and {more} more lines"));
    }
    lines
}

/// A rectangle that a name takes.
#[derive(Debug, Clone, Copy)]
struct Box {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Box {
    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    /// Whether a line comes into the rectangle.
    fn meets(&self, line: &[At]) -> bool {
        if let [only] = line {
            return self.meets_segment(*only, *only);
        }
        line.windows(2).any(|pair| self.meets_segment(pair[0], pair[1]))
    }

    /// Clips the segment at each edge in turn (Liang and Barsky): something is left if it comes in.
    fn meets_segment(&self, from: At, to: At) -> bool {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        for (step, distance) in
            [(-dx, from.0 - self.left), (dx, self.right - from.0), (-dy, from.1 - self.top), (dy, self.bottom - from.1)]
        {
            if step == 0.0 {
                if distance < 0.0 {
                    return false;
                }
            } else if step < 0.0 {
                enter = enter.max(distance / step);
            } else {
                leave = leave.min(distance / step);
            }
        }
        enter <= leave
    }
}

/// Places labels of given heights as near as they can stand to the wanted heights without overlap, in the given order.
///
/// `wanted` is ascending; a place is the middle of a label's first line. `None` when they do not fit.
fn spread(wanted: &[f64], heights: &[f64], low: f64, high: f64) -> Option<Vec<f64>> {
    // Blocks of labels that touch; each stands where its labels want to be on average.
    struct Block {
        first: usize,
        height: f64,
        top: f64,
    }
    if heights.iter().sum::<f64>() > high - low {
        return None;
    }
    let settle = |first: usize, end: usize, height: f64| {
        let (mut offset, mut sum) = (0.0, 0.0);
        for index in first..end {
            sum += wanted[index] - LINE / 2.0 - offset;
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
            places.push(top + LINE / 2.0);
            top += height;
        }
    }
    Some(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spread_without_overlap_and_in_order() {
        assert_eq!(spread(&[100.0, 200.0], &[19.0, 19.0], 0.0, 400.0), Some(vec![100.0, 200.0]));
        assert_eq!(spread(&[100.0, 100.0], &[20.0, 20.0], 0.0, 400.0), Some(vec![90.0, 110.0]));
        assert_eq!(spread(&[100.0, 100.0], &[19.0, 19.0], 0.0, 30.0), None);
        let wanted = [10.0, 11.0, 12.0, 50.0, 51.0, 395.0, 399.0];
        let places = spread(&wanted, &[19.0; 7], 0.0, 400.0).unwrap();
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 19.0 - 1e-9), "{places:?}");
        assert!(places.iter().all(|place| (LINE / 2.0..=400.0 - LINE / 2.0).contains(place)), "{places:?}");
    }

    #[test]
    fn a_segment_through_a_rectangle_is_noticed() {
        let room = Box { left: 10.0, top: 10.0, right: 20.0, bottom: 20.0 };
        assert!(room.meets(&[(0.0, 15.0), (30.0, 15.0)]));
        assert!(room.meets(&[(15.0, 15.0)]));
        assert!(room.meets(&[(0.0, 0.0), (30.0, 30.0)]));
        assert!(!room.meets(&[(0.0, 5.0), (30.0, 5.0)]));
        assert!(!room.meets(&[(0.0, 25.0), (25.0, 100.0)]));
        assert!(!room.meets(&[(0.0, 15.0), (5.0, 15.0)]));
    }
}
