//! Probes: short read and write loads that run between the batches of a curve, so that reads, updates and transactions have a
//! curve against table size too.
//!
//! - [`pool`]: which rows are asked for: a function of seed, table size and number.
//! - [`pools`]: those of one probe, and which of their ids have to be looked up.
//! - [`table`]: what a table allows to be asked, the statements, and whether an answer is what the generator made.
//! - [`operation`]: one operation over one connection, and putting back what it changed.
//!
//! When they run, over which connections, and their time is the business of [`crate::run::probes`].

pub mod operation;
pub mod pool;
pub mod pools;
pub mod table;

pub use operation::{Operation, Restore, Shared};
pub use pool::{Asked, Pool};
pub use pools::Pools;
pub use table::ProbeTable;
