//! PI (Hollot et al. 2001b; Chen 2010, section 3.4, Park et al. 2004, eq. 24-25).

use quell_aqm::Link;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::params::ParamError;
use quell_aqm::pi::PiParams;

use super::law::{Equilibrium, FluidLaw, FluidView, Model, Variable, at_target, model};
use crate::controller::{Controller, Input};
use crate::error::TheoryError;
use crate::network::FluidNetwork;
use crate::num::{Rational, Real};

model! {
    /// PI: `p' = K_P q' + K_I (q - q_ref)`.
    pub struct Pi {
        /// Proportional gain, per packet.
        k_p,
        /// Integral gain, per packet and second.
        k_i,
        /// Target in packets.
        q_ref,
    }
}

impl Pi {
    /// PI with its parameters on a link. `a = K_P + K_I T_s/2` and `b = K_P - K_I T_s/2` (Chen 2010, section
    /// 3.4.2, the bilinear transform), so `K_P` is their mean; Park et al. 2004, eq. 25 reads it as b, which
    /// is the same up to
    /// `K_I T_s/2`.
    ///
    /// # Errors
    /// A parameter breaks a rule of its own.
    pub fn of(params: &PiParams, link: &Link) -> Result<Pi, ParamError> {
        params.build(link)?;
        let (a, b) = params.gains(link)?;
        Ok(Pi {
            k_p: 0.5 * (a + b),
            k_i: (a - b) * params.sampling_rate,
            q_ref: params.target(link).in_packets(link.mean_packet),
        })
    }
}

impl<V: Real> FluidLaw<V> for Pi<V> {
    const STATE: &'static [Variable] = &[("p", "1")];

    #[inline(always)]
    fn probability(&self, _: V, _: V, x: &[V]) -> V {
        x[0].within(V::of(0.0), V::of(1.0))
    }

    #[inline(always)]
    fn rates(&self, seen: &FluidView<V>, x: &[V], dx: &mut [V]) {
        dx[0] = bounded(self.k_p * seen.growth + self.k_i * (seen.queue - self.q_ref), x[0], V::of(1.0));
    }

    #[inline(always)]
    fn confine(&self, x: &mut [V]) {
        x[0] = x[0].within(V::of(0.0), V::of(1.0));
    }
}

/// A rate of change that does not lead out of `[0, top]`.
#[inline(always)]
pub(super) fn bounded<V: Real>(rate: V, x: V, top: V) -> V {
    held(rate, x, V::of(0.0), top)
}

/// A rate of change that does not lead out of `[low, top]`.
#[inline(always)]
pub(super) fn held<V: Real>(rate: V, x: V, low: V, top: V) -> V {
    let zero = V::of(0.0);
    let up = V::select(x.lt(top), rate.max(zero), zero);
    let down = V::select(low.lt(x), rate.min(zero), zero);
    up + down
}

impl Model for Pi {
    fn of_config(config: &AqmConfig, link: &Link, _: &FluidNetwork) -> Option<Result<Self, TheoryError>> {
        match config {
            AqmConfig::Pi(p) => Some(Pi::of(p, link).map_err(Into::into)),
            AqmConfig::PiFixed(p) => Some(Pi::of(&p.0, link).map_err(Into::into)),
            _ => None,
        }
    }

    fn equilibrium(&self, network: &FluidNetwork) -> Result<Equilibrium, TheoryError> {
        let point = at_target(network, self.q_ref)?;
        Ok(Equilibrium { state: vec![point.probability], point, remark: None })
    }

    /// Park et al. 2004, eq. 25: `K_P + K_I/s`.
    fn controller(&self, _: &Equilibrium) -> Result<Controller, TheoryError> {
        Ok(Controller { transfer: Rational::new([self.k_i, self.k_p], [0.0, 1.0]), input: Input::Queue })
    }
}
