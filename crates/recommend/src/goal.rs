//! Goals for a link: "call P99 < 20 ms and goodput > 80%".

use std::fmt;
use std::str::FromStr;

use quell_names::{nearest, suggest};
use quell_router::Technology;
use quell_units::text::cut;
use quell_units::{BitRate, Duration};

use crate::load::FRAME;
use crate::measure::{Column, Kind};
use crate::words::{of_rate, of_time, percent};

/// Conditions, all of which are to hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal(pub Vec<Condition>);

/// A figure and its threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The figure.
    pub kind: Kind,
    /// The threshold.
    pub threshold: Threshold,
}

/// A threshold of a [`Condition`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// Less than a time.
    Time(Duration),
    /// More than a rate.
    Rate(BitRate),
    /// A share, from 0 to 1: less of stalls, more of a link's rate.
    Share(f64),
}

/// Forms of conditions, for errors.
const FORMS: &str = "call P99 < 20 ms, page P95 < 2 s (also P50, P99, mean), goodput > 90%, goodput down > 80 Mbit/s, \
    goodput up > 80%, video rate > 5 Mbit/s, video stalls < 1%; several with \"and\" between them";

impl Goal {
    /// The goal where none is given.
    pub fn usual(technology: &Technology, varies: bool, longest: Duration) -> Goal {
        let call = |time| (Kind::Call, Threshold::Time(time));
        let goodput = |share| (Kind::Goodput, Threshold::Share(share));
        let asked = match (technology.name == "port", varies, longest > Duration::from_millis(300)) {
            (true, ..) => vec![call(Duration::from_micros(500)), goodput(0.8)],
            (_, true, _) => vec![call(Duration::from_millis(100)), goodput(0.5)],
            (.., true) => vec![call(Duration::from_millis(50))],
            _ => vec![call(Duration::from_millis(20))],
        };
        Goal(asked.into_iter().map(|(kind, threshold)| Condition { kind, threshold }).collect())
    }
}

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.trim().to_ascii_lowercase();
        let parts: Vec<&str> = lower.split(" and ").flat_map(|part| part.split(',')).collect();
        let all = parts.iter().map(|part| condition(part.trim())).collect::<Result<Vec<_>, _>>()?;
        if let Some(twice) = (1..all.len()).find(|i| all[..*i].iter().any(|other| other.kind == all[*i].kind))
        {
            return Err(format!("\"{}\": {} is asked twice", cut(text.trim()), all[twice].kind.name()));
        }
        Ok(Goal(all))
    }
}

fn condition(text: &str) -> Result<Condition, String> {
    let wrong = |why: &str| format!("\"{}\": {why}; ask for one of: {FORMS}", cut(text));
    let Some(at) = text.find(['<', '>']) else {
        return Err(wrong("there is no < or > between a figure and its threshold"));
    };
    let (name, rest) = text.split_at(at);
    let (less, value) = (rest.starts_with('<'), rest[1..].trim_start_matches('=').trim());
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some(kind) = Kind::named(&name) else {
        let near = nearest(&name, Kind::ALL.iter().map(|kind| kind.name()));
        return Err(wrong(&suggest(&format!("\"{}\" is not a figure", cut(&name)), near.as_deref(), None)));
    };
    if less != kind.is_less_better() {
        let sign = if less { '>' } else { '<' };
        return Err(wrong(&format!("of {} one asks {sign}", kind.name())));
    }
    let share =
        value.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok()).map(|x| x / 100.0);
    let threshold = match (kind, share) {
        (Kind::Stalls, Some(share)) if share > 0.0 && share <= 1.0 => Threshold::Share(share),
        (Kind::Stalls, Some(share)) if share <= 0.0 => return Err(wrong("no share is less than 0")),
        (Kind::Goodput | Kind::GoodputDown | Kind::GoodputUp, Some(share)) if share > 0.0 && share < 1.0 => {
            Threshold::Share(share)
        }
        (Kind::Stalls, None) => return Err(wrong("stalls are a share, such as 1%")),
        (Kind::Goodput | Kind::GoodputDown | Kind::GoodputUp, Some(_)) => {
            return Err(wrong(
                "a share of goodput is of what the link carries of IP, above 0% and below 100%",
            ));
        }
        (_, Some(_)) => return Err(wrong("this share is not possible")),
        (Kind::Goodput | Kind::GoodputDown | Kind::GoodputUp | Kind::VideoRate, None) => {
            let rate: BitRate = capital(value).parse().map_err(|why| wrong(&format!("{why}")))?;
            Threshold::Rate(rate)
        }
        (_, None) => {
            let time: Duration = value.parse().map_err(|why| wrong(&format!("{why}")))?;
            if time.is_zero() {
                return Err(wrong("no time is less than 0"));
            }
            Threshold::Time(time)
        }
    };
    Ok(Condition { kind, threshold })
}

/// Units of rates as they are written: text of goals is in small letters.
fn capital(text: &str) -> String {
    [("gbit", "Gbit"), ("mbit", "Mbit")]
        .iter()
        .fold(text.to_string(), |text, (from, to)| text.replace(from, to))
}

impl Condition {
    /// The threshold of a column's figure: shares of goodput are of what its link carries of IP.
    pub fn limit(&self, column: &Column) -> f64 {
        match self.threshold {
            Threshold::Time(time) => time.as_secs_f64(),
            Threshold::Rate(rate) => rate.bps() as f64,
            Threshold::Share(share) if self.kind == Kind::Stalls => share,
            Threshold::Share(share) => share * column.capacity.bps() as f64,
        }
    }
}

impl Condition {
    /// The time of a packet at a rate, where a call cannot be as short as it is asked because it waits for one that is being
    /// sent.
    pub(crate) fn out_of_reach(&self, rate: BitRate) -> Option<Duration> {
        let packet = rate.transmission_time(FRAME);
        match (self.kind, self.threshold) {
            (Kind::Call, Threshold::Time(limit)) => (packet + packet >= limit).then_some(packet),
            _ => None,
        }
    }
}

impl Condition {
    /// The same with what is possible at a rate where what is asked is not: a call waits for a packet that is being sent, and
    /// at times for one more.
    pub(crate) fn possible(&self, rate: BitRate) -> Option<Condition> {
        let packet = self.out_of_reach(rate)?;
        let steps = libm::floor(2.0 * packet.as_secs_f64() / 0.005) + 1.0;
        Some(Condition {
            threshold: Threshold::Time(Duration::from_millis(5 * steps as u64)),
            ..self.clone()
        })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.kind.is_less_better() { '<' } else { '>' };
        let threshold = match self.threshold {
            Threshold::Time(time) => of_time(time.as_secs_f64()),
            Threshold::Rate(rate) => of_rate(rate.bps() as f64),
            Threshold::Share(share) => percent(share),
        };
        write!(f, "{} {sign} {threshold}", self.kind.name())
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(Condition::to_string).collect();
        f.write_str(&all.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_read_as_they_are_written() {
        for (text, said) in [
            ("call P99 < 20 ms", "call P99 < 20 ms"),
            ("page p95<2s", "page P95 < 2 s"),
            ("Goodput > 90% AND call P99 < 5ms", "goodput > 90% and call P99 < 5 ms"),
            ("goodput down > 80 Mbit/s, video stalls < 1%", "goodput down > 80 Mbit/s and video stalls < 1%"),
            ("page mean <= 500 ms", "page mean < 500 ms"),
        ] {
            let goal: Goal = text.parse().unwrap();
            assert_eq!(goal.to_string(), said);
            assert_eq!(said.parse::<Goal>(), Ok(goal));
        }
    }

    #[test]
    fn what_cannot_be_asked_is_answered_with_what_can() {
        for (text, why) in [
            ("call P99", "no < or >"),
            ("cal P99 < 20 ms", "did you mean \"call P99\"?"),
            ("call P99 > 20 ms", "of call P99 one asks <"),
            ("call P99 < 20", "call P99 < 20 ms, page"),
            ("goodput > 120%", "below 100%"),
            ("goodput up > 100%", "below 100%"),
            ("video stalls < 120%", "not possible"),
            ("call P99 < 0 ms", "no time"),
            ("video stalls < 0%", "no share"),
            ("call P99 < 1 ms and call P99 < 2 ms", "asked twice"),
            ("", "no < or >"),
        ] {
            let said = text.parse::<Goal>().unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
