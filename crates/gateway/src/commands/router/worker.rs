//! The worker: the process that reads packets. It opens what it needs, gives up its rights, and only then asks for
//! packets.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::time::Duration as Wait;

use quell_queue::Qdisc as _;
use quell_units::text::{duration, three_digits};
use quell_units::{Bytes, Duration, Time};
use rustix::process::Signal;
use rustix::thread::CapabilitySet;

use super::super::failure::{Failure, say};
use super::super::text::{print, table};
use super::channel::{Channel, Counts, Log, Order, Report, Start};
use crate::confine::{Whose, close_calls, close_files, confine};
use crate::header::FlowKey;
use crate::metrics::{EVERY, Endpoint, KernelDrops, Monitor, Publisher, Server, Thresholds};
use crate::port::nfqueue::{Losses, NfQueue};
use crate::port::{MonotonicClock, sleep};
use crate::relay::Path;
use crate::{Delays, LineConfig, LogHeader, Pace, Recorder, Relay, Sleep};

/// The longest interval at which it says that it goes round.
pub(super) const BEAT: Duration = Duration::from_millis(500);

/// The interval at which it looks at what the kernel has lost.
const LOOK: Duration = Duration::from_secs(1);

/// The number of packets that the kernel's queues may hold: both buffers, what is taken in at once, and the packet in
/// transmission. If nobody reads them, traffic passes once they are full.
fn room(lines: &[LineConfig]) -> u32 {
    // An acknowledgment has 40 bytes or more; less than a header is not a packet.
    let most = lines.iter().map(|l| l.most_packets(Bytes::new(20))).max().unwrap_or(0);
    most.saturating_add(MARGIN).min(1 << 20) as u32
}

/// The part of [`room`] that is not the buffer's.
const MARGIN: usize = 512;

/// The room of the kernel's queues, as it is and as it is to be: while more waits than there would be room for, what
/// comes would pass around the line.
struct Room {
    is: u32,
    wanted: u32,
}

impl Room {
    /// Larger at once, smaller when what waits fits.
    fn settle(&mut self, relay: &mut Relay<NfQueue>) {
        if self.is == self.wanted {
            return;
        }
        let waits = |path: &Path| path.line().map_or(0, |line| line.queue().view().packets.get() as usize);
        let most = relay.paths().iter().map(waits).max().unwrap_or(0) + relay.on_the_way();
        if self.wanted > self.is || most + MARGIN <= self.wanted as usize {
            self.is = self.wanted;
            relay.ports.resize(self.is);
        }
    }
}

/// The file of the log, which goes on in another one before it is too long.
struct LogFile {
    /// The bytes that it may have.
    most: u64,
    asked: bool,
    next: Option<fs::File>,
}

impl LogFile {
    fn new(most: u64) -> Self {
        LogFile { most, asked: false, next: None }
    }

    /// Asks for the next file in time, and begins it when nothing waits, or when it must: the algorithms restart with
    /// it, which matters least then.
    fn settle(&mut self, relay: &mut Relay<NfQueue>, channel: &Channel, now: Time) {
        let Some(recorder) = relay.recorder().filter(|recorder| recorder.ended().is_none()) else { return };
        let written = recorder.written();
        if !self.asked && written >= self.most / 4 * 3 {
            self.asked = channel.send(&Report::LogFull).is_ok();
        }
        if (written >= self.most || relay.idle(now))
            && let Some(file) = self.next.take()
        {
            self.asked = false;
            if let Err(e) = relay.next_log(Box::new(file), now) {
                say(format_args!("the log ends: {e}"));
                relay.end_log("its next file cannot be begun");
            }
        }
    }
}

/// Runs until the supervisor says stop or ends.
pub(super) fn run() -> Result<(), Failure> {
    crate::sys::close_inherited();
    // Its stdin is the channel.
    let socket = io::stdin().as_fd().try_clone_to_owned();
    let mut channel = Channel::new(socket.map_err(|e| Failure::Failed(format!("stdin: {e}")))?);
    let Ok(Order::Start(start)) = channel.wait::<Order>(Wait::from_secs(10)) else {
        return Err(Failure::BadInput("a worker is started by `quell gateway run`".into()));
    };
    match work(*start, &mut channel) {
        Ok((lines, paths, ran, log)) => {
            let printed = print(&summary(&lines, &paths, ran));
            let _ = channel.send(&Report::Ended(log));
            printed
        }
        Err(why) => {
            let _ = channel.send(&Report::Failed(why.clone()));
            Err(Failure::Failed(why))
        }
    }
}

/// The algorithms that have judged.
type Algorithms = Vec<&'static str>;

/// The last configuration and all algorithms of each line, what was measured, for how long, and what is wrong with the
/// log.
type Ended = (Vec<(LineConfig, Algorithms)>, Vec<Path>, f64, Option<String>);

/// Puts what was being done before an error.
fn doing<E: core::fmt::Display>(what: &str) -> impl FnOnce(E) -> String {
    move |e| format!("{what}: {e}")
}

fn work(start: Start, channel: &mut Channel) -> Result<Ended, String> {
    // With rights.
    let threads = fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    if threads != 1 {
        return Err(format!(
            "there are {threads} threads where rights are given up: only one would lose them"
        ));
    }
    // A log that outgrows its limit is an error of writing, not the end (setrlimit(2)).
    let full = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, full).map_err(doing("signals"))?;
    let log = match (start.log, channel.file()) {
        (Log::None, _) => None,
        (Log::File, Some(file)) => Some(Ok(fs::File::from(file))),
        (Log::File | Log::Lost, _) => Some(Err("the file of the log has not come".to_string())),
    };
    let endpoint = match &start.metrics {
        // The supervisor has seen whether it may be any address.
        Ok(address) => Endpoint::tcp(*address, true)?,
        Err(path) => Endpoint::unix(path),
    };
    let place = match &start.metrics {
        Ok(address) => address.to_string(),
        Err(path) => quell_files::name(path),
    };
    let listening = endpoint.listen().map_err(doing(&format!("metrics cannot be shown at {place}")))?;
    let mut losses = Losses::of(start.queues);
    let key = FlowKey::random().map_err(doing("flow hashes"))?;
    let mut ports =
        NfQueue::open(start.queues, start.bits, key).map_err(doing("no socket to the kernel's queues"))?;
    ports.repeats = start.repeats;

    // Without.
    confine(CapabilitySet::NET_ADMIN, Some(start.user)).map_err(doing("rights cannot be given up"))?;
    let files = close_files().map_err(doing("landlock"))?;
    // A change of user clears it (prctl(2)), so not before.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(doing("prctl"))?;
    if rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get()) != Some(start.supervisor as i32) {
        return Err("the supervisor has ended".into());
    }
    let begun = log.map(|log| {
        let header = LogHeader::now(start.lines.to_vec());
        Recorder::new(log?, &header).map_err(doing("the log cannot be written"))
    });
    let recorder = match begun.transpose() {
        // Traffic has come this way before, and goes on to.
        Err(why) if start.again => {
            // Of one that is lost, the supervisor has said why.
            if start.log == Log::File {
                say(format_args!("{why}: this worker has no log"));
            }
            Some(Recorder::of_none(
                "the worker was started again and cannot write its log: is the disk full?",
            ))
        }
        begun => begun?,
    };
    let paths = start.lines.iter().map(|l| (Some(l.clone()), Delays::all(Duration::ZERO))).collect();
    let mut relay = Relay::new(ports, paths, Pace::default(), recorder).map_err(|e| e.to_string())?;
    for aqm in &start.shadows {
        for (path, line) in start.lines.iter().enumerate() {
            let config = LineConfig { aqm: aqm.clone(), ..line.clone() };
            relay.shadow(path, config).map_err(doing("shadow"))?;
        }
    }
    let (publisher, reader) = Publisher::new(&relay);
    let monitor = Monitor::new(reader, Thresholds::default());
    let server = Server::serve(listening, monitor, None, |notice| say(notice));
    let _server = server.map_err(doing("metrics cannot be shown"))?;
    let calls = close_calls(Whose::Process).map_err(doing("seccomp"))?;
    let most = room(&start.lines);
    relay.ports.bind(most).map_err(doing("the kernel's queues cannot be bound"))?;
    let _ = channel.send(&Report::Ready { files, calls });
    turns(relay, channel, &mut losses, publisher, most, LogFile::new(start.log_size))
        .map_err(|e| e.to_string())
}

fn turns(
    mut relay: Relay<NfQueue>,
    channel: &mut Channel,
    losses: &mut Losses,
    mut publisher: Publisher,
    most: u32,
    mut log: LogFile,
) -> io::Result<Ended> {
    let clock = MonotonicClock::new();
    let (mut published, mut said, mut looked) = (Time::ZERO, Time::ZERO, Time::ZERO);
    let mut kernel = KernelDrops::default();
    let mut room = Room { is: most, wanted: most };
    let mut seen = Counts::default();
    let mut pauses = 0;
    let of = |path: &Path| path.config().map(|config| config.aqm.name()).into_iter().collect();
    let mut algorithms: Vec<Algorithms> = relay.paths().iter().map(of).collect();
    loop {
        let now = clock.now();
        if now.since(published) >= EVERY {
            if relay.pauses > pauses {
                let away = now.since(published).as_secs_f64();
                say(format_args!("a pause of {away:.1} s: the machine was suspended, or the worker stopped"));
                pauses = relay.pauses;
            }
            published = now;
            if now.since(looked) >= LOOK {
                looked = now;
                kernel = losses.read();
            }
            let beside = relay.ports.counters;
            (kernel.refused, kernel.unjudged, kernel.strange) =
                (beside.refused, beside.passed, beside.strange);
            (kernel.bypassed, kernel.rules_gone) = (seen.bypassed, seen.rules_gone);
            (kernel.restarts, kernel.device_gone) = (seen.restarts, seen.device_gone);
            room.settle(&mut relay);
            log.settle(&mut relay, channel, now);
            publisher.publish(&relay, kernel, now);
            if now.since(said) >= BEAT {
                said = now;
                // Whether anyone listens shows when it is read.
                let _ = channel.beat();
            }
            match channel.take::<Order>() {
                Ok(None) | Ok(Some(Order::Start(_))) => {}
                Ok(Some(Order::Lines(lines))) => {
                    let done = reconfigure(&mut relay, &mut room, *lines, now);
                    for (path, names) in relay.paths().iter().zip(&mut algorithms) {
                        let name = path.config().map(|config| config.aqm.name());
                        names.extend(name.filter(|name| names.last() != Some(name)));
                    }
                    let _ = channel.send(&Report::Reconfigured(done));
                }
                Ok(Some(Order::Counts(counts))) => seen = counts,
                Ok(Some(Order::NextLog)) => match channel.file() {
                    Some(file) => log.next = Some(file.into()),
                    None => relay.end_log("its next file cannot be made"),
                },
                Ok(Some(Order::Unmark)) => {
                    relay.ports.unmarked = true;
                    let _ = channel.send(&Report::Unmarked);
                }
                Ok(Some(Order::Stop)) | Err(_) => break,
            }
        }
        match relay.turn(|| clock.now())? {
            Sleep::None => {}
            Sleep::Tick(time) => sleep(time),
            Sleep::Input(time) => relay.ports.wait(time)?,
        }
    }
    let ran = clock.now().since(Time::ZERO).as_secs_f64();
    let lines = relay.paths().iter().zip(algorithms);
    let lines = lines.filter_map(|(path, names)| Some((path.config()?.clone(), names))).collect();
    let (ports, paths, log) = relay.close(clock.now())?;
    drop(ports);
    Ok((lines, paths, ran, log.err().map(|e| e.to_string())))
}

fn reconfigure(
    relay: &mut Relay<NfQueue>,
    kernel: &mut Room,
    lines: [LineConfig; 2],
    now: Time,
) -> Result<(), String> {
    // All are built before any changes.
    for line in &lines {
        line.build().map_err(|e| e.to_string())?;
    }
    kernel.wanted = room(&lines);
    kernel.settle(relay);
    for (path, line) in lines.into_iter().enumerate() {
        relay.reconfigure(path, line, now).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn summary(lines: &[(LineConfig, Algorithms)], paths: &[Path], ran: f64) -> String {
    let head = ["", "algorithm", "rate", "arrived", "sent", "delay", "dropped", "marked", "late P99"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for ((line, algorithms), path) in lines.iter().zip(paths) {
        let (m, c) = (&path.meter, &path.meter.counters);
        let dropped = c.refused.total().packets + c.dropped.total().packets;
        rows.push(vec![
            line.name.clone(),
            // Figures are of the whole run.
            algorithms.join(", then "),
            line.capacity().to_string(),
            c.arrived.packets.to_string(),
            format!("{} Mbit/s", three_digits(m.sent.bytes as f64 * 8.0 / ran.max(1e-9) / 1e6)),
            m.mean_delay_s().map_or("-".into(), duration),
            dropped.to_string(),
            c.marked.packets.to_string(),
            duration(m.lateness_p99_s().unwrap_or(0.0)),
        ]);
    }
    table(&rows, usize::MAX).iter().map(|line| format!("{line}\n")).collect()
}
