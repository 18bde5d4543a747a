//! Pictures of series that other people measured, pixel by pixel: situations C03 and C10 of the collection.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use quick_xml::events::Event;
use quick_xml::reader::Reader;

use crate::support::{run, text};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign").join(name)
}

/// Draws a file as rates, and reads the picture.
fn drawn(name: &str, words: &[&str]) -> Svg {
    let home = tempfile::tempdir().unwrap();
    let path = data(name);
    let all = [&["plot", path.to_str().unwrap(), "--what", "rate", "-o", "p.svg"][..], words].concat();
    let output = run(home.path(), &all);
    assert!(output.status.success(), "{}", text(&output));
    Svg::read(&std::fs::read_to_string(home.path().join("p.svg")).unwrap())
}

/// An element: the class of its group and how many such groups came before it, its name, attributes and text.
struct Element {
    class: String,
    group: usize,
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
}

impl Element {
    fn get(&self, name: &str) -> &str {
        self.attributes.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// In pixels.
    fn number(&self, name: &str) -> f64 {
        self.get(name).parse::<f64>().unwrap() / 10.0
    }

    fn points(&self) -> Vec<(f64, f64)> {
        let pair = |pair: &str| {
            let (x, y) = pair.split_once(',').unwrap();
            (x.parse::<f64>().unwrap() / 10.0, y.parse::<f64>().unwrap() / 10.0)
        };
        self.get("points").split_whitespace().map(pair).collect()
    }
}

struct Svg(Vec<Element>);

impl Svg {
    /// Reads it as XML, which fails where it is none.
    fn read(svg: &str) -> Self {
        let mut reader = Reader::from_str(svg);
        reader.config_mut().check_end_names = true;
        let mut found: Vec<Element> = Vec::new();
        let (mut class, mut group) = (String::new(), 0);
        loop {
            match reader.read_event().unwrap() {
                Event::Eof => return Self(found),
                Event::Start(start) | Event::Empty(start) => {
                    let attributes: Vec<(String, String)> = start
                        .attributes()
                        .map(|one| one.unwrap())
                        .map(|one| (one.key.as_ref().to_owned(), one.value.into_owned()))
                        .collect();
                    let name = start.name().as_ref().to_owned();
                    if name == "g" {
                        class = attributes
                            .iter()
                            .find(|(key, _)| key == "class")
                            .map(|(_, v)| v.clone())
                            .unwrap_or_default();
                        group = found.iter().filter(|one| one.name == "g" && one.class == class).count();
                    }
                    found.push(Element { class: class.clone(), group, name, attributes, text: String::new() });
                }
                Event::Text(text) => {
                    if let Some(last) = found.last_mut() {
                        last.text.push_str(text.trim_matches('\n'));
                    }
                }
                Event::GeneralRef(name) => {
                    if let Some(last) = found.last_mut() {
                        last.text.push_str(if &*name == "amp" { "&" } else { "?" });
                    }
                }
                _ => {}
            }
        }
    }

    fn of<'a>(&'a self, class: &'a str, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.0.iter().filter(move |one| one.class == class && one.name == name)
    }

    fn words(&self) -> Vec<&str> {
        self.0.iter().filter(|one| one.name == "text").map(|one| one.text.trim()).collect()
    }

    /// The pixel of a figure, from two ticks of the axis: what a reader does with a ruler.
    fn across(&self, ticks: [(&str, f64); 2]) -> impl Fn(f64) -> f64 {
        let [(from, low), (to, high)] = ticks.map(|(label, value)| {
            let found: Vec<&Element> = self
                .of("frame", "text")
                .filter(|one| one.text.trim() == label && one.get("text-anchor") == "middle")
                .collect();
            assert_eq!(found.len(), 1, "{label}: {:?}", self.words());
            (value, found[0].number("x"))
        });
        move |value| low + (value - from) / (to - from) * (high - low)
    }

    /// The pixel of a figure by the lowest grid line, which is zero, and the one of this value at this place from below.
    fn up(&self, place: usize, value: f64) -> impl Fn(f64) -> f64 {
        let lines = self.of("frame", "polyline").map(Element::points).filter(|line| line[0].1 == line[1].1);
        let heights: Vec<f64> = lines.map(|line| line[0].1).collect();
        let (zero, known) = (heights[0], heights[place]);
        move |figure| zero - figure / value * (zero - known)
    }
}

fn near(found: f64, expected: f64) -> bool {
    // Pixels are drawn in tenths, and the ticks are too.
    (found - expected).abs() < 0.25
}

#[test]
fn c03_the_knee_is_marked_where_the_intervals_fall_and_not_where_the_mean_does() {
    let svg = drawn("c03_tsbs_load_10s.csv", &[]);
    let x = svg.across([("10", 1e7), ("40", 4e7)]);
    let y = svg.up(4, 400_000.0);
    let points: Vec<(f64, f64)> = svg.of("curve", "polyline").flat_map(Element::points).collect();
    let file = std::fs::read_to_string(data("c03_tsbs_load_10s.csv")).unwrap();
    let lines: Vec<Vec<f64>> =
        file.lines().skip(1).map(|line| line.split(',').map(|field| field.parse().unwrap()).collect()).collect();
    assert_eq!((points.len(), lines.len()), (16, 16));
    for (point, line) in points.iter().zip(&lines) {
        assert!(near(point.0, x(line[5])), "{point:?} {line:?} {}", x(line[5]));
        // The speed of the interval, to the precision with which the rows are written.
        assert!((point.1 - y(line[4])).abs() < 2.0, "{point:?} {line:?} {}", y(line[4]));
    }
    // Equally far apart in time, not in rows.
    assert!(points[15].0 - points[14].0 < 0.45 * (points[1].0 - points[0].0), "{points:?}");
    // One ring, between the fifth point and the sixth, on the line.
    let rings: Vec<&Element> = svg.of("markers", "circle").filter(|one| one.get("fill") == "none").collect();
    assert_eq!(rings.len(), 1);
    let at = (rings[0].number("cx"), rings[0].number("cy"));
    assert!(near(at.0, x((21_940_000.0 + 25_910_000.0) / 2.0)), "{at:?}");
    assert!(near(at.1, (points[4].1 + points[5].1) / 2.0), "{at:?} {points:?}");
    // By the means since the start it would stand near 43M rows.
    assert!(at.0 < x(30_000_000.0));
    let words = svg.words();
    assert!(words.contains(&"cliff") && words.contains(&"cliff from 21.94M to 25.91M rows on"), "{words:?}");
    assert!(words.contains(&"rows in the table (millions)"), "{words:?}");
    // What the file does not tell is not said.
    assert!(!words.iter().any(|word| word.contains("connection")), "{words:?}");
}

#[test]
fn c10_a_wide_file_whose_axis_is_not_the_size_of_the_table_is_drawn_as_it_is() {
    let file = std::fs::read_to_string(data("c10_sqlite_batchsize_semicolon.csv")).unwrap();
    let header: Vec<&str> = file.lines().next().unwrap().split(';').collect();
    let columns: Vec<&str> = header[1..].iter().flat_map(|column| ["--y", column]).collect();
    let words = [&["--x", "rows_per_commit", "--unit", "rows/s"][..], &columns].concat();
    let svg = drawn("c10_sqlite_batchsize_semicolon.csv", &words);
    let x = svg.across([("50", 50_000.0), ("150", 150_000.0)]);
    let y = svg.up(3, 600_000.0);
    let lines: Vec<Vec<f64>> =
        file.lines().skip(1).map(|line| line.split(';').map(|field| field.parse().unwrap()).collect()).collect();
    let mut looks = BTreeSet::new();
    for (column, name) in header[1..].iter().enumerate() {
        let of_curve: Vec<&Element> = svg.of("curve", "polyline").filter(|one| one.group == column).collect();
        let points: Vec<(f64, f64)> = of_curve.iter().flat_map(|one| one.points()).collect();
        assert_eq!(points.len(), 16, "{name}");
        for (point, line) in points.iter().zip(&lines) {
            assert!(near(point.0, x(line[0])) && near(point.1, y(line[column + 1])), "{name} {point:?} {line:?}");
        }
        looks.insert(of_curve[0].get("stroke").to_owned());
    }
    assert_eq!(looks.len(), 6, "six lines, six colours");
    // Each name stands in the legend, `&` included, and none lies on another.
    let names: Vec<&Element> = svg.of("name", "text").collect();
    let mut found: Vec<&str> = names.iter().map(|one| one.text.trim()).collect();
    found.sort_unstable();
    let mut expected = header[1..].to_vec();
    expected.sort_unstable();
    assert_eq!(found, expected);
    let mut heights: Vec<f64> = names.iter().map(|one| one.number("y")).collect();
    heights.sort_by(f64::total_cmp);
    assert!(heights.windows(2).all(|pair| pair[1] - pair[0] > 12.0), "{heights:?}");
    // Nothing is said about sizes of the table: no cliff, no growth, no batches.
    let words = svg.words();
    assert!(words.contains(&"rows_per_commit (thousands)"), "{words:?}");
    for wrong in ["rows in the table", "slower", "grows", "batches of", "connection", "cliff"] {
        assert!(!words.iter().any(|word| word.contains(wrong)), "{wrong}: {words:?}");
    }
    assert_eq!(svg.of("markers", "circle").filter(|one| one.get("r") == "45").count(), 0);
}
