//! Sessions that their client has left: a server goes on with a statement whose client is no longer there.

use std::time::{Duration, Instant};

use super::control::{SharedControl, lock};
use crate::target::Failure;

/// How long the sessions of a lost client may take to end: their transactions are rolled back first.
const LIMIT: Duration = Duration::from_secs(600);

/// Ends sessions of the server behind `control`, but for `own`, and waits until they are gone.
///
/// # Errors
/// What the server said, or that they do not go away.
pub fn end(control: &SharedControl, ids: &[u64], own: &[u64]) -> Result<(), Failure> {
    let list = |ids: &[u64]| ids.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let mut sql = format!("SELECT ID FROM information_schema.PROCESSLIST WHERE ID IN ({})", list(ids));
    if ids.is_empty() {
        return Ok(());
    }
    if !own.is_empty() {
        sql.push_str(&format!(" AND ID NOT IN ({})", list(own)));
    }
    let deadline = Instant::now() + LIMIT;
    loop {
        let mut control = lock(control);
        let alive: Vec<u64> = control.rows(&sql)?;
        if alive.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(Failure::fatal(format!(
                "session {} does not end (a long rollback?); end it at the server",
                alive[0]
            )));
        }
        for id in alive {
            // Gone meanwhile is what is wanted.
            let _ = control.execute(&format!("KILL {id}"));
        }
        drop(control);
        std::thread::sleep(Duration::from_millis(100));
    }
}
