//! Pictures of the report as `plot` draws them: those that its script does not draw, and all of them for readers without scripts.

use std::fmt::Write as _;

use crate::analyse::{Curve, cells};
use crate::reading::input::Input;
use crate::render::palette::Theme;
use crate::render::pictures::{PictureKind, PictureOptions, picture};
use crate::render::within;

/// As `plot` draws it, in the size of the report.
fn still(input: &Input, kind: PictureKind) -> Option<String> {
    let options = PictureOptions { width: 1000, height: 560, ..PictureOptions::default() };
    picture(kind, input, &options).ok().map(|found| found.svg)
}

/// Readers without scripts, and those who print from such a place, get the picture that `plot` draws.
pub fn without_scripts(out: &mut String, input: &Input, kind: PictureKind) {
    if let Some(svg) = still(input, kind) {
        let _ = writeln!(out, "<noscript>{svg}</noscript>");
    }
}

/// Pictures that the script does not draw. Their colours follow the theme by [`style`].
pub fn pictures(out: &mut String, input: &Input) {
    let measured: Vec<Curve> = input.curves.iter().filter(|curve| !curve.samples.is_empty()).cloned().collect();
    // Two fields are two lines of the table of curves, and batches of a second have no inside.
    let wanted = [
        (PictureKind::InsideBatches, within::has_seconds(input)),
        (PictureKind::EndSpeeds, cells(&measured).len() > 2),
    ];
    for (kind, _) in wanted.into_iter().filter(|(_, wanted)| *wanted) {
        if let Some(svg) = still(input, kind) {
            let _ = writeln!(out, "<figure class=\"still\"><div class=\"scroll\">{svg}</div></figure>");
        }
    }
}

/// Rules that give the colours of a still picture, which is drawn in the light theme, to the variables of the style sheet. What stands on
/// the fields of the table of end speeds has the colours that can be read there.
pub fn style() -> String {
    let theme = Theme::light();
    let plain = [
        (theme.background, "paper".to_owned()),
        (theme.ink, "ink".to_owned()),
        (theme.muted, "muted".to_owned()),
        (theme.axis, "axis".to_owned()),
        (theme.grid, "grid".to_owned()),
    ];
    let families = theme.families.into_iter().enumerate().map(|(index, colour)| (colour, format!("f{index}")));
    let mut out = String::new();
    for (colour, name) in plain.into_iter().chain(families) {
        let code = format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2);
        for what in ["fill", "stroke"] {
            let _ = writeln!(out, ".still g:not(.field) > [{what}=\"{code}\"] {{ {what}: var(--{name}); }}");
        }
    }
    let _ = writeln!(out, ".still .field > rect[fill=\"#FFFFFF\"] {{ fill: var(--paper); }}");
    out
}
