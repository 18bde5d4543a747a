//! Small multiples: one plot for each value of engine, key or flush setting, all with the same axes.

use super::layout::{Entry, Layout, SWATCH, TEXT_SIZE, Tie};
use super::paint::Painter;
use super::palette::{Look, looks};
use super::plot::{Picture, PlotError, PlotSpec, Series, has_room, prepare};
use super::sheet::{Font, Group, Page, Side};
use super::text::{fitted, width};
use crate::analyse::Labels;
use crate::reading::names::{Named, short_names};

/// What plots are made of, one for each value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Facet {
    Engine,
    Key,
    Flush,
}

impl Facet {
    /// What a plot is called.
    pub(super) fn value(self, labels: &Labels) -> String {
        match self {
            Self::Engine => labels.engine.clone(),
            Self::Key => labels.key.clone(),
            Self::Flush => match labels.flush.as_str() {
                "none" => "no flush setting".into(),
                named if named.contains('=') => named.into(),
                other => format!("flush {other}"),
            },
        }
    }

    /// The labels without what the plots differ in.
    fn rest(self, labels: &Labels) -> Labels {
        let mut rest = labels.clone();
        match self {
            Self::Engine => rest.engine.clear(),
            Self::Key => rest.key.clear(),
            Self::Flush => {
                rest.flush.clear();
                rest.flush_in_force.clear();
            }
        }
        rest
    }
}

/// The plots, and what the looks of their lines mean.
pub struct Panels {
    /// What a plot is of, and its lines.
    pub panels: Vec<(String, Vec<Series>)>,
    /// Names of the looks.
    pub legend: Vec<(String, Look)>,
}

/// Sorts lines into plots. In each plot the same rest of labels looks the same.
pub fn panels(facet: Facet, named: &[Named<'_>], series: Vec<Series>) -> Panels {
    let (unique, of_curve) = rests(facet, named);
    let rest_named: Vec<Named<'_>> = unique.iter().map(|(labels, run)| Named { labels, repeat: None, run }).collect();
    let legend: Vec<(String, Look)> = short_names(&rest_named)
        .into_iter()
        .zip(looks(&rest_named))
        .map(|(name, look)| (if name.trim().is_empty() { "all curves".into() } else { name.trim().into() }, look))
        .collect();
    let mut panels: Vec<(String, Vec<Series>)> = Vec::new();
    for ((one, at), line) in named.iter().zip(of_curve).zip(series) {
        let line = Series { look: legend[at].1, ..line };
        put(&mut panels, facet.value(one.labels), line);
    }
    Panels { panels, legend }
}

/// The labels and runs without what the plots differ in, each once; and for each curve the index of its own.
pub(super) fn rests<'a>(facet: Facet, named: &[Named<'a>]) -> (Vec<(Labels, &'a str)>, Vec<usize>) {
    let mut unique: Vec<(Labels, &'a str)> = Vec::new();
    let index = |one: &Named<'a>| {
        let rest = (facet.rest(one.labels), one.run);
        unique.iter().position(|other| *other == rest).unwrap_or_else(|| {
            unique.push(rest);
            unique.len() - 1
        })
    };
    let of_curve = named.iter().map(index).collect();
    (unique, of_curve)
}

/// Puts a line into the plot of this title, which is made where there is none.
pub(super) fn put(panels: &mut Vec<(String, Vec<Series>)>, title: String, line: Series) {
    match panels.iter_mut().find(|(other, _)| *other == title) {
        Some((_, lines)) => lines.push(line),
        None => panels.push((title, vec![line])),
    }
}

/// Space between plots.
const GUTTER: f64 = 36.0;
/// Height of the title of a plot.
const HEADING: f64 = 24.0;
/// Height of a line of the legend.
const LINE: f64 = 19.0;
/// A plot narrower or lower than this cannot be read.
const LEAST: (f64, f64) = (70.0, 30.0);

/// Draws the plots on one page.
///
/// # Errors
/// There is nothing to draw, or the size has no room for so many plots.
pub fn draw(spec: &PlotSpec, panels: &Panels) -> Result<Picture, PlotError> {
    has_room(spec)?;
    let all: Vec<Series> = panels.panels.iter().flat_map(|(_, lines)| lines.clone()).collect();
    let prepared = prepare(spec, &all)?;
    let (legend_width, names_width) = legend_width(spec, panels);
    // The page as one plot says where everything around the plots stands.
    let whole = Layout::new(spec, prepared.x.clone(), prepared.y.clone(), &[], &prepared.remarks);
    let (left, right) = (whole.left, whole.right - legend_width);
    let (top, bottom) = (whole.top + 4.0, whole.bottom);
    let count = panels.panels.len();
    let columns = columns(count, right - left, bottom - top);
    let rows = count.div_ceil(columns);
    let wide = (right - left - GUTTER * (columns as f64 - 1.0)) / columns as f64;
    let high = (bottom - top - (HEADING + GUTTER) * rows as f64 + GUTTER) / rows as f64;
    if wide < LEAST.0 || high < LEAST.1 {
        return Err(PlotError::TooSmall { width: spec.width, height: spec.height });
    }
    let mut page = Page::new(spec.width, spec.height, &spec.title);
    let x_title = prepared.x_title.as_str();
    let sheet = Layout { top: whole.top + 2.0, ..whole.clone() };
    page.layer(&Group { class: "frame", ..Group::default() }, |layer| {
        Painter { spec, x_title, series: &[], layout: &sheet }.sheet(layer);
        let font = Font { size: TEXT_SIZE, bold: false, colour: spec.theme.ink };
        layer.text(x_title, ((left + right) / 2.0, bottom + 40.0), Side::Middle, font);
    });
    for (index, (title, _)) in panels.panels.iter().enumerate() {
        let (column, row) = (index % columns, index / columns);
        let panel_left = left + column as f64 * (wide + GUTTER);
        let panel_top = top + HEADING + row as f64 * (high + HEADING + GUTTER);
        let layout = Layout {
            left: panel_left,
            right: panel_left + wide,
            top: panel_top,
            bottom: panel_top + high,
            ..whole.clone()
        };
        let lines: Vec<Series> = prepared_lines(&prepared.series, panels, index);
        let painter = Painter { spec, x_title, series: &lines, layout: &layout };
        page.layer(&Group { class: "frame", ..Group::default() }, |layer| {
            // The lowest plot of each column has the figures.
            painter.axes(layer, column == 0, index + columns >= count);
        });
        page.layer(&Group { class: "panel", ..Group::default() }, |layer| {
            let title = fitted(title, TEXT_SIZE, wide / 1.15);
            let font = Font { size: TEXT_SIZE, bold: true, colour: spec.theme.ink };
            layer.text(&title, (layout.left, layout.top - 13.0), Side::Start, font);
        });
        painter.curves(&mut page);
    }
    legend(&mut page, spec, panels, &whole, names_width);
    Picture::new(page, prepared.left_out)
}

/// The drawable lines of one plot. `prepared` has the lines of all plots in order, without those that have no point.
fn prepared_lines(prepared: &[Series], panels: &Panels, index: usize) -> Vec<Series> {
    panels.panels[index]
        .1
        .iter()
        .filter_map(|line| prepared.iter().find(|one| one.name == line.name && one.look == line.look).cloned())
        .collect()
}

/// Room for the legend, and for a name in it; none for a legend that says nothing.
fn legend_width(spec: &PlotSpec, panels: &Panels) -> (f64, f64) {
    if panels.legend.len() < 2 {
        return (0.0, 0.0);
    }
    let widest = panels.legend.iter().map(|(name, _)| width(name, TEXT_SIZE)).fold(0.0, f64::max);
    let names = widest.min(f64::from(spec.width) * 0.25).ceil();
    (names + SWATCH + 8.0 + 22.0, names)
}

/// As many columns as give plots the shape nearest to three by two.
fn columns(count: usize, wide: f64, high: f64) -> usize {
    let shape = |columns: usize| {
        let rows = count.div_ceil(columns);
        let shape = (wide / columns as f64) / (high / rows as f64);
        (shape / 1.5).ln().abs()
    };
    (1..=count.max(1)).min_by(|&a, &b| shape(a).total_cmp(&shape(b))).unwrap_or(1)
}

fn legend(page: &mut Page, spec: &PlotSpec, panels: &Panels, whole: &Layout, names_width: f64) {
    if panels.legend.len() < 2 {
        return;
    }
    let room = ((whole.bottom - whole.top) / LINE) as usize;
    let shown = if panels.legend.len() > room { room.saturating_sub(1) } else { panels.legend.len() };
    let lines: Vec<Series> = panels
        .legend
        .iter()
        .map(|(name, look)| Series { name: name.clone(), look: *look, ..Series::default() })
        .collect();
    let entries = lines
        .iter()
        .take(shown)
        .enumerate()
        .map(|(series, line)| Entry {
            series,
            name: fitted(&line.name, TEXT_SIZE, names_width),
            marks: Vec::new(),
            left: whole.right - names_width,
            y: whole.top + HEADING + LINE * series as f64,
            tie: Tie::Swatch,
        })
        .collect();
    let layout = Layout { entries, unnamed: lines.len() - shown, ..whole.clone() };
    Painter { spec, x_title: "", series: &lines, layout: &layout }.names(page);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::plot::Point;
    use crate::render::test_support::{elements, of, texts};

    fn drawn(engines: usize, keys: usize, facet: Facet) -> Result<Picture, PlotError> {
        let labels: Vec<Labels> = (0..engines * keys)
            .map(|index| Labels {
                engine: format!("engine{}", index / keys),
                key: format!("key{}", index % keys),
                ..Labels::default()
            })
            .collect();
        let named: Vec<Named<'_>> = labels.iter().map(|labels| Named { labels, repeat: None, run: "r" }).collect();
        let series = (0..labels.len())
            .map(|index| Series {
                name: format!("line {index}"),
                points: (1..=20)
                    .map(|batch| Point { batch, x: batch as f64, y: 1.0 + index as f64 * batch as f64 })
                    .collect(),
                ..Series::default()
            })
            .collect();
        draw(&PlotSpec { title: "T".into(), ..PlotSpec::default() }, &panels(facet, &named, series))
    }

    #[test]
    fn each_value_has_a_plot_and_the_same_axes_and_looks() {
        let found = elements(&drawn(4, 3, Facet::Engine).unwrap().svg);
        assert_eq!(texts(&found, "panel"), ["engine0", "engine1", "engine2", "engine3"]);
        assert_eq!(texts(&found, "name"), ["key0", "key1", "key2"]);
        let lines = of(&found, "curve", "polyline");
        assert_eq!(lines.len(), 12);
        let colour = |index: usize| lines[index].get("stroke").to_owned();
        assert!(colour(0) == colour(3) && colour(3) == colour(9) && colour(0) != colour(1));
        // Three plots stand in a row and the fourth below the first, by the same scale.
        let first = |index: usize| lines[index].points()[0];
        assert_eq!(first(0).0, first(9).0);
        assert!(first(3).0 > first(0).0 + 100.0 && first(6).0 > first(3).0 + 100.0 && first(9).1 > first(0).1 + 100.0);
        for line in &lines {
            assert!(line.points().iter().all(|&(x, y)| (0.0..=1200.0).contains(&x) && (0.0..=700.0).contains(&y)));
        }
    }

    #[test]
    fn by_key_the_lines_are_engines() {
        let found = elements(&drawn(2, 5, Facet::Key).unwrap().svg);
        assert_eq!(texts(&found, "panel").len(), 5);
        assert_eq!(texts(&found, "name"), ["engine0", "engine1"]);
        let one = elements(&drawn(5, 1, Facet::Engine).unwrap().svg);
        assert_eq!(texts(&one, "name"), Vec::<String>::new());
        assert_eq!(of(&one, "curve", "polyline").len(), 5);
    }

    #[test]
    fn too_many_plots_for_the_page_are_a_message() {
        assert!(drawn(40, 1, Facet::Engine).is_ok());
        assert!(matches!(drawn(400, 1, Facet::Engine), Err(PlotError::TooSmall { .. })));
        assert!(matches!(drawn(0, 0, Facet::Engine), Err(PlotError::Nothing { .. })));
    }
}
