//! Case a in ns-3, whose queue discs stand beside those of Quell's that follow the same rules.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Row, Run, folder, lines, run};
use crate::Outcome;
use crate::one::{self, Args};
use crate::progress::Progress;
use crate::table::{Section, load};

const MODULES: [&str; 6] = [
    "ns3-core",
    "ns3-network",
    "ns3-internet",
    "ns3-point-to-point",
    "ns3-traffic-control",
    "ns3-applications",
];
const HELP: &str =
    "install Debian's packages libns3-dev, libgsl-dev, pkg-config and g++, or say with --ns3 where ns-3 is";

/// Long enough for the start, in which ns-3 and Quell differ most, to count for little.
const SECONDS: &str = "30";

/// The settings that make Quell's queue the one of `peers/ns3.cc`. A device of ns-3 has a packet waiting that its
/// queue disc does not see: buffers and thresholds have one more here, and delays the time that one takes. A packet has
/// 498 bytes there and 500 here: of either, three are at most CoDel's packet of the largest size.
const QUEUES: [(&str, &[&str]); 5] = [
    ("drop-tail", &[]),
    ("red", &["aqm.red.min_th=7.25 packets", "aqm.red.max_th=19.75 packets"]),
    ("codel", &["aqm.codel.target=5.4 ms", "aqm.codel.mtu=1500 B", "aqm.codel.arithmetic=linux"]),
    ("pie", &["aqm.pie.derandomize=false"]),
    (
        "fq-codel",
        &[
            "aqm.fq-codel.target=5.4 ms",
            "aqm.fq-codel.mtu=1500 B",
            "aqm.fq-codel.quantum=1506 B",
            "aqm.fq-codel.arithmetic=linux",
            "aqm.fq-codel.rules=ns-3",
        ],
    ),
];

/// The settings that all of them have: the senders of `peers/ns3.cc`.
const SENDERS: [&str; 10] = [
    "dumbbell.buffer=501 packets",
    "flows.reno.tcp.recovery=prr",
    "flows.reno.tcp.rules=ns-3",
    "flows.reno.tcp.growth=acknowledgments",
    "flows.reno.tcp.packet=446 B",
    "flows.reno.tcp.header=54 B",
    "flows.reno.tcp.granularity=1 ms",
    "flows.reno.tcp.initial_rto=1 s",
    "flows.reno.tcp.min_rto=200 ms",
    "flows.reno.tcp.limited_transmit=false",
];

/// An ns-3 that is installed, and `peers/ns3.cc` compiled against it.
struct Installed {
    version: String,
    program: PathBuf,
}

impl Installed {
    /// The one in `prefix`, or the one that pkg-config finds by itself, if there is one.
    fn find(prefix: Option<&Path>, program: PathBuf) -> Outcome<Option<Self>> {
        let ask = |arguments: &[&str]| {
            let mut command = Command::new("pkg-config");
            if let Some(prefix) = prefix {
                let folders = ["lib", "lib64"].map(|lib| prefix.join(lib).join("pkgconfig"));
                command.env("PKG_CONFIG_LIBDIR", std::env::join_paths(folders).unwrap_or_default());
            }
            let output = command.args(arguments).output().ok().filter(|o| o.status.success())?;
            Some(String::from_utf8_lossy(&output.stdout).trim().replace('"', ""))
        };
        let Some(version) = ask(&["--modversion", MODULES[0]]) else {
            return match prefix {
                Some(prefix) => Err(format!("--ns3 {}: pkg-config finds no ns-3 there", prefix.display())),
                None => Ok(None),
            };
        };
        let flags = ask(&[&["--cflags", "--libs"], &MODULES[..]].concat())
            .ok_or_else(|| format!("ns-3 {version} lacks one of {}; {HELP}", MODULES.join(", ")))?;
        let libraries = ask(&["--variable=libdir", MODULES[0]]).unwrap_or_default();
        compile(&program, &flags, &libraries)?;
        Ok(Some(Installed { version, program }))
    }

    fn run(&self, queue: &str) -> Outcome<Run> {
        run(Command::new(&self.program).args([queue, SECONDS]), HELP)
    }
}

fn compile(program: &Path, flags: &str, libraries: &str) -> Outcome<()> {
    let help = |what: &str| format!("cannot compile peers/ns3.cc: {what}; {HELP}");
    let mut why = String::new();
    // Old headers do not compile as C++20, nor new ones as C++17.
    for standard in ["-std=c++17", "-std=c++20", "-std=c++23"] {
        let mut compiler = Command::new("g++");
        compiler.args(["-O2", standard]).arg(folder().join("ns3.cc")).arg("-o").arg(program);
        compiler.args(flags.split_whitespace()).arg(format!("-Wl,-rpath,{libraries}"));
        let output = compiler.output().map_err(|e| help(&e.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        why = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    Err(help(why.lines().find(|l| l.contains("error") || l.contains("cannot")).unwrap_or("g++ failed")))
}

/// The ratios, and what both counted, if an ns-3 is installed.
pub fn ratios(prefixes: &[PathBuf], times: u32) -> Outcome<Option<[Section; 2]>> {
    let folder = tempfile::tempdir().map_err(|e| format!("cannot make a temporary folder: {e}"))?;
    let mut installed = Vec::new();
    for prefix in std::iter::once(None).chain(prefixes.iter().map(|p| Some(p.as_path()))) {
        let program = folder.path().join(format!("ns3-{}", installed.len()));
        installed.extend(Installed::find(prefix, program)?);
    }
    if installed.is_empty() {
        eprintln!("note: no ns-3 here, skipped; to compare with it, {HELP}");
        return Ok(None);
    }
    let mut rows = Vec::new();
    for (queue, own) in &QUEUES {
        for ns3 in &installed {
            let (quell, peer, lean) = (Vec::new(), Vec::new(), Vec::new());
            let row = Row { case: "a", queue, counted: Run::default(), quell, peer, lean };
            rows.push((row, *own, ns3));
        }
    }
    let before = load();
    let mut progress = Progress::new(rows.len() * times as usize);
    for _ in 0..times {
        for (row, own, ns3) in &mut rows {
            progress.next(&format!("a {}: ns-3 {}", row.queue, ns3.version));
            let mut set = vec![format!("duration={SECONDS} s")];
            set.extend(SENDERS.iter().chain(*own).map(|s| s.to_string()));
            row.quell.push(one::spawn(&Args { set, ..Args::new(row.case, row.queue) })?);
            row.counted = ns3.run(row.queue)?;
            row.peer.push(row.counted);
        }
    }
    drop(progress);
    let head = ["queue", "ns-3", "Quell, ns/packet", "ns-3, ns/packet", "ratio", "spread", "whole process"];
    let mut ratios = Section::new("ns3", &head);
    let head = ["queue", "ns-3", "packets", "in ns-3", "loss, %", "in ns-3", "utilization, %", "in ns-3"];
    let mut checks = Section::new("ns3-check", &head);
    for (row, _, ns3) in &rows {
        let logging = if row.counted.logging { "with" } else { "without" };
        let version = format!("{}, {logging} logging", ns3.version);
        let [line, check] = lines(row);
        for (section, mut cells) in [(&mut ratios, line), (&mut checks, check)] {
            cells.remove(0);
            cells.insert(1, version.clone());
            section.row(cells);
        }
    }
    ratios.remark(format!(
        "These are {SECONDS} s of case a: CPU time of the event loops per data packet that arrives at the bottleneck. \
         Values are the least of {times} runs in turn; *spread*: the least and the largest ratio of adjacent runs. \
         *Logging*: whether it is compiled in, as in the distributed packages. The hosts of ns-3 are whole IP stacks. \
         Both have NewReno with SACK and proportional rate reduction, and queues by the same rules. Before: {before}; \
         after: {}.",
        load()
    ));
    checks.remark(
        "These are the counts of both simulators at the bottleneck, each with its own random numbers.",
    );
    Ok(Some([ratios, checks]))
}
