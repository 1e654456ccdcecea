//! The supervisor: the process that may set rules. It starts the worker, watches it and undoes what was done; it never
//! sees a packet.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as Wait, Instant};

use quell_aqm::catalog::AqmConfig;
use quell_units::{BitRate, QueueSize};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Access;
use rustix::thread::CapabilitySet;
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::super::algorithm::changed_algorithm;
use super::super::failure::{Failure, say};
use super::super::run_dir::{self, file};
use super::channel::{Channel, Counts, Log, Order, Report, Start};
use super::check::{Device, RouterState, look, look_at_device, look_at_rates};
use super::firewall::Rules;
use super::journal::{Answer, Journal, Process, forget, network};
use super::lock::Lock;
use super::notify::Service;
use super::settings::{self, Fixed, RunArgs, Settings};
use super::user;
use crate::confine::{confine_programs, holds_without};
use crate::record::{create_next_log, prune_logs};
use crate::{ConfigError, LineConfig};

/// A worker that has said nothing for so long hangs.
pub(super) const HANGS: Wait = Wait::from_secs(3);
/// The time that a worker may take to begin, and to end.
const PATIENCE: Wait = Wait::from_secs(15);
/// The most new starts within [`WITHIN`]: if a worker then ends again, something is wrong that no start mends.
pub(super) const RESTARTS: usize = 5;
pub(super) const WITHIN: Wait = Wait::from_secs(60);

/// The interval at which it looks whether its rules are there, and what they have counted. That starts two programs,
/// which take some ms of a processor.
pub(super) const LOOK: Wait = Wait::from_secs(5);

/// The interval at which it looks for its device.
const LOOK_AT_DEVICE: Wait = Wait::from_secs(1);

/// The request of `reload`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Change {
    /// Tells the answer to this from others.
    pub order: u64,
    /// Read the file again, and nothing below.
    pub read: bool,
    /// This file, not that of the start.
    pub file: Option<PathBuf>,
    pub up: Option<BitRate>,
    pub down: Option<BitRate>,
    pub buffer: Option<QueueSize>,
    pub aqm: Option<AqmConfig>,
    /// Parameters of the present algorithm.
    #[serde(default)]
    pub set: Vec<(String, String)>,
    /// The parameters that were set, of the present algorithm or of `aqm`.
    #[serde(default)]
    pub given: Vec<String>,
}

/// The signals that there are to hear.
struct Signals {
    wake: UnixStream,
    stop: Arc<AtomicBool>,
    reload: Arc<AtomicBool>,
}

impl Signals {
    fn new() -> io::Result<Self> {
        let (wake, end) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let (stop, reload) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        for (signal, flag) in [(SIGINT, &stop), (SIGTERM, &stop), (SIGHUP, &reload)] {
            // The flag first: whoever is woken finds it.
            signal_hook::flag::register(signal, flag.clone())?;
            signal_hook::low_level::pipe::register(signal, end.try_clone()?)?;
        }
        Ok(Signals { wake, stop, reload })
    }

    fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Forgets what woke it.
    fn heard(&self) {
        let mut bytes = [0; 64];
        while rustix::io::read(&self.wake, &mut bytes).is_ok_and(|n| n > 0) {}
    }
}

/// A worker that runs.
struct Worker {
    child: Child,
    channel: Channel,
    /// The time at which it last said something.
    heard: Instant,
}

impl Worker {
    /// Ends it if it has not ended.
    fn kill(&mut self) -> Option<ExitStatus> {
        // Also one that is stopped.
        let _ = self.child.kill();
        self.child.wait().ok()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A gateway from its start to its end.
struct Supervisor<'a> {
    args: RunArgs,
    /// The words that lead to the gateway's commands on the command line of this program.
    words: &'a [&'a str],
    settings: Settings,
    /// The user and group that packets are read as.
    user: (u32, u32),
    journal: Journal,
    signals: Signals,
    service: Service,
    /// There was a worker before the next one, of this gateway or of one that was killed: what it has written is worth
    /// reading, and traffic comes this way.
    again: bool,
    restarts: Vec<Instant>,
    /// The number of times that a worker was started in the place of another.
    restarted: u64,
    /// The file of the log that was made for the first worker: nobody's if that fails.
    first_log: Option<PathBuf>,
    /// The order that the worker is carrying out, and what holds then.
    pending: Option<(Option<u64>, Settings)>,
    seen: RuleWatch,
    /// The device at the last look, and when the next one is.
    device: Option<Device>,
    next_device: Instant,
}

/// The state of the rules at the last look.
struct RuleWatch {
    next: Instant,
    /// Their count when they were last looked at, and in all.
    last: u64,
    bypassed: u64,
    /// The number of times that some were gone.
    gone: u64,
    /// The firewall's last message that was not understood.
    why: String,
}

/// Tells whether this code is part of the program that runs, and not of a library that another program has loaded.
fn is_the_program() -> bool {
    let here = run as fn(&RunArgs, &[&str]) -> Result<(), Failure> as usize;
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    // proc(5): from-to, four fields, the file.
    let file = maps.lines().find_map(|line| {
        let (from, rest) = line.split_once('-')?;
        let (to, rest) = rest.split_once(' ')?;
        let [from, to] = [from, to].map(|text| usize::from_str_radix(text, 16));
        (from.ok()?..to.ok()?).contains(&here).then(|| rest.splitn(5, ' ').nth(4).unwrap_or_default().trim())
    });
    fs::read_link("/proc/self/exe").is_ok_and(|program| Some(program.as_os_str()) == file.map(OsStr::new))
}

/// Runs until it is told to stop.
pub(super) fn run(args: &RunArgs, words: &[&str]) -> Result<(), Failure> {
    if !is_the_program() {
        return Err(Failure::Failed(
            "a gateway starts its own program a second time, which does not work from Python: use the binary `quell` \
             or `quell-gateway`"
                .into(),
        ));
    }
    let settings = args.settings()?;
    let id = settings.fixed.id.clone();
    // Before anything is looked at, and for as long as it runs: what is found is to hold when it is acted upon.
    let lock = Lock::take(&id);
    // Before its link is looked at: what changes meanwhile is noticed.
    let device = Device::of(&settings.fixed.wan);
    let RouterState { mut refused, notes, rules } = look(&settings);
    if refused.is_empty() {
        match &lock {
            Ok(Some(_)) => {}
            Ok(None) => refused.push(format!(
                "another process is already starting, ending or cleaning gateway \"{id}\": try again, or choose \
                 another --id"
            )),
            Err(e) => refused.push(format!("the name \"{id}\" cannot be held in /run/quell: {e}")),
        }
    }
    let (true, Some(rules)) = (refused.is_empty(), rules) else {
        return Err(Failure::Failed(refused.join("\n  ")));
    };
    for note in notes {
        say(note);
    }
    let failed = |what: &str| {
        let what = what.to_string();
        move |e: io::Error| Failure::Failed(format!("{what}: {e}"))
    };
    // The name is held as long as this process runs.
    let (user, _held) = match settings.fixed.user {
        Some(user) => (user, None),
        None => user::free().map(|(number, held)| ((number, number), Some(held))).map_err(Failure::Failed)?,
    };
    let signals = Signals::new().map_err(failed("signals"))?;
    let me = Process::of(std::process::id()).ok_or_else(|| Failure::Failed("there is no /proc".into()))?;
    let journal = Journal {
        supervisor: me,
        worker: None,
        network: network(),
        rules,
        answer: None,
        metrics: settings.fixed.metrics,
    };

    // What an earlier one left, if it was killed. Rules that are where these will be stay until then.
    let left = Journal::read(&id).map_err(|e| Failure::Failed(e.to_string()))?;
    let stay = left
        .as_ref()
        .is_some_and(|left| (left.network, left.rules.kind) == (journal.network, journal.rules.kind));
    match &left {
        Some(left) if stay => {
            if let Some(worker) = &left.worker {
                let _ = worker.signal(rustix::process::Signal::KILL);
            }
        }
        Some(left) => left.undo().map_err(Failure::Failed)?,
        None => {}
    }
    give_up_rights(args, &settings).map_err(failed("rights cannot be given up"))?;
    // What stops traffic goes on to stop it if this start fails.
    let shut = stay && !journal.rules.open && left.as_ref().is_some_and(|left| !left.rules.open);
    if journal.rules.open {
        undone_by_a_panic(id.clone());
    }
    let mut supervisor = Supervisor {
        args: args.clone(),
        words,
        settings,
        user,
        journal,
        signals,
        service: Service::of_environment(),
        again: left.is_some(),
        restarts: Vec::new(),
        restarted: 0,
        first_log: None,
        pending: None,
        seen: RuleWatch { next: Instant::now() + LOOK, last: 0, bypassed: 0, gone: 0, why: String::new() },
        device,
        next_device: Instant::now() + LOOK_AT_DEVICE,
    };
    let begun = supervisor.begin();
    if let (Err(_), Some(log)) = (&begun, supervisor.first_log.take().filter(|log| log.is_file())) {
        // No packet is in it.
        let _ = fs::remove_file(log);
    }
    match begun.and_then(|worker| supervisor.watch(worker)) {
        Ok(()) => Ok(()),
        // It has ended by itself: what has to stop stays stopped.
        Err(Over::GaveUp(why)) if !supervisor.journal.rules.open => Err(stopped(&why, &id)),
        Err(Over::Failed(why)) if shut => Err(stopped(&why, &id)),
        Err(Over::GaveUp(why) | Over::Failed(why) | Over::Ended(why)) => {
            let undone = supervisor.journal.undo();
            Err(Failure::Failed(undone.err().map_or(why.clone(), |e| format!("{why}; {e}"))))
        }
    }
}

/// The rights of a supervisor: to set rules, to start a worker as another user, and to end it.
const RIGHTS: CapabilitySet = CapabilitySet::NET_ADMIN
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::KILL);

/// Gives up all other rights, of this process and of all that it starts.
fn give_up_rights(args: &RunArgs, settings: &Settings) -> io::Result<()> {
    // A new worker makes another log, and a reload reads the file again. Root without this right is a user as any other
    // where files are not its own.
    let log = settings.fixed.log.as_ref().map(|log| match log.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    });
    let reached = holds_without(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH, || {
        args.config.as_ref().is_none_or(|path| quell_files::open(path).is_ok())
            && log.is_none_or(|dir| rustix::fs::access(dir, Access::WRITE_OK | Access::EXEC_OK).is_ok())
    })?;
    let keep = if reached { RIGHTS } else { RIGHTS | CapabilitySet::DAC_OVERRIDE };
    if !reached {
        say(
            "note: the log or the settings are in a folder that is not root's: the supervisor keeps CAP_DAC_OVERRIDE",
        );
    }
    confine_programs(keep)
}

fn stopped(why: &str, id: &str) -> Failure {
    Failure::Failed(format!(
        "{why}; traffic is stopped until the next start, or `quell gateway clean --id {id}`"
    ))
}

/// Lets traffic pass again if this process panics, whether that unwinds the stack or ends it at once.
fn undone_by_a_panic(id: String) {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        before(panic);
        if let Ok(Some(journal)) = Journal::read(&id)
            && journal.supervisor.pid == std::process::id()
        {
            let _ = journal.undo();
        }
    }));
}

/// The reason why a gateway ends.
enum Over {
    /// Workers end again and again.
    GaveUp(String),
    /// It did not come to run.
    Failed(String),
    /// It was told to, and something was wrong then.
    Ended(String),
}

impl Supervisor<'_> {
    /// Worker, then rules: from then on packets come.
    fn begin(&mut self) -> Result<Worker, Over> {
        let cannot = |e: io::Error| Over::Failed(format!("cannot write the journal: {e}"));
        self.journal.write().map_err(cannot)?;
        let worker = self.start().map_err(Over::Failed)?;
        self.journal.write().map_err(cannot)?;
        let rules: &Rules = &self.journal.rules;
        rules.replace().map_err(|e| Over::Failed(format!("the firewall refuses a rule: {e}")))?;
        let [up, down] = &self.settings.lines;
        say(format_args!("ready: {} up {} down {}", up.aqm.name(), up.capacity(), down.capacity()));
        // The rules name the device whether it is there or not.
        self.service.say("READY=1");
        self.tell(&worker);
        Ok(worker)
    }

    /// Starts a worker and waits until packets can come.
    fn start(&mut self) -> Result<Worker, String> {
        let fixed = &self.settings.fixed;
        let made = fixed.log.as_ref().map(|log| self.next_log(log)).transpose();
        let (log, file_of_log) = match made {
            Ok(Some((file, name))) => {
                if !self.again {
                    self.first_log = Some(name);
                }
                (Log::File, Some(file))
            }
            Ok(None) => (Log::None, None),
            // Traffic has come this way before, and goes on to.
            Err(why) if self.again => {
                say(format_args!("{why}: this worker has no log"));
                (Log::Lost, None)
            }
            Err(why) => return Err(why),
        };
        let start = Start {
            supervisor: std::process::id(),
            lines: self.settings.lines.clone(),
            shadows: self.settings.shadows.clone(),
            queues: [fixed.queue, fixed.queue + 1],
            bits: fixed.bits,
            repeats: self.journal.rules.kind.repeats(),
            log,
            log_size: fixed.log_size,
            again: self.again,
            metrics: fixed.metrics.ok_or_else(|| file(&fixed.id, "sock")),
            user: self.user,
        };
        let broken = |e: io::Error| format!("no worker can start: {e}");
        let (channel, other): (Channel, OwnedFd) = Channel::pair().map_err(broken)?;
        let mut command = Command::new("/proc/self/exe");
        if let Some(name) = std::env::args_os().next() {
            command.arg0(name);
        }
        command.args(self.words).arg("worker").stdin(Stdio::from(other)).env_remove("NOTIFY_SOCKET");
        // In a group of its own: what a terminal sends, only the supervisor hears.
        let child = command.process_group(0).spawn().map_err(broken)?;
        self.journal.worker = Process::of(child.id());
        drop(command);
        let order = Order::Start(Box::new(start));
        let asked = match &file_of_log {
            Some(file) => channel.send_with(&order, file.as_fd()),
            None => channel.send(&order),
        };
        drop(file_of_log);
        let mut worker = Worker { child, channel, heard: Instant::now() };
        asked.map_err(broken)?;
        match worker.channel.wait::<Report>(PATIENCE) {
            Ok(Report::Ready { files, calls }) => {
                worker.heard = Instant::now();
                self.again = true;
                if !files {
                    say(format_args!(
                        "note: this kernel has no landlock: the worker's files are not closed to it"
                    ));
                }
                if !calls {
                    say("note: there is no filter of system calls for this processor, of neither process");
                }
                Ok(worker)
            }
            Ok(Report::Failed(why)) => Err(why),
            Ok(_) => Err("the worker begins with what is not asked for".into()),
            Err(e) if e.kind() == io::ErrorKind::TimedOut => Err("the worker does not begin".into()),
            Err(_) => {
                let how = worker.kill().map_or(String::new(), |status| format!(" ({status})"));
                Err(format!("the worker has ended before it began{how}"))
            }
        }
    }

    /// Makes the next file of the log, and room for it.
    fn next_log(&self, log: &Path) -> Result<(fs::File, PathBuf), String> {
        let Fixed { log_size, log_total, .. } = self.settings.fixed;
        // The new one will have its size.
        match prune_logs(log, log_total - log_size) {
            Ok(removed) => {
                removed.iter().for_each(|old| say(format_args!("removed {}", quell_files::name(old))))
            }
            Err(e) => {
                say(format_args!("the oldest files of {} cannot be removed: {e}", quell_files::name(log)))
            }
        }
        create_next_log(log).map_err(|e| format!("cannot write {}: {e}", quell_files::name(log)))
    }

    /// The worker's log is as long as it may be.
    fn log_full(&self, worker: &Worker) {
        let Some(log) = &self.settings.fixed.log else { return };
        let sent = self.next_log(log).and_then(|(file, _)| {
            worker.channel.send_with(&Order::NextLog, file.as_fd()).map_err(|e| e.to_string())
        });
        if let Err(why) = sent {
            say(format_args!("the log ends: {why}"));
            let _ = worker.channel.send(&Order::NextLog);
        }
    }

    /// Watches until it is told to stop, or gives up.
    fn watch(&mut self, mut worker: Worker) -> Result<(), Over> {
        loop {
            if self.signals.stop() {
                return self.end(worker);
            }
            if self.signals.reload.swap(false, Ordering::Relaxed) {
                self.reload(&worker);
            }
            // What has come is heard before silence is: this process may have been stopped itself.
            if let Err(how) = self.hear(&mut worker) {
                worker = self.again(worker, &how)?;
                continue;
            }
            let silent = worker.heard.elapsed();
            if silent >= HANGS {
                let does = Process::doing(worker.child.id()).unwrap_or("is gone");
                let why = format!("has not answered for {} s and {does}", silent.as_secs());
                worker = self.again(worker, &why)?;
                continue;
            }
            if Instant::now() >= self.seen.next {
                self.look_at_rules(&worker);
                continue;
            }
            if Instant::now() >= self.next_device {
                self.look_at_device(&worker);
            }
            let next = self.seen.next.min(self.next_device).saturating_duration_since(Instant::now());
            let rest = (HANGS - silent).min(next);
            let rest = quell_units::Duration::from_nanos(rest.as_nanos() as u64);
            let mut fds = [
                PollFd::from_borrowed_fd(worker.channel.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.signals.wake.as_fd(), PollFlags::IN),
            ];
            match poll(&mut fds, Some(&crate::port::timespec(rest))) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(Over::GaveUp(format!("poll: {e}"))),
            }
            self.signals.heard();
        }
    }

    /// Looks whether the rules are there, which others may remove: `iptables -F`, a firewall that loads its own. What
    /// was counted goes to the worker, which shows it.
    fn look_at_rules(&mut self, worker: &Worker) {
        let (rules, seen) = (&self.journal.rules, &mut self.seen);
        let said = match rules.look() {
            Ok(Some(counted)) => {
                // Rules that others have loaded once more count from zero.
                seen.bypassed += counted.checked_sub(seen.last).unwrap_or(counted);
                seen.last = counted;
                Ok(())
            }
            Ok(None) => {
                seen.gone += 1;
                seen.last = 0;
                say("rules of the firewall are gone or out of order: they are added again");
                rules.replace().map_err(|e| format!("the firewall refuses a rule: {e}"))
            }
            Err(e) => Err(format!("the firewall does not show its rules: {e}")),
        };
        let why = said.err().unwrap_or_default();
        if !why.is_empty() && why != seen.why {
            say(&why);
        }
        seen.why = why;
        seen.next = Instant::now() + LOOK;
        self.tell(worker);
    }

    /// Looks whether the device is there, and what its link carries: one that has come again is another one.
    fn look_at_device(&mut self, worker: &Worker) {
        self.next_device = Instant::now() + LOOK_AT_DEVICE;
        let is = Device::of(&self.settings.fixed.wan);
        let was = std::mem::replace(&mut self.device, is);
        if is == was {
            return;
        }
        let wan = &self.settings.fixed.wan;
        match (was, is) {
            (_, None) => {
                say(format_args!("device {wan} is gone: Quell waits for it"));
                self.service.say(&format!("STATUS=waits for device {wan}"));
            }
            (None, Some(_)) => {
                say(format_args!("device {wan} is there"));
                self.service.say("STATUS=running");
            }
            (Some(was), Some(is)) => say(is.change(was, wan)),
        }
        if is.is_some() {
            // Traffic flows: what would be a reason not to start is one to say so.
            let RouterState { refused, notes, .. } = look_at_device(&self.settings);
            refused.iter().chain(&notes).for_each(say);
        }
        self.tell(worker);
    }

    /// Tells the worker what only this process knows. One that does not hear is noticed by its silence.
    fn tell(&self, worker: &Worker) {
        let _ = worker.channel.send(&Order::Counts(Counts {
            bypassed: self.seen.bypassed,
            rules_gone: self.seen.gone,
            restarts: self.restarted,
            device_gone: self.device.is_none(),
        }));
    }

    /// Hears all that the worker has said; why it cannot go on, if so.
    fn hear(&mut self, worker: &mut Worker) -> Result<(), String> {
        loop {
            match worker.channel.take::<Report>() {
                Ok(None) => return Ok(()),
                Ok(Some(report)) => {
                    worker.heard = Instant::now();
                    match report {
                        Report::Beat => self.service.say("WATCHDOG=1"),
                        Report::Reconfigured(done) => self.reconfigured(done),
                        Report::Failed(why) => say(format_args!("the worker: {why}")),
                        Report::LogFull => self.log_full(worker),
                        Report::Ready { .. } | Report::Unmarked | Report::Ended(_) => {}
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                    let status = worker.kill();
                    return Err(status.map_or("has ended".into(), |status| format!("has ended ({status})")));
                }
                Err(e) => return Err(format!("says what cannot be read ({e})")),
            }
        }
    }

    /// Ends what is left of a worker and starts another. Until that reads packets the kernel passes them, or drops them
    /// if that is what was asked for.
    fn again(&mut self, mut worker: Worker, why: &str) -> Result<Worker, Over> {
        worker.kill();
        drop(worker);
        self.service.say("STATUS=the worker is started again");
        if let Some((order, _)) = self.pending.take() {
            self.answer(order, Err(format!("the worker {why}")));
        }
        let mut why = format!("the worker {why}");
        loop {
            let now = Instant::now();
            self.restarts.retain(|then| now - *then < WITHIN);
            if self.restarts.len() >= RESTARTS {
                let seconds = WITHIN.as_secs();
                return Err(Over::GaveUp(format!("{why}, after {RESTARTS} new starts within {seconds} s")));
            }
            say(format_args!("{why}: another one starts"));
            // The first at once, then more and more slowly.
            std::thread::sleep(Wait::from_millis(100) * self.restarts.len() as u32);
            self.restarts.push(now);
            if self.signals.stop() {
                return Err(Over::Ended(why));
            }
            match self.start() {
                Ok(worker) => {
                    if let Err(e) = self.journal.write() {
                        say(format_args!("cannot write the journal: {e}"));
                    }
                    self.service.say("STATUS=running");
                    self.restarted += 1;
                    // Which tells it so.
                    self.look_at_rules(&worker);
                    return Ok(worker);
                }
                Err(e) => why = e,
            }
        }
    }

    /// Rules first: then nothing comes any more, and what waits is let go.
    fn end(&mut self, mut worker: Worker) -> Result<(), Over> {
        self.service.say("STOPPING=1");
        // A mark would stay on a packet that leaves without them. A worker that does not hear is not waited for long.
        if worker.channel.send(&Order::Unmark).is_ok() {
            while !matches!(worker.channel.wait::<Report>(Wait::from_secs(1)), Ok(Report::Unmarked) | Err(_))
            {
            }
        }
        self.journal.rules.remove().map_err(Over::Ended)?;
        let asked = worker.channel.send(&Order::Stop);
        let said = loop {
            match worker.channel.wait::<Report>(PATIENCE) {
                Ok(Report::Ended(log)) => break Ok(log),
                Ok(Report::Failed(why)) => break Err(why),
                Ok(_) => {}
                Err(e) => break Err(format!("the worker has not ended in order: {e}")),
            }
        };
        if asked.is_ok() && said.is_ok() {
            let _ = worker.child.wait();
        }
        worker.kill();
        forget(&self.settings.fixed.id);
        match said {
            Ok(None) => Ok(()),
            Ok(Some(why)) => Err(Over::Ended(format!("the log is incomplete: {why}"))),
            Err(why) => Err(Over::Ended(why)),
        }
    }

    /// Reads what is asked for and hands it on; what is wrong changes nothing.
    fn reload(&mut self, worker: &Worker) {
        let path = file(&self.settings.fixed.id, "order");
        let change = match run_dir::read(&path) {
            Ok(bytes) => serde_json::from_slice::<Change>(&bytes)
                .map_err(|e| format!("{}: {e}", quell_files::name(&path))),
            Err(_) => Ok(Change { read: true, ..Change::default() }),
        };
        let _ = fs::remove_file(&path);
        let order = change.as_ref().ok().map(|change| change.order).filter(|order| *order > 0);
        let new = change.and_then(|change| self.changed(change)).and_then(|new| {
            let RouterState { refused, notes, .. } = look_at_rates(&new);
            notes.iter().for_each(say);
            if refused.is_empty() { Ok(new) } else { Err(refused.join("; ")) }
        });
        let sent = new.and_then(|new| {
            let lines = Order::Lines(Box::new(new.lines.clone()));
            worker.channel.send(&lines).map(|()| new).map_err(|e| format!("the worker does not hear: {e}"))
        });
        match sent {
            Ok(new) => {
                if let Some((before, _)) = self.pending.replace((order, new)) {
                    self.answer(before, Err("another reload replaced it".into()));
                }
            }
            Err(why) => self.answer(order, Err(why)),
        }
    }

    /// The settings after a change, whole and built. A file that is named once is read once: the next change without one
    /// reads the file of the start.
    fn changed(&self, change: Change) -> Result<Settings, String> {
        if change.read {
            let args = match change.file.or(self.args.config.clone()) {
                Some(path) => {
                    settings::again(&path)?;
                    self.args.with_config(path)
                }
                None => return Err("it was started without --config: say what to change".into()),
            };
            let new = args.settings().map_err(|e| e.to_string())?;
            return self.settings.reloaded(new);
        }
        let mut new = self.settings.clone();
        for (line, rate) in new.lines.iter_mut().zip([change.up, change.down]) {
            rate.into_iter().for_each(|rate| line.set_rate(rate));
            line.buffer = change.buffer.unwrap_or(line.buffer);
            line.aqm = change.aqm.clone().unwrap_or_else(|| line.aqm.clone());
            if !change.set.is_empty() {
                line.aqm = changed_algorithm(&line.aqm, &change.set).map_err(|e| e.to_string())?;
            }
            line.build()
                .map_err(|ConfigError { field, rule }| format!("{}: {rule}", change.option(&field)))?;
            for aqm in &new.shadows {
                let shadow = LineConfig { aqm: aqm.clone(), ..line.clone() };
                shadow.build().map_err(|e| format!("shadow: {e}"))?;
            }
        }
        Ok(new)
    }

    fn reconfigured(&mut self, done: Result<(), String>) {
        let Some((order, new)) = self.pending.take() else { return };
        if done.is_ok() {
            self.settings = new;
        }
        let [up, down] = &self.settings.lines;
        let holds = format!("{} up {} down {}", up.aqm.name(), up.capacity(), down.capacity());
        self.answer(order, done.map(|()| holds));
    }

    fn answer(&mut self, order: Option<u64>, said: Result<String, String>) {
        match &said {
            Ok(holds) => say(format_args!("reloaded: {holds}")),
            Err(why) => say(format_args!("not reloaded: {why}; the gateway continues unchanged")),
        }
        if let Some(order) = order {
            self.journal.answer = Some(Answer { order, said });
            if let Err(e) = self.journal.write() {
                say(format_args!("cannot write the journal: {e}"));
            }
        }
    }
}

impl Change {
    /// The option of `reload` that is to blame for a field of a line, and the parameter, where that was not set.
    fn option(&self, field: &str) -> String {
        let (line, field) = field.split_once('.').unwrap_or(("", field));
        let Some(key) = field.strip_prefix("aqm.") else {
            return format!("--{}", if field == "rate" { line } else { field });
        };
        if self.given.iter().any(|given| given == key) {
            return format!("--set {key}");
        }
        // It is a default, or what runs already: what has changed does not suit it.
        let rate = if line == "down" { self.down } else { self.up };
        let changed = [
            ("--aqm".to_string(), self.aqm.is_some()),
            (format!("--{line}"), rate.is_some()),
            ("--buffer".to_string(), self.buffer.is_some()),
            ("--set".to_string(), !self.set.is_empty()),
        ];
        let options: Vec<String> =
            changed.into_iter().filter_map(|(option, given)| given.then_some(option)).collect();
        format!("{}: {key}", options.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_in_an_order_is_named_by_its_option() {
        let change = |aqm: Option<&str>, up: Option<BitRate>, given: &[&str]| Change {
            order: 1,
            read: false,
            file: None,
            up,
            down: None,
            buffer: Some(QueueSize::Packets(20.0)),
            aqm: aqm.map(|name| (quell_aqm::catalog::find(name).unwrap().default)()),
            set: Vec::new(),
            given: given.iter().map(ToString::to_string).collect(),
        };
        let set = change(None, None, &["target"]);
        let options = ["up.rate", "down.rate", "up.buffer", "up.aqm.target"].map(|field| set.option(field));
        assert_eq!(options, ["--up", "--down", "--buffer", "--set target"]);
        // What nobody set is not blamed on --set.
        let named = change(Some("pie"), None, &["alpha"]);
        assert_eq!(named.option("up.aqm.target"), "--aqm --buffer: target");
        assert_eq!(named.option("up.aqm.alpha"), "--set alpha");
        let faster = change(None, Some(BitRate::from_bps(1_000_000)), &[]);
        assert_eq!(faster.option("up.aqm.target"), "--up --buffer: target");
        assert_eq!(faster.option("down.aqm.target"), "--buffer: target");
    }
}
