//! One fluid from its start to an end, with its samples.

use super::clock::Clock;
use super::plant::{Net, Plant};
use super::setup::{Fluid, Options, VARIABLES};
use super::simd::Alone;
use super::trajectory::Trajectory;
use crate::error::TheoryError;
use crate::models::{FluidLaw, FluidView, Model, with_model};
use crate::num::dde::{Piece, System};

impl Fluid {
    /// Follows the fluid for `duration` seconds.
    ///
    /// # Errors
    /// The tolerance cannot be reached, or an option is not physical.
    pub fn run(&self, duration: f64, options: &Options) -> Result<Trajectory, TheoryError> {
        self.check(duration, options)?;
        with_model!(self.model, m => self.follow(m, duration, options))
    }

    fn follow<M: Model>(
        &self,
        model: M,
        duration: f64,
        options: &Options,
    ) -> Result<Trajectory, TheoryError> {
        fn of<M: Model, const D: usize, const ONE: bool>(
            model: M,
            fluid: &Fluid,
            duration: f64,
            options: &Options,
        ) -> Result<Trajectory, TheoryError> {
            let net = Net::new(&[fluid], options)?;
            sampled::<D>(&Plant::<M, f64, D, ONE> { law: model, net: &net }, &net, duration, options)
        }
        let classes = self.network().classes.len();
        if classes > 1 {
            of::<M, VARIABLES, false>(model, self, duration, options)
        } else if const { M::STATE.len() <= 2 } && !self.network().estimates() {
            of::<M, 4, true>(model, self, duration, options)
        } else {
            of::<M, 8, true>(model, self, duration, options)
        }
    }
}

/// A law of which a trajectory takes samples.
trait Sampled<const D: usize>: System<f64, D> {
    /// The law's view of a state, p, and the growth of the queue for each packet in excess.
    fn sample(&self, leg: usize, y: &[f64; D]) -> (FluidView<f64>, f64, f64);
}

impl<M: FluidLaw<f64>, const D: usize, const ONE: bool> Sampled<D> for Plant<'_, M, f64, D, ONE> {
    fn sample(&self, leg: usize, y: &[f64; D]) -> (FluidView<f64>, f64, f64) {
        let seen = self.seen(leg, y);
        let p = self.law.probability(seen.queue, seen.capacity, self.state(y));
        (seen, p, self.net.speed(&self.net.legs[leg], seen.queue, y))
    }
}

fn sampled<const D: usize>(
    plant: &dyn Sampled<D>,
    net: &Net<f64, D>,
    duration: f64,
    options: &Options,
) -> Result<Trajectory, TheoryError> {
    let (k, variables) = (net.classes, net.variables);
    let mut out = Trajectory {
        windows: vec![Vec::new(); k],
        rtts: vec![Vec::new(); k],
        state: vec![Vec::new(); variables],
        shares: vec![Vec::new(); if net.estimates() { k } else { 0 }],
        ..Trajectory::default()
    };
    let mut clock = Clock::new(options.sample, 0.0, duration);
    let mut leg = 0;
    let mut see = |piece: &Piece<f64, D>| {
        while let Some(t) = clock.next_in(piece.to) {
            while leg + 1 < net.legs.len() && net.legs[leg + 1].from < t {
                leg += 1;
            }
            let mut y = piece.at(t);
            plant.confine(&mut y);
            let (seen, p, speed) = plant.sample(leg, &y);
            out.time.push(t);
            out.queue.push(y[k] / speed);
            out.probability.push(p);
            out.arrivals.push(seen.arrivals);
            out.lost.push(net.lost(y[k], seen.admitted, seen.capacity));
            for i in 0..k {
                out.windows[i].push(y[i]);
                let leg = &net.legs[leg];
                out.rtts[i].push(leg.propagation[i] + y[k] * leg.per_packet[i]);
            }
            for i in 0..variables {
                out.state[i].push(y[k + 1 + i]);
            }
            for (i, share) in out.shares.iter_mut().enumerate() {
                share.push(y[k + 1 + variables + i]);
            }
        }
    };
    let alone = Alone { system: plant, net, duration, tolerance: &options.tolerance, see: &mut see };
    let work = pulp::Arch::new().dispatch(alone)?;
    out.work = work;
    Ok(out)
}
