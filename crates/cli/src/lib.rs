//! The command line of Quell.
//!
//! Everything is behind [`main_with`], so that the binary `quell` and the command that the Python
//! package installs are the same program.
#![deny(missing_docs)]

#[macro_use]
mod failure;

mod align;
mod args;
#[cfg(feature = "theory")]
mod assess;
#[cfg(feature = "all")]
mod captured;
mod commands;
#[cfg(feature = "theory")]
mod diagram;
#[cfg(feature = "all")]
mod evidence;
#[cfg(feature = "all")]
mod exports;
#[cfg(feature = "all")]
mod flent;
mod folder;
#[cfg(feature = "all")]
mod given;
mod interrupt;
mod json;
mod keep;
#[cfg(all(feature = "all", target_os = "linux"))]
mod live;
mod netem;
mod notes;
#[cfg(feature = "all")]
mod opened;
#[cfg(feature = "all")]
mod page;
#[cfg(not(feature = "all"))]
#[path = "page_absent.rs"]
mod page;
mod selection;
mod simulate;
mod table;
mod terminal;
mod traces;
mod trials;

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches};
use failure::Failure;
pub use quell_lab::{built_from, last_commit};
use quell_units::text::{cut, is_obeyed, visible};

/// Runs the command line `args`, the program's name first, and returns the exit code: 0 if all went
/// well, 1 after a failure, 2 for a wrong scenario or argument, 130 if it was interrupted.
pub fn main_with<I, T>(args: I) -> i32
where
    I: IntoIterator<Item = T>,
    T: Into<OsString>,
{
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    let mut command = commands::Cli::command();
    if let Some(note) = commands::note_of_absent() {
        let help = command.get_after_help().cloned().unwrap_or_default();
        command = command.after_help(format!("{help}\n\n{note}"));
    }
    let parsed = finish(command).try_get_matches_from(&args);
    let cli = match parsed.and_then(|matches| commands::Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(mut error) => {
            cut_values(&mut error);
            let harmless = !args.iter().any(|arg| arg.to_string_lossy().contains(is_obeyed));
            return match show(&error, harmless) {
                Ok(()) => error.exit_code(),
                Err(failure) => complain(&failure),
            };
        }
    };
    match commands::execute(cli.command, command_line(&args)) {
        Ok(()) => 0,
        Err(failure) => complain(&failure),
    }
}

/// Says why a command failed; gives the exit code.
fn complain(failure: &Failure) -> i32 {
    terminal::complain(failure.kind(), failure.message());
    exit_code(failure)
}

/// The exit code of a command that failed.
fn exit_code(failure: &Failure) -> i32 {
    match failure {
        Failure::Failed(_) => 1,
        Failure::BadInput(_) => 2,
        Failure::Interrupted(_) => interrupt::code(),
    }
}

/// Stands for spaces at which a line of help is not to be broken.
const KEPT: &str = "\u{a0}";

/// The command line as it is read and helped with.
fn finish(command: clap::Command) -> clap::Command {
    take_signs(commands::hide_refused(keep_whole(command)))
}

/// Values that are numbers, whose rule answers a wrong sign: the parser would take "-1" for an option.
const NUMBERS: &[&str] = &[
    "AXIS",
    "BYTES",
    "I/N",
    "METRIC=WIDTH",
    "N",
    "N|LIST|auto",
    "NAME=N",
    "RATE",
    "SECTIONS",
    "SEED",
    "SHARE",
    "SIZE",
    "TIME",
    "VALUE",
    "WIDTH",
];

/// Lets options whose values are numbers have them with any sign.
fn take_signs(command: clap::Command) -> clap::Command {
    let is_number = |arg: &clap::Arg| {
        let names = arg.get_value_names().unwrap_or_default();
        !arg.is_positional() && names.iter().any(|name| NUMBERS.contains(&name.as_str()))
    };
    let command = command.mut_args(|arg| if is_number(&arg) { arg.allow_hyphen_values(true) } else { arg });
    command.mut_subcommands(take_signs)
}

/// Keeps examples and tables below a command's help whole on narrow terminals: those are the lines that are
/// indented.
fn keep_whole(command: clap::Command) -> clap::Command {
    let keep = |line: &str| if line.starts_with("  ") { line.replace(' ', KEPT) } else { line.to_string() };
    let help =
        command.get_after_help().map(|help| help.ansi().to_string().lines().map(keep).collect::<Vec<_>>());
    let command = command.mut_subcommands(keep_whole);
    match help {
        Some(lines) => command.after_help(lines.join("\n")),
        None => command,
    }
}

/// Prints help to stdout, errors to stderr; a closed pipe is not an error. Colors are for a harmless command line.
fn show(error: &clap::Error, harmless: bool) -> Result<(), Failure> {
    let plain = error.render().to_string();
    if !harmless || plain.contains(is_obeyed) {
        // A user's words may be in any part of it, and what is plain has lost the colors that are among them.
        terminal::say(plain.trim_end());
        return Ok(());
    }
    let text =
        |colors| if colors { error.render().ansi().to_string() } else { plain.clone() }.replace(KEPT, " ");
    match error.use_stderr() {
        true => terminal::say(text(console::colors_enabled_stderr()).trim_end()),
        false => terminal::print(&text(terminal::colors()))?,
    }
    Ok(())
}

/// Cuts what a user wrote in an error of the command line's parser, and what is made of it, and shows what a terminal
/// would obey.
fn cut_values(error: &mut clap::Error) {
    let cut = |text: &str| visible(&cut(text)).into_owned();
    let cut_styled = |text: &StyledStr| match text.to_string() {
        plain if cut(&plain) != plain => StyledStr::from(cut(&plain)),
        _ => text.clone(),
    };
    let context: Vec<_> = error.context().map(|(kind, value)| (kind, value.clone())).collect();
    for (kind, value) in context {
        let value = match value {
            // Not of the user's making.
            _ if kind == ContextKind::Usage => continue,
            ContextValue::String(text) => ContextValue::String(cut(&text)),
            ContextValue::Strings(texts) => {
                ContextValue::Strings(texts.iter().map(|text| cut(text)).collect())
            }
            ContextValue::StyledStr(text) => ContextValue::StyledStr(cut_styled(&text)),
            ContextValue::StyledStrs(texts) => {
                ContextValue::StyledStrs(texts.iter().map(cut_styled).collect())
            }
            _ => continue,
        };
        error.insert(kind, value);
    }
}

/// The command as `run.json` records it: independent of where the program is installed.
fn command_line(args: &[OsString]) -> Vec<String> {
    let rest = args.iter().skip(1).map(|a| a.to_string_lossy().into_owned());
    std::iter::once("quell".to_string()).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_command_names_no_place() {
        let args = ["/somewhere/bin/quell", "run", "a.toml"].map(OsString::from);
        assert_eq!(command_line(&args), ["quell", "run", "a.toml"]);
    }
}
