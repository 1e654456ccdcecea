//! A link where flows merge, compiled for its algorithm.

use quell_aqm::catalog::Visitor;
use quell_aqm::{Aqm, Departures, Discipline, Rng};
use quell_queue::{Fifo, Gate, Limit, Parallel, Qdisc};
use quell_units::BitRate;

use super::lindley::{ArrivalQueue, LindleyQueue};
use super::service::{HeadQueue, Queued, ServedLink};
use super::{queue_parts, recorder};
use crate::network::{Network, Schedule};
use crate::record::Recorder;
use crate::wire::Wire;

/// What a merging link is to the fast engine.
pub(super) enum Link {
    /// Unlimited and not observed: the wire is enough.
    Plain(Wire),
    /// Its queue decides on arrival.
    Arrival(Box<dyn ArrivalQueue>),
    /// Its departures are decided: it is served whenever the wire is free.
    Head(Box<dyn HeadQueue>),
}

impl Link {
    /// The link `i` of a network; keys there have `bits` of hop.
    pub fn new(network: &mut Network, i: usize, bits: u32) -> Link {
        let recorder = recorder(network, i);
        let spec = &mut network.links[i];
        let wire = Wire::new(spec, network.seed, i as u32);
        if spec.queue.is_none() && recorder.is_none() {
            return Link::Plain(wire);
        }
        let rng = network.seed.indexed_stream("link.aqm", i as u64);
        let (algorithm, limit, marks) = queue_parts(spec.queue.take());
        algorithm.visit(Builder { bits, wire, rng, limit, marks, rate: &spec.rate, recorder })
    }
}

/// Builds a link whose algorithm is known.
struct Builder<'a> {
    bits: u32,
    wire: Wire,
    rng: Rng,
    limit: Limit,
    marks: bool,
    rate: &'a Schedule<BitRate>,
    recorder: Option<Recorder>,
}

impl Builder<'_> {
    fn served<Q: Qdisc<Packet = Queued> + 'static>(
        queue: Q,
        rate: &Schedule<BitRate>,
        wire: Wire,
        recorder: Option<Recorder>,
    ) -> Link {
        match recorder {
            Some(observer) => Link::Head(Box::new(ServedLink::new(queue, rate, wire, observer))),
            None => Link::Head(Box::new(ServedLink::new(queue, rate, wire, ()))),
        }
    }
}

impl Visitor for Builder<'_> {
    type Output = Link;

    fn visit<A: Aqm + 'static>(self, aqm: A) -> Link {
        let Builder { bits, wire, rng, limit, marks, rate, recorder } = self;
        let first = rate.initial;
        if aqm.departures() == Departures::Decided {
            return Self::served(Fifo::new(aqm, rng, limit, marks, Some(first)), rate, wire, recorder);
        }
        let gate = Gate::new(aqm, rng, limit, marks);
        match recorder {
            Some(observer) => Link::Arrival(Box::new(LindleyQueue::new(bits, wire, gate, first, observer))),
            None => Link::Arrival(Box::new(LindleyQueue::new(bits, wire, gate, first, ()))),
        }
    }

    fn visit_discipline<D: Discipline + 'static>(self, discipline: D) -> Link {
        let Builder { wire, rng, limit, marks, rate, recorder, .. } = self;
        let queue = Parallel::new(discipline, rng, limit, marks, Some(rate.initial));
        Self::served(queue, rate, wire, recorder)
    }
}
