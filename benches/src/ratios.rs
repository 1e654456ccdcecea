//! The cost of a packet with each queue and each sender, beside drop-tail's and Reno's: instructions, whose
//! ratios are the same on every machine, and the ratio of times in turn.

use crate::Outcome;
use crate::cost::least;
use crate::instructions::{counted, difference, needs_valgrind};
use crate::one::{Args, Cost, spawn};
use crate::progress::Progress;
use crate::table::{Section, count, figure, load};

/// A run, and what it is compared with.
struct Row {
    name: String,
    args: Args,
    /// Largest ratio to what it is compared with, which has no aim itself.
    aim: Option<f64>,
    instructions: f64,
    costs: Vec<Cost>,
}

impl Row {
    /// Makes the row that those which follow are compared with.
    fn base(name: &str, args: Args) -> Self {
        Row { name: name.to_string(), args, aim: None, instructions: 0.0, costs: Vec::new() }
    }

    fn new(name: &str, args: Args, aim: f64) -> Self {
        Row { aim: Some(aim), ..Row::base(name, args) }
    }

    /// Its time, by packet.
    fn time(&self) -> f64 {
        least(&self.costs, |c| c.run_ns as f64) / self.costs[0].packets as f64
    }
}

fn with(args: Args, set: &[(&str, &str)]) -> Args {
    Args { set: set.iter().map(|(field, value)| format!("{field}={value}")).collect(), ..args }
}

/// Case a under the queues of today.
fn queues() -> Vec<Row> {
    let mut rows = vec![Row::base("drop-tail", Args::new("a", "drop-tail"))];
    for (queue, aim) in [
        ("codel", 1.35),
        ("pie", 1.35),
        ("pi2", 1.35),
        ("fq-codel", 1.6),
        ("fq-pie", 1.6),
        ("dualpi2", 1.6),
        ("cake", 2.0),
    ] {
        rows.push(Row::new(queue, Args::new("a", queue), aim));
        if ["fq-codel", "fq-pie", "cake"].contains(&queue) {
            for lanes in ["16", "4096"] {
                let field = format!("aqm.{queue}.flows");
                let args = with(Args::new("a", queue), &[(field.as_str(), lanes)]);
                rows.push(Row::new(&format!("{queue}, {lanes} queues"), args, aim));
            }
        }
    }
    rows
}

/// Twenty flows on 50 Mbit/s, where few packets are lost.
fn senders() -> Vec<Row> {
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
        with(Args::new("a", queue), &[&crowd[..], path, tcp].concat())
    };
    let plain = |tcp: &[(&str, &str)]| of("drop-tail", &[], tcp);
    let room = |tcp: &[(&str, &str)]| of("drop-tail", ROOM, tcp);
    let bbr = |name| [PACED, RACK, (CONGESTION, name)];
    vec![
        Row::base("reno", plain(&[])),
        Row::new("cubic", plain(&[(CONGESTION, "cubic")]), 1.1),
        Row::new("rack", plain(&[RACK]), 1.3),
        Row::new("paced", plain(&[PACED]), 1.6),
        Row::new("paced, with rack", plain(&[PACED, RACK]), 1.6),
        Row::new("bbr1", plain(&bbr("bbr1")), 1.6),
        Row::new("bbr3", plain(&bbr("bbr3")), 1.6),
        Row::base("reno, buffer of 5000", room(&[])),
        Row::new("bbr1, buffer of 5000", room(&bbr("bbr1")), 1.6),
        Row::new("bbr3, buffer of 5000", room(&bbr("bbr3")), 1.6),
        Row::base("reno, marked by pi2", of("pi2", MARKS, &[])),
        Row::new(
            "prague, marked by pi2",
            of("pi2", MARKS, &[PACED, ("flows.reno.tcp.feedback", "exact"), (CONGESTION, "prague")]),
            1.3,
        ),
    ]
}

/// Both tables; the times are the least of `times` runs, in turn, or left out.
pub fn all(times: u32) -> Outcome<[Section; 2]> {
    needs_valgrind()?;
    let head = |first| {
        [first, "instructions/packet", "ratio", "aim", "events/packet", "loss, %", "packets", "time, ratio"]
    };
    let mut tables = [
        (Section::new("queue-ratios", &head("queue")), queues()),
        (Section::new("sender-ratios", &head("sender")), senders()),
    ];
    let number: usize = tables.iter().map(|(_, rows)| rows.len()).sum();
    let mut progress = Progress::new(number * (2 + times.max(1) as usize));
    for (_, rows) in &mut tables {
        for row in rows.iter_mut() {
            row.instructions = difference([5, 25], |seconds| {
                progress.next(&format!("{}, {seconds} s", row.name));
                let mut args = row.args.clone();
                args.set.push(format!("duration={seconds} s"));
                counted(&args)
            })?;
        }
        for _ in 0..times.max(1) {
            for row in rows.iter_mut() {
                progress.next(&row.name);
                row.costs.push(spawn(&row.args)?);
            }
        }
    }
    drop(progress);
    for (section, rows) in &mut tables {
        let mut base = &rows[0];
        for row in rows.iter() {
            if row.aim.is_none() {
                base = row;
            }
            let cost = &row.costs[0];
            section.row(vec![
                row.name.clone(),
                figure(row.instructions),
                figure(row.instructions / base.instructions),
                row.aim.map_or("–".to_string(), figure),
                figure(cost.events as f64 / cost.packets as f64),
                figure(100.0 * cost.dropped as f64 / cost.packets as f64),
                count(cost.packets),
                if times == 0 { "–".to_string() } else { figure(row.time() / base.time()) },
            ]);
        }
    }
    let [(mut queues, _), (mut senders, _)] = tables;
    let how = format!(
        "Instructions under valgrind per data packet that arrives at the bottleneck, of 25 s less those of 5 s; the \
         other columns are of the whole run{}.",
        match times {
            0 => String::new(),
            _ => format!(", the times the least of {times}, in turn ({})", load()),
        }
    );
    queues.remark(format!("Case a, defaults. {how}"));
    senders.remark(format!(
        "Case a with 20 flows and 50 Mbit/s under drop-tail; the ratio is to the last row without an aim. {how}"
    ));
    Ok([queues, senders])
}
