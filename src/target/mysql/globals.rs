//! Global variables of a server that is not ours: saved on disk before the first change, read back after each, put back.
//!
//! A change is put back only if the variable still has the value that rowcliff gave it and the server has not been
//! restarted since: what somebody else decided meanwhile stays.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::control::{Control, SharedControl, escape, lock};
use crate::plan::flush::is_variable_name;
use crate::record::store::replace_file;
use crate::target::Failure;

/// Held on the control connection by a run that changes globals.
const LOCK_NAME: &str = "rowcliff.globals";
/// The copy in the run's directory.
pub const GLOBALS_FILE: &str = "globals.json";
/// Two readings of a server's start time may differ by this much: they are differences of whole seconds.
const START_TOLERANCE_SECONDS: i64 = 5;

/// What has to be put back on one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedGlobals {
    /// Which server, by what does not change while it runs.
    pub identity: String,
    /// Where it is, without a password.
    pub url: String,
    /// The run that changed it.
    pub run_directory: PathBuf,
    /// When the server was started, in seconds of the Unix epoch.
    pub server_started_at: i64,
    /// The changes, oldest first.
    pub changes: Vec<Change>,
}

/// One changed variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its name.
    pub name: String,
    /// Its value before.
    pub original: String,
    /// What rowcliff set.
    pub set_to: String,
    /// What the server then read back; `None` when rowcliff died between saving and setting.
    pub in_force: Option<String>,
}

/// The changes of one target.
#[derive(Debug)]
pub struct Globals {
    control: SharedControl,
    run_directory: PathBuf,
    saved: Option<SavedGlobals>,
    locked: bool,
}

impl Globals {
    /// Nothing changed yet.
    pub fn new(control: SharedControl, run_directory: &Path) -> Self {
        Self { control, run_directory: run_directory.to_owned(), saved: None, locked: false }
    }

    /// Sets a variable, and reads it back. Gives a note when the server rounded it.
    ///
    /// # Errors
    /// Another run holds the lock, the privilege is missing, or the server has something else afterwards.
    pub fn set(&mut self, name: &str, value: &str) -> Result<Option<String>, Failure> {
        debug_assert!(is_variable_name(name));
        let control = std::sync::Arc::clone(&self.control);
        let mut control = lock(&control);
        self.take_lock(&mut control)?;
        let original = control
            .variable(name)?
            .ok_or_else(|| Failure::fatal(format!("this server has no global variable {name}")))?;
        let before = match self.saved.take() {
            Some(saved) => saved,
            None => SavedGlobals {
                identity: identity(&mut control)?,
                url: control.access().place.url(),
                run_directory: self.run_directory.clone(),
                server_started_at: server_started_at(&mut control)?,
                changes: Vec::new(),
            },
        };
        let saved = self.saved.insert(before);
        saved.changes.push(Change {
            name: name.to_owned(),
            original: original.clone(),
            set_to: value.to_owned(),
            in_force: None,
        });
        write(saved, &self.run_directory)?;
        let result = set_global(&mut control, name, value);
        let now = control.variable(name)?.unwrap_or_default();
        if let Some(change) = saved.changes.last_mut() {
            change.in_force = Some(now.clone());
        }
        write(saved, &self.run_directory)?;
        if let Err(mut failure) = result {
            failure.message = format!("SET GLOBAL {name}={value}: {}{}", failure.message, privilege_hint(&failure));
            return Err(failure);
        }
        super::settings::accept(&mut control, name, value, &now)
    }

    fn take_lock(&mut self, control: &mut Control) -> Result<(), Failure> {
        if self.locked {
            return Ok(());
        }
        let got: Option<i64> = control.first(&format!("SELECT GET_LOCK('{LOCK_NAME}', 0)"))?;
        if got != Some(1) {
            return Err(Failure::fatal(
                "another rowcliff run is changing global variables of this server; two at once would measure each other's settings: \
                 wait for it, or use --flush as-is",
            ));
        }
        self.locked = true;
        Ok(())
    }

    /// Puts back everything that was changed.
    ///
    /// # Errors
    /// Something could not be put back: which, and how to do it by hand. It stays saved on disk.
    pub fn restore(&mut self) -> Result<Vec<String>, Failure> {
        let Some(saved) = self.saved.take() else { return Ok(Vec::new()) };
        let control = std::sync::Arc::clone(&self.control);
        let mut control = lock(&control);
        let result = restore(&mut control, &saved);
        if result.is_err() {
            self.saved = Some(saved);
        }
        result
    }
}

impl Drop for Globals {
    fn drop(&mut self) {
        // Left without a close when a curve could not begin or the run ended in an error of its own: the table stays,
        // the globals do not. What fails here is still on disk, for the next start.
        let _ = self.restore();
    }
}

/// Puts back what a run that died left changed on the server behind `control`, if there is such a thing and nobody is
/// at work on it. Gives what was done, as sentences.
///
/// # Errors
/// Something could not be put back.
pub fn restore_leftovers(control: &SharedControl) -> Result<Vec<String>, Failure> {
    let mut control = lock(control);
    let identity = identity(&mut control)?;
    let Some(saved) = read(&state_file(&identity)) else { return Ok(Vec::new()) };
    let got: Option<i64> = control.first(&format!("SELECT GET_LOCK('{LOCK_NAME}', 0)"))?;
    if got != Some(1) {
        // A run is at work and will put back its own changes.
        return Ok(Vec::new());
    }
    let result = restore(&mut control, &saved);
    control.execute(&format!("DO RELEASE_LOCK('{LOCK_NAME}')"))?;
    result
}

/// What runs that died left changed, from the files of this user.
pub fn leftovers() -> Vec<SavedGlobals> {
    let Ok(entries) = std::fs::read_dir(state_directory()) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.iter().filter_map(|path| read(path)).collect()
}

fn restore(control: &mut Control, saved: &SavedGlobals) -> Result<Vec<String>, Failure> {
    let mut done = Vec::new();
    let restarted = (server_started_at(control)? - saved.server_started_at).abs() > START_TOLERANCE_SECONDS;
    for change in saved.changes.iter().rev() {
        let name = &change.name;
        let now = control.variable(name)?.unwrap_or_default();
        let ours =
            change.in_force.as_ref().map_or_else(|| same_value(&now, &change.set_to), |in_force| *in_force == now);
        if restarted {
            done.push(format!("{name} is left at {now}: the server was started anew since rowcliff set it"));
        } else if now == change.original {
            continue;
        } else if !ours {
            done.push(format!(
                "{name} is left at {now}: somebody else changed it after rowcliff set {}",
                change.set_to
            ));
        } else {
            set_global(control, name, &change.original).map_err(|failure| Failure {
                message: format!(
                    "{name} could not be put back to {} ({}); do it by hand: SET GLOBAL {name}={}",
                    change.original,
                    failure.message,
                    literal(&change.original)
                ),
                ..failure
            })?;
            let after = control.variable(name)?.unwrap_or_default();
            if after != change.original {
                return Err(Failure::fatal(format!(
                    "{name} should be {} again and the server has {after}; do it by hand: SET GLOBAL {name}={}",
                    change.original,
                    literal(&change.original)
                )));
            }
            done.push(format!("{name} is {} again", change.original));
        }
    }
    // Gone from the disk only now that nothing is left to do.
    let _ = std::fs::remove_file(state_file(&saved.identity));
    let _ = std::fs::remove_file(saved.run_directory.join(GLOBALS_FILE));
    Ok(done)
}

fn set_global(control: &mut Control, name: &str, value: &str) -> Result<(), Failure> {
    control.execute_patiently(&format!("SET GLOBAL {name}={}", literal(value)))
}

/// Numbers and words as they are, everything else quoted. Sizes with a unit are written out: SET takes no `64M`.
fn literal(value: &str) -> String {
    if value.parse::<i64>().is_ok() || value.parse::<f64>().is_ok() {
        return value.to_owned();
    }
    match crate::units::parse_bytes(value) {
        Ok(bytes) => bytes.to_string(),
        Err(_) if value.eq_ignore_ascii_case("on") || value.eq_ignore_ascii_case("off") => value.to_owned(),
        Err(_) => format!("'{}'", escape(value)),
    }
}

/// Whether a value read back is the value that was set, written another way (ON and 1, 64M and 67108864).
pub fn same_value(read_back: &str, set: &str) -> bool {
    let canonical = |text: &str| {
        let lower = text.trim().to_ascii_lowercase();
        match lower.as_str() {
            "on" | "yes" | "true" => "1".to_owned(),
            "off" | "no" | "false" => "0".to_owned(),
            _ => match (lower.parse::<f64>(), crate::units::parse_bytes(&lower)) {
                (Ok(number), _) => format!("{number}"),
                (_, Ok(bytes)) => format!("{}", bytes as f64),
                _ => lower,
            },
        }
    };
    canonical(read_back) == canonical(set)
}

fn privilege_hint(failure: &Failure) -> &'static str {
    match failure.code {
        Some(1227 | 1045 | 1044 | 1142) => {
            "; grant it, or use --flush as-is (managed services often keep it to themselves)"
        }
        Some(1193) => "; this server has no such variable",
        Some(1238) => "; it can only be set when the server starts: use a scratch server",
        _ => "",
    }
}

/// What tells one server from another and stays the same while it runs.
fn identity(control: &mut Control) -> Result<String, Failure> {
    let names = ["server_uuid", "server_uid", "hostname", "port", "socket", "datadir", "server_id"];
    let variables = control.variables(names)?;
    let words: Vec<String> =
        names.iter().filter_map(|name| Some(format!("{name}={}", variables.get(*name)?))).collect();
    Ok(words.join(" "))
}

fn server_started_at(control: &mut Control) -> Result<i64, Failure> {
    let rows: Vec<(String, String)> = control.rows("SHOW GLOBAL STATUS LIKE 'Uptime'")?;
    let uptime: i64 = rows.first().and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    Ok(jiff::Timestamp::now().as_second() - uptime)
}

/// `$XDG_STATE_HOME/rowcliff`, by default `~/.local/state/rowcliff`.
pub fn state_directory() -> PathBuf {
    let base = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    base.or(home).unwrap_or_else(std::env::temp_dir).join("rowcliff")
}

fn state_file(identity: &str) -> PathBuf {
    // FNV-1a: a short stable name for the file; the identity itself stands in it and is compared.
    let hash = identity
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    state_directory().join(format!("globals-{hash:016x}.json"))
}

fn write(saved: &SavedGlobals, run_directory: &Path) -> Result<(), Failure> {
    let text = serde_json::to_vec_pretty(saved).map_err(|error| Failure::fatal(error.to_string()))?;
    let state = state_file(&saved.identity);
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(state_directory())?;
        replace_file(&state, &text)?;
        replace_file(&run_directory.join(GLOBALS_FILE), &text)
    };
    write().map_err(|error| {
        Failure::fatal(format!(
            "{}: the value to put back cannot be saved ({error}), so nothing is changed; set XDG_STATE_HOME to a directory that can be written",
            state.display()
        ))
    })
}

fn read(path: &Path) -> Option<SavedGlobals> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_same_however_they_are_written() {
        for (a, b) in
            [("ON", "1"), ("OFF", "0"), ("67108864", "64M"), ("2", "2"), ("0.5", "0.50"), ("O_DIRECT", "o_direct")]
        {
            assert!(same_value(a, b), "{a} {b}");
        }
        for (a, b) in [("1", "2"), ("ON", "0"), ("67108864", "65M"), ("fsync", "O_DIRECT")] {
            assert!(!same_value(a, b), "{a} {b}");
        }
    }

    #[test]
    fn literals_cannot_leave_their_quotes() {
        assert_eq!(literal("64M"), "67108864");
        assert_eq!(literal("ON"), "ON");
        assert_eq!(literal("2"), "2");
        assert_eq!(literal("O_DIRECT"), "'O_DIRECT'");
        assert_eq!(literal("a'b"), "'a''b'");
    }
}
