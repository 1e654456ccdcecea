//! The server, on this machine and for it alone.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::answer::Answer;
use crate::page::Page;
use crate::request::{Refusal, Request, Unread};

/// The most connections at once; a browser has about six.
const MOST: usize = 64;
/// The time that a browser may take for a piece of an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time after which a wish to stop is seen.
const GLANCE: Duration = Duration::from_millis(50);
/// The longest wait for who has been answered, and the most that is read of what it still says.
const FAREWELL: (Duration, usize) = (Duration::from_secs(1), 64 << 10);

/// The files that a server has by their paths, beside those of the page.
pub type Further = dyn Fn(&str) -> Option<Answer> + Send + Sync;

/// What is served: the page, and what its user opened in it.
pub struct Site {
    /// The page.
    pub page: Page,
    /// What is beside it, which is asked for first.
    pub further: Box<Further>,
}

/// A port of this machine, which nobody else can reach.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddrV4,
}

impl Server {
    /// Takes a port; 0 is any that is free.
    ///
    /// # Errors
    /// If another program has it, or this one may not.
    pub fn bind(port: u16) -> io::Result<Server> {
        let listener = TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        Ok(Server { listener, address: SocketAddrV4::new(Ipv4Addr::LOCALHOST, port) })
    }

    /// The address of what it serves.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Answers browsers until `stop` is set.
    pub fn serve(self, site: Site, stop: &AtomicBool) {
        let ended = Arc::new(AtomicBool::new(false));
        let accepting = {
            let (listener, ended, site) = (self.listener, ended.clone(), Arc::new(site));
            thread::spawn(move || accept(&listener, &site, &ended))
        };
        while !stop.load(Ordering::Relaxed) {
            thread::sleep(GLANCE);
        }
        ended.store(true, Ordering::Relaxed);
        // It waits for a connection: this is one.
        let woken = TcpStream::connect_timeout(&self.address.into(), Duration::from_secs(1));
        if woken.is_ok() {
            let _ = accepting.join();
        }
    }
}

/// Takes connections until it is woken to end.
fn accept(listener: &TcpListener, site: &Arc<Site>, ended: &AtomicBool) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if ended.load(Ordering::Relaxed) {
            return;
        }
        match stream {
            Ok(stream) if open.load(Ordering::Relaxed) < MOST => {
                open.fetch_add(1, Ordering::Relaxed);
                let (site, open) = (site.clone(), open.clone());
                thread::spawn(move || {
                    let _one = Closing(&open);
                    // Who went away misses nothing.
                    let _ = attend(stream, &site);
                });
            }
            // A browser asks again.
            Ok(stream) => drop(stream),
            // Such as too many open files: others may close some.
            Err(_) => thread::sleep(GLANCE),
        }
    }
}

/// Counts a connection out, however its thread ends.
struct Closing<'a>(&'a AtomicUsize);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads a request and answers it.
fn attend(mut stream: TcpStream, site: &Site) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = match Request::read(&mut stream) {
        Ok(request) => request,
        Err(Unread::Gone) => return Ok(()),
        Err(Unread::Refused(refusal)) => {
            Answer::refusal(refusal).write(None, &mut stream)?;
            return part(stream);
        }
    };
    let found = (site.further)(&request.path).or_else(|| site.page.find(&request.path));
    let answer = found.unwrap_or_else(|| {
        Answer::refusal(Refusal { status: (404, "Not Found"), why: "there is no such file".to_string() })
    });
    let mut buffered = io::BufWriter::with_capacity(1 << 16, &mut stream);
    answer.write(Some(&request), &mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    part(stream)
}

/// Ends a connection so that its answer arrives: closed while something of a request is unread, it would be reset.
fn part(mut stream: TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let (time, most) = FAREWELL;
    let (end, mut read, mut piece) = (Instant::now() + time, 0, [0; 4096]);
    while read < most {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece)? {
            0 => break,
            n => read += n,
        }
    }
    Ok(())
}
