//! `quell characterize`: RFC 7928 for a stranger.

mod common;

use common::Bench;

#[test]
fn a_section_gives_verdicts_a_page_and_results() {
    let bench = Bench::new();
    let args =
        ["characterize", "codel", "codel,target=20ms", "--only", "5.1.1", "--seeds", "3", "--out", "found"];
    let said = bench.ok(&args);
    assert!(
        said.starts_with("RFC 7928: codel, codel target=20ms beside drop-tail and red; 10 Mbit/s, 100 ms\n"),
        "{said}"
    );
    // One flow: every algorithm that keeps the queue short pays with goodput, and it is said.
    let row = |name: &str| said.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("{said}"));
    assert!(row("codel  ").matches(" +").count() == 2 && row("codel  ").matches(" -").count() == 2, "{said}");
    let page = std::fs::read_to_string(bench.path("found/characterization.html")).unwrap();
    for part in
        ["RFC 7928", "codel target=20ms", "<svg", "target = 20 ms (default 5 ms)", "stable", "at the head"]
    {
        assert!(page.contains(part), "{part}");
    }
    let json = bench.json(&[&args[..], &["--format", "json", "--overwrite"]].concat());
    assert_eq!(json["sections"][0]["section"], "5.1.1");
    let cell = &json["sections"][0]["points"][0]["rows"][2]["cells"][1];
    assert_eq!((&cell["against_drop_tail"], &cell["value"]["n"]), (&"better".into(), &3.into()));
    assert_eq!(json["facts"][0]["algorithm"], "drop-tail");
}

#[test]
fn wrong_words_are_answered() {
    let bench = Bench::new();
    let wrong = |args: &[&str]| {
        let ran = bench.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
        ran.err
    };
    assert!(wrong(&["characterize", "codl"]).contains("did you mean \"codel\""));
    assert!(wrong(&["characterize", "codel", "codel"]).contains("codel is named twice"));
    assert!(wrong(&["characterize", "codel", "--only", "3"]).contains("there are: 4.4, 4.5"));
    assert!(wrong(&["characterize", "codel", "--baseline", "rod"]).contains("--baseline: \"rod\""));
    assert!(wrong(&["characterize"]).contains("<AQM>"));
    assert!(bench.ok(&["characterize", "--list"]).contains("Round-trip times that differ"));
}
