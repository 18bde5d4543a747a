//! Passwords: a type that cannot be printed, and what hides those that were typed.

use std::fmt;

/// What stands where a password was.
const MASK: &str = "***";
/// Words that begin the URL of a server. People mistype what follows them, so any colons and slashes there count as one separator.
const SCHEMES: [&str; 4] = ["mysql", "mariadb", "postgresql", "postgres"];
/// Options of other clients that carry a password. rowcliff has none of them, but its refusal would quote them.
const PASSWORD_OPTIONS: [&str; 4] = ["--password", "--passwd", "--pass", "--pwd"];

/// A password: cannot be printed, serialised or compared by accident.
#[derive(Clone, Default)]
pub struct Secret(Option<String>);

impl Secret {
    pub fn new(password: Option<String>) -> Self {
        Self(password)
    }

    /// The password, for the driver and nothing else.
    pub fn reveal(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// This one, or where there is none the one of the environment (`ROWCLIFF_PASSWORD`, then `MYSQL_PWD`).
    #[must_use]
    pub fn or_environment(self) -> Self {
        if self.0.is_some() {
            return self;
        }
        Self(["ROWCLIFF_PASSWORD", "MYSQL_PWD"].iter().find_map(|name| std::env::var(name).ok()))
    }

    /// Whether there is one.
    pub fn is_some(&self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Secret(***)" } else { "Secret(none)" })
    }
}

/// The words of a command line as they may be shown.
pub fn mask_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut follows = false;
    let mut masked = Vec::new();
    for word in words {
        masked.push(if follows && !word.starts_with('-') { MASK.to_owned() } else { mask(word) });
        follows = PASSWORD_OPTIONS.contains(&word);
    }
    masked
}

/// Hides the password in a word: of a URL, of what looks like a mistyped one, or of another client's option.
///
/// A word is taken for a URL when it has `://`, begins as a target does, or has a colon before any slash: so `runs/a:b@c`
/// stays as it is. Hidden is what stands between the colon after the user and the last `@`; in a URL without an `@`,
/// everything behind the colon, unless that is a port.
pub fn mask(text: &str) -> String {
    if let Some(masked) = mask_option(text) {
        return masked;
    }
    let (prefix, rest) = text.split_at(address_start(text));
    let is_url = text.contains("://");
    let Some((user, behind)) = rest.split_once(':') else { return text.to_owned() };
    if user.contains(['/', '?', '#', '@', '[']) {
        // The colon belongs to a path, a port or an address of IPv6: a user is followed by his password at once.
        return text.to_owned();
    }
    match behind.rfind('@') {
        Some(at) => format!("{prefix}{user}:{MASK}{}", &behind[at..]),
        None if is_url && !are_hosts(rest) => format!("{prefix}{user}:{MASK}"),
        None => text.to_owned(),
    }
}

/// Whether an address without a user is one of hosts with their ports, and a path after them.
fn are_hosts(address: &str) -> bool {
    let Some((hosts, _path)) = address.split_once('/') else { return false };
    hosts.split(',').all(|host| match host.rsplit_once(':') {
        Some((_, port)) => port.parse::<u16>().is_ok() || host.ends_with(']'),
        None => true,
    })
}

/// `-pPASSWORD` and `--password=PASSWORD` as the stock clients take them.
fn mask_option(text: &str) -> Option<String> {
    if let Some((name, _)) = text.split_once('=')
        && PASSWORD_OPTIONS.contains(&name)
    {
        return Some(format!("{name}={MASK}"));
    }
    let short = text.strip_prefix("-p")?;
    (!short.is_empty()).then(|| format!("-p{MASK}"))
}

/// Where the user stands in what may be a target: behind `--option=` and the schemes.
fn address_start(text: &str) -> usize {
    let mut start = 0;
    if text.starts_with("--") {
        start = text.find('=').map_or(0, |at| at + 1);
    }
    // `sqlite:` and `scratch:` take a file, but people put a URL there.
    for files in ["sqlite:", "scratch:"] {
        if starts_with(&text[start..], files) {
            start += files.len();
        }
    }
    start + scheme_length(&text[start..])
}

/// The length of `scheme://`, or of a known scheme with whatever was typed in place of `://`.
fn scheme_length(text: &str) -> usize {
    if let Some(at) = text.find("://").filter(|&at| !text[..at].contains([':', '/', '?', '#', '@'])) {
        return at + 3;
    }
    let Some(scheme) = SCHEMES.iter().find(|scheme| starts_with(text, scheme)) else { return 0 };
    let behind = &text[scheme.len()..];
    match behind.len() - behind.trim_start_matches([':', '/']).len() {
        0 => 0,
        separator => scheme.len() + separator,
    }
}

fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_password_is_hidden_however_the_target_was_mistyped() {
        for (typed, shown) in [
            ("mysql://me:p@ss@h/d", "mysql://me:***@h/d"),
            ("--target=mysql://me:p/w?@h/d", "--target=mysql://me:***@h/d"),
            ("mysql//u:PASS@h/db", "mysql//u:***@h/db"),
            ("mysql:/u:PASS@h/db", "mysql:/u:***@h/db"),
            ("mysql:u:PASS@h/db", "mysql:u:***@h/db"),
            ("MySQL//u:PASS@h/db", "MySQL//u:***@h/db"),
            ("u:PASS@h/db", "u:***@h/db"),
            ("mysql://u:PASS", "mysql://u:***"),
            ("mysql://u:12345", "mysql://u:***"),
            ("mysql://u:PASS/db", "mysql://u:***"),
            ("mysql://:PASS@h/db", "mysql://:***@h/db"),
            ("sqlite:mysql://u:PASS@h/x", "sqlite:mysql://u:***@h/x"),
            ("scratch:mysql://u:PASS@h/x", "scratch:mysql://u:***@h/x"),
            ("--target=scratch:mysql://u:PASS@h/x", "--target=scratch:mysql://u:***@h/x"),
            ("oracle://u:PASS@h/x", "oracle://u:***@h/x"),
            ("mysql://me:p,w@a:1,b:2/d", "mysql://me:***@a:1,b:2/d"),
            ("-pPASS", "-p***"),
            ("--password=PASS", "--password=***"),
        ] {
            assert_eq!(mask(typed), shown, "{typed}");
            assert!(!shown.contains("PASS"));
        }
        let words = ["run", "--password", "PASS", "--out", "x", "--password", "--quiet"];
        assert_eq!(mask_words(words), ["run", "--password", "***", "--out", "x", "--password", "--quiet"]);
    }

    #[test]
    fn what_has_no_password_stays_as_it_is() {
        for text in [
            "runs/a:b@c",
            "/tmp/a:b@c",
            "./a:b@c",
            "sqlite:/tmp/a:b@c",
            "sqlite:runs/a:b@c",
            "scratch:/opt/my:sql@9/mysqld",
            "mysql://me@h/d",
            "mysql://me@h:3306/d",
            "mysql://h:3306/d",
            "mysql://a:3307,b,[::1]:3309/d",
            "mysql://me@[::1]:3306/d",
            "mysql://[::1]:3306/d",
            "mysql://me@localhost/d?socket=/tmp/a:b@c",
            "uuid4:binary16",
            "--password-file=/tmp/p",
            "--probe",
            "a title with: a colon",
            "",
        ] {
            assert_eq!(mask(text), text);
        }
    }

    proptest! {
        #[test]
        fn no_part_of_a_password_is_left(
            start in prop::sample::select(vec!["", "mysql://", "mysql//", "mysql:", "sqlite:mysql://", "scratch:mysql://", "--target=mysql://", "mariadb:/"]),
            password in "[A-Z#?/@:%,!]{0,6}QZQ[A-Z#?/@:%,!]{0,6}",
            end in prop::sample::select(vec!["h/db", "h:3306/db", "h", "[::1]:3306/db", "localhost/db?socket=/run/x.sock"]),
        ) {
            // `user://NAME@host` is a URL of a scheme called user, without a password.
            prop_assume!(!(start.is_empty() && password.starts_with("//")));
            let masked = mask(&format!("{start}user:{password}@{end}"));
            prop_assert!(!masked.contains("QZQ"), "{masked}");
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        let secret = Secret::new(Some("hunter2".into()));
        assert_eq!(format!("{secret:?}"), "Secret(***)");
        assert_eq!(secret.reveal(), Some("hunter2"));
    }
}
