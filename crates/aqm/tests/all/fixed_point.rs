//! The algorithms in integers against their twins in floating point: the largest difference between the
//! probabilities that the two report, over long random queue traces. The pages in `docs/algorithms`
//! print the bounds asserted here.

use std::collections::BTreeMap;

use quell_aqm::catalog::{AnyAqm, AqmConfig};
use quell_aqm::{Aqm, Ctx, Ecn, FlowId, Link, PacketMeta, Probe, QueueView, Rng, Seed};
use quell_units::{BitRate, Bytes, Duration, Packets, QueueSize, Time};

#[derive(Default)]
struct Signals(BTreeMap<&'static str, f64>);

impl Probe for Signals {
    fn value(&mut self, name: &'static str, _unit: &'static str, x: f64) {
        self.0.insert(name, x);
    }
}

fn signals(aqm: &AnyAqm) -> BTreeMap<&'static str, f64> {
    let mut signals = Signals::default();
    aqm.observe(&mut signals);
    signals.0
}

/// A queue that wanders over the whole buffer, with idle times, under packets of mixed sizes.
struct Trace {
    rng: Rng,
    now: Time,
    queue: f64,
    drift: f64,
}

impl Trace {
    fn new(seed: u64) -> Self {
        Trace { rng: Seed(seed).stream("trace"), now: Time::ZERO, queue: 0.0, drift: 0.0 }
    }

    /// The time and the queue of the next arrival, the packet's size, and the beginning of an idle time
    /// before it.
    fn next(&mut self, buffer: f64) -> (Time, f64, u64, Option<Time>) {
        let idle_from = (self.queue == 0.0 && self.rng.chance(0.02)).then_some(self.now);
        let gap = if idle_from.is_some() { self.rng.exponential(0.2) } else { self.rng.exponential(0.0004) };
        self.now += Duration::from_secs_f64(gap);
        if self.rng.chance(0.001) {
            self.drift = self.rng.uniform_in(-0.5, 0.5);
        }
        let step = self.drift + self.rng.uniform_in(-4.0, 4.0);
        self.queue = if idle_from.is_some() { 0.0 } else { (self.queue + step).clamp(0.0, buffer).round() };
        let bytes = [40, 500, 500, 500, 1500][(self.rng.next_u64() % 5) as usize];
        (self.now, self.queue, bytes, idle_from)
    }
}

/// What came out over one trace.
#[derive(Debug, Default)]
struct Difference {
    /// The largest difference of p.
    p: f64,
    /// The largest difference of p over the float's p, where that is above 10^-4.
    relative: f64,
    arrivals: u64,
    /// Arrivals about which the two decided differently, from the same random numbers.
    verdicts: u64,
    /// The largest p, and the smallest positive one.
    largest: f64,
    smallest: f64,
}

fn compare(
    float: &str,
    fixed: &str,
    params: &str,
    buffer: QueueSize,
    arrivals: u64,
    seed: u64,
) -> Difference {
    let link = Link { rate: BitRate::from_bps(10_000_000), buffer, mean_packet: Bytes::new(500) };
    let build = |name: &str| {
        let config: AqmConfig = toml::from_str(&format!("algorithm = \"{name}\"\n{params}")).unwrap();
        config.build(&link).unwrap().aqm().unwrap()
    };
    let mut twins = [build(float), build(fixed)];
    let mut rngs = [Seed(seed).stream("decisions"), Seed(seed).stream("decisions")];
    let mut trace = Trace::new(seed);
    let mut found = Difference { smallest: f64::MAX, ..Default::default() };
    while found.arrivals < arrivals {
        let before = trace.queue;
        let (now, q, bytes, idle_from) = trace.next(500.0);
        let view = |q: f64| QueueView {
            packets: Packets::new(q as u32),
            bytes: Bytes::new(q as u64 * 500),
            head_since: None,
            link_rate: (!found.arrivals.is_multiple_of(3)).then_some(link.rate),
        };
        let mut verdicts = Vec::new();
        for (aqm, rng) in twins.iter_mut().zip(&mut rngs) {
            if let Some(since) = idle_from {
                aqm.on_idle(since);
            }
            while let Some(due) = aqm.next_update().filter(|due| *due <= now) {
                aqm.on_update(&mut Ctx::new(due, view(before), rng));
            }
            let pkt = PacketMeta {
                bytes: Bytes::new(bytes),
                enqueued_at: now,
                flow: FlowId(0),
                ecn: Ecn::Ect0,
                ..Default::default()
            };
            let mut cx = Ctx::new(now, view(q), rng);
            verdicts.push(aqm.on_enqueue(&mut cx, &pkt));
            if q >= 500.0 {
                aqm.on_overflow(&mut cx, &pkt);
            }
        }
        let [a, b] = [signals(&twins[0]), signals(&twins[1])];
        assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "they report the same");
        let (want, got) = (a["p"], b["p"]);
        found.p = found.p.max((got - want).abs());
        if want > 1e-4 {
            found.relative = found.relative.max((got / want - 1.0).abs());
        }
        if want > 0.0 {
            found.smallest = found.smallest.min(want);
        }
        found.largest = found.largest.max(want);
        found.verdicts += (verdicts[0] != verdicts[1]) as u64;
        found.arrivals += 1;
    }
    found
}

const PACKETS: QueueSize = QueueSize::Packets(500.0);
const BYTES: QueueSize = QueueSize::Bytes(250_000.0);

/// Compares over a million arrivals, a quarter of them with each seed.
fn worst(float: &str, fixed: &str, params: &str, buffer: QueueSize) -> Difference {
    let mut all = Difference { smallest: f64::MAX, ..Default::default() };
    for seed in 1..=4 {
        let d = compare(float, fixed, params, buffer, 250_000, seed);
        all.p = all.p.max(d.p);
        all.relative = all.relative.max(d.relative);
        all.verdicts += d.verdicts;
        all.arrivals += d.arrivals;
        all.largest = all.largest.max(d.largest);
        all.smallest = all.smallest.min(d.smallest);
    }
    println!("{fixed} [{}]: {all:?}", params.replace('\n', ", "));
    all
}

#[test]
fn red_in_integers_has_the_probability_of_red() {
    let thresholds = "min_th = \"100 packets\"\nmax_th = \"250 packets\"";
    for params in [
        thresholds.to_string(),
        format!("{thresholds}\nweight = \"link-rate\"\nspacing = \"wait\""),
        format!("{thresholds}\nweight = 1e-5\nspacing = \"geometric\"\ngentle = false"),
        "min_th = \"50 kB\"\nmax_th = \"125 kB\"\nsignal = \"by-size\"\nmax_p = 0.02".to_string(),
    ] {
        let d = worst("red", "red-fixed", &params, PACKETS);
        assert!(d.largest > 0.005, "it acts: {d:?}");
        assert!(d.p < 1e-8, "{d:?}");
        assert!(d.verdicts <= 5, "{d:?}");
    }
}

#[test]
fn adaptive_red_in_integers_has_the_probability_of_adaptive_red() {
    let thresholds = "min_th = \"100 packets\"\nmax_th = \"250 packets\"";
    for params in
        [thresholds.to_string(), format!("{thresholds}\nsignal = \"by-size\"\ninterval = \"10 ms\"")]
    {
        let d = worst("ared", "ared-fixed", &params, PACKETS);
        assert!(d.largest > 0.1, "it acts: {d:?}");
        assert!(d.p < 1e-8, "{d:?}");
        assert!(d.verdicts <= 5, "{d:?}");
    }
}

#[test]
fn pi_in_integers_has_the_probability_of_pi() {
    for params in [
        "",
        "q_ref = \"125 packets\"\ndesign = { flows = 60, rtt = \"246 ms\" }",
        "a = 0.002445\nb = 0.0024\nsampling_rate = 100\nq_ref = \"60 kB\"\nsignal = \"by-size\"",
        "a = 1e-9\nb = 9.99e-10\nq_ref = \"200 packets\"",
    ] {
        let d = worst("pi", "pi-fixed", params, PACKETS);
        assert!(d.largest > 1e-7, "it acts: {d:?}");
        assert!(d.p < 1e-12, "{d:?}");
        assert!(d.verdicts <= 5, "{d:?}");
    }
}

#[test]
fn hred_in_integers_has_the_probability_of_hred() {
    for (params, buffer) in [
        ("", PACKETS),
        ("", BYTES),
        ("min_p = 0.3\nkappa = 0.3\nt_alpha = \"20 ms\"\nt_beta = \"20 ms\"", PACKETS),
        ("min_p_floor = 1e-7\nmin_p = 1e-7\noverflow_step = 0.0002\nsignal = \"by-size\"", BYTES),
    ] {
        let d = worst("hred", "hred-fixed", params, buffer);
        assert!(d.largest > 1e-3 && d.largest > 10.0 * d.smallest, "it acts: {d:?}");
        assert!(d.p < 1e-8, "{d:?}");
        assert!(d.verdicts <= 5, "{d:?}");
    }
}

#[test]
fn blue_in_integers_has_the_probability_of_blue() {
    for (params, buffer) in [
        ("", PACKETS),
        ("d1 = 0.02\nd2 = 0.002\nfreeze_time = \"50 ms\"", PACKETS),
        ("threshold = \"300 packets\"\nd1 = 1e-3\nd2 = 1e-4", PACKETS),
        ("threshold = \"100 kB\"\nd1 = 0.01\nd2 = 0.005\nsignal = \"by-size\"", BYTES),
    ] {
        let d = worst("blue", "blue-fixed", params, buffer);
        assert!(d.largest > 1e-3, "it acts: {d:?}");
        assert!(d.p < 1e-12, "{d:?}");
        assert!(d.verdicts <= 5, "{d:?}");
    }
}

/// Up to the reports, the sources hold no floating point: neither its type nor a literal.
#[test]
fn the_path_of_a_packet_holds_no_floating_point() {
    for (name, source) in [
        ("red", include_str!("../../src/integer/red.rs")),
        ("ared", include_str!("../../src/integer/ared.rs")),
        ("blue", include_str!("../../src/integer/blue.rs")),
        ("pi", include_str!("../../src/integer/pi.rs")),
        ("hred", include_str!("../../src/integer/hred.rs")),
    ] {
        let path = source;
        let reports = path.find("fn observe").unwrap_or_else(|| panic!("{name} reports nothing"));
        let path: Vec<&str> = path[..reports].lines().map(|l| l.split("//").next().unwrap()).collect();
        let path = path.join("\n");
        assert!(path.contains("on_enqueue"), "{name}");
        let digits = |s: &str| s.chars().next_back().is_some_and(|c| c.is_ascii_digit());
        let literal = path
            .match_indices('.')
            .any(|(i, _)| digits(&path[..i]) && path[i + 1..].starts_with(|c: char| c.is_ascii_digit()));
        assert!(!literal && !path.contains("f64") && !path.contains("f32"), "{name}");
        // Nor does it call what does: the generator's floating side, and conversions.
        for call in ["uniform", ".chance(", "as_secs", "packets_per_sec", "Scale::new", "libm"] {
            assert!(!path.contains(call), "{name} calls {call}");
        }
    }
}
