//! `--schema`: from a file, a name or a table of the target to the table of a plan, and the keys that this table takes.

use std::path::Path;

use super::{Place, SchemaFile, TargetSpec};
use crate::cli;
use crate::error::Error;
use crate::key::{Key, Storage};
use crate::schema::pasted::{self, Pasted, PastedTable, pasted};
use crate::schema::{self, Dialect};

/// The keys without `--key`.
const DEFAULT_KEYS: [&str; 2] = ["autoinc", "uuid4"];
/// What a definition on the target is called by.
pub const ON_TARGET: &str = "table:";

/// Reads the definition of a table on a target: of the target at an index, the name as it was typed.
pub type Fetch<'a> = &'a dyn Fn(usize, &str) -> Result<String, Error>;

/// The table of a plan, as it is needed while the plan is made.
#[derive(Debug, Clone)]
pub struct Schema {
    /// What the plan keeps of it.
    pub file: SchemaFile,
    /// What was pasted, in the words of MySQL and of SQLite, as far as there are targets for it.
    tables: Vec<(Dialect, PastedTable)>,
}

/// A key that a curve is to have, or the reason why the table does not take it.
pub type Asked = (Key, Option<String>);

impl Schema {
    /// What `--schema` means, with what a reader should know. Nothing without it.
    ///
    /// # Errors
    /// The text has no table to take, or it cannot be read.
    pub fn read(
        args: &cli::RunArgs,
        targets: &[TargetSpec],
        fetch: Option<Fetch<'_>>,
        notes: &mut Vec<String>,
    ) -> Result<Option<Self>, Error> {
        let Some(path) = args.schema.as_deref() else {
            return match &args.schema_table {
                Some(_) => {
                    Err(Error::usage("--schema-table", "there is no text to choose from", "give it with --schema"))
                }
                None => Ok(None),
            };
        };
        let shown = path.display().to_string();
        if let Some(table) = path.to_str().and_then(schema::named) {
            let file = SchemaFile {
                path: table.name.into(),
                text: table.mysql.into(),
                sqlite_text: Some(table.sqlite.into()),
                table: None,
                is_pasted: false,
            };
            return Ok(Some(Self { file, tables: Vec::new() }));
        }
        let text = match shown.strip_prefix(ON_TARGET) {
            Some(name) => match on_target(name, targets, fetch)? {
                Some(text) => text,
                // Nothing may be connected to: what the table takes is not known.
                None => "CREATE TABLE {table} (id {key})".to_owned(),
            },
            None => read_file(path)?,
        };
        Self::of_text(&shown, &text, args.schema_table.as_deref(), targets, notes).map(Some)
    }

    fn of_text(
        shown: &str,
        text: &str,
        name: Option<&str>,
        targets: &[TargetSpec],
        notes: &mut Vec<String>,
    ) -> Result<Self, Error> {
        let mut tables: Vec<(Dialect, PastedTable)> = Vec::new();
        for target in targets {
            let dialect = dialect_of(target);
            if tables.iter().any(|(known, _)| *known == dialect) {
                continue;
            }
            let found = pasted(text, dialect, name).map_err(|cause| {
                let flag =
                    if cause.contains("--schema-table") || name.is_some() { "--schema-table" } else { "--schema" };
                Error::usage(flag, format!("{shown}: {cause}"), NEXT)
            })?;
            notes_of(shown, &found, notes);
            tables.push((dialect, found.table));
        }
        let template =
            |dialect| tables.iter().find(|(known, _)| *known == dialect).map(|(_, table)| table.template.clone());
        let (mysql, sqlite) = (template(Dialect::Mysql), template(Dialect::Sqlite));
        let (text, sqlite_text) = match (mysql, sqlite) {
            (Some(mysql), sqlite) => (mysql, sqlite),
            (None, sqlite) => (sqlite.unwrap_or_default(), None),
        };
        let table = tables.iter().find_map(|(_, table)| table.name.clone());
        let file = SchemaFile { path: shown.to_owned(), text, sqlite_text, table, is_pasted: true };
        Ok(Self { file, tables })
    }

    /// The word for it in the settings of a curve.
    pub fn label(&self) -> String {
        let stem = || Path::new(&self.file.path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name =
            if self.file.is_named() { Some(self.file.path.clone()) } else { self.file.table.clone().or_else(stem) };
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$');
        name.unwrap_or_default().chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
    }

    /// What to say where the definition names another engine than the curves have.
    pub fn engine_note<'a>(&self, mut engines: impl Iterator<Item = &'a str>) -> Option<String> {
        let named = self.table(Dialect::Mysql)?.engine.as_ref()?;
        let other = engines.find(|engine| !engine.eq_ignore_ascii_case(named))?;
        Some(format!("{}: the definition says ENGINE={named}, and {other} is loaded; --engine chooses", self.file.path))
    }

    /// The pasted table, on a target of this dialect.
    fn table(&self, dialect: Dialect) -> Option<&PastedTable> {
        self.tables.iter().find(|(known, _)| *known == dialect).map(|(_, table)| table)
    }
}

const NEXT: &str =
    "--schema takes the output of SHOW CREATE TABLE, a dump, SQLite's .schema, or table:NAME for a table of the target";

fn dialect_of(target: &TargetSpec) -> Dialect {
    if matches!(target.place, Place::Sqlite { .. }) { Dialect::Sqlite } else { Dialect::Mysql }
}

fn read_file(path: &Path) -> Result<String, Error> {
    let next = format!(
        "--schema takes a file with a CREATE TABLE statement, table:NAME for a table of the target, or the name of a table: {}",
        schema::table_names()
    );
    let bytes = std::fs::read(path).map_err(|error| Error::file(path, error, next.clone()))?;
    pasted::decode(&bytes).map_err(|cause| Error::usage("--schema", format!("{}: {cause}", path.display()), next))
}

fn notes_of(shown: &str, found: &Pasted, notes: &mut Vec<String>) {
    let mut say = |note: String| {
        if !notes.contains(&note) {
            notes.push(note);
        }
    };
    if let Some((count, words)) = found.left_out_words() {
        let (statements, are) = if count == 1 { ("statement", "is") } else { ("statements", "are") };
        say(format!("{shown}: {count} other {statements} {are} left out and never executed ({words})"));
    }
    if found.alterations > 0 {
        let name = found.table.name.clone().unwrap_or_default();
        say(format!(
            "{shown}: what ALTER TABLE adds to {name} (keys, AUTO_INCREMENT) is not in its CREATE TABLE and is missing; the output of \
             SHOW CREATE TABLE {name} has it"
        ));
    }
}

/// The text of a definition on the target; `None` where nothing may be asked.
fn on_target(name: &str, targets: &[TargetSpec], fetch: Option<Fetch<'_>>) -> Result<Option<String>, Error> {
    let refuse = |cause: String, next: String| Err(Error::usage("--schema", cause, next));
    if name.is_empty() {
        return refuse("table: has no name".into(), "write it as --schema table:shop.orders".into());
    }
    if targets.iter().any(|target| matches!(target.place, Place::Scratch { .. })) {
        let (database, table) = name.rsplit_once('.').unwrap_or(("DATABASE", name));
        return refuse(
            format!("table:{name}: a scratch server is empty and has no such table"),
            format!(
                "write its definition into a file first: mysqldump --no-data {database} {table} > {table}.sql, then --schema {table}.sql"
            ),
        );
    }
    if targets.iter().any(|target| dialect_of(target) != dialect_of(&targets[0])) {
        return refuse(
            format!("table:{name}: the targets speak different SQL"),
            "run the servers and SQLite one after the other".into(),
        );
    }
    if matches!(targets[0].place, Place::Sqlite { path: None }) {
        return refuse(
            format!("table:{name}: SQLite is loaded into a fresh file here, which has no such table"),
            format!("name the file that has it, as in --target sqlite:app.db --schema table:{name}; it is only read"),
        );
    }
    fetch.map(|fetch| fetch(0, name)).transpose()
}

/// Whether keys were asked for, on the command line or in a plan file.
fn are_asked_for(args: &cli::RunArgs) -> bool {
    args.said.options.iter().any(|option| option.name == "key") || args.key != DEFAULT_KEYS
}

/// The keys of the curves on one kind of target; without `--key` those of the default ones that the table takes. A UUID whose word
/// names no storage has `default`.
///
/// # Errors
/// A word is no key.
pub fn keys(
    args: &cli::RunArgs,
    schema: Option<&Schema>,
    dialect: Dialect,
    default: Storage,
) -> Result<Vec<Asked>, Error> {
    let explicit = are_asked_for(args);
    let words = &args.key;
    if words.is_empty() {
        return Err(Error::usage("--key", "the list is empty", "see rowcliff run --help"));
    }
    let mut asked = Vec::new();
    for word in words {
        let word = word.trim();
        let key = Key::of_word(word, default)
            .map_err(|error| Error::usage("--key", error.to_string(), "see rowcliff run --help"))?;
        asked.push(match schema {
            None if key.is_own() => (key, Some("own is the key of a table of your own; give one with --schema".into())),
            Some(schema) if schema.file.is_named() && key.is_own() => {
                (key, Some("own is the key of a table of your own, pasted with --schema".into()))
            }
            None => (key, None),
            Some(schema) => match schema.table(dialect) {
                None => (key, None),
                Some(table) => taken(table, dialect, key, !word.contains(':')),
            },
        });
    }
    let Some(table) = schema.and_then(|schema| schema.table(dialect)).filter(|_| !explicit) else { return Ok(asked) };
    asked.retain(|(key, why)| why.is_none() && (key.storage().is_some() || names_key(table)));
    if asked.is_empty() {
        asked.push((Key::OWN, None));
    }
    Ok(asked)
}

fn names_key(table: &PastedTable) -> bool {
    table.placeholders.iter().any(|name| name == "{key}" || name == "{key_type}")
}

/// Whether a table takes a key; in which storage, where the word leaves that open.
fn taken(table: &PastedTable, dialect: Dialect, key: Key, is_open: bool) -> Asked {
    let has = |name: &str| table.placeholders.iter().any(|other| other == name);
    if names_key(table) {
        let why = match (key.is_own(), key.storage(), has("{key_type}")) {
            (true, ..) => Some("the key of the table is a placeholder; give autoinc or a UUID key".to_owned()),
            (false, None, true) => Some(
                "{key_type} is the type of a UUID key, and the key of this cell is not one; {key} stands for any key"
                    .into(),
            ),
            _ => None,
        };
        return (key, why);
    }
    let parts = table.primary_key();
    match key.storage() {
        None if key.is_own() => (key, None),
        None if table.is_counted(dialect) => (key, None),
        None => {
            (key, Some(format!("the table has no column that the database counts: {}; {LEAVE_OUT}", key_words(&parts))))
        }
        Some(storage) => {
            let storages: Vec<Storage> = parts.iter().flat_map(|column| column.uuid_storages(dialect)).collect();
            let fitting =
                if is_open { storages.first().copied() } else { storages.contains(&storage).then_some(storage) };
            match fitting.and_then(|storage| Key::uuid(key.family(), storage)) {
                Some(key) => (key, None),
                None => (
                    key,
                    Some(format!("the primary key holds no UUID of this kind: {}; {LEAVE_OUT}", key_words(&parts))),
                ),
            }
        }
    }
}

const LEAVE_OUT: &str =
    "leave --key out to load the table with its own key, or write {key} for the key column's definition";

fn key_words(parts: &[&pasted::PastedColumn]) -> String {
    let words: Vec<String> = parts.iter().map(|column| format!("{} is {}", column.name, column.type_text)).collect();
    if words.is_empty() { "it has no primary key".into() } else { words.join(", ") }
}
