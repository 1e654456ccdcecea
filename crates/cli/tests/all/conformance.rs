//! `quell conformance`: implementations that are right, wrong, slow, dead and talkative.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::Bench;

/// The folder of the adaptors.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

/// True if a program is on this machine; says so if not.
fn has(program: &str, argument: &str) -> bool {
    let there = Command::new(program).arg(argument).output().is_ok_and(|o| o.status.success());
    if !there {
        println!("skipped: no {program} here");
    }
    there
}

fn adaptor(name: &str) -> String {
    folder().join("adaptors").join(name).display().to_string()
}

/// The vectors that passed, of those that were run. The implementation must differ nowhere, in no number of draws and
/// in no internal signal that it reports either.
fn passed(bench: &Bench, vectors: &[&str], command: &[&str]) -> Vec<String> {
    let mut args = vec!["conformance", "run", "--strict", "--timeout", "120s", "--format", "json"];
    vectors.iter().for_each(|v| args.extend(["--vector", v]));
    args.push("--");
    args.extend(command);
    let report = bench.json(&args);
    let all = report["vectors"].as_array().unwrap();
    let of = |outcome: &str| all.iter().filter(|v| v["outcome"] == outcome).collect::<Vec<_>>();
    assert!(of("differs").is_empty() && of("broke").is_empty(), "{report:#}");
    of("passed").iter().map(|v| v["vector"].as_str().unwrap().to_string()).collect()
}

#[test]
fn quell_passes_its_own_vectors_over_a_pipe() {
    let bench = Bench::new();
    let quell = env!("CARGO_BIN_EXE_quell");
    let all = passed(&bench, &["codel", "red+tail", "pie/enhanced"], &[quell, "conformance", "answer"]);
    assert_eq!(all.len(), 19, "{all:?}");
}

/// Runs a class of Python that is built on the adaptor's.
fn run_class(bench: &Bench, imports: &str, class: &str, args: &[&str]) -> crate::common::Ran {
    let text = format!(
        "import sys\nsys.path.insert(0, {:?})\nsys.dont_write_bytecode = True\nfrom adaptor import {imports}, serve\n\n{class}\n",
        adaptor("python")
    );
    bench.file("own.py", &text);
    bench.run(&[&["conformance", "run"], args, &["--", "python3", "own.py"]].concat())
}

/// A program of C, compiled without a warning.
fn compile_c(bench: &Bench, source: &str) -> String {
    let program = bench.path("adaptor");
    let compiled = Command::new("cc")
        .args(["-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o"])
        .arg(&program)
        .args([&adaptor(source), "-lm"])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program.display().to_string()
}

/// CoDel with a clock of a microsecond, RED with shifts and PIE in ticks decide as the reference does in floating point.
#[test]
fn integers_pass() {
    if !has("cc", "--version") {
        return;
    }
    let bench = Bench::new();
    let program = compile_c(&bench, "c/integers.c");
    let args = ["--vector=codel", "--vector=pie", "--vector=red", "--format=json", "--", &program];
    let report = bench.json(&[&["conformance", "run"], &args[..]].concat());
    let all = report["vectors"].as_array().unwrap();
    let passed = |algorithm: &str| {
        let name = format!("{algorithm}/");
        let own = all.iter().filter(|v| v["vector"].as_str().unwrap().starts_with(&name));
        own.filter(|v| v["outcome"] == "passed").count()
    };
    assert_eq!([passed("codel"), passed("pie"), passed("red")], [7, 13, 3], "{report:#}");
    // Those that differ would end it with a status of 1; what else is off are draws that are not needed, and ticks.
    let warnings = all.iter().filter_map(|v| v["warnings"].as_array()).flatten();
    for warning in warnings {
        assert!(["delay", "p", "draws"].contains(&warning["part"].as_str().unwrap()), "{warning:#}");
    }
}

#[test]
fn the_c_adaptor_passes() {
    if !has("cc", "--version") {
        return;
    }
    let bench = Bench::new();
    let program = compile_c(&bench, "c/adaptor.c");
    let all = passed(&bench, &["drop-tail", "codel", "pie", "cobalt"], &[&program]);
    assert!(all.contains(&"codel/drops".into()) && all.contains(&"pie/marks".into()), "{all:?}");
    assert!(all.contains(&"cobalt/marks".into()) && all.len() >= 12, "{all:?}");
}

#[test]
fn the_go_adaptor_passes() {
    if !has("go", "version") {
        return;
    }
    let bench = Bench::new();
    let program = bench.path("adaptor");
    let mut go = Command::new("go");
    go.args(["build", "-o"]).arg(&program).arg(adaptor("go/adaptor.go"));
    let compiled = go.env("GOFLAGS", "-mod=mod").env("GOTOOLCHAIN", "local").output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let all = passed(&bench, &["drop-tail", "pi", "pie", "cobalt"], &[program.to_str().unwrap()]);
    assert!(
        all.contains(&"pi/drops".into())
            && all.contains(&"pie/link-rate".into())
            && all.contains(&"cobalt/marks".into()),
        "{all:?}"
    );
}

/// Who copies the page's adaptor has one that runs.
#[test]
fn the_adaptor_of_the_page_passes() {
    if !has("python3", "--version") {
        return;
    }
    let bench = Bench::new();
    let page = std::fs::read_to_string(folder().join("../docs/conformance.md")).unwrap();
    let program = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    bench.file("my.py", program);
    let all = passed(&bench, &["drop-tail"], &["python3", "my.py"]);
    assert_eq!(all.len(), 4, "{all:?}");
    let skipped = bench.run(&["conformance", "run", "--vector", "codel", "--", "python3", "my.py"]);
    assert!(skipped.code == 1 && skipped.err.contains("all were skipped"), "{skipped:?}");
    // And the vectors that it names are there.
    let table = page.split("| you have | begin with | then |").nth(1).unwrap().split("\n\n").next().unwrap();
    let list = bench.ok(&["conformance", "list", "--format", "json"]);
    let mut named = 0;
    for row in table.lines().filter(|row| !row.contains("NAME") && row.contains('`')) {
        let mut algorithm = "";
        for name in row.split('`').skip(1).step_by(2) {
            let (of, name) = name.split_once('/').unwrap_or((algorithm, name));
            algorithm = of;
            assert!(list.contains(&format!("\"{of}/{name}\"")), "{of}/{name}");
            named += 1;
        }
    }
    assert!(named > 20, "{named}");
}

/// RFC 8033 Appendix B asks first whether the buffer has room, and draws nothing for a packet that it has no room for.
#[test]
fn pie_that_asks_for_room_first_passes_with_warnings() {
    if !has("python3", "--version") {
        return;
    }
    let bench = Bench::new();
    let class = r#"class RoomFirst(Pie):
    def enqueue(self, now, packet):
        if self.has_room(packet):
            return super().enqueue(now, packet)
        self.restore_burst()
        self.on_overflow(now)
        return {"verdict": "dropped", "cause": "overflow"}

serve({"pie": RoomFirst})"#;
    let rfc = ["drops", "bytes", "sum", "high"].map(|name| format!("--vector=pie/{name}"));
    let run = |more: &[&str]| {
        let args: Vec<&str> = rfc.iter().map(String::as_str).chain(more.iter().copied()).collect();
        run_class(&bench, "Pie", class, &args)
    };
    let ran = run(&[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("warnings: cause at ") && ran.out.contains(", draws at "), "{}", ran.out);
    assert!(ran.out.contains("\nwarning: pie/"), "{}", ran.out);
    let json: serde_json::Value = serde_json::from_str(&run(&["--format", "json"]).out).unwrap();
    let warned: Vec<_> = json["vectors"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|v| v["warnings"].as_array())
        .flatten()
        .collect();
    let draws = warned.iter().find(|w| w["part"] == "draws").unwrap_or_else(|| panic!("{json:#}"));
    assert!(draws["events"].as_u64() > Some(0), "{draws:#}");
    assert_eq!((&draws["expected"]["used"], &draws["came"]["used"]), (&1.into(), &0.into()), "{draws:#}");
    let strict = run(&["--strict"]);
    assert_eq!(strict.code, 1, "{strict:?}");
    assert!(strict.err.contains("vectors differ"), "{}", strict.err);
}

/// Ticks of 64 ns need the tolerance that the header gives them, with its reason, and nothing beyond it.
#[test]
fn a_tolerance_is_in_the_header_of_its_vector() {
    if !has("python3", "--version") {
        return;
    }
    let bench = Bench::new();
    let vector = bench.ok(&["conformance", "show", "pie/linux"]);
    let (header, events) = vector.split_once('\n').unwrap();
    let mut header: serde_json::Value = serde_json::from_str(header).unwrap();
    assert!(header["tolerance"]["reason"].as_str().unwrap().contains("64 ns"), "{header:#}");
    let program = adaptor("python/adaptor.py");
    let run = |header: &serde_json::Value| {
        bench.file("v.jsonl", &format!("{header}\n{events}"));
        let args = ["conformance", "run", "--strict", "--format", "json", "--file", "v.jsonl", "--"];
        bench.run(&[&args[..], &["python3", &program]].concat())
    };
    assert_eq!(run(&header).code, 0);
    header["tolerance"]["absolute"]["delay"] = 3e-8.into();
    let ran = run(&header);
    assert_eq!(ran.code, 1, "{ran:?}");
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let differs = &json["vectors"][0];
    assert_eq!(differs["part"], "delay", "{differs:#}");
    let [expected, came] = ["expected", "came"].map(|it| differs[it]["signals"]["delay"].as_f64().unwrap());
    assert!((expected - came).abs() > 3e-8 && (expected - came).abs() < 6.4e-8, "{differs:#}");
    assert!(differs["decided_by"].as_str().unwrap().contains("sch_pie.c"), "{differs:#}");
    for (key, value, says) in [
        ("relative", 0.5.into(), "tolerance.relative = 0.5: must lie in [0, 0.01]"),
        ("reason", " ".into(), "tolerance.reason: is empty"),
        (
            "absolute",
            serde_json::json!({ "q": 1.0 }),
            "tolerance.absolute.q: must be a signal that the header lists",
        ),
        ("absolute", serde_json::json!({ "p": -1.0 }), "tolerance.absolute.p = -1: must be 0 or more"),
    ] {
        let mut wrong = header.clone();
        wrong["tolerance"][key] = value;
        let ran = run(&wrong);
        assert!(ran.code == 2 && ran.err.contains(says), "{says}: {}", ran.err);
    }
}

/// The fate of packets is in the report as data, so that nobody has to read the words.
#[test]
fn a_difference_is_in_the_report_as_data() {
    let bench = Bench::new();
    let text = "read line; echo '{\"ready\":true}'; while read line; do echo '{}'; done";
    let ran = bench.run(&[
        "conformance",
        "run",
        "--vector",
        "drop-tail/drops",
        "--format",
        "json",
        "--",
        "sh",
        "-c",
        text,
    ]);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let differs = &json["vectors"][0];
    assert_eq!(differs["part"], "decision", "{differs:#}");
    assert_eq!(differs["expected"], serde_json::json!({ "verdict": "queued" }), "{differs:#}");
    assert_eq!(differs["came"], serde_json::json!({}), "{differs:#}");
    assert!(differs["decided_by"].as_str().unwrap().contains("has no room for it"), "{differs:#}");
}

/// RED with an average that is shifted, and a probability that is: 2^-4 and 2^-6, with 16 bits behind the point.
#[test]
fn red_in_shifted_integers_passes() {
    if !has("python3", "--version") {
        return;
    }
    let bench = Bench::new();
    let class = r#"class Shifted(Red):
    """Packets of 2^16 parts, or bytes; the gap since the last signal divides."""

    def __init__(self, header):
        super().__init__(header)
        self.bits = 16 if "packets" in self.unit else 8
        low, high = (self.params[name] for name in ("min_th", "max_th"))
        self.low, self.high = (int(next(iter(size.values()))) << self.bits for size in (low, high))
        self.slope = (self.high - self.low).bit_length() - 1 + 3
        self.average = self.gap = 0

    def on_enqueue(self, now, packet):
        if self.idle_since is not None:
            missed = int((now - self.idle_since) * self.link["rate_bps"] // (8 * self.mean_packet * 1_000_000_000))
            for _ in range(min(missed, 1000)):
                self.average -= self.average >> 4
            self.idle_since = None
        length = len(self.waiting) if "packets" in self.unit else self.bytes
        self.average += (length << self.bits) - self.average >> 4
        verdict = None
        if self.average < self.low:
            self.gap = 0
        elif self.average >= self.high:
            self.gap, verdict = 0, ("drop", "forced")
        else:
            part, whole = self.average - self.low, 1 << self.slope
            before = self.gap
            self.gap += 1
            count = self.gap if self.spacing == "uniform-pseudocode" else before
            rest = whole - count * part
            self.draws.used += part > 0
            u = int((self.draws.given or [0.5])[0] * (1 << 32))
            if part > 0 and (rest <= 0 or u * rest < part << 32):
                self.gap, verdict = 0, ("drop", "early")
        if not self.waiting and verdict:
            self.idle_since = now
        return verdict

    def on_overflow(self, now):
        self.gap = 0

    def signals(self):
        return {}

serve({"red": Shifted})"#;
    let vectors = ["--vector=red/shift", "--vector=red/shift-bytes", "--vector=red/1993"];
    let ran = run_class(&bench, "Red", class, &vectors);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.matches("passed").count() == 3, "{}", ran.out);
}

/// RFC 9332 section 4.2.2 leaves the scheduler open: with one busy queue none has a say.
#[test]
fn dualpi2_with_another_scheduler_passes_where_one_queue_is_busy() {
    if !has("python3", "--version") {
        return;
    }
    let bench = Bench::new();
    let class = r#"class StrictPriority(DualPi2):
    def scheduler(self, now):
        return self.L if self.queues[self.L] else self.C

    def signals(self):
        return {name: x for name, x in super().signals().items() if name != "credit"}

serve({"dualpi2": StrictPriority})"#;
    let one =
        ["classic", "scalable", "in-turn", "drops", "sizes"].map(|name| format!("--vector=dualpi2/{name}"));
    let one: Vec<&str> = one.iter().map(String::as_str).chain(["--strict"]).collect();
    let ran = run_class(&bench, "DualPi2", class, &one);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(run_class(&bench, "DualPi2", class, &["--vector=dualpi2/classic-first"]).code, 1);
}

/// A vector of one's own configuration is one of its file, and a configuration without end is refused.
#[test]
fn vectors_of_ones_own_are_written() {
    let bench = Bench::new();
    let quell = env!("CARGO_BIN_EXE_quell");
    let write = |args: &[&str]| bench.run(&[&["conformance", "write"], args].concat());
    let own =
        ["--aqm", "codel", "--set", "arithmetic=linux", "--set", "target=\"8 ms\"", "--course", "marks"];
    let ran = write(&[&own[..], &["nowhere/own.jsonl"]].concat());
    assert!(
        ran.err.ends_with("write nowhere/own.jsonl: No such file or directory (os error 2)\n"),
        "{ran:?}"
    );
    let ran = write(&[&own[..], &["own.jsonl"]].concat());
    assert!(ran.code == 0 && ran.out.starts_with("codel/marks,arithmetic=linux"), "{ran:?}");
    let text = std::fs::read_to_string(bench.path("own.jsonl")).unwrap();
    let header: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((&header["parameters"]["target"], &header["ecn"]), (&0.008.into(), &true.into()));
    bench.ok(&[
        "conformance",
        "run",
        "--strict",
        "--file",
        "own.jsonl",
        "--",
        quell,
        "conformance",
        "answer",
    ]);
    // Of every course, and with the catalog's parameters it is the catalog's vector but for its name.
    let help = bench.ok(&["conformance", "write", "--help"]);
    let list = help
        .split("What happens in the vector: ")
        .nth(1)
        .and_then(|rest| rest.split(" [default").next())
        .unwrap();
    let list = list.split_whitespace().collect::<Vec<_>>().join(" ").replace(" or ", ", ");
    let courses: Vec<&str> = list.split(", ").collect();
    assert_eq!(courses, quell_conformance::generate::courses().collect::<Vec<_>>(), "{help}");
    for course in courses {
        assert_eq!(write(&["--aqm", "pie", "--course", course, "pie.jsonl"]).code, 0, "{course}");
        let events = |text: &str| text.split_once('\n').unwrap().1.to_string();
        if ["drops", "marks", "bytes", "sizes"].contains(&course) {
            let own = std::fs::read_to_string(bench.path("pie.jsonl")).unwrap();
            let name = format!("pie/{course}");
            assert_eq!(events(&own), events(&bench.ok(&["conformance", "show", &name])), "{course}");
        }
    }
    for (args, says) in [
        (&["--aqm", "pie", "--set", "update_interval=1us"][..], "would have more than 20000 events"),
        (&["--aqm", "codle"], "did you mean \"codel\"?"),
        (&["--aqm", "codel", "--course", "drop"], "did you mean \"drops\"?"),
        (&["--aqm", "codel", "--set", "arithmetic=linus"], "unknown variant `linus`"),
        (&["--aqm", "codel", "--set", "target=1ms", "--set", "target=2ms"], "--set target: is set twice"),
        (&["--aqm", "codel", "--set", "target=1s"], "codel in course drops: "),
        (&["--set", "target=1s"], "--aqm"),
    ] {
        let ran = write(&[args, &["never.jsonl"]].concat());
        assert!(ran.code == 2 && ran.err.contains(says), "{says}: {ran:?}");
        assert!(!bench.path("never.jsonl").exists());
    }
}

/// The adaptor in Python, which exhibits are one mistake away from, passes whatever it does not skip.
#[test]
fn the_museum_is_caught_whole_and_the_python_adaptor_passes() {
    if !has("python3", "--version") {
        return;
    }
    let bench = Bench::new();
    let museum = bench.json(&["conformance", "museum", "--format", "json"]);
    let exhibits = museum["exhibits"].as_array().unwrap();
    assert!(exhibits.len() >= 60);
    for exhibit in exhibits {
        assert!(exhibit["vector"].is_string(), "{exhibit:#}");
    }
    let passes = &museum["adaptor_passes"];
    let own =
        ["drop-tail", "red", "ared", "pi", "blue", "codel", "pie", "fq-codel", "dualpi2", "cobalt", "cake"];
    for algorithm in own {
        assert!(
            passes[algorithm].as_array().is_some_and(|passed| passed.len() >= 4),
            "{algorithm}: {passes}"
        );
    }
    // Implementations in integers can pass, one queue of two can be held apart, and another hash is no obstacle.
    for vector in [
        "codel/linux",
        "codel/linux-marks",
        "codel/linux-ticks",
        "pie/linux",
        "pie/linux-marks",
        "dualpi2/classic",
        "dualpi2/scalable",
        "dualpi2/in-turn",
        "fq-codel/ties",
        "fq-codel/shared",
    ] {
        let passed = passes[vector.split_once('/').unwrap().0].as_array().unwrap();
        assert!(passed.iter().any(|v| v == vector), "{vector}: {passes}");
    }
    let one = bench.ok(&["conformance", "museum", "codel-control-law"]);
    for part in ["expected:", "came:", "RFC 8289 section 5.5", "shadow/issues/2478"] {
        assert!(one.contains(part), "{part}: {one}");
    }
}

/// Runs one vector with a shell script as the implementation.
fn script(bench: &Bench, text: &str) -> crate::common::Ran {
    bench.run(&[
        "conformance",
        "run",
        "--vector",
        "drop-tail/drops",
        "--timeout",
        "500ms",
        "--",
        "sh",
        "-c",
        text,
    ])
}

#[test]
fn who_does_not_answer_is_ended_and_the_reason_said() {
    const READY: &str = "read line; echo '{\"ready\":true}'; ";
    let bench = Bench::new();
    for (text, says) in [
        ("exit 3", "the header: it ended without an answer: exit status: 3"),
        ("kill -9 $$", "signal: 9"),
        ("sleep 60", "no answer within 0.5 s"),
        ("echo hello", "printed hello, which is not JSON"),
        ("echo '{\"redy\":true}'", "unknown field `redy`"),
        ("echo '{}'", "answered neither"),
        ("printf '\\377\\n'", "not UTF-8"),
        ("head -c 100000 /dev/zero | tr '\\0' x", "more than 65536 bytes"),
    ] {
        let ran = script(&bench, text);
        assert_eq!(ran.code, 1, "{text}: {ran:?}");
        assert!(ran.out.contains(says), "{text}: {}", ran.out);
    }
    for (text, says) in [
        ("sleep 60", "event 1 of"),
        ("echo '{\"verdict\":\"maybe\"}'", "unknown variant `maybe`"),
        ("cat > /dev/null & exit 0", "event 1 of"),
        ("yes", "printed y, which is not JSON"),
        ("while read line; do echo '{}'; done", "expected: queued"),
    ] {
        let ran = script(&bench, &format!("{READY}{text}"));
        assert_eq!(ran.code, 1, "{text}: {ran:?}");
        assert!(ran.out.contains(says), "{text}: {}", ran.out);
    }
    // The name of the vector stands once in its row, and a reason is whole.
    let long =
        "it is written for routers, whose owners have not asked for this algorithm in all these years so far";
    let said = script(&bench, &format!("read line; echo '{{\"skip\":\"{long}\"}}'"));
    assert_eq!(said.out.matches("drop-tail/drops").count(), 1, "{}", said.out);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words(&said.out).contains(long) && said.out.lines().all(|line| line.chars().count() <= 100),
        "{}",
        said.out
    );
    let broke = script(&bench, "exit 3");
    assert!(broke.out.contains("drop-tail/drops  broke    at the header\n"), "{}", broke.out);
    assert!(
        broke.out.ends_with("\ndrop-tail/drops: the header: it ended without an answer: exit status: 3\n"),
        "{}",
        broke.out
    );
    let skipped = script(&bench, "read line; echo '{\"skip\":\"not today\"}'");
    assert_eq!(skipped.code, 1);
    assert!(skipped.out.contains("not today") && skipped.err.contains("all were skipped"));
}

/// Children of a hanging implementation end with it.
#[test]
fn what_an_implementation_started_ends_with_it() {
    let bench = Bench::new();
    let file = bench.path("pid");
    let ran = script(&bench, &format!("sleep 300 & echo $! > {}; wait", file.display()));
    assert_eq!(ran.code, 1);
    let pid = std::fs::read_to_string(file).unwrap();
    let stat = PathBuf::from(format!("/proc/{}/stat", pid.trim()));
    let end = Instant::now() + Duration::from_secs(5);
    // It may be a zombie for as long as whoever inherited it takes.
    let gone = || std::fs::read_to_string(&stat).map_or(true, |s| s.contains(") Z "));
    while !gone() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(gone(), "sleep goes on");
}

/// Waits until the process whose number is in a file has ended, and says whether it has.
#[cfg(target_os = "linux")]
fn ends(file: &std::path::Path) -> bool {
    let pid = std::fs::read_to_string(file).unwrap();
    let stat = PathBuf::from(format!("/proc/{}/stat", pid.trim()));
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        match std::fs::read_to_string(&stat) {
            Ok(stat) if !stat.contains(") Z ") && Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Ok(stat) => return stat.contains(") Z "),
            Err(_) => return true,
        }
    }
}

/// Ends the process whose number is in a file; false if it had ended.
#[cfg(target_os = "linux")]
fn stop(file: &std::path::Path) -> bool {
    let pid = std::fs::read_to_string(file).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    let lived = stat.is_ok_and(|stat| !stat.contains(") Z "));
    lived && Command::new("kill").arg(pid.trim()).status().unwrap().success()
}

/// So do those that have left its group and its session, whether their parent is there or not, whatever came of the
/// vector, and without any right.
#[cfg(target_os = "linux")]
#[test]
fn what_has_left_the_group_of_an_implementation_ends_with_it() {
    if !has("setsid", "--version") {
        return;
    }
    let bench = Bench::new();
    let file = bench.path("pid");
    let told = file.display();
    let quell = env!("CARGO_BIN_EXE_quell");
    let daemon = format!("setsid sh -c 'echo $$ > {told}; exec sleep 300' < /dev/null > /dev/null 2>&1 &");
    let wait = format!("while ! test -s {told}; do sleep 0.01; done;");
    let orphan = format!("({daemon}) ; {wait}");
    for (text, code) in [
        (format!("{daemon} {wait} sleep 300"), 1),
        (format!("{orphan} sleep 300"), 1),
        (format!("{orphan} exit 0"), 1),
        // A daemon's child, without its environment.
        (orphan.replace("setsid sh", "setsid env -i setsid sh") + "exit 3", 1),
        (format!("{orphan} exec {quell} conformance answer"), 0),
    ] {
        let _ = std::fs::remove_file(&file);
        let ran = script(&bench, &text);
        assert_eq!(ran.code, code, "{text}: {ran:?}");
        assert!(ends(&file), "{text}: it goes on");
    }
}

/// A shell that becomes the runner leaves it its children, which are nobody's to kill.
#[cfg(target_os = "linux")]
#[test]
fn children_that_were_there_before_stay() {
    let bench = Bench::new();
    let quell = env!("CARGO_BIN_EXE_quell");
    let text = format!(
        "sleep 300 > /dev/null 2>&1 & echo $! > pid; exec {quell} conformance run --vector drop-tail/drops -- {quell} conformance answer"
    );
    let ran =
        std::process::Command::new("sh").args(["-c", &text]).current_dir(bench.path("")).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    assert!(stop(&bench.path("pid")), "it has ended");
}

/// What those children start later, and leave to the runner, is nobody's to kill either; what an implementation starts
/// is, where its environment or its parents say whose it is.
#[cfg(target_os = "linux")]
#[test]
fn orphans_of_others_stay() {
    if !has("setsid", "--version") {
        return;
    }
    let bench = Bench::new();
    let quell = env!("CARGO_BIN_EXE_quell");
    let daemon = |name: &str| {
        format!("(setsid sh -c 'echo $$ > {name}; exec sleep 300' < /dev/null > /dev/null 2>&1 &)")
    };
    let bare = "env -i setsid sh -c 'echo $$ > bare; exec sleep 300' < /dev/null > /dev/null 2>&1 &";
    let wait = |names: &str| format!("for f in {names}; do while ! test -s $f; do sleep 0.01; done; done");
    bench.file(
        "adaptor",
        &format!(
            "echo > begun; {}; {bare} {}; read line; echo '{{\"skip\":\"no\"}}'; sleep 300",
            daemon("own"),
            wait("own bare other")
        ),
    );
    let text = format!(
        "(while ! test -e begun; do sleep 0.01; done; {}; exec sleep 300) > /dev/null 2>&1 & echo $! > loop; \
         exec {quell} conformance run --vector drop-tail/drops -- sh adaptor",
        daemon("other")
    );
    let ran =
        std::process::Command::new("sh").args(["-c", &text]).current_dir(bench.path("")).output().unwrap();
    assert!(String::from_utf8_lossy(&ran.stderr).contains("all were skipped"), "{ran:?}");
    assert!(ends(&bench.path("own")) && ends(&bench.path("bare")), "the implementation's go on");
    for name in ["other", "loop"] {
        assert!(stop(&bench.path(name)), "{name} has ended");
    }
}

/// 300 time-outs of 30 s would take longer than anyone waits.
#[test]
fn an_implementation_that_hangs_is_given_up() {
    let bench = Bench::new();
    let run = |vectors: &[&str], text: &str| {
        let mut args = vec!["conformance", "run", "--timeout", "300ms", "--format", "json"];
        args.extend(vectors);
        args.extend(["--", "sh", "-c", text]);
        let ran = bench.run(&args);
        let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        (ran.code, ran.err, json["vectors"].as_array().unwrap().len(), json["not_run"].as_u64().unwrap())
    };
    let (code, err, ran, left) = run(&[], "sleep 300");
    assert_eq!((code, ran), (1, 3));
    assert!(left > 100, "{left}");
    let says =
        format!("; it hung 3 times in a row, so {left} more were not run; give it more time with --timeout");
    assert!(err.contains(&says), "{err}");
    // So does one that goes on without its output.
    assert_eq!(run(&[], "exec >&-; sleep 300").2, 3);
    // Who answers in between has not hung in a row; one that takes no event hangs too, but a difference is an answer.
    let every_other =
        "if mkdir once 2> /dev/null; then sleep 300; fi; rmdir once; read line; echo '{\"skip\":\"no\"}'";
    assert_eq!(run(&["--vector", "codel", "--vector", "pie"], every_other).3, 0);
}

/// What is not read is not waited for either.
#[test]
fn a_header_longer_than_a_pipe_that_nobody_reads_is_no_trap() {
    let bench = Bench::new();
    let vector = bench.ok(&["conformance", "show", "drop-tail/drops"]);
    let long = format!("\"source\":\"{}", "x".repeat(300_000));
    bench.file("long.jsonl", &vector.replacen("\"source\":\"", &long, 1));
    let args = ["conformance", "run", "--file", "long.jsonl", "--timeout", "500ms", "--", "sleep", "60"];
    let ran = bench.run(&args);
    assert!(ran.code == 1 && ran.out.contains("no answer within 0.5 s"), "{ran:?}");
}

#[test]
fn an_interruption_ends_the_implementation_too() {
    interrupted("INT", 130);
    #[cfg(target_os = "linux")]
    interrupted("HUP", 143);
}

fn interrupted(signal: &str, code: i32) {
    let bench = Bench::new();
    let file = bench.path("pid");
    let text = format!("echo $$ > {}; sleep 300", file.display());
    let mut command = bench.command(&[
        "conformance",
        "run",
        "--vector",
        "drop-tail",
        "--timeout",
        "1h",
        "--",
        "sh",
        "-c",
        &text,
    ]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while !file.exists() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    let killed =
        Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(code));
    let pid = std::fs::read_to_string(file).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    assert!(stat.map_or(true, |s| s.contains(") Z ")), "the implementation goes on");
}

#[test]
fn wrong_input_is_named() {
    let bench = Bench::new();
    let refused = |args: &[&str]| {
        let ran = bench.run(&[&["conformance"], args].concat());
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        ran.err
    };
    assert!(refused(&["run", "--vector", "codle", "--", "true"]).contains("codel"));
    assert!(refused(&["run", "--vector", "codel/drop", "--", "true"]).contains("codel/drops"));
    assert!(refused(&["run", "--vector", "codel", "--", "./nothing-here"]).contains("cannot start"));
    assert!(refused(&["run", "--file", "nothing.jsonl", "--", "true"]).contains("cannot read nothing.jsonl"));
    assert!(refused(&["museum", "codel-control-lav"]).contains("codel-control-law"));
    let good = bench.ok(&["conformance", "show", "drop-tail/drops"]);
    bench.file("broken.jsonl", &good.replacen("\"event\":2", "\"event\":3", 1));
    let why = refused(&["run", "--file", "broken.jsonl", "--", "true"]);
    assert!(why.contains("broken.jsonl: line 3: event = 3: event 2 is due"), "{why}");
    std::fs::write(bench.path("latin.jsonl"), [good.as_bytes(), b"\n\xe4\n"].concat()).unwrap();
    let why = refused(&["run", "--file", "latin.jsonl", "--", "true"]);
    let line = good.lines().count() + 2;
    assert!(why.contains(&format!("latin.jsonl: line {line}: is not UTF-8")), "{why}");
    bench.file("good.jsonl", &good);
    let quell = env!("CARGO_BIN_EXE_quell");
    bench.ok(&["conformance", "run", "--file", "good.jsonl", "--", quell, "conformance", "answer"]);
    bench.ok(&["conformance", "write", "all", "pi", "codel/drops"]);
    assert!(bench.path("all/pi.jsonl").is_file() && bench.path("all/codel.jsonl").is_file());
    assert!(bench.ok(&["conformance", "list"]).contains("codel/mtu"));
    assert!(bench.ok(&["conformance", "schema"]).contains("not_before"));
}
