//! Files that a user names: which are opened, how much of them is read, and what is compressed.
//!
//! Every path of a user's is read through here, so that no command waits for a pipe that nobody writes to, or fills
//! the memory from a device. `crates/tidy` finds what goes around it.
#![deny(missing_docs)]

mod packed;

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

pub use packed::{Unpacked, unpacked};
use quell_units::text::{named, three_digits};

/// The most bytes of a kind of file that are read into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The kind, with its article.
    of: &'static str,
    bytes: u64,
}

impl Limit {
    /// The limit for a program's settings, which it reads again while it runs.
    pub const fn of_settings(of: &'static str) -> Limit {
        Limit { of, bytes: 64 << 10 }
    }

    /// The limit for what is written by hand: far above any.
    pub const fn of_text(of: &'static str) -> Limit {
        Limit { of, bytes: 16 << 20 }
    }

    /// The limit for what programs write: lists, traces, vectors.
    pub const fn of_data(of: &'static str) -> Limit {
        Limit { of, bytes: 512 << 20 }
    }

    /// The limit for what Quell itself stores: tables of results.
    pub const fn of_tables(of: &'static str) -> Limit {
        Limit { of, bytes: 8 << 30 }
    }

    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        self.bytes
    }

    /// That a file is too large, which has so many bytes if that is known.
    fn exceeded(self, has: &str, bytes: Option<u64>) -> io::Error {
        let (amount, most) = match bytes {
            None => ("more".to_string(), size(self.bytes)),
            // In a unit that tells them apart.
            Some(bytes) if size(bytes) == size(self.bytes) => {
                (format!("{bytes} bytes"), format!("{} bytes", self.bytes))
            }
            Some(bytes) => (size(bytes), size(self.bytes)),
        };
        let why = format!(
            "is too large: {has} {amount}, and at most {most} of {} are read; shorten it, or name another file",
            self.of
        );
        io::Error::new(ErrorKind::FileTooLarge, why)
    }
}

fn size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        n if n >= 1 << 30 => (1_u64 << 30, "GiB"),
        n if n >= 1 << 20 => (1 << 20, "MiB"),
        _ => (1 << 10, "KiB"),
    };
    format!("{} {name}", three_digits(bytes as f64 / unit as f64))
}

/// Opens a file for reading: a regular one, or whatever the process was given as a descriptor (`/dev/stdin`,
/// `/dev/fd/63` of a shell's `<(...)`). Never waits for anything.
///
/// # Errors
/// If it is not there, or is a folder, a pipe with a name, a device or a socket.
pub fn open(path: &Path) -> io::Result<File> {
    open_as(path, is_given(path))
}

fn open_as(path: &Path, given: bool) -> io::Result<File> {
    if !given {
        // Before it is opened: some devices act when they are, and the writer to a pipe would get a reader that leaves.
        refuse_others(&fs::metadata(path)?)?;
    }
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    let file = options.read(true).open(path)?;
    if given {
        // What it reads, it waits for.
        #[cfg(unix)]
        rustix::fs::fcntl_setfl(&file, rustix::fs::fcntl_getfl(&file)? - rustix::fs::OFlags::NONBLOCK)?;
    } else {
        refuse_others(&file.metadata()?)?;
    }
    Ok(file)
}

/// A path in a message: on one line, and without anything that a terminal obeys.
pub fn name(path: impl AsRef<Path>) -> String {
    named(&path.as_ref().display().to_string()).into_owned()
}

/// True if a path names a descriptor of this process, and not a file's place.
pub fn is_given(path: &Path) -> bool {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    matches!(parts[..], ["/", "dev", "stdin"] | ["/", "dev", "fd", _] | ["/", "proc", "self", "fd", _])
}

fn refuse_others(found: &Metadata) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    if found.is_dir() {
        #[cfg(unix)]
        return Err(rustix::io::Errno::ISDIR.into());
        #[cfg(not(unix))]
        return Err(ErrorKind::IsADirectory.into());
    }
    let why = format!("is {}: must be a file; anything else can be given as /dev/stdin", kind(found));
    Err(io::Error::new(ErrorKind::InvalidInput, why))
}

#[cfg(unix)]
fn kind(found: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    match found.file_type() {
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(not(unix))]
fn kind(_: &Metadata) -> &'static str {
    "a device"
}

/// Opens a file that Quell itself keeps, such as a lock, as these options say. Never waits, since another
/// file may have the name.
///
/// # Errors
/// If it cannot be opened, or is not a regular file.
pub fn open_own(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let refuse = |found: &Metadata| match found.is_file() || found.is_dir() {
        true => Ok(()),
        false => {
            let why = format!("is {}: must be a file, or a name that none has yet; remove it", kind(found));
            Err(io::Error::new(ErrorKind::InvalidInput, why))
        }
    };
    fs::metadata(path).map_or(Ok(()), |found| refuse(&found))?;
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    let file = options.open(path)?;
    refuse(&file.metadata()?)?;
    Ok(file)
}

/// Reads a file whole.
///
/// # Errors
/// As [`open`]; if it is larger than the limit, or cannot be read.
pub fn read(path: &Path, limit: Limit) -> io::Result<Vec<u8>> {
    read_whole(open(path)?, limit)
}

/// Reads whole a file that another file names. What a user did not type is never one of the process's descriptors: to
/// read those may take for ever.
///
/// # Errors
/// As [`read`], and if it is a descriptor of anything but a file.
pub fn read_named(path: &Path, limit: Limit) -> io::Result<Vec<u8>> {
    read_whole(open_as(path, false)?, limit)
}

/// Opens a file of which a program needs only parts at a time.
///
/// # Errors
/// As [`open`], and if it is larger than the limit.
pub fn open_within(path: &Path, limit: Limit) -> io::Result<File> {
    let file = open(path)?;
    check_size(&file, limit)?;
    Ok(file)
}

/// The size of a file, which is within the limit.
fn check_size(file: &File, limit: Limit) -> io::Result<u64> {
    match file.metadata().map_or(0, |found| found.len()) {
        bytes if bytes > limit.bytes => Err(limit.exceeded("it has", Some(bytes))),
        bytes => Ok(bytes),
    }
}

fn read_whole(file: File, limit: Limit) -> io::Result<Vec<u8>> {
    let bytes = check_size(&file, limit)?;
    // Rather than by doubling: files of results are large.
    let mut all = Vec::new();
    all.try_reserve_exact(bytes as usize)?;
    read_into(file, &mut all, limit, "it has")?;
    Ok(all)
}

/// Reads a file of text whole.
///
/// # Errors
/// As [`read`], and if it is not UTF-8.
pub fn read_text(path: &Path, limit: Limit) -> io::Result<String> {
    text(read(path, limit)?)
}

/// Reads whole a file of text that another file names.
///
/// # Errors
/// As [`read_named`], and if it is not UTF-8.
pub fn read_named_text(path: &Path, limit: Limit) -> io::Result<String> {
    text(read_named(path, limit)?)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "is not UTF-8 text"))
}

/// Reads whole a file that another file names, and unpacks it if its content is compressed; the limit is of what comes
/// out.
///
/// # Errors
/// As [`read_named`], and if what is compressed is damaged.
pub fn read_named_unpacked(path: &Path, limit: Limit) -> io::Result<Vec<u8>> {
    let input = unpacked(open_as(path, false)?)?;
    let has = if input.is_packed() { "unpacked it has" } else { "it has" };
    let mut all = Vec::new();
    read_into(input, &mut all, limit, has)?;
    Ok(all)
}

/// Reads what is open already to its end, such as standard input.
///
/// # Errors
/// If it is longer than the limit, or cannot be read.
pub fn read_all(input: impl Read, limit: Limit) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    read_into(input, &mut all, limit, "it has")?;
    Ok(all)
}

fn read_into(input: impl Read, all: &mut Vec<u8>, limit: Limit, has: &str) -> io::Result<()> {
    input.take(limit.bytes + 1).read_to_end(all)?;
    match all.len() as u64 {
        n if n > limit.bytes => Err(limit.exceeded(has, None)),
        _ => Ok(()),
    }
}
