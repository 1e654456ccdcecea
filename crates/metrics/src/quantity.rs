//! The quantities that can be asked for: a metric, perhaps of a class, the average of an internal signal, and the ratio
//! of two of these.

use std::fmt;
use std::str::FromStr;

use quell_scenario::{suggest, unknown};
use quell_units::text::cut;
use serde::{Deserialize, Serialize};

use crate::metric::{Better, LANE, Metric, Range, is_size};
use crate::sequential::Width;

/// The prefix of internal signals.
const INTERNAL: &str = "internal:";

/// A figure by name: `queue_packets`, `throughput_bps[ftp]`, `internal:p`, or a ratio of two of these, such as
/// `goodput_bps[short]/goodput_bps[all]` or `queue_std_packets/queue_packets`. A ratio is taken in each replication.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    pub(crate) of: Term,
    /// The divisor.
    pub(crate) over: Option<Term>,
}

/// A metric or an internal signal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Term {
    /// A metric, and the scope it is taken from if not from the one that a table looks at.
    Metric(Metric, Option<String>),
    /// The average of an internal signal.
    Internal(String),
}

impl Quantity {
    /// The average of the internal signal called `name`.
    pub fn internal(name: &str) -> Self {
        Quantity { of: Term::Internal(name.to_string()), over: None }
    }

    /// The metric, unless it is a ratio or an internal signal.
    pub fn metric(&self) -> Option<Metric> {
        match (&self.of, &self.over) {
            (Term::Metric(metric, _), None) => Some(*metric),
            _ => None,
        }
    }

    /// A short heading.
    pub fn title(&self) -> String {
        self.show(Metric::title, " / ", "")
    }

    /// The values that it can have: of a metric those of [`Metric::range`], of a ratio of two none below 0, of what an
    /// algorithm reports any.
    pub fn range(&self) -> Range {
        let of = |term: &Term| match term {
            Term::Metric(metric, _) => metric.range(),
            Term::Internal(_) => Range::ANY,
        };
        match &self.over {
            None => of(&self.of),
            Some(over) if of(&self.of).least >= 0.0 && of(over).least >= 0.0 => Range::POSITIVE,
            Some(_) => Range::ANY,
        }
    }

    /// The better direction, where that is beyond dispute.
    pub fn better(&self) -> Better {
        self.metric().map_or(Better::Neither, Metric::better)
    }

    /// A value as a user writes it: of a metric as [`Metric::read`] has it, of a ratio or an internal signal a
    /// number in its unit, or a percentage.
    ///
    /// # Errors
    /// Says what a value looks like.
    pub fn read(&self, text: &str) -> Result<f64, String> {
        if let Some(metric) = self.metric() {
            return metric.read(text);
        }
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
        let percent = || text.trim().strip_suffix('%').and_then(number).map(|x| x / 100.0);
        let wrong = || format!("\"{}\" is not a value of {self}, such as 0.5 or 50%", cut(text.trim()));
        number(text).or_else(percent).ok_or_else(wrong)
    }

    /// Half the width of an interval as a user writes it: a share of the mean (`1%`), or a value as for
    /// [`Quantity::read`].
    ///
    /// # Errors
    /// Says what a width looks like.
    pub fn read_width(&self, text: &str) -> Result<Width, String> {
        if text.trim().ends_with('%') {
            return text.parse();
        }
        let width = Some(self.read(text)?).filter(|x| *x > 0.0).map(Width::Absolute);
        width.ok_or_else(|| format!("{self} = \"{}\": a width must be above 0", cut(text.trim())))
    }

    /// The class that it names and `classes` (beside "all" and "data") have not; `None` if there is none. Whether
    /// there is a lane, or transfers of a size, is known after the run.
    pub fn unknown_class<'a>(&'a self, classes: &[String]) -> Option<&'a str> {
        let known = |scope: &&str| {
            let later = scope.starts_with(LANE) || is_size(scope);
            ["all", "data"].contains(scope) || later || classes.iter().any(|c| c == scope)
        };
        self.scopes().filter(|scope| !known(scope)).last()
    }

    /// True if it is a metric that only lanes have, and names none.
    pub fn of_lanes(&self) -> bool {
        self.terms().any(|term| matches!(term, Term::Metric(Metric::AirtimeShare, None)))
    }

    /// The scopes that it names.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = &str> {
        self.terms().filter_map(|term| match term {
            Term::Metric(_, scope) => scope.as_deref(),
            Term::Internal(_) => None,
        })
    }

    /// The terms that it consists of.
    pub(crate) fn terms(&self) -> impl Iterator<Item = &Term> {
        std::iter::once(&self.of).chain(&self.over)
    }

    fn show(&self, metric: fn(Metric) -> &'static str, over: &str, internal: &str) -> String {
        let term = |term: &Term| match term {
            Term::Metric(m, None) => metric(*m).to_string(),
            Term::Metric(m, Some(scope)) => format!("{}[{scope}]", metric(*m)),
            Term::Internal(signal) => format!("{internal}{signal}"),
        };
        self.terms().map(term).collect::<Vec<_>>().join(over)
    }
}

/// The name, which is read back.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show(Metric::name, "/", INTERNAL))
    }
}

impl From<Metric> for Quantity {
    fn from(metric: Metric) -> Self {
        Quantity { of: Term::Metric(metric, None), over: None }
    }
}

impl From<&Quantity> for Quantity {
    fn from(quantity: &Quantity) -> Self {
        quantity.clone()
    }
}

impl PartialEq<Metric> for Quantity {
    fn eq(&self, metric: &Metric) -> bool {
        matches!((&self.of, &self.over), (Term::Metric(m, None), None) if m == metric)
    }
}

impl FromStr for Quantity {
    type Err = String;

    /// Reads a name. Titles stand for names, and capitals do not matter.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut inside = false;
        let outside = |c: char| {
            inside = (inside || c == '[') && c != ']';
            c == '/' && !inside
        };
        let terms = text.split(outside).map(term).collect::<Result<Vec<Term>, _>>()?;
        match <[Term; 2]>::try_from(terms) {
            Ok([of, over]) => Ok(Quantity { of, over: Some(over) }),
            Err(mut terms) if terms.len() == 1 => Ok(Quantity { of: terms.remove(0), over: None }),
            Err(_) => Err("divides more than once; a ratio has two metrics".to_string()),
        }
    }
}

fn term(text: &str) -> Result<Term, String> {
    let text = text.trim();
    if let Some(signal) = text.strip_prefix(INTERNAL) {
        return match signal {
            "" => Err("names no signal; name one, such as internal:p".to_string()),
            _ => Ok(Term::Internal(signal.to_string())),
        };
    }
    let (name, scope) = match text.strip_suffix(']').and_then(|t| t.split_once('[')) {
        Some((_, "")) => {
            return Err("names no class in []; write \"all\", \"data\" or a class".to_string());
        }
        Some((name, scope)) => (name.trim(), Some(scope.to_string())),
        None => (text, None),
    };
    let metric = Metric::find(name).ok_or_else(|| {
        let names: Vec<&str> = Metric::ALL.iter().map(|m| m.name()).collect();
        let titles: Vec<&str> = Metric::ALL.iter().map(|m| m.title()).collect();
        let (mut rule, mut nearest) = unknown("metric", name, &[names.as_slice(), &titles].concat());
        // A part of a name says which are meant, and so does another word for it.
        let part = match name.to_lowercase().as_str() {
            "latency" | "sojourn" => "delay".into(),
            "fairness" => "jain".into(),
            "rtt" => "trip".into(),
            "drops" => "loss".into(),
            "marks" | "ecn" => "mark".into(),
            other => other.replace([' ', '-'], "_"),
        };
        let alike: Vec<&str> =
            names.iter().copied().filter(|n| n.split('_').any(|word| word == part)).collect();
        if nearest.is_none() {
            match alike.as_slice() {
                [] => {}
                [one] => nearest = Some(one.to_string()),
                several => rule.push_str(&format!("; did you mean one of {}?", several.join(", "))),
            }
        }
        let usual: Vec<&str> = Metric::TABLE.iter().map(|m| m.name()).collect();
        let more = names.len() - usual.len();
        let known =
            format!("known: {}, and {more} more (docs/metrics.md, quell show --help)", usual.join(", "));
        suggest(&rule, nearest.as_deref(), Some(&known))
    })?;
    Ok(Term::Metric(metric, scope))
}

impl Serialize for Quantity {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(|why| serde::de::Error::custom(format!("\"{name}\": {why}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_printed() {
        for name in [
            "queue_packets",
            "throughput_bps[ftp]",
            "goodput_bps[a/b]/goodput_bps[all]",
            "queue_std_packets/queue_packets",
            "internal:p",
            "mark_rate/internal:p_b",
        ] {
            assert_eq!(name.parse::<Quantity>().unwrap().to_string(), name);
        }
        let read = |name: &str| name.parse::<Quantity>().unwrap();
        assert_eq!(
            read(" P99 Delay / mean delay [ftp]").to_string(),
            "queue_delay_p99_s/queue_delay_mean_s[ftp]"
        );
        assert_eq!(read("goodput_bps[web]/goodput_bps").title(), "goodput[web] / goodput");
        assert_eq!(read("loss"), Metric::LossRate);
        assert!(read("loss[web]") != Metric::LossRate);
        assert_eq!(read("loss[web]").metric(), Some(Metric::LossRate));
        assert_eq!(read("loss_rate/mark_rate").metric(), None);
    }

    #[test]
    fn values_are_read_in_the_unit() {
        let read = |name: &str, value: &str| name.parse::<Quantity>().unwrap().read(value);
        assert_eq!(read("queue_delay_mean_s[ftp]", "20 ms"), Ok(0.02));
        assert_eq!(read("goodput_bps[a]/goodput_bps[b]", "50%"), Ok(0.5));
        assert_eq!(read("internal:p", " 0.1 "), Ok(0.1));
        let why = read("internal:p", "20 ms").unwrap_err();
        assert_eq!(why, "\"20 ms\" is not a value of internal:p, such as 0.5 or 50%");
        let width = |name: &str, width: &str| name.parse::<Quantity>().unwrap().read_width(width);
        assert_eq!(width("internal:p", "2%"), Ok(Width::Relative(0.02)));
        assert_eq!(width("loss/mark_rate", "0.2"), Ok(Width::Absolute(0.2)));
        assert_eq!(width("queue_delay_mean_s", "2 ms"), Ok(Width::Absolute(0.002)));
        assert!(width("queue_delay_mean_s", "0 ms").is_err());
        assert!(width("internal:p", "0").unwrap_err().contains("above 0"));
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let why = |name: &str| name.parse::<Quantity>().unwrap_err();
        assert!(
            why("P99 dalay").starts_with("unknown metric; did you mean \"P99 delay\"? Known: utilization")
        );
        assert!(why("los_rate").contains("did you mean \"loss_rate\"?"));
        assert!(why("latency").contains("did you mean one of queue_delay_mean_s,"));
        assert!(why("fairness").contains("did you mean \"jain_index\"?"));
        assert!(why("loss/nothing-like-it").starts_with("unknown metric; known:"));
        assert!(why("a").starts_with("unknown metric"));
        assert!(why("").starts_with("unknown metric"));
        assert!(why("loss/loss/loss").contains("two metrics"));
        assert!(why("loss[]").contains("names no class"));
        assert!(why("internal:").contains("names no signal"));
    }
}
