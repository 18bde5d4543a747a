//! The engine table: what differs between storage engines, as data in `schemas/engines.toml`.
//!
//! A new engine is an entry there, or in the file of `--engine-file`, and no code. Everything that has to know
//! an engine (plan, targets, listings) asks this table.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::rows::footprint::Layout;
use crate::schema::Variant;

const BUILT_IN: &str = include_str!("../schemas/engines.toml");

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// As in `ENGINE=`.
    pub name: String,
    /// Other words for the entry.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Further table options.
    #[serde(default)]
    pub options: String,
    /// The library that brings it, where it is not built in.
    #[serde(default)]
    pub plugin: Option<String>,
    /// The option that switches it on, where a server may have it built in and off.
    #[serde(default)]
    pub switch: Option<String>,
    /// The durability knob, if it has one.
    #[serde(default)]
    pub flush: Option<FlushKnob>,
    /// The variable that sizes its cache, if it has one.
    #[serde(default)]
    pub cache: Option<CacheVariable>,
    /// What it can do.
    #[serde(default)]
    pub can: Capabilities,
    /// What has to be different in its table.
    #[serde(default)]
    pub table: Variant,
    /// How it lays a table out in its files, where that is known and nothing is compressed: what the estimate of disk goes by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// Bytes of one row in its files, for the estimate of `check`.
    #[serde(default)]
    pub row_bytes: RowBytes,
    /// Variables worth recording.
    #[serde(default)]
    pub record: Vec<String>,
    /// Switches of the server that keep accepted rows from being read while they are on.
    #[serde(default)]
    pub hides_rows: Vec<HidingSwitch>,
    /// What it counts: figures that say why a load became slow.
    #[serde(default)]
    pub counters: Counters,
    /// What it still does on its own after a load: what a settle step waits for.
    #[serde(default)]
    pub idle: Vec<Pending>,
    /// How a server of our own is made to write out everything that the engine holds back.
    #[serde(default)]
    pub checkpoint: Option<Checkpoint>,
    /// Why it can only be listed, if it cannot take the tables at all.
    #[serde(default)]
    pub unable: Option<String>,
    /// What a reader of a result should know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Where the entry has been tried.
    #[serde(default)]
    pub tested: Vec<String>,
}

/// The variable that sizes an engine's cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheVariable {
    pub variable: String,
    /// Whether setting it works while the server runs.
    pub dynamic: bool,
    /// The first version in which that works, where it did not always.
    #[serde(default)]
    pub dynamic_since: Option<Since>,
    #[serde(default)]
    pub unit: CacheUnit,
    #[serde(default, skip_serializing_if = "CacheHolds::is_all")]
    pub holds: CacheHolds,
}

/// What a cache holds of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheHolds {
    #[default]
    All,
    /// Its indexes: data goes through the page cache of the OS.
    Indexes,
}

impl CacheHolds {
    fn is_all(&self) -> bool {
        *self == Self::All
    }
}

/// The first versions that have something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Since {
    pub mariadb: String,
    pub mysql: String,
}

/// A switch under which rows are accepted and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HidingSwitch {
    pub variable: String,
    /// What becomes of the rows.
    pub why: String,
}

/// How a cache variable counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheUnit {
    /// Bytes.
    #[default]
    Bytes,
    /// KiB, as a negative number (SQLite: positive numbers are pages).
    NegativeKib,
}

impl CacheUnit {
    /// A size as the variable takes it.
    pub fn value(self, bytes: u64) -> String {
        match self {
            Self::Bytes => bytes.to_string(),
            Self::NegativeKib => format!("-{}", bytes.div_ceil(1024)),
        }
    }
}

/// What an engine counts. Names of global status variables (SQLite: of its own status calls); those that a server does
/// not have are passed over.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Counters {
    /// Count up: how far they moved in a batch is recorded.
    pub totals: Vec<String>,
    /// Go up and down: the value at the end of a batch is recorded, under the name with `@end`.
    pub levels: Vec<String>,
    /// Figures that no status variable has.
    pub queries: Vec<CounterQuery>,
    /// Which of the totals are pages that had to be read since no cache held them.
    pub reads: Vec<String>,
    /// Which of the totals are syncs of files.
    pub syncs: Vec<String>,
}

impl Counters {
    /// What the counters stand for, by the names that `counters.csv` has for them.
    pub fn roles(&self) -> BTreeMap<String, Vec<String>> {
        let names = |list: &[String]| list.iter().map(|name| name.to_ascii_lowercase()).collect::<Vec<_>>();
        [("reads", names(&self.reads)), ("syncs", names(&self.syncs))]
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(role, names)| (role.to_owned(), names))
            .collect()
    }
}

/// A figure that takes a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterQuery {
    /// Its name, in lower case.
    pub name: String,
    /// A query whose first row ends with the number; no row, NULL and an error mean that it cannot be seen here.
    pub query: String,
    /// Whether it goes up and down.
    #[serde(default)]
    pub level: bool,
    /// The flavour that it is for (`mariadb`, `mysql`); both when it is left out.
    #[serde(default)]
    pub flavour: Option<String>,
}

/// Work that a server does on its own, and how much of it is left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    /// What it is, in words.
    pub what: String,
    /// A query whose first row ends with the number; no row, NULL and an error mean that it cannot be seen here.
    pub query: String,
    /// The flavour that it is for (`mariadb`, `mysql`); both when it is left out.
    #[serde(default)]
    pub flavour: Option<String>,
    /// The most that counts as done: some counters never reach zero.
    #[serde(default)]
    pub at_most: f64,
}

/// How a server of our own is made to write everything out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Statements. One that this server does not know is passed over, as long as another one is taken.
    pub statements: Vec<String>,
    /// What is left to be written.
    #[serde(default)]
    pub pending: Vec<Pending>,
}

/// The durability knob of an engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlushKnob {
    pub variable: String,
    /// Its values for flush 0, 1 and 2.
    pub values: [String; 3],
    /// Whether setting it works while the server runs.
    pub dynamic: bool,
}

/// What an engine can do. The default is what a transactional engine can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Capabilities {
    /// A failed transaction leaves nothing behind.
    pub transactions: bool,
    /// Rows can be deleted by key.
    pub delete: bool,
    pub uuid_keys: bool,
    /// Rows can be counted and read again.
    pub keeps_rows: bool,
    /// More than one connection can load.
    pub several_connections: bool,
    /// A range of primary keys is read without going through the whole table.
    pub ordered_key: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            transactions: true,
            delete: true,
            uuid_keys: true,
            keeps_rows: true,
            several_connections: true,
            ordered_key: true,
        }
    }
}

/// Bytes of one row on disk, indexes included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RowBytes {
    /// In the auto-increment table.
    pub autoinc: u64,
    /// In the UUID table.
    pub uuid: u64,
}

impl Default for RowBytes {
    fn default() -> Self {
        Self { autoinc: 60, uuid: 130 }
    }
}

/// All engines, by the word a user types.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EngineTable(BTreeMap<String, Engine>);

impl EngineTable {
    /// The table that is compiled in.
    ///
    /// # Panics
    /// Never: a test parses the same text.
    #[allow(clippy::expect_used)]
    pub fn built_in() -> Self {
        Self(toml::from_str(BUILT_IN).expect("schemas/engines.toml is checked by a test"))
    }

    /// The built-in table, with the entries of the file of `--engine-file`.
    ///
    /// # Errors
    /// See [`Self::extend_from_file`].
    pub fn with_file(path: Option<&Path>) -> Result<Self, Error> {
        let mut table = Self::built_in();
        if let Some(path) = path {
            table.extend_from_file(path)?;
        }
        Ok(table)
    }

    /// Adds the entries of a file; an entry of the same name is replaced as a whole.
    ///
    /// # Errors
    /// The file cannot be read, or is not such a table: with its line.
    pub fn extend_from_file(&mut self, path: &Path) -> Result<(), Error> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::file(path, error, "--engine-file takes a TOML file laid out as `rowcliff engines --toml` prints it")
        })?;
        let more: BTreeMap<String, Engine> = toml::from_str(&text).map_err(|error| {
            Error::file(path, error.to_string().trim_end(), "see `rowcliff engines --toml` for the layout")
        })?;
        self.0.extend(more.into_iter().map(|(word, engine)| (word.to_ascii_lowercase(), engine)));
        Ok(())
    }

    /// The entry for a word (case does not matter), with its canonical word. An engine that is not in the table is
    /// taken as a transactional one without a known knob: it works with `as-is` and with variables by name.
    pub fn resolve(&self, word: &str) -> (String, Engine) {
        let lower = word.trim().to_ascii_lowercase();
        if let Some(engine) = self.0.get(&lower) {
            return (lower, engine.clone());
        }
        let by_alias =
            self.0.iter().find(|(_, engine)| engine.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(&lower)));
        match by_alias {
            Some((name, engine)) => (name.clone(), engine.clone()),
            None => (lower, Engine::unknown(word.trim())),
        }
    }

    /// Whether a word names an entry.
    pub fn knows(&self, word: &str) -> bool {
        let (name, _) = self.resolve(word);
        self.0.contains_key(&name)
    }

    /// All entries, by word.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Engine)> {
        self.0.iter().map(|(word, engine)| (word.as_str(), engine))
    }

    /// The text of the built-in table, for a user who wants to write one.
    pub fn built_in_text() -> &'static str {
        BUILT_IN
    }
}

impl Engine {
    /// Whether a variable is one of its own, by how the names begin that its entry knows.
    pub fn owns_variable(&self, name: &str) -> bool {
        let engine = self.name.to_ascii_lowercase();
        let cache = self.cache.iter().map(|cache| cache.variable.as_str());
        let known = cache
            .chain(self.flush.iter().map(|knob| knob.variable.as_str()))
            .chain(self.record.iter().map(String::as_str));
        let starts = known.filter_map(|variable| variable.split_once('_').map(|(start, _)| start));
        let of = |start: &str| name.strip_prefix(start).is_some_and(|rest| rest.starts_with('_'));
        std::iter::once(engine.as_str()).chain(starts).any(of)
    }

    fn unknown(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            aliases: Vec::new(),
            options: String::new(),
            plugin: None,
            switch: None,
            flush: None,
            cache: None,
            can: Capabilities::default(),
            table: Variant::Standard,
            layout: None,
            row_bytes: RowBytes::default(),
            record: Vec::new(),
            hides_rows: Vec::new(),
            counters: Counters::default(),
            idle: Vec::new(),
            checkpoint: None,
            unable: None,
            notes: vec!["not in the engine table: taken as transactional, without a known flush setting".into()],
            tested: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_knows_its_own_variables_by_how_they_begin() {
        let table = EngineTable::built_in();
        for (word, own, other) in [
            ("rocksdb", "rocksdb_bulk_load", "innodb_io_capacity"),
            ("pbxt", "pbxt_row_file_grow_size", "pbx_t"),
            ("ndb", "ndb_cluster_connection_pool", "nd_x"),
            ("soliddb", "soliddb_filespec", "rocksdb_bulk_load"),
            ("archive", "archive_x", "archives"),
        ] {
            let (_, engine) = table.resolve(word);
            assert!(engine.owns_variable(own) && !engine.owns_variable(other), "{word}");
        }
        assert_eq!(table.resolve("soliddb").1.plugin.as_deref(), Some("ha_soliddb"));
    }

    #[test]
    fn the_built_in_table_is_whole() {
        let table = EngineTable::built_in();
        let mut words: Vec<String> = Vec::new();
        for (word, engine) in table.iter() {
            words.push(word.to_owned());
            words.extend(engine.aliases.clone());
            assert!(!engine.name.is_empty());
            let counters = &engine.counters;
            for name in counters.reads.iter().chain(&counters.syncs) {
                let queried = counters.queries.iter().any(|query| query.name == *name && !query.level);
                assert!(counters.totals.contains(name) || queried, "{word}: {name} is not counted");
            }
            if let Some(flush) = &engine.flush {
                assert!(flush.values.iter().all(|value| !value.is_empty()), "{word}: a flush value is empty");
            }
        }
        let count = words.len();
        words.sort();
        words.dedup();
        assert_eq!(words.len(), count, "a word names two entries");
        for word in [
            "innodb",
            "rocksdb",
            "aria",
            "aria-nontransactional",
            "myisam",
            "memory",
            "archive",
            "blackhole",
            "csv",
            "tokudb",
            "pbxt",
            "soliddb",
            "ndb",
            "spider",
            "sqlite",
        ] {
            assert!(table.knows(word), "{word} is missing");
        }
    }

    #[test]
    fn words_aliases_and_strangers() {
        let table = EngineTable::built_in();
        assert_eq!(table.resolve("InnoDB").0, "innodb");
        assert_eq!(table.resolve("MyRocks").0, "rocksdb");
        let (word, engine) = table.resolve("Sphinx");
        assert_eq!((word.as_str(), engine.name.as_str()), ("sphinx", "Sphinx"));
        assert!(engine.flush.is_none());
    }

    #[test]
    fn a_file_adds_and_overrides_and_an_unknown_field_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("engines.toml");
        std::fs::write(&path, "[mine]\nname = \"Mine\"\n[myisam]\nname = \"MyISAM\"\nnotes = [\"x\"]\n").unwrap();
        let mut table = EngineTable::built_in();
        table.extend_from_file(&path).unwrap();
        assert!(table.knows("mine"));
        assert_eq!(table.resolve("myisam").1.notes, ["x"]);
        std::fs::write(&path, "[mine]\nname = \"Mine\"\nspeed = 3\n").unwrap();
        let message = table.extend_from_file(&path).unwrap_err().to_string();
        assert!(message.contains("speed") && message.contains("line 3"), "{message}");
    }
}
