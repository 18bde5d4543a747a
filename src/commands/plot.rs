//! `rowcliff plot`: draws the curves of one or several runs, from the files alone.

use std::path::{Path, PathBuf};

use super::Output;
use crate::cli::PlotArgs;
use crate::error::{Error, exit};
use crate::record::store::replace_file;
use crate::render::input::{self, Input};
use crate::render::pictures::{PictureKind, PictureOptions, picture};

/// Draws the pictures and prints their paths.
///
/// # Errors
/// A directory is no run's, there is nothing to draw, or a picture cannot be written.
pub fn run(args: &PlotArgs) -> Result<Output, Error> {
    let input = input::load_with(&args.runs, &args.foreign.options())?;
    let beside = |path: &PathBuf| if path.is_dir() { path.clone() } else { path.with_file_name("") };
    let directory = args.out.clone().or_else(|| args.runs.first().map(beside)).unwrap_or_default();
    let options = PictureOptions { log: args.log, title: args.title.clone(), ..PictureOptions::default() };
    let drawn = draw_all(&input, &directory, &options)?;
    let stdout = drawn.paths.iter().map(|path| format!("{}\n", path.display())).collect();
    let stderr = input.problems.into_iter().chain(drawn.left_out).collect();
    Ok(Output { stdout, stderr, exit: exit::OK })
}

/// What was drawn.
#[derive(Debug, Default)]
pub struct Drawn {
    /// The files.
    pub paths: Vec<PathBuf>,
    /// What could not be drawn, a sentence each.
    pub left_out: Vec<String>,
}

/// Draws every picture into `directory`.
///
/// # Errors
/// There is nothing to draw, or a picture cannot be written.
pub fn draw_all(input: &Input, directory: &Path, options: &PictureOptions) -> Result<Drawn, Error> {
    let mut drawn = Drawn::default();
    for kind in PictureKind::ALL {
        let path = directory.join(format!("{}.svg", kind.file_stem()));
        let next = "see `rowcliff show` for what the run holds";
        let picture = picture(kind, input, options).map_err(|error| Error::file(&path, error, next))?;
        std::fs::create_dir_all(directory)
            .and_then(|()| replace_file(&path, picture.svg.as_bytes()))
            .map_err(|error| Error::file(&path, error, "name a directory that can be written with --out"))?;
        for note in picture.left_out {
            if !drawn.left_out.contains(&note) {
                drawn.left_out.push(note);
            }
        }
        drawn.paths.push(path);
    }
    Ok(drawn)
}
