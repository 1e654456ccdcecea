//! What a packet costs with each queue and each sender, beside drop-tail's and Reno's: instructions, whose ratios
//! are the same on every machine, and the ratio of times in turn.

use crate::Outcome;
use crate::cost::least;
use crate::instructions::{counted, difference, needs_valgrind};
use crate::one::{Args, Cost, spawn};
use crate::progress::Progress;
use crate::table::{Section, count, figure, load};

/// What is compared with the first of its table.
struct Row {
    name: String,
    args: Args,
    /// At most so many times the first.
    aim: Option<f64>,
    instructions: f64,
    costs: Vec<Cost>,
}

impl Row {
    fn new(name: &str, args: Args, aim: f64) -> Self {
        Row { name: name.to_string(), args, aim: Some(aim), instructions: 0.0, costs: Vec::new() }
    }
}

fn with(args: Args, set: &[(&str, &str)]) -> Args {
    Args { set: set.iter().map(|(field, value)| format!("{field}={value}")).collect(), ..args }
}

/// Case a under the queues of today.
fn queues() -> Vec<Row> {
    let mut rows = vec![Row { aim: None, ..Row::new("drop-tail", Args::new("a", "drop-tail"), 1.0) }];
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
    let path = [("flows.reno.count", "20"), ("dumbbell.rate", "50 Mbit/s")];
    let of = |more: &[(&str, &str)]| with(Args::new("a", "drop-tail"), &[&path[..], more].concat());
    let mut rows = vec![Row { aim: None, ..Row::new("reno", of(&[]), 1.0) }];
    let congestion = "flows.reno.tcp.congestion";
    let recovery = ("flows.reno.tcp.recovery", "rack");
    let paced = ("flows.reno.tcp.pacing", "true");
    rows.push(Row::new("cubic", of(&[(congestion, "cubic")]), 1.1));
    rows.push(Row::new("rack", of(&[recovery]), 1.3));
    rows.push(Row::new("paced", of(&[paced]), 1.6));
    rows.push(Row::new("prague", of(&[(congestion, "prague")]), 1.3));
    for bbr in ["bbr1", "bbr3"] {
        rows.push(Row::new(bbr, of(&[(congestion, bbr)]), 1.6));
    }
    rows
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
    let mut progress = Progress::new(number * (3 + times as usize));
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
    let [(queues, of_queues), (senders, of_senders)] = &mut tables;
    for (section, rows) in [(&mut *queues, of_queues), (&mut *senders, of_senders)] {
        let time = |row: &Row| least(&row.costs, |c| c.run_ns as f64) / row.costs[0].packets as f64;
        for row in rows.iter() {
            let cost = &row.costs[0];
            section.row(vec![
                row.name.clone(),
                figure(row.instructions),
                figure(row.instructions / rows[0].instructions),
                row.aim.map_or("–".to_string(), figure),
                figure(cost.events as f64 / cost.packets as f64),
                figure(100.0 * cost.dropped as f64 / cost.packets as f64),
                count(cost.packets),
                if times == 0 { "–".to_string() } else { figure(time(row) / time(&rows[0])) },
            ]);
        }
    }
    let how = format!(
        "Instructions under valgrind per data packet that arrives at the bottleneck, of 25 s less those of 5 s; the \
         other columns are of the whole run, the times the least of {times}, in turn ({}).",
        load()
    );
    queues.remark(format!("Case a, defaults. {how}"));
    senders.remark(format!("Case a with 20 flows and 50 Mbit/s under drop-tail. {how}"));
    Ok(tables.map(|(section, _)| section))
}
