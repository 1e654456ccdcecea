//! `quell wire`: a bottleneck on this machine, with real packets.

mod args;
mod table;

use std::path::Path;
use std::process::{Command, ExitStatus};

use quell_gateway::wire::{HOST, Running, Side, Wire, WireConfig};
use quell_gateway::{Delays, LineConfig, LogHeader, MAX_PACKETS, Recorder, create_log, traffic};
use quell_live::Live;
use quell_units::text::cut;
use quell_units::{BitRate, Bytes, Duration, QueueSize};

pub use args::Args;

use crate::args::Changes;
use crate::failure::Failure;
use crate::folder::{self, Place};
use crate::selection::Selection;
use crate::{interrupt, live, simulate, terminal};

/// The buffer of algorithms for which a bandwidth-delay product is too little.
const ROOMY: Duration = Duration::from_millis(200);

/// How often it looks whether what it waits for has ended.
const TICK: std::time::Duration = std::time::Duration::from_millis(10);

/// A bottleneck for a command, or for the traffic of a scenario.
pub fn run(args: &Args, line: Vec<String>) -> Result<(), Failure> {
    // What is wrong with the input is said before anything begins.
    let plan = match &args.scenario {
        Some(file) => Plan::Scenario(scenario(file, args)?),
        None => Plan::Command(Box::new(config(args)?)),
    };
    if live::outside()? {
        return Ok(());
    }
    match plan {
        Plan::Scenario(live) => measure(&live, args, line),
        Plan::Command(config) => command(args, *config),
    }
}

enum Plan {
    Scenario(Live),
    Command(Box<WireConfig>),
}

/// The scenario that is to be run live, if it can be a wire.
fn scenario(file: &Path, args: &Args) -> Result<Live, Failure> {
    let changes = Changes { set: args.set.clone(), sweep: Vec::new() };
    let one = args.seed.map(|seed| toml::Value::Array(vec![toml::Value::Integer(seed as i64)]));
    let seeds = one.or(args.seeds.map(|n| toml::Value::Integer(i64::from(n))));
    let chosen = simulate::Chosen { aqm: &args.aqm, baseline: None };
    let (mut study, _) = simulate::changed(file, &changes, seeds, chosen)?;
    simulate::choose(&mut study, &args.aqm)?;
    Ok(Live::of(study)?)
}

/// Runs a scenario and keeps the results.
fn measure(live: &Live, args: &Args, line: Vec<String>) -> Result<(), Failure> {
    let selection = Selection::of(&args.view)?;
    simulate::check_view(&selection, live.study())?;
    let file = args.scenario.as_ref().map(|file| folder::name(std::slice::from_ref(file)));
    let name = file.map_or("live".into(), |name| format!("{name}-live"));
    let place = Place::choose(args.out.as_deref(), &name, args.overwrite)?;
    let measured = live::measure(live, args.log.as_deref(), args.packet_sockets, false, line)?;
    live::show(place, &measured.results, &selection, &measured.logs)
}

/// The wire that the options describe.
fn config(args: &Args) -> Result<WireConfig, Failure> {
    if let (Some(_), Some(_), Some(_)) = (args.rate, args.up, args.down) {
        return Err(bad_input!(
            "--rate: has no effect because --up and --down set both directions; leave out one of the three"
        ));
    }
    let (Some(up), Some(down)) = (args.up.or(args.rate), args.down.or(args.rate)) else {
        return Err(bad_input!(
            "give a rate or a scenario: quell wire --rate 10Mbit/s --rtt 50ms -- COMMAND (or --up and --down for two \
             rates), or quell wire SCENARIO"
        ));
    };
    // clap does not ask for a scenario beside these: it conflicts with --rate.
    let of_scenarios = [
        ("--out", args.out.is_some()),
        ("--seeds", args.seeds.is_some()),
        ("--metric", !args.view.metrics.is_empty()),
        ("--link", args.view.link.is_some()),
        ("--classes", args.view.classes),
        ("--segments", args.view.segments),
    ];
    if let Some((option, _)) = of_scenarios.iter().find(|(_, given)| *given) {
        return Err(bad_input!(
            "{option}: applies to the results of a scenario, but a command has none; use quell wire SCENARIO {option}, \
             or --log FILE to keep what happens to a command's packets"
        ));
    }
    let rtt = args.rtt.unwrap_or(Duration::ZERO);
    if rtt > Duration::from_secs(10) {
        return Err(bad_input!("--rtt: {rtt} must be at most 10 s"));
    }
    if !(576..=9000).contains(&args.mtu) {
        return Err(bad_input!("--mtu: {} must be 576 (RFC 791) to 9000 bytes", args.mtu));
    }
    let mean_packet = Bytes::new(u64::from(args.mtu));
    let algorithm = match args.aqm.as_slice() {
        [] => "drop-tail",
        [algorithm] => algorithm,
        several => {
            return Err(bad_input!(
                "--aqm: {} are {} algorithms, but a wire for a command has one; run it once for each, or write a \
                 scenario with them: quell wire SCENARIO",
                several.join(", "),
                several.len()
            ));
        }
    };
    let aqm = quell_gateway::commands::named_algorithm("--aqm", algorithm, &args.set)
        .map_err(|e| Failure::BadInput(e.to_string()))?;
    let seed = match args.seed {
        Some(seed) => seed,
        None => quell_gateway::random_seed().map_err(|e| Failure::cannot("draw a seed", e))?,
    };
    let line = |name: &str, rate: BitRate| {
        let holding = |buffer| {
            let name = name.to_string();
            let (ecn, aqm) = (args.ecn, aqm.clone());
            let line = LineConfig {
                name,
                rate,
                buffer,
                mean_packet,
                ecn,
                seed,
                aqm,
                shaper: None,
                classes: None,
                behind: None,
            };
            line.build().map(|_| line)
        };
        let sent_in = |time: Duration| {
            let packets = rate.bytes_per_sec() * time.as_secs_f64() / mean_packet.get() as f64;
            QueueSize::Packets(packets.ceil().clamp(20.0, f64::from(MAX_PACKETS)))
        };
        let line = match args.buffer {
            Some(buffer) => holding(buffer),
            // A bandwidth-delay product, as routers have it. An algorithm whose target is longer than that needs what a
            // gateway has.
            None => match holding(sent_in(rtt)) {
                Ok(line) if !line.holds_targets() => holding(sent_in(ROOMY)),
                line => line,
            },
        };
        let line = line.map_err(|e| Failure::BadInput(e.to_string()))?;
        for remark in line.remarks() {
            terminal::note(&format!("{name}: {algorithm}: {remark}"));
        }
        Ok::<_, Failure>(line)
    };
    let lines = [line("up", up)?, line("down", down)?];
    if let Some(name) = &args.congestion {
        may_be_default(name)?;
    }
    let half = Delays::all(rtt / 2);
    Ok(WireConfig {
        lines: lines.map(Some),
        delays: [half.clone(), half],
        courses: Default::default(),
        mtu: args.mtu,
        ecn: args.ecn,
        congestion: args.congestion.clone(),
        packet_sockets: args.packet_sockets,
    })
}

/// Whether the kernel lets hosts have this congestion control where no socket chooses one.
fn may_be_default(name: &str) -> Result<(), Failure> {
    let (known, allowed) = (traffic::congestion_controls(), traffic::allowed_congestion_controls());
    let shown = cut(name);
    if !known.iter().any(|known| known == name) {
        return Err(bad_input!(
            "--congestion: this kernel does not have \"{shown}\" ({}); modprobe tcp_{shown} may add it",
            known.join(", "),
        ));
    }
    if !allowed.iter().any(|allowed| allowed == name) {
        let all = allowed.join(" ");
        return Err(bad_input!(
            "--congestion: only the administrator may use \"{shown}\"; sysctl -w \
             net.ipv4.tcp_allowed_congestion_control=\"{all} {shown}\" allows it for everyone",
        ));
    }
    Ok(())
}

/// The log that the options ask for.
fn recorder(file: &Path, lines: &[Option<LineConfig>; 2]) -> Result<Recorder, Failure> {
    let header = LogHeader::now(lines.iter().flatten().cloned().collect());
    let made = create_log(file).and_then(|to| Recorder::new(to, &header));
    made.map_err(|e| live::no_log(file, &e))
}

/// Runs a command behind the bottleneck, and says on stderr what happened there.
fn command(args: &Args, config: WireConfig) -> Result<(), Failure> {
    let lines = config.lines.clone();
    let recorder = args.log.as_ref().map(|log| recorder(log, &lines)).transpose()?;
    let wire = Wire::new(config, recorder).map_err(|e| {
        // Nothing is in it yet, and another try may want the name.
        if let Some(log) = args.log.as_ref().filter(|log| log.symlink_metadata().is_ok_and(|m| m.is_file())) {
            let _ = std::fs::remove_file(log);
        }
        Failure::Failed(e.to_string())
    })?;
    let [near, far] = [Side::Near, Side::Far].map(|side| side.address(HOST).to_string());
    let with_env = |words: &[String]| {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env("QUELL_NEAR", &near).env("QUELL_FAR", &far);
        command
    };
    let interrupted = interrupt::leave();
    let mut server = None;
    if let Some(text) = &args.far {
        let command = with_env(&["sh".into(), "-c".into(), text.clone()]);
        let child = quell_gateway::wire::spawn(wire.host(Side::Far), command);
        server = Some(child.map_err(|e| Failure::cannot(format!("run \"{}\"", cut(text)), e))?);
    }
    let words = if args.command.is_empty() {
        terminal::say(&format!(
            "this is a shell at {near}; the other host is {far}; type exit to end the wire"
        ));
        vec![std::env::var("SHELL").unwrap_or_else(|_| "sh".into())]
    } else {
        args.command.clone()
    };
    let child = quell_gateway::wire::spawn(wire.host(Side::Near), with_env(&words));
    let mut child = child.map_err(|e| Failure::cannot(format!("run \"{}\"", cut(&words[0])), e))?;
    let ended = ended(&mut child);
    let congestion = wire.host(Side::Near).run(traffic::default_congestion_control);
    // It is meant to be there as long as the other command is.
    let mut far_ended = None;
    if let Some(mut server) = server {
        far_ended = server.try_wait().ok().flatten().filter(|status| !status.success());
        let _ = server.end();
    }
    let report = wire.close().map_err(|e| Failure::Failed(format!("the wire has failed: {e}")))?;
    if interrupted.load(std::sync::atomic::Ordering::Relaxed) {
        // The terminal has shown ^C where the table would begin.
        terminal::say("");
    }
    terminal::say(&table::table(&lines, &report));
    if let Some(name) = congestion {
        terminal::say(&format!("TCP used {name} unless a program chose another (--congestion)"));
    }
    if let Some(why) = &report.log {
        return Err(Failure::Failed(format!("the log is incomplete: {why}")));
    }
    // What the near command did without the other is not a measurement.
    let failed_far =
        far_ended.map(|status| format!("the command of --far failed before the other one ended ({status})"));
    match ended {
        Ok(status) if status.success() => failed_far.map_or(Ok(()), |why| Err(Failure::Failed(why))),
        // A command's own failure is ours, as with `time` and `env`; of one that we ended, the reason.
        Ok(_) if interrupt::terminated() => std::process::exit(interrupt::code()),
        Ok(status) => {
            if let Some(why) = failed_far {
                terminal::note(&why);
            }
            std::process::exit(status.code().unwrap_or_else(|| interrupt::signaled(status)))
        }
        Err(e) => Err(Failure::cannot("wait for the command", e)),
    }
}

/// Waits until the command ends, and ends it if this program is asked to terminate.
fn ended(child: &mut Running) -> std::io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if interrupt::terminated() {
            return child.end();
        }
        std::thread::sleep(TICK);
    }
}
