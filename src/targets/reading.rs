//! What a target can tell of a load beside the rows it took: its counters, its process, the size of its table.

use std::collections::BTreeMap;
use std::time::Duration;

/// One figure of a target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// Counts up since the target started: what matters is how far it moved.
    Total(f64),
    /// How it is now: what matters is the value itself.
    Level(f64),
}

/// Figures by name, in lower case.
pub type Reading = BTreeMap<String, Figure>;

/// The process in which the target does its work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ServerProcess {
    /// Another machine's, or one that cannot be found.
    #[default]
    Unknown,
    /// Those of several servers, which are not watched.
    Several,
    /// A process of this machine.
    Local(u32),
    /// rowcliff's own: an embedded database.
    Embedded,
}

/// Sizes of a table, as far as they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableSize {
    /// Data; where the two cannot be told apart, all of it.
    pub data_bytes: Option<u64>,
    /// Secondary indexes, where they are known apart.
    pub index_bytes: Option<u64>,
}

/// How far a counter moved; `None` where it went backwards, which no count does.
pub fn moved(before: f64, after: f64) -> Option<f64> {
    let delta = after - before;
    (delta.is_finite() && delta >= 0.0).then_some(delta)
}

/// The same for times.
pub fn time_moved(before: Duration, after: Duration) -> Option<Duration> {
    after.checked_sub(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_goes_backwards_is_unknown() {
        assert_eq!(moved(5.0, 7.0), Some(2.0));
        assert_eq!(moved(5.0, 5.0), Some(0.0));
        assert_eq!(moved(7.0, 5.0), None);
        assert_eq!(moved(f64::NAN, 5.0), None);
        assert_eq!(time_moved(Duration::from_secs(3), Duration::from_secs(2)), None);
    }
}
