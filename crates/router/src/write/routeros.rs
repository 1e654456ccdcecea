//! Commands of RouterOS 7.

use quell_units::Framing;

use super::job::{Job, Unwritable, short};

pub(super) fn write(job: &mut Job<'_>) -> Result<(), Unwritable> {
    let (mut types, mut interfaces, mut tree) = (String::new(), String::new(), String::new());
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
                "add name={name} parent={device} packet-mark=no-mark max-limit={} queue={name}\n",
                short(rate, "k")
            ));
        }
        words.extend(job.queues[number].settings.iter().map(|s| format!("{}={}", s.knob, s.text)));
        types.push_str(&words.join(" "));
        types.push('\n');
    }
    let mut text = format!("/queue type\n{types}");
    for (menu, lines) in [("/queue interface", interfaces), ("/queue tree", tree)] {
        if !lines.is_empty() {
            text.push_str(&format!("{menu}\n{lines}"));
        }
    }
    job.part("the terminal of RouterOS", text);
    if !job.port && job.writes(0) {
        let note = format!(
            "all hosts are behind {}: with several ports of a bridge, shape downloads by a queue tree whose parent is \
             the bridge, with max-limit",
            job.device(0)?
        );
        job.notes.push(note);
    }
    Ok(())
}
