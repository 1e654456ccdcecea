//! `quell gateway`: the commands of the binary `quell-gateway`.

use quell_gateway::commands::{self, Command};

use crate::failure::Failure;

/// Arguments of `gateway`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

/// Carries out a command of the gateway.
pub fn run(args: &Args, _: Vec<String>) -> Result<(), Failure> {
    commands::execute(&args.command, &["gateway"]).map_err(|e| match e {
        commands::Failure::BadInput(why) => Failure::BadInput(why),
        commands::Failure::Failed(why) => Failure::Failed(why),
    })
}
