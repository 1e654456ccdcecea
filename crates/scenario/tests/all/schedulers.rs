//! Shapers and classes of links: what a file says, what is refused, and what runs make of it.

#![allow(clippy::result_large_err)] // Errors end a test.

use quell_queue::{Limit, Peak, Shaper};
use quell_scenario::{Document, Plugins, Point, ScenarioError, Study, notes};
use quell_sim::network::{Network, Schedule};
use quell_sim::{Control, Engine};
use quell_units::{BitRate, Bytes, QueueSize};

/// Groups of calls, of web and of bulk, over a dumbbell whose table goes on with `link`.
fn scenario(link: &str) -> String {
    format!(
        r#"schema = 1
duration = "4 s"
aqm = [{{ algorithm = "codel" }}, {{ algorithm = "drop-tail" }}]
[[flows]]
name = "calls"
kind = "udp"
count = 4
hosts = 4
rate = "100 kbit/s"
packet = "200 B"
dscp = 46
[[flows]]
name = "bulk"
rtt = "80 ms"
count = 8
hosts = 4
[dumbbell]
rate = "10 Mbit/s"
delay = "20 ms"
buffer = "100 packets"
{link}
"#
    )
}

fn study_of(text: &str) -> Result<Study, ScenarioError> {
    Document::parse(text, "x.toml").unwrap().study(&Plugins::new())
}

fn point(link: &str) -> Point {
    study_of(&scenario(link)).unwrap_or_else(|e| panic!("{link}: {e}")).points.remove(0)
}

fn network(point: &Point) -> Network {
    point.plan(0, 1, &Plugins::new()).unwrap().network
}

fn mbps(x: f64) -> BitRate {
    BitRate::from_bps((x * 1e6) as u64)
}

/// Strict priority, turns, a tree, a tree for each host, and trees back.
const FORMS: &[&str] = &[
    "shaper = { rate = \"5 Mbit/s\", burst = \"15 kB\" }",
    "shaper = { rate = \"5 Mbit/s\", burst = \"15 kB\", peak_rate = \"8 Mbit/s\" }",
    "shaper = { rate = \"5 Mbit/s\", burst = \"15 kB\", peak_rate = \"8 Mbit/s\", mtu = \"3 kB\", limit = \"20 kB\" }",
    "reverse.shaper = { rate = \"200 kbit/s\", burst = \"1500 B\" }",
    "classes = [{ name = \"voice\", match = { group = \"calls\" } }, { name = \"rest\", priority = 1 }]",
    "classes = [{ name = \"voice\", match = { dscp = [46, 34] } }, { name = \"rest\", quantum = \"3 kB\" }]",
    "classes = [{ name = \"first\", match = { group = [\"bulk\"], host = [1, 2] }, aqm = { algorithm = \"pie\" } }, { name \
     = \"rest\", buffer = \"20 kB\" }]",
    "classes = [{ name = \"all\", rate = \"6 Mbit/s\" }, { name = \"voice\", parent = \"all\", rate = \"1 Mbit/s\", ceil = \
     \"2 Mbit/s\", burst = \"2 kB\", match = { group = \"calls\" } }, { name = \"rest\", parent = \"all\", priority = 1 }]",
    "classes = [{ name = \"home\", repeat = 4, rate = \"1 Mbit/s\" }, { name = \"voice\", parent = \"home\", match = { group \
     = \"calls\" } }, { name = \"rest\", parent = \"home\", priority = 1 }]\nshaper = { rate = \"9 Mbit/s\", burst = \"3 \
     kB\" }",
    "[[dumbbell.reverse.classes]]\nname = \"of-bulk\"\nmatch.group = \"bulk\"\n[[dumbbell.reverse.classes]]\nname = \"rest\"",
];

#[test]
fn a_file_says_how_a_link_is_shaped() {
    let [there, back] = [0, 1].map(|i| network(&point(FORMS[2])).links.swap_remove(i));
    let peak = Some(Peak { rate: mbps(8.0), mtu: Bytes::new(3000) });
    let limit = Some(Limit::Bytes(20_000));
    let shaper = Shaper { peak, limit, ..Shaper::plain(mbps(5.0), Bytes::new(15_000)) };
    assert_eq!((there.shaper.as_deref(), &back.shaper), (Some(&shaper), &None));
    assert_eq!(there.capacity(), Schedule::constant(mbps(5.0)));
    assert_eq!((&there.rate, back.capacity()), (&back.rate, Schedule::constant(mbps(10.0))));
    // The largest packet is what leaves at once at the peak.
    let plain = network(&point(FORMS[1])).links.swap_remove(0).shaper.unwrap();
    assert_eq!(plain.peak.map(|peak| peak.mtu), Some(Bytes::new(1000)));
    let back = network(&point(FORMS[3])).links.swap_remove(1);
    assert_eq!(back.capacity().initial, mbps(0.2));
}

/// Algorithms, buffers in bandwidth-delay products and analyses know the lower rate.
#[test]
fn the_rate_of_a_shaper_is_the_links() {
    let text = scenario("shaper = { rate = \"4 Mbit/s\", burst = \"3 kB\" }")
        .replace("\"100 packets\"", "\"1 bdp\"");
    let point = study_of(&text).unwrap().points.remove(0);
    let at = point.link_at("bottleneck", quell_units::Time::ZERO, &Plugins::new()).unwrap();
    assert_eq!((at.rate, at.link.rate, at.classes), (mbps(4.0), mbps(4.0), false));
    // 4 Mbit/s times 80 ms, in packets of the first group.
    assert_eq!(at.link.buffer, QueueSize::Packets(200.0));
    let with = point.estimated_packets();
    assert!(with < study_of(&scenario("")).unwrap().points[0].estimated_packets() / 2.0, "{with}");
    // And so it is that of classes which get less together.
    let classes = "classes = [{ name = \"a\", rate = \"1 Mbit/s\", repeat = 3, match = { group = \"bulk\" } }, { name = \
                   \"b\", rate = \"1 Mbit/s\" }]";
    let classed = study_of(&scenario(classes)).unwrap().points[0].estimated_packets();
    assert_eq!(classed, with);
}

#[test]
fn classes_are_a_tree_with_a_queue_for_each_leaf() {
    let tree = network(&point(FORMS[7])).links.swap_remove(0).tree.unwrap();
    assert_eq!(tree.plan.leaves().unwrap(), ["voice", "rest"]);
    let [all, voice, rest] = &tree.plan.classes[..] else { panic!("{:?}", tree.plan) };
    let limits = |class: &quell_queue::Class| {
        class.limits.map(|l| (l.rate, l.ceil, l.burst.get(), l.cburst.get())).unwrap()
    };
    assert_eq!(limits(all), (mbps(6.0), mbps(6.0), 1600, 1600));
    assert_eq!(limits(voice), (mbps(1.0), mbps(2.0), 2000, 2000));
    // Without a rate it borrows all.
    assert_eq!(limits(rest), (mbps(0.0), mbps(6.0), 1600, 1600));
    // By the group of the flow, whatever its direction or DSCP.
    let leaf = |flow: usize| {
        let row = tree.classifier.of_flow[flow];
        let row = tree.classifier.rows[row as usize];
        assert!(row.iter().all(|leaf| *leaf == row[0]));
        row[0]
    };
    let leaves: Vec<u8> = (0..12).map(leaf).collect();
    assert_eq!(leaves, [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
    // A leaf's algorithm and buffer are its own, or the link's.
    let tree = network(&point(FORMS[6])).links.swap_remove(0).tree.unwrap();
    let buffers: Vec<QueueSize> = tree.leaves.iter().map(|leaf| leaf.buffer).collect();
    assert_eq!(buffers, [QueueSize::Packets(100.0), QueueSize::Bytes(20_000.0)]);
}

/// Number i of a class that is repeated is for the i-th host of each group.
#[test]
fn repeated_classes_are_for_the_hosts_in_their_order() {
    let tree = network(&point(FORMS[8])).links.swap_remove(0).tree.unwrap();
    let leaves = tree.plan.leaves().unwrap();
    assert_eq!(leaves[..5], ["voice-1", "voice-2", "voice-3", "voice-4", "rest-1"]);
    let parents: Vec<Option<&str>> = tree.plan.classes.iter().map(|class| class.parent.as_deref()).collect();
    assert_eq!(parents[3..6], [None, Some("home-1"), Some("home-2")]);
    let leaf =
        |flow: usize| leaves[usize::from(tree.classifier.rows[tree.classifier.of_flow[flow] as usize][0])];
    let found: Vec<&str> = (0..12).map(leaf).collect();
    let calls = ["voice-1", "voice-2", "voice-3", "voice-4"];
    let bulk = ["rest-1", "rest-2", "rest-3", "rest-4"];
    assert_eq!(found, [calls, bulk, bulk].concat());
}

/// Sixty subscribers of two classes are ten lines, and the text of a plan says so.
#[test]
fn sixty_subscribers_of_two_classes_are_ten_lines() {
    let lines = r#"[[dumbbell.classes]]
name = "subscriber"
repeat = 60
rate = "2 Mbit/s"

[[dumbbell.classes]]
name = "calls"
parent = "subscriber"
match = { group = "calls" }

[[dumbbell.classes]]
name = "rest"
parent = "subscriber"
priority = 1
"#;
    assert!(lines.lines().filter(|line| !line.is_empty() && !line.starts_with('[')).count() <= 10);
    let tree = network(&point(lines)).links.swap_remove(0).tree.unwrap();
    assert_eq!((tree.plan.classes.len(), tree.leaves.len()), (180, 120));
}

/// What is written out is the same scenario, and both engines make the same of it.
#[test]
fn every_form_is_written_out_and_runs_alike() {
    let plain = point("");
    let plain_digest = quell_sim::run(network(&plain), Engine::Fast, &Control::default()).unwrap().digest;
    let mut seen = vec![plain.identity(0).unwrap().text];
    assert!(!seen[0].contains("shaper") && !seen[0].contains("classes"), "{}", seen[0]);
    for form in FORMS {
        let point = point(form);
        let (text, identity) = (point.to_toml(), point.identity(0).unwrap().text);
        let again = study_of(&text).unwrap_or_else(|e| panic!("{form}: {e}\n{text}")).points.remove(0);
        assert_eq!(again.to_toml(), text, "{form}");
        assert_eq!(again.identity(0).unwrap().text, identity, "{form}");
        assert!(!seen.contains(&identity), "{form}");
        seen.push(identity);
        let run =
            |engine, point: &Point| quell_sim::run(network(point), engine, &Control::default()).unwrap();
        let [fast, reference] = [Engine::Fast, Engine::Reference].map(|engine| run(engine, &point));
        assert_eq!((fast.digest, fast.conservation), (reference.digest, reference.conservation), "{form}");
        assert_eq!(fast.digest, run(Engine::Fast, &again).digest, "{form}\n{text}");
        // Acknowledgments meet nobody on their way.
        assert_eq!(fast.digest == plain_digest, form.contains("reverse.classes"), "{form}");
    }
}

#[test]
fn what_no_link_can_serve_is_refused_with_line_and_rule() {
    let mut faults = Vec::new();
    let two = "{ name = \"a\", match = { group = \"calls\" } }, { name = \"b\" }";
    for (link, wanted) in [
        (
            "shaper = { rate = \"5 Mbit/s\", burst = \"500 B\" }",
            "x.toml:21: dumbbell.shaper.burst = 500 B: must hold the largest packet, which takes 1 kB on the wire; set at least \
             1 kB",
        ),
        ("shaper = { rate = \"5 Mbit/s\" }", "dumbbell.shaper.burst: is missing"),
        ("shaper = \"5 Mbit/s\"", "dumbbell.shaper = \"5 Mbit/s\": must be a table, such as { rate"),
        ("shaper = [\"5 Mbit/s\", \"15 kB\"]", "must be a table, such as { rate = \"20 Mbit/s\", burst"),
        (
            "shaper = { rate = \"5 Mbit/s\", burst = \"3 kB\", peak_rate = \"4 Mbit/s\" }",
            "dumbbell.shaper.peak_rate = 4 Mbit/s: must be above the rate of 5 Mbit/s",
        ),
        (
            "shaper = { rate = \"5 Mbit/s\", burst = \"3 kB\", mtu = \"2 kB\" }",
            "dumbbell.shaper.mtu = \"2 kB\": requires a peak_rate",
        ),
        (
            "shaper = { rate = \"5 Mbit/s\", burst = \"3 kB\", limit = \"0.5 packets\" }",
            "dumbbell.shaper.limit = \"0.5 packets\": must lie between 1 packet and",
        ),
        (
            "shaper = { rate = \"5 Mbit/s\", burst = \"3 kB\", latency = \"50 ms\" }",
            "dumbbell.shaper.latency: not a key of a shaper: write limit",
        ),
        (
            "shaper = { rate = \"0 bit/s\", burst = \"3 kB\" }",
            "dumbbell.shaper.rate = \"0 bit/s\": must lie between",
        ),
        ("tbf = 1", "dumbbell.tbf: not a key of links: write shaper = {"),
        ("htb = 1", "dumbbell.htb: not a key of links: write classes = [{"),
        (
            "reverse.shaper = { rate = \"5 Mbit/s\", burst = \"500 B\" }",
            "dumbbell.reverse.shaper.burst = 500 B: must hold the largest packet",
        ),
        ("classes = 1", "dumbbell.classes = 1: must be a list of tables"),
        ("classes = [{ rate = \"1 Mbit/s\" }]", "dumbbell.classes[0].name: is missing"),
        (
            "classes = [{ name = \"a b\" }]",
            "dumbbell.classes[0].name = \"a b\": must consist of letters, digits, \"-\" and \"_\"",
        ),
        (
            "classes = [{ name = \"a\" }, { name = \"a\" }]",
            "dumbbell.classes[1].name = \"a\": is the name of another class",
        ),
        (
            "classes = [{ name = \"top\" }, { name = \"a\", parent = \"tip\" }]",
            "dumbbell.classes[1].parent = \"tip\": unknown class; did you mean \"top\"?",
        ),
        (
            "classes = [{ name = \"a\", parent = \"b\" }, { name = \"b\", parent = \"a\" }, { name = \"c\" }]",
            "x.toml:21: dumbbell.classes[0].parent = a < b: a class must not be its own ancestor",
        ),
        (
            "classes = [{ name = \"top\", rate = \"2 Mbit/s\" }, { name = \"a\", parent = \"top\", rate = \"3 Mbit/s\" }]",
            "dumbbell.classes[1].rate = 3 Mbit/s: must not exceed the rate of its parent `top` (2 Mbit/s)",
        ),
        (
            "classes = [{ name = \"top\", rate = \"2 Mbit/s\" }, { name = \"a\", parent = \"top\", rate = \"1.5 Mbit/s\", \
             match = { group = \"calls\" } }, { name = \"b\", parent = \"top\", rate = \"1 Mbit/s\" }]",
            "dumbbell.classes[2].rate = 1 Mbit/s: with those before it `top` guarantees 2.5 Mbit/s",
        ),
        (
            "classes = [{ name = \"top\", rate = \"2 Mbit/s\" }, { name = \"a\", parent = \"top\", rate = \"1 Mbit/s\", ceil = \
             \"3 Mbit/s\" }]",
            "dumbbell.classes[1].ceil = 3 Mbit/s: must not exceed the ceil of its parent",
        ),
        (
            "classes = [{ name = \"a\", rate = \"2 Mbit/s\", burst = \"100 B\" }]",
            "dumbbell.classes[0].burst = 100 B: must hold the largest packet",
        ),
        (
            "classes = [{ name = \"a\", burst = \"3 kB\" }]",
            "classes[0].burst = \"3 kB\": requires a rate or a ceil",
        ),
        (
            "classes = [{ name = \"a\", ceil = \"3 Mbit/s\" }]",
            "classes[0].ceil = \"3 Mbit/s\": requires a rate",
        ),
        (
            "classes = [{ name = \"a\", quantum = \"100 B\" }]",
            "dumbbell.classes[0].quantum = 100 B: must be at least the largest packet",
        ),
        (
            "classes = [{ name = \"a\", priority = 64 }]",
            "dumbbell.classes[0].priority = 64: must be below 64",
        ),
        (
            "classes = [{ name = \"a\", prio = 1 }]",
            "dumbbell.classes[0].prio: not a key of classes: write priority = 0",
        ),
        (
            "classes = [{ name = \"a\", priority = 1 }, { name = \"b\", parent = \"a\" }]",
            "dumbbell.classes[0].priority = 1: only a class without children takes turns",
        ),
        (
            "classes = [{ name = \"a\", buffer = \"9 packets\" }, { name = \"b\", parent = \"a\" }]",
            "dumbbell.classes[0].buffer = \"9 packets\": belongs to a class without children",
        ),
        (
            "classes = [{ name = \"a\" }, { name = \"b\" }]",
            "dumbbell.classes[1]: lacks a match: `a` has none either",
        ),
        (
            "classes = [{ name = \"a\", match = { group = \"calls\" } }, { name = \"b\", match = { group = \"bulk\" } }]",
            "dumbbell.classes: need a leaf without a match",
        ),
        (
            "classes = [{ name = \"a\", match = { group = \"call\" } }, { name = \"b\" }]",
            "dumbbell.classes[0].match.group = \"call\": unknown group; did you mean \"calls\"?",
        ),
        (
            "classes = [{ name = \"a\", match = {} }, { name = \"b\" }]",
            "match: must have a group, a dscp or a host",
        ),
        (
            "classes = [{ name = \"a\", match = { dscp = 64 } }, { name = \"b\" }]",
            "dumbbell.classes[0].match.dscp = 64: must be at most 63",
        ),
        (
            "classes = [{ name = \"a\", match = { host = 0 } }, { name = \"b\" }]",
            "dumbbell.classes[0].match.host = 0: must be at least 1",
        ),
        (
            "classes = [{ name = \"a\", match = { mark = 1 } }, { name = \"b\" }]",
            "dumbbell.classes[0].match.mark: unknown key",
        ),
        (
            "classes = [{ name = \"a\", match = { group = [] } }, { name = \"b\" }]",
            "dumbbell.classes[0].match.group = []: must not be an empty list",
        ),
        (
            "classes = [{ name = \"a\", repeat = 300 }]",
            "dumbbell.classes[0].repeat = 300: must be a whole number from 1 to 255",
        ),
        (
            "classes = [{ name = \"a\", repeat = 200, match = { dscp = 1 } }, { name = \"b\", repeat = 200 }]",
            "make 400 leaves, and at most 255 are allowed",
        ),
        (
            "classes = [{ name = \"top\", repeat = 2 }, { name = \"a\", parent = \"top\", repeat = 2 }]",
            "dumbbell.classes[1].repeat = 2: `top` above is repeated, and this class with it",
        ),
        (
            "classes = [{ name = \"a\", aqm = { algorithm = \"codle\" } }]",
            "dumbbell.classes[0].aqm.algorithm = \"codle\": unknown algorithm; did you mean \"codel\"?",
        ),
        (
            &format!(
                "classes = [{two}, {{ name = \"c\", parent = \"d\" }}, {{ name = \"d\", parent = \"c\" }}]"
            ),
            "dumbbell.classes[2].parent = c < d: a class must not be its own ancestor",
        ),
    ] {
        let error = match study_of(&scenario(link)) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{link}: accepted"),
        };
        if !error.contains(wanted) {
            faults.push(format!("{link}\n  {error}\n  {wanted}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // A link without a buffer has no queue that could be shaped.
    let graph = scenario("").replace(
        "[dumbbell]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nbuffer = \"100 packets\"",
        "[[graph.links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nshaper = { rate = \"1 Mbit/s\", \
         burst = \"3 kB\" }",
    );
    let error = study_of(&graph).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(error.contains("graph.links[0].shaper") && error.contains("requires a buffer"), "{error}");
}

#[test]
fn what_has_no_effect_is_noted() {
    for (link, wanted) in [
        (
            "shaper = { rate = \"20 Mbit/s\", burst = \"3 kB\" }",
            "bottleneck: shaper.rate = 20 Mbit/s has no effect because rate is not higher (10 Mbit/s)",
        ),
        (
            "classes = [{ name = \"ef\", match = { dscp = 10 } }, { name = \"rest\" }]",
            "dumbbell.classes: no packet meets the match of `ef`, so it stays empty",
        ),
        (
            "classes = [{ name = \"calls\", repeat = 6, match = { group = \"calls\" } }, { name = \"rest\" }]",
            "dumbbell.classes: 4 of the 6 leaves `calls` get packets",
        ),
        (
            "classes = [{ name = \"a\", rate = \"8 Mbit/s\", match = { group = \"calls\" } }, { name = \"b\", rate = \"7 \
             Mbit/s\" }]",
            "dumbbell.classes: the classes are promised 15 Mbit/s, and at most 10 Mbit/s can leave",
        ),
        (
            "classes = [{ name = \"a\", aqm = { algorithm = \"pie\" } }]",
            "aqm: no leaf runs the algorithms that are compared, because each has its own",
        ),
    ] {
        let notes = notes(&[point(link)]);
        assert!(notes.iter().any(|note| note.contains(wanted)), "{link}\n  {notes:?}\n  {wanted}");
    }
    for form in FORMS {
        let notes = notes(&[point(form)]);
        assert!(notes.is_empty(), "{form}: {notes:?}");
    }
}

/// The snippets of docs/schedulers.md are keys of a link.
#[test]
fn every_snippet_of_the_page_can_be_used() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schedulers.md");
    let page = std::fs::read_to_string(page).unwrap();
    let snippets = page.split("```toml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0);
    let mut used = 0;
    for snippet in snippets {
        let keys = snippet.trim_start_matches("[dumbbell]\n");
        let others = ["rate = \"1 Gbit/s\"\n", "delay = \"20 ms\"\n", "buffer = \"100 packets\"\n"];
        let own = |other: &str| keys.lines().any(|line| line.split(' ').next() == other.split(' ').next());
        let rest: String = others.into_iter().filter(|other| !own(other)).collect();
        let whole = scenario("");
        let (head, _) = whole.split_once("rate = \"10 Mbit/s\"").unwrap();
        let text = format!("{head}{rest}{keys}");
        let point = study_of(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).points.remove(0);
        let link = network(&point).links.swap_remove(0);
        assert!(link.shaper.is_some() || link.tree.is_some(), "{text}");
        used += 1;
    }
    assert_eq!(used, 6);
}

/// Sweeps and settings reach into shapers and classes by their names.
#[test]
fn shapers_and_classes_can_be_swept() {
    let text = scenario(FORMS[7]).replace(
        "schema = 1\n",
        "schema = 1\nsweep = { \"dumbbell.classes.voice.rate\" = [\"1 Mbit/s\", \"2 Mbit/s\"] }\n",
    );
    let study = study_of(&text).unwrap();
    let rates: Vec<BitRate> = study
        .points
        .iter()
        .map(|point| network(point).links.swap_remove(0).tree.unwrap().plan.classes[1].limits.unwrap().rate)
        .collect();
    assert_eq!(rates, [mbps(1.0), mbps(2.0)]);
}

/// Turns within turns do not exist, so their parents do nothing.
#[test]
fn a_parent_without_a_rate_is_noted() {
    let with = |p: &str| {
        let classes = format!(
            "classes = [{{ name = \"x\", match = {{ group = \"bulk\" }} }}, {{ name = \"p\"{p} }}, {{ name = \"y\", parent = \
             \"p\", match = {{ group = \"calls\" }} }}, {{ name = \"z\", parent = \"p\" }}]"
        );
        study_of(&scenario(&classes)).unwrap().notes()
    };
    let noted = |notes: Vec<String>| notes.iter().any(|note| note.contains("`p` has children but no rate"));
    assert!(noted(with("")));
    assert!(!noted(with(", rate = \"3 Mbit/s\"")));
}

/// A link is at most as busy as the shaper of its algorithm, and what leads on from it, let it be.
#[test]
fn estimates_of_packets_know_the_bandwidth_of_cake_and_the_slow_link_beyond() {
    let packets = |text: &str| study_of(text).unwrap().points[0].estimated_packets();
    let home = |aqm: &str| {
        format!(
            r#"
schema = 1
duration = "50 s"
mean_packet = "1000 B"
dumbbell = {{ rate = "1 Gbit/s", delay = "5 ms", buffer = "1000 packets" }}
flows = [{{ name = "ftp" }}]
aqm = [{aqm}]
"#
        )
    };
    // 20 Mbit/s for 50 s in packets of 8000 bit.
    let cake = r#"{ algorithm = "cake", bandwidth = "20 Mbit/s" }"#;
    assert_eq!(packets(&home(cake)), 125e3);
    assert_eq!(packets(&home(&format!("{cake}, {{ algorithm = \"fq-codel\" }}"))), 6.25e6);
    assert_eq!(
        packets(&home(r#"{ algorithm = "cake", bandwidth = "20 Mbit/s", autorate_ingress = true }"#)),
        6.25e6
    );
    // A router of 1 Gbit/s before a modem of 20 Mbit/s up and 80 Mbit/s down: each carries 80 in one direction.
    let modem = r#"
schema = 1
duration = "50 s"
mean_packet = "1000 B"
flows = [{ name = "ftp", from = "home", to = "net" }]
aqm = [{ algorithm = "fq-codel" }]

[[graph.links]]
from = "home"
to = "router"
rate = "1 Gbit/s"
delay = "1 ms"
buffer = "1000 packets"

[[graph.links]]
from = "router"
to = "net"
rate = "1 Gbit/s"
delay = "5 ms"
buffer = "1000 packets"
shaper = { rate = "20 Mbit/s", burst = "3000 B" }
reverse = { shaper = { rate = "80 Mbit/s", burst = "3000 B" } }
"#;
    assert_eq!(packets(modem), 1e6);
}
