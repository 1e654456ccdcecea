//! The commands that this build lacks: each is listed, and says what has it.

use std::ffi::OsString;

use crate::failure::Failure;

/// The words after the command's name.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "It is not in this build: `cargo build --release --bin quell` has it."
)]
pub struct Args {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _words: Vec<OsString>,
}

/// Says that the command is not here, and what builds it.
pub fn run(_: &Args, line: Vec<String>) -> Result<(), Failure> {
    let name = line.get(1).map_or("", String::as_str);
    Err(Failure::BadInput(match name {
        "gateway" | "wire" if !cfg!(target_os = "linux") => format!("quell {name} needs Linux"),
        _ => format!(
            "quell {name} is not in this build, which only runs scenarios; `cargo build --release --bin quell` in Quell's \
             source tree builds the one with all commands, and `make run` this one again"
        ),
    }))
}
