//! Every kind of wrong scenario gives one message that says where, what and why.

use quell_scenario::{Document, Plugins, Study};

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
        (
            "buffer = \"100 packets\"",
            "buffer = \"50 ms\"",
            "x.toml:7: dumbbell.buffer = \"50 ms\": not a queue size with its unit",
            "in that time, write \"50 ms * dumbbell.rate\"",
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
        (
            "shape = 1.2",
            "shape = \"x\"",
            "x.toml:19: flows[1].size.pareto.shape = \"x\"",
            "expected a number",
        ),
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
            "tcp = { recovry = \"sack\" }",
            "x.toml:14: flows[0].tcp.recovry: unknown key",
            "did you mean \"recovery\"?",
        ),
        (
            "count = 2",
            "tcp = { variant = \"sack\" }",
            "x.toml:14: flows[0].tcp.variant: unknown key",
            "did you mean \"recovery\"?",
        ),
        (
            "count = 2",
            "tcp = { congestion = \"dctcp\" }",
            "x.toml:14: flows[0].tcp.congestion = \"dctcp\": needs ecn = true, because it reacts to marks",
            "RFC 8257 section 3",
        ),
        (
            "count = 2",
            "tcp = { congestion = \"prague\", ecn = true }",
            "x.toml:14: flows[0].tcp.congestion = \"prague\": needs feedback = \"accecn\" or \"exact\"",
            "; and pacing = true",
        ),
        (
            "count = 2",
            "tcp = { congestion = \"prague\", ecn = true, feedback = \"exact\" }",
            "x.toml:14: flows[0].tcp.congestion = \"prague\": needs pacing = true",
            "RFC 9331 section 4.3",
        ),
        (
            "count = 2",
            "tcp.ecn = true\ntcp.congestion = \"bbr3\"",
            "x.toml:15: flows[0].tcp.congestion = \"bbr3\": needs recovery = \"rack\", because",
            "; and pacing = true, because it sends at its own rate (draft-ietf-ccwg-bbr section 5.6); and ecn = false",
        ),
        (
            "count = 2",
            "tcp = { congestion = \"Cubic\" }",
            "x.toml:14: flows[0].tcp.congestion = \"Cubic\": ",
            "did you mean \"cubic\"?",
        ),
        (
            "count = 2",
            "tcp = { pacing = true, pacing_burst = 4_000_000_000 }",
            "x.toml:14: flows[0].tcp.pacing_burst = 4000000000: must be from 1 to 1000000: the largest window",
            "nothing would be paced",
        ),
        (
            "count = 2",
            "tcp = { delayed_ack = \"40 ms\", ack_every = \"1000000 packets\" }",
            "x.toml:14: flows[0].tcp.ack_every = 1000000: must be from 1 to 1000: ",
            "only delayed_ack",
        ),
        (
            "count = 2",
            "tcp = { ledbat_target = \"200 ms\" }",
            "x.toml:14: flows[0].tcp.ledbat_target = 200 ms: must be longer than 0 s and at most 100 ms",
            "RFC 6817",
        ),
        ("count = 2", "hosts = 0", "x.toml:14: flows[0].hosts = 0: must be from 1 to 1000", "leave it out"),
        ("count = 2", "dscp = 64", "x.toml:14: flows[0].dscp = 64: must be at most 63", "RFC 2474"),
        (
            "count = 2",
            "dscp = 8\nprecedence = 1",
            "x.toml:14: flows[0].dscp = 8: cannot be combined with precedence",
            "its upper three bits",
        ),
        (
            "count = 2",
            "tcp = { recovery = \"sak\" }",
            "x.toml:14: flows[0].tcp.recovery = \"sak\": must be one of",
            "did you mean \"sack\"?",
        ),
        (
            "count = 2",
            "tcp = { recovery = \"cubic\" }",
            "x.toml:14: flows[0].tcp.recovery = \"cubic\": is a value of congestion, not of recovery: write congestion = \
             \"cubic\"; must be one of: tahoe, ",
            "",
        ),
        (
            "count = 2",
            "tcp = { congestion = \"rack\" }",
            "x.toml:14: flows[0].tcp.congestion = \"rack\": is a value of recovery",
            "write recovery = \"rack\"",
        ),
        (
            "count = 2",
            "tcp = { congestion = \"NewReno\" }",
            "x.toml:14: flows[0].tcp.congestion = \"NewReno\": is a value of recovery",
            "write recovery = \"newreno\"",
        ),
        (
            "count = 2",
            "tcp = { congestion = \"rack-tlp\" }",
            "x.toml:14: flows[0].tcp.congestion = \"rack-tlp\": is a value of recovery",
            "write recovery = \"rack\"",
        ),
        (
            "count = 2",
            "tcp = { recovery = \"bbr\" }",
            "x.toml:14: flows[0].tcp.recovery = \"bbr\": is a value of congestion: two versions are here",
            "must be one of: tahoe",
        ),
        (
            "count = 2",
            "tcp = { congestion = \"bbr\" }",
            "x.toml:14: flows[0].tcp.congestion = \"bbr\": two versions are here: \"bbr1\", which is mostly meant by \
             this name alone, and \"bbr3\"; must be one of: reno, ",
            "",
        ),
        (
            "count = 2",
            "tcp = { congestion = \"copa\" }",
            "x.toml:14: flows[0].tcp.congestion = \"copa\": not in this version; the closest in purpose is \"ledbat\"",
            "",
        ),
        (
            "count = 2",
            "tcp = { congestion = \"pcc\" }",
            "x.toml:14: flows[0].tcp.congestion = \"pcc\": not in this version; the closest in purpose is \"bbr3\"",
            "",
        ),
        // What is the name of a dialect, and where that is written.
        (
            "count = 2",
            "tcp = { congestion = \"quic\" }",
            "x.toml:14: flows[0].tcp.congestion = \"quic\": is a dialect, which gives every key of a sender its \
             default: write dialect = \"quic\" at the top of the file",
            "",
        ),
        (
            "count = 2",
            "tcp = { congestion = \"ns-2\" }",
            "x.toml:14: flows[0].tcp.congestion = \"ns-2\": is a dialect",
            "write dialect = \"ns-2.35\"",
        ),
        (
            "count = 2",
            "dialect = \"linux\"",
            "x.toml:14: flows[0].dialect: is a key of the file: write it at the top, above every table; known keys",
            "",
        ),
        (
            "count = 2",
            "tcp = { dialect = \"linux\" }",
            "x.toml:14: flows[0].tcp.dialect: is a key of the file: write it at the top, above every table",
            "",
        ),
        // What stands beside the table that it belongs in.
        (
            "count = 2",
            "congestion = \"cubic\"",
            "x.toml:14: flows[0].congestion: belongs in the group's tcp table: write tcp = { congestion = \"cubic\" }; \
             known keys: name, ",
            "",
        ),
        (
            "count = 2",
            "ecn = true",
            "x.toml:14: flows[0].ecn = true: does not apply to kind \"bulk\"; it belongs to \"udp\"",
            "; TCP's belongs in the group's tcp table: write tcp = { ecn = true }",
        ),
        (
            "count = 2",
            "tcp = { congestion = \"bbr2\" }",
            "x.toml:14: flows[0].tcp.congestion = \"bbr2\": not in this version",
            "the closest in purpose is \"bbr3\"",
        ),
        (
            "count = 2",
            "tcp = { recovery = \"rack-tlp\" }",
            "x.toml:14: flows[0].tcp.recovery",
            "did you mean \"rack\"?",
        ),
        (
            "count = 2",
            "tcp = { recovery = \"sack-prr\" }",
            "x.toml:14: flows[0].tcp.recovery",
            "did you mean \"prr\"?",
        ),
        (
            "count = 2",
            "tcp = { slow_start = \"hystartpp\" }",
            "x.toml:14: flows[0].tcp.slow_start",
            "\"hystart++\"?",
        ),
        (
            "count = 2",
            "tcp = { growth = \"exact\" }",
            "x.toml:14: flows[0].tcp.growth",
            "write feedback = \"exact\"",
        ),
        // What is wrong with an algorithm comes before what a sender needs of it.
        (
            "max_th = \"60 packets\"\n[[flows]]\nname = \"ftp\"",
            "maxth = \"60 packets\"\n[[flows]]\nname = \"ftp\"\ntcp = { congestion = \"dctcp\", ecn = true, feedback = \
             \"exact\" }",
            "x.toml:11: aqm[0].maxth: unknown key",
            "did you mean \"max_th\"?",
        ),
        ("count = 2", "tcp = { min_rto = \"90 s\" }", "x.toml:14: flows[0].tcp.", "rto"),
        (
            "\"red\"",
            "\"redd\"",
            "x.toml:9: aqm[0].algorithm = \"redd\": unknown algorithm",
            "did you mean \"red\"?",
        ),
        (
            "max_th = \"60 packets\"",
            "max_th = \"10 packets\"",
            "x.toml:11: aqm[0].max_th = ",
            "must not be below min_th",
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
        (
            "schema = 1",
            "schema = 1\ncase = [{ warmup = \"1 s\" }]",
            "x.toml:2: case: unknown key",
            "did you mean \"cases\"?",
        ),
        (
            "[dumbbell]\n",
            "[sweeps]\nx = [1]\n[dumbbell]\n",
            "x.toml:4: sweeps: unknown key",
            "did you mean \"sweep\"?",
        ),
        (
            "[dumbbell]\n",
            "[flow]\nx = 1\n[dumbbell]\n",
            "x.toml:4: flow: unknown key",
            ", flows, sweep, cases",
        ),
        (
            "rate = \"10 Mbit/s\"",
            "rate = \"10mbit\"",
            "x.toml:5: dumbbell.rate = \"10mbit\": not a rate with its unit",
            "; write \"10 Mbit/s\"",
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
        ("schema = 1\n", "", "x.toml:1: schema: is missing: write schema = 1", ""),
        ("duration = \"10 s\"\n", "", "x.toml:1: duration: is missing: write duration = \"100 s\"", ""),
        ("schema = 1", "schema = 1\nseeds = []", "x.toml:2: seeds = []: needs at least one seed", ""),
        (
            "schema = 1",
            "schema = 1\nseries_step = \"1 ns\"",
            "x.toml:2: series_step = \"1 ns\": makes more than",
            "",
        ),
        (
            "schema = 1",
            "schema = 1\nsteady_state = [\"6 s\", \"11 s\"]",
            "x.toml:2: steady_state = [\"6 s\", \"11 s\"]: must end by duration (10 s)",
            "",
        ),
        (
            "schema = 1",
            "schema = 1\nsteady_state = [\"6 s\", \"6.1 s\"]",
            "x.toml:2: steady_state = [\"6 s\", \"6.1 s\"]: must be a start and an end with at least 20 samples",
            "one every 20 ms (series_step)",
        ),
        (
            "schema = 1",
            "schema = 1\nsteady_state = [\"6 s\", \"5 s\"]",
            "x.toml:2: steady_state = [\"6 s\", \"5 s\"]: must be a start and an end",
            "",
        ),
        (
            "schema = 1",
            "schema = 1\nsteady_state = [\"6 s\"]",
            "x.toml:2: steady_state",
            "a list of 2 values, not 1",
        ),
        ("schema = 1", "schema = 1\nsteady_state = \"6 s..8 s\"", "x.toml:2: steady_state", "two times"),
        ("schema = 1", "schema = 1\nschema = 1", "x.toml:2: not valid TOML", "duplicate key"),
        (
            "name = \"web\"",
            "name = \"ftp\"",
            "x.toml:17: flows[1].name = \"ftp\": is the name of another group",
            "",
        ),
    ];
    for (from, to, begins, contains) in cases {
        let message = message(from, to);
        assert!(message.starts_with(begins), "{to:?} gave\n  {message}\nnot\n  {begins}");
        assert!(message.contains(contains), "{to:?} gave\n  {message}\nwithout {contains:?}");
    }
}

#[test]
fn tables_that_stand_for_a_value_have_one_key() {
    let web = |value: &str| message("size = { pareto = { shape = 1.2, mean = \"10 packets\" } }", value);
    for (message, begins, contains) in [
        (
            web("size = { exponential = \"10 packets\", exponentail = \"3\" }"),
            "x.toml:19: flows[1].size.exponentail: unknown key",
            "did you mean \"exponential\"?",
        ),
        (
            web("size = \"1 packet\"\nthink = { uniform = [\"1 s\", \"2 s\"], max = \"3 s\" }"),
            "x.toml:20: flows[1].think.max: unknown key; known keys: exponential, uniform, pareto",
            "",
        ),
        (
            message("count = 2", "start = { between = [\"0 s\", \"1 s\"], bogus = 1 }"),
            "x.toml:14: flows[0].start.bogus: unknown key",
            "known keys: between, linear, list",
        ),
        (
            message(
                "rtt = \"100 ms\"",
                "rtt = { grid = [\"30 ms\", \"1 s\"], uniform = [\"30 ms\", \"1 s\"] }",
            ),
            "x.toml:15: flows[0].rtt: has both grid and uniform",
            "give one of them",
        ),
        (
            message("rtt = \"100 ms\"", "rtt = { bogus = 1, grid = [\"30 ms\", \"1 s\"] }"),
            "x.toml:15: flows[0].rtt.bogus: unknown key",
            "",
        ),
        (message("rtt = \"100 ms\"", "rtt = {}"), "x.toml:15: flows[0].rtt: must have one of: uniform", ""),
        (
            message(
                "count = 2",
                "kind = \"udp\"\nrate = \"1 Mbit/s\"\npacket = { exponential = \"1 kB\", x = 1 }",
            ),
            "x.toml:16: flows[0].packet.x: unknown key",
            "",
        ),
        (
            message(
                "count = 2",
                "kind = \"udp\"\nrate = \"1 Mbit/s\"\non_off = { on = { exponential = \"1 s\", off = \"1 s\" }, off = \"1 s\" }",
            ),
            "x.toml:16: flows[0].on_off.on.off: unknown key",
            "",
        ),
    ] {
        assert!(message.starts_with(begins) && message.contains(contains), "{message}\nnot\n{begins}");
    }
}

#[test]
fn a_wrong_type_is_told_in_the_words_of_scenarios() {
    for (from, to, want) in [
        (
            "count = 2",
            "count = \"five\"",
            "flows[0].count = \"five\": must be a whole number from 1 to 200000",
        ),
        ("count = 2", "count = -5", "flows[0].count = -5: must be a whole number from 1 to 200000"),
        ("schema = 1", "schema = 1\nseeds = [-1]", "seeds[0] = -1: must be a whole number of at least 0"),
        ("schema = 1", "schema = 1\nseeds = \"x\"", "seeds = \"x\": must be a number of seeds from 1 to"),
        (
            "count = 2",
            "tcp = { initial_window = -3 }",
            "flows[0].tcp.initial_window = -3: must be a whole number from 1 to 1000000, such as 10 or \"10 packets\"",
        ),
        (
            "count = 2",
            "tcp = { pacing_burst = -5 }",
            "flows[0].tcp.pacing_burst = -5: must be a whole number from 1 to 1000000",
        ),
        (
            "count = 2",
            "tcp = { max_window = \"ten\" }",
            "flows[0].tcp.max_window = \"ten\": must be a whole number from 1 to 1000000, such as 10 or \"10 packets\"",
        ),
        (
            "count = 2",
            "tcp = { max_doublings = 1.5 }",
            "flows[0].tcp.max_doublings = 1.5: must be a whole number from 0 to 16",
        ),
        ("[[aqm]]", "loss = -0.1\n[[aqm]]", "dumbbell.loss = -0.1: must be a probability from 0 to below 1"),
        ("[[aqm]]", "loss = \"1 %\"\n[[aqm]]", "dumbbell.loss = \"1 %\": must be a number from 0 to below 1"),
        ("[[aqm]]", "ecn = 1\n[[aqm]]", "dumbbell.ecn = 1: expected true or false, not a whole number"),
        ("[[aqm]]", "[aqm]", "aqm: write [[aqm]]: a list of tables"),
        ("count = 2", "stop = \"none\"", "flows[0].stop = \"none\": is not a value here; leave out the key"),
        (
            "count = 2",
            "tcp = { delayed_ack = \"0 s\" }",
            "flows[0].tcp.delayed_ack = 0 s: must be longer than 0 s; \"none\" acknowledges each packet",
        ),
        ("count = 2", "tcp = { sack_delay = \"0 s\" }", "(RFC 5681 section 4.2); \"none\" switches it off"),
        ("schema = 1", "schema = 1\ntitle = 5", "title = 5: must be text in quotes"),
        ("schema = 1", "schema = 1\ndescription = true", "description = true: must be text in quotes"),
        ("max_th = \"60 packets\"", "label = 5", "aqm[0].label = 5: must be text in quotes"),
        ("schema = 1", "schema = 1\ntitle = \"a\\nb\"", "must be a single line without control characters"),
        ("schema = 1", "schema = 1\ndescription = \"\\u001b[31m\"", "must not contain control characters"),
        (
            "max_th = \"60 packets\"",
            "label = \"a\\u001bb\"",
            "must be a single line without control characters",
        ),
        ("count = 2", "class = \"a\\tb\"", "must be a single line without control characters"),
        ("name = \"web\"", "name = \"w\\neb\"", "must be a single line without control characters"),
    ] {
        let message = message(from, to);
        assert!(message.contains(want), "{to:?} gave\n  {message}\nnot\n  {want}");
    }
    let text = GOOD.replace("schema = 1", "schema = 1\ndescription = \"\"\"\ntwo\n\tlines\"\"\"");
    Study::parse(&text, "x.toml", &Plugins::new()).unwrap();
}

#[test]
fn what_could_have_no_effect_is_refused() {
    let linear = |step: &str| format!("rtt = {{ linear = {{ first = \"30 ms\", step = \"{step}\" }} }}");
    for (from, to, want) in [
        (
            "[[aqm]]",
            "changes = [{ at = \"10 s\", rate = \"1 Mbit/s\" }]\n[[aqm]]",
            "dumbbell.changes[0].at = \"10 s\": must be before the end (10 s)",
        ),
        (
            "count = 2",
            "rtt_changes = [{ at = \"11 s\", rtt = \"1 s\" }]",
            "flows[0].rtt_changes[0].at = \"11 s\": must be before the end",
        ),
        (
            "count = 2",
            "kind = \"udp\"\nrate = \"1 Mbit/s\"\nrate_changes = [{ at = \"10 s\", rate = \"2 Mbit/s\" }]",
            "flows[0].rate_changes[0].at = \"10 s\": must be before the end",
        ),
        (
            "rtt = \"100 ms\"",
            "rtt = \"10 s\"",
            "flows[0].rtt = \"10 s\": must be shorter than duration (10 s)",
        ),
        (
            "rtt = \"100 ms\"",
            &linear("20 s"),
            "flows[0].rtt: must be shorter than duration (10 s), but reaches 20.03 s",
        ),
        ("rtt = \"100 ms\"", &linear("1 h"), "flows[0].rtt: must be at most 2000 s, but reaches 3600.03 s"),
        (
            "warmup = \"2 s\"",
            "segments = \"10 ms\"",
            "segments = \"10 ms\": 1000 segments x 3 classes x 1 links make 3000 delay distributions",
        ),
        (
            "count = 2",
            "kind = \"udp\"\nrate = \"1 Mbit/s\"\ntcp = { recovery = \"reno\" }",
            "flows[0].tcp: does not apply to kind \"udp\"",
        ),
        ("\"red\"", "\"drop-tail\"", "aqm[0].max_th: unknown key; known keys: drop"),
        (
            "max_th = \"60 packets\"",
            "max_th = \"60 packets\"\nmax_p = 1e300",
            "aqm[0].max_p = 1e300: must lie in (0, 1]",
        ),
    ] {
        let message = message(from, to);
        assert!(message.contains(want), "{to:?} gave\n  {message}\nnot\n  {want}");
    }
}

#[test]
fn a_long_value_is_cut_and_one_out_of_range_is_called_that() {
    let digits = "7".repeat(200_000);
    for (from, to) in [
        ("rtt = \"100 ms\"", format!("rtt = \"{digits}\"")),
        ("rtt = \"100 ms\"", format!("rtt = \"{digits} ms\"")),
        ("count = 2", format!("count = {digits}")),
        ("count = 2", format!("a{digits} = 2")),
        ("\"red\"", format!("\"{digits}\"")),
    ] {
        let message = message(from, &to);
        assert!(message.contains("\u{2026} (200"), "{}", &message[..200]);
        assert!(message.len() < 1000, "{}", &message[..1000]);
    }
    let e = message("rtt = \"100 ms\"", "rtt = \"-5 ms\"");
    assert!(e.ends_with("flows[0].rtt = \"-5 ms\": out of range: it must not be negative"), "{e}");
    let e = message("rate = \"10 Mbit/s\"", "rate = \"1e30 Mbit/s\"");
    assert!(e.ends_with("dumbbell.rate = \"1e30 Mbit/s\": out of range: it is too large"), "{e}");
    let e = message("count = 2", "count = 99999999999999999999");
    assert!(e.contains("99999999999999999999 is out of range: whole numbers lie between"), "{e}");
}

#[test]
fn a_link_on_which_packets_take_no_time_is_refused() {
    // Acknowledgments of 40 B take 1 ns at 320 Gbit/s.
    let rule = "must be at most 320 Gbit/s: on a faster link, the scenario's smallest packet (40 B, an acknowledgment) \
                would take less than 1 ns, the shortest simulated time; lower the rate";
    let rate = "rate = \"10 Mbit/s\"";
    let e = message(rate, "rate = \"321 Gbit/s\"");
    assert!(e.ends_with(&format!(": dumbbell.rate = \"321 Gbit/s\": {rule}")), "{e}");
    for (more, field) in [
        ("access_rate = \"1000 Gbit/s\"", "dumbbell.access_rate"),
        ("reverse = { rate = \"1000 Gbit/s\" }", "dumbbell.reverse.rate"),
        ("changes = [{ at = \"5 s\", rate = \"1000 Gbit/s\" }]", "dumbbell.changes[0].rate"),
    ] {
        let e = message(rate, &format!("{rate}\n{more}"));
        assert!(e.contains(&format!("{field} = \"1000 Gbit/s\": {rule}")), "{e}");
    }
    let e = message("count = 2", "count = 2\nreceiver_rate = \"500 Gbit/s\"");
    assert!(e.contains(&format!("flows[0].receiver_rate = \"500 Gbit/s\": {rule}")), "{e}");
    // The access links of a fast link are as fast as can be.
    Study::parse(&GOOD.replace(rate, "rate = \"320 Gbit/s\""), "x.toml", &Plugins::new()).unwrap();
    // Without acknowledgments it is UDP that counts.
    let udp = |rate: &str, packet: &str| {
        let flows = format!("name = \"udp\"\nkind = \"udp\"\nrate = \"1 Gbit/s\"\npacket = {packet}\n");
        let text =
            GOOD.split("[[flows]]").next().unwrap().replace("10 Mbit/s", rate) + "[[flows]]\n" + &flows;
        Study::parse(&text, "x.toml", &Plugins::new()).map(drop).map_err(|e| e.to_string())
    };
    for (rate, packet, most) in [
        ("500 Gbit/s", "\"1000 B\"", None),
        ("500 Gbit/s", "\"50 B\"", Some("400 Gbit/s")),
        ("500 Gbit/s", "{ uniform = [\"40 B\", \"1500 B\"] }", Some("320 Gbit/s")),
        ("80 Gbit/s", "{ exponential = \"1000 B\" }", None),
        ("100 Gbit/s", "{ exponential = \"1000 B\" }", Some("80 Gbit/s")),
        ("500 Gbit/s", "{ pareto = { shape = 2, mean = \"1000 B\" } }", None),
        ("500 Gbit/s", "{ pareto = { shape = 2, mean = \"100 B\" } }", Some("400 Gbit/s")),
    ] {
        let found = udp(rate, packet);
        match most {
            None => assert_eq!(found, Ok(()), "{rate} {packet}"),
            Some(most) => {
                let e = found.unwrap_err();
                assert!(e.contains(&format!("must be at most {most}: ")), "{e}");
                assert!(
                    e.contains("UDP) would take less than 1 ns") && e.ends_with("or send larger packets"),
                    "{e}"
                );
            }
        }
    }
}

#[test]
fn a_round_trip_time_without_an_access_link_says_which_field_gives_one() {
    let e = message("buffer = \"100 packets\"", "buffer = \"100 packets\"\naccess_rate = \"none\"");
    let want = "flows[0].rtt = \"100 ms\": needs an access link to add the delay, but there is none: give \
                dumbbell.access_rate a rate";
    assert!(e.ends_with(want), "{e}");
    let e = message("count = 2", "count = 2\naccess_rate = \"none\"");
    assert!(e.ends_with("but there is none: give flows[0].access_rate a rate"), "{e}");
}

#[test]
fn names_that_others_have_are_said_not_to_be_here() {
    let e = message("\"red\"", "\"hhf\"");
    assert!(e.contains("aqm[0].algorithm = \"hhf\": not in this version; the closest in purpose is"), "{e}");
    assert!(e.contains("; known: drop-tail, red, "), "{e}");
    let e = message("\"red\"", "\"cubic\"");
    assert!(
        e.contains("aqm[0].algorithm = \"cubic\": a congestion control of senders, not an algorithm"),
        "{e}"
    );
    assert!(
        e.contains("(flows[0].tcp.recovery: tahoe, reno, newreno, sack, prr or rack); known: drop-tail, "),
        "{e}"
    );
    let e = message("\"red\"", "\"fifo\"");
    assert!(e.contains("= \"fifo\": unknown algorithm; did you mean \"drop-tail\"? Known: "), "{e}");
    let e = message("count = 2", "tcp = { recovery = \"bbr\" }");
    let want = "recovery = \"bbr\": is a value of congestion: two versions are here: \"bbr1\", ";
    assert!(e.contains(want), "{e}");
    let e = message("count = 2", "tcp = { recovery = \"westwood\" }");
    let want = "recovery = \"westwood\": not in this version; the closest in purpose is \"sack\"; must be one of: tahoe";
    assert!(e.contains(want), "{e}");
}

/// It may be what the experiment shows: it runs, with a note.
#[test]
fn senders_that_live_on_marks_may_meet_none_with_a_note() {
    let note = |aqm: &str, ecn: &str, tcp: &str| {
        let text = GOOD
            .replace("algorithm = \"red\"\nmin_th = \"20 packets\"\nmax_th = \"60 packets\"", aqm)
            .replace("buffer = \"100 packets\"", &format!("buffer = \"100 packets\"\n{ecn}"))
            .replace("count = 2", &format!("count = 2\ntcp = {tcp}"));
        let study = Study::parse(&text, "x.toml", &Plugins::new()).unwrap_or_else(|e| panic!("{aqm}: {e}"));
        let notes = study.notes();
        let said: Vec<_> = notes
            .into_iter()
            .filter(|n| n.contains("only losses reduce") || n.contains("is a drop"))
            .collect();
        assert!(said.len() <= 1, "{aqm}: {said:?}");
        said.into_iter().next()
    };
    let noted = |aqm: &str, tcp: &str| note(aqm, "ecn = true", tcp).is_some();
    let dctcp = "{ congestion = \"dctcp\", ecn = true, feedback = \"exact\" }";
    for name in ["drop-tail", "sfq", "policer", "docsis-pie", "step"] {
        assert!(noted(&format!("algorithm = \"{name}\""), dctcp), "{name}");
    }
    assert!(noted("algorithm = \"pie\"\nscheme = \"basic\"", dctcp));
    assert!(noted("algorithm = \"pie\"\nmark_ecnth = 0.0", dctcp));
    for aqm in ["algorithm = \"pie\"", "algorithm = \"choke\"", "algorithm = \"step\"\nmarks = \"ect\""] {
        assert!(!noted(aqm, dctcp), "{aqm}");
    }
    // ECT(1).
    let prague = "{ congestion = \"prague\", ecn = true, feedback = \"exact\", pacing = true }";
    assert!(!noted("algorithm = \"step\"", prague) && noted("algorithm = \"sfq\"", prague));
    let remarked = "{ congestion = \"dctcp\", ecn = true, feedback = \"exact\", codepoint = \"ect1\" }";
    assert!(!noted("algorithm = \"step\"", remarked) && noted("algorithm = \"sfq\"", remarked));
    // A queue that does not mark, whatever its algorithm could do.
    let said = note("algorithm = \"codel\"", "ecn = false", dctcp);
    assert!(said.is_some_and(|note| note.contains("ECN-capable, but a queue has ecn = false")));
    // A link with an algorithm of its own does what that one does.
    let graph = r#"schema = 1
duration = "10 s"
[[graph.links]]
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "1 ms"
buffer = "100 packets"
ecn = true
aqm = { algorithm = "drop-tail" }
[[aqm]]
algorithm = "codel"
[[flows]]
name = "ftp"
from = "a"
to = "b"
tcp = { congestion = "dctcp", ecn = true, feedback = "exact" }
"#;
    let notes = Study::parse(graph, "x.toml", &Plugins::new()).unwrap().notes();
    let want = "ftp: reacts to marks, but no queue on its path marks, so only losses reduce the window";
    assert!(notes.iter().any(|note| note == want), "{notes:?}");
}

/// What cannot run is left out where it cannot, and the others run there. What runs nowhere is a mistake.
#[test]
fn an_algorithm_that_refuses_a_point_leaves_the_others_there() {
    let text = |more: &str| format!("{GOOD}[[aqm]]\nalgorithm = \"policer\"\nrate = \"6 Mbit/s\"\n{more}");
    let study = |text: &str| Study::parse(text, "x.toml", &Plugins::new()).map_err(|e| e.to_string());
    let swept = study(&text("[sweep]\ndumbbell.rate = [\"5 Mbit/s\", \"10 Mbit/s\"]\n")).unwrap();
    assert!(swept.holes.is_empty());
    let labels = |i: usize| swept.points[i].scenario.aqm.iter().map(|a| a.label()).collect::<Vec<_>>();
    assert_eq!((labels(0), labels(1)), (vec!["red"], vec!["red", "policer"]));
    let [out] = &swept.points[0].left_out[..] else { panic!() };
    assert_eq!(out.label, "policer");
    assert!(out.reason.starts_with("aqm[1].rate = 6 Mbit/s: must be at most the link's"), "{}", out.reason);
    assert!(swept.points[1].left_out.is_empty());
    let note = format!("policer: left out at 1 of 2 points: dumbbell.rate = 5 Mbit/s: {}", out.reason);
    assert!(swept.notes().contains(&note), "{:?}", swept.notes());
    // Read again, the point is the same.
    assert_eq!(study(&swept.points[0].to_toml()).unwrap().points[0].scenario.aqm.len(), 1);
    // Nowhere, and without a sweep, it is a mistake of the file.
    let slow = text("[sweep]\ndumbbell.rate = [\"4 Mbit/s\", \"5 Mbit/s\"]\n");
    for text in [slow, text("").replace("rate = \"10 Mbit/s\"", "rate = \"5 Mbit/s\"")] {
        let e = study(&text).unwrap_err();
        assert!(e.contains("aqm[1].rate = 6 Mbit/s: must be at most the link's"), "{e}");
    }
    // Alone, it takes the point with it, as what is not an algorithm's does.
    let alone = text("[sweep]\ndumbbell.rate = [\"5 Mbit/s\", \"10 Mbit/s\"]\n")
        .replace("[[aqm]]\nalgorithm = \"red\"\nmin_th = \"20 packets\"\nmax_th = \"60 packets\"\n", "");
    let alone = study(&alone).unwrap();
    assert_eq!((alone.points.len(), alone.holes.len()), (1, 1));
    // A name that is none is a slip at every point.
    let e = study(&text("[sweep]\n\"aqm[1].algorithm\" = [\"policer\", \"polizer\"]\n")).unwrap_err();
    assert!(e.contains("unknown algorithm"), "{e}");
}

/// A buffer shorter than a target shows why an algorithm never drops.
#[test]
fn a_target_beyond_the_buffer_runs_with_a_note() {
    for (from, to, want) in [
        (
            "algorithm = \"red\"\nmin_th = \"20 packets\"\nmax_th = \"60 packets\"",
            "algorithm = \"codel\"\ntarget = \"90 ms\"",
            "codel: target = 90 ms: a full buffer (100 packets) takes 80.0 ms to drain at 10 Mbit/s",
        ),
        (
            "max_th = \"60 packets\"",
            "max_th = \"60 packets\"\nmin_backlog = 101",
            "red: min_backlog = 101: so many packets never wait in the buffer (100 packets)",
        ),
        ("max_th = \"60 packets\"", "max_th = \"20 packets\"", "red: max_th = 20 packets: a step: "),
    ] {
        let study = Study::parse(&GOOD.replace(from, to), "x.toml", &Plugins::new())
            .unwrap_or_else(|e| panic!("{e}"));
        let notes = study.notes();
        assert!(notes.iter().any(|note| note.starts_with(want)), "{notes:?}");
    }
}

#[test]
fn a_parameter_that_does_not_suit_a_link_names_the_link() {
    let text = |second: &str| {
        format!(
            r#"schema = 1
duration = "10 s"
[[graph.links]]
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "1 ms"
buffer = "100 packets"
[[graph.links]]
from = "b"
to = "c"
rate = "10 Mbit/s"
delay = "1 ms"
{second}
[[aqm]]
algorithm = "pi"
q_ref = "50 packets"
[[flows]]
name = "ftp"
from = "a"
to = "c"
"#
        )
    };
    let parse =
        |second: &str| Study::parse(&text(second), "x.toml", &Plugins::new()).map_err(|e| e.to_string());
    parse("").unwrap();
    let notes = parse("buffer = \"50 packets\"").unwrap().notes();
    assert!(
        notes.iter().any(|n| n.starts_with("pi at b-c: q_ref = 50 packets: no longer queue fits")),
        "{notes:?}"
    );
    let e = parse("buffer = \"50 packets\"\naqm = { algorithm = \"policer\", rate = \"20 Mbit/s\" }")
        .unwrap_err();
    assert!(e.contains("must be at most the link's") && e.contains("(link b-c)"), "{e}");
    let e = parse("reverse = { ecn = true }").unwrap_err();
    assert!(e.contains("graph.links[1].reverse.ecn = true: requires a buffer"), "{e}");
}

#[test]
fn a_sweep_repeats_nothing_and_is_counted_before_it_is_built() {
    let sweep = |text: &str| {
        let text = format!("{GOOD}[sweep]\n{text}\n");
        Study::parse(&text, "x.toml", &Plugins::new()).map(|s| s.points.len()).map_err(|e| e.to_string())
    };
    let e = sweep("flows.ftp.count = [1, 2, 1]").unwrap_err();
    assert!(e.starts_with("x.toml:22: sweep.flows.ftp.count: contains the value 1 twice"), "{e}");
    let counts: Vec<_> = (1..=9_000).map(|n| n.to_string()).collect();
    let counts = counts.join(", ");
    let e = sweep(&format!("flows.ftp.count = [{counts}]\nflows.web.count = [{counts}]")).unwrap_err();
    assert!(e.contains("makes 81000000 scenarios; at most 10000 are allowed"), "{e}");
}

#[test]
fn a_wrong_value_in_a_sweep_is_found_where_it_is_written() {
    let sweep = |text: &str| {
        let text = format!("{GOOD}[sweep]\n{text}\n");
        Study::parse(&text, "x.toml", &Plugins::new()).map(|s| s.points.len()).map_err(|e| e.to_string())
    };
    assert_eq!(sweep("\"dumbbell.rate\" = [\"1 Mbit/s\", \"2 Mbit/s\"]\nflows.ftp.count = [1, 2, 3]"), Ok(6));
    let e = sweep("\"dumbbell.rate\" = [\"1 MB/s\",\n \"2 MB/s\"]").unwrap_err();
    assert!(e.starts_with("x.toml:22: dumbbell.rate = \"1 MB/s\": not a rate"), "{e}");
    assert!(!e.contains("points"), "{e}");
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
    let e = Document::from_table(&table, "scenario").unwrap().study(&Plugins::new()).unwrap_err();
    assert_eq!(e.line, None);
    assert!(e.to_string().starts_with("scenario: flows[0].rtt = \"100\": not a time"), "{e}");
}

fn sweep(text: &str) -> Result<Study, String> {
    Study::parse(&format!("{GOOD}{text}\n"), "x.toml", &Plugins::new()).map_err(|e| e.to_string())
}

fn titles(text: &str) -> Vec<String> {
    sweep(text).unwrap_or_else(|e| panic!("{text}: {e}")).points.iter().map(|p| p.title()).collect()
}

#[test]
fn a_sweep_has_lists_ranges_and_linked_fields() {
    assert_eq!(
        titles("[sweep]\nflows.ftp.count = \"2..6:step:2\"\naqm.red.max_p = \"0.1..0.4:log:3\""),
        [
            "flows.ftp.count = 2, aqm.red.max_p = 0.1",
            "flows.ftp.count = 2, aqm.red.max_p = 0.2",
            "flows.ftp.count = 2, aqm.red.max_p = 0.4",
            "flows.ftp.count = 4, aqm.red.max_p = 0.1",
            "flows.ftp.count = 4, aqm.red.max_p = 0.2",
            "flows.ftp.count = 4, aqm.red.max_p = 0.4",
            "flows.ftp.count = 6, aqm.red.max_p = 0.1",
            "flows.ftp.count = 6, aqm.red.max_p = 0.2",
            "flows.ftp.count = 6, aqm.red.max_p = 0.4",
        ]
    );
    assert_eq!(
        titles(
            "[sweep]\nflows.web.count = [1, 2]\n[[sweep.linked]]\nflows.ftp.count = [3, 4]\n\
             dumbbell.rate = \"10..20 Mbit/s:lin:2\""
        ),
        [
            "flows.web.count = 1, flows.ftp.count = 3, dumbbell.rate = 10 Mbit/s",
            "flows.web.count = 1, flows.ftp.count = 4, dumbbell.rate = 20 Mbit/s",
            "flows.web.count = 2, flows.ftp.count = 3, dumbbell.rate = 10 Mbit/s",
            "flows.web.count = 2, flows.ftp.count = 4, dumbbell.rate = 20 Mbit/s",
        ]
    );
    for (text, want) in [
        (
            "[sweep]\nflows.ftp.count = \"1..2:lin\"",
            "x.toml:22: sweep.flows.ftp.count = \"1..2:lin\": is not a range: it must have the form A..B:log:N",
        ),
        (
            "[sweep]\nflows.ftp.count = 3",
            "x.toml:22: sweep.flows.ftp.count = 3: must be a list of values, or a range such as \"10..50:lin:5\"",
        ),
        ("[sweep]\nflows.ftp.count = []", "sweep.flows.ftp.count = []: must be a list of values"),
        ("[sweep]\nlinked = 3", "x.toml:22: sweep.linked = 3: must be a list of tables: [[sweep.linked]]"),
        (
            "[[sweep.linked]]\nflows.ftp.count = [1, 2]\nflows.web.count = [1, 2, 3]",
            "x.toml:23: sweep.linked[0].flows.web.count: has 3 values, but flows.ftp.count, which is linked with it, has 2: both must",
        ),
        (
            "[[sweep.linked]]\nflows.ftp.count = [1, 1]\nflows.web.count = [2, 2]",
            "contains the values 1, 2 twice",
        ),
        (
            "[sweep]\nflows.ftp.count = [1]\n\"flows[0].count\" = [2]",
            "x.toml:23: sweep.\"flows[0].count\": sweeps flows[0].count a second time",
        ),
    ] {
        let e = sweep(text).unwrap_err();
        assert!(e.contains(want), "{text}:\n  {e}\nnot\n  {want}");
    }
}

#[test]
fn a_point_that_is_not_valid_is_a_hole() {
    let study = sweep("[sweep]\naqm.red.max_th = [\"10 packets\", \"40 packets\"]\nflows.ftp.count = [1, 0]")
        .unwrap();
    assert_eq!(study.points.len(), 1);
    assert_eq!(study.points[0].title(), "aqm.red.max_th = 40 packets, flows.ftp.count = 1");
    let holes: Vec<String> = study.holes.iter().map(|h| format!("{}: {}", h.title(), h.reason)).collect();
    let starts = [
        "aqm.red.max_th = 10 packets, flows.ftp.count = 1: aqm[0].max_th = 10 packets: must not be below min_th",
        "aqm.red.max_th = 10 packets, flows.ftp.count = 0: flows[0].count = 0: must be at least 1",
        "aqm.red.max_th = 40 packets, flows.ftp.count = 0: flows[0].count = 0: must be at least 1",
    ];
    assert_eq!(holes.len(), starts.len());
    for (hole, start) in holes.iter().zip(starts) {
        assert!(hole.starts_with(start), "{hole}");
    }
    let lines = quell_scenario::Hole::lines(&study.holes, 2);
    assert_eq!(lines, [holes[0].clone(), "and 2 others".to_string()]);
    assert!(study.with_points(study.points.clone()).holes.is_empty());
    // What is wrong whatever the point is wrong with the file, and said as without a sweep.
    let text = format!(
        "{}[sweep]\nflows.ftp.count = [1, 2]\n",
        GOOD.replace("warmup = \"2 s\"", "warmup = \"20 s\"")
    );
    let e = Study::parse(&text, "x.toml", &Plugins::new()).unwrap_err().to_string();
    assert_eq!(e, "x.toml:3: warmup = \"20 s\": must be shorter than duration (10 s)");
    let e = sweep("[sweep]\nflows.ftpp.count = [1, 2]").unwrap_err();
    assert!(e.contains("did you mean \"ftp\"?"), "{e}");
}

#[test]
fn thresholds_follow_a_buffer_that_varies() {
    let text = GOOD
        .replace("\"20 packets\"", "\"0.1 * dumbbell.buffer\"")
        .replace("\"60 packets\"", "\"3 * aqm.red.min_th\"");
    let text = format!(
        "{text}[sweep]\ndumbbell.buffer = [\"100 packets\", \"200 packets\"]\naqm.red.max_p = [0.1, \"1 packet / aqm.red.min_th\"]\n"
    );
    let study = Study::parse(&text, "x.toml", &Plugins::new()).unwrap_or_else(|e| panic!("{e}"));
    let found: Vec<_> = study
        .points
        .iter()
        .map(|p| {
            let red = &p.scenario.aqm[0].parameters;
            assert!(p.to_toml().contains(&format!("\nmin_th = {}\n", red["min_th"])));
            (
                red["min_th"].as_str().unwrap().to_string(),
                red["max_th"].as_str().unwrap().to_string(),
                p.title(),
            )
        })
        .collect();
    let of = |a: &str, b: &str, title: &str| (a.to_string(), b.to_string(), title.to_string());
    assert_eq!(
        found,
        [
            of("10 packets", "30 packets", "dumbbell.buffer = 100 packets, aqm.red.max_p = 0.1"),
            of("20 packets", "60 packets", "dumbbell.buffer = 200 packets, aqm.red.max_p = 0.1"),
            of("20 packets", "60 packets", "dumbbell.buffer = 200 packets, aqm.red.max_p = 0.05"),
        ]
    );
    // The value that results is one of the others: that point is run once.
    let same = "dumbbell.buffer = 100 packets, aqm.red.max_p = 0.1";
    let left_out: Vec<_> = study.holes.iter().map(|hole| (hole.title(), hole.reason.clone())).collect();
    assert_eq!(left_out, [(same.to_string(), format!("is the same as {same}"))]);
    for (to, want) in [
        (
            "count = \"flows.web.rtt / 40 ms\"",
            "x.toml:14: flows[0].count = 2.5: must be a whole number from 1 to 200000 (the value of \"flows.web.rtt / 40 ms\")",
        ),
        ("count = \"0 * 2\"", "x.toml:14: flows[0].count = 0: must be at least 1 (the value of \"0 * 2\")"),
        (
            "count = \"2 * dumbbell.delay\"",
            "x.toml:14: flows[0].count = \"20 ms\": must be a whole number from 1 to 200000 (the value of \"2 * dumbbell.delay\")",
        ),
        ("count = \"2 * flows.web.count\"", "x.toml"),
        ("count = \"2 * (3\"", "x.toml:14: flows[0].count = \"2 * (3\": not an expression: lacks a \")\""),
        (
            "count = \"flows.ftp.count\"",
            "x.toml:14: flows[0].count = \"flows.ftp.count\": depends on itself: flows[0].count -> flows[0].count",
        ),
    ] {
        if to.contains("web.count") {
            // A default.
            let text = GOOD.replace("count = 2", to);
            assert_eq!(
                Study::parse(&text, "x.toml", &Plugins::new()).unwrap().points[0].scenario.flows[0].count,
                Some(2)
            );
            continue;
        }
        let message = message("count = 2", to);
        assert_eq!(message, want, "{to}");
    }
}

#[test]
fn sweeps_from_elsewhere_replace_those_of_the_same_field() {
    let text = format!(
        "{GOOD}[sweep]\nflows.ftp.count = [1, 2]\n[[sweep.linked]]\nflows.web.count = [1, 2]\ndumbbell.delay = [\"5 ms\", \"6 ms\"]\n"
    );
    let mut document = Document::parse(&text, "x.toml").unwrap();
    document.sweep_text("flows[0].count = 7, 8").unwrap();
    document.sweep_text("flows.web.count=3; dumbbell.rate=\"1 Mbit/s\"").unwrap();
    let study = document.study(&Plugins::new()).unwrap_or_else(|e| panic!("{e}"));
    let titles: Vec<String> = study.points.iter().map(|p| p.title()).collect();
    assert_eq!(titles.len(), 4);
    assert_eq!(
        titles[3],
        "dumbbell.delay = 6 ms, flows[0].count = 8, flows.web.count = 3, dumbbell.rate = 1 Mbit/s"
    );
    for (text, want) in [
        ("flows.ftp.count", "must have the form FIELD=VALUES"),
        ("flows.ftp.count=", "must have the form FIELD=VALUES"),
        ("flows.ftp.count=1,,2", "must have the form FIELD=VALUES"),
        (
            "flows.fpt.count=1,2",
            "\"flows.fpt.count\" is not a field: nothing there is called \"fpt\"; did you mean \"ftp\"?",
        ),
        (
            "flows.ftp.count=1..2:lin:x",
            "flows.ftp.count\" = \"1..2:lin:x\": has x values: must be a whole number from 2 to 10000",
        ),
        (
            "flows.ftp.count=1,2; flows.web.count=1",
            "has 1 value, but flows.ftp.count, which is linked with it, has 2",
        ),
    ] {
        let e = document.clone().sweep_text(text).unwrap_err().to_string();
        assert!(e.contains(want), "{text}: {e}");
    }
    // Commas and semicolons within quotes and brackets belong to the values.
    let mut document = Document::parse(GOOD, "x.toml").unwrap();
    document
        .sweep_text("flows.ftp.rtt=max(50 ms, 3 * dumbbell.delay),{ uniform = [\"40 ms\", \"80 ms\"] }")
        .unwrap();
    document.sweep_text("title=\"a, b; c\",d").unwrap();
    let study = document.study(&Plugins::new()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(study.points[0].title(), "flows.ftp.rtt = 50 ms, title = a, b; c");
    assert_eq!(study.points.len(), 4);
}

#[test]
fn a_list_in_place_of_a_value_is_told_of_sweeps() {
    let hint = "; to run each of several values, sweep over them: --sweep FIELD=A,B, or [sweep] in the file";
    for (from, to, want) in [
        (
            "max_th = \"60 packets\"",
            "max_p = [0.1, 0.2]",
            "aqm[0].max_p = [0.1, 0.2]: expected a number, not a list",
        ),
        (
            "max_th = \"60 packets\"",
            "max_p = \"0.02..0.2:log:5\"",
            "aqm[0].max_p = \"0.02..0.2:log:5\": expected a number, not a string",
        ),
        ("count = 2", "count = [1, 2]", "flows[0].count = [1, 2]: must be a whole number from 1 to 200000"),
        ("rate = \"10 Mbit/s\"", "rate = [\"1 Mbit/s\"]", "dumbbell.rate = [\"1 Mbit/s\"]: expected"),
        (
            "rate = \"10 Mbit/s\"",
            "rate = \"1..2 Mbit/s:lin:3\"",
            "dumbbell.rate = \"1..2 Mbit/s:lin:3\": not a rate",
        ),
    ] {
        let message = message(from, to);
        assert!(message.contains(want) && message.ends_with(hint), "{to} gave\n  {message}\nnot\n  {want}");
    }
}

#[test]
fn an_algorithm_under_another_key_is_found() {
    for (from, to, want) in [
        (
            "algorithm = \"red\"",
            "algorthm = \"red\"",
            "x.toml:9: aqm[0].algorthm: unknown key; did you mean \"algorithm\"? Known keys: algorithm, label",
        ),
        (
            "algorithm = \"red\"",
            "name = \"red\"",
            "x.toml:8: aqm[0]: lacks the key \"algorithm\": write algorithm = \"red\" in place of name = \"red\"",
        ),
        ("algorithm = \"red\"\n", "", "x.toml:8: aqm[0].algorithm: is missing"),
        (
            "[[aqm]]",
            "[aqm]",
            "x.toml:8: aqm: write [[aqm]]: a list of tables; or aqm = \"all\" for the whole catalog",
        ),
    ] {
        assert_eq!(message(from, to), want);
    }
}

#[test]
fn a_title_has_its_limit() {
    let title = |n: usize| GOOD.replace("schema = 1", &format!("schema = 1\ntitle = \"{}\"", "x".repeat(n)));
    Study::parse(&title(200), "x.toml", &Plugins::new()).unwrap();
    let e = Study::parse(&title(201), "x.toml", &Plugins::new()).unwrap_err().to_string();
    assert!(e.ends_with("has 201 characters: must have at most 200; put longer text in description"), "{e}");
}

/// A slip in a list is not a combination that breaks a rule: it is refused, and nothing is left out.
#[test]
fn a_swept_value_that_is_none_of_its_field_is_refused() {
    let swept = |texts: &[&str]| {
        let mut document = Document::parse(GOOD, "x.toml").unwrap();
        texts.iter().for_each(|text| document.sweep_text(text).unwrap());
        document.study(&Plugins::new()).map_err(|e| e.to_string())
    };
    for (texts, want) in [
        (
            &["flows.ftp.tcp.congestion=cubic,cubik"][..],
            "flows[0].tcp.congestion = \"cubik\": must be one of",
        ),
        (
            &["flows.ftp.count=1,2", "flows.ftp.tcp.congestion=cubic,vegas"],
            "flows[0].tcp.congestion = \"vegas\": not in this version",
        ),
        (
            &["dumbbell.buffer=40,80 packets,100 packets"],
            "dumbbell.buffer = 40: not a queue size with its unit",
        ),
        (&["aqm.red.min_th=10,20 packets,30 packets"], "aqm[0].min_th = 10: "),
        (&["aqm.red.max_p=0.1,high"], "aqm[0].max_p = \"high\": expected a number"),
        (&["aqm[0].algorithm=red,redd"], "aqm[0].algorithm = \"redd\": unknown algorithm"),
        (
            &["flows.ftp.count=1..20:log:4"],
            "flows[0].count = 2.71442: must be a whole number from 1 to 200000; in whole numbers: flows.ftp.count=1,3,7,20",
        ),
    ] {
        let e = swept(texts).map(|s| s.holes).unwrap_err();
        assert!(e.contains(want) && !e.contains("points"), "{texts:?}:\n  {e}\nnot\n  {want}");
    }
    for count in ["2 * dumbbell.bufer", "dumbbell.bufer", "2 * (3", "2 * 3 ms + 1 packet"] {
        let e = swept(&[&format!("flows.ftp.count=2,{count}")]).map(|s| s.holes).unwrap_err();
        assert!(e.contains(&format!("flows[0].count = \"{count}\": ")), "{e}");
    }
    // A unit that the last value alone has is that of all, as in ranges.
    let study = swept(&["dumbbell.buffer=80,200 packets"]).unwrap();
    let titles: Vec<String> = study.points.iter().map(|p| p.title()).collect();
    assert_eq!(titles, ["dumbbell.buffer = 80 packets", "dumbbell.buffer = 200 packets"]);
    // What is computed may suit at one point and not at the next, and what one algorithm takes another may not.
    let study =
        swept(&["dumbbell.buffer=80,100 packets", "flows.ftp.count=dumbbell.buffer / 80 packets"]).unwrap();
    assert_eq!((study.points.len(), study.holes.len()), (1, 1));
    let study = swept(&["flows.web.count=1,2", "flows.ftp.count=1,2 / (flows.web.count - 1)"])
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((study.points.len(), study.holes.len()), (3, 1));
    let text = GOOD.replace("min_th = \"20 packets\"\nmax_th = \"60 packets\"\n", "");
    let text =
        format!("{text}[sweep]\naqm[0].algorithm = [\"red\", \"codel\"]\naqm[0].target = [\"5 ms\"]\n");
    let study = Study::parse(
        &text.replace("aqm[0]", "\"aqm[0]").replace(" = [", "\" = ["),
        "x.toml",
        &Plugins::new(),
    );
    let study = study.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((study.points.len(), study.holes.len()), (1, 1));
}

/// The value of a misspelled key is not taken for an expression first.
#[test]
fn a_misspelled_key_is_named_whatever_its_value() {
    let mut document = quell_scenario::Document::parse(GOOD, "x.toml").unwrap();
    document.set_text("dialet", "ns-2.35").unwrap();
    let error = document.study(&Plugins::new()).unwrap_err().to_string();
    assert!(error.contains("dialet: unknown key; did you mean \"dialect\"?"), "{error}");
}
