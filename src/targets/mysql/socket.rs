//! The socket below a connection: its own handle, so that another thread can bound or end a read.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use mysql::Conn;
use rustix::net::sockopt::{Timeout, set_socket_timeout};

/// A duplicate of a connection's socket. It stays valid when the connection is dropped, so that closing it can never
/// hit a descriptor that somebody else got meanwhile.
#[derive(Debug)]
pub struct SocketHandle(OwnedFd);

impl From<OwnedFd> for SocketHandle {
    fn from(socket: OwnedFd) -> Self {
        Self(socket)
    }
}

impl SocketHandle {
    /// Duplicates the socket of a connection.
    ///
    /// # Errors
    /// The system has no descriptor left.
    #[allow(unsafe_code)]
    pub fn of(conn: &Conn) -> std::io::Result<Self> {
        // SAFETY: the descriptor belongs to `conn`, which outlives the borrow: it is duplicated within this statement.
        let owned = unsafe { BorrowedFd::borrow_raw(conn.as_raw_fd()) }.try_clone_to_owned()?;
        Ok(Self(owned))
    }

    /// The descriptor, for whoever reads and writes past the driver.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Whether it is a Unix socket, whose bytes the driver neither encrypts nor compresses.
    pub fn is_unix(&self) -> bool {
        rustix::net::getsockname(&self.0)
            .is_ok_and(|address| address.address_family() == rustix::net::AddressFamily::UNIX)
    }

    /// Bounds every read and write from now on; `None` waits for ever.
    ///
    /// The driver takes a read that ran out of time for a lost connection, so this is a limit and not a way to poll.
    pub fn set_timeout(&self, limit: Option<Duration>) {
        for direction in [Timeout::Recv, Timeout::Send] {
            // A socket that refuses is closed already; the next use says so.
            let _ = set_socket_timeout(&self.0, direction, limit);
        }
    }

    /// The process at the other end of a Unix socket: the one that listens there.
    #[cfg(target_os = "linux")]
    pub fn peer_process(&self) -> Option<u32> {
        let peer = rustix::net::sockopt::socket_peercred(&self.0).ok()?;
        u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
    }

    #[cfg(not(target_os = "linux"))]
    pub fn peer_process(&self) -> Option<u32> {
        None
    }

    /// Closes the connection under whoever is reading from it.
    pub fn shutdown(&self) {
        // As above: closed already is what is wanted.
        let _ = rustix::net::shutdown(&self.0, rustix::net::Shutdown::Both);
    }
}
