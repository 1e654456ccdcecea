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
        let plain = error.render().to_string();
        if !plain.contains(is_obeyed) {
            error.exit();
        }
        quell_gateway::commands::say(plain.trim_end());
        std::process::exit(error.exit_code());
    });
    if let Err(failure) = execute(&cli.command, &[]) {
        quell_gateway::commands::say(format_args!("error: {failure}"));
        std::process::exit(failure.code());
    }
}
