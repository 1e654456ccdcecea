//! PIE (RFC 8033 section 4.2; Pan et al. 2013).

use quell_aqm::Link;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::params::ParamError;
use quell_aqm::pie::{PieParams, scale};

use super::law::{Equilibrium, FluidLaw, FluidView, Model, Variable, at_target, model};
use super::pi::bounded;
use crate::controller::{Controller, Input};
use crate::error::TheoryError;
use crate::network::FluidNetwork;
use crate::num::{Rational, Real};
use crate::text::figure;

model! {
    /// PIE: `p' = s(p) (K_P q' + K_I (q - q_ref))`, where s is the scale of RFC 8033 section 4.2.
    pub struct Pie {
        /// Proportional gain, per packet, at a scale of 1.
        k_p,
        /// Integral gain, per packet and second, at a scale of 1.
        k_i,
        /// Target in packets.
        q_ref,
    }
}

impl Pie {
    /// PIE with its parameters on a link. A step of alpha (d - target) + beta (d - d_old) every T is
    /// `K_I = alpha/(T C)` and, by the bilinear transform as for PI, `K_P = (beta + alpha/2)/C`. The burst allowance,
    /// the decay at an empty queue and the spacing of signals have no part in it: none acts near an equilibrium with
    /// a queue.
    ///
    /// # Errors
    /// A parameter breaks a rule of its own.
    pub fn of(params: &PieParams, link: &Link) -> Result<Pie, ParamError> {
        params.build(link)?;
        let capacity = link.capacity();
        Ok(Pie {
            k_p: (params.beta + 0.5 * params.alpha) / capacity,
            k_i: params.alpha / (params.update_interval.as_secs_f64() * capacity),
            q_ref: params.target.as_secs_f64() * capacity,
        })
    }
}

/// RFC 8033 section 4.2: the scale of the gains.
#[inline(always)]
fn scaled<V: Real>(p: V) -> V {
    let mut s = V::of(1.0);
    for below in [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6] {
        s = V::select(p.lt(V::of(below)), V::of(scale(0.99 * below)), s);
    }
    s
}

impl<V: Real> FluidLaw<V> for Pie<V> {
    const STATE: &'static [Variable] = &[("p", "1")];

    #[inline(always)]
    fn probability(&self, _: V, _: V, x: &[V]) -> V {
        x[0].within(V::of(0.0), V::of(1.0))
    }

    #[inline(always)]
    fn rates(&self, seen: &FluidView<V>, x: &[V], dx: &mut [V]) {
        let pi = self.k_p * seen.growth + self.k_i * (seen.queue - self.q_ref);
        dx[0] = bounded(scaled(x[0]) * pi, x[0], V::of(1.0));
    }

    #[inline(always)]
    fn confine(&self, x: &mut [V]) {
        x[0] = x[0].within(V::of(0.0), V::of(1.0));
    }
}

impl Model for Pie {
    fn of_config(config: &AqmConfig, link: &Link, _: &FluidNetwork) -> Option<Result<Self, TheoryError>> {
        match config {
            AqmConfig::Pie(p) => Some(Pie::of(p, link).map_err(Into::into)),
            _ => None,
        }
    }

    fn equilibrium(&self, network: &FluidNetwork) -> Result<Equilibrium, TheoryError> {
        let point = at_target(network, self.q_ref)?;
        let remark = format!(
            "PIE's gains jump with p: they are {} of alpha and beta at p = {} [RFC 8033 section 4.2]",
            figure(scale(point.probability)),
            figure(point.probability)
        );
        Ok(Equilibrium { state: vec![point.probability], point, remark: Some(remark) })
    }

    /// A PI controller with the gains of the equilibrium's scale: there the queue is at its target, so what the scale
    /// multiplies is 0, and its own slope has no part.
    fn controller(&self, equilibrium: &Equilibrium) -> Result<Controller, TheoryError> {
        let s = scale(equilibrium.point.probability);
        let transfer = Rational::new([s * self.k_i, s * self.k_p], [0.0, 1.0]);
        Ok(Controller { transfer, input: Input::Queue })
    }
}
