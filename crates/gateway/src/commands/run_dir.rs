//! The folder of the gateways' files: sockets, journals, orders and locks. What a gateway does as root it does by these
//! files, so anyone who can write there is root's equal.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use quell_files::Limit;

/// The folder.
pub const RUN_DIR: &str = "/run/quell";

/// The most that is read of a gateway's file.
const OWN: Limit = Limit::of_text("a gateway's file");

/// A file of a gateway's.
pub fn file(id: &str, ending: &str) -> PathBuf {
    Path::new(RUN_DIR).join(format!("{id}.{ending}"))
}

/// Makes the folder of these files, if it is not there.
///
/// # Errors
/// If it cannot be made, or others can write to it.
pub fn make_dir() -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o755).create(RUN_DIR)?;
    trusted(Path::new(RUN_DIR))
}

/// Sees that a folder is one, and that only root and this user can write to it.
///
/// # Errors
/// Says whose it is and what helps.
pub fn trusted(dir: &Path) -> io::Result<()> {
    let name = quell_files::name(dir);
    let is = fs::symlink_metadata(dir)?;
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    let me = rustix::process::geteuid().as_raw();
    if !is.is_dir() {
        return refused(format!("{name} is not a folder: rm {name}"));
    }
    if ![0, me].contains(&is.uid()) {
        return refused(format!(
            "{name} belongs to user {}, who could exchange its files: chown root:root {name}, and look at what is in it",
            is.uid()
        ));
    }
    if is.mode() & 0o022 != 0 {
        let mode = is.mode() & 0o777;
        return refused(format!(
            "{name} has mode {mode:o}, so others could exchange its files: chmod 755 {name}"
        ));
    }
    Ok(())
}

/// Opens a file there that is not a link to another.
///
/// # Errors
/// If there is none, or others can write to the folder.
pub fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    if let Some(dir) = path.parent() {
        trusted(dir)?;
    }
    // A pipe that somebody has put there does not keep whoever opens it.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    options.custom_flags(flags.bits() as i32).open(path)
}

/// Reads a file there.
///
/// # Errors
/// As [`open`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    quell_files::read_all(open(File::options().read(true), path)?, OWN)
}

/// Writes a file so that its readers find all of it or what was there before.
///
/// # Errors
/// As [`open`].
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_dir()?;
    // Two processes may write at once, such as two reloads.
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".{}.new", std::process::id()));
    let new = PathBuf::from(new);
    // What a killed process of this number has left.
    let _ = fs::remove_file(&new);
    let mut to = open(File::options().write(true).create_new(true).mode(0o644), &new)?;
    to.write_all(bytes)?;
    to.sync_all()?;
    fs::rename(new, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

    use super::*;

    #[test]
    fn a_folder_that_others_can_write_to_is_refused_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let [path, kept] = ["0.json", "kept"].map(|name| dir.path().join(name));
        fs::write(&kept, "kept").unwrap();
        symlink(&kept, &path).unwrap();
        let opened = [
            read(&path).map(|_| ()),
            open(File::options().write(true).create(true).truncate(false), &path).map(|_| ()),
        ];
        for refused in opened {
            assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::ELOOP));
        }
        assert_eq!(read(&kept).unwrap(), b"kept");
        let said = |mode: u32| {
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
            read(&kept).map_err(|e| e.to_string())
        };
        assert!(said(0o755).is_ok() && said(0o700).is_ok());
        for mode in [0o775, 0o757, 0o1777] {
            let said = said(mode).unwrap_err();
            assert!(
                said.contains(&format!("has mode {:o}", mode & 0o777)) && said.contains("chmod 755 "),
                "{said}"
            );
        }
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let link = dir.path().join("link");
        symlink(dir.path(), &link).unwrap();
        assert!(trusted(&link).unwrap_err().to_string().contains("is not a folder"));
        if chown(dir.path(), Some(65_534), None).is_err() {
            println!("skipped: a folder cannot be another user's without root");
            return;
        }
        let said = read(&kept).unwrap_err().to_string();
        assert!(said.contains("belongs to user 65534"), "{said}");
        assert_eq!(fs::read(&kept).unwrap(), b"kept");
    }
}
