//! Commands of FreeBSD's ipfw.

use super::job::{Job, short};
use quell_units::BitRate;

/// The most slots of a pipe's queue that the kernel takes without a sysctl.
const SLOTS: u32 = 100;

/// The set of the rules, which goes as a whole, and the number of the first one: before those of rc.firewall, which
/// begin at 50 (NAT) and 100.
const SET: u32 = 7;
const RULE: u32 = 10;

/// Pipes, schedulers and queues are numbered behind this one, away from the small numbers that people give by hand.
const PIPES: u32 = 7000;

/// Loads ipfw where it is not there yet. Alone it denies everything, unless the tunable is set before.
const LOADED: &str = "kldstat -qm ipfw || { kenv net.inet.ip.fw.default_to_accept=1; kldload ipfw; }\nkldload -n \
                      dummynet\n";

pub(super) fn write(job: &mut Job<'_>) {
    let wan = job.shaped.wan.clone();
    let (mut config, mut rules, mut undo) = (String::new(), String::new(), String::new());
    let mut slots = SLOTS;
    let mut numbers = Vec::new();
    for (number, nth) in [(0, 1), (1, 2)] {
        if !job.writes(number) {
            continue;
        }
        let (pipe, rule) = (PIPES + nth, RULE + nth - 1);
        numbers.push((rule, pipe));
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
        let made: &[&str] = if through == "queue" { &["queue", "sched", "pipe"] } else { &["pipe"] };
        undo.extend(made.iter().map(|kind| format!("ipfw {kind} delete {pipe}\n")));
        rules.push_str(&format!("ipfw add {rule} set {SET} {through} {pipe} ip from any to any {place}\n"));
    }
    let limit = match slots > SLOTS {
        true => format!("sysctl net.inet.ip.dummynet.pipe_slot_limit={slots}\n"),
        false => String::new(),
    };
    job.part(
        "a shell of root, after each boot: /etc/rc.local, or the end of the script that rc.conf names as firewall_script",
        format!(
            "{LOADED}{limit}sysctl net.inet.ip.fw.one_pass=0\nipfw -q delete set {SET}\n{config}{rules}"
        ),
    );
    job.part("the same, to undo it", format!("ipfw delete set {SET}\n{undo}"));
    let listed = |of: &dyn Fn(&(u32, u32)) -> u32| {
        numbers.iter().map(|pair| of(pair).to_string()).collect::<Vec<_>>().join(" and ")
    };
    job.notes.push(format!(
        "free numbers are taken: set {SET}, rules {}, pipes {}. `ipfw -S list` and `ipfw pipe list` show whether yours have \
         them",
        listed(&|(rule, _)| *rule),
        listed(&|(_, pipe)| *pipe)
    ));
    job.notes.push(
        "with net.inet.ip.fw.one_pass=0, what comes out of a queue goes on to your other rules, and they decide; with 1 it \
         would be accepted before them. With 0, what a rule of nat has translated goes on to them, too: see that one \
         accepts it. The lines that undo this leave it at 0"
            .into(),
    );
    job.notes.push(
        "ipfw without rules denies everything, your own ssh session too. Where ipfw is not loaded yet, the first line makes \
         it accept by default and only then loads it; where it is, your rules stay as they are. Newer FreeBSD loads \
         dummynet without ipfw"
            .into(),
    );
}

/// A rate as ipfw reads it.
fn bandwidth(rate: BitRate) -> String {
    let text = short(rate, "Kbit/s");
    if text.ends_with("bit/s") { text } else { format!("{text}bit/s") }
}
