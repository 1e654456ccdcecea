//! The metrics in Prometheus' text format, version 0.0.4.

use core::fmt::Write as _;

use super::anomaly::Kind;
use super::status::{Causes, Count, Counts, LineStatus, LogState, Quantiles, ShadowStatus, Spread, Status};

/// The name of this format in HTTP.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The behavior of a metric's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// It only grows, from zero when the gateway begins.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Counts at bounds, their sum, and how many.
    Histogram,
}

impl Type {
    /// Its name in the format.
    pub fn name(self) -> &'static str {
        match self {
            Type::Counter => "counter",
            Type::Gauge => "gauge",
            Type::Histogram => "histogram",
        }
    }
}

/// A metric.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its behavior.
    pub kind: Type,
    /// Its labels.
    pub labels: &'static [&'static str],
    /// Its configuration.
    pub help: &'static str,
}

const NONE: &[&str] = &[];
const LINE: &[&str] = &["direction", "line", "algorithm"];
const DROP: &[&str] = &["direction", "line", "algorithm", "place", "cause"];
const PLACE: &[&str] = &["direction", "line", "algorithm", "place"];
const PERCENTILE: &[&str] = &["direction", "line", "algorithm", "percentile"];
const LANE: &[&str] = &["direction", "line", "algorithm", "lane"];
const LANE_DROP: &[&str] = &["direction", "line", "algorithm", "lane", "place", "cause"];
const LANE_PLACE: &[&str] = &["direction", "line", "algorithm", "lane", "place"];
const LANE_PERCENTILE: &[&str] = &["direction", "line", "algorithm", "lane", "percentile"];
const ANOMALY: &[&str] = &["anomaly", "direction"];
const SHADOW: &[&str] = &["direction", "line", "shadow", "algorithm"];
const SHADOW_DROP: &[&str] = &["direction", "line", "shadow", "algorithm", "place", "cause"];

macro_rules! metrics {
    ($($name:literal $kind:ident $labels:expr, $help:literal;)+) => {
        /// All that are exported, in their order.
        pub const METRICS: &[Metric] =
            &[$(Metric { name: $name, kind: Type::$kind, labels: $labels, help: $help },)+];
    };
}

metrics! {
    "quell_build_info" Gauge &["version"], "The version of Quell; always 1.";
    "quell_up_seconds" Gauge NONE, "How long the gateway has run.";
    "quell_snapshot_age_seconds" Gauge NONE, "How long ago the worker last published its counters; more than a second means that it hangs.";
    "quell_pauses_total" Counter NONE, "How often the worker was stopped for more than a second.";
    "quell_on_the_way_packets" Gauge NONE, "Packets that were sent and are still delayed.";
    "quell_kernel_dropped_packets_total" Counter &["where"], "Packets that the kernel dropped around the gateway: queue (NFQUEUE was full), user (NFQUEUE could not hand them over), verdict (dropped before its verdict came). For queue and user the algorithm never saw them.";
    "quell_passed_packets_total" Counter &["why"], "Packets that passed without the algorithm: bypass (left without a verdict, since nobody read the queue or it was full; counted by a rule, every few seconds), unjudged (neighbor discovery and packets that are not IP).";
    "quell_strange_messages_total" Counter NONE, "Messages from the kernel that were not understood.";
    "quell_rules_gone_total" Counter NONE, "How often firewall rules were missing and were added again.";
    "quell_worker_restarts_total" Counter NONE, "How often the worker was restarted; its other metrics count from the last restart.";
    "quell_log_state" Gauge &["state"], "1 for the current state of the log: none, writing, ended (before the gateway did).";
    "quell_anomaly" Gauge ANOMALY, "1 while the anomaly holds, 0 otherwise.";
    "quell_anomaly_since_timestamp_seconds" Gauge ANOMALY, "When the anomaly began, in seconds since 1970; present only while it holds.";
    "quell_anomalies_raised_total" Counter ANOMALY, "How often the anomaly was raised.";
    "quell_config_info" Gauge &["direction", "line", "algorithm", "digest", "buffer", "ecn"], "The configuration; always 1. The digest changes with it.";
    "quell_rate_bytes_per_second" Gauge LINE, "The rate that the line is set to, in bytes per second (an eighth of the bit/s).";
    "quell_queue_packets" Gauge LINE, "Packets that wait, without the one in transmission.";
    "quell_queue_bytes" Gauge LINE, "Their bytes.";
    "quell_arrived_packets_total" Counter LINE, "Packets that arrived and were presented to the algorithm: enqueued, or dropped on arrival.";
    "quell_arrived_bytes_total" Counter LINE, "Their bytes.";
    "quell_ce_arrived_packets_total" Counter LINE, "Packets that arrived with CE: marked elsewhere.";
    "quell_enqueued_packets_total" Counter LINE, "Packets that were stored: forwarded, dropped later, or in the queue.";
    "quell_enqueued_bytes_total" Counter LINE, "Their bytes.";
    "quell_forwarded_packets_total" Counter LINE, "Packets that were sent.";
    "quell_forwarded_bytes_total" Counter LINE, "Their bytes.";
    "quell_marked_packets_total" Counter LINE, "Packets that were marked here.";
    "quell_marked_bytes_total" Counter LINE, "Their bytes.";
    "quell_dropped_packets_total" Counter DROP, "Packets that were dropped, by place (arrival, or stored: at the head or to make room) and cause: early (the algorithm, in place of a mark or because it drops), forced (a hard limit of the algorithm), overflow (no room).";
    "quell_dropped_bytes_total" Counter DROP, "Their bytes.";
    "quell_dropped_ecn_capable_packets_total" Counter PLACE, "Of all these, the ECN-capable packets.";
    "quell_dropped_ecn_capable_bytes_total" Counter PLACE, "Their bytes.";
    "quell_sojourn_seconds" Histogram LINE, "From arrival to the start of transmission; bounds are exact to 1%.";
    "quell_sojourn_recent_seconds" Gauge PERCENTILE, "Percentiles of the same over the last ten seconds; 100 is the largest.";
    "quell_late_seconds" Histogram LINE, "From when a packet was due to when it was let go: the pacing error.";
    "quell_late_recent_seconds" Gauge PERCENTILE, "Percentiles of the same over the last ten seconds; 100 is the largest.";
    "quell_lane_queue_packets" Gauge LANE, "Packets that wait in one of the algorithm's queues: c and l of DualPI2 and Curvy RED. Unnamed queues, one for each flow, are not counted separately.";
    "quell_lane_queue_bytes" Gauge LANE, "Their bytes.";
    "quell_lane_arrived_packets_total" Counter LANE, "Packets that arrived for that queue and were presented to the algorithm. A reload resets the counters of queues.";
    "quell_lane_ce_arrived_packets_total" Counter LANE, "Packets that arrived with CE: marked elsewhere.";
    "quell_lane_enqueued_packets_total" Counter LANE, "Packets that were stored.";
    "quell_lane_forwarded_packets_total" Counter LANE, "Packets that were sent.";
    "quell_lane_forwarded_bytes_total" Counter LANE, "Their bytes: the queue's share of the rate.";
    "quell_lane_marked_packets_total" Counter LANE, "Packets that were marked here.";
    "quell_lane_dropped_packets_total" Counter LANE_DROP, "Packets that were dropped, by place and cause as in quell_dropped_packets_total.";
    "quell_lane_dropped_ecn_capable_packets_total" Counter LANE_PLACE, "Of all these, the ECN-capable packets.";
    "quell_lane_sojourn_seconds" Histogram LANE, "From arrival to the start of transmission; bounds are exact to 1%.";
    "quell_lane_sojourn_recent_seconds" Gauge LANE_PERCENTILE, "Percentiles of the same over the last ten seconds; 100 is the largest.";
    "quell_aqm_signal" Gauge &["direction", "line", "algorithm", "name", "unit"], "An internal signal of the algorithm, under the name that its paper uses.";
    "quell_shadow_queue_packets" Gauge SHADOW, "Packets that would wait if the shadow's algorithm decided.";
    "quell_shadow_forwarded_packets_total" Counter SHADOW, "Packets that it would have sent.";
    "quell_shadow_forwarded_bytes_total" Counter SHADOW, "Their bytes.";
    "quell_shadow_marked_packets_total" Counter SHADOW, "Packets that it would have marked.";
    "quell_shadow_dropped_packets_total" Counter SHADOW_DROP, "Packets that it would have dropped.";
    "quell_shadow_sojourn_seconds" Histogram SHADOW, "The time that packets would have spent in the shadow's queue.";
}

/// A text under way: families in the order of [`METRICS`].
struct Text {
    out: String,
    at: &'static str,
}

impl Text {
    /// Adds a sample; the first of a family is preceded by what the family is.
    fn sample(&mut self, family: &'static str, suffix: &str, labels: &[(&str, &str)], value: f64) {
        if self.at != family {
            self.at = family;
            // Every family is written by name, and a test sees that each is there.
            if let Some(metric) = METRICS.iter().find(|m| m.name == family) {
                let help = metric.help.replace('\\', "\\\\");
                let _ = writeln!(self.out, "# HELP {family} {help}\n# TYPE {family} {}", metric.kind.name());
            }
        }
        self.out.push_str(family);
        self.out.push_str(suffix);
        for (i, (name, value)) in labels.iter().enumerate() {
            self.out.push(if i == 0 { '{' } else { ',' });
            self.out.push_str(name);
            self.out.push_str("=\"");
            for c in value.chars() {
                match c {
                    '\\' => self.out.push_str("\\\\"),
                    '"' => self.out.push_str("\\\""),
                    '\n' => self.out.push_str("\\n"),
                    c => self.out.push(c),
                }
            }
            self.out.push('"');
        }
        if !labels.is_empty() {
            self.out.push('}');
        }
        let _ = writeln!(self.out, " {value}");
    }

    fn one(&mut self, family: &'static str, labels: &[(&str, &str)], value: f64) {
        self.sample(family, "", labels, value);
    }

    fn histogram(&mut self, family: &'static str, labels: &[(&str, &str)], spread: &Spread) {
        for (bound, count) in &spread.buckets {
            let bound = bound.to_string();
            self.sample(family, "_bucket", &and(labels, &[("le", &bound)]), *count as f64);
        }
        self.sample(family, "_bucket", &and(labels, &[("le", "+Inf")]), spread.count as f64);
        self.sample(family, "_sum", labels, spread.sum_s);
        self.sample(family, "_count", labels, spread.count as f64);
    }
}

/// Labels that lines share.
fn labels(line: &LineStatus) -> [(&str, String); 3] {
    [
        ("direction", line.direction.clone()),
        ("line", line.line.to_string()),
        ("algorithm", line.algorithm().to_string()),
    ]
}

fn borrow<'a, const N: usize>(labels: &'a [(&'a str, String); N]) -> Vec<(&'a str, &'a str)> {
    labels.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

/// The labels `base` and more.
fn and<'a>(base: &[(&'a str, &'a str)], more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [base, more].concat()
}

/// The text.
pub fn prometheus(status: &Status) -> String {
    let mut text = Text { out: String::with_capacity(1 << 15), at: "" };
    text.one("quell_build_info", &[("version", &status.version)], 1.0);
    text.one("quell_up_seconds", &[], status.up_s);
    text.one("quell_snapshot_age_seconds", &[], status.age_s);
    text.one("quell_pauses_total", &[], status.pauses as f64);
    text.one("quell_on_the_way_packets", &[], status.on_the_way as f64);
    let kernel = &status.kernel;
    for (place, n) in
        [("queue", kernel.queue_dropped), ("user", kernel.user_dropped), ("verdict", kernel.refused)]
    {
        text.one("quell_kernel_dropped_packets_total", &[("where", place)], n as f64);
    }
    for (why, n) in [("bypass", kernel.bypassed), ("unjudged", kernel.unjudged)] {
        text.one("quell_passed_packets_total", &[("why", why)], n as f64);
    }
    text.one("quell_strange_messages_total", &[], kernel.strange as f64);
    text.one("quell_rules_gone_total", &[], kernel.rules_gone as f64);
    text.one("quell_worker_restarts_total", &[], kernel.restarts as f64);
    let state = match status.log {
        LogState::None => "none",
        LogState::Writing => "writing",
        LogState::Ended { .. } => "ended",
    };
    for name in ["none", "writing", "ended"] {
        text.one("quell_log_state", &[("state", name)], f64::from(u8::from(name == state)));
    }
    anomalies(&mut text, status);
    let lines: Vec<_> = status.lines.iter().map(|line| (line, labels(line))).collect();
    let lines: Vec<_> = lines.iter().map(|(line, labels)| (*line, borrow(labels))).collect();
    queues(&mut text, &lines);
    for (line, base) in &lines {
        text.histogram("quell_sojourn_seconds", base, &line.delay);
    }
    for (line, base) in &lines {
        percentiles(&mut text, "quell_sojourn_recent_seconds", base, line.recent.delay.as_ref());
    }
    for (line, base) in &lines {
        text.histogram("quell_late_seconds", base, &line.lateness);
    }
    for (line, base) in &lines {
        percentiles(&mut text, "quell_late_recent_seconds", base, line.recent.lateness.as_ref());
    }
    of_lanes(&mut text, &lines);
    for (line, base) in &lines {
        for signal in &line.signals {
            let more = [("name", signal.name.as_str()), ("unit", signal.unit.as_str())];
            text.one("quell_aqm_signal", &and(base, &more), signal.value.unwrap_or(f64::NAN));
        }
    }
    shadows(&mut text, status);
    text.out
}

fn anomalies(text: &mut Text, status: &Status) {
    let holds = |kind: Kind, direction: &Option<String>| {
        status.anomalies.iter().find(|a| a.kind == kind && a.direction == *direction)
    };
    for family in ["quell_anomaly", "quell_anomaly_since_timestamp_seconds", "quell_anomalies_raised_total"] {
        for raised in &status.raised {
            let labels =
                [("anomaly", raised.kind.name()), ("direction", raised.direction.as_deref().unwrap_or(""))];
            let now = holds(raised.kind, &raised.direction);
            let value = match family {
                "quell_anomaly" => Some(f64::from(u8::from(now.is_some()))),
                "quell_anomaly_since_timestamp_seconds" => now.map(|a| a.since_unix_s as f64),
                _ => Some(raised.times as f64),
            };
            if let Some(value) = value {
                text.one(family, &labels, value);
            }
        }
    }
}

/// A line and its labels.
type Labeled<'a> = (&'a LineStatus, Vec<(&'a str, &'a str)>);

/// The counts of a queue, and its labels.
type Counted<'a> = (&'a Counts, Vec<(&'a str, &'a str)>);

/// A metric and what it counts.
type Figure = (&'static str, fn(&Counts) -> u64);

fn queues(text: &mut Text, lines: &[Labeled<'_>]) {
    let queues: Vec<_> = lines.iter().filter_map(|(line, base)| Some((line.queue.as_ref()?, base))).collect();
    for (queue, base) in &queues {
        let ecn = if queue.ecn { "true" } else { "false" };
        let more = [("digest", queue.digest.as_str()), ("buffer", queue.buffer.as_str()), ("ecn", ecn)];
        text.one("quell_config_info", &and(base, &more), 1.0);
    }
    for (queue, base) in &queues {
        text.one("quell_rate_bytes_per_second", base, queue.rate_bps as f64 / 8.0);
    }
    let counted: Vec<Counted<'_>> = queues.iter().map(|(q, base)| (&q.counts, base.to_vec())).collect();
    let before: [Figure; 7] = [
        ("quell_queue_packets", |c| c.now.packets),
        ("quell_queue_bytes", |c| c.now.bytes),
        ("quell_arrived_packets_total", |c| c.arrived.packets),
        ("quell_arrived_bytes_total", |c| c.arrived.bytes),
        ("quell_ce_arrived_packets_total", |c| c.arrived_ce.packets),
        ("quell_enqueued_packets_total", |c| c.enqueued.packets),
        ("quell_enqueued_bytes_total", |c| c.enqueued.bytes),
    ];
    figures(text, &counted, &before);
    for (line, base) in lines {
        text.one("quell_forwarded_packets_total", base, line.sent.packets as f64);
    }
    for (line, base) in lines {
        text.one("quell_forwarded_bytes_total", base, line.sent.bytes as f64);
    }
    let marks: [Figure; 2] = [
        ("quell_marked_packets_total", |c| c.marked.packets),
        ("quell_marked_bytes_total", |c| c.marked.bytes),
    ];
    figures(text, &counted, &marks);
    drops(text, "quell_dropped_packets_total", &counted, |c| c.packets);
    drops(text, "quell_dropped_bytes_total", &counted, |c| c.bytes);
    capable_drops(text, "quell_dropped_ecn_capable_packets_total", &counted, |c| c.packets);
    capable_drops(text, "quell_dropped_ecn_capable_bytes_total", &counted, |c| c.bytes);
}

fn of_lanes(text: &mut Text, lines: &[Labeled<'_>]) {
    let mut lanes = Vec::new();
    for (line, base) in lines {
        lanes.extend(line.lanes.iter().map(|lane| (lane, and(base, &[("lane", lane.name.as_str())]))));
    }
    let counted: Vec<Counted<'_>> = lanes.iter().map(|(lane, base)| (&lane.counts, base.clone())).collect();
    let all: [Figure; 8] = [
        ("quell_lane_queue_packets", |c| c.now.packets),
        ("quell_lane_queue_bytes", |c| c.now.bytes),
        ("quell_lane_arrived_packets_total", |c| c.arrived.packets),
        ("quell_lane_ce_arrived_packets_total", |c| c.arrived_ce.packets),
        ("quell_lane_enqueued_packets_total", |c| c.enqueued.packets),
        ("quell_lane_forwarded_packets_total", |c| c.departed.packets),
        ("quell_lane_forwarded_bytes_total", |c| c.departed.bytes),
        ("quell_lane_marked_packets_total", |c| c.marked.packets),
    ];
    figures(text, &counted, &all);
    drops(text, "quell_lane_dropped_packets_total", &counted, |c| c.packets);
    capable_drops(text, "quell_lane_dropped_ecn_capable_packets_total", &counted, |c| c.packets);
    for (lane, base) in &lanes {
        text.histogram("quell_lane_sojourn_seconds", base, &lane.delay);
    }
    for (lane, base) in &lanes {
        percentiles(text, "quell_lane_sojourn_recent_seconds", base, lane.recent.as_ref());
    }
}

fn figures(text: &mut Text, queues: &[Counted<'_>], figures: &[Figure]) {
    for &(family, figure) in figures {
        queues.iter().for_each(|(counts, base)| text.one(family, base, figure(counts) as f64));
    }
}

fn places(counts: &Counts) -> [(&'static str, &Causes); 2] {
    [("arrival", &counts.refused), ("stored", &counts.dropped)]
}

/// Writes where packets were dropped, and for what.
fn drops(text: &mut Text, family: &'static str, queues: &[Counted<'_>], of: fn(Count) -> u64) {
    for (counts, base) in queues {
        for (place, causes) in places(counts) {
            for (cause, count) in causes.each() {
                text.one(family, &and(base, &[("place", place), ("cause", cause)]), of(count) as f64);
            }
        }
    }
}

/// Writes where ECN-capable packets were dropped.
fn capable_drops(text: &mut Text, family: &'static str, queues: &[Counted<'_>], of: fn(Count) -> u64) {
    for (counts, base) in queues {
        for (place, causes) in places(counts) {
            text.one(family, &and(base, &[("place", place)]), of(causes.ecn_capable) as f64);
        }
    }
}

fn percentiles(text: &mut Text, family: &'static str, base: &[(&str, &str)], of: Option<&Quantiles>) {
    let Some(q) = of else { return };
    for (percentile, value) in [("50", q.p50), ("90", q.p90), ("99", q.p99), ("100", q.max)] {
        text.one(family, &and(base, &[("percentile", percentile)]), value);
    }
}

fn shadows(text: &mut Text, status: &Status) {
    let labels = |line: &LineStatus, i: usize, shadow: &ShadowStatus| {
        [
            ("direction", line.direction.clone()),
            ("line", line.line.to_string()),
            ("shadow", i.to_string()),
            ("algorithm", shadow.queue.algorithm.clone()),
        ]
    };
    let mut shadows = Vec::new();
    for line in &status.lines {
        shadows.extend(line.shadows.iter().enumerate().map(|(i, s)| (s, labels(line, i, s))));
    }
    let counted: Vec<Counted<'_>> = shadows.iter().map(|(s, all)| (&s.queue.counts, borrow(all))).collect();
    let all: [Figure; 4] = [
        ("quell_shadow_queue_packets", |c| c.now.packets),
        ("quell_shadow_forwarded_packets_total", |c| c.departed.packets),
        ("quell_shadow_forwarded_bytes_total", |c| c.departed.bytes),
        ("quell_shadow_marked_packets_total", |c| c.marked.packets),
    ];
    figures(text, &counted, &all);
    drops(text, "quell_shadow_dropped_packets_total", &counted, |c| c.packets);
    for ((shadow, _), (_, base)) in shadows.iter().zip(&counted) {
        text.histogram("quell_shadow_sojourn_seconds", base, &shadow.delay);
    }
}
