//! Sections of systemd's .network files.

use quell_units::{Framing, LinkLayer};

use super::job::{Job, Unwritable, short};
use super::linux::is_ppp;

pub(super) fn write(job: &mut Job<'_>) -> Result<(), Unwritable> {
    for number in job.numbers().iter().copied() {
        let device = job.device(number)?;
        let mut text = String::new();
        if job.port {
            text.push_str(&format!("[{}]\nParent=root\n", job.queues[number].offer.native));
        } else if job.queues[number].is("cake") {
            text.push_str("[CAKE]\nParent=root\n");
            text.push_str(&link(&job.queues[number].side.link));
            text.push_str("NAT=yes\n");
        } else {
            let (rate, overhead) = job.told(number);
            text.push_str("[HierarchyTokenBucket]\nParent=root\nHandle=0001\nDefaultClass=10\n\n");
            text.push_str("[HierarchyTokenBucketClass]\nParent=root\nClassId=0001:0010\n");
            let burst = job.burst(number, rate);
            text.push_str(&format!("Rate={}\nOverheadBytes={overhead}\n", short(rate, "K")));
            text.push_str(&format!("BufferBytes={burst}\nCeilBufferBytes={burst}\n\n"));
            text.push_str(&format!("[{}]\nParent=1:10\nHandle=0010\n", job.queues[number].offer.native));
        }
        for setting in &job.queues[number].settings {
            text.push_str(&format!("{}={}\n", setting.knob, setting.text));
        }
        let what = match (job.port, number) {
            (true, _) => "",
            (false, 1) => " (uploads)",
            _ => " (downloads)",
        };
        let place = format!("the .network file that matches {device}{what}; then networkctl reload");
        job.part(place, text);
    }
    if job.port {
        job.notes.push(
            "networkd has no mq: a queue at the root takes all queues of a card under one lock. On a fast card with \
             several, use the lines of tc (--can linux)"
                .into(),
        );
    }
    if is_ppp(&job.shaped.wan) {
        job.notes.push(format!(
            "pppd makes a new {} with each connection, and networkd then gives it the queue again; KeepConfiguration=yes \
             in [Network] leaves pppd's addresses there",
            job.shaped.wan
        ));
    }
    if job.queues.iter().any(|queue| queue.is("cake")) {
        job.notes.push(
            "RTTSec= and AckFilter= are newer than systemd 252, which warns, and keeps 100 ms and no filter"
                .into(),
        );
    }
    Ok(())
}

/// The link in the words of `[CAKE]`.
fn link(link: &LinkLayer) -> String {
    let mode = match link.framing {
        Framing::None => "none",
        Framing::Atm => "atm",
        Framing::Ptm => "ptm",
    };
    let mut text = format!("Bandwidth={}\nOverheadBytes={}\n", short(link.rate, "K"), link.overhead.get());
    if link.smallest.get() > 0 {
        text.push_str(&format!("MPUBytes={}\n", link.smallest.get()));
    }
    text.push_str(&format!("CompensationMode={mode}\n"));
    text
}
