//! Replications that were run before, kept by what they depend on.
//!
//! A replication's key is a hash of everything that can change it: the scenario with every default, the
//! algorithm with its parameters, the seed, the schema of results, and a fingerprint of the engine and of the
//! algorithms that take part. The fingerprint is made of golden runs, not of a version: what cannot change a
//! result does not make it unknown.
//!
//! A cache is a folder; an entry is a file `ab/cdef….parquet` that is put in its place in one step, so any
//! number of processes and machines may share one. Its rows are the replication's metrics, for whoever reads
//! Parquet; all its tables stand between the rows and the footer, with their hash.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::Bytes;
use quell_scenario::Identity;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::columns::{Column, Columns, Texts};
use crate::fingerprint::fingerprint;
use crate::parquet::{self, Extra};
use crate::results::Replication;
use crate::run::hex;
use crate::store::StoreError;
use crate::table::{self, Found, Table};

/// The version of entries; part of every key.
const SCHEMA: u32 = 3;

/// The variable that names the folder of the cache.
pub const CACHE_VARIABLE: &str = "QUELL_CACHE";

/// Identifies a replication by all it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; 32]);

impl Key {
    /// The key of a replication.
    ///
    /// # Errors
    /// If an algorithm has no fingerprint; says why.
    pub fn new(identity: &Identity, seed: u64) -> Result<Key, String> {
        let mut hash = Sha256::new();
        hash.update(format!("quell replication {SCHEMA}\n"));
        for algorithm in &identity.algorithms {
            hash.update(format!("{algorithm} {}\n", fingerprint(algorithm)?));
        }
        hash.update(format!("seed {seed}\n"));
        hash.update(&identity.text);
        Ok(Key(hash.finalize().into()))
    }

    /// Where it lies between the least key, 0, and the largest, 1: keys are spread evenly.
    pub(crate) fn position(&self) -> f64 {
        f64::from(u32::from_be_bytes([self.0[0], self.0[1], self.0[2], self.0[3]])) / f64::from(u32::MAX)
    }

    fn parse(text: &str) -> Option<Key> {
        let mut key = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (i, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).ok()?;
        }
        Some(Key(key))
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// What an entry says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The scenario's title.
    pub title: String,
    /// What distinguishes the point from others of its study.
    pub point: String,
    /// The scenario with every default and this algorithm alone, as TOML.
    pub scenario: String,
    /// The version of Quell that ran it.
    pub version: String,
}

/// All tables of a replication, as stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    tables: Vec<(String, Found)>,
}

/// What the cache has of a replication.
#[derive(Debug)]
pub enum Lookup {
    /// It is there.
    Hit(Box<Replication>),
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
pub struct Entry {
    /// Its key.
    pub key: Key,
    /// Its file.
    pub path: PathBuf,
    /// The file's length.
    pub bytes: u64,
    /// When it was last written or read.
    pub used: SystemTime,
}

impl Cache {
    /// The cache in `dir`, which need not exist.
    pub fn at(dir: impl Into<PathBuf>) -> Cache {
        Cache { dir: dir.into() }
    }

    /// Where the cache is unless somebody says otherwise: what `QUELL_CACHE` names, or `quell` in the user's
    /// folder for caches (`XDG_CACHE_HOME`, or `.cache` at home); none without a home.
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
        self.dir.join(&name[..2]).join(format!("{}.parquet", &name[2..]))
    }

    /// What it has under `key`.
    pub fn get(&self, key: &Key) -> Lookup {
        let path = self.path(key);
        let damaged = |why: String| Lookup::Damaged(StoreError { path: path.clone(), why });
        let mut bytes = Vec::new();
        match File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Lookup::Miss,
            Err(e) => return damaged(format!("cannot be read: {e}")),
            Ok(_) => {}
        }
        match decode(bytes.into(), key) {
            Ok(replication) => {
                // When it was used, for whoever prunes; a cache may be read-only.
                let _ =
                    File::options().append(true).open(&path).and_then(|f| f.set_modified(SystemTime::now()));
                Lookup::Hit(Box::new(replication))
            }
            Err(why) => damaged(format!("is damaged: {why}")),
        }
    }

    /// Keeps a replication, whole or not at all; gives the file.
    ///
    /// # Errors
    /// If it cannot be written: no permission, no space.
    pub fn put(&self, key: &Key, replication: &Replication, about: &About) -> Result<PathBuf, StoreError> {
        let path = self.path(key);
        let bytes = encode(key, replication, about)
            .map_err(|why| StoreError { path: path.clone(), why: format!("cannot be encoded: {why}") })?;
        self.write(&path, &bytes)?;
        Ok(path)
    }

    /// Copies an entry of another cache, whole or not at all; false if it is there already.
    ///
    /// # Errors
    /// If it is damaged, or cannot be written.
    pub fn copy(&self, entry: &Entry) -> Result<bool, StoreError> {
        let path = self.path(&entry.key);
        if path.exists() {
            return Ok(false);
        }
        Cache::about(entry)?;
        let bytes = fs::read(&entry.path)
            .map_err(|e| StoreError { path: entry.path.clone(), why: format!("cannot be read: {e}") })?;
        self.write(&path, &bytes)?;
        Ok(true)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let wrong =
            |e: io::Error| StoreError { path: path.to_path_buf(), why: format!("cannot be written: {e}") };
        let folder = path.parent().unwrap_or(&self.dir);
        fs::create_dir_all(folder).map_err(wrong)?;
        let mut file = crate::store::temporary_file(folder).map_err(wrong)?;
        file.write_all(bytes).map_err(wrong)?;
        file.persist(path).map_err(|e| wrong(e.error))?;
        Ok(())
    }

    /// Every entry, in no order. Files of another kind are passed over.
    ///
    /// # Errors
    /// If a folder cannot be read; a cache that does not exist has no entries.
    pub fn entries(&self) -> Result<Vec<Entry>, StoreError> {
        let wrong = |path: &Path, e: io::Error| StoreError {
            path: path.to_path_buf(),
            why: format!("cannot be read: {e}"),
        };
        let mut all = Vec::new();
        let folders = match fs::read_dir(&self.dir) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(all),
            folders => folders.map_err(|e| wrong(&self.dir, e))?,
        };
        for folder in folders.flatten().filter(|f| f.file_name().len() == 2 && f.path().is_dir()) {
            let prefix = folder.file_name().to_string_lossy().into_owned();
            for file in fs::read_dir(folder.path()).map_err(|e| wrong(&folder.path(), e))?.flatten() {
                let name = file.file_name().to_string_lossy().into_owned();
                let key =
                    name.strip_suffix(".parquet").and_then(|rest| Key::parse(&format!("{prefix}{rest}")));
                // Somebody else may prune at the same time.
                let (Some(key), Ok(meta)) = (key, file.metadata()) else { continue };
                let used = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                all.push(Entry { key, path: file.path(), bytes: meta.len(), used });
            }
        }
        Ok(all)
    }

    /// What the entry says of itself.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn about(entry: &Entry) -> Result<About, StoreError> {
        let wrong = |why: String| StoreError { path: entry.path.clone(), why };
        let bytes: Bytes = fs::read(&entry.path).map_err(|e| wrong(format!("cannot be read: {e}")))?.into();
        // Shared, not copied.
        decode(bytes.clone(), &entry.key).map_err(|why| wrong(format!("is damaged: {why}")))?;
        let (_, notes) = parquet::extra(bytes).map_err(|e| wrong(e.to_string()))?;
        let text = notes.get(ABOUT).ok_or_else(|| wrong("is damaged: it does not say what it is".into()))?;
        serde_json::from_str(text).map_err(|e| wrong(format!("is damaged: {e}")))
    }
}

/// The notes in an entry's footer.
const ABOUT: &str = "quell.about";
const HASH: &str = "quell.sha256";
const KEY: &str = "quell.key";

fn encode(key: &Key, replication: &Replication, about: &About) -> Result<Vec<u8>, String> {
    // Its point and its label are those of the run that kept it; who finds it puts his own there.
    let all = std::slice::from_ref(replication);
    let tables = Table::ALL
        .iter()
        .map(|table| {
            let columns = table.columns(all);
            let found = columns.0.into_iter().map(|(name, column)| (name.to_string(), column)).collect();
            (table.name().to_string(), found)
        })
        .collect();
    let plain = postcard::to_stdvec(&Stored { tables }).map_err(|e| e.to_string())?;
    let bytes = snap::raw::Encoder::new().compress_vec(&plain).map_err(|e| e.to_string())?;
    let notes = vec![
        (KEY, key.to_string()),
        (HASH, hex(&Sha256::digest(&bytes))),
        (ABOUT, serde_json::to_string(about).map_err(|e| e.to_string())?),
    ];
    let rows = rows(key, replication, about);
    parquet::write_with(&rows, Some(&Extra { bytes: &bytes, notes })).map_err(|e| e.to_string())
}

/// The metrics, each row with what distinguishes its replication from all others.
fn rows(key: &Key, replication: &Replication, about: &About) -> Columns {
    let metrics = Table::Metrics.columns(std::slice::from_ref(replication));
    let n = metrics.rows();
    let text = |text: &str| {
        let mut texts = Texts::default();
        (0..n).for_each(|_| texts.push(text));
        Column::Text(texts)
    };
    let mut columns = Columns::default();
    for (name, value) in [
        ("key", key.to_string().as_str()),
        ("title", &about.title),
        ("settings", &about.point),
        ("scenario", &about.scenario),
        ("version", &about.version),
        ("digest", &format!("{:016x}", replication.digest)),
    ] {
        columns.0.push((name, text(value)));
    }
    columns.0.push(("elapsed_s", Column::F64(vec![replication.elapsed_s; n])));
    columns.0.extend(metrics.0.into_iter().filter(|(name, _)| *name != "point"));
    columns
}

fn decode(file: Bytes, key: &Key) -> Result<Replication, String> {
    let (bytes, notes) = parquet::extra(file).map_err(|e| e.to_string())?;
    let note = |name: &str| notes.get(name).map(String::as_str);
    if note(HASH) != Some(hex(&Sha256::digest(&bytes)).as_str()) {
        return Err("its contents differ from what was written".into());
    }
    if note(KEY) != Some(key.to_string().as_str()) {
        return Err("it is another replication's".into());
    }
    let plain = snap::raw::Decoder::new().decompress_vec(&bytes).map_err(|e| e.to_string())?;
    let Stored { tables } = postcard::from_bytes(&plain).map_err(|e| e.to_string())?;
    let mut tables: Vec<(String, Option<Found>)> = tables.into_iter().map(|(n, t)| (n, Some(t))).collect();
    let mut all = table::replications(|table| {
        let found = tables.iter_mut().find(|(name, _)| name == table.name());
        found.and_then(|(_, found)| found.take()).ok_or_else(|| format!("it has no table {}", table.name()))
    })?;
    match (all.pop(), all.len()) {
        (Some(replication), 0) => Ok(replication),
        _ => Err("it is not one replication".into()),
    }
}

/// Syncs files that were put in their place, in the background: what was written stays after a loss of power
/// too, and who writes need not wait for the disk.
pub(crate) struct Syncer {
    paths: Option<std::sync::mpsc::Sender<PathBuf>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Syncer {
    pub(crate) fn start() -> Syncer {
        let (paths, written) = std::sync::mpsc::channel::<PathBuf>();
        let thread = std::thread::spawn(move || {
            for path in written {
                // An entry that is lost is computed again.
                let _ = File::open(path).and_then(|file| file.sync_data());
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

impl Drop for Syncer {
    fn drop(&mut self) {
        self.paths = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
