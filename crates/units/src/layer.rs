//! Links as packets see them: what a packet takes on the wire beside its own bytes.

use crate::{BitRate, Bytes, Duration};

/// Framing that a link adds to packets beside the overhead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Framing {
    /// None.
    #[default]
    None,
    /// Cells of ATM: 48 bytes are sent as 53, the last ones of a packet too (ITU-T I.361).
    Atm,
    /// Code words of PTM: 64 bytes are sent as 65 (ITU-T G.992.3, 64b/65b), each begun one counted, as tc-cake(8) does.
    Ptm,
}

/// The layer at which the size of a packet is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layer {
    /// An IP packet, from which an overhead is counted.
    #[default]
    Ip,
    /// An Ethernet frame with its header of 14 bytes, and without its check sum, as Linux's queues count.
    Ethernet,
}

impl Layer {
    /// Bytes of a packet at this layer that are not of the IP packet.
    pub const fn header(self) -> Bytes {
        Bytes::new(match self {
            Layer::Ip => 0,
            Layer::Ethernet => 14,
        })
    }
}

/// A link's rate, and what a packet takes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkLayer {
    /// Its rate, on the wire.
    pub rate: BitRate,
    /// The layer at which sizes of packets are given.
    pub layer: Layer,
    /// Bytes on the wire beside the IP packet: headers, check sums, gaps.
    pub overhead: Bytes,
    /// The smallest packet with its overhead: shorter ones are padded. None if it is 0.
    pub smallest: Bytes,
    /// Framing of what that makes.
    pub framing: Framing,
}

impl LinkLayer {
    /// A link that carries IP packets and nothing else.
    pub const fn plain(rate: BitRate) -> Self {
        LinkLayer {
            rate,
            layer: Layer::Ip,
            overhead: Bytes::new(0),
            smallest: Bytes::new(0),
            framing: Framing::None,
        }
    }

    /// A link of a kind that tc-cake(8) has a word for, such as `ethernet` or `pppoe-llcsnap`.
    pub fn named(word: &str, rate: BitRate) -> Option<Self> {
        let (_, overhead, smallest, framing) = *LAYERS.iter().find(|(name, ..)| *name == word)?;
        let (overhead, smallest) = (Bytes::new(overhead), Bytes::new(smallest));
        Some(LinkLayer { overhead, smallest, framing, ..LinkLayer::plain(rate) })
    }

    /// The words that [`named`](Self::named) knows.
    pub fn words() -> impl Iterator<Item = &'static str> {
        LAYERS.iter().map(|(word, ..)| *word)
    }

    /// The same link with sizes of packets given at another layer.
    #[must_use]
    pub const fn seen_from(self, layer: Layer) -> Self {
        LinkLayer { layer, ..self }
    }

    /// What a packet of this size takes on the wire.
    #[inline]
    pub fn on_wire(&self, size: Bytes) -> Bytes {
        let bytes = self.packet(size).saturating_add(self.overhead.get()).max(self.smallest.get());
        Bytes::new(match self.framing {
            Framing::None => bytes,
            Framing::Atm => bytes.div_ceil(48).saturating_mul(53),
            Framing::Ptm => bytes.saturating_add(bytes.div_ceil(64)),
        })
    }

    /// The time that the link is busy with a packet of this size.
    #[inline]
    pub fn transmission_time(&self, size: Bytes) -> Duration {
        self.rate.transmission_time(self.on_wire(size))
    }

    /// The rate of IP packets that a busy link carries if all are of this size, to the nearest bit per second.
    pub fn of_packets(&self, size: Bytes) -> BitRate {
        let (packet, wire) = (u128::from(self.packet(size)), u128::from(self.on_wire(size).get()));
        if wire == 0 {
            return self.rate;
        }
        let bps = (u128::from(self.rate.bps()) * packet + wire / 2) / wire;
        BitRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
    }

    /// The IP packet in a packet of this size.
    fn packet(&self, size: Bytes) -> u64 {
        size.get().saturating_sub(self.layer.header().get())
    }
}

/// The words of tc-cake(8): overhead, smallest packet, framing.
#[rustfmt::skip]
const LAYERS: &[(&str, u64, u64, Framing)] = &[
    ("raw", 0, 0, Framing::None),
    ("conservative", 48, 0, Framing::Atm),
    ("ethernet", 38, 84, Framing::None),
    ("docsis", 18, 64, Framing::None),
    ("pppoe-ptm", 30, 0, Framing::Ptm),
    ("bridged-ptm", 22, 0, Framing::Ptm),
    ("ipoa-vcmux", 8, 0, Framing::Atm),
    ("ipoa-llcsnap", 16, 0, Framing::Atm),
    ("bridged-vcmux", 24, 0, Framing::Atm),
    ("bridged-llcsnap", 32, 0, Framing::Atm),
    ("pppoa-vcmux", 10, 0, Framing::Atm),
    ("pppoa-llc", 14, 0, Framing::Atm),
    ("pppoe-vcmux", 32, 0, Framing::Atm),
    ("pppoe-llcsnap", 40, 0, Framing::Atm),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn link(word: &str) -> LinkLayer {
        LinkLayer::named(word, BitRate::from_bps(10_000_000)).unwrap()
    }

    fn wire(word: &str, bytes: u64) -> u64 {
        link(word).on_wire(Bytes::new(bytes)).get()
    }

    /// By hand: 53 bytes for each 48 begun.
    #[test]
    fn a_packet_on_atm_is_whole_cells() {
        for (overhead_word, bytes, cells) in [
            ("ipoa-vcmux", 40, 1),
            ("ipoa-vcmux", 41, 2),
            ("pppoe-llcsnap", 40, 2),
            ("pppoe-llcsnap", 56, 2),
            ("pppoe-llcsnap", 57, 3),
            ("bridged-llcsnap", 1500, 32),
            ("conservative", 1500, 33),
        ] {
            assert_eq!(wire(overhead_word, bytes), 53 * cells, "{overhead_word} {bytes}");
        }
    }

    /// By hand: preamble 8, header 14, check sum 4, gap 12, and 84 bytes at least.
    #[test]
    fn a_short_frame_is_padded() {
        assert_eq!([40, 46, 47, 1500].map(|bytes| wire("ethernet", bytes)), [84, 84, 85, 1538]);
        assert_eq!([40, 46, 1500].map(|bytes| wire("docsis", bytes)), [64, 64, 1518]);
        assert_eq!([0, 1500].map(|bytes| wire("raw", bytes)), [0, 1500]);
    }

    /// A VDSL line of 10 Mbit/s with PPPoE: 9.65, 7.52 and 6.19 Mbit/s of IP packets, by hand 1492/1546, 100/133 and
    /// 52/84.
    #[test]
    fn small_packets_take_more_of_ptm() {
        let rates = [1492, 100, 52].map(|bytes| link("pppoe-ptm").of_packets(Bytes::new(bytes)).bps());
        assert_eq!(rates, [9_650_712, 7_518_797, 6_190_476]);
        assert_eq!([1492, 100, 52].map(|bytes| wire("pppoe-ptm", bytes)), [1546, 133, 84]);
    }

    /// What Linux's queues count has an Ethernet header, which is not counted twice.
    #[test]
    fn a_layer_is_where_sizes_are_given() {
        for word in ["ethernet", "bridged-llcsnap", "pppoe-ptm", "raw"] {
            let (ip, frame) = (link(word), link(word).seen_from(Layer::Ethernet));
            for bytes in [40, 1500] {
                assert_eq!(ip.on_wire(Bytes::new(bytes)), frame.on_wire(Bytes::new(bytes + 14)), "{word}");
                assert_eq!(
                    ip.of_packets(Bytes::new(bytes)),
                    frame.of_packets(Bytes::new(bytes + 14)),
                    "{word}"
                );
            }
        }
        assert_eq!(link("raw").seen_from(Layer::Ethernet).on_wire(Bytes::new(10)).get(), 0);
    }

    #[test]
    fn the_time_is_that_of_the_wire() {
        let line = link("bridged-llcsnap");
        // 32 cells of 424 bits at 10 Mbit/s.
        assert_eq!(line.transmission_time(Bytes::new(1500)), Duration::from_nanos(1_356_800));
        assert_eq!(LinkLayer::named("ethernot", line.rate), None);
        // Nothing overflows.
        let most = Bytes::new(u64::MAX);
        assert_eq!(line.on_wire(most), most);
        assert_eq!(LinkLayer::plain(BitRate::from_bps(0)).transmission_time(Bytes::new(1)), Duration::MAX);
        assert_eq!(LinkLayer::plain(line.rate).of_packets(Bytes::new(0)), line.rate);
    }
}
