//! Handovers of links: what a file says, what is refused, and what runs make of it.

#![allow(clippy::result_large_err)] // Errors end a test.

use quell_scenario::{Document, Plugins, Point, ScenarioError, Study, notes};
use quell_sim::network::{LinkSpec, Network, Schedule};
use quell_sim::{Control, Engine};
use quell_units::{Duration, Time};

/// A dumbbell whose table goes on with `link`.
fn scenario(link: &str) -> String {
    format!(
        r#"schema = 1
duration = "10 s"
aqm = [{{ algorithm = "codel" }}, {{ algorithm = "drop-tail" }}]
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
    Document::parse(text, "x.toml").unwrap().study(&Plugins::new())
}

fn point(link: &str) -> Point {
    study_of(&scenario(link)).unwrap_or_else(|e| panic!("{link}: {e}")).points.remove(0)
}

fn network(point: &Point, aqm: usize, seed: u64) -> Network {
    point.plan(aqm, seed, &Plugins::new()).unwrap().network
}

/// The forward and the reverse link.
fn both(link: &str) -> [LinkSpec; 2] {
    let mut links = network(&point(link), 0, 1).links.into_iter();
    [links.next().unwrap(), links.next().unwrap()]
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(n: u64) -> Time {
    Time::ZERO + ms(n)
}

/// The delay at the middle of each interval of a handover every 2 s, first after 1 s.
fn delays(link: &LinkSpec) -> Vec<Duration> {
    [500, 2_000, 4_000, 6_000, 8_000, 9_500].map(|t| link.delay.at(at(t))).to_vec()
}

const STEPS: &str = "every = \"2 s\", first = \"1 s\", delay = { uniform = [\"5 ms\", \"25 ms\"] }";

const FORMS: &[&str] = &[
    "handovers = { every = \"2 s\", delay = { uniform = [\"0 ms\", \"15 ms\"] } }",
    "handovers = { every = \"2 s\", first = \"1 s\", delay = { uniform = [\"0 ms\", \"15 ms\"] } }",
    "handovers = { every = \"2 s\", outage = \"150 ms\" }",
    "handovers = { every = \"2 s\", outage = { uniform = [\"50 ms\", \"250 ms\"] }, lost = true }",
    "handovers = { every = \"2 s\", outage = \"150 ms\" }\nreverse.handovers = { every = \"2 s\" }",
    "reverse.handovers = { every = \"3 s\", outage = \"250 ms\", lost = true }",
    "handovers = { every = \"2 s\", outage = \"100 ms\", delay = { uniform = [\"0 ms\", \"15 ms\"] } }\nchanges = { list = \
     [[\"0 s\", \"10 Mbit/s\"], [\"1 s\", \"4 Mbit/s\"]], repeat = \"3 s\" }\njitter = { size = \"4 ms\" }",
];

/// Both directions take the same path, whatever the algorithm, and each seed has its own.
#[test]
fn a_path_has_a_delay_of_its_own_until_the_next_handover() {
    let link = format!("handovers = {{ {STEPS} }}");
    let [there, back] = both(&link);
    let found = delays(&there);
    assert_eq!((&there.delay, &there.rate), (&back.delay, &Schedule::constant(there.rate.initial)));
    assert!(found.iter().all(|d| (ms(25)..=ms(45)).contains(d)), "{found:?}");
    let mut all = found.clone();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 6, "{found:?}");
    for (t, changes) in [(999, false), (1000, true), (2999, false), (3000, true), (8999, false), (9000, true)]
    {
        assert_eq!(there.delay.next_change(at(t - 1)) == at(t), changes, "{t} ms");
    }
    let of = |aqm, seed| delays(&network(&point(&link), aqm, seed).links[0]);
    assert_eq!(of(1, 1), found);
    assert_ne!(of(0, 2), found);
    // Outages are drawn from another stream. A direction with handovers of its own draws the same numbers for them.
    let [out, own] = both(&format!(
        "handovers = {{ {STEPS}, outage = {{ uniform = [\"1 ms\", \"9 ms\"] }} }}\nreverse.handovers = {{ every = \"2 s\", \
         first = \"1 s\", delay = {{ uniform = [\"0 ms\", \"10 ms\"] }} }}"
    ));
    assert_eq!(delays(&out), found);
    for (own, found) in delays(&own).into_iter().zip(&found) {
        let (own, found) = (own.as_secs_f64() - 0.020, found.as_secs_f64() - 0.025);
        assert!((own - found / 2.0).abs() < 1e-8, "{own} {found}");
    }
}

#[test]
fn nothing_is_sent_in_an_outage_or_all_of_it_is_lost() {
    let outage = "every = \"2 s\", first = \"1 s\", outage = \"100 ms\"";
    let [waits, back] = both(&format!("handovers = {{ {outage} }}"));
    assert_eq!((&waits.rate, waits.impairments.outages.len()), (&back.rate, 0));
    let rates = [0, 999, 1000, 1099, 1100, 3050, 3100].map(|t| waits.rate.at(at(t)).bps());
    assert_eq!(rates, [10_000_000, 10_000_000, 0, 0, 10_000_000, 0, 10_000_000]);
    let [loses, _] = both(&format!("handovers = {{ {outage}, lost = true }}"));
    assert!(loses.rate.is_constant());
    assert_eq!(loses.impairments.outages[..2], [(at(1000), at(1100)), (at(3000), at(3100))]);
    // What waits is late, and what is lost is sent again.
    let run = |handovers: &str| {
        let network = network(&point(handovers), 1, 1);
        quell_sim::run(network, Engine::Fast, &Control::default()).unwrap().conservation
    };
    let (plain, waits) = (run(""), run(&format!("handovers = {{ {outage} }}")));
    let loses = run(&format!("handovers = {{ {outage}, lost = true }}"));
    assert_eq!((plain.lost, waits.lost), (0, 0));
    // 10 Mbit/s in packets of 1000 bytes are 125 in 100 ms; a sender stops after its window.
    assert!((100..=5 * 260).contains(&loses.lost), "{loses:?}");
    assert!(
        waits.delivered < plain.delivered && waits.delivered > plain.delivered * 3 / 4,
        "{waits:?} {plain:?}"
    );
}

/// What is written out is the same scenario, and both engines make the same of it.
#[test]
fn every_form_is_written_out_and_runs_alike() {
    let mut seen = vec![point("").identity(0).unwrap().text];
    assert!(!seen[0].contains("handovers"));
    for form in FORMS {
        let point = point(form);
        let (text, identity) = (point.to_toml(), point.identity(0).unwrap().text);
        let again = study_of(&text).unwrap_or_else(|e| panic!("{form}: {e}\n{text}")).points.remove(0);
        assert_eq!(again.to_toml(), text, "{form}");
        assert!(!seen.contains(&identity), "{form}");
        seen.push(identity);
        let run = |engine, point: &Point| {
            quell_sim::run(network(point, 0, 1), engine, &Control::default()).unwrap()
        };
        let [fast, reference] = [Engine::Fast, Engine::Reference].map(|engine| run(engine, &point));
        assert_eq!((fast.digest, fast.conservation), (reference.digest, reference.conservation), "{form}");
        assert_eq!(fast.digest, run(Engine::Fast, &again).digest, "{form}\n{text}");
    }
}

#[test]
fn what_no_handover_can_be_is_refused_with_line_and_rule() {
    for (link, wanted) in [
        (
            "handovers = { every = \"0 s\", outage = \"1 ms\" }",
            "x.toml:9: dumbbell.handovers.every = \"0 s\": must be longer than 0 s",
        ),
        ("handovers = { outage = \"1 ms\" }", "dumbbell.handovers.every: is missing"),
        ("handovers = \"15 s\"", "dumbbell.handovers = \"15 s\": must be a table, such as { every"),
        ("handovers = [\"15 s\"]", "must be a table, such as { every"),
        ("handovers = { every = \"2 s\" }", "dumbbell.handovers: change nothing: give a delay or an outage"),
        (
            "handovers = { every = \"2 s\", delay = \"5 ms\" }",
            "dumbbell.handovers.delay = \"5 ms\": must be a table, such as { uniform",
        ),
        (
            "handovers = { every = \"2 s\", delay = { uniform = [\"5 ms\", \"1 ms\"] } }",
            "dumbbell.handovers.delay: must increase from the first value",
        ),
        (
            "handovers = { every = \"2 s\", outage = { uniform = [\"5 ms\", \"1 ms\"] } }",
            "dumbbell.handovers.outage: must increase from the first value",
        ),
        (
            "handovers = { every = \"2 s\", outage = \"2 s\" }",
            "dumbbell.handovers.outage = \"2 s\": must be shorter than the time from one handover to the next (2 s)",
        ),
        (
            "handovers = { every = \"2 s\", delay = { uniform = [\"0 ms\", \"1 ms\"] }, lost = true }",
            "dumbbell.handovers.lost = true: requires an outage",
        ),
        (
            "handovers = { every = \"2 s\", first = \"0 s\", outage = \"1 ms\" }",
            "dumbbell.handovers.first = \"0 s\": must be later than 0 s",
        ),
        (
            "handovers = { every = \"1 us\", outage = \"10 ns\" }",
            "dumbbell.handovers.every = \"1 us\": makes 5000001 handovers in 10 s; at most 5000000 are allowed",
        ),
        (
            "reverse.handovers = { every = \"2 s\", outage = \"3 s\" }",
            "dumbbell.reverse.handovers.outage = \"3 s\": must be shorter",
        ),
        ("reverse.handovers = { every = \"2 s\" }", "dumbbell.reverse.handovers: change nothing"),
        ("handover = 1", "dumbbell.handover: not a key of links: write handovers = {"),
        (
            "handovers = { every = \"2 s\", outage = \"1 ms\" }\nchanges = { list = [[\"0 s\", \"9 Mbit/s\"], [\"1 us\", \
             \"10 Mbit/s\"]], repeat = \"2 us\" }",
            "dumbbell.changes",
        ),
    ] {
        let refused = study_of(&scenario(link)).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains(wanted), "{link}\n{refused}");
    }
}

#[test]
fn what_may_surprise_is_noted() {
    let said = |link: &str| notes(&[point(link)]).join("\n");
    let late = said("handovers = { every = \"15 s\", first = \"12 s\", outage = \"100 ms\" }");
    assert!(
        late.contains("handovers: the first comes at 12 s, after the end (10 s), so none happens"),
        "{late}"
    );
    let lost = said("handovers = { every = \"3 s\", outage = \"100 ms\", lost = true }");
    assert!(lost.contains("wire_loss_rate counts what outages lose"), "{lost}");
    assert!(!said("handovers = { every = \"3 s\", outage = \"100 ms\" }").contains("handovers"));
}
