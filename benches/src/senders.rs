//! The senders whose packets are counted.

use crate::one::Args;

/// The senders with their runs, and at most how many times what those cost that have no aim: twenty flows on 50 Mbit/s, where
/// few packets are lost but by BBR.
pub fn senders() -> Vec<(&'static str, Args, Option<f64>)> {
    type Set = &'static [(&'static str, &'static str)];
    const CONGESTION: &str = "flows.reno.tcp.congestion";
    const PACED: (&str, &str) = ("flows.reno.tcp.pacing", "true");
    const RACK: (&str, &str) = ("flows.reno.tcp.recovery", "rack");
    // BBR fills 500 packets and loses what Reno does not: with room for all, the cost is its own.
    const ROOM: Set = &[("dumbbell.buffer", "5000 packets")];
    // Prague answers marks.
    const MARKS: Set = &[("dumbbell.ecn", "true"), ("flows.reno.tcp.ecn", "true")];
    let of = |queue: &str, path: Set, tcp: &[(&str, &str)]| {
        let crowd = [("flows.reno.count", "20"), ("dumbbell.rate", "50 Mbit/s")];
        Args::new("a", queue).with(&[&crowd[..], path, tcp].concat())
    };
    let plain = |tcp: &[(&str, &str)]| of("drop-tail", &[], tcp);
    let room = |tcp: &[(&str, &str)]| of("drop-tail", ROOM, tcp);
    let bbr = |name| [PACED, RACK, (CONGESTION, name)];
    vec![
        ("reno", plain(&[]), None),
        ("cubic", plain(&[(CONGESTION, "cubic")]), Some(1.1)),
        ("rack", plain(&[RACK]), Some(1.3)),
        ("paced", plain(&[PACED]), Some(1.6)),
        ("paced, with rack", plain(&[PACED, RACK]), Some(1.6)),
        ("cubic, with rack", plain(&[RACK, (CONGESTION, "cubic")]), Some(1.4)),
        ("bbr1", plain(&bbr("bbr1")), Some(1.6)),
        ("bbr3", plain(&bbr("bbr3")), Some(1.6)),
        ("reno, buffer of 5000", room(&[]), None),
        ("bbr1, buffer of 5000", room(&bbr("bbr1")), Some(1.6)),
        ("bbr3, buffer of 5000", room(&bbr("bbr3")), Some(1.6)),
        ("reno, marked by pi2", of("pi2", MARKS, &[]), None),
        (
            "prague, marked by pi2",
            of("pi2", MARKS, &[PACED, ("flows.reno.tcp.feedback", "exact"), (CONGESTION, "prague")]),
            Some(1.3),
        ),
    ]
}

/// The run of a sender.
pub fn sender(name: &str) -> Option<Args> {
    senders().into_iter().find(|(of, ..)| *of == name).map(|(_, args, _)| args)
}
