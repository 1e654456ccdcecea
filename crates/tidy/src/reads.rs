//! Files that are read around `quell_files`.
//!
//! A path may be a user's, and what lies there a pipe, a device, or larger than the memory: `crates/files` has the one
//! way to read it. The kernel's files and those of the system, which the line names, are not a user's.

use std::fmt::Write;

use crate::tree::{crates, without_tests};

/// Crates that run where their sources are, and the one that reads.
const FREE: [&str; 4] = ["benches", "files", "tidy", "validate"];

const READS: [&str; 4] = ["File::open(", "fs::read(", "fs::read_to_string(", "from_path("];
/// Places of the system, and what is opened to be synced alone.
const OTHERS: [&str; 4] = ["\"/proc/", "\"/sys/", "\"/etc/", "sync"];

#[test]
fn files_of_users_are_read_in_one_way() {
    let mut wrong = String::new();
    for krate in crates().into_iter().filter(|krate| !FREE.contains(&krate.name.as_str())) {
        for (name, text) in &krate.files {
            for (index, line) in without_tests(name, text).into_iter().filter(|(_, line)| is_around(line)) {
                let _ = writeln!(wrong, "  {}{name}:{}: {line}", krate.source, index + 1);
            }
        }
    }
    assert!(wrong.is_empty(), "these read a file without quell_files:\n{wrong}");
}

fn is_around(line: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    has(&READS) && !has(&OTHERS) && !line.starts_with("//")
}

#[test]
fn reads_are_found() {
    assert!(is_around("let text = std::fs::read_to_string(path)?;"));
    assert!(is_around("let file = File::open(&path).map_err(fail)?;"));
    for fine in [
        "let text = quell_files::read(path, LIMIT)?;",
        "for entry in fs::read_dir(folder)? {",
        "let stat = fs::read_to_string(format!(\"/proc/{pid}/stat\")).ok()?;",
        "File::open(dir)?.sync_all()",
        "/// Rather than `fs::read(path)`.",
    ] {
        assert!(!is_around(fine), "{fine}");
    }
}
