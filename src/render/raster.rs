//! A page as PNG: the shapes that [`super::sheet`] writes as SVG, painted with a font that is part of the program.
//!
//! Nothing is asked of the system. The font is DejaVu Sans, whose widths [`super::text`] lays pictures out with, so that both
//! pictures are the same one.

use plotters::style::RGBAColor;
use tiny_skia::{Color, FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};
use ttf_parser::{Face, OutlineBuilder};

use super::sheet::{At, BASELINE, Font, Layer, Page, Shape, Side};

/// Paints the page.
///
/// # Errors
/// The page has no size, the font cannot be read, or the picture cannot be encoded.
pub fn png(page: &Page) -> Result<Vec<u8>, String> {
    let fonts = Fonts::new()?;
    let mut pixmap = Pixmap::new(page.width, page.height).ok_or("a picture needs a width and a height")?;
    for layer in &page.layers {
        for shape in &layer.shapes {
            paint(&mut pixmap, &fonts, layer, shape);
        }
    }
    pixmap.encode_png().map_err(|error| error.to_string())
}

/// The two faces that pictures use.
struct Fonts {
    regular: Face<'static>,
    bold: Face<'static>,
}

impl Fonts {
    fn new() -> Result<Self, String> {
        let face = |bytes| Face::parse(bytes, 0).map_err(|error| format!("the font: {error}"));
        Ok(Self { regular: face(dejavu::sans::regular())?, bold: face(dejavu::sans::bold())? })
    }

    /// The outlines of a line of text, and its width.
    fn outlines(&self, text: &str, font: &Font) -> (PathBuilder, f64) {
        let face = if font.bold { &self.bold } else { &self.regular };
        let scale = font.size / f64::from(face.units_per_em());
        let mut pen = Pen { path: PathBuilder::new(), scale, x: 0.0 };
        for letter in text.chars() {
            // Letters that the font does not have get its empty box, glyph 0.
            let glyph = face.glyph_index(letter).unwrap_or(ttf_parser::GlyphId(0));
            face.outline_glyph(glyph, &mut pen);
            pen.x += f64::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * scale;
        }
        (pen.path, pen.x)
    }
}

/// Takes outlines in units of the font, y upwards, and makes pixels of them, y downwards.
struct Pen {
    path: PathBuilder,
    scale: f64,
    x: f64,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        ((self.x + f64::from(x) * self.scale) as f32, (-f64::from(y) * self.scale) as f32)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

fn paint(pixmap: &mut Pixmap, fonts: &Fonts, layer: &Layer, shape: &Shape) {
    match shape {
        Shape::Line { points, colour, width } => stroke(pixmap, through(points, false), *colour, *width, &layer.dash),
        Shape::Polygon { points, colour } => fill(pixmap, through(points, true), *colour, Transform::identity()),
        Shape::Rectangle { from, to, colour } => {
            let corners = [*from, (to.0, from.1), *to, (from.0, to.1)];
            fill(pixmap, through(&corners, true), *colour, Transform::identity());
        }
        Shape::Circle { centre, radius, colour, ring } => {
            let path = PathBuilder::from_circle(centre.0 as f32, centre.1 as f32, *radius as f32);
            match ring {
                Some(width) => stroke(pixmap, path, *colour, *width, &layer.dash),
                None => fill(pixmap, path, *colour, Transform::identity()),
            }
        }
        Shape::Text { text, at, side, font } => {
            let (path, width) = fonts.outlines(text, font);
            let left = match side {
                Side::Start => at.0,
                Side::Middle => at.0 - width / 2.0,
                Side::End => at.0 - width,
            };
            let place = Transform::from_translate(left as f32, (at.1 + BASELINE * font.size) as f32);
            fill(pixmap, path.finish(), RGBAColor(font.colour.0, font.colour.1, font.colour.2, 1.0), place);
        }
    }
}

fn through(points: &[At], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (index, &(x, y)) in points.iter().enumerate() {
        if index == 0 { path.move_to(x as f32, y as f32) } else { path.line_to(x as f32, y as f32) }
    }
    if closed {
        path.close();
    }
    path.finish()
}

fn paint_of(colour: RGBAColor) -> Paint<'static> {
    let mut paint = Paint::default();
    let alpha = (colour.3 * 255.0).round() as u8;
    paint.set_color(Color::from_rgba8(colour.0, colour.1, colour.2, alpha));
    paint.anti_alias = true;
    paint
}

/// A path without extent has none to fill, and nothing is drawn.
fn fill(pixmap: &mut Pixmap, path: Option<Path>, colour: RGBAColor, place: Transform) {
    if let Some(path) = path {
        pixmap.fill_path(&path, &paint_of(colour), FillRule::Winding, place, None);
    }
}

fn stroke(pixmap: &mut Pixmap, path: Option<Path>, colour: RGBAColor, width: f64, dash: &[f64]) {
    let Some(path) = path else { return };
    let mut lengths: Vec<f32> = dash.iter().map(|length| *length as f32).collect();
    // As SVG has it: an odd number of lengths is taken twice.
    if lengths.len() % 2 == 1 {
        lengths.extend_from_within(..);
    }
    let stroke = Stroke {
        width: width as f32,
        line_join: LineJoin::Round,
        dash: StrokeDash::new(lengths, 0.0),
        ..Stroke::default()
    };
    pixmap.stroke_path(&path, &paint_of(colour), &stroke, Transform::identity(), None);
}

#[cfg(test)]
mod tests {
    use plotters::style::RGBColor;

    use super::*;
    use crate::render::sheet::Group;

    fn pixels(page: &Page) -> Pixmap {
        Pixmap::decode_png(&png(page).unwrap()).unwrap()
    }

    fn colour_at(pixmap: &Pixmap, x: u32, y: u32) -> (u8, u8, u8, u8) {
        let pixel = pixmap.pixel(x, y).unwrap().demultiply();
        (pixel.red(), pixel.green(), pixel.blue(), pixel.alpha())
    }

    #[test]
    fn shapes_are_where_they_were_put() {
        let (red, blue) = (RGBAColor(200, 0, 0, 1.0), RGBAColor(0, 0, 200, 1.0));
        let mut page = Page::new(100, 60, "t");
        page.layer(&Group::default(), |layer| {
            layer.rectangle((0.0, 0.0), (100.0, 60.0), RGBAColor(255, 255, 255, 1.0));
            layer.rectangle((10.0, 10.0), (20.0, 20.0), red);
            layer.line(&[(30.0, 40.0), (90.0, 40.0)], blue, 4.0);
            layer.disc((80.0, 15.0), 5.0, red);
            layer.ring((60.0, 15.0), 6.0, blue, 2.0);
        });
        let found = pixels(&page);
        assert_eq!((found.width(), found.height()), (100, 60));
        assert_eq!(colour_at(&found, 15, 15), (200, 0, 0, 255));
        assert_eq!(colour_at(&found, 25, 15), (255, 255, 255, 255));
        assert_eq!(colour_at(&found, 60, 40), (0, 0, 200, 255));
        assert_eq!(colour_at(&found, 80, 15), (200, 0, 0, 255));
        assert_eq!(colour_at(&found, 60, 15), (255, 255, 255, 255), "a ring is empty inside");
        let ring = colour_at(&found, 66, 15);
        assert!(ring.0 < 40 && ring.2 > 190, "{ring:?}");
    }

    #[test]
    fn dashes_leave_gaps() {
        let mut page = Page::new(100, 20, "t");
        page.layer(&Group { dash: &[10.0, 10.0], ..Group::default() }, |layer| {
            layer.line(&[(0.0, 10.0), (100.0, 10.0)], RGBAColor(0, 0, 0, 1.0), 2.0);
        });
        let found = pixels(&page);
        assert_eq!(
            (colour_at(&found, 5, 10).3, colour_at(&found, 15, 10).3, colour_at(&found, 25, 10).3),
            (255, 0, 255)
        );
    }

    #[test]
    fn text_is_as_wide_as_it_was_laid_out_and_stands_on_its_side() {
        let font = Font { size: 20.0, bold: false, colour: RGBColor(0, 0, 0) };
        let inked = |side: Side| {
            let mut page = Page::new(400, 40, "t");
            page.layer(&Group::default(), |layer| layer.text("Inserts 4711 ключ", (200.0, 20.0), side, font));
            let found = pixels(&page);
            let columns: Vec<u32> = (0..400).filter(|&x| (0..40).any(|y| colour_at(&found, x, y).3 > 60)).collect();
            (columns[0], *columns.last().unwrap())
        };
        let (left, right) = inked(Side::Start);
        let wide = super::super::text::width("Inserts 4711 ", 20.0);
        assert!(left >= 200 && f64::from(right - left) > wide, "{left} {right} {wide}");
        let (_, right) = inked(Side::End);
        assert!((195..=200).contains(&right), "{right}");
        let (left, right) = inked(Side::Middle);
        assert!((i64::from(left + right) - 400).abs() < 6, "{left} {right}");
        let face = Fonts::new().unwrap();
        for word in ["seconds per batch", "0123456789", "(millions)", "~ {x} | ^"] {
            let (_, real) = face.outlines(word, &font);
            let laid_out = super::super::text::width(word, 20.0);
            assert!((real - laid_out).abs() < 0.2, "{word}: {real} {laid_out}");
        }
    }

    #[test]
    fn letters_beyond_the_font_are_boxes_and_nothing_is_no_picture() {
        let mut page = Page::new(60, 40, "t");
        let font = Font { size: 20.0, bold: true, colour: RGBColor(0, 0, 0) };
        page.layer(&Group::default(), |layer| layer.text("日", (10.0, 20.0), Side::Start, font));
        let found = pixels(&page);
        assert!((10..40).any(|x| (5..35).any(|y| colour_at(&found, x, y).3 > 60)));
        assert!(png(&Page::new(0, 10, "")).is_err());
    }
}
