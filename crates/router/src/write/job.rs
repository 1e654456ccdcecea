//! A link on its way to a text.

use quell_tc::NotInLinux;
use quell_units::BitRate;

use crate::counted::Told;
use crate::offer::{Offer, Setting};
use crate::platform::Platform;
use crate::shaped::{Shaped, Side, Which};

/// Texts to type, and notes on what they do not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The texts.
    pub parts: Vec<Part>,
    /// Notes on what they cannot express, and on what else is to be done.
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

/// Reason why there is nothing to type.
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
    /// The router shapes both directions or none.
    #[error("{platform} shapes both directions; shape both, or use another system for one alone")]
    NotAlone {
        /// The router.
        platform: &'static str,
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
    #[error("{field} = \"{name}\" is no device's name: {rule}")]
    Device {
        /// The field.
        field: &'static str,
        /// The name.
        name: String,
        /// The names that there are, and the fix.
        rule: &'static str,
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
pub(super) struct Queue<'a> {
    pub direction: &'static str,
    pub side: &'a Side,
    pub offer: Offer,
    pub settings: Vec<Setting>,
}

impl Queue<'_> {
    pub fn is(&self, algorithm: &str) -> bool {
        self.offer.algorithm == algorithm
    }

    /// Words and values in a row, for programs that read them so; a word without a name stands alone.
    pub fn in_a_row(&self, but: &str) -> String {
        let word = |s: &Setting| match s.knob {
            "" => s.text.clone(),
            knob => format!("{knob} {}", s.text),
        };
        let words = self.settings.iter().filter(|s| but.is_empty() || !s.knob.starts_with(but)).map(word);
        words.collect::<Vec<_>>().join(" ")
    }

    /// The text of a setting.
    pub fn text(&self, knob: &str) -> Option<&str> {
        self.settings.iter().find(|s| s.knob == knob).map(|s| s.text.as_str())
    }
}

/// A link on its way to a text.
pub(super) struct Job<'a> {
    pub platform: Platform,
    pub shaped: &'a Shaped,
    pub queues: [Queue<'a>; 2],
    /// The queue is that of a port at its own rate: there is no shaper, and one direction.
    pub port: bool,
    pub parts: Vec<Part>,
    pub notes: Vec<String>,
}

impl Job<'_> {
    pub fn part(&mut self, place: impl Into<String>, text: String) {
        self.parts.push(Part { place: place.into(), text });
    }

    /// Notes something about one direction; what holds for both stands once.
    pub fn note(&mut self, direction: &str, note: String) {
        let one = format!("{direction}: {note}");
        let other = if direction == "down" { "up" } else { "down" };
        if let Some(same) = self.notes.iter_mut().find(|n| **n == format!("{other}: {note}")) {
            *same = note;
        } else if !self.notes.contains(&note) && !self.notes.contains(&one) {
            self.notes.push(one);
        }
    }

    /// The rate and the overhead that the shaper is told, with a note on how they differ from the link's.
    pub fn told(&mut self, number: usize) -> (BitRate, i64) {
        let told = self.told_whole(number);
        (told.rate, told.overhead.unwrap_or(0))
    }

    /// The same, with whether cells are counted.
    pub fn told_whole(&mut self, number: usize) -> Told {
        let counts = self.platform.counts_on(self.device(number).ok().as_deref());
        let told = counts.told(&self.queues[number].side.link);
        if let Some(note) = told.note.clone() {
            self.note(self.queues[number].direction, note);
        }
        told
    }

    /// The bytes of the shaper's burst where it is told this rate: the burst takes the time that was simulated.
    pub fn burst(&self, number: usize, rate: BitRate) -> u64 {
        let link = &self.queues[number].side.link;
        let bytes = u128::from(quell_tc::burst(link).get()) * u128::from(rate.bps());
        u64::try_from(bytes.div_ceil(u128::from(link.rate.bps().max(1)))).unwrap_or(u64::MAX)
    }

    /// The directions that are written, as numbers of queues: what goes out, and what comes in.
    pub fn numbers(&self) -> &'static [usize] {
        match (self.port, self.shaped.which) {
            (true, _) | (_, Which::Up) => &[1],
            (_, Which::Down) => &[0],
            (_, Which::Both) => &[1, 0],
        }
    }

    /// Tells whether a direction is written, by the number of its queue.
    pub fn writes(&self, number: usize) -> bool {
        self.numbers().contains(&number)
    }

    /// The name of a direction's queue.
    pub fn name(&self, number: usize) -> String {
        if self.port { "quell".into() } else { format!("quell-{}", self.queues[number].direction) }
    }

    /// The device that a direction leaves by.
    pub fn device(&self, number: usize) -> Result<String, Unwritable> {
        if number == 1 { Ok(self.shaped.wan.clone()) } else { self.lan().map(str::to_string) }
    }

    /// The device that leads to the hosts.
    pub fn lan(&self) -> Result<&str, Unwritable> {
        let (platform, mostly) = (self.platform.title(), self.platform.devices().1);
        self.shaped.lan.as_deref().ok_or(Unwritable::NeedsLan { platform, mostly })
    }

    /// Refuses two algorithms where the router has one for both directions.
    pub fn one_for_both(&self) -> Result<(), Unwritable> {
        let [down, up] = &self.queues;
        if down.is(up.offer.algorithm) {
            return Ok(());
        }
        let (down, up) = (down.offer.algorithm, up.offer.algorithm);
        Err(Unwritable::OneForBoth { platform: self.platform.title(), down, up })
    }
}

/// A rate in whole kilobits per second, rounded down so that it is not too much.
pub(super) fn kilobits(rate: BitRate) -> u64 {
    rate.bps() / 1000
}

/// A rate with a letter for thousands where it is whole.
pub(super) fn short(rate: BitRate, thousand: &str) -> String {
    if rate.bps().is_multiple_of(1000) {
        format!("{}{thousand}", kilobits(rate))
    } else {
        rate.bps().to_string()
    }
}
