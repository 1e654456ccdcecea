//! The command `quell`.

fn main() {
    std::process::exit(quell_cli::main_with(std::env::args_os()));
}
