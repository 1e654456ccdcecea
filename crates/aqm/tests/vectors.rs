//! Known answers: every file in `tests/vectors` is run, and every algorithm has one.
//!
//! A file holds two kinds of vectors.
//! - `[[equation]]`: the name of a pure function below, its inputs and its results.
//! - `[[case]]`: an algorithm with its parameters, and a sequence of events with what the algorithm
//!   must answer and report after each. `arrive`, `overflow` and `depart` give a packet's size, `queue` the
//!   packets that wait (of mean size unless `queue_bytes` says otherwise), `update` asserts that one
//!   is due then. For an algorithm with lanes, `lane` is the one that it must choose, for an arrival
//!   or for what `sends` next while `waiting` packets wait in each lane.
//!
//! Numbers are compared to a relative 1e-9 unless the vector states its `tolerance`; every vector
//! says where its equation stands and how its answer was obtained.

use std::collections::BTreeMap;

use quell_aqm::catalog::{AnyAqm, AqmConfig, CATALOG};
use quell_aqm::part::fixed;
use quell_aqm::{Aqm, Cause, Ctx, Ecn, FlowId, Link, PacketMeta, Probe, QueueView, Seed, Transport, Verdict};
use quell_aqm::{
    ap_red, ared, ared_dt, auto_tuning_red, avq, feng_ared, fuzzy_red, green, part, pi, red, red_tail, rem,
};
use quell_aqm::{dred, hred, pid, spf, st_pi, vrc};
use quell_aqm::{dsred, e_red, fred, lred, pd_red, sred, wred};
use quell_units::{BitRate, Bytes, Duration, Packets, QueueSize, Time};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    algorithm: String,
    #[serde(default)]
    equation: Vec<Equation>,
    #[serde(default)]
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Equation {
    function: String,
    source: String,
    computed: String,
    input: toml::Table,
    expect: BTreeMap<String, f64>,
    #[serde(default = "tight")]
    tolerance: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    source: String,
    computed: String,
    #[serde(default)]
    link: LinkText,
    #[serde(default)]
    params: toml::Table,
    events: Vec<Event>,
    #[serde(default = "tight")]
    tolerance: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LinkText {
    rate: BitRate,
    buffer: QueueSize,
    mean_packet: Bytes,
}

impl Default for LinkText {
    fn default() -> Self {
        LinkText {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(500.0),
            mean_packet: Bytes::new(500),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Event {
    at: Duration,
    arrive: Option<Bytes>,
    overflow: Option<Bytes>,
    depart: Option<Bytes>,
    #[serde(default)]
    idle: bool,
    #[serde(default)]
    update: bool,
    #[serde(default)]
    queue: u32,
    queue_bytes: Option<Bytes>,
    /// Whose packet it is, and of what precedence.
    #[serde(default)]
    flow: u32,
    #[serde(default)]
    precedence: u8,
    /// A packet of this size is sent, of the lane that the algorithm chooses.
    sends: Option<Bytes>,
    #[serde(default)]
    waiting: Vec<u32>,
    lane: Option<usize>,
    #[serde(default)]
    udp: bool,
    /// The packet is not ECN-capable.
    #[serde(default)]
    not_ect: bool,
    #[serde(default)]
    syn: bool,
    /// The link's rate, for a host that knows it.
    rate: Option<BitRate>,
    verdict: Option<String>,
    #[serde(default)]
    expect: BTreeMap<String, f64>,
}

fn tight() -> f64 {
    1e-9
}

fn close(got: f64, want: f64, tolerance: f64) -> bool {
    (got - want).abs() <= 1e-15 + tolerance * want.abs()
}

/// The pure functions that vectors may call, by name.
fn evaluate(function: &str, input: &toml::Table) -> BTreeMap<&'static str, f64> {
    let x = |name: &str| match input.get(name) {
        Some(toml::Value::Float(x)) => *x,
        Some(toml::Value::Integer(n)) => *n as f64,
        other => panic!("{function}: input {name} is {other:?}"),
    };
    let text = |name: &str| input[name].as_str().unwrap();
    let one = |name: &'static str, value: f64| BTreeMap::from([(name, value)]);
    let link = || Link {
        rate: text("rate").parse().unwrap(),
        buffer: QueueSize::Packets(500.0),
        mean_packet: text("mean_packet").parse().unwrap(),
    };
    match function {
        "part::Weight::resolve" => {
            let w: part::Weight = input["weight"].clone().try_into().unwrap();
            one("w", w.resolve(&link()).unwrap())
        }
        "part::Curve::probability" => {
            let gentle = input["gentle"].as_bool().unwrap();
            let curve = part::Curve::new(x("min_th"), x("max_th"), x("max_p"), gentle);
            one("p", curve.probability(x("avg")))
        }
        "part::Ewma::sample" => {
            let mut e = part::Ewma::new(x("w"));
            e.avg = x("avg");
            e.sample(x("q"));
            one("avg", e.avg)
        }
        "part::Ewma::age" => {
            let mut e = part::Ewma::new(x("w"));
            e.avg = x("avg");
            e.age(x("m"));
            one("avg", e.avg)
        }
        "part::spaced" => {
            let spacing: part::Spacing = input["spacing"].clone().try_into().unwrap();
            one("p", part::spaced(spacing, x("p_b"), x("count")))
        }
        "ared::automatic_min_th" => {
            one("min_th", ared::automatic_min_th(text("target_delay").parse().unwrap(), &link()))
        }
        "ared::target_band" => {
            let (low, high) = ared::target_band(x("min_th"), x("max_th"));
            BTreeMap::from([("low", low), ("high", high)])
        }
        "ared::Step::adapt" => {
            let step = ared::Step { alpha: x("alpha"), beta: x("beta"), bottom: x("bottom"), top: x("top") };
            one("max_p", step.adapt(x("max_p"), x("avg"), (x("low"), x("high"))))
        }
        "pi::Gains::next_p" => {
            let gains = pi::Gains { a: x("a"), b: x("b"), q_ref: x("q_ref") };
            one("p", gains.next_p(x("p"), x("q"), x("q_old")))
        }
        "pi::design_zero" => one("z", pi::design_zero(x("flows"), x("capacity"), x("rtt"))),
        "pi::design_gain" => {
            one("k_pi", pi::design_gain(x("flows"), x("capacity"), x("rtt"), x("z"), x("w_g")))
        }
        "pi::discretized" => {
            let (a, b) = pi::discretized(x("k_pi"), x("z"), x("t_s"));
            BTreeMap::from([("a", a), ("b", b)])
        }
        "pi::PiDesign::gains" => {
            let design: pi::PiDesign = input["design"].clone().try_into().unwrap();
            let (a, b) = design.gains(x("capacity"), 1.0 / x("sampling_rate")).unwrap();
            BTreeMap::from([("a", a), ("b", b)])
        }
        "pi::continuous_gains" => {
            let (k_p, k_i) = pi::continuous_gains(x("a"), x("b"), x("t_s"));
            BTreeMap::from([("k_p", k_p), ("k_i", k_i)])
        }
        "rem::Law::price_from_rate" => {
            let law = rem::Law { gamma: x("gamma"), alpha: x("alpha"), q_ref: x("q_ref") };
            one("price", law.price_from_rate(x("price"), x("q"), x("excess")))
        }
        "rem::Law::price_from_queue" => {
            let law = rem::Law { gamma: x("gamma"), alpha: x("alpha"), q_ref: x("q_ref") };
            one("price", law.price_from_queue(x("price"), x("q"), x("q_old")))
        }
        "rem::exponential_marking" => one("p", rem::exponential_marking(x("phi").ln(), x("price"))),
        "rem::continuous_gains" => {
            let law = rem::Law { gamma: x("gamma"), alpha: x("alpha"), q_ref: 0.0 };
            let (k_p, k_i) = rem::continuous_gains(&law, x("phi"), x("t_s"));
            BTreeMap::from([("k_p", k_p), ("k_i", k_i)])
        }
        "avq::next_capacity" => {
            one("capacity", avq::next_capacity(x("capacity"), x("c"), x("size"), x("dt"), x("phi"), x("tau")))
        }
        "avq::VirtualQueue::offer" => {
            let mut vq =
                avq::VirtualQueue { length: x("length"), capacity: x("capacity"), buffer: x("buffer") };
            let fits = vq.offer(x("size"), x("dt"));
            BTreeMap::from([("length", vq.length), ("fits", fits as u8 as f64)])
        }
        "ap_red::Reference::adapt" => {
            let setting = ap_red::Setting {
                min_th: x("ref_min_th"),
                max_th: x("ref_max_th"),
                max_p: x("ref_max_p"),
                w: x("ref_w"),
            };
            let conditions = ap_red::Conditions {
                flows: x("reference_flows"),
                rtt: x("reference_rtt"),
                capacity: x("reference_capacity"),
            };
            let reference = ap_red::Reference { conditions, setting, bottom: x("bottom"), top: x("top") };
            let now = reference.adapt(&conditions_of(&x));
            BTreeMap::from([
                ("min_th", now.min_th),
                ("max_th", now.max_th),
                ("max_p", now.max_p),
                ("w", now.w),
            ])
        }
        "ap_red::scaled_max_p" => one("max_p", ap_red::scaled_max_p(x("max_p"), x("k"), x("k_n"))),
        "ap_red::scaled_weight" => {
            one("w", ap_red::scaled_weight(x("w"), x("k"), x("k_n"), &conditions_of(&x)))
        }
        "ap_red::loop_gain" => {
            let (min_th, max_th) = (x("min_th"), x("max_th"));
            let setting = ap_red::Setting { min_th, max_th, max_p: x("max_p"), w: x("w") };
            one("gain", ap_red::loop_gain(&setting))
        }
        "ap_red::stability_bound" => one("bound", ap_red::stability_bound(&conditions_of(&x))),
        "part::detector::upper_coefficient" => one("h_l", part::detector::upper_coefficient(x("gamma"))),
        "part::detector::half_way" => one("g2", part::detector::half_way(x("small"), x("large"))),
        "part::detector::moving_average" => {
            one("x", part::detector::moving_average(x("x"), x("phi_w"), x("square")))
        }
        "part::detector::Detector::sample" => {
            let mut d = part::detector::Detector::new(x("gamma"), x("h_s"), x("phi1"), x("phi2"), x("q_ref"));
            d.s2 = x("s2");
            if input.contains_key("g2") {
                d.g2 = x("g2");
            }
            let k = d.sample(x("q"), x("w"));
            BTreeMap::from([("s2", d.s2), ("g2", d.g2), ("k", k.unwrap_or(0.0))])
        }
        "feng_ared::Rule::adapt" => {
            let rule = feng_ared::Rule {
                min_th: x("min_th"),
                max_th: x("max_th"),
                alpha: x("alpha"),
                beta: x("beta"),
                bottom: x("bottom"),
                top: x("top"),
            };
            let status = match text("status") {
                "below" => feng_ared::Status::Below,
                "between" => feng_ared::Status::Between,
                "above" => feng_ared::Status::Above,
                other => panic!("{function}: no status is called {other}"),
            };
            let (status, max_p) = rule.adapt(status, x("max_p"), x("avg"));
            // -1, 0 and 1 for below, between and above.
            BTreeMap::from([("status", status as u8 as f64 - 1.0), ("max_p", max_p)])
        }
        "auto_tuning_red::increment" => {
            let increment = auto_tuning_red::increment(x("max_p"), x("avg"), x("min_th"), x("max_th"));
            one("increment", increment)
        }
        "auto_tuning_red::Tuning::next" => {
            let tuning = auto_tuning_red::Tuning {
                epsilon: x("epsilon"),
                zeta: x("zeta"),
                bottom: x("bottom"),
                top: x("top"),
            };
            one("max_p", tuning.next(x("max_p"), x("avg"), (x("min_th"), x("max_th"))))
        }
        "auto_tuning_red::automatic_min_th" => {
            one("min_th", auto_tuning_red::automatic_min_th(x("rtt"), x("capacity")))
        }
        "ared_dt::Range::next_min_th" => {
            let range = ared_dt::Range {
                gamma: x("gamma"),
                p_l: x("p_l"),
                p_u: x("p_u"),
                bottom: x("bottom"),
                top: x("top"),
            };
            one("min_th", range.next_min_th(x("min_th"), x("mean_p")))
        }
        "fuzzy_red::memberships" => {
            let [low, medium, high] = fuzzy_red::memberships(x("error"), (x("error_low"), x("error_high")));
            BTreeMap::from([("low", low), ("medium", medium), ("high", high)])
        }
        "fuzzy_red::Rules::weight" => {
            let rules = fuzzy_red::Rules {
                rule: input["rule"].clone().try_into().unwrap(),
                error: (x("error_low"), x("error_high")),
                weight: (x("weight_low"), x("weight_high")),
            };
            one("w", rules.weight(x("error")))
        }
        "fuzzy_red::scaled_error" => one("error", fuzzy_red::scaled_error(x("q"), x("avg"))),
        "green::fair_probability" => {
            one("p", green::fair_probability(x("flows"), x("mss"), x("c"), x("rate"), x("rtt")))
        }
        "wred::automatic_min_th" => {
            one("min_th", wred::automatic_min_th(x("precedence") as u8, x("max_th"), x("lowest")))
        }
        "dsred::Slopes::probability" => {
            let slopes = dsred::Slopes { k_l: x("k_l"), k_h: x("k_h"), gamma: x("gamma") };
            one("p", slopes.probability(x("avg")))
        }
        "pd_red::Gains::next_max_p" => {
            let gains = pd_red::Gains { k_p: x("k_p"), k_d: x("k_d") };
            one("max_p", gains.next_max_p(x("max_p"), x("error"), x("before")))
        }
        "sred::p_sred" => one("p", sred::p_sred(x("filling"), x("p_max"))),
        "sred::load_factor" => one("factor", sred::load_factor(x("hit_rate"), x("flows"))),
        "sred::hit_factor" => one("factor", sred::hit_factor(input["hit"].as_bool().unwrap(), x("hit_rate"))),
        "fred::automatic_min_th" => {
            one("min_th", fred::automatic_min_th(x("buffer"), x("capacity"), text("rtt").parse().unwrap()))
        }
        "fred::mean_flow_queue" => one("mean", fred::mean_flow_queue(x("avg"), x("active") as u32)),
        "fred::Bounds" => {
            let bounds = fred::Bounds {
                max_th: x("max_th"),
                min_q: x("min_q"),
                max_q: x("max_q"),
                many_flows: input["many_flows"].as_bool().unwrap(),
            };
            let exceeded = bounds.exceeded(x("held"), x("strikes") as u32, x("avg"), x("mean"));
            let robust = bounds.robust(x("held"), x("mean"));
            BTreeMap::from([("exceeded", exceeded as u8 as f64), ("robust", robust as u8 as f64)])
        }
        "lred::loss_ratio" => one("l", lred::loss_ratio(x("lost"), x("arrived"))),
        "lred::average" => one("l", lred::average(x("before"), x("measured"), x("weight"))),
        "lred::Law::probability" => {
            let law = lred::Law { beta: x("beta"), q_ref: x("q_ref") };
            one("p", law.probability(x("loss"), x("q")))
        }
        "e_red::Exponential::probability" => {
            let curve = e_red::Exponential { ln_p_min: x("p_min").ln(), end: x("end") };
            one("p", curve.probability(x("b")))
        }
        "red_tail::Split::first" => {
            let (min_th, max_th) = (x("min_th"), x("max_th"));
            let split = red_tail::Split { min_th, max_th, c1_min: x("c1_min"), c1_max: x("c1_max") };
            one("share", split.first(x("q1")))
        }
        "red_tail::Claim::after" => {
            let backlog = match text("backlog") {
                "first" => red_tail::Backlog::First,
                "second" => red_tail::Backlog::Second,
                "both" => red_tail::Backlog::Both,
                other => panic!("{function}: backlog {other}"),
            };
            let claim = red_tail::Claim(x("claim"));
            let after = claim.after(backlog, x("bytes"), x("share"), x("c1_min"));
            let first = claim.serves_first(backlog) as u8;
            BTreeMap::from([("serves_first", f64::from(first)), ("claim", after.0)])
        }
        "part::averaged_rate" => {
            one("rate", part::averaged_rate(x("rate"), x("packets"), x("dt"), x("memory")))
        }
        "spf::forwarding" => one("p", spf::forwarding(x("capacity"), x("rate"))),
        "vrc::Gains::from_pid" => {
            let g = vrc::Gains::from_pid(x("k_p"), x("k_i"), x("k_d")).unwrap();
            BTreeMap::from([("alpha", g.alpha), ("beta", g.beta), ("gamma", g.gamma)])
        }
        f if f.starts_with("vrc::Gains::") => {
            let g = vrc::Gains { alpha: x("alpha"), beta: x("beta"), gamma: x("gamma") };
            match f.trim_start_matches("vrc::Gains::") {
                "to_pid" => {
                    let (k_p, k_i, k_d) = g.to_pid();
                    BTreeMap::from([("k_p", k_p), ("k_i", k_i), ("k_d", k_d)])
                }
                "target_rate" => one("rate", g.target_rate(x("capacity"), x("excess"))),
                "probability" => one("p", g.probability(x("rate"), x("virtual_rate"))),
                "next_correction" => {
                    one("correction", g.next_correction(x("correction"), x("rate"), x("target"), x("t_s")))
                }
                "bounded" => one("correction", g.bounded(x("correction"), x("q_ref"))),
                other => panic!("vrc has no {other}"),
            }
        }
        "pid::Law::settled" | "pid::Law::probability" => {
            let law = pid::Law { k_p: x("k_p"), k_i_t: x("k_i_t"), k_d: x("k_d") };
            one(
                "p",
                if function.ends_with("settled") {
                    law.settled(x("settled"), x("e"), x("before"))
                } else {
                    law.probability(x("settled"), x("slope"))
                },
            )
        }
        "dred::next_p" => one("p", dred::next_p(x("p"), x("per_packet"), x("error"))),
        "st_pi::retuned" => {
            let g = st_pi::retuned(&pi::Gains { a: x("a"), b: x("b"), q_ref: x("q_ref0") }, x("q_ref"));
            BTreeMap::from([("a", g.a), ("b", g.b), ("q_ref", g.q_ref)])
        }
        "hred::adjustment_gain" => {
            one("k", hred::adjustment_gain(x("capacity"), text("time").parse().unwrap()))
        }
        "hred::least_stable_queue" => {
            one("q", hred::least_stable_queue(x("min_th"), x("max_th"), x("kappa"), x("bandwidth_delay")))
        }
        "hred::least_stable_buffer" => one(
            "buffer",
            hred::least_stable_buffer(x("min_share"), x("max_share"), x("kappa"), x("bandwidth_delay"))
                .unwrap(),
        ),
        "hred::tolerance" => {
            one("share", hred::tolerance(x("min_th"), x("max_th"), x("buffer"), x("bandwidth_delay")))
        }
        f if f.starts_with("hred::") => {
            let line = hred::Line { min_th: x("min_th"), max_th: x("max_th"), slope: x("slope") };
            match f {
                "hred::Line::probability" => one("p", line.probability(x("q"), x("min_p"))),
                "hred::Line::max_p" => one("p", line.max_p(x("min_p"))),
                "hred::Line::largest_min_p" => one("p", line.largest_min_p()),
                "hred::Line::adjusted" => {
                    one("p", line.adjusted(x("min_p"), x("p"), x("q"), x("k_alpha"), x("k_beta")))
                }
                "hred::loop_gain" => one("gain", hred::loop_gain(&line, x("q"), x("bandwidth_delay"))),
                other => panic!("no {other}"),
            }
        }
        "fixed::Scale::times" => one("y", fixed::Scale::new(x("factor")).times(x("x") as u64) as f64),
        "fixed::halved" => {
            one("y", fixed::to_f64(fixed::halved(fixed::from_f64(x("x")), fixed::from_f64(x("halvings")))))
        }
        "fixed::spaced" => {
            let spacing: part::Spacing = input["spacing"].clone().try_into().unwrap();
            one(
                "p",
                fixed::to_f64(fixed::spaced(spacing, fixed::from_f64(x("p_b")), fixed::from_f64(x("count")))),
            )
        }
        _ => panic!("no function is called {function}: add it to tests/vectors.rs"),
    }
}

fn conditions_of(x: &impl Fn(&str) -> f64) -> ap_red::Conditions {
    ap_red::Conditions { flows: x("flows"), rtt: x("rtt"), capacity: x("capacity") }
}

#[derive(Default)]
struct Signals(BTreeMap<&'static str, f64>);

impl Probe for Signals {
    fn value(&mut self, name: &'static str, _unit: &'static str, x: f64) {
        self.0.insert(name, x);
    }
}

fn verdict_name(v: Verdict) -> &'static str {
    match v {
        Verdict::Pass => "pass",
        Verdict::Signal(Cause::Early) => "early signal",
        Verdict::Signal(_) => "forced signal",
        Verdict::Drop(Cause::Early) => "early drop",
        Verdict::Drop(_) => "forced drop",
    }
}

fn run_case(algorithm: &str, case: &Case) {
    assert!(!case.source.is_empty() && !case.computed.is_empty());
    let link = Link { rate: case.link.rate, buffer: case.link.buffer, mean_packet: case.link.mean_packet };
    let config = AqmConfig::deserialize_named(algorithm, case.params.clone()).unwrap().unwrap();
    let mut aqm: AnyAqm = config.build(&link).unwrap();
    let mut rng = Seed(1).stream("vectors");
    for (i, event) in case.events.iter().enumerate() {
        let place = format!("{algorithm}: {}, event {i}", case.name);
        let now = Time::ZERO + event.at;
        let bytes = event.queue_bytes.map_or(event.queue as u64 * link.mean_packet.get(), Bytes::get);
        let view = |packets: u32, bytes: u64| QueueView {
            packets: Packets::new(packets),
            bytes: Bytes::new(bytes),
            head_since: (packets > 0).then_some(now),
            link_rate: event.rate,
        };
        let queue = view(event.queue, bytes);
        let mut cx = Ctx { now, queue, rng: &mut rng };
        let ecn = if event.not_ect { Ecn::NotEct } else { Ecn::Ect0 };
        let (flow, syn) = (FlowId(event.flow), event.syn);
        let packet =
            |bytes| PacketMeta { bytes, enqueued_at: now, flow, ecn, syn, precedence: event.precedence };
        if !event.update {
            assert!(aqm.next_update().is_none_or(|due| due > now), "{place}: an update is due");
        }
        if let Some(want) = event.lane {
            let lanes = aqm.lanes().unwrap_or_else(|| panic!("{place}: it has no lanes"));
            let transport = if event.udp { Transport::Udp } else { Transport::Tcp };
            let got = match (event.arrive, event.sends) {
                (Some(bytes), None) => lanes.join(now, &packet(bytes), transport),
                (None, Some(bytes)) => {
                    let waiting = event.waiting.iter().map(|n| view(*n, *n as u64 * link.mean_packet.get()));
                    let lane = lanes.next(now, &waiting.collect::<Vec<_>>());
                    assert_eq!(aqm.on_dequeue(&mut cx, &packet(bytes)), Verdict::Pass, "{place}");
                    lane
                }
                _ => panic!("{place}: a lane goes with arrive or with sends"),
            };
            assert_eq!(got, want, "{place}: the lane");
        }
        match (event.arrive, event.overflow, event.depart, event.idle, event.update) {
            (None, None, None, false, false) if event.sends.is_some() => {}
            (Some(bytes), None, None, false, false) => {
                let got = verdict_name(aqm.on_enqueue(&mut cx, &packet(bytes)));
                if let Some(want) = &event.verdict {
                    assert_eq!(got, want, "{place}");
                }
            }
            (None, Some(bytes), None, false, false) => aqm.on_overflow(&mut cx, &packet(bytes)),
            (None, None, Some(bytes), false, false) => {
                assert!(aqm.decides_at_dequeue(), "{place}: nobody asks it there");
                let got = verdict_name(aqm.on_dequeue(&mut cx, &packet(bytes)));
                if let Some(want) = &event.verdict {
                    assert_eq!(got, want, "{place}");
                }
            }
            (None, None, None, true, false) => aqm.on_idle(now),
            (None, None, None, false, true) => {
                assert_eq!(aqm.next_update(), Some(now), "{place}");
                aqm.on_update(&mut cx);
            }
            _ => panic!("{place}: exactly one of arrive, overflow, depart, idle and update"),
        }
        let mut signals = Signals::default();
        aqm.observe(&mut signals);
        for (name, want) in &event.expect {
            let got = signals.0[name.as_str()];
            assert!(close(got, *want, case.tolerance), "{place}: {name} is {got}, not {want}");
        }
    }
}

fn files() -> Vec<File> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors");
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let file: File = toml::from_str(&std::fs::read_to_string(path).unwrap())
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let stem = path.file_stem().unwrap().to_str().unwrap();
            assert_eq!(stem, file.algorithm.replace(['-', '+'], "_"), "the file's name is the algorithm's");
            file
        })
        .collect()
}

#[test]
fn equations_give_their_known_answers() {
    for file in files() {
        for (i, e) in file.equation.iter().enumerate() {
            let place = format!("{}, equation {i} ({}, {})", file.algorithm, e.function, e.source);
            assert!(!e.computed.is_empty(), "{place}: say how the answer was computed");
            let got = evaluate(&e.function, &e.input);
            assert_eq!(got.keys().collect::<Vec<_>>(), e.expect.keys().collect::<Vec<_>>(), "{place}");
            for (name, want) in &e.expect {
                let got = got[name.as_str()];
                assert!(close(got, *want, e.tolerance), "{place}: {name} is {got}, not {want}");
            }
        }
    }
}

#[test]
fn event_sequences_give_their_known_answers() {
    for file in files() {
        for case in &file.case {
            run_case(&file.algorithm, case);
        }
    }
}

#[test]
fn every_algorithm_has_vectors() {
    let files = files();
    for entry in CATALOG {
        let file = files.iter().find(|f| f.algorithm == entry.name);
        let file = file.unwrap_or_else(|| panic!("{} has no file of vectors", entry.name));
        assert!(!file.case.is_empty(), "{} has no sequence of events", entry.name);
    }
    assert_eq!(files.len(), CATALOG.len(), "a file of vectors without an algorithm");
}
