//! Every kind of wrong scenario gives one message that says where, what and why.

use quell_lab::{Plugins, Study};

const GOOD: &str = r#"schema = 1
duration = "10 s"
warmup = "2 s"
[dumbbell]
rate = "10 Mbit/s"
delay = "10 ms"
buffer = "100 packets"
[[aqm]]
algorithm = "red"
min_th = "20 packets"
max_th = "60 packets"
[[flows]]
name = "ftp"
count = 2
rtt = "100 ms"
[[flows]]
name = "web"
kind = "transfers"
size = { pareto = { shape = 1.2, mean = "10 packets" } }
rtt = "100 ms"
"#;

/// The message for the good scenario with one piece of text replaced.
fn message(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from:?} is not in the scenario");
    let text = GOOD.replacen(from, to, 1);
    match Study::parse(&text, "x.toml", &Plugins::new()) {
        Ok(_) => panic!("{to:?} was accepted"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn the_scenario_itself_is_good() {
    Study::parse(GOOD, "x.toml", &Plugins::new()).unwrap();
}

#[test]
fn errors_name_file_line_field_value_and_rule() {
    // (replaced, by, what the message must begin with, what it must contain)
    let cases = [
        (
            "rtt = \"100 ms\"",
            "rtt = \"100\"",
            "x.toml:15: flows[0].rtt = \"100\": not a time with its unit",
            "\"100 ms\"",
        ),
        ("rtt = \"100 ms\"", "rtt = 100", "x.toml:15: flows[0].rtt = 100: not a time with its unit", "ms"),
        (
            "rtt = \"100 ms\"",
            "rtts = \"100 ms\"",
            "x.toml:15: flows[0].rtts: unknown key",
            "did you mean \"rtt\"?",
        ),
        (
            "rtt = \"100 ms\"",
            "rtt = \"10 ms\"",
            "x.toml:15: flows[0].rtt = \"10 ms\": is less than the 20 ms",
            "routers",
        ),
        (
            "rtt = \"100 ms\"",
            "rtt = { unifrm = [\"1 s\", \"2 s\"] }",
            "x.toml:15: flows[0].rtt",
            "did you mean \"uniform\"?",
        ),
        ("shape = 1.2", "shape = \"x\"", "x.toml:19: flows[1].size.pareto.shape = \"x\"", "expected f64"),
        ("shape = 1.2", "shape = 0.9", "x.toml:19: flows[1].size.pareto.shape = 0.9: must exceed 1", "mean"),
        (
            "warmup = \"2 s\"",
            "warmup = \"10 s\"",
            "x.toml:3: warmup = \"10 s\": must be shorter than duration (10 s)",
            "",
        ),
        ("count = 2", "count = 0", "x.toml:14: flows[0].count = 0: must be at least 1", ""),
        ("count = 2", "count = 3000000000", "x.toml:14: flows[0].count = 3000000000: makes about", "at most"),
        ("count = 2", "stop = \"0 s\"", "x.toml:14: flows[0].stop = \"0 s\": must be later than start", ""),
        (
            "count = 2",
            "size = \"3 packets\"",
            "x.toml:14: flows[0].size = \"3 packets\": does not apply to kind \"bulk\"",
            "transfers",
        ),
        (
            "count = 2",
            "tcp = { varient = \"sack\" }",
            "x.toml:14: flows[0].tcp.varient: unknown key",
            "did you mean \"variant\"?",
        ),
        (
            "count = 2",
            "tcp = { variant = \"sak\" }",
            "x.toml:14: flows[0].tcp.variant = \"sak\": must be one of",
            "did you mean \"sack\"?",
        ),
        ("count = 2", "tcp = { min_rto = \"90 s\" }", "x.toml:14: flows[0].tcp.", "rto"),
        (
            "\"red\"",
            "\"redd\"",
            "x.toml:9: aqm[0].algorithm = \"redd\": is no algorithm",
            "did you mean \"red\"?",
        ),
        (
            "max_th = \"60 packets\"",
            "max_th = \"10 packets\"",
            "x.toml:11: aqm[0].max_th = ",
            "must exceed min_th",
        ),
        (
            "max_th = \"60 packets\"",
            "maxth = \"60 packets\"",
            "x.toml:11: aqm[0].maxth: unknown key",
            "did you mean \"max_th\"?",
        ),
        (
            "max_th = \"60 packets\"",
            "weight = \"fast\"",
            "x.toml:11: aqm[0].weight = \"fast\": expected a number",
            "link-rate",
        ),
        ("[dumbbell]\n", "[dumbell]\n", "x.toml:4: dumbell: unknown key", "did you mean \"dumbbell\"?"),
        ("buffer = \"100 packets\"\n", "", "x.toml:4: dumbbell.buffer: is missing", ""),
        (
            "buffer = \"100 packets\"",
            "buffer = \"0 packets\"",
            "x.toml:7: dumbbell.buffer = \"0 packets\": must lie between 1 packet",
            "",
        ),
        (
            "duration = \"10 s\"",
            "duration = \"10 parsec\"",
            "x.toml:2: duration = \"10 parsec\": not a time",
            "",
        ),
        ("schema = 1", "schema = 2", "x.toml:1: schema = 2: must be 1", ""),
        ("schema = 1", "schema = 1\nseeds = []", "x.toml:2: seeds = []: at least one seed", ""),
        (
            "schema = 1",
            "schema = 1\nseries_step = \"1 ns\"",
            "x.toml:2: series_step = \"1 ns\": makes more than",
            "",
        ),
        ("schema = 1", "schema = 1\nschema = 1", "x.toml:2: not valid TOML", "duplicate key"),
        ("name = \"web\"", "name = \"ftp\"", "x.toml:17: flows[1].name = \"ftp\": is taken", ""),
    ];
    for (from, to, begins, contains) in cases {
        let message = message(from, to);
        assert!(message.starts_with(begins), "{to:?} gave\n  {message}\nnot\n  {begins}");
        assert!(message.contains(contains), "{to:?} gave\n  {message}\nwithout {contains:?}");
    }
}

#[test]
fn a_wrong_value_in_a_sweep_is_found_where_it_is_written() {
    let sweep = |text: &str| {
        let text = format!("{GOOD}[sweep]\n{text}\n");
        Study::parse(&text, "x.toml", &Plugins::new()).map(|s| s.points.len()).map_err(|e| e.to_string())
    };
    assert_eq!(sweep("\"dumbbell.rate\" = [\"1 Mbit/s\", \"2 Mbit/s\"]\nflows.ftp.count = [1, 2, 3]"), Ok(6));
    let e = sweep("\"dumbbell.rate\" = [\"1 Mbit/s\",\n \"2 MB/s\"]").unwrap_err();
    assert!(e.starts_with("x.toml:23: dumbbell.rate = \"2 MB/s\": not a rate"), "{e}");
    let e = sweep("\"flows.ftpp.count\" = [1]").unwrap_err();
    assert!(
        e.starts_with("x.toml:22: sweep.\"flows.ftpp.count\"") && e.contains("did you mean \"ftp\"?"),
        "{e}"
    );
    let e = sweep("\"dumbbell.rate\" = \"1 Mbit/s\"").unwrap_err();
    assert!(e.contains("must be a list of values"), "{e}");
}

#[test]
fn a_scenario_from_a_table_has_no_lines_but_all_the_rest() {
    let table: toml::Table = toml::from_str(&GOOD.replace("100 ms", "100")).unwrap();
    let e = quell_lab::Document::from_table(&table, "scenario").study(&Plugins::new()).unwrap_err();
    assert_eq!(e.line, None);
    assert!(e.to_string().starts_with("scenario: flows[0].rtt = \"100\": not a time"), "{e}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let e = Study::read("no/such/file.toml", &Plugins::new()).unwrap_err().to_string();
    assert!(e.starts_with("no/such/file.toml: cannot read:"), "{e}");
}
