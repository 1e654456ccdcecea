//! The same arithmetic, compiled for the widest registers that the processor has.

use super::clock::Clock;
use super::plant::Net;
use super::setup::Options;
use crate::error::TheoryError;
use crate::num::dde::{self, Past, Piece, System, Tolerance, Work};
use crate::num::{Real, Wide};

/// Number of fluids that are computed side by side.
pub(super) const SIDE: usize = 8;

/// A plant with its rates compiled for one kind of processor.
struct Compiled<I, P> {
    pub(super) simd: I,
    pub(super) plant: P,
}

impl<I: pulp::Simd, V: Real, const D: usize, P: System<V, D>> System<V, D> for Compiled<I, P> {
    fn delays(&self) -> usize {
        self.plant.delays()
    }

    fn longest_delay(&self) -> f64 {
        self.plant.longest_delay()
    }

    fn before(&self, lane: usize, t: f64) -> [f64; D] {
        self.plant.before(lane, t)
    }

    #[inline(always)]
    fn rates(&self, leg: usize, t: f64, y: &[V; D], past: &mut Past<'_, V, D>) -> [V; D] {
        self.simd.vectorize(Rates { plant: &self.plant, leg, t, y, past })
    }

    fn confine(&self, y: &mut [V; D]) {
        self.plant.confine(y);
    }

    fn switch(&self, leg: usize, t: f64, y: &mut [V; D]) -> bool {
        self.plant.switch(leg, t, y)
    }

    fn scale(&self, variable: usize) -> f64 {
        self.plant.scale(variable)
    }
}

/// A call of [`System::rates`].
struct Rates<'c, 's, P, V, const D: usize> {
    pub(super) plant: &'c P,
    pub(super) leg: usize,
    pub(super) t: f64,
    pub(super) y: &'c [V; D],
    pub(super) past: &'c mut Past<'s, V, D>,
}

impl<P: System<V, D>, V: Real, const D: usize> pulp::WithSimd for Rates<'_, '_, P, V, D> {
    type Output = [V; D];

    #[inline(always)]
    fn with_simd<I: pulp::Simd>(self, _: I) -> Self::Output {
        self.plant.rates(self.leg, self.t, self.y, self.past)
    }
}

/// The steps of one fluid, whatever its law. Its variables stand side by side.
pub(super) struct Alone<'t, const D: usize> {
    pub(super) system: &'t dyn System<f64, D>,
    pub(super) net: &'t Net<f64, D>,
    pub(super) duration: f64,
    pub(super) tolerance: &'t Tolerance,
    pub(super) see: &'t mut dyn FnMut(&Piece<f64, D>),
}

impl<const D: usize> pulp::WithSimd for Alone<'_, D> {
    type Output = Result<Work, TheoryError>;

    #[inline(always)]
    fn with_simd<I: pulp::Simd>(self, _: I) -> Self::Output {
        let Alone { system, net, duration, tolerance, see } = self;
        dde::solve(system, (0.0, duration), &net.stops(duration), net.start, tolerance, see)
    }
}

/// Fluids side by side. Only their rates are compiled for each law; the steps, [`Steps`], are not.
pub(super) struct Together<'t, P, const D: usize> {
    pub(super) plant: P,
    pub(super) net: &'t Net<Wide<SIDE>, D>,
    pub(super) count: usize,
    pub(super) duration: f64,
    pub(super) from: f64,
    pub(super) options: &'t Options,
}

impl<P: System<Wide<SIDE>, D>, const D: usize> pulp::WithSimd for Together<'_, P, D> {
    /// Nothing where there are no vector instructions: fluids are followed one by one then.
    type Output = Option<Result<Vec<Vec<f64>>, TheoryError>>;

    #[inline(always)]
    fn with_simd<I: pulp::Simd>(self, simd: I) -> Self::Output {
        if const { I::F64_LANES == 1 } {
            return None;
        }
        let Together { plant, net, count, duration, from, options } = self;
        let system = Compiled { simd, plant };
        Some(simd.vectorize(Steps { system: &system, net, count, duration, from, options }))
    }
}

/// The steps of fluids side by side, whatever their law.
pub(super) struct Steps<'t, const D: usize> {
    pub(super) system: &'t dyn System<Wide<SIDE>, D>,
    pub(super) net: &'t Net<Wide<SIDE>, D>,
    pub(super) count: usize,
    pub(super) duration: f64,
    pub(super) from: f64,
    pub(super) options: &'t Options,
}

impl<const D: usize> pulp::WithSimd for Steps<'_, D> {
    type Output = Result<Vec<Vec<f64>>, TheoryError>;

    #[inline(always)]
    fn with_simd<I: pulp::Simd>(self, _: I) -> Self::Output {
        let Steps { system, net, count, duration, from, options } = self;
        let mut clock = Clock::new(options.sample, from, duration);
        let mut samples = Vec::with_capacity(clock.len());
        let mut see = |piece: &Piece<Wide<SIDE>, D>| {
            while let Some(t) = clock.next_in(piece.to) {
                samples.push(piece.variable(net.classes, t).within(Wide::of(0.0), net.buffer));
            }
        };
        dde::solve(system, (0.0, duration), &net.stops(duration), net.start, &options.tolerance, &mut see)?;
        Ok((0..count).map(|lane| samples.iter().map(|q| q.lane(lane)).collect()).collect())
    }
}
