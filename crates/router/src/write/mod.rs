//! Texts for routers.

mod autorate;
mod dummynet;
mod gateway;
mod gui;
mod ios_xe;
mod job;
mod junos;
mod linux;
mod networkd;
mod openwrt;
mod profile;
mod routeros;

use quell_units::BitRate;
use quell_units::text::cut;

use crate::offer::{Fit, Offer};
use crate::platform::Platform;
use crate::shaped::{Shaped, Side, Which};

use job::{Job, Queue};
pub use job::{Part, Unwritable, Written};

/// The least rate that is written.
const LEAST: BitRate = BitRate::from_bps(1_000);

/// Writes what to type on a router for a link, where it goes, and what it does not say.
///
/// # Errors
/// If the router has no such algorithm and none that comes near, if it cannot tell the directions apart as asked or shape
/// one alone, or if a device's name or a rate is none.
pub fn write(platform: Platform, shaped: &Shaped) -> Result<Written, Unwritable> {
    written(platform, shaped, false)
}

/// Writes what gives a port of a router or a switch the algorithm where the port itself is the bottleneck: there
/// is no shaper. `side` is what leaves by the port, and its rate is the port's own.
///
/// # Errors
/// As [`write()`], and if the platform's queues are parts of a shaper.
pub fn write_port(platform: Platform, port: &str, side: &Side) -> Result<Written, Unwritable> {
    let has_queues =
        [Platform::Networkd, Platform::RouterOs, Platform::Junos, Platform::IosXe].contains(&platform);
    if !has_queues && !matches!(platform, Platform::Linux(_)) {
        return Err(Unwritable::NoPort { platform: platform.title() });
    }
    let side = Side { range: None, ..side.clone() };
    written(
        platform,
        &Shaped { wan: port.into(), lan: None, down: side.clone(), up: side, which: Which::Both },
        true,
    )
}

fn written(platform: Platform, shaped: &Shaped, port: bool) -> Result<Written, Unwritable> {
    device(platform, "wan", &shaped.wan)?;
    if let Some(lan) = &shaped.lan {
        device(platform, "lan", lan)?;
    }
    let mut notes = Vec::new();
    let queue = |(direction, side): (&'static str, &'_ Side)| {
        if side.link.rate < LEAST {
            return Err(Unwritable::Rate { direction, rate: side.link.rate, least: LEAST });
        }
        let offer = platform.has(&side.aqm).ok_or_else(|| Unwritable::NotThere {
            platform: platform.title(),
            algorithm: side.aqm.name(),
            has: platform.offers().iter().map(|o| o.algorithm).collect::<Vec<_>>().join(", "),
        })?;
        Ok((direction, offer))
    };
    let [down, up] = shaped.sides();
    let linux = [Platform::OpenWrt, Platform::Networkd, Platform::RouterOs].contains(&platform);
    let mut made = |(direction, side), (_, offer): (&'static str, Offer)| {
        let (settings, own) = offer.settings(side, linux);
        notes.push((direction, own));
        Queue { direction, side, offer, settings }
    };
    let offers = [queue(down)?, queue(up)?];
    let queues = [made(down, offers[0]), made(up, offers[1])];
    let mut job = Job { platform, shaped, queues, port, parts: Vec::new(), notes: Vec::new() };
    for (number, (direction, own)) in notes.into_iter().enumerate() {
        // The port's queue is both.
        if port || job.writes(number) {
            own.into_iter().for_each(|note| job.note(direction, note));
        }
    }
    match platform {
        Platform::Linux(kernel) => linux::write(&mut job, kernel)?,
        Platform::OpenWrt => openwrt::write(&mut job)?,
        Platform::Networkd => networkd::write(&mut job)?,
        Platform::RouterOs => routeros::write(&mut job)?,
        Platform::FreeBsd => dummynet::write(&mut job),
        Platform::OpnSense => gui::opnsense(&mut job),
        Platform::PfSense => gui::pfsense(&mut job),
        Platform::Gateway => gateway::write(&mut job)?,
        Platform::Junos => junos::write(&mut job)?,
        Platform::IosXe => ios_xe::write(&mut job)?,
    }
    autorate::write(&mut job)?;
    if job.queues.iter().any(|queue| queue.offer.fit == Fit::Nearest) {
        job.notes.push("this comes near to what was simulated and is not the same: measure it".into());
    }
    job.notes.extend(platform.notes().iter().map(|note| note.to_string()));
    job.notes.extend(platform.processor().map(str::to_string));
    Ok(Written { parts: job.parts, notes: job.notes })
}

/// Refuses a name that no device of a platform has, so that nobody can slip text of their own into a configuration. Linux has
/// at most 15 characters, without space, slash and colon (`dev_valid_name`).
///
/// # Errors
/// Names the field, its value, the rule and the fix.
pub fn device(platform: Platform, field: &'static str, name: &str) -> Result<(), Unwritable> {
    let on_linux =
        matches!(platform, Platform::Linux(_) | Platform::OpenWrt | Platform::Networkd | Platform::Gateway);
    let (signs, most, rule) = match on_linux {
        true => (
            "._-@",
            15,
            "Linux has at most 15 letters, digits and . _ - @, no space and no slash; give a name that `ip link` shows",
        ),
        false => ("._-@/:", 64, "use letters, digits and . _ - @ / : only, at most 64"),
    };
    let fine = |c: char| c.is_ascii_alphanumeric() || signs.contains(c);
    if (1..=most).contains(&name.len()) && name.chars().all(fine) && !name.starts_with('-') {
        return Ok(());
    }
    Err(Unwritable::Device { field, name: cut(name), rule })
}
