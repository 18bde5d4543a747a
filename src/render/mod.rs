//! What people see, made from the stored files: tables and pictures. Text in, text out; the caller prints and writes.
//!
//! - [`cliffs`]: what is read from curves, in words, in tables and as JSON; [`counted`]: the counters of a run.
//! - [`compare`]: two runs side by side.
//! - [`forecast`]: what batches will cost at a size that was not reached.
//! - [`input`]: the runs to show, read from their directories.
//! - [`names`]: short names for curves, made of what differs between them.
//! - [`pictures`]: which pictures there are, and what goes into each.
//! - [`plot`]: one picture: [`scale`] makes its axes, [`palette`] its looks, [`layout`] the places, [`paint`] draws on [`sheet`],
//!   [`text`] knows how wide words are.
//! - [`progress`]: what a run says on stderr while it goes on; [`events`]: the same for machines.
//! - [`show`]: the tables of a run, set by [`table`]; [`columns`] says what stands in them, [`export`] is the same for machines.
//! - [`status`]: where a run stands, while it goes on.

pub mod cliffs;
pub mod columns;
pub mod compare;
pub mod counted;
pub mod events;
pub mod export;
pub mod forecast;
pub mod input;
pub mod layout;
pub mod names;
pub mod paint;
pub mod palette;
pub mod pictures;
pub mod plot;
pub mod progress;
pub mod scale;
pub mod sheet;
pub mod show;
pub mod status;
pub mod table;
pub mod text;
