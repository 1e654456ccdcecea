//! The contents of the files that scenarios name.

mod arrivals;
mod changes;
mod found;
mod table;

use std::collections::HashMap;
use std::sync::Arc;

use quell_units::Duration;
use quell_units::text::cut;

use crate::error::{Problem, require};
use crate::format::{Changes, Course, FlowGroup, Kind, Scenario};
use crate::tree::{Path, steps};
pub(crate) use arrivals::ArrivalsFile;
pub(crate) use changes::{ChangesFile, follow};
pub use found::{Files, FoundFile};
use table::Fault;

/// The contents of the files that a scenario names. Scenarios that name the same file share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    /// The changes by the name, the bin and the period that the scenario gives.
    changes: HashMap<(String, Option<Duration>, Option<Duration>), Arc<ChangesFile>>,
    arrivals: HashMap<String, Arc<ArrivalsFile>>,
}

impl Contents {
    /// The changes that a file has for a link; `None` without a file, or where nobody has read it.
    pub fn changes(&self, course: &Course) -> Option<&Arc<ChangesFile>> {
        self.changes.get(&(course.file.clone()?, course.bin, course.repeat))
    }

    /// The arrivals that a group replays; `None` for other kinds of groups, or where nobody has read them.
    pub fn arrivals(&self, group: &FlowGroup) -> Option<&Arc<ArrivalsFile>> {
        let file = group.file.as_ref().filter(|_| group.kind == Kind::Trace);
        self.arrivals.get(file?)
    }
}

/// A scenario with the contents of the files that it names.
#[derive(Clone, Copy)]
pub(crate) struct Loaded<'a> {
    pub scenario: &'a Scenario,
    pub contents: &'a Contents,
}

impl std::ops::Deref for Loaded<'_> {
    type Target = Scenario;

    fn deref(&self) -> &Scenario {
        self.scenario
    }
}

/// Reads the files of a study, each once.
pub(crate) struct Reader<'a> {
    files: &'a Files,
    known: Contents,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(files: &'a Files) -> Self {
        Reader { files, known: Contents::default() }
    }

    /// The contents of the files that a scenario names.
    pub(crate) fn read(&mut self, scenario: &Scenario) -> Result<Contents, Problem> {
        let mut contents = Contents::default();
        for (at, link) in scenario.links() {
            let there = Some((at.then("changes"), link.changes));
            let back = link.reverse.changes.as_ref().map(|own| (at.then("reverse").then("changes"), own));
            let cells = [(at.clone(), link.cell), (at.then("reverse"), link.reverse.cell.as_ref())];
            let users = cells.iter().flat_map(|(at, cell)| {
                let users = cell.iter().flat_map(|cell| cell.users.iter().enumerate());
                users.filter_map(move |(i, user)| {
                    let path = at.then("cell").then("users").then(i).then("changes");
                    Some((path, user.changes.as_ref()?))
                })
            });
            for (path, changes) in there.into_iter().chain(back).chain(users) {
                if let Changes::Course(course) = changes {
                    self.changes(course, path, &mut contents)?;
                }
            }
        }
        for (i, group) in scenario.flows.iter().enumerate() {
            let (Kind::Trace, Some(name)) = (group.kind, &group.file) else { continue };
            let path = steps!["flows", i];
            let arrivals = match self.known.arrivals.get(name) {
                Some(arrivals) => arrivals.clone(),
                None => load(self.files, name, &path.then("file"), ArrivalsFile::parse)?,
            };
            self.known.arrivals.insert(name.clone(), arrivals.clone());
            check_sha256(&group.sha256, name, &arrivals.sha256, &path)?;
            contents.arrivals.insert(name.clone(), arrivals);
        }
        Ok(contents)
    }

    /// Adds the file of changes that are written at `path`, if they name one.
    fn changes(&mut self, course: &Course, path: Path, contents: &mut Contents) -> Result<(), Problem> {
        let Course { list, file, sha256, bin, repeat } = course;
        require(
            list.is_none() || file.is_none(),
            path.then("file"),
            "cannot be combined with list: give one of them",
        )?;
        require(*repeat != Some(Duration::ZERO), path.then("repeat"), "must be longer than 0 s")?;
        let Some(name) = file else {
            require(list.is_some(), path.clone(), "changes nothing: give a list or a file")?;
            require(sha256.is_none(), path.then("sha256"), "is the hash of a file, but there is no file")?;
            return require(bin.is_none(), path.then("bin"), "is for mahimahi traces: leave it out");
        };
        let key = (name.clone(), *bin, *repeat);
        let changes = match self.known.changes.get(&key) {
            Some(changes) => changes.clone(),
            None => load(self.files, name, &path, |file| ChangesFile::parse(name, file, *bin, *repeat))?,
        };
        self.known.changes.insert(key.clone(), changes.clone());
        check_sha256(sha256, name, &changes.sha256, &path)?;
        require(
            bin.is_none() || changes.bin.is_some(),
            path.then("bin"),
            "is for mahimahi traces, but the file is CSV: leave it out",
        )?;
        contents.changes.insert(key, changes);
        Ok(())
    }
}

/// Reads a file that `path` names.
fn load<T>(
    files: &Files,
    name: &str,
    path: &Path,
    parse: impl FnOnce(FoundFile) -> Result<T, Fault>,
) -> Result<Arc<T>, Problem> {
    let blame = |Fault(line, rule)| {
        let line = line.map_or(String::new(), |line| format!(":{line}"));
        Problem::new(path.clone(), format!("{}{line}: {rule}", cut(name)))
    };
    let file = files.read(name).map_err(|rule| blame(Fault(None, rule)))?;
    parse(file).map(Arc::new).map_err(blame)
}

/// A scenario that gives the SHA-256 of a file means no other.
fn check_sha256(given: &Option<String>, name: &str, found: &str, path: &Path) -> Result<(), Problem> {
    let same = given.as_ref().is_none_or(|given| given.eq_ignore_ascii_case(found));
    require(same, path.then("sha256"), format!("is not the hash of {}, which is {found}", cut(name)))
}
