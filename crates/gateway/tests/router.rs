//! A router's gateway with real packets in network namespaces. Where these are not allowed the tests say why and pass,
//! unless `QUELL_REQUIRE_NETNS=1`.
#![cfg(target_os = "linux")]

#[path = "common/router.rs"]
mod common;

use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;
use std::time::{Duration as Wait, Instant};

use common::*;
use quell_gateway::{LogReader, replay};

const MS: Wait = Wait::from_millis(1);

fn net() -> Option<Net> {
    possible(router()).then(|| Net::new(env!("CARGO_BIN_EXE_quell-gateway"), &[]))
}

/// With the table security of iptables and without it.
fn nets() -> impl Iterator<Item = Net> {
    let both: &[bool] = if by_nft() { &[true] } else { &[true, false] };
    both.iter().filter_map(|security| Some(if *security { net()? } else { net()?.without_security() }))
}

/// A rate that no stream here fills, and what a full one is.
const WIDE: [&str; 6] = ["--wan", "g1", "--up", "200Mbit/s", "--down", "200Mbit/s"];

fn check_log(log: &[u8], closed: bool) {
    let found = replay(&mut LogReader::new(BufReader::new(log)).unwrap(), None).unwrap();
    assert_eq!(found.closed, closed);
    assert!(found.lines[0].arrivals > 100, "{}", found.lines[0].arrivals);
    assert_eq!((found.lines[0].differ, found.lines[1].differ), (0, 0));
}

#[test]
fn packets_are_conserved_and_the_kernel_counts_the_marks() {
    let Some(net) = net() else { return };
    let before = net.state();
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let running = net.start(&[
        "--wan",
        "g1",
        "--up",
        "5Mbit/s",
        "--down",
        "20Mbit/s",
        "--aqm",
        "red",
        "--ecn",
        "--buffer",
        "60packets",
        "--log",
        log.to_str().unwrap(),
    ]);
    let again = net.gateway(&net.args(&WIDE)).output().unwrap();
    assert!(String::from_utf8_lossy(&again.stderr).contains("already"), "{again:?}");
    // Together 1.3 times the rate: some are marked, and some find no room.
    let streams = RECEIVER.map(|to| net.stream(to, true, 1000, Wait::from_micros(2500)));
    std::thread::sleep(1200 * MS);
    let sums = streams.map(Stream::finish);
    let came: usize = sums.iter().map(|(_, came)| came).sum();
    let status = net.status();
    let line = &status["lines"][0];
    let (dropped, marked) = dropped_and_marked(line);
    let count = |path: &str| line.pointer(path).and_then(|v| v.as_u64()).unwrap();
    let others = others(&net, line, &sums);
    let passed = count("/sent/packets");
    assert_eq!(count("/queue/arrived/packets"), passed + dropped);
    assert!((came as u64..=came as u64 + others).contains(&passed), "{came} came, {passed} were sent");
    assert!(dropped > 0 && came > 500, "{sums:?}");
    // Both kinds of packets were marked, and what was marked arrived as CE.
    let [v4, v6] = [("netstat", "InCEPkts"), ("snmp6", "Ip6InCEPkts")].map(|(file, name)| {
        let text =
            net.within(R, || std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap());
        counter(&text, name)
    });
    assert!(v4 > 10 && v6 > 10, "{v4} {v6}");
    // Marked packets that found no room later are counted as marked too, so not more can arrive.
    assert_eq!(v4 + v6, marked, "{v4} {v6}");
    println!("{sums:?}, dropped {dropped}, CE v4 {v4}, v6 {v6}");

    let (code, out, said) = running.stop();
    assert!(code == Some(0) && out.contains("red "), "{out}{said}");
    check_log(&std::fs::read(&log).unwrap(), true);
    assert_eq!(net.state(), before);
    assert!(!std::fs::exists(format!("/run/quell/{}.json", net.id)).unwrap());
}

/// Voice by its DSCP, IPv6 by a mark of another rule, and the rest: bursts and shares are those of the log's times, and
/// classes are lanes of the status.
#[test]
fn bursts_and_classes_are_those_of_the_file() {
    use quell_gateway::Event;
    let Some(net) = net() else { return };
    let dir = tempfile::tempdir().unwrap();
    let (log, file) = (dir.path().join("log"), dir.path().join("gateway.toml"));
    let text = "wan = \"g1\"\nup = \"4 Mbit/s\"\ndown = \"20 Mbit/s\"\nburst = \"20 kB\"\npeak_rate = \"50 Mbit/s\"\n\
        buffer = \"300 packets\"\naqm = \"drop-tail\"\n\
        [[classes]]\nname = \"voice\"\ndscp = 46\npriority = 0\n\
        [[classes]]\nname = \"six\"\nmark = 8\npriority = 1\nquantum = \"3 kB\"\n\
        [[classes]]\nname = \"rest\"\npriority = 1\n";
    std::fs::write(&file, text).unwrap();
    if by_nft() {
        let rules = "add table ip6 marks; add chain ip6 marks pre { type filter hook prerouting priority -150 ; }; \
            add rule ip6 marks pre meta mark set 8";
        net.on(G, &format!("nft '{rules}'"));
    } else {
        net.on(G, "ip6tables -t mangle -A PREROUTING -j MARK --set-mark 8");
    }
    let running = net.start(&["--config", file.to_str().unwrap(), "--log", log.to_str().unwrap()]);
    let streams = [
        net.stream_of([S, R], RECEIVER[0], 46 << 2, 200, 10 * MS),
        net.stream(RECEIVER[1], false, 1000, 2 * MS),
        net.stream(RECEIVER[0], false, 1000, 2 * MS),
    ];
    std::thread::sleep(1500 * MS);
    let sums = streams.map(Stream::finish);
    assert!(sums.iter().all(|(_, came)| *came > 20), "{sums:?}");
    let status = net.status();
    let lanes = status["lines"][0]["lanes"].as_array().unwrap();
    let names: Vec<&str> = lanes.iter().filter_map(|lane| lane["name"].as_str()).collect();
    assert_eq!(names, ["voice", "six", "rest"]);
    assert_eq!(status["lines"][0]["queue"]["rate_bps"].as_u64(), Some(4_000_000));
    let (code, out, said) = running.stop();
    assert_eq!(code, Some(0), "{out}{said}");
    let bytes = std::fs::read(&log).unwrap();
    check_log(&bytes, true);
    let mut log = LogReader::new(bytes.as_slice()).unwrap();
    let (mut packets, mut waiting, mut shares, mut sent) = (Vec::new(), [0i32; 3], [0u64; 3], Vec::new());
    let (mut overtaken, mut most_overtaken) = (0, 0);
    while let Some(entry) = log.next_entry().unwrap() {
        if entry.line != 0 {
            continue;
        }
        match entry.event {
            Event::Arrived { packet, admission } => {
                let class = match (packet.tag, packet.header.dscp) {
                    (8, _) => 1,
                    (_, 46) => 0,
                    _ => 2,
                };
                packets.push((u64::from(packet.bytes), class));
                waiting[class] += i32::from(!matches!(admission, quell_queue::Admission::Dropped(_)));
            }
            Event::Sent { number, .. } => {
                let (bytes, class) = packets[number as usize];
                // One that waits for tokens may be of another class than voice that comes meanwhile.
                overtaken = if class > 0 && waiting[0] > 0 { overtaken + 1 } else { 0 };
                most_overtaken = most_overtaken.max(overtaken);
                if waiting[1] > 1 && waiting[2] > 1 {
                    shares[class] += bytes;
                }
                waiting[class] -= 1;
                sent.push((entry.time, bytes));
            }
            _ => {}
        }
    }
    for first in 0..sent.len() {
        let mut bytes = 0;
        for (at, size) in &sent[first..] {
            bytes += size;
            let t = at.since(sent[first].0).nanos();
            assert!(bytes * 8_000_000_000 <= 20_000 * 8_000_000_000 + 4_000_000 * t, "{bytes} in {t} ns");
        }
    }
    // Turns of 3000 and 1500 bytes.
    let share = shares[1] as f64 / (shares[1] + shares[2]) as f64;
    assert!(shares[1] > 50_000 && (share - 2.0 / 3.0).abs() < 0.04, "{share} {shares:?}");
    assert!(most_overtaken <= 1, "{most_overtaken}");
}

#[test]
fn the_worker_may_do_little() {
    let Some(net) = net() else { return };
    let running = net.start(&WIDE);
    check_rights(&running);
    assert!(!running.said().contains("no filter"), "{}", running.said());
    // Idle, both together, in shares of a processor.
    let used = || {
        let of = |pid: u32| {
            let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
            let one = |path: std::path::PathBuf| -> Option<f64> {
                std::fs::read_to_string(path.join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
            };
            tasks.filter_map(|task| one(task.unwrap().path())).sum::<f64>()
        };
        of(running.supervisor()) + of(running.worker())
    };
    std::thread::sleep(500 * MS);
    let (before, begin) = (used(), Instant::now());
    std::thread::sleep(3000 * MS);
    let share = (used() - before) / begin.elapsed().as_nanos() as f64;
    println!("idle: {:.3} % of a processor", share * 100.0);
    // On a quiet machine 0.2 % (issue); caches that others have emptied cost more.
    assert!(share < 0.01, "{share}");
    assert_eq!(running.stop().0, Some(0));
}

#[test]
fn traffic_goes_on_when_a_process_is_killed() {
    let Some(net) = net() else { return };
    let before = net.state();
    let mut running = net.start(&WIDE);
    let stream = net.stream(RECEIVER[0], false, 200, MS);
    assert!(stream.until(200, Wait::from_secs(5)));
    // The worker: the supervisor starts another.
    let (old, begin) = (running.worker(), Instant::now());
    signal(old, "KILL");
    running.says("another one starts");
    assert!(stream.until(300, Wait::from_secs(5)));
    let gap = stream.gap_since(begin);
    println!("worker killed: the longest gap was {gap:?}");
    assert!(gap <= 100 * MS, "{gap:?}");
    let new = running.worker();
    assert!(new != old && gone(old));
    assert!(net.status()["lines"][0]["queue"]["arrived"]["packets"].as_f64().unwrap() > 100.0);
    // The supervisor: the worker ends with it, the rules stay and do no harm.
    let begin = Instant::now();
    signal(running.supervisor(), "KILL");
    running.wait();
    assert!(gone(new), "the worker outlives its supervisor");
    assert!(stream.until(300, Wait::from_secs(5)));
    let gap = stream.gap_since(begin);
    println!("supervisor killed: the longest gap was {gap:?}");
    assert!(gap <= 100 * MS, "{gap:?}");
    assert_ne!(net.state(), before);
    let done = net.asked("clean", &[]);
    assert!(done.status.success(), "{done:?}");
    assert_eq!(net.state(), before);
    let (sent, came) = stream.finish();
    println!("{came} of {sent} packets came through two kills and a clean-up");
    assert!(f64::from(sent) - (came as f64) < 200.0, "{came} of {sent}");
}

#[test]
fn closed_is_closed() {
    nets().for_each(is_closed);
}

fn is_closed(net: Net) {
    let before = net.state();
    let mut running = net.start(&[&WIDE[..], &["--on-exit", "closed"]].concat());
    let stream = net.stream(RECEIVER[0], false, 200, MS);
    assert!(stream.until(100, Wait::from_secs(5)));
    signal(running.supervisor(), "KILL");
    running.wait();
    std::thread::sleep(100 * MS);
    assert_eq!(stream.during(300 * MS), 0, "packets pass a gateway that is closed and gone");
    // Another start takes the place of what is left; an ordered end opens.
    let running = net.start(&[&WIDE[..], &["--on-exit", "closed"]].concat());
    assert!(stream.until(100, Wait::from_secs(5)));
    // A worker that ends again and again is given up, and nothing passes then.
    for n in 1.. {
        let worker = running.worker();
        signal(worker, "KILL");
        if n > 5 {
            break;
        }
        assert!(gone(worker));
        let text = "another one starts";
        let end = Instant::now() + Wait::from_secs(10);
        while running.said().matches(text).count() < n || running_worker(&running).is_none() {
            assert!(Instant::now() < end, "{}", running.said());
            std::thread::sleep(2 * MS);
        }
    }
    running.says("traffic is stopped until the next start");
    std::thread::sleep(100 * MS);
    assert_eq!(stream.during(200 * MS), 0);
    let done = net.asked("clean", &[]);
    assert!(done.status.success(), "{done:?}");
    assert!(stream.until(100, Wait::from_secs(5)));
    assert_eq!(net.state(), before);
}

/// The worker that reads packets, if there is one at the moment.
fn running_worker(running: &Running) -> Option<u32> {
    let pid = running.supervisor();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

#[test]
fn a_worker_that_hangs_is_noticed_and_traffic_passes() {
    let Some(net) = net() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notify");
    let service = UnixDatagram::bind(&path).unwrap();
    service.set_nonblocking(true).unwrap();
    let heard = || {
        let (mut bytes, mut all) = ([0; 256], String::new());
        while let Ok(n) = service.recv(&mut bytes) {
            all.push_str(&(String::from_utf8_lossy(&bytes[..n]).into_owned() + "\n"));
        }
        all
    };
    let args = [&WIDE[..], &["--aqm", "drop-tail", "--buffer", "60packets"]].concat();
    let mut command = net.gateway(&net.args(&args));
    command.env("NOTIFY_SOCKET", &path);
    let running = Running::new(command);
    let stream = net.stream(RECEIVER[0], false, 200, Wait::from_micros(500));
    assert!(stream.until(200, Wait::from_secs(5)));
    std::thread::sleep(1100 * MS);
    let said = heard();
    assert!(said.starts_with("READY=1\n") && said.matches("WATCHDOG=1\n").count() >= 2, "{said}");
    let (old, begin) = (running.worker(), Instant::now());
    signal(old, "STOP");
    std::thread::sleep(100 * MS);
    heard();
    // The kernel holds 572 packets, which are 0.3 s of these; then it passes what comes.
    assert!(stream.until(500, Wait::from_secs(3)), "nothing passes a gateway that hangs");
    println!("stopped: traffic passes after {:?}", stream.gap_since(begin));
    assert!(alive(old) && stream.gap_since(begin) < 1000 * MS, "{:?}", stream.gap_since(begin));
    assert_eq!(heard(), "", "there is no sign of life");
    running.says("has not answered for 3 s and is stopped: another one starts");
    println!("the supervisor noticed after {:?}", begin.elapsed());
    assert!(begin.elapsed() < Wait::from_secs(6) && gone(old));
    assert!(stream.until(500, Wait::from_secs(5)));
    assert!(net.status()["lines"][0]["queue"]["arrived"]["packets"].as_f64().unwrap() > 100.0);
    assert_eq!(net.status()["kernel"]["restarts"], 1);
    // What passed while the queue was full is counted, by a rule.
    let end = Instant::now() + Wait::from_secs(8);
    while net.status()["kernel"]["bypassed"].as_u64().unwrap() < 500 {
        assert!(Instant::now() < end, "{}", net.status()["kernel"]);
    }
    assert_eq!(running.stop().0, Some(0));
}

/// Of a flow whose packets are ECN-capable in turn, on a router whose rules remember marks and set others.
#[test]
fn rules_of_others_keep_their_marks_and_change_none_here() {
    nets().for_each(others_keep_their_marks);
}

fn others_keep_their_marks(net: Net) {
    net.on(
        G,
        "iptables -t mangle -A PREROUTING -j CONNMARK --restore-mark
         iptables -t mangle -I FORWARD -j MARK --set-xmark 7/0xff
         iptables -t mangle -A POSTROUTING -o g1 -p icmp -j DROP
         iptables -t mangle -A POSTROUTING -o g1 -m mark --mark 7/0xff
         iptables -t mangle -A POSTROUTING -j CONNMARK --save-mark",
    );
    if !net.lacks_security() {
        // Where the queue is in this chain, it would be an end to it.
        net.on(G, "iptables -t mangle -A POSTROUTING -o g1 -j ACCEPT");
    }
    let before = net.state();
    let args = [
        "--wan",
        "g1",
        "--up",
        "2Mbit/s",
        "--down",
        "9Mbit/s",
        "--aqm",
        "red",
        "--ecn",
        "--buffer",
        "60packets",
    ];
    let running = net.start(&args);
    // Another one saves what it finds before the gateway's rule clears it, as a rule that was added later does.
    net.on(G, "iptables -t mangle -I POSTROUTING -j CONNMARK --save-mark");
    let receiver = net.within(R, || std::net::UdpSocket::bind((RECEIVER[0], 0)).unwrap());
    let sender = net.within(S, || std::net::UdpSocket::bind("0.0.0.0:0").unwrap());
    // Of all that came, by their ECN field.
    let came = || {
        let text = net.within(R, || std::fs::read_to_string("/proc/thread-self/net/netstat").unwrap());
        ["InNoECTPkts", "InECT0Pkts", "InCEPkts"].map(|name| counter(&text, name))
    };
    let before_all = came();
    let begin = Instant::now();
    for n in 0..600u32 {
        rustix::net::sockopt::set_ip_tos(&sender, if n % 2 == 0 { 2 } else { 0 }).unwrap();
        sender.send_to(&[0; 500], receiver.local_addr().unwrap()).unwrap();
        // Late packets are made up for: a busy machine does not lower the load.
        let due = begin + Wait::from_micros(1500) * (n + 1);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    std::thread::sleep(300 * MS);
    let marked = net.status()["lines"][0]["queue"]["marked"]["packets"].as_u64().unwrap();
    let [plain, capable, ce] = {
        let (now, was) = (came(), before_all);
        [now[0] - was[0], now[1] - was[1], now[2] - was[2]]
    };
    println!("came not ECN-capable {plain}, ECN-capable {capable}, with CE {ce}; marked {marked}");
    // Only what the algorithm marked has CE, though the flow's other packets come with the same remembered mark.
    assert!(marked > 20 && ce == marked, "{marked} were marked, {ce} came with CE");
    assert!(plain <= 300 && capable + ce <= 300, "{plain} {capable} {ce}");
    let came = plain + capable + ce;
    // The mark of the other rule is on all that came.
    let rules = net.on(G, "iptables -t mangle -vxnL POSTROUTING");
    let line = rules.lines().find(|l| l.contains("mark match 0x7/0xff")).unwrap();
    assert!(line.split_whitespace().next().unwrap().parse::<u64>().unwrap() >= came, "{rules}");
    net.on(G, "iptables -t mangle -D POSTROUTING -j CONNMARK --save-mark");
    assert_eq!(running.stop().0, Some(0));
    assert_eq!(net.state(), before);
}

/// The packets that came with CE, of IPv4 and IPv6, at host `i`.
fn came_with_ce(net: &Net, i: usize) -> [u64; 2] {
    [("netstat", "InCEPkts"), ("snmp6", "Ip6InCEPkts")].map(|(file, name)| {
        let text =
            net.within(i, || std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap());
        counter(&text, name)
    })
}

/// The packets that a line dropped, and those that it marked.
fn dropped_and_marked(line: &serde_json::Value) -> (u64, u64) {
    let count = |path: &str| line.pointer(path).and_then(|v| v.as_u64()).unwrap();
    let dropped = ["refused", "dropped"]
        .iter()
        .flat_map(|place| ["early", "forced", "overflow"].map(|c| format!("/queue/{place}/{c}/packets")))
        .map(|path| count(&path));
    (dropped.sum(), count("/queue/marked/packets"))
}

/// The packets in a line that are of no stream: the hosts themselves look for neighbors and report multicast groups.
fn others(net: &Net, line: &serde_json::Value, streams: &[(u32, usize)]) -> u64 {
    let arrived = line.pointer("/queue/arrived/packets").and_then(|v| v.as_u64()).unwrap();
    let sent: u64 = streams.iter().map(|(sent, _)| u64::from(*sent)).sum();
    let messages: u64 = [G, R]
        .map(|i| {
            let text = net.within(i, || std::fs::read_to_string("/proc/thread-self/net/snmp6").unwrap());
            counter(&text, "Icmp6OutMsgs")
        })
        .iter()
        .sum();
    assert!((sent..=sent + messages).contains(&arrived), "{arrived} arrived, {sent} of them in streams");
    arrived - sent
}

/// Firewalls of which a packet with another bit in its mark than those that they set would be dropped, sent from
/// another address or led elsewhere.
const FIREWALLS: [(&str, &str); 4] = [
    (
        "exact marks",
        "for t in iptables ip6tables; do
           $t -t mangle -A PREROUTING -j MARK --set-mark 1
           $t -P FORWARD DROP; $t -A FORWARD -m mark --mark 1 -j ACCEPT
           $t -t mangle -A POSTROUTING -o g1 -m mark ! --mark 1 -j DROP
         done",
    ),
    (
        "exact marks with NAT",
        "for t in iptables ip6tables; do
           $t -t mangle -A PREROUTING -j MARK --set-mark 1
           $t -P FORWARD DROP; $t -A FORWARD -m mark --mark 1 -j ACCEPT
           $t -t nat -A POSTROUTING -o g1 -m mark --mark 1 -j MASQUERADE
         done",
    ),
    (
        "zones and remembered marks",
        "for t in iptables ip6tables; do
           $t -t mangle -A PREROUTING -j CONNMARK --restore-mark
           $t -t mangle -A PREROUTING -m mark --mark 0 -j MARK --set-mark 7
           $t -t mangle -A POSTROUTING -j CONNMARK --save-mark
           $t -N zone_wan; $t -P FORWARD DROP; $t -A FORWARD -o g1 -j zone_wan; $t -A FORWARD -i g1 -j zone_wan
           $t -A zone_wan -m mark --mark 7 -j RETURN; $t -A zone_wan -j DROP
           $t -A FORWARD -m conntrack --ctstate NEW,ESTABLISHED,RELATED -m connmark ! --mark 0x40000000/0x60000000 -j ACCEPT
           $t -t nat -A POSTROUTING -o g1 -j MASQUERADE
         done",
    ),
    (
        "nft",
        "nft -f - <<END
         table inet fw {
           chain first { type filter hook prerouting priority mangle; meta mark set 1; }
           chain forwarded { type filter hook forward priority filter; policy drop; meta mark 1 accept; }
           chain forwarded_later { type filter hook forward priority 40; policy drop; meta mark 1 accept; }
           chain leaving { type filter hook postrouting priority 0; policy drop; meta mark 1 accept; meta oif lo accept; ip6 nexthdr icmpv6 accept; }
           chain masquerading { type nat hook postrouting priority srcnat; oifname g1 meta mark 1 masquerade; }
         }
END",
    ),
];

#[test]
fn marks_of_the_gateway_meet_no_rule_of_others() {
    let there = FIREWALLS.iter().flat_map(|(style, script)| nets().map(move |net| (style, script, net)));
    for (style, script, net) in there {
        if *style == "nft" && std::process::Command::new("nft").arg("--version").output().is_err() {
            println!("skipped: there is no nft");
            continue;
        }
        net.on(G, script);
        let limits = ["--wan", "g1", "--up", "5Mbit/s", "--down", "20Mbit/s", "--buffer", "60packets"];
        let mut running = net.start(&[&limits[..], &["--aqm", "red", "--ecn"]].concat());
        let before = came_with_ce(&net, R);
        let streams = RECEIVER.map(|to| net.stream(to, true, 1000, Wait::from_micros(2500)));
        std::thread::sleep(1200 * MS);
        let sums = streams.map(Stream::finish);
        let line = &net.status()["lines"][0];
        let (dropped, marked) = dropped_and_marked(line);
        let after = came_with_ce(&net, R);
        let lost: u64 = sums.iter().map(|(sent, came)| u64::from(*sent) - *came as u64).sum();
        println!("{style}: {sums:?}, dropped {dropped}, marked {marked}");
        let most = lost + others(&net, line, &sums);
        assert!((lost..=most).contains(&dropped), "{style}: others dropped what the gateway did not");
        let ce = [after[0] - before[0], after[1] - before[1]];
        assert!(ce[0] > 10 && ce[1] > 10 && ce[0] + ce[1] == marked, "{style}: {ce:?} of {marked}");
        // Nobody reads the queue: what passes unshaped passes the firewall as without the gateway.
        signal(running.supervisor(), "KILL");
        running.wait();
        // What the worker held goes with it.
        std::thread::sleep(200 * MS);
        for to in RECEIVER {
            let stream = net.stream(to, false, 200, MS);
            assert!(stream.until(100, Wait::from_secs(5)), "{style}: {to} is not reached without a worker");
            let (sent, came) = stream.finish();
            assert_eq!(came, sent as usize, "{style}");
        }
    }
}

/// Both processes are killed, and somebody reloads mangle: what then sees a mark of the gateway's.
#[test]
fn after_a_kill_a_mark_stays_only_behind_the_table_security() {
    for net in nets() {
        let mut running = net.start(&WIDE);
        signal(running.supervisor(), "KILL");
        running.wait();
        std::thread::sleep(100 * MS);
        let of = |table: &str, chain: &str| {
            // Without a rule that asks for it, nothing is tracked, and nat sees nothing.
            let tracked = if table == "nat" { "-m conntrack --ctstate NEW" } else { "" };
            let rule = format!("{chain} -p udp -m mark ! --mark 0 {tracked}");
            net.on(G, &format!("iptables -t {table} -A {rule}"));
        };
        net.on(G, "iptables -t mangle -F; iptables -t mangle -X");
        let chains =
            [("filter", "FORWARD"), ("mangle", "FORWARD"), ("mangle", "POSTROUTING"), ("nat", "POSTROUTING")];
        chains.iter().for_each(|(table, chain)| of(table, chain));
        for (hosts, to) in [([S, R], RECEIVER[0]), ([R, S], "10.1.0.1"), ([G, R], RECEIVER[0])] {
            let stream = net.stream_between(hosts, to, false, 200, MS);
            assert!(stream.until(50, Wait::from_secs(5)), "{to}");
        }
        let seen = chains.map(|(table, chain)| {
            let said = net.on(G, &format!("iptables -t {table} -vxnL {chain}"));
            let rule = said.lines().find(|l| l.contains("mark match")).unwrap();
            rule.split_whitespace().next().unwrap().parse::<u64>().unwrap()
        });
        println!("{} security: seen {seen:?}", if net.lacks_security() { "without" } else { "with" });
        if net.lacks_security() || by_nft() {
            assert_eq!(seen, [0; 4]);
        } else {
            // Two streams are forwarded.
            assert!(seen[..2] == [0, 0] && seen[2] >= 100 && seen[3] == 2, "{seen:?}");
        }
    }
}

/// What the router itself sends and receives waits in the same lines, and is marked as well; it is not routed again
/// with another mark, and can be reached while a closed gateway has no worker.
#[test]
fn the_routers_own_traffic_is_shaped_too() {
    nets().for_each(own_traffic_is_shaped);
}

fn own_traffic_is_shaped(net: Net) {
    net.on(
        G,
        "for t in iptables ip6tables; do
           $t -P INPUT DROP; $t -P OUTPUT DROP
           $t -A INPUT -m tos --tos 3/3
           $t -A INPUT -i lo -j ACCEPT; $t -A OUTPUT -o lo -j ACCEPT
           $t -A INPUT -m mark --mark 0 -j ACCEPT; $t -A OUTPUT -m mark --mark 1 -j ACCEPT
           $t -t mangle -A OUTPUT -j MARK --set-mark 1
         done
         ip rule add pref 10 not fwmark 1 iif lo to 10.2.0.1 prohibit
         ip -6 rule add pref 10 not fwmark 1 iif lo to fd02::1 prohibit
         ip rule add pref 9 fwmark 0 to 10.2.0.1 lookup main; ip -6 rule add pref 9 fwmark 0 to fd02::1 lookup main",
    );
    if by_nft() {
        net.on(
            G,
            "nft add table inet ce
             nft add chain inet ce input {type filter hook input priority 2000\\;}
             nft add rule inet ce input ip ecn ce counter
             nft add rule inet ce input ip6 ecn ce counter",
        );
    }
    let before = net.state();
    let limits = ["--wan", "g1", "--up", "5Mbit/s", "--down", "4Mbit/s", "--buffer", "60packets"];
    let mut running = net.start(&[&limits[..], &["--aqm", "red", "--ecn", "--on-exit", "closed"]].concat());
    for (hosts, to, line, rate) in [([G, R], RECEIVER, 0, 5e6), ([R, G], ["10.2.0.2", "fd02::2"], 1, 4e6)] {
        // The kernel counts what comes with CE before INPUT, so there a rule behind the gateway's does.
        let ce = || match line {
            0 => came_with_ce(&net, R),
            _ if by_nft() => ["ip", "ip6"].map(|family| {
                let said = net.on(G, "nft list table inet ce");
                let rule = said.lines().find(|l| l.trim_start().starts_with(&format!("{family} "))).unwrap();
                rule.split_whitespace().skip_while(|w| *w != "packets").nth(1).unwrap().parse().unwrap()
            }),
            _ => ["iptables", "ip6tables"].map(|t| {
                let said = net.on(G, &format!("{t} -vxnL INPUT"));
                let rule = said.lines().find(|l| l.contains("tos match") || l.contains("TOS match")).unwrap();
                rule.split_whitespace().next().unwrap().parse().unwrap()
            }),
        };
        let before: [u64; 2] = ce();
        let begin = Instant::now();
        let streams = to.map(|to| net.stream_between(hosts, to, true, 1000, Wait::from_micros(2500)));
        std::thread::sleep(1500 * MS);
        let sums = streams.map(Stream::finish);
        let came: usize = sums.iter().map(|(_, came)| came).sum();
        let status = &net.status()["lines"][line];
        let (dropped, marked) = dropped_and_marked(status);
        let after = ce();
        let lost: u64 = sums.iter().map(|(sent, came)| u64::from(*sent) - *came as u64).sum();
        let bps = came as f64 * 1028.0 * 8.0 / begin.elapsed().as_secs_f64();
        println!("own, line {line}: {sums:?}, {bps:.0} bit/s, dropped {dropped}, marked {marked}");
        assert!(bps < rate * 1.02 && came > 500, "{bps}");
        let most = lost + others(&net, status, &sums);
        assert!((lost..=most).contains(&dropped), "the firewall or the routes drop what the gateway did not");
        let ce = [after[0] - before[0], after[1] - before[1]];
        assert!(ce[0] > 10 && ce[1] > 10 && ce[0] + ce[1] == marked, "{ce:?} of {marked}");
    }
    // What is forwarded stops, and the router is there.
    signal(running.supervisor(), "KILL");
    running.wait();
    let forwarded = net.stream(RECEIVER[0], false, 200, MS);
    assert!(!forwarded.until(0, 300 * MS), "what is forwarded passes a gateway that is closed and gone");
    for (hosts, to) in [([G, R], RECEIVER[0]), ([R, G], "fd02::2")] {
        let stream = net.stream_between(hosts, to, false, 200, MS);
        assert!(stream.until(100, Wait::from_secs(5)), "the router is not reached at {to}");
    }
    assert!(net.asked("clean", &[]).status.success());
    assert_eq!(net.state(), before);
}

/// What a mark of others leads to another device goes there, and what it leads to this one is shaped here.
#[test]
fn the_routers_own_traffic_takes_the_route_of_its_mark() {
    let Some(net) = net() else { return };
    net.on(
        G,
        "ip link add w0 type veth peer name w1; ip addr add 10.9.0.1/24 dev w0; ip link set w0 up; ip link set w1 up
         ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:09 dev w0
         ip route add 10.7.0.0/16 via 10.2.0.1 dev g1; ip route add 10.6.0.0/16 via 10.9.0.2 dev w0
         ip route add default via 10.9.0.2 dev w0 table 100; ip rule add fwmark 1 table 100
         ip route add default via 10.2.0.1 dev g1 table 200; ip rule add fwmark 2 table 200
         iptables -t mangle -A OUTPUT -p udp -d 10.7.0.0/16 -j MARK --set-mark 1
         iptables -t mangle -A OUTPUT -p udp -d 10.6.0.0/16 -j MARK --set-mark 2",
    );
    let sent = |device: &str| -> u64 {
        net.on(G, &format!("cat /sys/class/net/{device}/statistics/tx_packets")).trim().parse().unwrap()
    };
    let send = |to: &str| {
        let socket = net.within(G, || std::net::UdpSocket::bind("0.0.0.0:0").unwrap());
        for _ in 0..100 {
            let _ = socket.send_to(&[0; 200], (to, 9));
        }
        std::thread::sleep(300 * MS);
    };
    let mut running = net.start(&WIDE);
    let arrived = || net.status()["lines"][0]["queue"]["arrived"]["packets"].as_u64().unwrap();
    let before = [sent("g1"), sent("w0"), arrived()];
    send("10.7.0.1");
    let between = [sent("g1"), sent("w0"), arrived()];
    send("10.6.0.1");
    let after = [sent("g1"), sent("w0"), arrived()];
    println!("{before:?} {between:?} {after:?}");
    let near = |count: u64, expected: u64| (expected..expected + 20).contains(&count);
    assert!(near(between[0] - before[0], 0) && near(between[1] - before[1], 100), "{before:?} {between:?}");
    assert!(near(between[2] - before[2], 0), "{before:?} {between:?}");
    assert!(near(after[0] - between[0], 100) && near(after[1] - between[1], 0), "{between:?} {after:?}");
    assert!(
        near(after[2] - between[2], 100),
        "what leaves by the device is not shaped: {between:?} {after:?}"
    );
    // The same while nobody reads the queue.
    signal(running.supervisor(), "KILL");
    running.wait();
    let before = [sent("g1"), sent("w0")];
    send("10.7.0.1");
    let after = [sent("g1"), sent("w0")];
    assert!(near(after[0] - before[0], 0) && near(after[1] - before[1], 100), "{before:?} {after:?}");
}

#[test]
fn of_two_starts_at_once_one_runs() {
    let Some(net) = net() else { return };
    let before = net.state();
    for _ in 0..3 {
        let start = || {
            let mut command = net.gateway(&net.args(&WIDE));
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let mut both = [start(), start(), start()];
        let mut ended = Vec::new();
        let end = Instant::now() + Wait::from_secs(20);
        while ended.len() < 2 {
            assert!(Instant::now() < end, "more than one runs");
            for (i, child) in both.iter_mut().enumerate() {
                if !ended.contains(&i) && child.try_wait().unwrap().is_some() {
                    let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
                    assert!(said.contains("already"), "{said}");
                    ended.push(i);
                }
            }
            std::thread::sleep(5 * MS);
        }
        let one = (0..3).find(|i| !ended.contains(i)).unwrap();
        let mut lines = BufReader::new(both[one].stderr.take().unwrap()).lines();
        assert!(lines.by_ref().map_while(Result::ok).any(|line| line.starts_with("ready: ")));
        // It has its rules and its journal, and the others have left nothing.
        assert!(net.state().contains(&format!("-A FORWARD -j quell-{}-q", net.id)), "{}", net.state());
        assert!(net.asked("reload", &["--up", "100Mbit/s"]).status.success());
        signal(both[one].id(), "TERM");
        assert_eq!(both[one].wait().unwrap().code(), Some(0));
        assert_eq!(net.state(), before);
    }
}

#[test]
fn nobody_who_listens_is_no_reason_to_end() {
    let Some(net) = net() else { return };
    let before = net.state();
    let mut command = net.gateway(&[&net.args(&WIDE)[..], &["--on-exit", "closed"]].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.by_ref().map_while(Result::ok).any(|line| line.starts_with("ready: ")));
    drop(lines);
    for rate in ["90Mbit/s", "80Mbit/s"] {
        let done = net.asked("reload", &["--up", rate]);
        assert!(done.status.success(), "{done:?}");
    }
    let children = || {
        let text = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
        text.split_whitespace().map(|pid| pid.parse::<u32>().unwrap()).collect::<Vec<_>>()
    };
    let old = children()[0];
    signal(old, "KILL");
    let stream = net.stream(RECEIVER[0], false, 200, MS);
    assert!(stream.until(100, Wait::from_secs(5)), "nothing passes");
    assert_ne!(children(), [old]);
    drop(stream);
    signal(child.id(), "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(net.state(), before);
}

#[test]
fn a_start_that_fails_opens_nothing_and_clean_needs_no_journal() {
    nets().for_each(a_start_fails);
}

fn a_start_fails(mut net: Net) {
    let before = net.state();
    let closed = [&WIDE[..], &["--on-exit", "closed"]].concat();
    let mut running = net.start(&closed);
    signal(running.supervisor(), "KILL");
    running.wait();
    let stream = net.stream(RECEIVER[0], false, 200, MS);
    // Fails where no check looks.
    let taken = net.within(G, || std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let address = taken.local_addr().unwrap().to_string();
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let with = ["--metrics", &address, "--log", log.to_str().unwrap()];
    let done = net.gateway(&net.args(&[&closed[..], &with].concat())).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(1) && said.contains("traffic is stopped until"), "{said}");
    assert!(said.contains(&address), "{said}");
    assert_eq!(stream.during(300 * MS), 0, "a start that failed has opened what was closed");
    assert!(std::fs::exists(format!("/run/quell/{}.json", net.id)).unwrap());
    // Somebody has removed the journal, and the kernel may have more tables than before.
    std::fs::remove_file(format!("/run/quell/{}.json", net.id)).unwrap();
    net.has_security();
    let done = net.asked("clean", &[]);
    assert!(done.status.success(), "{done:?}");
    assert!(stream.until(100, Wait::from_secs(5)));
    assert_eq!(net.state(), before);
    assert!(String::from_utf8_lossy(&net.asked("clean", &[]).stdout).contains("has left nothing"));
    // A first start that fails leaves no log that would be in the way of the next one.
    let _ = std::fs::remove_file(&log);
    let done = net.gateway(&net.args(&[&WIDE[..], &with].concat())).output().unwrap();
    assert!(done.status.code() == Some(1) && !log.exists(), "{done:?}");
    assert_eq!(net.state(), before);
}

#[test]
fn rules_that_are_gone_are_added_again() {
    let Some(net) = net() else { return };
    let running = net.start(&WIDE);
    let with = net.state();
    let stream = net.stream(RECEIVER[0], false, 200, MS);
    assert!(stream.until(100, Wait::from_secs(5)));
    net.on(G, if by_nft() { "nft flush ruleset" } else { "iptables -t mangle -F" });
    running.says("rules of the firewall are gone or out of order: they are added again");
    let end = Instant::now() + Wait::from_secs(5);
    while net.state() != with {
        assert!(Instant::now() < end, "{}", net.state());
        std::thread::sleep(10 * MS);
    }
    let end = Instant::now() + Wait::from_secs(5);
    while !net.status()["anomalies"].to_string().contains("bypass") {
        assert!(Instant::now() < end, "{}", net.status());
    }
    assert_eq!(net.status()["kernel"]["rules_gone"], 1);
    // Another gateway at the same device would see nothing.
    let other =
        net.gateway(&[&["run", "--id", "other", "--queue", "7002"], &WIDE[..]].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&other.stderr);
    assert!(
        other.status.code() == Some(1) && said.contains(&format!("gateway \"{}\" already has g1", net.id)),
        "{said}"
    );
    assert_eq!(running.stop().0, Some(0));
}

#[test]
fn twenty_kills_leave_nothing() {
    let Some(net) = net() else { return };
    let before = net.state();
    let mut x = 1u32;
    for _ in 0..20 {
        // Anywhere from before the first change to after the last.
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let mut child = net
            .gateway(&net.args(&WIDE))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Wait::from_millis(u64::from(x >> 16) % 250));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let done = net.asked("clean", &[]);
    assert!(done.status.success(), "{done:?}");
    assert_eq!(net.state(), before);
    let left =
        std::fs::read_dir("/run/quell").unwrap().flatten().map(|e| e.file_name().into_string().unwrap());
    let left: Vec<String> = left.filter(|name| name.starts_with(&net.id)).collect();
    assert!(left.is_empty(), "{left:?}");
    let inside = sh(&format!("ip netns pids {}", net.name(G)));
    assert!(inside.is_empty(), "processes are left: {inside}");
}

#[test]
fn a_file_is_read_again_under_load_and_a_bad_one_changes_nothing() {
    let Some(net) = net() else { return };
    let dir = tempfile::tempdir().unwrap();
    let [path, log] = ["gateway.toml", "log"].map(|name| dir.path().join(name));
    let config = |up: &str, aqm: &str| {
        let log = log.display();
        format!(
            "wan = \"g1\"\nup = \"{up}\"\ndown = \"200 Mbit/s\"\nlog = \"{log}\"\n[aqm]\nalgorithm = {aqm}\n"
        )
    };
    std::fs::write(&path, config("100 Mbit/s", "\"codel\"")).unwrap();
    let running = net.start(&["--config", path.to_str().unwrap()]);
    let streams = RECEIVER.map(|to| net.stream(to, false, 1000, Wait::from_micros(500)));
    for n in 0..20 {
        // 32 Mbit/s come.
        let [up, aqm] = [["60 Mbit/s", "\"pi\"\nq_ref = \"20 packets\""], ["90 Mbit/s", "\"red\""]][n % 2];
        std::fs::write(&path, config(up, aqm)).unwrap();
        let done = net.asked("reload", &[]);
        assert!(done.status.success(), "{done:?}");
    }
    // The last one holds.
    let line = net.status()["lines"][0].clone();
    assert_eq!(line["queue"]["algorithm"], "red", "{line}");
    for (text, expected) in [
        (config("90 Mbit", "\"red\""), "gateway.toml:2: up = \"90 Mbit\": "),
        (config("90 Mbit/s", "\"red\"\nmax_p = 7"), "max_p"),
        (config("90 Mbit/s", "\"read\""), "is not an algorithm; did you mean \"red\"? Known: "),
        (config("90 Mbit/s", "\"red\"").replace("g1", "g0"), "wan cannot change while it runs"),
    ] {
        std::fs::write(&path, text).unwrap();
        let done = net.asked("reload", &[]);
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && said.contains(expected), "{said}");
        assert!(said.contains("continues unchanged"), "{said}");
    }
    // Also where the command line of the start goes before it.
    std::fs::write(&path, config("90 Mbit/s", "\"red\"") + "\n").unwrap();
    let bad = dir.path().join("bad.toml");
    std::fs::write(&bad, format!("id = \"{}\"\nqueue = 65535\n", net.id) + &config("90 Mbit/s", "\"red\""))
        .unwrap();
    let done = net.asked("reload", &["--config", bad.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.code() == Some(2) && said.contains("bad.toml:2: queue: 65535 must leave room"),
        "{said}"
    );
    // A file that is named once is read once: then the file of the start holds again.
    std::fs::write(&path, config("90 Mbit/s", "\"red\"")).unwrap();
    let other = dir.path().join("other.toml");
    std::fs::write(&other, config("77 Mbit/s", "\"blue\"")).unwrap();
    let done = net.asked("reload", &["--config", other.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&done.stdout).contains("blue up 77 Mbit/s"), "{done:?}");
    let done = net.asked("reload", &[]);
    assert!(String::from_utf8_lossy(&done.stdout).contains("red up 90 Mbit/s"), "{done:?}");
    // The file says which gateway; this one has its name of the command line.
    std::fs::write(
        &path,
        config("80 Mbit/s", "\"pie\"").replacen("wan", &format!("id = \"{}\"\nwan", net.id), 1),
    )
    .unwrap();
    let done = net.gateway(&["reload", "--config", path.to_str().unwrap()]).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    // By a signal, and by options.
    std::fs::write(&path, config("80 Mbit/s", "\"pie\"")).unwrap();
    signal(running.supervisor(), "HUP");
    running.says("reloaded: pie up 80 Mbit/s");
    let done = net.asked("reload", &["--aqm", "codel", "--set", "target=1s"]);
    assert!(done.status.code() == Some(2), "{done:?}");
    let done = net.asked("reload", &["--set", "target=7ms"]);
    assert!(String::from_utf8_lossy(&done.stdout).contains("pie up 80 Mbit/s"), "{done:?}");
    let done = net.asked("reload", &["--set", "tarjet=7ms"]);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.code() == Some(2) && said.contains("--set tarjet=7ms: did you mean \"target\"?"),
        "{said}"
    );
    let done = net.asked("reload", &["--up", "70Mbit/s"]);
    assert!(String::from_utf8_lossy(&done.stdout).contains("pie up 70 Mbit/s"), "{done:?}");
    let sums = streams.map(Stream::finish);
    // RED and PIE may drop some of a burst, and say so; nothing else is lost. The router's own packets (neighbor
    // discovery) pass the queue, too.
    let queue = net.status()["lines"][0]["queue"].clone();
    let packets = |v: &serde_json::Value| v["packets"].as_u64().unwrap_or_else(|| panic!("{queue}"));
    let decided: u64 = ["refused", "dropped"]
        .iter()
        .flat_map(|place| ["early", "forced", "overflow"].map(|cause| packets(&queue[place][cause])))
        .sum();
    println!("(sent, came) through 25 reloads: {sums:?}, dropped by decision: {decided}");
    let sent: u64 = sums.iter().map(|(sent, _)| u64::from(*sent)).sum();
    let came: u64 = sums.iter().map(|(_, came)| *came as u64).sum();
    let arrived = packets(&queue["arrived"]);
    let own = arrived.checked_sub(sent).unwrap_or_else(|| panic!("{sent} sent, {arrived} arrived"));
    println!("of the router itself: {own}");
    assert!((sent..=sent + own).contains(&(came + decided)), "a reload loses packets");
    let (code, printed, _) = running.stop();
    assert!(code == Some(0) && printed.contains("red, then blue, then red, then pie "), "{printed}");
    check_log(&std::fs::read(&log).unwrap(), true);
}

#[test]
fn links_that_flap_fragments_and_a_full_disk_do_no_harm() {
    let Some(net) = net() else { return };
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    // 100 blocks of 512 bytes or 1 kB, as the shell counts: a full disk.
    let words = net.args(&WIDE).join(" ");
    let mut command = std::process::Command::new("ip");
    let script = format!(
        "ulimit -f 100; exec {} {words} --log {}",
        env!("CARGO_BIN_EXE_quell-gateway"),
        log.display()
    );
    command.args(["netns", "exec", net.name(G), "sh", "-ec", &script]);
    let running = Running::new(command);
    let worker = running.worker();
    let stream = net.stream(RECEIVER[0], false, 200, Wait::from_micros(300));
    // Two records of 28 bytes for each packet.
    assert!(stream.until(2500, Wait::from_secs(10)));
    // The log is written once a second, and whether that went well is known a second later.
    let end = Instant::now() + Wait::from_secs(8);
    while net.status()["log"]["state"] != "ended" {
        assert!(Instant::now() < end, "{}", net.status());
    }
    assert!(stream.during(200 * MS) > 100, "a full disk stops traffic");

    // The link goes and comes.
    for _ in 0..5 {
        net.on(G, "ip link set g1 down");
        std::thread::sleep(20 * MS);
        net.on(G, "ip link set g1 up");
        assert!(stream.until(50, Wait::from_secs(5)), "nothing passes after the link has come back");
    }
    drop(stream);
    // Fragments, of the sender and of the router.
    let stream = net.stream(RECEIVER[0], false, 4000, 2 * MS);
    assert!(stream.until(100, Wait::from_secs(5)));
    net.on(G, "ip link set g1 mtu 1000");
    net.on(R, "ip link set r0 mtu 1000");
    assert!(stream.until(100, Wait::from_secs(5)));
    let (sent, came) = stream.finish();
    assert!(sent as usize - came <= 5, "{came} of {sent}");
    let line = net.status()["lines"][0].clone();
    let packets =
        |path: &str| line.pointer(path).and_then(|v| v.as_f64()).unwrap_or_else(|| panic!("{path}: {line}"));
    // Nothing waits, so what arrived was sent or dropped.
    assert_eq!(packets("/queue/arrived/packets"), packets("/queue/enqueued/packets"));
    assert_eq!(packets("/queue/enqueued/packets"), packets("/sent/packets"));
    assert_eq!(running.worker(), worker, "the worker was not started again: {}", running.said());
    let (code, _, said) = running.stop();
    assert!(code == Some(1) && said.contains("the log is incomplete"), "{said}");
    // What is there can be replayed.
    check_log(&std::fs::read(&log).unwrap(), false);
}

/// A file system in memory, gone with this.
struct Small(tempfile::TempDir);

impl Small {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        sh(&format!("mount -t tmpfs -o size=256k quell-small {}", dir.path().display()));
        Small(dir)
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        sh(&format!("umount -l {}", self.0.path().display()));
    }
}

#[test]
fn a_full_disk_stops_no_worker_that_starts_again() {
    let Some(net) = net() else { return };
    let disk = Small::new();
    let log = disk.0.path().join("log");
    let with_log = [&WIDE[..], &["--log", log.to_str().unwrap()]].concat();
    let running = net.start(&with_log);
    // What is left of it.
    let _ = std::fs::write(disk.0.path().join("rest"), vec![0; 1 << 20]);
    signal(running.worker(), "KILL");
    running.says("this worker has no log");
    let stream = net.stream(RECEIVER[0], false, 200, MS);
    assert!(stream.until(100, Wait::from_secs(5)), "a full disk stops traffic: {}", running.said());
    drop(stream);
    let end = Instant::now() + Wait::from_secs(8);
    let ended = |status: &serde_json::Value| {
        let raised = status["anomalies"].as_array().unwrap();
        status["log"]["state"] == "ended" && raised.iter().any(|a| a["kind"] == "log-ended")
    };
    while !ended(&net.status()) {
        assert!(Instant::now() < end, "{}", net.status());
        std::thread::sleep(20 * MS);
    }
    let (code, _, said) = running.stop();
    assert!(code == Some(1) && said.contains("the log is incomplete"), "{said}");
    // What is there is not for the next one to destroy.
    let before = std::fs::read(&log).unwrap();
    let done = net.gateway(&net.args(&with_log)).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(1) && said.contains("the log cannot be written"), "{said}");
    assert_eq!(std::fs::read(&log).unwrap(), before);
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&log).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    // At the first start nothing is lost yet by saying so.
    std::fs::remove_file(&log).unwrap();
    let _ = std::fs::write(disk.0.path().join("more"), vec![0; 1 << 20]);
    let _ = std::fs::remove_file(disk.0.path().join("log.1"));
    let done = net.gateway(&net.args(&with_log)).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(1) && said.contains("the log cannot be written"), "{said}");
}

#[test]
fn what_stands_in_the_way_is_said_before_anything_is_touched() {
    let Some(net) = net() else { return };
    let before = net.state();
    let with = |more: &[&str]| {
        // What comes later goes before.
        let mut args = net.args(&WIDE);
        args[0] = "check";
        for pair in more.chunks(2) {
            match args.iter().position(|a| *a == pair[0]) {
                Some(at) => args[at + 1] = pair[1],
                None => args.extend(pair),
            }
        }
        let done = net.gateway(&args).output().unwrap();
        let text = [&done.stdout[..], &done.stderr].concat();
        (done.status.code(), String::from_utf8(text).unwrap())
    };
    let (code, said) = with(&[]);
    assert!(code == Some(0) && said.contains("no problems found"), "{said}");
    assert!(said.contains("-o g1 -j NFQUEUE --queue-num 7000 --queue-bypass"), "{said}");
    for (more, expected) in [
        // A veth says that it carries 10 Gbit/s.
        (
            vec!["--up", "11Gbit/s"],
            "is more than g1 carries, 10 Gbit/s, so the queue would form there and not here; use --up 9.5 Gbit/s",
        ),
        (vec!["--down", "300Gbit/s", "--aqm", "drop-tail"], "more than this machine moves"),
        (vec!["--log", "/nowhere/log"], "mkdir -p /nowhere"),
        (vec!["--user", "root"], "not read as root"),
        (vec!["--metrics", "0.0.0.0:9101"], "add --metrics-any"),
    ] {
        let (code, said) = with(&more);
        assert!(code.is_some_and(|code| code > 0) && said.contains(expected), "{more:?}: {said}");
    }
    // A device may come later, and a name that is wrong shows beside those that there are.
    let (code, said) = with(&["--wan", "g7"]);
    let note = "note: device \"g7\" does not exist yet, so Quell waits for it; the devices are g0, g1, lo";
    assert!(code == Some(0) && said.contains(note), "{said}");
    // This kernel may have no queue statement for nft; then that is what is said.
    let (code, said) = with(&["--firewall", "nft"]);
    match code {
        Some(0) => assert!(said.contains("table inet quell_"), "{said}"),
        _ => assert!(said.contains("nft_queue") || said.contains("there is no nft"), "{said}"),
    }
    // Each family by itself.
    let (v4, v6) = ("sysctl -w net.ipv4.ip_forward=1", "sysctl -w net.ipv6.conf.all.forwarding=1");
    for (set, none) in [([1, 0], [false, true]), ([0, 1], [true, false]), ([0, 0], [true, true])] {
        let [on4, on6] = set;
        net.on(G, &format!("echo {on4} > /proc/sys/net/ipv4/ip_forward; echo {on6} > /proc/sys/net/ipv6/conf/all/forwarding"));
        let (code, said) = with(&[]);
        assert_eq!((code, [v4, v6].map(|key| said.contains(key))), (Some(0), none), "{said}");
    }
    // Others' rules about the same bits.
    net.on(G, "iptables -t nat -A POSTROUTING -m mark --mark 0x20000000/0x20000000 -j ACCEPT");
    let (code, said) = with(&[]);
    assert!(code == Some(0) && said.contains("uses bit 29 or 30 of the mark"), "{said}");
    let (_, said) = with(&["--mark-bit", "20"]);
    assert!(!said.contains("of the mark") && said.contains("0x100000/0x300000"), "{said}");
    net.on(G, "iptables -t nat -F POSTROUTING; iptables -t mangle -A INPUT -p udp -j ACCEPT");
    let (code, said) = with(&[]);
    assert!(
        code == Some(0) && said.contains("rule \"iptables -t mangle -A INPUT -p udp -j ACCEPT\" ends the chain before the gateway's queue"),
        "{said}"
    );
    net.on(G, "iptables -t mangle -F INPUT");
    // A port of a bridge, where the kernel has bridges.
    let bridge = net.on(G, "ip link add br0 type bridge && echo made || true");
    if bridge.contains("made") {
        net.on(G, "ip link add p0 type veth peer name p1; ip link set p0 master br0");
        let (code, said) = with(&["--wan", "p0"]);
        assert!(
            code == Some(1) && said.contains("p0 is a part of br0") && said.contains("--wan br0"),
            "{said}"
        );
    } else {
        println!("a port of a bridge is not tried: this kernel has none");
    }
    // Without rights.
    let mut command = std::process::Command::new("ip");
    let args = net.args(&WIDE).join(" ").replacen("run", "check", 1);
    let script =
        format!("exec setpriv --reuid 65534 --clear-groups {} {args}", env!("CARGO_BIN_EXE_quell-gateway"));
    let done = command.args(["netns", "exec", net.name(G), "sh", "-c", &script]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    if !said.contains("setpriv") && !said.contains("ermission denied") {
        assert!(said.contains("(CAP_NET_ADMIN): run it as root, with sudo"), "{said}");
    }
    assert_eq!(net.state(), before);
}
