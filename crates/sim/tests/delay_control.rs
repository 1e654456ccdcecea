//! What controllers of the delay do to flows: Reno and DCTCP in one queue (De Schepper et al. 2016), and what the
//! readings of RFC 8033 matter, as docs/algorithms/pie.md has it.

use crate::common::*;
use quell_aqm::catalog::{AnyAqm, AqmConfig};
use quell_aqm::pi2::{Pi2Params, Scalable};
use quell_aqm::pie::{Decay, DelayFrom, PieParams, Scheme, TurnOff};
use quell_aqm::{Aqm, Cause, Ctx, Departures, PacketMeta, Verdict};
use quell_sim::network::*;
use quell_tcp::{CongestionControl, Feedback, Recovery, TcpParams};
use quell_units::{Bytes, Duration, Time};

/// Bytes of DCTCP over those of Reno without ECN, as many flows of each, on 40 Mbit/s at 20 ms. DCTCP's packets are
/// ECT(0), so they are scalable where all that are ECN-capable are.
fn ratio(aqm: &AqmConfig, seed: u64) -> f64 {
    let reno = TcpParams { packet: Bytes::new(1500), recovery: Recovery::Sack, ..Default::default() };
    let dctcp = TcpParams {
        congestion: CongestionControl::Dctcp,
        feedback: Feedback::Exact,
        ecn: true,
        ..reno.clone()
    };
    let mut network = Dumbbell {
        aqm: aqm.clone(),
        flows: 10,
        rate: 40_000_000,
        rtt: 0.02,
        spread: 0.0,
        buffer: 2000.0,
        warmup: 20.0,
        end: 120.0,
        tcp: dctcp,
        seed,
        ..Default::default()
    }
    .network();
    network.classes.push("reno".into());
    for flow in network.flows.iter_mut().skip(5) {
        flow.class = 2;
        flow.traffic = Traffic::Tcp { tcp: reno.clone(), app: App::Bulk };
    }
    let out = go(network);
    let bytes = |class: usize| {
        out.links[0].segments.iter().map(|s| s.classes[class].counts.departed_bytes).sum::<u64>()
    };
    bytes(0) as f64 / bytes(2) as f64
}

fn mean_ratio(aqm: AqmConfig) -> f64 {
    (1..=3).map(|seed| ratio(&aqm, seed)).sum::<f64>() / 3.0
}

/// With independent marks DCTCP has 2.24/p packets in flight and Reno 1.22/sqrt(p): with k = 2 that is 1.12/p' for one
/// and 1.22/p' for the other, 0.92.
#[test]
fn the_square_gives_both_the_same_and_without_it_one_starves() {
    let with = |coupling, scalable| {
        mean_ratio(AqmConfig::Pi2(Pi2Params { coupling, scalable, ..Default::default() }))
    };
    let equal = with(2.0, Scalable::Ect);
    // Coupled by 1, DCTCP is marked half as often and has twice as much.
    let twice = with(1.0, Scalable::Ect);
    // One probability for both, as in PIE.
    let pie = mean_ratio(AqmConfig::Pie(PieParams { mark_ecnth: Some(1.0), ..Default::default() }));
    let squared = with(2.0, Scalable::Nothing);
    println!("PI2 {equal:.2}, k = 1 {twice:.2}, PIE {pie:.1}, squared for all {squared:.1}");
    assert!((0.7..1.3).contains(&equal), "PI2: {equal}");
    assert!((1.5..2.6).contains(&(twice / equal)), "k = 1: {twice}");
    assert!(pie > 4.0 && squared > 4.0, "PIE: {pie}, squared for all: {squared}");
}

/// Mean wait in milliseconds, utilization and signals per arrival in percent, of Reno flows on 10 Mbit/s at 100 ms,
/// over three seeds.
fn figures(pie: &PieParams, flows: usize, ecn: bool) -> (f64, f64, f64) {
    figures_of(&AqmConfig::Pie(pie.clone()), flows, ecn, None)
}

/// The same of `own`, if it is given, in place of `aqm`.
fn figures_of(aqm: &AqmConfig, flows: usize, ecn: bool, own: Option<&Read>) -> (f64, f64, f64) {
    let (mut wait, mut used, mut signals) = (0.0, 0.0, 0.0);
    for seed in 1..=3 {
        let mut network = Dumbbell {
            aqm: aqm.clone(),
            flows,
            rtt: 0.1,
            spread: 0.02,
            buffer: 250.0,
            warmup: 20.0,
            end: 120.0,
            tcp: TcpParams { packet: Bytes::new(1000), ecn, recovery: Recovery::Sack, ..Default::default() },
            seed,
            ..Default::default()
        }
        .network();
        if let (Some(own), Some(queue)) = (own, network.links[0].queue.as_deref_mut()) {
            queue.algorithm = AnyAqm::Custom(Box::new(own.clone())).into();
        }
        let out = go(network);
        for s in &out.links[0].segments {
            let c = &s.classes[0];
            wait += c.counts.delay_sum_ns as f64 / c.counts.departed as f64 / 1e6 / 3.0;
            used += c.counts.departed_bytes as f64 * 8.0 / 1e7 / (s.to - s.from).as_secs_f64() / 3.0;
            let lost = c.counts.dropped_early + c.counts.dropped_forced + c.counts.dropped_overflow;
            signals += 100.0 * (lost + c.counts.marked) as f64 / c.counts.arrived as f64 / 3.0;
        }
    }
    (wait, 100.0 * used, signals)
}

/// The standard scheme once more, in few lines, with readings that the catalog does not have.
#[derive(Clone, Debug, Default)]
struct Read {
    p: f64,
    sum: f64,
    /// Updates for which arrivals are protected.
    protected: u32,
    waited: f64,
    delay_old: f64,
    updates: u64,
    reading: Reading,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Reading {
    #[default]
    AsPinned,
    /// Appendix B, by its indentation: a mark does not restart the sum of probabilities. One that the sum made certain is
    /// followed by others until something is dropped.
    MarksKeepTheSum,
    /// Section 5.3, by its braces: every arrival restores the burst allowance.
    AlwaysProtected,
    /// Appendix A to the letter: an idle link keeps the last delay.
    StaleDelay,
    /// Section 5.1, by its words: a packet is marked unless the probability exceeds the threshold.
    MarksAtThreshold,
}

impl Aqm for Read {
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let calm = self.p == 0.0 && self.waited < 0.0075 && self.delay_old < 0.0075;
        if calm || self.reading == Reading::AlwaysProtected {
            self.protected = 10;
        }
        let short = self.delay_old < 0.0075 && self.p < 0.2 || cx.queue.bytes.get() <= 2000;
        if self.protected > 0 || short {
            return Verdict::Pass;
        }
        self.sum = if self.p == 0.0 { 0.0 } else { self.sum + self.p };
        let chance = if self.sum < 0.85 {
            0.0
        } else if self.sum >= 8.5 {
            1.0
        } else {
            self.p
        };
        if !cx.rng.chance(chance) {
            return Verdict::Pass;
        }
        let marks = match self.reading {
            Reading::MarksAtThreshold => self.p <= 0.1,
            _ => self.p < 0.1,
        };
        let verdict = if marks { Verdict::Signal(Cause::Early) } else { Verdict::Drop(Cause::Early) };
        // A draw restarts it in either reading.
        if self.reading != Reading::MarksKeepTheSum || chance < 1.0 || verdict.drops(pkt) {
            self.sum = 0.0;
        }
        verdict
    }
    fn on_dequeue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.waited = cx.now.since(pkt.enqueued_at).as_secs_f64();
        Verdict::Pass
    }
    fn departures(&self) -> Departures {
        Departures::Watched
    }
    fn on_overflow(&mut self, _: &mut Ctx<'_>, _: &PacketMeta) {
        self.sum = 0.0;
    }
    fn on_idle(&mut self, _: Time) {
        if self.reading != Reading::StaleDelay {
            self.waited = 0.0;
        }
    }
    fn next_update(&self) -> Option<Time> {
        Some(Time::ZERO + Duration::from_millis(15) * (self.updates + 1))
    }
    fn on_update(&mut self, _: &mut Ctx<'_>) {
        self.updates += 1;
        self.protected = self.protected.saturating_sub(1);
        let scale = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];
        let by = scale.iter().find(|(below, _)| self.p < *below).map_or(1.0, |(_, by)| *by);
        let step = (0.125 * (self.waited - 0.015) + 1.25 * (self.waited - self.delay_old)) / by;
        self.p += if self.p >= 0.1 { step.min(0.02) } else { step };
        if self.waited == 0.0 && self.delay_old == 0.0 {
            self.p *= 0.98;
        }
        self.p = self.p.clamp(0.0, 1.0);
        self.delay_old = self.waited;
    }
}

/// The further ambiguities of docs/algorithms/pie.md.
#[test]
fn further_readings_of_rfc_8033_differ_by_what_its_page_says() {
    let standard = AqmConfig::Pie(PieParams::default());
    let mut all = Vec::new();
    for (name, reading) in [
        ("as pinned", Reading::AsPinned),
        ("marks keep the sum", Reading::MarksKeepTheSum),
        ("always protected", Reading::AlwaysProtected),
        ("stale delay", Reading::StaleDelay),
        ("marks at the threshold", Reading::MarksAtThreshold),
    ] {
        for (flows, ecn) in [(2, false), (20, false), (2, true), (20, true)] {
            let own = Read { protected: 10, reading, ..Default::default() };
            let found = figures_of(&standard, flows, ecn, Some(&own));
            let (wait, used, signals) = found;
            println!("{name} | {flows} {ecn} | {wait:.1} | {used:.1} | {signals:.2}");
            if reading == Reading::AsPinned {
                assert_eq!(found, figures_of(&standard, flows, ecn, None), "not the standard scheme");
            }
            all.push((name, flows, ecn, found));
        }
    }
    let of = |name: &str, flows, ecn| all.iter().find(|a| (a.0, a.1, a.2) == (name, flows, ecn)).unwrap().3;
    assert!(of("always protected", 20, false).0 > 4.0 * of("as pinned", 20, false).0);
    for ecn in [false, true] {
        assert_eq!(of("marks at the threshold", 20, ecn), of("as pinned", 20, ecn));
    }
}

#[test]
fn readings_of_rfc_8033_differ_by_what_its_page_says() {
    let standard = PieParams::default();
    let scheme = |scheme| PieParams { scheme, ..PieParams::default() };
    let enhanced = scheme(Scheme::Enhanced);
    let decays = PieParams { decay: Some(Decay::BelowHalf), ..standard.clone() };
    let off = PieParams { turn_off: TurnOff::Empty, ..enhanced.clone() };
    let stamps = PieParams { delay_from: Some(DelayFrom::Departures), ..enhanced.clone() };
    let known = PieParams { delay_from: Some(DelayFrom::LinkRate), ..standard.clone() };
    let lost = PieParams { mark_ecnth: Some(0.0), ..standard.clone() };
    // Without a measurement PIE never acts: a protection that never ends is the same.
    let aborted = PieParams { max_burst: Duration::from_secs(3600), ..standard.clone() };
    let mut all = Vec::new();
    for (name, pie, ecn) in [
        ("standard", &standard, false),
        ("basic", &scheme(Scheme::Basic), false),
        ("enhanced", &enhanced, false),
        ("linux", &scheme(Scheme::Linux), false),
        ("decay below half", &decays, false),
        ("enhanced, turned off when empty", &off, false),
        ("enhanced, time stamps", &stamps, false),
        ("link rate", &known, false),
        ("marks", &standard, true),
        ("marks are lost", &lost, true),
        ("every measurement is aborted", &aborted, false),
    ] {
        for flows in [2, 20] {
            let (wait, used, signals) = figures(pie, flows, ecn);
            println!("{name} | {flows} | {wait:.1} | {used:.1} | {signals:.2}");
            all.push((name, flows, wait, used, signals));
        }
    }
    let wait = |name: &str, flows: usize| all.iter().find(|a| a.0 == name && a.1 == flows).unwrap().2;
    // The schemes hold the same queue; one that never acts holds the buffer.
    for name in ["basic", "enhanced", "linux", "link rate"] {
        assert!((wait(name, 20) / wait("standard", 20) - 1.0).abs() < 0.35, "{name}: {}", wait(name, 20));
    }
    assert!(wait("every measurement is aborted", 20) > 4.0 * wait("standard", 20));
}
