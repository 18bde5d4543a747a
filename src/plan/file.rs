//! Plan files: the options of `run`, said in TOML.
//!
//! There is one table of options, the definition of the command line. A file is turned into words of it, which stand
//! before the typed ones and are parsed with them, so that file and flags cannot drift apart. An option that was typed takes
//! the file's away. A path means what it means on the command line: it is relative to the current directory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, CommandFactory, Parser};
use toml::de::{DeTable, DeValue};

use crate::cli::{Cli, Command, RunArgs, Said, SaidOption};
use crate::error::Error;
use crate::secret::mask;

/// Options of `run` that belong to one invocation, to its machine or to the person who starts it, and not to a plan.
pub const NOT_IN_A_PLAN: &[&str] = &[
    "plan",
    "without",
    "shard",
    "scale",
    "scale-cache",
    "out",
    "continue",
    "plots-every",
    "progress",
    "quiet",
    "password-file",
    "ask-password",
    "help",
];

/// Options about servers that rowcliff starts.
const OF_OWN_SERVERS: [&str; 3] = ["server-option", "server-config", "scratch-dir"];

const NEXT: &str = "the keys of a plan file are the options of `rowcliff run --help`, without their dashes";

/// Adds what the file of `--plan` says, and notes what was said.
///
/// # Errors
/// The file cannot be read, or something in it makes no sense: with its line.
pub fn complete(mut cli: Cli, words: &[OsString]) -> Result<Cli, Error> {
    let Some(args) = run_args(&mut cli) else { return Ok(cli) };
    let Some(path) = args.plan.clone() else {
        args.said = said(words, None, &[]);
        return Ok(cli);
    };
    let text = std::fs::read_to_string(&path).map_err(|error| {
        Error::file(&path, error, "--plan takes a TOML file; `rowcliff check --print-plan` writes one")
    })?;
    let file = PlanFile { path: &path, text: &text };
    let mut options = file.options()?;
    leave_out(&args.without, &mut options)?;
    file.refuse_contradictions(&options)?;
    // What was typed comes first: it takes away the same option, and one that cannot stand beside it.
    let typed = said(words, None, &[]);
    let command = run_command();
    let is_typed =
        |name: &str| typed.options.iter().any(|option| option.name == name || conflict(&command, &option.name, name));
    let mut kept: Vec<FromFile> = options.into_iter().filter(|option| !is_typed(&option.name)).collect();
    let passed_over = pass_over_servers(&typed, &mut kept, &path);
    // Before the typed words and behind the command's own.
    let start = words.len().min(2);
    let mut all: Vec<OsString> = words[..start].to_vec();
    all.extend(kept.iter().flat_map(|option| option.words.clone()).map(OsString::from));
    all.extend_from_slice(&words[start..]);
    let mut cli = Cli::try_parse_from(&all)
        .map_err(|error| Error::usage(path.display().to_string(), first_paragraph(&error), NEXT))?;
    if let Some(args) = run_args(&mut cli) {
        args.said = Said { passed_over, ..said(&all, Some(path), &kept) };
    }
    Ok(cli)
}

/// An error about an option that a plan file gave, with the line where it stands.
pub fn located(error: Error, said: &Said) -> Error {
    let Some(file) = &said.file else { return error };
    let place = |is_meant: &dyn Fn(&str) -> bool| {
        let option = said.options.iter().find(|option| is_meant(&format!("--{}", option.name)))?;
        Some(format!("{}:{}", file.display(), option.line?))
    };
    match error {
        Error::Usage { flag, cause, next } => {
            let first = flag.split(' ').next().unwrap_or_default().to_owned();
            let flag = place(&|name| name == first).map_or(flag.clone(), |place| format!("{place}: {flag}"));
            Error::Usage { flag, cause, next }
        }
        Error::File { path, cause, next } => {
            let place = place(&|name| next.split([' ', ':', ';', ',']).any(|word| word == name));
            let next = place.map_or(next.clone(), |place| format!("{next} (named in {place})"));
            Error::File { path, cause, next }
        }
        other => other,
    }
}

/// The options that a plan can hold, as the command line defines them.
pub fn plan_options() -> Vec<Arg> {
    run_command().get_arguments().filter(|option| is_of_a_plan(option)).cloned().collect()
}

/// Whether an option is given several times, or as a list.
pub fn is_list(option: &Arg) -> bool {
    matches!(option.get_action(), clap::ArgAction::Append)
}

/// Whether an option is there or not, without a value.
pub fn is_switch(option: &Arg) -> bool {
    option.get_num_args().is_some_and(|values| values.min_values() == 0)
}

/// The long flag of an option without its dashes.
pub fn name_of(option: &Arg) -> &str {
    option.get_long().unwrap_or_default()
}

fn is_of_a_plan(option: &Arg) -> bool {
    option.get_long().is_some_and(|name| !NOT_IN_A_PLAN.contains(&name))
}

fn run_command() -> clap::Command {
    let mut whole = Cli::command();
    whole.build();
    whole.find_subcommand("run").cloned().unwrap_or_default()
}

fn run_args(cli: &mut Cli) -> Option<&mut RunArgs> {
    match &mut cli.command {
        Command::Run(args) => Some(args),
        Command::Check(args) => Some(&mut args.run),
        _ => None,
    }
}

/// The options of a plan among words that have been parsed already.
fn said(words: &[OsString], file: Option<PathBuf>, from_file: &[FromFile]) -> Said {
    let matches = Cli::command().try_get_matches_from(words).ok();
    let given = |matches: &ArgMatches, option: &Arg| {
        let id = option.get_id().as_str();
        if matches.value_source(id) != Some(ValueSource::CommandLine) {
            return None;
        }
        let values = matches.get_raw(id).map(|values| values.map(OsString::from).collect()).unwrap_or_default();
        let name = name_of(option).to_owned();
        let line = from_file.iter().find(|option| option.name == name).map(|option| option.line);
        Some(SaidOption { name, values, line })
    };
    let options = match matches.as_ref().and_then(|matches| matches.subcommand()) {
        Some((_, matches)) => plan_options().iter().filter_map(|option| given(matches, option)).collect(),
        None => Vec::new(),
    };
    Said { file, options, passed_over: Vec::new() }
}

/// Takes out of the file's options what `--without` names.
fn leave_out(names: &[String], options: &mut Vec<FromFile>) -> Result<(), Error> {
    for name in names {
        let name = name.trim().trim_start_matches("--");
        if !plan_options().iter().any(|option| name_of(option) == name) {
            let cause = format!("{name:?} is no option of a plan");
            return Err(Error::usage(
                "--without",
                cause,
                "name options of the plan file, as in --without cache,server-option",
            ));
        }
        options.retain(|option| option.name != name);
    }
    Ok(())
}

/// What a plan says of the servers that it starts is about none where targets were typed and none of them is started. Gives what was
/// passed over, as sentences.
fn pass_over_servers(typed: &Said, kept: &mut Vec<FromFile>, path: &Path) -> Vec<String> {
    let Some(targets) = typed.options.iter().find(|option| option.name == "target") else { return Vec::new() };
    if targets.values.iter().any(|target| target.to_string_lossy().starts_with("scratch")) {
        return Vec::new();
    }
    let (of_servers, others) =
        std::mem::take(kept).into_iter().partition(|option: &FromFile| OF_OWN_SERVERS.contains(&option.name.as_str()));
    *kept = others;
    of_servers
        .iter()
        .map(|option| {
            let (file, line, name) = (path.display(), option.line, &option.name);
            format!("{file}:{line}: {name} is passed over: rowcliff starts no server of the targets that were given")
        })
        .collect()
}

/// Whether two options cannot stand beside each other.
fn conflict(command: &clap::Command, one: &str, other: &str) -> bool {
    let find = |name: &str| command.get_arguments().find(|option| option.get_long() == Some(name));
    let (Some(one), Some(other)) = (find(one), find(other)) else { return false };
    let names = |option: &Arg, other: &Arg| {
        command.get_arg_conflicts_with(option).iter().any(|conflict| conflict.get_id() == other.get_id())
    };
    names(one, other) || names(other, one)
}

/// What clap says in its first lines, without its own beginning.
fn first_paragraph(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim).collect();
    lines.join(" ").trim_start_matches("error: ").to_owned()
}

/// An option as a plan file gives it.
#[derive(Debug)]
struct FromFile {
    name: String,
    line: usize,
    words: Vec<String>,
}

struct PlanFile<'a> {
    path: &'a Path,
    text: &'a str,
}

impl PlanFile<'_> {
    fn options(&self) -> Result<Vec<FromFile>, Error> {
        let table = DeTable::parse(self.text).map_err(|error| {
            self.error(error.span().map_or(0, |span| span.start), format!("this is not TOML: {}", error.message()))
        })?;
        let known = plan_options();
        let mut entries: Vec<_> = table.get_ref().iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let mut options = Vec::new();
        for (key, value) in entries {
            let (name, at) = (key.get_ref().as_ref(), key.span().start);
            let option = known
                .iter()
                .find(|option| option.get_long() == Some(name))
                .ok_or_else(|| self.error(at, unknown(name, &known)))?;
            let words =
                words_of(option, value.get_ref()).map_err(|cause| self.error(at, format!("{name}: {cause}")))?;
            // Alone, so that what clap says of it is known to be about this line.
            let alone = ["rowcliff", "run"].into_iter().map(str::to_owned).chain(words.iter().cloned());
            match Cli::command().try_get_matches_from(alone) {
                // What it wants beside it may stand in another line, or be typed.
                Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => {}
                Err(error) => return Err(self.error(at, format!("{name}: {}", first_paragraph(&error)))),
                Ok(_) => {}
            }
            options.push(FromFile { name: name.to_owned(), line: self.line(at), words });
        }
        // A switch that is off is the same as none: it contradicts nothing.
        options.retain(|option| !option.words.is_empty());
        Ok(options)
    }

    fn refuse_contradictions(&self, options: &[FromFile]) -> Result<(), Error> {
        let command = run_command();
        for (index, option) in options.iter().enumerate() {
            let others = &options[..index];
            if let Some(other) = others.iter().find(|other| conflict(&command, &option.name, &other.name)) {
                let cause = format!("{} cannot stand beside {} (line {})", option.name, other.name, other.line);
                let place = format!("{}:{}", self.path.display(), option.line);
                return Err(Error::usage(place, cause, "leave one of them out"));
            }
        }
        Ok(())
    }

    /// The line, from 1, of a place in the text.
    fn line(&self, at: usize) -> usize {
        self.text.as_bytes().iter().take(at).filter(|&&byte| byte == b'\n').count() + 1
    }

    fn error(&self, at: usize, cause: String) -> Error {
        Error::usage(format!("{}:{}", self.path.display(), self.line(at)), cause, NEXT)
    }
}

fn unknown(name: &str, known: &[Arg]) -> String {
    if NOT_IN_A_PLAN.contains(&name) {
        return format!("{name} is not part of a plan; give --{name} on the command line");
    }
    let dashed = name.replace('_', "-").to_ascii_lowercase();
    match known.iter().any(|option| option.get_long() == Some(&dashed)) {
        true => format!("{name:?} is not known; it is written {dashed}"),
        false => format!("{name:?} is not known"),
    }
}

/// What stands in the file as words of the command line; none for a switch that is off.
fn words_of(option: &Arg, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let name = name_of(option);
    if is_switch(option) {
        return match value {
            DeValue::Boolean(true) => Ok(vec![format!("--{name}")]),
            DeValue::Boolean(false) => Ok(Vec::new()),
            _ => Err("takes true or false".into()),
        };
    }
    let values = match value {
        DeValue::Table(columns) if name == "fill" => columns_to_fill(columns)?,
        DeValue::Array(_) if !is_list(option) => return Err("takes one value, not a list".into()),
        DeValue::Array(list) if list.is_empty() => return Err("the list is empty; leave the key out".into()),
        DeValue::Array(list) => list.iter().map(|value| scalar(value.get_ref())).collect::<Result<Vec<_>, _>>()?,
        single => vec![scalar(single)?],
    };
    if name == "target" && values.iter().any(|value| mask(value) != *value) {
        return Err("a plan file holds no password; use --password-file, ROWCLIFF_PASSWORD or an option file".into());
    }
    Ok(values.iter().map(|value| format!("--{name}={value}")).collect())
}

/// The table of columns and what is to be in them, as the command line says it.
fn columns_to_fill(columns: &DeTable<'_>) -> Result<Vec<String>, String> {
    let of_column = |value: &DeValue<'_>| match value {
        DeValue::Array(list) => {
            list.iter().map(|value| scalar(value.get_ref())).collect::<Result<Vec<_>, _>>().map(|words| words.join(","))
        }
        single => scalar(single),
    };
    let mut entries: Vec<_> = columns.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries.into_iter().map(|(key, value)| Ok(format!("{}={}", key.get_ref(), of_column(value.get_ref())?))).collect()
}

fn scalar(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().trim_start_matches('+').to_owned()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(|number| number.to_string())
            .map_err(|error| error.to_string()),
        DeValue::Float(number) => Ok(number.as_str().trim_start_matches('+').to_owned()),
        DeValue::Boolean(_) => Err("takes a number or a string, not true or false".into()),
        DeValue::Datetime(_) => Err("takes a number or a string, not a date".into()),
        DeValue::Array(_) => Err("takes numbers or strings, not a list in a list".into()),
        DeValue::Table(_) => Err("takes a number or a string, not a table".into()),
    }
}

#[cfg(test)]
mod posts;
#[cfg(test)]
mod tests;
