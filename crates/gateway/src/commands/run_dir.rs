//! The folder of the gateways' files: sockets, journals and locks.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// The folder.
pub const RUN_DIR: &str = "/run/quell";

/// A file of a gateway's.
pub fn file(id: &str, ending: &str) -> PathBuf {
    Path::new(RUN_DIR).join(format!("{id}.{ending}"))
}

/// Makes the folder of these files.
pub fn make_dir() -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o755).create(RUN_DIR)
}

/// Writes a file so that whoever reads it finds all of it or what was there before.
pub fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    make_dir()?;
    // Two processes may write at once, such as two reloads.
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".{}.new", std::process::id()));
    let new = PathBuf::from(new);
    let mut to = fs::File::create(&new)?;
    to.write_all(bytes)?;
    to.sync_all()?;
    fs::rename(new, path)
}
