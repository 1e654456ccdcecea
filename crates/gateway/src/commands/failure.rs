//! The reason for which a command ended without success, and stderr.

use std::fmt;
use std::io::Write as _;

use quell_units::text::visible;

/// The reason why a command ended without success, with its exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The user's input is wrong: exit code 2.
    BadInput(String),
    /// Something else went wrong: exit code 1.
    Failed(String),
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> i32 {
        match self {
            Failure::Failed(_) => 1,
            Failure::BadInput(_) => 2,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::BadInput(why) | Failure::Failed(why)) = self;
        f.write_str(why)
    }
}

/// Says something on stderr, where what a terminal would obey is shown. A long-running process does not end because nobody listens there any more.
pub fn say(what: impl fmt::Display) {
    // In one piece: others write there too.
    let _ = std::io::stderr().write_all(format!("{}\n", visible(&what.to_string())).as_bytes());
}
