//! Jou et al. 2003, section VI: the map of the queue under ARED with dynamic thresholds.

use quell_theory::ared_dt::{Gaussian, QueueMap};
use quell_view::chart::Panel;
use rand_core::Rng as _;
use rand_pcg::Pcg64Mcg;
use serde::Deserialize;

use super::answer::{Answer, At, Named, line, lines, steps, unknown, why};

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
        let panel = Panel { title: String::new(), curves };
        Ok(lines("queue (Mbit)", "queue one slot later (Mbit)", "flows and slot", "", vec![panel]))
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

    #[test]
    fn deviates_are_normal() {
        let mut normal = Normal::new(7);
        let all: Vec<f64> = (0..20_000).map(|_| normal.next()).collect();
        let mean = all.iter().sum::<f64>() / 20_000.0;
        let variance = all.iter().map(|x| x * x).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.04, "{mean} {variance}");
    }
}
