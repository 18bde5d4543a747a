//! Every cell at a glance: a field for each engine and setting, the colour says how fast the end of the curve is, relative to the best.

use plotters::style::{Color, RGBColor};

use super::layout::{MARGIN, SMALL_SIZE, SUBTITLE_SIZE, TEXT_SIZE, TITLE_SIZE};
use super::plot::{Picture, PlotError, PlotSpec, has_room};
use super::sheet::{Font, Group, Layer, Page, Side};
use super::text::{bold_width, fitted, width, wrapped};
use crate::analyse::{Cell, Curve, Labels, median};
use crate::reading::input::Input;
use crate::reading::names::{Named, short_names};
use crate::units::{human_rate, human_rows};

/// Shares of the best that have a colour of their own, from fast to slow.
const STEPS: [f64; 6] = [0.9, 0.7, 0.5, 0.3, 0.1, 0.0];
/// Their colours: one hue, so that grey prints keep the order.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0x08, 0x45, 0x94),
    RGBColor(0x21, 0x71, 0xB5),
    RGBColor(0x42, 0x92, 0xC6),
    RGBColor(0x7F, 0xB8, 0xDA),
    RGBColor(0xB9, 0xD6, 0xEA),
    RGBColor(0xE4, 0xEE, 0xF7),
];
const FIELD: (f64, f64) = (64.0, 34.0);

/// What a field shows.
#[derive(Debug, Clone, PartialEq)]
struct Field {
    rate: f64,
    rows: u64,
    /// Why it is not compared with the others: in a word, and in full.
    unranked: Option<(&'static str, String)>,
}

/// Draws the fields.
///
/// # Errors
/// There is nothing to draw, or no room for so many fields.
pub fn draw(spec: &PlotSpec, input: &Input, cells: &[Cell<'_>]) -> Result<Picture, PlotError> {
    has_room(spec)?;
    let (engines, settings) = sides(cells);
    let fields: Vec<Option<Field>> = cells.iter().map(|cell| field(input, cell)).collect();
    let ranked = fields.iter().flatten().filter(|field| field.unranked.is_none());
    let best = ranked.map(|field| field.rate).fold(0.0, f64::max);
    if fields.iter().all(Option::is_none) {
        return Err(PlotError::Nothing { why: "there are no measured batches".into() });
    }
    let named: Vec<Named<'_>> = settings.iter().map(|(labels, run)| Named { labels, repeat: None, run }).collect();
    let words: Vec<String> = short_names(&named).iter().map(|name| name.trim().to_owned()).collect();
    // Settings as columns while their names fit above them, otherwise as rows.
    let grid =
        Grid::new(spec, &engines, &words).ok_or(PlotError::TooSmall { width: spec.width, height: spec.height })?;
    // A few fields do not need a whole page: what would be empty is cut.
    let needed = grid.top + grid.high * grid.rows.len() as f64 + 92.0 + 16.0 * spec.notes.len() as f64;
    let spec = &PlotSpec { height: spec.height.min(needed.ceil() as u32), ..spec.clone() };
    let unmeasured = input.curves.iter().filter(|curve| curve.samples.is_empty()).count();
    let mut page = Page::new(spec.width, spec.height, &spec.title);
    page.layer(&Group { class: "frame", ..Group::default() }, |layer| frame(layer, spec, &grid, best, unmeasured));
    for (cell, found) in cells.iter().zip(&fields) {
        let engine = engines.iter().position(|engine| *engine == cell.labels.engine);
        let setting = settings.iter().position(|setting| *setting == setting_of(cell));
        let (Some(engine), Some(setting), Some(found)) = (engine, setting, found) else { continue };
        let why = found.unranked.as_ref().map_or_else(String::new, |(_, why)| format!("; in no ranking: {why}"));
        let title = format!(
            "{} {}: {}/s at {} rows{why}",
            engines[engine],
            words[setting],
            human_rate(found.rate),
            human_rows(found.rows)
        );
        page.layer(&Group { class: "field", title: Some(&title), ..Group::default() }, |layer| {
            paint(layer, spec, &grid, (engine, setting), found, best);
        });
    }
    Picture::new(page, Vec::new())
}

/// A setting: every label but the engine and what follows from it, and the run.
type Setting<'a> = (Labels, &'a str);

fn setting_of<'a>(cell: &Cell<'a>) -> Setting<'a> {
    // What the flush setting is called in force differs from engine to engine.
    (Labels { engine: String::new(), flush_in_force: String::new(), ..cell.labels.clone() }, cell.run)
}

/// The engines and the settings, in order of appearance.
fn sides<'a>(cells: &[Cell<'a>]) -> (Vec<String>, Vec<Setting<'a>>) {
    let (mut engines, mut settings) = (Vec::new(), Vec::new());
    for cell in cells {
        if !engines.contains(&cell.labels.engine) {
            engines.push(cell.labels.engine.clone());
        }
        let setting = setting_of(cell);
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    (engines, settings)
}

/// The end of the curve, the median of its repeats; of those that may be ranked, where there are some.
fn field(input: &Input, cell: &Cell<'_>) -> Option<Field> {
    let measured = || cell.curves.iter().copied().filter(|curve| !curve.samples.is_empty());
    let ranked: Vec<&Curve> = measured().filter(|curve| input.standing_of(curve).unranked().is_none()).collect();
    let unranked = || {
        measured().find_map(|curve| input.standing_of(curve).unranked_word().zip(input.standing_of(curve).unranked()))
    };
    let (curves, unranked) = if ranked.is_empty() { (measured().collect(), unranked()) } else { (ranked, None) };
    let costs: Vec<f64> = curves.iter().filter_map(|curve| curve.factor().end_seconds_per_million).collect();
    let rows = curves.iter().map(|curve| curve.table_rows()).max()?;
    median(&costs).filter(|cost| *cost > 0.0).map(|cost| Field { rate: 1e6 / cost, rows, unranked })
}

/// Where the fields stand.
struct Grid {
    left: f64,
    top: f64,
    wide: f64,
    high: f64,
    /// Names at the left and above.
    rows: Vec<String>,
    columns: Vec<String>,
    /// Engines are the rows.
    engines_down: bool,
    subtitle: Vec<String>,
}

impl Grid {
    fn new(spec: &PlotSpec, engines: &[String], settings: &[String]) -> Option<Self> {
        Self::with(spec, engines, settings, true).or_else(|| Self::with(spec, settings, engines, false))
    }

    fn with(spec: &PlotSpec, rows: &[String], columns: &[String], engines_down: bool) -> Option<Self> {
        let inner = f64::from(spec.width) - 2.0 * MARGIN;
        let subtitle = wrapped(&spec.subtitle, inner, |line| width(line, SUBTITLE_SIZE));
        let subtitle: Vec<String> = subtitle.iter().take(3).map(|line| fitted(line, SUBTITLE_SIZE, inner)).collect();
        let names = rows.iter().map(|name| width(name, TEXT_SIZE)).fold(0.0, f64::max).min(inner * 0.4).ceil();
        let left = MARGIN + names + 14.0;
        let top = 104.0 + 18.0 * subtitle.len() as f64;
        let wide = ((f64::from(spec.width) - MARGIN - left) / columns.len() as f64).min(190.0);
        let below = 76.0 + 16.0 * spec.notes.len() as f64;
        let high = ((f64::from(spec.height) - below - top) / rows.len() as f64).min(72.0);
        let widest = columns.iter().map(|name| width(name, TEXT_SIZE)).fold(0.0, f64::max);
        // The names of columns stand in one line as a rule; cut ones only where there is no other way.
        let readable = widest <= wide - 6.0 || !engines_down;
        (wide >= FIELD.0 && high >= FIELD.1 && readable).then(|| Self {
            left,
            top,
            wide,
            high,
            rows: rows.iter().map(|name| fitted(name, TEXT_SIZE, names)).collect(),
            columns: columns.iter().map(|name| fitted(name, TEXT_SIZE, wide - 6.0)).collect(),
            engines_down,
            subtitle,
        })
    }
}

fn frame(layer: &mut Layer, spec: &PlotSpec, grid: &Grid, best: f64, unmeasured: usize) {
    let theme = &spec.theme;
    let plain = |size: f64, colour: RGBColor| Font { size, bold: false, colour };
    let page = (f64::from(spec.width), f64::from(spec.height));
    layer.rectangle((0.0, 0.0), page, theme.background.to_rgba());
    let inner = page.0 - 2.0 * MARGIN;
    let size = (TITLE_SIZE * inner / bold_width(&spec.title, TITLE_SIZE).max(1.0)).clamp(14.0, TITLE_SIZE);
    let title = fitted(&spec.title, size, inner / 1.13);
    layer.text(&title, (MARGIN, 34.0), Side::Start, Font { size, bold: true, colour: theme.ink });
    let mut y = 60.0;
    for line in &grid.subtitle {
        layer.text(line, (MARGIN, y), Side::Start, plain(SUBTITLE_SIZE, theme.muted));
        y += 18.0;
    }
    for (index, name) in grid.columns.iter().enumerate() {
        let x = grid.left + (index as f64 + 0.5) * grid.wide;
        layer.text(name, (x, grid.top - 14.0), Side::Middle, plain(TEXT_SIZE, theme.ink));
    }
    for (index, name) in grid.rows.iter().enumerate() {
        let y = grid.top + (index as f64 + 0.5) * grid.high;
        layer.text(name, (grid.left - 10.0, y), Side::End, plain(TEXT_SIZE, theme.ink));
        for column in 0..grid.columns.len() {
            let x = grid.left + (column as f64 + 0.5) * grid.wide;
            layer.text("-", (x, y), Side::Middle, plain(TEXT_SIZE, theme.muted));
        }
    }
    legend(layer, spec, grid);
    let mut notes = spec.notes.clone();
    let mut note = "Rows per second of the last three batches; ".to_owned();
    note.push_str(&match best {
        best if best > 0.0 => format!("100% is the best, {}/s.", human_rate(best)),
        _ => "no curve can be ranked.".into(),
    });
    note.push_str(" Curves may end at different sizes of the table (second line).");
    if unmeasured > 0 {
        note.push_str(&format!(" {unmeasured} curves were not measured."));
    }
    notes.insert(0, note);
    let mut y = page.1 - 24.0 - 16.0 * (notes.len() as f64 - 1.0);
    for note in &notes {
        layer.text(&fitted(note, SMALL_SIZE, inner), (MARGIN, y), Side::Start, plain(SMALL_SIZE, theme.muted));
        y += 16.0;
    }
}

/// What the colours mean, below the fields.
fn legend(layer: &mut Layer, spec: &PlotSpec, grid: &Grid) {
    let y = grid.top + grid.high * grid.rows.len() as f64 + 18.0;
    let mut x = grid.left;
    for (index, colour) in COLOURS.iter().enumerate() {
        let words = match index {
            0 => format!("{:.0}% and more", STEPS[0] * 100.0),
            5 => format!("below {:.0}%", STEPS[4] * 100.0),
            _ => format!("{:.0}%", STEPS[index] * 100.0),
        };
        let wide = width(&words, SMALL_SIZE);
        if x + 18.0 + wide > f64::from(spec.width) - MARGIN {
            return;
        }
        layer.rectangle((x, y - 6.0), (x + 12.0, y + 6.0), colour.to_rgba());
        let font = Font { size: SMALL_SIZE, bold: false, colour: spec.theme.muted };
        layer.text(&words, (x + 18.0, y), Side::Start, font);
        x += 18.0 + wide + 16.0;
    }
}

fn paint(layer: &mut Layer, spec: &PlotSpec, grid: &Grid, at: (usize, usize), field: &Field, best: f64) {
    let (row, column) = if grid.engines_down { at } else { (at.1, at.0) };
    let share = field.rate / best;
    let step = STEPS.iter().position(|least| share >= *least).unwrap_or(5);
    let is_ranked = field.unranked.is_none();
    let colour = if is_ranked { COLOURS[step] } else { spec.theme.background };
    let (left, top) = (grid.left + column as f64 * grid.wide, grid.top + row as f64 * grid.high);
    layer.rectangle((left, top), (left + grid.wide, top + grid.high), spec.theme.background.to_rgba());
    layer.rectangle((left + 1.5, top + 1.5), (left + grid.wide - 1.5, top + grid.high - 1.5), colour.to_rgba());
    let ink = match step {
        _ if !is_ranked => spec.theme.muted,
        0 | 1 => RGBColor(255, 255, 255),
        _ => RGBColor(0x1F, 0x23, 0x28),
    };
    let middle = (left + grid.wide / 2.0, top + grid.high / 2.0);
    let font = |size: f64, bold: bool| Font { size, bold, colour: ink };
    let percent = if share >= 0.095 { format!("{:.0}%", share * 100.0) } else { format!("{:.1}%", share * 100.0) };
    let percent = field.unranked.as_ref().map_or(percent, |(word, _)| (*word).to_owned());
    layer.text(&percent, (middle.0, middle.1 - 7.0), Side::Middle, font(TEXT_SIZE, true));
    let small = format!("{}/s at {}", human_rate(field.rate), human_rows(field.rows));
    let small = if width(&small, SMALL_SIZE) > grid.wide - 6.0 { human_rows(field.rows) } else { small };
    layer.text(&small, (middle.0, middle.1 + 9.0), Side::Middle, font(SMALL_SIZE, false));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::{RunSamples, cells, group};
    use crate::record::Sample;
    use crate::render::test_support::{elements, of, texts};

    fn drawn(speeds: &[(&str, &str, f64)]) -> Result<Picture, PlotError> {
        let mut samples = Vec::new();
        for (engine, key, seconds) in speeds {
            samples.extend((1..=4).map(|batch| Sample {
                curve: format!("{engine} {key}"),
                engine: (*engine).into(),
                key: (*key).into(),
                batch,
                rows: 1_000_000,
                table_rows: batch * 1_000_000,
                seconds: *seconds,
                ..Sample::default()
            }));
        }
        let curves = group(&[RunSamples { run: "r".into(), samples }]).curves;
        draw(&PlotSpec { title: "T".into(), ..PlotSpec::default() }, &Input::default(), &cells(&curves))
    }

    #[test]
    fn fields_say_how_fast_the_end_is_relative_to_the_best() {
        let svg =
            drawn(&[("innodb", "autoinc", 5.0), ("innodb", "uuid4", 100.0), ("aria", "autoinc", 10.0)]).unwrap().svg;
        let found = elements(&svg);
        assert_eq!(texts(&found, "field"), ["100%", "200k/s at 4M", "5.0%", "10.0k/s at 4M", "50%", "100k/s at 4M"]);
        let fields = of(&found, "field", "rect");
        let at = |index: usize| {
            let number = |name: &str| fields[index].get(name).parse::<f64>().unwrap();
            (number("x"), number("y"), fields[index].get("fill").to_owned())
        };
        // Each field is a background and a colour; engines are rows, keys columns.
        assert_eq!((at(1).1, at(1).0), (at(3).1, at(5).0));
        assert!(at(3).0 > at(1).0 && at(5).1 > at(1).1);
        assert_eq!((at(1).2.as_str(), at(3).2.as_str()), ("#084594", "#E4EEF7"));
        let frame = texts(&found, "frame");
        for word in ["innodb", "aria", "autoinc", "uuid4", "90% and more", "below 10%"] {
            assert!(frame.iter().any(|text| text == word), "{word}: {frame:?}");
        }
    }

    #[test]
    fn a_load_that_failed_sets_no_scale() {
        let sample = |curve: &str, batch, seconds| Sample {
            curve: curve.into(),
            engine: curve.into(),
            key: "autoinc".into(),
            batch,
            rows: 1_000_000,
            table_rows: batch * 1_000_000,
            seconds,
            ..Sample::default()
        };
        let samples = (1..=4).flat_map(|batch| [sample("innodb", batch, 5.0), sample("rocksdb", batch, 0.1)]).collect();
        let curves = group(&[RunSamples { run: "r".into(), samples }]).curves;
        let mut record = crate::record::test_support::run_record(&["innodb", "rocksdb"]);
        let mut texts_of = |outcome: [crate::record::Outcome; 2]| {
            for (curve, outcome) in record.curves.iter_mut().zip(outcome) {
                curve.outcome = outcome;
            }
            let run =
                crate::reading::input::LoadedRun { label: "r".into(), path: "r".into(), record: Some(record.clone()) };
            let input = Input { runs: vec![run], ..Input::default() };
            let svg =
                draw(&PlotSpec { title: "T".into(), ..PlotSpec::default() }, &input, &cells(&curves)).unwrap().svg;
            let found = elements(&svg);
            (texts(&found, "field"), texts(&found, "frame").join(" "))
        };
        let failed = || crate::record::Outcome::Failed { code: None, message: "no".into() };
        let (fields, frame) = texts_of([crate::record::Outcome::Completed, failed()]);
        assert_eq!(fields, ["100%", "200k/s at 4M", "failed", "10.0M/s at 4M"]);
        assert!(frame.contains("100% is the best, 200k/s"), "{frame}");
        let (fields, frame) = texts_of([failed(), failed()]);
        assert_eq!((fields[0].as_str(), fields[2].as_str()), ("failed", "failed"));
        assert!(frame.contains("no curve can be ranked"), "{frame}");
    }

    #[test]
    fn nothing_and_too_much_are_messages() {
        assert!(matches!(drawn(&[]), Err(PlotError::Nothing { .. })));
        let names: Vec<String> = (0..60).map(|index| format!("engine number {index}")).collect();
        let many: Vec<(&str, &str, f64)> =
            names.iter().flat_map(|engine| names.iter().map(move |key| (engine.as_str(), key.as_str(), 1.0))).collect();
        assert!(matches!(drawn(&many), Err(PlotError::TooSmall { .. })));
    }
}
