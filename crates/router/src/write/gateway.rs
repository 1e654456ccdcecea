//! The file of `quell gateway run --config`.

use quell_units::QueueSize;

use super::job::{Job, Unwritable};
use crate::offer::OF_THE_LINK;
use crate::shaped::FULL;

pub(super) fn write(job: &mut Job<'_>) -> Result<(), Unwritable> {
    if !(job.writes(0) && job.writes(1)) {
        return Err(Unwritable::NotAlone { platform: job.platform.title() });
    }
    job.one_for_both()?;
    let rates = [job.told(0).0, job.told(1).0];
    let [down, up] = [job.queues[0].side, job.queues[1].side];
    // Parameters are those of the slower direction, where delays are longer.
    let slower = if down.link.rate < up.link.rate { down } else { up };
    if down.aqm != up.aqm {
        let name = if slower.link.rate == down.link.rate { "down" } else { "up" };
        job.notes.push(format!(
            "the file has one set of parameters for both directions: those of {name}, which is slower"
        ));
    }
    let buffer = larger(down.buffer, up.buffer);
    if down.buffer != up.buffer {
        job.notes.push(format!("the file has one buffer for both directions: the larger, {buffer}"));
    }
    if down.ecn != up.ecn {
        job.notes.push(
            "the file has one ecn for both directions: true is written, as one of them asks for it".into(),
        );
    }
    let mut text = format!(
        "wan = \"{}\"\nup = \"{}\"\ndown = \"{}\"\necn = {}\nbuffer = \"{buffer}\"\n\n[aqm]\nalgorithm = \"{}\"\n",
        job.shaped.wan,
        rates[1],
        rates[0],
        down.ecn || up.ecn,
        slower.aqm.name()
    );
    let all = serde_json::to_value(&slower.aqm).unwrap_or_default();
    for (name, _) in slower.aqm.changed() {
        let value = all.get(name).filter(|_| !OF_THE_LINK.contains(&name));
        if let Some(value) = value.and_then(|value| toml::Value::try_from(value).ok()) {
            text.push_str(&format!("{name} = {value}\n"));
        }
    }
    job.part("/etc/quell/gateway.toml; then quell gateway check --config /etc/quell/gateway.toml", text);
    Ok(())
}

/// The larger of two sizes.
fn larger(a: QueueSize, b: QueueSize) -> QueueSize {
    if a.in_bytes(FULL) >= b.in_bytes(FULL) { a } else { b }
}
