//! AVQ, read as a rate controller (Park et al. 2004, eq. 30-32; Kunniyur and Srikant 2001, section 4).

use quell_aqm::Link;
use quell_aqm::avq::AvqParams;
use quell_aqm::avq_rate::AvqRateParams;
use quell_aqm::catalog::AqmConfig;

use super::law::{Equilibrium, FluidLaw, FluidView, Model, Variable, model};
use crate::congestion::Signal;
use crate::controller::{Controller, Input};
use crate::error::TheoryError;
use crate::network::FluidNetwork;
use crate::num::{Rational, Real};

model! {
    /// AVQ: a virtual capacity integrates what the rate lacks of its target, `p = 1 - Cv/r`.
    pub struct Avq {
        /// Speed at which the virtual capacity adapts, per second.
        phi,
        /// The share of the capacity to use.
        tau,
        /// The virtual capacity at the start, as a share of the capacity.
        initial,
        /// Time constant of the estimate of the rate, in seconds. The papers' analysis has 0; the fluid
        /// model needs it positive.
        rate_memory,
    }
}

/// The virtual queue of AVQ proper, once it is full, signals exactly the excess of the rate over the
/// virtual capacity. Its paper calls that instantaneous; a rate is told from some packets, here ten.
const PACKETS_PER_RATE: f64 = 10.0;

impl Avq {
    /// AVQ with its parameters, which have been checked, on a link.
    pub fn of(params: &AvqParams, link: &Link) -> Avq {
        Avq {
            phi: params.phi,
            tau: params.tau,
            initial: params.initial_capacity,
            rate_memory: PACKETS_PER_RATE / link.capacity(),
        }
    }

    /// AVQ as a rate controller with its parameters, which have been checked.
    pub fn of_rate(params: &AvqRateParams, _: &Link) -> Avq {
        Avq {
            phi: params.phi,
            tau: params.tau,
            initial: params.initial_capacity,
            rate_memory: params.rate_memory.as_secs_f64(),
        }
    }
}

impl<V: Real> FluidLaw<V> for Avq<V> {
    const STATE: &'static [Variable] = &[("virtual_capacity", "packets/s"), ("rate", "packets/s")];

    fn start(&self, capacity: V, x: &mut [V]) {
        x[0] = self.initial * capacity;
        x[1] = V::of(0.0);
    }

    #[inline(always)]
    fn probability(&self, _: V, _: V, x: &[V]) -> V {
        // Park et al. 2004, eq. 32.
        (V::of(1.0) - x[0] / x[1].max(V::of(1e-9))).within(V::of(0.0), V::of(1.0))
    }

    #[inline(always)]
    fn rates(&self, seen: &FluidView<V>, x: &[V], dx: &mut [V]) {
        // Park et al. 2004, eq. 30, below the capacity (Chen 2010, Fig. 3.4).
        let change = self.phi * (self.tau * seen.capacity - seen.admitted);
        dx[0] = super::pi::bounded(change, x[0], seen.capacity);
        dx[1] = (seen.arrivals - x[1]) / self.rate_memory;
    }

    #[inline(always)]
    fn confine(&self, x: &mut [V]) {
        x[0] = x[0].max(V::of(0.0));
    }
}

impl Model for Avq {
    fn of_config(config: &AqmConfig, link: &Link, _: &FluidNetwork) -> Option<Result<Self, TheoryError>> {
        match config {
            AqmConfig::Avq(p) => Some(Ok(Avq::of(p, link))),
            AqmConfig::AvqRate(p) => Some(Ok(Avq::of_rate(p, link))),
            _ => None,
        }
    }

    /// The rate settles at `tau C`, and the queue is empty.
    fn equilibrium(&self, network: &FluidNetwork) -> Result<Equilibrium, TheoryError> {
        let point = network.point(0.0, self.tau * network.capacity)?;
        let virtual_capacity = (1.0 - point.probability) * point.arrivals;
        Ok(Equilibrium { state: vec![virtual_capacity, point.arrivals], point, remark: None })
    }

    /// Park et al. 2004, eq. 30 and 32 linearized: `dp = Cv/r^2 dr - dCv/r` and `Cv' = -phi dr`. With drops
    /// it is the admitted rate `(1 - p) r` that moves Cv, which feeds p back on itself.
    fn controller(&self, equilibrium: &Equilibrium) -> Result<Controller, TheoryError> {
        let (cv, r, p) = (equilibrium.state[0], equilibrium.point.arrivals, equilibrium.point.probability);
        let (slope, phi, t) = (cv / (r * r), self.phi, self.rate_memory);
        // Over s (1 + t s), or (s + phi)(1 + t s) where p feeds back.
        let (share, leak) = match equilibrium.point.signal {
            Signal::Mark => (1.0, 0.0),
            Signal::Drop => (1.0 - p, phi),
        };
        let integral = phi * share / r;
        Ok(Controller {
            transfer: Rational::new([integral, slope + integral * t], [leak, 1.0 + leak * t, t]),
            input: Input::Rate,
        })
    }
}
