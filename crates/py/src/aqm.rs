//! Algorithms written in Python, as the contract sees them.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};
use quell_aqm::part::Ticker;
use quell_aqm::{self as contract, Aqm, Cause, Ctx, Ecn, PacketMeta, Probe, Rng};
use quell_scenario::Factory;
use quell_units::{Duration, QueueSize, Time};

use crate::{errors, value};

/// The first exception of a run, and the flag that stops it.
///
/// Methods of the contract cannot fail, so an exception is kept here and the run is stopped; from
/// then on algorithms pass everything, and nothing of the run is shown but the exception.
#[derive(Default)]
pub struct Trap {
    error: Mutex<Option<PyErr>>,
    failed: AtomicBool,
    /// Set to stop the run.
    pub stop: AtomicBool,
}

impl Trap {
    /// Keeps `error` if it is the first, and stops the run.
    pub fn set(&self, error: PyErr) {
        self.failed.store(true, Ordering::Relaxed);
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The exception, if there was one.
    pub fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Forgets that anything happened.
    pub fn forget(&self) {
        self.failed.store(false, Ordering::Relaxed);
        self.stop.store(false, Ordering::Relaxed);
    }

    fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }
}

/// The factory of a Python class, or of any callable.
pub fn factory(class: Py<PyAny>, trap: Arc<Trap>) -> Factory {
    Arc::new(move |link, parameters| {
        Python::attach(|py| PyAqm::build(class.bind(py), link, parameters, &trap))
            .map(|aqm| Box::new(aqm) as Box<dyn Aqm + Send>)
            .map_err(|error| {
                let message = error.to_string();
                trap.set(error);
                message
            })
    })
}

/// An object of a Python class that decides.
struct PyAqm {
    on_enqueue: Option<Py<PyAny>>,
    on_dequeue: Option<Py<PyAny>>,
    on_overflow: Option<Py<PyAny>>,
    on_idle: Option<Py<PyAny>>,
    on_update: Option<Py<PyAny>>,
    observe: Option<Py<PyAny>>,
    clock: Clock,
    cx: Py<Context>,
    trap: Arc<Trap>,
}

/// The times of updates.
enum Clock {
    Never,
    Every(Ticker),
    /// Asked after every call, since only a call can change the answer.
    Asked {
        next_update: Py<PyAny>,
        due: Option<Time>,
    },
}

impl PyAqm {
    fn build(
        class: &Bound<'_, PyAny>,
        link: &contract::Link,
        parameters: &toml::Table,
        trap: &Arc<Trap>,
    ) -> PyResult<Self> {
        let py = class.py();
        let object = class.call((Link(*link),), Some(&value::from_table(py, parameters)?))?;
        let base = py.import("quell")?.getattr("Aqm")?;
        // Methods that only the base class defines are never called.
        let method = |name: &str| -> PyResult<Option<Py<PyAny>>> {
            let Some(method) = object.getattr_opt(name)? else { return Ok(None) };
            let inherited =
                method.getattr_opt("__func__")?.is_some_and(|f| base.getattr(name).is_ok_and(|b| b.is(&f)));
            Ok((!inherited).then(|| method.unbind()))
        };
        let mut aqm = PyAqm {
            on_enqueue: method("on_enqueue")?,
            on_dequeue: method("on_dequeue")?,
            on_overflow: method("on_overflow")?,
            on_idle: method("on_idle")?,
            on_update: method("on_update")?,
            observe: method("observe")?,
            clock: Clock::Never,
            cx: Py::new(py, Context::default())?,
            trap: trap.clone(),
        };
        let interval = object.getattr_opt("update_interval")?.filter(|i| !i.is_none());
        aqm.clock = match (interval, method("next_update")?) {
            (Some(_), Some(_)) => {
                return Err(PyTypeError::new_err("define update_interval or next_update, not both"));
            }
            (Some(seconds), None) => {
                let interval = length(seconds.extract()?, "update_interval")?;
                let ticker = Ticker::new("update_interval", interval);
                Clock::Every(ticker.map_err(|e| PyValueError::new_err(e.to_string()))?)
            }
            (None, Some(next_update)) => Clock::Asked { next_update, due: None },
            (None, None) => Clock::Never,
        };
        py.import("quell._aqm")?.call_method1("check_hooks", (&object,))?;
        aqm.ask(py, Time::ZERO, false)?;
        Ok(aqm)
    }

    /// Asks when the next update is due; it must lie after `now` if `strictly`, else not before it.
    fn ask(&mut self, py: Python<'_>, now: Time, strictly: bool) -> PyResult<()> {
        let Clock::Asked { next_update, due } = &mut self.clock else { return Ok(()) };
        let before = *due;
        *due = match next_update.call0(py)?.extract::<Option<f64>>(py)? {
            None => None,
            Some(seconds) => Some(Time::ZERO + length(seconds, "next_update()")?),
        };
        let late = due.is_some_and(|t| if strictly { t <= now } else { t < now && before != Some(t) });
        if late {
            // Otherwise the host would run updates forever.
            let seconds = due.map_or(0.0, Time::as_secs_f64);
            let now = now.as_secs_f64();
            return Err(PyValueError::new_err(format!(
                "next_update() gives {seconds} s, which is not after {now} s"
            )));
        }
        Ok(())
    }

    /// Runs `call` with the context set up, then asks for the next update; an exception ends the run.
    fn with<R>(
        &mut self,
        cx: &mut Ctx<'_>,
        updates: bool,
        otherwise: R,
        call: impl FnOnce(&Self, Python<'_>) -> PyResult<R>,
    ) -> R {
        if self.trap.failed() {
            return otherwise;
        }
        let result = Python::attach(|py| {
            *self.cx.bind(py).try_borrow_mut()? = Context::of(cx);
            let result = call(self, py);
            // Numbers that Python drew count as drawn.
            if let Some(rng) = self.cx.bind(py).try_borrow_mut()?.rng.take() {
                *cx.rng = rng;
            }
            let result = result?;
            self.ask(py, cx.now, updates)?;
            Ok(result)
        });
        result.unwrap_or_else(|error| {
            self.trap.set(error);
            otherwise
        })
    }
}

/// A length of time, or a time since the start, from seconds.
fn length(seconds: f64, what: &str) -> PyResult<Duration> {
    if (0.0..1e9).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(PyValueError::new_err(format!("{what} = {seconds} s: must be finite and not negative")))
    }
}

/// Reads what a method answered.
fn verdict(answer: &Bound<'_, PyAny>, method: &str) -> PyResult<contract::Verdict> {
    if answer.is_none() {
        return Ok(contract::Verdict::Pass);
    }
    match answer.cast::<Verdict>() {
        Ok(verdict) => Ok(verdict.get().0),
        Err(_) => Err(PyTypeError::new_err(format!(
            "{method} must return quell.PASS, quell.signal() or quell.drop(), not '{}'",
            answer.get_type().name()?
        ))),
    }
}

impl Aqm for PyAqm {
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> contract::Verdict {
        if self.on_enqueue.is_none() {
            return contract::Verdict::Pass;
        }
        self.with(cx, false, contract::Verdict::Pass, |this, py| match &this.on_enqueue {
            Some(method) => verdict(method.call1(py, (&this.cx, Packet(*pkt)))?.bind(py), "on_enqueue"),
            None => Ok(contract::Verdict::Pass),
        })
    }

    fn on_dequeue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> contract::Verdict {
        self.with(cx, false, contract::Verdict::Pass, |this, py| match &this.on_dequeue {
            Some(method) => verdict(method.call1(py, (&this.cx, Packet(*pkt)))?.bind(py), "on_dequeue"),
            None => Ok(contract::Verdict::Pass),
        })
    }

    fn departures(&self) -> contract::Departures {
        match self.on_dequeue {
            Some(_) => contract::Departures::Decided,
            None => contract::Departures::Ignored,
        }
    }

    fn on_overflow(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) {
        if self.on_overflow.is_some() {
            self.with(cx, false, (), |this, py| match &this.on_overflow {
                Some(method) => method.call1(py, (&this.cx, Packet(*pkt))).map(drop_answer),
                None => Ok(()),
            });
        }
    }

    fn on_idle(&mut self, since: Time) {
        if self.on_idle.is_none() || self.trap.failed() {
            return;
        }
        let result = Python::attach(|py| {
            if let Some(method) = &self.on_idle {
                method.call1(py, (since.as_secs_f64(),))?;
            }
            self.ask(py, since, false)
        });
        if let Err(error) = result {
            self.trap.set(error);
        }
    }

    fn next_update(&self) -> Option<Time> {
        match &self.clock {
            _ if self.trap.failed() => None,
            Clock::Never => None,
            Clock::Every(ticker) => Some(ticker.due()),
            Clock::Asked { due, .. } => *due,
        }
    }

    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        if let Clock::Every(ticker) = &mut self.clock {
            ticker.advance();
        }
        self.with(cx, true, (), |this, py| match &this.on_update {
            Some(method) => method.call1(py, (&this.cx,)).map(drop_answer),
            None => Ok(()),
        });
    }

    fn observe(&self, out: &mut dyn Probe) {
        let Some(method) = &self.observe else { return };
        if self.trap.failed() {
            return;
        }
        let result = Python::attach(|py| {
            let answer = method.call0(py)?;
            let signals = answer
                .bind(py)
                .cast::<PyMapping>()
                .map_err(|_| PyTypeError::new_err("observe must return a dict: name -> (unit, value)"))?;
            for item in signals.items()?.iter() {
                let (name, (unit, value)): (String, (String, f64)) = item.extract()?;
                out.value(kept(&name), kept(&unit), value);
            }
            Ok(())
        });
        if let Err(error) = result {
            self.trap.set(error);
        }
    }
}

fn drop_answer(_: Py<PyAny>) {}

/// A name that lives as long as the process, as the contract asks for; each is kept once.
fn kept(name: &str) -> &'static str {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    match names.get(name) {
        Some(kept) => kept,
        None => {
            let kept: &'static str = Box::leak(name.to_string().into_boxed_str());
            names.insert(kept);
            kept
        }
    }
}

/// Everything an algorithm may know when it decides; valid only during the call that receives it.
///
/// Examples
/// --------
/// >>> import quell
/// >>> class Line(quell.Aqm):
/// ...     def on_enqueue(self, cx, pkt):
/// ...         return quell.signal() if cx.random() < cx.queue_packets / 1000 else quell.PASS
#[pyclass(module = "quell")]
#[derive(Default)]
pub struct Context {
    /// float: The time of the event, in seconds since the start of the simulation.
    #[pyo3(get)]
    now_s: f64,
    /// int: The time of the event, in nanoseconds (exact).
    #[pyo3(get)]
    now_ns: u64,
    /// int: Packets waiting, without the one in transmission and without the packet in question.
    #[pyo3(get)]
    queue_packets: u32,
    /// int: Bytes waiting, likewise.
    #[pyo3(get)]
    queue_bytes: u64,
    /// float or None: When the packet at the head arrived, in seconds; None if nothing waits.
    #[pyo3(get)]
    head_since_s: Option<f64>,
    /// int or None: The link's current rate, in bit/s; None if it is not known.
    #[pyo3(get)]
    link_rate_bps: Option<u64>,
    rng: Option<Rng>,
}

impl Context {
    fn of(cx: &Ctx<'_>) -> Self {
        Context {
            now_s: cx.now.as_secs_f64(),
            now_ns: cx.now.nanos(),
            queue_packets: cx.queue.packets.get(),
            queue_bytes: cx.queue.bytes.get(),
            head_since_s: cx.queue.head_since.map(Time::as_secs_f64),
            link_rate_bps: cx.queue.link_rate.map(|rate| rate.bps()),
            rng: Some(cx.rng.clone()),
        }
    }
}

#[pymethods]
impl Context {
    /// Draw a random number from this queue's own stream.
    ///
    /// The stream depends only on the seed of the replication, so an algorithm that draws here gives the same results
    /// each time, on every machine.
    ///
    /// Returns
    /// -------
    /// float
    ///     Uniform on [0, 1), with 53 random bits.
    ///
    /// Raises
    /// ------
    /// RuntimeError
    ///     If it is called after the call to which the context was passed.
    ///
    /// Examples
    /// --------
    /// >>> import quell
    /// >>> class Coin(quell.Aqm):
    /// ...     def on_enqueue(self, cx, pkt):
    /// ...         return quell.drop() if cx.random() < 0.01 else quell.PASS
    fn random(&mut self) -> PyResult<f64> {
        match &mut self.rng {
            Some(rng) => Ok(rng.uniform()),
            None => Err(PyRuntimeError::new_err("this context is over: use it only during the call")),
        }
    }

    fn __repr__(&self) -> String {
        format!("Context(now_s={}, queue_packets={})", self.now_s, self.queue_packets)
    }
}

/// A packet as an algorithm sees it.
///
/// Examples
/// --------
/// >>> import quell
/// >>> class SparesSyns(quell.Aqm):
/// ...     def on_enqueue(self, cx, pkt):
/// ...         return quell.PASS if pkt.syn or cx.queue_packets < 20 else quell.signal()
#[pyclass(module = "quell", frozen)]
pub struct Packet(PacketMeta);

#[pymethods]
impl Packet {
    /// int: Its size on the wire, in bytes.
    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes.get()
    }

    /// float: When it arrived at this queue, in seconds.
    #[getter]
    fn enqueued_at_s(&self) -> f64 {
        self.0.enqueued_at.as_secs_f64()
    }

    /// int: When it arrived at this queue, in nanoseconds (exact).
    #[getter]
    fn enqueued_at_ns(&self) -> u64 {
        self.0.enqueued_at.nanos()
    }

    /// int: The flow it belongs to.
    #[getter]
    fn flow(&self) -> u32 {
        self.0.flow.0
    }

    /// {"not-ect", "ect0", "ect1", "ce"}: Its ECN field (RFC 3168).
    #[getter]
    fn ecn<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        match self.0.ecn {
            Ecn::NotEct => intern!(py, "not-ect"),
            Ecn::Ect0 => intern!(py, "ect0"),
            Ecn::Ect1 => intern!(py, "ect1"),
            Ecn::Ce => intern!(py, "ce"),
        }
        .clone()
    }

    /// bool: Whether it opens a TCP connection (a SYN).
    #[getter]
    fn syn(&self) -> bool {
        self.0.syn
    }

    /// bool: Whether a signal may be a mark: true unless ``ecn`` is ``not-ect``.
    #[getter]
    fn ecn_capable(&self) -> bool {
        self.0.ecn.is_capable()
    }

    /// int: Its DSCP, 0 to 63.
    #[getter]
    fn dscp(&self) -> u8 {
        self.0.dscp
    }

    /// int: Its precedence, 0 to 7: the upper half of its DSCP.
    #[getter]
    fn precedence(&self) -> u8 {
        self.0.precedence()
    }

    fn __repr__(&self) -> String {
        format!(
            "Packet(bytes={}, flow={}, enqueued_at_s={})",
            self.bytes(),
            self.flow(),
            self.enqueued_at_s()
        )
    }
}

/// The link as it is known when an algorithm is built.
///
/// Examples
/// --------
/// >>> import quell
/// >>> class Bounded(quell.Aqm):
/// ...     def __init__(self, link):
/// ...         super().__init__(link)
/// ...         self.target = link.buffer_packets // 4
/// ...     def on_enqueue(self, cx, pkt):
/// ...         return quell.PASS if cx.queue_packets < self.target else quell.signal()
#[pyclass(module = "quell", frozen)]
pub struct Link(contract::Link);

#[pymethods]
impl Link {
    /// int: Its rate at the start, in bit/s.
    #[getter]
    fn rate_bps(&self) -> u64 {
        self.0.rate.bps()
    }

    /// float: Its buffer in packets (of mean size, if it is given in bytes).
    #[getter]
    fn buffer_packets(&self) -> f64 {
        self.0.buffer.in_packets(self.0.mean_packet)
    }

    /// float: Its buffer in bytes (of packets of mean size, if it is given in packets).
    #[getter]
    fn buffer_bytes(&self) -> f64 {
        self.0.buffer.in_bytes(self.0.mean_packet)
    }

    /// bool: Whether the buffer counts bytes rather than packets.
    #[getter]
    fn buffer_counts_bytes(&self) -> bool {
        matches!(self.0.buffer, QueueSize::Bytes(_))
    }

    /// int: The mean packet size, in bytes, by which packets are converted to bytes and back.
    #[getter]
    fn mean_packet_bytes(&self) -> u64 {
        self.0.mean_packet.get()
    }

    /// float: C of the papers: packets of mean size per second.
    #[getter]
    fn capacity_packets_per_s(&self) -> f64 {
        self.0.capacity()
    }

    fn __repr__(&self) -> String {
        format!("Link(rate={}, buffer={}, mean_packet={})", self.0.rate, self.0.buffer, self.0.mean_packet)
    }
}

/// An algorithm's answer: ``PASS``, or what :func:`signal` and :func:`drop` return.
///
/// Examples
/// --------
/// >>> import quell
/// >>> quell.PASS, quell.signal(), quell.drop("forced")
/// (quell.PASS, quell.signal("early"), quell.drop("forced"))
#[pyclass(module = "quell", frozen, eq, hash)]
#[derive(PartialEq, Hash)]
pub struct Verdict(contract::Verdict);

impl Verdict {
    /// Keep the packet.
    pub const PASS: Verdict = Verdict(contract::Verdict::Pass);
}

#[pymethods]
impl Verdict {
    fn __repr__(&self) -> String {
        let cause = |cause| match cause {
            Cause::Early => "early",
            Cause::Forced => "forced",
            Cause::Overflow => "overflow",
        };
        match self.0 {
            contract::Verdict::Pass => "quell.PASS".to_string(),
            contract::Verdict::Signal(c) => format!("quell.signal(\"{}\")", cause(c)),
            contract::Verdict::Drop(c) => format!("quell.drop(\"{}\")", cause(c)),
        }
    }
}

/// Signal congestion: mark the packet if it is ECN-capable and its queue marks, drop it otherwise.
///
/// Parameters
/// ----------
/// cause : {"early", "forced", "overflow"}, default "early"
///     Why: by chance before the queue is full, because a limit of the algorithm was exceeded, or because the buffer is
///     full. Results count the three separately.
///
/// Returns
/// -------
/// Verdict
///     Return it from ``on_enqueue`` or ``on_dequeue``.
///
/// Raises
/// ------
/// ValueError
///     If the cause is not one of the three.
///
/// Examples
/// --------
/// >>> import quell
/// >>> class Threshold(quell.Aqm):
/// ...     def on_enqueue(self, cx, pkt):
/// ...         return quell.signal("forced") if cx.queue_packets > 20 else quell.PASS
#[pyfunction]
#[pyo3(signature = (cause = "early"))]
pub fn signal(cause: &str) -> PyResult<Verdict> {
    Ok(Verdict(contract::Verdict::Signal(cause_of(cause)?)))
}

/// Drop the packet, whatever its ECN field says.
///
/// Parameters
/// ----------
/// cause : {"early", "forced", "overflow"}, default "early"
///     Why, as in :func:`signal`.
///
/// Returns
/// -------
/// Verdict
///     Return it from ``on_enqueue`` or ``on_dequeue``.
///
/// Raises
/// ------
/// ValueError
///     If the cause is not one of the three.
///
/// Examples
/// --------
/// >>> import quell
/// >>> class Threshold(quell.Aqm):
/// ...     def on_enqueue(self, cx, pkt):
/// ...         return quell.drop("forced") if cx.queue_packets > 20 else quell.PASS
#[pyfunction]
#[pyo3(signature = (cause = "early"))]
pub fn drop(cause: &str) -> PyResult<Verdict> {
    Ok(Verdict(contract::Verdict::Drop(cause_of(cause)?)))
}

fn cause_of(cause: &str) -> PyResult<Cause> {
    match cause {
        "early" => Ok(Cause::Early),
        "forced" => Ok(Cause::Forced),
        "overflow" => Ok(Cause::Overflow),
        other => Err(errors::argument(format!(
            "cause = \"{other}\": must be \"early\", \"forced\" or \"overflow\""
        ))),
    }
}

/// The plug-ins of a run, from a dict of names and classes.
pub fn plugins(aqms: Option<&Bound<'_, PyDict>>, trap: &Arc<Trap>) -> PyResult<quell_scenario::Plugins> {
    let mut plugins = quell_scenario::Plugins::new();
    for (name, class) in aqms.into_iter().flatten() {
        let name: String = name.extract()?;
        if !class.is_callable() {
            let kind = class.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "aqms[\"{name}\"] must be a class or a function that gives an algorithm, not '{kind}'"
            )));
        }
        plugins.insert(name, factory(class.unbind(), trap.clone())).map_err(errors::argument)?;
    }
    Ok(plugins)
}
