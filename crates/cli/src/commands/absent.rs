//! The commands that this build lacks. Each is listed, and says which build has it.

use std::ffi::OsString;

use crate::failure::Failure;

/// The words after the command's name.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "This build does not have it; `cargo build --release --bin quell` builds one that does."
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
            "quell {name} is not in this build, which only runs scenarios. In Quell's source tree, `cargo build \
             --release --bin quell` builds all commands; `make run` builds this one again"
        ),
    }))
}
