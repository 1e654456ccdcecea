//! Options that cannot be used, and captures that cannot be measured.

use std::io;
use std::net::IpAddr;

use quell_units::text::cut;

use crate::report::{Damage, Direction};

/// An option that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option} = {}: {rule}", cut(.value))]
pub struct OptionError {
    /// The option.
    pub option: &'static str,
    /// Its value.
    pub value: String,
    /// The rule.
    pub rule: &'static str,
}

/// Refuses an option unless `ok`.
pub(crate) fn require(
    ok: bool,
    option: &'static str,
    value: impl ToString,
    rule: &'static str,
) -> Result<(), OptionError> {
    if ok { Ok(()) } else { Err(OptionError { option, value: value.to_string(), rule }) }
}

/// The reason why a capture cannot be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file is none.
    #[error("not a packet capture: {why}")]
    NotACapture {
        /// The thing that it is instead.
        why: String,
    },
    /// It cannot be read.
    #[error("cannot read the capture: {0}")]
    Io(#[from] io::Error),
    /// An option breaks a rule.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// It has no such interface.
    #[error(
        "has no interface \"{}\"; it has: {}",
        cut(.wanted),
        if .there.is_empty() { "none with a name".to_string() } else { .there.join(", ") }
    )]
    NoInterface {
        /// The name.
        wanted: String,
        /// Those that it has.
        there: Vec<String>,
    },
}

/// Packets of one interface and direction in a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The interface's name; none in a pcap file.
    pub interface: Option<String>,
    /// Their direction.
    pub direction: Direction,
    /// Their number.
    pub packets: u64,
    /// The address that the first of them came from.
    pub from: IpAddr,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let way = match self.direction {
            Direction::Up => "up",
            Direction::Down => "down",
        };
        if let Some(name) = &self.interface {
            write!(f, "\"{}\" ", cut(name))?;
        }
        write!(f, "{way}: {} packets, the first from {}", self.packets, self.from)
    }
}

fn listed(found: &[Found]) -> String {
    let lines: Vec<String> = found.iter().map(Found::to_string).collect();
    lines.join("; ")
}

/// The reason why the arrivals of a capture cannot be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArrivalsError {
    /// It cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// It is cut or damaged.
    #[error("the capture is incomplete: {} at byte {}; --partial takes what lies before", .0.why, .0.at_byte)]
    Damaged(Damage),
    /// No packet is meant.
    #[error(
        "has no packets to take: {others} of its packets come from elsewhere or go the other way, and {unreadable} have \
         no IP header or no time"
    )]
    None {
        /// Packets that were not meant.
        others: u64,
        /// Packets that could not be read.
        unreadable: u64,
    },
    /// It has packets of several interfaces.
    #[error("has packets of several interfaces; choose one with --interface NAME: {}", listed(.found))]
    Interfaces {
        /// What it has.
        found: Vec<Found>,
    },
    /// It has no such interface.
    #[error("has no interface \"{}\"; it has: {}", cut(.wanted), .there.join(", "))]
    NoInterface {
        /// The name.
        wanted: String,
        /// Those that it has.
        there: Vec<String>,
    },
    /// It has packets of both directions.
    #[error(
        "has packets of both directions, but a link carries only one; choose it with --direction up or down, or with \
         --src ADDRESS: {}",
        listed(.found)
    )]
    Directions {
        /// What it has.
        found: Vec<Found>,
    },
    /// A packet is larger than a scenario's.
    #[error(
        "has a packet of {bytes} bytes, and at most 65535 are possible: capture behind the host's card, or switch off its \
         segmentation and receive offload (ethtool -K ... tso off gso off gro off)"
    )]
    TooLarge {
        /// Its size.
        bytes: u32,
    },
    /// There are more packets than a scenario may have.
    #[error("has more than {most} packets; cut it, as by editcap -i SECONDS or tcpdump -c COUNT")]
    TooMany {
        /// The most.
        most: usize,
    },
}
