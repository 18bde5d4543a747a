//! A page of SVG, drawn with plotters.
//!
//! plotters places everything on whole pixels, knows no dashes and no groups. So a page is drawn in tenths of a pixel,
//! one transparent layer after the other, and the layers become groups that carry what plotters cannot say: a class, a tooltip, dashes.

use std::fmt::Write as _;

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, RGBAColor, RGBColor, ShapeStyle, TextStyle};

use super::text::printable;

/// Units of drawing in one pixel.
const UNITS: f64 = 10.0;
/// Fonts that are on most machines and equally wide (`text` measures the first one).
const FONTS: &str = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif";
/// plotters divides every font size by this before it writes it.
const PLOTTERS_FONT_FACTOR: f64 = 1.24;
/// Where plotters puts the baseline of text below the point it hangs from, in parts of the font size.
const PLOTTERS_BASELINE: f64 = 0.76;

/// A point in pixels, from the upper left corner.
pub type At = (f64, f64);

/// Where text stands relative to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It begins there.
    Start,
    /// It is centred there.
    Middle,
    /// It ends there.
    End,
}

/// How text is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Font {
    /// Size in pixels.
    pub size: f64,
    /// Bold letters.
    pub bold: bool,
    /// Colour.
    pub colour: RGBColor,
}

/// What a layer's group says.
#[derive(Debug, Clone, Default)]
pub struct Group<'a> {
    /// Class, for style sheets and tests.
    pub class: &'a str,
    /// Tooltip, where there is one.
    pub title: Option<&'a str>,
    /// Lengths of line and gap in pixels for every line of the layer; empty: solid.
    pub dash: &'a [f64],
}

/// A page that is being drawn.
#[derive(Debug)]
pub struct Page {
    width: u32,
    height: u32,
    body: String,
}

/// The area of one layer.
pub struct Layer<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
    /// What plotters said when something could not be drawn.
    failure: Option<String>,
}

impl Page {
    /// An empty page of this many pixels.
    pub fn new(width: u32, height: u32) -> Self {
        Self { width, height, body: String::new() }
    }

    /// Draws one layer over what is there.
    ///
    /// # Errors
    /// What plotters says.
    pub fn layer(&mut self, group: &Group<'_>, draw: impl FnOnce(&mut Layer<'_>)) -> Result<(), String> {
        let mut svg = String::new();
        let size = (self.width * UNITS as u32, self.height * UNITS as u32);
        let mut layer = Layer { area: SVGBackend::with_string(&mut svg, size).into_drawing_area(), failure: None };
        draw(&mut layer);
        layer.area.present().map_err(|error| error.to_string())?;
        if let Some(failure) = layer.failure.take() {
            return Err(failure);
        }
        drop(layer);
        // The layer is a whole document: only what stands between its first and its last tag is wanted.
        let inner = svg
            .split_once('>')
            .and_then(|(_, rest)| rest.rsplit_once("</svg>"))
            .map(|(inner, _)| inner.trim_start())
            .ok_or("plotters wrote no document")?;
        self.open_group(group);
        self.body.push_str(inner);
        self.body.push_str("</g>\n");
        Ok(())
    }

    fn open_group(&mut self, group: &Group<'_>) {
        self.body.push_str("<g");
        attribute(&mut self.body, "class", group.class);
        if !group.dash.is_empty() {
            let lengths: Vec<String> = group.dash.iter().map(|length| (length * UNITS).to_string()).collect();
            attribute(&mut self.body, "stroke-dasharray", &lengths.join(" "));
        }
        self.body.push_str(">\n");
        if let Some(title) = group.title {
            let _ = writeln!(self.body, "<title>{}</title>", escaped(title));
        }
    }

    /// The document.
    pub fn finish(self, title: &str) -> String {
        let Self { width, height, body } = self;
        let (units_x, units_y) = (width * UNITS as u32, height * UNITS as u32);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {units_x} {units_y}\" role=\"img\" stroke-linejoin=\"round\">\n\
             <title>{}</title>\n{body}</svg>\n",
            escaped(title)
        )
    }
}

impl Layer<'_> {
    /// A line through `points`.
    pub fn line(&mut self, points: &[At], colour: RGBAColor, width: f64) {
        let points: Vec<(i32, i32)> = points.iter().map(|&point| units(point)).collect();
        self.draw(PathElement::new(points, stroke(colour, width)));
    }

    /// A filled polygon.
    pub fn polygon(&mut self, points: &[At], colour: RGBAColor) {
        let points: Vec<(i32, i32)> = points.iter().map(|&point| units(point)).collect();
        self.draw(Polygon::new(points, colour));
    }

    /// A filled rectangle between two corners.
    pub fn rectangle(&mut self, upper_left: At, lower_right: At, colour: RGBAColor) {
        self.draw(Rectangle::new([units(upper_left), units(lower_right)], colour.filled()));
    }

    /// A filled circle.
    pub fn disc(&mut self, centre: At, radius: f64, colour: RGBAColor) {
        self.draw(Circle::new(units(centre), (radius * UNITS).round() as u32, colour.filled()));
    }

    /// A circle that is not filled.
    pub fn ring(&mut self, centre: At, radius: f64, colour: RGBAColor, width: f64) {
        self.draw(Circle::new(units(centre), (radius * UNITS).round() as u32, stroke(colour, width)));
    }

    /// Text whose digits and small letters are centred on the height of `at`.
    pub fn text(&mut self, text: &str, at: At, side: Side, font: Font) {
        let horizontal = match side {
            Side::Start => HPos::Left,
            Side::Middle => HPos::Center,
            Side::End => HPos::Right,
        };
        let weight = if font.bold { FontStyle::Bold } else { FontStyle::Normal };
        let style = TextStyle::from((FONTS, font.size * UNITS * PLOTTERS_FONT_FACTOR, weight))
            .color(&font.colour)
            .pos(Pos::new(horizontal, VPos::Top));
        // plotters centres by the height of an x, which is unknown to a viewer that falls back to another font; its
        // other way is by the font size, 0.76 of it from the top to the baseline.
        let top = at.1 - (PLOTTERS_BASELINE - 0.34) * font.size;
        self.draw(Text::new(printable(text), units((at.0, top)), style));
    }

    fn draw<'e, E>(&mut self, element: E)
    where
        for<'b> &'b E: plotters::element::PointCollection<'b, (i32, i32)>,
        E: for<'b> plotters::element::Drawable<SVGBackend<'b>> + 'e,
    {
        if let Err(error) = self.area.draw(&element) {
            self.failure = Some(error.to_string());
        }
    }
}

fn units((x, y): At) -> (i32, i32) {
    ((x * UNITS).round() as i32, (y * UNITS).round() as i32)
}

fn stroke(colour: RGBAColor, width: f64) -> ShapeStyle {
    colour.stroke_width((width * UNITS).round() as u32)
}

fn attribute(out: &mut String, name: &str, value: &str) {
    let _ = write!(out, " {name}=\"{}\"", escaped(value));
}

fn escaped(text: &str) -> String {
    printable(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
