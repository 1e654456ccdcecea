//! The commands, by what they print and exit with.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::common::{line, named, packet, read, written};
use clap::Parser;
use quell_aqm::{Rng, Seed};
use quell_gateway::commands::{Command, Failure, execute, replay, status, top};
use quell_gateway::metrics::{Endpoint, KernelDrops, Monitor, Publisher, Server, Thresholds};
use quell_gateway::{Delays, Event, LineConfig, LogHeader, Pace, Packet, Ports, Recorder, Relay};
use quell_units::{BitRate, Duration, Time};

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Bursts of packets to two paths, a third more than these send.
struct Fake(Rng);

impl Ports for Fake {
    fn receive(&mut self, _: usize, arrivals: &mut Vec<(u8, Packet)>) -> io::Result<()> {
        for _ in 0..self.0.next_u64() % 5 {
            arrivals.push(packet(&mut self.0, 0, 2));
        }
        Ok(())
    }
    fn forward(&mut self, _: u8, _: &Packet) {}
    fn discard(&mut self, _: u8, _: &Packet) {}
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn config(name: &str, aqm: &str) -> LineConfig {
    line(name, named(aqm))
}

#[test]
fn what_has_no_effect_on_real_packets_is_said() {
    let cake = |keys: &str| {
        let aqm = toml::from_str(&format!("algorithm = \"cake\"\n{keys}")).unwrap();
        let remarks = LineConfig { aqm, ..config("up", "cake") }.remarks();
        remarks.iter().map(ToString::to_string).filter(|r| r.contains("no effect")).collect::<Vec<_>>()
    };
    assert!(cake("").is_empty());
    let said = cake("ack_filter = \"on\"\nwash = true");
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("ack_filter") && said[1].contains("DSCP"), "{said:?}");
}

fn relay(recorder: Option<Recorder>) -> (Relay<Fake>, Vec<LineConfig>) {
    let lines = vec![config("up", "pie"), config("down", "red")];
    let delays = Delays::all(Duration::ZERO);
    let paths = lines.iter().map(|line| (Some(line.clone()), delays.clone())).collect();
    (Relay::new(Fake(Seed(5).stream("fake")), paths, Pace::default(), recorder).unwrap(), lines)
}

/// A log of two lines, five seconds long, with a reload of the second after three.
fn log(dir: &Path) -> PathBuf {
    let path = dir.join("gateway.log");
    let lines = vec![config("up", "pie"), config("down", "red")];
    let header = LogHeader { version: "0.0.1".into(), started_unix_s: 0, lines };
    let (mut relay, _) = relay(Some(Recorder::new(File::create(&path).unwrap(), &header).unwrap()));
    let mut now = Time::ZERO;
    for turn in 0..10_000 {
        if turn == 6_000 {
            let slower = LineConfig { rate: BitRate::from_bps(8_000_000), ..config("down", "red") };
            relay.reconfigure(1, slower, now).unwrap();
        }
        relay.turn(|| now).unwrap();
        now += Duration::from_micros(500);
    }
    relay.close(now).unwrap().2.unwrap();
    path
}

fn parse(words: &[&str]) -> Result<Command, String> {
    let words = ["quell-gateway"].iter().chain(words);
    Cli::try_parse_from(words).map(|cli| cli.command).map_err(|e| e.to_string())
}

/// What is printed and the exit code, or the message and its.
fn replayed(words: &[&str]) -> (String, i32) {
    let command = parse(&[&["replay"], words].concat()).unwrap();
    let Command::Replay(args) = command else { panic!("not a replay") };
    match replay::outcome(&args) {
        Ok(outcome) => (outcome.to_string(), outcome.verdict().map_or_else(|failure| failure.code(), |()| 0)),
        Err(failure) => (failure.to_string(), failure.code()),
    }
}

#[test]
fn a_log_replays_line_by_line() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path());
    let (text, code) = replayed(&[log.to_str().unwrap()]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "line  algorithm  arrivals  decisions  differ");
    assert!(lines[1].starts_with("up    pie  ") && lines[1].ends_with("       0"), "{text}");
    assert!(lines[2].starts_with("down  red  ") && lines[2].ends_with("       0"), "{text}");
    assert_eq!(&lines[3..], ["", "Every decision is the same."]);
    assert_eq!(code, 0);
    // Cut within a record: what is there is compared, and it says so.
    let bytes = std::fs::read(&log).unwrap();
    let short = dir.path().join("cut.log");
    std::fs::write(&short, &bytes[..bytes.len() / 2 + 5]).unwrap();
    let (text, code) = replayed(&[short.to_str().unwrap()]);
    assert!(text.contains("\nEvery decision is the same.\nThe log was cut off: it holds "), "{text}");
    assert!(text.trim_end().ends_with(" s, which were compared."), "{text}");
    assert_eq!(code, 0);
    // Nothing follows what closes it.
    std::fs::write(&short, [&bytes[..], b"x"].concat()).unwrap();
    let (text, code) = replayed(&[short.to_str().unwrap()]);
    assert!(code == 2 && text.contains("closes the log, and more follows"), "{text}");
    // A header alone.
    std::fs::write(&short, &bytes[..read(&bytes).2]).unwrap();
    let (text, code) = replayed(&[short.to_str().unwrap()]);
    assert!(code == 0 && text.contains("The log holds no decisions") && !text.contains("Every"), "{text}");
}

#[test]
fn logs_are_not_overwritten() {
    use quell_gateway::{create_log, create_next_log};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    std::fs::write(&path, "kept").unwrap();
    assert_eq!(create_log(&path).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    std::fs::write(dir.path().join("log.1"), "kept").unwrap();
    assert_eq!(create_next_log(&path).unwrap().1, dir.path().join("log.2"));
    for (name, length) in [("log", 4), ("log.1", 4), ("log.2", 0)] {
        assert_eq!(std::fs::metadata(dir.path().join(name)).unwrap().len(), length, "{name}");
    }
    // The next one is after all that are there, whether the first ones are.
    for name in ["log", "log.1", "log.2"] {
        std::fs::remove_file(dir.path().join(name)).unwrap();
    }
    assert_eq!(create_next_log(&path).unwrap().1, path);
    for name in ["log.9", "log.10", "log.old", "log.011", "logs"] {
        std::fs::write(dir.path().join(name), "").unwrap();
    }
    std::os::unix::fs::symlink("/nowhere", dir.path().join("log.12")).unwrap();
    assert_eq!(create_next_log(&path).unwrap().1, dir.path().join("log.13"));
    assert_eq!(create_next_log(Path::new("/dev/null")).unwrap().1, Path::new("/dev/null"));
    create_log(Path::new("/dev/null")).unwrap();
}

#[test]
fn the_oldest_files_of_a_log_are_removed_and_nothing_else() {
    use quell_gateway::prune_logs;
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for name in ["log", "log.2", "log.3", "log.10"] {
        std::fs::write(at(name), [&b"quell gateway log 3"[..], &[b'x'; 981]].concat()).unwrap();
    }
    std::fs::write(at("log.1"), [b'x'; 5000]).unwrap();
    std::os::unix::fs::symlink(at("log.1"), at("log.4")).unwrap();
    assert_eq!(prune_logs(&at("log"), 4000).unwrap(), Vec::<PathBuf>::new());
    assert_eq!(prune_logs(&at("log"), 3999).unwrap(), [at("log")]);
    assert_eq!(prune_logs(&at("log"), 1000).unwrap(), [at("log.2"), at("log.3")]);
    // The newest one is being written.
    assert_eq!(prune_logs(&at("log"), 0).unwrap(), Vec::<PathBuf>::new());
    let mut left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["log.1", "log.10", "log.4"]);
}

#[test]
fn a_difference_is_said_in_words_and_by_the_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path());
    let bytes = std::fs::read(&log).unwrap();
    let (header, entries, _) = read(&bytes);
    // Another seed decides otherwise.
    let mut other = header.clone();
    other.lines[0].seed = 8;
    std::fs::write(&log, written(&other, &entries)).unwrap();
    let (text, code) = replayed(&[log.to_str().unwrap()]);
    assert_eq!(code, 1);
    let said = text.lines().find(|l| l.starts_with("First difference at up: packet ")).unwrap();
    assert!(said.contains(" in the log, and ") && said.ends_with(" in the replay."), "{said}");
    assert!(!said.contains(['(', '"']) || said.contains("arrival ("), "{said}");
    assert!(!text.contains("First difference at down"), "{text}");
    assert!(text.contains("Version 0.0.1 wrote the log, but this is "), "{text}");
    // A departure at another time.
    let sent = entries.iter().position(|entry| matches!(entry.event, Event::Sent { .. })).unwrap();
    let mut moved = entries.clone();
    moved[sent].time += Duration::from_nanos(1);
    std::fs::write(&log, written(&header, &moved)).unwrap();
    let (text, code) = replayed(&[log.to_str().unwrap()]);
    assert_eq!(code, 1);
    let said = text.lines().find(|l| l.starts_with("First difference")).unwrap();
    assert!(
        said.contains("packet 0 was sent at 0.0") && said.contains(" a mark in the log, and sent at 0.0"),
        "{said}"
    );
    assert!(text.lines().any(|l| l.ends_with("  1")), "{text}");
    // A departure that the log does not have.
    let mut fewer = entries.clone();
    fewer.remove(sent);
    std::fs::write(&log, written(&header, &fewer)).unwrap();
    let (text, code) = replayed(&[log.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(text.contains("First difference at "), "{text}");
}

#[test]
fn other_algorithms_are_shown_beside_the_logged_one() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path());
    let log = log.to_str().unwrap();
    let (text, code) = replayed(&[log, "--with", "aqm=drop-tail", "--with", "aqm=codel,target=10ms"]);
    assert_eq!(code, 0);
    assert!(text.contains("\nOpen loop with the same arrivals for all (senders would have "), "{text}");
    let rows: Vec<&str> = text.lines().skip_while(|l| !l.starts_with("Open")).skip(2).collect();
    assert_eq!(
        rows[0].split_whitespace().collect::<Vec<_>>().join(" "),
        "line algorithm loss marks mean delay P99 delay utilization"
    );
    let starts = ["up    pie (logged)", "up    drop-tail", "up    codel target=10ms", "down  red (logged)"];
    for (row, start) in rows[1..].iter().zip(starts) {
        assert!(row.starts_with(start), "{text}");
        assert!(row.ends_with('%') && row.contains(" ms  "), "{text}");
        assert_eq!(row.len(), rows[0].len(), "{text}");
    }
    assert_eq!(rows.len(), 7);
    // As numbers: a line that is overloaded is used, and drop-tail, which marks nothing, delays most.
    let Command::Replay(args) = parse(&["replay", log, "--with", "aqm=drop-tail"]).unwrap() else { panic!() };
    let rows = replay::outcome(&args).unwrap().open_loop;
    assert!(rows.iter().all(|r| (0.97..=1.0).contains(&r.utilization.unwrap())), "{rows:?}");
    assert!(rows[0].logged && !rows[1].logged && rows[1].marks == Some(0.0) && rows[0].marks > Some(0.001));
    assert!(rows[1].delay_mean_s > rows[0].delay_mean_s && rows[1].loss.unwrap() > 0.1, "{rows:?}");
    let json = serde_json::to_value(replay::outcome(&args).unwrap()).unwrap();
    assert_eq!((&json["schema"], &json["log"]["closed"]), (&1.into(), &true.into()));
    assert_eq!(json["lines"][1]["reloads"], 1);
}

#[test]
fn arrivals_are_written_for_the_simulator() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path());
    let (log, csv) = (log.to_str().unwrap(), dir.path().join("arrivals.csv"));
    let csv = csv.to_str().unwrap();
    let (text, code) = replayed(&[log, "--csv", csv]);
    assert_eq!(
        (text.as_str(), code),
        ("--csv writes the arrivals of one line: add --line NAME; the log has: up, down", 2)
    );
    let (text, code) = replayed(&[log, "--csv", csv, "--line", "sideways"]);
    assert_eq!((text.as_str(), code), ("--line: the log has no line \"sideways\"; it has: up, down", 2));
    let (text, code) = replayed(&[log, "--csv", log, "--line", "up"]);
    assert!(text.ends_with("is the log itself") && code == 2, "{text}");
    let (text, code) = replayed(&[log, "--csv", "-", "--line", "up"]);
    assert!(text.starts_with("--csv: - is standard output") && code == 2, "{text}");
    let (text, code) = replayed(&[log, "--csv", csv, "--line", "down"]);
    assert_eq!(code, 0);
    assert!(text.contains("It does not include the 1 reloads of the line"), "{text}");
    let written = std::fs::read_to_string(csv).unwrap();
    let mut rows = written.lines();
    assert_eq!(rows.next(), Some("time_s,bytes,flow,ecn,transport,syn,dscp"));
    let mut before = String::new();
    let (mut n, mut seen) = (0, std::collections::BTreeSet::new());
    for row in rows {
        let cells: Vec<&str> = row.split(',').collect();
        let (whole, nanos) = cells[0].split_once('.').unwrap();
        assert!(nanos.len() == 9 && whole.len() == 1 && *cells[0] >= *before, "{row}");
        assert!((40..1500).contains(&cells[1].parse::<u32>().unwrap()), "{row}");
        assert!(cells[2].parse::<u32>().unwrap() < 30 && cells[6].parse::<u8>().unwrap() < 64, "{row}");
        seen.extend([cells[3], cells[4], cells[5]].map(String::from));
        before = cells[0].to_string();
        n += 1;
    }
    let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
    assert_eq!(seen, ["0", "1", "ce", "ect0", "ect1", "not-ect", "other", "tcp", "udp"]);
    assert!(text.contains(&format!("has the {n} arrivals of down.")), "{text}");
    // Damage leaves no half of a file.
    let mut bytes = std::fs::read(log).unwrap();
    let at = bytes.len() - 28 * 100;
    bytes[at] = 99;
    std::fs::write(log, bytes).unwrap();
    let (text, code) = replayed(&[log, "--csv", csv, "--line", "up"]);
    assert!(text.contains(" is damaged: bytes ") && code == 2, "{text}");
    assert!(!Path::new(csv).exists());
}

/// As whatever puts old logs away leaves them.
#[test]
fn a_compressed_log_is_replayed() {
    use flate2::{Compression, write::GzEncoder};
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path());
    let log = log.to_str().unwrap();
    let (plain, code) = replayed(&[log]);
    assert_eq!(code, 0, "{plain}");
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    io::Write::write_all(&mut packed, &std::fs::read(log).unwrap()).unwrap();
    let packed = packed.finish().unwrap();
    std::fs::write(log, &packed).unwrap();
    assert_eq!(replayed(&[log]), (plain, 0));
    std::fs::write(log, &packed[..packed.len() - 9]).unwrap();
    let (text, code) = replayed(&[log]);
    assert!(text.contains("the gzip stream is damaged: it is cut off") && code == 2, "{text}");
}

/// A shell's `<(zcat log.gz)` gives its bytes once, whatever is asked for.
#[test]
fn a_log_is_read_once() {
    use std::os::fd::AsRawFd as _;
    let dir = tempfile::tempdir().unwrap();
    let path = log(dir.path());
    let log = path.to_str().unwrap();
    let arrivals = |name: &str| dir.path().join(name);
    let asked = |log: &str, csv: &Path| {
        let (text, code) = replayed(&[
            log,
            "--with",
            "aqm=drop-tail",
            "--with",
            "aqm=codel",
            "--csv",
            csv.to_str().unwrap(),
            "--line",
            "up",
        ]);
        (text.replace(csv.to_str().unwrap(), "CSV"), code, std::fs::read(csv).unwrap())
    };
    let whole = asked(log, &arrivals("a.csv"));
    assert_eq!(whole.1, 0, "{}", whole.0);
    let (reader, mut writer) = io::pipe().unwrap();
    let bytes = std::fs::read(log).unwrap();
    let writing = std::thread::spawn(move || io::Write::write_all(&mut writer, &bytes));
    let piped = asked(&format!("/dev/fd/{}", reader.as_raw_fd()), &arrivals("b.csv"));
    assert!(piped == whole, "{}", piped.0);
    writing.join().unwrap().unwrap();
}

/// A running gateway has other descriptors than the command that asks it.
#[test]
fn a_gateway_is_not_told_to_read_what_another_process_has_open() {
    for path in ["/dev/stdin", "/dev/fd/63", "/proc/self/fd/3"] {
        let failure = execute(&parse(&["reload", "--config", path]).unwrap(), &[]).unwrap_err();
        let why = "is a descriptor of this process, which the gateway cannot read; name a file";
        assert_eq!((failure.to_string(), failure.code()), (format!("--config: {path} {why}"), 2));
    }
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let (text, code) = replayed(&["/no/such/file"]);
    assert_eq!(
        (text.as_str(), code),
        ("/no/such/file: cannot be read: No such file or directory (os error 2)", 2)
    );
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.txt");
    std::fs::write(&path, "hello\nworld\n").unwrap();
    let (text, code) = replayed(&[path.to_str().unwrap()]);
    assert!(text.contains("is not a log of `quell gateway` or `quell wire`") && code == 2, "{text}");
    let error = parse(&["replay", "a", "--with", "aqm=pies"]).unwrap_err();
    assert!(error.contains("Known: drop-tail"), "{error}");
    let log = log(dir.path());
    let (text, code) = replayed(&[log.to_str().unwrap(), "--with", "aqm=pie,target=0s"]);
    assert!(text.starts_with("--with aqm=pie,target=0s: up.aqm.target: 0 s: ") && code == 2, "{text}");
}

/// A gateway that answers.
fn gateway(dir: &Path) -> (Server, Publisher) {
    let (mut relay, _) = relay(None);
    relay.shadow(0, config("beside", "codel")).unwrap();
    let (mut publisher, reader) = Publisher::new(&relay);
    let mut now = Time::ZERO;
    for _ in 0..4000 {
        relay.turn(|| now).unwrap();
        now += Duration::from_micros(500);
    }
    publisher.publish(&relay, KernelDrops { queue_dropped: 3, ..Default::default() }, now);
    let monitor = Monitor::new(reader, Thresholds::default());
    let server = Server::start(&Endpoint::unix(dir.join("gateway.sock")), monitor, None, |_| ()).unwrap();
    (server, publisher)
}

#[test]
fn a_status_fits_wide_and_narrow() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("gateway.sock");
    let source = status::Source { socket: Some(socket.clone()), address: None };
    let words = ["status", "--socket", socket.to_str().unwrap()];
    let failure = execute(&parse(&words).unwrap(), &[]).unwrap_err();
    assert_eq!(failure.code(), 1);
    assert!(failure.to_string().contains("; `quell gateway run` starts a gateway"), "{failure}");
    let (_server, _publisher) = gateway(dir.path());
    let text = |words: &[&str]| match parse(words).unwrap() {
        Command::Status(args) => status::text(&args).unwrap(),
        other => panic!("{other:?}"),
    };
    let json: serde_json::Value =
        serde_json::from_str(&text(&[&words[..], &["--format", "json"]].concat())).unwrap();
    assert_eq!(
        (&json["lines"][1]["direction"], &json["kernel"]["queue_dropped"]),
        (&"down".into(), &3.into())
    );
    assert!(text(&words).contains("\nno anomalies\n\n"));
    let found = source.status().unwrap();
    let wide = status::show(&found, None, 0);
    assert!(wide[0].starts_with("quell ") && wide[0].ends_with(", up 2 s"), "{wide:?}");
    let head = "line  algorithm         rate";
    assert!(wide[4].starts_with(head), "{wide:#?}");
    assert!(wide[5].starts_with("up    pie        10.0 Mbit/s"), "{wide:#?}");
    assert!(wide.iter().any(|l| l.starts_with("  up: p ")), "{wide:#?}");
    assert!(wide.iter().any(|l| l.starts_with("  up, codel in its place: would have dropped ")), "{wide:#?}");
    assert_eq!(&wide[1..4], ["3 packets dropped by a full NFQUEUE", "no anomalies", ""]);
    for width in [120, 80, 60, 40, 20, 1] {
        let narrow = status::show(&found, Some(width), 0);
        assert!(narrow.iter().all(|l| l.chars().count() <= width), "{narrow:#?}");
    }
    let narrow = status::show(&found, Some(40), 0);
    assert_eq!(narrow[4], "up  pie");
    assert_eq!(narrow[5].split_whitespace().collect::<Vec<_>>()[..4], ["rate", "10.0", "Mbit/s", "in"]);
    let lines = top::lines(&found);
    assert!(lines.starts_with("2 s  up pie: in "), "{lines}");
    assert_eq!(lines.lines().count(), 2);
}

#[test]
fn a_socket_of_something_else_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("other.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let other = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        io::Read::read_exact(&mut stream, &mut [0; 60]).unwrap();
        io::Write::write_all(&mut stream, b"HTTP/1.1 200 OK\r\n\r\n{}").unwrap();
    });
    let words = ["status", "--socket", path.to_str().unwrap()];
    let failure = execute(&parse(&words).unwrap(), &[]).unwrap_err();
    assert!(
        matches!(&failure, Failure::Failed(m) if m.starts_with("the program that answers is not a gateway of")),
        "{failure}"
    );
    other.join().unwrap();
}

/// Help is broken by the terminal alone: no line but an example ends before its width.
#[cfg(target_os = "linux")]
#[test]
fn the_help_of_run_has_whole_paragraphs() {
    use clap::CommandFactory as _;
    let mut command = Cli::command();
    let run = command.find_subcommand_mut("run").unwrap();
    let help = run.get_after_help().unwrap().to_string();
    let mut lines = help.lines().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().map_or("", |next| next);
        assert!(line.is_empty() || next.is_empty() || line.starts_with("  "), "{help}");
    }
    // What `run` needs may be in a file, so nothing else may be asked for.
    for name in ["run", "check"] {
        assert!(parse(&[name]).is_ok() && parse(&[name, "--config", "file"]).is_ok(), "{name}");
    }
}
