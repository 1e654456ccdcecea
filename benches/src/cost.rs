//! The cost of every case.

use crate::Outcome;
use crate::case::{QUEUES, Which};
use crate::one::{Args, Cost, spawn};
use crate::progress::Progress;
use crate::table::{Section, count, figure, load};

/// One case with one queue, run several times.
struct Row {
    args: Args,
    title: String,
    /// Packets of every kind that arrived at the links between routers, and at all links.
    hops: [u64; 2],
    costs: Vec<Cost>,
}

/// A figure over the runs: the smallest, because everything else the machine does only adds to it.
pub fn least(costs: &[Cost], of: impl Fn(&Cost) -> f64) -> f64 {
    costs.iter().map(of).fold(f64::INFINITY, f64::min)
}

fn most(costs: &[Cost], of: impl Fn(&Cost) -> f64) -> f64 {
    costs.iter().map(of).fold(0.0, f64::max)
}

pub fn cases(which: &Which, times: u32) -> Outcome<Section> {
    let mut rows = Vec::new();
    for case in which.cases()? {
        let title = case.title()?;
        for queue in QUEUES {
            let args = Args::new(case.name, queue);
            rows.push(Row { args, title: title.clone(), hops: [0; 2], costs: Vec::new() });
        }
    }
    let mut progress = Progress::new(rows.len() * (times as usize + 1));
    for row in &mut rows {
        progress.next(&row.title);
        let cost = spawn(&Args { hops: true, ..row.args.clone() })?;
        row.hops = [cost.arrivals, cost.arrivals + cost.access];
    }
    for _ in 0..times {
        for row in &mut rows {
            progress.next(&row.title);
            row.costs.push(spawn(&row.args)?);
        }
    }
    drop(progress);

    let head = [
        "case",
        "queue",
        "data packets",
        "loop, ns/packet",
        "worst",
        "process, ns/packet",
        "prepare, ms",
        "events/packet",
        "ns/merge",
        "ns/hop",
        "peak, MB",
        "loss, %",
        "utilization, %",
    ];
    let mut section = Section::new("cases", &head);
    for Row { args, title, hops, costs } in &rows {
        let first = &costs[0];
        if costs.iter().any(|c| c.digest != first.digest) {
            return Err(format!("case {} with {} is not the same in every run", args.case, args.aqm));
        }
        let per_packet = |ns: f64| figure(ns / first.packets as f64);
        section.row(vec![
            title.clone(),
            args.aqm.clone(),
            count(first.packets),
            per_packet(least(costs, |c| c.run_ns as f64)),
            per_packet(most(costs, |c| c.run_ns as f64)),
            per_packet(least(costs, |c| c.process_ns as f64)),
            figure(least(costs, |c| c.prepare_ns as f64) / 1e6),
            figure(first.events as f64 / first.packets as f64),
            figure(least(costs, |c| c.run_ns as f64) / hops[0] as f64),
            figure(least(costs, |c| c.run_ns as f64) / hops[1] as f64),
            figure(least(costs, |c| c.peak_bytes as f64) / 1e6),
            figure(100.0 * first.dropped as f64 / first.packets as f64),
            figure(100.0 * first.utilization),
        ]);
    }
    section.remark(format!(
        "CPU time, the least of {times} runs (*worst*: the most), each in its own process, in turn, at {}. *Loop*: \
         `quell_sim::run` with its recorders, of which *prepare* comes before the first event. *Process*: everything \
         from its start, including reading the scenario and building the network. Values are per data packet that \
         arrives at a bottleneck (e: at each of the five; f: in both directions). *Hop*: one packet, data or \
         acknowledgment, over one link, access links included (six hops for a data packet of a and its \
         acknowledgment). *Merge*: only the links between routers, where flows meet.",
        load()
    ));
    Ok(section)
}
