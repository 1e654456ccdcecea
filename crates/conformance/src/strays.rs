//! Processes that have left the group in which an implementation was started.
//!
//! On Linux whoever is orphaned below this process becomes its child while an implementation runs ("child subreaper",
//! prctl(2)), so that a process that has left its group and its session is found all the same, and no right is needed
//! for that. Elsewhere there is the group alone.

#[cfg(target_os = "linux")]
pub(crate) use linux::Watch;

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
        Pid, Signal, WaitOptions, child_subreaper, getpid, kill_process, set_child_subreaper, waitpid,
    };

    /// The time after which a process that cannot be killed, because it is another user's by now, is left alone.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// Shared by all implementations that run at once: to inherit orphans is an attribute of this process.
    static WATCHES: Mutex<Option<Watches>> = Mutex::new(None);

    struct Watches {
        running: usize,
        /// The processes below this one that were there before.
        others: HashSet<i32>,
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
                others: Tree::now().below(me.as_raw_pid()).into_iter().collect(),
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
                kill_orphans(&watches.others);
                if !watches.inherits {
                    let _ = set_child_subreaper(None);
                }
                *held = None;
            }
        }
    }

    fn kill_orphans(others: &HashSet<i32>) {
        let me = getpid().as_raw_pid();
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            let tree = Tree::now();
            let orphans: Vec<i32> = tree.children(me).filter(|pid| !others.contains(pid)).collect();
            if orphans.is_empty() {
                return;
            }
            for orphan in orphans {
                tree.below(orphan).into_iter().chain([orphan]).for_each(kill);
                // It stays in the table until it is waited for; what it leaves is an orphan of the next round.
                let _ = Pid::from_raw(orphan).map(|pid| waitpid(Some(pid), WaitOptions::NOHANG));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn kill(pid: i32) {
        let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL));
    }

    /// All processes, each with its parent.
    struct Tree(Vec<(i32, i32)>);

    impl Tree {
        fn now() -> Tree {
            let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
            let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            Tree(pids.filter_map(|pid| Some((pid, parent(pid)?))).collect())
        }

        fn children(&self, of: i32) -> impl Iterator<Item = i32> {
            self.0.iter().filter(move |(_, parent)| *parent == of).map(|(pid, _)| *pid)
        }

        /// The children of a process, theirs, and so on.
        fn below(&self, root: i32) -> Vec<i32> {
            let mut found: Vec<i32> = self.children(root).collect();
            let mut next = 0;
            while let Some(&pid) = found.get(next) {
                found.extend(self.children(pid));
                next += 1;
            }
            found
        }
    }

    fn parent(pid: i32) -> Option<i32> {
        // proc(5), field 4 of stat. The name before may hold anything, so count from its end.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    }
}
