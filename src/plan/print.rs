//! The plan file that repeats a command line.

use std::ffi::OsStr;

use clap::Arg;

use super::file::{is_list, is_switch, name_of, plan_options};
use crate::cli::{Said, SaidOption};
use crate::error::Error;
use crate::secret::mask;

/// A plan file, and what a person should know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// The file.
    pub toml: String,
    /// What is not in it.
    pub notes: Vec<String>,
}

/// Writes what was said as a plan file: as it was typed, and below it, in comments, what was left at its default, so that a
/// reader sees what else decides the result.
///
/// # Errors
/// A value is not UTF-8, which TOML cannot hold.
pub fn plan_file(said: &Said) -> Result<Printed, Error> {
    let mut notes = Vec::new();
    let mut given = String::new();
    let mut defaults = String::new();
    for option in plan_options() {
        let name = name_of(&option);
        let is_off = |words: &SaidOption| is_switch(&option) && words.values.iter().all(|value| value == "false");
        let words = said.options.iter().find(|said| said.name == name && !is_off(said));
        let Some(words) = words else {
            defaults.extend(default_of(&option).map(|value| format!("# {name} = {value}\n")));
            continue;
        };
        let mut values = Vec::new();
        for word in &words.values {
            let text = text_of(name, word)?;
            let masked = mask(text);
            if name == "target" && masked != text {
                notes.push(format!(
                    "the password of {masked} is not written; give it with --password-file or ROWCLIFF_PASSWORD"
                ));
                values.push(masked.replacen(":***@", "@", 1));
            } else {
                values.push(text.to_owned());
            }
        }
        given.push_str(&format!("{name} = {}\n", value(&option, &values)));
    }
    let mut toml = String::from("# To be run with: rowcliff run --plan FILE\n\n");
    if !given.is_empty() {
        toml.push_str(&given);
        toml.push('\n');
    }
    toml.push_str("# Left at the default:\n");
    toml.push_str(&defaults);
    Ok(Printed { toml, notes })
}

fn text_of<'a>(name: &str, word: &'a OsStr) -> Result<&'a str, Error> {
    word.to_str().ok_or_else(|| {
        Error::usage(
            format!("--{name}"),
            format!("{word:?} is not UTF-8"),
            "TOML holds no other text; give it on the command line",
        )
    })
}

/// The default, for options that have a fixed one.
fn default_of(option: &Arg) -> Option<String> {
    let default = option.get_default_values().first()?.to_str()?;
    let values: Vec<String> = match option.get_value_delimiter() {
        Some(delimiter) => default.split(delimiter).map(str::to_owned).collect(),
        None => vec![default.to_owned()],
    };
    Some(value(option, &values))
}

/// Values as TOML: a list where the option is one, numbers and switches bare.
fn value(option: &Arg, values: &[String]) -> String {
    if is_switch(option) {
        return if values.iter().any(|value| value == "false") { "false" } else { "true" }.into();
    }
    if name_of(option) == "fill" {
        return inline_table(values);
    }
    let all_numbers = values.iter().all(|value| is_plain_number(value));
    let written = |value: &String| match all_numbers {
        true => value.clone(),
        false => toml::Value::String(value.clone()).to_string(),
    };
    let words: Vec<String> = values.iter().map(written).collect();
    match is_list(option) {
        true => format!("[{}]", words.join(", ")),
        false => words.join(", "),
    }
}

/// Columns and what is to be in them, as a table in one line: behind a table with a heading no other key could stand.
fn inline_table(values: &[String]) -> String {
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let pairs: Vec<String> = values
        .iter()
        .filter_map(|value| value.rsplit_once('='))
        .map(|(column, words)| format!("{} = {}", quoted(column), quoted(words)))
        .collect();
    format!("{{ {} }}", pairs.join(", "))
}

/// Whether a number comes back from TOML as it was typed.
fn is_plain_number(text: &str) -> bool {
    text.parse::<i64>().is_ok_and(|number| number.to_string() == text)
}
