//! `quell gateway status`: what a running gateway shows.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration as Wait;

use super::failure::Failure;
use super::run_dir::RUN_DIR;
use super::text::{
    Format, NO_FIGURE, bit_rate, bytes, json, long, percent, plain, print, seconds, table, terminal_width,
    wrap,
};
use crate::metrics::{LaneStatus, LineStatus, LogState, Quantiles, Status};
use crate::unix_s;

/// Shows the lines of a running gateway: rates, queues, delays, drops and marks, and any problems.
#[derive(Clone, Debug, clap::Args)]
pub struct StatusArgs {
    /// Where it answers.
    #[command(flatten)]
    pub source: Source,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Where a gateway answers; by default, the only one in /run/quell.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Source {
    /// The gateway's socket; default: the only gateway in /run/quell, or its address.
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// The gateway's address, if it has one.
    #[arg(long, value_name = "127.0.0.1:PORT", conflicts_with = "socket")]
    pub address: Option<SocketAddr>,
}

/// Shows it.
///
/// # Errors
/// If no gateway answers.
pub fn run(args: &StatusArgs) -> Result<(), Failure> {
    print(&text(args)?)
}

/// The text that is printed.
///
/// # Errors
/// If no gateway answers.
pub fn text(args: &StatusArgs) -> Result<String, Failure> {
    let body = args.source.ask()?;
    match args.format {
        Format::Json => {
            let value: serde_json::Value = serde_json::from_str(&body).map_err(|e| args.source.strange(e))?;
            json(&value)
        }
        Format::Table => Ok(show(&args.source.read(&body)?, terminal_width(), unix_s()).join("\n") + "\n"),
    }
}

/// The time that an answer may take.
const PATIENCE: Wait = Wait::from_secs(2);
/// The longest answer.
const LONGEST: u64 = 1 << 24;

impl Source {
    /// The gateway's status.
    ///
    /// # Errors
    /// If no gateway answers, or one of another version.
    pub fn status(&self) -> Result<Status, Failure> {
        self.read(&self.ask()?)
    }

    fn read(&self, body: &str) -> Result<Status, Failure> {
        serde_json::from_str(body).map_err(|e| self.strange(e))
    }

    fn strange(&self, e: impl core::fmt::Display) -> Failure {
        let version = env!("CARGO_PKG_VERSION");
        Failure::Failed(format!(
            "the program that answers is not a gateway of version {version}: {e}; check `quell --version` of the \
             running one"
        ))
    }

    fn ask(&self) -> Result<String, Failure> {
        let place = match (&self.address, &self.socket) {
            (Some(address), _) => Place::Address(*address),
            (None, Some(path)) => Place::Socket(path.clone()),
            (None, None) => {
                let (addresses, killed) = super::router::answering();
                only(Path::new(RUN_DIR), &addresses, &killed)?
            }
        };
        let (place, answer) = match place {
            Place::Socket(path) => (quell_files::name(&path), unix(&path)),
            Place::Address(address) => (address.to_string(), tcp(&address)),
        };
        let answer = answer.map_err(|e| {
            let helps = match e.kind() {
                io::ErrorKind::PermissionDenied => "; only its owner may ask: try sudo",
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    "; `quell gateway run` starts a gateway"
                }
                _ => "",
            };
            Failure::Failed(format!("no gateway answers at {place}: {e}{helps}"))
        })?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        match head.split(' ').nth(1) {
            Some("200") => Ok(body.to_string()),
            _ => Err(self.strange(format!("\"{}\"", plain(head.lines().next().unwrap_or_default())))),
        }
    }
}

fn unix(path: &Path) -> io::Result<String> {
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    exchange(stream)
}

fn tcp(address: &SocketAddr) -> io::Result<String> {
    let stream = TcpStream::connect_timeout(address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    exchange(stream)
}

fn exchange(mut stream: impl Read + Write) -> io::Result<String> {
    stream.write_all(b"GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(LONGEST).read_to_string(&mut answer).map_err(|e| match e.kind() {
        io::ErrorKind::WouldBlock => io::Error::new(io::ErrorKind::TimedOut, "it does not answer"),
        _ => e,
    })?;
    Ok(answer)
}

/// The place where a gateway answers.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    Socket(PathBuf),
    Address(SocketAddr),
}

/// The only gateway with a socket in a folder, or at one of the addresses; the sockets of those that were killed are not
/// asked.
fn only(dir: &Path, addresses: &[SocketAddr], killed: &[String]) -> Result<Place, Failure> {
    let entries = std::fs::read_dir(dir).map(|entries| entries.flatten().map(|e| e.path()).collect());
    let mut found: Vec<PathBuf> = entries.unwrap_or_default();
    found.retain(|path| path.extension().is_some_and(|e| e == "sock"));
    let stale =
        |path: &PathBuf| path.file_stem().is_some_and(|stem| killed.iter().any(|id| stem == id.as_str()));
    found.retain(|path| !stale(path));
    found.sort();
    match (&found[..], addresses) {
        ([one], []) => Ok(Place::Socket(one.clone())),
        ([], [one]) => Ok(Place::Address(*one)),
        ([], []) if !killed.is_empty() => {
            let cleans: Vec<String> =
                killed.iter().map(|id| format!("quell gateway clean --id {id}")).collect();
            Err(Failure::Failed(format!(
                "no gateway runs here, but one was killed: `{}` undoes what it has left behind, and its next start \
                 does, too",
                cleans.join("`, `")
            )))
        }
        ([], []) => Err(Failure::Failed(format!(
            "no gateway runs here: {} has no socket; start one with `quell gateway run`, or name one with --socket or \
             --address",
            quell_files::name(dir)
        ))),
        (sockets, addresses) => {
            let sockets = sockets.iter().map(|path| format!("--socket {}", quell_files::name(path)));
            let all: Vec<String> =
                sockets.chain(addresses.iter().map(|a| format!("--address {a}"))).collect();
            Err(Failure::BadInput(format!("more than one gateway runs here: add {}", all.join(" or "))))
        }
    }
}

/// The figures of a line, each with its name.
fn figures(line: &LineStatus) -> [(&'static str, String); 9] {
    let queue = line.queue.as_ref();
    let recent = &line.recent;
    let delay = |of: fn(&Quantiles) -> f64| seconds(recent.delay.as_ref().map(of));
    [
        ("rate", bit_rate(queue.map(|q| q.rate_bps as f64))),
        ("in", bit_rate(recent.in_bps)),
        ("out", bit_rate(Some(recent.out_bps))),
        ("queue", queue.map_or_else(|| NO_FIGURE.into(), |q| bytes(q.counts.now.bytes))),
        ("delay", delay(|q| q.p50)),
        ("P99", delay(|q| q.p99)),
        ("dropped", percent(recent.dropped)),
        ("marked", percent(recent.marked)),
        ("late P99", seconds(recent.lateness.as_ref().map(|q| q.p99))),
    ]
}

/// A status as text, no wider than `width`: a table if it fits, otherwise a block for each line.
pub fn show(status: &Status, width: Option<usize>, unix_s: u64) -> Vec<String> {
    // What is wrong comes first: a low window shows the beginning.
    let mut text = vec![summary(status)];
    text.extend(wrong(status, unix_s));
    text.push(String::new());
    let head = ["line", "algorithm"]
        .into_iter()
        .chain(status.lines.first().map(figures).into_iter().flatten().map(|f| f.0));
    let rows: Vec<Vec<String>> = [head.map(String::from).collect()]
        .into_iter()
        .chain(status.lines.iter().map(|line| {
            let names = [plain(&line.direction), line.algorithm().to_string()];
            names.into_iter().chain(figures(line).map(|f| f.1)).collect()
        }))
        .collect();
    let rows = table(&rows, 2);
    let fits = |rows: &[String]| width.is_none_or(|w| rows.iter().all(|r| r.chars().count() <= w));
    if fits(&rows) {
        text.extend(rows);
        text.extend(status.lines.iter().flat_map(inside));
    } else {
        status.lines.iter().for_each(|line| text.extend(block(line)));
    }
    match width {
        Some(width) => text.iter().flat_map(|line| wrap(line, width)).collect(),
        None => text,
    }
}

fn summary(status: &Status) -> String {
    let log = match &status.log {
        LogState::None => "",
        LogState::Writing => ", logging",
        LogState::Ended { .. } => ", log ended",
    };
    format!("quell {}, up {}{log}", plain(&status.version), long(status.up_s))
}

/// Two figures to a row.
fn block(line: &LineStatus) -> Vec<String> {
    let mut text = vec![format!("{}  {}", plain(&line.direction), line.algorithm())];
    for pair in figures(line).chunks(2) {
        let cells: Vec<String> = pair.iter().map(|(name, value)| format!("{name:<7} {value:<11}")).collect();
        text.push(format!(" {}", cells.join(" ")).trim_end().to_string());
    }
    text.extend(inside(line));
    text
}

/// The internal signals of an algorithm, and what judges beside it.
fn inside(line: &LineStatus) -> Vec<String> {
    let name = plain(&line.direction);
    let mut text: Vec<String> = line.lanes.iter().map(|of| lane(&name, of)).collect();
    if !line.signals.is_empty() {
        let signal = |s: &crate::metrics::Signal| {
            let value = s.value.map_or_else(|| NO_FIGURE.into(), quell_units::text::three_digits);
            let unit = if s.unit == "1" { String::new() } else { format!(" {}", plain(&s.unit)) };
            format!("{} {value}{unit}", plain(&s.name))
        };
        let signals: Vec<String> = line.signals.iter().map(signal).collect();
        text.push(format!("  {name}: {}", signals.join(", ")));
    }
    for shadow in &line.shadows {
        let queue = &shadow.queue;
        let share = |n: u64| percent(queue.counts.share(n));
        let mean = (shadow.delay.count > 0).then(|| shadow.delay.sum_s / shadow.delay.count as f64);
        text.push(format!(
            "  {name}, {} in its place: would have dropped {}, marked {}, delayed {} since the start",
            plain(&queue.algorithm),
            share(queue.counts.lost()),
            share(queue.counts.marked.packets),
            seconds(mean)
        ));
    }
    text
}

/// One of its queues, since the line's configuration.
fn lane(line: &str, lane: &LaneStatus) -> String {
    let counts = &lane.counts;
    format!(
        "  {line} queue {}: {} waits, delay {}, P99 {}; since its configuration, {} dropped, {} marked",
        plain(&lane.name),
        bytes(counts.now.bytes),
        seconds(lane.recent.as_ref().map(|q| q.p50)),
        seconds(lane.recent.as_ref().map(|q| q.p99)),
        percent(counts.share(counts.lost())),
        percent(counts.share(counts.marked.packets)),
    )
}

fn wrong(status: &Status, unix_s: u64) -> Vec<String> {
    let mut text = Vec::new();
    let kernel = &status.kernel;
    for (n, what) in [
        (kernel.queue_dropped, "packets dropped by a full NFQUEUE"),
        (kernel.user_dropped, "packets that NFQUEUE could not deliver"),
        (kernel.refused, "packets dropped by the kernel before their verdict"),
        (kernel.bypassed, "packets that left without a verdict"),
        (kernel.strange, "kernel messages that were not understood"),
        (kernel.rules_gone, "times that firewall rules were missing and were added again"),
        (kernel.restarts, "restarts of the worker; all numbers count from the last one"),
        (status.pauses, "pauses of the worker of more than a second"),
    ] {
        if n > 0 {
            text.push(format!("{n} {what}"));
        }
    }
    for anomaly in &status.anomalies {
        let line = anomaly.direction.as_deref().map(|d| format!("{}: ", plain(d))).unwrap_or_default();
        let since = long(unix_s.saturating_sub(anomaly.since_unix_s) as f64);
        text.push(format!("! {line}{}, for {since}", plain(&anomaly.says)));
    }
    if status.anomalies.is_empty() {
        text.push("no anomalies".into());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_gateway_is_found() {
        let only_socket = |dir: &Path| only(dir, &[], &[]);
        let dir = tempfile::tempdir().unwrap();
        let error = only_socket(dir.path()).unwrap_err();
        assert!(error.to_string().starts_with("no gateway runs here:"), "{error}");
        let first = dir.path().join("a.sock");
        std::fs::write(&first, "").unwrap();
        std::fs::write(dir.path().join("a.json"), "").unwrap();
        assert_eq!(only_socket(dir.path()).unwrap(), Place::Socket(first));
        let address: SocketAddr = "127.0.0.1:9101".parse().unwrap();
        let error = only(dir.path(), &[], &["a".into()]).unwrap_err().to_string();
        assert!(error.contains("`quell gateway clean --id a`"), "{error}");
        assert_eq!(only(dir.path(), &[address], &["a".into()]).unwrap(), Place::Address(address));
        let error = only(dir.path(), &[address], &[]).unwrap_err().to_string();
        assert!(error.contains("a.sock or --address 127.0.0.1:9101"), "{error}");
        std::fs::write(dir.path().join("b.sock"), "").unwrap();
        let error = only_socket(dir.path()).unwrap_err();
        assert_eq!(error.code(), 2);
        assert!(error.to_string().contains("b.sock"), "{error}");
    }
}
