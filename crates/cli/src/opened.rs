//! What `quell lab` opens in the page: a scenario with the files that it names, or results.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quell_files::Limit;
use quell_metrics::RunInfo;
use quell_scenario::{Document, Files, Plugins, ScenarioError};
use serde::Serialize;

use crate::failure::Failure;
use crate::{folder, terminal};

const SCENARIO: Limit = Limit::of_text("a scenario");
/// The most bytes of files that a scenario names: the page has them in memory, and each of its workers.
const MOST_BYTES: usize = 64 << 20;

/// What the page is given to open.
pub enum Opened {
    /// A scenario file, which is read again when it has changed.
    Scenario(PathBuf, Read),
    /// What is read once: standard input, and results.
    Kept(Vec<u8>),
}

/// What was read of a scenario.
pub struct Read {
    message: Vec<u8>,
    /// The scenario's file and those that it names, as they were.
    states: Vec<(PathBuf, Option<State>)>,
}

/// The length of a file, and the time of its last change.
type State = (u64, SystemTime);

/// The message that the page gets.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Message {
    /// A scenario.
    Scenario { name: String, text: String, files: Vec<File> },
    /// A study that was run: what the page's simulator takes as `open`.
    Results { name: String, run: Box<RunInfo>, replications: Vec<String> },
    /// There is none any more.
    Error { message: String },
}

/// A file that a scenario names.
#[derive(Serialize)]
struct File {
    /// The name that the scenario has for it.
    name: String,
    /// Its bytes in base64, without compression.
    bytes: String,
}

impl Opened {
    /// Reads a scenario file, or a folder of results.
    ///
    /// # Errors
    /// If it is wrong.
    pub fn read(path: &Path) -> Result<Opened, Failure> {
        let is_stdin = path.to_str() == Some("-");
        if !is_stdin && (path.is_dir() || folder::of(path) != path) {
            return Ok(Opened::Kept(results(path)?));
        }
        let bytes = match is_stdin {
            true => quell_files::read_all(std::io::stdin().lock(), SCENARIO),
            false => quell_files::read(path, SCENARIO),
        };
        let name = if is_stdin { "standard input".to_string() } else { path.display().to_string() };
        let bytes = bytes.map_err(|e| ScenarioError::of_file(name.clone(), format!("cannot read: {e}")))?;
        let is_given = is_stdin || quell_files::is_given(path);
        let place = if is_given { Path::new("") } else { path };
        let (message, wrong) = message(bytes, &name, place);
        match wrong {
            // Said before anything is served.
            Some(error) => Err(error.into()),
            None if is_given => Ok(Opened::Kept(message.message)),
            None => Ok(Opened::Scenario(path.to_path_buf(), message)),
        }
    }

    /// The message for the page, of what is there now.
    pub fn now(&mut self) -> Vec<u8> {
        let (path, last) = match self {
            Opened::Kept(message) => return message.clone(),
            Opened::Scenario(path, last) => (path, last),
        };
        if last.states.iter().any(|(path, state)| state_of(path) != *state) {
            // With an error in it, too, which the page then shows where it is.
            *last = match quell_files::read(path, SCENARIO) {
                Ok(bytes) => message(bytes, &path.display().to_string(), path).0,
                Err(e) => {
                    let message = format!("{}: cannot read: {e}", path.display());
                    Read {
                        message: json(&Message::Error { message }),
                        states: vec![(path.clone(), state_of(path))],
                    }
                }
            };
        }
        last.message.clone()
    }
}

/// The message of a scenario's text, and what is wrong with it; `path` is its file, or empty for the working directory.
#[allow(clippy::result_large_err)] // Who asks says more of the error.
fn message(bytes: Vec<u8>, name: &str, path: &Path) -> (Read, Option<ScenarioError>) {
    let mut states = vec![(path.to_path_buf(), state_of(path))];
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let read = Document::from_bytes(bytes, name).and_then(|document| {
        document.among(recorded(path.parent().unwrap_or(Path::new("")), seen.clone())).study(&Plugins::new())
    });
    let mut seen = std::mem::take(&mut *seen.lock().unwrap_or_else(|broken| broken.into_inner()));
    states.extend(seen.iter().map(|file: &Seen| (file.path.clone(), file.state)));
    let total: usize = seen.iter().map(|file| file.bytes.len()).sum();
    let mut wrong = read.err();
    if total > MOST_BYTES {
        let rule = format!(
            "names files of {}, but the page accepts at most {}; `quell run` has no such limit",
            terminal::size(total as u64),
            terminal::size(MOST_BYTES as u64)
        );
        wrong = wrong.or(Some(ScenarioError::of_file(name.to_string(), rule)));
        seen.clear();
    }
    let files =
        seen.into_iter().map(|file| File { name: file.name, bytes: STANDARD.encode(file.bytes) }).collect();
    let short = Path::new(name).file_name().map_or(name.into(), |short| short.to_string_lossy().into_owned());
    (Read { message: json(&Message::Scenario { name: short, text, files }), states }, wrong)
}

/// A file that a scenario named.
struct Seen {
    name: String,
    path: PathBuf,
    state: Option<State>,
    bytes: Vec<u8>,
}

/// The files that a scenario in `folder` may name; those that it does name are kept.
fn recorded(folder: &Path, seen: Arc<Mutex<Vec<Seen>>>) -> Files {
    let (folder, files) = (folder.to_path_buf(), quell_lab::files_in(folder));
    Files::new(move |name| {
        let path = folder.join(name);
        let state = state_of(&path);
        let found = files.read(name);
        let mut seen = seen.lock().unwrap_or_else(|broken| broken.into_inner());
        if seen.iter().all(|file| file.name != name) {
            let bytes = found.as_ref().map_or(Vec::new(), |found| found.bytes.clone());
            seen.push(Seen { name: name.to_string(), path, state, bytes });
        }
        found
    })
}

/// The most replications in one piece of a message, which is a text of base64 that the page reads as a whole.
const PIECE: usize = 16;

/// The message with a folder of results.
fn results(path: &Path) -> Result<Vec<u8>, Failure> {
    let results = folder::read(path)?;
    let cannot = |why: String| Failure::cannot(format!("open {}", quell_files::name(path)), why);
    let (mut replications, mut bytes) = (Vec::new(), 0);
    for piece in results.replications.chunks(PIECE) {
        let packed = quell_metrics::pack(piece).map_err(cannot)?;
        bytes += packed.len();
        if bytes > MOST_BYTES {
            return Err(bad_input!(
                "{}: has more than {} of results, the most that the page accepts; `quell show` and `quell report` have \
                 no such limit",
                quell_files::name(path),
                terminal::size(MOST_BYTES as u64)
            ));
        }
        replications.push(STANDARD.encode(packed));
    }
    Ok(json(&Message::Results { name: name_of(path), run: Box::new(results.run), replications }))
}

/// The name of a file or folder without its place.
fn name_of(path: &Path) -> String {
    let folder = folder::of(path);
    // Such as `.`, which has a name all the same.
    let whole = folder.canonicalize().unwrap_or(folder);
    whole.file_name().unwrap_or(whole.as_os_str()).to_string_lossy().into_owned()
}

/// The state of a file. `None`: it is not there.
fn state_of(path: &Path) -> Option<State> {
    let found = fs::metadata(path).ok()?;
    Some((found.len(), found.modified().ok()?))
}

fn json(message: &Message) -> Vec<u8> {
    serde_json::to_vec(message).expect("what is written into run.json is JSON, and so are texts")
}
