//! The flush setting asked for.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What the user asked for, before an engine translates it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Flush {
    /// Leave what is there.
    AsIs,
    /// The engine has no knob.
    None,
    /// 0, 1 or 2, as `innodb_flush_log_at_trx_commit` has them.
    Level(u8),
    Named(Vec<(String, String)>),
}

impl FromStr for Flush {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "as-is" => return Ok(Self::AsIs),
            "none" => return Ok(Self::None),
            "0" => return Ok(Self::Level(0)),
            "1" => return Ok(Self::Level(1)),
            "2" => return Ok(Self::Level(2)),
            _ => {}
        }
        let pairs: Option<Vec<(String, String)>> = text
            .split('+')
            .map(|pair| {
                let (name, value) = pair.split_once('=')?;
                let (name, value) = (name.trim(), value.trim());
                (is_variable_name(name) && is_plain_value(value)).then(|| (name.to_ascii_lowercase(), value.to_owned()))
            })
            .collect();
        pairs.map(Self::Named).ok_or_else(|| {
            format!("{text:?} is not a flush setting; known are 0, 1, 2, as-is and NAME=VALUE[+NAME=VALUE] with a server variable")
        })
    }
}

/// A name that can stand in SET GLOBAL without quoting.
pub fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.' || c == '-')
}

/// A value that can be written as a number or a quoted string without escaping.
pub fn is_plain_value(value: &str) -> bool {
    !value.is_empty()
        && value.len() <= 256
        && value.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '\'' | '"' | '\\' | '`' | ';'))
}

impl fmt::Display for Flush {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsIs => f.write_str("as-is"),
            Self::None => f.write_str("none"),
            Self::Level(level) => write!(f, "{level}"),
            Self::Named(pairs) => {
                let words: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
                f.write_str(&words.join("+"))
            }
        }
    }
}

impl From<Flush> for String {
    fn from(flush: Flush) -> Self {
        flush.to_string()
    }
}

impl TryFrom<String> for Flush {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_parsed_is_printed_again() {
        for text in ["0", "1", "2", "as-is", "none", "sync_binlog=0+innodb_flush_log_at_trx_commit=2"] {
            assert_eq!(text.parse::<Flush>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_words_and_anything_that_could_leave_its_quotes_are_refused() {
        for text in ["3", "", "fast", "=1", "a=", "a=1+", "a='1'", "a=1;DROP", "a b=1"] {
            assert!(text.parse::<Flush>().unwrap_err().contains("flush setting"), "{text:?} was taken");
        }
    }
}
