//! Searching for the point of an axis at which a metric crosses a value.

use std::sync::Arc;

use arrow_array::{Float64Array, StringArray, UInt64Array};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quell_lab::{Axis, Ending, MAX_SEEDS, Options, Probe, Search, SearchError, Searched, Side};

use crate::aqm::{Trap, plugins};
use crate::attend::attend;
use crate::columns::{Columns, array, columns};
use crate::errors;
use crate::options::metric;
use crate::run::surround;
use crate::scenario::{Changes, document, names};

/// The crossing of a value by a metric, from :func:`search`.
///
/// Examples
/// --------
/// >>> import quell
/// >>> crossing = quell.search(  # doctest: +SKIP
/// ...     "my.toml", "aqm.red.max_p=0.01..0.5:log", "loss_rate", "2%"
/// ... )
/// >>> crossing.low, crossing.high  # doctest: +SKIP
#[pyclass(module = "quell", frozen)]
pub struct Crossing {
    /// {"found", "undecided", "same-side", "end-undecided"}: How the search ended: "found" (the interval is within the
    /// tolerance), "undecided" (it is wider because all seeds left probes within it undecided), "same-side" (the metric
    /// is on one side of the value at both ends) or "end-undecided" (all seeds left one end undecided).
    #[pyo3(get)]
    ending: &'static str,
    /// float or None: The lower end of the interval that holds the crossing, with a probability of at least 95%
    /// for normal samples and a metric that crosses the value once; None if no crossing is known.
    #[pyo3(get)]
    low: Option<f64>,
    /// float or None: The upper end of that interval.
    #[pyo3(get)]
    high: Option<f64>,
    /// bool or None: Whether the metric rises along the axis; None if no crossing is known.
    #[pyo3(get)]
    rises: Option<bool>,
    /// str: The algorithm's label.
    #[pyo3(get)]
    algorithm: String,
    /// str: The link.
    #[pyo3(get)]
    link: String,
    found: Vec<Probe>,
}

impl From<Searched> for Crossing {
    fn from(x: Searched) -> Self {
        Crossing {
            ending: match x.crossing.ending {
                Ending::Found => "found",
                Ending::Undecided => "undecided",
                Ending::SameSide => "same-side",
                Ending::EndUndecided => "end-undecided",
                Ending::Interrupted => "interrupted",
            },
            low: x.crossing.interval.map(|i| i.0),
            high: x.crossing.interval.map(|i| i.1),
            rises: x.crossing.rises,
            algorithm: x.algorithm,
            link: x.link,
            found: x.crossing.probes,
        }
    }
}

#[pymethods]
impl Crossing {
    /// Columns: The probes in their order: ``at`` (the value, without its unit), ``mean``, ``half_width`` (of the
    /// interval that decided, which is wider than a usual one), ``n`` (seeds) and ``side`` ("below", "above", or
    /// null where it remained undecided).
    #[getter]
    fn probes(&self) -> PyResult<Columns> {
        let probes = &self.found;
        let side = |side: Option<Side>| side.map(|s| if s == Side::Above { "above" } else { "below" });
        columns([
            ("at", array(probes.iter().map(|p| Some(p.at)).collect::<Float64Array>())),
            ("mean", array(probes.iter().map(|p| Some(p.estimate.mean)).collect::<Float64Array>())),
            ("half_width", array(probes.iter().map(|p| p.estimate.half_width).collect::<Float64Array>())),
            ("n", array(probes.iter().map(|p| Some(p.estimate.n as u64)).collect::<UInt64Array>())),
            ("side", array(probes.iter().map(|p| side(p.side)).collect::<StringArray>())),
        ])
    }

    fn __repr__(&self) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("Crossing({}, {low} to {high})", self.ending),
            _ => format!("Crossing({})", self.ending),
        }
    }
}

/// Search for the point of one axis of a scenario at which a metric crosses a value.
///
/// The search is a bisection. At each probe, an interval over the seeds 1, 2, 3, ... decides which side of the value
/// the metric is on, with more seeds as long as it is undecided. All probes together are wrong with a probability of at
/// most 5%, for normal samples and a metric that crosses the value once.
///
/// Parameters
/// ----------
/// scenario : str, os.PathLike or dict
///     As for :func:`run`; a single point, not a sweep.
/// over : str
///     The field that varies and its ends, ``"aqm.red.max_p=0.01..0.5"`` or ``"dumbbell.rate=5 Mbit/s..50 Mbit/s"``,
///     with ``:log`` at the end for a logarithmic axis. If a field takes only whole numbers, only those are probed;
///     with a range as in a sweep (``"aqm.red.max_p=0.01..0.5:log:20"``), only its values are.
/// metric : str
///     Which metric, by name, as for :meth:`Results.table`; it may be of a class, a ratio, or an internal signal.
/// crosses : float or str
///     The value that it crosses, with or without a unit ("2%", "20 ms").
/// aqm : str, optional
///     The algorithm, by its label; by default the one that ``over`` names, or the scenario's only one.
/// link : str, optional
///     Which observed link; by default the first.
/// scope : str, default "all"
///     "all", "data" (all but acknowledgments) or a class.
/// tolerance : float or str, default "5%"
///     How narrow the interval for the crossing must be: a value in the axis's unit, or a share of the crossing such as
///     "5%", which on a linear axis is at least a thousandth of the axis.
/// max_seeds : int, default 50
///     The most seeds per probe.
/// threads : int, optional
///     As for :func:`run`.
/// aqms : dict of str to callable, optional
///     As for :func:`run`.
/// overrides : dict of str to value, optional
///     As for :func:`run`.
///
/// Returns
/// -------
/// Crossing
///     The interval for the crossing, and the probes.
///
/// Raises
/// ------
/// ScenarioError
///     If the scenario breaks a rule, perhaps at an end of the axis.
/// ValueError
///     If an argument does not fit the scenario.
/// RunError
///     If a replication could not be run.
/// OSError
///     If the file cannot be read.
/// KeyboardInterrupt
///     After Ctrl-C.
///
/// Examples
/// --------
/// >>> import quell
/// >>> scenario = {
/// ...     "schema": 1, "duration": "10 s", "warmup": "2 s",
/// ...     "dumbbell": {"rate": "2 Mbit/s", "delay": "10 ms", "buffer": "50 packets"},
/// ...     "flows": [{"name": "voice", "kind": "udp", "rate": "1 Mbit/s", "packet": "500 B"}],
/// ...     "aqm": [{"algorithm": "drop-tail"}],
/// ... }
/// >>> crossing = quell.search(
/// ...     scenario, "flows.voice.rate=0.2 Mbit/s..1.8 Mbit/s", "utilization", "50%"
/// ... )
/// >>> crossing.low <= 1 <= crossing.high
/// True
#[pyfunction]
#[pyo3(signature = (scenario, over, metric, crosses, *, aqm=None, link=None, scope="all", tolerance=None,
    max_seeds=MAX_SEEDS, threads=None, aqms=None, overrides=None))]
#[pyo3(
    text_signature = "(scenario, over, metric, crosses, *, aqm=None, link=None, scope='all', tolerance='5%', \
    max_seeds=50, threads=None, aqms=None, overrides=None)"
)]
pub fn search(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    over: &str,
    metric: &str,
    crosses: &Bound<'_, PyAny>,
    aqm: Option<String>,
    link: Option<String>,
    scope: &str,
    tolerance: Option<&Bound<'_, PyAny>>,
    max_seeds: usize,
    threads: Option<usize>,
    aqms: Option<&Bound<'_, PyDict>>,
    overrides: Option<&Bound<'_, PyDict>>,
) -> PyResult<Crossing> {
    let wrong = |name: &str, why: String| errors::argument(format!("{name} = {why}"));
    let over: Axis = over.parse().map_err(|why| wrong("over", why))?;
    let metric = self::metric(metric)?;
    // str() of a number reads as that number.
    let crosses = metric.read(&crosses.str()?.to_string()).map_err(|why| wrong("crosses", why))?;
    let tolerance = tolerance.map_or(Ok("5%".to_string()), |t| t.str().map(|t| t.to_string()))?;
    let tolerance = tolerance.parse().map_err(|why| wrong("tolerance", why))?;
    let trap = Arc::new(Trap::default());
    let plugins = plugins(aqms, &trap)?;
    let document = document(py, scenario, overrides)?;
    let changes = Changes { unused: names(aqms)?, ..Changes::default() };
    changes.unused.borrow_mut().retain(|name| !document.mentions(name));
    if !changes.unused.borrow().is_empty() {
        let study = document.study(&plugins).map_err(|e| errors::scenario(py, &e))?;
        changes.refuse_unused(&study)?;
    }
    let question = Search {
        over,
        metric,
        crosses,
        algorithm: aqm,
        link,
        scope: scope.to_string(),
        tolerance,
        max_seeds,
    };
    let options = Options {
        threads,
        plugins,
        surround: aqms.map(|_| surround()),
        stop: Some(&trap.stop),
        ..Options::default()
    };
    let (found, signal) = attend(py, &trap.stop, |_| Ok(()), || question.search(&document, &options));
    if let Some(error) = trap.take() {
        return Err(error);
    }
    if let Some(error) = signal {
        // Bare: what is known of a crossing half way is not a result.
        return Err(match error.is_instance_of::<PyKeyboardInterrupt>(py) {
            true => PyKeyboardInterrupt::new_err("the search was interrupted"),
            false => error,
        });
    }
    found.map(Crossing::from).map_err(|error| failure(py, error))
}

/// The exception for a search that found nothing out.
pub fn failure(py: Python<'_>, error: SearchError) -> PyErr {
    match error {
        SearchError::Scenario(error) => errors::scenario(py, &error),
        SearchError::Run(error) => errors::RunError::new_err(error.to_string()),
        SearchError::Question(why) => errors::argument(why),
    }
}
