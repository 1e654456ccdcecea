//! `quell characterize`: RFC 7928 for a stranger.

use crate::common::Bench;

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
    for part in ["RFC 7928", "codel target=20ms", "<svg", "target = 20 ms (default 5 ms)", "at the head"] {
        assert!(page.contains(part), "{part}");
    }
    let json = bench.json(&[&args[..], &["--format", "json", "--overwrite"]].concat());
    assert_eq!(json["sections"][0]["section"], "5.1.1");
    let cell = &json["sections"][0]["points"][0]["rows"][2]["cells"][1];
    assert_eq!((&cell["against_drop_tail"], &cell["value"]["n"]), (&"better".into(), &3.into()));
    assert_eq!(json["facts"][0]["algorithm"], "drop-tail");
}

/// The output before anything is run: the usage, and the list of scenarios.
#[test]
fn help_and_the_list_say_what_is_run() {
    let bench = Bench::new();
    let help = bench.ok(&["characterize", "--help"]);
    for part in
        ["Usage: quell characterize", "--baseline", "--only", "RFC 7928", "quell characterize codel pie"]
    {
        assert!(help.contains(part), "{part}: {help}");
    }
    let list = bench.json(&["characterize", "--list", "--format", "json"]);
    let sections: Vec<&str> =
        list["scenarios"].as_array().unwrap().iter().map(|s| s["section"].as_str().unwrap()).collect();
    // In the order of the RFC, from section 4.4 to 10.2.
    assert_eq!((sections.first(), sections.last()), (Some(&"4.4"), Some(&"10.2")));
    let few = bench.json(&["characterize", "--list", "--only", "5.3,8.2", "--format", "json"]);
    let few = few["scenarios"].as_array().unwrap();
    assert!(!few.is_empty() && few.len() < sections.len());
    assert!(
        few.iter().all(|s| ["5.3", "8.2"].iter().any(|of| s["section"].as_str().unwrap().starts_with(of)))
    );
    assert_eq!(bench.listing(), ["small.toml"]);
}

/// Results that are kept are not run again: in another folder the same command finds them, and more seeds add only themselves.
#[test]
fn a_second_run_goes_on_where_the_first_ended() {
    let bench = Bench::new();
    let run = |seeds: &str, out: &str| {
        let args = ["characterize", "codel", "--only", "5.1.1", "--rate", "2Mbit/s", "--seeds", seeds];
        bench.json(&[&args[..], &["--quiet", "--out", out, "--format", "json"]].concat())
    };
    let kept = || bench.json(&["cache", "show", "--format", "json"])["replications"].as_u64().unwrap();
    let first = run("2", "first");
    let after_first = kept();
    assert!(after_first > 0);
    let again = run("2", "again");
    assert_eq!(kept(), after_first);
    assert_eq!(first["digest"], again["digest"]);
    let more = run("3", "more");
    assert_eq!(kept(), after_first / 2 * 3);
    assert_eq!(more["seeds"], 3);
    // A folder with results is replaced only if that is said.
    let refused = bench.run(&["characterize", "codel", "--only", "5.1.1", "--out", "first"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("--overwrite"), "{}", refused.err);
}

/// The Markdown has the tables of the page.
#[test]
fn the_tables_go_into_a_document_too() {
    let bench = Bench::new();
    let docs = ["--docs", "found.md", "--out", "found", "--quiet"];
    bench.ok(&[&["characterize", "pie", "--only", "5.1.1", "--seeds", "2", "--rate", "2Mbit/s"], &docs[..]]
        .concat());
    let page = std::fs::read_to_string(bench.path("found.md")).unwrap();
    for part in ["5.1.1", "| pie", "drop-tail", "ms"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let nowhere = bench.run(&["characterize", "pie", "--only", "5.1.1", "--docs", "nowhere/found.md"]);
    assert_ne!(nowhere.code, 0, "{nowhere:?}");
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
    assert!(wrong(&["characterize", "codel", "--only", "3"]).contains("must be one of: 4.4, 4.5"));
    assert!(wrong(&["characterize", "codel", "--baseline", "rod"]).contains("--baseline: \"rod\""));
    assert!(wrong(&["characterize"]).contains("<AQM>"));
    assert!(bench.ok(&["characterize", "--list"]).contains("Round-trip times that differ"));
}
