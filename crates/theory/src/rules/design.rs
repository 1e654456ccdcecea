//! What an algorithm does on a network, how far the network may move before that changes, and
//! parameters by the published rules.

use quell_aqm::Link;
use quell_aqm::ap_red::{ApRedParams, Conditions};
use quell_aqm::ared::AredParams;
use quell_aqm::auto_tuning_red::{AutoTuningRedParams, automatic_min_th};
use quell_aqm::avq::AvqParams;
use quell_aqm::avq_rate::AvqRateParams;
use quell_aqm::catalog::{self, AqmConfig};
use quell_aqm::dred::DredParams;
use quell_aqm::hred::{HredParams, least_stable_buffer, tolerance};
use quell_aqm::part::Spacing;
use quell_aqm::part::{Memory, Weight};
use quell_aqm::pi::{PiDesign, PiParams, design_zero};
use quell_aqm::pid::PidParams;
use quell_aqm::red::RedParams;
use quell_aqm::rem::RemParams;
use quell_aqm::vrc::VrcParams;
use quell_units::{BitRate, Bytes, Duration, QueueSize};

use super::analysis::{Analysis, analyze};
use crate::error::{TheoryError, positive, require};
use crate::linear::Plant;
use crate::network::{Network, Signal, Tcp};
use crate::rules::criteria::{self, PidGains};
use crate::text::figure;

/// What parameters are to suit.
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
    /// own leave it aside.
    pub queue: Option<f64>,
    /// How windows move.
    pub tcp: Tcp,
    /// How a signal reaches the senders.
    pub signal: Signal,
}

impl Target {
    /// For a link, with everything else as the documentation of the fields has it; marks, and windows as
    /// a sawtooth.
    pub fn new(rate: BitRate, mean_packet: Bytes, rtt: Duration, flows: f64) -> Target {
        Target {
            rate,
            mean_packet,
            rtt,
            flows,
            buffer: None,
            queue: None,
            tcp: Tcp::SAWTOOTH,
            signal: Signal::Mark,
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

    /// The link.
    pub fn link(&self) -> Link {
        Link { rate: self.rate, buffer: QueueSize::Packets(self.buffer()), mean_packet: self.mean_packet }
    }

    /// The network on which a queue of `q` packets makes the round-trip time R.
    ///
    /// # Errors
    /// R is not longer than the queue alone takes.
    pub fn network(&self, q: f64) -> Result<Network, TheoryError> {
        let now = self.conditions();
        positive("flows N", now.flows, "flows")?;
        positive("rate of the link", now.capacity, "packets/s")?;
        let propagation = now.rtt - q / now.capacity;
        require(
            propagation > 0.0,
            "round-trip time R",
            format!("{} s", now.rtt),
            format!(
                "must exceed the {} s that the queue of {q} packets takes: ask for a smaller queue",
                q / now.capacity
            ),
        )?;
        let network = Network {
            tcp: self.tcp,
            signal: self.signal,
            ..Network::new(now.flows, propagation, now.capacity, self.buffer())
        };
        network.check()?;
        Ok(network)
    }
}

/// Parameters by a published rule, and what becomes of them.
#[derive(Clone, Debug)]
pub struct Design {
    /// The algorithm, ready for a scenario.
    pub config: AqmConfig,
    /// The link it is for.
    pub link: Link,
    /// The network it is for.
    pub network: Network,
    /// Where it rests there, its margins and criteria.
    pub analysis: Analysis,
    /// The rule with its source, and what it supposes.
    pub assumptions: Vec<String>,
    /// What a user should know before use.
    pub warnings: Vec<String>,
}

/// The algorithms for which [`design`] has a rule.
pub const DESIGNED: &[&str] = &[
    "red",
    "ap-red",
    "ared",
    "auto-tuning-red",
    "pi",
    "pid",
    "vrc",
    "dred",
    "rem",
    "avq",
    "avq-rate",
    "hred",
];

/// Digits of a designed parameter: as many as anyone would type, far more than the rules are good to.
const DIGITS: usize = 6;

/// To [`DIGITS`] digits.
pub(super) fn round(x: f64) -> f64 {
    format!("{x:.*e}", DIGITS - 1).parse().unwrap_or(x)
}

/// A positive number to [`DIGITS`] digits, never below it.
fn round_up(x: f64) -> f64 {
    let near = round(x);
    if near >= x { near } else { round(near * (1.0 + 10.0_f64.powi(1 - DIGITS as i32))) }
}

/// A positive number to [`DIGITS`] digits, never above it.
fn round_down(x: f64) -> f64 {
    let near = round(x);
    if near <= x { near } else { round(near * (1.0 - 10.0_f64.powi(1 - DIGITS as i32))) }
}

/// A crossover at `SHAPED/R` leaves 61 degrees to an integrator with the delay, and a gain margin of pi.
const SHAPED: f64 = 0.5;

/// Parameters for an algorithm, by name.
///
/// # Errors
/// There is no such algorithm or no rule for it, a quantity is not physical, or no parameters of the rule
/// suit the target.
pub fn design(name: &str, target: &Target) -> Result<Design, TheoryError> {
    let now = target.conditions();
    positive("size of packets", target.mean_packet.get() as f64, "bytes")?;
    positive("rate of the link", now.capacity, "packets/s")?;
    positive("round-trip time R", now.rtt, "s")?;
    positive("buffer B", target.buffer(), "packets")?;
    positive("queue to hold", target.queue(), "packets")?;
    // Whether so many flows can share the link at all.
    target.network(0.0)?.point(0.0, now.capacity)?;
    let mut rules: Vec<String> = Vec::new();
    let mut warnings: Vec<String> = Vec::new();
    let q = round(target.queue());
    let (config, q) = match name {
        "red" => (red(target, q, &mut rules, &mut warnings)?, q),
        "ap-red" => (ap_red(target, q, &mut rules)?, q),
        "ared" => {
            rules.push("the automatic setting of Adaptive RED (thesis 3.2.3): thresholds for a queueing delay of 5 ms, an average over 1 s; it asks for C alone, neither for N nor for R".into());
            let params = AredParams::default();
            let (low, high) = params.thresholds(&target.link());
            (AqmConfig::Ared(params), middle(low, high, target.mean_packet))
        }
        "auto-tuning-red" => {
            rules.push("thesis 3.3.2: max_th - min_th = 0.21 R C, max_th = 3 min_th (so min_th = 0.105 R C; 0.13 is printed), an average over 10 R; max_p starts at (16/3)(N/(RC))^2 (eq. 3.1-3.2) and adapts".into());
            let params = AutoTuningRedParams {
                rtt: target.rtt,
                max_p: round(criteria::auto_tuning_max_p(&now)).clamp(0.01, 0.5),
                ..Default::default()
            };
            (AqmConfig::AutoTuningRed(params), 2.0 * automatic_min_th(now.rtt, now.capacity))
        }
        "pi" => (pi(target, q, &mut rules)?, q),
        "pid" | "vrc" => (vrc(name, target, q, &mut rules)?, q),
        "dred" => (dred(target, q, &mut rules)?, q),
        "rem" => (rem(target, q, &mut rules)?, q),
        "avq" | "avq-rate" => (avq(name, target, &mut rules)?, 0.0),
        "hred" => (hred(target, &mut rules, &mut warnings)?, 0.375 * target.buffer()),
        other => {
            let reason = match catalog::find(other) {
                None => "there is no algorithm of that name",
                Some(_) => "no document has a rule for its parameters",
            };
            return Err(TheoryError::NoModel {
                algorithm: other.into(),
                reason: format!("{reason}; there are rules for {}", DESIGNED.join(", ")),
            });
        }
    };
    let (link, network) = (target.link(), target.network(q)?);
    let analysis = analyze(&config, &link, &network, Plant::Exact)?;
    rules.push(format!(
        "N = {} flows at least that always send, R = {} s at most with the queue at rest, C = {} packets/s of {} bytes; more flows and shorter round trips are safer (vrc 3.2)",
        now.flows,
        now.rtt,
        figure(now.capacity),
        target.mean_packet.get()
    ));
    if target.buffer.is_none() {
        rules.push(format!("a buffer of {} packets (R C, at least 20), as none was given", target.buffer()));
    }
    warnings.extend(doubts(&analysis));
    Ok(Design { config, link, network, analysis, assumptions: rules, warnings })
}

/// The queue half-way between two thresholds, in packets.
pub(super) fn middle(low: QueueSize, high: QueueSize, packet: Bytes) -> f64 {
    0.5 * (low.in_packets(packet) + high.in_packets(packet))
}

/// What in an analysis a user should know.
fn doubts(analysis: &Analysis) -> Vec<String> {
    let mut all = Vec::new();
    let s = &analysis.stability;
    if !s.stable() {
        all.push(format!("the loop is unstable: {} roots to the right of the axis", s.unstable_roots));
    }
    if let Some(k) = s.margins.gain.filter(|&k| s.stable() && k < 2.0) {
        all.push(format!("the gain margin is {k:.2}, less than the usual 2"));
    }
    if let Some(phase) = s.margins.phase.filter(|p| s.stable() && p.abs() < 0.25 * std::f64::consts::PI) {
        all.push(format!("the phase margin is {:.0} degrees, less than the usual 45", phase.to_degrees()));
    }
    for c in analysis.criteria.iter().filter(|c| c.holds != s.stable() && (c.holds || c.necessary)) {
        let verdict = if s.stable() { "stable" } else { "unstable" };
        all.push(format!("the exact loop is {verdict}, and {} says otherwise: {}", c.statement, c.reason));
    }
    let window = analysis.rest.point.classes[0].window;
    if window < 4.0 {
        all.push(format!(
            "at rest a flow has a window of {window:.2} packets: below 4 a loss ends in a timeout, which no fluid knows"
        ));
    }
    all.extend(analysis.rest.remark.clone());
    all
}

pub(super) fn red(
    target: &Target,
    q: f64,
    rules: &mut Vec<String>,
    warnings: &mut Vec<String>,
) -> Result<AqmConfig, TheoryError> {
    let now = target.conditions();
    let (min_th, max_th) = (0.5 * q, 1.5 * q);
    let p = target.network(q)?.point(q, now.capacity)?.probability;
    let max_p = round(2.0 * p);
    require(
        max_p <= 1.0,
        "max_p",
        max_p,
        "must be at most 1 for RED to rest half-way between its thresholds (thesis eq. 3.2): fewer flows, or a longer R C",
    )?;
    let filter = criteria::red_filter(max_p / (max_th - min_th), &now);
    // A hair above equality, which rounding could break.
    let memory = round_up(if filter.is_finite() { (1.0 + 1e-9) / filter } else { now.rtt });
    rules.push("Hollot et al. 2001, \"A control theoretic analysis of RED\": L (RC)^3/(2N)^2 = sqrt(w_g^2/K^2 + 1) with w_g = 0.1 min(2N/(R^2 C), 1/R) gives the average's time constant 1/K".into());
    rules.push("thresholds of 1/2 and 3/2 of the queue to hold, and max_p twice the probability that the flows need there (thesis eq. 3.2)".into());
    rules.push("signals spaced geometrically: the rule's p is the share signalled, which RED's uniform spacing doubles".into());
    if memory > 10.0 {
        warnings.push(format!(
            "the average has a time constant of {memory:.0} s: RED by this rule follows the load that slowly"
        ));
    }
    Ok(AqmConfig::Red(RedParams {
        min_th: QueueSize::Packets(min_th),
        max_th: QueueSize::Packets(max_th),
        max_p,
        weight: Weight::Memory(Memory { time_constant: Duration::from_secs_f64(memory) }),
        spacing: Spacing::Geometric,
        ..Default::default()
    }))
}

pub(super) fn ap_red(target: &Target, q: f64, rules: &mut Vec<String>) -> Result<AqmConfig, TheoryError> {
    let now = target.conditions();
    let (min_th, max_th) = (0.5 * q, 1.5 * q);
    let p = target.network(q)?.point(q, now.capacity)?.probability;
    let max_p = round(2.0 * p).clamp(0.01, 0.5);
    let w = quell_aqm::ap_red::stability_bound(&now) / (max_p / (max_th - min_th));
    rules.push("thesis proposition 4.9 with equality gives the weight of the first setting; eq. 4.3-4.6 keep it as N, R and C move".into());
    rules.push("thresholds of 1/2 and 3/2 of the queue to hold, and max_p twice the probability that the flows need there (thesis eq. 3.2), in [0.01, 0.5]".into());
    rules.push("signals spaced geometrically, as the proposition supposes".into());
    Ok(AqmConfig::ApRed(ApRedParams {
        reference_flows: now.flows,
        reference_rtt: target.rtt,
        reference_rate: target.rate,
        min_th: QueueSize::Packets(min_th),
        max_th: QueueSize::Packets(max_th),
        max_p,
        // A hair below equality, which R in whole nanoseconds could break.
        weight: Weight::Value(round_down(w * (1.0 - 1e-6)).min(0.01)),
        spacing: Spacing::Geometric,
        ..Default::default()
    }))
}

/// Hollot's zero and crossover: (z, lambda).
fn hollot(now: &Conditions) -> (f64, f64) {
    let z = design_zero(now.flows, now.capacity, now.rtt);
    (z, round((z * now.rtt).min(SHAPED)))
}

pub(super) fn pi(target: &Target, q: f64, rules: &mut Vec<String>) -> Result<AqmConfig, TheoryError> {
    let now = target.conditions();
    let (z, lambda) = hollot(&now);
    let crossover = lambda / now.rtt;
    rules.push(format!(
        "Hollot et al. 2001 (thesis 3.4.2, eq. 6.3-6.5): the zero at z = 2N/(R^2 C) = {} rad/s cancels the windows' corner, and the crossover lies at lambda/R with lambda = min(z R, 0.5) = {}, where thesis allows 0.85; the rule is made with a = 2 and the simplified plant",
        figure(z),
        figure(lambda)
    ));
    Ok(AqmConfig::Pi(PiParams {
        design: Some(PiDesign { flows: now.flows, rtt: target.rtt, lambda: Some(lambda) }),
        q_ref: QueueSize::Packets(q),
        sampling_rate: (20.0 * crossover / std::f64::consts::TAU).max(170.0),
        ..Default::default()
    }))
}

pub(super) fn vrc(
    name: &str,
    target: &Target,
    q: f64,
    rules: &mut Vec<String>,
) -> Result<AqmConfig, TheoryError> {
    let now = target.conditions();
    let beta = round(design_zero(now.flows, now.capacity, now.rtt));
    let gamma = round(1.0 / now.rtt);
    // L = alpha C^2/(a N) e^(-sR)/s.
    let alpha = round(SHAPED / now.rtt * target.tcp.decrease * now.flows / (now.capacity * now.capacity));
    let gains = PidGains { k_p: round(alpha * (beta + gamma)), k_i: round(alpha * beta * gamma), k_d: alpha };
    rules.push(format!(
        "zeros at the corners of the plant, beta = 2N/(R^2 C) = {} and gamma = 1/R = {} per second, and alpha for a crossover at 0.5/R: the loop-shaping of Hollot for PID gains; vrc prints no rule within its region of stability",
        figure(beta),
        figure(gamma)
    ));
    let largest = criteria::vrc_largest_integral(gains.k_d, &now, target.tcp);
    let range = criteria::vrc_proportional(gains.k_i, gains.k_d, &now, target.tcp);
    let inside = range.is_some_and(|(low, high)| gains.k_p > low && gains.k_p < high);
    let (_, high) = range.unwrap_or((0.0, 0.0));
    rules.push(format!(
        "{} vrc eq. 18-21: K_I = {:.3e} of at most {largest:.3e}, K_P = {:.3e} of at most {high:.3e}",
        if inside { "within" } else { "outside" },
        gains.k_i,
        gains.k_p
    ));
    let interval = Duration::from_secs_f64((0.1 * now.rtt).min(0.01));
    let memory = Duration::from_secs_f64((0.2 * now.rtt).min(0.02));
    let q_ref = QueueSize::Packets(q);
    Ok(if name == "vrc" {
        AqmConfig::Vrc(VrcParams {
            alpha: Some(alpha),
            beta: Some(beta.min(gamma)),
            gamma: Some(gamma.max(beta)),
            q_ref,
            update_interval: interval,
            rate_memory: memory,
            ..Default::default()
        })
    } else {
        AqmConfig::Pid(PidParams {
            k_p: gains.k_p,
            k_i: gains.k_i,
            k_d: gains.k_d,
            q_ref,
            update_interval: interval,
            derivative_memory: memory,
            ..Default::default()
        })
    })
}

pub(super) fn dred(target: &Target, q: f64, rules: &mut Vec<String>) -> Result<AqmConfig, TheoryError> {
    let now = target.conditions();
    // The flows' gain at rest, (RC)^3/(2 a N^2), and an integral that has fallen to 1 at w_g.
    let gain = (now.rtt * now.capacity).powi(3) / (2.0 * target.tcp.decrease * now.flows * now.flows);
    let crossover = criteria::red_crossover(&now);
    let interval = Duration::from_secs_f64((0.1 * now.rtt).min(0.01));
    let alpha = round(crossover / gain * target.buffer() * interval.as_secs_f64());
    rules.push(format!(
        "no document has a rule for DRED: an integral alone crosses at w_g = 0.1 min(2N/(R^2 C), 1/R) = {} rad/s, as Hollot has RED do, where neither the flows nor the delay nor the filter lag much",
        figure(crossover)
    ));
    require(
        alpha <= 1.0,
        "alpha",
        alpha,
        "must be at most 1 [vrc eq. 23]: R C is too small for steps of p at this interval",
    )?;
    Ok(AqmConfig::Dred(DredParams {
        alpha,
        q_ref: QueueSize::Packets(q),
        update_interval: interval,
        ..Default::default()
    }))
}

pub(super) fn rem(target: &Target, q: f64, rules: &mut Vec<String>) -> Result<AqmConfig, TheoryError> {
    let now = target.conditions();
    let (z, lambda) = hollot(&now);
    let k_p = criteria::pi_proportional(lambda, &now);
    let p = target.network(q)?.point(q, now.capacity)?.probability;
    require(
        p < 1.0,
        "signal probability p",
        p,
        "must be below 1: no price signals every packet [thesis eq. 3.10]",
    )?;
    let defaults = RemParams::default();
    let interval = round((1.0 / z).min(0.1 * now.rtt).min(0.01));
    // K_I/K_P = alpha/((1 + alpha/2) T_s), with the measured rate (eq. 3.8).
    let step = z * interval;
    let alpha = round(step / (1.0 - 0.5 * step));
    let gamma = round(k_p / ((1.0 - p) * defaults.phi.ln() * (1.0 + 0.5 * alpha)));
    rules.push(format!(
        "no document has a rule for REM: near its rest it is PI with the slope (1 - p) ln phi (vrc eq. 29), so alpha and gamma give it the gains of Hollot's PI (z = {} rad/s, lambda = {}) at p = {}",
        figure(z),
        figure(lambda),
        figure(p)
    ));
    Ok(AqmConfig::Rem(RemParams {
        gamma,
        alpha,
        q_ref: QueueSize::Packets(q),
        update_interval: Duration::from_secs_f64(interval),
        ..defaults
    }))
}

pub(super) fn avq(name: &str, target: &Target, rules: &mut Vec<String>) -> Result<AqmConfig, TheoryError> {
    let now = target.conditions();
    let tau = AvqParams::default().tau;
    let largest = criteria::avq_largest_phi(tau, &now, target.tcp)?.ok_or_else(|| TheoryError::NoEquilibrium {
        quantity: "phi".into(),
        reason: format!(
            "even with a constant virtual capacity the loop is unstable at R = {} s: p = 1 - Cv/r is too steep; more flows or a shorter R",
            now.rtt
        ),
    })?;
    let phi = round(0.5 * largest).min(AvqParams::default().phi);
    rules.push(format!(
        "Kunniyur and Srikant 2001, Theorem 4.1, on the exact linearization: phi below {} per second; half of that, or the usual 0.15 if it is less. The queue is empty: R is the propagation delay",
        figure(largest)
    ));
    Ok(if name == "avq" {
        rules.push("the theory takes p = 1 - Cv/r for the virtual queue's own decisions".into());
        AqmConfig::Avq(AvqParams { phi, ..Default::default() })
    } else {
        let memory = Duration::from_secs_f64((0.1 * now.rtt).min(0.1));
        AqmConfig::AvqRate(AvqRateParams { phi, rate_memory: memory, ..Default::default() })
    })
}

pub(super) fn hred(
    target: &Target,
    rules: &mut Vec<String>,
    warnings: &mut Vec<String>,
) -> Result<AqmConfig, TheoryError> {
    let b = target.buffer();
    let (low, high) = (0.25, 0.5);
    let product =
        target.network(0.5 * (low + high) * b)?.classes[0].propagation * target.conditions().capacity;
    // Every queue from min_th on stable: kappa max_th - min_th/2 > C RTT/2.
    let least = (0.5 * product / b + 0.5 * low) / high;
    let kappa = HredParams::default().kappa.max(round(1.1 * least));
    let t_beta = Duration::from_millis(200).max(target.rtt);
    rules.push(format!(
        "hred III.B: thresholds of a quarter and half of the buffer, kappa above {least:.3} for every queue from min_th on to be stable (the least buffer at kappa = {kappa:.3} is {:.0} packets)",
        least_stable_buffer(low, high, kappa, product).unwrap_or(f64::NAN)
    ));
    rules.push("hred III.D: T_beta not below R, T_alpha twice that".into());
    let sigma = tolerance(low * b, high * b, b, product);
    warnings.push(format!(
        "{:.0} % of the flows may come or go at once without a full or an empty buffer (hred eq. 16)",
        100.0 * sigma
    ));
    Ok(AqmConfig::Hred(HredParams { kappa, t_alpha: t_beta + t_beta, t_beta, ..Default::default() }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use quell_aqm::catalog::CATALOG;

    use super::super::reach::{Verdict, robustness};
    use super::*;
    use crate::network::Class;

    /// 15 Mbit/s in packets of 500 bytes, 60 flows, 246 ms: Hollot's network.
    fn target() -> Target {
        Target::new(BitRate::from_bps(15_000_000), Bytes::new(500), Duration::from_millis(246), 60.0)
    }

    fn close(x: f64, wanted: f64, relative: f64) {
        assert!((x - wanted).abs() <= relative * wanted.abs(), "{x}, not {wanted}");
    }

    /// Every rule gives parameters that build, rest where they should and are stable with the exact
    /// delay, for marks and for drops.
    #[test]
    fn every_design_is_stable_on_its_network() {
        for signal in [Signal::Mark, Signal::Drop] {
            for name in DESIGNED {
                // AVQ has a stable phi only where windows are small.
                let target = match name.starts_with("avq") {
                    true => Target { signal, flows: 450.0, ..target() },
                    false => Target { signal, ..target() },
                };
                let d = design(name, &target).unwrap_or_else(|e| panic!("{name}: {e}"));
                assert_eq!(d.config.name(), *name);
                d.config.build(&d.link).unwrap();
                let s = &d.analysis.stability;
                // Adaptive RED's automatic setting does not ask for R.
                if *name != "ared" {
                    assert!(s.stable(), "{name} {signal:?}: {s:?}");
                }
                assert!(!d.assumptions.is_empty());
                let point = &d.analysis.rest.point;
                close(point.classes[0].rtt, 0.246, if name.contains("red") { 0.3 } else { 1e-9 });
            }
        }
    }

    /// Networks of other sizes, where windows are large and corners, zeros and modes lie close together.
    #[test]
    fn designs_from_a_megabit_to_ten_gigabits() {
        for (flows, megabits, rtt) in [(2.0, 1, 100), (20.0, 1000, 100), (1000.0, 10_000, 50), (5.0, 10, 500)]
        {
            let rate = BitRate::from_bps(megabits * 1_000_000);
            let target = Target::new(rate, Bytes::new(1000), Duration::from_millis(rtt), flows);
            for name in ["red", "ap-red", "pi", "pid", "vrc", "dred", "rem", "hred"] {
                let d = design(name, &target).unwrap_or_else(|e| panic!("{name} {megabits}: {e}"));
                assert!(d.analysis.stability.stable(), "{name} {megabits}: {:?}", d.analysis.stability);
                robustness(&d.config, &d.link, &d.network).unwrap();
            }
        }
    }

    #[test]
    fn parameters_have_six_digits() {
        assert_eq!(round(15.999_999_999_999_998), 16.0);
        assert_eq!(round(1.234_565_4e-7), 1.23457e-7);
        assert_eq!((round_up(1.234_561), round_down(1.234_569)), (1.23457, 1.23456));
        assert_eq!((round_up(0.5), round_down(0.5)), (0.5, 0.5));
        let d = design("vrc", &target()).unwrap();
        let AqmConfig::Vrc(params) = &d.config else { panic!("{:?}", d.config) };
        for x in [params.alpha, params.beta, params.gamma].into_iter().flatten() {
            assert!(format!("{x:e}").split('e').next().unwrap().len() <= 7, "{x}");
        }
    }

    /// By Hollot's example, z = 0.529 and the crossover at z.
    #[test]
    fn pi_is_hollots() {
        let d = design("pi", &target()).unwrap();
        let AqmConfig::Pi(params) = &d.config else { panic!("{:?}", d.config) };
        let (a, b) = params.gains(&d.link).unwrap();
        close(a, 1.822e-5, 0.02);
        close(b, 1.816e-5, 0.02);
        let halving = design("pi", &Target { tcp: Tcp::HALVING, ..target() }).unwrap();
        close(halving.analysis.stability.margins.crossovers[0], 0.529, 0.03);
        assert_eq!(halving.warnings, Vec::<String>::new());
    }

    /// Hollot's RED: with L = 1.86e-4 the filter is 0.005; here L follows from the queue to hold.
    #[test]
    fn red_meets_its_own_criterion() {
        let d = design("red", &target()).unwrap();
        let hollot = d.analysis.criteria.iter().find(|c| c.statement.starts_with("Hollot")).unwrap();
        // But for the sixth digit of the average's memory and of max_p, both sides are equal.
        assert!(hollot.holds, "{hollot:?}");
        close(hollot.left, hollot.right, 1e-5);
        close(d.analysis.rest.point.queue, target().queue(), 1e-5);
        let d = design("ap-red", &target()).unwrap();
        assert!(d.analysis.criteria[0].holds, "{:?}", d.analysis.criteria);
    }

    /// vrc Table 1 on its network: the edge in R is the exact critical delay, but for the rate's memory;
    /// more flows than p = 1 allows have no rest.
    #[test]
    fn how_far_vrc_reaches() {
        let link = Link {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(200.0),
            mean_packet: Bytes::new(1000),
        };
        let network = Network::new(100.0, 0.12, 1250.0, 200.0);
        let pi = AqmConfig::Pid(PidParams {
            k_d: 0.0,
            derivative_memory: Duration::from_millis(1),
            ..Default::default()
        });
        let [flows, capacity, rtt] = robustness(&pi, &link, &network).unwrap();
        close(flows.now, 100.0, 1e-12);
        close(rtt.now, 0.16, 1e-9);
        let rtt_words = rtt.to_string();
        let edge = rtt.above.unwrap();
        close(edge.at, 0.24221073, 1e-6);
        assert_eq!(edge.beyond, Verdict::Unstable);
        // p = 1.5 (N/(RC))^2 <= 1.
        let edge = rtt.below.unwrap();
        close(edge.at, 1.5_f64.sqrt() * 100.0 / 1250.0, 1e-6);
        assert!(matches!(edge.beyond, Verdict::NoRest(_)));
        assert!(
            rtt_words.starts_with(
                "R = 0.160 s; it may fall to 9.80e-2 (0.612 times), beyond which there is no rest ("
            ),
            "{rtt_words}"
        );
        assert!(
            rtt_words.ends_with("; it may rise to 0.242 (1.514 times), beyond which the loop is unstable"),
            "{rtt_words}"
        );
        let edge = flows.above.unwrap();
        close(edge.at, 0.16 * 1250.0 / 1.5_f64.sqrt(), 1e-6);
        let edge = flows.below.unwrap();
        close(edge.at, 46.56673524, 1e-6);
        assert_eq!(edge.beyond, Verdict::Unstable);
        assert!(capacity.above.unwrap().factor > 1.1);
    }

    /// RED without an average is analyzed like any other.
    #[test]
    fn red_with_a_weight_of_one() {
        let config = AqmConfig::Red(RedParams {
            weight: Weight::Value(1.0),
            min_th: QueueSize::Packets(20.0),
            max_th: QueueSize::Packets(180.0),
            ..Default::default()
        });
        let network = target().network(100.0).unwrap();
        let a = analyze(&config, &target().link(), &network, Plant::Exact).unwrap();
        assert!(!a.stability.stable());
        assert!(a.criteria.iter().all(|c| !c.holds), "{:?}", a.criteria);
    }

    #[test]
    fn what_is_refused() {
        let e = design("pi", &Target { mean_packet: Bytes::new(0), ..target() }).unwrap_err().to_string();
        assert!(e.starts_with("size of packets = 0 bytes: must be positive"), "{e}");
        let e = design("blue", &target()).unwrap_err().to_string();
        assert!(e.contains("no document has a rule") && e.contains("hred"), "{e}");
        let e = design("blau", &target()).unwrap_err().to_string();
        assert!(e.contains("no algorithm of that name"), "{e}");
        let crowded = Target { flows: 1e5, ..target() };
        let e = design("pi", &crowded).unwrap_err().to_string();
        assert!(e.contains("signal probability p"), "{e}");
        let e = design("avq", &target()).unwrap_err().to_string();
        assert!(e.contains("p = 1 - Cv/r is too steep"), "{e}");
        let e = design("vrc", &Target { queue: Some(1e4), buffer: Some(2e4), ..target() })
            .unwrap_err()
            .to_string();
        assert!(e.contains("ask for a smaller queue"), "{e}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

        /// Whatever the network, an algorithm with its defaults is analyzed or refused for a reason that
        /// is the network's; no count and no mode is given up.
        #[test]
        fn every_network_has_an_answer(
            classes in prop::collection::vec((1.0..200.0_f64, 0.005..0.5_f64), 1..5),
            megabits in 1.0..1000.0_f64,
            drop: bool,
            which in 0..CATALOG.len(),
        ) {
            let link = Link {
                rate: BitRate::from_bps((megabits * 1e6) as u64),
                buffer: QueueSize::Packets(300.0),
                mean_packet: Bytes::new(1000),
            };
            let network = Network {
                classes: classes.iter().map(|&(flows, propagation)| Class { flows, propagation }).collect(),
                signal: if drop { Signal::Drop } else { Signal::Mark },
                ..Network::new(1.0, 1.0, link.capacity(), 300.0)
            };
            match analyze(&(CATALOG[which].default)(), &link, &network, Plant::Exact) {
                Ok(a) => {
                    let s = &a.stability;
                    prop_assert_eq!(s.stable(), s.mode.root.re < 0.0, "{}", s);
                    prop_assert_eq!(s.stable(), s.margins.gain.is_none_or(|k| k > 1.0), "{}", s);
                }
                Err(e) => prop_assert!(
                    matches!(e, TheoryError::NoModel { .. } | TheoryError::NoEquilibrium { .. } | TheoryError::Quantity { .. } | TheoryError::Parameter(_)),
                    "{}: {e}", CATALOG[which].name
                ),
            }
        }
    }
}
