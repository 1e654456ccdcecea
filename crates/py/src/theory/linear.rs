//! The loop itself, for direct use.

use num_complex::Complex64;
use pyo3::prelude::*;
use quell_theory::Controller;
use quell_theory::{Class, Congestion, FluidNetwork, Poly, Rational, TheoryError};

use super::arrays::{Numbers, array, numbers, row};
use super::words;
use crate::errors::{self, Answer, Refusal};

/// The margins of a loop: its distance from the limit of stability.
///
/// Examples
/// --------
/// >>> from quell.theory import Loop
/// >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
/// >>> margins = loop.margins()
/// >>> margins.delay_s > 0
/// True
#[pyclass(module = "quell.theory", frozen, get_all)]
#[derive(Clone, Debug)]
pub struct Margins {
    /// float or None: The factor by which the gain may rise; for an unstable loop, the factor to which it
    /// must fall. None if no factor changes the verdict.
    gain: Option<f64>,
    /// float or None: The smallest change of phase that reaches -1: positive for a lag, negative for a lead
    /// or an unstable loop. None without a crossover.
    phase_deg: Option<f64>,
    /// float or None: The smallest additional delay that makes it unstable, in seconds. None without a
    /// crossover, and for an unstable loop.
    delay_s: Option<f64>,
    /// numpy.ndarray: Where the gain is 1, rising.
    crossovers_rad_per_s: Numbers<f64>,
    /// numpy.ndarray: Where the loop's value is negative, rising: those that matter to the gain.
    phase_crossovers_rad_per_s: Numbers<f64>,
}

impl From<quell_theory::Margins> for Margins {
    fn from(x: quell_theory::Margins) -> Self {
        Margins {
            gain: x.gain,
            phase_deg: x.phase.map(f64::to_degrees),
            delay_s: x.delay,
            crossovers_rad_per_s: x.crossovers.into(),
            phase_crossovers_rad_per_s: x.phase_crossovers.into(),
        }
    }
}

#[pymethods]
impl Margins {
    fn __repr__(&self) -> String {
        let show = |x: Option<f64>| x.map_or("None".into(), |x| format!("{x:.4}"));
        let [gain, phase, delay] = [self.gain, self.phase_deg, self.delay_s].map(show);
        format!("Margins(gain={gain}, phase_deg={phase}, delay_s={delay})")
    }
}

/// A mode of the closed loop.
///
/// Examples
/// --------
/// >>> from quell.theory import Loop
/// >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
/// >>> mode = loop.mode()
/// >>> mode.settling_s > 0
/// True
#[pyclass(module = "quell.theory", frozen, get_all)]
#[derive(Clone, Debug)]
pub struct Mode {
    /// complex: The root, per second; its real part is negative if the mode dies out.
    root: Complex64,
    /// float: The damping ratio, ``-real/abs`` of the root.
    damping: f64,
    /// float or None: The period, if it oscillates.
    period_s: Option<f64>,
    /// float or None: The time in which it falls to 2%, if it does.
    settling_s: Option<f64>,
}

impl From<quell_theory::Mode> for Mode {
    fn from(x: quell_theory::Mode) -> Self {
        Mode { root: x.root, damping: x.damping, period_s: x.period, settling_s: x.settling }
    }
}

#[pymethods]
impl Mode {
    fn __repr__(&self) -> String {
        let Complex64 { re, im } = self.root;
        format!("Mode(root=({re:.4}{im:+.4}j), damping={:.4})", self.damping)
    }
}

/// A network and an algorithm near their equilibrium: a loop, with exact delays.
///
/// The flows are linearized as in Park et al. 2004, eq. 14 and appendix A.1, for any number of classes; the
/// loop is
/// ``L(s) = C(s) P(s)`` with the algorithm's ``C`` and the negative feedback of the flows and the queue.
/// Transfer functions are pairs of coefficients, numerator and denominator, with the highest power of s
/// first, as scipy and python-control have them.
///
/// Parameters
/// ----------
/// controller : (array_like, array_like)
///     The algorithm's transfer function, numerator and denominator: from the queue in packets (or from
///     the rate of arrivals in packets/s) to the probability of a signal.
/// flows : float or array_like
///     N; several for several classes.
/// rtt : float or array_like
///     R, including the queue at equilibrium, in seconds, one for each class.
/// capacity : float
///     C in packets/s.
/// queue : float, default 0.0
///     The queue at equilibrium, in packets.
/// input : {"queue", "rate"}, default "queue"
///     What the controller is applied to.
/// signal : {"mark", "drop"}, default "mark"
///     How a signal reaches the senders.
/// congestion : {"reno", "cubic", "dctcp", "prague"}, default "reno"
///     The senders' congestion control.
/// a : float, default 1.5
///     A signal takes W/a of Reno's window: 1.5 as Park et al. 2004 have it, 2 as Chen 2010, eq. 4.1.
/// increase : float, default 1.0
///     Packets that a window gains per round trip; CUBIC's gains what it does.
/// plant : {"exact", "simplified"}, default "exact"
///     "simplified" neglects the delay in the windows' own motion (Chen 2010, eq. 4.2; Hollot et al. 2001a).
///
/// Raises
/// ------
/// TheoryError
///     If a quantity is not physical, or the transfer function grows too fast with the frequency.
///
/// Examples
/// --------
/// >>> from quell.theory import Loop
/// >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
/// >>> loop.stable
/// True
#[pyclass(module = "quell.theory", frozen, name = "Loop")]
#[derive(Clone, Debug)]
pub struct Loop(pub quell_theory::Loop);

/// Coefficients of a polynomial, the highest power first.
fn high_first(p: &Poly) -> Vec<f64> {
    p.coefficients().iter().rev().copied().collect()
}

/// A polynomial from its coefficients.
fn poly(x: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<f64>> {
    let mut coefficients = row::<f64>(x, name)?;
    coefficients.reverse();
    Ok(coefficients)
}

/// A transfer function from a pair of coefficients.
pub fn rational(controller: (Bound<'_, PyAny>, Bound<'_, PyAny>)) -> PyResult<Rational> {
    Ok(Rational::new(poly(&controller.0, "the numerator")?, poly(&controller.1, "the denominator")?))
}

/// A pair of arrays from a transfer function.
type Pair<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

fn pair<'py>(py: Python<'py>, of: &Rational) -> PyResult<Pair<'py>> {
    Ok((array(py, &high_first(&of.numerator))?, array(py, &high_first(&of.denominator))?))
}

impl Loop {
    fn form_missing(wanted: &str, rule: &str) -> Refusal {
        TheoryError::quantity("the loop", format!("without {wanted}"), rule).into()
    }

    /// The frequencies that were asked for, or those that show the loop.
    fn omega(&self, omega: Option<&Bound<'_, PyAny>>) -> Answer<Vec<f64>> {
        let Some(omega) = omega else {
            return Ok(self.0.frequencies(500)?);
        };
        let omega = row::<f64>(omega, "omega")?;
        match omega.iter().find(|w| !(w.is_finite() && **w > 0.0)) {
            Some(w) => {
                Err(TheoryError::quantity("omega", format!("{w} rad/s"), "must be positive and finite")
                    .into())
            }
            None => Ok(omega),
        }
    }
}

#[pymethods]
impl Loop {
    #[new]
    #[pyo3(signature = (controller, *, flows, rtt, capacity, queue=0.0, input="queue", signal="mark", congestion="reno", a=1.5, increase=1.0, plant="exact"))]
    fn new(
        controller: (Bound<'_, PyAny>, Bound<'_, PyAny>),
        flows: &Bound<'_, PyAny>,
        rtt: &Bound<'_, PyAny>,
        capacity: f64,
        queue: f64,
        input: &str,
        signal: &str,
        congestion: &str,
        a: f64,
        increase: f64,
        plant: &str,
    ) -> Answer<Loop> {
        let transfer = rational(controller)?;
        let input = words::input(input)?;
        let signal = words::signal(signal)?;
        let plant = words::plant(plant)?;
        let (flows, rtt) = (row::<f64>(flows, "flows")?, row::<f64>(rtt, "rtt")?);
        if flows.len() != rtt.len() {
            let n = (flows.len(), rtt.len());
            return Err(errors::argument(format!("flows has {} classes and rtt has {}", n.0, n.1)).into());
        }
        let tcp = words::tcp(a, increase)?;
        let congestion = match Congestion::named(congestion)? {
            Congestion::Reno(_) => tcp.into(),
            other => other.growing(increase),
        };
        words::positive("capacity C", capacity, "packets/s")?;
        if !(queue >= 0.0 && queue.is_finite()) {
            return Err(
                TheoryError::quantity("queue q", format!("{queue} packets"), "must not be negative").into()
            );
        }
        if let Some(r) = rtt.iter().find(|r| r.is_nan() || **r <= queue / capacity) {
            let rule = format!("must exceed the queueing delay q/C = {} s", queue / capacity);
            return Err(TheoryError::quantity("round-trip time R", format!("{r} s"), rule).into());
        }
        let class = |(&flows, r): (&f64, &f64)| Class { flows, propagation: r - queue / capacity };
        let classes = flows.iter().zip(&rtt).map(class).collect();
        let buffer = queue.max(1.0);
        let network = FluidNetwork { classes, scalables: None, capacity, buffer, congestion, signal };
        network.check()?;
        let point = network.point(queue, capacity)?;
        Ok(Loop(quell_theory::Loop::new(&point, &Controller { transfer, input }, plant)?))
    }

    /// (numpy.ndarray, numpy.ndarray): The algorithm's transfer function: numerator and denominator, the highest
    /// power first.
    #[getter]
    fn controller<'py>(&self, py: Python<'py>) -> PyResult<Pair<'py>> {
        pair(py, self.0.controller())
    }

    /// bool: Whether every mode dies out. A root on the imaginary axis, to within rounding, does not.
    #[getter]
    fn stable(&self, py: Python<'_>) -> bool {
        py.detach(|| self.0.stable())
    }

    /// int: Roots of the closed loop to the right of the imaginary axis, conjugates included: 0 is
    /// stable. Counted by the principle of the argument, in steps that a bound proves small enough.
    #[getter]
    fn unstable_roots(&self, py: Python<'_>) -> Answer<usize> {
        Ok(py.detach(|| self.0.unstable_roots())?)
    }

    /// Find the gain, phase and delay margins.
    ///
    /// Returns
    /// -------
    /// Margins
    ///     The margins and the crossovers.
    ///
    /// Raises
    /// ------
    /// TheoryError
    ///     If the open loop is itself unstable, or a root lies on the axis.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import Loop
    /// >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    /// >>> round(loop.margins().phase_deg, 1)
    /// 53.0
    fn margins(&self, py: Python<'_>) -> Answer<Margins> {
        Ok(py.detach(|| self.0.margins())?.into())
    }

    /// Find the slowest mode of the closed loop, or the fastest to grow.
    ///
    /// Returns
    /// -------
    /// Mode
    ///     The root farthest to the right.
    ///
    /// Raises
    /// ------
    /// TheoryError
    ///     If no root could be confirmed as the farthest.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import Loop
    /// >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    /// >>> loop.mode().root.real < 0
    /// True
    fn mode(&self, py: Python<'_>) -> Answer<Mode> {
        Ok(py.detach(|| self.0.mode())?.into())
    }

    /// Evaluate ``L(j omega)``, with the exact delay.
    ///
    /// Parameters
    /// ----------
    /// omega : array_like
    ///     Frequencies in rad/s.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray of complex
    ///     One value for each frequency.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import Loop
    /// >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    /// >>> loop.response([1, 10]).shape
    /// (2,)
    fn response<'py>(&self, py: Python<'py>, omega: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        numbers::<f64>(omega)?.map(py, |w| self.0.response(w))
    }

    /// Evaluate the plant alone: from the probability to the queue (or the rate), its sign reversed.
    ///
    /// Parameters
    /// ----------
    /// omega : array_like
    ///     Frequencies in rad/s.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray of complex
    ///     One value for each frequency.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import Loop
    /// >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    /// >>> loop.plant_response([1, 10]).shape
    /// (2,)
    fn plant_response<'py>(&self, py: Python<'py>, omega: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        numbers::<f64>(omega)?.map(py, |w| self.0.plant_response(w))
    }

    /// Evaluate ``L(s)`` anywhere.
    ///
    /// Parameters
    /// ----------
    /// s : array_like of complex
    ///     Points of the complex plane, per second.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray of complex
    ///     One value for each point.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import Loop
    /// >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    /// >>> bool(abs(loop.at(1j)) > abs(loop.at(10j)))
    /// True
    fn at<'py>(&self, py: Python<'py>, s: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        numbers::<Complex64>(s)?.map(py, |s| self.0.at(s))
    }

    /// Choose frequencies that show the loop, evenly on a logarithmic scale.
    ///
    /// Parameters
    /// ----------
    /// count : int, default 500
    ///     How many.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     In rad/s, from a hundredth of the slowest corner to beyond the crossovers.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import Loop
    /// >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    /// >>> len(loop.frequencies(50))
    /// 50
    #[pyo3(signature = (count=500))]
    fn frequencies<'py>(&self, py: Python<'py>, count: usize) -> Answer<Bound<'py, PyAny>> {
        Ok(array(py, &self.0.frequencies(count)?)?)
    }

    /// Compute the Nyquist curve.
    ///
    /// Parameters
    /// ----------
    /// omega : array_like, optional
    ///     Frequencies in rad/s; by default those of :meth:`frequencies`.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray of complex
    ///     ``L(j omega)``.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import Loop
    /// >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    /// >>> loop.nyquist([1, 10]).shape
    /// (2,)
    #[pyo3(signature = (omega=None))]
    fn nyquist<'py>(
        &self,
        py: Python<'py>,
        omega: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        array(py, &self.0.nyquist(&self.omega(omega)?))
    }

    /// Compute the Bode diagram.
    ///
    /// Parameters
    /// ----------
    /// omega : array_like, optional
    ///     Frequencies in rad/s, rising; by default those of :meth:`frequencies`.
    ///
    /// Returns
    /// -------
    /// (numpy.ndarray, numpy.ndarray, numpy.ndarray)
    ///     The frequencies in rad/s, the gain as a factor, and the phase in degrees, continuous from the
    ///     lowest frequency on.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import Loop
    /// >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    /// >>> omega, gain, phase = loop.bode([1, 10])
    /// >>> bool(gain[0] > gain[1])
    /// True
    #[pyo3(signature = (omega=None))]
    fn bode<'py>(
        &self,
        py: Python<'py>,
        omega: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let omega = self.omega(omega)?;
        if omega.windows(2).any(|w| w[1] <= w[0]) {
            return Err(errors::argument("omega must rise: the phase is followed from one to the next"));
        }
        let points = py.detach(|| self.0.bode(&omega));
        let of = |f: fn(&quell_theory::linear::Bode) -> f64| points.iter().map(f).collect::<Vec<_>>();
        Ok((array(py, &omega)?, array(py, &of(|p| p.gain))?, array(py, &of(|p| p.phase.to_degrees()))?))
    }

    /// Multiply the gain.
    ///
    /// Parameters
    /// ----------
    /// factor : float
    ///     By how much.
    ///
    /// Returns
    /// -------
    /// Loop
    ///     The other loop.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import Loop
    /// >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    /// >>> loop.with_gain(100).stable
    /// False
    fn with_gain(&self, factor: f64) -> PyResult<Loop> {
        if !(factor.is_finite() && factor != 0.0) {
            return Err(errors::argument(format!("factor = {factor}: must be finite and not 0")));
        }
        Ok(Loop(self.0.with_gain(factor)))
    }

    /// Delay the signal further, with unchanged round-trip times.
    ///
    /// Parameters
    /// ----------
    /// seconds : float
    ///     By how much.
    ///
    /// Returns
    /// -------
    /// Loop
    ///     The other loop.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import Loop
    /// >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    /// >>> loop.with_delay(1).stable
    /// False
    fn with_delay(&self, seconds: f64) -> PyResult<Loop> {
        if !(seconds.is_finite() && seconds >= 0.0) {
            return Err(errors::argument(format!("seconds = {seconds}: must be finite and not negative")));
        }
        Ok(Loop(self.0.with_delay(seconds)))
    }

    /// Return the loop as a quotient of polynomials and a separate delay.
    ///
    /// Returns
    /// -------
    /// (numpy.ndarray, numpy.ndarray, float)
    ///     Numerator and denominator (arrays, the highest power first) and the delay in seconds.
    ///
    /// Raises
    /// ------
    /// TheoryError
    ///     If the delay cannot be separated: it can for one class, marks and the simplified plant.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import Loop
    /// >>> pi = [0.0024, 0.0045], [1, 0]
    /// >>> loop = Loop(pi, flows=100, rtt=0.2, capacity=1250, plant="simplified")
    /// >>> numerator, denominator, delay = loop.rational()
    /// >>> delay
    /// 0.2
    fn rational<'py>(&self, py: Python<'py>) -> Answer<(Bound<'py, PyAny>, Bound<'py, PyAny>, f64)> {
        let Some((rational, delay)) = self.0.rational() else {
            let rule =
                "the delay stands apart for one class, marks and plant=\"simplified\"; to_frd keeps it whole";
            return Err(Loop::form_missing("a rational form", rule));
        };
        let (numerator, denominator) = pair(py, &rational)?;
        Ok((numerator, denominator, delay))
    }

    /// Return the characteristic equation ``P(s) + Q(s) exp(-s R) = 0`` (Park et al. 2004, eq. 15).
    ///
    /// Returns
    /// -------
    /// (numpy.ndarray, numpy.ndarray, float)
    ///     P and Q (arrays, the highest power first) and R in seconds.
    ///
    /// Raises
    /// ------
    /// TheoryError
    ///     If there are several classes or a further delay.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import Loop
    /// >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    /// >>> p, q, delay = loop.quasi_polynomial()
    /// >>> delay
    /// 0.2
    fn quasi_polynomial<'py>(&self, py: Python<'py>) -> Answer<(Bound<'py, PyAny>, Bound<'py, PyAny>, f64)> {
        let Some((p, q, delay)) = self.0.quasi_polynomial() else {
            return Err(Loop::form_missing("a quasi-polynomial", "needs one class and no further delay"));
        };
        Ok((array(py, &high_first(&p))?, array(py, &high_first(&q))?, delay))
    }

    /// Return the characteristic polynomial with ``1/(1 + R s)`` in place of the delay (Park et al. 2004, eq.
    /// 16).
    ///
    /// From 1/R up the lag is smaller than the delay: a loop that it calls stable need not be.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     Coefficients, the highest power first and 1.
    ///
    /// Raises
    /// ------
    /// TheoryError
    ///     If there are several classes or a further delay.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import Loop
    /// >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    /// >>> len(loop.first_order_lag())
    /// 5
    fn first_order_lag<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyAny>> {
        let Some(p) = self.0.first_order_lag() else {
            return Err(Loop::form_missing("a polynomial", "needs one class and no further delay"));
        };
        Ok(array(py, &high_first(&p))?)
    }

    /// Convert to python-control: the loop without its delay, and the delay.
    ///
    /// Returns
    /// -------
    /// (control.TransferFunction, float)
    ///     A ``control.TransferFunction`` and the delay in seconds.
    ///
    /// Raises
    /// ------
    /// TheoryError
    ///     If the delay cannot be separated; see :meth:`rational`.
    /// ModuleNotFoundError
    ///     If python-control is not installed.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import Loop
    /// >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    /// >>> transfer, delay = loop.to_control()  # doctest: +SKIP
    fn to_control<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, f64)> {
        let (numerator, denominator, delay) = self.rational(py)?;
        Ok((python_control(py)?.call_method1("TransferFunction", (numerator, denominator))?, delay))
    }

    /// Convert to python-control: the frequency response, with the exact delay.
    ///
    /// Parameters
    /// ----------
    /// omega : array_like, optional
    ///     Frequencies in rad/s; by default those of :meth:`frequencies`.
    ///
    /// Returns
    /// -------
    /// control.FrequencyResponseData
    ///     The open loop, to be interpolated between the frequencies.
    ///
    /// Raises
    /// ------
    /// ModuleNotFoundError
    ///     If python-control is not installed.
    ///
    /// Examples
    /// --------
    /// >>> from quell.theory import Loop
    /// >>> loop = Loop(([0.0024, 0.0045], [1, 0]), flows=100, rtt=0.2, capacity=1250)
    /// >>> response = loop.to_frd()  # doctest: +SKIP
    #[pyo3(signature = (omega=None))]
    fn to_frd<'py>(&self, py: Python<'py>, omega: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let control = python_control(py)?;
        let omega = self.omega(omega)?;
        let response = array(py, &self.0.nyquist(&omega))?;
        let options = pyo3::types::PyDict::new(py);
        options.set_item("smooth", true)?;
        control.call_method("FrequencyResponseData", (response, array(py, &omega)?), Some(&options))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let show = |p: &Poly| high_first(p).iter().map(|c| format!("{c:.4e}")).collect::<Vec<_>>().join(", ");
        let (c, stable) = (self.0.controller(), if self.stable(py) { "stable" } else { "unstable" });
        format!("Loop(controller=([{}], [{}]), {stable})", show(&c.numerator), show(&c.denominator))
    }
}

fn python_control(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    crate::columns::optional(py, "control", "this", "python-control", "control")
}
