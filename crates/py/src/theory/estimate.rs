//! Estimators: captures, averages, oscillations, and Jou et al.'s map.

use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use quell_capture::{self as capture, CaptureError, Interval};
use quell_theory::TheoryError;
use quell_theory::ared_dt;
use quell_theory::ewma::Ewma;

use super::arrays::{array, numbers, row};
use super::words;
use crate::attend::interruptible;
use crate::errors::Answer;
use crate::{errors, value};

/// A reader that ends on request.
struct Stopped<'a, R>(R, &'a AtomicBool);

impl<R: Read> Read for Stopped<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.1.load(Ordering::Relaxed) { Ok(0) } else { self.0.read(buffer) }
    }
}

/// Estimate R, N and C (round-trip time, flows, capacity) from a packet capture.
///
/// "Up" is the traffic from the side that opens connections, "down" the traffic to it; with ``inside``, up is
/// what leaves these networks. N counts a flow from its first packet until ``window`` after its last one
/// (Chen 2010, section 4.4), and beside it the flows that sent data in an interval of the busy time, which is
/// the N of fluid models. R is the time from a SYN to the acknowledgment that completes the handshake. C is the
/// busiest 100 ms, the mode of packet pairs and the clock of acknowledgments, with a verdict on how well they
/// agree; ``capacity_bps`` is None unless it can be determined. Capture behind the bottleneck, on the side of
/// the receivers, where the link has spaced the packets.
///
/// Parameters
/// ----------
/// path : str or os.PathLike
///     The capture: pcap or pcapng, as it is or compressed by gzip or zstd.
/// interval : str or float, optional
///     The length of an interval; by default 1 s.
/// window : str or float, optional
///     How long a flow counts after its last packet; by default 60 s.
/// inside : sequence of str, optional
///     The networks on one side of the link, such as "192.0.2.0/24"; by default the side that opens
///     connections.
/// layer : str, optional
///     The layer of rates and packets: "ip" (the default), "capture" for frames as captured, "ptm", or a word of
///     tc-cake(8) such as "ethernet", "docsis" or "pppoe-ptm".
///
/// Returns
/// -------
/// dict
///     As ``quell measure --format json`` prints it: ``directions``, ``round_trips`` and so on, with
///     units in the names. ``intervals`` is a dict of arrays, one item for each interval with packets.
///
/// Raises
/// ------
/// TheoryError
///     If the file is not a capture, or an option breaks a rule.
/// OSError
///     If the file cannot be read.
///
/// Examples
/// --------
/// >>> from quell.theory import measure
/// >>> found = measure("trace.pcap")  # doctest: +SKIP
/// >>> found["capacity_bps"]  # doctest: +SKIP
#[pyfunction]
#[pyo3(signature = (path, *, interval=None, window=None, inside=None, layer=None))]
pub fn measure<'py>(
    py: Python<'py>,
    path: PathBuf,
    interval: Option<&Bound<'py, PyAny>>,
    window: Option<&Bound<'py, PyAny>>,
    inside: Option<Vec<String>>,
    layer: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut options = capture::Options::default();
    if let Some(t) = interval {
        options.interval = words::time("interval", t)?;
    }
    if let Some(t) = window {
        options.window = words::time("window", t)?;
    }
    let inside = inside.into_iter().flatten().map(|text| text.parse()).collect::<Result<_, _>>();
    options.inside = inside.map_err(|e| errors::option(py, &e))?;
    if let Some(word) = layer {
        options.layer = word.parse().map_err(|e| errors::option(py, &e))?;
    }
    let file = quell_files::open(&path).map_err(|e| errors::io(&e, &path))?;
    let mut intervals: Vec<Interval> = Vec::new();
    let report =
        interruptible(py, |stop| capture::measure(Stopped(file, stop), &options, |i| intervals.push(*i)))?;
    let report = report.map_err(|e| match e {
        CaptureError::Io(e) => errors::io(&e, &path),
        CaptureError::Option(e) => errors::option(py, &e),
        e => errors::capture(py, &path, &e),
    })?;
    let json = serde_json::to_value(&report).map_err(|e| errors::argument(e.to_string()))?;
    let dict = value::from_json(py, &json)?;
    let columns = PyDict::new(py);
    let column = |name: &str, of: &dyn Fn(&Interval) -> f64| -> PyResult<()> {
        columns.set_item(name, array(py, &intervals.iter().map(of).collect::<Vec<f64>>())?)
    };
    column("start_s", &|i| i.start_s)?;
    column("length_s", &|i| i.length_s)?;
    for (way, of) in [("up", (|i| &i.up) as fn(&Interval) -> &capture::Traffic), ("down", |i| &i.down)] {
        column(&format!("{way}_packets"), &|i| of(i).packets as f64)?;
        column(&format!("{way}_bytes"), &|i| of(i).bytes as f64)?;
        column(&format!("{way}_flows"), &|i| of(i).flows.flows as f64)?;
        column(&format!("{way}_data_flows"), &|i| of(i).flows.data_flows as f64)?;
        column(&format!("{way}_active"), &|i| of(i).flows.active as f64)?;
    }
    column("new_connections", &|i| i.new_connections as f64)?;
    column("handshakes", &|i| i.handshakes as f64)?;
    // No handshake, no number.
    column("rtt_mean_s", &|i| i.rtt_mean_s.unwrap_or(f64::NAN))?;
    dict.set_item("intervals", columns)?;
    Ok(dict)
}

/// The correlation of samples.
enum Correlation {
    None,
    Geometric(f64),
    Given(Vec<f64>),
}

impl Correlation {
    fn of(rho: Option<&Bound<'_, PyAny>>) -> PyResult<Correlation> {
        let Some(rho) = rho else { return Ok(Correlation::None) };
        match rho.extract::<f64>() {
            Ok(r) => Ok(Correlation::Geometric(r)),
            Err(_) => Ok(Correlation::Given(row(rho, "rho")?)),
        }
    }
}

/// Compute the variance of an exponentially weighted average over that of its samples (Trinh and Molnár,
/// section 4.3).
///
/// At sample ``t``, where the first sample is 0 (an empty queue), or in the limit: ``w/(2 - w)`` for
/// independent samples. For correlated ones eq. 4 is used, with the sigma^2 that the printed second sum
/// lacks.
///
/// Parameters
/// ----------
/// weight : float
///     The weight w of a new sample, in (0, 1].
/// t : int, optional
///     Which sample, counted from 1; by default the limit.
/// rho : float or array_like, optional
///     Correlation of samples: a number r for ``r**k`` at lag k, or the correlations at the lags 0, 1,
///     2, ..., beyond which it is 0. By default samples are independent.
///
/// Returns
/// -------
/// float
///     The variance over that of the samples.
///
/// Raises
/// ------
/// TheoryError
///     If the weight or a correlation is out of range, or ``rho`` belongs to no stationary sequence.
///
/// Examples
/// --------
/// >>> from quell.theory import ewma_variance
/// >>> round(ewma_variance(0.002), 6)
/// 0.001001
#[pyfunction]
#[pyo3(signature = (weight, t=None, *, rho=None))]
pub fn ewma_variance(
    py: Python<'_>,
    weight: f64,
    t: Option<u64>,
    rho: Option<&Bound<'_, PyAny>>,
) -> Answer<f64> {
    let rho = Correlation::of(rho)?;
    let found = interruptible(py, |_| -> Result<f64, TheoryError> {
        let ewma = Ewma::new(weight)?;
        let given = |rho: &[f64], k: u64| rho.get(k as usize).copied().unwrap_or(0.0);
        match (t, &rho) {
            (None, Correlation::None) => Ok(ewma.variance_independent_limit()),
            (None, Correlation::Geometric(r)) => ewma.variance_limit_geometric(*r),
            (None, Correlation::Given(rho)) => ewma.variance_limit(|k| given(rho, k)),
            (Some(t), Correlation::None) => Ok(ewma.variance_independent(t)),
            (Some(t), Correlation::Geometric(r)) => ewma.variance(t, |k| r.powf(k as f64)),
            (Some(t), Correlation::Given(rho)) => ewma.variance(t, |k| given(rho, k)),
        }
    })?;
    Ok(found?)
}

/// Compute the expectation of an exponentially weighted average over the mean of its samples.
///
/// The first sample is 0, all others have the same mean: ``1 - (1 - w)**(t - 1)`` (Trinh and Molnár, lemma 1
/// holds in the limit only).
///
/// Parameters
/// ----------
/// weight : float
///     The weight w of a new sample, in (0, 1].
/// t : int
///     Which sample, counted from 1.
///
/// Returns
/// -------
/// float
///     The expectation over the mean.
///
/// Raises
/// ------
/// TheoryError
///     If the weight is out of range.
///
/// Examples
/// --------
/// >>> from quell.theory import ewma_expectation
/// >>> round(ewma_expectation(0.002, 501), 2)
/// 0.63
#[pyfunction]
pub fn ewma_expectation(weight: f64, t: u64) -> Answer<f64> {
    Ok(Ewma::new(weight)?.expectation(t))
}

/// Compute the correlation of an exponentially weighted average with itself, in the limit.
///
/// Parameters
/// ----------
/// weight : float
///     The weight w of a new sample, in (0, 1].
/// lag : int
///     How many samples later.
/// rho : float, default 0.0
///     The samples have the correlation ``rho**k`` at lag k; 0 if they are independent.
///
/// Returns
/// -------
/// float
///     ``(1 - w)**lag`` for independent samples.
///
/// Raises
/// ------
/// TheoryError
///     If the weight or the correlation is out of range.
///
/// Examples
/// --------
/// >>> from quell.theory import ewma_autocorrelation
/// >>> round(ewma_autocorrelation(0.002, 500), 3)
/// 0.368
#[pyfunction]
#[pyo3(signature = (weight, lag, *, rho=0.0))]
pub fn ewma_autocorrelation(py: Python<'_>, weight: f64, lag: u64, rho: f64) -> Answer<f64> {
    Ok(interruptible(py, |_| Ewma::new(weight)?.autocorrelation_geometric(rho, lag))??)
}

/// The strongest periodic motion of a queue.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from quell.theory import oscillation
/// >>> t = np.arange(0, 100, 0.02)
/// >>> found = oscillation(50 + 45 * np.sin(2 * np.pi * t / 1.25), 0.02)
/// >>> round(found.amplitude)
/// 45
#[pyclass(module = "quell.theory", frozen, get_all)]
#[derive(Clone, Debug)]
pub struct Oscillation {
    /// {"settled", "oscillating", "irregular"}: The motion; an irregular queue swings far, without a period.
    motion: &'static str,
    /// float: The period.
    period_s: f64,
    /// float: The share of the variance within a quarter of its frequency.
    share: f64,
    /// float: How far it swings to either side: that of a sine with its variance.
    amplitude: f64,
    /// float: How far a sine of the whole variance swings, over the mean; up to 0.5 it is settled.
    swing: f64,
    /// float: The mean of the samples.
    mean: f64,
    /// float: The standard deviation of the samples.
    deviation: f64,
}

impl From<quell_analysis::Oscillation> for Oscillation {
    fn from(x: quell_analysis::Oscillation) -> Self {
        Oscillation {
            motion: x.motion().word(),
            period_s: x.period,
            share: x.share,
            amplitude: x.amplitude,
            swing: x.swing(),
            mean: x.mean,
            deviation: x.deviation,
        }
    }
}

#[pymethods]
impl Oscillation {
    fn __repr__(&self) -> String {
        format!("Oscillation({:?}, period_s={:.4}, swing={:.3})", self.motion, self.period_s, self.swing)
    }
}

/// Find the strongest oscillation of a queue, and tell whether it is settled.
///
/// This is how packets are compared with the theory's verdict: Welch's averaged spectrum, with a Hann
/// window. Give the queue after the warm-up, sampled several times per round-trip time.
///
/// Parameters
/// ----------
/// samples : array_like
///     The queue at equal steps.
/// step : str or float
///     The step ("10 ms", or seconds).
///
/// Returns
/// -------
/// Oscillation or None
///     None for fewer than 64 samples, or if the queue does not move.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from quell.theory import oscillation
/// >>> t = np.arange(0, 100, 0.02)
/// >>> found = oscillation(50 + 45 * np.sin(2 * np.pi * t / 1.25), 0.02)
/// >>> found.motion, round(found.period_s, 2)
/// ('oscillating', 1.25)
#[pyfunction]
pub fn oscillation(samples: &Bound<'_, PyAny>, step: &Bound<'_, PyAny>) -> Answer<Option<Oscillation>> {
    let step = words::time("step", step)?.as_secs_f64();
    words::positive("step", step, "s")?;
    Ok(quell_analysis::Oscillation::find(&row::<f64>(samples, "samples")?, step).map(Oscillation::from))
}

/// The map behind ARED with dynamic thresholds: the queue from one time slot to the next (Jou et al. 2003,
/// section VI).
///
/// ``f(q) = q + S (sum_k W C/(q + d_k C) - C)`` (Jou et al. 2003, eq. 6), and noise, within the buffer (eq.
/// 15). Units are bits, seconds and bits per second.
///
/// Parameters
/// ----------
/// capacity : float
///     C in bit/s.
/// window : float
///     The mean window W in bits.
/// delays : array_like
///     The round-trip propagation delay d_k of each flow, in seconds.
/// interval : float
///     The time slot S in seconds.
///
/// Raises
/// ------
/// TheoryError
///     If a quantity is not positive and finite, or there are no flows.
///
/// Examples
/// --------
/// Twenty flows of Jou et al. 2003, Fig. 17:
///
/// >>> from quell.theory import QueueMap
/// >>> queue = QueueMap(capacity=6e6, window=6.02e4, delays=[0.064] * 20, interval=0.1)
/// >>> round(queue.equilibrium)
/// 820000
#[pyclass(module = "quell.theory", frozen)]
#[derive(Clone, Debug)]
pub struct QueueMap(ared_dt::QueueMap, f64);

#[pymethods]
impl QueueMap {
    #[new]
    #[pyo3(signature = (*, capacity, window, delays, interval))]
    fn new(capacity: f64, window: f64, delays: &Bound<'_, PyAny>, interval: f64) -> Answer<Self> {
        let map = ared_dt::QueueMap::new(capacity, window, row(delays, "delays")?, interval)?;
        Ok(QueueMap(map, interval))
    }

    /// float: The queue q_e at the map's fixed point (Jou et al. 2003, eq. 9), in bits.
    #[getter]
    fn equilibrium(&self) -> Answer<f64> {
        Ok(self.0.equilibrium()?)
    }

    /// float: Below this slot the map contracts (Jou et al. 2003, eq. 10), in seconds.
    #[getter]
    fn contracting_interval_s(&self) -> f64 {
        self.0.contracting_interval()
    }

    /// float: Up to this slot f'(q_e) >= 0, in seconds; with equal delays the round-trip time.
    #[getter]
    fn rising_interval_s(&self) -> Answer<f64> {
        Ok(self.0.rising_interval()?)
    }

    /// float: A slot short enough for proposition 6.2 that depends only on the longest delay, in seconds;
    /// with the factor W C that the printed second term lacks.
    #[getter]
    fn sufficient_interval_s(&self) -> Answer<f64> {
        Ok(self.0.sufficient_interval()?)
    }

    /// bool: Proposition 6.1 (and with it the convergence of 6.3): the map contracts.
    #[getter]
    fn by_proposition_6_1(&self) -> Answer<bool> {
        Ok(self.0.stability()?.by_proposition_6_1())
    }

    /// bool: Proposition 6.2: q_e is stable from every start, as f'(q_e) >= 0.
    #[getter]
    fn by_proposition_6_2(&self) -> Answer<bool> {
        Ok(self.0.stability()?.by_proposition_6_2())
    }

    /// bool: Whether q_e is stable against small disturbances, ``|f'(q_e)| < 1``.
    #[getter]
    fn locally_stable(&self) -> Answer<bool> {
        Ok(self.0.stability()?.locally())
    }

    /// Compute the queue one slot later, without noise and limits (Jou et al. 2003, eq. 6).
    ///
    /// Parameters
    /// ----------
    /// queue : array_like
    ///     Queues in bits.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     One queue for each, in bits.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import QueueMap
    /// >>> queue = QueueMap(capacity=6e6, window=6.02e4, delays=[0.064] * 20, interval=0.1)
    /// >>> float(queue.next([queue.equilibrium])[0]) - queue.equilibrium < 1
    /// True
    fn next<'py>(&self, py: Python<'py>, queue: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        numbers::<f64>(queue)?.map(py, |q| self.0.next(q))
    }

    /// Compute f' (Jou et al. 2003, eq. 13).
    ///
    /// Parameters
    /// ----------
    /// queue : array_like
    ///     Queues in bits.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     One slope for each.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import QueueMap
    /// >>> queue = QueueMap(capacity=6e6, window=6.02e4, delays=[0.064] * 20, interval=0.1)
    /// >>> round(float(queue.slope([queue.equilibrium])[0]), 2)
    /// 0.5
    fn slope<'py>(&self, py: Python<'py>, queue: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        numbers::<f64>(queue)?.map(py, |q| self.0.slope(q))
    }

    /// Compute the factor by which two queues converge or diverge in a slot (Jou et al. 2003, eq. 14, 16).
    ///
    /// Parameters
    /// ----------
    /// largest : float
    ///     The largest queue considered, in bits.
    ///
    /// Returns
    /// -------
    /// float
    ///     The largest ``|f'|`` up to there.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import QueueMap
    /// >>> queue = QueueMap(capacity=6e6, window=6.02e4, delays=[0.064] * 20, interval=0.1)
    /// >>> queue.contraction(queue.equilibrium) > 0
    /// True
    fn contraction(&self, largest: f64) -> f64 {
        self.0.contraction(largest)
    }

    /// Follow the queue slot by slot, held within the buffer (Jou et al. 2003, eq. 15).
    ///
    /// Parameters
    /// ----------
    /// start : float
    ///     The first queue in bits.
    /// noise : array_like
    ///     What is added in each slot, in bits; zeros for none.
    /// buffer : float, optional
    ///     The buffer in bits; by default there is no limit.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     The queue after each slot, in bits.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import QueueMap
    /// >>> queue = QueueMap(capacity=6e6, window=6.02e4, delays=[0.064] * 20, interval=0.1)
    /// >>> path = queue.trajectory(0, [0] * 100)
    /// >>> bool(abs(path[-1] - queue.equilibrium) < 1)
    /// True
    #[pyo3(signature = (start, noise, *, buffer=None))]
    fn trajectory<'py>(
        &self,
        py: Python<'py>,
        start: f64,
        noise: &Bound<'py, PyAny>,
        buffer: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let noise = row::<f64>(noise, "noise")?;
        if !(start >= 0.0 && start.is_finite()) || noise.iter().any(|x| !x.is_finite()) {
            return Err(errors::argument("start and noise must be finite, and start not negative"));
        }
        let buffer = buffer.unwrap_or(f64::INFINITY);
        array(py, &py.detach(|| self.0.trajectory(start, buffer, noise).collect::<Vec<f64>>()))
    }

    /// Approximate the queue by a normal distribution (Jou et al. 2003, eq. 20 and 21).
    ///
    /// Parameters
    /// ----------
    /// sigma : float
    ///     The standard deviation of each flow's rate, in bit/s.
    ///
    /// Returns
    /// -------
    /// (float, float)
    ///     The mean and the standard deviation, in bits.
    ///
    /// Raises
    /// ------
    /// TheoryError
    ///     If there is no equilibrium, or disturbances grow.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import QueueMap
    /// >>> queue = QueueMap(capacity=6e6, window=6.02e4, delays=[0.064] * 20, interval=0.1)
    /// >>> mean, deviation = queue.gaussian(77021)
    /// >>> round(mean)
    /// 820000
    fn gaussian(&self, sigma: f64) -> Answer<(f64, f64)> {
        let g = self.0.gaussian(sigma)?;
        Ok((g.mean, g.deviation))
    }

    /// Compute the stationary distribution of the queue as a Markov chain (Jou et al. 2003, eq. 15 to 19).
    ///
    /// Its states are an empty queue, a full one, and cells between. The time grows with the cube of the
    /// number of cells.
    ///
    /// Parameters
    /// ----------
    /// buffer : float
    ///     The buffer in bits.
    /// sigma : float
    ///     The standard deviation of each flow's rate, in bit/s.
    /// cell : float
    ///     The width of a cell in bits, such as a packet.
    ///
    /// Returns
    /// -------
    /// (numpy.ndarray, numpy.ndarray)
    ///     The queues in bits (0, the middles of the cells, the buffer) and their probabilities.
    ///
    /// Raises
    /// ------
    /// TheoryError
    ///     If there is no equilibrium, there are more than 2000 cells, or a cell is wider than the noise.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import QueueMap
    /// >>> queue = QueueMap(capacity=6e6, window=6.02e4, delays=[0.064] * 20, interval=0.1)
    /// >>> lengths, shares = queue.stationary(2.56e6, 77021, 2e4)
    /// >>> round(float(shares.sum()), 6)
    /// 1.0
    fn stationary<'py>(
        &self,
        py: Python<'py>,
        buffer: f64,
        sigma: f64,
        cell: f64,
    ) -> Answer<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let found = interruptible(py, |_| self.0.stationary(buffer, sigma, cell))??;
        let (queue, share): (Vec<f64>, Vec<f64>) = found.points().unzip();
        Ok((array(py, &queue)?, array(py, &share)?))
    }

    fn __repr__(&self) -> String {
        format!("QueueMap(interval={} s)", self.1)
    }
}

/// Compute the least mean delay of RED+Tail's first queue, ``maxth1/C`` (Jou et al. 2003, section VI.A).
///
/// Parameters
/// ----------
/// max_th : float
///     The upper threshold maxth1 in bits.
/// capacity : float
///     C in bit/s.
///
/// Returns
/// -------
/// float
///     In seconds.
///
/// Raises
/// ------
/// TheoryError
///     If a quantity is not positive and finite.
///
/// Examples
/// --------
/// >>> from quell.theory import red_tail_delay_bound
/// >>> red_tail_delay_bound(240e3, 3e6)
/// 0.08
#[pyfunction]
pub fn red_tail_delay_bound(max_th: f64, capacity: f64) -> Answer<f64> {
    Ok(ared_dt::mean_delay_bound(max_th, capacity)?)
}
