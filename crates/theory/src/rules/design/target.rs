//! The conditions that parameters are to suit.

use quell_aqm::Link;
use quell_aqm::ap_red::Conditions;
use quell_units::{BitRate, Bytes, Duration, QueueSize};

use super::digits::round;
use crate::congestion::{Congestion, Signal, Tcp};
use crate::error::{TheoryError, positive, require};
use crate::network::{Class, Coupling, FluidNetwork, Scalables};

/// The conditions that parameters are to suit.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The rate of the link.
    pub rate: BitRate,
    /// The mean size of packets.
    pub mean_packet: Bytes,
    /// R: the longest round-trip time, with the queue at its target.
    pub rtt: Duration,
    /// N: the fewest flows.
    pub flows: f64,
    /// B in packets; without it R C, but at least 20.
    pub buffer: Option<f64>,
    /// The queue to hold in packets; without it a quarter of the buffer. Rules that set a queue of their
    /// own leave it aside, and pi2 and dualpi2 have their own without it, where half of the buffer holds it.
    pub queue: Option<f64>,
    /// The congestion control of the windows.
    pub congestion: Congestion,
    /// Form in which a signal reaches the senders.
    pub signal: Signal,
    /// Scalable senders beside those: how many, and how their windows move; without queueing their round-trip time is
    /// the others'.
    pub scalables: Option<(f64, Congestion)>,
}

impl Target {
    /// Makes a target for a link, with everything else as the documentation of the fields has it; marks, and
    /// windows as a sawtooth.
    pub fn new(rate: BitRate, mean_packet: Bytes, rtt: Duration, flows: f64) -> Target {
        Target {
            rate,
            mean_packet,
            rtt,
            flows,
            buffer: None,
            queue: None,
            congestion: Congestion::default(),
            signal: Signal::Mark,
            scalables: None,
        }
    }

    /// Reno's constants.
    ///
    /// # Errors
    /// The windows are others, and the published rules are for Reno's.
    pub(super) fn reno(&self) -> Result<Tcp, TheoryError> {
        match self.congestion {
            Congestion::Reno(tcp) => Ok(tcp),
            other => Err(TheoryError::quantity(
                "congestion",
                format!("\"{}\"", other.name()),
                "must be \"reno\", because the published rule is for Reno's window; pi also works for the others",
            )),
        }
    }

    pub(super) fn conditions(&self) -> Conditions {
        Conditions {
            flows: self.flows,
            rtt: self.rtt.as_secs_f64(),
            capacity: self.rate.packets_per_sec(self.mean_packet),
        }
    }

    /// The buffer in packets.
    pub fn buffer(&self) -> f64 {
        let now = self.conditions();
        self.buffer.unwrap_or((now.rtt * now.capacity).max(20.0).ceil())
    }

    /// The queue to hold, in packets.
    pub fn queue(&self) -> f64 {
        self.queue.unwrap_or((self.buffer() / 4.0).round().max(1.0))
    }

    /// The queue that a rule holds, as it is written into parameters.
    pub(super) fn held(&self) -> f64 {
        round(self.queue())
    }

    /// The link.
    pub fn link(&self) -> Link {
        Link { rate: self.rate, buffer: QueueSize::Packets(self.buffer()), mean_packet: self.mean_packet }
    }

    /// The network on which a queue of `q` packets makes the round-trip time R.
    ///
    /// # Errors
    /// R is not longer than the queue alone takes.
    pub fn network(&self, q: f64) -> Result<FluidNetwork, TheoryError> {
        let now = self.conditions();
        positive("flows N", now.flows, "flows")?;
        positive("rate of the link", now.capacity, "packets/s")?;
        let propagation = now.rtt - q / now.capacity;
        require(
            propagation > 0.0,
            "round-trip time R",
            format!("{} s", now.rtt),
            format!(
                "must exceed the {} s that a queue of {q} packets takes: request a smaller queue",
                q / now.capacity
            ),
        )?;
        let mut network = FluidNetwork {
            congestion: self.congestion,
            signal: self.signal,
            ..FluidNetwork::new(now.flows, propagation, now.capacity, self.buffer())
        };
        if let Some((flows, congestion)) = self.scalables {
            network.classes.push(Class { flows, propagation });
            network.scalables = Some(Scalables { from: 1, congestion, coupling: Coupling::default() });
        }
        network.check()?;
        Ok(network)
    }
}
