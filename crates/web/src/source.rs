//! A scenario as the command gets it from a file and its options.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quell_aqm::catalog::{self, CATALOG};
use quell_scenario::{Document, Files, FoundFile, Plugins, ScenarioError, Study, unknown};
use quell_units::text::cut;

use crate::fault::Fault;
use crate::protocol::{Source, SourceFile};

/// The study of the last source: a page asks for its seeds and points one after the other.
#[derive(Debug, Default)]
pub(crate) struct Studies(Option<(Source, Arc<Study>)>);

impl Studies {
    /// The study of a source.
    pub(crate) fn of(&mut self, source: &Source) -> Result<Arc<Study>, Fault> {
        if let Some((_, study)) = self.0.as_ref().filter(|(last, _)| last == source) {
            return Ok(Arc::clone(study));
        }
        let study = Arc::new(study(source)?);
        self.0 = Some((source.clone(), Arc::clone(&study)));
        Ok(study)
    }
}

/// The study of a source: what `quell run FILE --set ... --aqm ...` runs.
fn study(source: &Source) -> Result<Study, Fault> {
    let files = files(&source.files)?;
    let name = source.name.as_deref().unwrap_or("scenario.toml");
    let mut document = Document::parse(&source.text, name)?.among(files.clone());
    let chosen = || source.aqm.iter().map(String::as_str);
    let fields: Vec<&str> = source.set.iter().map(|(field, _)| field.as_str()).collect();
    document.add_changed(chosen(), &fields);
    for (field, value) in &source.set {
        let blame = |e| {
            let file = format!("--set {}={}", cut(field), cut(value));
            ScenarioError { file, line: None, ..e }
        };
        document.set_text(field, value).map_err(blame)?;
    }
    if !source.set.is_empty() {
        chosen().for_each(|name| _ = document.add_algorithm(name));
    }
    let mut study = document.study(&Plugins::new())?;
    if !source.aqm.is_empty() {
        study.select(&files, |labels| choose(&source.aqm, labels))?;
    }
    Ok(study)
}

/// The algorithms that are named, each once, unless one is neither a label nor in the catalog.
fn choose(names: &[String], labels: &[String]) -> Result<Vec<String>, ScenarioError> {
    let mut chosen: Vec<String> = Vec::new();
    for name in names {
        if !labels.contains(name) && catalog::find(name).is_none() {
            let others =
                CATALOG.iter().map(|entry| entry.name).filter(|name| !labels.iter().any(|l| l == name));
            let known: Vec<&str> = labels.iter().map(String::as_str).chain(others).collect();
            let (rule, nearest) = unknown("algorithm", name, &known);
            let file = format!("algorithm \"{}\"", cut(name));
            let known = Some(format!("known: {}", known.join(", ")));
            return Err(ScenarioError { nearest, known, ..ScenarioError::of_file(file, rule) });
        }
        if !chosen.contains(name) {
            chosen.push(name.clone());
        }
    }
    Ok(chosen)
}

/// The files that a source brings, by their names as its scenario has them.
fn files(all: &[SourceFile]) -> Result<Files, Fault> {
    let mut found: Vec<FoundFile> = Vec::new();
    for file in all {
        let bytes = match (&file.text, &file.bytes) {
            (Some(text), None) => text.clone().into_bytes(),
            (None, Some(bytes)) => {
                decode(bytes).map_err(|why| Fault::request(format!("the file {}: {why}", cut(&file.name))))?
            }
            _ => {
                let why = "must have either text or bytes";
                return Err(Fault::request(format!("the file {}: {why}", cut(&file.name))));
            }
        };
        found.push(FoundFile { name: file.name.clone(), bytes });
    }
    Ok(Files::new(move |name| {
        let file = found.iter().find(|file| file.name == name).cloned();
        file.ok_or_else(|| "is not here yet: add the file to the page".to_string())
    }))
}

/// Bytes that are written as text.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text).map_err(|e| format!("is not base64: {e}"))
}

/// Bytes as text.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
