//! sqm-scripts of OpenWrt: commands of uci, and the file that they make.

use quell_units::Framing;

use super::job::{Job, Unwritable, kilobits};
use super::linux::is_ppp;
use crate::counted::{signed, unframed};

/// The fields of downloads and of uploads: ECN, limit, target, and options of tc.
const FIELDS: [[&str; 4]; 2] =
    [["ingress_ecn", "ilimit", "itarget", "iqdisc_opts"], ["egress_ecn", "elimit", "etarget", "eqdisc_opts"]];

/// The configuration before the first of these lines.
const KEPT: &str = "/root/sqm.before";

pub(super) fn write(job: &mut Job<'_>) -> Result<(), Unwritable> {
    job.one_for_both()?;
    let [down, up] = &job.queues;
    let link = &up.side.link;
    if (link.overhead, link.smallest, link.framing)
        != (down.side.link.overhead, down.side.link.smallest, down.side.link.framing)
    {
        let note = "sqm has one overhead for both directions: that of what goes out is written";
        job.notes.push(note.into());
    }
    let cake = up.is("cake");
    let own_ptm = !cake && link.framing == Framing::Ptm;
    let (mut rates, mut padding) = ([down, up].map(|queue| queue.side.link.rate), 0);
    if own_ptm {
        for (rate, queue) in rates.iter_mut().zip([down, up]) {
            (*rate, padding, _) = unframed(&queue.side.link);
        }
    }
    let tins = |number: usize| job.queues[number].settings.iter().find(|s| s.ours == "diffserv");
    let one_tin = cake && [0, 1].iter().all(|n| tins(*n).is_some_and(|s| s.text == "besteffort"));
    let script = match (cake, one_tin) {
        (true, true) => "piece_of_cake.qos",
        (true, false) => "layer_cake.qos",
        _ => "simplest.qos",
    };
    let linklayer = match link.framing {
        Framing::Atm => "atm",
        _ if link.overhead.get() + link.smallest.get() == 0 => "none",
        _ => "ethernet",
    };
    let counted = signed(link.overhead);
    // Linux counts the header that packets have on the device.
    let header = signed(quell_tc::header(Some(&job.shaped.wan)));
    let overhead = if cake || linklayer == "none" { counted } else { counted + padding - header };
    // A rate of 0 is a direction that is not shaped.
    let rate = |number: usize| if job.writes(number) { kilobits(rates[number]) } else { 0 }.to_string();
    let options = |number: usize| {
        let words = job.queues[number].in_a_row("uci.");
        match (cake, link.framing) {
            (true, Framing::Ptm) => format!("nat {words} ptm"),
            (true, _) => format!("nat {words}"),
            _ => words,
        }
    };
    let mut fields: Vec<(&str, String)> = vec![
        ("enabled", "1".into()),
        ("interface", job.shaped.wan.clone()),
        ("download", rate(0)),
        ("upload", rate(1)),
        ("qdisc", up.offer.native.into()),
        ("script", script.into()),
        ("linklayer", linklayer.into()),
        ("overhead", overhead.to_string()),
        ("linklayer_advanced", "1".into()),
        ("tcMTU", "2047".into()),
        ("tcTSIZE", "128".into()),
        ("tcMPU", link.smallest.get().to_string()),
        ("linklayer_adaptation_mechanism", "default".into()),
        ("qdisc_advanced", "1".into()),
        ("squash_dscp", "0".into()),
        ("squash_ingress", "0".into()),
        ("qdisc_really_really_advanced", "1".into()),
    ];
    let written = FIELDS.into_iter().enumerate().filter(|(number, _)| job.writes(*number));
    for (number, [ecn, limit, target, rest]) in written {
        for (field, word) in [(ecn, "uci.ecn"), (limit, "uci.limit"), (target, "uci.target")] {
            fields.extend(job.queues[number].text(word).map(|text| (field, text.to_string())));
        }
        fields.push((rest, options(number)));
    }
    let commands: Vec<String> =
        fields.iter().map(|(name, value)| format!("uci set sqm.@queue[0].{name}='{value}'\n")).collect();
    let lines: Vec<String> =
        fields.iter().map(|(name, value)| format!("\toption {name} '{value}'\n")).collect();
    let package =
        up.offer.since.split_once("package ").map_or(String::new(), |(_, package)| format!(" {package}"));
    let shell = format!(
        "[ -e {KEPT} ] || cp /etc/config/sqm {KEPT}\n{}uci commit sqm\n/etc/init.d/sqm enable\n/etc/init.d/sqm restart\n",
        commands.concat()
    );
    let whole = rates.iter().all(|rate| rate.bps().is_multiple_of(1000));
    if own_ptm {
        let note =
            "framing of PTM is only CAKE's: the rates are 64/65 of the link's, and the overhead is 1 B more";
        job.notes.push(note.into());
    }
    if !cake && linklayer != "none" && header > 0 {
        job.notes.push(format!(
            "overhead = {overhead} leaves out the {header} B of Ethernet's header, which Linux counts itself; on a \
             device of PPPoE, which has none, write {}",
            overhead + header
        ));
    }
    let sides = [(rates[0], job.queues[0].side), (rates[1], job.queues[1].side)];
    if !cake && sides.iter().any(|(rate, side)| quell_tc::burst(&side.link).get() > rate.bps() / 8000) {
        let note = "bursts that were simulated are of a millisecond and at least two frames; sqm-scripts give htb a \
                    millisecond and at least one";
        job.notes.push(note.into());
    }
    if is_ppp(&job.shaped.wan) {
        let note = "sqm-scripts start again with each connection (/etc/hotplug.d/iface), as the device is then a new \
                    one";
        job.notes.push(note.into());
    }
    if !whole {
        job.notes.push("rates are whole kbit/s there, rounded down".into());
    }
    job.part(
        format!("a shell of root; before it: opkg install sqm-scripts{package} (apk add where opkg is gone)"),
        shell,
    );
    let undo = format!("cp {KEPT} /etc/config/sqm\n/etc/init.d/sqm restart\n");
    job.part(
        "or, in place of these lines, a section of /etc/config/sqm; others for this interface go",
        format!("config queue 'quell'\n{}", lines.concat()),
    );
    job.part("a shell of root, to undo it", undo);
    Ok(())
}
