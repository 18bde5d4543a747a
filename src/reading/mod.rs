//! A run as it is read back from its files, before anything is drawn or printed of it.
//!
//! - [`input`]: the runs to show, read from their directories; [`counted`]: what their counters say.
//! - [`names`]: short names for curves, made of what differs between them.
//! - [`figures`]: what a picture shows of a batch; [`cache`]: how large the cache was.

pub mod cache;
pub mod counted;
pub mod figures;
pub mod input;
pub mod names;
