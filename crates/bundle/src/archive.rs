//! Opening: an archive of anybody's, checked byte by byte before anything in it is believed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::ops::ControlFlow;
use std::path::Path;

use quell_files::Limit;
use quell_lab::{REPORT, Results, read_results};
use quell_units::text::cut;
use serde_json::Value;
use sha2::{Digest, Sha256};
use zip::ZipArchive;
use zip::result::ZipError;

use crate::contents::{made, named_files, written};
use crate::crate_metadata::{PACKER, RO_CRATE};
use crate::entry::{hash, hex};
use crate::error::BundleError;
use crate::names::{METADATA, RESULTS, SCENARIO, SUMS, flaw, id_of};
use crate::pack::sums;

/// A listener to how many of how many bytes are checked; a break stops it.
pub type OnBytes<'a> = dyn Fn(u64, u64) -> ControlFlow<()> + 'a;

/// A bundle that was opened: every hash is right.
#[derive(Debug)]
pub struct Bundle {
    /// Its title.
    pub title: String,
    /// The number of its files.
    pub files: usize,
    /// The size of its files, unpacked.
    pub bytes: u64,
    /// The SHA-256 of the archive itself, in hexadecimal.
    pub sha256: String,
    /// Its results.
    pub results: Results,
    /// The commit that made its tables, figures and report.
    pub packer: String,
    /// Those of its tables, figures and report that are not what this program makes of its results. That is so only if
    /// another commit made them: [`open`] refuses it otherwise.
    pub differing: Vec<String>,
    /// The files that scenarios name, by the name that they have there.
    pub(crate) inputs: BTreeMap<String, Vec<u8>>,
}

const ARCHIVE: Limit = Limit::of_tables("a bundle");
/// The most files of a bundle: far above any, and few enough to look at.
const MOST_FILES: usize = 100_000;
/// The most bytes of a bundle's files together, unpacked; a larger one is not a study but a zip bomb.
const MOST_BYTES: u64 = 64 << 30;
const ABOUT: Limit = Limit::of_text("a bundle's metadata");
/// The limit of the files that scenarios name.
const INPUT: Limit = Limit::of_data("a trace");

/// Opens a bundle and checks it: that the archive is whole, that its metadata is what RO-Crate asks for and lists every
/// file, that every file has the size and the hash that are listed, that the results can be read, and that scenario,
/// tables, figures and report are those of the results.
///
/// # Errors
/// [`BundleError::BadInput`] if the file is not a bundle, [`BundleError::Failed`] if it is damaged.
pub fn open(path: &Path, on_bytes: &OnBytes<'_>) -> Result<Bundle, BundleError> {
    let place = quell_files::name(path);
    let bad = |why: &str| BundleError::BadInput(format!("{place}: {why}"));
    let damaged = |why: String| BundleError::Failed(format!("{place}: {why}"));
    let mut file = quell_files::open_within(path, ARCHIVE).map_err(|e| bad(&e.to_string()))?;
    let mut magic = Vec::new();
    (&file).take(4).read_to_end(&mut magic).map_err(|e| bad(&e.to_string()))?;
    if !matches!(&magic[..], b"PK\x03\x04" | b"PK\x05\x06") {
        return Err(bad("is not a bundle, which is a zip archive; `quell bundle STUDY` makes one"));
    }
    let (archive_bytes, sha256) =
        measure_open(&mut file).map_err(|e| damaged(format!("cannot be read: {e}")))?;
    ends(&mut file, archive_bytes).map_err(&damaged)?;
    let mut zip = ZipArchive::new(file).map_err(|e| damaged(broken(&e)))?;
    let listed = inside(&mut zip).map_err(&damaged)?;
    if !listed.contains_key(METADATA) {
        return Err(bad(&format!("is not a bundle: it has no {METADATA}")));
    }
    let text = text(&mut zip, METADATA, ABOUT).map_err(&damaged)?;
    let metadata = Metadata::read(&text).map_err(|why| damaged(format!("{METADATA}: {why}")))?;
    metadata.lists(&listed).map_err(&damaged)?;
    let total: u64 = listed.values().sum();
    let (mut done, mut hashes) = (0, BTreeMap::new());
    let mut keep = Kept::new(archive_bytes).map_err(&damaged)?;
    for (name, bytes) in &listed {
        let found = keep.take(&mut zip, name, &metadata, &mut |n| {
            done += n;
            on_bytes(done, total)
        })?;
        let found = found.map_err(|why| damaged(format!("{name}: {why}")))?;
        if found.bytes != *bytes {
            return Err(damaged(format!("{name}: has {} bytes, and its header says {bytes}", found.bytes)));
        }
        if let Some(listed) = metadata.files.get(name).and_then(|file| file.sha256.as_ref())
            && *listed != found.sha256
        {
            return Err(damaged(format!(
                "{name}: differs from the file that was packed (SHA-256 {}, and {METADATA} lists {listed})",
                found.sha256
            )));
        }
        hashes.insert(name.as_str(), found.sha256);
    }
    hashes.remove(SUMS);
    let wanted = sums(hashes.iter().map(|(name, hash)| (*name, hash.clone())));
    if keep.sums != wanted.as_bytes() {
        return Err(damaged(format!(
            "{SUMS}: is not the list of the files' hashes: it or {METADATA} was changed"
        )));
    }
    let results = read_results(&keep.results()).map_err(|e| damaged(format!("{RESULTS}: {}", e.why)))?;
    let digest = quell_lab::Results::of(results.run.clone(), results.replications.clone()).run.digest;
    if digest != results.run.digest {
        return Err(damaged(format!("{RESULTS}run.json: its digest is not that of the replications")));
    }
    check_scenario(&results, &metadata, &hashes).map_err(&damaged)?;
    let differing = differing(&results, &hashes);
    let packer = metadata.packer.unwrap_or_else(|| results.run.commit.clone());
    if let Some(first) = differing.first().filter(|_| packer == quell_lab::commit()) {
        return Err(damaged(format!(
            "{first}: is not what this program makes from {RESULTS}, although its commit ({}) packed the bundle: the \
             file or the results were changed, and the hashes with them",
            cut(&packer)
        )));
    }
    let (title, inputs) = (metadata.title, keep.inputs);
    Ok(Bundle { title, files: listed.len(), bytes: total, sha256, results, packer, differing, inputs })
}

/// Checks that an archive ends where its own directory says, and that nothing stands behind.
fn ends(file: &mut File, bytes: u64) -> Result<(), String> {
    const LENGTH: u64 = 22;
    let cut_off = || {
        "is damaged or cut off, or has bytes after its end: download it again, and compare its SHA-256 with the \
         published one"
            .to_string()
    };
    let mut record = Vec::new();
    let start = bytes.checked_sub(LENGTH).ok_or_else(cut_off)?;
    let mut read = |from: u64, record: &mut Vec<u8>| {
        record.clear();
        file.seek(std::io::SeekFrom::Start(from))?;
        file.read_to_end(record)?;
        file.rewind()
    };
    read(start, &mut record).map_err(|e| format!("cannot be read: {e}"))?;
    // A comment of the archive would stand behind its record; bundles have none.
    if !record.starts_with(b"PK\x05\x06") || record.get(20..22) != Some(&[0, 0]) {
        return Err(cut_off());
    }
    let number = |at: usize| record[at..at + 4].iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte));
    let (size, offset) = (number(12), number(16));
    if size + offset == start {
        return Ok(());
    }
    // The record of a large archive has a longer one before it, which the reader checks.
    let mut before = Vec::new();
    read(start.saturating_sub(20), &mut before).map_err(|e| format!("cannot be read: {e}"))?;
    if before.starts_with(b"PK\x06\x07") { Ok(()) } else { Err(cut_off()) }
}

/// Checks that the files of the scenario's folder are the scenario of the results and the files that it names.
fn check_scenario(
    results: &Results,
    metadata: &Metadata,
    hashes: &BTreeMap<&str, String>,
) -> Result<(), String> {
    let (own, named) = (written(results), named_files(results));
    for entry in &own {
        match hashes.get(&*entry.name) {
            None => return Err(format!("{}: is missing, and {RESULTS}run.json has its text", entry.name)),
            Some(found) if *found != hash(&entry.bytes) => {
                return Err(format!(
                    "{}: is not the scenario of {RESULTS}run.json: one of them was changed, and the hashes with it",
                    entry.name
                ));
            }
            Some(_) => {}
        }
    }
    for (name, found) in hashes.iter().filter(|(name, _)| name.starts_with(SCENARIO)) {
        if own.iter().any(|entry| entry.name == **name) {
            continue;
        }
        let alias = metadata.files.get(*name).and_then(|file| file.alias.as_ref());
        match alias.and_then(|alias| named.get(alias)) {
            None => {
                return Err(format!("{name}: is not a file that the scenario of {RESULTS}run.json names"));
            }
            Some(Some(sha256)) if !sha256.eq_ignore_ascii_case(found) => {
                return Err(format!("{name}: is not the file that was run, which has the SHA-256 {sha256}"));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// The tables, figures and report that are not what this program makes of the results, those that are absent, and those
/// that it does not make.
fn differing(results: &Results, hashes: &BTreeMap<&str, String>) -> Vec<String> {
    let made: BTreeMap<String, String> =
        made(results).into_iter().map(|entry| (entry.name, hash(&entry.bytes))).collect();
    let is_made =
        |name: &str| name == REPORT || ["tables/", "figures/"].iter().any(|folder| name.starts_with(folder));
    let names: BTreeSet<&str> =
        made.keys().map(String::as_str).chain(hashes.keys().copied().filter(|name| is_made(name))).collect();
    names.into_iter().filter(|name| made.get(*name) != hashes.get(name)).map(str::to_string).collect()
}

/// The size of an archive and its SHA-256 in hexadecimal, for publishing it.
///
/// # Errors
/// If it cannot be read.
pub fn measure(path: &Path) -> Result<(u64, String), BundleError> {
    let measured = quell_files::open_within(path, ARCHIVE).and_then(|mut file| measure_open(&mut file));
    measured.map_err(|e| BundleError::Failed(format!("{}: cannot be read: {e}", quell_files::name(path))))
}

/// The size and the hash of a file, which is read from its beginning and left there.
fn measure_open(file: &mut File) -> std::io::Result<(u64, String)> {
    file.rewind()?;
    let (mut hash, mut piece, mut bytes) = (Sha256::new(), vec![0; 1 << 16], 0_u64);
    loop {
        match file.read(&mut piece)? {
            0 => break,
            n => {
                hash.update(&piece[..n]);
                bytes += n as u64;
            }
        }
    }
    file.rewind()?;
    Ok((bytes, hex(&hash.finalize())))
}

/// The flaw of an archive, for its reader.
fn broken(error: &ZipError) -> String {
    match error {
        ZipError::Io(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => "is cut off".to_string(),
        ZipError::Io(e) => format!("cannot be read: {e}"),
        ZipError::CompressionMethodNotSupported(n) => {
            format!(
                "is compressed with zip method {n}, but bundles use DEFLATE (8): pack it again with Quell"
            )
        }
        ZipError::InvalidArchive(why) => {
            format!(
                "is damaged or cut off: {why}; download it again, and compare its SHA-256 with the published one"
            )
        }
        other => format!("is damaged: {other}"),
    }
}

/// The files of an archive with their sizes, by name; refuses what no bundle has.
fn inside(zip: &mut ZipArchive<File>) -> Result<BTreeMap<String, u64>, String> {
    if zip.len() > MOST_FILES {
        return Err(format!("has {} files, but a bundle has at most {MOST_FILES}", zip.len()));
    }
    // Two files of one name, data that overlap, headers that say something else: programs would unpack different things.
    zip.validate_header_consistency().map_err(|e| broken(&e))?;
    let (mut all, mut total) = (BTreeMap::new(), 0_u64);
    for i in 0..zip.len() {
        let file = zip.by_index_raw(i).map_err(|e| broken(&e))?;
        let name = file.name().map_err(|e| broken(&e))?.into_owned();
        let refuse = |why: &str| Err(format!("\"{}\": {why}", cut(&name)));
        // Folders are there with some programs, and hold nothing.
        if file.is_dir() && file.size() == 0 && name.ends_with('/') {
            match flaw(&name[..name.len() - 1]) {
                Some(why) => return refuse(why),
                None => continue,
            }
        }
        if let Some(why) = flaw(&name) {
            return refuse(why);
        }
        if file.is_symlink() || !file.is_file() {
            return refuse("is not a regular file, but bundles have only regular files");
        }
        if file.encrypted() {
            return refuse("is encrypted, but bundles are not");
        }
        total = total.saturating_add(file.size());
        if total > MOST_BYTES {
            return Err(format!("would unpack to more than {} GiB, which no bundle does", MOST_BYTES >> 30));
        }
        all.insert(name, file.size());
    }
    Ok(all)
}

/// Reads a file of an archive as text.
fn text(zip: &mut ZipArchive<File>, name: &str, limit: Limit) -> Result<String, String> {
    let file = zip.by_name(name).map_err(|e| broken(&e))?;
    let bytes = quell_files::read_all(file, limit).map_err(|e| format!("{name}: {e}"))?;
    String::from_utf8(bytes).map_err(|_| format!("{name}: is not UTF-8 text"))
}

/// The size and hash of a file that was read.
struct Found {
    bytes: u64,
    sha256: String,
}

/// The parts of an archive that are kept while it is read: the rest takes no room.
struct Kept {
    folder: tempfile::TempDir,
    inputs: BTreeMap<String, Vec<u8>>,
    sums: Vec<u8>,
    /// The most bytes that files of this archive can unpack to: DEFLATE shrinks a thousandfold at most.
    most: u64,
}

impl Kept {
    fn new(archive_bytes: u64) -> Result<Kept, String> {
        let folder = tempfile::tempdir().map_err(|e| {
            format!("cannot make a temporary folder: {}", quell_lab::without_temporary_name(e))
        })?;
        fs::create_dir(folder.path().join("results"))
            .map_err(|e| format!("cannot make a temporary folder: {e}"))?;
        Ok(Kept {
            folder,
            inputs: BTreeMap::new(),
            sums: Vec::new(),
            most: archive_bytes.saturating_mul(1100),
        })
    }

    fn results(&self) -> std::path::PathBuf {
        self.folder.path().join("results")
    }

    /// Reads a file, and keeps it if it is needed again. Fails at once only if it is stopped; what is wrong with the file
    /// is inside.
    fn take(
        &mut self,
        zip: &mut ZipArchive<File>,
        name: &str,
        metadata: &Metadata,
        on_bytes: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<Result<Found, String>, BundleError> {
        let alias = metadata.files.get(name).and_then(|file| file.alias.clone());
        let own = name.strip_prefix(RESULTS).filter(|own| !own.contains('/'));
        let mut stored = match own.map(|own| File::create_new(self.results().join(own))).transpose() {
            Ok(stored) => stored,
            Err(e) => return Ok(Err(format!("cannot be unpacked: {e}"))),
        };
        let mut file = match zip.by_name(name) {
            Ok(file) => file,
            Err(e) => return Ok(Err(broken(&e))),
        };
        let (mut input, mut hash, mut bytes) = (Vec::new(), Sha256::new(), 0_u64);
        let mut piece = vec![0; 1 << 16];
        loop {
            let n = match file.read(&mut piece) {
                Ok(0) => break,
                Ok(n) => n,
                Err(e) => return Ok(Err(format!("is damaged: {e}"))),
            };
            bytes += n as u64;
            if bytes > self.most {
                return Ok(Err("unpacks to more than an archive of this size can hold".to_string()));
            }
            hash.update(&piece[..n]);
            if let Some(stored) = &mut stored
                && let Err(e) = stored.write_all(&piece[..n])
            {
                return Ok(Err(format!("cannot be unpacked: {e}")));
            }
            if alias.is_some() || name == SUMS {
                if input.len() as u64 + n as u64 > INPUT.bytes() {
                    return Ok(Err("is larger than the files that scenarios name may be".to_string()));
                }
                input.extend(&piece[..n]);
            }
            if on_bytes(n as u64).is_break() {
                return Err(BundleError::Stopped);
            }
        }
        match alias {
            Some(alias) => _ = self.inputs.insert(alias, input),
            None if name == SUMS => self.sums = input,
            None => {}
        }
        Ok(Ok(Found { bytes, sha256: hex(&hash.finalize()) }))
    }
}

/// A file as the metadata has it.
struct Listed {
    /// Its hash; `None` for the list of hashes, which has that of the metadata.
    sha256: Option<String>,
    bytes: u64,
    alias: Option<String>,
}

/// The metadata of a bundle, as far as it is checked.
struct Metadata {
    title: String,
    packer: Option<String>,
    files: BTreeMap<String, Listed>,
}

impl Metadata {
    fn read(text: &str) -> Result<Metadata, String> {
        let whole: Value = serde_json::from_str(text).map_err(|e| format!("is not JSON: {e}"))?;
        let graph = whole["@graph"].as_array().ok_or("has no list \"@graph\"")?;
        let mut entities: BTreeMap<&str, &Value> = BTreeMap::new();
        for entity in graph {
            let id = entity["@id"].as_str().ok_or("has an entity without \"@id\"")?;
            if entities.insert(id, entity).is_some() {
                return Err(format!("has two entities \"{}\"", cut(id)));
            }
        }
        let entity = |id: &str| entities.get(id).copied().ok_or(format!("has no entity \"{}\"", cut(id)));
        let own = entity(METADATA)?;
        if own["about"]["@id"] != "./" || own["conformsTo"]["@id"] != RO_CRATE {
            return Err(format!("must be about \"./\" and conform to {RO_CRATE}"));
        }
        let root = entity("./")?;
        for key in ["name", "description", "datePublished"] {
            if root[key].as_str().is_none_or(str::is_empty) {
                return Err(format!("the root has no \"{key}\", which RO-Crate requires"));
            }
        }
        let license =
            root["license"]["@id"].as_str().ok_or("the root has no \"license\", which RO-Crate requires")?;
        entity(license)?;
        if !is_a(root, "Dataset") {
            return Err("the root is not a \"Dataset\"".to_string());
        }
        let actions: Vec<&&Value> = entities.values().filter(|e| is_a(e, "CreateAction")).collect();
        let made = |action: &&Value| {
            let instrument = action["instrument"]["@id"].as_str();
            instrument.is_some_and(|id| entities.get(id).is_some_and(|e| is_a(e, "SoftwareApplication")))
        };
        if !actions.iter().any(|action| made(action)) {
            return Err("has no \"CreateAction\" whose instrument is a \"SoftwareApplication\"".to_string());
        }
        for (id, entity) in &entities {
            if let Some(missing) = dangling(entity, &entities) {
                return Err(format!("\"{}\" refers to \"{}\", which is not there", cut(id), cut(missing)));
            }
        }
        let files = files(root, &entities)?;
        let title = root["name"].as_str().unwrap_or_default().to_string();
        let packer = entities.get(PACKER).and_then(|e| e["value"].as_str()).map(str::to_string);
        Ok(Metadata { title, packer, files })
    }

    /// Checks that the files are those of the archive, with their sizes.
    fn lists(&self, inside: &BTreeMap<String, u64>) -> Result<(), String> {
        // Their ids are escaped; names are what is compared.
        if let Some(name) = inside.keys().find(|name| *name != METADATA && !self.files.contains_key(*name)) {
            return Err(format!("\"{}\": is in the archive, but {METADATA} does not list it", cut(name)));
        }
        for (name, file) in &self.files {
            match inside.get(name) {
                None => {
                    return Err(format!(
                        "\"{}\": is listed in {METADATA}, but not in the archive",
                        cut(name)
                    ));
                }
                Some(bytes) if *bytes != file.bytes => {
                    return Err(format!(
                        "{name}: has {bytes} bytes, and {METADATA} lists {}: it is damaged",
                        file.bytes
                    ));
                }
                Some(_) => {}
            }
        }
        match [SUMS, "results/run.json"].iter().find(|name| !self.files.contains_key(**name)) {
            Some(name) => Err(format!("{name}: is missing, although every bundle has it")),
            None => Ok(()),
        }
    }
}

/// True if an entity has a type.
fn is_a(entity: &Value, kind: &str) -> bool {
    let types = &entity["@type"];
    types == kind || types.as_array().is_some_and(|all| all.iter().any(|t| t == kind))
}

/// An entity of this crate to which another refers, and which is not there.
fn dangling<'a>(value: &'a Value, entities: &BTreeMap<&str, &Value>) -> Option<&'a str> {
    let is_local = |id: &str| !id.contains("://");
    match value {
        Value::Array(list) => list.iter().find_map(|value| dangling(value, entities)),
        Value::Object(map) => match map.get("@id").and_then(Value::as_str) {
            Some(id) if map.len() == 1 => (is_local(id) && !entities.contains_key(id)).then_some(id),
            _ => map.values().find_map(|value| dangling(value, entities)),
        },
        _ => None,
    }
}

/// The files that are parts of the root, by their names in the archive.
fn files(root: &Value, entities: &BTreeMap<&str, &Value>) -> Result<BTreeMap<String, Listed>, String> {
    let parts = root["hasPart"].as_array().ok_or("the root has no list \"hasPart\"")?;
    let ids: BTreeSet<&str> = parts.iter().filter_map(|part| part["@id"].as_str()).collect();
    let mut all = BTreeMap::new();
    for (id, entity) in entities.iter().filter(|(_, entity)| is_a(entity, "File")) {
        let name = name_of(id).ok_or(format!("\"{}\" is not the name of a file", cut(id)))?;
        let wrong = |what: &str| format!("\"{}\": {what}", cut(&name));
        if !ids.contains(id) {
            return Err(wrong("is a file, but not among the parts of the root (\"hasPart\")"));
        }
        let bytes = entity["contentSize"].as_str().and_then(|text| text.parse().ok());
        let bytes = bytes.ok_or_else(|| wrong("has no \"contentSize\", a number of bytes as a string"))?;
        let sha256 = entity["sha256"].as_str().map(str::to_ascii_lowercase);
        let is_hash = |text: &String| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if !sha256.as_ref().map_or(name == SUMS, is_hash) {
            return Err(wrong("has no \"sha256\" of 64 hexadecimal digits"));
        }
        if entity["encodingFormat"].as_str().is_none_or(str::is_empty) {
            return Err(wrong("has no \"encodingFormat\""));
        }
        let alias = entity["alternateName"].as_str().map(str::to_string);
        all.insert(name, Listed { sha256, bytes, alias });
    }
    Ok(all)
}

/// The name of a file whose `@id` this is; `None` if it is not the one way to write it.
fn name_of(id: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = id.as_bytes();
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |b: &u8| char::from(*b).to_digit(16);
                bytes.push(u8::try_from(digit(high)? * 16 + digit(low)?).ok()?);
                rest = after;
            }
            (byte, _) => {
                bytes.push(*byte);
                rest = tail;
            }
        }
    }
    let name = String::from_utf8(bytes).ok()?;
    (flaw(&name).is_none() && id_of(&name) == id).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        for name in ["README.md", "scenario/a b#é?%.csv", ".zenodo.json"] {
            assert_eq!(name_of(&id_of(name)).as_deref(), Some(name));
        }
        for wrong in ["", "../a", "a%2", "a%zz", "%2e%2e/a", "a%2Fb", "/a", "a b"] {
            assert_eq!(name_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn references_are_followed() {
        let value: Value =
            serde_json::json!({ "@id": "x", "a": [{ "@id": "y" }, { "@id": "https://e.org" }] });
        let here = BTreeMap::from([("x", &value)]);
        assert_eq!(dangling(&value, &here), Some("y"));
    }
}
