//! A link as its user describes it.

use quell_router::{Can, Platform, Technology};
use quell_units::{BitRate, Bytes, Duration};

use crate::course::Course;
use crate::goal::{Goal, Threshold};
use crate::load::Load;
use crate::measure::Kind;
use crate::span::Span;
use crate::words::of_rate;

/// A link, what it carries, and what is asked of it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The kind of link.
    pub technology: &'static Technology,
    /// Its rate down, at its own layer.
    pub down: Span<BitRate>,
    /// Its rate up.
    pub up: Span<BitRate>,
    /// The round-trip times of its flows without queueing.
    pub rtt: Span<Duration>,
    /// The number of hosts that share it, each with the load.
    pub hosts: u16,
    /// The traffic of a host.
    pub load: Load,
    /// The goal.
    pub goal: Goal,
    /// The router, or the algorithms that it has.
    pub can: Can,
    /// The router's device that leads to the link, if it is known.
    pub device: Option<String>,
    /// The most that the router's processor shapes, both directions together.
    pub cpu_limit: Option<BitRate>,
    /// The course of the rate down, if that was recorded.
    pub trace: Option<Course>,
}

/// The slowest link: of slower ones, a packet takes longer than a minute.
const SLOWEST: BitRate = BitRate::from_bps(10_000);
/// The fastest.
const FASTEST: BitRate = BitRate::from_bps(400_000_000_000);
/// The round-trip times for which there are simulations.
const ROUND_TRIPS: [Duration; 2] = [Duration::from_micros(10), Duration::from_secs(5)];

impl Request {
    /// Refuses a link that cannot be simulated.
    ///
    /// # Errors
    /// Names the field, its value, the rule and the fix.
    pub fn check(&self) -> Result<(), String> {
        for (name, rate) in [("down", self.down), ("up", self.up)] {
            if rate.least < SLOWEST || rate.most > FASTEST {
                return Err(format!(
                    "{name} = {rate}: must lie between {SLOWEST} and {FASTEST}; give the rate of the link, such as 18Mbit/s"
                ));
            }
        }
        let [least, most] = ROUND_TRIPS;
        if self.rtt.least < least || self.rtt.most > most {
            return Err(format!(
                "rtt = {}: must lie between {least} and {most}; give the round-trip time of your paths as rtt (--rtt), such as \
                 10ms..80ms",
                self.rtt
            ));
        }
        if self.hosts == 0 || self.hosts > 250 {
            return Err(format!("hosts = {}: must be a number from 1 to 250", self.hosts));
        }
        if self.can.algorithms().is_empty() {
            return Err(
                "can: the router has no algorithm; name those that it has, such as cake,fq_codel".into()
            );
        }
        if let Some(name) = &self.device {
            let platform = match self.can {
                Can::Platform(platform) => Some(platform),
                // Their lines are those of Linux.
                Can::Algorithms(_) => Platform::find("linux"),
            };
            platform
                .map_or(Ok(()), |platform| quell_router::device(platform, "--dev", name))
                .map_err(|e| e.to_string())?;
        }
        let apart =
            self.down.least.bps().max(self.up.least.bps()) / self.down.least.bps().min(self.up.least.bps());
        if apart > 1000 {
            return Err(format!(
                "down = {}, up = {}: one is {apart} times the other; acknowledgments alone fill the slower direction beyond \
                 1000 times: look at the units, kbit/s or Mbit/s",
                self.down, self.up
            ));
        }
        Ok(())
    }

    /// The rate of IP in its largest packets that a rate of the link carries.
    pub(crate) fn carried(&self, rate: BitRate) -> BitRate {
        self.technology.carried(rate, Bytes::new(self.technology.largest))
    }

    /// Refuses what no queue can give: a goal above what IP packets can have of the link, and a shaper far below it.
    ///
    /// # Errors
    /// Names the field, its value, the rule and the fix.
    pub(crate) fn fits(&self) -> Result<(), String> {
        let of = |rate: BitRate| self.carried(rate);
        for condition in &self.goal.0 {
            let ways: &[(&str, BitRate)] = match condition.kind {
                Kind::Goodput => &[("down", self.down.most), ("up", self.up.most)],
                Kind::GoodputDown | Kind::VideoRate => &[("down", self.down.most)],
                Kind::GoodputUp => &[("up", self.up.most)],
                _ => &[],
            };
            for (word, rate) in ways {
                let asked = match condition.threshold {
                    Threshold::Rate(asked) => asked.bps() as f64,
                    Threshold::Share(share) => share * of(*rate).bps() as f64,
                    Threshold::Time(_) => continue,
                };
                if asked >= of(*rate).bps() as f64 {
                    return Err(format!(
                        "goal \"{condition}\": {rate} {word} carry {} of IP at most, in packets of {} B; ask for less",
                        of_rate(of(*rate).bps() as f64),
                        self.technology.largest
                    ));
                }
            }
        }
        if let Some(limit) = self.cpu_limit.filter(|_| self.technology.instead.is_none()) {
            let both = self.down.most.bps().saturating_add(self.up.most.bps());
            if limit.bps() < both / 10 {
                return Err(format!(
                    "cpu-limit = {limit}: a router that shapes less than a tenth of {} in both directions together takes \
                     more from the link than a shaper gives; leave it unshaped, or use a faster router",
                    BitRate::from_bps(both)
                ));
            }
        }
        Ok(())
    }

    /// Whether a rate moves.
    pub fn varies(&self) -> bool {
        self.down.moves() || self.up.moves() || self.trace.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_people_write_them() {
        let of = |text: &str| text.parse::<Span<BitRate>>();
        let mbit = |n: u64| BitRate::from_bps(n * 1_000_000);
        for text in ["5Mbit/s..60Mbit/s", "5..60Mbit/s", "5 Mbit/s .. 60 Mbit/s"] {
            assert_eq!(of(text), Ok(Span { least: mbit(5), most: mbit(60) }), "{text}");
        }
        assert_eq!(of("95Mbit/s"), Ok(Span::of(mbit(95))));
        assert!(of("60Mbit/s..5Mbit/s").unwrap_err().contains("reversed: write 5 Mbit/s..60 Mbit/s"));
        assert!(of("fast").is_err() && of("..5Mbit/s").is_err() && of("5Mbit/s..").is_err());
        let rtt: Span<Duration> = "10ms..80ms".parse().unwrap();
        assert_eq!(rtt.to_string(), "10 ms to 80 ms");
    }
}
