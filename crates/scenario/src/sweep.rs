//! From sweeps to the trees of their points.

use crate::error::Problem;
use crate::fields::{assign, resolve};
use crate::study::Setting;
use crate::tree::{Entry, Node, Path, Value, steps};

/// More points than anyone waits for.
const MAX_POINTS: usize = 10_000;

/// What distinguishes each point, and its tree.
pub(crate) type Expanded = Vec<(Vec<Setting>, Node)>;

/// Every combination of the values of `[sweep]`, times every one of `[[cases]]`.
pub(crate) fn expand(base: &Node, sweep: Option<&Entry>, cases: Option<&Entry>) -> Result<Expanded, Problem> {
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
