//! Scenarios of a file that are known to be sound: it is read, overridden, swept and checked.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use quell_aqm::catalog::CATALOG;
use quell_names::nearest;
use quell_sim::network::{FlowSpec, Measure};
use quell_tcp::TcpParams;
use quell_tcp::catalog::{Idle, idle};
use quell_units::text::cut;
use quell_units::{BitRate, Time};

use crate::dialect;
use crate::error::{Problem, ScenarioError, Source, in_tcp};
use crate::expression::evaluate;
use crate::fields::{assign, count_packets, resolve, spell_out};
use crate::files::{Contents, Files, Loaded, Reader};
use crate::format::{AqmChoice, Changes, Kind, Scenario};
use crate::limits;
use crate::number::Amount;
use crate::plan::{self, Checked, FlowFact, Group, LinkAt, Plan, QueueAt, WireFact};
use crate::plugins::Plugins;
use crate::sweep::{self, Axis, Setting, expand, plain};
use crate::tree::{Entry, Fault, Node, Path, Step, Value, steps};
use crate::values::Seeds;
use crate::write;

/// A scenario file as it was read, before sweeps are expanded and values checked.
#[derive(Clone, Debug)]
pub struct Document {
    source: Arc<Source>,
    files: Files,
    tree: Node,
    /// The sweeps beside those of the file.
    swept: Vec<Axis>,
    /// The fields that were set, whatever the file says or sweeps.
    set: Vec<Path>,
}

/// Everything that a replication depends on beside its seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The scenario with every default and one algorithm, without what only names it.
    pub text: String,
    /// The algorithms of the catalog that take part, at any link, in alphabetic order.
    pub algorithms: Vec<String>,
}

/// Collects the texts of every key called `key`, however deep.
fn named(node: &Node, key: &str, into: &mut Vec<String>) {
    node.items().iter().for_each(|item| named(item, key, into));
    for e in node.entries() {
        match &e.node.value {
            Value::String(text) if e.key == key => into.push(text.clone()),
            _ => named(&e.node, key, into),
        }
    }
}

/// True if the catalog has an algorithm.
fn is_known(algorithm: &str) -> bool {
    CATALOG.iter().any(|entry| entry.name == algorithm)
}

/// The algorithms that a resolved scenario names, in alphabetic order.
fn algorithms(tree: &Node) -> Vec<String> {
    let mut algorithms = Vec::new();
    named(tree, "algorithm", &mut algorithms);
    algorithms.sort();
    algorithms.dedup();
    algorithms
}

/// True if a text is among the values of a tree.
fn mentions(node: &Node, text: &str) -> bool {
    node.text() == Some(text)
        || node.items().iter().any(|item| mentions(item, text))
        || node.entries().iter().any(|e| mentions(&e.node, text))
}

/// One point of a study: a scenario with every sweep resolved.
#[derive(Clone, Debug)]
pub struct Point {
    /// The settings that distinguish it from the other points.
    pub settings: Vec<Setting>,
    /// The scenario as it is written. Its algorithms and its seeds may be changed; all else is fixed with the point.
    pub scenario: Scenario,
    /// The algorithms that cannot run here and can at other points of the study.
    pub left_out: Vec<LeftOut>,
    contents: Contents,
    groups: Vec<Group>,
    tree: Node,
    /// The expressions of the file, with their places in the tree, which has their values.
    expressions: Vec<(Path, String)>,
    source: Arc<Source>,
}

/// Settings in one line: "dumbbell.rate = 10 Mbit/s, flows.ftp.count = 5".
fn in_line(settings: &[Setting]) -> String {
    let each: Vec<_> = settings.iter().map(|s| format!("{} = {}", s.field, s.value)).collect();
    each.join(", ")
}

/// An algorithm that cannot run at a point of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its label.
    pub label: String,
    /// The reason.
    pub reason: String,
}

/// A combination of a sweep's values that is not a scenario.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Hole {
    /// The combination.
    pub settings: Vec<Setting>,
    /// The reason why it is not a scenario.
    pub reason: String,
}

impl Hole {
    /// The settings in one line, as of a point.
    pub fn title(&self) -> String {
        in_line(&self.settings)
    }

    /// A line for each hole, but at most `most` lines.
    pub fn lines(holes: &[Hole], most: usize) -> Vec<String> {
        let shown = if holes.len() > most { most.saturating_sub(1) } else { holes.len() };
        let line = |hole: &Hole| format!("{}: {}", hole.title(), hole.reason);
        let mut lines: Vec<String> = holes.iter().take(shown).map(line).collect();
        if shown < holes.len() {
            lines.push(format!("and {} others", holes.len() - shown));
        }
        lines
    }
}

impl Point {
    /// The settings in one line: "dumbbell.rate = 10 Mbit/s"; empty if the study is one point.
    pub fn title(&self) -> String {
        in_line(&self.settings)
    }

    pub(crate) fn loaded(&self) -> Loaded<'_> {
        Loaded { scenario: &self.scenario, contents: &self.contents }
    }

    /// The scenario as a file with every default filled in: the parameters of each algorithm of the catalog,
    /// those of TCP, rates of access links, buffers and the rest. Keys whose default is not a value, and
    /// values that depend on the link ("auto"), are explained in comments. Read again it gives the same runs.
    pub fn to_toml(&self) -> String {
        // What was read from TOML can be written as TOML.
        write::write(&plan::resolved(self.loaded()))
            .unwrap_or_else(|e| format!("# cannot be written as TOML: {e}\n"))
    }

    /// The algorithm of the catalog called `name` as it would be if the file named it and nothing else of it: with the
    /// defaults of the scenario's dialect.
    pub fn algorithm(&self, name: &str) -> AqmChoice {
        let mut tree = self.tree.clone();
        let choice = toml::Table::from_iter([("algorithm".to_string(), name.into())]);
        let list = Node::from_toml(&toml::Value::Array(vec![toml::Value::Table(choice)]));
        if let Some(aqm) = tree.get_mut("aqm") {
            *aqm = list;
        }
        dialect::speak(&mut tree);
        let spoken = tree.at(&steps!["aqm", 0]).and_then(|node| node.read::<AqmChoice>().ok());
        spoken.unwrap_or_else(|| AqmChoice::named(name))
    }

    /// Packets that one run handles, roughly: those that links with a queue carry if they are always busy in one
    /// direction, or those that UDP and traces offer if these are more; of traces alone, theirs.
    pub fn estimated_packets(&self) -> f64 {
        plan::estimated_packets(self.loaded())
    }

    /// Memory that one run needs at most, roughly, in bytes: rather more than less, and for long files of arrivals
    /// what they take once read.
    pub fn estimated_memory(&self) -> f64 {
        plan::estimated_memory(self.loaded())
    }

    /// The link between routers that its changes make faster than all access links together, which are the bottleneck
    /// then: the field that names it, its highest rate, and what they carry.
    pub fn lifted_above_access(&self) -> Option<(String, BitRate, BitRate)> {
        plan::lifted_above_access(self.loaded())
    }

    /// The groups of greedy flows whose access links are slower than their share of the slowest link between routers,
    /// each with the rate of its access links: these are its bottleneck, and have no algorithm.
    pub fn limited_by_access(&self) -> Vec<(String, BitRate)> {
        plan::limited_by_access(self.loaded())
    }

    /// The wires of the links between routers, each direction for itself.
    pub fn wires(&self) -> Vec<WireFact> {
        plan::wires(self.loaded())
    }

    /// The names of the links that are measured, in order; known before anything runs.
    pub fn links(&self) -> Vec<String> {
        plan::observed_links(self.loaded())
    }

    /// The names of the lanes of these links: classes of traffic, users of a cell, and queues of Wi-Fi.
    pub fn lanes(&self) -> Vec<String> {
        plan::observed_lanes(self.loaded())
    }

    /// Everything that a replication of algorithm number `aqm` depends on beside its seed; `None` if an algorithm from
    /// outside the catalog takes part, whose code is not known.
    pub fn identity(&self, aqm: usize) -> Option<Identity> {
        let mut scenario = plan::resolved(self.loaded());
        scenario.aqm = vec![scenario.aqm.into_iter().nth(aqm)?];
        scenario.aqm[0].label = None;
        // They name it, and change nothing.
        (scenario.title, scenario.description) = Default::default();
        // What it gives is written out.
        scenario.dialect = None;
        scenario.seeds = Seeds::Count(1);
        // A file is what it holds, wherever it is.
        for changes in scenario.changes_mut() {
            if let Changes::Course(course) = changes {
                course.file = None;
            }
        }
        scenario.flows.iter_mut().for_each(|group| group.file = None);
        let tree = Node::of(&scenario).ok()?;
        let algorithms = algorithms(&tree);
        let text = toml::to_string(&tree).ok()?;
        algorithms.iter().all(|name| is_known(name)).then_some(Identity { text, algorithms })
    }

    /// The algorithms of the catalog that take part anywhere, in alphabetic order.
    pub fn algorithms(&self) -> Vec<String> {
        let mut all = Node::of(&plan::resolved(self.loaded())).map_or(Vec::new(), |tree| algorithms(&tree));
        all.retain(|name| is_known(name));
        all
    }

    /// The keys of `tcp` tables that the file sets and that have no effect, with the name of their group and their values.
    pub fn idle(&self) -> Vec<(&str, String, Idle)> {
        let dialect = self.scenario.dialect.unwrap_or_default();
        let Ok(defaults) = Node::of(&TcpParams::default()) else { return Vec::new() };
        let mut all = Vec::new();
        for (i, group) in self.scenario.flows.iter().enumerate() {
            let at = steps!["flows", i, "tcp"];
            let (Some(table), Some(tcp)) = (self.tree.at(&at), &group.tcp) else { continue };
            let Ok(values) = Node::of(tcp) else { continue };
            let keys = table.entries().iter().map(|e| e.key.as_str());
            // A table with every key was written out, and most of it says nothing.
            let whole = defaults.entries().iter().all(|e| table.get(&e.key).is_some());
            let set: Vec<&str> = keys
                .filter(|key| !whole || values.get(key) != defaults.get(key))
                .filter(|key| !dialect::gives(dialect, &at, table, key))
                .collect();
            // A request is sent again after the first timeout, whatever the largest one is.
            let asks = group.request.is_some()
                || matches!(group.kind, Kind::Pages | Kind::Video | Kind::Responsiveness);
            let found = idle(tcp, &set).into_iter().filter(|idle| !(asks && idle.key == "initial_rto"));
            all.extend(found.map(|idle| {
                let value = table.get(idle.key).map_or(String::new(), Node::show);
                (group.name.as_str(), value, idle)
            }));
        }
        all
    }

    /// The times at which it measures.
    pub fn measure(&self) -> Measure {
        plan::measure(&self.scenario)
    }

    /// What may surprise in its algorithms at their links, in sentences, and the groups of flows that live on marks
    /// and never meet any.
    pub(crate) fn remarks(&self) -> (Vec<String>, Vec<String>) {
        plan::remarks(self.loaded(), &self.groups, &Plugins::new())
    }

    /// The classes that packets are counted in: those of the groups in order, then the acknowledgments.
    pub fn classes(&self) -> Vec<String> {
        plan::classes(&self.scenario)
    }

    /// True if another point is the same network with the same algorithms, however they are written.
    fn is_same(&self, other: &Point) -> bool {
        let count = self.scenario.aqm.len();
        let same =
            |i: usize| self.identity(i).is_some_and(|one| other.identity(i).is_some_and(|two| one == two));
        self.scenario == other.scenario || (other.scenario.aqm.len() == count && (0..count).all(same))
    }

    /// The network that is simulated for the algorithm number `aqm` of the scenario and a seed.
    ///
    /// # Errors
    /// If the algorithm refuses its link, or a plug-in does.
    pub fn plan(&self, aqm: usize, seed: u64, plugins: &Plugins) -> Result<Plan, ScenarioError> {
        plan::plan(self.loaded(), &self.groups, aqm, seed, plugins).map_err(|problem| self.error(problem))
    }

    /// The measured link called `name` at a time.
    ///
    /// # Errors
    /// If it has no queue, or its algorithm is not in the catalog.
    pub fn link_at(&self, name: &str, time: Time, plugins: &Plugins) -> Result<LinkAt, ScenarioError> {
        plan::link_at(self.loaded(), name, time, plugins).map_err(|problem| self.of_no_line(problem))
    }

    /// The queues of the link called `name` in the runs of algorithm number `aqm`: one, or those of the leaves of its
    /// classes in their order.
    ///
    /// # Errors
    /// If an algorithm is not in the catalog.
    pub fn queues_at(&self, name: &str, aqm: usize) -> Result<Vec<QueueAt>, ScenarioError> {
        plan::queues_at(self.loaded(), name, aqm, &Plugins::new()).map_err(|problem| self.error(problem))
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
        plan::flows_at(self.loaded(), &self.groups, name, time, seed)
            .map_err(|problem| self.of_no_line(problem))
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
        self.source.error(&self.tree, computed(problem, &self.expressions))
    }
}

/// A problem with a value that was computed says from what.
fn computed(mut problem: Problem, expressions: &[(Path, String)]) -> Problem {
    if let Some((_, text)) = expressions.iter().find(|(path, _)| *path == problem.path) {
        problem.rule.push_str(&format!(" (the value of \"{}\")", cut(text)));
    }
    problem
}

/// The error of a point, and the setting that is not a value of its field, if one is not.
struct Flaw {
    error: ScenarioError,
    misread: Option<Setting>,
}

impl From<ScenarioError> for Flaw {
    fn from(error: ScenarioError) -> Self {
        Flaw { error, misread: None }
    }
}

/// The scenarios that a file asks for: one, or several if it sweeps.
#[derive(Clone, Debug)]
pub struct Study {
    /// The points, at least one.
    pub points: Vec<Point>,
    /// The combinations of a sweep's values that are not scenarios, and why.
    pub holes: Vec<Hole>,
    source: Arc<Source>,
    /// Its title, where that is not the title of its points.
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

    /// The same study with other points, such as some of its own, and without holes.
    pub fn with_points(&self, points: Vec<Point>) -> Study {
        Study { points, holes: Vec::new(), source: self.source.clone(), title: self.title.clone() }
    }

    /// Several studies as one, point after point; each point's settings begin with the name that its study is
    /// given here, under the field [`JOINED`].
    pub fn join(parts: Vec<(String, Study)>) -> Study {
        let name = parts.iter().map(|(_, study)| study.name()).collect::<Vec<_>>().join(" + ");
        let title = joined_title(parts.iter().map(|(_, study)| study.title()));
        let (mut points, mut holes) = (Vec::new(), Vec::new());
        for (name, study) in parts {
            let setting = Setting { field: JOINED.to_string(), value: name };
            points.extend(study.points.into_iter().map(|mut point| {
                point.settings.insert(0, setting.clone());
                point
            }));
            holes.extend(study.holes.into_iter().map(|mut hole| {
                hole.settings.insert(0, setting.clone());
                hole
            }));
        }
        let source = Source { name, text: None };
        Study { points, holes, source: Arc::new(source), title: Some(title) }
    }

    /// True if both have the same replications of the algorithms whose labels `chosen` takes, under the same words.
    pub fn runs_as(&self, other: &Study, chosen: impl Fn(&str) -> bool) -> bool {
        let of = |point: &Point| {
            let labels = point.scenario.aqm.iter().map(|aqm| aqm.label().to_string()).enumerate();
            let chosen = labels.filter(|(_, label)| chosen(label));
            chosen.map(|(i, label)| (label, point.identity(i).map(|id| id.text))).collect::<Vec<_>>()
        };
        let same = |a: &Point, b: &Point| {
            let (x, y) = (&a.scenario, &b.scenario);
            a.settings == b.settings
                && (&x.title, &x.description, &x.seeds) == (&y.title, &y.description, &y.seeds)
                && of(a) == of(b)
        };
        self.points.len() == other.points.len()
            && self.holes.len() == other.holes.len()
            && self.points.iter().zip(&other.points).all(|(a, b)| same(a, b))
    }

    /// The title of the file; of a joined study those of its files.
    pub fn title(&self) -> &str {
        match &self.title {
            Some(title) => title,
            None => self.points.first().map_or("", |p| &p.scenario.title),
        }
    }

    /// The name of the file, for messages.
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
    // Further ones would only fill the line above a table, whose rows name each.
    let (named, more) = different.split_at(different.len().min(MOST_TITLES));
    match more {
        [] => named.join(" + "),
        more => format!("{} and {} more", named.join(" + "), more.len()),
    }
}

/// The most titles that a joined one consists of.
const MOST_TITLES: usize = 3;

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
                let source = Source { name: name.to_string(), text: Some(text) };
                Err(source.error_at(Some(valid), "is not UTF-8 text"))
            }
        }
    }

    /// Reads a text; `name` stands for the file in errors.
    ///
    /// # Errors
    /// If it is not TOML.
    pub fn parse(text: &str, name: &str) -> Result<Document, ScenarioError> {
        let source = Source { name: name.to_string(), text: Some(text.to_string()) };
        match Node::parse(text) {
            Ok(mut tree) => {
                spell_out(&mut tree);
                Ok(Document::of(source, tree))
            }
            Err((span, message)) => {
                Err(source.error_at(span.map(|s| s.start), format!("not valid TOML: {message}")))
            }
        }
    }

    /// A scenario that comes from no file, such as a Python dict; `name` stands for it in errors.
    ///
    /// # Errors
    /// If it is nested deeper than any scenario is.
    pub fn from_table(table: &toml::Table, name: &str) -> Result<Document, ScenarioError> {
        let source = Source { name: name.to_string(), text: None };
        if let Some((key, _)) = table.iter().find(|(_, value)| is_deep(value)) {
            return Err(source.error_at(None, too_deep(key)));
        }
        let mut tree = Node::from_table(table);
        spell_out(&mut tree);
        Ok(Document::of(source, tree))
    }

    fn of(source: Source, tree: Node) -> Document {
        let (source, files) = (Arc::new(source), Files::default());
        Document { source, files, tree, swept: Vec::new(), set: Vec::new() }
    }

    /// True if it has a key, sound or not.
    pub fn has(&self, key: &str) -> bool {
        self.tree.get(key).is_some()
    }

    /// The same document among files that it may name.
    pub fn among(self, files: Files) -> Document {
        Document { files, ..self }
    }

    /// Sets a field, such as `flows.ftp.count` or `aqm[0].max_p`, whatever the file says: it varies no more, if
    /// `[sweep]` has it.
    ///
    /// # Errors
    /// If the path leads nowhere, or the value is nested deeper than any is.
    pub fn set(&mut self, field: &str, value: &toml::Value) -> Result<(), ScenarioError> {
        let node = self.node(field, value)?;
        let path = resolve(&self.tree, field).map_err(|p| self.source.error(&self.tree, p))?;
        assign(&mut self.tree, &path, node);
        self.set.push(path);
        Ok(())
    }

    /// The value of a field as it is written, if the document has one.
    pub fn value(&self, field: &str) -> Option<String> {
        let path = resolve(&self.tree, field).ok()?;
        self.tree.at(&path).map(plain)
    }

    /// True if one of the file's algorithms has this name.
    pub fn has_algorithm(&self, name: &str) -> bool {
        resolve(&self.tree, &format!("aqm.{name}")).is_ok()
    }

    /// Adds an algorithm of the catalog with its defaults to the file's, unless one has that name: then its fields can
    /// be set. True if it was added.
    pub fn add_algorithm(&mut self, name: &str) -> bool {
        if CATALOG.iter().all(|entry| entry.name != name) || self.has_algorithm(name) {
            return false;
        }
        let Some(Node { value: Value::Array(items), .. }) = self.tree.get_mut("aqm") else { return false };
        let node = Node { value: Value::String(name.to_string()), span: None };
        let entry = Entry { key: "algorithm".to_string(), key_span: None, node };
        items.push(Node { value: Value::Table(vec![entry]), span: None });
        true
    }

    /// True if a field has this text, or a sweep may give it to one: the name of an algorithm, say.
    pub fn mentions(&self, text: &str) -> bool {
        mentions(&self.tree, text)
            || self.swept.iter().any(|axis| axis.values().any(|node| mentions(node, text)))
    }

    /// True if `[sweep]` of the file has a field.
    pub fn sweeps(&self, field: &str) -> bool {
        let Ok(path) = resolve(&self.tree, field) else { return false };
        let Some(table) = self.tree.get("sweep") else { return false };
        sweep::axes(table, &Path::default())
            .is_ok_and(|axes| axes.iter().any(|axis| axis.has(&self.tree, &path)))
    }

    /// [`Document::set`] from text: TOML if it reads as a value, otherwise a string.
    ///
    /// # Errors
    /// If the path leads nowhere.
    pub fn set_text(&mut self, field: &str, value: &str) -> Result<(), ScenarioError> {
        let value = self.value_of(field, value)?;
        self.set(field, &value)
    }

    /// Sweeps a field, as under `[sweep]`: over a list of values, or a range such as "0.02..0.2:log:5". It takes
    /// the place of the file's sweep of that field. The field `linked` has a list of tables of fields that
    /// advance together.
    ///
    /// # Errors
    /// If a path leads nowhere, or there are no values.
    pub fn sweep(&mut self, field: &str, values: &toml::Value) -> Result<(), ScenarioError> {
        let entry = Entry { key: field.to_string(), key_span: None, node: self.node(field, values)? };
        self.add_sweep(&Node { value: Value::Table(vec![entry]), span: None })
    }

    /// [`Document::sweep`] from text: `flows.ftp.count=10,20,50` or `aqm.red.max_p=0.02..0.2:log:5`; with
    /// semicolons between fields that advance together. Each value is read as by [`Document::set_text`].
    ///
    /// # Errors
    /// If it has not this form, and those of [`Document::sweep`].
    pub fn sweep_text(&mut self, text: &str) -> Result<(), ScenarioError> {
        let table = sweep::read(text, |field, value| {
            let value = from_text(value).filter(|value| !is_deep(value));
            value.map(|value| Node::from_toml(&value)).ok_or_else(|| too_deep(field))
        });
        let table = table.map_err(|rule| ScenarioError { line: None, ..self.source.error_at(None, rule) })?;
        self.add_sweep(&table)
    }

    /// The value that a text gives a field.
    fn value_of(&self, field: &str, text: &str) -> Result<toml::Value, ScenarioError> {
        from_text(text)
            .ok_or_else(|| ScenarioError { line: None, ..self.source.error_at(None, too_deep(field)) })
    }

    /// The value that a program gives a field.
    fn node(&self, field: &str, value: &toml::Value) -> Result<Node, ScenarioError> {
        if is_deep(value) {
            return Err(ScenarioError { line: None, ..self.source.error_at(None, too_deep(field)) });
        }
        Ok(Node::from_toml(value))
    }

    fn add_sweep(&mut self, table: &Node) -> Result<(), ScenarioError> {
        let axes = sweep::axes(table, &Path::default()).and_then(|axes| {
            axes.iter().try_for_each(|axis| axis.check_fields(&self.tree))?;
            Ok(axes)
        });
        self.swept.extend(axes.map_err(|p| self.source.error(&self.tree, p))?);
        Ok(())
    }

    /// Expands sweeps, computes what is to be computed, and checks every point. Points that are not valid are
    /// the holes of the study.
    ///
    /// # Errors
    /// Says which line breaks which rule, if that is so at all points, or if a value is none of its field.
    pub fn study(&self, plugins: &Plugins) -> Result<Study, ScenarioError> {
        let mut base = self.tree.clone();
        let sweep = base.remove("sweep");
        let cases = base.remove("cases");
        let fail = |problem| self.source.error(&self.tree, problem);
        let trees = expand(&base, sweep.as_ref(), (&self.swept, &self.set), cases.as_ref()).map_err(fail)?;
        let mut files = Reader::new(&self.files);
        let (mut points, mut holes, mut first) = (Vec::<Point>::new(), Vec::new(), None);
        let mut known: HashMap<Vec<(String, String)>, usize> = HashMap::new();
        // The first refusal of each algorithm.
        let mut refused = Vec::<(String, ScenarioError)>::new();
        // As they are written, of points that are valid and of others.
        let (mut suits, mut misread) = (HashSet::new(), Vec::<(Setting, ScenarioError)>::new());
        for (settings, tree) in trees {
            match self.point(settings.clone(), tree, &mut files, plugins) {
                Ok((point, refusals)) => {
                    suits.extend(settings);
                    for refusal in refusals {
                        if refused.iter().all(|(label, _)| *label != refusal.0) {
                            refused.push(refusal);
                        }
                    }
                    // 1 Mbit/s and 1000 kbit/s.
                    let meaning =
                        point.settings.iter().map(|s| (s.field.clone(), meaning(&s.value))).collect();
                    let at = *known.entry(meaning).or_insert(points.len());
                    match points.get(at).filter(|other| other.is_same(&point)) {
                        Some(same) => {
                            let reason = format!("is the same as {}", same.title());
                            holes.push(Hole { settings: point.settings, reason });
                        }
                        None => points.push(point),
                    }
                }
                Err(Flaw { error, misread: setting }) => {
                    if let Some(setting) = setting.filter(|s| misread.iter().all(|(other, _)| other != s)) {
                        misread.push((setting, error.clone()));
                    }
                    holes.push(Hole { settings, reason: error.reason() });
                    first.get_or_insert(error);
                }
            }
        }
        // What is a value of its field at another point, under another algorithm, is not a slip.
        if let Some((setting, error)) = misread.into_iter().find(|(setting, _)| !suits.contains(setting)) {
            let points = points.iter().map(|p| &p.settings).chain(holes.iter().map(|h| &h.settings));
            let hint = in_whole_numbers(&setting, &error.rule, points.flatten());
            return Err(ScenarioError {
                rule: format!("{}{}", error.rule, hint.unwrap_or_default()),
                ..error
            });
        }
        // An algorithm that no point suits is wrong with the file.
        let runs = |label: &str| points.iter().any(|p| p.scenario.aqm.iter().any(|a| a.label() == label));
        if let Some((_, error)) = refused.into_iter().find(|(label, _)| !runs(label)) {
            return Err(error);
        }
        if let (true, Some(error)) = (points.is_empty(), first) {
            return Err(of_all(error, &holes));
        }
        Ok(Study { points, holes, source: self.source.clone(), title: None })
    }

    fn point(
        &self,
        mut settings: Vec<Setting>,
        mut tree: Node,
        files: &mut Reader<'_>,
        plugins: &Plugins,
    ) -> Result<(Point, Vec<(String, ScenarioError)>), Flaw> {
        let expressions = evaluate(&mut tree).map_err(|problem| match tree.read::<Scenario>() {
            // A key that is not there says more than its value, which may be no expression.
            Err(fault) if fault.unknown_key => Flaw::from(self.source.error(&tree, of_point(fault, &tree))),
            _ => self.flaw(Problem { misread: true, ..problem }, &settings, &tree, &[]),
        })?;
        for setting in settings.iter_mut().filter(|_| !expressions.is_empty()) {
            let path = resolve(&tree, &setting.field).ok();
            let of_expression = path.filter(|path| expressions.iter().any(|(p, _)| p == path));
            if let Some(node) = of_expression.and_then(|path| tree.at(&path)) {
                setting.value = plain(node);
            }
        }
        count_packets(&mut tree);
        dialect::speak(&mut tree);
        let mut scenario = Scenario::read(&tree)
            .map_err(|fault| self.flaw(of_point(fault, &tree), &settings, &tree, &expressions))?;
        let contents = files.read(&scenario).map_err(|problem| self.source.error(&tree, problem))?;
        let Checked { groups, mut refusals } =
            plan::check(Loaded { scenario: &scenario, contents: &contents }, plugins)
                .map_err(|problem| self.flaw(problem, &settings, &tree, &expressions))?;
        if let (true, Some((_, problem))) = (settings.is_empty(), refusals.first()) {
            return Err(self.flaw(problem.clone(), &settings, &tree, &expressions));
        }
        refusals.sort_by_key(|(aqm, _)| std::cmp::Reverse(*aqm));
        let mut refused = Vec::new();
        for (aqm, problem) in refusals {
            let error = self.source.error(&tree, computed(problem, &expressions));
            refused.push((scenario.aqm.remove(aqm).label().to_string(), error));
        }
        refused.reverse();
        let left_out = refused.iter().map(|(label, e)| LeftOut { label: label.clone(), reason: e.reason() });
        let left_out = left_out.collect();
        let source = self.source.clone();
        Ok((Point { settings, scenario, left_out, contents, groups, tree, expressions, source }, refused))
    }

    fn flaw(
        &self,
        problem: Problem,
        settings: &[Setting],
        tree: &Node,
        expressions: &[(Path, String)],
    ) -> Flaw {
        let written = problem.misread && expressions.iter().all(|(path, _)| *path != problem.path);
        let is_at = |s: &&Setting| resolve(tree, &s.field).is_ok_and(|p| problem.path.0.starts_with(&p.0));
        let misread = settings.iter().find(is_at).filter(|_| written).cloned();
        Flaw { error: self.source.error(tree, computed(problem, expressions)), misread }
    }
}

/// The fault of a point, whose tree lacks the keys of the file that made points of it.
fn of_point(fault: Fault, tree: &Node) -> Problem {
    const OF_FILE: [&str; 2] = ["sweep", "cases"];
    let unknown_key = fault.unknown_key;
    let mut problem = Problem::from(fault);
    if let ([Step::Key(key)], true) = (&problem.path.0[..], unknown_key) {
        let near = problem.nearest.iter().map(String::as_str).chain(OF_FILE);
        problem.nearest = nearest(key, near);
        problem.known.iter_mut().for_each(|known| known.push_str(&format!(", {}", OF_FILE.join(", "))));
    }
    if let ([Step::Key(list), Step::Index(_), Step::Key(key)], true) = (&problem.path.0[..], unknown_key)
        && list == "flows"
        && TcpParams::docs().iter().any(|doc| doc.name == key)
    {
        let value = tree.at(&problem.path).map_or("...".to_string(), Node::show);
        (problem.rule, problem.nearest) = (in_tcp(key, &value), None);
    }
    problem
}

/// A value without the way in which it is written.
fn meaning(value: &str) -> String {
    Amount::read(value).map_or_else(|| value.to_string(), |amount| format!("{amount:?}"))
}

/// The sweep of a field that takes whole numbers alone, in such: what to write where it has a fraction.
fn in_whole_numbers<'a>(
    wrong: &Setting,
    rule: &str,
    all: impl Iterator<Item = &'a Setting>,
) -> Option<String> {
    wrong.value.parse::<f64>().ok().filter(|x| x.fract() != 0.0 && rule.contains("a whole number"))?;
    let same = all.filter(|s| s.field == wrong.field);
    let values: Option<Vec<i64>> =
        same.map(|s| s.value.parse::<f64>().ok().map(|x| x.round() as i64)).collect();
    let mut values = values?;
    values.sort_unstable();
    values.dedup();
    let values: Vec<String> = values.iter().map(i64::to_string).collect();
    Some(format!("; in whole numbers: {}={}", wrong.field, cut(&values.join(","))))
}

/// The error of a study that has only holes: that of the first, and where they differ, that it is so.
fn of_all(first: ScenarioError, holes: &[Hole]) -> ScenarioError {
    match holes {
        [hole, others @ ..] if others.iter().any(|other| other.reason != hole.reason) => {
            let all = holes.len();
            let rule = format!("{} (at {}; none of the {all} points is valid)", first.rule, hole.title());
            ScenarioError { rule, ..first }
        }
        _ => first,
    }
}

/// True if lists and tables are nested deeper in a value than they may be.
fn is_deep(value: &toml::Value) -> bool {
    fn inner(value: &toml::Value) -> Vec<&toml::Value> {
        match value {
            toml::Value::Array(items) => items.iter().collect(),
            toml::Value::Table(table) => table.iter().map(|(_, value)| value).collect(),
            _ => Vec::new(),
        }
    }
    let mut level = vec![value];
    for _ in 0..=limits::DEPTH {
        level = level.into_iter().flat_map(inner).collect();
    }
    !level.is_empty()
}

fn too_deep(field: &str) -> String {
    format!("{}: is nested more than {} deep", cut(field), limits::DEPTH)
}

/// A value from text: TOML if it reads as a value, otherwise a string; `None` if it is far too deep.
fn from_text(value: &str) -> Option<toml::Value> {
    let text = format!("value = {value}");
    if crate::tree::too_deep(&text).is_some() {
        return None;
    }
    let parsed = toml::from_str::<toml::Table>(&text)
        .ok()
        .filter(|table| table.len() == 1)
        .and_then(|mut table| table.remove("value"));
    Some(parsed.unwrap_or_else(|| toml::Value::String(value.to_string())))
}
