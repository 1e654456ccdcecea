//! Hands out what a [`Monitor`] knows, over HTTP/1.1: `GET /metrics` for Prometheus, `GET /status` as JSON.
//!
//! One thread of its own serves a few clients at a time, and waits for none of them: each has a second, and a new one
//! takes the place of the oldest. A page is made at most once per [`EVERY`], however often it is asked for, so that
//! neither slow nor many clients cost memory or keep the processor from the worker.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;

use quell_units::{Duration, Time};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use rustix::thread::CapabilitySet;

use super::{EVERY, Monitor, Notice, STEP, export};
use crate::confine::confine;
use crate::port::{MonotonicClock, timespec};
use crate::unix_s;

/// The most clients at a time.
const CLIENTS: usize = 8;
/// The longest request, headers included.
const LONGEST_REQUEST: usize = 4096;
/// The time that a client may take from its connection to the last byte of its answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// The place where a gateway answers.
#[derive(Clone, Debug)]
pub struct Endpoint(Place);

#[derive(Clone, Debug)]
enum Place {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

impl Endpoint {
    /// A socket in the file system that only its owner may use.
    pub fn unix(path: impl Into<PathBuf>) -> Self {
        Endpoint(Place::Unix(path.into()))
    }

    /// A port; unless `any`, only one that other hosts cannot reach.
    ///
    /// # Errors
    /// Says which address would do.
    pub fn tcp(address: SocketAddr, any: bool) -> Result<Self, String> {
        if any || address.ip().is_loopback() {
            return Ok(Endpoint(Place::Tcp(address)));
        }
        let port = address.port();
        Err(format!(
            "{address}: other hosts reach this address, and whoever does may read the metrics; use 127.0.0.1:{port}, or \
             add --metrics-any"
        ))
    }

    /// Opens it: clients wait until a [`Server`] serves them.
    ///
    /// # Errors
    /// If the endpoint is taken or not allowed.
    pub fn listen(&self) -> io::Result<Listening> {
        let (socket, path) = match &self.0 {
            Place::Unix(path) => (listen_unix(path)?, Some(path.clone())),
            Place::Tcp(address) => {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                (listener.into(), None)
            }
        };
        Ok(Listening { socket, path })
    }
}

/// An endpoint that is open.
#[derive(Debug)]
pub struct Listening {
    socket: OwnedFd,
    path: Option<PathBuf>,
}

fn listen_unix(path: &Path) -> io::Result<OwnedFd> {
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        std::fs::DirBuilder::new().recursive(true).mode(0o755).create(dir)?;
    }
    match UnixStream::connect(path) {
        Ok(_) => {
            let why = format!(
                "{} is in use by another gateway: `quell gateway status --socket {}` shows it",
                quell_files::name(path),
                quell_files::name(path)
            );
            return Err(io::Error::new(io::ErrorKind::AddrInUse, why));
        }
        // Nobody listens: what a killed one left.
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path)?,
        Err(_) => {}
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // The file that it makes has this mode from the start (unix(7) of Linux), and no name is followed to set it.
    rustix::fs::fchmod(&socket, rustix::fs::Mode::from_raw_mode(0o600))?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    rustix::net::listen(&socket, 16)?;
    Ok(socket)
}

/// Serves until it is dropped.
pub struct Server {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    path: Option<PathBuf>,
    address: Option<SocketAddr>,
}

impl Server {
    /// Begins to answer; `notice` hears of what is raised and cleared.
    ///
    /// The thread that reads what clients send has no capability when this returns, and is that `user` and group if
    /// one is given.
    ///
    /// # Errors
    /// If the endpoint is taken or not allowed, or the user cannot be changed.
    pub fn start(
        endpoint: &Endpoint,
        monitor: Monitor,
        user: Option<(u32, u32)>,
        notice: impl FnMut(&Notice) + Send + 'static,
    ) -> io::Result<Server> {
        Server::serve(endpoint.listen()?, monitor, user, notice)
    }

    /// The same at an endpoint that is open already.
    ///
    /// # Errors
    /// If the user cannot be changed, or a thread cannot start.
    pub fn serve(
        at: Listening,
        monitor: Monitor,
        user: Option<(u32, u32)>,
        notice: impl FnMut(&Notice) + Send + 'static,
    ) -> io::Result<Server> {
        let Listening { socket: listener, path } = at;
        let address = match path {
            Some(_) => None,
            None => SocketAddr::try_from(rustix::net::getsockname(&listener)?).ok(),
        };
        let local = address.is_some_and(|a| a.ip().is_loopback());
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let (ready, started) = sync_channel(1);
        let stopped = stop.clone();
        let thread = std::thread::Builder::new().name("quell-metrics".into()).spawn(move || {
            let confined = confine(CapabilitySet::empty(), user);
            let failed = confined.is_err();
            let _ = ready.send(confined);
            if failed {
                return;
            }
            let mut serve = Serve {
                listener,
                local,
                clock: MonotonicClock::new(),
                monitor,
                pages: Default::default(),
                clients: Vec::with_capacity(CLIENTS),
                deaf_until: Time::ZERO,
            };
            serve.run(&stopped, notice);
        })?;
        let server = Server { stop, thread: Some(thread), path, address };
        started.recv().map_err(io::Error::other)??;
        Ok(server)
    }

    /// The address, of a port.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // A gateway that has given up its rights may not; the next one's start does.
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A page and when it was made.
type Page = Option<(Time, Arc<[u8]>)>;

/// The server's thread.
struct Serve {
    listener: OwnedFd,
    /// Other hosts cannot reach it.
    local: bool,
    clock: MonotonicClock,
    monitor: Monitor,
    /// Metrics and status.
    pages: [Page; 2],
    clients: Vec<Client>,
    /// No client is let in before: there was no descriptor for one.
    deaf_until: Time,
}

struct Client {
    socket: OwnedFd,
    until: Time,
    request: Vec<u8>,
    answer: Option<Answer>,
}

struct Answer {
    head: Vec<u8>,
    body: Arc<[u8]>,
    sent: usize,
}

impl Serve {
    fn run(&mut self, stop: &OwnedFd, mut notice: impl FnMut(&Notice)) {
        let mut turn = Time::ZERO;
        loop {
            let now = self.clock.now();
            if now >= turn {
                turn = now + STEP;
                self.monitor.turn(now, unix_s()).iter().for_each(&mut notice);
            }
            self.clients.retain(|client| client.until > now);
            let next = self.clients.iter().map(|client| client.until).fold(turn, Time::min);
            let deaf = self.deaf_until > now;
            let ready = {
                let wanted = |client: &Client| match client.answer {
                    Some(_) => PollFlags::OUT,
                    None => PollFlags::IN,
                };
                let listen = if deaf { PollFlags::empty() } else { PollFlags::IN };
                let fixed = [(stop.as_fd(), PollFlags::IN), (self.listener.as_fd(), listen)];
                let clients = self.clients.iter().map(|client| (client.socket.as_fd(), wanted(client)));
                let all: Vec<(BorrowedFd<'_>, PollFlags)> = fixed.into_iter().chain(clients).collect();
                let mut fds: Vec<PollFd<'_>> =
                    all.iter().map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
                let wait = Duration::from_nanos(next.nanos().saturating_sub(now.nanos()));
                match poll(&mut fds, Some(&timespec(wait))) {
                    Ok(_) => fds.iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<bool>>(),
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(_) => return,
                }
            };
            if ready[0] {
                return;
            }
            let now = self.clock.now();
            // From the last, so that those that are removed shift none that are still to be looked at.
            for i in (0..self.clients.len()).rev() {
                if ready[i + 2] && !self.go_on(i, now, &mut notice) {
                    self.clients.remove(i);
                }
            }
            if ready[1] {
                self.accept(now);
            }
        }
    }

    fn accept(&mut self, now: Time) {
        match rustix::net::accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(socket) => {
                if self.clients.len() == CLIENTS {
                    self.clients.remove(0);
                }
                let request = Vec::with_capacity(512);
                self.clients.push(Client { socket, until: now + PATIENCE, request, answer: None });
            }
            Err(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE | rustix::io::Errno::NOMEM) => {
                self.deaf_until = now + STEP;
            }
            // It has gone again.
            Err(_) => {}
        }
    }

    /// Reads or writes what can be; false if the client is done.
    fn go_on(&mut self, i: usize, now: Time, notice: &mut impl FnMut(&Notice)) -> bool {
        let client = &mut self.clients[i];
        if client.answer.is_none() {
            let mut buffer = [0u8; 1024];
            match rustix::net::recv(&client.socket, buffer.as_mut_slice(), RecvFlags::empty()) {
                Ok((0, _)) => return false,
                Ok((n, _)) => client.request.extend_from_slice(&buffer[..n]),
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return true,
                Err(_) => return false,
            }
            let Some(asked) = Asked::of(&client.request, self.local) else { return true };
            let answer = match asked {
                Asked::Page(page) => {
                    let body = self.page(page, now, notice);
                    let kind = [export::CONTENT_TYPE, "application/json"][page];
                    Answer::new("200 OK", kind, "", body)
                }
                Asked::Refused { status, header, why } => {
                    let body = format!("{why}\n").into_bytes().into();
                    Answer::new(status, "text/plain; charset=utf-8", header, body)
                }
            };
            self.clients[i].answer = Some(answer);
        }
        let client = &mut self.clients[i];
        let Some(answer) = &mut client.answer else { return false };
        answer.send(&client.socket)
    }

    /// The page, made again if the last one is old.
    fn page(&mut self, which: usize, now: Time, notice: &mut impl FnMut(&Notice)) -> Arc<[u8]> {
        if let Some((made, page)) = &self.pages[which]
            && now < *made + EVERY
        {
            return page.clone();
        }
        self.monitor.turn(now, unix_s()).iter().for_each(notice);
        let status = self.monitor.status(now);
        let text = match which {
            0 => export::prometheus(&status).into_bytes(),
            // Numbers and text: nothing that JSON cannot hold.
            _ => serde_json::to_vec(&status).unwrap_or_default(),
        };
        let page: Arc<[u8]> = text.into();
        self.pages[which] = Some((now, page.clone()));
        page
    }
}

impl Answer {
    fn new(status: &str, kind: &str, header: &str, body: Arc<[u8]>) -> Self {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\
             Connection: close\r\n{header}\r\n"
        );
        Answer { head: head.into_bytes(), body, sent: 0 }
    }

    /// Sends what can be sent; false if nothing is left.
    fn send(&mut self, socket: &OwnedFd) -> bool {
        loop {
            let rest = match self.head.get(self.sent..) {
                Some(head) if !head.is_empty() => head,
                _ => &self.body[self.sent - self.head.len()..],
            };
            if rest.is_empty() {
                // What the client still sends is not waited for.
                let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Write);
                return false;
            }
            match rustix::net::send(socket, rest, SendFlags::NOSIGNAL) {
                Ok(n) => self.sent += n,
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return true,
                Err(_) => return false,
            }
        }
    }
}

/// The page that a request asks for.
#[derive(Debug, PartialEq)]
enum Asked {
    /// Metrics (0) or status (1).
    Page(usize),
    /// Nothing that there is.
    Refused { status: &'static str, header: &'static str, why: &'static str },
}

impl Asked {
    /// Reads a request; `None` if more of it is to come.
    fn of(request: &[u8], local: bool) -> Option<Asked> {
        let refused = |status, header, why| Some(Asked::Refused { status, header, why });
        let bad = || refused("400 Bad Request", "", "this is not a request of HTTP/1.1");
        let Some(end) = request.windows(4).position(|w| w == b"\r\n\r\n") else {
            if request.len() > LONGEST_REQUEST {
                return refused("431 Request Header Fields Too Large", "", "the request is too long");
            }
            // What cannot become one is not waited for.
            let method = request.iter().take(16).take_while(|b| b.is_ascii_uppercase()).count();
            return if method < request.len().min(16) && request[method] != b' ' { bad() } else { None };
        };
        let Ok(text) = std::str::from_utf8(&request[..end]) else { return bad() };
        let mut lines = text.split("\r\n");
        let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, "HTTP/1.1" | "HTTP/1.0"] = words[..] else { return bad() };
        let mut host = None;
        for line in lines {
            let Some((name, value)) = line.split_once(':') else { return bad() };
            if name.eq_ignore_ascii_case("host") {
                host = Some(value.trim());
            }
        }
        // A page in a browser on this host could come here by a name of its own that leads to 127.0.0.1.
        if local && !host.is_none_or(is_local) {
            return refused("403 Forbidden", "", "ask by address: 127.0.0.1 or localhost");
        }
        if method != "GET" {
            return refused("405 Method Not Allowed", "Allow: GET\r\n", "only GET is understood");
        }
        match target.split('?').next() {
            Some("/metrics") => Some(Asked::Page(0)),
            Some("/status") => Some(Asked::Page(1)),
            _ => refused("404 Not Found", "", "there are /metrics (Prometheus) and /status (JSON)"),
        }
    }
}

fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || bare.parse::<std::net::IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(request: &str) -> Option<String> {
        Asked::of(request.as_bytes(), true).map(|asked| match asked {
            Asked::Page(page) => format!("page {page}"),
            Asked::Refused { status, .. } => status[..3].to_string(),
        })
    }

    #[test]
    fn requests_are_answered_or_refused() {
        let cases = [
            ("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", Some("page 0")),
            ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", Some("page 0")),
            ("GET /status HTTP/1.1\r\nHost: 127.0.0.1:9100\r\n\r\n", Some("page 1")),
            ("GET /status HTTP/1.1\r\nhost: [::1]:9100\r\n\r\n", Some("page 1")),
            ("GET /status HTTP/1.1\r\nHost: evil.example:9100\r\n\r\n", Some("403")),
            ("POST /status HTTP/1.1\r\n\r\n", Some("405")),
            ("GET / HTTP/1.1\r\n\r\n", Some("404")),
            ("GET /status HTTP/2\r\n\r\n", Some("400")),
            ("GET  /status HTTP/1.1\r\n\r\n", Some("400")),
            ("GET /status HTTP/1.1\r\nnonsense\r\n\r\n", Some("400")),
            ("\u{16}\u{3}\u{1}", Some("400")),
            ("GET /status HTT", None),
            ("GE", None),
            ("", None),
        ];
        for (request, wanted) in cases {
            assert_eq!(status(request).as_deref(), wanted, "{request:?}");
        }
        let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(LONGEST_REQUEST));
        assert_eq!(status(&long).as_deref(), Some("431"));
        assert!(Asked::of(b"GET \xff HTTP/1.1\r\n\r\n", false).is_some());
    }

    #[test]
    fn an_address_that_others_reach_is_refused() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        assert!(Endpoint::tcp(address("127.0.0.1:9100"), false).is_ok());
        assert!(Endpoint::tcp(address("[::1]:9100"), false).is_ok());
        let error = Endpoint::tcp(address("0.0.0.0:9100"), false).unwrap_err();
        assert!(error.contains("127.0.0.1:9100") && error.contains("--metrics-any"), "{error}");
        assert!(Endpoint::tcp(address("0.0.0.0:9100"), true).is_ok());
    }
}
