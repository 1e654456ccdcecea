//! Fields by name, such as `flows.ftp.count`: where they are in a tree, and how they are set.

use quell_aqm::catalog::CATALOG;
use quell_aqm::params::ParamDoc;
use quell_names::nearest;
use quell_tcp::TcpParams;
use quell_units::QueueSize;
use quell_units::text::cut;

use crate::error::Problem;
use crate::limits;
use crate::tree::{Entry, Node, Path, Step, Value, steps};

/// Turns `flows.ftp.count` into a path: in a list, a name stands for the item that bears it.
pub(crate) fn resolve(tree: &Node, field: &str) -> Result<Path, Problem> {
    let fail = |rule: String| {
        Problem::new(steps![], format!("\"{}\" is not a field: {rule}", cut(field))).with_value("")
    };
    let depth = field.split('.').count();
    if depth > limits::DEPTH {
        return Err(fail(format!("it has {depth} parts, but at most {} are allowed", limits::DEPTH)));
    }
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
                    let Some(at) = items.iter().position(|item| name_of(item) == Some(name)) else {
                        let names = items.iter().filter_map(name_of);
                        let mut problem = fail(format!("nothing there is called \"{}\"", cut(name)));
                        let there: Vec<&str> = names.filter(|n| !n.is_empty()).collect();
                        problem.nearest = nearest(name, there.iter().copied());
                        problem.known = Some(match there.is_empty() {
                            true => "the items have no names: write [0], [1], ...".to_string(),
                            false => format!("there: {}", there.join(", ")),
                        });
                        return Err(problem);
                    };
                    node = items.get(at);
                    steps.push(Step::Index(at));
                }
                Some(Value::Table(_)) | None => {
                    node = node.and_then(|n| n.get(name));
                    steps.push(Step::from(name));
                }
                Some(_) => {
                    let whole = field.split('.').take(steps.len()).collect::<Vec<_>>().join(".");
                    let example =
                        if whole.ends_with("loss") { "; write { mean = 0.01, burst = 5 }" } else { "" };
                    let rule = format!(
                        "\"{}\" would be inside a plain value; set {} as a whole{example}",
                        cut(name),
                        cut(&whole)
                    );
                    return Err(fail(rule));
                }
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

/// The name that an item of a list bears.
fn name_of(item: &Node) -> Option<&str> {
    ["name", "label", "algorithm"].into_iter().find_map(|key| item.get(key)?.text())
}

/// Puts `value` at `path`, making tables on the way where there is nothing.
pub(crate) fn assign(tree: &mut Node, path: &Path, value: Node) {
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
pub(crate) fn spell_out(tree: &mut Node) {
    if let Some(aqm) = tree.get_mut("aqm").filter(|aqm| aqm.text() == Some("all")) {
        let span = aqm.span.clone();
        let named = |name: &str| {
            let node = Node { value: Value::String(name.to_string()), span: span.clone() };
            let entry = Entry { key: "algorithm".to_string(), key_span: span.clone(), node };
            Node { value: Value::Table(vec![entry]), span: span.clone() }
        };
        aqm.value = Value::Array(CATALOG.iter().map(|e| named(e.name)).collect());
    }
}

/// Writes `"10 packets"` as 10 where a key of a `tcp` table has a number of packets.
pub(crate) fn count_packets(tree: &mut Node) {
    let counts: Vec<&str> =
        TcpParams::docs().iter().filter(|d| d.unit == "packets" && is_whole(d)).map(|d| d.name).collect();
    let flows = tree.get_mut("flows").into_iter().flat_map(|flows| match &mut flows.value {
        Value::Array(groups) => groups.as_mut_slice(),
        _ => &mut [],
    });
    for table in flows.filter_map(|group| group.get_mut("tcp")) {
        for key in &counts {
            let Some(node) = table.get_mut(key) else { continue };
            let Value::String(text) = &node.value else { continue };
            if let Ok(QueueSize::Packets(n)) = text.parse()
                && n.fract() == 0.0
                && n <= f64::from(u32::MAX)
            {
                node.value = Value::Integer(n as i64);
            }
        }
    }
}

/// The gain of LEDBAT is a share of a packet.
fn is_whole(doc: &ParamDoc) -> bool {
    !doc.name.ends_with("gain")
}
