//! `quell completions`.

use clap::builder::Resettable;
use clap::{Command, Id};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::terminal;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  mkdir -p ~/.local/share/bash-completion/completions
  quell completions bash > ~/.local/share/bash-completion/completions/quell
  mkdir -p ~/.zfunc                          # must be in $fpath
  quell completions zsh > ~/.zfunc/_quell
  mkdir -p ~/.config/fish/completions
  quell completions fish > ~/.config/fish/completions/quell.fish

New shells then complete commands, options and their values.")]
pub struct Args {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Prints the completions for a shell, generated from the command line's definition.
pub fn run(args: &Args, definition: Command) -> Result<(), Failure> {
    let mut definition = without_hidden(definition);
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut definition, "quell", &mut script);
    terminal::print_data(&String::from_utf8_lossy(&script))
}

/// A command whose options are those that its help lists: completions would offer the others, too.
fn without_hidden(command: Command) -> Command {
    let command = command.mut_subcommands(without_hidden);
    if !command.get_arguments().any(clap::Arg::is_hide_set) {
        return command;
    }
    // An argument cannot be taken away. The program ends after it has printed, so the name may stay.
    let name: &'static str = command.get_name().to_string().leak();
    let listed = command.get_arguments().filter(|arg| !arg.is_hide_set()).cloned();
    // A listed option may conflict with one that is not.
    let listed = listed.map(|arg| arg.conflicts_with(Resettable::<Id>::Reset));
    Command::new(name)
        .hide(command.is_hide_set())
        .about(command.get_about().cloned().unwrap_or_default())
        .args(listed)
        .subcommands(command.get_subcommands().cloned())
}
