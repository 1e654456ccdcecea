//! A router's gateway as a service: who may end it, devices that come and go, logs that rotate, and what it leaves
//! behind. Where network namespaces are not allowed the tests say why and pass, unless `QUELL_REQUIRE_NETNS=1`.
#![cfg(target_os = "linux")]

#[path = "common/router.rs"]
mod common;

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration as Wait;

use common::*;

const MS: Wait = Wait::from_millis(1);

fn net() -> Option<Net> {
    possible(router()).then(|| Net::new(env!("CARGO_BIN_EXE_quell-gateway"), &[]))
}

/// A rate that no stream here fills.
const WIDE: [&str; 6] = ["--wan", "g1", "--up", "200Mbit/s", "--down", "200Mbit/s"];

/// The user of a process.
fn user_of(pid: u32) -> u32 {
    let threads = rights(pid);
    threads.values().next().unwrap()["Uid"].split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn the_worker_is_nobody_elses() {
    let Some(net) = net() else { return };
    let running = net.start(&WIDE);
    let worker = running.worker();
    // What other services are, and what the next gateway could be.
    for user in [65_534, 1000, 61_183] {
        for name in ["KILL", "STOP", "TERM", "0"] {
            let done = Command::new("sh")
                .args(["-c", &format!("kill -{name} {worker}")])
                .uid(user)
                .gid(user)
                .output();
            let done = done.unwrap();
            assert!(!done.status.success(), "user {user} may send {name}");
        }
    }
    assert!(alive(worker));
    // Another one on the same host is another user, which the first one could not end either.
    let other = Net::new(env!("CARGO_BIN_EXE_quell-gateway"), &[]);
    let second = other.start(&WIDE);
    let users = [worker, second.worker()].map(user_of);
    assert_ne!(users[0], users[1]);
    // A user that others are, if it is asked for.
    assert_eq!(second.stop().0, Some(0));
    let mut sleeper = Command::new("sleep").arg("60").uid(61_100).spawn().unwrap();
    let third = other.start(&[&WIDE[..], &["--user", "61100"]].concat());
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    third.says("user 61100 has other processes");
    assert_eq!(user_of(third.worker()), 61_100);
    // A new worker is the same user as the one before.
    signal(worker, "KILL");
    running.says("another one starts");
    let end = std::time::Instant::now() + Wait::from_secs(10);
    let new = loop {
        if let Ok(children) =
            std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", running.supervisor()))
            && let Some(new) = children.split_whitespace().next()
        {
            break new.parse().unwrap();
        }
        assert!(std::time::Instant::now() < end);
    };
    until("the new worker answers", || {
        rights(new).values().all(|t| t["Seccomp"] == "2" && t["Uid"] != "0 0 0 0")
    });
    until("all of it has begun", || rights(new).contains_key("quell-metrics"));
    assert_eq!((net.status()["kernel"]["restarts"].as_u64(), user_of(new)), (Some(1), users[0]));
    check_rights(&running);
}

/// The kinds of the anomalies that hold.
fn anomalies(net: &Net) -> Vec<String> {
    let status = net.status();
    status["anomalies"].as_array().unwrap().iter().map(|a| a["kind"].as_str().unwrap().to_string()).collect()
}

fn until(what: &str, mut is: impl FnMut() -> bool) {
    let end = std::time::Instant::now() + Wait::from_secs(10);
    while !is() {
        assert!(std::time::Instant::now() < end, "{what}");
        std::thread::sleep(20 * MS);
    }
}

#[test]
fn a_device_that_comes_goes_and_comes_back_is_waited_for() {
    let Some(net) = net() else { return };
    // As PPP does: the device is there while its session is.
    net.on(G, "ip link set g1 down; ip link set g1 name p1");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notify");
    let service = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    service.set_nonblocking(true).unwrap();
    let mut command = net.gateway(&net.args(&WIDE));
    command.env("NOTIFY_SOCKET", &path);
    let running = Running::new(command);
    running.says("device \"g1\" does not exist yet, so Quell waits for it; the devices are g0, lo, p1");
    // Whoever waits for the service does not give it up.
    let mut bytes = [0; 256];
    let n = service.recv(&mut bytes).unwrap();
    assert_eq!(&bytes[..n], b"READY=1");
    until("the device is missed", || anomalies(&net) == ["device-gone"]);
    let metrics = |name: &str| {
        let socket = format!("/run/quell/{}.sock", net.id);
        let page = sh(&format!("curl -s --unix-socket {socket} http://localhost/metrics || true"));
        page.lines().find(|l| l.starts_with(name)).map(String::from)
    };
    if let Some(line) = metrics("quell_anomaly{anomaly=\"device-gone\"") {
        assert!(line.ends_with(" 1"), "{line}");
    }
    let up = "ip link set p1 down; ip link set p1 name g1; ip link set g1 up
        ip addr replace 10.2.0.2/24 dev g1; ip addr replace fd02::2/64 dev g1 nodad";
    net.on(G, up);
    running.says("device g1 is there");
    until("the device is there", || anomalies(&net).is_empty());
    let stream = net.stream(RECEIVER[0], false, 200, MS);
    assert!(stream.until(100, Wait::from_secs(5)));
    let arrived = || net.status()["lines"][0]["queue"]["arrived"]["packets"].as_u64().unwrap();
    assert!(arrived() > 50, "what comes by the device is shaped");
    drop(stream);
    // It goes, and another one of this name comes.
    net.on(G, "ip link del g1");
    running.says("device g1 is gone: Quell waits for it");
    until("the device is missed", || anomalies(&net) == ["device-gone"]);
    sh(&format!(
        "ip link add r0 netns {r} type veth peer name g1 netns {g}
         ip -n {r} addr add 10.2.0.1/24 dev r0; ip -n {r} link set r0 up; ip -n {g} link set g1 up
         ip -n {g} addr add 10.2.0.2/24 dev g1; ip -n {r} route add default via 10.2.0.2",
        r = net.name(R),
        g = net.name(G)
    ));
    until("the device is back", || anomalies(&net).is_empty());
    let before = arrived();
    let stream = net.stream(RECEIVER[0], false, 200, MS);
    assert!(stream.until(100, Wait::from_secs(5)));
    assert!(arrived() > before + 50, "what comes by the new device is shaped");
    drop(stream);
    let (code, _, said) = running.stop();
    assert!(code == Some(0) && said.matches("device g1 is there").count() == 2, "{said}");
}

#[test]
fn a_device_that_comes_too_slow_is_said() {
    let Some(net) = net() else { return };
    // What it reads of links there; no device of a test's says less than 10 Gbit/s by itself.
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("t1")).unwrap();
    let carries = |speed: &str| std::fs::write(dir.path().join("t1/speed"), speed).unwrap();
    // As long as its link is not up.
    carries("-1\n");
    let args = net.args(&["--wan", "t1", "--up", "20Mbit/s", "--down", "4Mbit/s"]).join(" ");
    let (place, program) = (dir.path().display(), env!("CARGO_BIN_EXE_quell-gateway"));
    let script = format!("mount --bind {place} /sys/class/net && exec {program} {args}");
    let mut command = Command::new("ip");
    command.args(["netns", "exec", net.name(G), "sh", "-ec", &script]);
    let running = Running::new(command);
    running.says("device \"t1\" does not exist yet");
    net.on(G, "ip tuntap add t1 mode tun; ip link set t1 up");
    running.says("device t1 is there");
    carries("10\n");
    running.says("device t1 carries 10 Mbit/s\n");
    running.says("up 20 Mbit/s is more than t1 carries, 10 Mbit/s");
    carries("4\n");
    running.says("device t1 carries 4 Mbit/s, no longer 10 Mbit/s");
    running.says("down 4 Mbit/s is the full rate of t1, 4 Mbit/s");
    carries("-1\n");
    running.says("device t1 no longer reports its rate");
    assert!(!running.said().contains("replaced by another"), "{}", running.said());
    net.on(G, "ip link del t1; ip tuntap add t1 mode tun");
    running.says("device t1 was replaced by another of that name");
    assert_eq!(running.stop().0, Some(0));
}

#[test]
fn the_only_killed_gateway_is_cleaned_and_the_only_one_that_runs_reloads() {
    let Some(net) = net() else { return };
    let before = net.state();
    // Where no other test's gateways are.
    std::fs::create_dir_all("/run/quell").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let with = |args: &[&str]| {
        let (place, program) = (dir.path().display(), env!("CARGO_BIN_EXE_quell-gateway"));
        let script = format!("mount --bind {place} /run/quell && exec {program} {}", args.join(" "));
        let mut command = Command::new("ip");
        command.args(["netns", "exec", net.name(G), "sh", "-ec", &script]);
        command
    };
    let said = |args: &[&str]| {
        let done = with(args).output().unwrap();
        (done.status.code(), String::from_utf8([&done.stdout[..], &done.stderr].concat()).unwrap())
    };
    let start = |id: &str, wan: &str, queue: &str| {
        let rates = ["--up", "200Mbit/s", "--down", "200Mbit/s"];
        Running::new(with(&[&["run", "--id", id, "--wan", wan, "--queue", queue], &rates[..]].concat()))
    };
    let mut first = start("first", "g1", "7000");
    let reload = ["reload", "--up", "100Mbit/s"];
    let (code, text) = said(&reload);
    assert!(code == Some(0) && text.contains("gateway \"first\" continues with"), "{text}");
    signal(first.supervisor(), "KILL");
    first.wait();
    let mut second = start("second", "g0", "7004");
    // The one that runs is none to clean, and the one that was killed none to reload.
    let (code, text) = said(&reload);
    assert!(code == Some(0) && text.contains("gateway \"second\" continues with"), "{text}");
    let (code, text) = said(&["clean"]);
    assert!(code == Some(0) && text.contains("the rules of gateway \"first\" are gone"), "{text}");
    let mut first = start("first", "g1", "7000");
    let (code, text) = said(&reload);
    assert!(
        code == Some(2) && text.contains("more than one gateway runs: add --id first or --id second"),
        "{text}"
    );
    for one in [&mut first, &mut second] {
        signal(one.supervisor(), "KILL");
        one.wait();
    }
    let (code, text) = said(&["clean"]);
    let names = "more than one gateway was killed: add --id first or --id second";
    assert!(code == Some(2) && text.contains(names), "{text}");
    for id in ["first", "second"] {
        assert_eq!(said(&["clean", "--id", id]).0, Some(0));
    }
    let (code, text) = said(&["clean"]);
    assert!(code == Some(0) && text.contains("gateway \"0\" has left nothing"), "{text}");
    assert_eq!(net.state(), before);
    // Nobody's folder is root's to work in.
    std::os::unix::fs::chown(dir.path(), Some(65_534), None).unwrap();
    let (code, text) = said(&["run", "--id", "first", "--wan", "g1", "--up", "1Mbit/s", "--down", "1Mbit/s"]);
    assert!(code == Some(1) && text.contains("/run/quell belongs to user 65534"), "{text}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    std::os::unix::fs::chown(dir.path(), Some(0), None).unwrap();
    // One cause is said once, with one remedy, whether there is a journal or not.
    let mode = |mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(dir.path(), mode).unwrap();
    };
    let run = ["--id", "first", "--wan", "g1", "--up", "1Mbit/s", "--down", "1Mbit/s"];
    for journal in [false, true] {
        if journal {
            std::fs::write(dir.path().join("first.json"), "{").unwrap();
        }
        mode(0o777);
        let remedy = "/run/quell has mode 777, so others could exchange its files: chmod 755 /run/quell";
        for command in ["check", "run"] {
            let (code, text) = said(&[&[command], &run[..]].concat());
            let lines: Vec<&str> = text.lines().filter(|l| l.contains("/run/quell")).collect();
            assert!(code == Some(1) && lines.len() == 1 && lines[0].contains(remedy), "{text}");
            assert!(!text.contains("damaged") && !text.contains("clean"), "{text}");
        }
        for command in ["clean", "reload"] {
            let (code, text) = said(&[command, "--id", "first"]);
            assert!(code == Some(1) && text.matches("chmod").count() == 1 && text.contains(remedy), "{text}");
            assert!(!text.contains("damaged"), "{text}");
        }
        mode(0o755);
    }
    // One that is damaged is, and `clean` mends that.
    let (code, text) = said(&[&["check"], &run[..]].concat());
    assert!(code == Some(1) && text.contains("is damaged, /run/quell/first.json: "), "{text}");
    let (code, text) = said(&["clean", "--id", "first"]);
    assert!(code == Some(0) && text.contains("the journal was damaged"), "{text}");
}

/// The files of a log, by their numbers.
fn files_of(log: &std::path::Path) -> std::collections::BTreeMap<u32, std::path::PathBuf> {
    let name = log.file_name().unwrap().to_str().unwrap().to_string();
    let entries = std::fs::read_dir(log.parent().unwrap()).unwrap().map(|e| e.unwrap().path());
    let number = |path: &std::path::Path| -> u32 {
        let rest = path.file_name().unwrap().to_str().unwrap().strip_prefix(&name).unwrap();
        rest.strip_prefix('.').map_or(0, |digits| digits.parse().unwrap())
    };
    entries.map(|path| (number(&path), path)).collect()
}

/// Replays a file of a log; whether it was closed, and how many arrivals it has.
fn replayed(path: &std::path::Path) -> (bool, u64) {
    let bytes = std::fs::read(path).unwrap();
    let found = quell_gateway::replay(&mut quell_gateway::LogReader::new(&bytes[..]).unwrap(), None).unwrap();
    assert!(found.lines.iter().all(|line| line.differ == 0), "{}: {found:?}", path.display());
    (found.closed, found.lines.iter().map(|line| line.arrivals).sum())
}

#[test]
fn a_log_goes_on_in_other_files_and_the_oldest_go() {
    let Some(net) = net() else { return };
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let args = ["--log", log.to_str().unwrap(), "--log-size", "1MB", "--log-total", "2MB"];
    let args = [&WIDE[..], &args].concat();
    let running = net.start(&args);
    let worker = running.worker();
    let stream = net.stream(RECEIVER[0], false, 60, Wait::from_micros(60));
    let end = std::time::Instant::now() + Wait::from_secs(60);
    while !files_of(&log).contains_key(&3) {
        assert!(std::time::Instant::now() < end, "{:?} {}", files_of(&log), running.said());
        std::thread::sleep(20 * MS);
        let all: u64 =
            files_of(&log).values().filter_map(|path| path.metadata().ok()).map(|is| is.len()).sum();
        // What comes in the tenth of a second between two looks is beyond it.
        assert!(all < 2_300_000, "{all}");
    }
    // Nothing was lost at a change of files, and the worker is the same.
    assert_eq!(running.worker(), worker, "{}", running.said());
    assert_eq!(net.status()["log"]["state"], "writing");
    // A new worker goes on in the next file too. The one before the last is closed once the last is written.
    let written = || files_of(&log)[&3].metadata().map_or(0, |is| is.len());
    until("the third file is written", || written() > 100_000);
    signal(worker, "KILL");
    running.says("another one starts");
    let arrived = || net.status()["lines"][0]["queue"]["arrived"]["packets"].as_u64().unwrap_or(0);
    until("the new worker has decided of enough packets", || arrived() > 400);
    let (sent, came) = stream.finish();
    println!("{came} of {sent} came through three files of the log and a kill");
    let (code, _, said) = running.stop();
    assert_eq!(code, Some(0), "{said}");
    let files = files_of(&log);
    assert!(files.contains_key(&4) && !files.contains_key(&0), "{files:?}");
    assert!(
        said.contains(&format!(
            "removed {}
",
            log.display()
        )),
        "{said}"
    );
    for (number, path) in &files {
        let (closed, arrivals) = replayed(path);
        assert!(*number == 3 || closed, "{number}");
        assert!(*number == 3 || arrivals > 300, "{number} {arrivals}");
        let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    // The next start, such as after a reboot, destroys nothing and needs nobody.
    let before: Vec<_> = files.values().map(|path| std::fs::read(path).unwrap()).collect();
    let wide = [&WIDE[..], &["--log", log.to_str().unwrap()]].concat();
    assert_eq!(net.start(&wide).stop().0, Some(0));
    let next = files.keys().max().unwrap() + 1;
    assert_eq!(replayed(&files_of(&log)[&next]), (true, 0));
    let after: Vec<_> = files.values().map(|path| std::fs::read(path).unwrap()).collect();
    assert!(before == after);
}

/// Kills of either process at random moments of a start, of work, of a reload and of an end, `QUELL_KILLS` of each kind.
#[test]
fn kills_at_any_moment_keep_the_promise() {
    let Some(net) = net() else { return };
    let kills = std::env::var("QUELL_KILLS").map_or(4, |n| n.parse().unwrap());
    let before = net.state();
    let mut rng =
        quell_aqm::Seed(std::env::var("QUELL_SEED").map_or(1, |n| n.parse().unwrap())).stream("kills");
    let mut below = |n: u64| rng.next_u64() % n;
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    for on_exit in ["open", "closed"] {
        let (mut worst, mut early, mut ended) = (Wait::ZERO, 0, 0);
        let stream = net.stream(RECEIVER[0], false, 200, MS);
        assert!(stream.until(50, Wait::from_secs(5)));
        for n in 0..kills {
            let args = [&WIDE[..], &["--on-exit", on_exit, "--log", log.to_str().unwrap()]].concat();
            let mut command = net.gateway(&net.args(&args));
            let null = || std::process::Stdio::null();
            let mut child = command.stdout(null()).stderr(null()).spawn().unwrap();
            // A start takes some tenths of a second, and a log is written once a second.
            std::thread::sleep(if n == 0 { 1700 } else { below(1500) as u32 } * MS);
            let mut reload = None;
            match if n == 0 { 2 } else { below(3) } {
                0 => {
                    let mut asked = net.gateway(&["reload", "--id", &net.id, "--up", "150Mbit/s"]);
                    reload = Some(asked.stdout(null()).stderr(null()).spawn().unwrap());
                }
                1 => drop(Command::new("kill").args(["-TERM", &child.id().to_string()]).status()),
                _ => {}
            }
            std::thread::sleep(below(60) as u32 * MS);
            let begin = std::time::Instant::now();
            let worker = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id()));
            let worker: Option<u32> =
                worker.ok().and_then(|pids| pids.split_whitespace().next()?.parse().ok());
            if let Some(worker) = worker.filter(|_| below(3) == 0) {
                // The supervisor starts another, or was about to end.
                let _ = Command::new("kill").args(["-KILL", &worker.to_string()]).stderr(null()).status();
                std::thread::sleep(below(300) as u32 * MS);
            }
            let _ = child.kill();
            ended += u32::from(child.wait().unwrap().success());
            if let Some(mut reload) = reload {
                // Which waits for an answer otherwise.
                let _ = reload.kill();
                reload.wait().unwrap();
            }
            if let Some(worker) = worker {
                assert!(gone(worker), "{on_exit} {n}: a worker outlives its supervisor");
            }
            std::thread::sleep(50 * MS);
            let rules = net.on(G, "iptables -t security -S FORWARD").contains(&format!("quell-{}-q", net.id));
            match (on_exit, rules) {
                ("closed", true) => assert_eq!(stream.during(100 * MS), 0, "{n}: closed is open"),
                _ => {
                    assert!(stream.until(20, Wait::from_secs(2)), "{on_exit} {n}: traffic stands still");
                    worst = worst.max(stream.gap_since(begin));
                    early += u32::from(!rules);
                }
            }
        }
        drop(stream);
        let done = net.asked("clean", &[]);
        assert!(done.status.success(), "{done:?}");
        assert_eq!(net.state(), before);
        println!(
            "{on_exit}: {kills} kills, {early} without rules, of which {ended} were ends; the longest gap of what passed was \
             {worst:?}"
        );
        if on_exit == "open" {
            // Another gateway may take 200 ms to begin on a busy machine, as its worker's start does.
            assert!(worst < 1000 * MS, "{worst:?}");
        }
    }
    let mut arrivals = 0;
    for path in files_of(&log).values() {
        match quell_gateway::LogReader::new(&std::fs::read(path).unwrap()[..]) {
            Ok(_) => arrivals += replayed(path).1,
            // Killed before it had written a header.
            Err(e) => assert!(e.to_string().contains("ends within its header"), "{}: {e}", path.display()),
        }
    }
    println!("{} files of logs with {arrivals} arrivals replay", files_of(&log).len());
    assert!(arrivals > 0);
    let left =
        std::fs::read_dir("/run/quell").unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = left.filter(|name| name.starts_with(&net.id)).collect();
    assert!(left.is_empty(), "{left:?}");
    let inside = sh(&format!("ip netns pids {}", net.name(G)));
    assert!(inside.is_empty(), "processes are left: {inside}");
}
