//! The measurements made with ns-3: `ns3/runs.csv`, `ns3/dumbbell.cc`, and how Quell runs them.

use serde::Deserialize;

use crate::compare::{ComparedFigure, Figure, Samples};
use crate::linux::{DEVIATION, LOSS, QUEUE, UTILIZATION};
use crate::run;
use crate::table::{self, CsvLine, values};

const RUNS: &str = include_str!("../ns3/runs.csv");

/// A segment with the headers of TCP, IP and PPP.
const PACKET: u32 = 1502;

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Setting {
    queue: String,
    tcp: String,
    rate_mbit: u32,
    rtt_ms: u32,
    flows: u32,
    bdp_packets: u32,
    seconds: u32,
    warmup: u32,
}

/// A setting and the seeds that ran it.
#[derive(Clone, Debug)]
pub struct Case {
    setting: Setting,
    runs: Vec<CsvLine>,
}

const FIGURES: [Figure; 4] = [UTILIZATION, LOSS, QUEUE, DEVIATION];

impl run::Case for Case {
    fn name(&self) -> String {
        let Setting { queue, tcp, rate_mbit, rtt_ms, flows, .. } = &self.setting;
        format!("{queue} {tcp}, {rate_mbit} Mbit/s, {rtt_ms} ms, {flows} flows")
    }

    fn queue(&self) -> &str {
        &self.setting.queue
    }

    fn senders(&self) -> &str {
        &self.setting.tcp
    }

    fn effort(&self) -> u64 {
        let s = &self.setting;
        u64::from(s.rate_mbit) * 1_000_000 / 8 / u64::from(PACKET) * u64::from(s.seconds)
    }

    fn scenarios(&self, seeds: u32) -> Result<Vec<String>, String> {
        let Setting { queue, tcp, rate_mbit, rtt_ms, flows, bdp_packets, seconds, warmup } = &self.setting;
        let bdp = f64::from(*bdp_packets);
        // One packet waits in ns-3's device, which its queue discs do not see: buffers and thresholds have one more. Each
        // packet leaves them when the one before it is sent: at the same place it has waited a packet's time less.
        let target = 5.0 + f64::from(PACKET) * 8.0 / f64::from(*rate_mbit) * 1e-3;
        // Its CoDel drops where a packet of full size remains, Quell's where more than the MTU does.
        let codel = format!("target = \"{target} ms\"\nmtu = \"{} B\"\narithmetic = \"linux\"\n", PACKET - 1);
        let (aqm, buffer) = match queue.as_str() {
            "drop-tail" => ("algorithm = \"drop-tail\"\n".to_string(), bdp_packets + 1),
            "red" => {
                let threshold = |share: f64| (bdp * share).round() + 1.0;
                let red = format!(
                    "algorithm = \"red\"\nmin_th = \"{} packets\"\nmax_th = \"{} packets\"\nmax_p = 0.1\n\
                     weight = 0.002\nspacing = \"wait\"\ngentle = true\n",
                    threshold(0.25),
                    threshold(0.75),
                );
                (red, 1001)
            }
            "codel" => (format!("algorithm = \"codel\"\n{codel}"), 1001),
            // Linux's COBALT asks for the time of four packets, that of ns-3 for none.
            "cobalt" => (format!("algorithm = \"cobalt\"\ntarget = \"{target} ms\"\nmtu = \"1 B\"\n"), 1001),
            "fq-codel" => (
                // In none of the runs do two flows share one of ns-3's 1024 queues.
                format!(
                    "algorithm = \"fq-codel\"\nflows = 65536\nquantum = \"{PACKET} B\"\nrules = \"ns-3\"\n{codel}"
                ),
                10241,
            ),
            "pie" => ("algorithm = \"pie\"\nderandomize = false\n".to_string(), 1001),
            other => return Err(format!("no algorithm of Quell's is ns-3's {other}")),
        };
        let control = match tcp.as_str() {
            // It grows with each acknowledgment, of however many packets.
            "newreno" => "congestion = \"reno\"\ngrowth = \"acknowledgments\"\n",
            // Its HyStart ends slow start where the round-trip time has doubled.
            "cubic" => "congestion = \"cubic\"\nreno_friendly = \"rfc8312\"\ngrowth = \"whole-packets\"\n",
            other => return Err(format!("no congestion control of Quell's is ns-3's {other}")),
        };
        let (low, high) = (f64::from(*rtt_ms) * 0.8, f64::from(*rtt_ms) * 1.2);
        Ok(vec![format!(
            "schema = 1\ntitle = \"ns-3: {}\"\nduration = \"{seconds} s\"\nwarmup = \"{warmup} s\"\n\
             seeds = {seeds}\nmean_packet = \"{PACKET} B\"\n\n[dumbbell]\nrate = \"{rate_mbit} Mbit/s\"\n\
             delay = \"1 ms\"\nbuffer = \"{buffer} packets\"\naccess_rate = \"10 Gbit/s\"\n\
             reverse = {{ aqm = {{ algorithm = \"drop-tail\" }}, buffer = \"100000 packets\" }}\n\n[[aqm]]\n{aqm}\n\
             [[flows]]\nname = \"tcp\"\ncount = {flows}\nrtt = {{ grid = [\"{low} ms\", \"{high} ms\"] }}\n\
             start = {{ between = [\"0 s\", \"1 s\"] }}\n\n[flows.tcp]\n{control}recovery = \"prr\"\nrules = \"ns-3\"\n\
             packet = \"1448 B\"\nheader = \"54 B\"\ninitial_window = 10\n\
             delayed_ack = \"40 ms\"\ngranularity = \"1 ms\"\ninitial_rto = \"1 s\"\nmin_rto = \"200 ms\"\n\
             limited_transmit = true\n",
            self.name(),
        )])
    }

    fn mean_packet(&self) -> f64 {
        PACKET.into()
    }

    fn drops_at_head(&self) -> bool {
        matches!(self.setting.queue.as_str(), "codel" | "cobalt" | "fq-codel")
    }

    fn rows(&self, samples: &Samples<'_>) -> Vec<ComparedFigure> {
        let name = self.name();
        let row = |f: &Figure| f.row(&name, &values(&self.runs, f.column), &samples(f.metric), 1.0);
        FIGURES.iter().filter_map(row).collect()
    }
}

/// Every case with its runs.
pub fn cases() -> Vec<Case> {
    table::groups(RUNS).into_iter().map(|(setting, runs)| Case { setting, runs }).collect()
}
