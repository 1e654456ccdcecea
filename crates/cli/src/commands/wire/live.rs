//! A scenario with real packets: its algorithms and its traffic, one replication after the other in real time.
//!
//! What was measured comes from the log: its arrivals go through the simulator once more, with the same algorithm and
//! seed, which decides the same about each of them. So the figures of a live run are made by the code that makes
//! those of a simulated one, and both can be compared.

use std::io::BufReader;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use quell_aqm::catalog::AqmConfig;
use quell_aqm::{Rng, Seed};
use quell_gateway::traffic::{
    App, Draw, Flow, Kind, MOST_FLOWS, Traffic, Transferred, address, congestion_controls,
};
use quell_gateway::wire::{Side, Wire, WireConfig};
use quell_gateway::{ARRIVAL_COLUMNS, Delays, Event, LineConfig, LogReader, write_arrival};
use quell_lab::{FlowRow, Metric, MetricRow, Options, PointInfo, Replication, Results, TransferRow};
use quell_scenario::{Document, Files, FlowFact, FoundFile, Plugins, Point, Study};
use quell_sim::network::{self as sim, Connection, Distribution, Gaps};
use quell_tcp::{CongestionControl, TcpParams};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

use crate::args::{Changes, WireArgs};
use crate::commands::run;
use crate::failure::Failure;
use crate::folder::{self, Place};
use crate::selection::{self, Selection};
use crate::terminal::{self, Meter};
use crate::{interrupt, simulate};

/// A scenario that can be run live.
pub struct Live {
    study: Study,
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
    pub fn read(file: &Path, args: &WireArgs) -> Result<Live, Failure> {
        let changes = Changes { set: args.set.clone(), sweep: Vec::new() };
        let one = args.seed.map(|seed| toml::Value::Array(vec![toml::Value::Integer(seed as i64)]));
        let seeds = one.or(args.seeds.map(|n| toml::Value::Integer(i64::from(n))));
        let (study, _) = simulate::changed(file, &changes, seeds)?;
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
    pub fn run(self, args: &WireArgs, line: Vec<String>) -> Result<(), Failure> {
        let selection = Selection::of(&args.view)?;
        simulate::check_view(&selection, &self.study)?;
        let known = congestion_controls();
        let jobs = self.jobs();
        let name = args
            .scenario
            .as_deref()
            .map_or("live".into(), |file| format!("{}-live", folder::name(&[file.to_path_buf()])));
        let place = Place::choose(args.out.as_deref(), &name, args.overwrite)?;
        let stop = interrupt::listen();
        let began = Instant::now();
        let started = std::time::SystemTime::now();
        let seconds = |job: &Job<'_>| job.point.scenario.duration.as_secs_f64();
        let total: f64 = jobs.iter().map(seconds).sum();
        let meter = Meter::new(false);
        let scratch = tempfile::tempdir().map_err(|e| Failure::cannot("make a temporary folder", e))?;
        let mut done = 0.0;
        let mut replications = Vec::new();
        let mut info = None;
        for (i, job) in jobs.iter().enumerate() {
            let text =
                format!("replication {} of {}: {} with seed {}", i + 1, jobs.len(), job.label, job.seed);
            let show = |elapsed: f64| meter.advance((done + elapsed) / total, began.elapsed(), &text);
            let log = match &args.log {
                Some(path) if jobs.len() == 1 => path.clone(),
                Some(path) => path.with_extension(format!("{}-{}-{}.log", job.index, job.label, job.seed)),
                None => scratch.path().join("log"),
            };
            let Some(seen) = job.run(&known, &log, args.packet_sockets, &show)? else { break };
            let results = job.results(&log, &seen)?;
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
        let partial = replications.len() < jobs.len();
        let points: Vec<PointInfo> = self.study.points.iter().map(PointInfo::of).collect();
        let run = quell_lab::RunInfo {
            title: self.study.title().to_string(),
            started: humantime::format_rfc3339_seconds(started).to_string(),
            elapsed_s: began.elapsed().as_secs_f64(),
            command: line,
            scenario_file: self.study.name().to_string(),
            scenario_text: self.study.text().map(str::to_string),
            points,
            partial,
            ..info
        };
        let results = Results::of(run, replications);
        let kept = run::keep(Some(place), &results, true, true);

        let mut text = run::heading(&results);
        text.push_str(&selection::tables(&results, &selection));
        text.push_str(&selection::caption(&results));
        for (what, path) in [("results", &kept.folder), ("report ", &kept.report)] {
            if let Some(path) = path {
                text.push_str(&format!("{what}  {}\n", path.display()));
            }
        }
        terminal::print(&text)?;
        match kept.failure {
            Some(failure) => Err(failure),
            None => run::interrupted(&results, kept.folder.as_deref()),
        }
    }
}

/// The link that is made real, and the one back.
const FORWARD: &str = "bottleneck";
const BACK: &str = "reverse";

/// What a wire cannot be.
fn refuse(job: &Job<'_>, rule: impl Into<String>) -> Failure {
    job.point.refuse(format!("{}: `quell run` simulates it", rule.into())).into()
}

/// The flows of a replication, their delays each way, and the largest packet.
struct Drawn {
    flows: Vec<Flow>,
    delays: Vec<Duration>,
    sources: Sources,
    mtu: u16,
    line: LineConfig,
    back: Option<LineConfig>,
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
}

impl Sources {
    /// The group whose packets in the bottleneck are a flow's, by the low half of its address.
    fn group(&self, number: u16) -> Option<usize> {
        let flow = self.flows.get(usize::from(number.wrapping_sub(address(0))))?;
        flow.forward.then_some(usize::from(flow.fact.group))
    }
}

/// What the hosts saw of a replication.
struct Seen {
    sources: Sources,
    /// What each flow had received, and when, at the end of the warm-up and at the end.
    received: [(f64, Vec<u64>); 2],
    transfers: Vec<Transferred>,
}

fn live_traffic(job: &Job<'_>, known: &[String]) -> Result<Drawn, Failure> {
    let scenario = &job.point.scenario;
    let plugins = Plugins::new();
    let Some(dumbbell) = &scenario.dumbbell else {
        return Err(refuse(job, "a wire is one bottleneck, and this scenario is no [dumbbell]"));
    };
    let plan = job.point.plan(job.aqm, job.seed, &plugins)?;
    let links = &plan.network.links;
    let id = |name: &str| links.iter().position(|l| l.name == name).map(|i| sim::LinkId(i as u32));
    let Some(forward) = id(FORWARD) else {
        return Err(refuse(job, "the scenario has no link \"bottleneck\""));
    };
    let at = job.point.link_at(FORWARD, Time::ZERO, &plugins)?;
    let changing = |l: &sim::LinkSpec| !l.rate.is_constant() || !l.delay.is_constant();
    if at.changes || links.iter().any(changing) {
        return Err(refuse(job, "rates and delays of a wire do not change yet"));
    }
    if links.iter().any(|l| l.loss > 0.0) {
        return Err(refuse(job, "a wire loses no packets by itself (loss)"));
    }
    if at.rate > super::FASTEST {
        return Err(refuse(job, format!("{} is more than a wire relays ({})", at.rate, super::FASTEST)));
    }
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
    };
    for (i, (spec, fact)) in plan.network.flows.into_iter().zip(facts.flows).enumerate() {
        let from = if spec.forward.contains(&forward) { Side::Near } else { Side::Far };
        let rng = Seed(job.seed).indexed_stream("flow.traffic", i as u64);
        let (mut start, mut payload) = (spec.start, 1);
        let kind = match spec.traffic {
            sim::Traffic::Tcp { tcp, app } => {
                let wire = tcp.packet.get() + tcp.header.get();
                drawn.mtu = drawn.mtu.max(wire.clamp(576, 9000) as u16);
                payload = wire.saturating_sub(HEADERS + OPTIONS).max(1);
                tcp_kind(job, known, &tcp, app, rng, &mut start)?
            }
            sim::Traffic::Udp(udp) => {
                drawn.mtu = drawn.mtu.max(udp.packet.mean().clamp(576.0, 9000.0) as u16);
                udp_kind(udp, rng, &mut start)
            }
            _ => return Err(refuse(job, "a trace is no traffic that hosts send")),
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
        drawn.sources.flows.push(Source { fact, forward: from == Side::Near, payload });
    }
    drawn.line.build().map_err(|e| refuse(job, e.to_string()))?;
    Ok(drawn)
}

/// Headers of IPv4 and TCP.
const HEADERS: u64 = 40;
/// TCP's time stamps (RFC 7323).
const OPTIONS: u64 = 12;

fn tcp_kind(
    job: &Job<'_>,
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
            return Err(refuse(job, rule));
        }
    };
    if !known.iter().any(|k| k == name) {
        let rule = format!(
            "this kernel has no congestion control \"{name}\" ({}); modprobe tcp_{name}",
            known.join(", ")
        );
        return Err(refuse(job, rule));
    }
    let packet = tcp.packet.get() + tcp.header.get();
    // The kernel's smallest segment is 88 bytes with options.
    if !(160..=9000).contains(&packet) {
        return Err(refuse(
            job,
            format!("packets of {} are not those of a host: 160 B to 9 kB", Bytes::new(packet)),
        ));
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
        sim::App::Transfers { request: Some(_), .. } => {
            return Err(refuse(job, "clients that ask (request) are not live yet"));
        }
        sim::App::Video(_) | sim::App::Pages(_) | sim::App::Connection { .. } => {
            return Err(refuse(job, "videos and pages are not live yet"));
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
    Box::new(move || {
        let bytes = size.draw(&mut rng).round().max(1.0);
        let gap = match pace.gaps {
            Gaps::Constant => bytes / rate.bytes_per_sec(),
            Gaps::Exponential => rng.exponential(mean / rate.bytes_per_sec()),
        };
        let sent = now;
        // A source that is silent for good sends nothing more in the life of a wire.
        let next = if rate.bps() > 0 { sent + seconds(gap) } else { sent };
        (now, rate) = if rate.bps() > 0 { sends(next, &mut rng) } else { (sent, rate) };
        let gap = if now == Time::MAX { FOREVER } else { now.since(sent) };
        ((bytes * share).round().max(1.0) as u64, gap)
    })
}

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
        let [warm, end] =
            [self.point.scenario.warmup, self.point.scenario.duration].map(|length| Time::ZERO + length);
        let mut whole = true;
        let mut first = None;
        loop {
            let now = wire.clock.now();
            if first.is_none() && now >= warm {
                first = Some((now.as_secs_f64(), traffic.received()));
            }
            if now >= end {
                break;
            }
            if stop.load(Ordering::Relaxed) {
                whole = false;
                break;
            }
            show(now.as_secs_f64());
            // Until something is to be read, or shown.
            let next = if first.is_none() { warm } else { end };
            let wait = next.since(now).min(Duration::from_millis(100));
            std::thread::sleep(std::time::Duration::from_nanos(wait.nanos()));
        }
        let last = (wire.clock.now().as_secs_f64(), traffic.received());
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
        let received = [first.unwrap_or_else(|| last.clone()), last];
        Ok(whole.then_some(Seen { sources: drawn.sources, received, transfers }))
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
            None => Err("is not part of the log".into()),
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

impl Seen {
    /// Puts what the hosts saw in the place of what a trace knows of flows, which is nothing.
    fn put(&self, replication: &mut Replication, sent: &[u64]) {
        let [(from, before), (to, after)] = &self.received;
        let flow = |i: usize| {
            let source = &self.sources.flows[i];
            let fact = &source.fact;
            let (start, stop) = (fact.start.as_secs_f64(), fact.stop.map(Time::as_secs_f64));
            let active = (stop.unwrap_or(*to).min(*to) - start.max(*from)).max(0.0);
            let delivered = after[i] - before[i];
            FlowRow {
                flow: i as u32,
                group: self.sources.names[usize::from(fact.group)].clone(),
                class: self.sources.classes[usize::from(fact.class)].clone(),
                base_rtt_s: fact.base_rtt.as_secs_f64(),
                start_s: start,
                stop_s: stop,
                goodput_bps: if active > 0.0 { delivered as f64 * 8.0 / active } else { 0.0 },
                delivered_bytes: delivered,
                sent_packets: sent[i],
                // The kernel's senders do not say when these happen.
                retransmitted_packets: 0,
                timeouts: 0,
                fast_retransmits: 0,
                ecn_responses: 0,
                round_trip_time_mean_s: None,
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
            self.put_metrics(row, &replication.flows, *to - *from);
        }
    }

    /// The figures of flows in a row of metrics; of a segment there are none but completion times.
    fn put_metrics(&self, row: &mut MetricRow, flows: &[FlowRow], length: f64) {
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
        let own: Vec<usize> = (0..flows.len()).filter(counts).collect();
        if own.is_empty() {
            return;
        }
        if row.segment.is_none() {
            let bytes: u64 = own.iter().map(|i| flows[*i].delivered_bytes).sum();
            row.values.set(Metric::Goodput, bytes as f64 * 8.0 / length);
            let [(from, _), (to, _)] = &self.received;
            let half =
                |f: &FlowRow| 2.0 * (f.stop_s.unwrap_or(*to).min(*to) - f.start_s.max(*from)) >= length;
            let bulk = own.iter().filter(|i| self.sources.flows[**i].fact.bulk && half(&flows[**i]));
            let shares: Vec<f64> = bulk.map(|i| flows[*i].goodput_bps).collect();
            row.values.set(Metric::Jain, quell_lab::jain_index(&shares).unwrap_or(f64::NAN));
        }
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
