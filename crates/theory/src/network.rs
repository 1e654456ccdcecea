//! The network of the models: flows, a link, and the answer of the flows to a signal.

use crate::congestion::{Congestion, Signal, Tcp, rising_root};
use crate::error::{TheoryError, positive, require};
use crate::text::figure;

/// Flows that share a propagation delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// N: how many.
    pub flows: f64,
    /// T_p: their round-trip time without queueing, in seconds.
    pub propagation: f64,
}

/// Treatment of scalable senders beside Classic ones: the static part of the coupling of RFC 9332.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coupling {
    /// k of `p_CL = k sqrt(p_C)` (RFC 9332 section 2.1, eq. 1); without it one probability is everybody's.
    pub factor: Option<f64>,
    /// Gives scalable packets a queue of their own, which is served first and taken to be empty.
    pub apart: bool,
}

impl Coupling {
    /// The probability of scalable senders, where that of Classic ones is `p`.
    pub fn probability(&self, p: f64) -> f64 {
        self.factor.map_or(p, |k| (k * p.sqrt()).min(1.0))
    }

    /// Slope of that over p: 0 where it is held at 1.
    pub fn slope(&self, p: f64) -> f64 {
        match self.factor {
            None => 1.0,
            Some(k) if k * p.sqrt() < 1.0 => 0.5 * k / p.sqrt(),
            Some(_) => 0.0,
        }
    }
}

/// Scalable senders beside Classic ones. Their signals are marks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scalables {
    /// The classes of the network from this one on are theirs.
    pub from: usize,
    /// The congestion control of their windows.
    pub congestion: Congestion,
    /// Their treatment by the algorithm, which [`AnyModel::network`](crate::models::AnyModel::network) fills
    /// in.
    pub coupling: Coupling,
}

/// One link and the flows that share it.
#[derive(Clone, Debug, PartialEq)]
pub struct FluidNetwork {
    /// The flows.
    pub classes: Vec<Class>,
    /// Classes of a second kind among them.
    pub scalables: Option<Scalables>,
    /// C in packets of mean size per second.
    pub capacity: f64,
    /// B in packets.
    pub buffer: f64,
    /// The congestion control of the windows.
    pub congestion: Congestion,
    /// Form in which a signal reaches the senders.
    pub signal: Signal,
}

impl FluidNetwork {
    /// `flows` flows of one round-trip time without queueing, in seconds; capacity in packets per
    /// second, buffer in packets; windows as a sawtooth, signals as marks.
    pub fn new(flows: f64, propagation: f64, capacity: f64, buffer: f64) -> Self {
        FluidNetwork {
            classes: vec![Class { flows, propagation }],
            scalables: None,
            capacity,
            buffer,
            congestion: Tcp::SAWTOOTH.into(),
            signal: Signal::Mark,
        }
    }

    /// Refuses a network that cannot exist.
    ///
    /// # Errors
    /// Names the quantity that is not positive and finite.
    pub fn check(&self) -> Result<(), TheoryError> {
        require(!self.classes.is_empty(), "flows", "none", "a network has at least one class of flows")?;
        for class in &self.classes {
            positive("flows N", class.flows, "flows")?;
            positive("propagation delay T_p", class.propagation, "s")?;
        }
        positive("capacity C", self.capacity, "packets/s")?;
        positive("buffer B", self.buffer, "packets")?;
        if let Some(scalables) = &self.scalables {
            require(
                scalables.from > 0 && scalables.from < self.classes.len(),
                "first class of scalable flows",
                scalables.from,
                format!("must leave classes of both kinds among {}", self.classes.len()),
            )?;
            scalables.congestion.check(Signal::Mark)?;
        }
        self.congestion.check(self.signal)
    }

    /// The scalable senders among the classes, if class `i` is one of theirs.
    pub(crate) fn scalable(&self, i: usize) -> Option<&Scalables> {
        self.scalables.as_ref().filter(|s| i >= s.from)
    }

    /// The law of the windows of class `i`.
    pub(crate) fn law(&self, i: usize) -> Congestion {
        self.scalable(i).map_or(self.congestion, |s| s.congestion)
    }

    /// Tells whether some senders keep an estimate of the share of marks.
    pub(crate) fn estimates(&self) -> bool {
        self.congestion.estimates() || self.scalables.is_some_and(|s| s.congestion.estimates())
    }

    /// Tells whether the packets of class `i` wait in the queue that is modeled.
    pub(crate) fn waits(&self, i: usize) -> bool {
        !self.scalable(i).is_some_and(|s| s.coupling.apart)
    }

    /// Probability of a signal to class `i` where p is the algorithm's, and its slope over p.
    pub(crate) fn signaled(&self, i: usize, p: f64) -> (f64, f64) {
        self.scalable(i).map_or((p, 1.0), |s| (s.coupling.probability(p), s.coupling.slope(p)))
    }

    /// Share of the packets of class `i` that goes on where they are signaled with a probability.
    pub(crate) fn admitted(&self, i: usize, p: f64) -> f64 {
        if self.signal == Signal::Drop && self.scalable(i).is_none() { 1.0 - p } else { 1.0 }
    }

    /// Park et al. 2004, eq. 8: the round-trip time of class `i` with a queue of `q` packets, in seconds.
    pub fn rtt(&self, i: usize, q: f64) -> f64 {
        let wait = if self.waits(i) { q / self.capacity } else { 0.0 };
        self.classes[i].propagation + wait
    }

    /// The rate of all flows together if every window were one packet, in packets per second.
    pub(crate) fn rate_per_window(&self, q: f64) -> f64 {
        self.flows(q).iter().map(|(n, r)| n / r).sum()
    }

    /// N and R of each class with a queue of `q` packets.
    fn flows(&self, q: f64) -> Vec<(f64, f64)> {
        (0..self.classes.len()).map(|i| (self.classes[i].flows, self.rtt(i, q))).collect()
    }

    /// Arrivals at the queue with a probability and a queue of `q` packets, and the part of them that goes
    /// on.
    fn offered(&self, p: f64, q: f64) -> (f64, f64) {
        let of = |i: usize, (n, r): (f64, f64)| {
            let signaled = self.signaled(i, p).0;
            let rate = n / r * self.law(i).window(signaled, r);
            (rate, rate * self.admitted(i, signaled))
        };
        let each = self.flows(q).into_iter().enumerate().map(|(i, flows)| of(i, flows));
        each.fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1))
    }

    /// The probability with which flows of two kinds together bring `rate`; more than 1 if none does.
    fn shared_probability(&self, q: f64, rate: f64) -> f64 {
        let lack = |p: f64| rate - self.offered(p, q).1;
        if lack(1.0) < 0.0 { f64::INFINITY } else { rising_root(1e-30, 1.0, lack) }
    }

    /// Park et al. 2004, eq. 13, Chen 2010, eq. 4.7: the probability with which the flows together bring
    /// `rate` packets per second to the queue, which holds `q` packets. Dropped packets do not count.
    ///
    /// # Errors
    /// Even signaling every packet would leave them faster.
    pub fn needed_probability(&self, q: f64, rate: f64) -> Result<f64, TheoryError> {
        let p = match self.scalables {
            None => self.congestion.probability(&self.flows(q), rate, self.signal),
            Some(_) => self.shared_probability(q, rate),
        };
        require(
            p > 0.0 && p <= 1.0,
            "signal probability p",
            match p {
                // Next to 1 every digit counts.
                p if (p - 1.0).abs() < 1e-3 => p.to_string(),
                p if p.is_finite() => figure(p),
                _ => "more than 1".into(),
            },
            format!(
                "must lie in (0, 1]: at equilibrium a flow would have a window of {} packets; fewer flows, a higher capacity or a longer round-trip time would have an equilibrium [Park et al. 2004, eq. 13]",
                figure(rate / self.rate_per_window(q))
            ),
        )?;
        Ok(p)
    }
}

/// A class of flows at equilibrium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// N.
    pub flows: f64,
    /// R: the round-trip time, queueing included, in seconds.
    pub rtt: f64,
    /// W in packets.
    pub window: f64,
    /// The congestion control of their windows.
    pub congestion: Congestion,
    /// Probability with which they are signaled, and its slope over the algorithm's p.
    pub signaled: (f64, f64),
    /// Tells whether they wait in the queue.
    pub waits: bool,
    /// Share of their packets that goes on: less than 1 where signals are drops.
    pub admitted: f64,
}

impl Share {
    /// Rate of the class, in packets per second.
    pub fn rate(&self) -> f64 {
        self.flows * self.window / self.rtt
    }
}

/// Least share of the link that is left to the Classic queue, so that a bound on the speed keeps the fluid
/// finite: the weight of RFC 9332 section 4.2.2.
pub(crate) const LEFT: f64 = 0.0625;

/// Growth, for each packet in excess, of a queue whose delay counts, where `first` packets per second need
/// not wait.
fn speed(capacity: f64, first: f64) -> f64 {
    capacity / (capacity - first).max(LEFT * capacity)
}

/// The equilibrium of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatingPoint {
    /// The flows.
    pub classes: Vec<Share>,
    /// C in packets per second.
    pub capacity: f64,
    /// q in packets. With an empty one the rate of arrivals moves freely below the capacity. Where some packets do
    /// not wait, what the link would send in the time that the others do: C times their delay.
    pub queue: f64,
    /// Growth of q for each packet in excess: 1 where all packets wait. The others' rate r_L is taken from
    /// the link first, so that a packet of the queue delays it by `1/(C - r_L)` seconds: `C/(C - r_L)`.
    pub speed: f64,
    /// p: the probability of a signal.
    pub probability: f64,
    /// Arrivals at the queue, dropped packets included, in packets per second.
    pub arrivals: f64,
    /// The congestion control of the windows.
    pub congestion: Congestion,
    /// Form in which a signal reaches the senders.
    pub signal: Signal,
}

impl OperatingPoint {
    /// `flows` flows with the round-trip time `rtt` (queueing included, in seconds) that fill a
    /// capacity in packets per second: the setting of the papers' formulas. The queue is called
    /// `q`; it enters only where an algorithm's slope depends on it.
    ///
    /// # Errors
    /// Names the quantity that is not physical.
    pub fn at(
        flows: f64,
        rtt: f64,
        capacity: f64,
        queue: f64,
        congestion: impl Into<Congestion>,
    ) -> Result<OperatingPoint, TheoryError> {
        positive("round-trip time R", rtt, "s")?;
        positive("capacity C", capacity, "packets/s")?;
        require(queue >= 0.0, "queue q", format!("{queue} packets"), "must not be negative")?;
        let propagation = rtt - queue / capacity;
        require(
            propagation > 0.0,
            "round-trip time R",
            format!("{rtt} s"),
            format!("must exceed the queueing delay q/C = {} s", queue / capacity),
        )?;
        let network = FluidNetwork {
            congestion: congestion.into(),
            ..FluidNetwork::new(flows, propagation, capacity, queue.max(1.0))
        };
        network.check()?;
        network.point(queue, capacity)
    }
}

impl FluidNetwork {
    /// The equilibrium at which the queue holds `q` packets and takes in `rate` packets per second, the
    /// capacity unless it is empty.
    ///
    /// # Errors
    /// No probability leads there.
    pub fn point(&self, q: f64, rate: f64) -> Result<OperatingPoint, TheoryError> {
        let probability = self.needed_probability(q, rate)?;
        let share = |i: usize| {
            let (rtt, signaled) = (self.rtt(i, q), self.signaled(i, probability));
            let congestion = self.law(i);
            Share {
                flows: self.classes[i].flows,
                rtt,
                window: congestion.window(signaled.0, rtt),
                congestion,
                signaled,
                waits: self.waits(i),
                admitted: self.admitted(i, signaled.0),
            }
        };
        let classes: Vec<Share> = (0..self.classes.len()).map(share).collect();
        let arrivals = classes.iter().map(Share::rate).sum();
        let first: f64 = classes.iter().filter(|c| !c.waits).map(Share::rate).sum();
        Ok(OperatingPoint {
            classes,
            capacity: self.capacity,
            queue: q,
            speed: speed(self.capacity, first),
            probability,
            arrivals,
            congestion: self.congestion,
            signal: self.signal,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Park et al. 2004, eq. 13 for its own example; `p = a (N/RC)^2`.
    #[test]
    fn one_class_with_marks() {
        let example = OperatingPoint::at(100.0, 0.1, 1250.0, 50.0, Tcp::SAWTOOTH).unwrap();
        assert!((example.probability - 0.96).abs() < 1e-12);
        let too_many = OperatingPoint::at(100.0, 0.1, 1250.0, 50.0, Tcp::HALVING).unwrap_err();
        assert!(too_many.to_string().contains("window of 1.250 packets"), "{too_many}");
        let point = OperatingPoint::at(60.0, 0.246, 3750.0, 175.0, Tcp::HALVING).unwrap();
        assert!((point.probability - 2.0 * (60.0_f64 / (0.246 * 3750.0)).powi(2)).abs() < 1e-15);
        assert!((point.classes[0].window - 15.375).abs() < 1e-12);
        assert!((point.arrivals - 3750.0).abs() < 1e-9);
    }

    /// With drops, what is offered exceeds the capacity by what is dropped.
    #[test]
    fn drops_leave_the_capacity_filled() {
        let network = FluidNetwork {
            signal: Signal::Drop,
            classes: vec![Class { flows: 20.0, propagation: 0.05 }, Class { flows: 30.0, propagation: 0.2 }],
            ..FluidNetwork::new(1.0, 1.0, 2500.0, 500.0)
        };
        let point = network.point(100.0, 2500.0).unwrap();
        assert!((point.arrivals * (1.0 - point.probability) - 2500.0).abs() < 1e-9);
        let w = point.classes[0].window;
        assert!((w * w * point.probability - 1.5).abs() < 1e-12);
        assert!((20.0 * w / 0.09 + 30.0 * w / 0.24 - point.arrivals).abs() < 1e-9);
    }
}
