//! The grammar of expressions.
//!
//! ```text
//! sum     = product (("+" | "-") product)*     with spaces around + and -
//! product = factor (("*" | "/") factor)*
//! factor  = "-" factor | number [unit] | field | function "(" sum ("," sum)* ")" | "(" sum ")"
//! ```
//!
//! Fields are written as after `--set`; their names contain + and - ("red+tail", "web-1"), which is why the
//! operators need spaces.

use quell_units::text::cut;

use crate::number::{Amount, Unit};
use crate::range;

/// Longer ones are not written by hand.
const LONGEST: usize = 1000;
/// Deeper ones neither.
const DEEPEST: usize = 50;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Amount(Amount),
    Field(String),
    Negative(Box<Expression>),
    /// A value, and what is done to it from left to right: as long as a text may be, so that it is not nested.
    Chain(Box<Expression>, Vec<(Operator, Expression)>),
    Call(Function, Vec<Expression>),
}

/// The sign between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Plus,
    Minus,
    Times,
    Over,
}

/// The name before parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Min,
    Max,
    Round,
}

/// The expression that a text is, or what is wrong with it; none if the text is plain: a number, a quantity,
/// or a name. Every text that means something without expressions is plain.
pub(crate) fn read(text: &str) -> Option<Result<Expression, String>> {
    (!is_plain(text.trim())).then(|| parse(text))
}

fn is_plain(text: &str) -> bool {
    let spaced = |signs: &[char]| {
        let mut before = None;
        let mut letters = text.chars().peekable();
        let mut found = false;
        while let Some(c) = letters.next() {
            let between = before.is_some_and(char::is_whitespace)
                && letters.peek().is_some_and(|c: &char| c.is_whitespace());
            found |= signs.contains(&c) && between;
            before = Some(c);
        }
        found
    };
    // "10 Mbit/s": a number with a unit, even if there is no such unit.
    let unit = text.trim_start_matches(|c: char| "0123456789.+-eE".contains(c) || c.is_whitespace());
    let quantity = text.starts_with(|c: char| "0123456789.+-".contains(c))
        && unit.chars().all(|c| c.is_alphabetic() || c == '/');
    let divided = text.contains('/') && !quantity;
    let path = text.starts_with(starts_word)
        && text.chars().all(in_word)
        && text.contains(['.', '['])
        && text.split('.').all(|part| !part.is_empty());
    let other = Amount::read(text).is_some() || range::looks_like_one(text);
    other || !(text.contains(['*', '(', ')']) || divided || path || spaced(&['+', '-']))
}

fn starts_word(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || "_.-+[]".contains(c)
}

fn parse(text: &str) -> Result<Expression, String> {
    let length = text.chars().count();
    if length > LONGEST {
        return Err(format!("has {length} characters: at most {LONGEST} are allowed"));
    }
    let mut parser = Parser { rest: text, depth: 0 };
    let all = parser.sum()?;
    match parser.skip() {
        "" => Ok(all),
        rest if rest.starts_with(')') => Err("has a \")\" without its \"(\"".to_string()),
        rest => Err(format!("needs an operator (+ - * /) before \"{}\"", cut(rest))),
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// The text that comes next, without the space before it.
    fn skip(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        self.rest
    }

    /// Takes `sign` if it comes next.
    fn take(&mut self, sign: char) -> bool {
        let next = self.skip().strip_prefix(sign);
        self.rest = next.unwrap_or(self.rest);
        next.is_some()
    }

    fn sum(&mut self) -> Result<Expression, String> {
        let (first, mut others) = (self.product()?, Vec::new());
        loop {
            let before = self.rest.starts_with(char::is_whitespace);
            let operator = match self.skip().chars().next() {
                Some('+') => Operator::Plus,
                Some('-') => Operator::Minus,
                _ => return Ok(Expression::chain(first, others)),
            };
            let (sign, rest) = self.rest.split_at(1);
            if !before || !rest.starts_with(char::is_whitespace) {
                return Err(format!("needs spaces on both sides of \"{sign}\""));
            }
            self.rest = rest;
            others.push((operator, self.product()?));
        }
    }

    fn product(&mut self) -> Result<Expression, String> {
        let (first, mut others) = (self.factor()?, Vec::new());
        loop {
            let operator = match () {
                () if self.next_is('*') => Operator::Times,
                () if self.next_is('/') => Operator::Over,
                () => return Ok(Expression::chain(first, others)),
            };
            others.push((operator, self.factor()?));
        }
    }

    /// Takes `sign` if it comes next; otherwise the space before what comes stays.
    fn next_is(&mut self, sign: char) -> bool {
        let next = self.rest.trim_start().strip_prefix(sign);
        self.rest = next.unwrap_or(self.rest);
        next.is_some()
    }

    fn factor(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("is nested more than {DEEPEST} deep"));
        }
        let found = self.operand();
        self.depth -= 1;
        found
    }

    fn operand(&mut self) -> Result<Expression, String> {
        let rest = self.skip();
        if self.take('-') {
            return Ok(Expression::Negative(Box::new(self.factor()?)));
        }
        if self.take('(') {
            let inner = self.sum()?;
            return if self.take(')') { Ok(inner) } else { Err(self.unclosed()) };
        }
        match rest.chars().next() {
            Some(c) if c.is_ascii_digit() || c == '.' => self.amount().map(Expression::Amount),
            Some(c) if starts_word(c) => self.word(),
            Some(_) => Err(format!("needs a number or a field before \"{}\"", cut(rest))),
            None => Err("needs a number or a field at its end".to_string()),
        }
    }

    fn unclosed(&mut self) -> String {
        match self.skip() {
            "" => "lacks a \")\"".to_string(),
            rest => format!("needs an operator (+ - * /) or a \")\" before \"{}\"", cut(rest)),
        }
    }

    /// Takes what is in `of`.
    fn run(&mut self, of: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !of(c)).unwrap_or(self.rest.len());
        let (run, rest) = self.rest.split_at(end);
        self.rest = rest;
        run
    }

    fn amount(&mut self) -> Result<Amount, String> {
        let start = self.rest;
        let since = |parser: &Self| &start[..start.len() - parser.rest.len()];
        self.run(|c| c.is_ascii_digit() || c == '.');
        // An exponent belongs to the number, a unit does not.
        if let Some(exponent) = self.rest.strip_prefix(['e', 'E']) {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits.starts_with(|c: char| c.is_ascii_digit()) {
                self.rest = digits;
                self.run(|c| c.is_ascii_digit());
            }
        }
        let (number, after) = (since(self), self.rest);
        self.rest = after.trim_start();
        let unit = self.run(char::is_alphabetic);
        if unit.is_empty() {
            self.rest = after;
            return Amount::read(number).ok_or_else(|| format!("\"{}\" is not a number", cut(number)));
        }
        // "Mbit/s" is one unit.
        let beyond = self.rest.strip_prefix("/s").filter(|rest| !rest.starts_with(in_word));
        let rate = beyond.and_then(|_| Amount::read(&format!("{number} {unit}/s")));
        if let (Some(rate), Some(rest)) = (rate, beyond) {
            self.rest = rest;
            return Ok(rate);
        }
        Amount::read(&format!("{number} {unit}")).ok_or_else(|| match Amount::read(&format!("1 {unit}")) {
            Some(_) => format!("\"{} {unit}\" is out of range", cut(number)),
            None => format!("\"{}\" is not a unit", cut(unit)),
        })
    }

    fn word(&mut self) -> Result<Expression, String> {
        let word = self.run(in_word);
        // "a- b": the sign was not meant as a part of the name.
        if let (Some(sign), true) = (
            word.chars().last().filter(|c| "+-".contains(*c)),
            self.rest.trim_start().starts_with(|c: char| in_word(c) || c == '('),
        ) {
            return Err(format!("needs spaces on both sides of \"{sign}\""));
        }
        if !self.next_is('(') {
            return Ok(Expression::Field(word.to_string()));
        }
        let function = match word {
            "min" => Function::Min,
            "max" => Function::Max,
            "round" => Function::Round,
            _ => return Err(format!("\"{}\" is not a function: must be min, max or round", cut(word))),
        };
        let mut arguments = vec![self.sum()?];
        while self.take(',') {
            arguments.push(self.sum()?);
        }
        if !self.take(')') {
            return Err(self.unclosed());
        }
        match (function, arguments.len()) {
            (Function::Round, 3..) => Err("gives round more than a value and a step".to_string()),
            _ => Ok(Expression::Call(function, arguments)),
        }
    }
}

impl Expression {
    fn chain(first: Expression, others: Vec<(Operator, Expression)>) -> Expression {
        if others.is_empty() { first } else { Expression::Chain(Box::new(first), others) }
    }

    /// Names its fields, in order, to `each`.
    pub fn fields(&self, each: &mut dyn FnMut(&str)) {
        match self {
            Expression::Amount(_) => {}
            Expression::Field(name) => each(name),
            Expression::Negative(inner) => inner.fields(each),
            Expression::Chain(first, others) => {
                first.fields(each);
                others.iter().for_each(|(_, other)| other.fields(each));
            }
            Expression::Call(_, arguments) => arguments.iter().for_each(|a| a.fields(each)),
        }
    }

    /// Its value; `field` knows those of fields.
    pub fn value<E: From<String>>(
        &self,
        field: &mut dyn FnMut(&str) -> Result<Amount, E>,
    ) -> Result<Amount, E> {
        let finite = |found: Amount| match found.value.is_finite() {
            true => Ok(found),
            false => Err(E::from("is out of range".to_string())),
        };
        finite(match self {
            Expression::Amount(amount) => *amount,
            Expression::Field(name) => field(name)?,
            Expression::Negative(inner) => {
                let inner = inner.value(field)?;
                Amount { value: -inner.value, ..inner }
            }
            Expression::Chain(first, others) => {
                let mut all = first.value(field)?;
                for (operator, other) in others {
                    all = finite(operator.apply(all, other.value(field)?)?)?;
                }
                all
            }
            Expression::Call(function, arguments) => {
                let values = arguments.iter().map(|a| a.value(field)).collect::<Result<Vec<_>, E>>()?;
                function.apply(&values)?
            }
        })
    }
}

/// Refuses what does not measure the same thing.
fn alike(a: Amount, b: Amount, what: &str) -> Result<(), String> {
    if a.unit == b.unit {
        return Ok(());
    }
    Err(format!("cannot {what} {a} and {b}: {} and {} are different units", a.unit, b.unit))
}

impl Operator {
    fn apply(self, a: Amount, b: Amount) -> Result<Amount, String> {
        Ok(match self {
            Operator::Plus => {
                alike(a, b, "add")?;
                Amount { value: a.value + b.value, ..a }
            }
            Operator::Minus => {
                alike(a, b, "take the difference of")?;
                Amount { value: a.value - b.value, ..a }
            }
            Operator::Times => Amount { value: a.value * b.value, unit: a.unit.times(b.unit, 1) },
            Operator::Over if b.value == 0.0 => return Err("divides by 0".to_string()),
            Operator::Over => Amount { value: a.value / b.value, unit: a.unit.times(b.unit, -1) },
        })
    }
}

impl Function {
    fn apply(self, values: &[Amount]) -> Result<Amount, String> {
        let Some((first, others)) = values.split_first() else { return Err("lacks a value".to_string()) };
        if self == Function::Round {
            let step = match others.first() {
                Some(step) => *step,
                None if [Unit::ONE, Unit::PACKETS].contains(&first.unit) => Amount { value: 1.0, ..*first },
                None => {
                    return Err(format!("cannot round {first} without a step, as in round(x, 1 ms)"));
                }
            };
            alike(*first, step, "round")?;
            if step.value <= 0.0 {
                return Err("must round to a positive step".to_string());
            }
            return Ok(Amount { value: (first.value / step.value).round() * step.value, ..*first });
        }
        others.iter().try_fold(*first, |best, next| {
            alike(best, *next, "compare")?;
            let better =
                if self == Function::Min { next.value < best.value } else { next.value > best.value };
            Ok(if better { *next } else { best })
        })
    }
}
