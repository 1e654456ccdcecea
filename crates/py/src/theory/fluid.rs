//! The fluid model over time.

use std::sync::atomic::Ordering;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use quell_analysis::Variation;
use quell_theory::fluid::{self as fluids, Options, Overflow, Start};
use quell_theory::models::AnyModel;
use quell_theory::num::dde::Tolerance;
use quell_theory::rules::reach::{Quantity, scaled};
use quell_theory::{FluidNetwork, TheoryError};

use super::arrays::{array, shaped};
use super::maps::{Map, axis};
use super::{analysis, words};
use crate::attend::interruptible;
use crate::errors::{self, Answer};

/// A summary of the motion of a queue.
///
/// Examples
/// --------
/// >>> from quell.theory import dumbbell, fluid
/// >>> net = dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"])
/// >>> summary = fluid(net, 60).summary(30)
/// >>> summary.least <= summary.mean <= summary.most
/// True
#[pyclass(module = "quell.theory", frozen, get_all)]
#[derive(Clone, Debug)]
pub struct Summary {
    /// float: The mean of the queue, in packets.
    mean: f64,
    /// float: Its standard deviation, in packets.
    deviation: f64,
    /// float: The smallest queue, in packets.
    least: f64,
    /// float: The largest queue, in packets.
    most: f64,
    /// float: Half of the range from the least to the most, in packets, in the second half of the time.
    amplitude: f64,
    /// float: The same in the first half.
    amplitude_before: f64,
    /// float or None: The period, if there are at least two.
    period_s: Option<f64>,
    /// bool: Whether the queue settles, or its oscillations die out; otherwise they persist or grow.
    settles: bool,
}

impl From<fluids::Summary> for Summary {
    fn from(x: fluids::Summary) -> Self {
        Summary {
            mean: x.mean,
            deviation: x.deviation,
            least: x.least,
            most: x.most,
            amplitude: x.amplitude,
            amplitude_before: x.amplitude_before,
            period_s: x.period,
            settles: x.settles(),
        }
    }
}

#[pymethods]
impl Summary {
    fn __repr__(&self) -> String {
        let settles = if self.settles { "True" } else { "False" };
        format!("Summary(mean={:.2}, deviation={:.3}, settles={settles})", self.mean, self.deviation)
    }
}

/// The motion of a fluid, sampled. At a jump, the sample is the value before it.
///
/// Examples
/// --------
/// >>> from quell.theory import dumbbell, fluid
/// >>> net = dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"])
/// >>> path = fluid(net, 20)
/// >>> len(path.time_s) == len(path.queue_packets)
/// True
#[pyclass(module = "quell.theory", frozen)]
#[derive(Clone, Debug)]
pub struct Trajectory {
    found: fluids::Trajectory,
    names: Vec<&'static str>,
}

/// Rows of equal length as an array.
fn rows<'py>(py: Python<'py>, rows: &[Vec<f64>]) -> PyResult<Bound<'py, PyAny>> {
    shaped(py, &rows.concat(), &[rows.len(), rows.first().map_or(0, Vec::len)])
}

#[pymethods]
impl Trajectory {
    /// numpy.ndarray: Times of the samples, in seconds.
    #[getter]
    fn time_s<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, &self.found.time)
    }

    /// numpy.ndarray: The queue.
    #[getter]
    fn queue_packets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, &self.found.queue)
    }

    /// numpy.ndarray: The windows, one row for each class of flows.
    #[getter]
    fn windows_packets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        rows(py, &self.found.windows)
    }

    /// numpy.ndarray: The round-trip times, one row for each class of flows.
    #[getter]
    fn rtt_s<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        rows(py, &self.found.rtts)
    }

    /// numpy.ndarray: The probability with which the algorithm signals.
    #[getter]
    fn probability<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, &self.found.probability)
    }

    /// numpy.ndarray: What arrives, in packets/s.
    #[getter]
    fn arrivals_pps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, &self.found.arrivals)
    }

    /// numpy.ndarray: What a full queue loses, as a share of what the algorithm passed.
    #[getter]
    fn lost<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, &self.found.lost)
    }

    /// numpy.ndarray: The senders' estimates of the share of marks, one row for each class of flows; no rows where
    /// they keep none.
    #[getter]
    fn shares<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        rows(py, &self.found.shares)
    }

    /// dict of str to numpy.ndarray: The algorithm's own variables.
    #[getter]
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, values) in self.names.iter().zip(&self.found.state) {
            dict.set_item(name, array(py, values)?)?;
        }
        Ok(dict)
    }

    /// int: Steps that the solver kept.
    #[getter]
    fn steps(&self) -> usize {
        self.found.work.steps
    }

    /// Summarize what the queue does from a time on.
    ///
    /// Parameters
    /// ----------
    /// from_s : float, default 0.0
    ///     The time, in seconds.
    ///
    /// Returns
    /// -------
    /// Summary
    ///     Mean, amplitude, period, and whether it settles.
    ///
    /// Raises
    /// ------
    /// TheoryError
    ///     If there are fewer than 8 samples from that time on.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import dumbbell, fluid
    /// >>> net = dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"])
    /// >>> fluid(net, 60).summary(30).settles
    /// True
    #[pyo3(signature = (from_s=0.0))]
    fn summary(&self, from_s: f64) -> Answer<Summary> {
        Ok(self.found.summary(from_s)?.into())
    }

    fn __len__(&self) -> usize {
        self.found.time.len()
    }

    fn __repr__(&self) -> String {
        let last = self.found.time.last().copied().unwrap_or(0.0);
        format!("Trajectory({} samples to {last} s, {} steps)", self.found.time.len(), self.found.work.steps)
    }
}

/// The options of a run, as users write them.
fn options(sample: Option<&Bound<'_, PyAny>>, tolerance: Option<f64>, overflow: &str) -> PyResult<Options> {
    let both = [("signals", Overflow::Signals), ("ignored", Overflow::Ignored)];
    let overflow = words::choice("overflow", overflow, &both)?;
    let mut options = Options { overflow, ..Options::default() };
    if let Some(step) = sample {
        options.sample = words::time("sample", step)?.as_secs_f64();
    }
    if let Some(tolerance) = tolerance {
        options.tolerance = Tolerance::of(tolerance);
    }
    Ok(options)
}

fn start(word: &str, nudge: f64) -> PyResult<Start> {
    #[derive(Clone, Copy)]
    enum From {
        Empty,
        Equilibrium,
    }
    match words::choice("start", word, &[("empty", From::Empty), ("equilibrium", From::Equilibrium)])? {
        From::Equilibrium => Ok(Start::Equilibrium(nudge)),
        From::Empty if nudge == 0.0 => Ok(Start::Empty),
        From::Empty => Err(errors::argument("nudge: needs start=\"equilibrium\"")),
    }
}

/// The network after some of its quantities changed.
fn changed(
    network: &FluidNetwork,
    link: &quell_aqm::Link,
    changes: &Bound<'_, PyDict>,
) -> PyResult<FluidNetwork> {
    let mut network = network.clone();
    let flows = |n: &FluidNetwork| n.classes.iter().map(|c| c.flows).sum::<f64>();
    for (name, x) in changes {
        match name.extract::<String>()?.as_str() {
            "flows" => {
                let wanted: f64 = x.extract()?;
                network = scaled(&network, Quantity::Flows, wanted / flows(&network));
            }
            "rate" => network.capacity = words::rate("rate", &x)?.packets_per_sec(link.mean_packet),
            "rtt" => {
                let rtt = words::time("rtt", &x)?.as_secs_f64();
                let all = network.classes.iter().map(|c| c.flows * c.propagation).sum::<f64>();
                network = scaled(&network, Quantity::Rtt, rtt * flows(&network) / all);
            }
            other => {
                let rule = format!("changes: \"{other}\" must be \"flows\", \"rate\" or \"rtt\"");
                return Err(errors::argument(rule));
            }
        }
    }
    Ok(network)
}

/// Simulate TCP and an algorithm as a fluid: delay differential equations, with the delay that the queue
/// causes.
///
/// Chen 2010, eq. 4.1, Park et al. 2004, eq. 6-9, for any number of classes of flows: windows, queue, and the
/// algorithm's own variables. N, C and R may change in steps.
///
/// Parameters
/// ----------
/// scenario : str, os.PathLike or dict
///     As for :func:`analyze`, without a sweep.
/// duration : str or float
///     How long ("100 s", or seconds).
/// algorithm : str, optional
///     Which algorithm, by label; needed if there are several.
/// start : {"empty", "equilibrium"}, default "empty"
///     Windows of one packet and an empty queue, or the equilibrium that :func:`analyze` finds.
/// nudge : float, default 0.0
///     With "equilibrium", this many more packets in the queue, to see whether it returns.
/// changes : sequence of (str or float, dict of str to str or float), optional
///     Times in seconds, rising, each with a dict of what changes then: "flows" (N), "rate" ("5 Mbit/s",
///     or bit/s) and "rtt" (the mean without queueing, including a packet's own transmission). The algorithm
///     is not told.
/// overflow : {"signals", "ignored"}, default "signals"
///     Whether senders see what a full queue loses; the papers' equations ignore it.
/// sample : str or float, optional
///     The time between samples; by default 10 ms.
/// tolerance : float, optional
///     Error per step, relative and absolute (packets; probabilities in thousandths); by default 1e-6.
/// link : str, optional
///     As for :func:`analyze`.
/// at : str or float, optional
///     As for :func:`analyze`: the network is that of this time, throughout.
/// overrides : dict of str to value, optional
///     As for :func:`quell.run`.
///
/// Returns
/// -------
/// Trajectory
///     Arrays over time.
///
/// Raises
/// ------
/// TheoryError
///     If the algorithm has no continuous form, there is no equilibrium to start from, a quantity is not
///     physical, or the tolerance cannot be reached.
/// ScenarioError
///     If the scenario breaks a rule.
///
/// Examples
/// --------
/// >>> from quell.theory import dumbbell, fluid
/// >>> net = dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"])
/// >>> path = fluid(net, 60, start="equilibrium", nudge=1)
/// >>> len(path.time_s), path.windows_packets.shape
/// (6001, (1, 6001))
#[pyfunction]
#[pyo3(signature = (scenario, duration, *, algorithm=None, start="empty", nudge=0.0, changes=None, overflow="signals", sample=None, tolerance=None, link=None, at=None, overrides=None))]
pub fn fluid(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    duration: &Bound<'_, PyAny>,
    algorithm: Option<String>,
    start: &str,
    nudge: f64,
    changes: Option<Vec<(Bound<'_, PyAny>, Bound<'_, PyDict>)>>,
    overflow: &str,
    sample: Option<&Bound<'_, PyAny>>,
    tolerance: Option<f64>,
    link: Option<&str>,
    at: Option<&Bound<'_, PyAny>>,
    overrides: Option<&Bound<'_, PyDict>>,
) -> Answer<Trajectory> {
    let duration = words::time("duration", duration)?.as_secs_f64();
    let options = options(sample, tolerance, overflow)?;
    let start = self::start(start, nudge)?;
    let bottleneck = analysis::one(py, scenario, algorithm, link, at, overrides)?;
    let (_, config) = &bottleneck.algorithms[0];
    let mut network = bottleneck.network.clone();
    let model = AnyModel::of(config, &bottleneck.link, &network)?;
    let mut fluid = fluids::Fluid::new(network.clone(), model)?.starting(start)?;
    for (time, what) in changes.into_iter().flatten() {
        network = changed(&network, &bottleneck.link, &what)?;
        let time = words::time("time of a change", &time)?.as_secs_f64();
        fluid = fluid.changing(time, network.clone())?;
    }
    let names = model.variables().iter().map(|v| v.0).collect();
    let found = interruptible(py, |_| fluid.run(duration, &options))??;
    Ok(Trajectory { found, names })
}

/// A value of a summary.
type Figure = fn(&fluids::Summary) -> Option<f64>;

const FIGURES: &[(&str, Figure)] = &[
    ("settles", |s| Some(f64::from(u8::from(s.settles())))),
    ("mean", |s| Some(s.mean)),
    ("deviation", |s| Some(s.deviation)),
    ("least", |s| Some(s.least)),
    ("most", |s| Some(s.most)),
    ("amplitude", |s| Some(s.amplitude)),
    ("period", |s| s.period),
];

/// The number of fluids between two checks whether to stop.
const TOGETHER: usize = 1024;

/// Map what the queue does over two quantities: one fluid for each point, on all cores.
///
/// Points of one algorithm run side by side in the lanes of the processor.
///
/// Parameters
/// ----------
/// scenario : str, os.PathLike or dict
///     As for :func:`analyze`, without a sweep.
/// x : (str, array_like), or (str, array_like, str)
///     What varies across, as for :func:`map`.
/// y : (str, array_like), or (str, array_like, str)
///     What varies from bottom to top.
/// duration : str or float
///     How long each is simulated ("100 s", or seconds).
/// from_s : float, optional
///     When the queue's statistics begin, in seconds; by default after half of the duration.
/// show : str, default "settles"
///     "settles" (1 or 0), "mean", "deviation", "least", "most", "amplitude" (packets) or "period" (s).
/// algorithm : str, optional
///     Which algorithm, by label; needed if there are several.
/// start : {"empty", "equilibrium"}, default "empty"
///     As for :func:`fluid`.
/// nudge : float, default 0.0
///     As for :func:`fluid`.
/// overflow : {"signals", "ignored"}, default "signals"
///     As for :func:`fluid`.
/// sample : str or float, optional
///     As for :func:`fluid`.
/// tolerance : float, optional
///     As for :func:`fluid`.
/// link : str, optional
///     As for :func:`analyze`.
/// at : str or float, optional
///     As for :func:`analyze`.
/// overrides : dict of str to value, optional
///     As for :func:`quell.run`.
///
/// Returns
/// -------
/// Map
///     The values.
///
/// Raises
/// ------
/// TheoryError
///     If there is no such axis, or the algorithm has no continuous form.
/// ScenarioError
///     If the scenario breaks a rule.
///
/// Examples
/// --------
/// >>> from quell.theory import dumbbell, fluid_map
/// >>> net = dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"])
/// >>> found = fluid_map(net, ("flows", [30, 60]), ("rtt", [0.05, 0.4]), 20, show="mean")
/// >>> found.values.shape
/// (2, 2)
#[pyfunction]
#[pyo3(signature = (scenario, x, y, duration, *, from_s=None, show="settles", algorithm=None, start="empty", nudge=0.0, overflow="signals", sample=None, tolerance=None, link=None, at=None, overrides=None))]
pub fn fluid_map(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    x: &Bound<'_, PyTuple>,
    y: &Bound<'_, PyTuple>,
    duration: &Bound<'_, PyAny>,
    from_s: Option<f64>,
    show: &str,
    algorithm: Option<String>,
    start: &str,
    nudge: f64,
    overflow: &str,
    sample: Option<&Bound<'_, PyAny>>,
    tolerance: Option<f64>,
    link: Option<&str>,
    at: Option<&Bound<'_, PyAny>>,
    overrides: Option<&Bound<'_, PyDict>>,
) -> Answer<Map> {
    let figure = words::choice("show", show, FIGURES)?;
    let duration = words::time("duration", duration)?.as_secs_f64();
    let from = from_s.unwrap_or(0.5 * duration);
    let options = options(sample, tolerance, overflow)?;
    let start = self::start(start, nudge)?;
    let (x_name, x, x_unit) = axis("x", x)?;
    let (y_name, y, y_unit) = axis("y", y)?;
    let bottleneck = analysis::one(py, scenario, algorithm, link, at, overrides)?;
    let axes = [(x_name.as_str(), x_unit.as_str()), (y_name.as_str(), y_unit.as_str())];
    let (_, config) = &bottleneck.algorithms[0];
    let variation = Variation::new(&bottleneck, config, axes)?;
    let points: Vec<(f64, f64)> = y.iter().flat_map(|y| x.iter().map(|x| (*x, *y))).collect();
    let found = interruptible(py, |stop| {
        let mut found: Vec<Result<Option<f64>, TheoryError>> = Vec::with_capacity(points.len());
        for points in points.chunks(TOGETHER) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let build = |&(x, y): &(f64, f64)| {
                let (model, network) = variation.at(x, y)?;
                fluids::Fluid::new(network, model)?.starting(start.clone())
            };
            let built: Vec<_> = points.iter().map(build).collect();
            let good: Vec<_> = built.iter().filter_map(|f| f.as_ref().ok().cloned()).collect();
            let mut summaries = fluids::batch(&good, duration, from, &options).into_iter();
            found.extend(built.into_iter().map(|fluid| {
                fluid?;
                let summary = summaries.next().expect("each fluid has a summary")?;
                Ok(figure(&summary))
            }));
        }
        found
    })?;
    Ok(Map::of(show, [x_name, y_name], (x, y), found)?)
}
