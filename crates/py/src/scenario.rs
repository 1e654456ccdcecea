//! Scenarios from files and dicts, changed by a call's arguments.

use std::cell::RefCell;
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyException, PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping};
use quell_scenario::{Document, Study};

use crate::aqm::{Trap, plugins};
use crate::{errors, value};

/// Check a scenario without running it.
///
/// Parameters
/// ----------
/// scenario : str, os.PathLike or dict
///     As for :func:`run`.
/// seeds : int or sequence of int, optional
///     As for :func:`run`.
/// aqms : dict of str to callable, optional
///     As for :func:`run`; each is built once, to see whether it accepts its parameters.
/// overrides : dict of str to value, optional
///     As for :func:`run`.
/// sweep : dict of str to value, optional
///     As for :func:`run`.
///
/// Returns
/// -------
/// list of dict
///     The scenario with every default filled in; several if it sweeps.
///
/// Warns
/// -----
/// UserWarning
///     For each point of a sweep that is not valid, with the reason; the point is left out.
///
/// Raises
/// ------
/// ScenarioError
///     If the scenario breaks a rule.
/// OSError
///     If the file cannot be read.
///
/// Examples
/// --------
/// >>> import quell
/// >>> scenario = {
/// ...     "schema": 1, "duration": "20 s", "warmup": "5 s",
/// ...     "dumbbell": {"rate": "5 Mbit/s", "delay": "10 ms", "buffer": "50 packets"},
/// ...     "flows": [{"name": "ftp", "count": 5, "rtt": "60 ms"}],
/// ...     "aqm": [{"algorithm": "drop-tail"}, {"algorithm": "red"}],
/// ... }
/// >>> [point["flows"][0]["count"] for point in quell.check(scenario, sweep={"flows.ftp.count": [2, 5]})]
/// [2, 5]
#[pyfunction]
#[pyo3(signature = (scenario, *, seeds=None, aqms=None, overrides=None, sweep=None))]
pub fn check<'py>(
    py: Python<'py>,
    scenario: &Bound<'py, PyAny>,
    seeds: Option<&Bound<'py, PyAny>>,
    aqms: Option<&Bound<'py, PyDict>>,
    overrides: Option<&Bound<'py, PyDict>>,
    sweep: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    let trap = Arc::new(Trap::default());
    let plugins = plugins(aqms, &trap)?;
    let changes = Changes { seeds, overrides, sweep, unused: names(aqms)? };
    let study = study(py, scenario, &changes, &plugins, &trap)?;
    changes.refuse_unused(&study)?;
    for hole in &study.holes {
        let message = CString::new(errors::message(&format!("left out: {}: {}", hole.title(), hole.reason)))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 1)?;
    }
    let list = PyList::empty(py);
    for point in &study.points {
        list.append(value::resolved(py, &point.to_toml())?)?;
    }
    Ok(list)
}

/// The study of one scenario, or of several in a list.
pub fn studies(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    changes: &Changes<'_, '_>,
    plugins: &quell_scenario::Plugins,
    trap: &Trap,
) -> PyResult<Study> {
    let Ok(list) = scenario.cast::<PyList>() else {
        return study(py, scenario, changes, plugins, trap);
    };
    if list.is_empty() {
        return Err(errors::argument("scenario = []: must hold at least one scenario"));
    }
    let mut parts: Vec<(String, Study)> = Vec::new();
    for (i, one) in list.iter().enumerate() {
        let stem = |path: PathBuf| path.file_stem().map(|s| s.to_string_lossy().into_owned());
        let name = one.extract::<PathBuf>().ok().and_then(stem);
        let is_free = |name: &String| parts.iter().all(|(other, _)| other != name);
        // Dicts have no name, and files of several folders may have the same.
        let name = name.filter(is_free).unwrap_or_else(|| format!("scenario {}", i + 1));
        parts.push((name, study(py, &one, changes, plugins, trap)?));
    }
    Ok(Study::join(parts))
}

/// The changes that a call makes in a scenario.
#[derive(Default)]
pub struct Changes<'a, 'py> {
    pub seeds: Option<&'a Bound<'py, PyAny>>,
    pub overrides: Option<&'a Bound<'py, PyDict>>,
    pub sweep: Option<&'a Bound<'py, PyDict>>,
    /// The names of plug-in algorithms that no scenario has mentioned yet.
    pub unused: RefCell<Vec<String>>,
}

/// The names of plug-in algorithms.
pub fn names(aqms: Option<&Bound<'_, PyDict>>) -> PyResult<RefCell<Vec<String>>> {
    aqms.into_iter().flatten().map(|(name, _)| name.extract()).collect::<PyResult<_>>().map(RefCell::new)
}

impl Changes<'_, '_> {
    /// Refuses a plug-in algorithm that nothing names: it would not be run.
    pub fn refuse_unused(&self, study: &Study) -> PyResult<()> {
        let unused = self.unused.borrow();
        let Some(name) = unused.first() else { return Ok(()) };
        let mut there: Vec<&str> = Vec::new();
        for choice in study.points.iter().flat_map(|point| &point.scenario.aqm) {
            if !there.contains(&choice.algorithm.as_str()) {
                there.push(&choice.algorithm);
            }
        }
        let known = format!("there are {}", there.join(", "));
        let rule = format!("aqms[\"{name}\"]: no [[aqm]] of the scenario has this algorithm");
        let nearest = quell_scenario::nearest(name, there.iter().copied());
        Err(errors::argument(quell_scenario::suggest(&rule, nearest.as_deref(), Some(&known))))
    }
}

/// The study that a file or a dict describes.
pub fn study(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    changes: &Changes<'_, '_>,
    plugins: &quell_scenario::Plugins,
    trap: &Trap,
) -> PyResult<Study> {
    let fail = |e| errors::scenario(py, &e);
    let mut document = document(py, scenario, changes.overrides)?;
    for (field, values) in changes.sweep.into_iter().flatten() {
        let field: String = field.extract()?;
        document.sweep(&field, &value::to_toml(&values, &field)?).map_err(fail)?;
    }
    if let Some(seeds) = changes.seeds {
        document.set("seeds", &value::to_toml(seeds, "seeds")?).map_err(fail)?;
    }
    changes.unused.borrow_mut().retain(|name| !document.mentions(name));
    let study = document.study(plugins);
    // An algorithm that refuses its parameters gives the best message itself.
    match (study, trap.take()) {
        // Where it refuses those of some points only, these are holes.
        (Ok(study), Some(error)) if error.is_instance_of::<PyException>(py) => {
            trap.forget();
            Ok(study)
        }
        (_, Some(error)) => Err(error),
        (study, None) => study.map_err(fail),
    }
}

/// A file or a dict as it was written, with fields overridden.
pub fn document(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    overrides: Option<&Bound<'_, PyDict>>,
) -> PyResult<Document> {
    let fail = |e| errors::scenario(py, &e);
    let mut document = if let Ok(path) = scenario.extract::<PathBuf>() {
        // What the system says about a file is an OSError, as everywhere in Python.
        let bytes = quell_lab::read_bytes(&path).map_err(|e| errors::io(&e, &path))?;
        quell_lab::parse(bytes, &path).map_err(fail)?
    } else if let Ok(mapping) = scenario.cast::<PyMapping>() {
        let document = Document::from_table(&value::to_table(mapping, "")?, "<dict>").map_err(fail)?;
        document.among(quell_lab::files_in(std::path::Path::new("")))
    } else {
        let kind = scenario.get_type().name()?;
        return Err(PyTypeError::new_err(format!("scenario must be a path or a dict, not '{kind}'")));
    };
    for (field, x) in overrides.into_iter().flatten() {
        let field: String = field.extract()?;
        document.set(&field, &value::to_toml(&x, &field)?).map_err(fail)?;
    }
    Ok(document)
}
