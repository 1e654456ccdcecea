//! Claims as tests: `queue_std_packets of vrc < queue_std_packets of red, pi`.

use std::fmt;
use std::str::FromStr;

use quell_lab::{ERROR, Width};

use crate::value::{Value, factored};

/// A claim as a test: parts that must all hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The test as it is written.
    pub text: String,
    /// Its parts.
    pub parts: Vec<Part>,
    /// The confidence with which it must hold, if it is not that of all tests.
    pub confidence: Option<f64>,
}

/// A part of a test: a term, and what is said of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The term that it is about.
    pub left: Term,
    /// The relation that must hold.
    pub says: Says,
    /// The share of its cases in which it must hold, if not in all.
    pub share: Option<f64>,
    /// How near what rises or falls must be to the line through its ends, if it does so linearly.
    pub linear: Option<Width>,
}

/// The relation that a test asserts of a term.
#[derive(Clone, Debug, PartialEq)]
pub enum Says {
    /// It is less than another.
    Below(Term),
    /// It is more than another.
    Above(Term),
    /// It is as much as another, to within a share of that.
    Like(Term, Width),
    /// It lies between two numbers.
    Within(f64, f64),
    /// It grows along a field.
    Rises(String),
    /// It shrinks along a field.
    Falls(String),
}

/// A quantity of algorithms somewhere, or a number.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A number.
    Number(f64),
    /// A quantity.
    Of(Box<Measured>),
    /// A quantity of a computed figure.
    Computed(Box<FigureReading>),
}

/// A value that is read off a computed figure: a number without chance.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureReading {
    /// It is taken so many times.
    pub factor: f64,
    /// The quantity, by the name that the figure's kind gives it.
    pub quantity: String,
    /// The number of the figure.
    pub figure: String,
    /// The place: fields of the figure, each with alternatives of which the test is of each; `*` stands for all.
    pub at: Vec<(String, Vec<String>)>,
}

/// A quantity of algorithms, and where it is looked up.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The quantity.
    pub value: Value,
    /// The labels of the algorithms; the test is of each.
    pub labels: Vec<String>,
    /// The point: fields, each with alternatives of which the test is of each; `*` stands for all.
    pub at: Vec<(String, Vec<String>)>,
    /// The segments, of which the test is of each; empty for the whole window.
    pub segments: Vec<String>,
    /// The link; `None`: the first.
    pub link: Option<String>,
    /// The run; `None`: the first.
    pub run: Option<String>,
    /// Fields and values of the point from which the change is meant, by how much it is; empty: the quantity itself.
    pub changed_from: Vec<(String, String)>,
}

impl Measured {
    /// The quantity at the point from which the change is meant; `None` if none is.
    pub(crate) fn before(&self) -> Option<Measured> {
        let mut before = Measured { changed_from: Vec::new(), ..self.clone() };
        for (field, value) in &self.changed_from {
            before.at.retain(|(own, _)| own != field);
            before.at.push((field.clone(), vec![value.clone()]));
        }
        (!self.changed_from.is_empty()).then_some(before)
    }
}

impl Test {
    /// The number by which the error of a test that holds is divided: 5 at 99%, where that of others is 5%.
    pub(crate) fn stricter(&self) -> f64 {
        self.confidence.map_or(1.0, |confidence| ERROR / (1.0 - confidence))
    }

    /// The runs that it names.
    pub fn runs(&self) -> impl Iterator<Item = &str> {
        self.found().filter_map(|found| found.run.as_deref())
    }
}

impl Test {
    fn found(&self) -> impl Iterator<Item = &Measured> {
        self.parts.iter().flat_map(Part::terms).filter_map(|term| match term {
            Term::Of(found) => Some(&**found),
            Term::Number(_) | Term::Computed(_) => None,
        })
    }

    /// Says whether it needs runs, and not only computed figures.
    pub(crate) fn needs_runs(&self) -> bool {
        self.found().next().is_some()
    }

    /// The values that it reads off computed figures, each with the field along which it is said to rise or to fall.
    pub(crate) fn reads(&self) -> impl Iterator<Item = (&FigureReading, Option<&str>)> {
        let terms = self.parts.iter().flat_map(|part| part.terms().map(move |term| (part, term)));
        terms.filter_map(|(part, term)| match term {
            Term::Computed(read) => Some((&**read, part.along())),
            _ => None,
        })
    }
}

impl Term {
    /// The fields that say where it is, and their alternatives.
    pub(crate) fn at(&self) -> &[(String, Vec<String>)] {
        match self {
            Term::Number(_) => &[],
            Term::Of(found) => &found.at,
            Term::Computed(read) => &read.at,
        }
    }
}

impl Part {
    /// The number of cases, of so many, in which it must hold.
    pub(crate) fn least(&self, cases: usize) -> usize {
        // A share of 0.9 of ten is nine, whatever the product rounds to.
        self.share.map_or(cases, |share| (share * cases as f64 - 1e-9).ceil() as usize)
    }

    /// Says whether it is of something that rises or falls.
    pub(crate) fn is_trend(&self) -> bool {
        self.along().is_some()
    }

    /// The number of cases at so many places: each label on the left against each on the right.
    pub(crate) fn cases(&self, places: usize) -> usize {
        let labels = match &self.left {
            Term::Of(found) => found.labels.len(),
            _ => 1,
        };
        places * labels * self.others()
    }

    /// The number of labels that each on the left is compared with.
    pub(crate) fn others(&self) -> usize {
        match self.terms().nth(1) {
            Some(Term::Of(found)) => found.labels.len(),
            _ => 1,
        }
    }

    /// The field along which something rises or falls.
    fn along(&self) -> Option<&str> {
        match &self.says {
            Says::Rises(field) | Says::Falls(field) => Some(field),
            _ => None,
        }
    }

    /// Its sides.
    pub(crate) fn terms(&self) -> impl Iterator<Item = &Term> {
        let right = match &self.says {
            Says::Below(term) | Says::Above(term) | Says::Like(term, _) => Some(term),
            Says::Within(..) | Says::Rises(_) | Says::Falls(_) => None,
        };
        std::iter::once(&self.left).chain(right)
    }
}

impl FromStr for Test {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A test may be written over several lines.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (said, confidence) =
            match text.strip_suffix('%').and_then(|text| text.rsplit_once(" with confidence ")) {
                Some((said, percent)) => {
                    let usual = 100.0 * (1.0 - ERROR);
                    let percent = percent.parse().ok().filter(|percent| (usual..100.0).contains(percent));
                    let must = || format!("\"{text}\": a confidence must lie from {usual} to below 100%");
                    (said, Some(0.01 * percent.ok_or_else(must)?))
                }
                None => (&text[..], None),
            };
        let parts = said.split(" and ").map(part).collect::<Result<Vec<Part>, String>>()?;
        Ok(Test { parts, confidence, text })
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The forms that a test may have, for errors.
const FORMS: &str = "must be \"A < B\", \"A > B\", \"A like B by 10%\", \"A within LOW..HIGH\", \"A rises along FIELD\" \
                     or \"A falls along FIELD\" (\"A rises linearly along FIELD by 10%\"), and may end with \"for 90% of cases\"; a test may \
                     end with \"with confidence 99%\"";

fn part(text: &str) -> Result<Part, String> {
    let whole = || format!("\"{}\"", text.trim());
    let number = |text: &str| {
        let number = text.trim().parse().ok().filter(|x: &f64| x.is_finite());
        number.ok_or_else(|| format!("{}: \"{}\": must be a number", whole(), text.trim()))
    };
    let of = |text: &str| term(text).map_err(|why| format!("{}: {why}", whole()));
    let (text, share) = match text.trim().strip_suffix("% of cases").map(|head| head.rsplit_once(" for ")) {
        Some(Some((head, percent))) => {
            let percent = number(percent)?;
            if !(0.0 < percent && percent < 100.0) {
                return Err(format!("{}: \"{percent}%\": must lie between 0 and 100", whole()));
            }
            (head, Some(0.01 * percent))
        }
        _ => (text, None),
    };
    let mut linear = None;
    let trend = [" rises along ", " falls along ", " rises linearly along ", " falls linearly along "]
        .into_iter()
        .find_map(|word| Some((word, text.split_once(word)?)));
    let (left, says) = if let Some((word, (left, rest))) = trend {
        let field = match word.contains("linearly") {
            true => {
                let (field, by) = rest.rsplit_once(" by ").ok_or_else(|| format!("{}: {FORMS}", whole()))?;
                linear = Some(by.trim().parse().map_err(|why| format!("{}: {why}", whole()))?);
                field
            }
            false => rest,
        };
        let field = field.trim().to_string();
        (left, if word.starts_with(" rises") { Says::Rises(field) } else { Says::Falls(field) })
    } else if let Some((left, range)) = text.split_once(" within ") {
        let ends = range.split_once("..").ok_or_else(|| format!("{}: {FORMS}", whole()))?;
        let (low, high) = (number(ends.0)?, number(ends.1)?);
        if low > high {
            return Err(format!("{}: {low}..{high}: the lower end comes first", whole()));
        }
        (left, Says::Within(low, high))
    } else if let Some((left, right)) = text.split_once(" like ") {
        let (right, by) = right.rsplit_once(" by ").ok_or_else(|| format!("{}: {FORMS}", whole()))?;
        (left, Says::Like(of(right)?, by.parse().map_err(|why| format!("{}: {why}", whole()))?))
    } else if let Some((left, right)) = text.split_once(" < ") {
        (left, Says::Below(of(right)?))
    } else if let Some((left, right)) = text.split_once(" > ") {
        (left, Says::Above(of(right)?))
    } else {
        return Err(format!("{}: {FORMS}", whole()));
    };
    let left = of(left)?;
    match left {
        Term::Of(_) | Term::Computed(_) => Ok(Part { left, says, share, linear }),
        Term::Number(_) => Err(format!("{}: begins with a number; the quantity comes first", whole())),
    }
}

fn term(text: &str) -> Result<Term, String> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        let finite = Some(number).filter(|x| x.is_finite()).map(Term::Number);
        return finite.ok_or_else(|| format!("\"{text}\": must be a finite number"));
    }
    let (text, before) = match text.split_once(" changed from ") {
        Some((text, before)) => (text, Some(before)),
        None => (text, None),
    };
    let (value, mut rest) = text
        .split_once(" of ")
        .ok_or_else(|| format!("\"{text}\": must be a number or \"QUANTITY of ALGORITHM\""))?;
    let alternatives = |text: &str| text.split('|').map(|v| v.trim().to_string()).collect::<Vec<_>>();
    let places = |text: &str| {
        let place = |setting: &str| {
            let pair = setting.split_once('=').map(|(field, v)| (field.trim().to_string(), alternatives(v)));
            pair.ok_or_else(|| format!("\"{setting}\": must be FIELD=VALUE"))
        };
        text.split(", ").map(place).collect::<Result<Vec<_>, String>>()
    };
    if let Some(of) = rest.trim().strip_prefix("figure ") {
        if before.is_some() {
            return Err(format!("\"{text}\": is computed; only what is run has \"changed from\""));
        }
        let (factor, quantity) = factored(value)?;
        let (figure, at) = match of.split_once(" at ") {
            Some((figure, at)) => (figure, places(at)?),
            None => (of, Vec::new()),
        };
        let (quantity, figure) = (quantity.to_string(), figure.trim().to_string());
        return Ok(Term::Computed(Box::new(FigureReading { factor, quantity, figure, at })));
    }
    let value: Value = value.parse()?;
    let mut found = Measured {
        value,
        labels: Vec::new(),
        at: Vec::new(),
        segments: Vec::new(),
        link: None,
        run: None,
        changed_from: Vec::new(),
    };
    for (field, values) in before.map(places).transpose()?.unwrap_or_default() {
        match &values[..] {
            [one] if one != "*" => found.changed_from.push((field, one.clone())),
            _ => return Err(format!("\"{field}\": changes from one value")),
        }
    }
    let mut clause = "of";
    loop {
        let next = [" at ", " in segment ", " on ", " from "]
            .into_iter()
            .filter_map(|word| Some((rest.find(word)?, word)))
            .min();
        let said = next.map_or(rest, |(at, _)| &rest[..at]).trim();
        if said.is_empty() {
            return Err(format!("\"{text}\": nothing follows \"{clause}\""));
        }
        match clause {
            "of" => found.labels = said.split(", ").map(|label| label.trim().to_string()).collect(),
            "at" => found.at.extend(places(said)?),
            "in segment" => {
                found.segments = alternatives(said);
                let bad = |s: &&String| *s != "*" && s.parse::<u32>().is_err();
                if let Some(bad) = found.segments.iter().find(bad) {
                    return Err(format!("segment \"{bad}\": must be a number counted from 0, or *"));
                }
            }
            "on" => found.link = Some(said.to_string()),
            _ => found.run = Some(said.to_string()),
        }
        match next {
            Some((at, word)) => {
                clause = word.trim();
                rest = &rest[at + word.len()..];
            }
            None => {
                // A field that the quantity does not name could not have changed.
                let unnamed = |(field, _): &&(String, String)| !found.at.iter().any(|(own, _)| own == field);
                if let Some((field, _)) = found.changed_from.iter().find(unnamed) {
                    return Err(format!("\"{text}\": names no {field}, from which it could be changed"));
                }
                return Ok(Term::Of(Box::new(found)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(term: &Term) -> &Measured {
        match term {
            Term::Of(found) => found,
            Term::Number(_) | Term::Computed(_) => panic!("not of runs"),
        }
    }

    #[test]
    fn comparisons_are_read() {
        let text = "100 * loss_rate[data] of ARED(20,60), pi at dumbbell.rate=45 Mbit/s, n=1|2 in segment 3 on r1->r2 from b2 \
                    < 10 * loss_rate of red and queue_packets of vrc within 45..55";
        let test: Test = text.parse().unwrap();
        assert_eq!(test.parts.len(), 2);
        let left = found(&test.parts[0].left);
        assert_eq!(left.value.factor, 100.0);
        assert_eq!(left.value.quantity.to_string(), "loss_rate[data]");
        assert_eq!(left.labels, ["ARED(20,60)", "pi"]);
        assert_eq!(left.at[0], ("dumbbell.rate".to_string(), vec!["45 Mbit/s".to_string()]));
        assert_eq!(left.at[1].1, ["1", "2"]);
        assert_eq!(left.segments, ["3"]);
        assert_eq!(left.link.as_deref(), Some("r1->r2"));
        assert_eq!(test.runs().collect::<Vec<_>>(), ["b2"]);
        assert_eq!(test.parts[1].says, Says::Within(45.0, 55.0));
    }

    #[test]
    fn other_forms_are_read() {
        let says = |text: &str| text.parse::<Test>().unwrap().parts.remove(0).says;
        assert_eq!(
            says("queue_packets of red rises along flows.ftp.count"),
            Says::Rises("flows.ftp.count".into())
        );
        assert!(matches!(says("utilization of a like utilization of b by 1%"), Says::Like(_, _)));
        assert_eq!(says("utilization of a > 0.99"), Says::Above(Term::Number(0.99)));
    }

    #[test]
    fn a_share_of_cases_is_read() {
        let test: Test =
            "queue_packets of red at n=* < 5 for 90% of cases and utilization of red > 0.9".parse().unwrap();
        let shares: Vec<Option<f64>> = test.parts.iter().map(|part| part.share).collect();
        assert_eq!(shares, [Some(0.9), None]);
        assert_eq!(test.parts[0].says, Says::Below(Term::Number(5.0)));
        assert_eq!([1, 6, 10, 11, 24].map(|n| test.parts[0].least(n)), [1, 6, 9, 10, 22]);
        assert_eq!(test.parts[1].least(6), 6);
        let line: Test = "queue_packets of red falls linearly along n by 10%".parse().unwrap();
        assert_eq!(line.parts[0].says, Says::Falls("n".to_string()));
        assert_eq!(line.parts[0].linear, Some(Width::Relative(0.1)));
        let along: Test = "queue_packets of red, pi rises along n for 50% of cases".parse().unwrap();
        assert_eq!(along.parts[0].says, Says::Rises("n".to_string()));
    }

    #[test]
    fn a_confidence_is_read() {
        let of = |text: &str| text.parse::<Test>().map(|test| (test.parts.len(), test.stricter()));
        let (parts, stricter) =
            of("queue_packets of red < 5 and utilization of red > 0.9 with confidence 99%").unwrap();
        assert_eq!((parts, stricter.round()), (2, 5.0));
        assert_eq!(of("queue_packets of red < 5"), Ok((1, 1.0)));
        assert_eq!(of("queue_packets of red at n=* < 5 for 90% of cases with confidence 95%").unwrap().0, 1);
        for percent in ["90", "100", "much"] {
            let error = of(&format!("queue_packets of red < 5 with confidence {percent}%")).unwrap_err();
            assert!(error.contains("from 95 to below 100"), "{error}");
        }
    }

    #[test]
    fn a_change_is_read() {
        let text =
            "queue_packets of vrc at n=*, c=5 from c1 changed from n=100 > queue_packets of vrc at c=5";
        let test: Test = text.parse().unwrap();
        let left = found(&test.parts[0].left);
        assert_eq!(left.changed_from, [("n".to_string(), "100".to_string())]);
        let before = left.before().unwrap();
        let at = |field: &str| &before.at.iter().find(|(own, _)| own == field).unwrap().1[..];
        assert_eq!((at("n"), at("c")), (&["100".to_string()][..], &["5".to_string()][..]));
        assert_eq!((before.run.as_deref(), before.before()), (Some("c1"), None));
        let Says::Above(right) = &test.parts[0].says else { panic!("not above") };
        assert_eq!(found(right).before(), None);
    }

    #[test]
    fn computed_figures_are_read() {
        let text = "2 * k_i_max of figure 7 (computed) at k_d=0|0.001, rtt=0.1 > queue_packets of red and \
                    k_i_max of figure 4 rises along k_d";
        let test: Test = text.parse().unwrap();
        let reads: Vec<_> = test.reads().collect();
        let (first, along) = reads[0];
        assert_eq!((first.factor, first.quantity.as_str(), along), (2.0, "k_i_max", None));
        assert_eq!((first.figure.as_str(), first.at[0].1.len()), ("7 (computed)", 2));
        assert_eq!((reads[1].0.figure.as_str(), reads[1].1), ("4", Some("k_d")));
        assert!(test.needs_runs());
    }

    #[test]
    fn errors_say_what_is_wrong() {
        for (text, why) in [
            ("queue_packets of red", "must be \"A < B\""),
            ("queue_packet of red < 5", "queue_packet"),
            ("queue_packets < 5", "QUANTITY of ALGORITHM"),
            ("5 < queue_packets of red", "the quantity comes first"),
            ("queue_packets of red within 5", "within LOW..HIGH"),
            ("queue_packets of red within 6..5", "lower end comes first"),
            ("queue_packets of red in segment x < 5", "counted from 0"),
            ("queue_packets of red at n < 5", "FIELD=VALUE"),
            ("queue_packets of red rises linearly along n", "rises linearly along FIELD by 10%"),
            ("queue_packets of red rises linearly along n by far", "not a width"),
            ("queue_packets of red like 5 by much", "not a width"),
            ("queue_packets of red < inf", "must be a finite number"),
            ("queue_packets of red at n=* < 5 for 100% of cases", "must lie between 0 and 100"),
            ("queue_packets of red at n=* < 5 for most% of cases", "must be a number"),
            ("queue_packets of red at n=5 changed from n=1|2 < 5", "changes from one value"),
            (
                "queue_packets of red at n=5 changed from c=1 < 5",
                "names no c, from which it could be changed",
            ),
            ("k_i_max of figure 7 at k=1 changed from k=2 < 5", "only what is run"),
        ] {
            let error = text.parse::<Test>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
