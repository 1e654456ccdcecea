//! The metrics of every entry, for programs that read Parquet: a few files for the whole cache, because a database
//! takes as long to open a file as to read ten thousand rows of it.
//!
//! A run adds one file, a part, when it ends. What it could not add, because it was killed, is added when
//! somebody asks for the index. Readers take one row of those that are in several parts.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use quell_metrics::{Column, NamedColumns, Replication, Table, Texts, hex};
use sha2::{Digest, Sha256};

use super::entry::About;
use super::folder::{Cache, Lookup};
use super::key::Key;
use crate::parquet;
use crate::store::{StoreError, TABLE, at};

/// The folder of the parts, within that of the cache.
pub(super) const FOLDER: &str = "index";
/// Parts beyond this number are made one.
const PARTS: usize = 32;
/// The column that names an entry.
const KEY: &str = "key";
/// The number of entries that are read before their rows are written.
const BATCH: usize = 2000;

/// A replication and what the index says of it beside its metrics.
pub(crate) struct Indexed<'a> {
    pub(crate) key: Key,
    pub(crate) about: &'a About,
    pub(crate) replication: &'a Replication,
}

impl Cache {
    /// Brings the index up to date, and gives the pattern of its files.
    ///
    /// # Errors
    /// If the cache cannot be read, or the index cannot be written. Damaged entries are passed over.
    pub fn index(&self) -> Result<PathBuf, StoreError> {
        let _alone = self.lock_index()?;
        let entries: Vec<_> = self.entries()?.into_iter().filter(|e| e.current).collect();
        let there: HashSet<Key> = entries.iter().map(|e| e.key).collect();
        // A run may have added what was pruned while it ran.
        self.forget_alone(&self.indexed_keys()?.difference(&there).copied().collect())?;
        let known = self.indexed_keys()?;
        let mut missing: Vec<_> = entries.into_iter().filter(|e| !known.contains(&e.key)).collect();
        missing.sort_by_key(|entry| entry.key);
        for batch in missing.chunks(BATCH) {
            let found: Vec<_> = batch
                .iter()
                .filter_map(|entry| match self.read(&entry.key) {
                    Lookup::Hit(hit) => Some((entry.key, hit)),
                    _ => None,
                })
                .collect();
            let rows: Vec<_> = found
                .iter()
                .map(|(key, hit)| Indexed { key: *key, about: &hit.about, replication: &hit.replication })
                .collect();
            self.add_to_index(&rows)?;
        }
        let parts = self.parts()?;
        if parts.len() > PARTS {
            self.merge(&parts)?;
        }
        Ok(self.dir().join(FOLDER).join("*.parquet"))
    }

    /// Adds a part.
    pub(crate) fn add_to_index(&self, rows: &[Indexed<'_>]) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        self.write_part(&table(rows))
    }

    /// Takes the rows of entries that were removed out of the index.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn forget(&self, removed: &HashSet<Key>) -> Result<(), StoreError> {
        if removed.is_empty() || !self.dir().join(FOLDER).exists() {
            return Ok(());
        }
        let _alone = self.lock_index()?;
        self.forget_alone(removed)
    }

    fn forget_alone(&self, removed: &HashSet<Key>) -> Result<(), StoreError> {
        for part in self.parts()? {
            // What else it has is missing from now on, and added with the next index.
            if keys(&part).is_none_or(|keys| keys.iter().any(|key| removed.contains(key))) {
                remove(&part)?;
            }
        }
        Ok(())
    }

    /// The keys that the index has.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn indexed_keys(&self) -> Result<HashSet<Key>, StoreError> {
        let mut known = HashSet::new();
        for part in self.parts()? {
            match keys(&part) {
                Some(keys) => known.extend(keys),
                // It is damaged; its rows are made again from the entries.
                None => remove(&part)?,
            }
        }
        Ok(known)
    }

    /// Makes one part of those that have the same columns.
    fn merge(&self, parts: &[PathBuf]) -> Result<(), StoreError> {
        let mut merged: Vec<(NamedColumns, Vec<&PathBuf>)> = Vec::new();
        for path in parts {
            let part = parquet::read(opened(path)?).map_err(at(path, "be read"))?;
            let same = |found: &NamedColumns| {
                found.iter().map(|(name, _)| name).eq(part.iter().map(|(name, _)| name))
            };
            match merged.iter_mut().find(|(found, _)| same(found)) {
                Some((found, from)) => {
                    found.iter_mut().zip(&part).for_each(|((_, all), (_, more))| all.append(more));
                    from.push(path);
                }
                None => merged.push((part, vec![path])),
            }
        }
        for (found, from) in merged.iter().filter(|(_, from)| from.len() > 1) {
            self.write_part(found)?;
            from.iter().try_for_each(|path| remove(path))?;
        }
        Ok(())
    }

    fn parts(&self) -> Result<Vec<PathBuf>, StoreError> {
        let folder = self.dir().join(FOLDER);
        let mut parts: Vec<PathBuf> = match fs::read_dir(&folder) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            files => files.map_err(at(&folder, "be read"))?.flatten().map(|f| f.path()).collect(),
        };
        parts.retain(|path| path.extension().is_some_and(|e| e == "parquet"));
        parts.sort();
        Ok(parts)
    }

    /// A part's name is the hash of its contents: the same rows are never there twice by that.
    fn write_part(&self, rows: &NamedColumns) -> Result<(), StoreError> {
        let folder = self.dir().join(FOLDER);
        let encoded = parquet::write(rows.iter().map(|(name, column)| (name.as_str(), column)))
            .map_err(at(&folder, "be encoded"))?;
        let name = hex(&Sha256::digest(&encoded)[..12]);
        self.write(&folder.join(format!("{name}.parquet")), &encoded)
    }

    /// Whoever rewrites the index does so alone; its readers are not kept waiting.
    fn lock_index(&self) -> Result<File, StoreError> {
        let folder = self.dir().join(FOLDER);
        fs::create_dir_all(&folder).map_err(at(&folder, "be written"))?;
        let path = folder.join("lock");
        let file = quell_files::open_own(File::options().create(true).append(true), &path)
            .map_err(at(&path, "be written"))?;
        // Some file systems have no locks. There the worst is a row in two parts.
        let _ = file.lock();
        Ok(file)
    }
}

fn opened(part: &Path) -> Result<File, StoreError> {
    quell_files::open_within(part, TABLE).map_err(at(part, "be read"))
}

/// The keys of a part; `None` if it is damaged.
fn keys(part: &Path) -> Option<Vec<Key>> {
    let found = parquet::read_only(opened(part).ok()?, Some(KEY)).ok()?;
    match &found[..] {
        [(_, Column::Text(texts))] => Some(texts.distinct().filter_map(Key::parse).collect()),
        _ => None,
    }
}

fn remove(part: &Path) -> Result<(), StoreError> {
    match fs::remove_file(part) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(at(part, "be removed")(e)),
        _ => Ok(()),
    }
}

/// The metrics, each row with what distinguishes its replication from all others.
fn table(all: &[Indexed<'_>]) -> NamedColumns {
    let names = [KEY, "title", "settings", "scenario", "version", "digest", "algorithm"];
    let mut first = names.map(|_| Texts::default());
    let mut elapsed_s = Vec::new();
    let mut metrics: Vec<(&'static str, Column)> = Vec::new();
    for Indexed { key, about, replication } in all {
        let rows = Table::Metrics.columns(std::slice::from_ref(*replication));
        let (key, digest) = (key.to_string(), format!("{:016x}", replication.digest));
        let About { title, point, algorithm, scenario, version } = about;
        for (texts, cell) in first.iter_mut().zip([&key, title, point, scenario, version, &digest, algorithm])
        {
            (0..rows.rows()).for_each(|_| texts.push(cell));
        }
        elapsed_s.extend(std::iter::repeat_n(replication.elapsed_s, rows.rows()));
        // Its point, and the label that it had in one run, say nothing to others.
        let rows = rows.0.into_iter().filter(|(name, _)| !["point", "algorithm"].contains(name));
        match metrics.is_empty() {
            true => metrics.extend(rows),
            false => metrics.iter_mut().zip(rows).for_each(|((_, all), (_, more))| all.append(&more)),
        }
    }
    let first = names.into_iter().zip(first.map(Column::Text));
    let all = first.chain([("elapsed_s", Column::F64(elapsed_s))]).chain(metrics);
    all.map(|(name, column)| (name.to_string(), column)).collect()
}
