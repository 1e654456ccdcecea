//! The figures that are shown of a link.

use quell_units::BitRate;

use crate::goal::Goal;
use crate::load::{Load, Use};
use crate::measure::{Column, DOWN, Kind, UP};

/// The figures of a load over a link of these rates: those that are usual, and those that the goal asks for.
///
/// # Errors
/// Names the part of the goal that the load cannot answer.
pub(crate) fn columns(load: &Load, goal: &Goal, down: BitRate, up: BitRate) -> Result<Vec<Column>, String> {
    let pages =
        match goal.0.iter().map(|condition| condition.kind).find(|kind| kind.metric().starts_with("page")) {
            Some(kind) => kind,
            None => Kind::PageP95,
        };
    let mut all = Vec::new();
    let mut add = |kind: Kind, title: &str, group: Option<&str>, is_up: bool| {
        let metric = match group {
            Some(group) => format!("{}[{group}]", kind.metric()),
            None => kind.metric().to_string(),
        };
        let (link, capacity) = if is_up { (UP, up) } else { (DOWN, down) };
        all.push(Column { kind, title: title.to_string(), metric, link, capacity });
    };
    for (group, of, is_up) in load.uses() {
        match (of, is_up) {
            (Use::Call, false) => add(Kind::Call, "call P99 down", Some(group), false),
            (Use::Call, true) => add(Kind::Call, "call P99 up", Some(group), true),
            (Use::Pages, _) => add(pages, pages.name(), Some(group), is_up),
            (Use::Video, _) => add(Kind::VideoRate, "video rate", Some(group), is_up),
            _ => {}
        }
        if of == Use::Video && goal.0.iter().any(|condition| condition.kind == Kind::Stalls) {
            add(Kind::Stalls, "video stalls", Some(group), is_up);
        }
    }
    add(Kind::GoodputDown, "goodput down", None, false);
    add(Kind::GoodputUp, "goodput up", None, true);
    for condition in &goal.0 {
        if !all.iter().any(|column| column.answers(condition.kind)) {
            let words = match condition.kind {
                Kind::Call => "no call (kind \"udp\" with measure_delay = true)",
                Kind::VideoRate | Kind::Stalls => "no video (kind \"video\")",
                _ => "no pages (kind \"pages\")",
            };
            return Err(format!("the load \"{}\" has {words}, so \"{condition}\" has no answer", load.name));
        }
    }
    Ok(all)
}
