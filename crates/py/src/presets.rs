//! Scenarios of named links and loads.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use quell_presets::{Options, scenario};

use crate::{errors, value};

/// Make a scenario of a named load over a named link.
///
/// ``quell new`` on the command line lists the names, as docs/presets.md does, and writes the same scenario with comments.
///
/// Parameters
/// ----------
/// load : str
///     The load, such as "rrul", "web" or "call".
/// link : str
///     The link, such as "home", "lte" or "satellite".
/// aqm : sequence of str, optional
///     The algorithms, by their names in the catalog; default: those of the load.
/// duration : str, optional
///     The simulated time, such as "20 s"; default: the load's own, or less on a fast link.
///
/// Returns
/// -------
/// dict
///     The scenario, for :func:`run`.
///
/// Raises
/// ------
/// ValueError
///     If a name does not exist, with the one that may have been meant, or the algorithms or the duration do not suit the
///     link.
///
/// Examples
/// --------
/// >>> import quell
/// >>> scenario = quell.new("call", link="dsl", aqm=["codel", "fq-codel"], duration="20 s")
/// >>> scenario["title"]
/// 'call over DSL'
/// >>> scenario["duration"]
/// '20 s'
#[pyfunction]
#[pyo3(signature = (load, *, link, aqm=None, duration=None))]
pub fn new<'py>(
    py: Python<'py>,
    load: &str,
    link: &str,
    aqm: Option<Vec<String>>,
    duration: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let duration = duration.map(str::parse).transpose();
    let duration = duration.map_err(|e| errors::argument(format!("duration: {e}")))?;
    let options = Options { aqm: aqm.unwrap_or_default(), duration };
    let text = scenario(load, link, &options).map_err(|e| errors::argument(e.to_string()))?;
    value::resolved(py, &text)
}
