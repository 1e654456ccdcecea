//! `quell import`, as a user sees it.

use crate::common::Bench;

const RUN: &str = "schema = 1\nduration = \"3 s\"\naqm = [{ algorithm = \"codel\" }]\n[dumbbell]\nrate = \"8 Mbit/s\"\n\
                   delay = \"10 ms\"\nbuffer = \"30 packets\"\necn = true\n[[flows]]\nname = \"capture\"\n";
const INTERFACE: [&str; 3] = ["--interface", "bottleneck enqueue", "--keep-time"];

/// A run's capture before its queue, replayed, is captured there as it was.
#[test]
fn a_capture_of_a_run_comes_again_as_its_arrivals() {
    let bench = Bench::new();
    std::fs::write(bench.path("run.toml"), format!("{RUN}kind = \"bulk\"\ncount = 3\nrtt = \"40 ms\"\n"))
        .unwrap();
    let replay = format!("{RUN}kind = \"trace\"\nfile = \"arrivals.csv\"\n");
    std::fs::write(bench.path("replay.toml"), replay).unwrap();
    let mut texts = Vec::new();
    for (scenario, arrivals) in [("run", "arrivals.csv"), ("replay", "again.csv")] {
        let file = format!("{scenario}.toml");
        bench.ok(&[
            "run",
            &file,
            "--seeds",
            "1",
            "--out",
            scenario,
            "--trace",
            "pcapng,perfetto",
            "--no-report",
        ]);
        let capture = format!("{scenario}/traces/codel-seed1.pcapng");
        // Ports do not tell who opened a recorded connection.
        let words = ["import", "pcap", &capture, "--out", arrivals, "--direction", "both"];
        let said = bench.ok(&[&words, &INTERFACE[..]].concat());
        assert!(said.contains("kind = \"trace\"") && said.contains(arrivals), "{said}");
        let text = std::fs::read_to_string(bench.path(arrivals)).unwrap();
        // Time, size and ECN field; a recorded flow's port is not that of TCP.
        let row = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            [cells[0], cells[1], cells[2], cells[3]].join(",")
        };
        texts.push(text.lines().skip(2).map(row).collect::<Vec<_>>());
        assert!(bench.path(&format!("{scenario}/traces/codel-seed1.pftrace")).exists());
    }
    assert!(
        texts[0].len() > 1000 && texts[0] == texts[1],
        "{} and {} packets",
        texts[0].len(),
        texts[1].len()
    );
}

#[test]
fn what_no_link_could_carry_is_refused_with_what_is_there() {
    let bench = Bench::new();
    std::fs::write(bench.path("run.toml"), format!("{RUN}kind = \"bulk\"\nrtt = \"40 ms\"\n")).unwrap();
    bench.ok(&["run", "run.toml", "--seeds", "1", "--out", "a", "--trace", "pcapng", "--no-report"]);
    let capture = "a/traces/codel-seed1.pcapng";
    let refused = |words: &[&str], part: &str| {
        let ran = bench.run(&[&["import", "pcap"], words].concat());
        assert!(ran.code == 2 && ran.err.contains(part), "{words:?}: {}", ran.err);
        assert!(!bench.path("arrivals.csv").exists());
    };
    refused(
        &[capture],
        "of several interfaces; choose one with --interface NAME: \"bottleneck enqueue\" up: ",
    );
    refused(
        &[capture, "--interface", "eth0"],
        "has no interface \"eth0\"; it has: bottleneck enqueue, bottleneck dequeue",
    );
    refused(&[capture, INTERFACE[0], INTERFACE[1], "--direction", "down"], "has no packets to take");
    let bytes = std::fs::read(bench.path(capture)).unwrap();
    std::fs::write(bench.path("cut.pcapng"), &bytes[..bytes.len() / 2 + 1]).unwrap();
    refused(&["cut.pcapng", INTERFACE[0], INTERFACE[1]], "the capture is incomplete: ");
    bench.ok(&["import", "pcap", "cut.pcapng", INTERFACE[0], INTERFACE[1], "--partial"]);
    let ran = bench.run(&["import", "pcap", capture, INTERFACE[0], INTERFACE[1]]);
    assert!(ran.code == 2 && ran.err.contains("--overwrite to replace it"), "{}", ran.err);
}

/// A capture says which run it is and which algorithm decided at which link; what never sent has no log.
#[test]
fn traces_name_their_run_and_leave_out_what_never_sent() {
    let bench = Bench::new();
    let text = format!(
        "{}kind = \"bulk\"\ncount = 2\nrtt = \"40 ms\"\n[[flows]]\nname = \"back\"\nkind = \"bulk\"\nrtt = \"40 ms\"\ndirection = \"reverse\"\n\
         [[flows]]\nname = \"call\"\nkind = \"udp\"\npacket = \"214 B\"\nrate = \"300 kbit/s\"\n\
         [[flows]]\nname = \"test\"\nkind = \"responsiveness\"\nrtt = \"40 ms\"\n",
        RUN.replace("schema = 1\n", "schema = 1\ntitle = \"Calls and downloads\"\ndialect = \"linux\"\n")
    );
    std::fs::write(bench.path("run.toml"), text).unwrap();
    bench.ok(&["run", "run.toml", "--seeds", "1", "--out", "a", "--trace", "pcapng,qlog", "--no-report"]);
    let bytes = std::fs::read(bench.path("a/traces/codel-seed1.pcapng")).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("Calls and downloads, codel, seed 1"));
    assert!(text.contains("packets that come to the queue; codel"));
    assert!(text.contains("packets that come to the queue; drop-tail"), "the way back has its own");
    assert!(text.contains("by codel") && !text.contains("the queue's algorithm"));
    let log = |flow: u32| bench.path(&format!("a/traces/codel-seed1-flow{flow}.sqlog")).exists();
    // The call is not TCP; of the test's connections the first one begins at once, and in 3 s at most three more.
    assert_eq!([0, 1, 2, 3, 4, 9].map(log), [true, true, true, false, true, false]);
    let words = ["import", "pcap", "a/traces/codel-seed1.pcapng", "--out", "x.csv", "--direction", "both"];
    bench.ok(&[&words, &INTERFACE[..]].concat());
    let arrivals = std::fs::read_to_string(bench.path("x.csv")).unwrap();
    let sizes = arrivals.lines().skip(2).map(|line| line.split(',').nth(1).unwrap().trim().to_string());
    let sizes: Vec<String> = sizes.collect();
    let of = |size: &str| sizes.iter().filter(|s| *s == size).count();
    assert!(of("200") > 100 && of("1500") > 100 && of("214") == 0 && of("1514") == 0);
}

/// The keys that are printed for a line of netem are those of a link that runs.
#[test]
fn a_line_of_netem_becomes_the_keys_of_a_link() {
    let bench = Bench::new();
    for words in [
        &["delay 50ms 10ms distribution normal loss gemodel 1% 20% 70% 0.1% duplicate 1%"][..],
        &["tc qdisc add dev eth0 root netem delay 50ms 10ms loss 1% corrupt 0.7% limit 1000"],
        &["delay", "20ms", "rate", "10mbit", "reorder", "25%"],
    ] {
        let ran = bench.run(&[&["import", "netem"], words].concat());
        assert!(ran.code == 0 && ran.err.contains("note: give the link a "), "{words:?}: {}", ran.err);
        let rate = if ran.out.contains("rate = ") { "" } else { "rate = \"5 Mbit/s\"\n" };
        let text = format!(
            "schema = 1\nduration = \"5 s\"\naqm = [{{ algorithm = \"codel\" }}]\nflows = [{{ name = \"ftp\" \
             }}]\n[dumbbell]\nbuffer = \"50 packets\"\n{rate}{}",
            ran.out
        );
        bench.file("line.toml", &text);
        let shown = bench.ok(&["scenario", "show", "line.toml"]);
        assert!(shown.contains("delay = \"0 s\""), "{shown}");
        let table = bench.ok(&[
            "run",
            "line.toml",
            "--seeds",
            "1",
            "--no-report",
            "--overwrite",
            "--metric",
            "wire_loss_rate",
        ]);
        assert!(table.contains("codel"), "{table}");
    }
    let ran = bench.run(&["import", "netem", "delay", "50ms", "lose", "1%"]);
    assert!(ran.code == 2 && ran.err.contains("did you mean \"loss\"?"), "{}", ran.err);
}
