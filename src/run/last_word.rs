//! Why a run ended that an error ended. It stands in the state directory of the user: the error may be that the run's own directory takes
//! nothing more.

use std::path::PathBuf;

use crate::targets::state::state_directory;

fn file(run_id: &str) -> Option<PathBuf> {
    // The identifier was read from a file: it must not lead elsewhere.
    let harmless = !run_id.is_empty() && run_id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    Some(state_directory().filter(|_| harmless)?.join(format!("ended-{run_id}.txt")))
}

/// Leaves the reason, for every error that ends a run. A run that has ended cannot be helped by an error about that.
pub fn leave_why_it_failed(run_id: &str, why: &str) {
    use std::os::unix::fs::DirBuilderExt;
    let Some(path) = file(run_id) else { return };
    if let Some(directory) = path.parent() {
        let _ = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    }
    let _ = std::fs::write(path, why);
}

/// The reason that was left.
pub fn of(run_id: &str) -> Option<String> {
    std::fs::read_to_string(file(run_id)?).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Takes it back: the run goes on.
pub fn forget(run_id: &str) {
    if let Some(path) = file(run_id) {
        let _ = std::fs::remove_file(path);
    }
}
