//! The endpoints of one cluster: what `--target` may name with commas between.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::place::ServerPlace;

/// One way into a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Host name or address.
    pub host: String,
    pub port: u16,
    /// Unix socket; host and port are then not used.
    pub socket: Option<PathBuf>,
}

impl Endpoint {
    /// As it stands in messages and files: the socket, or host and port.
    pub fn name(&self) -> String {
        match &self.socket {
            Some(socket) => socket.display().to_string(),
            // An address of IPv6 has colons of its own.
            None if self.host.contains(':') => format!("[{}]:{}", self.host, self.port),
            None => format!("{}:{}", self.host, self.port),
        }
    }
}

impl ServerPlace {
    /// Its endpoints as places of their own, in the order in which they were named; one as a rule.
    pub fn endpoints(&self) -> Vec<Self> {
        let alone = |endpoint: &Endpoint| Self {
            host: endpoint.host.clone(),
            port: endpoint.port,
            socket: endpoint.socket.clone(),
            others: Vec::new(),
            ..self.clone()
        };
        std::iter::once(&self.first()).chain(&self.others).map(alone).collect()
    }

    /// Whether several endpoints are named.
    pub fn is_cluster(&self) -> bool {
        !self.others.is_empty()
    }

    /// The name of the endpoint that was named first, which is the only one as a rule.
    pub fn name(&self) -> String {
        self.first().name()
    }

    /// The names of all endpoints, with a comma between.
    pub fn names(&self) -> String {
        let names: Vec<String> = std::iter::once(&self.first()).chain(&self.others).map(Endpoint::name).collect();
        names.join(",")
    }

    fn first(&self) -> Endpoint {
        Endpoint { host: self.host.clone(), port: self.port, socket: self.socket.clone() }
    }
}

/// Cuts the hosts beyond the first out of a URL, which no parser of URLs takes: gives the URL without them, and each of
/// them as it was typed.
///
/// # Errors
/// There is nothing between two commas.
pub fn split_hosts(text: &str) -> Result<(String, Vec<String>), String> {
    let Some((scheme, rest)) = text.split_once("://") else { return Ok((text.to_owned(), Vec::new())) };
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // A password may hold commas.
    let (user, hosts) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
    let mut hosts = hosts.split(',');
    let first = hosts.next().unwrap_or_default();
    let others: Vec<String> = hosts.map(str::to_owned).collect();
    if !others.is_empty() && (first.is_empty() || others.iter().any(String::is_empty)) {
        return Err("an endpoint of the URL is empty; name several as in mysql://USER@HOST:PORT,HOST:PORT/DB".into());
    }
    Ok((format!("{scheme}://{user}{first}{tail}"), others))
}

/// An endpoint beyond the first, as [`split_hosts`] gives it. `number` is its place in the URL, from 1: what was typed is not
/// repeated, since it may be a part of a password with a slash in it.
///
/// # Errors
/// It is no host with a port.
pub fn host(text: &str, number: usize, default_port: u16) -> Result<Endpoint, String> {
    let wrong = |why: &str| format!("endpoint {number} of the URL is not HOST or HOST:PORT: {why}");
    let url = url::Url::parse(&format!("mysql://{text}/")).map_err(|error| wrong(&error.to_string()))?;
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| wrong("it has no host"))?;
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    Ok(Endpoint { host, port: url.port().unwrap_or(default_port), socket: None })
}

/// The sockets that `socket=` names. A comma stands between two of them only where each begins with a slash: it may be a
/// part of a path.
pub fn sockets(text: &str) -> Vec<PathBuf> {
    let parts: Vec<&str> = text.split(',').collect();
    if parts.iter().all(|part| part.starts_with('/')) {
        parts.into_iter().map(PathBuf::from).collect()
    } else {
        vec![PathBuf::from(text)]
    }
}

/// The endpoint that is named twice, if one is.
pub fn repeated(place: &ServerPlace) -> Option<String> {
    let names: Vec<String> = place.endpoints().iter().map(|place| place.name().to_ascii_lowercase()).collect();
    let is_again = |(at, name): &(usize, &String)| names[..*at].contains(name);
    names.iter().enumerate().find(is_again).map(|(_, name)| name.clone())
}

#[cfg(test)]
mod tests {
    use super::super::place::{Place, parse, parse_with};
    use super::*;
    use crate::plan::option_file::OptionFile;
    use crate::secret::mask;

    fn server(text: &str) -> ServerPlace {
        match parse(text).unwrap().0 {
            Place::Server(place) => place,
            other => panic!("{other:?}"),
        }
    }

    fn refused(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn several_hosts_are_endpoints_with_a_port_each() {
        let place = server("mysql://me@a:3307,b,[::1]:3309/d");
        assert_eq!(place.url(), "mysql://me@a:3307,b:3306,[::1]:3309/d");
        assert_eq!(server(&place.url()), place, "what is printed is read again");
        let names: Vec<String> = place.endpoints().iter().map(ServerPlace::name).collect();
        assert_eq!(names, ["a:3307", "b:3306", "[::1]:3309"]);
        assert_eq!(place.names(), "a:3307,b:3306,[::1]:3309");
        for endpoint in place.endpoints() {
            assert_eq!((endpoint.user.as_str(), endpoint.database.as_str()), ("me", "d"));
            assert!(!endpoint.is_cluster());
        }
        assert!(place.is_cluster() && !server("mysql://me@a/d").is_cluster());
    }

    #[test]
    fn several_sockets_are_endpoints_and_a_comma_in_a_path_is_none() {
        let place = server("mysql://root@localhost/d?socket=/run/a.sock,/run/b.sock");
        assert_eq!(place.names(), "/run/a.sock,/run/b.sock");
        assert_eq!(place.url(), "mysql://root@localhost/d?socket=/run/a.sock,/run/b.sock");
        assert_eq!(server(&place.url()), place);
        let one = server("mysql://root@localhost/d?socket=/run/a,b.sock");
        assert_eq!((one.names().as_str(), one.is_cluster()), ("/run/a,b.sock", false));
    }

    #[test]
    fn passwords_of_clusters_are_not_shown() {
        let text = "mysql://me:p,w@a:1,b:2/d";
        let (place, secret) = parse(text).unwrap();
        assert_eq!(secret.reveal(), Some("p,w"));
        let Place::Server(place) = place else { panic!("{place:?}") };
        assert_eq!(place.url(), "mysql://me@a:1,b:2/d");
        assert_eq!(mask(text), "mysql://me:***@a:1,b:2/d");
        for text in ["mysql://me:hunter2@a,b", "mysql://me:hunter2@a,b:x/d", "mysql://me:hunter2@a,,b/d"] {
            assert!(!refused(text).contains("hunter2"), "{}", refused(text));
        }
    }

    #[test]
    fn what_is_no_list_of_endpoints_is_refused() {
        for (text, word) in [
            ("mysql://me@a:1,a:1/d", "a:1 is named twice"),
            ("mysql://me@a,A:3306/d", "named twice"),
            ("mysql://me@localhost/d?socket=/s,/s", "/s is named twice"),
            ("mysql://me@a,/d", "is empty"),
            ("mysql://me@a,b:99999/d", "endpoint 2"),
            ("mysql://me@a,b/d?socket=/s", "socket="),
        ] {
            assert!(refused(text).contains(word), "{text}: {}", refused(text));
        }
    }

    #[test]
    fn an_option_file_gives_the_port_of_all_and_no_socket() {
        let options = OptionFile {
            port: Some(3310),
            socket: Some("/run/s".into()),
            user: Some("u".into()),
            ..OptionFile::default()
        };
        let (Place::Server(place), _) = parse_with("mysql://localhost,b:1/d", &options).unwrap() else { panic!() };
        assert_eq!(place.url(), "mysql://u@localhost:3310,b:1/d");
    }

    #[test]
    fn plans_of_one_endpoint_are_written_as_before() {
        let text = serde_json::to_string(&server("mysql://me@a/d")).unwrap();
        assert_eq!(text, r#"{"user":"me","host":"a","port":3306,"socket":null,"database":"d"}"#);
        assert_eq!(serde_json::from_str::<ServerPlace>(&text).unwrap(), server("mysql://me@a/d"));
    }
}
