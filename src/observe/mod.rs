//! What the machine and the server did for a load, read outside the timed sections.
//!
//! - [`environment`]: the machine, once for a run; [`storage`] its devices, [`advice`] what would spoil a long run.
//! - [`observer`]: what moved in each batch, from [`process`] and [`host`] and from the target itself.

pub mod advice;
pub mod cgroup;
pub mod environment;
pub mod host;
pub mod observer;
pub mod process;
pub mod storage;

pub use observer::Observer;
