//! The results of a run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, StringArray, UInt64Array};
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use quell_lab::{Estimate, Metric, Quantity, RunInfo, Table, TraceTable, View};
use quell_view::chart::{Chart, Choice, Diagram};
use quell_view::grid::Grid;
use quell_view::style::Style;

use crate::columns::{Columns, array, columns, of_table};
use crate::options::metric as metric_called;
use crate::{errors, value};

/// The results of a run, from :func:`run` or :func:`read`.
///
/// The tables ``metrics``, ``series``, ``internals``, ``flows``, ``transfers``, ``delays``,
/// ``throughput`` and ``replications`` are :class:`Columns`; each row names its replication by
/// ``point`` (from 0), ``algorithm`` and ``seed``.
///
/// Examples
/// --------
/// >>> import quell
/// >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
/// >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
/// >>> results.algorithms
/// ['codel', 'pie']
/// >>> frame = results.to_pandas()
/// >>> len(frame)
/// 12
#[pyclass(module = "quell", frozen)]
pub struct Results(quell_lab::Results, Traces);

/// The place of the traces that belong to results.
pub enum Traces {
    /// There are none, or they were not asked for.
    None,
    /// The folder that the results were read from.
    Folder(PathBuf),
    /// Files without names, by the names that they will have.
    Files(BTreeMap<String, quell_lab::Piece>),
}

impl Results {
    /// Results for Python.
    pub fn new(results: quell_lab::Results) -> Self {
        Results(results, Traces::None)
    }

    /// Results for Python, with traces.
    pub fn with(results: quell_lab::Results, traces: Traces) -> Self {
        Results(results, traces)
    }

    fn columns(&self, py: Python<'_>, table: Table) -> PyResult<Columns> {
        py.detach(|| of_table(&self.0.columns(table)))
    }

    fn named(&self, py: Python<'_>, name: &str) -> PyResult<Columns> {
        let Some(table) = Table::find(name) else {
            return Err(errors::unknown("table", name, Table::ALL.iter().map(|t| t.name())));
        };
        self.columns(py, table)
    }

    /// The view that arguments ask for, if there is anything to show.
    fn view(&self, point: usize, link: Option<String>, segment: Option<u32>, scope: &str) -> PyResult<View> {
        let Some(info) = self.0.run.points.get(point) else {
            let rule = format!(
                "point = {point}: the results have {} point(s), counted from 0",
                self.0.run.points.len()
            );
            return Err(errors::argument(rule));
        };
        if let Some(link) = link.as_ref().filter(|l| !info.links.contains(l)) {
            return Err(errors::argument(format!("link = \"{link}\": there are {}", info.links.join(", "))));
        }
        if let Some(segment) = segment.filter(|s| *s as usize >= info.segments.len()) {
            let rule = format!("segment = {segment}: there are {}, counted from 0", info.segments.len());
            return Err(errors::argument(rule));
        }
        let scopes = self.0.scopes(point);
        if !scopes.is_empty() && !scopes.iter().any(|s| s == scope) {
            return Err(errors::argument(format!("scope = \"{scope}\": there are {}", scopes.join(", "))));
        }
        Ok(View { point, link, segment, scope: scope.to_string() })
    }

    /// The metrics of views that arguments ask for, as one table.
    fn grid(
        &self,
        metrics: Option<Vec<String>>,
        point: Option<usize>,
        link: Option<String>,
        segment: Option<u32>,
        scope: &str,
    ) -> PyResult<Grid> {
        let points = point.map_or(0..self.0.run.points.len(), |point| point..point.saturating_add(1));
        let links = |point: usize| match link.as_deref() {
            Some("all") => {
                let all = self.0.run.points.get(point).map_or(&[][..], |p| &p.links);
                all.iter().cloned().map(Some).collect()
            }
            _ => vec![link.clone()],
        };
        let asked = points.flat_map(|point| links(point).into_iter().map(move |link| (point, link)));
        let (views, refused): (Vec<_>, Vec<_>) =
            asked.map(|(point, link)| self.view(point, link, segment, scope)).partition(PyResult::is_ok);
        let views: Vec<View> = views.into_iter().flatten().collect();
        // A point may lack what others have.
        if let (true, Some(Err(error))) = (views.is_empty(), refused.into_iter().next()) {
            return Err(error);
        }
        Ok(Grid::of(&self.0, &views, &self.chosen(metrics, scope)?))
    }

    /// The number of each of these points, and what distinguishes it.
    fn settings(&self, points: &[usize]) -> Vec<(&str, ArrayRef)> {
        let all = &self.0.run.points;
        let mut fields: Vec<&str> = Vec::new();
        all.iter().flat_map(|p| &p.settings).for_each(|s| {
            if !fields.contains(&s.field.as_str()) {
                fields.push(&s.field);
            }
        });
        let number = array(points.iter().map(|point| Some(*point as u64)).collect::<UInt64Array>());
        let value = |field: &str, point: usize| {
            all[point].settings.iter().find(|s| s.field == field).map(|s| s.value.as_str())
        };
        let column =
            |field: &&'_ str| points.iter().map(|point| value(field, *point)).collect::<StringArray>();
        let columns = fields.iter().map(|field| (*field, array(column(field)))).collect::<Vec<_>>();
        std::iter::once(("point", number)).chain(columns).collect()
    }

    /// Metrics by name; by default those that a scope has.
    fn chosen(&self, names: Option<Vec<String>>, scope: &str) -> PyResult<Vec<Quantity>> {
        let Some(names) = names else {
            return Ok(Metric::table_of(scope).iter().map(|m| Quantity::from(*m)).collect());
        };
        let find = |name: &String| {
            let wrong = |why: String| errors::argument(format!("metric \"{name}\": {why}"));
            let quantity: Quantity = name.parse().map_err(wrong)?;
            match self.0.lacks(&quantity) {
                Some(why) => Err(errors::argument(format!("metric {why}"))),
                None => Ok(quantity),
            }
        };
        names.iter().map(find).collect()
    }
}

#[pymethods]
impl Results {
    /// Columns: One row per replication, link, segment (null: the whole measured window) and scope ("all", "data", a
    /// class, "lane:…" or, for transfers by size, "size:0-10kB" and so on), with one column per metric; null if a
    /// metric does not apply.
    #[getter]
    fn metrics(&self, py: Python<'_>) -> PyResult<Columns> {
        self.columns(py, Table::Metrics)
    }

    /// Columns: Queue, delay, drops and marks over time: one row per replication, link and step.
    #[getter]
    fn series(&self, py: Python<'_>) -> PyResult<Columns> {
        self.columns(py, Table::Series)
    }

    /// Columns: The algorithms' internal signals over time: one row per replication, link, signal and
    /// step, with the signal's name and unit.
    #[getter]
    fn internals(&self, py: Python<'_>) -> PyResult<Columns> {
        self.columns(py, Table::Internals)
    }

    /// Columns: Throughput over time: one row per replication, link, class and step.
    #[getter]
    fn throughput(&self, py: Python<'_>) -> PyResult<Columns> {
        self.columns(py, Table::Throughput)
    }

    /// Columns: One row per replication and flow, over the measured window.
    #[getter]
    fn flows(&self, py: Python<'_>) -> PyResult<Columns> {
        self.columns(py, Table::Flows)
    }

    /// Columns: One row per replication and finished transfer: when it began, its completion time, size and slowdown,
    /// and when its sender knew that it was complete (null: not by the end of the run).
    #[getter]
    fn transfers(&self, py: Python<'_>) -> PyResult<Columns> {
        self.columns(py, Table::Transfers)
    }

    /// Columns: The distribution function of the queueing delay, per replication, link and scope.
    #[getter]
    fn delays(&self, py: Python<'_>) -> PyResult<Columns> {
        self.columns(py, Table::Delays)
    }

    /// Columns: Averages of the algorithms' internal signals: one row per replication, link, segment (null:
    /// the whole measured window) and signal, with its unit; the mean of the samples in :attr:`internals`.
    #[getter]
    fn internal_means(&self, py: Python<'_>) -> PyResult<Columns> {
        self.columns(py, Table::InternalMeans)
    }

    /// Columns: One row per replication: digest, events, time taken.
    #[getter]
    fn replications(&self, py: Python<'_>) -> PyResult<Columns> {
        self.columns(py, Table::Replications)
    }

    /// Read a trace of senders over time or of packets at links, as ``run(..., trace=...)`` and ``quell run --trace``
    /// keep it. docs/traces.md describes its columns.
    ///
    /// Parameters
    /// ----------
    /// name : {"flows", "packets"}
    ///     Which trace.
    ///
    /// Returns
    /// -------
    /// Columns
    ///     One row per sample of a sender, or per event of a packet.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If no trace has that name.
    /// OSError
    ///     If the results have no such trace, or it is damaged.
    ///
    /// Examples
    /// --------
    /// >>> import quell
    /// >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel"])
    /// >>> results = quell.run(net, seeds=1, overrides={"duration": "10 s", "warmup": "2 s"}, trace=["flows"])
    /// >>> "cwnd_packets" in results.trace("flows").column_names
    /// True
    #[pyo3(text_signature = "($self, name)")]
    fn trace(&self, py: Python<'_>, name: &str) -> PyResult<Columns> {
        let Some(table) = TraceTable::find(name) else {
            return Err(errors::unknown("trace", name, TraceTable::ALL.iter().map(|t| t.name())));
        };
        let none = || PyOSError::new_err(format!("there is no trace: run(..., trace=\"{name}\") keeps one"));
        let found = py.detach(|| match &self.1 {
            Traces::None => None,
            Traces::Folder(folder) => Some(quell_lab::read_trace(folder, table)),
            Traces::Files(files) => {
                files.get(&table.file()).map(|piece| quell_lab::read_trace_file(&piece.file, table))
            }
        });
        let found = found.ok_or_else(none)?.map_err(|e| PyOSError::new_err(e.to_string()))?;
        py.detach(|| of_table(&found))
    }

    /// str: The scenario's title.
    #[getter]
    fn title(&self) -> &str {
        &self.0.run.title
    }

    /// list of str: The labels of the algorithms, in the order of the scenario (of its first point).
    #[getter]
    fn algorithms(&self) -> Vec<String> {
        self.0.algorithms(0).to_vec()
    }

    /// bool: Whether the run was stopped before all replications were finished.
    #[getter]
    fn partial(&self) -> bool {
        self.0.run.partial
    }

    /// str: A hash over the digests of all replications.
    #[getter]
    fn digest(&self) -> &str {
        &self.0.run.digest
    }

    /// dict of (int, str, int) to str: For each replication, by point, algorithm and seed, 16 hexadecimal digits;
    /// equal digests mean equal sample paths.
    #[getter]
    fn digests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for r in &self.0.replications {
            dict.set_item((r.point, &r.algorithm, r.seed), format!("{:016x}", r.digest))?;
        }
        Ok(dict)
    }

    /// dict: The scenario with every default filled in (of the first point, if it sweeps).
    #[getter]
    fn scenario<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.0.run.points.first().map_or_else(|| Ok(PyDict::new(py)), |p| value::resolved(py, &p.scenario))
    }

    /// list of dict: The points of a sweep: ``title`` ("dumbbell.rate = 10 Mbit/s"), ``settings`` (a
    /// dict of fields and values), ``scenario`` (resolved), ``algorithms``, ``seeds``, ``links``,
    /// ``classes``, ``segments`` (pairs of seconds), and ``changes`` (of links and flows on the way:
    /// seconds, and what in words).
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for p in &self.0.run.points {
            let settings = PyDict::new(py);
            p.settings.iter().try_for_each(|s| settings.set_item(&s.field, &s.value))?;
            let dict = PyDict::new(py);
            dict.set_item("title", p.title())?;
            dict.set_item("settings", settings)?;
            dict.set_item("scenario", value::resolved(py, &p.scenario)?)?;
            dict.set_item("algorithms", &p.algorithms)?;
            dict.set_item("seeds", &p.seeds)?;
            dict.set_item("links", &p.links)?;
            dict.set_item("classes", &p.classes)?;
            dict.set_item("segments", &p.segments)?;
            let changes = quell_view::chart::events(p).into_iter().map(|e| (e.at_s, e.label));
            dict.set_item("changes", changes.collect::<Vec<_>>())?;
            list.append(dict)?;
        }
        Ok(list)
    }

    /// list of dict: The points of a sweep that are not valid and were not run: ``title``, ``settings``, and
    /// ``reason``.
    #[getter]
    fn holes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for hole in &self.0.run.holes {
            let settings = PyDict::new(py);
            hole.settings.iter().try_for_each(|s| settings.set_item(&s.field, &s.value))?;
            let dict = PyDict::new(py);
            dict.set_item("title", hole.title())?;
            dict.set_item("settings", settings)?;
            dict.set_item("reason", &hole.reason)?;
            list.append(dict)?;
        }
        Ok(list)
    }

    /// list of str: What a reader of the results should know: surprises in the scenarios (useless ECN, a key without
    /// effect) and in the results (no steady state, one sample path for all seeds).
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes()
    }

    /// str: The commit of the source that made it; "unknown" if that was not built from a repository.
    #[getter]
    fn commit(&self) -> &str {
        &self.0.run.commit
    }

    /// dict of str to str: The fingerprints of the engine that made it, by algorithm: results with equal fingerprints
    /// come from engines that compute the same.
    #[getter]
    fn engine<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        self.0.run.engine.iter().try_for_each(|(algorithm, print)| dict.set_item(algorithm, print))?;
        Ok(dict)
    }

    /// dict: What was run, how and when: the contents of ``run.json``.
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let run = RunInfo { notes: self.0.notes(), ..self.0.run.clone() };
        let json = serde_json::to_value(&run).map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
        value::from_json(py, &json)
    }

    /// Summarize each algorithm's metrics as means over the seeds with 95% intervals.
    ///
    /// Parameters
    /// ----------
    /// metrics : sequence of str, optional
    ///     Which metrics, by name or title (:func:`metric_list`); by default those of the standard table, or of
    ///     transfers if the scope is a size. ``name[class]`` is the metric of a class, whatever the scope;
    ///     ``internal:signal`` is the mean of an algorithm's internal signal; and ``a/b`` is the ratio of two metrics,
    ///     taken in each replication.
    /// point : int, optional
    ///     Which point of a sweep; by default all.
    /// link : str, optional
    ///     Which observed link; by default the first.
    /// segment : int, optional
    ///     Which segment; by default the whole measured window.
    /// scope : str, default "all"
    ///     "all", "data" (all but acknowledgments), a class, a lane ("lane:l") or the transfers of a size
    ///     ("size:0-10kB", "size:10-100kB", "size:100kB-1MB", "size:1MB-").
    ///
    /// Returns
    /// -------
    /// Columns
    ///     One row per algorithm and metric that applies: ``algorithm``, ``metric``, ``unit``, ``mean``, ``half_width``
    ///     (of the 95% interval, Student's t; null for a single seed), ``n`` (seeds). For all points of a sweep,
    ///     ``point`` comes first, and each field that varies, with its value as text.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the metric, point, link, segment or scope does not exist.
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
    /// >>> table = quell.run(scenario, seeds=2).table(["utilization", "queue_packets"])
    /// >>> table["algorithm"]
    /// ['drop-tail', 'drop-tail', 'red', 'red']
    /// >>> table.column_names
    /// ['algorithm', 'metric', 'unit', 'mean', 'half_width', 'n']
    #[pyo3(signature = (metrics=None, *, point=None, link=None, segment=None, scope="all"))]
    fn table(
        &self,
        metrics: Option<Vec<String>>,
        point: Option<usize>,
        link: Option<String>,
        segment: Option<u32>,
        scope: &str,
    ) -> PyResult<Columns> {
        let points = point.map_or(0..self.0.run.points.len(), |point| point..point.saturating_add(1));
        let (views, refused): (Vec<_>, Vec<_>) =
            points.map(|point| self.view(point, link.clone(), segment, scope)).partition(PyResult::is_ok);
        let views: Vec<View> = views.into_iter().flatten().collect();
        // A point may lack what others have.
        if let (true, Some(Err(error))) = (views.is_empty(), refused.into_iter().next()) {
            return Err(error);
        }
        let metrics = self.chosen(metrics, scope)?;
        let row = |view: &View, a: &String, m: &Quantity| {
            Some((view.point, a.clone(), m.clone(), self.0.estimate(view, a, m)?))
        };
        let mut rows = Vec::new();
        for view in &views {
            for algorithm in self.0.algorithms(view.point) {
                rows.extend(metrics.iter().filter_map(|m| row(view, algorithm, m)));
            }
        }
        let points: Vec<usize> = rows.iter().map(|r| r.0).collect();
        let settings = match point.is_none() && self.0.run.points.len() > 1 {
            true => self.settings(&points),
            false => Vec::new(),
        };
        columns(settings.into_iter().chain([
            ("algorithm", array(StringArray::from_iter_values(rows.iter().map(|r| r.1.as_str())))),
            ("metric", array(StringArray::from_iter_values(rows.iter().map(|r| r.2.to_string())))),
            ("unit", array(StringArray::from_iter_values(rows.iter().map(|r| self.0.unit(&r.2))))),
            ("mean", means(rows.iter().map(|r| &r.3))),
            ("half_width", half_widths(rows.iter().map(|r| &r.3))),
            ("n", counts(rows.iter().map(|r| &r.3))),
        ]))
    }

    /// Format metrics as CSV: one row per algorithm and point, with interval bounds and the number of seeds.
    ///
    /// Parameters
    /// ----------
    /// metrics : sequence of str, optional
    ///     As in :meth:`table`.
    /// point : int, optional
    ///     As in :meth:`table`.
    /// link : str, optional
    ///     Which observed link, or "all" for each; by default the first.
    /// segment : int, optional
    ///     As in :meth:`table`.
    /// scope : str, default "all"
    ///     As in :meth:`table`.
    ///
    /// Returns
    /// -------
    /// str
    ///     CSV (RFC 4180), with every number in the unit of its column's name.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the metric, point, link, segment or scope does not exist.
    ///
    /// Examples
    /// --------
    /// >>> import quell
    /// >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    /// >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    /// >>> print(results.to_csv(["utilization"]).splitlines()[0])
    /// link,class,algorithm,seeds,utilization,utilization low,utilization high
    #[pyo3(signature = (metrics=None, *, point=None, link=None, segment=None, scope="all"))]
    fn to_csv(
        &self,
        metrics: Option<Vec<String>>,
        point: Option<usize>,
        link: Option<String>,
        segment: Option<u32>,
        scope: &str,
    ) -> PyResult<String> {
        Ok(self.grid(metrics, point, link, segment, scope)?.csv())
    }

    /// Format metrics as a Markdown table, with units that fit and the digits that the intervals support.
    ///
    /// Parameters
    /// ----------
    /// metrics : sequence of str, optional
    ///     As in :meth:`table`.
    /// point : int, optional
    ///     As in :meth:`table`.
    /// link : str, optional
    ///     Which observed link, or "all" for each; by default the first.
    /// segment : int, optional
    ///     As in :meth:`table`.
    /// scope : str, default "all"
    ///     As in :meth:`table`.
    ///
    /// Returns
    /// -------
    /// str
    ///     The table, followed by a note on the intervals.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the metric, point, link, segment or scope does not exist.
    ///
    /// Examples
    /// --------
    /// >>> import quell
    /// >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    /// >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    /// >>> print(results.to_markdown(["queue_delay_mean_s"]).splitlines()[0])
    /// | algorithm | mean delay (ms) |
    #[pyo3(signature = (metrics=None, *, point=None, link=None, segment=None, scope="all"))]
    fn to_markdown(
        &self,
        metrics: Option<Vec<String>>,
        point: Option<usize>,
        link: Option<String>,
        segment: Option<u32>,
        scope: &str,
    ) -> PyResult<String> {
        Ok(self.grid(metrics, point, link, segment, scope)?.markdown())
    }

    /// Format metrics as a LaTeX ``tabular`` with the rules of the package booktabs.
    ///
    /// Parameters
    /// ----------
    /// metrics : sequence of str, optional
    ///     As in :meth:`table`.
    /// point : int, optional
    ///     As in :meth:`table`.
    /// link : str, optional
    ///     Which observed link, or "all" for each; by default the first.
    /// segment : int, optional
    ///     As in :meth:`table`.
    /// scope : str, default "all"
    ///     As in :meth:`table`.
    ///
    /// Returns
    /// -------
    /// str
    ///     The table, after comments that say what the intervals are and what made it.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the metric, point, link, segment or scope does not exist.
    ///
    /// Examples
    /// --------
    /// >>> import quell
    /// >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    /// >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    /// >>> "begin{tabular}" in results.to_latex(["utilization"])
    /// True
    #[pyo3(signature = (metrics=None, *, point=None, link=None, segment=None, scope="all"))]
    fn to_latex(
        &self,
        metrics: Option<Vec<String>>,
        point: Option<usize>,
        link: Option<String>,
        segment: Option<u32>,
        scope: &str,
    ) -> PyResult<String> {
        Ok(self.grid(metrics, point, link, segment, scope)?.latex())
    }

    /// dict of str to dict: The look of each algorithm, the same in every plot and in the report: ``color``, ``dark``
    /// (its color on a dark background), ``dashes`` (lengths of dashes and gaps in pixels; empty: solid) and ``mark``.
    #[getter]
    fn styles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (label, number) in quell_view::style::of_results(&self.0) {
            all.set_item(label, style(py, number)?)?;
        }
        Ok(all)
    }

    /// Compare the algorithms with one of them, paired by seed (common random numbers).
    ///
    /// Parameters
    /// ----------
    /// baseline : str
    ///     The label of the algorithm to compare with.
    /// metrics : sequence of str, optional
    ///     As in :meth:`table`.
    /// point : int, default 0
    ///     As in :meth:`table`.
    /// link : str, optional
    ///     As in :meth:`table`.
    /// segment : int, optional
    ///     As in :meth:`table`.
    /// scope : str, default "all"
    ///     As in :meth:`table`.
    ///
    /// Returns
    /// -------
    /// Columns
    ///     One row per other algorithm and metric: ``algorithm``, ``metric``, ``unit``, ``difference`` (algorithm minus
    ///     baseline, mean over the seeds both have), ``half_width`` (of its 95% interval; null for a single seed),
    ///     ``n`` (pairs), ``significant`` (whether the interval excludes zero).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the algorithm, metric, point, link, segment or scope does not exist.
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
    /// >>> row = results.compare("drop-tail", ["queue_packets"])
    /// >>> row["algorithm"], row["difference"][0] < 0
    /// (['red'], True)
    #[pyo3(signature = (baseline, metrics=None, *, point=0, link=None, segment=None, scope="all"))]
    fn compare(
        &self,
        baseline: &str,
        metrics: Option<Vec<String>>,
        point: usize,
        link: Option<String>,
        segment: Option<u32>,
        scope: &str,
    ) -> PyResult<Columns> {
        let view = self.view(point, link, segment, scope)?;
        let algorithms = self.0.algorithms(point);
        if !algorithms.iter().any(|a| a == baseline) {
            return Err(errors::argument(format!(
                "baseline = \"{baseline}\": there are {}",
                algorithms.join(", ")
            )));
        }
        let rows = self.0.compare(&view, baseline, &self.chosen(metrics, scope)?);
        columns([
            ("algorithm", array(StringArray::from_iter_values(rows.iter().map(|d| d.algorithm.as_str())))),
            ("metric", array(StringArray::from_iter_values(rows.iter().map(|d| d.metric.to_string())))),
            ("unit", array(StringArray::from_iter_values(rows.iter().map(|d| self.0.unit(&d.metric))))),
            ("difference", means(rows.iter().map(|d| &d.difference))),
            ("half_width", half_widths(rows.iter().map(|d| &d.difference))),
            ("n", counts(rows.iter().map(|d| &d.difference))),
            (
                "significant",
                array(rows.iter().map(|d| Some(d.difference.excludes_zero())).collect::<BooleanArray>()),
            ),
        ])
    }

    /// Convert a table to a pandas DataFrame.
    ///
    /// Parameters
    /// ----------
    /// name : str, default "metrics"
    ///     Which table: "metrics", "series", "internals", "internal_means", "throughput", "flows",
    ///     "transfers", "delays" or "replications".
    ///
    /// Returns
    /// -------
    /// pandas.DataFrame
    ///     Its columns.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the table does not exist.
    /// ModuleNotFoundError
    ///     If pandas or pyarrow is not installed; ``pip install "quell[pandas]"`` installs both.
    ///
    /// Examples
    /// --------
    /// >>> import quell
    /// >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    /// >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    /// >>> frame = results.to_pandas("series")
    /// >>> "queue_packets" in frame.columns
    /// True
    #[pyo3(signature = (name="metrics"))]
    fn to_pandas<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        Bound::new(py, self.named(py, name)?)?.call_method0("to_pandas")
    }

    /// Convert a table to a polars DataFrame.
    ///
    /// Parameters
    /// ----------
    /// name : str, default "metrics"
    ///     Which table, as in :meth:`to_pandas`.
    ///
    /// Returns
    /// -------
    /// polars.DataFrame
    ///     Its columns.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the table does not exist.
    /// ModuleNotFoundError
    ///     If polars is not installed; ``pip install "quell[polars]"`` installs it.
    ///
    /// Examples
    /// --------
    /// >>> import quell
    /// >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    /// >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    /// >>> frame = results.to_polars()
    /// >>> frame["algorithm"].unique().sort().to_list()
    /// ['codel', 'pie']
    #[pyo3(signature = (name="metrics"))]
    fn to_polars<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        Bound::new(py, self.named(py, name)?)?.call_method0("to_polars")
    }

    /// Write everything to a folder, whole or not at all: ``run.json`` and Parquet files.
    ///
    /// Parameters
    /// ----------
    /// folder : str or os.PathLike
    ///     The folder.
    /// overwrite : bool, default False
    ///     Whether to replace an earlier result there.
    ///
    /// Raises
    /// ------
    /// OSError
    ///     If the folder cannot be written, or something is in the way.
    ///
    /// Examples
    /// --------
    /// >>> import quell
    /// >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    /// >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    /// >>> import tempfile
    /// >>> with tempfile.TemporaryDirectory() as folder:
    /// ...     results.save(folder + "/study")
    /// ...     quell.read(folder + "/study").digest == results.digest
    /// True
    #[pyo3(signature = (folder, *, overwrite=false))]
    fn save(&self, py: Python<'_>, folder: PathBuf, overwrite: bool) -> PyResult<()> {
        let files = match &self.1 {
            Traces::Files(files) => files.clone(),
            Traces::None | Traces::Folder(_) => BTreeMap::new(),
        };
        py.detach(|| quell_lab::write_results_with(&self.0, files, &folder, overwrite))
            .map_err(|e| PyOSError::new_err(e.to_string()))
    }

    /// Write the report: one HTML file that opens offline.
    ///
    /// Parameters
    /// ----------
    /// path : str or os.PathLike
    ///     The file; an existing one is replaced.
    ///
    /// Raises
    /// ------
    /// OSError
    ///     If the file cannot be written.
    ///
    /// Examples
    /// --------
    /// >>> import quell
    /// >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    /// >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    /// >>> import pathlib, tempfile
    /// >>> with tempfile.TemporaryDirectory() as folder:
    /// ...     results.report(folder + "/report.html")
    /// ...     [path.name for path in pathlib.Path(folder).iterdir()]
    /// ['report.html']
    fn report(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| std::fs::write(&path, quell_view::report::html(&self.0)))
            .map_err(|e| errors::io(&e, &path))
    }

    /// The numbers of a figure, for :mod:`quell.plot`.
    #[pyo3(signature = (diagram, *, point=0, link=None, seed=None, algorithms=None, scope="all", metric="utilization",
                        over=None, by=None))]
    fn _chart<'py>(
        &self,
        py: Python<'py>,
        diagram: &str,
        point: usize,
        link: Option<String>,
        seed: Option<u64>,
        algorithms: Option<Vec<String>>,
        scope: &str,
        metric: &str,
        over: Option<&str>,
        by: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let view = self.view(point, link, None, scope)?;
        let diagram = Diagram::find(diagram)
            .ok_or_else(|| errors::argument(format!("no figure is called \"{diagram}\"")))?;
        let metric = metric_called(metric)?;
        let choice = Choice {
            point,
            link: view.link.as_deref(),
            seed,
            algorithms: algorithms.as_deref(),
            scope,
            metric: Some(&metric),
            over,
            by,
            ..Choice::default()
        };
        let chart = Chart::of(&self.0, diagram, &choice).map_err(errors::argument)?;
        let mut json = serde_json::to_value(&chart).map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
        // Python draws with styles, not with their numbers.
        for curve in json["panels"]
            .as_array_mut()
            .into_iter()
            .flatten()
            .filter_map(|p| p["curves"].as_array_mut())
            .flatten()
        {
            let number = curve["style"].as_u64().unwrap_or(0) as usize;
            curve["style"] = serde_json::to_value(Style::number(number))
                .map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
        }
        value::from_json(py, &json)
    }

    /// Plots: The figures of the report, drawn with matplotlib: ``results.plot.queue()`` is
    /// ``quell.plot.queue(results)``.
    #[getter]
    fn plot<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("quell")?.getattr("plot")?.getattr("Plots")?.call1((slf,))
    }

    /// Show the main table in a notebook.
    fn _repr_html_(&self) -> String {
        quell_view::report::summary(&self.0)
    }

    fn __repr__(&self) -> String {
        let run = &self.0.run;
        let (title, partial) = (&run.title, if run.partial { ", partial" } else { "" });
        let n = self.0.replications.len();
        format!("Results({title:?}, {n} replications of {}{partial})", self.0.algorithms(0).join(", "))
    }
}

/// Read results that were saved to a folder, here or by the command ``quell run``.
///
/// Parameters
/// ----------
/// folder : str or os.PathLike
///     The folder.
///
/// Returns
/// -------
/// Results
///     What was saved.
///
/// Raises
/// ------
/// OSError
///     If the folder is not a result, or is incomplete or damaged; FileNotFoundError if there is none.
///
/// Examples
/// --------
/// >>> import quell
/// >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
/// >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
/// >>> import tempfile
/// >>> with tempfile.TemporaryDirectory() as folder:
/// ...     results.save(folder + "/study")
/// ...     quell.read(folder + "/study").algorithms
/// ['codel', 'pie']
#[pyfunction]
pub fn read(py: Python<'_>, folder: PathBuf) -> PyResult<Results> {
    if !folder.exists() {
        return Err(PyFileNotFoundError::new_err(format!("{}: no such folder", quell_files::name(&folder))));
    }
    let results = py.detach(|| quell_lab::read_results(&folder));
    results.map(|r| Results(r, Traces::Folder(folder))).map_err(|e| PyOSError::new_err(e.to_string()))
}

/// The style with a number.
fn style(py: Python<'_>, number: usize) -> PyResult<Bound<'_, PyAny>> {
    let json =
        serde_json::to_value(Style::number(number)).map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
    value::from_json(py, &json)
}

fn means<'a>(rows: impl Iterator<Item = &'a Estimate>) -> arrow_array::ArrayRef {
    array(rows.map(|e| Some(e.mean)).collect::<Float64Array>())
}

fn half_widths<'a>(rows: impl Iterator<Item = &'a Estimate>) -> arrow_array::ArrayRef {
    array(rows.map(|e| e.half_width).collect::<Float64Array>())
}

fn counts<'a>(rows: impl Iterator<Item = &'a Estimate>) -> arrow_array::ArrayRef {
    array(rows.map(|e| e.n as u64).map(Some).collect::<UInt64Array>())
}
