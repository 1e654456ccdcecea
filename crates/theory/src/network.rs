//! What the models say a network is: flows, a link, and how the flows answer a signal.

use crate::congestion::{Congestion, Tcp};
use crate::error::{TheoryError, positive, require};
use crate::text::figure;

/// How a signal reaches the senders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signal {
    /// The packet is marked and goes on (ECN).
    #[default]
    Mark,
    /// The packet is dropped, and does not enter the queue.
    Drop,
}

/// Flows that share a propagation delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// N: how many.
    pub flows: f64,
    /// T_p: their round-trip time without queueing, in seconds.
    pub propagation: f64,
}

/// One link and the flows that share it.
#[derive(Clone, Debug, PartialEq)]
pub struct FluidNetwork {
    /// The flows.
    pub classes: Vec<Class>,
    /// C in packets of mean size per second.
    pub capacity: f64,
    /// B in packets.
    pub buffer: f64,
    /// How windows move.
    pub congestion: Congestion,
    /// How a signal reaches the senders.
    pub signal: Signal,
}

impl FluidNetwork {
    /// `flows` flows of one round-trip time without queueing, in seconds; capacity in packets per
    /// second, buffer in packets; windows as a sawtooth, signals as marks.
    pub fn new(flows: f64, propagation: f64, capacity: f64, buffer: f64) -> Self {
        FluidNetwork {
            classes: vec![Class { flows, propagation }],
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
        self.congestion.check(self.signal)
    }

    /// Park et al. 2004, eq. 8: the round-trip time of a class with a queue of `q` packets, in seconds.
    pub fn rtt(&self, class: &Class, q: f64) -> f64 {
        class.propagation + q / self.capacity
    }

    /// The rate of all flows together if every window were one packet, in packets per second.
    pub(crate) fn rate_per_window(&self, q: f64) -> f64 {
        self.classes.iter().map(|c| c.flows / self.rtt(c, q)).sum()
    }

    /// N and R of each class with a queue of `q` packets.
    fn flows(&self, q: f64) -> Vec<(f64, f64)> {
        self.classes.iter().map(|c| (c.flows, self.rtt(c, q))).collect()
    }

    /// Park et al. 2004, eq. 13, Chen 2010, eq. 4.7: the probability with which the flows together bring
    /// `rate` packets per second to the queue, which holds `q` packets. Dropped packets do not count.
    ///
    /// # Errors
    /// Even signaling every packet would leave them faster.
    pub fn needed_probability(&self, q: f64, rate: f64) -> Result<f64, TheoryError> {
        let p = self.congestion.probability(&self.flows(q), rate, self.signal);
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
}

/// The equilibrium of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatingPoint {
    /// The flows.
    pub classes: Vec<Share>,
    /// C in packets per second.
    pub capacity: f64,
    /// q in packets. With an empty one the rate of arrivals moves freely below the capacity.
    pub queue: f64,
    /// p: the probability of a signal.
    pub probability: f64,
    /// What arrives at the queue, dropped packets included, in packets per second.
    pub arrivals: f64,
    /// How windows move.
    pub congestion: Congestion,
    /// How a signal reaches the senders.
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
        let share = |c: &Class| {
            let rtt = self.rtt(c, q);
            Share { flows: c.flows, rtt, window: self.congestion.window(probability, rtt) }
        };
        let classes: Vec<Share> = self.classes.iter().map(share).collect();
        let arrivals = classes.iter().map(|c| c.flows * c.window / c.rtt).sum();
        Ok(OperatingPoint {
            classes,
            capacity: self.capacity,
            queue: q,
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
