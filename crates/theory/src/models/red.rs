//! RED (Chen 2010, eq. 2.4, 4.2), and AP-RED with what it is told (Chen 2010, chapter 4).

use quell_aqm::Link;
use quell_aqm::ap_red::{ApRedParams, Conditions, Known};
use quell_aqm::catalog::AqmConfig;
use quell_aqm::part::{Spacing, is_step};
use quell_aqm::red::RedParams;

use super::law::{Equilibrium, FluidLaw, FluidView, Model, Variable, crossing, memory, model, unknown};
use crate::controller::{Controller, Input};
use crate::error::TheoryError;
use crate::network::FluidNetwork;
use crate::num::{Rational, Real};
use crate::text::figure;

model! {
    /// RED: the probability follows an average of the queue.
    pub struct Red {
        /// Threshold in packets.
        min_th,
        /// Threshold in packets.
        max_th,
        /// The probability at `max_th`.
        max_p,
        /// Queue at which the probability reaches 1, in packets: `2 max_th` if gentle, else `max_th`.
        end,
        /// Rate at which the average forgets, per packet: `-ln(1 - w)`.
        forgetting,
        /// Signals per arrival for a small probability: 2 with RED's uniform gaps, 1 with independent
        /// decisions.
        spread,
        /// Shortfall of the signals per arrival at larger probabilities.
        crowding,
    }
}

/// Share of the arrivals that are signaled when each deserves a signal with probability p and RED spaces
/// them: `factor p / (1 + crowding p)`.
///
/// The papers' theory leaves this out: it holds for [`Spacing::Geometric`] only, and with RED's own
/// uniform gaps of 1 to 1/p packets the loop's gain is twice as high.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The factor at small p.
    pub factor: f64,
    /// The correction for large p.
    pub crowding: f64,
}

impl Spread {
    /// Computes the factors from the mean gap: `(1 + 1/p)/2` for gaps uniform on `[1, 1/p]`, `1/(2p)` on `[1,
    /// 1/p - 1]` and `(3/p - 1)/2` on `[1/p, 2/p)`, `1/p` for independent decisions.
    pub fn of(spacing: Spacing) -> Self {
        match spacing {
            Spacing::Uniform | Spacing::OneDraw => Spread { factor: 2.0, crowding: 1.0 },
            Spacing::UniformPseudocode => Spread { factor: 2.0, crowding: 0.0 },
            Spacing::Wait => Spread { factor: 2.0 / 3.0, crowding: -1.0 / 3.0 },
            Spacing::Geometric => Spread { factor: 1.0, crowding: 0.0 },
        }
    }

    /// The share of arrivals that is signaled.
    #[inline(always)]
    pub fn signaled<V: Real>(factor: V, crowding: V, p: V) -> V {
        factor * p / (V::of(1.0) + crowding * p)
    }

    /// The probability with which the share `s` is signaled.
    pub fn deserved(&self, s: f64) -> f64 {
        s / (self.factor - self.crowding * s)
    }

    /// The slope of the share at the probability p.
    pub fn slope(&self, p: f64) -> f64 {
        let crowded = 1.0 + self.crowding * p;
        self.factor / (crowded * crowded)
    }
}

/// Chen 2010, eq. 2.4 at any thresholds, before the spacing.
#[inline(always)]
pub(super) fn curve<V: Real>(avg: V, min_th: V, max_th: V, max_p: V, end: V) -> V {
    let one = V::of(1.0);
    // Either line with one division: it starts at `from` and gains `rise` over `width`.
    let rising = avg.lt(max_th);
    let from = V::select(rising, V::of(0.0), max_p);
    let rise = V::select(rising, max_p * (avg - min_th), (one - max_p) * (avg - max_th));
    let width = V::select(rising, max_th - min_th, max_th);
    let p = from + rise / width;
    V::select(avg.lt(end), p.within(V::of(0.0), one), one)
}

/// Rate at which an average of weight `w` forgets, per packet. An average that is the last sample alone is
/// half a packet old, in the mean.
fn forgetting(w: f64) -> f64 {
    1.0 / memory(w, 1.0).max(0.5)
}

impl Red {
    /// RED with its parameters on a link.
    ///
    /// # Errors
    /// A parameter breaks a rule of its own.
    pub fn of(params: &RedParams, link: &Link) -> Result<Red, TheoryError> {
        params.build(link)?;
        let w = params.weight.resolve(link)?;
        let packets = |size: quell_units::QueueSize| size.in_packets(link.mean_packet);
        let spread = Spread::of(params.spacing);
        let (min_th, max_th) = (packets(params.min_th), packets(params.max_th));
        // Queues are whole packets: none lies within. With `gentle` and a lower max_p the slope beyond may hold it.
        // Equal thresholds leave no slope below max_p either, whatever is beyond.
        let is_step = is_step(params.min_th, params.max_th, link);
        if is_step || (max_th - min_th <= 1.0 && (!params.gentle || params.max_p >= 1.0)) {
            return Err(TheoryError::NoModel {
                algorithm: "red".into(),
                reason: format!(
                    "from {} to {} packets its probability is a step (a relay), which has no slope to linearize, and \
                     the queue swings around it (a limit cycle); thresholds more than a packet apart have a slope",
                    figure(min_th),
                    figure(max_th)
                ),
            });
        }
        Ok(Red {
            min_th,
            max_th,
            max_p: params.max_p,
            end: if params.gentle { 2.0 * max_th } else { max_th },
            forgetting: forgetting(w),
            spread: spread.factor,
            crowding: spread.crowding,
        })
    }

    /// AP-RED: RED with the setting that eq. 4.3-4.6 give for a network. What AP-RED is told of N and R
    /// goes before the network's own; what it would measure is the network's.
    ///
    /// # Errors
    /// A parameter breaks a rule of its own, or changes in time.
    pub fn of_ap_red(params: &ApRedParams, link: &Link, network: &FluidNetwork) -> Result<Red, TheoryError> {
        let at_rest = |field, n: usize| {
            unknown(
                field,
                format!("{n} steps"),
                "must be one value, or \"measured\", because the theory looks at one equilibrium",
            )
        };
        let flows = match &params.flows {
            Known::Value(n) => *n,
            Known::Rule(_) => network.classes.iter().map(|c| c.flows).sum(),
            Known::Steps(s) => return Err(at_rest("flows", s.len())),
        };
        let reference = params.reference(params.weight.resolve(link)?, link);
        let spread = Spread::of(params.spacing);
        let adapted = |rtt: f64| {
            let s = reference.adapt(&Conditions { flows, rtt, capacity: link.capacity() });
            Red {
                min_th: s.min_th,
                max_th: s.max_th,
                max_p: s.max_p,
                end: if params.gentle { 2.0 * s.max_th } else { s.max_th },
                forgetting: forgetting(s.w),
                spread: spread.factor,
                crowding: spread.crowding,
            }
        };
        // The handshakes that AP-RED measures see the mean propagation delay and whatever queue there
        // is; its equilibrium is where the queue that its setting holds is the queue in R.
        match &params.rtt {
            Known::Value(rtt) => Ok(adapted(rtt.as_secs_f64())),
            Known::Steps(s) => Err(at_rest("rtt", s.len())),
            Known::Rule(_) => {
                let propagation = network.classes.iter().map(|c| c.flows * c.propagation).sum::<f64>()
                    / network.classes.iter().map(|c| c.flows).sum::<f64>();
                let mut queue = 0.0;
                for _ in 0..1000 {
                    let red = adapted(propagation + queue / network.capacity);
                    let next = red.equilibrium(network)?.point.queue;
                    if (next - queue).abs() < 1e-9 * network.buffer {
                        return Ok(red);
                    }
                    queue = next;
                }
                Err(TheoryError::NoEquilibrium {
                    quantity: "the round-trip time R that AP-RED measures".into(),
                    reason: "its thresholds follow R, and R follows the queue that they hold, without converging; give R explicitly".into(),
                })
            }
        }
    }

    fn spacing(&self) -> Spread {
        Spread { factor: self.spread, crowding: self.crowding }
    }

    /// The share of arrivals that is signaled at the average `avg`.
    pub(super) fn signaled(&self, avg: f64) -> f64 {
        FluidLaw::<f64>::probability(self, avg, 1.0, &[avg])
    }

    /// The slope of the probability at the average `avg`, after the spacing: `L_red` of Chen 2010, eq. 4.2
    /// between the thresholds.
    pub fn slope(&self, avg: f64) -> f64 {
        let p = curve(avg, self.min_th, self.max_th, self.max_p, self.end);
        let slope = if avg <= self.min_th || avg >= self.end {
            0.0
        } else if avg < self.max_th {
            self.max_p / (self.max_th - self.min_th)
        } else {
            (1.0 - self.max_p) / self.max_th
        };
        slope * self.spacing().slope(p)
    }

    /// Distance that the average may move from `avg` before the curve bends, to the nearer side, in packets.
    pub fn straight(&self, avg: f64) -> f64 {
        let (from, to) = if avg < self.max_th { (self.min_th, self.max_th) } else { (self.max_th, self.end) };
        (avg - from).min(to - avg)
    }

    /// Distance that the average follows, within `time` seconds, a queue that grows by one packet per second.
    pub fn follows(&self, time: f64, capacity: f64) -> f64 {
        let memory = 1.0 / (self.forgetting * capacity);
        time + memory * libm::expm1(-time / memory)
    }

    /// The `max_p` with which the share `signaled` belongs to the average `avg` between the thresholds.
    pub(super) fn max_p_for(&self, avg: f64, signaled: f64) -> f64 {
        self.spacing().deserved(signaled) * (self.max_th - self.min_th) / (avg - self.min_th)
    }

    /// The average's transfer function at a capacity: `1/(s/K + 1)` with `K = -ln(1 - w) C`, Chen 2010,
    /// eq. 4.2.
    pub(super) fn average(&self, capacity: f64) -> Rational {
        Rational::lag(1.0 / (self.forgetting * capacity))
    }
}

impl<V: Real> Red<V> {
    /// The share of arrivals that is signaled at an average, with a value of `max_p`.
    #[inline(always)]
    pub(super) fn signals(&self, avg: V, max_p: V) -> V {
        let p = curve(avg, self.min_th, self.max_th, max_p, self.end);
        Spread::signaled(self.spread, self.crowding, p)
    }

    /// The motion of the average, per second.
    #[inline(always)]
    pub(super) fn averaging(&self, seen: &FluidView<V>, avg: V) -> V {
        self.forgetting * seen.capacity * (seen.queue - avg)
    }
}

impl<V: Real> FluidLaw<V> for Red<V> {
    const STATE: &'static [Variable] = &[("avg", "packets")];

    #[inline(always)]
    fn probability(&self, _: V, _: V, x: &[V]) -> V {
        self.signals(x[0], self.max_p)
    }

    #[inline(always)]
    fn rates(&self, seen: &FluidView<V>, x: &[V], dx: &mut [V]) {
        dx[0] = self.averaging(seen, x[0]);
    }
}

impl Model for Red {
    fn of_config(
        config: &AqmConfig,
        link: &Link,
        network: &FluidNetwork,
    ) -> Option<Result<Self, TheoryError>> {
        match config {
            AqmConfig::Red(p) => Some(Red::of(p, link)),
            AqmConfig::RedFixed(p) => Some(Red::of(&p.0, link)),
            AqmConfig::ApRed(p) => Some(Red::of_ap_red(p, link, network)),
            _ => None,
        }
    }

    fn equilibrium(&self, network: &FluidNetwork) -> Result<Equilibrium, TheoryError> {
        let point = crossing(network, |q| self.signaled(q))?;
        let remark = (point.queue >= self.max_th).then(|| {
            format!(
                "the average settles above max_th = {} packets, where the curve is steeper",
                figure(self.max_th)
            )
        });
        Ok(Equilibrium { state: vec![point.queue], point, remark })
    }

    fn controller(&self, equilibrium: &Equilibrium) -> Result<Controller, TheoryError> {
        let avg = equilibrium.state[0];
        let slope = self.slope(avg);
        if slope == 0.0 {
            return Err(TheoryError::quantity(
                "average queue",
                format!("{avg} packets"),
                "must lie where the probability rises [Chen 2010, eq. 2.4]",
            ));
        }
        let gain = Rational::new([slope], [1.0]);
        Ok(Controller { transfer: &gain * &self.average(equilibrium.point.capacity), input: Input::Queue })
    }
}
