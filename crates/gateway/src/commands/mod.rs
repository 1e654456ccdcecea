//! `quell gateway`, and the binary `quell-gateway`: the same commands.

mod algorithm;
pub mod replay;
#[cfg(target_os = "linux")]
mod router;
#[cfg(target_os = "linux")]
pub mod status;
// Elsewhere there is only `replay`.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod text;
#[cfg(target_os = "linux")]
pub mod top;

use core::fmt;

use clap::Subcommand;

pub use algorithm::named_algorithm;

/// What a gateway does.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Shape and manage what this host forwards: packets wait in the kernel, verdicts are made here.
    #[cfg(target_os = "linux")]
    #[command(after_help = router::RUN_HELP)]
    Run(router::RunArgs),
    /// What `run` would need and do, without doing it.
    #[cfg(target_os = "linux")]
    Check(router::RunArgs),
    /// Give a running gateway another configuration; what waits stays.
    #[cfg(target_os = "linux")]
    Reload(router::ReloadArgs),
    /// Undo what a gateway that was killed has left.
    #[cfg(target_os = "linux")]
    Clean(router::CleanArgs),
    /// What `run` starts to read packets.
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    Worker,
    /// Decide once more about the packets of a log: the same decisions, or another algorithm's.
    Replay(replay::ReplayArgs),
    /// What a running gateway does.
    #[cfg(target_os = "linux")]
    Status(status::StatusArgs),
    /// A running gateway, once a second.
    #[cfg(target_os = "linux")]
    Top(top::TopArgs),
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A table to read.
    #[default]
    Table,
    /// JSON.
    Json,
}

/// Why a command ended without success, with its exit code.
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

/// Carries out a command. `words` lead to it on the command line of this program, which `run` starts once more.
///
/// # Errors
/// Says what is wrong, and what helps.
pub fn execute(command: &Command, words: &[&str]) -> Result<(), Failure> {
    match command {
        #[cfg(target_os = "linux")]
        Command::Run(args) => router::run(args, words),
        #[cfg(target_os = "linux")]
        Command::Check(args) => router::check(args),
        #[cfg(target_os = "linux")]
        Command::Reload(args) => router::reload(args),
        #[cfg(target_os = "linux")]
        Command::Clean(args) => router::clean(args),
        #[cfg(target_os = "linux")]
        Command::Worker => router::work(),
        Command::Replay(args) => replay::run(args),
        #[cfg(target_os = "linux")]
        Command::Status(args) => status::run(args),
        #[cfg(target_os = "linux")]
        Command::Top(args) => top::run(args),
    }
}

/// Prints to stdout; whoever has seen enough may close it.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    text::print(text).map(|_| ())
}

/// Says something on stderr. A long-running process does not end because nobody listens there any more.
pub fn say(what: impl fmt::Display) {
    use std::io::Write as _;
    // In one piece: others write there too.
    let _ = std::io::stderr().write_all(format!("{what}\n").as_bytes());
}

/// Rows of cells, the first of them the heading, with their columns aligned.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    text::table(rows, usize::MAX).iter().map(|line| format!("{line}\n")).collect()
}
