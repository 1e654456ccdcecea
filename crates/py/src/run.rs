//! Running scenarios.

use std::ffi::CString;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping};
use quell_lab::{Options, Surround};
use quell_scenario::{Document, Study};
use quell_sim::Engine;

use crate::aqm::{Trap, plugins};
use crate::attend::attend;
use crate::errors;
use crate::results::Results;
use crate::value;

/// The progress of a run.
#[pyclass(module = "quell", frozen)]
pub struct Progress(quell_lab::Progress);

#[pymethods]
impl Progress {
    /// float: Share of the simulated time that is done, in [0, 1].
    #[getter]
    fn done(&self) -> f64 {
        self.0.done
    }

    /// int: Finished replications.
    #[getter]
    fn finished(&self) -> usize {
        self.0.finished
    }

    /// int: All replications.
    #[getter]
    fn total(&self) -> usize {
        self.0.total
    }

    /// float: Seconds since the beginning.
    #[getter]
    fn elapsed_s(&self) -> f64 {
        self.0.elapsed.as_secs_f64()
    }

    /// float or None: Estimated seconds to the end; None while there is no estimate.
    #[getter]
    fn left_s(&self) -> Option<f64> {
        self.0.left.map(|d| d.as_secs_f64())
    }

    fn __repr__(&self) -> String {
        format!("Progress(done={:.3}, finished={}, total={})", self.0.done, self.0.finished, self.0.total)
    }
}

/// Run a scenario: every algorithm with every seed, over all cores.
///
/// Python stays responsive while it runs: other threads continue, and Ctrl-C stops it cleanly.
///
/// Parameters
/// ----------
/// scenario : str, os.PathLike or dict
///     A scenario file, or the same tree as dicts and lists. Quantities are strings with units
///     ("10 Mbit/s", "100 ms", "50 packets"), as in files.
/// seeds : int or sequence of int, optional
///     How many seeds (1, 2, ...) or which, instead of the scenario's.
/// threads : int, optional
///     How many threads; by default one per core. The results do not depend on it.
/// aqms : dict of str to type, optional
///     Algorithms written in Python (see :class:`Aqm`) by the name that the scenario gives as
///     ``algorithm``. Each is called with the :class:`Link` and, as keywords, the parameters beside its name;
///     a function that returns an object also works.
/// overrides : dict of str to value, optional
///     Fields to override in the scenario, by path: ``{"flows.ftp.count": 20}``. A value may be an expression
///     of other fields: ``{"aqm.red.max_th": "0.5 * dumbbell.buffer"}``.
/// sweep : dict of str to sequence or str, optional
///     Fields to vary, by path: over a list or a range, ``{"flows.ftp.count": [10, 20], "aqm.red.max_p":
///     "0.02..0.2:log:5"}``, in every combination. It takes the place of the scenario's sweep of the same
///     fields. The key ``"linked"`` has a list of such dicts, whose fields advance together. Points that are not
///     valid are left out: see :attr:`Results.holes`.
/// progress : callable, optional
///     Called with a :class:`Progress` a few times a second and once at the end, in this thread.
/// engine : {"fast", "reference"}, default "fast"
///     Which engine; both give the same sample path.
///
/// Returns
/// -------
/// Results
///     The figures of every replication.
///
/// Raises
/// ------
/// ScenarioError
///     If the scenario breaks a rule; has the attributes ``file``, ``line``, ``field``, ``value``,
///     ``rule``, ``nearest``.
/// RunError
///     If a replication could not be run.
/// OSError
///     If the file cannot be read.
/// Interrupted
///     After Ctrl-C (it is a KeyboardInterrupt); its attribute ``results`` holds what was finished.
/// Exception
///     Whatever an algorithm written in Python or ``progress`` raises, as it was raised.
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
/// >>> results = quell.run(scenario, seeds=2)
/// >>> results.algorithms
/// ['drop-tail', 'red']
#[pyfunction]
#[pyo3(signature = (scenario, *, seeds=None, threads=None, aqms=None, overrides=None, sweep=None, progress=None, engine="fast"))]
#[allow(clippy::too_many_arguments)]
pub fn run(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    seeds: Option<&Bound<'_, PyAny>>,
    threads: Option<usize>,
    aqms: Option<&Bound<'_, PyDict>>,
    overrides: Option<&Bound<'_, PyDict>>,
    sweep: Option<&Bound<'_, PyDict>>,
    progress: Option<Py<PyAny>>,
    engine: &str,
) -> PyResult<Results> {
    let engine = match engine {
        "fast" => Engine::Fast,
        "reference" => Engine::Reference,
        other => {
            return Err(errors::argument(format!("engine = \"{other}\": must be \"fast\" or \"reference\"")));
        }
    };
    if threads == Some(0) {
        return Err(errors::argument("threads = 0: must be at least 1".to_string()));
    }
    let trap = Arc::new(Trap::default());
    let plugins = plugins(aqms, &trap)?;
    let study = study(py, scenario, &Changes { seeds, overrides, sweep }, &plugins, &trap)?;
    let latest = Mutex::new(None);
    let note = |p: &quell_lab::Progress| *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(*p);
    // The interpreter makes a state for each thread that attaches to it and frees it when the thread
    // detaches for good, which costs more than a decision does. So threads stay known to it.
    let surround: Option<Surround> =
        aqms.map(|_| Arc::new(|work: &(dyn Fn() + Sync)| Python::attach(|py| py.detach(work))) as Surround);
    let options = Options {
        threads,
        engine,
        plugins,
        surround,
        progress: Some(&note),
        stop: Some(&trap.stop),
        ..Options::default()
    };
    let report = |py: Python<'_>| -> PyResult<()> {
        let Some(progress) = &progress else { return Ok(()) };
        let news = latest.lock().unwrap_or_else(PoisonError::into_inner).take();
        news.map_or(Ok(()), |p| progress.call1(py, (Progress(p),)).map(std::mem::drop))
    };
    let (outcome, signal) = attend(py, &trap.stop, report, || quell_lab::run(&study, &options));
    if let Some(error) = trap.take() {
        return Err(error);
    }
    let results = outcome.map(Results::new).map_err(|e| errors::RunError::new_err(e.to_string()));
    match signal {
        Some(e) if e.is_instance_of::<PyKeyboardInterrupt>(py) => {
            Err(errors::interrupted(py, Bound::new(py, results?)?.into_any()))
        }
        Some(e) => Err(e),
        None => report(py).and(results),
    }
}

/// Check a scenario without running it.
///
/// Parameters
/// ----------
/// scenario : str, os.PathLike or dict
///     As for :func:`run`.
/// seeds : int or sequence of int, optional
///     As for :func:`run`.
/// aqms : dict of str to type, optional
///     As for :func:`run`; each is built once, to see whether it accepts its parameters.
/// overrides : dict of str to value, optional
///     As for :func:`run`.
/// sweep : dict of str to sequence or str, optional
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
///     Of each point of a sweep that is not valid, with the reason; it is left out.
///
/// Raises
/// ------
/// ScenarioError
///     If the scenario breaks a rule.
/// OSError
///     If the file cannot be read.
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
    let study = study(py, scenario, &Changes { seeds, overrides, sweep }, &plugins, &trap)?;
    for hole in &study.holes {
        let message = CString::new(format!("left out: {}: {}", hole.title(), hole.reason))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 1)?;
    }
    let list = PyList::empty(py);
    for point in &study.points {
        list.append(crate::results::resolved(py, &point.scenario.to_toml())?)?;
    }
    Ok(list)
}

/// What a call changes in a scenario.
#[derive(Default)]
pub struct Changes<'a, 'py> {
    pub seeds: Option<&'a Bound<'py, PyAny>>,
    pub overrides: Option<&'a Bound<'py, PyDict>>,
    pub sweep: Option<&'a Bound<'py, PyDict>>,
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
    let mut document = if let Ok(path) = scenario.extract::<PathBuf>() {
        // What the system says about a file is an OSError, as everywhere in Python.
        let look = std::fs::File::open(&path).and_then(|mut file| file.read(&mut [0]));
        look.map_err(|e| errors::io(&e, &path))?;
        quell_lab::read(&path).map_err(fail)?
    } else if let Ok(mapping) = scenario.cast::<PyMapping>() {
        Document::from_table(&value::to_table(mapping, "")?, "<dict>")
    } else {
        let kind = scenario.get_type().name()?;
        return Err(PyTypeError::new_err(format!("scenario must be a path or a dict, not '{kind}'")));
    };
    for (field, x) in changes.overrides.into_iter().flatten() {
        let field: String = field.extract()?;
        document.set(&field, &value::to_toml(&x, &field)?).map_err(fail)?;
    }
    for (field, values) in changes.sweep.into_iter().flatten() {
        let field: String = field.extract()?;
        document.sweep(&field, &value::to_toml(&values, &field)?).map_err(fail)?;
    }
    if let Some(seeds) = changes.seeds {
        document.set("seeds", &value::to_toml(seeds, "seeds")?).map_err(fail)?;
    }
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
