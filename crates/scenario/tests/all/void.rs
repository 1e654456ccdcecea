//! A setting that another one makes void is noted: each key of `tcp`, of a link and of each algorithm is changed, alone
//! and beside each other key's value, and where no packet of several short runs fares otherwise, a note names the key
//! and the one that makes it void. The keys come from the catalogs and from the schema.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use quell_aqm::Link;
use quell_aqm::catalog::{AqmConfig, CATALOG};
use quell_aqm::params::ParamDoc;
use quell_scenario::{Plugins, Point, Scenario, Study};
use quell_sim::network::{Network, Traffic};
use quell_sim::{Control, Engine, run};
use quell_tcp::TcpParams;
use quell_units::{BitRate, Bytes, QueueSize};
use toml::{Table, Value};

/// A setting without effect of which nothing need be said: beginnings of its case, of the setting and of the one beside
/// it ("" is any; "alone" is none), and the reason.
type Excuse = (&'static str, &'static str, &'static str, &'static str);

const LIMIT: &str = "a limit of so few packets signals before the algorithm does";
const LOW: &str = "a threshold below a packet signals whatever the others say";
const COURSE: &str = "the runs have no course in which that bound is reached";
const LONGER: &str = "it needs a longer run";
const OWN: &str = "it is what the other one gives";

const EXCUSED: &[Excuse] = &[
    ("tcp", "tcp.initial_ssthresh", "tcp.max_window", "a threshold at the largest window ends nothing"),
    ("tcp", "tcp.slow_start", "tcp.max_window", "HyStart looks at larger windows"),
    ("tcp", "tcp.slow_start = \"hystart\"", "tcp.initial_ssthresh", "HyStart looks again after a timeout"),
    ("tcp", "tcp.codepoint = \"ect1\"", "tcp.congestion = \"prague\"", OWN),
    ("tcp", "tcp.initial_rto", "tcp.syn = false", "the first packets are answered before any timeout"),
    ("tcp", "tcp.sack_delay", "tcp.max_window", "a small window has no fourth acknowledgment of a gap"),
    ("tcp", "tcp.send_quantum", "tcp.max_window", "two packets may leave together in any case"),
    ("tcp", "tcp.recovery", "tcp.ledbat_gain", "a window that hardly grows loses a packet at a time"),
    (
        "tcp 1",
        "tcp.feedback = \"exact\"",
        "alone",
        "three bits tell as much where few acknowledgments are lost",
    ),
    ("ap-red", "aqm.max_flows", "alone", "the runs have fewer flows"),
    ("ap-red", "", "", "max_p follows from measurements, and is the same in short runs"),
    ("ared", "aqm.max_p_bottom", "", COURSE),
    ("ared", "aqm.max_p_top", "", COURSE),
    ("ared-dt", "aqm.min_th_", "", COURSE),
    ("ared", "", "aqm.min_th = \"600 B\"", LOW),
    ("avq", "", "aqm.buffer = \"600 B\"", LOW),
    ("avq", "aqm.input_rate", "aqm.unmarkable", "nothing is dropped of what is offered"),
    ("cake", "aqm.layer", "", "a packet to which nothing is added has the bytes that it has"),
    ("cake", "aqm.mpu", "alone", "no packet of the runs is shorter"),
    ("cake", "aqm.hash_key", "", "so few flows seldom share a queue"),
    ("cake", "aqm.statistics", "", "they tell, and decide nothing"),
    ("cake", "aqm.ack_filter", "", "no acknowledgments of the runs go over that link"),
    ("cake", "aqm.wash", "", "no packet of the runs has a DSCP"),
    ("cobalt", "aqm.p_dec", "aqm.interval", COURSE),
    ("codel", "aqm.on_empty", "alone", COURSE),
    ("codel", "aqm.mtu", "aqm.interval", COURSE),
    ("sfq", "aqm.longest", "aqm.depth", LIMIT),
    ("curvy-red", "", "aqm.limit", LIMIT),
    ("curvy-red", "aqm.coupling", "aqm.curviness", "the ramp is flat below its end"),
    ("curvy-red", "aqm.step", "aqm.coupling", "the coupled ramp marks first"),
    ("docsis-pie", "aqm.reset_after", "", COURSE),
    ("dualpi2", "aqm.beta", "aqm.rtt_max", OWN),
    ("dualpi2", "", "aqm.limit = \"5 ms\"", LIMIT),
    ("dualpi2", "aqm.min_th", "", "the L queue of one flow is marked by the coupling, and seldom so long"),
    ("dualpi2", "aqm.range", "aqm.th_len", "no more than eight packets wait in the L queue"),
    ("e-red", "", "aqm.vq_max = \"600 B\"", LOW),
    ("feng-ared", "aqm.max_p_top", "", COURSE),
    ("fq-codel", "aqm.memory_limit", "alone", "the link's buffer holds less"),
    ("fq-codel", "", "aqm.limit = 3", LIMIT),
    ("fq-codel", "aqm.on_empty", "aqm.rules", COURSE),
    ("fq-pie", "aqm.memory_limit", "alone", "the link's buffer holds less"),
    ("fq-pie", "", "aqm.limit = 3", LIMIT),
    ("fred", "", "aqm.min_th = \"600 B\"", LOW),
    ("fred", "", "aqm.rtt = \"2 ms\"", LOW),
    ("hred", "aqm.min_p_floor", "", COURSE),
    ("link", "dumbbell.reverse.aqm", "dumbbell.reverse.buffer", LIMIT),
    ("link", "dumbbell.reverse.delay", "dumbbell.delay", OWN),
    ("pie", "aqm.", "aqm.scheme", OWN),
    ("pie", "dumbbell.ecn", "aqm.scheme = \"basic\"", "the basic scheme marks nothing"),
    ("sfb", "aqm.penalty_", "alone", "no flow of the runs overwhelms its bins"),
    ("sfb", "aqm.rehash_interval", "alone", LONGER),
    ("sfb", "aqm.warmup", "alone", LONGER),
    ("sfq-red", "", "aqm.depth = 3", LIMIT),
    ("sred", "aqm.law", "aqm.alpha", COURSE),
    ("st-pi", "", "alone", LONGER),
    ("st-pi", "aqm.time_constant", "aqm.initial_p", LONGER),
    ("st-red", "", "", LONGER),
    ("wred", "dumbbell.ecn", "aqm.lowest", "every signal is a drop where the probability is 1"),
];

/// Keys of which no other value is sound alone.
const UNTRIED: &[(&str, &str, &str)] = &[
    ("red", "design", "a table"),
    ("pi", "design", "a table"),
    ("wred", "classes", "a list of tables"),
    ("red+tail", "vq2", "a table"),
    ("vrc", "", "its gains are given together, or computed"),
    ("st-pi", "q_ref_max", "it has to lie between the buffer and q_ref_min, which is near"),
];

#[derive(Clone, Debug, PartialEq)]
struct Setting {
    table: &'static str,
    key: String,
    value: Value,
    /// A value that has nothing to do with the default: it is tried where those that do have no effect.
    far: bool,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{} = {}", self.table, self.key, self.value)
    }
}

/// A table whose keys are changed: its settings, what becomes of packets with some of them, and what is noted then.
struct Case<'a> {
    name: String,
    settings: Vec<Setting>,
    /// Runs in all; the first of them are short.
    runs: usize,
    short: usize,
    /// The digest of a run; `None` if such settings are refused.
    #[allow(clippy::type_complexity)]
    digest: Box<dyn Fn(usize, &[&Setting]) -> Option<u64> + Sync + 'a>,
    #[allow(clippy::type_complexity)]
    notes: Box<dyn Fn(&[&Setting]) -> Vec<String> + Sync + 'a>,
    /// Values of each key.
    values: usize,
}

impl Case<'_> {
    fn digests(&self, with: &[&Setting]) -> Option<Vec<u64>> {
        (0..self.short).map(|run| (self.digest)(run, with)).collect()
    }

    /// True if a setting has an effect beside others in one of the longer runs.
    fn has_effect_later(&self, one: &Setting, others: &[&Setting]) -> bool {
        let mut with = others.to_vec();
        with.push(one);
        (self.short..self.runs)
            .any(|run| (self.digest)(run, &with).is_some_and(|d| Some(d) != (self.digest)(run, others)))
    }

    /// The values of each key that have an effect alone, and what becomes of packets then; of a key that has none, one
    /// without.
    fn probes(&self, base: &[u64]) -> Vec<(&Setting, Vec<u64>)> {
        let mut keys: Vec<(&str, &str)> = self.settings.iter().map(|s| (s.table, s.key.as_str())).collect();
        keys.dedup();
        let mut probes = Vec::new();
        for (table, key) in keys {
            let mut found: Vec<(&Setting, Vec<u64>)> = Vec::new();
            let mut without: Vec<&Setting> = Vec::new();
            for setting in self.settings.iter().filter(|s| s.table == table && s.key == key) {
                if found.len() == self.values || (setting.far && !found.is_empty()) {
                    break;
                }
                let Some(digests) = self.digests(&[setting]) else { continue };
                if digests != base && found.iter().all(|(_, known)| *known != digests) {
                    found.push((setting, digests));
                } else if digests == base {
                    without.push(setting);
                }
            }
            // One that has an effect later, if one does.
            let later = || without.iter().find(|setting| self.has_effect_later(setting, &[]));
            if let (true, Some(setting)) = (found.is_empty(), later().or(without.first())) {
                found.push((setting, base.to_vec()));
            }
            probes.append(&mut found);
        }
        probes
    }

    /// Everything that is void and not noted, and the numbers of the excuses that were needed.
    fn faults(&self, excused: &Mutex<BTreeSet<usize>>) -> Vec<String> {
        let base = self.digests(&[]).expect("the case is sound");
        let probes = self.probes(&base);
        let mut faults = Vec::new();
        let mut check = |one: &Setting, others: &[&Setting]| {
            let beside = others.first().map_or("alone".to_string(), |other| other.to_string());
            let is_excuse = |(case, key, other, _): &Excuse| {
                self.name.starts_with(case) && one.to_string().starts_with(key) && beside.starts_with(other)
            };
            if let Some(i) = EXCUSED.iter().position(is_excuse) {
                excused.lock().unwrap().insert(i);
                return;
            }
            let mut with = others.to_vec();
            with.push(one);
            let named = |note: &String| {
                note.contains(&one.key) && others.iter().all(|other| note.contains(&other.key))
            };
            if (self.notes)(&with).iter().any(named) || self.has_effect_later(one, others) {
                return;
            }
            faults.push(format!("{}: {one} has no effect, {beside}, and no note says so", self.name));
        };
        for (i, (one, digests)) in probes.iter().enumerate() {
            if *digests == base {
                check(one, &[]);
            }
            for (other, other_digests) in &probes[..i] {
                if (one.table, &one.key) == (other.table, &other.key) {
                    continue;
                }
                let (mut same, mut other_same) = (*digests != base, *other_digests != base);
                for run in 0..self.short {
                    let Some(digest) = (self.digest)(run, &[other, one]) else {
                        (same, other_same) = (false, false);
                        break;
                    };
                    // One has no effect beside the other if the other alone does as much.
                    same &= digest == other_digests[run];
                    other_same &= digest == digests[run];
                    if !same && !other_same {
                        break;
                    }
                }
                if same {
                    check(one, &[other]);
                }
                if other_same {
                    check(other, &[one]);
                }
            }
        }
        faults
    }
}

/// Checks cases on all cores; `kinds` are the beginnings of the excuses' cases that must be needed.
fn check(cases: &[Case<'_>], is_of: impl Fn(&str) -> bool) {
    let (next, excused, faults) = (AtomicUsize::new(0), Mutex::default(), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = case.faults(&excused);
            faults.lock().unwrap().extend(found);
        }
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        (0..cores).for_each(|_| drop(scope.spawn(work)));
    });
    let mut faults: Vec<String> = faults.into_inner().unwrap();
    faults.sort();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    let excused = excused.into_inner().unwrap();
    let idle: Vec<&Excuse> = (0..EXCUSED.len())
        .filter(|i| is_of(EXCUSED[*i].0) && !excused.contains(i))
        .map(|i| &EXCUSED[i])
        .collect();
    assert!(idle.is_empty(), "these excuses excuse nothing: {idle:?}");
}

/// A number and its unit.
fn number(text: &str) -> Option<(f64, &str)> {
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | 'e' | '-'))).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim()))
}

/// Values that a key may have, as far as `reads` takes them: first the names, and what is near the default; those far
/// from it come with `true`.
fn values(doc: &ParamDoc, reads: impl Fn(&Value) -> Result<(), String>) -> Vec<(Value, bool)> {
    let text = |s: &str| Value::from(s);
    let mut all: Vec<Value> = match doc.default.as_str() {
        "true" => vec![false.into()],
        "false" => vec![true.into()],
        _ => Vec::new(),
    };
    // The error of a wrong name lists the right ones.
    if let (true, Err(error)) = (doc.unit == "name", reads(&text("?"))) {
        let list = error.split("expected").nth(1).unwrap_or_default().to_string();
        all.extend(list.split('`').skip(1).step_by(2).map(text));
    }
    if let Some((x, unit)) = number(&doc.default) {
        for y in [x * 2.0, x * 0.5, x * 1.25, x * 8.0, x * 0.1, x * 0.02, 0.0] {
            match unit {
                "" if doc.default.contains(['.', 'e']) => all.push(y.into()),
                "" => all.extend([Value::from(y.round() as i64), y.into()]),
                _ => all.extend([format!("{y} {unit}"), format!("{} {unit}", y.round())].map(Value::from)),
            }
        }
    }
    let near = all.len();
    let texts = [
        "50 ms",
        "700 ms",
        "1 ms",
        "600 B",
        "40 B",
        "4 packets",
        "20 packets",
        "100 packets",
        "100 kB",
        "1 Mbit/s",
        "none",
    ];
    all.extend(texts.map(text));
    all.extend([3, 6, 40, 46, 0].map(Value::from));
    all.extend([0.5, 0.05, 0.001, 1.0].map(Value::from));
    all.extend([true, false].map(Value::from));
    let all = all.into_iter().enumerate().map(|(i, value)| (value, i >= near));
    all.filter(|(value, _)| reads(value).is_ok()).collect()
}

/// The settings of a table with such keys: `reads` is what they mean.
fn settings(
    docs: &[ParamDoc],
    table: &'static str,
    reads: impl Fn(&Table) -> Result<String, String>,
) -> Vec<Setting> {
    let plain = reads(&Table::new()).unwrap();
    let mut all = Vec::new();
    for doc in docs {
        let with = |value: &Value| Table::from_iter([(doc.name.to_string(), value.clone())]);
        let mut seen = BTreeSet::from([plain.clone()]);
        let found = values(doc, |value| reads(&with(value)).map(drop));
        let fresh = found.into_iter().filter(|(value, _)| seen.insert(reads(&with(value)).unwrap()));
        all.extend(fresh.map(|(value, far)| Setting { table, key: doc.name.into(), value, far }));
    }
    all
}

fn study(scenario: &Table) -> Study {
    Study::parse(&toml::to_string(scenario).unwrap(), "x.toml", &Plugins::new()).unwrap()
}

fn points(scenarios: &[&str]) -> Vec<Point> {
    scenarios.iter().map(|text| study(&text.parse().unwrap()).points.remove(0)).collect()
}

fn network(point: &Point) -> Network {
    point.plan(0, 1, &Plugins::new()).unwrap().network
}

fn digest(network: Network) -> u64 {
    run(network, Engine::Fast, &Control::default()).unwrap().digest
}

/// Losses on the way there and back, marks, silences of the link, and a slow start into an empty buffer; then, longer,
/// many flows, small windows, many losses, and a host's own link that is the slowest.
const OF_TCP: &[&str] = &[
    r#"
        schema = 1
        duration = "4 s"
        mean_packet = "1000 B"
        dumbbell = { rate = "3 Mbit/s", delay = "10 ms", buffer = "12 packets", ecn = true, reverse.loss = 0.02 }
        aqm = [{ algorithm = "drop-tail" }]
        flows = [{ name = "ftp", count = 2, rtt = "60 ms" }]
    "#,
    r#"
        schema = 1
        duration = "4 s"
        mean_packet = "1000 B"
        dumbbell = { rate = "3 Mbit/s", delay = "10 ms", buffer = "60 packets", ecn = true, loss = 0.01 }
        aqm = [{ algorithm = "red", max_p = 0.2, weight = 0.05 }]
        flows = [{ name = "ftp", count = 2, rtt = "60 ms" }]
    "#,
    r#"
        schema = 1
        duration = "15 s"
        mean_packet = "1000 B"
        aqm = [{ algorithm = "red", max_p = 0.2, weight = 0.05  }]
        flows = [{ name = "ftp", kind = "transfers", size = "30 kB", think = "5 ms", rtt = "60 ms" }]
        [dumbbell]
        rate = "2 Mbit/s"
        delay = "10 ms"
        buffer = "20 packets"
        ecn = true
        loss = 0.05
        changes = [["0 s", "0 bit/s"], ["1.5 s", "2 Mbit/s"], ["3 s", "0 bit/s"], ["10 s", "2 Mbit/s"]]
    "#,
    r#"
        schema = 1
        duration = "5 s"
        mean_packet = "1000 B"
        dumbbell = { rate = "20 Mbit/s", delay = "10 ms", buffer = "200 packets", ecn = true }
        aqm = [{ algorithm = "drop-tail" }]
        flows = [{ name = "ftp", rtt = "40 ms" }]
    "#,
    r#"
        schema = 1
        duration = "40 s"
        mean_packet = "1000 B"
        dumbbell = { rate = "10 Mbit/s", delay = "10 ms", buffer = "60 packets", ecn = true, loss = 0.002 }
        aqm = [{ algorithm = "red" }]
        flows = [{ name = "ftp", count = 3, rtt = "20 ms" }]
    "#,
    r#"
        schema = 1
        duration = "60 s"
        mean_packet = "1000 B"
        dumbbell = { rate = "1 Mbit/s", delay = "10 ms", buffer = "20 packets", ecn = true }
        aqm = [{ algorithm = "red" }]
        [[flows]]
        name = "ftp"
        count = 20
        rtt = "100 ms"
        [[flows]]
        name = "web"
        kind = "transfers"
        count = 4
        size = "20 kB"
        think = "100 ms"
        rtt = "300 ms"
    "#,
    r#"
        schema = 1
        duration = "30 s"
        mean_packet = "1000 B"
        dumbbell = { rate = "2 Mbit/s", delay = "10 ms", buffer = "200 packets", ecn = true, loss = 0.2 }
        aqm = [{ algorithm = "red" }]
        flows = [{ name = "ftp", count = 3, rtt = "100 ms" }]
    "#,
    r#"
        schema = 1
        duration = "10 s"
        mean_packet = "1000 B"
        dumbbell = { rate = "20 Mbit/s", delay = "10 ms", buffer = "200 packets", ecn = true }
        aqm = [{ algorithm = "drop-tail" }]
        flows = [{ name = "ftp", rtt = "60 ms", access_rate = "2 Mbit/s" }]
    "#,
];

/// What the keys are changed in: between them each key has an effect.
const CONTEXTS: &[&str] = &[
    "",
    "delayed_ack = \"40 ms\"\necn = true\nfeedback = \"accecn\"\nrecovery = \"rack\"\npacing = true",
    "recovery = \"prr\"\ncongestion = \"cubic\"\necn = true\ndelayed_ack = \"40 ms\"",
    "congestion = \"ledbat\"",
    "recovery = \"rack\"\nsend_quantum = \"1 ms\"",
];

#[test]
fn a_void_key_of_tcp_is_noted() {
    let points = points(OF_TCP);
    let read = |table: &Table| Value::Table(table.clone()).try_into::<TcpParams>();
    let meaning = |table: &Table| read(table).map(|tcp| format!("{tcp:?}")).map_err(|e| e.to_string());
    let all = settings(&TcpParams::docs(), "tcp.", meaning);
    let case = |(i, context): (usize, &&str)| {
        let context: Table = context.parse().unwrap();
        let (plain, points) = (meaning(&context).unwrap(), &points);
        let mix = move |with: &[&Setting]| {
            let mut table = context.clone();
            table.extend(with.iter().map(|s| (s.key.clone(), s.value.clone())));
            table
        };
        let noted = mix.clone();
        let settings =
            all.iter().filter(|s| meaning(&mix(&[s])).is_ok_and(|m| m != plain)).cloned().collect();
        Case {
            name: format!("tcp {i}"),
            settings,
            runs: points.len(),
            short: 4,
            values: 3,
            digest: Box::new(move |run, with| {
                let params = read(&mix(with)).ok().filter(|tcp| tcp.check().is_ok())?;
                let mut network = network(&points[run]);
                for flow in &mut network.flows {
                    if let Traffic::Tcp { tcp, .. } = &mut flow.traffic {
                        *tcp = params.clone();
                    }
                }
                Some(digest(network))
            }),
            notes: Box::new(move |with| {
                let mut scenario: Table = OF_TCP[0].parse().unwrap();
                let flows = scenario["flows"][0].as_table_mut().unwrap();
                flows.insert("tcp".into(), Value::Table(noted(with)));
                study(&scenario).notes()
            }),
        }
    };
    let cases: Vec<Case<'_>> = CONTEXTS.iter().enumerate().map(case).collect();
    for doc in TcpParams::docs() {
        let has_effect = |case: &Case<'_>| {
            let base = case.digests(&[]);
            let mut values = case.settings.iter().filter(|s| s.key == doc.name);
            values.any(|s| {
                let digests = case.digests(&[s]);
                digests.is_some() && (digests != base || case.has_effect_later(s, &[]))
            })
        };
        assert!(cases.iter().any(has_effect), "{}: no value of it has an effect anywhere", doc.name);
    }
    check(&cases, |case| case.starts_with("tcp"));
}

/// Flows of all kinds at a middling load; more UDP than the link carries; a rate that falls. Then, longer, many flows, a
/// standing overload, and a fast link.
const OF_AQM: &[&str] = &[
    r#"
        schema = 1
        duration = "4 s"
        mean_packet = "1000 B"
        dumbbell = { rate = "5 Mbit/s", delay = "10 ms", buffer = "60 packets", ecn = true }
        aqm = [{ algorithm = "drop-tail" }]
        [[flows]]
        name = "reno"
        count = 2
        rtt = "60 ms"
        [[flows]]
        name = "ecn"
        count = 2
        rtt = "40 ms"
        dscp = 10
        tcp.ecn = true
        [[flows]]
        name = "udp"
        kind = "udp"
        rate = "200 kbit/s"
        packet = "200 B"
        dscp = 46
        [[flows]]
        name = "l4s"
        rtt = "30 ms"
        tcp = { congestion = "prague", ecn = true, feedback = "accecn", pacing = true, recovery = "rack" }
    "#,
    r#"
        schema = 1
        duration = "2 s"
        mean_packet = "1000 B"
        dumbbell = { rate = "2 Mbit/s", delay = "5 ms", buffer = "30 packets", ecn = true }
        aqm = [{ algorithm = "drop-tail" }]
        [[flows]]
        name = "udp"
        kind = "udp"
        rate = "2.5 Mbit/s"
        packet = "1000 B"
        ecn = true
        [[flows]]
        name = "udp2"
        kind = "udp"
        rate = "1 Mbit/s"
        packet = "300 B"
        dscp = 8
        [[flows]]
        name = "ftp"
        kind = "transfers"
        size = "40 kB"
        think = "20 ms"
        rtt = "30 ms"
        tcp.ecn = true
    "#,
    r#"
        schema = 1
        duration = "4 s"
        mean_packet = "1000 B"
        dumbbell = { rate = "8 Mbit/s", delay = "10 ms", buffer = "100 packets", ecn = true, changes = [["2 s", "1 Mbit/s"]] }
        aqm = [{ algorithm = "drop-tail" }]
        [[flows]]
        name = "ecn"
        count = 8
        rtt = "60 ms"
        tcp.ecn = true
        [[flows]]
        name = "web"
        kind = "transfers"
        count = 5
        size = "30 kB"
        think = "100 ms"
        rtt = "30 ms"
    "#,
    r#"
        schema = 1
        duration = "20 s"
        mean_packet = "1000 B"
        dumbbell = { rate = "4 Mbit/s", delay = "10 ms", buffer = "200 packets", ecn = true }
        aqm = [{ algorithm = "drop-tail" }]
        [[flows]]
        name = "reno"
        count = 20
        rtt = "60 ms"
        [[flows]]
        name = "ecn"
        count = 20
        rtt = "40 ms"
        start = "3 s"
        dscp = 10
        tcp.ecn = true
        [[flows]]
        name = "udp"
        kind = "udp"
        rate = "200 kbit/s"
        packet = "200 B"
        dscp = 46
        ecn = true
        [[flows]]
        name = "l4s"
        rtt = "30 ms"
        tcp = { congestion = "prague", ecn = true, feedback = "accecn", pacing = true, recovery = "rack" }
    "#,
    r#"
        schema = 1
        duration = "15 s"
        mean_packet = "1000 B"
        dumbbell = { rate = "1 Mbit/s", delay = "10 ms", buffer = "300 packets", ecn = true, changes = [["10 s", "10 Mbit/s"]] }
        aqm = [{ algorithm = "drop-tail" }]
        [[flows]]
        name = "udp"
        kind = "udp"
        rate = "3 Mbit/s"
        packet = "1000 B"
        ecn = true
        stop = "10 s"
        [[flows]]
        name = "udp2"
        kind = "udp"
        rate = "1 Mbit/s"
        packet = "700 B"
        [[flows]]
        name = "ftp"
        rtt = "30 ms"
        tcp.ecn = true
    "#,
    r#"
        schema = 1
        duration = "20 s"
        mean_packet = "1000 B"
        dumbbell = { rate = "20 Mbit/s", delay = "2 ms", buffer = "400 packets", ecn = true }
        aqm = [{ algorithm = "drop-tail" }]
        [[flows]]
        name = "reno"
        count = 4
        rtt = "10 ms"
        [[flows]]
        name = "ecn"
        count = 2
        rtt = "100 ms"
        tcp.ecn = true
    "#,
];

#[test]
fn a_void_parameter_of_an_algorithm_is_noted() {
    let points = points(OF_AQM);
    let mean_packet = Bytes::new(1000);
    let link = Link { rate: BitRate::from_bps(5_000_000), buffer: QueueSize::Packets(60.0), mean_packet };
    let mut cases = Vec::new();
    let mut untried = Vec::new();
    for entry in CATALOG {
        let config = |table: &Table| -> Result<AqmConfig, String> {
            let read = AqmConfig::deserialize_named(entry.name, Value::Table(table.clone()));
            read.unwrap().map_err(|e| e.to_string())
        };
        let given = |with: &[&Setting]| {
            let own = with.iter().filter(|s| s.table == "aqm.");
            own.map(|s| (s.key.clone(), s.value.clone())).collect::<Table>()
        };
        let meaning = |table: &Table| config(table).map(|config| format!("{config:?}"));
        let mut settings = settings(&(entry.params)(), "aqm.", meaning);
        settings.retain(|s| config(&given(&[s])).unwrap().build(&link).is_ok());
        let tried = |doc: &ParamDoc| settings.iter().any(|s| s.key == doc.name);
        untried.extend((entry.params)().iter().filter(|doc| !tried(doc)).map(|doc| (entry.name, doc.name)));
        settings.push(Setting { table: "dumbbell.", key: "ecn".into(), value: false.into(), far: false });
        let marks = |with: &[&Setting]| with.iter().all(|s| s.table != "dumbbell.");
        let points = &points;
        cases.push(Case {
            name: entry.name.into(),
            settings,
            runs: points.len(),
            short: 3,
            values: 2,
            digest: Box::new(move |run, with| {
                let config = config(&given(with)).ok()?;
                let mut network = network(&points[run]);
                let at = network.links.iter_mut().find(|l| l.name == "bottleneck").unwrap();
                let queue = at.queue.as_mut().unwrap();
                let link = Link { rate: at.rate.initial, buffer: queue.buffer, mean_packet };
                (queue.algorithm, queue.ecn) = (config.build(&link).ok()?, marks(with));
                Some(digest(network))
            }),
            notes: Box::new(move |with| {
                let mut scenario: Table = OF_AQM[0].parse().unwrap();
                let aqm = scenario["aqm"][0].as_table_mut().unwrap();
                aqm.insert("algorithm".into(), entry.name.into());
                aqm.extend(given(with));
                scenario["dumbbell"].as_table_mut().unwrap().insert("ecn".into(), marks(with).into());
                study(&scenario).notes()
            }),
        });
    }
    let known = |(name, key): &(&str, &str)| {
        UNTRIED.iter().any(|(n, k, _)| name.starts_with(n) && key.starts_with(k))
    };
    untried.retain(|of| !known(of));
    assert!(untried.is_empty(), "this test must know a value for {untried:?}");
    check(&cases, |case| !case.starts_with("tcp") && !case.starts_with("link"));
}

/// Values of a link's keys; a key without one is refused by the test.
const OF_LINK: &[(&str, &[&str])] = &[
    ("rate", &["\"2 Mbit/s\"", "\"7 Mbit/s\""]),
    ("delay", &["\"30 ms\""]),
    ("buffer", &["\"20 packets\"", "\"200 packets\""]),
    ("ecn", &["true", "false"]),
    ("loss", &["0.02", "{ mean = 0.02, burst = 3 }"]),
    ("jitter", &["{ size = \"5 ms\" }", "{ size = \"5 ms\", reorder = true }"]),
    ("duplicate", &["0.05"]),
    (
        "handovers",
        &[
            "{ every = \"1 s\", delay = { uniform = [\"0 ms\", \"15 ms\"] } }",
            "{ every = \"1 s\", first = \"400 ms\", outage = \"100 ms\" }",
        ],
    ),
    ("shaper", &["{ rate = \"2 Mbit/s\", burst = \"3 kB\" }", "{ rate = \"9 Mbit/s\", burst = \"3 kB\" }"]),
    (
        "classes",
        &[
            "[{ name = \"first\", match = { group = \"there\" } }, { name = \"rest\", priority = 1 }]",
            "[{ name = \"first\", rate = \"3 Mbit/s\", match = { group = \"there\" } }, { name = \"rest\" }]",
        ],
    ),
    (
        "cell",
        &[
            "{ users = [{ name = \"first\", match = { group = \"there\" } }, { name = \"rest\" }] }",
            "{ scheduler = \"max-rate\", users = [{ name = \"first\", rate = \"3 Mbit/s\", match = { group = \"there\" } }, { \
             name = \"rest\" }] }",
        ],
    ),
    (
        "wifi",
        &[
            "{ stations = [{ name = \"all\", rate = \"4 Mbit/s\" }] }",
            "{ queues = \"one\", stations = [{ name = \"all\", rate = \"4 Mbit/s\" }] }",
            "{ standard = \"802.11a\", stations = [{ name = \"all\", rate = \"4 Mbit/s\" }] }",
        ],
    ),
    ("access_rate", &["\"20 Mbit/s\"", "\"3 Mbit/s\"", "\"none\""]),
    ("changes", &["[[\"1 s\", \"1 Mbit/s\"]]"]),
    ("reverse.aqm", &["{ algorithm = \"fq-codel\" }", "{ algorithm = \"sfq\" }", "\"same\""]),
    ("reverse.buffer", &["\"4 packets\""]),
    ("reverse.rate", &["\"500 kbit/s\""]),
    ("reverse.delay", &["\"30 ms\""]),
    ("reverse.ecn", &["true", "false"]),
    ("reverse.loss", &["0.05"]),
    ("reverse.jitter", &["{ size = \"3 ms\" }"]),
    ("reverse.duplicate", &["0.1"]),
    ("reverse.handovers", &["{ every = \"1 s\", outage = { uniform = [\"50 ms\", \"200 ms\"] } }"]),
    ("reverse.shaper", &["{ rate = \"500 kbit/s\", burst = \"3 kB\" }"]),
    (
        "reverse.classes",
        &["[{ name = \"first\", match = { group = \"back\" } }, { name = \"rest\", priority = 1 }]"],
    ),
    (
        "reverse.cell",
        &[
            "{ interval = \"20 ms\", users = [{ name = \"first\", match = { group = \"back\" } }, { name = \"rest\" }] }",
        ],
    ),
    ("reverse.changes", &["[[\"1 s\", \"200 kbit/s\"]]"]),
];

/// The keys of a definition of the schema.
fn keys_of(definition: &str) -> Vec<String> {
    let schema = Scenario::json_schema();
    let properties = schema["$defs"][definition]["properties"].as_object().expect("it is in the schema");
    properties.keys().cloned().collect()
}

#[test]
fn a_void_key_of_a_link_is_noted() {
    let keys = keys_of("Dumbbell").into_iter().filter(|key| key != "reverse");
    let keys: Vec<String> =
        keys.chain(keys_of("Reverse").iter().map(|key| format!("reverse.{key}"))).collect();
    let known: Vec<&str> = OF_LINK.iter().map(|(key, _)| *key).collect();
    assert_eq!(keys, known, "this test must know values for each");
    let mut settings = Vec::new();
    for (key, values) in OF_LINK {
        let value = |text: &&str| format!("x = {text}").parse::<Table>().unwrap().remove("x").unwrap();
        let of_key = |value| Setting { table: "dumbbell.", key: key.to_string(), value, far: false };
        settings.extend(values.iter().map(value).map(of_key));
    }
    // Beside an algorithm that marks, and beside one that does not.
    let case = |(name, algorithm): (&str, &'static str)| {
        let scenario = move |with: &[&Setting], duration: &str| {
            let mut scenario: Table = r#"
                schema = 1
                mean_packet = "1000 B"
                dumbbell = { rate = "4 Mbit/s", delay = "10 ms", buffer = "60 packets" }
                flows = [
                    { name = "there", count = 3, rtt = "60 ms", tcp.ecn = true },
                    { name = "back", count = 3, rtt = "60 ms", direction = "reverse", tcp.ecn = true },
                ]
            "#
            .parse()
            .unwrap();
            scenario.insert("duration".into(), duration.into());
            let aqm = Table::from_iter([("algorithm".to_string(), Value::from(algorithm))]);
            scenario.insert("aqm".into(), Value::Array(vec![Value::Table(aqm)]));
            let link = scenario["dumbbell"].as_table_mut().unwrap();
            for setting in with {
                let value = setting.value.clone();
                match setting.key.strip_prefix("reverse.") {
                    None => drop(link.insert(setting.key.clone(), value)),
                    Some(key) => {
                        let reverse = link.entry("reverse").or_insert(Value::Table(Table::new()));
                        reverse.as_table_mut().unwrap().insert(key.into(), value);
                    }
                }
            }
            Study::parse(&toml::to_string(&scenario).unwrap(), "x.toml", &Plugins::new()).ok()
        };
        Case {
            name: name.into(),
            settings: settings.clone(),
            runs: 2,
            short: 1,
            values: 3,
            digest: Box::new(move |run, with| {
                let study = scenario(with, ["3 s", "30 s"][run])?;
                Some(digest(network(&study.points[0])))
            }),
            notes: Box::new(move |with| scenario(with, "3 s").unwrap().notes()),
        }
    };
    let cases: Vec<Case<'_>> =
        [("link that marks", "red"), ("link", "drop-tail")].into_iter().map(case).collect();
    check(&cases, |case| case.starts_with("link"));
}

/// Notes say the value, the reason and the fix; what a dialect gives is nobody's mistake.
#[test]
fn notes_on_what_is_void_say_why() {
    let notes = |dialect: &str, link: &str, aqm: &str, tcp: &str| {
        let text = format!(
            r#"
            schema = 1
            duration = "10 s"
            {dialect}
            dumbbell = {{ rate = "10 Mbit/s", delay = "10 ms", buffer = "100 packets", {link} }}
            aqm = [{{ {aqm} }}]
            flows = [{{ name = "ftp", rtt = "80 ms", tcp = {{ {tcp} }} }}]
            "#
        );
        Study::parse(&text, "x.toml", &Plugins::new()).unwrap_or_else(|e| panic!("{e}")).notes()
    };
    let forced = "algorithm = \"red\", forced = \"mark\"";
    let (marks, capable) = ("ecn = true", "ecn = true");
    assert_eq!(notes("", marks, forced, capable), [""; 0]);
    assert_eq!(
        notes("", "", forced, ""),
        [
            "red: forced = mark has no effect with ecn = false at the link because nothing is marked there; set ecn = \
             true"
        ]
    );
    assert_eq!(
        notes("", marks, forced, ""),
        [
            "red: forced = mark has no effect without ECN-capable flows because nothing is marked; set ecn = true for \
             some"
        ]
    );
    assert_eq!(
        notes("", marks, "algorithm = \"drop-tail\"", capable),
        [
            "bottleneck: ecn = true has no effect with drop-tail because nothing is marked; add one that marks, or \
             leave out ecn"
        ]
    );
    assert_eq!(
        notes("", "", "algorithm = \"red\"", "min_rto = \"2 ms\""),
        [
            "ftp: tcp.min_rto = \"2 ms\" has no effect with granularity = 10 ms because a timeout is at least 3 of \
             these; lower granularity, or set min_rto = 30 ms"
        ]
    );
    // Linux's threshold of sfq-red's marks and FQ-PIE's share are in its dialect.
    for algorithm in CATALOG {
        let name = format!("algorithm = \"{}\"", algorithm.name);
        let found = notes("dialect = \"linux\"", "", &name, "congestion = \"reno\"");
        let void: Vec<&String> = found.iter().filter(|note| note.contains("has no effect")).collect();
        assert!(void.is_empty(), "{}: {void:?}", algorithm.name);
    }
}
