//! Plans of links that no example has: what they say, and that everything that they write can run.

use proptest::prelude::*;
use quell_recommend::{
    Answer, Goal, Judged, Kind, Load, Plan, Request, Shape, Span, further, judge, plan, reach,
};
use quell_router::technology::{self, TECHNOLOGIES};
use quell_router::{Can, Platform};
use quell_units::{BitRate, Duration};

const CAN: [&str; 9] = ["cake", "fq-codel", "dualpi2", "fq-pie", "pie", "codel", "sfq", "red", "drop-tail"];

fn request(link: &str, down: &str, up: &str, rtt: &str) -> Request {
    Request {
        technology: technology::find(link).unwrap(),
        down: down.parse().unwrap(),
        up: up.parse().unwrap(),
        rtt: rtt.parse().unwrap(),
        hosts: 1,
        load: Load::named("home").unwrap(),
        goal: "call P99 < 20 ms".parse().unwrap(),
        can: Can::Algorithms(CAN.to_vec()),
        device: None,
        cpu_limit: None,
        trace: None,
    }
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.rows.iter().map(|row| row.candidate.name.as_str()).collect()
}

/// Everything that is written passes the scenario's own checks (`Row` has the study), with links in both directions, as many
/// seeds for each candidate, and what is measured there.
#[test]
fn links_of_all_kinds_have_scenarios() {
    for technology in TECHNOLOGIES {
        let name = technology.name;
        let plan = plan(&request(name, "50Mbit/s", "10Mbit/s", "10ms..60ms"))
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(plan.rows.len(), 4, "{name}");
        assert_eq!(plan.rows[0].candidate.shape, Shape::None, "{name}");
        for row in &plan.rows {
            let links = row.study.points[0].links();
            for column in &plan.columns {
                assert!(
                    links.iter().any(|link| link == column.link),
                    "{name}: {} not in {links:?}",
                    column.link
                );
            }
            let [.., point] = &row.study.points[..] else { panic!() };
            assert_eq!(point.scenario.aqm.len(), 1);
        }
    }
}

#[test]
fn a_varying_link_is_tried_at_three_rates() {
    let plan = plan(&request("lte", "5..60Mbit/s", "2..20Mbit/s", "30ms..90ms")).unwrap();
    assert_eq!(names(&plan), ["today", "cake-at-least", "cake-at-mean", "cake-following"]);
    assert_eq!(plan.rows[1].candidate.shaper(&plan.down).rate, BitRate::from_bps(4_250_000));
    // 85% of the mean, of which the shape of the course decides: 12.55 Mbit/s of 3 to 24 there.
    let mean = plan.down.mean.bps() as f64;
    assert!((mean / 28.4e6 - 1.0).abs() < 0.01, "{mean}");
}

/// A router that has none of the usual, one of them, or another.
#[test]
fn candidates_are_those_that_the_router_has() {
    let of = |can: &[&'static str]| {
        let request = Request {
            can: Can::Algorithms(can.to_vec()),
            ..request("docsis", "95Mbit/s", "18Mbit/s", "10ms..80ms")
        };
        plan(&request).map(|plan| names(&plan).join(" "))
    };
    assert_eq!(of(&["pie"]).unwrap(), "today pie");
    assert_eq!(of(&["red", "drop-tail"]).unwrap(), "today red drop-tail");
    assert_eq!(of(&["blue"]).unwrap(), "today blue");
    assert!(of(&[]).unwrap_err().contains("no algorithm"));
}

#[test]
fn links_that_cannot_be_are_refused_with_the_rule() {
    let why = |r: Request| plan(&r).unwrap_err();
    let base = || request("docsis", "95Mbit/s", "18Mbit/s", "10ms..80ms");
    assert!(why(Request { hosts: 0, ..base() }).contains("hosts = 0"));
    assert!(
        why(request("docsis", "95Mbit/s", "1kbit/s", "10ms")).contains("up = 1 kbit/s: must lie between")
    );
    assert!(why(request("docsis", "95Mbit/s", "18Mbit/s", "10s")).contains("rtt = 10 s"));
    assert!(why(request("port", "100Gbit/s", "10Mbit/s", "10ms")).contains("1000 times"));
    let asks = |goal: &str| Request { goal: goal.parse().unwrap(), ..base() };
    // By hand: 95 Mbit/s times 1500 of 1518 bytes.
    assert!(why(asks("goodput down > 94 Mbit/s")).contains("carry 93.9 Mbit/s of IP at most"));
    assert!(plan(&asks("goodput > 99%")).is_ok());
    assert!(
        why(Request { cpu_limit: Some(BitRate::from_bps(9_000_000)), ..base() })
            .contains("cpu-limit = 9 Mbit/s")
    );
    for device in ["eth0; rm", "a-name-of-16-char", "a/b", ""] {
        let found = why(Request { device: Some(device.to_string()), ..base() });
        assert!(
            found.starts_with(&format!("--dev = \"{device}\"")) && found.contains("15 letters"),
            "{found}"
        );
    }
    assert!(plan(&Request { device: Some("eth0.7@br-lan".to_string()), ..base() }).is_ok());
    let goal: Goal = "page P95 < 2 s".parse().unwrap();
    let load = Load::named("bulk").unwrap();
    assert!(why(Request { goal, load, ..base() }).contains("has no pages"));
}

#[test]
fn a_slow_processor_lowers_the_rates_and_says_so() {
    let limit = Some(BitRate::from_bps(300_000_000));
    let request = Request { cpu_limit: limit, ..request("docsis", "1Gbit/s", "50Mbit/s", "10ms..80ms") };
    let plan = plan(&request).unwrap();
    let rates = [&plan.down, &plan.up].map(|way| way.shaped.rate.bps());
    assert_eq!(rates, [252_500_000, 47_500_000]);
    assert!(plan.notes.iter().any(|note| note.contains("the router shapes 300 Mbit/s")), "{:?}", plan.notes);
    // The slower direction alone is what it can shape at the usual rate; down, the link is as it is.
    assert_eq!(names(&plan), ["today", "cake", "fq-codel", "dualpi2", "cake-up-alone"]);
    let alone = &plan.rows[4];
    let rates = [&plan.down, &plan.up].map(|way| alone.candidate.shaper(way).rate.bps());
    assert_eq!(rates, [1_000_000_000, 47_500_000]);
    assert_eq!(
        (alone.text.matches("bandwidth =").count(), plan.rows[1].text.matches("bandwidth =").count()),
        (1, 2)
    );
}

/// One direction is tried alone where what one has today already meets the goal in the other one. A load that sends no
/// more than acknowledgments down leaves no queue there.
#[test]
fn one_direction_is_shaped_alone_where_the_other_has_no_queue() {
    let call = "kind = \"udp\"\nmeasure_delay = true\npacket = \"74 B\"\nrate = \"29.6 kbit/s\"";
    let (group, up) = ("[[flows]]\nname =", "direction = \"reverse\"");
    let text = format!(
        "{group} \"upload\"\n{up}\ncount = 2\n{group} \"voice\"\n{call}\n{group} \"voice-up\"\n{up}\n{call}\n"
    );
    let load = Load::read(&text, "upload").unwrap();
    let request = Request { load, ..request("docsis", "8Mbit/s", "4Mbit/s", "20ms") };
    let mut plan = plan(&request).unwrap();
    let run = |rows: &[quell_recommend::Row]| {
        let parts = rows.iter().map(|row| (row.candidate.name.clone(), row.study.clone())).collect();
        quell_lab::run(&quell_scenario::Study::join(parts), &quell_lab::Options::default()).unwrap()
    };
    let first = run(&plan.rows);
    let mut found: Vec<_> = (0..plan.rows.len()).map(|i| Ok((&first, i))).collect();
    let more = further(&request, &plan, &judge(&request, &plan, &found)).unwrap();
    let alone = more.first().unwrap();
    assert!(alone.candidate.name.ends_with("-up-alone"), "{}", alone.candidate.name);
    let second = run(&more);
    found.extend((0..more.len()).map(|i| Ok((&second, i))));
    plan.rows.extend(more);
    let answer = judge(&request, &plan, &found);
    let row = answer.rows.iter().find(|row| row.name.ends_with("-up-alone")).unwrap();
    assert_eq!(row.fate(), "yes", "{}", row.why);
    assert!(plan.rounds()[1] >= (plan.rows.len() - 4) * plan.rounds()[0] / 4);
}

/// What no word of a line says is simulated as the kernel has it; only a port with senders such as DCTCP
/// marks for them; PIE's gains are the kernel's.
#[test]
fn queues_are_those_that_kernels_have() {
    let of = |link: &str, can: Can, name: &str| {
        let plan = plan(&Request { can, ..request(link, "1Gbit/s", "1Gbit/s", "1ms") }).unwrap();
        plan.rows.iter().find(|row| row.candidate.name == name).unwrap().text.clone()
    };
    let openwrt = of("docsis", Can::Platform(Platform::OpenWrt), "fq-codel");
    assert!(openwrt.contains("rules = \"linux\"") && openwrt.contains("on_empty = \"keeps\""), "{openwrt}");
    let newest = of("docsis", Can::parse("linux-7.2").unwrap(), "fq-codel");
    assert!(newest.contains("rules = \"linux\"") && !newest.contains("on_empty"), "{newest}");
    let freebsd = of("docsis", Can::Platform(Platform::FreeBsd), "fq-codel");
    assert!(!freebsd.contains("rules") && !freebsd.contains("arithmetic"), "{freebsd}");
    let all = || Can::Algorithms(vec!["fq-codel", "fq-pie", "pie"]);
    for link in ["port", "wifi", "docsis"] {
        assert!(!of(link, all(), "fq-codel").contains("ce_threshold"), "{link}");
    }
    // Senders with plain ECN would halve their windows at each of those marks.
    let load = Load::named("l4s").unwrap();
    let goal = "goodput > 50%".parse().unwrap();
    let prague = Request { can: all(), load, goal, ..request("port", "1Gbit/s", "1Gbit/s", "1ms") };
    assert!(plan(&prague).unwrap().rows.iter().any(|row| row.text.contains("ce_threshold")));
    for name in ["pie", "fq-pie"] {
        let text = of("docsis", all(), name);
        assert!(!text.contains("alpha") && !text.contains("beta"), "{text}");
    }
}

/// The best of results of which one row alone meets the goal is that row; and each figure is that of its own scenario when it
/// runs by itself.
#[test]
fn figures_are_those_of_each_scenario_by_itself() {
    let request = request("docsis", "4Mbit/s", "1Mbit/s", "20ms");
    let plan = plan(&request).unwrap();
    let parts = plan.rows.iter().map(|row| (row.candidate.name.clone(), row.study.clone())).collect();
    let options = quell_lab::Options::default();
    let joined = quell_lab::run(&quell_scenario::Study::join(parts), &options).unwrap();
    let found: Vec<_> = (0..plan.rows.len()).map(|i| Ok((&joined, i))).collect();
    let answer = judge(&request, &plan, &found);
    for (row, name) in plan.rows.iter().zip(names(&plan)) {
        let study =
            quell_scenario::Study::parse(&row.text, "alone", &quell_scenario::Plugins::new()).unwrap();
        let alone = quell_lab::run(&study, &options).unwrap();
        let judged = answer.rows.iter().find(|judged| judged.name == name).unwrap();
        for (column, cell) in plan.columns.iter().zip(&judged.cells) {
            let view =
                quell_metrics::View { link: Some(column.link.into()), ..quell_metrics::View::of_point(0) };
            let quantity: quell_metrics::Quantity = column.metric.parse().unwrap();
            let estimate = alone.estimate(&view, &alone.algorithms(0)[0], quantity);
            assert_eq!(cell.map(|cell| cell.estimate), estimate, "{name} {}", column.metric);
        }
    }
    let met: Vec<bool> = answer.rows.iter().map(|judged| judged.meets()).collect();
    assert!(met.is_sorted_by_key(|meets| !meets), "{met:?}");
    assert!(answer.rows.iter().all(|judged| !judged.why.is_empty()));
    // Of those that meet the goal alike, the one with more goodput comes first.
    let product = |judged: &Judged| {
        let cells =
            plan.columns.iter().zip(&judged.cells).filter(|(column, _)| column.answers(Kind::Goodput));
        cells.map(|(_, cell)| cell.unwrap().estimate.mean).product::<f64>()
    };
    for pair in answer.rows.windows(2).filter(|pair| pair.iter().all(|row| row.fate() == "yes")) {
        assert!(product(&pair[0]) >= product(&pair[1]), "{} {}", pair[0].name, pair[1].name);
    }
    // A row whose simulation failed comes last and says why; the others stay as they are.
    let mut without = found.clone();
    without[1] = Err("no memory is left".to_string());
    let left = judge(&request, &plan, &without);
    let last = left.rows.last().unwrap();
    assert_eq!((last.name.as_str(), last.fate()), (names(&plan)[1], "failed"));
    assert_eq!(last.why, "its simulation failed: no memory is left");
    let others = |answer: &Answer| -> Vec<String> {
        answer.rows.iter().map(|row| row.name.clone()).filter(|name| *name != last.name).collect()
    };
    assert_eq!(others(&left), others(&answer));
    assert!(!judge(&request, &plan, &vec![Err("none".to_string()); plan.rows.len()]).met);
    // The shaper keeps the queue out of the modem: a call waits less than today.
    let call = |name: &str| {
        let judged = answer.rows.iter().find(|judged| judged.name == name).unwrap();
        let at = plan.columns.iter().position(|column| column.title == "call P99 down").unwrap();
        judged.cells[at].unwrap().estimate.mean
    };
    assert!(call("fq-codel") < 0.7 * call("today"), "{} {}", call("fq-codel"), call("today"));
    let best = plan.rows.iter().find(|row| row.candidate.name == answer.rows[0].name).unwrap();
    assert_eq!(reach(&request, &plan, &best.candidate).unwrap().len(), 5);
    // Lower rates are tried until something surely meets the goal, and only then.
    let is_met = answer.rows.iter().any(|row| row.fate() == "yes");
    assert_eq!(further(&request, &plan, &answer).unwrap().is_empty(), is_met);
}

/// By hand: 1514 B are an IP packet of 1500; with 30 B they take 24 code words of PTM beside their 1530 B.
#[test]
fn scenarios_count_what_packets_take_on_the_wire() {
    let plan = plan(&request("vdsl-pppoe", "50Mbit/s", "10Mbit/s", "10ms..60ms")).unwrap();
    let [today, cake, fq_codel, ..] = &plan.rows[..] else { panic!() };
    for row in [today, cake, fq_codel] {
        let modem = "shaper = { rate = \"10 Mbit/s\", burst = \"3044 B\", layer = \"ethernet\", overhead = \"30 B\", framing = \"ptm\" }";
        assert!(row.text.contains(modem), "{}", row.text);
    }
    assert!(
        cake.text.contains("bandwidth = \"9.5 Mbit/s\"") && cake.text.contains("framing = \"ptm\""),
        "{}",
        cake.text
    );
    // Linux's htb has no framing of PTM: 64/65 of the rate and of the burst stand for it, and the code word begun is 1 B.
    let router = "shaper = { rate = \"9353.792 kbit/s\", burst = \"3061 B\", layer = \"ethernet\", overhead = \"31 B\" }";
    assert!(fq_codel.text.contains(router), "{}", fq_codel.text);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    /// Every link within the limits has scenarios that pass their checks, whatever its rates, round trips and technology.
    #[test]
    fn no_link_within_the_limits_fails(
        kind in 0..TECHNOLOGIES.len(),
        down in 4.5..11.0f64,
        apart in -2.0..2.0f64,
        spread in 0.0..1.5f64,
        rtt in -4.5..0.35f64,
        hosts in 1..8u16,
    ) {
        let rate = |log: f64| BitRate::from_bps(10f64.powf(log.clamp(4.1, 11.5)) as u64);
        let time = Duration::from_secs_f64(10f64.powf(rtt));
        let request = Request {
            technology: &TECHNOLOGIES[kind],
            down: Span { least: rate(down), most: rate(down + spread) },
            up: Span::of(rate(down - apart)),
            rtt: Span { least: time, most: time + time },
            hosts,
            ..request("docsis", "1Mbit/s", "1Mbit/s", "10ms")
        };
        let plan = plan(&request);
        prop_assert!(plan.is_ok(), "{:?}", plan.err());
        let plan = plan.unwrap();
        for row in &plan.rows {
            prop_assert!(reach(&request, &plan, &row.candidate).is_ok());
        }
    }
}
