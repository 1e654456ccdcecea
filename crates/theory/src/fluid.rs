//! TCP and an algorithm as a fluid: thesis eq. 4.1, vrc eq. 6-9.
//!
//! Per class i of flows, with the queue q that all share:
//!
//! ```text
//! R_i  = T_i + q/C
//! W_i' = increase/R_i - W_i W_i(t - R_i) p(t - R_i) / (a R_i(t - R_i))
//! q'   = sum N_i W_i/R_i - C
//! ```
//!
//! and the algorithm's law for p. The delay R depends on the state; N, C and T may change in steps.
//!
//! What the documents leave open is settled so:
//!
//! - The queue stays in `[0, B]`. At a full queue what exceeds C is lost. Those losses are signals, too,
//!   as a sender sees them: [`Overflow::Signals`]. The documents leave them out: [`Overflow::Ignored`].
//! - With [`Signal::Drop`] what the algorithm drops does not enter the queue: `q' = (1 - p) r - C`.
//! - New flows have the windows of those that are there.
//! - A window is any positive number. Below about 4 packets TCP relies on timeouts, which no document's
//!   fluid has.

use rayon::prelude::*;

use crate::dde::{self, Past, Piece, System, Tolerance, Work};
use crate::error::{TheoryError, positive, require};
use crate::models::{AnyModel, Law, Model, Pack, Seen};
use crate::network::{Network, Signal};
use crate::real::{Lanes, Real};
use crate::with_model;

/// What the losses of a full queue are to the senders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// Signals like any other: `p + (1 - p) (1 - C/r)` for the rate r that meets the full queue.
    #[default]
    Signals,
    /// Unnoticed, as in the documents' equations.
    Ignored,
}

/// Where a fluid starts. Before that it was there all the time.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Start {
    /// Windows of one packet and an empty queue.
    #[default]
    Empty,
    /// At its rest, with this many packets more in the queue from t = 0 on.
    Rest(f64),
    /// Anywhere.
    At {
        /// W of each class in packets.
        windows: Vec<f64>,
        /// q in packets.
        queue: f64,
        /// The law's variables, in the order of [`AnyModel::variables`].
        state: Vec<f64>,
    },
}

/// How a run is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Of the solver. Windows and queues are in packets, probabilities in thousandths.
    pub tolerance: Tolerance,
    /// What is between two samples, in seconds.
    pub sample: f64,
    /// What the losses of a full queue are.
    pub overflow: Overflow,
}

impl Default for Options {
    fn default() -> Self {
        Options { tolerance: Tolerance::default(), sample: 0.01, overflow: Overflow::default() }
    }
}

/// A network with an algorithm, as a fluid.
#[derive(Clone, Debug, PartialEq)]
pub struct Fluid {
    /// From when on the network is this. The first is 0.
    legs: Vec<(f64, Network)>,
    model: AnyModel,
    start: Start,
}

/// Most variables that a fluid can have: windows, queue and the law's.
const VARIABLES: usize = 16;

impl Fluid {
    /// A network and an algorithm, starting empty.
    ///
    /// # Errors
    /// Names what is not physical.
    pub fn new(network: Network, model: AnyModel) -> Result<Fluid, TheoryError> {
        network.check()?;
        let most = VARIABLES - 1 - model.variables().len();
        require(
            network.classes.len() <= most,
            "classes of flows",
            network.classes.len(),
            format!("must be at most {most}: put flows of like round-trip times together"),
        )?;
        let fluid = Fluid { legs: vec![(0.0, network)], model, start: Start::Empty };
        for (name, x) in with_model!(&fluid.model, m => m.numbers()) {
            require(!x.is_nan(), format!("parameter {name} of the model"), x, "must be a number")?;
        }
        fluid.initial()?;
        Ok(fluid)
    }

    /// Starts there.
    ///
    /// # Errors
    /// There is no rest to start at, or a value is not physical.
    pub fn starting(mut self, start: Start) -> Result<Fluid, TheoryError> {
        self.start = start;
        self.initial()?;
        Ok(self)
    }

    /// From `at` on, in seconds and after all changes before, N, C and the propagation delays are those of
    /// `network`. A new rate of the link does not change what the algorithm was told.
    ///
    /// # Errors
    /// The change is not one of N, C and propagation delays.
    pub fn changing(mut self, at: f64, network: Network) -> Result<Fluid, TheoryError> {
        network.check()?;
        let (last, first) = (&self.legs[self.legs.len() - 1], &self.legs[0].1);
        require(
            at.is_finite() && at > last.0,
            "time of a change",
            format!("{at} s"),
            format!("must be finite and after {} s", last.0),
        )?;
        require(
            network.classes.len() == first.classes.len(),
            "classes of flows",
            network.classes.len(),
            format!("must stay {}: only N, C and T_p may change", first.classes.len()),
        )?;
        require(
            network.buffer == first.buffer && network.tcp == first.tcp && network.signal == first.signal,
            "buffer, window rule and signal",
            format!("{}, {:?}, {:?}", network.buffer, network.tcp, network.signal),
            "must stay what they are: only N, C and T_p may change",
        )?;
        self.legs.push((at, network));
        Ok(self)
    }

    /// The network at the start.
    pub fn network(&self) -> &Network {
        &self.legs[0].1
    }

    /// The algorithm.
    pub fn model(&self) -> &AnyModel {
        &self.model
    }

    /// What was before the start, and the start itself: windows, queue, law's variables.
    fn initial(&self) -> Result<(Vec<f64>, Vec<f64>), TheoryError> {
        let network = self.network();
        let (before, queue) = match &self.start {
            Start::Empty => {
                let mut state = vec![0.0; self.model.variables().len()];
                with_model!(self.model, m => Law::<f64>::start(&m, network.capacity, &mut state));
                ([vec![1.0; network.classes.len()], vec![0.0], state].concat(), 0.0)
            }
            Start::Rest(more) => {
                let rest = self.model.rest(network)?;
                let windows = rest.point.classes.iter().map(|c| c.window).collect();
                let queue = rest.point.queue + more;
                ([windows, vec![rest.point.queue], rest.state].concat(), queue)
            }
            Start::At { windows, queue, state } => {
                let (classes, variables) = (network.classes.len(), self.model.variables());
                require(
                    windows.len() == classes,
                    "windows at the start",
                    windows.len(),
                    format!("must be {classes}, one for each class of flows"),
                )?;
                for w in windows {
                    positive("window W at the start", *w, "packets")?;
                }
                let names: Vec<&str> = variables.iter().map(|v| v.0).collect();
                require(
                    state.len() == variables.len(),
                    "variables of the algorithm at the start",
                    state.len(),
                    format!("must be {}: {}", variables.len(), names.join(", ")),
                )?;
                for ((name, unit), x) in variables.iter().zip(state) {
                    require(
                        x.is_finite(),
                        format!("{name} at the start"),
                        format!("{x} {unit}"),
                        "must be finite",
                    )?;
                }
                ([windows.clone(), vec![*queue], state.clone()].concat(), *queue)
            }
        };
        require(
            queue >= 0.0 && queue <= network.buffer,
            "queue q at the start",
            format!("{queue} packets"),
            format!("must lie in [0, {}], the buffer", network.buffer),
        )?;
        let k = network.classes.len();
        let mut now = before.clone();
        now[k] = queue;
        for ((name, unit), x) in self.model.variables().iter().zip(self.speeds(&now)) {
            require(
                x.is_finite(),
                format!("rate of change of {name} at the start"),
                format!("{x} {unit}/s"),
                "must be finite: look at the parameters of the algorithm",
            )?;
        }
        Ok((before, now))
    }

    /// The law's rates of change in a state, to find parameters that are no numbers.
    fn speeds(&self, y: &[f64]) -> Vec<f64> {
        fn of<M: Model>(m: &M, network: &Network, y: &[f64]) -> Vec<f64> {
            let k = network.classes.len();
            let (windows, queue, x) = (&y[..k], y[k], &y[k + 1..]);
            let arrivals =
                network.classes.iter().zip(windows).map(|(c, w)| c.flows * w / network.rtt(c, queue)).sum();
            let p = m.probability(queue, network.capacity, x);
            let admitted = if network.signal == Signal::Drop { arrivals * (1.0 - p) } else { arrivals };
            let growth = admitted - network.capacity;
            let mut dx = vec![0.0; x.len()];
            let seen = Seen { queue, growth, arrivals, admitted, capacity: network.capacity };
            m.rates(&seen, x, &mut dx);
            dx.push(p);
            dx.iter().map(|d| d + 0.0 * p).collect()
        }
        with_model!(&self.model, m => of(m, self.network(), y))
    }

    fn check(&self, duration: f64, options: &Options) -> Result<(), TheoryError> {
        positive("duration", duration, "s")?;
        positive("time between samples", options.sample, "s")?;
        let samples = duration / options.sample;
        require(
            samples <= 1e8,
            "samples",
            format!("{samples:e}"),
            "must be at most 1e8: let more time be between them",
        )
    }

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
        } else if const { M::STATE.len() <= 2 } {
            of::<M, 4, true>(model, self, duration, options)
        } else {
            of::<M, 8, true>(model, self, duration, options)
        }
    }
}

/// What a sample of a trajectory needs of the law.
trait Sampled<const D: usize>: System<f64, D> {
    /// What the law sees in a state, and p.
    fn sample(&self, leg: usize, y: &[f64; D]) -> (Seen<f64>, f64);
}

impl<M: Law<f64>, const D: usize, const ONE: bool> Sampled<D> for Plant<'_, M, f64, D, ONE> {
    fn sample(&self, leg: usize, y: &[f64; D]) -> (Seen<f64>, f64) {
        let seen = self.seen(leg, y);
        (seen, self.law.probability(seen.queue, seen.capacity, self.state(y)))
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
            let (seen, p) = plant.sample(leg, &y);
            out.time.push(t);
            out.queue.push(y[k]);
            out.probability.push(p);
            out.arrivals.push(seen.arrivals);
            out.lost.push(net.lost(y[k], seen.admitted, seen.capacity));
            for i in 0..k {
                out.windows[i].push(y[i]);
                out.rtts[i].push(net.legs[leg].propagation[i] + y[k] / seen.capacity);
            }
            for i in 0..variables {
                out.state[i].push(y[k + 1 + i]);
            }
        }
    };
    let alone = Alone { system: plant, net, duration, tolerance: &options.tolerance, see: &mut see };
    let work = pulp::Arch::new().dispatch(alone)?;
    out.work = work;
    Ok(out)
}

/// Times of samples.
struct Clock {
    sample: f64,
    next: usize,
    last: usize,
}

impl Clock {
    /// Multiples of `sample` between two times.
    fn new(sample: f64, from: f64, to: f64) -> Clock {
        // A multiple that rounding puts outside counts.
        let count = |t: f64| t / sample * (1.0 + 4.0 * f64::EPSILON);
        Clock {
            sample,
            next: (from / sample * (1.0 - 4.0 * f64::EPSILON)).ceil() as usize,
            last: count(to).floor() as usize,
        }
    }

    #[inline(always)]
    fn next_in(&mut self, to: f64) -> Option<f64> {
        let t = self.next as f64 * self.sample;
        if self.next > self.last || t > to * (1.0 + 8.0 * f64::EPSILON) {
            return None;
        }
        self.next += 1;
        Some(t)
    }

    fn len(&self) -> usize {
        (self.last + 1).saturating_sub(self.next)
    }
}

/// What a fluid did, sampled. At a jump, what was before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    /// In seconds.
    pub time: Vec<f64>,
    /// W of each class, in packets.
    pub windows: Vec<Vec<f64>>,
    /// R of each class, in seconds.
    pub rtts: Vec<Vec<f64>>,
    /// q in packets.
    pub queue: Vec<f64>,
    /// p that the algorithm signals with.
    pub probability: Vec<f64>,
    /// r: what arrives, in packets per second.
    pub arrivals: Vec<f64>,
    /// What a full queue loses, as a share of what the algorithm let pass.
    pub lost: Vec<f64>,
    /// The law's variables, in the order of [`AnyModel::variables`].
    pub state: Vec<Vec<f64>>,
    /// What it took.
    pub work: Work,
}

impl Trajectory {
    /// The queue from a time on, in seconds.
    ///
    /// # Errors
    /// There are less than 8 samples from then on.
    pub fn summary(&self, from: f64) -> Result<Summary, TheoryError> {
        let first = self.time.partition_point(|t| *t < from);
        let sample = if self.time.len() > 1 { self.time[1] - self.time[0] } else { 0.0 };
        Summary::of(&self.queue[first..], sample)
    }
}

/// What a queue does over some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The mean of q in packets.
    pub mean: f64,
    /// Its standard deviation in packets.
    pub deviation: f64,
    /// Smallest q.
    pub least: f64,
    /// Largest q.
    pub most: f64,
    /// The amplitude, half of the way from the least to the most, in packets: in the second half.
    pub amplitude: f64,
    /// The same in the first half.
    pub amplitude_before: f64,
    /// Seconds of an oscillation, if there are at least two.
    pub period: Option<f64>,
}

impl Summary {
    /// A queue whose oscillations are smaller than this, in packets, rests.
    pub const STILL: f64 = 0.5;
    /// Oscillations that become smaller than this share of what they were die out.
    pub const DYING: f64 = 0.9;

    /// Of samples that are `sample` seconds apart.
    ///
    /// # Errors
    /// There are less than 8.
    pub fn of(queue: &[f64], sample: f64) -> Result<Summary, TheoryError> {
        require(
            queue.len() >= 8,
            "samples",
            queue.len(),
            "must be at least 8 in the time that is summed up: sample more often",
        )?;
        let n = queue.len() as f64;
        let mean = queue.iter().sum::<f64>() / n;
        let deviation = (queue.iter().map(|q| (q - mean).powi(2)).sum::<f64>() / n).sqrt();
        let bounds = |q: &[f64]| q.iter().fold((f64::MAX, f64::MIN), |(l, m), q| (l.min(*q), m.max(*q)));
        let half = |q: &[f64]| 0.5 * (bounds(q).1 - bounds(q).0);
        let (before, after) = queue.split_at(queue.len() / 2);
        let (least, most) = bounds(queue);
        let (amplitude_before, amplitude) = (half(before), half(after));
        // Upward crossings of the middle, by a quarter of the amplitude to either side.
        let (middle, margin) = (0.5 * (least + most), 0.125 * (most - least));
        let (mut low, mut at, mut crossings) = (false, 0.0, Vec::new());
        for (i, pair) in queue.windows(2).enumerate() {
            if pair[0] <= middle && pair[1] > middle {
                at = i as f64 + (middle - pair[0]) / (pair[1] - pair[0]);
            }
            if pair[1] < middle - margin {
                low = true;
            }
            if low && pair[1] > middle + margin {
                low = false;
                crossings.push(at);
            }
        }
        let period = (crossings.len() >= 3)
            .then(|| (crossings[crossings.len() - 1] - crossings[0]) / (crossings.len() - 1) as f64 * sample);
        Ok(Summary { mean, deviation, least, most, amplitude, amplitude_before, period })
    }

    /// Whether the queue rests, or its oscillations die out; else they stay or grow.
    pub fn settles(&self) -> bool {
        self.amplitude < Self::STILL || self.amplitude < Self::DYING * self.amplitude_before
    }
}

/// How many fluids stand side by side.
const SIDE: usize = 8;

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

    fn queues<M: Kind, const D: usize>(
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

    fn of<M: Kind>(
        models: &[M],
        fluids: &[&Fluid],
        duration: f64,
        from: f64,
        options: &Options,
    ) -> Option<Result<Vec<Vec<f64>>, TheoryError>> {
        let classes = fluids[0].network().classes.len();
        if classes > 1 {
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
    macro_rules! of_kind {
        ($($kind:ident),+) => {
            match fluids[0].model {
                $(AnyModel::$kind(first) => {
                    let model = |f: &&Fluid| match f.model {
                        AnyModel::$kind(m) => m,
                        _ => first,
                    };
                    of(&fluids.iter().map(model).collect::<Vec<_>>(), fluids, duration, from, options)
                })+
            }
        };
    }
    let together = of_kind!(Red, Ared, AutoTuningRed, StRed, Pi, StPi, Pid, Dred, Rem, Vrc, Avq, Hred);
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

/// What N, C and T_p are for some time.
#[derive(Clone, Copy)]
struct Leg<V, const D: usize> {
    from: f64,
    flows: [V; D],
    propagation: [V; D],
    capacity: V,
    per_capacity: V,
}

/// Networks side by side, and where they start. The variables are the windows, the queue and the law's.
struct Net<V, const D: usize> {
    classes: usize,
    /// How many variables the law has.
    variables: usize,
    legs: Vec<Leg<V, D>>,
    buffer: V,
    /// From here on the queue is full.
    full: V,
    increase: V,
    per_decrease: V,
    /// 1 where signals are drops.
    dropping: V,
    drops: bool,
    overflow: bool,
    longest: f64,
    before: Vec<[f64; D]>,
    start: [V; D],
    scale: [f64; D],
}

impl<V: Real, const D: usize> Net<V, D> {
    fn new(fluids: &[&Fluid], options: &Options) -> Result<Self, TheoryError> {
        let first = fluids[0];
        let classes = first.network().classes.len();
        let initial = fluids.iter().map(|f| f.initial()).collect::<Result<Vec<_>, _>>()?;
        let padded = |y: &[f64]| std::array::from_fn(|d| y.get(d).copied().unwrap_or(0.0));
        let before: Vec<[f64; D]> = initial.iter().map(|(before, _)| padded(before)).collect();
        let start: Vec<[f64; D]> = initial.iter().map(|(_, now)| padded(now)).collect();
        let of = |f: &dyn Fn(&Network) -> f64, leg: usize| V::from_lanes(|i| f(&fluids[i].legs[leg].1));
        let legs: Vec<Leg<V, D>> = (0..first.legs.len())
            .map(|leg| Leg {
                from: first.legs[leg].0,
                flows: std::array::from_fn(|k| of(&|n| n.classes.get(k).map_or(0.0, |c| c.flows), leg)),
                propagation: std::array::from_fn(|k| {
                    of(&|n| n.classes.get(k).map_or(1.0, |c| c.propagation), leg)
                }),
                capacity: of(&|n| n.capacity, leg),
                per_capacity: of(&|n| 1.0 / n.capacity, leg),
            })
            .collect();
        let longest = fluids
            .iter()
            .flat_map(|f| &f.legs)
            .flat_map(|(_, n)| n.classes.iter().map(|c| n.rtt(c, n.buffer)))
            .fold(0.0, f64::max);
        let units = first.model.variables().iter().map(|(_, unit)| if *unit == "1" { 1e-3 } else { 1.0 });
        let scale: Vec<f64> = std::iter::repeat_n(1.0, classes + 1).chain(units).collect();
        let buffer = of(&|n| n.buffer, 0);
        Ok(Net {
            classes,
            variables: first.model.variables().len(),
            legs,
            buffer,
            full: buffer * V::of(1.0 - 1e-12),
            increase: of(&|n| n.tcp.increase, 0),
            per_decrease: of(&|n| 1.0 / n.tcp.decrease, 0),
            dropping: of(&|n| f64::from(u8::from(n.signal == Signal::Drop)), 0),
            drops: fluids.iter().any(|f| f.network().signal == Signal::Drop),
            overflow: options.overflow == Overflow::Signals,
            longest,
            before,
            start: std::array::from_fn(|d| V::from_lanes(|i| start[i][d])),
            scale: padded(&scale),
        })
    }

    /// The times of change within a duration.
    fn stops(&self, duration: f64) -> Vec<f64> {
        self.legs[1..].iter().map(|l| l.from).filter(|t| *t < duration).collect()
    }

    /// r: what all flows together bring.
    #[inline(always)]
    fn arrivals(&self, leg: &Leg<V, D>, queue: V, y: &[V; D]) -> V {
        let mut arrivals = V::of(0.0);
        for (i, window) in y.iter().enumerate().take(self.classes) {
            arrivals = arrivals + leg.flows[i] * *window / (leg.propagation[i] + queue * leg.per_capacity);
        }
        arrivals
    }

    /// What a full queue loses of the rate that it is to admit.
    #[inline(always)]
    fn lost(&self, queue: V, admitted: V, capacity: V) -> V {
        let zero = V::of(0.0);
        V::select(queue.lt(self.full), zero, V::of(1.0) - capacity / admitted.max(capacity))
    }

    /// What N, C and T_p were at a time before the leg, which may differ from lane to lane.
    #[cold]
    #[inline(never)]
    fn mixed(&self, leg: usize, t: V) -> Leg<V, D> {
        let mut mixed = self.legs[leg];
        for (earlier, later) in self.legs[..leg].iter().zip(&self.legs[1..]).rev() {
            let before = t.lt(V::of(later.from));
            for k in 0..self.classes {
                mixed.flows[k] = V::select(before, earlier.flows[k], mixed.flows[k]);
                mixed.propagation[k] = V::select(before, earlier.propagation[k], mixed.propagation[k]);
            }
            mixed.capacity = V::select(before, earlier.capacity, mixed.capacity);
            mixed.per_capacity = V::select(before, earlier.per_capacity, mixed.per_capacity);
        }
        mixed
    }

    /// What the senders see of a queue that may be full: signals and losses.
    #[cold]
    #[inline(never)]
    fn with_losses(&self, then: &Leg<V, D>, queue: V, y: &[V; D], p: V) -> V {
        let one = V::of(1.0);
        let admitted = self.arrivals(then, queue, y) * (one - self.dropping * p);
        one - (one - p) * (one - self.lost(queue, admitted, then.capacity))
    }
}

/// The equations, of one fluid or of several side by side. `ONE` says that there is one class, which
/// spares loops.
struct Plant<'n, M, V, const D: usize, const ONE: bool> {
    law: M,
    net: &'n Net<V, D>,
}

impl<M: Law<V>, V: Real, const D: usize, const ONE: bool> Plant<'_, M, V, D, ONE> {
    #[inline(always)]
    fn classes(&self) -> usize {
        if ONE { 1 } else { self.net.classes }
    }

    /// The law's variables.
    #[inline(always)]
    fn state<'y>(&self, y: &'y [V; D]) -> &'y [V] {
        if ONE { &y[2..] } else { &y[self.net.classes + 1..] }
    }

    /// What the algorithm sees in a state.
    #[inline(always)]
    fn seen(&self, leg: usize, y: &[V; D]) -> Seen<V> {
        let leg = &self.net.legs[leg];
        let queue = y[self.classes()].within(V::of(0.0), self.net.buffer);
        self.seen_with(leg.capacity, y, queue, self.net.arrivals(leg, queue, y))
    }

    #[inline(always)]
    fn seen_with(&self, capacity: V, y: &[V; D], queue: V, arrivals: V) -> Seen<V> {
        let zero = V::of(0.0);
        let admitted = if self.net.drops {
            let p = self.law.probability(queue, capacity, self.state(y));
            arrivals * (V::of(1.0) - self.net.dropping * p)
        } else {
            arrivals
        };
        let net = admitted - capacity;
        let low = V::select(zero.lt(queue), net, net.max(zero));
        let growth = V::select(queue.lt(self.net.full), low, net.min(zero));
        Seen { queue, growth, arrivals, admitted, capacity }
    }

    /// What was signalled at a time of the past, and the round-trip time of a class then.
    #[inline(always)]
    fn signalled(&self, leg: usize, t: V, y: &[V; D], class: usize) -> (V, V) {
        let mixed;
        let mut then = &self.net.legs[leg];
        if leg > 0 && V::any(t.lt(V::of(then.from))) {
            mixed = self.net.mixed(leg, t);
            then = &mixed;
        }
        let queue = y[self.classes()].within(V::of(0.0), self.net.buffer);
        let rtt = then.propagation[class] + queue * then.per_capacity;
        let p = self.law.probability(queue, then.capacity, self.state(y));
        if self.net.overflow && V::any(self.net.full.lt(queue)) {
            return (self.net.with_losses(then, queue, y, p), rtt);
        }
        (p, rtt)
    }
}

impl<M: Law<V>, V: Real, const D: usize, const ONE: bool> System<V, D> for Plant<'_, M, V, D, ONE> {
    fn delays(&self) -> usize {
        self.net.classes
    }

    fn longest_delay(&self) -> f64 {
        self.net.longest
    }

    fn before(&self, lane: usize, _: f64) -> [f64; D] {
        self.net.before[lane]
    }

    #[inline(always)]
    fn rates(&self, leg: usize, t: f64, y: &[V; D], past: &mut Past<'_, V, D>) -> [V; D] {
        let now = &self.net.legs[leg];
        let k = self.classes();
        let queue = y[k].within(V::of(0.0), self.net.buffer);
        let mut dy = [V::of(0.0); D];
        let mut arrivals = V::of(0.0);
        for i in 0..k {
            let rtt = now.propagation[i] + queue * now.per_capacity;
            let then = V::of(t) - rtt;
            let old = past.at(i, then);
            let (p, rtt_then) = self.signalled(leg, then, &old, i);
            // One division for two.
            let both = V::of(1.0) / (rtt * rtt_then);
            let rate = both * rtt_then;
            arrivals = arrivals + now.flows[i] * y[i] * rate;
            dy[i] = self.net.increase * rate - self.net.per_decrease * y[i] * old[i] * p * (both * rtt);
        }
        let seen = self.seen_with(now.capacity, y, queue, arrivals);
        dy[k] = seen.growth;
        let state = self.state(y);
        self.law.rates(&seen, state, if ONE { &mut dy[2..] } else { &mut dy[k + 1..] });
        dy
    }

    #[inline(always)]
    fn confine(&self, y: &mut [V; D]) {
        let k = self.classes();
        y[k] = y[k].within(V::of(0.0), self.net.buffer);
        self.law.confine(&mut y[k + 1..]);
    }

    #[inline(always)]
    fn switch(&self, leg: usize, _: f64, y: &mut [V; D]) -> bool {
        let seen = self.seen(leg, y);
        self.law.switch(&seen, &mut y[self.classes() + 1..])
    }

    fn scale(&self, variable: usize) -> f64 {
        self.net.scale[variable]
    }
}

/// A plant with its rates compiled for one kind of processor.
struct Compiled<I, P> {
    simd: I,
    plant: P,
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
    plant: &'c P,
    leg: usize,
    t: f64,
    y: &'c [V; D],
    past: &'c mut Past<'s, V, D>,
}

impl<P: System<V, D>, V: Real, const D: usize> pulp::WithSimd for Rates<'_, '_, P, V, D> {
    type Output = [V; D];

    #[inline(always)]
    fn with_simd<I: pulp::Simd>(self, _: I) -> Self::Output {
        self.plant.rates(self.leg, self.t, self.y, self.past)
    }
}

/// The steps of one fluid, whatever its law. Its variables stand side by side.
struct Alone<'t, const D: usize> {
    system: &'t dyn System<f64, D>,
    net: &'t Net<f64, D>,
    duration: f64,
    tolerance: &'t Tolerance,
    see: &'t mut dyn FnMut(&Piece<f64, D>),
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
struct Together<'t, P, const D: usize> {
    plant: P,
    net: &'t Net<Lanes<SIDE>, D>,
    count: usize,
    duration: f64,
    from: f64,
    options: &'t Options,
}

impl<P: System<Lanes<SIDE>, D>, const D: usize> pulp::WithSimd for Together<'_, P, D> {
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
struct Steps<'t, const D: usize> {
    system: &'t dyn System<Lanes<SIDE>, D>,
    net: &'t Net<Lanes<SIDE>, D>,
    count: usize,
    duration: f64,
    from: f64,
    options: &'t Options,
}

impl<const D: usize> pulp::WithSimd for Steps<'_, D> {
    type Output = Result<Vec<Vec<f64>>, TheoryError>;

    #[inline(always)]
    fn with_simd<I: pulp::Simd>(self, _: I) -> Self::Output {
        let Steps { system, net, count, duration, from, options } = self;
        let mut clock = Clock::new(options.sample, from, duration);
        let mut samples = Vec::with_capacity(clock.len());
        let mut see = |piece: &Piece<Lanes<SIDE>, D>| {
            while let Some(t) = clock.next_in(piece.to) {
                samples.push(piece.variable(net.classes, t).within(Lanes::of(0.0), net.buffer));
            }
        };
        dde::solve(system, (0.0, duration), &net.stops(duration), net.start, &options.tolerance, &mut see)?;
        Ok((0..count).map(|lane| samples.iter().map(|q| q.lane(lane)).collect()).collect())
    }
}

#[cfg(test)]
mod tests {
    use num_complex::Complex64;
    use quell_aqm::Link;
    use quell_aqm::catalog::CATALOG;
    use quell_units::{BitRate, Bytes, QueueSize};

    use super::*;
    use crate::models::{Pi, Red, StRed, Vrc};
    use crate::network::{Class, Tcp};

    fn tight() -> Options {
        Options { tolerance: Tolerance::of(1e-9), sample: 0.1, ..Options::default() }
    }

    /// Hollot's network and PI: N = 60, C = 3750 packets/s, a = 1.822e-5, b = 1.816e-5 at 160 Hz.
    fn hollot() -> (Network, Pi) {
        let network = Network { tcp: Tcp::HALVING, ..Network::new(60.0, 0.2, 3750.0, 800.0) };
        (network, Pi { k_p: 1.819e-5, k_i: 9.6e-6, q_ref: 175.0 })
    }

    /// Every algorithm with a model stays where it rests, with one class of flows and with two, with marks
    /// and with drops. What detects oscillations finds none and lets q_ref fall: not those.
    #[test]
    fn a_rest_stays() {
        let link = Link {
            rate: BitRate::from_bps(15_000_000),
            buffer: QueueSize::Packets(1000.0),
            mean_packet: Bytes::new(1000),
        };
        let one = Network::new(60.0, 0.2, 1875.0, 1000.0);
        let drops = Network { signal: Signal::Drop, ..one.clone() };
        let two = Network {
            classes: vec![Class { flows: 40.0, propagation: 0.05 }, Class { flows: 30.0, propagation: 0.3 }],
            ..one.clone()
        };
        let two_drops = Network { signal: Signal::Drop, ..two.clone() };
        let mut seen = 0;
        for entry in CATALOG {
            for network in [&one, &drops, &two, &two_drops] {
                let Ok(model) = AnyModel::of(&(entry.default)(), &link, network) else { continue };
                if matches!(model, AnyModel::StRed(_) | AnyModel::StPi(_)) {
                    continue;
                }
                let fluid = Fluid::new(network.clone(), model).unwrap().starting(Start::Rest(0.0)).unwrap();
                let run = fluid.run(2.0, &tight()).unwrap();
                let (first, last) = (run.queue[0], run.queue[run.queue.len() - 1]);
                assert!((last - first).abs() < 1e-3, "{}: {first} {last}", entry.name);
                seen += 1;
            }
        }
        assert!(seen >= 4 * 15, "{seen}");
    }

    /// RED with Hollot's network, as jitcdde at a tolerance of 1e-11 and RK4 with cubic Hermite history at
    /// steps of 1 ms compute it: both round to 228.35814 packets, so no more digits are asked for.
    #[test]
    fn a_trajectory_that_others_computed() {
        /// The right-hand side with p smoothed, so that every method converges at its order.
        struct Smoothed;
        impl System<f64, 4> for Smoothed {
            fn delays(&self) -> usize {
                1
            }
            fn longest_delay(&self) -> f64 {
                1.0
            }
            fn before(&self, _: usize, _: f64) -> [f64; 4] {
                [15.0, 100.0, 160.0, 0.0]
            }
            fn rates(&self, _: usize, t: f64, y: &[f64; 4], past: &mut Past<'_, f64, 4>) -> [f64; 4] {
                let rtt = 0.2 + y[1] / 3750.0;
                let old = past.at(0, t - rtt);
                let p = (old[2] - 150.0) / 550.0 * 0.1;
                let p = 0.5 * (p + (p * p + 1e-8).sqrt());
                let window = 1.0 / rtt - y[0] * old[0] * p / (2.0 * (0.2 + old[1] / 3750.0));
                [window, 60.0 * y[0] / rtt - 3750.0, 0.4875 * (y[1] - y[2]), 0.0]
            }
            fn scale(&self, d: usize) -> f64 {
                if d < 3 { 1.0 } else { 0.0 }
            }
        }
        let mut last = 0.0;
        dde::solve(
            &Smoothed,
            (0.0, 200.0),
            &[],
            [15.0, 100.0, 160.0, 0.0],
            &Tolerance::of(1e-11),
            &mut |piece| last = piece.variable(1, piece.to),
        )
        .unwrap();
        assert!((last - 228.35814).abs() < 5e-6, "{last}");
    }

    /// What enters the queue and what leaves it is what it grows by: the integral of `r - C` by
    /// Simpson's rule over samples.
    #[test]
    fn packets_are_conserved() {
        let (network, pi) = hollot();
        let fluid = Fluid::new(network, AnyModel::Pi(pi)).unwrap().starting(Start::Rest(40.0)).unwrap();
        let run = fluid.run(20.0, &Options { sample: 0.001, ..tight() }).unwrap();
        let n = run.time.len() - 1;
        let weight = |i: usize| if i == 0 || i == n { 1.0 } else { [2.0, 4.0][i % 2] };
        let grown: f64 = (0..=n).map(|i| weight(i) * (run.arrivals[i] - 3750.0)).sum::<f64>() * 0.001 / 3.0;
        assert!((run.queue[n] - run.queue[0] - grown).abs() < 1e-5, "{grown} {}", run.queue[n]);
    }

    /// The growth rate of vrc's loop with one class of marked flows near its rest, from the
    /// characteristic equation with the exact delay: its rightmost root, by Newton's method.
    ///
    /// With `W = W0 + w` and so on, `w' = -(1/(R W0)...)`: thesis eq. 4.2 before it is simplified,
    /// `s w = -(p W/(a R)) (w + w_R e^-sR) - W^2/(a R) p_R e^-sR - (queueing terms)`.
    fn rightmost(network: &Network, k_p: f64, k_i: f64, q: f64, guess: Complex64) -> Complex64 {
        let class = network.classes[0];
        let (n, c, a) = (class.flows, network.capacity, network.tcp.decrease);
        let r = class.propagation + q / c;
        let w = r * c / n;
        let p = a / (w * w);
        let f = |s: Complex64| {
            let z = (-s * r).exp();
            // d(W')/dW, /dW_R, /dp_R, /dq (through 1/R) and /dq_R (through 1/R_R).
            let own = -w * p / (a * r);
            let past = own * z;
            let signal = -w * w / (a * r) * z;
            let queue = -1.0 / (r * r * c) + w * w * p / (a * r * r * c) * z;
            // d(q')/dW = N/R, d(q')/dq = -N W/(R^2 C) = -1/R.
            let control = k_p + k_i / s;
            (s - own - past) * (s + 1.0 / r) - (queue + signal * control) * (n / r)
        };
        let mut s = guess;
        for _ in 0..200 {
            let h = Complex64::new(1e-7, 0.0);
            s -= f(s) * 2.0 * h / (f(s + h) - f(s - h));
        }
        assert!(f(s).norm() < 1e-6, "{s} {}", f(s));
        s
    }

    /// vrc 3.2, the exact boundary for PI with K_P = 0.0024 and K_I = 0.0045: R = 0.242 s. A small
    /// perturbation grows on one side and decays on the other, at the rate of the characteristic root.
    #[test]
    fn small_perturbations_follow_the_characteristic_root() {
        let (k_p, k_i, q_ref) = (0.0024, 0.0045, 50.0);
        for rtt in [0.22, 0.235, 0.25, 0.26] {
            let network = Network::new(100.0, rtt - q_ref / 1250.0, 1250.0, 1000.0);
            let root = rightmost(&network, k_p, k_i, q_ref, Complex64::new(0.0, 2.0));
            let fluid = Fluid::new(network, AnyModel::Pi(Pi { k_p, k_i, q_ref })).unwrap();
            let fluid = fluid.starting(Start::Rest(0.001)).unwrap();
            let options = Options { tolerance: Tolerance::of(1e-11), sample: 0.001, ..Options::default() };
            let run = fluid.run(20.0, &options).unwrap();
            // The amplitude per period of the root, late enough for the other roots to have died.
            let period = 2.0 * std::f64::consts::PI / root.im.abs();
            let amplitude = |from: f64| {
                let part = &run.queue[(from * 1000.0) as usize..((from + period) * 1000.0) as usize];
                part.iter().fold(0.0_f64, |m, q| m.max((q - q_ref).abs()))
            };
            let apart = (8.0 / period).round() * period;
            let measured = (amplitude(8.0 + apart) / amplitude(8.0)).ln() / apart;
            assert!((measured - root.re).abs() < 0.002, "R = {rtt}: {measured} beside {root}");
            assert_eq!(measured > 0.0, rtt > 0.242, "R = {rtt}: {measured}");
        }
    }

    /// vrc 3.2, the same for VRC with K_D = 0.0003: R = 0.280 s. `alpha = K_D`, and `beta` and `gamma`
    /// solve `K_P = alpha (beta + gamma)` and `K_I = alpha beta gamma` (vrc eq. 12): 3 and 5 per second.
    /// The document's VRC knows the rate at once; 0.1 ms of memory is next to that.
    #[test]
    fn vrc_is_stable_up_to_its_critical_round_trip_time() {
        let q_ref = 50.0;
        let vrc = Vrc { alpha: 0.0003, beta: 3.0, gamma: 5.0, q_ref, rate_memory: 1e-4 };
        for rtt in [0.27, 0.278, 0.282, 0.29] {
            let network = Network::new(100.0, rtt - q_ref / 1250.0, 1250.0, 1000.0);
            let fluid = Fluid::new(network, AnyModel::Vrc(vrc)).unwrap();
            let fluid = fluid.starting(Start::Rest(0.001)).unwrap();
            let options = Options { tolerance: Tolerance::of(1e-9), sample: 0.01, ..Options::default() };
            let run = fluid.run(40.0, &options).unwrap();
            let amplitude = |from: usize| {
                run.queue[from..from + 1000].iter().fold(0.0_f64, |m, q| m.max((q - q_ref).abs()))
            };
            let growth = amplitude(3000) / amplitude(1000);
            println!("{rtt} {growth} {:?}", run.work);
            assert_eq!(growth > 1.0, rtt > 0.280, "R = {rtt}: {growth}");
        }
    }

    /// More flows after 20 s: the new rest is reached, and the change itself is no step of the solver.
    #[test]
    fn a_step_of_the_load() {
        let (network, pi) = hollot();
        let more = Network { classes: vec![Class { flows: 90.0, propagation: 0.2 }], ..network.clone() };
        let fluid = Fluid::new(network, AnyModel::Pi(Pi { k_i: 4e-5, k_p: 4e-5, ..pi })).unwrap();
        let fluid = fluid.starting(Start::Rest(0.0)).unwrap().changing(20.0, more.clone()).unwrap();
        let run = fluid.run(200.0, &tight()).unwrap();
        let at = |t: f64| (t / 0.1).round() as usize;
        assert!((run.queue[at(20.0)] - 175.0).abs() < 1e-6, "{}", run.queue[at(20.0)]);
        // Half more flows of the same windows bring half more packets.
        assert!((run.arrivals[at(20.0)] - 3750.0).abs() < 1e-4);
        assert!(run.queue[at(20.1)] > 270.0, "{}", run.queue[at(20.1)]);
        let last = run.time.len() - 1;
        let rest = AnyModel::Pi(pi).rest(&more).unwrap();
        assert!((run.queue[last] - 175.0).abs() < 0.1, "{}", run.queue[last]);
        assert!((run.windows[0][last] - rest.point.classes[0].window).abs() < 0.01);
        assert!((run.probability[last] - rest.point.probability).abs() < 1e-5);
    }

    /// Without an algorithm's signals a full buffer's losses hold the flows' windows; what is lost is what
    /// arrives beyond C, `1 - C/r`. Unnoticed losses hold nothing.
    #[test]
    fn a_full_buffer_signals_by_its_losses() {
        let network = Network::new(50.0, 0.1, 1250.0, 100.0);
        let silent = Pi { k_p: 0.0, k_i: 0.0, q_ref: 50.0 };
        let fluid = Fluid::new(network.clone(), AnyModel::Pi(silent)).unwrap();
        let run = fluid.run(100.0, &tight()).unwrap();
        assert!(run.queue.iter().all(|q| (0.0..=100.0).contains(q)));
        let full = (0..run.time.len()).filter(|i| run.lost[*i] > 0.0);
        assert!(full.clone().count() > 10, "{:?}", run.lost);
        for i in full {
            assert!((run.lost[i] - (1.0 - 1250.0 / run.arrivals[i])).abs() < 1e-12, "{i}");
            assert!(run.queue[i] > 99.999, "{}", run.queue[i]);
        }
        let summary = run.summary(50.0).unwrap();
        assert!(summary.mean > 50.0, "{summary:?}");
        let most = run.windows[0].iter().fold(0.0_f64, |m, w| m.max(*w));
        let ignored = fluid.run(100.0, &Options { overflow: Overflow::Ignored, ..tight() }).unwrap();
        assert!(ignored.windows[0][1000] > 5.0 * most, "{most} {}", ignored.windows[0][1000]);
    }

    /// Side by side or alone, the same to the tolerance; on any number of threads, the same bits.
    #[test]
    fn a_batch_is_its_members() {
        let (network, pi) = hollot();
        let red = Red {
            min_th: 150.0,
            max_th: 700.0,
            max_p: 0.1,
            end: 1400.0,
            forgetting: 0.005 / 3750.0,
            spread: 1.0,
            crowding: 0.0,
        };
        let fluids: Vec<Fluid> = (0..37)
            .map(|i| {
                let classes = vec![Class { flows: 40.0 + i as f64, propagation: 0.1 + 0.004 * i as f64 }];
                let (model, start) = match i % 3 {
                    0 => (AnyModel::Red(red), Start::Rest(20.0)),
                    _ => (AnyModel::Pi(pi), Start::Empty),
                };
                Fluid::new(Network { classes, ..network.clone() }, model).unwrap().starting(start).unwrap()
            })
            .collect();
        let options = Options { tolerance: Tolerance::of(1e-8), sample: 0.5, ..Options::default() };
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| queues(&fluids, 30.0, 10.0, &options))
        };
        let one = on(1);
        assert_eq!(one, on(3));
        for (fluid, together) in fluids.iter().zip(one) {
            let alone = fluid.run(30.0, &options).unwrap();
            for (a, b) in alone.queue[20..].iter().zip(together.unwrap()) {
                assert!((a - b).abs() < 1e-6 * a.abs().max(1.0), "{a} {b}");
            }
        }
    }

    /// Detection scales RED's thresholds, and what it does comes at the same time for any tolerance.
    #[test]
    fn a_switch_does_not_depend_on_the_steps() {
        let link = Link {
            rate: BitRate::from_bps(15_000_000),
            buffer: QueueSize::Packets(1000.0),
            mean_packet: Bytes::new(1000),
        };
        let network = Network::new(60.0, 0.2, 1875.0, 1000.0);
        let entry = CATALOG.iter().find(|e| e.name == "st-red").unwrap();
        let AnyModel::StRed(model) = AnyModel::of(&(entry.default)(), &link, &network).unwrap() else {
            unreachable!("st-red has a model of its kind");
        };
        // Watching twenty times as fast as by default.
        let model = StRed { phi1: 20.0 * model.phi1, phi2: 20.0 * model.phi2, ..model };
        let fluid = Fluid::new(network, AnyModel::StRed(model)).unwrap();
        let scale = |tolerance: f64| {
            let options = Options { tolerance: Tolerance::of(tolerance), sample: 0.1, ..Options::default() };
            fluid.run(60.0, &options).unwrap().state[4].clone()
        };
        let (rough, fine) = (scale(1e-8), scale(1e-10));
        assert!(rough.iter().any(|k| *k != 1.0), "nothing was detected");
        let apart = rough.iter().zip(&fine).filter(|(a, b)| (*a - *b).abs() > 1e-3).count();
        assert!(apart <= 2, "{apart}");
    }

    #[test]
    fn a_summary_knows_a_wave() {
        let wave: Vec<f64> = (0..4000)
            .map(|i| 100.0 + 20.0 * (2.0 * std::f64::consts::PI * f64::from(i) / 250.0).sin())
            .collect();
        let s = Summary::of(&wave, 0.01).unwrap();
        assert!((s.mean - 100.0).abs() < 1e-9 && (s.amplitude - 20.0).abs() < 0.01, "{s:?}");
        assert!((s.deviation - 200.0_f64.sqrt()).abs() < 1e-9, "{s:?}");
        assert!((s.period.unwrap() - 2.5).abs() < 1e-3 && !s.settles(), "{s:?}");
        let dying: Vec<f64> =
            wave.iter().enumerate().map(|(i, q)| 100.0 + (q - 100.0) * (-1e-3 * i as f64).exp()).collect();
        assert!(Summary::of(&dying, 0.01).unwrap().settles());
        assert!(Summary::of(&wave[..5], 0.01).is_err());
    }

    #[test]
    fn what_is_refused_is_named() {
        let (network, pi) = hollot();
        let model = AnyModel::Pi(pi);
        let said = |e: TheoryError| e.to_string();
        let none = Network { capacity: f64::NAN, ..network.clone() };
        assert!(said(Fluid::new(none, model).unwrap_err()).contains("capacity C = NaN"));
        let wrong = AnyModel::Pi(Pi { k_i: f64::NAN, ..pi });
        let text = said(Fluid::new(network.clone(), wrong).unwrap_err());
        assert!(text.contains("parameter k_i of the model = NaN"), "{text}");
        let fluid = Fluid::new(network.clone(), model).unwrap();
        let text = said(fluid.clone().starting(Start::Rest(1000.0)).unwrap_err());
        assert!(text.contains("queue q at the start = 1175 packets"), "{text}");
        assert!(said(fluid.run(-1.0, &tight()).unwrap_err()).contains("duration = -1 s"));
        let options = Options { tolerance: Tolerance { steps: 100, ..Tolerance::of(1e-9) }, ..tight() };
        let text = said(fluid.run(100.0, &options).unwrap_err());
        assert!(text.contains("100 steps did not suffice"), "{text}");
        let other = Network { buffer: 1.0, ..network };
        assert!(said(fluid.changing(1.0, other).unwrap_err()).contains("must stay"));
    }
}
