//! Global variables of a server that is not ours: saved on disk before the first change, read back after each, put back.
//!
//! A change is put back only if the variable still has the value that rowcliff gave it and the server has not been
//! restarted since: what somebody else decided meanwhile stays.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::connect::Access;
use super::control::{Control, Reopened, SharedControl, escape, lock};
use super::privileges;
use crate::plan::flush::is_variable_name;
use crate::record::store::{is_being_written, replace_file};
use crate::targets::Failure;
use crate::targets::state::state_directory;

/// Held on the control connection by a run that changes globals.
const LOCK_NAME: &str = "rowcliff.globals";
/// The copy in the run's directory.
pub const GLOBALS_FILE: &str = "globals.json";
/// Two readings of a server's start time may differ by this much: they are differences of whole seconds.
const START_TOLERANCE_SECONDS: i64 = 5;
/// Some variables take effect in the background (a buffer pool that changes its size): so long is waited for them.
const EFFECT_WAITS: u32 = 50;
const EFFECT_WAIT: Duration = Duration::from_millis(200);

/// What has to be put back on one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedGlobals {
    /// Which server, by what does not change while it runs.
    pub identity: String,
    /// Where it is, without a password.
    pub url: String,
    /// The run that changed it.
    pub run_directory: PathBuf,
    /// When the server was started, in seconds of the Unix epoch by its own clock.
    pub server_started_at: i64,
    /// The connection that changed it: a server that gives smaller numbers now was started anew.
    #[serde(default)]
    pub connection: u32,
    /// The changes, oldest first.
    pub changes: Vec<Change>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub name: String,
    pub original: String,
    /// What rowcliff set.
    pub set_to: String,
    /// What the server then read back; `None` when rowcliff died between saving and setting.
    pub in_force: Option<String>,
}

/// What became of the changes when they were to be put back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// Put back, as sentences.
    pub done: Vec<String>,
    /// Left alone, as sentences: somebody else changed them since.
    pub foreign: Vec<String>,
    /// Gone anyway, as sentences: the server was started anew.
    pub restarted: Vec<String>,
}

impl Restored {
    pub fn sentences(self) -> Vec<String> {
        [self.done, self.foreign, self.restarted].concat()
    }
}

/// The changes of one target. They live as long as the target, so that what could not be put back at the end of a
/// curve is tried again at the end of the run, and no other curve starts before it is.
#[derive(Debug)]
pub struct Globals {
    control: SharedControl,
    run_directory: PathBuf,
    saved: Option<SavedGlobals>,
    /// The connection that holds the lock. The server lets go of the lock when the connection is lost.
    locked_on: Option<u32>,
}

/// The changes as target and table share them.
pub type SharedGlobals = Arc<Mutex<Globals>>;

/// Access to the changes, whatever became of the thread that had it last.
pub fn lock_globals(globals: &SharedGlobals) -> MutexGuard<'_, Globals> {
    globals.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The connections of this process that hold the lock, by the server's identity: two targets may be two ways to one
/// server, and a run does not refuse itself.
static HELD: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());

fn held() -> MutexGuard<'static, BTreeMap<String, u32>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Globals {
    /// Nothing changed yet.
    pub fn new(control: SharedControl, run_directory: &Path) -> Self {
        Self { control, run_directory: run_directory.to_owned(), saved: None, locked_on: None }
    }

    /// As [`Globals::new`], to be shared.
    pub fn shared(control: SharedControl, run_directory: &Path) -> SharedGlobals {
        Arc::new(Mutex::new(Self::new(control, run_directory)))
    }

    /// Sets a variable, and reads it back. Gives a note when the server rounded it. A variable that has the value already
    /// is not set, which needs no privilege; the lock is taken all the same, so that no other run changes it meanwhile.
    ///
    /// # Errors
    /// Another run holds the lock, the privilege is missing, or the server has something else afterwards.
    pub fn set(&mut self, name: &str, value: &str) -> Result<Option<String>, Failure> {
        debug_assert!(is_variable_name(name));
        let control = Arc::clone(&self.control);
        let mut control = lock(&control);
        let identity = identity(&mut control)?;
        self.take_lock(&mut control, &identity)?;
        let original = control
            .variable(name)?
            .ok_or_else(|| Failure::fatal(format!("this server has no global variable {name}")))?;
        if same_value(&original, value) {
            return Ok(None);
        }
        let before = match self.saved.take() {
            Some(saved) => saved,
            None => SavedGlobals {
                identity,
                url: control.access().place.url(),
                run_directory: self.run_directory.clone(),
                server_started_at: server_started_at(&mut control)?,
                connection: control.id(),
                changes: Vec::new(),
            },
        };
        let saved = self.saved.insert(before);
        let change = Change { name: name.to_owned(), original, set_to: value.to_owned(), in_force: None };
        saved.changes.push(change);
        if let Err(failure) = write(saved, &self.run_directory) {
            // Not saved, so not changed, so nothing to put back.
            saved.changes.pop();
            return Err(failure);
        }
        let result = set_global(&mut control, name, value);
        let now = effect(&mut control, name, |now| result.is_err() || same_value(now, value))?;
        if let Some(change) = saved.changes.last_mut() {
            change.in_force = Some(now.clone());
        }
        write(saved, &self.run_directory)?;
        if let Err(mut failure) = result {
            let hint = hint(&failure, name, &control);
            failure.message = format!("SET GLOBAL {name}={value}: {}{hint}", failure.message);
            return Err(failure);
        }
        super::settings::accept(name, value, &now)
    }

    fn take_lock(&mut self, control: &mut Control, identity: &str) -> Result<(), Failure> {
        // `identity` has just been asked for, so the connection is the one that is in use now.
        if self.locked_on == Some(control.id()) {
            return Ok(());
        }
        if !get_lock(control, identity)? {
            return Err(Failure::fatal(format!(
                "another rowcliff run is changing global variables of this server{}; two at once would measure each other's \
                 settings: wait for it, or use --flush as-is",
                holder(control)
            )));
        }
        self.locked_on = Some(control.id());
        // Looked at only now that nobody else can be at it: what is there would be overwritten by what is to come.
        match left_behind(identity, &self.run_directory) {
            Left::Nothing => Ok(()),
            // Our own, from before the connection was lost.
            Left::Behind(saved) if self.saved.is_some() && saved.run_directory == self.run_directory => Ok(()),
            Left::AtWork(directory) => Err(Failure::fatal(format!(
                "the run in {} is changing global variables of this server: wait for it, or use --flush as-is",
                directory.display()
            ))),
            Left::Behind(saved) => restore(control, *saved).map(|_| ()),
        }
    }

    /// Takes the lock again when the control connection was lost meanwhile. That somebody else has it now shows when the
    /// values are compared at the end.
    pub fn keep_lock(&mut self) {
        if self.saved.is_some() {
            let control = Arc::clone(&self.control);
            let mut control = lock(&control);
            let _ = identity(&mut control).and_then(|identity| self.take_lock(&mut control, &identity));
        }
    }

    /// Whether something is still to be put back.
    pub fn is_pending(&self) -> bool {
        self.saved.is_some()
    }

    /// Puts back everything that was changed.
    ///
    /// # Errors
    /// Something could not be put back: which, and how to do it by hand. It stays saved, here and on disk.
    pub fn restore(&mut self) -> Result<Restored, Failure> {
        let Some(saved) = self.saved.take() else { return Ok(Restored::default()) };
        let control = Arc::clone(&self.control);
        let mut control = lock(&control);
        let result = restore(&mut control, saved.clone());
        if result.is_err() {
            // What was put back already equals its original and is passed over the next time.
            self.saved = Some(saved);
        }
        result
    }
}

/// What the files of this user say of a server.
enum Left {
    Nothing,
    /// A run that is alive on this machine.
    AtWork(PathBuf),
    /// A run that died.
    Behind(Box<SavedGlobals>),
}

/// `own` is the directory of the run that asks: its lock is held by ourselves, and what an earlier process of the same
/// run left there is for us to put back.
fn left_behind(identity: &str, own: &Path) -> Left {
    let saved = state_file(identity).and_then(|path| read(&path)).filter(|saved| saved.identity == identity);
    match saved {
        None => Left::Nothing,
        Some(saved) if saved.run_directory != own && is_being_written(&saved.run_directory) => {
            Left::AtWork(saved.run_directory)
        }
        Some(saved) => Left::Behind(Box::new(saved)),
    }
}

/// Takes the lock, unless somebody else has it.
fn get_lock(control: &mut Control, identity: &str) -> Result<bool, Failure> {
    let got: Option<i64> = control.first(&format!("SELECT GET_LOCK('{LOCK_NAME}', 0)"))?;
    if got == Some(1) {
        held().insert(identity.to_owned(), control.id());
        let identity = identity.to_owned();
        // The lock goes with its connection: whatever takes the place of that one has to have it before anything else.
        control.when_reopened(Reopened(Arc::new(move |control, before| lock_again(control, &identity, before))));
        return Ok(true);
    }
    let holder: Option<u32> = control.first(&format!("SELECT IS_USED_LOCK('{LOCK_NAME}')"))?;
    Ok(holder.is_some() && held().get(identity).copied() == holder)
}

/// Takes the lock on the connection that takes the place of `before`.
fn lock_again(control: &mut Control, identity: &str, before: u32) -> Result<(), Failure> {
    let get = |control: &mut Control, seconds: u32| -> Result<bool, Failure> {
        Ok(control.first::<i64>(&format!("SELECT GET_LOCK('{LOCK_NAME}', {seconds})"))? == Some(1))
    };
    let mut got = get(control, 0)?;
    if !got && control.first::<u32>(&format!("SELECT IS_USED_LOCK('{LOCK_NAME}')"))? == Some(before) {
        // Ours, of a connection whose end the server has not noticed yet.
        let _ = control.execute(&format!("KILL {before}"));
        got = get(control, 2)?;
    }
    if got {
        held().insert(identity.to_owned(), control.id());
        return Ok(());
    }
    let holder_id: Option<u32> = control.first(&format!("SELECT IS_USED_LOCK('{LOCK_NAME}')"))?;
    if holder_id.is_some() && held().get(identity).copied() == holder_id {
        return Ok(());
    }
    Err(Failure::fatal(format!(
        "the connection that held the lock {LOCK_NAME:?} was cut, and another rowcliff run has it now{}: that one may change the \
         settings that this one measures under, so this one ends; what it changed stays saved for `rowcliff restore`",
        holder(control)
    )))
}

/// Who holds the lock, as far as this user may see it.
fn holder(control: &mut Control) -> String {
    let Ok(Some(id)) = control.first::<u32>(&format!("SELECT IS_USED_LOCK('{LOCK_NAME}')")) else {
        return String::new();
    };
    let who = control.session_words(id).unwrap_or_default();
    format!(" (session {id}{who} holds the lock {LOCK_NAME:?})")
}

/// Puts back what a run that died left changed on the server behind `control`, if there is such a thing and nobody is
/// at work on it. Gives what was done, as sentences. `own` is the directory of the run that asks.
///
/// # Errors
/// Something could not be put back.
pub fn restore_leftovers(control: &SharedControl, own: &Path) -> Result<Vec<String>, Failure> {
    let mut control = lock(control);
    let identity = identity(&mut control)?;
    match left_behind(&identity, own) {
        Left::Nothing => Ok(Vec::new()),
        Left::AtWork(directory) => {
            Ok(vec![format!("the run in {} is at work on it and puts back its own changes", directory.display())])
        }
        Left::Behind(saved) => {
            let got: Option<i64> = control.first(&format!("SELECT GET_LOCK('{LOCK_NAME}', 0)"))?;
            if got != Some(1) {
                return Ok(vec![format!(
                    "a run is at work on it{} and nothing is put back before it has ended",
                    holder(&mut control)
                )]);
            }
            let result = restore(&mut control, *saved);
            control.execute(&format!("DO RELEASE_LOCK('{LOCK_NAME}')"))?;
            result.map(Restored::sentences)
        }
    }
}

/// What a run that died left changed on the server behind `control`: names and values, for a command that only reads.
///
/// # Errors
/// The server does not answer.
pub fn leftovers_of(control: &SharedControl) -> Result<Vec<String>, Failure> {
    let identity = identity(&mut lock(control))?;
    Ok(match left_behind(&identity, Path::new("")) {
        Left::Behind(saved) => saved
            .changes
            .iter()
            .map(|change| {
                format!(
                    "an earlier run left {} at {} (it was {}); `rowcliff restore` or the next run puts it back",
                    change.name, change.set_to, change.original
                )
            })
            .collect(),
        _ => Vec::new(),
    })
}

/// Puts back what is saved in the directory of a run, on the server behind `control`; gives what was done. A server that
/// is another one is left alone.
///
/// # Errors
/// Something could not be put back.
pub fn restore_run(control: &SharedControl, run_directory: &Path) -> Result<Vec<String>, Failure> {
    let Some(saved) = read(&run_directory.join(GLOBALS_FILE)) else { return Ok(Vec::new()) };
    let mut control = lock(control);
    if identity(&mut control)? != saved.identity {
        return Ok(Vec::new());
    }
    restore(&mut control, saved).map(Restored::sentences)
}

/// Puts back what is left on the server behind `access`; gives what was done. With `expected` it has to be the server that
/// this was saved for.
///
/// # Errors
/// The server cannot be reached, is another one, or something could not be put back.
pub fn restore_server(access: Access, expected: Option<&SavedGlobals>) -> Result<Vec<String>, Failure> {
    let control = Arc::new(Mutex::new(Control::open(access)?));
    if let Some(expected) = expected {
        let found = identity(&mut lock(&control))?;
        if found != expected.identity {
            return Err(Failure::fatal(format!(
                "another server answers there now ({found}) than the one that was changed ({}); nothing is done",
                expected.identity
            )));
        }
    }
    restore_leftovers(&control, Path::new(""))
}

/// What runs that died left changed, from the files of this user, with the files.
pub fn leftovers() -> Vec<(PathBuf, SavedGlobals)> {
    let Some(Ok(entries)) = state_directory().map(std::fs::read_dir) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    paths.sort();
    paths.into_iter().filter_map(|path| Some((path.clone(), read(&path)?))).collect()
}

fn restore(control: &mut Control, mut saved: SavedGlobals) -> Result<Restored, Failure> {
    let mut restored = Restored::default();
    let mut failed: Vec<(Change, Failure)> = Vec::new();
    let restarted = is_restarted(control, &saved)?;
    // Backwards: a variable that was changed twice ends at its first value.
    for change in saved.changes.drain(..).rev() {
        let name = &change.name;
        let Some(now) = control.variable(name)? else {
            let list = if restarted { &mut restored.restarted } else { &mut restored.foreign };
            list.push(format!(
                "{name} is not there any more, so it cannot be {} again: was the plugin unloaded that brings it?",
                change.original
            ));
            continue;
        };
        let ours =
            change.in_force.as_ref().map_or_else(|| same_value(&now, &change.set_to), |in_force| *in_force == now);
        if now == change.original {
            continue;
        } else if restarted {
            restored
                .restarted
                .push(format!("{name} is left at {now}: the server was started anew since rowcliff set it"));
        } else if !ours {
            restored.foreign.push(format!(
                "{name} is left at {now}: somebody else changed it after rowcliff set {}",
                change.set_to
            ));
        } else {
            match put_back(control, name, &change.original) {
                Ok(()) => restored.done.push(format!("{name} is {} again", change.original)),
                Err(failure) => failed.push((change, failure)),
            }
        }
    }
    if failed.is_empty() {
        // Gone from the disk only now that nothing is left to do.
        if let Some(path) = state_file(&saved.identity) {
            let _ = std::fs::remove_file(path);
        }
        let _ = std::fs::remove_file(saved.run_directory.join(GLOBALS_FILE));
        return Ok(restored);
    }
    let messages: Vec<String> = failed.iter().map(|(_, failure)| failure.message.clone()).collect();
    let code = failed.first().and_then(|(_, failure)| failure.code);
    saved.changes = failed.into_iter().rev().map(|(change, _)| change).collect();
    // The files hold all of it already; this only spares what was put back.
    let directory = saved.run_directory.clone();
    let _ = write(&saved, &directory);
    Err(Failure { code, ..Failure::fatal(messages.join("; ")) })
}

fn put_back(control: &mut Control, name: &str, original: &str) -> Result<(), Failure> {
    let by_hand = format!("do it by hand: SET GLOBAL {name}={}", literal(original));
    set_global(control, name, original).map_err(|failure| {
        let hint = hint(&failure, name, control);
        Failure {
            message: format!("{name} could not be put back to {original} ({}{hint}); {by_hand}", failure.message),
            ..failure
        }
    })?;
    let after = effect(control, name, |now| now == original)?;
    if after == original {
        return Ok(());
    }
    Err(Failure::fatal(format!("{name} should be {original} again and the server has {after}; {by_hand}")))
}

/// The value of a variable, once it is as `wanted` or waiting for it has no use.
fn effect(control: &mut Control, name: &str, wanted: impl Fn(&str) -> bool) -> Result<String, Failure> {
    let read = |control: &mut Control| Ok(control.variable(name)?.unwrap_or_default());
    let first = read(control)?;
    if wanted(&first) {
        return Ok(first);
    }
    // A value that is neither the old one nor the new one is the server's answer; one that moves is on its way.
    let mut now = first;
    for _ in 0..EFFECT_WAITS {
        std::thread::sleep(EFFECT_WAIT);
        let next = read(control)?;
        if wanted(&next) || !takes_effect_later(name) {
            return Ok(next);
        }
        now = next;
    }
    Ok(now)
}

/// Variables whose new value shows only when work in the background is done.
fn takes_effect_later(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("buffer_pool_size") || name.ends_with("redo_log_capacity") || name.ends_with("block_cache_size")
}

fn set_global(control: &mut Control, name: &str, value: &str) -> Result<(), Failure> {
    let literal = literal(value);
    let quoted = format!("'{}'", escape(value));
    match control.execute_patiently(&format!("SET GLOBAL {name}={literal}")) {
        // A string variable that holds what looks like a number wants its quotes.
        Err(failure) if failure.code == Some(1232) && literal != quoted => {
            control.execute_patiently(&format!("SET GLOBAL {name}={quoted}"))
        }
        other => other,
    }
}

/// Numbers and the words of switches as they are, everything else quoted. Sizes with a unit are written out: SET takes no
/// `64M`.
fn literal(value: &str) -> String {
    let digits = value.strip_prefix('-').unwrap_or(value);
    if digits.starts_with(|c: char| c.is_ascii_digit()) && value.parse::<f64>().is_ok_and(f64::is_finite) {
        return value.to_owned();
    }
    if ["on", "off", "true", "false"].iter().any(|word| value.eq_ignore_ascii_case(word)) {
        return value.to_owned();
    }
    match crate::units::parse_bytes(value) {
        Ok(bytes) => bytes.to_string(),
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

fn hint(failure: &Failure, name: &str, control: &Control) -> String {
    match failure.code {
        Some(1227 | 1045 | 1044 | 1142) => format!(
            "; user {} needs {} ON *.*: grant it, or use --flush as-is (managed services often keep it to themselves)",
            control.access().place.user,
            privileges::to_set_global(control.flavour, &control.version, name).join(" or ")
        ),
        Some(1193) => "; this server has no such variable".into(),
        Some(1238) => "; it can only be set when the server starts: use a scratch server".into(),
        _ => String::new(),
    }
}

/// What tells one server from another and stays the same while it runs.
pub(super) fn identity(control: &mut Control) -> Result<String, Failure> {
    let names = ["server_uuid", "server_uid", "hostname", "port", "socket", "datadir", "server_id"];
    let variables = control.variables(names)?;
    let words: Vec<String> =
        names.iter().filter_map(|name| Some(format!("{name}={}", variables.get(*name)?))).collect();
    Ok(words.join(" "))
}

/// By the server's own clock, so that neither the distance between two clocks nor a step of ours counts.
pub(super) fn server_started_at(control: &mut Control) -> Result<i64, Failure> {
    let rows: Vec<(String, String)> = control.rows("SHOW GLOBAL STATUS LIKE 'Uptime'")?;
    let uptime: i64 = rows.first().and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let now: Option<i64> = control.first("SELECT UNIX_TIMESTAMP()")?;
    Ok(now.unwrap_or(0) - uptime)
}

fn is_restarted(control: &mut Control, saved: &SavedGlobals) -> Result<bool, Failure> {
    let started = server_started_at(control)?;
    Ok((started - saved.server_started_at).abs() > START_TOLERANCE_SECONDS
        || started > saved.server_started_at && control.id() < saved.connection)
}

fn state_file(identity: &str) -> Option<PathBuf> {
    // FNV-1a: a short stable name for the file; the identity itself stands in it and is compared.
    let hash = identity
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    Some(state_directory()?.join(format!("globals-{hash:016x}.json")))
}

fn write(saved: &SavedGlobals, run_directory: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::DirBuilderExt;
    let text = serde_json::to_vec_pretty(saved).map_err(|error| Failure::fatal(error.to_string()))?;
    let next = "so nothing is changed; set XDG_STATE_HOME to a directory that can be written";
    let state = state_file(&saved.identity).ok_or_else(|| {
        Failure::fatal(format!("there is no home directory where the value to put back could be saved, {next}"))
    })?;
    let write = || -> std::io::Result<()> {
        let directory = state.parent().unwrap_or(Path::new("/"));
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        replace_file(&state, &text)?;
        replace_file(&run_directory.join(GLOBALS_FILE), &text)
    };
    write().map_err(|error| {
        Failure::fatal(format!("{}: the value to put back cannot be saved ({error}), {next}", state.display()))
    })
}

fn read(path: &Path) -> Option<SavedGlobals> {
    let saved: SavedGlobals = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    // The names go into statements as they are.
    saved.changes.iter().all(|change| is_variable_name(&change.name)).then_some(saved)
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
        for word in ["nan", "inf", "1,2", "a=b", ""] {
            assert_eq!(literal(word), format!("'{word}'"));
        }
        assert_eq!((literal("-1").as_str(), literal("0.5").as_str()), ("-1", "0.5"));
    }
}
