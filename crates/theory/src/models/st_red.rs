//! ST-RED (Chen 2010, chapter 5, Fig. 5.3): Adaptive RED that is scaled when its oscillations change in size.

use quell_aqm::Link;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::part::detector::{half_way, upper_coefficient};
use quell_aqm::st_red::StRedParams;

use super::ared::{Ared, adaptation};
use super::law::{Equilibrium, FluidLaw, FluidView, Model, Variable, model};
use super::red::{Red, Spread, curve};
use crate::controller::Controller;
use crate::error::TheoryError;
use crate::network::FluidNetwork;
use crate::num::Real;

model! {
    /// ST-RED: the Adaptive RED that it is at the start, and what scales its parameters. `k` is the product of all
    /// scalings so far.
    pub struct StRed(ared: Ared) {
        /// Forgetting of the variance, in weights.
        phi1,
        /// Forgetting of the detection function, in weights.
        phi2,
        /// Half width of the detection function's range, in q_ref.
        gamma,
        /// Upper threshold of the deviation, in q_ref.
        h_l,
        /// Lower threshold of the deviation, in q_ref.
        h_s,
        /// Smallest k.
        k_bottom,
        /// Largest k.
        k_top,
    }
}

impl StRed {
    /// ST-RED with its parameters on a link.
    ///
    /// # Errors
    /// A parameter breaks a rule of its own.
    pub fn of(params: &StRedParams, link: &Link) -> Result<StRed, TheoryError> {
        params.build(link)?;
        let ared = Ared::of(&params.ared(), link)?;
        let Red { min_th, max_th, .. } = ared.red;
        let q_ref = 0.5 * (min_th + max_th);
        let half_buffer = 0.5 * link.buffer.in_packets(link.mean_packet);
        Ok(StRed {
            ared,
            phi1: params.phi1,
            phi2: params.phi2,
            gamma: params.gamma,
            h_l: upper_coefficient(params.gamma),
            h_s: params.h_s,
            k_bottom: params.q_ref_bottom.in_packets(link, q_ref.min(10.0)) / q_ref,
            k_top: params.q_ref_top.in_packets(link, q_ref.max(half_buffer)) / q_ref,
        })
    }
}

/// Chen 2010, eq. 5.5, 5.7, 6.11 and 6.12: how the variance and the detection function move, at the rates
/// `fast` and `slow` per second, each within its range around `q_ref`.
#[inline(always)]
pub(super) fn watched<V: Real>(queue: V, q_ref: V, gamma: V, fast: V, slow: V, s2: V, g2: V) -> (V, V) {
    let zero = V::of(0.0);
    let distance = queue - q_ref;
    let square = distance * distance;
    let wide = V::and(zero.lt(queue), queue.lt(V::of(2.0) * q_ref));
    let half = gamma * q_ref;
    let narrow = square.lt(half * half);
    (V::select(wide, fast * (square - s2), zero), V::select(narrow, slow * (square - g2), zero))
}

/// Chen 2010, Fig. 5.3 and 6.1: the factor that the oscillations ask for; 1 where they have not changed.
#[inline(always)]
pub(super) fn detected<V: Real>(s2: V, g2: V, q_ref: V, h_l: V, h_s: V) -> V {
    let (large, small) = (h_l * q_ref, h_s * q_ref);
    let (large2, small2) = (large * large, small * small);
    let grown = V::and(large2.lt(s2), large2.lt(g2));
    let shrunk = V::and(s2.lt(small2), g2.lt(small2));
    let s = s2.sqrt();
    V::select(grown, s / large, V::select(shrunk, s / small, V::of(1.0)))
}

impl<V: Real> FluidLaw<V> for StRed<V> {
    const STATE: &'static [Variable] =
        &[("avg", "packets"), ("max_p", "1"), ("sigma^2", "packets^2"), ("g^2", "packets^2"), ("k", "1")];

    fn start(&self, _: V, x: &mut [V]) {
        let Red { min_th, max_th, max_p, .. } = self.ared.red;
        let q_ref = V::of(0.5) * (min_th + max_th);
        x[0] = V::of(0.0);
        x[1] = max_p;
        x[2] = V::of(0.0);
        x[3] = between(self.h_s * q_ref, self.h_l * q_ref);
        x[4] = V::of(1.0);
    }

    #[inline(always)]
    fn probability(&self, _: V, _: V, x: &[V]) -> V {
        let red = &self.ared.red;
        let (min_th, max_th) = (x[4] * red.min_th, x[4] * red.max_th);
        let p = curve(x[0], min_th, max_th, x[1], x[4] * red.end);
        Spread::signaled(red.spread, red.crowding, p)
    }

    #[inline(always)]
    fn rates(&self, seen: &FluidView<V>, x: &[V], dx: &mut [V]) {
        let (k, red) = (x[4], &self.ared.red);
        let (min_th, max_th) = (k * red.min_th, k * red.max_th);
        let q_ref = V::of(0.5) * (min_th + max_th);
        let w = red.forgetting / k;
        dx[0] = w * seen.capacity * (seen.queue - x[0]);
        let gap = max_th - min_th;
        let band = (min_th + V::of(0.4) * gap, min_th + V::of(0.6) * gap);
        dx[1] = adaptation(x[0], band, x[1], self.ared.rise, self.ared.growth, self.ared.decay) / k;
        let (fast, slow) = (self.phi1 * w * seen.arrivals, self.phi2 * w * seen.arrivals);
        (dx[2], dx[3]) = watched(seen.queue, q_ref, self.gamma, fast, slow, x[2], x[3]);
        dx[4] = V::of(0.0);
    }

    #[inline(always)]
    fn confine(&self, x: &mut [V]) {
        self.ared.confine(x);
    }

    #[inline(always)]
    fn switch(&self, _: &FluidView<V>, x: &mut [V]) -> bool {
        let q_ref = V::of(0.5) * x[4] * (self.ared.red.min_th + self.ared.red.max_th);
        rescale(x, 2, q_ref, (self.h_l, self.h_s), (self.k_bottom, self.k_top))
    }
}

/// The step of ST-RED and ST-PI on detection: the variance, the detection function and k stand in this order
/// from `x[at]`.
#[inline(always)]
pub(super) fn rescale<V: Real>(x: &mut [V], at: usize, q_ref: V, h: (V, V), bounds: (V, V)) -> bool {
    let k = x[at + 2];
    let factor = detected(x[at], x[at + 1], q_ref, h.0, h.1);
    let new = (factor * k).within(bounds.0, bounds.1);
    let one = V::of(1.0);
    let changes = V::or(factor.lt(one), one.lt(factor));
    let q_ref = q_ref * new / k;
    x[at + 1] = V::select(changes, between(h.1 * q_ref, h.0 * q_ref), x[at + 1]);
    x[at + 2] = V::select(changes, new, k);
    V::any(changes)
}

/// Chen 2010, section 5.3.1: where `g^2` begins, as [`half_way`].
#[inline(always)]
pub(super) fn between<V: Real>(small: V, large: V) -> V {
    V::of(0.5) * (small * small + large * large)
}

impl Model for StRed {
    fn of_config(config: &AqmConfig, link: &Link, _: &FluidNetwork) -> Option<Result<Self, TheoryError>> {
        match config {
            AqmConfig::StRed(p) => Some(StRed::of(p, link)),
            _ => None,
        }
    }

    fn equilibrium(&self, network: &FluidNetwork) -> Result<Equilibrium, TheoryError> {
        let ared = self.ared.equilibrium(network)?;
        let q_ref = 0.5 * (self.ared.red.min_th + self.ared.red.max_th);
        let g2 = half_way(self.h_s * q_ref, self.h_l * q_ref);
        Ok(Equilibrium {
            state: vec![ared.state[0], ared.state[1], 0.0, g2, 1.0],
            point: ared.point,
            remark: Some(
                "analyzed as Adaptive RED before any detection; without noise q_ref would fall to its bound"
                    .into(),
            ),
        })
    }

    fn controller(&self, equilibrium: &Equilibrium) -> Result<Controller, TheoryError> {
        self.ared.controller(equilibrium)
    }
}
