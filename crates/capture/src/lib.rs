//! R, N and C from a packet capture.
//!
//! The quantities that AP-RED follows online (Chen 2010, section 4.4), and that every design here asks for,
//! from a file that `tcpdump` or Wireshark wrote (pcap or pcapng, as it is or compressed by gzip or zstd; Ethernet, Linux cooked, PPP, BSD loopback,
//! raw IP, 802.11 with or without radiotap; beneath VLAN tags, PPPoE sessions, MPLS labels, GRE, VXLAN and IP in IP). It is read once; memory is bounded by the
//! flows and packets of a window, not by the file.
//!
//! **N.** A flow is a 5-tuple: addresses, ports, protocol. It counts from its first packet until
//! `window` after its last one (Chen 2010, section 4.4, after the IPMON measurements: 60 s). Flows that have
//! ended count until then, so a link with short transfers shows more flows than share it at a time. Fluid
//! models mean those that do: TCP flows that sent data in an interval are counted beside
//! ([`FlowCount::active`]).
//!
//! **R.** The time from a connection's SYN to the acknowledgment that completes its handshake (Chen 2010,
//! section 4.4). Wherever on the path the capture was made, the SYN goes on from there to the server, the
//! answer comes back through to the client, and the acknowledgment returns: one whole round trip. A handshake
//! with a repeated SYN gives none, because it is unknown which one was answered (Karn). It includes the
//! queueing that the three packets met, and what the hosts took.
//!
//! **C.** The paper takes it as known. Here are three estimates, each with what it assumes
//! ([`Capacity`]). Where the capture was made decides which holds: behind the slowest link the spacing of
//! packets shows it, before that link only what comes back does.
//!
//! Two directions are kept apart, for a link carries both: *up* is what the side sends that opens connections, *down*
//! what comes back to it. The opener is the end that sent the SYN; if that was not captured, it is the end with the
//! higher port, or else the one that sent first. On an access link that is the link's own direction. Where both sides
//! of a link open connections it is not, and [`Options::inside`] says who is on one side: up is then what leaves it.
//!
//! Rates and packets have their size at a layer ([`Options::layer`]): by default IP's, for a link's own headers differ from
//! place to place. Bytes are those of whole frames, as `capinfos` counts them. Frames of several packets, as hosts with
//! segmentation or receive offload capture them, are counted as the packets that the path carries.
#![deny(missing_docs)]

mod arrivals;
mod bulk;
mod clock;
mod echoes;
mod error;
mod file;
mod flows;
mod measure;
mod options;
mod packet;
mod rate;
mod report;
mod segments;
#[cfg(test)]
mod tests;

pub use arrivals::{Arrival, ArrivalOptions, Arrivals, Size, arrivals};
pub use bulk::{Again, Transfer, Transfers, Trip, transfers};
pub use error::{ArrivalsError, CaptureError, Found, OptionError};
pub use measure::measure;
pub use options::{Layer, Options, Subnet};
pub use report::{
    Acknowledged, Capacity, CapacityVerdict, Damage, Direction, Echoes, FlowCount, Format, Interval,
    LoadedTrips, NotIpKind, Pairs, Report, RoundTrips, Summary, Traffic, TripMethod, Waiting,
};
