//! A scenario in a few words: one bottleneck, and flows of one kind.

use quell_aqm::catalog::{self, AqmConfig};
use quell_aqm::params::About;
use quell_scenario::{Document, Plugins, Study};
use quell_theory::rules::design::Design;
use quell_theory::{Congestion, Signal};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

/// One bottleneck and flows of one kind: the network of the formulas.
#[derive(Clone, Debug)]
pub struct Shorthand {
    /// The bottleneck's rate.
    pub rate: BitRate,
    /// The round-trip time without queueing.
    pub rtt: Duration,
    /// The number of flows.
    pub flows: u32,
    /// Size of a packet on the wire.
    pub packet: Bytes,
    /// The bottleneck's buffer.
    pub buffer: QueueSize,
    /// The flows' congestion control, one of which there are fluid models.
    pub congestion: Congestion,
    /// True if packets are marked.
    pub ecn: bool,
    /// Scalable flows beside those, whose packets always are: how many, and their congestion control.
    pub scalables: Option<(u32, Congestion)>,
    /// The tables of the algorithms, as in a file: see [`changed`].
    pub algorithms: Vec<String>,
}

/// Packets that a scenario in a few words may have on its link: fewer than have numbers of 32 bits.
const MOST_PACKETS: f64 = 4e9;

impl Shorthand {
    /// A network without algorithms yet; flows are Reno's, packets are marked, and the buffer is ample.
    pub fn new(rate: BitRate, rtt: Duration, flows: u32, packet: Bytes) -> Shorthand {
        let buffer = Shorthand::ample_buffer(rate, rtt, packet);
        let congestion = Congestion::default();
        let (scalables, algorithms) = (None, Vec::new());
        Shorthand { rate, rtt, flows, packet, buffer, congestion, ecn: true, scalables, algorithms }
    }

    /// Twice the bandwidth-delay product, at least 100 packets.
    pub fn ample_buffer(rate: BitRate, rtt: Duration, packet: Bytes) -> QueueSize {
        let product = rate.packets_per_sec(packet) * rtt.as_secs_f64();
        QueueSize::Packets((2.0 * product).ceil().max(100.0))
    }

    /// What a link sends in 200 ms, at least 100 packets: for algorithms with a target that an ample buffer is too short
    /// for, as on a fast link within a building.
    pub fn roomy_buffer(rate: BitRate, packet: Bytes) -> QueueSize {
        QueueSize::Packets((0.2 * rate.packets_per_sec(packet)).ceil().max(100.0))
    }

    /// The network that a design is for.
    pub fn of_design(design: &Design, flows: u32, algorithms: Vec<String>) -> Shorthand {
        Shorthand {
            buffer: design.link.buffer,
            congestion: design.network.congestion,
            ecn: design.network.signal == Signal::Mark,
            scalables: design.network.scalables.map(|s| {
                let flows: f64 = design.network.classes[s.from..].iter().map(|c| c.flows).sum();
                (flows.round() as u32, s.congestion)
            }),
            algorithms,
            ..Shorthand::new(
                design.link.rate,
                Duration::from_secs_f64(design.network.classes[0].propagation),
                flows,
                design.link.mean_packet,
            )
        }
    }

    /// The scenario; `name` stands for it in errors, which name no lines: nobody has seen its text.
    pub fn document(&self, name: &str) -> Document {
        let table = toml::from_str(&self.to_toml()).expect("what is written is TOML");
        Document::from_table(&table, name).expect("what is written is not nested deep")
    }

    /// The scenario, as a file.
    pub fn to_toml(&self) -> String {
        let Shorthand { rate, rtt, flows, packet, buffer, congestion, ecn, scalables, algorithms } = self;
        let own = sender(congestion.name());
        // Long enough for slow loops to settle: hundreds of round trips, and a minute.
        // No longer than packets can be numbered (docs/senders.md).
        let longest = MOST_PACKETS / rate.packets_per_sec(*packet);
        let warmup = (300.0 * rtt.as_secs_f64()).max(60.0).ceil().min((longest / 3.0).floor()).max(1.0);
        let mut text = format!(
            r#"schema = 1
title = "{flows} flows, {rate}, {rtt}"
duration = "{} s"
warmup = "{warmup} s"
seeds = 3

[dumbbell]
rate = "{rate}"
delay = "{}"
buffer = "{buffer}"
ecn = {}
"#,
            3.0 * warmup,
            *rtt / 10,
            *ecn || scalables.is_some(),
        );
        for table in algorithms {
            text.push_str(&format!("\n[[aqm]]\n{table}"));
        }
        text.push_str(&format!(
            r#"
[[flows]]
name = "tcp"
count = {flows}
rtt = "{rtt}"
start = {{ between = ["0 s", "5 s"] }}
tcp = {{ {own}ecn = {ecn}, packet = "{packet}" }}
"#
        ));
        if let Some((flows, congestion)) = scalables {
            let keys = sender(congestion.name());
            text.push_str(&format!(
                r#"
[[flows]]
name = "scalable"
count = {flows}
rtt = "{rtt}"
start = {{ between = ["0 s", "5 s"] }}
tcp = {{ {keys}ecn = true, packet = "{packet}" }}
"#
            ));
        }
        text
    }
}

/// The other keys of a `tcp` table that a congestion control needs, with their values.
pub fn needs(congestion: &str) -> &'static [(&'static str, &'static str)] {
    match congestion {
        "dctcp" => &[("ecn", "true"), ("feedback", "exact")],
        "prague" => &[("ecn", "true"), ("feedback", "accecn"), ("pacing", "true")],
        _ => &[],
    }
}

/// The entries of a `tcp` table for senders with a congestion control, with the keys that it needs.
fn sender(congestion: &str) -> String {
    match congestion {
        "reno" => String::new(),
        "cubic" => r#"congestion = "cubic", recovery = "sack", "#.into(),
        "prague" => r#"congestion = "prague", recovery = "rack", feedback = "accecn", pacing = true, growth = "packets", granularity = "1 ms", "#.into(),
        scalable => format!(r#"congestion = "{scalable}", recovery = "sack", feedback = "exact", "#),
    }
}

/// An algorithm as a table of a scenario, with the parameters that are not its defaults.
///
/// # Errors
/// The parameters cannot be written.
pub fn changed(config: &AqmConfig) -> Result<String, toml::ser::Error> {
    let name = config.name();
    let written = toml::Table::try_from(config)?;
    let default = catalog::find(name).map(|entry| toml::Table::try_from((entry.default)()));
    let default = default.transpose()?.unwrap_or_default();
    let mut text = format!("algorithm = \"{name}\"\n");
    for (key, value) in written.iter().filter(|(key, value)| default.get(*key) != Some(value)) {
        text.push_str(&format!("{key} = {}\n", inline(value)));
    }
    Ok(text)
}

/// A value on one line.
fn inline(value: &toml::Value) -> String {
    match value {
        toml::Value::Table(table) => {
            let each: Vec<String> = table.iter().map(|(k, v)| format!("{k} = {}", inline(v))).collect();
            format!("{{ {} }}", each.join(", "))
        }
        other => other.to_string(),
    }
}

/// Tells whether the buffer of each first link of a study is as long as its algorithms' targets.
pub fn holds_targets(study: &Study) -> bool {
    study.points.iter().all(|point| {
        let at = point.links().first().and_then(|link| point.link_at(link, Time::ZERO, &Plugins::new()).ok());
        at.is_none_or(|at| {
            let mut remarks = at.algorithms.iter().flat_map(|(_, config)| config.remarks(&at.link));
            remarks.all(|remark| remark.about != About::Buffer)
        })
    })
}
