//! Processes that have left the group in which an implementation was started.
//!
//! On Linux, any process orphaned below this one becomes its child while an implementation runs ("child subreaper",
//! prctl(2)), so that a process that has left its group and its session is found all the same, and no right is needed
//! for that. Elsewhere there is the group alone.
//!
//! This process may have other children, which orphan processes too (a shell that became it has left it its own). An
//! implementation is therefore started with a word in its environment that nobody else has.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::process::Command;
use std::sync::LazyLock;

#[cfg(target_os = "linux")]
pub(crate) use linux::Watch;

/// The variable of the environment that has the words of the runners that an implementation is below.
const VARIABLE: &str = "QUELL_RUN";

/// The word of this process.
static WORD: LazyLock<String> =
    LazyLock::new(|| format!("{:016x}", RandomState::new().build_hasher().finish()));

/// Marks an implementation, and all that inherits its environment, as this process's.
pub(crate) fn mark(command: &mut Command) {
    let outer = std::env::var(VARIABLE).unwrap_or_default();
    command.env(VARIABLE, format!("{outer}{}", *WORD));
}

/// The processes that an implementation starts; what is left of them is killed when this is dropped.
#[cfg(not(target_os = "linux"))]
pub(crate) struct Watch;

#[cfg(not(target_os = "linux"))]
impl Watch {
    pub(crate) fn begin() -> Watch {
        Watch
    }

    pub(crate) fn kill_below(&self, _: u32) {}
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashSet;
    use std::fs;
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use std::time::{Duration, Instant};

    use rustix::process::{
        Pid, Signal, WaitOptions, child_subreaper, getpgid, getpgrp, getpid, kill_process,
        set_child_subreaper, waitpid,
    };

    /// The time after which a process that cannot be killed, because it is another user's by now, is left alone.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// Shared by all implementations that run at once: to inherit orphans is an attribute of this process.
    static WATCHES: Mutex<Option<Watches>> = Mutex::new(None);

    struct Watches {
        running: usize,
        /// This process had children before, which may orphan processes.
        others: bool,
        /// This process has inherited orphans before.
        inherits: bool,
    }

    fn watches() -> MutexGuard<'static, Option<Watches>> {
        WATCHES.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The processes that an implementation starts; what is left of them is killed when this is dropped.
    pub(crate) struct Watch;

    impl Watch {
        /// Begins to inherit orphans, before the implementation is started.
        pub(crate) fn begin() -> Watch {
            let me = getpid();
            let mut watches = watches();
            let watches = watches.get_or_insert_with(|| Watches {
                running: 0,
                others: Tree::now().children(me.as_raw_pid()).into_iter().any(lives),
                inherits: child_subreaper().is_ok_and(|set| set.is_some()),
            });
            watches.running += 1;
            // A kernel that refuses leaves the group.
            let _ = set_child_subreaper(Some(me));
            Watch
        }

        /// Kills all that is below a process which itself is still there: the orphans that its end makes are fewer.
        pub(crate) fn kill_below(&self, root: u32) {
            Tree::now().below(root.cast_signed()).into_iter().for_each(kill);
        }
    }

    impl Drop for Watch {
        /// Kills orphans. Of implementations that run at once nobody knows whose they are: they are killed when the last
        /// implementation has ended.
        fn drop(&mut self) {
            let mut held = watches();
            let Some(watches) = held.as_mut() else { return };
            watches.running -= 1;
            if watches.running == 0 {
                kill_orphans(watches.others);
                if !watches.inherits {
                    let _ = set_child_subreaper(None);
                }
                *held = None;
            }
        }
    }

    fn kill_orphans(others: bool) {
        let me = getpid().as_raw_pid();
        // What is dead no longer says whose it is.
        let mut known = HashSet::new();
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            let tree = Tree::now();
            let mut orphans = tree.children(me);
            orphans.retain(|pid| known.contains(pid) || is_marked(*pid) || !others && is_elsewhere(*pid));
            if orphans.is_empty() {
                return;
            }
            for orphan in orphans {
                let all: Vec<i32> = tree.below(orphan).into_iter().chain([orphan]).collect();
                all.iter().copied().for_each(kill);
                known.extend(all);
                // It stays in the table until it is waited for; what it leaves is an orphan of the next round.
                let _ = Pid::from_raw(orphan).map(|pid| waitpid(Some(pid), WaitOptions::NOHANG));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// True for a process that has an implementation's environment.
    fn is_marked(pid: i32) -> bool {
        let word = super::WORD.as_bytes();
        fs::read(format!("/proc/{pid}/environ")).is_ok_and(|all| all.windows(word.len()).any(|at| at == word))
    }

    /// True for a process in another group than this one: what this one starts itself, but for implementations, stays
    /// in its group.
    fn is_elsewhere(pid: i32) -> bool {
        Pid::from_raw(pid).is_some_and(|pid| getpgid(Some(pid)).is_ok_and(|group| group != getpgrp()))
    }

    fn kill(pid: i32) {
        let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL));
    }

    /// Who is whose child.
    enum Tree {
        /// The kernel says so (CONFIG_PROC_CHILDREN).
        Asked,
        /// All processes, each with its parent.
        Read(Vec<(i32, i32)>),
    }

    impl Tree {
        fn now() -> Tree {
            if fs::exists("/proc/thread-self/children").unwrap_or(false) {
                return Tree::Asked;
            }
            let pids = numbers("/proc");
            Tree::Read(pids.filter_map(|pid| Some((pid, stat(pid)?.1))).collect())
        }

        fn children(&self, of: i32) -> Vec<i32> {
            match self {
                Tree::Read(all) => all.iter().filter(|(_, up)| *up == of).map(|(pid, _)| *pid).collect(),
                // Each thread has its own.
                Tree::Asked => numbers(&format!("/proc/{of}/task"))
                    .filter_map(|thread| {
                        fs::read_to_string(format!("/proc/{of}/task/{thread}/children")).ok()
                    })
                    .flat_map(|all| {
                        all.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()
                    })
                    .collect(),
            }
        }

        /// The children of a process, theirs, and so on.
        fn below(&self, root: i32) -> Vec<i32> {
            let mut found = self.children(root);
            let mut next = 0;
            while let Some(&pid) = found.get(next) {
                found.extend(self.children(pid));
                next += 1;
            }
            found
        }
    }

    /// The entries of a folder whose names are numbers.
    fn numbers(folder: &str) -> impl Iterator<Item = i32> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
    }

    /// True for a process that has not ended.
    fn lives(pid: i32) -> bool {
        stat(pid).is_some_and(|(state, _)| !matches!(state, 'Z' | 'X'))
    }

    /// The state of a process, and its parent.
    fn stat(pid: i32) -> Option<(char, i32)> {
        // proc(5), fields 3 and 4. The name before may hold anything, so count from its end.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
    }
}
