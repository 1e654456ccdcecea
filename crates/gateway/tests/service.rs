//! A router's gateway as a service: who may end it, devices that come and go, logs that rotate, and what it leaves
//! behind. Where network namespaces are not allowed the tests say why and pass, unless `QUELL_REQUIRE_NETNS=1`.
#![cfg(target_os = "linux")]

#[path = "common/router.rs"]
mod common;

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration as Wait;

use common::*;

const MS: Wait = Wait::from_millis(1);

fn net() -> Option<Net> {
    possible(router()).then(|| Net::new(env!("CARGO_BIN_EXE_quell-gateway"), &[]))
}

/// A rate that no stream here fills.
const WIDE: [&str; 6] = ["--wan", "g1", "--up", "200Mbit/s", "--down", "200Mbit/s"];

/// The user of a process.
fn user_of(pid: u32) -> u32 {
    let threads = rights(pid);
    threads.values().next().unwrap()["Uid"].split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn the_worker_is_nobody_elses() {
    let Some(net) = net() else { return };
    let running = net.start(&WIDE);
    let worker = running.worker();
    // What other services are, and what the next gateway could be.
    for user in [65_534, 1000, 61_183] {
        for name in ["KILL", "STOP", "TERM", "0"] {
            let done = Command::new("sh")
                .args(["-c", &format!("kill -{name} {worker}")])
                .uid(user)
                .gid(user)
                .output();
            let done = done.unwrap();
            assert!(!done.status.success(), "user {user} may send {name}");
        }
    }
    assert!(alive(worker));
    // Another one on the same host is another user, which the first one could not end either.
    let other = Net::new(env!("CARGO_BIN_EXE_quell-gateway"), &[]);
    let second = other.start(&WIDE);
    let users = [worker, second.worker()].map(user_of);
    assert_ne!(users[0], users[1]);
    // A user that others are, if it is asked for.
    assert_eq!(second.stop().0, Some(0));
    let mut sleeper = Command::new("sleep").arg("60").uid(61_100).spawn().unwrap();
    let third = other.start(&[&WIDE[..], &["--user", "61100"]].concat());
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    third.says("user 61100 has other processes");
    assert_eq!(user_of(third.worker()), 61_100);
    // A new worker is the same user as the one before.
    signal(worker, "KILL");
    running.says("another one starts");
    let end = std::time::Instant::now() + Wait::from_secs(10);
    let new = loop {
        if let Ok(children) =
            std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", running.supervisor()))
            && let Some(new) = children.split_whitespace().next()
        {
            break new.parse().unwrap();
        }
        assert!(std::time::Instant::now() < end);
    };
    while user_of(new) == 0 {
        std::thread::sleep(2 * MS);
    }
    assert_eq!(user_of(new), users[0]);
    check_rights(&running);
}
