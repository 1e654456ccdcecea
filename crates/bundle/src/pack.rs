//! Packing: a folder of results as one archive.

use std::io::{Seek, Write};
use std::ops::ControlFlow;
use std::path::Path;

use quell_lab::Results;
use quell_scenario::Files;
use serde_json::json;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::about::About;
use crate::contents::collect;
use crate::crate_metadata::{self, description, keywords, title};
use crate::entry::{Entry, hash};
use crate::error::BundleError;
use crate::names::{METADATA, SUMS};

/// A listener to how many of how many files are packed; a break stops it.
pub type OnFile<'a> = dyn Fn(usize, usize) -> ControlFlow<()> + 'a;

/// The size of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The number of files.
    pub files: usize,
    /// The size of all files, unpacked.
    pub bytes: u64,
}

/// Packs results that were read from `folder` into `out`. The same results and the same words about them give the same
/// bytes. `inputs` reads the files that the scenarios name.
///
/// # Errors
/// If a file that a scenario names is not there or is another one, a file of the results changes meanwhile, `out` cannot
/// be written, or it was stopped.
pub fn pack(
    results: &Results,
    folder: &Path,
    about: &About,
    inputs: &Files,
    out: impl Write + Seek,
    on_file: &OnFile<'_>,
) -> Result<Packed, BundleError> {
    let files = collect(results, folder, about, inputs, zenodo(results, about))?;
    let names = files.iter().map(|file| file.name.as_str()).chain([METADATA]);
    let sums_bytes = names.map(|name| sum_line("", name).len() + 64).sum();
    let metadata = crate_metadata::text(&results.run, about, &files, sums_bytes);
    let hashes = files.iter().map(|f| (f.name.as_str(), hash(&f.bytes)));
    let sums = sums(hashes.chain([(METADATA, hash(metadata.as_bytes()))]));
    let own = [(METADATA, metadata.as_bytes()), (SUMS, sums.as_bytes())];
    // Who reads an archive from its beginning meets the metadata first.
    let all: Vec<(&str, &[u8])> =
        own.into_iter().chain(files.iter().map(|f| (&*f.name, &*f.bytes))).collect();
    let mut zip = ZipWriter::new(out);
    for (i, (name, bytes)) in all.iter().enumerate() {
        if on_file(i, all.len()).is_break() {
            return Err(BundleError::Stopped);
        }
        write(&mut zip, name, bytes)
            .map_err(|e| BundleError::Failed(format!("cannot write the archive: {e}")))?;
    }
    zip.finish().map_err(|e| BundleError::Failed(format!("cannot write the archive: {e}")))?;
    Ok(Packed { files: all.len(), bytes: all.iter().map(|(_, bytes)| bytes.len() as u64).sum() })
}

/// Writes one file. Neither the clock nor the user's mask is in it.
fn write<W: Write + Seek>(zip: &mut ZipWriter<W>, name: &str, bytes: &[u8]) -> zip::result::ZipResult<()> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644)
        .large_file(bytes.len() as u64 >= u64::from(u32::MAX));
    zip.start_file(name, options)?;
    zip.write_all(bytes)?;
    Ok(())
}

/// The list of hashes as `sha256sum` has it, sorted by name.
pub(crate) fn sums<'a>(hashes: impl Iterator<Item = (&'a str, String)>) -> String {
    let mut lines: Vec<(&str, String)> = hashes.collect();
    lines.sort();
    lines.iter().map(|(name, hash)| sum_line(hash, name)).collect()
}

fn sum_line(hash: &str, name: &str) -> String {
    format!("{hash}  {name}\n")
}

/// The metadata that Zenodo reads of a repository (`.zenodo.json`), which its forms ask for too. Without authors there is
/// none: Zenodo needs at least one.
fn zenodo(results: &Results, about: &About) -> Option<Entry> {
    if about.authors.is_empty() {
        return None;
    }
    let creators = about.authors.iter().map(|author| {
        let mut creator = json!({ "name": author.name });
        if let Some(orcid) = &author.orcid {
            creator["orcid"] = json!(orcid);
        }
        creator
    });
    let creators: Vec<_> = creators.collect();
    let mut metadata = json!({
        "upload_type": "dataset",
        "title": title(&results.run, about),
        "description": description(&results.run, about),
        "creators": creators,
        "keywords": keywords(&results.run),
        "access_right": "open",
    });
    // Of others than those with an identifier it knows nothing.
    if let Some(license) = about.license.as_ref().filter(|license| license.name != license.url) {
        metadata["license"] = json!(license.name.to_lowercase());
    }
    let text = serde_json::to_string_pretty(&metadata).ok()? + "\n";
    Some(Entry {
        name: ".zenodo.json".to_string(),
        title: "Title, authors and license as Zenodo takes them".to_string(),
        alias: None,
        bytes: text.into_bytes(),
    })
}
