//! A scenario with real packets: its algorithms and its traffic, one replication after the other in real time.
//!
//! What was measured comes from the log: its arrivals go through the simulator once more, with the same algorithm and
//! seed, which decides the same about each of them. So the figures of a live run are made by the code that makes
//! those of a simulated one, and both can be compared.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use quell_aqm::catalog::AqmConfig;
use quell_aqm::{Rng, Seed};
use quell_gateway::traffic::{
    App, Ask, Done, Draw, Flow, Kind, MOST_FLOWS, Traffic, Transferred, address, congestion_controls,
};
use quell_gateway::wire::{Side, Wire, WireConfig};
use quell_gateway::{ARRIVAL_COLUMNS, Change, Course, Delays, Event, LineConfig, LogReader, write_arrival};
use quell_lab::{FlowRow, Metric, MetricRow, Options, PointInfo, Replication, Results, TransferRow};
use quell_scenario::{Document, Files, FlowFact, FoundFile, Plan, Plugins, Point, Study};
use quell_sim::network::{self as sim, Connection, Distribution};
use quell_tcp::{CongestionControl, TcpParams};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

use super::Args;
use crate::args::Changes;
use crate::failure::Failure;
use crate::folder::{self, Place};
use crate::keep::{interrupted, keep};
use crate::selection::{self, Selection};
use crate::terminal::{self, Meter};
use crate::{interrupt, simulate};

/// A scenario that can be run live.
pub struct Live {
    study: Study,
}

/// How it is run.
#[derive(Default)]
pub struct How<'a> {
    /// Where arrivals and decisions are kept, with the replication in the name if there are several.
    pub log: Option<&'a Path>,
    /// Packet sockets even where TUN is allowed.
    pub packet_sockets: bool,
    /// No progress is shown.
    pub quiet: bool,
}

/// What came of it.
pub struct Measured {
    /// The results, of as many replications as were finished.
    pub results: Results,
    /// The 99th percentile of how late packets left the bottleneck, in seconds, in the worst replication.
    pub late_p99_s: f64,
    /// The kernel's load over a minute, averaged over the replications.
    pub load: f64,
    /// The logs that are kept.
    pub logs: Vec<PathBuf>,
}

/// One replication.
struct Job<'a> {
    index: usize,
    point: &'a Point,
    aqm: usize,
    label: String,
    seed: u64,
}

impl Live {
    /// Reads a scenario and refuses what no wire is.
    pub fn read(file: &Path, args: &Args) -> Result<Live, Failure> {
        let changes = Changes { set: args.set.clone(), sweep: Vec::new() };
        let one = args.seed.map(|seed| toml::Value::Array(vec![toml::Value::Integer(seed as i64)]));
        let seeds = one.or(args.seeds.map(|n| toml::Value::Integer(i64::from(n))));
        let (study, _) = simulate::changed(file, &changes, seeds)?;
        Live::of(study)
    }

    /// A study that was read, unless it is no wire.
    pub fn of(study: Study) -> Result<Live, Failure> {
        let live = Live { study };
        let known = congestion_controls();
        for job in live.jobs() {
            live_traffic(&job, &known)?;
        }
        Ok(live)
    }

    fn jobs(&self) -> Vec<Job<'_>> {
        let mut jobs = Vec::new();
        for (index, point) in self.study.points.iter().enumerate() {
            // Seed by seed, so that what the machine does meanwhile meets all algorithms.
            for seed in point.scenario.seeds.list() {
                for (aqm, choice) in point.scenario.aqm.iter().enumerate() {
                    jobs.push(Job { index, point, aqm, label: choice.label().to_string(), seed });
                }
            }
        }
        jobs
    }

    /// Runs everything and keeps the results.
    pub fn run(self, args: &Args, line: Vec<String>) -> Result<(), Failure> {
        let selection = Selection::of(&args.view)?;
        simulate::check_view(&selection, &self.study)?;
        let name = args
            .scenario
            .as_deref()
            .map_or("live".into(), |file| format!("{}-live", folder::name(&[file.to_path_buf()])));
        let place = Place::choose(args.out.as_deref(), &name, args.overwrite)?;
        let how = How { log: args.log.as_deref(), packet_sockets: args.packet_sockets, ..How::default() };
        let Measured { results, logs, .. } = self.measure(&how, line)?;
        show(place, &results, &selection, &logs)
    }

    /// Runs everything, one replication after the other.
    pub fn measure(&self, how: &How<'_>, line: Vec<String>) -> Result<Measured, Failure> {
        let known = congestion_controls();
        let jobs = self.jobs();
        let stop = interrupt::listen();
        let began = Instant::now();
        let started = std::time::SystemTime::now();
        let seconds = |job: &Job<'_>| job.point.scenario.duration.as_secs_f64();
        let total: f64 = jobs.iter().map(seconds).sum();
        let meter = Meter::new(how.quiet);
        let scratch = tempfile::tempdir().map_err(|e| Failure::cannot("make a temporary folder", e))?;
        let mut done = 0.0;
        let mut replications = Vec::new();
        let (mut info, mut logs) = (None, Vec::new());
        let (mut late_p99_s, mut loads) = (0.0f64, load());
        let log = |job: &Job| match how.log {
            Some(path) if jobs.len() == 1 => Some(path.to_path_buf()),
            Some(path) => Some(path.with_extension(format!("{}-{}-{}.log", job.index, job.label, job.seed))),
            None => None,
        };
        jobs.iter().filter_map(log).try_for_each(|log| super::log_is_free(&log))?;
        for (i, job) in jobs.iter().enumerate() {
            let show = |elapsed: f64| {
                // What is between replications takes as long as it did so far.
                let over = began.elapsed().as_secs_f64() - done - elapsed;
                let more = over / (done + elapsed).max(1.0);
                let left = (total - done - elapsed) * (1.0 + more.clamp(0.0, 1.0));
                let left = terminal::span(std::time::Duration::from_secs_f64(left.max(0.0)));
                let text = format!(
                    "run {} of {}: {} with seed {}  {left} left",
                    i + 1,
                    jobs.len(),
                    job.label,
                    job.seed
                );
                meter.advance((done + elapsed) / total, began.elapsed(), &text);
            };
            let log = log(job).unwrap_or_else(|| scratch.path().join(format!("{i}.log")));
            let Some(seen) = job.run(&known, &log, how.packet_sockets, &show)? else { break };
            late_p99_s = late_p99_s.max(seen.late_p99_s);
            loads += load();
            let results = job.results(&log, &seen)?;
            match how.log {
                Some(_) => logs.push(log),
                None => drop(std::fs::remove_file(&log)),
            }
            replications
                .extend(results.replications.into_iter().map(|r| Replication { point: job.index, ..r }));
            info.get_or_insert(results.run);
            done += seconds(job);
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        meter.finish();
        let Some(info) = info else {
            return Err(Failure::Interrupted(
                "before the first replication was finished: nothing is kept".into(),
            ));
        };
        let load = loads / (replications.len() + 1) as f64;
        let partial = replications.len() < jobs.len();
        let points: Vec<PointInfo> = self.study.points.iter().map(PointInfo::of).collect();
        let run = quell_lab::RunInfo {
            title: self.study.title().to_string(),
            started: humantime::format_rfc3339_seconds(started).to_string(),
            elapsed_s: began.elapsed().as_secs_f64(),
            command: line,
            scenario_file: self.study.name().to_string(),
            scenario_text: self.study.text().map(str::to_string),
            live: true,
            points,
            partial,
            ..info
        };
        Ok(Measured { results: Results::of(run, replications), late_p99_s, load, logs })
    }
}

/// Keeps results and prints their tables, and says where everything is.
pub fn show(place: Place, results: &Results, selection: &Selection, logs: &[PathBuf]) -> Result<(), Failure> {
    let kept = keep(Some(place), results, true, true);
    let mut text = selection::heading(results);
    text.push_str(&selection::tables(results, selection));
    text.push_str(&selection::caption(results));
    for (what, path) in [("results", &kept.folder), ("report ", &kept.report)] {
        if let Some(path) = path {
            text.push_str(&format!("{what}  {}\n", path.display()));
        }
    }
    match logs {
        [] => {}
        [log] => text.push_str(&format!("log      {}\n", log.display())),
        [first, .., last] => {
            let n = logs.len();
            text.push_str(&format!("logs     {} to {} ({n} files)\n", first.display(), last.display()));
        }
    }
    terminal::print(&text)?;
    match kept.failure {
        Some(failure) => Err(failure),
        None => interrupted(results, kept.folder.as_deref(), false),
    }
}

/// How many processes run or wait for a processor: the kernel's mean over a minute.
fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|x| x.parse().ok()).unwrap_or(0.0)
}

/// The link that is made real, and the one back.
const FORWARD: &str = "bottleneck";
const BACK: &str = "reverse";

/// What a wire cannot be.
fn refuse(job: &Job<'_>, rule: impl Into<String>) -> Failure {
    job.point.refuse(format!("{}; `quell run` simulates it", rule.into())).into()
}

/// The same, of a key of a flow's group.
fn refuse_flow(job: &Job<'_>, fact: &FlowFact, key: &str, value: &str, rule: impl Into<String>) -> Failure {
    let name = job.point.scenario.flows.get(usize::from(fact.group)).map_or("", |group| &group.name);
    refuse(job, format!("flows.{name}.{key} = {value}: {}", rule.into()))
}

/// The flows of a replication, their delays each way, and the largest packet.
struct Drawn {
    flows: Vec<Flow>,
    delays: Vec<Duration>,
    sources: Sources,
    mtu: u16,
    line: LineConfig,
    back: Option<LineConfig>,
    /// What happens to the line and the one back by themselves.
    courses: [Course; 2],
}

/// Whose packets cross the bottleneck.
struct Sources {
    flows: Vec<Source>,
    /// The names of the groups.
    names: Vec<String>,
    /// The names of the classes.
    classes: Vec<String>,
    mean_packet: Bytes,
}

/// A flow, for its figures.
struct Source {
    fact: FlowFact,
    /// Its data goes through the bottleneck, and not its acknowledgments.
    forward: bool,
    /// What a packet carries, in bytes.
    payload: u64,
    /// Its data is TCP's.
    tcp: bool,
}

impl Sources {
    /// The group whose packets in the bottleneck are a flow's, by the low half of its address.
    fn group(&self, number: u16) -> Option<usize> {
        let flow = self.flows.get(usize::from(number.wrapping_sub(address(0))))?;
        flow.forward.then_some(usize::from(flow.fact.group))
    }
}

/// A look at the hosts.
struct Look {
    /// When it was due, and when it was, in seconds.
    due: f64,
    at: f64,
    /// What each flow had received.
    received: Vec<u64>,
    /// What each flow's senders had done.
    done: Vec<Done>,
}

/// What the hosts saw of a replication.
struct Seen {
    sources: Sources,
    /// At the end of the warm-up, where segments meet, and at the end.
    looks: Vec<Look>,
    transfers: Vec<Transferred>,
    /// The 99th percentile of how late packets left the bottleneck, in seconds.
    late_p99_s: f64,
}

fn live_traffic(job: &Job<'_>, known: &[String]) -> Result<Drawn, Failure> {
    let scenario = &job.point.scenario;
    let plugins = Plugins::new();
    let Some(dumbbell) = &scenario.dumbbell else {
        let other = if scenario.graph.is_some() { "graph" } else { "parking_lot" };
        let rule = format!("[{other}]: a wire is one bottleneck, and needs [dumbbell] in its place");
        return Err(refuse(job, rule));
    };
    let plan = job.point.plan(job.aqm, job.seed, &plugins)?;
    let links = &plan.network.links;
    let id = |name: &str| links.iter().position(|l| l.name == name).map(|i| sim::LinkId(i as u32));
    let Some(forward) = id(FORWARD) else {
        return Err(refuse(job, "the scenario has no link \"bottleneck\""));
    };
    let own = [Some(forward), id(BACK)];
    for (i, link) in links.iter().enumerate() {
        let name = match &*link.name {
            FORWARD => "dumbbell",
            BACK => "dumbbell.reverse",
            name => name,
        };
        if !own.contains(&Some(sim::LinkId(i as u32))) && (!link.rate.is_constant() || link.loss > 0.0) {
            let rule = "a wire's only links that change their rate or lose packets are the bottleneck and the way back";
            return Err(refuse(job, format!("the link {name}: {rule}; change those")));
        }
        if link.rate.initial.bps() == 0 {
            let rule = "a wire begins with a rate; let the first change come later than 0 s";
            return Err(refuse(job, format!("{name}.rate = {} at 0 s: {rule}", link.rate.initial)));
        }
        let most =
            link.rate.values().map(|rate| rate.bps()).max().map_or(BitRate::from_bps(0), BitRate::from_bps);
        if link.queue.is_some() && most > super::FASTEST {
            let rule = format!("a wire relays at most {}; take a slower link", super::FASTEST);
            return Err(refuse(job, format!("{name}.rate = {most}: {rule}")));
        }
    }
    let at = job.point.link_at(FORWARD, Time::ZERO, &plugins)?;
    let Some((_, aqm)) = at.algorithms.get(job.aqm).cloned() else {
        return Err(refuse(
            job,
            format!("{} is a plug-in, and a wire has the catalog's algorithms", job.label),
        ));
    };
    let line = LineConfig {
        name: FORWARD.into(),
        rate: at.rate,
        buffer: at.link.buffer,
        mean_packet: at.link.mean_packet,
        ecn: at.ecn,
        seed: job.seed,
        aqm,
    };
    let back_aqm = match dumbbell.reverse.aqm.is_some() && id(BACK).is_some() {
        true => {
            let algorithms = job.point.link_at(BACK, Time::ZERO, &plugins)?.algorithms;
            // Its own, or that of the run.
            let of = if algorithms.len() == 1 { algorithms.first() } else { algorithms.get(job.aqm) };
            let known = of.map(|(_, aqm)| aqm.clone());
            Some(known.ok_or_else(|| {
                refuse(job, "the way back has a plug-in, and a wire has the catalog's algorithms")
            })?)
        }
        // Without an algorithm it is drop-tail.
        false => None,
    };
    let back = id(BACK).map(|l| &links[l.0 as usize]).map(|link| LineConfig {
        name: BACK.into(),
        rate: link.rate.initial,
        buffer: link.queue.as_ref().map_or(QueueSize::Packets(f64::from(1 << 16)), |q| q.buffer),
        mean_packet: at.link.mean_packet,
        ecn: link.queue.as_ref().is_some_and(|q| q.ecn),
        seed: job.seed,
        aqm: back_aqm.unwrap_or(AqmConfig::DropTail(Default::default())),
    });
    let end = scenario.duration;
    let changes = changes(job, &plan, own)?;
    let course = |changes, link: Option<sim::LinkId>| match link.map(|l| (l, links[l.0 as usize].loss)) {
        // The stream from which the simulator draws this link's losses.
        Some((l, loss)) => {
            Course::new(changes).losing(loss, Seed(job.seed).indexed_stream("link.loss", u64::from(l.0)))
        }
        None => Course::new(changes),
    };
    let [there, returning] = changes;
    let courses = [course(there, own[0]), course(returning, own[1])];
    let facts = plan.facts;
    if plan.network.flows.len() > MOST_FLOWS {
        return Err(refuse(job, format!("{} flows are more than {MOST_FLOWS}", plan.network.flows.len())));
    }
    let mut drawn = Drawn {
        flows: Vec::new(),
        delays: Vec::new(),
        sources: Sources {
            flows: Vec::new(),
            names: facts.groups,
            classes: facts.classes,
            mean_packet: at.link.mean_packet,
        },
        mtu: 576,
        line,
        back,
        courses,
    };
    for (i, (spec, fact)) in plan.network.flows.into_iter().zip(facts.flows).enumerate() {
        let from = if spec.forward.contains(&forward) { Side::Near } else { Side::Far };
        let rng = Seed(job.seed).indexed_stream("flow.traffic", i as u64);
        let (mut start, mut payload) = (spec.start, 1);
        let tcp = matches!(spec.traffic, sim::Traffic::Tcp { .. });
        let kind = match spec.traffic {
            sim::Traffic::Tcp { tcp, app } => {
                let wire = tcp.packet.get() + tcp.header.get();
                drawn.mtu = drawn.mtu.max(wire.clamp(576, 9000) as u16);
                payload = wire.saturating_sub(HEADERS + OPTIONS).max(1);
                tcp_kind((job, &fact), known, &tcp, app, rng, &mut start)?
            }
            sim::Traffic::Udp(udp) => {
                drawn.mtu = drawn.mtu.max(udp.packet.mean().clamp(576.0, 9000.0) as u16);
                udp_kind(udp, rng, &mut start)
            }
            _ => {
                let rule = "nobody sends what was recorded; on a wire, hosts send by kinds bulk, transfers, sessions and udp";
                return Err(refuse_flow(job, &fact, "kind", "\"trace\"", rule));
            }
        };
        let since = |t: Time| t.since(Time::ZERO);
        drawn.flows.push(Flow {
            from,
            start: since(start).min(end),
            stop: spec.stop.map_or(end, since).min(end),
            dscp: spec.dscp,
            kind,
        });
        drawn.delays.push(fact.base_rtt / 2);
        drawn.sources.flows.push(Source { fact, forward: from == Side::Near, payload, tcp });
    }
    drawn.line.build().map_err(|e| refuse(job, e.to_string()))?;
    Ok(drawn)
}

/// Headers of IPv4 and TCP.
const HEADERS: u64 = 40;
/// TCP's time stamps (RFC 7323).
const OPTIONS: u64 = 12;

/// When what a path knows by itself changes: the rates of the line and the one back, and the delays of flows.
fn changes(
    job: &Job<'_>,
    plan: &Plan,
    own: [Option<sim::LinkId>; 2],
) -> Result<[Vec<(Time, Change)>; 2], Failure> {
    /// What is written out before a run begins: 24 bytes each.
    const MOST: usize = 4_000_000;
    let end = Time::ZERO + job.point.scenario.duration;
    let links = &plan.network.links;
    let mut all = [Vec::new(), Vec::new()];
    for (changes, link) in all.iter_mut().zip(own) {
        let Some(rate) = link.map(|l| &links[l.0 as usize].rate) else { continue };
        let mut at = rate.next_change(Time::ZERO);
        while at < end && changes.len() <= MOST {
            changes.push((at, Change::Rate(rate.at(at))));
            at = rate.next_change(at);
        }
    }
    for (i, (spec, fact)) in plan.network.flows.iter().zip(&plan.facts.flows).enumerate() {
        let there = own[0].is_some_and(|link| spec.forward.contains(&link));
        for (way, changes) in [(&spec.forward, usize::from(!there)), (&spec.reverse, usize::from(there))] {
            let delays: Vec<_> = way.iter().map(|l| &links[l.0 as usize].delay).collect();
            let sum = |at: Time| delays.iter().map(|d| d.at(at).nanos()).sum::<u64>();
            let next = |at: Time| delays.iter().map(|d| d.next_change(at)).min().unwrap_or(Time::MAX);
            let mut at = next(Time::ZERO);
            while at < end && all[changes].len() <= MOST {
                // Half of the round trip is added each way, and changes with its way.
                let delay = (fact.base_rtt.nanos() / 2 + sum(at)).saturating_sub(sum(Time::ZERO));
                all[changes].push((at, Change::Delay(address(i), Duration::from_nanos(delay))));
                at = next(at);
            }
        }
    }
    if all.iter().any(|changes| changes.len() > MOST) {
        let rule = format!(
            "more than {MOST} changes of rates and delays; let them come more slowly, or of fewer flows"
        );
        return Err(refuse(job, format!("changes: {rule}")));
    }
    Ok(all)
}

fn tcp_kind(
    (job, fact): (&Job<'_>, &FlowFact),
    known: &[String],
    tcp: &TcpParams,
    app: sim::App,
    mut rng: Rng,
    start: &mut Time,
) -> Result<Kind, Failure> {
    let name = match tcp.congestion {
        CongestionControl::Reno => "reno",
        CongestionControl::Cubic => "cubic",
        CongestionControl::Bbr1 => "bbr",
        CongestionControl::Dctcp => "dctcp",
        other => {
            let name = format!("{other:?}").to_lowercase();
            let rule = format!("Linux has no congestion control \"{name}\" (reno, cubic, bbr1, dctcp)");
            return Err(refuse_flow(job, fact, "tcp.congestion", &format!("\"{name}\""), rule));
        }
    };
    if !known.iter().any(|k| k == name) {
        let rule = format!(
            "this kernel has no congestion control \"{name}\" ({}); modprobe tcp_{name} may add it",
            known.join(", ")
        );
        return Err(refuse_flow(job, fact, "tcp.congestion", &format!("\"{name}\""), rule));
    }
    let packet = tcp.packet.get() + tcp.header.get();
    // The kernel's smallest segment is 88 bytes with options.
    if !(160..=9000).contains(&packet) {
        let value = format!("\"{}\"", tcp.packet);
        let rule =
            format!("with its header {} must be 160 B to 9 kB, which hosts can send", Bytes::new(packet));
        return Err(refuse_flow(job, fact, "tcp.packet", &value, rule));
    }
    let segment = (packet - HEADERS) as u16;
    let payload = packet - HEADERS - OPTIONS;
    let app = match app {
        sim::App::Bulk => App::Bulk,
        sim::App::Paced(pace) => {
            // What is handed over is a packet without its header.
            let size = tcp.packet.get() as f64;
            App::Paced(paced(pace, Distribution::Constant(size), rng, start, payload as f64 / size))
        }
        sim::App::Transfers { size, think, count, connection, request: Some(request) } => {
            let draw: Ask = Box::new(move || {
                let packets = size.draw(&mut rng).ceil().max(1.0);
                // A request's size is that on the wire.
                let asks = request.draw(&mut rng).round().max(0.0) as u64;
                let asks = asks.saturating_sub(HEADERS + OPTIONS);
                ((packets * payload as f64) as u64, asks, Duration::from_secs_f64(think.draw(&mut rng)))
            });
            App::Asked { draw, count, fresh: connection == Connection::Fresh }
        }
        sim::App::Video(_) | sim::App::Pages(_) | sim::App::Connection { .. } => {
            let kind = if matches!(app, sim::App::Video(_)) { "\"video\"" } else { "\"pages\"" };
            let rule = "hosts here have no player and no browser; transfers that are asked for (kind = \"transfers\" or \
                        \"sessions\" with request) are live";
            return Err(refuse_flow(job, fact, "kind", kind, rule));
        }
        sim::App::Transfers { size, think, count, connection, request: None } => {
            let draw: Draw = Box::new(move || {
                let packets = size.draw(&mut rng).ceil().max(1.0);
                ((packets * payload as f64) as u64, Duration::from_secs_f64(think.draw(&mut rng)))
            });
            App::Transfers { draw, count, fresh: connection == Connection::Fresh }
        }
    };
    Ok(Kind::Tcp { congestion: name.to_string(), segment, ecn: tcp.ecn, app })
}

fn udp_kind(udp: sim::UdpSpec, rng: Rng, start: &mut Time) -> Kind {
    let sim::UdpSpec { packet, pace, ecn } = udp;
    Kind::Udp { datagrams: paced(pace, packet, rng, start, 1.0), ecn }
}

/// Sizes, each times `share`, and gaps of a source that begins at `start`, or when it first sends after that.
fn paced(pace: sim::Pace, size: Distribution, mut rng: Rng, start: &mut Time, share: f64) -> Draw {
    let seconds = Duration::from_secs_f64;
    // When the source sends at `at`, or when it does again.
    let mut on_until: Option<Time> = None;
    let of = pace.clone();
    let mut sends = move |mut at: Time, rng: &mut Rng| -> (Time, BitRate) {
        loop {
            if let Some((on, off)) = of.on_off {
                let until = *on_until.get_or_insert_with(|| at + seconds(on.draw(rng)));
                if at >= until {
                    on_until = None;
                    at = until.max(at) + seconds(off.draw(rng)).max(Duration::from_nanos(1));
                    continue;
                }
            }
            let rate = of.rate.at(at);
            if rate.bps() > 0 || at == Time::MAX {
                return (at, rate);
            }
            at = of.rate.next_change(at);
        }
    };
    let (mut now, mut rate) = sends(*start, &mut rng);
    *start = now;
    let mean = size.mean();
    let mut late = 0.0;
    Box::new(move || {
        let bytes = size.draw(&mut rng).round().max(1.0);
        let gap = pace.gaps.draw((bytes, mean), rate, &mut late, &mut rng).max(0.0);
        let sent = now;
        // A source that is silent for good sends nothing more in the life of a wire.
        let next = if rate.bps() > 0 { sent + seconds(gap) } else { sent };
        (now, rate) = if rate.bps() > 0 { sends(next, &mut rng) } else { (sent, rate) };
        let gap = if now == Time::MAX { FOREVER } else { now.since(sent) };
        ((bytes * share).round().max(1.0) as u64, gap)
    })
}

/// How often connections are looked at: about as often as the round-trip times that they tell change.
const LOOK: Duration = Duration::from_millis(50);

/// Longer than any run.
const FOREVER: Duration = Duration::from_secs(1_000_000);

impl Job<'_> {
    /// Runs it in real time and keeps the log; `None` if it was interrupted.
    fn run(
        &self,
        known: &[String],
        log: &Path,
        packet_sockets: bool,
        show: &dyn Fn(f64),
    ) -> Result<Option<Seen>, Failure> {
        let drawn = live_traffic(self, known)?;
        let mut each = vec![Duration::ZERO; usize::from(address(0)) + drawn.delays.len()];
        each[usize::from(address(0))..].copy_from_slice(&drawn.delays);
        let delays = Delays { each, others: Duration::ZERO };
        let lines = [Some(drawn.line), drawn.back];
        let recorder = super::recorder(Some(log), &lines)?;
        let config = WireConfig {
            lines,
            delays: [delays.clone(), delays],
            courses: drawn.courses,
            mtu: drawn.mtu,
            // Each connection asks for itself.
            ecn: false,
            congestion: None,
            packet_sockets,
        };
        let failed = |e: &dyn std::fmt::Display| Failure::Failed(e.to_string());
        let wire = Wire::new(config, recorder).map_err(|e| failed(&e))?;
        let traffic = Traffic::start(&wire, drawn.flows).map_err(|e| failed(&e))?;
        let stop = interrupt::listen();
        let end = Time::ZERO + self.point.scenario.duration;
        let measure = self.point.measure();
        let mut due = vec![Time::ZERO + self.point.scenario.warmup];
        due.extend(measure.segments().iter().map(|(_, to)| *to).filter(|to| *to < end));
        due.push(end);
        let mut whole = true;
        let mut looks = Vec::new();
        loop {
            let now = wire.clock.now();
            let done = traffic.done();
            while let Some(due) = due.get(looks.len()).filter(|due| now >= **due) {
                // What is counted goes on while this thread waits for a processor.
                let (due, at) = (due.as_secs_f64(), wire.clock.now().as_secs_f64());
                looks.push(Look { due, at, received: traffic.received(), done: done.clone() });
            }
            let Some(next) = due.get(looks.len()) else { break };
            if stop.load(Ordering::Relaxed) {
                whole = false;
                break;
            }
            show(now.as_secs_f64());
            // Until something is to be read, or shown.
            let wait = next.since(now).min(LOOK);
            std::thread::sleep(std::time::Duration::from_nanos(wait.nanos()));
        }
        let transfers = traffic.transfers();
        let ended = traffic.finish();
        let report = wire.close().map_err(|e| failed(&e))?;
        if let Some(why) = report.log {
            return Err(Failure::Failed(format!("the log of {} with seed {}: {why}", self.label, self.seed)));
        }
        if let (Err(e), true) = (ended, whole) {
            return Err(Failure::Failed(format!(
                "{} with seed {}: a flow failed: {e}",
                self.label, self.seed
            )));
        }
        if report.counters.starved > 0 || report.counters.refused > 0 || report.pauses > 0 {
            terminal::note(&format!(
                "{} with seed {}: {} reads put off, {} packets refused by a host, {} pauses: the machine was not up \
                 to it",
                self.label, self.seed, report.counters.starved, report.counters.refused, report.pauses
            ));
        }
        let late_p99_s = report.paths[0].meter.lateness_p99_s().unwrap_or(0.0);
        Ok(whole.then_some(Seen { sources: drawn.sources, looks, transfers, late_p99_s }))
    }

    /// The results of the log: its arrivals through the simulator.
    fn results(&self, log: &Path, seen: &Seen) -> Result<Results, Failure> {
        let sources = &seen.sources;
        let cannot = |e: &dyn std::fmt::Display| Failure::Failed(format!("{}: {e}", log.display()));
        let file = std::fs::File::open(log).map_err(|e| cannot(&e))?;
        let mut reader = LogReader::new(BufReader::with_capacity(1 << 20, file)).map_err(|e| cannot(&e))?;
        let header = format!("{ARRIVAL_COLUMNS}\n").into_bytes();
        // One file for each group, and one for what comes back to flows of the other direction.
        let others = sources.names.len();
        let mut files = vec![header.clone(); others + 1];
        let mut sent = vec![0u64; sources.flows.len()];
        let warm = Time::ZERO + self.point.scenario.warmup;
        let end = Time::ZERO + self.point.scenario.duration;
        while let Some(entry) = reader.next_entry().map_err(|e| cannot(&e))? {
            let Event::Arrived { packet, .. } = entry.event else { continue };
            if entry.line != 0 || entry.time >= end {
                continue;
            }
            let group = sources.group(packet.delay).unwrap_or(others);
            if let Some(count) = sent.get_mut(usize::from(packet.delay.wrapping_sub(address(0))))
                && entry.time >= warm
                && group != others
            {
                *count += 1;
            }
            write_arrival(&mut files[group], entry.time, &packet).map_err(|e| cannot(&e))?;
        }
        let mut names: Vec<String> = sources.names.clone();
        names.push("others".into());
        let groups: Vec<toml::Value> = names
            .iter()
            .zip(&files)
            .filter(|(_, bytes)| bytes.len() > header.len())
            .map(|(name, _)| {
                let mut group = toml::Table::new();
                for (key, value) in [("kind", "trace"), ("name", name), ("file", name)] {
                    group.insert(key.into(), value.into());
                }
                let member = sources.flows.iter().find(|f| sources.names[usize::from(f.fact.group)] == *name);
                if let Some(class) = member.map(|f| &sources.classes[usize::from(f.fact.class)]) {
                    group.insert("class".into(), class.as_str().into());
                }
                toml::Value::Table(group)
            })
            .collect();
        if groups.is_empty() {
            return Err(Failure::Failed(format!("{}: no packet came to the bottleneck", log.display())));
        }
        let text = PointInfo::of(self.point).scenario;
        let mut table: toml::Table = text.parse().map_err(|e| cannot(&e))?;
        table.insert("flows".into(), toml::Value::Array(groups));
        table.insert("mean_packet".into(), sources.mean_packet.to_string().into());
        table.insert("seeds".into(), toml::Value::Array(vec![toml::Value::Integer(self.seed as i64)]));
        if let Some(toml::Value::Array(all)) = table.remove("aqm") {
            table.insert("aqm".into(), toml::Value::Array(all.into_iter().skip(self.aqm).take(1).collect()));
        }
        let by_name: std::collections::HashMap<String, Vec<u8>> = names.into_iter().zip(files).collect();
        let files = Files::new(move |name| match by_name.get(name) {
            Some(bytes) => Ok(FoundFile { name: name.to_string(), bytes: bytes.clone() }),
            // Changes of links, which are named as they are found from here.
            None => match std::fs::read(name) {
                Ok(bytes) => Ok(FoundFile { name: name.to_string(), bytes }),
                Err(e) => Err(format!("cannot be read: {e}")),
            },
        });
        let document = Document::from_table(&table, &log.display().to_string()).among(files);
        let study = document.study(&Plugins::new())?;
        let mut results = quell_lab::run(&study, &Options { threads: Some(1), ..Options::default() })?;
        for replication in &mut results.replications {
            seen.put(replication, &sent);
        }
        Ok(results)
    }
}

/// What a flow did within a window.
struct Within {
    /// Bytes that it received.
    delivered: u64,
    /// For how many seconds it was there.
    active: f64,
    done: Done,
}

impl Seen {
    /// The looks nearest to when a window begins and ends; there are two at least, by the time there are results.
    fn window(&self, from_s: f64, to_s: f64) -> [&Look; 2] {
        [from_s, to_s].map(|time| {
            let apart = |look: &&Look| (look.due - time).abs();
            self.looks.iter().min_by(|a, b| apart(a).total_cmp(&apart(b))).expect("a run has ends")
        })
    }

    /// Puts what the hosts saw in the place of what a trace knows of flows, which is nothing.
    fn put(&self, replication: &mut Replication, sent: &[u64]) {
        let window = [&self.looks[0], &self.looks[self.looks.len() - 1]];
        let flow = |i: usize| {
            let Within { delivered, active, done } = self.within(i, window);
            let source = &self.sources.flows[i];
            let fact = &source.fact;
            FlowRow {
                flow: i as u32,
                group: self.sources.names[usize::from(fact.group)].clone(),
                class: self.sources.classes[usize::from(fact.class)].clone(),
                base_rtt_s: fact.base_rtt.as_secs_f64(),
                start_s: fact.start.as_secs_f64(),
                stop_s: fact.stop.map(Time::as_secs_f64),
                goodput_bps: if active > 0.0 { delivered as f64 * 8.0 / active } else { 0.0 },
                delivered_bytes: delivered,
                // Of datagrams only the bottleneck knows.
                sent_packets: if source.tcp { done.sent } else { sent[i] },
                retransmitted_packets: done.sent_again,
                timeouts: done.timeouts.unwrap_or(0),
                // The kernel's senders do not say when these happen.
                fast_retransmits: 0,
                ecn_responses: 0,
                round_trip_time_mean_s: (done.round_trips > 0.0).then(|| done.busy_s / done.round_trips),
            }
        };
        replication.flows = (0..self.sources.flows.len()).map(flow).collect();
        let transfer = |t: &Transferred| {
            let source = &self.sources.flows[t.flow];
            TransferRow {
                flow: t.flow as u32,
                class: self.sources.classes[usize::from(source.fact.class)].clone(),
                start_s: t.start.as_secs_f64(),
                flow_completion_time_s: t.end.since(t.start).as_secs_f64(),
                size_packets: t.bytes.div_ceil(source.payload) as u32,
            }
        };
        replication.transfers = self.transfers.iter().map(transfer).collect();
        for row in replication.metrics.iter_mut().filter(|row| row.link == FORWARD) {
            self.put_metrics(row);
        }
    }

    /// What a flow did between two looks.
    fn within(&self, flow: usize, [from, to]: [&Look; 2]) -> Within {
        let fact = &self.sources.flows[flow].fact;
        let (start, stop) = (fact.start.as_secs_f64(), fact.stop.map_or(to.at, Time::as_secs_f64));
        let (before, after) = (&from.done[flow], &to.done[flow]);
        Within {
            delivered: to.received[flow] - from.received[flow],
            active: (stop.min(to.at) - start.max(from.at)).max(0.0),
            done: Done {
                sent: after.sent - before.sent,
                sent_again: after.sent_again - before.sent_again,
                timeouts: after.timeouts.map(|n| n - before.timeouts.unwrap_or(0)),
                busy_s: after.busy_s - before.busy_s,
                round_trips: after.round_trips - before.round_trips,
            },
        }
    }

    /// The figures of flows in a row of metrics.
    fn put_metrics(&self, row: &mut MetricRow) {
        for metric in [
            Metric::Goodput,
            Metric::Jain,
            Metric::RttMean,
            Metric::Timeouts,
            Metric::FastRetransmits,
            Metric::EcnResponses,
            Metric::RetransmissionRate,
        ] {
            row.values.set(metric, f64::NAN);
        }
        let counts = |i: &usize| {
            let class = &self.sources.classes[usize::from(self.sources.flows[*i].fact.class)];
            self.sources.flows[*i].forward && (matches!(&*row.scope, "all" | "data") || *class == row.scope)
        };
        let own: Vec<usize> = (0..self.sources.flows.len()).filter(counts).collect();
        if own.is_empty() {
            return;
        }
        let window = self.window(row.from_s, row.to_s);
        let length = window[1].at - window[0].at;
        let all: Vec<Within> = own.iter().map(|i| self.within(*i, window)).collect();
        let sum = |of: fn(&Within) -> f64| all.iter().map(of).sum::<f64>();
        row.values.set(Metric::Goodput, sum(|f| f.delivered as f64) * 8.0 / length);
        // Without connections these are 0 over 0, and there are none.
        row.values
            .set(Metric::RetransmissionRate, sum(|f| f.done.sent_again as f64) / sum(|f| f.done.sent as f64));
        row.values.set(Metric::RttMean, sum(|f| f.done.busy_s) / sum(|f| f.done.round_trips));
        if all.iter().any(|f| f.done.timeouts.is_some()) {
            row.values.set(Metric::Timeouts, sum(|f| f.done.timeouts.unwrap_or(0) as f64));
        }
        let bulk = own
            .iter()
            .zip(&all)
            .filter(|(i, f)| self.sources.flows[**i].fact.bulk && 2.0 * f.active >= length);
        let shares: Vec<f64> = bulk.map(|(_, f)| f.delivered as f64 / f.active).collect();
        row.values.set(Metric::Jain, quell_lab::jain_index(&shares).unwrap_or(f64::NAN));
        let within = |t: &&Transferred| {
            let start = t.start.as_secs_f64();
            counts(&t.flow) && start >= row.from_s && start < row.to_s
        };
        let took = |t: &Transferred| t.end.since(t.start).as_secs_f64();
        let mut times: Vec<f64> = self.transfers.iter().filter(within).map(took).collect();
        times.sort_by(f64::total_cmp);
        if own.iter().any(|i| !self.sources.flows[*i].fact.bulk) {
            row.values.set(Metric::Transfers, times.len() as f64);
        }
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let variance = times.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>() / times.len() as f64;
        row.values.set(Metric::FctMean, mean);
        row.values.set(Metric::FctStd, variance.sqrt());
        for (metric, q) in [(Metric::FctP50, 0.50), (Metric::FctP95, 0.95), (Metric::FctP99, 0.99)] {
            row.values.set(metric, quell_lab::quantile(&times, q).unwrap_or(f64::NAN));
        }
    }
}
