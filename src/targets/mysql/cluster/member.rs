//! One endpoint of a cluster as the table of a curve uses it, and how its sessions are numbered among those of the others.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::session::Tally;
use super::{Endpoint, OWN_VARIABLES};
use crate::targets::Canceller;
use crate::targets::mysql::connect::Access;
use crate::targets::mysql::control::SharedControl;
use crate::targets::mysql::table::Work;

/// The server's own number of a session takes the lower half of the number that the table gives it.
const SERVER_BITS: u32 = 32;

/// One endpoint, as a curve uses it.
pub struct Member {
    /// Host and port, or the socket.
    pub name: String,
    /// How to log in there.
    pub access: Access,
    /// Its control connection, where there ever was one.
    pub control: Option<SharedControl>,
    /// Over which its rows are counted.
    pub work: Work,
    /// What its loading connections did.
    pub tally: Arc<Tally>,
    /// Rows counted through it.
    pub counted: Option<u64>,
    /// Why it was given up, if it was.
    pub lost: Option<String>,
    /// What ends its loading connections.
    pub cancellers: Vec<Box<dyn Canceller>>,
    /// How often in a row it was asked for a sign of life and gave none.
    pub silences: u32,
}

impl Member {
    /// As it is when a curve begins.
    pub fn new(endpoint: &Endpoint) -> Self {
        Self {
            name: endpoint.name.clone(),
            access: endpoint.access.clone(),
            control: endpoint.control.clone().ok(),
            work: Work::new(),
            tally: Arc::default(),
            counted: None,
            lost: endpoint.control.as_ref().err().cloned(),
            cancellers: Vec::new(),
            silences: 0,
        }
    }

    /// Its control connection, unless it was given up.
    pub fn control(&self) -> Option<&SharedControl> {
        self.control.as_ref().filter(|_| self.lost.is_none())
    }
}

/// The number of a session among those of the table. The protocol gives the servers' own numbers 32 bits.
pub fn number(endpoint: usize, id: u64) -> u64 {
    (endpoint as u64) << SERVER_BITS | id & ((1 << SERVER_BITS) - 1)
}

/// The endpoint and the server's own number.
pub fn apart(number: u64) -> (usize, u64) {
    (usize::try_from(number >> SERVER_BITS).unwrap_or(usize::MAX), number & ((1 << SERVER_BITS) - 1))
}

/// Where the variables of another server differ from those recorded.
pub fn differences(recorded: &BTreeMap<String, String>, there: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let counts = |name: &str| !OWN_VARIABLES.contains(&name);
    recorded
        .iter()
        .filter(|(name, _)| counts(name))
        .filter_map(|(name, value)| Some((name.clone(), there.get(name).filter(|other| *other != value)?.clone())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_known_by_endpoint_and_number() {
        for (endpoint, id) in [(0, 7), (2, 7), (1, u64::from(u32::MAX))] {
            assert_eq!(apart(number(endpoint, id)), (endpoint, id));
        }
        assert_eq!(number(0, 7), 7);
    }

    #[test]
    fn servers_differ_in_what_is_not_their_own() {
        let of = |pairs: &[(&str, &str)]| pairs.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())).collect();
        let recorded: BTreeMap<String, String> = of(&[("datadir", "/a"), ("flush", "1"), ("gone", "1")]);
        let there: BTreeMap<String, String> = of(&[("datadir", "/b"), ("flush", "2")]);
        assert_eq!(differences(&recorded, &there), [("flush".to_owned(), "2".to_owned())]);
    }
}
