//! What a file says beside its events.

/// The version of IP in whose headers packets are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// IPv4.
    #[default]
    V4,
    /// IPv6. Sizes are those of the scenario in either version, so the larger header leaves 20 bytes less of data.
    V6,
}

/// The names and circumstances of a run, which a trace does not hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// The run in a line: scenario, point, algorithm, seed.
    pub title: String,
    /// The program that writes, with its version.
    pub program: String,
    /// The names of the flows by their number in the network; those without one are "flow N".
    pub flows: Vec<String>,
    /// The algorithm of each traced link, in the order of the trace's links; those that are not told or empty are "the
    /// queue's algorithm".
    pub algorithms: Vec<String>,
    /// The headers of packets.
    pub version: Version,
    /// The data of packets is written, too, which the simulator does not have: zeros. Wireshark checks the checksums of
    /// packets that are whole, and of no others.
    pub whole: bool,
}

impl About {
    /// The name of a flow.
    pub(crate) fn flow(&self, number: u32) -> String {
        let name = self.flows.get(number as usize).filter(|name| !name.is_empty());
        name.cloned().unwrap_or_else(|| format!("flow {number}"))
    }

    /// The algorithm of a traced link.
    pub(crate) fn algorithm(&self, link: usize) -> &str {
        let name = self.algorithms.get(link).filter(|name| !name.is_empty());
        name.map_or("the queue's algorithm", String::as_str)
    }
}

/// A format of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// See [`pcapng`](crate::pcapng).
    Pcapng,
    /// See [`qlog`](crate::qlog).
    Qlog,
    /// See [`perfetto`](crate::perfetto).
    Perfetto,
}

impl Format {
    /// The ending of its files' names.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Pcapng => "pcapng",
            Format::Qlog => "sqlog",
            Format::Perfetto => "pftrace",
        }
    }

    /// Bytes that a packet takes at a link that it crosses, and that a packet of data takes at its sender; measured, for
    /// estimates.
    pub fn bytes_per_packet(self) -> (u64, u64) {
        match self {
            Format::Pcapng => (260, 0),
            Format::Qlog => (0, 550),
            Format::Perfetto => (120, 120),
        }
    }
}
