//! The cost of a packet with each queue and each sender, beside drop-tail's and Reno's: instructions, whose
//! ratios are the same on every machine, and the ratio of times in turn.

use crate::Outcome;
use crate::cost::least;
use crate::instructions::{counted, difference, needs_valgrind};
use crate::one::{Args, Cost, spawn};
use crate::progress::Progress;
use crate::senders::senders;
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

    fn of((name, args, aim): (&str, Args, Option<f64>)) -> Self {
        Row { aim, ..Row::base(name, args) }
    }

    fn new(name: &str, args: Args, aim: f64) -> Self {
        Row { aim: Some(aim), ..Row::base(name, args) }
    }

    /// Its time, by packet.
    fn time(&self) -> f64 {
        least(&self.costs, |c| c.run_ns as f64) / self.costs[0].packets as f64
    }
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
                let args = Args::new("a", queue).with(&[(field.as_str(), lanes)]);
                rows.push(Row::new(&format!("{queue}, {lanes} queues"), args, aim));
            }
        }
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
        (Section::new("sender-ratios", &head("sender")), senders().into_iter().map(Row::of).collect()),
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
        "Values are instructions under valgrind per data packet that arrives at the bottleneck, those of 25 s less \
         those of 5 s. The other columns are for the whole run{}.",
        match times {
            0 => String::new(),
            _ => format!(", the times the least of {times}, in turn ({})", load()),
        }
    );
    queues.remark(format!("Case a with its defaults. {how}"));
    senders.remark(format!(
        "Case a with 20 flows and 50 Mbit/s under drop-tail. The ratio is to the last row without an aim. {how}"
    ));
    Ok([queues, senders])
}
