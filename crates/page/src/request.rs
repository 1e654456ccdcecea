//! Requests of HTTP, as far as a server of files needs them.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The most bytes of a request: a browser's has about one thousand.
const MOST_BYTES: usize = 16 << 10;
const MOST_HEADERS: usize = 64;
/// The time within which a request is there: browsers connect ahead of it.
const PATIENCE: Duration = Duration::from_secs(20);

/// A request for a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// The path, without what follows a question mark.
    pub path: String,
    /// No more than the head of the answer is wanted.
    pub head_only: bool,
    /// The answer may be compressed by gzip.
    pub takes_gzip: bool,
    known: Vec<String>,
}

/// The end of a connection on which there is no request to answer.
#[derive(Debug)]
pub(crate) enum Unread {
    /// Nobody listens.
    Gone,
    /// It is refused.
    Refused(Refusal),
}

/// A request that is not served: the status of HTTP for it, and why in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Its status.
    pub status: (u16, &'static str),
    /// The reason.
    pub why: String,
}

impl Request {
    /// Reads a request from a connection.
    pub fn read(stream: &mut TcpStream) -> Result<Request, Unread> {
        let end = Instant::now() + PATIENCE;
        let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
        loop {
            let left = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
            let left = left.ok_or(Unread::Gone)?;
            stream.set_read_timeout(Some(left)).map_err(|_| Unread::Gone)?;
            match stream.read(&mut piece) {
                Ok(0) => return Err(Unread::Gone),
                Ok(n) => bytes.extend_from_slice(&piece[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return Err(Unread::Gone),
            }
            if let Some(request) = Request::parse(&bytes).map_err(Unread::Refused)? {
                return Ok(request);
            }
            if bytes.len() > MOST_BYTES {
                return Err(Unread::Refused(too_large()));
            }
        }
    }

    /// Reads a request. `None`: its end is not there yet.
    ///
    /// # Errors
    /// If it is wrong, or not to be served.
    pub fn parse(bytes: &[u8]) -> Result<Option<Request>, Refusal> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        match parsed.parse(bytes) {
            Ok(httparse::Status::Partial) => return Ok(None),
            Ok(httparse::Status::Complete(_)) => {}
            Err(httparse::Error::TooManyHeaders) => return Err(too_large()),
            Err(e) => return Err(bad(&format!("this is not a request of HTTP/1.1: {e}"))),
        }
        let values = |name: &str| {
            let named = parsed.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
            named.map(|header| String::from_utf8_lossy(header.value).into_owned()).collect::<Vec<_>>()
        };
        match values("Host").as_slice() {
            [host] if is_here(host) => {}
            // Another site may have given its own name this machine's address, to read what is served here.
            [_] => {
                let why = "this server answers only to localhost and 127.0.0.1, so that no other site reads what it has";
                return Err(refusal((403, "Forbidden"), why));
            }
            _ => return Err(bad("a request names one host")),
        }
        let head_only = match parsed.method {
            Some("GET") => false,
            Some("HEAD") => true,
            _ => {
                return Err(refusal((405, "Method Not Allowed"), "files are only read here: GET or HEAD"));
            }
        };
        let target = parsed.path.unwrap_or_default();
        if !target.starts_with('/') {
            return Err(bad("a request names a path"));
        }
        let path = target.split_once('?').map_or(target, |(path, _)| path).to_string();
        let lists = |name| values(name).join(",");
        let takes_gzip = lists("Accept-Encoding").split(',').any(is_gzip);
        let known = lists("If-None-Match").split(',').map(|tag| tag.trim().to_string()).collect();
        Ok(Some(Request { path, head_only, takes_gzip, known }))
    }

    /// True if who asks has the file of this tag already.
    pub fn has(&self, tag: &str) -> bool {
        // A cache in between may have made a strong tag a weak one.
        self.known.iter().any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
    }
}

/// True for this machine's own names; the port may be that of a tunnel.
fn is_here(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|own| name.eq_ignore_ascii_case(own))
}

/// True for an entry of `Accept-Encoding` that takes gzip.
fn is_gzip(entry: &str) -> bool {
    let mut words = entry.split(';').map(str::trim);
    let takes = words.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
    takes && !words.any(|weight| matches!(weight, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
}

fn refusal(status: (u16, &'static str), why: &str) -> Refusal {
    Refusal { status, why: why.to_string() }
}

fn bad(why: &str) -> Refusal {
    refusal((400, "Bad Request"), why)
}

fn too_large() -> Refusal {
    refusal((431, "Request Header Fields Too Large"), "the request is too large")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<Request>, Refusal> {
        Request::parse(text.as_bytes())
    }

    #[test]
    fn a_request_is_read_when_it_is_whole() {
        let text = "GET /a.js?x=/../ HTTP/1.1\r\nhost: localhost:9000\r\nAccept-Encoding: br, gzip;q=0.5\r\n\
                    If-None-Match: W/\"a\", \"b\"\r\n\r\n";
        let request = parse(text).unwrap().unwrap();
        assert_eq!((request.path.as_str(), request.head_only, request.takes_gzip), ("/a.js", false, true));
        assert!(request.has("\"a\"") && request.has("\"b\"") && !request.has("\"c\""));
        for end in 0..text.len() {
            assert_eq!(parse(&text[..end]), Ok(None), "{end}");
        }
    }

    #[test]
    fn hosts_are_this_machine() {
        for host in ["localhost", "LOCALHOST:1", "127.0.0.1:8765", "[::1]:8765"] {
            assert!(is_here(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example:8765",
            "[::2]",
            "127.0.0.1:x",
        ] {
            assert!(!is_here(host), "{host}");
        }
    }

    #[test]
    fn gzip_is_taken_unless_its_weight_is_zero() {
        for entry in ["gzip", " gzip;q=1.0", "GZIP ; q=0.001"] {
            assert!(is_gzip(entry), "{entry}");
        }
        for entry in ["", "br", "gzip;q=0", "gzip; q=0.000", "x-gzip"] {
            assert!(!is_gzip(entry), "{entry}");
        }
    }
}
