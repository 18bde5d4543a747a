//! Tables made up from a seed: types, nullability, unique indexes, generated columns, checks.

use rowcliff::key::mix::Stream;
use rowcliff::record::Outcome;

/// Whose SQL it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    Sqlite,
    MariaDb,
    MySql,
}

struct Dice {
    stream: Stream,
    thrown: u64,
}

impl Dice {
    fn up_to(&mut self, last: u64) -> usize {
        self.thrown += 1;
        self.stream.up_to(self.thrown, last) as usize
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.up_to(list.len() as u64 - 1)]
    }
}

/// The columns that may be in an index, and those that may not.
const TYPES: &[&str] = &[
    "INT",
    "BIGINT",
    "SMALLINT",
    "TINYINT",
    "DECIMAL(10,2)",
    "DATE",
    "DATETIME",
    "VARCHAR(40)",
    "CHAR(12)",
    "VARCHAR(4)",
];
const FREE_TYPES: &[&str] = &["DOUBLE", "TEXT", "BLOB", "TIME"];
const SERVER_TYPES: &[&str] =
    &["ENUM('a','b','c')", "SET('x','y')", "ENUM('größe','база')", "BIT(20)", "YEAR", "JSON", "POINT"];

/// The template of a table.
pub fn made_up(seed: u64, sql: Database) -> String {
    let mut dice = Dice { stream: Stream::new(seed, "made up"), thrown: 0 };
    let id = match sql {
        Database::Sqlite => "id INTEGER PRIMARY KEY",
        Database::MariaDb | Database::MySql => "id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY",
    };
    let mut parts = vec![id.to_owned()];
    let columns = 2 + dice.up_to(4);
    let mut keys = Vec::new();
    for number in 0..columns {
        let name = format!("c{number}");
        let kind = match dice.up_to(5) {
            0 => dice.of(FREE_TYPES),
            1 if sql != Database::Sqlite => dice.of(SERVER_TYPES),
            _ => dice.of(TYPES),
        };
        let is_keyed = TYPES.contains(&kind);
        let null = dice.of(&["", " NOT NULL"]);
        let check = match (dice.up_to(7), kind) {
            (0, "INT" | "BIGINT" | "SMALLINT") => {
                format!(" CHECK ({name} < {})", dice.of(&["100", "3000", "2147483648"]))
            }
            (1, "VARCHAR(40)") => format!(" CHECK ({name} <> 'x')"),
            _ => String::new(),
        };
        parts.push(format!("{name} {kind}{null}{check}"));
        if is_keyed {
            match dice.up_to(4) {
                0 => keys.push(format!("UNIQUE ({name})")),
                1 if sql != Database::Sqlite => keys.push(format!("KEY ({name})")),
                _ => {}
            }
        }
        if matches!(kind, "INT" | "SMALLINT" | "VARCHAR(40)") && dice.up_to(2) == 0 {
            let computed = match kind {
                "VARCHAR(40)" => format!("g{number} VARCHAR(40) AS (LOWER({name}))"),
                _ if dice.up_to(3) == 0 => format!("g{number} TINYINT AS ({name} - 5)"),
                _ if dice.up_to(3) == 0 => format!("g{number} BIGINT AS (({name} * 0) + 1)"),
                _ => format!("g{number} BIGINT AS ({name} * 2)"),
            };
            parts.push(format!("{computed} {}", dice.of(&["STORED", "VIRTUAL"])));
            if dice.up_to(1) == 0 {
                keys.push(format!("UNIQUE (g{number})"));
            }
        }
    }
    parts.extend(keys);
    let options = if sql == Database::Sqlite { "" } else { " {options}" };
    format!("CREATE TABLE {{table}} ({}){options}", parts.join(", "))
}

/// What `check --try` said of one curve, and what became of it in `run`: the same, in the same words.
pub fn check_promised(said: &str, outcome: &Outcome) {
    let plain = |text: &str| {
        // Each trial has a table of its own name.
        let of_run = |word: &str| if word.contains("rowcliff_") { "TABLE".to_owned() } else { word.to_owned() };
        text.split_whitespace().map(of_run).collect::<Vec<_>>().join(" ")
    };
    match outcome {
        Outcome::Completed => assert!(said.contains("1 of 1 curves would run"), "{said}"),
        Outcome::Skipped { why, .. } => {
            assert!(said.contains("0 of 1 curves would run"), "{why}: {said}");
            assert!(plain(said).contains(&plain(why)), "{why}: {said}");
        }
        other => panic!("{other:?}: {said}"),
    }
}
