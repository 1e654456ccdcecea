//! `quell gateway`, and the binary `quell-gateway`: the same commands.

mod algorithm;
mod failure;
pub mod replay;
#[cfg(target_os = "linux")]
mod router;
#[cfg(target_os = "linux")]
mod run_dir;
#[cfg(target_os = "linux")]
pub mod status;
// Elsewhere there is only `replay`.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod text;
#[cfg(target_os = "linux")]
pub mod top;

use clap::Subcommand;

pub use algorithm::named_algorithm;
pub use failure::{Failure, say};
pub use text::Format;

/// What a gateway does.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Shape the traffic of a link of this host and manage its queue. Packets wait in the kernel, and the gateway decides
    /// about them.
    #[cfg(target_os = "linux")]
    #[command(after_help = router::RUN_HELP)]
    Run(router::RunArgs),
    /// Show what `run` would need and do, without doing it.
    #[cfg(target_os = "linux")]
    Check(router::RunArgs),
    /// Give a running gateway a new configuration; waiting packets stay.
    #[cfg(target_os = "linux")]
    Reload(router::ReloadArgs),
    /// Undo what a killed gateway has left behind.
    #[cfg(target_os = "linux")]
    Clean(router::CleanArgs),
    /// What `run` starts to read packets.
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    Worker,
    /// Replay a log: decide about its packets again, with the same algorithm or another one.
    Replay(replay::ReplayArgs),
    /// Show what a running gateway does.
    #[cfg(target_os = "linux")]
    Status(status::StatusArgs),
    /// Watch a running gateway, once a second.
    #[cfg(target_os = "linux")]
    Top(top::TopArgs),
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
