//! The variables that a cell wants: whether what the server has is what was asked for.

use super::control::{SharedControl, lock};
use super::globals::same_value;
use crate::targets::Failure;
use crate::units::{human_bytes, parse_bytes};

/// Servers round sizes to whole blocks, chunks and instances of their own. One within this share of what was asked for is the
/// same setting for a reader of the curve; beyond it, the curve would stand under a wrong label.
const ROUNDED_SHARE: u64 = 10;

/// Reads back variables that a server was started with. Gives what was rounded, as notes.
///
/// # Errors
/// The server has no such variable, or has it at another value.
pub fn confirm(control: &SharedControl, variables: &[(String, String)]) -> Result<Vec<String>, Failure> {
    let mut control = lock(control);
    let mut notes = Vec::new();
    for (name, asked) in variables {
        let Some(now) = control.variable(name)? else {
            return Err(Failure::fatal(format!(
                "this server took {name}={asked} and has no variable {name} to read it back from: the curve is not run \
                 under a wrong label (engines and plugins of other names?)"
            )));
        };
        notes.extend(accept(name, asked, &now)?);
    }
    Ok(notes)
}

/// Whether `now` is what was asked for, in the server's own spelling or rounded as the server does; with a note when it
/// is rounded.
///
/// # Errors
/// It is something else.
pub fn accept(name: &str, asked: &str, now: &str) -> Result<Option<String>, Failure> {
    if same_value(now, asked) {
        return Ok(None);
    }
    if let Some(got) = rounded(asked, now) {
        return Ok(Some(format!(
            "{name}={asked} is rounded to {} ({got} bytes) by the server, which is what is in force",
            human_bytes(got)
        )));
    }
    Err(Failure::fatal(format!(
        "{name}={asked} was asked for and the server then had {now}: the curve is not run under a wrong label"
    )))
}

/// The size that a server made of the one that was asked for, where it is near enough.
fn rounded(asked: &str, now: &str) -> Option<u64> {
    let bytes = |text: &str| text.parse::<u64>().ok().or_else(|| parse_bytes(text).ok());
    let (wanted, got) = (bytes(asked)?, bytes(now)?);
    // Below a mebibyte it may be a count.
    (wanted >= 1 << 20 && wanted.abs_diff(got) <= wanted / ROUNDED_SHARE).then_some(got)
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn a_size_is_rounded_by_a_tenth_at_most() {
        assert_eq!(rounded("10737418", "10485760"), Some(10_485_760));
        assert_eq!(rounded("100M", "112M"), None);
        assert_eq!(rounded("100M", "110M"), Some(110 << 20));
        assert_eq!(rounded("200M", "268435456"), None);
        assert_eq!(rounded("1000", "1001"), None);
        assert_eq!(rounded("ON", "OFF"), None);
    }
}
