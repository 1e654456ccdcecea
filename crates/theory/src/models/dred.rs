//! DRED (Park et al. 2004, eq. 23): an integral controller behind a filter.

use quell_aqm::Link;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::dred::DredParams;

use super::law::{Equilibrium, FluidLaw, FluidView, Model, Variable, at_target, memory, model};
use super::pi::bounded;
use crate::controller::{Controller, Input};
use crate::error::TheoryError;
use crate::network::FluidNetwork;
use crate::num::{Rational, Real};

model! {
    /// DRED: `p' = alpha/(B T_s) e`, with e the filtered error.
    pub struct Dred {
        /// `alpha/(B T_s)`, per packet and second.
        k_i,
        /// Time constant of the filter in seconds; positive in the fluid model.
        filter,
        /// Target in packets.
        q_ref,
    }
}

impl Dred {
    /// DRED with its parameters, which have been checked, on a link. An error that is not filtered is
    /// still sampled, which holds it for half an interval on average.
    pub fn of(params: &DredParams, link: &Link) -> Dred {
        let t_s = params.update_interval.as_secs_f64();
        Dred {
            k_i: params.alpha / (link.buffer.in_packets(link.mean_packet) * t_s),
            filter: memory(params.filter, t_s).max(0.5 * t_s),
            q_ref: params.target(link).in_packets(link.mean_packet),
        }
    }
}

impl<V: Real> FluidLaw<V> for Dred<V> {
    const STATE: &'static [Variable] = &[("filtered_queue", "packets"), ("p", "1")];

    #[inline(always)]
    fn probability(&self, _: V, _: V, x: &[V]) -> V {
        x[1].within(V::of(0.0), V::of(1.0))
    }

    #[inline(always)]
    fn rates(&self, seen: &FluidView<V>, x: &[V], dx: &mut [V]) {
        dx[0] = (seen.queue - x[0]) / self.filter;
        dx[1] = bounded(self.k_i * (x[0] - self.q_ref), x[1], V::of(1.0));
    }

    #[inline(always)]
    fn confine(&self, x: &mut [V]) {
        x[1] = x[1].within(V::of(0.0), V::of(1.0));
    }
}

impl Model for Dred {
    fn of_config(config: &AqmConfig, link: &Link, _: &FluidNetwork) -> Option<Result<Self, TheoryError>> {
        match config {
            AqmConfig::Dred(p) => Some(Ok(Dred::of(p, link))),
            _ => None,
        }
    }

    fn equilibrium(&self, network: &FluidNetwork) -> Result<Equilibrium, TheoryError> {
        let point = at_target(network, self.q_ref)?;
        Ok(Equilibrium { state: vec![self.q_ref, point.probability], point, remark: None })
    }

    /// Park et al. 2004, eq. 23: `K_I/s` behind the filter.
    fn controller(&self, _: &Equilibrium) -> Result<Controller, TheoryError> {
        let integral = Rational::new([self.k_i], [0.0, 1.0]);
        Ok(Controller { transfer: &integral * &Rational::lag(self.filter), input: Input::Queue })
    }
}
