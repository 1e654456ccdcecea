//! The arguments of `quell wire`.

use std::path::PathBuf;

use quell_units::{BitRate, Duration, QueueSize};

use crate::args::{ViewArgs, assignment, whole};

const HELP: &str = "\
Quell makes two hosts in network namespaces, with the algorithm between them. You need no root rights if the kernel \
allows user namespaces. COMMAND runs on the near host; $QUELL_FAR is the address of the far one.

  quell wire --rate 10Mbit/s --rtt 50ms --aqm codel -- ping -c 3 10.65.0.1
  quell wire --rate 20Mbit/s --rtt 40ms --aqm red --ecn --far 'iperf3 -s' -- sh -c 'iperf3 -c $QUELL_FAR'
  quell wire --up 18Mbit/s --down 95Mbit/s --rtt 20ms --aqm cake -- ping -c 3 10.65.0.1
  quell wire scenarios/dumbbell.toml --out live";

/// A wire.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Scenario file whose algorithms and traffic to run live; results are kept as by `quell run`.
    #[arg(value_name = "SCENARIO")]
    pub scenario: Option<PathBuf>,
    /// Rate of the link in both directions, or in the other one if you give --up or --down.
    #[arg(long, value_name = "RATE", conflicts_with = "scenario")]
    pub rate: Option<BitRate>,
    /// Rate to the far host; default: --rate.
    #[arg(long, value_name = "RATE", conflicts_with = "scenario")]
    pub up: Option<BitRate>,
    /// Rate from the far host; default: --rate.
    #[arg(long, value_name = "RATE", conflicts_with = "scenario")]
    pub down: Option<BitRate>,
    /// Round-trip time to add, without queueing; default: none.
    #[arg(long, value_name = "TIME", conflicts_with = "scenario")]
    pub rtt: Option<Duration>,
    /// Buffer of each direction; default: a bandwidth-delay product, at least 20 packets, or 200 ms if the algorithm
    /// needs more.
    #[arg(long, value_name = "SIZE", conflicts_with = "scenario")]
    pub buffer: Option<QueueSize>,
    /// Algorithm of both directions; default: drop-tail. Of a scenario: the algorithms to run, separated by commas;
    /// default: all in it.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub aqm: Vec<String>,
    /// Set a parameter of the algorithm, such as `max_p=0.1`, or a field of the scenario.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,
    /// Mark ECN-capable packets instead of dropping them; the hosts ask for ECN.
    #[arg(long, conflicts_with = "scenario")]
    pub ecn: bool,
    /// The largest IP packet in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 1500, conflicts_with = "scenario", value_parser = whole(1..=u16::MAX))]
    pub mtu: u16,
    /// The hosts' congestion control, one that the kernel has.
    #[arg(long, value_name = "NAME", conflicts_with = "scenario")]
    pub congestion: Option<String>,
    /// Seed of the algorithm's random numbers; default: drawn, and kept in the log. For a scenario: its seeds.
    #[arg(long, value_name = "SEED", value_parser = whole(0..=u64::MAX))]
    pub seed: Option<u64>,
    /// Run a scenario's algorithms with seeds 1 to N; default: its seeds.
    #[arg(long, value_name = "N", requires = "scenario", conflicts_with = "seed", value_parser = whole(1..=u32::MAX))]
    pub seeds: Option<u32>,
    /// Log arrivals and decisions to FILE, for `quell gateway replay`.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Save a scenario's results in DIR; default: a new folder in results/.
    #[arg(long, value_name = "DIR", requires = "scenario")]
    pub out: Option<PathBuf>,
    /// Replace what is in DIR.
    #[arg(long, requires = "out")]
    pub overwrite: bool,
    /// What to show of a scenario's results.
    #[command(flatten)]
    pub view: ViewArgs,
    /// Also run COMMAND on the far host, with `sh -c`.
    #[arg(long, value_name = "COMMAND", conflicts_with = "scenario")]
    pub far: Option<String>,
    /// Use packet sockets and veth devices even if TUN is allowed.
    #[arg(long)]
    pub packet_sockets: bool,
    /// Command to run on the near host; default: a shell.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "scenario")]
    pub command: Vec<String>,
}
