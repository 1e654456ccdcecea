//! Sweeps, and the trees of their points.

use crate::error::Problem;
use crate::fields::{assign, resolve};
use crate::limits;
use crate::range;
use crate::tree::{Entry, Node, Path, Value, steps};

/// One setting of a sweep: a field and its value, as written.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Setting {
    /// The field, such as `dumbbell.rate`.
    pub field: String,
    /// Its value.
    pub value: String,
}

/// The settings that distinguish each point, and its tree.
pub(crate) type Expanded = Vec<(Vec<Setting>, Node)>;

/// A field that varies by itself, or several that advance together.
#[derive(Clone, Debug)]
pub(crate) struct Axis(Vec<Swept>);

/// A field and its values, as many as those of the other fields of its axis.
#[derive(Clone, Debug)]
struct Swept {
    field: String,
    values: Vec<Node>,
    written: Path,
}

/// A field to set, the value, and where that is written.
#[derive(Clone)]
struct Assignment {
    field: String,
    value: Node,
    written: Path,
}

impl Axis {
    fn len(&self) -> usize {
        self.0.first().map_or(0, |s| s.values.len())
    }

    /// Every value of its fields, with those of the others that go with it.
    fn alternatives(&self) -> Vec<Vec<Assignment>> {
        let at = |i: usize| {
            let set = |s: &Swept| Assignment {
                field: s.field.clone(),
                value: s.values[i].clone(),
                written: s.written.clone(),
            };
            self.0.iter().map(set).collect()
        };
        (0..self.len()).map(at).collect()
    }

    /// Refuses fields that the scenario does not have.
    pub fn check_fields(&self, tree: &Node) -> Result<(), Problem> {
        self.0.iter().try_for_each(|s| resolve(tree, &s.field).map(drop))
    }

    /// True if the field at `path` is one of its own.
    pub fn has(&self, tree: &Node, path: &Path) -> bool {
        self.0.iter().any(|s| resolve(tree, &s.field).is_ok_and(|p| p == *path))
    }

    /// The values of all its fields.
    pub fn values(&self) -> impl Iterator<Item = &Node> {
        self.0.iter().flat_map(|s| &s.values)
    }

    /// Leaves the fields that `keep` says; none if there are none.
    fn retain(mut self, keep: impl Fn(&Swept) -> bool) -> Option<Axis> {
        self.0.retain(keep);
        (!self.0.is_empty()).then_some(self)
    }

    /// Refuses a combination of values that comes twice.
    fn check_distinct(&self) -> Result<(), Problem> {
        let same = |i: usize, j: usize| self.0.iter().all(|s| s.values[i].same(&s.values[j]));
        let twice = (1..self.len()).find(|i| (0..*i).any(|j| same(*i, j)));
        let (Some(i), Some(first)) = (twice, self.0.first()) else { return Ok(()) };
        let shown: Vec<String> = self.0.iter().map(|s| s.values[i].show()).collect();
        let what = if shown.len() == 1 { "value" } else { "values" };
        let rule = format!("contains the {what} {} twice", shown.join(", "));
        Err(Problem::new(first.written.clone(), rule).with_value(""))
    }
}

/// The axes of a table such as `[sweep]`, which is at `at`.
pub(crate) fn axes(table: &Node, at: &Path) -> Result<Vec<Axis>, Problem> {
    if !matches!(table.value, Value::Table(_)) {
        return Err(Problem::new(at.clone(), "must be a table of fields and lists of values"));
    }
    let mut axes = Vec::new();
    for e in table.entries() {
        if e.key == "linked" {
            axes.extend(linked(&e.node, &at.then("linked"))?);
            continue;
        }
        let one = Node { value: Value::Table(vec![e.clone()]), span: None };
        for assignment in flatten(&one, at)? {
            axes.push(Axis(vec![swept(assignment)?]));
        }
    }
    axes.iter().try_for_each(Axis::check_distinct)?;
    Ok(axes)
}

/// The axes of `[[sweep.linked]]`.
fn linked(list: &Node, at: &Path) -> Result<Vec<Axis>, Problem> {
    let Value::Array(items) = &list.value else {
        return Err(Problem::new(at.clone(), "must be a list of tables: [[sweep.linked]]"));
    };
    let axis = |(i, item): (usize, &Node)| {
        let at = at.then(i);
        let fields = flatten(item, &at)?.into_iter().map(swept).collect::<Result<Vec<_>, _>>()?;
        let Some(first) = fields.first() else {
            return Err(Problem::new(at, "must be a table of fields and lists of values"));
        };
        match fields.iter().find(|s| s.values.len() != first.values.len()) {
            None => Ok(Axis(fields)),
            Some(other) => {
                let rule = format!(
                    "has {}, but {}, which is linked with it, has {}: both must have the same number",
                    quell_units::text::plural(other.values.len(), "value"),
                    first.field,
                    first.values.len()
                );
                Err(Problem::new(other.written.clone(), rule).with_value(""))
            }
        }
    };
    items.iter().enumerate().map(axis).collect()
}

/// The values of a list or a range.
fn swept(assignment: Assignment) -> Result<Swept, Problem> {
    let Assignment { field, value, written } = assignment;
    let values = match &value.value {
        Value::Array(items) => {
            let values: Vec<Value> = items.iter().map(|item| item.value.clone()).collect();
            let values = range::share_unit(&values).unwrap_or(values);
            items.iter().zip(values).map(|(item, value)| Node { value, span: item.span.clone() }).collect()
        }
        Value::String(text) if text.contains("..") => range::expand(text)
            .map_err(|rule| Problem::new(written.clone(), rule).with_value(value.show()))?
            .into_iter()
            .map(|v| Node { value: v, span: value.span.clone() })
            .collect(),
        _ => Vec::new(),
    };
    if values.is_empty() {
        let rule =
            format!("must be a list of values, or a range such as \"10..50:lin:5\" ({})", range::FORMS);
        return Err(Problem::new(written, rule).with_value(value.show()));
    }
    Ok(Swept { field, values, written })
}

/// Reads what follows `--sweep` as the entries of a table such as `[sweep]`: `FIELD=VALUES`, or several of them
/// linked, with semicolons between them. `value` reads one value of a field.
pub(crate) fn read(text: &str, value: impl Fn(&str, &str) -> Result<Node, String>) -> Result<Node, String> {
    let node = |value| Node { value, span: None };
    let entry = |key: &str, node| Entry { key: key.to_string(), key_span: None, node };
    let mut fields = Vec::new();
    for part in split(text, ';') {
        let form =
            "must have the form FIELD=VALUES, such as flows.ftp.count=10,20 or aqm.red.max_p=0.02..0.2:log:5";
        let (field, values) = part.split_once('=').ok_or(form)?;
        let items = split(values, ',');
        if field.trim().is_empty() || items.iter().any(|item| item.trim().is_empty()) {
            return Err(form.to_string());
        }
        let values = items.iter().map(|item| value(field.trim(), item.trim()));
        let values = values.collect::<Result<Vec<Node>, _>>()?;
        let values = match values.as_slice() {
            // A list in its brackets, or a range.
            [one] if matches!(&one.value, Value::Array(_)) => one.clone(),
            [one] if matches!(&one.value, Value::String(s) if s.contains("..")) => one.clone(),
            _ => node(Value::Array(values)),
        };
        fields.push(entry(field.trim(), values));
    }
    Ok(node(Value::Table(match fields.len() {
        0 | 1 => fields,
        _ => vec![entry("linked", node(Value::Array(vec![node(Value::Table(fields))])))],
    })))
}

/// The parts of a text between signs that stand outside of quotes and brackets.
fn split(text: &str, sign: char) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0_i32, false);
    for (i, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            c if c == sign && depth == 0 => {
                parts.push(&text[start..i]);
                start = i + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Every combination of the values of all axes, times every one of `[[cases]]`. `more` are axes from elsewhere, and
/// `set` fields that were set there: they take the place of those of the same fields in `[sweep]`.
pub(crate) fn expand(
    base: &Node,
    sweep: Option<&Entry>,
    (more, set): (&[Axis], &[Path]),
    cases: Option<&Entry>,
) -> Result<Expanded, Problem> {
    let mut trees: Expanded = vec![(Vec::new(), base.clone())];
    let mut in_cases = Vec::new();
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
        let place = |a: &Assignment| resolve(base, &a.field).map_err(|_| a.field.clone());
        in_cases = assignments.iter().flatten().map(place).collect();
        if let Some(a) = assignments.iter().flatten().find(|a| place(a).is_ok_and(|p| set.contains(&p))) {
            let rule =
                format!("sets {}, which is also set from outside, so its value would be lost", a.field);
            return Err(Problem::new(a.written.clone(), rule).with_value(""));
        }
        trees = product(&trees, &assignments)?;
    }
    let place = |s: &Swept| resolve(base, &s.field).map_err(|_| s.field.clone());
    if let Some(s) = more.iter().flat_map(|axis| &axis.0).find(|s| place(s).is_ok_and(|p| set.contains(&p))) {
        let rule = format!("{} is both set and swept: do only one of these", s.field);
        return Err(Problem::new(s.written.clone(), rule).with_value(""));
    }
    let replaced: Vec<_> =
        more.iter().flat_map(|axis| &axis.0).map(place).chain(set.iter().cloned().map(Ok)).collect();
    let of_file = sweep.map_or(Ok(Vec::new()), |entry| axes(&entry.node, &steps!["sweep"]))?;
    let kept = of_file.into_iter().filter_map(|axis| axis.retain(|s| !replaced.contains(&place(s))));
    let axes: Vec<Axis> = kept.chain(more.iter().cloned()).collect();
    let mut seen = Vec::new();
    for s in axes.iter().flat_map(|axis| &axis.0) {
        if in_cases.contains(&place(s)) {
            let rule = format!("sweeps {}, which [[cases]] sets: give its values in one place", s.field);
            return Err(Problem::new(s.written.clone(), rule).with_value(""));
        }
        if seen.contains(&place(s)) {
            let rule = format!("sweeps {} a second time: give all its values in one place", s.field);
            return Err(Problem::new(s.written.clone(), rule).with_value(""));
        }
        seen.push(place(s));
    }
    // Counted before anything is built: the lists are short, their product need not be.
    let total = axes.iter().fold(trees.len(), |n, axis| n.saturating_mul(axis.len()));
    if total > limits::POINTS {
        return Err(too_many(total, steps!["sweep"]));
    }
    for axis in axes {
        trees = product(&trees, &axis.alternatives())?;
    }
    Ok(trees)
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
    Problem::new(at, format!("makes {total} scenarios; at most {} are allowed", limits::POINTS))
        .with_value("")
}

fn product(trees: &Expanded, alternatives: &[Vec<Assignment>]) -> Result<Expanded, Problem> {
    let total = trees.len().saturating_mul(alternatives.len());
    if total > limits::POINTS {
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
pub(crate) fn plain(node: &Node) -> String {
    match &node.value {
        Value::String(s) => s.clone(),
        _ => node.show(),
    }
}
