//! Colours, dashes and markers: which curve looks how.

use std::collections::HashSet;

use plotters::style::RGBColor;

use crate::reading::names::Named;

/// The colours of a picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    /// Behind everything.
    pub background: RGBColor,
    /// Titles and names.
    pub ink: RGBColor,
    /// What is read second: subtitle, axes, notes.
    pub muted: RGBColor,
    pub axis: RGBColor,
    pub grid: RGBColor,
    /// One colour for each family of curves; more families than colours begin again.
    pub families: [RGBColor; 7],
}

impl Theme {
    /// Dark on white, for paper.
    ///
    /// The families are the colours of Okabe and Ito (jfly.uni-koeln.de/color), which people with any of the
    /// usual colour blindnesses tell apart; their yellow is left out, since a line of it cannot be seen on white. In grey,
    /// neighbours in this order differ in lightness.
    pub fn light() -> Self {
        Self {
            background: RGBColor(255, 255, 255),
            ink: RGBColor(0x1F, 0x23, 0x28),
            muted: RGBColor(0x59, 0x61, 0x6B),
            axis: RGBColor(0x8C, 0x94, 0x9E),
            grid: RGBColor(0xE6, 0xE8, 0xEB),
            families: [
                RGBColor(0x00, 0x72, 0xB2), // blue
                RGBColor(0xD5, 0x5E, 0x00), // vermilion
                RGBColor(0x00, 0x9E, 0x73), // bluish green
                RGBColor(0xCC, 0x79, 0xA7), // reddish purple
                RGBColor(0x30, 0x30, 0x30), // black
                RGBColor(0xE6, 0x9F, 0x00), // orange
                RGBColor(0x56, 0xB4, 0xE9), // sky blue
            ],
        }
    }

    /// Light on dark, for screens. The same families in the same order, lighter where they would drown.
    pub fn dark() -> Self {
        Self {
            background: RGBColor(0x14, 0x17, 0x1A),
            ink: RGBColor(0xE8, 0xEA, 0xED),
            muted: RGBColor(0xA3, 0xAB, 0xB5),
            axis: RGBColor(0x7A, 0x83, 0x8D),
            grid: RGBColor(0x2B, 0x30, 0x36),
            families: [
                RGBColor(0x4D, 0xA3, 0xE0), // blue
                RGBColor(0xF0, 0x7A, 0x2E), // vermilion
                RGBColor(0x2F, 0xC2, 0x9A), // bluish green
                RGBColor(0xE0, 0x97, 0xC1), // reddish purple
                RGBColor(0xD5, 0xD8, 0xDC), // white, where the other theme has black
                RGBColor(0xF2, 0xB7, 0x2C), // orange
                RGBColor(0x86, 0xCB, 0xF2), // sky blue
            ],
        }
    }
}

/// How a curve is drawn: indexes that the drawing wraps around.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Look {
    pub family: usize,
    /// Dash pattern; 0 is a solid line.
    pub dash: usize,
    pub marker: usize,
}

/// Number of dash patterns.
pub const DASHES: usize = 5;
pub const MARKERS: usize = 8;

/// Dash patterns as lengths of line and gap in pixels; the first is solid.
pub const DASH_PATTERNS: [&[f64]; DASHES] =
    [&[], &[7.0, 3.5], &[2.0, 3.0], &[10.0, 3.0, 2.0, 3.0], &[5.0, 2.0, 5.0, 6.0]];

/// Decides how each curve looks, so that engine, key and flush can be told apart.
///
/// Of engine (with target and run), key, flush, and everything else, those that differ get in this order: colour, dash, marker. So with
/// several engines colour means the engine and dash the key; with one engine colour means the key and dash the flush setting. Where a
/// means is free it repeats the colour, for grey prints. No two curves look the same as long as combinations last.
pub fn looks(curves: &[Named<'_>]) -> Vec<Look> {
    let columns = vec![
        indexes(curves, |curve| format!("{}\0{}\0{}", curve.labels.engine, curve.labels.target, curve.run)),
        indexes(curves, |curve| curve.labels.key.clone()),
        indexes(curves, |curve| format!("{}\0{}", curve.labels.flush, curve.labels.flush_in_force)),
        indexes(curves, |curve| {
            let labels = curve.labels;
            let sizes = (labels.connections, labels.statement_rows, labels.commit_rows, curve.repeat);
            format!("{}\0{}\0{sizes:?}", labels.method, labels.settings)
        }),
    ];
    looks_by(curves.len(), columns)
}

/// Decides how each of `count` lines looks. Each column has the index of a value for each line; those in which lines differ get, in their
/// order: colour, dash, marker.
pub fn looks_by(count: usize, mut columns: Vec<Vec<usize>>) -> Vec<Look> {
    columns.retain(|column| column.iter().any(|&index| index > 0));
    let of = |column: usize, curve: usize| columns.get(column).map(|indexes| indexes[curve]);
    let families = Theme::light().families.len();
    let mut taken = HashSet::new();
    (0..count)
        .map(|curve| {
            let family = of(0, curve).unwrap_or(0);
            // The eighth value of the only dimension has the first colour again, and a dash instead.
            let dash = of(1, curve).unwrap_or(family / families);
            let marker = match (of(2, curve), of(3, curve)) {
                (Some(third), fourth) => third + 3 * fourth.unwrap_or(0),
                (None, _) => family,
            };
            free_look(Look { family: family % families, dash: dash % DASHES, marker: marker % MARKERS }, &mut taken)
        })
        .collect()
}

/// The wanted look, or the next one in which marker, then dash, then colour change.
fn free_look(wanted: Look, taken: &mut HashSet<Look>) -> Look {
    let families = Theme::light().families.len();
    let all = MARKERS * DASHES * families;
    let free = (0..all)
        .map(|step| Look {
            marker: (wanted.marker + step) % MARKERS,
            dash: (wanted.dash + step / MARKERS) % DASHES,
            family: (wanted.family + step / (MARKERS * DASHES)) % families,
        })
        .find(|look| !taken.contains(look))
        .unwrap_or(wanted);
    taken.insert(free);
    free
}

/// The index of each line's value among the distinct values, in order of appearance.
pub fn indexes<T, V: PartialEq>(lines: &[T], value: impl Fn(&T) -> V) -> Vec<usize> {
    let mut seen: Vec<V> = Vec::new();
    lines
        .iter()
        .map(|line| {
            let value = value(line);
            seen.iter().position(|other| *other == value).unwrap_or_else(|| {
                seen.push(value);
                seen.len() - 1
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::Labels;

    fn looks_of(rows: &[(&str, &str, &str)]) -> Vec<Look> {
        let labels: Vec<Labels> = rows
            .iter()
            .map(|(engine, key, flush)| Labels {
                engine: (*engine).into(),
                key: (*key).into(),
                flush: (*flush).into(),
                ..Labels::default()
            })
            .collect();
        let named: Vec<Named<'_>> = labels.iter().map(|labels| Named { labels, repeat: None, run: "" }).collect();
        looks(&named)
    }

    #[test]
    fn engines_have_colours_and_keys_dashes() {
        let found = looks_of(&[
            ("innodb", "autoinc", "1"),
            ("innodb", "uuid4", "1"),
            ("aria", "autoinc", "1"),
            ("aria", "uuid4", "1"),
        ]);
        assert_eq!(found[0].family, found[1].family);
        assert_ne!(found[0].family, found[2].family);
        assert_eq!(found[0].dash, found[2].dash);
        assert_ne!(found[0].dash, found[1].dash);
    }

    #[test]
    fn with_one_engine_keys_have_colours_and_solid_lines() {
        let found = looks_of(&[("innodb", "autoinc", "1"), ("innodb", "uuid4", "1")]);
        assert_ne!(found[0].family, found[1].family);
        assert_ne!(found[0].marker, found[1].marker);
        assert!(found.iter().all(|look| look.dash == 0));
    }

    #[test]
    fn no_two_curves_look_the_same() {
        let names: Vec<String> = (0..40).map(|index| index.to_string()).collect();
        let rows: Vec<(&str, &str, &str)> = names.iter().map(|name| (name.as_str(), "a", "b")).collect();
        assert_eq!(looks_of(&rows).into_iter().collect::<HashSet<_>>().len(), 40);
        let mut grid = Vec::new();
        for engine in &names[..4] {
            for key in &names[..4] {
                for flush in &names[..3] {
                    grid.push((engine.as_str(), key.as_str(), flush.as_str()));
                }
            }
        }
        assert_eq!(looks_of(&grid).into_iter().collect::<HashSet<_>>().len(), 48);
    }
}
