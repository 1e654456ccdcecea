//! The file of `quell gateway run --config`.

use quell_units::QueueSize;
use toml::{Table, Value};

use super::{Job, Unwritable};
use crate::shaped::FULL;

pub(super) fn write(job: &mut Job<'_>) -> Result<(), Unwritable> {
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
    let mut aqm = Table::new();
    aqm.insert("algorithm".into(), slower.aqm.name().into());
    let all = Table::try_from(&slower.aqm).unwrap_or_default();
    let of_the_link = ["bandwidth", "overhead", "mpu", "framing", "layer"];
    for (name, _) in slower.aqm.changed() {
        if let Some(value) = all.get(name).filter(|_| !of_the_link.contains(&name)) {
            aqm.insert(name.into(), value.clone());
        }
    }
    let mut file = Table::new();
    file.insert("wan".into(), job.shaped.wan.clone().into());
    file.insert("up".into(), rates[1].to_string().into());
    file.insert("down".into(), rates[0].to_string().into());
    file.insert("ecn".into(), (down.ecn || up.ecn).into());
    file.insert("buffer".into(), buffer.to_string().into());
    file.insert("aqm".into(), Value::Table(aqm));
    job.part(
        "/etc/quell/gateway.toml; then quell gateway check --config /etc/quell/gateway.toml",
        file.to_string(),
    );
    Ok(())
}

/// The larger of two sizes.
fn larger(a: QueueSize, b: QueueSize) -> QueueSize {
    if a.in_bytes(FULL) >= b.in_bytes(FULL) { a } else { b }
}
