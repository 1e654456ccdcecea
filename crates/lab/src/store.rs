//! Results on disk: a folder with `run.json` and one Parquet file per table.
//!
//! A folder is written beside its place under a temporary name, synced, and renamed: it is there
//! whole or not at all. `run.json` lists the other files with lengths and hashes, so that what was
//! damaged later is not read as a result.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quell_files::Limit;
use quell_metrics::{Column, FileInfo, Results, RunInfo, Table, hex};
use sha2::{Digest, Sha256};

use crate::parquet;
use crate::trace::TraceTable;

/// The file that makes a folder a result.
const RUN: &str = "run.json";

/// Results could not be written or read: what, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {why}", quell_files::name(.path))]
pub struct StoreError {
    /// The folder or file.
    pub path: PathBuf,
    /// The reason.
    pub why: String,
}

/// Names the path in an error.
pub(crate) fn at<E: std::fmt::Display>(path: &Path, doing: &str) -> impl FnOnce(E) -> StoreError {
    move |e| StoreError { path: path.to_path_buf(), why: format!("cannot {doing}: {e}") }
}

/// Writes everything to the folder `dir`, whole or not at all.
///
/// An earlier result in `dir` is replaced only if `overwrite`; anything else there is never
/// touched.
///
/// # Errors
/// If the folder cannot be written (no permission, no space) or something is in the way.
pub fn write_results(results: &Results, dir: &Path, overwrite: bool) -> Result<(), StoreError> {
    write_results_with(results, BTreeMap::new(), dir, overwrite)
}

/// The same with further files, such as traces: their names, and their contents.
///
/// # Errors
/// As [`write_results`].
pub fn write_results_with(
    results: &Results,
    further: BTreeMap<String, Piece>,
    dir: &Path,
    overwrite: bool,
) -> Result<(), StoreError> {
    check_target(dir, overwrite)?;
    let staging = stage(dir)?;
    let mut files = Table::ALL
        .iter()
        .map(|table| {
            let name = format!("{}.parquet", table.name());
            let columns = results.columns(*table);
            let bytes = parquet::write(columns.iter()).map_err(at(&dir.join(&name), "encode"))?;
            write_file(staging.path(), &name, &bytes, dir)
        })
        .collect::<Result<Vec<_>, _>>()?;
    if further.keys().any(|name| name.starts_with(TRACES)) {
        fs::create_dir(staging.path().join(TRACES)).map_err(at(dir, "write"))?;
    }
    for (name, piece) in further {
        files.push(copy_file(staging.path(), &name, &piece, dir)?);
    }
    let (notes, sha256) = (results.notes(), UNSEALED.to_string());
    let run = RunInfo { files, notes, sha256, ..results.run.clone() };
    let json = serde_json::to_string_pretty(&run).map_err(at(&dir.join(RUN), "encode"))?;
    write_file(staging.path(), RUN, sealed(json).as_bytes(), dir)?;
    sync_dir(staging.path()).map_err(at(dir, "write"))?;
    put_in_place(staging, dir, overwrite)
}

/// A study of many points says much of itself.
const ABOUT: Limit = Limit::of_data("a run.json");
pub(crate) const TABLE: Limit = Limit::of_tables("a table of results");

/// Reads a folder that [`write_results`] wrote.
///
/// # Errors
/// If it is not a result, or is incomplete or damaged.
pub fn read_results(dir: &Path) -> Result<Results, StoreError> {
    let wrong = |why: String| StoreError { path: dir.to_path_buf(), why };
    let json = quell_files::read_text(&dir.join(RUN), ABOUT).map_err(at(&dir.join(RUN), "read"))?;
    let run: RunInfo = serde_json::from_str(&json).map_err(at(&dir.join(RUN), "read"))?;
    if run.schema != 1 {
        return Err(wrong(format!("has format {}; this program reads format 1", run.schema)));
    }
    // Results of early versions have no seal.
    if !run.sha256.is_empty() && sealed(unsealed(&json, &run.sha256)) != json {
        return Err(wrong(format!("{RUN} differs from the file that was written: the result is damaged")));
    }
    let files = run.files.clone();
    quell_metrics::results(run, |table| {
        let name = format!("{}.parquet", table.name());
        let info = files.iter().find(|f| f.name == name).ok_or(format!("{name} is not listed in {RUN}"))?;
        let cannot = |e: &dyn std::fmt::Display| format!("cannot read {name}: {e}");
        let file = quell_files::open_within(&dir.join(&name), TABLE).map_err(|e| cannot(&e))?;
        if !is_whole(&file, info).map_err(|e| cannot(&e))? {
            return Err(format!("{name} differs from the file that was written: the result is damaged"));
        }
        parquet::read(file).map_err(|e| cannot(&e))
    })
    .map_err(wrong)
}

/// True if a file is the one that was written. It is read in pieces: what is damaged takes no memory, and of what is
/// whole only the columns do.
fn is_whole(mut file: &File, info: &FileInfo) -> std::io::Result<bool> {
    if file.metadata()?.len() != info.bytes {
        return Ok(false);
    }
    let (mut hash, mut piece) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut piece)? {
            0 => break,
            n => hash.update(&piece[..n]),
        }
    }
    file.rewind()?;
    Ok(hex(&hash.finalize()) == info.sha256)
}

/// The digits that stand in `run.json` in place of its own hash when that is taken.
const UNSEALED: &str = "0000000000000000000000000000000000000000000000000000000000000000";

fn unsealed(text: &str, hash: &str) -> String {
    let place = text.rfind(hash).filter(|_| hash.len() == UNSEALED.len());
    place.map_or(String::new(), |at| format!("{}{UNSEALED}{}", &text[..at], &text[at + hash.len()..]))
}

/// The text with its hash in place of the last zeros: the seal stands behind all that could have as many.
fn sealed(text: String) -> String {
    let Some(place) = text.rfind(UNSEALED) else { return text };
    let hash = hex(&Sha256::digest(&text));
    format!("{}{hash}{}", &text[..place], &text[place + UNSEALED.len()..])
}

/// The folder, within that of results, of traces in the formats of others.
pub const TRACES: &str = "traces";

/// A piece of a file, which becomes a file of results.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The file.
    pub file: Arc<File>,
    /// The place at which the piece begins.
    pub from: u64,
    /// Its length in bytes.
    pub length: u64,
}

/// The report that belongs to a result, but is written later.
pub const REPORT: &str = "report.html";
/// The page of `quell characterize`, likewise.
pub const CHARACTERIZATION: &str = "characterization.html";

/// The files in a folder of results that are not part of them, in alphabetic order.
pub fn foreign_files(dir: &Path) -> Vec<String> {
    let is_ours = |name: &str| {
        let table = |name: &str| Table::ALL.iter().any(|t| t.name() == name);
        let trace = |name: &str| TraceTable::ALL.iter().any(|t| t.file() == name);
        trace(name)
            || [RUN, REPORT, CHARACTERIZATION, TRACES].contains(&name)
            || name.strip_suffix(".parquet").is_some_and(table)
    };
    let names = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut foreign: Vec<String> =
        names.map(|f| f.file_name().to_string_lossy().into_owned()).filter(|name| !is_ours(name)).collect();
    foreign.sort();
    foreign
}

/// Refuses a target that must not be replaced.
fn check_target(dir: &Path, overwrite: bool) -> Result<(), StoreError> {
    let wrong = |why: &str| Err(StoreError { path: dir.to_path_buf(), why: why.to_string() });
    match fs::metadata(dir) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(at(dir, "write")(e)),
        Ok(meta) if !meta.is_dir() => return wrong("is a file, not a folder"),
        Ok(_) => {}
    }
    let mut inside = fs::read_dir(dir).map_err(at(dir, "look into"))?;
    if let (true, Some(name)) = (overwrite && dir.join(RUN).exists(), foreign_files(dir).first()) {
        return wrong(&format!(
            "holds more than results ({name}), which would be lost; move it, or choose another folder"
        ));
    }
    match (inside.next().is_some(), dir.join(RUN).exists(), overwrite) {
        (false, _, _) | (true, true, true) => Ok(()),
        (true, true, false) => {
            wrong("holds results already; overwrite (--overwrite, overwrite=True) replaces them")
        }
        (true, false, _) => wrong("is a folder that contains something else; choose another"),
    }
}

/// The folder that a result's folder is in.
fn parent(dir: &Path) -> &Path {
    dir.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A temporary folder beside the target, on the same file system.
fn stage(dir: &Path) -> Result<tempfile::TempDir, StoreError> {
    let parent = parent(dir);
    fs::create_dir_all(parent).map_err(at(parent, "make the folder"))?;
    let made = tempfile::Builder::new().prefix(TEMPORARY).tempdir_in(parent);
    made.map_err(|e| at(parent, "write")(without_temporary_name(e)))
}

/// The beginning of the names of files and folders that are not in their place yet.
pub(crate) const TEMPORARY: &str = ".quell-";

/// Writes and syncs one file; errors name its place in `target`.
fn write_file(staging: &Path, name: &str, bytes: &[u8], target: &Path) -> Result<FileInfo, StoreError> {
    let write = || {
        let mut file = File::create_new(staging.join(name))?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(at(&target.join(name), "write"))?;
    Ok(FileInfo { name: name.to_string(), bytes: bytes.len() as u64, sha256: hex(&Sha256::digest(bytes)) })
}

/// Copies and syncs one file.
fn copy_file(staging: &Path, name: &str, piece: &Piece, target: &Path) -> Result<FileInfo, StoreError> {
    let (mut hash, mut buffer, mut length) = (Sha256::new(), vec![0; 1 << 16], 0);
    let mut copy = || {
        let mut from = &*piece.file;
        from.seek(SeekFrom::Start(piece.from))?;
        let mut from = from.take(piece.length);
        let mut to = File::create_new(staging.join(name))?;
        loop {
            match from.read(&mut buffer)? {
                0 => return to.sync_all(),
                n => {
                    to.write_all(&buffer[..n])?;
                    hash.update(&buffer[..n]);
                    length += n as u64;
                }
            }
        }
    };
    copy().map_err(at(&target.join(name), "write"))?;
    Ok(FileInfo { name: name.to_string(), bytes: length, sha256: hex(&hash.finalize()) })
}

/// A file without a name on the disk of a folder of results: it goes with the process, however that ends.
pub(crate) fn nameless(dir: &Path) -> Result<File, StoreError> {
    let parent = parent(dir);
    fs::create_dir_all(parent).map_err(at(parent, "make the folder"))?;
    tempfile::tempfile_in(parent).map_err(|e| at(parent, "write")(without_temporary_name(e)))
}

/// A table of a folder of results that not all have.
pub(crate) fn read_table(dir: &Path, name: &str) -> Result<Vec<(String, Column)>, StoreError> {
    let path = dir.join(name);
    let json = quell_files::read_text(&dir.join(RUN), ABOUT).map_err(at(&dir.join(RUN), "read"))?;
    let run: RunInfo = serde_json::from_str(&json).map_err(at(&dir.join(RUN), "read"))?;
    let wrong = |why: &str| StoreError { path: path.clone(), why: why.to_string() };
    let info = run.files.iter().find(|f| f.name == name);
    let info =
        info.ok_or_else(|| wrong("is not there: these results were made without this trace (--trace)"))?;
    let file = quell_files::open_within(&path, TABLE).map_err(at(&path, "read"))?;
    if !is_whole(&file, info).map_err(at(&path, "read"))? {
        return Err(wrong("differs from the file that was written: the result is damaged"));
    }
    parquet::read(file).map_err(at(&path, "read"))
}

#[cfg(unix)]
fn sync_dir(dir: &Path) -> std::io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(not(unix))]
fn sync_dir(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Renames the finished folder to its place; an earlier result moves out of the way first.
fn put_in_place(staging: tempfile::TempDir, dir: &Path, overwrite: bool) -> Result<(), StoreError> {
    // Another process may have put its results there since the first look.
    check_target(dir, overwrite)?;
    let old = match dir.exists() {
        true => {
            let old = stage(dir)?;
            fs::rename(dir, old.path().join("old")).map_err(at(dir, "move the earlier result away"))?;
            Some(old)
        }
        false => None,
    };
    make_readable(staging.path()).map_err(at(dir, "write"))?;
    if let Err(e) = fs::rename(staging.path(), dir) {
        if let Some(old) = old {
            // Best effort: the error that is reported is the one that matters.
            let _ = fs::rename(old.path().join("old"), dir);
        }
        return Err(at(dir, "write")(e));
    }
    // Nothing is left to remove under the temporary name.
    let _ = staging.keep();
    sync_dir(parent(dir)).map_err(at(dir, "write"))
}

/// A file in `folder` that is not in its place yet. Temporary files are private; this one has the permissions
/// of any new file, as the user's mask has it.
///
/// # Errors
/// If it cannot be made.
pub fn temporary_file(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder).map_err(without_temporary_name)
}

/// The system's error about a temporary file without its name, which says nothing to anybody.
pub fn without_temporary_name(error: std::io::Error) -> std::io::Error {
    let system = error.get_ref().and_then(|inner| inner.source()?.downcast_ref::<std::io::Error>());
    match system.and_then(std::io::Error::raw_os_error) {
        Some(code) => std::io::Error::from_raw_os_error(code),
        None => match error.to_string().split_once(" at path \"") {
            Some((why, _)) => std::io::Error::new(error.kind(), why),
            None => error,
        },
    }
}

/// Temporary folders are private; a result has the permissions of any new folder.
#[cfg(unix)]
fn make_readable(staging: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    // What a new file was given tells the user's mask.
    let file = fs::metadata(staging.join(RUN))?.permissions().mode();
    let search = (file & 0o444) >> 2;
    fs::set_permissions(staging, fs::Permissions::from_mode(0o700 | file | search))
}

#[cfg(not(unix))]
fn make_readable(_: &Path) -> std::io::Result<()> {
    Ok(())
}
