//! Draws the plots anew while a run goes on: between batches, after the clock has stopped.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::plot::{Pictures, draw_all};
use crate::reading::input;
use crate::record::event::{Event, Reporter};
use crate::render::pictures::PictureOptions;

/// Drawing may take this part of a run's time and no more: a batch of a fraction of a second is not to wait for its picture.
const SHARE: u32 = 50;

/// Passes events on, and draws after every so many batches.
pub struct Refreshing<'a> {
    inner: &'a mut dyn Reporter,
    directory: PathBuf,
    every: u32,
    batches: u32,
    /// When drawing ended last, and how long it took.
    drawn: (Instant, Duration),
}

impl<'a> Refreshing<'a> {
    /// Draws into `directory` every so many batches; never where that is 0.
    pub fn new(inner: &'a mut dyn Reporter, directory: &Path, every: u32) -> Self {
        let drawn = (Instant::now(), Duration::ZERO);
        Self { inner, directory: directory.to_owned(), every, batches: 0, drawn }
    }

    fn refresh(&mut self) {
        let (at, took) = self.drawn;
        if at.elapsed() < took * SHARE {
            return;
        }
        let begun = Instant::now();
        // A picture that cannot be drawn now is no reason to disturb a run: the end says what is wrong.
        if let Ok(input) = input::load(std::slice::from_ref(&self.directory)) {
            let _ = draw_all(&input, &Pictures::usual(&self.directory, &input), &PictureOptions::default());
        }
        self.drawn = (Instant::now(), begun.elapsed());
    }
}

impl Reporter for Refreshing<'_> {
    fn report(&mut self, event: &Event<'_>) {
        self.inner.report(event);
        if matches!(event, Event::Batch { .. }) && self.every > 0 {
            self.batches += 1;
            if self.batches >= self.every {
                self.batches = 0;
                self.refresh();
            }
        }
    }
}
