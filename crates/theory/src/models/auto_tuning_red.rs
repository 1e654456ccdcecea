//! Auto-Tuning RED (Chen 2010, section 3.3, eq. 3.4-3.5, Fig. 3.2): RED whose `max_p` integrates the
//! average's distance from the middle of its thresholds.

use quell_aqm::Link;
use quell_aqm::auto_tuning_red::AutoTuningRedParams;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::params::ParamError;

use super::law::{Equilibrium, FluidLaw, FluidView, Model, Variable, adapted, model};
use super::red::Red;
use crate::controller::{Controller, Input};
use crate::error::TheoryError;
use crate::network::FluidNetwork;
use crate::num::{Rational, Real};

model! {
    /// Auto-Tuning RED.
    pub struct AutoTuningRed(red: Red) {
        /// Smallest `max_p`.
        bottom,
        /// Largest `max_p`.
        top,
        /// `epsilon zeta / interval`, per second.
        pace,
    }
}

impl AutoTuningRed {
    /// Auto-Tuning RED with its parameters on a link.
    ///
    /// # Errors
    /// A parameter breaks a rule of its own.
    pub fn of(params: &AutoTuningRedParams, link: &Link) -> Result<AutoTuningRed, ParamError> {
        params.build(link)?;
        let red = Red::of(&params.red(link), link);
        let interval = params.interval.map_or(4.0 * params.rtt.as_secs_f64(), |i| i.as_secs_f64());
        Ok(AutoTuningRed {
            red: red.expect("build has checked the same parameters"),
            bottom: params.max_p_bottom,
            top: params.max_p_top,
            pace: params.epsilon * params.zeta / interval,
        })
    }

    /// The RED that it is at a value of `max_p`.
    pub fn red(&self, max_p: f64) -> Red {
        Red { max_p, ..self.red }
    }
}

impl<V: Real> FluidLaw<V> for AutoTuningRed<V> {
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
        let q_ref = V::of(0.5) * (min_th + max_th);
        dx[1] = self.pace * V::of(2.0) * (x[0] - q_ref) / (max_th - min_th) * x[1];
    }

    #[inline(always)]
    fn confine(&self, x: &mut [V]) {
        x[1] = x[1].within(self.bottom, self.top);
    }
}

impl Model for AutoTuningRed {
    fn of_config(config: &AqmConfig, link: &Link, _: &FluidNetwork) -> Option<Result<Self, TheoryError>> {
        match config {
            AqmConfig::AutoTuningRed(p) => Some(AutoTuningRed::of(p, link).map_err(Into::into)),
            _ => None,
        }
    }

    fn equilibrium(&self, network: &FluidNetwork) -> Result<Equilibrium, TheoryError> {
        let q_ref = 0.5 * (self.red.min_th + self.red.max_th);
        let needed = |p| self.red.max_p_for(q_ref, p);
        let held = |max_p| Ok(self.red(max_p).equilibrium(network)?.point);
        let (point, max_p, at_bound) = adapted(network, q_ref, (self.bottom, self.top), needed, held)?;
        let remark =
            at_bound.then(|| format!("max_p is at its bound {max_p}; the average settles off its target"));
        Ok(Equilibrium { state: vec![point.queue, max_p], point, remark })
    }

    /// The slope of RED's line, and the integral of the average through `max_p`; at a bound of `max_p`
    /// only the former.
    fn controller(&self, equilibrium: &Equilibrium) -> Result<Controller, TheoryError> {
        let (avg, max_p) = (equilibrium.state[0], equilibrium.state[1]);
        let red = self.red(max_p);
        let line = red.controller(equilibrium)?;
        if equilibrium.remark.is_some() {
            return Ok(line);
        }
        let gap = red.max_th - red.min_th;
        // dp = L d avg + (avg - min_th)/gap d max_p, and max_p' = pace 2 max_p/gap d avg; the slope after
        // the spacing scales both.
        let spaced = red.slope(avg) / (max_p / gap);
        let integral = spaced * (avg - red.min_th) / gap * self.pace * 2.0 * max_p / gap;
        let both = Rational::new([integral, red.slope(avg)], [0.0, 1.0]);
        Ok(Controller { transfer: &both * &red.average(equilibrium.point.capacity), input: Input::Queue })
    }
}
