//! Where rows go: what `--target` may say, and the secret that goes with it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::endpoint::{self, Endpoint};
use super::option_file::OptionFile;
use crate::error::Error;
pub use crate::secret::Secret;
use crate::secret::mask;

/// A target of the plan: its place, and the label under which it stands in files and pictures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetSpec {
    /// Label without any secret, unique in the plan.
    pub label: String,
    pub place: Place,
}

/// The kinds of places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Place {
    Sqlite {
        /// The database file; in the run's directory when it is left out.
        path: Option<PathBuf>,
    },
    /// A private server that rowcliff starts and owns.
    Scratch {
        /// Its server binary; looked for when it is left out.
        binary: Option<PathBuf>,
    },
    /// A server somebody else runs.
    Server(ServerPlace),
}

/// How to reach a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerPlace {
    pub user: String,
    /// Host name or address.
    pub host: String,
    pub port: u16,
    /// Unix socket; host and port are then not used.
    pub socket: Option<PathBuf>,
    /// Database, which has to be there.
    pub database: String,
    /// The other endpoints of its cluster, where several are named. User and database are the same at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Endpoint>,
}

impl ServerPlace {
    /// The place as a URL without a password.
    pub fn url(&self) -> String {
        let (user, database) = (url_part(&self.user), url_part(&self.database));
        match &self.socket {
            Some(_) => format!("mysql://{user}@localhost/{database}?socket={}", self.names()),
            None => format!("mysql://{user}@{}/{database}", self.names()),
        }
    }
}

/// A name as a URL holds it: encoded is what would end the part that it stands in, and letters of any script stay readable.
fn url_part(name: &str) -> String {
    let mut part = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '%' | '/' | '?' | '#' | '@' | ':' | '[' | ']' | ',' | '\\' | ' ' => {
                part.push_str(&format!("%{:02X}", u32::from(c)))
            }
            c => part.push(c),
        }
    }
    part
}

/// Parses one `--target` that says everything itself.
///
/// # Errors
/// See [`parse_with`].
pub fn parse(text: &str) -> Result<(Place, Secret), Error> {
    parse_with(text, &OptionFile::default())
}

/// Parses one `--target`; what its URL leaves out of user, host, port and socket comes from an option file.
///
/// # Errors
/// The word is no target: with what is known.
pub fn parse_with(text: &str, options: &OptionFile) -> Result<(Place, Secret), Error> {
    let next = "known are sqlite[:PATH], scratch[:MYSQLD], mysql://USER@HOST:PORT/DB and mysql://USER@localhost/DB?socket=PATH; \
                several endpoints of one cluster have commas between: HOST:PORT,HOST:PORT";
    let usage = |cause: String| Error::usage("--target", cause, next);
    let (word, rest) = text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(rest)));
    let path = |rest: Option<&str>| match rest {
        Some("") => Err(usage(format!("{text:?} ends with a colon and no path"))),
        // It would be taken for a file, and its name, with a password in it, would stand in every record of the run.
        Some(path) if path.contains("://") || mask(path) != path => Err(usage(format!(
            "{word}: takes the path of a file, and {:?} looks like the URL of a server; leave {word}: out to name a \
             server, or write ./NAME for a file of that name",
            mask(path)
        ))),
        other => Ok(other.map(PathBuf::from)),
    };
    match word {
        "sqlite" => Ok((Place::Sqlite { path: path(rest)? }, Secret::default())),
        "scratch" => Ok((Place::Scratch { binary: path(rest)? }, Secret::default())),
        "mysql" | "mariadb" => parse_server(text, options).map_err(|cause| {
            let explained = split_password(text).unwrap_or(cause);
            usage(explained)
        }),
        _ => Err(usage(format!("{:?} is not a target", mask(text)))),
    }
}

fn parse_server(text: &str, options: &OptionFile) -> Result<(Place, Secret), String> {
    let (one, others) = endpoint::split_hosts(text)?;
    let url = url::Url::parse(&one).map_err(|error| format!("{:?} is not a URL: {error}", mask(text)))?;
    let decoded = |part: &str, what: &str| {
        percent_decode(part).ok_or_else(|| format!("{what} in the URL is not percent-encoded UTF-8"))
    };
    let typed_host = url.host_str().filter(|host| !host.is_empty());
    let user = match decoded(url.username(), "the user")? {
        user if user.is_empty() => {
            options.user.clone().ok_or("the URL names no user, as in mysql://USER@HOST/DB, and no option file does")?
        }
        user => user,
    };
    let path = url.path().trim_start_matches('/');
    let database = decoded(path, "the database")?;
    // A slash of a name is encoded: one that stands there ends the name.
    if database.is_empty() || path.contains('/') {
        let slash = if path.contains('/') { " (a slash in its name is written %2F)" } else { "" };
        return Err(format!(
            "the URL names no database, as in mysql://USER@HOST/DB{slash}; rowcliff creates tables there and no database"
        ));
    }
    let mut sockets = Vec::new();
    for (name, value) in url.query_pairs() {
        match &*name {
            "socket" => sockets = endpoint::sockets(&value),
            other => return Err(format!("the URL parameter {other:?} is not known; known is socket")),
        }
    }
    if !others.is_empty() && !sockets.is_empty() {
        return Err("the URL names several hosts and a socket=; name either hosts or sockets".into());
    }
    let mut sockets = sockets.into_iter();
    let socket = sockets.next();
    let password = url.password().map(|password| decoded(password, "the password")).transpose()?;
    let (host, port) = match typed_host {
        Some(host) => (host.trim_start_matches('[').trim_end_matches(']').to_owned(), url.port()),
        None if socket.is_some() || options.socket.is_some() => ("localhost".into(), None),
        None => {
            let host = options.host.clone();
            (host.ok_or("the URL names no host, as in mysql://USER@HOST/DB, and no option file does")?, None)
        }
    };
    // To the stock clients `localhost` without a port means the socket; a host that was typed otherwise is TCP.
    let socket_is_meant = others.is_empty() && (typed_host.is_none() || host == "localhost" && url.port().is_none());
    let socket = socket.or_else(|| options.socket.clone().filter(|_| socket_is_meant));
    let port = port.or(options.port).unwrap_or(3306);
    let default_port = options.port.unwrap_or(3306);
    let further = others.iter().zip(2..).map(|(text, number)| endpoint::host(text, number, default_port));
    let mut others = further.collect::<Result<Vec<Endpoint>, String>>()?;
    others.extend(sockets.map(|socket| Endpoint { host: host.clone(), port, socket: Some(socket) }));
    let place = ServerPlace { user, host, port, socket, database, others };
    if let Some(name) = endpoint::repeated(&place) {
        return Err(format!("the endpoint {name} is named twice"));
    }
    Ok((Place::Server(place), Secret::new(password)))
}

/// Why a URL is not understood when a character in its password ends the part of the URL that it stands in.
fn split_password(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("://")?;
    let (user, behind) = rest.split_once(':')?;
    let password = &behind[..behind.rfind('@')?];
    if user.contains(['/', '?', '#', '@']) {
        return None;
    }
    let character = password.chars().find(|char| matches!(char, '/' | '?' | '#'))?;
    Some(format!(
        "the password in {:?} holds a {character:?}, which ends the part of a URL that a password stands in; \
         encode it as %{:02X}, or use --password-file",
        mask(text),
        u32::from(character)
    ))
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'%' {
            let hex = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(hex, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(text: &str) -> (ServerPlace, Secret) {
        match parse(text).unwrap() {
            (Place::Server(place), secret) => (place, secret),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_forms_of_a_target() {
        assert_eq!(parse("sqlite").unwrap().0, Place::Sqlite { path: None });
        assert_eq!(parse("sqlite:/tmp/x.db").unwrap().0, Place::Sqlite { path: Some("/tmp/x.db".into()) });
        assert_eq!(
            parse("scratch:/usr/sbin/mysqld").unwrap().0,
            Place::Scratch { binary: Some("/usr/sbin/mysqld".into()) }
        );
        let (place, secret) = server("mysql://me@db.example:3307/test");
        assert_eq!((place.host.as_str(), place.port, place.database.as_str()), ("db.example", 3307, "test"));
        assert!(!secret.is_some());
        let (place, _) = server("mysql://root@localhost/test?socket=/run/my.sock");
        assert_eq!(place.socket, Some("/run/my.sock".into()));
        assert_eq!(place.url(), "mysql://root@localhost/test?socket=/run/my.sock");
    }

    #[test]
    fn a_name_of_any_script_or_with_a_slash_is_read_and_printed_so_that_it_is_read_again() {
        for (typed, user, database, url) in [
            ("mysql://me@h/a%2Fb", "me", "a/b", "mysql://me@h:3306/a%2Fb"),
            ("mysql://me@h/%2Fb%3F%23", "me", "/b?#", "mysql://me@h:3306/%2Fb%3F%23"),
            ("mysql://юзер@h/größe", "юзер", "größe", "mysql://юзер@h:3306/größe"),
            ("mysql://%D1%8E@h/%E6%B8%AC", "ю", "測", "mysql://ю@h:3306/測"),
            ("mysql://a%40b%3Ac@h/50%25 x", "a@b:c", "50% x", "mysql://a%40b%3Ac@h:3306/50%25%20x"),
        ] {
            let (place, _) = server(typed);
            assert_eq!((place.user.as_str(), place.database.as_str(), place.url().as_str()), (user, database, url));
            assert_eq!(server(url).0, place);
            assert_eq!(mask(url), url);
        }
        let message = parse("mysql://me@h/a/b").unwrap_err().to_string();
        assert!(message.contains("names no database") && message.contains("%2F"), "{message}");
    }

    #[test]
    fn a_password_is_decoded_and_never_printed() {
        let (place, secret) = server("mysql://me:p%40ss%3Aword@h/d");
        assert_eq!(secret.reveal(), Some("p@ss:word"));
        assert_eq!(place.url(), "mysql://me@h:3306/d");
        assert_eq!(format!("{secret:?}"), "Secret(***)");
        assert_eq!(mask("mysql://me:p@ss@h/d"), "mysql://me:***@h/d");
        assert_eq!(mask("mysql://me@h/d"), "mysql://me@h/d");
        assert_eq!(mask("--target=mysql://me:p/w?@h/d"), "--target=mysql://me:***@h/d");
        let socket = "mysql://me@localhost/d?socket=/tmp/a:b@c";
        assert_eq!(mask(socket), socket);
        let message = parse("mysql://me:hunter2@h").unwrap_err().to_string();
        assert!(!message.contains("hunter2"), "{message}");
        let message = parse("postgres://me:hunter2@h/d").unwrap_err().to_string();
        assert!(!message.contains("hunter2"), "{message}");
    }

    #[test]
    fn a_character_that_cuts_a_password_is_explained() {
        for (password, code) in
            [("PA#SS", "%23"), ("PA/SS", "%2F"), ("PA?SS", "%3F"), ("12#PASS", "%23"), ("12/PASS", "%2F")]
        {
            let message = parse(&format!("mysql://me:{password}@h/d")).unwrap_err().to_string();
            assert!(message.contains(code) && message.contains("--password-file"), "{message}");
            assert!(!message.contains("SS"), "{message}");
        }
        assert!(parse("mysql://me:PA%23SS@h/d").is_ok());
    }

    #[test]
    fn a_url_is_no_file() {
        for text in ["sqlite:mysql://me:PASS@h/d", "sqlite:me:PASS@h/d", "scratch:mysql://me:PASS@h/d"] {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.contains("URL of a server") && !message.contains("PASS"), "{message}");
        }
    }

    #[test]
    fn an_option_file_completes_a_url_and_overrules_nothing_in_it() {
        let options = OptionFile {
            user: Some("filed".into()),
            host: Some("far".into()),
            port: Some(3310),
            ..OptionFile::default()
        };
        let with_socket = OptionFile { socket: Some("/run/s".into()), ..options.clone() };
        for (text, options, url) in [
            ("mysql:///d", &options, "mysql://filed@far:3310/d"),
            ("mysql://near/d", &options, "mysql://filed@near:3310/d"),
            ("mysql://me@near:1/d", &options, "mysql://me@near:1/d"),
            ("mysql:///d", &with_socket, "mysql://filed@localhost/d?socket=/run/s"),
            ("mysql://me@localhost/d", &with_socket, "mysql://me@localhost/d?socket=/run/s"),
            ("mysql://me@localhost:3307/d", &with_socket, "mysql://me@localhost:3307/d"),
            ("mysql://me@127.0.0.1/d", &with_socket, "mysql://me@127.0.0.1:3310/d"),
            ("mysql://me@localhost/d?socket=/own", &with_socket, "mysql://me@localhost/d?socket=/own"),
        ] {
            let (Place::Server(place), _) = parse_with(text, options).unwrap() else { panic!("{text}") };
            assert_eq!(place.url(), url, "{text}");
        }
    }

    #[test]
    fn what_is_no_target_is_refused_with_the_next_step() {
        for text in ["", "sqlite:", "oracle", "mysql://h/d", "mysql://u@h", "mysql://u@h/d?tls=1", "mysql:"] {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.contains("--target") && message.contains("known"), "{text:?}: {message}");
        }
    }
}
