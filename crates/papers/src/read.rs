//! Reading a folder of documents, each checked as it is read.

use std::path::{Path, PathBuf};

use crate::band::{read_bands, read_null};
use crate::cells::{read_cells, read_ns2, slug};
use crate::check::{self, dialect};
use crate::error::PaperError;
use crate::experiment::{About, Document, Experiment, Papers};
use crate::toml_file::read_toml;

impl Papers {
    /// Reads a folder of documents.
    ///
    /// # Errors
    /// The first file that cannot be used.
    pub fn read(folder: &Path) -> Result<Papers, PaperError> {
        let (papers, broken) = Papers::read_usable(folder)?;
        broken.into_iter().next().map_or(Ok(papers), |(_, error)| Err(error))
    }

    /// Reads the documents of a folder that can be used; also gives the keys of the others, each with its first error.
    ///
    /// # Errors
    /// If what they share cannot be used: the printed numbers, ns-2's, or the bands.
    pub fn read_usable(folder: &Path) -> Result<(Papers, Vec<(String, PaperError)>), PaperError> {
        // Other folders may stand beside the documents: pages, or what a tool keeps.
        let has_files = |entry: &PathBuf| {
            entry.is_dir()
                && sorted(entry)
                    .is_ok_and(|files| files.iter().any(|f| f.extension().is_some_and(|e| e == "toml")))
        };
        let folders: Vec<PathBuf> = sorted(folder)?.into_iter().filter(has_files).collect();
        let key =
            |folder: &PathBuf| folder.file_name().map_or_else(String::new, |n| n.to_string_lossy().into());
        let keys: Vec<String> = folders.iter().map(key).collect();
        let cells = read_cells(&folder.join("cells.csv"), &keys)?;
        let ns2 = read_ns2(&folder.join("ns2.csv"), &cells)?;
        let bands = read_bands(&folder.join("bands.toml"), &cells)?;
        let guesses = read_null(&folder.join("null.toml"), &cells)?;
        let folder_of_all = folder.to_path_buf();
        let mut papers = Papers { folder: folder_of_all, documents: Vec::new(), cells, ns2, bands, guesses };
        let mut broken = Vec::new();
        for (key, folder) in keys.into_iter().zip(folders) {
            match document(&folder).and_then(|read| check::document(&papers, &read).map(|()| read)) {
                Ok(document) => papers.documents.push(document),
                Err(error) => broken.push((key, error)),
            }
        }
        Ok((papers, broken))
    }
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>, PaperError> {
    let fail = |e: std::io::Error| PaperError::of(folder, format!("cannot read: {e}"));
    let entries = std::fs::read_dir(folder).map_err(fail)?;
    let path = |entry: std::io::Result<std::fs::DirEntry>| Ok(entry.map_err(fail)?.path());
    let mut paths = entries.map(path).collect::<Result<Vec<PathBuf>, PaperError>>()?;
    paths.sort();
    Ok(paths)
}

fn document(folder: &Path) -> Result<Document, PaperError> {
    let key = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_string();
    let file = folder.join("document.toml");
    let (about, toml): (About, _) = read_toml(&file)?;
    let wrong =
        |key: &str, rule: String| PaperError { line: toml.line(&[key]), ..PaperError::of(&file, rule) };
    about.dialect.iter().try_for_each(|name| dialect(name)).map_err(|rule| wrong("dialect", rule))?;
    let mut experiments = Vec::new();
    for file in sorted(folder)? {
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if stem == "document" || file.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let (read, toml): (Experiment, _) = read_toml(&file)?;
        let id = format!("{key}-{stem}");
        if slug(&id) != id {
            return Err(PaperError::of(
                &file,
                format!("its name must be {}.toml, in lower case", slug(stem)),
            ));
        }
        experiments.push(Experiment { id, file, toml: Some(toml), ..read });
    }
    let stem = |e: &Experiment| e.id[key.len() + 1..].to_string();
    if let Some(lost) = about.order.iter().find(|name| !experiments.iter().any(|e| stem(e) == **name)) {
        return Err(wrong("order", format!("order = \"{lost}\": there is no experiment {lost}.toml")));
    }
    experiments.sort_by_key(|e| about.order.iter().position(|name| *name == stem(e)).unwrap_or(usize::MAX));
    Ok(Document { key, about, experiments })
}
