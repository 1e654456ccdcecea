//! Maps over two quantities.

use std::sync::atomic::Ordering;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use quell_analysis::{Shown, Variation};
use quell_theory::map::{self as grids, Closed, Input, Shown as OfLoop};
use quell_theory::rules::criteria::PidGains;
use quell_theory::{Tcp, TheoryError};

use super::arrays::{Numbers, row, shaped};
use super::{analysis, words};
use crate::attend::interruptible;
use crate::errors::{self, Answer};

/// A quantity over a grid of two others.
///
/// Examples
/// --------
/// >>> from quell.theory import dumbbell, map
/// >>> net = dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"])
/// >>> map(net, ("flows", [30, 60, 120]), ("rtt", [0.05, 0.4]), show="queue").x_name
/// 'flows'
#[pyclass(module = "quell.theory", frozen, get_all)]
#[derive(Clone, Debug)]
pub struct Map {
    /// str: What the map shows.
    show: String,
    /// str: What varies across.
    x_name: String,
    /// str: What varies from bottom to top.
    y_name: String,
    /// numpy.ndarray: The values across.
    x: Numbers<f64>,
    /// numpy.ndarray: The values upwards.
    y: Numbers<f64>,
    /// numpy.ndarray: The values, ``values[j, i]`` at ``x[i]`` and ``y[j]``; NaN if there is none, which ``missing``
    /// explains.
    values: Numbers<f64>,
    /// list of (str, int): Why points have no value: the first such point's reason, and how many there are.
    missing: Vec<(String, usize)>,
}

#[pymethods]
impl Map {
    fn __repr__(&self) -> String {
        let (x, y) = (self.x.values.len(), self.y.values.len());
        format!("Map({:?}, x={:?} ({x}), y={:?} ({y}))", self.show, self.x_name, self.y_name)
    }
}

impl Map {
    /// Makes a map from the values row by row; `None` where there is none.
    pub fn of(
        show: &str,
        [x_name, y_name]: [String; 2],
        (x, y): (Vec<f64>, Vec<f64>),
        found: Vec<Result<Option<f64>, TheoryError>>,
    ) -> Result<Map, TheoryError> {
        // A parameter that is wrong at every point is an error of the question.
        if let Some(Err(e @ (TheoryError::Parameter(_) | TheoryError::NoModel { .. }))) =
            found.first().filter(|_| found.iter().all(Result::is_err))
        {
            return Err(e.clone());
        }
        let mut missing: Vec<(Option<std::mem::Discriminant<TheoryError>>, String, usize)> = Vec::new();
        let figure = |figure: Result<Option<f64>, TheoryError>| {
            let (kind, reason) = match figure {
                Ok(Some(x)) => return x,
                Ok(None) => (None, format!("there is no {show}")),
                Err(e) => (Some(std::mem::discriminant(&e)), e.to_string()),
            };
            match missing.iter_mut().find(|(k, ..)| *k == kind) {
                Some((.., count)) => *count += 1,
                None => missing.push((kind, reason, 1)),
            }
            f64::NAN
        };
        let shape = vec![y.len(), x.len()];
        let values = Numbers { values: found.into_iter().map(figure).collect(), shape };
        let missing = missing.into_iter().map(|(_, reason, count)| (reason, count)).collect();
        Ok(Map { show: show.into(), x_name, y_name, x: x.into(), y: y.into(), values, missing })
    }
}

const SHOWN: &[(&str, Shown)] = &[
    ("growth", Shown::Loop(OfLoop::Growth)),
    ("unstable-roots", Shown::Loop(OfLoop::UnstableRoots)),
    ("gain-margin", Shown::Loop(OfLoop::GainMargin)),
    ("phase-margin", Shown::Loop(OfLoop::PhaseMargin)),
    ("delay-margin", Shown::Loop(OfLoop::DelayMargin)),
    ("crossover", Shown::Loop(OfLoop::Crossover)),
    ("damping", Shown::Loop(OfLoop::Damping)),
    ("period", Shown::Loop(OfLoop::Period)),
    ("settling", Shown::Loop(OfLoop::Settling)),
    ("queue", Shown::Queue),
    ("probability", Shown::Probability),
];

/// An axis as (name, values) or (name, values, unit).
pub fn axis(name: &str, axis: &Bound<'_, PyTuple>) -> PyResult<(String, Vec<f64>, String)> {
    let (2 | 3) = axis.len() else {
        return Err(errors::argument(format!("{name} must be (name, values) or (name, values, unit)")));
    };
    let unit = if axis.len() == 3 { axis.get_item(2)?.extract()? } else { String::new() };
    Ok((axis.get_item(0)?.extract()?, row(&axis.get_item(1)?, name)?, unit))
}

/// Map a quantity of an algorithm over two of its parameters, or of the network's quantities.
///
/// At each point the algorithm is built again, so that automatic parameters follow the link, and the
/// equilibrium is found again. All cores are used.
///
/// Parameters
/// ----------
/// scenario : str, os.PathLike or dict
///     As for :func:`analyze`, without a sweep.
/// x : (str, array_like), or (str, array_like, str)
///     What varies across: its name, its values, and their unit if it is not the scenario's. Names are
///     "flows", "rate" (bit/s), "rtt" (the mean without queueing, including a packet's own transmission, in
///     seconds), or a parameter of the algorithm: ``("q_ref", [10, 20, 50], "packets")``.
/// y : (str, array_like), or (str, array_like, str)
///     What varies from bottom to top.
/// show : str, default "growth"
///     "growth" (real part of the slowest mode's root, per second: negative is stable),
///     "unstable-roots", "gain-margin", "phase-margin" (degrees), "delay-margin" (s), "crossover"
///     (rad/s), "damping", "period" (s), "settling" (s), "queue" (packets) or "probability".
/// algorithm : str, optional
///     Which algorithm, by label; needed if there are several.
/// link : str, optional
///     As for :func:`analyze`.
/// at : str or float, optional
///     As for :func:`analyze`.
/// plant : {"exact", "simplified"}, default "exact"
///     As for :class:`Loop`.
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
///     If the axis does not exist, or if no point of the map has a value.
/// ScenarioError
///     If the scenario breaks a rule.
///
/// Examples
/// --------
/// >>> from quell.theory import dumbbell, map
/// >>> net = dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"])
/// >>> found = map(net, ("flows", [30, 60, 120]), ("rtt", [0.05, 0.4]), show="queue")
/// >>> found.values.shape
/// (2, 3)
#[pyfunction]
#[pyo3(signature = (scenario, x, y, *, show="growth", algorithm=None, link=None, at=None, plant="exact", overrides=None))]
pub fn map(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    x: &Bound<'_, PyTuple>,
    y: &Bound<'_, PyTuple>,
    show: &str,
    algorithm: Option<String>,
    link: Option<&str>,
    at: Option<&Bound<'_, PyAny>>,
    plant: &str,
    overrides: Option<&Bound<'_, PyDict>>,
) -> Answer<Map> {
    let shown = words::choice("show", show, SHOWN)?;
    let plant = words::plant(plant)?;
    let (x_name, x, x_unit) = axis("x", x)?;
    let (y_name, y, y_unit) = axis("y", y)?;
    let bottleneck = analysis::one(py, scenario, algorithm, link, at, overrides)?;
    let (_, config) = &bottleneck.algorithms[0];
    let axes = [(x_name.as_str(), x_unit.as_str()), (y_name.as_str(), y_unit.as_str())];
    let variation = Variation::new(&bottleneck, config, axes)?;
    let found = interruptible(py, |stop| {
        grids::over(&x, &y, |x, y| {
            if stop.load(Ordering::Relaxed) { Ok(None) } else { variation.value(shown, plant, x, y) }
        })
    })?;
    let degrees = |x: f64| if shown == Shown::Loop(OfLoop::PhaseMargin) { x.to_degrees() } else { x };
    let found = found.into_iter().map(|figure| figure.map(|x| x.map(degrees))).collect();
    Ok(Map::of(show, [x_name, y_name], (x, y), found)?)
}

/// Fills the map of a closed form; what varies need not be given separately.
fn closed<'py>(
    py: Python<'py>,
    names: &[(&str, Input)],
    x: &Bound<'py, PyTuple>,
    y: &Bound<'py, PyTuple>,
    given: [Option<f64>; 6],
    double: bool,
    form: impl FnOnce([f64; 6]) -> Closed,
) -> Answer<Bound<'py, PyAny>> {
    let side = |which: &str, of: &Bound<'py, PyTuple>| -> PyResult<(Input, Vec<f64>)> {
        let (name, values, unit) = axis(which, of)?;
        if !unit.is_empty() {
            return Err(errors::argument(format!("{which}: closed forms have SI units, not \"{unit}\"")));
        }
        Ok((words::choice(which, &name, names)?, values))
    };
    let (x, y) = (side("x", x)?, side("y", y)?);
    for (name, is) in names {
        if given[*is as usize].is_none() && *is != x.0 && *is != y.0 {
            return Err(errors::argument(format!("{name} is missing: it is not an axis")).into());
        }
    }
    // Axes take the place of what is given here.
    let form = form(given.map(|v| v.unwrap_or(1.0)));
    let shape = [y.1.len(), x.1.len()];
    if double {
        let mut values = vec![0.0_f64; shape[0] * shape[1]];
        py.detach(|| form.fill_f64((x.0, &x.1), (y.0, &y.1), &mut values))?;
        return Ok(shaped(py, &values, &shape)?);
    }
    let narrow = |v: &[f64]| v.iter().map(|&v| v as f32).collect::<Vec<_>>();
    let mut values = vec![0.0_f32; shape[0] * shape[1]];
    py.detach(|| form.fill((x.0, &narrow(&x.1)), (y.0, &narrow(&y.1)), &mut values))?;
    Ok(shaped(py, &values, &shape)?)
}

/// Map RED's loop gain at ``w_g = 0.1 min(2N/(R^2 C), 1/R)`` (Chen 2010, eq. 4.11-4.12): at most 1 is stable.
///
/// A closed form, for maps of a million points in milliseconds. One class of flows, marks. The two
/// quantities that vary need not be given otherwise.
///
/// Parameters
/// ----------
/// x : (str, array_like)
///     What varies across: its name ("flows", "rtt", "capacity", "slope" or "filter") and its values.
/// y : (str, array_like)
///     What varies from bottom to top.
/// flows : float, optional
///     N.
/// rtt : float, optional
///     R in seconds.
/// capacity : float, optional
///     C in packets/s.
/// slope : float, optional
///     L per packet.
/// filter : float, optional
///     K of the average, per second.
/// double : bool, default False
///     Compute in double precision, which takes longer.
///
/// Returns
/// -------
/// numpy.ndarray of floating
///     The gain at ``x[i]`` and ``y[j]`` in ``[j, i]``, in single precision without ``double``.
///
/// Raises
/// ------
/// TheoryError
///     If a value is not physical.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from quell.theory import red_map
/// >>> axes = ("flows", np.linspace(20, 200, 1000)), ("rtt", np.linspace(0.02, 0.5, 1000))
/// >>> gain = red_map(*axes, capacity=1250, slope=0.001, filter=0.5)
/// >>> gain.shape
/// (1000, 1000)
#[pyfunction]
#[pyo3(signature = (x, y, *, flows=None, rtt=None, capacity=None, slope=None, filter=None, double=false))]
pub fn red_map<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyTuple>,
    y: &Bound<'py, PyTuple>,
    flows: Option<f64>,
    rtt: Option<f64>,
    capacity: Option<f64>,
    slope: Option<f64>,
    filter: Option<f64>,
    double: bool,
) -> Answer<Bound<'py, PyAny>> {
    let names = [
        ("flows", Input::Flows),
        ("rtt", Input::Rtt),
        ("capacity", Input::Capacity),
        ("slope", Input::First),
        ("filter", Input::Second),
    ];
    let given = [flows, rtt, capacity, slope, filter, None];
    closed(py, &names, x, y, given, double, |[n, r, c, l, k, _]| Closed::red(n, r, c, l, k))
}

/// Map the theorem of Park et al. 2004 for VRC, PID and PI: positive is stable, with a lag in place of the
/// delay.
///
/// The figure is ``(left - right)/(|left| + right)`` of Park et al. 2004, eq. 17, its misprint corrected:
/// between -1 and
/// 1. A closed form, for maps of a million points in milliseconds. The two quantities that vary need not
/// be given otherwise.
///
/// Parameters
/// ----------
/// x : (str, array_like)
///     What varies across: its name ("flows", "rtt", "capacity", "k_p", "k_i" or "k_d") and its values.
/// y : (str, array_like)
///     What varies from bottom to top.
/// flows : float, optional
///     N.
/// rtt : float, optional
///     R in seconds.
/// capacity : float, optional
///     C in packets/s.
/// k_p : float, optional
///     K_P per packet.
/// k_i : float, optional
///     K_I per packet and second.
/// k_d : float, default 0.0
///     K_D in seconds per packet; 0 makes it PI.
/// a : float, default 1.5
///     A signal takes W/a of the window.
/// double : bool, default False
///     Compute in double precision, which takes longer.
///
/// Returns
/// -------
/// numpy.ndarray of floating
///     The value at ``x[i]`` and ``y[j]`` in ``[j, i]``, in single precision without ``double``.
///
/// Raises
/// ------
/// TheoryError
///     If a value is not physical.
///
/// Examples
/// --------
/// >>> from quell.theory import vrc_map
/// >>> figures = vrc_map(("rtt", [0.36, 0.37]), ("k_d", [0.0003]), flows=100, capacity=1250,
/// ...                   k_p=0.0024, k_i=0.0045)
/// >>> figures > 0
/// array([[ True, False]])
#[pyfunction]
#[pyo3(signature = (x, y, *, flows=None, rtt=None, capacity=None, k_p=None, k_i=None, k_d=0.0, a=1.5, double=false))]
pub fn vrc_map<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyTuple>,
    y: &Bound<'py, PyTuple>,
    flows: Option<f64>,
    rtt: Option<f64>,
    capacity: Option<f64>,
    k_p: Option<f64>,
    k_i: Option<f64>,
    k_d: f64,
    a: f64,
    double: bool,
) -> Answer<Bound<'py, PyAny>> {
    let names = [
        ("flows", Input::Flows),
        ("rtt", Input::Rtt),
        ("capacity", Input::Capacity),
        ("k_p", Input::First),
        ("k_i", Input::Second),
        ("k_d", Input::Third),
    ];
    let tcp: Tcp = words::tcp(a, 1.0)?;
    let given = [flows, rtt, capacity, k_p, k_i, Some(k_d)];
    closed(py, &names, x, y, given, double, |[n, r, c, k_p, k_i, k_d]| {
        Closed::pid(n, r, c, &PidGains { k_p, k_i, k_d }, tcp)
    })
}
