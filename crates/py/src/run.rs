//! Running scenarios.

use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeWarning};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quell_lab::{Aim, Auto, MAX_SEEDS, Options, Reuse, Surround, Tracing};
use quell_scenario::Study;
use quell_sim::Engine;

use crate::aqm::{Trap, plugins};
use crate::attend::attend;
use crate::errors;
use crate::options::{self, metric};
use crate::results::{Results, Traces};
use crate::scenario::{Changes, names, studies};

/// The progress of a run.
///
/// Examples
/// --------
/// >>> import quell
/// >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel"])
/// >>> seen = []
/// >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"}, progress=seen.append)
/// >>> all(step.total == 2 for step in seen)
/// True
#[pyclass(module = "quell", frozen, get_all)]
pub struct Progress {
    /// float: Share of the simulated time that is done, in [0, 1].
    done: f64,
    /// int: Finished replications.
    finished: usize,
    /// int: All replications.
    total: usize,
    /// float: Seconds since the beginning.
    elapsed_s: f64,
    /// float or None: Estimated seconds to the end; None until there is an estimate.
    left_s: Option<f64>,
}

impl From<quell_lab::Progress> for Progress {
    fn from(x: quell_lab::Progress) -> Self {
        Progress {
            done: x.done,
            finished: x.finished,
            total: x.total,
            elapsed_s: x.elapsed.as_secs_f64(),
            left_s: x.left.map(|d| d.as_secs_f64()),
        }
    }
}

#[pymethods]
impl Progress {
    fn __repr__(&self) -> String {
        format!("Progress(done={:.3}, finished={}, total={})", self.done, self.finished, self.total)
    }
}

/// Run a scenario: every algorithm with every seed, over all cores.
///
/// Python stays responsive while it runs: other threads continue, and Ctrl-C stops it cleanly.
///
/// Parameters
/// ----------
/// scenario : str, os.PathLike or dict, or list of these
///     A scenario file, or the same tree as dicts and lists. Quantities are strings with units ("10 Mbit/s", "100 ms",
///     "50 packets"), as in files. Paths of files that it names, such as traces of a link's rate, are relative to the
///     scenario file, or to the working directory for a dict. Several scenarios become one result; the settings of each
///     point then begin with ``scenario``, the name of the file.
/// seeds : int or sequence of int, or "auto", optional
///     How many seeds (1, 2, ...) or which, instead of the scenario's; "auto" runs as many for each algorithm and point
///     as ``precision`` needs.
/// precision : dict of str to str, float or None, optional
///     With ``seeds="auto"``, half the width at which a metric's 95% interval is narrow enough, by the metric's name
///     (as for :meth:`Results.table`): a share of the mean such as "1%", or a value in the metric's unit. With a
///     ``baseline``, differences smaller than this do not matter; None if every difference matters.
/// baseline : str, optional
///     With ``seeds="auto"``, the algorithm to compare the others with: seeds are added until each difference's
///     interval excludes 0 or is as narrow as requested. Each decision is wrong with a probability of at most 5%, for
///     normal differences.
/// max_seeds : int, default 50
///     With ``seeds="auto"``, the most seeds. ``results.info["sequential"]`` says how many each algorithm got, and why.
/// threads : int, optional
///     How many threads; by default one per core. The results do not depend on it.
/// aqms : dict of str to callable, optional
///     Algorithms written in Python (see :class:`Aqm`) by the name that the scenario gives as
///     ``algorithm``. Each is called with the :class:`Link` and, as keywords, the parameters beside its name;
///     a function that returns an object also works.
/// overrides : dict of str to value, optional
///     Fields to override in the scenario, by path: ``{"flows.ftp.count": 20}``. A value may be an expression of other
///     fields: ``{"aqm.red.max_th": "0.5 * dumbbell.buffer"}``. A field that the scenario sweeps no longer varies.
/// sweep : dict of str to value, optional
///     Fields to vary, by path: over a list or a range, ``{"flows.ftp.count": [10, 20], "aqm.red.max_p":
///     "0.02..0.2:log:5"}``, in every combination. It replaces the scenario's sweep of the same fields. The key
///     ``"linked"`` has a list of such dicts, whose fields change together. Points that are not valid are left out: see
///     :attr:`Results.holes`.
/// progress : callable of Progress, optional
///     Called with a :class:`Progress` a few times a second and once at the end, in this thread.
/// engine : {"fast", "reference"}, default "fast"
///     Which engine; both give the same sample path.
/// cache : bool, str or os.PathLike, optional
///     Where finished replications are kept and looked up before a run: a folder, True (the default) for your own cache
///     (``$QUELL_CACHE``, or ``quell`` in your cache folder), or False for none. Replications with algorithms written
///     in Python, or on the reference engine, are not kept.
/// fresh : bool, default False
///     Run every replication again, even if it is in the cache.
/// finished : bool, default False
///     Run nothing: use what the cache has, and mark the results partial unless it has everything.
/// verify : float, default 0.0
///     The share of cached replications to run again; one that differs raises RunError.
/// series : {"drawn", "all", "none"}, default "drawn"
///     Which replications keep their time series: those that a report can draw (the first seeds, at most ten per
///     algorithm and about a hundred in all), all, or none.
/// trace : str or sequence of str, optional
///     Traces of the first seed of each algorithm at each point, for :meth:`Results.trace`: "flows" (senders over
///     time), "packets" (each packet at the measured links), or both. These replications run even if they are in the
///     cache. A replication's trace is in memory until it ends; unlike `quell run --trace`, this function does not
///     refuse a trace that is too large.
/// trace_step : str, optional
///     The time between samples of a sender, such as "10 ms"; by default a sample after each change.
/// trace_flows : sequence of str or int, optional
///     The flows to trace, by group name or number; by default all.
/// trace_links : sequence of str, optional
///     The links whose packets to trace; by default all measured links.
///
/// Returns
/// -------
/// Results
///     The metrics of every replication.
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
#[pyo3(signature = (
    scenario, *, seeds=None, precision=None, baseline=None, max_seeds=MAX_SEEDS, threads=None, aqms=None,
    overrides=None, sweep=None, progress=None, engine="fast", cache=None, fresh=false, finished=false, verify=0.0,
    series="drawn", trace=None, trace_step=None, trace_flows=None, trace_links=None
))]
#[pyo3(
    text_signature = "(scenario, *, seeds=None, precision=None, baseline=None, max_seeds=50, threads=None, \
    aqms=None, overrides=None, sweep=None, progress=None, engine='fast', cache=None, fresh=False, finished=False, \
    verify=0.0, series='drawn', trace=None, trace_step=None, trace_flows=None, trace_links=None)"
)]
pub fn run(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    seeds: Option<&Bound<'_, PyAny>>,
    precision: Option<&Bound<'_, PyDict>>,
    baseline: Option<String>,
    max_seeds: usize,
    threads: Option<usize>,
    aqms: Option<&Bound<'_, PyDict>>,
    overrides: Option<&Bound<'_, PyDict>>,
    sweep: Option<&Bound<'_, PyDict>>,
    progress: Option<Py<PyAny>>,
    engine: &str,
    cache: Option<&Bound<'_, PyAny>>,
    fresh: bool,
    finished: bool,
    verify: f64,
    series: &str,
    trace: Option<&Bound<'_, PyAny>>,
    trace_step: Option<&str>,
    trace_flows: Option<Vec<Bound<'_, PyAny>>>,
    trace_links: Option<Vec<String>>,
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
    let is_auto = seeds.is_some_and(|s| s.extract::<String>().is_ok_and(|s| s == "auto"));
    let changes = Changes { seeds: seeds.filter(|_| !is_auto), overrides, sweep, unused: names(aqms)? };
    let study = studies(py, scenario, &changes, &plugins, &trap)?;
    changes.refuse_unused(&study)?;
    let auto = match is_auto {
        true => Some(auto(&study, precision, baseline, max_seeds)?),
        false if precision.is_some() || baseline.is_some() => {
            return Err(errors::argument("precision and baseline have an effect only with seeds = \"auto\""));
        }
        false => None,
    };
    let tracing = match trace {
        Some(_) if is_auto => {
            return Err(errors::argument("trace has no effect with seeds = \"auto\": give a number"));
        }
        Some(trace) => {
            let options = options::trace(trace, trace_step, trace_flows, trace_links)?;
            options.check(&study).map_err(|why| errors::argument(format!("trace: {why}")))?;
            let beside = std::env::temp_dir().join("traces");
            Some(Tracing::new(options, &beside).map_err(|e| PyOSError::new_err(e.to_string()))?)
        }
        None if trace_step.is_some() || trace_flows.is_some() || trace_links.is_some() => {
            return Err(errors::argument("trace_step, trace_flows and trace_links need trace"));
        }
        None => None,
    };
    let latest = Mutex::new(None);
    let note = |p: &quell_lab::Progress| *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(*p);
    if !(0.0..=1.0).contains(&verify) {
        return Err(errors::argument(format!("verify = {verify}: must be a share, from 0 to 1")));
    }
    // The plain engine is for checking the other: it computes.
    let cache = options::cache(cache)?.filter(|_| engine == Engine::Fast);
    let said = Mutex::new(Vec::new());
    let warn = |why: &str| said.lock().unwrap_or_else(PoisonError::into_inner).push(why.to_string());
    let options = Options {
        cache: cache.as_ref(),
        reuse: match (finished, fresh) {
            (true, _) => Reuse::Only,
            (_, true) => Reuse::No,
            _ => Reuse::Verify(verify),
        },
        series: options::series(series)?,
        warn: Some(&warn),
        threads,
        engine,
        plugins,
        surround: aqms.map(|_| surround()),
        progress: Some(&note),
        stop: Some(&trap.stop),
        trace: tracing.as_ref(),
        ..Options::default()
    };
    let report = |py: Python<'_>| -> PyResult<()> {
        let Some(progress) = &progress else { return Ok(()) };
        let news = latest.lock().unwrap_or_else(PoisonError::into_inner).take();
        news.map_or(Ok(()), |p| progress.call1(py, (Progress::from(p),)).map(std::mem::drop))
    };
    let (outcome, signal) = attend(py, &trap.stop, report, || match &auto {
        Some(auto) => quell_lab::run_auto(&study, auto, &options),
        None => quell_lab::run(&study, &options),
    });
    if let Some(error) = trap.take() {
        return Err(error);
    }
    drop(options);
    let traces = match tracing.map(Tracing::finish).transpose() {
        Ok(files) => files.map_or(Traces::None, Traces::Files),
        Err(error) => return Err(PyOSError::new_err(error.to_string())),
    };
    for why in said.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let category = py.get_type::<PyRuntimeWarning>();
        PyErr::warn(py, &category, &CString::new(errors::message(&why))?, 1)?;
    }
    let results = outcome
        .map(|results| Results::with(results, traces))
        .map_err(|e| errors::RunError::new_err(errors::message(&e.to_string())));
    match signal {
        Some(e) if e.is_instance_of::<PyKeyboardInterrupt>(py) => {
            Err(errors::interrupted(py, Bound::new(py, results?)?.into_any()))
        }
        Some(e) => Err(e),
        None => report(py).and(results),
    }
}

/// The surroundings of threads that call algorithms written in Python.
pub fn surround() -> Surround {
    // The interpreter makes a state for each thread that attaches to it and frees it when the thread
    // detaches for good, which costs more than a decision does. So threads stay known to it.
    Arc::new(|work: &(dyn Fn() + Sync)| Python::attach(|py| py.detach(work)))
}

/// The rule by which a run chooses the seeds itself.
fn auto(
    study: &Study,
    precision: Option<&Bound<'_, PyDict>>,
    baseline: Option<String>,
    max_seeds: usize,
) -> PyResult<Auto> {
    let aim = |(name, width): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let metric = metric(&name.extract::<String>()?)?;
        let width = match width.is_none() {
            true => None,
            // str() of a number reads as that number.
            false => Some(metric.read_width(&width.str()?.to_string()).map_err(errors::argument)?),
        };
        Ok(Aim { metric, width })
    };
    let aims = precision.into_iter().flatten().map(aim).collect::<PyResult<_>>()?;
    let auto = Auto { aims, baseline, link: None, scope: "all".to_string(), max_seeds };
    let wrong = |why| errors::argument(format!("seeds = \"auto\": {why}"));
    auto.check(study).map_err(wrong)?;
    Ok(auto)
}
