//! PI2 (De Schepper et al. 2016; RFC 9332 Appendix A).

use quell_aqm::Link;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::params::ParamError;
use quell_aqm::pi2::{Pi2Params, Scalable};

use super::law::{Equilibrium, Law, Model, Seen, Variable, at_target, model};
use super::pi::bounded;
use crate::congestion::Congestion;
use crate::controller::{Controller, Input};
use crate::error::TheoryError;
use crate::network::FluidNetwork;
use crate::num::Rational;
use crate::num::Real;

model! {
    /// PI2: `b' = K_P q' + K_I (q - q_ref)` for the base probability b, and signals with `square b^2 + linear b`.
    pub struct Pi2 {
        /// Per packet.
        k_p,
        /// Per packet and second.
        k_i,
        /// In packets.
        q_ref,
        /// 1 for classic senders, 0 for scalable ones.
        square,
        /// The coupling for scalable senders, 0 for classic ones.
        linear,
    }
}

impl Pi2 {
    /// PI2 with its parameters on a link whose senders are `congestion`'s; its gains are found as those of
    /// [PIE](super::Pie), without a scale.
    ///
    /// # Errors
    /// A parameter breaks a rule of its own.
    pub fn of(params: &Pi2Params, link: &Link, congestion: &Congestion) -> Result<Pi2, ParamError> {
        params.build(link)?;
        let capacity = link.capacity();
        let marks = matches!(congestion, Congestion::Scalable(_)) && params.scalable != Scalable::Nothing;
        Ok(Pi2 {
            k_p: (params.beta + 0.5 * params.alpha) / capacity,
            k_i: params.alpha / (params.update_interval.as_secs_f64() * capacity),
            q_ref: params.target.as_secs_f64() * capacity,
            square: if marks { 0.0 } else { 1.0 },
            linear: if marks { params.coupling } else { 0.0 },
        })
    }

    /// The base probability at which packets are signaled with `p`.
    fn base(&self, p: f64) -> f64 {
        if self.linear > 0.0 { p / self.linear } else { p.sqrt() }
    }
}

impl<V: Real> Law<V> for Pi2<V> {
    const STATE: &'static [Variable] = &[("base", "1")];

    fn start(&self, _: V, x: &mut [V]) {
        x[0] = V::of(0.0);
    }

    #[inline(always)]
    fn probability(&self, _: V, _: V, x: &[V]) -> V {
        let base = x[0].within(V::of(0.0), V::of(1.0));
        ((self.square * base + self.linear) * base).min(V::of(1.0))
    }

    #[inline(always)]
    fn rates(&self, seen: &Seen<V>, x: &[V], dx: &mut [V]) {
        dx[0] = bounded(self.k_p * seen.growth + self.k_i * (seen.queue - self.q_ref), x[0], V::of(1.0));
    }

    #[inline(always)]
    fn confine(&self, x: &mut [V]) {
        x[0] = x[0].within(V::of(0.0), V::of(1.0));
    }
}

impl Model for Pi2 {
    fn of_config(
        config: &AqmConfig,
        link: &Link,
        network: &FluidNetwork,
    ) -> Option<Result<Self, TheoryError>> {
        match config {
            AqmConfig::Pi2(p) => Some(Pi2::of(p, link, &network.congestion).map_err(Into::into)),
            _ => None,
        }
    }

    fn equilibrium(&self, network: &FluidNetwork) -> Result<Equilibrium, TheoryError> {
        let point = at_target(network, self.q_ref)?;
        Ok(Equilibrium { state: vec![self.base(point.probability)], point, remark: None })
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
    use crate::linear::{Loop, Plant};

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
            let pi2 = Pi2::of(&Pi2Params::default(), &link, &network.congestion).unwrap();
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
}
