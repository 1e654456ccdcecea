//! AVQ: adaptive virtual queue (Kunniyur and Srikant 2001; Chen 2010, section 3.7, Fig. 3.4; Park et al.
//! 2004, eq. 30-31).
//!
//! A copy of every arrival goes into a virtual queue with the buffer of the real one and a smaller
//! capacity; an arrival that would overflow it is signaled. The capacity moves against the
//! difference between the arrival rate and `tau` times the link's.
//!
//! What the papers leave open, and what this file does:
//! - The names are Chen's; Park et al. 2004 write alpha for phi and gamma for tau, and its beta is the
//!   initial share of the capacity.
//! - Fig. 3.4 adapts the capacity at every arrival, so that x is the offered rate. Where signals are
//!   drops, what is dropped then counts as input that the link never carries: at a loss of 6% the link
//!   settles 6% below tau, and with unresponsive sources the capacity falls to zero. The aim of Chen
//!   2010, section 3.7.1, a utilization of tau, needs the admitted rate; ns-2 uses that, and so does
//!   this file by default. With marks the two are the same. A packet that AVQ accepts but the real
//!   buffer has no room for is input either way, because the load that overflows a buffer must be
//!   reduced.
//! - A signal on a packet that is not ECN-capable is known to be a drop. On one that is, it counts as a
//!   mark; a queue that does not mark should not be offered ECN-capable packets. ns-2, set to mark, passes what it
//!   cannot mark (`unmarkable`), which is then input.
//! - At the first arrival no time has passed, so the virtual capacity is still the initial one.
//! - The link's capacity is its current rate, if the host knows it.

use quell_units::{BitRate, QueueSize, Time};

use crate::params::{AutoSize, ParamError, in_range, positive_to};
use crate::part::Unmarkable;
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict, params};

choice! {
    /// Packets that count as input.
    pub enum InputRate {
        /// Arrivals that AVQ does not drop.
        Admitted = "admitted",
        /// All arrivals.
        Offered = "offered",
    }
}

params! {
    /// AVQ's parameters.
    pub struct AvqParams {
        /// Speed at which the virtual capacity adapts.
        phi: f64 = 0.15, unit "1/s", source "Kunniyur and Srikant 2001; Park et al. 2004, Table 1; Joo et al. 2006, Table 1";
        /// Share of the link's capacity to use.
        tau: f64 = 0.98, unit "1", source "Kunniyur and Srikant 2001";
        /// Buffer of the virtual queue; its unit determines whether the virtual queue counts packets or bytes; auto:
        /// the real buffer.
        buffer: AutoSize = AutoSize::Auto, unit "packets or bytes", source "Chen 2010, section 3.7.2";
        /// The input that adapts the virtual capacity: "admitted" excludes what AVQ drops; "offered" counts every
        /// arrival.
        input_rate: InputRate = InputRate::Admitted, unit "name", source "Chen 2010, section 3.7.1 (its Fig. 3.4 has offered); ns-2";
        /// Virtual capacity at the start, as a share of the link's.
        initial_capacity: f64 = 0.8, unit "1", source "Park et al. 2004, Table 1";
        /// Effect of a signal on a packet that cannot be marked: "drop" or "pass". With "pass" only a full
        /// buffer drops packets, and a queue that does not mark sends no signals at all.
        unmarkable: Unmarkable = Unmarkable::Drop, unit "name", source "RFC 3168 section 5; ns-2 passes it where it marks";
    }
}

impl AvqParams {
    /// AVQ for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: a gain that is not positive, a share outside (0, 1], a
    /// virtual buffer that holds nothing.
    pub fn build(&self, link: &Link) -> Result<Avq, ParamError> {
        link.check()?;
        positive_to("phi", self.phi, 1e6, "Chen 2010, eq. 3.12")?;
        positive_to("tau", self.tau, 1.0, "Chen 2010, eq. 3.12")?;
        in_range("initial_capacity", self.initial_capacity, 0.0, 1.0, "Park et al. 2004, section 4")?;
        let buffer = self.buffer.or_else(|| link.buffer);
        require!(
            buffer.value() > 0.0 && buffer.value().is_finite(),
            buffer,
            "must be positive: AVQ signals what does not fit"
        )?;
        let mean_packet = link.mean_packet.get() as f64;
        let (per_byte, per_packet, to_packets) = match buffer {
            QueueSize::Packets(_) => (0.0, 1.0, 1.0),
            QueueSize::Bytes(_) => (1.0, 0.0, 1.0 / mean_packet),
        };
        // Bits per second to the virtual queue's unit per second.
        let per_bit = 1.0 / (8.0 * mean_packet * to_packets);
        Ok(Avq {
            queue: VirtualQueue {
                length: 0.0,
                capacity: self.initial_capacity * link.rate.bps() as f64 * per_bit,
                buffer: buffer.value(),
            },
            phi: self.phi,
            tau: self.tau,
            link_rate: link.rate,
            per_bit,
            per_byte,
            per_packet,
            to_packets,
            input_rate: self.input_rate,
            unmarkable: self.unmarkable,
            last_arrival: None,
            last_input: None,
        })
    }
}

/// AVQ's state.
#[derive(Clone, Debug)]
pub struct Avq {
    queue: VirtualQueue,
    phi: f64,
    tau: f64,
    /// The link's initial rate, for hosts that do not know the current one.
    link_rate: BitRate,
    per_bit: f64,
    /// A packet's size in the virtual queue is `bytes * per_byte + per_packet`.
    per_byte: f64,
    per_packet: f64,
    /// The virtual queue's unit in mean packets.
    to_packets: f64,
    input_rate: InputRate,
    unmarkable: Unmarkable,
    /// Arrival of the previous packet.
    last_arrival: Option<Time>,
    /// Arrival of the previous packet that counts as input.
    last_input: Option<Time>,
}

impl Aqm for Avq {
    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let since = |last: Option<Time>| last.map_or(0.0, |t| cx.now.since(t).as_secs_f64());
        let size = pkt.bytes.get() as f64 * self.per_byte + self.per_packet;
        let fits = self.queue.offer(size, since(self.last_arrival));
        self.last_arrival = Some(cx.now);
        let verdict = Verdict::early_if(!fits && !self.unmarkable.passes(pkt));
        if !verdict.drops(pkt) || self.input_rate == InputRate::Offered {
            let c = cx.queue.link_rate.unwrap_or(self.link_rate).bps() as f64 * self.per_bit;
            let dt = since(self.last_input);
            self.queue.capacity = next_capacity(self.queue.capacity, c, size, dt, self.phi, self.tau);
            self.last_input = Some(cx.now);
        }
        verdict
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("virtual_queue", "packets", self.queue.length * self.to_packets);
        out.value("virtual_capacity", "bit/s", self.queue.capacity / self.per_bit);
    }
}

/// The virtual queue, in packets or in bytes throughout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VirtualQueue {
    /// Its length.
    pub length: f64,
    /// Its capacity, per second.
    pub capacity: f64,
    /// Its buffer.
    pub buffer: f64,
}

impl VirtualQueue {
    /// Chen 2010, Fig. 3.4: drains for `dt` seconds, then takes in a packet of `size` if it fits.
    #[inline]
    pub fn offer(&mut self, size: f64, dt: f64) -> bool {
        self.length = (self.length - self.capacity * dt).max(0.0);
        let fits = self.length + size <= self.buffer;
        if fits {
            self.length += size;
        }
        fits
    }
}

/// Chen 2010, Fig. 3.4, which integrates eq. 3.12 from arrival to arrival: the next virtual capacity.
#[inline]
pub fn next_capacity(capacity: f64, c: f64, size: f64, dt: f64, phi: f64, tau: f64) -> f64 {
    ((capacity + phi * tau * c * dt).min(c) - phi * size).max(0.0)
}

equations! {
    next_capacity(capacity, c, size, dt, phi, tau) -> capacity = next_capacity(capacity, c, size, dt, phi, tau);
    VirtualQueue::offer(length, capacity, buffer, size, dt) -> length, fits = {
        let mut queue = VirtualQueue { length, capacity, buffer };
        let fits = queue.offer(size, dt);
        (queue.length, fits)
    };
}
