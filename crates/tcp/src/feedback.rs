//! The reports of a receiver to its sender, where TCP's one bit does not say enough.

use quell_units::Duration;

use crate::choices::Feedback;
use crate::entry::Entry;
use crate::scoreboard::SackBlocks;

/// The entry in the catalog: the one bit of RFC 3168.
pub(crate) const CLASSIC: Entry = Entry {
    key: "feedback",
    name: "classic",
    title: "Classic ECN",
    summary: "The receiver echoes a mark until the sender says that it has reduced its window.",
    source: "RFC 3168",
    reads: &["ecn_retransmissions"],
    choices: &[
        "The first new packet after any reduction carries CWR; with ecn_retransmissions, a retransmission may, too, as \
         in ns-2.",
    ],
    ..Entry::PLAIN
};

/// The entry in the catalog: counted marks.
pub(crate) const EXACT: Entry = Entry {
    key: "feedback",
    name: "exact",
    title: "Counted marks",
    summary: "Each acknowledgment says how many packets have arrived marked, as in QUIC.",
    source: "RFC 9000 section 19.3.2",
    reads: &["ecn_retransmissions"],
    network: "ecn = true; without it, no packet is marked and nothing reads this key",
    choices: &[
        "The sender and receiver of a group have the same parameters, so every receiver supports it and nothing is \
         negotiated.",
        "An acknowledgment goes at once when marks begin or end (RFC 8257 section 3.2), and with every second mark \
         (RFC 9768 section 3.2.2.5.1).",
        "DCTCP's own echo (RFC 8257 section 3.2), one bit that says whether the last packet was marked, is equivalent \
         if no acknowledgments are lost.",
    ],
    ..Entry::PLAIN
};

/// The entry in the catalog: accurate ECN.
pub(crate) const ACC_ECN: Entry = Entry {
    key: "feedback",
    name: "accecn",
    title: "Accurate ECN",
    summary: "Each acknowledgment says how many packets have arrived marked, modulo eight.",
    source: "RFC 9768",
    reads: &["ecn_retransmissions"],
    network: "ecn = true; without it, no packet is marked and nothing reads this key",
    choices: &[
        "An acknowledgment that acknowledges nothing new may have been overtaken, so its count is ignored (RFC 9768 \
         section 3.2.2.5).",
        "Its option and its negotiation are not modeled; only the ACE field is.",
        "The sender and receiver of a group have the same parameters, so every receiver supports it and nothing is \
         negotiated.",
        "If eight or more packets are acknowledged at once, the field counts as having wrapped as often as it can \
         (appendix A.2.1). With gro it counts as not having wrapped, as in Linux where acknowledgments usually cover many \
         packets.",
        "An acknowledgment goes at once when marks begin and with every second mark (RFC 9768 section 3.2.2.5.1), and \
         when they end, which is DCTCP's rule (RFC 8257 section 3.2).",
    ],
    ..Entry::PLAIN
};

/// The part of an acknowledgment beside its number and RFC 3168's bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The blocks of a selective acknowledgment.
    pub blocks: SackBlocks,
    /// A packet that had come before (a D-SACK block, RFC 2883 section 4).
    pub duplicate: Option<u32>,
    /// The first packet that it newly acknowledges came by a later transmission than its first: the echo of a timestamp
    /// says so (RFC 7323 section 4.3).
    pub again: bool,
    /// The number of packets that have come marked; the number modulo eight with [`Feedback::AccEcn`].
    pub marks: Option<u32>,
    /// The time for which the packet that it answers was on its way.
    pub delay: Option<Duration>,
}

impl Report {
    /// Its count of marks, if it says nothing else.
    pub fn only_marks(&self) -> Option<u32> {
        let Report { blocks, duplicate, again, marks, delay } = self;
        marks.filter(|_| blocks.as_slice().is_empty() && duplicate.is_none() && !again && delay.is_none())
    }
}

/// The ACE field counts modulo this (RFC 9768 section 3.2.2).
pub(crate) const ACE: u32 = 8;

/// A sender's count of the marked packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    /// Those it knows of: s.cep of RFC 9768.
    known: u32,
    /// Packets beyond the cumulative acknowledgment that duplicates without blocks stood for.
    ahead: u32,
}

impl Marks {
    /// The packets that an acknowledgment says for the first time to have arrived, if it carries no blocks:
    /// `newly` cumulatively, or one for a duplicate.
    #[inline]
    pub fn delivered(&mut self, newly: u32, duplicate: bool) -> u32 {
        if duplicate {
            self.ahead += 1;
            return 1;
        }
        if self.ahead == 0 {
            return newly;
        }
        let delivered = self.would_deliver(newly);
        self.ahead -= newly - delivered;
        delivered
    }

    /// Returns whether [`Marks::delivered`] is what is acknowledged, for what is not a duplicate.
    #[inline(always)]
    pub fn is_level(&self) -> bool {
        self.ahead == 0
    }

    /// [`Marks::delivered`] for what is not a duplicate.
    #[inline]
    pub fn would_deliver(&self, newly: u32) -> u32 {
        newly - self.ahead.min(newly)
    }

    /// The number of packets that have come marked since before an acknowledgment that says for the first time that
    /// `delivered` packets have arrived.
    pub fn count(&mut self, feedback: Feedback, marks: u32, delivered: u32) -> u32 {
        let new = self.news(feedback, marks, delivered);
        self.known = self.known.wrapping_add(new);
        new
    }

    /// [`Marks::count`] without counting them.
    #[inline]
    pub fn news(&self, feedback: Feedback, marks: u32, delivered: u32) -> u32 {
        match feedback {
            Feedback::Classic => 0,
            // An acknowledgment that others have overtaken counts fewer.
            Feedback::Exact => Some(marks.wrapping_sub(self.known)).filter(|n| *n < 1 << 31).unwrap_or(0),
            Feedback::AccEcn => newly_marked(marks, self.known, delivered),
        }
    }
}

/// The number of packets that have come marked since `known` had, by the ACE field: the safest that it may mean,
/// since the counter may have gone round among acknowledgments that were lost (RFC 9768 section 3.2.2.5.2 and
/// appendix A.2.1). One that says of no packet for the first time that it arrived may have been overtaken, and is not
/// looked at (section 3.2.2.5); the next one has its marks.
fn newly_marked(ace: u32, known: u32, delivered: u32) -> u32 {
    if delivered == 0 {
        return 0;
    }
    let least = ace.wrapping_sub(known) % ACE;
    if delivered < ACE { least } else { delivered - (delivered - least) % ACE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use quell_units::Time;
    use std::println;

    use crate::{Arrival, Config, CongestionControl, Outgoing, Receiver, Recovery, Sender, TcpParams};

    fn params(feedback: Feedback) -> TcpParams {
        TcpParams { feedback, ecn: true, syn: false, initial_window: 10, ..Default::default() }
    }

    fn ms(x: u64) -> Duration {
        Duration::from_millis(x)
    }

    /// What each packet makes the receiver tell, if it makes it: the count of marks, if it tells that.
    fn told(feedback: Feedback, marked: &[bool]) -> Vec<Option<Option<u32>>> {
        let params = TcpParams { delayed_ack: Some(ms(100)), ack_every: 5, ..params(feedback) };
        let cfg = Config::new(&params).unwrap();
        let mut r = Receiver::new();
        let mut packets = (1..).zip(marked).map(|(seq, ce)| Arrival { seq, ce: *ce, ..Default::default() });
        core::iter::from_fn(|| {
            let received = r.on_packet(&cfg, Time::ZERO, packets.next()?).unwrap();
            Some(received.acknowledge.then(|| {
                r.acknowledgment();
                r.reports(&cfg).then(|| r.report(&cfg)).and_then(|report| report.marks)
            }))
        })
        .collect()
    }

    #[test]
    fn an_acknowledgment_goes_at_once_where_marks_begin_and_end_and_with_every_second_one() {
        let marked = [false, false, true, true, true, true, false, false, false, false, false, false];
        let (none, count) = (None, |n| Some(Some(n)));
        let want = [none, none, count(1), none, count(3), none, count(4), none, none, none, none, count(4)];
        assert_eq!(told(Feedback::Exact, &marked), want);
        assert_eq!(told(Feedback::AccEcn, &marked), want);
        assert_eq!(told(Feedback::Classic, &marked).iter().flatten().count(), 2);
    }

    #[test]
    fn the_field_goes_round_at_eight() {
        let counts =
            |feedback| -> Vec<u32> { told(feedback, &[true; 20]).into_iter().flatten().flatten().collect() };
        assert_eq!(counts(Feedback::AccEcn), [1, 3, 5, 7, 1, 3, 5, 7, 1, 3]);
        assert_eq!(counts(Feedback::Exact), [1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
    }

    fn sent(cfg: &Config, s: &mut Sender) -> Vec<(u32, bool)> {
        core::iter::from_fn(|| s.poll(cfg, Time::ZERO + ms(100)))
            .map(|out| match out {
                Outgoing::Data { seq, cwr, .. } => (seq, cwr),
                Outgoing::Syn => (0, false),
            })
            .collect()
    }

    /// Returns whether an acknowledgment that reports so many marks reduces the window.
    fn reduces(cfg: &Config, s: &mut Sender, ack: u32, marks: u32) -> bool {
        let report = Report { marks: Some(marks), ..Default::default() };
        s.on_report(cfg, Time::ZERO + ms(100), ack, false, &report).ecn_response
    }

    #[test]
    fn reno_halves_its_window_once_in_a_window_of_data_and_announces_nothing() {
        for feedback in [Feedback::Exact, Feedback::AccEcn] {
            let cfg = Config::new(&params(feedback)).unwrap();
            let mut s = Sender::new(&cfg);
            s.provide(u32::MAX);
            assert_eq!(sent(&cfg, &mut s).len(), 10);
            for (ack, marks, reduced) in
                [(2, 0, false), (3, 1, true), (4, 1, false), (5, 2, false), (10, 2, false)]
            {
                assert_eq!(reduces(&cfg, &mut s, ack, marks), reduced, "{ack}");
            }
            // Half of eleven, and what two acknowledgments without marks have added since.
            let out = sent(&cfg, &mut s);
            assert_eq!(out.iter().map(|p| p.0).collect::<Vec<_>>(), [11, 12, 13, 14]);
            assert!(out.iter().all(|(_, cwr)| !cwr));
            assert!(!reduces(&cfg, &mut s, 12, 2));
            assert!(reduces(&cfg, &mut s, 14, 3));
        }
    }

    #[test]
    fn a_loss_among_dctcp_s_marks_halves_the_window_all_the_same() {
        let params = TcpParams {
            congestion: CongestionControl::Dctcp,
            recovery: Recovery::Sack,
            initial_window: 100,
            initial_ssthresh: Some(2),
            ..params(Feedback::Exact)
        };
        let cfg = Config::new(&params).unwrap();
        let mut s = Sender::new(&cfg);
        s.provide(u32::MAX);
        assert_eq!(sent(&cfg, &mut s).len(), 100);
        assert!(reduces(&cfg, &mut s, 2, 1));
        // Packet 2 is lost, all others arrive: 74 of 99 must have left before anything new goes.
        let mut out = Vec::new();
        for to in 4..=101 {
            let mut blocks = SackBlocks::default();
            blocks.push((3, to));
            let report = Report { blocks, marks: Some(1), ..Default::default() };
            s.on_report(&cfg, Time::ZERO + ms(100), 2, false, &report);
            out.extend(sent(&cfg, &mut s).into_iter().map(|p| p.0));
        }
        assert_eq!(out[0], 2);
        assert_eq!(out.len(), 25, "half of the half that the first mark left: {out:?}");
    }

    /// The safest number is the largest that the field allows and the packets that have arrived can hold; it is the
    /// true one where fewer than eight did.
    #[test]
    fn the_safest_meaning_of_the_field_is_the_most_that_it_may_mean() {
        for known in 0..20 {
            for delivered in 1..40 {
                for marked in 0..=delivered {
                    let ace = (known + marked) % ACE;
                    let found = newly_marked(ace, known, delivered);
                    let most = (0..=delivered).rev().find(|n| (known + n) % ACE == ace).unwrap();
                    assert_eq!(found, most, "{known} {delivered} {marked}");
                    assert!(delivered >= ACE || found == marked);
                }
            }
        }
        // The example of appendix A.2.1: a field that rises by 2 with 10 packets acknowledged.
        assert_eq!(newly_marked(2, 0, 10), 10);
        assert_eq!(newly_marked(2, 0, 9), 2);
    }

    /// Counted of each hundred marks, if a share `p` of packets is marked and acknowledgments of single packets arrive
    /// where `arrives` says so.
    fn counted(feedback: Feedback, p: f64, mut arrives: impl FnMut(u32, f64) -> bool) -> f64 {
        let mut rng = quell_aqm::Seed(1).stream("acknowledgments");
        let (mut marks, mut true_count, mut last) = (Marks::default(), 0u32, 0);
        for packet in 1..=100_000 {
            true_count += (rng.uniform() < p) as u32;
            if arrives(packet, rng.uniform()) {
                let field = if feedback == Feedback::AccEcn { true_count % ACE } else { true_count };
                marks.count(feedback, field, packet - last);
                last = packet;
            }
        }
        100.0 * f64::from(marks.known) / f64::from(true_count)
    }

    /// The numbers of docs/senders.md. An exact count is what the option's byte counters say.
    #[test]
    fn the_field_counts_too_many_where_seven_acknowledgments_in_a_row_are_missing() {
        for p in [0.01, 0.1, 0.5] {
            for q in [0.1, 0.3, 0.5, 0.7] {
                let [field, exact] =
                    [Feedback::AccEcn, Feedback::Exact].map(|f| counted(f, p, |_, x| x >= q));
                println!("{p} marked, {q} of acknowledgments lost: {field:.1}, {exact:.1}");
                assert!((exact - 100.0).abs() < 1.0 && field >= exact - 0.1);
                // Seven lost in a row: q^7.
                assert!(q > 0.1 || field < 100.1, "{field}");
            }
            for n in [4, 7, 8, 16] {
                let [field, exact] =
                    [Feedback::AccEcn, Feedback::Exact].map(|f| counted(f, p, |i, _| i % n == 0));
                println!("{p} marked, one acknowledgment of {n}: {field:.1}, {exact:.1}");
                assert!((exact - 100.0).abs() < 1.0);
                assert!(if n < ACE { (field - exact).abs() < 0.1 } else { field > 100.1 }, "{n}: {field}");
            }
        }
    }

    #[test]
    fn an_exact_count_goes_on_beyond_its_range_and_not_back() {
        let mut marks = Marks { known: u32::MAX - 1, ahead: 0 };
        assert_eq!(marks.count(Feedback::Exact, 1, 5), 3);
        assert_eq!(marks.count(Feedback::Exact, 0, 5), 0);
        assert_eq!(marks.count(Feedback::Exact, 2, 5), 1);
        assert_eq!(marks.count(Feedback::Classic, 9, 5), 0);
    }

    #[test]
    fn what_duplicates_stood_for_does_not_arrive_twice() {
        let mut marks = Marks::default();
        assert_eq!(
            (marks.delivered(2, false), marks.delivered(0, true), marks.delivered(0, true)),
            (2, 1, 1)
        );
        // A partial acknowledgment of one, then one of the packet that was missing and what came behind it.
        assert_eq!((marks.delivered(1, false), marks.delivered(3, false)), (0, 2));
    }
}
