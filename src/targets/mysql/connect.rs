//! Opening connections: who, where, how protected, and never waiting for ever.

use std::io::Read;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, SslOpts};

use super::errors::{cause, failure};
use super::leash::Leash;
use super::relay::Relay;
use super::socket::SocketHandle;
use super::variables;
use crate::error::Error;
use crate::plan::login::{Login, SslMode};
use crate::plan::method::Method;
use crate::plan::{Protection, Secret, ServerPlace};
use crate::targets::{Failure, FailureKind};

/// How long connecting and logging in may take.
pub const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Everything that is needed to log in.
#[derive(Debug, Clone)]
pub struct Access {
    pub place: ServerPlace,
    pub secret: Secret,
    /// Protection on the way.
    pub ssl_mode: SslMode,
    /// Certificate authority.
    pub ssl_ca: Option<PathBuf>,
    /// Whether sessions leave the binary log alone.
    pub skip_binlog: bool,
    /// Whether nothing at all is set, not even in the session: `check` only reads.
    pub reads_only: bool,
    /// Whether the server is one of several, so that reads which decide have to wait for what was committed elsewhere.
    pub is_member: bool,
    /// Whether MariaDB's bulk command is to be sent.
    pub bulk: bool,
    /// What its connections hang on.
    pub leash: Leash,
}

impl Access {
    /// Logs in at `place`, with the protection that the stock clients have by default.
    pub fn new(place: ServerPlace, secret: Secret) -> Self {
        let ssl_mode = SslMode::default();
        Self {
            place,
            secret,
            ssl_mode,
            ssl_ca: None,
            skip_binlog: false,
            reads_only: false,
            is_member: false,
            bulk: false,
            leash: Leash::default(),
        }
    }

    /// Everything that is needed to log in at `place`.
    ///
    /// # Errors
    /// See [`Login::secret`].
    pub fn of_login(login: &Login, place: &ServerPlace, in_url: Secret) -> Result<Self, Error> {
        Ok(Self::new(place.clone(), login.secret(in_url, place)?).protected(&login.protection))
    }

    /// With the protection that was asked for.
    #[must_use]
    pub fn protected(self, protection: &Protection) -> Self {
        Self { ssl_mode: protection.ssl_mode, ssl_ca: protection.ssl_ca.clone(), ..self }
    }

    /// With sessions that leave the binary log alone.
    #[must_use]
    pub fn without_binlog(self, skip_binlog: bool) -> Self {
        Self { skip_binlog, ..self }
    }

    /// For a loading connection of a method.
    #[must_use]
    pub fn loading_by(self, method: Method) -> Self {
        Self { bulk: method == Method::Bulk, ..self }
    }

    /// Logs in as root on the Unix socket of a server of our own.
    pub fn of_socket(socket: PathBuf, database: &str) -> Self {
        let place = ServerPlace {
            user: "root".into(),
            host: "localhost".into(),
            port: 3306,
            socket: Some(socket),
            database: database.into(),
            others: Vec::new(),
        };
        Self { ssl_mode: SslMode::Disabled, ..Self::new(place, Secret::default()) }
    }

    /// With connections that hang on `leash`.
    #[must_use]
    pub fn on(self, leash: &Leash) -> Self {
        Self { leash: leash.clone(), ..self }
    }

    /// The same for each endpoint of a cluster; for one server itself.
    pub fn endpoints(&self) -> Vec<Self> {
        let is_member = self.place.is_cluster();
        self.place.endpoints().into_iter().map(|place| Self { place, is_member, ..self.clone() }).collect()
    }

    fn options(&self, tls: bool, limit: Duration) -> Opts {
        let place = &self.place;
        let builder = OptsBuilder::new()
            .user(Some(place.user.clone()))
            .pass(self.secret.reveal().map(str::to_owned))
            .db_name(Some(place.database.clone()))
            // Otherwise the driver moves a TCP connection to 127.0.0.1 onto the server's Unix socket.
            .prefer_socket(false)
            .tcp_nodelay(true)
            .tcp_keepalive_time_ms(Some(30_000))
            .tcp_connect_timeout(Some(limit))
            .read_timeout(Some(limit))
            .write_timeout(Some(limit))
            .stmt_cache_size(0)
            .max_allowed_packet(None);
        let builder = match &place.socket {
            Some(socket) => builder.socket(Some(socket.display().to_string())),
            None => builder.ip_or_hostname(Some(place.host.clone())).tcp_port(place.port),
        };
        builder.ssl_opts(tls.then(|| self.tls_options())).into()
    }

    fn tls_options(&self) -> SslOpts {
        let options = SslOpts::default().with_root_cert_path(self.ssl_ca.clone());
        match self.ssl_mode {
            SslMode::VerifyIdentity => options,
            SslMode::VerifyCa => options.with_danger_skip_domain_validation(true),
            _ => options.with_danger_accept_invalid_certs(true).with_danger_skip_domain_validation(true),
        }
    }

    /// Opens a connection and hands its socket out as well. Reads and writes of the connection have no limit of
    /// their own afterwards.
    ///
    /// # Errors
    /// The server is not there, does not answer within 10 s, or does not let us in: with what helps.
    pub fn connect(&self) -> Result<(Conn, Arc<SocketHandle>), Failure> {
        self.connect_within(CONNECT_LIMIT)
    }

    /// The same with another limit.
    ///
    /// # Errors
    /// As [`Access::connect`].
    pub fn connect_within(&self, limit: Duration) -> Result<(Conn, Arc<SocketHandle>), Failure> {
        let limit = self.leash.limit(limit);
        let mut encrypted = match self.ssl_mode {
            SslMode::Disabled => false,
            SslMode::Preferred => self.place.socket.is_none(),
            SslMode::Required | SslMode::VerifyCa | SslMode::VerifyIdentity => true,
        };
        let access = self.clone();
        let mut conn = match encrypted && self.bulk && self.place.socket.is_none() {
            true => self.leash.open(move || access.connect_by_relay(limit))?,
            false => self.leash.open(move || Conn::new(access.options(encrypted, limit)))?,
        };
        if self.ssl_mode == SslMode::Preferred && encrypted && conn.as_ref().is_err_and(is_without_tls) {
            // No TLS there, or an older one than this program speaks: as the stock clients, go on without.
            encrypted = false;
            let access = self.clone();
            conn = self.leash.open(move || Conn::new(access.options(false, limit)))?;
        }
        let mut conn = conn.map_err(|error| self.explain(error, encrypted, limit))?;
        if self.skip_binlog {
            leave_binlog_alone(&mut conn, &self.place.user)?;
        }
        let socket = SocketHandle::of(&conn).map_err(|error| Failure::fatal(format!("no descriptor left: {error}")))?;
        let socket = Arc::new(socket);
        self.leash.hold(&socket, self);
        socket.set_timeout(None);
        Ok((conn, socket))
    }

    /// Over TLS, with what MariaDB's bulk command needs.
    fn connect_by_relay(&self, limit: Duration) -> mysql::Result<Conn> {
        let ServerPlace { host, port, .. } = &self.place;
        let relay = Relay::start(host, *port, limit).map_err(|error| {
            let at = Some((self.place.name(), error.to_string(), error.kind()));
            mysql::Error::DriverError(mysql::DriverError::CouldNotConnect(at))
        })?;
        let options =
            OptsBuilder::from_opts(self.options(true, limit)).ip_or_hostname(Some("127.0.0.1")).tcp_port(relay.port());
        let conn = Conn::new(options)?;
        relay.hand_over(&conn)?;
        Ok(conn)
    }

    /// Whether a server answers here within `limit`. A log-in that it refuses is an answer.
    pub fn answers(&self, limit: Duration) -> bool {
        !matches!(self.connect_within(limit), Err(failure) if failure.kind == FailureKind::Lost || failure.code.is_none())
    }

    /// What a failed log-in means, with the next step.
    fn explain(&self, error: mysql::Error, encrypted: bool, limit: Duration) -> Failure {
        let place = self.place.url();
        let tls = format!("--ssl-mode {}", self.ssl_mode.word());
        if let Some(cause) = tls_cause(&error) {
            return Failure::fatal(format!(
                "TLS with {place} failed: {cause}; check --ssl-ca and the host's name, or use a lower --ssl-mode than {}",
                self.ssl_mode.word()
            ));
        }
        match error {
            mysql::Error::DriverError(mysql::DriverError::CouldNotConnect(_) | mysql::DriverError::ConnectTimeout) => {
                let what = match &self.place.socket {
                    Some(socket) => format!("no server answers on the socket {}", socket.display()),
                    None => format!("no server answers at {}", self.place.name()),
                };
                Failure::fatal(format!("{what}; check that it runs and that the address is right ({})", cause(&error)))
            }
            mysql::Error::DriverError(mysql::DriverError::UnknownAuthPlugin(plugin)) => Failure::fatal(format!(
                "user {} logs in by the plugin {plugin}, which rowcliff does not speak; give it mysql_native_password, \
                 caching_sha2_password or ed25519",
                self.place.user
            )),
            mysql::Error::DriverError(mysql::DriverError::TlsNotSupported) => Failure::fatal(format!(
                "{place} offers no TLS and {tls} asks for it; use --ssl-mode preferred or disabled"
            )),
            mysql::Error::DriverError(mysql::DriverError::SetupError) => Failure::fatal(format!(
                "{place} let us in and answers no SELECT: is sql_select_limit 0 there? SET GLOBAL sql_select_limit=DEFAULT"
            )),
            mysql::Error::IoError(error) if error.kind() == std::io::ErrorKind::WouldBlock => Failure {
                kind: FailureKind::Lost,
                code: None,
                message: format!(
                    "{place} took the connection and did not answer within {} s; is it stopped or overloaded?",
                    limit.as_secs()
                ),
            },
            other => {
                let mut failure = failure(other);
                if failure.code == Some(1045)
                    && !encrypted
                    && self.place.socket.is_none()
                    && greeting(&self.place.host, self.place.port)
                        .is_some_and(|greeting| may_want_encryption(&greeting))
                {
                    // That is also what MySQL says when it has no RSA key for caching_sha2_password.
                    failure.message.push_str(
                        "; if the password is right, caching_sha2_password may want encryption: --ssl-mode required",
                    );
                }
                failure.message = format!("{} (user {}, {tls})", failure.message, self.place.user);
                failure
            }
        }
    }
}

/// What a server says first to whoever connects.
fn greeting(host: &str, port: u16) -> Option<Vec<u8>> {
    let limit = Duration::from_secs(2);
    let address = (host, port).to_socket_addrs().ok()?.next()?;
    let mut stream = TcpStream::connect_timeout(&address, limit).ok()?;
    stream.set_read_timeout(Some(limit)).ok()?;
    let mut bytes = vec![0; 512];
    let read = stream.read(&mut bytes).ok()?;
    bytes.truncate(read);
    Some(bytes)
}

/// Whether a refused log-in may be for want of encryption: MariaDB has no caching_sha2_password among what it logs in by as a rule.
fn may_want_encryption(greeting: &[u8]) -> bool {
    !greeting.windows(7).any(|word| word.eq_ignore_ascii_case(b"mariadb"))
}

/// Errors of the handshake. It happens at the first write, so the driver gives most of them as errors of I/O.
fn tls_cause(error: &mysql::Error) -> Option<String> {
    let of_io = |error: &std::io::Error| (error.kind() == std::io::ErrorKind::InvalidData).then(|| error.to_string());
    match error {
        mysql::Error::TlsError(error) => Some(error.to_string()),
        mysql::Error::IoError(error) => of_io(error),
        mysql::Error::CodecError(error) => of_io(std::error::Error::source(error)?.downcast_ref::<std::io::Error>()?),
        _ => None,
    }
}

fn is_without_tls(error: &mysql::Error) -> bool {
    tls_cause(error).is_some() || matches!(error, mysql::Error::DriverError(mysql::DriverError::TlsNotSupported))
}

/// Keeps what this session does out of the binary log, and reads back that it took.
fn leave_binlog_alone(conn: &mut Conn, user: &str) -> Result<(), Failure> {
    if conn.query_first::<u8, _>("SELECT @@GLOBAL.log_bin").map_err(failure)? == Some(0) {
        return Ok(());
    }
    conn.query_drop("SET SESSION sql_log_bin=0").map_err(|error| {
        let mut refused = failure(error);
        refused.message = format!(
            "--skip-binlog: SET SESSION sql_log_bin=0: {}; user {user} needs BINLOG ADMIN (MariaDB), \
             SESSION_VARIABLES_ADMIN (MySQL) or SUPER",
            refused.message
        );
        refused
    })?;
    let now: Option<u8> = conn.query_first("SELECT @@SESSION.sql_log_bin").map_err(failure)?;
    if now == Some(0) {
        return Ok(());
    }
    Err(Failure::fatal(
        "--skip-binlog: SET SESSION sql_log_bin=0 was accepted and the session still writes the binary log",
    ))
}

/// Waits until a member of a cluster has what the others committed before: a Galera node applies the rows of another one a
/// little later, and a count that comes too early would find too few. Once is enough, since nothing of ours is committed
/// elsewhere while rows are counted and removed; with each statement it would take seconds after a node was lost. Loading
/// connections do not wait: nothing they do depends on it, and their time is measured.
///
/// # Errors
/// The server did not get there.
pub fn wait_for_members(conn: &mut Conn) -> Result<(), Failure> {
    // MySQL's Group Replication, whose variable others do not know.
    if conn.query_drop("SET SESSION group_replication_consistency='BEFORE'").is_ok() {
        conn.query_drop("SELECT 1").map_err(failure)?;
    }
    // A server that is no Galera node does not know this one.
    if conn.query_drop("SET SESSION wsrep_sync_wait=15").is_ok() {
        conn.query_drop("SELECT 1").map_err(failure)?;
        conn.query_drop("SET SESSION wsrep_sync_wait=DEFAULT").map_err(failure)?;
    }
    Ok(())
}

/// Lets a session speak UTF-8: in latin1 most names cannot be written, and a name that is sent as UTF-8 is another one.
///
/// # Errors
/// What the server said.
pub fn speak_utf8(conn: &mut Conn) -> Result<(), Failure> {
    match conn.query_drop("SET NAMES utf8mb4") {
        // Before 5.5.3 there is only the UTF-8 of three bytes, and names cannot hold more.
        Err(mysql::Error::MySqlError(refused)) if refused.code == 1115 => conn.query_drop("SET NAMES utf8"),
        other => other,
    }
    .map_err(failure)
}

/// Puts a connection that loads nothing itself into the state that everything is asked and sent in.
///
/// # Errors
/// What the server said.
pub fn prepare_session(conn: &mut Conn) -> Result<(), Failure> {
    speak(conn)?;
    variables::prepare(conn)
}

/// Agrees on the characters of statements and answers.
///
/// # Errors
/// What the server said.
pub fn speak(conn: &mut Conn) -> Result<(), Failure> {
    // latin1 has a character for every byte: a raw key that is bound as a parameter is not refused as broken utf8mb4.
    conn.query_drop("SET NAMES latin1").map_err(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_log_in_is_explained_with_encryption_on_mysql_only() {
        let packet = |version: &str| [&[0x4a, 0, 0, 0, 10], version.as_bytes(), b"\0rest"].concat();
        assert!(may_want_encryption(&packet("8.0.36")) && may_want_encryption(&packet("9.7.0-log")));
        assert!(!may_want_encryption(&packet("5.5.5-10.11.6-MariaDB-0+deb12u1")));
        assert!(!may_want_encryption(&packet("11.4.2-MariaDB-log")));
    }

    #[test]
    fn a_greeting_is_read_from_whoever_listens() {
        use std::io::Write;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server =
            std::thread::spawn(move || listener.accept().unwrap().0.write_all(b"J\0\0\0\n10.11-MariaDB\0").unwrap());
        assert!(greeting("127.0.0.1", port).unwrap().ends_with(b"10.11-MariaDB\0"));
        server.join().unwrap();
        assert_eq!(greeting("127.0.0.1", 1), None);
    }
}
