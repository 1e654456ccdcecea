//! Notes on a study that its reader should know before it runs, on stderr.

use quell_aqm::params::Marks;
use quell_scenario::format::{AqmChoice, Scenario};
use quell_scenario::{Hole, Point, Study};
use quell_tcp::TcpParams;
use quell_tcp::catalog::Idle;

use crate::terminal;

/// Lines about points that are not valid; beyond this they are only counted.
pub const MOST_HOLES: usize = 20;

/// Says on stderr what may surprise in a study, with at most `most` lines about points that are not valid.
pub fn say(study: &Study, most: usize) {
    let of = |p: &Point| {
        let s = &p.scenario;
        [
            ecn_note(s),
            marks_note(s, true),
            marks_note(s, false),
            share_note(s, true),
            share_note(s, false),
            access_note(p),
            wire_note(s),
        ]
    };
    let idle = |p: &Point| -> Vec<String> {
        let note = |(group, idle): (&str, Idle)| {
            format!("{group}: tcp.{} has no effect without {}", idle.key, idle.needs)
        };
        p.idle().into_iter().map(note).collect()
    };
    let notes = study.points.iter().flat_map(|p| of(p).into_iter().flatten().chain(idle(p)));
    quell_lab::distinct(notes).iter().for_each(|note| terminal::note(note));
    say_holes(study, most);
}

/// Says on stderr which points are not valid, in at most `most` lines.
pub fn say_holes(study: &Study, most: usize) {
    let holes = study.holes.len();
    let Some(first) = study.holes.first() else { return };
    let are = if holes == 1 { "is" } else { "are" };
    let what = format!("{holes} of {} points {are} left out", study.points.len() + holes);
    if most == 1 {
        let example = if holes == 1 { "" } else { "such as " };
        terminal::note(&format!("{what}: {example}{}: {}", first.title(), first.reason));
    } else {
        terminal::note(&format!("{what}:\n  {}", Hole::lines(&study.holes, most).join("\n  ")));
    }
}

/// Flows that are ECN-capable in vain.
fn ecn_note(s: &Scenario) -> Option<String> {
    let marks = s.dumbbell.as_ref().is_none_or(|d| d.ecn)
        && s.parking_lot.as_ref().is_none_or(|p| p.ecn)
        && s.graph.iter().flat_map(|g| &g.links).all(|l| l.ecn || l.buffer.is_none());
    let capable: Vec<&str> = s
        .flows
        .iter()
        .filter(|g| g.tcp.as_ref().map_or(g.ecn == Some(true), |tcp| tcp.ecn))
        .map(|g| g.name.as_str())
        .collect();
    (!marks && !capable.is_empty()).then(|| {
        let names = capable.join(", ");
        format!("{names}: ECN-capable, but a queue has ecn = false; every signal there is a drop")
    })
}

/// The TCP groups whose congestion control is such.
fn groups_with(s: &Scenario, such: impl Fn(&TcpParams) -> bool) -> Option<String> {
    let names: Vec<&str> =
        s.flows.iter().filter(|g| g.tcp.as_ref().is_some_and(&such)).map(|g| g.name.as_str()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Congestion controls that live on marks, with ECT(1) or ECT(0), beside an algorithm that gives none.
fn marks_note(s: &Scenario, ect1: bool) -> Option<String> {
    let none: Vec<&str> =
        s.aqm.iter().filter(|choice| !choice.marks().any(ect1)).map(|c| c.label()).collect();
    let names = groups_with(s, |tcp| tcp.congestion.is_scalable() && tcp.congestion.is_l4s() == ect1)?;
    let labels = none.join(", ");
    (!none.is_empty()).then(|| {
        format!("{names}: answers marks, and none come from {labels}: there only losses reduce the window")
    })
}

/// Wires that lose packets, which is not what the usual column of losses counts.
fn wire_note(s: &Scenario) -> Option<String> {
    let links = s.graph.iter().flat_map(|g| &g.links).map(|l| l.loss);
    let losses = s.dumbbell.iter().map(|d| d.loss).chain(s.parking_lot.iter().map(|p| p.loss)).chain(links);
    let most = losses.fold(0.0, f64::max);
    (most > 0.0).then(|| {
        format!("loss = {most}: wire_loss_rate has what wires lose, and loss_rate what queues drop; --metric shows both")
    })
}

/// A link that becomes faster than what leads to it.
fn access_note(p: &Point) -> Option<String> {
    let (field, most, access) = p.lifted_above_access()?;
    Some(format!(
        "{field}: up to {most}, and all access links together carry {access}: they are the bottleneck then; give \
         access_rate a higher rate"
    ))
}

/// Congestion controls that live on marks, with ECT(1) or ECT(0), beside others where a mark means the same to both.
fn share_note(s: &Scenario, ect1: bool) -> Option<String> {
    let names = groups_with(s, |tcp| tcp.congestion.is_scalable() && tcp.congestion.is_l4s() == ect1)?;
    let classic = |tcp: &TcpParams| !tcp.congestion.is_scalable() && !tcp.congestion.is_model();
    let others = groups_with(s, classic)?;
    let all_capable = s.flows.iter().filter_map(|g| g.tcp.as_ref()).all(|tcp| !classic(tcp) || tcp.ecn);
    let alike = |marks: Marks| match marks {
        Marks::Alike => true,
        Marks::Capable => all_capable,
        Marks::Apart | Marks::Ect0 => !ect1,
        Marks::Ect1 | Marks::Nothing => false,
    };
    let labels: Vec<&str> = s.aqm.iter().filter(|c| alike(c.marks())).map(AqmChoice::label).collect();
    let labels = (!labels.is_empty()).then(|| labels.join(", "))?;
    Some(match ect1 {
        true => format!(
            "{names}: sends ECT(1), which is ECT(0) to {labels}: beside {others} in the same queue it takes more than \
             its share (RFC 9331 section 4.3)"
        ),
        false => format!(
            "{names}: sends ECT(0), to which {labels} may signal as often as to {others}: in the same queue it takes more than \
             its share (RFC 8257 section 5)"
        ),
    })
}
