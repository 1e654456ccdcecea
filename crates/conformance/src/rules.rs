//! The rules from which decisions follow, in words: more exact than the name of the document.

use crate::vector::{Header, What};

/// The rule behind what an event decides, and the page of the algorithm.
pub fn rule(header: &Header, what: What) -> String {
    let page = header.algorithm.replace(['-', '+'], "_");
    let is = |parameter: &str, name: &str| {
        header.parameters.get(parameter).is_some_and(|value| value.as_str() == Some(name))
    };
    let dialect = match header.algorithm.as_str() {
        "codel" | "fq-codel" if is("arithmetic", "linux") => LINUX_CODEL,
        _ => "",
    };
    let rules = match header.algorithm.as_str() {
        "fq-codel" if is("rules", "linux") => LINUX_FQ_CODEL,
        "fq-codel" if is("rules", "ns-3") => NS3_FQ_CODEL,
        _ => "",
    };
    match words(&header.algorithm, what, is("scheme", "linux"), is("drop", "front")) {
        Some(rule) => format!("{rule}{dialect}{rules} (docs/algorithms/{page}.md)"),
        None => format!("{}; docs/algorithms/{page}.md", header.source),
    }
}

const LINUX_CODEL: &str = "; in Linux's arithmetic, a clock of 1024 ns, an interval that must be exceeded, and 16 bits \
                           of the reciprocal root that one Newton step moves with the count";

const LINUX_FQ_CODEL: &str = "; by Linux's rules a full buffer costs half of the fattest queue's bytes, each of these \
                              packets raises the count of its CoDel, and a new queue that is found empty leaves if \
                              no old one waits";

const NS3_FQ_CODEL: &str = "; by ns-3's rules a full buffer costs half of the fattest queue's bytes, and what remains \
                            for CoDel is what remains in the packet's own queue";

const RED: &str = "Floyd and Jacobson 1993, section 4: avg += w (q - avg), aged by (1 - w)^m after idle time; p_b on the \
                   line between the thresholds; p_a = p_b / (1 - count p_b); the count restarts with every signal and \
                   every loss";

/// The rule of an algorithm, where it has been put into words; `linux` is its scheme of Linux, `front` the drop at the
/// front.
fn words(algorithm: &str, what: What, linux: bool, front: bool) -> Option<&'static str> {
    use What::{Dequeue, Enqueue, Idle, Update};
    Some(match (algorithm, what) {
        ("drop-tail", _) if front => {
            "Lakshman et al. 1996: the packets at the head are dropped until the arrival fits; an arrival that is larger than \
             the buffer is dropped itself"
        }
        ("drop-tail", _) => "an arrival is dropped if the buffer has no room for it",
        ("codel", Dequeue) => {
            "RFC 8289 section 5.5 and 5.6: a packet that has waited for the target or longer, for an interval, \
             with more than an MTU left behind it, begins the drop state; then one each interval / sqrt(count)"
        }
        ("codel", Idle) => "RFC 8289 section 5.5: a queue that is empty ends the drop state",
        ("codel", _) => "an arrival is dropped if the buffer has no room for it; CoDel decides at departures",
        ("pie", Enqueue) if linux => {
            "Linux, net/sched/sch_pie.c: none while burst allowance is left, while the last departure waited for less \
             than half of the target and p < 0.2, or while less than two packets of 1514 bytes wait; then \
             derandomized as RFC 8033 section 5.4; marked up to mark_ecnth"
        }
        ("pie", Update) if linux => {
            "Linux, net/sched/sch_pie.c: RFC 8033 section 4.2 with the cap, 0.02 more beyond 250 ms, a decay of 1/64; \
             an update without congestion restores the burst allowance and forgets the sum of probabilities"
        }
        ("pie", Dequeue) if linux => {
            "Linux, net/sched/sch_pie.c: the burst allowance falls by the time since the last departure, and the last \
             packet of a queue has no delay"
        }
        ("pie", Enqueue) => {
            "RFC 8033 section 4.1 (bypass below half of the target or two packets), 4.4 (burst allowance), 5.4 \
             (derandomization: none below an accumulated 0.85, for certain from 8.5) and 5.1 (mark_ecnth)"
        }
        ("pie", Update) => {
            "RFC 8033 section 4.2: p += scale(p) (alpha (delay - target) + beta (delay - delay_old)), decay 0.98, \
             and section 5.5, the cap"
        }
        ("pie", _) => {
            "RFC 8033: a FIFO; the delay is what the header's delay_from says, and 0 once the link is idle"
        }
        ("docsis-pie", _) => {
            "RFC 8034 section 4.6 and Appendix A: PIE with the queue over the rate as its delay; an arrival of B bytes \
             has min(p B / mean_packet, 0.85), drops come between a sum of 0.85 and 8.5, and the burst allowance \
             begins with the first"
        }
        ("pi2", _) => {
            "De Schepper et al. 2016: p' += alpha (delay - target) + beta (delay - delay_old), kept in [0, 1]; Classic \
             packets are signaled with p'^2, scalable ones marked with coupling p'"
        }
        ("step", _) => {
            "RFC 9331 section 5.2: a scalable packet beyond the threshold is marked, and no other packet is"
        }
        ("cobalt", Enqueue) => {
            "BLUE, Feng et al. 1999b: an overflow raises p by p_inc, at most once in a target, begins the drop state, \
             and a signal is due at once"
        }
        ("cobalt", _) => {
            "Høiland-Jørgensen et al. 2018 and Linux, net/sched/sch_cake.c: a wait of more than max(target, 4 \
             packets) begins the drop state; signals come interval / sqrt(count) apart, count falls as it rose; besides, \
             each departure is dropped with BLUE's p, which an empty queue lowers"
        }
        ("dualpi2", Enqueue) => {
            "RFC 9332 Fig. 3: an arrival is dropped if it finds more than the limit less 1500 bytes in both queues; \
             ECT(1) and CE wait in L, others in C"
        }
        ("dualpi2", Dequeue) => {
            "RFC 9332 section 4.2.2 (which queue is served), Fig. 7 (L: marked with the larger of the ramp and p_CL, \
             under overload dropped with p_C; C: signaled with p_C, marked if ECT(0) and p_C < 1/k^2) and Fig. 4 (at \
             even distances)"
        }
        ("dualpi2", _) => {
            "RFC 9332 Fig. 8: p' += alpha (delay - target) + beta (delay - delay_old), of the larger of both delays, \
             kept in [0, 1]; p_C = p'^2, p_CL = k p'"
        }
        ("curvy-red", _) => {
            "RFC 9332 Appendix B, Fig. 10: the averaged delay of C, between min_th and a range, is the probability of L; \
             its square that of C; the queue that is served is the time-shifted FIFO's"
        }
        ("fq-codel", Enqueue) => {
            "RFC 8290 section 4.1: the packet goes to the queue of its flow (\"queue\"), and if more waits then than may, \
             the fattest queue loses half of its packets from its head, drop_batch at most"
        }
        ("fq-codel", Dequeue) => {
            "RFC 8290 section 4.2: new queues before old ones, a quantum in a turn, a new queue that is found empty goes \
             to the end of the old ones; then CoDel of that queue, with what waits in all as what remains (RFC 8289 \
             section 5.5)"
        }
        ("fq-codel", _) => "RFC 8290 section 4.2: an idle link has found every queue empty",
        ("fq-pie", _) => {
            "draft-ietf-tsvwg-fq-pie: the queues and turns of RFC 8290 section 4, and in each queue PIE (RFC 8033 \
             section 4) of its own delay"
        }
        ("fq-blue", _) => {
            "the queues and turns of RFC 8290 section 4, and in each queue BLUE (Feng et al. 1999b): p + d1 beyond the \
             threshold or at a loss, p - d2 when it runs empty; a full buffer costs the longest queue its last packet"
        }
        ("sfq", _) => {
            "McKenney 1990: queues by a hash, served in turn, a quantum each; a full buffer costs the longest queue its \
             last packet, in bytes or (longest = \"packets\") in packets"
        }
        ("sfq-red", _) => {
            "McKenney 1990 (queues by a hash, served in turn, the longest pays for a full buffer), and in each queue RED \
             (Floyd and Jacobson 1993, section 4)"
        }
        ("cake", Enqueue) => {
            "tc-cake(8), Høiland-Jørgensen et al. 2018: the tin of its DSCP, the queue of its flow or hosts \
             (\"queue\"); a full buffer costs the queue with the most bytes the packet at its head, and its BLUE a step; with \
             ack_filter, an acknowledgment that a later one covers goes first"
        }
        ("cake", Dequeue) => {
            "Høiland-Jørgensen et al. 2018: the shaper's clock (section III.A), the tin within its threshold, DRR++ over \
             the tin's queues with a turn of quantum / load of the packet's host, then COBALT of that queue; with ingress, drops \
             move the clocks as packets do"
        }
        ("cake", _) => "Høiland-Jørgensen et al. 2018: a transmission has ended",
        ("red" | "red-fixed", _) => RED,
        ("ared" | "ared-fixed", Update) => {
            "Floyd et al. 2001, figure 1: max_p + alpha above the band, max_p beta below it"
        }
        ("ared" | "ared-fixed", _) => RED,
        ("ared-dt", Enqueue | Dequeue | Idle) => RED,
        ("ared-dt", Update) => {
            "Jou et al. 2003, section V: max_p as in Floyd et al. 2001; then both thresholds rise while the mean \
             probability is above its range, and fall while it is below"
        }
        ("feng-ared", _) => {
            "Feng et al. 1999a: RED whose max_p is divided by alpha when the average falls below min_th, and multiplied \
             by beta when it rises above max_th, once per crossing"
        }
        ("auto-tuning-red", _) => {
            "Chen 2010, section 3.3 and Fig. 3.2: RED whose max_p is multiplied every four round-trip times in proportion \
             to the average's distance from q_ref"
        }
        ("ap-red", _) => {
            "Chen 2010, chapter 4: RED whose thresholds, max_p and weight follow the number of flows, the round-trip time \
             and the capacity from a reference"
        }
        ("st-red", _) => {
            "Chen 2010, Fig. 5.3: Adaptive RED whose thresholds, interval and weight move with how much the queue varies \
             around q_ref"
        }
        ("fuzzy-red", _) => {
            "Trinh and Molnar, section 5: RED whose weight follows from |q - avg| / avg by three fuzzy rules"
        }
        ("hred" | "hred-fixed", _) => {
            "Joo et al. 2006, section III: p on a line in the queue itself, from min_p at min_th; each arrival beyond a \
             threshold moves min_p"
        }
        ("wred", _) => {
            "Cisco IOS 11.1, Chen 2010, section 2.5: one average, and thresholds, largest probability and count by the \
             packet's precedence"
        }
        ("dsred", _) => {
            "Zheng and Atiquzzaman 2000: RED whose probability rises in two straight pieces that meet halfway between \
             the thresholds"
        }
        ("pd-red", _) => {
            "Sun et al. 2003: RED whose max_p moves at every interval by a share of the average's distance from its \
             target and by a share of the average's change"
        }
        ("pi" | "st-pi" | "pi-fixed", Update) => {
            "Hollot et al. 2001b, section IV: p += a (q - q_ref) - b (q_old - q_ref), kept in [0, 1]"
        }
        ("pi" | "st-pi" | "pi-fixed", _) => {
            "Hollot et al. 2001b: every arrival with probability p, independently"
        }
        ("rem", _) => {
            "Athuraliya et al. 2001, Chen 2010, section 3.5: a price that rises with the rate's and the queue's excess; \
             a packet with probability 1 - phi^-price"
        }
        ("pid", _) => {
            "Park et al. 2004, eq. 12: p = K_P e + K_I int e + K_D e' with e = q - q_ref, at fixed intervals; every \
             arrival with probability p"
        }
        ("dred", _) => {
            "Aweya et al. 2001, Park et al. 2004, eq. 23: p moves in proportion to the filtered q - q_ref, at fixed \
             intervals; every arrival with probability p"
        }
        ("lred", _) => {
            "Wang et al. 2007: p = l + beta sqrt(l) (q - q_ref), with l the averaged share of recent arrivals that was lost"
        }
        ("blue" | "blue-fixed", _) => {
            "Feng et al. 1999b: p + d1 on a loss, p - d2 when the link falls idle, at most once per freeze_time"
        }
        ("green", _) => {
            "Feng et al. 2002: p = (N MSS c / (L R))^2, with the flows N and the round-trip time R as measured"
        }
        ("avq", _) => {
            "Kunniyur and Srikant 2001, Chen 2010, Fig. 3.4: an arrival that would overflow a virtual queue is signaled; \
             its capacity moves against tau C less the arrival rate"
        }
        ("avq-rate", _) => {
            "Park et al. 2004, eq. 30-32: p = 1 - Cv/r, with AVQ's virtual capacity and the measured rate"
        }
        ("spf", _) => {
            "Park et al. 2004, section 4: p = 1 - C/r of arrivals at a measured rate r above the link's"
        }
        ("vrc", _) => {
            "Park et al. 2004, sections 2 and 3: p = alpha (rate - virtual target), with a target that falls with q - \
             q_ref"
        }
        ("policer", _) => {
            "RFC 2697: an arrival takes a token for each byte, and is dropped if there are not as many"
        }
        ("e-red", _) => {
            "Liu et al. 2005: p is exponential in the length of a virtual queue that is served below the link's rate"
        }
        ("sred", _) => {
            "Ott et al. 1999: each arrival is compared with a packet of a list; the probability goes with the square of \
             the number of flows that the hits show, in steps of the fill level"
        }
        ("sfb", _) => {
            "Feng et al. 2001: p of a bin rises if bin_size of its packets wait and falls if none does; a packet has the \
             least p of its bins, and at 1 a bucket decides"
        }
        ("choke", _) => {
            "Pan et al. 2000: beyond min_th an arrival is compared with a packet drawn from the queue; if both are of one \
             flow both are dropped, if not the arrival is RED's"
        }
        ("fred", _) => {
            "Lin and Morris 1997: dropped with max_q packets of its flow or with strikes; RED's lottery from max(min_q, \
             avgcq) packets on"
        }
        ("red+tail", _) => {
            "Jou et al. 2003, section III: young flows and UDP in a drop-tail queue, others in one of Adaptive RED; the \
             first is served while its claim is not negative"
        }
        _ => return None,
    })
}
