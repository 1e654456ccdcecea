//! Commands of FreeBSD's ipfw.

use super::job::{Job, short};
use quell_units::BitRate;

/// The most slots of a pipe's queue that the kernel takes without a sysctl.
const SLOTS: u32 = 100;

pub(super) fn write(job: &mut Job<'_>) {
    let wan = job.shaped.wan.clone();
    let (mut config, mut rules, mut undo) = (String::new(), String::new(), String::new());
    let mut slots = SLOTS;
    for (number, pipe) in [(0, 1), (1, 2)] {
        if !job.writes(number) {
            continue;
        }
        let (rate, _) = job.told(number);
        let queue = &job.queues[number];
        let words = queue.in_a_row("queue");
        let place = if number == 0 { format!("in recv {wan}") } else { format!("out xmit {wan}") };
        let bandwidth = bandwidth(rate);
        let through = match queue.text("queue") {
            Some(own) => {
                slots = slots.max(own.parse().unwrap_or(SLOTS));
                let algorithm = if queue.is("drop-tail") {
                    String::new()
                } else {
                    format!(" {} {words}", queue.offer.native)
                };
                config.push_str(&format!("ipfw pipe {pipe} config bw {bandwidth} queue {own}{algorithm}\n"));
                "pipe"
            }
            None => {
                config.push_str(&format!("ipfw pipe {pipe} config bw {bandwidth}\n"));
                config.push_str(&format!(
                    "ipfw sched {pipe} config pipe {pipe} type {} {words}\n",
                    queue.offer.native
                ));
                config.push_str(&format!("ipfw queue {pipe} config sched {pipe}\n"));
                "queue"
            }
        };
        undo.push_str(&format!("ipfw delete {}\n", 99 + pipe));
        let made: &[&str] = if through == "queue" { &["queue", "sched", "pipe"] } else { &["pipe"] };
        undo.extend(made.iter().map(|kind| format!("ipfw {kind} delete {pipe}\n")));
        rules.push_str(&format!("ipfw add {} {through} {pipe} ip from any to any {place}\n", 99 + pipe));
    }
    let limit = match slots > SLOTS {
        true => format!("sysctl net.inet.ip.dummynet.pipe_slot_limit={slots}\n"),
        false => String::new(),
    };
    job.part(
        "a shell of root, or the script that rc.conf names as firewall_script",
        format!("kldload -n dummynet\n{limit}{config}{rules}"),
    );
    job.part("the same, to undo it", undo);
    job.notes.push(
        "what comes out of a queue is accepted without further rules (net.inet.ip.fw.one_pass=1); set 0 and give the \
         rules a place before those that decide"
            .into(),
    );
}

/// A rate as ipfw reads it.
fn bandwidth(rate: BitRate) -> String {
    let text = short(rate, "Kbit/s");
    if text.ends_with("bit/s") { text } else { format!("{text}bit/s") }
}
