//! `quell completions`.

use clap_complete::Shell;

use crate::failure::Failure;
use crate::terminal;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell completions bash > ~/.local/share/bash-completion/completions/quell
  quell completions zsh > ~/.zfunc/_quell    # a folder of $fpath
  quell completions fish > ~/.config/fish/completions/quell.fish

New shells then complete commands, options and their values.")]
pub struct Args {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Prints the completions for a shell, generated from the command line's definition.
pub fn run(args: &Args, mut definition: clap::Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut definition, "quell", &mut script);
    terminal::print_data(&String::from_utf8_lossy(&script))
}
