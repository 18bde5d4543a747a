//! What people see, made from the stored files: tables and pictures. Text in, text out; the caller prints and writes.
//!
//! - [`cliffs`]: what is read from curves, in words, in tables and as JSON.
//! - [`closing`]: the closing work of curves.
//! - [`compare`]: two runs side by side.
//! - [`forecast`]: what batches will cost at a size that was not reached.
//! - [`pictures`]: which pictures there are, and what goes into each.
//! - [`within`]: what a picture shows of the seconds of a batch.
//! - [`facets`]: small multiples; [`heat`]: the table of end speeds as colours.
//! - [`plot`]: one picture: [`scale`] makes its axes, [`palette`] its looks, [`layout`] the places, [`paint`] draws on [`sheet`], which is SVG and, by [`raster`], PNG;
//!   [`text`] knows how wide words are.
//! - [`probes`]: what probes found: tables, lines of mysqlslap, pictures, words.
//! - [`report`]: everything of a run in one HTML file.
//! - [`progress`]: what a run says on stderr while it goes on; [`events`]: the same for machines.
//! - [`left`]: what a run will still take.
//! - [`published`]: figures that somebody published beside those of a run.
//! - [`show`]: the tables of a run, set by [`table`]; [`columns`] says what stands in them, [`export`] is the same for machines.
//! - [`status`]: where a run stands, while it goes on.

pub mod ask;
pub mod cliffs;
pub mod closing;
pub mod columns;
pub mod compare;
pub mod events;
pub mod export;
pub mod facets;
pub mod forecast;
pub mod heat;
pub mod layout;
pub mod left;
pub mod paint;
pub mod palette;
pub mod pictures;
pub mod plot;
pub mod probes;
pub mod progress;
pub mod published;
pub mod raster;
pub mod report;
pub mod scale;
pub mod sheet;
pub mod show;
pub mod status;
pub mod table;
pub mod tables;
#[cfg(test)]
pub(crate) mod test_support;
pub mod text;
pub mod within;
