//! Primary keys: their names, and UUIDs as a pure function of (seed, row index).
//!
//! A new family is one file and one line of [`FAMILIES`]; what is parsed, listed and refused comes from there.

pub mod autoinc;
pub mod clock;
mod gregorian;
pub mod hex;
pub mod mix;
pub mod own;
pub mod uuid1;
pub mod uuid4;
pub mod uuid6;
pub mod uuid7;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use uuid1::uuid1_wrap_rows;

/// Rows per second at which the clock of time-based UUIDs advances unless another rate is given.
pub const DEFAULT_UUID_RATE: u64 = 60_000;

/// How a primary key comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    Autoinc,
    /// UUID of version 1: time with its low bits first.
    Uuid1,
    /// UUID of version 4: random.
    Uuid4,
    /// UUID of version 6: the time of version 1 with its high bits first.
    Uuid6,
    /// UUID of version 7: Unix milliseconds first.
    Uuid7,
    /// What the table of a user has.
    Own,
}

impl Family {
    /// The name a user types.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Whether the keys are UUIDs, which have a storage.
    pub fn is_uuid(self) -> bool {
        !matches!(self, Self::Autoinc | Self::Own)
    }

    fn entry(self) -> &'static FamilyEntry {
        match self {
            Self::Autoinc => &autoinc::ENTRY,
            Self::Uuid1 => &uuid1::ENTRY,
            Self::Uuid4 => &uuid4::ENTRY,
            Self::Uuid6 => &uuid6::ENTRY,
            Self::Uuid7 => &uuid7::ENTRY,
            Self::Own => &own::ENTRY,
        }
    }
}

/// Makes the UUIDs of a seed and a rate in rows per second.
type Build = fn(u64, u64) -> Result<Arc<dyn UuidSource>, KeyError>;

/// One line of the registry of families.
#[derive(Debug, Clone, Copy)]
pub struct FamilyEntry {
    pub family: Family,
    /// The name a user types.
    pub name: &'static str,
    /// What it is, for listings.
    pub summary: &'static str,
    /// Makes the UUIDs of a seed and a rate of rows; absent where the server makes the key.
    build: Option<Build>,
}

/// Every known family, in the order of listings.
pub const FAMILIES: [FamilyEntry; 6] =
    [autoinc::ENTRY, uuid1::ENTRY, uuid4::ENTRY, uuid6::ENTRY, uuid7::ENTRY, own::ENTRY];

/// How a UUID is stored in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Storage {
    /// 32 hex digits without dashes.
    Char32,
    /// 36 characters with dashes.
    Char36,
    /// 16 raw bytes.
    Binary16,
    /// MariaDB's UUID type, which is given its 36 characters.
    Native,
}

impl Storage {
    /// The name a user types.
    pub fn name(self) -> &'static str {
        match self {
            Self::Char32 => "char32",
            Self::Char36 => "char36",
            Self::Binary16 => "binary16",
            Self::Native => "native",
        }
    }

    /// Bytes of the key as it is sent: never cut, never padded.
    pub fn wire_bytes(self) -> u64 {
        match self {
            Self::Char32 => 32,
            Self::Char36 | Self::Native => 36,
            Self::Binary16 => 16,
        }
    }
}

/// One line of the registry of storages.
#[derive(Debug, Clone, Copy)]
pub struct StorageEntry {
    pub storage: Storage,
    /// What it is, for listings.
    pub summary: &'static str,
}

/// Every known storage, the default first.
pub const STORAGES: [StorageEntry; 4] = [
    StorageEntry { storage: Storage::Binary16, summary: "16 raw bytes (default)" },
    StorageEntry { storage: Storage::Char32, summary: "32 hex digits without dashes" },
    StorageEntry { storage: Storage::Char36, summary: "36 characters with dashes" },
    StorageEntry { storage: Storage::Native, summary: "MariaDB's UUID type" },
];

/// A primary key as a user names it: `autoinc`, `uuid4`, `uuid4:binary16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Key {
    family: Family,
    storage: Option<Storage>,
}

impl Key {
    /// The key that the server counts.
    pub const AUTOINC: Self = Self { family: Family::Autoinc, storage: None };
    /// The key that a user's table has.
    pub const OWN: Self = Self { family: Family::Own, storage: None };

    /// A UUID key; `None` for a family that is not one of UUIDs.
    pub fn uuid(family: Family, storage: Storage) -> Option<Self> {
        family.is_uuid().then_some(Self { family, storage: Some(storage) })
    }

    /// The key of a word; a UUID without a storage gets `default`.
    ///
    /// # Errors
    /// The word is no key.
    pub fn of_word(text: &str, default: Storage) -> Result<Self, KeyError> {
        let (family_word, storage_word) = match text.split_once(':') {
            Some((family, storage)) => (family, Some(storage)),
            None => (text, None),
        };
        let family = FAMILIES
            .iter()
            .find(|entry| entry.name == family_word)
            .map(|entry| entry.family)
            .ok_or_else(|| KeyError::UnknownFamily { word: family_word.into() })?;
        match (family.is_uuid(), storage_word) {
            (false, None) => Ok(Self { family, storage: None }),
            (false, Some(word)) => Err(KeyError::StorageWithoutUuid { family, word: word.into() }),
            (true, None) => Ok(Self { family, storage: Some(default) }),
            (true, Some(word)) => STORAGES
                .iter()
                .find(|entry| entry.storage.name() == word)
                .map(|entry| Self { family, storage: Some(entry.storage) })
                .ok_or_else(|| KeyError::UnknownStorage { word: word.into() }),
        }
    }

    /// Whether the server counts it.
    pub fn is_autoinc(self) -> bool {
        self == Self::AUTOINC
    }

    /// Whether it is the one that a user's table has.
    pub fn is_own(self) -> bool {
        self == Self::OWN
    }

    pub fn family(self) -> Family {
        self.family
    }

    /// How the UUID is stored; `None` for `autoinc` and `own`.
    pub fn storage(self) -> Option<Storage> {
        self.storage
    }

    /// The UUIDs of this key for a seed, with a clock that advances as if rows came at `rows_per_second`.
    ///
    /// `Ok(None)` for `autoinc`. The rate matters to the time-based families only, but 0 is refused by all of them.
    ///
    /// # Errors
    /// A rate of 0, or one that puts more rows into a tick of the clock than the family's counter can tell apart.
    pub fn source(self, seed: u64, rows_per_second: u64) -> Result<Option<Arc<dyn UuidSource>>, KeyError> {
        if rows_per_second == 0 {
            return Err(KeyError::RateZero);
        }
        self.family.entry().build.map(|build| build(seed, rows_per_second)).transpose()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.storage {
            None => f.write_str(self.family.name()),
            Some(storage) => write!(f, "{}:{}", self.family.name(), storage.name()),
        }
    }
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        Self::of_word(text, STORAGES[0].storage)
    }
}

impl From<Key> for String {
    fn from(key: Key) -> Self {
        key.to_string()
    }
}

impl TryFrom<String> for Key {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        text.parse()
    }
}

/// UUIDs as a pure function of the row index.
pub trait UuidSource: fmt::Debug + Send + Sync {
    /// The UUID of a row, counted from 0.
    fn uuid(&self, row: u64) -> Uuid;

    /// Rows for which uniqueness (and order, where the family has one) holds; the time or the bits end there.
    fn rows_max(&self) -> u64;
}

/// The family that a word of other programs stands for.
fn meant(word: &str) -> Option<&'static str> {
    let letters: String = word.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let plain = match letters.as_str() {
        "autoincrement" | "serial" | "bigserial" | "identity" | "id" => "autoinc".to_owned(),
        "uuid" | "guid" | "random" => "uuid4".to_owned(),
        _ => letters.replace("uuidv", "uuid").replace("guid", "uuid"),
    };
    FAMILIES.iter().map(|entry| entry.name).find(|name| *name == plain)
}

/// Why a key cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No such family.
    #[error(
        "{word:?} is not a key{}; known keys are {}, and a UUID may name its storage, as in uuid4:binary16",
        meant(word).map_or_else(String::new, |name| format!(" (did you mean {name}?)")),
        family_names()
    )]
    UnknownFamily { word: String },
    #[error("{word:?} is not a storage of a UUID; known storages are {}", storage_names())]
    UnknownStorage { word: String },
    /// A storage for a key that is not a UUID.
    #[error("{} takes no storage ({word:?}); only UUID keys have one", family.name())]
    StorageWithoutUuid { family: Family, word: String },
    /// No rows per second.
    #[error("the rate of the UUID clock must be at least 1 row per second")]
    RateZero,
    /// More rows in a tick than the counter can tell apart.
    #[error(
        "{rate} rows per second are more than the counter of {} can tell apart; the most is {rate_max}",
        family.name()
    )]
    RateTooHigh {
        family: Family,
        /// Rows per second asked for.
        rate: u64,
        /// Rows per second that fit.
        rate_max: u64,
    },
}

fn family_names() -> String {
    FAMILIES.map(|entry| entry.name).join(", ")
}

fn storage_names() -> String {
    STORAGES.map(|entry| entry.storage.name()).join(", ")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_registry_has_every_family_once() {
        for entry in FAMILIES {
            assert_eq!(entry.family.name(), entry.name);
            assert_eq!(entry.build.is_some(), entry.family.is_uuid());
            assert!(!entry.summary.is_empty());
        }
        assert_eq!(FAMILIES.map(|entry| entry.family).iter().collect::<HashSet<_>>().len(), FAMILIES.len());
        assert_eq!(STORAGES.map(|entry| entry.storage).iter().collect::<HashSet<_>>().len(), STORAGES.len());
    }

    #[test]
    fn words_become_keys_and_keys_words() {
        assert_eq!("autoinc".parse(), Ok(Key::AUTOINC));
        assert_eq!("uuid4".parse::<Key>().unwrap().to_string(), "uuid4:binary16");
        assert_eq!(Key::of_word("uuid4", Storage::Char32).unwrap().to_string(), "uuid4:char32");
        assert_eq!(Key::of_word("uuid4:char36", Storage::Char32).unwrap().to_string(), "uuid4:char36");
        for family in FAMILIES.iter().filter(|entry| entry.family.is_uuid()) {
            for storage in STORAGES {
                let text = format!("{}:{}", family.name, storage.storage.name());
                let key: Key = text.parse().unwrap();
                assert_eq!((key.family(), key.storage()), (family.family, Some(storage.storage)));
                assert_eq!(key.to_string(), text);
            }
        }
        let ordered: BTreeSet<Key> = ["uuid7", "autoinc", "uuid4"].map(|word| word.parse().unwrap()).into();
        assert_eq!(ordered.first(), Some(&Key::AUTOINC));
    }

    #[test]
    fn words_that_are_no_keys_are_named_with_what_is_known() {
        let message = |word: &str| word.parse::<Key>().unwrap_err().to_string();
        assert!(message("uuid5").contains("\"uuid5\" is not a key"), "{}", message("uuid5"));
        assert!(message("uuid5").contains("autoinc, uuid1, uuid4, uuid6, uuid7"), "{}", message("uuid5"));
        for (word, meant) in
            [("uuidv7", "uuid7"), ("UUIDv4", "uuid4"), ("auto_increment", "autoinc"), ("uuid", "uuid4")]
        {
            assert!(message(word).contains(&format!("did you mean {meant}?")), "{}", message(word));
        }
        assert!(!message("uuid5").contains("did you mean"), "{}", message("uuid5"));
        assert!(message("uuid4:text").contains("\"text\" is not a storage"), "{}", message("uuid4:text"));
        assert!(message("uuid4:text").contains("binary16, char32, char36, native"), "{}", message("uuid4:text"));
        assert!(message("autoinc:char32").contains("takes no storage"), "{}", message("autoinc:char32"));
        for word in ["", "UUID4", "uuid4:", ":char32", "uuid4:char32:x", " uuid4"] {
            assert!(word.parse::<Key>().is_err(), "{word:?} was taken");
        }
        assert_eq!(Key::uuid(Family::Autoinc, Storage::Char32), None);
    }

    #[test]
    fn autoinc_has_nothing_to_generate() {
        assert!(Key::AUTOINC.source(1, 60_000).unwrap().is_none());
        assert_eq!(Key::AUTOINC.source(1, 0).unwrap_err(), KeyError::RateZero);
    }

    #[test]
    fn a_sample_of_every_family_is_unique() {
        for entry in FAMILIES.iter().filter(|entry| entry.family.is_uuid()) {
            let key = Key::uuid(entry.family, Storage::Char32).unwrap();
            for rate in [1_000, 60_000, 100_000_000_000] {
                let source = key.source(7, rate).unwrap().unwrap();
                let start = 33_999_900_000_u64;
                let seen: HashSet<Uuid> = (start..start + 200_000).map(|row| source.uuid(row)).collect();
                assert_eq!(seen.len(), 200_000, "{key} at {rate} rows/s repeats itself");
            }
        }
    }

    proptest! {
        #[test]
        fn the_same_seed_gives_the_same_rows(seed: u64, row in 0_u64..1 << 40) {
            for entry in FAMILIES.iter().filter(|entry| entry.family.is_uuid()) {
                let key = Key::uuid(entry.family, Storage::Binary16).unwrap();
                let one = key.source(seed, 60_000).unwrap().unwrap().uuid(row);
                prop_assert_eq!(one, key.source(seed, 60_000).unwrap().unwrap().uuid(row));
                prop_assert_ne!(one, key.source(seed ^ 1, 60_000).unwrap().unwrap().uuid(row));
            }
        }
    }
}
