//! The variables that a cell wants: whether what the server has is what was asked for.

use super::control::{Control, SharedControl, lock};
use super::globals::same_value;
use crate::target::Failure;

/// A difference that servers make by rounding to whole blocks, for sizes from 1 MiB on.
const BLOCK: u64 = 64 << 10;

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
        notes.extend(accept(&mut control, name, asked, &now)?);
    }
    Ok(notes)
}

/// Whether `now` is what was asked for, in the server's own spelling or rounded as the server does; with a note when it
/// is rounded.
///
/// # Errors
/// It is something else.
pub fn accept(control: &mut Control, name: &str, asked: &str, now: &str) -> Result<Option<String>, Failure> {
    if same_value(now, asked) {
        return Ok(None);
    }
    let bytes = |text: &str| text.parse::<u64>().ok().or_else(|| crate::units::parse_bytes(text).ok());
    if let (Some(wanted), Some(got)) = (bytes(asked), bytes(now))
        && wanted >= 1 << 20
        && wanted.abs_diff(got) < step(control, name)?.max(BLOCK)
    {
        return Ok(Some(format!("{name}={asked} is rounded to {got} by the server")));
    }
    Err(Failure::fatal(format!(
        "{name}={asked} was asked for and the server then had {now}: the curve is not run under a wrong label"
    )))
}

/// What the server rounds a size to: NAME_size comes in multiples of NAME_chunk_size times NAME_instances, where it has
/// these.
fn step(control: &mut Control, name: &str) -> Result<u64, Failure> {
    let Some(stem) = name.strip_suffix("_size") else { return Ok(0) };
    let (chunk, instances) = (format!("{stem}_chunk_size"), format!("{stem}_instances"));
    let found = control.variables([chunk.as_str(), instances.as_str()])?;
    let number = |name: &str| found.get(name).and_then(|value| value.parse::<u64>().ok());
    Ok(number(&chunk).unwrap_or(0).saturating_mul(number(&instances).unwrap_or(1)))
}
