//! What a wire has done, as a table.

use quell_gateway::LineConfig;
use quell_gateway::wire::Report;
use quell_units::text::{duration, three_digits};

use crate::table::{Column, Tint, figures};

/// One line for each direction.
pub fn table(lines: &[Option<LineConfig>; 2], report: &Report) -> String {
    let titles = ["algorithm", "rate", "sent", "delay", "P99", "dropped", "marked", "late P99"];
    let mut names = Column::default();
    let mut columns = titles.map(|title| Column { title: title.into(), ..Column::default() });
    let seconds = report.ran.as_secs_f64().max(1e-9);
    for (line, path) in lines.iter().zip(&report.paths) {
        let Some(line) = line else { continue };
        let meter = &path.meter;
        let counters = &meter.counters;
        let arrived = counters.arrived.packets.max(1) as f64;
        let dropped = counters.refused.total().packets + counters.dropped.total().packets;
        let share = |n: u64| format!("{}%", three_digits(n as f64 / arrived * 100.0));
        let time = |seconds: Option<f64>| seconds.map_or("-".into(), duration);
        names.cells.push((line.name.clone(), Tint::Name));
        let cells = [
            line.aqm.name().to_string(),
            line.capacity().to_string(),
            bit_rate(meter.sent.bytes as f64 * 8.0 / seconds),
            time(meter.mean_delay_s()),
            time(meter.delay_p99_s()),
            share(dropped),
            share(counters.marked.packets),
            time(meter.lateness_p99_s()),
        ];
        for (column, cell) in columns.iter_mut().zip(cells) {
            column.cells.push((cell, Tint::Plain));
        }
    }
    let mut text = figures(&names, &columns);
    // The worst direction, in seconds: how late, and what a packet takes.
    let late = lines.iter().zip(&report.paths).filter_map(|(line, path)| {
        let line = line.as_ref()?;
        let packet = line.capacity().transmission_time(line.mean_packet);
        Some((path.meter.lateness_p99_s()?, packet.as_secs_f64()))
    });
    let worst = late.max_by(|a, b| a.0.total_cmp(&b.0));
    text.push_str(&worst.map_or(String::new(), |(late, packet)| too_late(late, packet)));
    let c = &report.counters;
    let beside = [
        (c.refused, "packets that the receiving host did not accept"),
        (c.starved, "reads delayed for lack of buffers"),
        (report.pauses, "pauses of the relay longer than a second: the machine was busy or suspended"),
    ];
    for (n, what) in beside.iter().filter(|(n, _)| *n > 0) {
        text.push_str(&format!("{n} {what}\n"));
    }
    text.trim_end().to_string()
}

/// What to do where packets leave so late that the delays that hosts see are not the queue's; empty otherwise.
fn too_late(late_s: f64, packet_s: f64) -> String {
    if late_s <= packet_s.max(0.001) {
        return String::new();
    }
    format!(
        "1% of the packets left {} late or later: the processors are busy, and hosts see that as delay. End other programs, or \
         as root begin with chrt -f 20 quell wire\n",
        duration(late_s)
    )
}

/// A measured rate: pings are not millionths of a Mbit/s.
fn bit_rate(bps: f64) -> String {
    match bps {
        bps if bps < 1e6 => format!("{} kbit/s", three_digits(bps / 1e3)),
        bps => format!("{} Mbit/s", three_digits(bps / 1e6)),
    }
}

#[cfg(test)]
mod tests {
    use super::{bit_rate, too_late};

    #[test]
    fn rates_are_in_a_unit_of_their_size() {
        assert_eq!(bit_rate(0.0), "0 kbit/s");
        assert_eq!(bit_rate(412.0), "0.412 kbit/s");
        assert_eq!(bit_rate(9_950_000.0), "9.95 Mbit/s");
    }

    #[test]
    fn lateness_is_said_where_it_is_more_than_a_packet() {
        // A packet at 8 Mbit/s takes 1.5 ms, and at 100 Mbit/s 0.12 ms.
        assert_eq!(too_late(0.0014, 0.0015), "");
        assert_eq!(too_late(0.0009, 0.00012), "");
        assert!(too_late(0.007, 0.0015).contains("7.00 ms late"));
    }
}
