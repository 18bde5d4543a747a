//! Probes: short read and write loads that run between the batches of a curve, so that reads, updates and transactions have a
//! curve against table size too.

pub mod kind;

pub use kind::ProbeKind;
