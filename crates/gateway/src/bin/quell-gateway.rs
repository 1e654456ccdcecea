//! The gateway alone, for routers: `quell gateway` without the laboratory.

use clap::Parser;
use quell_gateway::commands::{Command, execute};
use quell_units::text::is_obeyed;

/// AQM algorithms on real packets: a gateway for Linux.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() {
    let cli = Cli::try_parse().unwrap_or_else(|error| {
        // The plain text has lost escape sequences, those of the arguments too, which the colored one has.
        if !std::env::args_os().any(|arg| arg.to_string_lossy().contains(is_obeyed)) {
            error.exit();
        }
        quell_gateway::commands::say(error.render().to_string().trim_end());
        std::process::exit(error.exit_code());
    });
    if let Err(failure) = execute(&cli.command, &[]) {
        quell_gateway::commands::say(format_args!("error: {failure}"));
        std::process::exit(failure.code());
    }
}
