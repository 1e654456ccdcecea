//! The measurements made with Linux: `linux/results.csv`, and how Quell runs them.

use std::fmt::Write;

use quell_lab::Metric;
use serde::Deserialize;

use crate::compare::{Band, ComparedFigure, Figure, Samples};
use crate::run;
use crate::table::{self, CsvLine, values};

const RESULTS: &str = include_str!("../linux/results.csv");
const GRID: &str = include_str!("../linux/grid.csv");

/// A packet of 1500 bytes and its Ethernet header.
const PACKET: u32 = 1514;

/// The setting of a run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Setting {
    /// S: one flow and random losses; W: one flow at a buffer of one bandwidth-delay product; N: few flows; K: 20;
    /// E: as K, with ECN; R: half of the flows over a longer path; B: BBR
    /// beside CUBIC; U: beside as much UDP; L: DCTCP beside CUBIC at
    /// DualPI2, half of the flows each, all with ECN where `variant` is "remark"; G: a third of a grid of queues, rates, flows, round-trip times and senders.
    pub block: String,
    pub qdisc: String,
    pub cc: String,
    pub flows: u32,
    pub rate_mbit: u32,
    pub rtt_ms: u32,
    /// The round-trip time of the other half of the flows, where that is another one.
    pub rtt2_ms: Option<u32>,
    /// The time over which the flows' starts are spread, where they do not begin together.
    pub apart_ms: Option<u32>,
    /// The share of losses that was asked for.
    pub asked_loss: Option<f64>,
    /// The limit in packets; of RED in bytes.
    pub limit: Option<u32>,
    /// 1 where block G has ECN.
    pub ecn: Option<u32>,
    /// What is done besides. "to2m": the link has 2 Mbit/s from 19.5 s on; "offloads": TSO, GSO and GRO are on;
    /// "remark": DCTCP's ECT(0) becomes ECT(1) before the queue, which knows L4S by it.
    pub variant: Option<String>,
    pub seconds: u32,
    pub warmup: u32,
}

/// A setting and the boots that ran it.
#[derive(Clone, Debug)]
pub struct Case {
    pub setting: Setting,
    boots: Vec<CsvLine>,
}

/// 10%.
pub const TENTH: Band = Band { relative: 0.10, absolute: 0.0, below: 0.0 };

/// 1 point.
pub const UTILIZATION: Figure = Figure::new(
    "utilization",
    "%",
    ("utilization", Metric::Utilization),
    2,
    Band { relative: 0.0, absolute: 1.0, below: f64::INFINITY },
);
/// 10% or 2 packets.
pub const QUEUE: Figure = Figure::new(
    "queue",
    "packets",
    ("queue_mean", Metric::QueueMean),
    1,
    Band { relative: 0.10, absolute: 2.0, below: f64::INFINITY },
);
/// 20% or 2 packets.
pub const DEVIATION: Figure = Figure::new(
    "deviation",
    "packets",
    ("queue_std", Metric::QueueStd),
    1,
    Band { relative: 0.20, absolute: 2.0, below: f64::INFINITY },
);
pub const LOSS: Figure = Figure::new("loss", "%", ("loss", Metric::LossRate), 4, TENTH);
const GOODPUT: Figure = Figure::new("goodput", "Mbit/s", ("goodput_mbps", Metric::Goodput), 2, TENTH);
const AGAIN: Figure =
    Figure::new("retransmissions", "%", ("retransmissions", Metric::RetransmissionRate), 3, TENTH);

const MARKS: Figure = Figure::new("marks", "%", ("marks", Metric::MarkRate), 4, TENTH);
/// 10% or 0.05 points.
const FEW: Band = Band { relative: 0.10, absolute: 0.05, below: f64::INFINITY };
const LOSS_OF_GRID: Figure = Figure::new("loss", "%", ("loss", Metric::LossRate), 4, FEW);
const MARKS_OF_GRID: Figure = Figure::new("marks", "%", ("marks", Metric::MarkRate), 4, FEW);

/// A group of flows: its name, and its figure.
const OF_GROUPS: [(&str, Figure); 8] = [
    ("classic", Figure::new("goodput/c", "Mbit/s", ("goodput_c", Metric::Goodput), 2, TENTH)),
    ("l4s", Figure::new("goodput/l", "Mbit/s", ("goodput_l", Metric::Goodput), 2, TENTH)),
    ("near", Figure::new("goodput/near", "Mbit/s", ("goodput_1", Metric::Goodput), 2, TENTH)),
    ("far", Figure::new("goodput/far", "Mbit/s", ("goodput_2", Metric::Goodput), 2, TENTH)),
    ("bbr", Figure::new("goodput/bbr", "Mbit/s", ("goodput_1", Metric::Goodput), 2, TENTH)),
    ("cubic", Figure::new("goodput/cubic", "Mbit/s", ("goodput_2", Metric::Goodput), 2, TENTH)),
    ("tcp", Figure::new("goodput/tcp", "Mbit/s", ("goodput_tcp", Metric::Goodput), 2, TENTH)),
    ("udp", Figure::new("loss/udp", "%", ("loss_udp", Metric::LossRate), 3, TENTH)),
];

/// Every figure of a queue or a flow.
#[cfg(test)]
pub fn figures() -> impl Iterator<Item = Figure> {
    [UTILIZATION, LOSS, MARKS, QUEUE, DEVIATION, GOODPUT, AGAIN].into_iter().chain(OF_GROUPS.map(|(_, f)| f))
}

impl Setting {
    fn has_ecn(&self) -> bool {
        self.block == "E" || self.ecn == Some(1)
    }

    fn is_remarked(&self) -> bool {
        self.variant.as_deref() == Some("remark")
    }

    fn figures(&self) -> &'static [Figure] {
        match self.block.as_str() {
            "S" => &[GOODPUT, AGAIN],
            "E" => &[UTILIZATION, MARKS, QUEUE, DEVIATION],
            "G" => &[UTILIZATION, LOSS_OF_GRID, MARKS_OF_GRID, QUEUE, DEVIATION],
            _ => &[UTILIZATION, LOSS, QUEUE, DEVIATION],
        }
    }

    /// The name in tables and excuses.
    pub fn name(&self) -> String {
        let Setting { block, qdisc, cc, flows, rate_mbit, rtt_ms, .. } = self;
        if let Some(far) = self.rtt2_ms {
            return format!("{block} {qdisc} {cc}, {rtt_ms} and {far} ms, {flows} flows");
        }
        match (block.as_str(), self.asked_loss) {
            (_, Some(p)) => format!("{block} {cc}, {rtt_ms} ms, loss {p}"),
            ("L", _) => {
                let besides = if self.is_remarked() { ", ECT(1)" } else { "" };
                format!("{block} {qdisc} {cc}, {rate_mbit} Mbit/s, {rtt_ms} ms, {flows} flows{besides}")
            }
            ("B", _) => {
                format!("{block} {qdisc} {cc}, {flows} flows, {} packets", self.limit.unwrap_or_default())
            }
            ("W", _) => format!("{block} {cc}, {rate_mbit} Mbit/s, {rtt_ms} ms"),
            ("G", _) => {
                let ecn = if self.has_ecn() { ", ECN" } else { "" };
                let besides = self.variant.as_deref().map_or(String::new(), |variant| format!(", {variant}"));
                format!("{block} {qdisc} {cc}, {rate_mbit} Mbit/s, {rtt_ms} ms, {flows} flows{ecn}{besides}")
            }
            (_, None) => format!("{block} {qdisc} {cc}, {flows} flow{}", if *flows == 1 { "" } else { "s" }),
        }
    }

    /// The scenario as a user would write it, for so many seeds and packets lost with this probability.
    ///
    /// # Errors
    /// Names what Quell does not have.
    pub fn scenario(&self, seeds: u32, loss: f64) -> Result<String, String> {
        // A queue without a qdisc is one that never fills.
        let limit = self.limit.unwrap_or(100_000);
        let cake = |isolation: &str| {
            format!(
                "algorithm = \"cake\"\nbandwidth = \"{} Mbit/s\"\ndiffserv = \"besteffort\"\nisolation = \"{isolation}\"\n",
                self.rate_mbit
            )
        };
        let (shaped, blind) = (cake("flows"), cake("flowblind"));
        // Block G and what is remarked leave it at tc's default, which is ECT(1).
        let classifier = if self.block == "G" || self.is_remarked() { "ect1" } else { "any-ect" };
        let dual = format!(
            "algorithm = \"dualpi2\"
classifier = \"{classifier}\"
"
        );
        // The form that Linux has of each, the dialect says.
        let (aqm, buffer) = match self.qdisc.as_str() {
            "none" | "pfifo" => ("algorithm = \"drop-tail\"\n", format!("{limit} packets")),
            "codel" => ("algorithm = \"codel\"\n", format!("{limit} packets")),
            "fq_codel" => ("algorithm = \"fq-codel\"\n", format!("{limit} packets")),
            // The shaper is as fast as the link, which therefore holds nothing up.
            "cake" => (shaped.as_str(), format!("{limit} packets")),
            "cobalt" => (blind.as_str(), format!("{limit} packets")),
            // The probability is computed every 16 ms, as tc was told.
            "pie" => ("algorithm = \"pie\"\nupdate_interval = \"16 ms\"\n", format!("{limit} packets")),
            "fq_pie" => ("algorithm = \"fq-pie\"\nupdate_interval = \"16 ms\"\n", format!("{limit} packets")),
            // tc is told a depth of 1000, and the kernel takes 127.
            "sfq" => ("algorithm = \"sfq\"\n", format!("{limit} packets")),
            // "burst 30" and these thresholds make the weight 1/16. Below htb, which asks no empty queue, an idle time
            // leaves the average as it was.
            "choke" => (
                "algorithm = \"choke\"\nmin_th = \"20 packets\"\nmax_th = \"60 packets\"\nmax_p = 0.1\nweight = 0.0625\nidle = \"keeps\"\n",
                format!("{limit} packets"),
            ),
            "sfb" => ("algorithm = \"sfb\"\n", format!("{limit} packets")),
            // Likewise.
            "red" => (
                "algorithm = \"red\"\nmin_th = \"30 kB\"\nmax_th = \"90 kB\"\nmax_p = 0.1\nweight = 0.0625\nidle = \"keeps\"\n",
                format!("{limit} B"),
            ),
            // Its defaults; the limit is the buffer's.
            "dualpi2" => (dual.as_str(), format!("{limit} packets")),
            other => return Err(format!("no algorithm of Quell's is Linux's {other}")),
        };
        let (reno, cubic) = match self.has_ecn() {
            true => ("congestion = \"reno\"\necn = true\n", "congestion = \"cubic\"\necn = true\n"),
            false => ("congestion = \"reno\"\n", "congestion = \"cubic\"\n"),
        };
        let bbr = "congestion = \"bbr1\"\npacing = true\n";
        let dctcp = match self.is_remarked() {
            true => "congestion = \"dctcp\"\necn = true\nfeedback = \"exact\"\ncodepoint = \"ect1\"\n",
            false => "congestion = \"dctcp\"\necn = true\nfeedback = \"exact\"\n",
        };
        let Setting { flows, rate_mbit, seconds, warmup, .. } = self;
        let half = flows / 2;
        let all = if self.block == "U" { "tcp" } else { "hosts" };
        let groups: &[_] = match self.cc.as_str() {
            "reno" => &[(all, *flows, reno)],
            "cubic" => &[(all, *flows, cubic)],
            "reno+reno" => &[("near", half, reno), ("far", half, reno)],
            "cubic+cubic" => &[("near", half, cubic), ("far", half, cubic)],
            "bbr" => &[("hosts", *flows, bbr)],
            "bbr+cubic" => &[("bbr", half, bbr), ("cubic", half, cubic)],
            "cubic+dctcp" => &[("classic", half, cubic), ("l4s", half, dctcp)],
            other => return Err(format!("no congestion control of Quell's is Linux's {other}")),
        };
        // htb lets a packet go as a whole and takes the time of its transmission before the next one, so that an empty
        // path takes the two delays of netem and nothing more: it is a class here, too. CAKE does so by itself, and a
        // rate that falls is a link's; there the time of a packet is part of the delay, or of the way back's. The losses
        // of block S come with netem's own rate, which is a link's.
        let by_class = self.asked_loss.is_none()
            && self.variant.as_deref() != Some("to2m")
            && !matches!(self.qdisc.as_str(), "cake" | "cobalt");
        let transmission_ms = match self.asked_loss {
            None if !by_class => f64::from(PACKET) * 8.0 / f64::from(*rate_mbit) / 1e3,
            _ => 0.0,
        };
        let half_ms = f64::from(self.rtt_ms) / 2.0;
        let delay = (half_ms - transmission_ms).max(0.0);
        let back = (2.0 * half_ms - transmission_ms - delay).max(0.0);
        // What a path is longer than another is the delay of the hosts' own links.
        let access = if self.rtt2_ms.is_some() { "100 Gbit/s" } else { "none" };
        let mut text = format!(
            "schema = 1\ntitle = \"Linux: {}\"\ndialect = \"linux\"\nduration = \"{seconds} s\"\n\
             warmup = \"{warmup} s\"\nseeds = {seeds}\nmean_packet = \"{PACKET} B\"\n\n[dumbbell]\n\
             rate = \"{}\"\ndelay = \"{delay} ms\"\nbuffer = \"{buffer}\"\naccess_rate = \"{access}\"\n",
            self.name(),
            if by_class { "100 Gbit/s".to_string() } else { format!("{rate_mbit} Mbit/s") },
        );
        if by_class {
            let _ = writeln!(
                text,
                "classes = [{{ name = \"all\", rate = \"{rate_mbit} Mbit/s\", burst = \"1540 B\", cburst = \"1540 B\", \
                 quantum = \"{PACKET} B\" }}]",
            );
        }
        if self.has_ecn() || self.block == "L" {
            text.push_str("ecn = true\n");
        }
        if loss > 0.0 {
            let _ = writeln!(text, "loss = {loss}");
        }
        let mut way_back = "";
        if self.variant.as_deref() == Some("to2m") {
            let _ = writeln!(text, "changes = [{{ at = \"19.5 s\", rate = \"2 Mbit/s\" }}]");
            way_back = "changes = []\n";
        }
        let _ = write!(
            text,
            "\n[dumbbell.reverse]\nrate = \"100 Gbit/s\"\ndelay = \"{back} ms\"\nloss = 0.0\naqm = {{ algorithm = \"drop-tail\" }}\n\
             buffer = \"100000 packets\"\n{way_back}\n[[aqm]]\n{aqm}",
        );
        for (name, count, tcp) in groups {
            let start = match self.apart_ms {
                Some(apart) => format!("{{ between = [\"0 ms\", \"{apart} ms\"] }}"),
                // Before the first packet goes, addresses are resolved at both ends of the path, half a round trip
                // each. What BBR leaves to chance comes from the clock: seeds begin a little apart.
                None => format!("{{ between = [\"{0} ms\", \"{0}.001 ms\"] }}", self.rtt_ms),
            };
            let own = self.rtt2_ms.map_or(String::new(), |far| {
                let rtt_ms = f64::from(if *name == "far" { far } else { self.rtt_ms }) - transmission_ms;
                format!("rtt = \"{rtt_ms} ms\"\n")
            });
            let _ = write!(
                text,
                "\n[[flows]]\nname = \"{name}\"\ncount = {count}\n{own}start = {start}\n\n[flows.tcp]\n{tcp}",
            );
        }
        if self.block == "U" {
            // A packet for every second one of the link, early or late by up to a quarter of its time as the program sends it;
            // which of them meet a full buffer depends on when the first one comes, and seeds have others.
            let _ = write!(
                text,
                "\n[[flows]]\nname = \"udp\"\nkind = \"udp\"\nrate = \"{} kbit/s\"\ngaps = \"jittered\"\npacket = \"{PACKET} B\"\n\
                 start = {{ between = [\"0 s\", \"2.4 ms\"] }}\n",
                rate_mbit * 500,
            );
        }
        Ok(text)
    }
}

impl Case {
    /// The mean over the boots.
    fn loss(&self) -> f64 {
        let rates = values(&self.boots, "loss");
        rates.iter().sum::<f64>() / rates.len() as f64
    }
}

impl run::Case for Case {
    fn name(&self) -> String {
        self.setting.name()
    }

    fn queue(&self) -> &str {
        &self.setting.qdisc
    }

    fn senders(&self) -> &str {
        &self.setting.cc
    }

    fn effort(&self) -> u64 {
        let s = &self.setting;
        // A lossy gigabit is not filled.
        let rate = if s.asked_loss.is_some() { 50 } else { s.rate_mbit };
        u64::from(rate) * 1_000_000 / 8 / u64::from(PACKET) * u64::from(s.seconds)
    }

    fn scenarios(&self, seeds: u32) -> Result<Vec<String>, String> {
        // The share that was lost in fact: of 60 packets, asked for one in a thousand, chance decides.
        let loss = if self.setting.asked_loss.is_some() { self.loss() } else { 0.0 };
        Ok(vec![self.setting.scenario(seeds, loss)?])
    }

    fn mean_packet(&self) -> f64 {
        PACKET.into()
    }

    fn drops_at_head(&self) -> bool {
        matches!(self.setting.qdisc.as_str(), "codel" | "fq_codel" | "cake" | "cobalt" | "dualpi2")
    }

    fn rows(&self, samples: &Samples<'_>) -> Vec<ComparedFigure> {
        let row = |figure: &Figure| {
            let reference = values(&self.boots, figure.column);
            let (name, samples, unit) = (self.setting.name(), samples(figure.metric), unit(figure));
            match self.setting.block.as_str() {
                "G" => figure.row_within(&name, &reference, &samples, unit),
                _ => figure.row(&name, &reference, &samples, unit),
            }
        };
        self.setting.figures().iter().filter_map(row).collect()
    }

    fn rows_of_classes(&self, samples: &dyn Fn(&str, Metric) -> Vec<f64>) -> Vec<ComparedFigure> {
        let row = |(class, figure): &(&str, Figure)| {
            let reference = values(&self.boots, figure.column);
            figure.row(&self.setting.name(), &reference, &samples(class, figure.metric), unit(figure))
        };
        OF_GROUPS.iter().filter_map(row).collect()
    }
}

/// The divisor of Quell's values.
fn unit(figure: &Figure) -> f64 {
    if figure.metric == Metric::Goodput { 1e6 } else { 1.0 }
}

/// Every case with its boots.
pub fn cases() -> Vec<Case> {
    table::groups(RESULTS).into_iter().map(|(setting, boots)| Case { setting, boots }).collect()
}

/// The cases of block G.
pub fn grid() -> Vec<Case> {
    table::groups(GRID).into_iter().map(|(setting, boots)| Case { setting, boots }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Standing;

    /// A third of 528 settings, one with a rate that changes and one with offloads.
    #[test]
    fn the_grid_is_whole() {
        let grid = grid();
        assert_eq!(grid.len(), 528 / 3 + 2);
        assert!(grid.iter().all(|c| c.boots.len() == 3 && c.setting.scenario(1, 0.0).is_ok()));
    }

    /// Between the boots, on the side where Quell is; beyond them the band alone counts.
    #[test]
    fn a_figure_of_the_grid_may_lie_between_boots() {
        let boots = [0.80, 0.90, 0.97];
        let verdict = |quell: f64| UTILIZATION.row_within("x", &boots, &[quell], 1.0).unwrap().verdict;
        let inside = [0.80, 0.85, 0.97].map(verdict);
        assert_eq!(inside, [Standing::Inside; 3]);
        assert_eq!([0.799, 0.971].map(verdict), [Standing::Outside; 2]);
        let close = UTILIZATION.row_within("x", &[0.90, 0.90], &[0.909], 1.0).unwrap();
        assert_eq!((close.verdict, close.band), (Standing::Inside, 1.0));
        assert_eq!(UTILIZATION.row("x", &boots, &[0.80], 1.0).unwrap().verdict, Standing::Outside);
    }

    #[test]
    fn names_tell_settings_apart() {
        let cases = cases();
        assert_eq!(cases.iter().map(|c| c.boots.len()).sum::<usize>(), RESULTS.lines().count() - 1);
        assert!(cases.iter().all(|c| c.boots.len() >= 3), "several boots of each");
    }
}
