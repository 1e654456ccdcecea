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
use quell_gateway::traffic::{App, Draw, Flow, Kind, MOST_FLOWS, Traffic, address, congestion_controls};
use quell_gateway::wire::{Side, Wire, WireConfig};
use quell_gateway::{ARRIVAL_COLUMNS, Delays, Event, LineConfig, LogReader, write_arrival};
use quell_lab::{Options, PointInfo, Replication, Results};
use quell_scenario::{Document, Files, FoundFile, Plugins, Point, Study};
use quell_sim::network::{self as sim, Connection, Distribution, Gaps};
use quell_tcp::{CongestionControl, TcpParams};
use quell_units::{Bytes, Duration, QueueSize, Time};

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
        let seeds = args.seed.map(|seed| toml::Value::Array(vec![toml::Value::Integer(seed as i64)]));
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
            let Some(sources) = job.run(&known, &log, args.packet_sockets, &show)? else { break };
            let results = job.results(&log, &sources)?;
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
    ecn: bool,
    line: LineConfig,
    back: Option<LineConfig>,
}

/// Whose packets cross the bottleneck.
struct Sources {
    /// Of each flow the number of its group, if its data goes that way and not its acknowledgments.
    groups: Vec<Option<u16>>,
    /// The names of the groups.
    names: Vec<String>,
    mean_packet: Bytes,
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
    let back = id(BACK).map(|l| &links[l.0 as usize]).map(|link| LineConfig {
        name: BACK.into(),
        rate: link.rate.initial,
        buffer: link.queue.as_ref().map_or(QueueSize::Packets(f64::from(1 << 16)), |q| q.buffer),
        mean_packet: at.link.mean_packet,
        ecn: link.queue.as_ref().is_some_and(|q| q.ecn),
        seed: job.seed,
        // The way back is drop-tail unless the scenario gives it an algorithm of its own, which is not read here.
        aqm: AqmConfig::DropTail(Default::default()),
    });
    if dumbbell.reverse.aqm.is_some() {
        return Err(refuse(job, "the way back of a wire is drop-tail (dumbbell.reverse.aqm)"));
    }
    let end = scenario.duration;
    let facts = plan.facts;
    if plan.network.flows.len() > MOST_FLOWS {
        return Err(refuse(job, format!("{} flows are more than {MOST_FLOWS}", plan.network.flows.len())));
    }
    let mut drawn = Drawn {
        flows: Vec::new(),
        delays: Vec::new(),
        sources: Sources { groups: Vec::new(), names: facts.groups, mean_packet: at.link.mean_packet },
        mtu: 576,
        ecn: false,
        line,
        back,
    };
    let mut asked = Vec::new();
    for (i, (spec, fact)) in plan.network.flows.into_iter().zip(facts.flows).enumerate() {
        let from = if spec.forward.contains(&forward) { Side::Near } else { Side::Far };
        let rng = Seed(job.seed).indexed_stream("flow.traffic", i as u64);
        let kind = match spec.traffic {
            sim::Traffic::Tcp { tcp, app } => {
                asked.push(tcp.ecn);
                let wire = tcp.packet.get() + tcp.header.get();
                drawn.mtu = drawn.mtu.max(wire.clamp(576, 9000) as u16);
                tcp_kind(job, known, &tcp, app, rng)?
            }
            sim::Traffic::Udp(udp) => {
                drawn.mtu = drawn.mtu.max(udp.packet.mean().clamp(576.0, 9000.0) as u16);
                udp_kind(job, udp, rng)?
            }
            _ => return Err(refuse(job, "a trace is no traffic that hosts send")),
        };
        let since = |t: Time| t.since(Time::ZERO);
        drawn.flows.push(Flow {
            from,
            start: since(spec.start),
            stop: spec.stop.map_or(end, since).min(end),
            dscp: spec.dscp,
            kind,
        });
        drawn.delays.push(fact.base_rtt / 2);
        drawn.sources.groups.push((from == Side::Near).then_some(fact.group));
    }
    drawn.ecn = asked.contains(&true);
    if drawn.ecn && asked.contains(&false) {
        return Err(refuse(
            job,
            "the hosts of a wire ask for ECN with all connections or with none (tcp.ecn)",
        ));
    }
    drawn.line.build().map_err(|e| refuse(job, e.to_string()))?;
    Ok(drawn)
}

fn tcp_kind(
    job: &Job<'_>,
    known: &[String],
    tcp: &TcpParams,
    app: sim::App,
    mut rng: Rng,
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
    /// Headers of IPv4 and TCP, and TCP's time stamps (RFC 7323).
    const HEADERS: u64 = 40;
    const OPTIONS: u64 = 12;
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
        sim::App::Paced(_) => return Err(refuse(job, "sources with a rate of their own are not live yet")),
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
    Ok(Kind::Tcp { congestion: name.to_string(), segment, app })
}

fn udp_kind(job: &Job<'_>, udp: sim::UdpSpec, mut rng: Rng) -> Result<Kind, Failure> {
    let sim::UdpSpec { packet, pace, ecn } = udp;
    if !pace.rate.is_constant() || pace.on_off.is_some() {
        return Err(refuse(job, "sources that change or go on and off are not live yet"));
    }
    let rate = pace.rate.initial.bytes_per_sec();
    let mean = packet.mean();
    let exponential = pace.gaps == Gaps::Exponential;
    let size = move |d: &Distribution, rng: &mut Rng| d.draw(rng).round().max(1.0);
    let datagrams: Draw = Box::new(move || {
        let bytes = size(&packet, &mut rng);
        let gap = if exponential { rng.exponential(mean / rate) } else { bytes / rate };
        (bytes as u64, Duration::from_secs_f64(gap))
    });
    Ok(Kind::Udp { datagrams, ecn })
}

impl Job<'_> {
    /// Runs it in real time and keeps the log; `None` if it was interrupted.
    fn run(
        &self,
        known: &[String],
        log: &Path,
        packet_sockets: bool,
        show: &dyn Fn(f64),
    ) -> Result<Option<Sources>, Failure> {
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
            ecn: drawn.ecn,
            congestion: None,
            packet_sockets,
        };
        let failed = |e: &dyn std::fmt::Display| Failure::Failed(e.to_string());
        let wire = Wire::new(config, recorder).map_err(|e| failed(&e))?;
        let traffic = Traffic::start(&wire, drawn.flows).map_err(|e| failed(&e))?;
        let stop = interrupt::listen();
        let end = Time::ZERO + self.point.scenario.duration;
        let mut whole = true;
        loop {
            let now = wire.clock.now();
            if now >= end {
                break;
            }
            if stop.load(Ordering::Relaxed) {
                whole = false;
                break;
            }
            show(now.as_secs_f64());
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
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
        Ok(whole.then_some(drawn.sources))
    }

    /// The results of the log: its arrivals through the simulator.
    fn results(&self, log: &Path, sources: &Sources) -> Result<Results, Failure> {
        let cannot = |e: &dyn std::fmt::Display| Failure::Failed(format!("{}: {e}", log.display()));
        let file = std::fs::File::open(log).map_err(|e| cannot(&e))?;
        let mut reader = LogReader::new(BufReader::with_capacity(1 << 20, file)).map_err(|e| cannot(&e))?;
        let header = format!("{ARRIVAL_COLUMNS}\n").into_bytes();
        // One file for each group, and one for what comes back to flows of the other direction.
        let others = sources.names.len();
        let mut files = vec![header.clone(); others + 1];
        let end = Time::ZERO + self.point.scenario.duration;
        while let Some(entry) = reader.next_entry().map_err(|e| cannot(&e))? {
            let Event::Arrived { packet, .. } = entry.event else { continue };
            if entry.line != 0 || entry.time >= end {
                continue;
            }
            let flow = usize::from(packet.delay.wrapping_sub(address(0)));
            let group = sources.groups.get(flow).copied().flatten().map_or(others, usize::from);
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
        Ok(quell_lab::run(&study, &Options { threads: Some(1), ..Options::default() })?)
    }
}
