//! One integration binary: each module is an area of `tests/run.sh`.

mod cli;
mod fake;
mod mariadb;
mod mysql;
mod scratch;
mod sqlite;
mod support;
