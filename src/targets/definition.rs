//! The definition of a table that a target has. It is read and nothing else.

use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::mysql::Access;
use super::mysql::control::{Control, quote_identifier};
use crate::error::Error;
use crate::plan::{Place, Protection, Secret, ServerPlace, TargetSpec};
use crate::schema::pasted::names;

const NEXT: &str =
    "--schema table:NAME takes a table that the target has, with its database before it where it is another one";

/// The statements that make a table, as the target prints them.
///
/// # Errors
/// The target cannot be reached, or has no such table.
pub fn read(spec: &TargetSpec, secret: &Secret, protection: &Protection, name: &str) -> Result<String, Error> {
    let read = match &spec.place {
        Place::Sqlite { path: Some(path) } => of_file(path, name).map_err(|error| error.to_string()),
        Place::Server(place) => of_server(place, secret, protection, name),
        // The plan has refused these.
        Place::Sqlite { path: None } | Place::Scratch { .. } => Err("this target has no table yet".into()),
    };
    let cause = |why: String| Error::usage("--schema", format!("table:{name} on {}: {why}", spec.label), NEXT);
    read.and_then(|sql| sql.ok_or_else(|| "there is no such table".into())).map_err(cause)
}

fn of_server(
    place: &ServerPlace,
    secret: &Secret,
    protection: &Protection,
    name: &str,
) -> Result<Option<String>, String> {
    let access = Access { reads_only: true, ..Access::new(place.clone(), secret.clone()).protected(protection) };
    let mut control = Control::open(access).map_err(|failure| failure.to_string())?;
    let quoted: Vec<String> = names(name).iter().map(|part| quote_identifier(part)).collect();
    let rows = control
        .named_rows(&format!("SHOW CREATE TABLE {}", quoted.join(".")))
        .map_err(|failure| failure.to_string())?;
    let Some(mut row) = rows.into_iter().next() else { return Ok(None) };
    match row.remove("create table").flatten() {
        Some(sql) => Ok(Some(sql)),
        None => Err("it is a view, which has no rows of its own".into()),
    }
}

fn of_file(path: &std::path::Path, name: &str) -> rusqlite::Result<Option<String>> {
    let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    let name = names(name).pop().unwrap_or_default();
    let table = conn
        .query_row("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE", [&name], |row| {
            row.get::<_, String>(0)
        })
        .optional()?;
    let Some(mut sql) = table else { return Ok(None) };
    let mut indexes = conn.prepare(
        "SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?1 COLLATE NOCASE AND sql IS NOT NULL",
    )?;
    for index in indexes.query_map([&name], |row| row.get::<_, String>(0))? {
        sql.push_str(";\n");
        sql.push_str(&index?);
    }
    Ok(Some(sql))
}
