//! Settings by name: `--vary`, `--server-option`, and that no two flags set the same variable.

use std::path::{Path, PathBuf};

use super::flush::{is_plain_value, is_variable_name};
use super::{Cell, ScratchPlan};
use crate::cli;
use crate::error::Error;

/// Options that say where a server keeps its files and how it is reached. rowcliff says that itself: a server of its own
/// must never open the files of another one.
const OWN: &[&str] = &[
    "datadir",
    "socket",
    "pid_file",
    "log_error",
    "tmpdir",
    "user",
    "port",
    "bind_address",
    "skip_networking",
    "init_file",
    "initialize",
    "initialize_insecure",
    "bootstrap",
    "defaults_file",
    "defaults_extra_file",
    "no_defaults",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_undo_directory",
    "innodb_doublewrite_dir",
    "innodb_temp_tablespaces_dir",
    "aria_log_dir_path",
    "rocksdb_datadir",
    "rocksdb_wal_dir",
];

/// The value of `--vary` that leaves a variable alone, so that a server which has no such variable runs that cell.
pub const AS_IS: &str = "as-is";

type Setting = (String, String);

/// Every combination of the values of `--vary`; one empty combination without it.
///
/// # Errors
/// A word is no NAME=LIST, or a name stands in two flags.
pub fn variations(words: &[String]) -> Result<Vec<Vec<Setting>>, Error> {
    let next = "write it as NAME=VALUE,VALUE, as in --vary innodb_buffer_pool_size=64M,1G";
    let mut combinations: Vec<Vec<Setting>> = vec![Vec::new()];
    let mut names: Vec<String> = Vec::new();
    for word in words {
        let (name, list) = name_and_value(word).ok_or_else(|| {
            Error::usage("--vary", format!("{word:?} is not the name of a variable and a list of values"), next)
        })?;
        if names.contains(&name) {
            return Err(Error::usage("--vary", format!("{name} is named twice"), "give all its values in one list"));
        }
        let mut values: Vec<String> = Vec::new();
        for value in list.split(',').map(str::trim) {
            if !is_plain_value(value) {
                return Err(Error::usage("--vary", format!("{value:?} is not a value for {name}"), next));
            }
            if !values.iter().any(|known| known == value) {
                values.push(value.to_owned());
            }
        }
        let extend = |combination: &Vec<Setting>| {
            let with = |value: &String| {
                let mut longer = combination.clone();
                longer.push((name.clone(), value.clone()));
                longer
            };
            values.iter().map(with).collect::<Vec<_>>()
        };
        combinations = combinations.iter().flat_map(extend).collect();
        names.push(name);
    }
    Ok(combinations)
}

/// How the servers of scratch targets are started.
///
/// # Errors
/// An option is none, or is one that rowcliff sets itself; options without a scratch target.
pub fn scratch(args: &cli::RunArgs, has_scratch: bool) -> Result<ScratchPlan, Error> {
    let mut options: Vec<Setting> = Vec::new();
    for word in &args.server_option {
        let flag = "--server-option";
        let (name, value) =
            name_and_value(word).filter(|(_, value)| !value.chars().any(char::is_control)).ok_or_else(|| {
                Error::usage(flag, format!("{word:?} is not NAME=VALUE"), "write it as innodb_log_file_size=1G")
            })?;
        let bare = name.trim_start_matches("loose_");
        if OWN.contains(&bare) {
            let cause = format!("{name} is set by rowcliff, so that its servers keep to their own files");
            return Err(Error::usage(flag, cause, "leave it out; --scratch-dir says where the data is kept"));
        }
        if matches!(bare, "log_bin" | "log_bin_index" | "relay_log" | "log_basename") && value.contains('/') {
            let cause = format!("{name} has a path: the log of a scratch server stays with its data");
            return Err(Error::usage(flag, cause, "give a name without a path"));
        }
        options.push((name, value));
    }
    let flags = [
        ("--server-option", !options.is_empty()),
        ("--server-config", args.server_config.is_some()),
        ("--scratch-dir", args.scratch_dir.is_some()),
    ];
    if let Some((flag, _)) = flags.iter().find(|(_, given)| *given && !has_scratch) {
        return Err(Error::usage(*flag, "there is no server to start", "name a target with --target scratch"));
    }
    let config = args.server_config.as_deref().map(absolute).transpose()?;
    if let Some(path) = &config {
        std::fs::File::open(path)
            .map_err(|error| Error::file(path, error, "--server-config takes an option file of the server"))?;
    }
    let directory = args.scratch_dir.as_deref().map(absolute).transpose()?;
    Ok(ScratchPlan { options, config, directory })
}

/// One variable is set by one flag: whichever of two came last would give the other's curve a wrong label.
///
/// # Errors
/// Two flags set the same one.
pub fn contradiction(cell: &Cell, server_options: &[Setting]) -> Result<(), Error> {
    let variables = cell.variables();
    for (index, (name, _)) in variables.iter().enumerate() {
        let twice = variables[..index].iter().any(|(other, _)| other == name);
        let varied = cell.settings.iter().any(|(other, _)| other == name);
        let next = "give it in one place";
        if twice {
            let flag = if varied { "--vary" } else { "--flush" };
            let cause = format!("{name} is set by --flush, --cache and --vary more than once for {}", cell.engine);
            return Err(Error::usage(flag, cause, next));
        }
        if server_options.iter().any(|(other, _)| other.trim_start_matches("loose_") == name) {
            let cause = format!("{name} is also set by --flush, --cache or --vary");
            return Err(Error::usage("--server-option", cause, next));
        }
    }
    Ok(())
}

/// `NAME=VALUE`, the name as variables are written: options know dashes as well.
fn name_and_value(word: &str) -> Option<Setting> {
    let (name, value) = word.split_once('=')?;
    let name = name.trim().trim_start_matches("--").to_ascii_lowercase().replace('-', "_");
    let value = value.trim();
    (is_variable_name(&name) && !value.is_empty()).then(|| (name, value.to_owned()))
}

pub(super) fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|error| Error::file(path, error, "give another path"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn variations_are_multiplied_out_in_the_order_of_the_flags() {
        let all = variations(&words(&["a=1,2", "B-c=x"])).unwrap();
        let expected: Vec<Vec<Setting>> =
            ["1", "2"].map(|v| vec![("a".to_owned(), v.to_owned()), ("b_c".to_owned(), "x".to_owned())]).to_vec();
        assert_eq!(all, expected);
        assert_eq!(variations(&[]).unwrap(), [Vec::new()]);
        for bad in ["a", "a=", "=1", "a=1,,2", "a='x'"] {
            assert!(variations(&words(&[bad])).is_err(), "{bad} was taken");
        }
        assert!(variations(&words(&["a=1", "A=2"])).unwrap_err().to_string().contains("twice"));
    }
}
