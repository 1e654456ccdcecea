//! Drop profiles, read back and held against RED's curve.

use quell_router::{Platform, write};
use quell_units::{Bytes, QueueSize};

use crate::{default, shaped, with};

/// The drop probability of RED.
fn red(queue: f64, min: f64, max: f64, top: f64, gentle: bool) -> f64 {
    match queue {
        q if q < min => 0.0,
        q if q < max => top * (q - min) / (max - min),
        q if gentle && q < 2.0 * max => top + (1.0 - top) * (q - max) / max,
        _ => 1.0,
    }
}

/// The numbers between brackets of a line.
fn list(text: &str, word: &str) -> Vec<f64> {
    let line = text.lines().find(|l| l.contains("quell-down") && l.contains(word)).unwrap();
    let inner = line.split_once("[ ").unwrap().1.strip_suffix(" ]").unwrap();
    inner.split(' ').map(|n| n.parse().unwrap()).collect()
}

/// Junos interpolates the points linearly; what comes out is RED's curve within a percent of the buffer.
#[test]
fn the_points_of_junos_are_the_curve_of_red() {
    for gentle in [true, false] {
        let (min, max, top, buffer) = (60e3, 180e3, 0.1, 600e3);
        let parameters = format!("min_th = \"60 kB\"\nmax_th = \"180 kB\"\nmax_p = 0.1\ngentle = {gentle}");
        let mut link = shaped("ethernet", with("red", &parameters));
        link.down.buffer = QueueSize::Bytes(buffer);
        let text = &write(Platform::Junos, &link).unwrap().parts[0].text;
        let (fill, probability) = (list(text, "fill-level"), list(text, "drop-probability"));
        assert_eq!(fill.len(), probability.len());
        assert!(fill.windows(2).all(|w| w[0] < w[1]), "{fill:?}");
        let at = |percent: f64| -> f64 {
            let after = fill.iter().position(|f| *f >= percent).unwrap();
            if after == 0 {
                return 0.0;
            }
            let share = (percent - fill[after - 1]) / (fill[after] - fill[after - 1]);
            (probability[after - 1] + share * (probability[after] - probability[after - 1])) / 100.0
        };
        for percent in 0..=100 {
            let queue = |percent: f64| red(buffer * percent / 100.0, min, max, top, gentle);
            let percent = f64::from(percent);
            let (low, high) = (queue(percent - 1.01), queue(percent + 1.01));
            let said = at(percent);
            assert!(
                (low - 0.01..=high + 0.01).contains(&said),
                "{gentle} {percent}: {said} of {low}..{high}"
            );
        }
    }
}

/// The buffer as a time is what its bytes take at the rate of full packets.
#[test]
fn the_buffer_of_junos_is_a_time() {
    let mut link = shaped("docsis", default("drop-tail"));
    link.down.buffer = QueueSize::Packets(100.0);
    let text = &write(Platform::Junos, &link).unwrap().parts[0].text;
    // 100 packets of 1500 bytes at 95 Mbit/s of frames with 18 bytes more: 100 x 1518 x 8 / 95e6 s.
    assert!(text.contains("schedulers quell-down buffer-size temporal 12783\n"), "{text}");
    assert_eq!(link.down.link.on_wire(Bytes::new(1500)).get(), 1518);
}

#[test]
fn thresholds_of_ios_xe_are_those_of_red_and_wred() {
    let line = |aqm, start: &str| {
        let text = write(Platform::IosXe, &shaped("docsis", aqm)).unwrap().parts[0].text.clone();
        let down = text.split_once("policy-map quell-down").unwrap().1;
        down.lines().find_map(|l| l.trim().strip_prefix(start).map(str::to_string)).unwrap()
    };
    let red = || {
        with(
            "red",
            "min_th = \"20 packets\"\nmax_th = \"60 packets\"\nmax_p = 0.1\nweight = 0.001953125\ngentle = false",
        )
    };
    assert_eq!(line(red(), "random-detect precedence 3 "), "20 60 10");
    assert_eq!(line(red(), "random-detect exponential-weighting-constant "), "9");
    // Cisco's own defaults: max 40, min 20 for precedence 0, each next one a ninth of the difference higher.
    let wred = || default("wred");
    assert_eq!(line(wred(), "random-detect precedence 0 "), "20 40 10");
    assert_eq!(line(wred(), "random-detect precedence 7 "), "36 40 10");
    let own = with(
        "wred",
        "classes = [{ precedence = 2, min_th = \"5 packets\", max_th = \"15 packets\", max_p = 0.5 }]",
    );
    assert_eq!(line(own, "random-detect precedence 2 "), "5 15 2");
    // A target of 5 ms at 95 Mbit/s of frames: 58 676 bytes, or 39 packets, and three times as many.
    assert_eq!(line(default("codel"), "random-detect precedence 0 "), "39 117 10");
    // DOCSIS counts 18 bytes beside the IP packet; the router counts 14 of them itself.
    assert_eq!(line(default("codel"), "shape average "), "95000000 account user-defined 4");
}
