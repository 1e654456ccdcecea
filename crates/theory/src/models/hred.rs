//! HRED (Joo et al. 2006, section III, eq. 8-10, Fig. 1): a line whose level moves while the queue is outside
//! its thresholds.

use quell_aqm::Link;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::hred::{HredParams, adjustment_gain};
use quell_aqm::params::ParamError;

use super::law::{Equilibrium, FluidLaw, FluidView, Model, Variable, adapted, crossing, model};
use crate::controller::{Controller, Input};
use crate::error::TheoryError;
use crate::network::FluidNetwork;
use crate::num::{Rational, Real};

model! {
    /// HRED.
    pub struct Hred {
        /// Threshold in packets.
        min_th,
        /// Threshold in packets.
        max_th,
        /// Slope of the line as a share of `min_p`, per packet: `1/(kappa max_th)`.
        slope,
        /// `min_p` at the start.
        min_p,
        /// Smallest `min_p`.
        bottom,
        /// Largest `min_p`.
        top,
        /// Gain of a rise, per packet and arrival.
        k_alpha,
        /// Gain of a fall, per packet and arrival.
        k_beta,
    }
}

impl Hred {
    /// HRED with its parameters on a link.
    ///
    /// # Errors
    /// A parameter breaks a rule of its own.
    pub fn of(params: &HredParams, link: &Link) -> Result<Hred, ParamError> {
        params.build(link)?;
        let (low, high) = params.thresholds(link);
        let (min_th, max_th) = (low.in_packets(link.mean_packet), high.in_packets(link.mean_packet));
        let slope = 1.0 / (params.kappa * max_th);
        Ok(Hred {
            min_th,
            max_th,
            slope,
            min_p: params.min_p,
            bottom: params.min_p_floor,
            top: 1.0 / (1.0 + slope * (max_th - min_th)),
            k_alpha: adjustment_gain(link.capacity(), params.t_alpha),
            k_beta: adjustment_gain(link.capacity(), params.t_beta),
        })
    }
}

/// Joo et al. 2006, eq. 8 with eq. 10 in it.
#[inline(always)]
fn line<V: Real>(queue: V, min_p: V, min_th: V, slope: V) -> V {
    (min_p * (V::of(1.0) + slope * (queue - min_th))).within(V::of(0.0), V::of(1.0))
}

impl<V: Real> FluidLaw<V> for Hred<V> {
    const STATE: &'static [Variable] = &[("min_p", "1")];

    fn start(&self, _: V, x: &mut [V]) {
        x[0] = self.min_p;
    }

    #[inline(always)]
    fn probability(&self, queue: V, _: V, x: &[V]) -> V {
        line(queue, x[0], self.min_th, self.slope)
    }

    #[inline(always)]
    fn rates(&self, seen: &FluidView<V>, x: &[V], dx: &mut [V]) {
        let p = line(seen.queue, x[0], self.min_th, self.slope);
        let zero = V::of(0.0);
        let rise = self.k_alpha * (seen.queue - self.max_th).max(zero);
        let fall = self.k_beta * (self.min_th - seen.queue).max(zero);
        dx[0] = seen.arrivals * p * (rise - fall);
    }

    #[inline(always)]
    fn confine(&self, x: &mut [V]) {
        x[0] = x[0].within(self.bottom, self.top);
    }
}

impl Model for Hred {
    fn of_config(config: &AqmConfig, link: &Link, _: &FluidNetwork) -> Option<Result<Self, TheoryError>> {
        match config {
            AqmConfig::Hred(p) => Some(Hred::of(p, link).map_err(Into::into)),
            AqmConfig::HredFixed(p) => Some(Hred::of(&p.0, link).map_err(Into::into)),
            _ => None,
        }
    }

    /// Any queue between the thresholds is an equilibrium; this is the middle one, or, where no allowed
    /// `min_p` leads there, the equilibrium of the line at the bound.
    fn equilibrium(&self, network: &FluidNetwork) -> Result<Equilibrium, TheoryError> {
        let middle = 0.5 * (self.min_th + self.max_th);
        let needed = |p| p / (1.0 + self.slope * (middle - self.min_th));
        let held = |min_p| crossing(network, |q| line(q, min_p, self.min_th, self.slope));
        let (point, min_p, at_bound) = adapted(network, middle, (self.bottom, self.top), needed, held)?;
        let remark = if at_bound {
            format!("min_p is at its bound {min_p}")
        } else {
            format!(
                "any queue from {} to {} packets is an equilibrium; the middle is used",
                self.min_th, self.max_th
            )
        };
        Ok(Equilibrium { point, state: vec![min_p], remark: Some(remark) })
    }

    /// Joo et al. 2006, eq. 9: between the thresholds only the line's slope acts.
    fn controller(&self, equilibrium: &Equilibrium) -> Result<Controller, TheoryError> {
        Ok(Controller {
            transfer: Rational::new([equilibrium.state[0] * self.slope], [1.0]),
            input: Input::Queue,
        })
    }
}
