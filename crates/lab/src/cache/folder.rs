//! The folder of a cache.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use quell_files::Limit;

use super::entry::{self, About, Hit};
use super::key::Key;
use crate::store::{StoreError, TEMPORARY, at};

/// The end of the name of an entry's file.
const SUFFIX: &str = ".entry";

/// More than an entry may say that it has.
const ENTRY: Limit = Limit::of_tables("an entry");

/// The variable that names the folder of the cache.
pub const CACHE_VARIABLE: &str = "QUELL_CACHE";

/// The answer of a cache that is asked for a replication.
#[derive(Debug)]
pub enum Lookup {
    /// It is there.
    Hit(Box<Hit>),
    /// It is not there.
    Miss,
    /// Its file is damaged; says which, and how.
    Damaged(StoreError),
}

/// A folder of replications.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: PathBuf,
}

/// An entry's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheEntry {
    /// Its key.
    pub key: Key,
    /// Its file.
    pub path: PathBuf,
    /// The file's length.
    pub bytes: u64,
    /// The time at which it was last written or read.
    pub used: SystemTime,
    /// True if this version of Quell reads it.
    pub current: bool,
}

impl Cache {
    /// The cache in `dir`, which need not exist.
    pub fn at(dir: impl Into<PathBuf>) -> Cache {
        Cache { dir: dir.into() }
    }

    /// The folder of the cache unless somebody says otherwise: what `QUELL_CACHE` names, or `quell` in the user's
    /// folder for caches (`XDG_CACHE_HOME`, or `.cache` at home); `None` without a home.
    pub fn default_dir() -> Option<PathBuf> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        set(CACHE_VARIABLE)
            .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("quell")))
            .or_else(|| set("HOME").map(|home| home.join(".cache").join("quell")))
    }

    /// Its folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn path(&self, key: &Key) -> PathBuf {
        let name = key.to_string();
        self.dir.join(&name[..2]).join(format!("{}{SUFFIX}", &name[2..]))
    }

    /// True if a file for `key` is there, sound or not.
    pub fn has(&self, key: &Key) -> bool {
        self.path(key).exists()
    }

    /// The replication under `key`; notes that it was used.
    pub fn get(&self, key: &Key) -> Lookup {
        let found = self.read(key);
        if matches!(found, Lookup::Hit(_)) {
            // For whoever prunes; a cache may be read-only.
            let file = quell_files::open_own(File::options().append(true), &self.path(key));
            let _ = file.and_then(|f| f.set_modified(SystemTime::now()));
        }
        found
    }

    pub(super) fn read(&self, key: &Key) -> Lookup {
        let path = self.path(key);
        let bytes = match quell_files::read(&path, ENTRY) {
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Lookup::Miss;
            }
            bytes => bytes.map_err(at(&path, "be read")),
        };
        match bytes.and_then(|bytes| entry::decode(&bytes, key).map_err(damaged(&path))) {
            Ok(hit) => Lookup::Hit(Box::new(hit)),
            Err(error) => Lookup::Damaged(error),
        }
    }

    /// Keeps a replication, whole or not at all; gives the file.
    ///
    /// # Errors
    /// If it cannot be written: no permission, no space.
    pub fn put(&self, key: &Key, hit: &Hit) -> Result<PathBuf, StoreError> {
        let path = self.path(key);
        if let (false, Lookup::Hit(there)) = (hit.series, self.read(key))
            && there.series
            && there.replication.digest == hit.replication.digest
        {
            // It is there, and has more.
            return Ok(path);
        }
        let bytes = entry::encode(key, hit).map_err(at(&path, "be encoded"))?;
        self.write(&path, &bytes)?;
        Ok(path)
    }

    /// Copies an entry of another cache, whole or not at all; false if all of it is there already.
    ///
    /// # Errors
    /// If it is damaged, or cannot be written.
    pub fn copy(&self, entry: &CacheEntry) -> Result<bool, StoreError> {
        let (bytes, found) = whole(entry)?;
        match self.read(&entry.key) {
            Lookup::Hit(there) if there.series || !found.series => Ok(false),
            // What lacks the time series, or is damaged, is replaced.
            _ => self.write(&self.path(&entry.key), &bytes).map(|()| true),
        }
    }

    pub(super) fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let wrong = |e: io::Error| match e.kind() {
            io::ErrorKind::NotADirectory => StoreError {
                path: self.dir.clone(),
                why: "must be a folder, or a name that none has yet".to_string(),
            },
            _ => at(path, "be written")(e),
        };
        let folder = path.parent().unwrap_or(&self.dir);
        fs::create_dir_all(folder).map_err(wrong)?;
        let mut file = crate::store::temporary_file(folder).map_err(wrong)?;
        file.write_all(bytes).map_err(wrong)?;
        file.persist(path).map_err(|e| wrong(e.error))?;
        Ok(())
    }

    /// Every entry, in no order, those of earlier versions too. Files of another kind are passed over.
    ///
    /// # Errors
    /// If a folder cannot be read; a cache that does not exist has no entries.
    pub fn entries(&self) -> Result<Vec<CacheEntry>, StoreError> {
        let mut all = Vec::new();
        for folder in self.folders()? {
            let prefix = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            for file in fs::read_dir(&folder).map_err(at(&folder, "be read"))?.flatten() {
                let name = file.file_name().to_string_lossy().into_owned();
                let current = name.ends_with(SUFFIX);
                // Those of the first version were Parquet files.
                let rest = name.strip_suffix(SUFFIX).or_else(|| name.strip_suffix(".parquet"));
                let key = rest.and_then(|rest| Key::parse(&format!("{prefix}{rest}")));
                // Somebody else may prune at the same time.
                let (Some(key), Ok(meta)) = (key, file.metadata()) else { continue };
                let used = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                all.push(CacheEntry { key, path: file.path(), bytes: meta.len(), used, current });
            }
        }
        Ok(all)
    }

    /// Files that a process began and that it did not live to put in their place: nobody has written them for an
    /// hour.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn abandoned(&self) -> Result<Vec<PathBuf>, StoreError> {
        const FORSAKEN: Duration = Duration::from_secs(3600);
        let now = SystemTime::now();
        let mut all = Vec::new();
        for folder in self.folders()? {
            let files = fs::read_dir(&folder).map_err(at(&folder, "be read"))?;
            for file in files.flatten().filter(|f| f.file_name().to_string_lossy().starts_with(TEMPORARY)) {
                let written = file.metadata().and_then(|meta| meta.modified());
                if written.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age > FORSAKEN)) {
                    all.push(file.path());
                }
            }
        }
        Ok(all)
    }

    /// The folders of entries, which are named by the first two digits of their keys.
    fn folders(&self) -> Result<Vec<PathBuf>, StoreError> {
        let folders = match fs::read_dir(&self.dir) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            folders => folders.map_err(at(&self.dir, "be read"))?,
        };
        let named = folders.flatten().filter(|folder| folder.file_name().len() == 2);
        Ok(named.map(|folder| folder.path()).filter(|path| path.is_dir()).collect())
    }

    /// The description of an entry: its beginning is read, which may be sound where the rest is not.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn about(entry: &CacheEntry) -> Result<About, StoreError> {
        let mut file = quell_files::open(&entry.path).map_err(at(&entry.path, "be read"))?;
        Ok(entry::head(&mut file, &entry.key).map_err(damaged(&entry.path))?.about)
    }

    /// Reads the whole entry, to see whether it is sound.
    ///
    /// # Errors
    /// If it is damaged; says how.
    pub fn check(entry: &CacheEntry) -> Result<(), StoreError> {
        whole(entry).map(drop)
    }
}

fn damaged(path: &Path) -> impl FnOnce(String) -> StoreError {
    move |why| StoreError { path: path.to_path_buf(), why: format!("is damaged: {why}") }
}

/// The bytes of an entry, and what they say.
fn whole(entry: &CacheEntry) -> Result<(Vec<u8>, Hit), StoreError> {
    let bytes = quell_files::read(&entry.path, ENTRY).map_err(at(&entry.path, "be read"))?;
    let hit = entry::decode(&bytes, &entry.key).map_err(damaged(&entry.path))?;
    Ok((bytes, hit))
}
