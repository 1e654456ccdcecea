//! The commands of `quell gateway`, which the small binary `quell-gateway` has as well.

mod failure;
pub mod replay;
pub mod status;
mod text;
pub mod top;

pub use failure::Failure;

/// A command.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Command {
    /// Decide once more what a log holds, and ask what other algorithms would have decided
    Replay(replay::Args),
    /// Show what a running gateway does
    Status(status::Args),
    /// Watch a running gateway
    Top(top::Args),
}

impl Command {
    /// Runs it; gives the exit code.
    ///
    /// # Errors
    /// Says why it could not be done.
    pub fn run(&self) -> Result<u8, Failure> {
        match self {
            Command::Replay(args) => replay::run(args),
            Command::Status(args) => status::run(args),
            Command::Top(args) => top::run(args),
        }
    }
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs.
    Json,
}
