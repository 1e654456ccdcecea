//! The theory's view of a scenario: one link, its algorithms, and the flows that fill it.

use quell_aqm::Link;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::params::ParamValue;
use quell_scenario::{FlowFact, LinkAt, Plugins, Point, ScenarioError};
use quell_sim::network::{FlowSpec, Impairments, Traffic};
use quell_tcp::{CongestionControl, Growth};
use quell_theory::rules::design::Design;
use quell_theory::{Class, Congestion, Coupling, FluidNetwork, Scalables, Signal, TheoryError};
use quell_units::Time;
use quell_units::text::{cut, seconds};

/// Flows are grouped by round-trip time into at most as many classes as this.
const MOST_CLASSES: usize = 16;

/// One link of a scenario at one time, as the fluid models know it.
#[derive(Clone, Debug)]
pub struct Bottleneck {
    /// The link's name.
    pub name: String,
    /// The link as its algorithm knows it.
    pub link: Link,
    /// The algorithms of the scenario for this link: label and parameters.
    pub algorithms: Vec<(String, AqmConfig)>,
    /// The long-lived flows, by round-trip time, and the link in packets.
    pub network: FluidNetwork,
    /// The parts of the scenario that the models leave out, in words.
    pub left_out: Vec<String>,
}

impl Bottleneck {
    /// The link and the flows that a design is for.
    pub fn of_design(design: &Design) -> Bottleneck {
        Bottleneck {
            name: "bottleneck".into(),
            link: design.link,
            algorithms: vec![(design.config.name().into(), design.config.clone())],
            network: design.network.clone(),
            left_out: Vec::new(),
        }
    }

    /// The link of a point called `link` (the first that is measured, without a name) and its flows at a time
    /// ([`Bottleneck::busy_time`], without one). Round-trip times that are drawn at random are those of `seed`.
    ///
    /// # Errors
    /// There is no such link, no long-lived flow crosses it then, or its algorithm is not in the catalog.
    pub fn of_point(
        point: &Point,
        link: Option<&str>,
        time: Option<Time>,
        seed: u64,
        plugins: &Plugins,
    ) -> Result<Bottleneck, ScenarioError> {
        let name = link_name(point, link)?;
        let time = match time {
            Some(time) => time,
            None => Bottleneck::busy_time(point, Some(&name), seed)?,
        };
        see(point, &name, time, seed, plugins)
    }

    /// The time at which a link is looked at unless another is asked for: the end of the warm-up, or, if no
    /// long-lived flow sends then, when the most of them first do.
    ///
    /// # Errors
    /// There is no such link.
    pub fn busy_time(point: &Point, link: Option<&str>, seed: u64) -> Result<Time, ScenarioError> {
        let name = link_name(point, link)?;
        let warmed = Time::ZERO + point.scenario.warmup;
        let flows = point.flows_at(&name, warmed, seed)?;
        // Each beginning and each end; at one instant, ends come first.
        let mut turns: Vec<(Time, i32)> = Vec::new();
        for (_, fact) in flows.iter().filter(|(spec, fact)| is_long_lived(spec, fact)) {
            if sends(fact, warmed) {
                return Ok(warmed);
            }
            turns.push((fact.start, 1));
            turns.extend(fact.stop.map(|stop| (stop, -1)));
        }
        turns.sort_unstable();
        let (mut now, mut most, mut busy) = (0, 0, warmed);
        for (at, change) in turns {
            now += change;
            if now > most {
                (most, busy) = (now, at);
            }
        }
        Ok(busy)
    }
}

/// The name of a link that is measured.
fn link_name(point: &Point, link: Option<&str>) -> Result<String, ScenarioError> {
    let names = point.links();
    match link {
        None => Ok(names.first().cloned().unwrap_or_default()),
        Some(name) if names.iter().any(|n| n == name) => Ok(name.to_string()),
        Some(name) => {
            let rule =
                format!("no link is called {}; the measured links are {}", cut(name), names.join(", "));
            Err(point.refuse(rule))
        }
    }
}

fn is_long_lived(spec: &FlowSpec, fact: &FlowFact) -> bool {
    fact.bulk && matches!(spec.traffic, Traffic::Tcp { .. })
}

fn sends(fact: &FlowFact, time: Time) -> bool {
    fact.start <= time && fact.stop.is_none_or(|stop| stop > time)
}

fn see(
    point: &Point,
    link_name: &str,
    time: Time,
    seed: u64,
    plugins: &Plugins,
) -> Result<Bottleneck, ScenarioError> {
    let s = &point.scenario;
    let LinkAt { link, rate, algorithms, ecn, changes, classes, cell, wifi } =
        point.link_at(link_name, time, plugins)?;
    if cell {
        let rule = format!(
            "the link {link_name} has a cell, each user with a queue of its own, and the fluid models have one queue; leave \
             the cell out, and set the link's rate to what a user gets"
        );
        return Err(point.refuse(rule));
    }
    if classes {
        let rule = format!(
            "the link {link_name} has classes, each leaf with a queue of its own, and the fluid models have one queue; leave \
             classes out, and set the link's rate to that of the class to analyze"
        );
        return Err(point.refuse(rule));
    }
    if wifi {
        let rule = format!(
            "the link {link_name} is a channel of Wi-Fi, whose capacity depends on who sends, and the fluid models have a \
             constant one; leave wifi out, and set the link's rate to what the channel carries"
        );
        return Err(point.refuse(rule));
    }
    let capacity = rate.packets_per_sec(link.mean_packet);
    // A packet also takes its own transmission time.
    let transmission = 1.0 / capacity;
    let mut senders: Vec<Sender> = Vec::new();
    let (mut others, mut later, mut gathers) = (0_usize, 0_usize, false);
    let end = Time::ZERO + s.duration;
    for (spec, fact) in &point.flows_at(link_name, time, seed)? {
        let comes_or_goes = fact.start > time || fact.stop.is_some_and(|stop| stop > time && stop < end);
        later += usize::from(is_long_lived(spec, fact) && comes_or_goes);
        gathers |= fact.bulk && matches!(&spec.traffic, Traffic::Tcp { tcp, .. } if tcp.gro.is_some());
        match &spec.traffic {
            Traffic::Tcp { tcp, .. } if fact.bulk && sends(fact, time) => senders.push(Sender {
                law: tcp.congestion.show().to_string(),
                rtt: fact.base_rtt.as_secs_f64() + transmission,
                marked: ecn && tcp.ecn,
                ect1: tcp.is_l4s(),
                rounds: tcp.congestion == CongestionControl::Dctcp && tcp.growth == Growth::WholePackets,
                every: match tcp.growth {
                    Growth::Acknowledgments if tcp.delayed_ack.is_some() => tcp.ack_every,
                    _ => 1,
                },
            }),
            _ if fact.bulk => {}
            _ => others += 1,
        }
    }
    if senders.is_empty() {
        let rule = format!(
            "no long-lived TCP flow crosses the link {link_name} at {} s: the fluid models apply to TCP flows that always have data to send; {}",
            seconds((1e3 * time.as_secs_f64()).round() / 1e3),
            if later > 0 { "some do at other times" } else { "none does later" }
        );
        return Err(point.refuse(rule));
    }
    let all = senders.len();
    let (name, alike) = most_frequent(&senders);
    let most_are_scalable = is_scalable(&name).map_err(|e| {
        let rule = format!("{alike} of the {all} long-lived flows over the link {link_name}: {e}");
        point.refuse(rule)
    })?;
    // A law that is not known is neither.
    let (scalable, classic): (Vec<Sender>, Vec<Sender>) =
        senders.into_iter().partition(|s| is_scalable(&s.law).unwrap_or(most_are_scalable));
    let mut left_out = Vec::new();
    let kinds: Vec<Kind> = [classic, scalable]
        .into_iter()
        .filter(|kind| !kind.is_empty())
        .map(|kind| Kind::of(kind, &mut left_out))
        .collect();
    if others > 0 {
        left_out.push(format!("{others} short-lived or unresponsive flows"));
    }
    if gathers {
        left_out.push("the acknowledgments that receivers save by gathering packets (gro)".to_string());
    }
    let mut moves = Vec::new();
    if changes || s.flows.iter().flat_map(|f| &f.rtt_changes).any(|c| Time::ZERO + c.at > time) {
        moves.push("rates or delays".to_string());
    }
    if later > 0 {
        moves.push(format!("{later} long-lived flows that start or end"));
    }
    if !moves.is_empty() {
        left_out.push(format!(
            "what changes after {} s: {}",
            seconds((1e3 * time.as_secs_f64()).round() / 1e3),
            moves.join(", ")
        ));
    }
    left_out.extend(of_wires(point));
    left_out.extend(of_shapers(point));
    left_out.extend(of_handovers(point));
    let classes: Vec<Class> =
        kinds.iter().flat_map(|kind| grouped(kind.rtts.clone(), MOST_CLASSES / kinds.len())).collect();
    let scalables = kinds.get(1).map(|second| Scalables {
        from: grouped(kinds[0].rtts.clone(), MOST_CLASSES / kinds.len()).len(),
        congestion: second.congestion,
        coupling: Coupling::default(),
    });
    let network = FluidNetwork {
        capacity,
        buffer: link.buffer.in_packets(link.mean_packet),
        congestion: kinds[0].congestion,
        signal: if kinds[0].marked { Signal::Mark } else { Signal::Drop },
        classes,
        scalables,
    };
    Ok(Bottleneck { name: link_name.to_string(), link, algorithms, network, left_out })
}

/// What wires do to packets, and on which links.
fn of_wires(point: &Point) -> Vec<String> {
    let wires = point.wires();
    let say = |what: &str, such: fn(&Impairments) -> bool| {
        let on: Vec<&str> =
            wires.iter().filter(|wire| such(&wire.impairments)).map(|wire| wire.name.as_str()).collect();
        (!on.is_empty()).then(|| format!("{what} on the wires of {}", on.join(", ")))
    };
    let losses = say("losses", |wire| !wire.loss.is_none());
    let jitter = say("jitter", |wire| wire.jitter.is_some());
    let copies = say("copies of packets", |wire| wire.duplicate > 0.0);
    [losses, jitter, copies].into_iter().flatten().collect()
}

/// The handovers of links. The models have the delays that paths have at least.
fn of_handovers(point: &Point) -> Option<String> {
    let wires = point.wires();
    let on: Vec<&str> = wires.iter().filter(|wire| wire.handed_over).map(|wire| wire.name.as_str()).collect();
    (!on.is_empty()).then(|| format!("the handovers of {}", on.join(", ")))
}

/// The bursts of shapers, beyond the rate that the models have.
fn of_shapers(point: &Point) -> Option<String> {
    let wires = point.wires();
    let on: Vec<&str> = wires.iter().filter(|wire| wire.shaped).map(|wire| wire.name.as_str()).collect();
    (!on.is_empty()).then(|| format!("the bursts of the shapers of {}", on.join(", ")))
}

/// A long-lived flow.
struct Sender {
    /// The name of its congestion control.
    law: String,
    /// The round-trip time in seconds, without queueing.
    rtt: f64,
    /// True if its packets can be marked.
    marked: bool,
    /// True if its packets are ECT(1).
    ect1: bool,
    /// True if its estimate of marks is rounded as Linux's.
    rounds: bool,
    /// The packets that count as one to its window, since one acknowledgment brings them.
    every: u32,
}

/// Senders of one kind, Classic or scalable, as the models have them.
struct Kind {
    congestion: Congestion,
    rtts: Vec<f64>,
    marked: bool,
}

impl Kind {
    /// Describes the majority of some senders, at least one of which has a law, and notes what that leaves out.
    fn of(senders: Vec<Sender>, left_out: &mut Vec<String>) -> Kind {
        let all = senders.len();
        let most = |n: usize| 2 * n > all;
        let mixed = |n: usize| n > 0 && n < all;
        let count = |of: fn(&Sender) -> bool| senders.iter().filter(|s| of(s)).count();
        let (marked, delayed) = (count(|s| s.marked), count(|s| s.every > 1));
        let known = |s: &&Sender| Congestion::named(&s.law).is_ok();
        let (name, alike) = most_frequent(senders.iter().filter(known));
        let congestion = Congestion::named(&name).expect("only laws that are known were counted");
        let mut every: Vec<u32> = senders.iter().map(|s| s.every).collect();
        every.sort_unstable();
        let congestion = match every[(all - 1) / 2] {
            1 => congestion,
            every => congestion.growing(1.0 / f64::from(every)),
        };
        let ect1 = count(|s| s.ect1 && s.marked);
        let is_scalable = matches!(congestion, Congestion::Scalable(_));
        let congestion = congestion.as_ect1(most(ect1));
        if mixed(ect1) {
            left_out
                .push(format!("{ect1} of {all} flows of the same kind send ECT(1); all are treated alike"));
        } else if ect1 > 0 && !is_scalable {
            left_out.push(format!(
                "{ect1} flows send ECT(1) although {name} is not scalable; the model treats them as ECT(0)"
            ));
        }
        if alike < all {
            let laws = laws(&senders);
            let listed: Vec<String> = laws
                .iter()
                .filter(|(other, _)| *other != name)
                .map(|(other, flows)| match Congestion::named(other) {
                    Ok(_) => format!("{flows} {other}"),
                    Err(_) => format!("{flows} {other}, which has no law of this kind"),
                })
                .collect();
            let tie = laws.iter().filter(|(_, flows)| *flows == alike).count() > 1;
            left_out.push(format!(
                "{} of {all} flows have another congestion control ({}); the model gives all of them the law of \
                 {name}, which {}",
                all - alike,
                listed.join("; "),
                if tie { "comes first in the scenario among the equally frequent" } else { "most have" }
            ));
        }
        if matches!(congestion, Congestion::Cubic(_)) && delayed > 0 {
            left_out.push(format!(
                "{delayed} of {all} receivers delay acknowledgments, each of which counts as one packet for the \
                 window; the cubic function assumes growth by packets"
            ));
        }
        if every[0] > 1 && every[0] != every[all - 1] {
            left_out.push(format!(
                "acknowledgments cover {} to {} packets; all are treated alike",
                every[0],
                every[all - 1]
            ));
        }
        if count(|s| s.rounds) > 0 {
            left_out.push(
                "with growth = \"whole-packets\", DCTCP's estimate is Linux's, in 1024ths, which forgets shares of \
                 marks below 1/64; windows above some tens of packets need more marks than in the law"
                    .to_string(),
            );
        }
        if mixed(marked) {
            left_out.push(format!("{marked} of {all} flows use ECN; all are treated alike"));
        }
        if mixed(delayed) && !matches!(congestion, Congestion::Cubic(_)) {
            left_out
                .push(format!("{delayed} of {all} receivers delay acknowledgments; all are treated alike"));
        }
        Kind { congestion, marked: most(marked), rtts: senders.iter().map(|s| s.rtt).collect() }
    }
}

/// True if a congestion control is scalable (RFC 9332 section 1.2).
fn is_scalable(law: &str) -> Result<bool, TheoryError> {
    Congestion::named(law).map(|law| matches!(law, Congestion::Scalable(_)))
}

/// The congestion controls of some senders, each with how many have it.
fn laws<'s>(senders: impl IntoIterator<Item = &'s Sender>) -> Vec<(&'s str, usize)> {
    let mut laws: Vec<(&str, usize)> = Vec::new();
    for sender in senders {
        match laws.iter_mut().find(|(known, _)| *known == sender.law) {
            Some((_, flows)) => *flows += 1,
            None => laws.push((&sender.law, 1)),
        }
    }
    laws
}

/// The congestion control of most senders; of equally many, the one that comes first in the scenario.
fn most_frequent<'s>(senders: impl IntoIterator<Item = &'s Sender>) -> (String, usize) {
    let laws = laws(senders);
    let (name, flows) = laws.iter().rev().max_by_key(|(_, flows)| *flows).expect("there is a sender");
    (name.to_string(), *flows)
}

/// Flows of neighboring round-trip times together, as equally many to a class as possible.
fn grouped(mut rtts: Vec<f64>, most: usize) -> Vec<Class> {
    rtts.sort_by(f64::total_cmp);
    let n = rtts.len();
    // Equal ones are one class, however many there are.
    let mut distinct: Vec<Class> = Vec::new();
    for &rtt in &rtts {
        match distinct.last_mut() {
            Some(class) if class.propagation == rtt => class.flows += 1.0,
            _ => distinct.push(Class { flows: 1.0, propagation: rtt }),
        }
    }
    if distinct.len() <= most {
        return distinct;
    }
    (0..most)
        .map(|k| {
            let part = &rtts[k * n / most..(k + 1) * n / most];
            Class { flows: part.len() as f64, propagation: part.iter().sum::<f64>() / part.len() as f64 }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_scenario::Study;
    use quell_units::Duration;

    const MIXED: &str = r#"
schema = 1
title = "t"
duration = "100 s"
warmup = "20 s"
[dumbbell]
rate = "8 Mbit/s"
delay = "10 ms"
buffer = "200 packets"
ecn = true
changes = [{ at = "50 s", rate = "4 Mbit/s" }]
[[aqm]]
algorithm = "pi"
[[aqm]]
algorithm = "red"
label = "slow red"
weight = 0.0001
[[flows]]
name = "near"
count = 30
rtt = "60 ms"
tcp = { ecn = true }
[[flows]]
name = "far"
count = 10
rtt = "200 ms"
start = "30 s"
tcp = { ecn = true }
[[flows]]
name = "web"
kind = "transfers"
count = 5
rtt = "100 ms"
size = "12 packets"
think = "500 ms"
"#;

    fn at(seconds: u64) -> Bottleneck {
        let study = Study::parse(MIXED, "mixed.toml", &Plugins::new()).unwrap();
        let time = Time::ZERO + Duration::from_secs(seconds);
        Bottleneck::of_point(&study.points[0], None, Some(time), 1, &Plugins::new()).unwrap()
    }

    #[test]
    fn what_wires_do_is_left_out_and_said() {
        let keys = "delay = \"10 ms\"\nreverse = { loss = { mean = 0.1, burst = 3 }, duplicate = 0 }\njitter = { size = \"1 ms\" \
                    }\nduplicate = 0.1\n";
        assert!(MIXED.contains("delay = \"10 ms\"\n"));
        let text = MIXED.replace("delay = \"10 ms\"\n", keys);
        let study = Study::parse(&text, "mixed.toml", &Plugins::new()).unwrap();
        let seen = Bottleneck::of_point(&study.points[0], None, None, 1, &Plugins::new()).unwrap();
        let wires: Vec<&String> = seen.left_out.iter().filter(|left| left.contains("wires")).collect();
        assert_eq!(
            wires,
            [
                "losses on the wires of reverse",
                "jitter on the wires of bottleneck, reverse",
                "copies of packets on the wires of bottleneck"
            ]
        );
    }

    /// A channel of Wi-Fi has no capacity that the models could have.
    #[test]
    fn channels_are_refused() {
        let wifi = "delay = \"10 ms\"\nwifi = { stations = [{ name = \"all\", rate = \"8 Mbit/s\" }] }\n";
        let text = MIXED.replace("delay = \"10 ms\"\n", wifi);
        let text = text.replace("changes = [{ at = \"50 s\", rate = \"4 Mbit/s\" }]", "");
        let study = Study::parse(&text, "mixed.toml", &Plugins::new()).unwrap();
        let refused = Bottleneck::of_point(&study.points[0], None, None, 1, &Plugins::new());
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("channel of Wi-Fi") && refused.contains("leave wifi out"), "{refused}");
    }

    /// The rate is the shaper's, and the models say that they leave out its bursts. Classes they do not have.
    #[test]
    fn shapers_are_slower_links_and_classes_are_refused() {
        let with = |key: &str| {
            let text = MIXED.replace("delay = \"10 ms\"\n", &format!("delay = \"10 ms\"\n{key}\n"));
            let study = Study::parse(&text, "mixed.toml", &Plugins::new()).unwrap();
            Bottleneck::of_point(&study.points[0], None, None, 1, &Plugins::new())
        };
        let (free, shaped) =
            (with("").unwrap(), with("shaper = { rate = \"1 Mbit/s\", burst = \"3 kB\" }").unwrap());
        assert!(shaped.network.capacity < free.network.capacity);
        assert_eq!(shaped.link.rate.bps(), 1_000_000);
        let said = "the bursts of the shapers of bottleneck";
        assert!(shaped.left_out.iter().any(|left| left == said), "{:?}", shaped.left_out);
        assert!(!free.left_out.iter().any(|left| left.contains("shapers")));
        let refused = with("classes = [{ name = \"all\" }]").unwrap_err().to_string();
        assert!(
            refused.contains("bottleneck has classes") && refused.contains("leave classes out"),
            "{refused}"
        );
    }

    /// Handovers are left out, and the models say so. Users of a cell they do not have.
    #[test]
    fn handovers_are_left_out_and_cells_are_refused() {
        let with = |key: &str| {
            let text = MIXED.replace("delay = \"10 ms\"\n", &format!("delay = \"10 ms\"\n{key}\n"));
            let study = Study::parse(&text, "mixed.toml", &Plugins::new()).unwrap();
            Bottleneck::of_point(&study.points[0], None, None, 1, &Plugins::new())
        };
        let handed =
            with("handovers = { every = \"2 s\", delay = { uniform = [\"0 ms\", \"20 ms\"] } }").unwrap();
        let said = "the handovers of bottleneck, reverse";
        assert!(handed.left_out.iter().any(|left| left == said), "{:?}", handed.left_out);
        let refused = with("cell = { users = [{ name = \"all\" }] }").unwrap_err().to_string();
        assert!(
            refused.contains("bottleneck has a cell") && refused.contains("leave the cell out"),
            "{refused}"
        );
    }

    #[test]
    fn flows_and_rate_are_those_of_the_time() {
        let early = at(20);
        assert_eq!(early.network.capacity, 1000.0);
        assert_eq!(early.network.buffer, 200.0);
        assert_eq!(early.network.signal, Signal::Mark);
        let [near] = early.network.classes[..] else { panic!("{early:?}") };
        assert_eq!(near.flows, 30.0);
        // The time of its own transmission is part of a packet's round trip.
        assert!((near.propagation - 0.061).abs() < 1e-9);
        assert_eq!(
            early.left_out,
            [
                "5 short-lived or unresponsive flows",
                "what changes after 20 s: rates or delays, 10 long-lived flows that start or end"
            ]
        );
        let names: Vec<&str> = early.algorithms.iter().map(|(l, _)| l.as_str()).collect();
        assert_eq!(names, ["pi", "slow red"]);
        let late = at(60);
        assert_eq!(late.network.capacity, 500.0);
        let flows: Vec<f64> = late.network.classes.iter().map(|c| c.flows).collect();
        assert_eq!(flows, [30.0, 10.0]);
        assert_eq!(late.left_out, ["5 short-lived or unresponsive flows"]);
    }

    /// The time with the most flows, where nobody sends at the end of the warm-up.
    #[test]
    fn a_time_with_flows_is_found() {
        let busy = |from: &str, to: &str| {
            let study = Study::parse(&MIXED.replace(from, to), "mixed.toml", &Plugins::new()).unwrap();
            Bottleneck::busy_time(&study.points[0], None, 1).unwrap().as_secs_f64()
        };
        assert_eq!(busy("", ""), 20.0);
        assert_eq!(busy("count = 30", "count = 30\nstart = \"25 s\""), 30.0);
        // The near ones are gone before the far ones come, and are more.
        assert_eq!(busy("count = 30", "count = 30\nstart = \"25 s\"\nstop = \"28 s\""), 25.0);
    }

    #[test]
    fn a_link_or_a_time_without_flows_is_refused() {
        let study = Study::parse(
            &MIXED.replace("count = 30", "count = 30\nstop = \"25 s\""),
            "mixed.toml",
            &Plugins::new(),
        );
        let point = &study.unwrap().points[0];
        let time = Some(Time::ZERO + Duration::from_secs(27));
        let error = Bottleneck::of_point(point, None, time, 1, &Plugins::new()).unwrap_err();
        assert!(
            error.to_string().contains("no long-lived TCP flow crosses the link bottleneck at 27 s"),
            "{error}"
        );
        let error = Bottleneck::of_point(point, Some("elsewhere"), None, 1, &Plugins::new()).unwrap_err();
        assert!(error.to_string().contains("no link is called elsewhere"), "{error}");
    }

    /// The law is that of most flows, with what their receivers do; what has none is refused with the reason.
    #[test]
    fn the_law_of_the_windows_is_the_scenario_s() {
        let see = |near: &str, far: &str| {
            let group = |name: &str, tcp: &str| {
                format!("name = \"{name}\"\ncount = 30\nrtt = \"60 ms\"\ntcp = {{ ecn = true{tcp} }}")
            };
            let text = MIXED
                .replace(&group("near", ""), &group("near", near))
                .replace("start = \"30 s\"\ntcp = { ecn = true }", &format!("tcp = {{ ecn = true{far} }}"));
            let study = Study::parse(&text, "mixed.toml", &Plugins::new()).unwrap();
            Bottleneck::of_point(&study.points[0], None, None, 1, &Plugins::new())
        };
        let dctcp = ", congestion = \"dctcp\", recovery = \"sack\", feedback = \"exact\"";
        let seen = see(dctcp, "").unwrap();
        // Two kinds of senders are two populations.
        assert_eq!(seen.network.congestion.name(), "reno");
        let scalables = seen.network.scalables.unwrap();
        assert_eq!((scalables.from, scalables.congestion.name()), (1, "dctcp"));
        let flows: Vec<f64> = seen.network.classes.iter().map(|c| c.flows).collect();
        assert_eq!(flows, [10.0, 30.0]);
        assert!(seen.left_out.iter().all(|l| !l.contains("congestion control")), "{:?}", seen.left_out);
        let seen = see(", congestion = \"cubic\"", "").unwrap();
        assert_eq!(
            seen.left_out[0],
            "10 of 40 flows have another congestion control (10 reno); the model gives all of them the law of cubic, \
             which most have"
        );
        let bbr = "tcp = { congestion = \"bbr3\", recovery = \"rack\", pacing = true }";
        let mixed = |near: u32| {
            let text = MIXED
                .replace("count = 30", &format!("count = {near}"))
                .replace("start = \"30 s\"\ntcp = { ecn = true }", bbr);
            let study = Study::parse(&text, "mixed.toml", &Plugins::new()).unwrap();
            Bottleneck::of_point(&study.points[0], None, None, 1, &Plugins::new())
        };
        assert_eq!(
            mixed(30).unwrap().left_out[0],
            "10 of 40 flows have another congestion control (10 bbr3, which has no law of this kind); the model gives \
             all of them the law of reno, which most have"
        );
        let tie = mixed(10).unwrap();
        assert_eq!(tie.network.congestion.name(), "reno");
        assert!(
            tie.left_out[0].ends_with("which comes first in the scenario among the equally frequent"),
            "{tie:?}"
        );
        assert!(mixed(9).unwrap_err().to_string().contains("10 of the 19 long-lived flows"));
        let half = see(&format!("{dctcp}, delayed_ack = \"40 ms\""), "").unwrap().network.scalables.unwrap();
        assert_eq!(half.congestion, Congestion::named("dctcp").unwrap().growing(0.5));
        for (every, growth) in [(1, 1.0), (8, 0.125)] {
            let text = format!("{dctcp}, delayed_ack = \"40 ms\", ack_every = {every}");
            let found = see(&text, "").unwrap().network.scalables.unwrap().congestion;
            assert_eq!(found, Congestion::named("dctcp").unwrap().growing(growth));
        }
        let rounded = see(&format!("{dctcp}, growth = \"whole-packets\""), "").unwrap();
        assert!(rounded.left_out.iter().any(|note| note.contains("in 1024ths")), "{:?}", rounded.left_out);
        let cubic = ", congestion = \"cubic\"";
        let seen = see(cubic, cubic).unwrap();
        assert_eq!(seen.network.congestion.name(), "cubic");
        assert_eq!(seen.left_out.len(), 2, "{:?}", seen.left_out);
        let seen = see(&format!("{cubic}, delayed_ack = \"40 ms\""), cubic).unwrap();
        assert!(
            seen.left_out[0].starts_with("30 of 40 receivers delay acknowledgments"),
            "{:?}",
            seen.left_out
        );
        let e = see(", congestion = \"ledbat\"", "").unwrap_err().to_string();
        assert!(
            e.contains("30 of the 40 long-lived flows over the link bottleneck: congestion = \"ledbat\": "),
            "{e}"
        );
        assert!(e.contains("holds the measured delay"), "{e}");
    }

    /// Many different round-trip times become few classes with the same flows and the same mean.
    #[test]
    fn round_trip_times_are_grouped() {
        let rtts: Vec<f64> = (0..1000).map(|i| 0.05 + 0.0001 * i as f64).collect();
        let mean = rtts.iter().sum::<f64>() / 1000.0;
        let classes = grouped(rtts, MOST_CLASSES);
        assert_eq!(classes.len(), MOST_CLASSES);
        assert_eq!(classes.iter().map(|c| c.flows).sum::<f64>(), 1000.0);
        let grouped_mean = classes.iter().map(|c| c.flows * c.propagation).sum::<f64>() / 1000.0;
        assert!((grouped_mean - mean).abs() < 1e-12);
    }
}
