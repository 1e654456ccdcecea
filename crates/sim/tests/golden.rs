//! Golden runs: one text file per algorithm, so that a change of behavior shows as a change of
//! numbers that a reviewer can read. Counts are exact on every machine.
//!
//! `INSTA_UPDATE=always cargo test -p quell-sim --test all golden::` regenerates them.

use std::fmt::Write;

use crate::common::*;
use quell_aqm::catalog::CATALOG;
use quell_sim::outcome::Outcome;
use quell_tcp::TcpParams;
use quell_units::Bytes;

fn describe(name: &str, o: &Outcome) -> String {
    let entry = quell_aqm::catalog::find(name).unwrap();
    let mut out = String::new();
    let params: Vec<String> =
        (entry.params)().iter().map(|p| format!("{} = {}", p.name, p.default)).collect();
    writeln!(out, "algorithm         {name}\nparameters        {}", params.join(", ")).unwrap();
    let s = &o.links[0].segments[0];
    let c = &s.classes[0];
    let seconds = (s.to - s.from).as_secs_f64();
    let q = s.queue_packet_seconds / seconds;
    let deviation = (s.queue_packet2_seconds / seconds - q * q).sqrt();
    let (mut sent, mut again, mut timeouts) = (0, 0, 0);
    for f in o.flows.iter().map(|f| &f.segments[0]) {
        sent += f.sent_packets;
        again += f.retransmitted_packets;
        timeouts += f.timeouts;
    }
    let rows = [
        ("arrived", format!("{}", c.counts.arrived)),
        ("departed", format!("{}", c.counts.departed)),
        ("early", format!("{}", c.counts.dropped_early)),
        ("forced", format!("{}", c.counts.dropped_forced)),
        ("overflow", format!("{}", c.counts.dropped_overflow)),
        ("marked", format!("{}", c.counts.marked)),
        ("sent", format!("{sent}")),
        ("sent again", format!("{again}")),
        ("timeouts", format!("{timeouts}")),
        ("utilization", format!("{:.4}", c.counts.departed_bytes as f64 * 8.0 / s.capacity_bits)),
        ("queue", format!("{q:.2} packets, deviation {deviation:.2}")),
        ("delay P99", format!("{:.1} ms", c.delay_ns.value_at_quantile(0.99) as f64 / 1e6)),
    ];
    for (name, value) in rows {
        writeln!(out, "{name:<18}{value}").unwrap();
    }
    for i in &o.links[0].series.internals {
        let last = i.values.last().unwrap();
        writeln!(out, "{:<18}{last:.4e} {} at the end", i.name, i.unit).unwrap();
    }
    out
}

#[test]
fn every_algorithm_on_one_link() {
    for entry in CATALOG {
        for ecn in [false, true] {
            let o = Dumbbell {
                aqm: (entry.default)(),
                tcp: TcpParams { ecn, packet: Bytes::new(1000), ..Default::default() },
                step: Some(1.0),
                ..Default::default()
            }
            .run();
            // A run outside the regime of interest would prove nothing.
            let c = &o.links[0].segments[0].classes[0];
            let signals = c.counts.dropped() + c.counts.marked;
            assert!(signals as f64 > 0.002 * c.counts.arrived as f64, "{}: hardly a signal", entry.name);
            assert!((signals as f64) < 0.3 * c.counts.arrived as f64, "{}: collapsed", entry.name);
            // DOCSIS-PIE and policers drop, whatever a packet says; so does a full SFQ. A step signals L4S packets and
            // nothing else, of which there are none here.
            let drops = ["drop-tail", "docsis-pie", "policer", "sfq", "step"].contains(&entry.name);
            let of_the_buffer = ["drop-tail", "policer", "sfq", "step"].contains(&entry.name);
            if drops {
                assert_eq!(c.counts.marked, 0, "{}", entry.name);
            } else {
                assert_eq!(c.counts.marked > 0, ecn, "{}", entry.name);
            }
            if !of_the_buffer {
                // SRED's probability falls with the square of the flows: for these few a buffer that
                // small is full first.
                let few = entry.name == "sred" && c.counts.dropped_early + c.counts.marked > 100;
                assert!(
                    few || c.counts.dropped_early + c.counts.marked > c.counts.dropped_overflow,
                    "{}: the buffer decides",
                    entry.name
                );
            }
            let utilization = c.counts.departed_bytes as f64 * 8.0 / o.links[0].segments[0].capacity_bits;
            assert!(utilization > 0.7, "{}: {utilization}", entry.name);
            let name = format!("golden__{}{}", entry.name, if ecn { "_ecn" } else { "" });
            insta::with_settings!({ prepend_module_to_snapshot => false }, {
                insta::assert_snapshot!(name, describe(entry.name, &o));
            });
        }
    }
}
