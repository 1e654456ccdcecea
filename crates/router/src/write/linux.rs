//! Lines of Linux's tc, and a script that undoes them.

use quell_aqm::cake::Framing as CakeFraming;
use quell_aqm::catalog::AqmConfig;
use quell_tc::{Kernel, Link, Place, Shaper};
use quell_units::Framing;

use super::job::{Job, Unwritable};
use crate::shaped::{FULL, Side};

/// The longest name of a device.
pub(super) const LONGEST: usize = 15;

/// The device that a device's incoming packets are led to.
pub(super) fn ifb(device: &str) -> String {
    format!("ifb4{device}").chars().take(LONGEST).collect()
}

pub(super) fn write(job: &mut Job<'_>, kernel: Kernel) -> Result<(), Unwritable> {
    let wan = job.shaped.wan.clone();
    let ifb = ifb(&wan);
    let mut text = String::new();
    for number in job.numbers().iter().copied() {
        let (direction, side) = (job.queues[number].direction, job.queues[number].side);
        let config = if job.port { side.aqm.clone() } else { of_the_link(side) };
        let cake = job.queues[number].is("cake");
        let link = Link { rate: Some(side.link.rate), buffer: side.buffer, ecn: side.ecn, mean_packet: FULL };
        let place = match (number, cake || job.port) {
            // What comes in gets a device of its own first, and there the queue.
            (0, _) => Place::Ifb {
                device: wan.clone(),
                ifb: ifb.clone(),
                shaped: Some(Shaper::of_router(side.link)),
            },
            (_, true) => Place::Root { device: wan.clone() },
            (_, false) => Place::Htb { device: wan.clone(), shaped: Shaper::of_router(side.link) },
        };
        let queue = quell_tc::write(&config, &link, &place, kernel).map_err(Unwritable::NotInLinux)?;
        for line in &queue.lines {
            // A router mostly translates addresses: hosts are those before that.
            let nat = if line.contains(" cake ") && !job.port { " nat" } else { "" };
            text.push_str(&format!("{line}{nat}\n"));
        }
        for note in
            queue.notes.into_iter().filter(|note| !note.starts_with("nat: ") && !note.starts_with("ifb: "))
        {
            job.note(direction, note);
        }
    }
    if job.port {
        let leaf =
            text.lines().last().and_then(|line| line.split_once(" root ")).map_or("", |(_, leaf)| leaf);
        let several = format!(
            "tc qdisc del dev {wan} root 2>/dev/null || true\ntc qdisc add dev {wan} root handle 1: mq\nfor class in $(tc \
             class show dev {wan} | sed -n 's/^class mq \\(1:[0-9a-f]*\\) .*/\\1/p'); do\n    tc qdisc replace dev {wan} \
             parent \"$class\" {leaf}\ndone\n"
        );
        job.part(
            format!(
                "a shell of root, after each boot, for a card with several queues (lines for Linux {kernel})"
            ),
            several,
        );
        job.part("or in its place, for a card with one queue, where mq is refused", text);
        job.part("the same, to undo it", format!("tc qdisc del dev {wan} root\n"));
        job.notes.push(
            "each queue of a card with several has the algorithm, behind mq: a single one at the root would take them all \
             under one lock. What was simulated is one queue with all flows"
                .into(),
        );
        return Ok(());
    }
    let mut undo = String::new();
    if job.writes(1) {
        undo.push_str(&format!("tc qdisc del dev {wan} root\n"));
    }
    if job.writes(0) {
        undo.push_str(&format!("tc qdisc del dev {wan} ingress\nip link del {ifb}\n"));
    }
    if !is_ppp(&wan) {
        job.part(format!("a shell of root, after each boot (lines for Linux {kernel})"), text);
        job.part("the same, to undo it", undo);
        return Ok(());
    }
    // pppd(8): /etc/ppp/ip-up, which on Debian runs what is in ip-up.d with the device's name in PPP_IFACE.
    let script = format!("#!/bin/sh\n[ \"$PPP_IFACE\" = {wan} ] || exit 0\n{text}");
    job.part(format!("{HOOK}, made executable by chmod 755 (lines for Linux {kernel})"), script);
    job.part("a shell of root, once, if the link is up", format!("PPP_IFACE={wan} {HOOK}\n"));
    job.part("the same, to undo it", format!("rm {HOOK}\n{undo}"));
    job.notes.push(format!(
        "pppd makes a new {wan} with each connection, without a queue: the script is run then by Debian's pppd; \
         elsewhere call it from /etc/ppp/ip-up.local or /etc/ppp/ip-up"
    ));
    Ok(())
}

/// The script that Debian's pppd runs when a connection is there; run-parts(8) passes over names with a dot.
const HOOK: &str = "/etc/ppp/ip-up.d/quell";

/// Says whether a device is one of PPP.
pub(super) fn is_ppp(device: &str) -> bool {
    device.starts_with("ppp")
}

/// The algorithm with the rate and the overhead of the link, where it shapes.
fn of_the_link(side: &Side) -> AqmConfig {
    let mut config = side.aqm.clone();
    if let AqmConfig::Cake(cake) = &mut config {
        cake.bandwidth = Some(side.link.rate);
        (cake.overhead, cake.mpu) = (side.link.overhead, side.link.smallest);
        cake.framing = match side.link.framing {
            Framing::None => CakeFraming::None,
            Framing::Atm => CakeFraming::Atm,
            Framing::Ptm => CakeFraming::Ptm,
        };
    }
    config
}
