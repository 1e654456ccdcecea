//! Written files that a loss of power does not take.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

/// Syncs files that were put in their place, in the background: what was written stays after a loss of power
/// too, and who writes need not wait for the disk.
pub(crate) struct Syncer {
    paths: Option<mpsc::Sender<PathBuf>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// The number of waiting files from which all that the file system holds is synced at once: a disk takes about as
/// long for that as for each of them.
const MANY: usize = 16;

impl Syncer {
    pub(crate) fn start() -> Syncer {
        let (paths, written) = mpsc::channel::<PathBuf>();
        let thread = std::thread::spawn(move || {
            while let Ok(first) = written.recv() {
                let waiting: Vec<PathBuf> = std::iter::once(first).chain(written.try_iter()).collect();
                // An entry that is lost is computed again.
                if waiting.len() < MANY || !sync_all_beside(&waiting[0]) {
                    waiting.iter().for_each(|path| {
                        let _ = File::open(path).and_then(|file| file.sync_data());
                    });
                }
            }
        });
        Syncer { paths: Some(paths), thread: Some(thread) }
    }

    pub(crate) fn sync(&self, path: PathBuf) {
        if let Some(paths) = &self.paths {
            let _ = paths.send(path);
        }
    }
}

/// Syncs the file system of a file; false where that is not possible.
#[cfg(target_os = "linux")]
fn sync_all_beside(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| rustix::fs::syncfs(file).is_ok())
}

#[cfg(not(target_os = "linux"))]
fn sync_all_beside(_: &Path) -> bool {
    false
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.paths = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
