//! Losses, jitter and copies of links: what a file says, what is refused, and what runs make of it.

#![allow(clippy::result_large_err)] // Errors end a test.

use quell_scenario::{Document, Files, FoundFile, Plugins, Point, ScenarioError, Study};
use quell_sim::network::{Deviation, GilbertElliott, Impairments, Jitter, Loss, Schedule};
use quell_sim::{Control, Engine};
use quell_units::{Duration, Time};

/// A file of changes of the loss.
const CSV: &[u8] = b"time_s,loss\n2,0.05\n4,0\n";

/// A dumbbell whose table goes on with `link`.
fn scenario(link: &str) -> String {
    format!(
        r#"schema = 1
duration = "6 s"
aqm = [{{ algorithm = "drop-tail" }}]
flows = [{{ name = "ftp", rtt = "80 ms", count = 2 }}]
[dumbbell]
rate = "10 Mbit/s"
delay = "20 ms"
buffer = "100 packets"
{link}
"#
    )
}

fn study_of(text: &str) -> Result<Study, ScenarioError> {
    let files = Files::new(|name| {
        let bytes = if name.starts_with("loss") { CSV.to_vec() } else { b"time_s,loss\n2,1\n".to_vec() };
        Ok(FoundFile { name: name.to_string(), bytes })
    });
    Document::parse(text, "x.toml").unwrap().among(files).study(&Plugins::new())
}

fn point(link: &str) -> Point {
    study_of(&scenario(link)).unwrap_or_else(|e| panic!("{link}: {e}")).points.remove(0)
}

/// Of the forward and the reverse link.
fn both(link: &str) -> [Impairments; 2] {
    let links = point(link).plan(0, 1, &Plugins::new()).unwrap().network.links;
    let mut links = links.into_iter().map(|link| link.impairments);
    [links.next().unwrap(), links.next().unwrap()]
}

fn chain(p: f64, r: f64, good_loss: f64, bad_loss: f64) -> Loss {
    Loss::GilbertElliott(GilbertElliott { p, r, good_loss, bad_loss })
}

fn at(s: u64) -> Time {
    Time::ZERO + Duration::from_secs(s)
}

/// The forms of docs/links.md.
const FORMS: &[&str] = &[
    "loss = { mean = 0.01, burst = 5 }",
    "loss = { gilbert_elliott = { p = 0.002, r = 0.2 } }",
    "loss = { gilbert_elliott = { p = 0.002, r = 0.2, good_loss = 0.0001, bad_loss = 0.8 } }",
    "loss = 0.001\nchanges = [{ at = \"2 s\", loss = 0.05 }, { at = \"3 s\", loss = 0.001 }]",
    "changes = \"loss.csv\"",
    "changes = { file = \"loss.csv\", repeat = \"5 s\" }\nreverse.loss = 0.02",
    "jitter = { size = \"10 ms\", distribution = \"normal\" }",
    "jitter = { size = \"10 ms\", correlation = 0.25, reorder = true }",
    "jitter = { size = \"10 ms\", distribution = \"pareto\" }\nreverse.jitter = { size = \"0 s\" }",
    "duplicate = 0.01",
    "duplicate = 0.01\nreverse.duplicate = 0",
    "loss = 0.01\nreverse.loss = { mean = 0.02, burst = 3 }",
];

#[test]
fn a_file_says_how_wires_lose_waver_and_copy() {
    for same in [0, 1] {
        assert_eq!(both("")[same], Impairments::default());
        assert_eq!(both("loss = 0.01")[same], Impairments::losing(0.01));
        let full = "loss = { gilbert_elliott = { p = 0.01, r = 0.2, good_loss = 0.001, bad_loss = 0.7 } }";
        assert_eq!(both(full)[same].loss, chain(0.01, 0.2, 0.001, 0.7));
        assert_eq!(
            both("loss.gilbert_elliott = { p = 0.01, r = 0.2 }")[same].loss,
            chain(0.01, 0.2, 0.0, 1.0)
        );
        let jitter = both("jitter = { size = \"4 ms\", distribution = \"paretonormal\" }")[same].jitter;
        let distribution = Deviation::ParetoNormal;
        let size = Duration::from_millis(4);
        assert_eq!(jitter, Some(Jitter { size, distribution, correlation: 0.0, reorder: false }));
        assert_eq!(both("duplicate = 0.03")[same].duplicate, 0.03);
    }
    // 1% of the packets in bursts of 5: r = 1/5, and p/(p + r) = 1%.
    let [Loss::GilbertElliott(bursts), _] = both("loss = { mean = 0.01, burst = 5 }").map(|link| link.loss)
    else {
        panic!("it is a chain")
    };
    assert!((bursts.mean() - 0.01).abs() < 1e-12 && bursts.r == 0.2 && bursts.bad_loss == 1.0, "{bursts:?}");
    // Each direction has its own, if it says so.
    let own = "loss = 0.01\njitter = { size = \"4 ms\" }\nduplicate = 0.1\nreverse = { loss = { mean = 0.1, burst = 2 }, \
               jitter = { size = \"1 ms\" }, duplicate = 0 }";
    let [there, back] = both(own);
    assert_eq!((there.loss, there.duplicate, back.duplicate), (Loss::from(0.01), 0.1, 0.0));
    assert!(matches!(back.loss, Loss::GilbertElliott(_)));
    assert_eq!(back.jitter.map(|jitter| jitter.size), Some(Duration::from_millis(1)));
}

#[test]
fn losses_change_over_time_as_rates_do() {
    let changing = Loss::Random(Schedule::changing(0.01, vec![(at(2), 0.05), (at(4), 0.0)]));
    let list = "changes = [{ at = \"2 s\", loss = 0.05 }, { at = \"4 s\", loss = 0 }]";
    let with_rate =
        "changes = [{ at = \"2 s\", loss = 0.05 }, { at = \"4 s\", loss = 0, rate = \"5 Mbit/s\" }]";
    for changes in [list, with_rate, "changes = \"loss.csv\""] {
        for link in both(&format!("loss = 0.01\n{changes}")) {
            assert_eq!(link.loss, changing, "{changes}");
        }
        // With its own loss the way back takes no part; with its own changes it has those.
        let [_, back] = both(&format!("loss = 0.01\n{changes}\nreverse.loss = 0.01"));
        assert_eq!(back.loss, Loss::from(0.01));
        let [there, back] = both(&format!("loss = 0.01\nreverse.loss = 0.01\nreverse.{changes}"));
        assert_eq!((there.loss, back.loss), (Loss::from(0.01), changing.clone()));
    }
}

/// What is written out is the same scenario, and both engines make the same of it.
#[test]
fn every_form_is_written_out_and_runs_alike() {
    let plain = point("").identity(0).unwrap().text;
    let mut seen = vec![plain];
    for form in FORMS {
        let point = point(form);
        let (text, identity) = (point.to_toml(), point.identity(0).unwrap().text);
        let again = study_of(&text).unwrap_or_else(|e| panic!("{form}: {e}\n{text}")).points.remove(0);
        assert_eq!(again.to_toml(), text, "{form}");
        assert_eq!(again.identity(0).unwrap().text, identity, "{form}");
        assert!(!seen.contains(&identity), "{form}");
        seen.push(identity);
        let impairments = |point: &Point| {
            let links = point.plan(0, 1, &Plugins::new()).unwrap().network.links;
            links.into_iter().map(|link| link.impairments).collect::<Vec<_>>()
        };
        assert_eq!(impairments(&again), impairments(&point), "{form}\n{text}");
        let [fast, reference] = [Engine::Fast, Engine::Reference].map(|engine| {
            let network = point.plan(0, 1, &Plugins::new()).unwrap().network;
            quell_sim::run(network, engine, &Control::default()).unwrap()
        });
        assert_eq!((fast.digest, fast.conservation), (reference.digest, reference.conservation), "{form}");
        let c = fast.conservation;
        assert!(c.lost + c.duplicated > 0 || form.contains("jitter"), "{form}: {c:?}");
    }
}

/// The snippets of docs/links.md from random losses on are keys of a link.
#[test]
fn every_snippet_about_what_happens_to_packets_can_be_used() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/links.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, page) = page.split_once("## Random loss").unwrap();
    let snippets = page.split("```toml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0);
    let mut used = 0;
    for snippet in snippets {
        if snippet.starts_with("schema") {
            let point = study_of(snippet).unwrap_or_else(|e| panic!("{e}\n{snippet}")).points.remove(0);
            let links = point.plan(0, 1, &Plugins::new()).unwrap().network.links;
            assert_ne!(links[0].impairments, Impairments::default());
            assert_eq!(
                (&links[1].impairments, links[1].delay.initial),
                (&Impairments::default(), Duration::ZERO)
            );
            used += 1;
            continue;
        }
        let keys = snippet.trim_start_matches("[dumbbell]\n");
        let others = ["rate = \"10 Mbit/s\"\n", "delay = \"20 ms\"\n", "buffer = \"100 packets\"\n"];
        let own = |other: &str| keys.lines().any(|line| line.split(' ').next() == other.split(' ').next());
        let rest: String = others.into_iter().filter(|other| !own(other)).collect();
        let whole = scenario("");
        let (head, _) = whole.split_once("rate = ").unwrap();
        let text = format!("{head}{rest}{keys}").replace("\"6 s\"", "\"60 s\"").replace("80 ms", "200 ms");
        let point = study_of(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).points.remove(0);
        let links = point.plan(0, 1, &Plugins::new()).unwrap().network.links;
        assert_ne!(links[0].impairments, Impairments::default(), "{text}");
        used += 1;
    }
    assert_eq!(used, 7);
}

/// A scenario without these keys is what it was: nothing of them is part of its identity.
#[test]
fn a_link_without_them_is_what_it_was() {
    let text = point("loss = 0.01").identity(0).unwrap().text;
    assert!(
        text.contains("loss = 0.01") && !text.contains("jitter") && !text.contains("duplicate"),
        "{text}"
    );
}

#[test]
fn what_no_wire_can_be_is_refused_with_line_and_rule() {
    for (link, wanted) in [
        (
            "loss = { gilbert_elliott = { p = 0.1, r = 0 } }",
            "x.toml:9: dumbbell.loss.gilbert_elliott.r = 0: must be a probability above 0: the chain would never leave",
        ),
        (
            "loss = { gilbert_elliott = { p = 1.5, r = 1 } }",
            "gilbert_elliott.p = 1.5: must be a probability from 0 to 1",
        ),
        ("loss = { gilbert_elliott = { p = 0.1 } }", "dumbbell.loss.gilbert_elliott.r: is missing"),
        (
            "loss = { gilbert_elliott = { p = 0.1, r = 0.1, good_loss = 1 } }",
            "good_loss = 1: must be a probability from 0 to below 1",
        ),
        (
            "loss = { gilbert_elliott = { p = 0.1, r = 0.1, bad_loss = 2 } }",
            "bad_loss = 2: must be a probability from 0",
        ),
        (
            "loss = { gilbert_elliott = { p = 0.1, r = 0.1, h = 0 } }",
            "dumbbell.loss.gilbert_elliott.h: not a key of a chain: write bad_loss, which is 1 - h",
        ),
        ("loss = { mean = 0.01 }", "dumbbell.loss: must have either gilbert_elliott, or mean and burst"),
        ("loss = {}", "dumbbell.loss: must have either gilbert_elliott, or mean and burst"),
        (
            "loss = { mean = 0.01, burst = 0.5 }",
            "dumbbell.loss.burst = 0.5: must be a number of packets from 1",
        ),
        (
            "loss = { mean = 0.9, burst = 2 }",
            "dumbbell.loss.burst = 2: must be at least mean / (1 - mean) = 9.000",
        ),
        ("loss = { mean = 1, burst = 2 }", "dumbbell.loss.mean = 1: must be a probability from 0 to below 1"),
        (
            "loss = \"much\"",
            "dumbbell.loss = \"much\": must be a number from 0 to below 1, such as 0.01, or a table",
        ),
        ("loss = 1", "dumbbell.loss = 1: must be a probability from 0 to below 1"),
        ("reverse.loss = { mean = 2, burst = 2 }", "dumbbell.reverse.loss.mean = 2: must be a probability"),
        (
            "loss = { mean = 0.01, burst = 2 }\nchanges = \"loss.csv\"",
            "x.toml:9: dumbbell.loss: must be a probability, such as 0.01, because changes give others later",
        ),
        (
            "changes = [{ at = \"1 s\", loss = 1 }]",
            "dumbbell.changes[0].loss = 1: must be a probability from 0 to below 1",
        ),
        ("changes = \"certain.csv\"", "certain.csv:2: loss = \"1\": must be below 1"),
        ("changes = [{ at = \"1 s\" }]", "changes nothing: give a rate, a delay or a loss"),
        (
            "jitter = { size = \"21 ms\" }",
            "x.toml:9: dumbbell.jitter.size = \"21 ms\": must be at most the least delay of bottleneck (20 ms)",
        ),
        (
            "jitter = { size = \"10 ms\" }\nchanges = [{ at = \"1 s\", delay = \"5 ms\" }]",
            "must be at most the least delay of bottleneck (5 ms)",
        ),
        (
            "jitter = { size = \"10 ms\" }\nreverse.delay = \"5 ms\"",
            "dumbbell.jitter.size = \"10 ms\": must be at most the least delay of reverse (5 ms)",
        ),
        (
            "reverse.jitter = { size = \"25 ms\" }",
            "dumbbell.reverse.jitter.size = \"25 ms\": must be at most the least delay of reverse (20 ms)",
        ),
        ("jitter = \"5 ms\"", "dumbbell.jitter = \"5 ms\": must be a table, such as { size = \"5 ms\" }"),
        (
            "jitter = { size = \"5 ms\", correlation = 1 }",
            "jitter.correlation = 1: must be a number from 0 to below 1",
        ),
        (
            "jitter = { size = \"5 ms\", distribution = \"gauss\" }",
            "must be one of: uniform, normal, pareto, paretonormal",
        ),
        ("jitter = { reorder = true }", "dumbbell.jitter.size: is missing"),
        ("duplicate = 1", "dumbbell.duplicate = 1: must be a probability from 0 to below 1"),
        (
            "reverse.duplicate = -0.1",
            "dumbbell.reverse.duplicate = -0.1: must be a probability from 0 to below 1",
        ),
        (
            "gemodel = 1",
            "dumbbell.gemodel: not a key of links: write loss = { gilbert_elliott = { p = 0.01, r = 0.2 } }",
        ),
        ("delay_jitter = 1", "dumbbell.delay_jitter: not a key of links: write jitter = { size = "),
        ("slot = 1", "dumbbell.slot: not a key of links: slots are not modeled"),
        ("loss_state = 1", "dumbbell.loss_state: not a key of links: write loss = { gilbert_elliott = {"),
        (
            "loss = { gemodel = { p = 0.1, r = 0.2 } }",
            "dumbbell.loss.gemodel: not a key of losses: write loss = { gilb",
        ),
        (
            "loss = { p = 0.1, r = 0.2 }",
            "dumbbell.loss.p: not a key of losses: write loss = { gilbert_elliott = {",
        ),
        (
            "loss = { correlation = 0.2, mean = 0.1 }",
            "correlation: not a key of losses: losses come in bursts instead",
        ),
        (
            "changes = [{ at = \"1 s\", jitter = \"1 ms\" }]",
            "dumbbell.changes[0].jitter: not a key of changes: it does not change during a run",
        ),
        // Lists are not tables.
        (
            "loss = { gilbert_elliott = [0.1, 0.2] }",
            "dumbbell.loss.gilbert_elliott = [0.1, 0.2]: must be a table, such as { p = 0.01, r = 0.2 }",
        ),
        ("loss = [0.1, 0.2]", "must be a number from 0 to below 1, such as 0.01, or a table"),
        ("jitter = [\"5 ms\", \"normal\"]", "must be a table, such as { size = \"5 ms\" }"),
        ("jitter = []", "dumbbell.jitter = []: must be a table, such as { size = \"5 ms\" }"),
        // Percentages are shares.
        (
            "loss = \"1%\"",
            "dumbbell.loss = \"1%\": must be a number from 0 to below 1, such as 0.01, or a table, such as { mean = 0.01, \
             burst = 5 }; write 0.01",
        ),
        (
            "duplicate = \"0.7%\"",
            "dumbbell.duplicate = \"0.7%\": must be a number from 0 to below 1, such as 0.01; write 0.007",
        ),
        (
            "jitter = { size = \"5 ms\", correlation = \"25%\" }",
            "jitter.correlation = \"25%\": must be a number from 0 to below 1, such as 0.25; write 0.25",
        ),
        (
            "loss = { gilbert_elliott = { p = \"1%\", r = 0.2 } }",
            "gilbert_elliott.p = \"1%\": must be a number from 0 to 1, such as 0.01; write 0.01",
        ),
        (
            "loss = { mean = \"1%\", burst = 5 }",
            "loss.mean = \"1%\": must be a number from 0 to below 1, such as 0.01",
        ),
        (
            "changes = [{ at = \"1 s\", loss = \"1%\" }]",
            "dumbbell.changes[0].loss = \"1%\": must be a number from 0 to below 1, such as 0.01; bursts",
        ),
        (
            "changes = [{ at = \"1 s\", loss = { mean = 0.1, burst = 3 } }]",
            "dumbbell.changes[0].loss: must be a number from 0 to below 1, such as 0.01; bursts of losses do not change",
        ),
        // (Almost) all packets are lost.
        (
            "loss = { gilbert_elliott = { p = 1, r = 1e-9 } }",
            "gilbert_elliott.r = 1e-9: is so low that (almost) all packets are lost",
        ),
        (
            "loss = { mean = 0.9999999, burst = 1e8 }",
            "dumbbell.loss.mean = 0.9999999: must be at most 0.999999",
        ),
    ] {
        let error = match study_of(&scenario(link)) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{link} is taken"),
        };
        assert!(error.contains(wanted), "{link}\n  {error}\n  {wanted}");
    }
}

#[test]
fn what_may_surprise_is_noted() {
    for (link, wanted) in [
        ("loss = 0.01", "loss = 0.01: wire_loss_rate counts"),
        ("loss = { mean = 0.01, burst = 5 }", "loss: 1.00% in the mean: wire_loss_rate counts"),
        (
            "loss = { gilbert_elliott = { p = 0, r = 0.5, good_loss = 0.1 } }",
            "loss.gilbert_elliott.p = 0: the chain never enters the bad state",
        ),
        (
            "jitter = { size = \"10 ms\", distribution = \"normal\" }",
            "jitter: packets may be up to 40 ms early, but the delay is 20 ms; ",
        ),
        (
            "jitter = { size = \"5 ms\", distribution = \"normal\" }\nchanges = [{ at = \"1 s\", delay = \"15 ms\" }]",
            "jitter: packets may be up to 20 ms early, but the delay is 15 ms at its shortest; ",
        ),
        (
            "reverse.jitter = { size = \"5 ms\", distribution = \"normal\" }\nreverse.delay = \"15 ms\"",
            "jitter: packets may be up to 20 ms early, but the delay is 15 ms; ",
        ),
        (
            "jitter = { size = \"15 ms\" }\nchanges = [{ at = \"1 s\", rate = \"80 Mbit/s\" }]",
            "jitter: packets stay in order, and about 100 of 1500 B are sent in size = 15 ms, ",
        ),
        ("reverse.loss = 0.3", "reverse.loss = 0.3: wire_loss_rate counts"),
        (
            "reverse.loss = { mean = 0.01, burst = 3 }",
            "reverse.loss: 1.00% in the mean: wire_loss_rate counts",
        ),
        ("loss = 0.1\nreverse.loss = 0.02", "loss = 0.1: wire_loss_rate counts"),
        ("changes = [{ at = \"1 s\", loss = 0.1 }]", "loss: up to 10.00%: wire_loss_rate counts"),
        ("changes = \"loss.csv\"", "loss: up to 5.00%: wire_loss_rate counts"),
    ] {
        let notes = study_of(&scenario(link)).unwrap().notes();
        assert!(notes.iter().any(|note| note.starts_with(wanted)), "{link}: {notes:?}");
    }
    for link in
        ["", "jitter = { size = \"20 ms\" }", "jitter = { size = \"5 ms\", distribution = \"normal\" }"]
    {
        let notes = study_of(&scenario(link)).unwrap().notes();
        assert_eq!(notes, [""; 0], "{link}");
    }
}

/// The delay of a link may be drawn: what counts is the shortest.
#[test]
fn jitter_is_measured_against_the_shortest_draw() {
    let text = scenario("jitter = { size = \"5 ms\", distribution = \"normal\" }");
    let text = text
        .replace("delay = \"20 ms\"", "delay = { uniform = [\"5 ms\", \"60 ms\"] }")
        .replace("80 ms", "200 ms");
    let notes = study_of(&text).unwrap().notes();
    let wanted = "jitter: packets may be up to 20 ms early, but the delay is 5 ms at its shortest; ";
    assert!(notes.iter().any(|note| note.starts_with(wanted)), "{notes:?}");
}

#[test]
fn windows_that_grow_by_few_acknowledgments_are_noted() {
    let notes = |tcp: &str| {
        let gro = format!("count = 2, tcp = {{ gro = \"0.1 ms\"{tcp} }}");
        study_of(&scenario("").replace("count = 2", &gro)).unwrap().notes()
    };
    let of_gro = |notes: &[String]| notes.iter().filter(|note| note.contains("tcp.gro leaves one")).count();
    assert_eq!(of_gro(&notes("")), 1, "{:?}", notes(""));
    assert_eq!(of_gro(&notes(", growth = \"packets\"")), 0);
}

/// Jitter and losses of nothing are none, so that a wire of real packets takes them.
#[test]
fn no_size_is_no_jitter_and_no_mean_no_bursts() {
    for link in [
        "jitter = { size = \"0 s\", distribution = \"normal\", reorder = true }",
        "loss = { mean = 0, burst = 3 }",
        "loss = { gilbert_elliott = { p = 0, r = 1 } }",
        "duplicate = 0",
    ] {
        assert_eq!(both(link), [Impairments::default(), Impairments::default()], "{link}");
    }
}

#[test]
fn a_key_inside_a_number_is_refused_with_the_table_to_set() {
    let mut document = Document::parse(&scenario("loss = 0.01"), "x.toml").unwrap();
    let error = document.set_text("dumbbell.loss.mean", "0.02").unwrap_err().to_string();
    assert!(error.contains("set dumbbell.loss as a whole; write { mean = 0.01, burst = 5 }"), "{error}");
}
