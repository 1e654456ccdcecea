//! The command's script: a package has one in its own folder.

#[path = "../cli/build.rs"]
mod command;

fn main() {
    command::main();
}
