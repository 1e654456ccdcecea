//! Text of files, arguments and other programs: a terminal is not to obey it.

use std::process::Command;

use crate::common::{Bench, Ran, SMALL};

/// Clears the screen, in both encodings of its control; rings; turns the direction of text.
const HOSTILE: &str = "x\u{1b}[2J\u{9b}2J\u{7}\u{202e}\u{7f}y";
const SHOWN: &str = r"x\u{1b}[2J\u{9b}2J\u{7}\u{202e}\u{7f}y";

/// Asserts that nothing that was said is obeyed.
fn assert_harmless(what: &str, ran: &Ran) {
    for text in [&ran.out, &ran.err] {
        let obeyed =
            |c: char| c.is_control() && c != '\n' && c != '\t' || "\u{202a}\u{202e}\u{2066}".contains(c);
        assert!(!text.contains(obeyed), "{what}: {text:?}");
    }
}

/// Scenarios refuse such names, but a results folder that somebody made may say anything.
#[test]
fn names_in_scenarios_and_results_are_shown() {
    let bench = Bench::new();
    let quoted = "x\\u001b[2J\\u009b2J\\u0007\\u202e\\u007fy";
    for (from, to) in [
        ("title = \"Small\"", format!("title = \"{quoted}\"")),
        ("algorithm = \"red\"", format!("algorithm = \"red\"\nlabel = \"{quoted}\"")),
        ("name = \"ftp\"", format!("name = \"{quoted}\"")),
    ] {
        bench.file("hostile.toml", &SMALL.replace(from, &to));
        let ran = bench.run(&["run", "hostile.toml"]);
        assert_harmless(&to, &ran);
        assert!(ran.code == 2 && ran.err.contains(SHOWN), "{ran:?}");
    }
    bench.ok(&["run", "small.toml", "--out", "r", "--quiet"]);
    let path = bench.path("r/run.json");
    let mut run: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    // Those of early versions have no seal.
    (run["title"], run["sha256"]) = (HOSTILE.into(), "".into());
    std::fs::write(&path, run.to_string()).unwrap();
    for args in [&["show", "r"][..], &["plot", "r"], &["report", "r"], &["compare", "r", "-b", "red"]] {
        let ran = bench.run(args);
        assert_harmless(&args.join(" "), &ran);
        assert!(args[0] != "show" || ran.out.contains(SHOWN), "{args:?}: {ran:?}");
    }
    let svg = bench.run(&["plot", "r", "--svg", "-"]);
    assert_harmless("svg", &svg);
    assert!(svg.out.contains("x\u{fffd}[2J\u{fffd}2J\u{fffd}\u{fffd}\u{fffd}y"), "{}", svg.out);
    let page = bench.path("r/report.html");
    let page = Ran { code: 0, out: std::fs::read_to_string(page).unwrap(), err: String::new() };
    assert_harmless("report", &page);
    assert!(page.out.contains(SHOWN));
    let ran = bench.run(&["show", "r", "--format", "json"]);
    assert_harmless("json", &ran);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert!(json.to_string().contains(&serde_json::to_string(HOSTILE).unwrap()), "{json}");
}

#[test]
fn arguments_and_names_of_files_are_shown() {
    let bench = Bench::new();
    bench.file("keys", HOSTILE);
    bench.file(HOSTILE, HOSTILE);
    bench.file("key.toml", &format!("{SMALL}\n\"{}\" = 1\n", r"\u001b[2J"));
    let with = format!("aqm={HOSTILE}");
    let set = format!("{HOSTILE}={HOSTILE}");
    let mut all: Vec<Vec<&str>> = vec![
        vec!["run", HOSTILE],
        vec!["run", "absent\u{1b}[2J"],
        vec!["scenario", "check", HOSTILE, "key.toml"],
        vec!["show", HOSTILE],
        vec!["run", "small.toml", "--set", &set],
        vec!["run", "small.toml", "--sweep", &set],
        vec!["run", "small.toml", "--seeds", HOSTILE],
        vec!["run", "small.toml", "--metric", HOSTILE],
        vec!["run", "small.toml", "--out", "small.toml\u{1b}[2J/\u{9b}"],
        vec![HOSTILE],
        vec!["run", HOSTILE, "--\u{1b}[2J"],
        vec!["aqm", "describe", HOSTILE],
        vec!["tcp", "describe", HOSTILE],
        vec!["measure", HOSTILE],
        vec!["worker", "small.toml", "--keys", "keys"],
        vec!["worker", "small.toml", "--part", HOSTILE],
        vec!["conformance", "run", "--file", HOSTILE, "--", "true"],
        vec!["conformance", "run", "--vector", "codel/drops", "--", HOSTILE],
        vec!["conformance", "write", HOSTILE, "codel/drops"],
        vec!["cache", "--cache", HOSTILE],
        vec!["reproduce", HOSTILE],
        vec!["reproduce", "--papers", HOSTILE, "--list"],
        vec!["characterize", HOSTILE],
    ];
    if cfg!(target_os = "linux") {
        all.extend([
            vec!["gateway", "check", "--config", HOSTILE],
            vec!["gateway", "replay", HOSTILE],
            vec!["gateway", "replay", "small.toml", "--with", &with],
            vec!["gateway", "status", "--socket", HOSTILE],
        ]);
    }
    for args in all {
        assert_harmless(&format!("{args:?}"), &bench.run(&args));
    }
}

/// A line of its own would look as if this program had said it.
const FORGED: &str = "a\nforged: b\tc";

fn assert_not_forged(args: &[&str], ran: &Ran) {
    let said = format!("{}{}", ran.out, ran.err);
    assert!(!said.lines().any(|line| line.starts_with("forged")), "{args:?}: {said}");
}

#[cfg(unix)]
#[test]
fn no_name_or_value_forges_a_line() {
    let bench = Bench::new();
    bench.file(FORGED, "");
    let folder = format!("{FORGED}/b");
    let with = format!("aqm={FORGED}");
    let set = format!("{FORGED}={FORGED}");
    let line = "wan = \"lo\"\nup = \"1 Mbit/s\"\ndown = \"1 Mbit/s\"\n";
    let quoted = FORGED.replace('\n', "\\n").replace('\t', "\\t");
    bench.file("aqm.toml", &format!("{line}[aqm]\nalgorithm = \"codel\"\n\"{quoted}\" = 1\n"));
    bench.file("shadow.toml", &format!("{line}shadow = [\"{quoted}\"]\n"));
    bench.file("id.toml", &format!("{line}id = \"{quoted}\"\n"));
    let mut all: Vec<Vec<&str>> = vec![
        vec!["run", FORGED],
        vec!["run", "small.toml", FORGED],
        vec!["run", "small.toml", "--out", &folder],
        vec!["run", "small.toml", "--cache", &folder, "--out", "kept", "-q"],
        vec!["run", "small.toml", "--set", &set],
        vec!["run", "small.toml", "--sweep", &set],
        vec!["run", "small.toml", "--seeds", FORGED],
        vec!["run", "small.toml", "--metric", FORGED],
        vec!["run", "small.toml", "--aqm", FORGED],
        vec!["compare", "small.toml", "-b", FORGED],
        vec!["compare", FORGED, &folder, "-b", "red"],
        vec!["scenario", "check", FORGED],
        vec!["scenario", "show", &folder],
        vec!["tasks", FORGED],
        vec!["worker", "small.toml", "--keys", FORGED],
        vec!["worker", "small.toml", "--part", FORGED],
        vec!["show", FORGED],
        vec!["show", &folder],
        vec!["plot", FORGED],
        vec!["report", FORGED],
        vec!["cache", "--cache", FORGED],
        vec!["measure", FORGED],
        vec!["measure", &folder],
        vec!["analyze", FORGED],
        vec!["aqm", "describe", FORGED],
        vec!["tcp", "describe", FORGED],
        vec!["scenario", "dialects", FORGED],
        vec!["conformance", "run", "--file", FORGED, "--", "true"],
        vec!["conformance", "run", "--vector", FORGED, "--", "true"],
        vec!["conformance", "run", "--vector", "codel/drops", "--", FORGED],
        vec!["conformance", "write", FORGED],
        vec!["conformance", "write", "v.jsonl", "--aqm", "codel", "--set", &set],
        vec!["reproduce", FORGED],
        vec!["reproduce", "--papers", FORGED, "--list"],
        vec!["characterize", FORGED],
        vec![FORGED],
    ];
    if cfg!(target_os = "linux") {
        all.extend([
            vec!["gateway", "check", "--config", FORGED],
            vec!["gateway", "replay", FORGED],
            vec!["gateway", "replay", "small.toml", "--with", &with],
            vec!["gateway", "status", "--socket", FORGED],
            vec!["gateway", "replay", "small.toml", "--with", "aqm=codel", "--set", &set],
            vec!["gateway", "check", "--wan", "lo", "--up", "1Mbit/s", "--down", "1Mbit/s", "--set", &set],
            vec!["gateway", "reload", "--aqm", "codel", "--set", &set],
            vec!["gateway", "check", "--config", "aqm.toml"],
            vec!["gateway", "check", "--config", "shadow.toml"],
            vec!["gateway", "check", "--config", "id.toml"],
            vec!["gateway", "reload", "--config", "id.toml"],
            vec!["wire", "--rate", FORGED, "--", "true"],
            vec!["wire", "--rate", "1Mbit/s", "--aqm", "codel", "--set", &set, "--", "true"],
            vec!["wire", "--rate", "1Mbit/s", "--", FORGED],
        ]);
    }
    for args in all {
        let ran = bench.run(&args);
        assert_not_forged(&args, &ran);
    }
    // What is made under such a name is told too.
    for args in [
        &["run", "small.toml", "-q", "--out", "r\nforged"][..],
        &["conformance", "write", "v\nforged", "codel/drops"],
        &["plot", "r\nforged", "--svg", "p\nforged"],
    ] {
        let ran = bench.run(args);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_not_forged(args, &ran);
    }
}

/// Scenarios refuse such titles, and a results folder that somebody made may have any.
#[test]
fn no_title_forges_a_line() {
    let bench = Bench::new();
    bench.ok(&["run", "small.toml", "--out", "r", "--quiet"]);
    let path = bench.path("r/run.json");
    let mut run: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    (run["title"], run["sha256"]) = (FORGED.into(), "".into());
    std::fs::write(&path, run.to_string()).unwrap();
    for args in [&["show", "r"][..], &["compare", "r", "-b", "red"], &["plot", "r"]] {
        let ran = bench.run(args);
        assert!(
            ran.code == 0 && (args[0] == "plot" || ran.out.contains("a forged: b c")),
            "{args:?}: {ran:?}"
        );
        assert_not_forged(args, &ran);
    }
}

#[cfg(unix)]
#[test]
fn a_name_that_is_not_text_is_no_trap() {
    use std::os::unix::ffi::OsStrExt as _;
    let bench = Bench::new();
    let name = std::ffi::OsStr::from_bytes(b"a\xff\x1b[2J.toml");
    std::fs::write(bench.path("").join(name), "schema = 2").unwrap();
    let mut command = bench.command(&["scenario", "check"]);
    let output = command.arg(name).output().unwrap();
    assert_harmless("check", &Ran::from(output));
}

#[cfg(unix)]
#[test]
fn vectors_and_the_programs_that_answer_them_are_shown() {
    let bench = Bench::new();
    let quell = env!("CARGO_BIN_EXE_quell");
    let vector = bench.ok(&["conformance", "show", "codel/drops"]);
    let hostile = r#""x\u001b[2J\u009b2J\u202ey""#;
    for (from, to) in [
        ("\"algorithm\":\"codel\"", format!("\"algorithm\":{hostile}")),
        ("\"vector\":\"codel/drops\"", format!("\"vector\":{hostile}")),
        ("\"event\":3", format!("{hostile}:3")),
        ("\"event\":3", format!("\"event\":{hostile}")),
    ] {
        assert!(vector.contains(from));
        bench.file("v.jsonl", &vector.replacen(from, &to, 1));
        let args = ["conformance", "run", "--file", "v.jsonl", "--", quell, "conformance", "answer"];
        let ran = bench.run(&args);
        assert_harmless(&to, &ran);
        assert!(format!("{}{}", ran.out, ran.err).contains(r"\u{1b}[2J"), "{ran:?}");
    }
    for answer in [r"\033[2J\302\233", r#"{"skip":"\\u001b[2J\\u202e"}"#, r#"{"ready":true,"\\u001b[2J":1}"#]
    {
        let program = format!("printf '{answer}\\n'");
        let args = ["conformance", "run", "--vector", "codel/drops", "--", "sh", "-c", &program];
        let ran = bench.run(&args);
        assert_harmless(answer, &ran);
    }
}

/// What a command line shows on a terminal.
#[cfg(target_os = "linux")]
pub fn on_a_terminal(bench: &Bench, line: &str) -> String {
    let mut command = Command::new("script");
    command.args(["-qec", line, "/dev/null"]).current_dir(bench.path("")).stdin(std::process::Stdio::null());
    command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

/// Nor do wrong arguments bring their own.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_wrong_arguments_are_shown() {
    if Command::new("script").arg("--version").output().is_err() {
        return;
    }
    let bench = Bench::new();
    let quell = env!("CARGO_BIN_EXE_quell");
    assert!(on_a_terminal(&bench, &format!("{quell} rum")).contains("\u{1b}[32m"), "no colors");
    for wrong in ["[2J", "[35m", "[8m", "]0;title\u{7}"] {
        for args in
            ["a@", "run --a@", "run --seed @ a", "run --jobs 1@ a", "plot a --csv=b --csv=@", "run a --aqm @"]
        {
            let args = args.replace('@', &format!("$'\u{1b}{wrong}b'"));
            let out = on_a_terminal(&bench, &format!("exec bash -c \"exec {quell} {args}\""));
            assert!(!out.contains(&format!("\u{1b}{wrong}")) && !out.contains('\u{7}'), "{args:?}: {out:?}");
            assert!(out.contains("error"), "{args:?}: {out:?}");
        }
    }
}

/// On a terminal the colors are this program's alone.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_colors_stay_and_nothing_else() {
    if Command::new("script").arg("--version").output().is_err() {
        return;
    }
    let bench = Bench::new();
    let vector = bench.ok(&["conformance", "show", "codel/drops"]);
    bench.file("v.jsonl", &vector.replacen("codel/drops", "a\\u001b[2J\\u009b\\u001b[31mb", 1));
    let quell = env!("CARGO_BIN_EXE_quell");
    let out = on_a_terminal(
        &bench,
        &format!("{quell} conformance run --file v.jsonl -- {quell} conformance answer"),
    );
    assert!(out.contains("\u{1b}[1m"), "no colors: {out:?}");
    assert!(out.contains(r"\u{9b}\u{1b}[31mb"), "{out:?}");
    assert!(out.contains(r"\u{1b}[2J") && !out.contains("\u{1b}[2J") && !out.contains('\u{9b}'), "{out:?}");
}
