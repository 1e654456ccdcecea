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
            "x.toml:9: aqm[0].algorithm = \"redd\": unknown algorithm",
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
            "x.toml:2: steady_state = [\"6 s\", \"6.1 s\"]: must be a beginning and an end with at least 20 samples",
            "one each 20 ms (series_step)",
        ),
        (
            "schema = 1",
            "schema = 1\nsteady_state = [\"6 s\", \"5 s\"]",
            "x.toml:2: steady_state = [\"6 s\", \"5 s\"]: must be a beginning and an end",
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
        ("name = \"web\"", "name = \"ftp\"", "x.toml:17: flows[1].name = \"ftp\": is taken", ""),
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
        ("[[aqm]]", "loss = \"1 %\"\n[[aqm]]", "dumbbell.loss = \"1 %\": must be a number from 0 to 1"),
        ("[[aqm]]", "ecn = 1\n[[aqm]]", "dumbbell.ecn = 1: expected true or false, not a whole number"),
        ("[[aqm]]", "[aqm]", "aqm: write [[aqm]]: a list of tables"),
        (
            "max_th = \"60 packets\"",
            "mark_limit = \"none\"",
            "aqm[0].mark_limit = \"none\": is not a value here; omit",
        ),
        (
            "count = 2",
            "tcp = { delayed_ack = \"none\" }",
            "flows[0].tcp.delayed_ack = \"none\": is not a value here",
        ),
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
            "dumbbell.changes[0].at = \"10 s\": is not before the end (10 s)",
        ),
        (
            "count = 2",
            "rtt_changes = [{ at = \"11 s\", rtt = \"1 s\" }]",
            "flows[0].rtt_changes[0].at = \"11 s\": is not before the end",
        ),
        (
            "count = 2",
            "kind = \"udp\"\nrate = \"1 Mbit/s\"\nrate_changes = [{ at = \"10 s\", rate = \"2 Mbit/s\" }]",
            "flows[0].rate_changes[0].at = \"10 s\": is not before the end",
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
            "kind = \"udp\"\nrate = \"1 Mbit/s\"\ntcp = { variant = \"reno\" }",
            "flows[0].tcp: does not apply to kind \"udp\"",
        ),
        ("\"red\"", "\"drop-tail\"", "aqm[0].max_th: unknown key; drop-tail takes no parameters"),
        (
            "max_th = \"60 packets\"",
            "max_th = \"60 packets\"\nmax_p = 1e300",
            "aqm[0].max_p = 1e300: must lie in (0, 1]",
        ),
        (
            "max_th = \"60 packets\"",
            "max_th = \"60 packets\"\nmin_backlog = 101",
            "aqm[0].min_backlog = 101: must not exceed the buffer (100 packets)",
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
    let rule = "must be at most 320 Gbit/s: on a faster link the smallest packet of the scenario (40 B, an \
                acknowledgment) takes less than 1 ns, the shortest time that is simulated; lower the rate";
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
                    e.contains("UDP) takes less than 1 ns") && e.ends_with("or send larger packets"),
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
    let e = message("\"red\"", "\"cake\"");
    assert!(e.contains("aqm[0].algorithm = \"cake\": not in this version; the closest in purpose is"), "{e}");
    assert!(e.contains("; known: drop-tail, red, "), "{e}");
    let e = message("\"red\"", "\"cubic\"");
    assert!(
        e.contains("aqm[0].algorithm = \"cubic\": a congestion control of senders, not an algorithm"),
        "{e}"
    );
    assert!(e.contains("(flows[0].tcp.variant: tahoe, reno, newreno or sack); known: drop-tail, "), "{e}");
    let e = message("\"red\"", "\"fifo\"");
    assert!(e.contains("= \"fifo\": unknown algorithm; did you mean \"drop-tail\"? Known: "), "{e}");
    let e = message("count = 2", "tcp = { variant = \"bbr\" }");
    let want =
        "variant = \"bbr\": not in this version; the closest in purpose is \"sack\"; must be one of: tahoe";
    assert!(e.contains(want), "{e}");
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
    let e = parse("buffer = \"50 packets\"").unwrap_err();
    assert!(e.contains("smaller than the buffer (50 packets) (link b-c)"), "{e}");
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
    let e = Document::from_table(&table, "scenario").study(&Plugins::new()).unwrap_err();
    assert_eq!(e.line, None);
    assert!(e.to_string().starts_with("scenario: flows[0].rtt = \"100\": not a time"), "{e}");
}
