//! What the machine and the server did for a load, read outside the timed sections.

pub mod cgroup;
pub mod environment;
