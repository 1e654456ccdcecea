//! The user that packets are read as, where none is named: one that nobody else is, since whose processes have the same
//! user may end and stop the worker.

use std::collections::BTreeSet;
use std::fs;

use super::super::run_dir::RUN_DIR;
use super::lock::Lock;

/// The numbers that are looked through: systemd leaves 60578 to 61183 to nobody (systemd.io/UIDS-GIDS), people begin at
/// 1000, its dynamic users at 61184, and users of containers beyond 65535.
const NUMBERS: std::ops::RangeInclusive<u32> = 61_000..=61_183;

/// What the names that are held begin with; no gateway's name has a "-".
const NAME: &str = "user-";

/// A number that no entry and no process has, as user and group, held as long as the lock.
///
/// # Errors
/// If there is none.
pub(super) fn free() -> Result<(u32, Lock), String> {
    let mut taken = assigned();
    taken.extend(fs::read_dir("/proc").into_iter().flatten().flatten().flat_map(|process| {
        let status =
            fs::read_to_string(format!("/proc/{}/status", process.file_name().display())).unwrap_or_default();
        numbers_of(&status).collect::<Vec<_>>()
    }));
    for number in NUMBERS.filter(|number| !taken.contains(number)) {
        // Another gateway may have chosen it and not started its worker yet.
        match Lock::take(&format!("{NAME}{number}")) {
            Ok(Some(lock)) => return Ok((number, lock)),
            Ok(None) => {}
            Err(e) => return Err(format!("user {number} cannot be held in /run/quell: {e}")),
        }
    }
    let (first, last) = (NUMBERS.start(), NUMBERS.end());
    Err(format!("all users from {first} to {last} are taken: name an unused one with --user"))
}

/// Removes the names that killed gateways held.
pub(super) fn forget() {
    let entries = fs::read_dir(RUN_DIR).into_iter().flatten().flatten();
    for name in entries.map(|entry| entry.file_name()) {
        if let Some(id) =
            name.to_str().and_then(|name| name.strip_suffix(".lock")).filter(|id| id.starts_with(NAME))
        {
            // What another process holds it keeps; otherwise it goes with this.
            drop(Lock::take(id));
        }
    }
}

/// Tells whether a process has this user.
pub(super) fn has_processes(user: u32) -> bool {
    fs::read_dir("/proc").into_iter().flatten().flatten().any(|process| {
        let status =
            fs::read_to_string(format!("/proc/{}/status", process.file_name().display())).unwrap_or_default();
        status.lines().filter(|line| line.starts_with("Uid:")).any(|line| numbers_of(line).any(|n| n == user))
    })
}

/// The users and groups of a process, by its status (proc(5)).
fn numbers_of(status: &str) -> impl Iterator<Item = u32> {
    let lines =
        status.lines().filter(|line| ["Uid:", "Gid:", "Groups:"].iter().any(|key| line.starts_with(key)));
    lines.flat_map(str::split_whitespace).filter_map(|word| word.parse().ok())
}

/// The users and groups of this range that the system's files assign.
fn assigned() -> BTreeSet<u32> {
    let lines = |file: &str| fs::read_to_string(format!("/etc/{file}")).unwrap_or_default();
    let mut found = BTreeSet::new();
    for (file, fields) in [("passwd", 2..4), ("group", 2..3)] {
        for line in lines(file).lines() {
            let words = line.split(':').skip(fields.start).take(fields.len());
            found.extend(words.filter_map(|word| word.parse::<u32>().ok()));
        }
    }
    for file in ["subuid", "subgid"] {
        for line in lines(file).lines() {
            let mut words = line.split(':').skip(1).map(|word| word.parse::<u32>().unwrap_or(0));
            let (first, count) = (words.next().unwrap_or(0), words.next().unwrap_or(0));
            found.extend(NUMBERS.filter(|number| number.checked_sub(first).is_some_and(|at| at < count)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_process_are_read() {
        let status = "Name:\tx\nUid:\t7\t8\t9\t10\nGid:\t1\t2\t3\t4\nGroups:\t61000 61001 \nPid:\t5\n";
        assert_eq!(numbers_of(status).collect::<Vec<_>>(), [7, 8, 9, 10, 1, 2, 3, 4, 61_000, 61_001]);
        let me = rustix::process::geteuid().as_raw();
        assert!(has_processes(me) && !has_processes(u32::MAX - 7));
    }
}
