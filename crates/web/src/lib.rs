//! The laboratory for a page in a browser: a message in JSON goes in, an answer in JSON comes out.
//!
//! Nothing is computed here. A scenario is read, run, reduced, drawn and analyzed by the crates that the command is made
//! of, so that a page shows what the command prints, and its runs have the same digests. [`Request`] lists the messages,
//! and the types of both sides are written into `lab/src/protocol.ts` by a test. The functions that a page calls in
//! WebAssembly are in `abi.rs`.
//!
//! ```
//! let mut lab = quell_web::Lab::default();
//! let answer = lab.answer(r#"{"do": "preset", "load": "rrul", "link": "home"}"#);
//! assert!(answer.starts_with(r##"{"ok":{"text":"# "##));
//! let answer = lab.answer(r#"{"do": "check", "source": {"text": "duration = 1"}}"#);
//! assert!(answer.contains("a time with its unit"));
//! ```
#![deny(missing_docs)]
// The same answers as the command on every platform: see clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
// A fault ends a message; none is made on a hot path.
#![allow(clippy::result_large_err)]

pub mod abi;
mod about;
mod answer;
#[cfg(test)]
mod bindings;
mod check;
mod fault;
mod kept;
mod protocol;
mod recommend;
mod results;
mod run;
mod source;
mod text;
mod theory;

use crate::answer::json;
use std::sync::Arc;

pub use fault::{Fault, FaultKind};
pub use protocol::*;
pub use run::{Listener, Silence};

/// A laboratory: what one instance of the module keeps between messages.
#[derive(Debug)]
pub struct Lab {
    listener: Arc<dyn Listener>,
    studies: source::Studies,
    kept: kept::Kept,
}

impl Default for Lab {
    /// A laboratory that nobody listens to while it runs.
    fn default() -> Self {
        Lab::new(Arc::new(Silence))
    }
}

impl Lab {
    /// A laboratory that tells a listener how far a run is.
    pub fn new(listener: Arc<dyn Listener>) -> Lab {
        Lab { listener, studies: source::Studies::default(), kept: kept::Kept::default() }
    }

    /// Answers a message: `{"ok": ...}` or `{"error": ...}`.
    pub fn answer(&mut self, request: &str) -> String {
        let request = serde_json::from_str(request)
            .map_err(|e| Fault::request(format!("the message cannot be read: {e}")));
        self.answer_to(request)
    }

    fn answer_to(&mut self, request: Result<Request, Fault>) -> String {
        let fault = match request.and_then(|request| self.act(request)) {
            Ok(text) => return text,
            Err(error) => Refusal { error },
        };
        // Text and numbers can always be written.
        serde_json::to_string(&fault).unwrap_or_default()
    }

    /// The same for bytes, which may be no text.
    pub fn answer_bytes(&mut self, request: &[u8]) -> String {
        match std::str::from_utf8(request) {
            Ok(text) => self.answer(text),
            Err(e) => self.answer_to(Err(Fault::request(format!("the message is not UTF-8: {e}")))),
        }
    }

    fn act(&mut self, request: Request) -> Result<String, Fault> {
        match request {
            Request::About(_) => json(&about::about()),
            Request::Check(ask) => json(&check::check(&*self.studies.of(&ask.source)?, &ask)?),
            Request::Tree(ask) => json(&text::tree(&ask)?),
            Request::Edit(ask) => json(&text::edit(&ask)?),
            Request::Run(ask) => json(&run::run(&*self.studies.of(&ask.source)?, &ask, &self.listener)?),
            Request::Preset(ask) => json(&text::preset(&ask)?),
            Request::Gather(ask) => json(&self.kept.gather(&*self.studies.of(&ask.source)?, &ask)?),
            Request::Open(ask) => json(&self.kept.open(*ask)?),
            Request::Forget(ask) => json(&self.kept.forget(ask.id)?),
            Request::Table(ask) => json(&results::table(self.kept.of(ask.id)?, &ask)?),
            Request::Chart(ask) => json(&results::chart(self.kept.of(ask.id)?, &ask)?),
            Request::Report(ask) => json(&results::report(self.kept.of(ask.id)?)),
            Request::Theory(ask) => {
                let packets = ask.id.map(|id| self.kept.of(id)).transpose()?;
                json(&theory::theory(&*self.studies.of(&ask.source)?, &ask, packets)?)
            }
            Request::Recommend(ask) => recommend::recommend(&ask),
            Request::Map(ask) => json(&theory::map(&*self.studies.of(&ask.source)?, &ask)?),
        }
    }
}

/// What is written instead of one.
#[derive(serde::Serialize)]
struct Refusal {
    error: Fault,
}
