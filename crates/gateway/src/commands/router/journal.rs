//! The journal of what a gateway changes on its host, on disk before it does.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use super::super::run_dir::{self, RUN_DIR, file, replace};
use super::firewall::Rules;

/// A process: its number can come again, its number and beginning cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Process {
    pub pid: u32,
    /// Its beginning in ticks since the machine began.
    started: u64,
}

impl Process {
    /// The process `pid`, if there is one.
    pub fn of(pid: u32) -> Option<Self> {
        // proc(5), field 22 of stat. The name before may hold anything, so count from its end.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        // A zombie does nothing any more.
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        Some(Process { pid, started: fields.nth(18)?.parse().ok()? })
    }

    /// What the process `pid` does, if there is one: the reason for its silence is looked for there.
    pub fn doing(pid: u32) -> Option<&'static str> {
        // proc(5), field 3 of stat.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some(match stat.rsplit_once(')')?.1.split_whitespace().next()? {
            "R" => "runs, or waits for a processor",
            "S" => "sleeps",
            "D" => "waits in the kernel, as for a disk",
            "T" | "t" => "is stopped",
            "Z" | "X" => "has ended",
            _ => "is in a state that has no name here",
        })
    }

    pub fn alive(&self) -> bool {
        Process::of(self.pid) == Some(*self)
    }

    /// Sends it a signal, if it is alive.
    pub fn signal(&self, signal: Signal) -> std::io::Result<()> {
        match Pid::from_raw(self.pid as i32).filter(|_| self.alive()) {
            Some(pid) => Ok(rustix::process::kill_process(pid, signal)?),
            None => Ok(()),
        }
    }
}

/// The gateway's answer to an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answer {
    /// The order's number.
    pub order: u64,
    /// The settings that hold now, or the reason why nothing has changed.
    pub said: Result<String, String>,
}

/// The changes that are to be undone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    pub supervisor: Process,
    pub worker: Option<Process>,
    /// The network namespace that the rules are in.
    pub network: u64,
    pub rules: Rules,
    pub answer: Option<Answer>,
    /// The address where it answers, unless it is at its socket.
    pub metrics: Option<std::net::SocketAddr>,
}

/// The network namespace of this process.
pub(super) fn network() -> u64 {
    fs::metadata("/proc/thread-self/ns/net").map_or(0, |ns| ns.ino())
}

/// Tells whether a network namespace may still be there: a process is in it, or may be, or it has a name.
fn may_exist(network: u64) -> bool {
    // Whose namespaces one may see is a right (CAP_SYS_PTRACE), which a service does not have.
    let of = |path: PathBuf| match fs::metadata(path) {
        Ok(ns) => ns.ino() == network,
        Err(e) => e.kind() == std::io::ErrorKind::PermissionDenied,
    };
    let entries = |dir: &str| fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    entries("/run/netns").any(of) || entries("/proc").any(|process| of(process.join("ns/net")))
}

/// The reason why there is no journal to read where one is.
#[derive(Debug, thiserror::Error)]
pub(super) enum JournalError {
    /// What is there is not one: `clean` removes it.
    #[error("{0}")]
    Damaged(String),
    /// It may not be read, or not be trusted; says what helps.
    #[error("{0}")]
    Closed(String),
}

impl Journal {
    /// The journal of gateway `id`, if there is one.
    ///
    /// # Errors
    /// If it is damaged, or its folder is one in which others could exchange it.
    pub fn read(id: &str) -> Result<Option<Journal>, JournalError> {
        let path = file(id, "json");
        let damaged = |why: String| JournalError::Damaged(format!("{}: {why}", quell_files::name(&path)));
        match run_dir::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|e| damaged(e.to_string())),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            // The folder's fault has no number, and says its own remedy.
            Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => Err(match e.raw_os_error() {
                None => JournalError::Closed(e.to_string()),
                Some(_) => JournalError::Closed(format!("{}: {e}; try sudo", quell_files::name(&path))),
            }),
            Err(e) => Err(damaged(e.to_string())),
        }
    }

    /// The names of all gateways that have one, in order.
    pub fn ids() -> Vec<String> {
        let names = fs::read_dir(RUN_DIR).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let ids = names.filter_map(|name| Some(name.to_str()?.strip_suffix(".json")?.to_string()));
        // What is none is not a gateway's.
        let mut ids: Vec<String> = ids.filter(|id| super::settings::id(id).is_ok()).collect();
        ids.sort();
        ids
    }

    /// Those of all gateways that can be read.
    pub fn all() -> Vec<Journal> {
        Journal::ids().iter().filter_map(|id| Journal::read(id).ok().flatten()).collect()
    }

    pub fn write(&self) -> std::io::Result<()> {
        replace(&file(&self.rules.id, "json"), &serde_json::to_vec(self)?)
    }

    /// Undoes everything, then forgets it.
    ///
    /// # Errors
    /// If something cannot be undone: then the journal stays.
    pub fn undo(&self) -> Result<(), String> {
        if let Some(worker) = &self.worker {
            worker.signal(Signal::KILL).map_err(|e| format!("process {}: {e}", worker.pid))?;
        }
        if self.network == network() {
            self.rules.remove()?;
        } else if may_exist(self.network) {
            return Err(format!(
                "its rules are in another network namespace, net:[{}]: `sudo quell gateway clean --id {}` there \
                 (`lsns -t net` lists them), or anywhere if that namespace is gone",
                self.network, self.rules.id
            ));
        }
        forget(&self.rules.id);
        Ok(())
    }
}

/// Removes a gateway's files.
pub(super) fn forget(id: &str) {
    let begin = format!("{id}.");
    for entry in fs::read_dir(RUN_DIR).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(&begin) && name.ends_with(".new")) {
            let _ = fs::remove_file(entry.path());
        }
    }
    // The journal last: it names the rest.
    for ending in ["sock", "order", "json"] {
        let _ = fs::remove_file(file(id, ending));
    }
}
