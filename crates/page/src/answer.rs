//! Answers, and the headers that all of them have.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

use crate::request::{Refusal, Request};

/// What the page may do (Content Security Policy, level 3): everything is its own, nothing is from elsewhere, and code is
/// compiled from WebAssembly alone. `lab/src/index.html` says the same, for servers that add no header.
pub const POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
                          img-src 'self' data: blob:; worker-src 'self'; connect-src 'self'; \
                          frame-src 'self' blob:; base-uri 'none'; form-action 'none'";

/// An answer: a status of HTTP and what is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    status: (u16, &'static str),
    kind: &'static str,
    body: Cow<'static, [u8]>,
    compressed: bool,
}

impl Answer {
    /// A file of this media type.
    pub fn new(kind: &'static str, body: Vec<u8>) -> Answer {
        Answer { status: (200, "OK"), kind, body: Cow::Owned(body), compressed: false }
    }

    /// A file of this media type, compressed by gzip.
    pub fn compressed(kind: &'static str, body: &'static [u8]) -> Answer {
        Answer { status: (200, "OK"), kind, body: Cow::Borrowed(body), compressed: true }
    }

    /// Says in a line why there is none.
    pub(crate) fn refusal(Refusal { status, why }: Refusal) -> Answer {
        let body = format!("{why}\n").into_bytes();
        Answer { status, kind: "text/plain; charset=utf-8", body: Cow::Owned(body), compressed: false }
    }

    /// Writes it in the form that `request` can read; `None` is a request that could not be read itself.
    pub(crate) fn write(self, request: Option<&Request>, out: &mut impl Write) -> io::Result<()> {
        let unpacks = request.is_some_and(|request| request.takes_gzip);
        let body = match self.compressed && !unpacks {
            true => Cow::Owned(unpacked(&self.body)?),
            false => self.body,
        };
        let packed = self.compressed && unpacks;
        let tag = tag(&body);
        let is_known = self.status.0 == 200 && request.is_some_and(|request| request.has(&tag));
        let (code, reason) = if is_known { (304, "Not Modified") } else { self.status };
        let mut head = format!("HTTP/1.1 {code} {reason}\r\n");
        let mut header = |name: &str, value: &str| {
            let _ = write!(head, "{name}: {value}\r\n");
        };
        header("Connection", "close");
        // Asked for again each time, and not sent again if it is the same.
        header("Cache-Control", "no-cache");
        header("Content-Security-Policy", &format!("{POLICY}; frame-ancestors 'self'"));
        header("Cross-Origin-Resource-Policy", "same-origin");
        header("Referrer-Policy", "no-referrer");
        header("X-Content-Type-Options", "nosniff");
        header("Vary", "Accept-Encoding");
        if code == 405 {
            header("Allow", "GET, HEAD");
        }
        if self.status.0 == 200 {
            header("ETag", &tag);
        }
        if !is_known {
            header("Content-Type", self.kind);
            header("Content-Length", &body.len().to_string());
            if packed {
                header("Content-Encoding", "gzip");
            }
        }
        head.push_str("\r\n");
        out.write_all(head.as_bytes())?;
        if !is_known && request.is_none_or(|request| !request.head_only) {
            out.write_all(&body)?;
        }
        out.flush()
    }
}

/// The name of a body among all that a file has had (HTTP calls it an entity tag).
fn tag(body: &[u8]) -> String {
    let hash = Sha256::digest(body);
    hash[..16].iter().fold(String::from("\""), |tag, byte| format!("{tag}{byte:02x}")) + "\""
}

fn unpacked(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    quell_files::unpacked(body)?.read_to_end(&mut all)?;
    Ok(all)
}
