//! The sending end of a TCP connection: congestion control and loss recovery.
//!
//! Windows count packets, as in ns-2 and the fluid models. The equations are those of RFC 2581, the
//! TCP of the source papers and of their simulator. Where it differs from RFC 5681:
//! - `ssthresh` comes from the congestion window (RFC 2001) instead of the flight size; for a sender
//!   that always has data the two agree. It is a whole number of packets, as in BSD and in ns-2, and
//!   as a flight size is: rounding down takes 4% off the loss of 64 flows at a full drop-tail buffer.
//! - Every timeout lowers `ssthresh`, also one of a packet that timed out before, whose window is one
//!   by then and leaves 2. With PRR and RACK-TLP it does not.

use alloc::boxed::Box;

use quell_units::{Duration, Time};

use crate::choices::{CongestionControl, Growth, Recovery, SlowStart, congestion_controls};
use crate::congestion::contract::{Acked, Answer, Cause, Congestion, Delivery, Window};
use crate::congestion::{self, Control, Kind, reno};
use crate::feedback::{Marks, Report};
use crate::float::{larger, lesser};
use crate::pacing::Release;
use crate::params::{Config, Reports};
use crate::recovery::prr::{Progress, Prr};
use crate::recovery::repair::{Proportional, Repair};
use crate::rtt::{RoundTrips, RttEstimator, SendTimes};
use crate::scoreboard::Block;
use crate::slow_start::Search;

mod by_time;
mod in_order;
mod pace;
#[cfg(test)]
pub(crate) mod path;
#[cfg(test)]
mod reductions;
mod state;
#[cfg(test)]
mod twin;

pub use state::{SenderPhase, SenderState};

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// Opens the connection.
    Syn,
    /// Data.
    Data {
        /// Its number.
        seq: u32,
        /// It was sent before.
        retransmission: bool,
        /// It carries CWR: the window was reduced because of ECN (RFC 3168 section 6.1.2).
        cwr: bool,
    },
}

/// The events of an acknowledgment or a timer that are worth counting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// A fast retransmission began.
    pub fast_retransmit: bool,
    /// The window was reduced because of an echoed mark.
    pub ecn_response: bool,
    /// The retransmission timer found a loss.
    pub timeout: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The SYN has not been acknowledged.
    Handshake,
    /// No loss is being repaired.
    Open,
    /// Fast recovery, until packet `recover` is acknowledged (Reno: until any new one is).
    Recovery,
}

/// No packet's round-trip time is being measured: no acknowledgment is above this number.
const UNTIMED: u32 = u32::MAX;

/// The part of the window that has been used.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// The window was full in this window of data, which ends with packet `end`.
    full: bool,
    /// The most packets that were outstanding in it.
    most: u32,
    end: u32,
}

impl Usage {
    /// A packet has been sent, after which those from `una` to before `max` are outstanding.
    #[inline]
    fn sent(&mut self, una: u32, max: u32, cwnd: f64) {
        let out = max - una;
        let full = f64::from(out) + 1.0 > cwnd;
        if full || una >= self.end || (!self.full && out > self.most) {
            *self = Usage { full, most: out, end: max };
        }
    }
}

/// The further state of a sender that is not Reno as it was, without pacing and counted marks.
#[derive(Clone, Debug)]
struct Modern {
    control: Control,
    gauges: Gauges,
    release: Release,
}

/// The measurements that a sender makes for its congestion control.
#[derive(Clone, Debug)]
struct Gauges {
    search: Option<Search>,
    rtts: RoundTrips,
    usage: Usage,
    /// The window has kept packets back since the last acknowledgment.
    limited: bool,
    marks: Marks,
    /// The number of packets that the acknowledgment under way says to have come marked.
    marked: u32,
}

/// Packets that an acknowledgment acknowledges, as far as they make the window grow.
#[derive(Clone, Copy, Debug)]
struct Growing {
    packets: u32,
    /// The number of them that came marked.
    marked: u32,
    /// The number of packets outstanding before.
    flight: u32,
    /// The cumulative acknowledgment, and one past the highest packet sent.
    ack: u32,
    next: u32,
}

/// The sender. Time comes in with each call; packets go out through [`Sender::poll`].
#[derive(Clone, Debug)]
pub struct Sender {
    /// The first packet not acknowledged.
    una: u32,
    /// The next packet to send; below `max` after a timeout.
    next: u32,
    /// One past the highest packet sent.
    max: u32,
    /// One past the last packet the application has given.
    limit: u32,
    /// One past the highest packet sent when the window was last reduced (RFC 6582): a second
    /// reduction needs an acknowledgment beyond it.
    recover: u32,
    /// The cause of the last reduction.
    reduced_by: Cause,
    /// An answered echo has met a window of one, and every acknowledgment since has brought an echo.
    echo_at_one: bool,
    dup_acks: u32,
    phase: Phase,
    /// Nothing but the window, pacing and the timers has a say in what an acknowledgment of new packets does, see
    /// [`Sender::is_in_order`]; sometimes false where that is so.
    in_order: bool,
    /// Send the first unacknowledged packet now, whatever the window says.
    retransmit: bool,
    /// The next packet carries CWR; a retransmission only if it is ECN-capable.
    cwr: bool,
    syn_pending: bool,
    /// The first partial acknowledgment of this recovery has restarted the timer (RFC 6582 section 3.2).
    timer_restarted: bool,
    window: Window,
    /// The packets that fast recovery adds to the window: those that duplicates say have left the network
    /// (RFC 5681 section 3.2 steps 3 and 4).
    inflation: i32,
    /// The time at which the retransmission timer runs out.
    deadline: Time,
    /// The time at which the first of the other timers does.
    sooner: Time,
    /// The packet whose round-trip time is being measured, [`UNTIMED`] if none is, and when it was sent.
    timed: u32,
    timed_at: Time,
    /// The round-trip time measured last, until it is taken; zero is none.
    measured: Duration,
    rtt: RttEstimator,
    repair: Repair,
    /// `None` for Reno as it was; a box because most senders are that.
    modern: Option<Box<Modern>>,
}

impl Sender {
    /// A connection that has nothing to send yet.
    pub fn new(cfg: &Config) -> Self {
        Sender::with(cfg, Repair::new(cfg.recovery), Modern::new(cfg).map(Box::new))
    }

    /// A new connection with these parts.
    fn with(cfg: &Config, repair: Repair, modern: Option<Box<Modern>>) -> Self {
        Sender {
            una: 1,
            next: 1,
            max: 1,
            limit: 1,
            recover: 0,
            reduced_by: Cause::Loss,
            echo_at_one: false,
            dup_acks: 0,
            phase: if cfg.syn { Phase::Handshake } else { Phase::Open },
            in_order: false,
            retransmit: false,
            cwr: false,
            syn_pending: cfg.syn,
            timer_restarted: false,
            window: Window { cwnd: cfg.initial_window, ssthresh: cfg.initial_ssthresh },
            inflation: 0,
            deadline: Time::MAX,
            sooner: Time::MAX,
            timed: UNTIMED,
            timed_at: Time::ZERO,
            measured: Duration::ZERO,
            rtt: RttEstimator::new(cfg),
            repair,
            modern,
        }
    }

    /// Starts a fresh connection that remembers nothing of the last one.
    pub fn reopen(&mut self, cfg: &Config) {
        let mut modern = self.modern.take();
        if let Some(modern) = &mut modern {
            modern.restart(cfg);
        }
        *self = Sender::with(cfg, self.repair.take(), modern);
    }

    /// Takes `packets` more packets from the application; `u32::MAX` is data without end.
    pub fn provide(&mut self, packets: u32) {
        self.limit = self.limit.saturating_add(packets);
    }

    /// Ends the application's data with what has been sent.
    pub fn stop(&mut self) {
        self.limit = self.limit.min(self.max);
    }

    /// One past the last packet that the application gave.
    pub fn end_of_data(&self) -> u32 {
        self.limit
    }

    /// One past the highest packet sent: the number of the next packet that is sent for the first time.
    pub fn end_of_sent(&self) -> u32 {
        self.max
    }

    /// The first packet that is not acknowledged.
    pub fn first_unacknowledged(&self) -> u32 {
        self.una
    }

    /// Returns whether everything the application gave has been acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.una >= self.limit
    }

    /// Begins again after an idle time longer than the timeout (RFC 5681 section 4.1).
    pub fn restart_after_idle(&mut self, cfg: &Config) {
        match &mut self.modern {
            None => self.window.cwnd = self.window.cwnd.min(cfg.initial_window),
            Some(modern) => modern.control.on_idle(&mut self.window, cfg.initial_window),
        }
    }

    /// The round-trip time that the last acknowledgment measured, if it did.
    #[inline]
    pub fn take_rtt(&mut self) -> Option<Duration> {
        // Rare: a compare with memory is all that other acknowledgments cost.
        (!self.measured.is_zero()).then(|| core::mem::take(&mut self.measured))
    }

    /// The congestion window, in packets; what recovery adds to it is not in it.
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    /// The threshold of slow start, in packets.
    pub fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    /// The smoothed round-trip time; zero before the first measurement.
    pub fn smoothed_rtt(&self, cfg: &Config) -> Duration {
        self.rtt.smoothed(cfg)
    }

    /// The retransmission timeout now.
    #[inline]
    pub fn rto(&self) -> Duration {
        self.rtt.rto()
    }

    /// The time at which [`Sender::on_timer`] must be called; [`Time::MAX`] for never.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline.min(self.sooner)
    }

    /// The host has taken over the packet that was sent first of those of which it has not said this yet, and will
    /// have sent it at `leaves`. Only for those who [promised](Config::with_host) to say it of all.
    pub fn on_handed_over(&mut self, now: Time, leaves: Time) {
        if let Some(pacer) = self.modern.as_mut().and_then(|m| m.release.pacer_mut())
            && pacer.on_handed_over(now, leaves)
        {
            self.look_ahead();
        }
    }

    /// Finds out which of the other timers is the first.
    #[inline]
    fn look_ahead(&mut self) {
        let Some(modern) = &self.modern else { return };
        self.sooner = self.repair.due().min(modern.release.due());
    }

    #[inline]
    fn arm(&mut self, now: Time) {
        self.deadline = now + self.rtt.rto();
    }

    /// Takes in an acknowledgment of all packets below `ack`.
    #[inline(always)]
    pub fn on_ack(&mut self, cfg: &Config, now: Time, ack: u32, ece: bool, blocks: &[Block]) -> Reaction {
        if self.modern.is_none()
            && self.only_window(cfg)
            && ack > self.una
            && !ece
            && blocks.is_empty()
            && self.repair.sacked() == 0
        {
            self.on_new_ack(cfg, now, ack, ack - self.una, false);
            return Reaction::default();
        }
        self.on_special_ack(cfg, now, ack, ece, blocks, None)
    }

    /// Returns whether [`Sender::on_plain_duplicate`] does at `now` what [`Sender::on_ack`] does for an
    /// acknowledgment without echo and report.
    #[inline]
    pub fn takes_plain_duplicate(&self, now: Time, ack: u32) -> bool {
        ack == self.una
            && ack < self.max.min(self.limit)
            && self.modern.is_none()
            && matches!(self.repair, Repair::Duplicates)
            && self.phase != Phase::Handshake
            && self.deadline() > now
    }

    /// Does [`Sender::on_ack`] for a duplicate that says nothing else; returns whether a fast retransmit begins.
    #[inline]
    pub fn on_plain_duplicate(&mut self, cfg: &Config, now: Time) -> bool {
        self.in_order = false;
        self.on_dup_ack(cfg, now)
    }

    /// Takes in an acknowledgment that carries a report.
    pub fn on_report(&mut self, cfg: &Config, now: Time, ack: u32, ece: bool, report: &Report) -> Reaction {
        self.on_special_ack(cfg, now, ack, ece, report.blocks.as_slice(), Some(report))
    }

    /// Takes in any acknowledgment. Where losses are found by time it is compiled for each congestion control.
    #[inline(always)]
    fn on_special_ack(
        &mut self,
        cfg: &Config,
        now: Time,
        ack: u32,
        ece: bool,
        blocks: &[Block],
        report: Option<&Report>,
    ) -> Reaction {
        macro_rules! by_control {
            ($( #[doc = $doc:literal] $name:ident = $text:literal, $module:ident: $kind:ty; )+) => {
                match cfg.congestion {
                    $( CongestionControl::$name => {
                        type Kind = congestion::$module::$name;
                        self.take_any::<Kind, true>(cfg, now, ack, ece, blocks, report)
                    } )+
                }
            };
        }
        if cfg.recovery != Recovery::Rack {
            // None of them is a model, and that is all that is asked of the kind.
            return self.take_any::<reno::Reno, false>(cfg, now, ack, ece, blocks, report);
        }
        congestion_controls!(by_control)
    }

    #[inline(never)]
    fn take_any<C: Kind, const RACK: bool>(
        &mut self,
        cfg: &Config,
        now: Time,
        ack: u32,
        ece: bool,
        blocks: &[Block],
        report: Option<&Report>,
    ) -> Reaction {
        self.in_order = false;
        if self.phase == Phase::Handshake {
            self.on_syn_ack(cfg, now);
            self.set_pace::<C>();
            return Reaction::default();
        }
        let mut did = Reaction::default();
        let from = ack.max(self.una);
        if cfg.gradual() && ack > self.recover {
            self.end_fall();
        }
        let (una, sacked) = (self.una, self.repair.sacked());
        let again = report.is_some_and(|report| report.again);
        if RACK
            && cfg.eifel
            && let Some(by_time) = self.repair.by_time()
        {
            by_time.rack.late = ack > una && !again;
        }
        let (flight, measured) = if RACK { self.deliver::<C>(now, from, blocks) } else { (0, None) };
        if RACK
            && cfg.rtt_of_each
            && let Some(rtt) = measured
        {
            let sent = Time::from_nanos(now.nanos() - rtt.nanos());
            self.rtt.sample_each(cfg, sent, now, from, self.max);
            // What is acknowledged selectively and was sent before the first packet was sent again, too, says that
            // packets still come.
            let first = self.repair.by_time().and_then(|by_time| by_time.rack.first_sent());
            if ack <= una && first.is_some_and(|first| sent < first) {
                self.arm(now);
            }
        }
        let board = if RACK { None } else { self.repair.board_mut() };
        let sack_news = board.is_some_and(|b| b.update(from, blocks, cfg.dup_threshold));
        // What was acknowledged selectively before has arrived before.
        let delivered = (from - una + self.repair.sacked()).saturating_sub(sacked);
        let mut congested = ece && cfg.announces();
        if RACK && (cfg.eifel || cfg.frto) && self.timed_out() {
            let plain = ack == una && blocks.is_empty() && report.is_none_or(|r| r.duplicate.is_none());
            let brings = delivered > from - una;
            self.judge_timeout(cfg, now, ack, (congested, again), (brings, plain));
        }
        if let Some(report) = report
            && cfg.reports == Reports::Always
        {
            congested |= self.hear(cfg, now, ack, delivered, report, &mut did);
        }
        if congested && self.answers_echo(cfg, ack) {
            self.on_ecn_echo(cfg);
            did.ecn_response = true;
        }
        if ack > self.una {
            self.on_new_ack(cfg, now, ack, delivered, congested);
        } else if ack == self.una && self.una < self.max && !RACK {
            // RFC 6675 section 2: with SACK, a duplicate is an acknowledgment that brings news. One without blocks counts, as
            // in ns-2, while what was sent before the last reduction is outstanding: then a packet may have come that was
            // sent twice. Elsewhere the network has copied one.
            let resends = self.una <= self.recover && self.reduced_by != Cause::Echo;
            let again = blocks.is_empty() && resends;
            if !cfg.recovery.is_selective() || sack_news || again {
                did.fast_retransmit = self.on_dup_ack(cfg, now);
            }
        }
        if RACK {
            let twice = report.and_then(|r| r.duplicate);
            let plain = ack == una && blocks.is_empty() && twice.is_none();
            did.fast_retransmit = self.after_rack_ack(cfg, now, ack, ack > una, plain, twice);
        }
        if C::MODEL {
            self.feed_model::<C>(now, flight);
        } else {
            let falls = cfg.gradual() && self.repair.falls();
            let recovers = self.phase == Phase::Recovery && cfg.recovery.is_proportional();
            if falls || recovers {
                // A recovery that begins while a mark reduces the window goes on with that reduction.
                let begins = (did.fast_retransmit && !falls).then(|| self.max - una - sacked);
                self.reduce_in_proportion(cfg, from - una, delivered, sack_news, begins);
            }
            if falls
                && recovers
                && let Some(fall) = self.repair.fall_mut()
            {
                fall.falling = false;
            }
        }
        self.set_pace::<C>();
        did
    }

    /// A mark has reduced the window, which was `before`: it falls there in proportion to what arrives. As Linux does;
    /// RFC 9937 has it for losses.
    fn begin_fall(&mut self, before: f64) {
        let Some(fall) = self.repair.fall_mut() else { return };
        if self.phase == Phase::Open {
            (self.recover, self.reduced_by) = (self.max, Cause::Echo);
            self.window.cwnd = before;
            self.cwr = true;
            fall.falling = true;
            fall.prr = Prr::new(before as u32);
        }
    }

    /// Ends the fall of the window: what was outstanding when a mark reduced it has been acknowledged.
    fn end_fall(&mut self) {
        if let Some(fall) = self.repair.fall_mut()
            && core::mem::take(&mut fall.falling)
        {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// An acknowledgment that comes during recovery, or begins it with so many packets outstanding before (RFC 9937
    /// section 6): `newly` packets are acknowledged cumulatively, and `delivered` of them or in blocks for the first
    /// time; whether the blocks have `news`.
    fn reduce_in_proportion(
        &mut self,
        cfg: &Config,
        newly: u32,
        mut delivered: u32,
        news: bool,
        begins: Option<u32>,
    ) {
        let (pipe, mut lost) = match &self.repair {
            Repair::Rack(by_time) => (by_time.rack.flying(), by_time.lost > 0),
            Repair::Prr(by_sack) => {
                let pipe = by_sack.0.pipe(self.max, cfg.dup_threshold) - self.retransmit as u32;
                (pipe, by_sack.0.found_lost())
            }
            _ => return,
        };
        let Some(Proportional { prr, .. }) = self.repair.fall_mut() else { return };
        if let Some(outstanding) = begins {
            *prr = Prr::new(if cfg.ns3() { pipe } else { outstanding });
        }
        if cfg.ns3() {
            lost = false;
            if news {
                delivered = prr.overcount(delivered, newly > 0);
            }
        }
        let progress = Progress { delivered, pipe, safe: newly > 0 && !lost };
        if let Some(cwnd) = prr.on_ack(progress, self.window.ssthresh) {
            self.window.cwnd = cwnd;
        }
    }

    /// Takes in what an acknowledgment says of marks and delays; true if its marks are to be answered as an echo.
    /// It says for the first time of `delivered` packets that they have arrived, by its number and its blocks.
    fn hear(
        &mut self,
        cfg: &Config,
        now: Time,
        ack: u32,
        delivered: u32,
        report: &Report,
        did: &mut Reaction,
    ) -> bool {
        let Some(Modern { control, gauges, .. }) = self.modern.as_deref_mut() else { return false };
        // What others have overtaken is old (RFC 9768 section 3.2.2.5).
        if ack < self.una {
            return false;
        }
        if let Some(delay) = report.delay {
            control.on_delay(now, delay);
        }
        let Some(marks) = report.marks else { return false };
        let newly = ack - self.una;
        let delivered = match cfg.recovery.is_selective() {
            true => delivered,
            false => gauges.marks.delivered(newly, newly == 0 && self.una < self.max),
        };
        let marked = gauges.marks.count(cfg.feedback, marks, cfg.covered_by_ace(delivered));
        gauges.marked = marked;
        // As with an echo, what a timeout repairs is repaired first.
        let times_out = cfg.gradual() && self.reduced_by == Cause::Timeout && ack < self.recover;
        let may_reduce = self.phase == Phase::Open && !self.repair.falls() && !times_out;
        let before = self.window.cwnd;
        let delivery = Delivery { now, ack, next: self.max, delivered, marked, may_reduce };
        match control.on_marks(&mut self.window, &delivery) {
            Answer::AsEcho => return marked > 0,
            Answer::Counted => {}
            Answer::Reduced => {
                did.ecn_response = true;
                self.repair.forget_undo();
                if let Some(search) = &mut gauges.search {
                    search.on_reduction(Cause::Echo);
                }
                if cfg.gradual() {
                    self.begin_fall(before);
                }
            }
        }
        false
    }

    fn on_syn_ack(&mut self, cfg: &Config, now: Time) {
        if self.timed != UNTIMED {
            self.timed = UNTIMED;
            self.measured = now - self.timed_at;
            match cfg.rtt_of_each {
                true => self.rtt.sample_each(cfg, self.timed_at, now, self.una, self.max),
                false => self.rtt.sample(cfg, self.timed_at, now),
            }
            if let Some(Modern { control, gauges, release }) = self.modern.as_deref_mut() {
                gauges.rtts.srtt = Some(self.measured);
                if let Some(pacer) = release.pacer_mut() {
                    pacer.acknowledged(self.measured);
                }
                control.on_first_rtt(now, self.measured);
            }
        } else {
            // The SYN or its acknowledgment was lost (RFC 5681 section 3.1).
            self.window.cwnd = 1.0;
        }
        self.phase = Phase::Open;
        self.deadline = Time::MAX;
    }

    /// Returns whether an echo calls for a reduction: one per window of data (RFC 3168 section 6.1.2). The
    /// timer ended the last window if it asked for the last reduction, and CWR went with the first
    /// packet after it: where that is an ECN-capable retransmission, an echo now is of its mark. So
    /// does ns-2; without that, 200 flows on 10 Mbit/s lose 1.7% under RED instead of 2.8% (ns-2:
    /// 2.7%).
    fn answers_echo(&self, cfg: &Config, ack: u32) -> bool {
        // As Linux does (tcp_fastretrans_alert() in tcp_input.c): the repair of losses is over with the last packet
        // that was outstanding when it began, and only a reduction by a mark waits for one more.
        let repaired = cfg.gradual() && ack == self.recover && !self.repair.falls();
        ack > self.recover || repaired || (self.reduced_by == Cause::Timeout && cfg.ecn_retransmissions)
    }

    /// RFC 3168 section 6.1.2: as for a loss, nothing to retransmit. A window that falls below one
    /// packet sends nothing until the timer runs out, as the RFC asks of a sender whose window is one
    /// already; without that, 200 flows on 15 Mbit/s need 49% marks instead of 34% (PI; ns-2: 32%).
    /// If the packet that goes then is marked too, the timer doubles, as for a packet that is lost
    /// again (RFC 6298 rule 5.5) and as in ns-2; without that, 500 flows on 10 Mbit/s need 90% marks
    /// instead of 53% (PI; ns-2: 53%).
    fn on_ecn_echo(&mut self, cfg: &Config) {
        if self.phase == Phase::Recovery {
            // All that was outstanding when it began has been acknowledged: an echo of a mark since then reduces the
            // window that recovery leaves.
            self.leave_recovery(cfg);
        }
        // Linux does not: its threshold is two packets, and in proportion to what arrives the window is that at once.
        let at_one = self.window.cwnd <= 1.0 && !cfg.gradual();
        if at_one && self.echo_at_one {
            self.rtt.back_off(cfg);
        }
        self.echo_at_one = at_one;
        let before = self.window.cwnd;
        self.reduce(cfg, Cause::Echo);
        if cfg.gradual() {
            self.begin_fall(before);
        }
    }

    /// Everything that was outstanding when the recovery began has been acknowledged. The window that SACK leaves
    /// recovery with is half the old one (RFC 6675 section 5), that of a reduction in proportion is its threshold
    /// (RFC 9937 section 6), and a model has set it.
    fn leave_recovery(&mut self, cfg: &Config) {
        self.phase = Phase::Open;
        self.inflation = 0; // RFC 5681 section 3.2 step 6
        if !cfg.congestion.is_model() && cfg.recovery.is_proportional() {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Reduces the window, and notes that the receiver is to be told, whatever the cause (RFC 3168 section
    /// 6.1.2).
    fn reduce(&mut self, cfg: &Config, cause: Cause) {
        self.remember(cause);
        match &mut self.modern {
            None => {
                // What lies beyond the largest window was never in flight, and is not halved: as in ns-2 (windowd() in
                // tcp.cc), and within RFC 5681 eq. 4, which halves the flight.
                self.window.cwnd = lesser(self.window.cwnd, cfg.max_window);
                reno::reduce(&mut self.window, cause, cfg.whole_reductions);
            }
            Some(modern) => modern.reduce(&mut self.window, cause),
        }
        if cfg.ns3()
            && cfg.congestion == CongestionControl::Reno
            && let Some(board) = self.repair.board_mut()
        {
            // Of acknowledgments in order it has not heard.
            board.acknowledge(self.una);
            let pipe = board.pipe(self.max, cfg.dup_threshold);
            self.window.ssthresh = (f64::from(pipe) / 2.0).max(2.0);
        }
        self.recover = self.max;
        self.reduced_by = cause;
        self.cwr = cfg.announces();
    }

    /// Returns whether the window was reduced for the data for which the timer ran out: by a recovery, as in Linux,
    /// since what that has left of the window by then is not a window; or by a timeout since which nothing was
    /// acknowledged (RFC 5681 section 3.1).
    fn is_reduced_already(&self) -> bool {
        let went_on = |fall: &Proportional| self.reduced_by == Cause::Timeout && self.una > fall.timed_out_at;
        self.una < self.recover && !self.repair.fall().is_some_and(went_on)
    }

    /// The timer ran out where the window [is reduced already](Sender::is_reduced_already): the threshold stays.
    fn time_out_again(&mut self, cfg: &Config) {
        if let Some(Modern { control, gauges, .. }) = self.modern.as_deref_mut() {
            control.on_timeout_again(&self.window);
            if let Some(search) = &mut gauges.search {
                search.on_reduction(Cause::Timeout);
            }
        }
        if let Some(undo) = self.repair.by_time().and_then(|by_time| by_time.undo.as_mut()) {
            // What was sent before is of the same event.
            undo.end = self.max;
        }
        (self.recover, self.reduced_by, self.cwr) = (self.max, Cause::Timeout, cfg.announces());
    }

    #[inline]
    fn on_new_ack(&mut self, cfg: &Config, now: Time, ack: u32, delivered: u32, congested: bool) {
        let newly = ack - self.una;
        self.una = ack;
        self.next = self.next.max(ack);
        if let Some(modern) = &mut self.modern {
            modern.gauges.rtts.acknowledged(ack, now);
        }
        if ack > self.timed {
            self.timed = UNTIMED;
            self.measured = now - self.timed_at;
            if cfg.rtt_of_each {
                // This acknowledgment has measured already.
            } else if congested && self.echo_at_one {
                self.rtt.sample_backed_off(cfg, self.timed_at, now);
            } else {
                self.rtt.sample(cfg, self.timed_at, now);
            }
        }
        self.echo_at_one &= congested;
        self.dup_acks = 0;
        let mut restart_timer = true;
        if self.phase == Phase::Recovery {
            match cfg.recovery {
                Recovery::NewReno if ack < self.recover => {
                    // Partial acknowledgment (RFC 6582 section 3.2 step 3, impatient variant).
                    self.retransmit = true;
                    self.inflation = (self.inflation - newly as i32 + 1).max(1 - self.window.cwnd as i32);
                    restart_timer = !core::mem::replace(&mut self.timer_restarted, true);
                }
                Recovery::Sack | Recovery::Prr | Recovery::Rack if ack < self.recover => {
                    restart_timer = !(cfg.ns3() && core::mem::replace(&mut self.timer_restarted, true));
                }
                _ => {
                    self.leave_recovery(cfg);
                    // ns-2's Reno and NewReno take the acknowledgment for one more.
                    if cfg.ns3() {
                        self.grow(cfg, now, newly, newly, congested);
                    } else if !cfg.recovery.is_selective() && cfg.growth_limit == 1 {
                        self.grow(cfg, now, newly, delivered, congested);
                    }
                }
            }
        } else {
            self.grow(cfg, now, newly, delivered, congested);
        }
        if self.una >= self.max && self.window.cwnd >= 1.0 {
            self.deadline = Time::MAX;
        } else if restart_timer {
            self.arm(now);
        }
    }

    /// Slow start below `ssthresh`, congestion avoidance above; an echoed mark stops growth (RFC 3168 section
    /// 6.1.2). `newly` packets are acknowledged, and `delivered` of them or in blocks for the first time.
    #[inline]
    fn grow(&mut self, cfg: &Config, now: Time, newly: u32, delivered: u32, congested: bool) {
        // Linux's window grows after a timeout whatever is echoed (tcp_cong_control() in tcp_input.c).
        let stops = if cfg.gradual() { self.repair.falls() } else { congested };
        if stops || cfg.congestion.is_model() {
            return;
        }
        // What a slow start after a timeout fills in was sent before: one packet for each acknowledgment (RFC
        // 3465 section 2.3).
        let again = newly > 1 && self.reduced_by == Cause::Timeout && self.una <= self.recover;
        let packets = delivered.min(if again { 1 } else { cfg.growth_limit });
        if let Some(Modern { control, gauges, .. }) = self.modern.as_deref_mut() {
            let growing = Growing {
                packets,
                marked: core::mem::take(&mut gauges.marked),
                flight: self.max - self.una + newly,
                ack: self.una,
                next: self.max,
            };
            let timer = (&self.rtt, cfg);
            return gauges.grow(&mut **control, &mut self.window, now, growing, timer);
        }
        let left = self.window.slow_start(packets as f64);
        if left > 0.0 {
            reno::avoid(&mut self.window, left);
        }
    }

    /// True if it starts a fast retransmit.
    fn on_dup_ack(&mut self, cfg: &Config, now: Time) -> bool {
        self.dup_acks += 1;
        if self.phase == Phase::Recovery {
            self.inflation += 1;
            return false;
        }
        let lost =
            self.dup_acks == cfg.dup_threshold || self.repair.board().is_some_and(|b| b.is_lost(self.una));
        // No second reduction for the same window of data (RFC 6582 section 3.2 step 2). One that ECN
        // asked for has repaired nothing, though: what is lost of its window is sent again, and the
        // window stays as it is (RFC 3168 section 6.1.2).
        // RFC 6675 section 5 asks that all sent before the last reduction be acknowledged, RFC 6582 for one more.
        let reduced = if cfg.ns3() { self.una < self.recover } else { self.una <= self.recover };
        if !lost || (reduced && self.reduced_by != Cause::Echo) {
            return false;
        }
        self.timed = UNTIMED;
        if reduced {
            self.reduced_by = Cause::Loss;
        } else {
            self.reduce(cfg, Cause::Loss);
        }
        match cfg.recovery {
            Recovery::Tahoe => {
                if let Some(modern) = &mut self.modern {
                    modern.control.on_slow_start();
                }
                self.window.cwnd = 1.0;
                self.next = self.una;
            }
            Recovery::Reno | Recovery::NewReno => {
                self.phase = Phase::Recovery;
                self.inflation = cfg.dup_threshold as i32;
                self.retransmit = true;
                self.timer_restarted = false;
            }
            Recovery::Sack | Recovery::Prr | Recovery::Rack => {
                self.phase = Phase::Recovery;
                self.retransmit = true;
                self.timer_restarted = false;
                if let Some(board) = self.repair.board_mut() {
                    board.set_high_rxt(self.una + 1);
                    board.rescued = false;
                }
            }
        }
        if !cfg.ns3() {
            self.arm(now);
        }
        true
    }

    /// A timer has run out.
    pub fn on_timer(&mut self, cfg: &Config, now: Time) -> Reaction {
        if core::mem::take(&mut self.in_order)
            && let Some(modern) = &self.modern
        {
            self.repair.set_window_in_order(modern.gauges.rtts.srtt);
        }
        let mut did = Reaction::default();
        if self.sooner > now {
            did.timeout = self.on_timeout(cfg, now);
        } else {
            if let Some(pacer) = self.modern.as_mut().and_then(|m| m.release.pacer_mut())
                && pacer.wake <= now
            {
                pacer.wake = Time::MAX;
            }
            if self.repair.due() <= now {
                did = self.on_rack_timer(cfg, now);
            }
        }
        if let Some(Modern { control, gauges, release }) = self.modern.as_deref_mut() {
            self.sooner = self.repair.due().min(release.due());
            if let Release::Paced(pacer) = release {
                pacer.follow(control.pacing_rate(), &self.window, gauges.rtts.srtt);
            }
            control.on_timer();
        }
        did
    }

    /// The retransmission timer ran out; true if that means a loss.
    fn on_timeout(&mut self, cfg: &Config, now: Time) -> bool {
        self.timed = UNTIMED;
        if self.phase != Phase::Handshake && self.una >= self.max {
            // Nothing is outstanding: ECN held the sender back, and now it may go on.
            self.window.cwnd = self.window.cwnd.max(1.0);
            self.deadline = Time::MAX;
            return false;
        }
        if self.phase == Phase::Handshake {
            // A lost SYN is a loss that the timer found (RFC 5681 eq. 4): with nothing else in flight
            // it leaves 2. Without that, senders whose SYN met a full buffer start later with a slow
            // start that nothing bounds: 1000 flows over 1 Gbit/s lose 8.3 % of their first five
            // seconds' packets at drop-tail instead of 7.3 % (ns-2: 6.9 %).
            // Linux and QUIC learn nothing of the path from a lost SYN (RFC 9002 section 6.2), and ns-2 has neither
            // of their recoveries.
            if !cfg.repairs_as_hosts() {
                self.window.ssthresh = 2.0;
            }
            self.syn_pending = true;
        } else {
            self.suspect_timeout(cfg);
            if cfg.repairs_as_hosts() && self.is_reduced_already() {
                self.time_out_again(cfg);
            } else {
                self.reduce(cfg, Cause::Timeout);
            }
            self.window.cwnd = 1.0;
            self.inflation = 0;
            self.phase = Phase::Open;
            self.dup_acks = 0;
            self.next = self.una;
            self.retransmit = false;
            if let Some(fall) = self.repair.fall_mut() {
                fall.falling = false;
                fall.timed_out_at = self.una;
            }
            if cfg.recovery == Recovery::Rack {
                self.on_rack_timeout(cfg, now);
            } else if let Some(board) = self.repair.board_mut() {
                board.clear();
            }
        }
        self.rtt.back_off(cfg);
        self.arm(now);
        true
    }

    /// The next packet to send at `now`, if the window and the application allow one.
    #[inline(always)]
    pub fn poll(&mut self, cfg: &Config, now: Time) -> Option<Outgoing> {
        if cfg.recovery == Recovery::Rack && self.phase != Phase::Handshake {
            return self.poll_rack(cfg, now);
        }
        if self.only_window(cfg) { self.poll_window(cfg, now) } else { self.poll_special(cfg, now) }
    }

    #[inline(never)]
    fn poll_window(&mut self, cfg: &Config, now: Time) -> Option<Outgoing> {
        self.poll_below(cfg, now, self.end_of_window(cfg))
    }

    /// Returns whether the window alone decides what is sent, until the next acknowledgment or timeout.
    #[inline]
    pub fn only_window(&self, cfg: &Config) -> bool {
        self.phase == Phase::Open && !self.retransmit && (self.modern.is_none() || !cfg.has_timers())
    }

    /// Up to (and not with) which packet the window allows to send, if only it decides.
    #[inline]
    pub fn end_of_window(&self, cfg: &Config) -> u32 {
        // A packet on each of the first two duplicates (RFC 3042), and none for them later. After a
        // timeout that may be one sent before, as in ns-2: with small windows it is what keeps
        // recovery going, and new data alone cost 100 flows under RED 4 % of their link.
        let more = if self.dup_acks <= cfg.limited_transmit { self.dup_acks } else { 0 };
        self.una.saturating_add(self.window.packets(cfg)).saturating_add(more).min(self.limit)
    }

    /// The next packet if it comes before `end`.
    #[inline(always)]
    pub fn poll_below(&mut self, cfg: &Config, now: Time, end: u32) -> Option<Outgoing> {
        let seq = self.next;
        if seq >= end {
            self.in_order = self.is_in_order();
            return None;
        }
        self.next = seq + 1;
        Some(self.send(cfg, now, seq))
    }

    /// Sends what goes before the window's next packet: the handshake and what is to be repaired.
    #[inline(never)]
    fn poll_special(&mut self, cfg: &Config, now: Time) -> Option<Outgoing> {
        if self.phase == Phase::Handshake {
            return self.poll_syn(now);
        }
        if self.retransmit {
            self.retransmit = false;
            return Some(self.send(cfg, now, self.una));
        }
        if cfg.recovery.is_selective() && self.phase == Phase::Recovery {
            return self.poll_sack_recovery(cfg, now);
        }
        if self.phase == Phase::Open {
            return self.poll_paced(cfg, now, self.end_of_window(cfg));
        }
        let window = self.window.packets(cfg).saturating_add_signed(self.inflation);
        self.poll_paced(cfg, now, self.una.saturating_add(window).min(self.limit))
    }

    fn poll_syn(&mut self, now: Time) -> Option<Outgoing> {
        if !self.syn_pending || self.limit <= 1 {
            return None;
        }
        self.syn_pending = false;
        if !self.rtt.backed_off() {
            (self.timed, self.timed_at) = (0, now);
            self.arm(now);
        }
        Some(Outgoing::Syn)
    }

    /// RFC 6675 section 5 step (C): while the window exceeds the pipe, NextSeg().
    fn poll_sack_recovery(&mut self, cfg: &Config, now: Time) -> Option<Outgoing> {
        let board = self.repair.board_mut()?;
        if (board.pipe(self.max, cfg.dup_threshold) as f64) + 1.0 > self.window.cwnd.min(cfg.max_window) {
            return None;
        }
        if !self.released(now) {
            return None;
        }
        let board = self.repair.board_mut()?;
        let hole = board.next_hole(true).or_else(|| {
            // Rule 2: new data before holes that are not yet known to be lost.
            (self.max >= self.limit).then(|| board.next_hole(false)).flatten()
        });
        let seq = match hole {
            Some(seq) => {
                board.set_high_rxt(seq + 1);
                seq
            }
            None if self.max < self.limit => {
                self.next = self.max + 1;
                self.max
            }
            None if !board.rescued && board.high_rxt() < self.max => {
                // Rule 4: one rescue retransmission of the last packet outstanding.
                board.rescued = true;
                board.highest_hole(self.max)
            }
            None => return None,
        };
        Some(self.send(cfg, now, seq))
    }

    #[inline]
    fn send(&mut self, cfg: &Config, now: Time, seq: u32) -> Outgoing {
        self.leaves(cfg, now, seq)
    }

    /// A packet leaves, by any way of repair.
    #[inline(always)]
    fn leaves(&mut self, cfg: &Config, now: Time, seq: u32) -> Outgoing {
        let retransmission = seq < self.max;
        if !retransmission {
            self.max = seq + 1;
            if self.timed == UNTIMED {
                (self.timed, self.timed_at) = (seq, now);
            }
        }
        if let Some(Modern { gauges, release, .. }) = self.modern.as_deref_mut() {
            if !cfg.congestion.is_model() {
                // A model does not ask.
                gauges.usage.sent(self.una, self.max, self.window.cwnd);
            }
            if let Some(sent) = &mut gauges.rtts.sent {
                sent.sent(seq, now);
            }
            if let Some(pacer) = release.pacer_mut() {
                pacer.sent(now);
            }
            if let Some(fall) = self.repair.fall_mut() {
                fall.prr.out += u32::from(self.phase == Phase::Recovery || fall.falling);
            }
        }
        // On the first new packet (RFC 3168 section 6.1.2); in ns-2 on the first of all.
        let cwr = self.cwr && (!retransmission || cfg.ecn_retransmissions);
        if cwr {
            self.cwr = false;
        }
        if self.deadline == Time::MAX {
            self.arm(now);
        }
        Outgoing::Data { seq, retransmission, cwr }
    }
}

impl Modern {
    /// `None` for a sender that needs nothing of it.
    fn new(cfg: &Config) -> Option<Self> {
        let hystart = cfg.slow_start != SlowStart::Standard;
        let plain = cfg.congestion == CongestionControl::Reno
            && !hystart
            && !cfg.recovery.is_proportional()
            && cfg.growth != Growth::WholePackets;
        let needed = !plain || cfg.paces() || cfg.reports == Reports::Always;
        let measures = hystart || cfg.pacing || cfg.congestion == CongestionControl::Prague;
        let sent = (measures && cfg.recovery != Recovery::Rack).then(SendTimes::new);
        needed.then(|| Modern {
            control: Control::new(cfg),
            gauges: Gauges::new(cfg, RoundTrips::new(sent)),
            release: Release::new(cfg),
        })
    }

    /// A new connection, which remembers nothing.
    fn restart(&mut self, cfg: &Config) {
        let mut sent = self.gauges.rtts.sent.take();
        if let Some(sent) = &mut sent {
            sent.clear();
        }
        let (control, mut release) = (Control::new(cfg), Release::new(cfg));
        if let (Some(new), Some(old)) = (release.pacer_mut(), self.release.pacer_mut()) {
            new.inherit(old);
        }
        *self = Modern { control, gauges: Gauges::new(cfg, RoundTrips::new(sent)), release };
    }

    fn reduce(&mut self, window: &mut Window, cause: Cause) {
        self.control.reduce(window, cause);
        if let Some(search) = &mut self.gauges.search {
            search.on_reduction(cause);
        }
    }
}

impl Gauges {
    fn new(cfg: &Config, rtts: RoundTrips) -> Self {
        Gauges {
            search: Search::new(cfg.slow_start, cfg.pacing),
            rtts,
            usage: Usage::default(),
            limited: false,
            marks: Marks::default(),
            marked: 0,
        }
    }

    /// Lets the window grow; what came marked makes nothing grow.
    #[inline(always)]
    fn grow<C: Congestion + ?Sized>(
        &mut self,
        control: &mut C,
        window: &mut Window,
        now: Time,
        growing: Growing,
        (timer, cfg): (&RttEstimator, &Config),
    ) {
        let Growing { packets, marked, flight, ack, next } = growing;
        // A window that was not used says nothing about the path (RFC 9438 section 5.8).
        let slow_start = window.cwnd < window.ssthresh;
        let used = self.usage.full || (slow_start && 2.0 * f64::from(self.usage.most) > window.cwnd);
        let flight = f64::from(flight);
        if !used {
            return window.rarely(|w| control.on_unused(w, flight, now));
        }
        let mut left = larger(f64::from(packets) - f64::from(marked), 0.0);
        if (slow_start || self.search.is_some()) && control.slow_starts() {
            left = match &mut self.search {
                Some(search) => {
                    let rtt = self.rtts.measured.take();
                    window.rarely(|w| search.on_ack(w, left, (ack, next), now, rtt))
                }
                None => window.slow_start(left),
            };
        }
        if left > 0.0 {
            let srtt = self.rtts.srtt.unwrap_or_default();
            control.grow(window, &Acked { now, packets: left, flight, timer, cfg, srtt });
        }
    }

    /// Packets wait although the window allows some.
    fn note_wait(&mut self, una: u32, max: u32) {
        self.usage = Usage { full: true, most: max - una, end: max };
        self.limited = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    use crate::TcpParams;

    fn ms(x: u64) -> Time {
        Time::ZERO + Duration::from_millis(x)
    }

    /// A sender in steady state: no handshake, a window of `cwnd` in flight, packets 1 to cwnd.
    fn flying(recovery: Recovery, cwnd: u32) -> (Config, Sender) {
        let params = TcpParams { recovery, initial_window: cwnd, syn: false, ..Default::default() };
        let cfg = Config::new(&params).unwrap();
        let mut s = Sender::new(&cfg);
        s.window.ssthresh = cwnd as f64;
        s.provide(u32::MAX);
        assert_eq!(drain(&cfg, &mut s, ms(0)).len(), cwnd as usize);
        (cfg, s)
    }

    fn drain(cfg: &Config, s: &mut Sender, now: Time) -> Vec<u32> {
        core::iter::from_fn(|| s.poll(cfg, now))
            .map(|o| match o {
                Outgoing::Data { seq, .. } => seq,
                Outgoing::Syn => 0,
            })
            .collect()
    }

    fn ack(cfg: &Config, s: &mut Sender, n: u32, blocks: &[Block]) -> Vec<u32> {
        s.on_ack(cfg, ms(100), n, false, blocks);
        drain(cfg, s, ms(100))
    }

    #[test]
    fn a_connection_opens_with_a_syn_and_then_sends_its_initial_window() {
        let cfg = Config::new(&TcpParams::default()).unwrap();
        let mut s = Sender::new(&cfg);
        assert_eq!(s.poll(&cfg, ms(0)), None, "nothing to send, no connection");
        s.provide(10);
        assert_eq!(drain(&cfg, &mut s, ms(0)), [0]);
        assert_eq!(s.deadline(), ms(3000));
        s.on_ack(&cfg, ms(100), 1, false, &[]);
        assert_eq!(drain(&cfg, &mut s, ms(100)), [1, 2]);
        // The SYN's round trip of 100 ms: 0.1 + 4 x 0.05.
        assert_eq!(s.deadline(), ms(400));
        assert_eq!(ack(&cfg, &mut s, 2, &[]), [3, 4]);
    }

    #[test]
    fn after_a_lost_syn_the_window_starts_at_one_and_slow_start_ends_at_two() {
        let cfg = Config::new(&TcpParams::default()).unwrap();
        let mut s = Sender::new(&cfg);
        s.provide(10);
        drain(&cfg, &mut s, ms(0));
        s.on_timer(&cfg, ms(3000));
        assert_eq!(drain(&cfg, &mut s, ms(3000)), [0]);
        assert_eq!(s.deadline(), ms(9000));
        s.on_ack(&cfg, ms(3100), 1, false, &[]);
        assert_eq!(drain(&cfg, &mut s, ms(3100)), [1]);
        s.on_ack(&cfg, ms(3200), 2, false, &[]);
        assert_eq!(drain(&cfg, &mut s, ms(3200)), [2, 3]);
        s.on_ack(&cfg, ms(3300), 3, false, &[]);
        assert_eq!((s.window.cwnd, s.window.ssthresh), (2.5, 2.0));
    }

    #[test]
    fn congestion_avoidance_adds_one_packet_per_window() {
        let (cfg, mut s) = flying(Recovery::Reno, 10);
        let sent: usize = (2..=11).map(|n| ack(&cfg, &mut s, n, &[]).len()).sum();
        assert_eq!(sent, 10, "the window reaches 11 only just after its round trip");
        assert!((s.window.cwnd - 10.96).abs() < 0.01, "{}", s.window.cwnd);
    }

    #[test]
    fn reno_repairs_one_loss_and_halves_its_window() {
        let (cfg, mut s) = flying(Recovery::Reno, 10);
        // Packet 1 is lost: nine duplicates of ack 1. Two send new data (RFC 3042), the third
        // retransmits, and the window of 5 + 3 + further duplicates opens beyond 12 in flight.
        assert_eq!(ack(&cfg, &mut s, 1, &[]), [11]);
        assert_eq!(ack(&cfg, &mut s, 1, &[]), [12]);
        assert_eq!(ack(&cfg, &mut s, 1, &[]), [1]);
        assert_eq!((s.window.cwnd, s.inflation), (5.0, 3));
        let later: Vec<u32> = (0..6).flat_map(|_| ack(&cfg, &mut s, 1, &[])).collect();
        assert_eq!(later, [13, 14]);
        ack(&cfg, &mut s, 11, &[]);
        assert!((s.window.cwnd - 5.2).abs() < 1e-9, "half, and one growth: {}", s.window.cwnd);
        assert_eq!(s.phase, Phase::Open);
    }

    #[test]
    fn ssthresh_is_a_whole_number_and_the_window_is_not() {
        let (cfg, mut s) = flying(Recovery::Reno, 7);
        (0..3).for_each(|_| drop(ack(&cfg, &mut s, 1, &[])));
        assert_eq!((s.window.cwnd, s.window.ssthresh), (3.5, 3.0));
        s.on_timer(&cfg, s.deadline());
        assert_eq!((s.window.cwnd, s.window.ssthresh), (1.0, 2.0));
    }

    #[test]
    fn newreno_repairs_one_loss_per_round_trip_and_stays_in_recovery() {
        let (cfg, mut s) = flying(Recovery::NewReno, 10);
        (0..3).for_each(|_| drop(ack(&cfg, &mut s, 1, &[])));
        assert_eq!(s.recover, 13);
        // Packet 5 is lost too: a partial acknowledgment retransmits it at once.
        assert_eq!(ack(&cfg, &mut s, 5, &[])[0], 5);
        assert_eq!(s.phase, Phase::Recovery);
        ack(&cfg, &mut s, 13, &[]);
        assert_eq!(s.phase, Phase::Open);
        assert!((s.window.cwnd - 5.2).abs() < 1e-9);
    }

    #[test]
    fn tahoe_starts_over_from_one_packet() {
        let (cfg, mut s) = flying(Recovery::Tahoe, 10);
        assert_eq!(ack(&cfg, &mut s, 1, &[]), [11]);
        assert_eq!(ack(&cfg, &mut s, 1, &[]), [12]);
        assert_eq!(ack(&cfg, &mut s, 1, &[]), [1]);
        assert_eq!((s.window.cwnd, s.window.ssthresh), (1.0, 5.0));
        assert_eq!(ack(&cfg, &mut s, 1, &[]), [], "only the first two duplicates send");
        assert_eq!(ack(&cfg, &mut s, 11, &[]), [11, 12]);
    }

    #[test]
    fn a_loss_in_a_window_that_ecn_has_reduced_is_repaired_without_another_reduction() {
        let params = TcpParams { ecn: true, initial_window: 10, syn: false, ..Default::default() };
        let cfg = Config::new(&params).unwrap();
        let mut s = Sender::new(&cfg);
        s.provide(u32::MAX);
        drain(&cfg, &mut s, ms(0));
        // 1 is marked, 2 is lost.
        s.on_ack(&cfg, ms(100), 2, true, &[]);
        assert!(!s.on_ack(&cfg, ms(100), 2, true, &[]).fast_retransmit);
        assert!(!s.on_ack(&cfg, ms(100), 2, true, &[]).fast_retransmit);
        assert!(s.on_ack(&cfg, ms(100), 2, true, &[]).fast_retransmit);
        assert_eq!(drain(&cfg, &mut s, ms(100)), [2]);
        assert_eq!((s.window.cwnd, s.window.ssthresh), (5.0, 5.0));
        // Once: what is lost after that waits for the timer, as without ECN.
        ack(&cfg, &mut s, 5, &[]);
        (0..3).for_each(|_| drop(ack(&cfg, &mut s, 5, &[])));
        assert_eq!(s.phase, Phase::Open);
    }

    #[test]
    fn sack_retransmits_exactly_what_is_missing() {
        let (cfg, mut s) = flying(Recovery::Sack, 10);
        // 1, 3 and 5 are lost.
        assert_eq!(ack(&cfg, &mut s, 1, &[(2, 3)]), [11]);
        assert_eq!(ack(&cfg, &mut s, 1, &[(4, 5), (2, 3)]), [12]);
        assert_eq!(ack(&cfg, &mut s, 1, &[(6, 7), (4, 5), (2, 3)]), [1]);
        assert_eq!(s.window.cwnd, 5.0);
        // Pipe: 1 again, 5 and 7 to 12 not lost. It must fall below 5 before 3 goes.
        let mut sent = Vec::new();
        for to in 8..=11 {
            sent.extend(ack(&cfg, &mut s, 1, &[(6, to), (4, 5), (2, 3)]));
        }
        assert_eq!(sent, [3, 5]);
        assert_eq!(ack(&cfg, &mut s, 13, &[]), [13, 14, 15, 16, 17]);
        assert_eq!(s.phase, Phase::Open);
    }

    #[test]
    fn with_sack_only_an_acknowledgment_with_news_is_a_duplicate() {
        for recovery in [Recovery::Sack, Recovery::Prr] {
            let (cfg, mut s) = flying(recovery, 10);
            // The network copied packets or acknowledgments: they say nothing that was not known.
            for _ in 0..5 {
                assert_eq!(ack(&cfg, &mut s, 1, &[]), [0; 0], "{recovery:?}");
            }
            assert_eq!(ack(&cfg, &mut s, 1, &[(2, 3)]), [11]);
            for _ in 0..5 {
                assert_eq!(ack(&cfg, &mut s, 1, &[(2, 3)]), [0; 0], "{recovery:?}");
            }
            assert_eq!(ack(&cfg, &mut s, 1, &[(4, 5), (2, 3)]), [12]);
            assert_eq!((s.phase, s.window.cwnd), (Phase::Open, 10.0));
            // Three packets beyond the first are enough, whatever came in between.
            assert_eq!(ack(&cfg, &mut s, 1, &[(6, 7), (4, 5), (2, 3)]), [1]);
        }
        // Without SACK they look like a loss (RFC 5681 section 2).
        let (cfg, mut s) = flying(Recovery::NewReno, 10);
        let sent: Vec<u32> = (0..3).flat_map(|_| ack(&cfg, &mut s, 1, &[])).collect();
        assert_eq!(sent, [11, 12, 1]);
    }

    #[test]
    fn a_timeout_goes_back_and_a_second_one_leaves_an_ssthresh_of_two() {
        let (cfg, mut s) = flying(Recovery::Reno, 10);
        s.on_timer(&cfg, s.deadline());
        assert_eq!(drain(&cfg, &mut s, ms(3000)), [1]);
        assert_eq!((s.window.cwnd, s.window.ssthresh), (1.0, 5.0));
        s.on_timer(&cfg, s.deadline());
        assert_eq!(s.window.ssthresh, 2.0);
        assert_eq!(s.rto(), Duration::from_secs(12));
        // Go back N: after the acknowledgment of packet 1, slow start from packet 2.
        drain(&cfg, &mut s, ms(9000));
        assert_eq!(ack(&cfg, &mut s, 2, &[]), [2, 3]);
    }

    #[test]
    fn a_second_reduction_needs_an_acknowledgment_beyond_the_first() {
        let (cfg, mut s) = flying(Recovery::Reno, 10);
        (0..3).for_each(|_| drop(ack(&cfg, &mut s, 1, &[])));
        ack(&cfg, &mut s, 5, &[]);
        let before = s.window.ssthresh;
        (0..3).for_each(|_| drop(ack(&cfg, &mut s, 5, &[])));
        assert_eq!(s.window.ssthresh, before);
        assert_eq!(s.phase, Phase::Open);
    }

    #[test]
    fn an_echoed_mark_halves_the_window_once_per_window_of_data() {
        let params = TcpParams { ecn: true, initial_window: 10, syn: false, ..Default::default() };
        let cfg = Config::new(&params).unwrap();
        let mut s = Sender::new(&cfg);
        s.provide(u32::MAX);
        drain(&cfg, &mut s, ms(0));
        assert!(s.on_ack(&cfg, ms(100), 2, true, &[]).ecn_response);
        assert_eq!(s.window.cwnd, 5.0);
        assert!(!s.on_ack(&cfg, ms(100), 3, true, &[]).ecn_response);
        assert_eq!(s.window.cwnd, 5.0, "an echo stops growth");
        s.on_ack(&cfg, ms(110), 11, false, &[]);
        let Some(Outgoing::Data { cwr, .. }) = s.poll(&cfg, ms(110)) else { panic!() };
        assert!(cwr);
        let Some(Outgoing::Data { cwr, .. }) = s.poll(&cfg, ms(110)) else { panic!() };
        assert!(!cwr);
    }

    /// A sender without handshake that answers marks.
    fn ecn(initial_window: u32, ecn_retransmissions: bool) -> (Config, Sender) {
        let params =
            TcpParams { ecn: true, ecn_retransmissions, initial_window, syn: false, ..Default::default() };
        let cfg = Config::new(&params).unwrap();
        let mut s = Sender::new(&cfg);
        s.provide(u32::MAX);
        drain(&cfg, &mut s, ms(0));
        (cfg, s)
    }

    /// What is sent now, with its CWR.
    fn with_cwr(cfg: &Config, s: &mut Sender, now: Time) -> Vec<(u32, bool)> {
        core::iter::from_fn(|| s.poll(cfg, now))
            .map(|o| match o {
                Outgoing::Data { seq, cwr, .. } => (seq, cwr),
                Outgoing::Syn => (0, false),
            })
            .collect()
    }

    #[test]
    fn a_mark_on_a_window_of_one_holds_the_sender_until_its_timer() {
        let (cfg, mut s) = ecn(1, false);
        assert!(s.on_ack(&cfg, ms(100), 2, true, &[]).ecn_response);
        assert_eq!(drain(&cfg, &mut s, ms(100)), []);
        // The round trip of 100 ms: 0.1 + 4 x 0.05.
        assert_eq!(s.deadline(), ms(400));
        assert!(!s.on_timer(&cfg, ms(400)).timeout, "nothing was lost");
        assert_eq!(with_cwr(&cfg, &mut s, ms(400)), [(2, true)]);
        assert_eq!((s.window.cwnd, s.window.ssthresh), (1.0, 2.0));
        assert!(!s.rtt.backed_off());
    }

    #[test]
    fn further_marks_on_a_window_of_one_double_the_timer_until_one_is_missing() {
        let (cfg, mut s) = ecn(1, false);
        s.on_ack(&cfg, ms(100), 2, true, &[]);
        s.on_timer(&cfg, ms(400));
        assert_eq!(drain(&cfg, &mut s, ms(400)), [2]);
        // RTTVAR falls to 3/4 with each further round trip of 100 ms, in whole quarters of 10 ms:
        // timeouts of 250, 220 and 200 ms (the smallest), doubled once, twice and not at all.
        s.on_ack(&cfg, ms(500), 3, true, &[]);
        assert_eq!(s.deadline(), ms(500 + 2 * 250));
        assert!(!s.on_timer(&cfg, ms(1000)).timeout, "nothing was lost");
        assert_eq!(drain(&cfg, &mut s, ms(1000)), [3]);
        assert_eq!(s.rto(), Duration::from_millis(2 * 250), "the timer itself doubles nothing");
        s.on_ack(&cfg, ms(1100), 4, true, &[]);
        assert_eq!(s.deadline(), ms(1100 + 4 * 220));
        s.on_timer(&cfg, ms(1980));
        assert_eq!(drain(&cfg, &mut s, ms(1980)), [4]);
        s.on_ack(&cfg, ms(2080), 5, false, &[]);
        assert_eq!(drain(&cfg, &mut s, ms(2080)), [5, 6]);
        assert_eq!(s.deadline(), ms(2080 + 200));
        // The next mark on a window of one is a first one again.
        s.on_ack(&cfg, ms(2180), 6, true, &[]);
        assert_eq!((s.window.cwnd, s.rtt.backed_off()), (1.0, false));
        s.on_ack(&cfg, ms(2190), 7, false, &[]);
        drain(&cfg, &mut s, ms(2190));
        assert!(!s.rtt.backed_off());
    }

    #[test]
    fn cwr_goes_out_after_any_reduction_and_not_with_a_retransmission_by_the_rfc() {
        for with_retransmissions in [false, true] {
            let (cfg, mut s) = ecn(4, with_retransmissions);
            for _ in 0..3 {
                s.on_ack(&cfg, ms(100), 1, false, &[]);
            }
            assert_eq!(with_cwr(&cfg, &mut s, ms(100))[0], (1, with_retransmissions));
            s.on_timer(&cfg, s.deadline());
            assert_eq!(with_cwr(&cfg, &mut s, ms(5000)), [(1, with_retransmissions)]);
            s.on_ack(&cfg, ms(5100), s.max, false, &[]);
            let new: Vec<bool> = with_cwr(&cfg, &mut s, ms(5100)).iter().map(|p| p.1).collect();
            assert_eq!(new, [!with_retransmissions, false]);
        }
    }

    #[test]
    fn an_echo_after_a_timeout_is_answered_where_it_can_only_be_of_a_retransmission() {
        for ecn_retransmissions in [false, true] {
            let (cfg, mut s) = ecn(4, ecn_retransmissions);
            s.on_timer(&cfg, ms(3000));
            assert_eq!(drain(&cfg, &mut s, ms(3000)), [1]);
            // Without, it may be of a packet sent before the timeout: CWR has not gone out yet.
            let did = s.on_ack(&cfg, ms(3100), 2, true, &[]);
            assert_eq!(did.ecn_response, ecn_retransmissions);
            assert_eq!(s.window.cwnd, if ecn_retransmissions { 0.5 } else { 1.0 });
            assert!(!s.on_ack(&cfg, ms(3100), 3, true, &[]).ecn_response, "once");
        }
    }

    #[test]
    fn no_cwr_without_ecn() {
        let (cfg, mut s) = flying(Recovery::Reno, 4);
        s.on_timer(&cfg, ms(3000));
        assert_eq!(with_cwr(&cfg, &mut s, ms(3000)), [(1, false)]);
        s.on_ack(&cfg, ms(3100), 5, false, &[]);
        assert!(with_cwr(&cfg, &mut s, ms(3100)).iter().all(|p| !p.1));
    }

    #[test]
    fn a_finite_transfer_ends_when_all_is_acknowledged() {
        let params = TcpParams { syn: false, initial_window: 10, ..Default::default() };
        let cfg = Config::new(&params).unwrap();
        let mut s = Sender::new(&cfg);
        s.provide(3);
        assert_eq!(drain(&cfg, &mut s, ms(0)), [1, 2, 3]);
        assert!(!s.is_done());
        ack(&cfg, &mut s, 4, &[]);
        assert!(s.is_done());
        assert_eq!(s.deadline(), Time::MAX);
    }
}
