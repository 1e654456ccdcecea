//! PID on the queue (Park et al. 2004, eq. 12).

use quell_aqm::Link;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::pid::PidParams;

use super::law::{Equilibrium, FluidLaw, FluidView, Model, Variable, at_target, crossing, memory, model};
use super::pi::bounded;
use crate::controller::{Controller, Input};
use crate::error::TheoryError;
use crate::network::FluidNetwork;
use crate::num::{Rational, Real};

model! {
    /// PID with a filtered error and an averaged derivative.
    pub struct Pid {
        /// Proportional gain, per packet.
        k_p,
        /// Integral gain, per packet and second; 0 makes it PD.
        k_i,
        /// Seconds per packet.
        k_d,
        /// Target in packets.
        q_ref,
        /// Time constant of the error's filter, in seconds; 0 does not filter.
        filter,
        /// Time constant of the derivative's average, in seconds; positive in the fluid model.
        slope_memory,
    }
}

impl Pid {
    /// PID with its parameters, which have been checked, on a link. A derivative that is not averaged is
    /// still a difference over one interval, which lags by half of it.
    pub fn of(params: &PidParams, link: &Link) -> Pid {
        let t_s = params.update_interval.as_secs_f64();
        Pid {
            k_p: params.k_p,
            k_i: params.k_i,
            k_d: params.k_d,
            q_ref: params.target(link).in_packets(link.mean_packet),
            filter: memory(params.filter, t_s),
            slope_memory: params.derivative_memory.as_secs_f64().max(0.5 * t_s),
        }
    }
}

impl<V: Real> FluidLaw<V> for Pid<V> {
    const STATE: &'static [Variable] =
        &[("filtered_queue", "packets"), ("p_settled", "1"), ("slope", "packets/s")];

    #[inline(always)]
    fn probability(&self, queue: V, _: V, x: &[V]) -> V {
        let (zero, one) = (V::of(0.0), V::of(1.0));
        let filtered = V::select(zero.lt(self.filter), x[0], queue);
        let proportional = (self.k_p * (filtered - self.q_ref)).within(zero, one);
        let settled = V::select(zero.lt(self.k_i), x[1], proportional);
        (settled + self.k_d * x[2]).within(zero, one)
    }

    #[inline(always)]
    fn rates(&self, seen: &FluidView<V>, x: &[V], dx: &mut [V]) {
        let filters = V::of(0.0).lt(self.filter);
        let filtered = V::select(filters, x[0], seen.queue);
        // Where nothing is filtered the state follows the queue without effect.
        dx[0] = (seen.queue - x[0]) / V::select(filters, self.filter, V::of(1.0));
        let growth = V::select(filters, dx[0], seen.growth);
        dx[1] = bounded(self.k_p * growth + self.k_i * (filtered - self.q_ref), x[1], V::of(1.0));
        dx[2] = (growth - x[2]) / self.slope_memory;
    }

    #[inline(always)]
    fn confine(&self, x: &mut [V]) {
        x[1] = x[1].within(V::of(0.0), V::of(1.0));
    }
}

impl Model for Pid {
    fn of_config(config: &AqmConfig, link: &Link, _: &FluidNetwork) -> Option<Result<Self, TheoryError>> {
        match config {
            AqmConfig::Pid(p) => Some(Ok(Pid::of(p, link))),
            _ => None,
        }
    }

    fn equilibrium(&self, network: &FluidNetwork) -> Result<Equilibrium, TheoryError> {
        let point = if self.k_i > 0.0 {
            at_target(network, self.q_ref)?
        } else {
            crossing(network, |q| (self.k_p * (q - self.q_ref)).clamp(0.0, 1.0))?
        };
        let settled = if self.k_i > 0.0 { point.probability } else { 0.0 };
        Ok(Equilibrium { state: vec![point.queue, settled, 0.0], point, remark: None })
    }

    /// Park et al. 2004, eq. 12 behind the filter: `(K_P + K_I/s + K_D s/(1 + T_d s))/(1 + T_f s)`.
    fn controller(&self, _: &Equilibrium) -> Result<Controller, TheoryError> {
        let Pid { k_p, k_i, k_d, filter, slope_memory: t, .. } = *self;
        // Over the common denominator s (1 + t s), or 1 + t s without an integral.
        let law = if k_i > 0.0 {
            Rational::new([k_i, k_p + k_i * t, k_p * t + k_d], [0.0, 1.0, t])
        } else {
            Rational::new([k_p, k_p * t + k_d], [1.0, t])
        };
        Ok(Controller { transfer: &law * &Rational::lag(filter), input: Input::Queue })
    }
}
