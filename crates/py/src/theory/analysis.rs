//! The theory's verdicts on a scenario, and parameters from published rules.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use quell_analysis::shorthand::{Shorthand, changed, holds_targets};
use quell_analysis::{Assessment, Bottleneck as Seen, Figures};
use quell_aqm::catalog::AqmConfig;
use quell_scenario::{Plugins, Setting};
use quell_theory::rules::design::{self as rules, DESIGNED, Target};
use quell_theory::rules::reach::{self, Beyond, Quantity};
use quell_theory::{Congestion, FluidNetwork, Signal, TheoryError};
use quell_units::{Bytes, QueueSize, Time};

use super::arrays::Numbers;
use super::criteria::Criterion;
use super::linear::{Loop, Margins, Mode};
use super::words;
use crate::aqm::Trap;
use crate::attend::interruptible;
use crate::errors::Answer;
use crate::value::{self, Dict};
use crate::{errors, scenario};

/// The equilibrium of a network and an algorithm.
///
/// Examples
/// --------
/// >>> from quell.theory import analyze, dumbbell
/// >>> [link] = analyze(dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"]))
/// >>> round(link["pi"].equilibrium.queue_packets)
/// 50
#[pyclass(module = "quell.theory", frozen, get_all)]
#[derive(Clone, Debug)]
pub struct Equilibrium {
    /// float: The queue.
    queue_packets: f64,
    /// float: The time that the queue takes to drain.
    queue_delay_s: f64,
    /// float: The probability of a signal.
    probability: f64,
    /// float: A flow's window.
    window_packets: f64,
    /// float: The round-trip time, queueing included, as a mean over flows.
    rtt_s: f64,
    /// dict of str to float: The algorithm's own variables.
    state: Dict<f64>,
}

impl From<Figures> for Equilibrium {
    fn from(x: Figures) -> Self {
        Equilibrium {
            queue_packets: x.queue_packets,
            queue_delay_s: x.queue_delay_s,
            probability: x.probability,
            window_packets: x.window_packets,
            rtt_s: x.rtt_s,
            state: Dict(x.state.into_iter().map(|(name, _, value)| (name.to_string(), value)).collect()),
        }
    }
}

#[pymethods]
impl Equilibrium {
    fn __repr__(&self) -> String {
        format!(
            "Equilibrium(queue_packets={:.2}, probability={:.4}, window_packets={:.2}, rtt_s={:.4})",
            self.queue_packets, self.probability, self.window_packets, self.rtt_s
        )
    }
}

/// The range in which a quantity may move, alone, before the verdict changes.
///
/// Examples
/// --------
/// >>> from quell.theory import analyze, dumbbell
/// >>> [link] = analyze(dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"]))
/// >>> [reach.quantity for reach in link["pi"].reach]
/// ['flows', 'capacity', 'rtt']
#[pyclass(module = "quell.theory", frozen, get_all)]
#[derive(Clone, Debug)]
pub struct Reach {
    /// {"flows", "capacity", "rtt"}: The quantity that moves; capacity is in packets/s, rtt in seconds.
    quantity: &'static str,
    /// float: Its current value.
    now: f64,
    /// float or None: The smallest value with this verdict; None if the verdict does not change down to a
    /// thousandth.
    low: Option<f64>,
    /// float or None: The largest value with this verdict; None if the verdict does not change up to a
    /// thousandfold.
    high: Option<f64>,
    /// str or None: The verdict below: "stable", "unstable" or why there is no equilibrium.
    beyond_low: Option<String>,
    /// str or None: The verdict above: "stable", "unstable" or why there is no equilibrium.
    beyond_high: Option<String>,
}

impl From<reach::Reach> for Reach {
    fn from(x: reach::Reach) -> Self {
        let (low, beyond_low) = x.below.map(|e| (e.at, word(e.beyond))).unzip();
        let (high, beyond_high) = x.above.map(|e| (e.at, word(e.beyond))).unzip();
        Reach {
            quantity: match x.quantity {
                Quantity::Flows => "flows",
                Quantity::Capacity => "capacity",
                Quantity::Rtt => "rtt",
            },
            now: x.now,
            low,
            high,
            beyond_low,
            beyond_high,
        }
    }
}

#[pymethods]
impl Reach {
    fn __repr__(&self) -> String {
        let end = |x: Option<f64>| x.map_or("None".into(), |x| format!("{x:.4}"));
        let [low, high] = [self.low, self.high].map(end);
        format!("Reach({:?}, low={low}, now={:.4}, high={high})", self.quantity, self.now)
    }
}

fn word(verdict: Beyond) -> String {
    match verdict {
        Beyond::Stable => "stable".into(),
        Beyond::Unstable => "unstable".into(),
        Beyond::NoEquilibrium(reason) => reason,
    }
}

/// The theory's verdict on one algorithm at a bottleneck.
///
/// Examples
/// --------
/// >>> from quell.theory import analyze, dumbbell
/// >>> [link] = analyze(dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"]))
/// >>> link["pi"].verdict
/// 'stable'
#[pyclass(module = "quell.theory", frozen, get_all)]
#[derive(Clone, Debug)]
pub struct Analysis {
    /// str: The algorithm's label in the scenario.
    label: String,
    /// str: Its name in the catalog.
    algorithm: &'static str,
    /// {"stable", "unstable", "no equilibrium", "no model"}: The verdict of the linear model.
    verdict: &'static str,
    /// list of str: Why, and what to make of it, in sentences.
    reasons: Vec<String>,
    /// Equilibrium or None: The equilibrium.
    equilibrium: Option<Equilibrium>,
    /// int or None: Roots to the right of the imaginary axis; 0 is stable.
    unstable_roots: Option<usize>,
    /// list of Criterion: The published conditions that apply to it.
    criteria: Vec<Criterion>,
    /// list of Reach: How far N, C and R may each move before the verdict changes, if requested.
    reach: Vec<Reach>,
    /// Loop or None: The loop, for everything else.
    #[pyo3(name = "loop")]
    control: Option<Loop>,
}

impl From<Assessment> for Analysis {
    fn from(x: Assessment) -> Self {
        Analysis {
            label: x.label,
            algorithm: x.algorithm,
            verdict: x.verdict.word(),
            reasons: x.reasons,
            equilibrium: x.equilibrium.map(Equilibrium::from),
            unstable_roots: x.margins.map(|m| m.unstable_roots),
            criteria: x.criteria.into_iter().map(Criterion::from).collect(),
            reach: x.reach.into_iter().map(Reach::from).collect(),
            control: x.control.map(Loop),
        }
    }
}

#[pymethods]
impl Analysis {
    /// Margins or None: How far it is from the limit of stability.
    #[getter]
    fn margins(&self, py: Python<'_>) -> Answer<Option<Margins>> {
        let margins = py.detach(|| self.control.as_ref().map(|l| l.0.margins()).transpose());
        Ok(margins?.map(Margins::from))
    }

    /// Mode or None: The slowest mode, or the fastest to grow.
    #[getter]
    fn mode(&self, py: Python<'_>) -> Answer<Option<Mode>> {
        let mode = py.detach(|| self.control.as_ref().map(|l| l.0.mode()).transpose());
        Ok(mode?.map(Mode::from))
    }

    fn __repr__(&self) -> String {
        format!("Analysis({:?}, {:?})", self.label, self.verdict)
    }
}

/// A link, the flows that fill it, and what the theory says about each algorithm there.
///
/// Examples
/// --------
/// >>> from quell.theory import analyze, dumbbell
/// >>> [link] = analyze(dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"]))
/// >>> link.capacity_pps
/// 1250.0
#[pyclass(module = "quell.theory", frozen, get_all)]
#[derive(Clone, Debug)]
pub struct Bottleneck {
    /// dict of str to str: The fields that a sweep set, and their values.
    settings: Dict<String>,
    /// str: The link's name.
    link: String,
    /// numpy.ndarray: N of each class of flows with one round-trip time.
    flows: Numbers<f64>,
    /// numpy.ndarray: The round-trip time of each class without queueing, in seconds.
    propagation_s: Numbers<f64>,
    /// float: C in packets of mean size per second.
    capacity_pps: f64,
    /// float: The buffer.
    buffer_packets: f64,
    /// {"mark", "drop"}: How a signal reaches the senders.
    signal: &'static str,
    /// {"reno", "cubic", "dctcp", "prague"}: The flows' congestion control.
    congestion: &'static str,
    /// list of str: What the models leave out of the scenario, in words.
    left_out: Vec<String>,
    /// dict of str to Analysis: The analysis of each algorithm, by label.
    analyses: Dict<Analysis>,
}

#[pymethods]
impl Bottleneck {
    fn __getitem__(&self, label: &str) -> PyResult<Analysis> {
        let found = self.analyses.0.iter().find(|(name, _)| name == label);
        found.map(|(_, analysis)| analysis.clone()).ok_or_else(|| PyKeyError::new_err(self.unknown(label)))
    }

    fn __repr__(&self) -> String {
        let all: Vec<String> =
            self.analyses.0.iter().map(|(label, a)| format!("{label}: {}", a.verdict)).collect();
        format!("Bottleneck({:?}, {})", self.link, all.join(", "))
    }
}

impl Bottleneck {
    fn of(bottleneck: Seen, settings: Vec<Setting>, analyses: Vec<(String, Analysis)>) -> Self {
        let FluidNetwork { classes, capacity, buffer, signal, congestion, .. } = bottleneck.network;
        Bottleneck {
            settings: settings.into(),
            link: bottleneck.name,
            flows: classes.iter().map(|c| c.flows).collect(),
            propagation_s: classes.iter().map(|c| c.propagation).collect(),
            capacity_pps: capacity,
            buffer_packets: buffer,
            signal: match signal {
                Signal::Mark => "mark",
                Signal::Drop => "drop",
            },
            congestion: congestion.name(),
            left_out: bottleneck.left_out,
            analyses: Dict(analyses),
        }
    }

    fn unknown(&self, label: &str) -> String {
        let all: Vec<&str> = self.analyses.0.iter().map(|(label, _)| label.as_str()).collect();
        format!("no algorithm is labeled \"{label}\" (there are {})", all.join(", "))
    }
}

/// The bottleneck of each point of a scenario.
#[allow(clippy::type_complexity)]
pub fn bottlenecks(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    algorithms: Option<&[String]>,
    link: Option<&str>,
    at: Option<&Bound<'_, PyAny>>,
    overrides: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<(Vec<Setting>, Seen)>> {
    let trap = Arc::new(Trap::default());
    let changes = scenario::Changes { overrides, ..scenario::Changes::default() };
    let study = scenario::study(py, scenario, &changes, &Plugins::new(), &trap)?;
    let at = at.map(|at| words::time("at", at)).transpose()?.map(|at| Time::ZERO + at);
    let mut all = Vec::new();
    for point in &study.points {
        let seed = point.scenario.seeds.list().first().copied().unwrap_or(1);
        let seen = Seen::of_point(point, link, at, seed, &Plugins::new());
        let mut bottleneck = seen.map_err(|e| errors::scenario(py, &e))?;
        if let Some(labels) = algorithms {
            let known: Vec<String> = bottleneck.algorithms.iter().map(|(l, _)| l.clone()).collect();
            if let Some(label) = labels.iter().find(|l| !known.contains(l)) {
                let known = known.join(", ");
                return Err(errors::argument(format!(
                    "no algorithm is labeled \"{label}\" (there are {known})"
                )));
            }
            bottleneck.algorithms.retain(|(label, _)| labels.contains(label));
        }
        all.push((point.settings.clone(), bottleneck));
    }
    Ok(all)
}

/// The bottleneck of a scenario without a sweep, with one algorithm.
pub fn one(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    algorithm: Option<String>,
    link: Option<&str>,
    at: Option<&Bound<'_, PyAny>>,
    overrides: Option<&Bound<'_, PyDict>>,
) -> PyResult<Seen> {
    let labels = algorithm.map(|a| vec![a]);
    let mut seen = bottlenecks(py, scenario, labels.as_deref(), link, at, overrides)?;
    let (Some((_, bottleneck)), 0) = (seen.pop(), seen.len()) else {
        return Err(errors::argument("this is about one network: set the fields that the scenario sweeps"));
    };
    if bottleneck.algorithms.len() != 1 {
        let labels: Vec<&str> = bottleneck.algorithms.iter().map(|(l, _)| l.as_str()).collect();
        let labels = labels.join(", ");
        return Err(errors::argument(format!("this is about one algorithm: choose one of {labels}")));
    }
    Ok(bottleneck)
}

/// Ask the theory about a scenario: each algorithm's equilibrium, and whether it is stable.
///
/// The model is TCP in congestion avoidance and a fluid queue, linearized at its equilibrium, with the exact
/// delay. It includes only long-lived flows; ``left_out`` names what is omitted.
///
/// Parameters
/// ----------
/// scenario : str, os.PathLike or dict
///     As for :func:`quell.run`; :func:`dumbbell` makes one from a few quantities.
/// algorithms : sequence of str, optional
///     Which algorithms, by label; by default all.
/// link : str, optional
///     Which link; by default the first that is measured.
/// at : str or float, optional
///     The time at which flows, rates and delays are taken ("60 s", or seconds); by default the end of the
///     warm-up.
/// plant : {"exact", "simplified"}, default "exact"
///     How much of the flows' delay the model keeps; as for :class:`Loop`.
/// reach : bool, optional
///     Whether to find how far N, C and R may move; by default for scenarios without a sweep.
/// overrides : dict of str to value, optional
///     As for :func:`quell.run`.
///
/// Returns
/// -------
/// list of Bottleneck
///     One for each point of a sweep.
///
/// Raises
/// ------
/// ScenarioError
///     If the scenario breaks a rule, or no long-lived flow crosses the link at that time.
/// TheoryError
///     If a parameter breaks a rule. The absence of an equilibrium or a model is a verdict, not an error.
/// OSError
///     If the file cannot be read.
///
/// Examples
/// --------
/// >>> from quell.theory import analyze, dumbbell
/// >>> [link] = analyze(dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi", "drop-tail"]))
/// >>> link["drop-tail"].verdict
/// 'no model'
/// >>> link["pi"].loop.stable == (link["pi"].verdict == "stable")
/// True
#[pyfunction]
#[pyo3(signature = (scenario, *, algorithms=None, link=None, at=None, plant="exact", reach=None, overrides=None))]
pub fn analyze(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    algorithms: Option<Vec<String>>,
    link: Option<&str>,
    at: Option<&Bound<'_, PyAny>>,
    plant: &str,
    reach: Option<bool>,
    overrides: Option<&Bound<'_, PyDict>>,
) -> Answer<Vec<Bottleneck>> {
    let plant = words::plant(plant)?;
    let seen = bottlenecks(py, scenario, algorithms.as_deref(), link, at, overrides)?;
    let reach = reach.unwrap_or(seen.len() == 1);
    let found = interruptible(py, |stop| -> Result<Vec<Bottleneck>, TheoryError> {
        let mut all = Vec::new();
        for (settings, bottleneck) in seen {
            let mut analyses = Vec::new();
            for (label, config) in &bottleneck.algorithms {
                if stop.load(Ordering::Relaxed) {
                    return Ok(all);
                }
                let assessment = Assessment::of(label, config, &bottleneck, plant, reach)?;
                analyses.push((label.clone(), Analysis::from(assessment)));
            }
            all.push(Bottleneck::of(bottleneck, settings, analyses));
        }
        Ok(all)
    })?;
    Ok(found?)
}

/// Make a scenario of one link and flows of one kind: the network of the formulas.
///
/// Parameters
/// ----------
/// rate : str or float
///     The link's rate ("10 Mbit/s", or bit/s).
/// rtt : str or float
///     The round-trip time without queueing ("100 ms", or seconds).
/// flows : int
///     How many long-lived flows.
/// algorithms : sequence of str or dict
///     Names of the catalog, or tables as in a scenario: ``{"algorithm": "pi", "q_ref": "50 packets"}``.
/// packet : str or float, optional
///     Size of a packet on the wire ("500 B", or bytes); by default 1000 bytes.
/// buffer : str or float, optional
///     The buffer ("200 packets", or packets); by default twice the bandwidth-delay product, at least
///     100 packets; where an algorithm needs more, what the link sends in 200 ms.
/// signal : {"mark", "drop"}, default "mark"
///     Whether flows and link use ECN.
/// congestion : {"reno", "cubic", "dctcp", "prague"}, default "reno"
///     The flows' congestion control; the last two need marks.
///
/// Returns
/// -------
/// dict
///     The scenario, for :func:`analyze`, :func:`map` and :func:`quell.run`.
///
/// Raises
/// ------
/// TheoryError
///     If a quantity is not physical.
///
/// Examples
/// --------
/// >>> from quell.theory import dumbbell
/// >>> net = dumbbell(rate="10 Mbit/s", rtt="100 ms", flows=60, algorithms=["pi"])
/// >>> net["dumbbell"]["rate"]
/// '10 Mbit/s'
#[pyfunction]
#[pyo3(signature = (*, rate, rtt, flows, algorithms, packet=None, buffer=None, signal="mark", congestion="reno"))]
pub fn dumbbell<'py>(
    py: Python<'py>,
    rate: &Bound<'py, PyAny>,
    rtt: &Bound<'py, PyAny>,
    flows: u32,
    algorithms: Vec<Bound<'py, PyAny>>,
    packet: Option<&Bound<'py, PyAny>>,
    buffer: Option<&Bound<'py, PyAny>>,
    signal: &str,
    congestion: &str,
) -> Answer<Bound<'py, PyDict>> {
    let (rate, rtt) = (words::rate("rate", rate)?, words::time("rtt", rtt)?);
    let packet = packet.map_or(Ok(PACKET), |p| words::packet("packet", p))?;
    let given = buffer.map(|b| words::queue("buffer", b)).transpose()?;
    let plain = Shorthand {
        ecn: words::signal(signal)? == Signal::Mark,
        congestion: Congestion::named(congestion)?,
        ..Shorthand::new(rate, rtt, flows, packet)
    };
    let tables = algorithms.into_iter().map(|a| {
        if a.is_instance_of::<PyDict>() {
            return Ok(a);
        }
        let table = PyDict::new(py);
        table.set_item("algorithm", a)?;
        Ok(table.into_any())
    });
    let tables = tables.collect::<PyResult<Vec<_>>>()?;
    let of = |buffer: QueueSize| {
        let dict = value::resolved(py, &Shorthand { buffer, ..plain.clone() }.to_toml())?;
        dict.set_item("aqm", &tables)?;
        Ok::<_, PyErr>(dict)
    };
    let dict = of(given.unwrap_or(plain.buffer))?;
    let is_valid = |dict: &Bound<'py, PyDict>| {
        let document = crate::scenario::document(py, dict.as_any(), None);
        document
            .is_ok_and(|document| document.study(&Plugins::new()).is_ok_and(|study| holds_targets(&study)))
    };
    // As the command does where no buffer is given.
    if given.is_none() && !is_valid(&dict) {
        let roomy = of(Shorthand::roomy_buffer(rate, packet))?;
        if is_valid(&roomy) {
            return Ok(roomy);
        }
    }
    Ok(dict)
}

/// The packet of the source papers.
const PACKET: Bytes = Bytes::new(1000);

/// Parameters by a published rule, and what becomes of them.
///
/// Examples
/// --------
/// >>> from quell.theory import design
/// >>> design("pi", rate="10 Mbit/s", rtt="200 ms", flows=50).aqm["algorithm"]
/// 'pi'
#[pyclass(module = "quell.theory", frozen)]
#[derive(Clone, Debug)]
pub struct Design {
    /// list of str: The rule with its source, and what it assumes.
    #[pyo3(get)]
    assumptions: Vec<String>,
    /// list of str: What one should know before use.
    #[pyo3(get)]
    warnings: Vec<String>,
    /// Analysis: Its equilibrium, its margins, and how far the network may move.
    #[pyo3(get)]
    analysis: Analysis,
    aqm: String,
    scenario: String,
}

#[pymethods]
impl Design {
    /// dict: The algorithm with its parameters, as a table of a scenario; those left out have their
    /// defaults.
    #[getter]
    fn aqm<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        value::resolved(py, &self.aqm)
    }

    /// dict: A scenario of the network with this design: ``quell.run`` shows whether packets confirm it.
    #[getter]
    fn scenario<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        value::resolved(py, &self.scenario)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Design({}, {:?})", self.aqm(py)?.repr()?, self.analysis.verdict))
    }
}

/// Find parameters for a link by the algorithm's published rule.
///
/// Give the worst case: the fewest flows and the longest round-trip time that the link will see.
///
/// Parameters
/// ----------
/// aqm : str
///     The algorithm: one of ``DESIGNED``.
/// rate : str or float
///     The link's rate ("10 Mbit/s", or bit/s).
/// rtt : str or float
///     R: the longest round-trip time with the queue at its target ("100 ms", or seconds).
/// flows : int
///     N: the fewest long-lived flows.
/// packet : str or float, optional
///     Size of a packet on the wire ("500 B", or bytes); by default 1000 bytes.
/// buffer : str or float, optional
///     The buffer ("200 packets", or packets); by default the bandwidth-delay product, at least 20
///     packets.
/// queue : str or float, optional
///     The queue to hold; by default a quarter of the buffer. Rules that set their own ignore it.
/// signal : {"mark", "drop"}, default "mark"
///     How a signal reaches the senders.
/// congestion : {"reno", "cubic", "dctcp", "prague"}, default "reno"
///     The flows' congestion control. The published rules are for Reno's window; "pi" is shaped for any.
///
/// Returns
/// -------
/// Design
///     The parameters, what the rule assumes, and what the theory says about them.
///
/// Raises
/// ------
/// TheoryError
///     If there is no rule for the algorithm, a quantity is not physical, or no parameters suit.
///
/// Examples
/// --------
/// >>> from quell.theory import design
/// >>> pi = design("pi", rate="10 Mbit/s", rtt="200 ms", flows=50)
/// >>> pi.analysis.verdict
/// 'stable'
/// >>> pi.aqm["algorithm"]
/// 'pi'
#[pyfunction]
#[pyo3(signature = (aqm, *, rate, rtt, flows, packet=None, buffer=None, queue=None, signal="mark", congestion="reno"))]
pub fn design(
    py: Python<'_>,
    aqm: &str,
    rate: &Bound<'_, PyAny>,
    rtt: &Bound<'_, PyAny>,
    flows: u32,
    packet: Option<&Bound<'_, PyAny>>,
    buffer: Option<&Bound<'_, PyAny>>,
    queue: Option<&Bound<'_, PyAny>>,
    signal: &str,
    congestion: &str,
) -> Answer<Design> {
    let packet = packet.map_or(Ok(PACKET), |p| words::packet("packet", p))?;
    let packets = |size: QueueSize| size.in_packets(packet);
    let target = Target {
        buffer: buffer.map(|b| words::queue("buffer", b).map(packets)).transpose()?,
        queue: queue.map(|q| words::queue("queue", q).map(packets)).transpose()?,
        signal: words::signal(signal)?,
        congestion: Congestion::named(congestion)?,
        ..Target::new(words::rate("rate", rate)?, packet, words::time("rtt", rtt)?, f64::from(flows))
    };
    let found = interruptible(py, |_| -> Result<Design, TheoryError> {
        let design = rules::design(aqm, &target)?;
        let bottleneck = Seen::of_design(&design);
        let plant = quell_theory::Plant::Exact;
        let assessment = Assessment::of(design.config.name(), &design.config, &bottleneck, plant, true)?;
        let aqm = written(&design.config)?;
        let scenario = Shorthand::of_design(&design, flows, vec![aqm.clone()]).to_toml();
        let rules::Design { assumptions, warnings, .. } = design;
        Ok(Design { assumptions, warnings, analysis: assessment.into(), aqm, scenario })
    })?;
    Ok(found?)
}

fn written(config: &AqmConfig) -> Result<String, TheoryError> {
    changed(config).map_err(|e| TheoryError::quantity("the parameters", config.name(), e.to_string()))
}

/// The algorithms that :func:`design` knows a rule for.
pub fn designed(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    PyTuple::new(py, DESIGNED)
}
