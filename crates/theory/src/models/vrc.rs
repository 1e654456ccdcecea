//! VRC (Park et al. 2004, sections 2-3).

use quell_aqm::Link;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::params::ParamError;
use quell_aqm::part::{RateUpdate, interval_lag};
use quell_aqm::vrc::VrcParams;

use super::law::{Equilibrium, FluidLaw, FluidView, Model, Variable, at_target, model};
use super::pi::held;
use crate::controller::{Controller, Input};
use crate::error::TheoryError;
use crate::network::FluidNetwork;
use crate::num::{Rational, Real};

model! {
    /// VRC: the probability follows the rate's excess over a virtual target.
    pub struct Vrc {
        /// Gain of the rate, in seconds per packet.
        alpha,
        /// Gain, per second.
        beta,
        /// Gain, per second.
        gamma,
        /// Target in packets.
        q_ref,
        /// Time constant of the estimate of the rate, in seconds: K, or by how much an estimate that is made
        /// once per interval lags. The paper's analysis has 0; the fluid model needs it positive.
        rate_memory,
        /// The lowest correction, in packets per second; minus infinity without bounds.
        lowest,
        /// The highest correction, in packets per second; infinity without bounds.
        highest,
    }
}

impl Vrc {
    /// VRC with its parameters on a link.
    ///
    /// # Errors
    /// A parameter breaks a rule of its own.
    pub fn of(params: &VrcParams, link: &Link) -> Result<Vrc, ParamError> {
        let gains = params.gains()?;
        let memory = params.rate_memory.as_secs_f64();
        let q_ref = params.target(link).in_packets(link.mean_packet);
        let (lowest, highest) = match params.bounded {
            true => (-gains.gamma * q_ref, 1.0 / gains.alpha),
            false => (f64::NEG_INFINITY, f64::INFINITY),
        };
        Ok(Vrc {
            alpha: gains.alpha,
            beta: gains.beta,
            gamma: gains.gamma,
            q_ref,
            rate_memory: match params.rate_update {
                RateUpdate::Interval => interval_lag(memory, params.update_interval.as_secs_f64()),
                RateUpdate::Arrival => memory,
            },
            lowest,
            highest,
        })
    }
}

impl<V: Real> FluidLaw<V> for Vrc<V> {
    const STATE: &'static [Variable] = &[("correction", "packets/s"), ("rate", "packets/s")];

    #[inline(always)]
    fn probability(&self, queue: V, capacity: V, x: &[V]) -> V {
        // Park et al. 2004, eq. 2, 4 and 5.
        let target = capacity - self.gamma * (queue - self.q_ref);
        (self.alpha * (x[1] - (target - x[0]))).within(V::of(0.0), V::of(1.0))
    }

    #[inline(always)]
    fn rates(&self, seen: &FluidView<V>, x: &[V], dx: &mut [V]) {
        let target = seen.capacity - self.gamma * (seen.queue - self.q_ref);
        dx[0] = held(self.beta * (x[1] - target), x[0], self.lowest, self.highest);
        dx[1] = (seen.admitted - x[1]) / self.rate_memory;
    }

    #[inline(always)]
    fn confine(&self, x: &mut [V]) {
        x[0] = x[0].within(self.lowest, self.highest);
    }
}

impl Model for Vrc {
    fn of_config(config: &AqmConfig, link: &Link, _: &FluidNetwork) -> Option<Result<Self, TheoryError>> {
        match config {
            AqmConfig::Vrc(p) => Some(Vrc::of(p, link).map_err(Into::into)),
            _ => None,
        }
    }

    fn equilibrium(&self, network: &FluidNetwork) -> Result<Equilibrium, TheoryError> {
        let point = at_target(network, self.q_ref)?;
        // At equilibrium r = r_t = C, so p = alpha D.
        Ok(Equilibrium { state: vec![point.probability / self.alpha, point.capacity], point, remark: None })
    }

    /// Park et al. 2004, eq. 12 with the estimate of the rate behind its lag:
    /// `alpha (1 + beta/s) (s/(1 + K s) + gamma)`, which is PID for K = 0.
    fn controller(&self, _: &Equilibrium) -> Result<Controller, TheoryError> {
        let Vrc { alpha, beta, gamma, rate_memory, .. } = *self;
        let integral = Rational::new([alpha * beta, alpha], [0.0, 1.0]);
        let rate = Rational::new([gamma, 1.0 + gamma * rate_memory], [1.0, rate_memory]);
        Ok(Controller { transfer: &integral * &rate, input: Input::Queue })
    }
}
