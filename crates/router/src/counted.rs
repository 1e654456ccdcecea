//! What a router's shaper counts of a packet, and the rate to tell it.

use quell_units::{BitRate, Bytes, Framing, LinkLayer};

use crate::technology::{megabits, step};

/// Bytes of a packet that a shaper counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// The link's own bytes: an overhead, a smallest packet, and framing.
    Link,
    /// Its layer's header of so many bytes, and what an overhead between two limits adds; of framing, ATM's at most.
    Overhead {
        /// Bytes that it counts beside the IP packet by itself.
        header: i64,
        /// The least that may be added.
        least: i64,
        /// The most.
        most: i64,
        /// The step to whose multiples it rounds an overhead up.
        step: i64,
        /// It can count cells of ATM.
        cells: bool,
    },
    /// Its layer's header of so many bytes, and nothing that can be set.
    Fixed {
        /// Bytes that it counts beside the IP packet.
        header: i64,
    },
}

/// A link as a shaper is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The rate.
    pub rate: BitRate,
    /// The overhead that is added to what the shaper counts by itself; `None` if it cannot be set.
    pub overhead: Option<i64>,
    /// It is told to count cells of ATM.
    pub cells: bool,
    /// How this differs from the link.
    pub note: Option<String>,
}

/// The mean packet of mixed traffic, for which a rate is right where the overhead cannot be set.
const MEAN: Bytes = Bytes::new(1000);

/// The smallest packet that counts: an acknowledgment.
const SMALL: Bytes = Bytes::new(52);

/// Bytes of the shortest IP packet with TCP.
const SHORTEST: u64 = 40;

impl Counts {
    /// The rate and the overhead by which a shaper that counts like this sends no more than the link carries.
    ///
    /// Framing becomes part of the rate: 64 of 65 bytes of PTM (ITU-T G.992.3) carry packets, and 48 of 53 bytes of ATM
    /// (ITU-T I.361). The last code word or cell of a packet may be nearly empty, so 1 or 47 bytes are added.
    pub fn told(self, link: &LinkLayer) -> Told {
        let overhead = signed(link.overhead);
        match self {
            Counts::Link => Told { rate: link.rate, overhead: Some(overhead), cells: false, note: None },
            Counts::Overhead { header, least, most, step, cells } => {
                let cells = cells && link.framing == Framing::Atm;
                let (rate, padding, why) = if cells { (link.rate, 0, None) } else { unframed(link) };
                let exact = overhead + padding - header;
                let wanted = exact + (-exact).rem_euclid(step);
                let rounded = (wanted != exact)
                    .then(|| format!("an overhead of {exact} B becomes {wanted} B, a multiple of {step}"));
                let said = wanted.clamp(least, most);
                let clamped = (said != wanted).then(|| {
                    format!("an overhead of {wanted} B is beyond what it takes ({least} to {most} B): {said} B are \
                             written")
                });
                let short = (link.smallest.get() > link.overhead.get() + SHORTEST).then(|| {
                    format!(
                        "a smallest packet of {} on the wire cannot be set: shorter ones count as they are",
                        link.smallest
                    )
                });
                let note = [why, short, rounded, clamped]
                    .into_iter()
                    .flatten()
                    .reduce(|all, one| format!("{all}; {one}"));
                Told { rate, overhead: Some(said), cells, note }
            }
            Counts::Fixed { header } => {
                let counted = |packet: Bytes| packet.get().saturating_add_signed(header);
                let rate = of(link.rate, counted(MEAN), link.on_wire(MEAN).get());
                let small = of(rate, link.on_wire(SMALL).get(), counted(SMALL));
                let exact =
                    [MEAN, SMALL].iter().all(|packet| counted(*packet) == link.on_wire(*packet).get());
                let note = (!exact).then(|| {
                    format!(
                        "the overhead of {} a packet cannot be set: {rate} are right for packets of {MEAN}, and \
                         packets of {SMALL} alone would put {} on a link of {}",
                        link.overhead,
                        megabits(small),
                        link.rate
                    )
                });
                Told { rate, overhead: None, cells: false, note }
            }
        }
    }
}

impl Counts {
    /// The link as a shaper counts it that is [`told`](Self::told) of it.
    pub(crate) fn typed(self, link: &LinkLayer) -> LinkLayer {
        let header = match self {
            Counts::Link => return *link,
            Counts::Overhead { header, .. } | Counts::Fixed { header } => header,
        };
        let told = self.told(link);
        let overhead = u64::try_from(header + told.overhead.unwrap_or(0)).unwrap_or(0);
        let framing = if told.cells { Framing::Atm } else { Framing::None };
        let (overhead, smallest) = (Bytes::new(overhead), Bytes::new(0));
        LinkLayer { rate: told.rate, overhead, smallest, framing, ..*link }
    }
}

/// The rate without framing, the bytes that it adds at most to a packet, and why.
pub(crate) fn unframed(link: &LinkLayer) -> (BitRate, i64, Option<String>) {
    match link.framing {
        Framing::None => (link.rate, 0, None),
        Framing::Ptm => {
            let rate = of(link.rate, 64, 65);
            let why = format!(
                "framing of PTM cannot be set: {rate} are 64/65 of {}, and 1 B more is counted for the code word begun",
                link.rate
            );
            (rate, 1, Some(why))
        }
        Framing::Atm => {
            let rate = of(link.rate, 48, 53);
            let why = format!(
                "cells of ATM cannot be set: {rate} are 48/53 of {}, and 47 B more are counted for the last cell",
                link.rate
            );
            (rate, 47, Some(why))
        }
    }
}

/// A share of a rate, rounded down to the step in which rates are told.
fn of(rate: BitRate, part: u64, whole: u64) -> BitRate {
    let bps = u128::from(rate.bps()) * u128::from(part) / u128::from(whole.max(1));
    let bps = u64::try_from(bps).unwrap_or(u64::MAX);
    BitRate::from_bps(bps / step(bps) * step(bps))
}

pub(crate) fn signed(bytes: Bytes) -> i64 {
    i64::try_from(bytes.get()).unwrap_or(i64::MAX)
}
