//! One integration binary: each module is an area of `tests/run.sh`.

// clippy.toml allows it inside #[test] functions only, and what they share is as much of a test.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod between;
mod browser;
mod care;
mod cli;
mod cluster;
mod compare;
mod fake;
mod foreign;
mod golden;
mod house;
mod loaders;
mod mariadb;
mod mysql;
mod names;
mod observe;
mod pasted;
mod pictures;
mod plans;
mod plans_of_posts;
mod probes;
mod probes_shown;
mod reading;
mod recorded;
mod resume;
mod rhythms;
mod scratch;
mod secrets;
mod sessions;
mod situations;
mod sqlite;
mod standing;
#[allow(dead_code)] // not every area needs every helper
mod support;
mod values;
mod values_servers;
