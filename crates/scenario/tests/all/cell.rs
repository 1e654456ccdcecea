//! Cells of links: what a file says, what is refused, and what runs make of it.

#![allow(clippy::result_large_err)] // Errors end a test.

use quell_queue::Policy;
use quell_scenario::{Document, Files, FoundFile, Plugins, Point, ScenarioError, Study, notes};
use quell_sim::network::{CellSpec, Network, Schedule};
use quell_sim::{Control, Engine};
use quell_units::{BitRate, Duration, QueueSize, Time};

/// Groups of calls and of bulk over a dumbbell whose table goes on with `link`.
fn scenario(link: &str) -> String {
    format!(
        r#"schema = 1
duration = "4 s"
aqm = [{{ algorithm = "codel" }}, {{ algorithm = "drop-tail" }}]
[[flows]]
name = "calls"
kind = "udp"
count = 4
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
    let files = Files::new(|name| {
        let bytes: &[u8] = match name {
            "phone.csv" | "traces/drive.csv" => {
                b"time_s,rate_bps\n0,2000000\n0.5,12000000\n1.2,0\n1.4,6000000\n"
            }
            "phone.trace" => b"1\n2\n3\n50\n120\n121\n150\n200\n",
            _ => b"time_s,rate_bps,delay_s\n0,2000000,0.1\n",
        };
        Ok(FoundFile { name: name.to_string(), bytes: bytes.to_vec() })
    });
    Document::parse(text, "x.toml").unwrap().among(files).study(&Plugins::new())
}

fn point(link: &str) -> Point {
    study_of(&scenario(link)).unwrap_or_else(|e| panic!("{link}: {e}")).points.remove(0)
}

fn network(point: &Point) -> Network {
    point.plan(0, 1, &Plugins::new()).unwrap().network
}

fn cell(link: &str, back: bool) -> CellSpec {
    *network(&point(link)).links.swap_remove(usize::from(back)).cell.unwrap()
}

fn mbps(x: f64) -> BitRate {
    BitRate::from_bps((x * 1e6) as u64)
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

const FORMS: &[&str] = &[
    "cell = { users = [{ name = \"all\" }] }",
    "cell = { users = [{ name = \"phone\", repeat = 4 }] }",
    "cell = { scheduler = \"round-robin\", interval = \"500 us\", users = [{ name = \"near\", rate = \"40 Mbit/s\", match = { \
     group = \"calls\" } }, { name = \"far\", rate = \"4 Mbit/s\", aqm = { algorithm = \"pie\" }, buffer = \"20 kB\" }] }",
    "cell = { scheduler = \"max-rate\", users = [{ name = \"a\", changes = \"phone.csv\", match = { host = [1, 2] } }, { name = \
     \"b\", changes = { file = \"phone.trace\", bin = \"10 ms\" } }] }",
    "cell = { window = \"100 ms\", users = [{ name = \"phone\", repeat = 4, changes = { file = \"phone.csv\", repeat = \"2 s\" }, \
     shift = \"300 ms\" }] }",
    "cell = { users = [{ name = \"phone\", repeat = 3 }] }\nchanges = { list = [[\"0 s\", \"10 Mbit/s\"], [\"1 s\", \"4 \
     Mbit/s\"]], repeat = \"2 s\" }\nhandovers = { every = \"1500 ms\", outage = \"50 ms\" }",
    "[[dumbbell.reverse.cell.users]]\nname = \"of-bulk\"\nmatch.group = \"bulk\"\n[[dumbbell.reverse.cell.users]]\nname = \
     \"rest\"",
];

#[test]
fn a_file_says_who_shares_a_link() {
    let plain = cell(FORMS[0], false);
    assert_eq!(plain.policy, Policy::ProportionalFair { window: Duration::from_secs(1) });
    assert_eq!((plain.interval, plain.users.len()), (Duration::from_millis(1), 1));
    assert_eq!(plain.users[0].rate, Schedule::constant(mbps(10.0)));
    // Every host of each group is a user: the calls have four, and eight flows of bulk.
    let phones = cell(FORMS[1], false);
    let names: Vec<&str> = phones.users.iter().map(|user| user.name.as_str()).collect();
    assert_eq!(names, ["phone-1", "phone-2", "phone-3", "phone-4"]);
    let of = |flow: usize| phones.classifier.rows[phones.classifier.of_flow[flow] as usize][0];
    assert_eq!((0..12).map(of).collect::<Vec<u8>>(), [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
    // Algorithms know the user's share of its own rate.
    assert!(phones.users.iter().all(|user| user.known == mbps(2.5)));
    let two = cell(FORMS[2], false);
    assert_eq!((two.policy, two.interval), (Policy::RoundRobin, Duration::from_micros(500)));
    let rates: Vec<_> = two.users.iter().map(|user| user.rate.initial).collect();
    assert_eq!(rates, [mbps(40.0), mbps(4.0)]);
    assert_eq!(two.users[1].queue.buffer, QueueSize::Bytes(20_000.0));
    assert_eq!([two.users[0].known, two.users[1].known], [mbps(20.0), mbps(2.0)]);
    // The link can send at the highest of its users' rates, and access links are not in its way.
    let link = network(&point(FORMS[2])).links.swap_remove(0);
    assert_eq!(
        (link.rate, link.queue.is_none(), link.tree.is_none()),
        (Schedule::constant(mbps(40.0)), true, true)
    );
    let access = network(&point(FORMS[2])).links.pop().unwrap();
    assert_eq!(access.rate.initial, mbps(400.0));
    let back = cell(FORMS[6], true);
    assert_eq!(back.users.iter().map(|user| user.name.as_str()).collect::<Vec<_>>(), ["of-bulk", "rest"]);
    assert!(network(&point(FORMS[6])).links[0].cell.is_none());
}

#[test]
fn channels_follow_files_each_of_them_or_later_in_the_same() {
    let both = cell(FORMS[3], false);
    let found = [0, 600, 1300, 1500].map(|t| both.users[0].rate.at(at(t)));
    assert_eq!(found, [2.0, 12.0, 0.0, 6.0].map(mbps));
    // Three opportunities in the first bin of 10 ms, none in the second, and again after 200 ms.
    let found = [0, 15, 45, 200, 215].map(|t| both.users[1].rate.at(at(t)));
    assert_eq!(found, [3.6, 0.0, 1.2, 3.6, 0.0].map(mbps));
    let shifted = cell(FORMS[4], false);
    let first = &shifted.users[0].rate;
    for (i, user) in shifted.users.iter().enumerate() {
        for t in (0..3000).step_by(7) {
            assert_eq!(user.rate.at(at(t)), first.at(at(t + 300 * i as u64)), "{i} {t}");
        }
    }
    // Those without rates of their own have the link's, whatever that does.
    let network = network(&point(FORMS[5]));
    let link = &network.links[0];
    let users = &link.cell.as_ref().unwrap().users;
    for t in (0..4000).step_by(10) {
        let out = [1500, 3000].iter().any(|from| (*from..from + 50).contains(&t));
        let wanted = if out {
            0.0
        } else if t % 2000 < 1000 {
            10.0
        } else {
            4.0
        };
        assert!(users.iter().all(|user| user.rate.at(at(t)) == mbps(wanted)), "{t}");
        assert_eq!(link.rate.at(at(t)), mbps(wanted), "{t}");
    }
}

/// What is written out is the same scenario, and both engines make the same of it.
#[test]
fn every_form_is_written_out_and_runs_alike() {
    let mut seen = vec![point("").identity(0).unwrap().text];
    assert!(!seen[0].contains("cell"));
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
    }
}

#[test]
fn what_no_cell_can_be_is_refused_with_line_and_rule() {
    for (link, wanted) in [
        ("cell = 1", "x.toml:20: dumbbell.cell = 1: must be a table, such as { users"),
        ("cell = {}", "dumbbell.cell.users: is missing"),
        ("cell = { users = [] }", "dumbbell.cell.users = []: must have a user, such as"),
        ("cell = { users = 3 }", "dumbbell.cell.users = 3: must be a list of tables"),
        ("cell = { users = [{ rate = \"1 Mbit/s\" }] }", "dumbbell.cell.users[0].name: is missing"),
        (
            "cell = { scheduler = \"pf\", users = [{ name = \"a\" }] }",
            "dumbbell.cell.scheduler = \"pf\": must be one of: proportional-fair, round-robin, max-rate",
        ),
        (
            "cell = { interval = \"1 us\", users = [{ name = \"a\" }] }",
            "dumbbell.cell.interval = \"1 us\": must lie between 10 us and 1 s",
        ),
        (
            "cell = { interval = \"2 ms\", window = \"1 ms\", users = [{ name = \"a\" }] }",
            "dumbbell.cell.window = \"1 ms\": must be at least an interval (2 ms)",
        ),
        (
            "cell = { scheduler = \"max-rate\", window = \"1 s\", users = [{ name = \"a\" }] }",
            "dumbbell.cell.window = \"1 s\": is the memory of scheduler = \"proportional-fair\"; leave it out",
        ),
        (
            "cell = { users = [{ name = \"a\" }, { name = \"a\" }] }",
            "dumbbell.cell.users[1].name = \"a\": is the name of another user",
        ),
        (
            "cell = { users = [{ name = \"a\" }, { name = \"b\" }] }",
            "dumbbell.cell.users[1]: lacks a match: `a` has none either, and one user takes what no other does",
        ),
        (
            "cell = { users = [{ name = \"a\", match = { group = \"bulk\" } }] }",
            "dumbbell.cell.users: need a user without a match, which takes what no other does: leave out one match, or add \
             a user",
        ),
        (
            "cell = { users = [{ name = \"a\", match = { group = \"call\" } }, { name = \"b\" }] }",
            "dumbbell.cell.users[0].match.group = \"call\": unknown group; did you mean \"calls\"?",
        ),
        (
            "cell = { users = [{ name = \"a\", repeat = 256 }] }",
            "dumbbell.cell.users[0].repeat = 256: must be a whole number from 1 to 255",
        ),
        (
            "cell = { users = [{ name = \"a\", repeat = 200, match = { dscp = 1 } }, { name = \"b\", repeat = 56 }] }",
            ": make 256 users, and at most 255 are allowed: lower repeat",
        ),
        (
            "cell = { users = [{ name = \"a\", rate = \"0 bit/s\" }] }",
            "dumbbell.cell.users[0].rate = \"0 bit/s\": must lie between",
        ),
        (
            "cell = { users = [{ name = \"a\", changes = [{ at = \"1 s\", delay = \"1 ms\" }] }] }",
            "dumbbell.cell.users[0].changes",
        ),
        (
            "cell = { users = [{ name = \"a\", changes = \"other.csv\" }] }",
            "dumbbell.cell.users[0].changes = \"other.csv\": change more than the rate",
        ),
        (
            "cell = { users = [{ name = \"a\", shift = \"1 s\", changes = \"phone.csv\" }] }",
            "dumbbell.cell.users[0].shift = \"1 s\": requires a repeat",
        ),
        (
            "cell = { users = [{ name = \"a\", shift = \"1 s\", repeat = 3 }] }",
            "dumbbell.cell.users[0].shift = \"1 s\": requires rates that change: give changes",
        ),
        (
            "cell = { users = [{ name = \"a\" }] }\nshaper = { rate = \"5 Mbit/s\", burst = \"3 kB\" }",
            "dumbbell.cell: cannot be combined with a shaper or classes",
        ),
        (
            "cell = { users = [{ name = \"a\" }] }\nclasses = [{ name = \"a\" }]",
            "dumbbell.cell: cannot be combined with a shaper or classes",
        ),
        (
            "cell = { tti = \"1 ms\", users = [] }",
            "dumbbell.cell.tti: not a key of a cell: write interval = \"1 ms\"",
        ),
        (
            "cell = { users = [{ name = \"a\", trace = \"phone.csv\" }] }",
            "dumbbell.cell.users[0].trace: not a key of users of a cell: write changes = ",
        ),
        ("lte = 1", "dumbbell.lte: not a key of links: write cell = {"),
        ("reverse.cell = { users = [] }", "dumbbell.reverse.cell.users = []: must have a user"),
    ] {
        let refused = study_of(&scenario(link)).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains(wanted), "{link}\n{refused}");
    }
}

#[test]
fn what_may_surprise_is_noted() {
    let said = |link: &str| notes(&[point(link)]).join("\n");
    let void = said(FORMS[2]);
    assert!(
        void.contains("bottleneck: rate has no effect because all users of the cell have rates of their own"),
        "{void}"
    );
    let empty = said("cell = { users = [{ name = \"a\", match = { dscp = 9 } }, { name = \"b\" }] }");
    assert!(
        empty.contains("dumbbell.cell.users: no packet meets the match of `a`, so it stays empty"),
        "{empty}"
    );
    let many = said("cell = { users = [{ name = \"a\", repeat = 9 }] }");
    assert!(many.contains("4 of the 9 users `a` get packets"), "{many}");
    assert!(!said(FORMS[1]).contains("cell"));
}

/// The snippets of docs/radio.md are keys of a link.
#[test]
fn every_snippet_of_the_page_can_be_used() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/radio.md");
    let page = std::fs::read_to_string(page).unwrap();
    let snippets = page.split("```toml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0);
    let mut used = 0;
    for snippet in snippets {
        let whole = scenario("");
        let (head, _) = whole.split_once("[dumbbell]").unwrap();
        let text = format!("{head}{snippet}");
        let point = study_of(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).points.remove(0);
        let link = network(&point).links.swap_remove(0);
        assert!(
            link.cell.is_some() || !link.delay.is_constant() || text.contains("first = \"12 s\""),
            "{text}"
        );
        used += 1;
    }
    assert_eq!(used, 4);
}

/// Sweeps and settings reach into cells by the names of their users.
#[test]
fn cells_can_be_swept() {
    let text = scenario(FORMS[2]).replace(
        "schema = 1\n",
        "schema = 1\nsweep = { \"dumbbell.cell.users.far.rate\" = [\"1 Mbit/s\", \"2 Mbit/s\"] }\n",
    );
    let study = study_of(&text).unwrap();
    let rates: Vec<BitRate> = study
        .points
        .iter()
        .map(|p| p.scenario.dumbbell.as_ref().unwrap().cell.as_ref().unwrap().users[1].rate.unwrap())
        .collect();
    assert_eq!(rates, [mbps(1.0), mbps(2.0)]);
}
