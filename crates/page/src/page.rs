//! The files of the page.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use quell_files::Limit;

use crate::answer::Answer;

/// The file that a browser gets first.
const INDEX: &str = "index.html";
const FILE: Limit = Limit::of_data("a file of the page");

/// Those that were compiled in, compressed; none if the page had not been built.
static COMPILED_IN: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The files of the page, by their names.
#[derive(Clone, Debug)]
pub struct Page(Place);

#[derive(Clone, Debug)]
enum Place {
    CompiledIn,
    Folder(PathBuf),
}

impl Page {
    /// The page that was compiled in. `None`: it had not been built by then.
    pub fn compiled_in() -> Option<Page> {
        (!COMPILED_IN.is_empty()).then_some(Page(Place::CompiledIn))
    }

    /// The page in a folder, which is read as browsers ask for its files: it may be built again in the meantime.
    ///
    /// # Errors
    /// If it has no `index.html`, or cannot be read.
    pub fn in_folder(folder: &Path) -> io::Result<Page> {
        if !fs::metadata(folder)?.is_dir() {
            return Err(io::Error::new(ErrorKind::NotADirectory, "is not a folder"));
        }
        if !folder.join(INDEX).is_file() {
            return Err(io::Error::new(ErrorKind::NotFound, format!("has no {INDEX}")));
        }
        Ok(Page(Place::Folder(folder.to_path_buf())))
    }

    /// The answer to who asks for the file at `path`, which begins with a slash. `None`: the page has none of that name,
    /// or it cannot be read.
    pub fn find(&self, path: &str) -> Option<Answer> {
        let name = match path.strip_prefix('/')? {
            "" => INDEX,
            name => name,
        };
        // Looked up among the names that there are, so that no path leads out of the folder.
        match &self.0 {
            Place::CompiledIn => {
                let (_, bytes) = COMPILED_IN.iter().find(|(known, _)| *known == name)?;
                Some(Answer::compressed(kind_of(name), bytes))
            }
            Place::Folder(folder) => {
                let is_named = |entry: &fs::DirEntry| entry.file_name().to_str() == Some(name);
                let entry = fs::read_dir(folder).ok()?.flatten().find(is_named)?;
                let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
                let bytes = quell_files::read(&entry.path(), FILE).ok().filter(|_| is_file)?;
                Some(Answer::new(kind_of(name), bytes))
            }
        }
    }
}

/// The media type of a file by its name.
fn kind_of(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "wasm" => "application/wasm",
        "png" => "image/png",
        "webmanifest" => "application/manifest+json",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
