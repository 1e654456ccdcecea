//! The form of answers.

use crate::fault::Fault;

/// An answer as it is written.
#[derive(serde::Serialize)]
struct Answer<'a, T> {
    ok: &'a T,
}

/// An answer, written at once: the largest are of a size with all that a page has.
pub(crate) fn json(answer: &impl serde::Serialize) -> Result<String, Fault> {
    serde_json::to_string(&Answer { ok: answer })
        .map_err(|e| Fault::failed(format!("the answer cannot be written: {e}")))
}
