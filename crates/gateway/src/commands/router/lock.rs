//! A gateway's name, held by one process: two that look, write the journal and set rules at once would undo each
//! other's.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::super::run_dir::{file, make_dir, open};

/// Held until it is dropped, or the process ends.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Takes the name `id`; `None` if another process holds it.
    ///
    /// # Errors
    /// If there can be no such file.
    pub fn take(id: &str) -> io::Result<Option<Lock>> {
        make_dir()?;
        let path = file(id, "lock");
        loop {
            // Whoever may open it may hold it, so only its owner may.
            let mut options = File::options();
            options.create(true).truncate(false).read(true).write(true).mode(0o600);
            let held = open(&mut options, &path)?;
            match flock(&held, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(e) => return Err(e.into()),
            }
            // Who held it before may have removed it in between: then the next one finds another file there.
            let is = held.metadata()?;
            if fs::symlink_metadata(&path)
                .is_ok_and(|there| (there.dev(), there.ino()) == (is.dev(), is.ino()))
            {
                return Ok(Some(Lock { path, _file: held }));
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Before it is let go: afterwards it may be another's.
        let _ = fs::remove_file(&self.path);
    }
}
