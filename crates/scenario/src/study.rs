//! From a file to scenarios that are known to be sound: reading, overriding, sweeping, checking.

use std::sync::Arc;

use quell_aqm::catalog::CATALOG;
use quell_sim::network::{FlowSpec, Measure};
use quell_units::Time;
use quell_units::text::cut;

use crate::error::{Files, Problem, ScenarioError, Source};
use crate::format::{Changes, FlowGroup, Scenario};
use crate::names::nearest;
use crate::plan::{self, FlowFact, LinkAt, Plan};
use crate::plugins::Plugins;
use crate::tree::{Entry, Node, Path, Step, Value, steps};
use crate::values::Seeds;

/// A scenario file as it was read, before sweeps are expanded and values checked.
#[derive(Clone, Debug)]
pub struct Document {
    source: Arc<Source>,
    tree: Node,
}

/// One setting of a sweep: a field and its value, as written.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Setting {
    /// The field, such as `dumbbell.rate`.
    pub field: String,
    /// Its value.
    pub value: String,
}

/// What a replication depends on beside its seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The scenario with every default and one algorithm, without what only names it.
    pub text: String,
    /// The algorithms of the catalog that take part, at any link, in alphabetic order.
    pub algorithms: Vec<String>,
}

/// Collects the texts of every key called `key`, however deep.
fn named(value: &toml::Value, key: &str, into: &mut Vec<String>) {
    match value {
        toml::Value::Table(table) => table.iter().for_each(|(k, v)| match v {
            toml::Value::String(text) if k == key => into.push(text.clone()),
            v => named(v, key, into),
        }),
        toml::Value::Array(list) => list.iter().for_each(|v| named(v, key, into)),
        _ => {}
    }
}

/// One point of a study: a scenario with every sweep resolved.
#[derive(Clone, Debug)]
pub struct Point {
    /// What distinguishes it from the other points.
    pub settings: Vec<Setting>,
    /// The scenario.
    pub scenario: Scenario,
    tree: Node,
    source: Arc<Source>,
}

impl Point {
    /// The settings in one line: "dumbbell.rate = 10 Mbit/s"; empty if the study is one point.
    pub fn title(&self) -> String {
        let each: Vec<_> = self.settings.iter().map(|s| format!("{} = {}", s.field, s.value)).collect();
        each.join(", ")
    }

    /// The names of the links that are measured, in order; known before anything runs.
    pub fn links(&self) -> Vec<String> {
        plan::observed_links(&self.scenario)
    }

    /// What a replication of algorithm number `aqm` depends on beside its seed; none if an algorithm from
    /// outside the catalog takes part, whose code is not known.
    pub fn identity(&self, aqm: usize) -> Option<Identity> {
        let mut scenario = plan::resolved(&self.scenario);
        scenario.aqm = vec![scenario.aqm.into_iter().nth(aqm)?];
        scenario.aqm[0].label = None;
        // They name it, and change nothing.
        (scenario.title, scenario.description) = Default::default();
        scenario.seeds = Seeds::Count(1);
        // A file is what it holds, wherever it is.
        for (_, changes) in scenario.changes_mut() {
            if let Changes::Course(course) = changes {
                course.file = None;
            }
        }
        let text = toml::to_string(&scenario).ok()?;
        let mut algorithms = Vec::new();
        named(&toml::Value::Table(text.parse().ok()?), "algorithm", &mut algorithms);
        algorithms.sort();
        algorithms.dedup();
        let known = algorithms.iter().all(|name| CATALOG.iter().any(|entry| entry.name == name));
        known.then_some(Identity { text, algorithms })
    }

    /// When it measures.
    pub fn measure(&self) -> Measure {
        plan::measure(&self.scenario)
    }

    /// The classes that packets are counted in: those of the groups in order, then the acknowledgments.
    pub fn classes(&self) -> Vec<String> {
        plan::classes(&self.scenario)
    }

    /// What is simulated for the algorithm number `aqm` of the scenario and a seed.
    ///
    /// # Errors
    /// If the algorithm refuses its link, or a plug-in does.
    pub fn plan(&self, aqm: usize, seed: u64, plugins: &Plugins) -> Result<Plan, ScenarioError> {
        plan::plan(&self.scenario, aqm, seed, plugins).map_err(|problem| self.error(problem))
    }

    /// The measured link called `name` at a time.
    ///
    /// # Errors
    /// If it has no queue, or its algorithm is not in the catalog.
    pub fn link_at(&self, name: &str, time: Time, plugins: &Plugins) -> Result<LinkAt, ScenarioError> {
        plan::link_at(&self.scenario, name, time, plugins).map_err(|problem| self.of_no_line(problem))
    }

    /// The flows that ever cross the link called `name`, with their round-trip times at `time`. What chance
    /// decides is drawn from `seed`.
    ///
    /// # Errors
    /// Those of [`Point::plan`] that are due to the flows.
    pub fn flows_at(
        &self,
        name: &str,
        time: Time,
        seed: u64,
    ) -> Result<Vec<(FlowSpec, FlowFact)>, ScenarioError> {
        plan::flows_at(&self.scenario, name, time, seed).map_err(|problem| self.of_no_line(problem))
    }

    /// The error for a question about this point that has no answer, of which no line of the file is to
    /// blame.
    pub fn refuse(&self, rule: impl Into<String>) -> ScenarioError {
        self.of_no_line(Problem::new(Path::default(), rule))
    }

    /// An error that may be one of the question, of which no line of the file is to blame.
    fn of_no_line(&self, problem: Problem) -> ScenarioError {
        let error = self.error(problem);
        if error.field.is_empty() { ScenarioError { line: None, ..error } } else { error }
    }

    fn error(&self, problem: Problem) -> ScenarioError {
        self.source.error(&self.tree, problem)
    }
}

/// What a file asks for: one scenario, or several if it sweeps.
#[derive(Clone, Debug)]
pub struct Study {
    /// The points, at least one.
    pub points: Vec<Point>,
    source: Arc<Source>,
    /// Where it is not that of the points.
    title: Option<String>,
}

impl Study {
    /// Reads and checks a text; `name` stands for the file in errors.
    ///
    /// # Errors
    /// Says which line breaks which rule.
    pub fn parse(text: &str, name: &str, plugins: &Plugins) -> Result<Study, ScenarioError> {
        Document::parse(text, name)?.study(plugins)
    }

    /// The same study with other points, such as some of its own.
    pub fn with_points(&self, points: Vec<Point>) -> Study {
        Study { points, source: self.source.clone(), title: self.title.clone() }
    }

    /// Several studies as one, point after point; each point's settings begin with the name that its study is
    /// given here, under the field [`JOINED`].
    pub fn join(parts: Vec<(String, Study)>) -> Study {
        let name = parts.iter().map(|(_, study)| study.name()).collect::<Vec<_>>().join(" + ");
        let title = joined_title(parts.iter().map(|(_, study)| study.title()));
        let named = |(name, study): (String, Study)| {
            let setting = Setting { field: JOINED.to_string(), value: name };
            study.points.into_iter().map(move |mut point| {
                point.settings.insert(0, setting.clone());
                point
            })
        };
        let points = parts.into_iter().flat_map(named).collect();
        Study { points, source: Arc::new(Source { name, text: None }), title: Some(title) }
    }

    /// The title of the file; of a joined study those of its files.
    pub fn title(&self) -> &str {
        match &self.title {
            Some(title) => title,
            None => self.points.first().map_or("", |p| &p.scenario.title),
        }
    }

    /// What the file was called, for messages.
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// The text of the file, if it came from one.
    pub fn text(&self) -> Option<&str> {
        self.source.text.as_deref()
    }
}

/// The field under which the points of joined studies and results have the name of their part.
pub const JOINED: &str = "scenario";

/// The title of what is joined: each different title once.
pub fn joined_title<'a>(titles: impl IntoIterator<Item = &'a str>) -> String {
    let mut different: Vec<&str> = Vec::new();
    for title in titles {
        if !title.is_empty() && !different.contains(&title) {
            different.push(title);
        }
    }
    different.join(" + ")
}

/// More points than anyone waits for.
const MAX_POINTS: usize = 10_000;

impl Document {
    /// Reads what a file holds; `name` stands for the file in errors.
    ///
    /// # Errors
    /// If it is not UTF-8 or not TOML.
    pub fn from_bytes(bytes: Vec<u8>, name: &str) -> Result<Document, ScenarioError> {
        match String::from_utf8(bytes) {
            Ok(text) => Self::parse(&text, name),
            Err(e) => {
                let valid = e.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(e.as_bytes()).into_owned();
                let source = Source { name: name.to_string(), text: Some(text), files: Files::default() };
                Err(source.error_at(Some(valid), "is not UTF-8 text"))
            }
        }
    }

    /// Reads a text; `name` stands for the file in errors.
    ///
    /// # Errors
    /// If it is not TOML.
    pub fn parse(text: &str, name: &str) -> Result<Document, ScenarioError> {
        let source = Source { name: name.to_string(), text: Some(text.to_string()), files: Files::default() };
        match Node::parse(text) {
            Ok(mut tree) => {
                spell_out(&mut tree);
                Ok(Document { source: Arc::new(source), tree })
            }
            Err((span, message)) => {
                Err(source.error_at(span.map(|s| s.start), format!("not valid TOML: {message}")))
            }
        }
    }

    /// A scenario that comes from no file, such as a Python dict; `name` stands for it in errors.
    pub fn from_table(table: &toml::Table, name: &str) -> Document {
        let source = Source { name: name.to_string(), text: None, files: Files::default() };
        let mut tree = Node::from_toml(&toml::Value::Table(table.clone()));
        spell_out(&mut tree);
        Document { source: Arc::new(source), tree }
    }

    /// The same document among files that it may name.
    pub fn among(self, files: Files) -> Document {
        let source = Source { files, ..(*self.source).clone() };
        Document { source: Arc::new(source), ..self }
    }

    /// Sets a field, such as `flows.ftp.count` or `aqm[0].max_p`, whatever the file says.
    ///
    /// # Errors
    /// If the path leads nowhere.
    pub fn set(&mut self, field: &str, value: &toml::Value) -> Result<(), ScenarioError> {
        let node = Node::from_toml(value);
        let path = resolve(&self.tree, field).map_err(|p| self.source.error(&self.tree, p))?;
        assign(&mut self.tree, &path, node);
        Ok(())
    }

    /// [`Document::set`] from text: TOML if it reads as a value, otherwise a string.
    ///
    /// # Errors
    /// If the path leads nowhere.
    pub fn set_text(&mut self, field: &str, value: &str) -> Result<(), ScenarioError> {
        let parsed = toml::from_str::<toml::Table>(&format!("value = {value}"))
            .ok()
            .filter(|table| table.len() == 1)
            .and_then(|mut table| table.remove("value"));
        self.set(field, &parsed.unwrap_or_else(|| toml::Value::String(value.to_string())))
    }

    /// Expands sweeps and checks every point.
    ///
    /// # Errors
    /// Says which line breaks which rule.
    pub fn study(&self, plugins: &Plugins) -> Result<Study, ScenarioError> {
        let mut base = self.tree.clone();
        let sweep = base.remove("sweep");
        let cases = base.remove("cases");
        let fail = |problem| self.source.error(&self.tree, problem);
        let trees = expand(&base, sweep.as_ref(), cases.as_ref()).map_err(fail)?;
        let mut traces = plan::Traces::new(&self.source.files);
        let points = trees
            .into_iter()
            .map(|(settings, tree)| {
                let mut scenario = tree
                    .read::<Scenario>()
                    .map_err(|fault| self.source.error(&tree, Problem::from(fault)))?;
                scenario.flows.iter_mut().for_each(FlowGroup::complete);
                traces.fill(&mut scenario).map_err(|problem| self.source.error(&tree, problem))?;
                let point = Point { settings, scenario, tree, source: self.source.clone() };
                plan::check(&point.scenario, plugins).map_err(|problem| point.error(problem))?;
                Ok(point)
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Study { points, source: self.source.clone(), title: None })
    }
}

type Expanded = Vec<(Vec<Setting>, Node)>;

/// Every combination of the values of `[sweep]`, times every one of `[[cases]]`.
fn expand(base: &Node, sweep: Option<&Entry>, cases: Option<&Entry>) -> Result<Expanded, Problem> {
    let mut trees: Expanded = vec![(Vec::new(), base.clone())];
    if let Some(entry) = cases {
        let Value::Array(items) = &entry.node.value else {
            return Err(Problem::new(steps!["cases"], "must be a list of tables: [[cases]]"));
        };
        let assignments = items
            .iter()
            .enumerate()
            .map(|(i, case)| match &case.value {
                Value::Table(entries) if !entries.is_empty() => flatten(case, &steps!["cases", i]),
                _ => Err(Problem::new(steps!["cases", i], "must be a table of fields and their values")),
            })
            .collect::<Result<Vec<_>, _>>()?;
        trees = product(&trees, &assignments)?;
    }
    if let Some(entry) = sweep {
        if !matches!(entry.node.value, Value::Table(_)) {
            return Err(Problem::new(steps!["sweep"], "must be a table of fields and lists of values"));
        }
        let assignments = flatten(&entry.node, &steps!["sweep"])?;
        // Counted before anything is built: the lists are short, their product need not be.
        let mut total = trees.len();
        for assignment in &assignments {
            let values = assignment.value.items();
            if values.is_empty() {
                let rule = "must be a list of values to sweep over";
                return Err(Problem::new(assignment.written.clone(), rule));
            }
            total = total.saturating_mul(values.len());
        }
        if total > MAX_POINTS {
            return Err(too_many(total, steps!["sweep"]));
        }
        for assignment in assignments {
            let values = assignment.value.items();
            let twice = (1..values.len()).find(|i| values[..*i].iter().any(|v| v.same(&values[*i])));
            if let Some(i) = twice {
                let rule = format!("contains the value {} twice", values[i].show());
                return Err(Problem::new(assignment.written, rule).with_value(""));
            }
            let each: Vec<_> = values
                .iter()
                .map(|value| vec![Assignment { value: value.clone(), ..assignment.clone() }])
                .collect();
            trees = product(&trees, &each)?;
        }
    }
    Ok(trees)
}

/// A field to set, the value, and where that is written.
#[derive(Clone)]
struct Assignment {
    field: String,
    value: Node,
    written: Path,
}

/// `"a.b" = x`, `a.b = x` and `a = { b = x }` all set the field `a.b`.
fn flatten(table: &Node, at: &Path) -> Result<Vec<Assignment>, Problem> {
    let mut out = Vec::new();
    for e in table.entries() {
        let written = at.then(e.key.as_str());
        if matches!(e.node.value, Value::Table(_)) {
            for inner in flatten(&e.node, &written)? {
                out.push(Assignment { field: format!("{}.{}", e.key, inner.field), ..inner });
            }
        } else {
            out.push(Assignment { field: e.key.clone(), value: e.node.clone(), written });
        }
    }
    Ok(out)
}

fn too_many(total: usize, at: Path) -> Problem {
    Problem::new(at, format!("makes {total} scenarios; at most {MAX_POINTS} are allowed")).with_value("")
}

fn product(trees: &Expanded, alternatives: &[Vec<Assignment>]) -> Result<Expanded, Problem> {
    let total = trees.len().saturating_mul(alternatives.len());
    if total > MAX_POINTS {
        let at = alternatives.first().and_then(|a| a.first()).map_or(steps!["cases"], |a| a.written.clone());
        return Err(too_many(total, at));
    }
    let mut out = Vec::with_capacity(total);
    for (settings, tree) in trees {
        for assignments in alternatives {
            let mut tree = tree.clone();
            let mut settings = settings.clone();
            for a in assignments {
                let target =
                    resolve(&tree, &a.field).map_err(|p| Problem { path: a.written.clone(), ..p })?;
                assign(&mut tree, &target, a.value.clone());
                settings.push(Setting { field: a.field.clone(), value: plain(&a.value) });
            }
            out.push((settings, tree));
        }
    }
    Ok(out)
}

/// A value without the quotes of a string.
fn plain(node: &Node) -> String {
    match &node.value {
        Value::String(s) => s.clone(),
        _ => node.show(),
    }
}

/// Turns `flows.ftp.count` into a path: in a list, a name stands for the item that bears it.
fn resolve(tree: &Node, field: &str) -> Result<Path, Problem> {
    let fail = |rule: String| {
        Problem::new(steps![], format!("\"{}\" is not a field: {rule}", cut(field))).with_value("")
    };
    let mut steps = Vec::new();
    let mut node = Some(tree);
    for part in field.split('.') {
        let (name, indices) = part.split_once('[').map_or((part, None), |(name, rest)| (name, Some(rest)));
        if name.is_empty() && (indices.is_none() || steps.is_empty()) {
            return Err(fail("it contains an empty part".into()));
        }
        if !name.is_empty() {
            match node.map(|n| &n.value) {
                Some(Value::Array(items)) => {
                    let named = |n: &Node| {
                        ["name", "label", "algorithm"].into_iter().find_map(|key| match &n.get(key)?.value {
                            Value::String(s) => Some(s.clone()),
                            _ => None,
                        })
                    };
                    let names: Vec<_> = items.iter().map(|n| named(n).unwrap_or_default()).collect();
                    let Some(at) = names.iter().position(|n| n == name) else {
                        let mut problem = fail(format!("nothing is called \"{}\" there", cut(name)));
                        problem.nearest = nearest(name, names.iter().map(String::as_str));
                        return Err(problem);
                    };
                    node = items.get(at);
                    steps.push(Step::Index(at));
                }
                Some(Value::Table(_)) | None => {
                    node = node.and_then(|n| n.get(name));
                    steps.push(Step::from(name));
                }
                Some(_) => return Err(fail(format!("\"{}\" would be inside a plain value", cut(name)))),
            }
        }
        for index in indices.into_iter().flat_map(|rest| rest.split('[')) {
            let items = node.map_or(&[][..], Node::items);
            let at = index.strip_suffix(']').and_then(|i| i.parse::<usize>().ok());
            match at.filter(|i| *i < items.len()) {
                Some(i) => {
                    node = items.get(i);
                    steps.push(Step::Index(i));
                }
                None => return Err(fail(format!("there is no item [{}", cut(index)))),
            }
        }
    }
    Ok(Path(steps))
}

/// Puts `value` at `path`, making tables on the way where there is nothing.
fn assign(tree: &mut Node, path: &Path, value: Node) {
    let mut node = &mut *tree;
    for (depth, step) in path.0.iter().enumerate() {
        node = match step {
            Step::Index(i) => match &mut node.value {
                Value::Array(items) if *i < items.len() => &mut items[*i],
                _ => return, // `resolve` gives only items that exist.
            },
            Step::Key(key) => {
                if !matches!(node.value, Value::Table(_)) {
                    node.value = Value::Table(Vec::new());
                }
                let Value::Table(entries) = &mut node.value else { return };
                let at = entries.iter().position(|e| e.key == *key).unwrap_or_else(|| {
                    let node = Node { value: Value::Table(Vec::new()), span: value.span.clone() };
                    entries.push(Entry { key: key.clone(), key_span: value.span.clone(), node });
                    entries.len() - 1
                });
                if depth + 1 == path.0.len() {
                    // From here on the line that matters is the one that sets the value.
                    entries[at].key_span = value.span.clone();
                }
                &mut entries[at].node
            }
        };
    }
    *node = value;
    spell_out(tree);
}

/// Writes `aqm = "all"` as the list that it stands for, so that settings reach the algorithms by name.
fn spell_out(tree: &mut Node) {
    let Value::Table(entries) = &mut tree.value else { return };
    let Some(aqm) = entries.iter_mut().find(|e| e.key == "aqm") else { return };
    if matches!(&aqm.node.value, Value::String(s) if s == "all") {
        let span = aqm.node.span.clone();
        let named = |name: &str| {
            let node = Node { value: Value::String(name.to_string()), span: span.clone() };
            let entry = Entry { key: "algorithm".to_string(), key_span: span.clone(), node };
            Node { value: Value::Table(vec![entry]), span: span.clone() }
        };
        aqm.node.value = Value::Array(CATALOG.iter().map(|e| named(e.name)).collect());
    }
}
