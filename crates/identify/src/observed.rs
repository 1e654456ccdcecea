//! The contents of a capture before any candidate is tried: flows, round trip, rate, statistics.

use quell_capture::{Transfer, Transfers};
use quell_units::{BitRate, Duration};
use serde::Serialize;

use crate::statistics::{
    Frame, HEADERS, STRETCHES, Statistics, bases, full_rates, levels, payload, quantile,
};

/// A flow, as it is simulated again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Flow {
    /// Its beginning, in seconds after the first packet of the flows.
    pub start_s: f64,
    /// The time of its last data, or the end of the part of the capture that counts.
    pub stop_s: f64,
    /// Its round trip without a queue, in seconds.
    pub base_s: f64,
    /// Its packets are ECN-capable.
    pub ecn: bool,
}

/// A capture, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// The flows that carry nearly everything.
    pub flows: Vec<Flow>,
    /// Transfers that are left out, because they carried next to nothing.
    pub left_out: usize,
    /// Frames of data of these flows in the whole capture, and those of them that are several packets on the path,
    /// because segmentation offload is on at the host.
    pub frames: (u64, u64),
    /// The payload of a packet, in bytes.
    pub payload: u32,
    /// The rate of the link for packets with Ethernet's header, in bit/s, and its 95% interval.
    pub rate_bps: (f64, [f64; 2]),
    /// The rate was given, or was measured while packets waited; otherwise it is the highest over a second.
    pub rate_is_known: bool,
    /// The length that is looked at, in seconds.
    pub seconds: f64,
    /// The delay that 99% of the data stayed below, in seconds.
    pub high_s: f64,
    pub(crate) frame: Frame,
    /// The statistics.
    pub statistics: Statistics,
}

/// The reason why a capture says nothing of a queue; tells what to capture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It has no TCP data.
    #[error(
        "has no TCP data (of {packets} packets {tcp} are TCP); capture bulk TCP transfers through the bottleneck at their \
         sender, such as iperf3"
    )]
    NoTcp {
        /// Its packets.
        packets: u64,
        /// Those of TCP.
        tcp: u64,
    },
    /// The data are not acknowledged in it.
    #[error("has no round trips: acknowledgments are missing; capture both directions")]
    OneWay,
    /// It was made near the receiver.
    #[error(
        "was made near the receiver, where acknowledgments follow data at once; capture at the sender, before the \
         bottleneck"
    )]
    AtReceiver,
    /// It is too short.
    #[error("has {seconds} s of transfers; at least {least} s are needed, better 30 s")]
    Short {
        /// The seconds that it has, in words.
        seconds: String,
        /// The seconds that are needed.
        least: u32,
    },
    /// Nothing ever waited.
    #[error(
        "has no loaded queue: round trips never rise above {base} and nothing was lost; capture while transfers fill the \
         bottleneck"
    )]
    Idle {
        /// The round trip, in words.
        base: String,
    },
    /// The rate of the link changes.
    #[error(
        "cannot be identified: the rate while packets wait changes ({from} to {to} Mbit/s), and candidates have one rate; \
         capture while the link has one and no other traffic, or a part with one: --first"
    )]
    Changing {
        /// The rate before, in Mbit/s.
        from: String,
        /// The rate after.
        to: String,
    },
    /// Most of its data are of small transfers.
    #[error(
        "has no bulk transfers to simulate: of its {transfers} TCP transfers {bulk} carry 2% of the data or more, and most data \
         are of others; capture a few bulk transfers through the bottleneck, such as iperf3"
    )]
    Small {
        /// Its transfers with data.
        transfers: usize,
        /// Those that carry much.
        bulk: usize,
    },
}

/// The shortest capture, in seconds.
const SHORTEST: u32 = 5;
/// The fewest packets of a flow that counts.
const LEAST_PACKETS: u64 = 20;
/// One of so many bytes of data must be a flow's for it to count, so there are at most as many flows.
const MOST: u64 = 50;

impl Observed {
    /// Measures a capture. At most `seconds` of it count. A rate that is given replaces the measured one, and so does a
    /// round trip.
    ///
    /// # Errors
    /// Where the capture cannot tell anything.
    pub fn of(
        found: &Transfers,
        seconds: f64,
        rate: Option<BitRate>,
        rtt: Option<Duration>,
    ) -> Result<Observed, Unfit> {
        let (packets, tcp) = found.packets;
        let total: u64 = found.transfers.iter().map(|t| t.packets.2).sum();
        if total == 0 {
            return Err(Unfit::NoTcp { packets, tcp });
        }
        let all: Vec<&Transfer> = found
            .transfers
            .iter()
            .filter(|t| MOST * t.packets.2 >= total && t.packets.0 >= LEAST_PACKETS)
            .collect();
        // All times count from the first packet of these; what is outside of the part that counts is left out.
        let origin = all.iter().map(|flow| begin(flow)).min().unwrap_or(0);
        let until = origin.saturating_add((seconds * 1e9) as u64);
        let parts: Vec<Transfer> = found.transfers.iter().filter_map(|t| t.between(origin, until)).collect();
        let carried = |t: &Transfer| t.delivered.iter().map(|(_, bytes)| bytes).sum::<u64>();
        let total: u64 = parts.iter().map(carried).sum();
        // What carries less than 2% of all neither fills a queue nor tells much of it.
        let is_bulk = |t: &&Transfer| MOST * carried(t) >= total && t.packets.0 >= LEAST_PACKETS;
        let flows: Vec<&Transfer> = parts.iter().filter(is_bulk).collect();
        if 2 * flows.iter().map(|flow| carried(flow)).sum::<u64>() < total {
            return Err(Unfit::Small { transfers: parts.len(), bulk: flows.len() });
        }
        let first = flows.iter().map(|flow| flow.span.0).min().unwrap_or(0);
        let end = flows.iter().map(|flow| flow.span.1).max().unwrap_or(0);
        let length = end.saturating_sub(first) as f64 / 1e9;
        if length < f64::from(SHORTEST) {
            return Err(Unfit::Short { seconds: format!("{length:.1}"), least: SHORTEST });
        }
        if flows.iter().all(|flow| flow.trips.is_empty()) {
            return Err(Unfit::OneWay);
        }
        // How fast a flow starts depends on the host more than on the queue.
        let window = (first + ((0.1 * length).min(3.0) * 1e9) as u64, end);
        let mut known: Vec<_> = flows.iter().map(|flow| flow.path).collect();
        known.sort_unstable();
        known.dedup();
        let paths: Vec<usize> =
            flows.iter().map(|flow| known.binary_search(&flow.path).unwrap_or(0)).collect();
        let payload = payload(&flows);
        // Until the rate is known, the highest one stands for it.
        let packet = f64::from(payload) / busiest(&flows, window).max(1.0);
        // Before the bottleneck, no packet is acknowledged before it has passed the link.
        let near_receiver = |flow: &&&Transfer| {
            let middle = median(flow.trips.iter().map(|trip| trip.trip as f64).collect());
            middle < 0.5e9 * packet || flow.handshake.is_some_and(|(_, whole)| middle < 0.2 * whole as f64)
        };
        if flows.iter().filter(near_receiver).count() * 2 > flows.len() {
            return Err(Unfit::AtReceiver);
        }
        let mut own = bases(&flows, &paths, packet);
        if let Some(rtt) = rtt {
            own.fill(rtt.nanos());
        }
        let base = own.iter().copied().min().unwrap_or(0) as f64 / 1e9;
        let wire = f64::from(payload + HEADERS) / f64::from(payload);
        let full = full_rates(&flows, &own, window, packet);
        if let Some([from, to]) = levels(&full, &own, payload) {
            let megabits = |rate: f64| format!("{:.1}", 8e-6 * wire * rate);
            return Err(Unfit::Changing { from: megabits(from), to: megabits(to) });
        }
        let measured = full_rate(full);
        let given = rate.map(|rate| rate.bps() as f64 / 8.0 / wire);
        let (bytes, [low, high]) = match (given, measured) {
            (Some(given), _) => (given, [given; 2]),
            (None, Some(measured)) => measured,
            (None, None) => {
                let lost = flows.iter().map(|flow| flow.again.len()).sum::<usize>();
                if lost < 5 {
                    return Err(Unfit::Idle { base: format!("{:.1} ms", base * 1e3) });
                }
                let most = busiest(&flows, window);
                (most, [most; 2])
            }
        };
        let packet = f64::from(payload) / bytes;
        let frame = Frame { window, rate: bytes, base, packet, paths };
        let statistics = Statistics::of(&flows, &frame);
        let of = |(i, flow): (usize, &&Transfer)| Flow {
            start_s: begin(flow) as f64 / 1e9,
            stop_s: flow.span.1 as f64 / 1e9,
            base_s: own[i] as f64 / 1e9,
            ecn: flow.packets.1 * 2 > flow.packets.0,
        };
        let high_s = {
            let all = flows.iter().enumerate().flat_map(|(i, flow)| {
                let least = own[i];
                flow.trips.iter().map(move |trip| trip.trip.saturating_sub(least) as f64 / 1e9)
            });
            let mut all: Vec<f64> = all.collect();
            all.sort_by(f64::total_cmp);
            quantile(&all, 0.99)
        };
        Ok(Observed {
            flows: flows.iter().enumerate().map(of).collect(),
            left_out: found.transfers.len() - flows.len(),
            frames: flows.iter().fold((0, 0), |sum, flow| (sum.0 + flow.frames.0, sum.1 + flow.frames.1)),
            payload,
            rate_bps: (8.0 * wire * bytes, [8.0 * wire * low, 8.0 * wire * high]),
            rate_is_known: given.is_some() || measured.is_some(),
            seconds: end as f64 / 1e9,
            high_s,
            frame,
            statistics,
        })
    }
}

/// When a flow began, with its handshake.
fn begin(flow: &Transfer) -> u64 {
    flow.handshake.map_or(flow.span.0, |(at, _)| at)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

/// The rate of stretches in which packets waited throughout, in bytes per second, with a 95% interval.
fn full_rate(mut rates: Vec<f64>) -> Option<(f64, [f64; 2])> {
    if rates.len() < STRETCHES {
        return None;
    }
    rates.sort_by(f64::total_cmp);
    let middle = quantile(&rates, 0.5);
    // The deviation of a median of so many, by the quartiles; a delayed acknowledgment moves bytes by one stretch.
    let spread = (quantile(&rates, 0.75) - quantile(&rates, 0.25)) / 1.349;
    let error = (2.0 * 1.2533 * spread / libm::sqrt(rates.len() as f64)).max(0.001 * middle);
    Some((middle, [middle - error, middle + error]))
}

/// The highest rate of delivered payload over a second, in bytes per second.
fn busiest(flows: &[&Transfer], window: (u64, u64)) -> f64 {
    let width = 1_000_000_000;
    let mut sums = vec![0_u64; ((window.1 - window.0) / width) as usize + 1];
    for (at, bytes) in flows.iter().flat_map(|flow| &flow.delivered) {
        if let Some(sum) = at.checked_sub(window.0).and_then(|at| sums.get_mut((at / width) as usize)) {
            *sum += bytes;
        }
    }
    sums.into_iter().max().unwrap_or(0) as f64
}
