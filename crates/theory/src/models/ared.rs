//! Adaptive RED (Chen 2010, section 3.2, Fig. 3.1): RED whose `max_p` moves while the average is outside its
//! band.

use quell_aqm::Link;
use quell_aqm::ared::{AredParams, target_band};
use quell_aqm::catalog::AqmConfig;
use quell_aqm::params::ParamError;

use super::law::{Equilibrium, FluidLaw, FluidView, Model, Variable, adapted, model};
use super::red::Red;
use crate::controller::Controller;
use crate::error::TheoryError;
use crate::network::FluidNetwork;
use crate::num::Real;
use crate::text::figure;

model! {
    /// Adaptive RED.
    pub struct Ared(red: Red) {
        /// Smallest `max_p`.
        bottom,
        /// Largest `max_p`.
        top,
        /// Largest rate at which `max_p` rises: alpha per interval, per second.
        rise,
        /// Rate at which a small `max_p` rises, as a share of itself: a quarter per interval, per second.
        growth,
        /// Rate at which `max_p` falls, as a share of itself: `-ln(beta)` per interval, per second.
        decay,
    }
}

impl Ared {
    /// Adaptive RED with its parameters on a link.
    ///
    /// # Errors
    /// A parameter breaks a rule of its own.
    pub fn of(params: &AredParams, link: &Link) -> Result<Ared, ParamError> {
        params.build(link)?;
        let red = Red::of(&params.red(link), link);
        let interval = params.interval.as_secs_f64();
        Ok(Ared {
            red: red.expect("build has checked the same parameters"),
            bottom: params.max_p_bottom,
            top: params.max_p_top,
            rise: params.alpha / interval,
            growth: 1.0 / (4.0 * interval),
            decay: -libm::log(params.beta) / interval,
        })
    }

    /// The RED that it is at a value of `max_p`.
    pub fn red(&self, max_p: f64) -> Red {
        Red { max_p, ..self.red }
    }
}

/// `max_p'` (Chen 2010, Fig. 3.1, spread over the interval): up above the band, down below it.
#[inline(always)]
pub(super) fn adaptation<V: Real>(avg: V, band: (V, V), max_p: V, rise: V, growth: V, decay: V) -> V {
    let up = rise.min(growth * max_p);
    let still = V::select(avg.lt(band.0), -(decay * max_p), V::of(0.0));
    V::select(band.1.lt(avg), up, still)
}

impl<V: Real> FluidLaw<V> for Ared<V> {
    const STATE: &'static [Variable] = &[("avg", "packets"), ("max_p", "1")];

    fn start(&self, _: V, x: &mut [V]) {
        x[0] = V::of(0.0);
        x[1] = self.red.max_p;
    }

    #[inline(always)]
    fn probability(&self, _: V, _: V, x: &[V]) -> V {
        self.red.signals(x[0], x[1])
    }

    #[inline(always)]
    fn rates(&self, seen: &FluidView<V>, x: &[V], dx: &mut [V]) {
        dx[0] = self.red.averaging(seen, x[0]);
        let Red { min_th, max_th, .. } = self.red;
        let gap = max_th - min_th;
        let band = (min_th + V::of(0.4) * gap, min_th + V::of(0.6) * gap);
        dx[1] = adaptation(x[0], band, x[1], self.rise, self.growth, self.decay);
    }

    #[inline(always)]
    fn confine(&self, x: &mut [V]) {
        x[1] = x[1].within(self.bottom, self.top);
    }
}

impl Model for Ared {
    fn of_config(config: &AqmConfig, link: &Link, _: &FluidNetwork) -> Option<Result<Self, TheoryError>> {
        match config {
            AqmConfig::Ared(p) => Some(Ared::of(p, link).map_err(Into::into)),
            AqmConfig::AredFixed(p) => Some(Ared::of(&p.0, link).map_err(Into::into)),
            _ => None,
        }
    }

    /// Any average in the band is an equilibrium; this is the middle one, or, where no allowed `max_p` leads
    /// there, the equilibrium of RED with the bound of `max_p`.
    fn equilibrium(&self, network: &FluidNetwork) -> Result<Equilibrium, TheoryError> {
        let middle = 0.5 * (self.red.min_th + self.red.max_th);
        let needed = |p| self.red.max_p_for(middle, p);
        let held = |max_p| Ok(self.red(max_p).equilibrium(network)?.point);
        let (point, max_p, at_bound) = adapted(network, middle, (self.bottom, self.top), needed, held)?;
        let remark = if at_bound {
            format!("max_p is at its bound {max_p}; the average settles outside its band")
        } else {
            let (low, high) = target_band(self.red.min_th, self.red.max_th);
            format!(
                "any average from {} to {} packets is an equilibrium; the middle is used",
                figure(low),
                figure(high)
            )
        };
        Ok(Equilibrium { state: vec![point.queue, max_p], point, remark: Some(remark) })
    }

    fn controller(&self, equilibrium: &Equilibrium) -> Result<Controller, TheoryError> {
        self.red(equilibrium.state[1]).controller(equilibrium)
    }
}
