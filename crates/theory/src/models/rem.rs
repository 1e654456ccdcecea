//! REM (Chen 2010, eq. 3.8-3.10, Park et al. 2004, eq. 26-29).

use quell_aqm::Link;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::rem::{PriceForm, RemParams};

use super::law::{Equilibrium, FluidLaw, FluidView, Model, Variable, at_target, model};
use crate::controller::{Controller, Input};
use crate::error::TheoryError;
use crate::network::FluidNetwork;
use crate::num::{Rational, Real};

model! {
    /// REM: the price integrates the mismatch of queue and rate, `p = 1 - phi^-price`.
    pub struct Rem {
        /// Gain of the price per packet by which the queue grows.
        per_growth,
        /// Gain of the price per packet of excess queue and second.
        per_excess,
        /// The logarithm of phi.
        ln_phi,
        /// Target in packets.
        q_ref,
    }
}

impl Rem {
    /// REM with its parameters, which have been checked, on a link. The queue of eq. 3.9 is the one a
    /// step ago, so the change counts for `gamma (1 - alpha)`; in eq. 3.8 the rate counts in full and the
    /// queue is that of now. Both updates sample the excess at one end of the interval, which the
    /// continuous form puts in its middle: `gamma (1 - alpha/2)`, and `gamma (1 + alpha/2)`.
    pub fn of(params: &RemParams, link: &Link) -> Rem {
        let t_s = params.update_interval.as_secs_f64();
        let half = match params.form {
            PriceForm::Queue => -0.5 * params.alpha,
            PriceForm::Rate => 0.5 * params.alpha,
        };
        Rem {
            per_growth: params.gamma * (1.0 + half),
            per_excess: params.gamma * params.alpha / t_s,
            ln_phi: libm::log(params.phi),
            q_ref: params.target(link).in_packets(link.mean_packet),
        }
    }
}

impl<V: Real> FluidLaw<V> for Rem<V> {
    const STATE: &'static [Variable] = &[("price", "1")];

    #[inline(always)]
    fn probability(&self, _: V, _: V, x: &[V]) -> V {
        -(-(self.ln_phi * x[0].max(V::of(0.0)))).exp_m1()
    }

    #[inline(always)]
    fn rates(&self, seen: &FluidView<V>, x: &[V], dx: &mut [V]) {
        let rate = self.per_growth * seen.growth + self.per_excess * (seen.queue - self.q_ref);
        dx[0] = V::select(V::of(0.0).lt(x[0]), rate, rate.max(V::of(0.0)));
    }

    #[inline(always)]
    fn confine(&self, x: &mut [V]) {
        x[0] = x[0].max(V::of(0.0));
    }
}

impl Model for Rem {
    fn of_config(config: &AqmConfig, link: &Link, _: &FluidNetwork) -> Option<Result<Self, TheoryError>> {
        match config {
            AqmConfig::Rem(p) => Some(Ok(Rem::of(p, link))),
            _ => None,
        }
    }

    fn equilibrium(&self, network: &FluidNetwork) -> Result<Equilibrium, TheoryError> {
        let point = at_target(network, self.q_ref)?;
        if point.probability >= 1.0 {
            return Err(TheoryError::NoEquilibrium {
                quantity: "the price".into(),
                reason: "the flows need every packet signaled, which no finite price achieves [Chen 2010, eq. 3.10]"
                    .into(),
            });
        }
        Ok(Equilibrium { state: vec![-libm::log1p(-point.probability) / self.ln_phi], point, remark: None })
    }

    /// Park et al. 2004, eq. 29 at any price: the slope of eq. 26 is `(1 - p) ln phi`.
    fn controller(&self, equilibrium: &Equilibrium) -> Result<Controller, TheoryError> {
        let slope = (1.0 - equilibrium.point.probability) * self.ln_phi;
        Ok(Controller {
            transfer: Rational::new([slope * self.per_excess, slope * self.per_growth], [0.0, 1.0]),
            input: Input::Queue,
        })
    }
}
