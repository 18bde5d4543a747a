//! A page: shapes in groups. [`Page::svg`] writes it as SVG with plotters, [`super::raster`] paints the same shapes as PNG.
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

use super::text::{fitted_columns, printable};

/// Units of drawing in one pixel.
const UNITS: f64 = 10.0;
/// Fonts that are on most machines and equally wide (`text` measures the first one).
const FONTS: &str = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif";
/// plotters divides every font size by this before it writes it.
const PLOTTERS_FONT_FACTOR: f64 = 1.24;
/// Where plotters puts the baseline of text below the point it hangs from, in parts of the font size.
const PLOTTERS_BASELINE: f64 = 0.76;
/// Where the baseline of text stands below the middle of its digits, in parts of the font size.
pub const BASELINE: f64 = 0.34;

/// Letters of a tooltip: more would stand nowhere.
const LONGEST_TITLE: usize = 300;

/// A point in pixels, from the upper left corner.
pub type At = (f64, f64);

/// Where text stands relative to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It begins there.
    Start,
    /// It is centred there.
    Middle,
    End,
}

/// How text is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Font {
    pub size: f64,
    pub bold: bool,
    pub colour: RGBColor,
}

/// One thing that is drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A line through points.
    Line {
        points: Vec<At>,
        colour: RGBAColor,
        width: f64,
    },
    Polygon {
        points: Vec<At>,
        colour: RGBAColor,
    },
    Rectangle {
        /// Upper left corner.
        from: At,
        /// Lower right corner.
        to: At,
        colour: RGBAColor,
    },
    Circle {
        centre: At,
        radius: f64,
        colour: RGBAColor,
        /// Width of the ring; `None`: filled.
        ring: Option<f64>,
    },
    /// A line of text whose digits and small letters are centred on the height of its point.
    Text {
        /// The words, without control characters.
        text: String,
        at: At,
        /// On which side of the point.
        side: Side,
        font: Font,
    },
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

/// One layer of a page: shapes that share a class, a tooltip and dashes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Layer {
    pub class: String,
    pub title: Option<String>,
    /// Lengths of line and gap for every line; empty: solid.
    pub dash: Vec<f64>,
    /// What is drawn, in this order.
    pub shapes: Vec<Shape>,
}

/// A page, or one that is being drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub width: u32,
    pub height: u32,
    /// What the page is called.
    pub title: String,
    /// Layers, the lowest first.
    pub layers: Vec<Layer>,
}

impl Page {
    /// An empty page of this many pixels.
    pub fn new(width: u32, height: u32, title: &str) -> Self {
        Self { width, height, title: fitted_columns(title, LONGEST_TITLE), layers: Vec::new() }
    }

    /// Draws one layer over what is there.
    pub fn layer(&mut self, group: &Group<'_>, draw: impl FnOnce(&mut Layer)) {
        let mut layer = Layer {
            class: group.class.to_owned(),
            title: group.title.map(|title| fitted_columns(title, LONGEST_TITLE)),
            dash: group.dash.to_vec(),
            shapes: Vec::new(),
        };
        draw(&mut layer);
        self.layers.push(layer);
    }

    /// The page as a document.
    ///
    /// # Errors
    /// What plotters says.
    pub fn svg(&self) -> Result<String, String> {
        let mut body = String::new();
        for layer in &self.layers {
            layer.write(&mut body, (self.width * UNITS as u32, self.height * UNITS as u32))?;
        }
        let Self { width, height, title, .. } = self;
        let (units_x, units_y) = (width * UNITS as u32, height * UNITS as u32);
        Ok(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {units_x} {units_y}\" role=\"img\" stroke-linejoin=\"round\">\n\
             <title>{}</title>\n{body}</svg>\n",
            escaped(title)
        ))
    }
}

impl Layer {
    /// A line through `points`.
    pub fn line(&mut self, points: &[At], colour: RGBAColor, width: f64) {
        self.shapes.push(Shape::Line { points: points.to_vec(), colour, width });
    }

    pub fn polygon(&mut self, points: &[At], colour: RGBAColor) {
        self.shapes.push(Shape::Polygon { points: points.to_vec(), colour });
    }

    /// A filled rectangle between two corners.
    pub fn rectangle(&mut self, from: At, to: At, colour: RGBAColor) {
        self.shapes.push(Shape::Rectangle { from, to, colour });
    }

    pub fn disc(&mut self, centre: At, radius: f64, colour: RGBAColor) {
        self.shapes.push(Shape::Circle { centre, radius, colour, ring: None });
    }

    /// A circle that is not filled.
    pub fn ring(&mut self, centre: At, radius: f64, colour: RGBAColor, width: f64) {
        self.shapes.push(Shape::Circle { centre, radius, colour, ring: Some(width) });
    }

    /// Text whose digits and small letters are centred on the height of `at`.
    pub fn text(&mut self, text: &str, at: At, side: Side, font: Font) {
        self.shapes.push(Shape::Text { text: printable(text), at, side, font });
    }

    fn write(&self, out: &mut String, size: (u32, u32)) -> Result<(), String> {
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        for shape in &self.shapes {
            write_shape(&area, shape)?;
        }
        area.present().map_err(|error| error.to_string())?;
        drop(area);
        // The layer is a whole document: only what stands between its first and its last tag is wanted.
        let inner = svg
            .split_once('>')
            .and_then(|(_, rest)| rest.rsplit_once("</svg>"))
            .map(|(inner, _)| inner.trim_start())
            .ok_or("plotters wrote no document")?;
        self.open_group(out);
        out.push_str(inner);
        out.push_str("</g>\n");
        Ok(())
    }

    fn open_group(&self, out: &mut String) {
        out.push_str("<g");
        attribute(out, "class", &self.class);
        if !self.dash.is_empty() {
            let lengths: Vec<String> = self.dash.iter().map(|length| (length * UNITS).to_string()).collect();
            attribute(out, "stroke-dasharray", &lengths.join(" "));
        }
        out.push_str(">\n");
        if let Some(title) = &self.title {
            let _ = writeln!(out, "<title>{}</title>", escaped(title));
        }
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn write_shape(area: &Area<'_>, shape: &Shape) -> Result<(), String> {
    let to_units = |points: &[At]| points.iter().map(|&point| units(point)).collect::<Vec<_>>();
    match shape {
        Shape::Line { points, colour, width } => {
            area.draw(&PathElement::new(to_units(points), stroke(*colour, *width)))
        }
        Shape::Polygon { points, colour } => area.draw(&Polygon::new(to_units(points), *colour)),
        Shape::Rectangle { from, to, colour } => {
            area.draw(&Rectangle::new([units(*from), units(*to)], colour.filled()))
        }
        Shape::Circle { centre, radius, colour, ring } => {
            let style = ring.map_or_else(|| colour.filled(), |width| stroke(*colour, width));
            area.draw(&Circle::new(units(*centre), (radius * UNITS).round() as u32, style))
        }
        Shape::Text { text, at, side, font } => {
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
            let top = at.1 + (BASELINE - PLOTTERS_BASELINE) * font.size;
            area.draw(&Text::new(text.as_str(), units((at.0, top)), style))
        }
    }
    .map_err(|error| error.to_string())
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
