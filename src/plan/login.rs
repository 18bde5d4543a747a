//! How to log in at the servers of a plan: from flags, the environment, option files and the terminal.

use std::io::IsTerminal;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::option_file::OptionFile;
use super::{Secret, ServerPlace};
use crate::cli::access::{AccessArgs, SslWord};
use crate::error::Error;

/// A password file is one line; more than this is another kind of file.
const LONGEST_PASSWORD_FILE: u64 = 64 * 1024;

/// Everything about logging in that does not stand in a `--target`.
#[derive(Debug, Clone, Default)]
pub struct Login {
    /// Completes what a URL leaves out.
    pub options: OptionFile,
    /// How connections are protected.
    pub protection: Protection,
    /// What a person should know.
    pub notes: Vec<String>,
    from_file: Secret,
    ask: bool,
}

/// How a connection is protected on its way, as the stock clients name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SslMode {
    /// No TLS.
    Disabled,
    /// TLS where the server offers it; no certificate is checked. Not on a Unix socket.
    #[default]
    Preferred,
    /// TLS or nothing; no certificate is checked.
    Required,
    /// TLS, and the certificate has to be signed by the authority of `--ssl-ca`.
    VerifyCa,
    /// As `VerifyCa`, and it has to bear the name of the host.
    VerifyIdentity,
}

impl SslMode {
    /// Every mode.
    pub const ALL: [Self; 5] = [Self::Disabled, Self::Preferred, Self::Required, Self::VerifyCa, Self::VerifyIdentity];

    /// The word of the flag.
    pub fn word(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Preferred => "preferred",
            Self::Required => "required",
            Self::VerifyCa => "verify-ca",
            Self::VerifyIdentity => "verify-identity",
        }
    }
}

/// How connections over TCP are protected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Protection {
    /// Whether TLS is used, and what is checked.
    pub ssl_mode: SslMode,
    /// The authorities that may have signed the server's certificate.
    pub ssl_ca: Option<PathBuf>,
}

impl Login {
    /// Reads the files that are named, and `~/.my.cnf`.
    ///
    /// # Errors
    /// A file cannot be read, or the words contradict each other.
    pub fn read(args: &AccessArgs) -> Result<Self, Error> {
        let options = OptionFile::read(args.defaults_file.as_deref()).map_err(|(path, cause)| {
            Error::file(path, cause, "name an option file of the stock clients with --defaults-file")
        })?;
        let mut notes = options.notes.clone();
        let from_file = match &args.password_file {
            Some(path) => Secret::new(Some(password_of(path, &mut notes)?)),
            None => Secret::default(),
        };
        let protection = protection(args, &options)?;
        Ok(Self { options, protection, notes, from_file, ask: args.ask_password })
    }

    /// The password for a server: the one in its URL, of `--password-file`, from the prompt of `--ask-password`, of the
    /// environment, of an option file; the first that is there. What was typed for this command comes before what is
    /// always there.
    ///
    /// # Errors
    /// `--ask-password` without a terminal.
    pub fn secret(&self, in_url: Secret, place: &ServerPlace) -> Result<Secret, Error> {
        if in_url.is_some() {
            return Ok(in_url);
        }
        if self.from_file.is_some() {
            return Ok(self.from_file.clone());
        }
        if self.ask {
            return prompt(place);
        }
        let environment = Secret::default().or_environment();
        if environment.is_some() {
            return Ok(environment);
        }
        match &self.options.password {
            // `password` without a value asks for a prompt, as with the stock clients; where nobody can be asked the
            // server decides.
            Some(secret) if !secret.is_some() && std::io::stdin().is_terminal() => prompt(place),
            Some(secret) => Ok(secret.clone()),
            None => Ok(Secret::default()),
        }
    }
}

fn prompt(place: &ServerPlace) -> Result<Secret, Error> {
    if !std::io::stdin().is_terminal() {
        return Err(Error::usage(
            "--ask-password",
            "stdin is not a terminal, so there is nobody to ask",
            "use --password-file FILE, ROWCLIFF_PASSWORD or an option file",
        ));
    }
    let typed = rpassword::prompt_password(format!("Password for {}: ", place.url()))
        .map_err(|error| Error::usage("--ask-password", error.to_string(), "use --password-file FILE instead"))?;
    Ok(Secret::new(Some(typed)))
}

fn password_of(path: &Path, notes: &mut Vec<String>) -> Result<String, Error> {
    let next = "--password-file takes a file whose first line is the password";
    let facts = std::fs::metadata(path).map_err(|error| Error::file(path, error, next))?;
    if facts.is_file() && facts.len() > LONGEST_PASSWORD_FILE {
        return Err(Error::file(path, "this is too large for a password", next));
    }
    if facts.is_file() && facts.mode() & 0o004 != 0 {
        notes.push(format!("{} can be read by every user of this machine: chmod 600 {0}", path.display()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| Error::file(path, error, next))?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(line.to_owned()),
        _ => Err(Error::file(path, "its first line is empty", next)),
    }
}

fn protection(args: &AccessArgs, options: &OptionFile) -> Result<Protection, Error> {
    let ssl_ca = args.ssl_ca.clone().or_else(|| options.ssl_ca.clone());
    if let Some(path) = &ssl_ca {
        // The driver reads it at every connection: a bad path is better known now.
        std::fs::File::open(path)
            .map_err(|error| Error::file(path, error, "--ssl-ca takes a file of certificates in PEM"))?;
    }
    let from_options = || {
        let word = options.ssl_mode.as_deref()?.to_ascii_lowercase().replace('_', "-");
        SslMode::ALL.into_iter().find(|mode| mode.word() == word)
    };
    let ssl_mode = match args.ssl_mode {
        Some(SslWord::Disabled) => SslMode::Disabled,
        Some(SslWord::Preferred) => SslMode::Preferred,
        Some(SslWord::Required) => SslMode::Required,
        Some(SslWord::VerifyCa) => SslMode::VerifyCa,
        Some(SslWord::VerifyIdentity) => SslMode::VerifyIdentity,
        // As with the stock clients: whoever names an authority wants it checked.
        None => from_options().unwrap_or(if args.ssl_ca.is_some() { SslMode::VerifyCa } else { SslMode::default() }),
    };
    if ssl_mode == SslMode::VerifyCa && ssl_ca.is_none() {
        return Err(Error::usage(
            "--ssl-mode verify-ca",
            "without --ssl-ca a certificate of any public authority for any host would pass",
            "name the authority's certificate with --ssl-ca FILE, or use --ssl-mode verify-identity",
        ));
    }
    Ok(Protection { ssl_mode, ssl_ca })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> ServerPlace {
        ServerPlace {
            user: "u".into(),
            host: "h".into(),
            port: 1,
            socket: None,
            database: "d".into(),
            others: Vec::new(),
        }
    }

    #[test]
    fn what_was_typed_comes_before_files_that_are_always_there() {
        let directory = tempfile::tempdir().unwrap();
        let (password, options) = (directory.path().join("p"), directory.path().join("o"));
        std::fs::write(&password, "from file\nsecond line\n").unwrap();
        std::fs::write(&options, "[client]\npassword=from options\n").unwrap();
        let args = AccessArgs { defaults_file: Some(options), ..AccessArgs::default() };
        let login = Login::read(&args).unwrap();
        assert_eq!(login.options.password.as_ref().unwrap().reveal(), Some("from options"));
        // Whatever the umask of whoever runs the test.
        std::fs::set_permissions(&password, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        let args = AccessArgs { password_file: Some(password), ..args };
        let login = Login::read(&args).unwrap();
        assert_eq!(login.secret(Secret::default(), &place()).unwrap().reveal(), Some("from file"));
        let in_url = Secret::new(Some("from url".into()));
        assert_eq!(login.secret(in_url, &place()).unwrap().reveal(), Some("from url"));
        assert!(login.notes.iter().any(|note| note.contains("chmod 600")), "{:?}", login.notes);
        for secret in ["from file", "from options", "from url"] {
            assert!(!format!("{login:?}").contains(secret), "{login:?}");
        }
    }

    #[test]
    fn an_authority_is_checked_where_one_is_named_and_needed_where_it_is_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let ca = directory.path().join("ca.pem");
        std::fs::write(&ca, "").unwrap();
        let empty = directory.path().join("o");
        std::fs::write(&empty, "").unwrap();
        let base = AccessArgs { defaults_file: Some(empty), ..AccessArgs::default() };
        let named = AccessArgs { ssl_ca: Some(ca), ..base.clone() };
        assert_eq!(Login::read(&named).unwrap().protection.ssl_mode, SslMode::VerifyCa);
        let asked = AccessArgs { ssl_mode: Some(SslWord::VerifyCa), ..base.clone() };
        assert!(Login::read(&asked).unwrap_err().to_string().contains("--ssl-ca"));
        assert_eq!(Login::read(&base).unwrap().protection.ssl_mode, SslMode::Preferred);
    }
}
