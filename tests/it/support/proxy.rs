//! A small TCP proxy that cuts connections which were idle, as balancers do.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A proxy that runs until it is dropped.
pub struct Proxy {
    /// Where it listens on 127.0.0.1.
    pub port: u16,
    /// Connections that it has cut.
    cut: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
}

impl Proxy {
    /// In front of a server on 127.0.0.1; cuts what was silent for `idle` in both directions.
    pub fn start(server: u16, idle: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (cut, ended) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let (counter, stop) = (Arc::clone(&cut), Arc::clone(&ended));
        std::thread::spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                match listener.accept() {
                    Ok((client, _)) => {
                        client.set_nonblocking(false).unwrap();
                        if let Ok(server) = TcpStream::connect(("127.0.0.1", server)) {
                            forward(client, server, idle, &counter);
                        }
                    }
                    Err(_) => std::thread::sleep(Duration::from_millis(2)),
                }
            }
        });
        Self { port, cut, ended }
    }

    /// Connections that it has cut.
    pub fn cut(&self) -> u64 {
        self.cut.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
    }
}

/// Carries bytes in both directions until one side closes, or both were silent for too long.
fn forward(client: TcpStream, server: TcpStream, idle: Duration, cut: &Arc<AtomicU64>) {
    for stream in [&client, &server] {
        stream.set_nodelay(true).unwrap();
    }
    let last = Arc::new(Mutex::new(Instant::now()));
    let over = Arc::new(AtomicBool::new(false));
    for (from, to) in [(&client, &server), (&server, &client)] {
        let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        let (last, over) = (Arc::clone(&last), Arc::clone(&over));
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                *last.lock().unwrap() = Instant::now();
                if to.write_all(&buffer[..count]).is_err() {
                    break;
                }
                *last.lock().unwrap() = Instant::now();
            }
            over.store(true, Ordering::SeqCst);
            let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
        });
    }
    let cut = Arc::clone(cut);
    std::thread::spawn(move || {
        while !over.load(Ordering::SeqCst) {
            if last.lock().unwrap().elapsed() > idle {
                cut.fetch_add(1, Ordering::SeqCst);
                let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    });
}
