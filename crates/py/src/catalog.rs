//! Lists of the algorithms and metrics.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use quell_aqm::catalog::{CATALOG, Entry, Label, find};
use quell_lab::{Better, Metric};

use crate::errors;

/// List the algorithms of the catalog.
///
/// Returns
/// -------
/// list of dict
///     For each algorithm, in the order of the documentation: ``name`` (as in scenarios), ``title``,
///     ``family``, ``source`` (who published it where) and ``label`` (how far it can be trusted:
///     ``experimental``, ``faithful`` if every equation has known answers, ``reproduced`` if it
///     matches published numbers).
///
/// Examples
/// --------
/// >>> import quell
/// >>> [a["name"] for a in quell.aqm_list()][:2]
/// ['drop-tail', 'red']
#[pyfunction]
pub fn aqm_list(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    CATALOG.iter().try_for_each(|e| list.append(entry(py, e)?))?;
    Ok(list)
}

/// Describe an algorithm and its parameters.
///
/// Parameters
/// ----------
/// name : str
///     Its name in the catalog.
///
/// Returns
/// -------
/// dict
///     The fields of :func:`aqm_list`, and ``parameters``: for each, in order, its ``name``, ``doc``,
///     ``unit`` ("1" for a pure number, "name" for a choice), ``default`` as a scenario would state it, and
///     the ``source`` of the default.
///
/// Raises
/// ------
/// ValueError
///     If the catalog has no algorithm of that name.
///
/// Examples
/// --------
/// >>> import quell
/// >>> quell.aqm_describe("red")["parameters"][0]["name"]
/// 'min_th'
#[pyfunction]
pub fn aqm_describe<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    let Some(e) = find(name) else {
        let names: Vec<_> = CATALOG.iter().map(|e| e.name).collect();
        return Err(errors::argument(format!(
            "no algorithm is called \"{name}\" (there are {})",
            names.join(", ")
        )));
    };
    let dict = entry(py, e)?;
    let parameters = PyList::empty(py);
    for p in (e.params)() {
        let row = PyDict::new(py);
        row.set_item("name", p.name)?;
        row.set_item("doc", p.doc)?;
        row.set_item("unit", p.unit)?;
        row.set_item("default", p.default)?;
        row.set_item("source", p.source)?;
        parameters.append(row)?;
    }
    dict.set_item("parameters", parameters)?;
    Ok(dict)
}

fn entry<'py>(py: Python<'py>, e: &Entry) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", e.name)?;
    dict.set_item("title", e.title)?;
    dict.set_item("family", e.family.name())?;
    dict.set_item("source", e.source)?;
    let label = match e.label {
        Label::Experimental => "experimental",
        Label::Faithful => "faithful",
        Label::Reproduced => "reproduced",
    };
    dict.set_item("label", label)?;
    Ok(dict)
}

/// List the figures that a run returns.
///
/// Returns
/// -------
/// list of dict
///     For each figure its ``name`` (the column in ``Results.metrics``, unit included), ``title``,
///     ``unit`` ("1" for a pure number), ``doc``, ``source`` (where it comes from; may be empty), and
///     ``better``: ``higher``, ``lower`` or ``neither``.
#[pyfunction]
pub fn metric_list(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for m in Metric::ALL {
        let dict = PyDict::new(py);
        dict.set_item("name", m.name())?;
        dict.set_item("title", m.title())?;
        dict.set_item("unit", m.unit())?;
        dict.set_item("doc", m.doc())?;
        dict.set_item("source", m.source())?;
        let better = match m.better() {
            Better::Higher => "higher",
            Better::Lower => "lower",
            Better::Neither => "neither",
        };
        dict.set_item("better", better)?;
        list.append(dict)?;
    }
    Ok(list)
}
