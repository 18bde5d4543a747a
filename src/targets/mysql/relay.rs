//! Log-in over TLS with MariaDB's own capabilities, which its bulk command needs.
//!
//! A MariaDB server takes what its client can do from the first packet that the client sends, which for TLS is the request for
//! it. The `mysql` crate (28.0) leaves MariaDB's own capabilities out of that request; in the next packet they come too late, and
//! the server answers the bulk command with error 1295. So a loading connection of `bulk` logs in through a relay of this process,
//! which adds them to that one packet, still in the clear, and passes everything else on as it is: TLS is between the driver and the
//! server from end to end. After the log-in the driver's socket is replaced by the one to the server and the relay is gone, so
//! nothing of it is in what is timed.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::mem::ManuallyDrop;
use std::net::{Ipv4Addr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::consts::{CapabilityFlags, MariadbCapabilities};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{FdFlags, dup2, fcntl_setfd, ioctl_fionread};
use rustix::net::sockopt::{set_socket_keepalive, set_tcp_keepidle};

/// How often the relay looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes in front of the payload of a packet: three of length, one of number.
const HEADER: usize = 4;
/// Bytes of the payload of the request for TLS. A longer first packet is a log-in without it.
const REQUEST: usize = 32;
/// Where the capabilities of MariaDB stand in it.
const OWN_AT: usize = HEADER + 28;

/// A relay to a server for one log-in.
pub struct Relay {
    port: u16,
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<TcpStream>>>,
}

impl Relay {
    /// Connects to the server, and waits for the driver at a port of the loopback.
    ///
    /// # Errors
    /// The server cannot be reached within `limit`.
    pub fn start(host: &str, port: u16, limit: Duration) -> Result<Self> {
        let server = connect(host, port, limit)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let done = Arc::new(AtomicBool::new(false));
        let is_done = Arc::clone(&done);
        let thread = std::thread::Builder::new().name("log-in".into()).spawn(move || {
            let driver = accept(&listener, limit)?;
            pass_on(driver, &server, limit, &is_done)?;
            Ok(server)
        })?;
        Ok(Self { port, done, thread: Some(thread) })
    }

    /// Where the driver connects to, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Puts the socket of the server in the place of the driver's, once it is logged in and waits for nothing.
    ///
    /// # Errors
    /// The relay has failed, or something is still on its way.
    pub fn hand_over(mut self, conn: &Conn) -> Result<()> {
        self.done.store(true, Ordering::SeqCst);
        let ended = self.thread.take().and_then(|thread| thread.join().ok());
        let server = ended.unwrap_or_else(|| Err(Error::other("the relay of the log-in has failed")))?;
        replace(conn, &server)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.done.store(true, Ordering::SeqCst);
    }
}

fn connect(host: &str, port: u16, limit: Duration) -> Result<TcpStream> {
    let mut refused = Error::new(ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, limit) {
            Ok(server) => {
                // As the driver does with its own.
                server.set_nodelay(true)?;
                set_socket_keepalive(&server, true)?;
                set_tcp_keepidle(&server, Duration::from_secs(30))?;
                return Ok(server);
            }
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

fn accept(listener: &TcpListener, limit: Duration) -> Result<TcpStream> {
    let since = Instant::now();
    loop {
        match listener.accept() {
            Ok((driver, _)) => {
                driver.set_nonblocking(false)?;
                driver.set_nodelay(true)?;
                return Ok(driver);
            }
            Err(none) if none.kind() == ErrorKind::WouldBlock && since.elapsed() < limit => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Passes on what both say until it is done. When either closes, so does the other, with the streams.
fn pass_on(mut driver: TcpStream, mut server: &TcpStream, limit: Duration, done: &AtomicBool) -> Result<()> {
    for stream in [&driver, server] {
        stream.set_read_timeout(Some(limit))?;
        stream.set_write_timeout(Some(limit))?;
    }
    let greeting = packet(&mut server)?;
    driver.write_all(&greeting)?;
    let mut request = packet(&mut driver)?;
    if let Some(own) = own_capabilities(&greeting) {
        add_to_request(&mut request, own);
    }
    server.write_all(&request)?;
    let mut bytes = vec![0; 16 << 10];
    let pause = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos().try_into().unwrap_or(0) };
    while !done.load(Ordering::SeqCst) {
        let mut fds = [PollFd::new(&driver, PollFlags::IN), PollFd::new(server, PollFlags::IN)];
        poll(&mut fds, Some(&pause))?;
        let [from_driver, from_server] = fds.map(|fd| !fd.revents().is_empty());
        if from_driver {
            copy(&mut driver, &mut server, &mut bytes)?;
        }
        if from_server {
            copy(&mut server, &mut driver, &mut bytes)?;
        }
    }
    Ok(())
}

fn copy(from: &mut impl Read, to: &mut impl Write, bytes: &mut [u8]) -> Result<()> {
    match from.read(bytes)? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        count => to.write_all(&bytes[..count]),
    }
}

/// A packet with its header.
fn packet(from: &mut impl Read) -> Result<Vec<u8>> {
    let mut packet = vec![0; HEADER];
    from.read_exact(&mut packet)?;
    let length = usize::from(packet[0]) | usize::from(packet[1]) << 8 | usize::from(packet[2]) << 16;
    packet.resize(HEADER + length, 0);
    from.read_exact(&mut packet[HEADER..])?;
    Ok(packet)
}

/// The capabilities of MariaDB that a server offers and the driver knows; `None` of another server.
fn own_capabilities(greeting: &[u8]) -> Option<u32> {
    let known = MariadbCapabilities::MARIADB_CLIENT_STMT_BULK_OPERATIONS
        | MariadbCapabilities::MARIADB_CLIENT_CACHE_METADATA
        | MariadbCapabilities::MARIADB_CLIENT_BULK_UNIT_RESULTS;
    let payload = greeting.get(HEADER..)?;
    let version_end = payload.iter().skip(1).position(|&byte| byte == 0)? + 1;
    // The number of the session, the first part of the nonce, a zero; then the lower capabilities.
    let lower = version_end + 1 + 4 + 8 + 1;
    // A server of MariaDB leaves out the bit for long passwords, which every other one has.
    let is_mariadb = u32::from(*payload.get(lower)?) & CapabilityFlags::CLIENT_LONG_PASSWORD.bits() == 0;
    // Lower capabilities, character set, status, upper capabilities, length of the nonce, six bytes of nothing.
    let own = payload.get(lower + 2 + 1 + 2 + 2 + 1 + 6..)?.first_chunk::<4>()?;
    let own = u32::from_le_bytes(*own) & known.bits();
    (is_mariadb && own != 0).then_some(own)
}

/// Adds them to the request for TLS, as MariaDB's own clients send it.
fn add_to_request(packet: &mut [u8], own: u32) {
    let Some(flags) = packet.get(HEADER..).and_then(|payload| payload.first_chunk::<4>()) else { return };
    let flags = u32::from_le_bytes(*flags);
    if packet.len() != HEADER + REQUEST || flags & CapabilityFlags::CLIENT_SSL.bits() == 0 {
        return;
    }
    let flags = flags & !CapabilityFlags::CLIENT_LONG_PASSWORD.bits();
    packet[HEADER..HEADER + 4].copy_from_slice(&flags.to_le_bytes());
    packet[OWN_AT..OWN_AT + 4].copy_from_slice(&own.to_le_bytes());
}

/// Puts `server` in the place of the socket of a connection.
#[allow(unsafe_code)]
fn replace(conn: &Conn, server: &TcpStream) -> Result<()> {
    // SAFETY: the descriptor belongs to `conn`, which outlives this function and keeps it: it is not closed here.
    let mut driver = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(conn.as_raw_fd()) });
    if ioctl_fionread(driver.as_fd())? != 0 {
        return Err(Error::other("the server said more than the log-in asked for"));
    }
    dup2(server, &mut driver)?;
    fcntl_setfd(driver.as_fd(), FdFlags::CLOEXEC)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The greeting of a server, with its lower capabilities and those of MariaDB.
    fn greeting(version: &str, lower: u16, own: u32) -> Vec<u8> {
        let mut payload = vec![10];
        payload.extend(version.as_bytes());
        payload.push(0);
        payload.extend([7, 0, 0, 0]);
        payload.extend([b'n'; 8]);
        payload.push(0);
        payload.extend(lower.to_le_bytes());
        payload.push(45);
        payload.extend([2, 0]);
        payload.extend([0xff, 0x81, 21]);
        payload.extend([0; 6]);
        payload.extend(own.to_le_bytes());
        payload.extend([b'n'; 13]);
        let mut packet = vec![payload.len() as u8, 0, 0, 0];
        packet.extend(payload);
        packet
    }

    fn request(flags: u32, length: usize) -> Vec<u8> {
        let mut packet = vec![length as u8, 0, 0, 1];
        packet.extend(flags.to_le_bytes());
        packet.resize(HEADER + length, 0);
        packet
    }

    #[test]
    fn capabilities_of_mariadb_are_found_in_its_greeting_and_in_no_other() {
        assert_eq!(own_capabilities(&greeting("5.5.5-10.11.19-MariaDB", 0xf7fe, 0x3d)), Some(0x34));
        assert_eq!(own_capabilities(&greeting("9.7.4", 0xffff, 0)), None);
        assert_eq!(own_capabilities(&greeting("9.7.4", 0xffff, 0x3d)), None);
        assert_eq!(own_capabilities(&greeting("5.5.5-10.1.1-MariaDB", 0xf7fe, 0)), None);
        let whole = greeting("x", 0xf7fe, 0x3d);
        assert!((0..whole.len() - 13).all(|end| own_capabilities(&whole[..end]).is_none()));
    }

    #[test]
    fn only_the_request_for_tls_is_changed() {
        let tls = CapabilityFlags::CLIENT_SSL.bits();
        let mut asked = request(tls | 1, 32);
        add_to_request(&mut asked, 0x34);
        assert_eq!(asked[HEADER..HEADER + 4], tls.to_le_bytes());
        assert_eq!(asked[OWN_AT..], [0x34, 0, 0, 0]);
        for other in [request(1, 32), request(tls | 1, 60), request(tls | 1, 2)] {
            let mut same = other.clone();
            add_to_request(&mut same, 0x34);
            assert_eq!(same, other);
        }
    }
}
