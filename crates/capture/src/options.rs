//! The options of a measurement.

use std::net::IpAddr;

use quell_units::{BitRate, Bytes, Duration, LinkLayer};

use crate::error::OptionError;

/// The options of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The length of an interval; a second.
    pub interval: Duration,
    /// The time for which a flow counts after its last packet; 60 s (Chen 2010, section 4.4).
    pub window: Duration,
    /// The addresses on one side of the link; none: the side that opens connections.
    pub inside: Vec<Subnet>,
    /// The names of the interfaces whose packets are measured; none: all.
    pub interfaces: Vec<String>,
    /// The layer at which rates and packets are given; IP.
    pub layer: Layer,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            interval: Duration::from_secs(1),
            window: Duration::from_secs(60),
            inside: Vec::new(),
            interfaces: Vec::new(),
            layer: Layer::Ip,
        }
    }
}

/// The layer at which a packet has its size, and a link its rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layer {
    /// IP packets: of a tunnel, the outer ones.
    #[default]
    Ip,
    /// Frames as the capture has them, with their headers.
    Capture,
    /// A link by its word in tc-cake(8): what a packet takes on the wire, with check sums, gaps and cells.
    Link(&'static str, LinkLayer),
}

impl Layer {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Layer::Ip => "ip",
            Layer::Capture => "capture",
            Layer::Link(word, _) => word,
        }
    }

    /// The size of a packet.
    pub(crate) fn size(self, ip: u32, frame: u32) -> u32 {
        match self {
            Layer::Ip => ip,
            Layer::Capture => frame,
            Layer::Link(_, link) => {
                u32::try_from(link.on_wire(Bytes::new(ip.into())).get()).unwrap_or(u32::MAX)
            }
        }
    }
}

impl std::str::FromStr for Layer {
    type Err = OptionError;
    fn from_str(text: &str) -> Result<Self, OptionError> {
        let word = match text {
            "ip" => return Ok(Layer::Ip),
            "capture" => return Ok(Layer::Capture),
            // Ethernet over PTM, as it is without PPPoE.
            "ptm" => "bridged-ptm",
            other => other,
        };
        let wrong = || OptionError {
            option: "layer",
            value: text.to_string(),
            rule: "must be ip, capture, ptm, or a word of tc-cake(8): ethernet, docsis, pppoe-ptm, bridged-ptm, \
                   conservative, raw, ipoa-vcmux, ipoa-llcsnap, bridged-vcmux, bridged-llcsnap, pppoa-vcmux, pppoa-llc, \
                   pppoe-vcmux or pppoe-llcsnap",
        };
        let word = LinkLayer::words().find(|known| *known == word).ok_or_else(wrong)?;
        // The rate is what is measured.
        let link = LinkLayer::named(word, BitRate::from_bps(0)).ok_or_else(wrong)?;
        Ok(Layer::Link(word, link))
    }
}

/// Addresses with a common beginning, such as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// IPv4 mapped into IPv6.
    address: u128,
    bits: u32,
}

impl Subnet {
    pub(crate) fn contains(&self, address: &[u8; 16]) -> bool {
        let differ = self.address ^ u128::from_be_bytes(*address);
        differ.leading_zeros() >= self.bits
    }
}

impl std::str::FromStr for Subnet {
    type Err = OptionError;
    fn from_str(text: &str) -> Result<Self, OptionError> {
        let wrong = || OptionError {
            option: "network",
            value: text.to_string(),
            rule: "must be an address, or one with its length such as 10.0.0.0/8",
        };
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u32>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let (address, all, before) = match address {
            IpAddr::V4(v4) => (v4.to_ipv6_mapped(), 32, 96),
            IpAddr::V6(v6) => (v6, 128, 0),
        };
        let bits = bits.unwrap_or(all);
        if bits > all {
            return Err(wrong());
        }
        Ok(Subnet { address: u128::from_be_bytes(address.octets()), bits: before + bits })
    }
}
