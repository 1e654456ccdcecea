//! Candidates: disciplines with their parameter, and the scenario that tries one.

use std::fmt::Write as _;

use quell_aqm::Seed;
use quell_tcp::catalog::SENDERS;
use serde::Serialize;

use crate::observed::Observed;
use crate::statistics::HEADERS;

/// A discipline that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// One queue that drops what does not fit; its parameter is the buffer, as time at the rate.
    DropTail,
    /// Adaptive RED (Floyd et al. 2001); its parameter is the target delay.
    Ared,
    /// CoDel (RFC 8289); its parameter is the target.
    Codel,
    /// FQ-CoDel (RFC 8290); its parameter is the target.
    FqCodel,
    /// PIE (RFC 8033); its parameter is the target.
    Pie,
    /// CAKE; its parameter is the target of COBALT.
    Cake,
}

impl Discipline {
    /// All of them.
    pub const ALL: [Discipline; 6] = [
        Discipline::DropTail,
        Discipline::Ared,
        Discipline::Codel,
        Discipline::FqCodel,
        Discipline::Pie,
        Discipline::Cake,
    ];

    /// Its name, as in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Discipline::DropTail => "drop-tail",
            Discipline::Ared => "ared",
            Discipline::Codel => "codel",
            Discipline::FqCodel => "fq-codel",
            Discipline::Pie => "pie",
            Discipline::Cake => "cake",
        }
    }

    /// The name of its parameter.
    pub fn parameter(self) -> &'static str {
        if self == Discipline::DropTail { "buffer" } else { "target" }
    }

    /// The values that its parameter may have, in seconds: the prior is flat in the logarithm between them.
    pub(crate) fn range(self, observed: &Observed) -> [f64; 2] {
        match self {
            Discipline::DropTail => [0.002, 4.0],
            Discipline::Pie => [0.002, 0.2],
            // ARED's lower threshold is at least 5 packets and half of the target, so that smaller targets than 10 packets
            // are one queue. It must not count several times (Chen 2010, section 3.2.3).
            Discipline::Ared => {
                let least = 80.0 * f64::from(observed.payload + HEADERS) / observed.rate_bps.0;
                [least.max(0.002), (4.0 * least).max(0.2)]
            }
            Discipline::Codel | Discipline::FqCodel | Discipline::Cake => [0.0005, 0.1],
        }
    }

    /// The first values that are tried. A buffer is looked for around the longest delays that were seen, which no smaller
    /// one allows.
    pub(crate) fn grid(self, observed: &Observed) -> Vec<f64> {
        let [low, high] = self.range(observed);
        let (low, high, n) = match self {
            Discipline::DropTail => {
                let near = observed.high_s.clamp(low, high);
                ((near * 0.5).max(low), (near * 2.5).min(high), 8)
            }
            _ => (low, high, 7),
        };
        (0..n).map(|i| low * libm::pow(high / low, f64::from(i) / f64::from(n - 1))).collect()
    }

    /// The tables of its queue in a scenario.
    fn queue(self, value: f64, rate_bps: f64, packet: u32) -> (String, String) {
        let time = format!("{} us", libm::round(value * 1e6).max(1.0));
        let buffer = match self {
            Discipline::DropTail => {
                let packets = libm::round(value * rate_bps / 8.0 / f64::from(packet)).max(2.0);
                format!("{packets} packets")
            }
            // The limits of Linux.
            Discipline::FqCodel | Discipline::Cake => "10240 packets".to_string(),
            Discipline::Ared | Discipline::Codel | Discipline::Pie => "1000 packets".to_string(),
        };
        // RFC 8289 section 4.3: the target is 5 to 10% of the interval, whose default is long enough for small ones.
        let interval = format!("{} us", libm::round(20e6 * value.max(0.005)));
        let keys = match self {
            Discipline::DropTail => String::new(),
            Discipline::Ared => format!("target_delay = \"{time}\"\n"),
            Discipline::Codel | Discipline::FqCodel => {
                format!("target = \"{time}\"\ninterval = \"{interval}\"\n")
            }
            Discipline::Pie => format!("target = \"{time}\"\n"),
            Discipline::Cake => format!("rtt = \"{} us\"\n", libm::round(20e6 * value)),
        };
        (buffer, format!("algorithm = \"{}\"\n{keys}", self.name()))
    }

    /// The scenario that tries it on an observed path with a value of its parameter. Rate and round trip are drawn from
    /// what is known of them, and starts from a few milliseconds: no queue depends on that exactly.
    pub fn scenario(self, value: f64, observed: &Observed, tcp: &str, seed: u64) -> String {
        let mut draw = Seed(seed).stream("identify");
        let (rate, [low, high]) = observed.rate_bps;
        let rate = (rate + draw.uniform_in(-1.0, 1.0) * (high - low) / 2.0).max(1000.0);
        let stretch = draw.uniform_in(0.99, 1.01);
        let packet = observed.payload + HEADERS;
        let (buffer, aqm) = self.queue(value, rate, packet);
        // Ends that are faster than the link by far.
        let access = (rate * 20.0).max(1e9);
        // The shortest round trip of data has a packet's time on the link in it. The link itself has the delay of the flows
        // with the shortest one, so that their senders are next to both ways.
        let sending = f64::from(packet) * 8e6 / rate;
        let rtt = |base_s: f64| libm::round(base_s * stretch * 1e6 - sending).max(10.0);
        let least = observed.flows.iter().map(|flow| flow.base_s).fold(f64::MAX, f64::min);
        let near = rtt(least) - 1.0;
        let mut text = format!(
            "schema = 1\ntitle = \"identify\"\ndialect = \"linux\"\nduration = \"{} ms\"\nwarmup = \"0 s\"\nseeds = [{seed}]\n\
             mean_packet = \"{packet} B\"\n\n[dumbbell]\nrate = \"{} bit/s\"\ndelay = \"{} us\"\nbuffer = \"{buffer}\"\necn = \
             true\naccess_rate = \"{} bit/s\"\n\n[dumbbell.reverse]\nrate = \"{} bit/s\"\ndelay = \"1 us\"\nbuffer = \"10000 packets\"\n\n\
             [[aqm]]\n{aqm}",
            libm::ceil(observed.seconds * 1e3),
            libm::round(rate),
            near,
            libm::round(access),
            libm::round(access),
        );
        for (i, flow) in observed.flows.iter().enumerate() {
            let start = libm::round(flow.start_s * 1e6 + draw.uniform_in(0.0, 5000.0));
            let rtt = rtt(flow.base_s);
            let stop = libm::round(flow.stop_s * 1e6).max(start + 1000.0);
            // A new line per key, as scenario files have it.
            let _ = write!(
                text,
                "\n[[flows]]\nname = \"f{i}\"\nrtt = \"{rtt} us\"\nstart = \"{start} us\"\nstop = \"{stop} us\"\ntcp = {{ \
                 congestion = \"{tcp}\", packet = \"{} B\"{} }}\n",
                observed.payload,
                needs(tcp, flow.ecn)
            );
        }
        text
    }
}

/// What a sender with a congestion control needs beside its name, as keys of its table; ECN is as observed where the
/// congestion control leaves the choice.
fn needs(tcp: &str, ecn: bool) -> String {
    let entry = SENDERS.iter().find(|entry| entry.key == "congestion" && entry.name == tcp);
    let (needs, refuses) = entry.map_or((&[][..], &[][..]), |entry| (entry.needs, entry.refuses));
    let observed = if ecn { "true" } else { "false" };
    let is_refused = refuses.iter().any(|(key, values)| *key == "ecn" && values.contains(&observed));
    let is_needed = needs.iter().any(|(key, _)| *key == "ecn");
    let mut text = if is_needed { String::new() } else { format!(", ecn = {}", ecn && !is_refused) };
    for (key, values) in needs {
        // Of several, the first is the usual one.
        let value = values.first().copied().unwrap_or_default();
        let _ = match value {
            "true" | "false" => write!(text, ", {key} = {value}"),
            name => write!(text, ", {key} = \"{name}\""),
        };
    }
    text
}
