//! Lists of the algorithms, senders and metrics.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use quell_aqm::catalog::{CATALOG, Entry, Label, find};
use quell_aqm::params::ParamDoc;
use quell_lab::{Better, Metric};
use quell_tcp::catalog::{self as tcp, SENDERS};

use crate::errors;

/// List the algorithms of the catalog.
///
/// Returns
/// -------
/// list of dict of str to str
///     For each algorithm, in the order of the documentation: ``name`` (as in scenarios), ``title``, ``family``,
///     ``source`` (who published it where) and ``label`` (how far it can be trusted: ``experimental``, ``faithful`` if
///     every equation is tested against known answers, ``reproduced`` if most of the published numbers that need a
///     simulation are reproduced).
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
        return Err(errors::unknown("algorithm", name, CATALOG.iter().map(|e| e.name)));
    };
    let dict = entry(py, e)?;
    let parameters = PyList::empty(py);
    (e.params)().into_iter().try_for_each(|p| parameters.append(parameter(py, p)?))?;
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

/// List the parts that make up TCP senders.
///
/// Returns
/// -------
/// list of dict of str to str
///     For each value of each key that selects a part, in the order of the documentation: ``key`` (of a group's ``tcp``
///     table, such as ``congestion``), ``name`` (the value), ``title``, ``summary`` and ``source`` (where it is
///     specified).
///
/// Examples
/// --------
/// >>> import quell
/// >>> [s["name"] for s in quell.tcp_list() if s["key"] == "slow_start"]
/// ['standard', 'hystart++', 'hystart']
#[pyfunction]
pub fn tcp_list(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    SENDERS.iter().try_for_each(|e| list.append(sender(py, e)?))?;
    Ok(list)
}

/// Describe a part of a TCP sender.
///
/// Parameters
/// ----------
/// name : str
///     A value that :func:`tcp_list` lists, or with its key if the name is ambiguous: ``recovery.reno``.
///
/// Returns
/// -------
/// dict
///     The fields of :func:`tcp_list`; ``needs`` and ``refuses``, lists of settings; ``choices``, what Quell does where
///     its source leaves something open; and ``parameters``: for each key that it reads but not every sender does, its
///     ``name``, ``doc``, ``unit``, ``default``, ``range`` and the ``source`` of the default.
///
/// Raises
/// ------
/// ValueError
///     If nothing has that name.
///
/// Examples
/// --------
/// >>> import quell
/// >>> quell.tcp_describe("bbr3")["needs"]
/// ['recovery = "rack"', 'pacing = true']
#[pyfunction]
pub fn tcp_describe<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    let Some(e) = tcp::find(name) else {
        return Err(errors::unknown("part of a sender", name, SENDERS.iter().map(|e| e.id())));
    };
    let dict = sender(py, e)?;
    dict.set_item("needs", e.demands())?;
    dict.set_item("refuses", e.refusals())?;
    dict.set_item("choices", e.choices)?;
    let parameters = PyList::empty(py);
    for p in e.parameters() {
        let row = parameter(py, p.doc)?;
        row.set_item("range", p.range)?;
        parameters.append(row)?;
    }
    dict.set_item("parameters", parameters)?;
    Ok(dict)
}

fn sender<'py>(py: Python<'py>, e: &tcp::Entry) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("key", e.key)?;
    dict.set_item("name", e.name)?;
    dict.set_item("title", e.title)?;
    dict.set_item("summary", e.summary)?;
    dict.set_item("source", e.source)?;
    Ok(dict)
}

fn parameter(py: Python<'_>, doc: ParamDoc) -> PyResult<Bound<'_, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("name", doc.name)?;
    row.set_item("doc", doc.doc)?;
    row.set_item("unit", doc.unit)?;
    row.set_item("default", doc.default)?;
    row.set_item("source", doc.source)?;
    Ok(row)
}

/// List the metrics that a run returns.
///
/// Returns
/// -------
/// list of dict of str to str
///     For each metric, its ``name`` (the column in ``Results.metrics``, unit included), ``title``, ``unit`` ("1" for a
///     pure number), ``doc``, ``source`` (where it comes from; may be empty), and ``better``: ``higher``, ``lower`` or
///     ``neither``.
///
/// Examples
/// --------
/// >>> import quell
/// >>> [m["name"] for m in quell.metric_list()][:2]
/// ['utilization', 'throughput_bps']
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
