//! The motion of windows: the law of each congestion control, its equilibrium, and what it is near there.
//!
//! With R the round-trip time now, a subscript d for what was a round trip ago, p the probability of a signal and
//! `lambda_d = W_d p_d/R_d` the rate of signals that arrive at a flow:
//!
//! ```text
//! Reno     W' = i/R - W lambda_d/a
//! CUBIC    W' = (max(W/K, 3/(2R)) - W lambda_d)/a        K = cbrt(W/(k C))    k = (3 + beta)/(4 (1 - beta))
//! DCTCP    W' = i/R - W alpha m_d/(2R)                   m_d = 1 - (1 - p_d)^W_d
//!          alpha' = g/R (p_d - alpha)
//! ```
//!
//! **CUBIC** has no memory here but its window. Its sawtooth grows from beta of its peak back to the peak in K seconds
//! (RFC 9438 section 4.2) and has the mean `(3 + beta)/4` of the peak: with a loss every K seconds that is the mean
//! window of RFC 9438 section 5. Where `W/K` is less than what makes it as friendly to Reno as RFC 9438 section 4.3
//! has it, that is its growth, and its mean Reno's. Neither says how fast it moves. That is a = 2: windows under
//! independent losses lose `(1 - beta) p E[W^2]/R` together, which for windows of RFC 9438 is 0.45 to 0.51 of
//! `W^2 p/R`, W being the law's, for p from 1e-6 to 1e-2 and R from 10 ms to 1 s (a test measures one of these).
//!
//! Vardoyan et al. 2018 keep two states, the window before the last loss and the time since, each with its mean. At
//! rest the cubic function is flat there, so that to first order their window answers no signal: such a loop has no
//! margins. Windows under random losses do answer, since a loss takes the same share from a window wherever on its
//! curve it is.
//!
//! **DCTCP** (Alizadeh et al. 2011, eq. 1-2) takes `alpha/2` of the window in a round trip that had a mark. There p
//! is 0 or 1, all packets of a round trip being marked or none, and so is m. With marks independent of each other m is
//! the probability that a window of W packets has one; for p of 0 or 1 the two are the same. At rest `W p m = 2 i`:
//! `W = 2.24/p` for small p, where m = 1 would give the `2/p` of RFC 9332.
//!
//! **Prague** (draft-briscoe-iccrg-prague-congestion-control) is DCTCP with the virtual round-trip time
//! `V = max(R, 25 ms)` and the virtual window `W V/R` in place of R and W.

use crate::error::{TheoryError, positive, require};

/// Form in which a signal reaches the senders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signal {
    /// The packet is marked and goes on (ECN).
    #[default]
    Mark,
    /// The packet is dropped, and does not enter the queue.
    Drop,
}

/// Reno's window: `W' = increase/R - W W_R p_R/(decrease R_R)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tcp {
    /// Packets that the window gains per round trip: 1, or 1/2 where every second packet is
    /// acknowledged.
    pub increase: f64,
    /// The constant a: a signal takes `W/a`.
    pub decrease: f64,
}

impl Tcp {
    /// a = 3/2, with which `W = sqrt(3/(2p))`, as a sawtooth has it (Park et al. 2004, eq. 6, 13).
    pub const SAWTOOTH: Tcp = Tcp { increase: 1.0, decrease: 1.5 };
    /// a = 2, with which `W = sqrt(2/p)` (Misra et al. 2000; Chen 2010, eq. 4.1).
    pub const HALVING: Tcp = Tcp { increase: 1.0, decrease: 2.0 };

    /// `W^2 p` at equilibrium.
    pub fn product(&self) -> f64 {
        self.increase * self.decrease
    }
}

/// CUBIC's window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cubic {
    /// C of the cubic function, in packets per cubic second.
    pub scale: f64,
    /// beta: what a signal leaves of the window.
    pub left: f64,
    /// a: of the mean window a signal takes `W/a`.
    pub decrease: f64,
}

impl Cubic {
    /// C = 0.4, beta = 0.7 (RFC 9438 sections 4.6 and 5), and a = 2, which is measured.
    pub const RFC_9438: Cubic = Cubic { scale: 0.4, left: 0.7, decrease: 2.0 };

    /// `k C`: the mean of a sawtooth over `K^3`.
    fn steepness(&self) -> f64 {
        (3.0 + self.left) / (4.0 * (1.0 - self.left)) * self.scale
    }

    /// K: in which a sawtooth of the mean `window` grows from one loss to the next, in seconds.
    fn period(&self, window: f64) -> f64 {
        libm::cbrt(window / self.steepness())
    }

    /// The mean window of RFC 9438 section 5, and `sqrt(3/(2p))` where that is larger.
    fn window(&self, p: f64, rtt: f64) -> f64 {
        let cubic = libm::pow(self.steepness(), 0.25) * libm::pow(rtt / p, 0.75);
        cubic.max((FRIENDLY / p).sqrt())
    }

    /// a times the growth, per second, and whether it is the cubic function's.
    fn growth(&self, window: f64, rtt: f64) -> (f64, bool) {
        let (cubic, friendly) = (window / self.period(window), FRIENDLY / rtt);
        (cubic.max(friendly), cubic > friendly)
    }
}

/// `W^2 p` of a window as friendly to Reno as RFC 9438 section 4.3 makes it.
const FRIENDLY: f64 = 1.5;

/// The window of DCTCP and Prague, with their estimate alpha of the share of marks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scalable {
    /// i: packets that the window gains per round trip.
    pub increase: f64,
    /// g: how much a round trip changes the estimate.
    pub gain: f64,
    /// The round-trip time that shorter ones behave like, in seconds; 0 for none.
    pub reference: f64,
    /// Whether its packets say that they are of a scalable sender: ECT(1) (RFC 9331 section 4.1).
    pub ect1: bool,
}

impl Scalable {
    /// g = 1/16 (RFC 8257 section 4.2).
    pub const DCTCP: Scalable = Scalable { increase: 1.0, gain: 1.0 / 16.0, reference: 0.0, ect1: false };
    /// The same with independence of round-trip times below 25 ms.
    pub const PRAGUE: Scalable = Scalable { reference: 0.025, ect1: true, ..Scalable::DCTCP };

    /// V, in seconds.
    fn virtual_rtt(&self, rtt: f64) -> f64 {
        rtt.max(self.reference)
    }

    /// `W p m/2 - i` of a virtual window.
    fn excess(&self, window: f64, p: f64) -> f64 {
        0.5 * window * p * reached(p, window) - self.increase
    }

    /// The virtual window at equilibrium.
    fn virtual_window(&self, p: f64) -> f64 {
        // x m(x) >= 2i holds at x = 2i + 2 for m = 1 - e^-x, and (1 - p)^(x/p) <= e^-x.
        let (low, high) = (2.0 * self.increase / p, (2.0 * self.increase + 2.0) / p);
        rising_root(low, high, |w| self.excess(w, p))
    }

    /// The growth in packets per second.
    fn growth(&self, rtt: f64) -> f64 {
        let v = self.virtual_rtt(rtt);
        self.increase * rtt / (v * v)
    }
}

/// m: the probability that a window has a mark.
fn reached(p: f64, window: f64) -> f64 {
    -libm::expm1(window * libm::log1p(-p))
}

/// The zero of a function that rises from below 0 to above, between two positive numbers.
pub(crate) fn rising_root(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..80 {
        let middle = (low * high).sqrt();
        if middle <= low || middle >= high {
            break;
        }
        if f(middle) < 0.0 { low = middle } else { high = middle }
    }
    high
}

/// The law of the senders' windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Congestion {
    /// A packet more each round trip, and a share of the window less for each signal.
    Reno(Tcp),
    /// CUBIC.
    Cubic(Cubic),
    /// DCTCP or Prague.
    Scalable(Scalable),
}

impl Default for Congestion {
    fn default() -> Self {
        Tcp::SAWTOOTH.into()
    }
}

impl From<Tcp> for Congestion {
    fn from(tcp: Tcp) -> Self {
        Congestion::Reno(tcp)
    }
}

/// A window, its estimate of the share of marks, and its round-trip time in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sender {
    pub(crate) window: f64,
    pub(crate) share: f64,
    pub(crate) rtt: f64,
}

/// The state of a round trip ago, as the sender hears of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Heard {
    pub(crate) window: f64,
    pub(crate) rtt: f64,
    pub(crate) probability: f64,
}

/// A law near its equilibrium. With `e = e^(-s R)`,
///
/// ```text
/// (s + tau (own.0 + own.1 e)) dW = tau W/R (rtt.0 + rtt.1 e) dR - e (signal + share filter/(s + filter)) dp
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Local {
    /// Tau, per second.
    pub(crate) tau: f64,
    pub(crate) own: (f64, f64),
    pub(crate) rtt: (f64, f64),
    /// Answer to a signal, in packets per second.
    pub(crate) signal: f64,
    /// Answer through the estimate of the share of marks, in packets per second.
    pub(crate) share: f64,
    /// Rate of that estimate, per second; 0 without one.
    pub(crate) filter: f64,
}

impl Congestion {
    /// The laws by their names in scenarios.
    pub const NAMES: [&'static str; 4] = ["reno", "cubic", "dctcp", "prague"];

    /// Tells whether its packets say that they are of a scalable sender: ECT(1) (RFC 9331 section 4.1).
    /// DCTCP's are ECT(0), unless a scenario says otherwise.
    pub fn is_l4s(&self) -> bool {
        matches!(self, Congestion::Scalable(s) if s.ect1)
    }

    /// The law of senders whose packets are ECT(1) or are not. Only a scalable law keeps it.
    pub fn as_ect1(self, ect1: bool) -> Congestion {
        match self {
            Congestion::Scalable(s) => Congestion::Scalable(Scalable { ect1, ..s }),
            other => other,
        }
    }

    /// The law of a congestion control, with the constants of its specification.
    ///
    /// # Errors
    /// There is no law for that name; the error says why.
    pub fn named(name: &str) -> Result<Congestion, TheoryError> {
        Ok(match name {
            "reno" => Tcp::SAWTOOTH.into(),
            "cubic" => Congestion::Cubic(Cubic::RFC_9438),
            "dctcp" => Congestion::Scalable(Scalable::DCTCP),
            "prague" => Congestion::Scalable(Scalable::PRAGUE),
            _ => {
                let why = match name {
                    "bbr1" | "bbr3" => {
                        "BBR sends by a model of the path, so its window is not a function of the signal probability; "
                    }
                    "ledbat" => {
                        "LEDBAT holds the measured delay at its target, so its window is not a function of the signal \
                         probability; "
                    }
                    _ => "",
                };
                let rule = format!("{why}fluid models exist for {}", Congestion::NAMES.join(", "));
                return Err(TheoryError::quantity("congestion", format!("\"{name}\""), rule));
            }
        })
    }

    /// Its name in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            Congestion::Reno(_) => "reno",
            Congestion::Cubic(_) => "cubic",
            Congestion::Scalable(s) if s.reference == 0.0 => "dctcp",
            Congestion::Scalable(_) => "prague",
        }
    }

    /// The law with windows that grow by `increase` packets per round trip: 1/2 where every second packet is
    /// acknowledged. CUBIC's grow by the cubic function all the same.
    pub fn growing(self, increase: f64) -> Congestion {
        match self {
            Congestion::Reno(tcp) => Congestion::Reno(Tcp { increase, ..tcp }),
            Congestion::Cubic(_) => self,
            Congestion::Scalable(s) => Congestion::Scalable(Scalable { increase, ..s }),
        }
    }

    /// Refuses a law with a constant that is not physical, or with a signal that it does not answer.
    pub(crate) fn check(&self, signal: Signal) -> Result<(), TheoryError> {
        match self {
            Congestion::Reno(tcp) => {
                positive("increase of the window", tcp.increase, "packets per round trip")?;
                positive("decrease constant a", tcp.decrease, "")
            }
            Congestion::Cubic(c) => {
                positive("scale C of CUBIC", c.scale, "packets/s^3")?;
                require(c.left > 0.0 && c.left < 1.0, "beta of CUBIC", c.left, "must lie between 0 and 1")?;
                positive("decrease constant a", c.decrease, "")
            }
            Congestion::Scalable(s) => {
                positive("increase of the window", s.increase, "packets per round trip")?;
                require(s.gain > 0.0 && s.gain <= 1.0, "gain g", s.gain, "must lie in (0, 1]")?;
                require(
                    s.reference >= 0.0 && s.reference.is_finite(),
                    "reference of the round-trip time",
                    format!("{} s", s.reference),
                    "must not be negative",
                )?;
                require(
                    signal == Signal::Mark,
                    "signals",
                    "drops",
                    format!(
                        "must be marks for {}, which follows their share; it reacts to a loss as Reno does",
                        self.name()
                    ),
                )
            }
        }
    }

    /// Tells whether a sender keeps an estimate of the share of marks.
    pub(crate) fn estimates(&self) -> bool {
        matches!(self, Congestion::Scalable(_))
    }

    /// W in packets at equilibrium, for a probability of a signal and a round-trip time in seconds.
    pub fn window(&self, p: f64, rtt: f64) -> f64 {
        match self {
            Congestion::Reno(tcp) => (tcp.product() / p).sqrt(),
            Congestion::Cubic(c) => c.window(p, rtt),
            Congestion::Scalable(s) => s.virtual_window(p) * rtt / s.virtual_rtt(rtt),
        }
    }

    /// The probability with which flows of the given numbers and round-trip times in seconds offer `rate` packets
    /// per second, those that are dropped left out; above 1, or not a number, if none does.
    pub(crate) fn probability(&self, flows: &[(f64, f64)], rate: f64, signal: Signal) -> f64 {
        match self {
            Congestion::Reno(tcp) => {
                let window = rate / flows.iter().map(|(n, r)| n / r).sum::<f64>();
                // Marks: p = a/W^2. Drops: W = w/(1 - p), so p/(1 - p)^2 = a/w^2, whose smaller root is below 1.
                let ratio = tcp.product() / (window * window);
                match signal {
                    Signal::Mark => ratio,
                    Signal::Drop => 2.0 * ratio / (1.0 + 2.0 * ratio + (1.0 + 4.0 * ratio).sqrt()),
                }
            }
            Congestion::Cubic(c) => {
                let offered = |p: f64| flows.iter().map(|(n, r)| n / r * c.window(p, *r)).sum::<f64>();
                let lack = |p: f64| rate - offered(p) * if signal == Signal::Drop { 1.0 - p } else { 1.0 };
                if lack(1.0) < 0.0 {
                    return f64::INFINITY;
                }
                rising_root(1e-30, 1.0, lack)
            }
            Congestion::Scalable(s) => {
                // All have one virtual window.
                let window = rate / flows.iter().map(|(n, r)| n / s.virtual_rtt(*r)).sum::<f64>();
                if s.excess(window, 1.0) < 0.0 {
                    return f64::INFINITY;
                }
                rising_root(1e-30, 1.0, |p| s.excess(window, p))
            }
        }
    }

    /// Growth of a window without signals, in packets per second.
    pub(crate) fn growth(&self, window: f64, rtt: f64) -> f64 {
        let none = Heard { window, rtt, probability: 0.0 };
        self.rates(&Sender { window, share: 0.0, rtt }, &none).0
    }

    /// Rates of change of a window, in packets per second, and of the estimate, per second.
    pub(crate) fn rates(&self, now: &Sender, then: &Heard) -> (f64, f64) {
        let signals = then.window * then.probability / then.rtt;
        match self {
            Congestion::Reno(tcp) => (tcp.increase / now.rtt - now.window * signals / tcp.decrease, 0.0),
            Congestion::Cubic(c) => {
                let grown = c.growth(now.window, now.rtt).0;
                ((grown - now.window * signals) / c.decrease, 0.0)
            }
            Congestion::Scalable(s) => {
                let v = s.virtual_rtt(now.rtt);
                let window = then.window * s.virtual_rtt(then.rtt) / then.rtt;
                let taken = now.window * now.share * reached(then.probability, window) / (2.0 * v);
                (s.growth(now.rtt) - taken, s.gain / v * (then.probability - now.share))
            }
        }
    }

    /// The law near an equilibrium.
    pub(crate) fn near(&self, window: f64, rtt: f64, p: f64) -> Local {
        match self {
            Congestion::Reno(tcp) => Local {
                tau: tcp.increase / (window * rtt),
                own: (1.0, 1.0),
                rtt: (-1.0, 1.0),
                signal: window * window / (tcp.decrease * rtt),
                share: 0.0,
                filter: 0.0,
            },
            Congestion::Cubic(c) => {
                // The growth W/K goes as W^(2/3), the friendly one as 1/R.
                let cubic = c.growth(window, rtt).1;
                Local {
                    tau: window * p / (rtt * c.decrease),
                    own: (if cubic { 1.0 / 3.0 } else { 1.0 }, 1.0),
                    rtt: (if cubic { 0.0 } else { -1.0 }, 1.0),
                    signal: window * window / (c.decrease * rtt),
                    share: 0.0,
                    filter: 0.0,
                }
            }
            Congestion::Scalable(s) => {
                let v = s.virtual_rtt(rtt);
                let packets = window * v / rtt;
                let m = reached(p, packets);
                // Of m: by W, and by p; both are gone where every packet is marked.
                let unmarked = 1.0 - m;
                let per_window = if p < 1.0 { -packets * libm::log1p(-p) * unmarked / m } else { 0.0 };
                let per_p = if p < 1.0 { packets * unmarked / (1.0 - p) } else { 0.0 };
                Local {
                    tau: s.growth(rtt) / window,
                    own: (1.0, per_window),
                    rtt: if rtt < s.reference { (1.0, per_window) } else { (0.0, 0.0) },
                    signal: window * p / (2.0 * v) * per_p,
                    share: window * m / (2.0 * v),
                    filter: s.gain / v,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
