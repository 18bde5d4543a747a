//! What a session has to be for rows to be what was sent, and what of a server's own settings stays as it is.
//!
//! Every session variable of MariaDB 10.11 and MySQL 9.7 stands in one of three lists: set at log-in because a meaning
//! depends on it ([`set::SET`]), checked and refused by name because a server that says so is not overruled
//! ([`REFUSED`]), or left as the server has it ([`left::LEFT`]): because it is what is measured, because nothing that
//! rowcliff sends depends on it, or because a log-in begins with it anew. What is named by `--vary`, `--flush`,
//! `--server-option` or `--server-config` is never set over ([`Named`]).

pub mod left;
pub mod named;
pub mod set;

pub use left::{LEFT, Left, RECORDED};
pub use named::{Named, conflict, conflict_of};
pub use set::{Need, SET, Setting, prepare, prepare_loading, read_whole};

/// Variables that are checked in each loading session: under another value than this one it is refused by name.
///
/// A server, or an administrator, that makes transactions read-only says that nothing is to be written there. Any session
/// could overrule it, and no session of rowcliff does. MariaDB before 11.1 and MySQL before 8.0 have the first name, later
/// ones the second, some of them both.
pub const REFUSED: [(&str, &str, &str); 2] =
    [("tx_read_only", "OFF", READ_ONLY), ("transaction_read_only", "OFF", READ_ONLY)];

const READ_ONLY: &str = "this server has its transactions read-only (a replica?) and is not overruled: load its primary, or \
                         switch it off there";

/// Whether a value of the server's is the refused one, in words; the variables as they were read.
pub fn refused<'a>(value: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let found = REFUSED.iter().find_map(|&(name, wanted, why)| Some((name, wanted, value(name)?, why)));
    let differs = |&(_, wanted, now, _): &(&str, &str, &str, &str)| !super::globals::same_value(now, wanted);
    found.filter(differs).map(|(name, wanted, now, why)| format!("{name} is {now}: {why} (SET GLOBAL {name}={wanted})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All names of the three lists.
    fn names() -> Vec<&'static str> {
        let set = set::SET.iter().map(|entry| entry.name);
        let left = left::LEFT.iter().flat_map(|left| left.names.iter().copied());
        set.chain(REFUSED.iter().map(|(name, ..)| *name)).chain(left).collect()
    }

    #[test]
    fn no_variable_stands_in_two_lists() {
        let mut all = names();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(all.iter().all(|name| name.to_ascii_lowercase() == *name));
    }

    #[test]
    fn a_read_only_server_is_refused_under_the_name_that_it_uses() {
        let of = |list: &'static [(&str, &str)]| {
            refused(move |name| list.iter().find(|(known, _)| *known == name).map(|(_, value)| *value))
        };
        assert_eq!(of(&[("tx_read_only", "OFF")]), None);
        assert!(of(&[("tx_read_only", "ON")]).unwrap().starts_with("tx_read_only is ON: "));
        assert!(of(&[("transaction_read_only", "1")]).unwrap().contains("SET GLOBAL transaction_read_only=OFF"));
        assert_eq!(of(&[]), None);
    }
}
