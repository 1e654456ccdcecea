//! A packet costs no more instructions than it did. Times would depend on the machine; these hardly do.
//! A test, and not a command of its own, since Cargo would build the command with other features of
//! libraries and with it everything once more.

use std::process::Command;

#[test]
fn a_packet_costs_what_it_did() {
    if !Command::new("valgrind").arg("--version").output().is_ok_and(|o| o.status.success()) {
        eprintln!("no valgrind here: instructions are not counted");
        return;
    }
    let status = Command::new(env!("CARGO_BIN_EXE_quell-bench")).arg("instructions").status().unwrap();
    assert!(status.success());
}
