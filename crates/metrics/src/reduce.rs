//! The way from the simulator's measurements to figures.

use std::borrow::Cow;
use std::sync::Arc;

use hdrhistogram::Histogram;
use quell_scenario::{ACKS, Facts, FlowFact};
use quell_sim::outcome::{
    ClassStats, Counts, FlowOutcome, FlowSegment, ForeignProbe, LinkOutcome, LossEvent, Outcome, Page,
    Probes, Segment, Series, TimedSegment, VideoSegment,
};
use quell_sim::responsiveness::Rpm;
use quell_units::{Duration, QueueSize, Time, index};

use crate::metric::{LANE, Metric, SIZE, SIZES, Values};
use crate::replication::{
    DelayRow, FlowRow, InternalRow, InternalSeries, LinkSeries, MetricRow, Replication, TransferRow,
};
use crate::stats::{jain_index, quantile};

/// The figures of a replication, without its place in a run (point, algorithm, seed) and the time that it took.
/// `window` is the measured one.
pub fn reduce(facts: &Facts, outcome: Outcome, window: (Time, Time)) -> Replication {
    let transfers = transfers(facts, &outcome);
    let mut found = Replication {
        digest: outcome.digest,
        events: outcome.events,
        metrics: metrics(facts, &outcome, &transfers),
        flows: flows(facts, &outcome, window),
        transfers,
        delays: delays(facts, &outcome),
        series: series(facts, outcome),
        ..Replication::default()
    };
    found.internal_means = internal_means(&found.metrics, &found.series);
    found
}

/// The figures of every observed link: the whole window and each segment, all traffic and each class
/// seen there.
fn metrics(facts: &Facts, outcome: &Outcome, transfers: &[TransferRow]) -> Vec<MetricRow> {
    let mut rows = Vec::new();
    for link in &outcome.links {
        let crosses = |t: &&TransferRow| facts.flows[t.flow as usize].links.contains(&link.link);
        let transfers: Vec<&TransferRow> = transfers.iter().filter(crosses).collect();
        let whole = 0..link.segments.len();
        rows.extend(rows_of(facts, outcome, &transfers, link, None, whole.clone()));
        if link.segments.len() > 1 {
            for i in whole {
                rows.extend(rows_of(facts, outcome, &transfers, link, Some(i as u32), i..i + 1));
            }
        }
    }
    rows
}

/// The figures of one window; `transfers` are those over the link.
fn rows_of(
    facts: &Facts,
    outcome: &Outcome,
    transfers: &[&TransferRow],
    link: &LinkOutcome,
    number: Option<u32>,
    which: std::ops::Range<usize>,
) -> Vec<MetricRow> {
    let segments = &link.segments[which.clone()];
    let (Some(first), Some(last)) = (segments.first(), segments.last()) else { return Vec::new() };
    let (from, to) = (first.from, last.to);
    let row = |scope: String, values| MetricRow {
        link: link.name.clone(),
        segment: number,
        scope,
        from_s: from.as_secs_f64(),
        to_s: to.as_secs_f64(),
        values,
    };
    let of_link = |part: Part<'_>| {
        let mut values = Values::default();
        link_figures(&mut values, segments, part, to.since(from));
        values
    };
    let mut known = Vec::new();
    let of_scope = |scope: Scope| {
        let classes = Part::Classes(&scope.classes);
        let mut values = once(&mut known, &scope.seen, || of_link(classes)).clone();
        flow_figures(&mut values, facts, outcome, link, which.clone(), &scope.classes, (from, to));
        let of_scope =
            |t: &&TransferRow| scope.classes.contains(&usize::from(facts.flows[t.flow as usize].class));
        transfer_figures(&mut values, within(transfers, (from, to)).filter(of_scope));
        if scope.name == "all" {
            queue_figures(&mut values, segments, to.since(from));
            match facts.buffers.get(link.link.0 as usize) {
                Some(Some(QueueSize::Packets(n))) => values.set(Metric::BufferPackets, *n),
                Some(Some(QueueSize::Bytes(n))) => values.set(Metric::BufferBytes, *n),
                _ => {}
            }
            // What comes before the first segment is the warm-up, which changes nothing.
            let after_first = &link.segments[which.start.max(1)..which.end.max(1)];
            let each: Option<Vec<f64>> =
                after_first.iter().map(|s| response_time(&link.series, s, facts.steady_state)).collect();
            if let Some(each) = each {
                values.set(Metric::ResponseTime, each.iter().sum::<f64>() / each.len() as f64);
            }
        } else {
            share_figures(&mut values, segments, classes);
        }
        row(scope.name, values)
    };
    let of_lane = |(i, name): (usize, &String)| {
        let mut values = of_link(Part::Lane(i));
        share_figures(&mut values, segments, Part::Lane(i));
        airtime_figures(&mut values, segments, i, to.since(from));
        row(format!("{LANE}{name}"), values)
    };
    let lanes = link.lanes.iter().enumerate().map(of_lane);
    let sizes = size_rows(&row(String::new(), Values::default()), transfers);
    scopes(facts, link).into_iter().map(of_scope).chain(lanes).chain(sizes).collect()
}

/// A part of a link's traffic.
#[derive(Clone, Copy)]
enum Part<'a> {
    /// These classes.
    Classes(&'a [usize]),
    /// One lane of its discipline.
    Lane(usize),
}

impl<'a> Part<'a> {
    /// Its statistics in one segment.
    fn of(self, segment: &'a Segment) -> impl Iterator<Item = &'a ClassStats> {
        let (stats, which) = match self {
            Part::Classes(classes) => (&segment.classes, classes),
            Part::Lane(_) => (&segment.lanes, &[][..]),
        };
        let lane = match self {
            Part::Lane(i) => stats.get(i),
            Part::Classes(_) => None,
        };
        which.iter().filter_map(move |c| stats.get(*c)).chain(lane)
    }
}

/// The classes that a row is of.
struct Scope {
    name: String,
    classes: Vec<usize>,
    /// Those of them that had any traffic at the link. Scopes in which they are the same have the same figures of
    /// the link.
    seen: Vec<usize>,
}

/// "all", "data" (all but acknowledgments), and each class that was seen at the link.
fn scopes(facts: &Facts, link: &LinkOutcome) -> Vec<Scope> {
    let all: Vec<usize> = (0..facts.classes.len()).collect();
    let data = all.iter().copied().filter(|c| facts.classes[*c] != ACKS).collect();
    let stats = |c: usize| link.segments.iter().filter_map(move |s| s.classes.get(c));
    let each = all.clone().into_iter().filter(|c| stats(*c).any(|k| k.counts.arrived > 0));
    let each = each.map(|c| (facts.classes[c].clone(), vec![c]));
    let scope = |(name, classes): (String, Vec<usize>)| {
        let seen = classes.iter().copied().filter(|c| stats(*c).any(has_traffic)).collect();
        Scope { name, classes, seen }
    };
    [("all".to_string(), all.clone()), ("data".to_string(), data)]
        .into_iter()
        .chain(each)
        .map(scope)
        .collect()
}

/// True if anything was counted: packets of the warm-up may leave, and be measured, after it.
fn has_traffic(class: &ClassStats) -> bool {
    let counts = &class.counts;
    counts.arrived + counts.departed + counts.lost + counts.dropped() > 0
        || !class.delay_ns.is_empty()
        || !class.rtt_ns.is_empty()
}

/// The figures of the classes `seen`; found out once.
fn once<'k, T>(known: &'k mut Vec<(Vec<usize>, T)>, seen: &[usize], find_out: impl FnOnce() -> T) -> &'k T {
    let at = known.iter().position(|(classes, _)| classes == seen).unwrap_or_else(|| {
        known.push((seen.to_vec(), find_out()));
        known.len() - 1
    });
    &known[at].1
}

/// Adds up a part over segments.
fn total(segments: &[Segment], part: Part<'_>, of: impl Fn(&Counts) -> u64) -> f64 {
    segments.iter().flat_map(|s| part.of(s)).map(|c| of(&c.counts) as f64).sum()
}

fn link_figures(values: &mut Values, segments: &[Segment], part: Part<'_>, length: Duration) {
    let sum = |of: fn(&Counts) -> u64| total(segments, part, of);
    let seconds = length.as_secs_f64();
    let arrived = sum(|c| c.arrived);
    let departed = sum(|c| c.departed);
    let bits = sum(|c| c.departed_bytes) * 8.0;
    let capacity: f64 = segments.iter().map(|s| s.capacity_bits).sum();
    // Of a packet that is being sent at an edge of the window, only the part within counts, so that a share of the
    // link exceeds 1 only by a burst from tokens of a shaper or a class. Each class has of it what it has of the packets that left.
    let sent: f64 = segments.iter().map(|s| s.sent_bits).sum();
    let everything =
        segments.iter().flat_map(|s| &s.classes).map(|c| c.counts.departed_bytes as f64).sum::<f64>();
    let share = if everything > 0.0 { bits / (everything * 8.0) } else { 1.0 };
    values.set(Metric::Utilization, sent * share / capacity);
    values.set(Metric::Throughput, bits / seconds);
    values.set(Metric::PacketRate, departed / seconds);
    values.set(Metric::LossRate, sum(Counts::dropped) / arrived);
    values.set(Metric::QueueSeen, sum(|c| c.queue_seen_packets) / arrived);
    values.set(Metric::ByteLossRate, sum(|c| c.dropped_bytes) / sum(|c| c.arrived_bytes));
    values.set(Metric::EarlyLossRate, sum(|c| c.dropped_early) / arrived);
    values.set(Metric::ForcedLossRate, sum(|c| c.dropped_forced) / arrived);
    values.set(Metric::OverflowLossRate, sum(|c| c.dropped_overflow) / arrived);
    let (overflow, ecn) = (sum(|c| c.dropped_overflow), sum(|c| c.dropped_ecn));
    values.set(Metric::ArrivedPackets, arrived);
    values.set(Metric::PresentedPackets, arrived - overflow);
    values.set(Metric::ForwardedPackets, departed);
    values.set(Metric::MarkedPackets, sum(|c| c.marked));
    values.set(Metric::DroppedEcnPackets, ecn);
    values.set(Metric::DroppedNotEcnPackets, sum(Counts::dropped) - ecn);
    values.set(Metric::WireLossRate, sum(|c| c.lost) / departed);
    values.set(Metric::MarkRate, sum(|c| c.marked) / departed);
    let delay = sum(|c| c.delay_sum_ns) * 1e-9 / departed;
    values.set(Metric::DelayMean, delay);
    let drops = || segments.iter().flat_map(|s| part.of(s)).filter_map(|c| c.drops);
    if let (Some(first), Some(last)) = (drops().map(|d| d.0).min(), drops().map(|d| d.1).max()) {
        values.set(Metric::LossInterval, (last - first).as_secs_f64() / (sum(Counts::dropped) - 1.0));
    }
    values.set(Metric::Power, bits / seconds / delay);
    let percentiles = [
        ([Metric::DelayP50, Metric::DelayP95, Metric::DelayP99], histogram(segments, part, |c| &c.delay_ns)),
        ([Metric::RttP50, Metric::RttP95, Metric::RttP99], histogram(segments, part, |c| &c.rtt_ns)),
    ];
    for (metrics, histogram) in percentiles {
        let Some(histogram) = histogram else { continue };
        for (metric, ns) in metrics.into_iter().zip(histogram.value_at_quantiles([0.50, 0.95, 0.99])) {
            values.set(metric, ns as f64 * 1e-9);
        }
    }
}

/// The share that this part has of the packets that arrived, and of those that were dropped.
fn share_figures(values: &mut Values, segments: &[Segment], part: Part<'_>) {
    let share = |of: fn(&Counts) -> u64| {
        let everything = segments.iter().flat_map(|s| &s.classes).map(|c| of(&c.counts) as f64).sum::<f64>();
        total(segments, part, of) / everything
    };
    values.set(Metric::ArrivalShare, share(|c| c.arrived));
    values.set(Metric::LossShare, share(Counts::dropped));
}

/// The share of the time for which the frames of a lane had a channel; of other links there is none.
fn airtime_figures(values: &mut Values, segments: &[Segment], lane: usize, length: Duration) {
    let is_channel = segments.iter().flat_map(|s| &s.lanes).any(|lane| !lane.airtime.is_zero());
    if is_channel {
        let own = segments.iter().filter_map(|s| s.lanes.get(lane)).map(|lane| lane.airtime.as_secs_f64());
        // A frame counts where it ends, so that one which began before can exceed a short window.
        values.set(Metric::AirtimeShare, (own.sum::<f64>() / length.as_secs_f64()).min(1.0));
    }
}

/// The times of a part and of several segments together; `None`: there are none.
fn histogram<'a>(
    segments: &'a [Segment],
    part: Part<'a>,
    of: fn(&ClassStats) -> &Histogram<u32>,
) -> Option<Cow<'a, Histogram<u32>>> {
    let mut parts = segments.iter().flat_map(|s| part.of(s)).map(of).filter(|h| !h.is_empty());
    let mut sum = Cow::Borrowed(parts.next()?);
    for part in parts {
        let sum = sum.to_mut();
        sum.auto(true);
        // An auto-resizing histogram takes every value that another one holds.
        let _ = sum.add(part);
    }
    Some(sum)
}

/// The standard deviation from the integrals of x and x^2 over a time.
fn deviation(integral: f64, squared: f64, seconds: f64) -> f64 {
    let mean = integral / seconds;
    // Rounding may leave a tiny negative number where the queue never changes.
    (squared / seconds - mean * mean).max(0.0).sqrt()
}

fn queue_figures(values: &mut Values, segments: &[Segment], length: Duration) {
    let sum = |of: fn(&Segment) -> f64| segments.iter().map(of).sum::<f64>();
    let seconds = length.as_secs_f64();
    let (packets, packets2) = (sum(|s| s.queue_packet_seconds), sum(|s| s.queue_packet2_seconds));
    let (bytes, bytes2) = (sum(|s| s.queue_byte_seconds), sum(|s| s.queue_byte2_seconds));
    values.set(Metric::QueueMean, packets / seconds);
    values.set(Metric::QueueStd, deviation(packets, packets2, seconds));
    values.set(Metric::QueueBytes, bytes / seconds);
    values.set(Metric::QueueBytesStd, deviation(bytes, bytes2, seconds));
    let mean_deviation = |of: fn(&Segment) -> (f64, f64)| {
        let each = segments.iter().map(|s| deviation(of(s).0, of(s).1, s.to.since(s.from).as_secs_f64()));
        each.sum::<f64>() / segments.len() as f64
    };
    let of_packets = mean_deviation(|s| (s.queue_packet_seconds, s.queue_packet2_seconds));
    let of_bytes = mean_deviation(|s| (s.queue_byte_seconds, s.queue_byte2_seconds));
    values.set(Metric::QueueSegmentStd, of_packets);
    values.set(Metric::QueueBytesSegmentStd, of_bytes);
}

/// The queue's samples in (`from`, `to`], with their times.
fn samples(series: &Series, from: Time, to: Time) -> Option<(&[f64], &[f64])> {
    let (from, to) = (from.as_secs_f64(), to.as_secs_f64());
    let first = series.time_s.partition_point(|t| *t <= from);
    let last = series.time_s.partition_point(|t| *t <= to);
    Some((series.time_s.get(first..last)?, series.queue_packets.get(first..last)?))
}

/// The mean of a part of the queue, and its variance.
fn moments(part: &[f64]) -> (f64, f64) {
    let mean = part.iter().sum::<f64>() / part.len() as f64;
    let squares: f64 = part.iter().map(|q| (q - mean) * (q - mean)).sum();
    (mean, squares / part.len() as f64)
}

/// Joo et al. 2006, section IV.B: the time from the segment's beginning on after which the deviation of the queue
/// stays within 1.5 times that of the steady state. The paper does not say how it takes a deviation at a time; here
/// it is the root mean square distance from the steady mean over the next tenth of the segment. None if there are
/// fewer than 40 samples.
///
/// The steady state is the window `steady`; `None` if the last tenth does not meet the bound. Without a window it is
/// the segment's second half, and there is none if the queue has not settled by then: the means of the third and
/// the fourth quarter lie farther apart than the deviation of both together (of a straight drift, 1.7 times as
/// far), so that the bound would measure the drift.
fn response_time(series: &Series, segment: &Segment, steady: Option<(Time, Time)>) -> Option<f64> {
    let (times, queue) = samples(series, segment.from, segment.to)?;
    if queue.len() < 40 {
        return None;
    }
    let width = queue.len() / 10;
    // From where on it is steady without asking, and what it is then.
    let (known, (mean, variance)) = match steady {
        Some((from, to)) => {
            let (_, steady) = samples(series, from, to).filter(|s| !s.1.is_empty())?;
            (queue.len() - width + 1, moments(steady))
        }
        None => {
            let half = queue.len() / 2;
            let steady = &queue[half..];
            let (mean, variance) = moments(steady);
            let (third, fourth) = steady.split_at(steady.len() / 2);
            let apart = moments(third).0 - moments(fourth).0;
            if apart * apart > variance {
                return None;
            }
            (half, (mean, variance))
        }
    };
    let square = |q: f64| (q - mean) * (q - mean);
    let bound = 1.5 * 1.5 * variance * width as f64;
    // From the end: the first window met that is not steady is the last one.
    let mut sum: f64 = queue[known..].iter().take(width).map(|q| square(*q)).sum();
    let mut starts = (0..known).rev();
    let unsettled = starts.find(|i| {
        sum += square(queue[*i]) - queue.get(i + width).map_or(0.0, |q| square(*q));
        sum > bound
    });
    match unsettled {
        None => Some(0.0),
        Some(i) if i + width == queue.len() => None,
        Some(i) => Some(times[i] - segment.from.as_secs_f64()),
    }
}

/// The time for which a flow was active within [from, to).
fn active(flow: &FlowFact, (from, to): (Time, Time)) -> Duration {
    let end = flow.stop.map_or(to, |stop| stop.min(to));
    end.since(flow.start.max(from))
}

/// The mean of the round-trip times that a sender measured, in seconds; NaN without any.
fn mean_rtt(flow: &FlowSegment) -> f64 {
    flow.rtt_sum_ns as f64 * 1e-9 / flow.rtt_samples as f64
}

/// The figures of the flows whose data crosses the link.
fn flow_figures(
    values: &mut Values,
    facts: &Facts,
    outcome: &Outcome,
    link: &LinkOutcome,
    which: std::ops::Range<usize>,
    classes: &[usize],
    window: (Time, Time),
) {
    let crosses = |f: &FlowFact| classes.contains(&usize::from(f.class)) && f.links.contains(&link.link);
    let length = window.1.since(window.0);
    let mut sum = FlowSegment::default();
    let mut shares = Vec::new();
    let mut any = false;
    for (fact, flow) in facts.flows.iter().zip(&outcome.flows).filter(|(f, _)| crosses(f)) {
        any = true;
        let one: FlowSegment = flow.segments.get(which.clone()).unwrap_or_default().iter().sum();
        sum += one;
        let active = active(fact, window);
        if fact.bulk && active * 2 >= length {
            shares.push(one.delivered_bytes as f64 * 8.0 / active.as_secs_f64());
        }
    }
    if !any {
        return;
    }
    values.set(Metric::RttMean, mean_rtt(&sum));
    values.set(Metric::Goodput, sum.delivered_bytes as f64 * 8.0 / length.as_secs_f64());
    values.set(Metric::Timeouts, sum.timeouts as f64);
    values.set(Metric::FastRetransmits, sum.fast_retransmits as f64);
    values.set(Metric::EcnResponses, sum.ecn_responses as f64);
    values.set(Metric::RetransmissionRate, sum.retransmitted_packets as f64 / sum.sent_packets as f64);
    values.set(Metric::Jain, jain_index(&shares));
    if let Some(step) = step_of(&link.series) {
        let bulk_flows: Vec<Shared<'_>> = shared_by_steps(facts, outcome, crosses).collect();
        values.set(Metric::Convergence, convergence_time(&bulk_flows, step, window));
    }
    if facts.flows.iter().zip(&outcome.flows).any(|(f, _)| crosses(f) && !f.bulk) {
        values.set(Metric::Transfers, 0.0);
    }
    let crossing = facts.flows.iter().zip(&outcome.flows).filter(|(f, _)| crosses(f)).map(|(_, flow)| flow);
    page_figures(values, crossing.clone(), window);
    let tests = facts.flows.iter().zip(&outcome.flows).filter(|(f, _)| crosses(f));
    probe_figures(
        values,
        tests.filter_map(|(f, flow)| Some((f.start, flow.responsiveness.as_deref()?))),
        window,
    );
    timed_figures(values, crossing.clone().map(|flow| flow.timed.get(which.clone()).unwrap_or_default()));
    let bulk = || facts.flows.iter().filter(|f| f.bulk && crosses(f));
    values.set(Metric::LossSynchronization, synchronization(bulk, &link.loss_events, classes, window));
    video_figures(values, crossing.flat_map(|flow| flow.video.get(which.clone()).unwrap_or_default()));
}

/// A bulk flow, and the bytes that its receiver got in each step.
type Shared<'a> = (&'a FlowFact, &'a [u64]);

/// The bulk flows among those chosen whose goodput is kept by steps.
fn shared_by_steps<'a>(
    facts: &'a Facts,
    outcome: &'a Outcome,
    chosen: impl Fn(&FlowFact) -> bool,
) -> impl Iterator<Item = Shared<'a>> {
    let all = facts.flows.iter().zip(&outcome.flows);
    all.filter(move |(fact, flow)| fact.bulk && !flow.step_bytes.is_empty() && chosen(fact))
        .map(|(fact, flow)| (fact, flow.step_bytes.as_slice()))
}

/// The step of a time series; `None` if it has no sample. The first one stands at the end of the first step.
fn step_of(series: &Series) -> Option<Duration> {
    series.time_s.first().map(|first| Duration::from_secs_f64(*first))
}

/// Jain's index in each of so many steps, of the flows that are active for all of it; NaN if they are fewer than two.
fn jain_by_steps(flows: &[Shared<'_>], step: Duration, count: usize) -> Vec<f64> {
    let mut shares = Vec::with_capacity(flows.len());
    let index = |i: usize| {
        let (from, to) = (Time::ZERO + step * i as u64, Time::ZERO + step * (i as u64 + 1));
        shares.clear();
        let active = flows.iter().filter(|(fact, _)| fact.start <= from && fact.stop.is_none_or(|s| s >= to));
        shares.extend(active.filter_map(|(_, bytes)| Some(*bytes.get(i)? as f64)));
        if shares.len() < 2 { f64::NAN } else { jain_index(&shares).unwrap_or(f64::NAN) }
    };
    (0..count).map(index).collect()
}

/// The deviation from the fair share within which goodput has converged.
const FAIR: f64 = 0.1;
/// The round trips over which goodput is taken.
const SPAN: u64 = 10;

/// The seconds from the last change within a window until all flows have converged for good, see
/// [`Metric::Convergence`].
fn convergence_time(flows: &[Shared<'_>], step: Duration, (from, to): (Time, Time)) -> Option<f64> {
    let within = |t: Time| t > from && t < to;
    let changes = flows.iter().flat_map(|(fact, _)| std::iter::once(fact.start).chain(fact.stop));
    let change = changes.filter(|t| within(*t)).max().unwrap_or(from);
    let active = |fact: &FlowFact| fact.start <= change && fact.stop.is_none_or(|stop| stop >= to);
    let active: Vec<&Shared<'_>> = flows.iter().filter(|(fact, _)| active(fact)).collect();
    let longest = active.iter().map(|(fact, _)| fact.base_rtt).max()?;
    let step = step.nanos().max(1);
    let span = index((longest * SPAN).nanos().div_ceil(step).max(1));
    // The whole steps between the change and the end.
    let (first, last) = (index(change.nanos().div_ceil(step)), index(to.nanos() / step));
    let last = active.iter().map(|(_, bytes)| bytes.len()).fold(last, usize::min);
    if active.len() < 2 || first.saturating_add(span) > last {
        return None;
    }
    // From the end: the first span met that is not within is the last one.
    let sum = |bytes: &[u64], at: usize| bytes[at..at + span].iter().sum::<u64>();
    let mut sums: Vec<u64> = active.iter().map(|(_, bytes)| sum(bytes, last - span)).collect();
    let is_fair = |sums: &[u64]| {
        let mean = sums.iter().sum::<u64>() as f64 / sums.len() as f64;
        mean > 0.0 && sums.iter().all(|x| (*x as f64 - mean).abs() <= FAIR * mean)
    };
    let mut at = last - span;
    if !is_fair(&sums) {
        return None;
    }
    while at > first {
        for (sum, (_, bytes)) in sums.iter_mut().zip(&active) {
            *sum = *sum + bytes[at - 1] - bytes[at + span - 1];
        }
        if !is_fair(&sums) {
            break;
        }
        at -= 1;
    }
    let begun = if at == first { change } else { Time::from_nanos(at as u64 * step) };
    let time = begun.since(change);
    // Spans that chance makes fair just before the end are not for good.
    (time * 2 <= to.since(change)).then(|| time.as_secs_f64())
}

/// The transfers that began within a window.
fn within<'a>(
    transfers: &'a [&TransferRow],
    (from, to): (Time, Time),
) -> impl Iterator<Item = &'a TransferRow> {
    let window = from.as_secs_f64()..to.as_secs_f64();
    transfers.iter().copied().filter(move |t| window.contains(&t.start_s))
}

/// The rows of transfers by size in the window of a row. As with classes, a size that is seen in one window has a row in
/// each.
pub fn size_rows(window: &MetricRow, transfers: &[&TransferRow]) -> Vec<MetricRow> {
    let of_size = |(i, name): (usize, &&str)| {
        let is = |t: &&TransferRow| size_of(t) == Some(i);
        transfers.iter().copied().any(|t| is(&t)).then(|| {
            let mut values = Values::default();
            values.set(Metric::Transfers, 0.0);
            let span = window.from_s..window.to_s;
            transfer_figures(
                &mut values,
                transfers.iter().copied().filter(|t| span.contains(&t.start_s) && is(t)),
            );
            MetricRow { scope: format!("{SIZE}{name}"), values, ..window.clone() }
        })
    };
    SIZES.iter().map(|(name, _)| name).enumerate().filter_map(of_size).collect()
}

/// The class of a transfer by its size: its number in [`SIZES`]. `None` if the size is not known.
fn size_of(transfer: &TransferRow) -> Option<usize> {
    let bytes = transfer.size_bytes?;
    SIZES.iter().rposition(|(_, from)| bytes >= *from as f64)
}

/// Sets the figures of finished transfers, if there are some.
pub fn transfer_figures<'a>(values: &mut Values, transfers: impl Iterator<Item = &'a TransferRow>) {
    let transfers: Vec<_> = transfers.collect();
    if transfers.is_empty() {
        return;
    }
    values.set(Metric::Transfers, transfers.len() as f64);
    let sorted = |of: &dyn Fn(&TransferRow) -> Option<f64>| {
        let mut sorted: Vec<f64> = transfers.iter().filter_map(|t| of(t)).collect();
        sorted.sort_by(f64::total_cmp);
        sorted
    };
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let deviation = |of: &[f64]| {
        let mean = mean(of);
        (of.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / of.len() as f64).sqrt()
    };
    let times = sorted(&|t| Some(t.flow_completion_time_s));
    values.set(Metric::FctMean, mean(&times));
    values.set(Metric::FctStd, deviation(&times));
    percentiles(values, [Metric::FctP50, Metric::FctP95, Metric::FctP99], &times);
    let heard = sorted(&|t| t.flow_acknowledgment_time_s);
    values.set(Metric::FatMean, mean(&heard));
    values.set(Metric::FatStd, deviation(&heard));
    percentiles(values, [Metric::FatP50, Metric::FatP95, Metric::FatP99], &heard);
    let slowdowns = sorted(&|t| t.slowdown);
    values.set(Metric::SlowdownMean, mean(&slowdowns));
    percentiles(values, [Metric::SlowdownP50, Metric::SlowdownP95, Metric::SlowdownP99], &slowdowns);
}

/// Sets the median and the upper percentiles of sorted times.
fn percentiles(values: &mut Values, metrics: [Metric; 3], times: &[f64]) {
    for (metric, q) in metrics.into_iter().zip([0.50, 0.95, 0.99]) {
        values.set(metric, quantile(times, q));
    }
}

/// The pages that began within the window.
fn page_figures<'a>(
    values: &mut Values,
    flows: impl Iterator<Item = &'a FlowOutcome>,
    (from, to): (Time, Time),
) {
    let pages = flows.flat_map(|flow| &flow.pages).filter(|page| page.start >= from && page.start < to);
    let mut times: Vec<f64> = pages.map(|page: &Page| page.end.since(page.start).as_secs_f64()).collect();
    times.sort_by(f64::total_cmp);
    if times.is_empty() {
        return;
    }
    values.set(Metric::Pages, times.len() as f64);
    values.set(Metric::PageTimeMean, times.iter().sum::<f64>() / times.len() as f64);
    percentiles(values, [Metric::PageTimeP50, Metric::PageTimeP95, Metric::PageTimeP99], &times);
}

/// The tests of responsiveness, each with its beginning: their probes that were complete within the window.
fn probe_figures<'a>(
    values: &mut Values,
    tests: impl Iterator<Item = (Time, &'a Probes)>,
    (from, to): (Time, Time),
) {
    let tests: Vec<(Time, &Probes)> = tests.collect();
    if tests.is_empty() {
        return;
    }
    let within = |end: Time| end >= from && end < to;
    let foreign = tests.iter().flat_map(|(_, test)| &test.foreign).filter(|probe| within(probe.end));
    let loaded = tests.iter().flat_map(|(_, test)| &test.loaded).filter(|probe| within(probe.end));
    let rpm = Rpm::of(foreign.clone(), loaded.clone());
    values.set(Metric::Rpm, rpm.both());
    values.set(Metric::RpmForeign, rpm.foreign);
    values.set(Metric::RpmLoaded, rpm.loaded);
    values.set(Metric::Probes, (foreign.clone().count() + loaded.clone().count()) as f64);
    let results: Vec<(Duration, f64)> = tests
        .iter()
        .filter_map(|(start, test)| test.result.map(|(at, rpm)| (at.since(*start), rpm)))
        .collect();
    let count = results.len() as f64;
    values.set(Metric::RpmResult, results.iter().map(|r| r.1).sum::<f64>() / count);
    values.set(Metric::RpmResultTime, results.iter().map(|r| r.0.as_secs_f64()).sum::<f64>() / count);
    let part = |of: fn(&ForeignProbe) -> Duration| foreign.clone().map(of).collect::<Vec<Duration>>();
    let parts = [
        (Metric::ProbeTcpP50, Metric::ProbeTcpP95, part(|p| p.tcp)),
        (Metric::ProbeTlsP50, Metric::ProbeTlsP95, part(|p| p.tls)),
        (Metric::ProbeHttpP50, Metric::ProbeHttpP95, part(|p| p.http)),
        (Metric::ProbeLoadedP50, Metric::ProbeLoadedP95, loaded.map(|p| p.end - p.start).collect()),
    ];
    for (median, upper, mut times) in parts.into_iter().filter(|part| !part.2.is_empty()) {
        times.sort_unstable();
        let times: Vec<f64> = times.into_iter().map(Duration::as_secs_f64).collect();
        values.set(median, quantile(&times, 0.50));
        values.set(upper, quantile(&times, 0.95));
    }
}

/// The mean, over the events of loss within the window that hit one of these flows, of the share of them that
/// they hit.
fn synchronization<'a, F: Iterator<Item = &'a FlowFact>>(
    flows: impl Fn() -> F,
    events: &[LossEvent],
    classes: &[usize],
    (from, to): (Time, Time),
) -> Option<f64> {
    let share = |event: &LossEvent| {
        let hit: u32 = classes.iter().filter_map(|c| event.losers.get(*c)).sum();
        let sends = |f: &&FlowFact| f.start <= event.time && f.stop.is_none_or(|stop| event.time < stop);
        // What a flow sent before it stopped may be dropped after that.
        (hit > 0).then(|| f64::from(hit) / (flows().filter(sends).count() as f64).max(f64::from(hit)))
    };
    let within = events.iter().filter(|event| event.time >= from && event.time < to);
    let shares: Vec<f64> = within.filter_map(share).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// The one-way delays of flows, each with its segments.
fn timed_figures<'a>(values: &mut Values, flows: impl Iterator<Item = &'a [TimedSegment]>) {
    let (mut packets, mut sum_ns, mut begun, mut start_up_ns) = (0, 0.0, 0, 0.0);
    let (mut delays, mut variations) = (Vec::new(), Vec::new());
    for segments in flows {
        let least = segments.iter().filter(|s| s.packets > 0).map(|s| s.least_ns).min().unwrap_or(0);
        for segment in segments {
            packets += segment.packets;
            sum_ns += segment.sum_ns as f64;
            begun += segment.begun;
            start_up_ns += segment.start_up_ns as f64;
            delays.extend(&segment.delays);
            variations.extend(segment.delays.iter().map(|(ns, count)| (ns.saturating_sub(least), *count)));
        }
    }
    // What is 0/0 counts as absent.
    values.set(Metric::OneWayDelayMean, sum_ns * 1e-9 / packets as f64);
    values.set(Metric::StartUp, start_up_ns * 1e-9 / begun as f64);
    delays.sort_unstable();
    variations.sort_unstable();
    let percentiles = [
        (Metric::OneWayDelayP50, &delays, 0.50),
        (Metric::OneWayDelayP95, &delays, 0.95),
        (Metric::OneWayDelayP99, &delays, 0.99),
        (Metric::DelayVariation, &variations, 0.99),
    ];
    for (metric, sorted, q) in percentiles {
        values.set(metric, quantile_of_counts(sorted, q).map(|ns| ns as f64 * 1e-9));
    }
}

/// The least of rising values, each with how often it occurs, that a share `q` of all is not above; `None` if there
/// are none.
fn quantile_of_counts(sorted: &[(u64, u32)], q: f64) -> Option<u64> {
    let all: u64 = sorted.iter().map(|(_, count)| u64::from(*count)).sum();
    let wanted = (all as f64 * q).ceil() as u64;
    let mut below = 0;
    sorted
        .iter()
        .find(|(_, count)| {
            below += u64::from(*count);
            below >= wanted
        })
        .map(|(value, _)| *value)
}

/// The figures of players, over segments.
fn video_figures<'a>(values: &mut Values, segments: impl Iterator<Item = &'a VideoSegment>) {
    let sum: VideoSegment = segments.sum();
    // What is 0/0 counts as absent.
    values.set(Metric::VideoRate, sum.rate_sum_bps as f64 / sum.chunks as f64);
    values.set(Metric::VideoSwitchShare, sum.switches as f64 / sum.chunks as f64);
    values.set(Metric::VideoStallShare, sum.stalled_ns as f64 / (sum.played_ns + sum.stalled_ns) as f64);
    values.set(Metric::VideoStartUp, sum.start_up_ns as f64 * 1e-9 / sum.started as f64);
}

/// Names for many rows.
fn shared(names: &[String]) -> Vec<Arc<str>> {
    names.iter().map(|name| name.as_str().into()).collect()
}

/// Every flow over the whole measured window.
fn flows(facts: &Facts, outcome: &Outcome, window: (Time, Time)) -> Vec<FlowRow> {
    let (groups, classes) = (shared(&facts.groups), shared(&facts.classes));
    let row = |(i, (fact, flow)): (usize, (&FlowFact, &FlowOutcome))| {
        let sum: FlowSegment = flow.segments.iter().sum();
        let seconds = active(fact, window).as_secs_f64();
        FlowRow {
            flow: i as u32,
            group: groups[usize::from(fact.group)].clone(),
            class: classes[usize::from(fact.class)].clone(),
            base_rtt_s: fact.base_rtt.as_secs_f64(),
            start_s: fact.start.as_secs_f64(),
            stop_s: fact.stop.map(Time::as_secs_f64),
            goodput_bps: if seconds > 0.0 { sum.delivered_bytes as f64 * 8.0 / seconds } else { 0.0 },
            delivered_bytes: sum.delivered_bytes,
            sent_packets: sum.sent_packets,
            retransmitted_packets: sum.retransmitted_packets,
            timeouts: sum.timeouts,
            fast_retransmits: sum.fast_retransmits,
            ecn_responses: sum.ecn_responses,
            round_trip_time_mean_s: Some(mean_rtt(&sum)).filter(|x| x.is_finite()),
        }
    };
    facts.flows.iter().zip(&outcome.flows).enumerate().map(row).collect()
}

/// The finished transfers.
fn transfers(facts: &Facts, outcome: &Outcome) -> Vec<TransferRow> {
    let classes = shared(&facts.classes);
    outcome
        .transfers
        .iter()
        .filter_map(|t| {
            let fact = facts.flows.get(t.flow as usize)?;
            let took = t.end.since(t.start);
            Some(TransferRow {
                flow: t.flow,
                class: classes[usize::from(fact.class)].clone(),
                start_s: t.start.as_secs_f64(),
                flow_completion_time_s: took.as_secs_f64(),
                size_packets: t.packets,
                size_bytes: Some(t.bytes as f64),
                slowdown: t.alone.map(|alone| took.nanos() as f64 / alone.nanos() as f64),
                flow_acknowledgment_time_s: t.acknowledged.map(|heard| heard.since(t.start).as_secs_f64()),
            })
        })
        .collect()
}

/// The shares at which delay distributions are kept: every hundredth, and the upper tail.
fn shares() -> impl Iterator<Item = f64> {
    (0..100).map(|i| f64::from(i) / 100.0).chain([0.995, 0.999, 0.9999, 1.0])
}

/// Queueing delay distributions over the whole measured window.
fn delays(facts: &Facts, outcome: &Outcome) -> Vec<DelayRow> {
    let mut rows = Vec::new();
    for link in &outcome.links {
        // In one pass: the histogram has thousands of bins, and a short run has a hundred packets.
        let delays = |part: Part<'_>| -> Vec<u64> {
            let histogram = histogram(&link.segments, part, |c| &c.delay_ns);
            histogram.map_or(Vec::new(), |h| h.value_at_quantiles(shares()).collect())
        };
        let name: Arc<str> = link.name.as_str().into();
        let mut add = |scope: &str, delays: &[u64]| {
            let scope: Arc<str> = scope.into();
            rows.extend(shares().zip(delays).map(|(share, ns)| DelayRow {
                link: name.clone(),
                scope: scope.clone(),
                cumulative_probability: share,
                queue_delay_s: *ns as f64 * 1e-9,
            }));
        };
        let mut known = Vec::new();
        for scope in scopes(facts, link) {
            let classes = Part::Classes(&scope.classes);
            add(&scope.name, once::<Vec<u64>>(&mut known, &scope.seen, || delays(classes)));
        }
        for (i, name) in link.lanes.iter().enumerate() {
            add(&format!("{LANE}{name}"), &delays(Part::Lane(i)));
        }
    }
    rows
}

/// The time series, one per link that has one; of classes, those with any traffic there.
fn series(facts: &Facts, outcome: Outcome) -> Vec<LinkSeries> {
    let jain = |l: &LinkOutcome| {
        let flows: Vec<Shared<'_>> =
            shared_by_steps(facts, &outcome, |fact| fact.links.contains(&l.link)).collect();
        let step = step_of(&l.series)?;
        (!flows.is_empty()).then(|| jain_by_steps(&flows, step, l.series.time_s.len()))
    };
    let jain: Vec<Vec<f64>> = outcome.links.iter().map(|l| jain(l).unwrap_or_default()).collect();
    let links = outcome.links.into_iter().zip(jain).filter(|(l, _)| !l.series.time_s.is_empty());
    links
        .map(|(l, jain_index)| {
            let s = l.series;
            let rates = facts.classes.iter().cloned().zip(s.throughput_bps);
            let internals = s.internals.into_iter().map(|i| InternalSeries {
                name: i.name.to_string(),
                unit: i.unit.to_string(),
                values: i.values,
            });
            LinkSeries {
                link: l.name,
                time_s: s.time_s,
                queue_packets: s.queue_packets,
                queue_bytes: s.queue_bytes,
                queue_mean_packets: s.queue_mean_packets,
                queue_delay_mean_s: s.delay_mean_s,
                dropped_packets: s.dropped,
                marked_packets: s.marked,
                jain_index,
                throughput_bps: rates.filter(|(_, values)| values.iter().any(|x| *x > 0.0)).collect(),
                internals: internals.collect(),
            }
        })
        .collect()
}

/// The averages of the internal signals over the windows that `rows` are of.
pub(crate) fn internal_means(rows: &[MetricRow], series: &[LinkSeries]) -> Vec<InternalRow> {
    let windows = rows.iter().filter(|row| row.scope == "all");
    let signals = windows.flat_map(|window| {
        let here = series.iter().filter(|s| s.link == window.link);
        here.flat_map(|s| &s.internals).map(move |signal| (window, signal))
    });
    let mean = |(window, signal): (&MetricRow, &InternalSeries)| {
        let times = &series.iter().find(|s| s.link == window.link)?.time_s;
        let within = |t: f64| t > window.from_s && t <= window.to_s;
        let samples = times.iter().zip(&signal.values).filter(|(t, x)| within(**t) && !x.is_nan());
        let (n, sum) = samples.fold((0u32, 0.0), |(n, sum), (_, x)| (n + 1, sum + x));
        (n > 0).then(|| InternalRow {
            link: window.link.clone(),
            segment: window.segment,
            signal: signal.name.clone(),
            unit: signal.unit.clone(),
            mean: sum / f64::from(n),
        })
    };
    signals.filter_map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_sim::network::LinkId;
    use quell_sim::outcome::{Conservation, LoadedProbe, Series, Transfer};

    fn secs(s: u64) -> Time {
        Time::ZERO + Duration::from_secs(s)
    }

    fn class(arrived: u64, dropped: [u64; 3], departed: u64, marked: u64, delays_us: &[u64]) -> ClassStats {
        let mut delay_ns = Histogram::new_with_bounds(1, 10_000_000_000, 3).unwrap();
        delays_us.iter().for_each(|d| delay_ns.record(*d * 1000).unwrap());
        let counts = Counts {
            arrived,
            arrived_bytes: arrived * 500,
            queue_seen_packets: departed * 5,
            dropped_early: dropped[0],
            dropped_forced: dropped[1],
            dropped_overflow: dropped[2],
            dropped_bytes: dropped.iter().sum::<u64>() * 500,
            dropped_ecn: dropped[0],
            marked,
            departed,
            lost: departed / 10,
            departed_bytes: departed * 500,
            delay_sum_ns: delays_us.iter().sum::<u64>() * 1000,
        };
        ClassStats {
            counts,
            drops: (dropped.iter().sum::<u64>() > 0).then(|| (secs(12), secs(13))),
            // Senders measure a round trip of ten times the delay.
            rtt_ns: {
                let mut rtt_ns = Histogram::new_with_bounds(1, 10_000_000_000, 2).unwrap();
                delays_us.iter().for_each(|d| rtt_ns.record(*d * 10_000).unwrap());
                rtt_ns
            },
            delay_ns,
            airtime: Duration::ZERO,
        }
    }

    fn segment(from: u64, to: u64, queue: [f64; 2], classes: Vec<ClassStats>) -> Segment {
        let seconds = (to - from) as f64;
        Segment {
            from: secs(from),
            to: secs(to),
            capacity_bits: 1e6 * seconds,
            // One packet of 500 bytes less than left: it began before the segment.
            sent_bits: classes.iter().map(|c| c.counts.departed_bytes as f64 * 8.0).sum::<f64>() - 4000.0,
            queue_packet_seconds: queue[0] * seconds,
            queue_packet2_seconds: queue[1] * seconds,
            queue_byte_seconds: 500.0 * queue[0] * seconds,
            queue_byte2_seconds: 250_000.0 * queue[1] * seconds,
            // The first class has a lane of its own.
            lanes: classes.iter().take(1).cloned().collect(),
            classes,
        }
    }

    fn flow(class: u16, bytes: [u64; 2], timeouts: u64) -> FlowOutcome {
        let one = |delivered_bytes| FlowSegment {
            delivered_bytes,
            sent_packets: 100,
            retransmitted_packets: 5,
            timeouts,
            rtt_samples: 4 + timeouts,
            rtt_sum_ns: 1_000_000_000,
            ..FlowSegment::default()
        };
        FlowOutcome { class, segments: bytes.map(one).to_vec(), ..FlowOutcome::default() }
    }

    fn fact(class: u16, start: u64, bulk: bool, link: u32) -> FlowFact {
        let (start, links) = (secs(start), vec![LinkId(link)]);
        FlowFact { group: class, class, base_rtt: Duration::from_millis(100), start, stop: None, bulk, links }
    }

    /// Two segments of 10 s; classes ftp, web and acks; two bulk flows, one that starts too late to
    /// be compared, one web flow, and one flow over another link.
    fn example() -> (Facts, Outcome) {
        let names = |n: &[&str]| n.iter().map(|s| s.to_string()).collect();
        let facts = Facts {
            classes: names(&["ftp", "web", ACKS]),
            groups: names(&["ftp", "web"]),
            buffers: vec![Some(QueueSize::Bytes(6000.0))],
            steady_state: None,
            flows: vec![
                fact(0, 0, true, 0),
                fact(0, 0, true, 0),
                fact(0, 25, true, 0),
                fact(1, 0, false, 0),
                fact(0, 0, true, 7),
            ],
        };
        let first = segment(
            10,
            20,
            [4.0, 20.0], // mean 4, variance 4
            vec![
                class(1000, [30, 20, 10], 900, 90, &[1000, 2000, 3000]),
                class(0, [0, 0, 0], 0, 0, &[]),
                class(1000, [0, 0, 0], 1000, 0, &[1000; 10]),
            ],
        );
        let second = segment(
            20,
            30,
            [8.0, 64.0], // constant
            vec![
                class(1000, [0, 0, 40], 1000, 0, &[4000]),
                class(100, [0, 0, 0], 100, 0, &[9000]),
                class(0, [0, 0, 0], 0, 0, &[]),
            ],
        );
        let link = LinkOutcome {
            link: LinkId(0),
            name: "bottleneck".into(),
            lanes: vec!["l".into()],
            segments: vec![first, second],
            series: Series::default(),
            // Of two flows that always send, and three from 25 s on.
            loss_events: vec![
                LossEvent { time: secs(9), losers: vec![2, 0, 0] },
                LossEvent { time: secs(11), losers: vec![1, 0, 0] },
                LossEvent { time: secs(21), losers: vec![2, 0, 0] },
                LossEvent { time: secs(26), losers: vec![1, 0, 0] },
            ],
            log: Vec::new(),
        };
        // Each alone takes half a second.
        let transfer = |flow, start, end, bytes| Transfer {
            flow,
            start: secs(start),
            end: secs(end),
            acknowledged: Some(secs(end + 1)),
            packets: 3,
            bytes,
            request: 0,
            alone: Some(Duration::from_millis(500)),
        };
        let outcome = Outcome {
            links: vec![link],
            flows: vec![
                flow(0, [1_000_000, 250_000], 1),
                flow(0, [1_000_000, 2_750_000], 0),
                flow(0, [0, 9_000_000], 0),
                flow(1, [0, 100_000], 2),
                flow(0, [77, 77], 77),
            ],
            transfers: vec![
                transfer(3, 12, 13, 9_999),
                transfer(3, 21, 24, 10_000),
                Transfer { acknowledged: None, ..transfer(3, 25, 27, 30_000_000) },
            ],
            conservation: Conservation::default(),
            digest: 1,
            events: 2,
            trace: None,
        };
        (facts, outcome)
    }

    fn find<'a>(rows: &'a [MetricRow], segment: Option<u32>, scope: &str) -> &'a Values {
        &rows.iter().find(|r| r.segment == segment && r.scope == scope).unwrap().values
    }

    fn close(values: &Values, metric: Metric, expected: f64) {
        let x = values.get(metric).unwrap_or_else(|| panic!("no {metric:?}"));
        assert!((x - expected).abs() <= 1e-9 + 1e-3 * expected.abs(), "{metric:?} = {x}, not {expected}");
    }

    #[test]
    fn figures_of_the_whole_window() {
        let (facts, outcome) = example();
        let rows = metrics(&facts, &outcome, &transfers(&facts, &outcome));
        let all = find(&rows, None, "all");
        close(all, Metric::Utilization, 2998.0 * 4000.0 / 20e6);
        close(all, Metric::WireLossRate, 0.1);
        close(all, Metric::Throughput, 3000.0 * 4000.0 / 20.0);
        close(all, Metric::LossRate, 100.0 / 3100.0);
        close(all, Metric::EarlyLossRate, 30.0 / 3100.0);
        close(all, Metric::ForcedLossRate, 20.0 / 3100.0);
        close(all, Metric::OverflowLossRate, 50.0 / 3100.0);
        close(all, Metric::MarkRate, 90.0 / 3000.0);
        close(all, Metric::QueueMean, 6.0);
        close(all, Metric::QueueSeen, 3000.0 * 5.0 / 3100.0);
        assert_eq!(all.get(Metric::LossShare), None, "all has all");
        close(all, Metric::LossInterval, 1.0 / 99.0);
        close(all, Metric::LossSynchronization, (0.5 + 1.0 + 1.0 / 3.0) / 3.0);
        close(find(&rows, Some(1), "ftp"), Metric::LossSynchronization, (1.0 + 1.0 / 3.0) / 2.0);
        assert_eq!(find(&rows, None, "web").get(Metric::LossSynchronization), None);
        assert_eq!(all.get(Metric::OneWayDelayMean), None, "nobody asked");
        // E[q^2] = (20 + 64) / 2 = 42, minus 36.
        close(all, Metric::QueueStd, 6f64.sqrt());
        close(all, Metric::QueueSegmentStd, (2.0 + 0.0) / 2.0);
        close(all, Metric::QueueBytes, 3000.0);
        close(all, Metric::QueueBytesStd, 500.0 * 6f64.sqrt());
        close(all, Metric::QueueBytesSegmentStd, 500.0);
        close(all, Metric::BufferBytes, 6000.0);
        assert_eq!(all.get(Metric::BufferPackets), None, "the buffer is given in bytes");
        // Delays: ten of 1 ms, 1, 2, 3, 4, 9 ms; the mean counts all departures.
        close(all, Metric::DelayMean, 29e-3 / 3000.0);
        close(all, Metric::DelayP50, 1e-3);
        close(all, Metric::DelayP99, 9e-3);
        close(all, Metric::Power, 600e3 / (29e-3 / 3000.0));
        // 2 MB + 3 MB + 9 MB + 0.1 MB over 20 s; not the flow over another link.
        close(all, Metric::Goodput, (1.25e6 + 3.75e6 + 9e6 + 0.1e6) * 8.0 / 20.0);
        // Shares 1.25 and 3.75; the flow that began at 25 s is left out.
        close(all, Metric::Jain, 25.0 / (2.0 * (1.25 * 1.25 + 3.75 * 3.75)));
        close(all, Metric::Timeouts, 2.0 + 4.0);
        close(all, Metric::RetransmissionRate, 0.05);
        close(all, Metric::Transfers, 3.0);
        close(all, Metric::FctMean, 2.0);
        close(all, Metric::FctStd, (2.0f64 / 3.0).sqrt()); // of 1, 2 and 3 s
        // Two segments of one second in all each, in 4 measurements a flow, and one more for a timeout.
        close(all, Metric::RttMean, 8.0 / (4.0 * 8.0 + 2.0 + 4.0));
        let near = |x: f64, expected: f64| assert!((x / expected - 1.0).abs() < 0.01, "{x}, not {expected}");
        near(all.get(Metric::RttP50).unwrap(), 10e-3);
        near(all.get(Metric::RttP99).unwrap(), 90e-3);
        close(all, Metric::FctP50, 2.0);
        close(all, Metric::FctP99, 3.0);
        // Of 2, 4 and 6; one of them was not acknowledged.
        close(all, Metric::SlowdownMean, 4.0);
        close(all, Metric::SlowdownP50, 4.0);
        close(all, Metric::SlowdownP99, 6.0);
        close(all, Metric::FatMean, 3.0);
        close(all, Metric::FatStd, 1.0);
        close(all, Metric::FatP99, 4.0);
    }

    #[test]
    fn figures_of_transfers_by_their_size() {
        let (facts, outcome) = example();
        let rows = metrics(&facts, &outcome, &transfers(&facts, &outcome));
        let sizes = ["0-10kB", "10-100kB", "1MB-"].map(|name| format!("{SIZE}{name}"));
        for (scope, [completion, slowdown]) in sizes.iter().zip([[1.0, 2.0], [3.0, 6.0], [2.0, 4.0]]) {
            let row = find(&rows, None, scope);
            close(row, Metric::Transfers, 1.0);
            close(row, Metric::FctMean, completion);
            close(row, Metric::SlowdownP99, slowdown);
            assert_eq!(row.get(Metric::Utilization), None);
        }
        assert!(rows.iter().all(|row| !row.scope.contains("100kB-1MB")), "there are none");
        let second = |i: usize| find(&rows, Some(1), &sizes[i]);
        assert_eq!((second(0).get(Metric::Transfers), second(0).get(Metric::FctMean)), (Some(0.0), None));
        close(second(1), Metric::FctMean, 3.0);
        let sizes = SIZES.map(|(_, from)| from);
        assert!(sizes.is_sorted() && sizes[0] == 0, "each size has one class");
    }

    #[test]
    fn lanes_of_a_channel_have_airtime() {
        let (facts, mut outcome) = example();
        let of = |outcome: &Outcome| {
            let rows = metrics(&facts, outcome, &transfers(&facts, outcome));
            let lane = |row: &&MetricRow| row.scope == "lane:l" && row.segment.is_none();
            let found = rows.iter().find(lane).unwrap().values.get(Metric::AirtimeShare);
            assert!(
                rows.iter()
                    .all(|row| row.scope == "lane:l" || row.values.get(Metric::AirtimeShare).is_none())
            );
            found
        };
        assert_eq!(of(&outcome), None, "other links have none");
        let segments = &mut outcome.links[0].segments;
        let length = segments.last().unwrap().to - segments[0].from;
        segments[0].lanes[0].airtime = length.mul_f64(0.25);
        assert!((of(&outcome).unwrap() - 0.25).abs() < 1e-9);
    }

    #[test]
    fn figures_of_classes_and_segments() {
        let (facts, outcome) = example();
        let rows = metrics(&facts, &outcome, &transfers(&facts, &outcome));
        let parts: f64 =
            ["data", ACKS].iter().map(|s| find(&rows, None, s).get(Metric::Utilization).unwrap()).sum();
        close(find(&rows, None, "all"), Metric::Utilization, parts);
        close(find(&rows, None, "data"), Metric::LossRate, 100.0 / 2100.0);
        close(find(&rows, None, "ftp"), Metric::LossRate, 100.0 / 2000.0);
        close(find(&rows, None, "ftp"), Metric::ArrivalShare, 2000.0 / 3100.0);
        close(find(&rows, None, "ftp"), Metric::LossShare, 1.0);
        close(find(&rows, None, "ftp"), Metric::QueueSeen, 1900.0 * 5.0 / 2000.0);
        let acks = find(&rows, None, ACKS);
        close(acks, Metric::ArrivalShare, 1000.0 / 3100.0);
        close(acks, Metric::LossShare, 0.0);
        close(acks, Metric::LossRate, 0.0);
        assert_eq!(acks.get(Metric::Goodput), None, "no flow sends acknowledgments as data");
        let web = find(&rows, Some(0), "web");
        assert_eq!(web.get(Metric::LossRate), None, "nothing arrived, so nothing can be said");
        assert_eq!(web.get(Metric::DelayP99), None);
        close(web, Metric::FctMean, 1.0);
        assert_eq!(find(&rows, None, "ftp").get(Metric::Transfers), None, "bulk flows make no transfers");
        let second = find(&rows, Some(1), "all");
        close(second, Metric::QueueMean, 8.0);
        close(second, Metric::QueueStd, 0.0);
        close(second, Metric::FctMean, 2.5);
        // Active for half of the segment counts: shares 0.25, 2.75 and (over 5 s) 18 MB per 10 s.
        let shares = [0.25, 2.75, 18.0];
        close(second, Metric::Jain, jain_index(&shares).unwrap());
    }

    #[test]
    fn delays_from_end_to_end() {
        let (facts, mut outcome) = example();
        let timed = |delays: &[(u64, u32)]| TimedSegment {
            packets: delays.iter().map(|d| u64::from(d.1)).sum(),
            sum_ns: delays.iter().map(|d| d.0 * u64::from(d.1)).sum(),
            least_ns: delays.iter().map(|d| d.0).min().unwrap_or(0),
            delays: delays.to_vec(),
            begun: 2,
            start_up_ns: 100_000_000,
        };
        outcome.flows[0].timed = vec![timed(&[(10_000_000, 90), (15_000_000, 10)]), timed(&[])];
        outcome.flows[1].timed = vec![timed(&[(50_000_000, 99), (70_000_000, 1)]), timed(&[(40_000_000, 1)])];
        let rows = metrics(&facts, &outcome, &transfers(&facts, &outcome));
        let ftp = find(&rows, None, "ftp");
        close(ftp, Metric::OneWayDelayMean, (0.9 + 0.15 + 4.95 + 0.07 + 0.04) / 201.0);
        close(ftp, Metric::OneWayDelayP50, 0.04);
        close(ftp, Metric::OneWayDelayP95, 0.05);
        // 0, 5 ms above the least of the one flow; 0, 10 and 30 ms above that of the other.
        close(ftp, Metric::DelayVariation, 0.01);
        close(ftp, Metric::StartUp, 0.05);
        let first = find(&rows, Some(0), "all");
        close(first, Metric::OneWayDelayP50, 0.015);
        close(first, Metric::DelayVariation, 0.005);
        assert_eq!(find(&rows, Some(1), "web").get(Metric::OneWayDelayP99), None);
    }

    #[test]
    fn pages_and_videos() {
        let (facts, mut outcome) = example();
        let page = |start, end| Page { start: secs(start), end: secs(end), packets: 9 };
        outcome.flows[3].pages = vec![page(9, 11), page(12, 16), page(19, 21), page(22, 23)];
        let video = |x: u64| VideoSegment {
            chunks: 2 * x,
            rate_sum_bps: 3_000_000 * x,
            switches: 2 - x,
            played_ns: 6_000_000_000,
            stalled_ns: 2_000_000_000 * (x - 1),
            stalls: 1,
            started: 2 - x,
            start_up_ns: (2 - x) * 500_000_000,
        };
        outcome.flows[3].video = vec![video(1), video(2)];
        let rows = metrics(&facts, &outcome, &transfers(&facts, &outcome));
        let web = find(&rows, None, "web");
        close(web, Metric::Pages, 3.0);
        close(web, Metric::PageTimeMean, 7.0 / 3.0);
        close(web, Metric::PageTimeP50, 2.0);
        close(web, Metric::PageTimeP99, 4.0);
        close(web, Metric::VideoRate, 1.5e6);
        close(web, Metric::VideoSwitchShare, 1.0 / 6.0);
        close(web, Metric::VideoStallShare, 2.0 / 14.0);
        close(web, Metric::VideoStartUp, 0.5);
        close(find(&rows, Some(1), "web"), Metric::PageTimeMean, 1.0);
        let second = find(&rows, Some(1), "all");
        close(second, Metric::VideoStallShare, 0.25);
        assert_eq!(second.get(Metric::VideoStartUp), None, "it began before");
        let ftp = find(&rows, None, "ftp");
        assert_eq!((ftp.get(Metric::Pages), ftp.get(Metric::VideoRate)), (None, None));
    }

    /// A window is [from, to): what begins at its end belongs to the next one.
    #[test]
    fn transfers_and_pages_count_where_they_begin() {
        let (facts, mut outcome) = example();
        let begun = [9, 10, 20, 29, 30];
        let first = outcome.transfers[0];
        outcome.transfers =
            begun.map(|start| Transfer { start: secs(start), end: secs(40), ..first }).to_vec();
        outcome.flows[3].pages =
            begun.map(|start| Page { start: secs(start), end: secs(40), packets: 3 }).to_vec();
        let rows = metrics(&facts, &outcome, &transfers(&facts, &outcome));
        for metric in [Metric::Transfers, Metric::Pages] {
            let counts = [None, Some(0), Some(1)].map(|segment| find(&rows, segment, "web").get(metric));
            assert_eq!(counts, [Some(3.0), Some(1.0), Some(2.0)], "{metric:?}");
        }
    }

    /// A sample stands for the step that ends with it: one at the end of a window is within, one at its beginning not.
    fn sharing(start: u64, stop: Option<u64>) -> FlowFact {
        FlowFact { stop: stop.map(secs), ..fact(0, start, true, 0) }
    }

    /// Round trips of 100 ms make a span of a second, which is ten steps.
    #[test]
    fn convergence_is_from_the_last_change_on_and_for_good() {
        let step = Duration::from_millis(100);
        let (old, new) = (sharing(0, None), sharing(10, None));
        let of = |first: &dyn Fn(usize) -> u64| -> Vec<u64> { (0..300).map(first).collect() };
        // The new one has its share from 14 s on, and an outburst at 17 s that is over when 18 s are.
        let one = of(&|i| if (100..140).contains(&i) { 150 } else { 100 });
        let two = of(&|i| match i {
            0..100 => 0,
            100..140 => 50,
            170..180 => 130,
            _ => 100,
        });
        let time = |from, to| convergence_time(&[(&old, &one), (&new, &two)], step, (secs(from), secs(to)));
        // A span with three of its ten steps at 130 deviates by 4.3 % of the mean, one with seven by 9.5 %, with
        // eight by 10.7 %: 17.3 s is the first beginning from which on all are within.
        assert_eq!(time(0, 30), Some(7.3));
        assert_eq!(time(12, 30), Some(5.3), "from the window's beginning, if nothing changes within");
        assert_eq!(time(18, 30), Some(0.0));
        assert_eq!(time(14, 17), Some(0.0), "what comes after the window does not count");
        // Two steps of a span at 150 and 50 deviate by 10 %: 3.8 s, which is more than half of what there is.
        assert_eq!(time(0, 16), None);
        assert_eq!(time(0, 14), None, "never within");
        assert_eq!(time(29, 30), Some(0.0), "a single span");
        assert_eq!(convergence_time(&[(&old, &one)], step, (secs(0), secs(30))), None);
        // One that stops is a change, and shares nothing from then on.
        let (other, left) = (sharing(0, None), sharing(0, Some(20)));
        let flows = [(&old, &one[..]), (&other, &one[..]), (&left, &two[..])];
        assert_eq!(convergence_time(&flows, step, (secs(0), secs(30))), Some(0.0));
        assert_eq!(convergence_time(&flows[1..], step, (secs(0), secs(30))), None);
    }

    #[test]
    fn jain_over_time_is_of_the_flows_that_are_active() {
        let step = Duration::from_secs(1);
        let (old, new, late) = (sharing(0, Some(4)), sharing(1, None), sharing(2, None));
        let flows =
            [(&old, &[5, 3, 4, 0, 0][..]), (&new, &[0, 1, 4, 6, 6][..]), (&late, &[0, 0, 4, 2, 0][..])];
        let found = jain_by_steps(&flows, step, 5);
        assert!(found[0].is_nan(), "one flow shares with nobody");
        // 3 and 1; 4, 4 and 4; 0, 6 and 2; then the first has stopped: 6 and 0.
        for (found, index) in found[1..].iter().zip([0.8, 1.0, 64.0 / 120.0, 0.5]) {
            assert!((found - index).abs() < 1e-12, "{found} {index}");
        }
    }

    /// Two probes of each kind within the window, and what the draft makes of them.
    #[test]
    fn probes_count_where_they_are_complete() {
        let ms = Duration::from_millis;
        let foreign = |end: u64, tcp, tls, http| ForeignProbe {
            start: secs(end),
            end: secs(end),
            tcp: ms(tcp),
            tls: ms(tls),
            http: ms(http),
        };
        let loaded = |end: u64, took| LoadedProbe { start: secs(end), end: secs(end) + ms(took) };
        let test = Probes {
            foreign: vec![foreign(9, 900, 900, 900), foreign(12, 20, 40, 30), foreign(20, 900, 900, 900)],
            loaded: vec![loaded(9, 500), loaded(12, 60), loaded(19, 1500)],
            goodput_stable: Some(secs(8)),
            result: Some((secs(11), 321.0)),
        };
        let mut values = Values::default();
        probe_figures(&mut values, [(secs(1), &test)].into_iter(), (secs(10), secs(20)));
        let close = |metric, to: f64| {
            let found: f64 = values.get(metric).unwrap();
            assert!((found - to).abs() < 1e-9 * to, "{metric:?} {found} {to}");
        };
        close(Metric::RpmForeign, 2000.0);
        close(Metric::RpmLoaded, 1000.0);
        close(Metric::Rpm, 1500.0);
        close(Metric::RpmResult, 321.0);
        close(Metric::RpmResultTime, 10.0);
        close(Metric::Probes, 2.0);
        close(Metric::ProbeTcpP50, 0.02);
        close(Metric::ProbeTlsP95, 0.04);
        close(Metric::ProbeHttpP50, 0.03);
        close(Metric::ProbeLoadedP95, 0.06);
        let mut none = Values::default();
        probe_figures(&mut none, std::iter::empty(), (secs(10), secs(20)));
        assert_eq!(none, Values::default());
    }

    #[test]
    fn internal_means_are_over_the_steps_of_their_window() {
        let values = vec![1.0, 10.0, f64::NAN, 100.0];
        let signal = InternalSeries { name: "p".into(), unit: "1".into(), values };
        let series = LinkSeries {
            link: "a".into(),
            time_s: vec![1.0, 2.0, 3.0, 4.0],
            internals: vec![signal],
            ..LinkSeries::default()
        };
        let mean = |from_s: f64, to_s: f64| {
            let row = MetricRow {
                link: "a".into(),
                segment: None,
                scope: "all".into(),
                from_s,
                to_s,
                values: Values::default(),
            };
            internal_means(&[row], std::slice::from_ref(&series)).first().map(|i| i.mean)
        };
        assert_eq!([mean(0.0, 4.0), mean(1.0, 4.0), mean(1.0, 2.0)], [37.0, 55.0, 10.0].map(Some));
        assert_eq!(mean(2.0, 3.0), None, "no value is there");
    }

    /// A hundred samples from 10 s to 20 s, made by `queue` of their number.
    fn sampled(queue: impl Fn(usize) -> f64) -> Series {
        Series {
            time_s: (1..=200).map(|i| i as f64 * 0.1).collect(),
            queue_packets: (0..200).map(|i| if i < 100 { 1e6 } else { queue(i - 100) }).collect(),
            ..Series::default()
        }
    }

    fn saw(i: usize) -> f64 {
        if i.is_multiple_of(2) { 49.0 } else { 51.0 }
    }

    #[test]
    fn response_times_of_known_transients() {
        let time = |series: &Series| response_time(series, &segment(10, 20, [0.0; 2], vec![]), None);
        let of = |queue: &dyn Fn(usize) -> f64| time(&sampled(queue)).unwrap();
        assert_eq!(of(&saw), 0.0, "steady at once; what was before does not count");
        assert_eq!(of(&|_| 7.0), 0.0, "a queue that never changes");
        // 30 samples of 90, at 10.1 s to 13.0 s: the last window that meets one begins with it.
        let step = |i| if i < 30 { 90.0 } else { saw(i) };
        assert!((of(&step) - 3.0).abs() < 1e-9, "{}", of(&step));
        // From 1.5 times the deviation on, which is 1: 1.4 away is settled, 1.6 away is not.
        let near = |far: f64| move |i| if i < 30 { 50.0 + far } else { saw(i) };
        assert_eq!(of(&near(1.4)), 0.0);
        assert!(of(&near(1.6)) > 2.0);
        // What is far away until the steady half begins counts as half of the time.
        assert!((of(&|i| if i < 50 { 90.0 } else { saw(i) }) - 5.0).abs() < 1e-9);
        // Still on its way in the second half: no steady state, so no time.
        let drifting = |i: usize| 50.0 + 0.5 * i as f64 + saw(i);
        assert_eq!(time(&sampled(drifting)), None);
        assert_eq!(time(&sampled(|i| if i < 75 { 90.0 } else { saw(i) })), None);
        let few = Series { time_s: vec![11.0; 39], queue_packets: vec![1.0; 39], ..Series::default() };
        assert_eq!(time(&few), None);
    }

    /// A segment of a hundred samples after a steady one, whose mean is 50 and whose deviation is 1.
    #[test]
    fn response_times_against_a_window() {
        let steady = Some((secs(0), secs(10)));
        let of = |queue: &dyn Fn(usize) -> f64| {
            let series = Series {
                queue_packets: (0..200).map(|i| if i < 100 { saw(i) } else { queue(i - 100) }).collect(),
                ..sampled(saw)
            };
            response_time(&series, &segment(10, 20, [0.0; 2], vec![]), steady)
        };
        assert_eq!(of(&saw), Some(0.0));
        let until = |n: usize| move |i| if i < n { 90.0 } else { saw(i) };
        // Also where the segment's own second half is not steady.
        for n in [30, 75, 90] {
            let time = of(&until(n)).unwrap_or_else(|| panic!("none after {n} samples"));
            assert!((time - n as f64 * 0.1).abs() < 1e-9, "{time} after {n} samples");
        }
        assert_eq!(of(&until(91)), None, "the last tenth is not within the bound");
        assert_eq!(of(&|i| 10.0 + saw(i)), None, "steady elsewhere");
        assert_eq!(of(&|i| if i < 30 { 50.0 + 1.4 } else { saw(i) }), Some(0.0));
    }

    #[test]
    fn segments_after_the_first_have_response_times() {
        let (facts, mut outcome) = example();
        assert_eq!(
            find(&metrics(&facts, &outcome, &transfers(&facts, &outcome)), Some(1), "all")
                .get(Metric::ResponseTime),
            None
        );
        // The second segment, 20 s to 30 s, is disturbed for its first two seconds.
        let queue = |i: usize| if (200..220).contains(&i) { 500.0 } else { saw(i) };
        outcome.links[0].series = Series {
            time_s: (1..=300).map(|i| i as f64 * 0.1).collect(),
            queue_packets: (0..300).map(queue).collect(),
            ..Series::default()
        };
        let rows = metrics(&facts, &outcome, &transfers(&facts, &outcome));
        assert_eq!(find(&rows, Some(0), "all").get(Metric::ResponseTime), None);
        close(find(&rows, Some(1), "all"), Metric::ResponseTime, 2.0);
        close(find(&rows, None, "all"), Metric::ResponseTime, 2.0);
        assert_eq!(find(&rows, Some(1), "ftp").get(Metric::ResponseTime), None);
    }

    #[test]
    fn flows_transfers_and_distributions() {
        let (facts, outcome) = example();
        let rows = flows(&facts, &outcome, (secs(10), secs(30)));
        assert_eq!(rows.len(), 5);
        assert_eq!(rows[2].goodput_bps, 9e6 * 8.0 / 5.0, "over the time it was active");
        assert_eq!((rows[0].delivered_bytes, rows[0].sent_packets, rows[0].timeouts), (1_250_000, 200, 2));
        let transfers = transfers(&facts, &outcome);
        assert_eq!((&*transfers[1].class, transfers[1].flow_completion_time_s), ("web", 3.0));
        let delays = delays(&facts, &outcome);
        let top = delays.iter().rfind(|d| &*d.scope == "ftp").unwrap();
        assert_eq!(top.cumulative_probability, 1.0);
        assert!((top.queue_delay_s - 4e-3).abs() < 1e-5);
        assert!(
            delays.windows(2).all(|w| w[0].scope != w[1].scope || w[0].queue_delay_s <= w[1].queue_delay_s)
        );
    }
}
