//! Sessions that change a table, as a journal keeps them: what a killed rowcliff leaves at work is found again by its number.

use serde::{Deserialize, Serialize};

/// Two readings of one server's start differ by this much at most.
const SAME_START_SECONDS: i64 = 2;

/// Sessions on one server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSessions {
    /// Which endpoint of a cluster it is; `None` where there is one server only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// When the server was started, by its own clock: after a restart the numbers come again.
    pub server_started_at: Option<i64>,
    /// The server's numbers of the sessions.
    pub ids: Vec<u64>,
}

impl ServerSessions {
    /// Those that may still be there on a server that was started at `started_at`, where `own` are the numbers of this
    /// process, the newest there are.
    pub fn left(&self, started_at: Option<i64>, own: &[u64]) -> Vec<u64> {
        let is_same = match (started_at, self.server_started_at) {
            (Some(now), Some(then)) => (now - then).abs() <= SAME_START_SECONDS,
            _ => false,
        };
        if !is_same {
            return Vec::new();
        }
        // Numbers only grow while a server runs: ours, which is new, is above all of its own.
        let newest = own.iter().max().copied().unwrap_or(u64::MAX);
        self.ids.iter().copied().filter(|id| *id < newest && !own.contains(id)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_older_numbers_of_the_same_start_are_left() {
        let then = ServerSessions { endpoint: None, server_started_at: Some(100), ids: vec![5, 7, 8, 9] };
        assert_eq!(then.left(Some(101), &[7, 9]), [5, 8]);
        assert!(then.left(Some(103), &[7, 9]).is_empty(), "it was started anew");
        assert!(then.left(None, &[9]).is_empty());
        assert_eq!(then.left(Some(100), &[]), [5, 7, 8, 9]);
    }
}
