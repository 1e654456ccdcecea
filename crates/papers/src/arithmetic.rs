//! Numbers of a document that contradict each other: `[ID] * [ID] = 54..66`.

use std::str::FromStr;

use crate::cells::Cell;
use crate::digits::figure;

/// An equation between printed numbers, which the document's own do not fulfill.
#[derive(Clone, Debug, PartialEq)]
pub struct Arithmetic {
    /// The equation as it is written.
    pub text: String,
    left: Term,
    right: Term,
}

/// A side of an equation.
#[derive(Clone, Debug, PartialEq)]
enum Term {
    /// A number, or all between two.
    Between(f64, f64),
    /// A printed number, by its id.
    Cell(String),
    /// Two terms, joined by one of `+ - * /`.
    Joined(Box<Term>, char, Box<Term>),
}

/// All between two numbers.
type Interval = (f64, f64);

impl Arithmetic {
    /// Both sides, for the printed numbers: each as far as rounding lets it be.
    fn sides(&self, cells: &[Cell]) -> Result<[Interval; 2], String> {
        Ok([value(&self.left, cells)?, value(&self.right, cells)?])
    }

    /// Whether the printed numbers contradict each other, whatever their rounding hides, and the sides in words.
    ///
    /// # Errors
    /// A sentence, if a side has no value.
    pub fn contradicts(&self, cells: &[Cell]) -> Result<(bool, String), String> {
        let [left, right] = self.sides(cells)?;
        let apart = left.1 < right.0 || right.1 < left.0;
        let text = |(low, high): Interval| match figure(low) == figure(high) {
            true => figure(low),
            false => format!("{} to {}", figure(low), figure(high)),
        };
        let verb = if apart { "is not" } else { "may be" };
        Ok((apart, format!("{}: {} {verb} {}", self.text, text(left), text(right))))
    }
}

fn value(term: &Term, cells: &[Cell]) -> Result<Interval, String> {
    Ok(match term {
        Term::Between(low, high) => (*low, *high),
        Term::Cell(id) => {
            let cell = cells.iter().find(|c| c.id == *id);
            let cell = cell.ok_or_else(|| format!("[{id}]: no cell has this id"))?;
            (cell.low.value - cell.low.rounding, cell.high.value + cell.high.rounding)
        }
        Term::Joined(a, sign, b) => {
            let (a, b) = (value(a, cells)?, value(b, cells)?);
            match sign {
                '+' => (a.0 + b.0, a.1 + b.1),
                '-' => (a.0 - b.1, a.1 - b.0),
                '*' => hull(a, b, |x, y| x * y),
                _ if b.0 <= 0.0 && b.1 >= 0.0 => return Err("is divided by what may be zero".to_string()),
                _ => hull(a, b, |x, y| x / y),
            }
        }
    })
}

/// All that an operation gives of the ends of two intervals.
fn hull(a: Interval, b: Interval, of: impl Fn(f64, f64) -> f64) -> Interval {
    let all = [of(a.0, b.0), of(a.0, b.1), of(a.1, b.0), of(a.1, b.1)];
    (all.into_iter().fold(f64::INFINITY, f64::min), all.into_iter().fold(f64::NEG_INFINITY, f64::max))
}

impl FromStr for Arithmetic {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let bad = |why: String| format!("\"{text}\": {why}");
        let (left, right) =
            text.split_once(" = ").ok_or_else(|| bad("must be \"[ID] * [ID] = 54..66\"".to_string()))?;
        let (left, right) = (side(left).map_err(&bad)?, side(right).map_err(&bad)?);
        Ok(Arithmetic { text, left, right })
    }
}

/// Reads a side: terms between blanks, products before sums, both from the left, and no parentheses.
fn side(text: &str) -> Result<Term, String> {
    joined(&text.split_whitespace().collect::<Vec<_>>(), &["+-", "*/"])
}

/// Terms that are joined by the first of these signs, each made of those that the others join.
fn joined(words: &[&str], signs: &[&str]) -> Result<Term, String> {
    let [own, tighter @ ..] = signs else { return single(words) };
    let sign = |word: &&str| own.chars().find(|sign| word.len() == 1 && word.starts_with(*sign));
    match words.iter().rposition(|word| sign(word).is_some()) {
        Some(at) => {
            let (a, b) = (joined(&words[..at], signs)?, joined(&words[at + 1..], tighter)?);
            Ok(Term::Joined(Box::new(a), sign(&words[at]).unwrap_or('+'), Box::new(b)))
        }
        None => joined(words, tighter),
    }
}

/// A number, a range, or a printed number.
fn single(words: &[&str]) -> Result<Term, String> {
    let [word] = words else {
        return Err(format!("\"{}\": must be a number, LOW..HIGH or [ID]", words.join(" ")));
    };
    if let Some(id) = word.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return Ok(Term::Cell(id.to_string()));
    }
    let number = |text: &str| {
        let number = text.parse().ok().filter(|x: &f64| x.is_finite());
        number.ok_or_else(|| format!("\"{word}\": must be a number, LOW..HIGH or [ID]"))
    };
    match word.split_once("..") {
        Some((low, high)) => match (number(low)?, number(high)?) {
            (low, high) if low <= high => Ok(Term::Between(low, high)),
            _ => Err(format!("\"{word}\": the lower end comes first")),
        },
        None => number(word).map(|x| Term::Between(x, x)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Printed;

    fn cell(id: &str, text: &str) -> Cell {
        let number = Printed::read(text).unwrap();
        Cell { id: id.to_string(), ..Cell::of_range(number.clone(), number) }
    }

    /// Little's law: 0.184 s of 209 kB/s are 38 kB, whatever rounding hides, and not 60.
    #[test]
    fn numbers_contradict_each_other_only_beyond_their_rounding() {
        let cells = [cell("d/3/a/r/delay", "0.184"), cell("d/3/a/r/goodput", "209")];
        let of = |text: &str| {
            text.parse::<Arithmetic>().unwrap().contradicts(&cells).unwrap_or_else(|why| panic!("{why}"))
        };
        let (apart, found) = of("[d/3/a/r/delay] * [d/3/a/r/goodput] = 54..66");
        assert!(apart && found.ends_with("38.26 to 38.65 is not 54 to 66"), "{found}");
        assert!(!of("[d/3/a/r/delay] * [d/3/a/r/goodput] = 38.6").0);
        // Products come before sums, and both are read from the left.
        assert_eq!(of("10 - 2 - 3 * 2 + 8 / 4 / 2 = 4").1, "10 - 2 - 3 * 2 + 8 / 4 / 2 = 4: 3 is not 4");
        assert!(of("-1..1 * 2..3 = -3").1.contains("-3 to 3 may be -3"));
    }

    #[test]
    fn errors_say_what_is_wrong() {
        for (text, why) in [
            ("1 + 2", "must be \"[ID] * [ID] = 54..66\""),
            ("1 + = 2", "must be a number, LOW..HIGH or [ID]"),
            ("about 3 = 2", "\"about 3\": must be a number"),
            ("3..2 = 2", "the lower end comes first"),
        ] {
            let error = text.parse::<Arithmetic>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        let of = |text: &str| text.parse::<Arithmetic>().unwrap().contradicts(&[]).unwrap_err();
        assert!(of("[x] = 1").contains("no cell has this id"));
        assert!(of("1 / 0 = 1").contains("may be zero"));
    }
}
