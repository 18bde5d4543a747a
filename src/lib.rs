//! rowcliff is a bulk-insert scaling profiler: it loads a table in equal batches, times every batch, and shows what
//! a batch costs as the table grows.
//!
//! # Code map
//!
//! Data flows one way: `plan -> targets -> load -> run -> record -> analyse -> reading -> render`. Which folder may import which is a list in
//! `tests/it/house.rs`, and its test; `docs/architecture.md` says how a batch travels and what to touch to add something.
//!
//! - [`cli`]: the words a user may type. Only `main`, [`commands`] and [`plan`] see them.
//! - [`hand_over`]: the words of the command line, with passwords taken out of the list of processes before anything else.
//! - [`commands`]: one file for each command, from what was typed to what is printed; `main` prints.
//! - [`plan`]: the resolved list of curves, made once and never changed; from the command line and [`plan::file`]s.
//! - [`key`]: primary keys as functions of (seed, row index); one file for each family.
//! - [`schema`]: table templates, and columns as the database reports them.
//! - [`rows`]: row values as functions of (seed, row index), and their encoding. rayon is known here and nowhere else.
//! - [`engine`]: the engine table: what differs between storage engines, as data.
//! - [`targets`]: where rows go.
//! - [`load`]: how rows travel; one file for each method.
//! - [`probe`]: what runs between the batches: rows asked for, statements, and what their answers must be.
//! - [`run`]: the loop: encode, time the sending, check, record. Only here is the clock of a measurement read, and only
//!   a [`targets::Canceller`] ends a statement.
//! - [`observe`]: the machine and the server, read outside the timed sections: [`observe::Observer`] fills what a sample has
//!   beside its time. What a target can tell of itself is [`targets::reading`].
//! - [`record`]: plain data (sample, curve, run) and the store that writes and reads it; [`record::detail`] is what goes beside
//!   the samples, [`record::event`] what happens while a run goes on. It knows nothing above it.
//! - [`foreign`]: files of other programs, read as samples.
//! - [`analyse`]: pure functions of stored samples: baseline, curves and cells; shapes, cliffs and what moved with them; comparison;
//!   forecast. No file, clock or database.
//! - [`reading`]: a run as it is read back from its files.
//! - [`render`]: tables, pictures (SVG and PNG) and the report from stored files, and progress; it does not know that a database exists.
//! - [`units`]: rows, bytes, seconds and rates, for people and for machines.
//! - [`secret`]: passwords, and what hides those that were typed.
//! - [`error`]: what ends a command, with its exit code.

pub mod analyse;
pub mod cli;
pub mod commands;
pub mod engine;
pub mod error;
pub mod foreign;
pub mod hand_over;
pub mod key;
pub mod load;
pub mod observe;
pub mod plan;
pub mod probe;
pub mod reading;
pub mod record;
pub mod render;
pub mod rows;
pub mod run;
pub mod schema;
pub mod secret;
pub mod targets;
pub mod units;
