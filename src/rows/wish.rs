//! What `--fill` says of a column: words between commas, checked here as far as they can be without the table.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::IndexOrder;
use crate::units::parse_rows;

/// Columns and what is said of them, by the name of the column.
pub type Wishes = BTreeMap<String, Wish>;

/// What a column is to hold. What is not said stays as it would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Wish {
    /// So many different values.
    pub distinct: Option<u64>,
    /// Some come more often than others: the exponent of Zipf's distribution.
    pub zipf: Option<f64>,
    /// The share of rows with NULL.
    pub null: Option<f64>,
    /// The order of the values.
    pub order: Option<IndexOrder>,
    /// The shortest and the longest value, in characters of text and in bytes of binary data.
    pub length: Option<(u64, u64)>,
}

const KNOWN: &str = "known are distinct:N, zipf:S, null:SHARE, ascending, random, length:N..M";

impl FromStr for Wish {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut wish = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for word in text.split(',').map(str::trim) {
            let (name, value) = word.split_once(':').map_or((word, None), |(name, value)| (name, Some(value.trim())));
            // Both are orders: one of them at most.
            let slot = if matches!(name, "ascending" | "random") { "order" } else { name };
            if seen.contains(&slot) {
                return Err(match slot {
                    "order" => "ascending and random are said once, and not both".into(),
                    _ => format!("{name} is said twice"),
                });
            }
            seen.push(slot);
            wish.take(name, value)?;
        }
        wish.check()?;
        Ok(wish)
    }
}

impl Wish {
    fn take(&mut self, name: &str, value: Option<&str>) -> Result<(), String> {
        match (name, value) {
            ("ascending", None) => self.order = Some(IndexOrder::Ascending),
            ("random", None) => self.order = Some(IndexOrder::Random),
            ("distinct", Some(value)) => {
                let number = parse_rows(value).map_err(|error| format!("distinct: {error}"))?;
                self.distinct = Some(number);
            }
            ("zipf", Some(value)) => {
                let exponent = value.parse().ok().filter(|s: &f64| s.is_finite() && *s > 0.0 && *s <= 20.0);
                self.zipf = Some(exponent.ok_or_else(|| {
                    format!("zipf:{value} is no exponent: it is above 0 and at most 20, as in zipf:1.1")
                })?);
            }
            ("null", Some(value)) => {
                let share = value.parse().ok().filter(|share| (0.0..=1.0).contains(share));
                self.null =
                    Some(share.ok_or_else(|| format!("null:{value} is no share: it is from 0 to 1, as in null:0.25"))?);
            }
            ("length", Some(value)) => self.length = Some(length(value)?),
            ("ascending" | "random", Some(_)) => return Err(format!("{name} takes no value")),
            ("distinct" | "zipf" | "null" | "length", None) => {
                return Err(format!("{name} wants a value, as in {name}:{}", example(name)));
            }
            _ => return Err(format!("{name:?} is not known; {KNOWN}")),
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        if self.zipf.is_some() && self.distinct.is_none() {
            return Err("zipf wants the number of values beside it, as in distinct:1000,zipf:1.1".into());
        }
        if self.zipf.is_some() && self.order == Some(IndexOrder::Ascending) {
            return Err("values that come by zipf do not ascend; leave one of them out".into());
        }
        Ok(())
    }
}

fn example(name: &str) -> &'static str {
    match name {
        "distinct" => "1000",
        "zipf" => "1.1",
        "null" => "0.25",
        _ => "10..40",
    }
}

fn length(value: &str) -> Result<(u64, u64), String> {
    let (min, max) = value.split_once("..").unwrap_or((value, value));
    let number = |text: &str| text.trim().parse::<u64>().ok();
    match (number(min), number(max)) {
        (Some(min), Some(max)) if min <= max => Ok((min, max)),
        (Some(min), Some(max)) => Err(format!("length:{min}..{max} ends before it begins")),
        _ => Err(format!("length:{value} is no length: it is written length:10..40, or length:32")),
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        words.extend(self.distinct.map(|number| format!("distinct:{number}")));
        words.extend(self.zipf.map(|exponent| format!("zipf:{exponent}")));
        words.extend(self.null.map(|share| format!("null:{share}")));
        words.extend(self.order.map(|order| order.name().to_owned()));
        words.extend(self.length.map(|(min, max)| format!("length:{min}..{max}")));
        f.write_str(&words.join(","))
    }
}

impl TryFrom<String> for Wish {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Wish> for String {
    fn from(wish: Wish) -> Self {
        wish.to_string()
    }
}

/// Reads `COLUMN=WORD,...`. The column may hold equal signs: the words do not.
///
/// # Errors
/// What is wrong with it, and how it is written.
pub fn parse(text: &str) -> Result<(String, Wish), String> {
    let (column, words) = text
        .rsplit_once('=')
        .filter(|(column, _)| !column.is_empty())
        .ok_or_else(|| format!("{text:?} is not COLUMN=WORD,...; {KNOWN}"))?;
    Ok((column.to_owned(), words.parse().map_err(|error| format!("{column}: {error}"))?))
}

/// Several columns as one text, for notes and pictures.
pub fn words(wishes: &Wishes) -> String {
    let words: Vec<String> = wishes.iter().map(|(column, wish)| format!("{column}={wish}")).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_as_they_were_said() {
        for text in [
            "distinct:1000",
            "distinct:5,zipf:1.1,null:0.25",
            "null:1",
            "ascending",
            "random,length:3..9",
            "length:7..7",
        ] {
            let wish: Wish = text.parse().unwrap();
            assert_eq!(wish.to_string(), text);
            let json = serde_json::to_string(&wish).unwrap();
            assert_eq!(serde_json::from_str::<Wish>(&json).unwrap(), wish);
        }
        assert_eq!("distinct:2k , length:4".parse::<Wish>().unwrap().to_string(), "distinct:2000,length:4..4");
        assert_eq!(parse("a=b=null:0").unwrap().0, "a=b");
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_way_to_write_it() {
        for (text, part) in [
            ("", "not known"),
            ("distinct", "distinct:1000"),
            ("distinct:0", "at least 1"),
            ("distinct:x", "distinct"),
            ("zipf:1.1", "distinct:1000,zipf:1.1"),
            ("distinct:9,zipf:0", "above 0"),
            ("distinct:9,zipf:nan", "above 0"),
            ("distinct:9,zipf:1,ascending", "do not ascend"),
            ("ascending,random", "not both"),
            ("ascending:1", "no value"),
            ("null:1.5", "from 0 to 1"),
            ("length:9..3", "ends before"),
            ("length:a", "length:10..40"),
            ("null:0,null:1", "twice"),
            ("sorted", "known are distinct:N"),
        ] {
            let message = text.parse::<Wish>().unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
        assert!(parse("kind").unwrap_err().contains("COLUMN=WORD"));
        assert!(parse("=null:0").unwrap_err().contains("COLUMN=WORD"));
    }
}
