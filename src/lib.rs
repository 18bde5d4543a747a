//! rowcliff is a bulk-insert scaling profiler: it loads a table in equal batches, times every batch, and shows what
//! a batch costs as the table grows.
//!
//! # Code map
//!
//! Data flows one way: `plan -> target -> load -> record -> analyse -> render`.
//!
//! - [`record`]: plain data (sample, curve, run) and the store that writes and reads it.
//! - [`analyse`]: pure functions of stored samples: baseline, curves and cells. No file, clock or database.
//! - [`render`]: tables and pictures from stored files; it does not know that a database exists.
//! - [`units`]: rows, bytes, seconds and rates, for people and for machines.

pub mod analyse;
pub mod record;
pub mod render;
pub mod units;
