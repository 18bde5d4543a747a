//! rowcliff is a bulk-insert scaling profiler: it loads a table in equal batches, times every batch, and shows what
//! a batch costs as the table grows.
//!
//! # Code map
//!
//! Data flows one way: `plan -> target -> load -> record -> analyse -> render`.
//!
//! - [`key`]: one file for each key family; a key is a function of (seed, row index).
//! - [`record`]: plain data (sample, curve, run) and the store that writes and reads it.
//! - [`rows`]: row values as a function of (seed, row index), encoded in parallel; rayon is known here only.
//! - [`schema`]: DDL templates, and columns as the database itself reports them; pure functions of strings.
//! - [`units`]: rows, bytes, seconds and rates, for people and for machines.

pub mod key;
pub mod record;
pub mod rows;
pub mod schema;
pub mod units;
