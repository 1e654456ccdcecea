//! WRED: weighted random early detection (Cisco IOS 11.1; Chen 2010, section 2.5).
//!
//! One buffer and one average of its queue for all packets, and a RED per precedence: each class has
//! its own thresholds, largest probability and count. A class with higher thresholds begins to lose
//! later, and loses less.
//!
//! Chen 2010 names WRED and cites Cisco's description, which gives the shared average, its weight
//! 2^-9, the probability 1/10 at `max_th`, and default thresholds: `max_th` is common to all, the
//! `min_th` of precedence 0 is half of it, and those of the others are evenly spaced between. With
//! `max_th` 40 packets Cisco prints 20, 22, 24, 26, 28, 31, 33, 35, and 37 for RSVP: ninths of the
//! upper half. They are not rounded here.
//!
//! What the papers leave open, and what this file does:
//! - The spacing of the signals: RED's, with a count per class, since Chen 2010 calls each class a
//!   RED.
//! - Above `max_th` every arrival of the class is dropped, as Cisco says; `gentle` makes the class
//!   gentle as in RED.
//! - `min_backlog`, measuring by size and aging over idle periods are RED's; see [`red`](crate::red).

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use quell_units::{QueueSize, Time};
use serde::{Deserialize, Serialize};

use crate::params::{ParamError, ParamValue, Remark, require};
use crate::part::{
    Average, Curve, Gauge, SignalMode, Sizer, Spacer, Spacing, Thresholds, Weight, is_step, thresholds,
};
use crate::{Aqm, Cause, Ctx, Link, PacketMeta, Probe, Verdict, params};

/// Precedences are three bits.
const CLASSES: usize = 8;

/// The parameters of one precedence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassParams {
    /// The precedence, 0 to 7.
    pub precedence: u8,
    /// Its `min_th`; default by [`automatic_min_th`] from its `max_th`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_th: Option<QueueSize>,
    /// Its `max_th`; default the common one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_th: Option<QueueSize>,
    /// Its `max_p`; default the common one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_p: Option<f64>,
}

impl ParamValue for Vec<ClassParams> {
    fn show(&self) -> String {
        let class = |c: &ClassParams| {
            let mut text = format!("{{ precedence = {}", c.precedence);
            let mut add = |name: &str, value: Option<String>| {
                if let Some(value) = value {
                    text += &format!(", {name} = {value}");
                }
            };
            add("min_th", c.min_th.map(|q| format!("\"{q}\"")));
            add("max_th", c.max_th.map(|q| format!("\"{q}\"")));
            add("max_p", c.max_p.map(|p| p.to_string()));
            text + " }"
        };
        format!("[{}]", self.iter().map(class).collect::<Vec<_>>().join(", "))
    }
}

params! {
    /// WRED's parameters.
    pub struct WredParams {
        /// Average queue at which the probability of a class reaches max_p; its unit determines whether the queue is
        /// measured in packets or bytes.
        max_th: QueueSize = QueueSize::Packets(40.0), unit "packets or bytes", source "Cisco IOS 11.1, default of a class";
        /// min_th of precedence 0, as a share of max_th; precedences 1 to 7 are each higher by a ninth of the
        /// difference.
        lowest: f64 = 0.5, unit "1", source "Cisco IOS 11.1: half of max_th";
        /// Probability at max_th.
        max_p: f64 = 0.1, unit "1", source "Cisco IOS 11.1, mark probability denominator 10";
        /// Weight of a new sample in the average; or the rule "link-rate" or "link-rate-fast", or { time_constant = "1 s" }.
        weight: Weight = Weight::Value(0.001953125), unit "1", source "Cisco IOS 11.1, exponential weight 9: 2^-9";
        /// Lets the probability rise from max_p at max_th to 1 at twice max_th; without it, the probability
        /// is 1 from max_th on. Where it is 1, every arrival is dropped, ECN-capable or not.
        gentle: bool = false, unit "true or false", source "Cisco IOS 11.1: all packets of the class are dropped";
        /// Spacing of signals: "uniform", "uniform-pseudocode", "wait", "one-draw" (Linux) or "geometric".
        spacing: Spacing = Spacing::Uniform, unit "name", source "Floyd and Jacobson 1993, section 7";
        /// Effect of a packet's size on its probability: none ("per-packet") or proportional ("by-size").
        signal: SignalMode = SignalMode::PerPacket, unit "name", source "RFC 7567 section 4.4";
        /// How many packets must wait before an arrival is signaled at all, however high the average.
        min_backlog: u32 = 2, unit "packets", source "as RED";
        /// Classes with their own thresholds: { precedence = 3, min_th = "30 packets", max_th = "40 packets", max_p =
        /// 0.1 }, where everything but the precedence may be left out.
        classes: Vec<ClassParams> = Vec::new(), unit "list of tables", source "none: every class as above";
    }
}

impl WredParams {
    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        let step = |precedence: u8| {
            let (min_th, max_th, max_p) = self.class(precedence);
            is_step(min_th, max_th, link).then(|| Remark::on_step(max_th, self.gentle, max_p))
        };
        let mut steps: Vec<Remark> = (0..CLASSES as u8).filter_map(step).collect();
        steps.dedup();
        let all_steps = (0..CLASSES as u8).all(|precedence| step(precedence).is_some());
        let voids = (all_steps && !self.gentle).then(|| {
            let by = format!("min_th = max_th ({}) and gentle = false", self.max_th);
            let why = "the probability goes from 0 to 1; lower lowest or min_th, or set gentle = true";
            Remark::on_all_void(self, &["max_p", "spacing", "signal"], &by, why)
        });
        let voids = voids.into_iter().flatten();
        steps.into_iter().chain(voids).chain(Remark::on_backlog(self.min_backlog, link)).collect()
    }

    /// WRED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: those of RED for each class, a precedence beyond 7 or
    /// named twice.
    pub fn build(&self, link: &Link) -> Result<Wred, ParamError> {
        link.check()?;
        super::red::check_spacing(self.spacing, self.signal)?;
        require!((0.0..=1.0).contains(&self.lowest), self.lowest, "must lie in [0, 1], a share of max_th")?;
        for (i, class) in self.classes.iter().enumerate() {
            let precedence = class.precedence;
            let known = self.classes[..i].iter().any(|c| c.precedence == precedence);
            require(precedence < 8, "classes", precedence, "a precedence must be at most 7 [RFC 2474]")?;
            require(!known, "classes", precedence, "this precedence already has a table")?;
        }
        let mut curves = Vec::with_capacity(CLASSES);
        for precedence in 0..CLASSES as u8 {
            curves.push(self.curve(precedence, link)?);
        }
        Ok(Wred {
            avg: Average::new(self.weight.resolve(link)?, Gauge::of(self.max_th, link), link),
            rule: Rule { sizer: Sizer::new(self.signal, link), min_backlog: self.min_backlog },
            classes: Box::new(core::array::from_fn(|i| Class {
                curve: curves[i],
                spacer: Spacer::new(self.spacing),
            })),
            p_b: 0.0,
        })
    }

    /// `min_th`, `max_th` and `max_p` of a precedence.
    fn class(&self, precedence: u8) -> (QueueSize, QueueSize, f64) {
        let own = self.classes.iter().find(|c| c.precedence == precedence);
        let max_th = own.and_then(|c| c.max_th).unwrap_or(self.max_th);
        let min_th = own
            .and_then(|c| c.min_th)
            .unwrap_or_else(|| max_th.with_value(automatic_min_th(precedence, max_th.value(), self.lowest)));
        (min_th, max_th, own.and_then(|c| c.max_p).unwrap_or(self.max_p))
    }

    fn curve(&self, precedence: u8, link: &Link) -> Result<Curve, ParamError> {
        let (min_th, max_th, max_p) = self.class(precedence);
        require(
            max_th.same_unit(self.max_th),
            "classes",
            max_th,
            format!("must have the unit of max_th ({})", self.max_th),
        )?;
        require!(max_p > 0.0 && max_p <= 1.0, max_p, "must lie in (0, 1]")?;
        let (low, high) = thresholds(min_th, max_th, Thresholds::Step, link)?;
        Ok(Curve::new(low, high, max_p, self.gentle))
    }
}

/// The rule of Cisco's defaults: the min_th of a precedence, in the unit of `max_th`.
pub fn automatic_min_th(precedence: u8, max_th: f64, lowest: f64) -> f64 {
    max_th * (lowest + (1.0 - lowest) * f64::from(precedence) / 9.0)
}

/// WRED's state.
#[derive(Clone, Debug)]
pub struct Wred {
    avg: Average,
    rule: Rule,
    /// Boxed, so that one algorithm does not make every queue's state large.
    classes: Box<[Class; CLASSES]>,
    /// The probability of the last arrival, before spacing.
    p_b: f64,
}

/// State common to all classes.
#[derive(Clone, Debug)]
struct Rule {
    sizer: Sizer,
    min_backlog: u32,
}

/// A RED without an average of its own.
#[derive(Clone, Debug)]
struct Class {
    curve: Curve,
    spacer: Spacer,
}

impl Class {
    /// Decides on an arrival whose probability is `p_b`.
    #[inline]
    fn decide(&mut self, p_b: f64, rule: &Rule, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        if p_b <= 0.0 || cx.queue.packets.get() < rule.min_backlog {
            self.spacer.rest();
            return Verdict::Pass;
        }
        if p_b >= 1.0 {
            self.spacer.rest();
            return Verdict::Drop(Cause::Forced);
        }
        let size = rule.sizer.factor(pkt.bytes);
        let p_a = self.spacer.next(p_b, size);
        if !cx.rng.chance(p_a * size) {
            return Verdict::Pass;
        }
        self.spacer.restart();
        Verdict::Signal(Cause::Early)
    }
}

impl Aqm for Wred {
    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let class = &mut self.classes[pkt.precedence() as usize];
        self.avg.arrive(cx, pkt, |avg, cx| {
            self.p_b = class.curve.probability(avg);
            class.decide(self.p_b, &self.rule, cx, pkt)
        })
    }

    fn on_overflow(&mut self, _: &mut Ctx<'_>, pkt: &PacketMeta) {
        self.classes[pkt.precedence() as usize].spacer.overflow();
    }

    fn on_idle(&mut self, since: Time) {
        self.avg.idle(since);
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("avg", "packets", self.avg.get());
        out.value("p", "1", self.p_b);
    }
}

equations! {
    automatic_min_th(precedence: u8, max_th, lowest) -> min_th = automatic_min_th(precedence, max_th, lowest);
}

#[cfg(test)]
mod tests {
    use quell_units::{BitRate, Bytes, Packets};

    use super::*;
    use crate::{FlowId, QueueView, Seed};

    fn link() -> Link {
        Link {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(500.0),
            mean_packet: Bytes::new(500),
        }
    }

    /// Of 10000 arrivals of each precedence at a queue that stays the same, how many are signaled.
    fn signals(wred: &WredParams, queue: u32) -> [u32; CLASSES] {
        let mut wred = wred.build(&link()).unwrap();
        let mut rng = Seed(1).stream("wred");
        let mut count = [0; CLASSES];
        for i in 0..80_000u64 {
            let now = Time::from_nanos(i * 400_000);
            let bytes = Bytes::new(500);
            let queue = QueueView {
                packets: Packets::new(queue),
                bytes: Bytes::new(500 * u64::from(queue)),
                head_since: None,
                link_rate: None,
            };
            let pkt = PacketMeta {
                bytes,
                enqueued_at: now,
                flow: FlowId(0),
                dscp: ((i % 8) << 3) as u8,
                ..Default::default()
            };
            let verdict = wred.on_enqueue(&mut Ctx::new(now, queue, &mut rng), &pkt);
            count[pkt.precedence() as usize] += u32::from(verdict != Verdict::Pass);
        }
        count
    }

    #[test]
    fn a_higher_precedence_loses_less() {
        let n = signals(&WredParams { weight: Weight::Value(1.0), ..WredParams::default() }, 36);
        assert!(n.windows(2).all(|w| w[0] > w[1]), "{n:?}");
        // p = 0.1 (36 - 20)/20 = 0.08, signaled in gaps of (1 + 1/p)/2 = 6.75 in the mean.
        assert!((n[0] as f64 - 10_000.0 / 6.75).abs() < 60.0, "{n:?}");
        let n = signals(&WredParams { weight: Weight::Value(1.0), ..WredParams::default() }, 21);
        assert!(n[0] > 0 && n[1..] == [0; 7], "{n:?}");
    }

    #[test]
    fn with_equal_classes_precedence_does_not_matter() {
        let class = |precedence| ClassParams {
            precedence,
            min_th: Some(QueueSize::Packets(20.0)),
            max_th: None,
            max_p: None,
        };
        let same = WredParams {
            weight: Weight::Value(1.0),
            classes: (0..8).map(class).collect(),
            ..WredParams::default()
        };
        let n = signals(&same, 30);
        let mean = n.iter().sum::<u32>() as f64 / 8.0;
        assert!(n.iter().all(|x| (*x as f64 - mean).abs() < 0.1 * mean), "{n:?}");
    }

    #[test]
    fn classes_are_checked_and_shown() {
        let classes: Vec<ClassParams> = [(3, Some(5.0)), (3, None)]
            .map(|(precedence, min)| ClassParams {
                precedence,
                min_th: min.map(QueueSize::Packets),
                max_th: None,
                max_p: None,
            })
            .into();
        assert_eq!(classes.show(), "[{ precedence = 3, min_th = \"5 packets\" }, { precedence = 3 }]");
        let twice = WredParams { classes: classes.clone(), ..WredParams::default() };
        assert_eq!(twice.build(&link()).unwrap_err().field, "classes");
        let mut beyond = WredParams { classes: classes[..1].to_vec(), ..WredParams::default() };
        beyond.classes[0].precedence = 8;
        assert_eq!(beyond.build(&link()).unwrap_err().field, "classes");
        beyond.classes[0].precedence = 7;
        beyond.classes[0].max_th = Some(QueueSize::Bytes(20_000.0));
        assert_eq!(beyond.build(&link()).unwrap_err().field, "classes");
        beyond.classes[0].max_th = Some(QueueSize::Packets(4.0));
        assert_eq!(beyond.build(&link()).unwrap_err().field, "max_th");
    }
}
