//! Sessions that their client has left: a server goes on with a statement whose client is no longer there.

use std::time::{Duration, Instant};

use super::control::{Control, SharedControl, lock, word};
use crate::targets::Failure;

/// How long the sessions of a lost client may take to end: their transactions are rolled back first.
const LIMIT: Duration = Duration::from_secs(600);

/// Which of these sessions are still there.
///
/// # Errors
/// What the server said.
pub fn alive(control: &mut Control, ids: &[u64]) -> Result<Vec<u64>, Failure> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let there: Vec<u64> = control.sessions()?.iter().filter_map(|row| word(row, "id").parse().ok()).collect();
    Ok(ids.iter().copied().filter(|id| there.contains(id)).collect())
}

/// Why a session of this run is still there: nobody else has to end it.
pub fn still_there(control: &mut Control, id: u64) -> String {
    let state = control.state_of(id).map_or_else(String::new, |state| format!(" ({state})"));
    format!(
        "session {id} of this run was ended and the server has not let go of it yet{state}: a long rollback, or a full disk, for \
         which it looks once a minute"
    )
}

/// Ends sessions of the server behind `control`, but for `own`, and waits until they are gone.
///
/// # Errors
/// What the server said, or that they do not go away.
pub fn end(control: &SharedControl, ids: &[u64], own: &[u64]) -> Result<(), Failure> {
    end_within(control, ids, own, LIMIT)
}

/// The same with another limit.
///
/// # Errors
/// As [`end`].
pub fn end_within(control: &SharedControl, ids: &[u64], own: &[u64], limit: Duration) -> Result<(), Failure> {
    let others: Vec<u64> = ids.iter().copied().filter(|id| !own.contains(id)).collect();
    let deadline = Instant::now() + limit;
    loop {
        let mut control = lock(control);
        let alive = alive(&mut control, &others)?;
        if alive.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(Failure::fatal(format!("{}; try again later", still_there(&mut control, alive[0]))));
        }
        for id in alive {
            // Gone meanwhile is what is wanted.
            let _ = control.execute(&format!("KILL {id}"));
        }
        drop(control);
        std::thread::sleep(Duration::from_millis(100));
    }
}
