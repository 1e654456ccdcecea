//! Studies in pieces, to spread over processes and machines.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use quell_lab::{Key, Made, Options};
use quell_scenario::{Plugins, Setting};

use crate::aqm::Trap;
use crate::attend::attend;
use crate::errors;
use crate::options::{self, needed};
use crate::scenario::{Changes, study};

/// One replication of a study, with everything that another process or machine needs to make it: see :func:`tasks` and
/// :func:`make`. It can be pickled.
///
/// Parameters
/// ----------
/// key : str
///     Its key.
/// scenario : str
///     The scenario, as TOML.
/// settings : sequence of (str, str)
///     The fields that distinguish its point, with their values.
/// algorithm : str
///     The algorithm's label.
/// seed : int
///     The seed.
/// series : bool
///     Whether its time series are kept.
/// cost_packets : float
///     About how much work it is, in packets.
///
/// Examples
/// --------
/// >>> import quell
/// >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel"])
/// >>> task = quell.tasks(net, seeds=[7])[0]
/// >>> task.algorithm, task.seed
/// ('codel', 7)
#[pyclass(module = "quell", frozen)]
pub struct Task {
    task: quell_lab::Task,
    /// One object for all tasks that share it, so that pickle writes it once.
    scenario: Py<PyString>,
}

#[pymethods]
impl Task {
    /// Make a task from its parts; :func:`tasks` gives those of a study.
    #[new]
    #[pyo3(signature = (key, scenario, settings, algorithm, seed, series, cost_packets))]
    fn new(
        key: &str,
        scenario: Py<PyString>,
        settings: Vec<(String, String)>,
        algorithm: String,
        seed: u64,
        series: bool,
        cost_packets: f64,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let key = parse(key)?;
        let text: Arc<str> = scenario.bind(py).to_cow()?.as_ref().into();
        let settings = settings.into_iter().map(|(field, value)| Setting { field, value }).collect();
        let task =
            quell_lab::Task { key, scenario: text, settings, algorithm, seed, series, cost: cost_packets };
        Ok(Task { task, scenario })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let Task { task, scenario } = slf.get();
        let settings: Vec<_> = task.settings.iter().map(|s| (&s.field, &s.value)).collect();
        let parts =
            (task.key.to_string(), scenario, settings, &task.algorithm, task.seed, task.series, task.cost);
        Ok((slf.get_type().into_any(), parts.into_pyobject(slf.py())?))
    }

    /// str: What identifies it, here and on every other machine: 64 hexadecimal digits.
    #[getter]
    fn key(&self) -> String {
        self.task.key.to_string()
    }

    /// str: The scenario with every default and this algorithm alone, as TOML.
    #[getter]
    fn scenario(&self, py: Python<'_>) -> Py<PyString> {
        self.scenario.clone_ref(py)
    }

    /// dict of str to str: What distinguishes its point from the others of the study.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        self.task.settings.iter().try_for_each(|s| dict.set_item(&s.field, &s.value))?;
        Ok(dict)
    }

    /// str: The algorithm's label.
    #[getter]
    fn algorithm(&self) -> &str {
        &self.task.algorithm
    }

    /// int: The seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.task.seed
    }

    /// bool: Whether its time series are kept.
    #[getter]
    fn series(&self) -> bool {
        self.task.series
    }

    /// float: About how much work it is, in packets that its links can carry.
    #[getter]
    fn cost_packets(&self) -> f64 {
        self.task.cost
    }

    fn __repr__(&self) -> String {
        let task = &self.task;
        format!(
            "Task(algorithm={:?}, seed={}, key={:.12}...)",
            task.algorithm,
            task.seed,
            task.key.to_string()
        )
    }
}

fn parse(key: &str) -> PyResult<Key> {
    let rule = "must be 64 hexadecimal digits";
    Key::parse(key).ok_or_else(|| PyValueError::new_err(format!("key = {key:?}: {rule}")))
}

/// List the replications of a study as tasks, the longest first.
///
/// Parameters
/// ----------
/// scenario : str, os.PathLike or dict
///     As for :func:`run`.
/// seeds : int or sequence of int, optional
///     As for :func:`run`.
/// overrides : dict of str to value, optional
///     As for :func:`run`.
/// sweep : dict of str to value, optional
///     As for :func:`run`.
/// series : {"drawn", "all", "none"}, default "drawn"
///     As for :func:`run`.
/// missing : bool, default False
///     List only those that the cache does not have.
/// cache : bool, str or os.PathLike, optional
///     As for :func:`run`; used only with ``missing``.
///
/// Returns
/// -------
/// list of Task
///     What :func:`make` makes, in this process or another.
///
/// Raises
/// ------
/// ScenarioError
///     If the scenario breaks a rule.
/// ValueError
///     If an algorithm is not in the catalog, because nothing identifies it.
///
/// Examples
/// --------
/// >>> import quell
/// >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
/// >>> todo = quell.tasks(net, seeds=2)
/// >>> sorted((task.algorithm, task.seed) for task in todo)
/// [('codel', 1), ('codel', 2), ('pie', 1), ('pie', 2)]
#[pyfunction]
#[pyo3(signature = (
    scenario, *, seeds=None, overrides=None, sweep=None, series="drawn", missing=false, cache=None
))]
pub fn tasks(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    seeds: Option<&Bound<'_, PyAny>>,
    overrides: Option<&Bound<'_, PyDict>>,
    sweep: Option<&Bound<'_, PyDict>>,
    series: &str,
    missing: bool,
    cache: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Task>> {
    let changes = Changes { seeds, overrides, sweep, ..Changes::default() };
    let study = study(py, scenario, &changes, &Plugins::new(), &Trap::default())?;
    let options = Options { series: options::series(series)?, ..Options::default() };
    let cache = if missing { Some(needed(cache)?) } else { None };
    let tasks = py.detach(|| {
        let all = quell_lab::tasks(&study, &options)?;
        Ok(all.into_iter().filter(|task| cache.as_ref().is_none_or(|c| !task.is_in(c))).collect::<Vec<_>>())
    });
    let tasks = tasks.map_err(|why: String| errors::argument(why))?;
    let mut texts: std::collections::HashMap<Arc<str>, Py<PyString>> = std::collections::HashMap::new();
    let with_text = |task: quell_lab::Task| {
        let text = texts.entry(task.scenario.clone());
        let scenario = text.or_insert_with(|| PyString::new(py, &task.scenario).unbind()).clone_ref(py);
        Task { task, scenario }
    };
    Ok(tasks.into_iter().map(with_text).collect())
}

/// Make replications and put them into a cache, where :func:`run` finds them.
///
/// Only the cache records what was made, so a process that makes tasks may be killed at any time, and its tasks may be
/// given to another.
///
/// Parameters
/// ----------
/// tasks : sequence of Task
///     Which tasks.
/// cache : bool, str or os.PathLike, optional
///     The cache: a folder, or True for the user's.
/// threads : int, default 1
///     How many threads.
///
/// Returns
/// -------
/// dict of str to str
///     For each key "made", "found" (it was in the cache) or "failed: " and the reason.
///
/// Raises
/// ------
/// RunError
///     If no task could be started.
///
/// Examples
/// --------
/// >>> import quell, tempfile
/// >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel"])
/// >>> todo = quell.tasks(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
/// >>> with tempfile.TemporaryDirectory() as folder:
/// ...     sorted(quell.make(todo, cache=folder).values())
/// ['made', 'made']
#[pyfunction]
#[pyo3(signature = (tasks, *, cache=None, threads=1))]
pub fn make<'py>(
    py: Python<'py>,
    tasks: Vec<Py<Task>>,
    cache: Option<&Bound<'_, PyAny>>,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    if threads == 0 {
        return Err(errors::argument("threads = 0: must be at least 1".to_string()));
    }
    let cache = needed(cache)?;
    let tasks: Vec<quell_lab::Task> = tasks.iter().map(|task| task.get().task.clone()).collect();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let told = Mutex::new(Vec::new());
    let said = Mutex::new(String::new());
    let warn = |why: &str| *said.lock().unwrap_or_else(PoisonError::into_inner) = format!(" ({why})");
    let options = Options {
        cache: Some(&cache),
        threads: Some(threads),
        stop: Some(&stop),
        warn: Some(&warn),
        ..Options::default()
    };
    let made = |key: &Key, made: Made| {
        told.lock().unwrap_or_else(PoisonError::into_inner).push((key.to_string(), made));
    };
    let work = || quell_lab::make_tasks(&tasks, &options, &made);
    let (outcome, signal) = attend(py, &stop, |_| Ok(()), work);
    if let Some(signal) = signal {
        return Err(signal);
    }
    outcome.map_err(errors::RunError::new_err)?;
    let said = said.into_inner().unwrap_or_else(PoisonError::into_inner);
    let dict = PyDict::new(py);
    for (key, made) in told.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let what = match made {
            Made::Now => "made".to_string(),
            Made::Before => "found".to_string(),
            Made::Failed(why) => format!("failed: {why}{said}"),
        };
        dict.set_item(key, what)?;
    }
    Ok(dict)
}

/// Bring the index of a cache up to date.
///
/// Parameters
/// ----------
/// cache : bool, str or os.PathLike, optional
///     As for :func:`run`.
///
/// Returns
/// -------
/// (pathlib.Path, bool)
///     The pattern of its Parquet files, and whether it has any rows.
#[pyfunction]
#[pyo3(signature = (*, cache=None))]
pub fn index(py: Python<'_>, cache: Option<&Bound<'_, PyAny>>) -> PyResult<(PathBuf, bool)> {
    let cache = needed(cache)?;
    let found = py.detach(|| Ok((cache.index()?, !cache.indexed_keys()?.is_empty())));
    found.map_err(|e: quell_lab::StoreError| PyOSError::new_err(e.to_string()))
}

/// Say where a cache is.
///
/// Parameters
/// ----------
/// cache : bool, str or os.PathLike, optional
///     As for :func:`run`; by default the user's.
///
/// Returns
/// -------
/// pathlib.Path
///     Its folder, which need not exist, as an absolute path.
///
/// Examples
/// --------
/// >>> import quell
/// >>> quell.cache_dir("/tmp/runs").name
/// 'runs'
#[pyfunction]
#[pyo3(signature = (cache=None))]
pub fn cache_dir(cache: Option<&Bound<'_, PyAny>>) -> PyResult<PathBuf> {
    let dir = needed(cache)?.dir().to_path_buf();
    std::path::absolute(&dir)
        .map_err(|e| PyRuntimeError::new_err(format!("{}: {e}", quell_files::name(&dir))))
}
