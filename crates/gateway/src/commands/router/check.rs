//! Obstacles to a gateway, each with the command that mends it. Nothing is changed to find them.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

use quell_units::BitRate;
use quell_units::text::three_digits;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::thread::CapabilitySet;

use super::firewall::{Kind, Rules, collisions, flow_tables};
use super::journal::{Journal, JournalError, network};
use super::settings::{Fixed, Settings};
use super::user::has_processes;
use crate::sys;

/// The findings about a router and its settings.
#[derive(Debug, Default)]
pub(super) struct RouterState {
    /// Obstacles, for which a start is refused.
    pub refused: Vec<String>,
    /// Notes that are worth knowing.
    pub notes: Vec<String>,
    /// The rules that would be added, if a firewall takes them.
    pub rules: Option<Rules>,
}

impl RouterState {
    fn need(&mut self, fine: bool, problem: impl FnOnce() -> String) {
        if !fine {
            self.refused.push(problem());
        }
    }
}

/// Rates up to this share of a link's leave the queue here.
const SHARE: f64 = 0.95;

/// Looks.
pub(super) fn look(settings: &Settings) -> RouterState {
    let mut found = RouterState::default();
    let Fixed { wan, id, queue, log, .. } = &settings.fixed;

    let effective = rustix::thread::capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    for (right, name, why) in [
        (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN", "give verdicts and set rules"),
        (CapabilitySet::SETUID, "CAP_SETUID", "read packets as another user"),
        (CapabilitySet::SETGID, "CAP_SETGID", "read packets as another group"),
        (CapabilitySet::KILL, "CAP_KILL", "end a worker that hangs"),
    ] {
        found.need(effective.contains(right), || {
            format!("no right to {why} ({name}): run it as root, with sudo")
        });
    }

    let left = Journal::read(id);
    let left = match left {
        Ok(left) => left,
        Err(e) => {
            found.refused.push(match e {
                JournalError::Damaged(why) => format!(
                    "the journal of gateway \"{id}\" is damaged, {why}; quell gateway clean --id {id} removes it"
                ),
                JournalError::Closed(why) => why,
            });
            None
        }
    };
    if let Some(journal) = left.as_ref().filter(|journal| journal.supervisor.alive()) {
        let pid = journal.supervisor.pid;
        found.refused.push(format!(
            "process {pid} already is gateway \"{id}\"; end it with kill {pid}, or choose another --id"
        ));
    }

    let bits = settings.fixed.bits;
    for other in Journal::all().into_iter().filter(|other| other.rules.id != *id && other.supervisor.alive())
    {
        let theirs = other.rules.bits;
        let overlap = other.network == network() && theirs != bits && theirs.both() & bits.both() != 0;
        found.need(!overlap, || {
            format!(
                "gateway \"{}\" uses one of the bits of --mark-bit, and each would clear the other's; use the same two \
                 bits",
                other.rules.id
            )
        });
    }
    for other in Journal::all().into_iter().filter(|other| other.rules.id != *id && other.supervisor.alive())
    {
        found.need(other.rules.wan != *wan || other.network != network(), || {
            let Journal { supervisor, rules, .. } = &other;
            format!(
                "gateway \"{}\" already has {wan}, and packets go to only one; end it with kill {}, or reload it",
                rules.id, supervisor.pid
            )
        });
    }

    let there = Device::of(wan);
    if there.is_none() {
        // PPP's devices come with their session, and others when a driver is there.
        found.notes.push(format!(
            "device \"{wan}\" does not exist yet, so Quell waits for it; the devices are {}",
            devices().join(", ")
        ));
    }

    let read = || fs::read_to_string("/proc/thread-self/net/netfilter/nfnetlink_queue");
    let mut queues = read();
    found.need(queues.is_ok() || !effective.contains(CapabilitySet::NET_ADMIN), || {
        "the kernel has no nfnetlink_queue: modprobe nfnetlink_queue (on OpenWrt: apk add kmod-nfnetlink-queue)".into()
    });
    // The worker of one that was killed ends with the start.
    let worker = left.as_ref().and_then(|journal| journal.worker);
    let stale = worker.as_ref().is_some_and(|worker| worker.alive());
    let numbers = [*queue, queue + 1];
    let taken = |queues: &io::Result<String>, n: u16| {
        queues.as_ref().is_ok_and(|t| t.lines().any(|l| l.split_whitespace().next() == Some(&n.to_string())))
    };
    // The kernel frees the queues of a worker a moment after it has ended.
    let end = Instant::now() + Duration::from_secs(1);
    while worker.is_some() && !stale && numbers.iter().any(|n| taken(&queues, *n)) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
        queues = read();
    }
    for n in numbers {
        found.need(stale || !taken(&queues, n), || {
            format!(
                "queue {n} belongs to another program: choose others with --queue {}",
                queue.wrapping_add(100)
            )
        });
    }

    if let Some((user, _)) = settings.fixed.user.filter(|(user, _)| !stale && has_processes(*user)) {
        found.notes.push(format!(
            "user {user} has other processes, which may end the worker; without --user it has its own user"
        ));
    }

    found.forwarding(wan);
    if effective.contains(CapabilitySet::NET_ADMIN) {
        match Rules::find(settings.fixed.firewall, |kind| settings.rules(kind)) {
            Ok(rules) => {
                found.notes.extend(collisions(&rules));
                for other in Journal::all() {
                    if other.rules.id != *id && other.supervisor.alive() && other.network == network() {
                        found.notes.extend(rules.hidden_from(&other.rules));
                    }
                }
                if rules.kind == Kind::Mangle {
                    found.notes.push(
                        "iptables has no table security here, so incoming packets wait before the filters of FORWARD, \
                         and packets that pass without a verdict are not counted; fix it with modprobe -a \
                         iptable_security ip6table_security"
                            .into(),
                    );
                }
                found.rules = Some(rules);
            }
            Err(e) => found.refused.push(e),
        }
        found.refused.extend(flow_tables());
    }
    if there.is_some() {
        found.device(settings);
    }
    found.rates(settings);

    if let Some(log) = log {
        let dir = log.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = quell_files::name(dir);
        found.need(dir.is_dir(), || format!("no folder \"{name}\" for the log: mkdir -p {name}"));
        found.need(!log.is_dir(), || {
            format!("\"{}\" is a folder: choose a file for --log", quell_files::name(log))
        });
    }
    found
}

/// A device, as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Device {
    /// The kernel's number for it: another one of the same name has another.
    index: u32,
    /// What its link carries, in Mbit/s, if it says so.
    speed: Option<u64>,
}

impl Device {
    /// What has changed of `was`, the device `name` as it was.
    pub fn change(self, was: Device, name: &str) -> String {
        let rate = |mbit: u64| BitRate::from_bps(mbit * 1_000_000);
        match (was.speed, self.speed) {
            _ if self.index != was.index => format!("device {name} was replaced by another of that name"),
            (Some(was), Some(is)) => format!("device {name} carries {}, no longer {}", rate(is), rate(was)),
            // It says so once its link is up.
            (None, Some(is)) => format!("device {name} carries {}", rate(is)),
            (_, None) => format!("device {name} no longer reports its rate; its link may be down"),
        }
    }

    /// The device of this name, if it is there.
    pub fn of(name: &str) -> Option<Device> {
        let flags = SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None).ok()?;
        let index = rustix::net::netdevice::name_to_index(&socket, name).ok()?;
        let speed = fs::read_to_string(format!("/sys/class/net/{name}/speed"));
        // A device that has no link or no speed says -1 or nothing.
        Some(Device {
            index,
            speed: speed.ok().and_then(|s| s.trim().parse().ok()).filter(|speed| *speed > 0),
        })
    }
}

/// The names of all devices here.
fn devices() -> Vec<String> {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    // Two lines of headings before.
    let mut names: Vec<String> =
        text.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim().to_string())).collect();
    names.sort();
    names
}

/// Looks for obstacles at a device that has come, or has another speed.
pub(super) fn look_at_device(settings: &Settings) -> RouterState {
    let mut found = RouterState::default();
    found.device(settings);
    found.link(settings);
    found
}

/// Looks for obstacles to other rates of a gateway that runs.
pub(super) fn look_at_rates(settings: &Settings) -> RouterState {
    let mut found = RouterState::default();
    found.rates(settings);
    found
}

/// The families of addresses that `device` has, IPv4 and IPv6, other than those that lead no further than the link.
fn families_at(device: &str) -> [bool; 2] {
    // net/ipv6/addrconf.c: address, index, length of the prefix, scope, flags, device; scope 0 is the whole net's.
    let v6 = fs::read_to_string("/proc/thread-self/net/if_inet6").unwrap_or_default();
    let v6 = v6.lines().map(|l| l.split_whitespace().collect::<Vec<_>>());
    let v6 = v6.into_iter().any(|words| matches!(words[..], [_, _, _, "00", _, name] if name == device));
    // net/ipv4/fib_trie.c: the device comes first.
    let v4 = fs::read_to_string("/proc/thread-self/net/route").unwrap_or_default();
    let v4 = v4.lines().any(|l| l.split_whitespace().next() == Some(device));
    [v4, v6]
}

impl RouterState {
    /// Looks which families this host forwards. What it does not forward is not an obstacle: its own traffic is shaped too.
    fn forwarding(&mut self, wan: &str) {
        let forwards =
            |key: &str| fs::read_to_string(format!("/proc/sys/net/{key}")).is_ok_and(|t| t.trim() == "1");
        let [v4, v6] = ["ipv4/ip_forward", "ipv6/conf/all/forwarding"].map(forwards);
        let at = families_at(wan);
        for (forwards, there, family, key) in [
            (v4, at[0] || !at[1], "IPv4", "net.ipv4.ip_forward"),
            (v6, at[1], "IPv6", "net.ipv6.conf.all.forwarding"),
        ] {
            if there && !forwards {
                self.notes.push(format!(
                    "this host does not forward {family}, so only its own {family} packets are shaped; if it is a \
                     router: sysctl -w {key}=1"
                ));
            }
        }
    }

    /// Looks at what the device does with packets.
    fn device(&mut self, settings: &Settings) {
        let wan = &settings.fixed.wan;
        let master = fs::read_link(format!("/sys/class/net/{wan}/master"));
        if let Some(master) = master.ok().as_deref().and_then(Path::file_name).and_then(|name| name.to_str())
        {
            let is = |what: &str| Path::new(&format!("/sys/class/net/{master}/{what}")).exists();
            if is("bridge") || is("bonding") {
                self.refused.push(format!(
                    "{wan} is a part of {master}, and the firewall sees its packets as those of {master}: use --wan \
                     {master}"
                ));
            }
        }
        // The kernel takes apart what was put together (GRO) before it queues it, so only what a device puts together
        // by itself matters.
        if sys::large_receive(wan).unwrap_or(false) {
            self.refused.push(format!("{wan} merges received packets (LRO): ethtool -K {wan} lro off"));
        }
    }

    /// Looks whether the device carries and the machine moves as much, and what may surprise at these rates.
    fn rates(&mut self, settings: &Settings) {
        self.link(settings);
        self.machine(settings);
        for line in &settings.lines {
            let remark = |remark| format!("{}: {}: {remark}", line.name, line.aqm.name());
            self.notes.extend(line.remarks().into_iter().map(remark));
        }
    }

    fn link(&mut self, settings: &Settings) {
        let wan = &settings.fixed.wan;
        let Some(link) = Device::of(wan).and_then(|device| device.speed) else { return };
        let link = BitRate::from_bps(link * 1_000_000);
        for line in &settings.lines {
            let name = &line.name;
            let most = (link.bps() as f64 * SHARE) as u64;
            if line.capacity() > link {
                self.refused.push(format!(
                    "{name} {} is more than {wan} carries, {link}, so the queue would form there and not here; use \
                     --{name} {}",
                    line.capacity(),
                    BitRate::from_bps(most)
                ));
            } else if line.capacity().bps() > most {
                self.notes.push(format!(
                    "{name} {} is the full rate of {wan}, {link}; to be sure that the queue forms here, use --{name} {}",
                    line.capacity(),
                    BitRate::from_bps(most)
                ));
            }
        }
    }

    /// Looks whether the machine moves as many packets.
    fn machine(&mut self, settings: &Settings) {
        let Some(most) = packets_per_s() else { return };
        let bps: u64 = settings.lines.iter().map(|line| line.capacity().bps()).sum();
        let mean = settings.lines[0].mean_packet;
        let wanted = bps as f64 / 8.0 / mean.get() as f64;
        let can = most * mean.get() as f64 * 8.0 / 1e6;
        if wanted > most {
            self.refused.push(format!(
                "{wanted:.0} packets of {mean} per second, both directions together, are more than this machine moves, \
                 about {most:.0}: choose --up and --down of {:.0} Mbit/s together",
                can / 2.0
            ));
        } else if wanted > most / 2.0 {
            self.notes.push(format!(
                "both rates together are {}% of what one processor of this machine moves in packets of {mean}",
                three_digits(wanted / most * 100.0)
            ));
        }
    }
}

/// Estimates how many packets a second come and leave on one processor: each is a message from the kernel and a
/// verdict to it, which cost what a datagram to oneself does. The fastest of some tries, since others use the machine
/// too.
fn packets_per_s() -> Option<f64> {
    let kind = SocketType::DGRAM;
    let (a, b) = rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).ok()?;
    const EACH: u32 = 200;
    let mut buffer = [0; 160];
    let mut fastest = f64::INFINITY;
    for _ in 0..10 {
        let begin = Instant::now();
        for _ in 0..EACH {
            rustix::net::send(&a, &buffer, SendFlags::empty()).ok()?;
            rustix::net::recv(&b, &mut buffer[..], RecvFlags::empty()).ok()?;
        }
        fastest = fastest.min(begin.elapsed().as_secs_f64() / f64::from(EACH));
    }
    Some(0.5 / fastest)
}
