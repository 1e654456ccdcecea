//! Searching for the best values of fields, and for the traffic under which an algorithm loses.

use std::sync::Arc;

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use quell_lab::{Adversary, Axis, Goal, Options, SearchError, Series, Tune};
use quell_scenario::{Document, Plugins};
use serde::Serialize;

use crate::aqm::{Trap, plugins};
use crate::attend::attend;
use crate::run::surround;
use crate::scenario::document;
use crate::search::failure;
use crate::{errors, options, value};

/// Search for the values of fields with which a metric is best, or for a front of two metrics.
///
/// Each trial runs the same seeds, so that trials differ only by the fields. The final results come from fresh seeds,
/// beside those of the scenario as it is and of the ends of each range. Start times that the scenario fixes are drawn
/// by the seed.
///
/// Parameters
/// ----------
/// scenario : str, os.PathLike or dict
///     As for :func:`run`; a single point, not a sweep.
/// vary : dict of str to str
///     The fields that vary and their ranges: ``{"aqm.red.max_p": "0.01..0.5:log"}``, as ``--vary`` of the command.
/// metric : str
///     Which metric, by name, as for :meth:`Results.table`, with ``:min`` or ``:max`` where its better direction is not
///     clear or not meant.
/// against : str, optional
///     A second metric: the result is then a front.
/// aqm : str, optional
///     The algorithm, by its label; by default the one that the fields name, or the scenario's only one.
/// link : str, optional
///     Which observed link; by default the first.
/// scope : str, default "all"
///     "all", "data" (all but acknowledgments) or a class.
/// trials : int, default 50
///     The most trials.
/// seeds : int, default 3
///     The seeds of each trial: 1, 2, ... up to this.
/// check_seeds : int, default 20
///     The fresh seeds of the final results: those that follow.
/// seed : int, default 1
///     The seed of the search itself.
/// threads : int, optional
///     As for :func:`run`.
/// aqms : dict of str to callable, optional
///     As for :func:`run`.
/// overrides : dict of str to value, optional
///     As for :func:`run`.
/// cache : bool, str or os.PathLike, optional
///     As for :func:`run`.
///
/// Returns
/// -------
/// dict
///     What ``quell tune --format json`` prints. Among others, ``"trials"`` has each trial; ``"front"``, the numbers of
///     the best ones; ``"verdict"``, whether the best setting is better than the scenario as it is; and ``"checks"``,
///     the final results, each with its ``"scenario"``, of which :func:`run` gives the same figures.
///
/// Raises
/// ------
/// ScenarioError
///     If the scenario breaks a rule.
/// ValueError
///     If an argument does not fit the scenario, or if no trial has a value.
/// RunError
///     If a replication could not be run.
/// OSError
///     If the file cannot be read.
/// KeyboardInterrupt
///     After Ctrl-C. The cache has what was finished.
///
/// Examples
/// --------
/// >>> import quell
/// >>> scenario = {
/// ...     "schema": 1, "duration": "10 s", "warmup": "5 s",
/// ...     "dumbbell": {"rate": "2 Mbit/s", "delay": "10 ms", "buffer": "50 packets"},
/// ...     "flows": [{"name": "voice", "kind": "udp", "rate": "4 Mbit/s", "packet": "500 B"}],
/// ...     "aqm": [{"algorithm": "drop-tail"}],
/// ... }
/// >>> found = quell.tune(
/// ...     scenario, {"dumbbell.buffer": "10..100 packets:step:10"}, "queue_delay_mean_s", check_seeds=2, cache=False
/// ... )
/// >>> found["checks"][-1]["settings"]
/// [{'field': 'dumbbell.buffer', 'value': '10 packets'}]
#[pyfunction]
#[pyo3(signature = (scenario, vary, metric, against=None, *, aqm=None, link=None, scope="all", trials=50, seeds=3,
    check_seeds=20, seed=1, threads=None, aqms=None, overrides=None, cache=None))]
pub fn tune<'py>(
    py: Python<'py>,
    scenario: &Bound<'py, PyAny>,
    vary: &Bound<'py, PyDict>,
    metric: &str,
    against: Option<&str>,
    aqm: Option<String>,
    link: Option<String>,
    scope: &str,
    trials: usize,
    seeds: usize,
    check_seeds: usize,
    seed: u64,
    threads: Option<usize>,
    aqms: Option<&Bound<'py, PyDict>>,
    overrides: Option<&Bound<'py, PyDict>>,
    cache: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let question = Tune {
        over: axes(vary)?,
        goals: std::iter::once(metric).chain(against).map(goal).collect::<PyResult<_>>()?,
        algorithm: aqm,
        link,
        scope: scope.to_string(),
        trials,
        seeds,
        fresh: check_seeds,
        seed,
    };
    let how = How { threads, aqms, overrides, cache };
    let found = search(py, scenario, &how, |document, options| question.search(document, options))?;
    let all = dict(py, &found)?;
    with_scenarios(py, &all, "checks", found.checks.iter().map(|check| check.scenario.as_str()))?;
    Ok(all)
}

/// Search for the traffic under which algorithm ``a`` loses most against ``b``, and the other way around.
///
/// The loss is the disadvantage in the metric over the larger of both values, per seed: a share of at most 1, above 0
/// if the algorithm loses. Both cases are confirmed on fresh seeds. A case whose ``"verdict"`` is ``"does-not"`` is the
/// closest one: within the bounds, the algorithm never lost. Start times that the scenario fixes are drawn by
/// the seed.
///
/// Parameters
/// ----------
/// scenario : str, os.PathLike or dict
///     As for :func:`run`; a single point, not a sweep.
/// a : str
///     The algorithm that is to lose, by its label.
/// b : str
///     The algorithm to compare it with, by its label.
/// metric : str
///     As for :func:`tune`.
/// vary : dict of str to str
///     The fields that vary and their bounds, as for :func:`tune`.
/// link : str, optional
///     As for :func:`tune`.
/// scope : str, default "all"
///     As for :func:`tune`.
/// trials : int, default 50
///     The most trials of each of both searches.
/// seeds : int, default 3
///     As for :func:`tune`.
/// check_seeds : int, default 20
///     As for :func:`tune`.
/// seed : int, default 1
///     As for :func:`tune`.
/// threads : int, optional
///     As for :func:`run`.
/// aqms : dict of str to callable, optional
///     As for :func:`run`.
/// overrides : dict of str to value, optional
///     As for :func:`run`.
/// cache : bool, str or os.PathLike, optional
///     As for :func:`run`.
///
/// Returns
/// -------
/// dict
///     What ``quell adversary --format json`` prints. ``"cases"`` has the worst case of ``a`` and that of ``b``, each
///     with its ``"scenario"``, of which :func:`run` gives the same figures.
///
/// Raises
/// ------
/// ScenarioError
///     If the scenario breaks a rule.
/// ValueError
///     If an argument does not fit the scenario, or if no trial has a value.
/// RunError
///     If a replication could not be run.
/// OSError
///     If the file cannot be read.
/// KeyboardInterrupt
///     After Ctrl-C. The cache has what was finished.
///
/// Examples
/// --------
/// >>> import quell
/// >>> scenario = {
/// ...     "schema": 1, "duration": "10 s", "warmup": "5 s",
/// ...     "dumbbell": {"rate": "2 Mbit/s", "delay": "10 ms", "buffer": "50 packets"},
/// ...     "flows": [{"name": "voice", "kind": "udp", "rate": "1 Mbit/s", "packet": "500 B"}],
/// ...     "aqm": [{"algorithm": "policer", "rate": "1 Mbit/s"}, {"algorithm": "drop-tail"}],
/// ... }
/// >>> found = quell.adversary(
/// ...     scenario, "policer", "drop-tail", "goodput_bps", {"flows.voice.rate": "0.2..1.8 Mbit/s"},
/// ...     trials=10, check_seeds=2, cache=False,
/// ... )
/// >>> [case["verdict"] for case in found["cases"]]
/// ['loses', 'does-not']
#[pyfunction]
#[pyo3(signature = (scenario, a, b, metric, vary, *, link=None, scope="all", trials=50, seeds=3, check_seeds=20,
    seed=1, threads=None, aqms=None, overrides=None, cache=None))]
pub fn adversary<'py>(
    py: Python<'py>,
    scenario: &Bound<'py, PyAny>,
    a: String,
    b: String,
    metric: &str,
    vary: &Bound<'py, PyDict>,
    link: Option<String>,
    scope: &str,
    trials: usize,
    seeds: usize,
    check_seeds: usize,
    seed: u64,
    threads: Option<usize>,
    aqms: Option<&Bound<'py, PyDict>>,
    overrides: Option<&Bound<'py, PyDict>>,
    cache: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let question = Adversary {
        a,
        b,
        goal: goal(metric)?,
        over: axes(vary)?,
        link,
        scope: scope.to_string(),
        trials,
        seeds,
        fresh: check_seeds,
        seed,
    };
    let how = How { threads, aqms, overrides, cache };
    let found = search(py, scenario, &how, |document, options| question.search(document, options))?;
    let all = dict(py, &found)?;
    with_scenarios(py, &all, "cases", found.cases.iter().map(|case| case.scenario.as_str()))?;
    Ok(all)
}

/// Read the fields that vary and their ranges, for :func:`quell.objective`.
///
/// Parameters
/// ----------
/// vary : dict of str to str
///     As for :func:`tune`.
///
/// Returns
/// -------
/// list of dict of str to value
///     Of each field its ``name``, the ends ``low`` and ``high``, the ``unit``, how many whole packets or bytes
///     that is (``whole_per_unit``; None if it is neither), whether it is ``log``, and the ``values`` of a sweep's range.
#[pyfunction]
pub fn ranges<'py>(py: Python<'py>, vary: &Bound<'py, PyDict>) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let one = |axis: Axis| {
        let dict = PyDict::new(py);
        dict.set_item("name", &axis.name)?;
        dict.set_item("low", axis.from)?;
        dict.set_item("high", axis.to)?;
        dict.set_item("unit", &axis.unit)?;
        dict.set_item("whole_per_unit", axis.whole_per_unit())?;
        dict.set_item("log", axis.logarithmic)?;
        dict.set_item("values", axis.values)?;
        Ok(dict)
    };
    axes(vary)?.into_iter().map(one).collect()
}

/// Read a metric with its direction, for :func:`quell.objective`.
///
/// Parameters
/// ----------
/// metric : str
///     As for :func:`tune`.
///
/// Returns
/// -------
/// (str, str)
///     Its name, and "minimize" or "maximize".
#[pyfunction]
pub fn direction(metric: &str) -> PyResult<(String, &'static str)> {
    let goal = goal(metric)?;
    Ok((goal.metric.to_string(), if goal.less { "minimize" } else { "maximize" }))
}

/// How a search runs.
struct How<'a, 'py> {
    threads: Option<usize>,
    aqms: Option<&'a Bound<'py, PyDict>>,
    overrides: Option<&'a Bound<'py, PyDict>>,
    cache: Option<&'a Bound<'py, PyAny>>,
}

/// Searches a scenario while Python stays responsive.
fn search<T: Send>(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    how: &How<'_, '_>,
    work: impl FnOnce(&Document, &Options<'_>) -> Result<T, SearchError> + Send,
) -> PyResult<T> {
    let trap = Arc::new(Trap::default());
    let plugins: Plugins = plugins(how.aqms, &trap)?;
    let document = document(py, scenario, how.overrides)?;
    let cache = options::cache(how.cache)?;
    let options = Options {
        threads: how.threads,
        plugins,
        surround: how.aqms.map(|_| surround()),
        stop: Some(&trap.stop),
        cache: cache.as_ref(),
        series: Series::None,
        ..Options::default()
    };
    let (found, signal) = attend(py, &trap.stop, |_| Ok(()), || work(&document, &options));
    if let Some(error) = trap.take() {
        return Err(error);
    }
    if let Some(error) = signal {
        return Err(match error.is_instance_of::<PyKeyboardInterrupt>(py) {
            true => {
                PyKeyboardInterrupt::new_err("the search was interrupted; the cache has what was finished")
            }
            false => error,
        });
    }
    found.map_err(|error| failure(py, error))
}

/// The fields that vary.
fn axes(vary: &Bound<'_, PyDict>) -> PyResult<Vec<Axis>> {
    let axis = |(field, range): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let (field, range) = (field.extract::<String>()?, range.extract::<String>()?);
        format!("{field}={range}").parse().map_err(|why| errors::argument(format!("vary: {why}")))
    };
    vary.iter().map(axis).collect()
}

/// A metric with its direction.
fn goal(text: &str) -> PyResult<Goal> {
    text.parse().map_err(|why| errors::argument(format!("metric \"{text}\": {why}")))
}

/// What was found as dicts and lists.
fn dict<'py>(py: Python<'py>, found: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let json = serde_json::to_value(found).map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
    value::from_json(py, &json)
}

/// Adds to each item of a list its scenario, as a dict; one that was refused has none.
fn with_scenarios<'a>(
    py: Python<'_>,
    all: &Bound<'_, PyAny>,
    list: &str,
    scenarios: impl Iterator<Item = &'a str>,
) -> PyResult<()> {
    let items = all.get_item(list)?;
    for (item, text) in items.cast::<PyList>()?.iter().zip(scenarios) {
        let scenario = if text.is_empty() { None } else { Some(value::resolved(py, text)?) };
        item.set_item("scenario", scenario)?;
    }
    Ok(())
}
