//! Sizes: bytes, packets, and a queue's size in either.

use core::fmt;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// `n` bytes.
    #[inline]
    pub const fn new(n: u64) -> Self {
        Bytes(n)
    }

    /// The number.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A number of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Packets(u32);

impl Packets {
    /// `n` packets.
    #[inline]
    pub const fn new(n: u32) -> Self {
        Packets(n)
    }

    /// The number.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// A size of a queue, in packets or in bytes; a threshold may be a fraction of a packet.
///
/// The unit is part of the value: an algorithm whose thresholds are in bytes measures its queue in
/// bytes, so no separate switch exists that could contradict it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueSize {
    /// So many packets of whatever size.
    Packets(f64),
    /// So many bytes.
    Bytes(f64),
}

impl QueueSize {
    /// The number without its unit.
    pub fn value(self) -> f64 {
        match self {
            QueueSize::Packets(x) | QueueSize::Bytes(x) => x,
        }
    }

    /// Converts to packets of `mean_packet` bytes.
    pub fn in_packets(self, mean_packet: Bytes) -> f64 {
        match self {
            QueueSize::Packets(x) => x,
            QueueSize::Bytes(x) => x / mean_packet.get() as f64,
        }
    }

    /// Converts to bytes, at `mean_packet` bytes a packet.
    pub fn in_bytes(self, mean_packet: Bytes) -> f64 {
        match self {
            QueueSize::Packets(x) => x * mean_packet.get() as f64,
            QueueSize::Bytes(x) => x,
        }
    }

    /// The same unit, `x` as the number.
    pub fn with_value(self, x: f64) -> Self {
        match self {
            QueueSize::Packets(_) => QueueSize::Packets(x),
            QueueSize::Bytes(_) => QueueSize::Bytes(x),
        }
    }

    /// True if both count packets or both count bytes.
    pub fn same_unit(self, other: QueueSize) -> bool {
        matches!(
            (self, other),
            (QueueSize::Packets(_), QueueSize::Packets(_)) | (QueueSize::Bytes(_), QueueSize::Bytes(_))
        )
    }
}

fn fmt_bytes(x: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let whole_tens = (x / 10.0) as u64 as f64 * 10.0 == x;
    if x >= 1e6 && whole_tens {
        write!(f, "{} MB", x / 1e6)
    } else if x >= 1e3 && whole_tens {
        write!(f, "{} kB", x / 1e3)
    } else {
        write!(f, "{x} B")
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_bytes(self.0 as f64, f)
    }
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        QueueSize::Packets(self.0 as f64).fmt(f)
    }
}

impl fmt::Display for QueueSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            QueueSize::Packets(1.0) => f.write_str("1 packet"),
            QueueSize::Packets(x) => write!(f, "{x} packets"),
            QueueSize::Bytes(x) => fmt_bytes(x, f),
        }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn sizes_print_what_they_parse() {
        for text in ["500 B", "1.5 kB", "2 MB", "0 B"] {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
        for text in ["1 packet", "67.5 packets", "300 kB", "77 B"] {
            assert_eq!(text.parse::<QueueSize>().unwrap().to_string(), text);
        }
        for bytes in (0..100_000).map(|n| n * 10).chain((0..50_000).map(|n| n * 7_919 + 1)) {
            let size = QueueSize::Bytes(f64::from(bytes));
            assert_eq!(size.to_string().parse(), Ok(size), "{size}");
        }
        for size in [32479.999999999996, 1e6 + 0.25, 0.1, 1e300].map(QueueSize::Bytes) {
            assert_eq!(size.to_string().parse(), Ok(size), "{size}");
        }
        assert_eq!("1 KiB".parse::<Bytes>().unwrap(), Bytes::new(1024));
        assert!("50".parse::<QueueSize>().is_err());
        assert!("50 packets".parse::<Bytes>().is_err());
    }

    #[test]
    fn a_queue_size_converts_at_the_mean_packet() {
        let m = Bytes::new(500);
        assert_eq!(QueueSize::Packets(20.0).in_bytes(m), 10_000.0);
        assert_eq!(QueueSize::Bytes(10_000.0).in_packets(m), 20.0);
    }
}
