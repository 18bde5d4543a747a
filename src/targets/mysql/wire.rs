//! A text statement, LOAD DATA LOCAL with its rows, or a prepared statement with its answer, over the plain Unix socket of a
//! connection, past the driver.
//!
//! A thread that sleeps in `recv` on a Unix socket is woken twice for each statement: when the server takes the request
//! (the kernel reports room for writing to every sleeper) and when it answers. On two cores the useless wake-up made
//! statements of one row a fifth slower than those of a client that waits in `poll`, which filters. The driver
//! offers no other way to wait; between two of its commands nothing is buffered, so that a command may go past it. It also
//! copies the rows of LOAD DATA into packets of 4 KiB, one call of the system each.

use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::Arc;

use mysql::{Error, MySqlError};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, send, sendmsg};

use super::execute::{self, Coding};
use super::socket::SocketHandle;
use crate::targets::answer::Rows;

/// COM_QUERY of the client/server protocol.
const QUERY: u8 = 3;
/// A packet's header: three bytes of length, one of sequence.
const HEADER_BYTES: usize = 4;
/// The longest body of one packet: longer statements are cut in several, which is left to the driver.
const PACKET_BYTES: usize = 0xff_ffff;
/// A statement up to this size travels with its header from one buffer; a longer one is gathered from two.
const SHORT_BYTES: usize = 2048;

/// How much of a file goes into one packet, at most.
const FILE_PACKET_BYTES: usize = 64 << 10;
/// Packets that one call of the system sends: the kernel takes a thousand parts and more, and progress is told after each.
const PACKETS_AT_ONCE: usize = 4;

/// What a server says to a statement that it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Rows it took.
    pub affected_rows: u64,
    pub warnings: u16,
}

enum Reply {
    Taken(Answer),
    WantsFile,
}

/// One connection's way past the driver.
#[derive(Debug)]
pub struct Wire {
    socket: Arc<SocketHandle>,
    buffer: Vec<u8>,
}

impl Wire {
    /// Over a Unix socket that is neither encrypted nor compressed.
    pub fn new(socket: Arc<SocketHandle>) -> Self {
        Self { socket, buffer: Vec::with_capacity(HEADER_BYTES + SHORT_BYTES) }
    }

    /// Whether a statement fits into one packet.
    pub fn takes(sql: &str) -> bool {
        sql.len() + 1 < PACKET_BYTES
    }

    /// Sends a statement that gives no rows, and waits for the answer.
    ///
    /// # Errors
    /// What the server said, in the driver's terms; the connection is lost.
    pub fn query(&mut self, sql: &str) -> mysql::Result<Answer> {
        self.send(sql.as_bytes()).map_err(Error::IoError)?;
        match self.reply()? {
            Reply::Taken(answer) => Ok(answer),
            Reply::WantsFile => Err(unexpected()),
        }
    }

    /// Sends LOAD DATA LOCAL, and the rows when the server asks for them, in packets of at most `packet_bytes`. Tells after
    /// each portion how many bytes have gone. `None`: the server took the statement and did not ask for the rows.
    ///
    /// # Errors
    /// What the server said, in the driver's terms; the connection is lost.
    pub fn query_with_file(
        &mut self,
        sql: &str,
        bytes: &[u8],
        packet_bytes: usize,
        tell: &mut dyn FnMut(u64),
    ) -> mysql::Result<Option<Answer>> {
        self.send(sql.as_bytes()).map_err(Error::IoError)?;
        if let Reply::Taken(_) = self.reply()? {
            return Ok(None);
        }
        self.send_file(bytes, packet_bytes.clamp(1, FILE_PACKET_BYTES), tell).map_err(Error::IoError)?;
        match self.reply()? {
            Reply::Taken(answer) => Ok(Some(answer)),
            Reply::WantsFile => Err(unexpected()),
        }
    }

    /// Sends a request that executes a prepared statement, and takes its rows. `columns` is how the server codes them, as it said
    /// last: MariaDB does not say it again. Statements that change rows give none.
    ///
    /// # Errors
    /// What the server said, in the driver's terms; the connection is lost.
    pub fn execute(&mut self, request: &[u8], columns: &mut Vec<Coding>, rows: &mut Rows) -> mysql::Result<Answer> {
        rows.begin(columns.len());
        self.send_command(request).map_err(Error::IoError)?;
        self.buffer.clear();
        // An answer is never there at once: looking for it first would be a call for nothing.
        self.wait().map_err(Error::IoError)?;
        let mut at = 0;
        let first = self.next(&mut at).map_err(Error::IoError)?;
        let mut head = &self.buffer[first];
        match head.first() {
            Some(0x00) => return answer(&head[1..]).filter(|_| at == self.buffer.len()).ok_or_else(unexpected),
            Some(0xff) => return Err(Error::MySqlError(refusal(&head[1..]).ok_or_else(unexpected)?)),
            _ => {}
        }
        let count = number(&mut head).ok_or_else(unexpected)?;
        // A byte behind it that is 0: the columns are those of the last time.
        if head.first() != Some(&0) {
            columns.clear();
            for _ in 0..count {
                let body = self.next(&mut at).map_err(Error::IoError)?;
                columns.push(Coding::read(&self.buffer[body]).ok_or_else(unexpected)?);
            }
        }
        let end_of_columns = self.next(&mut at).map_err(Error::IoError)?;
        if !is_end(&self.buffer[end_of_columns]) || columns.len() as u64 != count {
            return Err(unexpected());
        }
        rows.begin(columns.len());
        loop {
            let body = self.next(&mut at).map_err(Error::IoError)?;
            let body = &self.buffer[body];
            match body.first() {
                Some(0x00) => execute::row(&body[1..], columns, rows).ok_or_else(unexpected)?,
                Some(0xff) => return Err(Error::MySqlError(refusal(&body[1..]).ok_or_else(unexpected)?)),
                _ if is_end(body) && at == self.buffer.len() => {
                    return Ok(Answer { affected_rows: 0, warnings: u16::from_le_bytes([body[1], body[2]]) });
                }
                _ => return Err(unexpected()),
            }
        }
    }

    /// Where the next packet's body lies in the buffer, which holds all of an answer so far.
    fn next(&mut self, at: &mut usize) -> io::Result<Range<usize>> {
        loop {
            if let Some(header) = self.buffer[*at..].first_chunk::<HEADER_BYTES>() {
                let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
                if length == PACKET_BYTES {
                    // A value of 16 MiB: it goes on in another packet.
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "a row is longer than a packet"));
                }
                let start = *at + HEADER_BYTES;
                if self.buffer.len() >= start + length {
                    *at = start + length;
                    return Ok(start..*at);
                }
            }
            self.receive()?;
        }
    }

    fn send_command(&mut self, request: &[u8]) -> io::Result<()> {
        self.buffer.clear();
        self.buffer.extend_from_slice(&(request.len() as u32).to_le_bytes()[..3]);
        self.buffer.push(0);
        if request.len() <= SHORT_BYTES {
            self.buffer.extend_from_slice(request);
            return self.send_parts(&mut [&self.buffer]);
        }
        self.send_parts(&mut [&self.buffer, request])
    }

    fn reply(&mut self) -> mysql::Result<Reply> {
        loop {
            let body = self.packet().map_err(Error::IoError)?;
            match body.first() {
                Some(0x00) => return answer(&body[1..]).map(Reply::Taken).ok_or_else(unexpected),
                Some(0xfb) => return Ok(Reply::WantsFile),
                Some(0xff) => match refusal(&body[1..]).ok_or_else(unexpected)? {
                    // MariaDB tells how far a long statement is, under this code.
                    MySqlError { code: 0xffff, .. } => {}
                    error => return Err(Error::MySqlError(error)),
                },
                _ => return Err(unexpected()),
            }
        }
    }

    /// The rows, and the empty packet that ends them. The numbers of packets go on from the server's question.
    fn send_file(&self, bytes: &[u8], packet_bytes: usize, tell: &mut dyn FnMut(u64)) -> io::Result<()> {
        let mut number: u8 = 2;
        let mut gone = 0;
        for portion in bytes.chunks(packet_bytes * PACKETS_AT_ONCE) {
            let mut headers = [[0; HEADER_BYTES]; PACKETS_AT_ONCE];
            let packets = portion.chunks(packet_bytes);
            for (header, packet) in headers.iter_mut().zip(packets.clone()) {
                header[..3].copy_from_slice(&(packet.len() as u32).to_le_bytes()[..3]);
                header[3] = number;
                number = number.wrapping_add(1);
            }
            let mut parts: Vec<&[u8]> =
                headers.iter().zip(packets).flat_map(|(head, body)| [&head[..], body]).collect();
            self.send_parts(&mut parts)?;
            gone += portion.len() as u64;
            tell(gone);
        }
        self.send_parts(&mut [&[0, 0, 0, number]])
    }

    fn send(&mut self, sql: &[u8]) -> io::Result<()> {
        let length = (sql.len() + 1) as u32;
        self.buffer.clear();
        self.buffer.extend_from_slice(&length.to_le_bytes()[..3]);
        self.buffer.extend_from_slice(&[0, QUERY]);
        if sql.len() <= SHORT_BYTES {
            self.buffer.extend_from_slice(sql);
            return self.send_parts(&mut [&self.buffer]);
        }
        self.send_parts(&mut [&self.buffer, sql])
    }

    /// Sends the parts one after the other, with as few calls of the system as it takes.
    fn send_parts(&self, mut parts: &mut [&[u8]]) -> io::Result<()> {
        while let Some(first) = parts.first() {
            let sent = if parts.len() == 1 {
                send(self.socket.fd(), first, SendFlags::NOSIGNAL)
            } else {
                let slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
                sendmsg(self.socket.fd(), &slices, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)
            };
            let mut sent = match sent {
                Ok(sent) => sent,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            while let Some(part) = parts.first_mut() {
                if sent < part.len() {
                    *part = &part[sent..];
                    break;
                }
                sent -= part.len();
                parts = &mut parts[1..];
            }
        }
        Ok(())
    }

    /// The body of one packet.
    fn packet(&mut self) -> io::Result<&[u8]> {
        self.buffer.clear();
        loop {
            if let Some(header) = self.buffer.first_chunk::<HEADER_BYTES>() {
                let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
                match self.buffer.len().cmp(&(HEADER_BYTES + length)) {
                    std::cmp::Ordering::Less => {}
                    std::cmp::Ordering::Equal => return Ok(&self.buffer[HEADER_BYTES..]),
                    // One command has one answer: what comes beyond it belongs to nothing that was asked.
                    std::cmp::Ordering::Greater => return Err(io::ErrorKind::InvalidData.into()),
                }
            }
            self.receive()?;
        }
    }

    fn receive(&mut self) -> io::Result<()> {
        let mut bytes = [0; 4096];
        loop {
            match recv(self.socket.fd(), &mut bytes[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "server disconnected")),
                Ok((received, _)) => {
                    self.buffer.extend_from_slice(&bytes[..received]);
                    return Ok(());
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait()?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits until there is something to receive.
    fn wait(&self) -> io::Result<()> {
        match poll(&mut [PollFd::from_borrowed_fd(self.socket.fd(), PollFlags::IN)], None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// An EOF packet: which ends the columns, and the rows.
fn is_end(body: &[u8]) -> bool {
    body.len() == 5 && body[0] == 0xfe
}

fn unexpected() -> Error {
    Error::IoError(io::Error::new(io::ErrorKind::InvalidData, "the server's answer is none that the statement has"))
}

/// An OK packet behind its first byte: rows, last id, status, warnings.
fn answer(mut body: &[u8]) -> Option<Answer> {
    let affected_rows = number(&mut body)?;
    number(&mut body)?;
    let [_, _, low, high, ..] = *body else { return None };
    Some(Answer { affected_rows, warnings: u16::from_le_bytes([low, high]) })
}

pub(super) fn number(body: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = body.split_first()?;
    let bytes = match first {
        0..=0xfa => {
            *body = rest;
            return Some(u64::from(first));
        }
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        _ => return None,
    };
    let (value, rest) = rest.split_at_checked(bytes)?;
    *body = rest;
    Some(value.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// An ERR packet behind its first byte: code, `#` and state, text.
fn refusal(body: &[u8]) -> Option<MySqlError> {
    let (code, text) = body.split_first_chunk::<2>()?;
    let (state, text) = match text {
        [b'#', rest @ ..] => rest.split_at_checked(5)?,
        text => (&b"HY000"[..], text),
    };
    let word = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(MySqlError { state: word(state), message: word(text), code: u16::from_le_bytes(*code) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use crate::rows::Value;

    /// A wire, and the server's end of it.
    fn pair() -> (Wire, UnixStream) {
        let (client, server) = UnixStream::pair().unwrap();
        (Wire::new(Arc::new(SocketHandle::from(std::os::fd::OwnedFd::from(client)))), server)
    }

    fn packet(body: &[u8]) -> Vec<u8> {
        let mut bytes = (body.len() as u32).to_le_bytes()[..3].to_vec();
        bytes.push(1);
        bytes.extend_from_slice(body);
        bytes
    }

    /// What the wire makes of a server that answers with `parts`, one after the other, to `sql`.
    fn asked(sql: &str, parts: Vec<Vec<u8>>) -> (mysql::Result<Answer>, Vec<u8>) {
        let (mut wire, mut server) = pair();
        let length = sql.len() + 5;
        let other_end = std::thread::spawn(move || {
            let mut request = vec![0; length];
            server.read_exact(&mut request).unwrap();
            for part in parts {
                server.write_all(&part).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            request
        });
        let answer = wire.query(sql);
        (answer, other_end.join().unwrap())
    }

    #[test]
    fn a_statement_is_one_packet_and_its_answer_may_come_in_parts() {
        for sql in ["INSERT".to_owned(), "x".repeat(SHORT_BYTES), "x".repeat(300_000)] {
            let ok = packet(&[0, 0xfc, 0xe8, 3, 7, 2, 0, 5, 0, b'i']);
            let (answer, request) = asked(&sql, vec![ok[..2].to_vec(), ok[2..9].to_vec(), ok[9..].to_vec()]);
            assert_eq!(answer.unwrap(), Answer { affected_rows: 1000, warnings: 5 });
            assert_eq!(request[..5], [&((sql.len() + 1) as u32).to_le_bytes()[..3], &[0, 3]].concat());
            assert_eq!(&request[5..], sql.as_bytes());
        }
    }

    #[test]
    fn a_file_goes_in_numbered_packets_and_an_empty_one_ends_it() {
        // More than 256 packets: their numbers come again.
        let bytes: Vec<u8> = (0..300_000_u32).map(|at| (at % 251) as u8).collect();
        let (mut wire, mut server) = pair();
        let other_end = std::thread::spawn(move || {
            let mut request = vec![0; 5 + 9];
            server.read_exact(&mut request).unwrap();
            server.write_all(&packet(b"\xfbrowcliff")).unwrap();
            let (mut file, mut number) = (Vec::new(), 2_u8);
            loop {
                let mut header = [0; 4];
                server.read_exact(&mut header).unwrap();
                assert_eq!(header[3], number);
                number = number.wrapping_add(1);
                let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
                if length == 0 {
                    break;
                }
                assert!(length <= 1000);
                let mut body = vec![0; length];
                server.read_exact(&mut body).unwrap();
                file.extend(body);
            }
            server.write_all(&packet(&[0, 7, 0, 2, 0, 0, 0])).unwrap();
            file
        });
        let mut told = Vec::new();
        let answer = wire.query_with_file("LOAD DATA", &bytes, 1000, &mut |gone| told.push(gone)).unwrap();
        assert_eq!(answer, Some(Answer { affected_rows: 7, warnings: 0 }));
        assert!(other_end.join().unwrap() == bytes);
        assert_eq!((told.first(), told.last()), (Some(&4000), Some(&300_000)));
        assert!(told.is_sorted());
    }

    #[test]
    fn a_server_that_does_not_ask_for_the_file_is_known() {
        let (mut wire, mut server) = pair();
        server.write_all(&packet(&[0, 0, 0, 2, 0, 0, 0])).unwrap();
        assert_eq!(wire.query_with_file("LOAD DATA", b"row", 1000, &mut |_| {}).unwrap(), None);
        let mut rest = vec![0; 14];
        server.read_exact(&mut rest).unwrap();
        drop(wire);
        assert_eq!(server.read_to_end(&mut Vec::new()).unwrap(), 0, "no row was sent");
    }

    /// What the wire makes of a server that answers with `answer` to a request of one byte, all at once or byte by byte.
    fn executed(answer: &[u8], columns: &mut Vec<Coding>, rows: &mut Rows, at_once: bool) -> mysql::Result<Answer> {
        let (mut wire, mut server) = pair();
        let answer = answer.to_vec();
        let other_end = std::thread::spawn(move || {
            server.read_exact(&mut [0; 5]).unwrap();
            let portion = if at_once { answer.len() } else { 1 };
            answer.chunks(portion.max(1)).for_each(|part| server.write_all(part).unwrap());
        });
        let answer = wire.execute(&[0x17], columns, rows);
        other_end.join().unwrap();
        answer
    }

    #[test]
    fn rows_of_a_prepared_statement_are_taken_and_columns_are_remembered() {
        let end = packet(&[0xfe, 0, 0, 2, 0]);
        let column = packet(&[&[0; 6][..], &[12, 63, 0, 11, 0, 0, 0, 3, 32, 0, 0, 0, 0]].concat());
        let row = |number: u8| packet(&[0, 0, number, 0, 0, 0]);
        let told = [packet(&[1]), column, end.clone(), row(5), row(6), end.clone()].concat();
        let (mut columns, mut rows) = (Vec::new(), Rows::default());
        for at_once in [true, false] {
            executed(&told, &mut columns, &mut rows, at_once).unwrap();
            assert_eq!(rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>(), [Value::UInt(5), Value::UInt(6)]);
        }
        let untold = [packet(&[1, 0]), end.clone(), row(7), end.clone()].concat();
        executed(&untold, &mut columns, &mut rows, true).unwrap();
        assert_eq!(rows.first().unwrap(), [Value::UInt(7)]);
        let changed = packet(&[0, 3, 0, 2, 0, 0, 0]);
        assert_eq!(executed(&changed, &mut columns, &mut rows, true).unwrap().affected_rows, 3);
        assert!(rows.is_empty());
        // Columns that were never told, an answer that goes on behind its end, and one that is refused on its way.
        assert!(executed(&untold, &mut Vec::new(), &mut rows, true).is_err());
        assert!(executed(&[untold.clone(), end].concat(), &mut columns, &mut rows, true).is_err());
        let refused = [&untold[..untold.len() - 9], &packet(b"\xff\xbd\x04#40001Deadlock found")].concat();
        assert!(matches!(executed(&refused, &mut columns, &mut rows, true), Err(Error::MySqlError(_))));
    }

    #[test]
    fn numbers_of_every_length_are_read() {
        for (bytes, expected) in [
            (vec![250], 250),
            (vec![0xfc, 1, 2], 0x201),
            (vec![0xfd, 1, 2, 3], 0x30201),
            (vec![0xfe, 1, 0, 0, 0, 0, 0, 0, 1], 0x100_0000_0000_0001),
        ] {
            assert_eq!(number(&mut &bytes[..]), Some(expected));
            assert_eq!(number(&mut &bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(number(&mut &[0xfb_u8][..]), None);
    }

    #[test]
    fn a_refusal_has_the_servers_code_and_text_and_reports_of_progress_are_passed_over() {
        let refused = packet(b"\xff\xbd\x04#40001Deadlock found");
        let (answer, _) = asked("INSERT", vec![packet(b"\xff\xff\xff\x01\x01"), refused]);
        match answer.unwrap_err() {
            Error::MySqlError(error) => {
                assert_eq!((error.code, error.message.as_str()), (1213, "Deadlock found"));
                assert_eq!(error.state, "40001");
            }
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_closed_connection_and_an_answer_that_is_none_are_errors_and_never_rows() {
        for parts in [vec![], vec![packet(&[0, 1])], vec![packet(&[2, 1, 1])], vec![packet(&[])], vec![vec![9, 0]]] {
            assert!(matches!(asked("INSERT", parts).0.unwrap_err(), Error::IoError(_)));
        }
        // An answer that nobody asked for would be taken for the next statement's.
        let twice = [packet(&[0, 1, 0, 2, 0, 0, 0]), packet(&[0, 1, 0, 2, 0, 0, 0])].concat();
        assert!(asked("INSERT", vec![twice]).0.is_err());
    }

    #[test]
    fn a_wait_ends_when_the_socket_is_shut_down() {
        let (mut wire, _server) = pair();
        let socket = Arc::clone(&wire.socket);
        let waiting = std::thread::spawn(move || wire.query("INSERT"));
        std::thread::sleep(std::time::Duration::from_millis(30));
        socket.shutdown();
        assert!(matches!(waiting.join().unwrap(), Err(Error::IoError(_))));
    }
}
