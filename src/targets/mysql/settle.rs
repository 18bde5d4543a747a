//! Waiting for what a server does on its own: purge, compaction, dirty pages. Nothing here changes anything.

use std::time::{Duration, Instant};

use mysql::Row;

use super::control::{Control, Flavour, SharedControl, lock};
use crate::engine::{Engine, Pending};
use crate::targets::{Failure, Settled};

/// How often a settle step looks.
pub const PAUSE: Duration = Duration::from_millis(200);
/// Work that has not become less for so long is not going on: waiting longer would wait for nothing.
const STUCK: Duration = Duration::from_secs(30);

/// What the engines of earlier curves may still be busy with.
pub fn idle(engines: &[Engine], flavour: Flavour) -> Vec<Pending> {
    let mut list: Vec<Pending> = Vec::new();
    for pending in engines.iter().flat_map(|engine| &engine.idle) {
        if is_for(pending, flavour) && !list.iter().any(|known| known.query == pending.query) {
            list.push(pending.clone());
        }
    }
    list
}

/// Whether an entry is meant for servers of this flavour.
pub fn is_for(pending: &Pending, flavour: Flavour) -> bool {
    pending.flavour.as_ref().is_none_or(|word| word.eq_ignore_ascii_case(flavour.word()))
}

/// Waits until all of it is done, looking each `pause`. `None` when there was nothing to wait for.
pub fn wait(
    control: &SharedControl,
    pending: &[Pending],
    limit: Duration,
    pause: Duration,
    asked_to_end: &dyn Fn() -> bool,
) -> Option<Settled> {
    let started = Instant::now();
    let mut waited: Vec<&str> = Vec::new();
    let mut gave_up: Vec<String> = Vec::new();
    for pending in pending {
        let mut least = f64::INFINITY;
        let mut progress = Instant::now();
        while let Some(left) = left(&mut lock(control), pending) {
            if left <= pending.at_most {
                break;
            }
            if !waited.contains(&pending.what.as_str()) {
                waited.push(&pending.what);
            }
            if left < least {
                (least, progress) = (left, Instant::now());
            }
            let why = if started.elapsed() > limit {
                Some(format!("after {}", crate::units::human_seconds(limit.as_secs_f64())))
            } else if progress.elapsed() > STUCK {
                Some(format!("no less for {}", crate::units::human_seconds(STUCK.as_secs_f64())))
            } else {
                None
            };
            if let Some(why) = why {
                gave_up.push(format!("{} still at {left:.0} {why}", pending.what));
                break;
            }
            if asked_to_end() {
                break;
            }
            std::thread::sleep(pause);
        }
    }
    let what = waited.join(", ");
    (!what.is_empty()).then(|| Settled { what, gave_up: (!gave_up.is_empty()).then(|| gave_up.join("; ")) })
}

/// How much is left of it; `None` where that cannot be seen.
pub fn left(control: &mut Control, pending: &Pending) -> Option<f64> {
    let rows: Result<Vec<Row>, Failure> = control.rows(&pending.query);
    let row = rows.ok()?.into_iter().next()?;
    let last = row.unwrap().pop()?;
    mysql::from_value_opt::<Option<String>>(last).ok()??.trim().parse().ok()
}
