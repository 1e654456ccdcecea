//! Jou et al. 2003, section VI: the map of the queue under ARED with dynamic thresholds.

use std::iter::repeat_n;

use quell_theory::ared_dt::{Gaussian, QueueMap};
use quell_view::chart::Panel;
use rand_core::Rng as _;
use rand_pcg::Pcg64Mcg;
use serde::Deserialize;

use super::answer::{Answer, At, Named, line, lines, panel, steps, unknown, why};

/// A run's density of the queue: its place in packets and the share of the time per packet, by the run's name.
pub type Simulated<'a> = dyn Fn(&str) -> Result<Vec<(f64, f64)>, String> + 'a;

/// The link and its flows.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// C in bit/s.
    pub capacity_bps: f64,
    /// d_k in seconds, the same for all flows.
    pub delay_s: f64,
    /// The mean window W in bits.
    pub window_bits: f64,
}

impl Link {
    /// The map of N flows with slots of so many round-trip times at the equilibrium.
    fn map(&self, flows: u32, rtts: f64) -> Result<QueueMap, String> {
        let delays = vec![self.delay_s; flows as usize];
        let of = |interval| {
            QueueMap::new(self.capacity_bps, self.window_bits, delays.clone(), interval).map_err(why)
        };
        let queue = of(self.delay_s)?.equilibrium().map_err(why)?;
        of(rtts * (self.delay_s + queue / self.capacity_bps))
    }
}

/// The map for several N and slots.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mapped {
    /// The link.
    pub link: Link,
    /// N.
    pub flows: Vec<u32>,
    /// The slot S in round-trip times.
    pub slots_rtt: Vec<f64>,
    /// The largest queue that is drawn, in bits.
    pub up_to_bits: f64,
}

impl Mapped {
    pub(super) const QUANTITIES: &'static [Named] =
        &[("equilibrium_bits", &["flows", "slots_rtt"]), ("slope", &["flows", "slots_rtt"])];

    pub(super) fn values(&self, field: &str) -> Vec<f64> {
        match field {
            "flows" => self.flows.iter().copied().map(f64::from).collect(),
            _ => self.slots_rtt.clone(),
        }
    }

    pub(super) fn quantity(&self, name: &str, at: &At<'_>) -> Result<f64, String> {
        let map = self.link.map(at("flows")? as u32, at("slots_rtt")?)?;
        let equilibrium = map.equilibrium().map_err(why)?;
        // The slope is that at the equilibrium.
        Ok(if name == "slope" { map.slope(equilibrium) } else { equilibrium })
    }

    pub(super) fn chart(&self) -> Result<Answer, String> {
        let mut curves = Vec::new();
        for flows in &self.flows {
            for rtts in &self.slots_rtt {
                let map = self.link.map(*flows, *rtts)?;
                let label = format!("N = {flows}, S = {rtts} RTT");
                let at = |q: f64| (q / 1e6, map.next(q) / 1e6);
                curves.push(line(label, curves.len(), steps(0.0, self.up_to_bits, 200).into_iter().map(at)));
            }
        }
        let end = self.up_to_bits / 1e6;
        curves.push(line("the same queue".to_string(), curves.len(), [(0.0, 0.0), (end, end)]));
        Ok(panel("queue (Mbit)", "queue one slot later (Mbit)", "flows and slot", curves))
    }
}

/// The queue slot by slot.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trajectory {
    /// The link.
    pub link: Link,
    /// The changes of N: times in seconds, the first 0, with the new N.
    pub flows: Vec<(f64, u32)>,
    /// The deviation sigma of a flow's rate in bit/s, for each N.
    pub sigma_bps: Vec<f64>,
    /// The slot S in round-trip times, a panel each.
    pub slots_rtt: Vec<f64>,
    /// The duration in seconds.
    pub duration_s: f64,
    /// The buffer in bits.
    pub buffer_bits: f64,
    /// The seed of the noise.
    pub seed: u64,
}

impl Trajectory {
    pub(super) const QUANTITIES: &'static [Named] = &[
        ("mean_bits", &["slots_rtt", "phase"]),
        ("deviation_bits", &["slots_rtt", "phase"]),
        ("equilibrium_bits", &["phase"]),
    ];

    pub(super) fn values(&self, field: &str) -> Vec<f64> {
        match field {
            "phase" => (0..self.flows.len()).map(|i| i as f64).collect(),
            _ => self.slots_rtt.clone(),
        }
    }

    /// Phases are counted from 0, and measured from their second quarter on.
    pub(super) fn quantity(&self, name: &str, at: &At<'_>) -> Result<f64, String> {
        let phase = at("phase")? as usize;
        let &(from, flows) = self.flows.get(phase).ok_or("there is no such phase")?;
        if name == "equilibrium_bits" {
            return self.link.map(flows, 1.0)?.equilibrium().map_err(why);
        }
        let until = self.flows.get(phase + 1).map_or(self.duration_s, |f| f.0);
        let path = self.path(at("slots_rtt")?)?;
        let settled = path.iter().filter(|(t, _)| *t >= from + 0.25 * (until - from) && *t < until);
        let queues: Vec<f64> = settled.map(|(_, queue)| *queue).collect();
        let n = queues.len() as f64;
        let mean = queues.iter().sum::<f64>() / n;
        match name {
            "mean_bits" => Ok(mean),
            "deviation_bits" => Ok((queues.iter().map(|q| (q - mean) * (q - mean)).sum::<f64>() / n).sqrt()),
            name => Err(unknown(name)),
        }
    }

    /// The queue in bits at the beginning of each slot.
    fn path(&self, rtts: f64) -> Result<Vec<(f64, f64)>, String> {
        let mut noise = Normal::new(self.seed);
        let (mut time, mut queue, mut points) = (0.0, 0.0, Vec::new());
        while time < self.duration_s {
            let now = self.flows.iter().rposition(|(from, _)| *from <= time).unwrap_or(0);
            let map = self.link.map(self.flows[now].1, rtts)?;
            let deviation = map.noise_deviation(self.sigma_bps[now]).map_err(why)?;
            let until = self.flows.get(now + 1).map_or(self.duration_s, |f| f.0.min(self.duration_s));
            while time < until {
                points.push((time, queue));
                let xi = deviation * noise.next();
                queue = map.trajectory(queue, self.buffer_bits, [xi]).next().unwrap_or(queue);
                time += map.stability().map_err(why)?.interval;
            }
        }
        Ok(points)
    }

    pub(super) fn chart(&self) -> Result<Answer, String> {
        if self.flows.len() != self.sigma_bps.len() || self.flows.first().is_none_or(|f| f.0 != 0.0) {
            return Err("flows must begin at 0, and sigma_bps have a value for each".to_string());
        }
        let mut panels = Vec::new();
        for (i, rtts) in self.slots_rtt.iter().enumerate() {
            let points = self.path(*rtts)?.into_iter().map(|(time, queue)| (time, queue / 1e6));
            let curve = line(format!("S = {rtts} RTT"), i, points);
            panels.push(Panel { title: format!("{rtts} RTT"), curves: vec![curve] });
        }
        Ok(lines("time (s)", "queue (Mbit)", "slot", "S", panels))
    }
}

/// The distribution of the queue: by the map's chain, by its normal approximation, and as runs have it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// The link.
    pub link: Link,
    /// N, a panel each.
    pub flows: Vec<u32>,
    /// The deviation sigma of a flow's rate in bit/s, for each N.
    pub sigma_bps: Vec<f64>,
    /// The slot S in round-trip times.
    pub slot_rtt: f64,
    /// The buffer in bits.
    pub buffer_bits: f64,
    /// The packet L in bits.
    pub packet_bits: f64,
    /// The runs that simulate it, for each N; an empty list: no histogram beside.
    #[serde(default)]
    pub runs: Vec<String>,
}

impl Distribution {
    pub(super) const QUANTITIES: &'static [Named] = &[
        ("chain_mean_bits", &["flows"]),
        ("chain_deviation_bits", &["flows"]),
        ("normal_mean_bits", &["flows"]),
        ("normal_deviation_bits", &["flows"]),
        ("overlap", &["flows"]),
    ];

    pub(super) fn values(&self, _flows: &str) -> Vec<f64> {
        self.flows.iter().copied().map(f64::from).collect()
    }

    pub(super) fn quantity(&self, name: &str, at: &At<'_>) -> Result<f64, String> {
        let flows = at("flows")?;
        let i = self.flows.iter().position(|n| f64::from(*n) == flows).ok_or("there is no such N")?;
        let map = self.link.map(self.flows[i], self.slot_rtt)?;
        let normal = map.gaussian(self.sigma_bps[i]).map_err(why)?;
        let chain = || map.stationary(self.buffer_bits, self.sigma_bps[i], self.packet_bits).map_err(why);
        match name {
            "chain_mean_bits" => Ok(chain()?.mean()),
            "chain_deviation_bits" => Ok(chain()?.deviation()),
            "normal_mean_bits" => Ok(normal.mean),
            "normal_deviation_bits" => Ok(normal.deviation),
            // The share of the time that the chain and the normal approximation have in common.
            "overlap" => {
                let chain = chain()?;
                let common = chain.points().map(|(q, share)| share.min(chain.cell * density(&normal, q)));
                Ok(common.sum())
            }
            name => Err(unknown(name)),
        }
    }

    pub(super) fn chart(&self, simulated: &Simulated<'_>) -> Result<Answer, String> {
        if self.flows.len() != self.sigma_bps.len()
            || !(self.runs.is_empty() || self.runs.len() == self.flows.len())
        {
            return Err(
                "sigma_bps, and runs if there are any, must have a value for each of flows".to_string()
            );
        }
        let packet = self.packet_bits;
        let mut panels = Vec::new();
        for (i, (flows, sigma)) in self.flows.iter().zip(&self.sigma_bps).enumerate() {
            let map = self.link.map(*flows, self.slot_rtt)?;
            let chain = map.stationary(self.buffer_bits, *sigma, packet).map_err(why)?;
            let normal = map.gaussian(*sigma).map_err(why)?;
            let mut curves = vec![
                // Shares are per packet.
                line(
                    "chain (eq. 17)".to_string(),
                    0,
                    chain.points().map(|(q, share)| (q / packet, share * packet / chain.cell)),
                ),
                line(
                    "normal (eq. 21)".to_string(),
                    1,
                    steps(0.0, self.buffer_bits, 300)
                        .into_iter()
                        .map(|q| (q / packet, density(&normal, q) * packet)),
                ),
            ];
            if let Some(run) = self.runs.get(i) {
                curves.push(line("packets".to_string(), 2, simulated(run)?));
            }
            panels.push(Panel { title: flows.to_string(), curves });
        }
        Ok(lines("queue (packets)", "share per packet", "from", "N", panels))
    }
}

/// The probability that a transfer loses one or more of its first packets, which are dropped independently (section II).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstLosses {
    /// The packets of the first slow start, a curve each.
    pub packets: Vec<f64>,
    /// P_d.
    pub probability: Vec<f64>,
}

impl FirstLosses {
    pub(super) const QUANTITIES: &'static [Named] = &[("any_lost", &["packets", "probability"])];

    pub(super) fn values(&self, field: &str) -> Vec<f64> {
        if field == "packets" { self.packets.clone() } else { self.probability.clone() }
    }

    /// By the losses that leave none: packet after packet.
    pub(super) fn quantity(&self, at: &At<'_>) -> Result<f64, String> {
        Ok(any_lost(at("packets")?, at("probability")?))
    }

    pub(super) fn chart(&self) -> Result<Answer, String> {
        let largest = self.probability.iter().copied().fold(0.0, f64::max);
        let curve = |(i, n): (usize, &f64)| {
            let at = |p: f64| (p, any_lost(*n, p));
            line(n.to_string(), i, steps(0.0, largest, 200).into_iter().map(at))
        };
        let curves = self.packets.iter().enumerate().map(curve).collect();
        Ok(panel("drop probability", "probability of one loss or more", "packets", curves))
    }
}

fn any_lost(packets: f64, probability: f64) -> f64 {
    1.0 - (0..packets as u64).fold(1.0, |none, _| none * (1.0 - probability))
}

/// How far the queue varies by the linear approximation, over the slot (eq. 21).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variation {
    /// The link.
    pub link: Link,
    /// N, a curve each.
    pub flows: Vec<u32>,
    /// The deviation sigma of a flow's rate in bit/s, for each N.
    pub sigma_bps: Vec<f64>,
    /// Slots S in round-trip times, of which tests may read.
    pub slots_rtt: Vec<f64>,
}

impl Variation {
    pub(super) const QUANTITIES: &'static [Named] = &[
        ("normalized_deviation_bps", &["flows", "slots_rtt"]),
        ("deviation_bits", &["flows", "slots_rtt"]),
        ("slope", &["flows", "slots_rtt"]),
    ];

    pub(super) fn values(&self, field: &str) -> Vec<f64> {
        match field {
            "flows" => self.flows.iter().copied().map(f64::from).collect(),
            _ => self.slots_rtt.clone(),
        }
    }

    pub(super) fn quantity(&self, name: &str, at: &At<'_>) -> Result<f64, String> {
        let (flows, rtts) = (at("flows")?, at("slots_rtt")?);
        let i = self.flows.iter().position(|n| f64::from(*n) == flows).ok_or("there is no such N")?;
        let map = self.link.map(self.flows[i], rtts)?;
        let normal = || {
            let sigma = self.sigma_bps.get(i).ok_or("sigma_bps must have a value for each of flows")?;
            map.gaussian(*sigma).map_err(why)
        };
        match name {
            "normalized_deviation_bps" => Ok(normal()?.normalized_deviation),
            "deviation_bits" => Ok(normal()?.deviation),
            "slope" => Ok(map.slope(map.equilibrium().map_err(why)?)),
            name => Err(unknown(name)),
        }
    }

    pub(super) fn chart(&self) -> Result<Answer, String> {
        let mut curves = Vec::new();
        for flows in &self.flows {
            let at = |rtts: f64| {
                let place = |field: &str| Ok(if field == "flows" { f64::from(*flows) } else { rtts });
                Ok((rtts, self.quantity("normalized_deviation_bps", &place)? / 1e6))
            };
            let points: Result<Vec<(f64, f64)>, String> =
                steps(0.05, 1.95, 190).into_iter().map(at).collect();
            curves.push(line(format!("N = {flows}"), curves.len(), points?));
        }
        let y = "deviation of the queue over the slot (Mbit/s)";
        Ok(panel("slot (round-trip times)", y, "flows", curves))
    }
}

/// The slots up to which the equilibrium is stable, where delays differ (Propositions 6.1 and 6.2, and the bound for
/// different delays).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slots {
    /// The link; its delay is the shortest.
    pub link: Link,
    /// N, a panel each.
    pub flows: Vec<u32>,
    /// The longest delays in seconds; those of the flows are evenly spaced up to them.
    pub longest_delay_s: Vec<f64>,
}

impl Slots {
    pub(super) const QUANTITIES: &'static [Named] = &[
        ("contracting_interval_s", &["flows", "longest_delay_s"]),
        ("rising_interval_s", &["flows", "longest_delay_s"]),
        ("printed_interval_s", &["flows", "longest_delay_s"]),
        ("sufficient_interval_s", &["flows", "longest_delay_s"]),
        ("contraction", &["flows", "longest_delay_s"]),
        ("left_contracting", &["flows", "longest_delay_s"]),
        ("left_rising", &["flows", "longest_delay_s"]),
    ];

    pub(super) fn values(&self, field: &str) -> Vec<f64> {
        match field {
            "flows" => self.flows.iter().copied().map(f64::from).collect(),
            _ => self.longest_delay_s.clone(),
        }
    }

    fn delays(&self, flows: u32, longest: f64) -> Vec<f64> {
        let shortest = self.link.delay_s;
        let share = |k: u32| f64::from(k) / f64::from(flows.max(2) - 1);
        (0..flows).map(|k| shortest + (longest - shortest) * share(k)).collect()
    }

    fn map(&self, flows: u32, longest: f64, slot: f64) -> Result<QueueMap, String> {
        let Link { capacity_bps, window_bits, .. } = self.link;
        QueueMap::new(capacity_bps, window_bits, self.delays(flows, longest), slot).map_err(why)
    }

    pub(super) fn quantity(&self, name: &str, at: &At<'_>) -> Result<f64, String> {
        let (flows, longest) = (at("flows")? as u32, at("longest_delay_s")?);
        let map = self.map(flows, longest, self.link.delay_s)?;
        let equilibrium = map.equilibrium().map_err(why)?;
        // Ten times the equilibrium, and what the first step from an empty queue may lead to.
        let largest = (10.0 * equilibrium).max(map.next(0.0));
        // The largest share of its distance that a queue has left after 4000 slots, from many starts.
        let left = |slot: f64| {
            let map = self.map(flows, longest, slot)?;
            let of = |start: f64| {
                let last = map.trajectory(start, f64::INFINITY, repeat_n(0.0, 4000)).last();
                last.map_or(f64::NAN, |q| ((q - equilibrium) / (start - equilibrium)).abs())
            };
            let starts = steps(0.0, largest, 97).into_iter().filter(|q| (q - equilibrium).abs() > 1.0);
            Ok::<f64, String>(starts.map(of).fold(0.0, f64::max))
        };
        match name {
            "contracting_interval_s" => Ok(map.contracting_interval()),
            "rising_interval_s" => map.rising_interval().map_err(why),
            "sufficient_interval_s" => map.sufficient_interval().map_err(why),
            "printed_interval_s" => Ok(self.printed(flows, longest, equilibrium)),
            "contraction" => {
                Ok(self.map(flows, longest, 0.999 * map.contracting_interval())?.contraction(largest))
            }
            "left_contracting" => left(0.999 * map.contracting_interval()),
            "left_rising" => left(map.rising_interval().map_err(why)?),
            name => Err(unknown(name)),
        }
    }

    /// The bound as it is printed, in bits: `(C/W - N(N-1)/(q_e + D_m)^2)^-1`, where D_m are the bits of the longest delay.
    fn printed(&self, flows: u32, longest: f64, equilibrium: f64) -> f64 {
        let Link { capacity_bps, window_bits, .. } = self.link;
        let n = f64::from(flows);
        let round_trip = equilibrium + capacity_bps * longest;
        1.0 / (capacity_bps / window_bits - n * (n - 1.0) / (round_trip * round_trip))
    }

    pub(super) fn chart(&self) -> Result<Answer, String> {
        let names = [
            ("rising_interval_s", "f'(q_e) = 0 (proposition 6.2)"),
            ("sufficient_interval_s", "bound for different delays, with W C"),
            ("contracting_interval_s", "eq. 10 (proposition 6.1)"),
            ("printed_interval_s", "bound as printed"),
        ];
        let shortest = self.link.delay_s;
        let end = self.longest_delay_s.iter().copied().fold(shortest, f64::max);
        let mut panels = Vec::new();
        for flows in &self.flows {
            let mut curves = Vec::new();
            for (name, label) in names {
                let at = |longest: f64| {
                    let place = |field: &str| Ok(if field == "flows" { f64::from(*flows) } else { longest });
                    Ok((1e3 * longest, self.quantity(name, &place)?))
                };
                let points: Result<Vec<(f64, f64)>, String> =
                    steps(shortest, end, 60).into_iter().map(at).collect();
                curves.push(line(label.to_string(), curves.len(), points?));
            }
            panels.push(Panel { title: flows.to_string(), curves });
        }
        Ok(lines("longest delay (ms)", "slot (s)", "from", "N", panels))
    }
}

/// The density of the normal approximation at a queue, per bit.
fn density(normal: &Gaussian, q: f64) -> f64 {
    let z = (q - normal.mean) / normal.deviation;
    (-0.5 * z * z).exp() / (normal.deviation * (2.0 * std::f64::consts::PI).sqrt())
}

/// Normal deviates, by the transform of Box and Muller.
struct Normal {
    rng: Pcg64Mcg,
}

impl Normal {
    fn new(seed: u64) -> Self {
        Normal { rng: Pcg64Mcg::new(u128::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1) }
    }

    fn next(&mut self) -> f64 {
        let mut uniform = || ((self.rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let (radius, angle) = ((-2.0 * uniform().ln()).sqrt(), 2.0 * std::f64::consts::PI * uniform());
        radius * angle.cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Link = Link { capacity_bps: 6e6, delay_s: 0.064, window_bits: 6.02e4 };

    /// The normal approximation and the chain are the same distribution where the buffer is large.
    #[test]
    fn the_distributions_agree() {
        let of = Distribution {
            link: LINK,
            flows: vec![40],
            sigma_bps: vec![77_021.0],
            slot_rtt: 1.0,
            buffer_bits: 4e6,
            packet_bits: 8e3,
            runs: Vec::new(),
        };
        let Answer::Chart(chart) = of.chart(&|_| Err(String::new())).unwrap() else { panic!("a number") };
        let mean = |i: usize| {
            let c = &chart.panels[0].curves[i];
            let (sum, mass) = c.x.iter().zip(&c.y).fold((0.0, 0.0), |(s, m), (x, y)| (s + x * y, m + y));
            sum / mass
        };
        assert!((mean(0) / mean(1) - 1.0).abs() < 0.02, "{} {}", mean(0), mean(1));
    }

    /// `q_e = N W - d C` for equal delays.
    #[test]
    fn the_queue_stays_about_its_equilibrium() {
        let of = Trajectory {
            link: LINK,
            flows: vec![(0.0, 20), (100.0, 40)],
            sigma_bps: vec![77_021.0, 128_490.0],
            slots_rtt: vec![1.0],
            duration_s: 200.0,
            buffer_bits: 4e6,
            seed: 1,
        };
        let Answer::Chart(chart) = of.chart().unwrap() else { panic!("a number") };
        let curve = &chart.panels[0].curves[0];
        let mean = |from: f64, to: f64| {
            let within: Vec<f64> = curve
                .x
                .iter()
                .zip(&curve.y)
                .filter(|(x, _)| **x > from && **x < to)
                .map(|(_, y)| *y)
                .collect();
            within.iter().sum::<f64>() / within.len() as f64
        };
        for (from, to, n) in [(20.0, 100.0, 20.0), (120.0, 200.0, 40.0)] {
            let wanted = (n * LINK.window_bits - LINK.delay_s * LINK.capacity_bps) / 1e6;
            assert!((mean(from, to) / wanted - 1.0).abs() < 0.05, "{} {wanted}", mean(from, to));
        }
    }

    /// Section II: `1 - (1 - 0.04)^64 = 0.9267`.
    #[test]
    fn most_transfers_lose_one_of_their_first_packets() {
        let of = FirstLosses { packets: vec![64.0], probability: vec![0.04] };
        let at = |field: &str| Ok(if field == "packets" { 64.0 } else { 0.04 });
        assert!((of.quantity(&at).unwrap() - 0.9267).abs() < 5e-5);
    }

    /// Eq. 21: `N sigma^2 / (1 - f'(q_e)^2)`, least where f'(q_e) = 0.
    #[test]
    fn a_slot_of_a_round_trip_time_varies_least() {
        let of = Variation {
            link: LINK,
            flows: vec![20, 40],
            sigma_bps: vec![77_021.0, 128_490.0],
            slots_rtt: vec![0.5, 1.0, 1.5],
        };
        let at = |rtts: f64| {
            let place = move |field: &str| Ok(if field == "flows" { 40.0 } else { rtts });
            of.quantity("normalized_deviation_bps", &place).unwrap()
        };
        assert!((at(1.0) / (40.0_f64.sqrt() * 128_490.0) - 1.0).abs() < 1e-9);
        assert!((at(0.5) / at(1.0) - (1.0 / 0.75_f64).sqrt()).abs() < 1e-9);
        assert!((at(0.5) / at(1.5) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_bounds_of_slots_are_in_order() {
        let of = Slots { link: LINK, flows: vec![20], longest_delay_s: vec![0.064, 0.24] };
        let value = |name: &str, longest: f64| {
            let at = move |field: &str| Ok(if field == "flows" { 20.0 } else { longest });
            of.quantity(name, &at).unwrap()
        };
        // With equal delays the bound with W C is the round-trip time, 20 W / C.
        assert!((value("sufficient_interval_s", 0.064) - 20.0 * 6.02e4 / 6e6).abs() < 1e-9);
        // As printed the second term vanishes beside the first: W / C.
        assert!((value("printed_interval_s", 0.24) - 6.02e4 / 6e6).abs() < 1e-9);
        assert!(value("sufficient_interval_s", 0.24) < value("rising_interval_s", 0.24));
        for longest in [0.064, 0.24] {
            assert!(value("contraction", longest) < 1.0);
            assert!(value("left_contracting", longest) < 1e-6 && value("left_rising", longest) < 1e-6);
        }
    }

    #[test]
    fn deviates_are_normal() {
        let mut normal = Normal::new(7);
        let all: Vec<f64> = (0..20_000).map(|_| normal.next()).collect();
        let mean = all.iter().sum::<f64>() / 20_000.0;
        let variance = all.iter().map(|x| x * x).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.04, "{mean} {variance}");
    }
}
