//! `quell gateway`, and the binary `quell-gateway`: the same commands.

mod algorithm;
mod replay;
#[cfg(target_os = "linux")]
mod router;

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
    /// Undo what a gateway that was killed has left.
    #[cfg(target_os = "linux")]
    Clean(router::CleanArgs),
    /// Decide once more about the packets of a log: the same decisions, or another algorithm's.
    Replay(replay::ReplayArgs),
}

/// Why a command ended without success, with its exit code.
#[derive(Debug)]
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

/// Carries out a command.
///
/// # Errors
/// Says what is wrong, and what helps.
pub fn execute(command: &Command) -> Result<(), Failure> {
    match command {
        #[cfg(target_os = "linux")]
        Command::Run(args) => router::run(args),
        #[cfg(target_os = "linux")]
        Command::Check(args) => router::check(args),
        #[cfg(target_os = "linux")]
        Command::Clean(args) => router::clean(args),
        Command::Replay(args) => replay::replay(args),
    }
}

/// Prints to stdout; whoever has seen enough may close it.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    use std::io::Write;
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Failed(format!("cannot print: {e}")))
        }
        _ => Ok(()),
    }
}

/// Rows of cells, the first of them the heading, with their columns aligned.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}
