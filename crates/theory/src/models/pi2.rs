//! PI2 and DualPI2 (De Schepper et al. 2016; RFC 9332 Appendix A).
//!
//! Both move one base probability b by a PI law of a delay, signal Classic senders with `b^2` and scalable ones with
//! `k b`. They differ in where scalable packets wait: PI2 has one queue, DualPI2 a second one, L, which is served
//! first. With scalable senders beside Classic ones the model has the Classic queue, and of L that it is empty; what
//! it sends is taken from the link first.
//!
//! Of DualPI2 that leaves out L's own ramp, which marks where no Classic packet waits long enough, the wait of L's
//! packets for the one in transmission and for each other, and the scheduler's weight.

use quell_aqm::Link;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::dualpi2::{DualPi2Params, Overload, gains};
use quell_aqm::part::dual_queue::Classifier;
use quell_aqm::pi2::{Pi2Params, Scalable};
use quell_units::Duration;

use super::law::{Equilibrium, FluidLaw, FluidView, Model, Variable, at_target, model};
use super::pi::bounded;
use crate::congestion::{Congestion, Signal};
use crate::controller::{Controller, Input};
use crate::error::TheoryError;
use crate::network::{Coupling, FluidNetwork};
use crate::num::{Rational, Real};
use crate::text::figure;

model! {
    /// PI2: `b' = K_P q' + K_I (q - q_ref)` for the base probability b, and signals with `square b^2 + linear b`; where
    /// there are two kinds of senders, Classic ones with `b^2` and scalable ones with `k b`.
    pub struct Pi2 {
        /// Proportional gain, per packet.
        k_p,
        /// Integral gain, per packet and second.
        k_i,
        /// Target in packets.
        q_ref,
        /// 1 for classic senders, 0 for scalable ones.
        square,
        /// The coupling for scalable senders, 0 for classic ones.
        linear,
        /// The coupling for scalable senders beside classic ones, 0 where they are told from them by nothing.
        beside,
        /// 1 where those have a queue of their own.
        apart,
        /// The largest b.
        top,
    }
}

/// Queue in which the packets of a sender wait, and the probability of their signals.
#[derive(Clone, Copy, PartialEq)]
enum Treatment {
    /// The queue, with `b^2`.
    Classic,
    /// The queue, with `k b`.
    Coupled,
    /// The queue L, with `k b` at least.
    Low,
}

/// PI2's treatment of a sender, by its packets' ECN field; `marked` says whether it uses ECN.
fn of_pi2(scalable: Scalable, congestion: &Congestion, marked: bool) -> Treatment {
    match scalable {
        Scalable::Ect if marked => Treatment::Coupled,
        Scalable::Ect1 if congestion.is_l4s() => Treatment::Coupled,
        _ => Treatment::Classic,
    }
}

/// DualPI2's treatment of a sender, by its packets' ECN field; `marked` says whether it uses ECN.
fn of_dualpi2(classifier: Classifier, congestion: &Congestion, marked: bool) -> Treatment {
    let l4s = congestion.is_l4s();
    match classifier {
        Classifier::Ect1 if l4s => Treatment::Low,
        Classifier::AnyEct if marked || l4s => Treatment::Low,
        Classifier::Dscp if l4s => Treatment::Coupled,
        _ => Treatment::Classic,
    }
}

/// A PI law of a delay.
struct Steps {
    alpha: f64,
    beta: f64,
    interval: Duration,
    target: Duration,
}

impl Pi2 {
    /// PI2 with its parameters on a link whose senders are `network`'s; its gains are found as those of
    /// [PIE](super::Pie), without a scale.
    ///
    /// # Errors
    /// A parameter breaks a rule of its own.
    pub fn of(params: &Pi2Params, link: &Link, network: &FluidNetwork) -> Result<Pi2, TheoryError> {
        params.build(link)?;
        let steps = Steps {
            alpha: params.alpha,
            beta: params.beta,
            interval: params.update_interval,
            target: params.target,
        };
        let place = |congestion: &Congestion, marked| of_pi2(params.scalable, congestion, marked);
        let own = place(&network.congestion, network.signal == Signal::Mark);
        let beside = network.scalables.map(|s| place(&s.congestion, true));
        Ok(Pi2::with(steps, link, (own, beside), params.coupling))
    }

    /// DualPI2 with its parameters on a link whose senders are `network`'s.
    ///
    /// # Errors
    /// A parameter breaks a rule of its own, or all packets wait in the L queue.
    pub fn of_dualpi2(
        params: &DualPi2Params,
        link: &Link,
        network: &FluidNetwork,
    ) -> Result<Pi2, TheoryError> {
        params.build(link)?;
        let interval = params.update_interval.unwrap_or(params.target.min(params.rtt_max / 3));
        let (alpha, beta) = gains(interval, params.rtt_max);
        let steps = Steps {
            alpha: params.alpha.unwrap_or(alpha),
            beta: params.beta.unwrap_or(beta),
            interval,
            target: params.target,
        };
        let place = |c: &Congestion, marked: bool| of_dualpi2(params.classifier, c, marked);
        let own = place(&network.congestion, network.signal == Signal::Mark);
        if own == Treatment::Low {
            let reason = match network.scalables {
                None => {
                    "all of these packets wait in its L queue, whose ramp is too narrow for a slope: see step"
                }
                Some(_) => {
                    "with classifier = \"any-ect\" these Classic packets also wait in its L queue because they are \
                     ECN-capable; turn off ECN for Classic senders"
                }
            };
            return Err(TheoryError::NoModel { algorithm: "dualpi2".into(), reason: reason.into() });
        }
        let beside = network.scalables.map(|s| place(&s.congestion, true));
        let mut model = Pi2::with(steps, link, (own, beside), params.k);
        if params.overload == Overload::Overflow {
            model.top = (1.0 / params.k).min(1.0);
        }
        Ok(model)
    }

    fn with(steps: Steps, link: &Link, places: (Treatment, Option<Treatment>), k: f64) -> Pi2 {
        let capacity = link.capacity();
        let coupled = places.0 != Treatment::Classic;
        let beside = places.1.filter(|place| *place != Treatment::Classic && !coupled);
        Pi2 {
            k_p: (steps.beta + 0.5 * steps.alpha) / capacity,
            k_i: steps.alpha / (steps.interval.as_secs_f64() * capacity),
            q_ref: steps.target.as_secs_f64() * capacity,
            square: if coupled { 0.0 } else { 1.0 },
            linear: if coupled { k } else { 0.0 },
            beside: if beside.is_some() { k } else { 0.0 },
            apart: if beside == Some(Treatment::Low) { 1.0 } else { 0.0 },
            top: 1.0,
        }
    }

    /// The base probability at which packets are signaled with `p`.
    fn base(&self, p: f64) -> f64 {
        if self.linear > 0.0 { p / self.linear } else { p.sqrt() }
    }
}

impl<V: Real> FluidLaw<V> for Pi2<V> {
    const STATE: &'static [Variable] = &[("base", "1")];

    #[inline(always)]
    fn probability(&self, _: V, _: V, x: &[V]) -> V {
        let base = x[0].within(V::of(0.0), self.top);
        ((self.square * base + self.linear) * base).min(V::of(1.0))
    }

    #[inline(always)]
    fn rates(&self, seen: &FluidView<V>, x: &[V], dx: &mut [V]) {
        dx[0] = bounded(self.k_p * seen.growth + self.k_i * (seen.queue - self.q_ref), x[0], self.top);
    }

    #[inline(always)]
    fn confine(&self, x: &mut [V]) {
        x[0] = x[0].within(V::of(0.0), self.top);
    }
}

impl Model for Pi2 {
    fn of_config(
        config: &AqmConfig,
        link: &Link,
        network: &FluidNetwork,
    ) -> Option<Result<Self, TheoryError>> {
        match config {
            AqmConfig::Pi2(p) => Some(Pi2::of(p, link, network)),
            AqmConfig::DualPi2(p) => Some(Pi2::of_dualpi2(p, link, network)),
            _ => None,
        }
    }

    fn equilibrium(&self, network: &FluidNetwork) -> Result<Equilibrium, TheoryError> {
        let point = at_target(network, self.q_ref)?;
        let base = self.base(point.probability);
        if base > self.top {
            return Err(TheoryError::NoEquilibrium {
                quantity: "the base probability".into(),
                reason: format!(
                    "the flows need {}, and marking is saturated at {}: only the buffer holds them; fewer flows, a \
                     higher capacity or overload = \"drop\" would have an equilibrium",
                    figure(base),
                    figure(self.top)
                ),
            });
        }
        if self.beside * base >= 1.0 {
            return Err(TheoryError::NoEquilibrium {
                quantity: "the base probability".into(),
                reason: format!(
                    "the flows need {}, but from {} on every scalable packet is marked. In this overload they are also \
                     dropped (RFC 9332 Appendix A), which the model omits; fewer flows, a higher capacity or a longer \
                     round-trip time would have an equilibrium",
                    figure(base),
                    figure(1.0 / self.beside)
                ),
            });
        }
        let remark = (self.apart > 0.0).then(|| {
            "the L queue is assumed to be empty, and its packets go first; its own ramp, its packets' waiting time and \
             the scheduler's weight are omitted"
                .to_string()
        });
        Ok(Equilibrium { state: vec![base], point, remark })
    }

    /// RFC 9332 section 2.1, eq. 1.
    fn coupling(&self) -> Coupling {
        Coupling { factor: (self.beside > 0.0).then_some(self.beside), apart: self.apart > 0.0 }
    }

    /// De Schepper et al. 2016, section 4: `(2 b square + linear) (K_P + K_I/s)`.
    fn controller(&self, equilibrium: &Equilibrium) -> Result<Controller, TheoryError> {
        let slope = 2.0 * self.square * equilibrium.state[0] + self.linear;
        let transfer = Rational::new([slope * self.k_i, slope * self.k_p], [0.0, 1.0]);
        Ok(Controller { transfer, input: Input::Queue })
    }
}

#[cfg(test)]
mod tests {
    use quell_units::{BitRate, Bytes, QueueSize};

    use super::*;
    use crate::fluid::{Fluid, Options, Start};
    use crate::linear::{Loop, Plant};
    use crate::models::AnyModel;
    use crate::network::{Class, Scalables};
    use crate::rules::analysis::analyze;

    /// The paper's point: the square makes the loop's gain the same, as near as the delay allows, whatever the number of
    /// flows; the margins of a PI controller with the same gains go apart.
    #[test]
    fn margins_stay_with_the_number_of_flows() {
        let link = Link {
            rate: BitRate::from_bps(100_000_000),
            buffer: QueueSize::Packets(5000.0),
            mean_packet: Bytes::new(1500),
        };
        let gain = |flows: f64, square: bool| {
            let network = FluidNetwork::new(flows, 0.1, link.capacity(), 5000.0);
            let pi2 = Pi2::of(&Pi2Params::default(), &link, &network).unwrap();
            let equilibrium = pi2.equilibrium(&network).unwrap();
            let slope = 2.0 * equilibrium.state[0];
            let mut controller = pi2.controller(&equilibrium).unwrap();
            if !square {
                controller.transfer = &controller.transfer * &Rational::new([1.0 / slope], [1.0]);
            }
            let control = Loop::new(&equilibrium.point, &controller, Plant::Exact).unwrap();
            control.response(3.0).norm()
        };
        let (few, many) = (gain(10.0, true), gain(100.0, true));
        let (few_pi, many_pi) = (gain(10.0, false), gain(100.0, false));
        // Beyond the windows' corner the plant's gain goes with 1/N, and 2b with N.
        assert!(
            (0.5..2.0).contains(&(few / many)) && few_pi / many_pi > 8.0,
            "{few} {many} {few_pi} {many_pi}"
        );
    }

    /// Reno at 15 Mbit/s and 80 ms, and as many scalable flows.
    fn shared(scalable: &str, signal: Signal) -> (Link, FluidNetwork) {
        let link = Link {
            rate: BitRate::from_bps(15_000_000),
            buffer: QueueSize::Packets(1000.0),
            mean_packet: Bytes::new(1000),
        };
        let class = |propagation| Class { flows: 10.0, propagation };
        let network = FluidNetwork {
            classes: vec![class(0.08), class(0.08)],
            scalables: Some(Scalables {
                from: 1,
                congestion: Congestion::named(scalable).unwrap(),
                coupling: Coupling::default(),
            }),
            signal,
            ..FluidNetwork::new(10.0, 0.08, link.capacity(), 1000.0)
        };
        (link, network)
    }

    /// RFC 9332 section 2.1: k = 2 gives both kinds about the same window: `sqrt(1.5)/b` beside `2.24/(2 b)`, for small b.
    #[test]
    fn coupled_windows_are_alike() {
        let (link, network) = shared("prague", Signal::Mark);
        let config = AqmConfig::DualPi2(DualPi2Params::default());
        let model = AnyModel::of(&config, &link, &network).unwrap();
        let Equilibrium { point, state, .. } = model.equilibrium(&network).unwrap();
        let [classic, scalable] = &point.classes[..] else { panic!("{point:?}") };
        let b = state[0];
        assert!((classic.signaled.0 - b * b).abs() < 1e-12 && (scalable.signaled.0 - 2.0 * b).abs() < 1e-12);
        assert!((classic.rtt - 0.095).abs() < 1e-12 && (scalable.rtt - 0.08).abs() < 1e-12, "{point:?}");
        let ratio = scalable.window / classic.window;
        assert!((0.85..1.0).contains(&ratio), "{ratio}");
        assert!((classic.rate() + scalable.rate() - link.capacity()).abs() < 1e-6, "{point:?}");
        // What C has of the link sends what waits there 15 ms.
        assert!((point.speed - link.capacity() / classic.rate()).abs() < 1e-6, "{point:?}");
    }

    /// Which code points are told apart, and that DCTCP is ECT(0).
    #[test]
    fn packets_wait_where_their_code_point_says() {
        let place = |params: DualPi2Params, scalable: &str, signal: Signal| {
            let (link, network) = shared(scalable, signal);
            Pi2::of_dualpi2(&params, &link, &network).map(|m| (m.coupling().factor, m.coupling().apart))
        };
        let by = |classifier| DualPi2Params { classifier, ..Default::default() };
        assert_eq!(place(by(Classifier::Ect1), "prague", Signal::Mark), Ok((Some(2.0), true)));
        assert_eq!(place(by(Classifier::Ect1), "dctcp", Signal::Mark), Ok((None, false)));
        let (link, mut network) = shared("dctcp", Signal::Mark);
        network.scalables.iter_mut().for_each(|s| s.congestion = s.congestion.as_ect1(true));
        let remarked = Pi2::of_dualpi2(&by(Classifier::Ect1), &link, &network).unwrap();
        assert_eq!((remarked.coupling().factor, remarked.coupling().apart), (Some(2.0), true));
        assert_eq!(place(by(Classifier::AnyEct), "dctcp", Signal::Drop), Ok((Some(2.0), true)));
        assert_eq!(place(by(Classifier::Off), "prague", Signal::Mark), Ok((None, false)));
        let refused = place(by(Classifier::AnyEct), "dctcp", Signal::Mark).unwrap_err().to_string();
        assert!(refused.contains("turn off ECN for Classic senders"), "{refused}");
        let alone = FluidNetwork {
            congestion: Congestion::named("prague").unwrap(),
            ..FluidNetwork::new(10.0, 0.08, 1875.0, 1000.0)
        };
        let link = shared("prague", Signal::Mark).0;
        let refused = Pi2::of_dualpi2(&DualPi2Params::default(), &link, &alone).unwrap_err().to_string();
        assert!(refused.contains("wait in its L queue"), "{refused}");
    }

    /// The transfer function of the coupled loop is the fluid's own: beside its margin the fluid returns, or grows, as the loop's mode.
    #[test]
    fn a_coupled_loop_has_the_margin_of_its_fluid() {
        for (name, signal, config) in [
            ("prague", Signal::Mark, AqmConfig::DualPi2(DualPi2Params::default())),
            ("prague", Signal::Drop, AqmConfig::DualPi2(DualPi2Params::default())),
            ("prague", Signal::Drop, AqmConfig::Pi2(Pi2Params::default())),
            (
                "dctcp",
                Signal::Drop,
                AqmConfig::DualPi2(DualPi2Params { classifier: Classifier::AnyEct, ..Default::default() }),
            ),
        ] {
            let (link, network) = shared(name, signal);
            let found = analyze(&config, &link, &network, Plant::Exact).unwrap();
            let AnyModel::Pi2(model) = found.model else { panic!("{found:?}") };
            let margin = found.stability.margins.gain.unwrap();
            let rest = found.equilibrium.point.queue / found.equilibrium.point.speed;
            for factor in [0.9, 1.1] {
                let gain = factor * margin;
                let mode = found.control.with_gain(gain).mode().unwrap();
                let (time, period) = (1.0 / mode.root.re.abs(), mode.period.unwrap());
                let model = Pi2 { k_p: gain * model.k_p, k_i: gain * model.k_i, ..model };
                let fluid = Fluid::new(network.clone(), AnyModel::Pi2(model)).unwrap();
                let options = Options { sample: period / 50.0, ..Options::default() };
                let run = fluid
                    .starting(Start::Equilibrium(0.01))
                    .unwrap()
                    .run(4.0 * time + period, &options)
                    .unwrap();
                let far = |t: f64| {
                    let inside =
                        run.time.iter().zip(&run.queue).filter(|(at, _)| (t..=t + period).contains(*at));
                    inside.map(|(_, q)| (q - rest).abs()).fold(0.0, f64::max)
                };
                let rate = (far(4.0 * time) / far(2.0 * time)).ln() / (2.0 * time);
                println!("{name}, {signal:?}: {rate} per second by the fluid, {} by the loop", mode.root);
                assert!((rate / mode.root.re - 1.0).abs() < 0.1, "{name}, {signal:?}: {rate}, {}", mode.root);
            }
        }
    }
}
