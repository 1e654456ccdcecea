//! cake-autorate, which keeps CAKE's rate below that of a varying link.

use super::job::{Job, kilobits};
use crate::shaped::Range;

/// The longest name of a device of Linux.
const LONGEST: usize = 15;

/// The rate in kbit/s from which on cake-autorate takes a connection for active, in its defaults.sh.
const ACTIVE: u64 = 2000;

/// Adds cake-autorate's settings where a direction varies.
pub(super) fn write(job: &mut Job<'_>) {
    if job.queues.iter().all(|queue| queue.side.range.is_none()) {
        return;
    }
    if !job.platform.follows() || !job.queues.iter().all(|queue| queue.is("cake")) {
        let note = "the link varies, and a fixed rate is too high at times: cake-autorate follows it with CAKE on \
                    OpenWrt or Linux";
        job.notes.push(note.into());
        return;
    }
    let wan = job.shaped.wan.as_str();
    let mut text = format!("dl_if=ifb4{wan}\nul_if={wan}\n");
    for (letters, queue) in ["dl", "ul"].into_iter().zip(&job.queues) {
        let rate = queue.side.link.rate;
        let adjust = u8::from(queue.side.range.is_some());
        let Range { least, most } = queue.side.range.unwrap_or(Range { least: rate, most: rate });
        text.push_str(&format!("\nadjust_{letters}_shaper_rate={adjust}\n"));
        for (word, rate) in [("min", least), ("base", rate.clamp(least, most.max(least))), ("max", most)] {
            text.push_str(&format!("{word}_{letters}_shaper_rate_kbps={}\n", kilobits(rate)));
        }
    }
    // Below this a connection counts as idle, and the shaper goes back to its base.
    let slowest =
        job.queues.iter().filter_map(|queue| queue.side.range).map(|range| kilobits(range.least)).min();
    if let Some(slowest) = slowest.filter(|slowest| *slowest <= 2 * ACTIVE) {
        text.push_str(&format!("\nconnection_active_thr_kbps={}\n", slowest / 2));
    }
    if wan.len() + 4 > LONGEST {
        job.notes.push(format!(
            "sqm gives the device of downloads another name than ifb4{wan}, which is too long: see `tc qdisc`"
        ));
    }
    job.notes.push(
        "cake-autorate changes the rates of CAKE alone, between min and max; base is the rate while the link is quiet. \
         Its other keys keep the values of its defaults.sh; raise the delays of its thresholds if the link's own delay \
         jumps"
            .into(),
    );
    job.part(
        "/root/cake-autorate/config.primary.sh, for the link that varies; then service cake-autorate start",
        text,
    );
}
