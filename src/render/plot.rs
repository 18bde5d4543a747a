//! A picture of curves over the size of the table, as SVG.
//!
//! [`draw_svg`] is given points and words and returns text. It sorts out what can be drawn; [`super::scale`] decides the
//! axes, [`super::palette`] the looks, [`super::layout`] the places, and [`super::paint`] draws.

use super::layout::Layout;
use super::paint::Painter;
use super::palette::{Look, Theme};
use super::raster;
use super::scale::{self, Axis, Quantity};
use super::sheet::Page;
use crate::reading::figures::Across;
use crate::units::{human_rate, human_seconds, significant};

/// What a picture is to show.
#[derive(Debug, Clone)]
pub struct PlotSpec {
    pub title: String,
    /// What was measured: target and version, sizes.
    pub subtitle: String,
    /// Title of the horizontal axis; without one: rows in the table.
    pub x_title: Option<String>,
    /// Title of the vertical axis.
    pub y_title: String,
    /// What the vertical axis counts.
    pub quantity: Quantity,
    /// What the horizontal axis counts.
    pub across: Across,
    /// Logarithmic vertical axis.
    pub log: bool,
    pub width: u32,
    pub height: u32,
    pub theme: Theme,
    /// Notes below the plot.
    pub notes: Vec<String>,
    /// Places on the horizontal axis that are marked with a thin line.
    pub guides: Vec<Guide>,
    /// The horizontal axis and its title, where it is neither of those of `across`.
    pub x_axis: Option<(Axis, String)>,
    /// Whether the vertical axis goes as far as the highest point, however far that is from the others.
    pub whole: bool,
}

/// A place on the horizontal axis, or a stretch of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Guide {
    pub from: f64,
    /// Where it ends: the same, for a line.
    pub to: f64,
    /// What stands at its upper end.
    pub text: String,
}

impl Default for PlotSpec {
    fn default() -> Self {
        Self {
            title: String::new(),
            subtitle: String::new(),
            x_title: None,
            y_title: String::new(),
            quantity: Quantity::Seconds,
            across: Across::Rows,
            log: false,
            width: 1200,
            height: 700,
            theme: Theme::light(),
            notes: Vec::new(),
            guides: Vec::new(),
            x_axis: None,
            whole: false,
        }
    }
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The batch: where one is missing the line is broken.
    pub batch: u64,
    /// Rows in the table, or what else the horizontal axis counts.
    pub x: f64,
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
    /// The curve fell here. The first word of its text, the factor, stands beside the sign.
    Cliff,
}

/// A sign on a curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Rows in the table: the sign stands on the curve's point there, or on the last one before; that of a cliff on the line itself.
    pub x: f64,
    pub kind: MarkKind,
    /// What stands below the curve's name; nothing when empty.
    pub text: String,
}

/// How far the single measurements behind a point reach, drawn as a bar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// Where the point stands.
    pub x: f64,
    pub low: f64,
    pub high: f64,
}

/// A line of the picture.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    pub name: String,
    pub look: Look,
    /// Its points, in any order.
    pub points: Vec<Point>,
    /// The single repeats, or other figures of the same batches, drawn lightly below the line.
    pub repeats: Vec<Vec<Point>>,
    /// The batches themselves as light dots, where the line is smoothed.
    pub raw: Vec<Point>,
    /// Bars at its points.
    pub ranges: Vec<Range>,
    /// Signs on it.
    pub marks: Vec<Mark>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    pub page: Page,
    /// The same as a document.
    pub svg: String,
    /// What could not be drawn, a sentence each.
    pub left_out: Vec<String>,
}

impl Picture {
    /// A finished page.
    ///
    /// # Errors
    /// The drawing library fails.
    pub fn new(page: Page, left_out: Vec<String>) -> Result<Self, PlotError> {
        let svg = page.svg().map_err(PlotError::Drawing)?;
        Ok(Self { page, svg, left_out })
    }

    /// The same picture as PNG.
    ///
    /// # Errors
    /// The drawing library fails.
    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        raster::png(&self.page).map_err(PlotError::Drawing)
    }
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
    TooSmall { width: u32, height: u32 },
    /// The drawing library failed.
    #[error("the picture cannot be drawn: {0}")]
    Drawing(String),
}

const MIN_WIDTH: u32 = 480;
const MIN_HEIGHT: u32 = 300;
/// Beyond this, whole pixels of plotters in tenths would not fit its integers.
const MAX_SIDE: u32 = 20_000;

/// A picture in which so few points are so far above the rest shows those few at its upper edge: one in ten.
const FEW: usize = 10;
/// So many of them are listed with their figures.
const LISTED: usize = 12;
/// How far above: this many times the highest of the rest.
const FAR: f64 = 10.0;

/// Draws `series`.
///
/// # Errors
/// There is not a single point to draw, the size has no room for a plot, or the drawing library fails.
pub fn draw_svg(spec: &PlotSpec, series: &[Series]) -> Result<Picture, PlotError> {
    has_room(spec)?;
    let Prepared { series, x, x_title, y, remarks, left_out } = prepare(spec, series)?;
    let layout = Layout::new(spec, x, y, &series, &remarks);
    let page = Painter { spec, x_title: &x_title, series: &series, layout: &layout }.paint();
    Picture::new(page, left_out)
}

/// Whether the size asked for can be drawn at all.
///
/// # Errors
/// It cannot.
pub fn has_room(spec: &PlotSpec) -> Result<(), PlotError> {
    if spec.width < MIN_WIDTH || spec.height < MIN_HEIGHT || spec.width.max(spec.height) > MAX_SIDE {
        return Err(PlotError::TooSmall { width: spec.width, height: spec.height });
    }
    Ok(())
}

/// What can be drawn of the series, and the axes that hold it.
pub struct Prepared {
    /// The series with their points in order; those without a point are left out.
    pub series: Vec<Series>,
    pub x: Axis,
    pub x_title: String,
    pub y: Axis,
    /// What a reader of the picture has to know.
    pub remarks: Vec<String>,
    /// What could not be drawn.
    pub left_out: Vec<String>,
}

/// Sorts out what can be drawn, and makes the axes.
///
/// # Errors
/// There is not a single point to draw.
pub fn prepare(spec: &PlotSpec, series: &[Series]) -> Result<Prepared, PlotError> {
    let mut left_out = Vec::new();
    let series: Vec<Series> = series.iter().map(|series| drawable(series, spec.log, &mut left_out)).collect();
    let series: Vec<Series> = series.into_iter().filter(|series| !series.points.is_empty()).collect();
    let all = || series.iter().flat_map(|one| one.points.iter().chain(one.repeats.iter().flatten()).chain(&one.raw));
    let bars = || series.iter().flat_map(|one| &one.ranges).flat_map(|range| [range.low, range.high]);
    let mut remarks = left_out.clone();
    let y = if spec.log {
        scale::logarithmic(all().map(|point| point.y).chain(bars()), spec.quantity)
    } else if spec.whole {
        scale::from_zero(all().map(|point| point.y).chain(bars()), spec.quantity)
    } else {
        let ceiling = ceiling(all().map(|point| point.y).collect())
            .filter(|&ceiling| series.iter().all(|one| !ends_above(one, ceiling)));
        remarks.extend(ceiling.map(|ceiling| beyond(&series, ceiling, spec.quantity)));
        scale::from_zero(all().map(|point| ceiling.map_or(point.y, |ceiling| point.y.min(ceiling))), spec.quantity)
    };
    let x = spec.x_axis.clone().or_else(|| scale::across(spec.across, all().map(|point| point.x)));
    let (Some((x, x_title)), Some(y)) = (x, y) else {
        let why = if left_out.is_empty() { "there are no measured batches".to_owned() } else { left_out.join("; ") };
        return Err(PlotError::Nothing { why });
    };
    // A file of another program may count something else; the unit of the axis stays behind it.
    let x_title = match &spec.x_title {
        Some(title) => x_title.replacen("rows in the table", title, 1),
        None => x_title,
    };
    Ok(Prepared { series, x, x_title, y, remarks, left_out })
}

/// Whether a line ends above the ceiling for more than one batch: a cliff at the end of a curve that was stopped is no outlier.
fn ends_above(one: &Series, ceiling: f64) -> bool {
    one.points.len() > 1 && one.points.iter().rev().take(2).all(|point| point.y > ceiling)
}

/// Where a linear axis has to end so that some batches of a thousand times the others do not press them flat.
///
/// `None` where the values need no such thing. Only what is far above the rest lies beyond it.
fn ceiling(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let few = (values.len() / FEW).max(1);
    let rest = *values.get(values.len().checked_sub(few + 1)?)?;
    let highest = *values.last()?;
    let near = *values.iter().rfind(|value| **value <= FAR * rest)?;
    (values.len() >= 8 && rest > 0.0 && highest > FAR * rest).then_some(near * 1.3)
}

/// A figure of a picture in words.
pub fn figure(value: f64, quantity: Quantity) -> String {
    match quantity {
        Quantity::Seconds => human_seconds(value),
        Quantity::Rate => format!("{}/s", human_rate(value)),
        Quantity::Plain => significant(value),
    }
}

/// Says which points lie beyond the end of the axis.
fn beyond(series: &[Series], ceiling: f64, quantity: Quantity) -> String {
    let found: Vec<String> = series
        .iter()
        .flat_map(|one| one.points.iter().map(move |point| (one, point)))
        .filter(|(_, point)| point.y > ceiling)
        .map(|(one, point)| format!("{} batch {} ({})", one.name, point.batch, figure(point.y, quantity)))
        .collect();
    let shown = found.len().min(LISTED);
    let more = if shown < found.len() { format!(" and {} more", found.len() - shown) } else { String::new() };
    format!(
        "Far beyond the axis, at its upper edge: {}{more}. A logarithmic axis shows all.",
        found[..shown].join(", ")
    )
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
        raw: tidy(&series.raw),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::test_support::{Element, elements, of, texts};

    fn series(name: &str, family: usize, ys: &[f64]) -> Series {
        let points =
            (1..).zip(ys).map(|(batch, &y)| Point { batch, x: batch as f64 * 100_000.0, y }).collect::<Vec<_>>();
        Series { name: name.into(), look: Look { family, dash: 0, marker: family }, points, ..Series::default() }
    }

    fn spec() -> PlotSpec {
        PlotSpec { title: "Title".into(), subtitle: "sub".into(), y_title: "seconds".into(), ..PlotSpec::default() }
    }

    fn draw(spec: &PlotSpec, series: &[Series]) -> Vec<Element> {
        elements(&draw_svg(spec, series).unwrap().svg)
    }

    #[test]
    fn every_curve_is_one_line_with_its_name() {
        let found = draw(&spec(), &[series("autoinc", 0, &[0.5; 9]), series("uuid4", 1, &[0.4, 0.4, 0.5, 2.0, 4.0])]);
        let lines = of(&found, "curve", "polyline");
        assert_eq!(lines.len(), 2);
        assert_ne!(lines[0].get("stroke"), lines[1].get("stroke"));
        assert_eq!(lines[0].points().len(), 9);
        assert_eq!(texts(&found, "name"), ["autoinc", "uuid4"]);
        let frame = texts(&found, "frame");
        for text in ["Title", "sub", "seconds", "rows in the table (thousands)"] {
            assert!(frame.iter().any(|found| found == text), "{text} not in {frame:?}");
        }
        assert_eq!((found[0].get("width"), found[0].get("height")), ("1200", "700"));
    }

    #[test]
    fn points_stand_where_the_axes_say() {
        // The highest value is a tick, 4 s; the lowest is zero; the last is the end of the axis of rows.
        let found = draw(&spec(), &[series("a", 0, &[0.0, 2.0, 3.95])]);
        let points = of(&found, "curve", "polyline")[0].points();
        let grid: Vec<Vec<(f64, f64)>> =
            of(&found, "frame", "polyline").iter().map(|element| element.points()).collect();
        let horizontal: Vec<f64> = grid.iter().filter(|line| line[0].1 == line[1].1).map(|line| line[0].1).collect();
        let (bottom, top) = (horizontal[0], horizontal[4]);
        assert_eq!(points[0].1, bottom);
        assert!((points[1].1 - (bottom + top) / 2.0).abs() < 0.11, "{points:?} {horizontal:?}");
        let right = grid[0][1].0;
        assert_eq!(points[2].0, right);
        let left = grid[0][0].0;
        assert!((points[0].0 - (left + (right - left) / 3.0)).abs() < 0.11);
    }

    #[test]
    fn a_missing_batch_is_a_gap_and_order_does_not_matter() {
        let mut one = series("a", 0, &[1.0, 1.1, 1.2, 1.3, 1.4, 1.5]);
        let whole = draw(&spec(), &[one.clone()]);
        one.points.reverse();
        let reversed = draw(&spec(), &[one.clone()]);
        assert_eq!(of(&whole, "curve", "polyline")[0].points(), of(&reversed, "curve", "polyline")[0].points());
        one.points.retain(|point| point.batch != 3);
        let found = draw(&spec(), &[one.clone()]);
        let lengths: Vec<usize> = of(&found, "curve", "polyline").iter().map(|line| line.points().len()).collect();
        assert_eq!(lengths, [2, 3]);
        // Batch 6 stands alone: a dot.
        one.points.retain(|point| point.batch != 5);
        let found = draw(&spec(), &[one]);
        assert_eq!(of(&found, "curve", "polyline").len(), 1);
        assert_eq!(of(&found, "curve", "circle").len(), 2);
    }

    #[test]
    fn values_that_are_no_figures_are_left_out_and_said() {
        let ys = [5.0, f64::NAN, 5.1, f64::INFINITY, 0.0, -1.0, 5.2, 5.1];
        let picture = draw_svg(&spec(), &[series("a", 0, &ys)]).unwrap();
        assert_eq!(picture.left_out, ["a: batches 2, 4 without a figure left out"]);
        let log = draw_svg(&PlotSpec { log: true, ..spec() }, &[series("a", 0, &ys)]).unwrap();
        assert_eq!(log.left_out.len(), 2);
        assert!(log.left_out[1].contains("batches 5, 6 at or below zero"), "{:?}", log.left_out);
        assert!(texts(&elements(&log.svg), "frame").iter().any(|text| text.contains("batches 5, 6")));
    }

    #[test]
    fn nothing_to_draw_is_a_message() {
        let error = draw_svg(&spec(), &[]).unwrap_err();
        assert!(error.to_string().contains("no measured batches"), "{error}");
        let error = draw_svg(&spec(), &[series("a", 0, &[f64::NAN, f64::NAN])]).unwrap_err();
        assert!(error.to_string().contains("a: batches 1, 2"), "{error}");
        let log = PlotSpec { log: true, ..spec() };
        assert!(matches!(draw_svg(&log, &[series("a", 0, &[0.0])]), Err(PlotError::Nothing { .. })));
        let tiny = PlotSpec { width: 10, ..spec() };
        assert!(draw_svg(&tiny, &[series("a", 0, &[1.0])]).unwrap_err().to_string().contains("at least 480x300"));
    }

    #[test]
    fn odd_series_are_drawn_within_the_page() {
        let odd: Vec<Vec<f64>> = vec![
            vec![5.0],
            vec![5.0, 5.0],
            vec![0.0, 0.0],
            vec![0.01; 40],
            vec![1e-300, 1e300],
            vec![-3.0, -4.0],
            [vec![1.0; 50], vec![1000.0], vec![1.0; 50]].concat(),
        ];
        for ys in odd {
            for log in [false, true] {
                let mut one = series("a", 0, &ys);
                for same_x in [false, true] {
                    if same_x {
                        one.points.iter_mut().for_each(|point| point.x = 34e9);
                    }
                    let Ok(picture) = draw_svg(&PlotSpec { log, ..spec() }, &[one.clone()]) else {
                        assert!(log, "{ys:?}");
                        continue;
                    };
                    for line in of(&elements(&picture.svg), "curve", "polyline") {
                        let inside = |&(x, y): &(f64, f64)| (0.0..=1200.0).contains(&x) && (0.0..=700.0).contains(&y);
                        assert!(line.points().iter().all(inside), "{ys:?} {:?}", line.points());
                    }
                }
            }
        }
    }

    #[test]
    fn one_batch_far_beyond_the_others_does_not_press_them_flat() {
        let found = draw(&spec(), &[series("a", 0, &[vec![1.0; 50], vec![1000.0], vec![1.0; 50]].concat())]);
        let points = of(&found, "curve", "polyline")[0].points();
        assert!(points[0].1 - points[50].1 < 200.0, "{:?}", points[0]);
        assert!(texts(&found, "frame").iter().any(|text| text.contains("a batch 51 (16m40s)")));
        // A cliff at the end of a curve that was stopped is no such thing.
        let cliff = draw(&spec(), &[series("a", 0, &[vec![1.0; 50], vec![30.0, 31.0, 32.0]].concat())]);
        assert!(!texts(&cliff, "frame").iter().any(|text| text.contains("beyond")));
    }

    #[test]
    fn a_tenth_of_the_batches_may_be_far_beyond_the_others() {
        let mut ys = vec![1.0; 60];
        for (at, y) in [(5, 1000.0), (17, 60.0), (30, 400.0), (31, 900.0), (44, 50.0), (55, 3000.0)] {
            ys[at] = y;
        }
        ys[20] = 4.0;
        let found = draw(&spec(), &[series("a", 0, &ys)]);
        let text = texts(&found, "frame").into_iter().find(|text| text.contains("beyond")).unwrap();
        for batch in [6, 18, 31, 32, 45, 56] {
            assert!(text.contains(&format!("a batch {batch} (")), "{batch}: {text}");
        }
        assert!(!text.contains("batch 21 "), "{text}");
        // What is not far is drawn in its place, below the edge.
        let points = of(&found, "curve", "polyline")[0].points();
        assert!(points[20].1 > points[5].1 + 10.0 && points[20].1 < points[0].1 - 50.0, "{points:?}");
        ys.extend([5.0e3; 4]);
        assert!(!texts(&draw(&spec(), &[series("a", 0, &ys)]), "frame").iter().any(|text| text.contains("beyond")));
    }

    #[test]
    fn factors_of_cliffs_do_not_lie_on_each_other() {
        let lines: Vec<Series> = (0..6)
            .map(|at| {
                let mut one =
                    series(&format!("s{at}"), at, &[vec![1.0; 10], vec![3.0 + 0.01 * at as f64; 10]].concat());
                let x = (one.points[9].x + one.points[10].x) / 2.0;
                one.marks = vec![Mark { x, kind: MarkKind::Cliff, text: format!("{at}.5x slower") }];
                one
            })
            .collect();
        let found = draw(&spec(), &lines);
        let places: Vec<(f64, f64)> = of(&found, "markers", "text")
            .iter()
            .map(|text| (text.get("x").parse().unwrap(), text.get("y").parse().unwrap()))
            .collect();
        assert_eq!(places.len(), 6);
        for (at, one) in places.iter().enumerate() {
            for other in &places[at + 1..] {
                assert!((one.0 - other.0).abs() > 15.0 || (one.1 - other.1).abs() > 12.0, "{places:?}");
            }
        }
    }

    #[test]
    fn each_of_several_cache_lines_has_its_name() {
        let guides = [100_000.0, 103_000.0, 106_000.0].map(|x| Guide {
            from: x,
            to: x,
            text: format!("innodb uuid4 flush {x} passes its cache"),
        });
        let spec = PlotSpec { guides: guides.to_vec(), ..spec() };
        let found = draw(&spec, &[series("a", 0, &[1.0; 50])]);
        assert_eq!(texts(&found, "guides").len(), 3);
        let heights: std::collections::BTreeSet<String> =
            of(&found, "guides", "text").iter().map(|text| text.get("y").to_owned()).collect();
        assert_eq!(heights.len(), 3, "{heights:?}");
    }

    #[test]
    fn marks_stand_on_the_curve_and_say_why() {
        let mut one = series("uuid4", 0, &[0.4, 0.4, 0.5, 2.0, 4.0]);
        one.marks = vec![
            Mark { x: 500_000.0, kind: MarkKind::Stop, text: "stopped by --max-slowdown 5".into() },
            Mark { x: 250_000.0, kind: MarkKind::Resume, text: String::new() },
        ];
        let found = draw(&spec(), &[one, series("autoinc", 1, &[0.3; 9])]);
        let end = *of(&found, "curve", "polyline")[0].points().last().unwrap();
        let ring = of(&found, "markers", "circle").into_iter().find(|circle| circle.get("fill") == "none").unwrap();
        let centre = (ring.get("cx").parse::<f64>().unwrap() / 10.0, ring.get("cy").parse::<f64>().unwrap() / 10.0);
        assert_eq!(centre, end);
        assert!(texts(&found, "name").contains(&"stopped by --max-slowdown 5".to_owned()));
    }

    #[test]
    fn the_mark_of_a_cliff_stands_on_the_line_at_its_table_size() {
        let mut one = series("uuid4", 0, &[0.4, 0.4, 0.5, 2.0, 4.0]);
        // A quarter of the way from the third point to the fourth.
        one.marks = vec![Mark { x: 325_000.0, kind: MarkKind::Cliff, text: "9.0x slower from 300k rows on".into() }];
        let found = draw(&spec(), &[one]);
        let points = of(&found, "curve", "polyline")[0].points();
        let expected =
            (points[2].0 + 0.25 * (points[3].0 - points[2].0), points[2].1 + 0.25 * (points[3].1 - points[2].1));
        let ring = of(&found, "markers", "circle").into_iter().find(|circle| circle.get("fill") == "none").unwrap();
        let centre = (ring.get("cx").parse::<f64>().unwrap() / 10.0, ring.get("cy").parse::<f64>().unwrap() / 10.0);
        assert!((centre.0 - expected.0).abs() < 0.2 && (centre.1 - expected.1).abs() < 0.2, "{centre:?} {expected:?}");
        assert!(texts(&found, "markers").contains(&"9.0x".to_owned()), "{:?}", texts(&found, "markers"));
    }

    #[test]
    fn names_never_overlap_and_never_leave_the_page() {
        for count in [1, 2, 3, 5, 12, 20, 45] {
            for step in [0.0, 0.02, 0.5] {
                let all: Vec<Series> = (0..count)
                    .map(|index| series(&format!("curve {index}"), index, &vec![3.0 + step * index as f64; 30]))
                    .collect();
                let found = draw(&spec(), &all);
                assert_eq!(of(&found, "curve", "polyline").len(), count);
                let names = of(&found, "name", "text");
                let mut heights: Vec<f64> = names.iter().map(|text| text.get("y").parse().unwrap()).collect();
                heights.sort_by(f64::total_cmp);
                assert!(heights.windows(2).all(|pair| pair[1] - pair[0] > 120.0), "{count} {step} {heights:?}");
                assert!(heights.iter().all(|y| (0.0..7000.0).contains(y)), "{count} {step} {heights:?}");
                assert!(names.len() == count || (count == 45 && names.len() > 25), "{count} {step}");
                let said = names.iter().any(|text| text.text.contains("more curves"));
                assert_eq!(said, count == 45, "{count}");
            }
        }
    }

    #[test]
    fn words_that_are_markup_stay_words() {
        let odd = "<b>&\"x\" 'y' ключ \u{1}";
        let spec = PlotSpec { title: odd.into(), subtitle: odd.into(), notes: vec![odd.into()], ..spec() };
        let found = draw(&spec, &[series(odd, 0, &[1.0, 2.0])]);
        assert!(texts(&found, "name")[0].starts_with("&lt;b&gt;&amp;&quot;x&quot;"), "{:?}", texts(&found, "name"));
        assert!(!found.iter().any(|element| element.name == "b"));
    }

    #[test]
    fn repeats_are_drawn_lightly_below() {
        let mut one = series("a", 0, &[1.0, 2.0, 3.0]);
        one.repeats = vec![series("", 0, &[0.9, 1.9, 2.9]).points, series("", 0, &[1.1, 2.1, 3.1]).points];
        let found = draw(&spec(), &[one]);
        let light = of(&found, "repeats", "polyline");
        assert_eq!(light.len(), 2);
        assert_eq!(light[0].get("opacity"), "0.3");
        assert_eq!(of(&found, "curve", "polyline").len(), 1);
    }

    #[test]
    fn dashes_belong_to_the_group() {
        let mut one = series("a", 0, &[1.0, 2.0, 3.0]);
        one.look.dash = 1;
        let found = draw(&spec(), &[one]);
        assert_eq!(of(&found, "curve", "g")[0].get("stroke-dasharray"), "70 35");
        assert_eq!(of(&found, "curve", "polyline").len(), 1);
    }
}
