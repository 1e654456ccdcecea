//! `quell new`.

use crate::common::Bench;

#[test]
fn new_writes_a_scenario_that_check_accepts_and_run_runs() {
    let bench = Bench::new();
    bench.ok(&[
        "new",
        "rrul",
        "--link",
        "home",
        "--aqm",
        "fq-codel",
        "--duration",
        "1 s",
        "--out",
        "my.toml",
    ]);
    let text = std::fs::read_to_string(bench.path("my.toml")).unwrap();
    assert!(text.starts_with("# RRUL over home cable") && text.contains("not verified"), "{text}");
    assert!(bench.ok(&["scenario", "check", "my.toml"]).contains("my.toml: ok"));
    let out = bench.ok(&["run", "my.toml", "--seeds", "1", "--no-report", "--metric", "goodput_bps[down]"]);
    assert!(out.contains("fq-codel"), "{out}");
    // What stands there is not replaced unasked.
    let again = bench.run(&["new", "web", "--link", "lte", "--out", "my.toml"]);
    assert_eq!(again.code, 2, "{}", again.err);
    assert!(
        again.err.contains("my.toml already exists; use --overwrite to replace it, or name another file"),
        "{}",
        again.err
    );
    assert_eq!(std::fs::read_to_string(bench.path("my.toml")).unwrap(), text);
    bench.ok(&["new", "web", "--link", "lte", "--out", "my.toml", "--overwrite"]);
    assert!(std::fs::read_to_string(bench.path("my.toml")).unwrap().starts_with("# web over LTE"));
}

#[test]
fn new_alone_lists_all_and_a_wrong_name_is_told_what_was_meant() {
    let bench = Bench::new();
    let list = bench.ok(&["new"]);
    for name in ["rrul", "incast", "cable", "satellite", "port-10g"] {
        assert!(list.lines().any(|line| line.starts_with(&format!("  {name} "))), "{name}: {list}");
    }
    assert!(list.contains("  cable (home, home-cable, docsis) "), "{list}");
    let said = |args: &[&str]| {
        let ran = bench.run(args);
        assert_eq!(ran.code, 2, "{}", ran.err);
        ran.err
    };
    assert!(said(&["new", "rrull", "--link", "home"]).contains("did you mean \"rrul\"?"));
    assert!(said(&["new", "rrul"]).contains("needs a link: write --link NAME"));
    assert!(said(&["new", "rrul", "--link", "hom"]).contains("did you mean \"home\"?"));
}

#[test]
fn a_half_of_a_scenario_says_what_writes_a_whole_one() {
    let bench = Bench::new();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    for (file, command) in
        [("links/lte", "quell new LOAD --link lte"), ("loads/web", "quell new web --link LINK")]
    {
        let ran = bench.run(&["scenario", "check", &format!("{root}/{file}.toml")]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains(command), "{}", ran.err);
    }
}
