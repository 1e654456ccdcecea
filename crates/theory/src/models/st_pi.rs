//! ST-PI (Chen 2010, chapter 6, Fig. 6.1): PI that is scaled when its oscillations change in size.

use quell_aqm::Link;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::part::detector::{half_way, upper_coefficient};
use quell_aqm::st_pi::StPiParams;

use super::law::{Equilibrium, FluidLaw, FluidView, Model, Variable, model};
use super::pi::{Pi, bounded};
use super::st_red::{between, rescale, watched};
use crate::controller::Controller;
use crate::error::TheoryError;
use crate::network::FluidNetwork;
use crate::num::Real;

model! {
    /// ST-PI: the PI that it is at the start, and what scales its parameters: `q_ref` by k, the gains by
    /// `1/k^2` (Chen 2010, eq. 6.6).
    pub struct StPi(pi: Pi) {
        /// Forgetting of the variance, per second.
        phi1,
        /// Forgetting of the detection function, per second.
        phi2,
        /// Half width of the detection function's range, in q_ref.
        gamma,
        /// Upper threshold of the deviation, in q_ref.
        h_l,
        /// Lower threshold of the deviation, in q_ref.
        h_s,
        /// Smallest k.
        k_bottom,
        /// Largest k.
        k_top,
    }
}

impl StPi {
    /// ST-PI with its parameters on a link.
    ///
    /// # Errors
    /// A parameter breaks a rule of its own.
    pub fn of(params: &StPiParams, link: &Link) -> Result<StPi, TheoryError> {
        params.build(link)?;
        let pi = Pi::of(&params.pi(), link)?;
        let half_buffer = 0.5 * link.buffer.in_packets(link.mean_packet);
        let phi1 = 1.0 / params.time_constant.as_secs_f64();
        Ok(StPi {
            pi,
            phi1,
            phi2: params.detection * phi1,
            gamma: params.gamma,
            h_l: upper_coefficient(params.gamma),
            h_s: params.h_s,
            k_bottom: params.q_ref_min.in_packets(link, pi.q_ref.min(5.0)) / pi.q_ref,
            k_top: params.q_ref_max.in_packets(link, pi.q_ref.max(half_buffer)) / pi.q_ref,
        })
    }
}

impl<V: Real> FluidLaw<V> for StPi<V> {
    const STATE: &'static [Variable] =
        &[("p", "1"), ("sigma^2", "packets^2"), ("g^2", "packets^2"), ("k", "1")];

    fn start(&self, _: V, x: &mut [V]) {
        x[..2].fill(V::of(0.0));
        x[2] = between(self.h_s * self.pi.q_ref, self.h_l * self.pi.q_ref);
        x[3] = V::of(1.0);
    }

    #[inline(always)]
    fn probability(&self, _: V, _: V, x: &[V]) -> V {
        x[0].within(V::of(0.0), V::of(1.0))
    }

    #[inline(always)]
    fn rates(&self, seen: &FluidView<V>, x: &[V], dx: &mut [V]) {
        let k = x[3];
        let q_ref = k * self.pi.q_ref;
        let move_p = (self.pi.k_p * seen.growth + self.pi.k_i * (seen.queue - q_ref)) / (k * k);
        dx[0] = bounded(move_p, x[0], V::of(1.0));
        (dx[1], dx[2]) = watched(seen.queue, q_ref, self.gamma, self.phi1, self.phi2, x[1], x[2]);
        dx[3] = V::of(0.0);
    }

    #[inline(always)]
    fn confine(&self, x: &mut [V]) {
        x[0] = x[0].within(V::of(0.0), V::of(1.0));
    }

    #[inline(always)]
    fn switch(&self, _: &FluidView<V>, x: &mut [V]) -> bool {
        rescale(x, 1, x[3] * self.pi.q_ref, (self.h_l, self.h_s), (self.k_bottom, self.k_top))
    }
}

impl Model for StPi {
    fn of_config(config: &AqmConfig, link: &Link, _: &FluidNetwork) -> Option<Result<Self, TheoryError>> {
        match config {
            AqmConfig::StPi(p) => Some(StPi::of(p, link)),
            _ => None,
        }
    }

    fn equilibrium(&self, network: &FluidNetwork) -> Result<Equilibrium, TheoryError> {
        let pi = self.pi.equilibrium(network)?;
        let g2 = half_way(self.h_s * self.pi.q_ref, self.h_l * self.pi.q_ref);
        Ok(Equilibrium {
            state: vec![pi.state[0], 0.0, g2, 1.0],
            point: pi.point,
            remark: Some(
                "analyzed as PI before any detection; without noise q_ref would fall to its bound".into(),
            ),
        })
    }

    fn controller(&self, equilibrium: &Equilibrium) -> Result<Controller, TheoryError> {
        self.pi.controller(equilibrium)
    }
}
