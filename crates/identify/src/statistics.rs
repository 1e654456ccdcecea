//! The statistics of a capture, which are the same function of a real one and of a simulated one.

use quell_capture::{Transfer, Trip};

/// The number of statistics.
pub const COUNT: usize = 18;

/// Their names. Delays are those beyond the path's round trip without a queue.
pub const NAMES: [&str; COUNT] = [
    "delay P5",
    "delay P25",
    "delay P50",
    "delay P75",
    "delay P95",
    "delay P99",
    "packets sent again",
    "acknowledgments with marks",
    "share of the rate",
    "congestion events per second",
    "delay before losses",
    "spread of the delay before losses",
    "packets sent again per event",
    "autocorrelation of the delay",
    "differences between flows",
    "fairness of flows",
    "delay of new flows",
    "unevenness of the rate",
];

/// The deviation of each statistic that a model of hosts and queues may have from real ones, beside chance.
///
/// Most statistics are logarithms, so that 0.1 is 10%. Delays are the most reliable; how often hosts send again depends on
/// details of their recovery.
pub(crate) const TOLERANCE: [f64; COUNT] =
    [0.3, 0.15, 0.12, 0.1, 0.1, 0.1, 0.3, 0.3, 0.02, 0.25, 0.06, 0.25, 0.4, 0.1, 0.3, 0.1, 0.3, 0.2];

/// The statistics of a capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics(pub [f64; COUNT]);

/// What the statistics are relative to, the same for a capture and its simulations.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    /// Nanoseconds that count, from the first packet of the flows.
    pub window: (u64, u64),
    /// The rate of delivered payload when the link is full, in bytes per second.
    pub rate: f64,
    /// The round trip of the path without a queue, in seconds; the shortest of all flows.
    pub base: f64,
    /// The time of a packet on the link, in seconds.
    pub packet: f64,
    /// The path of each flow, by number: flows of one path have one round trip without a queue.
    pub paths: Vec<usize>,
}

/// The delay below which differences mean nothing: clocks and hosts, in seconds.
const LEAST: f64 = 0.0005;

/// The unevenness of a rate below which differences mean nothing: a delayed acknowledgment moves packets from one stretch to
/// the next.
const LEAST_UNEVEN: f64 = 0.03;
/// Headers that a packet with data has in simulations beside its payload: Ethernet, IPv4, TCP with time stamps.
pub(crate) const HEADERS: u32 = 66;
/// The fewest stretches of which a rate is told.
pub(crate) const STRETCHES: usize = 5;

impl Frame {
    /// The delay that is added to each before its logarithm is taken.
    fn floor(&self) -> f64 {
        LEAST.max(self.packet)
    }

    fn has(&self, at: u64) -> bool {
        (self.window.0..self.window.1).contains(&at)
    }

    fn seconds(&self) -> f64 {
        (self.window.1 - self.window.0) as f64 / 1e9
    }
}

/// The time that a packet of full size needs more than one of `bytes`, in nanoseconds, if it takes `packet` seconds on
/// the link.
fn smaller(bytes: u64, payload: u32, packet: f64) -> u64 {
    let less = u64::from(payload).saturating_sub(bytes) as f64;
    (1e9 * packet * less / f64::from(payload + HEADERS)) as u64
}

/// The round trip of each flow's path without a queue, for a packet of full size, in nanoseconds: the shortest of all
/// data, or that of a handshake. What is smaller took less time on the link, and counts as if it were of full size: a
/// handshake, or the few bytes with which an application begins, would make the path too short. A packet takes `packet`
/// seconds on the link.
pub(crate) fn bases(flows: &[&Transfer], paths: &[usize], packet: f64) -> Vec<u64> {
    let payload = payload(flows);
    let whole = |trip: &Trip| trip.trip + smaller(trip.bytes, payload, packet);
    let handshake = |flow: &Transfer| flow.beyond.map(|there| there + smaller(0, payload, packet));
    let least =
        |flow: &Transfer| flow.trips.iter().map(whole).chain(handshake(flow)).min().unwrap_or(u64::MAX);
    let own: Vec<u64> = flows.iter().map(|flow| least(flow)).collect();
    let of_path = |path: usize| {
        let same = own.iter().zip(paths).filter(|(_, p)| **p == path).map(|(least, _)| *least);
        same.min().unwrap_or(0)
    };
    paths.iter().map(|path| of_path(*path)).collect()
}

/// The payload of a packet of full size, in bytes.
pub(crate) fn payload(flows: &[&Transfer]) -> u32 {
    flows.iter().map(|flow| flow.payload).max().unwrap_or(1).max(1)
}

/// The quantile of sorted values; 0 of none.
pub(crate) fn quantile(sorted: &[f64], q: f64) -> f64 {
    if sorted.is_empty() {
        return 0.0;
    }
    let place = q * (sorted.len() - 1) as f64;
    let below = place as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

impl Statistics {
    /// The statistics of flows within a frame.
    pub(crate) fn of(flows: &[&Transfer], frame: &Frame) -> Statistics {
        let bases = bases(flows, &frame.paths, frame.packet);
        let payload = payload(flows);
        let floor = frame.floor();
        let log = |delay: f64| libm::log(delay.max(0.0) + floor);
        let excess = |i: usize, trip: &Trip| {
            let whole = trip.trip + smaller(trip.bytes, payload, frame.packet);
            whole.saturating_sub(bases[i]) as f64 / 1e9
        };
        // By the time at which data were sent, in seconds.
        let series: Vec<Vec<(u64, f64)>> = flows
            .iter()
            .enumerate()
            .map(|(i, flow)| {
                let inside = flow.trips.iter().filter(|trip| frame.has(trip.sent));
                let mut own: Vec<(u64, f64)> = inside.map(|trip| (trip.sent, excess(i, trip))).collect();
                own.sort_by_key(|(sent, _)| *sent);
                own
            })
            .collect();
        let delays = sorted(series.iter().flatten().map(|(_, delay)| *delay).collect());
        let q = |share: f64| quantile(&delays, share);
        let again = || flows.iter().flat_map(|flow| &flow.again).filter(|again| frame.has(again.at));
        let lost: u64 = again().map(|again| again.packets).sum();
        let delivered: u64 = flows
            .iter()
            .flat_map(|flow| &flow.delivered)
            .filter(|(at, _)| frame.has(*at))
            .map(|(_, bytes)| bytes)
            .sum();
        let sent = (delivered / u64::from(payload)).max(1) as f64;
        let rate = |part: f64, whole: f64| libm::log((part + 0.5) / (whole + 1.0));
        let acks = || flows.iter().flat_map(|flow| &flow.acknowledgments).filter(|(at, _)| frame.has(*at));
        let marked = acks().filter(|(_, is_marked)| *is_marked).count();
        let before = before_losses(flows, &series, frame);
        let middle = quantile(&before, 0.5);
        let events = events(flows, frame);
        let with_losses = events.iter().filter(|event| **event > 0).count().max(1) as f64;
        let has_losses = !before.is_empty();
        let q50 = q(0.5);
        let values = [
            log(q(0.05)),
            log(q(0.25)),
            log(q50),
            log(q(0.75)),
            log(q(0.95)),
            log(q(0.99)),
            rate(lost as f64, sent),
            rate(marked as f64, acks().count() as f64),
            delivered as f64 / frame.seconds() / frame.rate,
            libm::log((events.len() as f64 + 0.5) / frame.seconds()),
            if has_losses { log(middle) - log(q(0.95)) } else { 0.0 },
            if before.len() >= 2 {
                log(quantile(&before, 0.75) - quantile(&before, 0.25)) - log(middle)
            } else {
                0.0
            },
            if lost > 0 { libm::log(lost as f64 / with_losses) } else { 0.0 },
            autocorrelation(&series, frame),
            differences(&series, frame).map_or(0.0, |d| log(d) - log(q50)),
            fairness(flows, frame),
            new_flows(flows, &bases, frame.packet).map_or(0.0, |delay| log(delay) - log(q50)),
            libm::log(unevenness(full_rates(flows, &bases, frame.window, frame.packet)) + LEAST_UNEVEN),
        ];
        Statistics(values)
    }
}

/// The sorted delays of the data that were sent last before data that were lost.
fn before_losses(flows: &[&Transfer], series: &[Vec<(u64, f64)>], frame: &Frame) -> Vec<f64> {
    let mut found = Vec::new();
    for (flow, own) in flows.iter().zip(series) {
        for again in flow.again.iter().filter(|again| frame.has(again.at)) {
            let behind = own.partition_point(|(sent, _)| *sent <= again.first);
            found.extend(behind.checked_sub(1).map(|before| own[before].1));
        }
    }
    sorted(found)
}

/// Congestion events of flows: what was sent again or marked within two round trips of each other. For each the packets
/// that were sent again.
fn events(flows: &[&Transfer], frame: &Frame) -> Vec<u64> {
    let gap = (2e9 * frame.base.max(0.01)) as u64;
    let mut found = Vec::new();
    for flow in flows {
        let again = flow.again.iter().map(|again| (again.at, again.packets));
        let mut all: Vec<(u64, u64)> = again.chain(flow.marks.iter().map(|at| (*at, 0))).collect();
        all.retain(|(at, _)| frame.has(*at));
        all.sort_unstable();
        let mut latest: Option<u64> = None;
        for (at, packets) in all {
            match (latest, found.last_mut()) {
                (Some(before), Some(event)) if at - before <= gap => *event += packets,
                _ => found.push(packets),
            }
            latest = Some(at);
        }
    }
    found
}

/// The mean delays of each flow in bins of time; none in bins without data.
fn binned(series: &[Vec<(u64, f64)>], frame: &Frame) -> Vec<Vec<Option<f64>>> {
    let width = (1e9 * (2.0 * frame.base).max(0.1)) as u64;
    let bins = ((frame.window.1 - frame.window.0) / width.max(1)) as usize + 1;
    let of = |own: &Vec<(u64, f64)>| {
        let mut sums = vec![(0.0, 0_u32); bins];
        for (sent, delay) in own {
            let bin = &mut sums[((sent - frame.window.0) / width) as usize];
            *bin = (bin.0 + delay, bin.1 + 1);
        }
        sums.into_iter().map(|(sum, n)| (n > 0).then(|| sum / f64::from(n))).collect()
    };
    series.iter().map(of).collect()
}

/// The correlation of the mean delay of a bin with that of the next.
fn autocorrelation(series: &[Vec<(u64, f64)>], frame: &Frame) -> f64 {
    let all: Vec<(u64, f64)> = series.iter().flatten().copied().collect();
    let bins = binned(&[all], frame).pop().unwrap_or_default();
    let pairs: Vec<(f64, f64)> = bins.windows(2).filter_map(|two| two[0].zip(two[1])).collect();
    if pairs.len() < 8 {
        return 0.0;
    }
    let n = pairs.len() as f64;
    let (a, b) = pairs.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let sum = |f: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>();
    let (xx, yy) = (sum(&|(x, _)| (x - a) * (x - a)), sum(&|(_, y)| (y - b) * (y - b)));
    let xy = sum(&|(x, y)| (x - a) * (y - b));
    // A queue of constant length has no correlation to speak of.
    if xx * yy > 0.0 { xy / libm::sqrt(xx * yy) } else { 0.0 }
}

/// The median difference of flows' delays within a bin: none in one queue, much in queues of flows.
fn differences(series: &[Vec<(u64, f64)>], frame: &Frame) -> Option<f64> {
    let bins = binned(series, frame);
    let length = bins.first().map_or(0, Vec::len);
    let mut found = Vec::new();
    for i in 0..length {
        let there: Vec<f64> = bins.iter().filter_map(|own| own[i]).collect();
        if there.len() >= 2 {
            let mean = there.iter().sum::<f64>() / there.len() as f64;
            found.push(there.iter().map(|d| libm::fabs(d - mean)).sum::<f64>() / there.len() as f64);
        }
    }
    (!found.is_empty()).then(|| quantile(&sorted(found), 0.5))
}

/// Jain's index of the bytes delivered to each flow, relative to the time that it took part.
fn fairness(flows: &[&Transfer], frame: &Frame) -> f64 {
    let rate = |flow: &&Transfer| {
        let (from, to) = (flow.span.0.max(frame.window.0), flow.span.1.min(frame.window.1));
        let bytes: u64 = flow.delivered.iter().filter(|(at, _)| frame.has(*at)).map(|(_, b)| b).sum();
        (to > from).then(|| bytes as f64 / (to - from) as f64)
    };
    let rates: Vec<f64> = flows.iter().filter_map(rate).collect();
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), r| (s + r, q + r * r));
    if squares > 0.0 { sum * sum / (rates.len() as f64 * squares) } else { 1.0 }
}

/// The length of a stretch over which a rate is told, in nanoseconds: 200 ms or two round trips.
fn stretch(bases: &[u64]) -> u64 {
    (2 * bases.iter().copied().min().unwrap_or(0)).max(200_000_000)
}

/// Two levels of a rate over time, the first before the second, if there are such: the medians on both sides of the place
/// where they differ most. They differ by a tenth and by two packets of a stretch, and each side has a fifth of all
/// stretches. `rates` is what [`full_rates`] gives of the flows with such `bases`, in bytes per second, and `payload` that of
/// a packet.
pub(crate) fn levels(rates: &[f64], bases: &[u64], payload: u32) -> Option<[f64; 2]> {
    let side = (rates.len() / 5).max(2 * STRETCHES);
    let packets = 2e9 * f64::from(payload) / stretch(bases) as f64;
    let median = |part: &[f64]| quantile(&sorted(part.to_vec()), 0.5);
    let places = side..(rates.len() + 1).saturating_sub(side);
    let sides = places.map(|place| [median(&rates[..place]), median(&rates[place..])]);
    let apart = |[a, b]: [f64; 2]| libm::fabs(a - b);
    let most = sides.max_by(|x, y| apart(*x).total_cmp(&apart(*y)))?;
    (apart(most) > 0.1 * most[0].max(most[1]) + packets).then_some(most)
}

/// The rates at which payload was delivered while packets waited throughout, in bytes per second, over stretches
/// ([`stretch`]) in the order of time. In each, every round trip of every flow is longer than the shortest by three packets and a
/// millisecond; `packet` is a packet's time on the link, in seconds.
pub(crate) fn full_rates(flows: &[&Transfer], bases: &[u64], window: (u64, u64), packet: f64) -> Vec<f64> {
    let width = stretch(bases);
    let stretches = ((window.1 - window.0) / width) as usize;
    let enough = (3e9 * packet) as u64 + 1_000_000;
    let mut sums = vec![(0_u64, false, true); stretches];
    let place = |at: u64| (at.checked_sub(window.0)? / width).try_into().ok();
    for (flow, base) in flows.iter().zip(bases) {
        for (at, bytes) in &flow.delivered {
            if let Some(sum) = place(*at).and_then(|i: usize| sums.get_mut(i)) {
                sum.0 += bytes;
            }
        }
        for trip in &flow.trips {
            if let Some(sum) = place(trip.sent + trip.trip).and_then(|i: usize| sums.get_mut(i)) {
                sum.1 = true;
                sum.2 &= trip.trip > base + enough;
            }
        }
    }
    let full = sums.iter().filter(|(_, any, all)| *any && *all);
    full.map(|(bytes, ..)| *bytes as f64 * 1e9 / width as f64).collect()
}

/// The spread of the rate while packets wait, over its median: a link of constant rate has next to none. It is that of a
/// Gaussian with the same P10 and P90, so that one stall of a host does not count. Of too few stretches it is 0.
fn unevenness(rates: Vec<f64>) -> f64 {
    let rates = sorted(rates);
    let middle = quantile(&rates, 0.5);
    if rates.len() < STRETCHES || middle <= 0.0 {
        return 0.0;
    }
    (quantile(&rates, 0.9) - quantile(&rates, 0.1)) / 2.563 / middle
}

/// The mean delay of handshakes while other flows had data under way; none without such.
fn new_flows(flows: &[&Transfer], bases: &[u64], packet: f64) -> Option<f64> {
    let second = 1_000_000_000;
    // Handshakes carry nothing.
    let more = smaller(0, payload(flows), packet);
    let is_loaded = |i: usize, at: u64| {
        let others = flows.iter().enumerate().filter(|(j, _)| *j != i);
        others.into_iter().any(|(_, other)| other.span.0 + second < at && at < other.span.1)
    };
    let delays: Vec<f64> = flows
        .iter()
        .enumerate()
        .filter_map(|(i, flow)| {
            let ((at, _), there) = (flow.handshake?, flow.beyond?);
            is_loaded(i, at).then(|| (there + more).saturating_sub(bases[i]) as f64 / 1e9)
        })
        .collect();
    (!delays.is_empty()).then(|| delays.iter().sum::<f64>() / delays.len() as f64)
}
