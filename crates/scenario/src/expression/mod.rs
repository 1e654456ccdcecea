//! Values that are computed from other fields: `"0.2 * dumbbell.buffer"`.

mod parse;
mod path;

use std::collections::HashMap;

use quell_aqm::catalog;
use quell_units::text::{cut, short};

use crate::dialect;
use crate::error::Problem;
use crate::fields::{assign, resolve};
use crate::files::{Contents, Loaded};
use crate::format::Scenario;
use crate::number::Amount;
use crate::plan;
use crate::tree::{Fault, Node, Path, Step, Value, steps};
use parse::{Expression, read};

/// Fields that hold text: there nothing is computed.
const TEXTS: &[&str] = &[
    "title",
    "description",
    "dialect",
    "name",
    "class",
    "from",
    "to",
    "label",
    "group",
    "parent",
    "algorithm",
    "file",
    "sha256",
    "congestion",
    "recovery",
    "slow_start",
    "growth",
    "feedback",
];

/// The field that may hold the name of a file, or a list in which something may be computed.
const FILE: &str = "changes";

/// A longer circle is not written out: its beginning and its end say where it is.
const LONGEST_CIRCLE: usize = 10;

/// Digits that a result keeps: the last ones of a double are what the arithmetic has left.
const DIGITS: usize = 15;

/// Puts its value in the place of every expression; gives the places, and what was written there.
pub(crate) fn evaluate(tree: &mut Node) -> Result<Vec<(Path, String)>, Problem> {
    let mut found = Vec::new();
    collect(tree, &mut Path::default(), &mut found)?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let places = found.iter().enumerate().map(|(i, place)| (place.path.clone(), i)).collect();
    let mut work = Work { tree, found, places, defaults: None, used: Vec::new() };
    (0..work.found.len()).try_for_each(|i| work.settle(i))?;
    if work.found.iter().any(|f| f.state == State::WantsDefault) {
        work.defaults = Some(work.defaults()?);
        let wanting = (0..work.found.len()).filter(|i| work.found[*i].state == State::WantsDefault);
        let wanting: Vec<usize> = wanting.collect();
        wanting.iter().for_each(|i| work.found[*i].state = State::New);
        wanting.into_iter().try_for_each(|i| work.settle(i))?;
    }
    let Work { found, used, .. } = work;
    for place in &found {
        let State::Done(amount) = &place.state else { continue };
        let value = amount.write().map_err(|rule| place.problem(rule))?;
        if let Some(node) = tree.at_mut(&place.path) {
            node.value = value;
        }
    }
    check_defaults(tree, &found, &used)?;
    Ok(found.into_iter().map(|place| (place.path, place.text)).collect())
}

/// An expression in a tree.
struct Place {
    path: Path,
    text: String,
    expression: Expression,
    state: State,
}

impl Place {
    fn problem(&self, rule: impl Into<String>) -> Problem {
        Problem::new(self.path.clone(), rule)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    New,
    /// Being computed.
    Open,
    /// It needs a field that the file leaves to its default.
    WantsDefault,
    Done(Amount),
}

/// Finds the expressions of a tree.
fn collect(node: &Node, at: &mut Path, found: &mut Vec<Place>) -> Result<(), Problem> {
    match &node.value {
        Value::String(text) => {
            let key = at.last_key();
            if key.is_some_and(|key| TEXTS.contains(&key))
                || matches!(at.0.last(), Some(Step::Key(k)) if k == FILE)
            {
                return Ok(());
            }
            if let Some(expression) = key.and_then(|key| path::words(key, text)).or_else(|| read(text)) {
                let expression = expression
                    .map_err(|why| Problem::new(at.clone(), format!("not an expression: {why}")))?;
                found.push(Place { path: at.clone(), text: text.clone(), expression, state: State::New });
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                at.0.push(Step::Index(i));
                collect(item, at, found)?;
                at.0.pop();
            }
        }
        Value::Table(entries) => {
            // What a plug-in makes of its parameters is its own affair.
            let algorithm = node.get("algorithm").and_then(Node::text);
            let plug_in = algorithm.is_some_and(|name| catalog::find(name).is_none());
            for e in entries.iter().filter(|_| !plug_in) {
                at.0.push(Step::Key(e.key.clone()));
                collect(&e.node, at, found)?;
                at.0.pop();
            }
        }
        _ => {}
    }
    Ok(())
}

/// The reason why an expression has no value, for now or at all.
enum Stop {
    /// The rule that it breaks.
    Rule(String),
    /// The fault of one that it needs.
    Problem(Problem),
    WantsDefault,
}

impl From<String> for Stop {
    fn from(rule: String) -> Stop {
        Stop::Rule(rule)
    }
}

struct Work<'a> {
    tree: &'a Node,
    found: Vec<Place>,
    /// The number of the expression at a path.
    places: HashMap<Path, usize>,
    /// The scenario with its defaults, once they are needed; nothing if it cannot be read without the
    /// expressions that need them.
    defaults: Option<Option<Node>>,
    /// The defaults that were used: by which expression, where, and the value.
    used: Vec<(usize, Path, Amount)>,
}

/// An expression that is being computed, and those that it needs and that were not looked at yet.
type Begun = (usize, std::vec::IntoIter<usize>);

impl Work<'_> {
    /// Computes number `first`, and before it what it needs. A chain of fields may be longer than a stack is deep, so
    /// that it is kept in a list.
    fn settle(&mut self, first: usize) -> Result<(), Problem> {
        if self.found[first].state != State::New {
            return Ok(());
        }
        let mut open = vec![self.begin(first)];
        while let Some((i, needs)) = open.last_mut() {
            let i = *i;
            match needs.next() {
                Some(other) => match self.found[other].state {
                    State::New => {
                        let begun = self.begin(other);
                        open.push(begun);
                    }
                    State::Open => return Err(self.circle(&open, other)),
                    State::WantsDefault | State::Done(_) => {}
                },
                None => {
                    open.pop();
                    self.compute(i)?;
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, i: usize) -> Begun {
        self.found[i].state = State::Open;
        (i, self.needs(i).into_iter())
    }

    /// The expressions that number `i` needs.
    fn needs(&self, i: usize) -> Vec<usize> {
        let mut needs = Vec::new();
        let mut note = |name: &str| {
            let path = resolve(self.tree, name).ok();
            needs.extend(path.and_then(|path| self.places.get(&path).copied()));
            Ok::<_, String>(Amount::number(1.0))
        };
        self.found[i].expression.fields(&mut |name| match self.of_link(i, name, &mut note) {
            // What is wrong there is said when the value is computed.
            Some(_) => {}
            None => drop(note(name)),
        });
        needs
    }

    /// The fault of an expression that needs itself, by those in `open` from it on.
    fn circle(&self, open: &[Begun], first: usize) -> Problem {
        let from = open.iter().position(|(i, _)| *i == first).unwrap_or_default();
        let name = |i: usize| self.found[i].path.to_string();
        let mut names: Vec<String> = open[from..].iter().map(|(i, _)| name(*i)).collect();
        let fields = names.len();
        if fields > LONGEST_CIRCLE {
            names.splice(LONGEST_CIRCLE / 2..fields - LONGEST_CIRCLE / 2, ["...".to_string()]);
        }
        names.push(name(first));
        let all = if fields > LONGEST_CIRCLE { format!(" ({fields} fields)") } else { String::new() };
        self.found[first].problem(format!("depends on itself: {}{all}", names.join(" -> ")))
    }

    /// Computes number `i`, of which all that it needs is settled.
    fn compute(&mut self, i: usize) -> Result<(), Problem> {
        let mut used = Vec::new();
        let value = self.found[i].expression.value(&mut |name| self.field(i, name, &mut used));
        self.used.extend(used);
        self.found[i].state = match value {
            Ok(amount) => State::Done(amount.rounded(DIGITS)),
            Err(Stop::WantsDefault) => State::WantsDefault,
            Err(Stop::Problem(problem)) => return Err(problem),
            Err(Stop::Rule(rule)) => return Err(self.found[i].problem(rule)),
        };
        Ok(())
    }

    /// The value for number `i` of what no field but its link has; `None` if `name` is a field.
    fn of_link<E: From<String>>(
        &self,
        i: usize,
        name: &str,
        field: &mut dyn FnMut(&str) -> Result<Amount, E>,
    ) -> Option<Result<Amount, E>> {
        let mut link = path::Link { tree: self.tree, at: &self.found[i].path, field };
        match name {
            path::BDP => Some(link.bdp()),
            path::CAPACITY => Some(link.capacity()),
            _ => None,
        }
    }

    /// The value of a field that number `i` names; what it takes from the defaults comes into `used`.
    fn field(&self, i: usize, name: &str, used: &mut Vec<(usize, Path, Amount)>) -> Result<Amount, Stop> {
        if let Some(amount) = self.of_link(i, name, &mut |name| self.field(i, name, used)) {
            return amount;
        }
        let signs = if name.contains(['+', '-']) { "; + and - need spaces around them" } else { "" };
        let path = resolve(self.tree, name).map_err(|p| {
            let (path, rule) = (self.found[i].path.clone(), format!("{}{signs}", p.rule));
            Stop::Problem(Problem { path, value: None, rule, ..p })
        })?;
        if let Some(other) = self.places.get(&path) {
            return match self.found[*other].state {
                State::Done(amount) => Ok(amount),
                _ => Err(Stop::WantsDefault),
            };
        }
        let show = cut(name);
        if let Some(node) = self.tree.at(&path) {
            let not = || {
                let unread = node.text().and_then(|text| Problem::unread(&path, text));
                let rule = || format!("needs a number or a quantity, but {show} is {}", node.show());
                unread.map_or_else(|| Stop::Rule(rule()), Stop::Problem)
            };
            return Amount::of(node).ok_or_else(not);
        }
        let Some(defaults) = &self.defaults else { return Err(Stop::WantsDefault) };
        if let Some(fault) = defaults.as_ref().and_then(|tree| misspelled(tree, &path)) {
            let rule = format!("needs the value of {show}, but that field does not exist{signs}");
            let problem = self.found[i].problem(rule);
            return Err(Stop::Problem(Problem { nearest: fault.nearest, known: fault.known, ..problem }));
        }
        let default = defaults.as_ref().and_then(|tree| tree.at(&path));
        let amount = default.and_then(Amount::of).ok_or_else(|| {
            let why = match default.map(|node| (&node.value, node.show())) {
                Some((Value::String(word), _)) if word == "auto" => {
                    "its default is \"auto\", which depends on the link".to_string()
                }
                Some((_, shown)) => format!("its default is {shown}"),
                None => "the file does not set it, and it has no default that is known here".to_string(),
            };
            Stop::Rule(format!("needs the value of {show}, but {why}; give {show} a value{signs}"))
        })?;
        used.push((i, path, amount));
        Ok(amount)
    }

    /// The scenario with its defaults, as far as it is known before the expressions that need them: whatever
    /// stands for those in the meantime is checked afterwards, by [`check_defaults`].
    fn defaults(&self) -> Result<Option<Node>, Problem> {
        let mut tree = self.tree.clone();
        let mut wanting = Vec::new();
        for place in &self.found {
            match place.state {
                State::Done(amount) => {
                    let value = amount.write().map_err(|rule| place.problem(rule))?;
                    assign(&mut tree, &place.path, Node { value, span: None });
                }
                _ => wanting.push((&place.path, STAND_INS.iter())),
            }
        }
        for (path, _) in &wanting {
            remove(&mut tree, path);
        }
        // A field that must be there gets the first value that it takes.
        loop {
            let fault = match resolved(&tree) {
                Ok(node) => return Ok(Some(node)),
                Err(fault) => fault,
            };
            let at = fault.path();
            let Some((path, stand_ins)) = wanting.iter_mut().find(|(path, _)| **path == at) else {
                return Err(fault.into());
            };
            let Some(value) = stand_ins.next() else { return Ok(None) };
            let value = match *value {
                "1" => Value::Integer(1),
                text => Value::String(text.to_string()),
            };
            assign(&mut tree, path, Node { value, span: None });
        }
    }
}

/// Takes out what stands at `path`, unless it is an item of a list: the others would move.
fn remove(tree: &mut Node, path: &Path) {
    let Some((Step::Key(key), table)) = path.0.split_last() else { return };
    if let Some(table) = tree.at_mut(&Path(table.to_vec())) {
        table.remove(key);
    }
}

/// One value of each kind.
const STAND_INS: &[&str] = &["1", "1 s", "1 Mbit/s", "1 packet", "1 kB"];

/// The scenario that a tree is, with its defaults.
fn resolved(tree: &Node) -> Result<Node, Fault> {
    let mut tree = tree.clone();
    dialect::speak(&mut tree);
    let scenario = Scenario::read(&tree)?;
    let loaded = Loaded { scenario: &scenario, contents: &Contents::default() };
    Node::of(&plan::resolved(loaded))
}

/// The fault of a path that no scenario has; `tree` is sound without it.
fn misspelled(tree: &Node, path: &Path) -> Option<Problem> {
    if let [Step::Key(list), Step::Index(i), Step::Key(key), ..] = &path.0[..]
        && list == "aqm"
    {
        let name = tree.at(&steps!["aqm", *i, "algorithm"])?.text()?;
        let parameters = (catalog::find(name)?.params)().into_iter().map(|p| p.name);
        let names: Vec<&str> = parameters.chain(["algorithm", "label"]).collect();
        let wrong = !names.contains(&key.as_str());
        return wrong.then(|| Problem::unknown(path.clone(), "key", key, "known keys", &names));
    }
    let mut tree = tree.clone();
    assign(&mut tree, path, Node { value: Value::Integer(1), span: None });
    let fault = Scenario::read(&tree).err()?;
    (fault.unknown_key && path.0.starts_with(&fault.path().0)).then(|| fault.into())
}

/// A default may depend on what was computed from it: then there is no telling which was meant.
fn check_defaults(tree: &Node, found: &[Place], used: &[(usize, Path, Amount)]) -> Result<(), Problem> {
    if used.is_empty() {
        return Ok(());
    }
    // If it cannot be read, that is said soon.
    let Ok(scenario) = resolved(tree) else { return Ok(()) };
    let differs =
        used.iter().find(|(_, path, amount)| scenario.at(path).and_then(Amount::of) != Some(*amount));
    match differs {
        None => Ok(()),
        Some((i, path, _)) => {
            let rule = format!("depends on itself through the default of {path}; give {path} a value");
            Err(found[*i].problem(rule).with_value(format!("{:?}", short(&found[*i].text))))
        }
    }
}

#[cfg(test)]
mod tests;
