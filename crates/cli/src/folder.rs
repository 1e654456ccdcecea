//! Results folders: where they go, that they can be written, and that nothing of the user's is lost.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use quell_files::Limit;
use quell_lab::{Piece, Results, foreign_files};

use crate::failure::Failure;

/// The file that makes a folder a results folder.
const RUN_JSON: &str = "run.json";

/// A place for results that was found writable.
#[derive(Debug)]
pub struct Place {
    dir: PathBuf,
    overwrite: bool,
    /// Further files that belong to the results.
    further: BTreeMap<String, Piece>,
    /// No other run takes the name while this one works.
    _claim: Claim,
    made: Made,
}

/// Folders that were made for the check, to be removed again if nothing was written.
#[derive(Debug, Default)]
struct Made(Vec<PathBuf>);

impl Made {
    /// Fails now rather than after the simulation.
    fn try_writing(&mut self, dir: &Path) -> Result<(), Failure> {
        let parent = parent(dir);
        let cannot =
            |e: &std::io::Error| Failure::cannot(format!("write results to {}", quell_files::name(dir)), e);
        let missing = parent.ancestors().filter(|p| !p.as_os_str().is_empty());
        self.0 = missing.take_while(|p| !p.exists()).map(Path::to_path_buf).collect();
        fs::create_dir_all(&parent).map_err(|e| cannot(&e))?;
        // A full device takes the file but not its contents.
        let probe = tempfile::tempfile_in(&parent)
            .and_then(|mut file| file.write_all(&[0; 1 << 16]).and_then(|()| file.sync_all()));
        probe.map_err(|e| cannot(&quell_lab::without_temporary_name(e)))
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // Only what is empty goes.
        for dir in &self.0 {
            let _ = fs::remove_dir(dir);
        }
    }
}

/// A name that no other run takes: the lock of a file `.NAME.lock` beside the folder. It ends with the
/// process, however that ends.
#[derive(Debug)]
struct Claim {
    lock: PathBuf,
    _file: fs::File,
}

impl Claim {
    /// Takes the name. `None`: another run has it.
    fn take(dir: &Path) -> std::io::Result<Option<Claim>> {
        let name = dir.file_name().unwrap_or(dir.as_os_str()).to_string_lossy();
        let lock = parent(dir).join(format!(".{name}.lock"));
        loop {
            let file = quell_files::open_own(fs::File::options().create(true).append(true), &lock)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(fs::TryLockError::WouldBlock) => return Ok(None),
                // Some file systems have no locks: there the folder itself must do.
                Err(fs::TryLockError::Error(_)) => return Ok(Some(Claim { lock, _file: file })),
            }
            // Whoever had it may have removed it in between: then the name is not what was locked.
            if is_same_file(&file, &lock) {
                return Ok(Some(Claim { lock, _file: file }));
            }
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.lock);
    }
}

#[cfg(unix)]
fn is_same_file(file: &fs::File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let of = |m: fs::Metadata| (m.dev(), m.ino());
    file.metadata().map(of).ok().is_some_and(|id| fs::metadata(path).map(of).ok() == Some(id))
}

#[cfg(not(unix))]
fn is_same_file(_: &fs::File, path: &Path) -> bool {
    path.exists()
}

impl Place {
    /// The folder named by `--out`, or one with this name, beside the other results of it.
    ///
    /// # Errors
    /// If something is there that may not be replaced, or nothing can be written there.
    pub fn choose(out: Option<&Path>, name: &str, overwrite: bool) -> Result<Place, Failure> {
        let wanted = out.map_or_else(|| Path::new("results").join(name), Path::to_path_buf);
        let may_differ = out.is_none() && !overwrite;
        let overwrite = overwrite || out.is_some_and(is_of_finished);
        if !may_differ {
            refuse_to_lose(&wanted, overwrite)?;
        }
        let mut made = Made::default();
        made.try_writing(&wanted)?;
        for dir in numbered(&wanted) {
            if may_differ && dir.symlink_metadata().is_ok() {
                continue;
            }
            let cannot = |e: std::io::Error| {
                Failure::cannot(format!("write results to {}", quell_files::name(&dir)), e)
            };
            match Claim::take(&dir).map_err(cannot)? {
                // Another run may have finished since.
                Some(_) if may_differ && dir.symlink_metadata().is_ok() => {}
                Some(claim) => {
                    refuse_to_lose(&dir, overwrite)?;
                    if dir != wanted {
                        let [wanted, dir] = [&wanted, &dir].map(quell_files::name);
                        crate::terminal::note(&format!(
                            "{wanted} exists; the results go to {dir} (--overwrite replaces {wanted})"
                        ));
                    }
                    let further = BTreeMap::new();
                    return Ok(Place { dir, overwrite, further, _claim: claim, made });
                }
                None if may_differ => {}
                None => {
                    return Err(bad_input!(
                        "{}: another run is going to write its results there; choose another folder, or wait for that run",
                        quell_files::name(&dir)
                    ));
                }
            }
        }
        Err(bad_input!("{}: every numbered name is taken; choose another folder", quell_files::name(&wanted)))
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Adds files that will be written with the results, under these names.
    pub fn add(&mut self, files: BTreeMap<String, Piece>) {
        self.further.extend(files);
    }

    /// Writes results; gives the folder.
    pub fn save(mut self, results: &Results) -> Result<PathBuf, Failure> {
        let further = std::mem::take(&mut self.further);
        quell_lab::write_results_with(results, further, &self.dir, self.overwrite)
            .map_err(|e| Failure::cannot("write results to", e))?;
        self.made.0.clear();
        Ok(self.dir.clone())
    }
}

/// Fails before the work if a file could not be written after it.
pub fn check_writable(file: &Path) -> Result<(), Failure> {
    let cannot = |e: &std::io::Error| Failure::cannot(format!("write {}", quell_files::name(file)), e);
    match fs::metadata(file) {
        Ok(found) if found.is_dir() => Err(cannot(&std::io::ErrorKind::IsADirectory.into())),
        // A device or a pipe says so only when it is written to.
        Ok(found) if !found.is_file() => Ok(()),
        _ => {
            let dir = parent(file);
            // Here the name of the folder is what matters, not that of a temporary file.
            fs::metadata(&dir).map_err(|e| cannot(&e))?;
            tempfile::tempfile_in(&dir).map(drop).map_err(|e| cannot(&quell_lab::without_temporary_name(e)))
        }
    }
}

/// Writes a text to the file that a user named, as [`replace`]; a device or a pipe cannot be replaced, only written to.
pub fn write_whole(text: &str, file: &Path) -> Result<(), Failure> {
    write_bytes(text.as_bytes(), file)
}

/// Writes bytes in the same way.
pub fn write_bytes(bytes: &[u8], file: &Path) -> Result<(), Failure> {
    if file.exists() && !file.is_file() {
        return fs::write(file, bytes)
            .map_err(|e| Failure::cannot(format!("write {}", quell_files::name(file)), e));
    }
    replace_bytes(bytes, file)
}

/// Writes a text beside its place and then puts it there in one step, in the place of what may be there.
#[cfg(feature = "all")]
pub fn replace(text: &str, file: &Path) -> Result<(), Failure> {
    replace_bytes(text.as_bytes(), file)
}

fn replace_bytes(bytes: &[u8], file: &Path) -> Result<(), Failure> {
    let cannot = |e: &dyn std::fmt::Display| Failure::cannot(format!("write {}", quell_files::name(file)), e);
    let dir = parent(file);
    let mut temporary = quell_lab::temporary_file(&dir).map_err(|e| cannot(&e))?;
    temporary.write_all(bytes).and_then(|()| temporary.as_file().sync_all()).map_err(|e| cannot(&e))?;
    temporary.persist(file).map(drop).map_err(|e| cannot(&e.error))
}

/// Writes files to a folder, which is made if it is missing: all of them, or none if one cannot be written.
pub fn write_all(files: &BTreeMap<PathBuf, Vec<u8>>, dir: &Path) -> Result<(), Failure> {
    let missing = dir.ancestors().filter(|p| !p.as_os_str().is_empty()).take_while(|p| !p.exists());
    // Declared first, so that it goes after the temporary files in it.
    let mut made = Made(missing.map(Path::to_path_buf).collect());
    fs::create_dir_all(dir)
        .map_err(|e| Failure::cannot(format!("make the folder {}", quell_files::name(dir)), e))?;
    let mut ready = Vec::new();
    for (file, bytes) in files {
        let cannot = |e: std::io::Error| Failure::cannot(format!("write {}", quell_files::name(file)), e);
        if file.is_dir() {
            return Err(cannot(std::io::ErrorKind::IsADirectory.into()));
        }
        let mut temporary = quell_lab::temporary_file(dir).map_err(cannot)?;
        temporary.write_all(bytes).and_then(|()| temporary.as_file().sync_all()).map_err(cannot)?;
        // Closed: a study may have more files than a process may open.
        ready.push((temporary.into_temp_path(), file));
    }
    for (temporary, file) in ready {
        temporary
            .persist(file)
            .map_err(|e| Failure::cannot(format!("write {}", quell_files::name(file)), e.error))?;
    }
    made.0.clear();
    Ok(())
}

/// Writes a file piece by piece beside its place and then puts it there in one step, in the place of what may be there.
#[cfg(feature = "all")]
pub fn replace_by(
    file: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let cannot = |e: &dyn std::fmt::Display| Failure::cannot(format!("write {}", quell_files::name(file)), e);
    let temporary = quell_lab::temporary_file(&parent(file)).map_err(|e| cannot(&e))?;
    let mut out = std::io::BufWriter::new(temporary.as_file());
    write(&mut out).and_then(|()| out.flush()).map_err(|e| cannot(&e))?;
    drop(out);
    temporary.as_file().sync_all().map_err(|e| cannot(&e))?;
    temporary.persist(file).map(drop).map_err(|e| cannot(&e.error))
}

/// The folder that contains `path`.
fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// The name of results of scenario files: that of the first, and how many more there are.
pub fn name(scenarios: &[PathBuf]) -> String {
    let first = scenarios.first().map_or(String::new(), |path| short(path));
    match scenarios.len() {
        0 | 1 => first,
        n => format!("{first}+{}", n - 1),
    }
}

/// Names that tell files or folders apart: without their places, unless two have the same name.
pub fn names(paths: &[PathBuf]) -> Vec<String> {
    let names: Vec<String> = paths.iter().map(|path| short(path)).collect();
    let is_twice = |name: &String| names.iter().filter(|n| *n == name).count() > 1;
    match names.iter().any(is_twice) {
        true => paths.iter().map(|path| path.display().to_string()).collect(),
        false => names,
    }
}

/// A file's name without its place and ending.
fn short(path: &Path) -> String {
    // Standard input has no name.
    if path.as_os_str() == "-" {
        return "stdin".into();
    }
    let name = if path.is_dir() { path.file_name() } else { path.file_stem() };
    name.unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// `dir`, then `dir-2`, `dir-3`, and so on.
fn numbered(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let others = (2..=u32::MAX).map(|n| {
        let mut name = dir.as_os_str().to_os_string();
        name.push(format!("-{n}"));
        PathBuf::from(name)
    });
    std::iter::once(dir.to_path_buf()).chain(others)
}

/// True if a folder holds what `--finished` made of a study that was stopped: all of it is in the cache, so that nothing is
/// lost when the study takes its place.
fn is_of_finished(dir: &Path) -> bool {
    let text = quell_files::read(&dir.join(RUN_JSON), Limit::of_data("a run.json")).unwrap_or_default();
    let Ok(run) = serde_json::from_slice::<serde_json::Value>(&text) else { return false };
    let mut command = run["command"].as_array().into_iter().flatten();
    run["partial"] == true && command.any(|word| word == "--finished")
}

/// Refuses a place where there is something that is not ours, or ours without permission.
fn refuse_to_lose(dir: &Path, overwrite: bool) -> Result<(), Failure> {
    let refuse = |why: &str| Err(bad_input!("{}: {why}", quell_files::name(dir)));
    if dir.as_os_str().is_empty() {
        return refuse("--out must name a folder");
    }
    let Ok(found) = fs::symlink_metadata(dir) else { return Ok(()) };
    if !found.is_dir() {
        return refuse("exists and is not a folder");
    }
    let empty = fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
    match (empty, dir.join(RUN_JSON).is_file()) {
        (true, _) => Ok(()),
        (false, true) if overwrite => match foreign_files(dir).first() {
            Some(name) => refuse(&format!(
                "holds other things besides results ({name}), which --overwrite would delete; move them, or name \
                 another folder with --out"
            )),
            None => Ok(()),
        },
        (false, true) => {
            refuse("already holds results; use --overwrite to replace them, or --out to name another folder")
        }
        (false, false) => refuse("holds other files; results need a folder of their own"),
    }
}

/// The folder of results that `path` names: itself, or that of its `run.json`.
pub fn of(path: &Path) -> PathBuf {
    match path.file_name() {
        Some(name) if name == RUN_JSON && path.is_file() => parent(path),
        _ => path.to_path_buf(),
    }
}

/// Reads results folders as one result.
pub fn read_all(paths: &[PathBuf]) -> Result<Results, Failure> {
    if let [path] = paths {
        return read(path);
    }
    let paths: Vec<PathBuf> = paths.iter().map(|path| of(path)).collect();
    if let Some(twice) = (1..paths.len()).find(|i| paths[..*i].contains(&paths[*i])) {
        return Err(bad_input!("{} is named twice: name it once", quell_files::name(&paths[twice])));
    }
    let part = |(name, path): (String, &PathBuf)| Ok((name, read(path)?));
    let parts = names(&paths).into_iter().zip(&paths).map(part).collect::<Result<_, Failure>>()?;
    Results::join(parts).ok_or_else(|| bad_input!("name a results folder"))
}

/// Reads a results folder.
pub fn read(path: &Path) -> Result<Results, Failure> {
    let dir = of(path);
    let refuse = |why: &str| Err(bad_input!("{}: {why}", quell_files::name(&dir)));
    match fs::metadata(&dir) {
        Err(e) => return Err(bad_input!("{}: {e}", quell_files::name(&dir))),
        Ok(found) if !found.is_dir() => return refuse("is not a results folder"),
        Ok(_) if !dir.join(RUN_JSON).is_file() => {
            return refuse("is not a results folder: it has no run.json");
        }
        Ok(_) => {}
    }
    quell_lab::read_results(&dir).map_err(|e| Failure::Failed(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(result: Result<(), Failure>) -> String {
        match result {
            Err(Failure::BadInput(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_results_are_replaced_and_only_if_asked() {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path().join("d");
        assert_eq!(refuse_to_lose(&dir, false), Ok(()));
        fs::create_dir(&dir).unwrap();
        assert_eq!(refuse_to_lose(&dir, false), Ok(()));
        fs::write(dir.join("thesis.tex"), "x").unwrap();
        assert!(message(refuse_to_lose(&dir, true)).contains("other files"));
        fs::write(dir.join(RUN_JSON), "{}").unwrap();
        assert!(message(refuse_to_lose(&dir, true)).contains("thesis.tex"));
        fs::remove_file(dir.join("thesis.tex")).unwrap();
        assert!(message(refuse_to_lose(&dir, false)).contains("--overwrite"));
        assert_eq!(refuse_to_lose(&dir, true), Ok(()));
        assert!(message(refuse_to_lose(&dir.join(RUN_JSON), true)).contains("not a folder"));
    }

    #[test]
    fn the_next_free_number_is_taken() {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path().join("main");
        let mut names = numbered(&dir);
        assert_eq!(names.next(), Some(dir.clone()));
        assert_eq!(names.next(), Some(base.path().join("main-2")));
        assert_eq!(names.next(), Some(base.path().join("main-3")));
    }

    #[test]
    fn a_name_is_claimed_before_the_work_and_free_after_it() {
        let base = tempfile::tempdir().unwrap();
        let out = base.path().join("results");
        let first = Place::choose(Some(&out), "x", false).unwrap();
        let second = Place::choose(Some(&out), "x", true);
        assert!(message(second.map(drop)).contains("another run is going to write"));
        drop(first);
        assert!(Place::choose(Some(&out), "x", false).is_ok());
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn a_check_leaves_nothing_behind() {
        let base = tempfile::tempdir().unwrap();
        let out = base.path().join("a/b/results");
        let place = Place::choose(Some(&out), "x", false).unwrap();
        assert!(base.path().join("a/b").is_dir());
        drop(place);
        assert!(!base.path().join("a").exists());
    }

    #[test]
    fn a_place_below_a_file_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let file = base.path().join("file");
        fs::write(&file, "x").unwrap();
        let error = Place::choose(Some(&file.join("out")), "x", false).unwrap_err();
        assert!(matches!(error, Failure::Failed(_)), "{error:?}");
    }
}
