//! The words of the command line, with secrets taken out of sight.
//!
//! Every user of a machine can read the command line of every process. So when a word holds a URL with a password, the
//! program starts itself anew, before anything else, with the password masked; the word as it was typed goes through a
//! pipe that only this process has. What is left is the moment until then, and the shell's own history.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::secret::mask_words;

/// Tells the new program image where its words are: `PROCESS_ID:DESCRIPTOR`. Exec keeps the process id, so what a child
/// inherits means nothing to it.
const VARIABLE: &str = "ROWCLIFF_HANDED_OVER";
/// A pipe takes this much without a reader, on every system.
const PIPE_BYTES: usize = 4096;

/// The words of the command line.
#[derive(Debug, Clone, Default)]
pub struct Words {
    /// As typed.
    pub real: Vec<OsString>,
    /// As they may be printed and stored.
    pub shown: Vec<String>,
    /// Why a secret could not be hidden.
    pub problem: Option<String>,
}

impl Words {
    /// The words of this process. Does not return where the program starts itself anew.
    pub fn of_process() -> Self {
        let mut real: Vec<OsString> = std::env::args_os().collect();
        let mut problem = None;
        match handed_over() {
            Some(Ok(hidden)) => put_back(&mut real, &hidden),
            Some(Err(error)) => problem = Some(format!("the password in the URL was lost on the way: {error}")),
            None => {
                let shown = masked(&real);
                let hidden = pack(&real, &shown);
                if !hidden.is_empty() {
                    let error = start_anew(&real[0], &shown, &hidden);
                    problem = Some(format!(
                        "the password in the URL can be seen in the list of processes ({error}); --password-file keeps it out"
                    ));
                }
            }
        }
        let shown = masked(&real);
        Self { real, shown, problem }
    }
}

impl Words {
    /// A line that quotes a word with a secret, with the word as it may be shown.
    pub fn hide(&self, line: &str) -> String {
        let mut line = line.to_owned();
        for (real, shown) in self.real.iter().zip(&self.shown) {
            let real = real.to_string_lossy();
            if *shown == real {
                continue;
            }
            line = line.replace(&*real, shown);
            // Of `--option=VALUE` messages quote the value alone.
            if let (true, Some((_, real)), Some((_, shown))) =
                (real.starts_with("--"), real.split_once('='), shown.split_once('='))
            {
                line = line.replace(real, shown);
            }
        }
        line
    }
}

fn masked(words: &[OsString]) -> Vec<String> {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    mask_words(words.iter().map(|word| &**word))
}

/// The words that differ from what is shown: number, NUL, word, NUL. No word of a command line holds a NUL.
fn pack(real: &[OsString], shown: &[String]) -> Vec<u8> {
    let mut packed = Vec::new();
    for (index, (word, shown)) in real.iter().zip(shown).enumerate() {
        if *shown != word.to_string_lossy() {
            packed.extend_from_slice(index.to_string().as_bytes());
            packed.push(0);
            packed.extend_from_slice(word.as_bytes());
            packed.push(0);
        }
    }
    packed
}

fn put_back(words: &mut [OsString], packed: &[u8]) {
    let parts: Vec<&[u8]> = packed.split(|&byte| byte == 0).collect();
    for pair in parts.chunks_exact(2) {
        let index = std::str::from_utf8(pair[0]).ok().and_then(|text| text.parse::<usize>().ok());
        if let Some(word) = index.and_then(|index| words.get_mut(index)) {
            *word = OsString::from_vec(pair[1].to_vec());
        }
    }
}

/// Replaces this program image by a new one. Comes back only with an error.
fn start_anew(name: &OsString, shown: &[String], hidden: &[u8]) -> io::Error {
    let start = || -> io::Result<io::Error> {
        if hidden.len() > PIPE_BYTES {
            return Err(io::Error::other("the URLs are too long to be handed over"));
        }
        let (reader, mut writer) = io::pipe()?;
        writer.write_all(hidden)?;
        // Closed, so that the reader finds an end. The reading end alone outlives exec.
        drop(writer);
        rustix::io::fcntl_setfd(&reader, rustix::io::FdFlags::empty())?;
        let variable = format!("{}:{}", std::process::id(), reader.as_raw_fd());
        Ok(Command::new(std::env::current_exe()?).arg0(name).args(&shown[1..]).env(VARIABLE, variable).exec())
    };
    start().unwrap_or_else(|error| error)
}

fn handed_over() -> Option<io::Result<Vec<u8>>> {
    let variable = std::env::var(VARIABLE).ok()?;
    let (process, descriptor) = variable.split_once(':')?;
    if process.parse() != Ok(std::process::id()) {
        return None;
    }
    let descriptor: u32 = descriptor.parse().ok()?;
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        std::fs::File::open(format!("/dev/fd/{descriptor}"))?.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    Some(read())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_quotes_a_word_hides_its_password() {
        let real: Vec<OsString> = ["show", "u:PASS@h/d", "--out=mysql://u:PASS@h/d"].map(OsString::from).to_vec();
        let words = Words { shown: masked(&real), real, problem: None };
        let line = words.hide("u:PASS@h/d: no such file; mysql://u:PASS@h/d/run.json: no such file; PASS is a word");
        assert_eq!(line, "u:***@h/d: no such file; mysql://u:***@h/d/run.json: no such file; PASS is a word");
    }

    #[test]
    fn words_with_a_password_are_packed_and_put_back_and_no_others() {
        let real: Vec<OsString> =
            ["rowcliff", "run", "--target", "mysql://me:p%40ss@h/d", "--rows", "1M", "--target=mysql://me:x@h/d"]
                .map(OsString::from)
                .to_vec();
        let shown = masked(&real);
        assert_eq!(shown[3], "mysql://me:***@h/d");
        let packed = pack(&real, &shown);
        assert!(!packed.windows(4).any(|part| part == b"rows"));
        let mut words: Vec<OsString> = shown.iter().map(OsString::from).collect();
        put_back(&mut words, &packed);
        assert_eq!(words, real);
        let plain: Vec<OsString> = ["rowcliff", "run", "--target", "mysql://me@h/d"].map(OsString::from).to_vec();
        assert!(pack(&plain, &masked(&plain)).is_empty());
    }
}
