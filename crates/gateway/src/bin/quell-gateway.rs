//! The gateway alone, for routers: `quell gateway` without the laboratory.

use clap::Parser;
use quell_gateway::commands::{Command, execute};

/// AQM algorithms on real packets: a gateway for Linux.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() {
    if let Err(failure) = execute(&Cli::parse().command, &[]) {
        quell_gateway::commands::say(format_args!("error: {failure}"));
        std::process::exit(failure.code());
    }
}
