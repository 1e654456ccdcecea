//! The equations: the network as a delay equation with the algorithm's law in it.

use super::setup::{Fluid, Options, Overflow};
use crate::congestion::{Congestion, Heard, Sender, Signal, Tcp};
use crate::error::TheoryError;
use crate::models::{FluidLaw, FluidView};
use crate::network::{FluidNetwork, LEFT, Scalables};
use crate::num::Real;
use crate::num::dde::{Past, System};

/// N, C and T_p for some time.
#[derive(Clone, Copy)]
pub(super) struct Leg<V, const D: usize> {
    pub(super) from: f64,
    pub(super) flows: [V; D],
    pub(super) propagation: [V; D],
    pub(super) capacity: V,
    /// The wait for each packet of the queue: `1/C`, and 0 of classes that do not wait.
    pub(super) per_packet: [V; D],
}

/// Networks side by side, and where they start. The variables are the windows, the queue, the law's, and where the
/// senders estimate the share of marks, those estimates.
pub(super) struct Net<V, const D: usize> {
    pub(super) classes: usize,
    /// Number of the law's variables.
    pub(super) variables: usize,
    pub(super) legs: Vec<Leg<V, D>>,
    pub(super) buffer: V,
    /// Length from which on the queue is full.
    pub(super) full: V,
    /// Reno's constants.
    increase: V,
    per_decrease: V,
    /// Another law of the windows.
    other: Option<Congestion>,
    /// The classes of a second kind.
    scalables: Option<Scalables>,
    /// 1 where signals are drops.
    dropping: V,
    pub(super) drops: bool,
    pub(super) overflow: bool,
    longest: f64,
    pub(super) before: Vec<[f64; D]>,
    pub(super) start: [V; D],
    pub(super) scale: [f64; D],
}

impl<V: Real, const D: usize> Net<V, D> {
    pub(super) fn new(fluids: &[&Fluid], options: &Options) -> Result<Self, TheoryError> {
        let first = fluids[0];
        let classes = first.network().classes.len();
        let initial = fluids.iter().map(|f| f.initial()).collect::<Result<Vec<_>, _>>()?;
        let padded = |y: &[f64]| std::array::from_fn(|d| y.get(d).copied().unwrap_or(0.0));
        let before: Vec<[f64; D]> = initial.iter().map(|(before, _)| padded(before)).collect();
        let start: Vec<[f64; D]> = initial.iter().map(|(_, now)| padded(now)).collect();
        let of = |f: &dyn Fn(&FluidNetwork) -> f64, leg: usize| V::from_lanes(|i| f(&fluids[i].legs[leg].1));
        let legs: Vec<Leg<V, D>> = (0..first.legs.len())
            .map(|leg| Leg {
                from: first.legs[leg].0,
                flows: std::array::from_fn(|k| of(&|n| n.classes.get(k).map_or(0.0, |c| c.flows), leg)),
                propagation: std::array::from_fn(|k| {
                    of(&|n| n.classes.get(k).map_or(1.0, |c| c.propagation), leg)
                }),
                capacity: of(&|n| n.capacity, leg),
                per_packet: std::array::from_fn(|k| {
                    of(&|n| if n.waits(k) { 1.0 / n.capacity } else { 0.0 }, leg)
                }),
            })
            .collect();
        let longest = fluids
            .iter()
            .flat_map(|f| &f.legs)
            .flat_map(|(_, n)| (0..n.classes.len()).map(|k| n.rtt(k, n.buffer)))
            .fold(0.0, f64::max);
        let units = first.model.variables().iter().map(|(_, unit)| if *unit == "1" { 1e-3 } else { 1.0 });
        let scale: Vec<f64> = std::iter::repeat_n(1.0, classes + 1).chain(units).collect();
        let buffer = of(&|n| n.buffer, 0);
        let reno = |n: &FluidNetwork| match n.congestion {
            Congestion::Reno(tcp) => tcp,
            _ => Tcp::SAWTOOTH,
        };
        let law = first.network().congestion;
        let estimates = if first.network().estimates() { classes } else { 0 };
        Ok(Net {
            classes,
            variables: first.model.variables().len(),
            legs,
            buffer,
            full: buffer * V::of(1.0 - 1e-12),
            increase: of(&|n| reno(n).increase, 0),
            per_decrease: of(&|n| 1.0 / reno(n).decrease, 0),
            other: (!matches!(law, Congestion::Reno(_))).then_some(law),
            scalables: first.network().scalables,
            dropping: of(&|n| f64::from(u8::from(n.signal == Signal::Drop)), 0),
            drops: fluids.iter().any(|f| f.network().signal == Signal::Drop),
            overflow: options.overflow == Overflow::Signals,
            longest,
            before,
            start: std::array::from_fn(|d| V::from_lanes(|i| start[i][d])),
            scale: padded(&scale.into_iter().chain(std::iter::repeat_n(1e-3, estimates)).collect::<Vec<_>>()),
        })
    }

    /// Tells whether the senders estimate the share of marks.
    pub(super) fn estimates(&self) -> bool {
        self.other.is_some_and(|law| law.estimates())
            || self.scalables.is_some_and(|s| s.congestion.estimates())
    }

    /// The scalable senders among the classes, if class `i` is one of theirs.
    #[inline(always)]
    fn scalable(&self, i: usize) -> Option<&Scalables> {
        self.scalables.as_ref().filter(|s| i >= s.from)
    }

    /// The law of the windows of class `i`, if it is not Reno's.
    #[inline(always)]
    fn other(&self, i: usize) -> Option<&Congestion> {
        self.scalable(i).map(|s| &s.congestion).or(self.other.as_ref())
    }

    /// Probability of a signal to class `i` where p is the algorithm's.
    #[inline(always)]
    fn coupled(&self, i: usize, p: V) -> V {
        match self.scalable(i).and_then(|s| s.coupling.factor) {
            Some(k) => (V::of(k) * p.sqrt()).min(V::of(1.0)),
            None => p,
        }
    }

    /// The part of the arrivals that may be dropped.
    #[inline(always)]
    fn droppable(&self, leg: &Leg<V, D>, queue: V, y: &[V; D], arrivals: V) -> V {
        match &self.scalables {
            Some(s) => arrivals - self.arrivals_of(s.from, leg, queue, y),
            None => arrivals,
        }
    }

    /// Growth of the queue for each packet in excess; see `OperatingPoint::speed`.
    #[inline(always)]
    pub(super) fn speed(&self, leg: &Leg<V, D>, queue: V, y: &[V; D]) -> V {
        match &self.scalables {
            Some(s) if s.coupling.apart => {
                let left = leg.capacity - self.arrivals_of(s.from, leg, queue, y);
                leg.capacity / left.max(V::of(LEFT) * leg.capacity)
            }
            _ => V::of(1.0),
        }
    }

    /// The times of change within a duration.
    pub(super) fn stops(&self, duration: f64) -> Vec<f64> {
        self.legs[1..].iter().map(|l| l.from).filter(|t| *t < duration).collect()
    }

    /// r: what all flows together bring.
    #[inline(always)]
    pub(super) fn arrivals(&self, leg: &Leg<V, D>, queue: V, y: &[V; D]) -> V {
        self.arrivals_of(0, leg, queue, y)
    }

    /// Arrivals of the flows from a class on.
    #[inline(always)]
    fn arrivals_of(&self, from: usize, leg: &Leg<V, D>, queue: V, y: &[V; D]) -> V {
        let mut arrivals = V::of(0.0);
        for (i, window) in y.iter().enumerate().take(self.classes).skip(from) {
            arrivals = arrivals + leg.flows[i] * *window / (leg.propagation[i] + queue * leg.per_packet[i]);
        }
        arrivals
    }

    /// Share of the rate to admit that a full queue loses.
    #[inline(always)]
    pub(super) fn lost(&self, queue: V, admitted: V, capacity: V) -> V {
        let zero = V::of(0.0);
        V::select(queue.lt(self.full), zero, V::of(1.0) - capacity / admitted.max(capacity))
    }

    /// N, C and T_p at a time before the leg, which may differ from lane to lane.
    #[cold]
    #[inline(never)]
    fn mixed(&self, leg: usize, t: V) -> Leg<V, D> {
        let mut mixed = self.legs[leg];
        for (earlier, later) in self.legs[..leg].iter().zip(&self.legs[1..]).rev() {
            let before = t.lt(V::of(later.from));
            for k in 0..self.classes {
                mixed.flows[k] = V::select(before, earlier.flows[k], mixed.flows[k]);
                mixed.propagation[k] = V::select(before, earlier.propagation[k], mixed.propagation[k]);
                mixed.per_packet[k] = V::select(before, earlier.per_packet[k], mixed.per_packet[k]);
            }
            mixed.capacity = V::select(before, earlier.capacity, mixed.capacity);
        }
        mixed
    }

    /// Rates of change of windows of another law than Reno's, and of their estimates.
    #[cold]
    #[inline(never)]
    fn others(&self, law: &Congestion, now: [V; 3], then: [V; 3]) -> [V; 2] {
        let mut rates = [[0.0; 2]; 16];
        for (i, rates) in rates.iter_mut().enumerate().take(V::LANES) {
            let [window, share, rtt] = now.map(|x| x.lane(i));
            let [old, rtt_then, probability] = then.map(|x| x.lane(i));
            let heard = Heard { window: old, rtt: rtt_then, probability };
            *rates = law.rates(&Sender { window, share, rtt }, &heard).into();
        }
        std::array::from_fn(|k| V::from_lanes(|i| rates[i][k]))
    }

    /// Signals and losses that the senders see of a queue that may be full.
    #[cold]
    #[inline(never)]
    fn with_losses(&self, then: &Leg<V, D>, queue: V, y: &[V; D], p: V, signaled: V) -> V {
        let one = V::of(1.0);
        let arrivals = self.arrivals(then, queue, y);
        let admitted = arrivals - self.droppable(then, queue, y, arrivals) * self.dropping * p;
        one - (one - signaled) * (one - self.lost(queue, admitted, then.capacity))
    }
}

/// The equations, of one fluid or of several side by side. `ONE` says that there is one class, which
/// spares loops.
pub(super) struct Plant<'n, M, V, const D: usize, const ONE: bool> {
    pub(super) law: M,
    pub(super) net: &'n Net<V, D>,
}

impl<M: FluidLaw<V>, V: Real, const D: usize, const ONE: bool> Plant<'_, M, V, D, ONE> {
    #[inline(always)]
    pub(super) fn classes(&self) -> usize {
        if ONE { 1 } else { self.net.classes }
    }

    /// The law's variables.
    #[inline(always)]
    pub(super) fn state<'y>(&self, y: &'y [V; D]) -> &'y [V] {
        if ONE { &y[2..] } else { &y[self.net.classes + 1..] }
    }

    /// The algorithm's view of a state.
    #[inline(always)]
    pub(super) fn seen(&self, leg: usize, y: &[V; D]) -> FluidView<V> {
        let leg = &self.net.legs[leg];
        let queue = y[self.classes()].within(V::of(0.0), self.net.buffer);
        self.seen_with(leg, y, queue, self.net.arrivals(leg, queue, y))
    }

    #[inline(always)]
    fn seen_with(&self, leg: &Leg<V, D>, y: &[V; D], queue: V, arrivals: V) -> FluidView<V> {
        let (zero, capacity) = (V::of(0.0), leg.capacity);
        let admitted = if self.net.drops {
            let p = self.law.probability(queue, capacity, self.state(y));
            let dropped = self.net.dropping * p;
            if ONE {
                arrivals * (V::of(1.0) - dropped)
            } else {
                arrivals - self.net.droppable(leg, queue, y, arrivals) * dropped
            }
        } else {
            arrivals
        };
        let excess = admitted - capacity;
        let net = if ONE { excess } else { excess * self.net.speed(leg, queue, y) };
        let low = V::select(zero.lt(queue), net, net.max(zero));
        let growth = V::select(queue.lt(self.net.full), low, net.min(zero));
        FluidView { queue, growth, arrivals, admitted, capacity }
    }

    /// The signal at a time of the past, and the round-trip time of a class then.
    #[inline(always)]
    fn signaled(&self, leg: usize, t: V, y: &[V; D], class: usize) -> (V, V) {
        let mixed;
        let mut then = &self.net.legs[leg];
        if leg > 0 && V::any(t.lt(V::of(then.from))) {
            mixed = self.net.mixed(leg, t);
            then = &mixed;
        }
        let queue = y[self.classes()].within(V::of(0.0), self.net.buffer);
        let rtt = then.propagation[class] + queue * then.per_packet[class];
        let p = self.law.probability(queue, then.capacity, self.state(y));
        let signaled = if ONE { p } else { self.net.coupled(class, p) };
        if self.net.overflow && V::any(self.net.full.lt(queue)) {
            return (self.net.with_losses(then, queue, y, p, signaled), rtt);
        }
        (signaled, rtt)
    }
}

impl<M: FluidLaw<V>, V: Real, const D: usize, const ONE: bool> System<V, D> for Plant<'_, M, V, D, ONE> {
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
            let rtt = now.propagation[i] + queue * now.per_packet[i];
            let then = V::of(t) - rtt;
            let old = past.at(i, then);
            let (p, rtt_then) = self.signaled(leg, then, &old, i);
            // One division for two.
            let both = V::of(1.0) / (rtt * rtt_then);
            let rate = both * rtt_then;
            arrivals = arrivals + now.flows[i] * y[i] * rate;
            if let Some(law) = self.net.other(i) {
                let estimate = k + 1 + self.net.variables + i;
                let share = if law.estimates() { y[estimate] } else { V::of(0.0) };
                let [window, share] = self.net.others(law, [y[i], share, rtt], [old[i], rtt_then, p]);
                dy[i] = window;
                if law.estimates() {
                    dy[estimate] = share;
                }
                continue;
            }
            dy[i] = self.net.increase * rate - self.net.per_decrease * y[i] * old[i] * p * (both * rtt);
        }
        let seen = self.seen_with(now, y, queue, arrivals);
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
