//! Where rowcliff keeps what must outlive a run's own directory.

use std::path::PathBuf;

/// `$XDG_STATE_HOME/rowcliff`, by default `~/.local/state/rowcliff`. A place that others can write is never used: what
/// stands there is executed with this user's privileges.
pub fn state_directory() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    Some(base.or_else(|| Some(home?.join(".local/state")))?.join("rowcliff"))
}
