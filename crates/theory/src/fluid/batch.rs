//! Many fluids at once: on all cores, and several in the lanes of one.

use rayon::prelude::*;

use super::clock::Clock;
use super::plant::{Net, Plant};
use super::setup::{Fluid, Options};
use super::simd::{SIDE, Together};
use super::trajectory::Summary;
use crate::congestion::Congestion;
use crate::error::{TheoryError, require};
use crate::models::{Model, Pack, with_model};

/// Follows many fluids, as [`queues`], and sums up the queue of each.
pub fn batch(
    fluids: &[Fluid],
    duration: f64,
    from: f64,
    options: &Options,
) -> Vec<Result<Summary, TheoryError>> {
    let summed = |queue: Result<Vec<f64>, _>| queue.and_then(|q| Summary::of(&q, options.sample));
    queues(fluids, duration, from, options).into_iter().map(summed).collect()
}

/// Follows many fluids for `duration` seconds on all threads of rayon's, and samples the queue of each
/// from the time `from` on.
///
/// Fluids of one algorithm with one class and the same times of change run side by side, with the steps
/// of the one that needs the shortest; put like ones next to each other. The result does not depend on
/// the number of threads.
pub fn queues(
    fluids: &[Fluid],
    duration: f64,
    from: f64,
    options: &Options,
) -> Vec<Result<Vec<f64>, TheoryError>> {
    // What can stand side by side.
    let like = |a: &Fluid, b: &Fluid| {
        std::mem::discriminant(&a.model) == std::mem::discriminant(&b.model)
            && a.network().classes.len() == b.network().classes.len()
            && a.network().scalables == b.network().scalables
            && a.legs.iter().map(|l| l.0).eq(b.legs.iter().map(|l| l.0))
    };
    let mut packs: Vec<Vec<usize>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for (i, fluid) in fluids.iter().enumerate() {
        match open.iter().position(|&p| like(&fluids[packs[p][0]], fluid)) {
            Some(p) => {
                packs[open[p]].push(i);
                if packs[open[p]].len() == SIDE {
                    open.remove(p);
                }
            }
            None => {
                open.push(packs.len());
                packs.push(vec![i]);
            }
        }
    }
    let done: Vec<Vec<Result<Vec<f64>, TheoryError>>> = packs
        .par_iter()
        .map(|pack| {
            let members: Vec<&Fluid> = pack.iter().map(|i| &fluids[*i]).collect();
            side_by_side(&members, duration, from, options)
        })
        .collect();
    let mut out: Vec<_> = fluids.iter().map(|_| None).collect();
    for (i, result) in packs.into_iter().flatten().zip(done.into_iter().flatten()) {
        out[i] = Some(result);
    }
    out.into_iter().flatten().collect()
}

fn side_by_side(
    fluids: &[&Fluid],
    duration: f64,
    from: f64,
    options: &Options,
) -> Vec<Result<Vec<f64>, TheoryError>> {
    /// The models of one kind.
    trait Kind: Model + Pack<SIDE> {}
    impl<M: Model + Pack<SIDE>> Kind for M {}

    pub(super) fn queues<M: Kind, const D: usize>(
        models: &[M],
        fluids: &[&Fluid],
        duration: f64,
        from: f64,
        options: &Options,
    ) -> Option<Result<Vec<Vec<f64>>, TheoryError>> {
        let pick = |i: usize| i.min(fluids.len() - 1);
        let law = M::pack(&std::array::from_fn(|i| models[pick(i)]));
        let eight: [&Fluid; SIDE] = std::array::from_fn(|i| fluids[pick(i)]);
        let net = match Net::new(&eight, options) {
            Ok(net) => net,
            Err(e) => return Some(Err(e)),
        };
        let plant = Plant::<_, _, D, true> { law, net: &net };
        pulp::Arch::new().dispatch(Together {
            plant,
            net: &net,
            count: fluids.len(),
            duration,
            from,
            options,
        })
    }

    pub(super) fn of<M: Kind>(
        models: &[M],
        fluids: &[&Fluid],
        duration: f64,
        from: f64,
        options: &Options,
    ) -> Option<Result<Vec<Vec<f64>>, TheoryError>> {
        let classes = fluids[0].network().classes.len();
        // Other windows than Reno's have functions that vectors have not.
        let reno = |f: &&Fluid| matches!(f.network().congestion, Congestion::Reno(_));
        if classes > 1 || !fluids.iter().all(reno) {
            None
        } else if const { M::STATE.len() == 1 } {
            queues::<M, 3>(models, fluids, duration, from, options)
        } else if const { M::STATE.len() == 2 } {
            queues::<M, 4>(models, fluids, duration, from, options)
        } else {
            queues::<M, 8>(models, fluids, duration, from, options)
        }
    }

    if let Err(e) = fluids[0].check(duration, options).and_then(|()| {
        require(
            from >= 0.0 && from < duration,
            "start of the summary",
            format!("{from} s"),
            format!("must lie in [0, {duration}) s"),
        )
    }) {
        return fluids.iter().map(|_| Err(e.clone())).collect();
    }
    let together = with_model!(&fluids[0].model, first => {
        let models: Vec<_> = fluids.iter().map(|f| *f.model.of_kind().unwrap_or(first)).collect();
        of(&models, fluids, duration, from, options)
    });
    match together {
        Some(Ok(queues)) => queues.into_iter().map(Ok).collect(),
        // One that fails does not take the others with it.
        _ => fluids
            .iter()
            .map(|f| {
                let mut queue = f.run(duration, options)?.queue;
                let clock = Clock::new(options.sample, from, duration);
                queue.drain(..clock.next.min(queue.len()));
                Ok(queue)
            })
            .collect(),
    }
}
