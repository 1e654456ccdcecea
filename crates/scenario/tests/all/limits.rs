//! Nothing saturates silently: what is too large is refused, with the rule, and what is not runs as it says.

use proptest::prelude::*;
use quell_scenario::{Plugins, ScenarioError, Study};
use quell_sim::{Control, Engine};

fn scenario(rate: &str, delay_ns: u64, duration: &str, flows: &str) -> String {
    format!(
        r#"
        schema = 1
        duration = "{duration}"
        [dumbbell]
        rate = "{rate}"
        delay = "{delay_ns} ns"
        buffer = "1000 packets"
        access_rate = "none"
        [[aqm]]
        algorithm = "drop-tail"
        [[flows]]
        name = "ftp"
        {flows}
        "#
    )
}

#[allow(clippy::result_large_err)] // As in the library.
fn parse(text: &str) -> Result<Study, ScenarioError> {
    Study::parse(text, "x.toml", &Plugins::new())
}

/// The bytes that the receiver of the only flow gets.
fn delivered(study: &Study) -> u64 {
    let network = study.points[0].plan(0, 1, &Plugins::new()).unwrap().network;
    let outcome = quell_sim::run(network, Engine::Fast, &Control::default()).unwrap();
    outcome.flows[0].segments.iter().map(|s| s.delivered_bytes).sum()
}

/// Groups have numbers of 16 bits, and none wraps.
#[test]
fn more_groups_than_have_a_number_are_refused() {
    let groups: String = (0..u16::MAX)
        .map(|i| format!("[[flows]]\nname = \"g{i}\"\nclass = \"one\"\nrtt = \"60 ms\"\n"))
        .collect();
    let text =
        format!("{}{groups}", scenario("1 Gbit/s", 1_000_000, "10 s", "class = \"one\"\nrtt = \"60 ms\""));
    let refused = match parse(&text) {
        Err(e) => e.to_string(),
        Ok(study) => study.points[0].plan(0, 1, &Plugins::new()).err().unwrap().to_string(),
    };
    assert!(refused.contains("has 65536 groups, and at most 65535 are allowed"), "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// A window of W packets brings W packets a round trip, at any rate up to 1 Tbit/s, over any delay up to 1 s and
    /// with any size of packets; or the scenario is refused, because its acknowledgments take less than a nanosecond.
    #[test]
    fn a_window_is_worth_what_it_says_or_is_refused(
        exponent in 3.0..12.0_f64,
        delay_ns in prop_oneof![0..1_000_u64, 0..1_000_000_000_u64, Just(1_000_000_000)],
        packet in prop_oneof![Just(40_u64), 40..65_535_u64],
        window in 1..200_u64,
        recovery in prop_oneof!["reno", "sack", "rack"],
        pacing: bool,
    ) {
        let rate = 10_f64.powf(exponent) as u64;
        let sent = packet as f64 * 8e9 / rate as f64;
        // A packet there and its acknowledgment back, at least; the link, at most.
        let alone = 2.0 * delay_ns as f64 + sent + 40.0 * 8e9 / rate as f64;
        let round = alone.max(window as f64 * sent);
        let duration = (20.0 * round) as u64 + 10;
        let flows = format!(
            "[flows.tcp]\nrecovery = \"{recovery}\"\npacing = {pacing}\npacket = \"{packet} B\"\nsyn = false\n\
             initial_window = {window}\nmax_window = {window}\nmin_rto = \"1000 s\"\ninitial_rto = \"10000000 s\"\n\
             max_rto = \"10000000 s\""
        );
        let text = scenario(&format!("{rate} bit/s"), delay_ns, &format!("{duration} ns"), &flows);
        match parse(&text) {
            Err(e) if rate > 320_000_000_000 => {
                prop_assert_eq!(e.field, "dumbbell.rate");
                prop_assert!(e.rule.starts_with("must be at most 320 Gbit/s"), "{}", e.rule);
            }
            Err(e) => prop_assert!(false, "{e}\n{text}"),
            Ok(study) => {
                prop_assert!(rate <= 320_000_000_000);
                let packets = delivered(&study) as f64 / packet as f64;
                let most = duration as f64 / round * window as f64;
                prop_assert!(packets <= most + window as f64 + 1.0, "{packets} of {most}\n{text}");
                // Less the first and the last round trip. Paced packets are whole nanoseconds apart.
                let coarse = if pacing && round < 10.0 * window as f64 { 0.8 } else { 0.95 };
                prop_assert!(packets >= coarse * most - 2.0 * window as f64 - 1.0, "{packets} of {most}\n{text}");
            }
        }
    }
}

#[test]
fn rates_that_cannot_be_simulated_are_refused_and_others_are_not() {
    let tcp =
        |rate: &str| parse(&scenario(rate, 1_000_000_000, "10 s", "")).map(|_| ()).map_err(|e| e.reason());
    assert_eq!(tcp("320 Gbit/s"), Ok(()));
    let refused = tcp("400 Gbit/s").unwrap_err();
    assert!(
        refused.contains("must be at most 320 Gbit/s") && refused.contains("40 B, an acknowledgment"),
        "{refused}"
    );
    let udp = "kind = \"udp\"\nrate = \"400 Gbit/s\"";
    assert!(parse(&scenario("400 Gbit/s", 1_000_000_000, "10 s", udp)).is_ok());
}

#[test]
fn packets_that_have_no_number_are_refused() {
    let of = |rate: &str, duration: &str, flows: &str| {
        parse(&scenario(rate, 1_000_000, duration, flows)).map(|_| ()).map_err(|e| e.to_string())
    };
    // 1.25e6 packets of 1000 B each second: 2^32 in 3436 s.
    assert_eq!(of("10 Gbit/s", "3430 s", ""), Ok(()));
    let refused = of("10 Gbit/s", "3440 s", "").unwrap_err();
    assert!(
        refused.starts_with("x.toml:3: duration = \"3440 s\": is long enough for about 4300000000 packets"),
        "{refused}"
    );
    // Larger packets and smaller windows help, as it says.
    assert_eq!(of("10 Gbit/s", "3440 s", "tcp = { packet = \"1100 B\" }"), Ok(()));
    assert_eq!(of("10 Gbit/s", "3440 s", "tcp = { max_window = 2000 }"), Ok(()));
    assert!(of("10 Gbit/s", "3440 s", "count = 2\ntcp = { max_window = 2000 }").is_err());
    assert_eq!(
        of(
            "10 Gbit/s",
            "3440 s",
            "access_rate = \"10 Gbit/s\"\nrtt = \"4 ms\"\ncount = 2\ntcp = { max_window = 2000 }"
        ),
        Ok(())
    );
    // What UDP sends is known.
    let udp = |rate: &str| format!("kind = \"udp\"\nrate = \"{rate}\"");
    assert_eq!(of("10 Gbit/s", "100000 s", &udp("300 Mbit/s")), Ok(()));
    assert!(of("10 Gbit/s", "100000 s", &udp("400 Mbit/s")).is_err());
}
