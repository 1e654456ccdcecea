//! The command `quell`.

/// The commit of the source. Git's log is read here and nowhere else, so that a commit compiles this file again and not
/// the libraries.
#[cfg(quell_git)]
const COMMIT: Option<[u8; 40]> = quell_cli::last_commit(include_bytes!(env!("QUELL_GIT_LOG")));
#[cfg(not(quell_git))]
const COMMIT: Option<[u8; 40]> = None;

fn main() {
    quell_cli::built_from(COMMIT);
    std::process::exit(quell_cli::main_with(std::env::args_os()));
}
