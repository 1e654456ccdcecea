//! Commands of RouterOS 7.

use quell_units::{BitRate, Framing};

use super::job::{Job, Unwritable, short};

pub(super) fn write(job: &mut Job<'_>) -> Result<(), Unwritable> {
    let (mut types, mut interfaces, mut tree) = (String::new(), String::new(), String::new());
    let (mut without_types, mut without_interfaces, mut without_tree) =
        (String::new(), String::new(), String::new());
    for number in job.numbers().iter().copied() {
        let name = job.name(number);
        let device = job.device(number)?;
        let mut words = vec![format!("add name={name} kind={}", job.queues[number].offer.native)];
        if job.port {
            interfaces.push_str(&format!("set [find where interface={device}] queue={name}\n"));
        } else if job.queues[number].is("cake") {
            let link = job.queues[number].side.link;
            let framing = match link.framing {
                Framing::None => "none",
                Framing::Atm => "atm",
                Framing::Ptm => "ptm",
            };
            words.push(format!("cake-bandwidth={}", short(link.rate, "k")));
            words.push(format!("cake-overhead={}", link.overhead.get()));
            words.push(format!("cake-mpu={}", link.smallest.get()));
            words.push(format!("cake-atm={framing}"));
            words.push("cake-nat=yes".into());
            interfaces.push_str(&format!("set [find where interface={device}] queue={name}\n"));
        } else {
            let (rate, _) = job.told(number);
            tree.push_str(&format!(
                "add name={name} parent={device} packet-mark=no-mark max-limit={} bucket-size={} queue={name}\n",
                short(rate, "k"),
                bucket(job.burst(number, rate), rate)
            ));
        }
        words.extend(job.queues[number].settings.iter().map(|s| format!("{}={}", s.knob, s.text)));
        types.push_str(&words.join(" "));
        types.push('\n');
        without_types.push_str(&format!("remove [find where name={name}]\n"));
        if job.port || job.queues[number].is("cake") {
            let usual = usual(&device);
            without_interfaces.push_str(&format!("set [find where interface={device}] queue={usual}\n"));
        } else {
            without_tree.push_str(&format!("remove [find where name={name}]\n"));
        }
    }
    let menus = |menus: [(&str, &str); 3]| -> String {
        let used = menus.iter().filter(|(_, lines)| !lines.is_empty());
        used.map(|(menu, lines)| format!("{menu}\n{lines}")).collect()
    };
    let (kinds, leaves, roots) = ("/queue type", "/queue interface", "/queue tree");
    job.part("the terminal of RouterOS", menus([(kinds, &types), (leaves, &interfaces), (roots, &tree)]));
    // A type that something uses cannot be removed.
    job.part(
        "the same, to undo it",
        menus([(roots, &without_tree), (leaves, &without_interfaces), (kinds, &without_types)]),
    );
    if !without_interfaces.is_empty() {
        let note = "the lines that undo it give interfaces RouterOS's own queue: if yours have another, note it first \
                    (/queue interface print)";
        job.notes.push(note.into());
    }
    if !job.port && job.writes(0) {
        let note = format!(
            "all hosts are behind {}: with several ports of a bridge, shape downloads by a queue tree whose parent is \
             the bridge, with max-limit and bucket-size",
            job.device(0)?
        );
        job.notes.push(note);
    }
    Ok(())
}

/// The most of RouterOS's bucket-size.
const BUCKET: f64 = 10.0;

/// A burst as RouterOS reads it: a part of what max-limit carries in a second, rounded up. It takes a tenth by itself,
/// which would be 100 ms at the link's rate (manual.mikrotik.com: HTB, Token Bucket algorithm).
fn bucket(bytes: u64, rate: BitRate) -> String {
    let share = bytes as f64 * 8.0 / rate.bps().max(1) as f64;
    format!("{:.5}", ((share * 1e5).ceil() / 1e5).min(BUCKET))
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_string()
}

/// The queue that RouterOS gives an interface by itself: the hardware's to ports, none to what has no hardware.
fn usual(device: &str) -> &'static str {
    let is_port = ["ether", "sfp", "combo", "qsfp"].iter().any(|begin| device.starts_with(begin));
    if is_port { "only-hardware-queue" } else { "no-queue" }
}
