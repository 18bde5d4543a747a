//! `rowcliff plot`: draws the curves of one or several runs, from the files alone.

use std::path::{Path, PathBuf};

use super::Output;
use crate::cli::plot::{Against, FacetWord, Format, PlotArgs, ThemeWord, What};
use crate::error::{Error, exit};
use crate::reading::figures::Across;
use crate::reading::input::{self, Input};
use crate::record::store::replace_file;
use crate::render::facets::Facet;
use crate::render::palette::Theme;
use crate::render::pictures::{PictureKind, PictureOptions, picture};
use crate::render::plot::PlotError;
use crate::render::show::curve_names;

/// Draws the pictures and prints their paths.
///
/// # Errors
/// A directory is no run's, there is nothing to draw, or a picture cannot be written.
pub fn run(args: &PlotArgs) -> Result<Output, Error> {
    let mut input = input::load_with(&args.runs, &args.foreign.options())?;
    keep_only(&mut input, &args.only)?;
    let place = place(args, &input)?;
    let drawn = draw_all(&input, &place, &options(args))?;
    let stdout = drawn.paths.iter().map(|path| format!("{}\n", path.display())).collect();
    let stderr = input.problems.into_iter().chain(drawn.left_out).collect();
    Ok(Output { stdout, stderr, exit: exit::OK })
}

/// Which pictures are wanted, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pictures {
    pub directory: PathBuf,
    /// The name of the only picture, without its ending; every picture's own name otherwise.
    pub stem: Option<PathBuf>,
    pub formats: Vec<Format>,
    pub kinds: Vec<PictureKind>,
    /// Pictures for which there are no figures are left out without a word.
    pub as_far_as_known: bool,
}

impl Pictures {
    /// The usual pictures in a directory.
    pub fn usual(directory: &Path, input: &Input) -> Self {
        Self {
            directory: directory.to_owned(),
            stem: None,
            formats: vec![Format::Svg],
            kinds: PictureKind::usual(input),
            as_far_as_known: false,
        }
    }

    fn path(&self, kind: PictureKind, format: Format) -> PathBuf {
        let ending = match format {
            Format::Svg => "svg",
            Format::Png => "png",
        };
        match &self.stem {
            Some(stem) => stem.with_extension(ending),
            None => self.directory.join(kind.file_stem()).with_extension(ending),
        }
    }
}

fn place(args: &PlotArgs, input: &Input) -> Result<Pictures, Error> {
    let all = args.what.contains(&What::All);
    let mut kinds = match args.what.as_slice() {
        [] => PictureKind::usual(input),
        what => PictureKind::ALL.into_iter().filter(|kind| all || what.contains(&word(*kind))).collect(),
    };
    if !all && !PictureKind::of_probes(input).contains(&PictureKind::ProbeConnections) {
        // One word stands for both pictures of probes, and this one needs several numbers of connections.
        kinds.retain(|kind| *kind != PictureKind::ProbeConnections);
    }
    let unnamed = args.what.is_empty() || args.what == [What::Probes] || args.what == [What::Seconds, What::Rate];
    let beside = |path: &PathBuf| if path.is_dir() { path.clone() } else { path.with_file_name("") };
    let mut formats = args.format.clone();
    formats.dedup();
    let as_file = args.out.as_ref().filter(|path| !path.is_dir()).and_then(|path| Some((path, format_of(path)?)));
    let Some((path, format)) = as_file else {
        let directory = args.out.clone().or_else(|| args.runs.first().map(beside)).unwrap_or_default();
        if formats.is_empty() {
            formats.push(Format::Svg);
        }
        return Ok(Pictures { directory, stem: None, formats, kinds, as_far_as_known: all });
    };
    if unnamed {
        // Nothing more particular was asked for, and one file holds one picture.
        kinds.truncate(1);
    }
    if kinds.len() > 1 {
        let cause = format!("{} is one file, and these are {} pictures", path.display(), kinds.len());
        return Err(Error::usage("--out", cause, "name a directory, or one picture with --what"));
    }
    if formats.is_empty() {
        formats.push(format);
    }
    let directory = path.parent().map(Path::to_owned).unwrap_or_default();
    Ok(Pictures { directory, stem: Some(path.with_extension("")), formats, kinds, as_far_as_known: false })
}

fn format_of(path: &Path) -> Option<Format> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "svg" => Some(Format::Svg),
        "png" => Some(Format::Png),
        _ => None,
    }
}

fn word(kind: PictureKind) -> What {
    match kind {
        PictureKind::SecondsPerBatch => What::Seconds,
        PictureKind::InsertsPerSecond => What::Rate,
        PictureKind::Latency => What::Latency,
        PictureKind::InsideBatches => What::Inside,
        PictureKind::ReadsPerRow => What::Counters,
        PictureKind::BytesPerRow => What::Bytes,
        PictureKind::EndSpeeds => What::Heat,
        PictureKind::Probes | PictureKind::ProbeConnections => What::Probes,
    }
}

fn options(args: &PlotArgs) -> PictureOptions {
    PictureOptions {
        log: args.log,
        width: args.size.0,
        height: args.size.1,
        theme: match args.theme {
            ThemeWord::Light => Theme::light(),
            ThemeWord::Dark => Theme::dark(),
        },
        title: args.title.clone(),
        across: match args.against {
            Against::Rows => Across::Rows,
            Against::Bytes => Across::Bytes,
            Against::Time => Across::Seconds,
        },
        facet: match args.facet {
            FacetWord::Engine => Some(Facet::Engine),
            FacetWord::Key => Some(Facet::Key),
            FacetWord::Flush => Some(Facet::Flush),
            FacetWord::None => None,
        },
        smooth: args.smooth.0,
        ..PictureOptions::default()
    }
}

/// Keeps the curves that one of the patterns finds, by their full or their short name.
pub(super) fn keep_only(input: &mut Input, patterns: &[String]) -> Result<(), Error> {
    if patterns.is_empty() {
        return Ok(());
    }
    let names = curve_names(input);
    let found: Vec<bool> = input
        .curves
        .iter()
        .zip(&names)
        .map(|(curve, name)| patterns.iter().any(|pattern| finds(pattern, &curve.name) || finds(pattern, name)))
        .collect();
    if !found.contains(&true) {
        let cause = format!("no curve has {} in its name", patterns.join(" or "));
        let shown: Vec<&str> = names.iter().take(8).map(String::as_str).collect();
        return Err(Error::usage("--only", cause, format!("curves are called: {}", shown.join("; "))));
    }
    let mut keep = found.into_iter();
    input.curves.retain(|_| keep.next().unwrap_or(false));
    Ok(())
}

/// Whether the parts of the pattern between its asterisks come in the name, one after the other.
fn finds(pattern: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    let mut rest = name.as_str();
    pattern.to_lowercase().split('*').all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

#[derive(Debug, Default)]
pub struct Drawn {
    pub paths: Vec<PathBuf>,
    /// What could not be drawn, a sentence each.
    pub left_out: Vec<String>,
}

/// Draws every picture that is wanted.
///
/// # Errors
/// There is nothing to draw, or a picture cannot be written.
pub fn draw_all(input: &Input, wanted: &Pictures, options: &PictureOptions) -> Result<Drawn, Error> {
    let mut drawn = Drawn::default();
    let mut nothing = None;
    for &kind in &wanted.kinds {
        let next = "see `rowcliff show` for what the run holds";
        let failed = |error: PlotError| Error::file(wanted.path(kind, wanted.formats[0]), error, next);
        let picture = match picture(kind, input, options) {
            Err(error @ PlotError::Nothing { .. }) if wanted.as_far_as_known => {
                nothing = Some(failed(error));
                continue;
            }
            other => other.map_err(failed)?,
        };
        for &format in &wanted.formats {
            let path = wanted.path(kind, format);
            let bytes = match format {
                Format::Svg => picture.svg.clone().into_bytes(),
                Format::Png => picture.png().map_err(failed)?,
            };
            std::fs::create_dir_all(&wanted.directory)
                .and_then(|()| replace_file(&path, &bytes))
                .map_err(|error| Error::file(&path, error, "name a directory that can be written with --out"))?;
            drawn.paths.push(path);
        }
        for note in picture.left_out {
            if !drawn.left_out.contains(&note) {
                drawn.left_out.push(note);
            }
        }
    }
    match nothing {
        Some(error) if drawn.paths.is_empty() => Err(error),
        _ => Ok(drawn),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_found_in_order_whatever_the_case() {
        assert!(finds("uuid", "innodb UUID4 flush 1") && finds("innodb*flush", "innodb uuid4 flush 1"));
        assert!(!finds("flush*innodb", "innodb uuid4 flush 1") && !finds("aria", "innodb"));
        assert!(finds("", "x") && finds("*", "x") && finds("ключ*4", "мой ключ 14"));
    }
}
