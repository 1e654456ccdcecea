//! Texts for routers.

mod autorate;
mod dummynet;
mod gateway;
mod gui;
mod ios_xe;
mod junos;
mod linux;
mod networkd;
mod openwrt;
mod profile;
mod routeros;

use quell_tc::NotInLinux;
use quell_units::BitRate;
use quell_units::text::cut;

use crate::offer::{Fit, Offer, Setting};
use crate::platform::Platform;
use crate::shaped::{Shaped, Side};

/// What to type, and what it does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The texts.
    pub parts: Vec<Part>,
    /// What they cannot express, and what else is to be done.
    pub notes: Vec<String>,
}

/// A text, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// A file, a shell, or a page of the router.
    pub place: String,
    /// The text, whose last line is ended.
    pub text: String,
}

/// Why there is nothing to type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unwritable {
    /// The router has neither the algorithm nor one that comes near.
    #[error("{platform} has no {algorithm}; it has {has}")]
    NotThere {
        /// The router.
        platform: &'static str,
        /// The algorithm.
        algorithm: &'static str,
        /// Those that it has or comes near to.
        has: String,
    },
    /// The router has one algorithm for both directions.
    #[error(
        "{platform} has one algorithm for both directions, not {down} down and {up} up; choose one of them"
    )]
    OneForBoth {
        /// The router.
        platform: &'static str,
        /// That of what comes in.
        down: &'static str,
        /// That of what goes out.
        up: &'static str,
    },
    /// The router shapes downloads where they leave to the hosts, and that device is not given.
    #[error("{platform} shapes downloads where they leave to the hosts; give that device, mostly {mostly}")]
    NeedsLan {
        /// The router.
        platform: &'static str,
        /// The name that the device mostly has.
        mostly: &'static str,
    },
    /// Linux of that version has no such queue.
    #[error("{0}")]
    NotInLinux(NotInLinux),
    /// A device's name is none.
    #[error("{field} = \"{name}\" is no device's name; use letters, digits and . _ - @ / : only, at most 64")]
    Device {
        /// Which one.
        field: &'static str,
        /// The name.
        name: String,
    },
    /// The platform has its queues behind a shaper alone.
    #[error(
        "{platform} has its queues behind a shaper alone; shape, or use another system for a port at its own rate"
    )]
    NoPort {
        /// The platform.
        platform: &'static str,
    },
    /// A rate that nothing can be shaped to.
    #[error("{direction}: {rate} is no rate to shape to; give at least {least}")]
    Rate {
        /// The direction.
        direction: &'static str,
        /// The rate.
        rate: BitRate,
        /// The least.
        least: BitRate,
    },
}

/// One direction with what the router says of it.
struct Queue<'a> {
    direction: &'static str,
    side: &'a Side,
    offer: Offer,
    settings: Vec<Setting>,
}

impl Queue<'_> {
    fn is(&self, algorithm: &str) -> bool {
        self.offer.algorithm == algorithm
    }

    /// Words and values in a row, for programs that read them so; a word without a name stands alone.
    fn in_a_row(&self, but: &str) -> String {
        let word = |s: &Setting| match s.knob {
            "" => s.text.clone(),
            knob => format!("{knob} {}", s.text),
        };
        let words = self.settings.iter().filter(|s| but.is_empty() || !s.knob.starts_with(but)).map(word);
        words.collect::<Vec<_>>().join(" ")
    }

    /// The text of a setting.
    fn text(&self, knob: &str) -> Option<&str> {
        self.settings.iter().find(|s| s.knob == knob).map(|s| s.text.as_str())
    }
}

/// A link on its way to a text.
struct Job<'a> {
    platform: Platform,
    shaped: &'a Shaped,
    queues: [Queue<'a>; 2],
    /// The queue is that of a port at its own rate: there is no shaper, and one direction.
    port: bool,
    parts: Vec<Part>,
    notes: Vec<String>,
}

impl Job<'_> {
    fn part(&mut self, place: impl Into<String>, text: String) {
        self.parts.push(Part { place: place.into(), text });
    }

    /// Notes something about one direction; what holds for both stands once.
    fn note(&mut self, direction: &str, note: String) {
        let one = format!("{direction}: {note}");
        let other = if direction == "down" { "up" } else { "down" };
        if let Some(same) = self.notes.iter_mut().find(|n| **n == format!("{other}: {note}")) {
            *same = note;
        } else if !self.notes.contains(&note) && !self.notes.contains(&one) {
            self.notes.push(one);
        }
    }

    /// The rate and the overhead that the shaper is told, with a note on how they differ from the link's.
    fn told(&mut self, number: usize) -> (BitRate, i64) {
        let told = self.platform.counts().told(&self.queues[number].side.link);
        if let Some(note) = told.note {
            self.note(self.queues[number].direction, note);
        }
        (told.rate, told.overhead.unwrap_or(0))
    }

    /// The directions that are written, as numbers of queues: what goes out, and what comes in.
    fn numbers(&self) -> &'static [usize] {
        if self.port { &[1] } else { &[1, 0] }
    }

    /// The name of a direction's queue.
    fn name(&self, number: usize) -> String {
        if self.port { "quell".into() } else { format!("quell-{}", self.queues[number].direction) }
    }

    /// The device that a direction leaves by.
    fn device(&self, number: usize) -> Result<String, Unwritable> {
        if number == 1 { Ok(self.shaped.wan.clone()) } else { self.lan().map(str::to_string) }
    }

    /// The device that leads to the hosts.
    fn lan(&self) -> Result<&str, Unwritable> {
        let (platform, mostly) = (self.platform.title(), self.platform.devices().1);
        self.shaped.lan.as_deref().ok_or(Unwritable::NeedsLan { platform, mostly })
    }

    /// Refuses two algorithms where the router has one for both directions.
    fn one_for_both(&self) -> Result<(), Unwritable> {
        let [down, up] = &self.queues;
        if down.is(up.offer.algorithm) {
            return Ok(());
        }
        let (down, up) = (down.offer.algorithm, up.offer.algorithm);
        Err(Unwritable::OneForBoth { platform: self.platform.title(), down, up })
    }
}

/// The least rate that is written.
const LEAST: BitRate = BitRate::from_bps(1_000);

/// What to type on a router for a link, where it goes, and what it does not say.
///
/// # Errors
/// If the router has no such algorithm and none that comes near, if it cannot tell the directions apart as asked, or if
/// a device's name or a rate is none.
pub fn write(platform: Platform, shaped: &Shaped) -> Result<Written, Unwritable> {
    written(platform, shaped, false)
}

/// What to type on a router or a switch so that a port has the algorithm where the port itself is the bottleneck: there
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
    written(platform, &Shaped { wan: port.into(), lan: None, down: side.clone(), up: side }, true)
}

fn written(platform: Platform, shaped: &Shaped, port: bool) -> Result<Written, Unwritable> {
    device("wan", &shaped.wan)?;
    if let Some(lan) = &shaped.lan {
        device("lan", lan)?;
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
    let mut made = |(direction, side), (_, offer): (&'static str, Offer)| {
        let (settings, own) = offer.settings(side);
        notes.push((direction, own));
        Queue { direction, side, offer, settings }
    };
    let offers = [queue(down)?, queue(up)?];
    let queues = [made(down, offers[0]), made(up, offers[1])];
    let mut job = Job { platform, shaped, queues, port, parts: Vec::new(), notes: Vec::new() };
    for (direction, own) in notes {
        for note in own {
            job.note(direction, note);
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
    autorate::write(&mut job);
    if job.queues.iter().any(|queue| queue.offer.fit == Fit::Nearest) {
        job.notes.push("this comes near to what was simulated and is not the same: measure it".into());
    }
    job.notes.extend(platform.notes().iter().map(|note| note.to_string()));
    job.notes.extend(platform.processor().map(str::to_string));
    Ok(Written { parts: job.parts, notes: job.notes })
}

/// Refuses what is no device's name, so that a text holds only what was meant.
fn device(field: &'static str, name: &str) -> Result<(), Unwritable> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "._-@/:".contains(c);
    if (1..=64).contains(&name.len()) && name.chars().all(fine) && !name.starts_with('-') {
        return Ok(());
    }
    Err(Unwritable::Device { field, name: cut(name) })
}

/// A rate in whole kilobits per second, rounded down so that it is not too much.
fn kilobits(rate: BitRate) -> u64 {
    rate.bps() / 1000
}

/// A rate with a letter for thousands where it is whole.
fn short(rate: BitRate, thousand: &str) -> String {
    if rate.bps().is_multiple_of(1000) {
        format!("{}{thousand}", kilobits(rate))
    } else {
        rate.bps().to_string()
    }
}
