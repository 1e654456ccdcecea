//! The options of a measurement.

use std::net::IpAddr;

use quell_units::Duration;

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
}

impl Default for Options {
    fn default() -> Self {
        Options { interval: Duration::from_secs(1), window: Duration::from_secs(60), inside: Vec::new() }
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
