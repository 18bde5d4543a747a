//! Option files of the stock clients (`~/.my.cnf`): who to log in as, and where.

use std::io;
use std::path::{Path, PathBuf};

use super::Secret;

/// Groups that are read; where both set an option, the later one in the file wins, as with the stock clients.
const GROUPS: [&str; 2] = ["client", "rowcliff"];
/// `!include` in a file that is itself included, and so on.
const DEEPEST_INCLUDE: u32 = 10;

/// What an option file says about logging in.
#[derive(Debug, Clone, Default)]
pub struct OptionFile {
    pub user: Option<String>,
    /// Password. `Some` without a value where the file asks for a prompt (`password` alone).
    pub password: Option<Secret>,
    pub host: Option<String>,
    pub port: Option<u16>,
    pub socket: Option<PathBuf>,
    /// `ssl-mode`, as written.
    pub ssl_mode: Option<String>,
    /// `ssl-ca`.
    pub ssl_ca: Option<PathBuf>,
    /// What a person should know.
    pub notes: Vec<String>,
}

impl OptionFile {
    /// Reads the file that was named, which has to be there, or `.my.cnf` of the home directory, which need not.
    ///
    /// # Errors
    /// The path and why it cannot be read or understood, without any value in it.
    pub fn read(named: Option<&Path>) -> Result<Self, (PathBuf, String)> {
        let mut options = Self::default();
        match named {
            Some(path) => options.add_file(path, 0).map_err(|error| (path.to_owned(), error.to_string()))?,
            None => {
                let Some(home) = std::env::var_os("HOME") else { return Ok(options) };
                let path = Path::new(&home).join(".my.cnf");
                match options.add_file(&path, 0) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    other => other.map_err(|error| (path, error.to_string()))?,
                }
            }
        }
        Ok(options)
    }

    fn add_file(&mut self, path: &Path, depth: u32) -> io::Result<()> {
        let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidData, text);
        if depth > DEEPEST_INCLUDE {
            return Err(invalid("!include goes too deep".into()));
        }
        if writable_by_everyone(path)? {
            // The stock clients do the same: anybody could have written it.
            self.notes.push(format!("option file {} can be written by everybody and is ignored", path.display()));
            return Ok(());
        }
        let text = std::fs::read_to_string(path)?;
        let beside = |name: &str| path.parent().unwrap_or(Path::new("")).join(name);
        let mut in_group = false;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            let at = |what: &str| invalid(format!("line {}: {what}", index + 1));
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(directory) = line.strip_prefix("!includedir") {
                for file in files_of(&beside(directory.trim()))? {
                    self.add_file(&file, depth + 1)?;
                }
            } else if let Some(file) = line.strip_prefix("!include") {
                self.add_file(&beside(file.trim()), depth + 1)?;
            } else if let Some(group) = line.strip_prefix('[') {
                let (name, _) = group.split_once(']').ok_or_else(|| at("a group without its ]"))?;
                in_group = GROUPS.contains(&name.trim());
            } else if in_group {
                let line = without_comment(line);
                let (name, value) = match line.split_once('=') {
                    Some((name, value)) => (name, Some(unquoted(value))),
                    None => (line, None),
                };
                self.set(&name.trim().to_ascii_lowercase().replace('_', "-"), value).map_err(|what| at(&what))?;
            }
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: Option<String>) -> Result<(), String> {
        let name = name.strip_prefix("loose-").unwrap_or(name);
        if name == "password" {
            self.password = Some(Secret::new(value));
            return Ok(());
        }
        let known = ["user", "host", "port", "socket", "ssl-mode", "ssl-ca"];
        if !known.contains(&name) {
            // Options of other clients: not ours to judge.
            return Ok(());
        }
        let value = value.filter(|value| !value.is_empty());
        match name {
            "user" => self.user = value,
            "host" => self.host = value,
            "socket" => self.socket = value.map(PathBuf::from),
            "ssl-mode" => self.ssl_mode = value,
            "ssl-ca" => self.ssl_ca = value.map(PathBuf::from),
            _ => {
                self.port =
                    value.map(|value| value.parse().map_err(|_| format!("port={value} is not a port"))).transpose()?;
            }
        }
        Ok(())
    }
}

fn writable_by_everyone(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let facts = std::fs::metadata(path)?;
    Ok(facts.is_file() && facts.mode() & 0o002 != 0)
}

fn files_of(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "cnf"))
        .collect();
    files.sort();
    Ok(files)
}

/// Cuts a `#` comment off. Inside quotes `#` is a character, and there a backslash protects a quote.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        if (c == '\'' || c == '"') && !escaped {
            quote = match quote {
                None => Some(c),
                Some(open) if open == c => None,
                other => other,
            };
        }
        if quote.is_none() && c == '#' {
            return line[..at].trim_end();
        }
        escaped = quote.is_some() && c == '\\' && !escaped;
    }
    line
}

/// The value: without the space around it, without quotes around all of it, and with its escapes read.
fn unquoted(text: &str) -> String {
    let text = text.trim();
    let inner = ['\'', '"'].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(text);
    let mut value = String::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            value.push(c);
            continue;
        }
        match rest.next() {
            Some('n') => value.push('\n'),
            Some('t') => value.push('\t'),
            Some('r') => value.push('\r'),
            Some('b') => value.push('\u{8}'),
            Some('s') => value.push(' '),
            Some(c @ ('"' | '\'' | '\\')) => value.push(c),
            // An unknown escape is no escape.
            Some(other) => value.extend(['\\', other]),
            None => value.push('\\'),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> OptionFile {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("my.cnf");
        std::fs::write(&path, text).unwrap();
        OptionFile::read(Some(&path)).unwrap()
    }

    fn password(text: &str) -> String {
        let options = read(&format!("[client]\npassword{text}\n"));
        options.password.unwrap().reveal().unwrap_or("(prompt)").to_owned()
    }

    #[test]
    fn only_our_groups_are_read_and_the_later_one_wins() {
        let options = read(
            "# a comment\n[mysqld]\nuser=mysql\nport=1\n[client]\nuser = me\nhost=db\nport=3307\n; another\n\
             no-beep\n[rowcliff]\nuser=loader\nsocket=/run/x.sock\nssl_mode=REQUIRED\n[mysqldump]\nuser=no\n",
        );
        assert_eq!(options.user.as_deref(), Some("loader"));
        assert_eq!((options.host.as_deref(), options.port), (Some("db"), Some(3307)));
        assert_eq!(options.socket, Some("/run/x.sock".into()));
        assert_eq!(options.ssl_mode.as_deref(), Some("REQUIRED"));
        assert!(options.password.is_none());
    }

    #[test]
    fn values_are_quoted_escaped_and_commented_as_the_stock_clients_have_it() {
        for (written, meant) in [
            ("=plain", "plain"),
            (" = spaced out ", "spaced out"),
            ("=\"with # in it\"", "with # in it"),
            ("='with # in it' # a comment", "with # in it"),
            ("=cut#here", "cut"),
            ("=\"a\\\"b\"", "a\"b"),
            ("=a\\sb\\\\c\\x", "a b\\c\\x"),
            ("=p=q", "p=q"),
            ("=\"half", "\"half"),
            ("=", ""),
            ("", "(prompt)"),
        ] {
            assert_eq!(password(written), meant, "password{written}");
        }
    }

    #[test]
    fn included_files_and_directories_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("my.cnf");
        std::fs::create_dir(directory.path().join("d")).unwrap();
        std::fs::write(directory.path().join("d/a.cnf"), "[client]\nuser=a\n").unwrap();
        std::fs::write(directory.path().join("d/b.txt"), "[client]\nuser=b\n").unwrap();
        std::fs::write(directory.path().join("one"), "[client]\nhost=one\n").unwrap();
        std::fs::write(&path, "!includedir d\n!include one\n").unwrap();
        let options = OptionFile::read(Some(&path)).unwrap();
        assert_eq!((options.user.as_deref(), options.host.as_deref()), (Some("a"), Some("one")));
        std::fs::write(&path, "!include my.cnf\n").unwrap();
        assert!(OptionFile::read(Some(&path)).unwrap_err().1.contains("too deep"));
    }

    #[test]
    fn a_file_that_everybody_can_write_is_ignored_and_said() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("my.cnf");
        std::fs::write(&path, "[client]\nuser=evil\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
        let options = OptionFile::read(Some(&path)).unwrap();
        assert!(options.user.is_none() && options.notes[0].contains("ignored"), "{options:?}");
    }

    #[test]
    fn what_cannot_be_read_says_where_and_no_value() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("my.cnf");
        assert_eq!(OptionFile::read(Some(&path)).unwrap_err().0, path);
        std::fs::write(&path, "[client]\npassword=hunter2\n[rowcliff\n").unwrap();
        let (_, why) = OptionFile::read(Some(&path)).unwrap_err();
        assert!(why.contains("line 3") && !why.contains("hunter2"), "{why}");
    }
}
