//! A router between two hosts in network namespaces, a gateway on it, and traffic across it.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration as Wait, Instant};

use quell_gateway::wire::may_make_namespaces;

/// Whether a test can run here; says why not.
pub fn possible(why_not: Option<&str>) -> bool {
    let Some(why) = why_not else { return true };
    assert!(std::env::var_os("QUELL_REQUIRE_NETNS").is_none(), "QUELL_REQUIRE_NETNS is set, and {why}");
    println!("skipped: {why}");
    false
}

pub fn namespaces() -> Option<&'static str> {
    let ip = Command::new("ip").arg("-V").output().is_ok();
    match (may_make_namespaces(), ip) {
        (true, true) => None,
        (false, _) => Some("network namespaces need root here"),
        _ => Some("there is no `ip`"),
    }
}

pub fn router() -> Option<&'static str> {
    let there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    match namespaces() {
        None if !rustix::process::geteuid().is_root() => Some("a router needs root"),
        None if !there("iptables-restore") || !there("ip6tables-restore") => Some("there is no iptables"),
        None if !Path::new("/proc/net/netfilter/nfnetlink_queue").exists() => {
            Some("the kernel has no NFQUEUE")
        }
        other => other,
    }
}

/// `QUELL_TEST_FIREWALL=nft` tries the rules of nft, where the kernel has its queues.
pub fn by_nft() -> bool {
    std::env::var_os("QUELL_TEST_FIREWALL").is_some_and(|name| name == "nft")
}

pub fn sh(script: &str) -> String {
    let done = Command::new("sh").args(["-ec", script]).output().unwrap();
    assert!(done.status.success(), "{script}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// A counter of the kernel's in `/proc/net/netstat` or `/proc/net/snmp6`.
pub fn counter(text: &str, name: &str) -> u64 {
    if let Some(line) = text.lines().find(|l| l.split_whitespace().next() == Some(name)) {
        return line.split_whitespace().nth(1).unwrap().parse().unwrap();
    }
    let rows: Vec<&str> = text.lines().collect();
    rows.chunks(2)
        .find_map(|pair| {
            let at = pair[0].split_whitespace().position(|n| n == name)?;
            pair[1].split_whitespace().nth(at)?.parse().ok()
        })
        .unwrap()
}

pub const RECEIVER: [&str; 2] = ["10.2.0.1", "fd02::1"];

static NETS: AtomicU32 = AtomicU32::new(0);

/// Sender, router and receiver, in namespaces with names that go when it is dropped.
pub struct Net {
    names: [String; 3],
    pub id: String,
    binary: &'static str,
    words: &'static [&'static str],
    /// Programs that the gateway finds before others.
    programs: Option<tempfile::TempDir>,
}

pub const S: usize = 0;
pub const G: usize = 1;
pub const R: usize = 2;

impl Net {
    /// With the program whose arguments `words` lead to the gateway's commands.
    pub fn new(binary: &'static str, words: &'static [&'static str]) -> Self {
        let id = format!("{}x{}", std::process::id(), NETS.fetch_add(1, Ordering::Relaxed));
        let names = ["s", "g", "r"].map(|n| format!("quell-test-{n}{id}"));
        let [s, g, r] = &names;
        sh(&format!(
            "for n in {s} {g} {r}; do
               ip netns add $n; ip -n $n link set lo up
               ip netns exec $n sh -c 'echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad'
             done
             ip link add s0 netns {s} type veth peer name g0 netns {g}
             ip link add r0 netns {r} type veth peer name g1 netns {g}
             a() {{ ip -n $1 addr add $2 dev $3; ip -n $1 addr add $4 dev $3 nodad; ip -n $1 link set $3 up; }}
             a {s} 10.1.0.1/24 s0 fd01::1/64; a {g} 10.1.0.2/24 g0 fd01::2/64
             a {g} 10.2.0.2/24 g1 fd02::2/64; a {r} 10.2.0.1/24 r0 fd02::1/64
             ip -n {s} route add default via 10.1.0.2; ip -n {r} route add default via 10.2.0.2
             ip -n {s} -6 route add default via fd01::2; ip -n {r} -6 route add default via fd02::2
             ip netns exec {g} sh -c 'cd /proc/sys/net; echo 1 > ipv4/ip_forward; echo 1 > ipv6/conf/all/forwarding'"
        ));
        let net = Net { names, id, binary, words, programs: None };
        // Neighbors are found before anything is counted: IPv6 takes a second until it may ask for them.
        for to in RECEIVER {
            let stream = net.stream(to, false, 100, Wait::from_millis(5));
            assert!(stream.until(5, Wait::from_secs(10)), "{to} is not reached without a gateway");
        }
        net
    }

    /// The same where iptables has no table security, as kernels of many routers.
    pub fn without_security(mut self) -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        for name in ["iptables", "ip6tables", "iptables-restore", "ip6tables-restore"] {
            let real = sh(&format!("command -v {name}"));
            let real = real.trim();
            // What iptables of a kernel without it says.
            let no = format!(
                "echo \"{name}: can't initialize iptables table \\`security\x27: Table does not exist\" >&2; exit 3"
            );
            let script = if name.ends_with("restore") {
                format!(
                    "[ \"$1\" = --version ] && exec {real} --version\ntext=$(cat)\ncase \"$text\" in *\\*security*) {no};; esac\nprintf '%s\\n' \"$text\" | {real} \"$@\""
                )
            } else {
                format!("case \" $* \" in *\" security \"*) {no};; esac\nexec {real} \"$@\"")
            };
            let path = dir.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        self.programs = Some(dir);
        self
    }

    pub fn has_security(&mut self) {
        self.programs = None;
    }

    pub fn lacks_security(&self) -> bool {
        self.programs.is_some()
    }

    pub fn name(&self, i: usize) -> &str {
        &self.names[i]
    }

    /// Does something in the namespace of host `i`.
    pub fn within<T: Send>(&self, i: usize, f: impl FnOnce() -> T + Send) -> T {
        let file = std::fs::File::open(format!("/run/netns/{}", self.names[i])).unwrap();
        std::thread::scope(|scope| {
            let job = scope.spawn(move || {
                let network = Some(rustix::thread::LinkNameSpaceType::Network);
                rustix::thread::move_into_link_name_space(std::os::fd::AsFd::as_fd(&file), network).unwrap();
                f()
            });
            job.join().unwrap()
        })
    }

    /// What a host's shell says.
    pub fn on(&self, i: usize, script: &str) -> String {
        sh(&format!("ip netns exec {} sh -ec '{script}'", self.names[i]))
    }

    /// A command of the gateway's on the router.
    pub fn gateway(&self, args: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[G], self.binary]).args(self.words).args(args);
        if let Some(dir) = &self.programs {
            let path = std::env::var("PATH").unwrap();
            command.env("PATH", format!("{}:{path}", dir.path().display()));
        }
        command
    }

    pub fn asked(&self, command: &str, args: &[&str]) -> Output {
        self.gateway(&[&[command, "--id", &self.id], args].concat()).output().unwrap()
    }

    /// What a run is given.
    pub fn args<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let firewall = match (&self.programs, by_nft()) {
            (Some(_), _) => "iptables",
            (None, true) => "nft",
            (None, false) => "auto",
        };
        [&["run", "--id", &self.id, "--queue", "7000", "--firewall", firewall], more].concat()
    }

    /// A gateway that runs.
    pub fn start(&self, more: &[&str]) -> Running {
        Running::new(self.gateway(&self.args(more)))
    }

    /// The router's rules and routes, and the names of all namespaces but others' of these tests.
    pub fn state(&self) -> String {
        let rules = "for table in mangle security; do iptables -t $table -S; ip6tables -t $table -S; done; ip route; ip -6 route";
        let mut names: Vec<String> = sh("ip netns list").lines().map(String::from).collect();
        names.retain(|name| !name.starts_with("quell-test-") || name.contains(&self.id));
        names.sort();
        self.on(G, rules) + &names.join("\n")
    }

    /// The gateway's own status.
    pub fn status(&self) -> serde_json::Value {
        // What was counted is published ten times a second, and a page made as often.
        std::thread::sleep(Wait::from_millis(250));
        let socket = format!("/run/quell/{}.sock", self.id);
        let done = self.gateway(&["status", "--format", "json", "--socket", &socket]).output().unwrap();
        serde_json::from_slice(&done.stdout).unwrap_or_else(|e| panic!("{e}: {done:?}"))
    }

    /// Sends numbered packets from the sender to the receiver, one each `every`, until it is stopped.
    pub fn stream(&self, to: &str, ecn: bool, bytes: usize, every: Wait) -> Stream {
        self.stream_between([S, R], to, ecn, bytes, every)
    }

    /// The same from one host to another, which has the address `to`.
    pub fn stream_between(
        &self,
        hosts: [usize; 2],
        to: &str,
        ecn: bool,
        bytes: usize,
        every: Wait,
    ) -> Stream {
        self.stream_of(hosts, to, if ecn { 2 } else { 0 }, bytes, every)
    }

    /// The same with this octet of DSCP and ECN.
    pub fn stream_of(&self, hosts: [usize; 2], to: &str, octet: u8, bytes: usize, every: Wait) -> Stream {
        let to: IpAddr = to.parse().unwrap();
        let receiver = self.within(hosts[1], || UdpSocket::bind(SocketAddr::new(to, 0)).unwrap());
        let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let sender = self.within(hosts[0], || UdpSocket::bind(any).unwrap());
        if octet > 0 {
            match to {
                IpAddr::V4(_) => rustix::net::sockopt::set_ip_tos(&sender, octet).unwrap(),
                IpAddr::V6(_) => rustix::net::sockopt::set_ipv6_tclass(&sender, octet.into()).unwrap(),
            }
        }
        let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&receiver, 4 << 20);
        receiver.set_read_timeout(Some(Wait::from_millis(20))).unwrap();
        let address = receiver.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let halt = stop.clone();
        let send = std::thread::spawn(move || {
            let mut packet = vec![0; bytes];
            let (begin, mut number, mut sent) = (Instant::now(), 0u32, 0u32);
            while !halt.load(Ordering::Relaxed) {
                // Late packets are made up for, so that the rate is what was asked for.
                let due = begin + every * number;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                packet[..4].copy_from_slice(&number.to_be_bytes());
                // A full buffer, or a link that is down: nobody has such a packet, and nobody drops it.
                match sender.send_to(&packet, address) {
                    Ok(_) => sent += 1,
                    Err(_) => std::thread::sleep(Wait::from_millis(1)),
                }
                number += 1;
            }
            sent
        });
        let (halt, at) = (stop.clone(), seen.clone());
        let receive = std::thread::spawn(move || {
            let mut buffer = vec![0; 65536];
            let mut quiet = 0;
            // What is under way when the sender ends has 400 ms.
            while quiet < 20 {
                match receiver.recv(&mut buffer) {
                    Ok(n) if n >= 4 => {
                        quiet = 0;
                        let number = u32::from_be_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]);
                        at.lock().unwrap().came.push((number, Instant::now()));
                    }
                    _ if halt.load(Ordering::Relaxed) => quiet += 1,
                    _ => {}
                }
            }
        });
        Stream { stop, seen, send: Some(send), receive: Some(receive) }
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        let _ = self.asked("clean", &[]);
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

#[derive(Default)]
pub struct Seen {
    pub came: Vec<(u32, Instant)>,
}

pub struct Stream {
    stop: Arc<AtomicBool>,
    seen: Arc<Mutex<Seen>>,
    send: Option<std::thread::JoinHandle<u32>>,
    receive: Option<std::thread::JoinHandle<()>>,
}

impl Stream {
    /// How many packets have come.
    pub fn count(&self) -> usize {
        self.seen.lock().unwrap().came.len()
    }

    /// How many come within `time`.
    pub fn during(&self, time: Wait) -> usize {
        let before = self.count();
        std::thread::sleep(time);
        self.count() - before
    }

    /// Waits until more than `more` have come.
    pub fn until(&self, more: usize, patience: Wait) -> bool {
        let (end, before) = (Instant::now() + patience, self.count());
        while Instant::now() < end {
            if self.count() > before + more {
                return true;
            }
            std::thread::sleep(Wait::from_millis(2));
        }
        false
    }

    /// The longest time between two packets that came after `from`.
    pub fn gap_since(&self, from: Instant) -> Wait {
        let came = &self.seen.lock().unwrap().came;
        let times = came.iter().map(|(_, at)| *at).filter(|at| *at + Wait::from_millis(20) > from);
        let times: Vec<Instant> = times.collect();
        times.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(Wait::MAX)
    }

    /// How many were sent and how many came, each once.
    pub fn finish(mut self) -> (u32, usize) {
        self.stop.store(true, Ordering::Relaxed);
        let sent = self.send.take().unwrap().join().unwrap();
        self.receive.take().unwrap().join().unwrap();
        let mut numbers: Vec<u32> = self.seen.lock().unwrap().came.iter().map(|(n, _)| *n).collect();
        let all = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), all, "a packet came twice");
        (sent, all)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// A gateway that runs.
pub struct Running {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Running {
    /// Waits until it says that it is ready.
    pub fn new(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let said: Arc<Mutex<String>> = Arc::default();
        let (to, from) = (said.clone(), BufReader::new(child.stderr.take().unwrap()));
        std::thread::spawn(move || {
            for line in from.lines().map_while(io::Result::ok) {
                to.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        let running = Running { child, said };
        running.says("ready: ");
        running
    }

    pub fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Waits until it says `text`.
    pub fn says(&self, text: &str) {
        let end = Instant::now() + Wait::from_secs(20);
        while !self.said().contains(text) {
            assert!(Instant::now() < end, "it does not say \"{text}\" but \"{}\"", self.said());
            std::thread::sleep(Wait::from_millis(2));
        }
    }

    pub fn supervisor(&self) -> u32 {
        self.child.id()
    }

    /// The process that reads packets.
    pub fn worker(&self) -> u32 {
        let pid = self.child.id();
        let end = Instant::now() + Wait::from_secs(5);
        loop {
            let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
            let found: Vec<u32> = children.split_whitespace().map(|n| n.parse().unwrap()).collect();
            if let [worker] = found[..] {
                return worker;
            }
            // The supervisor may just be asking the firewall.
            assert!(Instant::now() < end, "one worker: {children}");
            std::thread::sleep(Wait::from_millis(5));
        }
    }

    /// Tells it to stop; its exit code and what it printed.
    pub fn stop(mut self) -> (Option<i32>, String, String) {
        signal(self.child.id(), "TERM");
        let mut out = String::new();
        io::Read::read_to_string(&mut self.child.stdout.take().unwrap(), &mut out).unwrap();
        let code = self.child.wait().unwrap().code();
        // What it said last is read by another thread.
        std::thread::sleep(Wait::from_millis(50));
        (code, out, self.said())
    }

    /// Waits until it has ended.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn signal(pid: u32, name: &str) {
    sh(&format!("kill -{name} {pid}"));
}

/// Whether a process is there and no zombie.
pub fn alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.trim_start().starts_with(['Z', 'X']))
}

pub fn gone(pid: u32) -> bool {
    let end = Instant::now() + Wait::from_secs(5);
    while alive(pid) && Instant::now() < end {
        std::thread::sleep(Wait::from_millis(1));
    }
    !alive(pid)
}

/// The fields of `/proc/PID/task/TID/status` of each thread, by its name.
pub fn rights(pid: u32) -> BTreeMap<String, BTreeMap<String, String>> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks
        .map(|task| {
            let text = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
            let fields = text.lines().filter_map(|l| l.split_once(':'));
            let fields: BTreeMap<String, String> =
                fields.map(|(k, v)| (k.into(), v.split_whitespace().collect::<Vec<_>>().join(" "))).collect();
            (fields["Name"].clone(), fields)
        })
        .collect()
}

/// What a worker's threads may do, seen in /proc.
pub fn check_rights(running: &Running) {
    let worker = running.worker();
    let threads = rights(worker);
    assert!(threads.len() >= 2 && threads.contains_key("quell-metrics"), "{:?}", threads.keys());
    for (name, thread) in &threads {
        let field = |key: &str| thread[key].as_str();
        // CAP_NET_ADMIN is bit 12.
        let may = if ["quell-metrics", "quell-log"].contains(&name.as_str()) {
            "0000000000000000"
        } else {
            "0000000000001000"
        };
        for set in ["CapEff", "CapPrm"] {
            assert_eq!(field(set), may, "{name} {set}");
        }
        assert_eq!([field("CapInh"), field("CapAmb")], ["0000000000000000"; 2], "{name}");
        let user: u32 = field("Uid").split(' ').next().unwrap().parse().unwrap();
        assert!((61_000..61_184).contains(&user), "{name} {user}");
        let all = format!("{user} {user} {user} {user}");
        assert_eq!([field("Uid"), field("Gid")], [all.as_str(); 2], "{name}");
        assert_eq!(field("Groups"), "", "{name}");
        assert_eq!([field("NoNewPrivs"), field("Seccomp")], ["1", "2"], "{name}");
    }
    // The other keeps what it needs to undo the rules and to end a worker, and has one thread.
    let supervisor = rights(running.supervisor());
    assert_eq!(supervisor.len(), 1, "{supervisor:?}");
    for thread in supervisor.values() {
        assert_eq!(thread["Uid"], "0 0 0 0");
        // CAP_KILL, SETGID, SETUID, NET_ADMIN and NET_RAW.
        for set in ["CapEff", "CapPrm", "CapBnd"] {
            assert_eq!(thread[set], "00000000000030e0", "{set}");
        }
        assert_eq!([&thread["CapInh"], &thread["CapAmb"]], ["0000000000000000"; 2]);
        assert_eq!([&thread["NoNewPrivs"], &thread["Seccomp"]], ["1", "2"]);
    }
    for pid in [running.supervisor(), worker] {
        let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
        let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        assert_eq!(core.split_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"]);
    }
}
