//! AP-RED: auto-parameterization of RED (Chen 2010, chapter 4).
//!
//! RED whose thresholds, `max_p` and weight follow the number of flows N, the round-trip time R and the
//! capacity C, from a reference: a setting that is known to be good for N0, R0 and C0. N and R are
//! known to the user, or measured by the queue from the packets that pass it (Chen 2010, section 4.4).
//!
//! What Chen 2010 leaves open, and what this file does:
//! - N and R are measured over `flow_interval` (60 s in Chen 2010). Nothing is adapted to a measurement
//!   before one such time has passed, nor to round-trip times before there is one; until then the
//!   reference is used.
//! - The measured N counts every connection of the last `flow_interval`, including web transfers that
//!   have ended and acknowledgments on the reverse path, and the measured R includes queueing. The
//!   reference must be measured in the same way: run the algorithm where the setting is known to be
//!   good and read `flows_measured` and `rtt_measured`.
//! - C is the link's current rate if the host knows it, and the initial rate otherwise.
//! - How often the parameters are updated ("less frequently", 4.4): every `interval`.
//! - Eq. 4.6 needs `w` to be small; it is at most 1. Thresholds are not kept within the buffer: eq. 4.3
//!   does not, and where the buffer is too small for the product R C no other choice would be right.
//! - The stability proposition (eq. 4.9) is [`stability_bound`]. The reference setting of Chen 2010, section
//!   4.5.1 does not meet it, although Chen 2010 says so: L w is 5.0e-8 against a bound of 4.1e-8 with R
//!   = 120 ms, and of 9.8e-9 with the delay of 100 packets in R.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use quell_units::{BitRate, Duration, QueueSize, Time};
use serde::{Deserialize, Serialize};

use super::red::{Signals, red_params};
use crate::params::{ParamError, ParamValue, Remark, in_range, positive_duration, require};
use crate::part::{FlowTable, Ticker, Weight};
use crate::red::{Red, RedParams};
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict};

choice! {
    /// The word for a quantity that is measured.
    pub enum Measured {
        /// Measured from the packets that pass the queue.
        Measured = "measured",
    }
}

/// A quantity that is measured, or known to the user: one value, or several, each from its time on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected \"measured\", a value, or a list of { from = \"0 s\", value = ... }")]
pub enum Known<T> {
    /// Measured.
    Rule(Measured),
    /// This value, always.
    Value(T),
    /// These values, each from its time on.
    Steps(Vec<Step<T>>),
}

/// A value from a time on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step<T> {
    /// Its beginning, from the start of the run.
    pub from: Duration,
    /// The value.
    pub value: T,
}

impl<T: Copy> Known<T> {
    /// The value at a time; `None`: it is to be measured.
    pub fn at(&self, now: Time) -> Option<T> {
        match self {
            Known::Rule(Measured::Measured) => None,
            Known::Value(x) => Some(*x),
            Known::Steps(steps) => {
                steps.iter().take_while(|s| Time::ZERO + s.from <= now).last().map(|s| s.value)
            }
        }
    }

    fn values(&self) -> impl Iterator<Item = T> + '_ {
        let (one, steps): (_, &[Step<T>]) = match self {
            Known::Rule(Measured::Measured) => (None, &[]),
            Known::Value(x) => (Some(*x), &[]),
            Known::Steps(steps) => (None, steps),
        };
        one.into_iter().chain(steps.iter().map(|s| s.value))
    }

    /// Steps begin at 0 s and rise.
    fn check(&self, field: &'static str) -> Result<(), ParamError>
    where
        Known<T>: ParamValue,
    {
        let Known::Steps(steps) = self else { return Ok(()) };
        let from_start = steps.first().is_some_and(|s| s.from.is_zero());
        let rising = steps.windows(2).all(|s| s[0].from < s[1].from);
        require(from_start && rising, field, self.show(), "must begin at 0 s and have increasing times")
    }
}

impl<T: ParamValue> ParamValue for Known<T> {
    fn show(&self) -> String {
        match self {
            Known::Rule(r) => r.show(),
            Known::Value(x) => x.show(),
            Known::Steps(steps) => {
                let each: Vec<String> = steps
                    .iter()
                    .map(|s| format!("{{ from = {}, value = {} }}", s.from, s.value.show()))
                    .collect();
                format!("[{}]", each.join(", "))
            }
        }
    }
}

red_params! {
    /// AP-RED's parameters.
    pub struct ApRedParams {
        /// N0: number of flows for which the setting is known to be good.
        reference_flows: f64 = 50.0, unit "1", source "Chen 2010, section 4.5.1";
        /// R0: round-trip time for which the setting is known to be good.
        reference_rtt: Duration = Duration::from_millis(120), unit "s", source "Chen 2010, section 4.5.1";
        /// C0: rate of the link for which the setting is known to be good.
        reference_rate: BitRate = BitRate::from_bps(10_000_000), unit "bit/s", source "Chen 2010, section 4.5.1";
        /// The setting: average queue below which nothing is signaled; its unit determines whether the queue is
        /// measured in packets or bytes.
        min_th: QueueSize = QueueSize::Packets(50.0), unit "packets or bytes", source "Chen 2010, section 4.5.1";
        /// The setting: average queue at which the probability reaches max_p.
        max_th: QueueSize = QueueSize::Packets(150.0), unit "packets or bytes", source "Chen 2010, section 4.5.1";
        /// The setting: probability at max_th.
        max_p: f64 = 0.05, unit "1", source "Chen 2010, section 4.5.1";
        /// The setting: weight of a new sample in the average; or the rule "link-rate" or "link-rate-fast", or { time_constant = "1 s" }.
        weight: Weight = Weight::Value(1e-4), unit "1", source "Chen 2010, section 4.5.1";
        /// N: "measured", or the true number of flows, or a list of { from = "0 s", value = 50 }.
        flows: Known<f64> = Known::Rule(Measured::Measured), unit "1", source "Chen 2010, section 4.4";
        /// R: "measured", or the true round-trip time, or a list of { from = "0 s", value = "120 ms" }.
        rtt: Known<Duration> = Known::Rule(Measured::Measured), unit "s", source "Chen 2010, section 4.4";
        /// Time between two adaptations.
        interval: Duration = Duration::from_secs(1), unit "s", source "this implementation; Chen 2010, section 4.4 leaves it to trial";
        /// Time over which flows and round-trip times are measured.
        flow_interval: Duration = Duration::from_secs(60), unit "s", source "Chen 2010, section 4.4";
        /// Largest number of connections that can be told apart within flow_interval; the count stops
        /// there.
        max_flows: u32 = 16_384, unit "1", source "this implementation: four times what Chen 2010, section 4.5.1 has";
        /// Largest max_p.
        max_p_top: f64 = 0.5, unit "1", source "Chen 2010, section 4.3.1";
        /// Smallest max_p.
        max_p_bottom: f64 = 0.01, unit "1", source "Chen 2010, section 4.3.1";
        /// Lets the probability rise from max_p at max_th to 1 at twice max_th; without it, the probability
        /// is 1 from max_th on.
        gentle: bool = true, unit "true or false", source "Floyd 2000; Chen 2010, eq. 2.4";
    }
}

/// More flows than any link has.
const MOST_FLOWS: f64 = 1e9;

/// A longer round-trip time is almost certainly a typo.
const LONGEST_RTT: Duration = Duration::from_secs(600);

fn check_rtt(field: &'static str, rtt: Duration) -> Result<(), ParamError> {
    positive_duration(field, rtt, "Chen 2010, section 4.3.1")?;
    require(rtt <= LONGEST_RTT, field, rtt, "must be at most 10 min")
}

impl ApRedParams {
    /// The conditions that its parameters suit, with these, the weight of the average among them.
    pub fn reference(&self, w: f64, link: &Link) -> Reference {
        Reference {
            conditions: Conditions {
                flows: self.reference_flows,
                rtt: self.reference_rtt.as_secs_f64(),
                capacity: self.reference_rate.packets_per_sec(link.mean_packet),
            },
            setting: Setting {
                min_th: self.min_th.in_packets(link.mean_packet),
                max_th: self.max_th.in_packets(link.mean_packet),
                max_p: self.max_p,
                w,
            },
            bottom: self.max_p_bottom,
            top: self.max_p_top,
        }
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        Signals::from(self).remarks(link).collect()
    }

    /// AP-RED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: those of RED, a reference or a known value that is not
    /// positive, bounds of `max_p` that do not rise, a table without room.
    pub fn build(&self, link: &Link) -> Result<ApRed, ParamError> {
        link.check()?;
        let flows_rule = "a link has at least one flow [Chen 2010, section 4.3.1]";
        in_range("reference_flows", self.reference_flows, 1.0, MOST_FLOWS, flows_rule)?;
        check_rtt("reference_rtt", self.reference_rtt)?;
        require!(self.reference_rate.bps() > 0, self.reference_rate, "must be positive")?;
        self.flows.values().try_for_each(|n| in_range("flows", n, 1.0, MOST_FLOWS, flows_rule))?;
        self.rtt.values().try_for_each(|r| check_rtt("rtt", r))?;
        self.flows.check("flows")?;
        self.rtt.check("rtt")?;
        require!(
            0.0 < self.max_p_bottom && self.max_p_bottom <= self.max_p_top && self.max_p_top <= 1.0,
            self.max_p_bottom,
            "must be positive, with max_p_bottom <= max_p_top ({}) <= 1",
            self.max_p_top
        )?;
        let red = RedParams {
            min_th: self.min_th,
            max_th: self.max_th,
            max_p: self.max_p,
            weight: self.weight,
            gentle: self.gentle,
            ..Signals::from(self).into()
        }
        .build_rising(link)?;
        let reference = self.reference(red.weight(), link);
        let mut ap_red = ApRed {
            red,
            reference,
            conditions: reference.conditions,
            flows: self.flows.clone(),
            rtt: self.rtt.clone(),
            table: FlowTable::new("max_flows", self.max_flows, "flow_interval", self.flow_interval)?,
            measures_from: Time::ZERO + self.flow_interval,
            ticker: Ticker::new("interval", self.interval)?,
            link: *link,
        };
        ap_red.adapt(Time::ZERO, link.rate);
        Ok(ap_red)
    }
}

/// AP-RED's state.
#[derive(Clone, Debug)]
pub struct ApRed {
    red: Red,
    reference: Reference,
    /// Conditions that the parameters suit.
    conditions: Conditions,
    flows: Known<f64>,
    rtt: Known<Duration>,
    table: FlowTable,
    /// Time at which a measurement first spans its interval.
    measures_from: Time,
    ticker: Ticker,
    link: Link,
}

impl ApRed {
    fn adapt(&mut self, now: Time, rate: BitRate) {
        let reference = self.reference.conditions;
        let measures = now >= self.measures_from;
        let (counted, handshake) = (self.table.count(now), self.table.rtt(now));
        let flows = self.flows.at(now).or_else(|| measures.then_some(f64::from(counted.max(1))));
        let rtt = self.rtt.at(now).or_else(|| handshake.filter(|r| measures && !r.is_zero()));
        self.conditions = Conditions {
            flows: flows.unwrap_or(reference.flows),
            rtt: rtt.map_or(reference.rtt, |r| r.min(LONGEST_RTT).as_secs_f64()),
            capacity: rate.packets_per_sec(self.link.mean_packet),
        };
        let setting = self.reference.adapt(&self.conditions);
        self.red.curve_mut().set_thresholds(setting.min_th, setting.max_th);
        self.red.curve_mut().set_max_p(setting.max_p);
        self.red.set_weight(setting.w);
    }
}

impl Aqm for ApRed {
    fn on_start(&mut self, now: Time) {
        self.ticker.on_start(now);
        self.measures_from = now + self.table.interval();
    }

    delegate!(red: on_overflow, on_idle);

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.table.see(cx.now, pkt);
        self.red.on_enqueue(cx, pkt)
    }

    #[inline]
    fn next_update(&self) -> Option<Time> {
        Some(self.ticker.due())
    }

    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        // With the weight that held until now.
        self.red.average_now(cx);
        // A stopped link tells nothing about its capacity.
        let rate = cx.queue.link_rate.filter(|r| r.bps() > 0).unwrap_or(self.link.rate);
        self.adapt(cx.now, rate);
        self.ticker.advance();
    }

    fn observe(&self, out: &mut dyn Probe) {
        self.red.observe(out);
        let (min_th, max_th) = self.red.curve().thresholds();
        out.value("max_p", "1", self.red.curve().max_p());
        out.value("min_th", "packets", min_th);
        out.value("max_th", "packets", max_th);
        out.value("w", "1", self.red.weight());
        out.value("flows", "1", self.conditions.flows);
        out.value("rtt", "s", self.conditions.rtt);
        out.value("capacity", "packets/s", self.conditions.capacity);
        out.value("flows_measured", "1", f64::from(self.table.last_count()));
        if let Some(rtt) = self.table.last_rtt() {
            out.value("rtt_measured", "s", rtt.as_secs_f64());
        }
    }
}

/// Conditions that RED's parameters are to suit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// N.
    pub flows: f64,
    /// R in seconds.
    pub rtt: f64,
    /// C in packets/s.
    pub capacity: f64,
}

/// RED's four parameters; thresholds in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The lower threshold.
    pub min_th: f64,
    /// The upper threshold.
    pub max_th: f64,
    /// The probability there.
    pub max_p: f64,
    /// The weight of a new sample.
    pub w: f64,
}

/// A setting with the conditions that it suits, and the bounds of `max_p`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference {
    /// N0, R0, C0.
    pub conditions: Conditions,
    /// The parameters that suit them.
    pub setting: Setting,
    /// Smallest `max_p`.
    pub bottom: f64,
    /// Largest `max_p`.
    pub top: f64,
}

impl Reference {
    /// Chen 2010, eq. 4.3-4.6: the setting for other conditions.
    pub fn adapt(&self, now: &Conditions) -> Setting {
        let k = now.rtt / self.conditions.rtt * (now.capacity / self.conditions.capacity);
        let k_n = now.flows / self.conditions.flows;
        Setting {
            min_th: k * self.setting.min_th,
            max_th: k * self.setting.max_th,
            max_p: scaled_max_p(self.setting.max_p, k, k_n).clamp(self.bottom, self.top),
            w: scaled_weight(self.setting.w, k, k_n, now).min(1.0),
        }
    }
}

/// Chen 2010, eq. 4.5, without its bounds.
pub fn scaled_max_p(max_p: f64, k: f64, k_n: f64) -> f64 {
    (k_n / k) * (k_n / k) * max_p
}

/// Chen 2010, eq. 4.6.
pub fn scaled_weight(w: f64, k: f64, k_n: f64, now: &Conditions) -> f64 {
    if now.flows <= now.rtt * now.capacity / 2.0 { k_n / (k * k) * w } else { w / k }
}

/// The left side of Chen 2010, eq. 4.9: `L w` with `L = max_p / (max_th - min_th)`.
pub fn loop_gain(setting: &Setting) -> f64 {
    setting.max_p / (setting.max_th - setting.min_th) * setting.w
}

/// The right side of Chen 2010, eq. 4.9: the linearized loop is stable if `L w` does not exceed it, for
/// `w` much smaller than 1.
pub fn stability_bound(conditions: &Conditions) -> f64 {
    let Conditions { flows: n, rtt, capacity } = *conditions;
    let product = rtt * capacity;
    let product4 = product * product * product * product;
    if n <= product / 2.0 { 0.8 * n * n * n / (product4 * product) } else { 0.4 * n * n / product4 }
}

equations! {
    Reference::adapt(
        ref_min_th, ref_max_th, ref_max_p, ref_w, reference_flows, reference_rtt, reference_capacity,
        bottom, top, flows, rtt, capacity
    ) -> min_th, max_th, max_p, w = {
        let conditions =
            Conditions { flows: reference_flows, rtt: reference_rtt, capacity: reference_capacity };
        let setting = Setting { min_th: ref_min_th, max_th: ref_max_th, max_p: ref_max_p, w: ref_w };
        let reference = Reference { conditions, setting, bottom, top };
        let now = reference.adapt(&Conditions { flows, rtt, capacity });
        (now.min_th, now.max_th, now.max_p, now.w)
    };
    scaled_max_p(max_p, k, k_n) -> max_p = scaled_max_p(max_p, k, k_n);
    scaled_weight(w, k, k_n, flows, rtt, capacity) -> w =
        scaled_weight(w, k, k_n, &Conditions { flows, rtt, capacity });
    loop_gain(min_th, max_th, max_p, w) -> gain = loop_gain(&Setting { min_th, max_th, max_p, w });
    stability_bound(flows, rtt, capacity) -> bound = stability_bound(&Conditions { flows, rtt, capacity });
}

#[cfg(test)]
mod tests {
    use quell_units::{Bytes, Packets};

    use super::*;
    use crate::{FlowId, QueueView, Seed};

    #[test]
    fn the_first_setting_of_the_thesis_does_not_meet_its_own_proposition() {
        let setting = Setting { min_th: 50.0, max_th: 150.0, max_p: 0.05, w: 1e-4 };
        let meets =
            |flows, rtt| loop_gain(&setting) <= stability_bound(&Conditions { flows, rtt, capacity: 2500.0 });
        assert!(!meets(50.0, 0.12) && !meets(50.0, 0.16));
        // With the web flows among N it does.
        assert!(meets(150.0, 0.12) && meets(150.0, 0.16));
    }

    /// Started with parameters for a thousand times the product of rate and delay, the first
    /// measurements bring the right ones.
    #[test]
    fn the_parameters_recover_from_the_worst_conditions() {
        let link = Link {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(500.0),
            mean_packet: Bytes::new(500),
        };
        let mut aqm = ApRedParams::default().build(&link).unwrap();
        let wrong = Conditions { flows: 1e6, rtt: 120.0, capacity: 2500.0 };
        let setting = aqm.reference.adapt(&wrong);
        aqm.red.curve_mut().set_thresholds(setting.min_th, setting.max_th);
        aqm.red.set_weight(setting.w);
        let mut rng = Seed(1).stream("test");
        let queue = QueueView {
            packets: Packets::new(90),
            bytes: Bytes::new(45_000),
            head_since: None,
            link_rate: Some(link.rate),
        };
        let mut see = |aqm: &mut ApRed, ms: u64, flow: u32, syn: bool| {
            let now = Time::ZERO + Duration::from_millis(ms);
            while aqm.ticker.due() <= now {
                let due = aqm.ticker.due();
                aqm.on_update(&mut Ctx::new(due, queue, &mut rng));
            }
            let pkt = PacketMeta {
                bytes: Bytes::new(500),
                enqueued_at: now,
                flow: FlowId(flow),
                syn,
                ..Default::default()
            };
            let _ = aqm.on_enqueue(&mut Ctx::new(now, queue, &mut rng), &pkt);
        };
        for flow in 0..25 {
            see(&mut aqm, 1000, flow, true);
        }
        for ms in [1060, 30_000, 61_000] {
            for flow in 0..25 {
                see(&mut aqm, ms, flow, false);
            }
        }
        let Setting { min_th, max_th, max_p, w } = aqm.reference.setting;
        assert_eq!(aqm.conditions, Conditions { flows: 25.0, rtt: 0.06, capacity: 2500.0 });
        assert_eq!(aqm.red.curve().thresholds(), (min_th / 2.0, max_th / 2.0));
        assert_eq!(aqm.red.curve().max_p(), max_p);
        assert!((aqm.red.weight() - 2.0 * w).abs() < 1e-18);
    }
}
