//! From what the simulator measured to figures.

use hdrhistogram::Histogram;
use quell_sim::outcome::{ClassStats, FlowSegment, LinkOutcome, Outcome, Segment, Transfer};
use quell_units::{Duration, Time};

use crate::metrics::{Metric, Values};
use crate::plan::{ACKS, Facts, FlowFact};
use crate::results::{DelayRow, FlowRow, InternalSeries, LinkSeries, MetricRow, TransferRow};
use crate::stats::{jain_index, quantile};

/// The figures of every observed link: the whole window and each segment, all traffic and each class
/// seen there.
pub(crate) fn metrics(facts: &Facts, outcome: &Outcome) -> Vec<MetricRow> {
    let mut rows = Vec::new();
    for link in &outcome.links {
        let whole = 0..link.segments.len();
        rows.extend(rows_of(facts, outcome, link, None, whole.clone()));
        if link.segments.len() > 1 {
            for i in whole {
                rows.extend(rows_of(facts, outcome, link, Some(i as u32), i..i + 1));
            }
        }
    }
    rows
}

fn rows_of(
    facts: &Facts,
    outcome: &Outcome,
    link: &LinkOutcome,
    number: Option<u32>,
    which: std::ops::Range<usize>,
) -> Vec<MetricRow> {
    let segments = &link.segments[which.clone()];
    let (Some(first), Some(last)) = (segments.first(), segments.last()) else { return Vec::new() };
    let (from, to) = (first.from, last.to);
    let row = |scope: &str, classes: &[usize]| {
        let mut values = Values::default();
        link_figures(&mut values, segments, classes, to.since(from));
        flow_figures(&mut values, facts, outcome, link, which.clone(), classes, (from, to));
        MetricRow {
            link: link.name.clone(),
            segment: number,
            scope: scope.to_string(),
            from_s: from.as_secs_f64(),
            to_s: to.as_secs_f64(),
            values,
        }
    };
    let seen = scopes(facts, link);
    seen.iter()
        .map(|(name, classes)| {
            let mut row = row(name, classes);
            if name == "all" {
                queue_figures(&mut row.values, segments, to.since(from));
            }
            row
        })
        .collect()
}

/// "all", "data" (all but acknowledgments), and each class that was seen at the link.
fn scopes(facts: &Facts, link: &LinkOutcome) -> Vec<(String, Vec<usize>)> {
    let all: Vec<usize> = (0..facts.classes.len()).collect();
    let data = all.iter().copied().filter(|c| facts.classes[*c] != ACKS).collect();
    let seen = |c: &usize| link.segments.iter().any(|s| s.classes.get(*c).is_some_and(|k| k.arrived > 0));
    let each = all.clone().into_iter().filter(seen).map(|c| (facts.classes[c].clone(), vec![c]));
    [("all".to_string(), all.clone()), ("data".to_string(), data)].into_iter().chain(each).collect()
}

/// Adds up classes over segments.
fn total(segments: &[Segment], classes: &[usize], of: impl Fn(&ClassStats) -> u64) -> f64 {
    segments.iter().flat_map(|s| classes.iter().filter_map(|c| s.classes.get(*c))).map(|c| of(c) as f64).sum()
}

fn link_figures(values: &mut Values, segments: &[Segment], classes: &[usize], length: Duration) {
    let sum = |of: fn(&ClassStats) -> u64| total(segments, classes, of);
    let seconds = length.as_secs_f64();
    let arrived = sum(|c| c.arrived);
    let departed = sum(|c| c.departed);
    let bits = sum(|c| c.departed_bytes) * 8.0;
    let capacity: f64 = segments.iter().map(|s| s.capacity_bits).sum();
    values.set(Metric::Utilization, bits / capacity);
    values.set(Metric::Throughput, bits / seconds);
    values.set(Metric::LossRate, sum(ClassStats::dropped) / arrived);
    values.set(Metric::ByteLossRate, sum(|c| c.dropped_bytes) / sum(|c| c.arrived_bytes));
    values.set(Metric::EarlyLossRate, sum(|c| c.dropped_early) / arrived);
    values.set(Metric::ForcedLossRate, sum(|c| c.dropped_forced) / arrived);
    values.set(Metric::OverflowLossRate, sum(|c| c.dropped_overflow) / arrived);
    values.set(Metric::MarkRate, sum(|c| c.marked) / departed);
    let delay = sum(|c| c.delay_sum_ns) * 1e-9 / departed;
    values.set(Metric::DelayMean, delay);
    values.set(Metric::Power, bits / seconds / delay);
    if let Some(histogram) = delay_histogram(segments, classes) {
        let at = |q| histogram.value_at_quantile(q) as f64 * 1e-6;
        values.set(Metric::DelayP50, at(0.50));
        values.set(Metric::DelayP95, at(0.95));
        values.set(Metric::DelayP99, at(0.99));
    }
}

/// The delays of several classes and segments together; none if no packet left.
fn delay_histogram(segments: &[Segment], classes: &[usize]) -> Option<Histogram<u32>> {
    let mut parts = segments
        .iter()
        .flat_map(|s| classes.iter().filter_map(|c| s.classes.get(*c)))
        .map(|c| &c.delay_us)
        .filter(|h| !h.is_empty());
    let mut sum = parts.next()?.clone();
    sum.auto(true);
    for part in parts {
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
    let each = segments.iter().map(|s| {
        deviation(s.queue_packet_seconds, s.queue_packet2_seconds, s.to.since(s.from).as_secs_f64())
    });
    values.set(Metric::QueueSegmentStd, each.sum::<f64>() / segments.len() as f64);
}

/// For how long a flow was active within [from, to).
fn active(flow: &FlowFact, (from, to): (Time, Time)) -> Duration {
    let end = flow.stop.map_or(to, |stop| stop.min(to));
    end.since(flow.start.max(from))
}

fn add(a: FlowSegment, b: &FlowSegment) -> FlowSegment {
    FlowSegment {
        delivered_bytes: a.delivered_bytes + b.delivered_bytes,
        sent_packets: a.sent_packets + b.sent_packets,
        retransmitted_packets: a.retransmitted_packets + b.retransmitted_packets,
        timeouts: a.timeouts + b.timeouts,
        fast_retransmits: a.fast_retransmits + b.fast_retransmits,
        ecn_responses: a.ecn_responses + b.ecn_responses,
    }
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
        let one =
            flow.segments.get(which.clone()).unwrap_or_default().iter().fold(FlowSegment::default(), add);
        sum = add(sum, &one);
        let active = active(fact, window);
        if fact.bulk && active * 2 >= length {
            shares.push(one.delivered_bytes as f64 * 8.0 / active.as_secs_f64());
        }
    }
    if !any {
        return;
    }
    values.set(Metric::Goodput, sum.delivered_bytes as f64 * 8.0 / length.as_secs_f64());
    values.set(Metric::Timeouts, sum.timeouts as f64);
    values.set(Metric::FastRetransmits, sum.fast_retransmits as f64);
    values.set(Metric::EcnResponses, sum.ecn_responses as f64);
    values.set(Metric::RetransmissionRate, sum.retransmitted_packets as f64 / sum.sent_packets as f64);
    if let Some(index) = jain_index(&shares) {
        values.set(Metric::Jain, index);
    }
    let mut times: Vec<f64> = outcome
        .transfers
        .iter()
        .filter(|t| t.start >= window.0 && t.start < window.1)
        .filter(|t| facts.flows.get(t.flow as usize).is_some_and(crosses))
        .map(completion_time)
        .collect();
    times.sort_by(f64::total_cmp);
    let finite = facts.flows.iter().zip(&outcome.flows).any(|(f, _)| crosses(f) && !f.bulk);
    if finite {
        values.set(Metric::Transfers, times.len() as f64);
    }
    values.set(Metric::FctMean, times.iter().sum::<f64>() / times.len() as f64);
    for (metric, q) in [(Metric::FctP50, 0.50), (Metric::FctP95, 0.95), (Metric::FctP99, 0.99)] {
        if let Some(t) = quantile(&times, q) {
            values.set(metric, t);
        }
    }
}

fn completion_time(t: &Transfer) -> f64 {
    t.end.since(t.start).as_secs_f64()
}

/// Every flow over the whole measured window.
pub(crate) fn flows(facts: &Facts, outcome: &Outcome, window: (Time, Time)) -> Vec<FlowRow> {
    let row = |(i, (fact, flow)): (usize, (&FlowFact, &quell_sim::outcome::FlowOutcome))| {
        let sum = flow.segments.iter().fold(FlowSegment::default(), add);
        let seconds = active(fact, window).as_secs_f64();
        FlowRow {
            flow: i as u32,
            group: facts.groups[usize::from(fact.group)].clone(),
            class: facts.classes[usize::from(fact.class)].clone(),
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
        }
    };
    facts.flows.iter().zip(&outcome.flows).enumerate().map(row).collect()
}

/// The finished transfers.
pub(crate) fn transfers(facts: &Facts, outcome: &Outcome) -> Vec<TransferRow> {
    outcome
        .transfers
        .iter()
        .filter_map(|t| {
            let fact = facts.flows.get(t.flow as usize)?;
            Some(TransferRow {
                flow: t.flow,
                class: facts.classes[usize::from(fact.class)].clone(),
                start_s: t.start.as_secs_f64(),
                flow_completion_time_s: completion_time(t),
                packets: t.packets,
            })
        })
        .collect()
}

/// The shares at which delay distributions are kept: every hundredth, and the upper tail.
fn shares() -> impl Iterator<Item = f64> {
    (0..100).map(|i| f64::from(i) / 100.0).chain([0.995, 0.999, 0.9999, 1.0])
}

/// Queueing delay distributions over the whole measured window.
pub(crate) fn delays(facts: &Facts, outcome: &Outcome) -> Vec<DelayRow> {
    let mut rows = Vec::new();
    for link in &outcome.links {
        for (scope, classes) in scopes(facts, link) {
            let Some(histogram) = delay_histogram(&link.segments, &classes) else { continue };
            rows.extend(shares().map(|probability| DelayRow {
                link: link.name.clone(),
                scope: scope.clone(),
                probability,
                queue_delay_s: histogram.value_at_quantile(probability) as f64 * 1e-6,
            }));
        }
    }
    rows
}

/// The time series, one per link that has one; of classes, those with any traffic there.
pub(crate) fn series(facts: &Facts, outcome: Outcome) -> Vec<LinkSeries> {
    let links = outcome.links.into_iter().filter(|l| !l.series.time_s.is_empty());
    links
        .map(|l| {
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
                throughput_bps: rates.filter(|(_, values)| values.iter().any(|x| *x > 0.0)).collect(),
                internals: internals.collect(),
            }
        })
        .collect()
}
