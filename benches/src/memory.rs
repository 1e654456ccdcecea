//! Memory per flow.

use crate::Outcome;
use crate::case::QUEUES;
use crate::one::{Args, spawn};
use crate::progress::Progress;
use crate::table::{Section, count, figure};

/// Numbers of flows of case d, with a link that grows with them.
const FLOWS: [u64; 3] = [25_000, 50_000, 100_000];

pub fn per_flow() -> Outcome<Section> {
    let mut section = Section::new("memory", &["queue", "flows", "peak, MB", "bytes per flow"]);
    let mut progress = Progress::new(QUEUES.len() * FLOWS.len());
    for queue in QUEUES {
        let mut before: Option<(u64, u64)> = None;
        for flows in FLOWS {
            progress.next(&format!("{flows} flows"));
            let set = vec![
                format!("flows.reno.count={flows}"),
                format!("dumbbell.rate={} kbit/s", flows * 400),
                format!("dumbbell.buffer={flows} packets"),
            ];
            let cost = spawn(&Args { set, ..Args::new("d", queue) })?;
            let slope = before
                .map(|(flows, bytes)| (cost.peak_bytes - bytes) as f64 / (cost.flows - flows) as f64)
                .map_or("–".to_string(), figure);
            let peak = figure(cost.peak_bytes as f64 / 1e6);
            section.row(vec![queue.to_string(), count(flows), peak, slope]);
            before = Some((cost.flows, cost.peak_bytes));
        }
    }
    section.remark(
        "Peak resident memory of case d with fewer flows on a slower link, one run each. A further flow adds its \
         state, its packets in flight, and its share of the queue.",
    );
    Ok(section)
}
