//! Proportional rate reduction (RFC 9937): how many packets an acknowledgment allows during recovery, so that
//! the flight falls to `ssthresh` over a round trip instead of at once.

use crate::entry::Entry;

/// The entry in the catalog.
pub(crate) const ENTRY: Entry = Entry {
    key: "recovery",
    name: "prr",
    title: "Proportional rate reduction",
    summary: "SACK, with a window that falls over a round trip, in proportion to what arrives.",
    source: "RFC 9937 and RFC 6675",
    reads: &["dup_threshold", "limited_transmit", "mark_reduction", "rules", "sack_delay", "sack_sizes"],
    choices: &[
        "It repairs losses; a mark reduces the window at once, unless mark_reduction is \"proportional\".",
        "A timeout does not lower the threshold again if it was already lowered for the outstanding data: by a \
         recovery, as in Linux, because a proportional reduction leaves a window that is not what was in flight, or by \
         a timeout after which nothing was acknowledged (RFC 5681 section 3.1). A SYN that times out leaves a window \
         of one packet and the threshold unchanged.",
        "limited_transmit counts duplicate acknowledgments; RFC 6675 section 5 counts the pipe.",
        "With rules = \"ns-3\" it follows ns-3 3.44. An acknowledgment with news in its blocks counts one packet more \
         than it delivers, until a flight has been counted, and counts twice if it is also a partial one. The flight \
         at the start of recovery is the pipe after the acknowledgment that started it. Every partial acknowledgment \
         counts as progress. Another recovery may start once everything sent before the last one is acknowledged (RFC \
         6675 section 5); otherwise one more packet must be (RFC 6582 section 3.2). Releases of ns-3 after 3.48 count \
         a delivery once.",
    ],
    ..Entry::PLAIN
};

/// The counts of PRR, in packets (RFC 9937 section 6).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Prr {
    /// RecoverFS: the flight when recovery began.
    recover_fs: f64,
    /// prr_delivered: what the receiver got since.
    delivered: u32,
    /// prr_out: what was sent since.
    pub out: u32,
}

/// The progress that an acknowledgment during recovery tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Progress {
    /// DeliveredData: packets acknowledged for the first time, cumulatively or selectively.
    pub delivered: u32,
    /// Packets thought to be on their way.
    pub pipe: u32,
    /// SafeACK: the cumulative acknowledgment rose, and no further packet is known to be lost.
    pub safe: bool,
}

impl Prr {
    /// Recovery begins. `flight` counts what is outstanding: without what was selectively acknowledged before
    /// the acknowledgment that began it, and with what that one acknowledged.
    pub fn new(flight: u32) -> Self {
        Prr { recover_fs: flight.max(1) as f64, delivered: 0, out: 0 }
    }

    /// The packets that ns-3 3.44 takes for delivered where an acknowledgment says something new in its blocks: a
    /// packet more, until a flight has been counted. One that also acknowledges cumulatively is counted twice.
    pub fn overcount(&mut self, delivered: u32, cumulative: bool) -> u32 {
        let counted = delivered + u32::from(f64::from(self.delivered) < self.recover_fs);
        if !cumulative {
            return counted;
        }
        self.delivered += counted;
        delivered
    }

    /// The congestion window after an acknowledgment; `None` if it delivered nothing.
    pub fn on_ack(&mut self, p: Progress, ssthresh: f64) -> Option<f64> {
        if p.delivered == 0 {
            return None;
        }
        self.delivered += p.delivered;
        let pipe = p.pipe as f64;
        let mut count = if pipe > ssthresh {
            // Proportional rate reduction.
            libm::ceil(self.delivered as f64 * ssthresh / self.recover_fs) - self.out as f64
        } else {
            // As in slow start, and conservative while more is lost.
            let behind = self.delivered as f64 - self.out as f64;
            let count = behind.max(p.delivered as f64) + p.safe as u32 as f64;
            count.min(ssthresh - pipe)
        };
        if self.out == 0 && count < 1.0 {
            // A fast retransmit begins recovery in any case.
            count = 1.0;
        }
        Some(pipe + count.max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9937 section 9's kind of example: 20 packets in flight, the first is lost, half the window is left.
    #[test]
    fn every_other_acknowledgment_sends_a_packet() {
        let mut prr = Prr::new(20);
        let (mut pipe, mut sent) = (0, alloc::vec::Vec::new());
        for ack in 0..18 {
            // Two duplicates came before the one that starts recovery: 17 of 20 are on their way then.
            pipe = if ack == 0 { 16 } else { pipe - 1 };
            let cwnd = prr.on_ack(Progress { delivered: 1, pipe, safe: false }, 10.0).unwrap();
            let now = (cwnd - pipe as f64) as u32;
            prr.out += now;
            pipe += now;
            sent.push(now);
        }
        assert_eq!(sent[..8], [1, 0, 1, 0, 1, 0, 1, 0]);
        assert!(sent.iter().sum::<u32>() >= 9);
        // It ends at ssthresh.
        assert_eq!(pipe, 10);
    }

    /// As above, as ns-3 3.44 counts: half a round trip passes before it sends less than arrives.
    #[test]
    fn ns3_reduces_nothing_until_a_flight_is_counted() {
        let mut prr = Prr::new(16);
        let (mut pipe, mut sent) = (16, alloc::vec::Vec::new());
        for ack in 0..16 {
            pipe -= u32::from(ack > 0);
            let delivered = prr.overcount(1, false);
            let cwnd = prr.on_ack(Progress { delivered, pipe, safe: false }, 8.0).unwrap();
            let now = (cwnd - pipe as f64) as u32;
            prr.out += now;
            pipe += now;
            sent.push(now);
        }
        assert_eq!(sent, [1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1, 0, 1, 0]);
        // Also a cumulative acknowledgment: two packets and one more, and two again.
        let mut prr = Prr::new(16);
        assert_eq!((prr.overcount(2, true), prr.delivered), (2, 3));
    }

    /// 15 of 20 are lost: nothing to reduce, the pipe is built up again as in slow start.
    #[test]
    fn below_the_threshold_it_grows_as_slow_start_does() {
        let mut prr = Prr::new(20);
        let progress = |pipe, safe| Progress { delivered: 1, pipe, safe };
        assert_eq!(prr.on_ack(progress(4, false), 10.0), Some(5.0));
        prr.out += 1;
        assert_eq!(prr.on_ack(progress(4, true), 10.0), Some(6.0));
        prr.out += 2;
        assert_eq!(prr.on_ack(progress(5, false), 10.0), Some(6.0));
        assert_eq!(prr.on_ack(Progress { delivered: 0, pipe: 5, safe: false }, 10.0), None);
    }
    /// RFC 9937 section 6: the reduction is proportional while more than ssthresh is on its way. Whatever share may
    /// still be sent, at ssthresh there is no room for it.
    #[test]
    fn at_the_threshold_nothing_is_added() {
        let prr = Prr { recover_fs: 20.0, delivered: 7, out: 3 };
        let cwnd = |pipe| Prr::on_ack(&mut { prr }, Progress { delivered: 1, pipe, safe: true }, 10.0);
        assert_eq!(cwnd(11), Some(12.0), "ceil(8 * 10 / 20) - 3");
        assert_eq!(cwnd(10), Some(10.0));
        assert_eq!(cwnd(9), Some(10.0));
    }
}
