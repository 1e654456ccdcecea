//! `quell aqm tc`, as a user sees it.

use crate::common::Bench;

const HOME: &str = "schema = 1\nduration = \"1 s\"\naqm = [{ algorithm = \"fq-codel\" }, { algorithm = \"pi\" }]\n\
                    flows = [{ name = \"calls\", dscp = 46 }, { name = \"rest\" }]\n[dumbbell]\nrate = \"20 Mbit/s\"\n\
                    delay = \"5 ms\"\nbuffer = \"200 packets\"\necn = true\nclasses = [\n\
                    { name = \"all\", rate = \"18 Mbit/s\" },\n\
                    { name = \"voice\", parent = \"all\", rate = \"2 Mbit/s\", ceil = \"18 Mbit/s\", match = { dscp = 46 } },\n\
                    { name = \"rest\", parent = \"all\", rate = \"16 Mbit/s\", priority = 1 },\n]\n";

#[test]
fn an_algorithms_line_is_printed_and_read_back() {
    let bench = Bench::new();
    let set = ["--set", "target=8ms", "--buffer", "500 packets"];
    let line = bench.ok(&[&["aqm", "tc", "fq-codel", "--dev", "wan0"], &set[..]].concat());
    assert_eq!(line, "tc qdisc replace dev wan0 root handle 1: fq_codel limit 500 target 8ms\n");
    // tc's name is one, too.
    assert_eq!(bench.ok(&[&["aqm", "tc", "fq_codel", "--dev", "wan0"], &set[..]].concat()), line);
    let json = bench.json(&["aqm", "tc", "--read", line.trim(), "--format", "json"]);
    let link = &json["links"][0];
    assert_eq!(link["device"], "wan0");
    assert_eq!(link["buffer"], "500 packets");
    assert_eq!(link["aqm"]["target"], "8 ms");
    assert_eq!(link["ecn"], true);
    let toml = bench.ok(&["aqm", "tc", "--read", line.trim(), "--format", "toml"]);
    assert!(
        toml.contains(
            "[dumbbell]\nbuffer = \"500 packets\"\necn = true\n\n[[aqm]]\nalgorithm = \"fq-codel\"\n"
        )
    );
}

#[test]
fn a_scenario_has_lines_for_each_algorithm_and_they_are_the_scenario() {
    let bench = Bench::new();
    bench.file("home.toml", HOME);
    let lines = bench.ok(&["aqm", "tc", "home.toml"]);
    assert!(lines.contains("# pi: Linux has no such qdisc; the nearest that Linux has is pie"), "{lines}");
    bench.file("lines.sh", &lines);
    let json = bench.json(&["aqm", "tc", "--read", "lines.sh", "--format", "json"]);
    let classes = json["links"][0]["classes"].as_array().unwrap();
    let rates: Vec<&str> = classes.iter().map(|class| class["rate"].as_str().unwrap()).collect();
    assert_eq!(rates, ["18 Mbit/s", "2 Mbit/s", "16 Mbit/s"]);
    assert_eq!(classes[1]["aqm"]["algorithm"], "fq-codel");
    assert_eq!((&classes[1]["default"], &classes[2]["default"]), (&false.into(), &true.into()));
}

#[test]
fn what_cannot_be_written_or_read_is_said() {
    let bench = Bench::new();
    std::fs::write(bench.path("junk"), [0_u8, 159, 146, 150].repeat(1000)).unwrap();
    bench.file("cut.json", "[{\"kind\":\"fq_codel\",\"opt");
    for (args, part) in [
        (&["aqm", "tc", "pi"][..], "Linux has no such qdisc; the nearest that Linux has is pie"),
        (&["aqm", "tc", "dualpi2"], "from 6.17 on, and not in 6.12"),
        (&["aqm", "tc", "codel", "--kernel", "5.4"], "older than 6.1"),
        (&["aqm", "tc", "codel", "--at", "htb"], "give --rate"),
        (&["aqm", "tc", "codel", "--dev", "a;reboot"], "--dev: "),
        (&["aqm", "tc", "codel", "--set", "targt=5ms"], "did you mean \"target\"?"),
        (&["aqm", "tc", "nothing.toml"], "nothing.toml: cannot read"),
        (&["aqm", "tc", "--read", "fq_codel target 5mm"], "line 1: target: \"5mm\" is not a time"),
        (&["aqm", "tc", "--read", "junk"], "is not text"),
        (&["aqm", "tc", "--read", "cut.json"], "it was cut"),
        (&["aqm", "tc", "--read", ""], "--read: "),
    ] {
        let ran = bench.run(args);
        assert!(ran.code == 2 && ran.err.contains(part), "{args:?}: {} {}", ran.code, ran.err);
    }
}
