//! Paths to what is edited.

use crate::limits;

/// A step on the way to a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Key(String),
    Item(usize),
    New,
}

/// The steps of a path.
pub(super) fn read(path: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if steps.len() > limits::DEPTH {
            return Err(format!("has more than {} parts", limits::DEPTH));
        }
        if let Some(inner) = rest.strip_prefix('[') {
            let (index, after) = inner.split_once(']').ok_or("lacks a ]")?;
            let step = match index {
                "+" => Some(Step::New),
                n => n.parse().ok().map(Step::Item),
            };
            steps.push(step.ok_or("has something else than a number or + between [ and ]")?);
            rest = after;
            continue;
        }
        if !steps.is_empty() {
            rest = rest.strip_prefix('.').ok_or("lacks a dot between two keys")?;
        }
        if rest.starts_with('"') {
            let mut parts = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            let key =
                parts.next().and_then(Result::ok).ok_or("has a key whose quotation marks do not end")?;
            rest = &rest[parts.byte_offset()..];
            steps.push(Step::Key(key));
            continue;
        }
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        if end == 0 {
            return Err("has an empty part".to_string());
        }
        steps.push(Step::Key(rest[..end].to_string()));
        rest = &rest[end..];
    }
    Ok(steps)
}
